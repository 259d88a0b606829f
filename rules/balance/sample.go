package balance

import (
	"context"
	"math"
	"sync"

	"github.com/wayfarer-rpg/wayfarer/rules/digger"
	"github.com/wayfarer-rpg/wayfarer/rules/play"
)

// MaxRuns is the largest number of runs of one plan.
const MaxRuns = 10_000_000

// chunk is how many runs are played between two looks at the clock: far more than a report of progress costs, far less
// than anybody waits for an interrupted plan.
const chunk = 256

// sampling says how often something is played, whatever it is.
type sampling struct {
	runs     int
	seed     uint64
	workers  int
	progress func(done int)
}

func (s sampling) check() error {
	if s.runs < 1 || s.runs > MaxRuns {
		return play.Refuse(digger.Invalid, "a plan has 1 to %d runs", MaxRuns).At("runs")
	}
	return nil
}

// sums are what a worker adds up: whole numbers, so that the order of adding does not matter.
type sums[S any] interface{ merge(other S) }

// sample plays on several workers and returns what they have added up. Each worker gets the series that its runs take their
// chance from, and returns its sums and what plays one run into them; work is called by all of them at once.
func sample[S sums[S]](ctx context.Context, s sampling, work func(c *chance) (S, func() error)) (S, error) {
	var (
		mu         sync.Mutex
		wg         sync.WaitGroup
		next, done int
		first      error
	)
	parts := make([]S, min(max(1, s.workers), (s.runs+chunk-1)/chunk))
	claim := func() (from, to int) {
		mu.Lock()
		defer mu.Unlock()
		if first != nil || ctx.Err() != nil {
			return 0, 0
		}
		from, to = next, min(next+chunk, s.runs)
		next = to
		return from, to
	}
	tell := func(n int, err error) {
		mu.Lock()
		defer mu.Unlock()
		if first == nil {
			first = err
		}
		if done += n; s.progress != nil && first == nil {
			s.progress(done)
		}
	}
	for part := range parts {
		wg.Go(func() {
			// A worker makes what it writes to itself. Made for all by one goroutine it would lie side by side, and cores that
			// write to the same line of memory wait for each other.
			c := &chance{}
			sum, run := work(c)
			parts[part] = sum
			for from, to := claim(); from < to; from, to = claim() {
				var failed error
				for i := from; i < to && failed == nil; i++ {
					c.begin(s.seed, i)
					failed = run()
				}
				tell(to-from, failed)
			}
		})
	}
	wg.Wait()
	if first == nil && done < s.runs {
		first = ctx.Err()
	}
	for _, part := range parts[1:] {
		parts[0].merge(part)
	}
	return parts[0], first
}

func share(part, of int) float64 {
	if of == 0 {
		return 0
	}
	return float64(part) / float64(of)
}

// Wilson returns the 95 % interval of a rate seen as hits of n, by Wilson's score, which stays within 0 and 1.
func Wilson(hits, n int) [2]float64 {
	if n == 0 {
		return [2]float64{0, 1}
	}
	const z = 1.959963984540054
	p, m := float64(hits)/float64(n), float64(n)
	middle := p + z*z/(2*m)
	half := z * math.Sqrt(p*(1-p)/m+z*z/(4*m*m))
	scale := 1 + z*z/m
	low, high := max(0, (middle-half)/scale), min(1, (middle+half)/scale)
	switch hits { // where the sums above are off by a last digit
	case 0:
		low = 0
	case n:
		high = 1
	}
	return [2]float64{low, high}
}

// Rate is a share of runs with the bounds within which the true one lies with 95 % (Wilson), all from 0 to 1.
type Rate struct {
	Rate     float64    `json:"rate"`
	Interval [2]float64 `json:"interval"`
}

func rate(hits, n int) Rate { return Rate{share(hits, n), Wilson(hits, n)} }

// Mean is the mean of a number over all runs with its standard error.
type Mean struct {
	Mean  float64 `json:"mean"`
	Error float64 `json:"error"`
}

// counter adds numbers of runs up.
type counter struct{ sum, squares int }

func (c *counter) add(n int) {
	c.sum += n
	c.squares += n * n
}

func (c *counter) merge(o counter) {
	c.sum += o.sum
	c.squares += o.squares
}

func (c *counter) mean(runs int) Mean {
	m := Mean{Mean: share(c.sum, runs)}
	if runs > 1 {
		variance := (float64(c.squares) - float64(c.sum)*m.Mean) / float64(runs-1)
		m.Error = math.Sqrt(max(0, variance) / float64(runs))
	}
	return m
}

// histogram counts runs by a small number; the last place counts those with that many or more.
type histogram []int

func (h histogram) add(n int) { h[min(n, len(h)-1)]++ }

func (h histogram) merge(o histogram) {
	for i, n := range o {
		h[i] += n
	}
}
