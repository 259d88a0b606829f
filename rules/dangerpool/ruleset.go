package dangerpool

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"sync"

	"github.com/wayfarer-rpg/wayfarer/rules/play/transcript"
)

//go:embed ruleset.json
var defaultRuleset []byte

// The names of the parameters.
const (
	paramPoolLimit         = "pool_limit"
	paramMinutesPerDie     = "minutes_per_die"
	paramOverflowMode      = "overflow_mode"
	paramEventsPerSpill    = "events_per_spill"
	paramRealTimeBlock     = "real_time_block"
	paramRealTimeRemainder = "real_time_remainder"
	paramWaitBlock         = "wait_block"
	paramHunkerWaitBlock   = "hunker_wait_block"
	paramWaitRemainder     = "wait_remainder"
	paramShortRestMinutes  = "short_rest_minutes"
	paramShortRestDice     = "short_rest_dice"
	paramShortRestHunkered = "short_rest_dice_hunkered"
	paramLongRestMinutes   = "long_rest_minutes"
	paramLongRestDice      = "long_rest_dice"
	paramLongRestHunkered  = "long_rest_dice_hunkered"
	paramHunkerActionDice  = "hunker_action_dice"
	paramHunkerEndsOn      = "hunker_ends_on"
	paramElapsedBasis      = "elapsed_basis"
	paramRestInterrupt     = "rest_interrupt"
	paramFreeAction        = "free_action_after_combat"
	paramFreeActionLostOn  = "free_action_lost_on"
	paramCombatSuppresses  = "combat_suppresses"
	paramRoundSeconds      = "round_seconds"
	paramDeadlyFrom        = "severity_deadly_from"
	paramSeverityNames     = "severity_names"
	paramEventOverride     = "event_override"
	paramLightSpellRelight = "light_spell_on_relight"
	paramRefuelMode        = "refuel_mode"
	paramDimIsAdditional   = "dim_is_additional"
	paramRankRequired      = "rank_required"
	paramProvisionsRules   = "provisions_rules"
	paramPoolOnExit        = "pool_on_exit"
	paramRiskStacks        = "risk_stacks"
	optionPerTrigger       = "PER_TRIGGER"
	optionPerOne           = "PER_ONE"
	optionDrop             = "DROP"
	optionRoundUp          = "ROUND_UP"
	optionSuppressed       = "SUPPRESSED"
	optionDicePlusHunker   = "DICE_PLUS_HUNKER"
	optionOnCombat         = "ON_COMBAT"
	optionForbidden        = "FORBIDDEN"
	optionAllowed          = "ALLOWED"
	optionReset            = "RESET"
	optionNone             = "NONE"
	optionKeep             = "KEEP"
	maxTableText           = 200
	maxSeverityName        = 40
	maxDiceOfARest         = 1_000
	maxMinutesOfABlock     = 600
	maxPoolLimit           = 100
	maxSecondsOfARound     = 3_600
	maxDiceOfALight        = 1_000
	maxFeet                = 10_000
	maxSides               = 1_000
)

// Ruleset is a document with every number and table of the system. It is not changed once parsed; share it freely.
type Ruleset struct {
	ID      string `json:"ruleset"`
	Version int    `json:"version"`
	// DieSides are those of the dice in the pool (POOL-BASE-01), EventDieSides those of the event die (POOL-EVENT-00).
	DieSides      int   `json:"die_sides"`
	EventDieSides int   `json:"event_die_sides"`
	Scope         Scope `json:"scope"`
	// SetupSteps names the three steps of the setup in order (POOL-SETUP-01).
	SetupSteps []string `json:"setup_steps"`
	// Ranks and MemberKinds are those that a member may have (POOL-SETUP-02, -03).
	Ranks       []string `json:"ranks"`
	MemberKinds []string `json:"member_kinds"`
	// LightSources in the order of the table (POOL-LIGHT-02 to -05).
	LightSources []LightSource `json:"light_sources"`
	// Triggers, Severities and SpellDurations describe for people what the rules do.
	Triggers       []TriggerText   `json:"triggers"`
	Severities     []SeverityText  `json:"severities"`
	SpellDurations []SpellDuration `json:"spell_durations"`
	// Events are numbered 1 to EventCap (POOL-EVENT-01 to -12).
	Events   []EventText `json:"events"`
	EventCap int         `json:"event_cap"`
	// Params are the values that a campaign may override.
	Params map[string]Param `json:"parameters"`
}

// Scope tells how the procedure is tied to others (POOL-SCOPE-02 to -08).
type Scope struct {
	InvokedBy   []string  `json:"invoked_by"`
	Invokes     []string  `json:"invokes"`
	ReturnsTo   []string  `json:"returns_to"`
	Requires    []string  `json:"requires"`
	Bookkeeping []Keeping `json:"bookkeeping"`
}

// Keeping is a record that is kept elsewhere, with what it holds.
type Keeping struct {
	Record string   `json:"record"`
	Holds  []string `json:"holds"`
	Status string   `json:"status,omitempty"`
}

// LightSource is a kind of light.
type LightSource struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Duration is how many dice it lasts.
	Duration int `json:"duration_dice"`
	// Per is what that duration uses up, for example a flask of oil; empty for the source itself.
	Per string `json:"per,omitempty"`
	// Shape is "RADIUS" or "CONE".
	Shape string `json:"shape"`
	// BrightFt and DimFt are feet.
	BrightFt int  `json:"bright_ft"`
	DimFt    int  `json:"dim_ft"`
	Flame    bool `json:"flame"`
}

// TriggerText describes a trigger.
type TriggerText struct {
	ID                 string `json:"id"`
	Kind               string `json:"kind"`
	Dice               int    `json:"dice"`
	DiceHunkered       int    `json:"dice_hunkered,omitempty"`
	PerMinutes         int    `json:"per_minutes,omitempty"`
	PerMinutesHunkered int    `json:"per_minutes_hunkered,omitempty"`
	Minutes            int    `json:"minutes,omitempty"`
	Clock              string `json:"clock,omitempty"`
	Text               string `json:"text"`
}

// SeverityText describes a severity.
type SeverityText struct {
	ID   string `json:"id"`
	Ones string `json:"ones"`
	Text string `json:"text"`
}

// SpellDuration is a written length with the dice that it lasts.
type SpellDuration struct {
	WrittenMinutes int `json:"written_minutes"`
	Dice           int `json:"dice"`
}

// EventText is a row of the event table.
type EventText struct {
	Number      int      `json:"number"`
	ID          string   `json:"id"`
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Examples    []string `json:"examples"`
}

// Param is a value that a campaign may override.
type Param struct {
	// Default is the value that the catalogue decides.
	Default any `json:"default"`
	// OpenPoint is the catalogue's number of what the text leaves open; "-" where it is clear.
	OpenPoint string `json:"open_point"`
	// Tested tells that transcripts may use the alternatives.
	Tested bool   `json:"tested"`
	Note   string `json:"note"`
	// Options are the words allowed, where it is one of a few.
	Options []string `json:"options,omitempty"`
	// Value overrides Default when it is set.
	Value *any `json:"value,omitempty"`
}

// Get returns the value in force.
func (p Param) Get() any {
	if p.Value != nil {
		return *p.Value
	}
	return p.Default
}

// domain says which values a parameter may have.
type domain struct {
	// low and high bound whole numbers.
	low, high int
	// each bounds the texts of a list; nil with exactly set: any text of 1 to maxSeverityName characters.
	each    []string
	list    bool
	exactly int
}

var (
	dungeonActions = []string{TriggerMove, TriggerInteract, TriggerHunkerDown}
	suppressible   = append([]string{TriggerRisk, TriggerWait}, dungeonActions...)
)

var domains = map[string]domain{
	paramPoolLimit:         {low: 1, high: maxPoolLimit},
	paramMinutesPerDie:     {low: 1, high: maxMinutesOfABlock},
	paramRealTimeBlock:     {low: 1, high: maxMinutesOfABlock},
	paramWaitBlock:         {low: 1, high: maxMinutesOfABlock},
	paramHunkerWaitBlock:   {low: 1, high: maxMinutesOfABlock},
	paramShortRestMinutes:  {low: 0, high: MaxMinutes},
	paramShortRestDice:     {low: 0, high: maxDiceOfARest},
	paramShortRestHunkered: {low: 0, high: maxDiceOfARest},
	paramLongRestMinutes:   {low: 0, high: MaxMinutes},
	paramLongRestDice:      {low: 0, high: maxDiceOfARest},
	paramLongRestHunkered:  {low: 0, high: maxDiceOfARest},
	paramHunkerEndsOn:      {list: true, each: triggers},
	paramFreeActionLostOn:  {list: true, each: triggers},
	paramCombatSuppresses:  {list: true, each: suppressible},
	paramRoundSeconds:      {low: 1, high: maxSecondsOfARound},
	paramDeadlyFrom:        {low: 1, high: maxPoolLimit},
	paramSeverityNames:     {list: true, exactly: 3},
}

// ParamRange returns the least and the greatest value of a parameter that is a whole number; not ok for any other.
func ParamRange(name string) (low, high int, ok bool) {
	d, ok := domains[name]
	return d.low, d.high, ok && !d.list
}

var shipped = sync.OnceValue(func() *Ruleset {
	rs, err := Parse(defaultRuleset)
	if err != nil {
		panic(fmt.Sprintf("dangerpool: shipped ruleset: %v", err))
	}
	return rs
})

// shippedParams are the parameters that the rules read, with the values they know.
var shippedParams = sync.OnceValue(func() map[string]Param {
	var doc struct {
		Params map[string]Param `json:"parameters"`
	}
	if err := json.Unmarshal(defaultRuleset, &doc); err != nil {
		panic(err)
	}
	return doc.Params
})

// Default returns the shipped ruleset.
func Default() *Ruleset { return shipped() }

// DefaultDocument returns the shipped ruleset as the JSON it is made from.
func DefaultDocument() []byte { return bytes.Clone(defaultRuleset) }

// Parse reads a ruleset document. Unknown keys, missing tables and values that a parameter may not have are errors that
// name the place.
func Parse(document []byte) (*Ruleset, error) {
	var doc plain
	if err := transcript.Decode(document, &doc); err != nil {
		return nil, fmt.Errorf("ruleset: %w", err)
	}
	rs := doc.normal()
	if err := rs.validate(); err != nil {
		return nil, err
	}
	return rs, nil
}

// plain is a ruleset as JSON has it, whatever the types of its parameters.
type plain Ruleset

func (p plain) normal() *Ruleset {
	rs := Ruleset(p)
	rs.Params = map[string]Param{}
	for name, param := range p.Params {
		param.Default = normal(param.Default)
		if param.Value != nil {
			v := normal(*param.Value)
			param.Value = &v
		}
		rs.Params[name] = param
	}
	return &rs
}

// UnmarshalJSON reads what a parsed ruleset was written as. Documents from outside are for [Parse].
func (rs *Ruleset) UnmarshalJSON(raw []byte) error {
	var doc plain
	if err := json.Unmarshal(raw, &doc); err != nil {
		return err
	}
	*rs = *doc.normal()
	return nil
}

func (rs *Ruleset) validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	within := func(path string, n, low, high int) {
		if n < low || n > high {
			bad("%s: %d is not within %d..%d", path, n, low, high)
		}
	}
	within("die_sides", rs.DieSides, 2, maxSides)
	within("event_die_sides", rs.EventDieSides, 1, maxSides)
	for _, l := range []struct {
		path  string
		words []string
	}{
		{"ranks", rs.Ranks}, {"member_kinds", rs.MemberKinds}, {"scope.invokes", rs.Scope.Invokes},
	} {
		if len(l.words) == 0 || slices.Contains(l.words, "") || repeats(l.words) {
			bad("%s: needs words, each once", l.path)
		}
	}
	seen := map[string]bool{}
	for i, l := range rs.LightSources {
		path := fmt.Sprintf("light_sources[%d]", i)
		if l.ID == "" || seen[l.ID] {
			bad("%s.id: %q is empty or there already", path, l.ID)
		}
		seen[l.ID] = true
		within(path+".duration_dice", l.Duration, 1, maxDiceOfALight)
		within(path+".bright_ft", l.BrightFt, 0, maxFeet)
		within(path+".dim_ft", l.DimFt, 0, maxFeet)
		if l.Shape != shapeRadius && l.Shape != shapeCone {
			bad("%s.shape: %q is neither %s nor %s", path, l.Shape, shapeRadius, shapeCone)
		}
	}
	for _, id := range []string{Torch, Lantern, BullseyeLantern, LightSpell} {
		if !seen[id] {
			bad("light_sources: %s is missing", id)
		}
	}
	if rs.EventCap < 1 || rs.EventCap != len(rs.Events) {
		bad("event_cap: %d events have the cap %d", len(rs.Events), rs.EventCap)
	}
	for i, e := range rs.Events {
		if e.Number != i+1 || e.ID == "" || e.Name == "" {
			bad("events[%d]: has to be number %d with an id and a name", i, i+1)
		}
	}
	for name := range shippedParams() {
		if _, ok := rs.Params[name]; !ok {
			bad("parameters.%s: is missing", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(rs.Params)) {
		p := rs.Params[name]
		known, ok := shippedParams()[name]
		switch {
		case !ok:
			bad("parameters.%s: is unknown", name)
		case !reflect.DeepEqual(p.Options, known.Options):
			// The rules know these words and no others.
			bad("parameters.%s.options: have to be %v", name, known.Options)
		default:
			if err := allows(name, p.Get()); err != nil {
				bad("parameters.%s: %w", name, err)
			}
		}
	}
	return errors.Join(errs...)
}

func repeats(words []string) bool {
	w := slices.Sorted(slices.Values(words))
	return len(slices.Compact(w)) < len(words)
}

// With returns a ruleset with parameters overridden. Unknown names, wrong types and values that a parameter may not have
// are errors that name the parameter; nothing is overridden then.
func (rs *Ruleset) With(overrides map[string]any) (*Ruleset, error) {
	out := *rs
	out.Params = maps.Clone(rs.Params)
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(overrides)) {
		p, ok := out.Params[name]
		if !ok {
			errs = append(errs, fmt.Errorf("%s: there is no such parameter", name))
			continue
		}
		v := normal(overrides[name])
		if err := allows(name, v); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
			continue
		}
		p.Value = &v
		out.Params[name] = p
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return &out, nil
}

// normal maps whole numbers of every Go type to int and lists of texts to []string; anything else stays as it is.
func normal(v any) any {
	switch n := v.(type) {
	case json.Number:
		if i, err := n.Int64(); err == nil && i >= math.MinInt32 && i <= math.MaxInt32 {
			return int(i)
		}
		if f, err := n.Float64(); err == nil {
			return normal(f)
		}
	case float64:
		if n == math.Trunc(n) && math.Abs(n) <= math.MaxInt32 {
			return int(n)
		}
	case int32:
		return int(n)
	case int64:
		return int(n)
	case []string:
		return slices.Clone(n)
	case []any:
		words := make([]string, len(n))
		for i, w := range n {
			s, ok := w.(string)
			if !ok {
				return v
			}
			words[i] = s
		}
		return words
	}
	return v
}

// allows tells whether a parameter may have a value.
func allows(name string, v any) error {
	known := shippedParams()[name]
	d := domains[name]
	switch normal(known.Default).(type) {
	case bool:
		if _, ok := v.(bool); !ok {
			return fmt.Errorf("%v is neither true nor false", v)
		}
	case int:
		if n, ok := v.(int); !ok {
			return fmt.Errorf("%v is no whole number", v)
		} else if n < d.low || n > d.high {
			return fmt.Errorf("%d is not within %d..%d", n, d.low, d.high)
		}
	case string:
		if s, ok := v.(string); !ok || !slices.Contains(known.Options, s) {
			return fmt.Errorf("%v is not one of %v", v, known.Options)
		}
	case []string:
		return d.allows(v)
	}
	return nil
}

func (d domain) allows(v any) error {
	words, ok := v.([]string)
	switch {
	case !ok:
		return fmt.Errorf("%v is no list of texts", v)
	case d.exactly > 0 && len(words) != d.exactly:
		return fmt.Errorf("has %d texts instead of %d", len(words), d.exactly)
	case d.exactly == 0 && repeats(words):
		return fmt.Errorf("%v names something twice", words)
	}
	for _, w := range words {
		switch {
		case d.exactly > 0 && (w == "" || len(w) > maxSeverityName || w == SeverityNone):
			return fmt.Errorf("%q is no name of 1 to %d bytes, or means that there is none", w, maxSeverityName)
		case d.exactly == 0 && !slices.Contains(d.each, w):
			return fmt.Errorf("%q is not one of %v", w, d.each)
		}
	}
	return nil
}

// param returns a parameter that every parsed ruleset has with this type; a wrong name or type is a fault of the rules.
func param[T any](rs *Ruleset, name string) T {
	v, ok := rs.Params[name].Get().(T)
	if !ok {
		panic(fmt.Sprintf("dangerpool: parameter %s is %v, not a %T", name, rs.Params[name].Get(), v))
	}
	return v
}

func (rs *Ruleset) int(name string) int         { return param[int](rs, name) }
func (rs *Ruleset) flag(name string) bool       { return param[bool](rs, name) }
func (rs *Ruleset) is(name, option string) bool { return param[string](rs, name) == option }
func (rs *Ruleset) lists(name, trigger string) bool {
	return slices.Contains(param[[]string](rs, name), trigger)
}
func (rs *Ruleset) dieSeconds() int { return rs.int(paramMinutesPerDie) * 60 }
func (rs *Ruleset) source(id string) (LightSource, bool) {
	i := slices.IndexFunc(rs.LightSources, func(l LightSource) bool { return l.ID == id })
	if i < 0 {
		return LightSource{}, false
	}
	return rs.LightSources[i], true
}

// Event returns the row of the event table with that number, 1 to EventCap; the zero row for another.
func (rs *Ruleset) Event(number int) EventText {
	if number < 1 || number > len(rs.Events) {
		return EventText{}
	}
	return rs.Events[number-1]
}

// Invokes names the procedure that an event calls, by its final number; empty when it calls none (POOL-SCOPE-04).
func (rs *Ruleset) Invokes(final int) string {
	if final != rs.EventCap {
		return ""
	}
	return rs.Scope.Invokes[0]
}

// Severity names how bad the events of a spill with so many ones are (POOL-SEV-01 to -03); NONE without a one.
func (rs *Ruleset) Severity(ones int) string {
	names := param[[]string](rs, paramSeverityNames)
	switch {
	case ones < 1:
		return SeverityNone
	case ones >= rs.int(paramDeadlyFrom):
		return names[2]
	case ones == 1:
		return names[0]
	}
	return names[1]
}

// SpellDice returns how many dice a spell with so many seconds left still lasts, rounded up (POOL-SPELL-05).
func (rs *Ruleset) SpellDice(seconds int) int {
	die := rs.dieSeconds()
	return (seconds + die - 1) / die
}

// Reach tells how far a kind of light shines, in feet from its source: bright up to the first, dim from there up to the
// second (POOL-LIGHT-02 to -05, O-17). Both are 0 for an unknown source.
func (rs *Ruleset) Reach(source string) (bright, dim int) {
	l, _ := rs.source(source)
	if rs.flag(paramDimIsAdditional) {
		return l.BrightFt, l.BrightFt + l.DimFt
	}
	return l.BrightFt, max(l.BrightFt, l.DimFt)
}

// Shape is how a kind of light shines, "RADIUS" or "CONE"; empty for an unknown source.
func (rs *Ruleset) Shape(source string) string {
	l, _ := rs.source(source)
	return l.Shape
}

// PoolLimit is the number of dice at which the pool spills (POOL-BASE-03).
func (rs *Ruleset) PoolLimit() int { return rs.int(paramPoolLimit) }

// ProvisionsNeeded tells whether the setup asks for a note of the provisions (POOL-SETUP-04).
func (rs *Ruleset) ProvisionsNeeded() bool { return !rs.is(paramProvisionsRules, optionNone) }

// KeepsPool tells whether a pool is left in the dungeon for whoever comes back (O-20).
func (rs *Ruleset) KeepsPool() bool { return rs.is(paramPoolOnExit, optionKeep) }
