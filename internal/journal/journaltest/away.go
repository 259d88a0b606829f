package journaltest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/wayfarer-rpg/wayfarer/internal/await"
	"github.com/wayfarer-rpg/wayfarer/internal/fault"
	"github.com/wayfarer-rpg/wayfarer/internal/journal"
)

// Outage is how a test takes a store away.
type Outage struct {
	// Begin takes it away, End gives it back.
	Begin, End func()
	// Reads tells that what is stored cannot be read either.
	Reads bool
	// Within is how long an operation may take to say so.
	Within time.Duration
}

// Away checks what a store, and a journal on it, say while it cannot be used, and that both go on afterwards.
func Away(t *testing.T, s journal.Store, o Outage) {
	t.Helper()
	ctx := context.Background()
	tally := journal.New(s, TallyFold(1), journal.WithHeadEvery(1))
	commit := func(id string) (journal.Committed[Tally], error) {
		cmd := journal.Command{Stream: "known", Mode: journal.Either, Campaign: "c", RequestID: id, RequestHash: "h-" + id}
		return tally.Commit(ctx, cmd, func(context.Context, journal.At[Tally]) (journal.Decision, error) {
			return journal.Decision{Events: []json.RawMessage{Add("ada", 1)}}, nil
		})
	}
	_, err := commit("before")
	must(t, err)

	o.Begin()
	ended := false
	defer func() {
		if !ended {
			o.End()
		}
	}()
	other := journal.New(s, TallyFold(1)) // without a fold in memory
	writes := map[string]func() error{
		"insert":       func() error { return s.Insert(ctx, record("other", 1, "r")) },
		"put a head":   func() error { return s.PutHead(ctx, journal.Head{Stream: "other", Fold: 1, Seq: 1}) },
		"owe":          func() error { return s.Owe(ctx, journal.Obligation{Kind: "tally", Stream: "other", Seq: 1}) },
		"settle":       func() error { return s.Settle(ctx, "known", 1) },
		"commit":       func() error { _, err := commit("during"); return err },
		"commit anew":  func() error { _, err := commit("during as well"); return err },
		"settle known": func() error { return tally.Settle(ctx, "known", 1) },
	}
	reads := map[string]func() error{
		"read":       func() error { _, err := s.Read(ctx, "known", 0, 9); return err },
		"by request": func() error { _, err := s.ByRequest(ctx, "known", "before"); return err },
		"firsts":     func() error { _, err := s.Firsts(ctx, journal.Filter{}, journal.Cursor{}, 9); return err },
		"head":       func() error { _, err := s.Head(ctx, "known", 1); return err },
		"owing":      func() error { _, err := s.Owing(ctx, "tally", journal.Obligation{}, 9); return err },
		"load":       func() error { _, err := tally.Load(ctx, "known"); return err },
		"load anew":  func() error { _, err := other.Load(ctx, "known"); return err },
		"list":       func() error { _, err := tally.List(ctx, journal.Query[Tally]{}); return err },
	}
	fails := func(what string, call func() error) error {
		begin := time.Now()
		err := call()
		took := time.Since(begin)
		var f *fault.Error
		switch {
		case err == nil:
			return fmt.Errorf("%s: goes well", what)
		case !errors.As(err, &f) || f.Kind != fault.Unavailable || f.Reason != journal.ReasonStoreAway || f.RetryAfter <= 0:
			return fmt.Errorf("%s: %w", what, err)
		case took > o.Within:
			return fmt.Errorf("%s: took %s", what, took)
		}
		return nil
	}
	calls := writes
	if o.Reads {
		for what, call := range reads {
			calls[what] = call
		}
	} else {
		for what, call := range reads {
			if err := call(); err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
	}
	watched := make(chan error, 1)
	go func() { // a watch waits for better times
		for rec, err := range other.Watch(ctx, "known", 2) {
			if err == nil && !strings.HasPrefix(rec.RequestID, "during") {
				err = fmt.Errorf("record %d is of %q", rec.Seq, rec.RequestID)
			}
			watched <- err
			return
		}
		watched <- errors.New("the watch ended")
	}()
	failed := make(chan error, len(calls))
	for what, call := range calls { // side by side: each may take its time
		go func() { failed <- fails(what, call) }()
	}
	for range calls {
		if err := await.Value(t, failed, "an operation to fail"); err != nil {
			t.Error(err)
		}
	}
	// Whoever has less time than the store gets their own end.
	brief, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
	defer cancel()
	if err := s.Insert(brief, record("other", 1, "r")); !errors.Is(err, context.DeadlineExceeded) && o.Reads {
		t.Errorf("a caller with little time gets %v", err)
	}
	o.End()
	ended = true

	var done journal.Committed[Tally]
	for begin := time.Now(); ; {
		if done, err = commit("during"); err == nil {
			break
		}
		if time.Since(begin) > await.Limit {
			t.Fatalf("the store is back, but: %v", err)
		}
	}
	again, err := commit("during")
	must(t, err)
	if !again.Replayed || again.Record.Seq != done.Record.Seq {
		t.Errorf("the repetition is record %d, the first was %d", again.Record.Seq, done.Record.Seq)
	}
	if err := await.Value(t, watched, "the watch to go on"); err != nil {
		t.Errorf("watch: %v", err)
	}
	recs, err := s.Read(ctx, "known", 0, 9)
	must(t, err)
	count := 0
	for _, r := range recs {
		if r.RequestID == "during" {
			count++
		}
	}
	if count != 1 {
		t.Errorf("the command is %d times in the journal", count)
	}
}

// Full checks that a store without room for more says so, and goes on when there is.
func Full(t *testing.T, s journal.Store, begin, end func()) {
	t.Helper()
	ctx := context.Background()
	big := record("big", 1, "r")
	big.Note = fmt.Sprintf("%0*d", 64<<10, 0)
	begin()
	err := s.Insert(ctx, big)
	var f *fault.Error
	if !errors.As(err, &f) || f.Kind != fault.Unavailable || f.Reason != journal.ReasonStoreAway {
		t.Errorf("without room: %v", err)
	}
	end()
	must(t, s.Insert(ctx, big))
}
