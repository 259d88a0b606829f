package serve_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"

	dicev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dice/v1"
	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/await"
	"github.com/wayfarer-rpg/wayfarer/internal/fault"
	"github.com/wayfarer-rpg/wayfarer/internal/serve"
)

type campaigns struct {
	partyv1.UnimplementedCampaignServiceServer
	watch func(*partyv1.WatchCampaignRequest, grpc.ServerStreamingServer[partyv1.WatchCampaignResponse]) error
}

func (c campaigns) WatchCampaign(r *partyv1.WatchCampaignRequest, s grpc.ServerStreamingServer[partyv1.WatchCampaignResponse]) error {
	return c.watch(r, s)
}

func watching(t *testing.T, change func(*serve.Config), watch func(*partyv1.WatchCampaignRequest, grpc.ServerStreamingServer[partyv1.WatchCampaignResponse]) error) running {
	t.Helper()
	return startWith(t, change, func(s *serve.Server) { partyv1.RegisterCampaignServiceServer(s, campaigns{watch: watch}) })
}

func firstError(t *testing.T, ctx context.Context, r running, name string) *fault.Error { //nolint:revive // the test comes first
	t.Helper()
	stream, err := partyv1.NewCampaignServiceClient(r.conn).WatchCampaign(ctx, &partyv1.WatchCampaignRequest{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err = stream.Recv(); err != nil {
			break
		}
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	var f *fault.Error
	if !errors.As(fault.FromStatus(err), &f) {
		t.Fatal(err)
	}
	return f
}

func TestStreamsPassTheChain(t *testing.T) {
	t.Parallel()
	r := watching(t, nil, func(req *partyv1.WatchCampaignRequest, s grpc.ServerStreamingServer[partyv1.WatchCampaignResponse]) error {
		switch req.GetName() {
		case "campaigns/panic":
			panic("the sky falls")
		case "campaigns/gone":
			return fault.New(fault.NotFound, "NOT_FOUND", "no such campaign")
		case "campaigns/broken":
			return errors.New("disk full")
		}
		return s.Send(&partyv1.WatchCampaignResponse{})
	})
	for name, tc := range map[string]struct {
		ctx    context.Context
		name   string
		kind   fault.Kind
		reason string
	}{
		"a good one":       {authorized(t.Context()), "campaigns/c", 0, ""},
		"without a token":  {t.Context(), "campaigns/c", fault.Unauthenticated, "TOKEN_MISSING"},
		"a bad name":       {authorized(t.Context()), "nonsense", fault.InvalidArgument, "INVALID"},
		"a fault":          {authorized(t.Context()), "campaigns/gone", fault.NotFound, "NOT_FOUND"},
		"an error":         {authorized(t.Context()), "campaigns/broken", fault.Internal, "INTERNAL"},
		"a panic":          {authorized(t.Context()), "campaigns/panic", fault.Internal, "PANIC"},
		"both are refused": {t.Context(), "nonsense", fault.Unauthenticated, "TOKEN_MISSING"},
	} {
		f := firstError(t, tc.ctx, r, tc.name)
		if tc.reason == "" {
			if f != nil {
				t.Errorf("%s: %v", name, f)
			}
			continue
		}
		if f == nil || f.Kind != tc.kind || f.Reason != tc.reason || strings.Contains(f.Message, "sky") || strings.Contains(f.Message, "disk") {
			t.Errorf("%s: %v", name, f)
		}
	}
}

func TestWatchersDoNotHoldADrainUp(t *testing.T) {
	t.Parallel()
	r := watching(t, func(c *serve.Config) { c.Grace = time.Hour }, func(_ *partyv1.WatchCampaignRequest, s grpc.ServerStreamingServer[partyv1.WatchCampaignResponse]) error {
		if err := s.Send(&partyv1.WatchCampaignResponse{}); err != nil {
			return err
		}
		<-s.Context().Done()
		return s.Context().Err()
	})
	stream, err := partyv1.NewCampaignServiceClient(r.conn).WatchCampaign(authorized(context.Background()), &partyv1.WatchCampaignRequest{Name: "campaigns/c"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); err != nil {
		t.Fatal(err)
	}
	health, err := healthv1.NewHealthClient(r.conn).Watch(context.Background(), &healthv1.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := health.Recv(); err != nil {
		t.Fatal(err)
	}
	r.stop()
	_, err = stream.Recv()
	var f *fault.Error
	if !errors.As(fault.FromStatus(err), &f) || f.Kind != fault.Unavailable || f.Reason != "STOPPING" || f.RetryAfter == 0 {
		t.Errorf("the watcher is told %v", err)
	}
	if err := await.Value(t, r.done, "the end"); err != nil { // an hour of grace is not waited for
		t.Errorf("Serve = %v", err)
	}
	r.done <- nil
}

func TestACallerWhoLeavesIsNotToldThatTheServerStops(t *testing.T) {
	t.Parallel()
	ended := make(chan struct{})
	r := watching(t, nil, func(_ *partyv1.WatchCampaignRequest, s grpc.ServerStreamingServer[partyv1.WatchCampaignResponse]) error {
		defer close(ended)
		if err := s.Send(&partyv1.WatchCampaignResponse{}); err != nil {
			return err
		}
		<-s.Context().Done()
		return s.Context().Err()
	})
	ctx, leave := context.WithCancel(authorized(context.Background()))
	stream, err := partyv1.NewCampaignServiceClient(r.conn).WatchCampaign(ctx, &partyv1.WatchCampaignRequest{Name: "campaigns/c"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); err != nil {
		t.Fatal(err)
	}
	leave()
	await.Value(t, ended, "the call")
	eventually(t, "the end is logged", func() bool { return strings.Contains(r.log.String(), "code=Canceled") })
	if strings.Contains(r.log.String(), "STOPPING") || strings.Contains(r.log.String(), "rpc failed") {
		t.Errorf("log: %s", r.log.String())
	}
}

func TestThingsAreStoppedInOrderAfterTheDrain(t *testing.T) {
	t.Parallel()
	var order []string
	begun, finish := make(chan struct{}), make(chan struct{})
	r := startWith(t, nil, func(s *serve.Server) {
		dicev1.RegisterDiceServiceServer(s, dice{roll: func(context.Context, *dicev1.RollRequest) (*dicev1.RollResponse, error) {
			close(begun)
			<-finish
			order = append(order, "call")
			return &dicev1.RollResponse{}, nil
		}})
		s.OnStop("worker", func(ctx context.Context) error {
			if _, ok := ctx.Deadline(); !ok || ctx.Err() != nil {
				t.Errorf("the worker has no time to stop: %v", ctx.Err())
			}
			order = append(order, "worker")
			return errors.New("did not stop")
		})
		s.OnStop("store", func(context.Context) error { order = append(order, "store"); return nil })
	})
	result := make(chan error, 1)
	go func() {
		_, err := dicev1.NewDiceServiceClient(r.conn).Roll(authorized(context.Background()), goodRoll())
		result <- err
	}()
	await.Value(t, begun, "the call")
	r.stop()
	close(finish)
	if err := await.Value(t, result, "the end"); err != nil {
		t.Errorf("the call under way: %v", err)
	}
	err := await.Value(t, r.done, "the end")
	if err == nil || err.Error() != "stop worker: did not stop" {
		t.Errorf("Serve = %v", err)
	}
	if !slices.Equal(order, []string{"call", "worker", "store"}) {
		t.Errorf("order %v", order)
	}
	r.done <- nil
}

// brokenListener fails at the first Accept.
type brokenListener struct{ net.Listener }

func (brokenListener) Accept() (net.Conn, error) { return nil, errors.New("no more files") }

func TestAServerThatCannotListenStopsEverything(t *testing.T) {
	t.Parallel()
	for name, listeners := range map[string]func(net.Listener) []net.Listener{
		"no listener":      func(l net.Listener) []net.Listener { _ = l.Close(); return nil },
		"a broken one":     func(l net.Listener) []net.Listener { return []net.Listener{brokenListener{l}} },
		"one of two fails": func(l net.Listener) []net.Listener { return []net.Listener{listen(t), brokenListener{l}} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := serve.NewServer(serve.Config{Verifier: tokens{}, Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			closed := false
			s.OnStop("store", func(context.Context) error { closed = true; return nil })
			if err := s.Serve(t.Context(), listeners(listen(t))...); err == nil || !closed {
				t.Errorf("Serve = %v, closed %v", err, closed)
			}
		})
	}
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return lis
}

func TestSeveralListenersShareAServer(t *testing.T) {
	t.Parallel()
	s, err := serve.NewServer(serve.Config{Verifier: tokens{}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	a, b := listen(t), listen(t)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, a, b) }()
	for _, lis := range []net.Listener{a, b} {
		conn, err := grpc.NewClient(lis.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := healthv1.NewHealthClient(conn).Check(t.Context(), &healthv1.HealthCheckRequest{}, grpc.WaitForReady(true)); err != nil {
			t.Errorf("%s: %v", lis.Addr(), err)
		}
		_ = conn.Close()
	}
	stop()
	if err := await.Value(t, done, "the end"); err != nil {
		t.Errorf("Serve = %v", err)
	}
}

func TestPingsDecideOverHealth(t *testing.T) {
	t.Parallel()
	var away atomic.Bool
	away.Store(true)
	r := startWith(t, func(c *serve.Config) { c.Ready = func(context.Context) error { return nil } }, func(s *serve.Server) {
		s.Ping("paper", func(context.Context) error { return nil })
		s.Ping("store", func(context.Context) error {
			if away.Load() {
				return errors.New("gone fishing")
			}
			return nil
		})
	})
	client := healthv1.NewHealthClient(r.conn)
	status := func() healthv1.HealthCheckResponse_ServingStatus {
		res, err := client.Check(t.Context(), &healthv1.HealthCheckRequest{})
		if err != nil {
			t.Fatal(err)
		}
		return res.GetStatus()
	}
	eventually(t, "a warning", func() bool { return strings.Contains(r.log.String(), "store: gone fishing") })
	if got := status(); got != healthv1.HealthCheckResponse_NOT_SERVING {
		t.Errorf("status %v", got)
	}
	away.Store(false)
	eventually(t, "serving", func() bool { return status() == healthv1.HealthCheckResponse_SERVING })
	if n := strings.Count(r.log.String(), "gone fishing"); n != 1 {
		t.Errorf("the same warning %d times", n)
	}
}

func TestReflectionIsASwitch(t *testing.T) {
	t.Parallel()
	for _, on := range []bool{true, false} {
		t.Run(fmt.Sprint(on), func(t *testing.T) {
			t.Parallel()
			r := start(t, func(c *serve.Config) { c.Reflection = on }, dice{})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			stream, err := reflectionv1.NewServerReflectionClient(r.conn).ServerReflectionInfo(ctx) // no token needed
			if err != nil {
				t.Fatal(err)
			}
			_ = stream.Send(&reflectionv1.ServerReflectionRequest{MessageRequest: &reflectionv1.ServerReflectionRequest_ListServices{}})
			res, err := stream.Recv()
			if !on {
				if status.Code(err) != codes.Unimplemented {
					t.Errorf("switched off: %v, %v", res, err)
				}
				return
			}
			found := false
			for _, s := range res.GetListServicesResponse().GetService() {
				found = found || s.GetName() == "wayfarer.dice.v1.DiceService"
			}
			if err != nil || !found {
				t.Errorf("switched on: %v, %v", res, err)
			}
			if err := stream.CloseSend(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestHTTPDrains(t *testing.T) {
	t.Parallel()
	for name, grace := range map[string]time.Duration{"a request that ends": time.Hour, "one that does not": time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			begun, finish := make(chan struct{}), make(chan struct{})
			h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				close(begun)
				select {
				case <-finish:
					_, _ = io.WriteString(w, "done")
				case <-r.Context().Done():
				}
			})
			lis := listen(t)
			ctx, stop := context.WithCancel(context.Background())
			done := make(chan error, 1)
			go func() { done <- serve.HTTP(ctx, lis, h, grace) }()
			type answer struct {
				body string
				err  error
			}
			got := make(chan answer, 1)
			go func() {
				res, err := http.Get("http://" + lis.Addr().String()) //nolint:noctx // a test server
				if err != nil {
					got <- answer{err: err}
					return
				}
				body, err := io.ReadAll(res.Body)
				got <- answer{string(body), errors.Join(err, res.Body.Close())}
			}()
			await.Value(t, begun, "the call")
			stop()
			if grace == time.Hour {
				close(finish)
				if a := await.Value(t, got, "the answer"); a.err != nil || a.body != "done" {
					t.Errorf("%+v", a)
				}
			} else if a := await.Value(t, got, "the answer"); a.err == nil {
				t.Errorf("an endless request was answered: %+v", a)
			}
			if err := await.Value(t, done, "the end"); err != nil {
				t.Errorf("HTTP = %v", err)
			}
		})
	}
	if err := serve.HTTP(t.Context(), brokenListener{listen(t)}, http.NotFoundHandler(), time.Second); err == nil {
		t.Error("a broken listener is no error")
	}
}
