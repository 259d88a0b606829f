package delve_test

import (
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	dungeonv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dungeon/v1"
)

// Every refusal comes with its reason, and with the field where one is at fault; nothing is journaled.
func TestRefusals(t *testing.T) {
	t.Parallel()
	n := start(t)
	n.begun()
	n.do(gm, &dungeonv1.AddLightRequest{Id: "lantern", Source: "LANTERN"})
	n.do(gm, &dungeonv1.AddLightRequest{Id: "light", Source: "LIGHT_SPELL"})
	n.do(gm, &dungeonv1.SwitchLightRequest{Id: "light"})
	n.do(gm, &dungeonv1.AddLightRequest{Id: "stub", Source: "TORCH"})
	n.do(gm, &dungeonv1.AdjustDelveRequest{Reason: "rain", Lights: []*dungeonv1.DelveLightSetting{{Id: "stub", Source: "TORCH"}}})
	n.do(gm, &dungeonv1.HunkerDownRequest{})
	n.opened2()
	second := camp + "/delves/second"
	invalid := func(field string) refusal { return refusal{codes.InvalidArgument, "INVALID", field} }
	now := func(reason, field string) refusal { return refusal{codes.FailedPrecondition, reason, field} }
	long := strings.Repeat("x", 201)
	before := n.records(tomb)
	for name, tc := range map[string]struct {
		req  proto.Message
		want refusal
	}{
		"a delve that is not there":      {&dungeonv1.WaitRequest{Name: camp + "/delves/none", Minutes: 1}, refusal{codes.NotFound, "NOT_FOUND", "name"}},
		"a name that is none":            {&dungeonv1.WaitRequest{Name: "delves/none", Minutes: 1}, refusal{codes.InvalidArgument, "INVALID", "name"}},
		"a character of elsewhere":       {&dungeonv1.WaitRequest{Character: other + "/characters/zed", Minutes: 1}, refusal{codes.NotFound, "NOT_FOUND", "character"}},
		"a character that is no member":  {&dungeonv1.WaitRequest{Character: cleo, Minutes: 1}, now("NOT_A_MEMBER", "character")},
		"waiting backwards":              {&dungeonv1.WaitRequest{Minutes: -1}, invalid("minutes")},
		"waiting for months":             {&dungeonv1.WaitRequest{Minutes: 100_000}, invalid("minutes")},
		"real time backwards":            {&dungeonv1.AddRealTimeRequest{Minutes: -1}, invalid("minutes")},
		"too many rounds":                {&dungeonv1.FightRoundsRequest{Rounds: 10_001}, invalid("rounds")},
		"rounds of no fight":             {&dungeonv1.FightRoundsRequest{Rounds: 1}, now("NOT_IN_COMBAT", "")},
		"the end of no fight":            {&dungeonv1.EndCombatRequest{}, now("NOT_IN_COMBAT", "")},
		"a move to nowhere":              {&dungeonv1.MoveRequest{}, invalid("to")},
		"a move through a wall":          {&dungeonv1.MoveRequest{To: "crypt"}, now("NOT_CONNECTED", "to")},
		"hunkering down twice":           {&dungeonv1.HunkerDownRequest{}, now("HUNKERED", "")},
		"a second beginning":             {&dungeonv1.BeginDelveRequest{}, now("ALREADY_BEGUN", "")},
		"lights after the beginning":     {&dungeonv1.RecordLightsRequest{}, now("ALREADY_BEGUN", "")},
		"a light without a name":         {&dungeonv1.AddLightRequest{Source: "TORCH"}, invalid("id")},
		"a light with too long a name":   {&dungeonv1.AddLightRequest{Id: long, Source: "TORCH"}, invalid("id")},
		"a light of no kind":             {&dungeonv1.AddLightRequest{Id: "sun", Source: "SUN"}, invalid("source")},
		"a light of a name in use":       {&dungeonv1.AddLightRequest{Id: "torch", Source: "TORCH"}, now("ID_TAKEN", "id")},
		"an unknown light":               {&dungeonv1.SwitchLightRequest{Id: "sun", On: true}, now("NO_SUCH_LIGHT", "id")},
		"a burnt torch":                  {&dungeonv1.SwitchLightRequest{Id: "stub", On: true}, now("LIGHT_SPENT", "id")},
		"a light spell that ended":       {&dungeonv1.SwitchLightRequest{Id: "light", On: true}, now("LIGHT_SPELL_ENDED", "id")},
		"oil for a torch":                {&dungeonv1.RefuelLightRequest{Id: "torch"}, now("NO_LANTERN", "id")},
		"a spell without a length":       {&dungeonv1.CastSpellRequest{Id: "ward"}, invalid("length")},
		"a spell of no time":             {&dungeonv1.CastSpellRequest{Id: "ward", Length: &dungeonv1.CastSpellRequest_Minutes{}}, invalid("minutes")},
		"a spell of no seconds":          {&dungeonv1.CastSpellRequest{Id: "ward", Length: &dungeonv1.CastSpellRequest_Seconds{}}, invalid("seconds")},
		"a spell that nobody cast":       {&dungeonv1.EndSpellRequest{Id: "ward"}, now("NO_SUCH_SPELL", "id")},
		"a way out that is none":         {&dungeonv1.LeaveDelveRequest{Target: "HOME"}, invalid("target")},
		"an event beyond the table":      {&dungeonv1.TakeRiskRequest{Calls: []*dungeonv1.SpillCall{{Override: 13}}}, invalid("calls[0].override")},
		"an event of no spill":           {&dungeonv1.NarrateEventRequest{Spill: 1, Event: 1, Shows: "x"}, now("NO_SUCH_SPILL", "spill")},
		"nothing told":                   {&dungeonv1.NarrateEventRequest{Spill: 1, Event: 1}, invalid("shows")},
		"an empty remark":                {&dungeonv1.AddRemarkRequest{}, invalid("text")},
		"danger without a reason":        {&dungeonv1.RaiseDangerRequest{Dice: 1}, invalid("reason")},
		"no danger":                      {&dungeonv1.RaiseDangerRequest{Reason: "x"}, invalid("dice")},
		"an adjustment of nothing":       {&dungeonv1.AdjustDelveRequest{Reason: "x"}, invalid("pool")},
		"an adjustment without a reason": {&dungeonv1.AdjustDelveRequest{Pool: proto.Int32(1)}, invalid("reason")},
		"a pool that had spilled":        {&dungeonv1.AdjustDelveRequest{Reason: "x", Pool: proto.Int32(6)}, invalid("pool")},
		"an area that is not there":      {&dungeonv1.AdjustDelveRequest{Reason: "x", Area: proto.String("attic")}, refusal{codes.InvalidArgument, "NO_SUCH_AREA", "area"}},
		"a light taken that is not":      {&dungeonv1.AdjustDelveRequest{Reason: "x", Drop: []string{"sun"}}, now("NO_SUCH_LIGHT", "drop[0]")},
		"a spell ended that is not":      {&dungeonv1.AdjustDelveRequest{Reason: "x", Spells: []*dungeonv1.DelveSpellSetting{{Id: "ward"}}}, now("NO_SUCH_SPELL", "spells[0].id")},
		"nobody":                         {&dungeonv1.RecordMembersRequest{}, invalid("members")},
		"a member without a name":        {&dungeonv1.RecordMembersRequest{Members: []*dungeonv1.DelveMemberEntry{{Kind: "PC", Rank: "REAR"}}}, invalid("members[0].name")},
		"a member at the side":           {&dungeonv1.RecordMembersRequest{Members: []*dungeonv1.DelveMemberEntry{{Name: "A", Kind: "PC", Rank: "SIDE"}}}, invalid("members[0].rank")},
		"a member of no kind":            {&dungeonv1.RecordMembersRequest{Members: []*dungeonv1.DelveMemberEntry{{Name: "A", Kind: "HERO", Rank: "REAR"}}}, invalid("members[0].kind")},
		"a member twice": {
			&dungeonv1.RecordMembersRequest{Members: append(band(), &dungeonv1.DelveMemberEntry{Name: "Odo", Kind: "PC", Rank: "REAR"})},
			refusal{codes.InvalidArgument, "ID_TAKEN", "members[3].name"},
		},
		"a character twice": {
			&dungeonv1.RecordMembersRequest{Members: append(band(), &dungeonv1.DelveMemberEntry{Name: "Ada's twin", Character: ada, Kind: "PC", Rank: "REAR"})},
			refusal{codes.InvalidArgument, "ID_TAKEN", "members[3].character"},
		},
		"a member who is nobody": {
			&dungeonv1.RecordMembersRequest{Members: []*dungeonv1.DelveMemberEntry{{Name: "A", Character: camp + "/characters/none", Kind: "PC", Rank: "REAR"}}},
			refusal{codes.NotFound, "NOT_FOUND", "members[0].character"},
		},
		"a member of elsewhere": {
			&dungeonv1.RecordMembersRequest{Members: []*dungeonv1.DelveMemberEntry{{Name: "A", Character: other + "/characters/zed", Kind: "PC", Rank: "REAR"}}},
			refusal{codes.NotFound, "NOT_FOUND", "members[0].character"},
		},
		"provisions of nothing":        {&dungeonv1.RecordProvisionsRequest{}, invalid("note")},
		"an adjustment of the setup":   {&dungeonv1.AdjustDelveRequest{Name: second, Reason: "x", Pool: proto.Int32(1)}, now("SETUP_INCOMPLETE", "")},
		"danger before the first area": {&dungeonv1.RaiseDangerRequest{Name: second, Dice: 1, Reason: "x"}, now("NOT_BEGUN", "")},
		"a light carried twice": {
			&dungeonv1.RecordLightsRequest{Name: second, Lights: []*dungeonv1.CarriedLight{{Id: "a", Source: "TORCH"}, {Id: "a", Source: "TORCH"}}},
			refusal{codes.InvalidArgument, "ID_TAKEN", "lights[1].id"},
		},
		"a light of no kind carried": {&dungeonv1.RecordLightsRequest{Name: second, Lights: []*dungeonv1.CarriedLight{{Id: "a", Source: "SUN"}}}, invalid("lights[0].source")},
		"a spell that has ended":     {&dungeonv1.RecordLightsRequest{Name: second, Spells: []*dungeonv1.RunningSpell{{Id: "ward"}}}, invalid("spells[0].seconds")},
	} {
		t.Log(name)
		n.refused(t, gm, tc.req, tc.want)
	}
	if after := n.records(tomb); after != before {
		t.Errorf("%d records of refusals", after-before)
	}
	fight := n.do(gm, &dungeonv1.StartCombatRequest{}).GetDelve()
	for _, req := range []proto.Message{
		&dungeonv1.StartCombatRequest{}, &dungeonv1.ShortRestRequest{}, &dungeonv1.LongRestRequest{}, &dungeonv1.LeaveDelveRequest{Target: "TRAVEL"},
	} {
		n.refused(t, gm, req, now("IN_COMBAT", ""))
	}
	if d := n.get(gm, tomb); d.GetEtag() != fight.GetEtag() {
		t.Error("a refusal changed something")
	}
}

func TestDelvesThatCannotBeOpened(t *testing.T) {
	t.Parallel()
	n := start(t)
	bad := func(reason, field string) refusal { return refusal{codes.InvalidArgument, reason, field} }
	gone := func(field string) refusal { return refusal{codes.NotFound, "NOT_FOUND", field} }
	for name, tc := range map[string]struct {
		change func(r *dungeonv1.CreateDelveRequest)
		want   refusal
	}{
		"without a map":               {func(r *dungeonv1.CreateDelveRequest) { r.Map = nil }, bad("NO_MAP", "map")},
		"without an entry point":      {func(r *dungeonv1.CreateDelveRequest) { r.Entry = "" }, bad("NO_ENTRY", "entry")},
		"by an entry beside the map":  {func(r *dungeonv1.CreateDelveRequest) { r.Entry = "attic" }, bad("NO_SUCH_AREA", "entry")},
		"for no cause":                {func(r *dungeonv1.CreateDelveRequest) { r.InvokedBy = 0 }, bad("INVALID", "invoked_by")},
		"for an unknown cause":        {func(r *dungeonv1.CreateDelveRequest) { r.InvokedBy = 9 }, bad("INVALID", "invoked_by")},
		"on a map without a title":    {func(r *dungeonv1.CreateDelveRequest) { r.Map.Title = "" }, bad("INVALID", "map.title")},
		"on a map with an area twice": {func(r *dungeonv1.CreateDelveRequest) { r.Map.Areas[1].Id = "gate" }, bad("ID_TAKEN", "map.areas[1].id")},
		"on a map with a way nowhere": {func(r *dungeonv1.CreateDelveRequest) { r.Map.Areas[0].Ways = []string{"moon"} }, bad("NO_SUCH_AREA", "map.areas[0].ways[0]")},
		"under a name that is none":   {func(r *dungeonv1.CreateDelveRequest) { r.DelveId = "A B" }, bad("INVALID", "delve_id")},
		"in an unknown dungeon":       {func(r *dungeonv1.CreateDelveRequest) { r.Dungeon = camp + "/dungeons/none" }, gone("dungeon")},
		"in a dungeon of elsewhere":   {func(r *dungeonv1.CreateDelveRequest) { r.Dungeon = other + "/dungeons/lair" }, gone("dungeon")},
		"after a delve that is none":  {func(r *dungeonv1.CreateDelveRequest) { r.Continues = camp + "/delves/none" }, gone("continues")},
		"by nobody":                   {func(r *dungeonv1.CreateDelveRequest) { r.Character = camp + "/characters/none" }, gone("character")},
		"by somebody from elsewhere":  {func(r *dungeonv1.CreateDelveRequest) { r.Character = other + "/characters/zed" }, gone("character")},
		"without a request id":        {func(r *dungeonv1.CreateDelveRequest) { r.RequestId = " " }, bad("INVALID", "request_id")},
		"on a map beyond all measure": {
			func(r *dungeonv1.CreateDelveRequest) {
				for len(r.GetMap().GetAreas()) <= 500 {
					r.Map.Areas = append(r.GetMap().GetAreas(), r.GetMap().GetAreas()...)
				}
			}, bad("INVALID", "map.areas"),
		},
	} {
		t.Log(name)
		req := &dungeonv1.CreateDelveRequest{
			Parent: camp, DelveId: "tomb", InvokedBy: dungeonv1.InvokedBy_INVOKED_BY_CLEARING, Map: dungeonMap(), Entry: "gate",
		}
		tc.change(req)
		n.refused(t, gm, req, tc.want)
	}
	if n.records(tomb) != 0 || len(n.dice.holders) != 0 {
		t.Errorf("something was left: %v", n.dice.holders)
	}
}
