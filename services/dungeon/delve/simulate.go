package delve

import (
	"cmp"
	"context"

	"google.golang.org/grpc"

	dungeonv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dungeon/v1"

	"github.com/wayfarer-rpg/wayfarer/rules/balance"
	"github.com/wayfarer-rpg/wayfarer/rules/dangerpool"
	"github.com/wayfarer-rpg/wayfarer/rules/ruleset"
	"github.com/wayfarer-rpg/wayfarer/services/adapter"
)

// SimulateDelves implements DelveService.
func (s *Server) SimulateDelves(req *dungeonv1.SimulateDelvesRequest, out grpc.ServerStreamingServer[dungeonv1.SimulateDelvesResponse]) error {
	ctx := out.Context()
	c, err := s.access.Caller(ctx, req.GetParent())
	if err != nil {
		return err
	}
	if err := c.RequireGM(); err != nil {
		return err
	}
	rules, _, err := adapter.Parsed(ctx, s.cfg.Rulesets, c.Campaign, ruleset.DangerPool, s.cfg.Rules, dangerpool.Parse)
	if err != nil {
		return err
	}
	expedition, err := expeditionFrom(req)
	if err != nil {
		return adapter.Fault(err)
	}
	p := balance.DelvePlan{
		Ruleset: rules, Expedition: expedition, Runs: cmp.Or(int(req.GetRuns()), adapter.DefaultRuns), Seed: uint64(req.GetSeed()),
		Workers: adapter.SimulationWorkers(),
	}
	if err := p.Check(); err != nil {
		return adapter.Fault(err)
	}
	return s.simulations.Play(ctx, p.Runs, func(done int) error {
		return out.Send(&dungeonv1.SimulateDelvesResponse{News: &dungeonv1.SimulateDelvesResponse_Progress{
			Progress: &dungeonv1.SimulationProgress{Done: i32(done), Runs: i32(p.Runs)},
		}})
	}, func(ctx context.Context, progress func(int)) error {
		p.Progress = progress
		report, err := balance.RunDelves(ctx, p)
		if err != nil {
			return adapter.Fault(err)
		}
		return out.Send(&dungeonv1.SimulateDelvesResponse{News: &dungeonv1.SimulateDelvesResponse_Report{Report: simulationOf(report)}})
	})
}

func expeditionFrom(req *dungeonv1.SimulateDelvesRequest) (dangerpool.Expedition, error) {
	e := dangerpool.DefaultExpedition()
	if req.GetPolicy() != "" {
		e.Policy = dangerpool.Policy(req.GetPolicy())
	}
	if len(req.GetScript()) > 0 {
		e.Torches = 0
	}
	for into, n := range map[*int]*int32{
		&e.Legs: req.Legs, &e.LegMinutes: req.LegMinutes, &e.FightMinutes: req.FightMinutes, &e.FightRounds: req.FightRounds, &e.Torches: req.Torches,
	} {
		if n != nil {
			*into = int(*n)
		}
	}
	var err error
	if len(req.GetScript()) > 0 {
		e.Script, err = dangerpool.ParseScript(req.GetScript())
	}
	return e, err
}

func rateOf(r balance.Rate) *dungeonv1.SimulatedRate {
	return &dungeonv1.SimulatedRate{Rate: r.Rate, Low: r.Interval[0], High: r.Interval[1]}
}

func meanOf(m balance.Mean) *dungeonv1.SimulatedMean {
	return &dungeonv1.SimulatedMean{Mean: m.Mean, Error: m.Error}
}

func simulationOf(r balance.DelveReport) *dungeonv1.DelveSimulation {
	out := &dungeonv1.DelveSimulation{
		Runs: i32(r.Runs), Survived: rateOf(balance.Rate{Rate: r.SuccessRate, Interval: r.Interval}), Finished: rateOf(r.Finished),
		AnyCombat: rateOf(r.AnyCombat), Endings: map[string]int32{}, Dice: meanOf(r.Dice), Minutes: meanOf(r.Minutes), Spills: meanOf(r.Spills),
		Events: meanOf(r.Events), Combats: meanOf(r.Combats), Legs: meanOf(r.Legs), Torches: meanOf(r.Torches),
		ByEvents: i32s(r.ByEvents), ByCombats: i32s(r.ByCombats), BySpills: i32s(r.BySpills),
	}
	for ending, n := range r.Endings {
		out.Endings[ending] = i32(n)
	}
	for _, x := range r.Severities {
		out.Severities = append(out.Severities, &dungeonv1.SimulatedSeverity{
			Severity: x.Severity, Spills: i32(x.Spills), PerSpill: rateOf(x.PerSpill), Met: rateOf(x.Met),
		})
	}
	for _, x := range r.EventTable {
		out.EventTable = append(out.EventTable, &dungeonv1.SimulatedEvent{Number: i32(x.Number), Event: x.Event, Count: i32(x.Count), PerSpill: x.PerSpill})
	}
	return out
}
