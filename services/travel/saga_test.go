package travel_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	dicev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dice/v1"
	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"
	travelv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/travel/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/journal"
	"github.com/wayfarer-rpg/wayfarer/services/travel"
)

// trip is where a process dies: at one of the places just before and just after something happens outside of it. Nothing
// comes out of it afterwards.
type trip struct {
	at int

	mu   sync.Mutex
	n    int
	dead bool
}

func (t *trip) step() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.n++
	if t.dead = t.dead || t.n == t.at; t.dead {
		return errDown
	}
	return nil
}

func (t *trip) died() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.dead
}

func through[T any](t *trip, act func() (T, error)) (T, error) {
	var none T
	if err := t.step(); err != nil {
		return none, err
	}
	v, err := act()
	if e := t.step(); e != nil {
		return none, e
	}
	return v, err
}

type tripParty struct {
	*partyFake
	trip *trip
}

func (p tripParty) TakeLease(ctx context.Context, req *partyv1.TakeLeaseRequest, _ ...grpc.CallOption) (*partyv1.TakeLeaseResponse, error) {
	return through(p.trip, func() (*partyv1.TakeLeaseResponse, error) { return p.partyFake.TakeLease(ctx, req) })
}

func (p tripParty) ReturnLease(ctx context.Context, req *partyv1.ReturnLeaseRequest, _ ...grpc.CallOption) (*partyv1.ReturnLeaseResponse, error) {
	return through(p.trip, func() (*partyv1.ReturnLeaseResponse, error) { return p.partyFake.ReturnLease(ctx, req) })
}

type tripDice struct {
	*diceFake
	trip *trip
}

func (d tripDice) CreateStream(ctx context.Context, req *dicev1.CreateStreamRequest, _ ...grpc.CallOption) (*dicev1.CreateStreamResponse, error) {
	return through(d.trip, func() (*dicev1.CreateStreamResponse, error) { return d.diceFake.CreateStream(ctx, req) })
}

func (d tripDice) Draw(ctx context.Context, req *dicev1.DrawRequest, _ ...grpc.CallOption) (*dicev1.DrawResponse, error) {
	return through(d.trip, func() (*dicev1.DrawResponse, error) { return d.diceFake.Draw(ctx, req) })
}

func (d tripDice) RevealStream(ctx context.Context, req *dicev1.RevealStreamRequest, _ ...grpc.CallOption) (*dicev1.RevealStreamResponse, error) {
	return through(d.trip, func() (*dicev1.RevealStreamResponse, error) { return d.diceFake.RevealStream(ctx, req) })
}

type tripStore struct {
	journal.Store
	trip *trip
}

func (s tripStore) Insert(ctx context.Context, r journal.Record) error {
	_, err := through(s.trip, func() (struct{}, error) { return struct{}{}, s.Store.Insert(ctx, r) })
	return err
}

func (s tripStore) Owe(ctx context.Context, o journal.Obligation) error {
	_, err := through(s.trip, func() (struct{}, error) { return struct{}{}, s.Store.Owe(ctx, o) })
	return err
}

func (s tripStore) Settle(ctx context.Context, stream string, seq int) error {
	_, err := through(s.trip, func() (struct{}, error) { return struct{}{}, s.Store.Settle(ctx, stream, seq) })
	return err
}

func dying(t *trip) func(*travel.Config) {
	return func(c *travel.Config) {
		party, dice := c.Leases.(*partyFake), c.Dice.(*diceFake)
		c.Leases, c.Dice, c.Store = tripParty{party, t}, tripDice{dice, t}, tripStore{c.Store, t}
	}
}

// sweep lets a node's sweeper walk twice.
func (n *node) sweep() {
	n.t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	tick, done := make(chan time.Time), make(chan struct{})
	go func() {
		defer close(done)
		n.srv.Sweep(ctx, tick)
	}()
	tick <- time.Time{} // taken when the first walk is over
	stop()
	<-done
}

// saga is a command that takes several steps in several services.
type saga struct {
	// before is done on the world before the command.
	before func(n *node)
	who    string
	req    func() proto.Message
	// refused is the answer, if it is a refusal.
	refused refusal
	// held is who holds what afterwards.
	held map[lent]string
	// phase of the journey afterwards.
	phase travelv1.Journey_Phase
}

const elsewhere = camp + "/journeys/elsewhere"

func held(by string, lenders ...string) map[lent]string {
	out := map[lent]string{}
	for _, l := range lenders {
		facet := partyv1.Facet_FACET_VITALS
		if l == band {
			facet = partyv1.Facet_FACET_PACK
		}
		out[lent{l, facet}] = by
	}
	return out
}

func sagas() map[string]saga {
	return map[string]saga{
		"a start": {
			before: (*node).importPlain, who: adas, req: func() proto.Message { return startTrek() },
			held: held(trek, band, ada, bram), phase: travelv1.Journey_PHASE_TRAVELING,
		},
		"a start that a lender refuses": {
			before: func(n *node) {
				n.importPlain()
				n.party.held[lent{bram, partyv1.Facet_FACET_VITALS}] = elsewhere
			},
			who: adas, req: func() proto.Message { return startTrek() },
			refused: refusal{codes.FailedPrecondition, "LEASED", ""},
			held:    held(elsewhere, bram), phase: travelv1.Journey_PHASE_UNDONE,
		},
		"an end": {
			before: func(n *node) {
				n.beginPlain()
				do[*travelv1.HarmResponse](n, gm, &travelv1.HarmRequest{Name: trek, Member: "Bram", Hp: 1, Str: 11})
				do[*travelv1.HarmResponse](n, gm, &travelv1.HarmRequest{Name: trek, Member: "Mabyn", Hp: 2})
			},
			who: adas, req: func() proto.Message { return &travelv1.EndJourneyRequest{Name: trek, Character: ada, RequestId: "end"} },
			held: held(""), phase: travelv1.Journey_PHASE_ENDED,
		},
		"giving up": {
			before: func(n *node) { n.beginPlain() },
			who:    brams, req: func() proto.Message {
				return &travelv1.AbandonJourneyRequest{Name: trek, Character: bram, RequestId: "enough"}
			},
			held: held(""), phase: travelv1.Journey_PHASE_ABANDONED,
		},
		"a character who leaves": {
			before: func(n *node) { n.beginPlain() },
			who:    adas, req: func() proto.Message {
				return &travelv1.RemoveMemberRequest{Name: trek, Character: ada, Member: "Bram", RequestId: "bye"}
			},
			held: held(trek, band, ada), phase: travelv1.Journey_PHASE_TRAVELING,
		},
		"a character who joins": {
			before: func(n *node) { n.beginPlain().meetCleo() },
			who:    brams, req: func() proto.Message { return joins() },
			held: held(trek, band, ada, bram, cleo), phase: travelv1.Journey_PHASE_TRAVELING,
		},
		"a character who cannot join": {
			before: func(n *node) {
				n.beginPlain().meetCleo()
				n.party.held[lent{cleo, partyv1.Facet_FACET_VITALS}] = elsewhere
			},
			who: brams, req: func() proto.Message { return joins() },
			refused: refusal{codes.FailedPrecondition, "LEASED", ""},
			held: func() map[lent]string {
				h := held(trek, band, ada, bram)
				h[lent{cleo, partyv1.Facet_FACET_VITALS}] = elsewhere
				return h
			}(), phase: travelv1.Journey_PHASE_TRAVELING,
		},
	}
}

const cleo = camp + "/characters/cleo"

// meetCleo makes a second character of Bram's player.
func (n *node) meetCleo() *node {
	n.party.mu.Lock()
	defer n.party.mu.Unlock()
	n.party.characters[cleo] = &partyv1.Character{Name: cleo, Owner: brams, Vitals: &partyv1.Vitals{Hp: 2, HpMax: 5, Str: 8, StrMax: 8, Gear: 1}}
	return n
}

func joins() *travelv1.JoinJourneyRequest {
	return &travelv1.JoinJourneyRequest{Name: trek, Character: cleo, Label: "Cleo", RequestId: "me-too"}
}

// whole makes sure that a saga has come to its end, in the journal and at the lenders.
func (sg saga) whole(t *testing.T, n *node) {
	t.Helper()
	if got := n.journey(gm).GetPhase(); got != sg.phase {
		t.Errorf("phase %v, want %v", got, sg.phase)
	}
	if diff := cmp.Diff(sg.held, n.party.holders()); diff != "" {
		t.Errorf("held (-want +got):\n%s", diff)
	}
	if owed := n.owing(t); owed != 0 {
		t.Errorf("%d entries of what is owed are left", owed)
	}
	over := sg.phase != travelv1.Journey_PHASE_TRAVELING
	n.dice.mu.Lock()
	defer n.dice.mu.Unlock()
	for name := range n.dice.streams {
		if n.dice.revealed[name] != over {
			t.Errorf("%s: revealed %v", name, n.dice.revealed[name])
		}
	}
}

// answer gives the command and checks what comes back: the same as ever, or the refusal.
func (sg saga) answer(t *testing.T, n *node, want proto.Message) proto.Message {
	t.Helper()
	res, err := n.call(sg.who, sg.req())
	if sg.refused.reason != "" {
		sg.refused.check(t, err)
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	clearTimes(res)
	if want != nil && !proto.Equal(want, res) {
		t.Errorf("another answer (-first +this):\n%s", cmp.Diff(want, res, protocmp.Transform()))
	}
	return res
}

// clearTimes clears when things happened: another run has other times.
func clearTimes(res proto.Message) {
	ans := res.(interface {
		GetJourney() *travelv1.Journey
	})
	ans.GetJourney().CreateTime, ans.GetJourney().UpdateTime = nil, nil
	m := res.ProtoReflect()
	rec := m.Mutable(m.Descriptor().Fields().ByName("record")).Message()
	rec.Clear(rec.Descriptor().Fields().ByName("time"))
}

func TestASagaSurvivesACrashAnywhere(t *testing.T) {
	t.Parallel()
	for name, sg := range sagas() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			still := newWorld()
			still.bare = true
			calm := still.node(t)
			sg.before(calm)
			want := sg.answer(t, calm, nil)
			sg.whole(t, calm)

			recoveries := map[string]func(t *testing.T, n *node){
				"by a retry": func(t *testing.T, n *node) {
					sg.answer(t, n, want)
					n.sweep() // what is owed was paid; the index may not know it yet
				},
				"by the sweeper": func(t *testing.T, n *node) {
					n.sweep()
					if len(n.seqs(t)) > 1 && !slices.Contains([]travelv1.Journey_Phase{sg.phase, travelv1.Journey_PHASE_TRAVELING}, n.journey(gm).GetPhase()) {
						t.Errorf("swept, and still %v", n.journey(gm).GetPhase())
					}
					sg.answer(t, n, want)
				},
			}
			for how, recover := range recoveries {
				crashes := 0
				for at := 1; ; at++ {
					w := newWorld()
					w.bare = true
					sg.before(w.node(t))
					tr := &trip{at: at}
					_, err := w.node(t, dying(tr)).call(sg.who, sg.req())
					if !tr.died() {
						if sg.refused.reason == "" && err != nil {
							t.Fatal(err)
						}
						break
					}
					crashes++
					next := w.node(t)
					recover(t, next)
					sg.whole(t, next)
					if t.Failed() {
						t.Fatalf("%s after a crash at place %d", how, at)
					}
				}
				if crashes < 6 {
					t.Errorf("only %d places to crash at", crashes)
				}
			}
		})
	}
}

func TestEndGivesBackWhatCameOfIt(t *testing.T) {
	t.Parallel()
	n := newWorld().node(t).begin()
	do[*travelv1.HarmResponse](n, gm, &travelv1.HarmRequest{Name: trek, Member: "Bram", Str: 11})
	do[*travelv1.HarmResponse](n, gm, &travelv1.HarmRequest{Name: trek, Member: "Mabyn", Hp: 2})
	do[*travelv1.EnterLocationResponse](n, adas, &travelv1.EnterLocationRequest{Name: trek, Character: ada, Location: "tallowick"})
	do[*travelv1.BuyGearResponse](n, adas, &travelv1.BuyGearRequest{Name: trek, Character: ada, Item: "torch", Count: 2, Carrier: "Ada"})
	end := do[*travelv1.EndJourneyResponse](n, adas, &travelv1.EndJourneyRequest{Name: trek, Character: ada})
	if p := end.GetJourney().GetPhase(); p != travelv1.Journey_PHASE_ENDED {
		t.Errorf("phase %v", p)
	}
	want := &partyv1.Company{
		Name: band, Title: "The Band",
		Travelers: []*partyv1.Traveler{
			{Label: "Ada", Character: ada, Torches: 2, FoodSlots: 2},
			{Label: "Mabyn", FoodSlots: 1, Vitals: &partyv1.Vitals{Hp: 1, HpMax: 3, Str: 9, StrMax: 9, Capacity: proto.Int32(8)}},
		},
		Pack: &partyv1.Pack{Food: []int32{8}, Gold: 34},
	}
	if diff := cmp.Diff(want, n.party.companies[band], protocmp.Transform()); diff != "" {
		t.Errorf("the company (-want +got):\n%s", diff)
	}
	for c, v := range map[string]*partyv1.Vitals{
		ada:  {Hp: 4, HpMax: 6, Str: 11, StrMax: 12, Gear: 2},
		bram: {Hp: 4, HpMax: 6, Str: 0, StrMax: 12, Gear: 2},
	} {
		if diff := cmp.Diff(v, n.party.characters[c].GetVitals(), protocmp.Transform()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c, diff)
		}
	}
	_, err := n.call(adas, &travelv1.SearchRequest{Name: trek, Character: ada})
	refusal{codes.FailedPrecondition, "NOT_TRAVELING", ""}.check(t, err)
}

// A lender's refusal, whenever it comes, gives everything back and is the answer for good.
func TestRefusedStartsAreUndone(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(p *partyFake, req *partyv1.TakeLeaseRequest) error
		want   refusal
	}{
		"the company travels elsewhere": {func(p *partyFake, req *partyv1.TakeLeaseRequest) error {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.held[lent{band, partyv1.Facet_FACET_PACK}] = elsewhere
			return nil
		}, refusal{codes.FailedPrecondition, "LEASED", ""}},
		"a character is gone": {func(p *partyFake, req *partyv1.TakeLeaseRequest) error {
			p.mu.Lock()
			defer p.mu.Unlock()
			delete(p.characters, bram)
			return nil
		}, refusal{codes.NotFound, "NOT_FOUND", ""}},
		"the company has changed meanwhile": {func(p *partyFake, req *partyv1.TakeLeaseRequest) error {
			p.mu.Lock()
			defer p.mu.Unlock()
			if req.GetLender() == band {
				p.companies[band].Travelers = p.companies[band].GetTravelers()[:1]
			}
			return nil
		}, refusal{codes.Aborted, "COMPANY_CHANGED", ""}},
		"the rules refuse what was lent": {func(p *partyFake, req *partyv1.TakeLeaseRequest) error {
			p.mu.Lock()
			defer p.mu.Unlock()
			if req.GetLender() == band {
				p.companies[band].Pack.Food = []int32{20, 20, 20}
			}
			return nil
		}, refusal{codes.InvalidArgument, "INVALID", "company"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld()
			w.party.take = func(req *partyv1.TakeLeaseRequest) error { return tt.change(w.party, req) }
			n := w.node(t)
			n.importVale()
			for range 2 {
				_, err := n.call(adas, startTrek())
				tt.want.check(t, err)
			}
			for l, by := range w.party.holders() {
				if by == trek {
					t.Errorf("%v is held still", l)
				}
			}
			j := n.journey(adas)
			if j.GetPhase() != travelv1.Journey_PHASE_UNDONE || j.GetRefusal().GetReason() != tt.want.reason {
				t.Errorf("it is %v for %v", j.GetPhase(), j.GetRefusal())
			}
			if l := do[*travelv1.ListJourneysResponse](n, adas, &travelv1.ListJourneysRequest{Parent: camp}).GetJourneys(); len(l) != 0 {
				t.Errorf("listed: %v", l)
			}
			_, err := n.call(adas, &travelv1.SearchRequest{Name: trek, Character: ada})
			refusal{codes.FailedPrecondition, "NOT_TRAVELING", ""}.check(t, err)
			_, err = n.call(adas, &travelv1.StartJourneyRequest{Parent: camp, Character: ada, JourneyId: "trek", Company: band, Region: vale, Hex: &travelv1.Hex{}})
			refusal{codes.AlreadyExists, "ALREADY_EXISTS", ""}.check(t, err)
		})
	}
}

// A lender that is down is no refusal: the start waits for it.
func TestADownedLenderUndoesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld()
	down := true
	w.party.take = func(req *partyv1.TakeLeaseRequest) error {
		if down && req.GetLender() == bram {
			return errDown
		}
		return nil
	}
	n := w.node(t)
	n.importVale()
	_, err := n.call(adas, startTrek())
	refusal{codes.Unavailable, "DOWN", ""}.check(t, err)
	if p := n.journey(adas).GetPhase(); p != travelv1.Journey_PHASE_PREPARING {
		t.Errorf("it is %v", p)
	}
	n.sweep()
	if p := n.journey(adas).GetPhase(); p != travelv1.Journey_PHASE_PREPARING || n.owing(t) == 0 {
		t.Errorf("swept in vain it is %v, owing %d", p, n.owing(t))
	}
	down = false
	started := do[*travelv1.StartJourneyResponse](n, adas, startTrek())
	if p := started.GetJourney().GetPhase(); p != travelv1.Journey_PHASE_TRAVELING {
		t.Errorf("it is %v", p)
	}
}

func TestRetriesGetTheFirstAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld()
	n, replica := w.node(t), w.node(t)
	n.begin()
	for name, req := range map[string]proto.Message{
		"a search": &travelv1.SearchRequest{Name: trek, Character: ada, RequestId: "s1"},
		"a move":   &travelv1.MoveRequest{Name: trek, Character: ada, To: &travelv1.Hex{Q: 2, R: 2}, RequestId: "m1"},
	} {
		first := do[proto.Message](n, adas, req)
		for who, other := range map[string]*node{"the same": n, "another replica": replica} {
			if diff := cmp.Diff(first, do[proto.Message](other, adas, req), protocmp.Transform()); diff != "" {
				t.Errorf("%s, asked again of %s (-first +this):\n%s", name, who, diff)
			}
		}
	}
	before := w.seqs(t)
	for _, other := range []*node{n, replica} {
		_, err := other.call(adas, &travelv1.ForageRequest{Name: trek, Character: ada, RequestId: "s1"})
		refusal{codes.InvalidArgument, "REQUEST_ID_REUSED", "request_id"}.check(t, err)
		_, err = other.call(gm, &travelv1.SearchRequest{Name: trek, Character: ada, RequestId: "s1"})
		refusal{codes.InvalidArgument, "REQUEST_ID_REUSED", "request_id"}.check(t, err)
	}
	changed := startTrek()
	changed.Hex = &travelv1.Hex{Q: 2, R: 2}
	_, err := n.call(adas, changed)
	refusal{codes.InvalidArgument, "REQUEST_ID_REUSED", "request_id"}.check(t, err)
	if diff := cmp.Diff(before, w.seqs(t)); diff != "" {
		t.Errorf("the journal has changed:\n%s", diff)
	}
}

// Several replicas, callers and sweepers at one journey take each step once.
func TestManyCarryOneJourney(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.bare = true
	nodes := []*node{w.node(t), w.node(t), w.node(t)}
	nodes[0].importPlain()
	all := func(who string, req func() proto.Message) {
		t.Helper()
		answers := make([]proto.Message, len(nodes))
		errs := make([]error, len(nodes))
		var wg sync.WaitGroup
		for i, n := range nodes {
			wg.Go(func() { answers[i], errs[i] = n.call(who, req()) })
			wg.Go(n.sweep)
		}
		wg.Wait()
		for i := range nodes {
			if errs[i] != nil {
				t.Fatal(errs[i])
			}
			if !proto.Equal(answers[0], answers[i]) {
				t.Errorf("replica %d (-first +this):\n%s", i, cmp.Diff(answers[0], answers[i], protocmp.Transform()))
			}
		}
	}
	all(adas, func() proto.Message { return startTrek() })
	if got := w.seqs(t)[trek]; got != 2 {
		t.Errorf("%d records after the start", got)
	}
	all(adas, func() proto.Message {
		return &travelv1.RemoveMemberRequest{Name: trek, Character: ada, Member: "Bram", RequestId: "bye"}
	})
	if got := w.seqs(t)[trek]; got != 4 {
		t.Errorf("%d records after the leaving", got)
	}
	all(adas, func() proto.Message { return &travelv1.EndJourneyRequest{Name: trek, Character: ada, RequestId: "end"} })
	if got := w.seqs(t)[trek]; got != 6 {
		t.Errorf("%d records after the end", got)
	}
	given := map[string]int{}
	for _, r := range w.party.returned {
		given[r.GetLender()]++
	}
	if diff := cmp.Diff(map[string]int{band: 1, ada: 1, bram: 1}, given); diff != "" {
		t.Errorf("given back (-want +got):\n%s", diff)
	}
}
