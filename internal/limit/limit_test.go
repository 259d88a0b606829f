package limit

import (
	"fmt"
	"sync"
	"testing"
	"time"
)

// clock is one that the test sets.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func TestABucketRefillsByTheClock(t *testing.T) {
	t.Parallel()
	c := &clock{time.Unix(1_700_000_000, 0)}
	b := NewBuckets(Rate{PerSecond: 2, Burst: 3}, c.now)
	for _, step := range []struct {
		after time.Duration
		key   string
		wait  time.Duration // 0: a token is there
	}{
		{0, "ada", 0}, {0, "ada", 0}, {0, "ada", 0}, // the burst
		{0, "ada", 500 * time.Millisecond},
		{0, "ada", 500 * time.Millisecond}, // to be refused costs nothing
		{0, "bram", 0},                     // has a bucket of their own
		{250 * time.Millisecond, "ada", 250 * time.Millisecond},
		{250 * time.Millisecond, "ada", 0},
		{0, "ada", 500 * time.Millisecond},
		{time.Hour, "ada", 0}, {0, "ada", 0}, {0, "ada", 0}, // no more than the burst, however long the rest
		{0, "ada", 500 * time.Millisecond},
	} {
		c.at = c.at.Add(step.after)
		wait, ok := b.Take(step.key)
		if ok != (step.wait == 0) || wait != step.wait {
			t.Fatalf("%+v: got %v, %v", step, wait, ok)
		}
	}
}

func TestBucketsAreBoundedAndExpire(t *testing.T) {
	t.Parallel()
	c := &clock{time.Unix(1_700_000_000, 0)}
	b := NewBuckets(Rate{PerSecond: 1, Burst: 1}, c.now)
	b.max = 100
	b.Take("first")
	for i := range 1000 {
		b.Take(fmt.Sprint(i))
	}
	if b.Len() != 100 {
		t.Fatalf("%d buckets are kept", b.Len())
	}
	if _, ok := b.Take("999"); ok {
		t.Error("the one used last was forgotten")
	}
	if _, ok := b.Take("first"); !ok {
		t.Error("the one used longest ago is still there")
	}
	c.at = c.at.Add(time.Second) // all are full again
	for range 60 {
		b.Take("ada")
	}
	if b.Len() != 1 {
		t.Errorf("%d buckets are kept though all but one are full", b.Len())
	}
}

func TestNoLimit(t *testing.T) {
	t.Parallel()
	b, c := NewBuckets(Rate{}, nil), NewCounts(0, 0)
	for range 10_000 {
		if _, ok := b.Take("ada"); !ok || c.Enter("ada") == nil {
			t.Fatal("refused")
		}
	}
	if b.Len() != 0 {
		t.Errorf("%d buckets are kept for nothing", b.Len())
	}
}

func TestCounts(t *testing.T) {
	t.Parallel()
	c := NewCounts(2, 3)
	one, two := c.Enter("ada"), c.Enter("ada")
	if one == nil || two == nil || c.Enter("ada") != nil {
		t.Fatal("each may have two")
	}
	three := c.Enter("bram")
	if three == nil || c.Enter("cleo") != nil {
		t.Fatal("all may have three")
	}
	if beyond := c.EnterBeyond("cleo"); beyond == nil {
		t.Fatal("some may go beyond")
	} else {
		beyond()
	}
	one()
	if c.Enter("ada") == nil {
		t.Error("who left has room again")
	}
	two()
	three()
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if leave := c.Enter("dov"); leave != nil {
				leave()
			}
		})
	}
	wg.Wait()
	if c.open != 1 || len(c.byKey) != 1 {
		t.Errorf("open are %d of %v, want ada's one", c.open, c.byKey)
	}
}
