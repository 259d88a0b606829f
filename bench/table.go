package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"
	"time"
)

// unit says what a figure counts, and how it is written.
type unit int

const (
	duration  unit = iota // nanoseconds
	perSecond             // how many in a second
	size                  // bytes
	number                // anything
)

func (u unit) write(v float64) string {
	switch u {
	case perSecond:
		return digits(v) + "/s"
	case size:
		switch {
		case math.Abs(v) >= 1<<20:
			return digits(v/(1<<20)) + " MiB"
		case math.Abs(v) >= 1<<10:
			return digits(v/(1<<10)) + " KiB"
		}
		return digits(v) + " B"
	case number:
		return digits(v)
	case duration:
	}
	return short(time.Duration(v))
}

// digits is a number with about three digits.
func digits(v float64) string {
	switch {
	case math.Abs(v) >= 100 || v == math.Trunc(v):
		return fmt.Sprintf("%.0f", v)
	case math.Abs(v) >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// goal is what a figure should come to.
type goal struct {
	// ratio says that the ratio is meant, else what was measured.
	ratio bool
	// least says that it is a lower bound, else an upper one.
	least bool
	bound float64
}

func ratioAtMost(v float64) goal  { return goal{ratio: true, bound: v} }
func ratioAtLeast(v float64) goal { return goal{ratio: true, least: true, bound: v} }
func within(d time.Duration) goal { return goal{bound: float64(d)} }

// judge tells the goal and whether it is met.
func (g goal) judge(r row) string {
	if g.bound == 0 {
		return ""
	}
	value, text := r.measured, r.unit.write(g.bound)
	if g.ratio {
		value, text = r.measured/r.baseline, digits(g.bound)
	}
	sign, met := "≤", value <= g.bound
	if g.least {
		sign, met = "≥", value >= g.bound
	}
	if met {
		return sign + " " + text + ": met"
	}
	return sign + " " + text + ": missed"
}

// row is one figure, most often beside another.
type row struct {
	name string
	// than names what the figure is compared with; empty for nothing.
	than string
	unit unit
	// baseline and measured are medians.
	baseline, measured float64
	goal               goal
	// remark is what else there is to say in some words.
	remark string
	// missing says why there are no figures.
	missing string
}

// compare takes pairs of times, n of them after some that only warm up, and fills in the medians. Both times of a pair
// are taken right after each other.
func (r row) compare(warm, n int, pair func() (baseline, measured time.Duration, err error)) (row, error) {
	base, measured := make([]time.Duration, 0, n), make([]time.Duration, 0, n)
	for i := range warm + n {
		b, m, err := pair()
		if err != nil {
			return r, err
		}
		if i >= warm {
			base, measured = append(base, b), append(measured, m)
		}
	}
	r.baseline, r.measured = float64(median(base)), float64(median(measured))
	return r, nil
}

// median sorts the values. Of an even number it takes the mean of the two in the middle; there has to be one.
func median[T time.Duration | float64](values []T) T {
	slices.Sort(values)
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}

// timed tells how long something takes.
func timed(f func() error) (time.Duration, error) {
	begin := time.Now()
	err := f()
	return time.Since(begin), err
}

// both times a baseline and what is measured against it.
func both(baseline, measured func() error) (b, m time.Duration, err error) {
	if b, err = timed(baseline); err != nil {
		return 0, 0, fmt.Errorf("baseline: %w", err)
	}
	m, err = timed(measured)
	return b, m, err
}

// table writes the table.
func table(w io.Writer, rows []row) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "name\tagainst\tbaseline\tmeasured\tratio\tgoal\t")
	for _, r := range rows {
		switch {
		case r.missing != "":
			fmt.Fprintf(t, "%s\t%s\t-\tnot measured: %s\t\t\t\n", r.name, r.than, r.missing)
		case r.than == "":
			fmt.Fprintf(t, "%s\t-\t-\t%s\t-\t%s\t%s\n", r.name, r.unit.write(r.measured), r.goal.judge(r), r.remark)
		default:
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.name, r.than, r.unit.write(r.baseline), r.unit.write(r.measured),
				ratio(r.measured/r.baseline), r.goal.judge(r), r.remark)
		}
	}
	return t.Flush()
}

// ratio has two digits behind the point, or as many as it needs to be told from 0.
func ratio(v float64) string {
	if v > 0 && v < 0.1 {
		return fmt.Sprintf("%.2g", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// short is a time with about three digits.
func short(d time.Duration) string {
	switch {
	case d < 10*time.Microsecond:
		return d.String()
	case d < time.Millisecond:
		return d.Round(100 * time.Nanosecond).String()
	case d < 100*time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	case d < 10*time.Second:
		return d.Round(time.Millisecond).String()
	}
	return d.Round(100 * time.Millisecond).String()
}
