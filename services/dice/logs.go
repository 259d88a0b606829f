package dice

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	dicev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dice/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/fault"
	"github.com/wayfarer-rpg/wayfarer/internal/journal"
	"github.com/wayfarer-rpg/wayfarer/internal/requestid"
	"github.com/wayfarer-rpg/wayfarer/rules/play"
	"github.com/wayfarer-rpg/wayfarer/services/adapter"
)

// logState is the fold of a roll log. The rolls themselves stay in the records.
type logState struct {
	Owner  string   `json:"owner"`
	Stream string   `json:"stream"`
	Past   []string `json:"past,omitempty"`
}

var logSpec = adapter.Spec[logState, *dicev1.RollLogEvent]{
	Kind:    "rollLog",
	Version: 1,
	New:     func() *dicev1.RollLogEvent { return &dicev1.RollLogEvent{} },
	Apply: func(s logState, e *dicev1.RollLogEvent) (logState, error) {
		switch ev := e.GetEvent().(type) {
		case *dicev1.RollLogEvent_Begun:
			s.Owner, s.Stream = ev.Begun.GetOwner(), ev.Begun.GetStream()
		case *dicev1.RollLogEvent_Rotated:
			s.Stream = ev.Rotated.GetStream()
			s.Past = append(s.Past[:len(s.Past):len(s.Past)], ev.Rotated.GetRevealed())
		case *dicev1.RollLogEvent_Rolled, *dicev1.RollLogEvent_UsageDieRolled,
			*dicev1.RollLogEvent_PoolRolled, *dicev1.RollLogEvent_TableRolled:
		default:
			return s, fmt.Errorf("unknown roll log event %T", ev)
		}
		return s, nil
	},
	Stream: func(s logState) string { return s.Stream },
}

type logAnswer = adapter.Answer[logState, *dicev1.RollLogEvent]

// logs keeps the roll logs.
type logs struct {
	agg     *adapter.Aggregate[logState, *dicev1.RollLogEvent]
	streams streams
}

// logName is the log of one person in one campaign. Subjects may hold anything, so the id is derived.
func logName(campaign, subject string) string {
	return campaign + "/rollLogs/" + requestid.Derive(campaign+"/rollLogs", subject)
}

// resolve turns the id "me" into the caller's log.
func resolve(c adapter.Caller, name string) string {
	if adapter.IDOf(name) == "me" {
		return logName(c.Campaign, c.Subject)
	}
	return name
}

// streamName is the n-th stream of a log, from 0.
func streamName(campaign, log string, n int) string {
	return campaign + "/streams/" + requestid.Derive(log, "stream-"+strconv.Itoa(n))
}

// ensure makes the caller's own log with its first stream, unless it is there.
func (l logs) ensure(ctx context.Context, c adapter.Caller, log string) error {
	_, err := l.agg.Load(ctx, log)
	if err == nil || fault.KindOf(err) != fault.NotFound {
		return err
	}
	stream, err := l.newStream(ctx, c, log, 0)
	if err != nil {
		return err
	}
	cmd := adapter.Command{Caller: c, Stream: log, Mode: journal.Create, RequestID: requestid.Derive(log, "begin"), RequestHash: "begin"}
	_, err = l.agg.Commit(ctx, cmd, func(context.Context, journal.At[logState], *play.Dice) (adapter.Decision[*dicev1.RollLogEvent], error) {
		return adapter.Decision[*dicev1.RollLogEvent]{Events: []*dicev1.RollLogEvent{{Event: &dicev1.RollLogEvent_Begun{
			Begun: &dicev1.RollLogBegun{Owner: c.Subject, Stream: stream},
		}}}}, nil
	})
	return err
}

func (l logs) newStream(ctx context.Context, c adapter.Caller, log string, n int) (string, error) {
	name := streamName(c.Campaign, log, n)
	_, err := l.streams.create(ctx, adapter.Command{
		Caller: c, Stream: name, RequestID: requestid.Derive(name, "create"), RequestHash: log,
	}, log, false)
	return name, err
}

// roll records one event that decide makes of dice. It gives the event the stream and the number of its roll.
func (l logs) roll(ctx context.Context, cmd adapter.Command, decide func(stream string, index int, dice *play.Dice) (*dicev1.RollLogEvent, error)) (logAnswer, error) {
	if cmd.Refusal == nil {
		if err := l.ensure(ctx, cmd.Caller, cmd.Stream); err != nil {
			return logAnswer{}, err
		}
	}
	return l.agg.Commit(ctx, cmd, func(_ context.Context, at journal.At[logState], dice *play.Dice) (adapter.Decision[*dicev1.RollLogEvent], error) {
		stream, index := at.State.Stream, at.Next()
		if dice.Reported() {
			stream, index = "", 0
		}
		event, err := decide(stream, index, dice)
		if err != nil {
			return adapter.Decision[*dicev1.RollLogEvent]{}, err
		}
		return adapter.Decision[*dicev1.RollLogEvent]{Events: []*dicev1.RollLogEvent{event}}, nil
	})
}

// rotate begins the next stream and reveals the present one.
func (l logs) rotate(ctx context.Context, cmd adapter.Command) (logAnswer, error) {
	if ans, ok, err := l.agg.First(ctx, cmd); err != nil || ok {
		if err == nil {
			err = l.settle(ctx, cmd.Stream)
		}
		return ans, err
	}
	if cmd.Refusal != nil {
		return logAnswer{}, cmd.Refusal
	}
	at, err := l.agg.Load(ctx, cmd.Stream)
	if err != nil {
		return logAnswer{}, err
	}
	// Made before the record that names it: a stream too many harms nobody.
	if _, err := l.newStream(ctx, cmd.Caller, cmd.Stream, len(at.State.Past)+1); err != nil {
		return logAnswer{}, err
	}
	ans, err := l.agg.Commit(ctx, cmd, func(_ context.Context, now journal.At[logState], _ *play.Dice) (adapter.Decision[*dicev1.RollLogEvent], error) {
		if len(now.State.Past) != len(at.State.Past) {
			return adapter.Decision[*dicev1.RollLogEvent]{}, fault.New(fault.Aborted, "STREAM_BUSY", "%s was rotated by somebody else", cmd.Stream).After(100 * time.Millisecond)
		}
		return adapter.Decision[*dicev1.RollLogEvent]{Owing: true, Events: []*dicev1.RollLogEvent{{Event: &dicev1.RollLogEvent_Rotated{
			Rotated: &dicev1.RollLogRotated{Stream: streamName(cmd.Caller.Campaign, cmd.Stream, len(at.State.Past)+1), Revealed: now.State.Stream},
		}}}}, nil
	})
	if err != nil {
		return ans, err
	}
	return ans, l.settle(ctx, cmd.Stream)
}

// settle reveals every stream that the log has left behind.
func (l logs) settle(ctx context.Context, log string) error {
	_, err := l.see(ctx, log)
	return err
}

// see implements the sweep of logs.
func (l logs) see(ctx context.Context, log string) (bool, error) {
	at, err := l.agg.Load(ctx, log)
	if err != nil {
		return false, err
	}
	var errs []error
	for _, stream := range at.State.Past {
		if _, err := l.streams.reveal(ctx, stream); err != nil {
			errs = append(errs, err)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return false, err
	}
	return true, l.agg.Journal().Settle(ctx, log, at.Seq)
}

func logOf(at journal.At[logState]) *dicev1.RollLog {
	return &dicev1.RollLog{
		Name: at.Stream, Owner: at.State.Owner, Stream: at.State.Stream, PastStreams: at.State.Past,
		Seq: int32(at.Seq), CreateTime: timestamppb.New(at.Created), //nolint:gosec // record numbers fit
	}
}

// rolls returns the rolls of an answer with the record that they came from.
func rolls(ans logAnswer) []*dicev1.Roll {
	var out []*dicev1.Roll
	for _, e := range ans.Events {
		for _, r := range e.GetRolled().GetRolls() {
			r := proto.CloneOf(r)
			r.Record = ans.Record
			out = append(out, r)
		}
	}
	return out
}
