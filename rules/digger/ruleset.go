package digger

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
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

// ParseRuleset reads a ruleset document. Unknown keys and values that the rules cannot use are errors that name the place.
func ParseRuleset(document []byte) (*Ruleset, error) {
	dec := json.NewDecoder(bytes.NewReader(document))
	dec.DisallowUnknownFields()
	rs := &Ruleset{}
	if err := dec.Decode(rs); err != nil {
		return nil, fmt.Errorf("ruleset: %w", err)
	}
	return rs, rs.validate()
}

func (rs *Ruleset) validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	word := func(path, got string, allowed ...string) {
		if !slices.Contains(allowed, got) {
			bad("%s: %q is none of %v", path, got, allowed)
		}
	}
	word("effects.duplicate_rule", rs.Effects.DuplicateRule, "restart_keep_due", "restart")
	word("effects.duplicate_users", rs.Effects.DuplicateUsers, "union", "last")
	word("effects.shortsighted_ability", rs.Effects.ShortsightedAbility, "next_challenge", "used_challenge")
	word("conditions_stacking", rs.ConditionsStacking, "stack", "refresh")
	if rs.DP.CPPerDP < 1 {
		bad("dp.cp_per_dp: has to be at least 1")
	}
	if rs.DP.AbilityMin < 0 || rs.DP.AbilityMax < rs.DP.AbilityMin || len(rs.DP.AbilityCost) != rs.DP.AbilityMax+1 {
		bad("dp.ability_cost: has to give the cost of each rating from 0 to ability_max")
	}
	if rs.Challenge.Die < 1 || rs.Risk.ChanceDie < 1 {
		bad("challenge.die, risk.chance_die: have to be at least 1")
	}
	if rs.Party.MinToEnter < 1 || rs.Party.Max < rs.Party.MinToEnter {
		bad("party: min_to_enter has to be 1 to max")
	}
	if len(rs.Party.Recommended) != 2 || len(rs.Party.Preferred) != 2 {
		bad("party: recommended and preferred are ranges of two numbers")
	}
	if len(rs.Challenge.Levels) == 0 {
		bad("challenge.levels: is empty")
	}
	for _, level := range rs.Challenge.Levels {
		key := strconv.Itoa(level)
		for path, table := range map[string]map[string]int{
			"challenge.tn": rs.Challenge.TN, "exploration.success": rs.Exploration.Success, "exploration.failure": rs.Exploration.Failure,
			"exhaustion.party_success": rs.Exhaustion.PartySuccess, "exhaustion.party_failure": rs.Exhaustion.PartyFailure,
			"exhaustion.individual_failure": rs.Exhaustion.IndividualFailure,
		} {
			if _, ok := table[key]; !ok {
				bad("%s.%s: is missing", path, key)
			}
		}
	}
	for _, name := range []string{"major", "minor"} {
		if _, ok := rs.Tools.Ratings[name]; !ok {
			bad("tools.ratings.%s: is missing", name)
		}
	}
	fields := append([]string{
		"all", "exhaustion", "exhaustion_on_failure", "gain_minimum", "exploration_on_success", "relevant",
		"party_exhaustion", "user_exhaustion_instead", "party_exhaustion_if_user_fails",
	}, AbilityNames...)
	phases := func(path string, list []Phase) {
		for i, p := range list {
			for name := range p {
				if !slices.Contains(fields, name) {
					bad("%s.phases[%d].%s: is unknown", path, i, name)
				}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(rs.Tools.Qualities)) {
		q := rs.Tools.Qualities[name]
		word("tools.qualities."+name+".class", q.Class, "drawback", "lesser", "greater", "greatest")
		word("tools.qualities."+name+".requires_previous", q.RequiresPrevious, "", "passed", "failed")
		phases("tools.qualities."+name, q.Phases)
	}
	for _, name := range slices.Sorted(maps.Keys(rs.Conditions)) {
		c := rs.Conditions[name]
		word("conditions."+name+".class", c.Class, "basic", "advanced")
		if len(c.Phases) == 0 && !c.ClearsEarlierConditions {
			bad("conditions.%s.phases: is empty", name)
		}
		phases("conditions."+name, c.Phases)
	}
	return errors.Join(errs...)
}

// at reads a table by level.
func at(table map[string]int, level int) int { return table[strconv.Itoa(level)] }
