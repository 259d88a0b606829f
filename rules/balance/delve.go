package balance

import (
	"context"

	"github.com/wayfarer-rpg/wayfarer/rules/dangerpool"
)

// DelvePlan says what expeditions of the Danger Pool to play.
type DelvePlan struct {
	Ruleset    *dangerpool.Ruleset
	Expedition dangerpool.Expedition
	// Runs, 1 to MaxRuns.
	Runs int
	// Seed of all dice: the dice of an expedition follow from it and the expedition's number alone.
	Seed uint64
	// Workers play side by side; 0 means one. They do not change the answer.
	Workers int
	// Progress, when not nil, is told how many expeditions are done, now and then, by one caller at a time.
	Progress func(done int)
}

// DelveReport is how the expeditions of a plan came out. Shares and chances are from 0 to 1.
type DelveReport struct {
	Runs int `json:"runs"`
	// SuccessRate is the share of expeditions that survived: that met no event of the last severity, which may cost lives
	// (POOL-SEV-03). Interval bounds the true rate with 95 % (Wilson).
	SuccessRate float64    `json:"success_rate"`
	Interval    [2]float64 `json:"interval"`
	// Endings counts the expeditions by outcome, Finished is the share of those that took every leg.
	Endings  map[string]int `json:"endings"`
	Finished Rate           `json:"finished"`
	// Means over the expeditions: dice in the pool, in-game minutes, spills, events and combats, legs and torches burnt down.
	Dice    Mean `json:"dice"`
	Minutes Mean `json:"minutes"`
	Spills  Mean `json:"spills"`
	Events  Mean `json:"events"`
	Combats Mean `json:"combats"`
	Legs    Mean `json:"legs"`
	Torches Mean `json:"torches"`
	// AnyCombat is the share of expeditions with at least one combat event.
	AnyCombat Rate `json:"any_combat"`
	// Severities tells of the spills by severity, from none to the last; EventTable of the events by their number.
	Severities []SeverityReport `json:"severities"`
	EventTable []EventReport    `json:"event_table"`
	// ByEvents, ByCombats and BySpills count the expeditions by how many they met, the last place those with as many or more.
	ByEvents  []int `json:"by_events"`
	ByCombats []int `json:"by_combats"`
	BySpills  []int `json:"by_spills"`
}

// SeverityReport tells how often spills were that bad.
type SeverityReport struct {
	Severity string `json:"severity"`
	Spills   int    `json:"spills"`
	// PerSpill is the share of all spills, Met of the expeditions that met at least one.
	PerSpill Rate `json:"per_spill"`
	Met      Rate `json:"met"`
}

// EventReport tells how often an event was.
type EventReport struct {
	Number int    `json:"number"`
	Event  string `json:"event"`
	Count  int    `json:"count"`
	// PerSpill is how many there were for each spill.
	PerSpill float64 `json:"per_spill"`
}

// mostCounted is the last place of the histograms of expeditions.
const mostCounted = 20

// delveSums are those of expeditions.
type delveSums struct {
	runs, survived, fought                 int
	endings                                map[string]int
	dice, minutes, spills, events, combats counter
	legs, torches                          counter
	severities, met, numbers               histogram
	byEvents, byCombats, bySpills          histogram
}

func newDelveSums(rs *dangerpool.Ruleset) *delveSums {
	n := len(rs.SeverityNames())
	return &delveSums{
		endings: map[string]int{}, severities: make(histogram, n), met: make(histogram, n), numbers: make(histogram, rs.EventCap+1),
		byEvents: make(histogram, mostCounted+1), byCombats: make(histogram, mostCounted+1), bySpills: make(histogram, mostCounted+1),
	}
}

func (s *delveSums) add(r dangerpool.Simulated) {
	s.runs++
	s.endings[r.Outcome]++
	spills, events, last := 0, 0, len(r.Spills)-1
	for i, n := range r.Spills {
		spills += n
		s.severities[i] += n
		if n > 0 {
			s.met[i]++
		}
	}
	for i, n := range r.Events {
		events += n
		s.numbers[i] += n
	}
	combats := r.Events[len(r.Events)-1]
	if r.Spills[last] == 0 {
		s.survived++
	}
	if combats > 0 {
		s.fought++
	}
	s.dice.add(r.Dice)
	s.minutes.add(r.Minutes)
	s.spills.add(spills)
	s.events.add(events)
	s.combats.add(combats)
	s.legs.add(r.Legs)
	s.torches.add(r.Torches)
	s.byEvents.add(events)
	s.byCombats.add(combats)
	s.bySpills.add(spills)
}

func (s *delveSums) merge(o *delveSums) {
	s.runs += o.runs
	s.survived += o.survived
	s.fought += o.fought
	for ending, n := range o.endings {
		s.endings[ending] += n
	}
	for _, c := range [][2]*counter{
		{&s.dice, &o.dice}, {&s.minutes, &o.minutes}, {&s.spills, &o.spills}, {&s.events, &o.events}, {&s.combats, &o.combats},
		{&s.legs, &o.legs}, {&s.torches, &o.torches},
	} {
		c[0].merge(*c[1])
	}
	s.severities.merge(o.severities)
	s.met.merge(o.met)
	s.numbers.merge(o.numbers)
	s.byEvents.merge(o.byEvents)
	s.byCombats.merge(o.byCombats)
	s.bySpills.merge(o.bySpills)
}

func (p DelvePlan) sampling() sampling { return sampling{p.Runs, p.Seed, p.Workers, p.Progress} }

// Check refuses a plan as [RunDelves] would, without playing it; steps of a script are refused when they are played.
func (p DelvePlan) Check() error {
	_, err := p.simulator()
	return err
}

func (p DelvePlan) simulator() (*dangerpool.Simulator, error) {
	if err := p.sampling().check(); err != nil {
		return nil, err
	}
	return dangerpool.NewSimulator(p.Ruleset, p.Expedition)
}

// RunDelves plays a plan. It fails with a refusal that names the field of the plan, or with ctx's error.
func RunDelves(ctx context.Context, p DelvePlan) (DelveReport, error) {
	sim, err := p.simulator()
	if err != nil {
		return DelveReport{}, err
	}
	total, err := sample(ctx, p.sampling(), func(c *chance) (*delveSums, func() error) {
		sum, player := newDelveSums(p.Ruleset), sim.Player(c.face)
		return sum, func() error {
			r, err := player.Play()
			if err == nil {
				sum.add(r)
			}
			return err
		}
	})
	if err != nil {
		return DelveReport{}, err
	}
	return total.report(p.Ruleset), nil
}

func (s *delveSums) report(rs *dangerpool.Ruleset) DelveReport {
	n := s.runs
	r := DelveReport{
		Runs: n, SuccessRate: share(s.survived, n), Interval: Wilson(s.survived, n), Endings: map[string]int{},
		Finished: rate(s.endings[dangerpool.Finished], n), Dice: s.dice.mean(n), Minutes: s.minutes.mean(n), Spills: s.spills.mean(n),
		Events: s.events.mean(n), Combats: s.combats.mean(n), Legs: s.legs.mean(n), Torches: s.torches.mean(n), AnyCombat: rate(s.fought, n),
		ByEvents: s.byEvents, ByCombats: s.byCombats, BySpills: s.bySpills,
	}
	for _, ending := range dangerpool.Outcomes {
		r.Endings[ending] = s.endings[ending]
	}
	for i, name := range rs.SeverityNames() {
		r.Severities = append(r.Severities, SeverityReport{name, s.severities[i], rate(s.severities[i], s.spills.sum), rate(s.met[i], n)})
	}
	for number := 1; number < len(s.numbers); number++ {
		r.EventTable = append(r.EventTable, EventReport{
			Number: number, Event: rs.Event(number).ID, Count: s.numbers[number], PerSpill: share(s.numbers[number], s.spills.sum),
		})
	}
	return r
}
