package main

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// proxy stands between two programs. Its connections can be cut in the middle of a word, or made slow.
type proxy struct {
	lis net.Listener
	// targets are the replicas of a program, which take connections in turn.
	targets []string
	turn    atomic.Int64
	delay   atomic.Int64

	mu    sync.Mutex
	conns map[net.Conn]bool
	wg    sync.WaitGroup
}

func newProxy(targets ...string) (*proxy, error) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{lis: lis, targets: targets, conns: map[net.Conn]bool{}}
	p.wg.Go(func() {
		for {
			in, err := lis.Accept()
			if err != nil {
				return
			}
			p.wg.Go(func() { p.carry(in) })
		}
	})
	return p, nil
}

func (p *proxy) addr() string { return p.lis.Addr().String() }

func (p *proxy) carry(in net.Conn) {
	defer p.forget(in)
	out := p.dial()
	if out == nil {
		return
	}
	defer p.forget(out)
	p.mu.Lock()
	p.conns[in], p.conns[out] = true, true
	p.mu.Unlock()
	var both sync.WaitGroup
	for _, way := range [][2]net.Conn{{in, out}, {out, in}} {
		both.Go(func() {
			p.pass(way[1], way[0])
			_ = way[0].Close()
			_ = way[1].Close()
		})
	}
	both.Wait()
}

// dial connects to the replica whose turn it is, or to the next one that is there.
func (p *proxy) dial() net.Conn {
	for range p.targets {
		target := p.targets[int(p.turn.Add(1))%len(p.targets)]
		if out, err := net.DialTimeout("tcp", target, time.Second); err == nil {
			return out
		}
	}
	return nil
}

// pass copies, each piece after the delay.
func (p *proxy) pass(to io.Writer, from io.Reader) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			if d := time.Duration(p.delay.Load()); d > 0 {
				time.Sleep(d)
			}
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func (p *proxy) forget(c net.Conn) {
	_ = c.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
}

func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		_ = c.Close()
	}
}

func (p *proxy) slow(d time.Duration) { p.delay.Store(int64(d)) }

func (p *proxy) close() {
	_ = p.lis.Close()
	p.cut()
	p.wg.Wait()
}
