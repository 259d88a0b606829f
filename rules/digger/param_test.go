package digger

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// variant returns the shipped ruleset with values at paths of its document.
func variant(t *testing.T, values map[string]any) *Ruleset {
	t.Helper()
	var doc map[string]any
	if err := json.Unmarshal(DefaultDocument(), &doc); err != nil {
		t.Fatal(err)
	}
	for path, v := range values {
		keys, object := strings.Split(path, "."), doc
		for _, key := range keys[:len(keys)-1] {
			object = object[key].(map[string]any) //nolint:forcetypeassert // a wrong path is a wrong test
		}
		object[keys[len(keys)-1]] = v
	}
	rs, err := ParseRuleset([]byte(mustJSON(t, doc)))
	if err != nil {
		t.Fatal(err)
	}
	return rs
}

// leaves lists the paths of a document's values. Lists are values.
func leaves(v any, at string) []string {
	object, ok := v.(map[string]any)
	if !ok {
		return []string{at}
	}
	var out []string
	for _, key := range slices.Sorted(maps.Keys(object)) {
		out = append(out, leaves(object[key], join(at, key))...)
	}
	return out
}

// knob is one value of the ruleset with something that it changes.
type knob struct {
	value any
	// also is what has to change with it; base holds for both sides.
	also, base map[string]any
	// look tells what there is to see.
	look           func(t *testing.T, rs *Ruleset) any
	usual, changed any
}

// Every number and table of the ruleset is the one that the rules play by: with another value something else comes out.
func TestEveryParameterMatters(t *testing.T) {
	t.Parallel()
	type look = func(*testing.T, *Ruleset) any
	// A sheet after commands, and the code of the last one.
	sheet := func(chapter int, see func(s Sheet, env Env, code string) any, commands ...SheetCommand) look {
		return func(t *testing.T, rs *Ruleset) any {
			t.Helper()
			env, s, code := Env{Ruleset: rs, Chapter: chapter}, Sheet{}, ""
			for _, c := range append([]SheetCommand{CreateSheet{}}, commands...) {
				events, err := DecideSheet(s, c, env)
				if code = codeOf(t, err); code != "" {
					break
				}
				for _, e := range events {
					s = ApplySheet(s, e)
				}
			}
			return see(s, env, code)
		}
	}
	refusal := func(_ Sheet, _ Env, code string) any { return code }
	free := func(s Sheet, env Env, code string) any {
		if code != "" {
			return code
		}
		return s.Free(env, *s.Forms[0].Statblock)
	}
	slots := func(s Sheet, env Env, _ string) any { return s.Slots(env) }
	plain := func(id, ability string) Tool { return tool(id, ability, "minor") }
	buy := func(tools ...Tool) SheetCommand { return BuyTools{Tools: tools} }
	one := plain("one", "brute")
	// A run: what a round gives to members who enter with kits and act as uses say.
	round := func(level int, conditions []string, kits [][]Tool, uses map[string]string, see func(r Run, e Completed) any, faces ...int) look {
		return func(t *testing.T, rs *Ruleset) any {
			t.Helper()
			members := []Entrant{who("ada"), who("bram")}
			for i, kit := range kits {
				members[i] = who(members[i].ID, kit...)
			}
			return see(turn(t, begin(t, rs, deck(card(Entry, "brute", level, conditions...)), members...), uses, faces...))
		}
	}
	gains := func(_ Run, e Completed) any {
		var out []int
		for _, x := range e.Results {
			out = append(out, x.Gain)
		}
		return fmt.Sprint(out)
	}
	total := func(_ Run, e Completed) any { return e.Results[0].Total }
	passed := func(_ Run, e Completed) any { return e.Passed }
	gained := func(_ Run, e Completed) any { return e.ExplorationGain }
	tired := func(_ Run, e Completed) any { return e.Results[0].Exhaustion }
	calm := []string{"hesitate"} // touches neither brute nor exhaustion in its round
	risky := map[string]string{"ada": "!brute"}
	size := func(n int) look {
		return func(t *testing.T, rs *Ruleset) any {
			t.Helper()
			var members []Entrant
			for i := range n {
				members = append(members, who(fmt.Sprintf("m%d", i)))
			}
			_, _, code := try(t, Run{}, Enter{Ruleset: rs, Dungeon: deck(), Leader: "m0", Members: members})
			return code
		}
	}
	hint := func(n int) look { return func(_ *testing.T, rs *Ruleset) any { return rs.SizeHint(n) } }
	// What can be drawn next after so many rounds that are passed, or failed, by everybody.
	ahead := func(d *Dungeon, face int, rounds int) look {
		return func(t *testing.T, rs *Ruleset) any {
			t.Helper()
			r := begin(t, rs, d, who("ada"), who("bram"))
			for i := range rounds {
				if i > 0 {
					r = next(t, r)
				}
				r, _ = turn(t, r, nil, face, face)
			}
			ids, _ := r.Candidates()
			return fmt.Sprint(r.Outcome, ids)
		}
	}
	short := deck(card(Entry, "brute", 1), card(Normal, "brute", 1), card(Second, "brute", 1), card(Third, "brute", 1))
	ending := deck(card(Entry, "brute", 4), card(Normal, "brute", 4), card(Normal, "brute", 4), card(Climax, "brute", 4))
	knobs := map[string][]knob{
		"dp.cp_per_dp":                    {{value: 6, also: map[string]any{"dp.dp_at_creation": 40}, look: sheet(1, free), usual: 48, changed: 40}},
		"dp.cp_at_creation":               {{value: 100, also: map[string]any{"dp.dp_at_creation": 20}, look: sheet(1, free), usual: 48, changed: 20}},
		"dp.ability_cost":                 {{value: []int{0, 2, 3, 6, 10, 15, 21}, look: sheet(1, free, SetAbilities{Abilities: Abilities{Brute: 1}}), usual: 47, changed: 46}},
		"dp.ability_min":                  {{value: 2, look: sheet(1, refusal, SetAbilities{Abilities: Abilities{Brute: 1}}), usual: "", changed: RatingOutOfRange}},
		"dp.ability_max":                  {{value: 5, also: map[string]any{"dp.ability_cost": []int{0, 1, 3, 6, 10, 15}}, look: sheet(1, refusal, SetAbilities{Abilities: Abilities{Brute: 6}}), usual: "", changed: RatingOutOfRange}},
		"dp.ability_floor":                {{value: 4, look: round(1, []string{"weaken"}, nil, nil, total, 5, 5), usual: 7, changed: 9}},
		"tools.price_dp":                  {{value: 4, look: sheet(1, free, buy(one)), usual: 45, changed: 44}},
		"tools.application_bonus.enabled": {{value: false, look: sheet(1, free, buy(one, plain("two", "brute"))), usual: 45, changed: 42}},
		"tools.application_bonus.tools_for_one_price": {{value: 3, look: sheet(1, free, buy(one, plain("two", "brute"), plain("three", "brute"))), usual: 42, changed: 45}},
		"tools.tp_budget":       {{value: 3, look: sheet(1, refusal, buy(tool("one", "brute", "major", "improved"))), usual: "", changed: TPOverBudget}},
		"tools.allow_unused_tp": {{value: false, look: sheet(1, refusal, buy(one)), usual: "", changed: TPUnused}},
		"tools.max_drawbacks": {
			{value: 0, look: sheet(1, refusal, buy(tool("one", "brute", "minor", "sacrifice"))), usual: "", changed: TooManyDrawbacks},
			{value: 2, look: sheet(1, refusal, buy(Tool{ID: "one", Ability: "brute", Rating: "minor", Drawback: "sacrifice", Qualities: []string{"liability"}})), usual: TooManyDrawbacks, changed: ""},
			{value: 2, look: sheet(1, refusal, buy(Tool{ID: "one", Ability: "brute", Rating: "minor", Qualities: []string{"liability"}})), usual: UnknownQuality, changed: UnknownQuality},
			{value: 2, look: sheet(1, refusal, buy(Tool{ID: "one", Ability: "brute", Rating: "minor", Drawback: "sacrifice", Qualities: []string{"sacrifice"}})), usual: TooManyDrawbacks, changed: RepeatedQuality},
		},
		"tools.max_abilities_per_character": {{value: 1, look: sheet(1, refusal, buy(one, plain("two", "wits"))), usual: "", changed: TooManyToolAbilities}},
		"tools.repeat_quality":              {{value: true, look: sheet(1, refusal, buy(tool("one", "brute", "minor", "improved", "improved"))), usual: RepeatedQuality, changed: ""}},
		"belt.start_slots":                  {{value: 3, look: sheet(1, slots), usual: 2, changed: 3}},
		"belt.max_extra_slots":              {{value: 1, look: sheet(9, slots), usual: 5, changed: 3}},
		"belt.slots_per_chapter":            {{value: 2, look: sheet(2, slots), usual: 3, changed: 4}},
		"belt.first_chapter":                {{value: 2, look: sheet(2, slots), usual: 3, changed: 2}},
		"belt.early_slot_dp":                {{value: 9, look: sheet(1, free, BuySlot{}), usual: 41, changed: 39}},
		"belt.early_slot_dp_by_chapter.3":   {{value: 2, look: sheet(3, free, BuySlot{}), usual: 43, changed: 46}},
		"belt.early_slot_dp_by_chapter":     {{value: map[string]int{"1": 2}, look: sheet(1, free, BuySlot{}), usual: 41, changed: 46}},
		"belt.max_early_slots":              {{value: 2, look: sheet(1, refusal, BuySlot{}, BuySlot{}), usual: NoEarlySlot, changed: ""}},
		"belt.refund_at_next_chapter": {{value: false, look: func(_ *testing.T, rs *Ruleset) any {
			return Sheet{Early: []EarlySlot{{Chapter: 1, DP: 7}}}.EarlyDP(Env{Ruleset: rs, Chapter: 2})
		}, usual: 0, changed: 7}},
		"party.min_to_enter": {{value: 1, look: size(1), usual: TooFewMembers, changed: ""}},
		"party.max":          {{value: 3, look: size(4), usual: "", changed: PartyFull}},
		"party.recommended":  {{value: []int{4, 6}, look: hint(2), usual: OutsidePreferred, changed: OutsideRecommended}},
		"party.preferred":    {{value: []int{2, 4}, look: hint(2), usual: OutsidePreferred, changed: ""}},
		"flow.draw_requires_rotation": {{value: true, look: func(t *testing.T, rs *Ruleset) any {
			t.Helper()
			r, _ := turn(t, begin(t, rs, short, who("ada"), who("bram")), nil, 1, 1)
			_, _, code := try(t, r, Draw{Member: "ada"})
			return code
		}, usual: "", changed: NotYourDraw}},
		"flow.complete_requires_drawer": {{value: false, look: func(t *testing.T, rs *Ruleset) any {
			t.Helper()
			r := begin(t, rs, deck(), who("ada"), who("bram"))
			r, _ = do(t, r, Contribute{Member: "ada", Use: "brute"})
			r, _ = do(t, r, Contribute{Member: "bram", Use: "brute"})
			_, _, code := try(t, r, Complete{Member: "bram"}, 9, 9)
			return code
		}, usual: NotDrawer, changed: ""}},
		"flow.enter_requires_leader": {{value: false, look: func(t *testing.T, rs *Ruleset) any {
			t.Helper()
			_, _, code := try(t, Run{}, Enter{Ruleset: rs, Dungeon: deck(), Leader: "ada", Member: "bram", Members: []Entrant{who("ada"), who("bram")}})
			return code
		}, usual: NotLeader, changed: ""}},
		"flow.reshuffle_when_empty":    {{value: false, look: ahead(short, 1, 4), usual: "running[normal-1]", changed: "running[final-1]"}},
		"flow.climax_failure_retreats": {{value: true, base: map[string]any{"exploration.final_at": 20}, look: ahead(ending, 1, 3), usual: "running[final-1]", changed: LostRetreat + "[]"}},
		"challenge.levels": {{value: []int{1, 2, 3}, also: map[string]any{
			"challenge.tn": map[string]int{"1": 9, "2": 11, "3": 13}, "exploration.success": map[string]int{"1": 18, "2": 20, "3": 23},
			"exploration.failure": map[string]int{"1": 8, "2": 10, "3": 12}, "exhaustion.party_success": map[string]int{"1": 5, "2": 6, "3": 8},
			"exhaustion.party_failure": map[string]int{"1": 11, "2": 13, "3": 15}, "exhaustion.individual_failure": map[string]int{"1": 3, "2": 4, "3": 5},
			"type_profiles.ruin.level_mix": map[string]any{"1": 1}, "type_profiles.labyrinth.level_mix": map[string]any{"1": 1}, "type_profiles.abyss.level_mix": map[string]any{"1": 1},
			"type_profiles.abyss.final_level": 3,
		}, look: func(_ *testing.T, rs *Ruleset) any { return len(Check(rs, deck(card(Normal, "brute", 4)))) }, usual: 0, changed: 1}},
		"challenge.die": {{value: 6, look: func(t *testing.T, rs *Ruleset) any {
			t.Helper()
			r := begin(t, rs, deck(), who("ada"), who("bram"))
			for _, id := range []string{"ada", "bram"} {
				r, _ = do(t, r, Contribute{Member: id, Use: "brute"})
			}
			_, _, code := try(t, r, Complete{Member: "ada"}, 7, 7)
			return code
		}, usual: "", changed: "BAD_DICE"}},
		"exploration.final_at": {{value: 10, look: ahead(short, 9, 1), usual: "running[second-1]", changed: "running[final-1]"}},
		"exploration.goal": {{value: 70, look: func(t *testing.T, rs *Ruleset) any {
			t.Helper()
			r := begin(t, rs, short, who("ada"), who("bram"))
			r, _ = turn(t, r, nil, 9, 9)
			for r.Exploration < 70 {
				r, _ = turn(t, next(t, r), nil, 9, 9)
			}
			return r.Exploration
		}, usual: 92, changed: 70}},
		"exhaustion.out_at": {{value: 6, look: func(t *testing.T, rs *Ruleset) any {
			t.Helper()
			r, _ := turn(t, begin(t, rs, deck(card(Entry, "brute", 1, calm...)), who("ada"), who("bram")), nil, 10, 1)
			return len(r.Active())
		}, usual: 2, changed: 1}},
		"exhaustion.cap":        {{value: 12, base: map[string]any{"exhaustion.out_at": 12}, look: round(1, calm, nil, nil, tired, 1, 1), usual: 14, changed: 12}},
		"exhaustion.gain_floor": {{value: 2, look: round(1, []string{"wonder"}, nil, nil, gains, 9, 9), usual: "[0 0]", changed: "[2 2]"}},
		"risk.bonus":            {{value: 5, look: round(1, calm, nil, risky, total, 5, 5), usual: 11, changed: 14}},
		"risk.chance_die": {{value: 20, look: func(t *testing.T, rs *Ruleset) any {
			t.Helper()
			r := begin(t, rs, deck(card(Entry, "brute", 1, calm...)), who("ada"), who("bram"))
			r, _ = do(t, r, Contribute{Member: "ada", Use: "brute", Risk: true})
			r, _ = do(t, r, Contribute{Member: "bram", Use: "brute"})
			_, _, code := try(t, r, Complete{Member: "ada"}, 1, 9, 21)
			return code
		}, usual: "", changed: "BAD_DICE"}},
		"risk.chance_at_most":              {{value: 40, look: round(2, calm, nil, risky, gains, 1, 1, 50), usual: "[25 17]", changed: "[17 17]"}},
		"risk.extra_exhaustion":            {{value: 20, look: round(2, calm, nil, risky, gains, 1, 1, 50), usual: "[25 17]", changed: "[37 17]"}},
		"risk.tool_extra_exhaustion.major": {{value: 9, look: round(3, calm, [][]Tool{{tool("axe", "brute", "major")}}, map[string]string{"ada": "!axe"}, gains, 1, 1, 51), usual: "[25 20]", changed: "[29 20]"}},
		"risk.tool_extra_exhaustion.minor": {{value: 9, look: round(2, calm, [][]Tool{{tool("axe", "brute", "minor")}}, map[string]string{"ada": "!axe"}, gains, 1, 1, 51), usual: "[20 17]", changed: "[26 17]"}},
		"risk.tool_extra_needs_chance":     {{value: true, look: round(2, calm, [][]Tool{{tool("axe", "brute", "minor")}}, map[string]string{"ada": "!axe"}, gains, 1, 1, 51), usual: "[20 17]", changed: "[17 17]"}},
		"effects.duplicate_rule": {{value: "restart", look: func(t *testing.T, rs *Ruleset) any {
			t.Helper()
			axe := tool("axe", "brute", "minor", "resilient")
			r := begin(t, rs, deck(card(Entry, "brute", 1, calm...), card(Second, "brute", 1, calm...)), who("ada", axe), who("bram", axe))
			r, _ = turn(t, r, map[string]string{"ada": "axe"}, 1, 1)
			_, e := turn(t, next(t, r), map[string]string{"bram": "axe"}, 1, 1)
			return gains(r, e)
		}, usual: "[4 4]", changed: "[14 14]"}},
		"effects.duplicate_users": {{value: "last", look: round(2, calm, [][]Tool{{tool("axe", "brute", "minor", "liability")}, {tool("axe", "brute", "minor", "liability")}}, map[string]string{"ada": "axe", "bram": "axe"}, gains, 4, 9), usual: "[20 16]", changed: "[10 6]"}},
		"effects.shortsighted_ability": {{value: "used_challenge", look: func(t *testing.T, rs *Ruleset) any {
			t.Helper()
			r := begin(t, rs, deck(card(Entry, "brute", 1), card(Second, "wits", 1)), who("ada", tool("axe", "brute", "minor", "shortsighted")), who("bram"))
			r, _ = turn(t, r, map[string]string{"ada": "axe"}, 1, 1)
			return next(t, r).Modifier()
		}, usual: -1, changed: 0}},
		"conditions_stacking": {{value: "refresh", look: round(1, []string{"weaken", "weaken"}, nil, nil, total, 9, 9), usual: 9, changed: 11}},
	}
	for level := 1; level <= 4; level++ {
		at, rs := fmt.Sprint(level), Default()
		by := func(path string, see func(Run, Completed) any, face int, usual, changed any, value int) {
			knobs[path+"."+at] = append(knobs[path+"."+at], knob{value: value, look: round(level, calm, nil, nil, see, face, face), usual: usual, changed: changed})
		}
		tn := rs.Challenge.TN[at]
		win := min(10, tn-4)
		ok := win+4 >= tn
		by("challenge.tn", passed, win, ok, !ok, map[bool]int{true: tn + 1, false: 14}[ok])
		up := map[string]any{"challenge.tn." + at: 5} // so that a 9 passes
		pass := func(path string, see func(Run, Completed) any, usual, changed any, value int) {
			knobs[path+"."+at] = append(knobs[path+"."+at], knob{value: value, base: up, look: round(level, calm, nil, nil, see, 9, 9), usual: usual, changed: changed})
		}
		pass("exploration.success", gained, rs.Exploration.Success[at], 50, 50)
		by("exploration.failure", gained, 1, rs.Exploration.Failure[at], 1, 1)
		even := func(n int) any { return fmt.Sprint([]int{n, n}) }
		pass("exhaustion.party_success", gains, even(rs.Exhaustion.PartySuccess[at]), even(40), 40)
		lost := rs.Exhaustion.PartyFailure[at] + rs.Exhaustion.IndividualFailure[at]
		by("exhaustion.party_failure", gains, 1, even(lost), even(40+rs.Exhaustion.IndividualFailure[at]), 40)
		by("exhaustion.individual_failure", gains, 1, even(lost), even(rs.Exhaustion.PartyFailure[at]+20), 20)
	}
	for name, r := range Default().Tools.Ratings {
		axe, path := tool("axe", "brute", name), "tools.ratings."+name
		knobs[path+".tp"] = []knob{{value: 9, look: sheet(1, refusal, buy(axe)), usual: "", changed: TPOverBudget}}
		knobs[path+".uses"] = []knob{{value: 7, look: func(_ *testing.T, rs *Ruleset) any { return rs.Uses(axe) }, usual: r.Uses, changed: 7}}
		knobs[path+".bonus"] = []knob{{value: 9, look: round(1, calm, [][]Tool{{axe}}, map[string]string{"ada": "axe"}, total, 5, 5), usual: 9 + r.Bonus, changed: 18}}
	}
	qualityKnobs(knobs, func(x Tool) func(*testing.T, *Ruleset) any { return sheet(1, refusal, buy(x)) })
	conditionKnobs(knobs)
	profileKnobs(knobs)

	// Kept for the record: what a deck is aimed at is for those who build it, and the older price is no price any more. The
	// name and the version say which ruleset it is; the points at creation have to be what follows from two others.
	silent := []string{"ruleset", "version", "dp.dp_at_creation", "tools.application_bonus.legacy_price_dp"}
	for name := range Default().TypeProfiles {
		silent = append(silent, "type_profiles."+name+".target_success")
	}
	var doc any
	if err := json.Unmarshal(DefaultDocument(), &doc); err != nil {
		t.Fatal(err)
	}
	for _, path := range leaves(doc, "") {
		_, ok := knobs[path]
		_, table := knobs[path[:max(0, strings.LastIndexByte(path, '.'))]]
		if !ok && !table && !slices.Contains(silent, path) {
			t.Errorf("%s is not tried", path)
		}
	}
	for path, list := range knobs {
		for i, k := range list {
			t.Run(fmt.Sprintf("%s %d", path, i), func(t *testing.T) {
				t.Parallel()
				equal(t, "by default", k.look(t, variant(t, k.base)), k.usual)
				values := maps.Clone(k.base)
				if values == nil {
					values = map[string]any{}
				}
				maps.Copy(values, k.also)
				values[path] = k.value
				equal(t, "overridden", k.look(t, variant(t, values)), k.changed)
			})
		}
	}
}

// A ruleset may be one by which a run never ends; a simulation says so instead of going on for ever.
func TestASimulationThatNeverEnds(t *testing.T) {
	t.Parallel()
	none := map[string]int{"1": 0, "2": 0, "3": 0, "4": 0}
	rs := variant(t, map[string]any{
		"challenge.tn": map[string]int{"1": 999, "2": 999, "3": 999, "4": 999}, "exploration.failure": none,
		"exhaustion.party_failure": none, "exhaustion.individual_failure": none, "risk.extra_exhaustion": 0,
		"risk.tool_extra_exhaustion": map[string]int{"major": 0, "minor": 0},
	})
	sim, err := NewSimulator(rs, deck(), Sensible, 2)
	if err != nil {
		t.Fatal(err)
	}
	_, err = sim.Play(func(int) int { return 1 })
	equal(t, "code", codeOf(t, err), NeverEnds)
}

// qualityKnobs tries what qualities and drawbacks are.
func qualityKnobs(knobs map[string][]knob, buying func(Tool) func(*testing.T, *Ruleset) any) {
	for name, q := range Default().Tools.Qualities {
		path := "tools.qualities." + name
		x := tool("axe", "brute", "minor", name)
		if q.RequiresDrawback {
			x.Drawback = "sacrifice"
		}
		look := buying(x)
		class := knob{value: "drawback", look: look, usual: "", changed: UnknownQuality}
		switch {
		case q.Class == "drawback":
			class.value = "lesser"
		case q.RequiresDrawback:
			class.changed = TooManyDrawbacks // it has one already
		}
		knobs[path+".class"] = []knob{class}
		knobs[path+".tp"] = []knob{{value: 9, look: look, usual: "", changed: TPOverBudget}}
		knobs[path+".uses"] = []knob{{value: 5, look: func(_ *testing.T, rs *Ruleset) any { return rs.Uses(x) }, usual: 3 + q.Uses, changed: 8}}
		knobs[path+".tool_bonus"] = []knob{{value: 5, look: func(_ *testing.T, rs *Ruleset) any { return rs.Bonus(x) }, usual: 2 + q.ToolBonus, changed: 7}}
		knobs[path+".only_rating"] = []knob{{value: "major", look: look, usual: "", changed: CleanseNeedsMinor}}
		bare := x
		bare.Drawback = ""
		if q.Class != "drawback" {
			had := map[bool]string{true: CleanseNeedsDrawback, false: ""}
			knobs[path+".requires_drawback"] = []knob{{value: !q.RequiresDrawback, base: map[string]any{path + ".tp": 1}, look: buying(bare), usual: had[q.RequiresDrawback], changed: had[!q.RequiresDrawback]}}
		}
		// What it does in its first round, after a challenge that was passed.
		second := func(t *testing.T, rs *Ruleset) Run {
			t.Helper()
			r := begin(t, rs, deck(card(Entry, "brute", 1, "overwhelm"), card(Second, "brute", 1)), who("ada", x), who("bram"))
			r, _ = turn(t, r, nil, 9, 9)
			r, _ = do(t, next(t, r), Contribute{Member: "ada", Use: "axe"})
			return r
		}
		modifier := func(t *testing.T, rs *Ruleset) any { t.Helper(); return second(t, rs).Modifier() }
		loud := []map[string]int{{"all": 6}}
		knobs[path+".phases"] = []knob{{value: loud, base: map[string]any{path + ".requires_previous": ""}, look: modifier, usual: firstModifier(q), changed: 6}}
		need, now := map[string]any{path + ".phases": loud}, 6
		if q.RequiresPrevious == Failed {
			now = 0
		}
		flip := map[bool]string{true: Failed, false: Passed}[q.RequiresPrevious != Failed]
		knobs[path+".requires_previous"] = []knob{{value: flip, base: need, look: modifier, usual: now, changed: 6 - now}}
		knobs[path+".clears_conditions"] = []knob{{value: !q.ClearsConditions, look: func(t *testing.T, rs *Ruleset) any {
			t.Helper()
			return len(second(t, rs).Conditions) == 0
		}, usual: q.ClearsConditions, changed: !q.ClearsConditions}}
	}
}

// firstModifier is what a quality adds to a challenge of brute in its first round.
func firstModifier(q Quality) int {
	if len(q.Phases) == 0 {
		return 0
	}
	return q.Phases[0]["brute"] + q.Phases[0]["relevant"] + q.Phases[0]["all"]
}

// conditionKnobs tries what conditions are.
func conditionKnobs(knobs map[string][]knob) {
	for name, c := range Default().Conditions {
		path, filler := "conditions."+name, "hesitate" // which is about agility
		if name == filler {
			filler = "treasure"
		}
		entered := func(t *testing.T, rs *Ruleset) Run {
			t.Helper()
			return begin(t, rs, deck(card(Entry, "brute", 1, name), card(Second, "brute", 1, filler)), who("ada"), who("bram"))
		}
		first := 0
		if len(c.Phases) > 0 {
			first = c.Phases[0]["brute"] + c.Phases[0]["all"]
		}
		knobs[path+".phases"] = []knob{{value: []map[string]int{{"all": -7}}, look: func(t *testing.T, rs *Ruleset) any { t.Helper(); return entered(t, rs).Modifier() }, usual: first, changed: -7}}
		flip := map[bool]string{true: "advanced", false: "basic"}[c.Class == "basic"]
		knobs[path+".class"] = []knob{{value: flip, look: func(_ *testing.T, rs *Ruleset) any {
			return Advanced(rs, &Dungeon{Cards: []Card{card(Entry, "brute", 1, name)}})
		}, usual: map[bool]int{true: 0, false: 1}[c.Class == "basic"], changed: map[bool]int{true: 1, false: 0}[c.Class == "basic"]}}
		knobs[path+".beneficial"] = []knob{{value: !c.Beneficial, look: func(_ *testing.T, rs *Ruleset) any {
			good := func(share float64) bool {
				for n := range 60 {
					if rs.drawCondition(func(sides int) int { return 1 + n%sides }, c.Class, share) == name {
						return true
					}
				}
				return false
			}
			return fmt.Sprint(good(0), good(1))
		}, usual: fmt.Sprint(!c.Beneficial, c.Beneficial), changed: fmt.Sprint(c.Beneficial, !c.Beneficial)}}
		loud := map[string]any{path + ".phases": []map[string]int{{"all": -7}}}
		lasting := map[bool]int{true: -7, false: 0}
		knobs[path+".permanent"] = []knob{{value: !c.Permanent, base: loud, look: func(t *testing.T, rs *Ruleset) any {
			t.Helper()
			r, _ := turn(t, entered(t, rs), nil, 9, 9)
			return next(t, r).Modifier()
		}, usual: lasting[c.Permanent], changed: lasting[!c.Permanent]}}
		quiet := map[string]any{path + ".phases": []map[string]int{{}}}
		knobs[path+".clears_earlier_conditions"] = []knob{{value: !c.ClearsEarlierConditions, base: quiet, look: func(t *testing.T, rs *Ruleset) any {
			t.Helper()
			r := begin(t, rs, deck(card(Entry, "brute", 1, "collapse"), card(Second, "brute", 1, name)), who("ada"), who("bram"))
			r, _ = turn(t, r, nil, 9, 9)
			return slices.ContainsFunc(next(t, r).Conditions, func(i Instance) bool { return i.Name == "collapse" })
		}, usual: !c.ClearsEarlierConditions || name == "collapse", changed: c.ClearsEarlierConditions || name == "collapse"}}
	}
}

// profileKnobs tries what the generator and the remarks read of the dungeon types.
func profileKnobs(knobs map[string][]knob) {
	for name, p := range Default().TypeProfiles {
		path := "type_profiles." + name
		made := func(see func(d *Dungeon) any) func(*testing.T, *Ruleset) any {
			return func(t *testing.T, rs *Ruleset) any {
				t.Helper()
				n := 0
				d, err := Generate(rs, "made", name, func(sides int) int { n++; return 1 + n*7919%sides })
				if err != nil {
					t.Fatal(err)
				}
				return see(d)
			}
		}
		level := func(kind string) func(d *Dungeon) any {
			return func(d *Dungeon) any {
				at := slices.IndexFunc(d.Cards, func(c Card) bool { return c.Kind == kind })
				if at < 0 {
					return 0
				}
				return d.Cards[at].Level
			}
		}
		count := func(class string) func(d *Dungeon) any {
			return func(d *Dungeon) any {
				n := 0
				for _, name := range d.Cards[0].Conditions {
					if Default().Conditions[name].Class == class {
						n++
					}
				}
				return n
			}
		}
		good := func(d *Dungeon) any {
			for _, c := range d.Cards {
				for _, name := range c.Conditions {
					if !Default().Conditions[name].Beneficial {
						return false
					}
				}
			}
			return true
		}
		set := func(field string, value any) map[string]any { return map[string]any{path + "." + field: value} }
		try := func(field string, from, to any, see func(d *Dungeon) any, usual, changed any) {
			knobs[path+"."+field] = append(knobs[path+"."+field], knob{value: to, base: set(field, from), look: made(see), usual: usual, changed: changed})
		}
		other := func(level int) int { return 1 + level%4 }
		sure := set("climax_chance", 1)
		try("level_mix", map[string]any{"2": 1}, map[string]any{"4": 1}, level(Normal), 2, 4)
		try("basic_per_card", map[string]any{"1": 1}, map[string]any{"3": 1}, count("basic"), 1, 3)
		try("advanced_per_card", map[string]any{"0": 1}, map[string]any{"2": 1}, count("advanced"), 0, 2)
		try("beneficial_share", 0, 1, good, false, true)
		try("climax_chance", 0, 1, level(Climax), 0, p.ClimaxLevel)
		knobs[path+".entry_level"] = []knob{{value: other(p.EntryLevel), look: made(level(Entry)), usual: p.EntryLevel, changed: other(p.EntryLevel)}}
		knobs[path+".final_level"] = []knob{{value: other(p.FinalLevel), look: made(level(Final)), usual: p.FinalLevel, changed: other(p.FinalLevel)}}
		knobs[path+".climax_level"] = []knob{{value: other(p.ClimaxLevel), base: sure, look: made(level(Climax)), usual: p.ClimaxLevel, changed: other(p.ClimaxLevel)}}
		knobs[path+".final_tn_bonus"] = []knob{{value: 5, look: made(func(d *Dungeon) any { return d.TNBonus.Final }), usual: 0, changed: 5}}
		knobs[path+".climax_tn_bonus"] = []knob{{value: 5, look: made(func(d *Dungeon) any { return d.TNBonus.Climax }), usual: 0, changed: 5}}
		knobs[path+".final_min_advanced"] = []knob{{value: 1 - p.FinalMinAdvanced, look: func(_ *testing.T, rs *Ruleset) any {
			d := deck(card(Final, "brute", 3, "hesitate"), card(Normal, "brute", 2))
			d.Type = name
			return slices.ContainsFunc(Lint(rs, d), func(v Violation) bool { return v.Code == "FEW_ADVANCED" })
		}, usual: p.FinalMinAdvanced == 1, changed: p.FinalMinAdvanced == 0}}
	}
}
