package travel_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	travelv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/travel/v1"
)

// Whether a journey may be given up is told without giving it up, in the words of the refusal that giving it up would get.
func TestWhetherAJourneyMayBeGivenUp(t *testing.T) {
	t.Parallel()
	w := newWorld()
	n := w.node(t).begin().meetCleo()
	type request = travelv1.AbandonJourneyRequest
	tests := map[string]struct {
		who  string
		req  *request
		want refusal // none: they may
	}{
		"a traveler":                 {who: adas, req: &request{Character: ada}},
		"a game master, for nobody":  {who: gm, req: &request{}},
		"a game master, for another": {who: gm, req: &request{Character: bram, OverrideReason: "they are away"}},
		"at the present state":       {who: gm, req: &request{Etag: n.journey(gm).GetEtag()}},
		"for nobody":                 {adas, &request{}, refusal{codes.InvalidArgument, "INVALID", "character"}},
		"for another":                {brams, &request{Character: ada}, refusal{codes.PermissionDenied, "NOT_YOUR_CHARACTER", ""}},
		"who does not travel":        {brams, &request{Character: cleo}, refusal{codes.InvalidArgument, "NO_SUCH_MEMBER", "character"}},
		"another campaign's":         {gm, &request{Character: other + "/characters/zed"}, refusal{codes.NotFound, "NOT_FOUND", "character"}},
		"a player who overrides":     {adas, &request{Character: ada, OverrideReason: "me"}, refusal{codes.PermissionDenied, "NOT_GM", "override_reason"}},
		"a stranger":                 {stranger, &request{Character: ada}, refusal{codes.NotFound, "NOT_FOUND", ""}},
		"a stale etag":               {adas, &request{Character: ada, Etag: "stale"}, refusal{codes.Aborted, "ETAG_MISMATCH", "etag"}},
		"nothing":                    {adas, &request{Name: camp + "/journeys/none", Character: ada}, refusal{codes.NotFound, "NOT_FOUND", "name"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if tt.req.GetName() == "" {
				tt.req.Name = trek
			}
			before, holders := w.seqs(t), w.party.holders()
			asked := proto.CloneOf(tt.req)
			asked.ValidateOnly = true
			res, err := n.call(tt.who, asked)
			if tt.want.reason != "" {
				tt.want.check(t, err)
				_, err = n.call(tt.who, tt.req) // in earnest
				tt.want.check(t, err)
			} else {
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(&travelv1.AbandonJourneyResponse{Journey: n.journey(tt.who)}, res, protocmp.Transform()); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			}
			if diff := cmp.Diff(before, w.seqs(t)); diff != "" {
				t.Errorf("the journal has changed (-before +after):\n%s", diff)
			}
			if diff := cmp.Diff(holders, w.party.holders()); diff != "" {
				t.Errorf("leases have changed (-before +after):\n%s", diff)
			}
		})
	}
	do[*travelv1.AbandonJourneyResponse](n, adas, &request{Name: trek, Character: ada})
	_, err := n.call(adas, &request{Name: trek, Character: ada, ValidateOnly: true})
	refusal{codes.FailedPrecondition, "NOT_TRAVELING", ""}.check(t, err)
}
