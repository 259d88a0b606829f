package rest_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	dicev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dice/v1"
	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"

	"github.com/wayfarer-rpg/wayfarer/gateway/rest"
	"github.com/wayfarer-rpg/wayfarer/internal/auth"
	"github.com/wayfarer-rpg/wayfarer/internal/await"
	"github.com/wayfarer-rpg/wayfarer/internal/fault"
	"github.com/wayfarer-rpg/wayfarer/internal/journal"
	"github.com/wayfarer-rpg/wayfarer/internal/journal/memory"
	"github.com/wayfarer-rpg/wayfarer/internal/serve"
	"github.com/wayfarer-rpg/wayfarer/services/dice"
	"github.com/wayfarer-rpg/wayfarer/services/party"
)

// tokens is a verifier that takes a subject for its own token; those that begin with "service:" are services.
type tokens struct{}

func (tokens) Verify(_ context.Context, token string) (auth.Principal, error) {
	if token == "bad" {
		return auth.Principal{}, fault.New(fault.Unauthenticated, auth.TokenInvalid, "the token is not valid here")
	}
	return auth.Principal{Subject: token, Service: strings.HasPrefix(token, "service:")}, nil
}

// edge is the REST edge before servers of its own.
type edge struct {
	t    *testing.T
	url  string
	stop context.CancelFunc // stops the gRPC server
}

// newEdge puts an edge before a gRPC server with what register adds.
func newEdge(t *testing.T, cfg rest.Config, register func(grpc.ServiceRegistrar)) *edge {
	t.Helper()
	g, err := serve.NewServer(serve.Config{Name: "all", Verifier: tokens{}, Logger: slog.New(slog.NewTextHandler(t.Output(), nil)), Grace: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	register(g)
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
	await.Until(t, "the services are ready", func() (bool, any) {
		res, err := healthv1.NewHealthClient(conn).Check(t.Context(), &healthv1.HealthCheckRequest{})
		return err == nil && res.GetStatus() == healthv1.HealthCheckResponse_SERVING, fmt.Sprint(res.GetStatus(), " ", err)
	})
	cfg.Backends = []rest.Backend{
		{Name: "dice", Conn: conn, Register: []binding{dicev1.RegisterDiceServiceHandler}},
		{Name: "party", Conn: conn, Register: []binding{partyv1.RegisterCampaignServiceHandler}},
	}
	api, err := rest.New(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/v1/", api)
	rest.Health(mux, cfg.Backends)
	web := httptest.NewServer(mux)
	t.Cleanup(func() {
		stop()
		if err := await.Value(t, done, "the end"); err != nil {
			t.Errorf("serve: %v", err)
		}
		web.Close()
		_ = conn.Close()
	})
	return &edge{t: t, url: web.URL, stop: stop}
}

// newGame is an edge before the real party and dice services, with a campaign of gerd's in which alice plays.
func newGame(t *testing.T, cfg rest.Config) *edge {
	t.Helper()
	var ticks atomic.Int64
	p, err := party.New(party.Config{
		Store: memory.New(), Journal: []journal.Option{journal.WithPoll(time.Millisecond)},
		Clock: func() time.Time {
			return time.Date(2031, 3, 1, 12, 0, 0, 0, time.UTC).Add(time.Duration(ticks.Add(1)) * time.Second)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	d := dice.New(dice.Config{Store: memory.New(), Members: p, Logger: slog.New(slog.NewTextHandler(t.Output(), nil))})
	e := newEdge(t, cfg, func(r grpc.ServiceRegistrar) {
		p.Register(r)
		d.Register(r)
	})
	e.ok("gerd", "POST", "/v1/campaigns", `{"campaign_id": "c", "title": "The Long Road", "request_id": "begin",
		"members": [{"subject": "alice", "role": "ROLE_PLAYER"}, {"subject": "sven", "role": "ROLE_SPECTATOR"}]}`)
	return e
}

type answer struct {
	code   int
	header http.Header
	body   []byte
}

// do makes a call for somebody, with further headers as "Name: value".
func (e *edge) do(who, method, path string, body io.Reader, headers ...string) answer {
	e.t.Helper()
	req, err := http.NewRequestWithContext(e.t.Context(), method, e.url+path, body)
	if err != nil {
		e.t.Fatal(err)
	}
	return e.send(req, who, headers...)
}

func (e *edge) send(req *http.Request, who string, headers ...string) answer {
	e.t.Helper()
	res := e.open(req, who, headers...)
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		e.t.Fatal(err)
	}
	return answer{res.StatusCode, res.Header, raw}
}

func (e *edge) open(req *http.Request, who string, headers ...string) *http.Response {
	e.t.Helper()
	if who != "" {
		req.Header.Set("Authorization", "Bearer "+who)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Add(name, value)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		e.t.Fatal(err)
	}
	return res
}

// ok makes a call that must succeed.
func (e *edge) ok(who, method, path, body string, headers ...string) map[string]any {
	e.t.Helper()
	a := e.do(who, method, path, strings.NewReader(body), headers...)
	if a.code != http.StatusOK || a.header.Get("Content-Type") != "application/json" {
		e.t.Fatalf("%s %s: %d %v %s", method, path, a.code, a.header, a.body)
	}
	return e.object(a.body)
}

func (e *edge) object(raw []byte) map[string]any {
	e.t.Helper()
	var m map[string]any
	if err := json.Unmarshal(raw, &m); err != nil {
		e.t.Fatalf("%v: %s", err, raw)
	}
	return m
}

// refusal is what an error should say.
type refusal struct {
	http   int
	code   int
	reason string
	field  string
}

// check holds an answer against the refusal.
func (r refusal) check(t *testing.T, a answer) {
	t.Helper()
	if got := a.header.Get("Content-Type"); got != "application/json" {
		t.Errorf("content type %q", got)
	}
	if got := read(t, a.code, a.body); got != r {
		t.Errorf("got %+v, want %+v: %s", got, r, a.body)
	}
}

// read takes a google.rpc.Status apart.
func read(t *testing.T, code int, body []byte) refusal {
	t.Helper()
	var st struct {
		Code    int
		Message string
		Details []struct {
			Type            string `json:"@type"`
			Reason, Domain  string
			FieldViolations []struct{ Field, Description string }
		}
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	if err := json.Unmarshal(body, &st); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	if st.Message == "" {
		t.Errorf("no message: %s", body)
	}
	got := refusal{http: code, code: st.Code}
	for _, d := range st.Details {
		if d.Type == "type.googleapis.com/google.rpc.ErrorInfo" {
			if got.reason = d.Reason; d.Domain != "wayfarer" {
				t.Errorf("domain %q", d.Domain)
			}
		}
		for _, v := range d.FieldViolations {
			if got.field = v.Field; v.Description == "" {
				t.Errorf("no description of %s", v.Field)
			}
		}
	}
	return got
}

// stream reads the lines of a streaming answer as they come.
type stream struct {
	t    *testing.T
	code int
	head http.Header
	stop context.CancelFunc
	in   *bufio.Reader
}

func (e *edge) watch(who, path string, headers ...string) *stream {
	e.t.Helper()
	ctx, stop := context.WithTimeout(e.t.Context(), await.Limit)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, e.url+path, nil)
	if err != nil {
		e.t.Fatal(err)
	}
	res := e.open(req, who, headers...)
	e.t.Cleanup(func() {
		stop()
		_ = res.Body.Close()
	})
	return &stream{e.t, res.StatusCode, res.Header, stop, bufio.NewReader(res.Body)}
}

func (s *stream) line() string {
	s.t.Helper()
	l, err := s.in.ReadString('\n')
	if err != nil {
		s.t.Fatalf("%v after %q", err, l)
	}
	return strings.TrimSuffix(l, "\n")
}

// event reads a server-sent event: its fields, and the comments before it as "".
func (s *stream) event() map[string]string {
	s.t.Helper()
	ev := map[string]string{}
	for {
		l := s.line()
		switch {
		case l != "":
			name, value, ok := strings.Cut(l, ":")
			if !ok {
				s.t.Fatalf("not a line of an event: %q", l)
			}
			ev[name] = strings.TrimPrefix(value, " ")
		case len(ev) > 0:
			return ev
		}
	}
}

// end waits for the end of the stream, which may hold no more.
func (s *stream) end() {
	s.t.Helper()
	if rest, err := io.ReadAll(s.in); err != nil || len(rest) > 0 {
		s.t.Errorf("the stream ends with %q %v", rest, err)
	}
}

var ids atomic.Int64

// fresh is a request_id of its own.
func fresh() string { return fmt.Sprintf("q-%d", ids.Add(1)) }

// binding is a Register…Handler function of the generated code.
type binding = func(context.Context, *runtime.ServeMux, *grpc.ClientConn) error
