package odds

import (
	"errors"
	"math"
	"math/big"
	"slices"

	"github.com/wayfarer-rpg/wayfarer/rules/notation"
	"github.com/wayfarer-rpg/wayfarer/rules/play"
)

const (
	// MaxPaths is how many courses of a roll are followed one by one, where nothing quicker is known.
	MaxPaths = 100_000
	// maxCases limits the values that counts, sides and modifiers can take together when dice decide them.
	maxCases = 10_000
)

// Explosions and courses that are less likely are cut off.
const (
	cutoff       = 1e-9
	courseCutoff = 1e-12
)

// Of is the distribution of a notation's total, rounded down as Roll does. What is lost are explosions and re-rolls less
// likely than 1e-9 for each die. It fails with TOO_MUCH_WORK, and with what any roll of the notation fails with.
func Of(n notation.Notation) (Dist, error) {
	m := &meter{left: maxSteps}
	q, err := m.of(n.Expr)
	if err != nil {
		return Dist{}, err
	}
	return q.floor()
}

// fractions is a distribution of fractions: of the outcomes, each over den.
type fractions struct {
	Dist
	den int64
}

func (q fractions) value(i int) notation.Value { return notation.Fraction(q.vals[i], q.den) }

func (q fractions) floor() (Dist, error) {
	if q.den == 1 {
		return q.Dist, nil
	}
	return q.Map(func(v int64) (int64, error) { return notation.Fraction(v, q.den).Floor(), nil })
}

// gather adds up ways by value.
type gather struct {
	at   map[notation.Value]int
	vals []notation.Value
	ways []*big.Int
	all  *big.Int // set by rats
}

// rats adds chances, and sets all to what they count of.
func (g *gather) rats(sums map[notation.Value]*big.Rat) error {
	g.all = big.NewInt(1)
	for _, r := range sums {
		f := new(big.Int).GCD(nil, nil, g.all, r.Denom())
		g.all.Mul(g.all, f.Div(r.Denom(), f))
	}
	for v, r := range sums {
		w := new(big.Int).Div(g.all, r.Denom())
		if err := g.add(v, w.Mul(w, r.Num())); err != nil {
			return err
		}
	}
	return nil
}

func (g *gather) add(v notation.Value, ways *big.Int) error {
	if g.at == nil {
		g.at = map[notation.Value]int{}
	}
	i, known := g.at[v]
	if !known {
		if i = len(g.vals); i >= MaxOutcomes {
			return tooMuch("more than %d outcomes", MaxOutcomes)
		}
		g.at[v] = i
		g.vals, g.ways = append(g.vals, v), append(g.ways, new(big.Int))
	}
	g.ways[i].Add(g.ways[i], ways)
	return nil
}

func (g *gather) dist(all *big.Int) (fractions, error) {
	den := int64(1)
	for _, v := range g.vals {
		step := v.Den() / int64(gcd(uint64(den), uint64(v.Den()))) //nolint:gosec // above 0
		if den > math.MaxInt32/step {
			return fractions{}, tooMuch("fractions with a common denominator above %d", math.MaxInt32)
		}
		den *= step
	}
	nums := make([]int64, len(g.vals))
	for i, v := range g.vals {
		n, err := v.Mul(notation.Whole(den))
		if err != nil {
			return fractions{}, err
		}
		nums[i] = n.Num()
	}
	return fractions{newDist(nums, g.ways, all), den}, nil
}

func single(v notation.Value) fractions { return fractions{Const(v.Num()), v.Den()} }

func (m *meter) of(e *notation.Expr) (fractions, error) {
	if v, known, err := e.Constant(); err != nil || known {
		return single(v), err
	}
	switch {
	case e.Kind == notation.Dice && e.Sort == notation.Pool:
		o, err := Pool{Normal: e.Normal, Danger: e.Danger, Penalty: e.Penalty, Difficulty: 2}.Odds()
		var r *play.Refusal
		if errors.As(err, &r) {
			err = play.Refuse(TooMuchWork, "%s", r.Message)
		}
		return fractions{o.Heights, 1}, err
	case e.Kind == notation.Dice:
		return m.ofCases(e.Params(), func(values []notation.Value) (fractions, error) {
			p, err := e.Plan(values...)
			if err != nil {
				return fractions{}, err
			}
			d, err := m.ofPlan(p)
			return fractions{d, 1}, err
		})
	case e.Kind == notation.Group && len(e.Args) == 1 && len(e.Mods) > 0:
		return m.walk(e, courseCutoff)
	}
	args := make([]fractions, len(e.Args))
	for i, a := range e.Args {
		var err error
		if args[i], err = m.of(a); err != nil {
			return fractions{}, err
		}
	}
	if e.Kind == notation.Group {
		return m.ofGroup(e, args)
	}
	return m.ofOperation(e, args)
}

func (m *meter) ofOperation(e *notation.Expr, args []fractions) (fractions, error) {
	switch {
	case len(args) == 1:
		return m.apply(e, args[0])
	case e.Op == "+" || e.Op == "-":
		return m.sum(args[0], args[1], e.Op == "-")
	}
	out := args[0]
	for _, a := range args[1:] { // more than two are those of min and max, which go pair by pair
		var err error
		if out, err = m.apply(e, out, a); err != nil {
			return fractions{}, err
		}
	}
	return out, nil
}

// sum adds whole distributions quickly.
func (m *meter) sum(a, b fractions, minus bool) (fractions, error) {
	den := a.den / int64(gcd(uint64(a.den), uint64(b.den))) //nolint:gosec // above 0
	if den > math.MaxInt32/b.den {
		return fractions{}, tooMuch("fractions with a common denominator above %d", math.MaxInt32)
	}
	den *= b.den
	scale := func(q fractions) (Dist, error) {
		if q.den == den {
			return q.Dist, nil
		}
		return q.Map(func(v int64) (int64, error) {
			w, err := notation.Whole(v).Mul(notation.Whole(den / q.den))
			return w.Num(), err
		})
	}
	x, err := scale(a)
	if err != nil {
		return fractions{}, err
	}
	y, err := scale(b)
	if err != nil {
		return fractions{}, err
	}
	if minus {
		y = y.negated()
	}
	if err := m.spend(addSteps(x, y)); err != nil {
		return fractions{}, err
	}
	total, err := Add(x, y)
	return fractions{total, den}, err
}

// apply computes an operation on one or two independent values.
func (m *meter) apply(e *notation.Expr, args ...fractions) (fractions, error) {
	var g gather
	a, t := args[0], new(big.Int)
	if len(args) == 1 {
		for i := range a.vals {
			v, err := e.Apply(a.value(i))
			if err == nil {
				err = g.add(v, a.ways[i])
			}
			if err != nil {
				return fractions{}, err
			}
		}
		return g.dist(a.all)
	}
	b := args[1]
	if a.Len()*b.Len() > maxPairs {
		return fractions{}, tooMuch("combining %d by %d outcomes", a.Len(), b.Len())
	}
	if err := m.spend(2 * float64(a.Len()) * float64(b.Len())); err != nil {
		return fractions{}, err
	}
	for i := range a.vals {
		for j := range b.vals {
			v, err := e.Apply(a.value(i), b.value(j))
			if err == nil {
				err = g.add(v, t.Mul(a.ways[i], b.ways[j]))
			}
			if err != nil {
				return fractions{}, err
			}
		}
	}
	return g.dist(new(big.Int).Mul(a.all, b.all))
}

// ofCases mixes what f makes of every combination of values that parameters can take.
func (m *meter) ofCases(params []*notation.Expr, f func([]notation.Value) (fractions, error)) (fractions, error) {
	dists := make([]fractions, len(params))
	cases := 1
	for i, x := range params {
		var err error
		if dists[i], err = m.of(x); err != nil {
			return fractions{}, err
		}
		if cases *= dists[i].Len(); cases > maxCases {
			return fractions{}, tooMuch("counts, sides and modifiers that can take more than %d values together", maxCases)
		}
	}
	values := make([]notation.Value, len(params))
	if cases == 1 && !slices.ContainsFunc(dists, func(q fractions) bool { return q.Lost().Sign() > 0 }) {
		for i, q := range dists {
			values[i] = q.value(0)
		}
		return f(values)
	}
	type oneCase struct {
		fractions
		ways *big.Int
	}
	var all []oneCase
	den := big.NewInt(1)
	var choose func(i int, ways *big.Int) error
	choose = func(i int, ways *big.Int) error {
		if i == len(params) {
			q, err := f(values)
			if err != nil {
				return err
			}
			if err := m.spend(10 + float64(q.Len()*len(q.all.Bits()))); err != nil {
				return err
			}
			g := new(big.Int).GCD(nil, nil, den, q.all)
			den.Mul(den, g.Div(q.all, g))
			if den.BitLen() > 64*1024 {
				return tooMuch("so many different counts")
			}
			all = append(all, oneCase{q, ways})
			return nil
		}
		for j := range dists[i].vals {
			values[i] = dists[i].value(j)
			if err := choose(i+1, new(big.Int).Mul(ways, dists[i].ways[j])); err != nil {
				return err
			}
		}
		return nil
	}
	if err := choose(0, big.NewInt(1)); err != nil {
		return fractions{}, err
	}
	var g gather
	t := new(big.Int)
	for _, c := range all {
		scale := new(big.Int).Div(den, c.all)
		scale.Mul(scale, c.ways)
		if err := m.spend(float64(c.Len()) * (1 + float64(len(c.all.Bits()))*float64(len(scale.Bits()))/128)); err != nil {
			return fractions{}, err
		}
		for j := range c.vals {
			if err := g.add(c.value(j), t.Mul(c.Dist.ways[j], scale)); err != nil {
				return fractions{}, err
			}
		}
	}
	for _, q := range dists {
		den.Mul(den, q.all)
	}
	return g.dist(den)
}

// ofGroup is a group of several parts, or of one without modifiers.
func (m *meter) ofGroup(e *notation.Expr, args []fractions) (fractions, error) {
	if !slices.ContainsFunc(e.Mods, func(m notation.Mod) bool { return m.Kind < notation.SortUp }) {
		out := args[0]
		for _, a := range args[1:] {
			var err error
			if out, err = m.sum(out, a, false); err != nil {
				return fractions{}, err
			}
		}
		return out, nil
	}
	return m.ofCases(e.Params(), func(params []notation.Value) (fractions, error) {
		if q, ok, err := m.ofEqualParts(e, args, params); ok || err != nil {
			return q, err
		}
		cases := 1
		all := big.NewInt(1)
		for _, a := range args {
			if cases *= a.Len(); cases > maxPairs/8 {
				return fractions{}, tooMuch("a group with more than %d combinations of values", maxPairs/8)
			}
			all.Mul(all, a.all)
		}
		if err := m.spend(8 * float64(cases)); err != nil {
			return fractions{}, err
		}
		var g gather
		values := make([]notation.Value, len(args))
		var choose func(i int, ways *big.Int) error
		choose = func(i int, ways *big.Int) error {
			if i == len(args) {
				v, err := e.Judge(values, params)
				if err == nil {
					err = g.add(v, ways)
				}
				return err
			}
			for j := range args[i].vals {
				values[i] = args[i].value(j)
				if err := choose(i+1, new(big.Int).Mul(ways, args[i].ways[j])); err != nil {
					return err
				}
			}
			return nil
		}
		if err := choose(0, big.NewInt(1)); err != nil {
			return fractions{}, err
		}
		return g.dist(all)
	})
}

// ofEqualParts takes parts that are all alike for dice.
func (m *meter) ofEqualParts(e *notation.Expr, args []fractions, params []notation.Value) (fractions, bool, error) {
	first := e.Args[0].String()
	for i, a := range e.Args {
		if args[i].den != 1 || a.String() != first {
			return fractions{}, false, nil
		}
	}
	var rule judgement
	for _, mod := range e.Mods {
		planned := notation.PlannedMod{Kind: mod.Kind}
		if mod.Compare != nil {
			planned.Pattern = notation.Pattern{Op: mod.Compare.Op, To: params[0]}
			params = params[1:]
		}
		if mod.N != nil {
			if !params[0].IsWhole() || params[0].Num() < 0 {
				return fractions{}, false, nil // Judge refuses it
			}
			planned.N = int(min(params[0].Num(), math.MaxInt32))
			params = params[1:]
		}
		rule = append(rule, planned)
	}
	d, err := rule.of(m, args[0].Dist, len(args))
	return fractions{d, 1}, true, err
}

// judgement are the modifiers that decide what each die is worth.
type judgement []notation.PlannedMod

// worth is what a die with the value counts when it is kept.
func (j judgement) worth(v int64) int64 {
	counts, n := false, int64(0)
	for _, m := range j {
		switch m.Kind { //nolint:exhaustive // the others do not count
		case notation.Success, notation.Failure:
			counts = true
			if m.Pattern.Matches(int(v)) {
				if n++; m.Kind == notation.Failure {
					n -= 2
				}
			}
		}
	}
	if counts {
		return n
	}
	return v
}

// ranked tells whether the rank of a die among the others matters.
func (j judgement) ranked() bool {
	return slices.ContainsFunc(j, func(m notation.PlannedMod) bool {
		return m.Kind == notation.KeepHigh || m.Kind == notation.KeepLow || m.Kind == notation.DropHigh || m.Kind == notation.DropLow
	})
}

// kept tells whether a die of n counts, that has the value and so many lower ones before it.
func (j judgement) kept(v int64, rank, n int) bool {
	keeps, kept := false, false
	for _, m := range j {
		switch m.Kind { //nolint:exhaustive // the others keep everything
		case notation.KeepHigh:
			keeps, kept = true, kept || rank >= n-m.N
		case notation.KeepLow:
			keeps, kept = true, kept || rank < m.N
		case notation.KeepIf:
			keeps, kept = true, kept || m.Pattern.Matches(int(v))
		case notation.DropHigh:
			if rank >= n-m.N {
				return false
			}
		case notation.DropLow:
			if rank < m.N {
				return false
			}
		case notation.DropIf:
			if m.Pattern.Matches(int(v)) {
				return false
			}
		}
	}
	return kept || !keeps
}

// of is what n dice are worth together.
func (j judgement) of(m *meter, d Dist, n int) (Dist, error) {
	if len(j) == 0 {
		return m.times(d, n)
	}
	if !j.ranked() {
		one, err := d.Map(func(v int64) (int64, error) {
			if j.kept(v, 0, n) {
				return j.worth(v), nil
			}
			return 0, nil
		})
		if err != nil {
			return Dist{}, err
		}
		return m.times(one, n)
	}
	if !slices.ContainsFunc(j, func(m notation.PlannedMod) bool {
		return m.Kind == notation.KeepIf || m.Kind == notation.DropIf || m.Kind == notation.Success
	}) {
		// Only ranks count: a single run of them is quick.
		first, end, runs := 0, 0, 0
		for r := range n {
			if j.kept(0, r, n) {
				if runs == 0 || end < r {
					first, runs = r, runs+1
				}
				end = r + 1
			}
		}
		switch runs {
		case 0:
			return Const(0), nil
		case 1:
			return m.keep(d, n, first, end)
		}
	}
	if err := m.spend(d.pickSteps(n)); err != nil {
		return Dist{}, err
	}
	return d.pick(n, func(v int64, rank int) int64 {
		if j.kept(v, rank, n) {
			return j.worth(v)
		}
		return 0
	})
}

// ofPlan is the sum of dice of which all parameters are known.
func (m *meter) ofPlan(p *notation.Plan) (Dist, error) {
	if p.Count == 0 {
		return Const(0), nil
	}
	x := p.Explosion()
	rule := judgement(p.Mods)
	apart := x != nil && (x.Kind == notation.Explode || x.Kind == notation.Penetrate)
	unique := slices.IndexFunc(p.Mods, func(m notation.PlannedMod) bool { return m.Kind == notation.Unique || m.Kind == notation.UniqueOnce })
	high, low := p.Chosen(notation.RerollHigh, notation.RerollLow, p.Count)
	again := high + low
	moreHigh, moreLow := p.Chosen(notation.ExplodeHigh, notation.ExplodeLow, p.Count)
	more := moreHigh + moreLow
	if apart && rule.ranked() || (unique >= 0 || again+more > 0) && x != nil || unique >= 0 && again+more > 0 || again > 0 && again < p.Count && rule.ranked() {
		q, err := m.walkPlan(p)
		return q.Dist, err
	}
	if p.Sides > MaxOutcomes {
		return Dist{}, tooMuch("a die of %d sides", p.Sides)
	}
	if err := m.spend(float64(p.Sides) * float64(1+len(p.Mods)) / 8); err != nil {
		return Dist{}, err
	}
	step := stepOf(p)
	if unique >= 0 {
		return m.distinct(p, step, p.Mods[unique])
	}
	if x == nil {
		d, err := step, error(nil)
		if slices.ContainsFunc(p.Mods, func(m notation.PlannedMod) bool { return m.Kind == notation.Min || m.Kind == notation.Max }) {
			d, err = step.Map(clamp(p))
		}
		if err != nil {
			return Dist{}, err
		}
		if again == 0 || again == p.Count {
			return rule.of(m, d, p.Count+more) // a die more is like any other, whichever it came from
		}
		// The dice that stay, and new ones in place of the others.
		stay := append(slices.Clone(rule),
			notation.PlannedMod{Kind: notation.DropHigh, N: high}, notation.PlannedMod{Kind: notation.DropLow, N: low})
		held, err := stay.of(m, d, p.Count)
		if err != nil {
			return Dist{}, err
		}
		fresh, err := rule.of(m, d, again+more)
		if err != nil {
			return Dist{}, err
		}
		return Add(held, fresh)
	}
	if !apart {
		d, err := m.chain(step, x, func(v int64) int64 { return v })
		if err == nil {
			d, err = d.Map(clamp(p))
		}
		if err != nil {
			return Dist{}, err
		}
		return rule.of(m, d, p.Count)
	}
	bound := clamp(p)
	d, err := m.chain(step, x, func(v int64) int64 {
		if v, _ = bound(v); rule.kept(v, 0, 1) {
			return rule.worth(v)
		}
		return 0
	})
	if err != nil {
		return Dist{}, err
	}
	return m.times(d, p.Count)
}

// distinct follows dice one by one that are rolled again while they show what an earlier one shows.
func (m *meter) distinct(p *notation.Plan, step Dist, u notation.PlannedMod) (Dist, error) {
	courses := 1
	for range p.Count {
		if courses *= step.Len(); courses > MaxPaths {
			return Dist{}, tooMuch("more than %d courses that a roll can take", MaxPaths)
		}
	}
	if err := m.spend(courseSteps * float64(courses)); err != nil {
		return Dist{}, err
	}
	bound, rule := clamp(p), judgement(p.Mods)
	sums := map[notation.Value]*big.Rat{}
	values := make([]int64, 0, p.Count) // as rolled
	var next func(chance *big.Rat) error
	next = func(chance *big.Rat) error {
		if len(values) == p.Count {
			total := notation.Whole(rule.total(values, bound))
			if sums[total] == nil {
				sums[total] = new(big.Rat)
			}
			sums[total].Add(sums[total], chance)
			return nil
		}
		again := func(v int64) bool { return slices.Contains(values, v) && (u.All || u.Pattern.Matches(int(v))) }
		twice := new(big.Int) // ways that are rolled again
		for i, v := range step.vals {
			if again(v) {
				twice.Add(twice, step.ways[i])
			}
		}
		if u.Kind == notation.Unique && twice.Cmp(step.all) == 0 {
			return play.Refuse(notation.Endless, "a d%d has no face left that is unique", p.Sides)
		}
		for i, v := range step.vals {
			ways, all := new(big.Int).Set(step.ways[i]), new(big.Int).Set(step.all)
			switch {
			case u.Kind == notation.Unique && again(v):
				continue
			case u.Kind == notation.Unique:
				all.Sub(all, twice)
			case again(v): // comes only in place of another
				ways.Mul(ways, twice)
				all.Mul(all, all)
			default:
				ways.Mul(ways, new(big.Int).Add(all, twice))
				all.Mul(all, all)
			}
			values = append(values, v)
			if err := next(new(big.Rat).Mul(chance, new(big.Rat).SetFrac(ways, all))); err != nil {
				return err
			}
			values = values[:len(values)-1]
		}
		return nil
	}
	if err := next(big.NewRat(1, 1)); err != nil {
		return Dist{}, err
	}
	var g gather
	if err := g.rats(sums); err != nil {
		return Dist{}, err
	}
	q, err := g.dist(g.all)
	return q.Dist, err
}

// total is what dice are worth together, once their values are bounded.
func (j judgement) total(values []int64, bound func(int64) (int64, error)) int64 {
	sorted := make([]int64, len(values))
	for i, v := range values {
		sorted[i], _ = bound(v)
	}
	slices.Sort(sorted)
	sum := int64(0)
	for rank, v := range sorted {
		if j.kept(v, rank, len(sorted)) {
			sum += j.worth(v)
		}
	}
	return sum
}

// clamp applies Min and Max.
func clamp(p *notation.Plan) func(int64) (int64, error) {
	return func(v int64) (int64, error) {
		for _, m := range p.Mods {
			switch m.Kind { //nolint:exhaustive // the others change no value
			case notation.Min:
				v = max(v, int64(m.N))
			case notation.Max:
				v = min(v, int64(m.N))
			}
		}
		return v, nil
	}
}

// stepOf is one face of a plan, re-rolls done.
func stepOf(p *notation.Plan) Dist {
	if p.Faces == nil && (len(p.Mods) == 0 || p.Mods[0].Kind > notation.RerollOnce) {
		return Die(p.Sides)
	}
	var stay []int64
	var once []bool
	hit := 0
	for face := 1; face <= p.Sides; face++ {
		v := p.Value(face)
		if p.Rerolls(v) {
			continue
		}
		again := slices.ContainsFunc(p.Mods, func(m notation.PlannedMod) bool {
			return m.Kind == notation.RerollOnce && m.Pattern.Matches(v)
		})
		if stay, once = append(stay, int64(v)), append(once, again); again {
			hit++
		}
	}
	if hit == 0 {
		return Faces(stay...)
	}
	// A face stands at once, or comes in place of any that is rolled again.
	ways := make([]*big.Int, len(stay))
	for i := range stay {
		ways[i] = big.NewInt(int64(hit))
		if !once[i] {
			ways[i].Add(ways[i], big.NewInt(int64(len(stay))))
		}
	}
	all := big.NewInt(int64(len(stay)))
	return newDist(stay, ways, all.Mul(all, all))
}

// chain is a die that explodes: the sum of what its faces are worth, up to the limit of the explosion, or until a longer
// chain is less likely than the cut-off.
func (m *meter) chain(step Dist, x *notation.PlannedMod, worth func(int64) int64) (Dist, error) {
	less := int64(0)
	if x.Kind == notation.Penetrate || x.Kind == notation.PenetrateCompound {
		less = 1
	}
	// parts gives the faces that end a chain and those that go on, after the first face less 1 maybe.
	parts := func(less int64) (end, on Dist) {
		var av, bv []int64
		var aw, bw []*big.Int
		for i, v := range step.vals {
			w := new(big.Int).Set(step.ways[i])
			if x.Pattern.Matches(int(v)) {
				bv, bw = append(bv, worth(v-less)), append(bw, w)
			} else {
				av, aw = append(av, worth(v-less)), append(aw, w)
			}
		}
		return newDist(av, aw, step.all), newDist(bv, bw, step.all)
	}
	end, on := parts(less)
	depth := x.Limit
	cut := false
	if goes, _ := on.share(on.listed()).Float64(); goes > 0 {
		if n := int(math.Ceil(math.Log(cutoff) / math.Log(goes))); goes < 1 && n < depth {
			depth, cut = n, true
		}
	}
	if bits := step.all.BitLen() * (depth + 1); bits > 64*256 {
		return Dist{}, tooMuch("%d explosions of a die", depth)
	}
	if depth == 0 {
		first, more := parts(0)
		return union(first, more)
	}
	tail := end
	if !cut {
		var err error
		if tail, err = union(end, on); err != nil {
			return Dist{}, err
		}
	}
	for range depth - 1 {
		var err error
		if tail, err = m.follow(end, on, tail); err != nil {
			return Dist{}, err
		}
	}
	first, more := parts(0)
	return m.follow(first, more, tail)
}

// follow is a face that ends, or one that goes on with the tail.
func (m *meter) follow(end, on, tail Dist) (Dist, error) {
	if on.Len() == 0 {
		return end, nil
	}
	if tail.Len() == 0 {
		return end, nil
	}
	if err := m.spend(addSteps(on, tail)); err != nil {
		return Dist{}, err
	}
	longer, err := Add(on, tail)
	if err != nil {
		return Dist{}, err
	}
	return union(end, longer)
}

// union adds up the ways of two parts of one distribution. The denominator of one is a multiple of the other's.
func union(a, b Dist) (Dist, error) {
	if a.all.Cmp(b.all) > 0 {
		a, b = b, a
	}
	scale := new(big.Int).Div(b.all, a.all)
	vals := append(slices.Clone(a.vals), b.vals...)
	if len(vals) > 2*MaxOutcomes {
		return Dist{}, tooMuch("more than %d outcomes", MaxOutcomes)
	}
	ways := make([]*big.Int, 0, len(vals))
	for _, w := range a.ways {
		ways = append(ways, new(big.Int).Mul(w, scale))
	}
	for _, w := range b.ways {
		ways = append(ways, new(big.Int).Set(w))
	}
	return newDist(vals, ways, b.all), nil
}

// walk follows every course of a roll, one by one.
func (m *meter) walk(e *notation.Expr, cutoff float64) (fractions, error) {
	return m.follower(cutoff, func(dice *play.Dice) (notation.Value, error) {
		r, err := notation.Notation{Expr: e}.Roll("odds", dice)
		if err != nil {
			return notation.Value{}, err
		}
		return r.Value, nil
	})
}

func (m *meter) walkPlan(p *notation.Plan) (fractions, error) {
	return m.follower(courseCutoff, func(dice *play.Dice) (notation.Value, error) {
		r, err := p.Roll("odds", dice)
		if err != nil {
			return notation.Value{}, err
		}
		return r.Value, nil
	})
}

// follower calls roll with all sequences of faces that it may ask for. A course that gets less likely than the cut-off is
// lost.
func (m *meter) follower(cutoff float64, roll func(*play.Dice) (notation.Value, error)) (fractions, error) {
	type course struct{ face, sides int }
	var path []course
	// Few values and few chances come up again and again. A chance is not below the cut-off, so that one over it fits 64 bits.
	type ending struct {
		value notation.Value
		den   int64
	}
	counts := map[ending]int64{}
	for n := 0; ; n++ {
		if n == MaxPaths {
			return fractions{}, tooMuch("more than %d courses that a roll can take", MaxPaths)
		}
		if err := m.spend(courseSteps); err != nil {
			return fractions{}, err
		}
		at, chance, cut := 0, 1.0, false
		dice := play.NewDice(func(sides int) (int, error) {
			if chance /= float64(sides); at == len(path) {
				if chance < cutoff {
					cut = true
					return 0, errCut
				}
				path = append(path, course{1, sides})
			}
			at++
			return path[at-1].face, nil
		})
		v, err := roll(dice)
		switch {
		case cut:
		case err != nil:
			return fractions{}, err
		default:
			den := int64(1)
			for _, c := range path {
				den *= int64(c.sides)
			}
			counts[ending{v, den}]++
		}
		for len(path) > 0 && path[len(path)-1].face == path[len(path)-1].sides {
			path = path[:len(path)-1]
		}
		if len(path) == 0 {
			break
		}
		path[len(path)-1].face++
	}
	sums := map[notation.Value]*big.Rat{}
	for e, n := range counts {
		if sums[e.value] == nil {
			sums[e.value] = new(big.Rat)
		}
		sums[e.value].Add(sums[e.value], big.NewRat(n, e.den))
	}
	var g gather
	if err := g.rats(sums); err != nil {
		return fractions{}, err
	}
	return g.dist(g.all)
}

var errCut = errors.New("cut off")
