package odds

import (
	"math"
	"math/big"
)

// maxSteps limits the work of one answer. Each part of a notation has limits of its own; without one for all of them, a hundred
// parts would take a hundred times as long, and counts or modifiers that dice decide as often again as they have values. A
// step takes some 100 ns.
const maxSteps = 8 * maxPairs

// courseSteps are the steps of one course of a roll.
const courseSteps = 40

// meter counts the steps of an answer.
type meter struct{ left float64 }

// spend fails with TOO_MUCH_WORK when fewer steps are left.
func (m *meter) spend(steps float64) error {
	if m.left -= steps; m.left < 0 {
		return tooMuch("more than %d steps of counting", maxSteps)
	}
	return nil
}

// times is d.Times(n).
func (m *meter) times(d Dist, n int) (Dist, error) {
	if err := m.spend(d.timesSteps(n)); err != nil {
		return Dist{}, err
	}
	return d.Times(n)
}

// keep is d.Keep(n, first, end).
func (m *meter) keep(d Dist, n, first, end int) (Dist, error) {
	steps := 0.0
	switch k := end - first; {
	case k >= n:
		steps = d.timesSteps(n)
	case first > 0 && end < n:
		steps = d.pickSteps(n)
	case k > 0:
		steps = d.topSteps(k)
	}
	if err := m.spend(steps); err != nil {
		return Dist{}, err
	}
	return d.Keep(n, first, end)
}

// topSteps are those of the k highest or lowest dice.
func (d Dist) topSteps(k int) float64 {
	span := 1.0
	if g := d.step(); g > 0 {
		span = float64(d.span(g))
	}
	return float64(d.Len()) * float64(k) * min(span*float64(k), MaxOutcomes)
}

// pickSteps are those of n dice by their ranks.
func (d Dist) pickSteps(n int) float64 {
	return float64(d.Len()) * float64(d.Len()) * float64(n) * float64(n) * float64(n) / 4
}

// timesSteps are those of a sum of n.
func (d Dist) timesSteps(n int) float64 {
	if n < 2 || d.Len() < 2 {
		return 1
	}
	words := float64(d.span(d.step())) * float64(n) * (float64(d.all.BitLen())*float64(n)/64 + 1)
	return min(maxPairs, math.Pow(words, karatsuba)/150+words/64)
}

// karatsuba is the power with which the multiplication of large numbers grows.
const karatsuba = 1.58

// addSteps are those of Add.
func addSteps(a, b Dist) float64 {
	if a.Len() < 2 || b.Len() < 2 {
		return float64(a.Len()) * float64(b.Len())
	}
	g, slot, ok := packing(a, b, new(big.Int).Mul(a.all, b.all))
	if !ok {
		return float64(a.Len()) * float64(b.Len())
	}
	x, y := float64(a.span(g))*float64(slot), float64(b.span(g))*float64(slot)
	return max(x, y)*math.Pow(min(x, y), karatsuba-1)/100 + float64(a.span(g)+b.span(g))
}
