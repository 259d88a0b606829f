package travel_test

import (
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/structpb"

	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"
	travelv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/travel/v1"
	typev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/type/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/fault"
	"github.com/wayfarer-rpg/wayfarer/rules/diedrop"
)

// exampleDraft is the example map as the contract has it.
func exampleDraft(t *testing.T) *travelv1.RegionDraft {
	t.Helper()
	return draftOf(t, diedrop.ExampleMapDocument())
}

// draftOf reads a map document by its own names, without the code under test.
func draftOf(t *testing.T, document []byte) *travelv1.RegionDraft {
	t.Helper()
	var m struct {
		Name   string
		Hexes  []*travelv1.MapHex
		Roads  []rawPath
		Rivers []rawPath

		Locations []struct {
			ID, Name, Text, Kind, Entrance string
			Hex                            [2]int32
			Visible                        bool
			Table                          int32
			Rooms                          map[string][]string
		}
		NPCs []struct {
			ID, Name, Text string
			Hex            [2]int32
		}
	}
	if err := json.Unmarshal(document, &m); err != nil {
		t.Fatal(err)
	}
	d := &travelv1.RegionDraft{Title: m.Name, Hexes: m.Hexes, Roads: paths(m.Roads), Rivers: paths(m.Rivers)}
	for _, l := range m.Locations {
		x := &travelv1.Location{
			Id: l.ID, Name: l.Name, Text: l.Text, Kind: l.Kind, Hex: hexOf(l.Hex), Visible: l.Visible, Table: l.Table, Entrance: l.Entrance,
		}
		for id, ways := range l.Rooms {
			x.Rooms = append(x.Rooms, &travelv1.Room{Id: id, Ways: ways})
		}
		d.Locations = append(d.Locations, x)
	}
	for _, p := range m.NPCs {
		d.Npcs = append(d.Npcs, &travelv1.Npc{Id: p.ID, Name: p.Name, Text: p.Text, Hex: hexOf(p.Hex)})
	}
	return d
}

type rawPath struct {
	ID, Name, Direction string
	Path                [][2]int32
}

func hexOf(h [2]int32) *travelv1.Hex { return &travelv1.Hex{Q: h[0], R: h[1]} }

func paths(in []rawPath) []*travelv1.Path {
	var out []*travelv1.Path
	for _, p := range in {
		x := &travelv1.Path{Id: p.ID, Name: p.Name, Direction: p.Direction}
		for _, h := range p.Path {
			x.Path = append(x.Path, hexOf(h))
		}
		out = append(out, x)
	}
	return out
}

type transcript struct {
	ID       string
	Params   map[string]any
	Map      json.RawMessage
	Party    transcriptParty
	Actions  []action
	Expected []map[string]any
}

type transcriptParty struct {
	Hex        *[2]int32
	Inside     string
	Food       []string
	Members    []transcriptMember
	Boat       bool
	Lantern    bool
	Gold       int32
	Light      *struct{ Kind, Die string }
	Discovered []string
}

type transcriptMember struct {
	Name      string
	HP        int32
	HPMax     *int32 `json:"hp_max"`
	STR       int32
	STRMax    *int32 `json:"str_max"`
	Capacity  *int32
	Gear      int32
	Fatigue   int32
	Torches   int32
	Oil       int32
	FoodSlots int32 `json:"food_slots"`
}

type action struct {
	Type      string
	Dice      []int32
	To        json.RawMessage
	Via       string
	Location  string
	Count     int32
	Value     int32
	Carrier   string
	Steps     int32
	Item      string
	Member    json.RawMessage
	FoodSlots map[string]int32 `json:"food_slots"`
	HP        int32
	STR       int32
	Kind      string
	Trigger   string
}

func sides(t *testing.T, die string) int32 {
	t.Helper()
	n, err := strconv.Atoi(strings.TrimPrefix(die, "d"))
	if err != nil {
		t.Fatal(err)
	}
	return int32(n) //nolint:gosec // a die
}

func or(p *int32, otherwise int32) int32 {
	if p != nil {
		return *p
	}
	return otherwise
}

// company makes hirelings of the party of a transcript.
func (p transcriptParty) company(t *testing.T, name string) *partyv1.Company {
	t.Helper()
	c := &partyv1.Company{Name: name, Pack: &partyv1.Pack{Gold: p.Gold, Boat: p.Boat, Lantern: p.Lantern}}
	for _, d := range p.Food {
		c.Pack.Food = append(c.Pack.Food, sides(t, d))
	}
	if p.Light != nil {
		c.Pack.Light = &partyv1.Light{Kind: p.Light.Kind, Sides: sides(t, p.Light.Die)}
	}
	for _, m := range p.Members {
		c.Travelers = append(c.Travelers, &partyv1.Traveler{
			Label: m.Name, Torches: m.Torches, Oil: m.Oil, FoodSlots: m.FoodSlots,
			Vitals: &partyv1.Vitals{
				Hp: m.HP, HpMax: or(m.HPMax, m.HP), Str: m.STR, StrMax: or(m.STRMax, m.STR), Capacity: m.Capacity, Gear: m.Gear, Fatigue: m.Fatigue,
			},
		})
	}
	return c
}

func decode[T any](t *testing.T, raw json.RawMessage) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return v
}

// request makes the RPC of an action; nil for the actions that have none here.
func (a action) request(t *testing.T, name string) proto.Message {
	t.Helper()
	switch a.Type {
	case "move":
		return &travelv1.MoveRequest{Name: name, To: hexOf(decode[[2]int32](t, a.To)), Via: a.Via}
	case "search":
		return &travelv1.SearchRequest{Name: name}
	case "forage":
		return &travelv1.ForageRequest{Name: name}
	case "prepare_remains":
		return &travelv1.PrepareRemainsRequest{Name: name, Count: a.Count, Value: a.Value, Carrier: a.Carrier}
	case "enter":
		return &travelv1.EnterLocationRequest{Name: name, Location: a.Location}
	case "leave":
		return &travelv1.LeaveLocationRequest{Name: name}
	case "buy_food":
		return &travelv1.BuyFoodRequest{Name: name, Steps: a.Steps}
	case "buy_gear":
		return &travelv1.BuyGearRequest{Name: name, Item: a.Item, Count: a.Count, Carrier: a.Carrier}
	case "add_member":
		m := decode[transcriptMember](t, a.Member)
		return &travelv1.AddMemberRequest{Name: name, Member: &travelv1.Newcomer{
			Name: m.Name, Hp: m.HP, HpMax: m.HPMax, Str: m.STR, StrMax: m.STRMax, Capacity: m.Capacity, Gear: m.Gear, Fatigue: m.Fatigue,
			Torches: m.Torches, Oil: m.Oil,
		}}
	case "remove_member":
		return &travelv1.RemoveMemberRequest{Name: name, Member: decode[string](t, a.Member)}
	case "sell_remains":
		return &travelv1.SellRemainsRequest{Name: name}
	case "free_food_slots":
		return &travelv1.FreeFoodSlotsRequest{Name: name}
	case "distribute":
		return &travelv1.DistributeRequest{Name: name, FoodSlots: a.FoodSlots}
	case "loot":
		return &travelv1.LootRequest{Name: name}
	case "harm":
		return &travelv1.HarmRequest{Name: name, Member: decode[string](t, a.Member), Hp: a.HP, Str: a.STR}
	case "rest":
		return &travelv1.RestRequest{Name: name}
	case "long_rest":
		return &travelv1.LongRestRequest{Name: name}
	case "light":
		return &travelv1.LightRequest{Name: name, Kind: a.Kind}
	case "dungeon_turn":
		r := &travelv1.TakeTurnRequest{Name: name, Trigger: a.Trigger}
		if len(a.To) > 0 {
			r.To = decode[string](t, a.To)
		}
		return r
	case "retreat":
		return &travelv1.RetreatRequest{Name: name}
	case "roll_missions", "use_mission":
		return nil
	}
	t.Fatalf("unknown action %q", a.Type)
	return nil
}

// commandAnswer is what the answers of play commands have in common.
type commandAnswer interface {
	proto.Message
	GetRecord() *typev1.Record
	GetJourney() *travelv1.Journey
	GetEvents() []*travelv1.JourneyEvent
	GetOutcome() *travelv1.Outcome
}

// The eight transcripts of the catalogue through the RPCs: what was rolled, what came of it and the whole state of each
// step, read from the answers and again by another replica.
func TestTranscripts(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../rules/diedrop/testdata/transcripts.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Transcripts []transcript }
	if err := json.Unmarshal(raw, &file); err != nil {
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
	w := newWorld()
	n, replica := w.node(t), w.node(t)
	w.party.companies[band] = tr.Party.company(t, band)
	doc := diedrop.ExampleMapDocument()
	if len(tr.Map) > 0 {
		doc = tr.Map
	}
	do[*travelv1.ImportRegionResponse](n, gm, &travelv1.ImportRegionRequest{Parent: camp, RegionId: "vale", Region: draftOf(t, doc)})
	start := &travelv1.StartJourneyRequest{
		Parent: camp, JourneyId: "trek", Company: band, Region: vale, Inside: tr.Party.Inside, Discovered: tr.Party.Discovered,
	}
	if tr.Party.Hex != nil {
		start.Hex = hexOf(*tr.Party.Hex)
	}
	if tr.Params != nil {
		params, err := structpb.NewStruct(tr.Params)
		if err != nil {
			t.Fatal(err)
		}
		start.Params = params
	}
	now := do[*travelv1.StartJourneyResponse](n, gm, start).GetJourney()
	for i, a := range tr.Actions {
		req := a.request(t, trek)
		if req == nil {
			continue
		}
		want := tr.Expected[i]
		if want["action"] != a.Type {
			t.Fatalf("step %d is %v, expected is %v", i+1, a.Type, want["action"])
		}
		m := req.ProtoReflect()
		if fd := m.Descriptor().Fields().ByName("reported_dice"); fd != nil && len(a.Dice) > 0 {
			set(req, "etag", now.GetEtag())
			for _, face := range a.Dice {
				m.Mutable(fd).List().Append(protoreflect.ValueOfInt32(face))
			}
		} else if len(a.Dice) > 0 {
			t.Fatalf("step %d: %s takes no dice", i+1, a.Type)
		}
		got := map[string]any{"refused": nil, "rolls": []any{}, "result": map[string]any{}}
		res, err := n.call(gm, req)
		if err != nil {
			got["refused"] = strings.ToLower(reasonOf(err))
		} else {
			ans := res.(commandAnswer) //nolint:forcetypeassert // every play command's
			now = ans.GetJourney()
			got["rolls"], got["result"] = rollsOf(ans.GetRecord()), resultOf(a.Type, ans)
		}
		got["state"] = stateOf(replica.journey(gm))
		for _, r := range want["rolls"].([]any) {
			delete(r.(map[string]any), "for") // texts need not match
		}
		state := want["state"].(map[string]any)
		delete(state, "missions")
		delete(state, "mission_texts")
		delete(want, "step")
		delete(want, "action")
		if g := normal(t, got); !reflect.DeepEqual(g, any(want)) {
			t.Fatalf("step %d %s\n got %s\nwant %s", i+1, a.Type, text(t, g), text(t, want))
		}
		if err == nil && !reflect.DeepEqual(normal(t, stateOf(now)), any(state)) {
			t.Fatalf("step %d %s: the answer tells another state: %s", i+1, a.Type, text(t, stateOf(now)))
		}
	}
}

func normal(t *testing.T, v any) any {
	t.Helper()
	return decode[any](t, json.RawMessage(text(t, v)))
}

func text(t *testing.T, v any) []byte {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.TrimSpace(raw)
}

func reasonOf(err error) string { return fault.ReasonOf(fault.FromStatus(err)) }

func die(n int32) string { return "d" + strconv.Itoa(int(n)) }

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

func rollsOf(r *typev1.Record) []any {
	out := []any{}
	for _, d := range r.GetDice() {
		out = append(out, map[string]any{"die": die(d.GetSides()), "value": d.GetFace()})
	}
	return out
}

func usageOf(u *travelv1.UsageCheck) any {
	if u == nil {
		return nil
	}
	return map[string]any{"dice": u.GetDice(), "die": die(u.GetSides()), "keep": u.GetKeep(), "kept": u.GetKept(), "stepped_down": u.GetSteppedDown()}
}

// resultOf is the result of a transcript's step, read from the outcome.
func resultOf(kind string, ans commandAnswer) map[string]any {
	o := ans.GetOutcome()
	r := map[string]any{}
	switch kind {
	case "move", "search", "forage", "prepare_remains", "dungeon_turn", "retreat":
		r["encounter_check"] = o.EncounterCheck
		if o.Dark != nil {
			r["dark"], r["light"] = *o.Dark, nil
			if l := o.GetLight(); l != nil {
				r["light"] = map[string]any{"die": die(l.GetSides()), "roll": l.GetRoll(), "stepped_down": l.GetSteppedDown(), "replaced": l.Replaced}
			}
		} else {
			r["usage"], r["starved"] = usageOf(o.GetUsage()), o.Starved
		}
	case "enter":
		r["usage"] = usageOf(o.GetUsage())
	case "buy_food":
		r["slots_bought"], r["gold_paid"] = o.SlotsBought, o.GoldPaid
	case "buy_gear":
		r["gold_paid"] = o.GoldPaid
	case "loot", "sell_remains":
		r["gold"] = o.Gold
	case "free_food_slots":
		r["freed"] = o.Freed
	}
	switch kind {
	case "move":
		r["via"] = o.Via
	case "search":
		r["found"] = list(o.GetFound())
	case "forage":
		r["forage"] = o.Forage
	}
	return r
}

// stateOf is a journey as transcripts show it.
func stateOf(j *travelv1.Journey) map[string]any {
	food, members, cargo := []string{}, []any{}, []any{}
	for _, d := range j.GetFood() {
		food = append(food, die(d))
	}
	for _, m := range j.GetMembers() {
		members = append(members, map[string]any{
			"name": m.GetName(), "hp": m.GetHp(), "hp_max": m.GetHpMax(), "str": m.GetStr(), "str_max": m.GetStrMax(), "capacity": m.GetCapacity(),
			"gear": m.GetGear(), "food_slots": m.GetFoodSlots(), "fatigue": m.GetFatigue(), "torches": m.GetTorches(), "oil": m.GetOil(),
			"dead": m.GetDead(), "slots_used": m.GetSlotsUsed(), "overloaded": m.GetOverloaded(),
		})
	}
	for _, l := range j.GetCargo() {
		cargo = append(cargo, map[string]any{
			"carrier": l.GetCarrier(), "name": l.GetCreature(), "count": l.GetCount(), "value": l.GetValue(), "slots": l.GetSlots(),
		})
	}
	var hex, light, encounter any
	if h := j.GetHex(); h != nil {
		hex = []int32{h.GetQ(), h.GetR()}
	}
	if l := j.GetLight(); l != nil {
		light = map[string]any{"kind": l.GetKind(), "die": die(l.GetSides())}
	}
	if e := j.GetEncounter(); e != nil {
		met := map[string]any{
			"creature": e.GetCreature(), "number": e.GetNumber(), "reaction": e.Reaction, "reaction_total": e.ReactionTotal,
			"gold": e.GetGold(), "remains": e.GetRemains(),
		}
		if e.GetPlayers() != "" {
			met["players"], met["npcs"] = e.GetPlayers(), e.GetNpcs()
		}
		encounter = met
	}
	return map[string]any{
		"round": j.GetRound(), "turn": j.GetTurn(), "hex": hex, "inside": orNull(j.GetInside()), "room": orNull(j.GetRoom()), "visited": list(j.GetVisited()),
		"food": food, "starving_rounds": j.GetStarvingRounds(), "gold": j.GetGold(), "boat": j.GetBoat(), "members": members, "cargo": cargo,
		"light": light, "lantern": j.GetLantern(), "discovered": list(j.GetDiscovered()), "encounter": encounter,
		"slots_needed": j.GetSlotsNeeded(), "slots_held": j.GetSlotsHeld(), "dark": j.GetDark(), "no_recovery": j.GetNoRecovery(),
	}
}
