package console

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/wayfarer-rpg/wayfarer/internal/fault"
)

// Reasons of refused lines.
const (
	reasonBadLine  = "BAD_LINE"
	reasonCommand  = "UNKNOWN_COMMAND"
	reasonSwitch   = "UNKNOWN_SWITCH"
	reasonArgument = "BAD_ARGUMENT"
	reasonMissing  = "MISSING_ARGUMENT"
	reasonTooMany  = "TOO_MANY_ARGUMENTS"
	reasonName     = "UNKNOWN_NAME"
	reasonSeveral  = "AMBIGUOUS"
)

// lineError is a line that cannot be played as it stands.
type lineError struct {
	reason      string
	column      int
	expected    string
	message     string
	suggestions []string
}

func refuse(reason string, column int, expected, format string, args ...any) *lineError {
	return &lineError{reason: reason, column: column, expected: expected, message: fmt.Sprintf(format, args...)}
}

// suggest returns the error with the nearest things that would do.
func (e *lineError) suggest(nearest ...string) *lineError {
	c := *e
	c.suggestions = nearest
	return &c
}

// Error tells people what is wrong, where, and what would do.
func (e *lineError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "column %d: %s", e.column, e.message)
	if e.expected != "" {
		fmt.Fprintf(&b, "; expected %s", e.expected)
	}
	if len(e.suggestions) > 0 {
		quoted := make([]string, len(e.suggestions))
		for i, s := range e.suggestions {
			quoted[i] = `"` + s + `"`
		}
		fmt.Fprintf(&b, ". Did you mean %s?", join(quoted, "or"))
	}
	return b.String()
}

func (e *lineError) fault() *fault.Error {
	f := fault.Invalid("line", "%s", e.Error()).Because(e.reason).
		With("column", strconv.Itoa(e.column)).With("expected", e.expected)
	return f.With("suggestions", strings.Join(e.suggestions, "; "))
}

// join lists words as a sentence does: "a, b and c".
func join(words []string, last string) string {
	switch n := len(words); n {
	case 0:
		return ""
	case 1:
		return words[0]
	default:
		return strings.Join(words[:n-1], ", ") + " " + last + " " + words[n-1]
	}
}

// mostSuggestions keeps an answer readable in a chat.
const mostSuggestions = 3

// nearest returns the candidates that look most like the text: those that it begins or is part of, then those a few
// keystrokes away.
func nearest(text string, candidates []string) []string {
	found := closest(text, candidates)
	return found[:min(len(found), mostSuggestions)]
}

// closest is nearest without an end.
func closest(text string, candidates []string) []string {
	text = fold(text)
	type scored struct {
		name  string
		score int
	}
	var found []scored
	for _, c := range candidates {
		name := fold(c)
		score := distance(text, name)
		for _, word := range strings.FieldsFunc(name, func(r rune) bool { return r == ' ' || r == '/' || r == '-' }) {
			score = min(score, 1+distance(text, word))
		}
		limit := max(2, len([]rune(text))/3)
		if len([]rune(text)) >= 2 && strings.Contains(name, text) {
			score = 0
		}
		if score <= limit && score < len([]rune(text)) {
			found = append(found, scored{c, score})
		}
	}
	slices.SortStableFunc(found, func(a, b scored) int { return a.score - b.score })
	var out []string
	for _, f := range found {
		if !slices.Contains(out, f.name) {
			out = append(out, f.name)
		}
	}
	return out
}

// fold is how names are compared: without case, with single blanks.
func fold(s string) string { return strings.ToLower(strings.Join(strings.Fields(s), " ")) }

// distance counts the keystrokes between two texts: a character more, less or other, or two neighbours exchanged.
func distance(a, b string) int {
	s, t := []rune(a), []rune(b)
	// Three rows of the usual table: the one being filled and the two above it.
	two, one, row := make([]int, len(t)+1), make([]int, len(t)+1), make([]int, len(t)+1)
	for j := range one {
		one[j] = j
	}
	for i := 1; i <= len(s); i++ {
		row[0] = i
		for j := 1; j <= len(t); j++ {
			change := 1
			if s[i-1] == t[j-1] {
				change = 0
			}
			row[j] = min(one[j]+1, row[j-1]+1, one[j-1]+change)
			if i > 1 && j > 1 && s[i-1] == t[j-2] && s[i-2] == t[j-1] {
				row[j] = min(row[j], two[j-2]+1)
			}
		}
		two, one, row = one, row, two
	}
	return one[len(t)]
}

// thing is something that a line can name.
type thing struct {
	// label is what people call it; also are other names that do.
	label string
	also  []string
	// value is what the caller of find wants.
	value any
}

// nearestThings returns the labels of the things of which one name or another looks most like the text.
func nearestThings(text string, things []thing) []string {
	var all []string
	labels := map[string]string{}
	for _, t := range things {
		for _, n := range append([]string{t.label}, t.also...) {
			all = append(all, n)
			labels[n] = t.label
		}
	}
	var out []string
	for _, n := range closest(text, all) {
		if len(out) < mostSuggestions && !slices.Contains(out, labels[n]) {
			out = append(out, labels[n])
		}
	}
	return out
}

// find returns the one thing that a name fits: exactly, else from the beginning of its name or of one of the words.
func find(what string, name span, things []thing) (thing, error) {
	text := fold(name.text)
	fits := func(good func(string) bool) []thing {
		return slices.DeleteFunc(slices.Clone(things), func(t thing) bool {
			return !slices.ContainsFunc(append([]string{t.label}, t.also...), func(s string) bool { return good(fold(s)) })
		})
	}
	found := fits(func(s string) bool { return s == text })
	if len(found) == 0 && len([]rune(text)) >= 3 {
		found = fits(func(s string) bool { return strings.HasPrefix(s, text) || strings.Contains(s, " "+text) })
	}
	labels := func(of []thing) []string {
		out := make([]string, len(of))
		for i, t := range of {
			out[i] = t.label
		}
		return out
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return thing{}, refuse(reasonName, name.column, "the name of "+what, "there is no %s %q", strings.TrimPrefix(strings.TrimPrefix(what, "a "), "an "), name.text).
			suggest(nearestThings(name.text, things)...)
	default:
		several := labels(found)
		if slices.ContainsFunc(several[1:], func(s string) bool { return s == several[0] }) { // told apart by their other names only
			for i, t := range found {
				if len(t.also) > 0 {
					several[i] = t.also[0]
				}
			}
		}
		return thing{}, refuse(reasonSeveral, name.column, "a name that fits one thing", "%q fits %d things", name.text, len(found)).
			suggest(several[:min(len(several), 2*mostSuggestions)]...)
	}
}
