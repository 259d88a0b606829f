package dungeon_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	dungeonv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dungeon/v1"

	"github.com/wayfarer-rpg/wayfarer/rules/digger"
)

const stranded = camp + "/characters/stranded" // nobody made that character

func staged(change ...func(*dungeonv1.StageRunRequest)) *dungeonv1.StageRunRequest {
	req := &dungeonv1.StageRunRequest{
		Parent: camp, RunId: "dive", Dungeon: granary, Reason: "the bridge fell", RequestId: "stage",
		Members: []*dungeonv1.StagedMember{
			{
				Character: ada, Owner: adas, Title: "Ada", Ratings: []int32{6, 6, 6, 6}, Exhaustion: 30,
				Tools: []*dungeonv1.StagedTool{
					{Id: "maul", Ability: "brute", Rating: "minor", Qualities: []string{"improved", "efficient", "rally"}, Drawback: "sacrifice"},
					{Id: "censer", Ability: "wits", Rating: "minor", Qualities: []string{"cleanse"}, Drawback: "liability"},
				},
			},
			{Character: stranded, Ratings: []int32{1, 0, 0, 3}},
		},
	}
	for _, c := range change {
		c(req)
	}
	return req
}

// A game master stages a run of sheets that nobody could buy; it is played like any other and lends nothing.
func TestAStagedRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := w.node().imported()
	res := do[*dungeonv1.StageRunResponse](n, gm, staged())
	run := res.GetRun()
	if run.GetParty() != "" || !run.GetStaged() || run.GetLeader() != ada || run.GetRevision() != 1 || run.GetPhase() != dungeonv1.Run_PHASE_ACT || run.GetChallenge().GetDrawer() != ada {
		t.Errorf("staged: %v", run)
	}
	m := run.GetMembers()
	if m[0].GetExhaustion() != 30 || m[0].GetTitle() != "Ada" || !slices.Equal(m[0].GetRatings(), []int32{6, 6, 6, 6}) || m[0].GetTools()[0].GetUsesLeft() != 4 || m[0].GetTools()[1].GetNumber() != 2 {
		t.Errorf("Ada: %v", m[0])
	}
	if m[1].GetTitle() != "stranded" || m[1].GetOwner() != "" || m[1].GetExhaustion() != 0 {
		t.Errorf("the other: %v", m[1])
	}
	if l := w.leases(); len(l) != 0 {
		t.Errorf("lent: %v", l)
	}
	if diff := cmp.Diff(proto.Message(res), proto.Message(do[*dungeonv1.StageRunResponse](n, gm, staged())), cmp.Comparer(proto.Equal)); diff != "" {
		t.Errorf("asked again:\n%s", diff)
	}
	// Ada's owner acts for her, nobody but game masters for the other.
	do[*dungeonv1.ActResponse](n, adas, withTool(ada, 1))
	_, err := n.call(brams, basic(stranded, "brute"))
	refusal{codes.PermissionDenied, "NOT_YOUR_CHARACTER", ""}.check(t, err)
	do[*dungeonv1.ActResponse](n, gm, basic(stranded, "brute"))
	after := do[*dungeonv1.CompleteResponse](n, adas, &dungeonv1.CompleteRequest{Name: dive, Character: ada}).GetRun()
	if after.GetMembers()[0].GetExhaustion() <= 30 {
		t.Errorf("after a round: %v", after)
	}
	w.foldsAlike(dive)
	// What comes next is for game masters: they report the die that decides.
	d := shipped("ostrell-granary")
	var second []string
	for _, c := range d.GetCards() {
		if c.GetKind() == digger.Second {
			second = append(second, c.GetId())
		}
	}
	if after = n.run(gm); after.GetNextDraw() != digger.Second || !slices.Equal(after.GetCandidates(), second) {
		t.Errorf("next comes %s of %v", after.GetNextDraw(), after.GetCandidates())
	}
	list := do[*dungeonv1.ListRunsResponse](n, adas, &dungeonv1.ListRunsRequest{Parent: camp}).GetRuns()
	for _, r := range append(list, n.run(adas), n.run(bot)) {
		if r.GetNextDraw() != "" || len(r.GetCandidates()) > 0 {
			t.Errorf("a player sees what comes next: %v", r)
		}
	}
	drawn := do[*dungeonv1.DrawResponse](n, gm, withDice(&dungeonv1.DrawRequest{Name: dive, Character: ada, Etag: after.GetEtag()}, int32(len(second)))).GetRun() //nolint:gosec // small
	if drawn.GetChallenge().GetCard() != second[len(second)-1] || drawn.GetNextDraw() != "" {
		t.Errorf("drawn: %v", drawn)
	}

	// One leaves, who has no seat anywhere.
	if left := do[*dungeonv1.LeaveResponse](n, gm, &dungeonv1.LeaveRequest{Name: dive, Character: stranded}).GetRun(); len(left.GetMembers()) != 1 {
		t.Errorf("after one left: %v", left)
	}
	// The game master ends it without standing for anybody.
	_, err = n.call(gm, &dungeonv1.AbandonRunRequest{Name: dive})
	refusal{codes.InvalidArgument, "REASON_REQUIRED", "override_reason"}.check(t, err)
	_, err = n.call(adas, &dungeonv1.AbandonRunRequest{Name: dive})
	refusal{codes.InvalidArgument, "INVALID", "character"}.check(t, err)
	end := do[*dungeonv1.AbandonRunResponse](n, gm, &dungeonv1.AbandonRunRequest{Name: dive, OverrideReason: "enough for today"})
	if end.GetRun().GetPhase() != dungeonv1.Run_PHASE_ABANDONED || end.GetRecord().GetOverrideReason() != "enough for today" {
		t.Errorf("given up: %v", end)
	}
	if r := n.run(spectator); !r.GetSettled() || w.owing() != 0 || !w.revealed() {
		t.Errorf("after the end: %v, owing %d, revealed %v", r, w.owing(), w.revealed())
	}
	if stored := w.stored(dive); stored[0].GetPreparing().GetReason() != "the bridge fell" {
		t.Errorf("journaled: %v", stored[0])
	}
	_, err = n.call(gm, staged(func(r *dungeonv1.StageRunRequest) { r.RequestId = "again" }))
	refusal{codes.AlreadyExists, "ALREADY_EXISTS", ""}.check(t, err)
}

func TestStagingIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := w.node().imported()
	before := w.seqs()
	for name, tc := range map[string]struct {
		who    string
		change func(*dungeonv1.StageRunRequest)
		want   refusal
	}{
		"a player":                {adas, nil, refusal{codes.PermissionDenied, "NOT_GM", ""}},
		"a spectator":             {spectator, nil, refusal{codes.PermissionDenied, "NOT_GM", ""}},
		"a bot":                   {bot, nil, refusal{codes.PermissionDenied, "NOT_GM", ""}},
		"a stranger":              {stranger, nil, refusal{codes.NotFound, "NOT_FOUND", ""}},
		"no reason":               {gm, func(r *dungeonv1.StageRunRequest) { r.Reason = "" }, refusal{codes.InvalidArgument, "INVALID", "reason"}},
		"three ratings":           {gm, func(r *dungeonv1.StageRunRequest) { r.Members[0].Ratings = []int32{1, 2, 3} }, refusal{codes.InvalidArgument, "INVALID", "members[0].ratings"}},
		"a negative rating":       {gm, func(r *dungeonv1.StageRunRequest) { r.Members[0].Ratings[1] = -1 }, refusal{codes.InvalidArgument, "INVALID", "members[0].ratings[1]"}},
		"nobody":                  {gm, func(r *dungeonv1.StageRunRequest) { r.Members = nil }, refusal{codes.InvalidArgument, "INVALID", "members"}},
		"one":                     {gm, func(r *dungeonv1.StageRunRequest) { r.Members = r.GetMembers()[:1] }, refusal{codes.FailedPrecondition, digger.TooFewMembers, ""}},
		"somebody twice":          {gm, func(r *dungeonv1.StageRunRequest) { r.Members[1].Character = ada }, refusal{codes.InvalidArgument, "INVALID", "members[1].id"}},
		"somebody elsewhere":      {gm, func(r *dungeonv1.StageRunRequest) { r.Members[1].Character = other + "/characters/zed" }, refusal{codes.NotFound, "NOT_FOUND", "members"}},
		"a leader not among them": {gm, func(r *dungeonv1.StageRunRequest) { r.Leader = cleo }, refusal{codes.FailedPrecondition, digger.NotAMember, ""}},
		"an exhausted leader":     {gm, func(r *dungeonv1.StageRunRequest) { r.Members[0].Exhaustion = 100 }, refusal{codes.FailedPrecondition, digger.Exhausted, ""}},
		"too much exhaustion":     {gm, func(r *dungeonv1.StageRunRequest) { r.Members[1].Exhaustion = 101 }, refusal{codes.InvalidArgument, "INVALID", "members[1].exhaustion"}},
		"an unknown quality":      {gm, func(r *dungeonv1.StageRunRequest) { r.Members[0].Tools[0].Qualities[0] = "loud" }, refusal{codes.InvalidArgument, digger.UnknownQuality, "members[0].tools[0]"}},
		"two tools of one id":     {gm, func(r *dungeonv1.StageRunRequest) { r.Members[0].Tools[1].Id = "maul" }, refusal{codes.InvalidArgument, "INVALID", "members[0].tools[1]"}},
		"an unknown rating":       {gm, func(r *dungeonv1.StageRunRequest) { r.Members[0].Tools[0].Rating = "epic" }, refusal{codes.InvalidArgument, "INVALID", "members[0].tools[0].rating"}},
		"no such dungeon":         {gm, func(r *dungeonv1.StageRunRequest) { r.Dungeon = camp + "/dungeons/none" }, refusal{codes.NotFound, "NOT_FOUND", "dungeon"}},
		"no such revision":        {gm, func(r *dungeonv1.StageRunRequest) { r.Revision = 2 }, refusal{codes.NotFound, "NOT_FOUND", "revision"}},
		"a die without a choice":  {gm, func(r *dungeonv1.StageRunRequest) { r.ReportedDice = []int32{1} }, refusal{codes.InvalidArgument, "BAD_DICE", "reported_dice"}},
	} {
		req := staged(func(r *dungeonv1.StageRunRequest) { r.RequestId = "" })
		if tc.change != nil {
			tc.change(req)
		}
		_, err := n.call(tc.who, req)
		t.Run(name, func(t *testing.T) { tc.want.check(t, err) }) //nolint:paralleltest // one world
	}
	if diff := cmp.Diff(before, w.seqs()); diff != "" {
		t.Errorf("refusals left something (-before +after):\n%s", diff)
	}
}

// Several entries: the reported die is the card's place in the deck.
func TestAStagedRunWithAReportedEntry(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := w.node()
	d := shipped("ostrell-granary")
	for i, id := range []string{"gate", "well"} {
		entry := proto.CloneOf(d.GetCards()[0])
		entry.Id = id
		d.Cards = slices.Insert(d.GetCards(), i+1, entry)
	}
	do[*dungeonv1.ImportDungeonResponse](n, gm, &dungeonv1.ImportDungeonRequest{Parent: camp, Dungeon: d})
	run := do[*dungeonv1.StageRunResponse](n, gm, staged(func(r *dungeonv1.StageRunRequest) { r.ReportedDice = []int32{3} })).GetRun()
	if got := run.GetChallenge().GetCard(); got != "well" {
		t.Errorf("drew %s", got)
	}
	_, reported := w.derived(run)
	if reported != 1 {
		t.Errorf("%d reported dice", reported)
	}
}

func TestAdjustRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := w.node().begin()
	adjust := func(change func(*dungeonv1.AdjustRunRequest)) *dungeonv1.AdjustRunRequest {
		req := &dungeonv1.AdjustRunRequest{Name: dive, Reason: "a fall"}
		change(req)
		return req
	}
	member := func(m *dungeonv1.RunMemberAdjustment) func(*dungeonv1.AdjustRunRequest) {
		return func(r *dungeonv1.AdjustRunRequest) { r.Members = []*dungeonv1.RunMemberAdjustment{m} }
	}
	res := do[*dungeonv1.AdjustRunResponse](n, gm, adjust(func(r *dungeonv1.AdjustRunRequest) {
		r.Exploration, r.ClearConditions = proto.Int32(71), true
		r.Members = []*dungeonv1.RunMemberAdjustment{{Character: ada, Exhaustion: proto.Int32(60), UsesLeft: map[int32]int32{1: 0}}, {Character: bram, Exhaustion: proto.Int32(100)}}
	}))
	r := res.GetRun()
	if r.GetExploration() != 71 || len(r.GetConditions()) != 0 || r.GetMembers()[0].GetExhaustion() != 60 || r.GetMembers()[0].GetTools()[0].GetUsesLeft() != 0 ||
		!slices.Equal(r.GetChallenge().GetWaiting(), []string{ada, cleo}) {
		t.Errorf("adjusted: %v", r)
	}
	if e := res.GetEvents()[0].GetAdjusted(); e.GetReason() != "a fall" || e.GetExploration() != 71 {
		t.Errorf("told: %v", e)
	}
	_, err := n.call(adas, withTool(ada, 1))
	refusal{codes.FailedPrecondition, digger.NoUsesLeft, "action.tool"}.check(t, err)
	before := w.seqs()
	for name, tc := range map[string]struct {
		who    string
		change func(*dungeonv1.AdjustRunRequest)
		want   refusal
	}{
		"a player":          {adas, member(&dungeonv1.RunMemberAdjustment{Character: ada, Exhaustion: proto.Int32(0)}), refusal{codes.PermissionDenied, "NOT_GM", ""}},
		"a spectator":       {spectator, member(&dungeonv1.RunMemberAdjustment{Character: ada}), refusal{codes.PermissionDenied, "SPECTATOR", ""}},
		"no reason":         {gm, func(r *dungeonv1.AdjustRunRequest) { r.Reason = "" }, refusal{codes.InvalidArgument, "INVALID", "reason"}},
		"nothing":           {gm, func(*dungeonv1.AdjustRunRequest) {}, refusal{codes.InvalidArgument, "INVALID", "members"}},
		"too much explored": {gm, func(r *dungeonv1.AdjustRunRequest) { r.Exploration = proto.Int32(101) }, refusal{codes.InvalidArgument, "INVALID", "exploration"}},
		"somebody else":     {gm, member(&dungeonv1.RunMemberAdjustment{Character: stranded}), refusal{codes.InvalidArgument, digger.NotAMember, "members[0].character"}},
		"too exhausted":     {gm, member(&dungeonv1.RunMemberAdjustment{Character: ada, Exhaustion: proto.Int32(101)}), refusal{codes.InvalidArgument, "INVALID", "members[0].exhaustion"}},
		"no such tool":      {gm, member(&dungeonv1.RunMemberAdjustment{Character: cleo, UsesLeft: map[int32]int32{1: 1}}), refusal{codes.InvalidArgument, digger.NoSuchTool, "members[0].uses_left"}},
		"a state long past": {gm, func(r *dungeonv1.AdjustRunRequest) { r.Exploration, r.Etag = proto.Int32(1), journalEtag(dive, 1) }, refusal{codes.Aborted, "ETAG_MISMATCH", "etag"}},
	} {
		_, err := n.call(tc.who, adjust(tc.change))
		t.Run(name, func(t *testing.T) { tc.want.check(t, err) }) //nolint:paralleltest // one world
	}
	if diff := cmp.Diff(before, w.seqs()); diff != "" {
		t.Errorf("refusals left something (-before +after):\n%s", diff)
	}
	w.foldsAlike(dive)
	// Nobody is left: the run ends and gives everything back.
	end := do[*dungeonv1.AdjustRunResponse](n, gm, adjust(func(r *dungeonv1.AdjustRunRequest) {
		r.Members = []*dungeonv1.RunMemberAdjustment{{Character: ada, Exhaustion: proto.Int32(100)}, {Character: cleo, Exhaustion: proto.Int32(100)}}
	}))
	if end.GetRun().GetPhase() != dungeonv1.Run_PHASE_EXHAUSTED || len(end.GetEvents()) != 2 {
		t.Errorf("the end: %v", end)
	}
	if !n.run(spectator).GetSettled() || len(w.leases()) != 0 || w.owing() != 0 {
		t.Errorf("after the end: %v, lent %v, owing %d", n.run(spectator), w.leases(), w.owing())
	}
}
