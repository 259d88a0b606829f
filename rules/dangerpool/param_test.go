package dangerpool

import (
	"fmt"
	"slices"
	"testing"
)

// Each test plays the default beside the alternatives of one parameter.
func TestParameters(t *testing.T) {
	t.Parallel()
	tests := map[string]func(t *testing.T){
		"pool_limit": func(t *testing.T) {
			for limit, want := range map[int]int{6: 2, 10: 1, 1: 12} {
				d, r := played(t, begun(t, params{"pool_limit": limit}, nil), nil, "WAIT 120")
				eq(t, fmt.Sprint(limit), []int{len(r.Spills), d.Pool}, []int{want, 12 - want*limit})
			}
		},
		"minutes_per_die": func(t *testing.T) {
			p := params{"minutes_per_die": 5}
			d := after(t, begun(t, p, nil, Spell{"ward", 600}), "MOVE")
			eq(t, "minutes, spell", []any{d.Elapsed(), spells(d), d.View().Spells[0].Dice}, []any{5, "ward 300s", 1})
			d = after(t, d, "HUNKER_DOWN", "WAIT 60")
			eq(t, "unpriced", d.Unpriced, 55)
		},
		"overflow_mode": func(t *testing.T) {
			p := params{"overflow_mode": "PER_TRIGGER"}
			d, r := played(t, after(t, begun(t, p, torches("a", "b")), "WAIT 30", "LIGHT_OFF b"), nil, "LONG_REST")
			s := spillOf(t, r)
			eq(t, "one spill of all", []int{len(s.Faces), s.AtDie, d.Pool, r.DiceAdded}, []int{51, 51, 0, 48})
			eq(t, "lights burn all the same", []any{remaining(d), r.LightsOut}, []any{"a 0, b 3", []string{"a"}})
			_, r = played(t, begun(t, p, nil), nil, "WAIT 50")
			eq(t, "below the limit", len(r.Spills), 0)
		},
		"events_per_spill": func(t *testing.T) {
			p := params{"events_per_spill": "PER_ONE"}
			calls := []Call{{Override: 2, Shows: "rumours"}}
			d := do(t, begun(t, p, nil), Rest{Calls: calls}, 1, 1, 1, 4, 5, 6, 12, 3, 2)
			want := []DangerEvent{
				{D12: 12, Total: 12, Rolled: 12, Final: 2, Event: "REPUTATION_DAMAGE", Overridden: true, Shows: "rumours"},
				{D12: 3, Total: 3, Rolled: 3, Final: 2, Event: "REPUTATION_DAMAGE", Overridden: true, Shows: "rumours"},
				{D12: 2, Total: 2, Rolled: 2, Final: 2, Event: "REPUTATION_DAMAGE", Shows: "rumours"},
			}
			eq(t, "events", d.Last[0].Events, want)
			eq(t, "severity by the count", d.Last[0].Severity, "DEADLY")
		},
		"real_time_block": func(t *testing.T) {
			d := after(t, begun(t, params{"real_time_block": 15}, nil), "REAL_TIME 40")
			eq(t, "dice, clock", []int{d.Ever, d.RealClock}, []int{2, 10})
			d = after(t, d, "COMBAT_START", "REAL_TIME 10", "COMBAT_END")
			eq(t, "after a fight", []int{d.Ever, d.RealClock}, []int{3, 5})
		},
		"real_time_remainder": func(t *testing.T) {
			d, r := played(t, begun(t, params{"real_time_remainder": "DROP"}, nil), nil, "REAL_TIME 7", "COMBAT_START", "REAL_TIME 25", "COMBAT_END")
			eq(t, "dice, clock", []int{r.DiceAdded, d.RealClock}, []int{2, 7})
		},
		"wait_block": func(t *testing.T) {
			d := after(t, begun(t, params{"wait_block": 30}, nil), "WAIT 70")
			eq(t, "dice, clock", []int{d.Ever, d.WaitClock}, []int{2, 10})
		},
		"hunker_wait_block": func(t *testing.T) {
			d := after(t, begun(t, params{"hunker_wait_block": 30}, nil), "HUNKER_DOWN", "WAIT 70")
			eq(t, "dice, clock, unpriced", []int{d.Ever, d.WaitClock, d.Unpriced}, []int{3, 10, 40})
			d = after(t, begun(t, params{"hunker_wait_block": 5}, nil), "HUNKER_DOWN", "WAIT 10")
			eq(t, "shorter than a die", []int{d.Ever, d.Unpriced}, []int{3, 0})
		},
		"wait_remainder": func(t *testing.T) {
			for option, want := range map[string][]int{"CARRY": {3, 0}, "DROP": {2, 0}, "ROUND_UP": {4, 0}} {
				d := after(t, begun(t, params{"wait_remainder": option}, nil), "WAIT 15", "WAIT 15")
				eq(t, option, []int{d.Ever, d.WaitClock}, want)
			}
			d := after(t, begun(t, params{"wait_remainder": "ROUND_UP"}, nil), "HUNKER_DOWN", "WAIT 61")
			eq(t, "hunkered, each die stands for an hour", []int{d.Ever, d.Unpriced}, []int{3, 100})
		},
		"short_rest_minutes": func(t *testing.T) {
			d := after(t, begun(t, params{"short_rest_minutes": 90}, nil), "HUNKER_DOWN", "SHORT_REST")
			eq(t, "unpriced", d.Unpriced, 80)
		},
		"short_rest_dice": func(t *testing.T) {
			eq(t, "ever", after(t, begun(t, params{"short_rest_dice": 3}, nil), "SHORT_REST").Ever, 3)
		},
		"short_rest_dice_hunkered": func(t *testing.T) {
			d := after(t, begun(t, params{"short_rest_dice_hunkered": 2}, nil), "HUNKER_DOWN", "SHORT_REST")
			eq(t, "ever, unpriced", []int{d.Ever, d.Unpriced}, []int{3, 40})
			d = after(t, begun(t, params{"short_rest_dice_hunkered": 0}, nil), "HUNKER_DOWN", "SHORT_REST")
			eq(t, "none: all of it is unpriced", []int{d.Ever, d.Unpriced}, []int{1, 60})
			d = after(t, begun(t, params{"short_rest_dice_hunkered": 7}, nil), "HUNKER_DOWN", "SHORT_REST")
			eq(t, "on top of the six: nothing is", []int{d.Ever, d.Unpriced}, []int{8, 0})
		},
		"long_rest_minutes": func(t *testing.T) {
			d := after(t, begun(t, params{"long_rest_minutes": 600}, nil), "HUNKER_DOWN", "LONG_REST")
			eq(t, "ever, unpriced", []int{d.Ever, d.Unpriced}, []int{9, 520})
		},
		"long_rest_dice": func(t *testing.T) {
			eq(t, "ever", after(t, begun(t, params{"long_rest_dice": 24}, nil), "LONG_REST").Ever, 24)
		},
		"long_rest_dice_hunkered": func(t *testing.T) {
			d := after(t, begun(t, params{"long_rest_dice_hunkered": 16}, nil), "HUNKER_DOWN", "LONG_REST")
			eq(t, "ever, unpriced", []int{d.Ever, d.Unpriced}, []int{17, 320})
		},
		"hunker_action_dice": func(t *testing.T) {
			d, r := played(t, begun(t, params{"hunker_action_dice": "NORMAL"}, nil), nil, "HUNKER_DOWN", "INTERACT")
			eq(t, "added, note, hunkered", []any{r.DiceAdded, r.Note, d.Hunkered}, []any{1, "", true})
			_, r = played(t, begun(t, params{"hunker_action_dice": "NORMAL"}, nil), nil, "HUNKER_DOWN", "COMBAT_START", "COMBAT_END", "INTERACT")
			eq(t, "the free action is used", r.Note, NoteFreeAction)
		},
		"hunker_ends_on": func(t *testing.T) {
			d := begun(t, params{"hunker_ends_on": []any{"INTERACT", "COMBAT_START", "RISK"}}, nil)
			d = after(t, d, "HUNKER_DOWN", "WAIT 30")
			moved, r := played(t, d, nil, "MOVE")
			eq(t, "a move", []any{moved.Hunkered, r.DiceAdded}, []any{true, 0})
			moved, r = played(t, d, nil, "INTERACT")
			eq(t, "an interaction", []any{moved.Hunkered, r.DiceAdded, moved.WaitClock}, []any{false, 1, 0})
			eq(t, "a fight", after(t, d, "COMBAT_START").Hunkered, false)
			eq(t, "a risk", after(t, d, "RISK").Hunkered, false)
			eq(t, "saying so", after(t, d, "LEAVE_HUNKER").Hunkered, false)
			d = after(t, begun(t, params{"hunker_ends_on": []string{"SHORT_REST"}}, nil), "HUNKER_DOWN")
			_, r = played(t, d, nil, "SHORT_REST")
			eq(t, "a rest after it", r.DiceAdded, 6)
		},
		"elapsed_basis": func(t *testing.T) {
			lines := []string{"HUNKER_DOWN", "LONG_REST", "WAIT 90"}
			d := after(t, begun(t, nil, nil), lines...)
			eq(t, "dice", []int{d.Elapsed(), d.Unpriced}, []int{100, 450})
			d = after(t, begun(t, params{"elapsed_basis": "DICE_PLUS_HUNKER"}, nil), lines...)
			eq(t, "and hunkered minutes", []int{d.Elapsed(), d.Unpriced}, []int{550, 450})
		},
		"rest_interrupt": func(t *testing.T) {
			faces := []int{2, 2, 2, 2, 2, 2, 1, 1, 2, 2, 2, 2, 12}
			d, r := played(t, begun(t, params{"rest_interrupt": "ON_COMBAT"}, nil), faces, "LONG_REST")
			eq(t, "added, interrupted, pool, spills", []any{r.DiceAdded, r.Interrupted, d.Pool, len(r.Spills)}, []any{12, true, 0, 2})
			_, r = played(t, begun(t, params{"rest_interrupt": "ON_COMBAT"}, nil), append(faces[:12:12], 10), "LONG_REST")
			eq(t, "another event", []any{r.DiceAdded, r.Interrupted}, []any{48, false})
			_, r = played(t, begun(t, nil, nil), faces, "LONG_REST")
			eq(t, "by default", []any{r.DiceAdded, r.Interrupted}, []any{48, false})
			_, r = played(t, begun(t, params{"rest_interrupt": "ON_COMBAT"}, nil), faces, "WAIT 240")
			eq(t, "waiting is no rest", []any{r.DiceAdded, r.Interrupted}, []any{24, false})
			d = begun(t, params{"rest_interrupt": "ON_COMBAT"}, nil)
			_, events, _, _ := decide(t, d, Rest{Long: true, Calls: []Call{{Override: 3}, {Override: 12}}}, 1, 2, 2, 2, 2, 2, 12, 1, 2, 2, 2, 2, 2, 3)
			r = ResultOf(TriggerLongRest, events)
			eq(t, "what the GM chose counts", []any{r.DiceAdded, r.Interrupted}, []any{12, true})
			log, _ := Log(d, events)
			eq(t, "log", kinds(log), []string{LogSpill, LogSpill, LogInterrupted})
			_, r = played(t, begun(t, params{"rest_interrupt": "ON_COMBAT", "overflow_mode": "PER_TRIGGER"}, nil), append(slices.Repeat([]int{1}, 6), 12), "SHORT_REST")
			eq(t, "all dice come before the spill", []any{r.DiceAdded, r.Interrupted}, []any{6, false})
			d = after(t, begun(t, params{"rest_interrupt": "ON_COMBAT"}, nil), "HUNKER_DOWN", "RISK", "RISK", "RISK", "RISK")
			d, r = played(t, d, []int{2, 2, 2, 2, 2, 1, 12}, "LONG_REST")
			eq(t, "hunkered, the hours that were slept", []any{r.DiceAdded, d.Unpriced, d.Hunkered}, []any{1, 50, true})
		},
		"free_action_after_combat": func(t *testing.T) {
			d := after(t, begun(t, params{"free_action_after_combat": false}, nil), "COMBAT_START", "COMBAT_END")
			eq(t, "none", d.FreeAction, false)
		},
		"free_action_lost_on": func(t *testing.T) {
			lost := []any{"MOVE", "CAST", "COMBAT_ROUNDS"}
			d := after(t, begun(t, params{"free_action_lost_on": lost}, torches("torch")), "COMBAT_START", "COMBAT_END")
			eq(t, "kept", after(t, d, "WAIT 1", "LIGHT_OFF torch").FreeAction, true)
			_, r := played(t, d, nil, "MOVE")
			eq(t, "lost before it is used", []any{r.DiceAdded, r.Note}, []any{1, ""})
			eq(t, "a spell", after(t, d, "CAST ward 60").FreeAction, false)
			eq(t, "into the next fight", after(t, d, "COMBAT_START").FreeAction, true)
			eq(t, "rounds", after(t, d, "COMBAT_START", "COMBAT_ROUNDS 1").FreeAction, false)
		},
		"combat_suppresses": func(t *testing.T) {
			d := after(t, begun(t, params{"combat_suppresses": []string{"MOVE"}}, nil), "COMBAT_START")
			for line, dice := range map[string]int{"RISK": 1, "INTERACT": 1, "HUNKER_DOWN": 1, "WAIT 20": 2, "MOVE": 0} {
				_, r := played(t, d, nil, line)
				eq(t, line, r.DiceAdded, dice)
			}
			eq(t, "hunkered in a fight", after(t, d, "HUNKER_DOWN").Hunkered, true)
		},
		"round_seconds": func(t *testing.T) {
			d := after(t, begun(t, params{"round_seconds": 10}, nil, Spell{"bless", 60}), "COMBAT_START", "COMBAT_ROUNDS 5")
			eq(t, "spell", spells(d), "bless 10s")
		},
		"severity_deadly_from": func(t *testing.T) {
			for from, want := range map[int][]string{1: {"DEADLY", "DEADLY"}, 2: {"MINOR", "DEADLY"}, 3: {"MINOR", "MODERATE"}, 6: {"MINOR", "MODERATE"}} {
				rs := with(t, params{"severity_deadly_from": from})
				eq(t, fmt.Sprint(from), []string{rs.Severity(1), rs.Severity(2)}, want)
			}
		},
		"severity_names": func(t *testing.T) {
			rs := with(t, params{"severity_names": []any{"LOW", "HIGH", "HIGH"}})
			eq(t, "names", []string{rs.Severity(0), rs.Severity(1), rs.Severity(2), rs.Severity(3)}, []string{"NONE", "LOW", "HIGH", "HIGH"})
		},
		"event_override": func(t *testing.T) {
			d := begun(t, params{"event_override": "FORBIDDEN"}, nil)
			eq(t, "field", refuse(t, d, Rest{Calls: []Call{{Override: 3}}}, OverrideForbidden), "calls[0].override")
			d = do(t, d, Rest{Calls: []Call{{Shows: "a gust"}}}, 1, 2, 2, 2, 2, 2, 3)
			eq(t, "how it shows may be told", d.Last[0].Events[0].Shows, "a gust")
			refuse(t, d, Narrate{Spill: 1, Event: 1, Call: Call{Override: 4}}, OverrideForbidden)
		},
		"light_spell_on_relight": func(t *testing.T) {
			light := []Carried{{ID: "light", Source: LightSpell, Active: true}}
			refusedStep(t, after(t, begun(t, nil, light), "MOVE", "LIGHT_OFF light"), "LIGHT_ON light", LightSpellEnded)
			d := begun(t, params{"light_spell_on_relight": "ALLOWED"}, light)
			eq(t, "allowed", remaining(after(t, d, "MOVE", "LIGHT_OFF light", "LIGHT_ON light")), "light 5*")
			refusedStep(t, after(t, d, "WAIT 60"), "LIGHT_ON light", LightSpent)
			refusedStep(t, after(t, begun(t, nil, light), "WAIT 60"), "LIGHT_ON light", LightSpellEnded)
		},
		"refuel_mode": func(t *testing.T) {
			lantern := []Carried{{ID: "lantern", Source: Lantern, Active: true}}
			d := after(t, begun(t, params{"refuel_mode": "RESET"}, lantern), "MOVE", "LIGHT_OFF lantern", "REFUEL lantern")
			eq(t, "reset and lit", remaining(d), "lantern 6*")
		},
		"dim_is_additional": func(t *testing.T) {
			reach := func(rs *Ruleset, source string) []int {
				b, d := rs.Reach(source)
				return []int{b, d}
			}
			eq(t, "from the edge of bright", reach(Default(), Torch), []int{20, 40})
			eq(t, "from the source", reach(with(t, params{"dim_is_additional": false}), Torch), []int{20, 20})
			eq(t, "of nothing", reach(Default(), "SUN"), []int{0, 0})
		},
		"rank_required": func(t *testing.T) {
			eq(t, "there is no other", shippedParams()["rank_required"].Options, []string{"ONE_EACH"})
			refuse(t, opened(t, nil), RecordMembers{[]Member{{Name: "Brenna", Kind: "PC"}}}, Invalid)
		},
		"provisions_rules": func(t *testing.T) {
			d := do(t, opened(t, params{"provisions_rules": "NONE"}), RecordMembers{three})
			eq(t, "not asked for", do(t, do(t, d, RecordLights{}), Begin{}).Setup, SetupBegun)
			d = do(t, d, RecordProvisions{"a note all the same"})
			eq(t, "still at the lights", d.Setup, SetupLights)
		},
		"pool_on_exit": func(t *testing.T) {
			eq(t, "by default", Default().KeepsPool(), false)
			rs := with(t, params{"pool_on_exit": "KEEP"})
			eq(t, "kept", rs.KeepsPool(), true)
			d := do(t, Delve{}, Open{Ruleset: rs, Map: &Map{Title: "A tomb"}, Entry: "the door", InvokedBy: ByGameLoop, Pool: 4})
			eq(t, "of the next delve", []int{d.Pool, d.Ever, d.SpillsTotal}, []int{4, 0, 0})
			d = do(t, do(t, do(t, do(t, d, RecordMembers{three}), RecordProvisions{"none"}), RecordLights{}), Begin{})
			_, r := played(t, d, nil, "WAIT 20")
			eq(t, "spills at its second die", spillOf(t, r).AtDie, 2)
		},
		"risk_stacks": func(t *testing.T) {
			noisy := Act{Action: TriggerInteract, Risky: true}
			eq(t, "both dice", do(t, begun(t, nil, nil), noisy).Pool, 2)
			eq(t, "its own die", do(t, begun(t, params{"risk_stacks": false}, nil), noisy).Pool, 1)
			fought := after(t, begun(t, nil, nil), "COMBAT_START")
			eq(t, "in a fight neither", do(t, fought, noisy).Pool, 0)
			eq(t, "the free action, heard", do(t, after(t, fought, "COMBAT_END"), noisy).Pool, 1)
			eq(t, "hunkered, heard", do(t, after(t, begun(t, nil, nil), "HUNKER_DOWN"), noisy).Pool, 2)
			eq(t, "hunkered, not stacked", do(t, after(t, begun(t, params{"risk_stacks": false}, nil), "HUNKER_DOWN"), noisy).Pool, 1)
		},
	}
	for name := range shippedParams() {
		if tests[name] == nil {
			t.Errorf("no test plays %s", name)
		}
	}
	rules(tests).run(t)
}

func TestParametersAreChecked(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]params{
		"an unknown name":                 {"pool_size": 6},
		"a text for a number":             {"pool_limit": "6"},
		"a broken number":                 {"pool_limit": 6.5},
		"nothing":                         {"pool_limit": nil},
		"a pool that spills empty":        {"pool_limit": 0},
		"a pool of thousands":             {"pool_limit": 5000},
		"a block of nothing":              {"wait_block": 0},
		"negative dice":                   {"short_rest_dice": -1},
		"an unknown word":                 {"overflow_mode": "ALL"},
		"a number for a word":             {"overflow_mode": 1},
		"a text for a flag":               {"risk_stacks": "yes"},
		"a word for a list":               {"hunker_ends_on": "MOVE"},
		"an unknown trigger":              {"hunker_ends_on": []any{"MOVE", "DANCE"}},
		"a number in a list":              {"hunker_ends_on": []any{"MOVE", 1}},
		"a trigger twice":                 {"free_action_lost_on": []any{"MOVE", "MOVE"}},
		"real time, which is always held": {"combat_suppresses": []any{"REAL_TIME"}},
		"two names of severities":         {"severity_names": []any{"A", "B"}},
		"an empty name":                   {"severity_names": []any{"A", "B", ""}},
		"a name for no event":             {"severity_names": []any{"NONE", "B", "C"}},
		"the only option misspelt":        {"rank_required": "NONE"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rs, err := Default().With(p)
			if err == nil || rs != nil {
				t.Fatalf("%v was accepted", p)
			}
			for name := range p {
				if got := err.Error(); len(got) < len(name) || got[:len(name)] != name {
					t.Errorf("%q does not begin with %s", got, name)
				}
			}
		})
	}
	// One that is right does not come without one that is wrong.
	if _, err := Default().With(params{"pool_limit": 7, "wait_block": 0}); err == nil {
		t.Error("half of the overrides were accepted")
	}
	eq(t, "the shipped ruleset stays as it was", Default().Params["pool_limit"].Get(), any(6))
}
