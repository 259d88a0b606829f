package rest_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	dicev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dice/v1"
	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"

	"github.com/wayfarer-rpg/wayfarer/gateway/rest"
	"github.com/wayfarer-rpg/wayfarer/internal/await"
	"github.com/wayfarer-rpg/wayfarer/internal/limit"
)

// stub answers GetRollLog, Roll and WatchCampaign as a test says.
type stub struct {
	dicev1.UnimplementedDiceServiceServer
	partyv1.UnimplementedCampaignServiceServer
	get   func(context.Context) error
	roll  func(context.Context) error
	watch func(grpc.ServerStream) error
}

func (s stub) GetRollLog(ctx context.Context, _ *dicev1.GetRollLogRequest) (*dicev1.GetRollLogResponse, error) {
	return &dicev1.GetRollLogResponse{RollLog: &dicev1.RollLog{}}, s.get(ctx)
}

func (s stub) Roll(ctx context.Context, _ *dicev1.RollRequest) (*dicev1.RollResponse, error) {
	return &dicev1.RollResponse{}, s.roll(ctx)
}

func (s stub) WatchCampaign(_ *partyv1.WatchCampaignRequest, ss partyv1.CampaignService_WatchCampaignServer) error {
	return s.watch(ss)
}

func newStub(t *testing.T, limits rest.Limits, s stub) *edge {
	t.Helper()
	if s.get == nil {
		s.get = func(context.Context) error { return nil }
	}
	return newEdge(t, rest.Config{Limits: limits, MaxBody: 1 << 10}, func(r grpc.ServiceRegistrar) {
		dicev1.RegisterDiceServiceServer(r, s)
		partyv1.RegisterCampaignServiceServer(r, s)
	})
}

const rollLog = "/v1/campaigns/c/rollLogs/ada"

// said is an answer, short: its code, its reason and how long to wait.
func (e *edge) said(t *testing.T, header http.Header, method, path string, body io.Reader) (code int, reason, wait string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, e.url+path, body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header = header.Clone()
	if req.Header == nil {
		req.Header = http.Header{}
	}
	req.Header.Set("Authorization", "Bearer ada")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	var st struct {
		Details []struct{ Reason string }
	}
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if res.StatusCode != http.StatusOK {
		if err := json.Unmarshal(raw, &st); err != nil || len(st.Details) == 0 {
			t.Fatalf("%s without a google.rpc.Status: %s", res.Status, raw)
		}
		reason = st.Details[0].Reason
	}
	return res.StatusCode, reason, res.Header.Get("Retry-After")
}

func TestOneAddressMayAskSoOftenOnly(t *testing.T) {
	t.Parallel()
	var at atomic.Int64
	e := newStub(t, rest.Limits{
		Address: limit.Rate{PerSecond: 0.25, Burst: 2}, Now: func() time.Time { return time.Unix(at.Load(), 0) },
		Proxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
	}, stub{})
	from := func(address string) http.Header { return http.Header{"X-Forwarded-For": {address}} }
	for range 2 {
		if code, _, _ := e.said(t, from("192.0.2.1"), "GET", rollLog, nil); code != 200 {
			t.Fatalf("within the limit: %d", code)
		}
	}
	if code, reason, wait := e.said(t, from("192.0.2.1"), "GET", rollLog, nil); code != 429 || reason != "RATE_LIMITED" || wait != "4" {
		t.Errorf("the third: %d %s, Retry-After %s", code, reason, wait)
	}
	if code, reason, _ := e.said(t, from("198.51.100.9, 192.0.2.1"), "GET", rollLog, nil); code != 429 {
		t.Errorf("with an invented origin: %d %s", code, reason)
	}
	if code, _, _ := e.said(t, from("192.0.2.2"), "GET", rollLog, nil); code != 200 {
		t.Errorf("from another address: %d", code)
	}
	at.Add(4)
	if code, _, _ := e.said(t, from("192.0.2.1"), "GET", rollLog, nil); code != 200 {
		t.Errorf("after the wait: %d", code)
	}
}

func TestTheEdgeShedsAndStaysUp(t *testing.T) {
	t.Parallel()
	begun, finish := make(chan struct{}), make(chan struct{})
	e := newStub(t, rest.Limits{InFlight: 1}, stub{get: func(context.Context) error {
		begun <- struct{}{}
		<-finish
		return nil
	}})
	var wg sync.WaitGroup
	wg.Go(func() {
		if code, reason, _ := e.said(t, nil, "GET", rollLog, nil); code != 200 {
			t.Errorf("the first: %d %s", code, reason)
		}
	})
	await.Value(t, begun, "the first request")
	if code, reason, wait := e.said(t, nil, "GET", rollLog, nil); code != 429 || reason != "OVERLOADED" || wait != "1" {
		t.Errorf("the second: %d %s, Retry-After %s", code, reason, wait)
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		if code, _, _ := e.said(t, nil, "GET", path, nil); code != 200 {
			t.Errorf("%s: %d", path, code)
		}
	}
	close(finish)
	wg.Wait()
}

// A request has so much time, the services know how much of it is left, and who sends a body by the drop does not get more.
func TestARequestHasItsTime(t *testing.T) {
	t.Parallel()
	left := make(chan time.Duration, 1)
	e := newStub(t, rest.Limits{Deadline: 300 * time.Millisecond}, stub{get: func(ctx context.Context) error {
		d, _ := ctx.Deadline()
		select {
		case left <- time.Until(d):
		default:
		}
		<-ctx.Done()
		return ctx.Err()
	}})
	for asked, header := range map[string]http.Header{"nothing": nil, "an hour": {"Grpc-Timeout": {"1H"}}} {
		for seen := false; !seen && !t.Failed(); { // on a busy machine the time may be over before the service is asked
			if code, reason, _ := e.said(t, header, "GET", rollLog, nil); code != 504 || reason != "DEADLINE_EXCEEDED" {
				t.Errorf("of a caller who asks for %s: %d %s", asked, code, reason)
			}
			select {
			case d := <-left:
				seen = true
				if d > 300*time.Millisecond {
					t.Errorf("of a caller who asks for %s the service was given %s", asked, d)
				}
			default:
			}
		}
	}
	conn, err := net.Dial("tcp", strings.TrimPrefix(e.url, "http://")) //nolint:noctx // a test server
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(await.Limit)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, "POST /v1/campaigns/c/rolls HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ada\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{"); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusBadRequest && res.StatusCode != http.StatusGatewayTimeout {
		t.Errorf("half a body: %s", res.Status)
	}
}

// The time for a body does not run on for the answer: a service that takes all of its own is not taken for a client who left.
func TestAWholeBodyIsInTime(t *testing.T) {
	t.Parallel()
	e := newStub(t, rest.Limits{Deadline: time.Second}, stub{roll: func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	}})
	for range 3 {
		body := strings.NewReader(`{"requestId": "r", "notation": "1d20"}`)
		if code, reason, _ := e.said(t, nil, "POST", "/v1/campaigns/c/rolls", body); code != 504 || reason != "DEADLINE_EXCEEDED" {
			t.Fatalf("%d %s", code, reason)
		}
	}
}

// A thousand event streams that say nothing starve no request, of others or of their own.
func TestIdleEventStreamsStarveNobody(t *testing.T) {
	t.Parallel()
	const idle = 1000
	e := newStub(t, rest.Limits{Streams: idle, InFlight: 2, Proxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}, stub{watch: func(s grpc.ServerStream) error {
		if err := s.SendHeader(metadata.MD{"begun": {"yes"}}); err != nil {
			return err
		}
		<-s.Context().Done()
		return s.Context().Err()
	}})
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	client := &http.Client{Transport: &http.Transport{}}
	open := func(address string) *http.Response {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, e.url+"/v1/campaigns/c:watch", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header = http.Header{"Accept": {"text/event-stream"}, "Authorization": {"Bearer ada"}, "X-Forwarded-For": {address}}
		res, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = res.Body.Close() })
		return res
	}
	for i := range idle {
		if res := open("192.0.2.1"); res.StatusCode != http.StatusOK {
			t.Fatalf("stream %d: %s", i, res.Status)
		}
	}
	if res := open("192.0.2.1"); res.StatusCode != http.StatusTooManyRequests || res.Header.Get("Retry-After") != "10" {
		t.Errorf("one more: %s", res.Status)
	}
	if res := open("192.0.2.2"); res.StatusCode != http.StatusOK {
		t.Errorf("somebody else's stream: %s", res.Status)
	}
	for range 50 {
		if code, reason, _ := e.said(t, http.Header{"X-Forwarded-For": {"192.0.2.1"}}, "GET", rollLog, nil); code != 200 {
			t.Fatalf("a request meanwhile: %d %s", code, reason)
		}
	}
}

func TestWhatIsTooLargeForTheEdge(t *testing.T) {
	t.Parallel()
	e := newStub(t, rest.Limits{Headers: 20}, stub{})
	lines := func(n int) http.Header {
		h := http.Header{}
		for i := range n {
			h.Add(fmt.Sprint("X-", i/2), "x")
		}
		return h
	}
	large := []byte(`{"notation": "` + strings.Repeat("1", 2<<10) + `"}`)
	for name, tt := range map[string]struct {
		header       http.Header
		method, path string
		body         io.Reader
		code         int
		reason       string
	}{
		"few headers":                        {lines(10), "GET", rollLog, nil, 200, ""},
		"many headers":                       {lines(30), "GET", rollLog, nil, 431, "TOO_MANY_HEADERS"},
		"a large body":                       {nil, "POST", "/v1/campaigns/c/rolls", bytes.NewReader(large), 413, "BODY_TOO_LARGE"},
		"a large body of an unstated length": {nil, "POST", "/v1/campaigns/c/rolls", io.MultiReader(bytes.NewReader(large)), 413, "BODY_TOO_LARGE"},
	} {
		if code, reason, _ := e.said(t, tt.header, tt.method, tt.path, tt.body); code != tt.code || reason != tt.reason {
			t.Errorf("%s: %d %s", name, code, reason)
		}
	}
}

// What the edge tells the services of a caller, nobody outside can tell them through it.
func TestNobodyForgesMetadataThroughTheEdge(t *testing.T) {
	t.Parallel()
	seen := make(chan metadata.MD, 1)
	e := newStub(t, rest.Limits{}, stub{get: func(ctx context.Context) error {
		md, _ := metadata.FromIncomingContext(ctx)
		seen <- md
		return nil
	}})
	header := http.Header{}
	for _, name := range []string{"x-wayfarer-client", "x-wayfarer-edge", "x-wayfarer-actor", "authorization", "x-forwarded-for"} {
		header.Set("Grpc-Metadata-"+name, "forged")
	}
	for _, name := range []string{"x-wayfarer-client", "x-wayfarer-edge", "grpcgateway-authorization"} {
		header.Set(name, "forged")
	}
	if code, reason, _ := e.said(t, header, "GET", rollLog, nil); code != 200 {
		t.Fatalf("%d %s", code, reason)
	}
	for name, values := range await.Value(t, seen, "the call") {
		if strings.Contains(strings.Join(values, " "), "forged") {
			t.Errorf("%s is %q", name, values)
		}
	}
	if code, reason, _ := e.said(t, http.Header{"X-Wayfarer-Actor": {"gerd"}}, "GET", rollLog, nil); code != 403 || reason != "ACTOR_NOT_ALLOWED" {
		t.Errorf("an actor in its own name: %d %s", code, reason)
	}
}
