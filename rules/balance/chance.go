package balance

import "math/bits"

// chance is SplitMix64: a repeatable series of numbers, as even as simulations need. Played dice never come from it.
type chance struct{ state uint64 }

// golden is the step of the series: 2^64 divided by the golden ratio, made odd.
const golden = 0x9e3779b97f4a7c15

// of begins the series of one run of a plan.
func of(seed uint64, run int) *chance {
	c := &chance{}
	c.begin(seed, run)
	return c
}

// begin begins the series of one run of a plan.
func (c *chance) begin(seed uint64, run int) {
	c.state = seed
	c.state = c.next() + uint64(run)*golden //nolint:gosec // runs are counted from 0
	c.state = c.next()
}

func (c *chance) next() uint64 {
	c.state += golden
	z := c.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// face returns 1 to sides, each equally likely: the high half of a product, where what would favour some faces is drawn
// again (Lemire's method).
func (c *chance) face(sides int) int {
	n := uint64(sides) //nolint:gosec // dice have at least one side
	high, low := bits.Mul64(c.next(), n)
	if low < n {
		for least := -n % n; low < least; {
			high, low = bits.Mul64(c.next(), n)
		}
	}
	return int(high) + 1 //nolint:gosec // below sides
}
