package balance

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/wayfarer-rpg/wayfarer/rules/diedrop"
)

// JourneyPlan says what Die Drop journeys to play.
type JourneyPlan struct {
	Ruleset *diedrop.Ruleset
	Trip    diedrop.Trip
	// Runs, 1 to MaxRuns.
	Runs int
	// Seed of all dice: the dice of a journey follow from it and the journey's number alone.
	Seed uint64
	// Workers play side by side; 0 means one. They do not change the answer.
	Workers int
	// Progress, when not nil, is told how many journeys are done, now and then, by one caller at a time.
	Progress func(done int)
}

// JourneyReport is how the journeys of a plan came out. Shares and chances are from 0 to 1.
type JourneyReport struct {
	Runs int `json:"runs"`
	// SuccessRate is the share that arrived with food, Interval bounds the true rate with 95 % (Wilson).
	SuccessRate float64    `json:"success_rate"`
	Interval    [2]float64 `json:"interval"`
	// Endings counts the journeys by outcome, Arrived is the share of those in which anybody arrived.
	Endings map[string]int `json:"endings"`
	Arrived Rate           `json:"arrived"`
	// Means over the journeys: rounds, days, forage attempts, hungry rounds, encounters and members who died of hunger.
	Rounds     Mean `json:"rounds"`
	Days       Mean `json:"days"`
	Forages    Mean `json:"forages"`
	Hungry     Mean `json:"hungry_rounds"`
	Encounters Mean `json:"encounters"`
	Dead       Mean `json:"dead"`
	// FoodLeft counts the journeys by the food dice that they arrived with, the most food first.
	FoodLeft []FoodReport `json:"food_left"`
	// ByDays counts the journeys by days begun, ByHungry by hungry rounds, both from 0 and the last place those with as many
	// or more.
	ByDays   []int `json:"by_days"`
	ByHungry []int `json:"by_hungry_rounds"`
	// Curve tells of each step of the route.
	Curve []StepReport `json:"curve"`
}

// FoodReport counts the journeys that arrived with these food dice.
type FoodReport struct {
	// Food is for example "d8" or "d20+d4", the oldest die first; "none".
	Food  string  `json:"food"`
	Runs  int     `json:"runs"`
	Share float64 `json:"share"`
}

// StepReport is the state of the journeys after a step of the route, over those that came to it.
type StepReport struct {
	Q       int    `json:"q"`
	R       int    `json:"r"`
	Via     string `json:"via"`
	Terrain string `json:"terrain"`
	Runs    int    `json:"runs"`
	// Fed is the share that has food, Sides the mean sum of the sides of the food dice, Living the mean of living members.
	Fed    Rate    `json:"fed"`
	Sides  float64 `json:"food_sides"`
	Living float64 `json:"living"`
}

// mostDays is the last place of the histograms of journeys.
const mostDays = 60

// journeySums are those of journeys.
type journeySums struct {
	perDay                                    int
	runs                                      int
	endings, food                             map[string]int
	order                                     map[string]int
	rounds, forages, hungry, encounters, dead counter
	byDays, byHungry                          histogram
	steps                                     []step
}

type step struct{ runs, fed, sides, living int }

func (s *journeySums) add(r diedrop.Simulated) {
	s.runs++
	s.endings[r.Outcome]++
	s.rounds.add(r.Rounds)
	s.forages.add(r.Forages)
	s.hungry.add(r.Hungry)
	s.encounters.add(r.Encounters)
	s.dead.add(r.Dead)
	s.byDays.add((r.Rounds + s.perDay - 1) / s.perDay)
	s.byHungry.add(r.Hungry)
	if r.Outcome != diedrop.Perished {
		name, sides := foodName(r.Food)
		s.food[name]++
		s.order[name] = sides
	}
	for i, at := range r.Steps {
		p := &s.steps[i]
		p.runs++
		p.sides += at.Food
		p.living += at.Living
		if at.Food > 0 {
			p.fed++
		}
	}
}

// foodName names food dice and adds their sides up.
func foodName(food []int) (name string, sides int) {
	if len(food) == 0 {
		return "none", 0
	}
	names := make([]string, len(food))
	for i, d := range food {
		names[i] = "d" + strconv.Itoa(d)
		sides += d
	}
	return strings.Join(names, "+"), sides
}

func (s *journeySums) merge(o *journeySums) {
	s.runs += o.runs
	for ending, n := range o.endings {
		s.endings[ending] += n
	}
	for name, n := range o.food {
		s.food[name] += n
		s.order[name] = o.order[name]
	}
	s.rounds.merge(o.rounds)
	s.forages.merge(o.forages)
	s.hungry.merge(o.hungry)
	s.encounters.merge(o.encounters)
	s.dead.merge(o.dead)
	s.byDays.merge(o.byDays)
	s.byHungry.merge(o.byHungry)
	for i, p := range o.steps {
		t := &s.steps[i]
		t.runs += p.runs
		t.fed += p.fed
		t.sides += p.sides
		t.living += p.living
	}
}

func (p JourneyPlan) sampling() sampling { return sampling{p.Runs, p.Seed, p.Workers, p.Progress} }

// Check refuses a plan as [RunJourneys] would, without playing it.
func (p JourneyPlan) Check() error {
	_, err := p.simulator()
	return err
}

func (p JourneyPlan) simulator() (*diedrop.Simulator, error) {
	if err := p.sampling().check(); err != nil {
		return nil, err
	}
	return diedrop.NewSimulator(p.Ruleset, p.Trip)
}

// RunJourneys plays a plan. It fails with a refusal that names the field of the plan, or with ctx's error.
func RunJourneys(ctx context.Context, p JourneyPlan) (JourneyReport, error) {
	sim, err := p.simulator()
	if err != nil {
		return JourneyReport{}, err
	}
	legs := sim.Legs()
	total, err := sample(ctx, p.sampling(), func(c *chance) (*journeySums, func() error) {
		sum := &journeySums{
			perDay: max(1, p.Ruleset.RoundsPerDay()), endings: map[string]int{}, food: map[string]int{}, order: map[string]int{},
			byDays: make(histogram, mostDays+1), byHungry: make(histogram, mostDays+1), steps: make([]step, len(legs)),
		}
		player := sim.Player(c.face)
		return sum, func() error {
			r, err := player.Play()
			if err == nil {
				sum.add(r)
			}
			return err
		}
	})
	if err != nil {
		return JourneyReport{}, err
	}
	return total.report(legs), nil
}

func (s *journeySums) report(legs []diedrop.Leg) JourneyReport {
	n, fed := s.runs, s.endings[diedrop.ArrivedFed]
	arrived := fed + s.endings[diedrop.ArrivedHungry]
	r := JourneyReport{
		Runs: n, SuccessRate: share(fed, n), Interval: Wilson(fed, n), Endings: map[string]int{}, Arrived: rate(arrived, n),
		Rounds: s.rounds.mean(n), Forages: s.forages.mean(n), Hungry: s.hungry.mean(n), Encounters: s.encounters.mean(n), Dead: s.dead.mean(n),
		ByDays: s.byDays, ByHungry: s.byHungry,
	}
	r.Days = Mean{r.Rounds.Mean / float64(s.perDay), r.Rounds.Error / float64(s.perDay)}
	for _, ending := range diedrop.Outcomes {
		r.Endings[ending] = s.endings[ending]
	}
	names := slices.SortedFunc(maps.Keys(s.food), func(a, b string) int {
		return cmp.Or(cmp.Compare(s.order[b], s.order[a]), cmp.Compare(a, b))
	})
	for _, name := range names {
		r.FoodLeft = append(r.FoodLeft, FoodReport{name, s.food[name], share(s.food[name], n)})
	}
	for i, p := range s.steps {
		l := legs[i]
		r.Curve = append(r.Curve, StepReport{
			Q: l.Hex.Q, R: l.Hex.R, Via: string(l.Via), Terrain: l.Terrain, Runs: p.runs, Fed: rate(p.fed, p.runs),
			Sides: share(p.sides, p.runs), Living: share(p.living, p.runs),
		})
	}
	return r
}
