package diedrop

import "testing"

func TestMoving(t *testing.T) {
	t.Parallel()
	rules{
		"DDW-MOVE-01 plains take one die": func(t *testing.T) {
			j, move := into(t, "plains", 8)
			j, dice := rolls(t, j, move, 2, 6)
			eq(t, "dice", dice, "d8 d6")
			eq(t, "food", food(j), "[d6]")
		},
		"DDW-MOVE-02 other terrain takes two, the lowest counts": func(t *testing.T) {
			for _, terrain := range []string{"hills", "forest", "canyon", "lake", "other"} {
				j, move := into(t, terrain, 8)
				low, dice := rolls(t, j, move, 7, 2, 6)
				eq(t, terrain, dice, "d8 d8 d6")
				eq(t, terrain, food(low), "[d6]")
				high, _ := do(t, j, move, 3, 8, 6)
				eq(t, terrain, food(high), "[d8]")
			}
		},
		"DDW-MOVE-03 swamp and mountain take three": func(t *testing.T) {
			for _, terrain := range []string{"swamp", "mountain"} {
				j, move := into(t, terrain, 8)
				j, dice := rolls(t, j, move, 5, 8, 1, 6)
				eq(t, terrain, dice, "d8 d8 d8 d6")
				eq(t, terrain, food(j), "[d6]")
			}
		},
		"DDW-MOVE-04 the hex entered counts": func(t *testing.T) {
			j := scene{world: row("mountain", "plains"), at: &Hex{0, 0}, food: []int{8}}.begin(t)
			_, dice := rolls(t, j, Move{To: Hex{1, 0}}, 5, 6)
			eq(t, "dice", dice, "d8 d6")
		},
		"DDW-MOVE-05 to one of six neighbours, from outdoors": func(t *testing.T) {
			j := scene{at: &Hex{3, 3}, food: []int{8}}.begin(t)
			for _, step := range []Hex{{1, 0}, {1, -1}, {0, -1}, {-1, 0}, {-1, 1}, {0, 1}} {
				to := Hex{3 + step.Q, 3 + step.R}
				next, err := Decide(j, Move{To: to}, scripted())
				if err != nil {
					t.Errorf("%v: %v", to, err)
				}
				moved, _ := find[Moved](next)
				eq(t, "hex", moved.To, to)
			}
			for _, to := range []Hex{{3, 3}, {4, 4}, {2, 2}, {5, 3}, {3, 5}} {
				refuse(t, j, Move{To: to}, "not_adjacent")
			}
			refuse(t, scene{at: &Hex{1, 2}}.begin(t), Move{To: Hex{5, 5}}, "not_adjacent")
			refuse(t, scene{at: &Hex{0, 0}}.begin(t), Move{To: Hex{-1, 0}}, "off_map")
			refuse(t, scene{inside: "sage-stone"}.begin(t), Move{To: Hex{4, 4}}, "inside_location")
		},
		"DDW-MOVE-06 a move is a round with a check": func(t *testing.T) {
			j, move := into(t, "plains", 8)
			after, dice := rolls(t, j, move, 5, 2)
			eq(t, "dice", dice, "d8 d6")
			eq(t, "round", after.Round, 1)
			eq(t, "hex", *after.Hex, Hex{1, 0})
			refuse(t, j, move, "bad_dice", 5)
		},
	}.run(t)
}

// along plays a move into a terrain by a road and returns the food and the dice.
func along(t *testing.T, terrain string, faces ...int) (string, string) {
	t.Helper()
	j := scene{world: withRoad(row("plains", terrain)), at: &Hex{0, 0}, food: []int{8}}.begin(t)
	j, dice := rolls(t, j, Move{To: Hex{1, 0}}, faces...)
	return food(j), dice
}

func via(t *testing.T, j Journey, c Move, faces ...int) Route {
	t.Helper()
	_, events := do(t, j, c, faces...)
	moved, _ := find[Moved](events)
	return moved.Via
}

func TestRoadsAndRivers(t *testing.T) {
	t.Parallel()
	rules{
		"DDW-ROAD-01 plains by road take two dice, the highest counts": func(t *testing.T) {
			got, dice := along(t, "plains", 1, 2, 6)
			eq(t, "food", got, "[d6]")
			eq(t, "dice", dice, "d8 d8 d6")
			got, _ = along(t, "plains", 1, 3, 6)
			eq(t, "food", got, "[d8]")
		},
		"DDW-ROAD-02 boating downstream likewise": func(t *testing.T) {
			j := scene{at: &Hex{3, 1}, boat: true, food: []int{10}}.begin(t)
			after, dice := rolls(t, j, Move{To: Hex{3, 2}, Via: RouteRiver}, 2, 2, 6)
			eq(t, "food", food(after), "[d8]")
			eq(t, "dice", dice, "d10 d10 d6")
			after, _ = do(t, j, Move{To: Hex{3, 2}}, 2, 3, 6)
			eq(t, "food", food(after), "[d10]")
		},
		"DDW-ROAD-03 what is a road and what a river": func(t *testing.T) {
			j := scene{at: &Hex{2, 3}, food: []int{8}}.begin(t)
			eq(t, "Carter's Way", via(t, j, Move{To: Hex{3, 3}}, 5, 5, 6), RouteRoad)
			eq(t, "leaving the road", via(t, j, Move{To: Hex{3, 3}, Via: RouteTerrain}, 5, 6), RouteTerrain)
			back := scene{at: &Hex{3, 3}, food: []int{8}}.begin(t)
			eq(t, "a road goes both ways", via(t, back, Move{To: Hex{2, 3}, Via: RouteRoad}, 5, 6), RouteRoad)
			eq(t, "river without a boat", via(t, back, Move{To: Hex{3, 4}}, 5, 5, 6), RouteTerrain)
			refuse(t, back, Move{To: Hex{3, 4}, Via: RouteRiver}, "bad_route")
			refuse(t, back, Move{To: Hex{3, 4}, Via: RouteRoad}, "bad_route")
			boat := scene{at: &Hex{3, 3}, food: []int{8}, boat: true}.begin(t)
			eq(t, "river with a boat", via(t, boat, Move{To: Hex{3, 4}, Via: RouteAuto}, 5, 6), RouteRiver)
			// A hex of the road that is not next on it: no road leads there.
			refuse(t, scene{at: &Hex{3, 2}}.begin(t), Move{To: Hex{3, 3}, Via: RouteRoad}, "bad_route")
		},
		"DDW-ROAD-04 upstream gives nothing": func(t *testing.T) {
			j := scene{at: &Hex{3, 4}, boat: true, food: []int{8}}.begin(t)
			after, dice := rolls(t, j, Move{To: Hex{3, 3}}, 5, 6)
			eq(t, "dice", dice, "d8 d6")
			eq(t, "food", food(after), "[d8]")
			refuse(t, j, Move{To: Hex{3, 3}, Via: RouteRiver}, "bad_route")
		},
		"DDW-ROAD-05 three lowest become two": func(t *testing.T) {
			for _, terrain := range []string{"mountain", "swamp"} {
				got, dice := along(t, terrain, 6, 2, 6)
				eq(t, terrain, got, "[d6]")
				eq(t, terrain, dice, "d8 d8 d6")
			}
		},
		"DDW-ROAD-06 two lowest become one": func(t *testing.T) {
			for _, terrain := range []string{"hills", "forest", "canyon", "lake", "other"} {
				got, dice := along(t, terrain, 3, 6)
				eq(t, terrain, got, "[d8]")
				eq(t, terrain, dice, "d8 d6")
			}
		},
		"DDW-ROAD-07 road and river together are one of them": func(t *testing.T) {
			world := withRoad(row("plains", "swamp"))
			world.Rivers = world.route()
			j := scene{world: world, at: &Hex{0, 0}, boat: true, food: []int{8}}.begin(t)
			for asked, want := range map[Route]Route{RouteAuto: RouteRoad, RouteRoad: RouteRoad, RouteRiver: RouteRiver} {
				eq(t, string(asked), via(t, j, Move{To: Hex{1, 0}, Via: asked}, 6, 6, 6), want)
			}
			j, _ = do(t, j, Move{To: Hex{1, 0}}, 6, 2, 6)
			eq(t, "food", food(j), "[d6]")
		},
	}.run(t)
}

func TestSearching(t *testing.T) {
	t.Parallel()
	found := func(t *testing.T, j Journey, faces ...int) (Journey, []string) {
		t.Helper()
		next, events := do(t, j, Search{}, faces...)
		f, _ := find[LocationsFound](events)
		return next, f.Locations
	}
	rules{
		"DDW-SEARCH-01 hidden places have to be found": func(t *testing.T) {
			do(t, scene{at: &Hex{5, 1}, food: []int{8}}.begin(t), Enter{"cinderglass"}, 5)
			j := scene{at: &Hex{2, 4}, food: []int{8}}.begin(t)
			refuse(t, j, Enter{"orlo"}, "not_discovered")
			j, _ = found(t, j, 5, 5, 6)
			do(t, j, Enter{"orlo"}, 5)
			refuse(t, j, Enter{"nowhere"}, "unknown_location")
			refuse(t, j, Enter{"tallowick"}, "not_here")
		},
		"DDW-SEARCH-02 the terrain's check, whatever roads there are": func(t *testing.T) {
			for terrain, want := range map[string]string{"plains": "d8 d6", "forest": "d8 d8 d6", "swamp": "d8 d8 d8 d6"} {
				j := scene{world: withRoad(row(terrain, "plains")), at: &Hex{0, 0}, food: []int{8}}.begin(t)
				j, dice := rolls(t, j, Search{}, []int{3, 4, 5, 6}[4-(len(want)+1)/3:]...)
				eq(t, terrain, dice, want)
				eq(t, terrain, food(j), "[d8]")
			}
		},
		"DDW-SEARCH-03 a search succeeds": func(t *testing.T) {
			j := scene{at: &Hex{2, 4}, food: []int{8}}.begin(t)
			_, places := found(t, j, 3, 4, 4)
			eq(t, "found", places, []string{"orlo"})
			doubt := scene{params: map[string]any{"search.success_min": 4}, at: &Hex{3, 1}, food: []int{8}}.begin(t)
			_, places = found(t, doubt, 5, 3, 6)
			eq(t, "below 4", len(places), 0)
			_, places = found(t, doubt, 5, 4, 6)
			eq(t, "4", places, []string{"lantern-spring"})
		},
		"DDW-SEARCH-04 the first hidden place in map order": func(t *testing.T) {
			j := scene{at: &Hex{2, 4}, food: []int{8}}.begin(t)
			for i, want := range [][]string{{"orlo"}, {"silkloft"}, nil} {
				var places []string
				j, places = found(t, j, 5, 5, 6)
				eq(t, "found", places, want)
				eq(t, "round", j.Round, i+1)
			}
			eq(t, "discovered", j.Discovered, []string{"orlo", "silkloft"})
		},
		"DDW-SEARCH-05 a search is a round": func(t *testing.T) {
			j, dice := rolls(t, scene{}.begin(t), Search{}, 6)
			eq(t, "dice", dice, "d6")
			eq(t, "hit points", hp(j), []int{3, 3})
			eq(t, "round", j.Round, 1)
			refuse(t, scene{inside: "sage-stone"}.begin(t), Search{}, "inside_location")
		},
	}.run(t)
}

func TestEntering(t *testing.T) {
	t.Parallel()
	rules{
		"DDW-ENTER-01 one die whatever the terrain": func(t *testing.T) {
			j := scene{at: &Hex{1, 0}, food: []int{12}}.begin(t)
			_, dice := rolls(t, j, Enter{"pennard-delve"}, 5)
			eq(t, "dice", dice, "d12")
			j, _ = do(t, j, Enter{"pennard-delve"}, 2)
			eq(t, "food", food(j), "[d10]")
			refuse(t, j, Enter{"pennard-delve"}, "inside_location")
		},
		"DDW-ENTER-02 it covers the whole stay": func(t *testing.T) {
			j := scene{at: &Hex{1, 0}, food: []int{12}, light: &Light{Lantern, 12}}.begin(t)
			j, _ = do(t, j, Enter{"pennard-delve"}, 5)
			j, _ = do(t, j, TakeTurn{Trigger: TriggerRoom, To: "adit"}, 5, 6)
			for range 9 {
				var dice string
				j, dice = rolls(t, j, TakeTurn{Trigger: TriggerActivity}, 5, 6)
				eq(t, "light and check, no food", dice, "d12 d6")
			}
			eq(t, "turns", j.Turn, 10)
			eq(t, "rounds", j.Round, 0)
			j, _ = do(t, j, Leave{})
			_, dice := rolls(t, j, Enter{"pennard-delve"}, 5)
			eq(t, "entering again", dice, "d12")
		},
		"DDW-ENTER-03 settlements cost no roll": func(t *testing.T) {
			j := scene{at: &Hex{1, 2}, food: []int{12}}.begin(t)
			j, _ = do(t, j, Enter{"tallowick"})
			eq(t, "inside", j.Inside, "tallowick")
		},
		"DDW-ENTER-04 entering is no round": func(t *testing.T) {
			j := scene{at: &Hex{4, 3}}.begin(t)
			j, events := do(t, j, Enter{"sage-stone"})
			eq(t, "hit points", hp(j), []int{4, 4})
			eq(t, "round", j.Round, 0)
			eq(t, "a check", has[EncounterChecked](events), false)
			fedJ := scene{at: &Hex{4, 3}, food: []int{8}}.begin(t)
			_, dice := rolls(t, fedJ, Enter{"sage-stone"}, 5)
			eq(t, "dice", dice, "d8")
		},
	}.run(t)
}
