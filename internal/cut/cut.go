// Package cut gives tests a wire to cut: a TCP proxy that passes connections on to a server until it is told to refuse
// them, or to swallow what is said, and until it is told to go on.
package cut

import (
	"net"
	"sync"
	"testing"

	"github.com/wayfarer-rpg/wayfarer/internal/await"
	"github.com/wayfarer-rpg/wayfarer/internal/port"
)

// Wire is a proxy in front of a server. Its address stays the same whatever happens to it.
type Wire struct {
	addr, target string

	mu    sync.Mutex
	lis   net.Listener
	conns map[net.Conn]struct{}
	// mute is closed to let a muted wire end; nil while the wire speaks.
	mute chan struct{}
	wg   sync.WaitGroup
}

// New returns a wire to the server at target, host:port, on a free port. It ends with the test.
func New(t testing.TB, target string) *Wire {
	t.Helper()
	held, release, err := port.Hold(1) // nobody else has it while the wire is cut
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	w := &Wire{addr: held[0], target: target, conns: map[net.Conn]struct{}{}}
	if err := w.listen(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Cut(); w.wg.Wait() })
	return w
}

// Addr is the address of the wire, host:port.
func (w *Wire) Addr() string { return w.addr }

func (w *Wire) listen() error {
	lis, err := net.Listen("tcp", w.addr)
	if err != nil {
		return err
	}
	w.lis = lis
	w.wg.Go(func() {
		for {
			conn, err := lis.Accept()
			if err != nil {
				return
			}
			w.wg.Go(func() { w.pass(conn) })
		}
	})
	return nil
}

// Cut ends all connections, and refuses new ones.
func (w *Wire) Cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lis != nil {
		_ = w.lis.Close()
		w.lis = nil
	}
	w.end()
}

// Mute keeps connections open, and takes new ones, but passes nothing on.
func (w *Wire) Mute() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.mute == nil {
		w.mute = make(chan struct{})
	}
}

// Mend lets the wire pass again. Connections that were muted end, since what was said on them is lost.
func (w *Wire) Mend(t testing.TB) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.end()
	if w.lis != nil {
		return
	}
	// Where a port cannot be held, a connection of somebody else's may have got it meanwhile, for as long as it lasts.
	await.Until(t, "the wire's address is free again", func() (bool, any) {
		err := w.listen()
		return err == nil, err
	})
}

// end closes every connection. The caller holds the lock.
func (w *Wire) end() {
	if w.mute != nil {
		close(w.mute)
		w.mute = nil
	}
	for c := range w.conns {
		_ = c.Close()
	}
	clear(w.conns)
}

// hold keeps a connection until the wire is cut; it closes it at once when the wire is cut already.
func (w *Wire) hold(c net.Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lis == nil {
		_ = c.Close()
		return
	}
	w.conns[c] = struct{}{}
}

func (w *Wire) pass(conn net.Conn) {
	w.hold(conn)
	defer func() { _ = conn.Close() }()
	server, err := net.Dial("tcp", w.target)
	if err != nil {
		return
	}
	w.hold(server)
	defer func() { _ = server.Close() }()
	w.wg.Go(func() { w.copy(server, conn) })
	w.copy(conn, server)
}

// copy passes on what one side says, until either side ends. It waits while the wire is mute, and passes nothing on then.
func (w *Wire) copy(to, from net.Conn) {
	defer func() { _, _ = to.Close(), from.Close() }()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		w.mu.Lock()
		mute := w.mute
		w.mu.Unlock()
		if mute != nil {
			<-mute
			return
		}
		if _, werr := to.Write(buf[:n]); err != nil || werr != nil {
			return
		}
	}
}
