package expedition

import (
	"errors"
	"testing"

	"google.golang.org/protobuf/proto"

	expeditionv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/expedition/v1"
	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"
	travelv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/travel/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/fault"
)

// A company that does not exist is refused where it is named, not weeks later when they set out, and nothing begins. A party
// service that is away is no refusal, and keeps nobody from the first answer.
func TestAnExpeditionOfACompanyThatIsNotThere(t *testing.T) {
	t.Parallel()
	s := newSuite(t, "")
	g := s.gather(t, "company", nil)
	s.gather(t, "elsewhere", nil)
	create := func(id, company, requestID string) (*expeditionv1.CreateExpeditionResponse, error) {
		return g.client.CreateExpedition(by(t.Context(), "alice"), &expeditionv1.CreateExpeditionRequest{
			Parent: g.campaign, ExpeditionId: id, Title: "Out", Company: company, RequestId: requestID,
		})
	}
	for company, field := range map[string]string{
		g.campaign + "/companies/none":    "does not exist",
		"campaigns/elsewhere/companies/k": "is not in this campaign",
	} {
		for range 2 {
			_, err := create("lost", company, "lost")
			var f *fault.Error
			if !errors.As(fault.FromStatus(err), &f) || f.Kind != fault.NotFound || f.Reason != "NOT_FOUND" || f.Metadata["resource"] != company ||
				len(f.Fields) != 1 || f.Fields[0].Field != "company" || f.Fields[0].Description != field {
				t.Errorf("%s: %v", company, err)
			}
		}
	}
	if _, err := g.client.GetExpedition(by(t.Context(), "alice"), &expeditionv1.GetExpeditionRequest{Name: g.campaign + "/expeditions/lost"}); fault.KindOf(fault.FromStatus(err)) != fault.NotFound {
		t.Errorf("it was begun: %v", err)
	}

	const k = "campaigns/company/companies/k"
	m := g.mishaps.arm(g.campaign, "expedition>GetCompany#1", before)
	if _, err := create("later", k, "later"); fault.KindOf(fault.FromStatus(err)) != fault.Unavailable || !m.hit {
		t.Errorf("without the party service: %v", err)
	}
	g.mishaps.disarm(g.campaign)
	first, err := create("later", k, "later")
	if err != nil || first.GetExpedition().GetCompany() != k {
		t.Fatalf("when it is back: %v, %v", first, err)
	}
	g.mishaps.arm(g.campaign, "expedition>GetCompany#1", before)
	if again, err := create("later", k, "later"); err != nil || !proto.Equal(first, again) {
		t.Errorf("asked again without the party service: %v, %v", again, err)
	}
	g.mishaps.disarm(g.campaign)
}

// What an expedition shows is the company that travels, whoever named it.
func TestTheCompanyThatSetsOutIsShown(t *testing.T) {
	t.Parallel()
	s := newSuite(t, "")
	g := s.gather(t, "shown", nil)
	other := &partyv1.CreateCompanyRequest{Parent: g.campaign, CompanyId: "other", Title: "The Others", Pack: &partyv1.Pack{Food: []int32{20}}}
	for _, c := range []string{"ada", "bram"} {
		other.Travelers = append(other.Travelers, &partyv1.Traveler{Character: g.character(c)})
	}
	g.call("gerd", other, &partyv1.CreateCompanyResponse{})
	k, others := g.campaign+"/companies/k", g.campaign+"/companies/other"
	for title, row := range map[string]struct{ id, created, started, before, after string }{
		"named when they set out": {"late", "", k, "", k},
		"named at first":          {"first", k, "", k, k},
		"another than at first":   {"other", k, others, k, others},
	} {
		own := &group{suite: g.suite, t: t, campaign: g.campaign, name: g.campaign + "/expeditions/" + row.id}
		if _, err := g.client.CreateExpedition(by(t.Context(), "alice"), &expeditionv1.CreateExpeditionRequest{
			Parent: g.campaign, ExpeditionId: row.id, Company: row.created, RequestId: "create",
		}); err != nil {
			t.Fatalf("%s: %v", title, err)
		}
		if got := own.now().GetCompany(); got != row.before {
			t.Errorf("%s: before, it is %q", title, got)
		}
		out := own.setOut()
		out.GetStartJourney().Company = row.started
		own.does("alice", out)
		if got := own.now(); got.GetCompany() != row.after || got.GetPhase() != Traveling {
			t.Errorf("%s: it is %v", title, got)
		}
		own.does("alice", own.goHome("home"))
		if got := own.now(); got.GetCompany() != row.after || got.GetPhase() != Concluded {
			t.Errorf("%s: at the end, it is %v", title, got)
		}
		journey := &travelv1.GetJourneyResponse{}
		g.call("gerd", &travelv1.GetJourneyRequest{Name: own.now().GetJourney()}, journey)
		if got := journey.GetJourney().GetCompany(); got != row.after {
			t.Errorf("%s: %s travels", title, got)
		}
	}
}
