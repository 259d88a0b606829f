package integration_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	dicev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dice/v1"
	dungeonv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dungeon/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/await"
)

// watch follows the run for somebody. It returns a function that gives the next record, nil at the end.
func (n *node) watch(who string, from int32) func() *dungeonv1.WatchRunResponse {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(as(context.Background(), who), await.Limit)
	n.t.Cleanup(cancel)
	stream, err := dungeonv1.NewRunServiceClient(n.conn).WatchRun(ctx, &dungeonv1.WatchRunRequest{Name: delve, FromSeq: from})
	if err != nil {
		n.t.Fatal(err)
	}
	return func() *dungeonv1.WatchRunResponse {
		n.t.Helper()
		res, err := stream.Recv()
		if err != nil {
			if err.Error() != "EOF" {
				n.t.Fatal(err)
			}
			return nil
		}
		return res
	}
}

func TestAWatchFollowsToTheEnd(t *testing.T) {
	t.Parallel()
	n := newWorld(t).node().started()
	replica := n.world.node()
	first := n.watch(brams, 0)
	late := replica.watch(brams, 2)
	var seen []*dungeonv1.WatchRunResponse
	for range 2 {
		seen = append(seen, first())
	}
	acted := do[*dungeonv1.ActResponse](n, brams, force(bram))
	want := &dungeonv1.WatchRunResponse{Record: acted.GetRecord(), Events: acted.GetEvents()}
	for name, next := range map[string]func() *dungeonv1.WatchRunResponse{"same process": first, "another process": late} {
		if diff := cmp.Diff(want, next(), protocmp.Transform()); diff != "" {
			t.Errorf("watched from %s (-want +got):\n%s", name, diff)
		}
	}
	seen = append(seen, want)
	do[*dungeonv1.LeaveResponse](n, brams, &dungeonv1.LeaveRequest{Name: delve, Character: bram})
	do[*dungeonv1.AbandonRunResponse](n, adas, &dungeonv1.AbandonRunRequest{Name: delve, Character: ada})
	for {
		res := first()
		if res == nil {
			break
		}
		seen = append(seen, res)
	}
	var kinds []string
	for i, res := range seen {
		if res.GetRecord().GetSeq() != int32(i+1) {
			t.Errorf("record %d comes as number %d", res.GetRecord().GetSeq(), i+1)
		}
		for _, e := range res.GetEvents() {
			kinds = append(kinds, string(e.ProtoReflect().WhichOneof(e.ProtoReflect().Descriptor().Oneofs().Get(0)).Name()))
		}
	}
	if diff := cmp.Diff(strings.Fields("preparing started challenge_drawn member_acted member_left seat_given_back ended settled"), kinds); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if over := n.watch(gm, int32(len(seen)))(); over != nil {
		t.Errorf("after the end comes %v", over)
	}
	stream, err := dungeonv1.NewRunServiceClient(n.conn).WatchRun(as(context.Background(), gm), &dungeonv1.WatchRunRequest{Name: camp + "/runs/none"})
	if err == nil {
		_, err = stream.Recv()
	}
	refusal{codes.NotFound, "NOT_FOUND", "name"}.check(t, err)
}

// Undrawn cards are for game masters, by every path.
func TestPlayersNeverSeeUndrawnCards(t *testing.T) {
	t.Parallel()
	for who, secret := range map[string]bool{adas: true, spectator: true, bot: true, gm: false} {
		t.Run(who, func(t *testing.T) {
			t.Parallel()
			n := newWorld(t).node().begin()
			var seen []proto.Message
			if who == adas {
				seen = append(seen, do[*dungeonv1.StartRunResponse](n, who, startDelve()))
			} else {
				do[*dungeonv1.StartRunResponse](n, adas, startDelve())
			}
			seen = append(
				seen,
				do[*dungeonv1.GetDungeonResponse](n, who, &dungeonv1.GetDungeonRequest{Name: vault}),
				do[*dungeonv1.ListDungeonsResponse](n, who, &dungeonv1.ListDungeonsRequest{Parent: camp}),
				do[*dungeonv1.GetRunResponse](n, who, &dungeonv1.GetRunRequest{Name: delve}),
				do[*dungeonv1.ListRunsResponse](n, who, &dungeonv1.ListRunsRequest{Parent: camp}),
			)
			next := n.watch(who, 0)
			seen = append(seen, next(), next())
			text := ""
			for _, m := range seen {
				text += protojson.Format(m)
			}
			if !strings.Contains(text, "cardtext-e") {
				t.Error("the pending card is not shown")
			}
			for _, card := range []string{"cardtext-n1", "cardtext-n2", "cardtext-n3", "cardtext-f"} {
				if strings.Contains(text, card) == secret {
					t.Errorf("%s sees %s: %v", who, card, !secret)
				}
			}
		})
	}
}

// A run on dice of its stream, to the end; then anyone can recompute every face.
func TestTheDiceOfARunCanBeVerified(t *testing.T) {
	t.Parallel()
	n := newWorld(t).node().started()
	drawers := []string{ada, bram, cleo}
	for i := 0; ; i++ {
		r := n.run(adas)
		if r.GetPhase() == dungeonv1.Run_PHASE_DRAW {
			for _, d := range drawers { // whoever still stands
				if _, err := n.try(owners[d], &dungeonv1.DrawRequest{Name: delve, Character: d}); err == nil {
					break
				}
			}
			continue
		}
		if r.GetPhase() != dungeonv1.Run_PHASE_ACT {
			break
		}
		if i > 100 {
			t.Fatal("the run does not end")
		}
		for _, c := range r.GetChallenge().GetWaiting() {
			do[*dungeonv1.ActResponse](n, owners[c], with(force(c), func(a *dungeonv1.ActRequest) { a.Action.Risk = true }))
		}
		d := r.GetChallenge().GetDrawer()
		do[*dungeonv1.CompleteResponse](n, owners[d], &dungeonv1.CompleteRequest{Name: delve, Character: d})
	}
	next, draws, dice := n.watch(spectator, 0), []*dicev1.VerifyDraw{}, 0
	for res := next(); res != nil; res = next() {
		if rolled := res.GetRecord().GetDice(); len(rolled) > 0 {
			draws = append(draws, &dicev1.VerifyDraw{Index: res.GetRecord().GetSeq(), Dice: rolled})
			dice += len(rolled)
		}
	}
	if dice < 6 {
		t.Fatalf("only %d dice in the whole run", dice)
	}
	stream := must(n.world, spectator, &dicev1.GetStreamRequest{Name: n.run(adas).GetStream()}).(*dicev1.GetStreamResponse).GetStream() //nolint:forcetypeassert // a test
	verify := func() bool {
		res := must(n.world, spectator, &dicev1.VerifyRequest{Seed: stream.GetSeed(), Commitment: stream.GetCommitment(), Draws: draws})
		return res.(*dicev1.VerifyResponse).GetVerified() //nolint:forcetypeassert // a test
	}
	if !verify() {
		t.Error("the dice do not follow from the seed")
	}
	draws[0].Dice[0].Face = draws[0].GetDice()[0].GetFace()%draws[0].GetDice()[0].GetSides() + 1
	if verify() {
		t.Error("a forged face is taken for good")
	}
}

// The same request, whenever and to whichever replica, gets the first answer.
func TestRepeatedRequestsGetTheFirstAnswer(t *testing.T) {
	t.Parallel()
	n := newWorld(t).node().begin()
	replica := n.world.node()
	type call struct {
		who string
		req proto.Message
		res proto.Message
	}
	var calls []call
	once := func(who string, req proto.Message) {
		t.Helper()
		res := do[proto.Message](n, who, req)
		calls = append(calls, call{who, req, res})
	}
	once(gm, &dungeonv1.ImportDungeonRequest{Parent: camp, Dungeon: with(testDungeon(), func(d *dungeonv1.DungeonDefinition) { d.Number = 8 })})
	once(adas, startDelve())
	once(brams, force(bram))
	once(adas, use(ada, 1))
	once(cleos, force(cleo))
	once(adas, &dungeonv1.CompleteRequest{Name: delve, Character: ada})
	once(adas, &dungeonv1.PromoteRequest{Name: delve, Character: ada, Target: cleo})
	once(brams, &dungeonv1.DrawRequest{Name: delve, Character: bram})
	once(brams, &dungeonv1.LeaveRequest{Name: delve, Character: bram})
	once(cleos, &dungeonv1.AbandonRunRequest{Name: delve, Character: cleo})
	before := n.seqs()
	for _, at := range []struct {
		name string
		conn *grpc.ClientConn
	}{{"the same", n.conn}, {"another", replica.conn}} {
		for _, c := range calls {
			res, err := n.call(at.conn, c.who, proto.Clone(c.req))
			if err != nil {
				t.Errorf("%T to %s process: %v", c.req, at.name, err)
				continue
			}
			if diff := cmp.Diff(c.res, res, protocmp.Transform()); diff != "" {
				t.Errorf("%T to %s process (-first +later):\n%s", c.req, at.name, diff)
			}
		}
	}
	if diff := cmp.Diff(before, n.seqs()); diff != "" {
		t.Errorf("repetitions changed the journal: %s", diff)
	}
}
