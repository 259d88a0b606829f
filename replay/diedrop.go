package replay

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/structpb"

	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"
	travelv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/travel/v1"
	typev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/type/v1"

	"github.com/wayfarer-rpg/wayfarer/rules/diedrop"
	"github.com/wayfarer-rpg/wayfarer/rules/play"
	"github.com/wayfarer-rpg/wayfarer/rules/play/transcript"
)

func playDieDrop(ctx context.Context, s *session, document []byte, open Open) ([]transcript.Played, error) {
	file, err := diedrop.ParseTranscripts(document, open)
	if err != nil {
		return nil, err
	}
	played := make([]transcript.Played, len(file.Transcripts))
	for i, t := range file.Transcripts {
		played[i] = s.dieDrop(ctx, i, t)
	}
	return played, nil
}

func (s *session) dieDrop(ctx context.Context, i int, t diedrop.Transcript) transcript.Played {
	out := transcript.Played{ID: t.ID, Want: t.Expected, Free: []string{"rolls[].for"}}
	p := &dieDropTable{session: s, Transcript: t}
	if err := p.begin(ctx, i); err != nil {
		out.Err = &transcript.Fault{Transcript: t.ID, Err: err}
		return out
	}
	defer p.end(ctx)
	for n, a := range t.Actions {
		step, err := p.step(ctx, n, a)
		if err != nil {
			out.Err = err
			return out
		}
		out.Add(step)
	}
	return out
}

// dieDropTable is a transcript on its way through a server.
type dieDropTable struct {
	*session
	diedrop.Transcript
	campaign string
	journey  *travelv1.Journey
	board    *travelv1.MissionBoard
}

// begin makes a company of hirelings, which are members like the others, imports the map and starts the journey.
func (p *dieDropTable) begin(ctx context.Context, i int) error {
	start, err := p.Start()
	if err != nil {
		return err
	}
	if p.campaign, err = p.session.campaign(ctx, i, p.Title); err != nil {
		return err
	}
	company := &partyv1.CreateCompanyRequest{Parent: p.campaign, CompanyId: "transcript", Title: "Transcript", Pack: packOf(start, p.Party)}
	for k, m := range p.Party.Members {
		company.Travelers = append(company.Travelers, travelerOf(m, start.Members[k]))
	}
	if err := p.post(ctx, p.campaign+"/companies", company, &partyv1.Company{}); err != nil {
		return err
	}
	region := &travelv1.ImportRegionRequest{Parent: p.campaign, RegionId: "transcript", Region: draftOf(p.World())}
	if err := p.post(ctx, p.campaign+"/regions:import", region, &travelv1.Region{}); err != nil {
		return err
	}
	params, err := plainStruct(p.Params)
	if err != nil {
		return fmt.Errorf("params: %w", err)
	}
	res := &travelv1.StartJourneyResponse{}
	err = p.post(ctx, p.campaign+"/journeys", &travelv1.StartJourneyRequest{
		Parent: p.campaign, JourneyId: "transcript", Company: p.campaign + "/companies/transcript", Region: p.campaign + "/regions/transcript",
		Hex: hexOf(p.Party.Hex), Inside: p.Party.Inside, Discovered: p.Party.Discovered, Params: params,
	}, res)
	if err != nil {
		return err
	}
	p.journey = res.GetJourney()
	p.board = &travelv1.MissionBoard{}
	return p.post(ctx, p.campaign+"/missionBoards", &travelv1.CreateMissionBoardRequest{
		Parent: p.campaign, MissionBoardId: "transcript", Title: "Transcript", Journey: p.journey.GetName(),
	}, p.board)
}

// end gives the journey up, so that nothing of a replay goes on. What was played stands whether or not this succeeds.
func (p *dieDropTable) end(ctx context.Context) {
	_ = p.post(context.WithoutCancel(ctx), p.journey.GetName()+":abandon",
		&travelv1.AbandonJourneyRequest{Name: p.journey.GetName(), OverrideReason: reason}, &travelv1.AbandonJourneyResponse{})
}

// step plays an action. A refusal of the rules is a step like any other.
func (p *dieDropTable) step(ctx context.Context, n int, a diedrop.Action) (diedrop.Step, error) {
	out := diedrop.Step{Step: n + 1, Action: a.Type, Rolls: []diedrop.Roll{}, Result: map[string]any{}}
	record, result, err := p.play(ctx, a)
	var refusal *Refusal
	switch {
	case err == nil:
		out.Result = result
		for _, d := range record.GetDice() {
			out.Rolls = append(out.Rolls, diedrop.Roll{Die: dieOf(d.GetSides()), Value: int(d.GetFace()), For: d.GetPurpose()})
		}
	case errors.As(err, &refusal) && refusal.catalogued():
		code := strings.ToLower(refusal.Reason)
		out.Refused = &code
	default:
		return out, err
	}
	out.State, err = p.view(ctx)
	return out, err
}

// play sends the command of an action with its dice, and reads what came of it.
func (p *dieDropTable) play(ctx context.Context, a diedrop.Action) (*typev1.Record, map[string]any, error) {
	req, verb := p.request(a)
	switch req := req.(type) {
	case nil:
		return nil, nil, p.unknown(ctx, a)
	case *travelv1.RollMissionsRequest:
		res := &travelv1.RollMissionsResponse{}
		if err := p.command(ctx, p.board.GetName()+verb, p.board.GetEtag(), req, res, a.Dice); err != nil {
			return nil, nil, err
		}
		return res.GetRecord(), map[string]any{"missions": p.rolled(res)}, nil
	case *travelv1.UseMissionRequest:
		res := &travelv1.UseMissionResponse{}
		err := p.command(ctx, p.board.GetName()+verb, p.board.GetEtag(), req, res, a.Dice)
		return res.GetRecord(), map[string]any{}, err
	}
	// All play commands of a journey answer alike.
	res := &travelv1.MoveResponse{}
	if err := p.command(ctx, p.journey.GetName()+verb, p.journey.GetEtag(), req, res, a.Dice); err != nil {
		return nil, nil, err
	}
	return res.GetRecord(), dieDropResult(a.Type, res.GetOutcome()), nil
}

// rolled returns the numbers that a roll has added to the board.
func (p *dieDropTable) rolled(res *travelv1.RollMissionsResponse) []int {
	numbers := []int{}
	for _, m := range res.GetMissionBoard().GetMissions()[len(p.board.GetMissions()):] {
		numbers = append(numbers, int(m.GetNumber()))
	}
	return numbers
}

// command sends a command with exactly the dice given. No dice at all cannot be reported, the server would roll: whether it
// would is found out by a face that no die has.
func (p *dieDropTable) command(ctx context.Context, path, etag string, req, res proto.Message, dice []int) error {
	m := req.ProtoReflect()
	m.Set(m.Descriptor().Fields().ByName("etag"), protoreflect.ValueOfString(etag))
	fd := m.Descriptor().Fields().ByName("reported_dice")
	report := func(faces ...int) proto.Message {
		out := proto.Clone(req)
		for _, face := range faces {
			out.ProtoReflect().Mutable(fd).List().Append(protoreflect.ValueOfInt32(i32(face)))
		}
		return out
	}
	switch {
	case len(dice) > 0:
		return p.post(ctx, path, report(dice...), res)
	case !rolls(req):
		return p.post(ctx, path, req, res)
	}
	err := p.post(ctx, path, report(0), res)
	var refusal *Refusal
	if errors.As(err, &refusal) && refusal.Reason == play.BadDice && strings.Contains(refusal.Message, "1 reported, 0 needed") {
		return p.post(ctx, path, req, res)
	}
	return err
}

// rolls tells whether the server may roll for a command; the others take reported dice for the sake of being refused only.
func rolls(req proto.Message) bool {
	switch req.(type) {
	case *travelv1.MoveRequest, *travelv1.SearchRequest, *travelv1.ForageRequest, *travelv1.PrepareRemainsRequest, *travelv1.EnterLocationRequest,
		*travelv1.TakeTurnRequest, *travelv1.RetreatRequest, *travelv1.RollMissionsRequest:
		return true
	}
	return false
}

// unknown refuses an action for which there is no command.
func (p *dieDropTable) unknown(ctx context.Context, a diedrop.Action) error {
	v, err := p.view(ctx)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(v.Members, func(m diedrop.MemberView) bool { return !m.Dead }) {
		return &Refusal{Reason: diedrop.PartyDead, Message: "nobody of the company lives"}
	}
	return &Refusal{Reason: diedrop.UnknownAction, Message: "there is no action " + a.Type}
}

// catalogued tells whether the rules refuse, and not the edge.
func (r *Refusal) catalogued() bool {
	return r.Reason != diedrop.Invalid && slices.Contains(dieDropRefusals, r.Reason)
}

// dieDropRefusals are the codes of the catalogue.
var dieDropRefusals = strings.Fields(strings.ToUpper(`party_dead unknown_action bad_dice not_adjacent off_map bad_route inside_location
	not_inside unknown_location not_here not_discovered not_settlement max_food no_gold no_room bad_distribution no_gold_here no_remains
	deprived no_such_member already_owned name_taken last_member not_dungeon not_in_room no_such_way too_dark already_lit no_spare at_exit
	not_at_exit too_few_missions too_many_missions no_such_mission too_many_loads`))

// request makes the command of an action and its verb; nil for an action that there is not.
func (p *dieDropTable) request(a diedrop.Action) (proto.Message, string) {
	name := p.journey.GetName()
	switch a.Type {
	case "move":
		return &travelv1.MoveRequest{Name: name, To: hexOf(&a.To), Via: string(a.Via)}, ":move"
	case "search":
		return &travelv1.SearchRequest{Name: name}, ":search"
	case "forage":
		return &travelv1.ForageRequest{Name: name}, ":forage"
	case "prepare_remains":
		return &travelv1.PrepareRemainsRequest{Name: name, Count: i32(a.Count), Value: i32(a.Value), Carrier: a.Carrier}, ":prepareRemains"
	case "enter":
		return &travelv1.EnterLocationRequest{Name: name, Location: a.Location}, ":enterLocation"
	case "leave":
		return &travelv1.LeaveLocationRequest{Name: name}, ":leaveLocation"
	case "buy_food":
		return &travelv1.BuyFoodRequest{Name: name, Steps: i32(a.Steps)}, ":buyFood"
	case "buy_gear":
		return &travelv1.BuyGearRequest{Name: name, Item: a.Item, Count: i32(a.Count), Carrier: a.Carrier}, ":buyGear"
	case "add_member":
		m := a.Newcomer
		return &travelv1.AddMemberRequest{Name: name, Member: &travelv1.Newcomer{
			Name: m.Name, Hp: i32(m.HP), HpMax: optional(m.HPMax), Str: i32(m.STR), StrMax: optional(m.STRMax), Capacity: optional(m.Capacity),
			Gear: i32(m.Gear), Fatigue: i32(m.Fatigue), Torches: i32(m.Torches), Oil: i32(m.Oil),
		}}, ":addMember"
	case "remove_member":
		return &travelv1.RemoveMemberRequest{Name: name, Member: a.Member}, ":removeMember"
	case "sell_remains":
		return &travelv1.SellRemainsRequest{Name: name}, ":sellRemains"
	case "free_food_slots":
		return &travelv1.FreeFoodSlotsRequest{Name: name}, ":freeFoodSlots"
	case "distribute":
		slots := map[string]int32{}
		for who, n := range a.FoodSlots {
			slots[who] = i32(n)
		}
		return &travelv1.DistributeRequest{Name: name, FoodSlots: slots}, ":distribute"
	case "loot":
		return &travelv1.LootRequest{Name: name}, ":loot"
	case "harm":
		return &travelv1.HarmRequest{Name: name, Member: a.Member, Hp: i32(a.HP), Str: i32(a.STR)}, ":harm"
	case "rest":
		return &travelv1.RestRequest{Name: name}, ":rest"
	case "long_rest":
		return &travelv1.LongRestRequest{Name: name}, ":longRest"
	case "light":
		return &travelv1.LightRequest{Name: name, Kind: a.Kind}, ":light"
	case "dungeon_turn":
		return &travelv1.TakeTurnRequest{Name: name, Trigger: a.Trigger, To: a.Room}, ":takeTurn"
	case "retreat":
		return &travelv1.RetreatRequest{Name: name}, ":retreat"
	case "roll_missions":
		return &travelv1.RollMissionsRequest{Name: p.board.GetName(), Count: i32(a.Count), FalsePlaces: i32s(a.False)}, ":roll"
	case "use_mission":
		return &travelv1.UseMissionRequest{Name: p.board.GetName(), Number: i32(a.Number), Replacement: a.Replacement}, ":use"
	}
	return nil, ""
}

// dieDropResult reads a step's result from the outcome of a command.
func dieDropResult(action string, o *travelv1.Outcome) map[string]any {
	r := map[string]any{}
	switch action {
	case "move", "search", "forage", "prepare_remains", "dungeon_turn", "retreat":
		r["encounter_check"] = o.EncounterCheck
		if o.Dark == nil {
			r["usage"], r["starved"] = usageOf(o.GetUsage()), o.GetStarved()
			break
		}
		r["dark"], r["light"] = o.GetDark(), nil
		if l := o.GetLight(); l != nil {
			r["light"] = map[string]any{"die": dieOf(l.GetSides()), "roll": l.GetRoll(), "stepped_down": l.GetSteppedDown(), "replaced": l.Replaced}
		}
	case "enter":
		r["usage"] = usageOf(o.GetUsage())
	case "buy_food":
		r["slots_bought"], r["gold_paid"] = o.GetSlotsBought(), o.GetGoldPaid()
	case "buy_gear":
		r["gold_paid"] = o.GetGoldPaid()
	case "loot", "sell_remains":
		r["gold"] = o.GetGold()
	case "free_food_slots":
		r["freed"] = o.GetFreed()
	}
	switch action {
	case "move":
		r["via"] = o.GetVia()
	case "search":
		r["found"] = append([]string{}, o.GetFound()...)
	case "forage":
		r["forage"] = o.Forage
	}
	return r
}

func usageOf(u *travelv1.UsageCheck) any {
	if u == nil {
		return nil
	}
	return map[string]any{"dice": u.GetDice(), "die": dieOf(u.GetSides()), "keep": u.GetKeep(), "kept": u.GetKept(), "stepped_down": u.GetSteppedDown()}
}

// view reads the journey and its board as transcripts show them.
func (p *dieDropTable) view(ctx context.Context) (diedrop.View, error) {
	j, b := &travelv1.Journey{}, &travelv1.MissionBoard{}
	if err := errors.Join(p.get(ctx, p.journey.GetName(), j), p.get(ctx, p.board.GetName(), b)); err != nil {
		return diedrop.View{}, err
	}
	p.journey, p.board = j, b
	v := diedrop.View{
		Round: int(j.GetRound()), Turn: int(j.GetTurn()), Inside: orNil(j.GetInside()), Room: orNil(j.GetRoom()), Visited: append([]string{}, j.GetVisited()...),
		Food: []string{}, StarvingRounds: int(j.GetStarvingRounds()), Gold: int(j.GetGold()), Boat: j.GetBoat(), Members: []diedrop.MemberView{},
		Cargo: []diedrop.Load{}, Lantern: j.GetLantern(), Discovered: append([]string{}, j.GetDiscovered()...), Missions: []diedrop.Mission{},
		MissionTexts: map[int]string{}, SlotsNeeded: int(j.GetSlotsNeeded()), SlotsHeld: int(j.GetSlotsHeld()), Dark: j.GetDark(),
		NoRecovery: j.GetNoRecovery(),
	}
	if h := j.GetHex(); h != nil {
		v.Hex = &diedrop.Hex{Q: int(h.GetQ()), R: int(h.GetR())}
	}
	for _, d := range j.GetFood() {
		v.Food = append(v.Food, dieOf(d))
	}
	for _, m := range j.GetMembers() {
		v.Members = append(v.Members, diedrop.MemberView{
			Member: diedrop.Member{
				Name: m.GetName(), Character: m.GetCharacter(), HP: int(m.GetHp()), HPMax: int(m.GetHpMax()), STR: int(m.GetStr()), STRMax: int(m.GetStrMax()),
				Capacity: int(m.GetCapacity()), Gear: int(m.GetGear()), FoodSlots: int(m.GetFoodSlots()), Fatigue: int(m.GetFatigue()),
				Torches: int(m.GetTorches()), Oil: int(m.GetOil()), Dead: m.GetDead(),
			},
			SlotsUsed: int(m.GetSlotsUsed()), Overloaded: m.GetOverloaded(),
		})
	}
	for _, l := range j.GetCargo() {
		v.Cargo = append(v.Cargo, diedrop.Load{
			Carrier: l.GetCarrier(), Creature: l.GetCreature(), Count: int(l.GetCount()), Value: int(l.GetValue()), Slots: int(l.GetSlots()),
		})
	}
	if l := j.GetLight(); l != nil {
		v.Light = &diedrop.TranscriptLight{Kind: l.GetKind(), Die: dieOf(l.GetSides())}
	}
	if e := j.GetEncounter(); e != nil {
		v.Encounter = &diedrop.Encounter{
			Creature: e.GetCreature(), Number: int(e.GetNumber()), Reaction: e.Reaction, Gold: int(e.GetGold()), Remains: e.GetRemains(),
			Players: e.GetPlayers(), NPCs: e.GetNpcs(),
		}
		if e.ReactionTotal != nil {
			n := int(e.GetReactionTotal())
			v.Encounter.ReactionTotal = &n
		}
	}
	for _, m := range b.GetMissions() {
		v.Missions = append(v.Missions, diedrop.Mission{Number: int(m.GetNumber()), False: m.GetIsFalse(), Used: m.GetUsed()})
	}
	for n, text := range b.GetOwnTexts() {
		v.MissionTexts[int(n)] = text
	}
	return v, nil
}

func packOf(start diedrop.Start, party diedrop.TranscriptParty) *partyv1.Pack {
	pack := &partyv1.Pack{
		Food: i32s(start.Food), Gold: i32(party.Gold), Boat: party.Boat, Lantern: party.Lantern, StarvingRounds: i32(party.StarvingRounds),
	}
	if start.Light != nil {
		pack.Light = &partyv1.Light{Kind: start.Light.Kind, Sides: i32(start.Light.Sides)}
	}
	for _, l := range party.Cargo {
		pack.Cargo = append(pack.Cargo, &partyv1.Load{Creature: l.Creature, Count: i32(l.Count), Value: i32(l.Value), Carrier: l.Carrier})
	}
	return pack
}

// travelerOf makes a hireling of a member; whole is the member with the defaults of what the file leaves out.
func travelerOf(m diedrop.TranscriptMember, whole diedrop.Member) *partyv1.Traveler {
	return &partyv1.Traveler{
		Label: m.Name, Torches: i32(m.Torches), Oil: i32(m.Oil), FoodSlots: i32(m.FoodSlots),
		Vitals: &partyv1.Vitals{
			Hp: i32(m.HP), HpMax: i32(whole.HPMax), Str: i32(m.STR), StrMax: i32(whole.STRMax), Capacity: optional(m.Capacity),
			Gear: i32(m.Gear), Fatigue: i32(m.Fatigue),
		},
	}
}

// draftOf makes a region of a map.
func draftOf(m *diedrop.Map) *travelv1.RegionDraft {
	title := m.Name
	if title == "" {
		title = "Transcript"
	}
	d := &travelv1.RegionDraft{Title: title, Roads: pathsOf(m.Roads), Rivers: pathsOf(m.Rivers)}
	for _, h := range m.Hexes {
		d.Hexes = append(d.Hexes, &travelv1.MapHex{Q: i32(h.Q), R: i32(h.R), Terrain: h.Terrain, Name: h.Name})
	}
	for _, l := range m.Locations {
		x := &travelv1.Location{
			Id: l.ID, Name: l.Name, Text: l.Text, Kind: l.Kind, Hex: hexOf(&l.Hex), Visible: l.Visible, Table: i32(l.Table), Entrance: l.Entrance,
		}
		for _, id := range slices.Sorted(maps.Keys(l.Rooms)) {
			x.Rooms = append(x.Rooms, &travelv1.Room{Id: id, Ways: l.Rooms[id]})
		}
		d.Locations = append(d.Locations, x)
	}
	for _, n := range m.NPCs {
		d.Npcs = append(d.Npcs, &travelv1.Npc{Id: n.ID, Name: n.Name, Text: n.Text, Hex: hexOf(&n.Hex)})
	}
	return d
}

func pathsOf(list []diedrop.Path) []*travelv1.Path {
	var out []*travelv1.Path
	for _, p := range list {
		x := &travelv1.Path{Id: p.ID, Name: p.Name, Direction: p.Direction}
		for _, h := range p.Path {
			x.Path = append(x.Path, hexOf(&h))
		}
		out = append(out, x)
	}
	return out
}

func hexOf(h *diedrop.Hex) *travelv1.Hex {
	if h == nil {
		return nil
	}
	return &travelv1.Hex{Q: i32(h.Q), R: i32(h.R)}
}

func dieOf(sides int32) string { return fmt.Sprint("d", sides) }

func optional(n *int) *int32 {
	if n == nil {
		return nil
	}
	x := i32(*n)
	return &x
}

func orNil(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// plainStruct makes the message of parameters as they were read.
func plainStruct(params map[string]any) (*structpb.Struct, error) {
	if len(params) == 0 {
		return nil, nil //nolint:nilnil // no parameters are no message
	}
	raw, err := jsonOf(params)
	if err != nil {
		return nil, err
	}
	out := &structpb.Struct{}
	return out, out.UnmarshalJSON(raw)
}
