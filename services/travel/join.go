package travel

import (
	"context"
	"errors"
	"slices"
	"strings"

	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"
	travelv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/travel/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/auth"
	"github.com/wayfarer-rpg/wayfarer/internal/fault"
	"github.com/wayfarer-rpg/wayfarer/internal/journal"
	"github.com/wayfarer-rpg/wayfarer/rules/diedrop"
	"github.com/wayfarer-rpg/wayfarer/rules/play"
	"github.com/wayfarer-rpg/wayfarer/services/adapter"
)

// The steps of a character who joins; the character follows.
const (
	stepJoined    = "joined/"
	stepNotJoined = "not-joined/"
)

// JoinJourney implements JourneyService. What the character means to do is journaled first, then its vitals are borrowed,
// then it joins, or is refused and gets them back.
func (s *Server) JoinJourney(ctx context.Context, req *travelv1.JoinJourneyRequest) (*travelv1.JoinJourneyResponse, error) {
	cmd, err := s.command(ctx, req, req.GetName())
	if err != nil {
		return nil, err
	}
	who := joiner{req.GetCharacter(), req.GetLabel()}
	if who.Label == "" {
		who.Label = adapter.IDOf(who.Character)
	}
	_, err = s.journeys.Commit(ctx, cmd, func(ctx context.Context, at journal.At[journey], _ *play.Dice) (d decision, err error) {
		if err := s.mayJoin(ctx, cmd.Caller, at.State, who); err != nil {
			return d, err
		}
		return decision{Owing: true, Events: events{{Event: &travelv1.JourneyEvent_Joining{
			Joining: &travelv1.JourneyJoining{Character: who.Character, Label: who.Label},
		}}}}, nil
	})
	if err != nil {
		return nil, missing(err, "name", req.GetName())
	}
	if err := s.advance(ctx, req.GetName()); err != nil {
		return nil, err
	}
	joined, ok, err := s.journeys.First(ctx, s.step(cmd.Caller.Campaign, req.GetName(), stepJoined+who.Character))
	if err != nil {
		return nil, err
	}
	if !ok {
		at, err := s.journeys.Load(ctx, req.GetName())
		switch {
		case err != nil:
			return nil, err
		case at.State.NotJoined[who.Character] != nil:
			return nil, at.State.NotJoined[who.Character].fault()
		}
		return nil, adapter.Fault(play.Refuse(reasonNotTraveling, "the journey ended before %s could join", who.Character))
	}
	return adapter.Redact(cmd.Caller, &travelv1.JoinJourneyResponse{
		Record: joined.Record, Journey: journeyToProto(joined.State), Events: joined.Events,
	}), nil
}

// mayJoin decides whether a character may join. It tries the rules on what the character has at present, so that most
// refusals come before anything was borrowed.
func (s *Server) mayJoin(ctx context.Context, caller adapter.Caller, j journey, who joiner) error {
	if err := caller.RequirePlay(); err != nil {
		return err
	}
	if err := adapter.SameCampaign(caller.Campaign, "character", who.Character); err != nil {
		return err
	}
	if !j.Play.Started() {
		return play.Refuse(reasonNotTraveling, "the journey has not begun")
	}
	res, err := s.cfg.Characters.GetCharacter(auth.WithoutActor(ctx), &partyv1.GetCharacterRequest{Name: who.Character})
	if err != nil {
		return notThere(err, "character", who.Character)
	}
	c := res.GetCharacter()
	if err := caller.RequireActFor(c.GetOwner(), who.Character); err != nil {
		return err
	}
	if err := underway(caller, j); err != nil {
		return err
	}
	switch {
	case j.travels(who.Character), j.joins(who.Character) >= 0:
		return play.Refuse(reasonTravels, "%s travels here already", who.Character).On("character")
	case slices.Contains(j.Gone, who.Character):
		// A lender closes a holder that has given back.
		return play.Refuse(reasonHasLeft, "%s was part of this journey before and cannot join it again, only another one", who.Character).On("character")
	}
	for _, l := range c.GetLeases() {
		if l.GetFacet() == partyv1.Facet_FACET_VITALS {
			return fault.New(fault.FailedPrecondition, reasonLeased, "%s is held by %s", who.Character, l.GetHolder()).
				At("character", "is borrowed").With("holder", l.GetHolder()).With("lender", who.Character)
		}
	}
	_, err = j.joined(who, c.GetVitals())
	return err
}

// joined decides how a character with these vitals joins.
func (j journey) joined(who joiner, v *partyv1.Vitals) ([]diedrop.Event, error) {
	hpMax, strMax := int(v.GetHpMax()), int(v.GetStrMax())
	evs, err := diedrop.Decide(j.Play, diedrop.AddMember{Member: diedrop.Newcomer{
		Name: who.Label, Character: who.Character, HP: int(v.GetHp()), HPMax: &hpMax, STR: int(v.GetStr()), STRMax: &strMax,
		Capacity: optInt(v.Capacity), Gear: int(v.GetGear()), Fatigue: int(v.GetFatigue()),
	}}, &play.Dice{})
	var r *play.Refusal
	switch {
	case !errors.As(err, &r) || r.Field == "":
	case r.Field == "member.name":
		at := *r
		at.Field = "label"
		return nil, &at
	case strings.HasPrefix(r.Field, "member"):
		at := *r
		at.Field = "character"
		return nil, &at
	}
	return evs, err
}

// join borrows the vitals of the first of those who mean to join and lets them, if the rules still do.
func (s *Server) join(ctx context.Context, at journal.At[journey]) error {
	who := at.State.Joining[0]
	res, err := s.lease(auth.WithoutActor(ctx), at.Stream, who.Character, partyv1.Facet_FACET_VITALS)
	if err != nil {
		return s.refuseJoin(ctx, at, who, err)
	}
	held := res.GetVitals()
	_, err = s.journeys.Commit(ctx, s.step(at.Campaign, at.Stream, stepJoined+who.Character), func(_ context.Context, now journal.At[journey], _ *play.Dice) (d decision, err error) {
		if now.State.Phase != phaseTraveling || now.State.joins(who.Character) < 0 {
			return d, errMoved
		}
		evs, err := now.State.joined(who, held.GetVitals())
		if err != nil {
			return d, err
		}
		rest, err := eventsTo(evs)
		d.Events = append(events{{Event: &travelv1.JourneyEvent_Joined{Joined: &travelv1.JourneyJoined{
			Owner: &travelv1.Owner{Character: who.Character, Subject: held.GetOwner()}, UsualCapacity: held.GetVitals().Capacity == nil,
		}}}}, rest...)
		d.Settled = now.State.owes() == 1
		return d, err
	})
	return s.refuseJoin(ctx, at, who, err)
}

// refuseJoin gives up on a character who wanted to join, because of a refusal. Other errors come back as they are: the next
// try may do better.
func (s *Server) refuseJoin(ctx context.Context, at journal.At[journey], who joiner, err error) error {
	var f *fault.Error
	if errors.Is(err, errMoved) || !errors.As(adapter.Fault(err), &f) || !refuses(f) {
		return err
	}
	_, err = s.journeys.Commit(ctx, s.step(at.Campaign, at.Stream, stepNotJoined+who.Character), func(_ context.Context, now journal.At[journey], _ *play.Dice) (d decision, err error) {
		if now.State.Phase != phaseTraveling || now.State.joins(who.Character) < 0 {
			return d, errMoved
		}
		d.Owing, d.Events = true, events{{Event: &travelv1.JourneyEvent_JoinRefused{
			JoinRefused: &travelv1.JoinRefused{Character: who.Character, Refusal: refusalOf(f)},
		}}}
		return d, nil
	})
	return err
}
