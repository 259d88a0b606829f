package expedition

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	dungeonv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dungeon/v1"
	expeditionv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/expedition/v1"
	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"
	travelv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/travel/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/await"
	"github.com/wayfarer-rpg/wayfarer/internal/fault"
	"github.com/wayfarer-rpg/wayfarer/internal/journal"
	"github.com/wayfarer-rpg/wayfarer/internal/requestid"
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

// Whatever an expedition is about, it can be given up, by a player or a game master, also after its workflow was terminated, or by
// canceling its workflow; then nothing of it is left: nothing lent, nothing open, nothing that wakes it, and no workflow.
func TestAbandonAndCancelInEverySituation(t *testing.T) {
	t.Parallel()
	s := newSuite(t, devServer(t))
	const gm, player, canceled, terminated = "gerd", "alice", "a cancel of the workflow", "gerd after its termination"
	for n, name := range slices.Sorted(maps.Keys(situations)) {
		row := situations[name]
		for i, who := range []string{gm, player, canceled, terminated} {
			if row.phase != Delving && who != canceled && i%2 != n%2 {
				continue // one of the two is enough where nothing is open
			}
			id := fmt.Sprintf("abandon-%d-%d", n, i)
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
				case canceled:
					g.cancel()
					g.nothingIsLeft(enumspb.WORKFLOW_EXECUTION_STATUS_CANCELED)
					replayed(t, g.cfg.Temporal, g.name)
					return
				case terminated:
					give.Character, who = "", gm
					before := g.now()
					if err := g.cfg.Temporal.TerminateWorkflow(t.Context(), g.name, "", "a test"); err != nil {
						t.Fatal(err)
					}
					g.ended(enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED)
					if after := g.now(); !proto.Equal(before, after) {
						t.Errorf("terminated, the expedition went from\n%v\nto\n%v", before, after)
					}
				case gm:
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
	ctx := await.Context(g.t, context.Background())
	run := g.cfg.Temporal.GetWorkflow(ctx, g.name, "")
	if err := g.cfg.Temporal.CancelWorkflow(ctx, g.name, ""); err != nil {
		g.t.Fatal(err)
	}
	over := make(chan error, 1)
	go func() {
		over <- run.GetWithOptions(ctx, nil, client.WorkflowRunGetOptions{DisableFollowingRuns: true})
	}()
	swept := time.Now()
	await.Until(g.t, "the canceled workflow to end", func() (bool, any) {
		if time.Since(swept) > 200*time.Millisecond { // what a run still owes the sweeper pays
			g.sweep()
			swept = time.Now()
		}
		select {
		case err := <-over:
			return true, err
		default:
			return false, "it goes on"
		}
	})
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
		} else if fault.KindOf(fault.FromStatus(err)) != fault.Unavailable || time.Since(begin) > await.Limit {
			g.t.Fatalf("given up: %v", err)
		}
		g.sweep()
	}
	if ex := first.GetExpedition(); !proto.Equal(ex, g.now()) {
		g.t.Errorf("given up, the answer has %v", ex)
	}
	again, err := g.client.AbandonExpedition(by(context.Background(), who), give)
	if err != nil || !proto.Equal(first, again) {
		g.t.Errorf("again: %v, %v", again, err)
	}
	g.nothingIsLeft(enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
}

// nothingIsLeft checks that the expedition was given up and its workflow has ended so.
func (g *group) nothingIsLeft(workflow enumspb.WorkflowExecutionStatus) {
	g.t.Helper()
	ex := g.now()
	if ex.GetPhase() != Concluded || !ex.GetAbandoned() || ex.GetRun() != "" || ex.GetDelve() != "" || ex.GetSession() != nil || ex.GetTurn() != nil || ex.GetLeadership() != nil {
		g.t.Errorf("given up, it is %v", ex)
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
	ctx := await.Context(g.t, context.Background())
	_ = g.cfg.Temporal.GetWorkflow(ctx, g.name, "").Get(ctx, nil)
	g.ended(workflow)
	g.complete()
	if err := g.refusal(); fault.ReasonOf(fault.FromStatus(err)) != reasonEnded {
		g.t.Errorf("a command afterwards: %v", err)
	}
}

// Who may give up the run or the delve, but not the journey, is refused before anything is given up.
func TestWhoMayNotGiveEverythingUpGivesNothingUp(t *testing.T) {
	t.Parallel()
	s := newSuite(t, "")
	for name, row := range map[string]struct {
		bring          func(g *group)
		who, character string
		reason, field  string
		override       string
	}{
		"a player who names nobody":               {(*group).inRun, "alice", "", "INVALID", "character", ""},
		"a leader who does not travel":            {(*group).inRun, "alice", "ada", "NO_SUCH_MEMBER", "character", ""},
		"a game master for somebody who does not": {(*group).inRun, "gerd", "ada", "NO_SUCH_MEMBER", "character", "they want to"},
		"a traveler who does not lead":            {(*group).inRun, "bob", "bram", "NOT_LEADER", "", ""},
		"a delver who does not travel":            {(*group).inDelve, "alice", "ada", "NO_SUCH_MEMBER", "character", ""},
		"a fighter who does not travel":           {func(g *group) { g.inDelve(); g.fight() }, "alice", "ada", "NO_SUCH_MEMBER", "character", ""},
		"a traveler who does not delve":           {(*group).inDelve, "carol", "cleo", "NOT_A_MEMBER", "character", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := s.gather(t, strings.ReplaceAll(name, " ", "-"), nil)
			row.bring(g)
			before, lent := g.now(), g.lent()
			give := &expeditionv1.AbandonExpeditionRequest{Name: g.name, OverrideReason: row.override}
			if row.character != "" {
				give.Character = g.character(row.character)
			}
			err := g.givesUp(row.who, "give-up", give)
			f := (*fault.Error)(nil)
			if !errors.As(err, &f) || f.Reason != row.reason || (row.field == "") != (len(f.Fields) == 0) || row.field != "" && f.Fields[0].Field != row.field {
				t.Errorf("refused with %v", err)
			}
			if after := g.now(); !proto.Equal(before, after) {
				t.Errorf("refused, the expedition went from\n%v\nto\n%v", before, after)
			}
			if diff := cmp.Diff(lent, g.lent()); diff != "" {
				t.Errorf("lent (-before +after):\n%s", diff)
			}
			if before.GetDelve() != "" {
				res := &dungeonv1.GetDelveResponse{}
				g.call("gerd", &dungeonv1.GetDelveRequest{Name: before.GetDelve()}, res)
				if fights := name == "a fighter who does not travel"; res.GetDelve().GetPhase() == dungeonv1.Delve_PHASE_LEFT || res.GetDelve().GetInCombat() != fights {
					t.Errorf("the delve is %v", res.GetDelve())
				}
			}
			if err := g.givesUp("gerd", "gerd-gives-up", &expeditionv1.AbandonExpeditionRequest{Name: g.name}); err != nil {
				t.Errorf("a game master: %v", err)
			}
			if ex := g.now(); ex.GetPhase() != Concluded || !ex.GetAbandoned() {
				t.Errorf("it is %v", ex)
			}
		})
	}
}

// inRun brings bram and cleo, who travel, into a run that ada, who does not, leads.
func (g *group) inRun() {
	g.t.Helper()
	g.stayAtHome()
	g.does("alice", g.enterRun("run"))
}

// inDelve brings ada, who does not travel, and bram into a delve.
func (g *group) inDelve() {
	g.t.Helper()
	g.stayAtHome()
	g.explore()
}

// stayAtHome sets the expedition out without ada.
func (g *group) stayAtHome() {
	g.t.Helper()
	g.call("gerd", &partyv1.RemoveTravelerRequest{Name: g.campaign + "/companies/k", Label: "ada"}, &partyv1.RemoveTravelerResponse{})
	out, in := g.setOut(), g.goIn("pit")
	out.GetStartJourney().Character, in.GetEnterLocation().Character = g.character("bram"), g.character("bram")
	g.does("bob", out)
	g.does("bob", in)
}

// givesUp carries giving up out as the activity does, again and again until it has an outcome.
func (g *group) givesUp(who, id string, give *expeditionv1.AbandonExpeditionRequest) error {
	g.t.Helper()
	give.RequestId = id
	raw, err := marshal(give)
	if err != nil {
		g.t.Fatal(err)
	}
	for range 30 {
		_, err = g.server.executeCommand(context.Background(), g.name, command{RequestID: id, RequestHash: "hash", Actor: who, Abandon: raw})
		if st := unpack(err); st != nil {
			err = fault.FromStatus(st.Err())
		}
		if err == nil || final(err) {
			break
		}
		g.sweep()
	}
	return err
}

// An attempt to give up dies between the journey and the log. Whoever comes next finds the expedition given up, and who gave
// it up gets their answer; nobody else does.
func TestAnExpeditionIsGivenUpWhateverDies(t *testing.T) {
	t.Parallel()
	tb, name := lone(t)
	tb.acts(start(name, "start"), Traveling)
	give := &expeditionv1.AbandonExpeditionRequest{Name: name, RequestId: "give-up", Character: ada}
	raw, err := marshal(give)
	if err != nil {
		t.Fatal(err)
	}
	hash, err := requestid.Hash(expeditionv1.ExpeditionService_AbandonExpedition_FullMethodName, "alice", give)
	if err != nil {
		t.Fatal(err)
	}
	ctx, die := context.WithCancel(t.Context())
	tb.server.afterCall = func(_ context.Context, command string) {
		if command == "abandon_journey" {
			die()
		}
	}
	if _, err := tb.server.executeCommand(ctx, name, command{RequestID: "give-up", RequestHash: hash, Actor: "alice", Abandon: raw}); err == nil {
		t.Fatal("the attempt lives")
	}
	tb.server.afterCall = nil
	if _, err := tb.act(move(name, "move", 1), false); fault.ReasonOf(err) != "NOT_TRAVELING" {
		t.Errorf("a move: %v", err)
	}
	abandon := func(who, id string) (*expeditionv1.AbandonExpeditionResponse, error) {
		return tb.client.AbandonExpedition(by(t.Context(), who), &expeditionv1.AbandonExpeditionRequest{Name: name, RequestId: id, Character: ada})
	}
	first, err := abandon("alice", "give-up")
	if ex := first.GetExpedition(); err != nil || ex.GetPhase() != Concluded || !ex.GetAbandoned() {
		t.Fatalf("asked again: %v, %v", first, err)
	}
	if again, err := abandon("alice", "give-up"); err != nil || !proto.Equal(first, again) {
		t.Errorf("asked once more: %v, %v", again, err)
	}
	for who, want := range map[string]string{"bob": journal.ReasonRequestIDReused, "gerd": journal.ReasonRequestIDReused} {
		if res, err := abandon(who, "give-up"); fault.ReasonOf(fault.FromStatus(err)) != want {
			t.Errorf("%s asks with the same id: %v, %v", who, res, err)
		}
	}
	if _, err := abandon("alice", "another"); fault.ReasonOf(fault.FromStatus(err)) != reasonEnded {
		t.Errorf("given up twice: %v", err)
	}
	tb.whole(name)
}

// Who gives up leaves the delve, and the minutes until then passed in it.
func TestMinutesCountUntilTheExpeditionIsGivenUp(t *testing.T) {
	t.Parallel()
	tb, w := clockTable(t)
	name := tb.begin("minutes")
	tb.must("alice", start(name, "start"), Traveling)
	tb.must("alice", enter(name, "enter"), AtLocation)
	delve := tb.must("alice", open(name, "open"), Delving).GetExpedition().GetDelve()
	if _, err := tb.client.OpenSession(by(t.Context(), "alice"), &expeditionv1.OpenSessionRequest{Name: name, RequestId: "session"}); err != nil {
		t.Fatal(err)
	}
	tb.must("alice", fight(name, "fight"), Delving)
	w.set(7.5)
	if _, err := tb.client.AbandonExpedition(by(t.Context(), "alice"), &expeditionv1.AbandonExpeditionRequest{Name: name, RequestId: "give-up", Character: ada}); err != nil {
		t.Fatal(err)
	}
	tb.world.with(func() {
		if n := tb.world.delves[delve].GetRealClock(); n != 7 {
			t.Errorf("%d minutes were counted", n)
		}
	})
	if got := strings.Join(tb.whole(name), " "); got != "start_journey enter_location start_delve start_combat add_real_time end_combat leave_delve abandon_journey" {
		t.Errorf("executed %s", got)
	}
}
