package scene_test

import (
	"context"
	"crypto/sha256"
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
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/google/go-cmp/cmp"

	dicev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dice/v1"
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
	"github.com/wayfarer-rpg/wayfarer/services/party"
	"github.com/wayfarer-rpg/wayfarer/services/party/scene"
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
)

// The resources of the tests.
const (
	camp  = "campaigns/c1"
	other = "campaigns/c2" // the stranger's
	ada   = camp + "/characters/ada"
	bram  = camp + "/characters/bram"
	cleo  = camp + "/characters/cleo" // Bram's player's, too, without a sheet
	ball  = camp + "/scenes/ball"
	fair  = camp + "/scenes/fair"
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
	return &dicev1.CreateStreamResponse{Stream: &dicev1.Stream{Name: name, Holder: req.GetHolder()}}, nil
}

func (d *diceFake) Draw(_ context.Context, req *dicev1.DrawRequest) (*dicev1.DrawResponse, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.streams[req.GetName()] == "" || d.revealed[req.GetName()] {
		return nil, fault.New(fault.FailedPrecondition, "REVEALED", "%s is revealed or not there", req.GetName())
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

func (d *diceFake) isRevealed(stream string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.revealed[stream]
}

// listen serves something on a listener of its own until the test ends, and returns its address. A lean server lacks what
// all servers of the suite have beside tokens and faults, above all the checks of fields, which take a while to compile.
func listen(t *testing.T, name string, lean bool, register func(grpc.ServiceRegistrar), closers ...io.Closer) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	log, done := slog.New(slog.DiscardHandler), make(chan error, 1)
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

// clock ticks a second at each look.
func clock() func() time.Time {
	var ticks atomic.Int64
	return func() time.Time {
		return time.Date(2031, 3, 1, 12, 0, 0, 0, time.UTC).Add(time.Duration(ticks.Add(1)) * time.Second)
	}
}

// world is everything around the scene services of a test: several of them on one world are replicas, or one after a
// restart. The lender is a real party service.
type world struct {
	t     *testing.T
	store journal.Store // the scene services'
	party *client       // of the party service
	dice  *diceFake
	addr  string // of the party and the dice service
	ids   *atomic.Int64
	lean  bool // of the scene services

	// before, when set, comes before each call of another service and may fail it, after comes after one that went well.
	before func(method string) error
	after  func(method string) error
}

// stats is a sheet with these stats.
func stats(kv ...any) *partyv1.DangerSheet {
	s := &partyv1.DangerSheet{Stats: map[string]int32{}}
	for i := 0; i < len(kv); i += 2 {
		s.Stats[kv[i].(string)] = int32(kv[i+1].(int)) //nolint:gosec // small
	}
	return s
}

// newWorld makes a campaign with everybody in it; Ada and Bram have sheets.
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
	w.party = &client{t: t, conn: dial(t, w.addr), ids: w.ids}
	w.party.begin()
	return w
}

// begin makes the campaign with everybody in it.
func (c *client) begin() {
	c.t.Helper()
	do[*partyv1.CreateCampaignResponse](c, owner, &partyv1.CreateCampaignRequest{CampaignId: "c1", Title: "The Long Road", Chapter: 3,
		Members: []*partyv1.CampaignMember{
			{Subject: gm, Role: typev1.Role_ROLE_GM}, {Subject: adas, Role: typev1.Role_ROLE_PLAYER}, {Subject: brams, Role: typev1.Role_ROLE_PLAYER},
			{Subject: spectator, Role: typev1.Role_ROLE_SPECTATOR}, {Subject: bot, Role: typev1.Role_ROLE_BOT, Characters: []string{ada}},
		}})
	do[*partyv1.CreateCampaignResponse](c, stranger, &partyv1.CreateCampaignRequest{CampaignId: "c2", Title: "Elsewhere"})
	do[*partyv1.CreateCharacterResponse](c, stranger, &partyv1.CreateCharacterRequest{Parent: other, CharacterId: "zed", Title: "Zed"})
	for _, x := range [][2]string{{"ada", adas}, {"bram", brams}, {"cleo", brams}} {
		do[*partyv1.CreateCharacterResponse](c, x[1], &partyv1.CreateCharacterRequest{Parent: camp, CharacterId: x[0], Title: strings.ToUpper(x[0][:1]) + x[0][1:]})
	}
	do[*partyv1.SetDangerSheetResponse](c, adas, &partyv1.SetDangerSheetRequest{Name: ada, DangerSheet: stats("Agility", 4, "Cool", 2)})
	do[*partyv1.SetDangerSheetResponse](c, brams, &partyv1.SetDangerSheetRequest{Name: bram, DangerSheet: stats("Strength", 3)})
}

// remote is a lender over a wire.
type remote struct {
	partyv1.CharacterServiceClient
	partyv1.LeaseServiceClient
}

func (r remote) GetCharacter(ctx context.Context, req *partyv1.GetCharacterRequest) (*partyv1.GetCharacterResponse, error) {
	return r.CharacterServiceClient.GetCharacter(ctx, req)
}

func (r remote) TakeLease(ctx context.Context, req *partyv1.TakeLeaseRequest) (*partyv1.TakeLeaseResponse, error) {
	return r.LeaseServiceClient.TakeLease(ctx, req)
}

func (r remote) ReturnLease(ctx context.Context, req *partyv1.ReturnLeaseRequest) (*partyv1.ReturnLeaseResponse, error) {
	return r.LeaseServiceClient.ReturnLease(ctx, req)
}

// called makes the calls of a scene service those of a service identity, and lets the world interfere.
func (w *world) called(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer service:party")
	if w.before != nil {
		if err := w.before(path.Base(method)); err != nil {
			return err
		}
	}
	err := invoke(ctx, method, req, reply, cc, opts...)
	if err == nil && w.after != nil {
		err = w.after(path.Base(method))
	}
	return err
}

// node is one scene service on a listener of its own.
type node struct {
	*client
	*world
	srv *scene.Server
}

// node starts a service.
func (w *world) node() *node {
	w.t.Helper()
	conn := dial(w.t, w.addr, grpc.WithChainUnaryInterceptor(auth.UnaryClient(), w.called))
	members := adapter.NewRemoteMembers(partyv1.NewMembershipServiceClient(conn), 0, time.Now)
	dice := dicev1.NewDiceServiceClient(conn)
	srv, err := scene.New(scene.Config{
		Store: w.store, Members: members, Rulesets: members, Dice: dice, Keys: adapter.RemoteKeys{Client: dice},
		Lender: remote{partyv1.NewCharacterServiceClient(conn), partyv1.NewLeaseServiceClient(conn)},
		Logger: slog.New(slog.DiscardHandler),
		// Heads at every other record, so that replicas load states as well as records.
		Journal: []journal.Option{journal.WithClock(clock()), journal.WithPoll(5 * time.Millisecond), journal.WithHeadEvery(2), journal.WithLogger(slog.New(slog.DiscardHandler))},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	addr := listen(w.t, "scene", w.lean, srv.Register, srv)
	return &node{client: &client{t: w.t, conn: dial(w.t, addr), ids: w.ids}, world: w, srv: srv}
}

// client makes calls for people.
type client struct {
	t    *testing.T
	conn *grpc.ClientConn
	ids  *atomic.Int64
}

// as returns a context in which somebody calls.
func as(ctx context.Context, who string) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+who)
}

// rpcOf finds the RPC of a request message by its name.
func rpcOf(req proto.Message) protoreflect.MethodDescriptor {
	want := protoreflect.Name(strings.TrimSuffix(string(req.ProtoReflect().Descriptor().Name()), "Request"))
	for _, f := range []protoreflect.FileDescriptor{
		partyv1.File_wayfarer_party_v1_scene_proto, partyv1.File_wayfarer_party_v1_campaign_proto, partyv1.File_wayfarer_party_v1_character_proto,
		partyv1.File_wayfarer_party_v1_lease_proto,
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

// do makes a call that must succeed.
func do[R proto.Message](c *client, who string, req proto.Message) R {
	c.t.Helper()
	res, err := c.call(who, req)
	if err != nil {
		c.t.Fatalf("%s: %T %v: %v", who, req, req, err)
	}
	return res.(R) //nolint:forcetypeassert // a test
}

// refused makes a call that must fail with a code, a reason and, unless it is empty, a field.
func (c *client) refused(who string, req proto.Message, code codes.Code, reason, field string) {
	c.t.Helper()
	_, err := c.call(who, req)
	if status.Code(err) != code {
		c.t.Errorf("%s: %T: got %v, want %v %s", who, req, err, code, reason)
		return
	}
	got, fields := "", []string{}
	for _, d := range status.Convert(err).Details() {
		switch d := d.(type) {
		case *errdetails.ErrorInfo:
			got = d.GetReason()
		case *errdetails.BadRequest:
			for _, v := range d.GetFieldViolations() {
				fields = append(fields, v.GetField())
			}
		}
	}
	if got != reason || field != "" && (len(fields) != 1 || fields[0] != field) {
		c.t.Errorf("%s: %T: got %s at %q, want %s at %q: %v", who, req, got, fields, reason, field, err)
	}
}

func (c *client) scene(name string) *partyv1.Scene {
	c.t.Helper()
	return do[*partyv1.GetSceneResponse](c, spectator, &partyv1.GetSceneRequest{Name: name}).GetScene()
}

func (c *client) character(name string) *partyv1.Character {
	c.t.Helper()
	return do[*partyv1.GetCharacterResponse](c, gm, &partyv1.GetCharacterRequest{Name: name}).GetCharacter()
}

// start makes the ball with those named and a gate of difficulty 2.
func (c *client) start(characters ...string) *partyv1.Scene {
	c.t.Helper()
	do[*partyv1.CreateSceneResponse](c, gm, &partyv1.CreateSceneRequest{Parent: camp, SceneId: "ball", Title: "The Masked Ball", Characters: characters})
	return do[*partyv1.CreateChallengeResponse](c, gm, &partyv1.CreateChallengeRequest{Name: ball, Challenge: "gate", Difficulty: 2}).GetScene()
}

// check is the name of a check of the ball.
func check(n int) string { return fmt.Sprintf("%s/checks/%d", ball, n) }

// rolled opens a check of Ada's on the gate and rolls these faces.
func (c *client) rolled(faces ...int32) *partyv1.Check {
	c.t.Helper()
	open := do[*partyv1.OpenCheckResponse](c, adas, &partyv1.OpenCheckRequest{Parent: ball, Character: ada, Challenge: "gate", Stat: "Agility"})
	return do[*partyv1.RollCheckResponse](c, gm, &partyv1.RollCheckRequest{Name: open.GetCheck().GetName(), ReportedDice: faces, Etag: open.GetScene().GetEtag()}).GetCheck()
}

// resolved is rolled with a claim of what the ruleset chooses.
func (c *client) resolved(faces ...int32) *partyv1.Check {
	c.t.Helper()
	return do[*partyv1.ClaimSetResponse](c, adas, &partyv1.ClaimSetRequest{Name: c.rolled(faces...).GetName()}).GetCheck()
}

func eq(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}
