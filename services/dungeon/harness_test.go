package dungeon_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	dicev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dice/v1"
	dungeonv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dungeon/v1"
	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"
	typev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/type/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/auth"
	"github.com/wayfarer-rpg/wayfarer/internal/await"
	"github.com/wayfarer-rpg/wayfarer/internal/dicestream"
	"github.com/wayfarer-rpg/wayfarer/internal/fault"
	"github.com/wayfarer-rpg/wayfarer/internal/journal"
	"github.com/wayfarer-rpg/wayfarer/internal/journal/memory"
	"github.com/wayfarer-rpg/wayfarer/internal/serve"
	"github.com/wayfarer-rpg/wayfarer/rules/digger"
	"github.com/wayfarer-rpg/wayfarer/services/adapter"
	"github.com/wayfarer-rpg/wayfarer/services/dungeon"
	"github.com/wayfarer-rpg/wayfarer/services/party"
)

// The people of the tests: three players, who own Ada, Bram and Cleo, and others.
const (
	owner     = "olga"
	gm        = "gerd"
	adas      = "alice"
	brams     = "bob"
	cleos     = "carol"
	spectator = "sven"
	bot       = "robot" // acts for Ada
	stranger  = "zoe"
	service   = "service:expedition"
)

// The resources of the tests.
const (
	camp    = "campaigns/c1"
	other   = "campaigns/c2" // the stranger's
	ada     = camp + "/characters/ada"
	bram    = camp + "/characters/bram"
	cleo    = camp + "/characters/cleo"
	team    = camp + "/parties/team" // Ada's, with Bram and Cleo
	granary = camp + "/dungeons/ostrell-granary"
	dive    = camp + "/runs/dive"
	quest   = camp + "/expeditions/quest"
)

// owners of the characters.
var owners = map[string]string{ada: adas, bram: brams, cleo: cleos}

// tokens is a verifier that takes a subject for its own token; those that begin with "service:" are services.
type tokens struct{}

func (tokens) Verify(_ context.Context, token string) (auth.Principal, error) {
	return auth.Principal{Subject: token, Service: strings.HasPrefix(token, "service:")}, nil
}

// diceFake keeps streams in memory; what they show is derived as it is in earnest.
type diceFake struct {
	dicev1.UnimplementedDiceServiceServer

	mu       sync.Mutex
	streams  map[string]string // to their holders
	revealed map[string]bool
}

// seedOf is the seed of a stream.
func seedOf(stream string) []byte {
	sum := sha256.Sum256([]byte("seed of " + stream))
	return sum[:]
}

func (d *diceFake) CreateStream(_ context.Context, req *dicev1.CreateStreamRequest) (*dicev1.CreateStreamResponse, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	name := req.GetParent() + "/streams/" + req.GetStreamId()
	d.streams[name] = req.GetHolder()
	sum := dicestream.Commitment(seedOf(name))
	return &dicev1.CreateStreamResponse{Stream: &dicev1.Stream{Name: name, Holder: req.GetHolder(), Commitment: sum[:]}}, nil
}

func (d *diceFake) Draw(_ context.Context, req *dicev1.DrawRequest) (*dicev1.DrawResponse, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch name := req.GetName(); {
	case d.streams[name] == "":
		return nil, fault.New(fault.NotFound, "NOT_FOUND", "%s does not exist", name)
	case d.revealed[name]:
		return nil, fault.New(fault.FailedPrecondition, "REVEALED", "%s is revealed", name)
	}
	return &dicev1.DrawResponse{Key: dicestream.Key(seedOf(req.GetName()), "", uint64(req.GetIndex()))}, nil //nolint:gosec // a record number
}

func (d *diceFake) RevealStream(_ context.Context, req *dicev1.RevealStreamRequest) (*dicev1.RevealStreamResponse, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.streams[req.GetName()] == "" {
		return nil, fault.New(fault.NotFound, "NOT_FOUND", "%s does not exist", req.GetName())
	}
	d.revealed[req.GetName()] = true
	return &dicev1.RevealStreamResponse{Stream: &dicev1.Stream{Name: req.GetName(), Revealed: true, Seed: seedOf(req.GetName())}}, nil
}

// listen serves something on a listener of its own until the test ends, and returns its address. A lean server lacks what
// all servers of the suite have beside tokens and faults, above all the checks of fields, which take a while to compile.
func listen(t *testing.T, name string, lean bool, register func(grpc.ServiceRegistrar), closers ...io.Closer) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	done := make(chan error, 1)
	var stop func()
	if lean {
		g := grpc.NewServer(grpc.ChainUnaryInterceptor(fault.UnaryServer(log), auth.UnaryServer(tokens{})))
		register(g)
		go func() { done <- g.Serve(l) }()
		stop = g.Stop
	} else {
		g, err := serve.NewServer(serve.Config{Name: name, Verifier: tokens{}, Logger: log, Grace: time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		register(g)
		ctx, cancel := context.WithCancel(context.Background())
		go func() { done <- g.Serve(ctx, l) }()
		stop = cancel
	}
	t.Cleanup(func() {
		for _, c := range closers {
			_ = c.Close()
		}
		stop()
		if err := <-done; err != nil {
			t.Errorf("serve %s: %v", name, err)
		}
	})
	return l.Addr().String()
}

func dial(t *testing.T, addr string, opts ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(addr, append(opts, grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// world is everything around the dungeon services of a test: several of them on one world are replicas, or one after a
// restart. The party service is the real one.
type world struct {
	t       *testing.T
	store   journal.Store // the dungeon services'
	parties *client       // of the party service
	dice    *diceFake
	addr    string // of the party and the dice service
	ids     *atomic.Int64
	lean    bool // of the dungeon services

	// before, when set, comes before each call of another service and may fail it, after comes after one that went well.
	before func(method string, req any) error
	after  func(method string, req, res any) error
}

// newWorld makes a campaign with everybody in it, and Ada, Bram and Cleo in a party.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, store: memory.New(), ids: new(atomic.Int64), dice: &diceFake{streams: map[string]string{}, revealed: map[string]bool{}}}
	srv, err := party.New(party.Config{Store: memory.New(), Clock: clock(), Journal: []journal.Option{journal.WithPoll(5 * time.Millisecond)}})
	if err != nil {
		t.Fatal(err)
	}
	w.addr = listen(t, "party", true, func(r grpc.ServiceRegistrar) {
		srv.Register(r)
		dicev1.RegisterDiceServiceServer(r, w.dice)
	}, srv)
	w.parties = &client{t: t, conn: dial(t, w.addr), ids: w.ids}

	do[*partyv1.CreateCampaignResponse](w.parties, owner, &partyv1.CreateCampaignRequest{CampaignId: "c1", Title: "The Long Road", Chapter: 3,
		Members: []*partyv1.CampaignMember{
			{Subject: gm, Role: typev1.Role_ROLE_GM}, {Subject: adas, Role: typev1.Role_ROLE_PLAYER},
			{Subject: brams, Role: typev1.Role_ROLE_PLAYER}, {Subject: cleos, Role: typev1.Role_ROLE_PLAYER},
			{Subject: spectator, Role: typev1.Role_ROLE_SPECTATOR},
			{Subject: bot, Role: typev1.Role_ROLE_BOT, Characters: []string{ada}},
		}})
	do[*partyv1.CreateCampaignResponse](w.parties, stranger, &partyv1.CreateCampaignRequest{CampaignId: "c2", Title: "Elsewhere"})
	for _, c := range [][2]string{{"ada", adas}, {"bram", brams}, {"cleo", cleos}} {
		name := camp + "/characters/" + c[0]
		do[*partyv1.CreateCharacterResponse](w.parties, c[1], &partyv1.CreateCharacterRequest{Parent: camp, CharacterId: c[0], Title: strings.ToUpper(c[0][:1]) + c[0][1:]})
		do[*partyv1.SetAbilitiesResponse](w.parties, c[1], &partyv1.SetAbilitiesRequest{Name: name, Abilities: &partyv1.Abilities{Brute: 4, Agility: 4, Wits: 4, Combat: 4}})
	}
	do[*partyv1.BuyToolsResponse](w.parties, adas, &partyv1.BuyToolsRequest{Name: ada, Tools: []*partyv1.Tool{
		{Id: "maul", Title: "the maul", Ability: "brute", Rating: "major", Qualities: []string{"improved"}},
		{Id: "censer", Title: "the censer", Ability: "wits", Rating: "minor", Qualities: []string{"cleanse"}, Drawback: "liability"},
	}})
	for number := range int32(2) {
		do[*partyv1.LoadToolResponse](w.parties, adas, &partyv1.LoadToolRequest{Name: ada, Number: number + 1})
	}
	do[*partyv1.CreatePartyResponse](w.parties, adas, &partyv1.CreatePartyRequest{Parent: camp, PartyId: "team", Character: ada})
	do[*partyv1.JoinPartyResponse](w.parties, brams, &partyv1.JoinPartyRequest{Name: team, Character: bram})
	do[*partyv1.JoinPartyResponse](w.parties, cleos, &partyv1.JoinPartyRequest{Name: team, Character: cleo})
	return w
}

// clock ticks a second at each look.
func clock() func() time.Time {
	var ticks atomic.Int64
	return func() time.Time {
		return time.Date(2031, 3, 1, 12, 0, 0, 0, time.UTC).Add(time.Duration(ticks.Add(1)) * time.Second)
	}
}

// called makes the calls of a dungeon service those of a service identity, and lets the world interfere.
func (w *world) called(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer service:dungeon")
	if w.before != nil {
		if err := w.before(path.Base(method), req); err != nil {
			return err
		}
	}
	err := invoke(ctx, method, req, reply, cc, opts...)
	if err == nil && w.after != nil {
		err = w.after(path.Base(method), req, reply)
	}
	return err
}

// node is one dungeon service on a listener of its own.
type node struct {
	*client
	*world
	srv *dungeon.Server
}

// node starts a service.
func (w *world) node(change ...func(*dungeon.Config)) *node {
	w.t.Helper()
	conn := dial(w.t, w.addr, grpc.WithChainUnaryInterceptor(auth.UnaryClient(), w.called))
	cfg := dungeon.Config{
		Store: w.store, Parties: partyv1.NewCampaignServiceClient(conn), Characters: partyv1.NewCharacterServiceClient(conn), Leases: partyv1.NewLeaseServiceClient(conn), Dice: dicev1.NewDiceServiceClient(conn),
		Members: adapter.NewRemoteMembers(partyv1.NewMembershipServiceClient(conn), 0, time.Now),
		Logger:  slog.New(slog.DiscardHandler),
		// Heads at every other record, so that replicas load states as well as records.
		Journal: []journal.Option{journal.WithClock(clock()), journal.WithPoll(5 * time.Millisecond), journal.WithHeadEvery(2), journal.WithLogger(slog.New(slog.DiscardHandler))},
	}
	for _, c := range change {
		c(&cfg)
	}
	srv, err := dungeon.New(cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	addr := listen(w.t, "dungeon", w.lean, srv.Register, srv)
	return &node{client: &client{t: w.t, conn: dial(w.t, addr), ids: w.ids}, world: w, srv: srv}
}

// client makes calls for people.
type client struct {
	t    *testing.T
	conn *grpc.ClientConn
	ids  *atomic.Int64
}

// as returns a context in which somebody calls, who may be "<service> for <subject>".
func as(ctx context.Context, who string) context.Context {
	who, actor, _ := strings.Cut(who, " for ")
	if actor != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, auth.ActorHeader, actor)
	}
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+who)
}

// rpcOf finds the RPC of a request message by its name.
func rpcOf(req proto.Message) protoreflect.MethodDescriptor {
	want := protoreflect.Name(strings.TrimSuffix(string(req.ProtoReflect().Descriptor().Name()), "Request"))
	for _, f := range []protoreflect.FileDescriptor{
		dungeonv1.File_wayfarer_dungeon_v1_dungeon_proto, dungeonv1.File_wayfarer_dungeon_v1_run_proto,
		partyv1.File_wayfarer_party_v1_campaign_proto, partyv1.File_wayfarer_party_v1_character_proto, partyv1.File_wayfarer_party_v1_lease_proto,
	} {
		for i := range f.Services().Len() {
			if m := f.Services().Get(i).Methods().ByName(want); m != nil {
				return m
			}
		}
	}
	panic("no RPC takes a " + string(req.ProtoReflect().Descriptor().FullName()))
}

// call makes a unary call for somebody; a mutation without a request_id gets one of its own.
func (c *client) call(who string, req proto.Message) (proto.Message, error) {
	m := req.ProtoReflect()
	if fd := m.Descriptor().Fields().ByName("request_id"); fd != nil && m.Get(fd).String() == "" {
		m.Set(fd, protoreflect.ValueOfString(fmt.Sprintf("q-%d", c.ids.Add(1))))
	}
	rpc := rpcOf(req)
	typ, err := protoregistry.GlobalTypes.FindMessageByName(rpc.Output().FullName())
	if err != nil {
		return nil, err
	}
	res := typ.New().Interface()
	ctx, cancel := context.WithTimeout(as(context.Background(), who), await.Limit)
	defer cancel()
	err = c.conn.Invoke(ctx, fmt.Sprintf("/%s/%s", rpc.Parent().FullName(), rpc.Name()), req, res)
	return res, err
}

// caller is whatever makes calls.
type caller interface {
	call(who string, req proto.Message) (proto.Message, error)
	fatalf(format string, args ...any)
}

func (c *client) fatalf(format string, args ...any) { c.t.Helper(); c.t.Fatalf(format, args...) }

// do makes a call that must succeed.
func do[R proto.Message](c caller, who string, req proto.Message) R {
	res, err := c.call(who, req)
	if err != nil {
		c.fatalf("%s: %T %v: %v %v", who, req, req, err, status.Convert(err).Details())
	}
	return res.(R) //nolint:forcetypeassert // a test
}

// answer is what commands on runs answer.
type answer interface {
	proto.Message
	GetRecord() *typev1.Record
	GetRun() *dungeonv1.Run
	GetEvents() []*dungeonv1.RunEvent
}

// refusal is what a call should fail with.
type refusal struct {
	code   codes.Code
	reason string
	field  string // several joined by commas
}

func (r refusal) check(t *testing.T, err error) {
	t.Helper()
	if status.Code(err) != r.code {
		t.Fatalf("got %v, want %v %s", err, r.code, r.reason)
	}
	var info *errdetails.ErrorInfo
	var fields []string
	for _, d := range status.Convert(err).Details() {
		switch d := d.(type) {
		case *errdetails.ErrorInfo:
			info = d
		case *errdetails.BadRequest:
			for _, v := range d.GetFieldViolations() {
				fields = append(fields, v.GetField())
			}
		}
	}
	if info.GetReason() != r.reason || info.GetDomain() != fault.Domain {
		t.Errorf("got reason %q of %q, want %q: %v", info.GetReason(), info.GetDomain(), r.reason, err)
	}
	if strings.Join(fields, ",") != r.field {
		t.Errorf("got fields %q, want %q: %v", fields, r.field, err)
	}
}

// seqs tells how long each stream of the journal is.
func (w *world) seqs() map[string]int {
	w.t.Helper()
	out := map[string]int{}
	for _, kind := range []string{"dungeon", "run"} {
		firsts, err := w.store.Firsts(context.Background(), journal.Filter{Kind: kind}, journal.Cursor{}, 1000)
		if err != nil {
			w.t.Fatal(err)
		}
		for _, f := range firsts {
			out[f.Stream] = len(w.records(f.Stream))
		}
	}
	return out
}

func (w *world) records(stream string) []journal.Record {
	w.t.Helper()
	recs, err := w.store.Read(context.Background(), stream, 0, 10_000)
	if err != nil {
		w.t.Fatal(err)
	}
	return recs
}

// owing tells how many entries the index of what is owed has.
func (w *world) owing() int {
	w.t.Helper()
	owed, err := w.store.Owing(context.Background(), "run", journal.Obligation{}, 100)
	if err != nil {
		w.t.Fatal(err)
	}
	return len(owed)
}

// leases lists what the party and its characters have lent, as "<lender id> to <holder id>".
func (w *world) leases() []string {
	w.t.Helper()
	out := []string{}
	res, err := w.parties.call(gm, &partyv1.GetPartyRequest{Name: team})
	switch {
	case status.Code(err) == codes.NotFound: // dissolved, all seats being given back
	case err != nil:
		w.t.Fatal(err)
	default:
		if p := res.(*partyv1.GetPartyResponse).GetParty(); p.GetState() == partyv1.Party_STATE_IN_RUN {
			out = append(out, "team to "+adapter.IDOf(p.GetRun()))
		}
	}
	for _, name := range []string{ada, bram, cleo} {
		c := do[*partyv1.GetCharacterResponse](w.parties, gm, &partyv1.GetCharacterRequest{Name: name}).GetCharacter()
		for _, l := range c.GetLeases() {
			out = append(out, adapter.IDOf(name)+" to "+adapter.IDOf(l.GetHolder()))
		}
	}
	return out
}

func (w *world) party() *partyv1.Party {
	w.t.Helper()
	return do[*partyv1.GetPartyResponse](w.parties, gm, &partyv1.GetPartyRequest{Name: team}).GetParty()
}

// revealed tells whether all streams there are have been revealed.
func (w *world) revealed() bool {
	w.dice.mu.Lock()
	defer w.dice.mu.Unlock()
	for s := range w.dice.streams {
		if !w.dice.revealed[s] {
			return false
		}
	}
	return true
}

// errDown is what calls of another service fail with while it is down.
var errDown = status.Error(codes.Unavailable, "is down")

// shipped returns a shipped dungeon.
func shipped(id string) *dungeonv1.DungeonDefinition {
	all := digger.ShippedDungeons()
	i := slices.IndexFunc(all, func(d digger.Dungeon) bool { return d.ID == id })
	return definition(all[i])
}

// definition makes the message of a dungeon.
func definition(d digger.Dungeon) *dungeonv1.DungeonDefinition {
	out := &dungeonv1.DungeonDefinition{
		Id: d.ID, Number: int32(d.Number), Name: d.Name, Type: d.Type, Summary: d.Summary, //nolint:gosec // small
		TnBonus: &dungeonv1.TnBonus{Climax: int32(d.TNBonus.Climax), Final: int32(d.TNBonus.Final)}, //nolint:gosec // small
	}
	for _, c := range d.Cards {
		out.Cards = append(out.Cards, &dungeonv1.Card{
			Id: c.ID, Kind: c.Kind, Ability: c.Ability, Level: int32(c.Level), Conditions: c.Conditions, Title: c.Title, Text: c.Text, //nolint:gosec // small
		})
	}
	return out
}

// imported imports the shipped Ruin.
func (n *node) imported() *node {
	do[*dungeonv1.ImportDungeonResponse](n, gm, &dungeonv1.ImportDungeonRequest{Parent: camp, Dungeon: shipped("ostrell-granary"), RequestId: "import"})
	return n
}

func startDive() *dungeonv1.StartRunRequest {
	return &dungeonv1.StartRunRequest{Parent: camp, RunId: "dive", Party: team, Dungeon: granary, Character: ada, RequestId: "start"}
}

// begin imports the shipped Ruin and starts a run: its entry is a challenge of brute.
func (n *node) begin() *node {
	n.imported()
	do[*dungeonv1.StartRunResponse](n, adas, startDive())
	return n
}

// act lets everybody act with the basic action.
func (n *node) act() {
	for _, who := range n.run(gm).GetChallenge().GetWaiting() {
		do[*dungeonv1.ActResponse](n, gm, basic(who, n.run(gm).GetChallenge().GetAbility()))
	}
}

func basic(who, ability string) *dungeonv1.ActRequest {
	return &dungeonv1.ActRequest{Name: dive, Character: who, Action: &dungeonv1.Action{Means: &dungeonv1.Action_Basic{Basic: ability}}}
}

func withTool(who string, number int32) *dungeonv1.ActRequest {
	return &dungeonv1.ActRequest{Name: dive, Character: who, Action: &dungeonv1.Action{Means: &dungeonv1.Action_Tool{Tool: number}}}
}

func (n *node) run(who string) *dungeonv1.Run {
	return do[*dungeonv1.GetRunResponse](n, who, &dungeonv1.GetRunRequest{Name: dive}).GetRun()
}

// watch collects what a watch sends until it ends.
func (n *node) watch(who, name string, from int32) ([]*dungeonv1.WatchRunResponse, error) {
	ctx, cancel := context.WithTimeout(as(context.Background(), who), await.Limit)
	defer cancel()
	s, err := dungeonv1.NewRunServiceClient(n.conn).WatchRun(ctx, &dungeonv1.WatchRunRequest{Name: name, FromSeq: from})
	if err != nil {
		return nil, err
	}
	var out []*dungeonv1.WatchRunResponse
	for {
		res, err := s.Recv()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		out = append(out, res)
	}
}

// sweep lets a node's sweeper walk once.
func (n *node) sweep() {
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

// stored returns the events of a run as they are journaled.
func (w *world) stored(stream string) []*dungeonv1.RunEvent {
	w.t.Helper()
	var out []*dungeonv1.RunEvent
	for _, r := range w.records(stream) {
		for _, raw := range r.Events {
			e := &dungeonv1.RunEvent{}
			if err := protojson.Unmarshal(raw, e); err != nil {
				w.t.Fatal(err)
			}
			out = append(out, e)
		}
	}
	return out
}

// journalEtag is the etag of a state that has been.
func journalEtag(stream string, seq int) string { return journal.EtagOf(stream, seq) }
