package digger

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
)

//go:embed ruleset.json
var defaultRuleset []byte

// Ruleset is a document with every number of the system. It is not changed once parsed; share it freely.
type Ruleset struct {
	Name    string `json:"ruleset"`
	Version int    `json:"version"`
	DP      struct {
		CPPerDP      int   `json:"cp_per_dp"`
		CPAtCreation int   `json:"cp_at_creation"`
		DPAtCreation int   `json:"dp_at_creation"`
		AbilityCost  []int `json:"ability_cost"`
		AbilityMin   int   `json:"ability_min"`
		AbilityMax   int   `json:"ability_max"`
		AbilityFloor *int  `json:"ability_floor"`
	} `json:"dp"`
	Tools struct {
		PriceDP          int `json:"price_dp"`
		ApplicationBonus struct {
			Enabled          bool `json:"enabled"`
			ToolsForOnePrice int  `json:"tools_for_one_price"`
			LegacyPriceDP    int  `json:"legacy_price_dp"`
		} `json:"application_bonus"`
		TPBudget                 int                `json:"tp_budget"`
		AllowUnusedTP            bool               `json:"allow_unused_tp"`
		MaxDrawbacks             int                `json:"max_drawbacks"`
		MaxAbilitiesPerCharacter int                `json:"max_abilities_per_character"`
		RepeatQuality            bool               `json:"repeat_quality"`
		Ratings                  map[string]Rating  `json:"ratings"`
		Qualities                map[string]Quality `json:"qualities"`
	} `json:"tools"`
	Belt struct {
		StartSlots           int            `json:"start_slots"`
		MaxExtraSlots        int            `json:"max_extra_slots"`
		SlotsPerChapter      int            `json:"slots_per_chapter"`
		FirstChapter         int            `json:"first_chapter"`
		EarlySlotDP          int            `json:"early_slot_dp"`
		EarlySlotDPByChapter map[string]int `json:"early_slot_dp_by_chapter"`
		MaxEarlySlots        int            `json:"max_early_slots"`
		RefundAtNextChapter  bool           `json:"refund_at_next_chapter"`
	} `json:"belt"`
	Party struct {
		MinToEnter  int   `json:"min_to_enter"`
		Max         int   `json:"max"`
		Recommended []int `json:"recommended"`
		Preferred   []int `json:"preferred"`
	} `json:"party"`
	Flow struct {
		DrawRequiresRotation   bool `json:"draw_requires_rotation"`
		CompleteRequiresDrawer bool `json:"complete_requires_drawer"`
		EnterRequiresLeader    bool `json:"enter_requires_leader"`
		ReshuffleWhenEmpty     bool `json:"reshuffle_when_empty"`
		ClimaxFailureRetreats  bool `json:"climax_failure_retreats"`
	} `json:"flow"`
	Challenge struct {
		Levels []int          `json:"levels"`
		Die    int            `json:"die"`
		TN     map[string]int `json:"tn"`
	} `json:"challenge"`
	Exploration struct {
		FinalAt int            `json:"final_at"`
		Goal    int            `json:"goal"`
		Success map[string]int `json:"success"`
		Failure map[string]int `json:"failure"`
	} `json:"exploration"`
	Exhaustion struct {
		OutAt             int            `json:"out_at"`
		Cap               int            `json:"cap"`
		GainFloor         int            `json:"gain_floor"`
		PartySuccess      map[string]int `json:"party_success"`
		PartyFailure      map[string]int `json:"party_failure"`
		IndividualFailure map[string]int `json:"individual_failure"`
	} `json:"exhaustion"`
	Risk struct {
		Bonus                int            `json:"bonus"`
		ChanceDie            int            `json:"chance_die"`
		ChanceAtMost         int            `json:"chance_at_most"`
		ExtraExhaustion      int            `json:"extra_exhaustion"`
		ToolExtraExhaustion  map[string]int `json:"tool_extra_exhaustion"`
		ToolExtraNeedsChance bool           `json:"tool_extra_needs_chance"`
	} `json:"risk"`
	Effects struct {
		DuplicateRule       string `json:"duplicate_rule"`
		DuplicateUsers      string `json:"duplicate_users"`
		ShortsightedAbility string `json:"shortsighted_ability"`
	} `json:"effects"`
	ConditionsStacking string               `json:"conditions_stacking"`
	Conditions         map[string]Condition `json:"conditions"`
	TypeProfiles       map[string]Profile   `json:"type_profiles"`
}

// Phase is what a condition or effect does in one challenge: score modifiers by ability, or "all" or "relevant", and
// exhaustion and exploration by the names of the catalogue.
type Phase map[string]int

// Rating is what Major and Minor mean (DIG-TOOL-05, -06).
type Rating struct {
	TP    int `json:"tp"`
	Uses  int `json:"uses"`
	Bonus int `json:"bonus"`
}

// Quality is a quality or drawback of a tool (DIG-QUAL-…).
type Quality struct {
	// Class is drawback, lesser, greater or greatest.
	Class string `json:"class"`
	TP    int    `json:"tp"`
	Uses  int    `json:"uses,omitempty"`
	// ToolBonus adds to the user's tool bonus.
	ToolBonus int `json:"tool_bonus,omitempty"`
	// RequiresPrevious is "passed" or "failed": the effect counts only after a challenge with that outcome.
	RequiresPrevious string  `json:"requires_previous,omitempty"`
	Phases           []Phase `json:"phases,omitempty"`
	ClearsConditions bool    `json:"clears_conditions,omitempty"`
	OnlyRating       string  `json:"only_rating,omitempty"`
	RequiresDrawback bool    `json:"requires_drawback,omitempty"`
}

// Condition is what a card puts on the party (DIG-COND-…).
type Condition struct {
	// Class is basic or advanced.
	Class      string  `json:"class"`
	Beneficial bool    `json:"beneficial,omitempty"`
	Permanent  bool    `json:"permanent,omitempty"`
	Phases     []Phase `json:"phases"`
	// ClearsEarlierConditions empties the list when the card is drawn.
	ClearsEarlierConditions bool `json:"clears_earlier_conditions,omitempty"`
}

// Profile describes a dungeon type for authors and the generator (DIG-TYPE-04, -05).
type Profile struct {
	TargetSuccess    float64            `json:"target_success"`
	LevelMix         map[string]float64 `json:"level_mix"`
	BasicPerCard     map[string]float64 `json:"basic_per_card"`
	AdvancedPerCard  map[string]float64 `json:"advanced_per_card"`
	BeneficialShare  float64            `json:"beneficial_share"`
	EntryLevel       int                `json:"entry_level"`
	FinalMinAdvanced int                `json:"final_min_advanced"`
	FinalLevel       int                `json:"final_level"`
	FinalTNBonus     int                `json:"final_tn_bonus"`
	ClimaxChance     float64            `json:"climax_chance"`
	ClimaxLevel      int                `json:"climax_level"`
	ClimaxTNBonus    int                `json:"climax_tn_bonus"`
}

// The four abilities in the order of the catalogue, and the basic action that stands for each.
var (
	AbilityNames = []string{"brute", "agility", "wits", "combat"}
	basicActions = map[string]string{"force": "brute", "rush": "agility", "investigate": "wits", "fight": "combat"}
)

// AbilityOf returns the ability that a basic action or an ability's own name stands for, in any case (DIG-ABIL-06); ""
// for anything else.
func AbilityOf(name string) string {
	name = strings.ToLower(name)
	if a, ok := basicActions[name]; ok {
		return a
	}
	if slices.Contains(AbilityNames, name) {
		return name
	}
	return ""
}

var shipped = sync.OnceValue(func() *Ruleset {
	rs, err := ParseRuleset(defaultRuleset)
	if err != nil {
		panic(fmt.Sprintf("digger: shipped ruleset: %v", err))
	}
	return rs
})

// Default returns the shipped ruleset.
func Default() *Ruleset { return shipped() }

// DefaultDocument returns the shipped ruleset as the JSON it is made from.
func DefaultDocument() []byte { return bytes.Clone(defaultRuleset) }

// ParseRuleset reads a complete ruleset document. Unknown, missing and mistyped keys and values that the rules cannot use
// are errors that name the path; all of them are told at once.
func ParseRuleset(document []byte) (*Ruleset, error) {
	dec := json.NewDecoder(bytes.NewReader(document))
	dec.UseNumber()
	var tree any
	if err := dec.Decode(&tree); err != nil {
		return nil, fmt.Errorf("ruleset: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("ruleset: more than one document")
	}
	var faults []error
	strict(&faults, "", tree, reflect.TypeFor[Ruleset]())
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	rs := &Ruleset{}
	if err := json.Unmarshal(document, rs); err != nil {
		return nil, fmt.Errorf("ruleset: %w", err)
	}
	if err := rs.Validate(); err != nil {
		return nil, err
	}
	return rs, nil
}

// maxNumber bounds every number of a ruleset, so that no sum can overflow.
const maxNumber = 1_000_000

// strict compares a decoded document with the type it is for. Keys without omitempty are required, spelled exactly.
func strict(faults *[]error, path string, v any, t reflect.Type) {
	bad := func(path, format string, args ...any) {
		*faults = append(*faults, fmt.Errorf("%s: %s", cmp.Or(path, "ruleset"), fmt.Sprintf(format, args...)))
	}
	if t.Kind() == reflect.Pointer {
		if v != nil {
			strict(faults, path, v, t.Elem())
		}
		return
	}
	switch t.Kind() {
	case reflect.Struct:
		object, ok := v.(map[string]any)
		if !ok {
			bad(path, "has to be an object")
			return
		}
		known := map[string]bool{}
		for i := range t.NumField() {
			name, options, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
			known[name] = true
			value, there := object[name]
			switch {
			case there:
				strict(faults, join(path, name), value, t.Field(i).Type)
			case options != "omitempty":
				bad(join(path, name), "is missing")
			}
		}
		for _, name := range slices.Sorted(maps.Keys(object)) {
			if !known[name] {
				bad(join(path, name), "is unknown")
			}
		}
	case reflect.Map:
		object, ok := v.(map[string]any)
		if !ok {
			bad(path, "has to be an object")
			return
		}
		for _, name := range slices.Sorted(maps.Keys(object)) {
			strict(faults, join(path, name), object[name], t.Elem())
		}
	case reflect.Slice:
		list, ok := v.([]any)
		if !ok {
			bad(path, "has to be a list")
			return
		}
		for i, value := range list {
			strict(faults, fmt.Sprintf("%s[%d]", path, i), value, t.Elem())
		}
	case reflect.Int:
		number, ok := v.(json.Number)
		n, err := number.Int64()
		if !ok || err != nil || n < -maxNumber || n > maxNumber {
			bad(path, "has to be a whole number of at most %d", maxNumber)
		}
	case reflect.Float64:
		number, ok := v.(json.Number)
		if f, err := number.Float64(); !ok || err != nil || math.Abs(f) > maxNumber {
			bad(path, "has to be a number of at most %d", maxNumber)
		}
	case reflect.Bool:
		if _, ok := v.(bool); !ok {
			bad(path, "has to be true or false")
		}
	case reflect.String:
		if _, ok := v.(string); !ok {
			bad(path, "has to be a text")
		}
	}
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// conditionFields are what a phase of a condition may hold, effectFields what one of an effect may hold.
var (
	conditionFields = append([]string{"all", "exhaustion", "exhaustion_on_failure", "gain_minimum", "exploration_on_success"}, AbilityNames...)
	effectFields    = append([]string{"relevant", "party_exhaustion", "user_exhaustion_instead", "party_exhaustion_if_user_fails"}, conditionFields...)
)

// Validate tells every value that the rules cannot use, by its path.
func (rs *Ruleset) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	word := func(path, got string, allowed ...string) {
		if !slices.Contains(allowed, got) {
			bad("%s: %q is none of %q", path, got, allowed)
		}
	}
	atLeast := func(path string, got, least int) {
		if got < least {
			bad("%s: %d is below %d", path, got, least)
		}
	}
	if rs.Name == "" {
		bad("ruleset: a ruleset needs a name")
	}
	atLeast("version", rs.Version, 1)
	atLeast("dp.cp_per_dp", rs.DP.CPPerDP, 1)
	atLeast("dp.cp_at_creation", rs.DP.CPAtCreation, 0)
	atLeast("dp.ability_min", rs.DP.AbilityMin, 0)
	atLeast("dp.ability_max", rs.DP.AbilityMax, rs.DP.AbilityMin)
	if rs.DP.CPPerDP > 0 && rs.DP.DPAtCreation != rs.DP.CPAtCreation/rs.DP.CPPerDP {
		bad("dp.dp_at_creation: has to be cp_at_creation over cp_per_dp")
	}
	if len(rs.DP.AbilityCost) != rs.DP.AbilityMax+1 || !slices.IsSorted(rs.DP.AbilityCost) {
		bad("dp.ability_cost: has to give the cost of each rating from 0 to ability_max, none less than the one before")
	}
	atLeast("tools.price_dp", rs.Tools.PriceDP, 0)
	atLeast("tools.application_bonus.tools_for_one_price", rs.Tools.ApplicationBonus.ToolsForOnePrice, 1)
	atLeast("tools.tp_budget", rs.Tools.TPBudget, 0)
	atLeast("tools.max_drawbacks", rs.Tools.MaxDrawbacks, 0)
	atLeast("tools.max_abilities_per_character", rs.Tools.MaxAbilitiesPerCharacter, 0)
	if len(rs.Tools.Ratings) == 0 {
		bad("tools.ratings: is empty")
	}
	for _, name := range slices.Sorted(maps.Keys(rs.Tools.Ratings)) {
		atLeast("tools.ratings."+name+".uses", rs.Tools.Ratings[name].Uses, 0)
		if _, ok := rs.Risk.ToolExtraExhaustion[name]; !ok {
			bad("risk.tool_extra_exhaustion.%s: is missing", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(rs.Risk.ToolExtraExhaustion)) {
		if _, ok := rs.Tools.Ratings[name]; !ok {
			bad("risk.tool_extra_exhaustion.%s: there is no such rating", name)
		}
	}
	phases := func(path string, list []Phase, fields []string) {
		for i, p := range list {
			for _, name := range slices.Sorted(maps.Keys(p)) {
				if !slices.Contains(fields, name) {
					bad("%s.phases[%d].%s: is unknown", path, i, name)
				}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(rs.Tools.Qualities)) {
		q, path := rs.Tools.Qualities[name], "tools.qualities."+name
		word(path+".class", q.Class, "drawback", "lesser", "greater", "greatest")
		word(path+".requires_previous", q.RequiresPrevious, "", Passed, Failed)
		if _, ok := rs.Tools.Ratings[q.OnlyRating]; q.OnlyRating != "" && !ok {
			bad("%s.only_rating: there is no rating %q", path, q.OnlyRating)
		}
		phases(path, q.Phases, effectFields)
	}
	atLeast("belt.start_slots", rs.Belt.StartSlots, 0)
	atLeast("belt.max_extra_slots", rs.Belt.MaxExtraSlots, 0)
	atLeast("belt.slots_per_chapter", rs.Belt.SlotsPerChapter, 0)
	atLeast("belt.early_slot_dp", rs.Belt.EarlySlotDP, 0)
	atLeast("belt.max_early_slots", rs.Belt.MaxEarlySlots, 0)
	for _, chapter := range slices.Sorted(maps.Keys(rs.Belt.EarlySlotDPByChapter)) {
		path := "belt.early_slot_dp_by_chapter." + chapter
		if n, err := strconv.Atoi(chapter); err != nil || strconv.Itoa(n) != chapter {
			bad("%s: is no chapter", path)
		}
		atLeast(path, rs.Belt.EarlySlotDPByChapter[chapter], 0)
	}
	atLeast("party.min_to_enter", rs.Party.MinToEnter, 1)
	atLeast("party.max", rs.Party.Max, rs.Party.MinToEnter)
	for path, span := range byName(map[string][]int{"party.preferred": rs.Party.Preferred, "party.recommended": rs.Party.Recommended}) {
		if len(span) != 2 || span[0] > span[1] {
			bad("%s: has to be two numbers, the lower one first", path)
		}
	}
	atLeast("challenge.die", rs.Challenge.Die, 1)
	atLeast("risk.chance_die", rs.Risk.ChanceDie, 1)
	if len(rs.Challenge.Levels) == 0 {
		bad("challenge.levels: is empty")
	}
	for path, table := range byName(map[string]map[string]int{
		"challenge.tn": rs.Challenge.TN, "exploration.success": rs.Exploration.Success, "exploration.failure": rs.Exploration.Failure,
		"exhaustion.party_success": rs.Exhaustion.PartySuccess, "exhaustion.party_failure": rs.Exhaustion.PartyFailure,
		"exhaustion.individual_failure": rs.Exhaustion.IndividualFailure,
	}) {
		for _, level := range rs.Challenge.Levels {
			if _, ok := table[strconv.Itoa(level)]; !ok {
				bad("%s.%d: is missing", path, level)
			}
		}
		for _, key := range slices.Sorted(maps.Keys(table)) {
			if level, err := strconv.Atoi(key); err != nil || !slices.Contains(rs.Challenge.Levels, level) {
				bad("%s.%s: there is no such level", path, key)
			}
		}
	}
	for _, level := range rs.Challenge.Levels {
		if at(rs.Exploration.Success, level) <= at(rs.Exploration.Failure, level) {
			bad("exploration.success.%d: has to be more than exploration.failure", level)
		}
		atLeast(fmt.Sprintf("exploration.failure.%d", level), at(rs.Exploration.Failure, level), 0)
	}
	atLeast("exploration.final_at", rs.Exploration.FinalAt, 0)
	atLeast("exploration.goal", rs.Exploration.Goal, rs.Exploration.FinalAt)
	atLeast("exhaustion.out_at", rs.Exhaustion.OutAt, 1)
	atLeast("exhaustion.cap", rs.Exhaustion.Cap, rs.Exhaustion.OutAt)
	atLeast("exhaustion.gain_floor", rs.Exhaustion.GainFloor, 0)
	word("effects.duplicate_rule", rs.Effects.DuplicateRule, "restart_keep_due", "restart")
	word("effects.duplicate_users", rs.Effects.DuplicateUsers, "union", "last")
	word("effects.shortsighted_ability", rs.Effects.ShortsightedAbility, "next_challenge", "used_challenge")
	word("conditions_stacking", rs.ConditionsStacking, "stack", "refresh")
	for _, name := range slices.Sorted(maps.Keys(rs.Conditions)) {
		c, path := rs.Conditions[name], "conditions."+name
		word(path+".class", c.Class, "basic", "advanced")
		if len(c.Phases) == 0 && !c.ClearsEarlierConditions {
			bad("%s.phases: is empty", path)
		}
		phases(path, c.Phases, conditionFields)
	}
	for _, name := range slices.Sorted(maps.Keys(rs.TypeProfiles)) {
		rs.TypeProfiles[name].validate("type_profiles."+name, rs, bad)
	}
	return errors.Join(errs...)
}

func (p Profile) validate(path string, rs *Ruleset, bad func(format string, args ...any)) {
	for field, share := range byName(map[string]float64{"beneficial_share": p.BeneficialShare, "climax_chance": p.ClimaxChance, "target_success": p.TargetSuccess}) {
		if share < 0 || share > 1 {
			bad("%s.%s: %v is not within 0 and 1", path, field, share)
		}
	}
	for field, mix := range byName(map[string]map[string]float64{
		"level_mix": p.LevelMix, "basic_per_card": p.BasicPerCard, "advanced_per_card": p.AdvancedPerCard,
	}) {
		sum := 0.0
		for key, share := range byName(mix) {
			n, err := strconv.Atoi(key)
			if err != nil || n < 0 || field == "level_mix" && !slices.Contains(rs.Challenge.Levels, n) {
				bad("%s.%s.%s: is unknown", path, field, key)
			}
			if share < 0 {
				bad("%s.%s.%s: %v is below 0", path, field, key, share)
			}
			sum += share
		}
		if math.Abs(sum-1) > 1e-6 {
			bad("%s.%s: the shares add up to %v, not to 1", path, field, sum)
		}
	}
	for field, level := range byName(map[string]int{"entry_level": p.EntryLevel, "final_level": p.FinalLevel, "climax_level": p.ClimaxLevel}) {
		if !slices.Contains(rs.Challenge.Levels, level) {
			bad("%s.%s: there is no level %d", path, field, level)
		}
	}
	if p.FinalMinAdvanced < 0 {
		bad("%s.final_min_advanced: %d is below 0", path, p.FinalMinAdvanced)
	}
}

// byName walks a map in the order of its keys, so that what is told does not depend on chance.
func byName[V any](m map[string]V) iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		for _, name := range slices.Sorted(maps.Keys(m)) {
			if !yield(name, m[name]) {
				return
			}
		}
	}
}

// at reads a table by level.
func at(table map[string]int, level int) int { return table[strconv.Itoa(level)] }
