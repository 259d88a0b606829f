package notation

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/wayfarer-rpg/wayfarer/rules/play"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"d6":             "1d6",
		"2d6+1":          "2d6+1",
		" 2D6 - 3 + d4 ": "2d6-3+1d4",
		"-1d8":           "-1d8",
		"+7":             "7",
		"0":              "0",
		"3d6\u22121":     "3d6-1",
		"\uff12d\uff16":  "2d6",
		"2d6\u00a0+ 1":   "2d6+1",
		"1d1000000":      "1d1000000",
		"1000d1":         "1000d1",
		"10d10+990d1000": "10d10+990d1000",
	} {
		t.Run(in, func(t *testing.T) {
			t.Parallel()
			n, err := Parse(in)
			if err != nil {
				t.Fatal(err)
			}
			if n.String() != want {
				t.Errorf("canonical = %q, want %q", n, want)
			}
			again, err := Parse(n.String())
			if err != nil || !slices.Equal(again, n) {
				t.Errorf("parse(print) = %v, %v, want %v", again, err, n)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]struct{ code, message string }{
		"":                              {BadNotation, "column 1: found the end"},
		"d":                             {BadNotation, "column 2: found the end, expected the number of sides"},
		"2d":                            {BadNotation, "column 3"},
		"2d6 3":                         {BadNotation, `column 5: found '3', expected "+"`},
		"2d6+":                          {BadNotation, "column 5"},
		"2d6++1":                        {BadNotation, "column 5: found '+'"},
		"2x6":                           {BadNotation, "column 2: found 'x'"},
		"1d0":                           {BadNotation, "column 3: found '0', expected at least 1 side"},
		"0d6":                           {BadNotation, "column 1: found '0', expected at least 1 die"},
		"1d2147483648":                  {BadNotation, "column 3"},
		"1000001":                       {BadNotation, "column 1"},
		"99999999999999999999999999d6":  {BadNotation, "column 1"},
		"1001d6":                        {TooMuchWork, "1000"},
		"600d6+600d6":                   {TooMuchWork, "1000"},
		strings.Repeat("1+", 100) + "1": {TooMuchWork, "100 terms"},
	} {
		t.Run(in, func(t *testing.T) {
			t.Parallel()
			n, err := Parse(in)
			var r *play.Refusal
			if !errors.As(err, &r) || r.Code != want.code || !strings.Contains(r.Message, want.message) {
				t.Errorf("Parse = %v, %v, want %s with %q", n, err, want.code, want.message)
			}
		})
	}
}

func TestRollTakesDiceInOrderAndSums(t *testing.T) {
	t.Parallel()
	n, err := Parse("2d6-1d4+10")
	if err != nil {
		t.Fatal(err)
	}
	dice := play.ReportedDice(6, 5, 3)
	terms, total := n.Roll("test", dice)
	if err := dice.Close(); err != nil {
		t.Fatal(err)
	}
	if total != 18 || !slices.Equal(terms[0].Faces, []int{6, 5}) || !slices.Equal(terms[1].Faces, []int{3}) || terms[2].Value != 10 {
		t.Errorf("Roll = %+v, %d", terms, total)
	}
	if n.Dice() != 3 {
		t.Errorf("Dice = %d", n.Dice())
	}
}

func TestLargestTotalFits(t *testing.T) {
	t.Parallel()
	n, err := Parse("1000d1000000+" + strings.Repeat("1000000+", 98) + "1000000")
	if err != nil {
		t.Fatal(err)
	}
	_, total := n.Roll("test", play.NewDice(func(sides int) (int, error) { return sides, nil }))
	if total != 1_099_000_000 || total > math.MaxInt32 {
		t.Errorf("total = %d", total)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"2d6+1", "d", "--1", "1d0", "９d６"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, err := Parse(s)
		if err != nil {
			return
		}
		again, err := Parse(n.String())
		if err != nil || !slices.Equal(again, n) {
			t.Errorf("parse(print(%q)) = %v, %v", s, again, err)
		}
	})
}
