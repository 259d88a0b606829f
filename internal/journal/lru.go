package journal

import (
	"container/list"
	"sync"
	"time"
)

// lru keeps the values used last. It is safe for concurrent use.
type lru[K comparable, V any] struct {
	mu    sync.Mutex
	max   int
	order *list.List // of lruItem, used last in front
	items map[K]*list.Element
}

type lruItem[K comparable, V any] struct {
	key K
	val V
}

func newLRU[K comparable, V any](limit int) *lru[K, V] {
	return &lru[K, V]{max: limit, order: list.New(), items: map[K]*list.Element{}}
}

func (c *lru[K, V]) get(key K) (val V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.items[key]
	if !ok {
		return val, false
	}
	c.order.MoveToFront(e)
	return e.Value.(lruItem[K, V]).val, true
}

// put stores val, unless a value is there already that keep prefers.
func (c *lru[K, V]) put(key K, val V, keep func(old V) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.items[key]; ok {
		c.order.MoveToFront(e)
		if keep == nil || !keep(e.Value.(lruItem[K, V]).val) {
			e.Value = lruItem[K, V]{key, val}
		}
		return
	}
	c.items[key] = c.order.PushFront(lruItem[K, V]{key, val})
	for c.order.Len() > c.max {
		last := c.order.Back()
		delete(c.items, last.Value.(lruItem[K, V]).key)
		c.order.Remove(last)
	}
}

// locks is a mutex for each stream in use. An entry lives as long as somebody holds it or waits for it.
type locks struct {
	mu    sync.Mutex
	inUse map[string]*streamLock
}

type streamLock struct {
	slot chan struct{} // full while held
	refs int
	// away is the error of the last holder that found the store away, at the time since; guarded by slot.
	away  error
	since time.Time
}

// found notes that the holder found the store away.
func (e *streamLock) found(err error) { e.away, e.since = err, time.Now() }

// lock waits for the stream's lock or the end of done and returns the lock held, with its unlock, or nil when done came
// first. Waited is the error of a holder that found the store away meanwhile: of many who wait each would only find the
// same, one after the other.
func (l *locks) lock(done <-chan struct{}, stream string) (held *streamLock, unlock func(), waited error) {
	begin := time.Now()
	l.mu.Lock()
	e := l.inUse[stream]
	if e == nil {
		e = &streamLock{slot: make(chan struct{}, 1)}
		l.inUse[stream] = e
	}
	e.refs++
	l.mu.Unlock()
	forget := func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if e.refs--; e.refs == 0 {
			delete(l.inUse, stream)
		}
	}
	select {
	case e.slot <- struct{}{}:
		if e.away != nil && e.since.After(begin) {
			waited = e.away
		}
		return e, func() { <-e.slot; forget() }, waited
	case <-done:
		forget()
		return nil, nil, nil
	}
}
