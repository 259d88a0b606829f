package diedrop

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/wayfarer-rpg/wayfarer/rules/play"
)

// The transcript format is described at the end of docs/rules/die-drop.md.
type transcriptFile struct {
	Format      string       `json:"format"`
	MapFile     string       `json:"map_file"`
	Transcripts []transcript `json:"transcripts"`
}

type transcript struct {
	ID      string           `json:"id"`
	Title   string           `json:"title"`
	Params  map[string]any   `json:"params"`
	Map     *Map             `json:"map"`
	Party   transcriptParty  `json:"party"`
	Actions []map[string]any `json:"actions"`
	Expect  []map[string]any `json:"expected"`
}

type transcriptParty struct {
	Hex        *Hex               `json:"hex"`
	Inside     string             `json:"inside"`
	Food       []string           `json:"food"`
	Members    []transcriptMember `json:"members"`
	Boat       bool               `json:"boat"`
	Lantern    bool               `json:"lantern"`
	Gold       int                `json:"gold"`
	Light      *transcriptLight   `json:"light"`
	Discovered []string           `json:"discovered"`
}

type transcriptLight struct {
	Kind string `json:"kind"`
	Die  string `json:"die"`
}

type transcriptMember struct {
	Name     string `json:"name"`
	HP       int    `json:"hp"`
	HPMax    *int   `json:"hp_max"`
	STR      int    `json:"str"`
	STRMax   *int   `json:"str_max"`
	Capacity *int   `json:"capacity"`
	Gear     int    `json:"gear"`
	Fatigue  int    `json:"fatigue"`
	Torches  int    `json:"torches"`
	Oil      int    `json:"oil"`
	Food     int    `json:"food_slots"`
}

func (m transcriptMember) newcomer() Newcomer {
	return Newcomer{
		Name: m.Name, HP: m.HP, HPMax: m.HPMax, STR: m.STR, STRMax: m.STRMax, Capacity: m.Capacity,
		Gear: m.Gear, Fatigue: m.Fatigue, Torches: m.Torches, Oil: m.Oil,
	}
}

func (p transcriptParty) start(rs *Ruleset, m *Map) Start {
	c := Start{Ruleset: rs, Map: m, Hex: p.Hex, Inside: p.Inside, Gold: p.Gold, Boat: p.Boat, Lantern: p.Lantern, Discovered: p.Discovered}
	for _, d := range p.Food {
		c.Food = append(c.Food, dieSides(d))
	}
	if p.Light != nil {
		c.Light = &Light{Kind: p.Light.Kind, Sides: dieSides(p.Light.Die)}
	}
	for _, m := range p.Members {
		member := m.newcomer().Member(rs)
		member.FoodSlots = m.Food
		c.Members = append(c.Members, member)
	}
	return c
}

// remarshal reads a loosely typed JSON value into a typed one.
func remarshal[T any](t *testing.T, v any) T {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var out T
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&out); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return out
}

func commandOf(t *testing.T, a map[string]any) (Command, []int) {
	t.Helper()
	x := remarshal[struct {
		Type        string         `json:"type"`
		Dice        []int          `json:"dice"`
		To          any            `json:"to"`
		Via         Route          `json:"via"`
		Location    string         `json:"location"`
		Count       int            `json:"count"`
		Value       int            `json:"value"`
		Carrier     string         `json:"carrier"`
		Steps       int            `json:"steps"`
		Item        string         `json:"item"`
		Member      any            `json:"member"`
		FoodSlots   map[string]int `json:"food_slots"`
		HP          int            `json:"hp"`
		STR         int            `json:"str"`
		Kind        string         `json:"kind"`
		Trigger     string         `json:"trigger"`
		False       []int          `json:"false"`
		Number      int            `json:"number"`
		Replacement string         `json:"replacement"`
	}](t, a)
	name, _ := x.Member.(string)
	room, _ := x.To.(string)
	var c Command
	switch x.Type {
	case "move":
		c = Move{To: remarshal[Hex](t, x.To), Via: x.Via}
	case "search":
		c = Search{}
	case "forage":
		c = Forage{}
	case "prepare_remains":
		c = PrepareRemains{Count: x.Count, Value: x.Value, Carrier: x.Carrier}
	case "enter":
		c = Enter{Location: x.Location}
	case "leave":
		c = Leave{}
	case "buy_food":
		c = BuyFood{Steps: x.Steps}
	case "buy_gear":
		c = BuyGear{Item: x.Item, Count: x.Count, Carrier: x.Carrier}
	case "add_member":
		c = AddMember{Member: remarshal[transcriptMember](t, x.Member).newcomer()}
	case "remove_member":
		c = RemoveMember{Name: name}
	case "sell_remains":
		c = SellRemains{}
	case "free_food_slots":
		c = FreeFoodSlots{}
	case "distribute":
		c = Distribute{FoodSlots: x.FoodSlots}
	case "loot":
		c = Loot{}
	case "harm":
		c = Harm{Name: name, HP: x.HP, STR: x.STR}
	case "rest":
		c = Rest{}
	case "long_rest":
		c = Rest{Long: true}
	case "light":
		c = LightUp{Kind: x.Kind}
	case "dungeon_turn":
		c = TakeTurn{Trigger: x.Trigger, To: room}
	case "retreat":
		c = Retreat{}
	case "roll_missions":
		c = RollMissions{Count: x.Count, False: x.False}
	case "use_mission":
		c = UseMission{Number: x.Number, Replacement: x.Replacement}
	default:
		t.Fatalf("unknown action %q", x.Type)
	}
	return c, x.Dice
}

// play decides a command with reported dice, and checks on the way what holds for every command: nothing changes when it
// is refused, the old state stays as it was, and the dice recorded are those given.
func playStep(t *testing.T, j Journey, c Command, faces []int) (Journey, []Event, []play.Die, string) {
	t.Helper()
	before := mustJSON(t, j)
	dice := play.ReportedDice(faces...)
	events, err := Decide(j, c, dice)
	if err == nil {
		err = dice.Close()
	}
	if got := mustJSON(t, j); got != before {
		t.Fatalf("%T changed the state it was decided on:\n%s\n%s", c, before, got)
	}
	if err != nil {
		var r *play.Refusal
		if !errors.As(err, &r) {
			t.Fatalf("%T: %v", c, err)
		}
		return j, nil, nil, strings.ToLower(r.Code)
	}
	if len(dice.Rolled()) != len(faces) {
		t.Errorf("%T recorded %d dice of %d", c, len(dice.Rolled()), len(faces))
	}
	next := j
	for _, e := range events {
		next = Apply(next, e)
	}
	if got := mustJSON(t, j); got != before {
		t.Fatalf("folding %T changed the old state", c)
	}
	return next, events, dice.Rolled(), ""
}

func mustJSON(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func begin(t *testing.T, c Start) Journey {
	t.Helper()
	j, _, _, refused := playStep(t, Journey{}, c, nil)
	if refused != "" {
		t.Fatalf("start refused: %s", refused)
	}
	return j
}

func TestTranscripts(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/transcripts.json")
	if err != nil {
		t.Fatal(err)
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	var file transcriptFile
	if err := dec.Decode(&file); err != nil {
		t.Fatal(err)
	}
	if len(file.Transcripts) != 8 {
		t.Fatalf("%d transcripts", len(file.Transcripts))
	}
	for _, tr := range file.Transcripts {
		t.Run(tr.ID, func(t *testing.T) {
			t.Parallel()
			tr.play(t)
		})
	}
}

func (tr transcript) play(t *testing.T) {
	rs, err := Default().With(tr.Params)
	if err != nil {
		t.Fatal(err)
	}
	m := ExampleMap()
	if tr.Map != nil {
		m = tr.Map
	}
	j := begin(t, tr.Party.start(rs, m))
	if len(tr.Actions) != len(tr.Expect) {
		t.Fatalf("%d actions, %d expected", len(tr.Actions), len(tr.Expect))
	}
	for i, a := range tr.Actions {
		c, faces := commandOf(t, a)
		next, events, dice, refused := playStep(t, j, c, faces)
		got := map[string]any{
			"step": i + 1, "action": a["type"], "refused": nil, "rolls": rollsView(dice), "result": resultView(c, events, next), "state": stateView(next),
		}
		if refused != "" {
			got["refused"], got["result"] = refused, map[string]any{}
		}
		want := tr.Expect[i]
		for _, r := range want["rolls"].([]any) {
			delete(r.(map[string]any), "for") // texts need not match
		}
		if g, w := remarshal[any](t, got), any(want); !reflect.DeepEqual(g, w) {
			t.Fatalf("step %d %v\n got %s\nwant %s", i+1, a["type"], mustJSON(t, g), mustJSON(t, w))
		}
		j = next
	}
}

func rollsView(dice []play.Die) []any {
	out := []any{}
	for _, d := range dice {
		out = append(out, map[string]any{"die": dieName(d.Sides), "value": d.Face})
	}
	return out
}

func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func list[T any](in []T) []T {
	if in == nil {
		return []T{}
	}
	return in
}

func lightView(l *Light) any {
	if l == nil {
		return nil
	}
	return map[string]any{"kind": l.Kind, "die": dieName(l.Sides)}
}

func stateView(j Journey) map[string]any {
	food := []string{}
	for _, d := range j.Food {
		food = append(food, dieName(d))
	}
	members := []any{}
	for _, m := range j.Members {
		members = append(members, map[string]any{
			"name": m.Name, "hp": m.HP, "hp_max": m.HPMax, "str": m.STR, "str_max": m.STRMax, "capacity": m.Capacity, "gear": m.Gear,
			"food_slots": m.FoodSlots, "fatigue": m.Fatigue, "torches": m.Torches, "oil": m.Oil, "dead": m.Dead,
			"slots_used": j.SlotsUsed(m), "overloaded": j.Overloaded(m),
		})
	}
	texts := map[int]string{}
	for n, s := range j.MissionTexts {
		texts[n] = s
	}
	var encounter any
	if j.Encounter != nil {
		encounter = j.Encounter
	}
	return map[string]any{
		"round": j.Round, "turn": j.Turn, "hex": j.Hex, "inside": orNull(j.Inside), "room": orNull(j.Room), "visited": list(j.Visited),
		"food": food, "starving_rounds": j.StarvingRounds, "gold": j.Gold, "boat": j.Boat, "members": members, "cargo": list(j.Cargo),
		"light": lightView(j.Light), "lantern": j.Lantern, "discovered": list(j.Discovered), "encounter": encounter,
		"missions": list(j.Missions), "mission_texts": texts, "slots_needed": j.SlotsNeeded(), "slots_held": j.SlotsHeld(),
		"dark": j.Dark(), "no_recovery": j.NoRecovery(),
	}
}

// resultView derives a transcript's result from the events alone: a reader of the log knows as much.
func resultView(c Command, events []Event, _ Journey) map[string]any {
	r := map[string]any{}
	_, site := find[TurnBegun](events)
	switch c := c.(type) {
	case Move, Search, Forage, PrepareRemains:
		if !site {
			r["usage"], r["starved"] = usageView(events), has[Hungered](events)
			r["encounter_check"] = checkView(events)
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
	default:
		_ = c
	}
	if e, ok := find[Moved](events); ok {
		r["via"] = e.Via
	}
	if e, ok := find[LocationsFound](events); ok {
		r["found"] = list(e.Locations)
	}
	if e, ok := find[Foraged](events); ok {
		r["forage"] = e.Result
	}
	if site {
		r["light"] = nil
		if e, ok := find[LightChecked](events); ok {
			r["light"] = map[string]any{"die": dieName(e.Sides), "roll": e.Face, "stepped_down": e.SteppedDown, "replaced": orNull(e.Replaced)}
		}
		e, _ := find[EncounterChecked](events)
		r["encounter_check"], r["dark"] = e.Face, e.Dark
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

func has[E Event](events []Event) bool {
	_, ok := find[E](events)
	return ok
}

func usageView(events []Event) any {
	e, ok := find[UsageChecked](events)
	if !ok {
		return nil
	}
	return map[string]any{
		"dice": e.Usage.Dice, "die": dieName(e.Usage.Sides), "keep": e.Usage.Keep, "kept": e.Usage.Kept, "stepped_down": e.Usage.SteppedDown,
	}
}

func checkView(events []Event) any {
	e, ok := find[EncounterChecked](events)
	if !ok {
		return nil
	}
	return e.Face
}
