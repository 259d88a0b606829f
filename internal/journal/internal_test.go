package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/wayfarer-rpg/wayfarer/internal/fault"
)

func TestLRU(t *testing.T) {
	t.Parallel()
	c := newLRU[string, int](2)
	c.put("a", 1, nil)
	c.put("b", 2, nil)
	if v, ok := c.get("a"); !ok || v != 1 {
		t.Fatalf("a: %d, %v", v, ok)
	}
	c.put("c", 3, nil) // b was used longest ago
	if _, ok := c.get("b"); ok || len(c.items) != 2 || c.order.Len() != 2 {
		t.Fatalf("b is kept: %v", c.items)
	}
	keepGreater := func(v int) func(int) bool { return func(old int) bool { return old > v } }
	c.put("a", 0, keepGreater(0))
	c.put("c", 4, keepGreater(4))
	if a, _ := c.get("a"); a != 1 {
		t.Errorf("a went back to %d", a)
	}
	if v, _ := c.get("c"); v != 4 {
		t.Errorf("c stayed at %d", v)
	}
	none := newLRU[string, int](0)
	none.put("a", 1, nil)
	if _, ok := none.get("a"); ok {
		t.Error("a cache of size 0 keeps something")
	}
}

func TestLocksExcludeByStreamAndLeaveNothing(t *testing.T) {
	t.Parallel()
	l := locks{inUse: map[string]*streamLock{}}
	var wg sync.WaitGroup
	held := map[string]*int{"a": new(int), "b": new(int)} // -race finds two holders
	for i := range 40 {
		stream := []string{"a", "b"}[i%2]
		wg.Go(func() {
			_, unlock, _ := l.lock(nil, stream)
			*held[stream]++
			unlock()
		})
	}
	wg.Wait()
	if *held["a"] != 20 || *held["b"] != 20 {
		t.Errorf("held %d and %d times", *held["a"], *held["b"])
	}
	_, unlock, _ := l.lock(nil, "a")
	done := make(chan struct{})
	close(done)
	if lock, _, _ := l.lock(done, "a"); lock != nil {
		t.Error("a held lock was taken")
	}
	unlock()
	if len(l.inUse) != 0 {
		t.Errorf("left: %v", l.inUse)
	}
}

func TestThoseWhoWaitedLearnThatTheStoreIsAway(t *testing.T) {
	t.Parallel()
	l := locks{inUse: map[string]*streamLock{}}
	first, unlock, _ := l.lock(nil, "a")
	waited := make(chan error, 1)
	go func() {
		_, unlock, err := l.lock(nil, "a")
		waited <- err
		unlock()
	}()
	for waiting := false; !waiting; runtime.Gosched() {
		l.mu.Lock()
		waiting = l.inUse["a"].refs == 2
		l.mu.Unlock()
	}
	first.found(Away(nil))
	// Who comes after the failure finds out for themselves.
	l.mu.Lock()
	l.inUse["a"].refs++ // so that the lock is not forgotten
	l.mu.Unlock()
	unlock()
	if err := <-waited; !isAway(err) {
		t.Errorf("who waited is told %v", err)
	}
	if _, unlock, err := l.lock(nil, "a"); err != nil {
		t.Errorf("who came later is told %v", err)
	} else {
		unlock()
	}
}

func TestErrorsAreFaults(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		err    error
		kind   fault.Kind
		reason string
		field  string
		after  time.Duration
	}{
		{errInvalid("request_id", "bad"), fault.InvalidArgument, "INVALID", "request_id", 0},
		{errNotFound("a"), fault.NotFound, "NOT_FOUND", "", 0},
		{errExists("a"), fault.AlreadyExists, "ALREADY_EXISTS", "", 0},
		{errReused("a", "r"), fault.InvalidArgument, "REQUEST_ID_REUSED", "request_id", 0},
		{errEtag("a"), fault.Aborted, "ETAG_MISMATCH", "etag", 0},
		{errBusy("a", time.Second), fault.Aborted, "STREAM_BUSY", "", time.Second},
		{errPageToken(), fault.InvalidArgument, "PAGE_TOKEN", "page_token", 0},
		{errUnreadable("a", 3, io.EOF), fault.Internal, "JOURNAL_UNREADABLE", "", 0},
	} {
		var f *fault.Error
		if !errors.As(fmt.Errorf("commit: %w", tt.err), &f) {
			t.Fatalf("%v is no fault", tt.err)
		}
		field := ""
		if len(f.Fields) > 0 {
			field = f.Fields[0].Field
		}
		if f.Kind != tt.kind || f.Reason != tt.reason || field != tt.field || f.RetryAfter != tt.after {
			t.Errorf("%v became %+v", tt.err, f)
		}
	}
	if !errors.Is(errUnreadable("a", 3, io.EOF), io.EOF) {
		t.Error("the cause is lost")
	}
}

func TestEtagsDifferByStreamAndSeq(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, e := range []string{EtagOf("a", 0), EtagOf("a", 1), EtagOf("b", 1), EtagOf("a", 11), EtagOf("a1", 1)} {
		if seen[e] {
			t.Errorf("%s is given twice", e)
		}
		seen[e] = true
	}
}

func TestRecordIDsSortBySeq(t *testing.T) {
	t.Parallel()
	ids := []string{RecordID("a", 1), RecordID("a", 2), RecordID("a", 10), RecordID("a", 99999), RecordID("a", MaxSeq)}
	for i := 1; i < len(ids); i++ {
		if ids[i-1] >= ids[i] {
			t.Errorf("%s is not before %s", ids[i-1], ids[i])
		}
	}
}

func TestHeadSumCoversEveryField(t *testing.T) {
	t.Parallel()
	h := Head{Stream: "a", Fold: 1, Seq: 2, RequestID: "r", State: json.RawMessage(`{}`)}
	for name, change := range map[string]func(*Head){
		"stream": func(h *Head) { h.Stream = "b" }, "fold": func(h *Head) { h.Fold = 2 }, "seq": func(h *Head) { h.Seq = 3 },
		"request": func(h *Head) { h.RequestID = "s" }, "state": func(h *Head) { h.State = json.RawMessage(`{ }`) },
	} {
		c := h
		change(&c)
		if c.sum() == h.sum() {
			t.Errorf("%s is not covered", name)
		}
	}
}

func TestRequestIDsAreKeptInAHeadAndTold(t *testing.T) {
	t.Parallel()
	f := Fold[int]{Kind: "k", Version: 1, Apply: func(n int, _ json.RawMessage) (int, error) { return n + 1, nil }}
	at := f.zero("a")
	for i, id := range []string{"plumless", "one", "buckeroo"} { // the first and the last have the same hash
		var err error
		if at, err = f.extend(at, Record{Stream: "a", Seq: i + 1, Kind: "k", RequestID: id}); err != nil {
			t.Fatal(err)
		}
	}
	h, err := f.encodeHead(at)
	if err != nil {
		t.Fatal(err)
	}
	back, err := f.decodeHead("a", h)
	if err != nil {
		t.Fatal(err)
	}
	for name, at := range map[string]At[int]{"folded": at, "from its head": back} {
		for id, want := range map[string][]int{"one": {2}, "plumless": {1, 3}, "buckeroo": {1, 3}, "two": nil, "": nil} {
			if got := slices.Collect(at.heard.places(id)); !at.heardAll() || !slices.Equal(got, want) {
				t.Errorf("%s: %q is at %v, want %v", name, id, got, want)
			}
		}
	}
	// What does not cover all records is as good as nothing, also for what is folded on top of it.
	for name, raw := range map[string][]byte{"none": nil, "too few": make([]byte, 8), "too many": make([]byte, 16), "cut": make([]byte, 11)} {
		old := At[int]{Stream: "a", Seq: 3, heard: unpack(raw, 3)}
		next, err := f.extend(old, Record{Stream: "a", Seq: 4, Kind: "k", RequestID: "four"})
		if err != nil || old.heardAll() || next.heardAll() || len(next.heard) > 0 {
			t.Errorf("%s: %v, then %v, %v", name, old.heard, next.heard, err)
		}
	}
	// Two states that go on from one do not meet in its memory.
	left, _ := f.extend(at, Record{Stream: "a", Seq: 4, Kind: "k", RequestID: "left"})
	right, _ := f.extend(at, Record{Stream: "a", Seq: 4, Kind: "k", RequestID: "right"})
	if l, r := left.heard[3], right.heard[3]; l != hashOf("left") || r != hashOf("right") || len(at.heard) != 3 {
		t.Errorf("left %x, right %x, before %v", l, r, at.heard)
	}
}

func TestBackoffGrowsAndEnds(t *testing.T) {
	t.Parallel()
	for try := range 40 {
		if d := backoff(try); d < 0 || d > 128*time.Millisecond {
			t.Fatalf("try %d waits %v", try, d)
		}
	}
}
