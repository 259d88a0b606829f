// Package memory keeps a journal in the memory of the process, for tests. Everything is lost when it ends.
package memory

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"sync"

	"github.com/wayfarer-rpg/wayfarer/internal/journal"
)

// Store is a [journal.Store] in memory. Use [New].
type Store struct {
	mu      sync.RWMutex
	streams map[string]*stream
	heads   map[headKey]journal.Head
	owing   map[journal.Obligation]struct{}
}

type stream struct {
	records   []journal.Record
	byRequest map[string]int // request id to seq
}

type headKey struct {
	stream string
	fold   int
}

// New returns an empty store.
func New() *Store {
	return &Store{
		streams: map[string]*stream{},
		heads:   map[headKey]journal.Head{},
		owing:   map[journal.Obligation]struct{}{},
	}
}

// Insert implements [journal.Store].
func (s *Store) Insert(ctx context.Context, r journal.Record) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.streams[r.Stream]
	if st == nil {
		st = &stream{byRequest: map[string]int{}}
	}
	at, taken := st.find(r.Seq)
	if taken {
		return journal.ErrTaken
	}
	if _, ok := st.byRequest[r.RequestID]; ok {
		return journal.ErrRequestTaken
	}
	st.byRequest[r.RequestID] = r.Seq
	st.records = slices.Insert(st.records, at, clone(r))
	s.streams[r.Stream] = st
	return nil
}

// find returns the index of the record with the given seq, or where it would be.
func (st *stream) find(seq int) (int, bool) {
	return slices.BinarySearchFunc(st.records, seq, func(r journal.Record, seq int) int { return cmp.Compare(r.Seq, seq) })
}

// Read implements [journal.Store].
func (s *Store) Read(ctx context.Context, name string, after, limit int) ([]journal.Record, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	st := s.streams[name]
	if st == nil {
		return nil, nil
	}
	from, _ := st.find(after + 1)
	to := min(len(st.records), from+max(limit, 0))
	var out []journal.Record
	for _, r := range st.records[from:to] {
		out = append(out, clone(r))
	}
	return out, nil
}

// ByRequest implements [journal.Store].
func (s *Store) ByRequest(ctx context.Context, name, requestID string) (journal.Record, error) {
	if err := ctx.Err(); err != nil {
		return journal.Record{}, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	st := s.streams[name]
	if st == nil {
		return journal.Record{}, journal.ErrNotFound
	}
	seq, ok := st.byRequest[requestID]
	if !ok {
		return journal.Record{}, journal.ErrNotFound
	}
	i, _ := st.find(seq)
	return clone(st.records[i]), nil
}

// Firsts implements [journal.Store].
func (s *Store) Firsts(ctx context.Context, f journal.Filter, c journal.Cursor, limit int) ([]journal.Record, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	var out []journal.Record
	for _, st := range s.streams {
		r := st.records[0]
		if r.Seq == 1 && (f.Kind == "" || f.Kind == r.Kind) && (f.Campaign == "" || f.Campaign == r.Campaign) &&
			(f.Parent == "" || f.Parent == r.Parent) && c.Before(r.Time, r.Stream) {
			out = append(out, clone(r))
		}
	}
	slices.SortFunc(out, func(a, b journal.Record) int {
		return cmp.Or(b.Time.Compare(a.Time), cmp.Compare(b.Stream, a.Stream))
	})
	return out[:min(len(out), max(limit, 0))], nil
}

// Head implements [journal.Store].
func (s *Store) Head(ctx context.Context, name string, fold int) (journal.Head, error) {
	if err := ctx.Err(); err != nil {
		return journal.Head{}, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	h, ok := s.heads[headKey{name, fold}]
	if !ok {
		return journal.Head{}, journal.ErrNotFound
	}
	h.State = bytes.Clone(h.State)
	return h, nil
}

// PutHead implements [journal.Store].
func (s *Store) PutHead(ctx context.Context, h journal.Head) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	h.State = bytes.Clone(h.State)
	s.heads[headKey{h.Stream, h.Fold}] = h
	return nil
}

// DropHeads implements [journal.HeadDropper].
func (s *Store) DropHeads(ctx context.Context) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.heads)
	clear(s.heads)
	return n, nil
}

// Owe implements [journal.Store].
func (s *Store) Owe(ctx context.Context, o journal.Obligation) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.owing[o] = struct{}{}
	return nil
}

// Owing implements [journal.Store].
func (s *Store) Owing(ctx context.Context, kind string, after journal.Obligation, limit int) ([]journal.Obligation, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	var out []journal.Obligation
	for o := range s.owing {
		if o.Kind == kind && compare(o, after) > 0 {
			out = append(out, o)
		}
	}
	slices.SortFunc(out, compare)
	return out[:min(len(out), max(limit, 0))], nil
}

func compare(a, b journal.Obligation) int { return cmp.Compare(id(a), id(b)) }

func id(o journal.Obligation) string {
	if o == (journal.Obligation{}) {
		return ""
	}
	return journal.RecordID(o.Stream, o.Seq)
}

// Settle implements [journal.Store].
func (s *Store) Settle(ctx context.Context, name string, through int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for o := range s.owing {
		if o.Stream == name && o.Seq <= through {
			delete(s.owing, o)
		}
	}
	return nil
}

// Ping implements [journal.Store].
func (s *Store) Ping(ctx context.Context) error { return ctx.Err() }

// Close implements [journal.Store]. The records stay, so that a test can open a second journal on the store.
func (s *Store) Close() error { return nil }

// clone keeps callers from changing what is stored through shared slices.
func clone(r journal.Record) journal.Record {
	if r.Events != nil {
		evs := make([]json.RawMessage, len(r.Events))
		for i, e := range r.Events {
			evs[i] = bytes.Clone(e)
		}
		r.Events = evs
	}
	r.Dice = slices.Clone(r.Dice)
	return r
}
