package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	dungeonv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dungeon/v1"
	expeditionv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/expedition/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/journal"
)

// lengths are the histories whose commands are compared, in records: the first is the baseline. What the longer ones are
// made of is one real record, repeated.
var lengths = [...]int{10, 1_000, 10_000}

// slower is how much a command may cost more for the history behind it.
const slower = 1.2

// sampled is how many commands each history gets.
const sampled = 70

// byLength measures a command of each history in turn and makes rows of them. Again prepares the next commands, so many.
func byLength(name string, batch int, again func() error, command func(i int) error) ([]row, error) {
	var took [len(lengths)][]time.Duration
	for n := -batch; n < sampled; n += batch { // the first batch warms up
		if err := again(); err != nil {
			return nil, err
		}
		for range batch {
			for i := range lengths {
				d, err := timed(func() error { return command(i) })
				if err != nil {
					return nil, fmt.Errorf("after %d records: %w", lengths[i], err)
				}
				if n >= 0 {
					took[i] = append(took[i], d)
				}
			}
		}
	}
	var rows []row
	base := float64(median(took[0]))
	for i, n := range lengths[1:] {
		rows = append(rows, row{
			name: fmt.Sprintf("%s after %d records, SQLite", name, n), than: fmt.Sprintf("after %d", lengths[0]),
			baseline: base, measured: float64(median(took[i+1])), goal: ratioAtMost(slower),
		})
	}
	return rows, nil
}

// stretch repeats the last record of a stream until there are n records. Renumber fits the events to their new record.
func stretch(ctx context.Context, s journal.Store, stream string, last, n int, renumber func(events []json.RawMessage, seq int) ([]json.RawMessage, error)) error {
	recs, err := s.Read(ctx, stream, last-1, 1)
	if err != nil || len(recs) != 1 {
		return fmt.Errorf("read record %d of %s: %d found: %w", last, stream, len(recs), err)
	}
	rec := recs[0]
	for seq := last + 1; seq <= n; seq++ {
		next := rec
		next.Seq, next.RequestID = seq, fmt.Sprintf("stretched-%d", seq)
		if next.Events, err = renumber(rec.Events, seq); err != nil {
			return err
		}
		if err := s.Insert(ctx, next); err != nil {
			return err
		}
	}
	return nil
}

// longRuns compares acts in runs with histories of different lengths. Rounds go on for ever: before each the GM lets
// everybody recover.
func longRuns(ctx context.Context, dir string) (rows []row, err error) {
	h, err := newHouse(ctx, dir, inFiles(dir))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	user, err := h.as(ctx, gm)
	if err != nil {
		return nil, err
	}
	api := dungeonv1.NewRunServiceClient(h.conns[delving])
	var runs [len(lengths)]string
	var waiting [len(lengths)][]string
	for i, n := range lengths {
		if runs[i], waiting[i], err = h.enter(user, fmt.Sprintf("long-%d", i), sampled/seats+4); err != nil {
			return nil, err
		}
		res, err := api.AdjustRun(user, &dungeonv1.AdjustRunRequest{Name: runs[i], Reason: "nothing changes", Exploration: proto.Int32(0), RequestId: h.id()})
		if err != nil {
			return nil, err
		}
		same := func(events []json.RawMessage, _ int) ([]json.RawMessage, error) { return events, nil }
		if err := stretch(ctx, h.stores[delving], runs[i], int(res.GetRun().GetSeq()), n, same); err != nil {
			return nil, err
		}
	}
	again := func() error {
		for i, run := range runs {
			if len(waiting[i]) > 0 {
				continue // the entry
			}
			if waiting[i], err = h.round(user, api, run); err != nil {
				return err
			}
		}
		return nil
	}
	return byLength("RunService.Act", seats, again, func(i int) error {
		who := waiting[i][0]
		waiting[i] = waiting[i][1:]
		_, err := api.Act(user, &dungeonv1.ActRequest{
			Name: runs[i], Character: who, Action: &dungeonv1.Action{Means: &dungeonv1.Action_Basic{Basic: "force"}}, RequestId: h.id(),
		})
		return err
	})
}

// round ends the round of a run, lets everybody recover and draws the next challenge.
func (h *house) round(user context.Context, api dungeonv1.RunServiceClient, run string) (waiting []string, err error) {
	const why = "bench"
	got, err := api.GetRun(user, &dungeonv1.GetRunRequest{Name: run})
	if err != nil {
		return nil, err
	}
	leader := got.GetRun().GetLeader()
	_, err = api.Complete(user, &dungeonv1.CompleteRequest{Name: run, Character: leader, OverrideReason: why, RequestId: h.id()})
	if err != nil {
		return nil, fmt.Errorf("complete: %w", err)
	}
	adjust := &dungeonv1.AdjustRunRequest{Name: run, Reason: why, Exploration: proto.Int32(0), ClearConditions: true, RequestId: h.id()}
	for _, m := range got.GetRun().GetMembers() {
		adjust.Members = append(adjust.Members, &dungeonv1.RunMemberAdjustment{Character: m.GetCharacter(), Exhaustion: proto.Int32(0)})
	}
	if _, err := api.AdjustRun(user, adjust); err != nil {
		return nil, fmt.Errorf("adjust: %w", err)
	}
	res, err := api.Draw(user, &dungeonv1.DrawRequest{Name: run, Character: leader, OverrideReason: why, RequestId: h.id()})
	if err != nil {
		return nil, fmt.Errorf("draw: %w", err)
	}
	waiting = res.GetRun().GetChallenge().GetWaiting()
	if len(waiting) != seats {
		return nil, fmt.Errorf("%d have to act, not %d", len(waiting), seats)
	}
	return waiting, nil
}

// longExpeditions compares commands of expeditions with histories of different lengths, that of the journey included.
func (c config) longExpeditions(ctx context.Context, dir string) (rows []row, err error) {
	const name = "ExpeditionService.Execute"
	q, err := c.newQuest(ctx, dir)
	if err != nil {
		return nil, err
	}
	if q == nil {
		return []row{{name: name + " after many records, SQLite", than: "after few", missing: noServer}}, nil
	}
	defer func() { err = errors.Join(err, q.Close()) }()
	user, err := q.as(ctx, gm)
	if err != nil {
		return nil, err
	}
	var names [len(lengths)]string
	for i, n := range lengths {
		if names[i], err = q.set(user, fmt.Sprintf("long-%d", i)); err != nil {
			return nil, err
		}
		if err := q.command(user, names[i]); err != nil {
			return nil, err
		}
		if err := q.stretch(ctx, user, names[i], n); err != nil {
			return nil, err
		}
	}
	return byLength(name, 10, func() error { return nil }, func(i int) error { return q.command(user, names[i]) })
}

// stretch repeats the last command of an expedition, in its log and in its journey, until the log has n records.
func (q *quest) stretch(ctx, user context.Context, name string, n int) error {
	got, err := expeditionv1.NewExpeditionServiceClient(q.conns[questing]).GetExpedition(user, &expeditionv1.GetExpeditionRequest{Name: name})
	if err != nil {
		return err
	}
	journey, last := got.GetExpedition().GetJourney(), int(got.GetExpedition().GetSeq())
	recs, err := q.stores[marching].Read(ctx, journey, 0, 100)
	if err != nil {
		return err
	}
	ahead := len(recs) - last // of the log, which knows of some records of the journey together
	same := func(events []json.RawMessage, _ int) ([]json.RawMessage, error) { return events, nil }
	if err := stretch(ctx, q.stores[marching], journey, len(recs), n+ahead, same); err != nil {
		return err
	}
	return stretch(ctx, q.stores[questing], name, last, n, func(events []json.RawMessage, seq int) ([]json.RawMessage, error) {
		out := make([]json.RawMessage, len(events))
		for i, raw := range events {
			ev := &expeditionv1.ExpeditionEvent{}
			if err := protojson.Unmarshal(raw, ev); err != nil {
				return nil, err
			}
			own := int32(seq + ahead) //nolint:gosec // some thousand
			switch e := ev.GetEvent().(type) {
			case *expeditionv1.ExpeditionEvent_Logged:
				e.Logged.Record.Seq, e.Logged.Record.RequestId = own, fmt.Sprintf("stretched-%d", own)
			case *expeditionv1.ExpeditionEvent_Executed:
				e.Executed.Seq = own
			default:
				return nil, fmt.Errorf("a command that leads to %T cannot be repeated", e)
			}
			if out[i], err = protojson.Marshal(ev); err != nil {
				return nil, err
			}
		}
		return out, nil
	})
}
