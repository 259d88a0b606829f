package delve_test

import (
	"context"
	"errors"
	"io"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	dungeonv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dungeon/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/await"
	"github.com/wayfarer-rpg/wayfarer/rules/balance"
	"github.com/wayfarer-rpg/wayfarer/rules/dangerpool"
)

func (n *node) simulate(who string, req *dungeonv1.SimulateDelvesRequest) ([]*dungeonv1.SimulateDelvesResponse, error) {
	ctx, cancel := context.WithTimeout(as(context.Background(), who), await.Limit)
	defer cancel()
	s, err := dungeonv1.NewDelveServiceClient(n.conn).SimulateDelves(ctx, req)
	var out []*dungeonv1.SimulateDelvesResponse
	for err == nil {
		var res *dungeonv1.SimulateDelvesResponse
		if res, err = s.Recv(); err == nil {
			out = append(out, res)
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return out, err
}

func TestSimulatedDelvesAreThoseOfTheLaboratory(t *testing.T) {
	t.Parallel()
	n := start(t)
	req := &dungeonv1.SimulateDelvesRequest{Parent: camp, Runs: 800, Seed: 3, Policy: "careful", Legs: proto.Int32(8), Torches: proto.Int32(3)}
	news, err := n.simulate(gm, req)
	if err != nil {
		t.Fatal(err)
	}
	got := news[len(news)-1].GetReport()
	if got == nil || len(news) < 3 || news[0].GetProgress().GetRuns() != 800 {
		t.Fatalf("no progress before a report: %v", news)
	}
	e := dangerpool.DefaultExpedition()
	e.Policy, e.Legs, e.Torches = dangerpool.Careful, 8, 3
	want, err := balance.RunDelves(t.Context(), balance.DelvePlan{Ruleset: dangerpool.Default(), Expedition: e, Runs: 800, Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	same := func(what string, got *dungeonv1.SimulatedRate, rate float64, interval [2]float64) {
		if got.GetRate() != rate || got.GetLow() != interval[0] || got.GetHigh() != interval[1] {
			t.Errorf("%s: %v, want %v of %v", what, got, rate, interval)
		}
	}
	same("survived", got.GetSurvived(), want.SuccessRate, want.Interval)
	same("finished", got.GetFinished(), want.Finished.Rate, want.Finished.Interval)
	same("any combat", got.GetAnyCombat(), want.AnyCombat.Rate, want.AnyCombat.Interval)
	for what, m := range map[string]struct {
		got  *dungeonv1.SimulatedMean
		want balance.Mean
	}{
		"dice": {got.GetDice(), want.Dice}, "minutes": {got.GetMinutes(), want.Minutes}, "spills": {got.GetSpills(), want.Spills},
		"events": {got.GetEvents(), want.Events}, "combats": {got.GetCombats(), want.Combats}, "legs": {got.GetLegs(), want.Legs},
		"torches": {got.GetTorches(), want.Torches},
	} {
		if m.got.GetMean() != m.want.Mean || m.got.GetError() != m.want.Error {
			t.Errorf("%s: %v, want %+v", what, m.got, m.want)
		}
	}
	sum := int32(0)
	for ending, n := range got.GetEndings() {
		sum += n
		if int(n) != want.Endings[ending] {
			t.Errorf("%s: %d, want %d", ending, n, want.Endings[ending])
		}
	}
	if sum != 800 || len(got.GetSeverities()) != 4 || len(got.GetEventTable()) != 12 || len(got.GetByEvents()) != len(want.ByEvents) ||
		len(got.GetByCombats()) != len(want.ByCombats) || len(got.GetBySpills()) != len(want.BySpills) {
		t.Errorf("got %v", got)
	}
	for i, s := range got.GetSeverities() {
		same(s.GetSeverity(), s.GetPerSpill(), want.Severities[i].PerSpill.Rate, want.Severities[i].PerSpill.Interval)
		same(s.GetSeverity(), s.GetMet(), want.Severities[i].Met.Rate, want.Severities[i].Met.Interval)
	}
	for i, e := range got.GetEventTable() {
		if w := want.EventTable[i]; int(e.GetNumber()) != w.Number || e.GetEvent() != w.Event || int(e.GetCount()) != w.Count || e.GetPerSpill() != w.PerSpill {
			t.Errorf("event %v, want %+v", e, w)
		}
	}
	again, err := n.simulate(owner, req)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(got, again[len(again)-1].GetReport(), protocmp.Transform()); diff != "" {
		t.Errorf("once more (-first +this):\n%s", diff)
	}
}

// POOL-ODDS-10 through the service.
func TestASimulatedLongRest(t *testing.T) {
	t.Parallel()
	n := start(t)
	news, err := n.simulate(gm, &dungeonv1.SimulateDelvesRequest{Parent: camp, Runs: 20_000, Seed: 3, Script: []string{"LONG_REST"}})
	if err != nil {
		t.Fatal(err)
	}
	r := news[len(news)-1].GetReport()
	if math.Abs(r.GetEvents().GetMean()-5.320816) > 4*r.GetEvents().GetError() || r.GetBySpills()[8] != 20_000 || r.GetTorches().GetMean() != 0 {
		t.Errorf("got %v", r)
	}
}

func TestBadSimulationsOfDelvesAreRefused(t *testing.T) {
	t.Parallel()
	n := start(t)
	for name, tt := range map[string]struct {
		who    string
		change func(*dungeonv1.SimulateDelvesRequest)
		want   refusal
	}{
		"by a player":            {adas, func(*dungeonv1.SimulateDelvesRequest) {}, refusal{codes.PermissionDenied, "NOT_GM", ""}},
		"by a stranger":          {stranger, func(*dungeonv1.SimulateDelvesRequest) {}, refusal{codes.NotFound, "NOT_FOUND", ""}},
		"too many runs":          {gm, func(r *dungeonv1.SimulateDelvesRequest) { r.Runs = 200_001 }, refusal{codes.InvalidArgument, "INVALID", "runs"}},
		"a strange policy":       {gm, func(r *dungeonv1.SimulateDelvesRequest) { r.Policy = "bold" }, refusal{codes.InvalidArgument, "INVALID", "policy"}},
		"no legs":                {gm, func(r *dungeonv1.SimulateDelvesRequest) { r.Legs = proto.Int32(0) }, refusal{codes.InvalidArgument, "INVALID", "legs"}},
		"a step that is none":    {gm, func(r *dungeonv1.SimulateDelvesRequest) { r.Script = []string{"MOVE", "FLY"} }, refusal{codes.InvalidArgument, "INVALID", "script[1]"}},
		"a step that is refused": {gm, func(r *dungeonv1.SimulateDelvesRequest) { r.Script = []string{"COMBAT_END"} }, refusal{codes.FailedPrecondition, "NOT_IN_COMBAT", "script[0]"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := &dungeonv1.SimulateDelvesRequest{Parent: camp, Runs: 10}
			tt.change(req)
			_, err := n.simulate(tt.who, req)
			tt.want.check(t, err)
		})
	}
}
