package travel_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/testing/protocmp"

	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"
	travelv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/travel/v1"
	typev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/type/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/fault"
	"github.com/wayfarer-rpg/wayfarer/rules/diedrop"
	"github.com/wayfarer-rpg/wayfarer/rules/play/transcript"
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

func i32(n int) int32 { return int32(n) } //nolint:gosec // a test's numbers are small

func optional(n *int) *int32 {
	if n == nil {
		return nil
	}
	return proto.Int32(i32(*n))
}

func sides(t *testing.T, die string) int32 {
	t.Helper()
	n, err := strconv.Atoi(strings.TrimPrefix(die, "d"))
	if err != nil {
		t.Fatal(err)
	}
	return i32(n)
}

// gather makes a company of hirelings of the party of a transcript: a GM may give any pack.
func gather(t *testing.T, p diedrop.TranscriptParty) *partyv1.CreateCompanyRequest {
	t.Helper()
	pack := &partyv1.Pack{Gold: i32(p.Gold), Boat: p.Boat, Lantern: p.Lantern, StarvingRounds: i32(p.StarvingRounds)}
	for _, d := range p.Food {
		pack.Food = append(pack.Food, sides(t, d))
	}
	if p.Light != nil {
		pack.Light = &partyv1.Light{Kind: p.Light.Kind, Sides: sides(t, p.Light.Die)}
	}
	req := &partyv1.CreateCompanyRequest{Parent: camp, CompanyId: "band", Title: "The Band", Pack: pack, RequestId: "band"}
	for _, m := range p.Members {
		most := func(p *int, now int) int32 {
			if p != nil {
				return i32(*p)
			}
			return i32(now)
		}
		req.Travelers = append(req.Travelers, &partyv1.Traveler{
			Label: m.Name, Torches: i32(m.Torches), Oil: i32(m.Oil), FoodSlots: i32(m.FoodSlots),
			Vitals: &partyv1.Vitals{
				Hp: i32(m.HP), HpMax: most(m.HPMax, m.HP), Str: i32(m.STR), StrMax: most(m.STRMax, m.STR), Capacity: optional(m.Capacity),
				Gear: i32(m.Gear), Fatigue: i32(m.Fatigue),
			},
		})
	}
	return req
}

// request makes the RPC of an action.
func request(t *testing.T, a diedrop.Action) proto.Message {
	t.Helper()
	switch a.Type {
	case "move":
		return &travelv1.MoveRequest{To: hex(i32(a.To.Q), i32(a.To.R)), Via: string(a.Via)}
	case "search":
		return &travelv1.SearchRequest{}
	case "forage":
		return &travelv1.ForageRequest{}
	case "prepare_remains":
		return &travelv1.PrepareRemainsRequest{Count: i32(a.Count), Value: i32(a.Value), Carrier: a.Carrier}
	case "enter":
		return &travelv1.EnterLocationRequest{Location: a.Location}
	case "leave":
		return &travelv1.LeaveLocationRequest{}
	case "buy_food":
		return &travelv1.BuyFoodRequest{Steps: i32(a.Steps)}
	case "buy_gear":
		return &travelv1.BuyGearRequest{Item: a.Item, Count: i32(a.Count), Carrier: a.Carrier}
	case "add_member":
		m := a.Newcomer
		return &travelv1.AddMemberRequest{Member: &travelv1.Newcomer{
			Name: m.Name, Hp: i32(m.HP), HpMax: optional(m.HPMax), Str: i32(m.STR), StrMax: optional(m.STRMax), Capacity: optional(m.Capacity),
			Gear: i32(m.Gear), Fatigue: i32(m.Fatigue), Torches: i32(m.Torches), Oil: i32(m.Oil),
		}}
	case "remove_member":
		return &travelv1.RemoveMemberRequest{Member: a.Member}
	case "sell_remains":
		return &travelv1.SellRemainsRequest{}
	case "free_food_slots":
		return &travelv1.FreeFoodSlotsRequest{}
	case "distribute":
		slots := map[string]int32{}
		for name, n := range a.FoodSlots {
			slots[name] = i32(n)
		}
		return &travelv1.DistributeRequest{FoodSlots: slots}
	case "loot":
		return &travelv1.LootRequest{}
	case "harm":
		return &travelv1.HarmRequest{Member: a.Member, Hp: i32(a.HP), Str: i32(a.STR)}
	case "rest":
		return &travelv1.RestRequest{}
	case "long_rest":
		return &travelv1.LongRestRequest{}
	case "light":
		return &travelv1.LightRequest{Kind: a.Kind}
	case "dungeon_turn":
		return &travelv1.TakeTurnRequest{Trigger: a.Trigger, To: a.Room}
	case "retreat":
		return &travelv1.RetreatRequest{}
	case "roll_missions":
		req := &travelv1.RollMissionsRequest{Name: inn, Count: i32(a.Count)}
		for _, place := range a.False {
			req.FalsePlaces = append(req.FalsePlaces, i32(place))
		}
		return req
	case "use_mission":
		return &travelv1.UseMissionRequest{Name: inn, Number: i32(a.Number), Replacement: a.Replacement}
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

// The eight transcripts of the catalogue through public RPCs alone, with party and dice in earnest: from the company and the
// map that a GM makes, with dice reported by hand; what was rolled, what came of it and the whole state of each step.
func TestTranscripts(t *testing.T) {
	t.Parallel()
	const dir = "../../rules/diedrop/testdata"
	raw, err := os.ReadFile(filepath.Join(dir, "transcripts.json"))
	if err != nil {
		t.Fatal(err)
	}
	file, err := diedrop.ParseTranscripts(raw, func(name string) ([]byte, error) { return os.ReadFile(filepath.Join(dir, name)) })
	if err != nil {
		t.Fatal(err)
	}
	if len(file.Transcripts) != 8 {
		t.Fatalf("%d transcripts", len(file.Transcripts))
	}
	for _, tr := range file.Transcripts {
		t.Run(tr.ID, func(t *testing.T) {
			t.Parallel()
			played := replay(t, tr)
			if len(played.Got) != len(tr.Actions) {
				t.Errorf("%d steps of %d actions", len(played.Got), len(tr.Actions))
			}
			if err := transcript.Check([]transcript.Played{played}); err != nil {
				t.Error(err)
			}
		})
	}
}

// begin makes campaign, company, map, journey and board of a transcript.
func (n *table) beginTranscript(t *testing.T, tr diedrop.Transcript) {
	t.Helper()
	gms := as(t.Context(), gm)
	must[*partyv1.CreateCampaignResponse](t)(n.campaigns.CreateCampaign(gms, &partyv1.CreateCampaignRequest{CampaignId: "c1", Title: "By the book", RequestId: "c"}))
	must[*partyv1.CreateCompanyResponse](t)(n.companies.CreateCompany(gms, gather(t, tr.Party)))
	document, err := json.Marshal(tr.World())
	if err != nil {
		t.Fatal(err)
	}
	do[*travelv1.ImportRegionResponse](n.node, gm, &travelv1.ImportRegionRequest{Parent: camp, RegionId: "vale", Region: draftOf(t, document)})
	start := &travelv1.StartJourneyRequest{Parent: camp, JourneyId: "trek", Company: band, Region: vale, Inside: tr.Party.Inside, Discovered: tr.Party.Discovered}
	if h := tr.Party.Hex; h != nil {
		start.Hex = hex(i32(h.Q), i32(h.R))
	}
	if len(tr.Params) > 0 {
		raw, err := json.Marshal(tr.Params)
		if err != nil {
			t.Fatal(err)
		}
		var plain map[string]any
		if err := json.Unmarshal(raw, &plain); err != nil {
			t.Fatal(err)
		}
		start.Params = params(plain)
	}
	do[*travelv1.StartJourneyResponse](n.node, gm, start)
	do[*travelv1.CreateMissionBoardResponse](n.node, gm, &travelv1.CreateMissionBoardRequest{Parent: camp, MissionBoardId: "inn", Title: "Talk", Journey: trek})
}

func replay(t *testing.T, tr diedrop.Transcript) transcript.Played {
	t.Helper()
	n := earnest(t)
	n.beginTranscript(t, tr)
	out := transcript.Played{ID: tr.ID, Want: tr.Expected, Free: []string{"rolls[].for"}}
	for i, a := range tr.Actions {
		step := diedrop.Step{Step: i + 1, Action: a.Type, Rolls: []diedrop.Roll{}, Result: map[string]any{}}
		req := request(t, a)
		set(req, "name", trek)
		m := req.ProtoReflect()
		if fd := m.Descriptor().Fields().ByName("reported_dice"); fd != nil && len(a.Dice) > 0 {
			etag := n.journey(gm).GetEtag()
			if _, ok := req.(*travelv1.RollMissionsRequest); ok {
				etag = n.board(gm).GetEtag()
			}
			set(req, "etag", etag)
			for _, face := range a.Dice {
				m.Mutable(fd).List().Append(protoreflect.ValueOfInt32(i32(face)))
			}
		} else if len(a.Dice) > 0 {
			t.Fatalf("step %d: %s takes no dice", i+1, a.Type)
		}
		known := len(n.board(gm).GetMissions())
		res, err := n.call(gm, req)
		switch ans := res.(type) {
		case commandAnswer:
			if err == nil {
				step.Rolls, step.Result = rollsOf(ans.GetRecord()), resultOf(a.Type, ans)
				if diff := cmp.Diff(n.journey(gm), ans.GetJourney(), protocmp.Transform()); diff != "" {
					t.Errorf("step %d %s: read, another state is told (-read +answered):\n%s", i+1, a.Type, diff)
				}
			}
		case *travelv1.RollMissionsResponse:
			if err == nil {
				numbers := []int32{}
				for _, m := range ans.GetMissionBoard().GetMissions()[known:] {
					numbers = append(numbers, m.GetNumber())
				}
				step.Rolls, step.Result = rollsOf(ans.GetRecord()), map[string]any{"missions": numbers}
			}
		}
		if err != nil {
			reason := strings.ToLower(fault.ReasonOf(fault.FromStatus(err)))
			step.Refused = &reason
		}
		step.State = stateOf(n.journey(gm), n.board(gm))
		out.Add(step)
	}
	return out
}

func die(n int32) string { return "d" + strconv.Itoa(int(n)) }

func orNil(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func rollsOf(r *typev1.Record) []diedrop.Roll {
	out := []diedrop.Roll{}
	for _, d := range r.GetDice() {
		out = append(out, diedrop.Roll{Die: die(d.GetSides()), Value: int(d.GetFace()), For: d.GetPurpose()})
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
		r["found"] = append([]string{}, o.GetFound()...)
	case "forage":
		r["forage"] = o.Forage
	}
	return r
}

// stateOf is a journey with its board as transcripts show them.
func stateOf(j *travelv1.Journey, b *travelv1.MissionBoard) diedrop.View {
	v := diedrop.View{
		Round: int(j.GetRound()), Turn: int(j.GetTurn()), Inside: orNil(j.GetInside()), Room: orNil(j.GetRoom()), Visited: append([]string{}, j.GetVisited()...),
		Food: []string{}, StarvingRounds: int(j.GetStarvingRounds()), Gold: int(j.GetGold()), Boat: j.GetBoat(), Members: []diedrop.MemberView{},
		Cargo: []diedrop.Load{}, Lantern: j.GetLantern(), Discovered: append([]string{}, j.GetDiscovered()...), Missions: []diedrop.Mission{},
		MissionTexts: map[int]string{}, SlotsNeeded: int(j.GetSlotsNeeded()), SlotsHeld: int(j.GetSlotsHeld()), Dark: j.GetDark(), NoRecovery: j.GetNoRecovery(),
	}
	for _, d := range j.GetFood() {
		v.Food = append(v.Food, die(d))
	}
	for _, m := range j.GetMembers() {
		v.Members = append(v.Members, diedrop.MemberView{Member: diedrop.Member{
			Name: m.GetName(), HP: int(m.GetHp()), HPMax: int(m.GetHpMax()), STR: int(m.GetStr()), STRMax: int(m.GetStrMax()), Capacity: int(m.GetCapacity()),
			Gear: int(m.GetGear()), FoodSlots: int(m.GetFoodSlots()), Fatigue: int(m.GetFatigue()), Torches: int(m.GetTorches()), Oil: int(m.GetOil()), Dead: m.GetDead(),
		}, SlotsUsed: int(m.GetSlotsUsed()), Overloaded: m.GetOverloaded()})
	}
	for _, l := range j.GetCargo() {
		v.Cargo = append(v.Cargo, diedrop.Load{
			Carrier: l.GetCarrier(), Creature: l.GetCreature(), Count: int(l.GetCount()), Value: int(l.GetValue()), Slots: int(l.GetSlots()),
		})
	}
	if h := j.GetHex(); h != nil {
		v.Hex = &diedrop.Hex{Q: int(h.GetQ()), R: int(h.GetR())}
	}
	if l := j.GetLight(); l != nil {
		v.Light = &diedrop.TranscriptLight{Kind: l.GetKind(), Die: die(l.GetSides())}
	}
	if e := j.GetEncounter(); e != nil {
		v.Encounter = &diedrop.Encounter{
			Creature: e.GetCreature(), Number: int(e.GetNumber()), Reaction: e.Reaction, Gold: int(e.GetGold()), Remains: e.GetRemains(), Players: e.GetPlayers(), NPCs: e.GetNpcs(),
		}
		if e.ReactionTotal != nil {
			total := int(e.GetReactionTotal())
			v.Encounter.ReactionTotal = &total
		}
	}
	for _, m := range b.GetMissions() {
		v.Missions = append(v.Missions, diedrop.Mission{Number: int(m.GetNumber()), False: m.GetIsFalse(), Used: m.GetUsed()})
	}
	for n, own := range b.GetOwnTexts() {
		v.MissionTexts[int(n)] = own
	}
	return v
}
