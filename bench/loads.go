package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/wayfarer-rpg/wayfarer/internal/journal"
)

const (
	few = 10
	// many has as many records after its last head as few has in all, so that both loads fold the same number.
	many = 10_000 + few
)

// counting folds a number out of numbers.
var counting = journal.Fold[int]{Kind: "count", Version: 1, Apply: func(sum int, ev json.RawMessage) (int, error) {
	n, err := strconv.Atoi(string(ev))
	return sum + n, err
}}

// loads compares the load of a long stream with that of a short one, both by a journal that has nothing in memory.
func loads(ctx context.Context, store string, open opener) (rows []row, err error) {
	s, err := open(ctx, "loads")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	for stream, n := range map[string]int{"short": few, "long": many} {
		if err := fill(ctx, s, stream, n); err != nil {
			return nil, err
		}
	}
	load := func(stream string, n int) func() error {
		j := journal.New(s, counting)
		return func() error {
			at, err := j.Load(ctx, stream)
			if err == nil && (at.Seq != n || at.State != n) {
				err = fmt.Errorf("%s: record %d with state %d, not %d", stream, at.Seq, at.State, n)
			}
			return errors.Join(err, j.Close())
		}
	}
	r, err := row{name: fmt.Sprintf("journal load of %d records, %s", many, store), than: fmt.Sprintf("of %d records", few)}.
		compare(50, 500, func() (time.Duration, time.Duration, error) { return both(load("short", few), load("long", many)) })
	return []row{r}, err
}

// fill commits n times to a stream.
func fill(ctx context.Context, s journal.Store, stream string, n int) (err error) {
	j := journal.New(s, counting)
	defer func() { err = errors.Join(err, j.Close()) }()
	for i := range n {
		id := strconv.Itoa(i)
		_, err := j.Commit(ctx, journal.Command{
			Stream: stream, Mode: journal.Either, Campaign: camp, RequestID: id, RequestHash: id, Actor: gm,
		}, func(context.Context, journal.At[int]) (journal.Decision, error) {
			return journal.Decision{Events: []json.RawMessage{[]byte("1")}}, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
