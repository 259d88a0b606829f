package diedrop

import (
	"testing"

	"github.com/wayfarer-rpg/wayfarer/rules/play"
)

func TestUsageDie(t *testing.T) {
	t.Parallel()
	rules{
		"DDW-USE-01 one die feeds the whole party": func(t *testing.T) {
			j := scene{members: people(5), food: []int{8}}.begin(t)
			_, dice := rolls(t, j, Move{To: Hex{3, 1}, Via: RouteTerrain}, 5, 6)
			eq(t, "dice", dice, "d8 d6")
		},
		"DDW-USE-02 terrain says how many dice": func(t *testing.T) {
			for terrain, want := range map[string]string{"plains": "d8 d6", "mountain": "d8 d8 d8 d6"} {
				j, move := into(t, terrain, 8)
				_, dice := rolls(t, j, move, []int{5, 5, 5, 5}[:len(want)/3+1]...)
				eq(t, terrain, dice, want)
			}
		},
		"DDW-USE-03 kept 1 and 2 move one step down the chain": func(t *testing.T) {
			for _, tc := range []struct {
				die, face int
				want      string
			}{
				{20, 2, "[d12]"}, {12, 1, "[d10]"}, {10, 2, "[d8]"}, {8, 1, "[d6]"}, {6, 2, "[d4]"}, {20, 3, "[d20]"},
				{4, 3, "[d4]"}, {12, 12, "[d12]"},
			} {
				j, move := into(t, "plains", tc.die)
				j, _ = do(t, j, move, tc.face, 6)
				eq(t, dieName(tc.die), food(j), tc.want)
			}
		},
		"DDW-USE-04 below d4 the food is out": func(t *testing.T) {
			j, move := into(t, "plains", 4)
			j, _ = do(t, j, move, 2, 6)
			eq(t, "food", food(j), "[]")
			eq(t, "slots needed", j.SlotsNeeded(), 0)
		},
		"DDW-USE-05 a check steps down once": func(t *testing.T) {
			j, move := into(t, "swamp", 8)
			j, _ = do(t, j, move, 1, 1, 2, 6)
			eq(t, "food", food(j), "[d6]")
		},
		"DDW-USE-06 all dice have the old size and are taken": func(t *testing.T) {
			j, move := into(t, "swamp", 8)
			_, dice := rolls(t, j, move, 1, 8, 8, 6)
			eq(t, "dice", dice, "d8 d8 d8 d6")
			refuse(t, j, move, "bad_dice", 1, 8, 6)
		},
		"DDW-USE-07 lowest and highest": func(t *testing.T) {
			for _, faces := range [][]int{{2, 5}, {5, 2}} {
				low := RollUsage(Default(), 6, 2, KeepLowest, "x", play.ReportedDice(faces...))
				eq(t, "lowest", low, Usage{Sides: 6, Dice: 2, Keep: KeepLowest, Kept: 2, SteppedDown: true, Next: 4})
				high := RollUsage(Default(), 6, 2, KeepHighest, "x", play.ReportedDice(faces...))
				eq(t, "highest", high, Usage{Sides: 6, Dice: 2, Keep: KeepHighest, Kept: 5, Next: 6})
			}
		},
		"DDW-USE-09 the newest die is rolled": func(t *testing.T) {
			j, move := into(t, "plains", 20, 6)
			after, dice := rolls(t, j, move, 2, 6)
			eq(t, "food", food(after), "[d20,d4]")
			eq(t, "dice", dice, "d6 d6")
			old := scene{params: map[string]any{"food.second_die_order": "oldest_first"}, world: row("plains", "plains"), at: &Hex{0, 0}, food: []int{20, 6}}.begin(t)
			after, dice = rolls(t, old, move, 2, 6)
			eq(t, "food, oldest first", food(after), "[d12,d6]")
			eq(t, "dice, oldest first", dice, "d20 d6")
		},
		"DDW-USE-10 the older die is left": func(t *testing.T) {
			j, move := into(t, "plains", 20, 4)
			j, _ = do(t, j, move, 1, 6)
			eq(t, "food", food(j), "[d20]")
			j, dice := rolls(t, j, Move{To: Hex{0, 0}}, 9, 6)
			eq(t, "dice", dice, "d20 d6")
			eq(t, "hungry rounds", j.StarvingRounds, 0)
		},
	}.run(t)
}

func needed(t *testing.T, members int, dice ...int) int {
	t.Helper()
	return scene{members: people(members, func(m *Member) { m.Capacity = 30 }), food: dice}.begin(t).SlotsNeeded()
}

func TestFoodSlots(t *testing.T) {
	t.Parallel()
	rules{
		"DDW-SLOT-01 slots by die and living members": func(t *testing.T) {
			j := scene{members: people(4), food: []int{8}}.begin(t)
			eq(t, "four", j.SlotsNeeded(), 4)
			j, _ = do(t, j, Harm{Name: "Cole", STR: 10})
			eq(t, "one has died", j.SlotsNeeded(), 3)
		},
		"DDW-SLOT-02 d4":  func(t *testing.T) { eq(t, "slots", needed(t, 5, 4), 2) },
		"DDW-SLOT-03 d6":  func(t *testing.T) { eq(t, "slots", needed(t, 5, 6), 3) },
		"DDW-SLOT-04 d8":  func(t *testing.T) { eq(t, "slots", needed(t, 5, 8), 5) },
		"DDW-SLOT-05 d10": func(t *testing.T) { eq(t, "slots", needed(t, 5, 10), 8) },
		"DDW-SLOT-06 d12": func(t *testing.T) { eq(t, "slots", needed(t, 5, 12), 10) },
		"DDW-SLOT-07 d20": func(t *testing.T) { eq(t, "slots", needed(t, 5, 20), 15) },
		"DDW-SLOT-08 rounding is up and never below 1": func(t *testing.T) {
			for i, want := range [][6]int{
				{1, 1, 1, 2, 2, 3}, {1, 1, 2, 3, 4, 6}, {1, 2, 3, 5, 6, 9}, {1, 2, 4, 6, 8, 12},
				{2, 3, 5, 8, 10, 15}, {2, 3, 6, 9, 12, 18}, {2, 4, 7, 11, 14, 21}, {2, 4, 8, 12, 16, 24},
			} {
				var got [6]int
				for k, die := range []int{4, 6, 8, 10, 12, 20} {
					got[k] = needed(t, i+1, die)
				}
				eq(t, "slots of a row", got, want)
			}
		},
		"DDW-SLOT-09 each die is rounded by itself": func(t *testing.T) {
			eq(t, "three", needed(t, 3, 20, 10), 14)
			eq(t, "four", needed(t, 4, 20, 4), 13)
		},
		"DDW-SLOT-10 a second die starts as d4 and climbs": func(t *testing.T) {
			j := scene{food: []int{20}}.begin(t)
			j, _ = do(t, j, Forage{}, 17, 6, 6)
			eq(t, "first raise", food(j), "[d20,d4]")
			j, _ = do(t, j, Forage{}, 3, 6, 6)
			eq(t, "second raise", food(j), "[d20,d6]")
		},
		"DDW-SLOT-11 two dice at most": func(t *testing.T) {
			j := scene{inside: "tallowick", food: []int{20, 20}, gold: 1000}.begin(t)
			refuse(t, j, BuyFood{Steps: 1}, "max_food")
			j = scene{food: []int{20, 20}}.begin(t)
			after, events := do(t, j, Forage{}, 17, 6, 6)
			foraged, _ := find[Foraged](events)
			eq(t, "result", foraged.Result, "at_max")
			eq(t, "food", food(after), "[d20,d20]")
		},
		"DDW-SLOT-12 the party hands its slots out": func(t *testing.T) {
			members := people(2)
			members[0].Gear = 6
			j := scene{members: members, food: []int{20}}.begin(t)
			after, _ := do(t, j, Distribute{map[string]int{"Ada": 2, "Bren": 4}})
			eq(t, "held", held(after), []int{2, 4})
			for why, slots := range map[string]map[string]int{
				"Ada cannot carry six more": {"Ada": 6, "Bren": 0},
				"the sum is too small":      {"Ada": 2, "Bren": 3},
				"the sum is too large":      {"Ada": 2, "Bren": 5},
				"Bren is not named":         {"Ada": 6},
				"a stranger is named":       {"Ada": 2, "Bren": 4, "Zoe": 0},
				"less than nothing":         {"Ada": -1, "Bren": 7},
			} {
				t.Log(why)
				refuse(t, j, Distribute{slots}, "bad_distribution")
			}
			dead, _ := do(t, scene{members: people(3), food: []int{8}}.begin(t), Harm{Name: "Cole", STR: 10})
			refuse(t, dead, Distribute{map[string]int{"Ada": 1, "Bren": 1, "Cole": 0}}, "bad_distribution")
			surplus := scene{members: fed(3, 5), food: []int{8}}.begin(t)
			surplus, _ = do(t, surplus, Distribute{map[string]int{"Ada": 0, "Bren": 2}})
			eq(t, "what was held too much is free", held(surplus), []int{0, 2})
		},
	}.run(t)
}

func TestNobodyCarriesASumThatOverflows(t *testing.T) {
	t.Parallel()
	const most = int(^uint(0) >> 1)
	j := scene{members: people(3, gear(1)), food: []int{8}}.begin(t)
	refuse(t, j, Distribute{map[string]int{"Ada": most, "Bren": most, "Cole": 5}}, "bad_distribution")
}
