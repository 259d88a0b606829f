package odds

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"testing"

	"github.com/wayfarer-rpg/wayfarer/rules/play"
)

// counted makes a distribution from a list of all equally likely outcomes.
func counted(outcomes []int64) map[int64]*big.Rat {
	m := map[int64]*big.Rat{}
	for _, v := range outcomes {
		if m[v] == nil {
			m[v] = new(big.Rat)
		}
		m[v].Add(m[v], big.NewRat(1, int64(len(outcomes))))
	}
	return m
}

func equals(t *testing.T, got Dist, err error, outcomes []int64) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	want := counted(outcomes)
	if got.Len() != len(want) {
		t.Errorf("%d outcomes, want %d", got.Len(), len(want))
	}
	for i := range got.Len() {
		v, p := got.At(i)
		if w := want[v]; w == nil || p.Cmp(w) != 0 {
			t.Errorf("chance of %d: %s, want %v", v, p, w)
		}
		if i > 0 && v <= got.vals[i-1] {
			t.Errorf("%d after %d", v, got.vals[i-1])
		}
	}
	same(t, "lost", got.Lost(), "0")
}

// rolls lists what n dice with these faces can show.
func rolls(faces []int64, n int) [][]int64 {
	out := [][]int64{nil}
	for range n {
		var next [][]int64
		for _, r := range out {
			for _, f := range faces {
				next = append(next, append(slices.Clone(r), f))
			}
		}
		out = next
	}
	return out
}

func TestKeepAndTimesEqualBruteForce(t *testing.T) {
	t.Parallel()
	for _, faces := range [][]int64{{1, 2, 3, 4}, {-1, 0, 1}, {1, 1, 5, 30}, {7}, {-40, 2}} {
		for n := 1; n <= 5; n++ {
			for first := 0; first <= n; first++ {
				for end := first; end <= n; end++ {
					t.Run(fmt.Sprintf("%v, %d dice, %d to %d", faces, n, first, end), func(t *testing.T) {
						t.Parallel()
						var want []int64
						for _, r := range rolls(faces, n) {
							slices.Sort(r)
							sum := int64(0)
							for _, f := range r[first:end] {
								sum += f
							}
							want = append(want, sum)
						}
						got, err := Faces(faces...).Keep(n, first, end)
						equals(t, got, err, want)
					})
				}
			}
		}
	}
}

func TestAddMapAndCombineEqualBruteForce(t *testing.T) {
	t.Parallel()
	a, b := []int64{1, 2, 2, 9}, []int64{-3, 0, 1_000_000}
	var sums, products, squares []int64
	for _, x := range a {
		squares = append(squares, x*x%4)
		for _, y := range b {
			sums, products = append(sums, x+y), append(products, x*y)
		}
	}
	got, err := Add(Faces(a...), Faces(b...))
	equals(t, got, err, sums)
	got, err = Combine(Faces(a...), Faces(b...), func(x, y int64) (int64, error) { return x * y, nil })
	equals(t, got, err, products)
	got, err = Faces(a...).Map(func(x int64) (int64, error) { return x * x % 4, nil })
	equals(t, got, err, squares)
	less, equal, greater := Compare(Faces(a...), Faces(1, 2, 3))
	same(t, "less", less, "4/12")
	same(t, "equal", equal, "3/12")
	same(t, "greater", greater, "5/12")
}

func TestFiguresOfADistribution(t *testing.T) {
	t.Parallel()
	d, err := Die(6).Keep(4, 1, 4)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "mean of 4d6kh3", d.Mean(), "15869/1296")
	if d.Min() != 3 || d.Max() != 18 {
		t.Errorf("from %d to %d", d.Min(), d.Max())
	}
	same(t, "18", d.Chance(18), "21/1296")
	same(t, "19", d.Chance(19), "0")
	same(t, "17 or more", d.ChanceAtLeast(17), "75/1296")
	same(t, "all", d.AtLeast()[0], "1")
	six := Die(6)
	same(t, "variance of d6", six.Variance(), "35/12")
	for p, want := range map[string]int64{"1/6": 1, "1/2": 3, "51/100": 4, "1": 6} {
		r, _ := new(big.Rat).SetString(p)
		if got := six.Quantile(r); got != want {
			t.Errorf("quantile %s: %d, want %d", p, got, want)
		}
	}
	half := ofRats(big.NewRat(1, 4), new(big.Rat), big.NewRat(1, 4))
	same(t, "lost", half.Lost(), "1/2")
	same(t, "mean of the rest", half.Mean(), "1")
	both, err := Add(half, half)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "lost of two", both.Lost(), "3/4")
}

func TestDistributionsRefuse(t *testing.T) {
	t.Parallel()
	wide := make([]int64, 3000)
	for i := range wide {
		wide[i] = int64(i) * int64(i) * 1_000_003
	}
	large := Faces(0, math.MaxInt64)
	for name, tc := range map[string]struct {
		ask  func() error
		code string
	}{
		"a sum over 64 bits":        {func() error { _, err := Add(large, large); return err }, BadOdds},
		"so many times":             {func() error { _, err := large.Times(3); return err }, BadOdds},
		"too many pairs":            {func() error { _, err := Add(Faces(wide...), Faces(wide...)); return err }, TooMuchWork},
		"many wide dice":            {func() error { _, err := Faces(wide...).Times(1000); return err }, TooMuchWork},
		"keeping of many wide dice": {func() error { _, err := Die(10_000).Keep(1000, 500, 1000); return err }, TooMuchWork},
		"the middle of many":        {func() error { _, err := Die(100).Keep(1000, 10, 900); return err }, TooMuchWork},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var r *play.Refusal
			if err := tc.ask(); !errors.As(err, &r) || r.Code != tc.code {
				t.Errorf("got %v, want %s", err, tc.code)
			}
		})
	}
}

func BenchmarkDist(b *testing.B) {
	for name, f := range map[string]func() (Dist, error){
		"20d10kh5":  func() (Dist, error) { return Die(10).Keep(20, 15, 20) },
		"10d10kh5":  func() (Dist, error) { return Die(10).Keep(10, 5, 10) },
		"16d10kh8":  func() (Dist, error) { return Die(10).Keep(16, 8, 16) },
		"100d6":     func() (Dist, error) { return Die(6).Times(100) },
		"6x 4d6kh3": func() (Dist, error) { d, _ := Die(6).Keep(4, 1, 4); return d.Times(6) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := f(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
