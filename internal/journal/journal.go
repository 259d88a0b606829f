package journal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"time"
	"unicode/utf8"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/wayfarer-rpg/wayfarer/internal/auth"
)

const (
	// MaxStream is the greatest length of a stream's name in bytes.
	MaxStream = 512
	// MaxRequestID is the greatest length of a request id in bytes.
	MaxRequestID = 128
	// MaxEvents is the greatest size of a record's events in bytes. MongoDB takes documents up to 16 MiB.
	MaxEvents = 12 << 20

	defaultHeadEvery = 16
	defaultFolds     = 1024
	defaultAnswers   = 256
	defaultTries     = 16
	defaultPoll      = 500 * time.Millisecond

	readPage    = 256
	headTimeout = 5 * time.Second
)

// Journal commits commands to the streams of one kind of aggregate, and reads them. It is safe for concurrent use;
// any number of journals, in any number of processes, may share a store.
type Journal[S any] struct {
	store Store
	fold  Fold[S]
	opts  options

	locks   locks
	folds   *lru[string, At[S]]
	answers *lru[answerKey, Committed[S]]

	watch followers
}

type answerKey struct{ stream, requestID string }

type options struct {
	now       func() time.Time
	log       *slog.Logger
	self      string
	headEvery int
	folds     int
	answers   int
	tries     int
	poll      time.Duration
	ticker    func(time.Duration) (<-chan time.Time, func())
	pause     func(ctx context.Context, d time.Duration) error
}

// Option changes how a [Journal] works.
type Option func(*options)

// WithClock sets the clock that dates records. The default is time.Now.
func WithClock(now func() time.Time) Option { return func(o *options) { o.now = now } }

// WithLogger sets where failures that harm nobody are logged, such as of writing a head. The default is slog.Default.
func WithLogger(l *slog.Logger) Option { return func(o *options) { o.log = l } }

// WithSelf names the program as the principal of commands that come without a token, those of its own. The default is nobody.
func WithSelf(name string) Option { return func(o *options) { o.self = name } }

// WithHeadEvery makes the journal write a head when a record's seq is a multiple of n. The default is 16.
func WithHeadEvery(n int) Option { return func(o *options) { o.headEvery = max(n, 1) } }

// WithCache sets how many folds and how many recent answers are kept in memory. The default is 1024 and 256.
func WithCache(folds, answers int) Option {
	return func(o *options) { o.folds, o.answers = max(folds, 0), max(answers, 0) }
}

// WithTries sets how often a command is decided before it fails with STREAM_BUSY. The default is 16.
func WithTries(n int) Option { return func(o *options) { o.tries = max(n, 1) } }

// WithPoll sets how often a watched stream is probed for records of other processes. The default is 500 ms.
func WithPoll(d time.Duration) Option { return func(o *options) { o.poll = d } }

// WithTicker sets what makes the ticks of [WithPoll], for tests. The second result stops them.
func WithTicker(f func(time.Duration) (<-chan time.Time, func())) Option {
	return func(o *options) { o.ticker = f }
}

// New returns a journal on a store, which it does not own. Fold.Kind and Fold.Apply must be set.
func New[S any](store Store, fold Fold[S], opts ...Option) *Journal[S] {
	if fold.Kind == "" || fold.Apply == nil {
		panic("journal: a fold needs a kind and an Apply")
	}
	o := options{
		now: time.Now, log: slog.Default(), headEvery: defaultHeadEvery, folds: defaultFolds, answers: defaultAnswers,
		tries: defaultTries, poll: defaultPoll,
		ticker: func(d time.Duration) (<-chan time.Time, func()) {
			t := time.NewTicker(d)
			return t.C, t.Stop
		},
		pause: pause,
	}
	for _, opt := range opts {
		opt(&o)
	}
	return &Journal[S]{
		store: store, fold: fold, opts: o,
		locks:   locks{inUse: map[string]*streamLock{}},
		folds:   newLRU[string, At[S]](o.folds),
		answers: newLRU[answerKey, Committed[S]](o.answers),
		watch:   followers{store: store, opts: o, active: map[string]*follower{}},
	}
}

// Close ends all watches and waits until they are gone. The store stays open.
func (j *Journal[S]) Close() error {
	j.watch.close()
	return nil
}

// Mode says what a command expects of its stream.
type Mode int

const (
	// MustExist refuses a command on a stream without records with NOT_FOUND.
	MustExist Mode = iota
	// Create refuses a command on a stream with records with ALREADY_EXISTS.
	Create
	// Either takes a stream with and without records.
	Either
)

// Command is what a caller wants recorded.
type Command struct {
	// Stream is the aggregate's stream. Not empty, at most [MaxStream] bytes of UTF-8.
	Stream string
	Mode   Mode
	// Campaign is the tenant. Required to create a stream that belongs to one; on an existing stream it may be empty,
	// and another one than the stream's is refused with NOT_FOUND.
	Campaign string
	// Parent is kept with record 1 for lists.
	Parent string
	// RequestID is required: 1 to [MaxRequestID] printable ASCII characters.
	RequestID string
	// RequestHash tells another request under the same id: it covers method, actor and request.
	RequestHash string
	Actor       string
	// OverrideReason is recorded as it is. A Decision may set it as well.
	OverrideReason string
	// Etag, when not empty, must name the present state of the stream; see [EtagOf].
	Etag string
	// Once forbids a second decision after a lost race, for commands with dice that were rolled by hand: the race is
	// then lost with ETAG_MISMATCH. Needs an Etag, unless Mode is Create.
	Once bool
}

// Decision is what a command comes to.
type Decision struct {
	// Events is what is recorded, each a JSON value. May be empty: then the command is recorded as such.
	Events []json.RawMessage
	Dice   []Die
	// OverrideReason, when not empty, replaces that of the command.
	OverrideReason string
	Note           string
	// Owing says that with this record the aggregate owes something that [Journal.Sweep] has to see through.
	Owing bool
	// Settled says that with this record the aggregate owes nothing any more.
	Settled bool
}

// Committed is the answer to a command.
type Committed[S any] struct {
	Record Record
	// State is the state after Record.
	State At[S]
	// Replayed is true when the command had been recorded before.
	Replayed bool
}

// Commit decides a command on the present state of its stream and records the decision. The same RequestID with the
// same RequestHash gets the first answer, whatever has happened since; with another hash it is refused.
//
// Decide is called with the state and may be called again, with a later state, after another writer was faster or
// when the first state turns out to be old; so it must change nothing outside. Its error is returned as it is, unless
// the command was recorded before. Besides that and failures of the store, Commit fails with an [Error]:
//   - INVALID_ARGUMENT: a field of the command is bad, or REQUEST_ID_REUSED, or ETAG_REQUIRED
//   - NOT_FOUND, ALREADY_EXISTS: see [Mode]
//   - ABORTED ETAG_MISMATCH: the state is not the one that Etag names
//   - ABORTED STREAM_BUSY: other writers were faster each time; repeat after RetryAfter
//   - INTERNAL JOURNAL_UNREADABLE: a record or a new event cannot be folded by this program
//   - UNAVAILABLE STORE_UNAVAILABLE: the store cannot be used for now; repeat after RetryAfter
//
// After UNAVAILABLE, and after any other error than these and decide's, the command may or may not have been recorded:
// repeat it.
func (j *Journal[S]) Commit(ctx context.Context, cmd Command, decide func(ctx context.Context, at At[S]) (Decision, error)) (Committed[S], error) {
	ctx, end := begin(ctx, j.fold.Kind, cmd.Stream)
	done, err := j.commit(ctx, cmd, decide)
	end(done.Record, done.Replayed, err)
	return done, err
}

func (j *Journal[S]) commit(ctx context.Context, cmd Command, decide func(ctx context.Context, at At[S]) (Decision, error)) (done Committed[S], err error) {
	if err := cmd.check(); err != nil {
		return Committed[S]{}, err
	}
	// Own commits take turns: they would only lose races against each other.
	lock, unlock, away := j.locks.lock(ctx.Done(), cmd.Stream)
	if lock == nil {
		return Committed[S]{}, fmt.Errorf("commit to %s: %w", cmd.Stream, context.Cause(ctx))
	}
	defer unlock()
	if away != nil {
		return Committed[S]{}, away
	}
	defer func() {
		if isAway(err) {
			lock.found(err)
		}
	}()

	if first, ok := j.answers.get(answerKey{cmd.Stream, cmd.RequestID}); ok {
		return first.replay(cmd)
	}
	// A fold from memory may be old. That costs nothing: the insert is the check.
	at, err := j.recall(ctx, cmd.Stream)
	if err != nil {
		return Committed[S]{}, err
	}
	if at.heardAll() { // what the fold covers is known without asking the store
		if first, ok, err := j.firstAnswer(ctx, cmd, at); err != nil || ok {
			return first, err
		}
	}
	for try := 1; ; try++ {
		p, refusal := j.propose(ctx, cmd, at, decide)
		reused := false
		if refusal == nil {
			err := j.insert(ctx, p.rec)
			if err == nil {
				return j.accept(ctx, p), nil
			}
			reused = errors.Is(err, ErrRequestTaken)
			if !reused && !errors.Is(err, ErrTaken) {
				return Committed[S]{}, fmt.Errorf("append record %d to %s: %w", p.rec.Seq, cmd.Stream, err)
			}
			if try > 1 && try < j.opts.tries {
				if err := j.opts.pause(ctx, backoff(try)); err != nil {
					return Committed[S]{}, fmt.Errorf("commit to %s: %w", cmd.Stream, err)
				}
			}
		}
		newer, err := j.catchUp(ctx, at)
		if err != nil {
			return Committed[S]{}, err
		}
		// A refusal, like a taken place, may be the echo of the command's own first success.
		known := newer
		if reused {
			known.heard = nil // the store knows better
		}
		if first, ok, err := j.firstAnswer(ctx, cmd, known); err != nil || ok {
			return first, err
		}
		switch {
		case refusal != nil && (newer.Seq == at.Seq || try >= j.opts.tries):
			return Committed[S]{}, refusal
		case refusal == nil:
			meters().conflicts.Add(ctx, 1, metric.WithAttributeSet(ofKind(j.fold.Kind)))
			if cmd.Once {
				return Committed[S]{}, errEtag(cmd.Stream)
			}
			if try >= j.opts.tries {
				return Committed[S]{}, errBusy(cmd.Stream, busyRetryAfter)
			}
		}
		at = newer
	}
}

// proposal is a decided command that awaits its insert.
type proposal[S any] struct {
	rec     Record
	next    At[S] // the state after rec
	settled bool
}

// propose decides the command on a state and folds the decision, so that nothing is stored that could not be loaded.
func (j *Journal[S]) propose(ctx context.Context, cmd Command, at At[S], decide func(context.Context, At[S]) (Decision, error)) (proposal[S], error) {
	switch {
	case cmd.Mode == MustExist && !at.Exists():
		return proposal[S]{}, errNotFound(cmd.Stream)
	case at.Exists() && cmd.Campaign != "" && cmd.Campaign != at.Campaign:
		return proposal[S]{}, errNotFound(cmd.Stream)
	case cmd.Mode == Create && at.Exists():
		return proposal[S]{}, errExists(cmd.Stream)
	case cmd.Etag != "" && cmd.Etag != at.Etag():
		return proposal[S]{}, errEtag(cmd.Stream)
	}
	d, err := decide(ctx, at)
	if err != nil {
		return proposal[S]{}, err
	}
	if err := d.check(cmd.Stream); err != nil {
		return proposal[S]{}, err
	}
	rec := Record{
		Stream: cmd.Stream, Seq: at.Next(), Campaign: at.Campaign, Kind: j.fold.Kind,
		RequestID: cmd.RequestID, RequestHash: cmd.RequestHash, Actor: cmd.Actor, OverrideReason: cmd.OverrideReason,
		Time: j.opts.now().UTC().Truncate(time.Millisecond), Fold: j.fold.Version,
		Events: d.Events, Dice: d.Dice, Note: d.Note, Owing: d.Owing,
	}
	// Whoever reads the journal later wants to know by which way a command came.
	rec.Principal = j.opts.self
	if p, ok := auth.FromContext(ctx); ok && p.Subject != "" {
		rec.Principal = p.Subject
	}
	if sc := trace.SpanContextFromContext(ctx); sc.HasTraceID() {
		rec.Trace = sc.TraceID().String()
	}
	if d.OverrideReason != "" {
		rec.OverrideReason = d.OverrideReason
	}
	if !at.Exists() {
		rec.Campaign, rec.Parent = cmd.Campaign, cmd.Parent
	}
	next, err := j.fold.extend(at, rec)
	if err != nil {
		return proposal[S]{}, err
	}
	return proposal[S]{rec: rec, next: next, settled: d.Settled}, nil
}

func (j *Journal[S]) insert(ctx context.Context, rec Record) error {
	if rec.Owing {
		// Before the record, so that a crash between the two leaves an entry too many and never one too few.
		if err := j.store.Owe(ctx, Obligation{Kind: rec.Kind, Stream: rec.Stream, Seq: rec.Seq}); err != nil {
			return err
		}
	}
	return j.store.Insert(ctx, rec)
}

// accept does what is left after the insert. None of it matters to what is stored, so nothing of it fails.
func (j *Journal[S]) accept(ctx context.Context, p proposal[S]) Committed[S] {
	rec, at := p.rec, p.next
	c := Committed[S]{Record: rec, State: at}
	j.remember(at)
	j.answers.put(answerKey{rec.Stream, rec.RequestID}, c, nil)
	j.watch.publish(rec)
	if p.settled {
		if err := j.store.Settle(ctx, rec.Stream, rec.Seq); err != nil {
			j.opts.log.WarnContext(ctx, "settled obligation stays in the index", "stream", rec.Stream, "seq", rec.Seq, "err", err)
		}
	}
	if rec.Seq%j.opts.headEvery == 0 || j.fold.Ended != nil && j.fold.Ended(at.State) {
		j.putHead(ctx, at)
	}
	return c
}

// firstAnswer looks up whether the command was recorded before, up to the given state at least.
func (j *Journal[S]) firstAnswer(ctx context.Context, cmd Command, at At[S]) (c Committed[S], ok bool, err error) {
	rec, err := j.byRequest(ctx, at, cmd.RequestID)
	if errors.Is(err, ErrNotFound) {
		return c, false, nil
	}
	if err != nil {
		return c, false, fmt.Errorf("look request %q of %s up: %w", cmd.RequestID, cmd.Stream, err)
	}
	if rec.RequestHash != cmd.RequestHash {
		return c, false, errReused(cmd.Stream, cmd.RequestID)
	}
	then, err := j.StateAt(ctx, cmd.Stream, rec.Seq)
	if err != nil {
		return c, false, err
	}
	c = Committed[S]{Record: rec, State: then, Replayed: true}
	j.answers.put(answerKey{rec.Stream, rec.RequestID}, c, nil)
	return c, true, nil
}

// byRequest returns the record that has the request id, or [ErrNotFound]. A state that knows of all of them saves the look-up.
func (j *Journal[S]) byRequest(ctx context.Context, at At[S], requestID string) (Record, error) {
	if !at.heardAll() {
		return j.store.ByRequest(ctx, at.Stream, requestID)
	}
	for seq := range at.heard.places(requestID) {
		recs, err := j.store.Read(ctx, at.Stream, seq-1, 1)
		if err != nil {
			return Record{}, err
		}
		if len(recs) > 0 && recs[0].RequestID == requestID {
			return recs[0], nil
		}
	}
	return Record{}, ErrNotFound
}

// Answer returns the first answer to a command that was recorded before, and whether there is one. It decides nothing.
// Another RequestHash under the same id is refused with REQUEST_ID_REUSED.
func (j *Journal[S]) Answer(ctx context.Context, cmd Command) (Committed[S], bool, error) {
	if err := cmd.check(); err != nil {
		return Committed[S]{}, false, err
	}
	if first, ok := j.answers.get(answerKey{cmd.Stream, cmd.RequestID}); ok {
		first, err := first.replay(cmd)
		return first, err == nil, err
	}
	at, ok := j.folds.get(cmd.Stream)
	if !ok || at.heardAll() {
		var err error
		if at, err = j.Peek(ctx, cmd.Stream); err != nil {
			return Committed[S]{}, false, err
		}
	}
	return j.firstAnswer(ctx, cmd, at)
}

func (c Committed[S]) replay(cmd Command) (Committed[S], error) {
	if c.Record.RequestHash != cmd.RequestHash {
		return Committed[S]{}, errReused(cmd.Stream, cmd.RequestID)
	}
	c.Replayed = true
	return c, nil
}

// Load returns the present state of a stream. It fails with NOT_FOUND when the stream has no records.
func (j *Journal[S]) Load(ctx context.Context, stream string) (At[S], error) {
	at, err := j.Peek(ctx, stream)
	if err == nil && !at.Exists() {
		return at, errNotFound(stream)
	}
	return at, err
}

// Peek is Load for streams that need not exist: without records it returns the zero state.
func (j *Journal[S]) Peek(ctx context.Context, stream string) (At[S], error) {
	if at, ok := j.folds.get(stream); ok {
		return j.catchUp(ctx, at)
	}
	return j.fetch(ctx, stream)
}

// recall returns a state that other processes may have left behind: the one in memory, or else the present one.
func (j *Journal[S]) recall(ctx context.Context, stream string) (At[S], error) {
	if at, ok := j.folds.get(stream); ok {
		return at, nil
	}
	return j.fetch(ctx, stream)
}

// fetch folds a stream from its head and the records after it.
func (j *Journal[S]) fetch(ctx context.Context, stream string) (At[S], error) {
	at, recs, whole, err := j.fromHead(ctx, stream, 0)
	if err != nil {
		return at, err
	}
	return j.follow(ctx, at, recs, whole, 0)
}

// fromHead returns the state in the head, or else the zero state, with a first page of the records after it and whether
// that page goes to the end of the stream. With through above 0 it is the zero state when the head lies after that record.
// Whatever is wrong with the head only costs time.
func (j *Journal[S]) fromHead(ctx context.Context, stream string, through int) (at At[S], recs []Record, whole bool, err error) {
	h, err := j.store.Head(ctx, stream, j.fold.Version)
	if err == nil {
		at, err = j.fold.decodeHead(stream, h)
	}
	switch {
	case errors.Is(err, ErrNotFound):
		return j.fold.zero(stream), nil, false, nil
	case ctx.Err() != nil || isAway(err):
		return at, nil, false, fmt.Errorf("load %s: %w", stream, err)
	case err != nil:
		j.opts.log.WarnContext(ctx, "head is of no use", "stream", stream, "fold", j.fold.Version, "err", err)
		return j.fold.zero(stream), nil, false, nil
	case through > 0 && at.Seq > through:
		return j.fold.zero(stream), nil, false, nil
	}
	// The record of the head is read again: a head that is ahead of the journal, or of another one, is told by it.
	limit := pageFor(at.Seq-1, through)
	recs, err = j.store.Read(ctx, stream, at.Seq-1, limit)
	if err != nil {
		return at, nil, false, fmt.Errorf("load %s: %w", stream, err)
	}
	if len(recs) == 0 || recs[0].Seq != at.Seq || recs[0].RequestID != at.last {
		j.opts.log.WarnContext(ctx, "head does not belong to the records", "stream", stream, "fold", j.fold.Version, "seq", at.Seq)
		return j.fold.zero(stream), nil, false, nil
	}
	return at, recs[1:], len(recs) < limit, nil
}

// pageFor is how many records to read after seq on the way to the record through, or to the end when that is 0.
func pageFor(seq, through int) int {
	if through > 0 {
		return min(readPage, through-seq)
	}
	return readPage
}

// catchUp folds the records that a state lacks.
func (j *Journal[S]) catchUp(ctx context.Context, at At[S]) (At[S], error) {
	return j.follow(ctx, at, nil, false, 0)
}

// follow folds recs, which are those after at, and then, unless they are the whole rest, the further records of the
// stream up to seq through, or all of them when through is 0.
func (j *Journal[S]) follow(ctx context.Context, at At[S], recs []Record, whole bool, through int) (At[S], error) {
	from := at.Seq
	for {
		var err error
		if at, err = j.fold.extend(at, recs...); err != nil {
			return at, err
		}
		if whole || through > 0 && at.Seq == through {
			break
		}
		limit := pageFor(at.Seq, through)
		if recs, err = j.store.Read(ctx, at.Stream, at.Seq, limit); err != nil {
			return at, fmt.Errorf("load %s: %w", at.Stream, err)
		}
		if len(recs) == 0 {
			break
		}
		whole = len(recs) < limit
	}
	if through == 0 {
		j.remember(at)
		if at.Seq-from >= j.opts.headEvery {
			j.putHead(ctx, at)
		}
	}
	return at, nil
}

// StateAt returns the state of a stream as it was after record seq. It fails with NOT_FOUND when there is no such
// record. A state that lies before the stream's head is folded from record 1.
func (j *Journal[S]) StateAt(ctx context.Context, stream string, seq int) (At[S], error) {
	if seq < 1 {
		return At[S]{}, errNotFound(fmt.Sprintf("record %d of %s", seq, stream))
	}
	at, ok := j.folds.get(stream)
	var recs []Record
	var whole bool
	if !ok || at.Seq > seq {
		var err error
		if at, recs, whole, err = j.fromHead(ctx, stream, seq); err != nil {
			return at, err
		}
	}
	at, err := j.follow(ctx, at, recs, whole, seq)
	if err == nil && at.Seq != seq {
		err = errNotFound(fmt.Sprintf("record %d of %s", seq, stream))
	}
	return at, err
}

// Records returns at most limit records of a stream from seq after+1 on.
func (j *Journal[S]) Records(ctx context.Context, stream string, after, limit int) ([]Record, error) {
	recs, err := j.store.Read(ctx, stream, after, limit)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", stream, err)
	}
	return recs, nil
}

func (j *Journal[S]) remember(at At[S]) {
	if at.Exists() {
		j.folds.put(at.Stream, at, func(old At[S]) bool { return old.Seq > at.Seq })
	}
}

// putHead writes the head, also when the caller has gone meanwhile. Losing it loses nothing.
func (j *Journal[S]) putHead(ctx context.Context, at At[S]) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), headTimeout)
	defer cancel()
	h, err := j.fold.encodeHead(at)
	if err == nil {
		err = j.store.PutHead(ctx, h)
	}
	if err != nil {
		j.opts.log.WarnContext(ctx, "head not written", "stream", at.Stream, "seq", at.Seq, "err", err)
	}
}

func (c Command) check() error {
	switch {
	case c.Stream == "" || len(c.Stream) > MaxStream || !utf8.ValidString(c.Stream) || strings.ContainsRune(c.Stream, 0):
		return errInvalid("name", "a stream needs a name of 1 to %d bytes of UTF-8", MaxStream)
	case len(c.RequestID) == 0 || len(c.RequestID) > MaxRequestID:
		return errInvalid("request_id", "request_id needs 1 to %d characters", MaxRequestID)
	case strings.ContainsFunc(c.RequestID, func(r rune) bool { return r < 0x20 || r > 0x7e }):
		return errInvalid("request_id", "request_id may only hold printable ASCII characters")
	case c.Once && c.Etag == "" && c.Mode != Create:
		return errorf(InvalidArgument, ReasonEtagRequired, "etag", "dice rolled by hand need the etag of the state they were rolled for")
	}
	return nil
}

func (d Decision) check(stream string) error {
	size := 0
	for i, ev := range d.Events {
		size += len(ev)
		if !json.Valid(ev) || !utf8.Valid(ev) {
			return fmt.Errorf("decide on %s: event %d is not JSON", stream, i)
		}
	}
	if size > MaxEvents {
		return fmt.Errorf("decide on %s: %d bytes of events, more than %d", stream, size, MaxEvents)
	}
	return nil
}

const busyRetryAfter = 500 * time.Millisecond

// backoff is a random time that grows with the tries, so that equal racers part.
func backoff(try int) time.Duration {
	return rand.N(time.Millisecond << min(try, 7)) //nolint:gosec // not a secret
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
