package diedrop

import "testing"

// The worked examples at the end of the catalogue, by their numbers.
func TestWorkedExamples(t *testing.T) {
	t.Parallel()
	rules{
		"1 road into the mountains": func(t *testing.T) {
			j := scene{at: &Hex{1, 1}, members: people(4), food: []int{8}}.begin(t)
			eq(t, "held before", j.SlotsHeld(), 4)
			j, dice := rolls(t, j, Move{To: Hex{1, 0}}, 6, 2, 4)
			eq(t, "dice", dice, "d8 d8 d6")
			eq(t, "food", food(j), "[d6]")
			eq(t, "needed and held", [2]int{j.SlotsNeeded(), j.SlotsHeld()}, [2]int{2, 4})
			eq(t, "nobody is met", j.Encounter == nil, true)
		},
		"2 road with company": func(t *testing.T) {
			j := scene{at: &Hex{1, 2}, members: people(4), food: []int{12}}.begin(t)
			j, dice := rolls(t, j, Move{To: Hex{2, 2}}, 2, 9, 1, 1, 3, 2, 5, 6, 3, 1)
			eq(t, "dice", dice, "d12 d12 d6 d4 d4 d6 d6 d6 d4 d4")
			eq(t, "food", food(j), "[d12]")
			talks, total := "talks", 11
			eq(t, "met", *j.Encounter, Encounter{Creature: "Traders/travelers", Number: 2, Reaction: &talks, ReactionTotal: &total, Gold: 4})
		},
		"3 search and enter in the swamp": func(t *testing.T) {
			j := scene{at: &Hex{0, 6}, food: []int{10}}.begin(t)
			j, _ = do(t, j, Search{}, 4, 2, 9, 6)
			eq(t, "food", food(j), "[d8]")
			eq(t, "found", j.Discovered, []string{"mirefold"})
			j, dice := rolls(t, j, Enter{"mirefold"}, 5)
			eq(t, "dice", dice, "d8")
			eq(t, "food inside", food(j), "[d8]")
		},
		"4 foraging on the last die": func(t *testing.T) {
			j := scene{at: &Hex{2, 3}, members: people(3), food: []int{4}}.begin(t)
			j, events := do(t, j, Forage{}, 1, 3, 4, 5)
			foraged, _ := find[Foraged](events)
			eq(t, "result", foraged.Result, "from_out")
			eq(t, "food", food(j), "[d4]")
			eq(t, "hit points", hp(j), []int{4, 4, 4})
		},
		"5 above d20": func(t *testing.T) {
			j := scene{members: people(4), food: []int{20}}.begin(t)
			j, _ = do(t, j, Forage{}, 15, 6, 2)
			eq(t, "food", food(j), "[d20,d4]")
			eq(t, "needed", j.SlotsNeeded(), 13)
			j, dice := rolls(t, j, Move{To: Hex{4, 2}}, 1, 2, 5)
			eq(t, "dice", dice, "d4 d4 d6")
			eq(t, "food in the forest", food(j), "[d20]")
			eq(t, "needed and held", [2]int{j.SlotsNeeded(), j.SlotsHeld()}, [2]int{12, 13})
		},
		"6 the least purchase": func(t *testing.T) {
			for applies, want := range map[string][2]int{"per_step": {2, 10}, "per_purchase": {1, 15}} {
				params := map[string]any{"buy.minimum_applies": applies}
				j := scene{params: params, inside: "tallowick", food: []int{4}, gold: 20}.begin(t)
				j, bought := buy(t, j, 2)
				eq(t, applies, [2]int{bought.Slots, j.Gold}, want)
				eq(t, "food", food(j), "[d8]")
			}
		},
		"7 hunger in three ways": func(t *testing.T) {
			starve := func(variant string) Journey {
				return starving(t, map[string]any{"starve.variant": variant}, body("Una", 1, 10), body("Vic", 4, 8))
			}
			j, _ := do(t, starve("damage"), Search{}, 6)
			eq(t, "damage, hit points", hp(j), []int{0, 3})
			j, _ = do(t, j, Search{}, 6)
			eq(t, "damage, second round", [2][]int{hp(j), str(j)}, [2][]int{{0, 2}, {9, 8}})
			j = starve("deprived")
			for _, want := range []int{0, 0, 1} {
				j, _ = do(t, j, Search{}, 6)
				eq(t, "deprived", tired(j), []int{want, want})
			}
			j, _ = do(t, starve("drain"), Search{}, 3, 2, 6)
			eq(t, "drain", hp(j), []int{0, 2})
			j, _ = do(t, j, Search{}, 4, 6)
			eq(t, "drain, second round", [2][]int{hp(j), str(j)}, [2][]int{{0, 0}, {9, 8}})
		},
		"8 the torch dies": func(t *testing.T) {
			j := inSite(t, "pennard-delve", "", &Light{Torch, 4})
			j, _ = do(t, j, enterRoom("adit"), 4, 5)
			j, _ = do(t, j, enterRoom("cartway"), 2, 3)
			eq(t, "dark, and nobody met", [2]bool{j.Dark(), j.Encounter == nil}, [2]bool{true, true})
			j, dice := rolls(t, j, Retreat{}, 3, 2, 5, 1, 3, 1, 2, 2, 4, 1)
			eq(t, "dice", dice, "d6 d6 d6 d6 d6 d4 d4 d4 d4 d4")
			threatens, total := "threatens", 4
			eq(t, "met", *j.Encounter, Encounter{
				Creature: "Goblins", Number: 5, Reaction: &threatens, ReactionTotal: &total, Gold: 10, Players: "impaired", NPCs: "enhanced",
			})
		},
		"9 gold after the fight, pelts after that": func(t *testing.T) {
			j := inSite(t, "redstair", "", &Light{Torch, 8})
			j, _ = do(t, j, enterRoom("lip"), 5, 1, 4, 2, 1, 1, 3, 4)
			eq(t, "met", [3]any{j.Encounter.Creature, *j.Encounter.Reaction, j.Encounter.Gold}, [3]any{"Bugbears", "attacks", 7})
			j, _ = do(t, j, combat, 6, 5)
			j, _ = do(t, j, Loot{})
			eq(t, "gold", j.Gold, 7)
			j, _ = do(t, j, activity, 4, 1, 3, 2, 1, 2)
			eq(t, "met then", [3]any{j.Encounter.Creature, j.Encounter.Number, *j.Encounter.ReactionTotal}, [3]any{"Mountain lions", 2, 3})
			j, _ = do(t, j, combat, 7, 3)
			after, dice := rolls(t, j, PrepareRemains{Count: 2, Carrier: "Ada"}, 2, 4)
			eq(t, "dice", dice, "d8 d6")
			eq(t, "light", *after.Light, Light{Torch, 6})
			eq(t, "turns and loads", [2]int{after.Turn - j.Turn, len(after.Cargo)}, [2]int{1, 1})
		},
		"10 a digger to feed": func(t *testing.T) {
			j := inTallowick(t, people(2), 40, 8)
			j, _ = do(t, j, AddMember{Newcomer{Name: "Mabyn", HP: 3, STR: 8}})
			eq(t, "shared", food(j), "[d6]")
			j, bought := buy(t, j, 1)
			eq(t, "bought", [2]any{food(j), bought.Paid}, [2]any{"[d8]", 5})
			refuse(t, j, BuyGear{Item: ItemBoat}, "no_gold")
			j, _ = do(t, j, BuyGear{Item: ItemLantern})
			used := j.SlotsUsed(j.Members[0])
			j, _ = do(t, j, BuyGear{Item: ItemOil, Count: 2, Carrier: "Ada"})
			eq(t, "gold and slots", [2]int{j.Gold, j.SlotsUsed(j.Members[0]) - used}, [2]int{3, 2})
			j, _ = do(t, j, RemoveMember{"Mabyn"})
			eq(t, "afterwards", [2]any{food(j), j.SlotsNeeded()}, [2]any{"[d8]", 2})
		},
		"11 no free rest": func(t *testing.T) {
			ada, bren := body("Ada", 4, 10), body("Bren", 2, 10)
			bren.HPMax = 5
			j := starving(t, nil, ada, bren)
			refuse(t, j, Rest{}, "deprived")
			j, _ = do(t, j, Forage{}, 5, 6)
			eq(t, "hungry and fed", [2]any{hp(j)[0]*10 + hp(j)[1], food(j)}, [2]any{31, "[d4]"})
			j, _ = do(t, j, Rest{})
			eq(t, "rested", hp(j), []int{6, 5})
		},
	}.run(t)
}
