package travel_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"
	travelv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/travel/v1"
)

// A character who joins on the way is a member like the others: eats, acts, and goes home with what is left of it.
func TestACharacterJoinsOnTheWay(t *testing.T) {
	t.Parallel()
	w := newWorld()
	n, replica := w.node(t), w.node(t)
	n.begin().meetCleo()
	joined := do[*travelv1.JoinJourneyResponse](n, brams, joins())
	j := joined.GetJourney()
	if len(j.GetMembers()) != 4 || j.GetSlotsHeld() < j.GetSlotsNeeded() {
		t.Fatalf("the journey is %v", j)
	}
	want := &travelv1.Member{
		Name: "Cleo", Character: cleo, Hp: 2, HpMax: 5, Str: 8, StrMax: 8, Capacity: 10, Gear: 1, SlotsUsed: 1 + j.GetMembers()[3].GetFoodSlots(),
		FoodSlots: j.GetMembers()[3].GetFoodSlots(),
	}
	if diff := cmp.Diff(want, j.GetMembers()[3], protocmp.Transform()); diff != "" {
		t.Errorf("Cleo (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int32{6}, j.GetFood()); diff != "" { // a new mouth shares (DDW-PARTY-03)
		t.Errorf("food (-want +got):\n%s", diff)
	}
	for who, at := range map[string]*node{"the same": n, "another replica": replica} {
		if diff := cmp.Diff(j, at.journey(gm), protocmp.Transform()); diff != "" {
			t.Errorf("(-answered +read of %s):\n%s", who, diff)
		}
	}
	do[*travelv1.SearchResponse](replica, brams, &travelv1.SearchRequest{Name: trek, Character: cleo})
	do[*travelv1.HarmResponse](n, gm, &travelv1.HarmRequest{Name: trek, Member: "Cleo", Str: 3})
	do[*travelv1.EndJourneyResponse](n, adas, &travelv1.EndJourneyRequest{Name: trek, Character: ada})
	if v := w.party.characters[cleo].GetVitals(); v.GetStr() != 5 || v.Capacity != nil {
		t.Errorf("Cleo comes home with %v", v)
	}
	back := w.party.companies[band].GetTravelers()
	if len(back) != 4 || back[3].GetCharacter() != cleo || back[3].GetVitals() != nil {
		t.Errorf("the company is %v", back)
	}
	if h := w.party.holders(); len(h) != 0 {
		t.Errorf("held still: %v", h)
	}
}

func TestWhoCannotJoin(t *testing.T) {
	t.Parallel()
	w := newWorld()
	n := w.node(t).begin().meetCleo()
	do[*travelv1.RemoveMemberResponse](n, brams, &travelv1.RemoveMemberRequest{Name: trek, Character: bram, Member: "Bram"})
	for name, v := range map[string]*partyv1.Vitals{"dead": {HpMax: 4, StrMax: 9}, "full": {Hp: 1, HpMax: 1, Str: 1, StrMax: 1, Capacity: proto.Int32(0)}} {
		w.party.characters[camp+"/characters/"+name] = &partyv1.Character{Name: camp + "/characters/" + name, Owner: brams, Vitals: v}
	}
	w.party.characters[camp+"/characters/lent"] = &partyv1.Character{
		Name: camp + "/characters/lent", Owner: brams, Vitals: &partyv1.Vitals{Hp: 1, HpMax: 1, Str: 1, StrMax: 1},
		Leases: []*partyv1.Lease{{Facet: partyv1.Facet_FACET_VITALS, Holder: elsewhere}},
	}
	join := func(change func(*travelv1.JoinJourneyRequest)) *travelv1.JoinJourneyRequest {
		req := joins()
		req.RequestId = ""
		change(req)
		return req
	}
	as := func(id string) func(*travelv1.JoinJourneyRequest) {
		return func(r *travelv1.JoinJourneyRequest) { r.Character = camp + "/characters/" + id }
	}
	type request = travelv1.JoinJourneyRequest
	tests := map[string]struct {
		who  string
		req  *request
		want refusal
	}{
		"another's character":            {adas, join(func(*request) {}), refusal{codes.PermissionDenied, "NOT_YOUR_CHARACTER", ""}},
		"a bot that lacks it":            {bot, join(func(*request) {}), refusal{codes.PermissionDenied, "NOT_YOUR_CHARACTER", ""}},
		"a spectator":                    {spectator, join(func(*request) {}), refusal{codes.PermissionDenied, "SPECTATOR", ""}},
		"a stranger":                     {stranger, join(func(*request) {}), refusal{codes.NotFound, "NOT_FOUND", ""}},
		"a character that is not there":  {gm, join(as("none")), refusal{codes.NotFound, "NOT_FOUND", "character"}},
		"another campaign's":             {gm, join(func(r *request) { r.Character = other + "/characters/zed" }), refusal{codes.NotFound, "NOT_FOUND", "character"}},
		"a journey that is not there":    {brams, join(func(r *request) { r.Name = camp + "/journeys/none" }), refusal{codes.NotFound, "NOT_FOUND", "name"}},
		"who travels already":            {adas, join(as("ada")), refusal{codes.FailedPrecondition, "TRAVELS_ALREADY", "character"}},
		"who has left":                   {brams, join(as("bram")), refusal{codes.FailedPrecondition, "HAS_LEFT", "character"}},
		"who is held by another journey": {brams, join(as("lent")), refusal{codes.FailedPrecondition, "LEASED", "character"}},
		"the dead":                       {brams, join(as("dead")), refusal{codes.InvalidArgument, "INVALID", "character"}},
		"a name that is taken":           {brams, join(func(r *request) { r.Label = "Mabyn" }), refusal{codes.FailedPrecondition, "NAME_TAKEN", "label"}},
		"a name too long":                {brams, join(func(r *request) { r.Label = string(make([]rune, 81)) }), refusal{codes.InvalidArgument, "INVALID", "label"}},
		"a stale etag":                   {brams, join(func(r *request) { r.Etag = "stale" }), refusal{codes.Aborted, "ETAG_MISMATCH", "etag"}},
		"no character":                   {gm, join(func(r *request) { r.Character = "" }), refusal{codes.InvalidArgument, "INVALID", "character"}},
	}
	try := func(name string, who string, req *request, want refusal) {
		t.Run(name, func(t *testing.T) {
			before, holders := w.seqs(t), w.party.holders()
			_, err := n.call(who, req)
			want.check(t, err)
			if diff := cmp.Diff(before, w.seqs(t)); diff != "" {
				t.Errorf("the journal has changed (-before +after):\n%s", diff)
			}
			if diff := cmp.Diff(holders, w.party.holders()); diff != "" {
				t.Errorf("leases have changed (-before +after):\n%s", diff)
			}
		})
	}
	for name, tt := range tests {
		try(name, tt.who, tt.req, tt.want)
	}
	do[*travelv1.AdjustResponse](n, gm, &travelv1.AdjustRequest{Name: trek, Reason: "a load of stones", Food: &travelv1.Food{Dice: []int32{4}}})
	do[*travelv1.FreeFoodSlotsResponse](n, adas, &travelv1.FreeFoodSlotsRequest{Name: trek, Character: ada})
	do[*travelv1.AddMemberResponse](n, adas, &travelv1.AddMemberRequest{Name: trek, Character: ada, Member: &travelv1.Newcomer{Name: "Wat", Hp: 1, Str: 1, Capacity: proto.Int32(0)}})
	do[*travelv1.AddMemberResponse](n, adas, &travelv1.AddMemberRequest{Name: trek, Character: ada, Member: &travelv1.Newcomer{Name: "Tib", Hp: 1, Str: 1, Capacity: proto.Int32(0)}})
	full := &travelv1.AdjustRequest{Name: trek, Reason: "another", Members: []*travelv1.MemberAdjustment{{Name: "Ada", Gear: proto.Int32(10)}, {Name: "Mabyn", Gear: proto.Int32(8)}}}
	do[*travelv1.AdjustResponse](n, gm, full)
	try("whose share of the food fits nowhere", brams, join(as("full")), refusal{codes.FailedPrecondition, "NO_ROOM", "character"})
	do[*travelv1.AdjustResponse](n, gm, &travelv1.AdjustRequest{Name: trek, Reason: "home", Position: &travelv1.Position{Hex: hex(0, 6), Inside: "mirefold"}})
	try("inside a site", brams, join(func(*request) {}), refusal{codes.FailedPrecondition, "INSIDE_LOCATION", ""})
	do[*travelv1.EndJourneyResponse](n, adas, &travelv1.EndJourneyRequest{Name: trek, Character: ada})
	try("a journey that is over", brams, join(func(*request) {}), refusal{codes.FailedPrecondition, "NOT_TRAVELING", ""})
}

// A journey that ends while somebody is still joining gives them back as they were.
func TestAnEndWhileSomebodyJoins(t *testing.T) {
	t.Parallel()
	w := newWorld()
	n := w.node(t).begin().meetCleo()
	was := proto.CloneOf(w.party.characters[cleo].GetVitals())
	w.party.take = func(*partyv1.TakeLeaseRequest) error { return errDown }
	_, err := n.call(brams, joins())
	refusal{codes.Unavailable, "DOWN", ""}.check(t, err)
	w.party.take = nil
	do[*travelv1.EndJourneyResponse](n, adas, &travelv1.EndJourneyRequest{Name: trek, Character: ada})
	_, err = n.call(brams, joins())
	refusal{codes.FailedPrecondition, "NOT_TRAVELING", ""}.check(t, err)
	if diff := cmp.Diff(was, w.party.characters[cleo].GetVitals(), protocmp.Transform()); diff != "" || len(w.party.holders()) != 0 || !w.party.closed[cleo+" "+trek] {
		t.Errorf("held %v, closed %v, changed:\n%s", w.party.holders(), w.party.closed, diff)
	}
	if n.owing(t) != 0 {
		t.Error("something is owed still")
	}
}
