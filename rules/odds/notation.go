package odds

import "github.com/wayfarer-rpg/wayfarer/rules/notation"

// Of is the distribution of a notation's total. It fails with TOO_MUCH_WORK.
func Of(n notation.Notation) (Dist, error) {
	total := Const(0)
	for _, t := range n {
		d := Const(int64(t.Number))
		if t.Sides > 0 {
			if t.Sides > MaxOutcomes {
				return Dist{}, tooMuch("a die of %d sides", t.Sides)
			}
			var err error
			if d, err = Die(t.Sides).Times(t.Count); err != nil {
				return Dist{}, err
			}
		}
		if t.Negative {
			d = d.negated()
		}
		var err error
		if total, err = Add(total, d); err != nil {
			return Dist{}, err
		}
	}
	return total, nil
}
