package dungeon_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	dungeonv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dungeon/v1"
	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"
)

func complete(who string) *dungeonv1.CompleteRequest {
	return &dungeonv1.CompleteRequest{Name: dive, Character: who}
}

func draw(who string) *dungeonv1.DrawRequest {
	return &dungeonv1.DrawRequest{Name: dive, Character: who}
}

func leave(who string) *dungeonv1.LeaveRequest {
	return &dungeonv1.LeaveRequest{Name: dive, Character: who}
}

func promote(who, target, reason string) *dungeonv1.PromoteRequest {
	return &dungeonv1.PromoteRequest{Name: dive, Character: who, Target: target, OverrideReason: reason}
}

func abandon(who, reason string) *dungeonv1.AbandonRunRequest {
	return &dungeonv1.AbandonRunRequest{Name: dive, Character: who, OverrideReason: reason}
}

// The stages of a run at which commands are refused; the zero stage is a challenge that nobody has met yet.
const (
	bramActed = "Bram has acted"
	allActed  = "all have acted"
	between   = "between challenges"
	cleoLeft  = "Cleo has left"
)

var stages = map[string]func(n *node){
	"":        func(*node) {},
	bramActed: func(n *node) { do[*dungeonv1.ActResponse](n, brams, basic(bram, "brute")) },
	allActed:  (*node).act,
	between:   (*node).round,
	cleoLeft:  func(n *node) { do[*dungeonv1.LeaveResponse](n, cleos, leave(cleo)) },
}

// refusedCommand is a command that is refused at a stage.
type refusedCommand struct {
	stage string
	who   string
	req   func(n *node) proto.Message
	want  refusal
}

func plain(req proto.Message) func(*node) proto.Message {
	return func(*node) proto.Message { return req }
}

// withEtag adds the present etag.
func withEtag(req func(etag string) proto.Message) func(*node) proto.Message {
	return func(n *node) proto.Message { return req(n.run(gm).GetEtag()) }
}

func refuse(reason string) refusal { return refusal{code: codes.FailedPrecondition, reason: reason} }

// refuses makes sure that a command is refused and leaves the journal and what is lent as they were.
func (c refusedCommand) refuses(t *testing.T, n *node) {
	t.Helper()
	req := c.req(n)
	seqs, lent := n.seqs(), n.leases()
	_, err := n.call(c.who, req)
	c.want.check(t, err)
	if diff := cmp.Diff(seqs, n.seqs()); diff != "" {
		t.Errorf("the journal has changed (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(lent, n.leases()); diff != "" {
		t.Errorf("what is lent has changed (-before +after):\n%s", diff)
	}
}

// round lets everybody act and completes the entry.
func (n *node) round() {
	n.act()
	do[*dungeonv1.CompleteResponse](n, adas, complete(ada))
}

// refuseAll gives commands at their stages, those of one stage in one run: a refusal leaves it as it was.
func refuseAll(t *testing.T, begin func(n *node), commands map[string]refusedCommand) {
	t.Helper()
	reached := map[string]bool{}
	for _, c := range commands {
		reached[c.stage] = true
	}
	for stage := range reached {
		t.Run(stage, func(t *testing.T) {
			t.Parallel()
			n := newWorld(t).node()
			begin(n)
			stages[stage](n)
			for name, c := range commands {
				if c.stage == stage {
					t.Run(name, func(t *testing.T) { c.refuses(t, n) })
				}
			}
		})
	}
}

func TestRefusedCommands(t *testing.T) {
	t.Parallel()
	refuseAll(t, func(n *node) { n.begin() }, map[string]refusedCommand{
		"acting twice": {
			stage: bramActed, who: brams, req: plain(basic(bram, "brute")), want: refuse("ALREADY_ACTED"),
		},
		"a tool that there is not":              {who: adas, req: plain(withTool(ada, 7)), want: refusal{codes.FailedPrecondition, "NO_SUCH_TOOL", "action.tool"}},
		"a tool of another ability":             {who: adas, req: plain(withTool(ada, 2)), want: refusal{codes.FailedPrecondition, "WRONG_ABILITY", "action.tool"}},
		"a basic action of another ability":     {who: brams, req: plain(basic(bram, "rush")), want: refusal{codes.FailedPrecondition, "WRONG_ABILITY", "action.basic"}},
		"a basic action that there is not":      {who: brams, req: plain(basic(bram, "dance")), want: refusal{codes.InvalidArgument, "INVALID", "action.basic"}},
		"no action":                             {who: brams, req: plain(&dungeonv1.ActRequest{Name: dive, Character: bram}), want: refusal{codes.InvalidArgument, "INVALID", "action"}},
		"acting between challenges":             {stage: between, who: brams, req: plain(basic(bram, "brute")), want: refuse("NO_CHALLENGE")},
		"completing between challenges":         {stage: between, who: adas, req: plain(complete(ada)), want: refuse("NO_CHALLENGE")},
		"completing before all have acted":      {who: adas, req: plain(complete(ada)), want: refuse("NOT_ALL_ACTED")},
		"completing by another than the drawer": {stage: allActed, who: brams, req: plain(complete(bram)), want: refuse("NOT_DRAWER")},
		"a GM completes without a reason":       {stage: allActed, who: gm, req: plain(complete(bram)), want: refuse("NOT_DRAWER")},
		"drawing with a challenge pending":      {who: brams, req: plain(draw(bram)), want: refuse("CHALLENGE_PENDING")},
		"a promotion by another":                {who: brams, req: plain(promote(bram, bram, "")), want: refuse("NOT_LEADER")},
		"a GM promotes without a reason":        {who: gm, req: plain(promote(bram, bram, "")), want: refuse("NOT_LEADER")},
		"promoting who is not there":            {who: adas, req: plain(promote(ada, camp+"/characters/dov", "")), want: refuse("NOT_A_MEMBER")},
		"promoting somebody elsewhere": {
			who: adas, req: plain(promote(ada, other+"/characters/zed", "")), want: refusal{codes.NotFound, "NOT_FOUND", "target"},
		},
		"promoting while acts are pending": {
			stage: bramActed, who: adas, req: plain(promote(ada, bram, "")), want: refuse("ACTS_PENDING"),
		},
		"a leader with members leaves": {who: adas, req: plain(leave(ada)), want: refuse("LEADER_WITH_MEMBERS")},
		"abandoning by another":        {who: brams, req: plain(abandon(bram, "")), want: refuse("NOT_LEADER")},
		"who is not there draws":       {who: gm, req: plain(draw(camp + "/characters/dov")), want: refuse("NOT_A_MEMBER")},
		"who has left acts": {
			stage: cleoLeft, who: cleos, req: plain(basic(cleo, "brute")), want: refuse("NOT_A_MEMBER"),
		},
		"somebody elsewhere acts": {who: gm, req: plain(draw(other + "/characters/zed")), want: refusal{codes.NotFound, "NOT_FOUND", "character"}},
		"a run that there is not": {
			who: gm, req: plain(&dungeonv1.DrawRequest{Name: camp + "/runs/none", Character: ada}), want: refusal{codes.NotFound, "NOT_FOUND", "name"},
		},
		"too few reported dice": {
			stage: allActed, who: gm, want: refusal{codes.InvalidArgument, "BAD_DICE", "reported_dice"},
			req: withEtag(func(etag string) proto.Message {
				return &dungeonv1.CompleteRequest{Name: dive, Character: ada, Etag: etag, ReportedDice: []int32{5, 5}}
			}),
		},
		"too many reported dice": {
			stage: allActed, who: gm, want: refusal{codes.InvalidArgument, "BAD_DICE", "reported_dice"},
			req: withEtag(func(etag string) proto.Message {
				return &dungeonv1.CompleteRequest{Name: dive, Character: ada, Etag: etag, ReportedDice: []int32{5, 5, 5, 5}}
			}),
		},
		"a reported face 0": {
			stage: allActed, who: gm, want: refusal{codes.InvalidArgument, "BAD_DICE", "reported_dice"},
			req: withEtag(func(etag string) proto.Message {
				return &dungeonv1.CompleteRequest{Name: dive, Character: ada, Etag: etag, ReportedDice: []int32{5, 0, 5}}
			}),
		},
		"a reported face beyond the die": {
			stage: allActed, who: gm, want: refusal{codes.InvalidArgument, "BAD_DICE", "reported_dice"},
			req: withEtag(func(etag string) proto.Message {
				return &dungeonv1.CompleteRequest{Name: dive, Character: ada, Etag: etag, ReportedDice: []int32{5, 11, 5}}
			}),
		},
		"reported dice without an etag": {
			stage: between, who: gm, req: plain(withDice(draw(bram), 1)), want: refusal{codes.InvalidArgument, "ETAG_REQUIRED", "etag"},
		},
		"reported dice with a stale etag": {
			stage: between, who: gm, want: refusal{codes.Aborted, "ETAG_MISMATCH", "etag"},
			req: plain(&dungeonv1.DrawRequest{Name: dive, Character: bram, ReportedDice: []int32{1}, Etag: journalEtag(dive, 2)}),
		},
		"a stale etag": {
			stage: bramActed, who: adas, want: refusal{codes.Aborted, "ETAG_MISMATCH", "etag"},
			req: plain(&dungeonv1.LeaveRequest{Name: dive, Character: ada, Etag: journalEtag(dive, 2)}),
		},
		"an act with a stale etag": {
			stage: bramActed, who: adas, want: refusal{codes.Aborted, "ETAG_MISMATCH", "etag"},
			req: func(*node) proto.Message {
				req := basic(ada, "brute")
				req.Etag = journalEtag(dive, 2)
				return req
			},
		},
		"a bad name": {who: gm, req: plain(&dungeonv1.DrawRequest{Name: "runs/dive", Character: ada}), want: refusal{codes.InvalidArgument, "INVALID", "name"}},
	})
}

// An early leaver has loadout and seat back while the others play on; what happens to the leader's seat comes later.
func TestAnEarlyLeaverIsFree(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := w.node().begin()
	do[*dungeonv1.ActResponse](n, cleos, basic(cleo, "brute"))
	left := do[*dungeonv1.LeaveResponse](n, cleos, leave(cleo))
	if r := left.GetRun(); len(r.GetMembers()) != 2 || len(left.GetEvents()) != 1 || left.GetEvents()[0].GetMemberLeft().GetCharacter() != cleo {
		t.Errorf("left: %v", left)
	}
	if diff := cmp.Diff([]string{"team to dive", "ada to dive", "bram to dive"}, w.leases()); diff != "" {
		t.Errorf("lent (-want +got):\n%s", diff)
	}
	if p := w.party(); len(p.GetMembers()) != 2 || p.GetLeader() != ada || w.owing() != 0 {
		t.Errorf("the party is %v, owing %d", p, w.owing())
	}
	do[*partyv1.CreatePartyResponse](w.parties, cleos, &partyv1.CreatePartyRequest{Parent: camp, PartyId: "next", Character: cleo})

	do[*dungeonv1.PromoteResponse](n, adas, promote(ada, bram, ""))
	do[*dungeonv1.LeaveResponse](n, adas, leave(ada))
	if p := w.party(); len(p.GetMembers()) != 1 || p.GetLeader() != bram {
		t.Errorf("the party is %v", p)
	}
	if got := n.run(brams); got.GetChallenge().GetDrawer() != ada || got.GetLeader() != bram {
		t.Errorf("the run is %v", got)
	}
	last := do[*dungeonv1.LeaveResponse](n, brams, leave(bram))
	if last.GetRun().GetPhase() != dungeonv1.Run_PHASE_EXHAUSTED {
		t.Errorf("after the last has left: %v", last.GetRun())
	}
	if l := w.leases(); len(l) != 0 || !n.run(gm).GetSettled() || !w.revealed() || w.owing() != 0 {
		t.Errorf("lent %v, revealed %v, owing %d", l, w.revealed(), w.owing())
	}
	w.foldsAlike(dive)
}
