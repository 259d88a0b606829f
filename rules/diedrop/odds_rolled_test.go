package diedrop

import (
	"errors"
	"fmt"
	"math/big"
	"slices"
	"testing"
)

// everyRoll plays a command with every combination of faces of its first dice, which have these sides; dice after
// those show their highest face. It returns how the state afterwards is shared out among the words for it.
func everyRoll(t *testing.T, j Journey, c Command, sides []int, word func(j Journey) string) map[string]*big.Rat {
	t.Helper()
	count, all := map[string]int64{}, int64(0)
	faces := make([]int, len(sides))
	for i := range faces {
		faces[i] = 1
	}
	for more := true; more; {
		dice := scripted(faces...)
		events, err := Decide(j, c, dice)
		if err = errors.Join(err, dice.Close()); err != nil {
			t.Fatal(err)
		}
		for i, s := range sides {
			if dice.Rolled()[i].Sides != s {
				t.Fatalf("die %d is a d%d, not a d%d", i, dice.Rolled()[i].Sides, s)
			}
		}
		after := j
		for _, e := range events {
			after = Apply(after, e)
		}
		count[word(after)]++
		all++
		more = false
		for i := range faces {
			if faces[i]++; faces[i] <= sides[i] {
				more = true
				break
			}
			faces[i] = 1
		}
	}
	out := map[string]*big.Rat{}
	for w, n := range count {
		out[w] = big.NewRat(n, all)
	}
	return out
}

// bench is a company with one food die, or none, and the way to roll a check of n dice once.
func bench(t *testing.T, n int, keep Keep, sides int, params map[string]any) (Journey, Move, []int) {
	t.Helper()
	terrain := []string{"plains", "forest", "swamp"}[n-1]
	move := Move{To: Hex{1, 0}, Via: RouteTerrain}
	if keep == KeepHighest {
		terrain, move.Via = "plains", RouteRoad
	}
	s := scene{params: params, world: withRoad(row(terrain, terrain)), at: &Hex{0, 0}}
	if sides == 0 {
		return s.begin(t), move, nil
	}
	s.food = []int{sides}
	return s.begin(t), move, slices.Repeat([]int{sides}, n)
}

func same(t *testing.T, what string, got, want *big.Rat) {
	t.Helper()
	if want == nil {
		want = new(big.Rat)
	}
	rat(t, what, got, want.RatString())
}

func TestOddsAreWhatTheEngineRolls(t *testing.T) {
	t.Parallel()
	rs := Default()
	nobody := func(j Journey) string { return fmt.Sprint(j.Encounter == nil) }
	rules{
		"DDW-USE-08 every roll of a check": func(t *testing.T) {
			for _, most := range []int{1, 2, 3} {
				for _, sides := range []int{4, 6, 8, 10} {
					for _, w := range ways {
						j, move, dice := bench(t, w.n, w.keep, sides, map[string]any{"use.step_down_max": most})
						rolled := everyRoll(t, j, move, dice, food)
						same(t, dieName(sides), j.Ruleset.StepDownChance(sides, w.n, w.keep), rest(rolled[food(j)]))
					}
				}
			}
		},
		"DDW-USE-11 checks until out, by the chances that were rolled": func(t *testing.T) {
			for _, w := range ways {
				sum := new(big.Rat)
				for sides := 10; sides > 0; sides = rs.stepDown(sides) {
					j, move, dice := bench(t, w.n, w.keep, sides, nil)
					down := rest(everyRoll(t, j, move, dice, food)[food(j)])
					sum.Add(sum, down.Inv(down))
				}
				same(t, string(w.keep), rs.ChecksUntilOut([]int{10}, w.n, w.keep), sum)
			}
		},
		"DDW-FORAGE-08 every roll of an attempt": func(t *testing.T) {
			for _, params := range []map[string]any{
				nil, {"forage.success_min": 5}, {"forage.when_out": "no_gain", "forage.at_d20": "no_gain"}, {"food.max_dice": 1},
			} {
				for _, sides := range []int{4, 6, 8, 20} {
					for _, w := range ways[:2] {
						j, _, dice := bench(t, w.n, w.keep, sides, params)
						rolled := everyRoll(t, j, Forage{}, append(dice, 6), func(after Journey) string {
							switch {
							case len(after.Food) == 0 || after.Food[0] < sides:
								return "down"
							case len(after.Food) > 1 || after.Food[0] > sides:
								return "up"
							}
							return "same"
						})
						up, stays, down := j.Ruleset.ForageSteps(sides, w.n, w.keep)
						same(t, dieName(sides)+" up", up, rolled["up"])
						same(t, dieName(sides)+" same", stays, rolled["same"])
						same(t, dieName(sides)+" down", down, rolled["down"])
					}
				}
			}
		},
		"DDW-FORAGE-08 attempts, by solving what was rolled": func(t *testing.T) {
			// States: out, d4, d6, d8; the aim is d10. x = 1 + P x is solved by elimination.
			states := []int{0, 4, 6, 8}
			for _, w := range ways[:2] {
				system := make([][]*big.Rat, len(states))
				for i, sides := range states {
					j, _, dice := bench(t, w.n, w.keep, sides, nil)
					rolled := everyRoll(t, j, Forage{}, append(dice, 6), food)
					for _, other := range states {
						cell, name := new(big.Rat), "[]"
						if other > 0 {
							name = "[" + dieName(other) + "]"
						}
						if other == sides {
							cell = whole(1)
						}
						if p, ok := rolled[name]; ok {
							cell = new(big.Rat).Sub(cell, p)
						}
						system[i] = append(system[i], cell)
					}
					system[i] = append(system[i], whole(1))
				}
				for i := range states {
					for k := range states {
						if k == i {
							continue
						}
						factor := new(big.Rat).Quo(system[k][i], system[i][i])
						for col := range system[k] {
							system[k][col] = new(big.Rat).Sub(system[k][col], times(factor, system[i][col]))
						}
					}
				}
				for i, sides := range states[1:] {
					want := new(big.Rat).Quo(system[i+1][len(states)], system[i+1][i+1])
					same(t, "from "+dieName(sides), rs.ForageAttempts(sides, 10, w.n, w.keep), want)
				}
			}
			strict, err := rs.With(map[string]any{"forage.when_out": "no_gain"})
			if err != nil {
				t.Fatal(err)
			}
			if got := strict.ForageAttempts(4, 20, 1, KeepSingle); got != nil {
				t.Errorf("who never finds food again waits %s attempts", got)
			}
			rat(t, "no wait", strict.ForageAttempts(8, 8, 1, KeepSingle), "0")
		},
		"DDW-ENC-07 every roll of a check and of a row": func(t *testing.T) {
			j := scene{}.begin(t)
			same(t, "check", rs.EncounterChance(), everyRoll(t, j, Search{}, []int{6}, nobody)["false"])
			j = scene{params: map[string]any{"enc.check_max": 6}}.begin(t)
			rolled := everyRoll(t, j, Search{}, []int{6, 4, 4}, func(j Journey) string { return j.Encounter.Creature })
			for _, e := range rs.EncounterTables["standard"].Entries {
				same(t, e.Creature, RowChance(e.Roll), rolled[e.Creature])
			}
		},
		"DDW-NPC-02 every roll of a reaction": func(t *testing.T) {
			// Trolls in every case: two fours, and they use no money.
			j := scene{params: map[string]any{"enc.check_max": 6}}.begin(t)
			count := map[string]int64{}
			for i := range 36 {
				events, err := Decide(j, Search{}, scripted(6, 4, 4, 4, i%6+1, i/6+1))
				if err != nil {
					t.Fatal(err)
				}
				met, _ := find[EncounterMet](events)
				count[*met.Encounter.Reaction]++
			}
			for id, p := range rs.ReactionChances() {
				same(t, id, p, big.NewRat(count[id], 36))
			}
		},
		"DDW-DARK-07 every roll with light and without": func(t *testing.T) {
			j := lit(t, scene{light: &Light{Torch, 8}})
			same(t, "lit", rs.TurnEncounterChance(false), everyRoll(t, j, combat, []int{8, 6}, nobody)["false"])
			j.Light = nil
			same(t, "dark", rs.TurnEncounterChance(true), everyRoll(t, j, combat, []int{6}, nobody)["false"])
		},
	}.run(t)
}
