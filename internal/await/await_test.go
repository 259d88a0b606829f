package await

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
)

// watched is a test that may fail, and tells how.
type watched struct {
	testing.TB
	said string
}

func (*watched) Helper() {}

func (w *watched) Fatalf(format string, args ...any) {
	w.said = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// failing runs a wait as a test of its own and returns what it failed with.
func failing(t *testing.T, wait func(testing.TB)) string {
	t.Helper()
	w := &watched{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		wait(w)
	}()
	Value(t, done, "the wait's end")
	return w.said
}

func TestAValueThatComes(t *testing.T) {
	t.Parallel()
	late := make(chan int)
	go func() { late <- 7 }()
	if got := Value(t, late, "a number"); got != 7 {
		t.Errorf("got %d", got)
	}
	close(late)
	if got := Value(t, late, "the end"); got != 0 {
		t.Errorf("from a closed channel: %d", got)
	}
}

func TestAConditionThatIsMet(t *testing.T) {
	t.Parallel()
	looks := 0
	Until(t, "looked three times", func() (bool, any) { looks++; return looks == 3, looks })
	if looks != 3 {
		t.Errorf("looked %d times", looks)
	}
}

func TestAWaitEnds(t *testing.T) {
	t.Parallel()
	for what, row := range map[string]struct {
		wait func(testing.TB)
		want []string
	}{
		"a value that never comes": {
			func(tb testing.TB) { value(tb, make(chan int), "a number", time.Millisecond) },
			[]string{"waited 1ms for a number", "await.value"},
		},
		"a condition that is never met": {
			func(tb testing.TB) {
				until(tb, "it is seven", func() (bool, any) { return false, "six" }, time.Millisecond)
			},
			[]string{"waited 1ms until it is seven; seen was six"},
		},
		"a condition that shows nothing": {
			func(tb testing.TB) {
				until(tb, "it is there", func() (bool, any) { return false, nil }, time.Millisecond)
			},
			[]string{"waited 1ms until it is there", "await.until"},
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			said := failing(t, row.wait)
			for _, want := range row.want {
				if !strings.Contains(said, want) {
					t.Errorf("it failed with %q, and not %q", said, want)
				}
			}
		})
	}
}

func TestAContextEnds(t *testing.T) {
	t.Parallel()
	end, ok := Context(t, t.Context()).Deadline()
	if left := time.Until(end); !ok || left > Limit || left < Limit/2 {
		t.Errorf("it ends in %s", left)
	}
}
