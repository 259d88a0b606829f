package expedition

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	dungeonv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dungeon/v1"
	expeditionv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/expedition/v1"
	travelv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/travel/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/fault"
)

func (g *group) drawn(id string) *req {
	return &req{Name: g.name, RequestId: id, Command: &expeditionv1.ExecuteRequest_Draw{Draw: &dungeonv1.DrawRequest{Character: g.character("bram")}}}
}

// acted lets a character do what the challenge asks for.
func (g *group) acted(id, character string) *req {
	g.t.Helper()
	res := &dungeonv1.GetRunResponse{}
	g.call("gerd", &dungeonv1.GetRunRequest{Name: g.now().GetRun()}, res)
	return &req{Name: g.name, RequestId: id, Command: &expeditionv1.ExecuteRequest_Act{Act: &dungeonv1.ActRequest{
		Character: g.character(character), Action: basicAction(res.GetRun().GetChallenge().GetAbility()),
	}}}
}

// round lets everybody act in the pending challenge and completes it.
func (g *group) round(id, drawer string) {
	g.t.Helper()
	for _, c := range []string{"ada", "bram", "cleo"} {
		g.does(players[c], g.acted(id+c, c))
	}
	g.does(players[drawer], &req{Name: g.name, RequestId: id + "complete", Command: &expeditionv1.ExecuteRequest_Complete{Complete: &dungeonv1.CompleteRequest{Character: g.character(drawer)}}})
}

func (g *group) session() {
	g.t.Helper()
	if _, err := g.client.OpenSession(by(context.Background(), "alice"), &expeditionv1.OpenSessionRequest{Name: g.name, RequestId: "session"}); err != nil {
		g.t.Fatal(err)
	}
}

func (g *group) fight() {
	g.t.Helper()
	g.does("alice", &req{Name: g.name, RequestId: "fight", Command: &expeditionv1.ExecuteRequest_StartCombat{StartCombat: &dungeonv1.StartCombatRequest{Character: g.character("ada")}}})
}

// situations are where an expedition can stand, phase by phase. The group's absence policy gives every turn a deadline.
var situations = map[string]struct {
	phase Phase
	bring func(g *group)
}{
	"they gather":                         {Assembling, func(*group) {}},
	"they gather while a session is open": {Assembling, func(g *group) { g.session() }},
	"they have set out, and nobody knows": {Assembling, func(g *group) {
		// The journey has begun; the answer was lost, and whoever asked does not ask again.
		g.mishaps.arm(g.campaign, "expedition>StartJourney#1", lost)
		raw, err := marshal(g.setOut())
		if err != nil {
			g.t.Fatal(err)
		}
		if _, err := g.server.executeCommand(context.Background(), g.name, command{RequestID: "set-out", RequestHash: "hash", Actor: "alice", Execute: raw}); err == nil {
			g.t.Fatal("the answer came")
		}
		g.mishaps.disarm(g.campaign)
	}},
	"they travel":                         {Traveling, func(g *group) { g.does("alice", g.setOut()) }},
	"they travel while a session is open": {Traveling, func(g *group) { g.does("alice", g.setOut()); g.session() }},
	"they are in a settlement":            {AtLocation, func(g *group) { g.does("alice", g.setOut()); g.does("alice", g.goIn("hamlet")) }},
	"they are at the door of a site":      {AtLocation, (*group).arrive},
	"they crawl through a site": {AtLocation, func(g *group) {
		g.arrive()
		g.does("alice", &req{Name: g.name, RequestId: "crawl", Command: &expeditionv1.ExecuteRequest_TakeTurn{TakeTurn: &travelv1.TakeTurnRequest{
			Character: g.character("ada"), Trigger: "room", To: "lip",
		}}})
	}},
	"a run waits for acts, with a deadline": {Delving, func(g *group) { g.arrive(); g.does("alice", g.enterRun("run")) }},
	"a run waits for the last act": {Delving, func(g *group) {
		g.arrive()
		g.does("alice", g.enterRun("run"))
		g.does("alice", g.acted("act-a", "ada"))
		g.does("bob", g.acted("act-b", "bram"))
	}},
	"a run waits for a draw, and for its leader": {Delving, func(g *group) {
		g.arrive()
		g.does("alice", g.enterRun("run"))
		g.round("first", "ada")
	}},
	"a session is open in a run": {Delving, func(g *group) { g.arrive(); g.does("alice", g.enterRun("run")); g.session() }},
	"a run is over and has given nothing back": {AtLocation, func(g *group) {
		g.arrive()
		g.does("alice", g.enterRun("run"))
		g.mishaps.arm(g.campaign, "dungeon>ReturnLease#1", before)
		g.does("alice", g.giveRunUp("up"))
		g.mishaps.disarm(g.campaign)
	}},
	"a delve is set up":                    {Delving, func(g *group) { g.arrive(); g.does("alice", g.enterDelve("open")) }},
	"they explore":                         {Delving, func(g *group) { g.arrive(); g.explore() }},
	"they explore while a session is open": {Delving, func(g *group) { g.arrive(); g.explore(); g.session() }},
	"they fight":                           {Delving, func(g *group) { g.arrive(); g.explore(); g.fight() }},
	"they fight while a session is open":   {Delving, func(g *group) { g.arrive(); g.explore(); g.session(); g.fight() }},
	"they hunker down": {Delving, func(g *group) {
		g.arrive()
		g.explore()
		g.does("alice", &req{Name: g.name, RequestId: "down", Command: &expeditionv1.ExecuteRequest_HunkerDown{HunkerDown: &dungeonv1.HunkerDownRequest{Character: g.character("ada")}}})
	}},
}

// Whatever an expedition is about, it can be given up, by a player or a game master, also after its workflow was canceled; then
// nothing of it is left: nothing lent, nothing open, nothing that wakes it, and no workflow.
func TestAbandonAndCancelInEverySituation(t *testing.T) {
	t.Parallel()
	s := newSuite(t, devServer(t))
	n := 0
	for name, row := range situations {
		for i, who := range []string{"gerd", "alice", "gerd after a cancel"} {
			if n++; i > 0 && n%2 == 0 && row.phase != Delving {
				continue // one of the two is enough where nothing is open
			}
			id := fmt.Sprintf("abandon-%d", n)
			t.Run(name+", by "+who, func(t *testing.T) {
				t.Parallel()
				g := s.gather(t, id, &expeditionv1.Absence{Policy: expeditionv1.Absence_POLICY_BASIC_ACTION, IdleAfter: durationpb.New(90 * 24 * time.Hour)})
				row.bring(g)
				if got := g.now().GetPhase(); got != row.phase {
					t.Fatalf("they are %v", got)
				}
				// The workflow is there, with its timers: a command that is refused wakes it.
				if err := g.refusal(); fault.ReasonOf(fault.FromStatus(err)) == "" {
					t.Fatalf("a command that cannot be given: %v", err)
				}
				give := &expeditionv1.AbandonExpeditionRequest{Name: g.name, RequestId: "give-up", Character: g.character("ada")}
				switch who {
				case "gerd after a cancel":
					give.Character, who = "", "gerd"
					before := g.now()
					g.cancel()
					if after := g.now(); !proto.Equal(before, after) {
						t.Errorf("canceled, the expedition went from\n%v\nto\n%v", before, after)
					}
				case "gerd":
					give.Character = ""
				}
				g.abandon(who, give)
			})
		}
	}
}

// refusal gives a command that is refused in every situation.
func (g *group) refusal() error {
	_, err := g.client.Execute(by(context.Background(), "alice"), &req{Name: g.name, RequestId: "refused", Command: &expeditionv1.ExecuteRequest_Move{
		Move: &travelv1.MoveRequest{Character: g.character("ada"), To: &travelv1.Hex{Q: 99}},
	}})
	return err
}

// cancel cancels the workflow, as an operator may, and waits for its end.
func (g *group) cancel() {
	g.t.Helper()
	ctx := context.Background()
	run := g.cfg.Temporal.GetWorkflow(ctx, g.name, "")
	if err := g.cfg.Temporal.CancelWorkflow(ctx, g.name, ""); err != nil {
		g.t.Fatal(err)
	}
	_ = run.GetWithOptions(ctx, nil, client.WorkflowRunGetOptions{DisableFollowingRuns: true})
	g.ended(enumspb.WORKFLOW_EXECUTION_STATUS_CANCELED)
}

// ended checks that the workflow has ended and left nothing.
func (g *group) ended(want enumspb.WorkflowExecutionStatus) {
	g.t.Helper()
	described, err := g.cfg.Temporal.DescribeWorkflow(context.Background(), g.name, "")
	if err != nil {
		g.t.Fatal(err)
	}
	got := described.RawResponse
	if s := got.GetWorkflowExecutionInfo().GetStatus(); s != want || len(got.GetPendingActivities()) > 0 || len(got.GetPendingChildren()) > 0 {
		g.t.Errorf("the workflow is %v with %d activities", s, len(got.GetPendingActivities()))
	}
}

func (g *group) abandon(who string, give *expeditionv1.AbandonExpeditionRequest) {
	g.t.Helper()
	var first *expeditionv1.AbandonExpeditionResponse
	for begin := time.Now(); ; { // what a run still owes the sweeper pays
		var err error
		if first, err = g.client.AbandonExpedition(by(context.Background(), who), give); err == nil {
			break
		} else if fault.KindOf(fault.FromStatus(err)) != fault.Unavailable || time.Since(begin) > time.Minute {
			g.t.Fatalf("given up: %v", err)
		}
		g.sweep()
	}
	ex := first.GetExpedition()
	if ex.GetPhase() != Concluded || !ex.GetAbandoned() || ex.GetRun() != "" || ex.GetDelve() != "" || ex.GetSession() != nil || ex.GetTurn() != nil || ex.GetLeadership() != nil {
		g.t.Errorf("given up, it is %v", ex)
	}
	again, err := g.client.AbandonExpedition(by(context.Background(), who), give)
	if err != nil || !proto.Equal(first, again) {
		g.t.Errorf("again: %v, %v", again, err)
	}
	if diff := cmp.Diff(map[string]string{}, g.lent()); diff != "" {
		g.t.Errorf("lent (-want +got):\n%s", diff)
	}
	at, err := g.server.log.Load(context.Background(), g.name)
	if err != nil || !at.State.wake().IsZero() {
		g.t.Errorf("it wakes at %v (%v)", at.State.wake(), err)
	}
	for _, run := range ex.GetRuns() {
		res := &dungeonv1.GetRunResponse{}
		g.call("gerd", &dungeonv1.GetRunRequest{Name: run}, res)
		if r := res.GetRun(); r.GetPhase() != dungeonv1.Run_PHASE_ABANDONED || !r.GetSettled() {
			g.t.Errorf("%s is %v", run, r.GetPhase())
		}
	}
	for _, delve := range ex.GetDelves() {
		res := &dungeonv1.GetDelveResponse{}
		g.call("gerd", &dungeonv1.GetDelveRequest{Name: delve}, res)
		if d := res.GetDelve(); d.GetPhase() != dungeonv1.Delve_PHASE_LEFT || !d.GetSettled() {
			g.t.Errorf("%s is %v", delve, d.GetPhase())
		}
	}
	if ex.GetJourney() != "" {
		res := &travelv1.GetJourneyResponse{}
		g.call("gerd", &travelv1.GetJourneyRequest{Name: ex.GetJourney()}, res)
		if j := res.GetJourney(); j.GetPhase() != travelv1.Journey_PHASE_ABANDONED {
			g.t.Errorf("%s is %v", ex.GetJourney(), j.GetPhase())
		}
	}
	_ = g.cfg.Temporal.GetWorkflow(context.Background(), g.name, "").Get(context.Background(), nil)
	g.ended(enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
	g.complete()
	if err := g.refusal(); fault.ReasonOf(fault.FromStatus(err)) != reasonEnded {
		g.t.Errorf("a command afterwards: %v", err)
	}
}
