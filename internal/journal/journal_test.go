package journal_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wayfarer-rpg/wayfarer/internal/journal"
	"github.com/wayfarer-rpg/wayfarer/internal/journal/journaltest"
	"github.com/wayfarer-rpg/wayfarer/internal/journal/memory"
)

// What the suite cannot see on every store: goroutines and time. A bubble of synctest has a clock of its own and fails
// when a goroutine stays behind.

func open(t *testing.T, s journal.Store, opts ...journal.Option) *journal.Journal[journaltest.Tally] {
	j := journal.New(s, journaltest.TallyFold(1), append([]journal.Option{journal.WithLogger(slog.New(slog.DiscardHandler))}, opts...)...)
	t.Cleanup(func() { _ = j.Close() })
	return j
}

func add(t *testing.T, j *journal.Journal[journaltest.Tally], stream, request string, owing bool) {
	t.Helper()
	_, err := j.Commit(t.Context(), journal.Command{Stream: stream, Mode: journal.Either, RequestID: request},
		func(context.Context, journal.At[journaltest.Tally]) (journal.Decision, error) {
			return journal.Decision{Events: []json.RawMessage{journaltest.Add("x", 1)}, Owing: owing}, nil
		})
	if err != nil {
		t.Fatal(err)
	}
}

func TestWatchPollsAndLeavesNoGoroutine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		here, there := open(t, s, journal.WithPoll(time.Second)), open(t, s)
		ctx, cancel := context.WithCancel(t.Context())
		got := make(chan int, 10)
		for range 3 {
			go func() {
				for r, err := range here.Watch(ctx, "a", 1) {
					if err != nil {
						t.Error(err)
					}
					got <- r.Seq
				}
				got <- -1
			}()
		}
		synctest.Wait()
		add(t, there, "a", "1", false)
		synctest.Wait()
		if len(got) != 0 {
			t.Fatal("seen before the poll")
		}
		start := time.Now()
		for range 3 {
			if seq := <-got; seq != 1 {
				t.Fatalf("got %d", seq)
			}
		}
		if d := time.Since(start); d > time.Second {
			t.Fatalf("seen after %v", d)
		}
		cancel()
		for range 3 {
			if seq := <-got; seq != -1 {
				t.Fatalf("got %d", seq)
			}
		}
		// The bubble's end checks that the follower has gone: the journals are closed only after that.
		synctest.Wait()
	})
}

func TestWatchOutlivesAStoreThatFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		var down atomic.Bool
		spy := &journaltest.Spy{Store: s, Before: func(op journaltest.Op) error {
			if down.Load() && op == journaltest.Read {
				return errors.New("down")
			}
			return nil
		}}
		here, there := open(t, spy, journal.WithPoll(time.Second)), open(t, s)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		got := make(chan int, 1)
		go func() {
			for r, err := range here.Watch(ctx, "a", 1) {
				if err != nil {
					t.Error(err)
				}
				got <- r.Seq
			}
		}()
		synctest.Wait()
		down.Store(true)
		add(t, there, "a", "1", false)
		time.Sleep(5 * time.Second) // of the bubble's clock
		if len(got) != 0 {
			t.Fatal("seen while the store was down")
		}
		synctest.Wait()
		down.Store(false)
		if seq := <-got; seq != 1 {
			t.Fatalf("got %d", seq)
		}
		cancel()
		synctest.Wait()
	})
}

func TestWatchYieldsTheErrorOfItsOwnReadAndEnds(t *testing.T) {
	t.Parallel()
	s := memory.New()
	j := open(t, s)
	for i := range 100 { // more than the follower keeps
		add(t, j, "a", fmt.Sprint(i), false)
	}
	lost := errors.New("lost")
	reads := 0
	spy := &journaltest.Spy{Store: s}
	spied := open(t, spy, journal.WithTicker(func(time.Duration) (<-chan time.Time, func()) { return nil, func() {} }))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	// A first watcher brings the follower to the end, so that the second has to read for itself.
	for r, err := range spied.Watch(ctx, "a", 90) {
		if err != nil {
			t.Fatal(err)
		}
		if r.Seq < 100 {
			continue
		}
		spy.Before = func(op journaltest.Op) error { reads++; return lost }
		var last error
		for _, err := range spied.Watch(ctx, "a", 1) {
			last = err
		}
		if !errors.Is(last, lost) || reads != 1 {
			t.Fatalf("got %v after %d reads", last, reads)
		}
		break
	}
}

func TestWatchersWhoComeBackTogetherAreReadForTogether(t *testing.T) {
	t.Parallel()
	const records, watchers = 600, 500
	s := memory.New()
	there := open(t, s)
	for i := range records {
		add(t, there, "a", fmt.Sprint(i), false)
	}
	synctest.Test(t, func(t *testing.T) {
		spy := &journaltest.Spy{Store: s}
		here := open(t, spy)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, watchers)
		for i := range watchers {
			go func() {
				next := i + 1 // each comes back from a place of its own
				for r, err := range here.Watch(ctx, "a", next) {
					if err != nil || r.Seq != next {
						done <- fmt.Errorf("watcher %d got record %d instead of %d: %w", i, r.Seq, next, err)
						return
					}
					if next++; r.Seq == records {
						done <- nil
					}
				}
			}()
		}
		for range watchers {
			if err := <-done; err != nil {
				t.Fatal(err)
			}
		}
		// The stream has three pages. The follower goes through them once, and once they are read for all who are behind it.
		if n := spy.Reads.Load(); n > 6 {
			t.Errorf("%d watchers read the store %d times", watchers, n)
		}
		// A watcher who leaves while its page is read does not wait for the store, and takes nothing from the others.
		block := make(chan struct{})
		slow := open(t, &journaltest.Spy{Store: s, Before: func(op journaltest.Op) error {
			if op == journaltest.Read {
				<-block
			}
			return nil
		}})
		gone, leave := context.WithCancel(ctx)
		left, seen := make(chan struct{}), make(chan int)
		go func() {
			for _, err := range slow.Watch(ctx, "a", records) {
				if err != nil {
					t.Error(err)
				}
				break
			}
			for r, err := range slow.Watch(ctx, "a", 1) {
				if err != nil {
					t.Error(err)
				}
				seen <- r.Seq
				return
			}
		}()
		go func() {
			for r, err := range slow.Watch(gone, "a", 1) {
				t.Errorf("got %+v, %v after the end", r, err)
			}
			close(left)
		}()
		synctest.Wait()
		leave()
		<-left
		close(block)
		if seq := <-seen; seq != 1 {
			t.Errorf("got record %d", seq)
		}
		cancel()
		synctest.Wait() // The end of the bubble checks that no goroutine is left.
	})
}

func TestCommitWaitsForItsTurnNoLongerThanItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := open(t, memory.New())
		in, out := make(chan struct{}), make(chan struct{})
		go func() {
			_, err := j.Commit(t.Context(), journal.Command{Stream: "a", Mode: journal.Either, RequestID: "1"},
				func(context.Context, journal.At[journaltest.Tally]) (journal.Decision, error) {
					close(in)
					<-out
					return journal.Decision{}, nil
				})
			if err != nil {
				t.Error(err)
			}
		}()
		<-in
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := j.Commit(ctx, journal.Command{Stream: "a", Mode: journal.Either, RequestID: "2"}, nil)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		add(t, j, "b", "1", false) // other streams do not wait
		close(out)
		synctest.Wait()
	})
}

func TestSweepWalksManyPages(t *testing.T) {
	t.Parallel()
	j := open(t, memory.New())
	const streams = 600
	for i := range streams {
		add(t, j, fmt.Sprintf("s%03d", i), "1", true)
	}
	seen := map[string]int{}
	settleOdd := func(_ context.Context, stream string) (bool, error) {
		seen[stream]++
		return stream[3]%2 == 1, nil
	}
	for range 2 {
		if err := j.Sweep(t.Context(), settleOdd); err != nil {
			t.Fatal(err)
		}
	}
	for i := range streams {
		if want, name := 2-i%2, fmt.Sprintf("s%03d", i); seen[name] != want {
			t.Fatalf("%s was seen %d times, want %d", name, seen[name], want)
		}
	}
}

func TestAnEndedAggregateHasAHeadAtItsEnd(t *testing.T) {
	t.Parallel()
	s := memory.New()
	j := open(t, s)
	add(t, j, "a", "1", false)
	if _, err := s.Head(t.Context(), "a", 1); !errors.Is(err, journal.ErrNotFound) {
		t.Fatalf("head after one record: %v", err)
	}
	_, err := j.Commit(t.Context(), journal.Command{Stream: "a", RequestID: "2"},
		func(context.Context, journal.At[journaltest.Tally]) (journal.Decision, error) {
			return journal.Decision{Events: []json.RawMessage{journaltest.End()}}, nil
		})
	if err != nil {
		t.Fatal(err)
	}
	if h, err := s.Head(t.Context(), "a", 1); err != nil || h.Seq != 2 {
		t.Fatalf("head at the end: %+v, %v", h, err)
	}
}

func TestACachedStateIsNotChangedByLaterRecords(t *testing.T) {
	t.Parallel()
	j := open(t, memory.New())
	add(t, j, "a", "1", false)
	before, err := j.Load(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	add(t, j, "a", "2", false)
	if before.State.Sum != 1 || before.State.By["x"] != 1 {
		t.Fatalf("changed to %+v", before.State)
	}
}

func TestARequestIsKnownAlsoInAStreamThatIsTooLongToKeepAllIDs(t *testing.T) {
	t.Parallel()
	ctx, store := t.Context(), &journaltest.Spy{Store: memory.New()}
	fold := journaltest.TallyFold(1)
	command := func(i int) journal.Command {
		id := strconv.Itoa(i)
		return journal.Command{Stream: "a", Mode: journal.Either, RequestID: id, RequestHash: id}
	}
	decide := func(context.Context, journal.At[journaltest.Tally]) (journal.Decision, error) {
		return journal.Decision{Events: []json.RawMessage{journaltest.Add("x", 1)}}, nil
	}
	// size commits n commands more and tells how large the head is.
	j, n := journal.New(store, fold), 0
	size := func(more int) int {
		t.Helper()
		for range more {
			if _, err := j.Commit(ctx, command(n), decide); err != nil {
				t.Fatal(err)
			}
			n++
		}
		h, err := store.Head(ctx, "a", 1)
		if err != nil || h.Seq != n {
			t.Fatalf("head at %d of %d: %v", h.Seq, n, err)
		}
		return len(h.State)
	}
	check := func(asked bool) {
		t.Helper()
		store.Reset()
		for name, j := range map[string]*journal.Journal[journaltest.Tally]{"the writer": j, "a cold one": journal.New(store, fold)} {
			for _, i := range []int{0, n / 2, n - 1} {
				c, err := j.Commit(ctx, command(i), decide)
				if err != nil || !c.Replayed || c.Record.Seq != i+1 || c.State.State.Sum != i+1 {
					t.Errorf("%s, %d of %d again: %+v, %v", name, i, n, c, err)
				}
			}
			if _, ok, err := j.Answer(ctx, command(-1)); ok || err != nil {
				t.Errorf("%s: what was never asked has an answer: %v, %v", name, ok, err)
			}
		}
		if got := store.Lookups.Load() > 0; got != asked {
			t.Errorf("with %d records the store is asked for a request: %v", n, got)
		}
	}
	short := size(1024)
	check(false)
	if long := size(16); long >= short-4096 {
		t.Errorf("the head of a longer stream has %d bytes, that of a shorter one %d", long, short)
	}
	check(true)
}
