package party_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"
	typev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/type/v1"
)

func (w *world) doCampaign(who string, req proto.Message) *partyv1.Campaign {
	w.t.Helper()
	return do[interface {
		proto.Message
		GetCampaign() *partyv1.Campaign
	}](w, who, req).GetCampaign()
}

func (w *world) doParty(who string, req proto.Message) *partyv1.Party {
	w.t.Helper()
	return do[interface {
		proto.Message
		GetParty() *partyv1.Party
	}](w, who, req).GetParty()
}

func setMember(subject string, role typev1.Role, characters ...string) *partyv1.SetMemberRequest {
	return &partyv1.SetMemberRequest{Name: camp, Member: &partyv1.CampaignMember{Subject: subject, Role: role, Characters: characters}}
}

func TestCampaignKeepsMembersAndChapter(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	got := w.doCampaign(owner, &partyv1.CreateCampaignRequest{CampaignId: "c1", Title: "The Long Road", Members: []*partyv1.CampaignMember{
		{Subject: owner, Role: typev1.Role_ROLE_OWNER}, {Subject: gm, Role: typev1.Role_ROLE_GM},
	}})
	want := &partyv1.Campaign{
		Name: camp, Title: "The Long Road", Chapter: 1, Seq: 1, Etag: got.GetEtag(), CreateTime: got.GetCreateTime(),
		Members: []*partyv1.CampaignMember{{Subject: owner, Role: typev1.Role_ROLE_OWNER}, {Subject: gm, Role: typev1.Role_ROLE_GM}},
	}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Fatalf("campaign (-want +got):\n%s", diff)
	}
	w.doCampaign(gm, setMember(adas, typev1.Role_ROLE_PLAYER))
	do[*partyv1.CreateCharacterResponse](w, adas, &partyv1.CreateCharacterRequest{Parent: camp, CharacterId: "ada", Title: "Ada"})
	w.doCampaign(gm, setMember(bot, typev1.Role_ROLE_BOT, ada))
	w.doCampaign(owner, setMember(gm, typev1.Role_ROLE_OWNER))
	w.doCampaign(gm, setMember(owner, typev1.Role_ROLE_GM))
	w.doCampaign(adas, &partyv1.RemoveMemberRequest{Name: camp, Subject: adas})
	got = w.doCampaign(gm, &partyv1.SetChapterRequest{Name: camp, Chapter: 4, Etag: do[*partyv1.GetCampaignResponse](w, bot, &partyv1.GetCampaignRequest{Name: camp}).GetCampaign().GetEtag()})
	want = &partyv1.Campaign{
		Name: camp, Title: "The Long Road", Chapter: 4, Seq: 7, Etag: got.GetEtag(), CreateTime: got.GetCreateTime(),
		Members: []*partyv1.CampaignMember{
			{Subject: owner, Role: typev1.Role_ROLE_GM}, {Subject: gm, Role: typev1.Role_ROLE_OWNER},
			{Subject: bot, Role: typev1.Role_ROLE_BOT, Characters: []string{ada}},
		},
	}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("campaign (-want +got):\n%s", diff)
	}
	_, err := w.call(adas, &partyv1.GetCampaignRequest{Name: camp})
	refusal{codes.NotFound, "NOT_FOUND", "", map[string]string{"resource": camp}}.check(t, err)
}

func TestCampaignRefusals(t *testing.T) {
	t.Parallel()
	w := newWorld(t).begin()
	for sentence, c := range map[string]struct {
		who  string
		req  proto.Message
		want refusal
	}{
		"the id is taken": {
			stranger, &partyv1.CreateCampaignRequest{CampaignId: "c1", Title: "Mine"},
			refusal{codes.AlreadyExists, "ALREADY_EXISTS", "", nil},
		},
		"no title": {
			stranger, &partyv1.CreateCampaignRequest{CampaignId: "c3"},
			refusal{codes.InvalidArgument, "INVALID", "title", nil},
		},
		"an id that would break a URL": {
			stranger, &partyv1.CreateCampaignRequest{CampaignId: "a/b", Title: "x"},
			refusal{codes.InvalidArgument, "INVALID", "campaign_id", nil},
		},
		"a member twice": {
			stranger, &partyv1.CreateCampaignRequest{Title: "x", Members: []*partyv1.CampaignMember{
				{Subject: adas, Role: typev1.Role_ROLE_PLAYER}, {Subject: adas, Role: typev1.Role_ROLE_GM}}},
			refusal{codes.InvalidArgument, "INVALID", "members[1].subject", nil},
		},
		"the founder as a player": {
			stranger, &partyv1.CreateCampaignRequest{Title: "x", Members: []*partyv1.CampaignMember{{Subject: stranger, Role: typev1.Role_ROLE_PLAYER}}},
			refusal{codes.InvalidArgument, "INVALID", "members[0].subject", nil},
		},
		"a bot for another campaign's character": {
			stranger, &partyv1.CreateCampaignRequest{CampaignId: "c3", Title: "x", Members: []*partyv1.CampaignMember{{Subject: bot, Role: typev1.Role_ROLE_BOT, Characters: []string{ada}}}},
			refusal{codes.NotFound, "NOT_FOUND", "members[0].characters", nil},
		},
		"a role that does not exist": {
			owner, setMember(adas, typev1.Role(99)),
			refusal{codes.InvalidArgument, "INVALID", "member.role", nil},
		},
		"no role": {
			owner, setMember(adas, typev1.Role_ROLE_UNSPECIFIED),
			refusal{codes.InvalidArgument, "INVALID", "member.role", nil},
		},
		"characters of a player": {
			owner, setMember(adas, typev1.Role_ROLE_PLAYER, ada),
			refusal{codes.InvalidArgument, "INVALID", "member.characters", nil},
		},
		"a bot for a character that does not exist": {
			owner, setMember(bot, typev1.Role_ROLE_BOT, ada, camp+"/characters/nobody"),
			refusal{codes.NotFound, "NOT_FOUND", "member.characters[1]", nil},
		},
		"a bot for a character elsewhere": {
			owner, setMember(bot, typev1.Role_ROLE_BOT, other+"/characters/zed"),
			refusal{codes.NotFound, "NOT_FOUND", "member.characters[0]", nil},
		},
		"the last owner steps down": {
			owner, setMember(owner, typev1.Role_ROLE_GM),
			refusal{codes.FailedPrecondition, "LAST_OWNER", "", nil},
		},
		"the last owner leaves": {
			owner, &partyv1.RemoveMemberRequest{Name: camp, Subject: owner},
			refusal{codes.FailedPrecondition, "LAST_OWNER", "", nil},
		},
		"a GM makes a GM": {
			gm, setMember(adas, typev1.Role_ROLE_GM),
			refusal{codes.PermissionDenied, "NOT_OWNER", "", nil},
		},
		"a GM demotes the owner": {
			gm, setMember(owner, typev1.Role_ROLE_PLAYER),
			refusal{codes.PermissionDenied, "NOT_OWNER", "", nil},
		},
		"a GM removes the owner": {
			gm, &partyv1.RemoveMemberRequest{Name: camp, Subject: owner},
			refusal{codes.PermissionDenied, "NOT_OWNER", "", nil},
		},
		"a player removes another": {
			adas, &partyv1.RemoveMemberRequest{Name: camp, Subject: brams},
			refusal{codes.PermissionDenied, "NOT_GM", "", nil},
		},
		"who is to go has no role": {
			owner, &partyv1.RemoveMemberRequest{Name: camp, Subject: stranger},
			refusal{codes.NotFound, "NOT_FOUND", "subject", nil},
		},
		"the present chapter again": {
			gm, &partyv1.SetChapterRequest{Name: camp, Chapter: 3},
			refusal{codes.FailedPrecondition, "CHAPTER_PAST", "", nil},
		},
		"chapter 0": {
			gm, &partyv1.SetChapterRequest{Name: camp},
			refusal{codes.InvalidArgument, "INVALID", "chapter", nil},
		},
		"a stale etag": {
			gm, &partyv1.SetChapterRequest{Name: camp, Chapter: 9, Etag: "0-stale"},
			refusal{codes.Aborted, "ETAG_MISMATCH", "etag", nil},
		},
		"a request_id with a blank": {
			gm, &partyv1.SetChapterRequest{Name: camp, Chapter: 9, RequestId: "a b"},
			refusal{codes.InvalidArgument, "INVALID", "request_id", nil},
		},
		"page_size -1 of campaigns": {
			gm, &partyv1.ListCampaignsRequest{PageSize: -1},
			refusal{codes.InvalidArgument, "INVALID", "page_size", nil},
		},
		"page_size -1 of parties": {
			gm, &partyv1.ListPartiesRequest{Parent: camp, PageSize: -1},
			refusal{codes.InvalidArgument, "INVALID", "page_size", nil},
		},
		"a page token of parties that nobody gave": {
			gm, &partyv1.ListPartiesRequest{Parent: camp, PageToken: "cGFydGllcy85OTk"},
			refusal{codes.InvalidArgument, "PAGE_TOKEN", "page_token", nil},
		},
		"no token": {
			"", &partyv1.GetCampaignRequest{Name: camp},
			refusal{codes.Unauthenticated, "TOKEN_MISSING", "", nil},
		},
		"a wrong token": {
			"bad", &partyv1.ListCampaignsRequest{},
			refusal{codes.Unauthenticated, "TOKEN_INVALID", "", nil},
		},
		"a campaign that does not exist": {
			gm, &partyv1.GetCampaignRequest{Name: "campaigns/none"},
			refusal{codes.NotFound, "NOT_FOUND", "", map[string]string{"resource": "campaigns/none"}},
		},
		"membership of a stranger": {
			service, &partyv1.GetMembershipRequest{Campaign: camp, Subject: stranger},
			refusal{codes.NotFound, "NOT_FOUND", "", nil},
		},
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

func TestACampaignIsListedToItsMembersOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t).begin()
	for i := range 7 {
		req := &partyv1.CreateCampaignRequest{CampaignId: string(rune('p' + i)), Title: "More"}
		if i%2 == 0 {
			req.Members = []*partyv1.CampaignMember{{Subject: adas, Role: typev1.Role_ROLE_PLAYER}}
		}
		w.doCampaign(stranger, req)
	}
	list := func(who string, size int32) (names []string) {
		req := &partyv1.ListCampaignsRequest{PageSize: size}
		for range 20 {
			res := do[*partyv1.ListCampaignsResponse](w, who, req)
			if size > 0 && len(res.GetCampaigns()) > int(size) {
				t.Errorf("%d rows on a page of %d", len(res.GetCampaigns()), size)
			}
			for _, c := range res.GetCampaigns() {
				names = append(names, c.GetName())
			}
			if req.PageToken = res.GetNextPageToken(); req.GetPageToken() == "" {
				return names
			}
		}
		t.Fatal("the list has no end")
		return nil
	}
	for _, size := range []int32{0, 1, 2} {
		if diff := cmp.Diff([]string{"campaigns/v", "campaigns/t", "campaigns/r", "campaigns/p", camp}, list(adas, size)); diff != "" {
			t.Errorf("to a player, pages of %d (-want +got):\n%s", size, diff)
		}
		if diff := cmp.Diff([]string{camp}, list(gm, size)); diff != "" {
			t.Errorf("to a GM, pages of %d (-want +got):\n%s", size, diff)
		}
		if got := list("nobody", size); got != nil {
			t.Errorf("to somebody without a role: %q", got)
		}
	}
	if got := list(service+" for "+gm, 0); len(got) != 1 {
		t.Errorf("to a service for a GM: %q", got)
	}
	if got := list(service, 0); len(got) != 9 {
		t.Errorf("to a service: %q", got)
	}
}

func TestMembershipTellsTheOtherServices(t *testing.T) {
	t.Parallel()
	w := newWorld(t).begin()
	got := do[*partyv1.GetMembershipResponse](w, service, &partyv1.GetMembershipRequest{Campaign: camp, Subject: bot})
	want := &partyv1.GetMembershipResponse{Role: typev1.Role_ROLE_BOT, Characters: []string{ada}, Chapter: 3, CampaignSeq: 1}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("membership (-want +got):\n%s", diff)
	}
	w.doCampaign(gm, &partyv1.SetChapterRequest{Name: camp, Chapter: 5})
	if got := do[*partyv1.GetMembershipResponse](w, service, &partyv1.GetMembershipRequest{Campaign: camp, Subject: bot}); got.GetChapter() != 5 || got.GetCampaignSeq() != 2 {
		t.Errorf("after a chapter: %v", got)
	}
}
