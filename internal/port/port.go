// Package port keeps TCP ports of the loopback for servers that are still to start, or that are between two lives.
//
// A port that was free when somebody looked is anybody's until its server listens there: the kernel gives it to the next who asks
// for any, be it for a listener or for a connection to somewhere else. A port that is held here is given to nobody who does not
// ask for that very one. Who connects to it while no server is there is refused.
package port

import (
	"fmt"
	"net"
)

// Hold returns addresses of n different ports, host:port, on which nobody listens, and keeps them for servers that listen on these
// addresses, now or later, and again and again, until release is called. A server has to allow that its address is reused, as those of
// package net do.
//
// Where the kernel does not let a server listen on what is held, which is tried out, the ports are merely free.
func Hold(n int) (addrs []string, release func(), err error) {
	var held []func()
	release = func() {
		for _, end := range held {
			end()
		}
		held = nil
	}
	var looks []net.Listener // until the end, so that no two are the same
	defer func() {
		for _, lis := range looks {
			_ = lis.Close()
		}
	}()
	for range n {
		addr, end, lis, err := one()
		if err != nil {
			release()
			return nil, nil, fmt.Errorf("hold a port: %w", err)
		}
		addrs, held, looks = append(addrs, addr), append(held, end), append(looks, lis)
	}
	return addrs, release, nil
}

// one holds a port and listens on it.
func one() (addr string, end func(), lis net.Listener, err error) {
	if addr, end, err = bind(); err == nil {
		if lis, err = net.Listen("tcp", addr); err == nil {
			return addr, end, lis, nil
		}
		end()
	}
	if lis, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return "", nil, nil, err
	}
	return lis.Addr().String(), func() {}, lis, nil
}
