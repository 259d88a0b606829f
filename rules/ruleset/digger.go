package ruleset

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// described is a parameter of a document that does not describe its own. A star in the path stands for every key there.
type described struct {
	path      string
	kind      Kind
	elements  Kind
	low, high int // bounds of the numbers; both 0: none
	options   []any
	nullable  bool
	rules     string
	note      string
}

// most bounds numbers that count points and percents; the rules add a few of them up.
const most = 10_000

// words are the options of an enum.
func words(w ...any) []any { return w }

// diggerTable lists what the catalogue names, in its order.
var diggerTable = []described{
	{path: "dp.cp_per_dp", kind: Integer, low: 1, high: most, rules: "DIG-DP-01", note: "character points that make one dungeon point"},
	{path: "dp.cp_at_creation", kind: Integer, high: 1_000_000, rules: "DIG-DP-02", note: "character points of a new character"},
	{path: "dp.dp_at_creation", kind: Integer, high: 1_000_000, rules: "DIG-DP-02", note: "what that comes to in dungeon points; follows from the two above when it is not set"},
	{path: "dp.ability_cost", kind: List, elements: Integer, high: most, rules: "DIG-DP-03 DIG-OPEN-01", note: "whole cost of the ratings 0, 1, 2 and so on up to the highest"},
	{path: "dp.ability_min", kind: Integer, high: 100, rules: "DIG-ABIL-01", note: "lowest rating that can be bought"},
	{path: "dp.ability_max", kind: Integer, high: 100, rules: "DIG-ABIL-01 DIG-OPEN-01", note: "highest rating; needs a cost for each"},
	{path: "dp.ability_floor", kind: Integer, low: -most, high: most, nullable: true, rules: "DIG-ABIL-07 DIG-OPEN-23", note: "what conditions cannot press a score below; null: nothing stops them"},
	{path: "tools.price_dp", kind: Integer, high: most, rules: "DIG-TOOL-01 DIG-OPEN-11", note: "dungeon points for a tool"},
	{path: "tools.application_bonus", kind: Map, rules: "DIG-TOOL-12 DIG-OPEN-11", note: "what the first purchase of a new character gets"},
	{path: "tools.application_bonus.enabled", kind: Boolean, rules: "DIG-TOOL-12", note: "whether there is such a bonus"},
	{path: "tools.application_bonus.tools_for_one_price", kind: Integer, low: 1, high: 100, rules: "DIG-TOOL-12", note: "tools of the first purchase that cost as much as one"},
	{path: "tools.application_bonus.legacy_price_dp", kind: Integer, high: most, rules: "DIG-OPEN-11", note: "an older price, kept for the record: no rule reads it"},
	{path: "tools.tp_budget", kind: Integer, high: 1_000, rules: "DIG-TOOL-04 DIG-OPEN-14", note: "tool points of one tool"},
	{path: "tools.allow_unused_tp", kind: Boolean, rules: "DIG-TOOL-04", note: "whether a tool may leave tool points unused"},
	{path: "tools.max_drawbacks", kind: Integer, high: 10, rules: "DIG-TOOL-09", note: "drawbacks of one tool"},
	{path: "tools.max_abilities_per_character", kind: Integer, high: 4, rules: "DIG-TOOL-10", note: "abilities that the tools of a form may cover"},
	{path: "tools.repeat_quality", kind: Boolean, rules: "DIG-TOOL-15", note: "whether a tool may have a quality more than once"},
	{path: "tools.ratings", kind: Map, rules: "DIG-TOOL-05 DIG-OPEN-14 DIG-OPEN-15", note: "ratings of tools by name"},
	{path: "tools.ratings.*.tp", kind: Integer, low: -100, high: 100, rules: "DIG-TOOL-05", note: "tool points that the rating takes"},
	{path: "tools.ratings.*.uses", kind: Integer, high: 1_000, rules: "DIG-TOOL-06", note: "uses in each dungeon"},
	{path: "tools.ratings.*.bonus", kind: Integer, low: -1_000, high: 1_000, rules: "DIG-TOOL-06 DIG-OPEN-15", note: "what it adds to its user's total"},
	{path: "tools.qualities.*", kind: Map, rules: "DIG-QUAL-01", note: "one quality or drawback: class, tool points, what it does"},
	{path: "tools.qualities.*.tp", kind: Integer, low: -100, high: 100, rules: "DIG-QUAL-01", note: "tool points that it takes or, below 0, gives"},
	{path: "tools.qualities.*.uses", kind: Integer, low: -1_000, high: 1_000, rules: "DIG-QUAL-01", note: "uses more or fewer"},
	{path: "tools.qualities.*.tool_bonus", kind: Integer, low: -1_000, high: 1_000, rules: "DIG-QUAL-23 DIG-OPEN-15", note: "what it adds to the bonus of the tool"},
	{path: "tools.qualities.*.phases", kind: List, rules: "DIG-QUAL-01", note: "what it does in each challenge that it lasts"},
	{path: "belt.start_slots", kind: Integer, high: 1_000, rules: "DIG-BELT-01", note: "slots that everybody has"},
	{path: "belt.max_extra_slots", kind: Integer, high: 1_000, rules: "DIG-BELT-02", note: "slots more that chapters bring, at most"},
	{path: "belt.slots_per_chapter", kind: Integer, high: 1_000, rules: "DIG-BELT-02", note: "slots that one chapter brings"},
	{path: "belt.first_chapter", kind: Integer, high: 1_000, rules: "DIG-BELT-02", note: "chapter after which they begin to grow"},
	{path: "belt.early_slot_dp", kind: Integer, high: most, rules: "DIG-BELT-03 DIG-OPEN-12", note: "dungeon points for a slot a chapter early"},
	{path: "belt.early_slot_dp_by_chapter", kind: Map, elements: Integer, high: most, rules: "DIG-BELT-05 DIG-OPEN-12", note: "another price in some chapters, by their numbers"},
	{path: "belt.max_early_slots", kind: Integer, high: 1_000, rules: "DIG-BELT-03 DIG-OPEN-13", note: "slots that can be had early in one chapter"},
	{path: "belt.refund_at_next_chapter", kind: Boolean, rules: "DIG-BELT-04", note: "whether the next chapter gives the price of an early slot back"},
	{path: "party.min_to_enter", kind: Integer, low: 1, high: 20, rules: "DIG-PARTY-02", note: "members that enter at least"},
	{path: "party.max", kind: Integer, low: 1, high: 20, rules: "DIG-PARTY-01", note: "members at most"},
	{path: "party.recommended", kind: List, elements: Integer, high: 100, rules: "DIG-OVER-03", note: "from how many to how many members a dungeon is meant for"},
	{path: "party.preferred", kind: List, elements: Integer, high: 100, rules: "DIG-OVER-03", note: "from how many to how many members is best"},
	{path: "flow.draw_requires_rotation", kind: Boolean, rules: "DIG-FLOW-03", note: "whether who has drawn more often than another has to wait"},
	{path: "flow.complete_requires_drawer", kind: Boolean, rules: "DIG-ACT-04", note: "whether only the drawer completes a round"},
	{path: "flow.enter_requires_leader", kind: Boolean, rules: "DIG-FLOW-01", note: "whether only the leader enters"},
	{path: "flow.reshuffle_when_empty", kind: Boolean, rules: "DIG-DECK-07 DIG-OPEN-09", note: "whether an empty pile is shuffled again; if not, it brings the ending"},
	{path: "flow.climax_failure_retreats", kind: Boolean, rules: "DIG-DECK-10 DIG-OPEN-07", note: "whether a failed climax sends the party home"},
	{path: "challenge.levels", kind: List, elements: Integer, high: 100, rules: "DIG-RES-02", note: "levels of challenges; every table by level has an entry for each"},
	{path: "challenge.die", kind: Integer, low: 1, high: 100, rules: "DIG-OPEN-02", note: "sides of the die of an act"},
	{path: "challenge.tn", kind: Map, elements: Integer, low: -most, high: most, rules: "DIG-RES-02 DIG-OPEN-02", note: "target numbers by level"},
	{path: "exploration.final_at", kind: Integer, high: most, rules: "DIG-DECK-08 DIG-OPEN-05", note: "exploration from which the ending comes"},
	{path: "exploration.goal", kind: Integer, high: most, rules: "DIG-RES-09 DIG-OPEN-05", note: "exploration at most, and of whoever wins"},
	{path: "exploration.success", kind: Map, elements: Integer, high: most, rules: "DIG-RES-07", note: "exploration of a passed challenge by level"},
	{path: "exploration.failure", kind: Map, elements: Integer, high: most, rules: "DIG-RES-07", note: "exploration of a failed challenge by level, less than of a passed one"},
	{path: "exhaustion.out_at", kind: Integer, low: 1, high: most, rules: "DIG-RES-14", note: "exhaustion with which a member is out"},
	{path: "exhaustion.cap", kind: Integer, low: 1, high: most, rules: "DIG-RES-13", note: "exhaustion at most"},
	{path: "exhaustion.gain_floor", kind: Integer, high: most, rules: "DIG-RES-12", note: "what a round adds at least"},
	{path: "exhaustion.party_success", kind: Map, elements: Integer, low: -most, high: most, rules: "DIG-RES-10", note: "exhaustion by level when the party passed"},
	{path: "exhaustion.party_failure", kind: Map, elements: Integer, low: -most, high: most, rules: "DIG-RES-10", note: "exhaustion by level when the party failed"},
	{path: "exhaustion.individual_failure", kind: Map, elements: Integer, low: -most, high: most, rules: "DIG-RES-11", note: "exhaustion by level for whoever failed by themselves"},
	{path: "risk.bonus", kind: Integer, low: -most, high: most, rules: "DIG-RISK-02", note: "what a risk adds to the risker's total"},
	{path: "risk.chance_die", kind: Integer, low: 1, high: 1_000, rules: "DIG-RISK-03", note: "sides of the die of a failed risk"},
	{path: "risk.chance_at_most", kind: Integer, high: 1_000, rules: "DIG-RISK-03", note: "greatest face with which a failed risk hurts"},
	{path: "risk.extra_exhaustion", kind: Integer, low: -most, high: most, rules: "DIG-RISK-03", note: "exhaustion of a failed risk that hurts"},
	{path: "risk.tool_extra_exhaustion", kind: Map, elements: Integer, low: -most, high: most, rules: "DIG-RISK-04", note: "exhaustion of a failed risk with a tool, by its rating"},
	{path: "risk.tool_extra_needs_chance", kind: Boolean, rules: "DIG-RISK-04 DIG-OPEN-17", note: "whether that comes only when the risk hurts"},
	{path: "effects.duplicate_rule", kind: Enum, options: words("restart_keep_due", "restart"), rules: "DIG-QUAL-02", note: "what an effect that comes again still owes from before"},
	{path: "effects.duplicate_users", kind: Enum, options: words("union", "last"), rules: "DIG-QUAL-02", note: "who counts as its user when several brought it"},
	{path: "effects.shortsighted_ability", kind: Enum, options: words("next_challenge", "used_challenge"), rules: "DIG-QUAL-12", note: "which ability it weakens"},
	{path: "conditions_stacking", kind: Enum, options: words("stack", "refresh"), rules: "DIG-COND-04", note: "whether a condition that comes again counts twice or begins anew"},
	{path: "conditions.*", kind: Map, rules: "DIG-COND-01", note: "one condition: class, how long it lasts, what it does"},
	{path: "conditions.*.phases", kind: List, rules: "DIG-COND-01", note: "what it does in each challenge that it lasts"},
	{path: "type_profiles.*.target_success", kind: Number, high: 1, rules: "DIG-TYPE-04", note: "share of parties that are to win in a dungeon of the type"},
	{path: "type_profiles.*.level_mix", kind: Map, elements: Number, high: 1, rules: "DIG-TYPE-05", note: "shares of the levels in a generated deck"},
	{path: "type_profiles.*.basic_per_card", kind: Map, elements: Number, high: 1, rules: "DIG-TYPE-05", note: "shares of the numbers of basic conditions on a generated card"},
	{path: "type_profiles.*.advanced_per_card", kind: Map, elements: Number, high: 1, rules: "DIG-TYPE-05", note: "shares of the numbers of advanced conditions on a generated card"},
	{path: "type_profiles.*.beneficial_share", kind: Number, high: 1, rules: "DIG-TYPE-05", note: "share of good ones among the conditions of a generated deck"},
	{path: "type_profiles.*.entry_level", kind: Integer, high: 100, rules: "DIG-TYPE-05", note: "level of a generated entry"},
	{path: "type_profiles.*.final_min_advanced", kind: Integer, high: 24, rules: "DIG-TYPE-05", note: "advanced conditions of a final at least; one with fewer is remarked upon"},
	{path: "type_profiles.*.final_level", kind: Integer, high: 100, rules: "DIG-TYPE-05", note: "level of a generated final"},
	{path: "type_profiles.*.final_tn_bonus", kind: Integer, low: -1_000, high: 1_000, rules: "DIG-TYPE-05", note: "what a generated final adds to its target number"},
	{path: "type_profiles.*.climax_chance", kind: Number, high: 1, rules: "DIG-TYPE-05", note: "chance of a climax in a generated deck"},
	{path: "type_profiles.*.climax_level", kind: Integer, high: 100, rules: "DIG-TYPE-05", note: "level of a generated climax"},
	{path: "type_profiles.*.climax_tn_bonus", kind: Integer, low: -1_000, high: 1_000, rules: "DIG-TYPE-05", note: "what a generated climax adds to its target number"},
}

// entriesOf are the tables of which an entry may be set by itself as well: their keys are those of the shipped document.
var entriesOf = []string{
	"challenge.tn", "exploration.success", "exploration.failure", "exhaustion.party_success", "exhaustion.party_failure",
	"exhaustion.individual_failure", "risk.tool_extra_exhaustion", "belt.early_slot_dp_by_chapter",
}

// diggerParameters finds the parameters of the table in the shipped document.
func diggerParameters(document any) []Parameter {
	var out []Parameter
	for _, d := range diggerTable {
		p := Parameter{Kind: d.kind, Elements: d.elements, Options: d.options, Nullable: d.nullable, Note: d.note, Rules: strings.Fields(d.rules)}
		if d.kind == Integer || d.kind == Number || d.elements != 0 {
			p.Min, p.Max = bound(d.low), bound(d.high)
		}
		for _, path := range expand(document, nil, strings.Split(d.path, ".")) {
			p.Name, p.path = strings.Join(path, "."), path
			out = append(out, p)
			if !slices.Contains(entriesOf, p.Name) {
				continue
			}
			table, _ := lookup(document, path).(map[string]any)
			for _, key := range slices.Sorted(maps.Keys(table)) {
				entry := p
				entry.Kind, entry.Elements, entry.path = p.Elements, 0, append(slices.Clone(path), key)
				entry.Name = strings.Join(entry.path, ".")
				out = append(out, entry)
			}
		}
	}
	return out
}

// expand returns the paths of a document that a pattern stands for.
func expand(tree any, at, pattern []string) [][]string {
	object, ok := tree.(map[string]any)
	if !ok {
		return nil
	}
	keys := []string{pattern[0]}
	if pattern[0] == "*" {
		keys = slices.Sorted(maps.Keys(object))
	}
	var out [][]string
	for _, key := range keys {
		v, ok := object[key]
		path := append(slices.Clone(at), key)
		switch {
		case !ok:
		case len(pattern) == 1:
			out = append(out, path)
		default:
			out = append(out, expand(v, path, pattern[1:])...)
		}
	}
	return out
}

// completeDigger works out the dungeon points of a new character where nobody said them.
func completeDigger(document any, overridden func(string) bool) map[string]string {
	if overridden("dp.dp_at_creation") {
		return nil
	}
	cp, per := whole(lookup(document, []string{"dp", "cp_at_creation"})), whole(lookup(document, []string{"dp", "cp_per_dp"}))
	if per > 0 {
		patch(document, []string{"dp", "dp_at_creation"}, cp/per)
	}
	for _, name := range []string{"dp.cp_at_creation", "dp.cp_per_dp"} {
		if overridden(name) {
			return map[string]string{"dp.dp_at_creation": name}
		}
	}
	return nil
}

// whole reads a whole number of a document that is being made: as it was shipped, or as it was set.
func whole(v any) int {
	switch n := v.(type) {
	case json.Number:
		i, _ := n.Int64()
		return int(i)
	case int:
		return n
	case float64:
		return int(n)
	}
	return 0
}
