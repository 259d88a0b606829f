package play

import (
	"errors"
	"testing"
)

func codeOf(err error) string {
	var r *Refusal
	if errors.As(err, &r) {
		return r.Code
	}
	return ""
}

func TestReportedDice(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		faces []int
		sides []int
		code  string
	}{
		"exactly what is asked":    {[]int{4, 6}, []int{4, 6}, ""},
		"none asked, none given":   {nil, nil, ""},
		"too few":                  {[]int{4}, []int{6, 6}, BadDice},
		"too many":                 {[]int{4, 4}, []int{6}, BadDice},
		"a face below 1":           {[]int{0}, []int{6}, BadDice},
		"a face above the die":     {[]int{7}, []int{6}, BadDice},
		"a failure is not mended":  {[]int{0, 3}, []int{6, 6}, BadDice},
		"the last face of the die": {[]int{6}, []int{6}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := ReportedDice(tc.faces...)
			for i, s := range tc.sides {
				got := d.Roll("x", s)
				if !d.Failed() && got != tc.faces[i] {
					t.Errorf("roll %d = %d, want %d", i, got, tc.faces[i])
				}
			}
			if got := codeOf(d.Close()); got != tc.code {
				t.Errorf("Close code = %q, want %q", got, tc.code)
			}
		})
	}
}

func TestDiceRecordWhatWasAsked(t *testing.T) {
	t.Parallel()
	n := 0
	d := NewDice(func(sides int) (int, error) { n++; return n % sides, nil })
	d.Roll("first", 10)
	d.Roll("second", 6)
	want := []Die{{"first", 10, 1}, {"second", 6, 2}}
	got := d.Rolled()
	if len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("Rolled = %v, want %v", got, want)
	}
	if err := d.Close(); err != nil {
		t.Errorf("Close = %v", err)
	}
}

func TestAFailedSourceVoidsTheDecision(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	d := NewDice(func(int) (int, error) { return 0, boom })
	if got := d.Roll("x", 6); got != 1 {
		t.Errorf("Roll after failure = %d, want 1", got)
	}
	if !errors.Is(d.Close(), boom) || len(d.Rolled()) != 0 {
		t.Errorf("Close = %v, Rolled = %v", d.Close(), d.Rolled())
	}
	var zero Dice
	zero.Roll("x", 6)
	if codeOf(zero.Close()) != BadDice {
		t.Errorf("zero dice: %v", zero.Close())
	}
}

func TestRefusalsNameTheirField(t *testing.T) {
	t.Parallel()
	plain := Refuse("X", "%d", 1)
	for name, tc := range map[string]struct {
		r        *Refusal
		field    string
		standing bool
	}{
		"no field":                             {plain, "", false},
		"a field that is wrong":                {plain.At("f"), "f", false},
		"a field that the state does not want": {plain.On("f"), "f", true},
		"the last word counts":                 {plain.On("f").At("g"), "g", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tc.r.Field != tc.field || tc.r.Standing != tc.standing || tc.r.Code != "X" || tc.r.Message != "1" {
				t.Errorf("got %+v", tc.r)
			}
		})
	}
}

func TestForgetfulDiceKeepNoRecord(t *testing.T) {
	t.Parallel()
	n := 0
	d := ForgetfulDice(func(sides int) int { n++; return n })
	if a, b := d.Roll("first", 4), d.RollFor("then ", "ada", 6); a != 1 || b != 2 || d.Failed() || len(d.Rolled()) != 0 {
		t.Errorf("%d, %d, failed %v, rolled %v", a, b, d.Failed(), d.Rolled())
	}
	if f := d.RollFor("wrong ", "ada", 2); f != 1 || d.Close() == nil {
		t.Errorf("a d2 shows 3: %d, %v", f, d.Close())
	}
}
