package adapter

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	dicev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dice/v1"
	typev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/type/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/auth"
	"github.com/wayfarer-rpg/wayfarer/internal/dicestream"
	"github.com/wayfarer-rpg/wayfarer/internal/fault"
	"github.com/wayfarer-rpg/wayfarer/internal/journal"
	"github.com/wayfarer-rpg/wayfarer/internal/journal/archive"
	"github.com/wayfarer-rpg/wayfarer/rules/play"
)

// Keys hands out the key of one roll number of a stream; the same number always has the same key.
type Keys interface {
	Key(ctx context.Context, stream string, index int) ([]byte, error)
}

// RemoteKeys draws from the dice service.
type RemoteKeys struct{ Client dicev1.DiceServiceClient }

// Key implements [Keys].
func (r RemoteKeys) Key(ctx context.Context, stream string, index int) ([]byte, error) {
	res, err := r.Client.Draw(auth.WithoutActor(ctx), &dicev1.DrawRequest{Name: stream, Index: int32(index)}) //nolint:gosec // a record number
	if err != nil {
		return nil, fault.FromStatus(err)
	}
	return res.GetKey(), nil
}

// Spec says what an aggregate is. S is the state, E the proto message of its events.
type Spec[S any, E proto.Message] struct {
	// Kind names the kind of aggregate, for example "run".
	Kind string
	// Version names the fold; raise it whenever the same events give another state or another encoding of it.
	Version int
	// New returns an empty event.
	New func() E
	// Apply folds one event without changing the state given. It fails on an event that it does not know.
	Apply func(S, E) (S, error)
	// Stream returns the name of the dice stream that the aggregate rolls with. Nil: it rolls none.
	Stream func(S) string
	// Unlisted and Ended are as in [journal.Fold].
	Unlisted func(S) bool
	Ended    func(S) bool
}

// Aggregate keeps one kind of aggregate in a journal.
type Aggregate[S any, E proto.Message] struct {
	spec    Spec[S, E]
	journal *journal.Journal[S]
	keys    Keys
}

// NewAggregate returns an aggregate on a store. Keys may be nil for one that rolls no dice.
func NewAggregate[S any, E proto.Message](store journal.Store, keys Keys, spec Spec[S, E], opts ...journal.Option) *Aggregate[S, E] {
	return &Aggregate[S, E]{spec: spec, journal: journal.New(store, spec.fold(), opts...), keys: keys}
}

func (s Spec[S, E]) fold() journal.Fold[S] {
	return journal.Fold[S]{
		Kind: s.Kind, Version: s.Version, Unlisted: s.Unlisted, Ended: s.Ended,
		Apply: func(state S, raw json.RawMessage) (S, error) {
			e := s.New()
			if err := protojson.Unmarshal(raw, e); err != nil {
				return state, err
			}
			return s.Apply(state, e)
		},
	}
}

// Walk says what tools have to know that walk whole journals. Owes tells that a state has something to be seen through by
// [Aggregate.Sweep]; nil: never.
func (s Spec[S, E]) Walk(owes func(S) bool) archive.Kind {
	k := archive.Kind{Name: s.Kind, Refold: s.fold().Refold}
	if s.Stream != nil {
		k.DiceStream = func(state any) string { return s.Stream(state.(S)) } //nolint:forcetypeassert // of its own Refold
	}
	if owes != nil {
		k.Owes = func(state any) bool { return owes(state.(S)) } //nolint:forcetypeassert // of its own Refold
	}
	return k
}

// Journal returns the journal beneath, for what this package does not offer.
func (a *Aggregate[S, E]) Journal() *journal.Journal[S] { return a.journal }

// Close ends all watches.
func (a *Aggregate[S, E]) Close() error { return a.journal.Close() }

// Decision is what a command comes to.
type Decision[E proto.Message] struct {
	// Events is what happened, in order.
	Events []E
	// Owing begins something that the sweeper has to see through, Settled ends it.
	Owing, Settled bool
	// Note is kept with the record, for example the campaign record whose settings were used.
	Note string
}

// Answer is the first answer to a command.
type Answer[S any, E proto.Message] struct {
	// Record tells where the command was journaled. Its secret dice are cleared by [Redact], not here.
	Record *typev1.Record
	// State is the state after it.
	State journal.At[S]
	// Events is what happened.
	Events []E
	// Replayed is true when the command had been recorded before.
	Replayed bool
}

// Decide decides a command on a state. It may be called again with a later state, so it changes nothing outside.
type Decide[S any, E proto.Message] func(ctx context.Context, at journal.At[S], dice *play.Dice) (Decision[E], error)

// Commit decides a command and records it; see [journal.Journal.Commit]. Dice are those reported with the command, or
// come from the aggregate's stream under the number of the record. Refusals and journal errors come back as faults.
func (a *Aggregate[S, E]) Commit(ctx context.Context, cmd Command, decide Decide[S, E]) (Answer[S, E], error) {
	if cmd.Refusal != nil {
		if ans, ok, err := a.First(ctx, cmd); err != nil || ok {
			return ans, err
		}
		return Answer[S, E]{}, cmd.Refusal
	}
	done, err := a.journal.Commit(ctx, a.command(cmd), func(ctx context.Context, at journal.At[S]) (journal.Decision, error) {
		dice := a.dice(ctx, cmd, at)
		d, err := decide(ctx, at, dice)
		if err != nil {
			return journal.Decision{}, err
		}
		if err := dice.Close(); err != nil {
			return journal.Decision{}, err
		}
		raw, err := marshalEvents(d.Events)
		return journal.Decision{Events: raw, Dice: diceOf(dice), Owing: d.Owing, Settled: d.Settled, Note: d.Note}, err
	})
	if err != nil {
		return Answer[S, E]{}, Fault(err)
	}
	return a.answer(done)
}

// First returns the first answer to a command that was recorded before, if it was. Another request under the same id is
// refused with REQUEST_ID_REUSED.
func (a *Aggregate[S, E]) First(ctx context.Context, cmd Command) (Answer[S, E], bool, error) {
	done, ok, err := a.journal.Answer(ctx, a.command(cmd))
	if err != nil || !ok {
		return Answer[S, E]{}, false, Fault(err)
	}
	ans, err := a.answer(done)
	return ans, err == nil, err
}

func (a *Aggregate[S, E]) command(cmd Command) journal.Command {
	return journal.Command{
		Stream: cmd.Stream, Mode: cmd.Mode, Campaign: cmd.Caller.Campaign, Parent: cmd.Parent,
		RequestID: cmd.id(), RequestHash: cmd.RequestHash, Actor: cmd.Caller.Subject,
		OverrideReason: cmd.OverrideReason, Etag: cmd.Etag,
		// Dice reported for a state are for no other. Those of a request that takes no etag depend on no state.
		Once: cmd.Reported != nil && cmd.Etag != "",
	}
}

// id is the request id as it is journaled. A service's own steps have ids that anybody can derive; a blank before them,
// which no caller can send, keeps players from using them up.
func (cmd Command) id() string {
	if cmd.Caller.Itself && !strings.HasPrefix(cmd.RequestID, " ") {
		return " " + cmd.RequestID
	}
	return cmd.RequestID
}

func (a *Aggregate[S, E]) answer(done journal.Committed[S]) (Answer[S, E], error) {
	events, err := a.events(done.Record)
	return Answer[S, E]{Record: RecordOf(done.Record), State: done.State, Events: events, Replayed: done.Replayed}, err
}

func (a *Aggregate[S, E]) events(rec journal.Record) ([]E, error) {
	events := make([]E, len(rec.Events))
	for i, raw := range rec.Events {
		events[i] = a.spec.New()
		if err := protojson.Unmarshal(raw, events[i]); err != nil {
			return nil, fmt.Errorf("event %d of record %d of %s: %w", i, rec.Seq, rec.Stream, err)
		}
	}
	return events, nil
}

// dice asks the stream for a key only when the rules roll: most commands need none.
func (a *Aggregate[S, E]) dice(ctx context.Context, cmd Command, at journal.At[S]) *play.Dice {
	if cmd.Reported != nil {
		return play.ReportedDice(cmd.Reported...)
	}
	var faces *dicestream.Source
	return play.NewDice(func(sides int) (int, error) {
		if faces == nil {
			stream := ""
			if a.spec.Stream != nil {
				stream = a.spec.Stream(at.State)
			}
			if a.keys == nil || stream == "" {
				return 0, fmt.Errorf("%s has no dice stream", at.Stream)
			}
			key, err := a.keys.Key(ctx, stream, at.Next())
			if err != nil {
				return 0, fmt.Errorf("draw %d of %s: %w", at.Next(), stream, err)
			}
			if faces, err = dicestream.NewSource(key); err != nil {
				return 0, err
			}
		}
		return faces.Next(sides)
	})
}

// Load returns the present state of an aggregate.
func (a *Aggregate[S, E]) Load(ctx context.Context, name string) (journal.At[S], error) {
	at, err := a.journal.Load(ctx, name)
	return at, Fault(err)
}

// List returns a page of aggregates, newest first, with the token of the next page.
func (a *Aggregate[S, E]) List(ctx context.Context, q journal.Query[S]) (journal.Page[S], error) {
	p, err := a.journal.List(ctx, q)
	return p, Fault(err)
}

// Watch sends every record of an aggregate after seq from, then follows it until ctx ends, the aggregate ends or send
// fails. It fails with UNAVAILABLE when the aggregate is closed.
func (a *Aggregate[S, E]) Watch(ctx context.Context, name string, from int, send func(*typev1.Record, []E) error) error {
	now, err := a.Load(ctx, name)
	if err != nil {
		return err
	}
	// The state is needed only to know the end, so it is followed from now on, whatever is sent before.
	state := now.State
	if a.ended(state) && from >= now.Seq {
		return nil
	}
	// The header tells whoever waits for news that there may be some: it would come with the first record else.
	_ = grpc.SendHeader(ctx, nil) // fails outside of a call, as in tests
	for rec, err := range a.journal.Watch(ctx, name, min(from, now.Seq)+1) {
		if err != nil {
			return Fault(err)
		}
		events, err := a.events(rec)
		if err != nil {
			return err
		}
		if rec.Seq > now.Seq {
			for _, e := range events {
				if state, err = a.spec.Apply(state, e); err != nil {
					return fmt.Errorf("record %d of %s: %w", rec.Seq, name, err)
				}
			}
		}
		if rec.Seq > from {
			if err := send(RecordOf(rec), events); err != nil {
				return err
			}
		}
		if rec.Seq >= now.Seq && a.ended(state) {
			return nil
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return fault.Stopping()
}

func (a *Aggregate[S, E]) ended(s S) bool { return a.spec.Ended != nil && a.spec.Ended(s) }

// Sweep carries on what aggregates owe, at once and then at each tick, until ctx ends. See carries one aggregate on and
// tells whether nothing is owed any more. Errors are logged: the next tick tries again.
func (a *Aggregate[S, E]) Sweep(ctx context.Context, log *slog.Logger, tick <-chan time.Time, see func(ctx context.Context, name string) (bool, error)) {
	for {
		if err := a.journal.Sweep(ctx, see); err != nil && ctx.Err() == nil {
			log.WarnContext(ctx, "sweep", "kind", a.spec.Kind, "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick:
		}
	}
}

// RecordOf maps a record to what callers see of it.
func RecordOf(r journal.Record) *typev1.Record {
	rec := &typev1.Record{
		Seq: int32(r.Seq), RequestId: strings.TrimPrefix(r.RequestID, " "), Actor: r.Actor, Time: timestamppb.New(r.Time), //nolint:gosec // record numbers fit
	}
	if r.OverrideReason != "" {
		rec.OverrideReason = proto.String(r.OverrideReason)
	}
	for _, d := range r.Dice {
		rec.Dice = append(rec.Dice, &typev1.Die{
			Purpose: d.Purpose, Sides: int32(d.Sides), Face: int32(d.Face), Reported: d.Reported, Secret: d.Secret, //nolint:gosec // dice are small
		})
	}
	return rec
}

func diceOf(d *play.Dice) []journal.Die {
	var out []journal.Die
	for _, r := range d.Rolled() {
		out = append(out, journal.Die{Purpose: r.Purpose, Sides: r.Sides, Face: r.Face, Reported: d.Reported()})
	}
	return out
}

func marshalEvents[E proto.Message](events []E) ([]json.RawMessage, error) {
	out := make([]json.RawMessage, len(events))
	for i, e := range events {
		raw, err := protojson.Marshal(e)
		if err != nil {
			return nil, fmt.Errorf("event %d: %w", i, err)
		}
		// protojson varies its spaces on purpose; the journal should not.
		var b bytes.Buffer
		if err := json.Compact(&b, raw); err != nil {
			return nil, fmt.Errorf("event %d: %w", i, err)
		}
		out[i] = b.Bytes()
	}
	return out, nil
}

// Entry is one record with its events.
type Entry[E proto.Message] struct {
	Record *typev1.Record
	Events []E
}

// Records returns at most limit records of an aggregate after seq after.
func (a *Aggregate[S, E]) Records(ctx context.Context, name string, after, limit int) ([]Entry[E], error) {
	recs, err := a.journal.Records(ctx, name, after, limit)
	if err != nil {
		return nil, Fault(err)
	}
	out := make([]Entry[E], len(recs))
	for i, rec := range recs {
		events, err := a.events(rec)
		if err != nil {
			return nil, err
		}
		out[i] = Entry[E]{RecordOf(rec), events}
	}
	return out, nil
}
