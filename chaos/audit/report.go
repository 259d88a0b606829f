package audit

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// Kind says what kind of wrong a finding is.
type Kind string

// The kinds.
const (
	// Lost: acknowledged, and not there, or not as it was told.
	Lost Kind = "lost"
	// Doubled: there more than once.
	Doubled Kind = "doubled"
	// Rerolled: faces that are not those of the stream, or not those that were told.
	Rerolled Kind = "rolled again"
	// Broken: anything else, such as a gap, an effect that nobody asked for, or something made of nothing.
	Broken Kind = "otherwise wrong"
)

// Finding is one thing that is wrong.
type Finding struct {
	Kind Kind
	Text string
}

// String implements fmt.Stringer.
func (f Finding) String() string { return string(f.Kind) + ": " + f.Text }

// Report sums up what came of an expedition, or of many.
type Report struct {
	Acknowledged, Refused, Doubt, Duplicates, Kills, Cuts int
	// Unanswered is how many of those in doubt never got any answer; the others were refused after an attempt without one.
	Unanswered int
	// Records and Faces are how many were compared.
	Records, Faces int
	Findings       []Finding
}

func (r *Report) wrong(kind Kind, format string, args ...any) {
	r.Findings = append(r.Findings, Finding{kind, fmt.Sprintf(format, args...)})
}

// Count tells how many findings are of a kind.
func (r *Report) Count(kind Kind) int {
	n := 0
	for _, f := range r.Findings {
		if f.Kind == kind {
			n++
		}
	}
	return n
}

// Add adds another report.
func (r *Report) Add(o *Report) {
	r.Acknowledged += o.Acknowledged
	r.Refused += o.Refused
	r.Doubt += o.Doubt
	r.Unanswered += o.Unanswered
	r.Duplicates += o.Duplicates
	r.Kills += o.Kills
	r.Cuts += o.Cuts
	r.Records += o.Records
	r.Faces += o.Faces
	r.Findings = append(r.Findings, o.Findings...)
}

// Print prints the table.
func (r *Report) Print(out io.Writer) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, row := range []struct {
		name string
		n    int
	}{
		{"commands acknowledged", r.Acknowledged}, {"refused by the rules", r.Refused}, {"left in doubt", r.Doubt},
		{"kills", r.Kills}, {"cuts and delays", r.Cuts}, {"duplicates sent", r.Duplicates},
		{"records checked", r.Records}, {"faces recomputed", r.Faces},
		{string(Lost), r.Count(Lost)}, {string(Doubled), r.Count(Doubled)}, {string(Rerolled), r.Count(Rerolled)}, {string(Broken), r.Count(Broken)},
	} {
		fmt.Fprintf(w, "%s\t%d\t\n", row.name, row.n)
	}
	_ = w.Flush() // to a terminal or a file that is gone: nobody is there to tell
}

// Err tells what is wrong in one line; nil when nothing is.
func (r *Report) Err() error {
	if len(r.Findings) == 0 {
		return nil
	}
	return fmt.Errorf("%d lost, %d doubled, %d rolled again, %d otherwise wrong", r.Count(Lost), r.Count(Doubled), r.Count(Rerolled), r.Count(Broken))
}
