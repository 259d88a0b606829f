package odds

import (
	"errors"
	"fmt"
	"math/big"
	"testing"

	"github.com/wayfarer-rpg/wayfarer/rules/play"
)

var sizes = []int{4, 6, 8, 10, 12, 20}

func TestUsageDie(t *testing.T) {
	t.Parallel()
	ways := []struct {
		n       int
		highest bool
	}{{1, false}, {2, false}, {3, false}, {2, true}}
	// DDW-USE-11, the columns as in ways.
	for sides, row := range map[int][]string{
		4:  {"2", "4/3", "8/7", "4"},
		6:  {"5", "47/15", "341/133", "13"},
		8:  {"9", "569/105", "21129/4921", "29"},
		10: {"14", "2582/315", "1903994/300181", "54"},
		12: {"20", "39742/3465", "34014650/3902353", "90"},
		20: {"30", "1101598/65835", "13120323150/1057537663", "190"},
	} {
		for i, w := range ways {
			l, err := UsageDie(sizes, sides, 2, w.n, w.highest)
			if err != nil {
				t.Fatal(err)
			}
			same(t, fmt.Sprintf("d%d", sides), l.Mean(), row[i])
		}
	}
	for i, want := range []string{"1/4", "7/16", "37/64", "1/16"} { // DDW-USE-08
		same(t, "d8", StepDown(8, 2, ways[i].n, ways[i].highest), want)
	}
	same(t, "every face is low", StepDown(2, 5, 3, false), "1")
}

// Every sequence of faces of a d6, and a d4 after it, counted one by one.
func TestLifetimeEqualsBruteForce(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		n       int
		highest bool
		last    int
	}{"one die": {1, false, 6}, "lowest of two": {2, false, 3}, "highest of two": {2, true, 3}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, err := UsageDie(sizes, 6, 2, tc.n, tc.highest)
			if err != nil {
				t.Fatal(err)
			}
			got, err := l.Checks(tc.last)
			if err != nil {
				t.Fatal(err)
			}
			want := make([]*big.Rat, tc.last+1)
			for i := range want {
				want[i] = new(big.Rat)
			}
			var roll func(sides, check int, chance *big.Rat)
			roll = func(sides, check int, chance *big.Rat) {
				if sides < 4 {
					want[check].Add(want[check], chance)
					return
				}
				if check == tc.last {
					return
				}
				all := 1
				for range tc.n {
					all *= sides
				}
				each, downs := new(big.Rat).Mul(chance, big.NewRat(1, int64(all))), int64(0)
				for w := range all {
					low := 0
					for range tc.n {
						if w%sides < 2 {
							low++
						}
						w /= sides
					}
					if low == tc.n || low > 0 && !tc.highest {
						downs++
					}
				}
				roll(sides-2, check+1, new(big.Rat).Mul(each, big.NewRat(downs, 1)))
				roll(sides, check+1, new(big.Rat).Mul(each, big.NewRat(int64(all)-downs, 1)))
			}
			roll(6, 0, big.NewRat(1, 1))
			rest := big.NewRat(1, 1)
			for c, w := range want {
				same(t, fmt.Sprint(c, " checks"), got.Chance(int64(c)), w.RatString())
				rest.Sub(rest, w)
			}
			same(t, "lost", got.Lost(), rest.RatString())
		})
	}
}

func TestLifetimeFigures(t *testing.T) {
	t.Parallel()
	l, err := UsageDie(sizes, 8, 2, 1, false)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "variance", l.Variance(), "20") // 4·3 + 3·2 + 2·1
	d, err := l.Checks(400)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "mean of nearly all", d.Mean(), "9.000000")
	near(t, "variance of nearly all", d.Variance(), "20.000000")
	for _, p := range []float64{0.05, 0.25, 0.5, 0.75, 0.95} {
		if got, want := l.Quantile(p), d.Quantile(new(big.Rat).SetFloat64(p)); int64(got) != want {
			t.Errorf("quantile %v: %d, want %d", p, got, want)
		}
	}
	same(t, "three checks at least", d.Chance(2), "0")
	same(t, "at once three times", d.Chance(3), "1/24")
	none, err := Lifetime{}.Checks(5)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "no die", none.Chance(0), "1")
}

func TestUsageDieRefuses(t *testing.T) {
	t.Parallel()
	ask := func(sides, low, n, last int) error {
		l, err := UsageDie(sizes, sides, low, n, false)
		if err != nil {
			return err
		}
		_, err = l.Checks(last)
		return err
	}
	for name, tc := range map[string]struct {
		err         error
		code, field string
	}{
		"a d7":            {ask(7, 2, 1, 1), BadOdds, "sides"},
		"no die rolled":   {ask(8, 2, 0, 1), BadOdds, "dice"},
		"too many rolled": {ask(8, 2, 101, 1), BadOdds, "dice"},
		"never used up":   {ask(8, 0, 1, 1), BadOdds, "step_down_max"},
		"no check":        {ask(8, 2, 1, 0), BadOdds, "checks"},
		"a long look":     {ask(20, 2, 50, MaxChecks), TooMuchWork, ""},
	} {
		var r *play.Refusal
		if !errors.As(tc.err, &r) || r.Code != tc.code || r.Field != tc.field {
			t.Errorf("%s: got %v", name, tc.err)
		}
	}
}
