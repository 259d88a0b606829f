package expedition

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/activity"
	"google.golang.org/protobuf/encoding/protojson"

	dungeonv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dungeon/v1"
	expeditionv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/expedition/v1"
	travelv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/travel/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/fault"
	"github.com/wayfarer-rpg/wayfarer/internal/journal"
	"github.com/wayfarer-rpg/wayfarer/internal/requestid"
)

const (
	// moves is how often a command begins again because the log grew under it, which takes an attempt that was given up
	// and is still at work.
	moves = 8
	// settlePause is how long to wait for a run or journey that gives back what it borrowed.
	settlePause = 500 * time.Millisecond
	// patience is how long a command is tried again while something is away that it needs, or is not done yet.
	patience = 5 * time.Second
)

// restoreExpedition is the activity that reads where an expedition stands.
func (s *Server) restoreExpedition(ctx context.Context, name string) (standing, error) {
	defer beat(ctx)()
	at, err := s.log.Load(ctx, name)
	if err != nil {
		return standing{}, pack(err)
	}
	return standingOf(at), nil
}

// beat tells Temporal that the worker is alive, until what it returns is called or the worker is stopped.
func beat(ctx context.Context) (stop func()) {
	if !activity.IsActivity(ctx) {
		return func() {}
	}
	ctx, stop = context.WithCancel(ctx)
	go func() {
		tick := time.NewTicker(beatEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				activity.RecordHeartbeat(ctx)
			}
		}
	}()
	return stop
}

func standingOf(at journal.At[state]) standing {
	return standing{Phase: at.State.Phase, Seq: at.Seq, Wake: at.State.wake()}
}

// executeCommand is the activity that carries out one command. It may be repeated, and attempts may overlap.
func (s *Server) executeCommand(ctx context.Context, name string, cmd command) (standing, error) {
	defer beat(ctx)()
	for range moves {
		at, err := s.carryOut(ctx, name, cmd)
		switch {
		case errors.Is(err, errMoved):
			continue
		case err != nil:
			if first, ok := s.overtaken(ctx, name, cmd, err); ok {
				return standingOf(first), nil
			}
			if _, known := fault.ToStatus(err); !known {
				s.cfg.Logger.ErrorContext(ctx, "command not carried out", "expedition", name, "err", err)
			}
			return standing{}, packed(err, final(err) || tired(ctx, err))
		}
		return standingOf(at), nil
	}
	return standing{}, pack(fault.New(fault.Aborted, "STREAM_BUSY", "%s keeps changing", name).After(settlePause))
}

// overtaken looks, before a command is refused, whether an attempt at it that was given up and still at work has come through
// meanwhile: what a command did may be what refuses its own repetition.
func (s *Server) overtaken(ctx context.Context, name string, cmd command, refusal error) (journal.At[state], bool) {
	if !final(refusal) {
		return journal.At[state]{}, false // it is repeated, and looks anew
	}
	first, ok, err := s.log.Answer(ctx, journal.Command{Stream: name, RequestID: cmd.RequestID, RequestHash: cmd.RequestHash, Actor: cmd.Actor})
	return first.State, err == nil && ok
}

// tired tells whether a command has been tried for long enough with something away that it needs. A short absence is
// nobody's business; of a longer one the caller is told, and comes again when they like.
func tired(ctx context.Context, err error) bool {
	return fault.KindOf(fault.FromStatus(err)) == fault.Unavailable && activity.IsActivity(ctx) &&
		time.Since(activity.GetInfo(ctx).ScheduledTime) > patience
}

// turn is one attempt at a command.
type turn struct {
	*Server
	cmd command
	// entry is what the command is recorded as.
	entry journal.Command
	// derived is the parent of the request ids of all calls that the command leads to.
	derived string
}

func (s *Server) carryOut(ctx context.Context, name string, cmd command) (journal.At[state], error) {
	t := turn{
		Server: s, cmd: cmd, derived: requestid.Derive(name, cmd.RequestID),
		entry: journal.Command{Stream: name, RequestID: cmd.RequestID, RequestHash: cmd.RequestHash, Actor: cmd.Actor},
	}
	// Another attempt may have come through, or the same request by another way.
	if first, ok, err := s.log.Answer(ctx, t.entry); err != nil || ok {
		return first.State, err
	}
	at, err := s.log.Load(ctx, name)
	if err != nil {
		return at, err
	}
	switch {
	case at.State.Phase == Concluded && cmd.Canceled:
		return at, nil
	case at.State.Phase == Concluded:
		return at, allowed(Concluded, "", journeyTarget, journeyTarget)
	}
	who, err := s.callerOf(ctx, name, cmd.Actor, cmd.Itself)
	if err != nil {
		return at, err
	}
	if err := who.requirePlay(); err != nil {
		return at, err
	}
	if at, err = t.seeThrough(ctx, at); err != nil {
		return at, err
	}
	if at, _, err = s.catchUp(ctx, at, at.State.Settling...); err != nil {
		return at, err
	}
	if cmd.Canceled {
		return t.abandon(ctx, at, who, &expeditionv1.AbandonExpeditionRequest{Name: name, OverrideReason: "the workflow was canceled"})
	}
	if cmd.Abandon != nil {
		req := &expeditionv1.AbandonExpeditionRequest{}
		if err := protojson.Unmarshal(cmd.Abandon, req); err != nil {
			return at, err
		}
		return t.abandon(ctx, at, who, req)
	}
	if cmd.Manage != nil {
		return t.manage(ctx, at, who)
	}
	c, err := commandOf(cmd.Execute)
	if err != nil {
		return at, err
	}
	return t.execute(ctx, at, c, who.saw(c.character()))
}

// commandOf reads the command of an ExecuteRequest's JSON.
func commandOf(raw []byte) (call, error) {
	req := &expeditionv1.ExecuteRequest{}
	if err := protojson.Unmarshal(raw, req); err != nil {
		return call{}, err
	}
	return callOf(req)
}

// execute gives a command on and records what came of it.
func (t turn) execute(ctx context.Context, at journal.At[state], c call, by sight) (journal.At[state], error) {
	own, err := at.State.pending() // only this command's is left
	if err != nil {
		return at, err
	}
	aggregate, done := at.State.unclaimed(t.derived)
	if own == nil && !done {
		if at, err = t.check(ctx, at, c); err != nil {
			return at, err
		}
		aggregate = at.State.aggregate(c.of)
		if c.name == endJourney {
			if at, err = t.settled(ctx, at); err != nil {
				return at, err
			}
		}
	}
	if err := c.fill(at.Stream, at.State.Company, aggregate, t.cmd.RequestID); err != nil {
		return at, err
	}
	if c.starts() && own == nil {
		if at, err = t.intend(ctx, at, c); err != nil {
			return at, err
		}
	}
	if c.of == delveTarget && !done {
		// Before the command: the minutes until now passed before it.
		if at, err = t.count(ctx, at); err != nil {
			return at, err
		}
	}
	res, err := t.invoke(as(ctx, t.cmd.Actor, t.cmd.Itself), c)
	if err != nil {
		return t.refused(ctx, at, c, err)
	}
	if t.afterCall != nil {
		t.afterCall(ctx, c.name)
	}
	return t.record(ctx, at, t.entry, c.name, res, by)
}

// check refuses what cannot be given in this phase. The log may lag behind: a command whose activity was given up may
// have been carried out. So before it refuses it asks the services.
func (s *Server) check(ctx context.Context, at journal.At[state], c call) (journal.At[state], error) {
	refusal := allowed(at.State.Phase, c.name, c.of, at.State.inside())
	if refusal == nil {
		return at, nil
	}
	at, grew, err := s.catchUp(ctx, at, at.State.open()...)
	if err != nil || !grew {
		return at, errors.Join(err, refusal)
	}
	return at, allowed(at.State.Phase, c.name, c.of, at.State.inside())
}

// intend journals a start before it is made, so that whoever comes next knows of it.
func (t turn) intend(ctx context.Context, at journal.At[state], c call) (journal.At[state], error) {
	p := &expeditionv1.StartIntended{
		RequestId: t.cmd.RequestID, RequestHash: t.cmd.RequestHash, Actor: t.cmd.Actor, Itself: t.cmd.Itself,
		Command: &expeditionv1.StartCommand{},
	}
	switch req := c.req.(type) {
	case *travelv1.StartJourneyRequest:
		p.Command.Command = &expeditionv1.StartCommand_StartJourney{StartJourney: req}
	case *dungeonv1.StartRunRequest:
		p.Command.Command = &expeditionv1.StartCommand_StartRun{StartRun: req}
	case *dungeonv1.CreateDelveRequest:
		p.Command.Command = &expeditionv1.StartCommand_StartDelve{StartDelve: req}
	}
	e := &expeditionv1.ExpeditionEvent{Event: &expeditionv1.ExpeditionEvent_StartIntended{StartIntended: p}}
	done, err := t.add(ctx, at, own(at, "intend", t.cmd.Actor), e)
	return done.State, err
}

// seeThrough carries a start through that another command began and did not finish. A start of this very command is
// left to it.
func (t turn) seeThrough(ctx context.Context, at journal.At[state]) (journal.At[state], error) {
	p, err := at.State.pending()
	if err != nil || p == nil {
		return at, err
	}
	if p.GetRequestId() == t.cmd.RequestID {
		if p.GetRequestHash() != t.cmd.RequestHash {
			return at, reused(at.Stream, t.cmd.RequestID)
		}
		return at, nil
	}
	var c call
	switch start := p.GetCommand().GetCommand().(type) {
	case *expeditionv1.StartCommand_StartJourney:
		c = newCall(startJourney, start.StartJourney)
	case *expeditionv1.StartCommand_StartRun:
		c = newCall(startRun, start.StartRun)
	case *expeditionv1.StartCommand_StartDelve:
		c = newCall(startDelve, start.StartDelve)
	default:
		return at, fmt.Errorf("%s has begun to start a %T", at.Stream, start)
	}
	res, err := t.invoke(as(ctx, p.GetActor(), p.GetItself()), c)
	if err != nil {
		if !final(err) {
			return at, err
		}
		return t.forget(ctx, at, p.GetRequestId(), err)
	}
	entry := journal.Command{RequestID: p.GetRequestId(), RequestHash: p.GetRequestHash(), Actor: p.GetActor()}
	return t.record(ctx, at, entry, c.name, res, sight{})
}

// forget ends a start that the owning service refused.
func (t turn) forget(ctx context.Context, at journal.At[state], requestID string, why error) (journal.At[state], error) {
	f := fault.FromStatus(why)
	e := &expeditionv1.ExpeditionEvent{Event: &expeditionv1.ExpeditionEvent_StartRefused{StartRefused: &expeditionv1.StartRefused{
		RequestId: requestID, Code: int32(fault.KindOf(f)), Reason: fault.ReasonOf(f), //nolint:gosec // a gRPC code
	}}}
	done, err := t.add(ctx, at, own(at, "refused", t.cmd.Actor), e)
	return done.State, err
}

// refused tidies up after the owning service's error, and returns it.
func (t turn) refused(ctx context.Context, at journal.At[state], c call, why error) (journal.At[state], error) {
	if !final(why) {
		return at, why // the activity is repeated
	}
	if c.starts() {
		if next, err := t.forget(ctx, at, t.cmd.RequestID, why); err != nil {
			return next, err
		}
		return at, why
	}
	// Something may have happened there that the log does not know.
	if _, _, err := t.catchUp(ctx, at, at.State.open()...); err != nil && !errors.Is(err, errMoved) {
		t.cfg.Logger.WarnContext(ctx, "log not caught up", "expedition", at.Stream, "err", err)
	}
	return at, why
}

// record appends what came of a command: every record that the log lacks, the command, and what follows from it.
// The events more come last. Who was seen by the command is by.
func (s *Server) record(ctx context.Context, at journal.At[state], entry journal.Command, name string, res answer, by sight, more ...*expeditionv1.ExpeditionEvent) (journal.At[state], error) {
	events, snap, err := s.outcomeOf(ctx, at, res, by)
	if err != nil {
		return at, err
	}
	events = slices.Insert(events, len(events)-trailing(events), executed(name, snap.name, res.GetRecord().GetSeq()))
	done, err := s.add(ctx, at, entry, append(events, more...)...)
	return done.State, err
}

// recordOwn appends what came of something that the expedition did by itself: step knows it by its id.
func (s *Server) recordOwn(ctx context.Context, at journal.At[state], step string, res answer) (journal.At[state], error) {
	events, _, err := s.outcomeOf(ctx, at, res, sight{})
	if err != nil || len(events) == 0 {
		return at, err
	}
	done, err := s.add(ctx, at, own(at, step, ""), events...)
	return done.State, err
}

// outcomeOf makes the events by which the log catches up with an answer.
func (s *Server) outcomeOf(ctx context.Context, at journal.At[state], res answer, by sight) ([]*expeditionv1.ExpeditionEvent, snapshot, error) {
	snap, err := snapshotOf(res)
	if err != nil {
		return nil, snap, err
	}
	if snap.over && snap.seq > at.State.Logged[snap.name] {
		// The answer is as old as the command; what was given back meanwhile belongs to the log.
		if snap, err = s.look(ctx, snap.name); err != nil {
			return nil, snap, err
		}
	}
	events, err := s.step(ctx, at, snap, by)
	return events, snap, err
}

// trailing counts the events at the end that tell what followed from the records before.
func trailing(events []*expeditionv1.ExpeditionEvent) int {
	n := 0
	for _, e := range slices.Backward(events) {
		if e.GetLogged() != nil || e.GetExecuted() != nil || e.GetStoodIn() != nil {
			break
		}
		n++
	}
	return n
}

// step makes the events by which the log catches up with a journey or run. Who was seen meanwhile is by.
func (s *Server) step(ctx context.Context, at journal.At[state], snap snapshot, by sight) ([]*expeditionv1.ExpeditionEvent, error) {
	st := at.State
	if snap.seq <= st.Logged[snap.name] {
		return nil, nil // an answer repeated: what followed from it is known
	}
	if snap.of == journeyTarget && snap.over && !snap.settled {
		return nil, fault.New(fault.Unavailable, "JOURNEY_ENDING", "the journey is giving back what it borrowed").After(settlePause)
	}
	recs, err := s.tail(ctx, snap.name, st.Logged[snap.name], snap.seq)
	if err != nil {
		return nil, err
	}
	var events []*expeditionv1.ExpeditionEvent
	for _, r := range recs {
		events = append(events, logged(r))
		deed, why := st.deed(at.Stream, snap, r.GetRecord())
		events = append(events, deed...)
		by.cause = cmp.Or(why, by.cause)
	}
	now := s.cfg.Clock()
	events = append(events, follows(st, snap)...)
	events = append(events, passes(st, snap, now)...)
	return append(events, leads(st, snap, by, now)...), nil
}

// follows tells what it means for the expedition that a journey, run or delve stands as it does.
func follows(st state, snap snapshot) []*expeditionv1.ExpeditionEvent {
	next := &expeditionv1.PhaseChanged{Phase: st.Phase, Run: st.Run, Delve: st.Delve, Settling: slices.Clone(st.Settling)}
	isIt := func(name string) bool { return name == snap.name }
	switch {
	case snap.of == journeyTarget && snap.settled:
		return []*expeditionv1.ExpeditionEvent{concluded(snap.abandoned)}
	case snap.of == journeyTarget && st.inside() != journeyTarget:
	case snap.of == journeyTarget && snap.inside:
		next.Phase = AtLocation
	case snap.of == journeyTarget:
		next.Phase = Traveling
	case !snap.over && snap.of == runTarget:
		next.Phase, next.Run = Delving, snap.name
	case !snap.over:
		next.Phase, next.Delve = Delving, snap.name
	default:
		if st.Run == snap.name || st.Delve == snap.name {
			next.Phase, next.Run, next.Delve = AtLocation, "", ""
		}
		next.Settling = slices.DeleteFunc(next.Settling, isIt)
		if !snap.settled {
			next.Settling = append(next.Settling, snap.name)
		}
	}
	if next.GetPhase() == st.Phase && next.GetRun() == st.Run && next.GetDelve() == st.Delve && slices.Equal(next.GetSettling(), st.Settling) {
		return nil
	}
	return []*expeditionv1.ExpeditionEvent{{Event: &expeditionv1.ExpeditionEvent_PhaseChanged{PhaseChanged: next}}}
}

// catchUp brings the log up to date with the named journeys and runs. It tells whether the log grew.
func (s *Server) catchUp(ctx context.Context, at journal.At[state], names ...string) (journal.At[state], bool, error) {
	grew := false
	for _, name := range names {
		snap, err := s.look(ctx, name)
		if err != nil {
			return at, grew, err
		}
		events, err := s.step(ctx, at, snap, sight{})
		if err != nil {
			return at, grew, err
		}
		if len(events) == 0 {
			continue
		}
		done, err := s.add(ctx, at, own(at, "catch-up", ""), events...)
		if err != nil {
			return at, grew, err
		}
		at, grew = done.State, true
		if at.State.Phase == Concluded {
			break
		}
	}
	return at, grew, nil
}

// settled waits until all runs and delves have given everything back and the log has their last records. It waits by failing: the
// activity comes again.
func (s *Server) settled(ctx context.Context, at journal.At[state]) (journal.At[state], error) {
	at, _, err := s.catchUp(ctx, at, at.State.Settling...)
	if err == nil && len(at.State.Settling) > 0 {
		err = fault.New(fault.Unavailable, "RUN_SETTLING", "%s is giving back what it borrowed", at.State.Settling[0]).After(settlePause)
	}
	return at, err
}

// stepJourney is the last call of giving up, under whose id it is found when the attempt that made it was given up itself.
const stepJourney = "journey"

// abandon gives up the open run or delve, then the journey, and concludes. Each step is recorded before the next.
func (t turn) abandon(ctx context.Context, at journal.At[state], who caller, req *expeditionv1.AbandonExpeditionRequest) (journal.At[state], error) {
	if p, err := at.State.pending(); err != nil || p != nil {
		return at, errors.Join(err, reused(at.Stream, t.cmd.RequestID)) // a start under the same request_id
	}
	// Before the journey nobody else looks at the name; the services that know characters refuse it in the same words.
	if err := ofCampaign(at.Stream, "character", req.GetCharacter()); err != nil {
		return at, err
	}
	t.entry.OverrideReason = req.GetOverrideReason()
	if !who.gm() && req.GetOverrideReason() != "" {
		return at, fault.New(fault.PermissionDenied, "NOT_GM", "only a game master may override").At("override_reason", "is for game masters")
	}
	if at.State.Journey == "" {
		if !who.gm() && who.subject != at.State.Creator {
			return at, fault.New(fault.PermissionDenied, "NOT_CREATOR", "only its creator or a game master may give the expedition up")
		}
		done, err := t.add(ctx, at, t.entry, concluded(true))
		return done.State, err
	}
	if at.State.inside() != journeyTarget {
		if err := t.mayAbandon(ctx, at, req); err != nil {
			return at, err
		}
	}
	if at.State.Run != "" {
		var err error
		if at, err = t.abandonRun(ctx, at, req); err != nil {
			return at, err
		}
	}
	if at.State.Delve != "" {
		var err error
		if at, err = t.count(ctx, at); err != nil {
			return at, err
		}
		if at, err = t.leaveDelve(ctx, at, req); err != nil {
			return at, err
		}
	}
	at, err := t.settled(ctx, at)
	if err != nil {
		return at, err
	}
	c := newCall("", &travelv1.AbandonJourneyRequest{
		Name: at.State.Journey, Character: req.GetCharacter(), OverrideReason: req.GetOverrideReason(),
		RequestId: requestid.Derive(t.derived, stepJourney),
	})
	res, err := t.journeys.AbandonJourney(as(ctx, t.cmd.Actor, t.cmd.Itself), c.req.(*travelv1.AbandonJourneyRequest)) //nolint:forcetypeassert // made above
	if err != nil {
		return t.refused(ctx, at, c, err)
	}
	if t.afterCall != nil {
		t.afterCall(ctx, "abandon_journey")
	}
	snap, err := t.look(ctx, res.GetJourney().GetName())
	if err != nil {
		return at, err
	}
	events, err := t.step(ctx, at, snap, sight{})
	if err != nil {
		return at, err
	}
	events = slices.DeleteFunc(events, func(e *expeditionv1.ExpeditionEvent) bool { return e.GetLogged() == nil })
	events = append(events, executed("abandon_journey", snap.name, res.GetRecord().GetSeq()), concluded(true))
	done, err := t.add(ctx, at, t.entry, events...)
	return done.State, err
}

// mayAbandon refuses whoever may not give the journey up, before the run or delve is that they may give up.
func (t turn) mayAbandon(ctx context.Context, at journal.At[state], req *expeditionv1.AbandonExpeditionRequest) error {
	_, err := t.journeys.AbandonJourney(as(ctx, t.cmd.Actor, t.cmd.Itself), &travelv1.AbandonJourneyRequest{
		Name: at.State.Journey, Character: req.GetCharacter(), OverrideReason: req.GetOverrideReason(),
		RequestId: requestid.Derive(t.derived, "may"), ValidateOnly: true,
	})
	if !final(err) {
		return err
	}
	// An attempt that was given up and still at work may have come so far that this one sees its end.
	if now, lerr := t.log.Load(ctx, at.Stream); lerr != nil || now.Seq != at.Seq {
		return cmp.Or(lerr, errMoved)
	}
	return err
}

func (t turn) abandonRun(ctx context.Context, at journal.At[state], req *expeditionv1.AbandonExpeditionRequest) (journal.At[state], error) {
	character := req.GetCharacter()
	if character == "" { // a run's commands name one; a GM stands in for the leader
		snap, err := t.look(ctx, at.State.Run)
		if err != nil {
			return at, err
		}
		character = snap.leader
	}
	c := newCall("abandon_run", &dungeonv1.AbandonRunRequest{
		Name: at.State.Run, Character: character, OverrideReason: req.GetOverrideReason(),
		RequestId: requestid.Derive(t.derived, "run"),
	})
	res, err := t.invoke(as(ctx, t.cmd.Actor, t.cmd.Itself), c)
	switch {
	case err == nil:
		return t.record(ctx, at, own(at, "abandon-run", t.cmd.Actor), c.name, res, sight{})
	case !final(err):
		return at, err
	}
	// It may be over without the log knowing; then there is nothing to give up.
	next, grew, cerr := t.catchUp(ctx, at, at.State.Run)
	if cerr != nil || !grew || next.State.Run != "" {
		return at, errors.Join(cerr, err)
	}
	return next, nil
}

// leaveDelve ends the open delve. Who gives an expedition up in the middle of a fight breaks the fight off first, which may
// cost dice: the time of the fight has passed.
func (t turn) leaveDelve(ctx context.Context, at journal.At[state], req *expeditionv1.AbandonExpeditionRequest) (journal.At[state], error) {
	snap, err := t.look(ctx, at.State.Delve)
	if err != nil {
		return at, err
	}
	steps := []call{newCall("leave_delve", &dungeonv1.LeaveDelveRequest{
		Name: at.State.Delve, Character: req.GetCharacter(), Target: "TRAVEL", RequestId: requestid.Derive(t.derived, "delve"),
	})}
	if snap.fighting {
		steps = append([]call{newCall("end_combat", &dungeonv1.EndCombatRequest{
			Name: at.State.Delve, Character: req.GetCharacter(), RequestId: requestid.Derive(t.derived, "fight"),
		})}, steps...)
	}
	for _, c := range steps {
		res, err := t.invoke(as(ctx, t.cmd.Actor, t.cmd.Itself), c)
		switch {
		case err == nil:
			if at, err = t.record(ctx, at, own(at, c.name, t.cmd.Actor), c.name, res, sight{}); err != nil {
				return at, err
			}
		case !final(err):
			return at, err
		default:
			// It may be over without the log knowing; then there is nothing to end.
			next, grew, cerr := t.catchUp(ctx, at, at.State.Delve)
			if cerr != nil || !grew || next.State.Delve != "" {
				return at, errors.Join(cerr, err)
			}
			return next, nil
		}
	}
	return at, nil
}

// own is the entry of a record that no request asked for by itself. Its id names its place, so it is there once.
func own(at journal.At[state], step, actor string) journal.Command {
	return journal.Command{
		RequestID: requestid.Derive(at.Stream, fmt.Sprintf("%s/%d", step, at.Next())), RequestHash: step, Actor: actor,
	}
}

func reused(name, requestID string) error {
	return fault.Invalid("request_id", "request id %q was used for another request on %s", requestID, name).Because(journal.ReasonRequestIDReused)
}
