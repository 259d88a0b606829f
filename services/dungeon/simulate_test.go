package dungeon_test

import (
	"context"
	"errors"
	"io"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/testing/protocmp"

	dungeonv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dungeon/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/await"
	"github.com/wayfarer-rpg/wayfarer/rules/balance"
	"github.com/wayfarer-rpg/wayfarer/rules/digger"
)

func (n *node) simulate(who string, req *dungeonv1.SimulateRequest) ([]*dungeonv1.SimulateResponse, error) {
	ctx, cancel := context.WithTimeout(as(context.Background(), who), await.Limit)
	defer cancel()
	s, err := dungeonv1.NewDungeonServiceClient(n.conn).Simulate(ctx, req)
	var out []*dungeonv1.SimulateResponse
	for err == nil {
		var res *dungeonv1.SimulateResponse
		if res, err = s.Recv(); err == nil {
			out = append(out, res)
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return out, err
}

func inline(runs int32) *dungeonv1.SimulateRequest {
	return &dungeonv1.SimulateRequest{
		Parent: camp, What: &dungeonv1.SimulateRequest_Definition{Definition: shipped("ostrell-granary")}, Runs: runs, Seed: 7,
	}
}

func TestASimulationTellsOfItsProgressAndReports(t *testing.T) {
	t.Parallel()
	n := newWorld(t).node()
	do[*dungeonv1.ImportDungeonResponse](n, gm, &dungeonv1.ImportDungeonRequest{Parent: camp, Dungeon: shipped("ostrell-granary")})
	req := &dungeonv1.SimulateRequest{Parent: camp, What: &dungeonv1.SimulateRequest_Dungeon{Dungeon: granary}, Runs: 600, Seed: 7}
	news, err := n.simulate(gm, req)
	if err != nil {
		t.Fatal(err)
	}
	report := news[len(news)-1].GetReport()
	if report == nil || len(news) < 2 || news[0].GetProgress().GetRuns() != 600 {
		t.Fatalf("no progress before a report: %v", news)
	}
	d := digger.ShippedDungeons()[0]
	want, err := balance.Run(t.Context(), balance.Plan{Ruleset: digger.Default(), Dungeon: &d, Runs: 600, Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	if report.GetSuccessRate() != want.SuccessRate || report.GetSuccessLow() != want.Interval[0] || report.GetSuccessHigh() != want.Interval[1] ||
		math.Abs(report.GetMeanChallenges()-want.MeanChallenges) > 1e-12 || len(report.GetCards()) != len(d.Cards) || len(report.GetCurve()) != len(want.Curve) {
		t.Errorf("the laboratory says %+v, the report %v", want, report)
	}
	if e := report.GetEndings(); e["won"]+e["lost_retreat"]+e["lost_exhausted"] != report.GetRuns() || report.GetRuns() != 600 {
		t.Errorf("endings %v of %d runs", e, report.GetRuns())
	}
	if b := report.GetBand(); b.GetLow() != 0.57 || b.GetHigh() != 0.63 || b.GetHolds() != (want.SuccessRate >= 0.57 && want.SuccessRate <= 0.63) {
		t.Errorf("band %v of a rate of %v", b, want.SuccessRate)
	}
	// The same definition, not imported, plays the same runs.
	again, err := n.simulate(owner, inline(600))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(report, again[len(again)-1].GetReport(), protocmp.Transform()); diff != "" {
		t.Errorf("once more (-first +this):\n%s", diff)
	}
	if got := n.seqs(); len(got) != 1 {
		t.Errorf("simulations were journaled: %v", got)
	}
}

func TestSimulationsOfEverySizeAndOfChangedNumbers(t *testing.T) {
	t.Parallel()
	n := newWorld(t).node()
	req := inline(60)
	req.Sensitivity, req.PartySizes = true, true
	news, err := n.simulate(gm, req)
	if err != nil {
		t.Fatal(err)
	}
	d := digger.ShippedDungeons()[0]
	p := balance.Plan{Ruleset: digger.Default(), Dungeon: &d, Runs: 60, Seed: 7}
	_, changes, err := balance.Sensitivity(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	sizes, err := balance.PartySizes(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	r := news[len(news)-1].GetReport()
	if len(r.GetSensitivity()) != len(changes) || len(r.GetPartySizes()) != len(sizes) {
		t.Fatalf("%d changes of %d, %d sizes of %d", len(r.GetSensitivity()), len(changes), len(r.GetPartySizes()), len(sizes))
	}
	for i, c := range r.GetSensitivity() {
		if w := changes[i]; c.GetCard() != w.Card || c.GetWhat() != w.What || c.GetFrom() != w.From || c.GetTo() != w.To ||
			c.GetSuccessRate() != w.SuccessRate || c.GetDifference() != w.Difference {
			t.Errorf("change %d: %v, want %+v", i, c, w)
		}
	}
	for i, s := range r.GetPartySizes() {
		if w := sizes[i]; s.GetMembers() != i32(w.Members) || s.GetSuccess().GetRate() != w.SuccessRate || s.GetSuccess().GetLow() != w.Interval[0] ||
			s.GetSuccess().GetHigh() != w.Interval[1] || s.GetMeanChallenges() != w.MeanChallenges || s.GetEndings()["won"] != i32(w.Endings["won"]) {
			t.Errorf("size %d: %v, want %+v", i, s, w)
		}
	}
	all := int32(60)
	all += i32(balance.SensitivityRuns(p) + balance.SizesRuns(p))
	last := int32(0)
	for _, x := range news[:len(news)-1] {
		if x.GetProgress().GetRuns() != all || x.GetProgress().GetDone() <= last {
			t.Errorf("progress %v after %d of %d", x.GetProgress(), last, all)
		}
		last = x.GetProgress().GetDone()
	}
	if len(news) < 15 {
		t.Errorf("told %d times", len(news))
	}
}

func i32(n int) int32 { return int32(n) } //nolint:gosec // small

func TestSimulationsOfAnOwnParty(t *testing.T) {
	t.Parallel()
	n := newWorld(t).node()
	req := inline(200)
	for _, id := range []string{"a", "b", "c"} {
		req.Party = append(req.Party, &dungeonv1.SimulatedMember{Id: id, Brute: 6, Agility: 6, Wits: 6, Combat: 6, Tools: []*dungeonv1.SimulatedTool{
			{Id: "hammer", Ability: "brute", Rating: "major", Qualities: []string{"improved"}},
		}})
	}
	rate := func() float64 {
		news, err := n.simulate(gm, req)
		if err != nil {
			t.Fatal(err)
		}
		return news[len(news)-1].GetReport().GetSuccessRate()
	}
	strong := rate()
	for _, m := range req.GetParty() {
		m.Brute, m.Agility, m.Wits, m.Combat, m.Tools = 1, 1, 1, 1, nil
	}
	if weak := rate(); weak >= strong {
		t.Errorf("the weak win %.2f, the strong %.2f", weak, strong)
	}
}

func TestBadSimulationsAreRefused(t *testing.T) {
	t.Parallel()
	n := newWorld(t).node()
	member := &dungeonv1.SimulatedMember{Id: "a"}
	for name, tt := range map[string]struct {
		who    string
		change func(*dungeonv1.SimulateRequest)
		want   refusal
	}{
		"by a player":       {adas, func(*dungeonv1.SimulateRequest) {}, refusal{codes.PermissionDenied, "NOT_GM", ""}},
		"of nothing":        {gm, func(r *dungeonv1.SimulateRequest) { r.What = nil }, refusal{codes.InvalidArgument, "INVALID", "what"}},
		"of an unknown one": {gm, func(r *dungeonv1.SimulateRequest) { r.What = &dungeonv1.SimulateRequest_Dungeon{Dungeon: granary} }, refusal{codes.NotFound, "NOT_FOUND", "dungeon"}},
		"of another campaign": {gm, func(r *dungeonv1.SimulateRequest) {
			r.What = &dungeonv1.SimulateRequest_Dungeon{Dungeon: "campaigns/other/dungeons/x"}
		}, refusal{codes.NotFound, "NOT_FOUND", "dungeon"}},
		"without a final":                 {gm, func(r *dungeonv1.SimulateRequest) { drop(r.GetDefinition(), "final") }, refusal{codes.InvalidArgument, "INVALID_DUNGEON", "dungeon.cards"}},
		"too many runs":                   {gm, func(r *dungeonv1.SimulateRequest) { r.Runs = 200_001 }, refusal{codes.InvalidArgument, "INVALID", "runs"}},
		"a strange policy":                {gm, func(r *dungeonv1.SimulateRequest) { r.Policy = "reckless" }, refusal{codes.InvalidArgument, "INVALID", "policy"}},
		"a party of one":                  {gm, func(r *dungeonv1.SimulateRequest) { r.Party = append(r.Party, member) }, refusal{codes.InvalidArgument, "INVALID", "party"}},
		"one member":                      {gm, func(r *dungeonv1.SimulateRequest) { r.Members = 1 }, refusal{codes.InvalidArgument, "INVALID", "members"}},
		"twins":                           {gm, func(r *dungeonv1.SimulateRequest) { r.Party = append(r.Party, member, member) }, refusal{codes.InvalidArgument, "INVALID", "party[1]"}},
		"too many runs for every variant": {gm, func(r *dungeonv1.SimulateRequest) { r.Runs, r.Sensitivity = 20_001, true }, refusal{codes.InvalidArgument, "INVALID", "runs"}},
		"sizes of one's own party": {gm, func(r *dungeonv1.SimulateRequest) {
			r.Party, r.PartySizes = append(r.Party, member, &dungeonv1.SimulatedMember{Id: "b"}), true
		}, refusal{codes.InvalidArgument, "INVALID", "party_sizes"}},
		"a quality of nobody": {gm, func(r *dungeonv1.SimulateRequest) {
			r.Party = append(r.Party, member, &dungeonv1.SimulatedMember{Id: "b", Tools: []*dungeonv1.SimulatedTool{
				{Id: "x", Ability: "wits", Rating: "minor", Qualities: []string{"shiny"}},
			}})
		}, refusal{codes.InvalidArgument, "UNKNOWN_QUALITY", "party[1].tools[0]"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := inline(10)
			tt.change(req)
			_, err := n.simulate(tt.who, req)
			tt.want.check(t, err)
		})
	}
}
