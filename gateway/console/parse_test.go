package console

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestItemsAreSplitAtBlanks(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"":                       nil,
		"  one   two ":           {"one@3", "two@9"},
		`"old tom" x`:            {"old tom@1", "x@11"},
		`a=1 "old tom"=2`:        {"a@1=1@3", "old tom@5=2@15"},
		`k="two words" =x`:       {"k@1=two words@3", "=x@15"},
		`"say \"no\" \\ \n" end`: {`say "no" \ \n@1`, "end@20"},
		`a=b=c`:                  {"a@1=b=c@3"},
		`k=`:                     {"k@1=@3"},
		`""`:                     {"@1"},
		`"shut"tight after`:      {`"shut"tight@1`, "after@13"},
		"höhle=1 日本=2":           {"höhle@1=1@7", "日本@9=2@12"},
	} {
		got, err := items(span{text, 1})
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		var shown []string
		at := func(s span) string { return s.text + "@" + itoa(s.column) }
		for _, it := range got {
			s := at(it.value)
			if it.pair {
				s = at(it.key) + "=" + s
			}
			shown = append(shown, s)
		}
		if diff := cmp.Diff(want, shown); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

func itoa(n int) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return itoa(n/10) + itoa(n%10)
}

func TestDistanceCountsKeystrokes(t *testing.T) {
	t.Parallel()
	for pair, want := range map[[2]string]int{
		{"", ""}: 0, {"draw", "draw"}: 0, {"draw", "drwa"}: 1, {"draw", "dra"}: 1, {"draw", "drawn"}: 1, {"draw", "drag"}: 1,
		{"rope", "grope"}: 1, {"camp", "cmap"}: 1, {"ab", "ba"}: 1, {"abc", "cab"}: 2, {"", "abc"}: 3, {"höhle", "hohle"}: 1,
	} {
		if got := distance(pair[0], pair[1]); got != want {
			t.Errorf("%q to %q is %d, not %d", pair[0], pair[1], got, want)
		}
		if got := distance(pair[1], pair[0]); got != want {
			t.Errorf("%q to %q is %d, not %d", pair[1], pair[0], got, want)
		}
	}
}

// TestTheTableIsWhole: each command is one of two kinds, and what its usage shows can be read.
func TestTheTableIsWhole(t *testing.T) {
	t.Parallel()
	for _, c := range table {
		if (c.plan == nil) == (c.read == nil) {
			t.Errorf("+%s has to change or to read", c.name)
		}
		for i, a := range c.args {
			if last := i == len(c.args)-1; !last && (a.kind == text || a.kind == pairs || a.optional && !c.args[i+1].optional) {
				t.Errorf("+%s: nothing can follow %s", c.name, a.name)
			}
		}
		for _, o := range c.options {
			if o.name != strings.ToLower(o.name) || strings.ContainsAny(o.name, " =") {
				t.Errorf("+%s: nobody can write the option %q", c.name, o.name)
			}
		}
		if !strings.HasSuffix(c.help, ".") && !strings.Contains(c.help, "…") {
			t.Errorf("+%s: the help is no sentence: %s", c.name, c.help)
		}
	}
	if !slices.IsSortedFunc(table, func(a, b *command) int { return topicPlace(a) - topicPlace(b) }) {
		t.Error("the topics are mixed")
	}
}

func topicPlace(c *command) int {
	return slices.IndexFunc(topics, func(t topic) bool { return t.name == c.topic })
}

// FuzzParse: whatever comes in is a command or an error that points into the line.
func FuzzParse(f *testing.F) {
	for _, c := range table {
		f.Add("+" + c.name + " one two=3 \"four five\"")
	}
	for _, line := range []string{"", "+", "++", "+act", `+act "`, "+travel/move n via=road", "+pool/members A=front B=", "+travel/share =1", "+\u00a0x", "+roll 2d6\x00", "+tools/load #2"} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		if !utf8.ValidString(line) || len(line) > 4096 {
			return // the contract lets in valid text of a bounded length only
		}
		c, a, err := parse(line)
		var bad *lineError
		switch {
		case err == nil && c == nil:
			t.Fatalf("%q is nothing", line)
		case err == nil:
			for name, v := range a.values {
				if v.column < 1 || v.column > utf8.RuneCountInString(line)+1 {
					t.Fatalf("%q: %s stands at %d", line, name, v.column)
				}
			}
		case !errors.As(err, &bad):
			t.Fatalf("%q: %v", line, err)
		case bad.column < 1 || bad.column > utf8.RuneCountInString(line)+2:
			t.Fatalf("%q: the error points at %d: %v", line, bad.column, err)
		case bad.reason == "" || bad.message == "":
			t.Fatalf("%q: the error says nothing: %+v", line, bad)
		}
	})
}
