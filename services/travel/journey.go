package travel

import (
	"context"
	"errors"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	travelv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/travel/v1"
	typev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/type/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/fault"
	"github.com/wayfarer-rpg/wayfarer/internal/journal"
	"github.com/wayfarer-rpg/wayfarer/rules/diedrop"
	"github.com/wayfarer-rpg/wayfarer/rules/play"
	"github.com/wayfarer-rpg/wayfarer/services/adapter"
)

// The refusals that are not the rules'.
const (
	reasonNotTraveling = "NOT_TRAVELING"
	reasonOwned        = "OWNED_BY_EXPEDITION"
	reasonTooManyLoads = "TOO_MANY_LOADS"
	reasonTravels      = "TRAVELS_ALREADY"
	reasonHasLeft      = "HAS_LEFT"
	reasonLeased       = "LEASED"
)

type (
	events   = []*travelv1.JourneyEvent
	answer   = adapter.Answer[journey, *travelv1.JourneyEvent]
	decision = adapter.Decision[*travelv1.JourneyEvent]
)

// GetJourney implements JourneyService.
func (s *Server) GetJourney(ctx context.Context, req *travelv1.GetJourneyRequest) (*travelv1.GetJourneyResponse, error) {
	caller, err := s.access.Caller(ctx, req.GetName())
	if err != nil {
		return nil, err
	}
	at, err := s.journeys.Load(ctx, req.GetName())
	if err != nil {
		return nil, missing(err, "name", req.GetName())
	}
	return adapter.Redact(caller, &travelv1.GetJourneyResponse{Journey: journeyToProto(at)}), nil
}

// ListJourneys implements JourneyService.
func (s *Server) ListJourneys(ctx context.Context, req *travelv1.ListJourneysRequest) (*travelv1.ListJourneysResponse, error) {
	caller, err := s.access.Caller(ctx, req.GetParent())
	if err != nil {
		return nil, err
	}
	page, err := s.journeys.List(ctx, journal.Query[journey]{
		Campaign: caller.Campaign, PageSize: int(req.GetPageSize()), PageToken: req.GetPageToken(),
	})
	if err != nil {
		return nil, err
	}
	return adapter.Redact(caller, &travelv1.ListJourneysResponse{
		Journeys: each(page.Rows, journeyToProto), NextPageToken: page.NextToken,
	}), nil
}

// WatchJourney implements JourneyService.
func (s *Server) WatchJourney(req *travelv1.WatchJourneyRequest, stream travelv1.JourneyService_WatchJourneyServer) error {
	ctx := stream.Context()
	if _, err := s.access.Caller(ctx, req.GetName()); err != nil {
		return err
	}
	err := s.journeys.Watch(ctx, req.GetName(), int(req.GetFromSeq()), func(rec *typev1.Record, evs events) error {
		caller, err := s.access.Caller(ctx, req.GetName()) // who lost their role sees no more
		if err != nil {
			return err
		}
		return stream.Send(adapter.Redact(caller, &travelv1.WatchJourneyResponse{Record: rec, Events: evs}))
	})
	return missing(err, "name", req.GetName())
}

// playRequest is what the play commands have in common.
type playRequest interface {
	proto.Message
	GetName() string
	GetCharacter() string
}

// mayCommand refuses whoever may not give commands to a journey. A player or bot names a character of theirs who travels.
func mayCommand(caller adapter.Caller, j journey, character string) error {
	if err := adapter.SameCampaign(caller.Campaign, "character", character); err != nil {
		return err
	}
	if !j.Play.Started() {
		return play.Refuse(reasonNotTraveling, "the journey has not begun")
	}
	if character == "" && !caller.GM() {
		return fault.Invalid("character", "a player names the character who acts")
	}
	if character != "" {
		if !j.travels(character) {
			return play.Refuse(diedrop.NoSuchMember, "%s does not travel here", character).At("character")
		}
		if err := caller.RequireActFor(j.Owners[character], character); err != nil {
			return err
		}
	}
	return underway(caller, j)
}

// underway refuses commands to a journey that somebody else has to give them to, and to one that is over.
func underway(caller adapter.Caller, j journey) error {
	if j.Expedition != "" && !caller.Service {
		return fault.New(fault.FailedPrecondition, reasonOwned, "the journey is part of %s", j.Expedition).With("expedition", j.Expedition)
	}
	if j.Phase != phaseTraveling {
		return play.Refuse(reasonNotTraveling, "the journey is over")
	}
	return nil
}

// commandJourney commits a command to a journey, after the checks that all have in common.
func (s *Server) commandJourney(ctx context.Context, req playRequest, decide func(adapter.Caller, journey, *play.Dice) (decision, error)) (adapter.Caller, answer, error) {
	cmd, err := s.command(ctx, req, req.GetName())
	if err != nil {
		return cmd.Caller, answer{}, err
	}
	ans, err := s.journeys.Commit(ctx, cmd, func(_ context.Context, at journal.At[journey], dice *play.Dice) (decision, error) {
		if err := mayCommand(cmd.Caller, at.State, req.GetCharacter()); err != nil {
			return decision{}, err
		}
		return decide(cmd.Caller, at.State, dice)
	})
	return cmd.Caller, ans, missing(err, "name", req.GetName())
}

// play commits a command of the rules.
func (s *Server) play(ctx context.Context, req playRequest, c diedrop.Command, checks ...func(adapter.Caller, journey) error) (*played, error) {
	caller, ans, err := s.commandJourney(ctx, req, func(caller adapter.Caller, j journey, dice *play.Dice) (d decision, err error) {
		for _, check := range checks {
			if err := check(caller, j); err != nil {
				return d, err
			}
		}
		evs, err := diedrop.Decide(j.Play, c, dice)
		if err != nil {
			return d, unseen(caller, j, c, placed(c, err))
		}
		if d.Events, err = eventsTo(evs); err != nil {
			return d, err
		}
		for _, e := range d.Events {
			left := e.GetMemberLeft()
			m, ok := j.member(left.GetName())
			d.Owing = d.Owing || left != nil && ok && m.Character != ""
		}
		return d, nil
	})
	if err != nil {
		return nil, err
	}
	return &played{caller, ans}, nil
}

// placed names the field of a request that holds the place of which the rules complain.
func placed(c diedrop.Command, err error) error {
	var r *play.Refusal
	if _, ok := c.(diedrop.Adjust); ok && errors.As(err, &r) {
		switch {
		case r.Field == "hex" || r.Field == "inside":
			return r.At("position." + r.Field)
		case strings.HasPrefix(r.Field, "cargo["):
			return r.At("cargo.loads" + strings.TrimPrefix(r.Field, "cargo"))
		}
	}
	return err
}

// unseen makes a hidden location that was not discovered, for players, one that does not exist: where it is, and that it
// is, is not told by a refusal either.
func unseen(caller adapter.Caller, j journey, c diedrop.Command, err error) error {
	enter, ok := c.(diedrop.Enter)
	var r *play.Refusal
	if !ok || caller.GM() || !errors.As(err, &r) || r.Code != diedrop.NotHere && r.Code != diedrop.NotDiscovered {
		return err
	}
	if l, ok := location(j.Play.Map, enter.Location); ok && !l.Visible && !slices.Contains(j.Play.Discovered, l.ID) {
		return play.Refuse(diedrop.UnknownLocation, "there is no location %s", enter.Location).On("location")
	}
	return err
}

// played is the answer to a play command with who gave it.
type played struct {
	caller adapter.Caller
	answer
}

func (p *played) journey() *travelv1.Journey { return journeyToProto(p.State) }

func (p *played) outcome() *travelv1.Outcome { return outcomeOf(p.Events) }

// outcomeOf sums events up.
func outcomeOf(evs events) *travelv1.Outcome {
	o := &travelv1.Outcome{}
	for _, ev := range evs {
		switch e := ev.GetEvent().(type) {
		case *travelv1.JourneyEvent_RoundBegun:
			o.Starved = proto.Bool(false)
		case *travelv1.JourneyEvent_UsageChecked:
			o.Usage = e.UsageChecked.GetUsage()
		case *travelv1.JourneyEvent_Hungered:
			o.Starved = proto.Bool(true)
		case *travelv1.JourneyEvent_EncounterChecked:
			o.EncounterCheck = proto.Int32(e.EncounterChecked.GetFace())
			if o.Dark != nil {
				o.Dark = proto.Bool(e.EncounterChecked.GetDark())
			}
		case *travelv1.JourneyEvent_Moved:
			o.Via = proto.String(e.Moved.GetVia())
		case *travelv1.JourneyEvent_LocationsFound:
			o.Found = e.LocationsFound.GetLocations()
		case *travelv1.JourneyEvent_Foraged:
			o.Forage = proto.String(e.Foraged.GetResult())
		case *travelv1.JourneyEvent_FoodBought:
			o.SlotsBought, o.GoldPaid = proto.Int32(e.FoodBought.GetSlots()), proto.Int32(e.FoodBought.GetPaid())
		case *travelv1.JourneyEvent_GearBought:
			o.GoldPaid = proto.Int32(e.GearBought.GetPaid())
		case *travelv1.JourneyEvent_Looted:
			o.Gold = proto.Int32(e.Looted.GetTaken())
		case *travelv1.JourneyEvent_RemainsSold:
			o.Gold = proto.Int32(e.RemainsSold.GetEarned())
		case *travelv1.JourneyEvent_FoodSlotsFreed:
			o.Freed = proto.Int32(e.FoodSlotsFreed.GetFreed())
		case *travelv1.JourneyEvent_TurnBegun:
			o.Dark = proto.Bool(false)
		case *travelv1.JourneyEvent_LightChecked:
			l := e.LightChecked
			o.Light = &travelv1.LightRoll{Sides: l.GetSides(), Roll: l.GetFace(), SteppedDown: l.GetSteppedDown()}
			if l.GetReplaced() != "" {
				o.Light.Replaced = proto.String(l.GetReplaced())
			}
		}
	}
	return o
}
