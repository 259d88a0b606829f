package delve_test

import (
	"context"
	"fmt"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	dungeonv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dungeon/v1"
	typev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/type/v1"

	"github.com/wayfarer-rpg/wayfarer/services/adapter"
)

// commands is every command on a delve, fit to pass the checks of fields, with what it is: "play" for whoever acts for a
// member, "gm" for game masters alone.
func commands() map[proto.Message]string {
	return map[proto.Message]string{
		&dungeonv1.RecordMembersRequest{Members: band()}: "play", &dungeonv1.RecordProvisionsRequest{Note: "x"}: "play",
		&dungeonv1.RecordLightsRequest{}: "play", &dungeonv1.BeginDelveRequest{}: "play", &dungeonv1.MoveRequest{To: "hall"}: "play",
		&dungeonv1.InteractRequest{}: "play", &dungeonv1.HunkerDownRequest{}: "play", &dungeonv1.LeaveHunkerRequest{}: "play",
		&dungeonv1.WaitRequest{Minutes: 1}: "play", &dungeonv1.TakeRiskRequest{}: "play", &dungeonv1.ShortRestRequest{}: "play",
		&dungeonv1.LongRestRequest{}: "play", &dungeonv1.StartCombatRequest{}: "play", &dungeonv1.FightRoundsRequest{Rounds: 1}: "play",
		&dungeonv1.EndCombatRequest{}: "play", &dungeonv1.AddLightRequest{Id: "a", Source: "TORCH"}: "play",
		&dungeonv1.SwitchLightRequest{Id: "torch"}: "play", &dungeonv1.RefuelLightRequest{Id: "torch"}: "play",
		&dungeonv1.CastSpellRequest{Id: "a", Length: &dungeonv1.CastSpellRequest_Minutes{Minutes: 1}}: "play",
		&dungeonv1.EndSpellRequest{Id: "a"}: "play", &dungeonv1.AddRemarkRequest{Text: "x"}: "play",
		&dungeonv1.AddRealTimeRequest{Minutes: 1}: "gm", &dungeonv1.NarrateEventRequest{Spill: 1, Event: 1, Shows: "x"}: "gm",
		&dungeonv1.RaiseDangerRequest{Dice: 1, Reason: "x"}: "gm", &dungeonv1.AdjustDelveRequest{Reason: "x", Pool: proto.Int32(1)}: "gm",
		&dungeonv1.LeaveDelveRequest{Target: "TRAVEL"}: "play",
	}
}

// for a character, where the command names one.
func acting(req proto.Message, character string) proto.Message {
	req = proto.Clone(req)
	if fd := req.ProtoReflect().Descriptor().Fields().ByName("character"); fd != nil {
		req.ProtoReflect().Set(fd, protoreflect.ValueOfString(character))
	}
	return req
}

func TestWhoMayGiveWhichCommand(t *testing.T) {
	t.Parallel()
	n := start(t)
	n.begun()
	all := dungeonv1.DelveService_ServiceDesc.Methods
	given := commands()
	if len(given) != len(all)-4 { // CreateDelve, GetDelve, ListDelves and ListActivity are no commands on a delve
		t.Fatalf("%d commands of %d calls", len(given), len(all))
	}
	denied := func(err error) string {
		switch status.Code(err) {
		case codes.PermissionDenied, codes.NotFound, codes.Unauthenticated:
			return "denied"
		case codes.Internal, codes.Unknown, codes.Unavailable:
			return fmt.Sprint("broken: ", err)
		}
		return "may"
	}
	for req, kind := range given {
		_, leaves := req.(*dungeonv1.LeaveDelveRequest)
		play := "denied"
		if kind == "play" {
			play = "may"
		}
		for who, want := range map[string][2]string{ // for Ada, and without a character
			adas: {play, "denied"}, bot: {play, "denied"}, service + " for " + adas: {play, "denied"}, brams: {"denied", "denied"},
			spectator: {"denied", "denied"}, stranger: {"denied", "denied"},
			gm: {"may", "may"}, owner: {"may", "may"}, service: {"may", "may"},
		} {
			for i, character := range []string{ada, ""} {
				if leaves && want[i] == "may" {
					continue // or the others would come too late
				}
				_, err := n.call(who, acting(req, character))
				if got := denied(err); got != want[i] {
					t.Errorf("%s, as %q: %T is %s, want %s: %v", who, character, req, got, want[i], err)
				}
			}
		}
	}
	if n.get(gm, tomb).GetInCombat() { // the commands come in any order
		n.do(gm, &dungeonv1.EndCombatRequest{})
	}
	if d := n.do(adas, &dungeonv1.LeaveDelveRequest{Character: ada, Target: "TRAVEL"}).GetDelve(); d.GetLeftFor() != "TRAVEL" {
		t.Error("a player may not leave")
	}
}

func TestWhoMayReadDelves(t *testing.T) {
	t.Parallel()
	n := start(t)
	n.begun()
	for who, ok := range map[string]bool{owner: true, gm: true, adas: true, brams: true, spectator: true, bot: true, service: true, stranger: false} {
		for _, req := range []proto.Message{
			&dungeonv1.GetDelveRequest{Name: tomb}, &dungeonv1.ListDelvesRequest{Parent: camp}, &dungeonv1.ListActivityRequest{Parent: tomb},
		} {
			if _, err := n.call(who, req); (err == nil) != ok {
				t.Errorf("%s: %T: %v", who, req, err)
			}
		}
		stream, err := dungeonv1.NewDelveServiceClient(n.conn).WatchDelve(as(t.Context(), who), &dungeonv1.WatchDelveRequest{Name: tomb})
		if err == nil {
			_, err = stream.Recv()
		}
		if (err == nil) != ok {
			t.Errorf("%s watches: %v", who, err)
		}
	}
	if _, err := dungeonv1.NewDelveServiceClient(n.conn).GetDelve(context.Background(), &dungeonv1.GetDelveRequest{Name: tomb}); status.Code(err) != codes.Unauthenticated {
		t.Errorf("without a token: %v", err)
	}
}

func TestWhoMayOpenADelve(t *testing.T) {
	t.Parallel()
	n := start(t)
	open := func(change func(*dungeonv1.CreateDelveRequest)) *dungeonv1.CreateDelveRequest {
		req := &dungeonv1.CreateDelveRequest{
			Parent: camp, InvokedBy: dungeonv1.InvokedBy_INVOKED_BY_DM_JUDGMENT, Map: &dungeonv1.DelveMap{Title: "A cave"}, Entry: "mouth", Character: ada,
		}
		if change != nil {
			change(req)
		}
		return req
	}
	for _, who := range []string{gm, owner, adas, bot, service, service + " for " + adas} {
		if _, err := n.call(who, open(nil)); err != nil {
			t.Errorf("%s: %v", who, err)
		}
	}
	denied := func(reason, field string) refusal { return refusal{codes.PermissionDenied, reason, field} }
	n.refused(t, brams, open(nil), denied("NOT_YOUR_CHARACTER", ""))
	n.refused(t, spectator, open(nil), denied("SPECTATOR", ""))
	n.refused(t, stranger, open(nil), refusal{codes.NotFound, "NOT_FOUND", ""})
	n.refused(t, adas, open(func(r *dungeonv1.CreateDelveRequest) { r.Character = "" }), denied("NOT_GM", "character"))
	n.refused(t, adas, open(func(r *dungeonv1.CreateDelveRequest) { r.Map, r.Entry = dungeonMap(), "gate" }), denied("NOT_GM", "map.areas"))
	n.refused(t, adas, open(func(r *dungeonv1.CreateDelveRequest) { r.Expedition = quest }), denied("NOT_A_SERVICE", "expedition"))

	// Who opened it may record the members; from then on the members' players may act, and the opener still.
	name := must[*dungeonv1.CreateDelveResponse](n, adas, open(func(r *dungeonv1.CreateDelveRequest) { r.DelveId = "cave" })).GetDelve().GetName()
	n.refused(t, brams, &dungeonv1.RecordMembersRequest{Name: name, Character: bram, Members: band()}, refusal{codes.FailedPrecondition, "NOT_A_MEMBER", "character"})
	n.do(adas, &dungeonv1.RecordMembersRequest{Name: name, Character: ada, Members: band()[2:]})
	n.do(brams, &dungeonv1.RecordProvisionsRequest{Name: name, Character: bram, Note: "x"})
	n.do(adas, &dungeonv1.RecordProvisionsRequest{Name: name, Character: ada, Note: "y"})
}

// Fields that only game masters may set are refused for everybody else, with the field.
func TestFieldsForGameMasters(t *testing.T) {
	t.Parallel()
	n := start(t)
	d := n.begun()
	calls := []*dungeonv1.SpillCall{{Shows: "x"}}
	for field, req := range map[string]proto.Message{
		"calls":         &dungeonv1.MoveRequest{Character: ada, To: "hall", Calls: calls},
		"reported_dice": &dungeonv1.ShortRestRequest{Character: ada, ReportedDice: []int32{2, 2, 2, 2, 2, 2}, Etag: d.GetEtag()},
		"secret":        &dungeonv1.AddRemarkRequest{Character: ada, Text: "x", Secret: true},
	} {
		n.refused(t, adas, req, refusal{codes.PermissionDenied, "NOT_GM", field})
	}
	n.opened2()
	n.refused(t, adas, &dungeonv1.RecordLightsRequest{
		Name: camp + "/delves/second", Character: ada, Lights: []*dungeonv1.CarriedLight{{Id: "a", Source: "TORCH", Remaining: proto.Int32(900)}},
	}, refusal{codes.PermissionDenied, "NOT_GM", "lights[0].remaining"})
}

// opened2 opens a second delve, up to its lights.
func (n *node) opened2() {
	n.Helper()
	name := camp + "/delves/second"
	must[*dungeonv1.CreateDelveResponse](n, gm, &dungeonv1.CreateDelveRequest{
		Parent: camp, DelveId: "second", InvokedBy: dungeonv1.InvokedBy_INVOKED_BY_DM_JUDGMENT, Map: &dungeonv1.DelveMap{Title: "A cave"}, Entry: "mouth",
	})
	n.do(gm, &dungeonv1.RecordMembersRequest{Name: name, Members: band()})
	n.do(gm, &dungeonv1.RecordProvisionsRequest{Name: name, Note: "x"})
}

// Who loses a role mid-way still gets the first answer to what they were allowed to do, as they may see it now.
func TestALostRole(t *testing.T) {
	t.Parallel()
	n := start(t)
	n.begun()
	roles := roleOf{n.cfg.Members, map[string]typev1.Role{}}
	n.cfg.Members = roles
	n.serve()
	remark := &dungeonv1.AddRemarkRequest{Text: "the lich", Secret: true, RequestId: "r"}
	n.do(gm, remark)
	roles.as[gm] = typev1.Role_ROLE_SPECTATOR
	again := n.do(gm, remark)
	if text := again.GetEvents()[0].GetRemarked(); text.GetGmText() != "" || again.GetDelve().GetMap() != nil {
		t.Errorf("a spectator reads %v", again)
	}
	n.refused(t, gm, &dungeonv1.AddRemarkRequest{Text: "x"}, refusal{codes.PermissionDenied, "SPECTATOR", ""})
}

// roleOf are memberships of which some are others by now.
type roleOf struct {
	adapter.Members
	as map[string]typev1.Role
}

func (r roleOf) Membership(ctx context.Context, campaign, subject string) (adapter.Membership, error) {
	m, err := r.Members.Membership(ctx, campaign, subject)
	if role, ok := r.as[subject]; ok {
		m.Role = role
	}
	return m, err
}
