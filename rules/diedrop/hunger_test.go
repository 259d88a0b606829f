package diedrop

import "testing"

func TestForaging(t *testing.T) {
	t.Parallel()
	result := func(t *testing.T, j Journey, faces ...int) (Journey, string) {
		t.Helper()
		next, events := do(t, j, Forage{}, faces...)
		f, _ := find[Foraged](events)
		return next, f.Result
	}
	rules{
		"DDW-FORAGE-01 as often as one likes, each attempt a round": func(t *testing.T) {
			j := scene{food: []int{8}}.begin(t)
			for i := range 3 {
				var dice string
				j, dice = rolls(t, j, Forage{}, 5, 1, 6)
				eq(t, "dice", dice, "d8 d6 d6")
				eq(t, "round", j.Round, i+1)
			}
			refuse(t, scene{inside: "sage-stone"}.begin(t), Forage{}, "inside_location")
		},
		"DDW-FORAGE-02 first the terrain's check, whatever roads there are": func(t *testing.T) {
			j := scene{world: withRoad(row("forest", "plains")), at: &Hex{0, 0}, food: []int{6}}.begin(t)
			after, dice := rolls(t, j, Forage{}, 2, 5, 1, 6)
			eq(t, "dice", dice, "d6 d6 d6 d6")
			eq(t, "food", food(after), "[d4]")
			j = scene{world: row("swamp"), at: &Hex{0, 0}, food: []int{6}}.begin(t)
			_, dice = rolls(t, j, Forage{}, 3, 3, 3, 1, 6)
			eq(t, "swamp", dice, "d6 d6 d6 d6 d6")
		},
		"DDW-FORAGE-03 three and more raise the die": func(t *testing.T) {
			for face, want := range map[int]string{1: "[d6]", 2: "[d6]", 3: "[d8]", 6: "[d8]"} {
				j, word := result(t, scene{food: []int{6}}.begin(t), 4, face, 6)
				eq(t, "food", food(j), want)
				eq(t, "result", word, map[bool]string{true: "raised", false: "failed"}[face >= 3])
			}
		},
		"DDW-FORAGE-04 the raise starts after the check": func(t *testing.T) {
			j, _ := result(t, scene{food: []int{8}}.begin(t), 1, 5, 6)
			eq(t, "food", food(j), "[d8]")
		},
		"DDW-FORAGE-05 success without food gives d4": func(t *testing.T) {
			j, word := result(t, scene{food: []int{4}}.begin(t), 2, 5, 6)
			eq(t, "result", word, "from_out")
			eq(t, "food", food(j), "[d4]")
			eq(t, "hit points", hp(j), []int{4, 4})
			j, word = result(t, scene{}.begin(t), 5, 6)
			eq(t, "result", word, "from_out")
			eq(t, "food", food(j), "[d4]")
			eq(t, "hit points", hp(j), []int{3, 3})
			eq(t, "hungry rounds", j.StarvingRounds, 0)
		},
		"DDW-FORAGE-06 at d20 there is a second die": func(t *testing.T) {
			j, word := result(t, scene{food: []int{20}}.begin(t), 17, 6, 6)
			eq(t, "result", word, "added_die")
			eq(t, "food", food(j), "[d20,d4]")
			none := map[string]any{"forage.at_d20": "no_gain"}
			j, word = result(t, scene{params: none, food: []int{20}}.begin(t), 17, 6, 6)
			eq(t, "result with no_gain", word, "at_max")
			eq(t, "food with no_gain", food(j), "[d20]")
			_, word = result(t, scene{food: []int{20, 20}}.begin(t), 17, 6, 6)
			eq(t, "result at two d20", word, "at_max")
		},
		"DDW-FORAGE-07 the raise needs room": func(t *testing.T) {
			members := people(2, gear(9))
			j, word := result(t, scene{members: members, food: []int{8}}.begin(t), 5, 6, 6)
			eq(t, "result", word, "no_room")
			eq(t, "food", food(j), "[d8]")
			members[0].FoodSlots, members[1].FoodSlots = 2, 1
			j, word = result(t, scene{members: members, food: []int{8}}.begin(t), 5, 6, 6)
			eq(t, "result with a slot held spare", word, "raised")
			eq(t, "food with a slot held spare", food(j), "[d10]")
		},
	}.run(t)
}

func starving(t *testing.T, params map[string]any, members ...Member) Journey {
	t.Helper()
	return scene{params: params, members: members}.begin(t)
}

func body(name string, hp, str int) Member {
	return Member{Name: name, HP: hp, HPMax: max(hp, 6), STR: str, STRMax: max(str, 10), Capacity: 10}
}

func TestHunger(t *testing.T) {
	t.Parallel()
	deprived := map[string]any{"starve.variant": "deprived"}
	drain := map[string]any{"starve.variant": "drain"}
	rules{
		"DDW-STARVE-01 each hungry round costs a point": func(t *testing.T) {
			j := starving(t, nil, body("Ada", 4, 9), body("Bren", 5, 9), body("Cole", 3, 9), body("Dorrit", 6, 9))
			for _, c := range []Command{Move{To: Hex{3, 1}, Via: RouteTerrain}, Search{}} {
				after, _ := do(t, j, c, 6)
				eq(t, "hit points", hp(after), []int{3, 4, 2, 5})
				eq(t, "hungry rounds", after.StarvingRounds, 1)
			}
			after, _ := do(t, j, Forage{}, 1, 6)
			eq(t, "hit points after foraging", hp(after), []int{3, 4, 2, 5})
		},
		"DDW-STARVE-02 hit points first, then strength": func(t *testing.T) {
			j, _ := do(t, starving(t, nil, body("Ada", 0, 9), body("Bren", 0, 1)), Search{}, 6)
			eq(t, "strength", str(j), []int{8, 0})
			eq(t, "dead", []bool{j.Members[0].Dead, j.Members[1].Dead}, []bool{false, true})
			j, _ = do(t, starving(t, map[string]any{"starve.damage": 3}, body("Ada", 1, 9)), Search{}, 6)
			eq(t, "one of three is hit points", [2]int{j.Members[0].HP, j.Members[0].STR}, [2]int{0, 7})
		},
		"DDW-STARVE-03 the round that empties the die was fed": func(t *testing.T) {
			j, _ := do(t, scene{food: []int{4}}.begin(t), Search{}, 1, 6)
			eq(t, "food", food(j), "[]")
			eq(t, "hit points", hp(j), []int{4, 4})
			j, _ = do(t, j, Search{}, 6)
			eq(t, "next round", hp(j), []int{3, 3})
			same := scene{params: map[string]any{"starve.starts": "same_round"}, food: []int{4}}.begin(t)
			after, _ := do(t, same, Search{}, 1, 6)
			eq(t, "same round", hp(after), []int{3, 3})
			after, _ = do(t, same, Search{}, 3, 6)
			eq(t, "same round, still fed", hp(after), []int{4, 4})
		},
		"DDW-STARVE-04 no usage die without food": func(t *testing.T) {
			j, move := into(t, "swamp")
			_, dice := rolls(t, j, move, 5)
			eq(t, "dice", dice, "d6")
		},
		"DDW-STARVE-05 deprivation tires every third round": func(t *testing.T) {
			j := starving(t, deprived, body("Ada", 2, 9), body("Bren", 4, 9))
			for round, want := range []int{0, 0, 1, 1, 1, 2} {
				j, _ = do(t, j, Search{}, 6)
				eq(t, "Fatigue", tired(j), []int{want, want})
				eq(t, "hungry rounds", j.StarvingRounds, round+1)
			}
			eq(t, "hit points", hp(j), []int{2, 4})
			refuse(t, j, Rest{}, "deprived")
		},
		"DDW-STARVE-06 the drain": func(t *testing.T) {
			j := starving(t, drain, body("Ada", 5, 9), body("Bren", 4, 8), body("Cole", 0, 1))
			j, dice := rolls(t, j, Search{}, 1, 4, 6)
			eq(t, "dice", dice, "d4 d4 d6")
			eq(t, "hit points", hp(j), []int{4, 0, 0})
			eq(t, "strength", str(j), []int{9, 8, 0})
			eq(t, "Cole is dead", j.Members[2].Dead, true)
			j, dice = rolls(t, j, Search{}, 4, 6)
			eq(t, "dice of the second round", dice, "d4 d6")
			eq(t, "strength after the second round", str(j), []int{9, 7, 0})
			j, _ = do(t, starving(t, drain, body("Ada", 2, 9)), Search{}, 4, 6)
			eq(t, "the excess is lost", [2]int{j.Members[0].HP, j.Members[0].STR}, [2]int{0, 9})
			refuse(t, j, Rest{}, "deprived")
		},
		"DDW-STARVE-07 Fatigue takes an emptied food slot": func(t *testing.T) {
			ada, bren := body("Ada", 4, 9), body("Bren", 4, 9)
			ada.Gear, ada.FoodSlots, bren.Gear = 9, 1, 10
			j := starving(t, deprived, ada, bren)
			for range 3 {
				j, _ = do(t, j, Search{}, 6)
			}
			eq(t, "food slots", held(j), []int{0, 0})
			eq(t, "Fatigue", tired(j), []int{1, 1})
			eq(t, "used", ofMembers(j, j.SlotsUsed), []int{10, 11})
			eq(t, "Bren is overloaded", j.Overloaded(j.Members[1]), true)
			roomy := body("Ada", 4, 9)
			roomy.Gear, roomy.FoodSlots = 8, 1
			j = starving(t, deprived, roomy)
			for range 3 {
				j, _ = do(t, j, Search{}, 6)
			}
			eq(t, "a free slot is taken first", [2]int{j.Members[0].FoodSlots, j.Members[0].Fatigue}, [2]int{1, 1})
		},
		"DDW-STARVE-08 food sets the count back": func(t *testing.T) {
			j := starving(t, deprived, body("Ada", 4, 9))
			j, _ = do(t, j, Search{}, 6)
			j, _ = do(t, j, Search{}, 6)
			j, _ = do(t, j, Forage{}, 5, 6) // the third hungry round tires, then there is food
			eq(t, "Fatigue stays", tired(j), []int{1})
			eq(t, "hungry rounds", j.StarvingRounds, 0)
			j, _ = do(t, j, Search{}, 1, 6)
			j, _ = do(t, j, Search{}, 6)
			eq(t, "hungry rounds anew", j.StarvingRounds, 1)
			eq(t, "Fatigue", tired(j), []int{1})
			j = scene{params: deprived, inside: "tallowick", gold: 10, hungry: 2}.begin(t)
			j, _ = do(t, j, BuyFood{Steps: 1})
			eq(t, "buying counts too", j.StarvingRounds, 0)
		},
		"DDW-STARVE-09 nobody recovers without food": func(t *testing.T) {
			hurt := body("Ada", 2, 7)
			hurt.Fatigue = 2
			for _, variant := range []string{"damage", "deprived", "drain"} {
				for stops, blocked := range map[string]bool{"every_variant": true, "alternatives": variant != "damage"} {
					params := map[string]any{"starve.variant": variant, "starve.stops_recovery": stops}
					j := scene{params: params, inside: "tallowick", members: []Member{hurt}, gold: 10}.begin(t)
					eq(t, variant, j.NoRecovery(), blocked)
					if blocked {
						refuse(t, j, Rest{}, "deprived")
						refuse(t, j, Rest{Long: true}, "deprived")
						j, _ = do(t, j, BuyFood{Steps: 1})
					}
					rested, dice := rolls(t, j, Rest{})
					eq(t, "dice", dice, "")
					eq(t, "rested", rested.Members[0], func() Member { m := j.Members[0]; m.HP = 6; return m }())
					eq(t, "round", rested.Round, j.Round)
					long, _ := do(t, j, Rest{Long: true})
					eq(t, "long", [3]int{long.Members[0].HP, long.Members[0].STR, long.Members[0].Fatigue}, [3]int{6, 10, 0})
				}
			}
			refuse(t, starving(t, nil, hurt), Rest{Long: true}, "not_settlement")
			dead, _ := do(t, scene{members: people(2), food: []int{8}}.begin(t), Harm{Name: "Ada", HP: 4, STR: 10})
			dead, _ = do(t, dead, Rest{})
			eq(t, "the dead do not rest", hp(dead), []int{0, 4})
		},
		"DDW-STARVE-10 the action ends with the last member": func(t *testing.T) {
			for _, c := range []Command{Forage{}, Search{}, Move{To: Hex{3, 1}}} {
				j, events := do(t, starving(t, map[string]any{"search.success_min": 2}, body("Ada", 0, 1)), c)
				eq(t, "living", j.Living(), 0)
				eq(t, "a result", has[Foraged](events) || has[LocationsFound](events) || has[EncounterChecked](events), false)
			}
		},
	}.run(t)
}
