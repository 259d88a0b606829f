package expedition

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	dungeonv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dungeon/v1"
	expeditionv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/expedition/v1"
	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/fault"
)

// with is a map with those of others.
func with(all ...map[string]string) map[string]string {
	out := map[string]string{}
	for _, m := range all {
		maps.Copy(out, m)
	}
	return out
}

// reads are steps that change nothing: they cannot be refused but for good reasons, and nothing is lost with their answers.
var reads = regexp.MustCompile(`>(Get|List|Watch|Check|DrawKey)`)

// inserts cannot be refused.
var inserts = regexp.MustCompile(`>Insert`)

// A saga is a command that takes steps in several services. Each of its steps, as they were seen when nothing went wrong,
// is spoiled in each way, in a campaign of its own.
type saga struct {
	// before brings the group to where the command can be given.
	before func(g *group)
	give   func(g *group, id string) *req
	// held is what is lent before the command, after what is lent when it has had its effect.
	held, after map[string]string
	phase       Phase
	// starts tells that a refusal in the midst undoes everything.
	starts bool
	// only are the steps that are spoiled, where not all are: the services' own tests let them die at each of their inserts.
	only *regexp.Regexp
}

func (g *group) arrive() {
	g.does("alice", g.setOut())
	g.does("alice", g.goIn("pit"))
}

// outer are the steps that services take outside of themselves, and the inserts of the expedition.
var outer = regexp.MustCompile(`^expedition>|>(Create|Reveal)|>Take.*#[124]$|>Return.*#[14]$`)

var sagas = map[string]saga{
	"entering a run": {
		before: (*group).arrive, give: (*group).enterRun, held: traveling, after: with(traveling, running), phase: Delving, starts: true,
		only: outer,
	},
	"leaving a run": {
		before: func(g *group) { g.arrive(); g.does("alice", g.enterRun("run")) }, give: (*group).giveRunUp,
		held: with(traveling, running), after: traveling, phase: AtLocation, only: outer,
	},
	"entering a delve": {
		before: (*group).arrive, give: (*group).enterDelve, held: traveling, after: traveling, phase: Delving, starts: true, only: outer,
	},
	"leaving a delve": {
		before: func(g *group) { g.arrive(); g.explore() }, give: (*group).leaveDelve, held: traveling, after: traveling, phase: AtLocation, only: outer,
	},
	"setting out": {
		before: func(*group) {}, give: func(g *group, id string) *req { r := g.setOut(); r.RequestId = id; return r },
		held: map[string]string{}, after: traveling, phase: Traveling, starts: true, only: regexp.MustCompile(`travel>(Create|Take.*#3)`),
	},
	"coming home": {
		before: func(g *group) { g.does("alice", g.setOut()) }, give: (*group).goHome, held: traveling, after: map[string]string{}, phase: Concluded,
		only: regexp.MustCompile(`travel>(Return.*#4|Reveal)`),
	},
}

// explore opens a delve and prepares it so far that they explore.
func (g *group) explore() {
	g.t.Helper()
	g.does("alice", g.enterDelve("open"))
	for i, c := range []*req{
		{Command: &expeditionv1.ExecuteRequest_RecordMembers{RecordMembers: &dungeonv1.RecordMembersRequest{Character: g.character("ada"), Members: []*dungeonv1.DelveMemberEntry{
			{Name: "Ada", Character: g.character("ada"), Kind: "PC", Rank: "FRONT"},
		}}}},
		{Command: &expeditionv1.ExecuteRequest_RecordProvisions{RecordProvisions: &dungeonv1.RecordProvisionsRequest{Character: g.character("ada"), Note: "bread"}}},
		{Command: &expeditionv1.ExecuteRequest_RecordLights{RecordLights: &dungeonv1.RecordLightsRequest{Character: g.character("ada")}}},
		{Command: &expeditionv1.ExecuteRequest_BeginDelve{BeginDelve: &dungeonv1.BeginDelveRequest{Character: g.character("ada")}}},
	} {
		c.Name, c.RequestId = g.name, fmt.Sprint("set-up-", i)
		g.does("alice", c)
	}
}

// steps gives the command without a mishap and returns the steps that were seen.
func (c saga) steps(t *testing.T, s *suite, id string) []string {
	t.Helper()
	g := s.gather(t, id, nil)
	c.before(g)
	s.mishaps.arm(g.campaign, "", 0)
	g.does("alice", c.give(g, "give"))
	steps := s.mishaps.disarm(g.campaign).steps
	c.done(g, "give")
	return steps
}

// done checks that the command had its whole effect, once.
func (c saga) done(g *group, id string) {
	g.t.Helper()
	if diff := cmp.Diff(c.after, g.lent()); diff != "" {
		g.t.Errorf("lent (-want +got):\n%s", diff)
	}
	if got := g.now(); got.GetPhase() != c.phase {
		g.t.Errorf("the expedition is %v, want %v", got.GetPhase(), c.phase)
	}
	name := string(c.give(g, id).ProtoReflect().WhichOneof(commands).Name())
	log := g.logOf("gerd", g.name)
	told := tell(log)
	if n := tally(told, name); n != 1 {
		g.t.Errorf("%s was executed %d times: %v", name, n, told)
	}
	// Whoever asks again gets the answer, which is the record in the log.
	again, err := g.client.Execute(by(context.Background(), "alice"), c.give(g, id))
	if err != nil || !slices.ContainsFunc(log, func(r *expeditionv1.WatchExpeditionResponse) bool {
		return proto.Equal(r.GetRecord(), again.GetRecord())
	}) ||
		again.GetRecord().GetRequestId() != id {
		g.t.Errorf("asked again: %v, %v", again.GetRecord(), err)
	}
	g.completeIn(log)
}

// undone checks that nothing of the command is left but what the log says of it.
func (c saga) undone(g *group, phase Phase, want error) {
	g.t.Helper()
	if diff := cmp.Diff(c.held, g.lent()); diff != "" {
		g.t.Errorf("lent after it was undone (-want +got):\n%s", diff)
	}
	ex := g.now()
	if ex.GetPhase() != phase || ex.GetRun() != "" || ex.GetDelve() != "" {
		g.t.Errorf("the expedition is %v", ex)
	}
	told := g.told()
	if n := tally(told, "refused "+fault.ReasonOf(want)); n != 1 || tally(told, "start_intended") != phaseStarts(phase)+1 {
		g.t.Errorf("the log tells %v of a start that was refused with %v", told, want)
	}
	runs := &dungeonv1.ListRunsResponse{}
	g.call("gerd", &dungeonv1.ListRunsRequest{Parent: g.campaign}, runs)
	if len(runs.GetRuns()) > 0 {
		g.t.Errorf("a run is left: %v", runs)
	}
}

// phaseStarts is how many starts have led to a phase.
func phaseStarts(p Phase) int {
	if p == Assembling {
		return 0
	}
	return 1
}

func TestEveryStepOfASagaMayFail(t *testing.T) {
	t.Parallel()
	s := newSuite(t, "")
	n := 0
	for name, c := range sagas {
		n++
		base := fmt.Sprintf("saga-%d", n)
		steps := c.steps(t, s, base)
		if len(steps) < 4 {
			t.Fatalf("%s takes no more steps than %v", name, steps)
		}
		row := 0
		for _, step := range steps {
			for _, how := range []spoiled{before, lost, refusal} {
				switch {
				case !c.only.MatchString(step), reads.MatchString(step) && how != before, inserts.MatchString(step) && how == refusal:
					continue
				}
				row++
				id := fmt.Sprintf("%s-%d", base, row)
				t.Run(fmt.Sprintf("%s: %s %s", name, step, how), func(t *testing.T) {
					t.Parallel()
					c.spoil(t, s, id, step, how)
				})
			}
		}
	}
}

func (c saga) spoil(t *testing.T, s *suite, id, step string, how spoiled) {
	t.Helper()
	g := s.gather(t, id, nil)
	c.before(g)
	phase := g.now().GetPhase()
	m := s.mishaps.arm(g.campaign, step, how)
	err := g.attempts("alice", c.give(g, "give"))
	steps := s.mishaps.disarm(g.campaign).steps
	if !m.hit {
		t.Fatalf("%s was not there: %v", step, steps)
	}
	if err != nil && (how != refusal || fault.ReasonOf(err) != "SPOILED") {
		t.Fatalf("the command failed with %v after %v", err, steps)
	}
	if err != nil && !c.starts {
		// Refused before anything was done: it can be given again.
		g.does("alice", c.give(g, "give"))
		err = nil
	}
	s.sweep() // what a service owes it pays at once, or when it walks around
	if err == nil {
		if ex := g.now(); ex.GetPhase() == AtLocation {
			// What was paid later is told with the next command.
			g.does("alice", g.goOut("on"))
			c.phase = Traveling
		}
		c.done(g, "give")
		return
	}
	c.undone(g, phase, err)
	// Undone in reverse: what was borrowed last goes back first.
	var took, gave []string
	for _, r := range s.mishaps.leases(g.campaign) {
		if r.took {
			took = append(took, r.lender)
		} else if slices.Contains(took, r.lender) {
			gave = append(gave, r.lender)
		}
	}
	slices.Reverse(gave)
	if !slices.Equal(took, gave) {
		t.Errorf("took %v, gave back in reverse %v", took, gave)
	}
	// Nothing is in the way of another.
	g.does("alice", c.give(g, "once-more"))
	c.done(g, "once-more")
}

// What a lender refuses by its own rules is undone as well, and the refusal stays the answer.
func TestAStartThatALenderRefusesIsUndone(t *testing.T) {
	t.Parallel()
	s := newSuite(t, "")
	g := s.gather(t, "lender", nil)
	g.arrive()
	g.call("carol", &partyv1.AddFormRequest{Name: g.character("cleo"), Form: "avatar", NoStatblock: true}, &partyv1.AddFormResponse{})
	g.call("carol", &partyv1.SwitchFormRequest{Name: g.character("cleo"), Form: "avatar"}, &partyv1.SwitchFormResponse{})
	c := sagas["entering a run"]
	for range 2 {
		if err := g.attempts("alice", g.enterRun("give")); fault.ReasonOf(err) != "NO_STATBLOCK" {
			t.Fatalf("without a statblock: %v", err)
		}
		if diff := cmp.Diff(c.held, g.lent()); diff != "" {
			t.Errorf("lent (-want +got):\n%s", diff)
		}
	}
	told := g.told()
	if n := tally(told, "refused NO_STATBLOCK"); n != 2 || tally(told, "start_run") != 0 {
		t.Errorf("the log tells %s", strings.Join(told, " "))
	}
	g.call("carol", &partyv1.SwitchFormRequest{Name: g.character("cleo"), Form: "base"}, proto.Message(&partyv1.SwitchFormResponse{}))
	g.does("alice", g.enterRun("once-more"))
	c.done(g, "once-more")
}
