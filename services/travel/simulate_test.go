package travel_test

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/testing/protocmp"

	travelv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/travel/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/await"
	"github.com/wayfarer-rpg/wayfarer/rules/balance"
	"github.com/wayfarer-rpg/wayfarer/rules/diedrop"
)

func (n *node) simulate(who string, req *travelv1.SimulateJourneysRequest) ([]*travelv1.SimulateJourneysResponse, error) {
	ctx, cancel := context.WithTimeout(as(context.Background(), who), await.Limit)
	defer cancel()
	s, err := travelv1.NewJourneyServiceClient(n.conn).SimulateJourneys(ctx, req)
	var out []*travelv1.SimulateJourneysResponse
	for err == nil {
		var res *travelv1.SimulateJourneysResponse
		if res, err = s.Recv(); err == nil {
			out = append(out, res)
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return out, err
}

func simulated(runs int32) *travelv1.SimulateJourneysRequest {
	return &travelv1.SimulateJourneysRequest{
		Parent: camp, Region: vale, From: &travelv1.Hex{Q: 1, R: 2}, To: &travelv1.Hex{Q: 4, R: 5}, Runs: runs, Seed: 3, Food: []int32{6},
		Policy: "forage-when-low",
	}
}

func TestSimulatedJourneysAreThoseOfTheLaboratory(t *testing.T) {
	t.Parallel()
	w := newWorld()
	n := w.node(t)
	n.importVale()
	req := simulated(800)
	req.Company = []*travelv1.SimulatedTraveller{{Name: "Asa", Hp: 3, Str: 9, Gear: 2}, {Name: "Bram", Hp: 5, Str: 12, Capacity: 14}}
	before := w.seqs(t)
	news, err := n.simulate(gm, req)
	if err != nil {
		t.Fatal(err)
	}
	got := news[len(news)-1].GetReport()
	if got == nil || len(news) < 3 || news[0].GetProgress().GetRuns() != 800 {
		t.Fatalf("no progress before a report: %v", news)
	}
	rs, capacity := diedrop.Default(), 14
	route, err := diedrop.FindRoute(rs, diedrop.ExampleMap(), diedrop.Hex{Q: 1, R: 2}, diedrop.Hex{Q: 4, R: 5}, false)
	if err != nil {
		t.Fatal(err)
	}
	want, err := balance.RunJourneys(t.Context(), balance.JourneyPlan{Ruleset: rs, Runs: 800, Seed: 3, Trip: diedrop.Trip{
		Policy: diedrop.ForageWhenLow, Map: diedrop.ExampleMap(), Route: route, Food: []int{6}, Members: []diedrop.Member{
			diedrop.Newcomer{Name: "Asa", HP: 3, STR: 9, Gear: 2}.Member(rs), diedrop.Newcomer{Name: "Bram", HP: 5, STR: 12, Capacity: &capacity}.Member(rs),
		},
	}})
	if err != nil {
		t.Fatal(err)
	}
	same := func(what string, got *travelv1.SimulatedRate, rate float64, interval [2]float64) {
		if got.GetRate() != rate || got.GetLow() != interval[0] || got.GetHigh() != interval[1] {
			t.Errorf("%s: %v, want %v of %v", what, got, rate, interval)
		}
	}
	same("arrived with food", got.GetArrivedFed(), want.SuccessRate, want.Interval)
	same("arrived", got.GetArrived(), want.Arrived.Rate, want.Arrived.Interval)
	for what, m := range map[string]struct {
		got  *travelv1.SimulatedMean
		want balance.Mean
	}{
		"rounds": {got.GetRounds(), want.Rounds}, "days": {got.GetDays(), want.Days}, "forages": {got.GetForages(), want.Forages},
		"hungry rounds": {got.GetHungryRounds(), want.Hungry}, "encounters": {got.GetEncounters(), want.Encounters}, "dead": {got.GetDead(), want.Dead},
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
	if sum != 800 || len(got.GetFoodLeft()) != len(want.FoodLeft) || len(got.GetCurve()) != len(want.Curve) || len(got.GetCurve()) != len(route)-1 ||
		len(got.GetByDays()) != len(want.ByDays) || len(got.GetByHungryRounds()) != len(want.ByHungry) {
		t.Fatalf("got %v", got)
	}
	for i, f := range got.GetFoodLeft() {
		if w := want.FoodLeft[i]; f.GetFood() != w.Food || int(f.GetRuns()) != w.Runs || f.GetShare() != w.Share {
			t.Errorf("food %v, want %+v", f, w)
		}
	}
	for i, p := range got.GetCurve() {
		w := want.Curve[i]
		same("step", p.GetFed(), w.Fed.Rate, w.Fed.Interval)
		if int(p.GetHex().GetQ()) != w.Q || int(p.GetHex().GetR()) != w.R || p.GetVia() != w.Via || p.GetTerrain() != w.Terrain || int(p.GetRuns()) != w.Runs ||
			p.GetFoodSides() != w.Sides || p.GetLiving() != w.Living {
			t.Errorf("step %v, want %+v", p, w)
		}
	}
	// The same way, hex by hex.
	req.From, req.To = nil, nil
	for _, h := range route {
		req.Route = append(req.Route, &travelv1.Hex{Q: i32(h.Q), R: i32(h.R)})
	}
	again, err := n.simulate(gm, req)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(got, again[len(again)-1].GetReport(), protocmp.Transform()); diff != "" {
		t.Errorf("hex by hex (-first +this):\n%s", diff)
	}
	if diff := cmp.Diff(before, w.seqs(t)); diff != "" {
		t.Errorf("simulations were journaled:\n%s", diff)
	}
}

func TestBadSimulationsOfJourneysAreRefused(t *testing.T) {
	t.Parallel()
	n := newWorld().node(t)
	n.importVale()
	for name, tt := range map[string]struct {
		who    string
		change func(*travelv1.SimulateJourneysRequest)
		want   refusal
	}{
		"by a player":       {adas, func(*travelv1.SimulateJourneysRequest) {}, refusal{codes.PermissionDenied, "NOT_GM", ""}},
		"by a stranger":     {stranger, func(*travelv1.SimulateJourneysRequest) {}, refusal{codes.NotFound, "NOT_FOUND", ""}},
		"too many runs":     {gm, func(r *travelv1.SimulateJourneysRequest) { r.Runs = 200_001 }, refusal{codes.InvalidArgument, "INVALID", "runs"}},
		"a strange policy":  {gm, func(r *travelv1.SimulateJourneysRequest) { r.Policy = "fly" }, refusal{codes.InvalidArgument, "INVALID", "policy"}},
		"an unknown region": {gm, func(r *travelv1.SimulateJourneysRequest) { r.Region = camp + "/regions/nowhere" }, refusal{codes.NotFound, "NOT_FOUND", "region"}},
		"another's region":  {gm, func(r *travelv1.SimulateJourneysRequest) { r.Region = other + "/regions/vale" }, refusal{codes.NotFound, "NOT_FOUND", "region"}},
		"nowhere to go":     {gm, func(r *travelv1.SimulateJourneysRequest) { r.To = nil }, refusal{codes.InvalidArgument, "INVALID", "route"}},
		"off the map":       {gm, func(r *travelv1.SimulateJourneysRequest) { r.To.Q = 99 }, refusal{codes.InvalidArgument, "OFF_MAP", "to"}},
		"a leap":            {gm, func(r *travelv1.SimulateJourneysRequest) { r.Route = []*travelv1.Hex{r.GetFrom(), r.GetTo()} }, refusal{codes.InvalidArgument, "NOT_ADJACENT", "route[1]"}},
		"no usage die":      {gm, func(r *travelv1.SimulateJourneysRequest) { r.Food = []int32{7} }, refusal{codes.InvalidArgument, "INVALID", "food[0]"}},
		"more than they bear": {gm, func(r *travelv1.SimulateJourneysRequest) {
			r.Company = []*travelv1.SimulatedTraveller{{Name: "a", Str: 3, Gear: 10}}
		}, refusal{codes.FailedPrecondition, "NO_ROOM", "food"}},
		"twins": {gm, func(r *travelv1.SimulateJourneysRequest) {
			r.Company = []*travelv1.SimulatedTraveller{{Name: "a", Str: 3}, {Name: "a", Str: 3}}
		}, refusal{codes.InvalidArgument, "NAME_TAKEN", "company[1].name"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := simulated(10)
			tt.change(req)
			_, err := n.simulate(tt.who, req)
			tt.want.check(t, err)
		})
	}
}
