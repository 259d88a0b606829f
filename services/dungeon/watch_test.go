package dungeon_test

import (
	"context"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	dungeonv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dungeon/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/await"
)

// abandoned is a run that was given up after its entry.
func abandoned(t *testing.T) *node {
	t.Helper()
	n := newWorld(t).node().begin()
	n.round()
	do[*dungeonv1.AbandonRunResponse](n, adas, abandon(ada, ""))
	return n
}

// Whoever is no GM sees of the deck what has been drawn, and nothing else, whichever way they look.
func TestPlayersNeverSeeTheCards(t *testing.T) {
	t.Parallel()
	n := abandoned(t)
	drawn := n.stored(dive)[2].GetChallengeDrawn().GetCard().GetId()
	looks := map[string]func(who string) []proto.Message{
		"get": func(who string) []proto.Message {
			return []proto.Message{do[*dungeonv1.GetDungeonResponse](n, who, &dungeonv1.GetDungeonRequest{Name: granary})}
		},
		"get a revision": func(who string) []proto.Message {
			return []proto.Message{do[*dungeonv1.GetDungeonResponse](n, who, &dungeonv1.GetDungeonRequest{Name: granary, Revision: 1})}
		},
		"list": func(who string) []proto.Message {
			return []proto.Message{do[*dungeonv1.ListDungeonsResponse](n, who, &dungeonv1.ListDungeonsRequest{Parent: camp})}
		},
		"the run": func(who string) []proto.Message {
			return []proto.Message{n.run(who), do[*dungeonv1.ListRunsResponse](n, who, &dungeonv1.ListRunsRequest{Parent: camp})}
		},
		"watch": func(who string) []proto.Message {
			records, err := n.watch(who, dive, 0)
			if err != nil {
				t.Fatal(err)
			}
			var out []proto.Message
			for _, r := range records {
				out = append(out, r)
			}
			return out
		},
	}
	undrawn := func(messages []proto.Message) (seen []string) {
		for _, m := range messages {
			raw := protojson.Format(m)
			for _, c := range shipped("ostrell-granary").GetCards() {
				if c.GetId() != drawn && (strings.Contains(raw, c.GetId()) || strings.Contains(raw, c.GetTitle())) {
					seen = append(seen, c.GetId())
				}
			}
		}
		return seen
	}
	for name, look := range looks {
		for _, who := range []string{adas, brams, spectator, bot, service + " for " + adas} {
			if seen := undrawn(look(who)); len(seen) > 0 {
				t.Errorf("%s: %s sees %v", name, who, seen)
			}
		}
		if name == "the run" { // shows nobody any
			continue
		}
		for _, who := range []string{gm, owner, service} {
			if seen := undrawn(look(who)); len(seen) == 0 {
				t.Errorf("%s: %s sees no cards", name, who)
			}
		}
	}
	// The answer of a start tells of its beginning as well.
	start := do[*dungeonv1.StartRunResponse](n, adas, startDive())
	if seen := undrawn([]proto.Message{start}); len(seen) > 0 || start.GetEvents()[0].GetStarted() == nil {
		t.Errorf("the start shows %v", seen)
	}
}

func TestAWatchEndsWhenTheRunIsSettled(t *testing.T) {
	t.Parallel()
	n := abandoned(t)
	end := n.run(gm).GetSeq()
	for from := range end + 3 {
		got, err := n.watch(spectator, dive, from)
		if err != nil {
			t.Fatal(err)
		}
		if want := max(0, end-from); len(got) != int(want) {
			t.Fatalf("%d records after %d, want %d", len(got), from, want)
		}
		for i, r := range got {
			if r.GetRecord().GetSeq() != from+int32(i)+1 { //nolint:gosec // small
				t.Errorf("record %d after %d is %d", i, from, r.GetRecord().GetSeq())
			}
		}
		if len(got) > 0 && got[len(got)-1].GetEvents()[0].GetSettled() == nil {
			t.Errorf("the last is %v", got[len(got)-1])
		}
	}
	if _, err := n.watch(gm, camp+"/runs/none", 0); status.Code(err) != codes.NotFound {
		t.Errorf("watching nothing: %v", err)
	}
	_, err := n.watch(gm, dive, -1)
	refusal{codes.InvalidArgument, "INVALID", "from_seq"}.check(t, err)
}

func TestAWatchFollowsARun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n, replica := w.node().begin(), w.node()
	ctx, cancel := context.WithTimeout(as(context.Background(), spectator), await.Limit)
	defer cancel()
	s, err := dungeonv1.NewRunServiceClient(replica.conn).WatchRun(ctx, &dungeonv1.WatchRunRequest{Name: dive, FromSeq: 1})
	if err != nil {
		t.Fatal(err)
	}
	next := func() *dungeonv1.WatchRunResponse {
		t.Helper()
		res, err := s.Recv()
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	if e := next().GetEvents(); len(e) != 2 || e[0].GetStarted().GetLeader() != ada || e[1].GetChallengeDrawn() == nil {
		t.Errorf("first came %v", e)
	}
	acted := do[*dungeonv1.ActResponse](n, adas, withTool(ada, 1))
	if got := next(); !proto.Equal(got.GetRecord(), acted.GetRecord()) || !proto.Equal(got.GetEvents()[0], acted.GetEvents()[0]) {
		t.Errorf("then came %v, want %v", got, acted)
	}
	do[*dungeonv1.LeaveResponse](n, cleos, leave(cleo))
	for _, is := range []func(e *dungeonv1.RunEvent) bool{
		func(e *dungeonv1.RunEvent) bool { return e.GetMemberLeft().GetCharacter() == cleo },
		func(e *dungeonv1.RunEvent) bool { return e.GetSeatGivenBack().GetCharacter() == cleo },
	} {
		if e := next().GetEvents(); !is(e[0]) {
			t.Errorf("then came %v", e)
		}
	}
}
