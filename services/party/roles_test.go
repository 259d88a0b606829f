package party_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/testing/protocmp"

	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"
	typev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/type/v1"
)

// The callers of the matrix, in the order of its columns: owner, GM, Ada's player, Bram's player, spectator, Ada's bot, a
// stranger, a service for itself, nobody.
var callers = []string{owner, gm, adas, brams, spectator, bot, stranger, service, ""}

// Letters of the matrix.
var outcomes = map[rune]codes.Code{
	'y': codes.OK, '-': codes.PermissionDenied, '0': codes.NotFound, '?': codes.Unauthenticated,
}

// rpcs has every unary RPC with a request that is good after [world.stage], and what becomes of it by caller.
func rpcs() map[string]struct {
	req  proto.Message
	want string
} {
	type row = struct {
		req  proto.Message
		want string
	}
	hireling := []*partyv1.Traveler{{Character: ada}}
	return map[string]row{ //           owner gm ada bram spectator bot stranger service nobody
		"CreateCampaign": {&partyv1.CreateCampaignRequest{Title: "Mine"}, "yyyyyyyy?"},
		"GetCampaign":    {&partyv1.GetCampaignRequest{Name: camp}, "yyyyyy0y?"},
		"ListCampaigns":  {&partyv1.ListCampaignsRequest{}, "yyyyyyyy?"},
		"SetMember":      {setMember("newcomer", typev1.Role_ROLE_PLAYER), "yy----0y?"},
		"RemoveMember":   {&partyv1.RemoveMemberRequest{Name: camp, Subject: cleos}, "yy----0y?"},
		"SetChapter":     {&partyv1.SetChapterRequest{Name: camp, Chapter: 4}, "yy----0y?"},
		"CreateParty":    {&partyv1.CreatePartyRequest{Parent: camp, Character: ada}, "yyy--y0y?"},
		"GetParty":       {&partyv1.GetPartyRequest{Name: camp + "/parties/cleos"}, "yyyyyy0y?"},
		"ListParties":    {&partyv1.ListPartiesRequest{Parent: camp}, "yyyyyy0y?"},
		"JoinParty":      {&partyv1.JoinPartyRequest{Name: camp + "/parties/cleos", Character: ada}, "yyy--y0y?"},
		"LeaveParty":     {&partyv1.LeavePartyRequest{Name: camp + "/parties/twins", Character: camp + "/characters/ada-ii"}, "yyy---0y?"},
		"PromoteMember":  {&partyv1.PromoteMemberRequest{Name: camp + "/parties/twins", Character: camp + "/characters/ada-iii", Target: camp + "/characters/ada-ii"}, "yyy---0y?"},
		"ResetParty":     {&partyv1.ResetPartyRequest{Parent: camp, Character: camp + "/characters/ada-ii"}, "yyy---0y?"},
		"FileRequest":    {&partyv1.FileRequestRequest{Parent: camp, Character: camp + "/characters/ada-ii", Text: "Who owns the idol?"}, "yyy---0y?"},
		"ListRequests":   {&partyv1.ListRequestsRequest{Parent: camp}, "yy----0y?"},
		"CloseRequest":   {&partyv1.CloseRequestRequest{Name: camp + "/requests/1"}, "yy----0y?"},

		"GetRuleset":      {&partyv1.GetRulesetRequest{Name: camp + "/rulesets/digger"}, "yyyyyy0y?"},
		"ListRulesets":    {&partyv1.ListRulesetsRequest{Parent: camp}, "yyyyyy0y?"},
		"OverrideRuleset": {overrideOf(camp, "digger", map[string]any{"party.max": 6}), "yy----0y?"},

		"CreateCharacter":  {&partyv1.CreateCharacterRequest{Parent: camp, Title: "New"}, "yyyy--00?"},
		"GetCharacter":     {&partyv1.GetCharacterRequest{Name: ada}, "yyyyyy0y?"},
		"ListCharacters":   {&partyv1.ListCharactersRequest{Parent: camp}, "yyyyyy0y?"},
		"GrantPoints":      {&partyv1.GrantPointsRequest{Name: ada, Cp: 5}, "yy----0y?"},
		"AddForm":          {&partyv1.AddFormRequest{Name: ada, Form: "bear"}, "yyy--y0y?"},
		"SwitchForm":       {&partyv1.SwitchFormRequest{Name: ada, Form: "wolf"}, "yyy--y0y?"},
		"SetAbilities":     {&partyv1.SetAbilitiesRequest{Name: ada, Abilities: abilities(2, 2, 2, 2)}, "yyy--y0y?"},
		"BuyTools":         {&partyv1.BuyToolsRequest{Name: ada, Tools: []*partyv1.Tool{tool("x", "wits", "minor", "")}}, "yyy--y0y?"},
		"BuyBeltSlot":      {&partyv1.BuyBeltSlotRequest{Name: ada}, "yyy--y0y?"},
		"LoadTool":         {&partyv1.LoadToolRequest{Name: ada, Number: 2}, "yyy--y0y?"},
		"UnloadTool":       {&partyv1.UnloadToolRequest{Name: ada, Number: 1}, "yyy--y0y?"},
		"ApproveCharacter": {&partyv1.ApproveCharacterRequest{Name: ada}, "yy----0y?"},
		"SetVitals":        {&partyv1.SetVitalsRequest{Name: ada, Vitals: &partyv1.Vitals{StrMax: 3}}, "yy----0y?"},
		"SetDangerSheet":   {&partyv1.SetDangerSheetRequest{Name: ada, DangerSheet: &partyv1.DangerSheet{Stats: map[string]int32{"Cool": 3}}}, "yyy--y0y?"},

		"CreateCompany":  {&partyv1.CreateCompanyRequest{Parent: camp, Title: "New", Travelers: hireling}, "yyy--y0y?"},
		"GetCompany":     {&partyv1.GetCompanyRequest{Name: camp + "/companies/adas"}, "yyyyyy0y?"},
		"ListCompanies":  {&partyv1.ListCompaniesRequest{Parent: camp}, "yyyyyy0y?"},
		"AddTraveler":    {&partyv1.AddTravelerRequest{Name: camp + "/companies/adas", Traveler: &partyv1.Traveler{Label: "guide"}}, "yyy--y0y?"},
		"RemoveTraveler": {&partyv1.RemoveTravelerRequest{Name: camp + "/companies/adas", Label: "porter"}, "yyy--y0y?"},
		"SetPack":        {&partyv1.SetPackRequest{Name: camp + "/companies/adas", Pack: &partyv1.Pack{Gold: 1}}, "yy----0y?"},

		"TakeLease":           {take(ada, loadout, run1), "-------y?"},
		"ReturnLease":         {give(ada, loadout, run1), "-------y?"},
		"GetMembership":       {&partyv1.GetMembershipRequest{Campaign: camp, Subject: gm}, "-------y?"},
		"GetEffectiveRuleset": {&partyv1.GetEffectiveRulesetRequest{Campaign: camp, System: "digger"}, "-------y?"},
		"KeepIntent":          {&partyv1.KeepIntentRequest{Parent: camp, Fingerprint: "f", Intent: &partyv1.Intent{Type: "t"}}, "yyyyyy0y?"},
	}
}

// stage adds to [world.begin] what the requests of rpcs need.
func (w *world) stage() *world {
	w.begin()
	w.doParty(cleos, &partyv1.CreatePartyRequest{Parent: camp, PartyId: "cleos", Character: cleo})
	for _, id := range []string{"ada-ii", "ada-iii"} {
		w.doCharacter(adas, &partyv1.CreateCharacterRequest{Parent: camp, CharacterId: id, Title: id})
	}
	w.doParty(adas, &partyv1.CreatePartyRequest{Parent: camp, PartyId: "twins", Character: camp + "/characters/ada-iii"})
	w.doParty(adas, &partyv1.JoinPartyRequest{Name: camp + "/parties/twins", Character: camp + "/characters/ada-ii"})
	do[*partyv1.FileRequestResponse](w, adas, &partyv1.FileRequestRequest{Parent: camp, Character: camp + "/characters/ada-ii", Text: "May we camp here?"})
	w.doCharacter(adas, &partyv1.AddFormRequest{Name: ada, Form: "wolf"})
	w.doCharacter(adas, &partyv1.BuyToolsRequest{Name: ada, Tools: []*partyv1.Tool{tool("a", "brute", "minor", ""), tool("b", "agility", "minor", "")}})
	w.doCharacter(adas, &partyv1.LoadToolRequest{Name: ada, Number: 1})
	w.doCompany(adas, &partyv1.CreateCompanyRequest{Parent: camp, CompanyId: "adas", Title: "Ada's", Travelers: []*partyv1.Traveler{{Character: ada}, {Label: "porter"}}})
	return w
}

func TestWhoMayDoWhat(t *testing.T) {
	t.Parallel()
	rows := rpcs()
	// No RPC is forgotten.
	for m := range unary() {
		if _, ok := rows[m]; !ok {
			t.Errorf("%s has no row", m)
		}
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for i, letter := range row.want {
				who := callers[i]
				w := newWorld(t).stage()
				before := w.seqs()
				_, err := w.call(who, proto.Clone(row.req))
				if want := outcomes[letter]; status.Code(err) != want {
					t.Errorf("%s by %q: %v, want %v", name, who, err, want)
				}
				if err != nil {
					if diff := cmp.Diff(before, w.seqs()); diff != "" {
						t.Errorf("%s by %q: the journal has changed (-before +after):\n%s", name, who, diff)
					}
				}
			}
		})
	}
}

// unary lists the contract's unary RPCs by name.
func unary() map[string]protoreflect.MethodDescriptor {
	out := map[string]protoreflect.MethodDescriptor{}
	for _, f := range []protoreflect.FileDescriptor{
		partyv1.File_wayfarer_party_v1_campaign_proto, partyv1.File_wayfarer_party_v1_character_proto,
		partyv1.File_wayfarer_party_v1_company_proto, partyv1.File_wayfarer_party_v1_lease_proto, partyv1.File_wayfarer_party_v1_intent_proto,
	} {
		for i := range f.Services().Len() {
			ms := f.Services().Get(i).Methods()
			for j := range ms.Len() {
				if m := ms.Get(j); !m.IsStreamingServer() {
					out[string(m.Name())] = m
				}
			}
		}
	}
	return out
}

func TestAServiceActsWithTheRightsOfItsUser(t *testing.T) {
	t.Parallel()
	w := newWorld(t).stage()
	_, err := w.call(service+" for "+brams, &partyv1.LoadToolRequest{Name: ada, Number: 2})
	refusal{codes.PermissionDenied, "NOT_YOUR_CHARACTER", "", nil}.check(t, err)
	_, err = w.call(service+" for "+stranger, &partyv1.GetCharacterRequest{Name: ada})
	refusal{codes.NotFound, "NOT_FOUND", "", nil}.check(t, err)
	_, err = w.call(gm+" for "+adas, &partyv1.LoadToolRequest{Name: ada, Number: 2})
	refusal{codes.PermissionDenied, "ACTOR_NOT_ALLOWED", "", nil}.check(t, err)
	res := do[*partyv1.LoadToolResponse](w, service+" for "+adas, &partyv1.LoadToolRequest{Name: ada, Number: 2})
	if res.GetRecord().GetActor() != adas {
		t.Errorf("actor %q", res.GetRecord().GetActor())
	}
	do[*partyv1.TakeLeaseResponse](w, service+" for "+adas, take(ada, loadout, run1)) // a service at the user's behest
}

// TestEveryMutationMayBeRepeated sends each mutation three times, once to another replica and after others have changed
// the same aggregate, and gets one record and one answer; under the same id another request is refused.
func TestEveryMutationMayBeRepeated(t *testing.T) {
	t.Parallel()
	for name, row := range rpcs() {
		if row.req.ProtoReflect().Descriptor().Fields().ByName("request_id") == nil {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t).stage()
			who := owner
			if strings.HasSuffix(name, "Lease") {
				who = service
			}
			first, err := w.call(who, row.req)
			if err != nil {
				t.Fatal(err)
			}
			w.doCampaign(gm, setMember("late", typev1.Role_ROLE_PLAYER))
			w.doCharacter(gm, &partyv1.SetVitalsRequest{Name: ada, Vitals: &partyv1.Vitals{StrMax: 9}})
			w.doCompany(gm, &partyv1.SetPackRequest{Name: camp + "/companies/adas", Pack: &partyv1.Pack{Gold: 9}})
			w.doCampaign(gm, &partyv1.SetChapterRequest{Name: camp, Chapter: 7})
			before := w.seqs()
			for _, at := range []*world{w, newWorldOn(t, w.store)} {
				again, err := at.call(who, proto.Clone(row.req))
				if err != nil {
					t.Fatalf("again: %v", err)
				}
				if diff := cmp.Diff(first, again, protocmp.Transform()); diff != "" {
					t.Errorf("answers (-first +again):\n%s", diff)
				}
			}
			if diff := cmp.Diff(before, w.seqs()); diff != "" {
				t.Errorf("repetitions were journaled (-before +after):\n%s", diff)
			}
			if _, err = w.call(who, another(row.req)); status.Code(err) != codes.InvalidArgument {
				t.Fatalf("another request under the id: %v", err)
			}
			refusal{codes.InvalidArgument, "REQUEST_ID_REUSED", "request_id", nil}.check(t, err)
			if diff := cmp.Diff(before, w.seqs()); diff != "" {
				t.Errorf("another request was journaled (-before +after):\n%s", diff)
			}
		})
	}
}

// another returns a request to the same aggregate, under the same id, that asks for something else.
func another(req proto.Message) proto.Message {
	req = proto.Clone(req)
	m := req.ProtoReflect()
	fields := m.Descriptor().Fields()
	switch r := req.(type) {
	case *partyv1.TakeLeaseRequest:
		r.Holder = run2
		return req
	case *partyv1.ReturnLeaseRequest:
		r.Holder = run2
		return req
	case *partyv1.KeepIntentRequest:
		r.Fingerprint = "another"
		return req
	case *partyv1.CreateCampaignRequest:
		r.Title = "Another"
		return req
	case *partyv1.CreateCharacterRequest:
		r.Title = "Another"
		return req
	case *partyv1.CreateCompanyRequest:
		r.Title = "Another"
		return req
	}
	// All others take an etag; a stale one makes another request that would fail, were the id new.
	m.Set(fields.ByName("etag"), protoreflect.ValueOfString("0-other"))
	return req
}

func TestWhoLeavesACampaignMayAskAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t).begin()
	req := &partyv1.RemoveMemberRequest{Name: camp, Subject: adas}
	first := do[*partyv1.RemoveMemberResponse](w, adas, req)
	again := do[*partyv1.RemoveMemberResponse](w, adas, req)
	if diff := cmp.Diff(first, again, protocmp.Transform()); diff != "" {
		t.Errorf("answers (-first +again):\n%s", diff)
	}
	_, err := w.call(adas, &partyv1.RemoveMemberRequest{Name: camp, Subject: adas})
	refusal{codes.NotFound, "NOT_FOUND", "", nil}.check(t, err)
}

// TestAnsweredThoughTheRoleIsGone: who was demoted meanwhile still gets the first answer to an old request.
func TestAnsweredThoughTheRoleIsGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t).begin()
	req := &partyv1.GrantPointsRequest{Name: ada, Cp: 5}
	first := do[*partyv1.GrantPointsResponse](w, gm, req)
	w.doCampaign(owner, setMember(gm, typev1.Role_ROLE_SPECTATOR))
	again := do[*partyv1.GrantPointsResponse](w, gm, req)
	if diff := cmp.Diff(first, again, protocmp.Transform()); diff != "" {
		t.Errorf("answers (-first +again):\n%s", diff)
	}
	_, err := w.call(gm, &partyv1.GrantPointsRequest{Name: ada, Cp: 5})
	refusal{codes.PermissionDenied, "NOT_GM", "", nil}.check(t, err)
}

func TestAnIDThatFollowsFromTheRequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t).begin()
	make := func(who, id string) string {
		return w.doCharacter(who, &partyv1.CreateCharacterRequest{Parent: camp, Title: "x", RequestId: id}).GetName()
	}
	a, b := make(adas, "one"), make(adas, "two")
	if a == b || a != make(adas, "one") || !strings.HasPrefix(a, camp+"/characters/") {
		t.Errorf("names %q and %q", a, b)
	}
	names := []string{
		w.doCampaign(adas, &partyv1.CreateCampaignRequest{Title: "x", RequestId: "one"}).GetName(),
		w.doCampaign(brams, &partyv1.CreateCampaignRequest{Title: "x", RequestId: "one"}).GetName(),
	}
	if names[0] == names[1] {
		t.Errorf("two founders got one campaign: %q", names)
	}
}

func TestWatchSendsEveryRecordOnceThenFollows(t *testing.T) {
	t.Parallel()
	w := newWorld(t).stage()
	ctx, cancel := context.WithCancel(as(context.Background(), spectator))
	defer cancel()
	stream, err := partyv1.NewCharacterServiceClient(w.conn).WatchCharacter(ctx, &partyv1.WatchCharacterRequest{Name: ada, FromSeq: 1})
	if err != nil {
		t.Fatal(err)
	}
	kinds := func(n int) (out []string) {
		t.Helper()
		for range n {
			m, err := stream.Recv()
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, fmt.Sprint(m.GetRecord().GetSeq()))
			for _, e := range m.GetEvents() {
				r := e.ProtoReflect()
				out = append(out, string(r.WhichOneof(r.Descriptor().Oneofs().ByName("event")).Name()))
			}
		}
		return out
	}
	if diff := cmp.Diff([]string{"2", "form_added", "3", "tools_bought", "4", "tool_loaded"}, kinds(3)); diff != "" {
		t.Errorf("what there was (-want +got):\n%s", diff)
	}
	w.doCharacter(adas, &partyv1.UnloadToolRequest{Name: ada, Number: 1})
	newWorldOn(t, w.store).doCharacter(gm, &partyv1.ApproveCharacterRequest{Name: ada}) // through another replica
	if diff := cmp.Diff([]string{"5", "tool_unloaded", "6", "approved"}, kinds(2)); diff != "" {
		t.Errorf("what came (-want +got):\n%s", diff)
	}
	// Who loses their role sees no more.
	w.doCampaign(owner, &partyv1.RemoveMemberRequest{Name: camp, Subject: spectator})
	w.doCharacter(gm, &partyv1.GrantPointsRequest{Name: ada, Cp: 5})
	_, err = stream.Recv()
	refusal{codes.NotFound, "NOT_FOUND", "", nil}.check(t, err)
}

func TestWatchCampaignAndCompany(t *testing.T) {
	t.Parallel()
	w := newWorld(t).stage()
	ctx, cancel := context.WithCancel(as(context.Background(), brams))
	defer cancel()
	campaigns, err := partyv1.NewCampaignServiceClient(w.conn).WatchCampaign(ctx, &partyv1.WatchCampaignRequest{Name: camp})
	if err != nil {
		t.Fatal(err)
	}
	var seqs []int32
	for range 4 {
		m, err := campaigns.Recv()
		if err != nil {
			t.Fatal(err)
		}
		seqs = append(seqs, m.GetRecord().GetSeq())
		if m.GetRecord().GetSeq() == 1 && m.GetEvents()[0].GetCreated().GetTitle() != "The Long Road" {
			t.Errorf("first record: %v", m)
		}
	}
	if !slices.Equal(seqs, []int32{1, 2, 3, 4}) {
		t.Errorf("seqs %v", seqs)
	}
	companies, err := partyv1.NewCompanyServiceClient(w.conn).WatchCompany(ctx, &partyv1.WatchCompanyRequest{Name: camp + "/companies/adas"})
	if err != nil {
		t.Fatal(err)
	}
	if m, err := companies.Recv(); err != nil || len(m.GetEvents()[0].GetCreated().GetTravelers()) != 2 {
		t.Errorf("company: %v, %v", m, err)
	}
}

func TestWatchRefusals(t *testing.T) {
	t.Parallel()
	w := newWorld(t).begin()
	watch := func(who string, req *partyv1.WatchCharacterRequest) error {
		ctx, cancel := context.WithCancel(as(context.Background(), who))
		defer cancel()
		stream, err := partyv1.NewCharacterServiceClient(w.conn).WatchCharacter(ctx, req)
		if err != nil {
			return err
		}
		_, err = stream.Recv()
		return err
	}
	refusal{codes.NotFound, "NOT_FOUND", "", nil}.check(t, watch(stranger, &partyv1.WatchCharacterRequest{Name: ada}))
	refusal{codes.NotFound, "NOT_FOUND", "", nil}.check(t, watch(gm, &partyv1.WatchCharacterRequest{Name: camp + "/characters/none"}))
	refusal{codes.InvalidArgument, "INVALID", "from_seq", nil}.check(t, watch(gm, &partyv1.WatchCharacterRequest{Name: ada, FromSeq: -1}))
	refusal{codes.Unauthenticated, "TOKEN_MISSING", "", nil}.check(t, watch("", &partyv1.WatchCharacterRequest{Name: ada}))
}
