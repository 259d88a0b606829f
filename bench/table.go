package main

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"
)

// row is one comparison.
type row struct {
	name string
	// than names what the figure is compared with.
	than string
	// baseline and measured are medians.
	baseline, measured time.Duration
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
	r.baseline, r.measured = median(base), median(measured)
	return r, nil
}

// median sorts the times. Of an even number it takes the mean of the two in the middle; there has to be one.
func median(times []time.Duration) time.Duration {
	slices.Sort(times)
	n := len(times)
	return (times[(n-1)/2] + times[n/2]) / 2
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
	fmt.Fprintln(t, "name\tagainst\tbaseline\tmeasured\tratio")
	for _, r := range rows {
		if r.missing != "" {
			fmt.Fprintf(t, "%s\t%s\tnot measured: %s\n", r.name, r.than, r.missing)
			continue
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%.2f\n", r.name, r.than, short(r.baseline), short(r.measured), float64(r.measured)/float64(r.baseline))
	}
	return t.Flush()
}

// short is a time with about three digits.
func short(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return d.Round(100 * time.Nanosecond).String()
	case d < 100*time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	}
	return d.Round(time.Millisecond).String()
}
