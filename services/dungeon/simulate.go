package dungeon

import (
	"cmp"
	"context"
	"strings"

	"google.golang.org/grpc"

	dungeonv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dungeon/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/fault"
	"github.com/wayfarer-rpg/wayfarer/rules/balance"
	"github.com/wayfarer-rpg/wayfarer/rules/digger"
	"github.com/wayfarer-rpg/wayfarer/services/adapter"
)

// mostVaried bounds the runs of a simulation that is played once more for every variant.
const mostVaried = 20_000

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
	p := balance.Plan{
		Ruleset: rules, Dungeon: d, Policy: digger.Policy(req.GetPolicy()), Members: int(req.GetMembers()), Party: partyFrom(req.GetParty()),
		Runs: cmp.Or(int(req.GetRuns()), adapter.DefaultRuns), Seed: uint64(req.GetSeed()), Workers: adapter.SimulationWorkers(),
	}
	if (req.GetSensitivity() || req.GetPartySizes()) && p.Runs > mostVaried {
		return fault.Invalid("runs", "with sensitivity or party_sizes at most %d", mostVaried)
	}
	if req.GetPartySizes() && p.Party != nil {
		return fault.Invalid("party_sizes", "sizes are compared with reference parties")
	}
	if err := p.Check(); err != nil {
		return adapter.Fault(err)
	}
	all := p.Runs
	if req.GetSensitivity() {
		all += balance.SensitivityRuns(p)
	}
	if req.GetPartySizes() {
		all += balance.SizesRuns(p)
	}
	return s.simulations.Play(ctx, all, func(done int) error {
		return out.Send(&dungeonv1.SimulateResponse{News: &dungeonv1.SimulateResponse_Progress{
			Progress: &dungeonv1.SimulationProgress{Done: i32(done), Runs: i32(all)},
		}})
	}, func(ctx context.Context, progress func(int)) error {
		report, err := simulate(ctx, p, req, progress)
		if err != nil {
			return adapter.Fault(err)
		}
		return out.Send(&dungeonv1.SimulateResponse{News: &dungeonv1.SimulateResponse_Report{Report: report}})
	})
}

// simulate plays a plan, and what else is asked for.
func simulate(ctx context.Context, p balance.Plan, req *dungeonv1.SimulateRequest, progress func(done int)) (*dungeonv1.SimulationReport, error) {
	done := 0
	p.Progress = func(n int) { progress(done + n) }
	report, err := balance.Run(ctx, p)
	if err != nil {
		return nil, err
	}
	res := reportOf(p.Ruleset, p.Dungeon, report)
	if done = p.Runs; req.GetSensitivity() {
		_, changes, err := balance.Sensitivity(ctx, p)
		if err != nil {
			return nil, err
		}
		for _, x := range changes {
			res.Sensitivity = append(res.Sensitivity, &dungeonv1.SimulatedChange{
				Card: x.Card, What: x.What, From: x.From, To: x.To, SuccessRate: x.SuccessRate, Difference: x.Difference,
			})
		}
		done += balance.SensitivityRuns(p)
	}
	if req.GetPartySizes() {
		sizes, err := balance.PartySizes(ctx, p)
		if err != nil {
			return nil, err
		}
		for _, x := range sizes {
			res.PartySizes = append(res.PartySizes, &dungeonv1.SimulatedSize{
				Members: i32(x.Members), Success: &dungeonv1.SimulatedRate{Rate: x.SuccessRate, Low: x.Interval[0], High: x.Interval[1]},
				MeanChallenges: x.MeanChallenges, Endings: countsOf(x.Endings),
			})
		}
	}
	return res, nil
}

func countsOf(counts map[string]int) map[string]int32 {
	out := map[string]int32{}
	for name, n := range counts {
		out[name] = i32(n)
	}
	return out
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
		Endings: countsOf(r.Endings), MeanChallenges: r.MeanChallenges,
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
