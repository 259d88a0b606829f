package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"
)

// woken is how many idle expeditions are woken, at most.
const woken = 100

// idling measures what expeditions cost that wait for their next command, and how long that takes.
func (c config) idling(ctx context.Context, dir string) (rows []row, err error) {
	name := fmt.Sprintf("%d idle expeditions, SQLite", c.idle)
	q, err := c.newQuest(ctx, dir)
	if err != nil {
		return nil, err
	}
	if q == nil {
		return []row{{name: name, missing: noServer}}, nil
	}
	defer func() { err = errors.Join(err, q.Close()) }()
	user, err := q.as(ctx, gm)
	if err != nil {
		return nil, err
	}
	if _, err := q.set(user, "first"); err != nil { // what everything needs that is done once
		return nil, err
	}
	before, err := q.weigh(dir)
	if err != nil {
		return nil, err
	}
	begin := time.Now()
	user, names, err := q.many(ctx, c.idle)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(c.progress, "  %d expeditions set out within %s\n", c.idle, time.Since(begin).Round(time.Second))
	after, err := q.weigh(dir)
	if err != nil {
		return nil, err
	}
	per := func(what string, before, after int64) row {
		return row{name: "an idle expedition of " + strconv.Itoa(c.idle) + ": " + what, unit: size, measured: max(0, float64(after-before)/float64(c.idle))}
	}
	rows = append(rows,
		per("memory of services and worker", before.heap, after.heap), per("memory of Temporal", before.temporal, after.temporal),
		per("files of journals", before.journals, after.journals), per("file of Temporal", before.history, after.history),
	)
	// The worker ends, and another one, with nothing in memory, takes over.
	if err := q.end(); err != nil {
		return rows, err
	}
	if err := q.addExpedition(ctx); err != nil {
		return rows, err
	}
	if err := q.command(user, camp+"/expeditions/first"); err != nil {
		return rows, err
	}
	n := min(woken, c.idle)
	step := c.idle / n
	at := -1
	wake, err := row{name: "first command to an idle expedition, after a restart", than: "its next command"}.compare(0, n, func() (b, m time.Duration, err error) {
		at++
		if m, err = timed(func() error { return q.command(user, names[at*step]) }); err != nil {
			return 0, 0, err
		}
		b, err = timed(func() error { return q.command(user, names[at*step]) })
		return b, m, err
	})
	return append(rows, wake), err
}

// weight is what everything takes, in bytes.
type weight struct{ heap, temporal, journals, history int64 }

func (q *quest) weigh(dir string) (w weight, err error) {
	w.heap = live()
	if w.temporal, err = resident(q.temporal); err != nil {
		return w, err
	}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil // a write-ahead log that has just gone
		}
		if err != nil {
			return err
		}
		if strings.HasPrefix(d.Name(), "temporal.db") {
			w.history += info.Size()
		} else {
			w.journals += info.Size()
		}
		return nil
	})
	return w, err
}

// live is the memory that this process uses: heap and stacks, without garbage.
func live() int64 {
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse) //nolint:gosec // no machine has that much
}

// resident is the memory that another process takes.
func resident(pid int) (int64, error) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close() }()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if text, ok := strings.CutPrefix(lines.Text(), "VmRSS:"); ok {
			kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(text), " kB"), 10, 64)
			return kib << 10, err
		}
	}
	return 0, errors.New("the memory of a process cannot be told here")
}
