package delve

import (
	"context"
	"fmt"

	dungeonv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dungeon/v1"

	"github.com/wayfarer-rpg/wayfarer/rules/dangerpool"
	"github.com/wayfarer-rpg/wayfarer/services/adapter"
)

func memberField(i int) string { return fmt.Sprintf("members[%d].character", i) }
func lightField(i int) string  { return fmt.Sprintf("lights[%d].remaining", i) }

// RecordProvisions implements DelveService.
func (s *Server) RecordProvisions(ctx context.Context, req *dungeonv1.RecordProvisionsRequest) (*dungeonv1.RecordProvisionsResponse, error) {
	p, err := s.play(ctx, req, "", dangerpool.RecordProvisions{Note: req.GetNote()})
	if err != nil {
		return nil, err
	}
	return adapter.Redact(p.caller, &dungeonv1.RecordProvisionsResponse{Record: p.Record, Delve: p.delve, Events: p.Events, Result: p.result}), nil
}

// BeginDelve implements DelveService.
func (s *Server) BeginDelve(ctx context.Context, req *dungeonv1.BeginDelveRequest) (*dungeonv1.BeginDelveResponse, error) {
	p, err := s.play(ctx, req, "", dangerpool.Begin{})
	if err != nil {
		return nil, err
	}
	return adapter.Redact(p.caller, &dungeonv1.BeginDelveResponse{Record: p.Record, Delve: p.delve, Events: p.Events, Result: p.result}), nil
}

// Move implements DelveService.
func (s *Server) Move(ctx context.Context, req *dungeonv1.MoveRequest) (*dungeonv1.MoveResponse, error) {
	p, err := s.play(ctx, req, dangerpool.TriggerMove, dangerpool.Act{
		Action: dangerpool.TriggerMove, To: req.GetTo(), Risky: req.GetRisky(), KeepFreeAction: req.GetKeepFreeAction(), Calls: callsFrom(req.GetCalls()),
	})
	if err != nil {
		return nil, err
	}
	return adapter.Redact(p.caller, &dungeonv1.MoveResponse{Record: p.Record, Delve: p.delve, Events: p.Events, Result: p.result}), nil
}

// Interact implements DelveService.
func (s *Server) Interact(ctx context.Context, req *dungeonv1.InteractRequest) (*dungeonv1.InteractResponse, error) {
	p, err := s.play(ctx, req, dangerpool.TriggerInteract, dangerpool.Act{
		Action: dangerpool.TriggerInteract, Risky: req.GetRisky(), KeepFreeAction: req.GetKeepFreeAction(), Calls: callsFrom(req.GetCalls()),
	})
	if err != nil {
		return nil, err
	}
	return adapter.Redact(p.caller, &dungeonv1.InteractResponse{Record: p.Record, Delve: p.delve, Events: p.Events, Result: p.result}), nil
}

// HunkerDown implements DelveService.
func (s *Server) HunkerDown(ctx context.Context, req *dungeonv1.HunkerDownRequest) (*dungeonv1.HunkerDownResponse, error) {
	p, err := s.play(ctx, req, dangerpool.TriggerHunkerDown, dangerpool.Act{
		Action: dangerpool.TriggerHunkerDown, Risky: req.GetRisky(), KeepFreeAction: req.GetKeepFreeAction(), Calls: callsFrom(req.GetCalls()),
	})
	if err != nil {
		return nil, err
	}
	return adapter.Redact(p.caller, &dungeonv1.HunkerDownResponse{Record: p.Record, Delve: p.delve, Events: p.Events, Result: p.result}), nil
}

// LeaveHunker implements DelveService.
func (s *Server) LeaveHunker(ctx context.Context, req *dungeonv1.LeaveHunkerRequest) (*dungeonv1.LeaveHunkerResponse, error) {
	p, err := s.play(ctx, req, dangerpool.TriggerLeaveHunker, dangerpool.LeaveHunker{})
	if err != nil {
		return nil, err
	}
	return adapter.Redact(p.caller, &dungeonv1.LeaveHunkerResponse{Record: p.Record, Delve: p.delve, Events: p.Events, Result: p.result}), nil
}

// Wait implements DelveService.
func (s *Server) Wait(ctx context.Context, req *dungeonv1.WaitRequest) (*dungeonv1.WaitResponse, error) {
	p, err := s.play(ctx, req, dangerpool.TriggerWait, dangerpool.LetTimePass{Minutes: int(req.GetMinutes()), Calls: callsFrom(req.GetCalls())})
	if err != nil {
		return nil, err
	}
	return adapter.Redact(p.caller, &dungeonv1.WaitResponse{Record: p.Record, Delve: p.delve, Events: p.Events, Result: p.result}), nil
}

// AddRealTime implements DelveService.
func (s *Server) AddRealTime(ctx context.Context, req *dungeonv1.AddRealTimeRequest) (*dungeonv1.AddRealTimeResponse, error) {
	p, err := s.prepared(ctx, req, dangerpool.TriggerRealTime, func(c adapter.Caller, _ delve) (plan, error) {
		return plan{command: dangerpool.PassTime{Minutes: int(req.GetMinutes()), Calls: callsFrom(req.GetCalls())}}, c.RequireGM()
	})
	if err != nil {
		return nil, err
	}
	return adapter.Redact(p.caller, &dungeonv1.AddRealTimeResponse{Record: p.Record, Delve: p.delve, Events: p.Events, Result: p.result}), nil
}

// TakeRisk implements DelveService.
func (s *Server) TakeRisk(ctx context.Context, req *dungeonv1.TakeRiskRequest) (*dungeonv1.TakeRiskResponse, error) {
	p, err := s.play(ctx, req, dangerpool.TriggerRisk, dangerpool.DrawAttention{Calls: callsFrom(req.GetCalls())})
	if err != nil {
		return nil, err
	}
	return adapter.Redact(p.caller, &dungeonv1.TakeRiskResponse{Record: p.Record, Delve: p.delve, Events: p.Events, Result: p.result}), nil
}

// ShortRest implements DelveService.
func (s *Server) ShortRest(ctx context.Context, req *dungeonv1.ShortRestRequest) (*dungeonv1.ShortRestResponse, error) {
	p, err := s.play(ctx, req, dangerpool.TriggerShortRest, dangerpool.Rest{Calls: callsFrom(req.GetCalls())})
	if err != nil {
		return nil, err
	}
	return adapter.Redact(p.caller, &dungeonv1.ShortRestResponse{Record: p.Record, Delve: p.delve, Events: p.Events, Result: p.result}), nil
}

// LongRest implements DelveService.
func (s *Server) LongRest(ctx context.Context, req *dungeonv1.LongRestRequest) (*dungeonv1.LongRestResponse, error) {
	p, err := s.play(ctx, req, dangerpool.TriggerLongRest, dangerpool.Rest{Long: true, Calls: callsFrom(req.GetCalls())})
	if err != nil {
		return nil, err
	}
	return adapter.Redact(p.caller, &dungeonv1.LongRestResponse{Record: p.Record, Delve: p.delve, Events: p.Events, Result: p.result}), nil
}

// StartCombat implements DelveService.
func (s *Server) StartCombat(ctx context.Context, req *dungeonv1.StartCombatRequest) (*dungeonv1.StartCombatResponse, error) {
	p, err := s.play(ctx, req, dangerpool.TriggerCombatStart, dangerpool.StartCombat{})
	if err != nil {
		return nil, err
	}
	return adapter.Redact(p.caller, &dungeonv1.StartCombatResponse{Record: p.Record, Delve: p.delve, Events: p.Events, Result: p.result}), nil
}

// FightRounds implements DelveService.
func (s *Server) FightRounds(ctx context.Context, req *dungeonv1.FightRoundsRequest) (*dungeonv1.FightRoundsResponse, error) {
	p, err := s.play(ctx, req, dangerpool.TriggerCombatRounds, dangerpool.FightRounds{Rounds: int(req.GetRounds())})
	if err != nil {
		return nil, err
	}
	return adapter.Redact(p.caller, &dungeonv1.FightRoundsResponse{Record: p.Record, Delve: p.delve, Events: p.Events, Result: p.result}), nil
}

// EndCombat implements DelveService.
func (s *Server) EndCombat(ctx context.Context, req *dungeonv1.EndCombatRequest) (*dungeonv1.EndCombatResponse, error) {
	p, err := s.play(ctx, req, dangerpool.TriggerCombatEnd, dangerpool.EndCombat{Calls: callsFrom(req.GetCalls())})
	if err != nil {
		return nil, err
	}
	return adapter.Redact(p.caller, &dungeonv1.EndCombatResponse{Record: p.Record, Delve: p.delve, Events: p.Events, Result: p.result}), nil
}

// AddLight implements DelveService.
func (s *Server) AddLight(ctx context.Context, req *dungeonv1.AddLightRequest) (*dungeonv1.AddLightResponse, error) {
	p, err := s.play(ctx, req, dangerpool.TriggerLightAdd, dangerpool.AddLight{ID: req.GetId(), Source: req.GetSource()})
	if err != nil {
		return nil, err
	}
	return adapter.Redact(p.caller, &dungeonv1.AddLightResponse{Record: p.Record, Delve: p.delve, Events: p.Events, Result: p.result}), nil
}

// SwitchLight implements DelveService.
func (s *Server) SwitchLight(ctx context.Context, req *dungeonv1.SwitchLightRequest) (*dungeonv1.SwitchLightResponse, error) {
	trigger := dangerpool.TriggerLightOff
	if req.GetOn() {
		trigger = dangerpool.TriggerLightOn
	}
	p, err := s.play(ctx, req, trigger, dangerpool.SwitchLight{ID: req.GetId(), On: req.GetOn()})
	if err != nil {
		return nil, err
	}
	return adapter.Redact(p.caller, &dungeonv1.SwitchLightResponse{Record: p.Record, Delve: p.delve, Events: p.Events, Result: p.result}), nil
}

// RefuelLight implements DelveService.
func (s *Server) RefuelLight(ctx context.Context, req *dungeonv1.RefuelLightRequest) (*dungeonv1.RefuelLightResponse, error) {
	p, err := s.play(ctx, req, dangerpool.TriggerRefuel, dangerpool.RefuelLight{ID: req.GetId()})
	if err != nil {
		return nil, err
	}
	return adapter.Redact(p.caller, &dungeonv1.RefuelLightResponse{Record: p.Record, Delve: p.delve, Events: p.Events, Result: p.result}), nil
}

// CastSpell implements DelveService.
func (s *Server) CastSpell(ctx context.Context, req *dungeonv1.CastSpellRequest) (*dungeonv1.CastSpellResponse, error) {
	seconds := int(req.GetSeconds())
	if req.GetMinutes() != 0 {
		seconds = int(req.GetMinutes()) * 60
	}
	p, err := s.play(ctx, req, dangerpool.TriggerCast, dangerpool.CastSpell{ID: req.GetId(), Seconds: seconds})
	if err != nil {
		return nil, err
	}
	return adapter.Redact(p.caller, &dungeonv1.CastSpellResponse{Record: p.Record, Delve: p.delve, Events: p.Events, Result: p.result}), nil
}

// EndSpell implements DelveService.
func (s *Server) EndSpell(ctx context.Context, req *dungeonv1.EndSpellRequest) (*dungeonv1.EndSpellResponse, error) {
	p, err := s.play(ctx, req, dangerpool.TriggerSpellEnd, dangerpool.EndSpell{ID: req.GetId()})
	if err != nil {
		return nil, err
	}
	return adapter.Redact(p.caller, &dungeonv1.EndSpellResponse{Record: p.Record, Delve: p.delve, Events: p.Events, Result: p.result}), nil
}

// LeaveDelve implements DelveService.
func (s *Server) LeaveDelve(ctx context.Context, req *dungeonv1.LeaveDelveRequest) (*dungeonv1.LeaveDelveResponse, error) {
	p, err := s.play(ctx, req, dangerpool.TriggerLeave, dangerpool.Leave{Target: req.GetTarget()})
	if err != nil {
		return nil, err
	}
	return adapter.Redact(p.caller, &dungeonv1.LeaveDelveResponse{Record: p.Record, Delve: p.delve, Events: p.Events, Result: p.result}), nil
}

// NarrateEvent implements DelveService.
func (s *Server) NarrateEvent(ctx context.Context, req *dungeonv1.NarrateEventRequest) (*dungeonv1.NarrateEventResponse, error) {
	p, err := s.play(ctx, req, "", dangerpool.Narrate{
		Spill: int(req.GetSpill()), Event: int(req.GetEvent()),
		Call: dangerpool.Call{Override: int(req.GetOverride()), Shows: req.GetShows(), Note: req.GetNote()},
	})
	if err != nil {
		return nil, err
	}
	return adapter.Redact(p.caller, &dungeonv1.NarrateEventResponse{Record: p.Record, Delve: p.delve, Events: p.Events, Result: p.result}), nil
}

// RaiseDanger implements DelveService.
func (s *Server) RaiseDanger(ctx context.Context, req *dungeonv1.RaiseDangerRequest) (*dungeonv1.RaiseDangerResponse, error) {
	p, err := s.play(ctx, req, dangerpool.TriggerDanger, dangerpool.RaiseDanger{Dice: int(req.GetDice()), Reason: req.GetReason(), Calls: callsFrom(req.GetCalls())})
	if err != nil {
		return nil, err
	}
	return adapter.Redact(p.caller, &dungeonv1.RaiseDangerResponse{Record: p.Record, Delve: p.delve, Events: p.Events, Result: p.result}), nil
}

// AdjustDelve implements DelveService.
func (s *Server) AdjustDelve(ctx context.Context, req *dungeonv1.AdjustDelveRequest) (*dungeonv1.AdjustDelveResponse, error) {
	p, err := s.play(ctx, req, "", adjustFrom(req))
	if err != nil {
		return nil, err
	}
	return adapter.Redact(p.caller, &dungeonv1.AdjustDelveResponse{Record: p.Record, Delve: p.delve, Events: p.Events, Result: p.result}), nil
}

// AddRemark implements DelveService.
func (s *Server) AddRemark(ctx context.Context, req *dungeonv1.AddRemarkRequest) (*dungeonv1.AddRemarkResponse, error) {
	p, err := s.prepared(ctx, req, "", func(c adapter.Caller, _ delve) (plan, error) {
		return plan{command: dangerpool.Remark{Text: req.GetText(), Secret: req.GetSecret()}}, gmField(c, "secret", req.GetSecret())
	})
	if err != nil {
		return nil, err
	}
	return adapter.Redact(p.caller, &dungeonv1.AddRemarkResponse{Record: p.Record, Delve: p.delve, Events: p.Events, Result: p.result}), nil
}

func adjustFrom(req *dungeonv1.AdjustDelveRequest) dangerpool.Adjust {
	out := dangerpool.Adjust{
		Reason: req.GetReason(), Pool: intPtr(req.Pool), RealClock: intPtr(req.RealClock), WaitClock: intPtr(req.WaitClock),
		Hunkered: req.Hunkered, FreeAction: req.FreeAction, Area: req.Area, Drop: req.GetDrop(),
	}
	for _, l := range req.GetLights() {
		out.Lights = append(out.Lights, dangerpool.Light{ID: l.GetId(), Source: l.GetSource(), Remaining: int(l.GetRemaining()), Active: l.GetActive()})
	}
	for _, s := range req.GetSpells() {
		out.Spells = append(out.Spells, dangerpool.Spell{ID: s.GetId(), Seconds: int(s.GetSeconds())})
	}
	return out
}
