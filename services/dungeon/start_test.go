package dungeon_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	dungeonv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dungeon/v1"
	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/fault"
	"github.com/wayfarer-rpg/wayfarer/internal/journal/journaltest"
	"github.com/wayfarer-rpg/wayfarer/services/dungeon"
)

// Most refusals of a start come before anything is journaled or borrowed.
func TestStartsThatAreRefusedAtOnce(t *testing.T) {
	t.Parallel()
	n := newWorld(t).node().imported()
	do[*partyv1.CreateCharacterResponse](n.parties, gm, &partyv1.CreateCharacterRequest{Parent: camp, CharacterId: "dov", Title: "Dov"})
	dov := camp + "/characters/dov"
	do[*partyv1.CreatePartyResponse](n.parties, gm, &partyv1.CreatePartyRequest{Parent: camp, PartyId: "lone", Character: dov})
	missing := func(field string) refusal { return refusal{codes.NotFound, "NOT_FOUND", field} }
	for name, tt := range map[string]struct {
		change func(r *dungeonv1.StartRunRequest)
		want   refusal
	}{
		"a party that there is not":      {func(r *dungeonv1.StartRunRequest) { r.Party = camp + "/parties/none" }, missing("party")},
		"a party elsewhere":              {func(r *dungeonv1.StartRunRequest) { r.Party = other + "/parties/team" }, missing("party")},
		"a dungeon that there is not":    {func(r *dungeonv1.StartRunRequest) { r.Dungeon = camp + "/dungeons/none" }, missing("dungeon")},
		"a dungeon elsewhere":            {func(r *dungeonv1.StartRunRequest) { r.Dungeon = other + "/dungeons/ostrell-granary" }, missing("dungeon")},
		"a character elsewhere":          {func(r *dungeonv1.StartRunRequest) { r.Character = other + "/characters/ada" }, missing("character")},
		"an expedition elsewhere":        {func(r *dungeonv1.StartRunRequest) { r.Expedition = other + "/expeditions/quest" }, missing("expedition")},
		"no dungeon, and none readied":   {func(r *dungeonv1.StartRunRequest) { r.Dungeon = "" }, refuse("NO_DUNGEON")},
		"a character of no party":        {func(r *dungeonv1.StartRunRequest) { r.Character = dov }, refuse("NOT_A_MEMBER")},
		"a party of one":                 {func(r *dungeonv1.StartRunRequest) { r.Party, r.Character = camp+"/parties/lone", dov }, refuse("TOO_FEW_MEMBERS")},
		"a GM starts without a reason":   {func(r *dungeonv1.StartRunRequest) { r.Character = bram }, refuse("NOT_LEADER")},
		"a die that nothing asks for":    {func(r *dungeonv1.StartRunRequest) { r.ReportedDice = []int32{1} }, refusal{codes.InvalidArgument, "BAD_DICE", "reported_dice"}},
		"two dice":                       {func(r *dungeonv1.StartRunRequest) { r.ReportedDice = []int32{1, 2} }, refusal{codes.InvalidArgument, "INVALID", "reported_dice"}},
		"no request id":                  {func(r *dungeonv1.StartRunRequest) { r.RequestId = " " }, refusal{codes.InvalidArgument, "INVALID", "request_id"}},
		"an id that cannot be in a name": {func(r *dungeonv1.StartRunRequest) { r.RunId = "A run" }, refusal{codes.InvalidArgument, "INVALID", "run_id"}},
	} {
		t.Run(name, func(t *testing.T) {
			who := gm
			if name == "an expedition elsewhere" {
				who = service
			}
			refusedCommand{who: who, req: plain(with(startDive(), tt.change)), want: tt.want}.refuses(t, n)
		})
	}
	if l := n.leases(); len(l) != 0 {
		t.Errorf("lent: %v", l)
	}
}

// A GM's reason stands for the leader's word, and the dungeon may be the one that the party has readied.
func TestAGMStartsForTheLeader(t *testing.T) {
	t.Parallel()
	n := newWorld(t).node().imported()
	res := do[*dungeonv1.StartRunResponse](n, gm, with(startDive(), func(r *dungeonv1.StartRunRequest) {
		r.Character, r.OverrideReason, r.RunId = bram, "Ada is late", ""
	}))
	if res.GetRun().GetChallenge().GetDrawer() != bram || res.GetRun().GetLeader() != ada {
		t.Errorf("started: %v", res.GetRun())
	}
	recs := n.records(res.GetRun().GetName())
	if recs[0].Actor != gm || recs[0].OverrideReason != "Ada is late" || recs[1].Actor != "service:dungeon" {
		t.Errorf("records by %s (%q) and %s", recs[0].Actor, recs[0].OverrideReason, recs[1].Actor)
	}
}

func TestARetriedStart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := w.node().imported()
	first := do[*dungeonv1.StartRunResponse](n, adas, startDive())
	n.round() // play goes on, the answer does not
	seqs := n.seqs()
	for _, other := range []*node{n, w.node()} {
		if diff := cmp.Diff(first, do[*dungeonv1.StartRunResponse](other, adas, startDive()), protocmp.Transform()); diff != "" {
			t.Errorf("asked again (-first +this):\n%s", diff)
		}
		for _, req := range []*dungeonv1.StartRunRequest{
			with(startDive(), func(r *dungeonv1.StartRunRequest) { r.Character = bram }),
			with(startDive(), func(r *dungeonv1.StartRunRequest) { r.Party = camp + "/parties/none" }),
		} {
			_, err := other.call(adas, req)
			refusal{codes.InvalidArgument, "REQUEST_ID_REUSED", "request_id"}.check(t, err)
		}
		_, err := other.call(gm, startDive()) // the same by somebody else
		refusal{codes.InvalidArgument, "REQUEST_ID_REUSED", "request_id"}.check(t, err)
	}
	if diff := cmp.Diff(seqs, n.seqs()); diff != "" {
		t.Errorf("the journal has changed (-before +after):\n%s", diff)
	}
}

// undone makes sure that a start has been undone: nothing is lent or owed, and nobody finds it in a list.
func (n *node) undone(t *testing.T, want refusal) {
	t.Helper()
	for range 2 {
		_, err := n.call(adas, startDive())
		want.check(t, err)
	}
	if l := n.leases(); len(l) != 0 || n.owing() != 0 || !n.revealed() {
		t.Errorf("lent %v, owing %d, revealed %v", l, n.owing(), n.revealed())
	}
	if r := n.run(adas); r.GetPhase() != dungeonv1.Run_PHASE_UNDONE || !r.GetSettled() {
		t.Errorf("the run is %v", r)
	}
	if l := do[*dungeonv1.ListRunsResponse](n, gm, &dungeonv1.ListRunsRequest{Parent: camp}).GetRuns(); len(l) != 0 {
		t.Errorf("listed: %v", l)
	}
	_, err := n.call(adas, basic(ada, "brute"))
	refuse("NOT_BEGUN").check(t, err)
	records, err := n.watch(spectator, dive, 0)
	if err != nil || len(records) != 3 {
		t.Errorf("%d records are watched: %v", len(records), err)
	}
	// The party may go elsewhere, the id is taken.
	do[*dungeonv1.StartRunResponse](n, adas, again(ada))
	_, err = n.call(adas, with(startDive(), func(r *dungeonv1.StartRunRequest) { r.RequestId = "another" }))
	refusal{codes.AlreadyExists, "ALREADY_EXISTS", ""}.check(t, err)
	if n.party().GetState() != partyv1.Party_STATE_IN_RUN {
		t.Errorf("the party is %v", n.party())
	}
}

// A refusal of any lender at any place undoes everything and is the answer for good.
func TestARefusalOfALenderUndoesTheStart(t *testing.T) {
	t.Parallel()
	refusals := map[string]*fault.Error{
		"is lent elsewhere": fault.New(fault.FailedPrecondition, "LEASED", "lent"),
		"is gone":           fault.New(fault.NotFound, "NOT_FOUND", "gone").At("lender", "does not exist"),
	}
	for what, f := range refusals {
		for _, lender := range []string{team, ada, bram, cleo} {
			t.Run(fmt.Sprintf("%s %s", lender, what), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				w.before = func(_ string, req any) error {
					if r, ok := req.(*partyv1.TakeLeaseRequest); ok && r.GetLender() == lender && r.GetHolder() == dive {
						st, _ := fault.ToStatus(f)
						return st.Err()
					}
					return nil
				}
				w.node().imported().undone(t, refusal{code: codes.Code(f.Kind), reason: f.Reason}) //nolint:gosec // a code
			})
		}
	}
}

// The party's members are named before they are asked; who comes or goes in between undoes the start.
func TestAPartyThatChangesWhileItIsBorrowed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var once sync.Once
	w.before = func(method string, _ any) error {
		if method == "CreateStream" {
			once.Do(func() {
				do[*partyv1.LeavePartyResponse](w.parties, cleos, &partyv1.LeavePartyRequest{Name: team, Character: cleo})
			})
		}
		return nil
	}
	w.node().imported().undone(t, refuse("PARTY_CHANGED"))
}

// blip fails one operation of those that come while it is armed, the at-th: before it is done, or after, when only the
// answer is lost.
type blip struct {
	mu    sync.Mutex
	at    int
	armed bool
}

func (b *blip) arm(armed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.armed = armed
}

func (b *blip) strike() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.armed {
		return nil
	}
	if b.at--; b.at == 0 {
		return errDown
	}
	return nil
}

func (b *blip) struck() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.at <= 0
}

// TestASagaSurvivesABlip fails operations of the store and calls of neighbours, one at a time, in a process that lives on.
// Then the same request or the sweeper brings the command to its end.
func TestASagaSurvivesABlip(t *testing.T) {
	t.Parallel()
	for name, sg := range map[string]struct {
		before func(n *node)
		req    proto.Message
		leases []string
		seq    int32
	}{
		"a start": {func(n *node) { n.imported() }, startDive(), []string{"team to dive", "ada to dive", "bram to dive", "cleo to dive"}, 2},
		"an end": {
			func(n *node) { n.begin() }, &dungeonv1.AbandonRunRequest{Name: dive, Character: ada, RequestId: "end"}, []string{}, 4,
		},
	} {
		// Every third place, others for each way, so that befores and afters take turns: with all of them this takes a minute.
		offsets := map[string]int{"by a retry": 1, "by the sweeper": 2}
		for how, recover := range map[string]func(n *node){
			"by a retry":     func(n *node) { _, _ = n.call(adas, proto.Clone(sg.req)) },
			"by the sweeper": func(n *node) { n.sweep() },
		} {
			t.Run(name+", "+how, func(t *testing.T) {
				t.Parallel()
				blips, first := 0, offsets[how]
				for at := first; ; at += len(offsets) + 1 {
					w := newWorld(t)
					w.lean = true
					b := &blip{at: at}
					spy := &journaltest.Spy{Store: w.store}
					spy.Before = func(journaltest.Op) error { return b.strike() }
					spy.After = spy.Before
					w.before = func(string, any) error { return b.strike() }
					w.after = func(string, any, any) error { return b.strike() }
					n := w.node(func(c *dungeon.Config) { c.Store = spy })
					sg.before(n)
					b.arm(true)
					_, _ = n.call(adas, proto.Clone(sg.req))
					b.arm(false)
					if !b.struck() {
						break
					}
					blips++
					recover(n)
					if _, err := n.call(adas, proto.Clone(sg.req)); err != nil {
						t.Fatalf("blip %d: asked again: %v", at, err)
					}
					n.sweep() // an index entry may be left of what has been paid
					if diff := cmp.Diff(sg.leases, n.leases()); diff != "" || n.run(gm).GetSeq() != sg.seq || n.owing() != 0 || n.revealed() != (len(sg.leases) == 0) {
						t.Fatalf("blip %d: record %d, owing %d, revealed %v, lent (-want +got):\n%s", at, n.run(gm).GetSeq(), n.owing(), n.revealed(), diff)
					}
				}
				if blips < 5 {
					t.Errorf("only %d blips", blips)
				}
			})
		}
	}
}
