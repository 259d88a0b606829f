package diedrop

import "testing"

func TestHoldingFood(t *testing.T) {
	t.Parallel()
	eager := map[string]any{"food.slot_release": "eager"}
	rules{
		"DDW-SLOT-13 slots stay reserved after a step down": func(t *testing.T) {
			for mode, want := range map[string][3]int{"lazy": {8, 8, 8}, "eager": {8, 6, 4}} {
				j := scene{params: map[string]any{"food.slot_release": mode}, members: people(4), food: []int{12}}.begin(t)
				got := [3]int{j.SlotsHeld()}
				for i, to := range []Hex{{3, 1}, {4, 1}} {
					j, _ = do(t, j, Move{To: to, Via: RouteTerrain}, 1, 6)
					got[i+1] = j.SlotsHeld()
				}
				eq(t, mode, got, want)
				eq(t, "needed", j.SlotsNeeded(), 4)
			}
		},
		"DDW-SLOT-13 eager frees after a check that steps down and at no other time": func(t *testing.T) {
			j := scene{params: eager, members: fed(3, 3, 3, 3), food: []int{8}}.begin(t)
			j, _ = do(t, j, Move{To: Hex{3, 1}, Via: RouteTerrain}, 5, 6)
			eq(t, "no step down", held(j), []int{3, 3, 3, 3})
			j, _ = do(t, j, Harm{Name: "Dorrit", STR: 10})
			eq(t, "a death", held(j), []int{3, 3, 3, 0})
			j, _ = do(t, j, Move{To: Hex{3, 2}, Via: RouteTerrain}, 1, 6)
			eq(t, "a step down", held(j), []int{0, 1, 1, 0})
		},
		"DDW-SLOT-14 slots come free one by one from who holds most": func(t *testing.T) {
			j := scene{members: fed(3, 2, 2, 1), food: []int{8}}.begin(t)
			j, events := do(t, j, FreeFoodSlots{})
			freed, _ := find[FoodSlotsFreed](events)
			eq(t, "freed", freed.Freed, 4)
			eq(t, "held", held(j), []int{1, 1, 1, 1})
			_, events = do(t, j, FreeFoodSlots{})
			freed, _ = find[FoodSlotsFreed](events)
			eq(t, "freed again", freed.Freed, 0)
			j, _ = do(t, scene{members: fed(2, 2), food: []int{6}}.begin(t), FreeFoodSlots{})
			eq(t, "on a tie the earlier one", held(j), []int{0, 1})
		},
		"DDW-SLOT-15 what fills a member's slots": func(t *testing.T) {
			ada := people(1)
			ada[0].Gear, ada[0].Torches, ada[0].Fatigue = 4, 1, 1
			j := scene{members: ada, food: []int{20}}.begin(t)
			eq(t, "used", j.SlotsUsed(j.Members[0]), 9)
			eq(t, "free", j.free(j.Members[0]), 1)
			eq(t, "overloaded", j.Overloaded(j.Members[0]), false)
			ada[0].Oil, ada[0].FoodSlots = 1, 3
			j = scene{members: ada, food: []int{20}, cargo: []Load{{Carrier: "Ada", Creature: "Bears", Count: 1, Slots: 1}}}.begin(t)
			eq(t, "used with oil and a load", j.SlotsUsed(j.Members[0]), 11)
			eq(t, "free when overloaded", j.free(j.Members[0]), 0)
			eq(t, "overloaded with oil and a load", j.Overloaded(j.Members[0]), true)
			eq(t, "capacity not named", Newcomer{Name: "Mabyn", HP: 1, STR: 1}.Member(Default()).Capacity, 10)
		},
		"DDW-SLOT-16 new slots go to who has most free": func(t *testing.T) {
			j := scene{members: people(4, gear(4)), food: []int{10}}.begin(t)
			eq(t, "six slots", held(j), []int{2, 2, 1, 1})
			members := people(3, gear(4))
			members[2].Gear = 2
			j = scene{members: members, food: []int{8}}.begin(t)
			eq(t, "Cole has most room", held(j), []int{1, 0, 2})
			j = scene{members: fed(2, 2, 1, 1), food: []int{8}}.begin(t)
			j, _ = do(t, j, Forage{}, 5, 6, 6)
			eq(t, "food", food(j), "[d10]")
			eq(t, "held slots are used first", held(j), []int{2, 2, 1, 1})
		},
		"DDW-SLOT-17 a raise that does not fit is lost": func(t *testing.T) {
			j := scene{members: people(1, gear(8)), food: []int{8}}.begin(t)
			for _, want := range []struct{ result, food string }{{"raised", "[d10]"}, {"raised", "[d12]"}, {"no_room", "[d12]"}} {
				after, events := do(t, j, Forage{}, 5, 6, 6)
				foraged, _ := find[Foraged](events)
				eq(t, "result", foraged.Result, want.result)
				eq(t, "food", food(after), want.food)
				j = after
			}
			j = scene{inside: "tallowick", members: people(1, gear(8)), food: []int{12}, gold: 100}.begin(t)
			refuse(t, j, BuyFood{Steps: 1}, "no_room")
		},
		"DDW-SLOT-18 the dead carry nothing of the company": func(t *testing.T) {
			members := fed(3, 4)
			members[0].Torches, members[0].Oil, members[0].Gear, members[0].Fatigue = 1, 1, 2, 1
			j := scene{members: members, food: []int{20, 4}, cargo: []Load{{Carrier: "Ada", Creature: "Bears", Count: 1, Slots: 1}, {Carrier: "Bren", Creature: "Bears", Count: 1, Slots: 1}}}.begin(t)
			j, _ = do(t, j, Harm{Name: "Ada", STR: 10})
			ada := j.Members[0]
			eq(t, "Ada", ada, Member{Name: "Ada", HP: 4, HPMax: 4, STRMax: 10, Capacity: 10, Gear: 2, Fatigue: 1, Dead: true})
			eq(t, "needed", j.SlotsNeeded(), 4)
			eq(t, "held", held(j), []int{0, 4})
			eq(t, "cargo", len(j.Cargo), 1)
		},
		"DDW-SLOT-18 only what is missing is placed": func(t *testing.T) {
			j := scene{members: fed(2, 0), food: []int{8}}.begin(t)
			j, _ = do(t, j, Harm{Name: "Ada", STR: 10})
			eq(t, "held", held(j), []int{0, 1})
			eq(t, "food", food(j), "[d8]")
		},
		"DDW-SLOT-18 the die steps down until the food fits": func(t *testing.T) {
			for free, want := range map[int]string{0: "[]", 1: "[d8]", 2: "[d12]", 3: "[d20]"} {
				members := fed(6, 0)
				members[1].Gear = 10 - free
				j := scene{members: members, food: []int{20}}.begin(t)
				j, _ = do(t, j, Harm{Name: "Ada", STR: 10})
				eq(t, "food", food(j), want)
				eq(t, "held", j.SlotsHeld(), j.SlotsNeeded())
			}
		},
		"DDW-SLOT-18 nobody is left": func(t *testing.T) {
			j, _ := do(t, scene{members: people(1), food: []int{20, 4}}.begin(t), Harm{Name: "Ada", STR: 10})
			eq(t, "food", food(j), "[]")
			refuse(t, j, Search{}, "party_dead")
		},
	}.run(t)
}
