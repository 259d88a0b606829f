// Package limit says how much one caller may ask for at a time: token buckets by key, and counts of what is open at once.
//
// It owns neither the keys nor the answer to who is refused: callers choose the key, a principal or an address, and the
// words. Memory is bounded whatever keys come: a bucket that is full again knows nothing and is dropped, and beyond
// [MaxKeys] the one that was used longest ago goes. What the edge loses: who comes under more names than that begins anew.
package limit

import (
	"container/list"
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"golang.org/x/time/rate"
)

// MaxKeys is how many buckets are kept.
const MaxKeys = 10_000

// Rate is how often something may happen: PerSecond in the long run, Burst at once. PerSecond 0 says no limit; a Burst below
// 1 counts as 1.
type Rate struct {
	PerSecond float64
	Burst     int
}

// Buckets are token buckets of one rate by key. They are safe for concurrent use.
type Buckets struct {
	rate  Rate
	now   func() time.Time
	idle  time.Duration // after which any bucket is full
	max   int
	mu    sync.Mutex
	byKey map[string]*list.Element
	used  *list.List // of *bucket, the one used last in front
}

type bucket struct {
	key  string
	last time.Time
	of   *rate.Limiter
}

// NewBuckets returns buckets, all full, that go by the clock now; nil: time.Now.
func NewBuckets(r Rate, now func() time.Time) *Buckets {
	if now == nil {
		now = time.Now
	}
	r.Burst = max(r.Burst, 1)
	b := &Buckets{rate: r, now: now, max: MaxKeys, byKey: map[string]*list.Element{}, used: list.New()}
	if r.PerSecond > 0 {
		b.idle = time.Duration(float64(r.Burst) / r.PerSecond * float64(time.Second))
	}
	return b
}

// Take takes a token from the bucket of a key. Without one it takes nothing, and tells how long to wait.
func (b *Buckets) Take(key string) (wait time.Duration, ok bool) {
	if b.rate.PerSecond <= 0 {
		return 0, true
	}
	now := b.now()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.drop(now)
	e := b.byKey[key]
	if e == nil {
		if b.used.Len() >= b.max {
			b.remove(b.used.Back())
		}
		e = b.used.PushFront(&bucket{key: key, of: rate.NewLimiter(rate.Limit(b.rate.PerSecond), b.rate.Burst)})
		b.byKey[key] = e
	}
	b.used.MoveToFront(e)
	it := e.Value.(*bucket) //nolint:forcetypeassert // nothing else is in the list
	it.last = now
	r := it.of.ReserveN(now, 1)
	if wait = r.DelayFrom(now); wait > 0 {
		r.CancelAt(now)
		return wait, false
	}
	return 0, true
}

// drop forgets buckets that are full again, two at a time: each call brings one at most.
func (b *Buckets) drop(now time.Time) {
	for range 2 {
		e := b.used.Back()
		if e == nil || now.Sub(e.Value.(*bucket).last) < b.idle { //nolint:forcetypeassert // as above
			return
		}
		b.remove(e)
	}
}

func (b *Buckets) remove(e *list.Element) {
	delete(b.byKey, b.used.Remove(e).(*bucket).key) //nolint:forcetypeassert // as above
}

// Len is how many buckets are kept.
func (b *Buckets) Len() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used.Len()
}

// Counts bound what is open at once: each for a key, all together; 0 says no limit. They are safe for concurrent use.
type Counts struct {
	each, all int
	mu        sync.Mutex
	open      int
	byKey     map[string]int
}

// NewCounts returns counts at which nothing is open.
func NewCounts(each, all int) *Counts { return &Counts{each: each, all: all, byKey: map[string]int{}} }

// Enter opens one for a key. It returns what closes it, to be called once, or nil when there are too many.
func (c *Counts) Enter(key string) (leave func()) { return c.enter(key, c.all) }

// EnterBeyond is Enter for those who may go on when the limit of all together is reached, up to twice of it.
func (c *Counts) EnterBeyond(key string) (leave func()) { return c.enter(key, 2*c.all) }

func (c *Counts) enter(key string, all int) func() {
	if c.each <= 0 && all <= 0 {
		return func() {}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if all > 0 && c.open >= all || c.each > 0 && c.byKey[key] >= c.each {
		return nil
	}
	c.open++
	if c.each > 0 {
		c.byKey[key]++
	}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.open--
		if c.each <= 0 {
			return
		}
		if c.byKey[key]--; c.byKey[key] == 0 {
			delete(c.byKey, key)
		}
	}
}

var refusals = sync.OnceValue(func() metric.Int64Counter {
	c, err := otel.Meter("github.com/wayfarer-rpg/wayfarer/internal/limit").Int64Counter("wayfarer.refused",
		metric.WithDescription("Calls refused because of a limit, by limit."), metric.WithUnit("{call}"))
	if err != nil {
		otel.Handle(err)
	}
	return c
})

// Refused counts a call that was refused because of a limit, for example "principal".
func Refused(ctx context.Context, limit string) {
	refusals().Add(ctx, 1, metric.WithAttributes(attribute.String("limit", limit)))
}
