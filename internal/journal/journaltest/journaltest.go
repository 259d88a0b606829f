// Package journaltest holds the suite that every store of the journal must pass, on its own and under a journal, and
// what tests of stores, and of services that use a journal, have in common.
package journaltest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wayfarer-rpg/wayfarer/internal/journal"
)

// Place is where the records of one test are. Each call opens it once more, as another process would, and closes at
// the end of the test.
type Place func(t testing.TB) journal.Store

// Options adapt the suite to a store.
type Options struct {
	// Long is the length of the stream that shows that loading does not depend on it. The default is 10,000.
	Long int
	// Commits is how many commands each of 20 writers commits in a race. The default is 10.
	Commits int
}

// Run runs the suite. Fresh makes an empty place for one test.
func Run(t *testing.T, o Options, fresh func(t testing.TB) Place) {
	if o.Long == 0 {
		o.Long = 10_000
	}
	if o.Commits == 0 {
		o.Commits = 10
	}
	for _, tt := range []struct {
		name string
		test func(*testing.T, Options, Place)
	}{
		{"a record comes back as it was inserted", testRoundTrip},
		{"a position and a request id are taken once", testTaken},
		{"records are read in order from any position", testRead},
		{"streams whose names resemble each other are kept apart", testNames},
		{"first records are listed newest first, by filter, from any place", testFirsts},
		{"heads are kept by stream and fold version and replaced", testHeads},
		{"obligations are stored once, walked in order and settled up to a seq", testOwing},
		{"of 20 writers racing for a position one wins", testRace},
		{"20 writers commit everything once and without gaps", testWriters},
		{"a repeated request gets its first answer, also from another process", testReplay},
		{"a request whose answer was lost is not recorded twice", testLostAnswer},
		{"what was recorded, and what never was, is known without a look-up", testHeard},
		{"a request that many processes are given is recorded once", testSameRequest},
		{"a head without request ids leaves them to the store", testUnheard},
		{"a request id is refused for another request", testReused},
		{"a first answer comes before any refusal", testReplayBeforeRefusal},
		{"a refusal from an old fold is decided again on the present one", testOldFold},
		{"an etag must name the present state", testEtag},
		{"dice rolled by hand are decided once", testOnce},
		{"a stream that changes each time is busy", testBusy},
		{"what a command expects of its stream is checked", testModes},
		{"what cannot be folded is not recorded", testUnfoldable},
		{"bad commands are refused by field", testBadCommands},
		{"an unknown event fails at load", testUnknownEvent},
		{"a head that is lost, old, damaged, foreign or ahead costs time only", testBadHeads},
		{"a crash after record 1 loses nothing from lists", testCrashAfterFirst},
		{"the state after any record can be had", testStateAt},
		{"loading does not depend on the length of the stream", testLong},
		{"pages are stable and skip what is unlisted", testPages},
		{"page tokens are checked", testTokens},
		{"watchers see every record once, from any seq, of any process", testWatch},
		{"100 watchers share one follower", testManyWatchers},
		{"a slow watcher delays nobody and misses nothing", testSlowWatcher},
		{"what is owed is found until it is settled", testSweep},
		{"an entry whose record is still to come is kept", testSweepEarly},
		{"many records are added as one by one, and all heads dropped", testBulk},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.test(t, o, fresh(t))
		})
	}
}

var epoch = time.Date(2031, 5, 4, 12, 0, 0, 0, time.UTC)

// record is a record with nothing special.
func record(stream string, seq int, request string) journal.Record {
	return journal.Record{
		Stream: stream, Seq: seq, Campaign: "c", Kind: "tally", RequestID: request, RequestHash: "h-" + request,
		Actor: "ada", Time: epoch.Add(time.Duration(seq) * time.Second), Fold: 1, Events: []json.RawMessage{Add("ada", 1)},
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func equal(t testing.TB, what string, got, want any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Fatalf("%s (-want +got):\n%s", what, d)
	}
}

func testRoundTrip(t *testing.T, _ Options, place Place) {
	ctx, s := t.Context(), place(t)
	full := journal.Record{
		Stream: "campaigns/c1/runs/ü r'1\"", Seq: 1, Campaign: "c1", Kind: "run", Parent: "parties/p", RequestID: "~ !\"'$.\\",
		RequestHash: "abc", Actor: "oidc|ada", Principal: "travel", Trace: "4bf92f3577b34da6a3ce929d0e0e4736", OverrideReason: "the table agreed", Time: epoch.Add(123 * time.Millisecond),
		Fold: 7, Events: []json.RawMessage{
			json.RawMessage(`{"b": 1.0, "a":[1e3, 12345678901234567890],  "$set":{"x.y":null}, "t":"é\u0000\ud83d\ude00"}`),
			json.RawMessage(`"text"`), json.RawMessage(` 7`),
		},
		Dice: []journal.Die{{Purpose: "roll/ada", Sides: 20, Face: 13}, {Sides: 6, Face: 6, Reported: true, Secret: true}},
		Note: "campaign seq 4", Owing: true,
	}
	bare := journal.Record{Stream: full.Stream, Seq: 2, Kind: "run", RequestID: "2", Time: epoch}
	must(t, s.Insert(ctx, full))
	must(t, s.Insert(ctx, bare))
	for name, s := range map[string]journal.Store{"same": s, "reopened": place(t)} {
		got, err := s.Read(ctx, full.Stream, 0, 10)
		must(t, err)
		equal(t, name, got, []journal.Record{full, bare})
		one, err := s.ByRequest(ctx, full.Stream, full.RequestID)
		must(t, err)
		equal(t, name, one, full)
		firsts, err := s.Firsts(ctx, journal.Filter{}, journal.Cursor{}, 10)
		must(t, err)
		equal(t, name, firsts, []journal.Record{full})
		must(t, s.Ping(ctx))
	}
}

func testTaken(t *testing.T, _ Options, place Place) {
	ctx, s := t.Context(), place(t)
	must(t, s.Insert(ctx, record("a", 1, "r1")))
	must(t, s.Insert(ctx, record("b", 1, "r1"))) // the same id in another stream
	if err := s.Insert(ctx, record("a", 1, "r2")); !errors.Is(err, journal.ErrTaken) {
		t.Errorf("taken seq: %v", err)
	}
	if err := s.Insert(ctx, record("a", 2, "r1")); !errors.Is(err, journal.ErrRequestTaken) {
		t.Errorf("taken request: %v", err)
	}
	if err := s.Insert(ctx, record("a", 1, "r1")); !errors.Is(err, journal.ErrTaken) && !errors.Is(err, journal.ErrRequestTaken) {
		t.Errorf("both taken: %v", err)
	}
	if _, err := s.ByRequest(ctx, "a", "r2"); !errors.Is(err, journal.ErrNotFound) {
		t.Errorf("refused record left its request id: %v", err)
	}
	must(t, s.Insert(ctx, record("a", 2, "r2")))
	got, err := s.Read(ctx, "a", 0, 10)
	must(t, err)
	equal(t, "records", got, []journal.Record{record("a", 1, "r1"), record("a", 2, "r2")})
}

func testRead(t *testing.T, _ Options, place Place) {
	ctx, s := t.Context(), place(t)
	for i := range 12 {
		must(t, s.Insert(ctx, record("a", i+1, fmt.Sprint(i+1))))
	}
	for _, tt := range []struct{ after, limit, from, to int }{
		{0, 100, 1, 12}, {0, 12, 1, 12}, {0, 5, 1, 5}, {5, 5, 6, 10}, {11, 5, 12, 12}, {12, 5, 1, 0}, {40, 5, 1, 0}, {3, 1, 4, 4}, {-1, 2, 1, 2}, {0, 0, 1, 0},
	} {
		recs, err := s.Read(ctx, "a", tt.after, tt.limit)
		must(t, err)
		var got, want []int
		for _, r := range recs {
			got = append(got, r.Seq)
		}
		for seq := tt.from; seq <= tt.to; seq++ {
			want = append(want, seq)
		}
		equal(t, fmt.Sprintf("after %d, limit %d", tt.after, tt.limit), got, want)
	}
	recs, err := s.Read(ctx, "nobody", 0, 10)
	if err != nil || len(recs) != 0 {
		t.Errorf("stream without records: %v, %v", recs, err)
	}
}

func testNames(t *testing.T, _ Options, place Place) {
	ctx, s := t.Context(), place(t)
	names := []string{"a", "a/0000000001", "a/0000000001/0000000001", "a-b", "A", "a/", "a%", "a_b"}
	for _, name := range names {
		must(t, s.Insert(ctx, record(name, 1, "1")))
		must(t, s.Insert(ctx, record(name, 2, "2")))
	}
	for _, name := range names {
		got, err := s.Read(ctx, name, 0, 10)
		must(t, err)
		equal(t, name, got, []journal.Record{record(name, 1, "1"), record(name, 2, "2")})
	}
}

func testFirsts(t *testing.T, _ Options, place Place) {
	ctx, s := t.Context(), place(t)
	// Newest first; t2 and t3 are of the same time, then the greater name comes first.
	want := []string{"t4", "t3", "t2", "t1"}
	for i, r := range []struct {
		stream, campaign, parent string
		at                       int
	}{{"t1", "c1", "p1", 1}, {"t3", "c1", "p2", 2}, {"t2", "c2", "p1", 2}, {"t4", "c1", "p1", 3}} {
		first := record(r.stream, 1, "1")
		first.Campaign, first.Parent, first.Time = r.campaign, r.parent, epoch.Add(time.Duration(r.at)*time.Millisecond)
		must(t, s.Insert(ctx, first))
		second := record(r.stream, 2, "2")
		second.Campaign, second.Time = r.campaign, epoch.Add(time.Hour-time.Duration(i)*time.Minute)
		must(t, s.Insert(ctx, second))
	}
	other := record("t5", 1, "1")
	other.Kind = "other"
	must(t, s.Insert(ctx, other))

	list := func(f journal.Filter, c journal.Cursor, limit int) (names []string, next journal.Cursor) {
		t.Helper()
		recs, err := s.Firsts(ctx, f, c, limit)
		must(t, err)
		for _, r := range recs {
			names = append(names, r.Stream)
			next = journal.Cursor{Time: r.Time, Stream: r.Stream}
		}
		return names, next
	}
	for _, tt := range []struct {
		name string
		f    journal.Filter
		want []string
	}{
		{"kind", journal.Filter{Kind: "tally"}, want},
		{"campaign", journal.Filter{Kind: "tally", Campaign: "c1"}, []string{"t4", "t3", "t1"}},
		{"parent", journal.Filter{Kind: "tally", Parent: "p1"}, []string{"t4", "t2", "t1"}},
		{"campaign and parent", journal.Filter{Kind: "tally", Campaign: "c1", Parent: "p1"}, []string{"t4", "t1"}},
		{"nothing", journal.Filter{Kind: "tally", Campaign: "c3"}, nil},
		{"other kind", journal.Filter{Kind: "other"}, []string{"t5"}},
	} {
		got, _ := list(tt.f, journal.Cursor{}, 10)
		equal(t, tt.name, got, tt.want)
	}
	var got []string
	var c journal.Cursor
	for range want {
		var names []string
		names, c = list(journal.Filter{Kind: "tally"}, c, 1)
		got = append(got, names...)
	}
	equal(t, "one at a time", got, want)
	if rest, _ := list(journal.Filter{Kind: "tally"}, c, 1); rest != nil {
		t.Errorf("after the end: %v", rest)
	}
}

func testHeads(t *testing.T, _ Options, place Place) {
	ctx, s := t.Context(), place(t)
	h1 := journal.Head{Stream: "a", Fold: 1, Seq: 16, RequestID: "r", State: json.RawMessage(`{"x": "ü"}`), Sum: "s"}
	h2, h3 := h1, h1
	h2.Fold, h2.Seq = 2, 3
	h3.Stream = "b"
	for _, h := range []journal.Head{h1, h2, h3} {
		if _, err := s.Head(ctx, h.Stream, h.Fold); !errors.Is(err, journal.ErrNotFound) {
			t.Fatalf("head that was never put: %v", err)
		}
		must(t, s.PutHead(ctx, h))
	}
	h1.Seq, h1.State = 32, json.RawMessage(`not JSON`)
	must(t, s.PutHead(ctx, h1))
	for _, h := range []journal.Head{h1, h2, h3} {
		got, err := place(t).Head(ctx, h.Stream, h.Fold)
		must(t, err)
		equal(t, "head", got, h)
	}
}

func testOwing(t *testing.T, _ Options, place Place) {
	ctx, s := t.Context(), place(t)
	all := []journal.Obligation{{Kind: "run", Stream: "a", Seq: 2}, {Kind: "run", Stream: "a", Seq: 10}, {Kind: "run", Stream: "b", Seq: 1}}
	for _, o := range append(slices.Clone(all), all[1], journal.Obligation{Kind: "delve", Stream: "c", Seq: 1}) {
		must(t, s.Owe(ctx, o))
	}
	check := func(want ...journal.Obligation) {
		t.Helper()
		var got []journal.Obligation
		for after := (journal.Obligation{}); ; {
			page, err := s.Owing(ctx, "run", after, 1)
			must(t, err)
			if len(page) == 0 {
				break
			}
			got = append(got, page...)
			after = page[0]
		}
		equal(t, "owing", got, want)
	}
	check(all...)
	must(t, s.Settle(ctx, "a", 9))
	must(t, s.Settle(ctx, "a", 9))
	check(all[1:]...)
	must(t, s.Settle(ctx, "a", 10))
	must(t, s.Settle(ctx, "nobody", 10))
	check(all[2:]...)
}

func testRace(t *testing.T, _ Options, place Place) {
	ctx := t.Context()
	stores := []journal.Store{place(t), place(t), place(t)}
	for seq := 1; seq <= 5; seq++ {
		errs := make([]error, 20)
		together(20, func(i int) {
			errs[i] = stores[i%len(stores)].Insert(ctx, record("a", seq, fmt.Sprintf("%d-%d", seq, i)))
		})
		winner := -1
		for i, err := range errs {
			switch {
			case err == nil && winner < 0:
				winner = i
			case err == nil:
				t.Fatalf("seq %d: %d and %d both won", seq, winner, i)
			case !errors.Is(err, journal.ErrTaken):
				t.Fatalf("seq %d: %d failed: %v", seq, i, err)
			}
		}
		if winner < 0 {
			t.Fatalf("seq %d: nobody won", seq)
		}
		got, err := stores[1].Read(ctx, "a", seq-1, 2)
		must(t, err)
		equal(t, "what was stored", got, []journal.Record{record("a", seq, fmt.Sprintf("%d-%d", seq, winner))})
	}
}

// together calls f with 0 to n-1 at once and waits for all.
func together(n int, f func(i int)) {
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		wg.Go(func() { <-start; f(i) })
	}
	close(start)
	wg.Wait()
}

// The journal's part.

type jour = journal.Journal[Tally]

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// open opens a journal with a clock that moves on by a second with each commit and no polls unless ticked.
func open(t testing.TB, s journal.Store, opts ...journal.Option) *jour {
	return openVersion(t, s, 1, opts...)
}

func openVersion(t testing.TB, s journal.Store, version int, opts ...journal.Option) *jour {
	var mu sync.Mutex
	now := epoch
	j := journal.New(s, TallyFold(version), append([]journal.Option{
		journal.WithLogger(quiet()),
		journal.WithClock(func() time.Time {
			mu.Lock()
			defer mu.Unlock()
			now = now.Add(time.Second)
			return now
		}),
		journal.WithTicker(func(time.Duration) (<-chan time.Time, func()) { return nil, func() {} }),
	}, opts...)...)
	t.Cleanup(func() { _ = j.Close() })
	return j
}

func command(stream, request string) journal.Command {
	return journal.Command{Stream: stream, Mode: journal.Either, Campaign: "c", RequestID: request, RequestHash: "h-" + request, Actor: "ada"}
}

type decide = func(context.Context, journal.At[Tally]) (journal.Decision, error)

// events decides for the given events whatever the state.
func events(evs ...json.RawMessage) decide {
	return func(context.Context, journal.At[Tally]) (journal.Decision, error) {
		return journal.Decision{Events: evs}, nil
	}
}

// add commits n additions of 1, with request ids that follow from prefix.
func add(t testing.TB, j *jour, stream, prefix string, n int) {
	t.Helper()
	for i := range n {
		_, err := j.Commit(t.Context(), command(stream, fmt.Sprintf("%s-%d", prefix, i)), events(Add(prefix, 1)))
		must(t, err)
	}
}

// refused checks that err has the kind and the reason.
func refused(t testing.TB, err error, kind journal.Kind, reason string) {
	t.Helper()
	var e *journal.Error
	if !errors.As(err, &e) || e.Kind != kind || e.Reason != reason {
		t.Fatalf("got %v, want %s %s", err, kind, reason)
	}
}

func testWriters(t *testing.T, o Options, place Place) {
	ctx := t.Context()
	const writers = 20
	js := make([]*jour, writers)
	stores := []journal.Store{place(t), place(t)}
	for i := range js { // two writers share a journal, ten journals share two stores
		if i%2 == 0 {
			js[i] = open(t, stores[i/2%2])
		} else {
			js[i] = js[i-1]
		}
	}
	var mu sync.Mutex
	seqs := map[int]string{}
	together(writers, func(i int) {
		by := fmt.Sprintf("w%d", i)
		for n := range o.Commits {
			cmd := command("a", fmt.Sprintf("%s-%d", by, n))
			for {
				c, err := js[i].Commit(ctx, cmd, func(_ context.Context, at journal.At[Tally]) (journal.Decision, error) {
					if at.State.By[by] != n {
						return journal.Decision{}, fmt.Errorf("%s has %d in the state, has committed %d", by, at.State.By[by], n)
					}
					return journal.Decision{Events: []json.RawMessage{Add(by, 1)}}, nil
				})
				var e *journal.Error
				if errors.As(err, &e) && e.Reason == journal.ReasonStreamBusy {
					if e.RetryAfter <= 0 {
						t.Error("busy without a time to retry after")
					}
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				if seqs[c.Record.Seq] != "" {
					t.Errorf("seq %d went to %s and %s", c.Record.Seq, seqs[c.Record.Seq], cmd.RequestID)
				}
				seqs[c.Record.Seq] = cmd.RequestID
				mu.Unlock()
				break
			}
		}
	})
	total := writers * o.Commits
	at, err := open(t, place(t)).Load(ctx, "a")
	must(t, err)
	if at.Seq != total || at.State.Sum != total || len(seqs) != total {
		t.Fatalf("%d records, sum %d, %d answers, want %d", at.Seq, at.State.Sum, len(seqs), total)
	}
	recs, err := stores[0].Read(ctx, "a", 0, total+1)
	must(t, err)
	for i, r := range recs {
		if r.Seq != i+1 || seqs[r.Seq] != r.RequestID {
			t.Fatalf("record %d is %d of %s, the answer went to %s", i+1, r.Seq, r.RequestID, seqs[r.Seq])
		}
	}
}

func testReplay(t *testing.T, _ Options, place Place) {
	ctx := t.Context()
	j := open(t, place(t))
	add(t, j, "a", "early", 2)
	cmd := command("a", "mine")
	first, err := j.Commit(ctx, cmd, func(_ context.Context, at journal.At[Tally]) (journal.Decision, error) {
		if at.Next() != 3 {
			t.Errorf("next is %d", at.Next())
		}
		return journal.Decision{Events: []json.RawMessage{Add("mine", 5)}, Dice: []journal.Die{{Purpose: "x", Sides: 6, Face: 5}}, Note: "n"}, nil
	})
	must(t, err)
	if first.Replayed || first.Record.Seq != 3 || first.State.State.Sum != 7 {
		t.Fatalf("first answer: %+v", first)
	}
	add(t, j, "a", "late", 40) // over a head
	never := func(context.Context, journal.At[Tally]) (journal.Decision, error) {
		return journal.Decision{Events: []json.RawMessage{Add("twice", 1)}}, nil
	}
	for name, j := range map[string]*jour{
		"same journal": j, "without memory": open(t, place(t), journal.WithCache(0, 0)), "another process": open(t, place(t)),
	} {
		got, err := j.Commit(ctx, cmd, never)
		must(t, err)
		if !got.Replayed {
			t.Fatalf("%s: not replayed", name)
		}
		equal(t, name, got.Record, first.Record)
		equal(t, name, got.State.State, first.State.State)
		equal(t, name, got.State.Meta, first.State.Meta)
		equal(t, name, got.State.Etag(), first.State.Etag())
		again, ok, err := j.Answer(ctx, cmd)
		if err != nil || !ok {
			t.Fatalf("%s: answer: %v, %v", name, ok, err)
		}
		equal(t, name, again.Record, first.Record)
	}
	if _, ok, err := j.Answer(ctx, command("a", "unheard")); ok || err != nil {
		t.Fatalf("answer to what was never asked: %v, %v", ok, err)
	}
	at, err := j.Load(ctx, "a")
	must(t, err)
	if at.State.Sum != 47 || at.Seq != 43 {
		t.Fatalf("recorded twice: %+v", at)
	}
}

func testLostAnswer(t *testing.T, _ Options, place Place) {
	ctx := t.Context()
	lost := errors.New("connection lost")
	fail := true
	spy := &Spy{Store: place(t), After: func(op Op) error {
		if op == Insert && fail {
			return lost
		}
		return nil
	}}
	j := open(t, spy)
	if _, err := j.Commit(ctx, command("a", "1"), events(Add("x", 1))); !errors.Is(err, lost) {
		t.Fatalf("got %v", err)
	}
	fail = false
	c, err := j.Commit(ctx, command("a", "1"), events(Add("x", 1)))
	must(t, err)
	if !c.Replayed || c.Record.Seq != 1 || c.State.State.Sum != 1 {
		t.Fatalf("got %+v", c)
	}
}

func testHeard(t *testing.T, _ Options, place Place) {
	ctx := t.Context()
	behind := open(t, place(t))
	add(t, behind, "a", "early", 1)
	// Two request ids with the same hash.
	twins := []string{"plumless", "buckeroo"}
	writer := open(t, place(t))
	add(t, writer, "a", "x", 20) // over a head
	_, err := writer.Commit(ctx, command("a", twins[0]), events(Add("twin", 1)))
	must(t, err)
	no := errors.New("no")
	refuse := func(context.Context, journal.At[Tally]) (journal.Decision, error) { return journal.Decision{}, no }
	spies := map[string]*Spy{"cold": {Store: place(t)}, "cold, without memory": {Store: place(t)}, "warm and behind": {Store: place(t)}}
	for name, spy := range spies {
		opts := []journal.Option(nil)
		if name == "cold, without memory" {
			opts = append(opts, journal.WithCache(0, 0))
		}
		j := open(t, spy, opts...)
		if name == "warm and behind" {
			if _, err := j.StateAt(ctx, "a", 3); err != nil {
				t.Fatal(err)
			}
			at, err := j.Load(ctx, "a")
			must(t, err)
			if at.Seq < 22 {
				t.Fatalf("loaded %+v", at)
			}
			add(t, writer, "a", "later", 2)
		}
		for _, never := range []string{"never", twins[1]} {
			if c, ok, err := j.Answer(ctx, command("a", never)); ok || err != nil {
				t.Fatalf("%s: an answer to %s, which was never asked: %+v, %v", name, never, c, err)
			}
			if _, err := j.Commit(ctx, command("a", never), refuse); !errors.Is(err, no) {
				t.Fatalf("%s: %s: %v", name, never, err)
			}
		}
		for request, seq := range map[string]int{"early-0": 1, "x-0": 2, "x-19": 21, twins[0]: 22} {
			c, ok, err := j.Answer(ctx, command("a", request))
			if err != nil || !ok || c.Record.Seq != seq || c.State.Seq != seq || c.State.State.Sum != seq {
				t.Fatalf("%s: answer to %s: %+v, %v, %v", name, request, c, ok, err)
			}
			if c, err = j.Commit(ctx, command("a", request), refuse); err != nil || !c.Replayed || c.Record.Seq != seq {
				t.Fatalf("%s: %s again: %+v, %v", name, request, c, err)
			}
		}
		if n := spy.Lookups.Load(); n != 0 {
			t.Errorf("%s: the store was asked for a request %d times", name, n)
		}
	}
	// Whose fold is old decides for nothing and learns it by the place that is taken, or before it refuses.
	if _, ok, err := behind.Answer(ctx, command("a", "x-7")); !ok || err != nil {
		t.Fatalf("behind: %v, %v", ok, err)
	}
	old := open(t, place(t))
	_, err = old.Peek(ctx, "b")
	must(t, err)
	add(t, old, "b", "x", 1)
	add(t, writer, "b", "y", 3)
	for request, decide := range map[string]decide{"y-0": events(Add("twice", 1)), "y-2": refuse} {
		c, err := old.Commit(ctx, command("b", request), decide)
		if err != nil || !c.Replayed {
			t.Fatalf("behind: %s: %+v, %v", request, c, err)
		}
	}
	c, err := writer.Commit(ctx, command("a", twins[1]), events(Add("twin", 1)))
	must(t, err)
	if c.Replayed || c.Record.RequestID != twins[1] {
		t.Fatalf("the other twin: %+v", c)
	}
	for i, j := range []*jour{writer, open(t, place(t))} {
		for _, request := range twins {
			if c, ok, err := j.Answer(ctx, command("a", request)); err != nil || !ok || c.Record.RequestID != request {
				t.Fatalf("%d: %s: %+v, %v, %v", i, request, c, ok, err)
			}
		}
	}
}

func testSameRequest(t *testing.T, _ Options, place Place) {
	ctx := t.Context()
	const processes, requests = 8, 4
	stores := []journal.Store{place(t), place(t)}
	js := make([]*jour, processes)
	for i := range js {
		js[i] = open(t, stores[i%2], journal.WithTries(1000))
	}
	for n := range requests {
		seqs := make([]int, processes)
		together(processes, func(i int) {
			c, err := js[i].Commit(ctx, command("a", fmt.Sprint(n)), events(Add(fmt.Sprint(i), 1)))
			if err != nil {
				t.Error(err)
			}
			seqs[i] = c.Record.Seq
		})
		for _, seq := range seqs {
			if seq != n+1 {
				t.Fatalf("request %d became the records %v", n, seqs)
			}
		}
	}
	at, err := open(t, place(t)).Load(ctx, "a")
	must(t, err)
	if at.Seq != requests || at.State.Sum != requests {
		t.Fatalf("got %+v", at)
	}
}

func testUnheard(t *testing.T, _ Options, place Place) {
	ctx, s := t.Context(), place(t)
	writer := open(t, s, journal.WithHeadEvery(4))
	add(t, writer, "a", "x", 10)
	h, err := s.Head(ctx, "a", 1)
	must(t, err)
	must(t, s.PutHead(ctx, h.Unheard()))
	spy := &Spy{Store: place(t)}
	j := open(t, spy, journal.WithHeadEvery(4))
	at, err := j.Load(ctx, "a")
	must(t, err)
	if at.Seq != 10 || at.State.Sum != 10 || spy.Records.Load() != 3 {
		t.Fatalf("the head was not used: %+v, %d records read", at, spy.Records.Load())
	}
	for _, request := range []string{"x-0", "x-7", "x-8", "x-9"} {
		c, err := j.Commit(ctx, command("a", request), events(Add("twice", 1)))
		if err != nil || !c.Replayed || c.Record.RequestID != request {
			t.Fatalf("%s: %+v, %v", request, c, err)
		}
	}
	if _, ok, err := j.Answer(ctx, command("a", "never")); ok || err != nil {
		t.Fatalf("never asked: %v, %v", ok, err)
	}
	if spy.Lookups.Load() == 0 {
		t.Error("nobody asked the store")
	}
	add(t, j, "a", "y", 6)
	again := open(t, place(t))
	if c, ok, err := again.Answer(ctx, command("a", "x-3")); err != nil || !ok || c.Record.Seq != 4 {
		t.Fatalf("after the next head: %+v, %v, %v", c, ok, err)
	}
}

func testReused(t *testing.T, _ Options, place Place) {
	ctx := t.Context()
	j := open(t, place(t))
	add(t, j, "a", "x", 1)
	cmd := command("a", "x-0")
	cmd.RequestHash = "other"
	for _, j := range []*jour{j, open(t, place(t))} {
		_, err := j.Commit(ctx, cmd, events(Add("x", 1)))
		refused(t, err, journal.InvalidArgument, journal.ReasonRequestIDReused)
		_, ok, err := j.Answer(ctx, cmd)
		refused(t, err, journal.InvalidArgument, journal.ReasonRequestIDReused)
		if ok {
			t.Fatal("answered")
		}
	}
	if c, err := j.Commit(ctx, command("b", "x-0"), events(Add("x", 1))); err != nil || c.Replayed {
		t.Fatalf("the same id in another stream: %+v, %v", c, err)
	}
}

func testReplayBeforeRefusal(t *testing.T, _ Options, place Place) {
	ctx := t.Context()
	j := open(t, place(t))
	at, err := j.Peek(ctx, "a")
	must(t, err)
	create := command("a", "create")
	create.Mode, create.Etag = journal.Create, at.Etag()
	_, err = j.Commit(ctx, create, events(Add("x", 1)))
	must(t, err)
	end := command("a", "end")
	end.Etag = journal.EtagOf("a", 1)
	ended := errors.New("ended already")
	finish := func(_ context.Context, at journal.At[Tally]) (journal.Decision, error) {
		if at.State.Done {
			return journal.Decision{}, ended
		}
		return journal.Decision{Events: []json.RawMessage{End()}}, nil
	}
	_, err = j.Commit(ctx, end, finish)
	must(t, err)
	for _, j := range []*jour{j, open(t, place(t)), open(t, place(t), journal.WithCache(0, 0))} {
		c, err := j.Commit(ctx, end, finish)
		if err != nil || !c.Replayed || c.Record.Seq != 2 {
			t.Fatalf("stale etag: %+v, %v", c, err)
		}
		c, err = j.Commit(ctx, create, events(Add("x", 1)))
		if err != nil || !c.Replayed || c.Record.Seq != 1 {
			t.Fatalf("exists: %+v, %v", c, err)
		}
		if _, err := j.Commit(ctx, command("a", "new"), finish); !errors.Is(err, ended) {
			t.Fatalf("a new request: %v", err)
		}
	}
}

func testOldFold(t *testing.T, _ Options, place Place) {
	ctx := t.Context()
	a, b := open(t, place(t)), open(t, place(t))
	add(t, a, "a", "a", 1)
	add(t, b, "a", "b", 3) // a's fold is old now
	tooFew := errors.New("too few")
	_, err := a.Commit(ctx, command("a", "x"), func(_ context.Context, at journal.At[Tally]) (journal.Decision, error) {
		if at.State.Sum < 4 {
			return journal.Decision{}, tooFew
		}
		return journal.Decision{Events: []json.RawMessage{Add("x", 10)}}, nil
	})
	must(t, err)
	add(t, b, "a", "c", 1)
	at, err := b.Load(ctx, "a")
	must(t, err)
	cmd := command("a", "y") // with an etag that a has not seen yet
	cmd.Etag, cmd.Once = at.Etag(), true
	c, err := a.Commit(ctx, cmd, events(Add("y", 1)))
	must(t, err)
	if c.Record.Seq != 7 || c.State.State.Sum != 16 {
		t.Fatalf("got %+v", c)
	}
}

func testEtag(t *testing.T, _ Options, place Place) {
	ctx := t.Context()
	j := open(t, place(t))
	add(t, j, "a", "x", 1)
	at, err := j.Load(ctx, "a")
	must(t, err)
	add(t, j, "b", "x", 1)
	add(t, j, "a", "y", 1)
	for name, etag := range map[string]string{"old": at.Etag(), "foreign": journal.EtagOf("b", 2), "ahead": journal.EtagOf("a", 3), "nonsense": "x"} {
		cmd := command("a", "e-"+name)
		cmd.Etag = etag
		_, err := j.Commit(ctx, cmd, events(Add("z", 1)))
		refused(t, err, journal.Aborted, journal.ReasonEtagMismatch)
	}
	cmd := command("a", "good")
	cmd.Etag = journal.EtagOf("a", 2)
	_, err = j.Commit(ctx, cmd, events(Add("z", 1)))
	must(t, err)
}

func testOnce(t *testing.T, _ Options, place Place) {
	ctx := t.Context()
	a, b := open(t, place(t)), open(t, place(t))
	add(t, a, "a", "x", 1)
	cmd := command("a", "hand")
	cmd.Once = true
	_, err := a.Commit(ctx, cmd, events(Add("x", 1)))
	refused(t, err, journal.InvalidArgument, journal.ReasonEtagRequired)
	cmd.Etag = journal.EtagOf("a", 1)
	calls := 0
	race := func(context.Context, journal.At[Tally]) (journal.Decision, error) {
		calls++
		add(t, b, "a", fmt.Sprintf("b%d", calls), 1) // b is faster
		return journal.Decision{Events: []json.RawMessage{Add("x", 1)}}, nil
	}
	_, err = a.Commit(ctx, cmd, race)
	refused(t, err, journal.Aborted, journal.ReasonEtagMismatch)
	create := command("new", "hand")
	create.Once, create.Mode = true, journal.Create
	_, err = a.Commit(ctx, create, func(ctx context.Context, _ journal.At[Tally]) (journal.Decision, error) {
		calls++
		add(t, b, "new", "b", 1)
		return journal.Decision{Events: []json.RawMessage{Add("x", 1)}}, nil
	})
	refused(t, err, journal.Aborted, journal.ReasonEtagMismatch)
	if calls != 2 {
		t.Fatalf("decided %d times", calls)
	}
	// Without Once and etag the same race is decided again.
	calls = 0
	c, err := a.Commit(ctx, command("a", "machine"), func(_ context.Context, at journal.At[Tally]) (journal.Decision, error) {
		if calls++; calls == 1 {
			add(t, b, "a", "faster", 1)
		}
		return journal.Decision{Events: []json.RawMessage{Add("x", at.Next())}}, nil
	})
	must(t, err)
	if calls != 2 || c.Record.Seq != 4 || c.State.State.By["x"] != 5 {
		t.Fatalf("%d calls, %+v", calls, c)
	}
}

func testBusy(t *testing.T, _ Options, place Place) {
	ctx := t.Context()
	a, b := open(t, place(t), journal.WithTries(3)), open(t, place(t))
	calls := 0
	_, err := a.Commit(ctx, command("a", "slow"), func(context.Context, journal.At[Tally]) (journal.Decision, error) {
		calls++
		add(t, b, "a", fmt.Sprintf("b%d", calls), 1)
		return journal.Decision{Events: []json.RawMessage{Add("x", 1)}}, nil
	})
	refused(t, err, journal.Aborted, journal.ReasonStreamBusy)
	if calls != 3 {
		t.Fatalf("decided %d times", calls)
	}
}

func testModes(t *testing.T, _ Options, place Place) {
	ctx := t.Context()
	j := open(t, place(t))
	play := command("a", "1")
	play.Mode = journal.MustExist
	_, err := j.Commit(ctx, play, events(Add("x", 1)))
	refused(t, err, journal.NotFound, journal.ReasonNotFound)
	_, err = j.Load(ctx, "a")
	refused(t, err, journal.NotFound, journal.ReasonNotFound)
	at, err := j.Peek(ctx, "a")
	must(t, err)
	if at.Exists() || at.State.By == nil {
		t.Fatalf("got %+v", at)
	}
	create := command("a", "2")
	create.Mode, create.Parent, create.OverrideReason = journal.Create, "p", "asked"
	c, err := j.Commit(ctx, create, events(Add("x", 1)))
	must(t, err)
	if c.Record.Parent != "p" || c.Record.Campaign != "c" || c.Record.OverrideReason != "asked" || !c.State.Created.Equal(c.Record.Time) {
		t.Fatalf("got %+v", c)
	}
	create.RequestID = "3"
	_, err = j.Commit(ctx, create, events(Add("x", 1)))
	refused(t, err, journal.AlreadyExists, journal.ReasonAlreadyExists)
	play.RequestID, play.Campaign = "4", "elsewhere"
	_, err = j.Commit(ctx, play, events(Add("x", 1)))
	refused(t, err, journal.NotFound, journal.ReasonNotFound)
	play.Campaign = ""
	c, err = j.Commit(ctx, play, events())
	must(t, err)
	if c.Record.Seq != 2 || c.Record.Campaign != "c" || c.Record.Parent != "" || c.State.Parent != "p" {
		t.Fatalf("got %+v", c)
	}
	at, err = open(t, place(t)).Load(ctx, "a")
	must(t, err)
	equal(t, "loaded", at.Meta, journal.Meta{Campaign: "c", Parent: "p", Created: at.Created, Updated: c.Record.Time})
}

func testUnfoldable(t *testing.T, _ Options, place Place) {
	ctx := t.Context()
	j := open(t, place(t))
	add(t, j, "a", "x", 1)
	for name, ev := range map[string]string{"unknown": `{"kind":"dance"}`, "no JSON": `{`, "no UTF-8": "\"\xff\"", "empty": ``} {
		if _, err := j.Commit(ctx, command("a", name), events(Add("x", 1), json.RawMessage(ev))); err == nil {
			t.Errorf("%s: recorded", name)
		}
	}
	at, err := j.Load(ctx, "a")
	must(t, err)
	if at.Seq != 1 || at.State.Sum != 1 {
		t.Fatalf("got %+v", at)
	}
}

func testBadCommands(t *testing.T, _ Options, place Place) {
	j := open(t, place(t))
	for name, tt := range map[string]struct {
		field  string
		change func(*journal.Command)
	}{
		"no stream":                      {"name", func(c *journal.Command) { c.Stream = "" }},
		"a long stream":                  {"name", func(c *journal.Command) { c.Stream = strings.Repeat("x", journal.MaxStream+1) }},
		"a stream with NUL":              {"name", func(c *journal.Command) { c.Stream = "a\x00b" }},
		"a broken stream":                {"name", func(c *journal.Command) { c.Stream = "a\xff" }},
		"no request id":                  {"request_id", func(c *journal.Command) { c.RequestID = "" }},
		"a long request id":              {"request_id", func(c *journal.Command) { c.RequestID = strings.Repeat("x", journal.MaxRequestID+1) }},
		"a request id with é":            {"request_id", func(c *journal.Command) { c.RequestID = "é" }},
		"a request id with a line break": {"request_id", func(c *journal.Command) { c.RequestID = "a\n" }},
	} {
		cmd := command("a", "1")
		tt.change(&cmd)
		_, err := j.Commit(t.Context(), cmd, events(Add("x", 1)))
		var e *journal.Error
		if !errors.As(err, &e) || e.Kind != journal.InvalidArgument || e.Field != tt.field {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func testUnknownEvent(t *testing.T, _ Options, place Place) {
	ctx, s := t.Context(), place(t)
	r := record("a", 1, "1")
	r.Events = append(r.Events, json.RawMessage(`{"kind":"dance"}`))
	must(t, s.Insert(ctx, r))
	other := record("b", 1, "1")
	other.Kind = "other"
	must(t, s.Insert(ctx, other))
	j := open(t, s)
	for stream, text := range map[string]string{"a": "dance", "b": "other"} {
		_, err := j.Load(ctx, stream)
		refused(t, err, journal.Internal, journal.ReasonUnreadable)
		if !strings.Contains(err.Error(), text) || !strings.Contains(err.Error(), "record 1 of "+stream) {
			t.Errorf("unclear: %v", err)
		}
		_, err = j.Commit(ctx, command(stream, "2"), events(Add("x", 1)))
		refused(t, err, journal.Internal, journal.ReasonUnreadable)
	}
}

func testBadHeads(t *testing.T, _ Options, place Place) {
	ctx, s := t.Context(), place(t)
	j := open(t, s, journal.WithHeadEvery(4))
	add(t, j, "a", "x", 10)
	add(t, j, "b", "y", 12)
	good, err := s.Head(ctx, "a", 1)
	must(t, err)
	if good.Seq != 8 {
		t.Fatalf("head is at %d", good.Seq)
	}
	foreign, err := s.Head(ctx, "b", 1)
	must(t, err)
	foreign.Stream = "a"
	ahead := place(t)
	must(t, ahead.Insert(ctx, record("c", 1, "1"))) // a head of a longer stream, as after a restore of older records
	for name, change := range map[string]func(h *journal.Head){
		"good": func(*journal.Head) {}, "other state": func(h *journal.Head) { h.State = json.RawMessage(`{"meta":{},"state":{"sum":99}}`) },
		"no JSON": func(h *journal.Head) { h.State = json.RawMessage(`{`) }, "empty": func(h *journal.Head) { h.State = nil },
		"other seq": func(h *journal.Head) { h.Seq = 7 }, "seq 0": func(h *journal.Head) { h.Seq = 0 }, "negative seq": func(h *journal.Head) { h.Seq = -3 },
		"beyond the end": func(h *journal.Head) { h.Seq = 4000 }, "other sum": func(h *journal.Head) { h.Sum = "" }, "foreign": func(h *journal.Head) { *h = foreign },
	} {
		h := good
		change(&h)
		must(t, s.PutHead(ctx, h))
		j := open(t, place(t), journal.WithHeadEvery(4))
		at, err := j.Load(ctx, "a")
		must(t, err)
		if at.Seq != 10 || at.State.Sum != 10 || at.Campaign != "c" {
			t.Errorf("%s: %+v", name, at)
		}
		c, err := j.Commit(ctx, command("a", "x-9"), events(Add("x", 1)))
		if err != nil || !c.Replayed || c.State.State.Sum != 10 {
			t.Errorf("%s: %+v, %v", name, c, err)
		}
		mended, err := s.Head(ctx, "a", 1)
		must(t, err)
		if name != "good" && mended.Seq != 10 {
			t.Errorf("%s: head was not mended: %+v", name, mended)
		}
	}
	// A head of the same form whose records are gone.
	must(t, s.PutHead(ctx, good))
	cut := open(t, &cutStore{Store: place(t), stream: "a", last: 5})
	at, err := cut.Load(ctx, "a")
	must(t, err)
	if at.Seq != 5 || at.State.Sum != 5 {
		t.Errorf("head ahead of the journal: %+v", at)
	}
	// Another fold version neither reads nor replaces it.
	must(t, s.PutHead(ctx, good))
	at, err = openVersion(t, place(t), 2, journal.WithHeadEvery(4)).Load(ctx, "a")
	must(t, err)
	if at.State.Sum != 10 {
		t.Errorf("other version: %+v", at)
	}
	still, err := s.Head(ctx, "a", 1)
	must(t, err)
	equal(t, "head of version 1", still, good)
	if h2, err := s.Head(ctx, "a", 2); err != nil || h2.Seq != 10 {
		t.Errorf("head of version 2: %+v, %v", h2, err)
	}
}

// cutStore lacks the records of a stream after last.
type cutStore struct {
	journal.Store
	stream string
	last   int
}

func (s *cutStore) Read(ctx context.Context, stream string, after, limit int) ([]journal.Record, error) {
	recs, err := s.Store.Read(ctx, stream, after, limit)
	if stream == s.stream {
		recs = slices.DeleteFunc(recs, func(r journal.Record) bool { return r.Seq > s.last })
	}
	return recs, err
}

func testCrashAfterFirst(t *testing.T, _ Options, place Place) {
	ctx := t.Context()
	dead := errors.New("dead")
	inserted := false
	spy := &Spy{Store: place(t), Before: func(Op) error {
		if inserted {
			return dead
		}
		return nil
	}, After: func(op Op) error {
		inserted = op == Insert
		return nil
	}}
	cmd := command("a", "1")
	cmd.Parent = "p"
	_, err := open(t, spy, journal.WithHeadEvery(1)).Commit(ctx, cmd, func(context.Context, journal.At[Tally]) (journal.Decision, error) {
		return journal.Decision{Events: []json.RawMessage{Add("x", 1)}, Owing: true}, nil
	})
	must(t, err) // what follows the insert does not matter
	j := open(t, place(t))
	for _, q := range []journal.Query[Tally]{{}, {Campaign: "c"}, {Parent: "p"}, {Campaign: "c", Parent: "p"}} {
		page, err := j.List(ctx, q)
		must(t, err)
		if len(page.Rows) != 1 || page.Rows[0].Stream != "a" || page.Rows[0].State.Sum != 1 || page.NextToken != "" {
			t.Fatalf("list: %+v", page)
		}
	}
	found := false
	must(t, j.Sweep(ctx, func(_ context.Context, stream string) (bool, error) { found = stream == "a"; return false, nil }))
	if !found {
		t.Fatal("the obligation is lost")
	}
}

func testStateAt(t *testing.T, _ Options, place Place) {
	ctx := t.Context()
	writer := open(t, place(t), journal.WithHeadEvery(4))
	add(t, writer, "a", "x", 10)
	for name, j := range map[string]*jour{"writer": writer, "reader": open(t, place(t)), "no memory": open(t, place(t), journal.WithCache(0, 0))} {
		for seq := 1; seq <= 10; seq++ {
			at, err := j.StateAt(ctx, "a", seq)
			must(t, err)
			if at.Seq != seq || at.State.Sum != seq {
				t.Errorf("%s: state at %d: %+v", name, seq, at)
			}
		}
		for _, seq := range []int{-1, 0, 11} {
			_, err := j.StateAt(ctx, "a", seq)
			refused(t, err, journal.NotFound, journal.ReasonNotFound)
		}
		at, err := j.Load(ctx, "a") // StateAt does not spoil what is remembered
		must(t, err)
		if at.Seq != 10 || at.State.Sum != 10 {
			t.Errorf("%s: %+v", name, at)
		}
	}
}

func testLong(t *testing.T, o Options, place Place) {
	ctx := t.Context()
	spy := &Spy{Store: place(t)}
	writer := open(t, spy)
	type cost struct{ heads, reads, records int64 }
	costs := func(do func()) cost {
		spy.Reset()
		do()
		return cost{spy.HeadReads.Load(), spy.Reads.Load(), spy.Records.Load()}
	}
	load := func() {
		at, err := open(t, spy).Load(ctx, "a") // without memory, as after a start
		must(t, err)
		if at.State.Sum != at.Seq {
			t.Fatalf("got %+v", at)
		}
	}
	add(t, writer, "a", "x", 26)
	short := costs(load)
	add(t, writer, "a", "y", o.Long-o.Long%16+10-26)
	long := costs(load)
	if long != short {
		t.Errorf("loading cost %+v at 26 records and %+v at %d", short, long, o.Long)
	}
	if long.records > 16 {
		t.Errorf("loading read %d records", long.records)
	}
	if c := costs(func() { _, err := writer.Load(ctx, "a"); must(t, err) }); c != (cost{0, 1, 0}) {
		t.Errorf("loading what is remembered cost %+v", c)
	}
	if c := costs(func() { add(t, writer, "a", "z", 1) }); c != (cost{}) {
		t.Errorf("a commit on what is remembered cost %+v", c)
	}
}

func testPages(t *testing.T, _ Options, place Place) {
	ctx := t.Context()
	j := open(t, place(t))
	var want []string
	for i := range 25 {
		name := fmt.Sprintf("t%02d", i)
		add(t, j, name, "x", 1)
		if i%5 == 2 {
			_, err := j.Commit(ctx, command(name, "hide"), events(Hide()))
			must(t, err)
		} else {
			want = append([]string{name}, want...)
		}
	}
	for _, size := range []int{1, 3, 7, 20, 21, 0} {
		var got []string
		q := journal.Query[Tally]{Campaign: "c", PageSize: size}
		for n := 0; ; n++ {
			page, err := open(t, place(t)).List(ctx, q) // any process continues
			must(t, err)
			for _, row := range page.Rows {
				got = append(got, row.Stream)
			}
			if page.NextToken == "" {
				break
			}
			if size > 0 && size < 20 && len(page.Rows) != size {
				t.Fatalf("page of %d has %d rows and a next one", size, len(page.Rows))
			}
			if n == 0 {
				add(t, j, fmt.Sprintf("u%02d", size), "late", 1) // newer: on no later page
			}
			q.PageToken = page.NextToken
		}
		got = slices.DeleteFunc(got, func(name string) bool { return name[0] == 'u' })
		equal(t, fmt.Sprintf("pages of %d", size), got, want)
	}
	odd := journal.Query[Tally]{PageSize: 4, Match: func(at journal.At[Tally]) bool { return at.Stream == "t00" }}
	calls := 0
	for ; ; calls++ {
		page, err := j.List(ctx, odd)
		must(t, err)
		if page.NextToken == "" {
			if len(page.Rows) != 1 || page.Rows[0].Stream != "t00" {
				t.Fatalf("last page: %+v", page)
			}
			break
		}
		odd.PageToken = page.NextToken
	}
	if calls == 0 {
		t.Error("one call looked through everything")
	}
	page, err := j.List(ctx, journal.Query[Tally]{Campaign: "nobody"})
	if err != nil || page.Rows != nil || page.NextToken != "" {
		t.Errorf("empty list: %+v, %v", page, err)
	}
}

func testTokens(t *testing.T, _ Options, place Place) {
	ctx := t.Context()
	j := open(t, place(t))
	for _, name := range []string{"a", "b", "c"} {
		add(t, j, name, "x", 1)
	}
	page, err := j.List(ctx, journal.Query[Tally]{Campaign: "c", PageSize: 1})
	must(t, err)
	if page.NextToken == "" {
		t.Fatal("no token")
	}
	for name, q := range map[string]journal.Query[Tally]{
		"other campaign": {PageToken: page.NextToken},
		"other parent":   {Campaign: "c", Parent: "p", PageToken: page.NextToken},
		"no base64":      {Campaign: "c", PageToken: "?"},
		"no JSON":        {Campaign: "c", PageToken: "AAAA"},
		"cut":            {Campaign: "c", PageToken: page.NextToken[:len(page.NextToken)-3]},
		"empty JSON":     {Campaign: "c", PageToken: "e30"},
	} {
		_, err := j.List(ctx, q)
		var e *journal.Error
		if !errors.As(err, &e) || e.Kind != journal.InvalidArgument || e.Field != "page_token" {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err = j.List(ctx, journal.Query[Tally]{PageSize: -1})
	var e *journal.Error
	if !errors.As(err, &e) || e.Kind != journal.InvalidArgument || e.Field != "page_size" {
		t.Errorf("negative page size: %v", err)
	}
	// Another size may go on with the same token.
	page, err = j.List(ctx, journal.Query[Tally]{Campaign: "c", PageSize: 5, PageToken: page.NextToken})
	if err != nil || len(page.Rows) != 2 || page.NextToken != "" {
		t.Errorf("last page: %+v, %v", page, err)
	}
}

// ticks is a ticker under the test's control.
type ticks chan time.Time

func (c ticks) option() journal.Option {
	return journal.WithTicker(func(time.Duration) (<-chan time.Time, func()) { return c, func() {} })
}

// tick waits until a follower has taken the tick.
func (c ticks) tick(t testing.TB) {
	t.Helper()
	select {
	case c <- epoch:
	case <-t.Context().Done():
		t.Fatal("nobody follows")
	}
}

// collect sends the records that a watch yields until ctx ends.
func collect(ctx context.Context, j *jour, stream string, from int) <-chan journal.Record {
	out := make(chan journal.Record)
	go func() {
		defer close(out)
		for r, err := range j.Watch(ctx, stream, from) {
			if err != nil {
				return
			}
			select {
			case out <- r:
			case <-ctx.Done():
				return
			}
		}
	}()
	return out
}

// expect receives the records from seq from to seq to.
func expect(t testing.TB, in <-chan journal.Record, from, to int) {
	t.Helper()
	for seq := from; seq <= to; seq++ {
		r, ok := <-in
		if !ok || r.Seq != seq {
			t.Fatalf("got record %d (%v), want %d", r.Seq, ok, seq)
		}
	}
}

func testWatch(t *testing.T, _ Options, place Place) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	tick := make(ticks)
	here, there := open(t, place(t), tick.option()), open(t, place(t))
	early := collect(ctx, here, "a", 1) // before the stream exists
	beyond := collect(ctx, here, "a", 8)
	add(t, here, "a", "own", 3)
	expect(t, early, 1, 3)
	middle := collect(ctx, here, "a", 2)
	expect(t, middle, 2, 3)
	add(t, there, "a", "others", 4)
	go func() { // as a ticker would, until the poll has met the records
		for ctx.Err() == nil {
			select {
			case tick <- epoch:
			case <-ctx.Done():
			}
		}
	}()
	expect(t, early, 4, 7)
	expect(t, middle, 4, 7)
	add(t, here, "a", "both", 2) // after a gap in what this process wrote itself
	expect(t, early, 8, 9)
	expect(t, middle, 8, 9)
	expect(t, beyond, 8, 9)
	// The end of the context ends a watch that waits, the end of the journal all others.
	one, stop := context.WithCancel(ctx)
	single := collect(one, here, "a", 9)
	expect(t, single, 9, 9)
	stop()
	if r, ok := <-single; ok {
		t.Fatalf("got %+v after the end", r)
	}
	must(t, here.Close())
	for _, c := range []<-chan journal.Record{early, middle, beyond} {
		if r, ok := <-c; ok {
			t.Fatalf("got %+v after the end", r)
		}
	}
	for r, err := range here.Watch(ctx, "a", 1) {
		t.Fatalf("a closed journal is watched: %+v, %v", r, err)
	}
}

func testManyWatchers(t *testing.T, _ Options, place Place) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	const watchers, rounds = 100, 5
	tick := make(ticks)
	spy := &Spy{Store: place(t)}
	here, there := open(t, spy, tick.option()), open(t, place(t))
	add(t, there, "a", "old", 3)
	all := make([]<-chan journal.Record, watchers)
	for i := range all {
		all[i] = collect(ctx, here, "a", 4)
	}
	for n := range rounds {
		add(t, there, "a", fmt.Sprintf("new%d", n), 1)
		tick.tick(t) // nobody leaves before the end, so there is one follower whenever the others join
		for _, c := range all {
			expect(t, c, 4+n, 4+n)
		}
	}
	// One read when the follower started, one for each tick; with a poll of their own they would be some hundred.
	if n := spy.Reads.Load(); n > 1+rounds {
		t.Errorf("%d watchers read the store %d times in %d rounds", watchers, n, rounds)
	}
	// Commits of this process need no read at all.
	spy.Reset()
	at, err := here.Load(ctx, "a")
	must(t, err)
	spy.Reset()
	add(t, here, "a", "own", 3)
	for _, c := range all {
		expect(t, c, at.Next(), at.Next()+2)
	}
	if n := spy.Reads.Load(); n != 0 {
		t.Errorf("own commits were read %d times", n)
	}
}

func testSlowWatcher(t *testing.T, _ Options, place Place) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	j := open(t, place(t))
	add(t, j, "a", "first", 1)
	slow, fast := collect(ctx, j, "a", 1), collect(ctx, j, "a", 1)
	expect(t, slow, 1, 1)
	expect(t, fast, 1, 1)
	const more = 150 // more than a follower keeps
	add(t, j, "a", "more", more)
	expect(t, fast, 2, 1+more) // while slow takes nothing
	expect(t, slow, 2, 1+more)
}

func testSweep(t *testing.T, _ Options, place Place) {
	ctx := t.Context()
	j := open(t, place(t))
	owe := func(stream, request string) {
		t.Helper()
		_, err := j.Commit(ctx, command(stream, request), func(context.Context, journal.At[Tally]) (journal.Decision, error) {
			return journal.Decision{Events: []json.RawMessage{Add("x", 1)}, Owing: true}, nil
		})
		must(t, err)
	}
	sweep := func(j *jour, see func(stream string) (bool, error)) (seen []string, err error) {
		err = j.Sweep(ctx, func(_ context.Context, stream string) (bool, error) {
			seen = append(seen, stream)
			return see(stream)
		})
		return seen, err
	}
	open1 := func(string) (bool, error) { return false, nil }
	owe("a", "1")
	owe("a", "2")
	owe("b", "1")
	owe("c", "1")
	add(t, j, "d", "x", 1)
	other := open(t, place(t))
	seen, err := sweep(other, open1)
	must(t, err)
	equal(t, "seen by another process", seen, []string{"a", "b", "c"})
	// What fails stays, and does not keep the others from being seen.
	broken := errors.New("lender is away")
	seen, err = sweep(j, func(s string) (bool, error) {
		if s == "b" {
			return true, broken
		}
		return s == "a", nil
	})
	if !errors.Is(err, broken) {
		t.Fatalf("got %v", err)
	}
	equal(t, "seen with a failure", seen, []string{"a", "b", "c"})
	seen, err = sweep(j, open1)
	must(t, err)
	equal(t, "left", seen, []string{"b", "c"})
	// A decision settles, and so does a call.
	_, err = j.Commit(ctx, command("b", "settle"), func(context.Context, journal.At[Tally]) (journal.Decision, error) {
		return journal.Decision{Events: []json.RawMessage{End()}, Settled: true}, nil
	})
	must(t, err)
	must(t, j.Settle(ctx, "c", 1))
	owe("c", "again")
	seen, err = sweep(j, open1)
	must(t, err)
	equal(t, "owed anew", seen, []string{"c"})
}

func testSweepEarly(t *testing.T, _ Options, place Place) {
	ctx := t.Context()
	// A commit stops between its entry and its record, as one that is slow or has died.
	reached, goOn := make(chan struct{}), make(chan struct{})
	var once sync.Once
	slow := open(t, &Spy{Store: place(t), Before: func(op Op) error {
		if op == Insert {
			once.Do(func() { close(reached); <-goOn })
		}
		return nil
	}})
	j := open(t, place(t))
	add(t, j, "a", "x", 1)
	done := make(chan error, 1)
	go func() {
		_, err := slow.Commit(ctx, command("a", "owe"), func(context.Context, journal.At[Tally]) (journal.Decision, error) {
			return journal.Decision{Events: []json.RawMessage{Add("x", 1)}, Owing: true}, nil
		})
		done <- err
	}()
	<-reached
	count := func() (n int) {
		must(t, j.Sweep(ctx, func(context.Context, string) (bool, error) { n++; return true, nil }))
		return n
	}
	if n := count(); n != 0 {
		t.Fatalf("%d streams owe before the record", n)
	}
	// Another command takes the place: its entry is left over, the slow one announces the next place.
	add(t, j, "a", "y", 1)
	if n := count(); n != 0 {
		t.Fatalf("%d streams owe for a place that was lost", n)
	}
	close(goOn)
	must(t, <-done)
	owed, err := place(t).Owing(ctx, "tally", journal.Obligation{}, 10)
	must(t, err)
	equal(t, "index", owed, []journal.Obligation{{Kind: "tally", Stream: "a", Seq: 3}})
	if n := count(); n != 1 {
		t.Fatalf("%d streams owe", n)
	}
	if n := count(); n != 0 {
		t.Fatalf("%d streams owe after they settled", n)
	}
}

// Bench measures a store, alone and under a journal. Run it as a benchmark's whole body.
func Bench(b *testing.B, fresh func(t testing.TB) Place) {
	b.Run("Insert", func(b *testing.B) {
		s := fresh(b)(b)
		for i := 0; b.Loop(); i++ {
			must(b, s.Insert(b.Context(), record("a", i+1, fmt.Sprint(i))))
		}
	})
	b.Run("Commit", func(b *testing.B) {
		j := open(b, fresh(b)(b))
		for i := 0; b.Loop(); i++ {
			_, err := j.Commit(b.Context(), command("a", fmt.Sprint(i)), events(Add("x", 1)))
			must(b, err)
		}
	})
	for _, n := range []int{10, 10_000} {
		b.Run(fmt.Sprintf("Load/%d", n), func(b *testing.B) {
			s := fresh(b)(b)
			add(b, open(b, s), "a", "x", n)
			for b.Loop() {
				at, err := open(b, s).Load(b.Context(), "a")
				must(b, err)
				if at.Seq != n {
					b.Fatalf("got %+v", at)
				}
			}
		})
	}
}
