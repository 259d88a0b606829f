package adapter

import (
	"errors"
	"testing"

	"github.com/wayfarer-rpg/wayfarer/internal/fault"
)

func TestAsManyAsThereArePlacesEnter(t *testing.T) {
	t.Parallel()
	var g Simulations
	var leave []func()
	for range MaxSimulations {
		l, err := g.enter()
		if err != nil {
			t.Fatal(err)
		}
		leave = append(leave, l)
	}
	for range 2 {
		_, err := g.enter()
		var f *fault.Error
		if !errors.As(err, &f) || f.Kind != fault.ResourceExhausted || f.Reason != "SIMULATOR_BUSY" {
			t.Fatalf("one too many: %v", err)
		}
	}
	leave[0]()
	if _, err := g.enter(); err != nil {
		t.Errorf("a place was given back: %v", err)
	}
}

func TestProgressIsToldNowAndThen(t *testing.T) {
	t.Parallel()
	var told []int
	ctx, progress, stop := simulationProgress(t.Context(), 1000, func(done int) error {
		told = append(told, done)
		if done >= 500 {
			return errors.New("gone")
		}
		return nil
	})
	defer stop()
	for done := 10; done <= 500; done += 10 {
		if ctx.Err() != nil {
			t.Fatal("stopped early")
		}
		progress(done)
	}
	if len(told) != 10 || told[0] != 50 || ctx.Err() == nil {
		t.Errorf("told %v, stopped: %v", told, ctx.Err())
	}
	told = nil
	_, progress, stop = simulationProgress(t.Context(), 3, func(done int) error { told = append(told, done); return nil })
	defer stop()
	for done := 1; done <= 3; done++ {
		progress(done)
	}
	if len(told) != 2 {
		t.Errorf("of three runs %v were told; the report follows the last", told)
	}
}
