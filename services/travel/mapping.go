package travel

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"
	travelv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/travel/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/journal"
	"github.com/wayfarer-rpg/wayfarer/rules/diedrop"
	"github.com/wayfarer-rpg/wayfarer/services/adapter"
)

// i32 fits a number into the contract: none of the rules' comes near two billion.
func i32(n int) int32 { return int32(n) } //nolint:gosec // see above

func ints(in []int32) []int {
	var out []int
	for _, n := range in {
		out = append(out, int(n))
	}
	return out
}

func i32s(in []int) []int32 {
	var out []int32
	for _, n := range in {
		out = append(out, i32(n))
	}
	return out
}

func each[A, B any](in []A, f func(A) B) []B {
	var out []B
	for _, a := range in {
		out = append(out, f(a))
	}
	return out
}

// some maps what may be absent.
func some[A, B any](in *A, f func(A) *B) *B {
	if in == nil {
		return nil
	}
	return f(*in)
}

func optInt(n *int32) *int {
	return some(n, func(n int32) *int { i := int(n); return &i })
}

func optInt32(n *int) *int32 {
	return some(n, func(n int) *int32 { return proto.Int32(i32(n)) })
}

func hexFrom(h *travelv1.Hex) diedrop.Hex {
	return diedrop.Hex{Q: int(h.GetQ()), R: int(h.GetR())}
}

func hexPtrFrom(h *travelv1.Hex) *diedrop.Hex {
	if h == nil {
		return nil
	}
	x := hexFrom(h)
	return &x
}

func hexTo(h diedrop.Hex) *travelv1.Hex { return &travelv1.Hex{Q: i32(h.Q), R: i32(h.R)} }

// mapOf returns the map of a region's revision.
func mapOf(name string, revision int, d *travelv1.RegionDraft) *diedrop.Map {
	path := func(p *travelv1.Path) diedrop.Path {
		return diedrop.Path{ID: p.GetId(), Name: p.GetName(), Direction: p.GetDirection(), Path: each(p.GetPath(), hexFrom)}
	}
	return &diedrop.Map{
		ID: adapter.IDOf(name), Name: d.GetTitle(), Version: revision,
		Hexes: each(d.GetHexes(), func(h *travelv1.MapHex) diedrop.MapHex {
			return diedrop.MapHex{Q: int(h.GetQ()), R: int(h.GetR()), Terrain: h.GetTerrain(), Name: h.GetName()}
		}),
		Roads: each(d.GetRoads(), path), Rivers: each(d.GetRivers(), path),
		Locations: each(d.GetLocations(), func(l *travelv1.Location) diedrop.Location {
			out := diedrop.Location{
				ID: l.GetId(), Name: l.GetName(), Text: l.GetText(), Kind: l.GetKind(), Hex: hexFrom(l.GetHex()), Visible: l.GetVisible(),
				Table: int(l.GetTable()), Entrance: l.GetEntrance(),
			}
			for _, r := range l.GetRooms() {
				if out.Rooms == nil {
					out.Rooms = map[string][]string{}
				}
				out.Rooms[r.GetId()] = r.GetWays()
			}
			return out
		}),
		NPCs: each(d.GetNpcs(), func(n *travelv1.Npc) diedrop.NPC {
			return diedrop.NPC{ID: n.GetId(), Name: n.GetName(), Hex: hexFrom(n.GetHex()), Text: n.GetText()}
		}),
	}
}

// draftOf returns a map as it is imported. Rooms come in order of their ids.
func draftOf(m *diedrop.Map) *travelv1.RegionDraft {
	path := func(p diedrop.Path) *travelv1.Path {
		return &travelv1.Path{Id: p.ID, Name: p.Name, Direction: p.Direction, Path: each(p.Path, hexTo)}
	}
	return &travelv1.RegionDraft{
		Title: m.Name,
		Hexes: each(m.Hexes, func(h diedrop.MapHex) *travelv1.MapHex {
			return &travelv1.MapHex{Q: i32(h.Q), R: i32(h.R), Terrain: h.Terrain, Name: h.Name}
		}),
		Roads: each(m.Roads, path), Rivers: each(m.Rivers, path), Locations: each(m.Locations, locationTo),
		Npcs: each(m.NPCs, func(n diedrop.NPC) *travelv1.Npc {
			return &travelv1.Npc{Id: n.ID, Name: n.Name, Hex: hexTo(n.Hex), Text: n.Text}
		}),
	}
}

func locationTo(l diedrop.Location) *travelv1.Location {
	out := &travelv1.Location{
		Id: l.ID, Name: l.Name, Text: l.Text, Kind: l.Kind, Hex: hexTo(l.Hex), Visible: l.Visible, Table: i32(l.Table), Entrance: l.Entrance,
	}
	for id, ways := range l.Rooms {
		out.Rooms = append(out.Rooms, &travelv1.Room{Id: id, Ways: ways})
	}
	slices.SortFunc(out.Rooms, func(a, b *travelv1.Room) int { return strings.Compare(a.GetId(), b.GetId()) })
	return out
}

func memberFrom(m *travelv1.Member) diedrop.Member {
	return diedrop.Member{
		Name: m.GetName(), Character: m.GetCharacter(), HP: int(m.GetHp()), HPMax: int(m.GetHpMax()), STR: int(m.GetStr()), STRMax: int(m.GetStrMax()),
		Capacity: int(m.GetCapacity()), Gear: int(m.GetGear()), FoodSlots: int(m.GetFoodSlots()), Fatigue: int(m.GetFatigue()),
		Torches: int(m.GetTorches()), Oil: int(m.GetOil()), Dead: m.GetDead(),
	}
}

func memberTo(m diedrop.Member) *travelv1.Member {
	return &travelv1.Member{
		Name: m.Name, Character: m.Character, Hp: i32(m.HP), HpMax: i32(m.HPMax), Str: i32(m.STR), StrMax: i32(m.STRMax),
		Capacity: i32(m.Capacity), Gear: i32(m.Gear), FoodSlots: i32(m.FoodSlots), Fatigue: i32(m.Fatigue),
		Torches: i32(m.Torches), Oil: i32(m.Oil), Dead: m.Dead,
	}
}

func lightFrom(l *travelv1.Light) *diedrop.Light {
	if l == nil {
		return nil
	}
	return &diedrop.Light{Kind: l.GetKind(), Sides: int(l.GetSides())}
}

func lightTo(l diedrop.Light) *travelv1.Light {
	return &travelv1.Light{Kind: l.Kind, Sides: i32(l.Sides)}
}

func loadFrom(l *travelv1.Load) diedrop.Load {
	return diedrop.Load{Carrier: l.GetCarrier(), Creature: l.GetCreature(), Count: int(l.GetCount()), Value: int(l.GetValue()), Slots: int(l.GetSlots())}
}

func loadTo(l diedrop.Load) *travelv1.Load {
	return &travelv1.Load{Carrier: l.Carrier, Creature: l.Creature, Count: i32(l.Count), Value: i32(l.Value), Slots: i32(l.Slots)}
}

func encounterFrom(e *travelv1.Encounter) diedrop.Encounter {
	return diedrop.Encounter{
		Creature: e.GetCreature(), Number: int(e.GetNumber()), Reaction: e.Reaction, ReactionTotal: optInt(e.ReactionTotal),
		Gold: int(e.GetGold()), Remains: e.GetRemains(), Players: e.GetPlayers(), NPCs: e.GetNpcs(),
	}
}

func encounterTo(e diedrop.Encounter) *travelv1.Encounter {
	return &travelv1.Encounter{
		Creature: e.Creature, Number: i32(e.Number), Reaction: e.Reaction,
		ReactionTotal: optInt32(e.ReactionTotal),
		Gold:          i32(e.Gold), Remains: e.Remains, Players: e.Players, Npcs: e.NPCs,
	}
}

func usageFrom(u *travelv1.UsageCheck) diedrop.Usage {
	return diedrop.Usage{
		Sides: int(u.GetSides()), Dice: int(u.GetDice()), Keep: diedrop.Keep(u.GetKeep()), Kept: int(u.GetKept()),
		SteppedDown: u.GetSteppedDown(), Next: int(u.GetNext()),
	}
}

func usageTo(u diedrop.Usage) *travelv1.UsageCheck {
	return &travelv1.UsageCheck{
		Sides: i32(u.Sides), Dice: i32(u.Dice), Keep: string(u.Keep), Kept: i32(u.Kept), SteppedDown: u.SteppedDown, Next: i32(u.Next),
	}
}

func positionTo(p diedrop.Position) *travelv1.Position {
	return &travelv1.Position{Hex: some(p.Hex, hexTo), Inside: p.Inside, Room: p.Room}
}

func positionFrom(p *travelv1.Position) *diedrop.Position {
	if p == nil {
		return nil
	}
	return &diedrop.Position{Hex: hexPtrFrom(p.GetHex()), Inside: p.GetInside(), Room: p.GetRoom()}
}

// rulesetTo returns a ruleset as the document that it can be read from again.
func rulesetTo(rs *diedrop.Ruleset) (*structpb.Struct, error) {
	raw, err := json.Marshal(rs)
	if err != nil {
		return nil, fmt.Errorf("ruleset: %w", err)
	}
	out := &structpb.Struct{}
	if err := out.UnmarshalJSON(raw); err != nil {
		return nil, fmt.Errorf("ruleset: %w", err)
	}
	return out, nil
}

// rulesetFrom reads the ruleset that a journey was frozen with. It was checked then; a program that has learnt parameters
// since plays those by their defaults.
func rulesetFrom(doc *structpb.Struct) (*diedrop.Ruleset, error) {
	raw, err := doc.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("ruleset: %w", err)
	}
	rs := &diedrop.Ruleset{}
	if err := json.Unmarshal(raw, rs); err != nil {
		return nil, fmt.Errorf("ruleset: %w", err)
	}
	if rs.Params == nil {
		rs.Params = map[string]diedrop.Param{}
	}
	for name, p := range diedrop.Default().Params {
		if _, ok := rs.Params[name]; !ok {
			rs.Params[name] = p
		}
	}
	return rs, nil
}

// memberOf returns a traveler of a company with the vitals that count: a hireling's own, a character's borrowed ones.
func memberOf(rs *diedrop.Ruleset, t *partyv1.Traveler, v *partyv1.Vitals) diedrop.Member {
	hpMax, strMax := int(v.GetHpMax()), int(v.GetStrMax())
	m := diedrop.Newcomer{
		Name: t.GetLabel(), Character: t.GetCharacter(), HP: int(v.GetHp()), HPMax: &hpMax, STR: int(v.GetStr()), STRMax: &strMax,
		Capacity: optInt(v.Capacity), Gear: int(v.GetGear()), Fatigue: int(v.GetFatigue()), Torches: int(t.GetTorches()), Oil: int(t.GetOil()),
	}.Member(rs)
	m.FoodSlots = int(t.GetFoodSlots())
	if m.Dead = m.STR == 0; m.Dead {
		m.FoodSlots, m.Torches, m.Oil = 0, 0, 0
	}
	return m
}

// The most that the party service keeps of one thing.
const (
	maxPoints = 1000
	maxLoads  = 100
)

// vitalsOf returns what goes back of a member. Fatigue beyond what a character can have is lost, rather than that the
// character never came back.
func vitalsOf(m diedrop.Member, usualCapacity bool) *partyv1.Vitals {
	v := &partyv1.Vitals{
		Hp: i32(m.HP), HpMax: i32(m.HPMax), Str: i32(m.STR), StrMax: i32(m.STRMax), Gear: i32(m.Gear), Fatigue: i32(min(m.Fatigue, maxPoints)),
	}
	if !usualCapacity {
		v.Capacity = proto.Int32(i32(m.Capacity))
	}
	return v
}

// packOf returns what goes back to the company: the living, in order, and what they share.
func packOf(j journey) *partyv1.PackFacet {
	out := &partyv1.PackFacet{Pack: &partyv1.Pack{
		Food: i32s(j.Play.Food), Gold: i32(min(j.Play.Gold, diedrop.MaxGold)), Boat: j.Play.Boat, Lantern: j.Play.Lantern,
		Light: some(j.Play.Light, func(l diedrop.Light) *partyv1.Light {
			return &partyv1.Light{Kind: l.Kind, Sides: i32(l.Sides)}
		}),
		Cargo: each(j.Play.Cargo, func(l diedrop.Load) *partyv1.Load {
			return &partyv1.Load{Creature: l.Creature, Count: i32(l.Count), Value: i32(l.Value), Carrier: l.Carrier}
		}),
		StarvingRounds: i32(min(j.Play.StarvingRounds, maxRounds)),
	}}
	for _, m := range j.Play.Members {
		if m.Dead {
			continue
		}
		t := &partyv1.Traveler{Label: m.Name, Character: m.Character, Torches: i32(m.Torches), Oil: i32(m.Oil), FoodSlots: i32(m.FoodSlots)}
		if m.Character == "" {
			t.Vitals = vitalsOf(m, slices.Contains(j.UsualCapacity, m.Name))
		}
		out.Travelers = append(out.Travelers, t)
	}
	return out
}

const maxRounds = 100_000

// loadsOf returns the loads of a pack; each fills the slots that the ruleset gives it.
func loadsOf(rs *diedrop.Ruleset, cargo []*partyv1.Load) []diedrop.Load {
	return each(cargo, func(l *partyv1.Load) diedrop.Load {
		return diedrop.Load{
			Carrier: l.GetCarrier(), Creature: l.GetCreature(), Count: int(l.GetCount()), Value: int(l.GetValue()), Slots: intParam(rs, "remains.slots"),
		}
	})
}

func intParam(rs *diedrop.Ruleset, name string) int {
	p := rs.Params[name]
	v := p.Default
	if p.Value != nil {
		v = *p.Value
	}
	n, _ := v.(float64)
	return int(n)
}

func newcomerFrom(n *travelv1.Newcomer) diedrop.Newcomer {
	return diedrop.Newcomer{
		Name: n.GetName(), HP: int(n.GetHp()), HPMax: optInt(n.HpMax), STR: int(n.GetStr()), STRMax: optInt(n.StrMax),
		Capacity: optInt(n.Capacity), Gear: int(n.GetGear()), Fatigue: int(n.GetFatigue()), Torches: int(n.GetTorches()), Oil: int(n.GetOil()),
	}
}

func adjustFrom(req *travelv1.AdjustRequest) diedrop.Adjust {
	c := diedrop.Adjust{
		Reason: req.GetReason(), Gold: optInt(req.Gold), Boat: req.Boat, Lantern: req.Lantern, Light: lightFrom(req.GetLight()),
		Position: positionFrom(req.GetPosition()),
		Members: each(req.GetMembers(), func(m *travelv1.MemberAdjustment) diedrop.MemberAdjustment {
			return diedrop.MemberAdjustment{
				Name: m.GetName(), HP: optInt(m.Hp), STR: optInt(m.Str), Gear: optInt(m.Gear), Fatigue: optInt(m.Fatigue),
				Torches: optInt(m.Torches), Oil: optInt(m.Oil),
			}
		}),
	}
	if req.GetFood() != nil {
		food := ints(req.GetFood().GetDice())
		c.Food = &food
	}
	c.Discovered = req.GetDiscovered()
	if req.GetCargo() != nil {
		cargo := each(req.GetCargo().GetLoads(), loadFrom)
		c.Cargo = &cargo
	}
	return c
}

func journeyToProto(at journal.At[journey]) *travelv1.Journey {
	j := at.State
	p := j.Play
	out := &travelv1.Journey{
		Name: at.Stream, Company: j.Company, Region: j.Region, Revision: i32(j.Revision), Expedition: j.Expedition, Phase: j.Phase,
		Stream: j.Stream, Commitment: j.Commitment, Refusal: j.refusal(),
		Etag: at.Etag(), Seq: i32(at.Seq), CreateTime: timestamppb.New(at.Created), UpdateTime: timestamppb.New(at.Updated),
	}
	if !p.Started() {
		return out
	}
	out.Hex = some(p.Hex, hexTo)
	out.Inside, out.Room, out.Visited = p.Inside, p.Room, p.Visited
	out.Food, out.SlotsNeeded, out.SlotsHeld = i32s(p.Food), i32(p.SlotsNeeded()), i32(p.SlotsHeld())
	out.StarvingRounds, out.NoRecovery = i32(p.StarvingRounds), p.NoRecovery()
	out.Gold, out.Boat, out.Lantern = i32(p.Gold), p.Boat, p.Lantern
	out.Light, out.Dark = some(p.Light, lightTo), p.Dark()
	for _, m := range p.Members {
		x := memberTo(m)
		x.SlotsUsed, x.Overloaded = i32(p.SlotsUsed(m)), p.Overloaded(m)
		out.Members = append(out.Members, x)
	}
	out.Cargo = each(p.Cargo, loadTo)
	out.Encounter = some(p.Encounter, encounterTo)
	out.Discovered = p.Discovered
	out.Round, out.Turn = i32(p.Round), i32(p.Turn)
	for _, id := range p.Discovered {
		if l, ok := location(p.Map, id); ok {
			place := locationTo(l)
			if len(p.Map.Hexes) == 0 {
				place.Hex = nil
			}
			out.DiscoveredLocations = append(out.DiscoveredLocations, place)
		}
	}
	if l, ok := location(p.Map, p.Inside); ok && l.Kind == diedrop.KindSite {
		if out.Ways = l.Rooms[p.Room]; p.Room == "" {
			out.Ways = []string{l.Entrance}
		}
	}
	return out
}

func location(m *diedrop.Map, id string) (diedrop.Location, bool) {
	i := slices.IndexFunc(m.Locations, func(l diedrop.Location) bool { return l.ID == id })
	if i < 0 {
		return diedrop.Location{}, false
	}
	return m.Locations[i], true
}
