package balance

import "math"

// chance is SplitMix64: a repeatable series of numbers, as even as simulations need. Played dice never come from it.
type chance struct{ state uint64 }

// golden is the step of the series: 2^64 divided by the golden ratio, made odd.
const golden = 0x9e3779b97f4a7c15

// of begins the series of one run of a plan.
func of(seed uint64, run int) *chance {
	c := &chance{seed}
	c.state = c.next() + uint64(run)*golden //nolint:gosec // runs are counted from 0
	c.state = c.next()
	return c
}

func (c *chance) next() uint64 {
	c.state += golden
	z := c.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// face returns 1 to sides, each equally likely: what would favour the low faces is drawn again.
func (c *chance) face(sides int) int {
	n := uint64(sides) //nolint:gosec // dice have at least one side
	most := math.MaxUint64 - math.MaxUint64%n
	for {
		if w := c.next(); w < most {
			return int(w%n) + 1 //nolint:gosec // below sides
		}
	}
}
