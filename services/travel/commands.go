package travel

import (
	"context"

	travelv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/travel/v1"

	"github.com/wayfarer-rpg/wayfarer/rules/diedrop"
	"github.com/wayfarer-rpg/wayfarer/rules/play"
	"github.com/wayfarer-rpg/wayfarer/services/adapter"
)

// gameMaster leaves a command to GMs.
func gameMaster(caller adapter.Caller, _ journey) error { return caller.RequireGM() }

// fewLoads keeps the loads to what a company can take back.
func fewLoads(_ adapter.Caller, j journey) error {
	if len(j.Play.Cargo) < maxLoads {
		return nil
	}
	return play.Refuse(reasonTooManyLoads, "the company has %d loads already", maxLoads)
}

// bringsNothing keeps players from making gear out of newcomers.
func bringsNothing(n *travelv1.Newcomer) func(adapter.Caller, journey) error {
	return func(caller adapter.Caller, _ journey) error {
		if err := gmField(caller, "member.torches", n.GetTorches() != 0); err != nil {
			return err
		}
		return gmField(caller, "member.oil", n.GetOil() != 0)
	}
}

// Move implements JourneyService.
func (s *Server) Move(ctx context.Context, req *travelv1.MoveRequest) (*travelv1.MoveResponse, error) {
	p, err := s.play(ctx, req, diedrop.Move{To: hexFrom(req.GetTo()), Via: diedrop.Route(req.GetVia())})
	if err != nil {
		return nil, err
	}
	return adapter.Redact(p.caller, &travelv1.MoveResponse{Record: p.Record, Journey: p.journey(), Events: p.Events, Outcome: p.outcome()}), nil
}

// Search implements JourneyService.
func (s *Server) Search(ctx context.Context, req *travelv1.SearchRequest) (*travelv1.SearchResponse, error) {
	p, err := s.play(ctx, req, diedrop.Search{})
	if err != nil {
		return nil, err
	}
	return adapter.Redact(p.caller, &travelv1.SearchResponse{Record: p.Record, Journey: p.journey(), Events: p.Events, Outcome: p.outcome()}), nil
}

// Forage implements JourneyService.
func (s *Server) Forage(ctx context.Context, req *travelv1.ForageRequest) (*travelv1.ForageResponse, error) {
	p, err := s.play(ctx, req, diedrop.Forage{})
	if err != nil {
		return nil, err
	}
	return adapter.Redact(p.caller, &travelv1.ForageResponse{Record: p.Record, Journey: p.journey(), Events: p.Events, Outcome: p.outcome()}), nil
}

// PrepareRemains implements JourneyService.
func (s *Server) PrepareRemains(ctx context.Context, req *travelv1.PrepareRemainsRequest) (*travelv1.PrepareRemainsResponse, error) {
	p, err := s.play(ctx, req, diedrop.PrepareRemains{Count: int(req.GetCount()), Value: int(req.GetValue()), Carrier: req.GetCarrier()}, fewLoads)
	if err != nil {
		return nil, err
	}
	return adapter.Redact(p.caller, &travelv1.PrepareRemainsResponse{Record: p.Record, Journey: p.journey(), Events: p.Events, Outcome: p.outcome()}), nil
}

// EnterLocation implements JourneyService.
func (s *Server) EnterLocation(ctx context.Context, req *travelv1.EnterLocationRequest) (*travelv1.EnterLocationResponse, error) {
	p, err := s.play(ctx, req, diedrop.Enter{Location: req.GetLocation()})
	if err != nil {
		return nil, err
	}
	return adapter.Redact(p.caller, &travelv1.EnterLocationResponse{Record: p.Record, Journey: p.journey(), Events: p.Events, Outcome: p.outcome()}), nil
}

// LeaveLocation implements JourneyService.
func (s *Server) LeaveLocation(ctx context.Context, req *travelv1.LeaveLocationRequest) (*travelv1.LeaveLocationResponse, error) {
	p, err := s.play(ctx, req, diedrop.Leave{})
	if err != nil {
		return nil, err
	}
	return adapter.Redact(p.caller, &travelv1.LeaveLocationResponse{Record: p.Record, Journey: p.journey(), Events: p.Events, Outcome: p.outcome()}), nil
}

// BuyFood implements JourneyService.
func (s *Server) BuyFood(ctx context.Context, req *travelv1.BuyFoodRequest) (*travelv1.BuyFoodResponse, error) {
	p, err := s.play(ctx, req, diedrop.BuyFood{Steps: int(req.GetSteps())})
	if err != nil {
		return nil, err
	}
	return adapter.Redact(p.caller, &travelv1.BuyFoodResponse{Record: p.Record, Journey: p.journey(), Events: p.Events, Outcome: p.outcome()}), nil
}

// BuyGear implements JourneyService.
func (s *Server) BuyGear(ctx context.Context, req *travelv1.BuyGearRequest) (*travelv1.BuyGearResponse, error) {
	p, err := s.play(ctx, req, diedrop.BuyGear{Item: req.GetItem(), Count: int(req.GetCount()), Carrier: req.GetCarrier()})
	if err != nil {
		return nil, err
	}
	return adapter.Redact(p.caller, &travelv1.BuyGearResponse{Record: p.Record, Journey: p.journey(), Events: p.Events, Outcome: p.outcome()}), nil
}

// AddMember implements JourneyService.
func (s *Server) AddMember(ctx context.Context, req *travelv1.AddMemberRequest) (*travelv1.AddMemberResponse, error) {
	p, err := s.play(ctx, req, diedrop.AddMember{Member: newcomerFrom(req.GetMember())}, bringsNothing(req.GetMember()))
	if err != nil {
		return nil, err
	}
	return adapter.Redact(p.caller, &travelv1.AddMemberResponse{Record: p.Record, Journey: p.journey(), Events: p.Events, Outcome: p.outcome()}), nil
}

// RemoveMember implements JourneyService. A character has its vitals back at once; what fails of that is left to the sweeper.
func (s *Server) RemoveMember(ctx context.Context, req *travelv1.RemoveMemberRequest) (*travelv1.RemoveMemberResponse, error) {
	p, err := s.play(ctx, req, diedrop.RemoveMember{Name: req.GetMember()})
	if err != nil {
		return nil, err
	}
	if err := s.advance(ctx, req.GetName()); err != nil {
		s.cfg.Logger.WarnContext(ctx, "vitals not given back yet", "journey", req.GetName(), "err", err)
	}
	return adapter.Redact(p.caller, &travelv1.RemoveMemberResponse{Record: p.Record, Journey: p.journey(), Events: p.Events, Outcome: p.outcome()}), nil
}

// SellRemains implements JourneyService.
func (s *Server) SellRemains(ctx context.Context, req *travelv1.SellRemainsRequest) (*travelv1.SellRemainsResponse, error) {
	p, err := s.play(ctx, req, diedrop.SellRemains{})
	if err != nil {
		return nil, err
	}
	return adapter.Redact(p.caller, &travelv1.SellRemainsResponse{Record: p.Record, Journey: p.journey(), Events: p.Events, Outcome: p.outcome()}), nil
}

// FreeFoodSlots implements JourneyService.
func (s *Server) FreeFoodSlots(ctx context.Context, req *travelv1.FreeFoodSlotsRequest) (*travelv1.FreeFoodSlotsResponse, error) {
	p, err := s.play(ctx, req, diedrop.FreeFoodSlots{})
	if err != nil {
		return nil, err
	}
	return adapter.Redact(p.caller, &travelv1.FreeFoodSlotsResponse{Record: p.Record, Journey: p.journey(), Events: p.Events, Outcome: p.outcome()}), nil
}

// Distribute implements JourneyService.
func (s *Server) Distribute(ctx context.Context, req *travelv1.DistributeRequest) (*travelv1.DistributeResponse, error) {
	slots := map[string]int{}
	for name, n := range req.GetFoodSlots() {
		slots[name] = int(n)
	}
	p, err := s.play(ctx, req, diedrop.Distribute{FoodSlots: slots})
	if err != nil {
		return nil, err
	}
	return adapter.Redact(p.caller, &travelv1.DistributeResponse{Record: p.Record, Journey: p.journey(), Events: p.Events, Outcome: p.outcome()}), nil
}

// Loot implements JourneyService.
func (s *Server) Loot(ctx context.Context, req *travelv1.LootRequest) (*travelv1.LootResponse, error) {
	p, err := s.play(ctx, req, diedrop.Loot{})
	if err != nil {
		return nil, err
	}
	return adapter.Redact(p.caller, &travelv1.LootResponse{Record: p.Record, Journey: p.journey(), Events: p.Events, Outcome: p.outcome()}), nil
}

// Harm implements JourneyService.
func (s *Server) Harm(ctx context.Context, req *travelv1.HarmRequest) (*travelv1.HarmResponse, error) {
	p, err := s.play(ctx, req, diedrop.Harm{Name: req.GetMember(), HP: int(req.GetHp()), STR: int(req.GetStr())}, gameMaster)
	if err != nil {
		return nil, err
	}
	return adapter.Redact(p.caller, &travelv1.HarmResponse{Record: p.Record, Journey: p.journey(), Events: p.Events, Outcome: p.outcome()}), nil
}

// Adjust implements JourneyService.
func (s *Server) Adjust(ctx context.Context, req *travelv1.AdjustRequest) (*travelv1.AdjustResponse, error) {
	p, err := s.play(ctx, req, adjustFrom(req), gameMaster)
	if err != nil {
		return nil, err
	}
	return adapter.Redact(p.caller, &travelv1.AdjustResponse{Record: p.Record, Journey: p.journey(), Events: p.Events, Outcome: p.outcome()}), nil
}

// Rest implements JourneyService.
func (s *Server) Rest(ctx context.Context, req *travelv1.RestRequest) (*travelv1.RestResponse, error) {
	p, err := s.play(ctx, req, diedrop.Rest{})
	if err != nil {
		return nil, err
	}
	return adapter.Redact(p.caller, &travelv1.RestResponse{Record: p.Record, Journey: p.journey(), Events: p.Events, Outcome: p.outcome()}), nil
}

// LongRest implements JourneyService.
func (s *Server) LongRest(ctx context.Context, req *travelv1.LongRestRequest) (*travelv1.LongRestResponse, error) {
	p, err := s.play(ctx, req, diedrop.Rest{Long: true})
	if err != nil {
		return nil, err
	}
	return adapter.Redact(p.caller, &travelv1.LongRestResponse{Record: p.Record, Journey: p.journey(), Events: p.Events, Outcome: p.outcome()}), nil
}

// Light implements JourneyService.
func (s *Server) Light(ctx context.Context, req *travelv1.LightRequest) (*travelv1.LightResponse, error) {
	p, err := s.play(ctx, req, diedrop.LightUp{Kind: req.GetKind()})
	if err != nil {
		return nil, err
	}
	return adapter.Redact(p.caller, &travelv1.LightResponse{Record: p.Record, Journey: p.journey(), Events: p.Events, Outcome: p.outcome()}), nil
}

// TakeTurn implements JourneyService.
func (s *Server) TakeTurn(ctx context.Context, req *travelv1.TakeTurnRequest) (*travelv1.TakeTurnResponse, error) {
	p, err := s.play(ctx, req, diedrop.TakeTurn{Trigger: req.GetTrigger(), To: req.GetTo()})
	if err != nil {
		return nil, err
	}
	return adapter.Redact(p.caller, &travelv1.TakeTurnResponse{Record: p.Record, Journey: p.journey(), Events: p.Events, Outcome: p.outcome()}), nil
}

// Retreat implements JourneyService.
func (s *Server) Retreat(ctx context.Context, req *travelv1.RetreatRequest) (*travelv1.RetreatResponse, error) {
	p, err := s.play(ctx, req, diedrop.Retreat{})
	if err != nil {
		return nil, err
	}
	return adapter.Redact(p.caller, &travelv1.RetreatResponse{Record: p.Record, Journey: p.journey(), Events: p.Events, Outcome: p.outcome()}), nil
}
