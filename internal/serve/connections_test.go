package serve_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/peer"

	dicev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dice/v1"
	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"
	typev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/type/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/await"
	"github.com/wayfarer-rpg/wayfarer/internal/fault"
	"github.com/wayfarer-rpg/wayfarer/internal/serve"
)

// visitor connects from one of the loopback's addresses.
func visitor(t *testing.T, from string, lis net.Listener) net.Conn {
	t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	conn, err := dialer.DialContext(t.Context(), "tcp", lis.Addr().String())
	if err != nil {
		t.Skipf("this machine has no address %s: %v", from, err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// served asks by a connection, which stays open, and tells whether it is answered.
func served(t *testing.T, conn net.Conn) bool {
	t.Helper()
	if err := conn.SetDeadline(time.Now().Add(await.Limit)); err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n") // it may be closed already
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal("the connection is neither served nor closed")
	}
	if err != nil {
		return false
	}
	_, err = io.Copy(io.Discard, res.Body)
	_ = res.Body.Close()
	return err == nil && res.StatusCode == http.StatusOK
}

// What an address has open beyond its share is closed at once; others, and those whom a proxy brings, are served.
func TestConnectionsOfOneAddressAreBounded(t *testing.T) {
	t.Parallel()
	lis := listen(t)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- serve.HTTP(ctx, serve.Bounded(lis, serve.Limits{
			AddressConnections: 3, Connections: 9, Proxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.9/32")},
		}), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }), time.Second)
	}()
	var own []net.Conn
	for range 3 {
		own = append(own, visitor(t, "127.0.0.1", lis))
		if !served(t, own[len(own)-1]) {
			t.Fatal("one of three is closed")
		}
	}
	if served(t, visitor(t, "127.0.0.1", lis)) {
		t.Error("the fourth is served")
	}
	for i := range 4 {
		if !served(t, visitor(t, "127.0.0.9", lis)) {
			t.Errorf("connection %d of the proxy is closed", i)
		}
	}
	for i := range 2 {
		if !served(t, visitor(t, "127.0.0.2", lis)) {
			t.Errorf("connection %d of somebody else is closed", i)
		}
	}
	for _, from := range []string{"127.0.0.3", "127.0.0.9"} {
		if served(t, visitor(t, from, lis)) {
			t.Errorf("the tenth of all, of %s, is served", from)
		}
	}
	if !served(t, own[0]) {
		t.Error("one that was there before is closed")
	}
	if err := own[1].Close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "room again where one has left", func() bool { return served(t, visitor(t, "127.0.0.1", lis)) })
	stop()
	if err := await.Value(t, done, "the end"); err != nil {
		t.Error(err)
	}
}

// Whoever still sends what is refused reads the answer: the server closes its half of the connection first, if it can.
func TestABoundedConnectionStaysOneByTCP(t *testing.T) {
	t.Parallel()
	lis := listen(t)
	bounded := serve.Bounded(lis, serve.Limits{Connections: 1})
	t.Cleanup(func() { _ = bounded.Close() })
	visitor(t, "127.0.0.1", lis)
	conn, err := bounded.Accept()
	if err != nil {
		t.Fatal(err)
	}
	if half, ok := conn.(interface{ CloseWrite() error }); !ok || half.CloseWrite() != nil {
		t.Error("it cannot be closed by half")
	}
	_ = conn.Close()
	_ = conn.Close() // counts once
	for range 2 {
		visitor(t, "127.0.0.1", lis)
	}
	if conn, err = bounded.Accept(); err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
	if serve.Bounded(lis, serve.Limits{}) != lis {
		t.Error("without a limit it is another listener")
	}
}

// A connection that is old takes no new calls, for which clients connect anew; no call fails of it and no stream ends.
func TestOldConnectionsAreReplaced(t *testing.T) {
	t.Parallel()
	peers := make(chan string, 1)
	r := startWith(t, func(c *serve.Config) { c.ConnectionAge = 20 * time.Millisecond }, func(s *serve.Server) {
		dicev1.RegisterDiceServiceServer(s, dice{roll: func(ctx context.Context, _ *dicev1.RollRequest) (*dicev1.RollResponse, error) {
			p, _ := peer.FromContext(ctx)
			return &dicev1.RollResponse{Roll: &dicev1.Roll{Purpose: p.Addr.String()}}, nil
		}})
		partyv1.RegisterCampaignServiceServer(s, campaigns{watch: func(_ *partyv1.WatchCampaignRequest, s grpc.ServerStreamingServer[partyv1.WatchCampaignResponse]) error {
			for at := range peers {
				if err := s.Send(&partyv1.WatchCampaignResponse{Record: &typev1.Record{RequestId: at}}); err != nil {
					return err
				}
			}
			return nil
		}})
	})
	stream, err := partyv1.NewCampaignServiceClient(r.conn).WatchCampaign(authorized(t.Context()), &partyv1.WatchCampaignRequest{Name: "campaigns/c"})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	eventually(t, "calls by three connections", func() bool {
		at, f := rollOn(authorized(t.Context()), r)
		if f != nil {
			t.Fatalf("a call: %v", f)
		}
		seen[at] = true
		return len(seen) >= 3
	})
	peers <- "news"
	if res, err := stream.Recv(); err != nil || res.GetRecord().GetRequestId() != "news" {
		t.Errorf("a stream on the first: %v, %v", res, err)
	}
	close(peers)
	if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("its end: %v", err)
	}
}

func TestConnectionsToAServerAreBounded(t *testing.T) {
	t.Parallel()
	r := start(t, func(c *serve.Config) { c.Limits = serve.Limits{AddressConnections: 1} }, rolls())
	if _, f := rollOn(authorized(t.Context()), r); f != nil {
		t.Fatal(f)
	}
	second, err := grpc.NewClient(r.addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = second.Close() })
	_, f := rollOn(authorized(t.Context()), running{conn: second})
	if f == nil || f.Kind != fault.Unavailable || f.Reason != fault.Unreachable {
		t.Errorf("by a second connection: %v", f)
	}
	if _, f := rollOn(authorized(t.Context()), r); f != nil {
		t.Errorf("by the first meanwhile: %v", f)
	}
	_ = r.conn.Close()
	eventually(t, "room for the second", func() bool {
		_, f := rollOn(authorized(t.Context()), running{conn: second})
		return f == nil
	})
}
