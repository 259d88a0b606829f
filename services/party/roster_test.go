package party_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"
)

func TestAPartyFormsPromotesAndDissolves(t *testing.T) {
	t.Parallel()
	w := newWorld(t).begin()
	p := w.doParty(adas, &partyv1.CreatePartyRequest{Parent: camp, PartyId: "team", Character: ada, Dungeon: camp + "/dungeons/granary"})
	want := &partyv1.Party{
		Name: team, Leader: ada, Members: []*partyv1.PartyMember{{Character: ada, Owner: adas}},
		Dungeon: camp + "/dungeons/granary", State: partyv1.Party_STATE_FORMING, Etag: p.GetEtag(),
	}
	if diff := cmp.Diff(want, p, protocmp.Transform()); diff != "" {
		t.Fatalf("created (-want +got):\n%s", diff)
	}
	w.doParty(brams, &partyv1.JoinPartyRequest{Name: team, Character: bram})
	w.doParty(cleos, &partyv1.JoinPartyRequest{Name: team, Character: cleo})
	p = w.doParty(adas, &partyv1.PromoteMemberRequest{Name: team, Character: ada, Target: cleo})
	want = &partyv1.Party{
		Name: team, Leader: cleo, Dungeon: want.GetDungeon(), State: partyv1.Party_STATE_FORMING, Etag: p.GetEtag(),
		Members: []*partyv1.PartyMember{{Character: ada, Owner: adas}, {Character: bram, Owner: brams}, {Character: cleo, Owner: cleos}},
	}
	if diff := cmp.Diff(want, p, protocmp.Transform()); diff != "" {
		t.Errorf("promoted (-want +got):\n%s", diff)
	}
	if got := do[*partyv1.GetPartyResponse](w, spectator, &partyv1.GetPartyRequest{Name: team}).GetParty(); !proto.Equal(got, p) {
		t.Errorf("read: %v, want %v", got, p)
	}
	w.doParty(adas, &partyv1.LeavePartyRequest{Name: team, Character: ada})
	w.doCampaign(brams, &partyv1.ResetPartyRequest{Parent: camp, Character: bram})
	w.doParty(adas, &partyv1.CreatePartyRequest{Parent: camp, PartyId: "next", Character: ada})
	if p = w.doParty(cleos, &partyv1.LeavePartyRequest{Name: team, Character: cleo}); len(p.GetMembers()) != 0 || p.GetLeader() != "" {
		t.Errorf("dissolved: %v", p)
	}
	w.doParty(cleos, &partyv1.JoinPartyRequest{Name: camp + "/parties/next", Character: cleo})
}

func TestAGMPromotesWithAReason(t *testing.T) {
	t.Parallel()
	w := newWorld(t).begin().enlist()
	res := do[*partyv1.PromoteMemberResponse](w, gm, &partyv1.PromoteMemberRequest{Name: team, Character: bram, Target: bram, OverrideReason: "Ada's player is away"})
	if res.GetParty().GetLeader() != bram || res.GetRecord().GetOverrideReason() != "Ada's player is away" || res.GetRecord().GetActor() != gm {
		t.Errorf("promoted: %v", res)
	}
}

func TestPartyRefusals(t *testing.T) {
	t.Parallel()
	w := newWorld(t).begin().enlist()
	// A party of seven: Cleo's and six of the GM's.
	full := camp + "/parties/full"
	w.doParty(cleos, &partyv1.CreatePartyRequest{Parent: camp, PartyId: "full", Character: cleo})
	for i := range 8 {
		name := fmt.Sprintf("npc-%d", i)
		w.doCharacter(gm, &partyv1.CreateCharacterRequest{Parent: camp, CharacterId: name, Title: name})
		if i < 6 {
			w.doParty(gm, &partyv1.JoinPartyRequest{Name: full, Character: camp + "/characters/" + name})
		}
	}
	// One that is in a run.
	in := w.doParty(gm, &partyv1.CreatePartyRequest{Parent: camp, Character: camp + "/characters/npc-6"}).GetName()
	w.doCharacter(gm, &partyv1.CreateCharacterRequest{Parent: camp, CharacterId: "npc-8", Title: "x"})
	w.doParty(gm, &partyv1.JoinPartyRequest{Name: in, Character: camp + "/characters/npc-8"})
	do[*partyv1.TakeLeaseResponse](w, service, take(in, roster, run1))
	npc7 := camp + "/characters/npc-7"

	refused := func(reason string) refusal { return refusal{code: codes.FailedPrecondition, reason: reason} }
	gone := func(field string) refusal { return refusal{code: codes.NotFound, reason: "NOT_FOUND", field: field} }
	for sentence, c := range map[string]struct {
		who  string
		req  proto.Message
		want refusal
	}{
		"the eighth member":                  {gm, &partyv1.JoinPartyRequest{Name: full, Character: npc7}, refusal{codes.FailedPrecondition, "PARTY_FULL", "name", nil}},
		"joining a second party":             {adas, &partyv1.JoinPartyRequest{Name: full, Character: ada}, refused("ALREADY_IN_PARTY")},
		"founding while in a party":          {brams, &partyv1.CreatePartyRequest{Parent: camp, Character: bram}, refused("ALREADY_IN_PARTY")},
		"joining after entering":             {gm, &partyv1.JoinPartyRequest{Name: in, Character: npc7}, refused("RUN_BEGUN")},
		"leaving during a run":               {gm, &partyv1.LeavePartyRequest{Name: in, Character: camp + "/characters/npc-8"}, refusal{codes.FailedPrecondition, "LEASED", "", map[string]string{"facet": "FACET_ROSTER", "holder": run1}}},
		"promoting during a run":             {gm, &partyv1.PromoteMemberRequest{Name: in, Character: camp + "/characters/npc-6", Target: camp + "/characters/npc-8"}, refusal{codes.FailedPrecondition, "LEASED", "", map[string]string{"holder": run1}}},
		"resetting during a run":             {gm, &partyv1.ResetPartyRequest{Parent: camp, Character: camp + "/characters/npc-8"}, refused("LEASED")},
		"a member promotes":                  {brams, &partyv1.PromoteMemberRequest{Name: team, Character: bram, Target: bram}, refused("NOT_LEADER")},
		"a GM promotes without a reason":     {gm, &partyv1.PromoteMemberRequest{Name: team, Character: bram, Target: bram}, refused("NOT_LEADER")},
		"promoting somebody else":            {adas, &partyv1.PromoteMemberRequest{Name: team, Character: ada, Target: cleo}, refused("NOT_A_MEMBER")},
		"a player gives a reason":            {adas, &partyv1.PromoteMemberRequest{Name: team, Character: ada, Target: bram, OverrideReason: "why not"}, refusal{codes.PermissionDenied, "NOT_GM", "override_reason", nil}},
		"a leader with members leaves":       {adas, &partyv1.LeavePartyRequest{Name: team, Character: ada}, refused("LEADER_WITH_MEMBERS")},
		"a leader with members resets":       {adas, &partyv1.ResetPartyRequest{Parent: camp, Character: ada}, refused("LEADER_WITH_MEMBERS")},
		"leaving another's party":            {adas, &partyv1.LeavePartyRequest{Name: full, Character: ada}, refused("NOT_A_MEMBER")},
		"resetting without a party":          {gm, &partyv1.ResetPartyRequest{Parent: camp, Character: npc7}, refused("NOT_IN_PARTY")},
		"the id of a party is taken":         {gm, &partyv1.CreatePartyRequest{Parent: camp, PartyId: "team", Character: npc7}, refusal{code: codes.AlreadyExists, reason: "ALREADY_EXISTS"}},
		"a party that there is not":          {gm, &partyv1.JoinPartyRequest{Name: camp + "/parties/none", Character: npc7}, gone("name")},
		"reading a party that there is not":  {gm, &partyv1.GetPartyRequest{Name: camp + "/parties/none"}, gone("name")},
		"a character that there is not":      {gm, &partyv1.JoinPartyRequest{Name: team, Character: camp + "/characters/none"}, gone("character")},
		"another campaign's character":       {gm, &partyv1.JoinPartyRequest{Name: team, Character: other + "/characters/zed"}, gone("character")},
		"another campaign's leader":          {gm, &partyv1.CreatePartyRequest{Parent: camp, Character: other + "/characters/zed"}, gone("character")},
		"another campaign's dungeon":         {gm, &partyv1.CreatePartyRequest{Parent: camp, Character: npc7, Dungeon: other + "/dungeons/d"}, gone("dungeon")},
		"another campaign's target":          {adas, &partyv1.PromoteMemberRequest{Name: team, Character: ada, Target: other + "/characters/zed"}, gone("target")},
		"another campaign's party":           {stranger, &partyv1.JoinPartyRequest{Name: team, Character: other + "/characters/zed"}, refusal{code: codes.NotFound, reason: "NOT_FOUND"}},
		"another's character joins":          {cleos, &partyv1.JoinPartyRequest{Name: team, Character: npc7}, refusal{code: codes.PermissionDenied, reason: "NOT_YOUR_CHARACTER"}},
		"a stale etag":                       {adas, &partyv1.PromoteMemberRequest{Name: team, Character: ada, Target: bram, Etag: "1-00000000"}, refusal{codes.Aborted, "ETAG_MISMATCH", "etag", nil}},
		"a name that is none of a character": {gm, &partyv1.JoinPartyRequest{Name: team, Character: "npc-7"}, refusal{codes.InvalidArgument, "INVALID", "character", nil}},
	} {
		t.Run(sentence, func(t *testing.T) {
			before := w.seqs()
			_, err := w.call(c.who, c.req)
			c.want.check(t, err)
			if diff := cmp.Diff(before, w.seqs()); diff != "" {
				t.Errorf("the journal has changed (-before +after):\n%s", diff)
			}
		})
	}
}

func TestPartiesAreListedInOrderOfCreation(t *testing.T) {
	t.Parallel()
	w := newWorld(t).begin()
	for i := range 5 {
		name := fmt.Sprintf("npc-%d", i)
		w.doCharacter(gm, &partyv1.CreateCharacterRequest{Parent: camp, CharacterId: name, Title: name})
		w.doParty(gm, &partyv1.CreatePartyRequest{Parent: camp, PartyId: fmt.Sprintf("p-%d", i), Character: camp + "/characters/" + name})
	}
	var names []string
	req := &partyv1.ListPartiesRequest{Parent: camp, PageSize: 2}
	for page := 0; ; page++ {
		if page == 1 { // the last row of the page before is dissolved meanwhile, which disturbs nothing
			w.doParty(gm, &partyv1.LeavePartyRequest{Name: camp + "/parties/p-1", Character: camp + "/characters/npc-1"})
		}
		res := do[*partyv1.ListPartiesResponse](w, spectator, req)
		if len(res.GetParties()) > 2 {
			t.Errorf("%d rows on a page of 2", len(res.GetParties()))
		}
		for _, p := range res.GetParties() {
			names = append(names, p.GetName())
		}
		if req.PageToken = res.GetNextPageToken(); req.GetPageToken() == "" {
			break
		}
	}
	want := []string{camp + "/parties/p-0", camp + "/parties/p-1", camp + "/parties/p-2", camp + "/parties/p-3", camp + "/parties/p-4"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("parties (-want +got):\n%s", diff)
	}
	_, err := w.call(gm, &partyv1.GetPartyRequest{Name: camp + "/parties/p-1"})
	refusal{codes.NotFound, "NOT_FOUND", "name", nil}.check(t, err)
}
