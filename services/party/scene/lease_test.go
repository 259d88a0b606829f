package scene_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	dicev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dice/v1"
	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/auth"
	"github.com/wayfarer-rpg/wayfarer/internal/fault"
	"github.com/wayfarer-rpg/wayfarer/internal/journal"
	"github.com/wayfarer-rpg/wayfarer/internal/journal/memory"
	"github.com/wayfarer-rpg/wayfarer/services/party"

	"google.golang.org/grpc"
)

func holders(c *partyv1.Character) []string {
	out := []string{}
	for _, l := range c.GetLeases() {
		out = append(out, l.GetFacet().String()+" "+l.GetHolder())
	}
	return out
}

// A sheet is the scene's as long as it lasts, and comes back as play has left it.
func TestSheetsAreBorrowed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := w.node()
	n.start(ada)
	eq(t, "lent", holders(w.party.character(ada)), []string{"FACET_SHEET " + ball})
	w.party.refused(gm, &partyv1.SetDangerSheetRequest{Name: ada, DangerSheet: stats()}, codes.FailedPrecondition, "LEASED", "")

	do[*partyv1.AddCharacterResponse](n.client, gm, &partyv1.AddCharacterRequest{Name: ball, Character: bram})
	do[*partyv1.RaiseDangerResponse](n.client, gm, &partyv1.RaiseDangerRequest{Name: ball, Character: ada, Steps: 7})
	do[*partyv1.RaiseDangerResponse](n.client, gm, &partyv1.RaiseDangerRequest{Name: ball, Character: bram, Steps: 3})
	do[*partyv1.RemoveCharacterResponse](n.client, gm, &partyv1.RemoveCharacterRequest{Name: ball, Character: bram})
	eq(t, "Bram's, who left", holders(w.party.character(bram)), []string{})
	eq(t, "Bram's points", w.party.character(bram).GetDangerSheet().GetDangerPoints(), int32(3))
	n.refused(gm, &partyv1.AddCharacterRequest{Name: ball, Character: bram}, codes.FailedPrecondition, "LEASE_CLOSED", "")

	do[*partyv1.EndSceneResponse](n.client, gm, &partyv1.EndSceneRequest{Name: ball})
	after := w.party.character(ada)
	eq(t, "Ada's", holders(after), []string{})
	eq(t, "Ada's sheet", after.GetDangerSheet(), &partyv1.DangerSheet{
		Stats: map[string]int32{"Agility": 4, "Cool": 2}, Fp: proto.Int32(0), DangerPoints: 7, Bashed: 1,
	})
	// The next scene goes on from there.
	fairs := do[*partyv1.CreateSceneResponse](n.client, gm, &partyv1.CreateSceneRequest{Parent: camp, SceneId: "fair", Characters: []string{ada, bram}}).GetScene()
	eq(t, "points", fairs.GetPlayers()[0].GetSheet().GetDangerPoints(), int32(7))
	eq(t, "harm", fairs.GetPlayers()[0].GetHarm(), "BASHED")
	eq(t, "owner", fairs.GetPlayers()[1].GetOwner(), brams)
}

func TestSheetsAtRest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.party
	full := stats("Cool", 3)
	full.DangerPoints, full.BonusDice, full.Fp, full.StatReductions = 41, []int32{2, 1}, proto.Int32(4), map[string]int32{"Cool": 1}
	got := do[*partyv1.SetDangerSheetResponse](c, gm, &partyv1.SetDangerSheetRequest{Name: ada, DangerSheet: full}).GetCharacter().GetDangerSheet()
	eq(t, "set by the GM", got, full)
	// A player sets stats until the character is approved, and nothing else at any time.
	kept := proto.Clone(full).(*partyv1.DangerSheet) //nolint:forcetypeassert // it is one
	kept.Stats = map[string]int32{"Cool": 5}
	eq(t, "stats by the player", do[*partyv1.SetDangerSheetResponse](c, adas, &partyv1.SetDangerSheetRequest{Name: ada, DangerSheet: stats("Cool", 5)}).GetCharacter().GetDangerSheet(), kept)
	c.refused(adas, &partyv1.SetDangerSheetRequest{Name: ada, DangerSheet: &partyv1.DangerSheet{Fp: proto.Int32(9)}}, codes.PermissionDenied, "NOT_GM", "danger_sheet.fp")
	c.refused(adas, &partyv1.SetDangerSheetRequest{Name: ada, DangerSheet: &partyv1.DangerSheet{BonusDice: []int32{9}}}, codes.PermissionDenied, "NOT_GM", "danger_sheet.bonus_dice")
	c.refused(adas, &partyv1.SetDangerSheetRequest{Name: ada, DangerSheet: stats("Luck", 1)}, codes.InvalidArgument, "UNKNOWN_STAT", "danger_sheet.stats")
	c.refused(gm, &partyv1.SetDangerSheetRequest{Name: ada, DangerSheet: &partyv1.DangerSheet{DangerPoints: 56}}, codes.InvalidArgument, "INVALID", "danger_sheet.danger_points")
	do[*partyv1.ApproveCharacterResponse](c, gm, &partyv1.ApproveCharacterRequest{Name: ada})
	c.refused(adas, &partyv1.SetDangerSheetRequest{Name: ada, DangerSheet: stats("Cool", 5)}, codes.PermissionDenied, "NOT_GM", "danger_sheet")
}

// lost is an error after which nobody knows whether a call was carried out.
var lost = fault.New(fault.Unavailable, "LOST", "the line is dead")

// sweep carries on what is owed, once, on a fresh replica.
func (w *world) sweep() *node {
	w.t.Helper()
	n := w.node()
	ctx, cancel := context.WithCancel(auth.NewContext(context.Background(), auth.Principal{Subject: "party", Service: true}))
	tick := make(chan time.Time)
	done := make(chan struct{})
	go func() { defer close(done); n.srv.Sweep(ctx, tick) }()
	tick <- time.Time{} // taken after the first sweep
	cancel()
	<-done
	return n
}

// Each call that a saga makes is lost, before or after it is carried out; a replica goes on and comes to the same.
func TestSagasGoOnAfterACrash(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		calls []string // of the saga, in order
		stage func(n *node)
		req   proto.Message
		// phase, holders of Ada's and Bram's sheets and Bram's points in the end.
		phase     partyv1.Scene_Phase
		ada, bram int
		points    int32
	}{
		{
			"a start", []string{"CreateStream", "TakeLease", "TakeLease"}, func(*node) {},
			&partyv1.CreateSceneRequest{Parent: camp, SceneId: "ball", Characters: []string{ada, bram}, RequestId: "x"},
			partyv1.Scene_PHASE_PLAYING, 1, 1, 0,
		},
		{
			"a start that is undone", []string{"CreateStream", "TakeLease", "TakeLease", "ReturnLease", "ReturnLease", "RevealStream"}, func(n *node) {
				do[*partyv1.CreateSceneResponse](n.client, gm, &partyv1.CreateSceneRequest{Parent: camp, SceneId: "fair", Characters: []string{bram}})
			},
			&partyv1.CreateSceneRequest{Parent: camp, SceneId: "ball", Characters: []string{ada, bram}, RequestId: "x"},
			partyv1.Scene_PHASE_UNDONE, 0, 1, 0,
		},
		{
			"a coming", []string{"TakeLease"}, func(n *node) { n.start(ada) },
			&partyv1.AddCharacterRequest{Name: ball, Character: bram, RequestId: "x"},
			partyv1.Scene_PHASE_PLAYING, 1, 1, 0,
		},
		{
			"a going", []string{"ReturnLease"}, func(n *node) {
				n.start(ada, bram)
				do[*partyv1.RaiseDangerResponse](n.client, gm, &partyv1.RaiseDangerRequest{Name: ball, Character: bram, Steps: 4})
			},
			&partyv1.RemoveCharacterRequest{Name: ball, Character: bram, RequestId: "x"},
			partyv1.Scene_PHASE_PLAYING, 1, 0, 4,
		},
		{
			"an end", []string{"ReturnLease", "ReturnLease", "RevealStream"}, func(n *node) {
				n.start(ada, bram)
				do[*partyv1.RaiseDangerResponse](n.client, gm, &partyv1.RaiseDangerRequest{Name: ball, Character: bram, Steps: 4})
			},
			&partyv1.EndSceneRequest{Name: ball, RequestId: "x"},
			partyv1.Scene_PHASE_ENDED, 0, 0, 4,
		},
	} {
		for i, method := range tt.calls {
			for _, when := range []string{"before", "after"} {
				if when == "after" && tt.phase == partyv1.Scene_PHASE_UNDONE && i == 2 {
					continue // that one is refused
				}
				t.Run(fmt.Sprintf("%s, %s call %d, %s", tt.name, when, i+1, method), func(t *testing.T) {
					t.Parallel()
					w := newWorld(t)
					w.lean = true
					n := w.node()
					tt.stage(n)
					left := 1
					for _, m := range tt.calls[:i] {
						if m == method {
							left++
						}
					}
					lose := func(m string) error {
						if m == method {
							if left--; left == 0 {
								return lost.Wrap(nil)
							}
						}
						return nil
					}
					if when == "before" {
						w.before = lose
					} else {
						w.after = lose
					}
					_, _ = n.call(gm, tt.req)
					if left > 0 {
						t.Fatalf("%s was not called", method)
					}
					w.before, w.after = nil, nil
					fresh := w.sweep()
					s := fresh.scene(ball)
					eq(t, "phase", s.GetPhase(), tt.phase)
					eq(t, "settled", s.GetSettled(), tt.phase != partyv1.Scene_PHASE_PLAYING)
					eq(t, "leases", []int{len(holders(w.party.character(ada))), len(holders(w.party.character(bram)))}, []int{tt.ada, tt.bram})
					eq(t, "points", w.party.character(bram).GetDangerSheet().GetDangerPoints(), tt.points)
					// Who repeats the request learns what came of it.
					if tt.phase == partyv1.Scene_PHASE_UNDONE {
						fresh.refused(gm, tt.req, codes.FailedPrecondition, "LEASED", "")
						return
					}
					do[proto.Message](fresh.client, gm, tt.req)
				})
			}
		}
	}
}

// A scene that ends while somebody is still coming gives their sheet back, too.
func TestAnEndWhileSomebodyComes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := w.node()
	n.start(ada)
	w.after = func(method string) error {
		if method == "TakeLease" {
			return lost.Wrap(nil)
		}
		return nil
	}
	add := &partyv1.AddCharacterRequest{Name: ball, Character: bram, RequestId: "x"}
	n.refused(gm, add, codes.Unavailable, "STILL_JOINING", "")
	eq(t, "lent", holders(w.party.character(bram)), []string{"FACET_SHEET " + ball})
	n.refused(gm, &partyv1.AddCharacterRequest{Name: ball, Character: bram}, codes.FailedPrecondition, "ALREADY_PRESENT", "character")
	do[*partyv1.EndSceneResponse](n.client, gm, &partyv1.EndSceneRequest{Name: ball})
	eq(t, "given back", append(holders(w.party.character(bram)), holders(w.party.character(ada))...), []string{})
	n.refused(gm, add, codes.FailedPrecondition, "SCENE_OVER", "")
}

// Within the party service scenes borrow without a wire; a sweeper finishes what a call began.
func TestScenesOfThePartyService(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dice := &flaky{DiceServiceClient: dicev1.NewDiceServiceClient(dial(t, w.addr, grpc.WithChainUnaryInterceptor(auth.UnaryClient(), w.called)))}
	store := memory.New()
	serve := func() (*party.Server, *client) {
		srv, err := party.New(party.Config{Store: store, Dice: dice, Clock: clock(), Journal: []journal.Option{journal.WithPoll(5 * time.Millisecond)}})
		if err != nil {
			t.Fatal(err)
		}
		return srv, &client{t: t, conn: dial(t, listen(t, "party", false, srv.Register, srv)), ids: w.ids}
	}
	_, c := serve()
	c.begin()
	c.start(ada)
	c.resolved(2, 2, 3, 4)
	dice.fail = true
	do[*partyv1.EndSceneResponse](c, gm, &partyv1.EndSceneRequest{Name: ball})
	eq(t, "settled", c.scene(ball).GetSettled(), false)
	eq(t, "given back before the seed is out", holders(c.character(ada)), []string{})
	dice.fail = false
	other, again := serve()
	ctx, cancel := context.WithCancel(auth.NewContext(t.Context(), auth.Principal{Subject: "party", Service: true}))
	tick, done := make(chan time.Time), make(chan struct{})
	go func() { defer close(done); other.Sweep(ctx, tick) }()
	tick <- time.Time{}
	cancel()
	<-done
	eq(t, "settled", again.scene(ball).GetSettled(), true)
}

// flaky fails to reveal streams on demand.
type flaky struct {
	dicev1.DiceServiceClient
	fail bool
}

func (f *flaky) RevealStream(ctx context.Context, req *dicev1.RevealStreamRequest, opts ...grpc.CallOption) (*dicev1.RevealStreamResponse, error) {
	if f.fail {
		return nil, lost.Wrap(nil)
	}
	return f.DiceServiceClient.RevealStream(ctx, req, opts...)
}
