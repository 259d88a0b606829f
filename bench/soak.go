package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	dicev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dice/v1"
	dungeonv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dungeon/v1"
)

const (
	// flat is how much memory or goroutines may grow in a soak: what they are at its end over what they were after its
	// first tenth, when caches have filled.
	flat = 1.1
	// soakWatchers come and go meanwhile, every so often.
	soakWatchers = 50
	soakVisit    = 2 * time.Second
)

// footprint is what a process takes while it works.
type footprint struct {
	live, resident int64
	goroutines     int
}

func measureSelf() (f footprint, err error) {
	f.goroutines = runtime.NumGoroutine()
	f.live = live()
	f.resident, err = resident(os.Getpid())
	return f, err
}

// soaking keeps services and edge at half of what they can do, over gRPC, REST and watches that come and go, and compares
// what they take at the end with what they took at the beginning.
func (c config) soaking(ctx context.Context, dir string) (rows []row, err error) {
	l, err := newHall(ctx, dir, inFiles(dir))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	run, _, err := l.enter(l.user, "soak", 2) //nolint:contextcheck // it is made of ctx
	if err != nil {
		return nil, err
	}
	full, runs := dicev1.NewDiceServiceClient(l.conns[rolling]), dungeonv1.NewRunServiceClient(l.conns[delving])
	var turn atomic.Int64
	do := func(int) error {
		switch turn.Add(1) % 4 {
		case 0:
			return l.post(l.edge)
		case 1:
			_, err := runs.AdjustRun(l.user, &dungeonv1.AdjustRunRequest{Name: run, Reason: "soak", Exploration: proto.Int32(0), RequestId: l.id()})
			return err
		}
		_, err := full.Roll(l.user, l.roll())
		return err
	}
	if _, _, err := rate(callers, throughputSlice, do); err != nil { // warms up
		return nil, err
	}
	peak, _, err := rate(callers, 2*throughputSlice, do)
	if err != nil {
		return nil, err
	}

	var load load
	if err := l.under(ctx, &load, c.soak/10, peak/2, run, do); err != nil {
		return nil, err
	}
	begin, err := measureSelf()
	if err != nil {
		return nil, err
	}
	if err := l.under(ctx, &load, c.soak-c.soak/10, peak/2, run, do); err != nil {
		return nil, err
	}
	end, err := measureSelf()
	if err != nil {
		return nil, err
	}
	name, than := fmt.Sprintf("soak of %s at %.0f calls a second", c.soak, peak/2), "after its first tenth"
	failures := row{
		name: name + ": calls failed", than: "made", unit: number, baseline: float64(load.done.Load()), measured: float64(load.failed.Load()),
		remark: fmt.Sprintf("%d more not made in time, all callers being busy", load.late.Load()),
	}
	if first := load.first.Load(); first != nil {
		failures.remark += fmt.Sprintf("; the first: %v", *first)
	}
	return []row{
		{name: name + ": memory in use", than: than, unit: size, baseline: float64(begin.live), measured: float64(end.live), goal: ratioAtMost(flat)},
		{name: name + ": memory taken", than: than, unit: size, baseline: float64(begin.resident), measured: float64(end.resident), goal: ratioAtMost(flat)},
		{name: name + ": goroutines", than: than, unit: number, baseline: float64(begin.goroutines), measured: float64(end.goroutines), goal: ratioAtMost(flat)},
		failures,
	}, nil
}

// load is what came of calls.
type load struct {
	done, failed atomic.Int64
	// late are the calls that were not made since all callers were busy.
	late  atomic.Int64
	first atomic.Pointer[error]
}

func (o *load) fail(err error) {
	o.failed.Add(1)
	o.first.CompareAndSwap(nil, &err)
}

// under calls so often in a second for a time, while watchers come and go, and returns when all have gone.
func (l *hall) under(ctx context.Context, o *load, d time.Duration, perSecond float64, run string, do func(int) error) error {
	soaked, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	beats := make(chan struct{}, callers)
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			for range beats {
				if err := do(i); err != nil {
					o.fail(err)
				}
				o.done.Add(1)
			}
		})
	}
	wg.Go(func() {
		defer close(beats)
		tick := time.NewTicker(time.Duration(float64(time.Second) / perSecond))
		defer tick.Stop()
		for {
			select {
			case <-soaked.Done():
				return
			case <-tick.C:
				select {
				case beats <- struct{}{}:
				default:
					o.late.Add(1)
				}
			}
		}
	})
	for soaked.Err() == nil {
		if err := l.visit(soaked, dungeonv1.NewRunServiceClient(l.conns[delving]), run); err != nil && soaked.Err() == nil {
			o.fail(err)
		}
	}
	wg.Wait()
	select { // so that what serves closed streams has gone, too
	case <-time.After(time.Second):
	case <-ctx.Done():
	}
	return context.Cause(ctx)
}

// visit lets watchers of a run come, stay for a while and go.
//
//nolint:contextcheck // its calls are a user's
func (l *hall) visit(ctx context.Context, api dungeonv1.RunServiceClient, run string) error {
	stay, leave := context.WithTimeout(l.user, soakVisit)
	defer leave()
	stop := context.AfterFunc(ctx, leave)
	defer stop()
	got, err := api.GetRun(l.user, &dungeonv1.GetRunRequest{Name: run})
	if err != nil {
		return err
	}
	return side(soakWatchers, soakWatchers, func(int) error {
		stream, err := api.WatchRun(stay, &dungeonv1.WatchRunRequest{Name: run, FromSeq: got.GetRun().GetSeq()})
		for err == nil {
			_, err = stream.Recv()
		}
		if code := status.Code(err); code == codes.DeadlineExceeded || code == codes.Canceled {
			return nil // they have stayed as long as they wanted to
		}
		return err
	})
}
