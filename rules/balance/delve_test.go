package balance

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wayfarer-rpg/wayfarer/rules/dangerpool"
	"github.com/wayfarer-rpg/wayfarer/rules/play"
)

func script(t *testing.T, words ...string) DelvePlan {
	t.Helper()
	commands, err := dangerpool.ParseScript(words)
	if err != nil {
		t.Fatal(err)
	}
	return DelvePlan{Ruleset: dangerpool.Default(), Expedition: dangerpool.Expedition{Script: commands}, Runs: 20_000, Seed: 5, Workers: 2}
}

func delves(t *testing.T, p DelvePlan) DelveReport {
	t.Helper()
	r, err := RunDelves(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// about wants a share within four standard errors of an exact chance.
func about(t *testing.T, what string, got, want float64, n int) {
	t.Helper()
	if math.Abs(got-want) > 4*math.Sqrt(want*(1-want)/float64(n)) {
		t.Errorf("%s: %.6f of %d, exactly %.6f", what, got, n, want)
	}
}

func TestSpillsOfDelvesAreAsTheCatalogueSays(t *testing.T) {
	t.Parallel()
	r := delves(t, script(t, "SHORT_REST"))
	if r.Spills.Mean != 1 || r.Spills.Error != 0 || r.Dice.Mean != 6 || r.Minutes.Mean != 60 {
		t.Fatalf("a short rest in the open is one spill of six dice (POOL-REST-01): %+v", r)
	}
	severity := map[string]float64{}
	for _, s := range r.Severities {
		severity[s.Severity] = s.PerSpill.Rate
		if s.PerSpill != s.Met {
			t.Errorf("%s by spill %v, by expedition of one spill %v", s.Severity, s.PerSpill, s.Met)
		}
	}
	events := map[int]float64{}
	for _, e := range r.EventTable {
		events[e.Number] = e.PerSpill
	}
	type exact struct {
		got        float64
		whole, all float64
	}
	for id, cases := range map[string][]exact{
		"POOL-ODDS-01": {{severity["NONE"], 15625, 46656}},
		"POOL-ODDS-02": {{severity["MINOR"], 3125, 7776}, {severity["MODERATE"], 3125, 15552}, {severity["DEADLY"], 1453, 23328}},
		"POOL-ODDS-03": {{events[1], 3125, 93312}},
		"POOL-ODDS-04": {{events[2], 3125, 62208}},
		"POOL-ODDS-05": {{events[3], 30625, 559872}},
		"POOL-ODDS-06": {{events[4], 3875, 69984}, {events[5], 15515, 279936}},
		"POOL-ODDS-07": {{events[6], 31031, 559872}, {events[8], 31031, 559872}, {events[11], 31031, 559872}},
		"POOL-ODDS-08": {{events[12], 1, 12}, {r.AnyCombat.Rate, 1, 12}, {r.Combats.Mean, 1, 12}},
		// Survival is a spill that is not DEADLY (POOL-SEV-03).
		"POOL-SEV-03": {{r.SuccessRate, 23328 - 1453, 23328}},
	} {
		for i, c := range cases {
			about(t, fmt.Sprintf("%s, value %d", id, i+1), c.got, c.whole/c.all, r.Runs)
		}
	}
	if r.Interval[0] > r.SuccessRate || r.Interval[1] < r.SuccessRate || r.Endings[dangerpool.Finished] != r.Runs {
		t.Errorf("interval %v of %v, endings %v", r.Interval, r.SuccessRate, r.Endings)
	}
}

func TestALongRestInTheOpen(t *testing.T) {
	t.Parallel()
	r := delves(t, script(t, "LONG_REST"))
	// POOL-ODDS-10, POOL-REST-03.
	if want := 31031.0 / 5832; math.Abs(r.Events.Mean-want) > 4*r.Events.Error || r.Events.Error > 0.02 {
		t.Errorf("POOL-ODDS-10: %v events, exactly %.6f", r.Events, want)
	}
	about(t, "POOL-ODDS-10: at least one combat", r.AnyCombat.Rate, 215622815.0/429981696, r.Runs)
	if r.BySpills[8] != r.Runs || r.Minutes.Mean != 480 {
		t.Errorf("POOL-REST-03: spills %v, %v minutes", r.BySpills, r.Minutes)
	}
	// Hunkered it is eight dice and one spill (POOL-REST-04), after the die of hunkering down.
	if h := delves(t, script(t, "HUNKER_DOWN", "long-rest")); h.Dice.Mean != 9 || h.BySpills[1] != h.Runs {
		t.Errorf("POOL-REST-04: %v dice, spills %v", h.Dice, h.BySpills)
	}
}

func TestPoliciesOfDelves(t *testing.T) {
	t.Parallel()
	by := map[dangerpool.Policy]DelveReport{}
	for _, policy := range dangerpool.Policies {
		e := dangerpool.DefaultExpedition()
		e.Policy = policy
		r := delves(t, DelvePlan{Ruleset: dangerpool.Default(), Expedition: e, Runs: 1500, Seed: 3, Workers: 2})
		by[policy] = r
		sum := 0
		for _, n := range r.Endings {
			sum += n
		}
		spills := 0
		for i, n := range r.BySpills {
			spills += i * n
		}
		if sum != 1500 || math.Abs(float64(spills)/1500-r.Spills.Mean) > 1e-9 {
			t.Errorf("%s: %d endings, spills %v of mean %v", policy, sum, r.BySpills, r.Spills)
		}
	}
	steady := by[dangerpool.Steady]
	if loud := by[dangerpool.Loud]; loud.Spills.Mean <= steady.Spills.Mean || loud.SuccessRate >= steady.SuccessRate {
		t.Errorf("POOL-ADD-04: loud %v spills, %v survive; steady %v, %v", loud.Spills, loud.SuccessRate, steady.Spills, steady.SuccessRate)
	}
	if open := by[dangerpool.InTheOpen]; open.Dice.Mean <= steady.Dice.Mean {
		t.Errorf("POOL-REST-01, -02: %v dice with rests in the open, %v hunkered", open.Dice, steady.Dice)
	}
	if r := by[dangerpool.Restless]; r.Dice.Mean >= steady.Dice.Mean {
		t.Errorf("%v dice without rests, %v with them", r.Dice, steady.Dice)
	}
	careful := by[dangerpool.Careful]
	if deadly := careful.Severities[3]; careful.Endings[dangerpool.TurnedBack] == 0 || deadly.Spills != careful.Endings[dangerpool.TurnedBack] {
		t.Errorf("the careful met %d deadly spills and turned back %d times", deadly.Spills, careful.Endings[dangerpool.TurnedBack])
	}
}

func TestTorchesEndADelve(t *testing.T) {
	t.Parallel()
	e := dangerpool.DefaultExpedition()
	for torches, want := range map[int]string{0: dangerpool.Finished, 1: dangerpool.WentDark, 50: dangerpool.Finished} {
		e.Torches = torches
		r := delves(t, DelvePlan{Ruleset: dangerpool.Default(), Expedition: e, Runs: 300, Seed: 1})
		if r.Endings[want] != 300 {
			t.Errorf("%d torches: %v", torches, r.Endings)
		}
		// A torch lasts six dice (POOL-LIGHT-02).
		if torches == 1 && (r.Dice.Mean < 6 || r.Torches.Mean != 1) {
			t.Errorf("one torch: %v dice, %v burnt down", r.Dice, r.Torches)
		}
	}
}

func TestDelvesAreTheSameOnAnyNumberOfWorkers(t *testing.T) {
	t.Parallel()
	p := DelvePlan{Ruleset: dangerpool.Default(), Expedition: dangerpool.DefaultExpedition(), Runs: 3*chunk + 5, Seed: 9}
	told := 0
	p.Progress = func(done int) { told = max(told, done) }
	one := delves(t, p)
	if told != p.Runs {
		t.Errorf("progress ended at %d of %d", told, p.Runs)
	}
	for _, workers := range []int{1, 2, 7} {
		p.Workers = workers
		if diff := cmp.Diff(one, delves(t, p)); diff != "" {
			t.Errorf("%d workers:\n%s", workers, diff)
		}
	}
	p.Seed++
	if cmp.Equal(one, delves(t, p)) {
		t.Error("another seed, the same report")
	}
}

func TestBadPlansOfDelvesAreRefused(t *testing.T) {
	t.Parallel()
	steps := func(words ...string) func(p *DelvePlan) {
		return func(p *DelvePlan) { p.Expedition = script(t, words...).Expedition }
	}
	for name, c := range map[string]struct {
		change func(p *DelvePlan)
		field  string
	}{
		"no runs":                     {func(p *DelvePlan) { p.Runs = 0 }, "runs"},
		"an unknown policy":           {func(p *DelvePlan) { p.Expedition.Policy = "bold" }, "policy"},
		"nowhere to go":               {func(p *DelvePlan) { p.Expedition.Legs = 0 }, "legs"},
		"too many legs":               {func(p *DelvePlan) { p.Expedition.Legs = dangerpool.MaxLegs + 1 }, "legs"},
		"torches below none":          {func(p *DelvePlan) { p.Expedition.Torches = -1 }, "torches"},
		"a fight of more than a week": {func(p *DelvePlan) { p.Expedition.FightMinutes = dangerpool.MaxMinutes + 1 }, "fight_minutes"},
		"a step that is refused":      {steps("MOVE", "COMBAT_ROUNDS 3"), "script[1]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := DelvePlan{Ruleset: dangerpool.Default(), Expedition: dangerpool.DefaultExpedition(), Runs: 10}
			c.change(&p)
			_, err := RunDelves(t.Context(), p)
			var r *play.Refusal
			if !errors.As(err, &r) || r.Field != c.field {
				t.Errorf("got %v, want a refusal of %s", err, c.field)
			}
		})
	}
	for _, words := range [][]string{{"JUMP"}, {"MOVE", ""}, {"WAIT"}, {"WAIT soon"}, {"MOVE 3"}, {"LIGHT_ADD 1"}, {"LEAVE"}, {"CAST 3"}, {"WAIT 1 2"}} {
		_, err := dangerpool.ParseScript(words)
		var r *play.Refusal
		if want := fmt.Sprintf("script[%d]", len(words)-1); !errors.As(err, &r) || r.Field != want {
			t.Errorf("%q: %v, want a refusal of %s", words, err, want)
		}
	}
}
