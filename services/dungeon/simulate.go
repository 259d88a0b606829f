package dungeon

import (
	"context"
	"runtime"
	"strings"
	"time"

	"google.golang.org/grpc"

	dungeonv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dungeon/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/fault"
	"github.com/wayfarer-rpg/wayfarer/rules/balance"
	"github.com/wayfarer-rpg/wayfarer/rules/digger"
	"github.com/wayfarer-rpg/wayfarer/services/adapter"
)

const (
	defaultRuns = 10_000
	// A simulation takes a share of the cores, so that play goes on beside it; more than two at once are turned away.
	maxSimulations = 2
	simulatorRetry = 5 * time.Second
	// progressParts is how many times a simulation tells of its progress.
	progressParts = 20
)

// Simulate implements DungeonService.
func (s *Server) Simulate(req *dungeonv1.SimulateRequest, out grpc.ServerStreamingServer[dungeonv1.SimulateResponse]) error {
	ctx := out.Context()
	c, err := s.access.Caller(ctx, req.GetParent())
	if err != nil {
		return err
	}
	if err := c.RequireGM(); err != nil {
		return err
	}
	rules, _, err := s.diggerRules(ctx, c.Campaign)
	if err != nil {
		return err
	}
	d, err := s.simulated(ctx, rules, req)
	if err != nil {
		return err
	}
	select {
	case s.simulations <- struct{}{}:
		defer func() { <-s.simulations }()
	default:
		return fault.New(fault.ResourceExhausted, "SIMULATOR_BUSY", "%d simulations are running", maxSimulations).After(simulatorRetry)
	}
	p := balance.Plan{
		Ruleset: rules, Dungeon: d, Policy: digger.Policy(req.GetPolicy()), Members: int(req.GetMembers()), Party: partyFrom(req.GetParty()),
		Runs: int(req.GetRuns()), Seed: uint64(req.GetSeed()), Workers: max(1, runtime.GOMAXPROCS(0)/maxSimulations),
	}
	if p.Runs == 0 {
		p.Runs = defaultRuns
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	told := 0
	p.Progress = func(done int) {
		if done-told < p.Runs/progressParts || done == p.Runs {
			return
		}
		told = done
		// Who cannot be told is gone, and the stream says so at the end.
		if err := out.Send(&dungeonv1.SimulateResponse{News: &dungeonv1.SimulateResponse_Progress{
			Progress: &dungeonv1.SimulationProgress{Done: i32(done), Runs: i32(p.Runs)},
		}}); err != nil {
			stop()
		}
	}
	report, err := balance.Run(ctx, p)
	if err != nil {
		return adapter.Fault(err)
	}
	return out.Send(&dungeonv1.SimulateResponse{News: &dungeonv1.SimulateResponse_Report{Report: reportOf(rules, d, report)}})
}

// simulated finds the dungeon of a request.
func (s *Server) simulated(ctx context.Context, rules *digger.Ruleset, req *dungeonv1.SimulateRequest) (*digger.Dungeon, error) {
	if req.GetDefinition() != nil {
		d := definitionFrom(req.GetDefinition())
		if problems := digger.Check(rules, d); len(problems) > 0 {
			return nil, invalidDungeon(problems)
		}
		return d, nil
	}
	if !strings.HasPrefix(req.GetDungeon(), req.GetParent()+"/") {
		return nil, missing(fault.New(fault.NotFound, "NOT_FOUND", "there is no %s", req.GetDungeon()), "dungeon", req.GetDungeon())
	}
	at, err := s.definitions.Load(ctx, req.GetDungeon())
	if err != nil {
		return nil, missing(err, "dungeon", req.GetDungeon())
	}
	d, _, _ := at.State.revision(0)
	return d, nil
}

func partyFrom(party []*dungeonv1.SimulatedMember) []digger.Entrant {
	var out []digger.Entrant
	for _, m := range party {
		e := digger.Entrant{ID: m.GetId(), Form: digger.BaseForm, Statblock: &digger.Abilities{
			Brute: int(m.GetBrute()), Agility: int(m.GetAgility()), Wits: int(m.GetWits()), Combat: int(m.GetCombat()),
		}}
		for i, t := range m.GetTools() {
			e.Tools = append(e.Tools, digger.NumberedTool{Number: i + 1, Tool: digger.Tool{
				ID: t.GetId(), Ability: t.GetAbility(), Rating: t.GetRating(), Qualities: t.GetQualities(), Drawback: t.GetDrawback(), Loaded: true,
			}})
		}
		out = append(out, e)
	}
	return out
}

func reportOf(rules *digger.Ruleset, d *digger.Dungeon, r balance.Report) *dungeonv1.SimulationReport {
	band, _ := balance.BandOf(rules, d.Type)
	out := &dungeonv1.SimulationReport{
		Runs: i32(r.Runs), SuccessRate: r.SuccessRate, SuccessLow: r.Interval[0], SuccessHigh: r.Interval[1],
		Band:    &dungeonv1.Band{Low: band.Low, High: band.High, Holds: band.Holds(r.SuccessRate)},
		Endings: map[string]int32{}, MeanChallenges: r.MeanChallenges,
	}
	for ending, n := range r.Endings {
		out.Endings[ending] = i32(n)
	}
	for _, p := range r.Curve {
		out.Curve = append(out.Curve, &dungeonv1.SimulatedChallenge{
			Runs: i32(p.Runs), Passed: p.Passed, Exploration: p.Exploration, Exhaustion: p.Exhaustion, Exhausted: p.Exhausted,
		})
	}
	for _, c := range r.Cards {
		out.Cards = append(out.Cards, &dungeonv1.SimulatedCard{Card: c.Card, Kind: c.Kind, Met: i32(c.Met), Passed: c.Passed, Ended: i32(c.Ended)})
	}
	return out
}
