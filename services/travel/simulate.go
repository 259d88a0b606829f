package travel

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"google.golang.org/grpc"

	travelv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/travel/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/fault"
	"github.com/wayfarer-rpg/wayfarer/rules/balance"
	"github.com/wayfarer-rpg/wayfarer/rules/diedrop"
	"github.com/wayfarer-rpg/wayfarer/rules/play"
	"github.com/wayfarer-rpg/wayfarer/services/adapter"
)

// usualMembers is the size of a simulated company when nobody says who travels.
const usualMembers = 4

// SimulateJourneys implements JourneyService.
func (s *Server) SimulateJourneys(req *travelv1.SimulateJourneysRequest, out grpc.ServerStreamingServer[travelv1.SimulateJourneysResponse]) error {
	ctx := out.Context()
	c, err := s.access.Caller(ctx, req.GetParent())
	if err != nil {
		return err
	}
	if err := c.RequireGM(); err != nil {
		return err
	}
	rules, _, err := s.dieDropRules(ctx, c.Campaign)
	if err != nil {
		return err
	}
	trip, err := s.tripFrom(ctx, rules, req)
	if err != nil {
		return adapter.Fault(err)
	}
	p := balance.JourneyPlan{
		Ruleset: rules, Trip: trip, Runs: cmp.Or(int(req.GetRuns()), adapter.DefaultRuns), Seed: uint64(req.GetSeed()),
		Workers: adapter.SimulationWorkers(),
	}
	if err := p.Check(); err != nil {
		var r *play.Refusal
		if errors.As(err, &r) && strings.HasPrefix(r.Field, "members[") {
			err = r.At("company" + strings.TrimPrefix(r.Field, "members"))
		}
		return adapter.Fault(err)
	}
	return s.simulations.Play(ctx, p.Runs, func(done int) error {
		return out.Send(&travelv1.SimulateJourneysResponse{News: &travelv1.SimulateJourneysResponse_Progress{
			Progress: &travelv1.SimulationProgress{Done: i32(done), Runs: i32(p.Runs)},
		}})
	}, func(ctx context.Context, progress func(int)) error {
		p.Progress = progress
		report, err := balance.RunJourneys(ctx, p)
		if err != nil {
			return adapter.Fault(err)
		}
		return out.Send(&travelv1.SimulateJourneysResponse{News: &travelv1.SimulateJourneysResponse_Report{Report: simulationOf(report)}})
	})
}

// tripFrom finds region, way and company of a request.
func (s *Server) tripFrom(ctx context.Context, rules *diedrop.Ruleset, req *travelv1.SimulateJourneysRequest) (diedrop.Trip, error) {
	t := diedrop.Trip{Policy: diedrop.Policy(req.GetPolicy()), Gold: int(req.GetGold()), Boat: req.GetBoat()}
	if !strings.HasPrefix(req.GetRegion(), req.GetParent()+"/") {
		return t, missing(fault.New(fault.NotFound, "NOT_FOUND", "there is no %s", req.GetRegion()), "region", req.GetRegion())
	}
	at, err := s.loadRegion(ctx, "region", req.GetRegion())
	if err != nil {
		return t, err
	}
	t.Map = mapOf(req.GetRegion(), at.State.Revision, at.State.Draft)
	for _, sides := range req.GetFood() {
		t.Food = append(t.Food, int(sides))
	}
	t.Members = diedrop.DefaultCompany(rules, cmp.Or(int(req.GetMembers()), usualMembers))
	if len(req.GetCompany()) > 0 {
		t.Members = nil
	}
	for _, m := range req.GetCompany() {
		n := diedrop.Newcomer{Name: m.GetName(), HP: int(m.GetHp()), STR: int(m.GetStr()), Gear: int(m.GetGear())}
		if slots := int(m.GetCapacity()); slots > 0 {
			n.Capacity = &slots
		}
		t.Members = append(t.Members, n.Member(rules))
	}
	if len(req.GetRoute()) > 0 {
		t.Route = each(req.GetRoute(), hexFrom)
		return t, nil
	}
	if req.GetFrom() == nil || req.GetTo() == nil {
		return t, fault.Invalid("route", "a journey needs a route, or from and to")
	}
	t.Route, err = diedrop.FindRoute(rules, t.Map, hexFrom(req.GetFrom()), hexFrom(req.GetTo()), t.Boat)
	return t, err
}

func rateOf(r balance.Rate) *travelv1.SimulatedRate {
	return &travelv1.SimulatedRate{Rate: r.Rate, Low: r.Interval[0], High: r.Interval[1]}
}

func meanOf(m balance.Mean) *travelv1.SimulatedMean {
	return &travelv1.SimulatedMean{Mean: m.Mean, Error: m.Error}
}

func simulationOf(r balance.JourneyReport) *travelv1.JourneySimulation {
	out := &travelv1.JourneySimulation{
		Runs: i32(r.Runs), ArrivedFed: rateOf(balance.Rate{Rate: r.SuccessRate, Interval: r.Interval}), Arrived: rateOf(r.Arrived),
		Endings: map[string]int32{}, Rounds: meanOf(r.Rounds), Days: meanOf(r.Days), Forages: meanOf(r.Forages), HungryRounds: meanOf(r.Hungry),
		Encounters: meanOf(r.Encounters), Dead: meanOf(r.Dead), ByDays: i32s(r.ByDays), ByHungryRounds: i32s(r.ByHungry),
	}
	for ending, n := range r.Endings {
		out.Endings[ending] = i32(n)
	}
	for _, x := range r.FoodLeft {
		out.FoodLeft = append(out.FoodLeft, &travelv1.SimulatedFood{Food: x.Food, Runs: i32(x.Runs), Share: x.Share})
	}
	for _, x := range r.Curve {
		out.Curve = append(out.Curve, &travelv1.SimulatedStep{
			Hex: hexTo(diedrop.Hex{Q: x.Q, R: x.R}), Via: x.Via, Terrain: x.Terrain, Runs: i32(x.Runs), Fed: rateOf(x.Fed), FoodSides: x.Sides, Living: x.Living,
		})
	}
	return out
}
