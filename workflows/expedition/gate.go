package expedition

import (
	"context"
	"sync"
)

// gate lets a few commands of each expedition through to Temporal at once, in the order in which they came; the others
// wait here. Temporal refuses more updates of one workflow than its limit, and each of them costs it memory, while the
// workflow takes them one by one anyway.
type gate struct {
	width int
	mu    sync.Mutex
	lanes map[string]*lane
}

// lane is one expedition's: the commands that are through and those that wait, the oldest first.
type lane struct {
	through int
	waiting []chan struct{}
}

func newGate(width int) *gate { return &gate{width: width, lanes: map[string]*lane{}} }

// enter waits for the command's place and returns how to give it back.
func (g *gate) enter(ctx context.Context, name string) (leave func(), err error) {
	g.mu.Lock()
	l := g.lanes[name]
	if l == nil {
		l = &lane{}
		g.lanes[name] = l
	}
	if l.through < g.width {
		l.through++
		g.mu.Unlock()
		return func() { g.leave(name) }, nil
	}
	turn := make(chan struct{})
	l.waiting = append(l.waiting, turn)
	g.mu.Unlock()
	waiting := meters().waiting
	waiting.Add(ctx, 1)
	defer waiting.Add(ctx, -1)
	select {
	case <-turn:
		return func() { g.leave(name) }, nil
	case <-ctx.Done():
	}
	g.mu.Lock()
	for i, w := range l.waiting {
		if w == turn {
			l.waiting = append(l.waiting[:i], l.waiting[i+1:]...)
			g.mu.Unlock()
			return nil, ctx.Err()
		}
	}
	g.mu.Unlock()
	g.leave(name) // the place came at the same moment
	return nil, ctx.Err()
}

// leave gives the place to who waits longest.
func (g *gate) leave(name string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	l := g.lanes[name]
	if len(l.waiting) > 0 {
		close(l.waiting[0])
		l.waiting = l.waiting[1:]
		return
	}
	if l.through--; l.through == 0 {
		delete(g.lanes, name)
	}
}
