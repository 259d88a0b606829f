package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestMedian(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		times []time.Duration
		want  time.Duration
	}{
		"of one":                          {[]time.Duration{7}, 7},
		"of an odd number, out of order":  {[]time.Duration{900, 1, 5}, 5},
		"of an even number, out of order": {[]time.Duration{900, 4, 1, 6}, 5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := median(tt.times); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func TestCompareLeavesTheWarmUpOut(t *testing.T) {
	t.Parallel()
	calls := time.Duration(0)
	r, err := row{name: "x"}.compare(2, 3, func() (time.Duration, time.Duration, error) {
		calls++
		if calls <= 2 {
			return 1e6, 1e6, nil
		}
		return calls, 10 * calls, nil // 3, 4, 5
	})
	if err != nil || calls != 5 || r.baseline != 4 || r.measured != 40 {
		t.Errorf("%d calls: %+v, %v", calls, r, err)
	}
}

func TestCompareEndsAtAFailure(t *testing.T) {
	t.Parallel()
	broken, calls := errors.New("broken"), 0
	_, err := row{}.compare(0, 9, func() (time.Duration, time.Duration, error) {
		calls++
		return 0, 0, broken
	})
	if !errors.Is(err, broken) || calls != 1 {
		t.Errorf("%d calls: %v", calls, err)
	}
}

func TestTable(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	err := table(&out, []row{
		{name: "one", than: "two", baseline: 200 * time.Microsecond, measured: 1500 * time.Microsecond},
		{name: "three", than: "four", missing: "no server"},
	})
	want := strings.Join([]string{
		"name   against  baseline  measured  ratio",
		"one    two      200µs     1.5ms     7.50",
		"three  four     not measured: no server",
		"",
	}, "\n")
	if err != nil || out.String() != want {
		t.Errorf("%v, got\n%swant\n%s", err, &out, want)
	}
}
