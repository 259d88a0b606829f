package party_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/await"
)

// DIG-CMD-19: a member's note is open until a GM closes it; an outsider files none.
func TestNotesToTheGMs(t *testing.T) {
	t.Parallel()
	w := newWorld(t).begin().enlist()
	ask := func(who, character, text string) (*partyv1.Request, error) {
		res, err := w.call(who, &partyv1.FileRequestRequest{Parent: camp, Character: character, Text: text})
		if err != nil {
			return nil, err
		}
		return res.(*partyv1.FileRequestResponse).GetRequest(), nil //nolint:forcetypeassert // a test
	}
	first, err := ask(adas, ada, "Who owns the idol?")
	if err != nil {
		t.Fatal(err)
	}
	// What it says only GMs read, even where its own player looks.
	if diff := cmp.Diff(&partyv1.Request{Name: camp + "/requests/1", Open: true}, first, protocmp.Transform()); diff != "" {
		t.Errorf("filed (-want +got):\n%s", diff)
	}
	if _, err := ask(brams, bram, "Is the door trapped?"); err != nil {
		t.Fatal(err)
	}
	_, err = ask(cleos, cleo, "May I come along?")
	refusal{codes.FailedPrecondition, "NOT_IN_PARTY", "", nil}.check(t, err)
	_, err = ask(brams, ada, "Who am I?")
	refusal{codes.PermissionDenied, "NOT_YOUR_CHARACTER", "", nil}.check(t, err)
	for _, text := range []string{"", strings.Repeat("x", 2001)} {
		_, err = ask(adas, ada, text)
		refusal{codes.InvalidArgument, "INVALID", "text", nil}.check(t, err)
	}

	list := func(req *partyv1.ListRequestsRequest) *partyv1.ListRequestsResponse {
		req.Parent = camp
		return do[*partyv1.ListRequestsResponse](w, gm, req)
	}
	want := []*partyv1.Request{
		{Name: camp + "/requests/1", Character: ada, Text: "Who owns the idol?", Open: true},
		{Name: camp + "/requests/2", Character: bram, Text: "Is the door trapped?", Open: true},
	}
	if diff := cmp.Diff(want, list(&partyv1.ListRequestsRequest{}).GetRequests(), protocmp.Transform()); diff != "" {
		t.Errorf("listed (-want +got):\n%s", diff)
	}
	page := list(&partyv1.ListRequestsRequest{PageSize: 1})
	rest := list(&partyv1.ListRequestsRequest{PageSize: 1, PageToken: page.GetNextPageToken()})
	if diff := cmp.Diff(want, append(page.GetRequests(), rest.GetRequests()...), protocmp.Transform()); diff != "" || rest.GetNextPageToken() != "" {
		t.Errorf("paged (-want +got):\n%s", diff)
	}
	_, err = w.call(gm, &partyv1.ListRequestsRequest{Parent: camp, PageToken: "guess"})
	refusal{codes.InvalidArgument, "PAGE_TOKEN", "page_token", nil}.check(t, err)

	closed := do[*partyv1.CloseRequestResponse](w, gm, &partyv1.CloseRequestRequest{Name: camp + "/requests/01"}).GetRequest()
	want[0].Open = false
	if diff := cmp.Diff(want[0], closed, protocmp.Transform()); diff != "" {
		t.Errorf("closed (-want +got):\n%s", diff)
	}
	_, err = w.call(gm, &partyv1.CloseRequestRequest{Name: camp + "/requests/1"})
	refusal{codes.FailedPrecondition, "NO_SUCH_REQUEST", "", nil}.check(t, err)
	for _, n := range []string{"0", "3", "999999999"} {
		_, err = w.call(gm, &partyv1.CloseRequestRequest{Name: camp + "/requests/" + n})
		refusal{codes.NotFound, "NOT_FOUND", "name", nil}.check(t, err)
	}
	if diff := cmp.Diff(want[1:], list(&partyv1.ListRequestsRequest{}).GetRequests(), protocmp.Transform()); diff != "" {
		t.Errorf("open ones (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, list(&partyv1.ListRequestsRequest{ShowClosed: true}).GetRequests(), protocmp.Transform()); diff != "" {
		t.Errorf("all (-want +got):\n%s", diff)
	}
}

func TestWhatALineMeantIsKeptForItsCaller(t *testing.T) {
	t.Parallel()
	w := newWorld(t).begin()
	north := &partyv1.Intent{Type: "wayfarer.travel.v1.MoveRequest", Json: `{"to":{"q":0,"r":-1}}`}
	south := &partyv1.Intent{Type: north.GetType(), Json: `{"to":{"q":0,"r":1}}`}
	keep := func(who, id, line string, intent *partyv1.Intent) (*partyv1.Intent, error) {
		res, err := w.call(who, &partyv1.KeepIntentRequest{Parent: camp, Fingerprint: line, Intent: intent, RequestId: id})
		if err != nil {
			return nil, err
		}
		return res.(*partyv1.KeepIntentResponse).GetIntent(), nil //nolint:forcetypeassert // a test
	}
	for i, c := range []struct {
		why      string
		who, id  string
		say, got *partyv1.Intent
	}{
		{"nothing is kept at first", adas, "a", nil, nil},
		{"what is said first is kept", adas, "a", north, north},
		{"and stays", adas, "a", south, north},
		{"and can be read", adas, "a", nil, north},
		{"another id is another line", adas, "b", south, south},
		{"and so is another caller", brams, "a", south, south},
	} {
		got, err := keep(c.who, c.id, "line", c.say)
		if err != nil || !proto.Equal(got, c.got) {
			t.Errorf("%d, %s: %v, %v", i, c.why, got, err)
		}
	}
	for _, intent := range []*partyv1.Intent{nil, south} {
		_, err := keep(adas, "a", "another-line", intent)
		refusal{codes.InvalidArgument, "REQUEST_ID_REUSED", "request_id", nil}.check(t, err)
	}
	_, err := keep(stranger, "a", "line", nil)
	refusal{codes.NotFound, "NOT_FOUND", "", nil}.check(t, err)
	// Of many at once one is first, and all hear of that one.
	got := make(chan string, 8)
	for n := range cap(got) {
		go func() {
			kept, err := keep(adas, "race", "line", &partyv1.Intent{Type: fmt.Sprint(n)})
			got <- fmt.Sprint(kept.GetType(), err)
		}()
	}
	first := await.Value(t, got, "an answer")
	for range cap(got) - 1 {
		if next := await.Value(t, got, "an answer"); next != first {
			t.Errorf("one hears of %s, another of %s", first, next)
		}
	}
}
