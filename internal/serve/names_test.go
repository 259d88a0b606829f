package serve

import (
	"context"
	"errors"
	"net"
	"net/url"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/status"

	"github.com/wayfarer-rpg/wayfarer/internal/await"
)

// zone answers for a name as a test decides.
type zone struct {
	mu    sync.Mutex
	ips   []string
	err   error
	looks int
}

func (z *zone) is(err error, ips ...string) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.ips, z.err = ips, err
}

func (z *zone) LookupHost(_ context.Context, host string) ([]string, error) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.looks++
	if host != "dice.games" {
		return nil, errors.New("who is " + host)
	}
	return slices.Clone(z.ips), z.err
}

func (z *zone) asked() int {
	z.mu.Lock()
	defer z.mu.Unlock()
	return z.looks
}

// heard is what gRPC is told.
type heard struct {
	resolver.ClientConn
	mu    sync.Mutex
	addrs []string
	errs  int
}

func (h *heard) UpdateState(s resolver.State) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.addrs = nil
	for _, e := range s.Endpoints {
		h.addrs = append(h.addrs, e.Addresses[0].Addr)
	}
	if len(h.addrs) == 0 { // as a balancer has it
		return errors.New("no addresses")
	}
	return nil
}

func (h *heard) ReportError(error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.errs++
}

func (h *heard) now() ([]string, int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.addrs), h.errs
}

var unknown = &net.DNSError{Err: "no such host", Name: "dice.games", IsNotFound: true}

func TestANameIsLookedUpWhenItMatters(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		z, h := &zone{}, &heard{}
		z.is(unknown)
		r, err := names{nil, z.LookupHost}.Build(resolver.Target{URL: url.URL{Scheme: "dns", Path: "/dice.games:9090"}}, h, resolver.BuildOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		want := func(when string, looks, errs int, addrs ...string) {
			t.Helper()
			synctest.Wait()
			got, failed := h.now()
			if n := z.asked(); !slices.Equal(got, addrs) || failed != errs || n != looks {
				t.Errorf("%s: %v after %d looks, %d failed; want %v after %d, %d", when, got, n, failed, addrs, looks, errs)
			}
		}
		want("nobody is ready", 1, 0)
		time.Sleep(10*time.Minute - time.Second)
		z.is(nil, "10.0.0.1", "fd00::1")
		time.Sleep(2 * time.Second)
		want("after ten minutes without a pod", 301, 0, "10.0.0.1:9090", "[fd00::1]:9090")
		time.Sleep(time.Hour)
		want("while connections hold", 301, 0, "10.0.0.1:9090", "[fd00::1]:9090")

		z.is(nil, "10.0.0.2")
		r.ResolveNow(resolver.ResolveNowOptions{})
		want("a connection was lost", 302, 0, "10.0.0.2:9090")
		z.is(nil, "10.0.0.3")
		for range 1000 {
			r.ResolveNow(resolver.ResolveNowOptions{})
		}
		time.Sleep(2 * time.Second)
		want("and the next one at once", 303, 0, "10.0.0.3:9090")
		time.Sleep(2 * time.Second)
		want("asked for a thousand times", 304, 0, "10.0.0.3:9090")

		z.is(&net.DNSError{Err: "server misbehaving", IsTemporary: true})
		r.ResolveNow(resolver.ResolveNowOptions{})
		time.Sleep(10*time.Minute - time.Second)
		want("nobody can be asked", 304+299, 299, "10.0.0.3:9090")
		z.is(nil, "10.0.0.4")
		time.Sleep(2 * time.Second)
		want("and can be again", 304+300, 299, "10.0.0.4:9090")
	})
}

// TestAServiceIsFoundOnceItsNameHasAddresses dials as programs do.
func TestAServiceIsFoundOnceItsNameHasAddresses(t *testing.T) {
	t.Parallel()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := grpc.NewServer()
	healthv1.RegisterHealthServer(srv, health.NewServer())
	done := make(chan error, 1)
	go func() { done <- srv.Serve(lis) }()
	defer func() { srv.Stop(); _ = await.Value(t, done, "the end") }()
	_, port, err := net.SplitHostPort(lis.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	z := &zone{}
	z.is(unknown)
	conn, err := dial("dns:///dice.games:"+port, nil, []grpc.DialOption{grpc.WithResolvers(names{resolver.Get("dns"), z.LookupHost})})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	check := func() error {
		_, err := healthv1.NewHealthClient(conn).Check(t.Context(), &healthv1.HealthCheckRequest{})
		return err
	}
	if err := check(); status.Code(err) != codes.Unavailable {
		t.Errorf("without an address: %v", err)
	}
	z.is(nil, "127.0.0.1")
	await.Until(t, "it is found", func() (bool, any) { err := check(); return err == nil, err })
	if _, ours := resolver.Get("dns").(names); !ours {
		t.Error("others of the process look names up in another way")
	}
}
