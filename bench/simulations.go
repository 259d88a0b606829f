package main

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/wayfarer-rpg/wayfarer/rules/balance"
	"github.com/wayfarer-rpg/wayfarer/rules/digger"
)

const (
	simulatedRuns = 100_000
	simulations   = 5
)

// simulationRows measures how fast the laboratory plays Digger runs of the second shipped dungeon: by one worker in the time of
// a core, and by two workers beside one by the clock.
func simulationRows(ctx context.Context) ([]row, error) {
	dungeon := digger.ShippedDungeons()[1]
	play := func(workers, runs int) (took, busy time.Duration, allocations float64, err error) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		began := cpu()
		took, err = timed(func() error {
			_, err := balance.Run(ctx, balance.Plan{Ruleset: digger.Default(), Dungeon: &dungeon, Runs: runs, Seed: 1, Workers: workers})
			return err
		})
		busy = cpu() - began
		runtime.ReadMemStats(&after)
		return took, busy, float64(after.Mallocs-before.Mallocs) / float64(runs), err
	}
	// The allocations of a run are those that more runs cost: what a plan needs to begin with is no run's.
	_, _, few, err := play(1, simulatedRuns/10)
	if err != nil {
		return nil, err
	}
	var core, one, two, allocations []float64
	for range simulations {
		took, busy, all, err := play(1, simulatedRuns)
		if err != nil {
			return nil, err
		}
		core, one = append(core, simulatedRuns/busy.Seconds()), append(one, simulatedRuns/took.Seconds())
		allocations = append(allocations, max(0, (all*simulatedRuns-few*simulatedRuns/10)/(simulatedRuns*9/10)))
		if took, _, _, err = play(2, simulatedRuns); err != nil {
			return nil, err
		}
		two = append(two, simulatedRuns/took.Seconds())
	}
	by1, by2 := median(one), median(two)
	return []row{
		{
			name: "Digger runs, a second of a core", unit: perSecond, measured: median(core), goal: goal{least: true, bound: 300_000},
			remark: fmt.Sprintf("%s allocations a run", digits(median(allocations))),
		},
		{name: "Digger runs by two workers, a second of the clock", than: "by one", unit: perSecond, baseline: by1, measured: by2, remark: fmt.Sprintf("%d cores", runtime.NumCPU())},
	}, nil
}
