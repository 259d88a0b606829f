package odds

import (
	"math/big"
	"math/bits"
)

// small tells whether all ways of n dice fit the quick counters.
func (d Dist) small(n int) bool { return d.all.BitLen()*n <= 127 && n <= 127 }

// keepTop128 is keepTop for few enough ways. The sums of the dice above the lowest face kept are carried along from the
// highest face down.
func (d Dist) keepTop128(n, k int, g uint64, size int) Dist {
	pascal := make([][]u128, n+1)
	for i := range pascal {
		pascal[i] = make([]u128, i+1)
		pascal[i][0], pascal[i][i] = u128{0, 1}, u128{0, 1}
		for j := 1; j < i; j++ {
			pascal[i][j] = pascal[i-1][j-1].add(pascal[i-1][j])
		}
	}
	powers := func(base u128) []u128 {
		p := make([]u128, n+1)
		p[0] = u128{0, 1}
		for i := 1; i <= n; i++ {
			p[i] = p[i-1].mul(base)
		}
		return p
	}
	ways := make([]u128, len(d.ways))
	below := make([]u128, len(d.ways)+1)
	for i, w := range d.ways {
		ways[i] = of128(w)
		below[i+1] = below[i].add(ways[i])
	}
	out := make([]u128, size)
	// sums[a] counts the sums of a dice above the face at hand, by their distance from the least sum.
	sums := make([][]u128, k)
	sums[0] = []u128{{0, 1}}
	for i := len(d.vals) - 1; i >= 0; i-- {
		at := int((uint64(d.vals[i]) - uint64(d.vals[0])) / g) //nolint:gosec // within the span
		of, under := powers(ways[i]), powers(below[i])
		for a, sum := range sums {
			if len(sum) == 0 {
				continue
			}
			var rest u128
			for b := k - a; b <= n-a; b++ {
				rest = rest.add(pascal[n-a][b].mul(of[b]).mul(under[n-a-b]))
			}
			rest = rest.mul(pascal[n][a])
			for j, w := range sum {
				if !w.zero() {
					out[j+at*(k-a)] = out[j+at*(k-a)].add(w.mul(rest))
				}
			}
		}
		for a := k - 1; a > 0; a-- {
			for j := 1; j <= a; j++ {
				from := sums[a-j]
				if len(from) == 0 {
					continue
				}
				f := pascal[a][j].mul(of[j])
				if need := len(from) + at*j; len(sums[a]) < need {
					sums[a] = append(sums[a], make([]u128, need-len(sums[a]))...)
				}
				to := sums[a][at*j:]
				for x, w := range from {
					to[x] = to[x].add(w.mul(f))
				}
			}
		}
	}
	return dist128(d.vals[0]*int64(k), g, out, new(big.Int).Exp(d.all, big.NewInt(int64(n)), nil))
}

// of128 takes a number of at most 128 bits.
func of128(n *big.Int) u128 {
	var out u128
	for i, w := range n.Bits() {
		shift := uint(i * bits.UintSize) //nolint:gosec // at most four words
		if shift < 64 {
			out.lo |= uint64(w) << shift
		} else {
			out.hi |= uint64(w) << (shift - 64)
		}
	}
	return out
}

// dist128 makes a distribution of counters, outcome by outcome from the least on in steps of g.
func dist128(least int64, g uint64, counts []u128, all *big.Int) Dist {
	d := Dist{make([]int64, 0, len(counts)), make([]*big.Int, 0, len(counts)), all}
	ints := make([]big.Int, len(counts))
	for i, c := range counts {
		if c.zero() {
			continue
		}
		n := ints[i].SetUint64(c.hi)
		if c.hi == 0 {
			n.SetUint64(c.lo)
		} else {
			n.Lsh(n, 64).Add(n, new(big.Int).SetUint64(c.lo))
		}
		d.vals = append(d.vals, least+int64(uint64(i)*g)) //nolint:gosec // the ends were checked
		d.ways = append(d.ways, n)
	}
	return d
}
