package crash_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/wayfarer-rpg/wayfarer/chaos/crash"
)

var (
	from  = flag.Uint64("seed", 1, "the first seed of the seeded run")
	count = flag.Int("seeds", manySeeds, "how many seeds the seeded run has")
)

// enoughSeeds is how many seeds meet every point.
const enoughSeeds = 200

// play runs a seed and reports whatever is wrong with it.
func play(t *testing.T, seed uint64) crash.Trace {
	t.Helper()
	r, trace, err := crash.Run(t.Context(), seed, crash.Flaw{})
	if err != nil {
		t.Errorf("seed %d: %v", seed, err)
		return trace
	}
	for _, f := range r.Findings {
		t.Errorf("seed %d: %v", seed, f)
	}
	if r.Acknowledged == 0 || r.Records == 0 {
		t.Errorf("seed %d: nothing was acknowledged, so nothing is proved", seed)
	}
	return trace
}

// Points that are passed in a seeded run are known by name, and over all seeds something happens at each.
func TestNothingIsLostWhereverAProgramDies(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	visits, hits := map[crash.Point]int{}, map[crash.Point]int{}
	places := make(chan struct{}, 4)
	var wg sync.WaitGroup
	for i := range *count {
		places <- struct{}{}
		wg.Go(func() {
			defer func() { <-places }()
			trace := play(t, *from+uint64(i)) //nolint:gosec // a count
			mu.Lock()
			defer mu.Unlock()
			for at, n := range trace.Visits {
				visits[at] += n
			}
			for at, n := range trace.Hits {
				hits[at] += n
			}
		})
	}
	wg.Wait()
	for _, at := range slices.SortedFunc(maps.Keys(visits), func(a, b crash.Point) int { return strings.Compare(a.String(), b.String()) }) {
		if !slices.Contains(crash.Points, at) {
			t.Errorf("point %q is passed and not known", at)
		}
		if os.Getenv("CRASH_POINTS") != "" {
			fmt.Printf("%#v %d %d\n", at, visits[at], hits[at])
		}
	}
	if *count < manySeeds || manySeeds < enoughSeeds {
		return // too few to meet all
	}
	for _, at := range crash.Points {
		if hits[at] == 0 {
			t.Errorf("nothing ever happened at %q, which was passed %d times", at, visits[at])
		}
	}
}
