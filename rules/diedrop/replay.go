package diedrop

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/wayfarer-rpg/wayfarer/rules/play"
	"github.com/wayfarer-rpg/wayfarer/rules/play/transcript"
)

// TranscriptFormat is what the transcript files say of themselves. The format is described at the end of
// docs/rules/die-drop.md.
const TranscriptFormat = "die-drop-transcript/1"

// exampleMapFile is the name by which transcript files know the example map.
const exampleMapFile = "die-drop-map.json"

// TranscriptFile is a file of transcripts. It marshals to its own format.
type TranscriptFile struct {
	Format      string       `json:"format"`
	MapFile     string       `json:"map_file,omitempty"`
	Transcripts []Transcript `json:"transcripts"`
}

// Transcript is one series of actions with the steps that they are expected to lead to.
type Transcript struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	// Params are overrides of the shipped ruleset.
	Params map[string]any `json:"params,omitempty"`
	// Map stands in for the file's map.
	Map     *Map            `json:"map,omitempty"`
	Party   TranscriptParty `json:"party"`
	Actions []Action        `json:"actions"`
	// Expected holds a [Step] for each action as the file has it; empty in a file that is only to be played.
	Expected []json.RawMessage `json:"expected,omitempty"`

	fileMap *Map
}

// TranscriptParty is how a transcript begins.
type TranscriptParty struct {
	// Hex is absent in a crawl without a map, which begins Inside a site.
	Hex    *Hex   `json:"hex,omitempty"`
	Inside string `json:"inside,omitempty"`
	// Food lists dice such as "d8", the oldest first.
	Food       []string           `json:"food"`
	Members    []TranscriptMember `json:"members"`
	Boat       bool               `json:"boat,omitempty"`
	Lantern    bool               `json:"lantern,omitempty"`
	Gold       int                `json:"gold,omitempty"`
	Light      *TranscriptLight   `json:"light,omitempty"`
	Cargo      []Load             `json:"cargo,omitempty"`
	Discovered []string           `json:"discovered,omitempty"`
	// StarvingRounds is hunger from before; 0 with food.
	StarvingRounds int `json:"starving_rounds,omitempty"`
}

// TranscriptLight is a burning light with a die such as "d8".
type TranscriptLight struct {
	Kind string `json:"kind"`
	Die  string `json:"die"`
}

// TranscriptMember is a member at the beginning, or somebody who joins. What is absent has the defaults of [Newcomer].
type TranscriptMember struct {
	Name     string `json:"name"`
	HP       int    `json:"hp"`
	HPMax    *int   `json:"hp_max,omitempty"`
	STR      int    `json:"str"`
	STRMax   *int   `json:"str_max,omitempty"`
	Capacity *int   `json:"capacity,omitempty"`
	Gear     int    `json:"gear,omitempty"`
	Fatigue  int    `json:"fatigue,omitempty"`
	Torches  int    `json:"torches,omitempty"`
	Oil      int    `json:"oil,omitempty"`
	// FoodSlots are those held at the beginning; nobody joins with any.
	FoodSlots int `json:"food_slots,omitempty"`
}

func (m TranscriptMember) newcomer() Newcomer {
	return Newcomer{
		Name: m.Name, HP: m.HP, HPMax: m.HPMax, STR: m.STR, STRMax: m.STRMax, Capacity: m.Capacity, Gear: m.Gear, Fatigue: m.Fatigue,
		Torches: m.Torches, Oil: m.Oil,
	}
}

// Action is something done in a transcript: its type by the catalogue's word, the faces of the dice in order, and the
// arguments of that type. The others are zero.
type Action struct {
	Type string
	Dice []int
	// To and Via are a move's, Room is a dungeon turn's ("to" in the file).
	To   Hex
	Via  Route
	Room string
	// Member names somebody to harm or to let go, Newcomer is who joins ("member" in the file).
	Member   string
	Newcomer TranscriptMember

	Location, Carrier, Item, Kind, Trigger string
	Count, Value, Steps, HP, STR           int
	FoodSlots                              map[string]int
	// False and Replacement are those of missions, Number is one of them.
	False       []int
	Number      int
	Replacement string

	raw json.RawMessage
}

// actionFields lists the arguments of each type of action; an exclamation mark tells that it cannot do without.
var actionFields = map[string][]string{
	"move": {"to!", "via"}, "search": {}, "forage": {}, "prepare_remains": {"count!", "value", "carrier!"}, "enter": {"location!"}, "leave": {},
	"buy_food": {"steps!"}, "buy_gear": {"item!", "count", "carrier"}, "add_member": {"member!"}, "remove_member": {"member!"},
	"sell_remains": {}, "free_food_slots": {}, "distribute": {"food_slots!"}, "loot": {}, "harm": {"member!", "hp", "str"}, "rest": {},
	"long_rest": {}, "light": {"kind!"}, "dungeon_turn": {"trigger!", "to"}, "retreat": {}, "roll_missions": {"count!", "false"},
	"use_mission": {"number!", "replacement"},
}

// MarshalJSON writes the action as it was read.
func (a Action) MarshalJSON() ([]byte, error) { return a.raw, nil }

// UnmarshalJSON reads an action. Unknown and missing arguments are errors; what an unknown action has is let be, since the
// rules refuse the action.
func (a *Action) UnmarshalJSON(raw []byte) error {
	fields := map[string]json.RawMessage{}
	if err := transcript.Decode(raw, &fields); err != nil {
		return err
	}
	*a = Action{raw: slices.Clone(raw)}
	read := func(name string, into any) error {
		value, ok := fields[name]
		if !ok {
			return nil
		}
		if err := transcript.Decode(value, into); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	}
	if err := errors.Join(read("type", &a.Type), read("dice", &a.Dice)); err != nil {
		return err
	}
	known, ok := actionFields[a.Type]
	switch {
	case a.Type == "":
		return errors.New("type: is missing")
	case !ok:
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if name != "type" && name != "dice" && !slices.Contains(known, name) && !slices.Contains(known, name+"!") {
			return fmt.Errorf("%s: is no argument of %s", name, a.Type)
		}
	}
	for _, name := range known {
		bare, needed := strings.CutSuffix(name, "!")
		if _, ok := fields[bare]; needed && !ok {
			return fmt.Errorf("%s: is missing", bare)
		}
		if err := read(bare, a.argument(bare)); err != nil {
			return err
		}
	}
	if a.Newcomer.FoodSlots != 0 {
		return errors.New("member.food_slots: nobody joins with food")
	}
	return nil
}

// argument returns where the value of a field belongs.
func (a *Action) argument(name string) any {
	switch {
	case name == "to" && a.Type == "move":
		return &a.To
	case name == "member" && a.Type == "add_member":
		return &a.Newcomer
	}
	return map[string]any{
		"to": &a.Room, "via": &a.Via, "member": &a.Member, "location": &a.Location, "carrier": &a.Carrier, "item": &a.Item, "kind": &a.Kind,
		"trigger": &a.Trigger, "count": &a.Count, "value": &a.Value, "steps": &a.Steps, "hp": &a.HP, "str": &a.STR, "food_slots": &a.FoodSlots,
		"false": &a.False, "number": &a.Number, "replacement": &a.Replacement,
	}[name]
}

// Command returns the command that an action gives; not ok for an action that the catalogue does not know.
func (a Action) Command() (c Command, ok bool) {
	switch a.Type {
	case "move":
		return Move{To: a.To, Via: a.Via}, true
	case "search":
		return Search{}, true
	case "forage":
		return Forage{}, true
	case "prepare_remains":
		return PrepareRemains{Count: a.Count, Value: a.Value, Carrier: a.Carrier}, true
	case "enter":
		return Enter{Location: a.Location}, true
	case "leave":
		return Leave{}, true
	case "buy_food":
		return BuyFood{Steps: a.Steps}, true
	case "buy_gear":
		return BuyGear{Item: a.Item, Count: a.Count, Carrier: a.Carrier}, true
	case "add_member":
		return AddMember{Member: a.Newcomer.newcomer()}, true
	case "remove_member":
		return RemoveMember{Name: a.Member}, true
	case "sell_remains":
		return SellRemains{}, true
	case "free_food_slots":
		return FreeFoodSlots{}, true
	case "distribute":
		return Distribute{FoodSlots: a.FoodSlots}, true
	case "loot":
		return Loot{}, true
	case "harm":
		return Harm{Name: a.Member, HP: a.HP, STR: a.STR}, true
	case "rest", "long_rest":
		return Rest{Long: a.Type == "long_rest"}, true
	case "light":
		return LightUp{Kind: a.Kind}, true
	case "dungeon_turn":
		return TakeTurn{Trigger: a.Trigger, To: a.Room}, true
	case "retreat":
		return Retreat{}, true
	case "roll_missions":
		return RollMissions{Count: a.Count, False: a.False}, true
	case "use_mission":
		return UseMission{Number: a.Number, Replacement: a.Replacement}, true
	}
	return nil, false
}

// Step is what an action led to, as the files have it.
type Step struct {
	// Step counts from 1.
	Step   int    `json:"step"`
	Action string `json:"action"`
	// Refused is the refusal's code in lower case, nil when the action was accepted.
	Refused *string        `json:"refused"`
	Rolls   []Roll         `json:"rolls"`
	Result  map[string]any `json:"result"`
	State   View           `json:"state"`
}

// Roll is one die of a step.
type Roll struct {
	Die   string `json:"die"`
	Value int    `json:"value"`
	// For is a text for people; it need not match between files.
	For string `json:"for"`
}

// View is a journey as transcripts show it.
type View struct {
	Round          int              `json:"round"`
	Turn           int              `json:"turn"`
	Hex            *Hex             `json:"hex"`
	Inside         *string          `json:"inside"`
	Room           *string          `json:"room"`
	Visited        []string         `json:"visited"`
	Food           []string         `json:"food"`
	StarvingRounds int              `json:"starving_rounds"`
	Gold           int              `json:"gold"`
	Boat           bool             `json:"boat"`
	Members        []MemberView     `json:"members"`
	Cargo          []Load           `json:"cargo"`
	Light          *TranscriptLight `json:"light"`
	Lantern        bool             `json:"lantern"`
	Discovered     []string         `json:"discovered"`
	Encounter      *Encounter       `json:"encounter"`
	Missions       []Mission        `json:"missions"`
	MissionTexts   map[int]string   `json:"mission_texts"`
	SlotsNeeded    int              `json:"slots_needed"`
	SlotsHeld      int              `json:"slots_held"`
	Dark           bool             `json:"dark"`
	NoRecovery     bool             `json:"no_recovery"`
}

// MemberView is a member as transcripts show them.
type MemberView struct {
	Member
	SlotsUsed  int  `json:"slots_used"`
	Overloaded bool `json:"overloaded"`
}

// View returns the journey as transcripts show it.
func (j Journey) View() View {
	v := View{
		Round: j.Round, Turn: j.Turn, Hex: j.Hex, Inside: orNil(j.Inside), Room: orNil(j.Room), Visited: orEmpty(j.Visited), Food: []string{},
		StarvingRounds: j.StarvingRounds, Gold: j.Gold, Boat: j.Boat, Members: []MemberView{}, Cargo: orEmpty(j.Cargo), Lantern: j.Lantern,
		Discovered: orEmpty(j.Discovered), Encounter: j.Encounter, Missions: orEmpty(j.Missions), MissionTexts: map[int]string{},
		SlotsNeeded: j.SlotsNeeded(), SlotsHeld: j.SlotsHeld(), Dark: j.Dark(), NoRecovery: j.NoRecovery(),
	}
	for _, d := range j.Food {
		v.Food = append(v.Food, dieName(d))
	}
	for _, m := range j.Members {
		v.Members = append(v.Members, MemberView{Member: m, SlotsUsed: j.SlotsUsed(m), Overloaded: j.Overloaded(m)})
	}
	if j.Light != nil {
		v.Light = &TranscriptLight{Kind: j.Light.Kind, Die: dieName(j.Light.Sides)}
	}
	maps.Copy(v.MissionTexts, j.MissionTexts)
	return v
}

func orNil(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func orEmpty[T any](in []T) []T {
	if in == nil {
		return []T{}
	}
	return in
}

// ParseTranscripts reads a file strictly, as [transcript.Decode] does, the expected steps included. open reads the map file
// that it names, from beside it; a name of the example map that open does not find (or open nil) is the example map.
func ParseTranscripts(document []byte, open func(name string) ([]byte, error)) (*TranscriptFile, error) {
	f := &TranscriptFile{}
	if err := transcript.Decode(document, f); err != nil {
		return nil, err
	}
	if f.Format != TranscriptFormat {
		return nil, fmt.Errorf("format: %q is not %q", f.Format, TranscriptFormat)
	}
	world, err := readMapFile(f.MapFile, open)
	if err != nil {
		return nil, fmt.Errorf("map_file: %w", err)
	}
	for i := range f.Transcripts {
		f.Transcripts[i].fileMap = world
		for k, raw := range f.Transcripts[i].Expected {
			if err := checkStep(raw); err != nil {
				return nil, fmt.Errorf("transcripts[%d].expected[%d]: %w", i, k, err)
			}
		}
	}
	return f, nil
}

// Replay plays every transcript of a file by the shipped ruleset. The error tells that the file cannot be read; open is as
// for [ParseTranscripts].
func Replay(document []byte, open func(name string) ([]byte, error)) ([]transcript.Played, error) {
	f, err := ParseTranscripts(document, open)
	if err != nil {
		return nil, err
	}
	played := make([]transcript.Played, len(f.Transcripts))
	for i, t := range f.Transcripts {
		played[i] = t.Replay()
	}
	return played, nil
}

func readMapFile(name string, open func(name string) ([]byte, error)) (*Map, error) {
	if name == "" {
		return ExampleMap(), nil
	}
	var raw []byte
	err := fmt.Errorf("open %s: %w", name, fs.ErrNotExist)
	if open != nil {
		raw, err = open(name)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist) && path.Base(name) == exampleMapFile:
		return ExampleMap(), nil
	case err != nil:
		return nil, err
	}
	return ParseMap(raw)
}

func checkStep(raw []byte) error {
	var s Step
	if err := transcript.Decode(raw, &s); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(s.Result)) {
		if !slices.Contains(resultFields, name) {
			return fmt.Errorf("result: there is no field %q", name)
		}
	}
	return nil
}

// resultFields are all fields that a result may have.
var resultFields = []string{
	"usage", "starved", "encounter_check", "via", "found", "forage", "slots_bought", "gold_paid", "gold", "freed", "light", "dark", "missions",
}

// World returns the map that the transcript is played on: its own or the file's, of which a crawl without a map has the
// sites alone.
func (t Transcript) World() *Map {
	m := t.fileMap
	if t.Map != nil {
		m = t.Map
	}
	if m == nil {
		m = ExampleMap()
	}
	if t.Party.Hex != nil {
		return m
	}
	sites := &Map{ID: m.ID, Name: m.Name}
	for _, l := range m.Locations {
		if l.Kind == KindSite {
			sites.Locations = append(sites.Locations, l)
		}
	}
	return sites
}

// Start returns the command that begins the transcript.
func (t Transcript) Start() (Start, error) {
	rs, err := Default().With(plainNumbers(t.Params))
	if err != nil {
		return Start{}, fmt.Errorf("params: %w", err)
	}
	p := t.Party
	c := Start{
		Ruleset: rs, Map: t.World(), Hex: p.Hex, Inside: p.Inside, Gold: p.Gold, Boat: p.Boat, Lantern: p.Lantern, Cargo: p.Cargo,
		Discovered: p.Discovered, StarvingRounds: p.StarvingRounds,
	}
	for i, name := range p.Food {
		sides, err := sidesOf(name)
		if err != nil {
			return Start{}, fmt.Errorf("party.food[%d]: %w", i, err)
		}
		c.Food = append(c.Food, sides)
	}
	if p.Light != nil {
		sides, err := sidesOf(p.Light.Die)
		if err != nil {
			return Start{}, fmt.Errorf("party.light.die: %w", err)
		}
		c.Light = &Light{Kind: p.Light.Kind, Sides: sides}
	}
	for _, m := range p.Members {
		member := m.newcomer().Member(rs)
		member.FoodSlots = m.FoodSlots
		c.Members = append(c.Members, member)
	}
	return c, nil
}

func sidesOf(die string) (int, error) {
	n, err := strconv.Atoi(strings.TrimPrefix(die, "d"))
	if err != nil || dieName(n) != die {
		return 0, fmt.Errorf("%q is no die such as \"d8\"", die)
	}
	return n, nil
}

// plainNumbers makes of numbers as they are written those that [Ruleset.With] takes.
func plainNumbers(params map[string]any) map[string]any {
	out := maps.Clone(params)
	for name, v := range out {
		if n, ok := v.(json.Number); ok {
			if f, err := n.Float64(); err == nil {
				out[name] = f
			}
		}
	}
	return out
}

// Replay plays the transcript with its own dice. It cannot be played on when the company cannot begin, and at an argument
// outside its kind, which never reaches the rules.
func (t Transcript) Replay() transcript.Played {
	out := transcript.Played{ID: t.ID, Want: t.Expected, Free: []string{"rolls[].for"}}
	start, err := t.Start()
	var begun []Event
	if err == nil {
		begun, err = Decide(Journey{}, start, play.ReportedDice())
	}
	if err != nil {
		out.Err = &transcript.Fault{Transcript: t.ID, Err: err}
		return out
	}
	j := fold(Journey{}, begun)
	for i, a := range t.Actions {
		var s Step
		if j, s, out.Err = a.Play(j); out.Err != nil {
			return out
		}
		s.Step = i + 1
		out.Add(s)
	}
	return out
}

func fold(j Journey, events []Event) Journey {
	for _, e := range events {
		j = Apply(j, e)
	}
	return j
}

// Play plays the action with its own dice. Refused, it changes nothing; the step says so. The error is an argument outside
// its kind.
func (a Action) Play(j Journey) (Journey, Step, error) {
	dice := play.ReportedDice(a.Dice...)
	step := Step{Action: a.Type, Rolls: []Roll{}, Result: map[string]any{}}
	c, known := a.Command()
	var events []Event
	var err error
	switch {
	case known:
		if events, err = Decide(j, c, dice); err == nil {
			err = dice.Close()
		}
	case j.Living() == 0:
		err = play.Refuse(PartyDead, "nobody of the company lives")
	default:
		err = play.Refuse(UnknownAction, "there is no action %s", a.Type)
	}
	var refusal *play.Refusal
	switch {
	case errors.As(err, &refusal) && refusal.Code != Invalid:
		code := strings.ToLower(refusal.Code)
		step.Refused, step.State = &code, j.View()
		return j, step, nil
	case err != nil:
		return j, step, err
	}
	j = fold(j, events)
	for _, d := range dice.Rolled() {
		step.Rolls = append(step.Rolls, Roll{Die: dieName(d.Sides), Value: d.Face, For: d.Purpose})
	}
	step.Result, step.State = resultOf(c, events), j.View()
	return j, step, nil
}

// resultOf derives a step's result from the events alone: a reader of the log knows as much.
func resultOf(c Command, events []Event) map[string]any {
	r := map[string]any{}
	_, site := find[TurnBegun](events)
	switch c.(type) {
	case Move, Search, Forage, PrepareRemains:
		if !site {
			_, starved := find[Hungered](events)
			r["usage"], r["starved"], r["encounter_check"] = usageView(events), starved, nil
		}
	case Enter:
		r["usage"] = usageView(events)
	case BuyFood:
		e, _ := find[FoodBought](events)
		r["slots_bought"], r["gold_paid"] = e.Slots, e.Paid
	case BuyGear:
		e, _ := find[GearBought](events)
		r["gold_paid"] = e.Paid
	case Loot:
		e, _ := find[Looted](events)
		r["gold"] = e.Taken
	case SellRemains:
		e, _ := find[RemainsSold](events)
		r["gold"] = e.Earned
	case FreeFoodSlots:
		e, _ := find[FoodSlotsFreed](events)
		r["freed"] = e.Freed
	case RollMissions:
		e, _ := find[MissionsRolled](events)
		numbers := []int{}
		for _, m := range e.Missions {
			numbers = append(numbers, m.Number)
		}
		r["missions"] = numbers
	}
	switch c.(type) {
	case Move:
		e, _ := find[Moved](events)
		r["via"] = e.Via
	case Search:
		e, _ := find[LocationsFound](events)
		r["found"] = orEmpty(e.Locations)
	case Forage:
		r["forage"] = nil
		if e, ok := find[Foraged](events); ok {
			r["forage"] = e.Result
		}
	}
	if e, ok := find[EncounterChecked](events); ok {
		r["encounter_check"] = e.Face
		if site {
			r["dark"] = e.Dark
		}
	}
	if site {
		r["light"] = nil
		if e, ok := find[LightChecked](events); ok {
			r["light"] = map[string]any{"die": dieName(e.Sides), "roll": e.Face, "stepped_down": e.SteppedDown, "replaced": orNil(e.Replaced)}
		}
	}
	return r
}

func find[E Event](events []Event) (E, bool) {
	for _, e := range events {
		if e, ok := e.(E); ok {
			return e, true
		}
	}
	var none E
	return none, false
}

func usageView(events []Event) any {
	e, ok := find[UsageChecked](events)
	if !ok {
		return nil
	}
	u := e.Usage
	return map[string]any{"dice": u.Dice, "die": dieName(u.Sides), "keep": u.Keep, "kept": u.Kept, "stepped_down": u.SteppedDown}
}
