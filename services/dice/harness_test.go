package dice_test

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

	dicev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dice/v1"
	typev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/type/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/auth"
	"github.com/wayfarer-rpg/wayfarer/internal/await"
	"github.com/wayfarer-rpg/wayfarer/internal/fault"
	"github.com/wayfarer-rpg/wayfarer/internal/journal"
	"github.com/wayfarer-rpg/wayfarer/internal/journal/memory"
	"github.com/wayfarer-rpg/wayfarer/internal/serve"
	"github.com/wayfarer-rpg/wayfarer/services/adapter"
	"github.com/wayfarer-rpg/wayfarer/services/dice"
)

// The people of the tests.
const (
	gm        = "gerd"
	ada       = "alice"
	bram      = "bob"
	spectator = "sven"
	stranger  = "zoe" // of the other campaign
	nobody    = "nobody"
	service   = "service:dungeon"
)

const (
	camp  = "campaigns/c1"
	other = "campaigns/c2"
	mine  = camp + "/rollLogs/me"
)

// tokens is a verifier that takes a subject for its own token; those that begin with "service:" are services.
type tokens struct{}

func (tokens) Verify(_ context.Context, token string) (auth.Principal, error) {
	return auth.Principal{Subject: token, Service: strings.HasPrefix(token, "service:")}, nil
}

// members are the roles of one test, which it may change.
type members struct{ demoted atomic.Bool }

func (m *members) Membership(_ context.Context, campaign, subject string) (adapter.Membership, error) {
	role, ok := map[[2]string]typev1.Role{
		{camp, gm}: typev1.Role_ROLE_GM, {camp, ada}: typev1.Role_ROLE_PLAYER, {camp, bram}: typev1.Role_ROLE_PLAYER,
		{camp, spectator}: typev1.Role_ROLE_SPECTATOR, {other, stranger}: typev1.Role_ROLE_OWNER,
	}[[2]string{campaign, subject}]
	if !ok {
		return adapter.Membership{}, fault.New(fault.NotFound, "NOT_FOUND", "%s does not exist", campaign)
	}
	if m.demoted.Load() {
		role = typev1.Role_ROLE_SPECTATOR
	}
	return adapter.Membership{Role: role, Chapter: 1, CampaignSeq: 1}, nil
}

// world is a dice service on a listener of its own.
type world struct {
	t       *testing.T
	store   journal.Store
	server  *dice.Server
	members *members
	dice    dicev1.DiceServiceClient
}

// ids are shared, so that replicas do not use one twice.
var ids atomic.Int64

func newWorld(t *testing.T) *world {
	t.Helper()
	return newWorldOn(t, memory.New())
}

// newWorldOn starts a service on a store; several on one are replicas.
func newWorldOn(t *testing.T, store journal.Store) *world {
	t.Helper()
	w := &world{t: t, store: store, members: &members{}}
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	w.server = dice.New(dice.Config{Store: store, Members: w.members, Logger: log, Journal: []journal.Option{journal.WithHeadEvery(3)}})
	g, err := serve.NewServer(serve.Config{Name: "dice", Verifier: tokens{}, Logger: log, Grace: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	w.server.Register(g)
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- g.Serve(ctx, lis) }()
	conn, err := grpc.NewClient(lis.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = conn.Close()
		stop()
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
		if err := w.server.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	w.dice = dicev1.NewDiceServiceClient(conn)
	return w
}

// as returns a context in which somebody calls, who may be "<service> for <subject>".
func (w *world) as(who string) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), await.Limit)
	w.t.Cleanup(cancel)
	who, actor, _ := strings.Cut(who, " for ")
	ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+who)
	if actor != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, auth.ActorHeader, actor)
	}
	return ctx
}

// id is a fresh request_id.
func (w *world) id() string { return fmt.Sprintf("q-%d", ids.Add(1)) }

func must[R any](t *testing.T) func(R, error) R {
	t.Helper()
	return func(r R, err error) R {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
}

func (w *world) roll(who, notation string) *dicev1.Roll {
	w.t.Helper()
	return must[*dicev1.RollResponse](w.t)(w.dice.Roll(w.as(who), &dicev1.RollRequest{Parent: camp, Notation: notation, RequestId: w.id()})).GetRoll()
}

func (w *world) log(who string) *dicev1.RollLog {
	w.t.Helper()
	return must[*dicev1.GetRollLogResponse](w.t)(w.dice.GetRollLog(w.as(who), &dicev1.GetRollLogRequest{Name: mine})).GetRollLog()
}

func (w *world) stream(who, name string) *dicev1.Stream {
	w.t.Helper()
	return must[*dicev1.GetStreamResponse](w.t)(w.dice.GetStream(w.as(who), &dicev1.GetStreamRequest{Name: name})).GetStream()
}

func (w *world) rotate(who string) *dicev1.RotateRollLogResponse {
	w.t.Helper()
	return must[*dicev1.RotateRollLogResponse](w.t)(w.dice.RotateRollLog(w.as(who), &dicev1.RotateRollLogRequest{Name: mine, RequestId: w.id()}))
}

// entries reads a whole log, newest first, in pages.
func (w *world) entries(who string, size int32) []*dicev1.RollLogEntry {
	w.t.Helper()
	var all []*dicev1.RollLogEntry
	req := &dicev1.ListRollsRequest{Parent: mine, PageSize: size}
	for {
		res := must[*dicev1.ListRollsResponse](w.t)(w.dice.ListRolls(w.as(who), req))
		if n := len(res.GetEntries()); n > int(size) {
			w.t.Fatalf("a page of %d has %d entries", size, n)
		}
		all = append(all, res.GetEntries()...)
		if req.PageToken = res.GetNextPageToken(); req.GetPageToken() == "" {
			return all
		}
	}
}

// count tells how many records the journal has.
func (w *world) count() int {
	w.t.Helper()
	n := 0
	for _, kind := range []string{"stream", "rollLog"} {
		for _, first := range must[[]journal.Record](w.t)(w.store.Firsts(context.Background(), journal.Filter{Kind: kind}, journal.Cursor{}, 1000)) {
			n += len(must[[]journal.Record](w.t)(w.store.Read(context.Background(), first.Stream, 0, 10_000)))
		}
	}
	return n
}

// refusal is what a call should fail with.
type refusal struct {
	code   codes.Code
	reason string
	field  string
}

func (r refusal) check(t *testing.T, err error) {
	t.Helper()
	var got refusal
	got.code = status.Code(err)
	for _, d := range status.Convert(err).Details() {
		switch d := d.(type) {
		case *errdetails.ErrorInfo:
			if got.reason = d.GetReason(); d.GetDomain() != fault.Domain {
				t.Errorf("domain %q", d.GetDomain())
			}
		case *errdetails.BadRequest:
			for _, v := range d.GetFieldViolations() {
				got.field = v.GetField()
			}
		}
	}
	if got != r {
		t.Errorf("got %+v, want %+v: %v", got, r, err)
	}
}
