package notation

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"strconv"

	"github.com/wayfarer-rpg/wayfarer/rules/play"
)

// Fraction makes a value in lowest terms. Neither number is the least of 64 bits, and den is not 0.
func Fraction(num, den int64) Value { return fraction(num, den) }

// MaxRolled is how many dice one notation may roll in all, those rolled again and exploded included.
const MaxRolled = 10_000

// StepKind is why a face came up.
type StepKind uint8

// The kinds of steps.
const (
	// First is the first face of a die.
	First StepKind = iota
	// Rerolled replaces the face before, Distinct too, for a Unique.
	Rerolled
	Distinct
	// Added is added to the faces before.
	Added
)

// Step is one face in the history of a die.
type Step struct {
	Kind StepKind
	// Face as it was rolled, from 1; Value is what it counts.
	Face, Value int32
}

// Die is one die of a result. The result knows its sides, its history and what dropped it: so dice are small, and hold no
// pointers.
type Die struct {
	// Value that counts, after Min and Max.
	Value int32
	// face and worth are the first step; last is that of the story's steps which came last, from 1, 0 for none.
	face, worth int32
	last        uint16
	// why is that of the story's reasons which dropped it, from 1.
	why uint16
	// Exploded tells that it came from an explosion of the one before, Dropped that it does not count.
	Exploded, Dropped bool
	// Success is 1 for a success, -1 for a failure, 0 for neither; Critical likewise.
	Success, Critical int8
}

// Result is a rolled expression.
type Result struct {
	// Expr that was rolled.
	Expr *Expr
	// Value of the expression.
	Value Value
	// Parts are the results of its operands, arguments or parts; of Dice those of counts, sides and modifiers that roll
	// dice themselves.
	Parts []*Result
	// Dice in the order rolled, or as sorted.
	Dice []Die
	// Sides of the dice.
	Sides int32
	// Dropped tells that a group does not count it.
	Dropped bool
	// Success of a part of a group that counts successes.
	Success int8
	why     uint16 // of the story's reasons, from 1
	story   *story
}

// story is what few dice have to tell. Several results of one roll may share one.
type story struct {
	// steps of dice after their first; each names the one before of the same die, from 1.
	steps []laterStep
	// reasons why dice were dropped, first the one that most rolls need at most.
	reasons []string
	reason1 [1]string
}

type laterStep struct {
	Step
	before uint16
}

// tell is the story, begun if need be.
func (r *Result) tell() *story {
	if r.story == nil {
		r.story = new(story)
	}
	return r.story
}

// reason keeps a text, once, and tells its number, from 1.
func (s *story) reason(text string) uint16 {
	if s.reasons == nil {
		s.reasons = s.reason1[:0]
	}
	i := slices.Index(s.reasons, text)
	if i < 0 {
		i = len(s.reasons)
		s.reasons = append(s.reasons, text)
	}
	return uint16(i + 1) //nolint:gosec // there are at most MaxParts modifiers
}

// note adds a step to the history of a die, after its first.
func (r *Result) note(d *Die, step Step) {
	s := r.tell()
	s.steps = append(s.steps, laterStep{step, d.last})
	d.last = uint16(len(s.steps)) //nolint:gosec // at most MaxRolled
}

// Steps is the history of one of the dice, its first face first.
func (r *Result) Steps(d *Die) iter.Seq[Step] {
	return func(yield func(Step) bool) {
		if !yield(Step{First, d.face, d.worth}) {
			return
		}
		var later []Step // from the last
		for at := d.last; at != 0; at = r.story.steps[at-1].before {
			later = append(later, r.story.steps[at-1].Step)
		}
		for _, s := range slices.Backward(later) {
			if !yield(s) {
				return
			}
		}
	}
}

// DroppedBy is the modifier that dropped one of the dice, such as "kh3"; empty for a die that counts.
func (r *Result) DroppedBy(d *Die) string { return r.told(d.why) }

// Why is the modifier of a group that dropped the result; empty for one that counts.
func (r *Result) Why() string { return r.told(r.why) }

func (r *Result) told(why uint16) string {
	if why == 0 {
		return ""
	}
	return r.story.reasons[why-1]
}

// Roll rolls a notation. It fails with OVERFLOW, DIVISION_BY_ZERO, BAD_VALUE, ENDLESS and TOO_MUCH_WORK, then the dice
// that were rolled mean nothing. The value of the result is within 32 bits.
func (n Notation) Roll(purpose string, dice *play.Dice) (*Result, error) {
	r := roller{dice: dice, purpose: purpose}
	r.grow(n.Expr)
	out, err := r.roll(n.Expr)
	if err != nil {
		return nil, err
	}
	if f := out.Value.Floor(); f < math.MinInt32 || f > math.MaxInt32 {
		return nil, play.Refuse(Overflow, "the total %s does not fit 32 bits", out.Value)
	}
	return out, nil
}

// Total is the value, rounded down.
func (r *Result) Total() int { return int(r.Value.Floor()) }

type roller struct {
	dice    *play.Dice
	purpose string
	rolled  int
	// results, parts and small are where the next results, their operands and the dice of small terms go; told is the story
	// of all results, or nil.
	results []Result
	parts   []*Result
	small   []Die
	told    *story
}

// grow makes room for the roll of an expression in one allocation: for a single die, or for a formula with some dice in it.
func (r *roller) grow(e *Expr) {
	switch {
	case e.Kind == Dice && e.Count != nil && e.Count.Kind == Number && e.Count.Value.num == 1:
		room := new(struct {
			result [1]Result
			die    [1]Die
		})
		r.results, r.small = room.result[:], room.die[:]
	case len(e.Args) > 0:
		room := new(struct {
			results [3]Result
			parts   [2]*Result
			small   [5]Die
			told    story
		})
		r.results, r.parts, r.small, r.told = room.results[:], room.parts[:], room.small[:], &room.told
	}
}

// result is a new one.
func (r *roller) result(e *Expr) *Result {
	if len(r.results) == 0 {
		r.results = make([]Result, 1+min(len(e.Args), 16))
	}
	out := &r.results[0]
	r.results = r.results[1:]
	out.Expr, out.story = e, r.told
	return out
}

// operands is room for the results of so many.
func (r *roller) operands(n int) []*Result {
	if n > len(r.parts) {
		return make([]*Result, 0, n)
	}
	out := r.parts[:0:n]
	r.parts = r.parts[n:]
	return out
}

// room is room for so many dice.
func (r *roller) room(n int) []Die {
	if n > len(r.small) {
		return make([]Die, 0, n)
	}
	out := r.small[:0:n]
	r.small = r.small[n:]
	return out
}

// face rolls one die.
func (r *roller) face(sides int) (int, error) {
	if r.rolled++; r.rolled > MaxRolled {
		return 0, play.Refuse(TooMuchWork, "a notation rolls at most %d dice", MaxRolled)
	}
	f := r.dice.RollFor(r.purpose, "", sides)
	if r.dice.Failed() {
		return 0, errNoDice // the caller asks the dice why
	}
	return f, nil
}

var errNoDice = play.Refuse(play.BadDice, "no dice")

func (r *roller) roll(e *Expr) (*Result, error) {
	out := r.result(e)
	switch e.Kind {
	case Number:
		out.Value = e.Value
		return out, nil
	case Dice:
		return out, r.diceOf(e, out)
	}
	if len(e.Args) > 0 {
		out.Parts = r.operands(len(e.Args))
	}
	for _, a := range e.Args {
		part, err := r.roll(a)
		if err != nil {
			return nil, err
		}
		out.Parts = append(out.Parts, part)
	}
	if e.Kind == Group {
		return out, r.group(e, out)
	}
	var err error
	out.Value, err = combine(e, out.Parts)
	return out, err
}

// combine computes an operator or a function from its parts.
func combine(e *Expr, parts []*Result) (Value, error) {
	var few [2]Value
	values := few[:0]
	for _, p := range parts {
		values = append(values, p.Value)
	}
	return e.Apply(values...)
}

// Apply computes an operator or a function of its operands.
func (e *Expr) Apply(v ...Value) (Value, error) {
	switch e.Kind {
	case Negate:
		return v[0].Neg(), nil
	case Call:
		return call(e.Op, v)
	}
	switch e.Op {
	case "+":
		return v[0].Add(v[1])
	case "-":
		return v[0].Sub(v[1])
	case "*":
		return v[0].Mul(v[1])
	case "/":
		return v[0].Div(v[1])
	case "//":
		return v[0].IntDiv(v[1])
	case "%":
		return v[0].Mod(v[1])
	case "^":
		return v[0].Pow(v[1])
	}
	if holds(e.Op, v[0], v[1]) {
		return Whole(1), nil
	}
	return Whole(0), nil
}

func call(name string, v []Value) (Value, error) {
	switch name {
	case "abs":
		if v[0].num < 0 {
			return v[0].Neg(), nil
		}
		return v[0], nil
	case "ceil":
		return Whole(-v[0].Neg().Floor()), nil
	case "floor":
		return Whole(v[0].Floor()), nil
	case "round": // halves go up
		half, err := v[0].Add(fraction(1, 2))
		return Whole(half.Floor()), err
	case "sign":
		return Whole(int64(v[0].sign())), nil
	case "max":
		return slices.MaxFunc(v, Value.Cmp), nil
	case "min":
		return slices.MinFunc(v, Value.Cmp), nil
	case "pow":
		return v[0].Pow(v[1])
	}
	f := map[string]func(float64) float64{
		"cos": math.Cos, "exp": math.Exp, "log": math.Log, "sin": math.Sin, "sqrt": math.Sqrt, "tan": math.Tan,
	}[name]
	return rounded(f(v[0].float()))
}

// param rolls a parameter of dice; what rolls dice is kept as a part.
func (r *roller) param(e *Expr, out *Result) (Value, error) {
	if e.Kind == Number {
		return e.Value, nil
	}
	p, err := r.roll(e)
	if err != nil {
		return Value{}, err
	}
	if e.Rolls() {
		out.Parts = append(out.Parts, p)
	}
	return p.Value, nil
}

// bounded makes a whole number of a parameter.
func bounded(v Value, e *Expr, what string, least, most int64) (int, error) {
	switch {
	case !v.IsWhole() || v.num < least:
		return 0, play.Refuse(BadValue, "column %d: %s cannot be %s", e.column, what, v)
	case v.num > most:
		return 0, play.Refuse(TooMuchWork, "column %d: %s is %s, at most %d are allowed", e.column, what, v, most)
	}
	return int(v.num), nil
}

// Pattern is a Compare with its value.
type Pattern struct {
	Op string
	To Value
}

// Matches tells whether a value matches.
func (p Pattern) Matches(v int) bool { return holds(p.Op, Whole(int64(v)), p.To) }

// wholes are the whole numbers that a pattern matches: those from first to last, or all others.
type wholes struct {
	first, last int64
	others      bool
}

func (w wholes) has(v int) bool { return (int64(v) >= w.first && int64(v) <= w.last) != w.others }

// wholes is the pattern for many whole numbers in a row.
func (p *Pattern) wholes() wholes {
	const least = math.MinInt64
	below := p.To.Floor() // the last one below To, or To
	if p.To.IsWhole() {
		below--
	}
	switch p.Op {
	case "=", "<>":
		return wholes{below + 1, p.To.Floor(), p.Op == "<>"}
	case "<", ">=":
		return wholes{least, below, p.Op == ">="}
	}
	return wholes{least, p.To.Floor(), p.Op == ">"}
}

// Plan is dice with the values of all their parameters.
type Plan struct {
	Expr  *Expr
	Count int
	// Faces is what the sides show; nil: 1 to Sides.
	Faces []int
	Sides int
	// Mods with their values.
	Mods []PlannedMod
	// rerolls tells that there are some that roll single dice again.
	rerolls bool
}

// PlannedMod is a modifier with its values.
type PlannedMod struct {
	Kind ModKind
	// All tells that it matches everything, else what the Pattern does.
	All bool
	// Limited tells that the notation names the limit.
	Limited bool
	Pattern Pattern
	N       int
	Limit   int
}

var (
	fateFaces    = []int{-1, 0, 1}
	fateOneFaces = []int{-1, 0, 0, 0, 0, 1}
)

// Value is what a face, from 1, counts.
func (p *Plan) Value(face int) int {
	if p.Faces == nil {
		return face
	}
	return p.Faces[face-1]
}

// fewParams are as many parameters as most dice have at most.
const fewParams = 6

// Params lists the parameters of dice in the order in which Plan takes their values.
func (e *Expr) Params() []*Expr { return e.params(nil) }

// params appends the parameters to room.
func (e *Expr) params(room []*Expr) []*Expr {
	if e.Count != nil {
		room = append(room, e.Count)
	}
	if e.Sides != nil {
		room = append(room, e.Sides)
	}
	for i := range e.Mods {
		m := &e.Mods[i]
		if m.Compare != nil {
			room = append(room, m.Compare.To)
		}
		if m.N != nil {
			room = append(room, m.N)
		}
		if m.Limit != nil {
			room = append(room, m.Limit)
		}
	}
	return room
}

// Plan checks dice of which all parameters are known; it fails with BAD_VALUE, TOO_MUCH_WORK and ENDLESS.
func (e *Expr) Plan(values ...Value) (*Plan, error) {
	p := &Plan{Expr: e}
	var err error
	if p.Mods, err = p.take(values, make([]PlannedMod, 0, len(e.Mods))); err == nil {
		err = p.ends()
	}
	if err != nil {
		return nil, err
	}
	return p, nil
}

// fewMods are as many modifiers as most dice have at most.
const fewMods = 3

// take gives the plan the values of its parameters, and returns what becomes of its modifiers, in room if they fit: a plan
// and its room stay off the heap so, and planning anew for each roll costs less than keeping plans.
func (p *Plan) take(values []Value, room []PlannedMod) (mods []PlannedMod, err error) {
	e := p.Expr
	if e.Count != nil {
		if p.Count, err = bounded(values[0], e.Count, "a number of dice", 0, MaxDice); err != nil {
			return nil, err
		}
		values = values[1:]
	}
	switch e.Sort {
	case Fate:
		p.Faces = fateFaces
	case FateOne:
		p.Faces = fateOneFaces
	case Custom:
		p.Faces = e.Faces
	case Plain, Usage, Pool:
	}
	p.Sides = len(p.Faces)
	if e.Sides != nil {
		if p.Sides, err = bounded(values[0], e.Sides, "a number of sides", 1, MaxSides); err != nil {
			return nil, err
		}
		values = values[1:]
	}
	for i := range e.Mods {
		room = append(room, PlannedMod{Kind: e.Mods[i].Kind, Limit: MaxExplosions})
		if values, err = p.mod(&e.Mods[i], values, &room[i]); err != nil {
			return nil, err
		}
	}
	return room, nil
}

// mod gives a modifier its values, and returns the others.
func (p *Plan) mod(m *Mod, values []Value, q *PlannedMod) (rest []Value, err error) {
	p.rerolls = p.rerolls || m.Kind == Reroll || m.Kind == RerollOnce
	switch {
	case m.Compare != nil:
		q.Pattern = Pattern{m.Compare.Op, values[0]}
		values = values[1:]
	case m.Kind == Unique || m.Kind == UniqueOnce:
		q.All = true
	case m.Kind == Reroll || m.Kind == RerollOnce || m.Kind == CritFailure:
		q.Pattern = Pattern{"=", Whole(int64(p.extreme(slices.Min[[]int], 1)))}
	case m.Kind >= Explode && m.Kind <= PenetrateCompound || m.Kind == CritSuccess:
		q.Pattern = Pattern{"=", Whole(int64(p.extreme(slices.Max[[]int], p.Sides)))}
	}
	if m.N != nil {
		switch {
		case m.Kind == Min || m.Kind == Max:
			q.N, err = bounded(values[0], m.N, "a bound", -MaxSides, MaxSides)
		case m.Kind < KeepHigh:
			q.N, err = bounded(values[0], m.N, "a number of dice to roll again or to explode", 0, MaxNumber)
		default:
			q.N, err = bounded(values[0], m.N, "a number of dice to keep or drop", 0, MaxNumber)
		}
		if err != nil {
			return nil, err
		}
		values = values[1:]
	}
	if m.Limit != nil {
		q.Limited = true
		q.Limit, err = bounded(values[0], m.Limit, "a limit of explosions", 0, MaxDice)
		values = values[1:]
	}
	return values, err
}

// extreme is the lowest or highest value of a face, which plain dice know.
func (p *Plan) extreme(of func([]int) int, plain int) int {
	if p.Faces == nil {
		return plain
	}
	return of(p.Faces)
}

// Rerolls tells whether a value is rolled again until another comes.
func (p *Plan) Rerolls(value int) bool { return p.any(Reroll, value) }

func (p *Plan) any(kind ModKind, value int) bool {
	for i := range p.Mods {
		if m := &p.Mods[i]; m.Kind == kind && (m.All || m.Pattern.Matches(value)) {
			return true
		}
	}
	return false
}

// Explosion is the modifier that explodes, nil for none.
func (p *Plan) Explosion() *PlannedMod {
	for i := range p.Mods {
		if k := p.Mods[i].Kind; k >= Explode && k <= PenetrateCompound {
			return &p.Mods[i]
		}
	}
	return nil
}

// Chosen is how many of the highest and of the lowest of n dice the modifiers of two kinds choose, none of them twice.
func (p *Plan) Chosen(high, low ModKind, n int) (highest, lowest int) {
	for i := range p.Mods {
		switch m := &p.Mods[i]; m.Kind {
		case high:
			highest = max(highest, m.N)
		case low:
			lowest = max(lowest, m.N)
		}
	}
	highest = min(highest, n)
	return highest, min(lowest, n-highest)
}

// ends refuses re-rolls that hit every face, and explosions of every face that is left.
func (p *Plan) ends() error {
	x := p.Explosion()
	if len(p.Mods) == 0 || x == nil && p.Mods[0].Kind != Reroll {
		return nil
	}
	// Most dice end with their lowest or their highest face.
	for _, face := range [...]int{1, p.Sides} {
		if v := p.Value(face); !p.Rerolls(v) && (x == nil || x.Limited || !x.Pattern.Matches(v)) {
			return nil
		}
	}
	stays, calm := false, false
	var few [8]span
	for _, s := range p.spans(few[:0]) {
		if v := p.Value(s.first); !calm && !p.Rerolls(v) {
			stays = true
			calm = x == nil || x.Limited || !x.Pattern.Matches(v)
		}
	}
	switch {
	case !stays:
		return play.Refuse(Endless, "column %d: every face of a d%d is rolled again", p.Expr.column, p.Sides)
	case !calm:
		return play.Refuse(Endless, "column %d: every face of a d%d explodes", p.Expr.column, p.Sides)
	}
	return nil
}

func (r *roller) diceOf(e *Expr, out *Result) error {
	if e.Sort == Pool {
		return r.pool(e, out)
	}
	p := Plan{Expr: e}
	if e.sound && p.plain() {
		return r.play(&p, out)
	}
	var fewValues [fewParams]Value
	var few [fewParams]*Expr
	values := fewValues[:0]
	for _, x := range e.params(few[:0]) {
		v, err := r.param(x, out)
		if err != nil {
			return err
		}
		values = append(values, v)
	}
	var room [fewMods]PlannedMod
	var err error
	if p.Mods, err = p.take(values, room[:0]); err == nil && !e.sound {
		err = p.ends()
	}
	if err != nil {
		return err
	}
	return r.play(&p, out)
}

// plain plans dice that are no more than so many of so many sides, as most are; it does not know others.
func (p *Plan) plain() bool {
	e := p.Expr
	if e.Sort != Plain || len(e.Mods) > 0 || e.Count == nil || e.Count.Kind != Number || e.Sides == nil || e.Sides.Kind != Number {
		return false
	}
	count, sides := e.Count.Value, e.Sides.Value
	p.Count, p.Sides = int(count.num), int(sides.num)
	return count.less1|sides.less1 == 0 && count.num >= 0 && count.num <= MaxDice && sides.num >= 1 && sides.num <= MaxSides
}

// Roll rolls the dice of a plan. It fails like Notation.Roll.
func (p *Plan) Roll(purpose string, dice *play.Dice) (*Result, error) {
	r := roller{dice: dice, purpose: purpose}
	out := &Result{Expr: p.Expr}
	if err := r.play(p, out); err != nil {
		return nil, err
	}
	return out, nil
}

// play rolls the dice of a plan and computes their value.
func (r *roller) play(p *Plan, out *Result) error {
	if err := r.throw(p, out); err != nil {
		return err
	}
	p.settle(out)
	return nil
}

// die rolls one more die, and returns its face's value. What an explosion brought counts less by so much.
func (r *roller) die(p *Plan, out *Result, exploded bool, less int) (value int, err error) {
	face, err := r.face(p.Sides)
	if err != nil {
		return 0, err
	}
	value = p.Value(face)
	worth := int32(value - less)                                                                        //nolint:gosec // at most MaxSides
	out.Dice = append(out.Dice, Die{Value: worth, face: int32(face), worth: worth, Exploded: exploded}) //nolint:gosec // at most MaxSides
	if !p.rerolls {
		return value, nil
	}
	d := &out.Dice[len(out.Dice)-1]
	value, err = r.insist(p, out, d, value, less)
	d.Value = int32(value - less) //nolint:gosec // at most MaxSides
	return value, err
}

// step rolls one more face of a die, and returns its value.
func (r *roller) step(p *Plan, out *Result, d *Die, kind StepKind, less int) (value int, err error) {
	face, err := r.face(p.Sides)
	if err != nil {
		return 0, err
	}
	value = p.Value(face)
	out.note(d, Step{kind, int32(face), int32(value - less)}) //nolint:gosec // at most MaxSides
	if !p.rerolls {
		return value, nil
	}
	return r.insist(p, out, d, value, less)
}

// insist rolls a face again as often as the plan says.
func (r *roller) insist(p *Plan, out *Result, d *Die, value, less int) (int, error) {
	for once := false; ; {
		switch {
		case p.Rerolls(value):
		case !once && p.any(RerollOnce, value):
			once = true
		default:
			return value, nil
		}
		face, err := r.face(p.Sides)
		if err != nil {
			return 0, err
		}
		value = p.Value(face)
		out.note(d, Step{Rerolled, int32(face), int32(value - less)}) //nolint:gosec // at most MaxSides
	}
}

// throw rolls all dice of a plan.
func (r *roller) throw(p *Plan, out *Result) error {
	x := p.Explosion()
	var on wholes // what explodes
	spare := 0
	if x != nil {
		on = x.Pattern.wholes()
		spare = p.Count/2 + 1 // more than most explosions take
	}
	highest, lowest := p.Chosen(RerollHigh, RerollLow, p.Count)
	later := highest+lowest > 0
	out.Sides = int32(p.Sides) //nolint:gosec // at most MaxSides
	out.Dice = r.room(p.Count + spare)
	for range p.Count {
		value, err := r.die(p, out, false, 0)
		if err != nil {
			return err
		}
		if x == nil || later || !on.has(value) {
			continue
		}
		if err := r.explode(p, x, on, out); err != nil {
			return err
		}
	}
	if later {
		if err := r.again(p, x, on, out, highest, lowest); err != nil {
			return err
		}
	}
	if highest, lowest = p.Chosen(ExplodeHigh, ExplodeLow, len(out.Dice)); highest+lowest > 0 {
		if err := r.more(p, out, highest, lowest); err != nil {
			return err
		}
	}
	for i := range p.Mods {
		if k := p.Mods[i].Kind; k == Unique || k == UniqueOnce {
			return r.unique(p, &p.Mods[i], out)
		}
	}
	return nil
}

// explode rolls what the last die explodes to.
func (r *roller) explode(p *Plan, x *PlannedMod, on wholes, out *Result) (err error) {
	less := 0
	if x.Kind == Penetrate || x.Kind == PenetrateCompound {
		less = 1
	}
	last := len(out.Dice) - 1
	value := int(out.Dice[last].Value)
	for n := 0; n < x.Limit && on.has(value); n++ {
		if x.Kind == Explode || x.Kind == Penetrate {
			value, err = r.die(p, out, true, less)
		} else if value, err = r.step(p, out, &out.Dice[last], Added, less); err == nil {
			out.Dice[last].Value += int32(value - less) //nolint:gosec // at most MaxSides
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// again rolls the highest and the lowest dice once more, and only then what dice explode to.
func (r *roller) again(p *Plan, x *PlannedMod, on wholes, out *Result, highest, lowest int) error {
	dice := out.Dice
	for i, chosen := range extremes(dice, highest, lowest) {
		if chosen {
			face, err := r.step(p, out, &dice[i], Rerolled, 0)
			if err != nil {
				return err
			}
			dice[i].Value = int32(face) //nolint:gosec // at most MaxSides
		}
	}
	if x == nil {
		return nil
	}
	out.Dice = make([]Die, 0, cap(dice))
	for _, d := range dice {
		out.Dice = append(out.Dice, d)
		if err := r.explode(p, x, on, out); err != nil {
			return err
		}
	}
	return nil
}

// more rolls one more die behind each of the highest and the lowest.
func (r *roller) more(p *Plan, out *Result, highest, lowest int) error {
	dice := out.Dice
	out.Dice = make([]Die, 0, len(dice)+highest+lowest)
	for i, chosen := range extremes(dice, highest, lowest) {
		out.Dice = append(out.Dice, dice[i])
		if chosen {
			if _, err := r.die(p, out, true, 0); err != nil {
				return err
			}
		}
	}
	return nil
}

// extremes tells of each die whether it is one of so many highest or lowest. Both together are at most all dice.
func extremes(dice []Die, highest, lowest int) []bool {
	values := make([]Value, len(dice))
	for i := range dice {
		values[i] = Whole(int64(dice[i].Value))
	}
	chosen := make([]bool, len(dice))
	for place, i := range rank(values, make([]int, 0, len(dice))) {
		chosen[i] = place < lowest || place >= len(dice)-highest
	}
	return chosen
}

// unique rolls dice again that show what an earlier one shows.
func (r *roller) unique(p *Plan, m *PlannedMod, out *Result) error {
	seen := map[int]bool{}
	var ends *endings // found when the first die is rolled again
	for i := range out.Dice {
		d := &out.Dice[i]
		value := int(d.Value)
		for again := 0; seen[value] && (m.All || m.Pattern.Matches(value)) && (again == 0 || m.Kind == Unique); again++ {
			if m.Kind == Unique {
				if ends == nil {
					ends = p.endings(m, seen)
				}
				if !ends.always && ends.left == 0 {
					return play.Refuse(Endless, "column %d: a d%d has no face left that is unique", p.Expr.column, p.Sides)
				}
			}
			var err error
			if value, err = r.step(p, out, d, Distinct, 0); err != nil {
				return err
			}
		}
		d.Value = int32(value) //nolint:gosec // at most MaxSides
		if ends != nil && !seen[value] && p.shows(ends, value) {
			ends.left--
		}
		seen[value] = true
	}
	return nil
}

// endings is what can end the re-rolls of Unique. It is counted once, and not anew for each re-roll: there may be as many faces as
// re-rolls.
type endings struct {
	// always tells of a face that Unique does not match.
	always bool
	// values are those of custom faces that stay, nil for plain dice.
	values map[int]bool
	// left is how many values no die shows.
	left int
}

// endings finds them, after so many values were seen.
func (p *Plan) endings(m *PlannedMod, seen map[int]bool) *endings {
	e := &endings{}
	if p.Faces != nil {
		e.values = map[int]bool{}
	}
	for _, s := range p.spans(nil) {
		v := p.Value(s.first)
		if e.values[v] || p.Rerolls(v) {
			continue
		}
		e.always = e.always || !m.All && !m.Pattern.Matches(v)
		if e.left += s.last - s.first + 1; e.values != nil {
			e.values[v] = true
		}
	}
	for v := range seen {
		if p.shows(e, v) {
			e.left--
		}
	}
	return e
}

// shows tells whether a die can end with a value, which explosions that count less may be beside.
func (p *Plan) shows(e *endings, value int) bool {
	if e.values != nil {
		return e.values[value]
	}
	return value >= 1 && value <= p.Sides && !p.Rerolls(value)
}

// settle applies what comes after the roll, and computes the value.
func (p *Plan) settle(out *Result) {
	counts := false
	if len(p.Mods) > 0 {
		counts = p.judge(out)
	}
	sum := 0
	for i := range out.Dice {
		switch d := &out.Dice[i]; {
		case d.Dropped:
		case counts:
			sum += int(d.Success)
		default:
			sum += int(d.Value)
		}
	}
	out.Value = Whole(int64(sum))
	for i := range p.Mods {
		if k := p.Mods[i].Kind; k == SortUp || k == SortDown {
			sign := 1 - 2*b2i(k == SortDown)
			slices.SortStableFunc(out.Dice, func(a, b Die) int { return sign * cmp.Compare(a.Value, b.Value) })
		}
	}
}

// judge applies the modifiers between the roll and the sum. counts tells that successes are counted.
func (p *Plan) judge(out *Result) (counts bool) {
	judged := false
	for i := range p.Mods {
		m := &p.Mods[i]
		judged = judged || m.judges()
		switch m.Kind { //nolint:exhaustive // the others come elsewhere
		case Min:
			for j := range out.Dice {
				out.Dice[j].Value = max(out.Dice[j].Value, int32(m.N)) //nolint:gosec // at most MaxSides
			}
		case Max:
			for j := range out.Dice {
				out.Dice[j].Value = min(out.Dice[j].Value, int32(m.N)) //nolint:gosec // at most MaxSides
			}
		case CritSuccess, CritFailure:
			for j := range out.Dice {
				if d := &out.Dice[j]; m.Pattern.Matches(int(d.Value)) {
					d.Critical = int8(1 - 2*b2i(m.Kind == CritFailure)) //nolint:gosec // 1 or -1
				}
			}
		}
	}
	if !judged {
		return false
	}
	var few [fewJudged]Value
	values := few[:0]
	for i := range out.Dice {
		values = append(values, Whole(int64(out.Dice[i].Value)))
	}
	var room [fewJudged]fate
	fates, counts := judge(p.Mods, values, room[:0], out.tell())
	for i, f := range fates {
		d := &out.Dice[i]
		d.Dropped, d.why, d.Success = f.why != 0, f.why, f.success
	}
	return counts
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// fate is what becomes of one die, or one part of a group.
type fate struct {
	why     uint16 // of the reasons of a story; 0 for what is not dropped
	success int8
}

// fewJudged are as many dice or parts as are mostly judged at most.
const fewJudged = 16

// judges tells whether a modifier is one of judge's.
func (m *PlannedMod) judges() bool { return m.Kind >= KeepHigh && m.Kind <= Failure }

// judge applies keep, drop, success and failure to values. counts tells that successes are counted. The fates go into
// room if they fit, the reasons into the story.
func judge(mods []PlannedMod, values []Value, room []fate, told *story) (fates []fate, counts bool) {
	fates = slices.Grow(room[:0], len(values))[:len(values)]
	clear(fates)
	var fewPlaces [fewJudged]int
	order := fewPlaces[:0]
	for i := range mods {
		if mods[i].ranks() {
			order = rank(values, order)
			break
		}
	}
	var fewMarks [fewJudged]bool
	marks := slices.Grow(fewMarks[:0], len(values))[:len(values)]
	clear(marks)
	keeps := ""
	for i := range mods {
		if m := &mods[i]; m.Kind >= KeepHigh && m.Kind <= KeepIf {
			keeps += m.text()
			m.choose(values, order, marks)
		}
	}
	if keeps != "" {
		why := told.reason(keeps)
		for i, kept := range marks {
			if !kept {
				fates[i].why = why
			}
		}
	}
	for i := range mods {
		m := &mods[i]
		switch {
		case m.Kind >= DropHigh && m.Kind <= DropIf:
			clear(marks)
			m.choose(values, order, marks)
			why := told.reason(m.text())
			for i, drops := range marks {
				if drops && fates[i].why == 0 {
					fates[i].why = why
				}
			}
		case m.Kind == Success || m.Kind == Failure:
			counts = true
			for i := range fates {
				if fates[i].why == 0 && holds(m.Pattern.Op, values[i], m.Pattern.To) {
					fates[i].success += int8(1 - 2*b2i(m.Kind == Failure)) //nolint:gosec // 1 or -1
				}
			}
		}
	}
	return fates, counts
}

// ranks tells whether a modifier counts the highest or lowest values.
func (m *PlannedMod) ranks() bool {
	return m.Kind == KeepHigh || m.Kind == KeepLow || m.Kind == DropHigh || m.Kind == DropLow
}

// rank appends the places of values by value, rising; of equal ones the later counts as lower, so that the earlier is kept.
func rank(values []Value, places []int) []int {
	if len(values) > fewJudged {
		for i := len(values) - 1; i >= 0; i-- {
			places = append(places, i)
		}
		slices.SortStableFunc(places, func(a, b int) int { return values[a].Cmp(values[b]) })
		return places
	}
	for i := len(values) - 1; i >= 0; i-- { // few are quicker put in one by one
		at := len(places)
		places = append(places, i)
		for ; at > 0 && values[places[at-1]].Cmp(values[i]) > 0; at-- {
			places[at] = places[at-1]
		}
		places[at] = i
	}
	return places
}

// choose marks the values that a keep or drop means. Order are the places of the values by rank.
func (m *PlannedMod) choose(values []Value, order []int, marks []bool) {
	switch m.Kind { //nolint:exhaustive // keeps and drops only
	case KeepIf, DropIf:
		for i, v := range values {
			if holds(m.Pattern.Op, v, m.Pattern.To) {
				marks[i] = true
			}
		}
		return
	case KeepLow, DropLow:
		order = order[:min(m.N, len(values))]
	case KeepHigh, DropHigh:
		order = order[max(0, len(values)-m.N):]
	}
	for _, i := range order {
		marks[i] = true
	}
}

// counted are the texts of keeps and drops of few dice, so that rolls need not make them.
var counted = func() (out [len(modText)][10]string) {
	for kind := range out {
		for n := range out[kind] {
			out[kind][n] = modText[kind] + strconv.Itoa(n)
		}
	}
	return out
}()

// text spells a keep or drop.
func (m *PlannedMod) text() string {
	switch {
	case m.Kind == KeepIf || m.Kind == DropIf:
		return modText[m.Kind] + m.Pattern.Op + m.Pattern.To.String()
	case m.N < len(counted[m.Kind]):
		return counted[m.Kind][m.N]
	}
	return modText[m.Kind] + strconv.Itoa(m.N)
}

// pool rolls a Danger World pool once (DW-POOL-03, DW-SET-01 to -03, DW-PEN-04).
func (r *roller) pool(e *Expr, out *Result) error {
	var width [7]int
	penalties := e.Penalty
	if e.Normal+e.Danger == 0 {
		penalties = 0 // fails unrolled (DW-POOL-04)
	}
	normal := e.Normal + e.Danger
	out.Sides = 6
	out.Dice = r.room(normal + penalties)
	for i := range normal + penalties {
		face, err := r.face(6)
		if err != nil {
			return err
		}
		shown := int32(face) //nolint:gosec // at most 6
		d := Die{Value: shown, face: shown, worth: shown}
		if i < normal {
			width[face]++
		} else {
			width[face]--
			d.Dropped, d.why = true, out.tell().reason("penalty")
		}
		out.Dice = append(out.Dice, d)
	}
	for height := 2; height <= 6; height++ {
		if width[height] >= height {
			out.Value = Whole(int64(height))
		}
	}
	return nil
}

// group applies the modifiers of a group: to its parts, or, when it has one only, to the dice in that.
func (r *roller) group(e *Expr, out *Result) error {
	var values []Value
	for _, x := range e.Params() {
		v, err := r.param(x, out)
		if err != nil {
			return err
		}
		values = append(values, v)
	}
	mods, err := e.groupMods(values)
	if err != nil {
		return err
	}
	parts := out.Parts[:len(e.Args)]
	if len(parts) == 1 && len(mods) > 0 {
		return out.groupOfDice(mods, parts[0])
	}
	values = make([]Value, len(parts))
	for i, p := range parts {
		values[i] = p.Value
	}
	fates, counts := judge(mods, values, nil, out.tell())
	for i, p := range parts {
		p.Success = fates[i].success
		if why := fates[i].why; why != 0 {
			p.Dropped, p.why = true, p.tell().reason(out.told(why))
		}
		v := p.Value
		switch {
		case p.Dropped:
			continue
		case counts:
			v = Whole(int64(p.Success))
		}
		if out.Value, err = out.Value.Add(v); err != nil {
			return err
		}
	}
	for _, m := range mods {
		if m.Kind == SortUp || m.Kind == SortDown {
			sign := 1 - 2*b2i(m.Kind == SortDown)
			slices.SortStableFunc(parts, func(a, b *Result) int { return sign * a.Value.Cmp(b.Value) })
		}
	}
	return nil
}

// groupMods are the modifiers of a group with the values of their parameters.
func (e *Expr) groupMods(values []Value) ([]PlannedMod, error) {
	mods := make([]PlannedMod, 0, len(e.Mods))
	for _, m := range e.Mods {
		q := PlannedMod{Kind: m.Kind}
		if m.Compare != nil {
			q.Pattern = Pattern{m.Compare.Op, values[0]}
			values = values[1:]
		}
		if m.N != nil {
			var err error
			if q.N, err = bounded(values[0], m.N, "a number to keep or drop", 0, MaxNumber); err != nil {
				return nil, err
			}
			values = values[1:]
		}
		mods = append(mods, q)
	}
	return mods, nil
}

// groupOfDice lets the modifiers of a group with a single part work on all dice in it.
func (r *Result) groupOfDice(mods []PlannedMod, part *Result) error {
	type ofResult struct {
		*Die
		result *Result
	}
	var dice []ofResult
	var values []Value
	part.each(func(in *Result, d *Die) {
		if !d.Dropped {
			dice = append(dice, ofResult{d, in})
			values = append(values, Whole(int64(d.Value)))
		}
	})
	told := r.tell()
	fates, counts := judge(mods, values, nil, told)
	successes := 0
	for i, d := range dice {
		if why := fates[i].why; why != 0 {
			if d.Dropped, d.why = true, why; d.result.story != told {
				d.why = d.result.tell().reason(told.reasons[why-1])
			}
		}
		if counts {
			d.Success = fates[i].success
			successes += int(d.Success)
		}
	}
	if counts {
		r.Value = Whole(int64(successes))
		return nil
	}
	err := part.again()
	r.Value = part.Value
	return err
}

// each calls f for every die that adds to the value, not for those of parameters.
func (r *Result) each(f func(*Result, *Die)) {
	if r.Expr.Kind == Dice {
		for i := range r.Dice {
			f(r, &r.Dice[i])
		}
		return
	}
	for _, p := range r.Parts[:len(r.Expr.Args)] {
		if !p.Dropped {
			p.each(f)
		}
	}
}

// again computes the value anew after dice were dropped.
func (r *Result) again() error {
	switch r.Expr.Kind {
	case Number:
		return nil
	case Dice:
		if r.Expr.Sort == Pool {
			return nil
		}
		counts := slices.ContainsFunc(r.Expr.Mods, func(m Mod) bool { return m.Kind == Success })
		sum := 0
		for _, d := range r.Dice {
			switch {
			case d.Dropped:
			case counts:
				sum += int(d.Success)
			default:
				sum += int(d.Value)
			}
		}
		r.Value = Whole(int64(sum))
		return nil
	}
	parts := r.Parts[:len(r.Expr.Args)]
	for _, p := range parts {
		if err := p.again(); err != nil {
			return err
		}
	}
	if r.Expr.Kind != Group {
		v, err := combine(r.Expr, parts)
		r.Value = v
		return err
	}
	counts := slices.ContainsFunc(r.Expr.Mods, func(m Mod) bool { return m.Kind == Success })
	if counts && len(parts) == 1 {
		return nil
	}
	r.Value = Value{}
	for _, p := range parts {
		v := p.Value
		switch {
		case p.Dropped:
			continue
		case counts:
			v = Whole(int64(p.Success))
		}
		var err error
		if r.Value, err = r.Value.Add(v); err != nil {
			return err
		}
	}
	return nil
}

// Constant is the value of an expression that rolls no dice; ok is false for one that does. It fails as Parse does.
func (e *Expr) Constant() (v Value, ok bool, err error) { return e.foresee(false) }

// Judge is the value of a group of several parts with these values, its modifiers' parameters as those of Params. It
// fails with BAD_VALUE, TOO_MUCH_WORK and OVERFLOW.
func (e *Expr) Judge(parts []Value, params []Value) (Value, error) {
	mods, err := e.groupMods(params)
	if err != nil {
		return Value{}, err
	}
	var told story
	fates, counts := judge(mods, parts, nil, &told)
	var sum Value
	for i, v := range parts {
		switch {
		case fates[i].why != 0:
			continue
		case counts:
			v = Whole(int64(fates[i].success))
		}
		if sum, err = sum.Add(v); err != nil {
			return Value{}, err
		}
	}
	return sum, nil
}

// foresee finds what is wrong with an expression whatever the dice show. It returns the value when no die decides it.
// With mark, dice that are sound are marked; nobody else may hold the expression yet.
func (e *Expr) foresee(mark bool) (v Value, known bool, err error) {
	switch e.Kind { //nolint:exhaustive // the others have operands
	case Number:
		return e.Value, true, nil
	case Dice:
		return v, false, e.foreseeDice(mark)
	}
	var few [2]Value
	var params []Value
	parts, known := few[:0], true
	for i, a := range e.Args {
		part, fixed, err := a.foresee(mark)
		if err != nil {
			return v, false, err
		}
		parts = append(parts, part)
		known = known && fixed
		if i == 1 && fixed && !known && parts[1].num == 0 && (e.Op == "/" || e.Op == "//" || e.Op == "%") {
			return v, false, play.Refuse(DivisionByZero, "column %d: dice are divided by 0", e.column)
		}
	}
	if len(e.Mods) > 0 {
		for _, x := range e.Params() {
			v, fixed, err := x.foresee(mark)
			if err != nil {
				return v, false, err
			}
			params, known = append(params, v), known && fixed
		}
	}
	switch {
	case !known:
		return v, false, nil
	case e.Kind == Group && len(parts) == 1 && len(e.Mods) > 0:
		return e.withoutDice(parts[0], params)
	case e.Kind == Group:
		v, err = e.Judge(parts, params)
		return v, true, err
	}
	v, err = e.Apply(parts...)
	return v, true, err
}

// withoutDice is the value of a group whose modifiers work on the dice in its only part, when that has none: nothing is
// dropped, and none is a success.
func (e *Expr) withoutDice(part Value, params []Value) (v Value, known bool, err error) {
	mods, err := e.groupMods(params)
	for i := range mods {
		if mods[i].Kind == Success {
			part = Value{}
		}
	}
	return part, true, err
}

// foreseeDice is foresee of dice.
func (e *Expr) foreseeDice(mark bool) error {
	p := Plan{Expr: e}
	if p.plain() {
		if mark {
			e.sound = true
		}
		return nil
	}
	var few [fewParams]*Expr
	var fewValues [fewParams]Value
	params, fixed := fewValues[:0], true
	for _, x := range e.params(few[:0]) {
		v, ok := x.Value, true
		if x.Kind != Number {
			var err error
			if v, ok, err = x.foresee(mark); err != nil {
				return err
			}
		}
		params, fixed = append(params, v), fixed && ok
	}
	if !fixed || e.Sort == Pool || e.sound {
		return nil
	}
	var room [fewMods]PlannedMod
	var err error
	if p.Mods, err = p.take(params, room[:0]); err == nil {
		err = p.ends()
	}
	if err == nil {
		err = p.canBeUnique()
	}
	if mark {
		e.sound = err == nil
	}
	return err
}

// canBeUnique refuses more unique dice than there are faces.
func (p *Plan) canBeUnique() error {
	for i := range p.Mods {
		if m := &p.Mods[i]; m.Kind != Unique || !m.All {
			continue
		}
		highest, lowest := p.Chosen(ExplodeHigh, ExplodeLow, p.Count)
		if dice := p.Count + highest + lowest; dice > p.distinct() {
			return play.Refuse(Endless, "column %d: %d dice cannot be unique", p.Expr.column, dice)
		}
	}
	return nil
}

// span is a run of faces of which every pattern matches all or none.
type span struct{ first, last int }

// spans parts the faces of a die, so that a large one need not be looked at face by face. They are appended to room.
func (p *Plan) spans(room []span) []span {
	var few [8]int
	cuts := few[:0] // first faces of spans
	if p.Faces != nil {
		for i := range p.Sides {
			cuts = append(cuts, i+1)
		}
	} else {
		cuts = append(cuts, 1)
		for _, m := range p.Mods {
			if m.Kind <= UniqueOnce && m.Pattern.Op != "" {
				at := int(min(max(m.Pattern.To.Floor(), 0), MaxSides))
				cuts = append(cuts, at, at+1)
			}
		}
		slices.Sort(cuts)
		cuts = slices.DeleteFunc(slices.Compact(cuts), func(c int) bool { return c < 1 || c > p.Sides })
	}
	out := room
	for i, c := range cuts {
		last := p.Sides
		if i+1 < len(cuts) {
			last = cuts[i+1] - 1
		}
		out = append(out, span{c, last})
	}
	return out
}

// distinct counts the values that a die can end with.
func (p *Plan) distinct() int {
	if p.Faces == nil {
		n := 0
		for _, s := range p.spans(nil) {
			if !p.Rerolls(s.first) {
				n += s.last - s.first + 1
			}
		}
		return n
	}
	seen := map[int]bool{}
	for _, v := range p.Faces {
		if !p.Rerolls(v) {
			seen[v] = true
		}
	}
	return len(seen)
}
