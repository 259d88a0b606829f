package integration_test

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	dungeonv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dungeon/v1"
	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/requestid"
)

var everything = map[string]string{ada: delve, bram: delve, cleo: delve, team: delve}

// A way to go on after a crash: a repetition of the request by another process, or the sweeper of one.
var recoveries = map[string]func(n *node, who string, req proto.Message){
	"by a repetition": func(n *node, who string, req proto.Message) {
		n.t.Helper()
		_, _ = n.try(who, proto.Clone(req)) // what it answers is checked by the test
	},
	"by the sweeper": func(n *node, _ string, _ proto.Message) { n.sweep() },
}

// crashes lets a process die at each place of a command, one after the other, and tells how many there were. Each time
// the world is new; prepare makes it ready with a process that lives; check sees what was recovered.
func crashes(t *testing.T, who string, req proto.Message, prepare func(n *node), check func(t *testing.T, n *node, swept bool)) {
	t.Helper()
	for name, recoverBy := range recoveries {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for at, died := 1, true; died && !t.Failed(); at++ {
				t.Run(fmt.Sprint(at), func(t *testing.T) {
					w := makeWorld(t, true)
					prepare(w.node())
					tr := &trip{at: at}
					dying := w.node(tr)
					tr.arm()
					_, _ = dying.try(who, proto.Clone(req))
					if died = tr.died(); !died {
						if at < 10 {
							t.Errorf("only %d places to die at", at-1)
						}
						return
					}
					n := w.node()
					recoverBy(n, who, req)
					check(t, n, name == "by the sweeper")
				})
			}
		})
	}
}

func TestAStartSurvivesACrashAnywhere(t *testing.T) {
	t.Parallel()
	crashes(t, adas, startDelve(), func(n *node) { n.begin() }, func(t *testing.T, n *node, swept bool) {
		t.Helper()
		got, err := n.try(adas, &dungeonv1.GetRunRequest{Name: delve})
		if swept && len(n.seqs()) == 1 { // died before anything was journaled: nothing is known, nothing is held
			refusal{codes.NotFound, "NOT_FOUND", "name"}.check(t, err)
			if held := n.borrowed(ada, bram, cleo); len(held) > 0 {
				t.Errorf("nothing was begun, and %v is borrowed", held)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		r := got.(*dungeonv1.GetRunResponse).GetRun() //nolint:forcetypeassert // a test
		if diff := cmp.Diff(everything, n.borrowed(ada, bram, cleo)); diff != "" || r.GetPhase() != dungeonv1.Run_PHASE_ACT || r.GetSeq() != 2 || n.owing() != 0 {
			t.Errorf("%v in record %d, %d things owed, borrowed (-want +got):\n%s", r.GetPhase(), r.GetSeq(), n.owing(), diff)
		}
		// However it came about, the request gets the same answer.
		again := do[*dungeonv1.StartRunResponse](n, adas, startDelve())
		if diff := cmp.Diff(r, again.GetRun(), protocmp.Transform()); diff != "" {
			t.Errorf("the answer of the start is another run: %s", diff)
		}
	})
}

func TestARefusedStartIsUndoneWhereverItCrashes(t *testing.T) {
	t.Parallel()
	refused := refusal{codes.FailedPrecondition, "NO_STATBLOCK", ""}
	crashes(t, adas, startDelve(), func(n *node) {
		n.begin().withoutStatblock("cleo", cleos)
	}, func(t *testing.T, n *node, swept bool) {
		t.Helper()
		if !swept || len(n.seqs()) > 1 {
			if got := n.run(gm); got.GetPhase() != dungeonv1.Run_PHASE_UNDONE || got.GetSeq() != 3 {
				t.Errorf("%v in record %d", got.GetPhase(), got.GetSeq())
			}
		}
		_, err := n.try(adas, startDelve())
		refused.check(t, err)
		if got := n.borrowed(ada, bram, cleo); len(got) > 0 || n.owing() != 0 || n.roster().GetState() != partyv1.Party_STATE_FORMING {
			t.Errorf("%v borrowed, %d things owed, the party is %v", got, n.owing(), n.roster().GetState())
		}
		if runs := do[*dungeonv1.ListRunsResponse](n, gm, &dungeonv1.ListRunsRequest{Parent: camp}).GetRuns(); len(runs) > 0 {
			t.Errorf("listed: %v", runs)
		}
	})
}

// withoutStatblock puts a character in a form that cannot enter.
func (n *node) withoutStatblock(id, owner string) {
	n.t.Helper()
	name := camp + "/characters/" + id
	must(n.world, owner, &partyv1.AddFormRequest{Name: name, Form: "avatar", NoStatblock: true})
	must(n.world, owner, &partyv1.SwitchFormRequest{Name: name, Form: "avatar"})
}

func TestAnEndSurvivesACrashAnywhere(t *testing.T) {
	t.Parallel()
	abandon := &dungeonv1.AbandonRunRequest{Name: delve, Character: ada, RequestId: "end"}
	crashes(t, adas, abandon, func(n *node) { n.started() }, func(t *testing.T, n *node, swept bool) {
		t.Helper()
		r := n.run(gm)
		if swept && r.GetPhase() == dungeonv1.Run_PHASE_ACT { // died before the end was journaled
			if diff := cmp.Diff(everything, n.borrowed(ada, bram, cleo)); diff != "" {
				t.Errorf("borrowed (-want +got):\n%s", diff)
			}
			return
		}
		if got := n.borrowed(ada, bram, cleo); len(got) > 0 || n.owing() != 0 || !r.GetSettled() || r.GetPhase() != dungeonv1.Run_PHASE_ABANDONED || r.GetSeq() != 4 {
			t.Errorf("%v borrowed, %d things owed, run %v", got, n.owing(), r)
		}
		if p := n.roster(); p.GetState() != partyv1.Party_STATE_ENDED || !n.revealed(r.GetStream()) {
			t.Errorf("the party is %v, the dice are revealed: %v", p.GetState(), n.revealed(r.GetStream()))
		}
	})
}

func TestLeavingSurvivesACrashAnywhere(t *testing.T) {
	t.Parallel()
	leave := &dungeonv1.LeaveRequest{Name: delve, Character: bram, RequestId: "go"}
	crashes(t, brams, leave, func(n *node) { n.started() }, func(t *testing.T, n *node, swept bool) {
		t.Helper()
		r := n.run(gm)
		if swept && len(r.GetMembers()) == 3 { // died before it was journaled
			return
		}
		want := map[string]string{ada: delve, cleo: delve, team: delve}
		if diff := cmp.Diff(want, n.borrowed(ada, bram, cleo)); diff != "" || n.owing() != 0 || len(r.GetMembers()) != 2 || r.GetSeq() != 4 {
			t.Errorf("%d things owed, run %v, borrowed (-want +got):\n%s", n.owing(), r, diff)
		}
		if got := seats(n.roster()); !slices.Equal(got, []string{ada, cleo}) {
			t.Errorf("the party has %v", got)
		}
	})
}

func seats(p *partyv1.Party) []string {
	var out []string
	for _, m := range p.GetMembers() {
		out = append(out, m.GetCharacter())
	}
	return out
}

func TestAnEarlyLeaverIsFreeAtOnce(t *testing.T) {
	t.Parallel()
	n := newWorld(t).node().started()
	do[*dungeonv1.LeaveResponse](n, brams, &dungeonv1.LeaveRequest{Name: delve, Character: bram})
	must(n.world, brams, &partyv1.CreatePartyRequest{Parent: camp, PartyId: "next", Character: bram})
	must(n.world, adas, &partyv1.JoinPartyRequest{Name: camp + "/parties/next", Character: dan})
	next := do[*dungeonv1.StartRunResponse](n, brams, &dungeonv1.StartRunRequest{
		Parent: camp, RunId: "next", Party: camp + "/parties/next", Dungeon: vault, Character: bram,
	}).GetRun()
	do[*dungeonv1.AbandonRunResponse](n, adas, &dungeonv1.AbandonRunRequest{Name: delve, Character: ada})
	// The end of the first run gives nothing of the second one back.
	want := map[string]string{bram: next.GetName(), dan: next.GetName()}
	if diff := cmp.Diff(want, n.borrowed(ada, bram, cleo, dan)); diff != "" {
		t.Errorf("borrowed (-want +got):\n%s", diff)
	}
	_, err := n.try(brams, force(bram))
	refusal{codes.FailedPrecondition, "RUN_OVER", ""}.check(t, err)
}

// A seat is given back, the process dies before it notes that, and leadership passes on before the next try.
func TestASeatGivenBackTwiceUnderTwoLeaders(t *testing.T) {
	t.Parallel()
	for at := 1; ; at++ {
		w := makeWorld(t, true)
		w.node().started()
		tr := &trip{at: at}
		dying := w.node(tr)
		tr.arm()
		_, _ = dying.try(brams, &dungeonv1.LeaveRequest{Name: delve, Character: bram, RequestId: "go"})
		if !tr.died() {
			return
		}
		n := w.node()
		do[*dungeonv1.PromoteResponse](n, adas, &dungeonv1.PromoteRequest{Name: delve, Character: ada, Target: cleo})
		do[*dungeonv1.LeaveResponse](n, brams, &dungeonv1.LeaveRequest{Name: delve, Character: bram, RequestId: "go"})
		do[*dungeonv1.LeaveResponse](n, adas, &dungeonv1.LeaveRequest{Name: delve, Character: ada})
		if diff := cmp.Diff(map[string]string{cleo: delve, team: delve}, n.borrowed(ada, bram, cleo)); diff != "" || n.owing() != 0 {
			t.Fatalf("when it died at place %d: %d things owed, borrowed (-want +got):\n%s", at, n.owing(), diff)
		}
		do[*dungeonv1.AbandonRunResponse](n, cleos, &dungeonv1.AbandonRunRequest{Name: delve, Character: cleo})
		if p := n.roster(); p.GetLeader() != cleo || !slices.Equal(seats(p), []string{cleo}) || len(n.borrowed(ada, bram, cleo)) > 0 {
			t.Fatalf("when it died at place %d: the party is %v", at, p)
		}
	}
}

func TestLendersRefusals(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		prepare func(n *node)
		req     func(r *dungeonv1.StartRunRequest)
		refusal refusal
		held    map[string]string
	}{
		"a party in a run": {
			prepare: func(n *node) { do[*dungeonv1.StartRunResponse](n, adas, startDelve()) },
			refusal: refusal{codes.FailedPrecondition, "RUN_BEGUN", ""}, held: everything,
		},
		"a member without a statblock": {
			prepare: func(n *node) { n.withoutStatblock("bram", brams) },
			refusal: refusal{codes.FailedPrecondition, "NO_STATBLOCK", ""}, held: map[string]string{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newWorld(t).node().begin()
			tc.prepare(n)
			req := startDelve()
			req.RunId, req.RequestId = "second", "second"
			for range 2 { // the refusal is the answer for good
				_, err := n.try(adas, req)
				tc.refusal.check(t, err)
			}
			if diff := cmp.Diff(tc.held, n.borrowed(ada, bram, cleo)); diff != "" || n.owing() != 0 {
				t.Errorf("%d things owed, borrowed (-want +got):\n%s", n.owing(), diff)
			}
			second := do[*dungeonv1.GetRunResponse](n, gm, &dungeonv1.GetRunRequest{Name: camp + "/runs/second"}).GetRun()
			if second.GetPhase() != dungeonv1.Run_PHASE_UNDONE || !n.revealed(second.GetStream()) {
				t.Errorf("the second run is %v", second)
			}
			for _, r := range do[*dungeonv1.ListRunsResponse](n, gm, &dungeonv1.ListRunsRequest{Parent: camp}).GetRuns() {
				if r.GetName() == second.GetName() {
					t.Error("an undone run is listed")
				}
			}
		})
	}
}

func TestManyStartsOfOnePartyGetOneRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	nodes := []*node{w.node(), w.node(), w.node()}
	nodes[0].begin()
	names, errs := make([]string, 6), make([]error, 6)
	var wg sync.WaitGroup
	for i := range names {
		wg.Go(func() {
			req := startDelve()
			req.RunId, req.RequestId = "", []string{"a", "b"}[i%2] // two requests, each three times
			res, err := nodes[i%3].try(adas, req)
			if errs[i] = err; err == nil {
				names[i] = res.(*dungeonv1.StartRunResponse).GetRun().GetName() //nolint:forcetypeassert // a test
			}
		})
	}
	wg.Wait()
	won := map[string]bool{}
	for i := range names {
		if errs[i] != nil {
			refusal{codes.FailedPrecondition, "RUN_BEGUN", ""}.check(t, errs[i])
		} else {
			won[names[i]] = true
		}
	}
	held := slices.Compact(slices.Sorted(maps.Values(w.borrowed(ada, bram, cleo))))
	if len(won) != 1 || len(held) != 1 || !won[held[0]] || w.owing() != 0 {
		t.Errorf("%v won, %v hold, %d things owed, %v", won, held, w.owing(), errs)
	}
}

// The ids of a run's own steps can be computed by anybody; who sends one as their own stops nothing.
func TestNobodyTakesTheIdOfAStep(t *testing.T) {
	t.Parallel()
	n := newWorld(t).node().started()
	act := force(bram)
	act.RequestId = requestid.Derive(delve, "settled")
	do[*dungeonv1.ActResponse](n, brams, act)
	do[*dungeonv1.AbandonRunResponse](n, adas, &dungeonv1.AbandonRunRequest{Name: delve, Character: ada})
	if r := n.run(gm); !r.GetSettled() || len(n.borrowed(ada, bram, cleo)) > 0 {
		t.Errorf("the run never settles: %v", r)
	}
}
