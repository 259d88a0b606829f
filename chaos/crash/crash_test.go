package crash_test

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/protobuf/proto"

	dicev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dice/v1"
	dungeonv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dungeon/v1"
	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"

	"github.com/wayfarer-rpg/wayfarer/chaos/audit"
	"github.com/wayfarer-rpg/wayfarer/chaos/crash"
	"github.com/wayfarer-rpg/wayfarer/internal/journal"
)

var (
	from  = flag.Uint64("seed", 1, "the first seed of the seeded run")
	count = flag.Int("seeds", manySeeds, "how many seeds the seeded run has")
)

// enoughSeeds is how many seeds meet every point.
const enoughSeeds = 200

// aimedSeeds is how many are tried for a point at which those do nothing.
const aimedSeeds = 100

// play runs a seed and reports whatever is wrong with it.
func play(t *testing.T, seed uint64, aims ...crash.Point) crash.Trace {
	t.Helper()
	r, trace, err := crash.Run(t.Context(), seed, crash.Flaw{}, aims...)
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
	passedBy := map[crash.Point][]uint64{} // the seeds that came by a point
	places := make(chan struct{}, 4)
	var wg sync.WaitGroup
	for i := range *count {
		places <- struct{}{}
		wg.Go(func() {
			defer func() { <-places }()
			seed := *from + uint64(i) //nolint:gosec // a count
			trace := play(t, seed)
			mu.Lock()
			defer mu.Unlock()
			for at, n := range trace.Visits {
				visits[at] += n
				passedBy[at] = append(passedBy[at], seed)
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
		// What is rarely passed is aimed at, first by the seeds that came by it.
		seeds := slices.Sorted(slices.Values(passedBy[at]))
		for i := range aimedSeeds {
			seeds = append(seeds, *from+uint64(*count)+uint64(i)) //nolint:gosec // counts
		}
		for _, seed := range seeds[:aimedSeeds] {
			if hits[at] > 0 {
				break
			}
			trace := play(t, seed, at)
			hits[at] += trace.Hits[at]
			visits[at] += trace.Visits[at]
		}
		if hits[at] == 0 {
			t.Errorf("nothing ever happened at %q, which was passed %d times", at, visits[at])
		}
	}
}

// Seeds that failed once are tests.
func TestSeedsThatFailedOnce(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/seeds.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		number, taught, _ := strings.Cut(line, " ")
		seed, err := strconv.ParseUint(number, 10, 64)
		if err != nil || taught == "" {
			t.Errorf("%q is no seed and what it taught", line)
			continue
		}
		t.Run(taught, func(t *testing.T) {
			t.Parallel()
			play(t, seed)
		})
	}
}

func TestTheSameSeedIsTheSameRun(t *testing.T) {
	t.Parallel()
	type result struct {
		journals map[string][]any
		told     map[string]audit.Told
		trace    crash.Trace
	}
	run := func(seed uint64) result {
		e, trace, err := crash.Evidence(t.Context(), crash.Play{Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		r := result{map[string][]any{}, map[string]audit.Told{}, trace}
		for name, p := range e.Parts {
			for _, rec := range p.Journal {
				r.journals[name] = append(r.journals[name], rec["record"])
			}
		}
		for id, c := range e.Told {
			r.told[id] = *c
		}
		return r
	}
	first := run(42)
	if again := run(42); !reflect.DeepEqual(first, again) {
		t.Errorf("the first run was\n%v\nand the second\n%v", first, again)
	}
	if other := run(43); reflect.DeepEqual(first.told, other.told) {
		t.Error("another seed is the same run")
	}
}

// badStore is a store that goes wrong now and then.
type badStore struct {
	journal.Store
	insert func(ctx context.Context, s journal.Store, r journal.Record) error
}

func (s badStore) Insert(ctx context.Context, r journal.Record) error {
	return s.insert(ctx, s.Store, r)
}

// wrongStore is a flaw of the store of one program.
func wrongStore(program string, insert func(ctx context.Context, s journal.Store, r journal.Record) error) func() crash.Flaw {
	return func() crash.Flaw {
		return crash.Flaw{Store: func(name string, s journal.Store) journal.Store {
			if name != program {
				return s
			}
			return badStore{s, insert}
		}}
	}
}

// What is broken on purpose is found: by whatever the audit says, or by a run that comes to nothing.
func TestABrokenHouseIsFoundOut(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		flaw func() crash.Flaw
		kind audit.Kind
		text string
	}{
		"a journal answers before it has inserted": {
			wrongStore("party", func(ctx context.Context, s journal.Store, r journal.Record) error {
				if r.Kind == "character" && r.Seq > 6 { // it is lost
					return nil
				}
				return s.Insert(ctx, r)
			}), audit.Lost, "records",
		},
		"the log answers before it has inserted": {
			wrongStore("expedition", func(ctx context.Context, s journal.Store, r journal.Record) error {
				if r.Seq > 8 {
					return nil
				}
				return s.Insert(ctx, r)
			}), audit.Lost, "",
		},
		"records are kept under other ids than their requests have": {
			wrongStore("travel", func(ctx context.Context, s journal.Store, r journal.Record) error {
				r.RequestID = fmt.Sprintf("%s/%d", r.RequestID, r.Seq)
				return s.Insert(ctx, r)
			}), audit.Lost, "is in no journal",
		},
		"dice are drawn again when a request is repeated": {
			func() crash.Flaw {
				var n atomic.Int64
				return crash.Flaw{Answer: func(_ string, _, res proto.Message) {
					if d, ok := res.(*dicev1.DrawResponse); ok {
						d.Key = append([]byte(nil), d.GetKey()...)
						d.Key[0] ^= byte(n.Add(1))
					}
				}}
			}, audit.Rerolled, "its stream gives",
		},
		"a lease is never given back": {
			func() crash.Flaw {
				return crash.Flaw{Call: func(_ string, req proto.Message) bool {
					r, ok := req.(*partyv1.ReturnLeaseRequest)
					return ok && r.GetFacet() == partyv1.Facet_FACET_LOADOUT
				}}
			}, audit.Broken, "is still lent",
		},
		"gold is added on the way home": {
			func() crash.Flaw {
				return crash.Flaw{Call: func(_ string, req proto.Message) bool {
					if r, ok := req.(*partyv1.ReturnLeaseRequest); ok && r.GetFacet() == partyv1.Facet_FACET_PACK {
						r.GetPack().GetPack().Gold++
					}
					return false
				}}
			}, audit.Broken, "and the company got",
		},
		"somebody is told another record": {
			func() crash.Flaw {
				return crash.Flaw{Answer: func(_ string, _, res proto.Message) {
					if d, ok := res.(*dungeonv1.ActResponse); ok && d.GetRecord().GetSeq() > 2 {
						d.Record.Seq--
					}
				}}
			}, "", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// Not every run comes to where the flaw is.
			for seed := uint64(500); seed < 520; seed++ {
				r, _, err := crash.Run(t.Context(), seed, tt.flaw())
				if err != nil {
					t.Logf("seed %d: %v", seed, err)
					if tt.kind == "" {
						return
					}
					continue
				}
				for _, f := range r.Findings {
					if (tt.kind == "" || f.Kind == tt.kind) && strings.Contains(f.Text, tt.text) {
						t.Logf("seed %d: %v", seed, f)
						return
					}
				}
			}
			t.Error("nothing of it was found in 20 runs")
		})
	}
}
