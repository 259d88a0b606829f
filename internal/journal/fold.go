package journal

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"
)

// Fold says how the events of one kind of aggregate make a state.
type Fold[S any] struct {
	// Kind names the kind of aggregate, for example "run". Records of another kind are refused at load.
	Kind string
	// Version names the code and the form of the encoded state. Raise it whenever the same records give another state
	// or another encoding; heads of other versions are then left alone.
	Version int
	// Zero returns the state before record 1. May be nil: the zero value of S.
	Zero func() S
	// Apply folds one event. It fails on an event of unknown kind or form, and must not fail otherwise. Without Clone it
	// must leave the given state, maps and slices included, as it is.
	Apply func(S, json.RawMessage) (S, error)
	// Clone copies a state deeply. Set it when Apply changes maps or slices of the state it is given. May be nil.
	Clone func(S) S
	// Encode and Decode make the cached form of a state. They must not lose anything. May be nil: encoding/json.
	Encode func(S) (json.RawMessage, error)
	Decode func(json.RawMessage) (S, error)
	// Unlisted tells that lists leave the stream out, for example what was undone. May be nil: all are listed.
	Unlisted func(S) bool
	// Ended tells that the aggregate takes no more commands of note, so that its head is written at once. May be nil.
	Ended func(S) bool
}

// Meta is what the journal knows of a stream apart from its state.
type Meta struct {
	Campaign string `json:"campaign,omitempty"`
	Parent   string `json:"parent,omitempty"`
	// Created and Updated are the times of the first and of the last record folded.
	Created time.Time `json:"created"`
	Updated time.Time `json:"updated"`
}

// At is the state of a stream after its record Seq. It is shared with other readers: do not change what State refers to.
type At[S any] struct {
	Stream string
	// Seq is the last record folded, 0 for a stream without records.
	Seq   int
	State S
	Meta
	// last is the request id of record Seq.
	last string
	// heard are the request ids of all records up to Seq, or nothing.
	heard heard
}

// Exists tells whether the stream has records.
func (a At[S]) Exists() bool { return a.Seq > 0 }

// Next is the seq of the record that a command decided on this state would get.
func (a At[S]) Next() int { return a.Seq + 1 }

// Etag names this state of the stream; see [EtagOf].
func (a At[S]) Etag() string { return EtagOf(a.Stream, a.Seq) }

// heardAll tells whether the state knows of every record's request id.
func (a At[S]) heardAll() bool { return len(a.heard) == a.Seq }

func (f Fold[S]) zero(stream string) At[S] {
	at := At[S]{Stream: stream}
	if f.Zero != nil {
		at.State = f.Zero()
	}
	return at
}

// extend folds records, which must be those after at, without touching what at refers to.
func (f Fold[S]) extend(at At[S], recs ...Record) (At[S], error) {
	if len(recs) > 0 {
		if f.Clone != nil {
			at.State = f.Clone(at.State)
		}
		at.heard = append(make(heard, 0, len(at.heard)+len(recs)), at.heard...)
	}
	for _, r := range recs {
		var err error
		if at, err = f.add(at, r); err != nil {
			return at, err
		}
	}
	return at, nil
}

// add folds the next record. It may change what at refers to.
func (f Fold[S]) add(at At[S], r Record) (At[S], error) {
	if r.Seq != at.Seq+1 {
		return at, errUnreadable(at.Stream, at.Seq+1, fmt.Errorf("found record %d in its place", r.Seq))
	}
	if r.Kind != f.Kind {
		return at, errUnreadable(at.Stream, r.Seq, fmt.Errorf("is of kind %q, not %q", r.Kind, f.Kind))
	}
	for i, ev := range r.Events {
		next, err := f.Apply(at.State, ev)
		if err != nil {
			return at, errUnreadable(at.Stream, r.Seq, fmt.Errorf("event %d, written by fold version %d, read by %d: %w", i, r.Fold, f.Version, err))
		}
		at.State = next
	}
	if r.Seq == 1 {
		at.Campaign, at.Parent, at.Created = r.Campaign, r.Parent, r.Time
	}
	if at.heardAll() && r.Seq <= maxHeard {
		at.heard = append(at.heard, hashOf(r.RequestID))
	} else {
		at.heard = nil
	}
	at.Seq, at.Updated, at.last = r.Seq, r.Time, r.RequestID
	return at, nil
}

// headState is what Head.State holds.
type headState struct {
	Meta  Meta            `json:"meta"`
	State json.RawMessage `json:"state"`
	Heard []byte          `json:"heard,omitempty"`
}

func (f Fold[S]) encodeHead(at At[S]) (Head, error) {
	encode := f.Encode
	if encode == nil {
		encode = func(s S) (json.RawMessage, error) { return json.Marshal(s) }
	}
	state, err := encode(at.State)
	if err != nil {
		return Head{}, err
	}
	body, err := json.Marshal(headState{Meta: at.Meta, State: state, Heard: at.heard.pack()})
	if err != nil {
		return Head{}, err
	}
	h := Head{Stream: at.Stream, Fold: f.Version, Seq: at.Seq, RequestID: at.last, State: body}
	h.Sum = h.sum()
	return h, nil
}

func (f Fold[S]) decodeHead(stream string, h Head) (At[S], error) {
	var zero At[S]
	if h.Stream != stream || h.Fold != f.Version || h.Seq < 1 || h.Sum != h.sum() {
		return zero, fmt.Errorf("head of %s is damaged", stream)
	}
	var body headState
	if err := json.Unmarshal(h.State, &body); err != nil {
		return zero, err
	}
	decode := f.Decode
	if decode == nil {
		decode = func(raw json.RawMessage) (s S, err error) { err = json.Unmarshal(raw, &s); return s, err }
	}
	state, err := decode(body.State)
	if err != nil {
		return zero, err
	}
	return At[S]{Stream: stream, Seq: h.Seq, State: state, Meta: body.Meta, last: h.RequestID, heard: unpack(body.Heard, h.Seq)}, nil
}

func (h Head) sum() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %d %d %q %s", h.Stream, h.Fold, h.Seq, h.RequestID, h.State))
	return hex.EncodeToString(sum[:16])
}
