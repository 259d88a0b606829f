package journal

import (
	"context"
	"encoding/json"
)

// Refolding folds one stream from its first record on, whatever the type of its state: for tools that walk whole
// journals. It is not safe for concurrent use.
type Refolding interface {
	// Add folds the next record. It fails with JOURNAL_UNREADABLE on one that does not follow the last or that this program
	// cannot fold; the stream cannot be folded any further then.
	Add(r Record) error
	// State is the state after the records added. The next Add may change what it refers to.
	State() any
	// Head is the cached form of the state. It fails when the state cannot be encoded.
	Head() (Head, error)
}

// Refold begins to fold a stream anew.
func (f Fold[S]) Refold(stream string) Refolding { return &refolding[S]{fold: f, at: f.zero(stream)} }

type refolding[S any] struct {
	fold Fold[S]
	at   At[S]
}

// Add implements [Refolding]. Nobody else has the state, so it need not be cloned.
func (r *refolding[S]) Add(rec Record) (err error) {
	r.at, err = r.fold.add(r.at, rec)
	return err
}

func (r *refolding[S]) State() any { return r.at.State }

func (r *refolding[S]) Head() (Head, error) { return r.fold.encodeHead(r.at) }

// Unheard returns a head without the request ids that it tells of beside the state: the head that a program writes which does
// not keep them. A State that is not a head's stays as it is.
func (h Head) Unheard() Head {
	var body headState
	if err := json.Unmarshal(h.State, &body); err != nil || body.Heard == nil {
		return h
	}
	body.Heard = nil
	state, err := json.Marshal(body)
	if err != nil {
		return h
	}
	h.State = state
	h.Sum = h.sum()
	return h
}

// Bulk is a [Store] that takes many records faster than one by one.
type Bulk interface {
	// InsertMany adds the records in their order. When it fails, none or the first ones may have been added; it fails with
	// [ErrTaken] when the place or the request id of one is taken, whichever it is.
	InsertMany(ctx context.Context, recs []Record) error
}

// HeadDropper is a [Store] that can forget every head, those of other fold versions included. All stores of this module do.
type HeadDropper interface {
	// DropHeads removes all heads and tells how many there were. Nothing is lost by it: see [Head].
	DropHeads(ctx context.Context) (int, error)
}
