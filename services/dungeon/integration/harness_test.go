package integration_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
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
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	dicev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dice/v1"
	dungeonv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dungeon/v1"
	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"
	typev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/type/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/auth"
	"github.com/wayfarer-rpg/wayfarer/internal/await"
	"github.com/wayfarer-rpg/wayfarer/internal/fault"
	"github.com/wayfarer-rpg/wayfarer/internal/journal"
	"github.com/wayfarer-rpg/wayfarer/internal/journal/memory"
	"github.com/wayfarer-rpg/wayfarer/internal/serve"
	"github.com/wayfarer-rpg/wayfarer/services/dice"
	"github.com/wayfarer-rpg/wayfarer/services/dungeon"
	"github.com/wayfarer-rpg/wayfarer/services/party"
)

// The people of the tests: three players, who own Ada, Bram and Cleo, and others. Alice also owns Dan.
const (
	gm         = "gerd"
	adas       = "alice"
	brams      = "bob"
	cleos      = "carol"
	spectator  = "sven"
	bot        = "robot" // acts for Ada
	stranger   = "zoe"
	expedition = "service:expedition"
)

// The resources of the tests.
const (
	camp  = "campaigns/c1"
	other = "campaigns/c2" // the stranger's
	ada   = camp + "/characters/ada"
	bram  = camp + "/characters/bram"
	cleo  = camp + "/characters/cleo"
	dan   = camp + "/characters/dan"
	zed   = other + "/characters/zed"
	team  = camp + "/parties/team"
	vault = camp + "/dungeons/vault"
	delve = camp + "/runs/delve"
)

// tokens is a verifier that takes a subject for its own token; those that begin with "service:" are services.
type tokens struct{}

func (tokens) Verify(_ context.Context, token string) (auth.Principal, error) {
	return auth.Principal{Subject: token, Service: strings.HasPrefix(token, "service:")}, nil
}

// errDown is what a process that has died, or is cut off, makes of everything.
var errDown = status.Error(codes.Unavailable, "down")

// trip is where a process dies: just before or just after something happens outside of it, counted from 1. Nothing comes
// out of it afterwards. Only counts while it is armed.
type trip struct {
	mu    sync.Mutex
	at, n int
	armed bool
	dead  bool
}

func (t *trip) step() error {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.armed {
		return nil
	}
	t.n++
	if t.dead = t.dead || t.n == t.at; t.dead {
		return errDown
	}
	return nil
}

// arm begins the count.
func (t *trip) arm() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.armed = true
}

func (t *trip) died() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.dead
}

func (t *trip) around(act func() error) error {
	if err := t.step(); err != nil {
		return err
	}
	err := act()
	if e := t.step(); e != nil {
		return e
	}
	return err
}

// tripStore is a store that a process which may die writes to.
type tripStore struct {
	journal.Store
	trip *trip
}

func (s tripStore) Insert(ctx context.Context, r journal.Record) error {
	return s.trip.around(func() error { return s.Store.Insert(ctx, r) })
}

func (s tripStore) Owe(ctx context.Context, o journal.Obligation) error {
	return s.trip.around(func() error { return s.Store.Owe(ctx, o) })
}

func (s tripStore) Settle(ctx context.Context, stream string, seq int) error {
	return s.trip.around(func() error { return s.Store.Settle(ctx, stream, seq) })
}

// world is everything around the dungeon services of a test: the party and dice services in earnest, and the journal.
// Several nodes on one world are replicas, or one after a restart.
type world struct {
	t     *testing.T
	lean  bool
	store journal.Store
	party *party.Server
	conn  *grpc.ClientConn // to party and dice
	addr  string
	ids   atomic.Int64
	ticks atomic.Int64
}

func (w *world) clock() time.Time {
	return time.Date(2031, 3, 1, 12, 0, 0, 0, time.UTC).Add(time.Duration(w.ticks.Add(1)) * time.Second)
}

// Heads at every other record, so that replicas load states as well as records.
func (w *world) journal() []journal.Option {
	return []journal.Option{journal.WithPoll(5 * time.Millisecond), journal.WithHeadEvery(2), journal.WithClock(w.clock), journal.WithLogger(slog.New(slog.DiscardHandler))}
}

// listen serves services until the test ends, and returns where. Lean servers lack what all servers have beside tokens and
// faults, above all the checks of the fields, which take a while to compile.
func listen(t *testing.T, name string, lean bool, services ...interface {
	Register(grpc.ServiceRegistrar)
	Close() error
},
) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	var registrar grpc.ServiceRegistrar
	var run, stop func()
	done := make(chan error, 1)
	if lean {
		g := grpc.NewServer(grpc.ChainUnaryInterceptor(fault.UnaryServer(log), auth.UnaryServer(tokens{})))
		registrar, run, stop = g, func() { done <- g.Serve(l) }, g.Stop
	} else {
		g, err := serve.NewServer(serve.Config{Name: name, Verifier: tokens{}, Logger: log, Grace: time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		registrar, run, stop = g, func() { done <- g.Serve(ctx, l) }, cancel
	}
	for _, s := range services {
		s.Register(registrar)
	}
	go run()
	t.Cleanup(func() {
		for _, s := range services {
			_ = s.Close()
		}
		stop()
		if err := <-done; err != nil {
			t.Errorf("serve %s: %v", name, err)
		}
	})
	return l.Addr().String()
}

func dial(t *testing.T, addr string, hooks ...grpc.UnaryClientInterceptor) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithChainUnaryInterceptor(hooks...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// newWorld starts the party and dice services, and makes two campaigns.
func newWorld(t *testing.T) *world {
	t.Helper()
	return makeWorld(t, false)
}

// makeWorld is newWorld with lean servers if wanted.
func makeWorld(t *testing.T, lean bool) *world {
	t.Helper()
	w := &world{t: t, store: memory.New(), lean: lean}
	var err error
	w.party, err = party.New(party.Config{Store: memory.New(), Journal: w.journal()})
	if err != nil {
		t.Fatal(err)
	}
	rolls := dice.New(dice.Config{Store: memory.New(), Members: w.party, Logger: slog.New(slog.DiscardHandler), Journal: w.journal()})
	w.addr = listen(t, "neighbours", lean, w.party, rolls)
	w.conn = dial(t, w.addr)
	must(w, gm, &partyv1.CreateCampaignRequest{CampaignId: "c1", Title: "The Long Road", Chapter: 3, Members: []*partyv1.CampaignMember{
		{Subject: adas, Role: typev1.Role_ROLE_PLAYER}, {Subject: brams, Role: typev1.Role_ROLE_PLAYER}, {Subject: cleos, Role: typev1.Role_ROLE_PLAYER},
		{Subject: spectator, Role: typev1.Role_ROLE_SPECTATOR}, {Subject: bot, Role: typev1.Role_ROLE_BOT, Characters: []string{ada}},
	}})
	must(w, stranger, &partyv1.CreateCampaignRequest{CampaignId: "c2", Title: "Elsewhere"})
	return w
}

// node is one dungeon service.
type node struct {
	*world
	srv  *dungeon.Server
	conn *grpc.ClientConn
}

// node starts a service, which dies at a trip if it is given one.
func (w *world) node(trips ...*trip) *node {
	w.t.Helper()
	var tr *trip
	if len(trips) > 0 {
		tr = trips[0]
	}
	lenders := dial(w.t, w.addr, auth.UnaryClient(), func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer service:dungeon")
		return tr.around(func() error { return invoke(ctx, method, req, reply, cc, opts...) })
	})
	srv, err := dungeon.New(dungeon.Config{
		Store: tripStore{w.store, tr}, Members: w.party, Rulesets: w.party, Parties: partyv1.NewCampaignServiceClient(lenders), Characters: partyv1.NewCharacterServiceClient(lenders), Leases: partyv1.NewLeaseServiceClient(lenders),
		Dice: dicev1.NewDiceServiceClient(lenders), Logger: slog.New(slog.DiscardHandler), Journal: w.journal(),
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return &node{world: w, srv: srv, conn: dial(w.t, listen(w.t, "dungeon", w.lean, srv))}
}

// sweep lets the node's sweeper walk once.
func (n *node) sweep() {
	ctx, cancel := context.WithCancel(context.Background())
	tick, done := make(chan time.Time), make(chan struct{})
	go func() {
		defer close(done)
		n.srv.Sweep(ctx, tick)
	}()
	tick <- time.Time{} // taken after the first walk
	cancel()
	<-done
}

// as returns a context in which somebody calls, who may be "<service> for <subject>"; "" has no token.
func as(ctx context.Context, who string) context.Context {
	who, actor, _ := strings.Cut(who, " for ")
	if actor != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, auth.ActorHeader, actor)
	}
	if who == "" {
		return ctx
	}
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+who)
}

// rpcOf finds the RPC of a request message by its name.
func rpcOf(req proto.Message) protoreflect.MethodDescriptor {
	d := req.ProtoReflect().Descriptor()
	want := protoreflect.Name(strings.TrimSuffix(string(d.Name()), "Request"))
	for i := range d.ParentFile().Services().Len() {
		if m := d.ParentFile().Services().Get(i).Methods().ByName(want); m != nil {
			return m
		}
	}
	panic("no RPC takes a " + string(d.FullName()))
}

// call makes a unary call for somebody; a mutation without a request_id gets one of its own.
func (w *world) call(conn *grpc.ClientConn, who string, req proto.Message) (proto.Message, error) {
	if fd := req.ProtoReflect().Descriptor().Fields().ByName("request_id"); fd != nil && req.ProtoReflect().Get(fd).String() == "" {
		req.ProtoReflect().Set(fd, protoreflect.ValueOfString(fmt.Sprintf("q-%d", w.ids.Add(1))))
	}
	m := rpcOf(req)
	typ, err := protoregistry.GlobalTypes.FindMessageByName(m.Output().FullName())
	if err != nil {
		return nil, err
	}
	res := typ.New().Interface()
	ctx, cancel := context.WithTimeout(as(context.Background(), who), await.Limit)
	defer cancel()
	err = conn.Invoke(ctx, fmt.Sprintf("/%s/%s", m.Parent().FullName(), m.Name()), req, res)
	return res, err
}

// must makes a call of the party or dice service that has to succeed.
func must(w *world, who string, req proto.Message) proto.Message {
	w.t.Helper()
	res, err := w.call(w.conn, who, req)
	if err != nil {
		w.t.Fatalf("%s: %T %v: %v", who, req, req, err)
	}
	return res
}

// try makes a call of the node.
func (n *node) try(who string, req proto.Message) (proto.Message, error) {
	return n.call(n.conn, who, req)
}

// do makes a call of the node that has to succeed.
func do[R proto.Message](n *node, who string, req proto.Message) R {
	n.t.Helper()
	res, err := n.try(who, req)
	if err != nil {
		n.t.Fatalf("%s: %T %v: %v", who, req, req, err)
	}
	return res.(R) //nolint:forcetypeassert // a test
}

// refusal is what a call should fail with; fields are joined by commas.
type refusal struct {
	code   codes.Code
	reason string
	field  string
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
	ctx := context.Background()
	for _, kind := range []string{"dungeon", "run"} {
		firsts, err := w.store.Firsts(ctx, journal.Filter{Kind: kind}, journal.Cursor{}, 1000)
		if err != nil {
			w.t.Fatal(err)
		}
		for _, f := range firsts {
			recs, err := w.store.Read(ctx, f.Stream, 0, 10_000)
			if err != nil {
				w.t.Fatal(err)
			}
			out[f.Stream] = len(recs)
		}
	}
	return out
}

// owing tells how many entries the index of what runs owe has.
func (w *world) owing() int {
	w.t.Helper()
	owed, err := w.store.Owing(context.Background(), "run", journal.Obligation{}, 100)
	if err != nil {
		w.t.Fatal(err)
	}
	return len(owed)
}

// character makes a character with ratings 5, 4, 4, 4 unless told otherwise, and tools in its belt.
func (w *world) character(id, owner string, ratings *partyv1.Abilities, tools ...*partyv1.Tool) {
	w.t.Helper()
	campaign := camp
	if owner == stranger {
		campaign = other
	}
	name := campaign + "/characters/" + id
	if ratings == nil {
		ratings = &partyv1.Abilities{Brute: 5, Agility: 4, Wits: 4, Combat: 4}
	}
	must(w, owner, &partyv1.CreateCharacterRequest{Parent: campaign, CharacterId: id, Title: strings.ToUpper(id[:1]) + id[1:]})
	must(w, owner, &partyv1.SetAbilitiesRequest{Name: name, Abilities: ratings})
	if len(tools) > 0 {
		must(w, owner, &partyv1.BuyToolsRequest{Name: name, Tools: tools})
	}
	for i := range tools {
		must(w, owner, &partyv1.LoadToolRequest{Name: name, Number: int32(i + 1)})
	}
}

// begin makes the usual characters, in a lean world no more than are needed, a party of the first three that Ada leads, and a dungeon.
func (n *node) begin() *node {
	n.t.Helper()
	tools := []*partyv1.Tool{
		{Id: "maul", Ability: "brute", Rating: "major", Qualities: []string{"improved"}},
		{Id: "hook", Ability: "agility", Rating: "minor"},
	}
	if n.lean {
		tools = nil
	} else {
		n.character("dan", adas, nil)
		n.character("zed", stranger, nil)
	}
	n.character("ada", adas, nil, tools...)
	n.character("bram", brams, nil)
	n.character("cleo", cleos, nil)
	must(n.world, adas, &partyv1.CreatePartyRequest{Parent: camp, PartyId: "team", Character: ada})
	must(n.world, brams, &partyv1.JoinPartyRequest{Name: team, Character: bram})
	must(n.world, cleos, &partyv1.JoinPartyRequest{Name: team, Character: cleo})
	do[*dungeonv1.ImportDungeonResponse](n, gm, &dungeonv1.ImportDungeonRequest{Parent: camp, Dungeon: testDungeon()})
	return n
}

// testDungeon is a deck of brute challenges whose texts all name it, so that a test finds them where they do not belong.
func testDungeon() *dungeonv1.DungeonDefinition {
	d := &dungeonv1.DungeonDefinition{
		Id: "vault", Number: 7, Name: "The Vault", Type: "ruin", Summary: "Doors behind doors.", TnBonus: &dungeonv1.TnBonus{Final: 1},
	}
	for _, c := range [][2]string{{"e", "entry"}, {"n1", "normal"}, {"n2", "normal"}, {"n3", "normal"}, {"f", "final"}} {
		d.Cards = append(d.Cards, &dungeonv1.Card{
			Id: c[0], Kind: c[1], Ability: "brute", Level: 1, Conditions: []string{"treasure"}, Title: "Door " + c[0], Text: "cardtext-" + c[0] + " bars the way.",
		})
	}
	return d
}

func startDelve() *dungeonv1.StartRunRequest {
	return &dungeonv1.StartRunRequest{Parent: camp, RunId: "delve", Party: team, Dungeon: vault, Character: ada, RequestId: "start"}
}

// started begins the usual run.
func (n *node) started() *node {
	n.t.Helper()
	do[*dungeonv1.StartRunResponse](n.begin(), adas, startDelve())
	return n
}

func (n *node) run(who string) *dungeonv1.Run {
	n.t.Helper()
	return do[*dungeonv1.GetRunResponse](n, who, &dungeonv1.GetRunRequest{Name: delve}).GetRun()
}

func force(character string) *dungeonv1.ActRequest {
	return &dungeonv1.ActRequest{Name: delve, Character: character, Action: &dungeonv1.Action{Means: &dungeonv1.Action_Basic{Basic: "force"}}}
}

func use(character string, tool int32) *dungeonv1.ActRequest {
	return &dungeonv1.ActRequest{Name: delve, Character: character, Action: &dungeonv1.Action{Means: &dungeonv1.Action_Tool{Tool: tool}}}
}

// owners tells who plays whom.
var owners = map[string]string{ada: adas, bram: brams, cleo: cleos, dan: adas}

// round lets everybody act by force, then completes with reported faces.
func (n *node) round(faces ...int32) *dungeonv1.CompleteResponse {
	n.t.Helper()
	r := n.run(gm)
	for _, m := range r.GetChallenge().GetWaiting() {
		do[*dungeonv1.ActResponse](n, owners[m], force(m))
	}
	return do[*dungeonv1.CompleteResponse](n, gm, &dungeonv1.CompleteRequest{
		Name: delve, Character: r.GetChallenge().GetDrawer(), ReportedDice: faces, Etag: n.run(gm).GetEtag(),
	})
}

// borrowed tells what the party service has lent to whom.
func (w *world) borrowed(characters ...string) map[string]string {
	w.t.Helper()
	out := w.lent(characters...)
	if p := w.roster(); p.GetState() == partyv1.Party_STATE_IN_RUN {
		out[team] = p.GetRun()
	}
	return out
}

// lent tells who holds the loadouts of characters.
func (w *world) lent(characters ...string) map[string]string {
	w.t.Helper()
	out := map[string]string{}
	for _, name := range characters {
		c := must(w, gm, &partyv1.GetCharacterRequest{Name: name}).(*partyv1.GetCharacterResponse).GetCharacter() //nolint:forcetypeassert // a test
		for _, l := range c.GetLeases() {
			out[name] = l.GetHolder()
		}
	}
	return out
}

// roster reads the usual party.
func (w *world) roster() *partyv1.Party {
	w.t.Helper()
	return must(w, gm, &partyv1.GetPartyRequest{Name: team}).(*partyv1.GetPartyResponse).GetParty() //nolint:forcetypeassert // a test
}

// revealed tells whether the seed of a run's dice is public.
func (w *world) revealed(stream string) bool {
	w.t.Helper()
	return must(w, gm, &dicev1.GetStreamRequest{Name: stream}).(*dicev1.GetStreamResponse).GetStream().GetRevealed() //nolint:forcetypeassert // a test
}
