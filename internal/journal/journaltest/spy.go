package journaltest

import (
	"context"
	"sync/atomic"

	"github.com/wayfarer-rpg/wayfarer/internal/journal"
)

// Op names a method of a store.
type Op string

// The methods that a [Spy] knows of.
const (
	Insert    Op = "Insert"
	Read      Op = "Read"
	ByRequest Op = "ByRequest"
	Firsts    Op = "Firsts"
	Head      Op = "Head"
	PutHead   Op = "PutHead"
	Owe       Op = "Owe"
	Owing     Op = "Owing"
	Settle    Op = "Settle"
)

// Spy is a store that counts what goes to the store behind it, and fails on demand. Set the functions before use.
type Spy struct {
	journal.Store
	// Before, when not nil, is called before each operation. Its error is returned in place of the operation.
	Before func(Op) error
	// After, when not nil, is called after each operation that went well. Its error is returned in place of the result:
	// to the caller it looks like a lost connection.
	After func(Op) error

	// Reads counts calls of Read, Records what Read returned, Lookups calls of ByRequest, HeadReads calls of Head.
	Reads, Records, Lookups, HeadReads atomic.Int64
}

// Reset sets all counters to 0.
func (s *Spy) Reset() {
	for _, n := range []*atomic.Int64{&s.Reads, &s.Records, &s.Lookups, &s.HeadReads} {
		n.Store(0)
	}
}

func (s *Spy) around(op Op, do func() error) error {
	if s.Before != nil {
		if err := s.Before(op); err != nil {
			return err
		}
	}
	err := do()
	if err == nil && s.After != nil {
		err = s.After(op)
	}
	return err
}

// Insert implements [journal.Store].
func (s *Spy) Insert(ctx context.Context, r journal.Record) error {
	return s.around(Insert, func() error { return s.Store.Insert(ctx, r) })
}

// Read implements [journal.Store].
func (s *Spy) Read(ctx context.Context, stream string, after, limit int) (recs []journal.Record, err error) {
	s.Reads.Add(1)
	err = s.around(Read, func() (err error) {
		recs, err = s.Store.Read(ctx, stream, after, limit)
		s.Records.Add(int64(len(recs)))
		return err
	})
	return recs, err
}

// ByRequest implements [journal.Store].
func (s *Spy) ByRequest(ctx context.Context, stream, id string) (r journal.Record, err error) {
	s.Lookups.Add(1)
	err = s.around(ByRequest, func() (err error) { r, err = s.Store.ByRequest(ctx, stream, id); return err })
	return r, err
}

// Firsts implements [journal.Store].
func (s *Spy) Firsts(ctx context.Context, f journal.Filter, c journal.Cursor, limit int) (recs []journal.Record, err error) {
	err = s.around(Firsts, func() (err error) { recs, err = s.Store.Firsts(ctx, f, c, limit); return err })
	return recs, err
}

// Head implements [journal.Store].
func (s *Spy) Head(ctx context.Context, stream string, fold int) (h journal.Head, err error) {
	s.HeadReads.Add(1)
	err = s.around(Head, func() (err error) { h, err = s.Store.Head(ctx, stream, fold); return err })
	return h, err
}

// PutHead implements [journal.Store].
func (s *Spy) PutHead(ctx context.Context, h journal.Head) error {
	return s.around(PutHead, func() error { return s.Store.PutHead(ctx, h) })
}

// Owe implements [journal.Store].
func (s *Spy) Owe(ctx context.Context, o journal.Obligation) error {
	return s.around(Owe, func() error { return s.Store.Owe(ctx, o) })
}

// Owing implements [journal.Store].
func (s *Spy) Owing(ctx context.Context, kind string, after journal.Obligation, limit int) (out []journal.Obligation, err error) {
	err = s.around(Owing, func() (err error) { out, err = s.Store.Owing(ctx, kind, after, limit); return err })
	return out, err
}

// Settle implements [journal.Store].
func (s *Spy) Settle(ctx context.Context, stream string, through int) error {
	return s.around(Settle, func() error { return s.Store.Settle(ctx, stream, through) })
}
