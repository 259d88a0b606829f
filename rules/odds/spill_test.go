package odds

import (
	"errors"
	"fmt"
	"math/big"
	"testing"

	"github.com/wayfarer-rpg/wayfarer/rules/play"
)

func spillOdds(t *testing.T, dice int, rules SpillRules) SpillOdds {
	t.Helper()
	o, err := Spill(dice, rules)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestDangerPoolCatalogue(t *testing.T) {
	t.Parallel()
	o := spillOdds(t, 6, DefaultSpillRules())
	for id, check := range map[string]func(t *testing.T){
		"POOL-ODDS-01": func(t *testing.T) { same(t, "no event", o.Events[0], "15625/46656") },
		"POOL-ODDS-02": func(t *testing.T) {
			same(t, "MINOR", o.Severities[Minor], "3125/7776")
			same(t, "MODERATE", o.Severities[Moderate], "3125/15552")
			same(t, "DEADLY", o.Severities[Deadly], "1453/23328")
		},
		"POOL-ODDS-03": func(t *testing.T) { same(t, "event 1", o.Events[1], "3125/93312") },
		"POOL-ODDS-04": func(t *testing.T) { same(t, "event 2", o.Events[2], "3125/62208") },
		"POOL-ODDS-05": func(t *testing.T) { same(t, "event 3", o.Events[3], "30625/559872") },
		"POOL-ODDS-06": func(t *testing.T) {
			same(t, "event 4", o.Events[4], "3875/69984")
			same(t, "event 5", o.Events[5], "15515/279936")
		},
		"POOL-ODDS-07": func(t *testing.T) {
			for e := 6; e <= 11; e++ {
				same(t, fmt.Sprint("event ", e), o.Events[e], "31031/559872")
			}
		},
		"POOL-ODDS-08": func(t *testing.T) {
			same(t, "Combat", o.Events[12], "1/12")
			same(t, "ones", o.Ones.Mean(), "1")
		},
		"POOL-ODDS-09": func(t *testing.T) { same(t, "Combat and DEADLY", o.EventSeverities[12][Deadly], "763/46656") },
		"POOL-ODDS-10": func(t *testing.T) {
			events, err := o.Count.Times(8)
			if err != nil {
				t.Fatal(err)
			}
			same(t, "mean events", events.Mean(), "31031/5832")
			combats, err := o.Last.Times(8)
			if err != nil {
				t.Fatal(err)
			}
			same(t, "at least one combat", combats.ChanceAtLeast(1), "215622815/429981696")
		},
	} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			check(t)
		})
	}
}

// Every roll of the dice, and of the event dice after it, counted one by one.
func TestSpillEqualsBruteForce(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		dice  int
		rules SpillRules
	}{
		"five dice":             {5, DefaultSpillRules()},
		"no dice":               {0, DefaultSpillRules()},
		"a d4 for six events":   {3, SpillRules{EventSides: 4, LastEvent: 6, DeadlyFrom: 2}},
		"a d8 for six events":   {4, SpillRules{EventSides: 8, LastEvent: 6, DeadlyFrom: 4}},
		"one event for each 1":  {3, SpillRules{EventSides: 5, LastEvent: 4, DeadlyFrom: 3, PerOne: true}},
		"more events than that": {3, SpillRules{EventSides: 3, LastEvent: 4, DeadlyFrom: 2, PerOne: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := spillOdds(t, tc.dice, tc.rules)
			events := make([][4]*big.Rat, tc.rules.LastEvent+1)
			for e := range events {
				for s := range events[e] {
					events[e][s] = new(big.Rat)
				}
			}
			count, last := map[int64]*big.Rat{}, map[int64]*big.Rat{}
			put := func(m map[int64]*big.Rat, k int, p *big.Rat) {
				if m[int64(k)] == nil {
					m[int64(k)] = new(big.Rat)
				}
				m[int64(k)].Add(m[int64(k)], p)
			}
			all := int(pow6(tc.dice))
			for w := range all {
				ones := 0
				for range tc.dice {
					if w%6 == 0 {
						ones++
					}
					w /= 6
				}
				s := None
				switch {
				case ones >= tc.rules.DeadlyFrom:
					s = Deadly
				case ones > 1:
					s = Moderate
				case ones == 1:
					s = Minor
				}
				rolls := min(ones, 1)
				if tc.rules.PerOne {
					rolls = ones
				}
				ways := 1
				for range rolls {
					ways *= tc.rules.EventSides
				}
				for e := range ways {
					p := big.NewRat(1, int64(all*ways))
					seen, lasts := map[int]bool{}, 0
					for range rolls {
						event := e%tc.rules.EventSides + 1
						if !tc.rules.PerOne {
							event += ones - 1
						}
						event = min(event, tc.rules.LastEvent)
						seen[event] = true
						if event == tc.rules.LastEvent {
							lasts++
						}
						e /= tc.rules.EventSides
					}
					if rolls == 0 {
						seen[0] = true
					}
					for event := range seen {
						events[event][s].Add(events[event][s], p)
					}
					put(count, rolls, p)
					put(last, lasts, p)
				}
			}
			for e, row := range events {
				for s, want := range row {
					same(t, fmt.Sprint("event ", e, ", severity ", s), o.EventSeverities[e][s], want.RatString())
				}
			}
			for k := range int64(7) {
				for what, pair := range map[string]struct {
					got  Dist
					want *big.Rat
				}{"events": {o.Count, count[k]}, "last events": {o.Last, last[k]}} {
					if pair.want == nil {
						pair.want = new(big.Rat)
					}
					same(t, fmt.Sprint(k, " ", what), pair.got.Chance(k), pair.want.RatString())
				}
			}
		})
	}
}

func TestSpillRefuses(t *testing.T) {
	t.Parallel()
	for field, tc := range map[string]struct {
		dice  int
		rules SpillRules
	}{
		"dice":        {MaxSpillDice + 1, DefaultSpillRules()},
		"event_sides": {6, SpillRules{LastEvent: 12, DeadlyFrom: 3}},
		"last_event":  {6, SpillRules{EventSides: 12, DeadlyFrom: 3}},
		"deadly_from": {6, SpillRules{EventSides: 12, LastEvent: 12, DeadlyFrom: 1}},
	} {
		var r *play.Refusal
		if _, err := Spill(tc.dice, tc.rules); !errors.As(err, &r) || r.Code != BadOdds || r.Field != field {
			t.Errorf("%s: got %v", field, err)
		}
	}
}
