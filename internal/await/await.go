// Package await lets tests wait for what other goroutines and processes do. Every wait has an end, far off, since a busy
// machine is slow and not broken; a test that comes to it fails with what it saw, instead of holding up all the others.
package await

import (
	"context"
	"runtime/pprof"
	"strings"
	"testing"
	"time"
)

// Limit is how long a test waits for one thing that takes moments on a machine with nothing else to do.
const Limit = 4 * time.Minute

// every is how often a condition is looked at.
const every = 5 * time.Millisecond

// Value returns what comes from a channel, the zero value when it is closed. It is for the test's own goroutine: it ends the
// test when nothing comes.
func Value[T any](tb testing.TB, from <-chan T, what string) T {
	tb.Helper()
	return value(tb, from, what, Limit)
}

func value[T any](tb testing.TB, from <-chan T, what string, limit time.Duration) T {
	tb.Helper()
	end := time.NewTimer(limit)
	defer end.Stop()
	select {
	case v := <-from:
		return v
	case <-end.C:
	}
	tb.Fatalf("waited %s for %s; the goroutines are\n%s", limit, what, goroutines())
	panic("unreachable")
}

// Until looks again and again until met, and ends the test when that takes too long: with what was seen last, if anything.
func Until(tb testing.TB, what string, look func() (met bool, seen any)) {
	tb.Helper()
	until(tb, what, look, Limit)
}

func until(tb testing.TB, what string, look func() (met bool, seen any), limit time.Duration) {
	tb.Helper()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for begin := time.Now(); ; <-tick.C {
		met, seen := look()
		switch {
		case met:
			return
		case time.Since(begin) < limit:
		case seen != nil:
			tb.Fatalf("waited %s until %s; seen was %v", limit, what, seen)
		default:
			tb.Fatalf("waited %s until %s; the goroutines are\n%s", limit, what, goroutines())
		}
	}
}

// Context returns a context of a parent for something that is over within the limit.
func Context(tb testing.TB, parent context.Context) context.Context { //nolint:revive // tb comes first in tests' helpers
	tb.Helper()
	ctx, cancel := context.WithTimeout(parent, Limit)
	tb.Cleanup(cancel)
	return ctx
}

// goroutines tells where all of them stand, those at the same place once.
func goroutines() string {
	var out strings.Builder
	if err := pprof.Lookup("goroutine").WriteTo(&out, 1); err != nil {
		return err.Error()
	}
	return out.String()
}
