package party_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"
)

const band = camp + "/companies/band"

// gather makes a company of Ada, Bram and a hireling.
func (w *world) gather() *world {
	w.t.Helper()
	do[*partyv1.CreateCompanyResponse](w, gm, &partyv1.CreateCompanyRequest{
		Parent: camp, CompanyId: "band", Title: "The Band",
		Travelers: []*partyv1.Traveler{{Character: ada, Torches: 2}, {Character: bram, Label: "Bram the Bold"}, {Label: "ditchdigger"}},
		Pack:      &partyv1.Pack{Food: []int32{20, 4}, Gold: 60, Boat: true},
	})
	return w
}

func TestCompanyKeepsWhoTravelsAndWhatTheyShare(t *testing.T) {
	t.Parallel()
	w := newWorld(t).begin().gather()
	got := do[*partyv1.GetCompanyResponse](w, spectator, &partyv1.GetCompanyRequest{Name: band}).GetCompany()
	want := &partyv1.Company{
		Name: band, Title: "The Band", Seq: 1, Etag: got.GetEtag(), CreateTime: got.GetCreateTime(),
		Travelers: []*partyv1.Traveler{
			{Label: "ada", Character: ada, Torches: 2},
			{Label: "Bram the Bold", Character: bram},
			{Label: "ditchdigger", Vitals: &partyv1.Vitals{Hp: 4, HpMax: 4, Str: 10, StrMax: 10}},
		},
		Pack: &partyv1.Pack{Food: []int32{20, 4}, Gold: 60, Boat: true},
	}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Fatalf("company (-want +got):\n%s", diff)
	}
	if got.GetEtag() == "" || got.GetCreateTime() == nil {
		t.Fatalf("etag %q, create time %v", got.GetEtag(), got.GetCreateTime())
	}

	w.doCompany(adas, &partyv1.AddTravelerRequest{Name: band, Traveler: &partyv1.Traveler{Label: "guide", Vitals: &partyv1.Vitals{Hp: 1, HpMax: 3, Str: 8, StrMax: 8, Capacity: proto.Int32(0)}}})
	w.doCompany(cleos, &partyv1.AddTravelerRequest{Name: band, Traveler: &partyv1.Traveler{Character: cleo}})
	w.doCompany(brams, &partyv1.RemoveTravelerRequest{Name: band, Label: "ditchdigger"})
	got = w.doCompany(gm, &partyv1.SetPackRequest{Name: band, Pack: &partyv1.Pack{
		Food: []int32{6}, Gold: 3, Lantern: true, Light: &partyv1.Light{Kind: "lantern", Sides: 12},
		Cargo: []*partyv1.Load{{Creature: "wolf", Count: 2, Value: 9, Carrier: "guide"}}, StarvingRounds: 1,
	}})
	if diff := cmp.Diff([]string{"ada", "Bram the Bold", "guide", "cleo"}, labels(got)); diff != "" {
		t.Errorf("marching order (-want +got):\n%s", diff)
	}
	if got.GetSeq() != 5 || got.GetPack().GetCargo()[0].GetValue() != 9 || got.GetPack().GetGold() != 3 || got.GetPack().GetBoat() {
		t.Errorf("company after five records: %v", got)
	}
	// Another replica, which folds the journal from its beginning, shows the same.
	again := do[*partyv1.GetCompanyResponse](newWorldOn(t, w.store), gm, &partyv1.GetCompanyRequest{Name: band}).GetCompany()
	if diff := cmp.Diff(got, again, protocmp.Transform()); diff != "" {
		t.Errorf("on another replica (-first +second):\n%s", diff)
	}
}

// doCompany makes a call that must answer with a company.
func (w *world) doCompany(who string, req proto.Message) *partyv1.Company {
	w.t.Helper()
	return do[interface {
		proto.Message
		GetCompany() *partyv1.Company
	}](w, who, req).GetCompany()
}

func labels(c *partyv1.Company) []string {
	var out []string
	for _, t := range c.GetTravelers() {
		out = append(out, t.GetLabel())
	}
	return out
}

func TestCompanyRefusals(t *testing.T) {
	t.Parallel()
	w := newWorld(t).begin().gather()
	for sentence, c := range map[string]struct {
		who  string
		req  proto.Message
		want refusal
	}{
		"a label is taken": {
			adas, &partyv1.AddTravelerRequest{Name: band, Traveler: &partyv1.Traveler{Label: "ada"}},
			refusal{codes.FailedPrecondition, "NAME_TAKEN", "", nil},
		},
		"a character travels already, under another label": {
			brams, &partyv1.AddTravelerRequest{Name: band, Traveler: &partyv1.Traveler{Label: "twin", Character: bram}},
			refusal{codes.FailedPrecondition, "NAME_TAKEN", "", nil},
		},
		"two founders share a label": {
			gm, &partyv1.CreateCompanyRequest{Parent: camp, Title: "x", Travelers: []*partyv1.Traveler{{Label: "a"}, {Label: "a"}}},
			refusal{codes.InvalidArgument, "NAME_TAKEN", "travelers[1].label", nil},
		},
		"a hireling without a label": {
			adas, &partyv1.AddTravelerRequest{Name: band, Traveler: &partyv1.Traveler{}},
			refusal{codes.InvalidArgument, "INVALID", "traveler.label", nil},
		},
		"a character with vitals of its own in the request": {
			cleos, &partyv1.AddTravelerRequest{Name: band, Traveler: &partyv1.Traveler{Character: cleo, Vitals: &partyv1.Vitals{StrMax: 1}}},
			refusal{codes.InvalidArgument, "INVALID", "traveler.vitals", nil},
		},
		"hit points above the most": {
			adas, &partyv1.AddTravelerRequest{Name: band, Traveler: &partyv1.Traveler{Label: "b", Vitals: &partyv1.Vitals{Hp: 5, HpMax: 4, Str: 1, StrMax: 1}}},
			refusal{codes.InvalidArgument, "INVALID", "traveler.vitals.hp", nil},
		},
		"a character of another campaign": {
			gm, &partyv1.AddTravelerRequest{Name: band, Traveler: &partyv1.Traveler{Character: other + "/characters/zed"}},
			refusal{codes.NotFound, "NOT_FOUND", "traveler.character", nil},
		},
		"a character that does not exist": {
			gm, &partyv1.CreateCompanyRequest{Parent: camp, Title: "x", Travelers: []*partyv1.Traveler{{Character: camp + "/characters/nobody"}}},
			refusal{codes.NotFound, "NOT_FOUND", "travelers[0].character", map[string]string{"resource": camp + "/characters/nobody"}},
		},
		"a company that does not exist": {
			gm, &partyv1.SetPackRequest{Name: camp + "/companies/none", Pack: &partyv1.Pack{}},
			refusal{codes.NotFound, "NOT_FOUND", "", nil},
		},
		"the id of a company is taken": {
			gm, &partyv1.CreateCompanyRequest{Parent: camp, CompanyId: "band", Title: "x", Travelers: []*partyv1.Traveler{{Character: ada}}},
			refusal{codes.AlreadyExists, "ALREADY_EXISTS", "", nil},
		},
		"a player brings gold": {
			adas, &partyv1.CreateCompanyRequest{Parent: camp, Title: "x", Travelers: []*partyv1.Traveler{{Character: ada}}, Pack: &partyv1.Pack{Gold: 1}},
			refusal{codes.PermissionDenied, "NOT_GM", "pack", nil},
		},
		"a player brings torches": {
			cleos, &partyv1.AddTravelerRequest{Name: band, Traveler: &partyv1.Traveler{Character: cleo, Torches: 1}},
			refusal{codes.PermissionDenied, "NOT_GM", "traveler", nil},
		},
		"a player gathers others' characters only": {
			cleos, &partyv1.CreateCompanyRequest{Parent: camp, Title: "x", Travelers: []*partyv1.Traveler{{Character: ada}}},
			refusal{codes.PermissionDenied, "NOT_YOUR_CHARACTER", "", nil},
		},
		"nobody of that label": {
			adas, &partyv1.RemoveTravelerRequest{Name: band, Label: "nobody"},
			refusal{codes.FailedPrecondition, "NO_SUCH_MEMBER", "", nil},
		},
		"a stale etag": {
			gm, &partyv1.SetPackRequest{Name: band, Pack: &partyv1.Pack{}, Etag: "0-stale"},
			refusal{codes.Aborted, "ETAG_MISMATCH", "etag", nil},
		},
		"a food die of seven sides": {
			gm, &partyv1.SetPackRequest{Name: band, Pack: &partyv1.Pack{Food: []int32{7}}},
			refusal{codes.InvalidArgument, "INVALID", "pack.food[0]", nil},
		},
		"negative gold": {
			gm, &partyv1.SetPackRequest{Name: band, Pack: &partyv1.Pack{Gold: -1}},
			refusal{codes.InvalidArgument, "INVALID", "pack.gold", nil},
		},
		"page_size -1": {
			gm, &partyv1.ListCompaniesRequest{Parent: camp, PageSize: -1},
			refusal{codes.InvalidArgument, "INVALID", "page_size", nil},
		},
		"a page token of another list": {
			gm, &partyv1.ListCompaniesRequest{Parent: camp, PageToken: "bm9uc2Vuc2U"},
			refusal{codes.InvalidArgument, "PAGE_TOKEN", "page_token", nil},
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

func TestTheLastTravelerStays(t *testing.T) {
	t.Parallel()
	w := newWorld(t).begin()
	w.doCompany(adas, &partyv1.CreateCompanyRequest{Parent: camp, CompanyId: "solo", Title: "Alone", Travelers: []*partyv1.Traveler{{Character: ada}}})
	_, err := w.call(adas, &partyv1.RemoveTravelerRequest{Name: camp + "/companies/solo", Label: "ada"})
	refusal{codes.FailedPrecondition, "LAST_MEMBER", "", nil}.check(t, err)
}
