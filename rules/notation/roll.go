package notation

import (
	"cmp"
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
type StepKind int

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
	Face, Value int
}

// Die is one die of a result with its history.
type Die struct {
	Sides int
	// Steps, the first face first.
	Steps []Step
	// Value that counts, after Min and Max.
	Value int
	// Exploded tells that the die came from an explosion of the one before.
	Exploded bool
	// Dropped tells that it does not count; Why is the modifier that dropped it, such as "kh3".
	Dropped bool
	Why     string
	// Success is 1 for a success, -1 for a failure, 0 for neither; Critical likewise.
	Success, Critical int
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
	// Dropped tells that a group does not count it, Why which modifier dropped it.
	Dropped bool
	Why     string
	// Success of a part of a group that counts successes.
	Success int
}

// Roll rolls a notation. It fails with OVERFLOW, DIVISION_BY_ZERO, BAD_VALUE, ENDLESS and TOO_MUCH_WORK, then the dice
// that were rolled mean nothing. The value of the result is within 32 bits.
func (n Notation) Roll(purpose string, dice *play.Dice) (*Result, error) {
	r := roller{dice: dice, purpose: purpose}
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
	// still refuses dice, to tell constants.
	still bool
	// room is where the next results go.
	room []Result
	// steps is where the first steps of dice go.
	steps []Step
}

// result is a new one.
func (r *roller) result(e *Expr) *Result {
	if len(r.room) == 0 {
		r.room = make([]Result, 1+min(len(e.Args), 16))
	}
	out := &r.room[0]
	r.room = r.room[1:]
	out.Expr = e
	return out
}

// history is room for the first step of a die; most have no other.
func (r *roller) history() []Step {
	if len(r.steps) == 0 {
		r.steps = make([]Step, 8)
	}
	out := r.steps[:0:1]
	r.steps = r.steps[1:]
	return out
}

// face rolls one die.
func (r *roller) face(sides int) (int, error) {
	if r.rolled++; r.rolled > MaxRolled {
		return 0, play.Refuse(TooMuchWork, "a notation rolls at most %d dice", MaxRolled)
	}
	f := r.dice.Roll(r.purpose, sides)
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
		out.Parts = make([]*Result, 0, len(e.Args))
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

// Plan is dice with the values of all their parameters.
type Plan struct {
	Expr  *Expr
	Count int
	// Faces is what the sides show; nil: 1 to Sides.
	Faces []int
	Sides int
	// Mods with their values.
	Mods []PlannedMod
}

// PlannedMod is a modifier with its values.
type PlannedMod struct {
	Kind ModKind
	// Pattern that it matches; All: everything.
	Pattern Pattern
	All     bool
	N       int
	Limit   int
	// Limited tells that the notation names the limit.
	Limited bool
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

// Params lists the parameters of dice in the order in which Plan takes their values.
func (e *Expr) Params() []*Expr {
	out := make([]*Expr, 0, 2+len(e.Mods))
	if e.Count != nil {
		out = append(out, e.Count)
	}
	if e.Sides != nil {
		out = append(out, e.Sides)
	}
	for _, m := range e.Mods {
		if m.Compare != nil {
			out = append(out, m.Compare.To)
		}
		if m.N != nil {
			out = append(out, m.N)
		}
		if m.Limit != nil {
			out = append(out, m.Limit)
		}
	}
	return out
}

// Plan checks dice of which all parameters are known; it fails with BAD_VALUE, TOO_MUCH_WORK and ENDLESS.
func (e *Expr) Plan(values ...Value) (*Plan, error) {
	next := func() Value { v := values[0]; values = values[1:]; return v }
	p := &Plan{Expr: e}
	var err error
	if e.Count != nil {
		if p.Count, err = bounded(next(), e.Count, "a number of dice", 0, MaxDice); err != nil {
			return nil, err
		}
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
		if p.Sides, err = bounded(next(), e.Sides, "a number of sides", 1, MaxSides); err != nil {
			return nil, err
		}
	}
	if len(e.Mods) > 0 {
		p.Mods = make([]PlannedMod, 0, len(e.Mods))
	}
	for _, m := range e.Mods {
		q, err := p.mod(m, next)
		if err != nil {
			return nil, err
		}
		p.Mods = append(p.Mods, q)
	}
	return p, p.ends()
}

func (p *Plan) mod(m Mod, next func() Value) (PlannedMod, error) {
	q := PlannedMod{Kind: m.Kind, Limit: MaxExplosions}
	low, high := 1, p.Sides
	if p.Faces != nil {
		low, high = slices.Min(p.Faces), slices.Max(p.Faces)
	}
	switch m.Kind { //nolint:exhaustive // the others have no default
	case Reroll, RerollOnce, CritFailure:
		q.Pattern = Pattern{"=", Whole(int64(low))}
	case Explode, Compound, Penetrate, PenetrateCompound, CritSuccess:
		q.Pattern = Pattern{"=", Whole(int64(high))}
	case Unique, UniqueOnce:
		q.All = m.Compare == nil
	}
	var err error
	if m.Compare != nil {
		q.Pattern = Pattern{m.Compare.Op, next()}
	}
	switch {
	case m.N == nil:
	case m.Kind == Min || m.Kind == Max:
		v := next()
		if q.N, err = bounded(v, m.N, "a bound", -MaxSides, MaxSides); err != nil {
			return q, err
		}
	default:
		what := "a number of dice to keep or drop"
		if m.Kind < KeepHigh {
			what = "a number of dice to roll again or to explode"
		}
		if q.N, err = bounded(next(), m.N, what, 0, MaxNumber); err != nil {
			return q, err
		}
	}
	if m.Limit != nil {
		q.Limited = true
		q.Limit, err = bounded(next(), m.Limit, "a limit of explosions", 0, MaxDice)
	}
	return q, err
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
	if r.still {
		return errNoDice
	}
	if e.Sort == Pool {
		return r.pool(e, out)
	}
	if e.plan != nil {
		if err := r.throw(e.plan, out); err != nil {
			return err
		}
		e.plan.settle(out)
		return nil
	}
	var few [4]Value
	values := few[:0]
	for _, x := range e.Params() {
		v, err := r.param(x, out)
		if err != nil {
			return err
		}
		values = append(values, v)
	}
	p, err := e.Plan(values...)
	if err != nil {
		return err
	}
	if err := r.throw(p, out); err != nil {
		return err
	}
	p.settle(out)
	return nil
}

// Roll rolls the dice of a plan. It fails like Notation.Roll.
func (p *Plan) Roll(purpose string, dice *play.Dice) (*Result, error) {
	r := roller{dice: dice, purpose: purpose}
	out := &Result{Expr: p.Expr}
	if err := r.throw(p, out); err != nil {
		return nil, err
	}
	p.settle(out)
	return out, nil
}

// step rolls one face of a die, again as often as the plan says, and adds it to the die.
func (r *roller) step(p *Plan, d *Die, kind StepKind, less int) (value int, err error) {
	once := false
	for {
		face, err := r.face(p.Sides)
		if err != nil {
			return 0, err
		}
		value = p.Value(face)
		d.Steps = append(d.Steps, Step{kind, face, value - less})
		switch {
		case p.Rerolls(value):
		case !once && p.any(RerollOnce, value):
			once = true
		default:
			return value, nil
		}
		kind = Rerolled
	}
}

// throw rolls all dice of a plan.
func (r *roller) throw(p *Plan, out *Result) error {
	x := p.Explosion()
	highest, lowest := p.Chosen(RerollHigh, RerollLow, p.Count)
	spare := 0
	if x != nil {
		spare = p.Count/2 + 1 // more than most explosions take
	}
	out.Dice = make([]Die, 0, p.Count+spare)
	r.steps = make([]Step, p.Count+spare)
	for range p.Count {
		d := Die{Sides: p.Sides, Steps: r.history()}
		face, err := r.step(p, &d, First, 0)
		if err != nil {
			return err
		}
		d.Value = face
		out.Dice = append(out.Dice, d)
		if x == nil || highest+lowest > 0 {
			continue
		}
		if err := r.explode(p, x, out); err != nil {
			return err
		}
	}
	if highest+lowest > 0 {
		if err := r.again(p, x, out, highest, lowest); err != nil {
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
			return r.unique(p, &p.Mods[i], out.Dice)
		}
	}
	return nil
}

// explode rolls what the last die explodes to.
func (r *roller) explode(p *Plan, x *PlannedMod, out *Result) (err error) {
	less := 0
	if x.Kind == Penetrate || x.Kind == PenetrateCompound {
		less = 1
	}
	face := out.Dice[len(out.Dice)-1].Value
	for n := 0; n < x.Limit && x.Pattern.Matches(face); n++ {
		to, kind := &out.Dice[len(out.Dice)-1], Added
		if x.Kind == Explode || x.Kind == Penetrate {
			out.Dice = append(out.Dice, Die{Sides: p.Sides, Steps: r.history(), Exploded: true})
			to, kind = &out.Dice[len(out.Dice)-1], First
		}
		if face, err = r.step(p, to, kind, less); err != nil {
			return err
		}
		to.Value += face - less
	}
	return nil
}

// again rolls the highest and the lowest dice once more, and only then what dice explode to.
func (r *roller) again(p *Plan, x *PlannedMod, out *Result, highest, lowest int) (err error) {
	dice := out.Dice
	for i, chosen := range extremes(dice, highest, lowest) {
		if chosen {
			if dice[i].Value, err = r.step(p, &dice[i], Rerolled, 0); err != nil {
				return err
			}
		}
	}
	if x == nil {
		return nil
	}
	out.Dice = make([]Die, 0, cap(dice))
	for _, d := range dice {
		out.Dice = append(out.Dice, d)
		if err := r.explode(p, x, out); err != nil {
			return err
		}
	}
	return nil
}

// more rolls one more die behind each of the highest and the lowest.
func (r *roller) more(p *Plan, out *Result, highest, lowest int) (err error) {
	dice := out.Dice
	out.Dice = make([]Die, 0, len(dice)+highest+lowest)
	for i, chosen := range extremes(dice, highest, lowest) {
		out.Dice = append(out.Dice, dice[i])
		if chosen {
			d := Die{Sides: p.Sides, Steps: r.history(), Exploded: true}
			if d.Value, err = r.step(p, &d, First, 0); err != nil {
				return err
			}
			out.Dice = append(out.Dice, d)
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
func (r *roller) unique(p *Plan, m *PlannedMod, dice []Die) error {
	seen := map[int]bool{}
	for i := range dice {
		d := &dice[i]
		for again := 0; seen[d.Value] && (m.All || m.Pattern.Matches(d.Value)) && (again == 0 || m.Kind == Unique); again++ {
			if m.Kind == Unique && !p.fresh(m, seen) {
				return play.Refuse(Endless, "column %d: a d%d has no face left that is unique", p.Expr.column, p.Sides)
			}
			face, err := r.step(p, d, Distinct, 0)
			if err != nil {
				return err
			}
			d.Value = face
		}
		seen[d.Value] = true
	}
	return nil
}

// fresh tells whether a die has a face left that would end the re-rolls of Unique.
func (p *Plan) fresh(m *PlannedMod, seen map[int]bool) bool {
	for _, s := range p.spans(nil) {
		if p.Rerolls(p.Value(s.first)) {
			continue
		}
		for face := s.first; face <= s.last; face++ {
			if v := p.Value(face); !seen[v] || !m.All && !m.Pattern.Matches(v) {
				return true
			}
		}
	}
	return false
}

// settle applies what comes after the roll, and computes the value.
func (p *Plan) settle(out *Result) {
	if len(p.Mods) == 0 {
		sum := 0
		for i := range out.Dice {
			sum += out.Dice[i].Value
		}
		out.Value = Whole(int64(sum))
		return
	}
	judged := false
	for i := range p.Mods {
		judged = judged || p.Mods[i].judges()
	}
	var few [32]Value
	values := few[:0]
	for i := range out.Dice {
		d := &out.Dice[i]
		for _, m := range p.Mods {
			switch m.Kind { //nolint:exhaustive // the others come elsewhere
			case Min:
				d.Value = max(d.Value, m.N)
			case Max:
				d.Value = min(d.Value, m.N)
			case CritSuccess, CritFailure:
				if m.Pattern.Matches(d.Value) {
					d.Critical = 1 - 2*b2i(m.Kind == CritFailure)
				}
			}
		}
		values = append(values, Whole(int64(d.Value)))
	}
	var (
		fewFates [32]fate
		fates    []fate
		counts   bool
	)
	if judged {
		fates, counts = judge(p.Mods, values, fewFates[:0])
	}
	sum := 0
	for i := range out.Dice {
		d := &out.Dice[i]
		if judged {
			d.Dropped, d.Why, d.Success = fates[i].dropped, fates[i].why, fates[i].success
		}
		switch {
		case d.Dropped:
		case counts:
			sum += d.Success
		default:
			sum += d.Value
		}
	}
	out.Value = Whole(int64(sum))
	for _, m := range p.Mods {
		if m.Kind == SortUp || m.Kind == SortDown {
			sign := 1 - 2*b2i(m.Kind == SortDown)
			slices.SortStableFunc(out.Dice, func(a, b Die) int { return sign * cmp.Compare(a.Value, b.Value) })
		}
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// fate is what becomes of one die, or one part of a group.
type fate struct {
	dropped bool
	why     string
	success int
}

// judges tells whether a modifier is one of judge's.
func (m *PlannedMod) judges() bool { return m.Kind >= KeepHigh && m.Kind <= Failure }

// judge applies keep, drop, success and failure to values. counts tells that successes are counted. The fates go into
// room if they fit.
func judge(mods []PlannedMod, values []Value, room []fate) (fates []fate, counts bool) {
	fates = slices.Grow(room[:0], len(values))[:len(values)]
	clear(fates)
	var few [32]int
	var order []int
	for i := range mods {
		if order == nil && mods[i].ranks() {
			order = rank(values, few[:0])
		}
	}
	var fewKept [32]bool
	var kept []bool
	keeps := ""
	for _, m := range mods {
		if m.Kind >= KeepHigh && m.Kind <= KeepIf {
			if kept == nil {
				kept = append(fewKept[:0], make([]bool, len(values))...)
			}
			keeps += m.text()
			m.choose(values, order, func(i int) { kept[i] = true })
		}
	}
	for i := range kept {
		if !kept[i] {
			fates[i].dropped, fates[i].why = true, keeps
		}
	}
	for _, m := range mods {
		switch {
		case m.Kind >= DropHigh && m.Kind <= DropIf:
			m.choose(values, order, func(i int) {
				if !fates[i].dropped {
					fates[i].dropped, fates[i].why = true, m.text()
				}
			})
		case m.Kind == Success || m.Kind == Failure:
			counts = true
			for i := range fates {
				if !fates[i].dropped && holds(m.Pattern.Op, values[i], m.Pattern.To) {
					fates[i].success += 1 - 2*b2i(m.Kind == Failure)
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

// rank lists the places of values by value, rising; of equal ones the later counts as lower, so that the earlier is kept.
// It goes into room if it fits.
func rank(values []Value, room []int) []int {
	for i := len(values) - 1; i >= 0; i-- {
		room = append(room, i)
	}
	slices.SortStableFunc(room, func(a, b int) int { return values[a].Cmp(values[b]) })
	return room
}

// choose calls f for each value that a keep or drop means. Order are the places of the values by rank.
func (m *PlannedMod) choose(values []Value, order []int, f func(i int)) {
	switch m.Kind { //nolint:exhaustive // keeps and drops only
	case KeepIf, DropIf:
		for i, v := range values {
			if holds(m.Pattern.Op, v, m.Pattern.To) {
				f(i)
			}
		}
	case KeepLow, DropLow:
		for _, i := range order[:min(m.N, len(values))] {
			f(i)
		}
	case KeepHigh, DropHigh:
		for _, i := range order[max(0, len(values)-m.N):] {
			f(i)
		}
	}
}

// text spells a keep or drop.
func (m *PlannedMod) text() string {
	if m.Kind == KeepIf || m.Kind == DropIf {
		return modText[m.Kind] + m.Pattern.Op + m.Pattern.To.String()
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
	for i := range e.Normal + e.Danger + penalties {
		face, err := r.face(6)
		if err != nil {
			return err
		}
		d := Die{Sides: 6, Steps: []Step{{First, face, face}}, Value: face}
		if i < e.Normal+e.Danger {
			width[face]++
		} else {
			width[face]--
			d.Dropped, d.Why = true, "penalty"
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
	next := func() Value { v := values[0]; values = values[1:]; return v }
	var mods []PlannedMod
	for _, m := range e.Mods {
		q, err := groupMod(m, next)
		if err != nil {
			return err
		}
		mods = append(mods, q)
	}
	parts := out.Parts[:len(e.Args)]
	if len(parts) == 1 && len(mods) > 0 {
		return out.groupOfDice(mods, parts[0])
	}
	values = make([]Value, len(parts))
	for i, p := range parts {
		values[i] = p.Value
	}
	fates, counts := judge(mods, values, nil)
	var err error
	for i, p := range parts {
		p.Dropped, p.Why, p.Success = fates[i].dropped, fates[i].why, fates[i].success
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

func groupMod(m Mod, next func() Value) (PlannedMod, error) {
	q := PlannedMod{Kind: m.Kind}
	if m.Compare != nil {
		q.Pattern = Pattern{m.Compare.Op, next()}
	}
	if m.N == nil {
		return q, nil
	}
	var err error
	q.N, err = bounded(next(), m.N, "a number to keep or drop", 0, MaxNumber)
	return q, err
}

// groupOfDice lets the modifiers of a group with a single part work on all dice in it.
func (r *Result) groupOfDice(mods []PlannedMod, part *Result) error {
	var dice []*Die
	part.each(func(d *Die) {
		if !d.Dropped {
			dice = append(dice, d)
		}
	})
	values := make([]Value, len(dice))
	for i, d := range dice {
		values[i] = Whole(int64(d.Value))
	}
	fates, counts := judge(mods, values, nil)
	successes := 0
	for i, d := range dice {
		d.Dropped, d.Why = fates[i].dropped, fates[i].why
		if counts {
			d.Success = fates[i].success
			successes += d.Success
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
func (r *Result) each(f func(*Die)) {
	if r.Expr.Kind == Dice {
		for i := range r.Dice {
			f(&r.Dice[i])
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
				sum += d.Success
			default:
				sum += d.Value
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
	next := func() Value { v := params[0]; params = params[1:]; return v }
	var mods []PlannedMod
	for _, m := range e.Mods {
		q, err := groupMod(m, next)
		if err != nil {
			return Value{}, err
		}
		mods = append(mods, q)
	}
	fates, counts := judge(mods, parts, nil)
	var sum Value
	var err error
	for i, v := range parts {
		switch {
		case fates[i].dropped:
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
// With keep, plans that are known stay with their dice; nobody else may hold the expression yet.
func (e *Expr) foresee(keep bool) (v Value, known bool, err error) {
	if e.Kind == Number {
		return e.Value, true, nil
	}
	known = e.Kind != Dice
	var few [2]Value
	parts := few[:0]
	for i, a := range e.Args {
		part, fixed, err := a.foresee(keep)
		if err != nil {
			return v, false, err
		}
		parts = append(parts, part)
		known = known && fixed
		if i == 1 && fixed && !known && parts[1].num == 0 && (e.Op == "/" || e.Op == "//" || e.Op == "%") {
			return v, false, play.Refuse(DivisionByZero, "column %d: dice are divided by 0", e.column)
		}
	}
	var fewParams [4]Value
	params := fewParams[:0]
	fixed := true
	for _, x := range e.Params() {
		v, ok, err := x.foresee(keep)
		if err != nil {
			return v, false, err
		}
		params, fixed = append(params, v), fixed && ok
	}
	switch {
	case e.Kind == Dice && fixed && e.Sort != Pool:
		if e.plan != nil {
			return v, false, nil
		}
		p, err := e.Plan(params...)
		if err == nil {
			err = p.canBeUnique()
		}
		if keep {
			e.plan = p
		}
		return v, false, err
	case !known || !fixed:
		return v, false, nil
	case e.Kind == Group:
		r := roller{still: true}
		out, err := r.roll(e)
		if err != nil {
			return v, false, err
		}
		return out.Value, true, nil
	}
	v, err = e.Apply(parts...)
	return v, true, err
}

// canBeUnique refuses more unique dice than there are faces.
func (p *Plan) canBeUnique() error {
	highest, lowest := p.Chosen(ExplodeHigh, ExplodeLow, p.Count)
	dice := p.Count + highest + lowest
	for _, m := range p.Mods {
		if m.Kind == Unique && m.All && dice > p.distinct() {
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
