package party_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"strings"
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

	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"
	typev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/type/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/auth"
	"github.com/wayfarer-rpg/wayfarer/internal/await"
	"github.com/wayfarer-rpg/wayfarer/internal/fault"
	"github.com/wayfarer-rpg/wayfarer/internal/journal"
	"github.com/wayfarer-rpg/wayfarer/internal/journal/memory"
	"github.com/wayfarer-rpg/wayfarer/internal/serve"
	"github.com/wayfarer-rpg/wayfarer/services/party"
)

// The people of the tests. Ada's player and Bram's are players; the bot acts for Ada.
const (
	owner     = "olga"
	gm        = "gerd"
	adas      = "alice"
	brams     = "bob"
	cleos     = "carol"
	spectator = "sven"
	bot       = "robot"
	stranger  = "zoe"
	service   = "service:dungeon"
)

// The resources of the tests.
const (
	camp  = "campaigns/c1"
	other = "campaigns/c2" // the stranger's
	ada   = camp + "/characters/ada"
	bram  = camp + "/characters/bram"
	cleo  = camp + "/characters/cleo"
	run1  = camp + "/runs/r1"
	run2  = camp + "/runs/r2"
	trek1 = camp + "/journeys/j1"
	trek2 = camp + "/journeys/j2"
)

// tokens is a verifier that takes a subject for its own token; those that begin with "service:" are services.
type tokens struct{}

func (tokens) Verify(_ context.Context, token string) (auth.Principal, error) {
	if token == "bad" {
		return auth.Principal{}, fault.New(fault.Unauthenticated, auth.TokenInvalid, "bad token")
	}
	return auth.Principal{Subject: token, Service: strings.HasPrefix(token, "service:")}, nil
}

// world is a party service on a listener of its own.
type world struct {
	t     *testing.T
	store journal.Store
	conn  *grpc.ClientConn
	ids   atomic.Int64
}

// newWorld starts a service on an empty memory journal.
func newWorld(t *testing.T) *world {
	t.Helper()
	return newWorldOn(t, memory.New())
}

// newWorldOn starts a service on a store; several on one are replicas.
func newWorldOn(t *testing.T, store journal.Store) *world {
	t.Helper()
	var ticks atomic.Int64
	srv, err := party.New(party.Config{
		Store: store,
		Clock: func() time.Time {
			return time.Date(2031, 3, 1, 12, 0, 0, 0, time.UTC).Add(time.Duration(ticks.Add(1)) * time.Second)
		},
		// Heads at every other record, so that replicas load states as well as records.
		Journal: []journal.Option{journal.WithPoll(5 * time.Millisecond), journal.WithHeadEvery(2)},
	})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g, err := serve.NewServer(serve.Config{Name: "party", Verifier: tokens{}, Logger: slog.New(slog.NewTextHandler(t.Output(), nil)), Grace: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	srv.Register(g)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- g.Serve(ctx, l) }()
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
	return &world{t: t, store: store, conn: conn}
}

// as returns a context in which somebody calls.
func as(ctx context.Context, who string) context.Context {
	if who == "" {
		return ctx
	}
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+who)
}

// rpcOf finds the RPC of a request message by its name.
func rpcOf(req proto.Message) protoreflect.MethodDescriptor {
	want := protoreflect.Name(strings.TrimSuffix(string(req.ProtoReflect().Descriptor().Name()), "Request"))
	for _, f := range []protoreflect.FileDescriptor{
		partyv1.File_wayfarer_party_v1_campaign_proto, partyv1.File_wayfarer_party_v1_character_proto,
		partyv1.File_wayfarer_party_v1_company_proto, partyv1.File_wayfarer_party_v1_lease_proto, partyv1.File_wayfarer_party_v1_intent_proto,
	} {
		for i := range f.Services().Len() {
			if m := f.Services().Get(i).Methods().ByName(want); m != nil {
				return m
			}
		}
	}
	panic("no RPC takes a " + string(req.ProtoReflect().Descriptor().FullName()))
}

// fill gives a mutating request a request_id of its own if it has none.
func (w *world) fill(req proto.Message) {
	m := req.ProtoReflect()
	if fd := m.Descriptor().Fields().ByName("request_id"); fd != nil && m.Get(fd).String() == "" {
		m.Set(fd, protoreflect.ValueOfString(fmt.Sprintf("q-%d", w.ids.Add(1))))
	}
}

// call makes a unary call for somebody, who may be "<service> for <subject>".
func (w *world) call(who string, req proto.Message) (proto.Message, error) {
	w.fill(req)
	m := rpcOf(req)
	typ, err := protoregistry.GlobalTypes.FindMessageByName(m.Output().FullName())
	if err != nil {
		return nil, err
	}
	res := typ.New().Interface()
	who, actor, _ := strings.Cut(who, " for ")
	ctx := as(context.Background(), who)
	if actor != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, auth.ActorHeader, actor)
	}
	ctx, cancel := context.WithTimeout(ctx, await.Limit)
	defer cancel()
	err = w.conn.Invoke(ctx, fmt.Sprintf("/%s/%s", m.Parent().FullName(), m.Name()), req, res)
	return res, err
}

// do makes a call that must succeed.
func do[R proto.Message](w *world, who string, req proto.Message) R {
	w.t.Helper()
	res, err := w.call(who, req)
	if err != nil {
		w.t.Fatalf("%s: %T %v: %v", who, req, req, err)
	}
	return res.(R) //nolint:forcetypeassert // a test
}

// refusal is what a call should fail with.
type refusal struct {
	code   codes.Code
	reason string
	field  string
	meta   map[string]string
}

// check compares an error with the refusal.
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
		t.Errorf("got reason %q of %q, want %q of %q: %v", info.GetReason(), info.GetDomain(), r.reason, fault.Domain, err)
	}
	if r.field != "" && (len(fields) != 1 || fields[0] != r.field) {
		t.Errorf("got fields %q, want %q: %v", fields, r.field, err)
	}
	for k, v := range r.meta {
		if info.GetMetadata()[k] != v {
			t.Errorf("got metadata %v, want %s=%s", info.GetMetadata(), k, v)
		}
	}
}

// seqs tells how long each stream of the journal is.
func (w *world) seqs() map[string]int {
	w.t.Helper()
	out := map[string]int{}
	ctx := context.Background()
	for _, kind := range []string{"campaign", "character", "company"} {
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

// begin makes the campaign with its members, three characters of three players, and another campaign of a stranger.
func (w *world) begin() *world {
	w.t.Helper()
	do[*partyv1.CreateCampaignResponse](w, owner, &partyv1.CreateCampaignRequest{CampaignId: "c1", Title: "The Long Road", Chapter: 3,
		Members: []*partyv1.CampaignMember{
			{Subject: gm, Role: typev1.Role_ROLE_GM}, {Subject: adas, Role: typev1.Role_ROLE_PLAYER},
			{Subject: brams, Role: typev1.Role_ROLE_PLAYER}, {Subject: cleos, Role: typev1.Role_ROLE_PLAYER},
			{Subject: spectator, Role: typev1.Role_ROLE_SPECTATOR},
			{Subject: bot, Role: typev1.Role_ROLE_BOT, Characters: []string{ada}},
		}})
	for _, c := range [][2]string{{"ada", adas}, {"bram", brams}, {"cleo", cleos}} {
		do[*partyv1.CreateCharacterResponse](w, c[1], &partyv1.CreateCharacterRequest{Parent: camp, CharacterId: c[0], Title: strings.ToUpper(c[0][:1]) + c[0][1:]})
	}
	do[*partyv1.CreateCampaignResponse](w, stranger, &partyv1.CreateCampaignRequest{CampaignId: "c2", Title: "Elsewhere"})
	do[*partyv1.CreateCharacterResponse](w, stranger, &partyv1.CreateCharacterRequest{Parent: other, CharacterId: "zed", Title: "Zed"})
	return w
}
