package integration_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	dungeonv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dungeon/v1"
	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"
)

func with[M proto.Message](m M, change func(M)) M {
	change(m)
	return m
}

// Every command that is not allowed, in a run where a challenge is pending and Ada, who leads and drew it, has acted.
func TestRefusedCommandsChangeNothing(t *testing.T) {
	t.Parallel()
	n := newWorld(t).node().started()
	do[*dungeonv1.ActResponse](n, adas, with(force(ada), func(r *dungeonv1.ActRequest) { r.RequestId = "act" }))
	stale := n.run(gm).GetEtag()
	do[*dungeonv1.ActResponse](n, cleos, force(cleo))
	before, etag := n.seqs(), n.run(gm).GetEtag()

	draw := func(character string) *dungeonv1.DrawRequest {
		return &dungeonv1.DrawRequest{Name: delve, Character: character}
	}
	complete := func(character string) *dungeonv1.CompleteRequest {
		return &dungeonv1.CompleteRequest{Name: delve, Character: character}
	}
	for name, tc := range map[string]struct {
		who     string
		req     proto.Message
		refusal refusal
	}{
		"no token":                          {"", force(bram), refusal{codes.Unauthenticated, "TOKEN_MISSING", ""}},
		"no member of the campaign":         {stranger, force(bram), refusal{codes.NotFound, "NOT_FOUND", ""}},
		"a spectator":                       {spectator, force(bram), refusal{codes.PermissionDenied, "SPECTATOR", ""}},
		"somebody else's character":         {adas, force(bram), refusal{codes.PermissionDenied, "NOT_YOUR_CHARACTER", ""}},
		"a bot for a character not listed":  {bot, force(bram), refusal{codes.PermissionDenied, "NOT_YOUR_CHARACTER", ""}},
		"an own character that stayed home": {adas, force(dan), refusal{codes.FailedPrecondition, "NOT_A_MEMBER", ""}},
		"another campaign's character":      {brams, force(zed), refusal{codes.NotFound, "NOT_FOUND", "character"}},
		"a run that is not there": {brams, with(force(bram), func(r *dungeonv1.ActRequest) { r.Name = camp + "/runs/none" }),
			refusal{codes.NotFound, "NOT_FOUND", "name"}},
		"another campaign's run": {stranger, with(force(zed), func(r *dungeonv1.ActRequest) { r.Name = other + "/runs/delve" }),
			refusal{codes.NotFound, "NOT_FOUND", "name"}},
		"act twice":                  {adas, force(ada), refusal{codes.FailedPrecondition, "ALREADY_ACTED", ""}},
		"act twice, with a tool":     {adas, use(ada, 1), refusal{codes.FailedPrecondition, "ALREADY_ACTED", ""}},
		"a tool that one has not":    {brams, use(bram, 1), refusal{codes.FailedPrecondition, "NO_SUCH_TOOL", "action.tool"}},
		"draw with one pending":      {brams, draw(bram), refusal{codes.FailedPrecondition, "CHALLENGE_PENDING", ""}},
		"complete before all acted":  {adas, complete(ada), refusal{codes.FailedPrecondition, "NOT_ALL_ACTED", ""}},
		"complete by another":        {brams, complete(bram), refusal{codes.FailedPrecondition, "NOT_DRAWER", ""}},
		"a leader leaves":            {adas, &dungeonv1.LeaveRequest{Name: delve, Character: ada}, refusal{codes.FailedPrecondition, "LEADER_WITH_MEMBERS", ""}},
		"one who is not in it goes":  {adas, &dungeonv1.LeaveRequest{Name: delve, Character: dan}, refusal{codes.FailedPrecondition, "NOT_A_MEMBER", ""}},
		"promote by another":         {brams, &dungeonv1.PromoteRequest{Name: delve, Character: bram, Target: bram}, refusal{codes.FailedPrecondition, "NOT_LEADER", ""}},
		"promote with acts pending":  {adas, &dungeonv1.PromoteRequest{Name: delve, Character: ada, Target: bram}, refusal{codes.FailedPrecondition, "ACTS_PENDING", ""}},
		"promote one who stayed":     {adas, &dungeonv1.PromoteRequest{Name: delve, Character: ada, Target: dan}, refusal{codes.FailedPrecondition, "NOT_A_MEMBER", ""}},
		"promote a foreigner":        {adas, &dungeonv1.PromoteRequest{Name: delve, Character: ada, Target: zed}, refusal{codes.NotFound, "NOT_FOUND", "target"}},
		"abandon by another":         {brams, &dungeonv1.AbandonRunRequest{Name: delve, Character: bram}, refusal{codes.FailedPrecondition, "NOT_LEADER", ""}},
		"abandon by a GM, no reason": {gm, &dungeonv1.AbandonRunRequest{Name: delve, Character: bram}, refusal{codes.FailedPrecondition, "NOT_LEADER", ""}},
		"an old etag": {brams, with(force(bram), func(r *dungeonv1.ActRequest) { r.Etag = stale }),
			refusal{codes.Aborted, "ETAG_MISMATCH", "etag"}},
		"a request_id of another request": {adas, with(force(ada), func(r *dungeonv1.ActRequest) { r.RequestId, r.Action.Risk = "act", true }),
			refusal{codes.InvalidArgument, "REQUEST_ID_REUSED", "request_id"}},
		"a request_id of somebody else": {gm, with(force(ada), func(r *dungeonv1.ActRequest) { r.RequestId = "act" }),
			refusal{codes.InvalidArgument, "REQUEST_ID_REUSED", "request_id"}},
		"a player overrides": {adas, with(complete(ada), func(r *dungeonv1.CompleteRequest) { r.OverrideReason = "I say so" }),
			refusal{codes.PermissionDenied, "NOT_GM", "override_reason"}},
		"a player reports dice": {adas, with(complete(ada), func(r *dungeonv1.CompleteRequest) { r.ReportedDice, r.Etag = []int32{10, 10}, etag }),
			refusal{codes.PermissionDenied, "NOT_GM", "reported_dice"}},
		"reported dice without an etag": {gm, with(complete(ada), func(r *dungeonv1.CompleteRequest) { r.ReportedDice = []int32{1, 2, 3} }),
			refusal{codes.InvalidArgument, "ETAG_REQUIRED", "etag"}},
		"no character": {brams, force(""), refusal{codes.InvalidArgument, "INVALID", "character"}},
		"no action":    {brams, &dungeonv1.ActRequest{Name: delve, Character: bram}, refusal{codes.InvalidArgument, "INVALID", "action"}},
		"an action of no kind": {brams, &dungeonv1.ActRequest{Name: delve, Character: bram, Action: &dungeonv1.Action{Risk: true}},
			refusal{codes.InvalidArgument, "INVALID", "action.means"}},
		"an action unheard of": {brams, &dungeonv1.ActRequest{Name: delve, Character: bram, Action: &dungeonv1.Action{Means: &dungeonv1.Action_Basic{Basic: "dance"}}},
			refusal{codes.InvalidArgument, "INVALID", "action.basic"}},
		"tool 0":              {brams, use(bram, 0), refusal{codes.InvalidArgument, "INVALID", "action.tool"}},
		"a name with a slash": {brams, with(force(bram), func(r *dungeonv1.ActRequest) { r.Name = delve + "/x" }), refusal{codes.InvalidArgument, "INVALID", "name"}},
		"a blank in the request_id": {brams, with(force(bram), func(r *dungeonv1.ActRequest) { r.RequestId = "a b" }),
			refusal{codes.InvalidArgument, "INVALID", "request_id"}},
		"page_size -1": {gm, &dungeonv1.ListRunsRequest{Parent: camp, PageSize: -1}, refusal{codes.InvalidArgument, "INVALID", "page_size"}},
		"a page_token made up": {gm, &dungeonv1.ListRunsRequest{Parent: camp, PageToken: "next"},
			refusal{codes.InvalidArgument, "PAGE_TOKEN", "page_token"}},
		"read by nobody in particular": {stranger, &dungeonv1.GetRunRequest{Name: delve}, refusal{codes.NotFound, "NOT_FOUND", ""}},
		"read what is not there":       {gm, &dungeonv1.GetRunRequest{Name: camp + "/runs/none"}, refusal{codes.NotFound, "NOT_FOUND", "name"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := n.try(tc.who, tc.req)
			tc.refusal.check(t, err)
			if diff := cmp.Diff(before, n.seqs()); diff != "" {
				t.Errorf("the journal changed: %s", diff)
			}
		})
	}
	// What was refused above is possible in the right way, so that the state was what the table says.
	do[*dungeonv1.ActResponse](n, brams, force(bram))
	do[*dungeonv1.CompleteResponse](n, adas, complete(ada))
	do[*dungeonv1.DrawResponse](n, brams, draw(bram))
	do[*dungeonv1.ActResponse](n, bot, use(ada, 1))
}

// DIG-TOOL-13: the tool has to fit the challenge, be in the belt and have uses left.
func TestToolsThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	n := newWorld(t).node().begin()
	must(n.world, adas, &partyv1.UnloadToolRequest{Name: ada, Number: 2})
	_, err := n.try(adas, startDelve())
	if err != nil {
		t.Fatal(err)
	}
	_, err = n.try(adas, use(ada, 2))
	refusal{codes.FailedPrecondition, "NO_SUCH_TOOL", "action.tool"}.check(t, err)
	for range 2 {
		do[*dungeonv1.ActResponse](n, adas, use(ada, 1))
		n.round(10, 10, 10)
		do[*dungeonv1.DrawResponse](n, brams, &dungeonv1.DrawRequest{Name: delve, Character: bram})
	}
	_, err = n.try(adas, use(ada, 1))
	refusal{codes.FailedPrecondition, "NO_USES_LEFT", "action.tool"}.check(t, err)

	m := newWorld(t).node().started()
	_, err = m.try(adas, use(ada, 2)) // loaded, for agility
	refusal{codes.FailedPrecondition, "WRONG_ABILITY", "action.tool"}.check(t, err)
	_, err = m.try(adas, with(force(ada), func(r *dungeonv1.ActRequest) { r.Action.Means = &dungeonv1.Action_Basic{Basic: "rush"} }))
	refusal{codes.FailedPrecondition, "WRONG_ABILITY", "action.basic"}.check(t, err)
	for _, tool := range m.run(gm).GetMembers()[0].GetTools() {
		if want := map[string]int32{"maul": 2, "hook": 3}[tool.GetId()]; tool.GetUsesLeft() != want {
			t.Errorf("%s has %d uses left after refusals, want %d", tool.GetId(), tool.GetUsesLeft(), want)
		}
	}
	// A tool that is lent stays in the belt (DIG-BELT-08).
	_, err = m.call(m.world.conn, adas, &partyv1.UnloadToolRequest{Name: ada, Number: 2})
	refusal{codes.FailedPrecondition, "LEASED", ""}.check(t, err)
}

func TestReportedDiceThatDoNotFit(t *testing.T) {
	t.Parallel()
	n := newWorld(t).node().started()
	for _, c := range []string{ada, bram, cleo} {
		do[*dungeonv1.ActResponse](n, owners[c], with(force(c), func(r *dungeonv1.ActRequest) { r.Action.Risk = c == bram }))
	}
	before, etag := n.seqs(), n.run(gm).GetEtag()
	bad := refusal{codes.InvalidArgument, "BAD_DICE", "reported_dice"}
	for name, faces := range map[string][]int32{
		"too few": {9, 9}, "too many": {9, 9, 9, 9}, "face 0": {0, 9, 9}, "face 11 of a d10": {9, 11, 9}, "a risk die too few": {9, 1, 9}, "face 101 of a d100": {9, 1, 9, 101},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := n.try(gm, &dungeonv1.CompleteRequest{Name: delve, Character: ada, ReportedDice: faces, Etag: etag})
			bad.check(t, err)
			if diff := cmp.Diff(before, n.seqs()); diff != "" {
				t.Errorf("the journal changed: %s", diff)
			}
		})
	}
	// In the right number they do, and a GM may stand in for the drawer with a reason.
	res := do[*dungeonv1.CompleteResponse](n, gm, &dungeonv1.CompleteRequest{
		Name: delve, Character: bram, OverrideReason: "Ada's player is away", ReportedDice: []int32{9, 1, 9, 50}, Etag: etag,
	})
	if res.GetRecord().GetOverrideReason() != "Ada's player is away" || res.GetRecord().GetActor() != gm || len(res.GetRecord().GetDice()) != 4 {
		t.Errorf("recorded %v", res.GetRecord())
	}
	// A card is one die over the cards that may come: three here.
	_, err := n.try(gm, &dungeonv1.DrawRequest{Name: delve, Character: ada, ReportedDice: []int32{4}, Etag: n.run(gm).GetEtag()})
	bad.check(t, err)
	drawn := do[*dungeonv1.DrawResponse](n, gm, &dungeonv1.DrawRequest{Name: delve, Character: ada, ReportedDice: []int32{3}, Etag: n.run(gm).GetEtag()})
	if got := drawn.GetRun().GetChallenge().GetCard(); got != "n3" {
		t.Errorf("the third card is %s", got)
	}
}

func TestStartsThatAreRefusedBeforeAnything(t *testing.T) {
	t.Parallel()
	n := newWorld(t).node().begin()
	must(n.world, adas, &partyv1.CreatePartyRequest{Parent: camp, PartyId: "lone", Character: dan})
	do[*dungeonv1.ImportDungeonResponse](n, stranger, &dungeonv1.ImportDungeonRequest{Parent: other, Dungeon: testDungeon()})
	before := n.seqs()
	for name, tc := range map[string]struct {
		who     string
		change  func(r *dungeonv1.StartRunRequest)
		refusal refusal
	}{
		"one member": {adas, func(r *dungeonv1.StartRunRequest) { r.Party, r.Character = camp+"/parties/lone", dan },
			refusal{codes.FailedPrecondition, "TOO_FEW_MEMBERS", ""}},
		"not by the leader":        {brams, func(r *dungeonv1.StartRunRequest) { r.Character = bram }, refusal{codes.FailedPrecondition, "NOT_LEADER", ""}},
		"by a GM without a reason": {gm, func(r *dungeonv1.StartRunRequest) { r.Character = bram }, refusal{codes.FailedPrecondition, "NOT_LEADER", ""}},
		"for somebody else":        {brams, func(*dungeonv1.StartRunRequest) {}, refusal{codes.PermissionDenied, "NOT_YOUR_CHARACTER", ""}},
		"by one of another party":  {adas, func(r *dungeonv1.StartRunRequest) { r.Character = dan }, refusal{codes.FailedPrecondition, "NOT_A_MEMBER", ""}},
		"by a spectator":           {spectator, func(*dungeonv1.StartRunRequest) {}, refusal{codes.PermissionDenied, "SPECTATOR", ""}},
		"no dungeon anywhere":      {adas, func(r *dungeonv1.StartRunRequest) { r.Dungeon = "" }, refusal{codes.FailedPrecondition, "NO_DUNGEON", ""}},
		"an unknown dungeon": {adas, func(r *dungeonv1.StartRunRequest) { r.Dungeon = camp + "/dungeons/none" },
			refusal{codes.NotFound, "NOT_FOUND", "dungeon"}},
		"another campaign's dungeon": {adas, func(r *dungeonv1.StartRunRequest) { r.Dungeon = other + "/dungeons/vault" },
			refusal{codes.NotFound, "NOT_FOUND", "dungeon"}},
		"an unknown party": {adas, func(r *dungeonv1.StartRunRequest) { r.Party = camp + "/parties/none" },
			refusal{codes.NotFound, "NOT_FOUND", "party"}},
		"another campaign's party": {adas, func(r *dungeonv1.StartRunRequest) { r.Party = other + "/parties/team" },
			refusal{codes.NotFound, "NOT_FOUND", "party"}},
		"another campaign's character": {adas, func(r *dungeonv1.StartRunRequest) { r.Character = zed },
			refusal{codes.NotFound, "NOT_FOUND", "character"}},
		"an expedition named by a player": {adas, func(r *dungeonv1.StartRunRequest) { r.Expedition = camp + "/expeditions/x" },
			refusal{codes.PermissionDenied, "NOT_A_SERVICE", "expedition"}},
		"a die that is not needed": {gm, func(r *dungeonv1.StartRunRequest) { r.ReportedDice = []int32{1} },
			refusal{codes.InvalidArgument, "BAD_DICE", "reported_dice"}},
		"an id with a capital": {adas, func(r *dungeonv1.StartRunRequest) { r.RunId = "Delve" }, refusal{codes.InvalidArgument, "INVALID", "run_id"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := n.try(tc.who, with(startDelve(), tc.change))
			tc.refusal.check(t, err)
			if diff := cmp.Diff(before, n.seqs()); diff != "" {
				t.Errorf("the journal changed: %s", diff)
			}
		})
	}
	do[*dungeonv1.StartRunResponse](n, adas, startDelve()) // none of them used the id up
	_, err := n.try(adas, with(startDelve(), func(r *dungeonv1.StartRunRequest) { r.RequestId = "again" }))
	refusal{codes.AlreadyExists, "ALREADY_EXISTS", ""}.check(t, err)
}

func TestARunOfAnExpeditionObeysItAlone(t *testing.T) {
	t.Parallel()
	n := newWorld(t).node().begin()
	owner := camp + "/expeditions/x"
	req := with(startDelve(), func(r *dungeonv1.StartRunRequest) { r.Expedition = owner })
	if got := do[*dungeonv1.StartRunResponse](n, expedition+" for "+adas, req).GetRun().GetExpedition(); got != owner {
		t.Errorf("the run is of %q", got)
	}
	for _, who := range []string{brams, gm} {
		_, err := n.try(who, force(bram))
		refusal{codes.FailedPrecondition, "OWNED_BY_EXPEDITION", ""}.check(t, err)
	}
	_, err := n.try(expedition+" for "+adas, force(bram))
	refusal{codes.PermissionDenied, "NOT_YOUR_CHARACTER", ""}.check(t, err)
	if got := do[*dungeonv1.ActResponse](n, expedition+" for "+brams, force(bram)).GetRecord().GetActor(); got != brams {
		t.Errorf("the actor is %q", got)
	}
	do[*dungeonv1.ActResponse](n, expedition, force(ada)) // for itself, an absent player's basic action
}

func TestAGMStandsInWithAReason(t *testing.T) {
	t.Parallel()
	n := newWorld(t).node().begin()
	res := do[*dungeonv1.StartRunResponse](n, gm, with(startDelve(), func(r *dungeonv1.StartRunRequest) { r.Character, r.OverrideReason = bram, "Ada sleeps" }))
	if res.GetRun().GetLeader() != ada || res.GetRun().GetChallenge().GetDrawer() != bram {
		t.Errorf("led by %s, drawn by %s", res.GetRun().GetLeader(), res.GetRun().GetChallenge().GetDrawer())
	}
	do[*dungeonv1.PromoteResponse](n, gm, &dungeonv1.PromoteRequest{Name: delve, Character: bram, Target: cleo, OverrideReason: "Ada sleeps"})
	gone := do[*dungeonv1.AbandonRunResponse](n, gm, &dungeonv1.AbandonRunRequest{Name: delve, Character: ada, OverrideReason: "late"})
	if gone.GetRun().GetPhase() != dungeonv1.Run_PHASE_ABANDONED || gone.GetRecord().GetOverrideReason() != "late" || n.roster().GetLeader() != cleo {
		t.Errorf("%v, led by %s", gone, n.roster().GetLeader())
	}
}

// DIG-PARTY-08: the last who could go on leaves; DIG-ACT-04: the leader completes for a drawer who left.
func TestWhenMembersLeave(t *testing.T) {
	t.Parallel()
	n := newWorld(t).node().started()
	n.round(10, 10, 10)
	do[*dungeonv1.DrawResponse](n, brams, &dungeonv1.DrawRequest{Name: delve, Character: bram})
	do[*dungeonv1.ActResponse](n, brams, force(bram))
	left := do[*dungeonv1.LeaveResponse](n, brams, &dungeonv1.LeaveRequest{Name: delve, Character: bram})
	if got := left.GetRun().GetChallenge().GetWaiting(); len(got) != 2 {
		t.Errorf("%v are waited for", got)
	}
	do[*dungeonv1.ActResponse](n, adas, force(ada))
	do[*dungeonv1.ActResponse](n, cleos, force(cleo))
	_, err := n.try(cleos, &dungeonv1.CompleteRequest{Name: delve, Character: cleo})
	refusal{codes.FailedPrecondition, "NOT_DRAWER", ""}.check(t, err)
	do[*dungeonv1.CompleteResponse](n, adas, &dungeonv1.CompleteRequest{Name: delve, Character: ada})
	do[*dungeonv1.LeaveResponse](n, cleos, &dungeonv1.LeaveRequest{Name: delve, Character: cleo})
	do[*dungeonv1.LeaveResponse](n, adas, &dungeonv1.LeaveRequest{Name: delve, Character: ada})
	if r := n.run(gm); r.GetPhase() != dungeonv1.Run_PHASE_EXHAUSTED || !r.GetSettled() || len(n.lent(ada, bram, cleo)) > 0 {
		t.Errorf("after all have left: %v", r)
	}
}
