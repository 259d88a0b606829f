package crash

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"buf.build/go/protovalidate"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	dicev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dice/v1"
	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"
	typev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/type/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/auth"
	"github.com/wayfarer-rpg/wayfarer/internal/journal"
	"github.com/wayfarer-rpg/wayfarer/internal/journal/memory"
	"github.com/wayfarer-rpg/wayfarer/services/adapter"
	"github.com/wayfarer-rpg/wayfarer/services/dice"
	"github.com/wayfarer-rpg/wayfarer/services/dungeon"
	"github.com/wayfarer-rpg/wayfarer/services/party"
	"github.com/wayfarer-rpg/wayfarer/services/travel"
	"github.com/wayfarer-rpg/wayfarer/workflows/expedition"
)

// Flaw makes a house that is not as it should be, to show that this is noticed. Nil functions are no flaw.
type Flaw struct {
	// Store wraps the store of a program.
	Store func(program string, s journal.Store) journal.Store
	// Call sees a call between programs before it is made; true makes it answer at once, with nothing.
	Call func(method string, req proto.Message) bool
	// Answer sees the answer of a program before its caller does.
	Answer func(method string, req, res proto.Message)
}

// house is all programs of an installation.
type house struct {
	plan     *plan
	flaw     Flaw
	programs map[string]*program
	temporal *temporalServer
	// minutes is how far the clock has gone on since the beginning.
	minutes atomic.Int64
	entropy io.Reader
	log     *slog.Logger
}

// program is one of them; its store outlives it.
type program struct {
	*house
	name  string
	store journal.Store
	open  func(l *life) (service, error)
	life  *life
	// lives counts them.
	lives int
}

// service is what a program serves.
type service interface {
	Register(r grpc.ServiceRegistrar)
}

// life is a program from its start to its death. Nothing comes out of it afterwards: its store and its connections fail.
type life struct {
	*program
	ctx      context.Context //nolint:containedctx // its end is the program's
	end      context.CancelFunc
	served   service
	services map[string]registered
	// activities are the worker's, of the expedition program alone.
	activities map[string]any
}

type registered struct {
	desc *grpc.ServiceDesc
	impl any
}

// RegisterService implements [grpc.ServiceRegistrar].
func (l *life) RegisterService(desc *grpc.ServiceDesc, impl any) {
	l.services[desc.ServiceName] = registered{desc, impl}
}

// begin is the time when a house is built: later than it will ever be, so that what compares it with the machine's clock sees
// no time pass.
var begin = time.Date(2131, 3, 1, 12, 0, 0, 0, time.UTC)

func (h *house) clock() time.Time { return begin.Add(time.Duration(h.minutes.Load()) * time.Minute) }

// newHouse builds the programs, which start when they are called.
func newHouse(seed uint64, flaw Flaw, aims []Point) (*house, error) {
	h := &house{
		plan: newPlan(seed, aims), flaw: flaw, programs: map[string]*program{}, entropy: rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8), byte(seed >> 16), byte(seed >> 24)}),
		log: slog.New(slog.DiscardHandler),
	}
	for name, open := range map[string]func(*life) (service, error){
		"dice": h.dice, "party": h.party, "dungeon": h.dungeon, "travel": h.travel, "expedition": h.expedition,
	} {
		var s journal.Store = memory.New()
		if flaw.Store != nil {
			s = flaw.Store(name, s)
		}
		h.programs[name] = &program{house: h, name: name, store: s, open: open}
	}
	var err error
	h.temporal, err = newTemporal(h)
	return h, err
}

// close ends all programs.
func (h *house) close() {
	for _, p := range h.programs {
		p.kill()
	}
	h.temporal.close()
}

func (p *program) kill() {
	l := p.life
	if l == nil {
		return
	}
	p.life = nil
	l.end()
	if c, ok := l.served.(io.Closer); ok {
		_ = c.Close() // ends the watches, which the death of a process would
	}
}

// alive returns the program's life; a new one begins when there is none. It looks at once after what it owes, as it does at
// its start, unless it dies of that.
func (p *program) alive() (*life, error) {
	if p.life != nil {
		return p.life, nil
	}
	ctx, end := context.WithCancel(context.Background())
	l := &life{program: p, ctx: ctx, end: end, services: map[string]registered{}, activities: map[string]any{}}
	s, err := p.open(l)
	if err != nil {
		end()
		return nil, fmt.Errorf("start %s: %w", p.name, err)
	}
	l.served = s
	s.Register(l)
	p.life = l
	if p.lives++; p.lives > 1 && p.lives%2 == 0 {
		l.sweep()
	}
	return l, l.gone()
}

// sweep lets the program see through what it owes, once.
func (l *life) sweep() {
	s, ok := l.served.(interface {
		Sweep(ctx context.Context, tick <-chan time.Time)
	})
	if !ok {
		return
	}
	ctx, cancel := context.WithCancel(auth.NewContext(l.ctx, auth.Principal{Subject: "service:" + l.name, Service: true}))
	defer cancel()
	tick := make(chan time.Time)
	var done sync.WaitGroup
	done.Go(func() { s.Sweep(ctx, tick) })
	select {
	case tick <- time.Time{}: // taken after the first walk
	case <-l.ctx.Done():
	}
	cancel()
	done.Wait()
}

// errDown is what a dead program makes of everything.
var errDown = errors.New("down")

// gone is errDown once the program has died.
func (l *life) gone() error {
	if l.ctx.Err() != nil {
		return errDown
	}
	return nil
}

// pass passes a point: it fails when the program dies there, or has died before. Cut tells that only the message is lost.
func (l *life) pass(kind, what string, when When) (cut bool, err error) {
	if err := l.gone(); err != nil {
		return false, err
	}
	switch l.plan.at(Point{l.name, kind, what, when}) {
	case Cut:
		return true, nil
	case Kill:
		l.program.kill()
	case PowerCut:
		for _, p := range l.programs {
			p.kill()
		}
	case Nothing:
	}
	return false, l.gone()
}

// around does something between two points.
func (l *life) around(kind, what string, do func() error) error {
	if _, err := l.pass(kind, what, Before); err != nil {
		return err
	}
	err := do()
	if err != nil {
		return err
	}
	_, err = l.pass(kind, what, After)
	return err
}

// lifeStore is the store as a program has it while it lives.
type lifeStore struct {
	journal.Store
	life *life
}

func (s lifeStore) Insert(ctx context.Context, r journal.Record) error {
	return s.life.around(Insert, r.Kind, func() error { return s.Store.Insert(ctx, r) })
}

func (s lifeStore) Owe(ctx context.Context, o journal.Obligation) error {
	return s.life.around(Owe, o.Kind, func() error { return s.Store.Owe(ctx, o) })
}

func (s lifeStore) Settle(ctx context.Context, stream string, through int) error {
	parts := strings.Split(stream, "/")
	return s.life.around(Settle, parts[len(parts)-2], func() error { return s.Store.Settle(ctx, stream, through) })
}

func (s lifeStore) PutHead(ctx context.Context, h journal.Head) error {
	if err := s.life.gone(); err != nil {
		return err
	}
	return s.Store.PutHead(ctx, h)
}

// journal makes heads often, so that a new life begins with states as well as with records.
func (h *house) journal() []journal.Option {
	return []journal.Option{journal.WithHeadEvery(3), journal.WithClock(h.clock), journal.WithLogger(h.log), journal.WithPoll(50 * time.Millisecond)}
}

func (l *life) keeps() journal.Store { return lifeStore{l.store, l} }

// campaigns asks the party service for roles and rules.
func (l *life) campaigns() *adapter.RemoteMembers {
	return adapter.NewRemoteMembers(partyv1.NewMembershipServiceClient(conn{l}), time.Hour, l.clock)
}

func (h *house) dice(l *life) (service, error) {
	return dice.New(dice.Config{Store: l.keeps(), Members: l.campaigns(), Logger: h.log, Entropy: h.entropy, Journal: h.journal()}), nil
}

func (h *house) party(l *life) (service, error) {
	return party.New(party.Config{Store: l.keeps(), Dice: dicev1.NewDiceServiceClient(conn{l}), Logger: h.log, Clock: h.clock, Journal: h.journal()})
}

func (h *house) dungeon(l *life) (service, error) {
	c := l.campaigns()
	return dungeon.New(dungeon.Config{
		Store: l.keeps(), Members: c, Rulesets: c, Logger: h.log, Journal: h.journal(), Parties: partyv1.NewCampaignServiceClient(conn{l}),
		Characters: partyv1.NewCharacterServiceClient(conn{l}), Leases: partyv1.NewLeaseServiceClient(conn{l}), Dice: dicev1.NewDiceServiceClient(conn{l}),
	})
}

func (h *house) travel(l *life) (service, error) {
	c := l.campaigns()
	return travel.New(travel.Config{
		Store: l.keeps(), Members: c, Rulesets: c, Logger: h.log, Clock: h.clock, Journal: h.journal(), Companies: partyv1.NewCompanyServiceClient(conn{l}),
		Characters: partyv1.NewCharacterServiceClient(conn{l}), Leases: partyv1.NewLeaseServiceClient(conn{l}), Dice: dicev1.NewDiceServiceClient(conn{l}),
	})
}

// roles tells the expedition service who may do what.
type roles struct{ adapter.Members }

func (r roles) Role(ctx context.Context, campaign, subject string) (typev1.Role, error) {
	m, err := r.Membership(ctx, campaign, subject)
	return m.Role, err
}

func (h *house) expedition(l *life) (service, error) {
	player := adapter.Caller{Membership: adapter.Membership{Role: typev1.Role_ROLE_PLAYER}}
	s, err := expedition.New(expedition.Config{
		Store: l.keeps(), Temporal: h.temporal.client, TaskQueue: "crash", Members: roles{l.campaigns()}, Travel: conn{l}, Dungeon: conn{l}, Party: conn{l},
		Redact: func(m proto.Message) proto.Message { return adapter.Redact(player, m) }, Logger: h.log, Clock: h.clock,
	})
	if err != nil {
		return nil, err
	}
	s.RegisterWorker(collector{l})
	return s, nil
}

// validator is what every server checks requests with.
var validator = sync.OnceValue(func() protovalidate.Validator {
	v, err := protovalidate.New()
	if err != nil {
		panic(err) // without options it has nothing to fail of
	}
	return v
})
