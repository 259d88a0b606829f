package expedition

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

func TestAGateLetsAFewThroughInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGate(2)
		var order []int
		leaves := make([]func(), 5)
		for i := range leaves {
			go func() {
				leave, err := g.enter(t.Context(), "a")
				if err != nil {
					t.Error(err)
					return
				}
				order = append(order, i)
				leaves[i] = leave
			}()
			synctest.Wait()
		}
		if len(order) != 2 {
			t.Fatalf("%v are through", order)
		}
		// Another expedition's commands do not wait for these.
		other, err := g.enter(t.Context(), "b")
		if err != nil {
			t.Fatal(err)
		}
		other()
		for i := range leaves {
			leaves[i]()
			synctest.Wait()
		}
		for i, n := range order {
			if i != n {
				t.Errorf("they went through as %v", order)
				break
			}
		}
		if len(order) != 5 || len(g.lanes) != 0 {
			t.Errorf("%v went through, %d lanes are left", order, len(g.lanes))
		}
	})
}

func TestWhoStopsWaitingAtAGateTakesNoPlace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGate(1)
		first, err := g.enter(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		gone := make(chan error, 1)
		go func() {
			_, err := g.enter(ctx, "a")
			gone <- err
		}()
		synctest.Wait()
		var last func()
		go func() { last, err = g.enter(t.Context(), "a") }()
		synctest.Wait()
		stop()
		synctest.Wait()
		if err := <-gone; !errors.Is(err, context.Canceled) {
			t.Errorf("gone with %v", err)
		}
		first()
		synctest.Wait()
		if err != nil || last == nil {
			t.Fatalf("the last got no place: %v", err)
		}
		last()
		if len(g.lanes) != 0 {
			t.Errorf("%d lanes are left", len(g.lanes))
		}
	})
}
