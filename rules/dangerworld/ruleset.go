package dangerworld

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
	"strings"
	"sync"
)

//go:embed ruleset.json
var defaultRuleset []byte

// Ruleset is a document with every number and table of the system. It is not changed once parsed; share it freely.
type Ruleset struct {
	Name    string `json:"ruleset"`
	Version int    `json:"version"`
	// DieSides is the die of every pool: 6 (DW-POOL-01).
	DieSides int `json:"die_sides"`
	// Accomplishments lists the heights of sets from the lowest up (DW-ACC-01 to -05).
	Accomplishments []Accomplishment `json:"accomplishments"`
	// Purchases is what the GM may buy with botches (DW-SPEND-01 to -10).
	Purchases []Purchase `json:"botch_table"`
	DiceKinds []DiceKind `json:"dice_kinds"`
	// Stats are numbered from 1 as the injury die counts them (DW-STAT-01 to -03).
	Stats []Stat `json:"stats"`
	// Track is the harm track from the first level up (DW-TRACK-02).
	Track []Level `json:"danger_track"`
	// Params are the values that a campaign may override.
	Params map[string]Param `json:"parameters"`
}

// Accomplishment is what a set of one height achieves.
type Accomplishment struct {
	Height  int    `json:"height"`
	Name    string `json:"name"`
	Benefit string `json:"benefit"`
	// MinWidth is how many dice the set needs, 1 or more (DW-SET-02).
	MinWidth int `json:"min_width"`
}

// Purchase is an entry of the botch table.
type Purchase struct {
	ID     string `json:"id"`
	Cost   int    `json:"cost"`
	Effect string `json:"effect"`
	// DangerSteps, PenaltyDice and SetbackDifficulty tell what it does; hits have none of them.
	DangerSteps       int `json:"danger_steps,omitempty"`
	PenaltyDice       int `json:"penalty_dice,omitempty"`
	SetbackDifficulty int `json:"setback_difficulty,omitempty"`
}

// The kinds of dice, with the letter that begins the name of a die: N1, D1, P1.
const (
	Normal  = "NORMAL"
	Danger  = "DANGER"
	Penalty = "PENALTY"
)

// DiceKind says how one kind of dice works.
type DiceKind struct {
	ID           string `json:"id"`
	Prefix       string `json:"prefix"`
	Rerollable   bool   `json:"rerollable"`
	CountsInSets bool   `json:"counts_in_sets"`
	// DangerSteps are those for each such die used in a claimed set (DW-DDIE-04).
	DangerSteps int `json:"danger_steps_when_used,omitempty"`
	// Cancels is how many dice of its height each such die keeps out of sets (DW-PEN-06).
	Cancels int `json:"cancels_same_height,omitempty"`
}

// Stat is one of the numbers on a sheet.
type Stat struct {
	Number int    `json:"number"`
	Name   string `json:"name"`
	Group  string `json:"group"`
}

// The kinds of harm.
const (
	NoHarm  = "NONE"
	Bashed  = "BASHED"
	Stunned = "STUNNED"
	Injured = "INJURED"
	KO      = "KO"
	Dead    = "DEAD"
)

// harmUntil says when each kind of harm ends.
var harmUntil = map[string]string{
	Bashed: "ENCOUNTER_END", Stunned: "ENCOUNTER_END", Injured: "LONG_TERM_REST", KO: "ENCOUNTER_END", Dead: "PERMANENT",
}

// Level is one level of the harm track.
type Level struct {
	Level  int    `json:"level"`
	Harm   string `json:"harm"`
	Points int    `json:"at_points"`
	Label  string `json:"label"`
	Effect string `json:"effect"`
	Until  string `json:"until"`
}

// Param is a value that a campaign may override.
type Param struct {
	// Default is the value that the catalogue decides.
	Default any `json:"default"`
	// OpenPoint is the open point of the catalogue that it decides, "-" for none.
	OpenPoint string `json:"open_point"`
	Tested    bool   `json:"tested"`
	Note      string `json:"note"`
	// Options are the values allowed of a parameter that is a word.
	Options []string `json:"options,omitempty"`
	// Value overrides Default when it is set.
	Value *any `json:"value,omitempty"`
}

func (p Param) get() any {
	if p.Value != nil {
		return *p.Value
	}
	return p.Default
}

// Range bounds a whole number, both ends included.
type Range struct{ Min, Max int }

// Ranges bounds the parameters that are whole numbers, those inside of difficulty_range and hit_danger_points included.
var ranges = map[string]Range{
	"stat_floor": {0, maxStat}, "stat_max": {1, maxStat}, "max_rerolls": {0, 20}, "difficulty_range": {1, 20},
	"hit_danger_points": {0, maxNumber}, "setback_difficulty_offset": {-5, 5}, "max_danger_dice": {0, MaxDice},
	"aspect_dice_per_fp": {0, 10}, "aspect_spend_cap": {0, maxNumber}, "fp_start": {0, maxNumber},
	"negative_aspect_penalty_per_fp": {0, 10}, "points_per_level": {1, maxNumber},
}

// ParamRange returns the bounds of a parameter that is a whole number, or of the numbers that it is made of.
func ParamRange(name string) (Range, bool) {
	r, ok := ranges[name]
	return r, ok
}

var shipped = sync.OnceValue(func() *Ruleset {
	rs, err := Parse(defaultRuleset)
	if err != nil {
		panic(fmt.Sprintf("dangerworld: shipped ruleset: %v", err))
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
	dec := json.NewDecoder(bytes.NewReader(document))
	dec.DisallowUnknownFields()
	if err := dec.Decode(rs); err != nil {
		return nil, fmt.Errorf("ruleset: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("ruleset: there is something after the document")
	}
	if err := rs.validate(); err != nil {
		return nil, err
	}
	return rs, nil
}

// shippedParams are the parameters that the rules read, with the options they know.
var shippedParams = sync.OnceValue(func() map[string]Param {
	var doc struct {
		Params map[string]Param `json:"parameters"`
	}
	if err := json.Unmarshal(defaultRuleset, &doc); err != nil {
		panic(err)
	}
	return doc.Params
})

func (rs *Ruleset) validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if rs.DieSides < 2 || rs.DieSides > 100 {
		bad("die_sides: %d is not within 2..100", rs.DieSides)
	}
	rs.validateTables(bad)
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
			continue
		case !slices.Equal(p.Options, known.Options):
			// The rules know these values and no others.
			bad("parameters.%s.options: have to be %v", name, known.Options)
			continue
		}
		v, err := check(name, known, p.get())
		if err != nil {
			bad("parameters.%s: %w", name, err)
			continue
		}
		if p.Value != nil {
			p.Value = &v
		} else {
			p.Default = v
		}
		rs.Params[name] = p
	}
	if len(errs) == 0 {
		errs = append(errs, rs.consistent())
	}
	return errors.Join(errs...)
}

func (rs *Ruleset) validateTables(bad func(format string, args ...any)) {
	if len(rs.Accomplishments) == 0 {
		bad("accomplishments: are missing")
	}
	for i, a := range rs.Accomplishments {
		if a.Height < 2 || a.Height > rs.DieSides || a.MinWidth < 1 || a.Name == "" || i > 0 && a.Height <= rs.Accomplishments[i-1].Height {
			bad("accomplishments[%d]: needs a name, a width from 1 and a rising height of 2 to the sides of the die", i)
		}
	}
	known := map[string]Purchase{}
	for _, p := range purchases {
		known[p] = Purchase{}
	}
	for i, p := range rs.Purchases {
		_, ok := known[p.ID]
		does := 0
		for _, n := range []int{p.DangerSteps, p.PenaltyDice, p.SetbackDifficulty} {
			if n < 0 || n > maxNumber {
				bad("botch_table[%d]: has numbers from 0 to %d", i, maxNumber)
			}
			if n > 0 {
				does++
			}
		}
		kindFits := p.IsSetback() == (p.SetbackDifficulty > 0) && (p.ID == BuyDanger) == (p.DangerSteps > 0) &&
			(p.ID == BuyPenaltyDie) == (p.PenaltyDice > 0)
		switch {
		case !ok:
			bad("botch_table[%d].id: %q is unknown or there twice", i, p.ID)
		case p.Cost < 1 || p.Cost > maxNumber:
			bad("botch_table[%d].cost: %d is not within 1..%d", i, p.Cost, maxNumber)
		case does > 1 || !kindFits:
			bad("botch_table[%d]: %s does what its name does not tell", i, p.ID)
		}
		delete(known, p.ID)
	}
	for _, id := range slices.Sorted(maps.Keys(known)) {
		bad("botch_table: %s is missing", id)
	}
	rs.validateDiceAndHarm(bad)
}

func (rs *Ruleset) validateDiceAndHarm(bad func(format string, args ...any)) {
	for i, want := range []DiceKind{
		{ID: Normal, Prefix: "N", Rerollable: true, CountsInSets: true},
		{ID: Danger, Prefix: "D", Rerollable: true, CountsInSets: true, DangerSteps: 1},
		{ID: Penalty, Prefix: "P", Cancels: 1},
	} {
		if i >= len(rs.DiceKinds) {
			bad("dice_kinds: %s is missing", want.ID)
			continue
		}
		got := rs.DiceKinds[i]
		numbers := got.DangerSteps < 0 || got.DangerSteps > maxNumber || got.Cancels < 0 || got.Cancels > MaxDice
		idle := want.DangerSteps == 0 && got.DangerSteps != 0 || want.Cancels == 0 && got.Cancels != 0
		got.DangerSteps, got.Cancels = want.DangerSteps, want.Cancels
		if numbers || idle || got != want {
			bad("dice_kinds[%d]: has to be %s with prefix %s and its own numbers, from 0", i, want.ID, want.Prefix)
		}
	}
	if len(rs.DiceKinds) > 3 {
		bad("dice_kinds: are three")
	}
	names := map[string]bool{}
	for i, s := range rs.Stats {
		if s.Number != i+1 || s.Name == "" || names[s.Name] {
			bad("stats[%d]: has to be number %d with a name of its own", i, i+1)
		}
		names[s.Name] = true
	}
	if len(rs.Stats) == 0 {
		bad("stats: are missing")
	}
	if len(rs.Track) == 0 || len(rs.Track) > 1000 {
		bad("danger_track: has 1 to 1000 levels")
	}
	for i, l := range rs.Track {
		if until, ok := harmUntil[l.Harm]; l.Level != i+1 || !ok || l.Until != until {
			bad("danger_track[%d]: has to be level %d with a known harm until its end", i, i+1)
		}
		if l.Harm == Dead && i+1 != len(rs.Track) {
			bad("danger_track[%d]: nothing comes after death", i)
		}
	}
}

// consistent checks what parameters say together.
func (rs *Ruleset) consistent() error {
	if floor, most := rs.int("stat_floor"), rs.int("stat_max"); floor > most {
		return fmt.Errorf("parameters.stat_floor: %d is above stat_max, %d", floor, most)
	}
	return nil
}

// check returns a parameter's value as the rules read it: a string, an int, []int of two, or map[string]int.
func check(name string, known Param, v any) (any, error) {
	if known.Options != nil {
		s, ok := v.(string)
		if !ok {
			return nil, fmt.Errorf("%v is no text", v)
		}
		if !slices.Contains(known.Options, s) {
			return nil, fmt.Errorf("%q is not one of %s", s, strings.Join(known.Options, ", "))
		}
		return s, nil
	}
	r := ranges[name]
	number := func(v any) (int, error) {
		n, ok := whole(v)
		switch {
		case !ok:
			return 0, fmt.Errorf("%v is no whole number", v)
		case n < r.Min || n > r.Max:
			return 0, fmt.Errorf("%d is not within %d..%d", n, r.Min, r.Max)
		}
		return n, nil
	}
	switch name {
	case "difficulty_range":
		list, ok := listOf(v)
		if !ok || len(list) != 2 {
			return nil, fmt.Errorf("%v is no list of the least and the greatest difficulty", v)
		}
		low, err := number(list[0])
		if err != nil {
			return nil, err
		}
		high, err := number(list[1])
		if err != nil {
			return nil, err
		}
		if low > high {
			return nil, fmt.Errorf("%d is above %d", low, high)
		}
		return []int{low, high}, nil
	case "hit_danger_points":
		table, ok := tableOf(v)
		if !ok {
			return nil, fmt.Errorf("%v is no object with points for each hit", v)
		}
		// A hit that is not named keeps its own points.
		out := map[string]int{}
		defaults, _ := tableOf(known.Default)
		for id, points := range defaults {
			out[id], _ = whole(points)
		}
		for _, id := range slices.Sorted(maps.Keys(table)) {
			if _, ok := out[id]; !ok {
				return nil, fmt.Errorf("there is no hit %q", id)
			}
			n, err := number(table[id])
			if err != nil {
				return nil, fmt.Errorf("%s: %w", id, err)
			}
			out[id] = n
		}
		return out, nil
	}
	return number(v)
}

func whole(v any) (int, bool) {
	switch n := v.(type) {
	case int:
		return n, true
	case int32:
		return int(n), true
	case int64:
		return int(n), n == int64(int(n))
	case float64:
		return int(n), n == math.Trunc(n) && math.Abs(n) <= math.MaxInt32
	case json.Number:
		i, err := n.Int64()
		return int(i), err == nil && i == int64(int(i))
	}
	return 0, false
}

func listOf(v any) ([]any, bool) {
	list := reflect.ValueOf(v)
	if !list.IsValid() || list.Kind() != reflect.Slice {
		return nil, false
	}
	out := make([]any, list.Len())
	for i := range out {
		out[i] = list.Index(i).Interface()
	}
	return out, true
}

func tableOf(v any) (map[string]any, bool) {
	switch table := v.(type) {
	case map[string]any:
		return table, true
	case map[string]int:
		out := map[string]any{}
		for k, n := range table {
			out[k] = n
		}
		return out, true
	}
	return nil, false
}

// With returns a ruleset with parameters overridden. Unknown names, wrong types and values outside the options are
// errors that name the parameter; nothing is overridden then.
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
		v, err := check(name, p, overrides[name])
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
			continue
		}
		p.Value = &v
		out.Params[name] = p
	}
	if len(errs) == 0 {
		errs = append(errs, out.consistent())
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return &out, nil
}

// The readers below take values as they are after parsing and as they come back from JSON; anything else is a fault of the
// rules.
func (rs *Ruleset) int(name string) int { return mustWhole(name, rs.Params[name].get()) }

func (rs *Ruleset) is(name, option string) bool { return rs.Params[name].get() == option }

func (rs *Ruleset) hitPoints(id string) int {
	table, _ := tableOf(rs.Params["hit_danger_points"].get())
	return mustWhole("hit_danger_points", table[id])
}

func (rs *Ruleset) difficulties() (least, most int) {
	list, _ := listOf(rs.Params["difficulty_range"].get())
	return mustWhole("difficulty_range", list[0]), mustWhole("difficulty_range", list[1])
}

func mustWhole(name string, v any) int {
	n, ok := whole(v)
	if !ok {
		panic(fmt.Sprintf("dangerworld: parameter %s holds %v", name, v))
	}
	return n
}

// StatMax is the highest value of a stat.
func (rs *Ruleset) StatMax() int { return rs.int("stat_max") }

// StartFP is how many FP a new character has (O-18).
func (rs *Ruleset) StartFP() int { return rs.int("fp_start") }

// hasStat tells whether there is a stat of that name.
func (rs *Ruleset) hasStat(name string) bool {
	return slices.ContainsFunc(rs.Stats, func(s Stat) bool { return s.Name == name })
}

// accomplishment returns what a set of a height achieves; false for a height that makes none (DW-SET-03).
func (rs *Ruleset) accomplishment(height int) (Accomplishment, bool) {
	for _, a := range rs.Accomplishments {
		if a.Height == height {
			return a, true
		}
	}
	return Accomplishment{}, false
}

// Achieves names what a set of a height achieves, "" for a height that achieves nothing.
func (rs *Ruleset) Achieves(height int) string {
	a, _ := rs.accomplishment(height)
	return a.Name
}

// Purchase returns an entry of the botch table.
func (rs *Ruleset) Purchase(id string) (Purchase, bool) {
	for _, p := range rs.Purchases {
		if p.ID == id {
			return p, true
		}
	}
	return Purchase{}, false
}

// maxPoints is where the track ends.
func (rs *Ruleset) maxPoints() int { return len(rs.Track) * rs.int("points_per_level") }

// Level returns the level that danger points stand at, 0 below the first (DW-TRACK-01).
func (rs *Ruleset) Level(points int) int {
	return min(len(rs.Track), points/rs.int("points_per_level"))
}

// Harm returns the kind of harm of a level, NONE of level 0.
func (rs *Ruleset) Harm(level int) string {
	if level < 1 || level > len(rs.Track) {
		return NoHarm
	}
	return rs.Track[level-1].Harm
}

// setbackDifficulty returns the difficulty of a bought setback when the GM names none (DW-SPEND-11).
func (rs *Ruleset) setbackDifficulty(p Purchase) int {
	least, most := rs.difficulties()
	highest := rs.Accomplishments[len(rs.Accomplishments)-1].Height
	return max(least, min(most, highest, p.SetbackDifficulty+rs.int("setback_difficulty_offset")))
}
