package dice_test

import (
	"strings"
	"testing"
	"time"

	"github.com/wayfarer-rpg/wayfarer/rules/notation"
	"github.com/wayfarer-rpg/wayfarer/rules/play"
)

// hostile are inputs that a careless parser takes long for.
var hostile = []string{
	strings.Repeat("(", notation.MaxLength), strings.Repeat("{", notation.MaxLength), strings.Repeat("abs(", notation.MaxLength/4), strings.Repeat("d", notation.MaxLength),
	strings.Repeat("-", notation.MaxLength), strings.Repeat("1+", notation.MaxLength/2), strings.Repeat("1d6!", notation.MaxLength/4), strings.Repeat("r<4", notation.MaxLength/3),
	"1d1000000" + strings.Repeat("r<9", 1000), strings.Repeat("1d1000000r>1+", 300), strings.Repeat("/*", notation.MaxLength/2),
	strings.Repeat("//", notation.MaxLength/2), strings.Repeat("[", notation.MaxLength), "1" + strings.Repeat("[a]", 1300), strings.Repeat("9", notation.MaxLength),
	strings.Repeat("1000d1000000u+", 290) + "1", strings.Repeat("2^", notation.MaxLength/2), "d{" + strings.Repeat("1,", 2000), strings.Repeat(" ", notation.MaxLength),
	"1d6" + strings.Repeat(" ", 4000) + "x", strings.Repeat("2d6 /**/", 500), strings.Repeat("(1d6)d", 600), strings.Repeat("\xff", notation.MaxLength),
	strings.Repeat("{", 95) + strings.Repeat("7,", 799) + "7" + strings.Repeat("}sa", 95),
}

func TestParsingNeverTakesLong(t *testing.T) {
	t.Parallel()
	for i, text := range hostile {
		best := time.Hour
		for range 5 { // the best of some, since the machine has more to do
			start := time.Now()
			_, _ = notation.Parse(text)
			best = min(best, time.Since(start))
		}
		if best > 10*raceFactor*time.Millisecond {
			t.Errorf("input %d, %.20q…: %v", i, text, best)
		}
	}
}

func TestRollingNeverTakesLong(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		// All dice but the first are rolled again, mostly in vain, until ten thousand have been rolled.
		"1000d{" + strings.Repeat("1,", 980) + "9}u=1" + strings.Repeat("r2", 490),
		strings.Repeat("{", 95) + "1000d6!>1x8" + strings.Repeat("}kh9999", 95),
	} {
		n, err := notation.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		face := 0
		start := time.Now()
		_, _ = n.Roll("hostile", play.NewDice(func(sides int) (int, error) {
			face = (face + 7) % sides
			return face + 1, nil
		}))
		if took := time.Since(start); took > 2*raceFactor*time.Second {
			t.Errorf("%.20q…: %v", text, took)
		}
	}
}
