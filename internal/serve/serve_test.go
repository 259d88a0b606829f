package serve_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	dicev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dice/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/auth"
	"github.com/wayfarer-rpg/wayfarer/internal/await"
	"github.com/wayfarer-rpg/wayfarer/internal/fault"
	"github.com/wayfarer-rpg/wayfarer/internal/serve"
)

type tokens struct{}

func (tokens) Verify(_ context.Context, token string) (auth.Principal, error) {
	if token != "good" {
		return auth.Principal{}, fault.New(fault.Unauthenticated, auth.TokenInvalid, "bad")
	}
	return auth.Principal{Subject: "ada"}, nil
}

type dice struct {
	dicev1.UnimplementedDiceServiceServer
	roll func(context.Context, *dicev1.RollRequest) (*dicev1.RollResponse, error)
}

func (d dice) Roll(ctx context.Context, r *dicev1.RollRequest) (*dicev1.RollResponse, error) {
	return d.roll(ctx, r)
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

type running struct {
	addr string
	conn *grpc.ClientConn
	log  *syncBuffer
	stop context.CancelFunc
	done chan error
}

func start(t *testing.T, change func(*serve.Config), d dice) running {
	t.Helper()
	return startWith(t, change, func(s *serve.Server) { dicev1.RegisterDiceServiceServer(s, d) })
}

func startWith(t *testing.T, change func(*serve.Config), register func(*serve.Server)) running {
	t.Helper()
	log := &syncBuffer{}
	cfg := serve.Config{Name: "test", Verifier: tokens{}, Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})), ReadyEvery: 5 * time.Millisecond}
	if change != nil {
		change(&cfg)
	}
	s, err := serve.NewServer(cfg)
	if err != nil {
		t.Fatal(err)
	}
	register(s)
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	r := running{addr: lis.Addr().String(), log: log, stop: stop, done: make(chan error, 1)}
	go func() { r.done <- s.Serve(ctx, lis) }()
	t.Cleanup(func() {
		stop()
		if err := await.Value(t, r.done, "the end"); err != nil {
			t.Errorf("Serve = %v", err)
		}
	})
	if r.conn, err = grpc.NewClient(lis.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials())); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.conn.Close() })
	return r
}

func authorized(ctx context.Context) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer good")
}

func goodRoll() *dicev1.RollRequest {
	return &dicev1.RollRequest{Parent: "campaigns/c", Notation: "d6", RequestId: "r"}
}

func TestCallsPassTheChain(t *testing.T) {
	t.Parallel()
	r := start(t, nil, dice{roll: func(ctx context.Context, req *dicev1.RollRequest) (*dicev1.RollResponse, error) {
		p, _ := auth.FromContext(ctx)
		if _, ok := ctx.Deadline(); !ok {
			return nil, errors.New("no deadline")
		}
		switch req.GetNotation() {
		case "panic":
			panic("the sky falls")
		case "refuse":
			return nil, fault.New(fault.FailedPrecondition, "LEASED", "no").With("holder", "x")
		case "break":
			return nil, errors.New("disk full at /secret")
		}
		return &dicev1.RollResponse{Roll: &dicev1.Roll{Purpose: p.Subject + " " + req.GetRequestId()}}, nil
	}})
	client := dicev1.NewDiceServiceClient(r.conn)
	roll := func(ctx context.Context, change func(*dicev1.RollRequest)) (*dicev1.RollResponse, *fault.Error) {
		req := goodRoll()
		change(req)
		res, err := client.Roll(ctx, req)
		var f *fault.Error
		errors.As(fault.FromStatus(err), &f)
		return res, f
	}
	same := func(*dicev1.RollRequest) {}
	if res, f := roll(authorized(t.Context()), same); f != nil || res.GetRoll().GetPurpose() != "ada r" {
		t.Errorf("a good call: %v, %v", res, f)
	}
	if _, f := roll(t.Context(), same); f == nil || f.Kind != fault.Unauthenticated || f.Reason != auth.TokenMissing {
		t.Errorf("without a token: %v", f)
	}
	if _, f := roll(metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer bad"), same); f == nil || f.Reason != auth.TokenInvalid {
		t.Errorf("with a bad token: %v", f)
	}
	noID := func(r *dicev1.RollRequest) { r.RequestId = "" }
	keyed := metadata.AppendToOutgoingContext(authorized(t.Context()), serve.IdempotencyHeader, "from-header")
	if res, f := roll(keyed, noID); f != nil || res.GetRoll().GetPurpose() != "ada from-header" {
		t.Errorf("request_id by header: %v, %v", res, f)
	}
	if res, f := roll(keyed, same); f != nil || res.GetRoll().GetPurpose() != "ada r" {
		t.Errorf("the field wins over the header: %v, %v", res, f)
	}
	if _, f := roll(authorized(t.Context()), noID); f == nil || f.Kind != fault.InvalidArgument || f.Fields[0].Field != "request_id" {
		t.Errorf("without request_id: %v", f)
	}
	if _, f := roll(authorized(t.Context()), func(r *dicev1.RollRequest) { r.Parent, r.Notation = "nonsense", "" }); f == nil || len(f.Fields) != 2 || f.Fields[0].Field != "parent" || f.Fields[1].Field != "notation" {
		t.Errorf("two bad fields: %+v", f)
	}
	if _, f := roll(authorized(t.Context()), func(r *dicev1.RollRequest) { r.Notation = "refuse" }); f == nil || f.Reason != "LEASED" || f.Metadata["holder"] != "x" {
		t.Errorf("a refusal: %+v", f)
	}
	for _, n := range []string{"panic", "break"} {
		_, f := roll(authorized(t.Context()), func(r *dicev1.RollRequest) { r.Notation = n })
		if f == nil || f.Kind != fault.Internal || f.Message != "internal error" {
			t.Errorf("%s: %+v", n, f)
		}
	}
	for _, want := range []string{"the sky falls", "disk full"} {
		if n := strings.Count(r.log.String(), want); n != 1 {
			t.Errorf("%q is logged %d times", want, n)
		}
	}
	twice := metadata.AppendToOutgoingContext(keyed, serve.IdempotencyHeader, "again")
	if _, f := roll(twice, noID); f == nil || f.Kind != fault.InvalidArgument || f.Fields[0].Field != "request_id" {
		t.Errorf("two ids by header: %v", f)
	}
	if _, f := roll(t.Context(), func(r *dicev1.RollRequest) { r.Parent = "nonsense" }); f == nil || f.Kind != fault.Unauthenticated {
		t.Errorf("a bad request without a token: %v", f)
	}
	if _, f := roll(authorized(t.Context()), func(r *dicev1.RollRequest) { r.Purpose = strings.Repeat("x", 2<<20) }); f == nil || f.Kind != fault.ResourceExhausted {
		t.Errorf("a message of 2 MiB: %v", f)
	}
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(await.Limit)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatal("never: " + what)
		}
		time.Sleep(time.Millisecond)
	}
}

func TestHealthFollowsReady(t *testing.T) {
	t.Parallel()
	var away atomic.Bool
	r := start(t, func(c *serve.Config) {
		c.Ready = func(context.Context) error {
			if away.Load() {
				return errors.New("store is away")
			}
			return nil
		}
	}, dice{})
	client := healthv1.NewHealthClient(r.conn)
	is := func(want healthv1.HealthCheckResponse_ServingStatus) func() bool {
		return func() bool {
			for _, name := range []string{"", "wayfarer.dice.v1.DiceService"} {
				res, err := client.Check(t.Context(), &healthv1.HealthCheckRequest{Service: name}) // no token needed
				if err != nil || res.GetStatus() != want {
					return false
				}
			}
			return true
		}
	}
	eventually(t, "serving", is(healthv1.HealthCheckResponse_SERVING))
	away.Store(true)
	eventually(t, "not serving", is(healthv1.HealthCheckResponse_NOT_SERVING))
	away.Store(false)
	eventually(t, "serving again", is(healthv1.HealthCheckResponse_SERVING))
}

func TestDrainLetsCallsFinish(t *testing.T) {
	t.Parallel()
	begun, finish := make(chan struct{}), make(chan struct{})
	r := start(t, func(c *serve.Config) { c.Grace = time.Minute }, dice{roll: func(context.Context, *dicev1.RollRequest) (*dicev1.RollResponse, error) {
		close(begun)
		<-finish
		return &dicev1.RollResponse{}, nil
	}})
	result := make(chan error, 1)
	go func() {
		_, err := dicev1.NewDiceServiceClient(r.conn).Roll(authorized(context.Background()), goodRoll())
		result <- err
	}()
	await.Value(t, begun, "the call")
	r.stop()
	select {
	case err := <-r.done:
		t.Fatalf("the server left a call behind: %v", err)
	case <-time.After(20 * time.Millisecond):
	}
	close(finish)
	if err := await.Value(t, result, "the end"); err != nil {
		t.Errorf("the call under way: %v", err)
	}
	if err := await.Value(t, r.done, "the end"); err != nil {
		t.Errorf("Serve = %v", err)
	}
	r.done <- nil
}

func TestGraceEnds(t *testing.T) {
	t.Parallel()
	begun := make(chan struct{})
	r := start(t, func(c *serve.Config) { c.Grace = time.Millisecond }, dice{roll: func(ctx context.Context, _ *dicev1.RollRequest) (*dicev1.RollResponse, error) {
		close(begun)
		<-ctx.Done()
		return nil, ctx.Err()
	}})
	result := make(chan error, 1)
	go func() {
		_, err := dicev1.NewDiceServiceClient(r.conn).Roll(authorized(context.Background()), goodRoll())
		result <- err
	}()
	await.Value(t, begun, "the call")
	r.stop()
	if err := await.Value(t, result, "the end"); status.Code(err) == codes.OK {
		t.Error("an endless call succeeded")
	}
	if err := await.Value(t, r.done, "the end"); err != nil {
		t.Errorf("Serve = %v", err)
	}
	r.done <- nil
}
