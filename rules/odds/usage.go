package odds

import (
	"math"
	"math/big"
	"slices"
)

const (
	// MaxChecks is how far the distribution of a lifetime may go.
	MaxChecks = 1000
	// MaxUsageDice is how many dice one check may roll.
	MaxUsageDice = 100
	// maxCheckBits limits the size of the numbers of a distribution of checks.
	maxCheckBits = 64_000
)

// StepDown is the chance that a check of n usage dice steps the die down: that the lowest of them shows at most low, or,
// with highest, that all do (DDW-USE-08). With one die there is no difference.
func StepDown(sides, low, n int, highest bool) *big.Rat {
	one := big.NewRat(1, 1)
	p := big.NewRat(int64(min(low, sides)), int64(sides))
	if !highest {
		p.Sub(one, p)
	}
	all := big.NewRat(1, 1)
	for range n {
		all.Mul(all, p)
	}
	if highest {
		return all
	}
	return all.Sub(one, all)
}

// Lifetime is how many checks pass until a usage die is used up, the last one included. It is the chance of a step down
// for each size that the die goes through; several dice follow one another.
type Lifetime []*big.Rat

// UsageDie is the lifetime of a die of a chain of sizes, rising, that starts with the given one. It fails with BAD_ODDS.
func UsageDie(chain []int, sides, low, n int, highest bool) (Lifetime, error) {
	at := slices.Index(chain, sides)
	switch {
	case at < 0:
		return nil, bad("sides", "a usage die has one of %v sides", chain)
	case n < 1 || n > MaxUsageDice:
		return nil, bad("dice", "a check takes 1 to %d dice", MaxUsageDice)
	case low < 1:
		return nil, bad("step_down_max", "a die that never steps down is never used up")
	}
	var l Lifetime
	for ; at >= 0; at-- {
		l = append(l, StepDown(chain[at], low, n, highest))
	}
	return l, nil
}

// Mean is the number of checks to be expected (DDW-USE-11).
func (l Lifetime) Mean() *big.Rat {
	sum := new(big.Rat)
	for _, p := range l {
		sum.Add(sum, new(big.Rat).Inv(p))
	}
	return sum
}

// Variance is that of the number of checks.
func (l Lifetime) Variance() *big.Rat {
	sum := new(big.Rat)
	for _, p := range l {
		v := new(big.Rat).Sub(big.NewRat(1, 1), p)
		sum.Add(sum, v.Quo(v, new(big.Rat).Mul(p, p)))
	}
	return sum
}

// Checks is the distribution of the number of checks up to last, at most MaxChecks; what would take longer is lost. It
// fails with BAD_ODDS.
func (l Lifetime) Checks(last int) (Dist, error) {
	if last < 1 || last > MaxChecks {
		return Dist{}, bad("checks", "checks must be 1 to %d", MaxChecks)
	}
	// All chances share a denominator q: after c checks, the ways count of q^c.
	q := big.NewInt(1)
	for _, p := range l {
		g := new(big.Int).GCD(nil, nil, q, p.Denom())
		q.Mul(q, g.Div(p.Denom(), g))
	}
	down, stay := make([]*big.Int, len(l)), make([]*big.Int, len(l))
	in := make([]*big.Int, len(l)+1) // ways to be in each size, the last one: just used up
	for i, p := range l {
		down[i] = new(big.Int).Div(q, p.Denom())
		down[i].Mul(down[i], p.Num())
		stay[i] = new(big.Int).Sub(q, down[i])
		in[i] = new(big.Int)
	}
	if len(l) == 0 {
		return Const(0), nil
	}
	in[0].SetInt64(1)
	if q.BitLen()*last > maxCheckBits {
		return Dist{}, tooMuch("a distribution over %d checks of this die", last)
	}
	in[len(l)] = new(big.Int)
	out := Dist{all: big.NewInt(1)}
	t := new(big.Int)
	for c := 1; c <= last; c++ {
		for i := len(l) - 1; i >= 0; i-- {
			t.Mul(in[i], down[i])
			if i == len(l)-1 {
				in[len(l)].Set(t)
			} else {
				in[i+1].Add(in[i+1], t)
			}
			in[i].Mul(in[i], stay[i])
		}
		if in[len(l)].Sign() > 0 {
			out.vals, out.ways = append(out.vals, int64(c)), append(out.ways, new(big.Int).Set(in[len(l)]))
		}
	}
	// Ways of c checks count of as many checks as the others: the rest may show anything.
	next := last
	for i := len(out.ways) - 1; i >= 0; i-- {
		for ; next > int(out.vals[i]); next-- {
			out.all.Mul(out.all, q)
		}
		out.ways[i].Mul(out.ways[i], out.all)
	}
	for ; next > 0; next-- {
		out.all.Mul(out.all, q)
	}
	return out, nil
}

// Quantile is the least number of checks by which the die is used up with at least the chance p, below 1. Chances are
// followed as floating-point numbers, so that a quantile within 1e-9 of p may be one off.
func (l Lifetime) Quantile(p float64) int {
	in := make([]float64, len(l)+1)
	in[0] = 1
	chance := make([]float64, len(l))
	for i, r := range l {
		chance[i], _ = r.Float64()
	}
	for c := 0; ; c++ {
		if in[len(l)] >= p || c == math.MaxInt32 {
			return c
		}
		for i := len(l) - 1; i >= 0; i-- {
			in[i+1] += in[i] * chance[i]
			in[i] -= in[i] * chance[i]
		}
	}
}
