package dungeon_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protojson"

	dungeonv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dungeon/v1"
	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/dicestream"
	"github.com/wayfarer-rpg/wayfarer/internal/journal"
	"github.com/wayfarer-rpg/wayfarer/rules/digger"
)

// derived fails unless every die of a run that was not reported is what its stream shows under the record's number. It
// returns how many dice there were of each sort.
func (w *world) derived(run *dungeonv1.Run) (drawn, reported int) {
	w.t.Helper()
	for _, rec := range w.records(run.GetName()) {
		var sides, faces []int
		for _, d := range rec.Dice {
			if d.Reported {
				reported++
				continue
			}
			sides, faces = append(sides, d.Sides), append(faces, d.Face)
		}
		if len(sides) > 0 && len(sides) != len(rec.Dice) {
			w.t.Errorf("record %d mixes dice of both sorts", rec.Seq)
		}
		want, err := dicestream.Faces(seedOf(run.GetStream()), "", uint64(rec.Seq), sides...) //nolint:gosec // a record number
		if err != nil {
			w.t.Fatal(err)
		}
		if !slices.Equal(want, faces) {
			w.t.Errorf("record %d shows %v, its stream %v", rec.Seq, faces, want)
		}
		drawn += len(sides)
	}
	return drawn, reported
}

// The shipped Ruin from entry to end: the GM reports the dice that decide between cards, the stream rolls the acts.
func TestARuinToTheEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := w.node().imported()
	started := do[*dungeonv1.StartRunResponse](n, adas, startDive())
	if r := started.GetRun(); r.GetPhase() != dungeonv1.Run_PHASE_ACT || r.GetChallenge().GetKind() != digger.Entry || r.GetLeader() != ada ||
		r.GetRound() != 1 || r.GetRevision() != 1 || r.GetTitle() != shipped("ostrell-granary").GetName() || len(r.GetMembers()) != 3 {
		t.Errorf("started: %v", r)
	}
	if r := started.GetRun().GetMembers()[0]; r.GetOwner() != adas || r.GetTitle() != "Ada" || r.GetForm() != "base" || !slices.Equal(r.GetRatings(), []int32{4, 4, 4, 4}) ||
		len(r.GetTools()) != 2 || r.GetTools()[0].GetUsesLeft() != 2 {
		t.Errorf("Ada entered as %v", r)
	}
	if diff := cmp.Diff([]string{"team to dive", "ada to dive", "bram to dive", "cleo to dive"}, w.leases()); diff != "" {
		t.Errorf("lent (-want +got):\n%s", diff)
	}
	run := started.GetRun()
	for round := 1; ; round++ {
		for _, who := range run.GetChallenge().GetWaiting() {
			res := do[*dungeonv1.ActResponse](n, owners[who], basic(who, run.GetChallenge().GetAbility()))
			if i := slices.IndexFunc(res.GetRun().GetMembers(), func(m *dungeonv1.Member) bool { return m.GetCharacter() == who }); res.GetRun().GetMembers()[i].GetAction().GetBasic() != run.GetChallenge().GetAbility() {
				t.Errorf("%s acted: %v", who, res.GetRun().GetMembers()[i])
			}
		}
		drawer := run.GetChallenge().GetDrawer()
		done := do[*dungeonv1.CompleteResponse](n, owners[drawer], &dungeonv1.CompleteRequest{Name: dive, Character: drawer})
		run = done.GetRun()
		result := done.GetEvents()[0].GetRoundCompleted()
		if int(result.GetRound()) != round || result.GetExploration() != run.GetExploration() || len(done.GetRecord().GetDice()) < 1 {
			t.Errorf("round %d: %v", round, done)
		}
		if run.GetPhase() != dungeonv1.Run_PHASE_DRAW {
			break
		}
		active := slices.DeleteFunc(slices.Clone(run.GetMembers()), func(m *dungeonv1.Member) bool { return m.GetExhaustion() >= 100 })
		next := active[round%len(active)].GetCharacter()
		// A second and a normal card are chosen between; the third and the final are single.
		req := &dungeonv1.DrawRequest{Name: dive, Character: next, Etag: run.GetEtag()}
		drawn, err := n.call(gm, withDice(req, 1))
		if err != nil {
			refusal{codes.InvalidArgument, "BAD_DICE", "reported_dice"}.check(t, err)
			drawn = do[*dungeonv1.DrawResponse](n, owners[next], &dungeonv1.DrawRequest{Name: dive, Character: next})
		}
		run = drawn.(*dungeonv1.DrawResponse).GetRun()
		if c := run.GetChallenge(); c.GetDrawer() != next || c.GetTn() == 0 {
			t.Errorf("drawn: %v", c)
		}
	}
	if p := run.GetPhase(); p != dungeonv1.Run_PHASE_WON && p != dungeonv1.Run_PHASE_RETREATED && p != dungeonv1.Run_PHASE_EXHAUSTED {
		t.Errorf("it ended in %v", p)
	}
	end := n.run(spectator)
	if !end.GetSettled() || end.GetPhase() != run.GetPhase() {
		t.Errorf("after the end: %v", end)
	}
	if l := w.leases(); len(l) != 0 {
		t.Errorf("still lent: %v", l)
	}
	if p := w.party(); p.GetState() != partyv1.Party_STATE_ENDED {
		t.Errorf("the party: %v", p)
	}
	if !w.revealed() || w.owing() != 0 {
		t.Errorf("revealed %v, owing %d", w.revealed(), w.owing())
	}
	if drawn, reported := w.derived(end); drawn == 0 || reported == 0 {
		t.Errorf("%d dice of the stream, %d reported", drawn, reported)
	}
	w.foldsAlike(dive)
	_, err := n.call(gm, &dungeonv1.DrawRequest{Name: dive, Character: ada})
	refusal{codes.FailedPrecondition, digger.RunOver, ""}.check(t, err)
}

func withDice(req *dungeonv1.DrawRequest, faces ...int32) *dungeonv1.DrawRequest {
	req.ReportedDice = faces
	return req
}

// foldsAlike makes sure that whoever folds a run from its events and whoever reads a head show the same.
func (w *world) foldsAlike(name string) {
	w.t.Helper()
	show := func(s journal.Store) string {
		n := (&world{t: w.t, store: s, dice: w.dice, addr: w.addr, ids: w.ids, parties: w.parties}).node()
		return protojson.Format(do[*dungeonv1.GetRunResponse](n, gm, &dungeonv1.GetRunRequest{Name: name}))
	}
	fromHead, fromEvents := show(w.store), show(headless{w.store})
	if normal(fromHead) != normal(fromEvents) {
		w.t.Errorf("from a head:\n%s\nfrom events:\n%s", fromHead, fromEvents)
	}
}

// normal takes the spaces out that protojson varies.
func normal(s string) string { return strings.Join(strings.Fields(s), " ") }

// headless is a store without heads.
type headless struct{ journal.Store }

func (headless) Head(context.Context, string, int) (journal.Head, error) {
	return journal.Head{}, journal.ErrNotFound
}

func (headless) PutHead(context.Context, journal.Head) error { return nil }
