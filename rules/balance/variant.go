package balance

import (
	"maps"
	"slices"
	"strconv"

	"github.com/wayfarer-rpg/wayfarer/rules/digger"
)

// maxLevel is the hardest level of a card (DIG-CARD-01).
const maxLevel = 4

// levels are the variants with one number of the dungeon a step up or down.
func levels(d *digger.Dungeon) []variant {
	var out []variant
	for i, c := range d.Cards {
		for _, to := range []int{c.Level - 1, c.Level + 1} {
			if c.Kind == digger.Entry || to < 1 || to > maxLevel {
				continue
			}
			out = append(out, variant{
				Change:  Change{Card: c.ID, What: "level", From: strconv.Itoa(c.Level), To: strconv.Itoa(to)},
				dungeon: with(d, i, func(c *digger.Card) { c.Level = to }), harder: to > c.Level,
			})
		}
	}
	for _, step := range []int{-1, 1} {
		climax, final := *d, *d
		climax.TNBonus.Climax += step
		final.TNBonus.Final += step
		out = append(out,
			variant{
				Change:  Change{What: "tn_bonus.climax", From: strconv.Itoa(d.TNBonus.Climax), To: strconv.Itoa(climax.TNBonus.Climax)},
				dungeon: &climax, harder: step > 0,
			},
			variant{
				Change:  Change{What: "tn_bonus.final", From: strconv.Itoa(d.TNBonus.Final), To: strconv.Itoa(final.TNBonus.Final)},
				dungeon: &final, harder: step > 0,
			})
	}
	return out
}

// conditions are the variants with one condition more or less: every card may lose one that is not its last, and gets each
// of a class that it has already, so that a dungeon keeps its character.
func conditions(rs *digger.Ruleset, d *digger.Dungeon) []variant {
	names := slices.Sorted(maps.Keys(rs.Conditions))
	var out []variant
	for i, c := range d.Cards {
		if c.Kind == digger.Entry {
			continue
		}
		for j, name := range c.Conditions {
			if len(c.Conditions) < 2 || slices.Contains(c.Conditions[:j], name) {
				continue
			}
			out = append(out, variant{
				Change:  Change{Card: c.ID, What: "condition", From: name},
				dungeon: with(d, i, func(c *digger.Card) { c.Conditions = slices.Delete(c.Conditions, j, j+1) }),
				harder:  rs.Conditions[name].Beneficial,
			})
		}
		for _, name := range names {
			same := func(have string) bool { return rs.Conditions[have].Class == rs.Conditions[name].Class }
			if slices.Contains(c.Conditions, name) || !slices.ContainsFunc(c.Conditions, same) {
				continue
			}
			out = append(out, variant{
				Change:  Change{Card: c.ID, What: "condition", To: name},
				dungeon: with(d, i, func(c *digger.Card) { c.Conditions = append(c.Conditions, name) }),
				harder:  !rs.Conditions[name].Beneficial,
			})
		}
	}
	return out
}

// numbers are the variants with one number of the ruleset a step up or down: those that play goes by whatever the dungeon
// is. A step that the ruleset does not allow is left out.
func numbers(rs *digger.Ruleset) []variant {
	var out []variant
	add := func(path string, value int, set func(rs *digger.Ruleset, value int)) {
		for _, to := range []int{value - 1, value + 1} {
			c := *rs
			set(&c, to)
			if c.Validate() == nil {
				out = append(out, variant{Change: Change{What: path, From: strconv.Itoa(value), To: strconv.Itoa(to)}, ruleset: &c})
			}
		}
	}
	table := func(path string, of func(rs *digger.Ruleset) *map[string]int) {
		for _, key := range slices.Sorted(maps.Keys(*of(rs))) {
			add(path+"."+key, (*of(rs))[key], func(rs *digger.Ruleset, value int) {
				changed := maps.Clone(*of(rs))
				changed[key] = value
				*of(rs) = changed
			})
		}
	}
	table("challenge.tn", func(rs *digger.Ruleset) *map[string]int { return &rs.Challenge.TN })
	add("exploration.final_at", rs.Exploration.FinalAt, func(rs *digger.Ruleset, v int) { rs.Exploration.FinalAt = v })
	table("exploration.success", func(rs *digger.Ruleset) *map[string]int { return &rs.Exploration.Success })
	table("exploration.failure", func(rs *digger.Ruleset) *map[string]int { return &rs.Exploration.Failure })
	add("exhaustion.out_at", rs.Exhaustion.OutAt, func(rs *digger.Ruleset, v int) { rs.Exhaustion.OutAt = v })
	table("exhaustion.party_success", func(rs *digger.Ruleset) *map[string]int { return &rs.Exhaustion.PartySuccess })
	table("exhaustion.party_failure", func(rs *digger.Ruleset) *map[string]int { return &rs.Exhaustion.PartyFailure })
	table("exhaustion.individual_failure", func(rs *digger.Ruleset) *map[string]int { return &rs.Exhaustion.IndividualFailure })
	add("risk.bonus", rs.Risk.Bonus, func(rs *digger.Ruleset, v int) { rs.Risk.Bonus = v })
	add("risk.chance_at_most", rs.Risk.ChanceAtMost, func(rs *digger.Ruleset, v int) { rs.Risk.ChanceAtMost = v })
	add("risk.extra_exhaustion", rs.Risk.ExtraExhaustion, func(rs *digger.Ruleset, v int) { rs.Risk.ExtraExhaustion = v })
	return out
}
