package balance

import (
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wayfarer-rpg/wayfarer/rules/diedrop"
	"github.com/wayfarer-rpg/wayfarer/rules/play"
)

// trip is a company of three with a d8 of food through the Vale of Ansel.
func trip(t *testing.T, from, to diedrop.Hex) diedrop.Trip {
	t.Helper()
	route, err := diedrop.FindRoute(diedrop.Default(), diedrop.ExampleMap(), from, to, false)
	if err != nil {
		t.Fatal(err)
	}
	return diedrop.Trip{Map: diedrop.ExampleMap(), Route: route, Members: diedrop.DefaultCompany(diedrop.Default(), 3), Food: []int{8}}
}

func journeys(t *testing.T, p JourneyPlan) JourneyReport {
	t.Helper()
	if p.Ruleset == nil {
		p.Ruleset = diedrop.Default()
	}
	if p.Runs == 0 {
		p.Runs, p.Workers = 8000, 2
	}
	r, err := RunJourneys(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// fed is the exact chance that food lasts for more than so many checks of one kind.
func fed(t *testing.T, rs *diedrop.Ruleset, food []int, checks, n int, keep diedrop.Keep) float64 {
	t.Helper()
	d, err := rs.Lifetime(food, n, keep).Checks(checks)
	if err != nil {
		t.Fatal(err)
	}
	out, _ := d.Lost().Float64() // what the list of outcomes up to that many checks leaves out
	return out
}

// line is a map of hexes of one terrain in a row, with a road or not, and the route along it.
func line(terrain string, hexes int, road bool) (*diedrop.Map, []diedrop.Hex) {
	m := &diedrop.Map{ID: "line", Name: "A line"}
	var route []diedrop.Hex
	for q := range hexes {
		m.Hexes = append(m.Hexes, diedrop.MapHex{Q: q, Terrain: terrain})
		route = append(route, diedrop.Hex{Q: q})
	}
	if road {
		m.Roads = []diedrop.Path{{ID: "road", Name: "The road", Path: route}}
	}
	return m, route
}

// DDW-USE-08 and DDW-USE-11: the food of a march is the lifetime of its dice.
func TestMarchesArriveWithFoodAsOftenAsItsDiceLast(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		terrain string
		road    bool
		food    []int
		checks  int
		n       int
		keep    diedrop.Keep
	}{
		"plains with a d8":                   {"plains", false, []int{8}, 9, 1, diedrop.KeepSingle},
		"forest with a d12":                  {"forest", false, []int{12}, 12, 2, diedrop.KeepLowest},
		"swamp with a d20":                   {"swamp", false, []int{20}, 12, 3, diedrop.KeepLowest},
		"a road through plains with a d6":    {"plains", true, []int{6}, 20, 2, diedrop.KeepHighest},
		"plains with two dice, d4 and d6":    {"plains", false, []int{4, 6}, 8, 1, diedrop.KeepSingle},
		"hills, one step beyond a single d4": {"hills", false, []int{4}, 1, 2, diedrop.KeepLowest},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, route := line(c.terrain, c.checks+1, c.road)
			r := journeys(t, JourneyPlan{Seed: 2, Trip: diedrop.Trip{
				Map: m, Route: route, Members: diedrop.DefaultCompany(diedrop.Default(), 2), Food: c.food,
			}})
			about(t, "arrived with food", r.SuccessRate, fed(t, diedrop.Default(), c.food, c.checks, c.n, c.keep), r.Runs)
			for i, p := range r.Curve {
				if p.Runs == r.Runs {
					about(t, "food after a step", p.Fed.Rate, fed(t, diedrop.Default(), c.food, i+1, c.n, c.keep), p.Runs)
				}
			}
			// DDW-ENC-07: one round in six ends with an encounter.
			if want := r.Rounds.Mean / 6; math.Abs(r.Encounters.Mean-want) > 5*r.Encounters.Error+1e-9 {
				t.Errorf("%v encounters in %v rounds", r.Encounters, r.Rounds)
			}
		})
	}
}

func TestJourneysThroughTheVale(t *testing.T) {
	t.Parallel()
	tallowick, brennhythe := diedrop.Hex{Q: 1, R: 2}, diedrop.Hex{Q: 4, R: 5}
	base := trip(t, tallowick, brennhythe)
	by := map[string]JourneyReport{}
	for name, change := range map[string]func(*diedrop.Trip){
		"march":          func(*diedrop.Trip) {},
		"forage low":     func(x *diedrop.Trip) { x.Policy = diedrop.ForageWhenLow },
		"forage out":     func(x *diedrop.Trip) { x.Policy = diedrop.ForageWhenOut },
		"with gold":      func(x *diedrop.Trip) { x.Gold = 500 },
		"a small die":    func(x *diedrop.Trip) { x.Food = []int{4} },
		"nothing to eat": func(x *diedrop.Trip) { x.Food = nil },
		"the weak": func(x *diedrop.Trip) {
			x.Food, x.Members = nil, []diedrop.Member{{Name: "a", STR: 1, STRMax: 1, Capacity: 10}, {Name: "b", HP: 1, HPMax: 1, STR: 1, STRMax: 1, Capacity: 10}}
		},
	} {
		x := base
		change(&x)
		r := journeys(t, JourneyPlan{Trip: x, Seed: 4, Runs: 3000, Workers: 2})
		by[name] = r
		sum, left := 0, 0
		for _, n := range r.Endings {
			sum += n
		}
		for _, f := range r.FoodLeft {
			left += f.Runs
		}
		if sum != 3000 || left != 3000-r.Endings[diedrop.Perished] || r.Interval[0] > r.SuccessRate || r.Interval[1] < r.SuccessRate ||
			len(r.Curve) != len(x.Route)-1 || math.Abs(r.Days.Mean*3-r.Rounds.Mean) > 1e-9 {
			t.Errorf("%s does not add up: %+v", name, r)
		}
	}
	// Carter's Way all along (DDW-ROAD-01).
	for _, p := range by["march"].Curve {
		if p.Via != "road" {
			t.Errorf("the march goes by %s into %d,%d", p.Via, p.Q, p.R)
		}
	}
	march := by["march"]
	if by["with gold"].SuccessRate < march.SuccessRate || by["a small die"].SuccessRate >= march.SuccessRate {
		t.Errorf("march %v, with gold %v, with a d4 %v", march.SuccessRate, by["with gold"].SuccessRate, by["a small die"].SuccessRate)
	}
	if low := by["forage low"]; low.SuccessRate < march.SuccessRate || low.Forages.Mean == 0 || low.Rounds.Mean <= march.Rounds.Mean {
		t.Errorf("foraging when low: %v in %v rounds, marching %v in %v", low.SuccessRate, low.Rounds, march.SuccessRate, march.Rounds)
	}
	// Hunger takes one a round (DDW-STARVE-01, -02), so that the last of them dies in the second.
	if weak := by["the weak"]; weak.Endings[diedrop.Perished] != 3000 || weak.Rounds.Mean != 2 || weak.Dead.Mean != 2 || weak.Curve[2].Runs != 0 {
		t.Errorf("the weak: %+v", weak)
	}
	if none := by["nothing to eat"]; none.SuccessRate != 0 || none.Hungry.Mean != none.Rounds.Mean {
		t.Errorf("without food: %+v", none)
	}
}

func TestFindRoute(t *testing.T) {
	t.Parallel()
	rs, m := diedrop.Default(), diedrop.ExampleMap()
	for name, c := range map[string]struct {
		from, to diedrop.Hex
		boat     bool
		want     []diedrop.Hex
		code     string
	}{
		"Carter's Way": {diedrop.Hex{Q: 1, R: 2}, diedrop.Hex{Q: 4, R: 5}, false, []diedrop.Hex{{Q: 1, R: 2}, {Q: 2, R: 2}, {Q: 2, R: 3}, {Q: 3, R: 3}, {Q: 4, R: 3}, {Q: 4, R: 4}, {Q: 4, R: 5}}, ""},
		"down the Wendle with a boat": {
			diedrop.Hex{Q: 2, R: 0}, diedrop.Hex{Q: 3, R: 1}, true, []diedrop.Hex{{Q: 2, R: 0}, {Q: 2, R: 1}, {Q: 3, R: 1}}, "",
		},
		"nowhere to go": {diedrop.Hex{Q: 3, R: 3}, diedrop.Hex{Q: 3, R: 3}, false, []diedrop.Hex{{Q: 3, R: 3}}, ""},
		"off the map":   {diedrop.Hex{Q: 3, R: 3}, diedrop.Hex{Q: 30, R: 3}, false, nil, diedrop.OffMap},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := diedrop.FindRoute(rs, m, c.from, c.to, c.boat)
			var r *play.Refusal
			if errors.As(err, &r) != (c.code != "") || r != nil && r.Code != c.code {
				t.Fatalf("refused: %v", err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	island := &diedrop.Map{ID: "two", Name: "Two isles", Hexes: []diedrop.MapHex{{Q: 0, Terrain: "plains"}, {Q: 5, Terrain: "plains"}}}
	if _, err := diedrop.FindRoute(rs, island, diedrop.Hex{}, diedrop.Hex{Q: 5}, false); err == nil {
		t.Error("a way across nothing")
	}
}

func TestJourneysAreTheSameOnAnyNumberOfWorkers(t *testing.T) {
	t.Parallel()
	p := JourneyPlan{Trip: trip(t, diedrop.Hex{}, diedrop.Hex{Q: 6, R: 6}), Runs: 3*chunk + 5, Seed: 9}
	p.Trip.Policy = diedrop.ForageWhenLow
	told := 0
	p.Progress = func(done int) { told = max(told, done) }
	one := journeys(t, p)
	if told != p.Runs {
		t.Errorf("progress ended at %d of %d", told, p.Runs)
	}
	for _, workers := range []int{1, 2, 7} {
		p.Workers = workers
		if diff := cmp.Diff(one, journeys(t, p)); diff != "" {
			t.Errorf("%d workers:\n%s", workers, diff)
		}
	}
}

func TestBadPlansOfJourneysAreRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(p *JourneyPlan)
		field  string
	}{
		"no runs":           {func(p *JourneyPlan) { p.Runs = -1 }, "runs"},
		"an unknown policy": {func(p *JourneyPlan) { p.Trip.Policy = "fly" }, "policy"},
		"no way":            {func(p *JourneyPlan) { p.Trip.Route = p.Trip.Route[:1] }, "route"},
		"a leap":            {func(p *JourneyPlan) { p.Trip.Route = []diedrop.Hex{{}, {Q: 3}} }, "route[1]"},
		"off the map":       {func(p *JourneyPlan) { p.Trip.Route = []diedrop.Hex{{}, {Q: -1}} }, "route[1]"},
		"nobody":            {func(p *JourneyPlan) { p.Trip.Members = nil }, "members"},
		"no usage die":      {func(p *JourneyPlan) { p.Trip.Food = []int{7} }, "food[0]"},
		"too much to carry": {func(p *JourneyPlan) { p.Trip.Members = p.Trip.Members[:1]; p.Trip.Members[0].Gear = 10 }, "food"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := JourneyPlan{Ruleset: diedrop.Default(), Trip: trip(t, diedrop.Hex{Q: 1, R: 2}, diedrop.Hex{Q: 4, R: 5}), Runs: 10}
			c.change(&p)
			_, err := RunJourneys(t.Context(), p)
			var r *play.Refusal
			if !errors.As(err, &r) || r.Field != c.field {
				t.Errorf("got %v, want a refusal of %s", err, c.field)
			}
		})
	}
}
