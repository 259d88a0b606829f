package serve_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	dicev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dice/v1"
	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/auth"
	"github.com/wayfarer-rpg/wayfarer/internal/await"
	"github.com/wayfarer-rpg/wayfarer/internal/certtest"
	"github.com/wayfarer-rpg/wayfarer/internal/fault"
	"github.com/wayfarer-rpg/wayfarer/internal/limit"
	"github.com/wayfarer-rpg/wayfarer/internal/serve"
)

// hands is a clock that stands still until the test moves it.
type hands struct{ at atomic.Int64 }

func (h *hands) now() time.Time { return time.Unix(0, h.at.Load()) }

func (h *hands) move(d time.Duration) { h.at.Add(int64(d)) }

func rolls() dice {
	return dice{roll: func(ctx context.Context, _ *dicev1.RollRequest) (*dicev1.RollResponse, error) {
		return &dicev1.RollResponse{Roll: &dicev1.Roll{Purpose: serve.Client(ctx)}}, nil
	}}
}

// as is a call's context with a token and metadata by pairs.
func as(t *testing.T, token string, pairs ...string) context.Context {
	t.Helper()
	return metadata.AppendToOutgoingContext(t.Context(), append([]string{"authorization", "Bearer " + token}, pairs...)...)
}

func rollOn(ctx context.Context, r running) (string, *fault.Error) {
	res, err := dicev1.NewDiceServiceClient(r.conn).Roll(ctx, goodRoll())
	var f *fault.Error
	if err != nil && !errors.As(fault.FromStatus(err), &f) {
		f = fault.New(fault.Internal, "NO_FAULT", "%v", err)
	}
	return res.GetRoll().GetPurpose(), f
}

func TestOnePrincipalsCallsAreLimited(t *testing.T) {
	t.Parallel()
	clock := &hands{}
	r := start(t, func(c *serve.Config) {
		c.Verifier, c.Limits = identities{}, serve.Limits{Principal: limit.Rate{PerSecond: 1, Burst: 3}, Now: clock.now}
	}, rolls())
	for range 3 {
		if _, f := rollOn(as(t, "user:ada"), r); f != nil {
			t.Fatal(f)
		}
	}
	_, f := rollOn(as(t, "user:ada"), r)
	if f == nil || f.Kind != fault.ResourceExhausted || f.Reason != serve.RateLimited || f.RetryAfter != time.Second || f.Metadata["limit"] != "principal" {
		t.Fatalf("the fourth at once: %v", f)
	}
	for range 20 {
		if _, f := rollOn(as(t, "service:travel"), r); f != nil {
			t.Fatalf("a service: %v", f)
		}
		if _, f := rollOn(as(t, "service:travel", auth.ActorHeader, "ada"), r); f != nil {
			t.Fatalf("a service for ada: %v", f)
		}
	}
	if _, f := rollOn(as(t, "user:bram"), r); f != nil {
		t.Errorf("somebody else: %v", f)
	}
	clock.move(time.Second)
	if _, f := rollOn(as(t, "user:ada"), r); f != nil {
		t.Errorf("a second later: %v", f)
	}
}

func TestOneAddressIsLimitedWhoeverCalls(t *testing.T) {
	t.Parallel()
	clock := &hands{}
	r := start(t, func(c *serve.Config) {
		c.Verifier, c.Limits = identities{}, serve.Limits{Address: limit.Rate{PerSecond: 1, Burst: 3}, Now: clock.now}
	}, rolls())
	for i, token := range []string{"nonsense", "user:ada", "nonsense"} {
		if _, f := rollOn(as(t, token), r); (f != nil) != (token == "nonsense") || f != nil && f.Kind != fault.Unauthenticated {
			t.Fatalf("call %d: %v", i, f)
		}
	}
	for _, token := range []string{"nonsense", "user:ada", "user:bram"} {
		if _, f := rollOn(as(t, token), r); f == nil || f.Reason != serve.RateLimited || f.Metadata["limit"] != "address" {
			t.Errorf("%s, from an address that has used all of its calls: %v", token, f)
		}
	}
	if _, f := rollOn(as(t, "service:travel"), r); f != nil {
		t.Errorf("a service at the same address: %v", f)
	}
	if _, err := healthv1.NewHealthClient(r.conn).Check(t.Context(), &healthv1.HealthCheckRequest{}); err != nil {
		t.Errorf("health: %v", err)
	}
}

// An edge tells the address of its client, and nobody else may.
func TestAddressesCannotBeForged(t *testing.T) {
	t.Parallel()
	r := start(t, func(c *serve.Config) {
		c.Verifier, c.Limits = identities{}, serve.Limits{Address: limit.Rate{PerSecond: 1, Burst: 1}, Now: (&hands{}).now}
	}, rolls())
	for name, pairs := range map[string][]string{
		"an address alone":             {serve.ClientHeader, "192.0.2.1"},
		"with a user's token":          {serve.ClientHeader, "192.0.2.1", serve.EdgeHeader, "user:ada"},
		"with a bad token":             {serve.ClientHeader, "192.0.2.1", serve.EdgeHeader, "nonsense"},
		"two addresses":                {serve.ClientHeader, "192.0.2.1", serve.ClientHeader, "192.0.2.2", serve.EdgeHeader, "service:gateway"},
		"a service's token by itself":  {serve.EdgeHeader, "service:gateway"},
		"an address that has no end":   {serve.ClientHeader, strings.Repeat("1", 65), serve.EdgeHeader, "service:gateway"},
		"two tokens, one of a service": {serve.ClientHeader, "192.0.2.1", serve.EdgeHeader, "user:ada", serve.EdgeHeader, "service:gateway"},
	} {
		if _, f := rollOn(as(t, "user:ada", pairs...), r); f == nil || f.Kind != fault.PermissionDenied || f.Reason != serve.ClientNotAllowed {
			t.Errorf("%s: %v", name, f)
		}
	}
	edge := func(tokens *auth.TokenSource) running {
		conn, err := serve.DialEdge(r.addr, tokens, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		return running{conn: conn}
	}
	for name, tokens := range map[string]*auth.TokenSource{
		"an edge": tokenSource(t, "service:gateway"),
		// The proof is missing, the call goes on: for the server it comes from the edge's own address.
		"an edge whose issuer is away": {URL: "http://127.0.0.1:1/", ClientID: "x", ClientSecret: "y"},
		"an edge without an identity":  nil,
	} {
		e, seen := edge(tokens), map[string]bool{}
		if name == "an edge" { // a call waits for its token only so long
			if _, err := tokens.Token(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		for _, client := range []string{"192.0.2.1", "192.0.2.2", "192.0.2.2"} {
			got, f := rollOn(serve.WithClient(as(t, "user:ada"), client), e)
			if f != nil && f.Reason != serve.RateLimited {
				t.Errorf("%s: %v", name, f)
			}
			if f == nil {
				seen[got] = true
			}
		}
		want := map[bool]string{true: "map[192.0.2.1:true 192.0.2.2:true]", false: "map[127.0.0.1:true]"}[name == "an edge"]
		if got := fmt.Sprint(seen); got != want && (name == "an edge" || got != "map[]") { // two share the one address
			t.Errorf("%s: let in %s, want %s", name, got, want)
		}
	}
}

// cannotSay is a server's verifier that may not know the key of an edge's token.
type cannotSay struct {
	identities
	unknown *atomic.Bool
}

func (c cannotSay) Verify(ctx context.Context, token string) (auth.Principal, error) {
	if token == "service:gateway" && c.unknown.Load() {
		return auth.Principal{}, fault.New(fault.Unavailable, auth.KeysUnavailable, "the issuer is away")
	}
	return c.identities.Verify(ctx, token)
}

// What is wrong with the token of an edge is not held against its clients.
func TestAnEdgesTokenIsNotItsClientsAffair(t *testing.T) {
	t.Parallel()
	var unknown atomic.Bool
	r := start(t, func(c *serve.Config) { c.Verifier, c.Reflection = cannotSay{unknown: &unknown}, true }, rolls())
	edge := func(token string) running {
		tokens := tokenSource(t, token)
		if _, err := tokens.Token(t.Context()); err != nil {
			t.Fatal(err)
		}
		conn, err := serve.DialEdge(r.addr, tokens, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		return running{conn: conn}
	}
	ctx := serve.WithClient(as(t, "user:ada"), "192.0.2.1")
	good := edge("service:gateway")
	if got, f := rollOn(ctx, good); f != nil || got != "192.0.2.1" {
		t.Fatalf("by an edge: %q, %v", got, f)
	}
	unknown.Store(true)
	if _, f := rollOn(ctx, good); f == nil || f.Kind != fault.Unavailable || f.Reason != auth.KeysUnavailable {
		t.Errorf("while the key of the edge's token is not known: %v", f)
	}
	unknown.Store(false)

	for range 3 {
		if got, f := rollOn(ctx, edge("user:gateway")); f != nil || got != "127.0.0.1" {
			t.Errorf("by an edge whose token is no service's: %q, %v", got, f)
		}
	}
	bad := edge("nonsense")
	for call, want := range []codes.Code{codes.Unavailable, codes.OK} {
		s, err := reflectionv1.NewServerReflectionClient(bad.conn).ServerReflectionInfo(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.CloseSend(); err != nil {
			t.Fatal(err)
		}
		_, err = s.Recv()
		if errors.Is(err, io.EOF) {
			err = nil
		}
		if f := fault.FromStatus(err); status.Code(err) != want || want != codes.OK && fault.ReasonOf(f) != auth.TokenRefused {
			t.Errorf("stream %d by an edge whose token is refused: %v", call, err)
		}
	}
}

func TestClientAddress(t *testing.T) {
	t.Parallel()
	proxies := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	for name, tt := range map[string]struct {
		peer      string
		forwarded []string
		want      string
	}{
		"a client that comes itself":                  {"192.0.2.7:1234", nil, "192.0.2.7"},
		"one that invents a header":                   {"192.0.2.7:1234", []string{"198.51.100.1"}, "192.0.2.7"},
		"one behind a proxy":                          {"10.1.2.3:80", []string{"192.0.2.7"}, "192.0.2.7"},
		"one behind two":                              {"10.1.2.3:80", []string{"192.0.2.7, 10.9.9.9"}, "192.0.2.7"},
		"two header lines":                            {"10.1.2.3:80", []string{"192.0.2.7", "10.9.9.9"}, "192.0.2.7"},
		"one behind a proxy that invents a header":    {"10.1.2.3:80", []string{"198.51.100.1, 192.0.2.7"}, "192.0.2.7"},
		"one that names a proxy as its origin":        {"10.1.2.3:80", []string{"10.0.0.1, 192.0.2.7"}, "192.0.2.7"},
		"a proxy itself":                              {"10.1.2.3:80", nil, "10.1.2.3"},
		"a proxy with nonsense":                       {"10.1.2.3:80", []string{"unknown"}, "10.1.2.3"},
		"IPv6 by its net":                             {"[2001:db8:1:2:3:4:5:6]:443", nil, "2001:db8:1:2::/64"},
		"IPv4 in IPv6":                                {"[::ffff:192.0.2.7]:443", nil, "192.0.2.7"},
		"IPv6 behind a proxy, with brackets and port": {"[fd00::1]:443", []string{"[2001:db8::9]:5"}, "2001:db8::/64"},
		"a pipe": {"pipe", []string{"192.0.2.7"}, "pipe"},
	} {
		if got := serve.ClientAddress(tt.peer, tt.forwarded, proxies); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// A server that has as much to do as it can turns the rest away, at once, and says when to come again; health stays up.
func TestOverloadSheds(t *testing.T) {
	t.Parallel()
	begun, finish := make(chan struct{}), make(chan struct{})
	r := start(t, func(c *serve.Config) { c.Verifier, c.Limits = identities{}, serve.Limits{InFlight: 2} },
		dice{roll: func(context.Context, *dicev1.RollRequest) (*dicev1.RollResponse, error) {
			begun <- struct{}{}
			<-finish
			return &dicev1.RollResponse{}, nil
		}})
	var wg sync.WaitGroup
	let := func(token string) {
		t.Helper()
		wg.Go(func() {
			if _, f := rollOn(as(t, token), r); f != nil {
				t.Errorf("%s: %v", token, f)
			}
		})
		await.Value(t, begun, "the call")
	}
	let("user:ada")
	let("user:bram")
	_, f := rollOn(as(t, "user:cleo"), r)
	if f == nil || f.Kind != fault.ResourceExhausted || f.Reason != serve.Overloaded || f.RetryAfter != time.Second {
		t.Errorf("the third: %v", f)
	}
	// What services ask for was let in elsewhere already; but for them there is an end, too.
	let("service:travel")
	let("service:travel")
	if _, f := rollOn(as(t, "service:travel"), r); f == nil || f.Reason != serve.Overloaded {
		t.Errorf("the third of services: %v", f)
	}
	eventually(t, "health is up", func() bool {
		res, err := healthv1.NewHealthClient(r.conn).Check(t.Context(), &healthv1.HealthCheckRequest{})
		if err != nil {
			t.Fatalf("health: %v", err)
		}
		return res.GetStatus() == healthv1.HealthCheckResponse_SERVING
	})
	close(finish)
	wg.Wait()
	go func() { <-begun }()
	if _, f := rollOn(as(t, "user:cleo"), r); f != nil {
		t.Errorf("when there is room again: %v", f)
	}
}

// A thousand streams that say nothing, all of one principal, take nobody's turn.
func TestIdleStreamsStarveNobody(t *testing.T) {
	t.Parallel()
	const idle = 1000
	ended := make(chan struct{}, idle+10)
	watch := func(_ *partyv1.WatchCampaignRequest, s grpc.ServerStreamingServer[partyv1.WatchCampaignResponse]) error {
		defer func() { ended <- struct{}{} }()
		if err := s.Send(&partyv1.WatchCampaignResponse{}); err != nil {
			return err
		}
		<-s.Context().Done()
		return s.Context().Err()
	}
	r := startWith(t, func(c *serve.Config) {
		c.Verifier, c.Limits = identities{}, serve.Limits{Streams: idle, InFlight: 4}
	}, func(s *serve.Server) {
		partyv1.RegisterCampaignServiceServer(s, campaigns{watch: watch})
		dicev1.RegisterDiceServiceServer(s, rolls())
	})
	open := func(ctx context.Context) error {
		s, err := partyv1.NewCampaignServiceClient(r.conn).WatchCampaign(ctx, &partyv1.WatchCampaignRequest{Name: "campaigns/c"})
		if err == nil {
			_, err = s.Recv()
		}
		return err
	}
	ctx, leave := context.WithCancel(as(t, "user:mallory"))
	for range idle {
		if err := open(ctx); err != nil {
			t.Fatal(err)
		}
	}
	// All on the one connection, with everybody else's calls.
	if err := open(ctx); fault.ReasonOf(fault.FromStatus(err)) != serve.TooManyStreams {
		t.Errorf("one more: %v", err)
	}
	if err := open(as(t, "user:ada")); err != nil {
		t.Errorf("somebody else's stream: %v", err)
	}
	for range 100 {
		if _, f := rollOn(as(t, "user:ada"), r); f != nil {
			t.Fatalf("somebody else's call: %v", f)
		}
	}
	leave()
	for range idle {
		await.Value(t, ended, "the call")
	}
	for deadline := time.Now().Add(await.Limit); ; { // the last of them may just be leaving
		err := open(as(t, "user:mallory"))
		if err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("after all have left: %v", err)
		}
	}
}

// Streams for which no token is needed are counted by address.
func TestStreamsWithoutATokenAreLimited(t *testing.T) {
	t.Parallel()
	r := start(t, func(c *serve.Config) { c.Limits = serve.Limits{Streams: 3} }, rolls())
	open := func() error {
		s, err := healthv1.NewHealthClient(r.conn).Watch(t.Context(), &healthv1.HealthCheckRequest{})
		if err == nil {
			_, err = s.Recv()
		}
		return err
	}
	for range 3 {
		if err := open(); err != nil {
			t.Fatal(err)
		}
	}
	if err := open(); fault.ReasonOf(fault.FromStatus(err)) != serve.TooManyStreams {
		t.Errorf("the fourth: %v", err)
	}
	if _, err := healthv1.NewHealthClient(r.conn).Check(t.Context(), &healthv1.HealthCheckRequest{}); err != nil {
		t.Errorf("a check: %v", err)
	}
}

// Of the calls that one connection may have under way one more waits its turn, as every client of gRPC does that is told their
// number; one that does not heed it is refused that stream alone.
func TestCallsOfOneConnectionAreBounded(t *testing.T) {
	t.Parallel()
	begun, finish := make(chan struct{}), make(chan struct{})
	r := start(t, func(c *serve.Config) { c.ConnectionCalls = 2 }, dice{roll: func(context.Context, *dicev1.RollRequest) (*dicev1.RollResponse, error) {
		begun <- struct{}{}
		<-finish
		return &dicev1.RollResponse{}, nil
	}})
	var wg sync.WaitGroup
	call := func() {
		wg.Go(func() {
			if _, f := rollOn(authorized(t.Context()), r); f != nil {
				t.Error(f)
			}
		})
	}
	call()
	call()
	await.Value(t, begun, "the call")
	await.Value(t, begun, "the call")
	short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, f := rollOn(authorized(short), r); f == nil || f.Kind != fault.DeadlineExceeded {
		t.Errorf("a third that cannot wait: %v", f)
	}
	call()
	close(finish)
	await.Value(t, begun, "the call")
	wg.Wait()

	conn := speaks(t, r.addr)
	var asked bytes.Buffer
	asked.WriteString(preface)
	writeFrame(&asked, frameSettings, 0, 0, nil)
	for stream := uint32(1); stream <= 5; stream += 2 {
		writeFrame(&asked, frameHeaders, endHeaders, stream, callHeaders())
	}
	if _, err := conn.Write(asked.Bytes()); err != nil {
		t.Fatal(err)
	}
	for in := bufio.NewReader(conn); ; {
		kind, _, stream, body := readFrame(t, in)
		if kind == frameReset {
			if code := binary.BigEndian.Uint32(body); stream != 5 || code != refusedStream {
				t.Errorf("stream %d is refused with %d", stream, code)
			}
			break
		}
	}
}

// Half a request holds nothing for ever: gRPC reads it before anybody is asked for a token.
func TestHalfARequestHasItsTime(t *testing.T) {
	t.Parallel()
	r := start(t, func(c *serve.Config) { c.Deadline = 50 * time.Millisecond }, rolls())
	conn := speaks(t, r.addr)
	var asked bytes.Buffer
	asked.WriteString(preface)
	writeFrame(&asked, frameSettings, 0, 0, nil)
	writeFrame(&asked, frameHeaders, endHeaders, 1, callHeaders())
	writeFrame(&asked, frameData, 0, 1, append([]byte{0, 0, 0, 0, 100}, "half of it"...)) // of 100 bytes
	if _, err := conn.Write(asked.Bytes()); err != nil {
		t.Fatal(err)
	}
	for in := bufio.NewReader(conn); ; {
		kind, flags, stream, _ := readFrame(t, in)
		if stream == 1 && (kind == frameReset || kind == frameHeaders && flags&endStream != 0) {
			break
		}
	}
	eventually(t, "somebody else is served", func() bool { // who has no more time than that either
		_, f := rollOn(authorized(t.Context()), r)
		if f != nil && f.Kind != fault.DeadlineExceeded {
			t.Fatalf("somebody else: %v", f)
		}
		return f == nil
	})
}

// A caller who sets no deadline is told that the server's has passed.
func TestACallWithoutADeadlineGetsOne(t *testing.T) {
	t.Parallel()
	r := start(t, func(c *serve.Config) { c.Deadline = 20 * time.Millisecond }, dice{roll: func(ctx context.Context, _ *dicev1.RollRequest) (*dicev1.RollResponse, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}})
	if _, f := rollOn(authorized(context.WithoutCancel(t.Context())), r); f == nil || f.Kind != fault.DeadlineExceeded || f.Message != "the deadline has passed" {
		t.Errorf("told %v", f)
	}
}

// speaks opens a connection for a client that does as the test likes.
func speaks(t *testing.T, addr string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", addr) //nolint:noctx // a test server
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(await.Limit)); err != nil {
		t.Fatal(err)
	}
	return conn
}

// callHeaders are those of a roll, each a literal without a place in the table.
func callHeaders() (headers []byte) {
	for _, h := range [][2]string{{":method", "POST"}, {":scheme", "http"}, {":path", dicev1.DiceService_Roll_FullMethodName}, {":authority", "x"}, {"content-type", "application/grpc"}, {"te", "trailers"}} {
		headers = append(headers, 0)
		for _, text := range h {
			headers = append(append(headers, byte(len(text))), text...)
		}
	}
	return headers
}

func readFrame(t *testing.T, in io.Reader) (kind, flags byte, stream uint32, body []byte) {
	t.Helper()
	var head [9]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		t.Fatalf("the answer did not come: %v", err)
	}
	body = make([]byte, int(head[0])<<16|int(head[1])<<8|int(head[2]))
	if _, err := io.ReadFull(in, body); err != nil {
		t.Fatal(err)
	}
	return head[3], head[4], binary.BigEndian.Uint32(head[5:]), body
}

// An answer may be larger than what gRPC takes by itself.
func TestGreatAnswersArrive(t *testing.T) {
	t.Parallel()
	r := start(t, nil, dice{roll: func(context.Context, *dicev1.RollRequest) (*dicev1.RollResponse, error) {
		return &dicev1.RollResponse{Roll: &dicev1.Roll{Purpose: strings.Repeat("x", 6<<20)}}, nil
	}})
	conn, err := serve.DialEdge(r.addr, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if got, f := rollOn(authorized(t.Context()), running{conn: conn}); f != nil || len(got) != 6<<20 {
		t.Errorf("%d bytes, %v", len(got), f)
	}
}

func TestWhoMayCallIsAskedBeforeTheRequestIsRead(t *testing.T) {
	t.Parallel()
	r := start(t, func(c *serve.Config) {
		c.Verifier = identities{}
		c.Allow = func(ctx context.Context, method string) error {
			if p, _ := auth.FromContext(ctx); p.Service && method == dicev1.DiceService_Roll_FullMethodName {
				return nil
			}
			return fault.New(fault.PermissionDenied, "NOT_A_SERVICE", "only services may do this")
		}
	}, rolls())
	bad := &dicev1.RollRequest{} // would be INVALID_ARGUMENT
	for token, want := range map[string]codes.Code{"user:ada": codes.PermissionDenied, "service:travel": codes.InvalidArgument, "nonsense": codes.Unauthenticated} {
		if _, err := dicev1.NewDiceServiceClient(r.conn).Roll(as(t, token), bad); status.Code(err) != want {
			t.Errorf("%s: %v, want %s", token, err, want)
		}
	}
}

// What HTTP/2 says on the wire, for clients that do not heed what they are told.
const (
	preface           = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
	frameData         = 0
	frameHeaders      = 1
	frameReset        = 3
	frameSettings     = 4
	frameContinuation = 9
	endStream         = 1
	endHeaders        = 4
	refusedStream     = 7
)

func writeFrame(to *bytes.Buffer, kind, flags byte, stream uint32, body []byte) {
	n := len(body)
	to.Write([]byte{byte(n >> 16), byte(n >> 8), byte(n), kind, flags})
	_ = binary.Write(to, binary.BigEndian, stream)
	to.Write(body)
}

func TestMessagesAndMetadataThatAreTooLarge(t *testing.T) {
	t.Parallel()
	r := startWith(t, func(c *serve.Config) { c.MaxRecv = 1 << 12 }, func(s *serve.Server) {
		dicev1.RegisterDiceServiceServer(s, rolls())
		partyv1.RegisterCampaignServiceServer(s, campaigns{watch: func(*partyv1.WatchCampaignRequest, grpc.ServerStreamingServer[partyv1.WatchCampaignResponse]) error {
			return nil
		}})
	})
	sized := func(size int) *dicev1.RollRequest {
		req := &dicev1.RollRequest{Parent: "campaigns/c", RequestId: "r", Notation: strings.Repeat("x", size)}
		req.Notation = req.GetNotation()[:2*size-proto.Size(req)]
		return req
	}
	for name, tt := range map[string]struct {
		ctx    context.Context //nolint:containedctx // of one call
		size   int
		kind   fault.Kind
		reason string
	}{
		"one of a byte more":  {authorized(t.Context()), 1<<12 + 1, fault.ResourceExhausted, serve.MessageTooLarge},
		"one of four times":   {authorized(t.Context()), 1 << 14, fault.ResourceExhausted, serve.MessageTooLarge},
		"one without a token": {t.Context(), 1 << 13, fault.Unauthenticated, auth.TokenMissing},
		// gRPC answers that by itself, so there is no reason.
		"one of more than that": {authorized(t.Context()), 1<<14 + 100, fault.ResourceExhausted, "UNSPECIFIED"},
	} {
		_, err := dicev1.NewDiceServiceClient(r.conn).Roll(tt.ctx, sized(tt.size))
		var f *fault.Error
		if !errors.As(fault.FromStatus(err), &f) || f.Kind != tt.kind || f.Reason != tt.reason || f.RetryAfter != 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := dicev1.NewDiceServiceClient(r.conn).Roll(authorized(t.Context()), sized(1<<12)); err != nil {
		t.Errorf("one of the greatest size: %v", err)
	}
	for size, reason := range map[int]string{1 << 13: serve.MessageTooLarge, 1 << 15: "UNSPECIFIED"} {
		if f := firstError(t, authorized(t.Context()), r, strings.Repeat("x", size)); f == nil || f.Kind != fault.ResourceExhausted || f.Reason != reason {
			t.Errorf("a stream that begins with %d bytes: %v", size, f)
		}
	}
	// The client heeds what the server says of itself, and does not send it.
	if _, f := rollOn(authorized(metadata.AppendToOutgoingContext(t.Context(), "x-bomb", strings.Repeat("b", 65<<10))), r); f == nil || f.Kind != fault.Internal || f.Reason != "UNSPECIFIED" {
		t.Errorf("metadata of 65 KiB: %v", f)
	}
	// A client that does not heed what the server says of itself is cut off in the midst of its headers.
	conn, err := net.Dial("tcp", r.addr) //nolint:noctx // a test server
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	var bomb bytes.Buffer
	bomb.WriteString(preface)
	writeFrame(&bomb, frameSettings, 0, 0, nil)
	// HEADERS without an end: a literal of 4,000 bytes, which the table of the connection keeps; then a byte for each time it
	// is to come again, 64 MiB in a frame.
	const size = 4000
	writeFrame(&bomb, frameHeaders, 0, 1, append([]byte{0x40, 1, 'x', 0x7f, 0x80 | (size-127)&0x7f, (size - 127) >> 7}, bytes.Repeat([]byte("b"), size)...))
	for range 100 {
		writeFrame(&bomb, frameContinuation, 0, 1, bytes.Repeat([]byte{0xbe}, 16000))
	}
	if err := conn.SetDeadline(time.Now().Add(await.Limit)); err != nil {
		t.Fatal(err)
	}
	_, _ = conn.Write(bomb.Bytes()) // it may be cut off before
	if _, err := io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("100 frames of headers are read to the end")
	}
	if _, f := rollOn(authorized(t.Context()), r); f != nil {
		t.Errorf("others meanwhile: %v", f)
	}
}

// Half a header on each of many connections: others are served, and the slow ones are gone before long.
func TestSlowHeadersStarveNobody(t *testing.T) {
	t.Parallel()
	const slow = 500
	lis := listen(t)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- serve.HTTP(ctx, lis, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }), time.Second)
	}()
	conns := make([]net.Conn, slow)
	for i := range conns {
		var err error
		if conns[i], err = net.Dial("tcp", lis.Addr().String()); err != nil { //nolint:noctx // a test server
			t.Fatal(err)
		}
		defer func() { _ = conns[i].Close() }()
		if _, err := io.WriteString(conns[i], "GET / HTTP/1.1\r\nHost: x\r\nX-Slow: "); err != nil {
			t.Fatal(err)
		}
	}
	fresh := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: await.Limit}
	for range 50 {
		res, err := fresh.Get("http://" + lis.Addr().String()) //nolint:noctx // it has a timeout
		if err != nil {
			t.Fatalf("somebody else: %v", err)
		}
		_ = res.Body.Close()
	}
	// One that goes on sending now and then is held to the same time.
	drip := time.NewTicker(200 * time.Millisecond)
	defer drip.Stop()
	gone, begun := make(chan struct{}), time.Now()
	go func() {
		_, _ = io.Copy(io.Discard, bufio.NewReader(conns[0]))
		close(gone)
	}()
	for dripping := true; dripping; {
		select {
		case <-drip.C:
			_, _ = io.WriteString(conns[0], "z")
		case <-gone:
			dripping = false
		}
	}
	if took := time.Since(begun); took > await.Limit { // by its drops it could stay for ever
		t.Errorf("it was held for %s", took)
	}
	for i := range conns {
		if err := conns[i].SetReadDeadline(time.Now().Add(await.Limit)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, conns[i]); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("connection %d is still there", i)
		}
	}
	stop()
	if err := await.Value(t, done, "the end"); err != nil {
		t.Error(err)
	}
}

func TestHTTPHeadersThatAreTooLarge(t *testing.T) {
	t.Parallel()
	lis := listen(t)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- serve.HTTP(ctx, lis, http.NotFoundHandler(), time.Second) }()
	for name, tt := range map[string]struct {
		header string
		code   int
	}{"a header of 1 KiB": {strings.Repeat("x", 1<<10), 404}, "one of 80 KiB": {strings.Repeat("x", 80<<10), 431}} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+lis.Addr().String(), nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Bomb", tt.header)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != tt.code {
			t.Errorf("%s: %s", name, res.Status)
		}
	}
	stop()
	if err := await.Value(t, done, "the end"); err != nil {
		t.Error(err)
	}
}

func TestHTTPSFollowsItsFiles(t *testing.T) {
	t.Parallel()
	authority, dir := certtest.New(t), t.TempDir()
	files := written(authority, dir)
	own, err := serve.NewTLS(serve.TLSConfig{Cert: files.Cert, Key: files.Key, CA: files.CA, Every: time.Nanosecond})
	if err != nil {
		t.Fatal(err)
	}
	lis := listen(t)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- serve.HTTPS(ctx, lis, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Proto) }), time.Second, own)
	}()
	pem, err := os.ReadFile(files.CA)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem)
	get := func(least uint16) (serial, body, strict string, err error) {
		client := &http.Client{Transport: &http.Transport{
			TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS10, MaxVersion: least}, ForceAttemptHTTP2: true, DisableKeepAlives: true, //nolint:gosec // that it is refused is the test
		}}
		res, err := client.Get("https://" + lis.Addr().String()) //nolint:noctx // a test server
		if err != nil {
			return "", "", "", err
		}
		raw, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		return res.TLS.PeerCertificates[0].SerialNumber.String(), string(raw), res.Header.Get("Strict-Transport-Security"), err
	}
	first, body, strict, err := get(tls.VersionTLS13)
	if err != nil || body != "HTTP/2.0" || !strings.HasPrefix(strict, "max-age=") {
		t.Fatalf("%q, %q, %v", body, strict, err)
	}
	if _, _, _, err := get(tls.VersionTLS11); err == nil {
		t.Error("TLS 1.1 is spoken")
	}
	authority.Write(dir)
	if second, _, _, err := get(tls.VersionTLS12); err != nil || second == first {
		t.Errorf("after the renewal: %v, the same certificate: %t", err, second == first)
	}
	res, err := http.Get("http://" + lis.Addr().String()) //nolint:noctx // a test server
	if err == nil {
		_ = res.Body.Close()
		if res.StatusCode != http.StatusBadRequest {
			t.Errorf("without TLS it answers %s", res.Status)
		}
	}
	stop()
	if err := await.Value(t, done, "the end"); err != nil {
		t.Error(err)
	}
}
