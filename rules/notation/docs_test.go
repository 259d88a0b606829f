package notation

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestTheExamplesOfTheDocs rolls every row of the table in docs/dice.md.
func TestTheExamplesOfTheDocs(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../../docs/dice.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(doc), "| notation | canonical | faces | value |\n|---|---|---|---|\n")
	if !ok {
		t.Fatal("the table is gone")
	}
	row := regexp.MustCompile("^\\| `(.+)` \\| (?:`(.+)`)? ?\\| ([0-9 ]*) ?\\| ([-0-9/]*) ?\\|$")
	rows := 0
	for line := range strings.Lines(table) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" {
			break
		}
		rows++
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			m := row.FindStringSubmatch(line)
			if m == nil {
				t.Fatal("no row of the table")
			}
			n, err := Parse(m[1])
			if m[2] == "" {
				if err == nil {
					t.Errorf("read as %s", n)
				}
				return
			}
			if err != nil || n.String() != m[2] {
				t.Fatalf("read as %s, %v", n, err)
			}
			var faces []int
			for f := range strings.FieldsSeq(m[3]) {
				face, err := strconv.Atoi(f)
				if err != nil {
					t.Fatal(err)
				}
				faces = append(faces, face)
			}
			r, err := scripted(t, m[1], faces...)
			if err != nil {
				t.Fatal(err)
			}
			if r.Value.String() != m[4] {
				t.Errorf("value %s, want %s", r.Value, m[4])
			}
		})
	}
	if rows < 30 {
		t.Errorf("%d rows", rows)
	}
}
