package expedition

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/timestamppb"

	dungeonv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dungeon/v1"
	expeditionv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/expedition/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/auth"
	"github.com/wayfarer-rpg/wayfarer/internal/fault"
	"github.com/wayfarer-rpg/wayfarer/internal/journal"
	"github.com/wayfarer-rpg/wayfarer/internal/requestid"
)

// Reasons of refusals.
const (
	reasonSessionOpen = "SESSION_OPEN"
	reasonNoSession   = "NO_SESSION"
)

// Steps of a run that somebody has to take.
const (
	stepDraw     = "draw"
	stepAct      = "act"
	stepComplete = "complete"
)

const (
	// mark is how often the minutes of a session are counted by themselves: each makes a die at most (POOL-ADD-02).
	mark = 10
	// mostMinutes is what a delve takes at once.
	mostMinutes = 7 * 24 * 60
)

// manage opens or closes a session, or sets the absence policy.
func (t turn) manage(ctx context.Context, at journal.At[state], who caller) (journal.At[state], error) {
	if p, err := at.State.pending(); err != nil || p != nil {
		return at, errors.Join(err, reused(at.Stream, t.cmd.RequestID)) // a start under the same request_id
	}
	if !who.gm() && who.subject != at.State.Creator {
		return at, fault.New(fault.PermissionDenied, "NOT_CREATOR", "only its creator or a game master may do that")
	}
	var e *expeditionv1.ExpeditionEvent
	switch m := t.cmd.Manage; {
	case m.Open && at.State.Session != nil:
		return at, fault.New(fault.FailedPrecondition, reasonSessionOpen, "session %d is open", at.State.Session.Number)
	case m.Open:
		e = &expeditionv1.ExpeditionEvent{Event: &expeditionv1.ExpeditionEvent_SessionOpened{SessionOpened: &expeditionv1.SessionOpened{
			Number: int32(at.State.Sessions + 1), Time: timestamppb.New(t.cfg.Clock().UTC().Truncate(time.Millisecond)), //nolint:gosec // few
		}}}
	case m.Close && at.State.Session == nil:
		return at, fault.New(fault.FailedPrecondition, reasonNoSession, "no session is open")
	case m.Close:
		var err error
		if at, err = t.count(ctx, at); err != nil {
			return at, err
		}
		e = &expeditionv1.ExpeditionEvent{Event: &expeditionv1.ExpeditionEvent_SessionClosed{
			SessionClosed: &expeditionv1.SessionClosed{Number: int32(at.State.Session.Number)}, //nolint:gosec // few
		}}
	default:
		a := &expeditionv1.Absence{}
		if err := protojson.Unmarshal(m.Absence, a); err != nil {
			return at, err
		}
		e = &expeditionv1.ExpeditionEvent{Event: &expeditionv1.ExpeditionEvent_AbsenceSet{AbsenceSet: &expeditionv1.AbsenceSet{Absence: a}}}
	}
	done, err := t.add(ctx, at, t.entry, e)
	return done.State, err
}

// count tells the open delve of the minutes that have passed since the last time, while a session is open. How many is
// journaled first, so that an attempt that dies between the call and the log counts nothing twice.
func (t turn) count(ctx context.Context, at journal.At[state]) (journal.At[state], error) {
	for at.State.Session != nil {
		s := at.State.Session
		passed := int(t.cfg.Clock().Sub(s.Opened) / time.Minute)
		switch {
		case s.Intended > s.Minutes:
			var err error
			if at, err = t.advance(ctx, at); err != nil {
				return at, err
			}
			continue
		case passed <= s.Minutes: // also when the clock went back
			return at, nil
		}
		var e *expeditionv1.ExpeditionEvent
		if at.State.Delve == "" {
			e = advanced(s.Number, passed, 0)
		} else {
			e = &expeditionv1.ExpeditionEvent{Event: &expeditionv1.ExpeditionEvent_ClockIntended{ClockIntended: &expeditionv1.ClockIntended{
				Session: int32(s.Number), Minutes: int32(min(passed, s.Minutes+mostMinutes)), Delve: at.State.Delve, //nolint:gosec // see mostMinutes
			}}}
		}
		done, err := t.add(ctx, at, own(at, "clock", ""), e)
		if err != nil {
			return at, err
		}
		at = done.State
	}
	return at, nil
}

func advanced(session, minutes, counted int) *expeditionv1.ExpeditionEvent {
	return &expeditionv1.ExpeditionEvent{Event: &expeditionv1.ExpeditionEvent_ClockAdvanced{ClockAdvanced: &expeditionv1.ClockAdvanced{
		Session: int32(session), Minutes: int32(minutes), Counted: int32(counted), //nolint:gosec // see mostMinutes
	}}}
}

// advance makes the call that was intended.
func (t turn) advance(ctx context.Context, at journal.At[state]) (journal.At[state], error) {
	s := *at.State.Session
	c := newCall("add_real_time", &dungeonv1.AddRealTimeRequest{
		Name: s.Delve, Minutes: int32(s.Intended - s.Minutes), //nolint:gosec // see mostMinutes
		RequestId: requestid.Derive(at.Stream, fmt.Sprintf("clock/%d/%d", s.Number, s.Intended)),
	})
	res, err := t.invoke(auth.WithoutActor(ctx), c)
	switch {
	case err == nil:
		if t.afterCall != nil {
			t.afterCall(ctx, c.name)
		}
		return t.record(ctx, at, own(at, "clock", ""), c.name, res, advanced(s.Number, s.Intended, s.Intended-s.Minutes))
	case !final(err):
		return at, err
	}
	// They have not begun to explore, or have left.
	done, err := t.add(ctx, at, own(at, "clock", ""), advanced(s.Number, s.Intended, 0))
	return done.State, err
}

// passes tells of a turn that has gone to somebody else. A turn keeps its deadline while others of the same step still
// have to take it.
func passes(st state, snap snapshot, now time.Time) []*expeditionv1.ExpeditionEvent {
	if snap.of != runTarget || st.Run != "" && st.Run != snap.name {
		return nil
	}
	next := snap.turn
	if next != nil {
		turn := *next
		switch was := st.Turn; {
		case was != nil && was.Step == turn.Step && was.Round == turn.Round:
			turn.Deadline = was.Deadline
		case st.Absence.IdleAfter > 0:
			turn.Deadline = now.Add(st.Absence.IdleAfter).UTC().Truncate(time.Millisecond)
		}
		next = &turn
	}
	if st.Turn == nil && next == nil || st.Turn != nil && next != nil && st.Turn.same(*next) {
		return nil
	}
	return []*expeditionv1.ExpeditionEvent{turnChanged(next)}
}

func turnChanged(t *turnOf) *expeditionv1.ExpeditionEvent {
	return &expeditionv1.ExpeditionEvent{Event: &expeditionv1.ExpeditionEvent_TurnChanged{TurnChanged: &expeditionv1.TurnChanged{Turn: turnToProto(t)}}}
}

func (t turnOf) same(o turnOf) bool {
	return t.Step == o.Step && t.Round == o.Round && t.Deadline.Equal(o.Deadline) && slices.Equal(t.Characters, o.Characters)
}

// wake is when the expedition has something to do by itself; zero: never.
func (s state) wake() time.Time {
	var at time.Time
	sooner := func(t time.Time) {
		if at.IsZero() || t.Before(at) {
			at = t
		}
	}
	if s.Session != nil && s.Delve != "" {
		sooner(s.Session.Opened.Add(time.Duration(s.Session.Minutes/mark+1) * mark * time.Minute))
	}
	if s.Turn != nil && !s.Turn.Deadline.IsZero() && s.Absence.acts() {
		sooner(s.Turn.Deadline)
	}
	return at
}

// tickExpedition is the activity that does what an expedition has to do by itself: it counts the minutes of a session and
// stands in for those who let their turn pass.
func (s *Server) tickExpedition(ctx context.Context, name string) (standing, error) {
	defer beat(ctx)()
	for range moves {
		at, err := s.tick(ctx, name)
		switch {
		case errors.Is(err, errMoved):
			continue
		case err != nil:
			s.cfg.Logger.WarnContext(ctx, "not done by itself", "expedition", name, "err", err)
			return standing{}, packed(err, false)
		}
		return standingOf(at), nil
	}
	return standing{}, pack(fault.New(fault.Aborted, "STREAM_BUSY", "%s keeps changing", name).After(settlePause))
}

func (s *Server) tick(ctx context.Context, name string) (journal.At[state], error) {
	at, err := s.log.Load(ctx, name)
	if err != nil || at.State.Phase == Concluded {
		return at, err
	}
	t := turn{Server: s, cmd: command{Itself: true}}
	if at, err = t.seeThrough(ctx, at); err != nil {
		return at, err
	}
	if at, err = t.count(ctx, at); err != nil {
		return at, err
	}
	turn := at.State.Turn
	if turn == nil || turn.Deadline.IsZero() || !at.State.Absence.acts() || s.cfg.Clock().Before(turn.Deadline) {
		return at, nil
	}
	// What the log does not know yet may have been the turn.
	at, grew, err := s.catchUp(ctx, at, at.State.Run)
	if err != nil || grew {
		return at, err
	}
	return t.standIn(ctx, at, *turn)
}

// standIn takes a turn for those who let it pass. When the rules refuse, the turn waits without a deadline.
func (t turn) standIn(ctx context.Context, at journal.At[state], due turnOf) (journal.At[state], error) {
	run, err := t.runs.GetRun(auth.WithoutActor(ctx), &dungeonv1.GetRunRequest{Name: at.State.Run})
	if err != nil {
		return at, err
	}
	const reason = "the turn was let pass"
	characters := due.Characters
	if due.Step == stepDraw {
		for _, m := range run.GetRun().GetMembers() {
			characters = append(characters, m.GetCharacter())
		}
	}
	var last string
	for i, character := range characters {
		id := requestid.Derive(at.Stream, fmt.Sprintf("stand-in/%s/%d/%s/%d", due.Step, due.Round, character, due.Deadline.UnixMilli()))
		var c call
		switch due.Step {
		case stepDraw:
			// Whose turn it is only the rules know: the first who is not refused. Skipping takes whoever comes.
			req := &dungeonv1.DrawRequest{Name: at.State.Run, Character: character, RequestId: id}
			if at.State.Absence.Policy == expeditionv1.Absence_POLICY_SKIP {
				req.OverrideReason = reason
			}
			c = newCall("draw", req)
		case stepAct:
			c = newCall("act", &dungeonv1.ActRequest{
				Name: at.State.Run, Character: character, RequestId: id, Action: basicAction(run.GetRun().GetChallenge().GetAbility()),
			})
		default:
			c = newCall("complete", &dungeonv1.CompleteRequest{Name: at.State.Run, Character: character, OverrideReason: reason, RequestId: id})
		}
		res, err := t.invoke(auth.WithoutActor(ctx), c)
		switch {
		case err == nil:
			last = ""
			if at, err = t.record(ctx, at, own(at, "stand-in", ""), c.name, res, stoodIn(character, due.Step, "")); err != nil {
				return at, err
			}
			if due.Step == stepDraw {
				return at, nil
			}
		case !final(err):
			return at, err
		default:
			last = fault.ReasonOf(fault.FromStatus(err))
			if due.Step != stepDraw || i == len(characters)-1 {
				done, err := t.add(ctx, at, own(at, "stand-in", ""), stoodIn(character, due.Step, last))
				if err != nil {
					return at, err
				}
				at = done.State
			}
		}
	}
	if last == "" || at.State.Turn == nil || !at.State.Turn.same(due) {
		return at, nil
	}
	due.Deadline = time.Time{}
	done, err := t.add(ctx, at, own(at, "stand-in", ""), turnChanged(&due))
	return done.State, err
}

// basicAction is the least that a member can contribute to a challenge.
func basicAction(ability string) *dungeonv1.Action {
	return &dungeonv1.Action{Means: &dungeonv1.Action_Basic{Basic: ability}}
}

func stoodIn(character, step, refused string) *expeditionv1.ExpeditionEvent {
	return &expeditionv1.ExpeditionEvent{Event: &expeditionv1.ExpeditionEvent_StoodIn{
		StoodIn: &expeditionv1.StoodIn{Character: character, Step: step, Refused: refused},
	}}
}
