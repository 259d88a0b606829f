package expedition

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	dungeonv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dungeon/v1"
	expeditionv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/expedition/v1"
	typev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/type/v1"

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
	// mark is how many minutes make a die by the shipped rules, for delves that do not tell.
	mark = 10
	// mostMinutes is what a delve takes at once.
	mostMinutes = 7 * 24 * 60
)

// manage opens or closes a session, or sets the absence policy.
func (t turn) manage(ctx context.Context, at journal.At[state], who caller) (journal.At[state], error) {
	if p, err := at.State.pending(); err != nil || p != nil {
		return at, errors.Join(err, reused(at.Stream, t.cmd.RequestID)) // a start under the same request_id
	}
	if m := t.cmd.Manage; m.HandOver != "" || m.Reclaim {
		return t.lead(ctx, at, who)
	}
	if !who.gm() && who.subject != at.State.Creator {
		return at, fault.New(fault.PermissionDenied, "NOT_CREATOR", "only its creator or a game master may do that")
	}
	var e *expeditionv1.ExpeditionEvent
	set := at.State.Absence
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
		set = absenceFrom(a)
	}
	events := []*expeditionv1.ExpeditionEvent{e}
	// Nobody was told of the new deadlines before: whoever is waited for has all of that time.
	now, st, by := t.cfg.Clock(), at.State, who.saw("")
	if !set.same(st.Absence) {
		st.Absence, by.cause = set, causeAbsence
		if st.Turn != nil {
			turn := *st.Turn
			if turn.Deadline = set.deadline(now); !turn.same(*st.Turn) {
				events = append(events, turnChanged(&turn))
			}
		}
	}
	if at.State.Run != "" && at.State.Lead != nil {
		snap, err := t.look(ctx, at.State.Run)
		if err != nil {
			return at, err
		}
		if snap.seq == at.State.Logged[snap.name] { // else it is told with the next record
			events = append(events, leads(st, snap, by, now)...)
		}
	}
	done, err := t.add(ctx, at, t.entry, events...)
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
		return t.record(ctx, at, own(at, "clock", ""), c.name, res, sight{}, advanced(s.Number, s.Intended, s.Intended-s.Minutes))
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
		default:
			turn.Deadline = st.Absence.deadline(now)
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

// blockOf is the parameter real_time_block of a delve's ruleset; 0 when there is none.
func blockOf(ruleset *structpb.Struct) int {
	param := ruleset.GetFields()["parameters"].GetStructValue().GetFields()["real_time_block"].GetStructValue().GetFields()
	v, ok := param["value"]
	if !ok {
		v = param["default"]
	}
	return max(0, int(v.GetNumberValue()))
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
		// Each block of minutes makes a die at most (POOL-ADD-02).
		block := cmp.Or(s.Block, mark)
		sooner(s.Session.Opened.Add(time.Duration((s.Session.Minutes/block+1)*block) * time.Minute))
	}
	if due := s.leadPasses(); !due.IsZero() {
		sooner(due)
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
	due := at.State.wake()
	if at, err = s.byItself(ctx, at); err == nil {
		wasDue(ctx, due, s.cfg.Clock())
	}
	return at, err
}

// byItself does what is due.
func (s *Server) byItself(ctx context.Context, at journal.At[state]) (journal.At[state], error) {
	var err error
	t := turn{Server: s, cmd: command{Itself: true}}
	if at, err = t.seeThrough(ctx, at); err != nil {
		return at, err
	}
	if at, err = t.count(ctx, at); err != nil {
		return at, err
	}
	if at, err = t.passOn(ctx, at); err != nil {
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

// standInID is the id under which the expedition takes a turn for a character, from a state of the run. Whoever finds a record
// under it knows what it was.
func standInID(expedition string, due turnOf, character string, seq int32) string {
	return requestid.Derive(expedition, fmt.Sprintf("stand-in/%s/%d/%s/%d", due.Step, due.Round, character, seq))
}

// deed tells what a record of the open run is when the expedition made it by itself: the events that tell of it, and why the
// leader is another one. An attempt may die between the call and the log; then the next one, or any command, logs the record.
func (s state) deed(expedition string, snap snapshot, rec *typev1.Record) ([]*expeditionv1.ExpeditionEvent, cause) {
	if snap.of != runTarget || s.Run != snap.name {
		return nil, 0
	}
	if s.Lead != nil && rec.GetRequestId() == passOnID(expedition, s.Lead.Character, rec.GetSeq()-1) {
		return []*expeditionv1.ExpeditionEvent{executed(promote, snap.name, rec.GetSeq())}, causeAway
	}
	if s.Turn == nil {
		return nil, 0
	}
	characters := s.Turn.Characters
	if s.Turn.Step == stepDraw {
		for _, m := range snap.members {
			characters = append(characters, m.character)
		}
	}
	for _, c := range characters {
		if rec.GetRequestId() == standInID(expedition, *s.Turn, c, rec.GetSeq()-1) {
			return []*expeditionv1.ExpeditionEvent{executed(s.Turn.Step, snap.name, rec.GetSeq()), stoodIn(c, s.Turn.Step, "")}, 0
		}
	}
	return nil, 0
}

// reasonEtag is that of a call whose state somebody else has changed.
const reasonEtag = "ETAG_MISMATCH"

// standIn takes a turn for those who let it pass. When the rules refuse, the turn waits without a deadline. Every call names
// the state that it was made for, so that an attempt that was given up and comes late takes nobody's next turn.
func (t turn) standIn(ctx context.Context, at journal.At[state], due turnOf) (journal.At[state], error) {
	res, err := t.runs.GetRun(auth.WithoutActor(ctx), &dungeonv1.GetRunRequest{Name: at.State.Run})
	if err != nil {
		return at, err
	}
	run := res.GetRun()
	const reason = "the turn was let pass"
	characters := slices.Clone(due.Characters)
	if due.Step == stepDraw {
		for _, m := range run.GetMembers() {
			characters = append(characters, m.GetCharacter())
		}
	}
	var last string
	for i, character := range characters {
		id := standInID(at.Stream, due, character, run.GetSeq())
		var c call
		switch due.Step {
		case stepDraw:
			// Whose turn it is only the rules know: the first who is not refused. Skipping takes whoever comes.
			req := &dungeonv1.DrawRequest{Name: run.GetName(), Character: character, RequestId: id, Etag: run.GetEtag()}
			if at.State.Absence.Policy == expeditionv1.Absence_POLICY_SKIP {
				req.OverrideReason = reason
			}
			c = newCall(stepDraw, req)
		case stepAct:
			c = newCall(stepAct, &dungeonv1.ActRequest{
				Name: run.GetName(), Character: character, RequestId: id, Etag: run.GetEtag(), Action: basicAction(run.GetChallenge().GetAbility()),
			})
		default:
			c = newCall(stepComplete, &dungeonv1.CompleteRequest{
				Name: run.GetName(), Character: character, OverrideReason: reason, RequestId: id, Etag: run.GetEtag(),
			})
		}
		done, err := t.invoke(auth.WithoutActor(ctx), c)
		switch {
		case err == nil:
			last = ""
			if t.afterCall != nil {
				t.afterCall(ctx, c.name)
			}
			if at, err = t.recordOwn(ctx, at, "stand-in", done); err != nil {
				return at, err
			}
			if due.Step == stepDraw {
				return at, nil
			}
			run = done.(interface{ GetRun() *dungeonv1.Run }).GetRun() //nolint:forcetypeassert // the answers of runs
		case fault.ReasonOf(fault.FromStatus(err)) == reasonEtag:
			return at, errMoved
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

// basicAction is what a member can contribute to a challenge without a tool or a risk. There is one for each ability, and a
// challenge takes none but that of its own (DIG-ACT-01), so it is the best there is.
func basicAction(ability string) *dungeonv1.Action {
	return &dungeonv1.Action{Means: &dungeonv1.Action_Basic{Basic: ability}}
}

func stoodIn(character, step, refused string) *expeditionv1.ExpeditionEvent {
	return &expeditionv1.ExpeditionEvent{Event: &expeditionv1.ExpeditionEvent_StoodIn{
		StoodIn: &expeditionv1.StoodIn{Character: character, Step: step, Refused: refused},
	}}
}
