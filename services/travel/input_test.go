package travel_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/structpb"

	travelv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/travel/v1"
)

func params(values map[string]any) *structpb.Struct {
	s, err := structpb.NewStruct(values)
	if err != nil {
		panic(err)
	}
	return s
}

// with changes a request to start another journey than the one under way.
func with(change func(*travelv1.StartJourneyRequest)) *travelv1.StartJourneyRequest {
	req := startTrek()
	req.JourneyId, req.RequestId = "next", ""
	change(req)
	return req
}

func hex(q, r int32) *travelv1.Hex { return &travelv1.Hex{Q: q, R: r} }

// Each of these leaves the journal as it was, so that all can be tried on one.
func TestBadInput(t *testing.T) {
	t.Parallel()
	const stale = "stale"
	type start = travelv1.StartJourneyRequest
	move := func(change func(*travelv1.MoveRequest)) *travelv1.MoveRequest {
		req := &travelv1.MoveRequest{Name: trek, Character: ada, To: hex(2, 2)}
		change(req)
		return req
	}
	dice := func(etag string, faces ...int32) *travelv1.MoveRequest {
		return move(func(r *travelv1.MoveRequest) { r.Character, r.Etag, r.ReportedDice = "", etag, faces })
	}
	draft := func(change func(*travelv1.RegionDraft)) *travelv1.ImportRegionRequest {
		d := &travelv1.RegionDraft{Title: "Small", Hexes: []*travelv1.MapHex{{Terrain: "plains"}}}
		change(d)
		return &travelv1.ImportRegionRequest{Parent: camp, RegionId: "small", Region: d}
	}
	w := newWorld()
	n := w.node(t).begin()
	denied, invalid, failed := codes.PermissionDenied, codes.InvalidArgument, codes.FailedPrecondition
	for name, tt := range map[string]struct {
		who  string
		req  proto.Message
		want refusal
	}{
		// Who may do what.
		"another's character":                      {brams, move(func(*travelv1.MoveRequest) {}), refusal{denied, "NOT_YOUR_CHARACTER", ""}},
		"a bot for a character that it lacks":      {bot, &travelv1.SearchRequest{Name: trek, Character: bram}, refusal{denied, "NOT_YOUR_CHARACTER", ""}},
		"a spectator":                              {spectator, &travelv1.SearchRequest{Name: trek, Character: ada}, refusal{denied, "NOT_YOUR_CHARACTER", ""}},
		"a player for nobody":                      {adas, &travelv1.SearchRequest{Name: trek}, refusal{invalid, "INVALID", "character"}},
		"a character who does not travel":          {gm, &travelv1.SearchRequest{Name: trek, Character: camp + "/characters/cleo"}, refusal{invalid, "NO_SUCH_MEMBER", "character"}},
		"another campaign's character":             {adas, &travelv1.SearchRequest{Name: trek, Character: other + "/characters/zed"}, refusal{codes.NotFound, "NOT_FOUND", "character"}},
		"a stranger plays":                         {stranger, &travelv1.SearchRequest{Name: trek, Character: ada}, refusal{codes.NotFound, "NOT_FOUND", ""}},
		"a stranger reads":                         {stranger, &travelv1.GetJourneyRequest{Name: trek}, refusal{codes.NotFound, "NOT_FOUND", ""}},
		"a stranger reads the map":                 {stranger, &travelv1.GetRegionRequest{Name: vale}, refusal{codes.NotFound, "NOT_FOUND", ""}},
		"a journey that is not there":              {adas, &travelv1.GetJourneyRequest{Name: camp + "/journeys/none"}, refusal{codes.NotFound, "NOT_FOUND", "name"}},
		"a move of a journey that is not there":    {adas, &travelv1.SearchRequest{Name: camp + "/journeys/none", Character: ada}, refusal{codes.NotFound, "NOT_FOUND", "name"}},
		"a region that is not there":               {adas, &travelv1.GetRegionRequest{Name: camp + "/regions/none"}, refusal{codes.NotFound, "NOT_FOUND", "name"}},
		"a revision that is not there":             {gm, &travelv1.GetRegionRequest{Name: vale, Revision: 2}, refusal{codes.NotFound, "NOT_FOUND", "revision"}},
		"a player imports":                         {adas, draft(func(*travelv1.RegionDraft) {}), refusal{denied, "NOT_GM", ""}},
		"a player validates":                       {adas, &travelv1.ValidateRegionRequest{Parent: camp, Region: &travelv1.RegionDraft{}}, refusal{denied, "NOT_GM", ""}},
		"a player harms":                           {adas, &travelv1.HarmRequest{Name: trek, Character: ada, Member: "Bram", Hp: 1}, refusal{denied, "NOT_GM", ""}},
		"a player overrides":                       {adas, move(func(r *travelv1.MoveRequest) { r.OverrideReason = "because" }), refusal{denied, "NOT_GM", "override_reason"}},
		"a player reports dice":                    {adas, move(func(r *travelv1.MoveRequest) { r.Etag, r.ReportedDice = stale, []int32{4} }), refusal{denied, "NOT_GM", "reported_dice"}},
		"a player brings torches in by a hireling": {adas, &travelv1.AddMemberRequest{Name: trek, Character: ada, Member: &travelv1.Newcomer{Name: "Wat", Hp: 1, Str: 1, Torches: 5}}, refusal{denied, "NOT_GM", "member.torches"}},

		// What the rules refuse.
		"a hex that does not adjoin":    {adas, move(func(r *travelv1.MoveRequest) { r.To = hex(5, 5) }), refusal{failed, "NOT_ADJACENT", "to"}},
		"the hex where they are":        {adas, move(func(r *travelv1.MoveRequest) { r.To = hex(1, 2) }), refusal{failed, "NOT_ADJACENT", "to"}},
		"by a river that is none":       {adas, move(func(r *travelv1.MoveRequest) { r.Via = "river" }), refusal{failed, "BAD_ROUTE", "via"}},
		"outside, food":                 {adas, &travelv1.BuyFoodRequest{Name: trek, Character: ada, Steps: 1}, refusal{failed, "NOT_SETTLEMENT", ""}},
		"outside, leaving":              {adas, &travelv1.LeaveLocationRequest{Name: trek, Character: ada}, refusal{failed, "NOT_INSIDE", ""}},
		"a turn where there is no site": {adas, &travelv1.TakeTurnRequest{Name: trek, Character: ada, Trigger: "room", To: "adit"}, refusal{failed, "NOT_DUNGEON", ""}},
		"gold where there is none":      {adas, &travelv1.LootRequest{Name: trek, Character: ada}, refusal{failed, "NO_GOLD_HERE", ""}},
		"remains where there are none":  {adas, &travelv1.PrepareRemainsRequest{Name: trek, Character: ada, Count: 1, Carrier: "Ada"}, refusal{failed, "NO_REMAINS", "count"}},
		"a light that nobody has":       {adas, &travelv1.LightRequest{Name: trek, Character: ada, Kind: "lantern"}, refusal{failed, "NO_SPARE", "kind"}},
		"a bad distribution":            {adas, &travelv1.DistributeRequest{Name: trek, Character: ada, FoodSlots: map[string]int32{"Ada": 3}}, refusal{failed, "BAD_DISTRIBUTION", "food_slots"}},
		"a name that is taken":          {adas, &travelv1.AddMemberRequest{Name: trek, Character: ada, Member: &travelv1.Newcomer{Name: "Bram", Hp: 1, Str: 1}}, refusal{failed, "NAME_TAKEN", "member.name"}},
		"nobody of that name leaves":    {adas, &travelv1.RemoveMemberRequest{Name: trek, Character: ada, Member: "Wat"}, refusal{failed, "NO_SUCH_MEMBER", "member"}},
		"a long rest outside":           {adas, &travelv1.LongRestRequest{Name: trek, Character: ada}, refusal{failed, "NOT_SETTLEMENT", ""}},
		"a location elsewhere":          {adas, &travelv1.EnterLocationRequest{Name: trek, Character: ada, Location: "pennard-delve"}, refusal{failed, "NOT_HERE", "location"}},

		// Reported dice and etags.
		"too few dice":              {gm, dice("", 4), refusal{invalid, "BAD_DICE", "reported_dice"}},
		"too many dice":             {gm, dice("", 4, 4, 6, 6, 6), refusal{invalid, "BAD_DICE", "reported_dice"}},
		"face 0":                    {gm, dice("", 0, 4, 6), refusal{invalid, "BAD_DICE", "reported_dice"}},
		"a face that the die lacks": {gm, dice("", 9, 4, 6), refusal{invalid, "BAD_DICE", "reported_dice"}},
		"dice without an etag":      {gm, &travelv1.MoveRequest{Name: trek, To: hex(2, 2), ReportedDice: []int32{4, 4, 6}}, refusal{invalid, "ETAG_REQUIRED", "etag"}},
		"dice for another state":    {gm, dice(stale, 4, 4, 6), refusal{codes.Aborted, "ETAG_MISMATCH", "etag"}},
		"a stale etag":              {adas, move(func(r *travelv1.MoveRequest) { r.Etag = stale }), refusal{codes.Aborted, "ETAG_MISMATCH", "etag"}},
		"a stale etag to import":    {gm, &travelv1.ImportRegionRequest{Parent: camp, RegionId: "vale", Region: &travelv1.RegionDraft{Title: "x", Hexes: []*travelv1.MapHex{{Terrain: "plains"}}}, Etag: stale}, refusal{codes.Aborted, "ETAG_MISMATCH", "etag"}},

		// Fields outside their kind.
		"a page below 0":              {adas, &travelv1.ListJourneysRequest{Parent: camp, PageSize: -1}, refusal{invalid, "INVALID", "page_size"}},
		"a page of regions below 0":   {adas, &travelv1.ListRegionsRequest{Parent: camp, PageSize: -1}, refusal{invalid, "INVALID", "page_size"}},
		"a token of another list":     {adas, &travelv1.ListJourneysRequest{Parent: camp, PageToken: "x"}, refusal{invalid, "PAGE_TOKEN", "page_token"}},
		"no hex to move to":           {adas, move(func(r *travelv1.MoveRequest) { r.To = nil }), refusal{invalid, "INVALID", "to"}},
		"an unknown way to move":      {adas, move(func(r *travelv1.MoveRequest) { r.Via = "air" }), refusal{invalid, "INVALID", "via"}},
		"no steps of food":            {adas, &travelv1.BuyFoodRequest{Name: trek, Character: ada}, refusal{invalid, "INVALID", "steps"}},
		"unknown gear":                {adas, &travelv1.BuyGearRequest{Name: trek, Character: ada, Item: "sword"}, refusal{invalid, "INVALID", "item"}},
		"a newcomer without strength": {adas, &travelv1.AddMemberRequest{Name: trek, Character: ada, Member: &travelv1.Newcomer{Name: "Wat", Hp: 1}}, refusal{invalid, "INVALID", "member.str"}},
		"a newcomer above their best": {adas, &travelv1.AddMemberRequest{Name: trek, Character: ada, Member: &travelv1.Newcomer{Name: "Wat", Hp: 3, HpMax: proto.Int32(2), Str: 1}}, refusal{invalid, "INVALID", "member.hp"}},
		"an unknown trigger":          {adas, &travelv1.TakeTurnRequest{Name: trek, Character: ada, Trigger: "nap"}, refusal{invalid, "INVALID", "trigger"}},
		"a request_id with a blank":   {adas, move(func(r *travelv1.MoveRequest) { r.RequestId = "a b" }), refusal{invalid, "INVALID", "request_id"}},
		"an id that breaks an URL":    {adas, with(func(r *start) { r.JourneyId = "a/b" }), refusal{invalid, "INVALID", "journey_id"}},

		// Starts.
		"a spectator starts":                 {spectator, with(func(*start) {}), refusal{denied, "SPECTATOR", ""}},
		"a player starts for another's":      {brams, with(func(*start) {}), refusal{denied, "NOT_YOUR_CHARACTER", ""}},
		"a player starts for nobody":         {adas, with(func(r *start) { r.Character = "" }), refusal{invalid, "INVALID", "character"}},
		"a player starts for who stays home": {adas, with(func(r *start) { r.Character = camp + "/characters/cleo" }), refusal{invalid, "NO_SUCH_MEMBER", "character"}},
		"a start off the map":                {adas, with(func(r *start) { r.Hex = hex(99, 99) }), refusal{invalid, "OFF_MAP", "hex"}},
		"a start nowhere":                    {adas, with(func(r *start) { r.Hex = nil }), refusal{invalid, "INVALID", "hex"}},
		"a start in no location":             {gm, with(func(r *start) { r.Inside = "nowhere" }), refusal{invalid, "UNKNOWN_LOCATION", "inside"}},
		"a start in a location elsewhere":    {gm, with(func(r *start) { r.Inside = "mirefold" }), refusal{invalid, "NOT_HERE", "inside"}},
		"a player starts inside":             {adas, with(func(r *start) { r.Inside = "tallowick" }), refusal{denied, "NOT_GM", "inside"}},
		"a player starts with knowledge":     {adas, with(func(r *start) { r.Discovered = []string{"mirefold"} }), refusal{denied, "NOT_GM", "discovered"}},
		"a player starts with other rules":   {adas, with(func(r *start) { r.Params = params(map[string]any{"enc.check_max": 0}) }), refusal{denied, "NOT_GM", "params"}},
		"a start with unknown knowledge":     {gm, with(func(r *start) { r.Discovered = []string{"mirefold", "tallowick"} }), refusal{invalid, "UNKNOWN_LOCATION", "discovered[1]"}},
		"a start with an unknown rule":       {gm, with(func(r *start) { r.Params = params(map[string]any{"luck": 1}) }), refusal{invalid, "INVALID", "params"}},
		"a start with a rule out of bounds":  {gm, with(func(r *start) { r.Params = params(map[string]any{"enter.dice": 9}) }), refusal{invalid, "INVALID", "params"}},
		"a start with no such company":       {gm, with(func(r *start) { r.Company = camp + "/companies/none" }), refusal{codes.NotFound, "NOT_FOUND", "company"}},
		"a start with another's company":     {gm, with(func(r *start) { r.Company = other + "/companies/band" }), refusal{codes.NotFound, "NOT_FOUND", "company"}},
		"a start in no such region":          {gm, with(func(r *start) { r.Region = camp + "/regions/none" }), refusal{codes.NotFound, "NOT_FOUND", "region"}},
		"a start in another's region":        {gm, with(func(r *start) { r.Region = other + "/regions/vale" }), refusal{codes.NotFound, "NOT_FOUND", "region"}},
		"a start under an id that is used":   {adas, with(func(r *start) { r.JourneyId = "trek" }), refusal{codes.AlreadyExists, "ALREADY_EXISTS", ""}},
		"a user starts an expedition's":      {gm, with(func(r *start) { r.Expedition = camp + "/expeditions/x" }), refusal{denied, "NOT_A_SERVICE", "expedition"}},

		// Regions. All faults are told, each at its field.
		"a region without a hex": {gm, draft(func(d *travelv1.RegionDraft) { d.Hexes = nil }), refusal{invalid, "INVALID_REGION", "region.locations"}},
		"a region full of faults": {gm, draft(func(d *travelv1.RegionDraft) {
			d.Title = ""
			d.Hexes = append(d.Hexes, &travelv1.MapHex{Q: 1, Terrain: "lava"}, &travelv1.MapHex{Terrain: "plains"})
			d.Rivers = []*travelv1.Path{{Id: "ooze", Name: "Ooze", Path: []*travelv1.Hex{hex(0, 0), hex(5, 5)}}}
			d.Locations = []*travelv1.Location{
				{Id: "Bad Id", Name: "x", Kind: "inn", Hex: hex(0, 0)},
				{Id: "pit", Name: "Pit", Kind: "site", Hex: hex(0, 0), Table: 1, Entrance: "a", Rooms: []*travelv1.Room{
					{Id: "a", Ways: []string{"b", "c"}}, {Id: "b"}, {Id: "b"}, {Id: "d.rooms.a[0]"},
				}},
			}
			d.Npcs = []*travelv1.Npc{{Id: "x", Name: "X", Hex: hex(7, 7)}}
		}), refusal{invalid, "INVALID_REGION", "region.title,region.hexes[1].terrain,region.hexes[2]," +
			"region.rivers[0].path[1],region.rivers[0].path[1],region.locations[0].id,region.locations[0].kind," +
			"region.locations[1].rooms[0].ways[0],region.locations[1].rooms[0].ways[1],region.locations[1].rooms,region.locations[1].rooms[3]," +
			"region.npcs[0].hex,region.locations[1].rooms[2].id"}},
		"a location without a hex": {gm, draft(func(d *travelv1.RegionDraft) {
			d.Locations = []*travelv1.Location{{Id: "inn", Name: "Inn", Kind: "poi"}}
		}), refusal{invalid, "INVALID_REGION", "region.locations[0].hex"}},
	} {
		t.Run(name, func(t *testing.T) {
			before, holders := w.seqs(t), w.party.holders()
			j := n.journey(gm)
			if m, ok := tt.req.(*travelv1.MoveRequest); ok && m.GetReportedDice() != nil && m.GetEtag() == "" && tt.want.reason == "BAD_DICE" {
				m.Etag = j.GetEtag()
			}
			_, err := n.call(tt.who, tt.req)
			tt.want.check(t, err)
			if diff := cmp.Diff(before, w.seqs(t)); diff != "" {
				t.Errorf("the journal has changed (-before +after):\n%s", diff)
			}
			if diff := cmp.Diff(holders, w.party.holders()); diff != "" {
				t.Errorf("leases have changed (-before +after):\n%s", diff)
			}
			if diff := cmp.Diff(j, n.journey(gm), protocmp.Transform()); diff != "" {
				t.Errorf("the journey has changed (-before +after):\n%s", diff)
			}
		})
	}
}

// Refusals that need a state of their own.
func TestBadInputOnTheWay(t *testing.T) {
	t.Parallel()
	n := newWorld().node(t).begin()
	refused := func(req proto.Message, code codes.Code, reason, field string) {
		t.Helper()
		before := n.seqs(t)
		set(req, "name", trek)
		_, err := n.call(gm, req)
		refusal{code, reason, field}.check(t, err)
		if diff := cmp.Diff(before, n.seqs(t)); diff != "" {
			t.Errorf("the journal has changed:\n%s", diff)
		}
	}
	do[*travelv1.EnterLocationResponse](n, adas, &travelv1.EnterLocationRequest{Name: trek, Character: ada, Location: "tallowick"})
	refused(&travelv1.ForageRequest{}, codes.FailedPrecondition, "INSIDE_LOCATION", "")
	refused(&travelv1.MoveRequest{To: hex(2, 2)}, codes.FailedPrecondition, "INSIDE_LOCATION", "")
	refused(&travelv1.BuyGearRequest{Item: "boat"}, codes.FailedPrecondition, "NO_GOLD", "item")
	refused(&travelv1.BuyFoodRequest{Steps: 6}, codes.FailedPrecondition, "NO_GOLD", "steps")
	refused(&travelv1.BuyGearRequest{Item: "torch", Count: 1, Carrier: "Wat"}, codes.FailedPrecondition, "NO_SUCH_MEMBER", "carrier")
	refused(&travelv1.BuyGearRequest{Item: "torch", Carrier: "Ada"}, codes.InvalidArgument, "INVALID", "count")
	for _, name := range []string{"Ada", "Bram", "Mabyn"} {
		do[*travelv1.HarmResponse](n, gm, &travelv1.HarmRequest{Name: trek, Member: name, Str: 99})
	}
	refused(&travelv1.ForageRequest{}, codes.FailedPrecondition, "PARTY_DEAD", "")
	do[*travelv1.EndJourneyResponse](n, adas, &travelv1.EndJourneyRequest{Name: trek, Character: ada})
	refused(&travelv1.ForageRequest{}, codes.FailedPrecondition, "NOT_TRAVELING", "")
	refused(&travelv1.EndJourneyRequest{}, codes.FailedPrecondition, "NOT_TRAVELING", "")
	for c, v := range n.party.characters {
		if v.GetVitals().GetStr() != 0 {
			t.Errorf("%s is dead and has come back with %v", c, v.GetVitals())
		}
	}
}

func TestWhatAnExpeditionOwns(t *testing.T) {
	t.Parallel()
	n := newWorld().node(t)
	n.importVale()
	req := startTrek()
	req.Expedition = camp + "/expeditions/x"
	started := do[*travelv1.StartJourneyResponse](n, service+" for "+adas, req)
	if got := started.GetJourney().GetExpedition(); got != req.GetExpedition() || started.GetRecord().GetActor() == adas {
		t.Errorf("part of %q, begun by %q", got, started.GetRecord().GetActor())
	}
	for _, who := range []string{adas, gm} {
		for _, req := range []proto.Message{&travelv1.SearchRequest{Name: trek, Character: ada}, &travelv1.EndJourneyRequest{Name: trek, Character: ada}} {
			_, err := n.call(who, req)
			refusal{codes.FailedPrecondition, "OWNED_BY_EXPEDITION", ""}.check(t, err)
		}
	}
	do[*travelv1.SearchResponse](n, service+" for "+adas, &travelv1.SearchRequest{Name: trek, Character: ada})
	_, err := n.call(service+" for "+brams, &travelv1.SearchRequest{Name: trek, Character: ada})
	refusal{codes.PermissionDenied, "NOT_YOUR_CHARACTER", ""}.check(t, err)
	do[*travelv1.EndJourneyResponse](n, service, &travelv1.EndJourneyRequest{Name: trek})
}

func TestRegionsHaveRevisions(t *testing.T) {
	t.Parallel()
	w := newWorld()
	n := w.node(t).begin()
	small := &travelv1.RegionDraft{Title: "Small", Hexes: []*travelv1.MapHex{{Terrain: "plains"}}}
	again := do[*travelv1.ImportRegionResponse](n, gm, &travelv1.ImportRegionRequest{Parent: camp, RegionId: "vale", Region: small, RequestId: "again"}).GetRegion()
	if again.GetRevision() != 2 || len(again.GetHexes()) != 1 {
		t.Errorf("the new revision: %v", again)
	}
	do[*travelv1.ImportRegionResponse](n, gm, &travelv1.ImportRegionRequest{Parent: camp, Region: small, RequestId: "unnamed"})
	for name, first := range map[string]*travelv1.Region{
		"the latest":    do[*travelv1.GetRegionResponse](n, gm, &travelv1.GetRegionRequest{Name: vale}).GetRegion(),
		"by its number": do[*travelv1.GetRegionResponse](n, gm, &travelv1.GetRegionRequest{Name: vale, Revision: 2}).GetRegion(),
		"by a retry":    do[*travelv1.ImportRegionResponse](n, gm, &travelv1.ImportRegionRequest{Parent: camp, RegionId: "vale", Region: small, RequestId: "again"}).GetRegion(),
	} {
		if diff := cmp.Diff(again, first, protocmp.Transform()); diff != "" {
			t.Errorf("%s (-imported +read):\n%s", name, diff)
		}
	}
	old := do[*travelv1.GetRegionResponse](n, gm, &travelv1.GetRegionRequest{Name: vale, Revision: 1}).GetRegion()
	if old.GetRevision() != 1 || len(old.GetHexes()) != len(exampleDraft(t).GetHexes()) {
		t.Errorf("the first revision has number %d and %d hexes", old.GetRevision(), len(old.GetHexes()))
	}
	// The journey goes on with what it began with.
	do[*travelv1.MoveResponse](n, adas, &travelv1.MoveRequest{Name: trek, Character: ada, To: hex(2, 2)})
	if r := n.journey(adas).GetRevision(); r != 1 {
		t.Errorf("the journey plays revision %d", r)
	}
	first := do[*travelv1.ListRegionsResponse](n, adas, &travelv1.ListRegionsRequest{Parent: camp, PageSize: 1})
	rest := do[*travelv1.ListRegionsResponse](n, adas, &travelv1.ListRegionsRequest{Parent: camp, PageSize: 1, PageToken: first.GetNextPageToken()})
	if len(first.GetRegions()) != 1 || first.GetRegions()[0].GetTitle() != "Small" || len(rest.GetRegions()) != 1 || rest.GetRegions()[0].GetName() != vale {
		t.Errorf("listed %v, then %v", first, rest)
	}
	if len(rest.GetRegions()[0].GetHexes()) != 0 {
		t.Error("a list has maps")
	}
	good := do[*travelv1.ValidateRegionResponse](n, gm, &travelv1.ValidateRegionRequest{Parent: camp, Region: exampleDraft(t)})
	bad := do[*travelv1.ValidateRegionResponse](n, gm, &travelv1.ValidateRegionRequest{Parent: camp, Region: &travelv1.RegionDraft{Title: "x", Hexes: []*travelv1.MapHex{{Terrain: "lava"}}}})
	if len(good.GetViolations()) != 0 || len(bad.GetViolations()) != 1 || bad.GetViolations()[0].GetField() != "region.hexes[0].terrain" || bad.GetViolations()[0].GetReason() != "UNKNOWN_TERRAIN" {
		t.Errorf("the example: %v; lava: %v", good, bad)
	}
}

func TestTheGMsHand(t *testing.T) {
	t.Parallel()
	n := newWorld().node(t).begin()
	res := do[*travelv1.AdjustResponse](n, gm, &travelv1.AdjustRequest{
		Name: trek, Reason: "a gift of the fairies", Gold: proto.Int32(7), Boat: proto.Bool(true), Food: &travelv1.Food{Dice: []int32{20, 4}},
		Light: &travelv1.Light{Kind: "lantern", Sides: 12}, Position: &travelv1.Position{Hex: hex(0, 6), Inside: "mirefold", Room: "causeway"},
		Members: []*travelv1.MemberAdjustment{{Name: "Ada", Hp: proto.Int32(6), Torches: proto.Int32(0)}, {Name: "Mabyn", Str: proto.Int32(0)}},
	})
	j := res.GetJourney()
	if j.GetGold() != 7 || !j.GetBoat() || j.GetLantern() || j.GetLight().GetSides() != 12 || j.GetInside() != "mirefold" || j.GetRoom() != "causeway" ||
		j.GetSlotsHeld() != 7 || j.GetMembers()[0].GetHp() != 6 || !j.GetMembers()[2].GetDead() {
		t.Errorf("the journey is %v", j)
	}
	if diff := cmp.Diff([]string{"mirefold"}, j.GetDiscovered()); diff != "" {
		t.Errorf("discovered (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(j, n.journey(gm), protocmp.Transform()); diff != "" {
		t.Errorf("(-answered +read):\n%s", diff)
	}
	heard := do[*travelv1.AdjustResponse](n, gm, &travelv1.AdjustRequest{
		Name: trek, Reason: "a trapper's talk and his furs", Discovered: []string{"orlo"}, Cargo: &travelv1.Cargo{Loads: []*travelv1.Load{{Carrier: "Bram", Creature: "Wolves", Count: 2, Value: 11}}},
	}).GetJourney()
	if diff := cmp.Diff([]string{"mirefold", "orlo"}, heard.GetDiscovered()); diff != "" || heard.GetCargo()[0].GetSlots() != 1 || heard.GetCargo()[0].GetValue() != 11 {
		t.Errorf("the cargo is %v, discovered (-want +got):\n%s", heard.GetCargo(), diff)
	}
	out := do[*travelv1.AdjustResponse](n, gm, &travelv1.AdjustRequest{Name: trek, Reason: "wind", Light: &travelv1.Light{}, Food: &travelv1.Food{}}).GetJourney()
	if !out.GetDark() || len(out.GetFood()) != 0 || out.GetGold() != 7 {
		t.Errorf("the journey is %v", out)
	}
	for name, tt := range map[string]struct {
		who  string
		req  *travelv1.AdjustRequest
		want refusal
	}{
		"a player":             {adas, &travelv1.AdjustRequest{Character: ada, Reason: "x", Gold: proto.Int32(99)}, refusal{codes.PermissionDenied, "NOT_GM", ""}},
		"without a reason":     {gm, &travelv1.AdjustRequest{Gold: proto.Int32(99)}, refusal{codes.InvalidArgument, "INVALID", "reason"}},
		"off the map":          {gm, &travelv1.AdjustRequest{Reason: "x", Position: &travelv1.Position{Hex: hex(99, 0)}}, refusal{codes.InvalidArgument, "OFF_MAP", "position.hex"}},
		"too much to carry":    {gm, &travelv1.AdjustRequest{Reason: "x", Food: &travelv1.Food{Dice: []int32{20, 20}}, Members: []*travelv1.MemberAdjustment{{Name: "Ada", Gear: proto.Int32(10)}}}, refusal{codes.InvalidArgument, "NO_ROOM", "food"}},
		"a load for nobody":    {gm, &travelv1.AdjustRequest{Reason: "x", Cargo: &travelv1.Cargo{Loads: []*travelv1.Load{{Carrier: "Wat"}}}}, refusal{codes.InvalidArgument, "NO_SUCH_MEMBER", "cargo.loads[0].carrier"}},
		"a place known to all": {gm, &travelv1.AdjustRequest{Reason: "x", Discovered: []string{"tallowick"}}, refusal{codes.InvalidArgument, "UNKNOWN_LOCATION", "discovered[0]"}},
		"the dead":             {gm, &travelv1.AdjustRequest{Reason: "x", Members: []*travelv1.MemberAdjustment{{Name: "Mabyn", Hp: proto.Int32(1)}}}, refusal{codes.InvalidArgument, "NO_SUCH_MEMBER", "members[0].name"}},
	} {
		before := n.seqs(t)
		set(tt.req, "name", trek)
		_, err := n.call(tt.who, tt.req)
		t.Run(name, func(t *testing.T) { tt.want.check(t, err) })
		if diff := cmp.Diff(before, n.seqs(t)); diff != "" {
			t.Errorf("%s has changed the journal:\n%s", name, diff)
		}
	}
}

// A crawl without a map: a region of a site, in no hex.
func TestACrawlWithoutAMap(t *testing.T) {
	t.Parallel()
	n := newWorld().node(t)
	site := &travelv1.Location{Id: "pit", Name: "The Pit", Kind: "site", Table: 3, Entrance: "lip", Rooms: []*travelv1.Room{
		{Id: "lip", Ways: []string{"floor"}}, {Id: "floor", Ways: []string{"lip"}},
	}}
	do[*travelv1.ImportRegionResponse](n, gm, &travelv1.ImportRegionRequest{Parent: camp, RegionId: "vale", Region: &travelv1.RegionDraft{Title: "Pit", Locations: []*travelv1.Location{site}}})
	start := func(change func(*travelv1.StartJourneyRequest)) *travelv1.StartJourneyRequest {
		req := startTrek()
		req.Hex, req.Inside, req.RequestId = nil, "pit", ""
		change(req)
		return req
	}
	_, err := n.call(gm, start(func(r *travelv1.StartJourneyRequest) { r.Hex = hex(0, 0) }))
	refusal{codes.InvalidArgument, "INVALID", "hex"}.check(t, err)
	j := do[*travelv1.StartJourneyResponse](n, gm, start(func(*travelv1.StartJourneyRequest) {})).GetJourney()
	if j.Hex != nil || j.GetInside() != "pit" || !cmp.Equal(j.GetWays(), []string{"lip"}) || len(j.GetDiscoveredLocations()) != 1 || j.GetDiscoveredLocations()[0].Hex != nil {
		t.Errorf("it begins as %v", j)
	}
	do[*travelv1.LightResponse](n, brams, &travelv1.LightRequest{Name: trek, Character: bram, Kind: "torch"})
	turn := do[*travelv1.TakeTurnResponse](n, adas, &travelv1.TakeTurnRequest{Name: trek, Character: ada, Trigger: "room", To: "lip"})
	if turn.GetJourney().GetRoom() != "lip" || turn.GetOutcome().Dark == nil || turn.GetOutcome().GetDark() || turn.GetOutcome().GetLight().GetSides() != 8 {
		t.Errorf("the first turn: %v", turn.GetOutcome())
	}
	if !cmp.Equal(turn.GetJourney().GetWays(), []string{"floor"}) {
		t.Errorf("ways: %v", turn.GetJourney().GetWays())
	}
	_, err = n.call(adas, &travelv1.SearchRequest{Name: trek, Character: ada})
	refusal{codes.FailedPrecondition, "INSIDE_LOCATION", ""}.check(t, err)
	do[*travelv1.EndJourneyResponse](n, adas, &travelv1.EndJourneyRequest{Name: trek, Character: ada})
}
