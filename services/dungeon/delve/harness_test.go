package delve_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"path"
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
	"github.com/wayfarer-rpg/wayfarer/internal/dicestream"
	"github.com/wayfarer-rpg/wayfarer/internal/fault"
	"github.com/wayfarer-rpg/wayfarer/internal/journal"
	"github.com/wayfarer-rpg/wayfarer/internal/journal/memory"
	"github.com/wayfarer-rpg/wayfarer/internal/serve"
	"github.com/wayfarer-rpg/wayfarer/services/adapter"
	"github.com/wayfarer-rpg/wayfarer/services/dungeon/delve"
	"github.com/wayfarer-rpg/wayfarer/services/party"
)

// The people of the tests: two players, who own Ada and Bram, and others.
const (
	owner     = "olga"
	gm        = "gerd"
	adas      = "alice"
	brams     = "bob"
	spectator = "sven"
	bot       = "robot" // acts for Ada
	stranger  = "zoe"
	service   = "service:expedition"
)

// The resources of the tests.
const (
	camp  = "campaigns/c1"
	other = "campaigns/c2" // the stranger's
	ada   = camp + "/characters/ada"
	bram  = camp + "/characters/bram"
	cleo  = camp + "/characters/cleo" // Bob's, too, and no member
	tomb  = camp + "/delves/tomb"
	lair  = camp + "/dungeons/lair"
	quest = camp + "/expeditions/quest"
)

// tokens is a verifier that takes a subject for its own token; those that begin with "service:" are services.
type tokens struct{}

func (tokens) Verify(_ context.Context, token string) (auth.Principal, error) {
	return auth.Principal{Subject: token, Service: strings.HasPrefix(token, "service:")}, nil
}

// diceFake keeps streams in memory; what they show is derived as it is in earnest.
type diceFake struct {
	dicev1.UnimplementedDiceServiceServer

	mu       sync.Mutex
	holders  map[string]string
	revealed map[string]bool
}

func seedOf(stream string) []byte {
	sum := sha256.Sum256([]byte("seed of " + stream))
	return sum[:]
}

func (d *diceFake) CreateStream(_ context.Context, req *dicev1.CreateStreamRequest) (*dicev1.CreateStreamResponse, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	name := req.GetParent() + "/streams/" + req.GetStreamId()
	d.holders[name] = req.GetHolder()
	sum := dicestream.Commitment(seedOf(name))
	return &dicev1.CreateStreamResponse{Stream: &dicev1.Stream{Name: name, Holder: req.GetHolder(), Commitment: sum[:]}}, nil
}

func (d *diceFake) Draw(_ context.Context, req *dicev1.DrawRequest) (*dicev1.DrawResponse, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.holders[req.GetName()] == "" || d.revealed[req.GetName()] {
		return nil, fault.New(fault.NotFound, "NOT_FOUND", "%s has nothing to draw", req.GetName())
	}
	return &dicev1.DrawResponse{Key: dicestream.Key(seedOf(req.GetName()), "", uint64(req.GetIndex()))}, nil //nolint:gosec // a record number
}

func (d *diceFake) RevealStream(_ context.Context, req *dicev1.RevealStreamRequest) (*dicev1.RevealStreamResponse, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.revealed[req.GetName()] = true
	return &dicev1.RevealStreamResponse{Stream: &dicev1.Stream{Name: req.GetName(), Revealed: true, Seed: seedOf(req.GetName())}}, nil
}

// listen serves something on a listener of its own until the test ends, and returns a connection to it. A lean server lacks
// the checks of fields, which take a while to compile.
func listen(t *testing.T, lean bool, register func(grpc.ServiceRegistrar), closer io.Closer, opts ...grpc.DialOption) *grpc.ClientConn {
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
		g, err := serve.NewServer(serve.Config{Name: "delve", Verifier: tokens{}, Logger: log, Grace: time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		register(g)
		ctx, cancel := context.WithCancel(context.Background())
		go func() { done <- g.Serve(ctx, l) }()
		stop = cancel
	}
	conn, err := grpc.NewClient(l.Addr().String(), append(opts, grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = conn.Close()
		_ = closer.Close()
		stop()
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return conn
}

// node is a delve service with everything around it. The party service is the real one.
type node struct {
	*testing.T
	conn    *grpc.ClientConn
	parties *grpc.ClientConn
	store   journal.Store
	dice    *diceFake
	srv     *delve.Server
	cfg     delve.Config
	ids     *atomic.Int64
	// before, when set, comes before each call of another service and may fail it.
	before func(method string) error
}

// start makes a campaign with everybody in it, and a delve service.
func start(t *testing.T) *node {
	t.Helper()
	n := &node{
		T: t, store: memory.New(), ids: new(atomic.Int64), dice: &diceFake{holders: map[string]string{}, revealed: map[string]bool{}},
	}
	parties, err := party.New(party.Config{Store: memory.New(), Clock: clock(), Journal: []journal.Option{journal.WithPoll(5 * time.Millisecond)}})
	if err != nil {
		t.Fatal(err)
	}
	called := func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		if md, ok := metadata.FromOutgoingContext(ctx); !ok || len(md.Get("authorization")) == 0 {
			ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer service:dungeon")
			if n.before != nil {
				if err := n.before(path.Base(method)); err != nil {
					return err
				}
			}
		}
		return invoke(ctx, method, req, reply, cc, opts...)
	}
	n.parties = listen(t, true, func(r grpc.ServiceRegistrar) {
		parties.Register(r)
		dicev1.RegisterDiceServiceServer(r, n.dice)
	}, parties, grpc.WithChainUnaryInterceptor(auth.UnaryClient(), called))
	n.people()
	members := adapter.NewRemoteMembers(partyv1.NewMembershipServiceClient(n.parties), 0, time.Now)
	n.cfg = delve.Config{
		Store: n.store, Members: members, Rulesets: members, Characters: partyv1.NewCharacterServiceClient(n.parties),
		Dice: dicev1.NewDiceServiceClient(n.parties), Logger: slog.New(slog.DiscardHandler),
		Dungeon: func(_ context.Context, name string) error {
			if name != lair {
				return fault.New(fault.NotFound, "NOT_FOUND", "%s does not exist", name)
			}
			return nil
		},
		// Heads at every other record, so that replicas load states as well as records.
		Journal: []journal.Option{journal.WithClock(clock()), journal.WithPoll(5 * time.Millisecond), journal.WithHeadEvery(2)},
	}
	n.serve()
	return n
}

// serve starts a service on the node's journal, as after a restart, or another replica.
func (n *node) serve() {
	n.Helper()
	srv, err := delve.New(n.cfg)
	if err != nil {
		n.Fatal(err)
	}
	n.srv, n.conn = srv, listen(n.T, false, srv.Register, srv)
}

func (n *node) people() {
	n.Helper()
	for who, req := range map[string]*partyv1.CreateCampaignRequest{
		owner: {CampaignId: "c1", Title: "The Long Road", Members: []*partyv1.CampaignMember{
			{Subject: gm, Role: typev1.Role_ROLE_GM}, {Subject: adas, Role: typev1.Role_ROLE_PLAYER}, {Subject: brams, Role: typev1.Role_ROLE_PLAYER},
			{Subject: spectator, Role: typev1.Role_ROLE_SPECTATOR}, {Subject: bot, Role: typev1.Role_ROLE_BOT, Characters: []string{ada}},
		}},
		stranger: {CampaignId: "c2", Title: "Elsewhere"},
	} {
		must[*partyv1.CreateCampaignResponse](n, who, req)
	}
	for character, who := range map[string]string{"ada": adas, "bram": brams, "cleo": brams} {
		must[*partyv1.CreateCharacterResponse](n, who, &partyv1.CreateCharacterRequest{Parent: camp, CharacterId: character, Title: character})
	}
	must[*partyv1.CreateCharacterResponse](n, stranger, &partyv1.CreateCharacterRequest{Parent: other, CharacterId: "zed", Title: "Zed"})
}

// clock ticks a second at each look.
func clock() func() time.Time {
	var ticks atomic.Int64
	return func() time.Time {
		return time.Date(2031, 3, 1, 12, 0, 0, 0, time.UTC).Add(time.Duration(ticks.Add(1)) * time.Second)
	}
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
	services := req.ProtoReflect().Descriptor().ParentFile().Services()
	for i := range services.Len() {
		if m := services.Get(i).Methods().ByName(want); m != nil {
			return m
		}
	}
	panic("no RPC takes a " + string(req.ProtoReflect().Descriptor().FullName()))
}

// call makes a unary call for somebody; a mutation without a request_id gets one of its own, one of a delve without a name
// is for the tomb.
func (n *node) call(who string, req proto.Message) (proto.Message, error) {
	m := req.ProtoReflect()
	for field, value := range map[protoreflect.Name]string{"request_id": fmt.Sprintf("q-%d", n.ids.Add(1)), "name": tomb} {
		if fd := m.Descriptor().Fields().ByName(field); fd != nil && m.Get(fd).String() == "" {
			m.Set(fd, protoreflect.ValueOfString(value))
		}
	}
	rpc := rpcOf(req)
	typ, err := protoregistry.GlobalTypes.FindMessageByName(rpc.Output().FullName())
	if err != nil {
		return nil, err
	}
	conn := n.conn
	if strings.HasPrefix(string(rpc.FullName()), "wayfarer.party") {
		conn = n.parties
	}
	res := typ.New().Interface()
	ctx, cancel := context.WithTimeout(as(context.Background(), who), await.Limit)
	defer cancel()
	return res, conn.Invoke(ctx, fmt.Sprintf("/%s/%s", rpc.Parent().FullName(), rpc.Name()), req, res)
}

// must makes a call that must succeed.
func must[R proto.Message](n *node, who string, req proto.Message) R {
	n.Helper()
	res, err := n.call(who, req)
	if err != nil {
		n.Fatalf("%s: %T %v: %v %v", who, req, req, err, status.Convert(err).Details())
	}
	return res.(R) //nolint:forcetypeassert // a test
}

// answer is what commands on delves answer.
type answer interface {
	proto.Message
	GetRecord() *typev1.Record
	GetDelve() *dungeonv1.Delve
	GetEvents() []*dungeonv1.DelveEvent
	GetResult() *dungeonv1.TriggerResult
}

// do gives a command that must succeed.
func (n *node) do(who string, req proto.Message) answer { n.Helper(); return must[answer](n, who, req) }

func (n *node) get(who, name string) *dungeonv1.Delve {
	n.Helper()
	return must[*dungeonv1.GetDelveResponse](n, who, &dungeonv1.GetDelveRequest{Name: name}).GetDelve()
}

// refusal is what a call should fail with.
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
	if info.GetReason() != r.reason || strings.Join(fields, ",") != r.field {
		t.Errorf("got %q at %q, want %+v: %v", info.GetReason(), fields, r, err)
	}
}

// refused makes a call that must fail.
func (n *node) refused(t *testing.T, who string, req proto.Message, want refusal) {
	t.Helper()
	_, err := n.call(who, req)
	if err == nil {
		t.Fatalf("%s may %T %v", who, req, req)
	}
	want.check(t, err)
}

// records tells how long the journal of a delve is.
func (n *node) records(name string) int {
	n.Helper()
	recs, err := n.store.Read(context.Background(), name, 0, 10_000)
	if err != nil {
		n.Fatal(err)
	}
	return len(recs)
}

// dungeonMap has a gate, a hall behind it and a crypt below the hall, and a vault to which no way leads.
func dungeonMap() *dungeonv1.DelveMap {
	return &dungeonv1.DelveMap{Title: "The tomb", Areas: []*dungeonv1.DelveArea{
		{Id: "gate", Title: "The gate", Ways: []string{"hall"}},
		{Id: "hall", Title: "The hall of teeth", Notes: "ghouls", Ways: []string{"gate", "crypt"}},
		{Id: "crypt", Title: "The crypt", Notes: "a trap", Ways: []string{"hall"}},
		{Id: "vault", Title: "The lich's vault", Notes: "the lich"},
	}}
}

// opened opens a delve on a map with areas.
func (n *node) opened() *dungeonv1.Delve {
	n.Helper()
	return must[*dungeonv1.CreateDelveResponse](n, gm, &dungeonv1.CreateDelveRequest{
		Parent: camp, DelveId: "tomb", InvokedBy: dungeonv1.InvokedBy_INVOKED_BY_CLEARING, Map: dungeonMap(), Entry: "gate",
	}).GetDelve()
}

func band() []*dungeonv1.DelveMemberEntry {
	return []*dungeonv1.DelveMemberEntry{
		{Name: "Ada", Character: ada, Kind: "PC", Rank: "FRONT"}, {Name: "Odo", Kind: "HENCHMAN", Rank: "MIDDLE", Darkvision: true},
		{Name: "Bram", Character: bram, Kind: "PC", Rank: "REAR"},
	}
}

// begun opens a delve and comes through its setup with a lit torch.
func (n *node) begun() *dungeonv1.Delve {
	n.Helper()
	n.opened()
	n.do(gm, &dungeonv1.RecordMembersRequest{Members: band()})
	n.do(adas, &dungeonv1.RecordProvisionsRequest{Character: ada, Note: "6 rations"})
	n.do(brams, &dungeonv1.RecordLightsRequest{Character: bram, Lights: []*dungeonv1.CarriedLight{{Id: "torch", Source: "TORCH", Active: true}}})
	return n.do(gm, &dungeonv1.BeginDelveRequest{}).GetDelve()
}

var errAway = errors.New("away")
