package diedrop

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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

// Ruleset is a document with every number and table of the system. It is not changed once parsed; share it freely.
type Ruleset struct {
	ID      string `json:"id"`
	Version int    `json:"version"`
	// DieChain lists the usage dice from the largest down: d20 … d4 (DDW-USE-03).
	DieChain []string `json:"die_chain"`
	// SlotRatios gives the food slots of a die for each member, as fractions (DDW-SLOT-02 to -07).
	SlotRatios   map[string]string  `json:"slot_ratios"`
	SlotRounding string             `json:"slot_rounding"`
	Terrains     map[string]Terrain `json:"terrains"`
	// EncounterTables are those outdoors, by id (DDW-ENC-11 to -14).
	EncounterTables map[string]EncounterTable `json:"encounter_tables"`
	Reactions       []Reaction                `json:"reaction_table"`
	LightSources    map[string]LightSource    `json:"light_sources"`
	SiteTables      []SiteTable               `json:"site_tables"`
	Missions        []MissionText             `json:"missions"`
	// Params are the values that a campaign may override.
	Params map[string]Param `json:"params"`
}

// Terrain is a kind of hex.
type Terrain struct {
	// Dice is how many usage dice a round there costs without a route, 1 to 3.
	Dice int `json:"dice"`
	// EncounterTable is the id of its table.
	EncounterTable string `json:"encounter_table"`
}

// EncounterTable is rolled on outdoors with 2d4.
type EncounterTable struct {
	Name    string  `json:"name"`
	Die     string  `json:"die"`
	Entries []Entry `json:"entries"`
}

// SiteTable is rolled on inside a site with d6.
type SiteTable struct {
	Number  int     `json:"number"`
	ID      string  `json:"id"`
	Name    string  `json:"name"`
	Die     string  `json:"die"`
	Entries []Entry `json:"entries"`
}

// Entry is one row of an encounter table.
type Entry struct {
	Roll     int    `json:"roll"`
	Creature string `json:"creature"`
	// NumberDie is the die for how many; nil for a single creature (DDW-SITE-03).
	NumberDie *int `json:"number_die"`
	UsesMoney bool `json:"uses_money"`
	// Remains tells that their remains can be prepared and sold.
	Remains bool     `json:"remains"`
	Kinds   []string `json:"kinds,omitempty"`
}

// Reaction is a band of the 2d6 reaction roll (DDW-NPC-01).
type Reaction struct {
	Min  int    `json:"min"`
	Max  int    `json:"max"`
	ID   string `json:"id"`
	Text string `json:"text"`
}

// LightSource is a kind of light with its spare.
type LightSource struct {
	Spare      string `json:"spare"`
	SpareSlots int    `json:"spare_slots"`
}

// MissionText is one of the twenty missions and rumours.
type MissionText struct {
	Number int      `json:"number"`
	Title  string   `json:"title"`
	Text   string   `json:"text"`
	Tags   []string `json:"tags,omitempty"`
}

// Param is a value that a campaign may override.
type Param struct {
	// Default is the value that the catalogue decides.
	Default any `json:"default"`
	// Options are the values allowed: a list, or a range such as "1..3" or "0..".
	Options any `json:"options"`
	// Rules are the catalogue ids that read it.
	Rules []string `json:"rules"`
	Note  string   `json:"note"`
	// Value overrides Default when it is set.
	Value *any `json:"value,omitempty"`
}

func (p Param) get() any {
	if p.Value != nil {
		return *p.Value
	}
	return p.Default
}

var shipped = sync.OnceValue(func() *Ruleset {
	rs, err := Parse(defaultRuleset)
	if err != nil {
		panic(fmt.Sprintf("diedrop: shipped ruleset: %v", err))
	}
	return rs
})

// Default returns the shipped ruleset.
func Default() *Ruleset { return shipped() }

// DefaultDocument returns the shipped ruleset as the JSON it is made from.
func DefaultDocument() []byte { return bytes.Clone(defaultRuleset) }

// Parse reads a ruleset document. Unknown keys, missing tables and values outside their options are errors that name
// the place.
func Parse(document []byte) (*Ruleset, error) {
	rs := &Ruleset{}
	if err := decode(document, rs); err != nil {
		return nil, fmt.Errorf("ruleset: %w", err)
	}
	if err := rs.validate(); err != nil {
		return nil, err
	}
	return rs, nil
}

// decode reads one JSON value, with no unknown keys and nothing after it.
func decode(document []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(document))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is something after the document")
	}
	return nil
}

func (rs *Ruleset) validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if len(rs.DieChain) == 0 {
		bad("die_chain: is empty")
	}
	for i, d := range rs.DieChain {
		if dieSides(d) < 2 || dieName(dieSides(d)) != d || i > 0 && dieSides(d) >= dieSides(rs.DieChain[i-1]) {
			bad("die_chain[%d]: %q does not step down", i, d)
		}
		if num, den := ratio(rs.SlotRatios[d]); num < 1 || num > maxNumber || den < 1 || den > maxNumber {
			bad("slot_ratios.%s: %q is no fraction above 0", d, rs.SlotRatios[d])
		}
	}
	for name, t := range rs.Terrains {
		if t.Dice < 1 || t.Dice > 3 {
			bad("terrains.%s.dice: %d is not within 1..3", name, t.Dice)
		}
		if _, ok := rs.EncounterTables[t.EncounterTable]; !ok {
			bad("terrains.%s.encounter_table: there is no table %q", name, t.EncounterTable)
		}
	}
	for name, t := range rs.EncounterTables {
		if !covers(t.Entries, 2, 8) || slices.ContainsFunc(t.Entries, Entry.badDie) {
			bad("encounter_tables.%s.entries: have to be the rolls 2 to 8, with number dice from d2 to d20", name)
		}
	}
	for i, t := range rs.SiteTables {
		if t.Number != i+1 || !covers(t.Entries, 1, 6) || slices.ContainsFunc(t.Entries, Entry.badDie) {
			bad("site_tables[%d]: has to be number %d with the rolls 1 to 6, with number dice from d2 to d20", i, i+1)
		}
	}
	for _, kind := range []string{Torch, Lantern} {
		if l, ok := rs.LightSources[kind]; !ok || l.SpareSlots < 0 || l.SpareSlots > maxNumber {
			bad("light_sources.%s: needs spare_slots from 0", kind)
		}
	}
	if len(rs.Missions) == 0 {
		bad("missions: are missing")
	}
	for i, m := range rs.Missions {
		if m.Number != i+1 || m.Title == "" || m.Text == "" {
			bad("missions[%d]: has to be number %d with a title and a text", i, i+1)
		}
	}
	for total := 2; total <= 12; total++ {
		if rs.reaction(total) == "" {
			bad("reaction_table: nothing for %d", total)
		}
	}
	for name := range shippedParams {
		if _, ok := rs.Params[name]; !ok {
			bad("params.%s: is missing", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(rs.Params)) {
		p, known := rs.Params[name], shippedParams[name]
		switch err := p.allows(p.get()); {
		case known.Options == nil:
			bad("params.%s: is unknown", name)
		case !reflect.DeepEqual(p.Options, known.Options):
			// The rules know these values and no others.
			bad("params.%s.options: have to be %v", name, known.Options)
		case err != nil:
			bad("params.%s: %w", name, err)
		case strings.HasPrefix(name, "light.") && known.Default != true && !rs.IsUsageDie(int(p.get().(float64))):
			bad("params.%s: %v is not in the die chain", name, p.get())
		}
	}
	return errors.Join(errs...)
}

// shippedParams are the parameters that the rules read, with the values they know.
var shippedParams = func() map[string]Param {
	var doc struct {
		Params map[string]Param `json:"params"`
	}
	if err := json.Unmarshal(defaultRuleset, &doc); err != nil {
		panic(err)
	}
	return doc.Params
}()

func (e Entry) badDie() bool { return e.NumberDie != nil && (*e.NumberDie < 2 || *e.NumberDie > 20) }

func covers(entries []Entry, from, to int) bool {
	if len(entries) != to-from+1 {
		return false
	}
	for i, e := range entries {
		if e.Roll != from+i || e.Creature == "" {
			return false
		}
	}
	return true
}

// With returns a ruleset with parameters overridden. Unknown names, wrong types and values outside the options are
// errors that name the parameter; nothing is overridden then.
func (rs *Ruleset) With(overrides map[string]any) (*Ruleset, error) {
	out := *rs
	out.Params = maps.Clone(rs.Params)
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(overrides)) {
		p, ok := out.Params[name]
		v := normal(overrides[name])
		if !ok {
			errs = append(errs, fmt.Errorf("%s: there is no such parameter", name))
			continue
		}
		if err := p.allows(v); err != nil {
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

// normal maps all kinds of numbers to the one that JSON gives.
func normal(v any) any {
	switch n := v.(type) {
	case int:
		return float64(n)
	case int32:
		return float64(n)
	case int64:
		return float64(n)
	}
	return v
}

// allows tells whether a value is among the options.
func (p Param) allows(v any) error {
	switch options := p.Options.(type) {
	case string:
		low, high, _ := strings.Cut(options, "..")
		n, ok := v.(float64)
		if !ok || n != math.Trunc(n) {
			return fmt.Errorf("%v is no whole number", v)
		}
		least, err := strconv.Atoi(low)
		if err != nil {
			return fmt.Errorf("options %q are no range", options)
		}
		most := math.MaxInt32
		if high != "" {
			if most, err = strconv.Atoi(high); err != nil {
				return fmt.Errorf("options %q are no range", options)
			}
		}
		if n < float64(least) || n > float64(most) {
			return fmt.Errorf("%v is not within %s", v, options)
		}
		return nil
	case []any:
		if slices.ContainsFunc(options, func(o any) bool { return o == v }) {
			return nil
		}
		return fmt.Errorf("%v is not one of %v", v, options)
	}
	return fmt.Errorf("options %v are neither a range nor a list", p.Options)
}

// param returns a parameter that every parsed ruleset has with this type; a wrong name or type is a fault of the rules.
func param[T any](rs *Ruleset, name string) T {
	v, ok := rs.Params[name].get().(T)
	if !ok {
		panic(fmt.Sprintf("diedrop: parameter %s is %v, not a %T", name, rs.Params[name].get(), v))
	}
	return v
}

func (rs *Ruleset) int(name string) int     { return int(param[float64](rs, name)) }
func (rs *Ruleset) text(name string) string { return param[string](rs, name) }
func (rs *Ruleset) flag(name string) bool   { return param[bool](rs, name) }

// optional returns a number, or false when the parameter is null.
func (rs *Ruleset) optional(name string) (int, bool) {
	n, ok := rs.Params[name].get().(float64)
	return int(n), ok
}

func (rs *Ruleset) reaction(total int) string {
	for _, r := range rs.Reactions {
		if r.Min <= total && total <= r.Max {
			return r.ID
		}
	}
	return ""
}

// dieSides reads "d8"; 0 for anything else.
func dieSides(name string) int {
	digits, ok := strings.CutPrefix(name, "d")
	n, err := strconv.Atoi(digits)
	if !ok || err != nil {
		return 0
	}
	return n
}

func dieName(sides int) string { return "d" + strconv.Itoa(sides) }

func ratio(text string) (num, den int) {
	top, bottom, fraction := strings.Cut(text, "/")
	num, err := strconv.Atoi(top)
	if err != nil {
		return 0, 0
	}
	if !fraction {
		return num, 1
	}
	if den, err = strconv.Atoi(bottom); err != nil {
		return 0, 0
	}
	return num, den
}

// stepDown returns the next smaller die of the chain, or 0 below its end.
func (rs *Ruleset) stepDown(sides int) int {
	i := slices.Index(rs.DieChain, dieName(sides))
	if i < 0 || i+1 == len(rs.DieChain) {
		return 0
	}
	return dieSides(rs.DieChain[i+1])
}

// stepUp returns the next larger die of the chain, or 0 above its start.
func (rs *Ruleset) stepUp(sides int) int {
	i := slices.Index(rs.DieChain, dieName(sides))
	if i < 1 {
		return 0
	}
	return dieSides(rs.DieChain[i-1])
}

func (rs *Ruleset) smallest() int { return dieSides(rs.DieChain[len(rs.DieChain)-1]) }

// MaxFoodDice returns how many usage dice food may have at once (DDW-SLOT-11).
func (rs *Ruleset) MaxFoodDice() int { return rs.int("food.max_dice") }

// IsUsageDie tells whether a die of that many sides is in the chain.
func (rs *Ruleset) IsUsageDie(sides int) bool { return slices.Contains(rs.DieChain, dieName(sides)) }

// Slots returns how many slots the food of one die fills for so many members (DDW-SLOT-02 to -08).
func (rs *Ruleset) Slots(sides, members int) int {
	if members < 1 {
		return 0
	}
	num, den := ratio(rs.SlotRatios[dieName(sides)])
	return max(1, (members*num+den-1)/den)
}

// SlotsNeeded returns how many slots all food dice fill, each rounded by itself (DDW-SLOT-09).
func (rs *Ruleset) SlotsNeeded(food []int, members int) int {
	n := 0
	for _, d := range food {
		n += rs.Slots(d, members)
	}
	return n
}
