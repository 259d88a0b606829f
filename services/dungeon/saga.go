package dungeon

import (
	"context"
	"errors"
	"slices"

	dicev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dice/v1"
	dungeonv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dungeon/v1"
	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/auth"
	"github.com/wayfarer-rpg/wayfarer/internal/fault"
	"github.com/wayfarer-rpg/wayfarer/internal/journal"
	"github.com/wayfarer-rpg/wayfarer/internal/requestid"
	"github.com/wayfarer-rpg/wayfarer/rules/digger"
	"github.com/wayfarer-rpg/wayfarer/rules/play"
	"github.com/wayfarer-rpg/wayfarer/services/adapter"
)

// errDone says that somebody else has taken the step.
var errDone = errors.New("done already")

// itself makes calls of other services for this service, not for the user whose call it serves: borrowing and giving back
// are the run's doing.
func itself(ctx context.Context) context.Context { return auth.WithoutActor(ctx) }

// actor is who takes the steps that no user asked for.
const actor = "service:dungeon"

// step is the command of a saga's step. Its id is derived, so whoever repeats the step gets the first answer. The blank in
// it keeps it apart from every id that a caller can send: one who sent a step's id first would stop the run for good.
func step(at journal.At[run], name string) adapter.Command {
	return adapter.Command{
		Caller: adapter.Caller{Campaign: at.Campaign, Subject: actor, Service: true, Itself: true},
		Stream: at.Stream, RequestID: "step " + requestid.Derive(at.Stream, name), RequestHash: name,
	}
}

// carry takes every step that a run owes to other services, forward only, and tells whether nothing is owed any more. Each
// step may be repeated, also by several at once.
func (s *Server) carry(ctx context.Context, name string) (bool, error) {
	for {
		at, err := s.runs.Load(ctx, name)
		if err != nil {
			return false, err
		}
		switch {
		case !at.State.owes():
			return true, s.runs.Journal().Settle(ctx, name, at.Seq)
		case at.State.Phase == preparing:
			err = s.prepare(ctx, at)
		case at.State.Phase == undoing:
			err = s.undo(ctx, at)
		case len(at.State.Owed) > 0:
			err = s.giveSeatBack(ctx, at, at.State.Owed[0])
		default:
			err = s.settle(ctx, at)
		}
		if err != nil && !errors.Is(err, errDone) {
			return false, err
		}
	}
}

// record commits a step whose event depends on nothing but the phase.
func (s *Server) record(ctx context.Context, at journal.At[run], name string, still func(run) bool, event *dungeonv1.RunEvent) error {
	_, err := s.runs.Commit(ctx, step(at, name), func(_ context.Context, at journal.At[run], _ *play.Dice) (adapter.Decision[*dungeonv1.RunEvent], error) {
		if !still(at.State) {
			return adapter.Decision[*dungeonv1.RunEvent]{}, errDone
		}
		next, err := at.State.apply(event)
		return adapter.Decision[*dungeonv1.RunEvent]{Events: []*dungeonv1.RunEvent{event}, Settled: !next.owes(), Owing: next.owes()}, err
	})
	return err
}

// prepare borrows everything, then begins play. Only a refusal ends a start; anything else is tried again.
func (s *Server) prepare(ctx context.Context, at journal.At[run]) error {
	entrants, leader, err := s.borrow(ctx, at)
	if err == nil {
		err = s.begin(ctx, at, entrants, leader)
	}
	var f *fault.Error
	if !errors.As(err, &f) || !refuses(f.Kind) {
		return err
	}
	// Journaled before anything is given back: it beats a start by its place in the journal.
	return s.record(ctx, at, "undoing", func(r run) bool { return r.Phase == preparing },
		&dungeonv1.RunEvent{Event: &dungeonv1.RunEvent_Undoing{Undoing: undoingOf(f)}})
}

func refuses(k fault.Kind) bool {
	switch k { //nolint:exhaustive // all others may pass
	case fault.FailedPrecondition, fault.NotFound, fault.InvalidArgument, fault.AlreadyExists:
		return true
	}
	return false
}

// entrant is a member with what only the adapter needs.
type entrant struct {
	digger.Entrant
	owner, title string
}

// borrow makes the dice stream and takes every lease.
func (s *Server) borrow(ctx context.Context, at journal.At[run]) ([]entrant, string, error) {
	r := at.State
	_, err := s.cfg.Dice.CreateStream(itself(ctx), &dicev1.CreateStreamRequest{
		Parent: at.Campaign, StreamId: adapter.IDOf(r.Stream), Holder: at.Stream, RequestId: requestid.Derive(at.Stream, "stream"),
	})
	if err != nil {
		return nil, "", fault.FromStatus(err)
	}
	if r.staged() {
		var out []entrant
		for _, m := range r.Staged {
			out = append(out, entrant{Entrant: m.Entrant, owner: m.Owner, title: m.Title})
		}
		return out, r.Character, nil
	}
	roster, err := s.take(ctx, at, r.Party, partyv1.Facet_FACET_ROSTER)
	if err != nil {
		return nil, "", err
	}
	// The lenders were named before they were asked; a party that changed meanwhile would leave one out.
	if !slices.Equal(roster.GetRoster().GetMembers(), r.Lenders) {
		return nil, "", fault.New(fault.FailedPrecondition, "PARTY_CHANGED", "%s changed while it was being borrowed", r.Party)
	}
	var out []entrant
	for _, character := range r.Lenders {
		res, err := s.take(ctx, at, character, partyv1.Facet_FACET_LOADOUT)
		if err != nil {
			return nil, "", err
		}
		out = append(out, entrantOf(character, res.GetLoadout()))
	}
	return out, roster.GetRoster().GetLeader(), nil
}

func (s *Server) take(ctx context.Context, at journal.At[run], lender string, facet partyv1.Facet) (*partyv1.TakeLeaseResponse, error) {
	res, err := s.cfg.Leases.TakeLease(itself(ctx), &partyv1.TakeLeaseRequest{
		Lender: lender, Facet: facet, Holder: at.Stream, RequestId: requestid.Derive(at.Stream, "take/"+lender),
	})
	// The fields of a refusal are dropped: they are those of the lender's request.
	var f *fault.Error
	if err = fault.FromStatus(err); errors.As(err, &f) {
		f.Fields = nil
		err = f.With("lender", lender)
	}
	return res, err
}

func entrantOf(character string, l *partyv1.LoadoutFacet) entrant {
	e := entrant{owner: l.GetOwner(), title: l.GetTitle(), Entrant: digger.Entrant{ID: character, Form: l.GetForm()}}
	if a := l.GetAbilities(); a != nil {
		e.Statblock = &digger.Abilities{Brute: int(a.GetBrute()), Agility: int(a.GetAgility()), Wits: int(a.GetWits()), Combat: int(a.GetCombat())}
	}
	for _, t := range l.GetTools() {
		e.Tools = append(e.Tools, digger.NumberedTool{Number: int(t.GetNumber()), Tool: digger.Tool{
			ID: t.GetId(), Title: t.GetTitle(), Ability: t.GetAbility(), Rating: t.GetRating(), Qualities: t.GetQualities(),
			Drawback: t.GetDrawback(), Loaded: true,
		}})
	}
	return e
}

// begin asks the rules and journals the start of play.
func (s *Server) begin(ctx context.Context, at journal.At[run], entrants []entrant, leader string) error {
	def, err := s.definitions.Load(ctx, at.State.Dungeon)
	if err != nil {
		return err
	}
	d, _, ok := def.State.revision(at.State.Revision)
	if !ok {
		return fault.New(fault.NotFound, "NOT_FOUND", "%s has no revision %d", at.State.Dungeon, at.State.Revision)
	}
	rules, seq, err := s.diggerRules(ctx, at.Campaign)
	if err != nil {
		return err
	}
	enter := digger.Enter{
		Ruleset: rules, Dungeon: d, Party: at.State.Party, Leader: leader, Member: at.State.Character, Override: at.State.Overridden,
	}
	known := map[string]entrant{}
	for _, e := range entrants {
		enter.Members = append(enter.Members, e.Entrant)
		known[e.ID] = e
	}
	cmd := step(at, "started")
	if len(at.State.Reported) > 0 {
		cmd.Reported, cmd.Etag = at.State.Reported, at.Etag()
	}
	_, err = s.runs.Commit(ctx, cmd, func(_ context.Context, at journal.At[run], dice *play.Dice) (adapter.Decision[*dungeonv1.RunEvent], error) {
		var out adapter.Decision[*dungeonv1.RunEvent]
		if at.State.Phase != preparing {
			return out, errDone
		}
		events, err := digger.DecideRun(digger.Run{}, enter, dice)
		if err != nil {
			return out, err
		}
		out.Events, _, err = gameEventsOf(digger.Run{}, events)
		if err != nil {
			return out, err
		}
		started := out.Events[0].GetStarted()
		started.CampaignSeq, out.Note = i32(seq), adapter.CampaignNote(seq)
		for _, m := range started.GetMembers() {
			m.Owner, m.Title = known[m.GetCharacter()].owner, known[m.GetCharacter()].title
		}
		out.Settled = true
		return out, nil
	})
	return err
}

// undo gives back to every lender that was named, the last one first, whether or not it lent anything: that closes the holder
// for good.
func (s *Server) undo(ctx context.Context, at journal.At[run]) error {
	for _, character := range slices.Backward(at.State.Lenders) {
		if err := s.give(ctx, at, character, partyv1.Facet_FACET_LOADOUT, nil); err != nil {
			return err
		}
	}
	if !at.State.staged() {
		if err := s.give(ctx, at, at.State.Party, partyv1.Facet_FACET_ROSTER, nil); err != nil {
			return err
		}
	}
	if err := s.reveal(ctx, at); err != nil && fault.KindOf(err) != fault.NotFound {
		return err
	}
	return s.record(ctx, at, "undone", func(r run) bool { return r.Phase == undoing },
		&dungeonv1.RunEvent{Event: &dungeonv1.RunEvent_Undone{Undone: &dungeonv1.RunUndone{}}})
}

// giveSeatBack gives back what an early leaver held.
func (s *Server) giveSeatBack(ctx context.Context, at journal.At[run], character string) error {
	if err := s.give(ctx, at, character, partyv1.Facet_FACET_LOADOUT, nil); err != nil {
		return err
	}
	seat := &partyv1.RosterResult{Character: character, Leader: at.State.leaderNow(), Ended: true}
	if err := s.give(ctx, at, at.State.Party, partyv1.Facet_FACET_ROSTER, seat); err != nil {
		return err
	}
	return s.record(ctx, at, "seat/"+character, func(r run) bool { return slices.Contains(r.Owed, character) },
		&dungeonv1.RunEvent{Event: &dungeonv1.RunEvent_SeatGivenBack{SeatGivenBack: &dungeonv1.SeatGivenBack{Character: character}}})
}

// settle gives everything back after the end and reveals the dice.
func (s *Server) settle(ctx context.Context, at journal.At[run]) error {
	for _, character := range at.State.Lenders {
		if err := s.give(ctx, at, character, partyv1.Facet_FACET_LOADOUT, nil); err != nil {
			return err
		}
	}
	if !at.State.staged() {
		whole := &partyv1.RosterResult{Leader: at.State.leaderNow(), Ended: true}
		if err := s.give(ctx, at, at.State.Party, partyv1.Facet_FACET_ROSTER, whole); err != nil {
			return err
		}
	}
	if err := s.reveal(ctx, at); err != nil {
		return err
	}
	return s.record(ctx, at, "settled", func(r run) bool { return !r.Settled },
		&dungeonv1.RunEvent{Event: &dungeonv1.RunEvent_Settled{Settled: &dungeonv1.RunSettled{}}})
}

// staged tells whether a game master staged the run: it has borrowed nothing.
func (r run) staged() bool { return len(r.Staged) > 0 }

// leaderNow is the leader, "" when that one has left.
func (r run) leaderNow() string {
	if _, ok := r.Game.Member(r.Game.Leader); ok {
		return r.Game.Leader
	}
	return ""
}

func (s *Server) give(ctx context.Context, at journal.At[run], lender string, facet partyv1.Facet, roster *partyv1.RosterResult) error {
	req := &partyv1.ReturnLeaseRequest{
		Lender: lender, Facet: facet, Holder: at.Stream,
		// The leader is in it since leadership may pass on before a seat that was given back is noted here.
		RequestId: requestid.Derive(at.Stream, "return/"+lender+"/"+roster.GetCharacter()+"/"+roster.GetLeader()),
	}
	if roster != nil {
		req.Result = &partyv1.ReturnLeaseRequest_Roster{Roster: roster}
	}
	_, err := s.cfg.Leases.ReturnLease(itself(ctx), req)
	return fault.FromStatus(err)
}

func (s *Server) reveal(ctx context.Context, at journal.At[run]) error {
	_, err := s.cfg.Dice.RevealStream(itself(ctx), &dicev1.RevealStreamRequest{
		Name: at.State.Stream, RequestId: requestid.Derive(at.Stream, "reveal"),
	})
	return fault.FromStatus(err)
}
