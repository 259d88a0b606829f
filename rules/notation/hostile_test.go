package notation

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/wayfarer-rpg/wayfarer/rules/play"
)

// hostileText is what somebody may send who means no good, or whose word processor does not. The same table is tried through the
// API and the command line.
type hostileText struct {
	Name  string `json:"name"`
	Text  string `json:"text"`
	Times int    `json:"times"` // Text is repeated; 0: it stands once
	// Code of the refusal, or else how it is read.
	Code      string `json:"code"`
	Canonical string `json:"canonical"`
}

func hostiles(tb testing.TB) (list []hostileText) {
	tb.Helper()
	raw, err := os.ReadFile("testdata/hostile.json")
	if err != nil {
		tb.Fatal(err)
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		tb.Fatal(err)
	}
	for i := range list {
		list[i].Text = strings.Repeat(list[i].Text, max(list[i].Times, 1))
	}
	return list
}

func TestHostileNotations(t *testing.T) {
	t.Parallel()
	for _, h := range hostiles(t) {
		t.Run(h.Name, func(t *testing.T) {
			t.Parallel()
			n, err := Parse(h.Text)
			var r *play.Refusal
			switch {
			case h.Code == "" && (err != nil || n.String() != h.Canonical):
				t.Errorf("read as %s, %v, want %s", n, err, h.Canonical)
			case h.Code == BadNotation && (!errors.As(err, &r) || !strings.HasPrefix(r.Message, "column ") || !strings.Contains(r.Message, "expected ")):
				t.Errorf("read as %s, %v: neither column nor what was expected", n, err)
			case h.Code != "" && (!errors.As(err, &r) || r.Code != h.Code):
				t.Errorf("read as %s, %v, want %s", n, err, h.Code)
			}
		})
	}
}

// Inputs of 4 KB; the slowest is told. The goal is 10 ms.
func BenchmarkHostile(b *testing.B) {
	texts := map[string]string{
		"re-rolls":     "1d1000000" + strings.Repeat("r<9", 1000),
		"large dice":   strings.Repeat("1d1000000r>1+", 300),
		"unique dice":  strings.Repeat("1000d1000000u+", 290) + "1",
		"custom faces": "d{" + strings.Repeat("1,", 2000),
		"divisions":    strings.Repeat("//", MaxLength/2),
		"labels":       "1" + strings.Repeat("[a]", 1300),
		"nested dice":  strings.Repeat("(1d6)d", 600),
		"blanks":       "1d6" + strings.Repeat(" ", 4000) + "x",
		"sums":         strings.Repeat("1+", 499) + "1" + strings.Repeat(" ", 3000),
		"comments":     strings.Repeat("2d6 /**/", 500),
		"no UTF-8":     strings.Repeat("\xff", MaxLength),
	}
	for _, h := range hostiles(b) {
		if h.Times > 0 {
			texts[h.Name] = h.Text
		}
	}
	for name, text := range texts {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				_, _ = Parse(text)
			}
		})
	}
}
