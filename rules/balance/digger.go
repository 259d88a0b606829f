package balance

import (
	"context"
	"math"
	"slices"

	"github.com/wayfarer-rpg/wayfarer/rules/digger"
	"github.com/wayfarer-rpg/wayfarer/rules/play"
)

// Plan says what to play.
type Plan struct {
	Ruleset *digger.Ruleset
	Dungeon *digger.Dungeon
	// Policy is how the party plays; empty means sensible, the one that success rates are stated for.
	Policy digger.Policy
	// Party plays every run; nil draws a reference party of Members for each.
	Party []digger.Entrant
	// Members of a reference party; 0 means 4.
	Members int
	// Runs, 1 to MaxRuns.
	Runs int
	// Seed of all dice: the dice of a run follow from it and the run's number alone.
	Seed uint64
	// Workers play side by side; 0 means one. They do not change the answer.
	Workers int
	// Progress, when not nil, is told how many runs are done, now and then, by one caller at a time.
	Progress func(done int)
}

func (p Plan) sampling() sampling { return sampling{p.Runs, p.Seed, p.Workers, p.Progress} }

// Report is how the runs of a plan came out. Shares and chances are from 0 to 1.
type Report struct {
	// Tally counts outcomes.
	digger.Tally
	// SuccessRate is the share of runs won, Interval the bounds within which the true rate lies with 95 % (Wilson).
	SuccessRate float64    `json:"success_rate"`
	Interval    [2]float64 `json:"interval"`
	// Endings counts the runs by outcome.
	Endings map[string]int `json:"endings"`
	// MeanChallenges is the mean number of challenges before climax and final.
	MeanChallenges float64 `json:"mean_challenges"`
	// Curve tells of the first challenge, the second, …
	Curve []Point `json:"curve"`
	// Cards tells of each card of the dungeon, in its order.
	Cards []CardReport `json:"cards"`
}

// Point is the state of the runs after their n-th challenge, over the runs that got to it.
type Point struct {
	// Runs that met an n-th challenge.
	Runs int `json:"runs"`
	// Passed is the share that passed it.
	Passed float64 `json:"passed"`
	// Exploration is the mean, 0 to the ruleset's goal; Exhaustion the mean per member, 0 to its limit.
	Exploration float64 `json:"exploration"`
	Exhaustion  float64 `json:"exhaustion"`
	// Exhausted is the mean number of members who can act no more.
	Exhausted float64 `json:"exhausted"`
}

// CardReport tells what one card does.
type CardReport struct {
	Card string `json:"card"`
	Kind string `json:"kind"`
	// Met is in how many runs it was drawn, counting each draw.
	Met int `json:"met"`
	// Passed is the share of draws that were passed; 0 when it was never met.
	Passed float64 `json:"passed"`
	// Ended is how many runs were lost on it.
	Ended int `json:"ended"`
}

// diggerSums are those of runs by Digger cards.
type diggerSums struct {
	tally digger.Tally
	curve []point
	cards []card
}

type (
	point struct{ runs, passed, exploration, exhaustion, exhausted int }
	card  struct{ met, passed, ended int }
)

func (s *diggerSums) add(r digger.Simulated) {
	s.tally.Add(r)
	for i, round := range r.Rounds {
		if i == len(s.curve) {
			s.curve = append(s.curve, point{})
		}
		p, c := &s.curve[i], &s.cards[round.Card]
		p.runs++
		p.exploration += round.Exploration
		p.exhaustion += round.Exhaustion
		p.exhausted += round.Exhausted
		c.met++
		if round.Passed {
			p.passed++
			c.passed++
		}
		if i == len(r.Rounds)-1 && r.Outcome != digger.Won {
			c.ended++
		}
	}
}

func (s *diggerSums) merge(o *diggerSums) {
	s.tally.Merge(o.tally)
	for i, p := range o.curve {
		if i == len(s.curve) {
			s.curve = append(s.curve, point{})
		}
		t := &s.curve[i]
		t.runs += p.runs
		t.passed += p.passed
		t.exploration += p.exploration
		t.exhaustion += p.exhaustion
		t.exhausted += p.exhausted
	}
	for i, c := range o.cards {
		t := &s.cards[i]
		t.met += c.met
		t.passed += c.passed
		t.ended += c.ended
	}
}

// Run plays a plan. It fails with a refusal that names the field of the plan, or with ctx's error.
func Run(ctx context.Context, p Plan) (Report, error) {
	sim, members, err := p.simulator()
	if err != nil {
		return Report{}, err
	}
	total, err := sample(ctx, p.sampling(), func(c *chance) (*diggerSums, func() error) {
		sum, player := &diggerSums{cards: make([]card, len(p.Dungeon.Cards))}, sim.Player(c.face)
		return sum, func() error {
			r, err := player.Play()
			if err == nil {
				sum.add(r)
			}
			return err
		}
	})
	if err != nil {
		return Report{}, err
	}
	return total.report(p.Dungeon, members), nil
}

// Check refuses a plan as [Run] would, without playing it.
func (p Plan) Check() error {
	_, _, err := p.simulator()
	return err
}

func (p Plan) simulator() (*digger.Simulator, int, error) {
	if err := p.sampling().check(); err != nil {
		return nil, 0, err
	}
	if p.Policy == "" {
		p.Policy = digger.Sensible
	}
	if p.Members == 0 {
		p.Members = 4
	}
	if p.Party != nil {
		p.Members = p.Ruleset.Party.Max
	}
	sim, err := digger.NewSimulator(p.Ruleset, p.Dungeon, p.Policy, p.Members)
	if err == nil && p.Party != nil {
		p.Members = len(p.Party)
		sim, err = sim.With(p.Party)
	}
	return sim, p.Members, err
}

func (s *diggerSums) report(d *digger.Dungeon, members int) Report {
	t := s.tally
	r := Report{
		Tally: t, SuccessRate: share(t.Won, t.Runs), Interval: Wilson(t.Won, t.Runs), MeanChallenges: share(t.Challenges, t.Runs),
		Endings: map[string]int{digger.Won: t.Won, digger.LostRetreat: t.Retreated, digger.LostExhausted: t.Exhausted},
	}
	for _, p := range s.curve {
		r.Curve = append(r.Curve, Point{
			Runs: p.runs, Passed: share(p.passed, p.runs), Exploration: share(p.exploration, p.runs),
			Exhaustion: share(p.exhaustion, p.runs*members), Exhausted: share(p.exhausted, p.runs),
		})
	}
	for i, c := range s.cards {
		r.Cards = append(r.Cards, CardReport{
			Card: d.Cards[i].ID, Kind: d.Cards[i].Kind, Met: c.met, Passed: share(c.passed, c.met), Ended: c.ended,
		})
	}
	return r
}

// Band is where the success rate of a dungeon type belongs (DIG-TYPE-01 to -03), from 0 to 1.
type Band struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// The band of a type reaches this far around its target. What is won rarely, below 20 %, is to be deadly in the first place
// (DIG-TYPE-03): it may be won a little less yet.
const (
	reach    = 0.03
	rareness = 0.2
	rarely   = 0.04
)

// BandOf returns the band of a dungeon type: around the ruleset's type_profiles.*.target_success.
func BandOf(rs *digger.Ruleset, kind string) (Band, bool) {
	profile, ok := rs.TypeProfiles[kind]
	if !ok {
		return Band{}, false
	}
	target, below := profile.TargetSuccess, reach
	if target < rareness {
		below = rarely
	}
	// Rounded, so that a rate of exactly a bound is in the band.
	round := func(x float64) float64 { return math.Round(min(1, max(0, x))*1e6) / 1e6 }
	return Band{round(target - below), round(target + reach)}, true
}

// Holds tells whether a rate lies in the band.
func (b Band) Holds(rate float64) bool { return rate >= b.Low && rate <= b.High }

// off is how far a rate lies outside the band, negative below it.
func (b Band) off(rate float64) float64 { return rate - min(max(rate, b.Low), b.High) }

// Change is one changed thing and what it does to the success rate.
type Change struct {
	// Card is its id; empty for the dungeon's own additions to target numbers and for numbers of the ruleset.
	Card string `json:"card,omitempty"`
	// What names it: "level", "condition", "tn_bonus.climax", "tn_bonus.final", or the path of a number in the ruleset.
	What string `json:"what"`
	// From and To are the old and the new value. A condition that is taken away has no To, an added one no From.
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
	// SuccessRate with the change, and by how much it differs.
	SuccessRate float64 `json:"success_rate"`
	Difference  float64 `json:"difference"`
}

// Sensitivity plays the plan once more for every number of the dungeon, and every number of the ruleset that its play goes
// by, one step up and one down. The same seed makes the dice of all variants alike, so that differences come out clearer
// than rates. The first value is the rate without a change.
func Sensitivity(ctx context.Context, p Plan) (float64, []Change, error) {
	base, err := Run(ctx, p)
	if err != nil {
		return 0, nil, err
	}
	changes, err := try(ctx, p, base.SuccessRate, sensitive(p))
	return base.SuccessRate, changes, err
}

// SensitivityRuns is how many runs [Sensitivity] plays.
func SensitivityRuns(p Plan) int { return p.Runs * (1 + len(sensitive(p))) }

func sensitive(p Plan) []variant { return append(levels(p.Dungeon), numbers(p.Ruleset)...) }

// SizeReport is how parties of one size fare.
type SizeReport struct {
	Members        int        `json:"members"`
	SuccessRate    float64    `json:"success_rate"`
	Interval       [2]float64 `json:"interval"`
	MeanChallenges float64    `json:"mean_challenges"`
	// Endings counts the runs by outcome.
	Endings map[string]int `json:"endings"`
}

// PartySizes plays the plan with reference parties of every size that may enter, the smallest first. A party of one's own
// has only one size: it is refused.
func PartySizes(ctx context.Context, p Plan) ([]SizeReport, error) {
	if p.Party != nil {
		return nil, play.Refuse(digger.Invalid, "sizes are compared with reference parties").At("party")
	}
	progress, all := p.Progress, 0
	var out []SizeReport
	for p.Members = p.Ruleset.Party.MinToEnter; p.Members <= p.Ruleset.Party.Max; p.Members++ {
		if progress != nil {
			p.Progress = func(done int) { progress(all + done) }
		}
		r, err := Run(ctx, p)
		if err != nil {
			return nil, err
		}
		all += p.Runs
		out = append(out, SizeReport{p.Members, r.SuccessRate, r.Interval, r.MeanChallenges, r.Endings})
	}
	return out, nil
}

// SizesRuns is how many runs [PartySizes] plays.
func SizesRuns(p Plan) int { return p.Runs * (p.Ruleset.Party.Max - p.Ruleset.Party.MinToEnter + 1) }

// Balance proposes changes, one after the other, that bring a dungeon into the band of its type, each the one that comes
// nearest to the middle of the band; at most limit of them. It returns the changed dungeon, its report and the changes in order.
// A dungeon in its band needs none. Candidates are levels of the cards that are no entry, and conditions.
func Balance(ctx context.Context, p Plan, limit int) (*digger.Dungeon, Report, []Change, error) {
	band, ok := BandOf(p.Ruleset, p.Dungeon.Type)
	if !ok {
		return nil, Report{}, nil, play.Refuse(digger.Invalid, "there is no dungeon type %q", p.Dungeon.Type).At("dungeon.type")
	}
	now, err := Run(ctx, p)
	var made []Change
	for err == nil && !band.Holds(now.SuccessRate) && len(made) < limit {
		harder := now.SuccessRate > band.High
		var candidates []variant
		for _, v := range append(levels(p.Dungeon), conditions(p.Ruleset, p.Dungeon)...) {
			if v.harder == harder {
				candidates = append(candidates, v)
			}
		}
		var tried []Change
		if tried, err = try(ctx, p, now.SuccessRate, candidates); err != nil || len(tried) == 0 {
			break
		}
		middle := (band.Low + band.High) / 2
		best := 0
		for i, c := range tried {
			if math.Abs(c.SuccessRate-middle) < math.Abs(tried[best].SuccessRate-middle) {
				best = i
			}
		}
		if math.Abs(band.off(tried[best].SuccessRate)) >= math.Abs(band.off(now.SuccessRate)) {
			break // nothing brings it nearer
		}
		p.Dungeon = candidates[best].dungeon
		made = append(made, tried[best])
		now, err = Run(ctx, p)
	}
	return p.Dungeon, now, made, err
}

// variant is a dungeon, or a ruleset, that differs in one thing; the other is nil.
type variant struct {
	Change
	dungeon *digger.Dungeon
	ruleset *digger.Ruleset
	harder  bool
}

func try(ctx context.Context, p Plan, base float64, variants []variant) ([]Change, error) {
	progress, all := p.Progress, 0
	out := make([]Change, len(variants))
	for i, v := range variants {
		p := p
		if v.dungeon != nil {
			p.Dungeon = v.dungeon
		}
		if v.ruleset != nil {
			p.Ruleset = v.ruleset
		}
		if progress != nil {
			p.Progress = func(done int) { progress(all + done) }
		}
		r, err := Run(ctx, p)
		if err != nil {
			return nil, err
		}
		all += p.Runs
		out[i] = v.Change
		out[i].SuccessRate, out[i].Difference = r.SuccessRate, r.SuccessRate-base
	}
	return out, nil
}

func with(d *digger.Dungeon, card int, change func(*digger.Card)) *digger.Dungeon {
	c := *d
	c.Cards = slices.Clone(d.Cards)
	c.Cards[card].Conditions = slices.Clone(c.Cards[card].Conditions)
	change(&c.Cards[card])
	return &c
}
