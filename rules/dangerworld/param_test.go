package dangerworld

import (
	"maps"
	"slices"
	"testing"
)

// probe plays something and tells what there is to see.
type probe struct {
	params map[string]any
	// play gets the fixture with the parameters in it.
	play func(t *testing.T, x table) any
	want any
}

// Each parameter with its default and every alternative; the catalogue decides what is seen.
var probes = map[string][]probe{
	"pool_source": {
		{nil, pools(attempt()), Pool{Normal: 3}},
		{map[string]any{"pool_source": "CALLER"}, pools(OpenCheck{Character: "ada", Challenge: "gate", Number: ptr(5)}), Pool{Normal: 5}},
		{map[string]any{"pool_source": "CALLER"}, refusals(attempt()), "INVALID number"},
		{map[string]any{"pool_source": "CALLER"}, refusals(OpenCheck{Character: "ada", Challenge: "gate", Number: ptr(101)}), "INVALID number"},
		{nil, refusals(OpenCheck{Character: "ada", Challenge: "gate", Number: ptr(5)}), "INVALID number"},
	},
	"stat_floor": {
		{nil, injured, 0},
		{map[string]any{"stat_floor": 2}, injured, 2},
	},
	"stat_max": {
		{nil, refusals(SetSheet{Sheet{Character: "ada", Stats: map[string]int{"Cool": 11}}}), "INVALID stats"},
		{map[string]any{"stat_max": 12}, refusals(SetSheet{Sheet{Character: "ada", Stats: map[string]int{"Cool": 11}}}), ""},
	},
	"empty_pool": {
		{nil, func(t *testing.T, x table) any { return *latest(do(t, emptied(t, x), attempt())).Outcome }, Outcome{Unrolled: true}},
		{map[string]any{"empty_pool": "REFUSE"}, func(t *testing.T, x table) any {
			s := emptied(t, x)
			refuse(t, s, EmptyPool, "", attempt(negative(1)))
			return ada(s).FP
		}, 3},
	},
	"max_rerolls": {
		{nil, rerolls, 2},
		{map[string]any{"max_rerolls": 0}, rerolls, 0},
		{map[string]any{"max_rerolls": 5}, rerolls, 5},
	},
	"lock_policy": {
		{nil, released, names("N1", "N2")},
		{map[string]any{"lock_policy": "FREE"}, released, names("N2")},
	},
	"ones_reroll": {
		{nil, func(t *testing.T, x table) any { return onesKept(t, x) }, names("N1", "N2", "N3")},
		{map[string]any{"ones_reroll": "FORBIDDEN"}, func(t *testing.T, x table) any { return onesKept(t, x) }, names("N1", "N3")},
	},
	"botch_count": {
		{nil, botches, 3},
		{map[string]any{"botch_count": "FINAL"}, botches, 1},
	},
	"sets_used": {
		// Two sets beat difficulty 2; 2 uses no danger die, 3 uses one.
		{nil, twoSets, []any{[]int{3}, 1, []int{1}}},
		{map[string]any{"sets_used": "CLAIM_ALL"}, twoSets, []any{[]int{3, 2}, 1, []int{1}}},
		{map[string]any{"sets_used": "CLAIM_ALL", "danger_die_use": "ALL"}, twoSetsWithDanger, []any{[]int{3, 2}, 3, []int{1}}},
		{map[string]any{"danger_die_use": "ALL"}, twoSetsWithDanger, []any{[]int{3}, 2, []int{1}}},
	},
	"auto_claim": {
		{nil, func(t *testing.T, x table) any { return twoSets(t, x).([]any)[0] }, []int{3}},
		{map[string]any{"auto_claim": "CHEAPEST_SUCCESS"}, func(t *testing.T, x table) any { return twoSets(t, x).([]any)[0] }, []int{2}},
		{map[string]any{"auto_claim": "CHEAPEST_SUCCESS"}, func(t *testing.T, x table) any {
			x.stat = 5 // equally cheap: the highest
			return latest(played(t, x.begin(t), attempt(), faces(2, 2, 3, 3, 3))).Outcome.Claimed
		}, 3},
	},
	"difficulty_range": {
		{nil, refusals(CreateChallenge{Name: "x", Difficulty: 7}), "BAD_DIFFICULTY difficulty"},
		{map[string]any{"difficulty_range": []int{2, 8}}, refusals(CreateChallenge{Name: "x", Difficulty: 8}), ""},
		{map[string]any{"difficulty_range": []any{2.0, 5.0}}, refusals(CreateChallenge{Name: "x", Difficulty: 6}), "BAD_DIFFICULTY difficulty"},
	},
	"bonus_dice_spending": {
		{nil, bonuses, []any{[]int{1, 3}, "", ""}},
		{map[string]any{"bonus_dice_spending": "BUNDLE"}, bonuses, []any{[]int{2}, BundledBonus, ""}},
	},
	"botch_carry": {
		{nil, carried, []int{0, 0}},
		{map[string]any{"botch_carry": "BANK"}, carried, []int{3, 4}},
	},
	"hit_danger_points": {
		{nil, hits, []int{2, 4, 6}},
		{map[string]any{"hit_danger_points": map[string]any{"HIT_FULL": 9}}, hits, []int{2, 9, 6}},
		{map[string]any{"danger_unit": "LEVEL"}, hits, []int{2, 4, 6}}, // points, also with LEVEL
	},
	"setback_difficulty_offset": {
		{nil, setbacks, []int{2, 6}},
		{map[string]any{"setback_difficulty_offset": 1}, setbacks, []int{3, 6}},
		{map[string]any{"setback_difficulty_offset": -1}, setbacks, []int{2, 5}},
	},
	"max_danger_dice": {
		{nil, refusals(attempt(danger(30))), ""},
		{map[string]any{"max_danger_dice": 2}, refusals(attempt(danger(3))), TooManyDangerDice},
		{map[string]any{"max_danger_dice": 2}, refusals(attempt(danger(2))), ""},
	},
	"danger_dice_timing": {
		{nil, joining(Reroll{Check: 1, Lock: names("N1"), DangerDice: 2}), TooLate},
		{map[string]any{"danger_dice_timing": "ANY_ROLL"}, joining(Reroll{Check: 1, Lock: names("N1"), DangerDice: 2}), names("N2", "N3", "D1", "D2")},
		{map[string]any{"danger_dice_timing": "ANY_ROLL", "max_danger_dice": 1}, joining(Reroll{Check: 1, Lock: names("N1"), DangerDice: 2}), TooManyDangerDice},
	},
	"danger_die_use": {
		{nil, func(t *testing.T, x table) any { return wide(t, x) }, 1},
		{map[string]any{"danger_die_use": "ALL"}, func(t *testing.T, x table) any { return wide(t, x) }, 2},
	},
	"penalty_roll": {
		{nil, joining(Reroll{Check: 1, Lock: names("P1")}), NotLockable},
		{nil, joining(Reroll{Check: 1}), names("N1", "N2", "N3")},
		{map[string]any{"penalty_roll": "WITH_POOL"}, joining(Reroll{Check: 1}), names("N1", "N2", "N3", "P1")},
		{map[string]any{"penalty_roll": "WITH_POOL"}, joining(Reroll{Check: 1, Lock: names("P1")}), names("N1", "N2", "N3")},
	},
	"cancel_default": {
		{map[string]any{"cancel_default": "DANGER_FIRST"}, func(t *testing.T, x table) any {
			x.stat, x.penalty = 2, 1
			return set(t, rolled(t, x.begin(t), attempt(danger(2)), faces(3, 3, 3, 3, 3)), 3).Cancelled
		}, names("D2")},
	},
	"challenge_penalty_duration": {
		{nil, burden, 1},
		{map[string]any{"challenge_penalty_duration": "NEXT_ROLL"}, burden, 0},
	},
	"aspect_dice_per_fp": {
		{nil, pools(attempt(aspect(2))), Pool{Normal: 5}},
		{map[string]any{"aspect_dice_per_fp": 2}, pools(attempt(aspect(2))), Pool{Normal: 7}},
	},
	"aspect_spend_cap": {
		{nil, refusals(attempt(aspect(3))), ""},
		{map[string]any{"aspect_spend_cap": 2}, refusals(attempt(aspect(3))), AspectCap},
	},
	"aspect_timing": {
		{nil, joining(Reroll{Check: 1, AspectFP: 1}), TooLate},
		{map[string]any{"aspect_timing": "ANY_ROLL"}, joining(Reroll{Check: 1, Lock: names("N1", "N2", "N3"), AspectFP: 2}), names("N4", "N5")},
		{map[string]any{"aspect_timing": "ANY_ROLL"}, joining(Reroll{Check: 1, AspectFP: 9}), NotEnoughFP},
	},
	"fp_start": {
		{nil, func(t *testing.T, x table) any { return x.begin(t).Ruleset.StartFP() }, 0},
		{map[string]any{"fp_start": 3}, func(t *testing.T, x table) any { return x.begin(t).Ruleset.StartFP() }, 3},
	},
	"negative_aspect_penalty_per_fp": {
		{nil, pools(attempt(negative(2))), Pool{Normal: 3, Penalty: 2}},
		{map[string]any{"negative_aspect_penalty_per_fp": 3}, pools(attempt(negative(2))), Pool{Normal: 3, Penalty: 6}},
	},
	"negative_aspect_refusal": {
		{nil, declined, NotAllowed},
		{map[string]any{"negative_aspect_refusal": "ALLOWED"}, declined, []any{3, Pool{Normal: 3}}},
	},
	"danger_unit": {
		{nil, raised(2), []int{2, 0}},
		{map[string]any{"danger_unit": "LEVEL"}, raised(2), []int{10, 2}},
	},
	"points_per_level": {
		{nil, raised(6), []int{6, 1}},
		{map[string]any{"points_per_level": 2}, raised(6), []int{6, 3}},
		{map[string]any{"points_per_level": 2, "danger_unit": "LEVEL"}, raised(3), []int{6, 3}},
	},
	"threat_die": {
		{nil, threatened, Pool{Normal: 3, Penalty: 2}},
		{map[string]any{"threat_die": "DANGER"}, threatened, Pool{Normal: 3, Danger: 2}},
	},
	"harm_stacking": {
		{nil, stacked, Pool{Normal: 1, Penalty: 3}},
		{map[string]any{"harm_stacking": "WORST_ONLY"}, stacked, Pool{Normal: 2, Penalty: 1}},
	},
	"injured_pick": {
		{map[string]any{"injured_pick": "D12_STAT"}, injured, 0},
	},
	"danger_recovery": {
		// Points after the end of an encounter and after a rest; what runs is lifted by the first alone.
		{nil, recovery, []int{12, 0, 2, 2}},
		{map[string]any{"danger_recovery": "ENCOUNTER_END"}, recovery, []int{0, 12, 2, 2}},
		{map[string]any{"danger_recovery": "MANUAL"}, recovery, []int{12, 12, 2, 2}},
	},
}

func pools(c OpenCheck) func(t *testing.T, x table) any {
	return func(t *testing.T, x table) any {
		x.stat, x.fp = 3, 3
		return latest(do(t, x.begin(t), c)).Pool
	}
}

// refusals tells code and field of a refusal.
func refusals(c Command) func(t *testing.T, x table) any {
	return func(t *testing.T, x table) any {
		x.stat, x.fp = 3, 3
		_, _, r := try(t, x.begin(t), c)
		switch {
		case r == nil:
			return ""
		case r.Field == "":
			return r.Code
		}
		return r.Code + " " + r.Field
	}
}

// injured tells what is left of a stat of 3 after injuries.
func injured(t *testing.T, x table) any {
	x.stat, x.points = 3, 30
	return ada(do(t, x.begin(t), RaiseDanger{Character: "ada", Steps: 15}, 1, 1, 1)).Stat("Agility")
}

// emptied begins with somebody who has no die, and 3 FP.
func emptied(t *testing.T, x table) Scene {
	x.fp = 3
	return x.begin(t)
}

func rerolls(t *testing.T, x table) any {
	x.stat = 1
	s := rolled(t, x.begin(t), attempt(), faces(3))
	for n := 0; ; n++ {
		next, _, r := try(t, s, Reroll{Check: 1}, 3)
		if r != nil {
			eq(t, "code", r.Code, NoRerollLeft)
			return n
		}
		s = next
	}
}

// released locks N1, then N2, and tells what is locked in the end.
func released(t *testing.T, x table) any {
	x.stat = 3
	s := rolled(t, x.begin(t), attempt(), faces(4, 4, 3), locking(names("N1"), 5, 5))
	s, _, r := try(t, s, Reroll{Check: 1, Lock: names("N2")}, slices.Repeat([]int{2}, map[bool]int{true: 2, false: 1}[s.Ruleset.is("lock_policy", "FREE")])...)
	if r != nil {
		t.Fatal(r)
	}
	return latest(s).locked()
}

func onesKept(t *testing.T, x table) []string {
	x.stat = 3
	n := 3
	s := rolled(t, x.begin(t), attempt(), faces(4, 1, 3))
	if s.Ruleset.is("ones_reroll", "FORBIDDEN") {
		n = 2
	}
	return latest(do(t, s, Reroll{Check: 1}, slices.Repeat([]int{5}, n)...)).Rolls[1].Rolled
}

func botches(t *testing.T, x table) any {
	x.stat = 3
	return latest(played(t, x.begin(t), attempt(), faces(1, 1, 4), locking(names("N3"), 5, 1))).Outcome.Botches
}

// twoSets claims where 2,2 costs nothing and 3,3,D3 one danger die.
func twoSets(t *testing.T, x table) any {
	x.stat = 4
	s := played(t, x.begin(t), attempt(danger(1)), faces(2, 2, 3, 3, 3))
	return []any{latest(s).Outcome.Heights, ada(s).Points, list(ada(s).Bonus)}
}

// twoSetsWithDanger claims where 2,2,D2 and 3,3,D3,D3 trigger.
func twoSetsWithDanger(t *testing.T, x table) any {
	x.stat = 4
	s := played(t, x.begin(t), attempt(danger(3)), faces(2, 2, 3, 3, 2, 3, 3))
	return []any{latest(s).Outcome.Heights, ada(s).Points, list(ada(s).Bonus)}
}

// bonuses spends three of two and three bonus dice, then one, then five.
func bonuses(t *testing.T, x table) any {
	x.stat, x.bonus = 1, []int{2, 3}
	s := x.begin(t)
	code := func(c Command) string {
		if _, _, r := try(t, s, c); r != nil {
			return r.Code
		}
		return ""
	}
	one, all := code(attempt(bonus(1))), code(attempt(bonus(5)))
	spend := 1
	if one != "" {
		spend = 3
	}
	return []any{ada(do(t, s, attempt(bonus(spend)))).Bonus, one, all}
}

// carried closes a check with three botches, then makes one with one more: what there is to spend after each.
func carried(t *testing.T, x table) any {
	s := withBotches(t, 3, x)
	s = do(t, s, CloseCheck{Check: 1})
	after := s.Unspent(latest(s))
	if after == 0 {
		refuse(t, s, CheckOver, "", buy(s, Item{Buy: BuyDanger}))
		return []int{after, 0}
	}
	s = played(t, s, attempt(), faces(1, 2, 3))
	most := s.Unspent(latest(s))
	s = do(t, s, buy(s, Item{Buy: BuyDanger}, Item{Buy: BuyDanger}))
	eq(t, "own botches go first", []int{latest(s).Unspent, s.Bank}, []int{0, 2})
	s = do(t, s, attempt(func(o *OpenCheck) { o.KeepBotches = true }))
	eq(t, "the bank stays", s.Bank, 2)
	// A closed check is a reason to spend what is banked.
	s = do(t, s, SpendBotches{Check: 1, Items: []Item{{Buy: BuyDanger}, {Buy: BuyDanger}}})
	eq(t, "the bank is empty", s.Bank, 0)
	return []int{after, most}
}

func hits(t *testing.T, x table) any {
	var out []int
	for _, id := range names(BuyHitReduced, BuyHitFull, BuyHitOverload) {
		s := withBotches(t, 6, x)
		out = append(out, ada(do(t, s, buy(s, Item{Buy: id}))).Points)
	}
	return out
}

func setbacks(t *testing.T, x table) any {
	s := withBotches(t, 8, x)
	s = do(t, s, buy(s, Item{Buy: BuySetbackMinor, Challenge: "a"}, Item{Buy: BuySetbackHuge, Challenge: "b"}))
	a, _ := s.Challenge("a")
	b, _ := s.Challenge("b")
	return []int{a.Difficulty, b.Difficulty}
}

// joining re-rolls a check of three normal dice and one penalty die: which dice roll, or why not.
func joining(c Reroll) func(t *testing.T, x table) any {
	return func(t *testing.T, x table) any {
		x.stat, x.penalty, x.fp = 3, 1, 3
		s := rolled(t, x.begin(t), attempt(), faces(4, 5, 6, 2))
		for n := range 8 {
			next, _, r := try(t, s, c, slices.Repeat([]int{3}, n)...)
			switch {
			case r == nil:
				eq(t, "all dice show something", slices.Contains(shows(next), 0), false)
				eq(t, "names", latest(next).Pool.Names(), facesOf(latest(next)))
				return latest(next).Rolls[1].Rolled
			case r.Code != "BAD_DICE":
				return r.Code
			}
		}
		t.Fatal("no number of dice fits")
		return nil
	}
}

func facesOf(c Check) []string {
	var out []string
	for _, f := range c.Faces() {
		out = append(out, f.Die)
	}
	return out
}

func wide(t *testing.T, x table) int {
	x.stat = 3
	return ada(played(t, x.begin(t), attempt(danger(2)), faces(4, 4, 4, 4, 4))).Points
}

func burden(t *testing.T, x table) any {
	x.stat, x.penalty = 1, 1
	s := do(t, x.begin(t), attempt())
	eq(t, "in this check", latest(s).Pool.Penalty, 1)
	c, _ := s.Challenge("gate")
	return c.Penalty
}

func declined(t *testing.T, x table) any {
	x.stat, x.fp = 3, 3
	s := do(t, x.begin(t), attempt(negative(2)))
	s, _, r := try(t, s, DeclineNegative{Check: 1})
	if r != nil {
		return r.Code
	}
	refuse(t, s, NotAllowed, "", DeclineNegative{Check: 1})
	return []any{ada(s).FP, latest(s).Pool}
}

func raised(steps int) func(t *testing.T, x table) any {
	return func(t *testing.T, x table) any {
		s := do(t, x.begin(t), RaiseDanger{Character: "ada", Steps: steps})
		return []int{ada(s).Points, s.Ruleset.Level(ada(s).Points)}
	}
}

func threatened(t *testing.T, x table) any {
	x.stat, x.bashed = 3, 2
	return latest(do(t, x.begin(t), attempt())).Pool
}

func stacked(t *testing.T, x table) any {
	x.stat, x.bashed, x.stunned = 3, 3, 2
	return latest(do(t, x.begin(t), attempt())).Pool
}

// recovery raises by 12: points after the end of the encounter, after a rest instead, Bashed after the rest, and Bashed
// after the end of the encounter and 10 points more.
func recovery(t *testing.T, x table) any {
	s := do(t, x.begin(t), RaiseDanger{Character: "ada", Steps: 12})
	end, rest := do(t, s, EndEncounter{}), do(t, s, LongTermRest{})
	eq(t, "Bashed after the end", ada(end).Bashed, 0)
	again := do(t, do(t, end, SetDanger{Character: "ada", Points: 0}), RaiseDanger{Character: "ada", Steps: 10})
	return []int{ada(end).Points, ada(rest).Points, ada(rest).Bashed, ada(again).Bashed}
}

func TestParameters(t *testing.T) {
	t.Parallel()
	for _, name := range slices.Sorted(maps.Keys(probes)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, p := range probes[name] {
				eq(t, mustJSON(t, p.params), p.play(t, table{params: p.params}), p.want)
			}
		})
	}
}

// Every parameter of the shipped ruleset has a probe, and every option of a word has been chosen in one.
func TestEveryParameterIsProbed(t *testing.T) {
	t.Parallel()
	for name, p := range Default().Params {
		if len(probes[name]) == 0 {
			t.Errorf("%s is not probed", name)
		}
		for _, option := range p.Options {
			if option != p.Default && !slices.ContainsFunc(probes[name], func(x probe) bool { return x.params[name] == option }) {
				t.Errorf("%s is not probed with %s", name, option)
			}
		}
	}
}
