package odds

import (
	"cmp"
	"math"
	"math/big"
	"math/bits"
	"slices"

	"github.com/wayfarer-rpg/wayfarer/rules/play"
)

const (
	// BadOdds refuses parameters that no dice have; its field names the parameter.
	BadOdds = "BAD_ODDS"
	// TooMuchWork refuses a question that would take longer than the limits allow.
	TooMuchWork = "TOO_MUCH_WORK"
)

// MaxOutcomes is how many different outcomes a distribution may have.
const MaxOutcomes = 100_000

// maxPairs limits the steps of combining two distributions outcome by outcome, and maxWords the size of a product.
const (
	maxPairs = 4_000_000
	maxWords = 1 << 18
)

// Dist is a distribution of whole numbers: how many of all equally likely ways lead to each outcome. The zero value has
// no outcomes. A Dist does not change.
type Dist struct {
	vals []int64
	ways []*big.Int // above 0, one for each of vals
	all  *big.Int   // of vals and of what was lost
}

// newDist sorts outcomes, adds up equal ones and drops those without ways. It takes hold of ways and all.
func newDist(vals []int64, ways []*big.Int, all *big.Int) Dist {
	order := make([]int, 0, len(vals))
	for i := range vals {
		if ways[i].Sign() > 0 {
			order = append(order, i)
		}
	}
	if !slices.IsSortedFunc(order, func(a, b int) int { return cmp.Compare(vals[a], vals[b]) }) {
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(vals[a], vals[b]) })
	}
	d := Dist{make([]int64, 0, len(order)), make([]*big.Int, 0, len(order)), all}
	for _, i := range order {
		if n := len(d.vals); n > 0 && d.vals[n-1] == vals[i] {
			d.ways[n-1].Add(d.ways[n-1], ways[i])
			continue
		}
		d.vals = append(d.vals, vals[i])
		d.ways = append(d.ways, ways[i])
	}
	return d
}

// Const always is v.
func Const(v int64) Dist { return Dist{[]int64{v}, []*big.Int{big.NewInt(1)}, big.NewInt(1)} }

// Die is one die of 1 to sides; sides is at least 1 and at most MaxOutcomes.
func Die(sides int) Dist {
	d := Dist{make([]int64, sides), make([]*big.Int, sides), big.NewInt(int64(sides))}
	one := big.NewInt(1)
	for i := range sides {
		d.vals[i], d.ways[i] = int64(i+1), one
	}
	return d
}

// Faces is one die with the faces given, each equally likely, repeats allowed; at least one.
func Faces(faces ...int64) Dist {
	ways := make([]*big.Int, len(faces))
	for i := range ways {
		ways[i] = big.NewInt(1)
	}
	return newDist(slices.Clone(faces), ways, big.NewInt(int64(len(faces))))
}

// ofRats makes a distribution of the chances of 0, 1, 2, …; what they lack to 1 is lost.
func ofRats(chances ...*big.Rat) Dist {
	all := big.NewInt(1)
	for _, c := range chances {
		g := new(big.Int).GCD(nil, nil, all, c.Denom())
		all.Mul(all, g.Div(c.Denom(), g))
	}
	vals, ways := make([]int64, len(chances)), make([]*big.Int, len(chances))
	for i, c := range chances {
		vals[i] = int64(i)
		ways[i] = new(big.Int).Div(all, c.Denom())
		ways[i].Mul(ways[i], c.Num())
	}
	return newDist(vals, ways, all)
}

// Len is how many outcomes there are.
func (d Dist) Len() int { return len(d.vals) }

// At returns outcome number i, rising, with its chance.
func (d Dist) At(i int) (int64, *big.Rat) { return d.vals[i], d.share(d.ways[i]) }

// share is a part of all ways.
func (d Dist) share(ways *big.Int) *big.Rat { return new(big.Rat).SetFrac(ways, d.all) }

// Min and Max are the least and the greatest outcome; there is at least one.
func (d Dist) Min() int64 { return d.vals[0] }

// Max is the greatest outcome.
func (d Dist) Max() int64 { return d.vals[len(d.vals)-1] }

// Chance is the chance of an outcome.
func (d Dist) Chance(v int64) *big.Rat {
	if i, ok := slices.BinarySearch(d.vals, v); ok {
		return d.share(d.ways[i])
	}
	return new(big.Rat)
}

// listed is how many ways the outcomes have together.
func (d Dist) listed() *big.Int {
	sum := new(big.Int)
	for _, w := range d.ways {
		sum.Add(sum, w)
	}
	return sum
}

// Lost is the chance of what lies beyond a cut-off and is no outcome here; mostly 0.
func (d Dist) Lost() *big.Rat {
	rest := d.listed()
	return d.share(rest.Sub(d.all, rest))
}

// AtLeast gives for each outcome the chance of it or a greater one.
func (d Dist) AtLeast() []*big.Rat {
	out, sum := make([]*big.Rat, len(d.vals)), new(big.Int)
	for i := len(d.vals) - 1; i >= 0; i-- {
		out[i] = d.share(sum.Add(sum, d.ways[i]))
	}
	return out
}

// ChanceAtLeast is the chance of v or more.
func (d Dist) ChanceAtLeast(v int64) *big.Rat {
	i, _ := slices.BinarySearch(d.vals, v)
	return d.share(Dist{ways: d.ways[i:]}.listed())
}

// Mean is the mean of the outcomes; with a loss, of those that are left.
func (d Dist) Mean() *big.Rat {
	sum, t := new(big.Int), new(big.Int)
	for i, w := range d.ways {
		sum.Add(sum, t.Mul(w, big.NewInt(d.vals[i])))
	}
	return new(big.Rat).SetFrac(sum, d.listed())
}

// Variance is the mean square of the distance from the mean.
func (d Dist) Variance() *big.Rat {
	sum, t := new(big.Int), new(big.Int)
	for i, w := range d.ways {
		v := big.NewInt(d.vals[i])
		sum.Add(sum, t.Mul(w, t.Mul(v, v)))
	}
	mean := d.Mean()
	square := new(big.Rat).SetFrac(sum, d.listed())
	return square.Sub(square, mean.Mul(mean, mean))
}

// Quantile is the least outcome that at least the share p, above 0 and at most 1, of the outcomes does not exceed.
func (d Dist) Quantile(p *big.Rat) int64 {
	want := new(big.Int).Mul(p.Num(), d.listed()) // sum/listed >= p, without fractions
	sum, t := new(big.Int), new(big.Int)
	for i, w := range d.ways {
		sum.Add(sum, w)
		if t.Mul(sum, p.Denom()).Cmp(want) >= 0 {
			return d.vals[i]
		}
	}
	return d.Max()
}

// Map passes each outcome through f; an error of f ends it.
func (d Dist) Map(f func(int64) (int64, error)) (Dist, error) {
	vals, ways := make([]int64, len(d.vals)), make([]*big.Int, len(d.vals))
	for i, v := range d.vals {
		w, err := f(v)
		if err != nil {
			return Dist{}, err
		}
		vals[i], ways[i] = w, new(big.Int).Set(d.ways[i])
	}
	return newDist(vals, ways, d.all), nil
}

// Combine is the distribution of f over two independent outcomes. It fails with what f fails with, and with
// TOO_MUCH_WORK.
func Combine(a, b Dist, f func(x, y int64) (int64, error)) (Dist, error) {
	if a.Len()*b.Len() > maxPairs {
		return Dist{}, tooMuch("combining %d by %d outcomes", a.Len(), b.Len())
	}
	at, t := map[int64]int{}, new(big.Int)
	var (
		vals []int64
		ways []*big.Int
	)
	for i, x := range a.vals {
		for j, y := range b.vals {
			v, err := f(x, y)
			if err != nil {
				return Dist{}, err
			}
			k, known := at[v]
			if !known {
				if k = len(vals); k >= MaxOutcomes {
					return Dist{}, tooMuch("more than %d outcomes", MaxOutcomes)
				}
				at[v] = k
				vals, ways = append(vals, v), append(ways, new(big.Int))
			}
			ways[k].Add(ways[k], t.Mul(a.ways[i], b.ways[j]))
		}
	}
	return newDist(vals, ways, new(big.Int).Mul(a.all, b.all)), nil
}

// Add is the distribution of the sum of two independent outcomes. It fails with TOO_MUCH_WORK, and with BAD_ODDS when
// a sum does not fit 64 bits.
func Add(a, b Dist) (Dist, error) {
	if _, ok := addInt(a.Min(), b.Min()); !ok {
		return Dist{}, overflow()
	}
	if _, ok := addInt(a.Max(), b.Max()); !ok {
		return Dist{}, overflow()
	}
	if b.Len() == 1 || a.Len() == 1 {
		return Combine(a, b, sumOf)
	}
	all := new(big.Int).Mul(a.all, b.all)
	g, slot, ok := packing(a, b, all)
	if !ok {
		return Combine(a, b, sumOf)
	}
	product := new(big.Int).Mul(a.pack(g, slot), b.pack(g, slot))
	return unpack(product, a.Min()+b.Min(), g, slot, all), nil
}

// packing is the grid and the words of a slot with which two distributions are multiplied as numbers; ok is false where pairs of
// outcomes are quicker.
func packing(a, b Dist, all *big.Int) (g uint64, slot int, ok bool) {
	g, slot = gcd(a.step(), b.step()), slotWords(all)
	words := (a.span(g) + b.span(g)) * uint64(slot) //nolint:gosec // above 0
	return g, slot, words <= maxWords && words <= 64*uint64(a.Len())*uint64(b.Len())
}

// Sub is the distribution of the first of two independent outcomes less the second. It fails like Add.
func Sub(a, b Dist) (Dist, error) {
	if b.Min() == math.MinInt64 {
		return Dist{}, overflow()
	}
	return Add(a, b.negated())
}

func sumOf(x, y int64) (int64, error) { return x + y, nil }

// Times is the sum of n independent outcomes of the distribution; n is at least 0. It fails like Add.
func (d Dist) Times(n int) (Dist, error) {
	switch {
	case n == 0:
		return Const(0), nil
	case n == 1:
		return d, nil
	}
	for _, end := range []int64{d.Min(), d.Max()} {
		if hi, lo := bits.Mul64(magnitude(end), uint64(n)); hi != 0 || lo > math.MaxInt64 { //nolint:gosec // n is above 0
			return Dist{}, overflow()
		}
	}
	g := d.step()
	if bitLen := uint64(d.all.BitLen()) * uint64(n); bitLen <= 64*maxWords { //nolint:gosec // both are above 0
		all := new(big.Int).Exp(d.all, big.NewInt(int64(n)), nil)
		slot := slotWords(all)
		if span := d.span(g); span*uint64(n) < MaxOutcomes && span*uint64(n)*uint64(slot) <= maxWords { //nolint:gosec // both are above 0
			product := new(big.Int).Exp(d.pack(g, slot), big.NewInt(int64(n)), nil)
			return unpack(product, d.Min()*int64(n), g, slot, all), nil
		}
	}
	if n > 64 {
		return Dist{}, tooMuch("a sum of %d", n)
	}
	half, err := d.Times(n / 2)
	if err != nil {
		return Dist{}, err
	}
	whole, err := Add(half, half)
	if err == nil && n%2 == 1 {
		whole, err = Add(whole, d)
	}
	return whole, err
}

// A distribution is packed into one large number, outcome i of its grid in slot i, so that one multiplication of
// numbers is the product of the distributions.

// step is the distance of the grid on which the outcomes lie; 0 for a single one.
func (d Dist) step() uint64 {
	var g uint64
	for _, v := range d.vals[1:] {
		if g = gcd(g, uint64(v)-uint64(d.vals[0])); g == 1 { //nolint:gosec // differences of 64-bit numbers
			break
		}
	}
	return g
}

func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// span is how many grid points lie between the first and the last outcome.
func (d Dist) span(g uint64) uint64 {
	if g == 0 {
		return 1
	}
	return (uint64(d.Max())-uint64(d.Min()))/g + 1 //nolint:gosec // a difference of 64-bit numbers
}

// slotWords is how many words hold any number of ways up to all.
func slotWords(all *big.Int) int { return all.BitLen()/bits.UintSize + 1 }

func (d Dist) pack(g uint64, slot int) *big.Int {
	words := make([]big.Word, d.span(g)*uint64(slot)) //nolint:gosec // a count
	for i, v := range d.vals {
		at := uint64(0)
		if g > 0 {
			at = (uint64(v) - uint64(d.vals[0])) / g * uint64(slot) //nolint:gosec // a difference of 64-bit numbers
		}
		copy(words[at:], d.ways[i].Bits())
	}
	return new(big.Int).SetBits(words)
}

func unpack(product *big.Int, least int64, g uint64, slot int, all *big.Int) Dist {
	words := product.Bits()
	n := (len(words) + slot - 1) / slot
	d := Dist{make([]int64, 0, n), make([]*big.Int, 0, n), all}
	ways := make([]big.Int, n)
	for i := range n {
		part := words[i*slot : min((i+1)*slot, len(words))]
		for len(part) > 0 && part[len(part)-1] == 0 {
			part = part[:len(part)-1]
		}
		if len(part) > 0 {
			d.vals = append(d.vals, least+int64(uint64(i)*g)) //nolint:gosec // the ends were checked
			d.ways = append(d.ways, ways[i].SetBits(part[:len(part):len(part)]))
		}
	}
	return d
}

// Keep is the sum of some of n independent outcomes in rising order: the kept ones are those from number first, from 0,
// up to and without number end. It fails with TOO_MUCH_WORK.
//
// Outcomes above the kept span, inside it and below are counted as a multiset, so that only spans that reach one of the
// ends are quick; others cost the square of n.
func (d Dist) Keep(n, first, end int) (Dist, error) {
	if first == 0 && end == n {
		return d.Times(n)
	}
	if first >= end {
		return Const(0), nil
	}
	if end == n {
		return d.keepTop(n, n-first)
	}
	if first == 0 {
		neg := d.negated()
		kept, err := neg.keepTop(n, end)
		return kept.negated(), err
	}
	return d.keepSpan(n, first, end)
}

func (d Dist) negated() Dist {
	n := Dist{slices.Clone(d.vals), slices.Clone(d.ways), d.all}
	slices.Reverse(n.vals)
	slices.Reverse(n.ways)
	for i := range n.vals {
		n.vals[i] = -n.vals[i]
	}
	return n
}

// keepTop sums the k highest of n: v is the lowest face kept, a < k dice lie above it, enough others show it to fill up
// to k, and the rest lies below.
func (d Dist) keepTop(n, k int) (Dist, error) {
	if d.topSteps(k) > maxPairs || uint64(d.Len())*uint64(n) > maxPairs { //nolint:gosec // counts
		return Dist{}, tooMuch("keeping %d of %d dice with %d faces", k, n, d.Len())
	}
	lo, hi := d.Min()*int64(k), d.Max()*int64(k)
	g := max(d.step(), 1)
	size := (uint64(hi)-uint64(lo))/g + 1 //nolint:gosec // a difference of 64-bit numbers
	if size > MaxOutcomes {
		return Dist{}, tooMuch("keeping %d dice with faces from %d to %d", k, d.Min(), d.Max())
	}
	if d.small(n) {
		return d.keepTop128(n, k, g, int(size)), nil //nolint:gosec // checked
	}
	below := make([]*big.Int, d.Len()+1) // ways of a die to show less than face i
	below[0] = new(big.Int)
	for i, w := range d.ways {
		below[i+1] = new(big.Int).Add(below[i], w)
	}
	ways := make([]big.Int, size)
	t, u, v := new(big.Int), new(big.Int), new(big.Int)
	for i := range d.vals {
		above := Dist{d.vals[i+1:], d.ways[i+1:], d.all}
		for a := range k {
			if a > 0 && above.Len() == 0 {
				break
			}
			sum := Const(0)
			if a > 0 {
				var err error
				if sum, err = above.Times(a); err != nil {
					return Dist{}, err
				}
			}
			rest := n - a
			u.SetInt64(0)
			for b := k - a; b <= rest; b++ {
				t.Binomial(int64(rest), int64(b))
				t.Mul(t, v.Exp(d.ways[i], big.NewInt(int64(b)), nil))
				u.Add(u, t.Mul(t, v.Exp(below[i], big.NewInt(int64(rest-b)), nil)))
			}
			u.Mul(u, t.Binomial(int64(n), int64(a)))
			base := d.vals[i] * int64(k-a)
			for j, w := range sum.ways {
				at := (uint64(sum.vals[j]+base) - uint64(lo)) / g //nolint:gosec // within the span
				ways[at].Add(&ways[at], t.Mul(u, w))
			}
		}
	}
	out := Dist{all: new(big.Int).Exp(d.all, big.NewInt(int64(n)), nil)}
	for i := range ways {
		if ways[i].Sign() > 0 {
			out.vals = append(out.vals, lo+int64(uint64(i)*g)) //nolint:gosec // within the span
			out.ways = append(out.ways, &ways[i])
		}
	}
	return out, nil
}

// keepSpan sums the dice of a run of ranks.
func (d Dist) keepSpan(n, first, end int) (Dist, error) {
	return d.pick(n, func(v int64, rank int) int64 {
		if first <= rank && rank < end {
			return v
		}
		return 0
	})
}

// pick sums what n dice are worth, each by its value and its rank among them, rising from 0. It walks over the faces and
// counts how many dice have been placed, with what they are worth.
func (d Dist) pick(n int, worth func(v int64, rank int) int64) (Dist, error) {
	if d.pickSteps(n) > maxPairs {
		return Dist{}, tooMuch("%d dice with %d faces, by their ranks", n, d.Len())
	}
	placed := make([]map[int64]*big.Int, n+1)
	placed[0] = map[int64]*big.Int{0: big.NewInt(1)}
	t := new(big.Int)
	for i, v := range d.vals {
		next := make([]map[int64]*big.Int, n+1)
		for have, sums := range placed {
			gained := int64(0)
			for more := 0; have+more <= n && len(sums) > 0; more++ {
				if more > 0 {
					gained += worth(v, have+more-1)
				}
				f := new(big.Int).Binomial(int64(n-have), int64(more))
				f.Mul(f, t.Exp(d.ways[i], big.NewInt(int64(more)), nil))
				if next[have+more] == nil {
					next[have+more] = map[int64]*big.Int{}
				}
				for s, w := range sums {
					s += gained
					if next[have+more][s] == nil {
						next[have+more][s] = new(big.Int)
					}
					next[have+more][s].Add(next[have+more][s], t.Mul(w, f))
				}
			}
		}
		placed = next
	}
	var (
		vals []int64
		ways []*big.Int
	)
	for s, w := range placed[n] {
		vals, ways = append(vals, s), append(ways, w)
	}
	return newDist(vals, ways, t.Exp(d.all, big.NewInt(int64(n)), nil)), nil
}

// Compare gives the chances that the first of two independent outcomes is less than, equal to and greater than the
// second.
func Compare(a, b Dist) (less, equal, greater *big.Rat) {
	l, e, g, t := new(big.Int), new(big.Int), new(big.Int), new(big.Int)
	below, at, rest := new(big.Int), 0, b.listed()
	for i, v := range a.vals {
		for at < b.Len() && b.vals[at] < v {
			below.Add(below, b.ways[at])
			at++
		}
		g.Add(g, t.Mul(a.ways[i], below))
		above := new(big.Int).Sub(rest, below)
		if at < b.Len() && b.vals[at] == v {
			e.Add(e, t.Mul(a.ways[i], b.ways[at]))
			above.Sub(above, b.ways[at])
		}
		l.Add(l, t.Mul(a.ways[i], above))
	}
	all := new(big.Int).Mul(a.all, b.all)
	of := func(n *big.Int) *big.Rat { return new(big.Rat).SetFrac(n, all) }
	return of(l), of(e), of(g)
}

func addInt(a, b int64) (int64, bool) {
	c := a + b
	return c, (c > a) == (b > 0)
}

func magnitude(v int64) uint64 {
	if v < 0 {
		return -uint64(v) //nolint:gosec // two's complement
	}
	return uint64(v)
}

func tooMuch(format string, args ...any) error { return play.Refuse(TooMuchWork, format, args...) }

func bad(field, format string, args ...any) error {
	return play.Refuse(BadOdds, format, args...).At(field)
}

func overflow() error { return play.Refuse(BadOdds, "a total does not fit 64 bits") }
