package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/wayfarer-rpg/wayfarer/rules/notation"
	"github.com/wayfarer-rpg/wayfarer/rules/odds"
)

// chances measures exact odds from their notation to the distribution.
func chances() ([]row, error) {
	var rows []row
	var failed error
	add := func(name string, most time.Duration, once func() error) {
		l := loop(func(n int) {
			for range n {
				if err := once(); err != nil && failed == nil {
					failed = fmt.Errorf("%s: %w", name, err)
				}
			}
		})
		took := each(l)
		rows = append(rows, row{name: "odds of " + name, measured: took[0], goal: within(most), remark: digits(l.allocations()) + " allocations"})
	}
	of := func(text string) func() error {
		return func() error {
			n, err := notation.Parse(text)
			if err != nil {
				return err
			}
			_, err = odds.Of(n)
			return err
		}
	}
	add("20d10kh5", 100*time.Microsecond, of("20d10kh5"))
	add("100d6", time.Millisecond, of("100d6"))
	add("six times 4d6kh3, summed", time.Millisecond, of(strings.Repeat("4d6kh3+", 5)+"4d6kh3"))
	add("10d10kh5", 200*time.Microsecond, of("10d10kh5"))
	add("16d10kh8", 5*time.Millisecond, of("16d10kh8"))
	add("a Danger World pool of 10", 50*time.Millisecond, func() error {
		_, err := odds.Pool{Normal: 10, Difficulty: 4, Rules: odds.DefaultPoolRules()}.Odds()
		return err
	})
	return rows, failed
}
