package serve

import (
	"context"
	"net"
	"sync"

	"github.com/wayfarer-rpg/wayfarer/internal/limit"
)

// Bounded returns a listener that closes connections at once which are too many: of their address, unless that is a trusted
// proxy's, which brings everybody's, or of all together. It does not let them wait, since who waits stands in the way of
// others. Without a limit it is the listener itself.
func Bounded(lis net.Listener, l Limits) net.Listener {
	if l.AddressConnections <= 0 && l.Connections <= 0 {
		return lis
	}
	return &bounded{Listener: lis, limits: l, each: limit.NewCounts(l.AddressConnections, 0), all: limit.NewCounts(0, l.Connections)}
}

type bounded struct {
	net.Listener
	limits    Limits
	each, all *limit.Counts
}

// Accept implements net.Listener.
func (b *bounded) Accept() (net.Conn, error) {
	for {
		conn, err := b.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if leave := b.enter(conn.RemoteAddr().String()); leave != nil {
			return counted(conn, leave), nil
		}
		limit.Refused(context.Background(), "connections")
		_ = conn.Close() // it was never used
	}
}

// enter returns what ends the connection's share, nil when there is none for it.
func (b *bounded) enter(peer string) (leave func()) {
	leaveAll := b.all.Enter("")
	if leaveAll == nil || trusted(parseAddress(peer), b.limits.Proxies) {
		return leaveAll
	}
	leaveEach := b.each.Enter(ClientAddress(peer, nil, nil))
	if leaveEach == nil {
		leaveAll()
		return nil
	}
	return func() { leaveEach(); leaveAll() }
}

// counted returns the connection with something to be called, once, when it is closed. One by TCP stays one with all that it
// can: an HTTP server closes its half of it, so that who still sends reads why that is refused.
func counted(conn net.Conn, leave func()) net.Conn {
	leave = sync.OnceFunc(leave)
	if tcp, ok := conn.(*net.TCPConn); ok {
		return countedTCP{tcp, leave}
	}
	return countedConn{conn, leave}
}

type countedTCP struct {
	*net.TCPConn
	leave func()
}

// Close implements net.Conn.
func (c countedTCP) Close() error {
	defer c.leave()
	return c.TCPConn.Close()
}

type countedConn struct {
	net.Conn
	leave func()
}

// Close implements net.Conn.
func (c countedConn) Close() error {
	defer c.leave()
	return c.Conn.Close()
}
