package adapter_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"testing"
	"time"

	"google.golang.org/grpc"

	dicev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dice/v1"
	dungeonv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dungeon/v1"
	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"
	typev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/type/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/auth"
	"github.com/wayfarer-rpg/wayfarer/internal/fault"
	"github.com/wayfarer-rpg/wayfarer/internal/journal"
	"github.com/wayfarer-rpg/wayfarer/rules/play"
	"github.com/wayfarer-rpg/wayfarer/services/adapter"
)

// refusal is what a call should fail with.
type refusal struct {
	kind   fault.Kind
	reason string
	field  string
}

func (r refusal) check(t *testing.T, err error) {
	t.Helper()
	var f *fault.Error
	if !errors.As(err, &f) {
		t.Fatalf("no fault: %v", err)
	}
	got := refusal{kind: f.Kind, reason: f.Reason}
	if len(f.Fields) > 0 {
		got.field = f.Fields[0].Field
	}
	if got != r || len(f.Fields) > 1 {
		t.Errorf("got %+v, want %+v: %v", got, r, err)
	}
}

func TestRights(t *testing.T) {
	t.Parallel()
	const own, listed, others = "campaigns/c/characters/own", "campaigns/c/characters/listed", "campaigns/c/characters/others"
	type rights struct{ gm, plays, own, listed, others bool }
	all := rights{true, true, true, true, true}
	for name, tc := range map[string]struct {
		caller adapter.Caller
		want   rights
	}{
		"an owner":                         {withRole(typev1.Role_ROLE_OWNER), all},
		"a game master":                    {withRole(typev1.Role_ROLE_GM), all},
		"a service that acts for itself":   {adapter.Caller{Subject: "travel", Service: true, Itself: true}, all},
		"a player":                         {withRole(typev1.Role_ROLE_PLAYER), rights{plays: true, own: true}},
		"a spectator, though it owned one": {withRole(typev1.Role_ROLE_SPECTATOR), rights{}},
		"a bot, which owns nothing":        {withRole(typev1.Role_ROLE_BOT), rights{plays: true, listed: true}},
		"a service that acts for a player": {adapter.Caller{Subject: "eve", Service: true, Membership: adapter.Membership{Role: typev1.Role_ROLE_PLAYER}}, rights{plays: true, own: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := tc.caller
			c.Characters = []string{listed}
			got := rights{c.GM(), c.RequirePlay() == nil, c.MayActFor("eve", own), c.MayActFor("ada", listed), c.MayActFor("ada", others)}
			if got != tc.want {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
			if (c.RequireGM() == nil) != got.gm || (c.RequireActFor("eve", own) == nil) != got.own {
				t.Error("what is required is not what is told")
			}
		})
	}
	refusal{fault.PermissionDenied, "NOT_GM", ""}.check(t, player.RequireGM())
	refusal{fault.PermissionDenied, "SPECTATOR", ""}.check(t, withRole(typev1.Role_ROLE_SPECTATOR).RequirePlay())
	refusal{fault.PermissionDenied, "NOT_YOUR_CHARACTER", ""}.check(t, player.RequireActFor("bram", others))
}

// roles are memberships by campaign and subject.
type roles map[[2]string]typev1.Role

func (r roles) Membership(_ context.Context, campaign, subject string) (adapter.Membership, error) {
	role, ok := r[[2]string{campaign, subject}]
	if !ok {
		return adapter.Membership{}, fault.New(fault.NotFound, "NOT_FOUND", "%s does not exist", campaign)
	}
	return adapter.Membership{Role: role, Chapter: 3, CampaignSeq: 7}, nil
}

func TestCaller(t *testing.T) {
	t.Parallel()
	access := adapter.NewAccess(roles{{"campaigns/c", "ada"}: typev1.Role_ROLE_PLAYER})
	ada := adapter.Membership{Role: typev1.Role_ROLE_PLAYER, Chapter: 3, CampaignSeq: 7}
	for name, tc := range map[string]struct {
		principal auth.Principal
		resource  string
		want      adapter.Caller
	}{
		"a user":                    {auth.Principal{Subject: "ada"}, "campaigns/c/runs/r", adapter.Caller{Campaign: "campaigns/c", Subject: "ada", Membership: ada}},
		"about the campaign itself": {auth.Principal{Subject: "ada"}, "campaigns/c", adapter.Caller{Campaign: "campaigns/c", Subject: "ada", Membership: ada}},
		"a service for a user":      {auth.Principal{Subject: "travel", Service: true, Actor: "ada"}, "campaigns/c", adapter.Caller{Campaign: "campaigns/c", Subject: "ada", Service: true, Membership: ada}},
		"a service for itself":      {auth.Principal{Subject: "travel", Service: true}, "campaigns/x", adapter.Caller{Campaign: "campaigns/x", Subject: "travel", Service: true, Itself: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := access.Caller(auth.NewContext(t.Context(), tc.principal), tc.resource)
			if err != nil || !reflect.DeepEqual(got, tc.want) {
				t.Errorf("got %+v %v, want %+v", got, err, tc.want)
			}
		})
	}
	ctx := auth.NewContext(t.Context(), auth.Principal{Subject: "ada"})
	_, err := access.Caller(t.Context(), "campaigns/c")
	refusal{fault.Unauthenticated, "TOKEN_MISSING", ""}.check(t, err)
	_, err = access.Caller(ctx, "campaigns/d/runs/r")
	refusal{fault.NotFound, "NOT_FOUND", ""}.check(t, err)
	_, err = access.Caller(auth.NewContext(t.Context(), auth.Principal{Subject: "travel", Service: true, Actor: "bram"}), "campaigns/c")
	refusal{fault.NotFound, "NOT_FOUND", ""}.check(t, err)
	for _, bad := range []string{"", "campaigns", "campaigns/", "runs/c", "campaigns//runs/r"} {
		_, err := access.Caller(ctx, bad)
		refusal{fault.InvalidArgument, "INVALID", "name"}.check(t, err)
	}

	refusal{fault.PermissionDenied, "NOT_A_SERVICE", ""}.check(t, adapter.RequireService(ctx))
	refusal{fault.PermissionDenied, "NOT_A_SERVICE", ""}.check(t, adapter.RequireService(t.Context()))
	if err := adapter.RequireService(auth.NewContext(t.Context(), auth.Principal{Service: true, Actor: "ada"})); err != nil {
		t.Error(err)
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	if got := adapter.IDOf("campaigns/c/runs/r-1"); got != "r-1" {
		t.Error(got)
	}
	for name, ok := range map[string]bool{
		"": true, "campaigns/c/runs/r": true, "campaigns/c2/runs/r": false, "campaigns/c": false, "runs/r": false,
	} {
		err := adapter.SameCampaign("campaigns/c", "run", name)
		if (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
		if !ok {
			refusal{fault.NotFound, "NOT_FOUND", "run"}.check(t, err)
		}
	}
}

// partyService answers for the party service and counts.
type partyService struct {
	partyv1.MembershipServiceClient
	asked int
	role  typev1.Role
	actor string
}

func (p *partyService) GetMembership(ctx context.Context, req *partyv1.GetMembershipRequest, _ ...grpc.CallOption) (*partyv1.GetMembershipResponse, error) {
	p.asked++
	p.actor = auth.Effective(ctx)
	if p.role == typev1.Role_ROLE_UNSPECIFIED {
		st, _ := fault.ToStatus(fault.New(fault.NotFound, "NOT_FOUND", "%s does not exist", req.GetCampaign()))
		return nil, st.Err()
	}
	return &partyv1.GetMembershipResponse{Role: p.role, Chapter: 2, CampaignSeq: 9, Characters: []string{req.GetSubject()}}, nil
}

func TestMembershipsAreRememberedForAWhile(t *testing.T) {
	t.Parallel()
	now := time.Date(2031, 3, 1, 12, 0, 0, 0, time.UTC)
	svc := &partyService{}
	m := adapter.NewRemoteMembers(svc, 3*time.Second, func() time.Time { return now })
	ctx := auth.NewContext(t.Context(), auth.Principal{Subject: "ada"})
	look := func(subject string, asked int) (adapter.Membership, error) {
		t.Helper()
		got, err := m.Membership(ctx, "campaigns/c", subject)
		if svc.asked != asked {
			t.Errorf("asked %d times, want %d", svc.asked, asked)
		}
		return got, err
	}
	for i := range 2 { // who is no member may be one a moment later
		_, err := look("ada", i+1)
		refusal{fault.NotFound, "NOT_FOUND", ""}.check(t, err)
	}
	svc.role = typev1.Role_ROLE_PLAYER
	want := adapter.Membership{Role: typev1.Role_ROLE_PLAYER, Chapter: 2, CampaignSeq: 9, Characters: []string{"ada"}}
	for range 3 {
		if got, err := look("ada", 3); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v %v, want %+v", got, err, want)
		}
	}
	if svc.actor != "" {
		t.Errorf("asked for %q, not for the service itself", svc.actor)
	}
	if got, err := look("bram", 4); err != nil || got.Characters[0] != "bram" {
		t.Errorf("another's: %+v %v", got, err)
	}
	svc.role = typev1.Role_ROLE_SPECTATOR
	now = now.Add(3 * time.Second)
	if got, err := look("ada", 5); err != nil || got.Role != typev1.Role_ROLE_SPECTATOR {
		t.Errorf("after a while: %+v %v", got, err)
	}
}

// transport is a server's view of a call.
type transport struct {
	grpc.ServerTransportStream
	method string
}

func (t transport) Method() string { return t.method }

func called(t *testing.T, method string) context.Context {
	t.Helper()
	return grpc.NewContextWithServerTransportStream(t.Context(), transport{method: method})
}

func TestCommandOf(t *testing.T) {
	t.Parallel()
	complete := func(change func(*dungeonv1.CompleteRequest)) *dungeonv1.CompleteRequest {
		r := &dungeonv1.CompleteRequest{Name: "campaigns/c/runs/r", Character: "campaigns/c/characters/a", RequestId: "q"}
		if change != nil {
			change(r)
		}
		return r
	}
	const method, stream = "/wayfarer.dungeon.v1.RunService/Complete", "campaigns/c/runs/r"
	cmd, err := adapter.CommandOf(called(t, method), complete(func(r *dungeonv1.CompleteRequest) {
		r.OverrideReason, r.ReportedDice, r.Etag = "the player left", []int32{6, 0, -1}, "e"
	}), master, stream)
	if err != nil {
		t.Fatal(err)
	}
	if len(cmd.RequestHash) != 64 {
		t.Errorf("hash %q", cmd.RequestHash)
	}
	cmd.RequestHash = ""
	want := adapter.Command{Caller: master, Stream: stream, RequestID: "q", Etag: "e", OverrideReason: "the player left", Reported: []int{6, 0, -1}}
	if !reflect.DeepEqual(cmd, want) {
		t.Errorf("got %+v, want %+v", cmd, want)
	}

	hash := func(method string, c adapter.Caller, r *dungeonv1.CompleteRequest) string {
		cmd, err := adapter.CommandOf(called(t, method), r, c, stream)
		if err != nil {
			t.Fatal(err)
		}
		return cmd.RequestHash
	}
	base := hash(method, player, complete(nil))
	for name, tc := range map[string]struct {
		hash string
		same bool
	}{
		"again":          {hash(method, player, complete(nil)), true},
		"another id":     {hash(method, player, complete(func(r *dungeonv1.CompleteRequest) { r.RequestId = "q2" })), true},
		"another role":   {hash(method, adapter.Caller{Subject: player.Subject}, complete(nil)), true},
		"another method": {hash("/wayfarer.dungeon.v1.RunService/Act", player, complete(nil)), false},
		"another person": {hash(method, master, complete(nil)), false},
		"another field":  {hash(method, player, complete(func(r *dungeonv1.CompleteRequest) { r.Etag = "e" })), false},
	} {
		if (tc.hash == base) != tc.same {
			t.Errorf("%s: the same hash: %t", name, tc.hash == base)
		}
	}

	for name, tc := range map[string]struct {
		caller          adapter.Caller
		change          func(*dungeonv1.CompleteRequest)
		refused, failed *refusal
	}{
		"a player's override": {player, func(r *dungeonv1.CompleteRequest) { r.OverrideReason = "x" }, &refusal{fault.PermissionDenied, "NOT_GM", "override_reason"}, nil},
		"a player's dice":     {player, func(r *dungeonv1.CompleteRequest) { r.ReportedDice = []int32{1} }, &refusal{fault.PermissionDenied, "NOT_GM", "reported_dice"}, nil},
		"a bot's dice":        {withRole(typev1.Role_ROLE_BOT), func(r *dungeonv1.CompleteRequest) { r.ReportedDice = []int32{1} }, &refusal{fault.PermissionDenied, "NOT_GM", "reported_dice"}, nil},
		"dice without a state": {master, func(r *dungeonv1.CompleteRequest) { r.ReportedDice = []int32{1} },
			nil, &refusal{fault.InvalidArgument, "ETAG_REQUIRED", "etag"}},
		"a player who plays": {player, nil, nil, nil},
		"a GM's override":    {master, func(r *dungeonv1.CompleteRequest) { r.OverrideReason = "x" }, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd, err := adapter.CommandOf(called(t, method), complete(tc.change), tc.caller, stream)
			switch {
			case tc.failed != nil:
				tc.failed.check(t, err)
			case err != nil:
				t.Fatal(err)
			case tc.refused != nil:
				tc.refused.check(t, cmd.Refusal)
			case cmd.Refusal != nil:
				t.Error(cmd.Refusal)
			}
		})
	}
	// A roll depends on no state, so its dice need no etag; a request without any such field is read all the same.
	if cmd, err := adapter.CommandOf(called(t, "/r"), &dicev1.RollRequest{RequestId: "q", ReportedDice: []int32{2}}, master, "s"); err != nil || !reflect.DeepEqual(cmd.Reported, []int{2}) {
		t.Errorf("got %+v %v", cmd, err)
	}
	if cmd, err := adapter.CommandOf(called(t, "/r"), &dicev1.GetStreamRequest{}, player, "s"); err != nil || cmd.RequestID != "" || cmd.Reported != nil {
		t.Errorf("got %+v %v", cmd, err)
	}
	if _, err := adapter.CommandOf(called(t, "/r"), &dicev1.RollRequest{RequestId: "q", Purpose: "\xff"}, master, "s"); err == nil {
		t.Error("text that is no UTF-8 has a hash")
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	cause := errors.New("disk")
	for name, tc := range map[string]struct {
		err  error
		want refusal
	}{
		"a refusal of the rules":             {play.Refuse("BELT_FULL", "full"), refusal{fault.FailedPrecondition, "BELT_FULL", ""}},
		"a refusal about a field":            {play.Refuse("NOT_A_HEX", "far").At("to"), refusal{fault.InvalidArgument, "NOT_A_HEX", "to"}},
		"bad dice":                           {play.Refuse(play.BadDice, "few"), refusal{fault.InvalidArgument, play.BadDice, "reported_dice"}},
		"a wrapped refusal":                  {fmt.Errorf("decide: %w", play.Refuse("BELT_FULL", "full")), refusal{fault.FailedPrecondition, "BELT_FULL", ""}},
		"a stream that does not exist":       {&journal.Error{Kind: journal.NotFound, Reason: "NOT_FOUND"}, refusal{fault.NotFound, "NOT_FOUND", ""}},
		"one that exists":                    {&journal.Error{Kind: journal.AlreadyExists, Reason: "ALREADY_EXISTS"}, refusal{fault.AlreadyExists, "ALREADY_EXISTS", ""}},
		"an old etag":                        {&journal.Error{Kind: journal.Aborted, Reason: "ETAG_MISMATCH", Field: "etag"}, refusal{fault.Aborted, "ETAG_MISMATCH", "etag"}},
		"a used id":                          {&journal.Error{Kind: journal.InvalidArgument, Reason: "REQUEST_ID_REUSED", Field: "request_id"}, refusal{fault.InvalidArgument, "REQUEST_ID_REUSED", "request_id"}},
		"a record that cannot be read":       {&journal.Error{Kind: journal.Internal, Reason: "JOURNAL_UNREADABLE", Cause: cause}, refusal{fault.Internal, "JOURNAL_UNREADABLE", ""}},
		"a fault of another service, as is":  {fault.New(fault.Unavailable, "STOPPING", "later"), refusal{fault.Unavailable, "STOPPING", ""}},
		"a fault of another service, inside": {fmt.Errorf("draw: %w", fault.New(fault.Unavailable, "STOPPING", "later")), refusal{fault.Unavailable, "STOPPING", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.want.check(t, adapter.Fault(tc.err))
		})
	}
	if adapter.Fault(nil) != nil {
		t.Error("nothing became an error")
	}
	if err := adapter.Fault(io.ErrUnexpectedEOF); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("an error of the store became %v", err)
	}
	var f *fault.Error
	if err := adapter.Fault(&journal.Error{Kind: journal.Aborted, Reason: "STREAM_BUSY", RetryAfter: time.Second}); !errors.As(err, &f) || f.RetryAfter != time.Second {
		t.Errorf("the waiting time is lost: %v", err)
	}
	if err := adapter.Fault(&journal.Error{Kind: journal.Internal, Reason: "JOURNAL_UNREADABLE", Cause: cause}); !errors.Is(err, cause) || fault.KindOf(err) != fault.Internal {
		t.Errorf("the cause is lost: %v", err)
	}
}
