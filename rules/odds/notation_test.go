package odds

import (
	"errors"
	"fmt"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"github.com/wayfarer-rpg/wayfarer/rules/notation"
	"github.com/wayfarer-rpg/wayfarer/rules/play"
	"github.com/wayfarer-rpg/wayfarer/rules/play/repeat"
)

func init() { repeat.Properties(20260101, 0) }

func parsed(t testing.TB, text string) notation.Notation {
	t.Helper()
	n, err := notation.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func oddsOf(t testing.TB, text string) Dist {
	t.Helper()
	d, err := Of(parsed(t, text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return d
}

// sameDist compares what was computed with what came of following every roll.
func sameDist(t interface {
	Helper()
	Errorf(format string, args ...any)
}, what string, got, want Dist) {
	t.Helper()
	if got.Len() != want.Len() {
		t.Errorf("%s: %d outcomes %v, want %d %v", what, got.Len(), got.vals, want.Len(), want.vals)
		return
	}
	for i := range got.Len() {
		v, p := got.At(i)
		if w, q := want.At(i); v != w || p.Cmp(q) != 0 {
			t.Errorf("%s: %d with %s, want %d with %s", what, v, p, w, q)
		}
	}
}

// Every notation here is small enough to roll it in all ways there are, with the very code that rolls in earnest.
func TestNotationsEqualBruteForce(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"2d6+1", "2d4-1d6+3", "7", "-2d4", "2d4*3", "1d6*1d4", "2d6/2", "1d6/1d4", "1d6/3+1d4/2", "7//1d4", "-1d6%4", "1d4^2", "2^1d4",
		"(2d6)>7", "(1d6)=(1d4)", "1d6-(1d4<2)", "4dF", "2dF.1*2", "2d{1,1,5,-3}", "d%%7",
		"4d6kh3", "4d6kl2", "4d6dl1", "3d4dh1", "4d4kh1kl1", "4d4kh3dl1", "4d4dl1dh1", "3d6k>3", "3d6d=1", "3d6kh2d=6", "3d4kh1k=1", "3d6kh0", "2d4kh9",
		"3d4kh2>2", "4d4>2", "4d4>3f=1", "3d6<=2", "4d4kl2>1f=4", "3d4dl1<>2", "3d{1,1,5}kh2",
		"2d6ro<3", "2d6ro1ro=6", "3d4ro1kh2", "2d6r<3", "2d6r1r=3", "2d4r1ro=2kl1",
		"2d4min2", "2d6max4", "2d6min3max4kh1", "2d4ro1min2",
		"2d4!x2", "1d4!>2x3", "2d4!!x2kh1", "2d4!px2", "1d6!!px2", "2d4!x1>2", "2d4!x2k>3", "2d4!x1kh1", "2d4!!x1max5", "2d4ro1!x1", "2d4!x0", "2d4r1!x1min3",
		"4d4rol2", "4d4roh1", "3d6rol1roh1", "3d4rol0", "3d4rol9", "2d4rol1roh9", "4d4rol1>2f1", "4d4roh2k>2", "3d4rol1d=4", "3d4rol1kh2", "3d4roh1dl1>2",
		"3d4rol3kh2", "3d4rol1min2max3", "3d4ro1rol1", "3d4r1roh1", "3d4rol(1d2)", "2d{1,1,5}rol1", "2d4rol1!x1", "2d4roh1!!x1kh1", "3d4rol1uo=2", "{2d4rol1, 1d4}kh1", "1d4-2d4rol1",
		"3d4eh1", "3d4el2", "3d4ral1", "3d4eh9", "2d4eh1el1kh2", "3d4eh1>2f1", "3d4rol1eh1", "3d4roh1el1kh3", "2d4!x1eh1", "2d4!!x1el1", "2d4!x1eh2kh2", "2d4eh1uo", "3d4eh1min2", "2d4ro1eh1k>1",
		"2d4!!!x1", "2d4min3min2", "2d4>1>2",
		"3d4u", "3d4uo", "3d4u=2", "3d4ukh2", "2d4uo<3",
		"{2d4, 1d8}kh1", "{2d4, 1d8, 3}kl2", "{1d4, 1d4, 1d4}kh2", "{1d4, 1d6}>3", "{1d4,1d6}dh1", "{1d4/2, 1d4}kh1", "{2d4, 2d4}>4f<3", "{1d4,1d6}", "{2d4}",
		"{2d4+1d6}kh2", "{2d4+1d6+3}>3", "{1d4,1d4}k>2sd",
		"max(1d4,1d6,2)", "min(2d4,5)", "abs(1d4-1d6)", "floor(1d6/4)", "ceil(1d6/4)", "round(1d6/4)", "sign(1d4-2)", "pow(1d4,2)", "sqrt(1d4)",
		"(1d4)d4", "(1d4-1)d6", "2d(1d4)", "2d6>(1d4)", "3d4kh(1d2)", "(1d2)d4!!x(1d2)", "{1d4,1d6}kh(1d2)",
		"ud8", "2ud8kl1", "2ud6kh1", "dw4", "dw3p2", "dw2d2p1", "dw0p2", "2d6[fire]+1d4[cold] # both",
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			n := parsed(t, text)
			want, err := (&meter{left: maxSteps}).walk(n.Expr, 1e-6)
			if err != nil {
				t.Fatal(err)
			}
			whole, err := want.floor()
			if err != nil {
				t.Fatal(err)
			}
			got := oddsOf(t, text)
			same(t, "lost", got.Lost(), "0")
			if lost := whole.Lost(); lost.Sign() > 0 { // re-rolls may go on and on
				if lost.Cmp(big.NewRat(1, 50)) > 0 {
					t.Fatalf("lost %s", lost.FloatString(6))
				}
				for i := range got.Len() {
					v, p := got.At(i)
					if p.Sub(p, whole.Chance(v)); p.Sign() < 0 || p.Cmp(lost) > 0 {
						t.Errorf("%d: %s off, %s is lost", v, p.FloatString(9), lost.FloatString(9))
					}
				}
				return
			}
			sameDist(t, text, got, whole)
		})
	}
}

func TestRandomDiceEqualBruteForce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		// What is rolled again makes courses: few enough of them for brute force.
		ranked := rapid.SampledFrom([]string{"", "", "rol1", "roh2", "eh1", "el1"}).Draw(t, "ranked")
		most := 4
		if ranked != "" {
			most = 3
		}
		text := fmt.Sprintf("%dd%d", rapid.IntRange(1, most).Draw(t, "count"), rapid.IntRange(2, 4).Draw(t, "sides"))
		for _, m := range rapid.SliceOfN(rapid.SampledFrom([]string{"ro1", "kh2", "kl1", "dl1", "dh1", "k>2", "d=1", "min2", "max3"}), 0, 3).Draw(t, "mods") {
			text += m
		}
		text += ranked
		if rapid.Bool().Draw(t, "counted") {
			text += ">2f1"
		}
		n, err := notation.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		want, err := (&meter{left: maxSteps}).walk(n.Expr, courseCutoff)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Of(n)
		if err != nil {
			t.Fatal(err)
		}
		sameDist(t, text, got, want.Dist)
	})
}

func TestKnownFigures(t *testing.T) {
	t.Parallel()
	for text, mean := range map[string]string{
		"4d6kh3": "15869/1296", "100d6": "350", "2d20kh1": "553/40", "2d20kl1": "287/40", "1d6ro<3": "25/6", "1d6r<3": "9/2",
		"3d6u": "21/2", "{4d6kh3, 4d6kh3}": "15869/648", "10d10>7": "3", "4d6eh1": "35/2", "1d20rol1": "21/2", "2d20rol1": "973/40",
		"(1d6)d6": "49/4",
	} {
		same(t, text, oddsOf(t, text).Mean(), mean)
	}
}

func TestExplosionsAreCutOff(t *testing.T) {
	t.Parallel()
	d := oddsOf(t, "1d6!")
	// Twelve further sixes are less likely than 1e-9.
	same(t, "lost", d.Lost(), new(big.Rat).SetFrac(big.NewInt(1), new(big.Int).Exp(big.NewInt(6), big.NewInt(13), nil)).RatString())
	near(t, "mean", d.Mean(), "4.200000")
	same(t, "6", d.Chance(6), "0")
	same(t, "7", d.Chance(7), "1/36")
	near(t, "penetrating", oddsOf(t, "1d6!p").Mean(), "4.000000")
	near(t, "ten of them", oddsOf(t, "10d6!").Mean(), "42.000000")
	if l := oddsOf(t, "10d6!").Lost(); l.Sign() <= 0 || l.Cmp(big.NewRat(1, 1_000_000_000)) > 0 {
		t.Errorf("lost %s", l)
	}
	// The roll itself ends after so many explosions, and what is as likely as that is not cut off.
	often := oddsOf(t, "1d100!>1")
	same(t, "lost", often.Lost(), "0")
	if often.Max() != 100*(1+notation.MaxExplosions) {
		t.Errorf("at most %d", often.Max())
	}
	ranked := oddsOf(t, "2d6!kh1")
	if l := ranked.Lost(); l.Sign() <= 0 || l.Cmp(big.NewRat(1, 1_000_000)) > 0 {
		t.Errorf("lost %s", l)
	}
	same(t, "both without a six", ranked.ChanceAtLeast(6), new(big.Rat).Sub(big.NewRat(11, 36), ranked.Lost()).RatString())
}

func TestOddsOfNotationsRefuse(t *testing.T) {
	t.Parallel()
	for text, code := range map[string]string{
		"1d1000000":                        TooMuchWork,
		"1000d1000":                        TooMuchWork,
		"1000d100kh500":                    TooMuchWork,
		"20d20u":                           TooMuchWork,
		"6d6rol1kh3":                       TooMuchWork,
		"8d6!kh3":                          TooMuchWork,
		"(100d100)d(100d100)":              TooMuchWork,
		"333d6*333d6*333d6":                TooMuchWork,
		"1d9973/1d9967":                    TooMuchWork,
		"{20d6,20d8,20d10,20d12,20d20}kh2": TooMuchWork,
		"dw20":                             TooMuchWork,
		"4d6!x1kh(1d1000)":                 TooMuchWork, // each case of which is little work
		"1/(1d6-1)":                        notation.DivisionByZero,
		"1d6^(50d%)":                       notation.Overflow,
		"(1d6-3)d6":                        notation.BadValue,
		"1d(1d4)!":                         notation.Endless,
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			n := parsed(t, text)
			var r *play.Refusal
			if d, err := Of(n); !errors.As(err, &r) || r.Code != code {
				t.Errorf("got %d outcomes, %v, want %s", d.Len(), err, code)
			}
		})
	}
}

// Whatever takes many steps, alone or as one of many parts, is counted: with few left it is refused.
func TestStepsAreCounted(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"courses":          "2d6!kh1",
		"unique dice":      "3d6u",
		"a product":        "1d20*1d20",
		"a sum":            "1d1000+1d1000",
		"a sum of many":    "1000d6",
		"the highest":      "20d10kh5",
		"ranks":            "10d6kh3kl3",
		"long explosions":  "1d6!>1",
		"faces":            "1d6000ro>5000",
		"cases":            "(1d20)d(1d20)",
		"a group":          "{1d20, 1d12, 1d10}kh2",
		"a group's dice":   "{2d6+1d8}kh2",
		"equal parts":      "{2d6, 2d6, 2d6, 2d6, 2d6}kh3",
		"a part of a part": "floor(max(1d20*1d20, 1)/2)",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := parsed(t, text)
			if _, err := (&meter{left: maxSteps}).of(n.Expr); err != nil {
				t.Fatal(err)
			}
			var r *play.Refusal
			if _, err := (&meter{left: 500}).of(n.Expr); !errors.As(err, &r) || r.Code != TooMuchWork {
				t.Errorf("%s with few steps left: %v", text, err)
			}
		})
	}
}

func BenchmarkOf(b *testing.B) {
	for _, text := range []string{
		"20d10kh5", "10d10kh5", "16d10kh8", "100d6", "4d6kh3+4d6kh3+4d6kh3+4d6kh3+4d6kh3+4d6kh3", "10d6!", "10d10>7f1", "{4d6kh3,4d6kh3,4d6kh3,4d6kh3,4d6kh3,4d6kh3}kh3",
	} {
		n := parsed(b, text)
		b.Run(text, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Of(n); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
