package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"
)

const (
	throughputSlices = 3
	throughputSlice  = 2 * time.Second
)

// rate tells how often callers side by side, each doing one thing after the other, come through in a second, and how long
// it takes for one in a hundred.
func rate(callers int, d time.Duration, do func(caller int) error) (perSecond float64, p99 time.Duration, err error) {
	var (
		wg   sync.WaitGroup
		mu   sync.Mutex
		took []time.Duration
		errs []error
	)
	begin := time.Now()
	for i := range callers {
		wg.Go(func() {
			var own []time.Duration
			var err error
			for err == nil && time.Since(begin) < d {
				var t time.Duration
				if t, err = timed(func() error { return do(i) }); err == nil {
					own = append(own, t)
				}
			}
			mu.Lock()
			defer mu.Unlock()
			took = append(took, own...)
			errs = append(errs, err)
		})
	}
	wg.Wait()
	perSecond = float64(len(took)) / time.Since(begin).Seconds()
	if len(took) == 0 {
		return 0, 0, errors.Join(append(errs, errors.New("nothing was done"))...)
	}
	slices.Sort(took)
	return perSecond, took[len(took)*99/100], errors.Join(errs...)
}

// rates compares how often two things are done in a second, by so many callers. Slices of both are taken in turn.
func (r row) rates(callers int, baseline, measured func(caller int) error) (row, error) {
	r.unit = perSecond
	var bases, measures []float64
	var slowBases, slowMeasures []time.Duration
	for i := range throughputSlices + 1 { // the first warms up
		b, slowB, err := rate(callers, throughputSlice, baseline)
		if err != nil {
			return r, fmt.Errorf("baseline: %w", err)
		}
		m, slowM, err := rate(callers, throughputSlice, measured)
		if err != nil {
			return r, err
		}
		if i > 0 {
			bases, measures = append(bases, b), append(measures, m)
			slowBases, slowMeasures = append(slowBases, slowB), append(slowMeasures, slowM)
		}
	}
	r.baseline, r.measured = median(bases), median(measures)
	r.remark = fmt.Sprintf("p99 %s against %s", short(median(slowMeasures)), short(median(slowBases)))
	return r, nil
}

// throughput compares commands over several expeditions, one caller each, with bare updates of as many workflows.
func (c config) throughput(ctx context.Context, dir string) (rows []row, err error) {
	const than = "bare Temporal updates"
	counts := []int{1, 16, 64}
	q, err := c.newQuest(ctx, dir)
	if err != nil {
		return nil, err
	}
	if q == nil {
		return []row{{name: "commands over several expeditions", than: than, missing: noServer}}, nil
	}
	defer func() { err = errors.Join(err, q.Close()) }()
	most := counts[len(counts)-1]
	update, err := q.noop(ctx, most)
	if err != nil {
		return nil, err
	}
	user, names, err := q.many(ctx, most)
	if err != nil {
		return nil, err
	}
	for _, n := range counts {
		r, err := row{name: fmt.Sprintf("commands over %d expeditions, SQLite", n), than: than}.
			rates(n, update, func(i int) error { return q.command(user, names[i]) })
		if err != nil {
			return rows, err
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// setters make expeditions side by side.
const setters = 8

// many starts expeditions.
func (q *quest) many(ctx context.Context, n int) (user context.Context, names []string, err error) {
	if user, err = q.as(ctx, gm); err != nil {
		return nil, nil, err
	}
	names = make([]string, n)
	begin := time.Now()
	return user, names, side(setters, n, func(i int) (err error) {
		if i > 0 && i%1000 == 0 {
			fmt.Fprintf(os.Stderr, "  %d expeditions after %s\n", i, time.Since(begin).Round(time.Second))
		}
		names[i], err = q.set(user, fmt.Sprintf("quest-%d", i))
		return err
	})
}

// side does n things, some of them side by side, and fails with the first that fails.
func side(workers, n int, do func(i int) error) error {
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		next  int
		first error
	)
	for range min(workers, n) {
		wg.Go(func() {
			for {
				mu.Lock()
				i := next
				next++
				stop := first != nil || i >= n
				mu.Unlock()
				if stop {
					return
				}
				if err := do(i); err != nil {
					mu.Lock()
					if first == nil {
						first = err
					}
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	return first
}
