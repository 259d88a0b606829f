package main

import (
	"bytes"
	"errors"
	"regexp"
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
		{name: "one", than: "two", baseline: 200e3, measured: 1500e3, goal: ratioAtMost(7)},
		{name: "three", than: "four", missing: "no server"},
		{name: "five", unit: perSecond, measured: 12345, goal: goal{least: true, bound: 300}, remark: "said"},
		{name: "six", than: "one", unit: size, baseline: 1 << 20, measured: 1536, goal: ratioAtLeast(1)},
		{name: "seven", measured: 99, goal: within(100)},
	})
	want := strings.Join([]string{
		"name   against  baseline  measured                 ratio   goal",
		"one    two      200µs     1.5ms                    7.50    ≤ 7: missed",
		"three  four     -         not measured: no server",
		"five   -        -         12345/s                  -       ≥ 300/s: met  said",
		"six    one      1 MiB     1.50 KiB                 0.0015  ≥ 1: missed",
		"seven  -        -         99ns                     -       ≤ 100ns: met",
		"",
	}, "\n")
	got := regexp.MustCompile(" +\n").ReplaceAllString(out.String(), "\n")
	if err != nil || got != want {
		t.Errorf("%v, got\n%swant\n%s", err, got, want)
	}
}

func TestSectionsThatDoNotExistAreRefused(t *testing.T) {
	t.Parallel()
	var out, progress bytes.Buffer
	err := run(t.Context(), []string{"-sections", "odds,weather"}, &out, &progress)
	if err == nil || !strings.Contains(err.Error(), `"weather"`) || out.Len() != 0 {
		t.Errorf("got %v and %q", err, &out)
	}
}
