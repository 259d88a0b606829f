package main

import (
	"fmt"
	"io"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/wayfarer-rpg/wayfarer/rules/balance"
)

// width of the bars, in characters.
const width = 40

func bar(share float64) string {
	n := int(min(1, max(0, share))*width + 0.5)
	return strings.Repeat("█", n) + strings.Repeat("·", width-n)
}

// histogram draws counts as bars, each against the largest. The last of them counts everything from its number on when it
// is drawn; what nobody met, at either end, is left out.
func histogram(w io.Writer, title string, counts []int) {
	first, last, most, all := -1, 0, 0, 0
	for i, n := range counts {
		if n > 0 {
			last = i
			if first < 0 {
				first = i
			}
		}
		most, all = max(most, n), all+n
	}
	if all == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s\n", title)
	for i := first; i <= last; i++ {
		name := fmt.Sprint(i)
		if i == len(counts)-1 {
			name += "+"
		}
		fmt.Fprintf(w, "  %4s %s %5.1f %%\n", name, bar(float64(counts[i])/float64(most)), 100*float64(counts[i])/float64(all))
	}
}

const (
	// plotRows is the height of a curve, columnWidth that of one of its points.
	plotRows    = 8
	columnWidth = 4
	// mostColumns bounds a curve to a terminal's width.
	mostColumns = 24
)

// eighths are the parts of a row.
var eighths = []string{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"}

// plot draws a curve from 0 to top as columns, in rows of eight parts each; points are numbered from 1.
func plot(w io.Writer, title string, top float64, points []float64) {
	if len(points) == 0 || top <= 0 {
		return
	}
	more := len(points) > mostColumns
	points = points[:min(len(points), mostColumns)]
	fmt.Fprintf(w, "\n%s\n", title)
	for row := plotRows; row > 0; row-- {
		var b strings.Builder
		for _, p := range points {
			filled := int(math.Round(p/top*plotRows*8)) - (row-1)*8
			b.WriteString(strings.Repeat(eighths[min(8, max(0, filled))], columnWidth-1) + " ")
		}
		fmt.Fprintf(w, "%7.1f ┤%s\n", top*float64(row)/plotRows, strings.TrimRight(b.String(), " "))
	}
	fmt.Fprintf(w, "        └")
	for i := range points {
		fmt.Fprintf(w, "%*d ", columnWidth-1, i+1)
	}
	if more {
		fmt.Fprint(w, "…")
	}
	fmt.Fprintln(w)
}

// shares draws named shares as bars, names of one width.
func shares(w io.Writer, names []string, values []float64) {
	widest := 0
	for _, name := range names {
		widest = max(widest, utf8.RuneCountInString(name))
	}
	for i, name := range names {
		fmt.Fprintf(w, "  %-*s %s %5.1f %%\n", widest, name, bar(values[i]), 100*values[i])
	}
}

func percent(rate float64, interval [2]float64) string {
	return fmt.Sprintf("%.1f %% (95 %%: %.1f to %.1f)", 100*rate, 100*interval[0], 100*interval[1])
}

func mean(m balance.Mean) string { return fmt.Sprintf("%.2f ± %.2f", m.Mean, m.Error) }
