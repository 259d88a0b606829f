package journal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"strconv"
	"time"
)

// Sentinels of a [Store]. Stores wrap or return them as they are; callers of a [Journal] see typed errors instead.
var (
	// ErrTaken says that another record holds this stream and seq.
	ErrTaken = errors.New("journal: position is taken")
	// ErrRequestTaken says that another record of the stream holds this request id.
	ErrRequestTaken = errors.New("journal: request id is taken")
	// ErrNotFound says that what was looked up is not in the store.
	ErrNotFound = errors.New("journal: not found")
)

// Record is one accepted command. It is never changed after its insert.
type Record struct {
	// Stream names the aggregate, for example "campaigns/c1/runs/r1".
	Stream string
	// Seq is the position in the stream, from 1, without gaps.
	Seq int
	// Campaign is the tenant. It is the same in all records of a stream.
	Campaign string
	// Kind is the kind of aggregate, for example "run". It is the same in all records of a stream.
	Kind string
	// Parent is an immutable value that lists may filter by, for example the party of a run. Only record 1 has it.
	Parent string
	// RequestID is the id that the caller gave the command, unique in the stream.
	RequestID string
	// RequestHash tells a repeated request from another one under the same id. It covers method, actor and request.
	RequestHash string
	// Actor is the subject who gave the command, also when a service gave it for them.
	Actor string
	// Principal is the subject of the token with which it came: the actor, or the service that acted for them.
	Principal string
	// Trace is the id of the trace of which the call was part, 32 hexadecimal digits; empty without one.
	Trace string
	// OverrideReason is set when somebody acted against a refusal or for somebody else.
	OverrideReason string
	// Time is when the command was accepted, UTC, cut to milliseconds.
	Time time.Time
	// Fold is the fold version of the program that wrote the record.
	Fold int
	// Events is what happened, each the JSON of one event. May be empty.
	Events []json.RawMessage
	// Dice lists every die rolled for the command, in the order in which they were consumed.
	Dice []Die
	// Note is free text of the writer, for example the campaign seq whose overrides were used.
	Note string
	// Owing is true when the record begins something that must be carried through later; see [Journal.Sweep].
	Owing bool
}

// Die is one rolled die.
type Die struct {
	// Purpose says what the die was rolled for, for example "roll/ada".
	Purpose string `json:"purpose,omitempty" bson:"purpose,omitempty"`
	// Sides is the number of sides, Face the one that showed, 1 to Sides.
	Sides int `json:"sides" bson:"sides"`
	Face  int `json:"face" bson:"face"`
	// Reported is true for a die rolled by hand and told by a game master.
	Reported bool `json:"reported,omitempty" bson:"reported,omitempty"`
	// Secret is true when only game masters may see the face.
	Secret bool `json:"secret,omitempty" bson:"secret,omitempty"`
}

// Head caches the fold of a stream up to a record. It may be stale, missing or wrong without harm: a reader checks
// the sum and reads the records from Seq on.
type Head struct {
	// Stream and Fold are the key: programs with another fold version keep a head of their own.
	Stream string
	Fold   int
	// Seq is the last record folded, RequestID the request id of that record.
	Seq       int
	RequestID string
	// State is the encoded state with what the journal knows of the stream.
	State json.RawMessage
	// Sum is a checksum over all of the above.
	Sum string
}

// Filter selects the streams of a list. Empty fields select everything.
type Filter struct {
	Kind     string
	Campaign string
	Parent   string
}

// Cursor is a place in the list of streams, which is ordered by the time of record 1 and then by stream, newest
// first. The zero Cursor is the place before the newest.
type Cursor struct {
	Time   time.Time
	Stream string
}

// IsZero tells whether c is the place before the newest stream.
func (c Cursor) IsZero() bool { return c.Stream == "" }

// Before tells whether the list shows a record 1 at time t of the given stream after the place c.
func (c Cursor) Before(t time.Time, stream string) bool {
	if c.IsZero() {
		return true
	}
	if d := t.Compare(c.Time); d != 0 {
		return d < 0
	}
	return stream < c.Stream
}

// Obligation is an index entry which says that record Seq of Stream may have begun something not yet settled.
type Obligation struct {
	Kind   string
	Stream string
	Seq    int
}

// Store keeps records. All its methods are safe for concurrent use, also by several processes on one store, and a
// record whose insert was acknowledged is seen by every later read of any process.
//
// No method waits for longer than some seconds. While a store cannot be used all of them fail with [Away], and they go on
// by themselves when it is back. When the context ends first they fail with its error.
type Store interface {
	// Insert adds a record. It fails with [ErrTaken] or [ErrRequestTaken], and changes nothing, when the stream has a
	// record with this seq or with this request id; when it has both, either error may come.
	Insert(ctx context.Context, r Record) error
	// Read returns at most limit records of a stream in order, from seq after+1 on. A stream without records is empty.
	Read(ctx context.Context, stream string, after, limit int) ([]Record, error)
	// ByRequest returns the record of a stream that has the request id, or [ErrNotFound].
	ByRequest(ctx context.Context, stream, requestID string) (Record, error)
	// Firsts returns at most limit first records of the streams selected by f, newest first, that come after the
	// place c.
	Firsts(ctx context.Context, f Filter, c Cursor, limit int) ([]Record, error)

	// Head returns what PutHead stored for the stream and fold version, or [ErrNotFound].
	Head(ctx context.Context, stream string, fold int) (Head, error)
	// PutHead stores or replaces a head. Of concurrent calls any may win.
	PutHead(ctx context.Context, h Head) error

	// Owe stores an obligation. Storing it again changes nothing.
	Owe(ctx context.Context, o Obligation) error
	// Owing returns at most limit obligations of a kind, ordered by their RecordID, that come after the given one. The
	// zero Obligation comes before all.
	Owing(ctx context.Context, kind string, after Obligation, limit int) ([]Obligation, error)
	// Settle removes the obligations of a stream with a seq up to and including through. Removing none is no error.
	Settle(ctx context.Context, stream string, through int) error

	// Ping tells whether the store can be used.
	Ping(ctx context.Context) error
	// Close frees what the store holds. The store is of no use afterwards.
	Close() error
}

// RecordID is the key of a record: its stream and its seq, padded so that keys of a stream sort by seq.
func RecordID(stream string, seq int) string { return fmt.Sprintf("%s/%010d", stream, seq) }

// MaxSeq is the largest seq that [RecordID] can order.
const MaxSeq = 9_999_999_999

// EtagOf names the state of a stream after record seq. Its form is opaque to callers. Seq 0 is a stream without
// records.
func EtagOf(stream string, seq int) string {
	return strconv.Itoa(seq) + "-" + fmt.Sprintf("%08x", crc32.ChecksumIEEE([]byte(stream)))
}
