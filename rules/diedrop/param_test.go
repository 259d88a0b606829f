package diedrop

import (
	"errors"
	"maps"
	"strings"
	"testing"
)

// attempt plays commands whose dice show these faces and then always the highest; only the last command may be refused.
// It returns the state and the dice of the last one, or the refusal.
func attempt(t *testing.T, j Journey, faces []int, commands ...Command) (Journey, string) {
	t.Helper()
	for i, c := range commands {
		last := i == len(commands)-1
		dice := scripted()
		if last {
			dice = scripted(faces...)
		}
		events, err := Decide(j, c, dice)
		if err != nil && last {
			code, _, _ := strings.Cut(err.Error(), ":")
			return j, code
		}
		if err = errors.Join(err, dice.Close()); err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			j = Apply(j, e)
		}
		if last {
			var out []string
			for _, d := range dice.Rolled() {
				out = append(out, dieName(d.Sides))
			}
			return j, strings.Join(out, " ")
		}
	}
	return j, ""
}

type probe struct {
	// value overrides the parameter; base holds for both runs.
	value any
	base  map[string]any
	// look plays something and tells what there is to see: by default, and with the parameter overridden.
	look           func(t *testing.T, s scene) any
	usual, changed any
}

func TestEveryParameterMatters(t *testing.T) {
	t.Parallel()
	state := func(world *Map, food []int, see func(j Journey, dice string) any, faces []int, commands ...Command) func(*testing.T, scene) any {
		return func(t *testing.T, s scene) any {
			t.Helper()
			s.food, s.world = food, world
			if world != nil {
				s.at = &Hex{0, 0}
			}
			return see(attempt(t, s.begin(t), faces, commands...))
		}
	}
	dice := func(_ Journey, dice string) any { return dice }
	fed := func(j Journey, _ string) any { return food(j) }
	health := func(j Journey, _ string) any { return hp(j)[0] }
	town := func(gold int, food []int, see func(j Journey, dice string) any, commands ...Command) func(*testing.T, scene) any {
		return func(t *testing.T, s scene) any {
			t.Helper()
			s.inside, s.gold, s.food = "tallowick", gold, food
			return see(attempt(t, s.begin(t), nil, commands...))
		}
	}
	mine := func(light *Light, see func(j Journey, dice string) any, faces []int, commands ...Command) func(*testing.T, scene) any {
		return func(t *testing.T, s scene) any {
			t.Helper()
			s.inside, s.light, s.members = "pennard-delve", light, people(1, func(m *Member) { m.Torches = 1 })
			return see(attempt(t, s.begin(t), faces, append([]Command{enterRoom("adit")}, commands...)...))
		}
	}
	gold := func(j Journey, _ string) any { return j.Gold }
	torch := &Light{Torch, 8}
	river := row("plains", "plains", "plains")
	river.Rivers = river.route()
	stream := row("plains", "plains")
	stream.Rivers = []Path{{ID: "back", Name: "A stream", Path: []Hex{{1, 0}, {0, 0}}}}
	prepare := PrepareRemains{Count: 1, Carrier: "Ada"}
	remains := func(food []int, see func(j Journey, dice string) any) func(*testing.T, scene) any {
		return func(t *testing.T, s scene) any {
			t.Helper()
			s.food = food
			return see(attempt(t, snakes(t, s, 2), nil, prepare))
		}
	}
	meet := Search{}
	drain := map[string]any{"starve.variant": "drain"}
	three := []Command{Search{}, Search{}, Search{}}
	table := map[string][]probe{
		"use.step_down_max":     {{value: 3, look: state(nil, []int{8}, fed, []int{3}, Search{}), usual: "[d8]", changed: "[d6]"}},
		"food.max_dice":         {{value: 1, look: state(nil, []int{20}, fed, []int{9, 6}, Forage{}), usual: "[d20,d4]", changed: "[d20]"}},
		"food.second_die_order": {{value: "oldest_first", look: state(nil, []int{20, 6}, dice, nil, Search{}), usual: "d6 d6", changed: "d20 d6"}},
		"food.slot_release":     {{value: "eager", look: state(nil, []int{12}, func(j Journey, _ string) any { return j.SlotsHeld() }, []int{1}, Search{}), usual: 4, changed: 3}},
		"buy.minimum_applies":   {{value: "per_purchase", look: town(50, []int{4}, gold, BuyFood{2}), usual: 40, changed: 45}},
		"buy.gold_per_slot":     {{value: 0, look: town(50, []int{4}, gold, BuyFood{2}), usual: 40, changed: 50}},
		"buy.torch_gold":        {{value: 7, look: town(50, nil, gold, BuyGear{ItemTorch, 2, "Ada"}), usual: 44, changed: 36}},
		"buy.oil_gold":          {{value: 7, look: town(50, nil, gold, BuyGear{ItemOil, 2, "Ada"}), usual: 38, changed: 36}},
		"buy.lantern_gold":      {{value: 7, look: town(50, nil, gold, BuyGear{Item: ItemLantern}), usual: 30, changed: 43}},
		"buy.boat_gold":         {{value: 7, look: town(50, nil, gold, BuyGear{Item: ItemBoat}), usual: 0, changed: 43}},
		"party.newcomer_food":   {{value: "own", look: town(0, []int{8}, fed, AddMember{Newcomer{Name: "Mabyn", HP: 1, STR: 1}}), usual: "[d6]", changed: "[d8]"}},
		"river.needs_boat":      {{value: false, look: state(river, []int{8}, dice, nil, Move{To: Hex{1, 0}}), usual: "d8 d6", changed: "d8 d8 d6"}},
		"river.upstream":        {{value: "as_downstream", base: map[string]any{"river.needs_boat": false}, look: state(stream, []int{8}, dice, nil, Move{To: Hex{1, 0}}), usual: "d8 d6", changed: "d8 d8 d6"}},
		"search.road_applies":   {{value: true, look: state(withRoad(row("forest", "plains")), []int{8}, dice, nil, Search{}), usual: "d8 d8 d6", changed: "d8 d6"}},
		"search.reveals": {{value: "all", look: func(t *testing.T, s scene) any {
			s.at = &Hex{2, 4}
			return foundBy(attempt(t, s.begin(t), nil, Search{}))
		}, usual: "orlo", changed: "orlo silkloft"}},
		"search.success_min": {{value: 4, look: func(t *testing.T, s scene) any {
			s.at = &Hex{2, 4}
			return foundBy(attempt(t, s.begin(t), []int{3}, Search{}))
		}, usual: "orlo", changed: ""}},
		"enter.dice": {{value: 3, look: func(t *testing.T, s scene) any {
			s.at, s.food = &Hex{4, 3}, []int{8}
			return dice(attempt(t, s.begin(t), nil, Enter{"sage-stone"}))
		}, usual: "d8", changed: "d8 d8 d8"}},
		"enter.settlement_rolls": {{value: true, look: func(t *testing.T, s scene) any {
			s.at, s.food = &Hex{1, 2}, []int{8}
			return dice(attempt(t, s.begin(t), nil, Enter{"tallowick"}))
		}, usual: "", changed: "d8"}},
		"forage.road_applies":        {{value: true, look: state(river, []int{8}, dice, nil, Forage{}), usual: "d8 d6 d6", changed: "d8 d8 d6 d6"}},
		"forage.success_min":         {{value: 6, look: state(nil, []int{8}, fed, []int{8, 5}, Forage{}), usual: "[d10]", changed: "[d8]"}},
		"forage.when_out":            {{value: "no_gain", look: state(nil, nil, fed, nil, Forage{}), usual: "[d4]", changed: "[]"}},
		"forage.at_d20":              {{value: "no_gain", look: state(nil, []int{20}, fed, nil, Forage{}), usual: "[d20,d4]", changed: "[d20]"}},
		"starve.variant":             {{value: "deprived", look: state(nil, nil, health, nil, Search{}), usual: 3, changed: 4}, {value: "drain", look: state(nil, nil, health, []int{3, 4}, Search{}), usual: 3, changed: 1}},
		"starve.starts":              {{value: "same_round", look: state(nil, []int{4}, health, []int{1}, Search{}), usual: 4, changed: 3}},
		"starve.damage":              {{value: 3, look: state(nil, nil, health, nil, Search{}), usual: 3, changed: 1}},
		"starve.rounds_per_day":      {{value: 1, base: map[string]any{"starve.variant": "deprived"}, look: state(nil, nil, func(j Journey, _ string) any { return tired(j)[0] }, nil, three...), usual: 1, changed: 3}},
		"starve.drain_die":           {{value: 6, base: drain, look: state(nil, nil, dice, nil, Search{}), usual: "d4 d4 d6", changed: "d6 d6 d6"}},
		"starve.drain_per":           {{value: "party", base: drain, look: state(nil, nil, dice, nil, Search{}), usual: "d4 d4 d6", changed: "d4 d6"}},
		"starve.stops_recovery":      {{value: "alternatives", look: state(nil, nil, dice, nil, Rest{}), usual: "DEPRIVED", changed: ""}},
		"enc.check_max":              {{value: 0, look: state(nil, nil, dice, []int{1}, meet), usual: "d6 d4 d4 d4 d6 d6", changed: "d6"}, {value: 6, look: state(nil, nil, dice, []int{6}, meet), usual: "d6", changed: "d6 d4 d4 d4 d6 d6"}},
		"enc.number_die":             {{value: "d6", look: state(nil, nil, dice, []int{1}, meet), usual: "d6 d4 d4 d4 d6 d6", changed: "d6 d4 d4 d6 d6 d6"}, {value: "d4", look: state(nil, nil, dice, []int{1, 2, 3}, meet), usual: "d6 d4 d4 d6 d6 d6", changed: "d6 d4 d4 d4 d6 d6"}},
		"enc.reaction":               {{value: false, look: state(nil, nil, dice, []int{1}, meet), usual: "d6 d4 d4 d4 d6 d6", changed: "d6 d4 d4 d4"}},
		"enc.gold":                   {{value: false, look: state(nil, nil, dice, []int{1, 1, 1, 1}, meet), usual: "d6 d4 d4 d6 d6 d6 d4", changed: "d6 d4 d4 d6 d6 d6"}},
		"enc.gold_die":               {{value: 8, look: state(nil, nil, dice, []int{1, 1, 1, 1}, meet), usual: "d6 d4 d4 d6 d6 d6 d4", changed: "d6 d4 d4 d6 d6 d6 d8"}},
		"remains.usage":              {{value: "none", look: remains([]int{8}, dice), usual: "d8 d8", changed: ""}},
		"remains.starvation":         {{value: false, look: remains(nil, health), usual: 2, changed: 3}},
		"remains.encounter":          {{value: true, look: remains([]int{8}, dice), usual: "d8 d8", changed: "d8 d8 d6"}},
		"remains.slots":              {{value: 3, look: remains([]int{8}, func(j Journey, _ string) any { return j.SlotsUsed(j.Members[0]) }), usual: 2, changed: 4}},
		"site.number_die":            {{value: "d4", look: mine(torch, dice, []int{8, 1, 3}, activity), usual: "d8 d6 d6 d6 d6 d6", changed: "d8 d6 d6 d4 d6 d6"}},
		"turn.check_max":             {{value: 0, look: mine(torch, dice, []int{8, 1, 3}, activity), usual: "d8 d6 d6 d6 d6 d6", changed: "d8 d6"}},
		"dark.check_max":             {{value: 2, base: map[string]any{"dark.other_activity": "allow"}, look: mine(nil, dice, []int{3, 3}, activity), usual: "d6 d6 d6 d6 d6", changed: "d6"}},
		"dark.starts":                {{value: "same_turn", base: map[string]any{"light.auto_replace": false}, look: mine(&Light{Torch, 4}, dice, []int{1, 3, 3}, activity), usual: "d4 d6", changed: "d4 d6 d6 d6 d6 d6"}},
		"dark.other_activity":        {{value: "allow", look: mine(nil, dice, nil), usual: "TOO_DARK", changed: "d6"}},
		"light.torch_die":            {{value: 20, look: town(50, nil, func(j Journey, _ string) any { return j.Light.Sides }, BuyGear{ItemTorch, 1, "Ada"}, LightUp{Torch}), usual: 8, changed: 20}},
		"light.lantern_die":          {{value: 20, look: town(50, nil, func(j Journey, _ string) any { return j.Light.Sides }, BuyGear{Item: ItemLantern}, BuyGear{ItemOil, 1, "Ada"}, LightUp{Lantern}), usual: 12, changed: 20}},
		"light.auto_replace":         {{value: false, look: mine(&Light{Torch, 4}, func(j Journey, _ string) any { return j.Dark() }, []int{1, 6}, activity), usual: false, changed: true}},
		"mission.outset":             {{value: 5, look: state(nil, nil, dice, []int{1, 2, 3, 4}, RollMissions{Count: 4}), usual: "d20 d20 d20 d20", changed: "TOO_FEW_MISSIONS"}},
		"mission.duplicates":         {{value: "keep", look: state(nil, nil, dice, []int{1, 1, 2, 3}, RollMissions{Count: 3}), usual: "d20 d20 d20 d20", changed: "d20 d20 d20"}},
		"mission.used":               {{value: "keep", base: map[string]any{"mission.duplicates": "keep"}, look: state(nil, nil, dice, []int{20, 2}, RollMissions{Count: 3}, UseMission{Number: 20}, RollMissions{Count: 1}), usual: "d20 d20", changed: "d20"}},
		"inventory.slots_per_member": {{value: 14, look: func(t *testing.T, s scene) any { return Newcomer{Name: "Mabyn"}.Member(s.start(t).Ruleset).Capacity }, usual: 10, changed: 14}},
	}
	for name := range Default().Params {
		if _, ok := table[name]; !ok {
			t.Errorf("%s is not probed", name)
		}
	}
	for name, probes := range table {
		for _, p := range probes {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s := scene{params: p.base}
				eq(t, "by default", p.look(t, s), p.usual)
				s.params = maps.Clone(p.base)
				if s.params == nil {
					s.params = map[string]any{}
				}
				s.params[name] = p.value
				eq(t, "overridden", p.look(t, s), p.changed)
			})
		}
	}
}

func foundBy(j Journey, _ string) any { return strings.Join(j.Discovered, " ") }
