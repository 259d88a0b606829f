package adapter

import (
	"context"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/wayfarer-rpg/wayfarer/internal/fault"
)

const (
	// DefaultRuns is how often a simulation plays when nobody says how often.
	DefaultRuns = 10_000
	// MaxSimulations is how many simulations one service runs at once; each takes its share of the cores.
	MaxSimulations = 2
	// simulationRetry is when to come again to a service that runs as many.
	simulationRetry = 5 * time.Second
	// progressParts is how many times a simulation tells of its progress at most.
	progressParts = 20
)

// Simulations bounds how many simulations one service runs at once, so that play goes on beside them. The zero value is ready.
type Simulations struct{ running atomic.Int32 }

// Play takes a place and plays, telling now and then how many runs of all are done, but not the last: the report follows it.
// It fails with SIMULATOR_BUSY when all places are taken, and ends early when nobody can be told any more.
func (s *Simulations) Play(ctx context.Context, all int, tell func(done int) error, play func(ctx context.Context, progress func(done int)) error) error {
	leave, err := s.enter()
	if err != nil {
		return err
	}
	defer leave()
	ctx, progress, stop := simulationProgress(ctx, all, tell)
	defer stop()
	return play(ctx, progress)
}

// enter takes a place, which leave gives back.
func (s *Simulations) enter() (leave func(), err error) {
	if s.running.Add(1) > MaxSimulations {
		s.running.Add(-1)
		return nil, fault.New(fault.ResourceExhausted, "SIMULATOR_BUSY", "%d simulations are running", MaxSimulations).After(simulationRetry)
	}
	return func() { s.running.Add(-1) }, nil
}

// SimulationWorkers is how many runs a simulation plays side by side.
func SimulationWorkers() int { return max(1, runtime.GOMAXPROCS(0)/MaxSimulations) }

// simulationProgress returns a function that passes on how many runs of all are done, but the last. Who cannot be told is
// gone: then ctx, which is returned, is cancelled. Stop ends it.
func simulationProgress(ctx context.Context, all int, tell func(done int) error) (stoppable context.Context, progress func(done int), stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	told := 0
	return ctx, func(done int) {
		if done-told < max(1, all/progressParts) || done >= all {
			return
		}
		told = done
		if tell(done) != nil {
			cancel()
		}
	}, cancel
}
