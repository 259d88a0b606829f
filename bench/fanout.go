package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	dungeonv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dungeon/v1"
)

const (
	watchers = 1_000
	// watcherConns is over how many connections they come.
	watcherConns = 8
	fanned       = 40
)

// crowd watches a run.
type crowd struct {
	stop context.CancelFunc
	wg   sync.WaitGroup
	// arrived gets the time at which a watcher got a record.
	arrived chan time.Time
	errs    chan error
}

// watch makes n watchers of a run who begin after record from, and waits until all of them do.
func (h *house) watch(user context.Context, run string, from int32, n int) (c *crowd, err error) {
	ctx, stop := context.WithCancel(user)
	c = &crowd{stop: stop, arrived: make(chan time.Time, n), errs: make(chan error, n)}
	defer func() {
		if err != nil {
			c.leave()
		}
	}()
	var conns []*grpc.ClientConn
	for range min(n, watcherConns) {
		conn, err := plain(h.addrs[delving])
		if err != nil {
			return c, err
		}
		h.onClose(conn.Close)
		conns = append(conns, conn)
	}
	return c, side(watcherConns, n, func(i int) error {
		stream, err := dungeonv1.NewRunServiceClient(conns[i%len(conns)]).WatchRun(ctx, &dungeonv1.WatchRunRequest{Name: run, FromSeq: from})
		if err != nil {
			return err
		}
		if _, err := stream.Header(); err != nil { // comes when the watch has begun
			return err
		}
		c.wg.Go(func() {
			for seq := from + 1; ; seq++ {
				res, err := stream.Recv()
				switch {
				case ctx.Err() != nil:
					return
				case err == nil && res.GetRecord().GetSeq() != seq:
					err = fmt.Errorf("record %d came in the place of %d", res.GetRecord().GetSeq(), seq)
				}
				if err != nil {
					c.errs <- err
					return
				}
				c.arrived <- time.Now()
			}
		})
		return nil
	})
}

func (c *crowd) leave() {
	c.stop()
	c.wg.Wait()
}

// last waits until n watchers have got a record and tells when the last had.
func (c *crowd) last(ctx context.Context, n int) (at time.Time, err error) {
	for range n {
		select {
		case t := <-c.arrived:
			if t.After(at) {
				at = t
			}
		case err := <-c.errs:
			return at, err
		case <-ctx.Done():
			return at, context.Cause(ctx)
		}
	}
	return at, nil
}

// fanOut measures how long a record takes to many watchers, beside how long it takes to one, and what watchers cost.
func fanOut(ctx context.Context, dir string) (rows []row, err error) {
	h, err := newHouse(ctx, dir, inFiles(dir))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	user, err := h.as(ctx, gm)
	if err != nil {
		return nil, err
	}
	api := dungeonv1.NewRunServiceClient(h.conns[delving])
	round := func(run string, c *crowd, n int) (time.Duration, error) {
		begin := time.Now()
		if _, err := api.AdjustRun(user, &dungeonv1.AdjustRunRequest{Name: run, Reason: "watch", Exploration: proto.Int32(0), RequestId: h.id()}); err != nil {
			return 0, err
		}
		at, err := c.last(ctx, n)
		return at.Sub(begin), err
	}
	crowds := map[int]*crowd{1: nil, watchers: nil}
	runs := map[int]string{}
	var weight int64
	for n := range crowds {
		run, _, err := h.enter(user, fmt.Sprintf("watched-%d", n), 2)
		if err != nil {
			return nil, err
		}
		got, err := api.GetRun(user, &dungeonv1.GetRunRequest{Name: run})
		if err != nil {
			return nil, err
		}
		before := live()
		c, err := h.watch(user, run, got.GetRun().GetSeq(), n)
		if err != nil {
			return nil, err
		}
		defer c.leave()
		if n > 1 {
			weight = live() - before
		}
		crowds[n], runs[n] = c, run
	}
	r, err := row{name: fmt.Sprintf("a command until its record is with %d watchers, SQLite", watchers), than: "with one"}.
		compare(5, fanned, func() (one, all time.Duration, err error) {
			if one, err = round(runs[1], crowds[1], 1); err != nil {
				return 0, 0, err
			}
			all, err = round(runs[watchers], crowds[watchers], watchers)
			return one, all, err
		})
	if err != nil {
		return nil, err
	}
	r.remark = fmt.Sprintf("%s a watcher", short(time.Duration(r.measured)/watchers))
	return []row{r, {name: "memory of a watcher, client included", unit: size, measured: float64(weight) / watchers}}, nil
}
