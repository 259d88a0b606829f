package travel_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"maps"
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
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	dicev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dice/v1"
	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"
	travelv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/travel/v1"
	typev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/type/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/auth"
	"github.com/wayfarer-rpg/wayfarer/internal/await"
	"github.com/wayfarer-rpg/wayfarer/internal/fault"
	"github.com/wayfarer-rpg/wayfarer/internal/journal"
	"github.com/wayfarer-rpg/wayfarer/internal/journal/memory"
	"github.com/wayfarer-rpg/wayfarer/internal/serve"
	"github.com/wayfarer-rpg/wayfarer/rules/diedrop"
	"github.com/wayfarer-rpg/wayfarer/services/adapter"
	"github.com/wayfarer-rpg/wayfarer/services/travel"
)

// The people of the tests: two players, who own Ada and Bram, and others.
const (
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
	band  = camp + "/companies/band"
	vale  = camp + "/regions/vale"
	trek  = camp + "/journeys/trek"
)

// tokens is a verifier that takes a subject for its own token; those that begin with "service:" are services.
type tokens struct{}

func (tokens) Verify(_ context.Context, token string) (auth.Principal, error) {
	return auth.Principal{Subject: token, Service: strings.HasPrefix(token, "service:")}, nil
}

// roles are memberships in campaigns.
type roles map[string]map[string]adapter.Membership

func (r roles) Membership(_ context.Context, campaign, subject string) (adapter.Membership, error) {
	if m, ok := r[campaign][subject]; ok {
		return m, nil
	}
	return adapter.Membership{}, fault.New(fault.NotFound, "NOT_FOUND", "%s does not exist", campaign).With("resource", campaign)
}

func usualRoles() roles {
	as := func(r typev1.Role, characters ...string) adapter.Membership {
		return adapter.Membership{Role: r, Characters: characters}
	}
	return roles{
		camp: {
			gm: as(typev1.Role_ROLE_GM), adas: as(typev1.Role_ROLE_PLAYER), brams: as(typev1.Role_ROLE_PLAYER),
			spectator: as(typev1.Role_ROLE_SPECTATOR), bot: as(typev1.Role_ROLE_BOT, ada),
		},
		other: {stranger: as(typev1.Role_ROLE_OWNER)},
	}
}

// lent is a facet of a lender.
type lent struct {
	lender string
	facet  partyv1.Facet
}

// partyFake lends as the party service does: one holder at a time, closed for good after giving back, each request once.
// Its function fields, where set, come first and may fail a call.
type partyFake struct {
	partyv1.LeaseServiceClient
	partyv1.CompanyServiceClient
	partyv1.CharacterServiceClient

	take func(*partyv1.TakeLeaseRequest) error
	give func(*partyv1.ReturnLeaseRequest) error

	mu         sync.Mutex
	companies  map[string]*partyv1.Company
	characters map[string]*partyv1.Character
	held       map[lent]string
	closed     map[string]bool // by lender and holder
	requests   map[string]string
	returned   []*partyv1.ReturnLeaseRequest
}

func newPartyFake() *partyFake {
	hero := func(name, owner string) *partyv1.Character {
		return &partyv1.Character{Name: name, Title: adapter.IDOf(name), Owner: owner, Vitals: &partyv1.Vitals{Hp: 4, HpMax: 6, Str: 11, StrMax: 12, Gear: 2}}
	}
	return &partyFake{
		companies: map[string]*partyv1.Company{band: {
			Name: band, Title: "The Band",
			Travelers: []*partyv1.Traveler{
				{Label: "Ada", Character: ada}, {Label: "Bram", Character: bram, Torches: 1},
				{Label: "Mabyn", Vitals: &partyv1.Vitals{Hp: 3, HpMax: 3, Str: 9, StrMax: 9, Capacity: proto.Int32(8)}},
			},
			Pack: &partyv1.Pack{Food: []int32{8}, Gold: 40},
		}},
		characters: map[string]*partyv1.Character{ada: hero(ada, adas), bram: hero(bram, brams)},
		held:       map[lent]string{}, closed: map[string]bool{}, requests: map[string]string{},
	}
}

// once fails a request id that comes again with another body.
func (p *partyFake) once(id string, req proto.Message) error {
	body := protojson.Format(req)
	body = strings.Join(strings.Fields(body), " ")
	if first, ok := p.requests[id]; ok && first != body {
		return wire(fault.Invalid("request_id", "used for %s", first).Because("REQUEST_ID_REUSED"))
	}
	p.requests[id] = body
	return nil
}

// wire makes an error what a client gets of it.
func wire(err error) error {
	st, _ := fault.ToStatus(err)
	return st.Err()
}

func notFound(name string) error {
	return wire(fault.New(fault.NotFound, "NOT_FOUND", "%s does not exist", name).At("name", "does not exist"))
}

func (p *partyFake) GetCompany(_ context.Context, req *partyv1.GetCompanyRequest, _ ...grpc.CallOption) (*partyv1.GetCompanyResponse, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c, ok := p.companies[req.GetName()]
	if !ok {
		return nil, notFound(req.GetName())
	}
	return &partyv1.GetCompanyResponse{Company: proto.CloneOf(c)}, nil
}

func (p *partyFake) GetCharacter(_ context.Context, req *partyv1.GetCharacterRequest, _ ...grpc.CallOption) (*partyv1.GetCharacterResponse, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c, ok := p.characters[req.GetName()]
	if !ok {
		return nil, notFound(req.GetName())
	}
	return &partyv1.GetCharacterResponse{Character: proto.CloneOf(c)}, nil
}

func (p *partyFake) TakeLease(ctx context.Context, req *partyv1.TakeLeaseRequest, _ ...grpc.CallOption) (*partyv1.TakeLeaseResponse, error) {
	if pr, _ := auth.FromContext(ctx); !pr.Service || pr.Actor != "" {
		return nil, wire(fault.New(fault.PermissionDenied, "NOT_A_SERVICE", "only services lease"))
	}
	if p.take != nil {
		if err := p.take(req); err != nil {
			return nil, err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.once(req.GetRequestId(), req); err != nil {
		return nil, err
	}
	key := lent{req.GetLender(), req.GetFacet()}
	if p.closed[req.GetLender()+" "+req.GetHolder()] {
		return nil, wire(fault.New(fault.FailedPrecondition, "LEASE_CLOSED", "given back"))
	}
	if h := p.held[key]; h != "" && h != req.GetHolder() {
		return nil, wire(fault.New(fault.FailedPrecondition, "LEASED", "held by %s", h).With("holder", h))
	}
	if c, ok := p.companies[req.GetLender()]; ok && req.GetFacet() == partyv1.Facet_FACET_PACK {
		p.held[key] = req.GetHolder()
		return &partyv1.TakeLeaseResponse{Held: &partyv1.TakeLeaseResponse_Pack{
			Pack: &partyv1.PackFacet{Travelers: proto.CloneOf(c).GetTravelers(), Pack: proto.CloneOf(c.GetPack())},
		}}, nil
	}
	if c, ok := p.characters[req.GetLender()]; ok && req.GetFacet() == partyv1.Facet_FACET_VITALS {
		p.held[key] = req.GetHolder()
		return &partyv1.TakeLeaseResponse{Held: &partyv1.TakeLeaseResponse_Vitals{
			Vitals: &partyv1.VitalsFacet{Owner: c.GetOwner(), Title: c.GetTitle(), Vitals: proto.CloneOf(c.GetVitals())},
		}}, nil
	}
	return nil, notFound(req.GetLender())
}

func (p *partyFake) ReturnLease(ctx context.Context, req *partyv1.ReturnLeaseRequest, _ ...grpc.CallOption) (*partyv1.ReturnLeaseResponse, error) {
	if pr, _ := auth.FromContext(ctx); !pr.Service || pr.Actor != "" {
		return nil, wire(fault.New(fault.PermissionDenied, "NOT_A_SERVICE", "only services lease"))
	}
	if p.give != nil {
		if err := p.give(req); err != nil {
			return nil, err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.once(req.GetRequestId(), req); err != nil {
		return nil, err
	}
	done := req.GetLender() + " " + req.GetHolder()
	if p.closed[done] {
		return &partyv1.ReturnLeaseResponse{}, nil
	}
	p.closed[done] = true
	key := lent{req.GetLender(), req.GetFacet()}
	if p.held[key] == req.GetHolder() {
		delete(p.held, key)
		p.returned = append(p.returned, proto.CloneOf(req))
		if v := req.GetVitals(); v != nil {
			p.characters[req.GetLender()].Vitals = proto.CloneOf(v)
		}
		if f := req.GetPack(); f != nil {
			p.companies[req.GetLender()].Travelers, p.companies[req.GetLender()].Pack = f.GetTravelers(), f.GetPack()
		}
	}
	return &partyv1.ReturnLeaseResponse{}, nil
}

// holders tells who holds what.
func (p *partyFake) holders() map[lent]string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.held)
}

// diceFake keeps streams. Keys are a function of stream and number, as they are in earnest.
type diceFake struct {
	dicev1.DiceServiceClient

	mu       sync.Mutex
	streams  map[string]string // to their holders
	revealed map[string]bool
	down     bool // reveals nothing
}

func (d *diceFake) CreateStream(_ context.Context, req *dicev1.CreateStreamRequest, _ ...grpc.CallOption) (*dicev1.CreateStreamResponse, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	name := req.GetParent() + "/streams/" + req.GetStreamId()
	d.streams[name] = req.GetHolder()
	sum := sha256.Sum256([]byte(name))
	return &dicev1.CreateStreamResponse{Stream: &dicev1.Stream{Name: name, Holder: req.GetHolder(), Commitment: sum[:]}}, nil
}

func (d *diceFake) Draw(_ context.Context, req *dicev1.DrawRequest, _ ...grpc.CallOption) (*dicev1.DrawResponse, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.streams[req.GetName()] == "" || d.revealed[req.GetName()] {
		return nil, notFound(req.GetName())
	}
	key := sha256.Sum256(fmt.Appendf(nil, "%s %d", req.GetName(), req.GetIndex()))
	return &dicev1.DrawResponse{Key: key[:]}, nil
}

func (d *diceFake) RevealStream(_ context.Context, req *dicev1.RevealStreamRequest, _ ...grpc.CallOption) (*dicev1.RevealStreamResponse, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.down {
		return nil, errDown
	}
	if d.streams[req.GetName()] == "" {
		return nil, notFound(req.GetName())
	}
	d.revealed[req.GetName()] = true
	return &dicev1.RevealStreamResponse{Stream: &dicev1.Stream{Name: req.GetName()}}, nil
}

// world is everything around the services of a test: several of them on one world are replicas, or one after a restart.
type world struct {
	store journal.Store
	party *partyFake
	dice  *diceFake
	roles roles
	ids   *atomic.Int64
	// bare leaves out the checks of requests and most of the ruleset, which take most of the time of a test with many nodes.
	bare bool
}

func newWorld() *world {
	return &world{
		store: memory.New(), party: newPartyFake(), roles: usualRoles(), ids: new(atomic.Int64),
		dice: &diceFake{streams: map[string]string{}, revealed: map[string]bool{}},
	}
}

// node is one travel service on a listener of its own.
type node struct {
	*world
	t    *testing.T
	srv  *travel.Server
	conn *grpc.ClientConn
}

// node starts a service.
func (w *world) node(t *testing.T, change ...func(*travel.Config)) *node {
	t.Helper()
	var ticks atomic.Int64
	cfg := travel.Config{
		Store: w.store, Members: w.roles, Leases: w.party, Companies: w.party, Characters: w.party, Dice: w.dice,
		Clock: func() time.Time {
			return time.Date(2031, 3, 1, 12, 0, 0, 0, time.UTC).Add(time.Duration(ticks.Add(1)) * time.Second)
		},
		Logger: slog.New(slog.DiscardHandler),
		// Heads at every other record, so that replicas load states as well as records.
		Journal: []journal.Option{journal.WithPoll(5 * time.Millisecond), journal.WithHeadEvery(2)},
	}
	if w.bare {
		rules := *diedrop.Default()
		rules.SiteTables, rules.Missions, rules.Params = nil, rules.Missions[:1], maps.Clone(rules.Params)
		for name, p := range rules.Params {
			p.Note, p.Rules = "", nil
			rules.Params[name] = p
		}
		cfg.Rules = &rules
	}
	for _, c := range change {
		c(&cfg)
	}
	srv, err := travel.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	if w.bare {
		g := grpc.NewServer(grpc.ChainUnaryInterceptor(fault.UnaryServer(cfg.Logger), auth.UnaryServer(tokens{})))
		srv.Register(g)
		context.AfterFunc(ctx, g.Stop)
		go func() { done <- g.Serve(l) }()
	} else {
		g, err := serve.NewServer(serve.Config{Name: "travel", Verifier: tokens{}, Logger: cfg.Logger, Grace: time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		srv.Register(g)
		go func() { done <- g.Serve(ctx, l) }()
	}
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = conn.Close()
		_ = srv.Close()
		stop()
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return &node{world: w, t: t, srv: srv, conn: conn}
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
		travelv1.File_wayfarer_travel_v1_region_proto, travelv1.File_wayfarer_travel_v1_journey_proto, travelv1.File_wayfarer_travel_v1_mission_proto,
	} {
		for i := range f.Services().Len() {
			if m := f.Services().Get(i).Methods().ByName(want); m != nil {
				return m
			}
		}
	}
	panic("no RPC takes a " + string(req.ProtoReflect().Descriptor().FullName()))
}

// set sets a text field of a request if it has one and it is empty.
func set(req proto.Message, field protoreflect.Name, value string) {
	m := req.ProtoReflect()
	if fd := m.Descriptor().Fields().ByName(field); fd != nil && m.Get(fd).String() == "" {
		m.Set(fd, protoreflect.ValueOfString(value))
	}
}

// call makes a unary call for somebody; a mutation without a request_id gets one of its own.
func (n *node) call(who string, req proto.Message) (proto.Message, error) {
	set(req, "request_id", fmt.Sprintf("q-%d", n.ids.Add(1)))
	m := rpcOf(req)
	typ, err := protoregistry.GlobalTypes.FindMessageByName(m.Output().FullName())
	if err != nil {
		return nil, err
	}
	res := typ.New().Interface()
	ctx, cancel := context.WithTimeout(as(context.Background(), who), await.Limit)
	defer cancel()
	err = n.conn.Invoke(ctx, fmt.Sprintf("/%s/%s", m.Parent().FullName(), m.Name()), req, res)
	return res, err
}

// do makes a call that must succeed.
func do[R proto.Message](n *node, who string, req proto.Message) R {
	n.t.Helper()
	res, err := n.call(who, req)
	if err != nil {
		n.t.Fatalf("%s: %T %v: %v", who, req, req, err)
	}
	return res.(R) //nolint:forcetypeassert // a test
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
	if info.GetReason() != r.reason || info.GetDomain() != fault.Domain {
		t.Errorf("got reason %q of %q, want %q: %v", info.GetReason(), info.GetDomain(), r.reason, err)
	}
	if strings.Join(fields, ",") != r.field {
		t.Errorf("got fields %q, want %q: %v", fields, r.field, err)
	}
}

// seqs tells how long each stream of the journal is.
func (w *world) seqs(t *testing.T) map[string]int {
	t.Helper()
	out := map[string]int{}
	ctx := context.Background()
	for _, kind := range []string{"region", "journey", "missionBoard"} {
		firsts, err := w.store.Firsts(ctx, journal.Filter{Kind: kind}, journal.Cursor{}, 1000)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range firsts {
			recs, err := w.store.Read(ctx, f.Stream, 0, 10_000)
			if err != nil {
				t.Fatal(err)
			}
			out[f.Stream] = len(recs)
		}
	}
	return out
}

// owing tells how many entries the index of what is owed has.
func (w *world) owing(t *testing.T) int {
	t.Helper()
	owed, err := w.store.Owing(context.Background(), "journey", journal.Obligation{}, 100)
	if err != nil {
		t.Fatal(err)
	}
	return len(owed)
}

// errDown is what calls of another service fail with while it is down.
var errDown = wire(fault.New(fault.Unavailable, "DOWN", "is down"))

// begin imports the example region and starts a journey in Tallowick's hex.
func (n *node) begin() *node {
	n.t.Helper()
	n.importVale()
	do[*travelv1.StartJourneyResponse](n, adas, startTrek())
	return n
}

func (n *node) importVale() {
	n.t.Helper()
	do[*travelv1.ImportRegionResponse](n, gm, &travelv1.ImportRegionRequest{Parent: camp, RegionId: "vale", Region: exampleDraft(n.t)})
}

// importPlain imports a small region in place of the example, for tests that only start and end.
func (n *node) importPlain() {
	n.t.Helper()
	do[*travelv1.ImportRegionResponse](n, gm, &travelv1.ImportRegionRequest{Parent: camp, RegionId: "vale", Region: &travelv1.RegionDraft{
		Title: "Plain", Hexes: []*travelv1.MapHex{{Q: 1, R: 2, Terrain: "plains"}, {Q: 2, R: 2, Terrain: "plains"}},
	}})
}

func (n *node) beginPlain() *node {
	n.t.Helper()
	n.importPlain()
	do[*travelv1.StartJourneyResponse](n, adas, startTrek())
	return n
}

func startTrek() *travelv1.StartJourneyRequest {
	return &travelv1.StartJourneyRequest{
		Parent: camp, Character: ada, JourneyId: "trek", Company: band, Region: vale, Hex: &travelv1.Hex{Q: 1, R: 2}, RequestId: "start",
	}
}

func (n *node) journey(who string) *travelv1.Journey {
	n.t.Helper()
	return do[*travelv1.GetJourneyResponse](n, who, &travelv1.GetJourneyRequest{Name: trek}).GetJourney()
}
