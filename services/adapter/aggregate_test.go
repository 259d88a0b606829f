package adapter_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	dicev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dice/v1"
	typev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/type/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/auth"
	"github.com/wayfarer-rpg/wayfarer/internal/await"
	"github.com/wayfarer-rpg/wayfarer/internal/dicestream"
	"github.com/wayfarer-rpg/wayfarer/internal/fault"
	"github.com/wayfarer-rpg/wayfarer/internal/journal"
	"github.com/wayfarer-rpg/wayfarer/internal/journal/memory"
	"github.com/wayfarer-rpg/wayfarer/rules/play"
	"github.com/wayfarer-rpg/wayfarer/services/adapter"
)

// game is the aggregate of these tests: it counts rolls until it is over.
type game struct {
	Rolls  int    `json:"rolls"`
	Stream string `json:"stream"`
	Over   bool   `json:"over,omitempty"`
}

type games = adapter.Aggregate[game, *dicev1.RollLogEvent]

func apply(g game, e *dicev1.RollLogEvent) (game, error) {
	switch ev := e.GetEvent().(type) {
	case *dicev1.RollLogEvent_Begun:
		g.Stream = ev.Begun.GetStream()
	case *dicev1.RollLogEvent_Rolled:
		g.Rolls++
	case *dicev1.RollLogEvent_Rotated:
		g.Over = true
	default:
		return g, fmt.Errorf("unknown event %T", ev)
	}
	return g, nil
}

// keys hands out keys and notes which were asked for.
type keys struct {
	mu    sync.Mutex
	drawn []int
	fail  error
}

func (k *keys) Key(_ context.Context, stream string, index int) ([]byte, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.drawn = append(k.drawn, index)
	return dicestream.Key([]byte(stream), "", uint64(index)), k.fail
}

func newGames(store journal.Store, k adapter.Keys, opts ...journal.Option) *games {
	return adapter.NewAggregate(store, k, adapter.Spec[game, *dicev1.RollLogEvent]{
		Kind: "game", Version: 1, Apply: apply, New: func() *dicev1.RollLogEvent { return &dicev1.RollLogEvent{} },
		Stream: func(g game) string { return g.Stream }, Ended: func(g game) bool { return g.Over },
	}, append([]journal.Option{journal.WithPoll(time.Millisecond)}, opts...)...)
}

const name = "campaigns/c/games/g"

type gameAnswer = adapter.Answer[game, *dicev1.RollLogEvent]

func commit(t *testing.T, g *games, cmd adapter.Command, e *dicev1.RollLogEvent, roll ...int) (gameAnswer, error) {
	t.Helper()
	cmd.Caller, cmd.Stream, cmd.RequestHash = master, name, "h"
	return g.Commit(t.Context(), cmd, func(_ context.Context, _ journal.At[game], dice *play.Dice) (d adapter.Decision[*dicev1.RollLogEvent], err error) {
		for _, sides := range roll {
			dice.Roll("test", sides)
		}
		d.Events = []*dicev1.RollLogEvent{e}
		return d, nil
	})
}

var (
	begun  = &dicev1.RollLogEvent{Event: &dicev1.RollLogEvent_Begun{Begun: &dicev1.RollLogBegun{Owner: "ada", Stream: "campaigns/c/streams/s"}}}
	rolled = &dicev1.RollLogEvent{Event: &dicev1.RollLogEvent_Rolled{Rolled: &dicev1.Rolled{Rolls: []*dicev1.Roll{{Notation: "d6", Total: 4}}}}}
	over   = &dicev1.RollLogEvent{Event: &dicev1.RollLogEvent_Rotated{Rotated: &dicev1.RollLogRotated{Stream: "s"}}}
)

// do commits what must succeed.
func do(t *testing.T, g *games, id string, mode journal.Mode, e *dicev1.RollLogEvent, roll ...int) gameAnswer {
	t.Helper()
	ans, err := commit(t, g, adapter.Command{RequestID: id, Mode: mode}, e, roll...)
	if err != nil {
		t.Fatal(err)
	}
	return ans
}

func TestDiceComeFromTheNumberOfTheRecord(t *testing.T) {
	t.Parallel()
	k := &keys{}
	g := newGames(memory.New(), k)
	if do(t, g, "1", journal.Create, begun); len(k.drawn) != 0 {
		t.Errorf("drew %v without a roll", k.drawn)
	}
	ans := do(t, g, "2", journal.MustExist, rolled, 6, 20, 1_000_000)
	faces, err := dicestream.NewSource(dicestream.Key([]byte("campaigns/c/streams/s"), "", 2))
	if err != nil {
		t.Fatal(err)
	}
	for i, sides := range []int{6, 20, 1_000_000} {
		want, err := faces.Next(sides)
		if err != nil {
			t.Fatal(err)
		}
		if d := ans.Record.GetDice()[i]; d.GetFace() != int32(want) || d.GetSides() != int32(sides) || d.GetPurpose() != "test" || d.GetReported() {
			t.Errorf("die %d is %v, want %d", i, d, want)
		}
	}
	if !slices.Equal(k.drawn, []int{2}) || ans.State.State.Rolls != 1 || ans.Replayed || len(ans.Events) != 1 {
		t.Errorf("drew %v for %+v", k.drawn, ans)
	}
	again := do(t, g, "2", journal.MustExist, rolled, 6)
	if !again.Replayed || len(again.Record.GetDice()) != 3 || len(k.drawn) != 1 {
		t.Errorf("again: %+v, drew %v", again, k.drawn)
	}
	k.fail = fault.New(fault.Unavailable, "STOPPING", "later")
	_, err = commit(t, g, adapter.Command{RequestID: "3"}, rolled, 6)
	refusal{fault.Unavailable, "STOPPING", ""}.check(t, err)
	if _, err := commit(t, newGames(memory.New(), nil), adapter.Command{RequestID: "1", Mode: journal.Create}, begun, 6); err == nil || fault.KindOf(err) != fault.Internal {
		t.Errorf("a roll without a stream: %v", err)
	}
}

// Events are made of parts of requests, and a caller may be newer than this program: what only the caller knows is not
// journaled, so no answer has it.
func TestTheFirstAnswerHasWhatIsJournaled(t *testing.T) {
	t.Parallel()
	g := newGames(memory.New(), nil)
	do(t, g, "1", journal.Create, begun)
	e := proto.CloneOf(rolled)
	e.GetRolled().GetRolls()[0].ProtoReflect().SetUnknown(protowire.AppendVarint(protowire.AppendTag(nil, protowire.MaxValidNumber, protowire.VarintType), 1))
	first := do(t, g, "2", journal.MustExist, e)
	e.GetRolled().GetRolls()[0].Total = 99 // nor is it a part of the request any more
	again := do(t, g, "2", journal.MustExist, e)
	if first.Replayed || !again.Replayed {
		t.Fatalf("replayed: %t, then %t", first.Replayed, again.Replayed)
	}
	for part, pair := range map[string][2]proto.Message{
		"record": {first.Record, again.Record}, "event": {first.Events[0], again.Events[0]}, "journaled": {first.Events[0], rolled},
	} {
		if one, two := wire(t, pair[0]), wire(t, pair[1]); !bytes.Equal(one, two) {
			t.Errorf("%s: %x is not %x", part, one, two)
		}
	}
}

func wire(t *testing.T, m proto.Message) []byte {
	t.Helper()
	raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestTheLoserOfARaceDrawsTheNextNumber(t *testing.T) {
	t.Parallel()
	store, k := memory.New(), &keys{}
	ours, theirs := newGames(store, k), newGames(store, k)
	do(t, ours, "1", journal.Create, begun)
	do(t, ours, "2", journal.MustExist, rolled, 6)
	do(t, theirs, "3", journal.MustExist, rolled, 6) // ours still remembers record 2
	if ans := do(t, ours, "4", journal.MustExist, rolled, 6); ans.Record.GetSeq() != 4 || ans.State.State.Rolls != 3 {
		t.Errorf("got %+v", ans)
	}
	if want := []int{2, 3, 3, 4}; !slices.Equal(k.drawn, want) {
		t.Errorf("drew %v, want %v", k.drawn, want)
	}
}

func TestReportedDice(t *testing.T) {
	t.Parallel()
	store, k := memory.New(), &keys{}
	ours, theirs := newGames(store, k), newGames(store, k)
	at := do(t, ours, "1", journal.Create, begun).State
	for name, tc := range map[string]struct {
		dice []int
		want refusal
	}{
		"too few":           {[]int{6}, refusal{fault.InvalidArgument, "BAD_DICE", "reported_dice"}},
		"too many":          {[]int{6, 20, 1}, refusal{fault.InvalidArgument, "BAD_DICE", "reported_dice"}},
		"a face of 0":       {[]int{6, 0}, refusal{fault.InvalidArgument, "BAD_DICE", "reported_dice"}},
		"an impossible one": {[]int{7, 20}, refusal{fault.InvalidArgument, "BAD_DICE", "reported_dice"}},
	} {
		_, err := commit(t, ours, adapter.Command{RequestID: name, Etag: at.Etag(), Reported: tc.dice}, rolled, 6, 20)
		t.Log(name)
		tc.want.check(t, err)
	}
	do(t, theirs, "2", journal.MustExist, rolled) // so that a race is lost
	_, err := commit(t, ours, adapter.Command{RequestID: "3", Etag: at.Etag(), Reported: []int{6, 20}}, rolled, 6, 20)
	refusal{fault.Aborted, "ETAG_MISMATCH", "etag"}.check(t, err)
	now, err := ours.Load(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	ans, err := commit(t, ours, adapter.Command{RequestID: "4", Etag: now.Etag(), Reported: []int{6, 20}}, rolled, 6, 20)
	if err != nil || ans.Record.GetSeq() != 3 {
		t.Fatalf("got %+v %v", ans, err)
	}
	for _, d := range ans.Record.GetDice() {
		if !d.GetReported() || d.GetFace() != d.GetSides() {
			t.Errorf("die %v", d)
		}
	}
	// Without an etag they are for no state in particular.
	if ans, err := commit(t, theirs, adapter.Command{RequestID: "5", Reported: []int{1}}, rolled, 6); err != nil || ans.Record.GetSeq() != 4 {
		t.Errorf("got %+v %v", ans, err)
	}
	if len(k.drawn) != 0 {
		t.Errorf("drew %v", k.drawn)
	}
}

func TestARefusedCommandStillGetsItsFirstAnswer(t *testing.T) {
	t.Parallel()
	g := newGames(memory.New(), nil)
	do(t, g, "1", journal.Create, begun)
	no := errors.New("no longer")
	ans, err := commit(t, g, adapter.Command{RequestID: "1", Refusal: no}, begun)
	if err != nil || !ans.Replayed || ans.Record.GetSeq() != 1 {
		t.Errorf("got %+v %v", ans, err)
	}
	if _, err := commit(t, g, adapter.Command{RequestID: "2", Refusal: no}, rolled); !errors.Is(err, no) {
		t.Errorf("got %v", err)
	}
	if at, err := g.Load(t.Context(), name); err != nil || at.Seq != 1 {
		t.Errorf("%d records: %v", at.Seq, err)
	}
	_, ok, err := g.First(t.Context(), adapter.Command{Caller: master, Stream: name, RequestID: "2", RequestHash: "h"})
	if ok || err != nil {
		t.Errorf("an answer to what was never recorded: %v", err)
	}
	_, _, err = g.First(t.Context(), adapter.Command{Caller: master, Stream: name, RequestID: "1", RequestHash: "other"})
	refusal{fault.InvalidArgument, "REQUEST_ID_REUSED", "request_id"}.check(t, err)
	_, err = g.Load(t.Context(), "campaigns/c/games/none")
	refusal{fault.NotFound, "NOT_FOUND", ""}.check(t, err)
}

// watching follows a game in the background.
type watching struct {
	seqs chan int32
	done chan error
}

func watch(ctx context.Context, g *games, from int) watching {
	w := watching{make(chan int32, 100), make(chan error, 1)}
	go func() {
		w.done <- g.Watch(ctx, name, from, func(r *typev1.Record, events []*dicev1.RollLogEvent) error {
			if len(events) != 1 {
				return fmt.Errorf("record %d has %d events", r.GetSeq(), len(events))
			}
			w.seqs <- r.GetSeq()
			return nil
		})
	}()
	return w
}

// all waits for the end of the watch.
func (w watching) all(t *testing.T) []int32 {
	t.Helper()
	if err := await.Value(t, w.done, "the end of a watch"); err != nil {
		t.Error(err)
	}
	close(w.seqs)
	var got []int32
	for s := range w.seqs {
		got = append(got, s)
	}
	return got
}

func TestAWatchEndsWithItsAggregate(t *testing.T) {
	t.Parallel()
	g := newGames(memory.New(), nil)
	do(t, g, "1", journal.Create, begun)
	do(t, g, "2", journal.MustExist, rolled)
	watches := map[int]watching{}
	for _, from := range []int{0, 1, 2, 3, 4, 9} { // some of them ahead of the game
		watches[from] = watch(t.Context(), g, from)
	}
	if first := await.Value(t, watches[0].seqs, "the first record"); first != 1 {
		t.Errorf("the first record is %d", first)
	}
	if second := await.Value(t, watches[0].seqs, "the second record"); second != 2 {
		t.Errorf("the second record is %d", second)
	}
	do(t, g, "3", journal.MustExist, rolled)
	do(t, g, "4", journal.MustExist, over)
	for from, want := range map[int][]int32{0: {3, 4}, 1: {2, 3, 4}, 2: {3, 4}, 3: {4}, 4: nil, 9: nil} {
		if got := watches[from].all(t); !slices.Equal(got, want) {
			t.Errorf("from %d: %v, want %v", from, got, want)
		}
		if from == 0 {
			want = []int32{1, 2, 3, 4}
		}
		if got := watch(t.Context(), g, from).all(t); !slices.Equal(got, want) { // after its end
			t.Errorf("after the end, from %d: %v, want %v", from, got, want)
		}
	}
}

func TestAWatchEndsOtherwise(t *testing.T) {
	t.Parallel()
	g := newGames(memory.New(), nil)
	do(t, g, "1", journal.Create, begun)
	refusal{fault.NotFound, "NOT_FOUND", ""}.check(t, g.Watch(t.Context(), "campaigns/c/games/none", 0, nil))

	gone := errors.New("the caller has gone")
	if err := g.Watch(t.Context(), name, 0, func(*typev1.Record, []*dicev1.RollLogEvent) error { return gone }); !errors.Is(err, gone) {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	w := watch(ctx, g, 0)
	await.Value(t, w.seqs, "the first record")
	cancel()
	if err := await.Value(t, w.done, "the end of a watch"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	w = watch(t.Context(), g, 0)
	await.Value(t, w.seqs, "the first record")
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	refusal{fault.Unavailable, "STOPPING", ""}.check(t, await.Value(t, w.done, "the end of a watch")) // or the caller would believe that the game is over
}

func TestListsAndRecords(t *testing.T) {
	t.Parallel()
	g := newGames(memory.New(), nil)
	do(t, g, "1", journal.Create, begun)
	do(t, g, "2", journal.MustExist, rolled)
	do(t, g, "3", journal.MustExist, rolled)
	entries, err := g.Records(t.Context(), name, 1, 1)
	if err != nil || len(entries) != 1 || entries[0].Record.GetSeq() != 2 || entries[0].Events[0].GetRolled() == nil {
		t.Errorf("got %v %v", entries, err)
	}
	page, err := g.List(t.Context(), journal.Query[game]{Campaign: "campaigns/c"})
	if err != nil || len(page.Rows) != 1 || page.Rows[0].State.Rolls != 2 {
		t.Errorf("got %+v %v", page, err)
	}
	_, err = g.List(t.Context(), journal.Query[game]{PageToken: "?"})
	refusal{fault.InvalidArgument, "PAGE_TOKEN", "page_token"}.check(t, err)
	if g.Journal() == nil {
		t.Error("no journal")
	}
}

func TestTheSweepGoesOnAfterAFailure(t *testing.T) {
	t.Parallel()
	g := newGames(memory.New(), nil)
	cmd := adapter.Command{Caller: master, Stream: name, RequestID: "1", RequestHash: "h", Mode: journal.Create, OverrideReason: "because"}
	ans, err := g.Commit(t.Context(), cmd, func(context.Context, journal.At[game], *play.Dice) (adapter.Decision[*dicev1.RollLogEvent], error) {
		return adapter.Decision[*dicev1.RollLogEvent]{Events: []*dicev1.RollLogEvent{begun}, Owing: true, Note: "n"}, nil
	})
	if err != nil || ans.Record.GetOverrideReason() != "because" || ans.Record.GetActor() != master.Subject || ans.Record.GetTime() == nil {
		t.Fatalf("got %+v %v", ans, err)
	}
	ctx, stop := context.WithCancel(t.Context())
	tick, seen, done := make(chan time.Time), make(chan string), make(chan struct{})
	answers := []struct {
		settled bool
		err     error
	}{{false, errors.New("the lender sleeps")}, {false, nil}, {true, nil}}
	go func() {
		defer close(done)
		g.Sweep(ctx, slog.New(slog.NewTextHandler(t.Output(), nil)), tick, func(_ context.Context, stream string) (bool, error) {
			seen <- stream
			a := answers[0]
			answers = answers[1:]
			return a.settled, a.err
		})
	}()
	for range 2 {
		if got := await.Value(t, seen, "a walk of the sweeper"); got != name {
			t.Errorf("swept %q", got)
		}
		tick <- time.Time{}
	}
	await.Value(t, seen, "a walk of the sweeper")
	tick <- time.Time{} // what is settled is not seen again, or this would wait for ever
	tick <- time.Time{}
	stop()
	await.Value(t, done, "the sweeper's end")
	if len(answers) != 0 {
		t.Errorf("left: %v", answers)
	}
}

// diceService draws for the dice service.
type diceService struct {
	dicev1.DiceServiceClient
	actor string
	err   error
}

func (d *diceService) Draw(ctx context.Context, req *dicev1.DrawRequest, _ ...grpc.CallOption) (*dicev1.DrawResponse, error) {
	d.actor = auth.Effective(ctx)
	return &dicev1.DrawResponse{Key: fmt.Appendf(nil, "%s %d", req.GetName(), req.GetIndex())}, d.err
}

func TestKeysOfTheDiceService(t *testing.T) {
	t.Parallel()
	svc := &diceService{actor: "?"}
	k := adapter.RemoteKeys{Client: svc}
	ctx := auth.NewContext(t.Context(), auth.Principal{Subject: "ada"})
	if got, err := k.Key(ctx, "s", 7); err != nil || string(got) != "s 7" || svc.actor != "" {
		t.Errorf("got %q %v for %q", got, err, svc.actor)
	}
	st, _ := fault.ToStatus(fault.New(fault.FailedPrecondition, "STREAM_REVEALED", "over"))
	svc.err = st.Err()
	_, err := k.Key(ctx, "s", 8)
	refusal{fault.FailedPrecondition, "STREAM_REVEALED", ""}.check(t, err)
}
