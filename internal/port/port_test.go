package port_test

import (
	"errors"
	"net"
	"runtime"
	"slices"
	"syscall"
	"testing"

	"github.com/wayfarer-rpg/wayfarer/internal/port"
)

func hold(t *testing.T, n int) []string {
	t.Helper()
	addrs, release, err := port.Hold(n)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	return addrs
}

// A server takes a held address, meets its callers there, and takes it again after its end, whatever is left of its connections.
func TestAServerTakesAHeldAddressAgainAndAgain(t *testing.T) {
	t.Parallel()
	for _, addr := range hold(t, 3) {
		for range 3 {
			if conn, err := net.Dial("tcp", addr); !errors.Is(err, syscall.ECONNREFUSED) { //nolint:noctx // over at once
				t.Fatalf("somebody answers at %s: %v, %v", addr, conn, err)
			}
			lis, err := net.Listen("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			conn, err := net.Dial("tcp", addr) //nolint:noctx // over at once
			if err != nil {
				t.Fatal(err)
			}
			met, err := lis.Accept()
			if err != nil {
				t.Fatal(err)
			}
			// The server's side ends first, and stays in the kernel for a minute.
			if err := errors.Join(met.Close(), conn.Close(), lis.Close()); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// Nobody who asks for any port is given one that is held, neither to listen nor to connect from.
func TestAHeldPortIsGivenToNobody(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("elsewhere ports are not held")
	}
	// As many as make it likely that one of those given is among them, if they are not kept.
	held := hold(t, 300)
	if got := len(slices.Compact(slices.Sorted(slices.Values(held)))); got != len(held) {
		t.Errorf("of %d addresses %d are different", len(held), got)
	}
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = server.Close() }()
	for range 1000 {
		lis, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		conn, err := net.Dial("tcp", server.Addr().String()) //nolint:noctx // over at once
		if err != nil {
			t.Fatal(err)
		}
		met, err := server.Accept()
		if err != nil {
			t.Fatal(err)
		}
		for what, at := range map[string]net.Addr{"a listener": lis.Addr(), "a connection": conn.LocalAddr()} {
			if slices.Contains(held, at.String()) {
				t.Errorf("%s is given %s, which is held", what, at)
			}
		}
		if err := errors.Join(lis.Close(), conn.Close(), met.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAReleasedPortIsFree(t *testing.T) {
	t.Parallel()
	addrs, release, err := port.Hold(1)
	if err != nil {
		t.Fatal(err)
	}
	release()
	release() // once is enough
	lis, err := net.Listen("tcp", addrs[0])
	if err != nil {
		t.Skipf("somebody else was faster: %v", err)
	}
	if err := lis.Close(); err != nil {
		t.Error(err)
	}
}
