package serve_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"
	metrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	dicev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dice/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/auth"
	"github.com/wayfarer-rpg/wayfarer/internal/await"
	"github.com/wayfarer-rpg/wayfarer/internal/cut"
	"github.com/wayfarer-rpg/wayfarer/internal/fault"
	"github.com/wayfarer-rpg/wayfarer/internal/serve"
)

func TestLogger(t *testing.T) {
	t.Parallel()
	var buf bytes.Buffer
	log := serve.NewLogger(&buf, "travel", slog.LevelInfo)
	sc := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}})
	log.DebugContext(t.Context(), "unheard")
	log.With("a", 1).InfoContext(trace.ContextWithSpanContext(t.Context(), sc), "traced", "b", 2)
	log.WithGroup("g").WarnContext(t.Context(), "plain", "c", 3)
	lines := strings.Split(strings.TrimSpace(buf.String()), "\n")
	if len(lines) != 2 {
		t.Fatalf("%d lines: %s", len(lines), buf.String())
	}
	var traced, plain map[string]any
	if err := json.Unmarshal([]byte(lines[0]), &traced); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(lines[1]), &plain); err != nil {
		t.Fatal(err)
	}
	if traced["msg"] != "traced" || traced["program"] != "travel" || traced["a"] != 1.0 || traced["b"] != 2.0 ||
		traced["trace_id"] != "01000000000000000000000000000000" || traced["span_id"] != "0200000000000000" {
		t.Errorf("line %s", lines[0])
	}
	if plain["msg"] != "plain" || plain["trace_id"] != nil || plain["g"].(map[string]any)["c"] != 3.0 {
		t.Errorf("line %s", lines[1])
	}
}

// meters counts the exports of metrics.
type meters struct {
	metrics.UnimplementedMetricsServiceServer
	got atomic.Int64
}

func (m *meters) Export(context.Context, *metrics.ExportMetricsServiceRequest) (*metrics.ExportMetricsServiceResponse, error) {
	m.got.Add(1)
	return &metrics.ExportMetricsServiceResponse{}, nil
}

type spans struct {
	collector.UnimplementedTraceServiceServer
	mu  sync.Mutex
	all []*tracev1.Span
}

func (s *spans) Export(_ context.Context, r *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, rs := range r.GetResourceSpans() {
		for _, ss := range rs.GetScopeSpans() {
			s.all = append(s.all, ss.GetSpans()...)
		}
	}
	return &collector.ExportTraceServiceResponse{}, nil
}

// The one test that installs telemetry, since that is the process's.
func TestOneTraceFromClientToServer(t *testing.T) {
	t.Parallel()
	got := &spans{}
	lis := listen(t)
	srv := grpc.NewServer()
	collector.RegisterTraceServiceServer(srv, got)
	measured := &meters{}
	metrics.RegisterMetricsServiceServer(srv, measured)
	go func() { _ = srv.Serve(lis) }()
	t.Cleanup(srv.Stop)
	tel, err := serve.NewTelemetry(t.Context(), serve.TelemetryConfig{Program: "test", Version: "1", Endpoint: "http://" + lis.Addr().String(), Ratio: 1, LastWords: await.Limit})
	if err != nil {
		t.Fatal(err)
	}
	tel.Install()
	r := start(t, nil, dice{roll: func(ctx context.Context, _ *dicev1.RollRequest) (*dicev1.RollResponse, error) {
		return &dicev1.RollResponse{Roll: &dicev1.Roll{Purpose: trace.SpanContextFromContext(ctx).TraceID().String()}}, nil
	}})
	conn, err := serve.Dial(r.addr, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	res, err := dicev1.NewDiceServiceClient(conn).Roll(authorized(t.Context()), goodRoll())
	if err != nil {
		t.Fatal(err)
	}
	page := httptest.NewRecorder()
	await.Until(t, "the call is measured", func() (bool, any) { // the server counts it after it was answered
		page = httptest.NewRecorder()
		tel.Metrics().ServeHTTP(page, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
		return strings.Contains(page.Body.String(), "rpc_server_call_duration_seconds_count{"), page.Body.String()
	})
	for _, want := range []string{"go_goroutines", "rpc_server_call_duration_seconds_count{", "rpc_client_call_duration_seconds_count{", "wayfarer.dice.v1.DiceService"} {
		if !strings.Contains(page.Body.String(), want) {
			t.Errorf("metrics lack %s", want)
		}
	}
	// Who asks for OpenMetrics is shown traces at the durations: exemplars.
	// Other tests measure their calls beside this one, and a bucket shows its latest.
	await.Until(t, "the trace of a call is shown", func() (bool, any) {
		last, err := dicev1.NewDiceServiceClient(conn).Roll(authorized(t.Context()), goodRoll())
		if err != nil {
			t.Fatal(err)
		}
		id := last.GetRoll().GetPurpose()
		bucket := regexp.MustCompile(`rpc_server_call_duration_seconds_bucket\{.*\} [1-9][0-9]* # \{.*trace_id="` + id + `"`)
		for range 100 { // counted after it was answered
			req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil)
			req.Header.Set("Accept", "application/openmetrics-text; version=1.0.0")
			open := httptest.NewRecorder()
			tel.Metrics().ServeHTTP(open, req)
			if bucket.MatchString(open.Body.String()) {
				return true, nil
			}
		}
		return false, "another call's"
	})
	if strings.Contains(page.Body.String(), "trace_id") {
		t.Error("the plain format has traces, which it cannot")
	}
	if err := tel.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if measured.got.Load() == 0 {
		t.Error("no metrics are exported")
	}
	got.mu.Lock()
	defer got.mu.Unlock()
	kinds := map[tracev1.Span_SpanKind]int{}
	for _, s := range got.all {
		if trace.TraceID(s.GetTraceId()).String() == res.GetRoll().GetPurpose() {
			kinds[s.GetKind()]++
		}
	}
	if kinds[tracev1.Span_SPAN_KIND_CLIENT] != 1 || kinds[tracev1.Span_SPAN_KIND_SERVER] != 1 {
		t.Errorf("spans of the trace: %v of %d", kinds, len(got.all))
	}
}

// A collector that is away holds no end up for long, and makes it no bad one.
func TestTelemetryWhoseCollectorIsAway(t *testing.T) {
	t.Parallel()
	tel, err := serve.NewTelemetry(t.Context(), serve.TelemetryConfig{Program: "test", Endpoint: "http://127.0.0.1:1", Ratio: 1, LastWords: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if err := tel.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestTelemetryWithoutACollector(t *testing.T) {
	t.Parallel()
	tel, err := serve.NewTelemetry(t.Context(), serve.TelemetryConfig{Program: "test"})
	if err != nil {
		t.Fatal(err)
	}
	if err := tel.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

// identities takes "user:<name>" and "service:<name>" for tokens.
type identities struct{}

func (identities) Verify(_ context.Context, token string) (auth.Principal, error) {
	kind, name, _ := strings.Cut(token, ":")
	if kind != "user" && kind != "service" {
		return auth.Principal{}, fault.New(fault.Unauthenticated, auth.TokenInvalid, "bad")
	}
	return auth.Principal{Subject: name, Service: kind == "service"}, nil
}

func tokenSource(t *testing.T, token string) *auth.TokenSource {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"access_token": "`+token+`", "expires_in": 3600}`)
	}))
	t.Cleanup(srv.Close)
	return &auth.TokenSource{URL: srv.URL, ClientID: "x", ClientSecret: "y"}
}

// A user calls one service, which calls another: the second sees the first as a service that acts for the user.
func TestDialCarriesIdentityAndActor(t *testing.T) {
	t.Parallel()
	inner := start(t, func(c *serve.Config) { c.Verifier = identities{} }, dice{roll: func(ctx context.Context, _ *dicev1.RollRequest) (*dicev1.RollResponse, error) {
		p, _ := auth.FromContext(ctx)
		return &dicev1.RollResponse{Roll: &dicev1.Roll{Purpose: p.Subject + " for " + p.Actor}}, nil
	}})
	outer := func(token string) running {
		conn, err := serve.Dial(inner.addr, tokenSource(t, token), nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		return start(t, func(c *serve.Config) { c.Verifier = identities{} }, dice{roll: func(ctx context.Context, r *dicev1.RollRequest) (*dicev1.RollResponse, error) {
			return dicev1.NewDiceServiceClient(conn).Roll(ctx, r)
		}})
	}
	call := func(r running, token string) (string, error) {
		ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+token)
		res, err := dicev1.NewDiceServiceClient(r.conn).Roll(ctx, goodRoll())
		return res.GetRoll().GetPurpose(), fault.FromStatus(err)
	}
	good := outer("service:travel")
	if got, err := call(good, "user:ada"); err != nil || got != "travel for ada" {
		t.Errorf("a user: %q, %v", got, err)
	}
	if got, err := call(good, "service:worker"); err != nil || got != "travel for " {
		t.Errorf("a service for itself: %q, %v", got, err)
	}
	for name, token := range map[string]string{"the service's token is no good": "nobody", "the service is no service": "user:travel"} {
		bad := outer(token)
		if _, err := call(bad, "user:ada"); fault.KindOf(err) != fault.Internal || fault.ReasonOf(err) != auth.TokenRefused {
			t.Errorf("%s: the user is told %v", name, err)
		}
		if !strings.Contains(bad.log.String(), auth.TokenRefused) {
			t.Errorf("%s: log %s", name, bad.log.String())
		}
	}
}

func TestDialRepeatsWhatNoServerOfTheSuiteAnswered(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	var kind atomic.Int64
	service := dice{roll: func(context.Context, *dicev1.RollRequest) (*dicev1.RollResponse, error) {
		if calls.Add(1) < 3 {
			return nil, fault.New(fault.Kind(kind.Load()), "AWAY", "later").After(time.Second) //nolint:gosec // a code
		}
		return &dicev1.RollResponse{}, nil
	}}
	proxy := grpc.NewServer() // answers as a balancer or a dying server would
	dicev1.RegisterDiceServiceServer(proxy, service)
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = proxy.Serve(lis) }()
	t.Cleanup(proxy.Stop)
	ours := start(t, nil, service).addr
	for name, tt := range map[string]struct {
		addr  string
		kind  fault.Kind
		calls int64
	}{
		"unavailable, as something in between says": {lis.Addr().String(), fault.Unavailable, 3},
		"unavailable, as a server of ours says":     {ours, fault.Unavailable, 1},
		"aborted":                                   {ours, fault.Aborted, 1},
	} {
		conn, err := serve.Dial(tt.addr, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		calls.Store(0)
		kind.Store(int64(tt.kind))
		_, err = dicev1.NewDiceServiceClient(conn).Roll(authorized(t.Context()), goodRoll())
		if calls.Load() != tt.calls {
			t.Errorf("%s: %d calls, not %d", name, calls.Load(), tt.calls)
		}
		var f *fault.Error
		if tt.calls == 1 && (!errors.As(fault.FromStatus(err), &f) || f.Kind != tt.kind || f.Reason != "AWAY" || f.RetryAfter != time.Second) {
			t.Errorf("%s: %v", name, err)
		}
		if tt.calls == 3 && err != nil {
			t.Errorf("%s: %v", name, err)
		}
		_ = conn.Close()
	}
}

// toldWithin is how long a caller may wait to learn that a service is away: moments, and in any case less than a call has without a
// deadline of its own.
const toldWithin = 25 * time.Second

// A service that nobody can reach is said to be away by who needs it, with a time to wait, and without its address.
func TestAServiceThatIsAwayIsSaidToBe(t *testing.T) {
	t.Parallel()
	inner := start(t, nil, dice{roll: func(context.Context, *dicev1.RollRequest) (*dicev1.RollResponse, error) {
		return &dicev1.RollResponse{}, nil
	}})
	wire := cut.New(t, inner.addr)
	conn, err := serve.Dial(wire.Addr(), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	for name, pass := range map[string]func(error) error{
		"by an adapter that maps errors": fault.FromStatus,
		"by one that passes them on":     func(err error) error { return err },
	} {
		outer := start(t, nil, dice{roll: func(ctx context.Context, r *dicev1.RollRequest) (*dicev1.RollResponse, error) {
			res, err := dicev1.NewDiceServiceClient(conn).Roll(authorized(ctx), r)
			return res, pass(err)
		}})
		wire.Cut()
		begin := time.Now()
		_, err := dicev1.NewDiceServiceClient(outer.conn).Roll(authorized(t.Context()), goodRoll())
		var f *fault.Error
		if !errors.As(fault.FromStatus(err), &f) || f.Kind != fault.Unavailable || f.Reason != fault.Unreachable || f.RetryAfter != time.Second {
			t.Errorf("%s: %v", name, err)
		}
		if took := time.Since(begin); took > toldWithin {
			t.Errorf("%s: told after %s", name, took)
		}
		if strings.Contains(fmt.Sprint(err), wire.Addr()) {
			t.Errorf("%s: tells the address: %v", name, err)
		}
		if !strings.Contains(outer.log.String(), wire.Addr()) {
			t.Errorf("%s: the log does not tell what is away: %s", name, outer.log.String())
		}
		wire.Mend(t)
		await.Until(t, name+": it is back", func() (bool, any) {
			_, err := dicev1.NewDiceServiceClient(outer.conn).Roll(authorized(t.Context()), goodRoll())
			return err == nil, err
		})
	}
}

func TestWhatIsLogged(t *testing.T) {
	t.Parallel()
	r := start(t, nil, dice{roll: func(_ context.Context, req *dicev1.RollRequest) (*dicev1.RollResponse, error) {
		if req.GetNotation() == "refuse" {
			return nil, fault.New(fault.FailedPrecondition, "LEASED", "no")
		}
		return &dicev1.RollResponse{}, nil
	}})
	client := dicev1.NewDiceServiceClient(r.conn)
	if _, err := client.Roll(authorized(t.Context()), goodRoll()); err != nil {
		t.Fatal(err)
	}
	bad := goodRoll()
	bad.Notation = "refuse"
	if _, err := client.Roll(authorized(t.Context()), bad); err == nil {
		t.Fatal("not refused")
	}
	for _, want := range []string{
		"level=DEBUG msg=rpc method=/wayfarer.dice.v1.DiceService/Roll code=OK ms=",
		"level=INFO msg=rpc method=/wayfarer.dice.v1.DiceService/Roll code=FailedPrecondition ms=",
		"reason=LEASED",
	} {
		if !strings.Contains(r.log.String(), want) {
			t.Errorf("log lacks %q: %s", want, r.log.String())
		}
	}
	if strings.Contains(r.log.String(), "Bearer") || strings.Contains(r.log.String(), "level=ERROR") {
		t.Errorf("log: %s", r.log.String())
	}
}
