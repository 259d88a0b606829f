package expedition

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	expeditionv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/expedition/v1"
	typev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/type/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/journal"
)

// marshal gives the JSON that the log keeps. protojson varies its spaces on purpose; the log should not.
func marshal(m proto.Message) (json.RawMessage, error) {
	raw, err := protojson.Marshal(m)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func marshalEvents(events []*expeditionv1.ExpeditionEvent) ([]json.RawMessage, error) {
	out := make([]json.RawMessage, len(events))
	for i, e := range events {
		raw, err := marshal(e)
		if err != nil {
			return nil, fmt.Errorf("event %d: %w", i, err)
		}
		out[i] = raw
	}
	return out, nil
}

func eventsOf(r journal.Record) ([]*expeditionv1.ExpeditionEvent, error) {
	out := make([]*expeditionv1.ExpeditionEvent, len(r.Events))
	for i, raw := range r.Events {
		out[i] = &expeditionv1.ExpeditionEvent{}
		if err := protojson.Unmarshal(raw, out[i]); err != nil {
			return nil, fmt.Errorf("event %d of record %d of %s: %w", i, r.Seq, r.Stream, err)
		}
	}
	return out, nil
}

func recordOf(r journal.Record) *typev1.Record {
	rec := &typev1.Record{
		Seq: int32(r.Seq), RequestId: r.RequestID, Actor: r.Actor, Time: timestamppb.New(r.Time), //nolint:gosec // record numbers fit
	}
	if r.OverrideReason != "" {
		rec.OverrideReason = proto.String(r.OverrideReason)
	}
	return rec
}

// errMoved says that the log has grown since the events to append were made.
var errMoved = errors.New("the log has grown meanwhile")

// add appends events that were made for the state at. It fails with errMoved when the log has grown since, unless it grew
// by this very command.
func (s *Server) add(ctx context.Context, at journal.At[state], cmd journal.Command, events ...*expeditionv1.ExpeditionEvent) (journal.Committed[state], error) {
	cmd.Stream, cmd.Campaign, cmd.Mode = at.Stream, at.Campaign, journal.MustExist
	done, err := s.log.Commit(ctx, cmd, func(_ context.Context, now journal.At[state]) (journal.Decision, error) {
		if now.Seq != at.Seq {
			return journal.Decision{}, errMoved
		}
		raw, err := marshalEvents(events)
		return journal.Decision{Events: raw}, err
	})
	if err == nil && !done.Replayed {
		entered(ctx, at.State.Phase, done.State.State.Phase)
	}
	return done, err
}

// The events, wrapped.

func logged(l *expeditionv1.RecordLogged) *expeditionv1.ExpeditionEvent {
	return &expeditionv1.ExpeditionEvent{Event: &expeditionv1.ExpeditionEvent_Logged{Logged: l}}
}

func executed(command, aggregate string, seq int32) *expeditionv1.ExpeditionEvent {
	return &expeditionv1.ExpeditionEvent{Event: &expeditionv1.ExpeditionEvent_Executed{
		Executed: &expeditionv1.CommandExecuted{Command: command, Aggregate: aggregate, Seq: seq},
	}}
}

func concluded(abandoned bool) *expeditionv1.ExpeditionEvent {
	return &expeditionv1.ExpeditionEvent{Event: &expeditionv1.ExpeditionEvent_Concluded{
		Concluded: &expeditionv1.ExpeditionConcluded{Abandoned: abandoned},
	}}
}
