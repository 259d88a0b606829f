// Package sqlite keeps the journal of one service in a file of its own, for installations on one machine. Several
// processes may share the file. An acknowledged record survives the death of the process and of the machine: the file
// uses a write-ahead log that is synced at each commit.
//
// What the edge loses: nothing that the journal stores. An error does not tell whether the insert it came from was
// done; the journal finds out when the command is repeated.
package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	msqlite "modernc.org/sqlite" // registers the driver "sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/wayfarer-rpg/wayfarer/internal/journal"
)

const (
	// schemaVersion is kept in the file's user_version. A file of a later version is refused.
	schemaVersion = 2

	// busyTimeout is how long SQLite waits for the lock of another process, operationTimeout how long an operation takes
	// at most, waiting for our own writers included. The first is the shorter one, since SQLite's wait does not end with
	// a context.
	busyTimeout      = 4 * time.Second
	operationTimeout = 5 * time.Second
	// startTimeout is how long another process may be busy with the file's change to its format.
	startTimeout = 10 * time.Second
	readers      = 4

	// writerPages and readerPages are how many pages of 4 KiB connections keep at most. All connections of a process
	// share what they may keep in all: one that writes takes the room of those that rarely read, page by page, and a
	// program would grow for hours by what it hardly ever uses again. Readers forget all their pages after each write
	// anyhow, and the system has the file in its memory. Below some ten pages SQLite counts a connection as ten.
	writerPages = 128
	readerPages = 16
)

// Record 1 of each stream has index entries of its own, so that lists do not walk all records.
const schema = `
CREATE TABLE IF NOT EXISTS records (
	stream          TEXT    NOT NULL,
	seq             INTEGER NOT NULL,
	campaign        TEXT    NOT NULL,
	kind            TEXT    NOT NULL,
	parent          TEXT    NOT NULL,
	request_id      TEXT    NOT NULL,
	request_hash    TEXT    NOT NULL,
	actor           TEXT    NOT NULL,
	override_reason TEXT    NOT NULL,
	time            INTEGER NOT NULL, -- Unix milliseconds
	fold            INTEGER NOT NULL,
	events          TEXT    NOT NULL, -- JSON array of events, each as a string
	dice            TEXT    NOT NULL, -- JSON array
	note            TEXT    NOT NULL,
	owing           INTEGER NOT NULL,
	principal       TEXT    NOT NULL DEFAULT '',
	trace           TEXT    NOT NULL DEFAULT '',
	PRIMARY KEY (stream, seq),
	UNIQUE (stream, request_id)
);
CREATE INDEX IF NOT EXISTS list_all      ON records (kind, time DESC, stream DESC) WHERE seq = 1;
CREATE INDEX IF NOT EXISTS list_campaign ON records (kind, campaign, time DESC, stream DESC) WHERE seq = 1;
CREATE INDEX IF NOT EXISTS list_parent   ON records (kind, parent, time DESC, stream DESC) WHERE seq = 1;
CREATE TABLE IF NOT EXISTS heads (
	stream     TEXT    NOT NULL,
	fold       INTEGER NOT NULL,
	seq        INTEGER NOT NULL,
	request_id TEXT    NOT NULL,
	state      TEXT    NOT NULL,
	sum        TEXT    NOT NULL,
	PRIMARY KEY (stream, fold)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS owing (
	id     TEXT    PRIMARY KEY,
	kind   TEXT    NOT NULL,
	stream TEXT    NOT NULL,
	seq    INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS owing_kind ON owing (kind, id);
CREATE INDEX IF NOT EXISTS owing_stream ON owing (stream, seq);
`

// fromFirst are what files of version 1 lack.
const fromFirst = `
ALTER TABLE records ADD COLUMN principal TEXT NOT NULL DEFAULT '';
ALTER TABLE records ADD COLUMN trace     TEXT NOT NULL DEFAULT '';
`

const columns = `stream, seq, campaign, kind, parent, request_id, request_hash, actor, override_reason, time, fold, events, dice, note, owing, principal, trace`

const (
	readRecords = `SELECT ` + columns + ` FROM records WHERE stream = ? AND seq > ? ORDER BY seq LIMIT ?`
	readOwing   = `SELECT kind, stream, seq FROM owing WHERE kind = ? AND id > ? ORDER BY id LIMIT ?`
	readHead    = `SELECT seq, request_id, state, sum FROM heads WHERE stream = ? AND fold = ?`
)

// Store is a [journal.Store] in an SQLite file. Use [Open].
type Store struct {
	// The file takes one writer at a time. A single connection makes our own writers queue here, in order, and not
	// in SQLite's busy loop.
	writer *sql.DB
	reader *sql.DB

	insert, taken, read, byRequest, head, putHead, owe, owing, settle *sql.Stmt
}

// Open opens the file at path, which is created with its directory when it is not there.
func Open(ctx context.Context, path string) (*Store, error) {
	s, err := open(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("open journal %s: %w", path, err)
	}
	return s, nil
}

func open(ctx context.Context, path string) (_ *Store, err error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(abs), 0o750); err != nil {
		return nil, err
	}
	// The journal holds secrets of the game: SQLite gives its side files the mode of the file.
	f, err := os.OpenFile(abs, os.O_CREATE|os.O_RDWR, 0o600) //nolint:gosec // the path is the operator's
	if err != nil {
		return nil, err
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	s := &Store{}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if s.writer, err = sql.Open("sqlite", dsn(abs, writerPages, "_pragma", "synchronous(FULL)", "_txlock", "immediate")); err != nil {
		return nil, err
	}
	s.writer.SetMaxOpenConns(1)
	if err := s.migrate(ctx); err != nil {
		return nil, err
	}
	if s.reader, err = sql.Open("sqlite", dsn(abs, readerPages, "_pragma", "query_only(1)")); err != nil {
		return nil, err
	}
	s.reader.SetMaxOpenConns(readers)
	s.reader.SetMaxIdleConns(readers)
	for _, p := range []struct {
		to  **sql.Stmt
		db  *sql.DB
		sql string
	}{
		{&s.insert, s.writer, `INSERT INTO records (` + columns + `) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT DO NOTHING`},
		{&s.taken, s.writer, `SELECT EXISTS (SELECT 1 FROM records WHERE stream = ? AND seq = ?)`},
		{&s.read, s.reader, readRecords},
		{&s.byRequest, s.reader, `SELECT ` + columns + ` FROM records WHERE stream = ? AND request_id = ?`},
		{&s.head, s.reader, readHead},
		{&s.putHead, s.writer, `INSERT OR REPLACE INTO heads (stream, fold, seq, request_id, state, sum) VALUES (?,?,?,?,?,?)`},
		{&s.owe, s.writer, `INSERT INTO owing (id, kind, stream, seq) VALUES (?,?,?,?) ON CONFLICT DO NOTHING`},
		{&s.owing, s.reader, readOwing},
		{&s.settle, s.writer, `DELETE FROM owing WHERE stream = ? AND seq <= ?`},
	} {
		if *p.to, err = p.db.PrepareContext(ctx, p.sql); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func dsn(path string, pages int, params ...string) string {
	q := url.Values{"_pragma": {
		fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds()), "journal_mode(WAL)", fmt.Sprintf("cache_size(%d)", pages),
	}}
	for i := 0; i < len(params); i += 2 {
		q.Add(params[i], params[i+1])
	}
	return "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + q.Encode()
}

// migrate makes the tables. Two processes may start at once, and the change to a write-ahead log does not wait for
// another's lock as everything else does; so it is tried again.
func (s *Store) migrate(ctx context.Context) error {
	deadline := time.Now().Add(startTimeout)
	for {
		err := s.migrateOnce(ctx)
		var e *msqlite.Error
		if err == nil || !errors.As(err, &e) || e.Code()&0xff != sqlite3.SQLITE_BUSY || time.Now().After(deadline) {
			return err
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return errors.Join(err, context.Cause(ctx))
		}
	}
}

func (s *Store) migrateOnce(ctx context.Context) error {
	tx, err := s.writer.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after Commit it does nothing
	var version int
	if err := tx.QueryRowContext(ctx, `PRAGMA user_version`).Scan(&version); err != nil {
		return err
	}
	switch {
	case version == schemaVersion:
		return nil
	case version > schemaVersion:
		return fmt.Errorf("the file has schema version %d, this program knows %d", version, schemaVersion)
	}
	change := schema
	if version == 1 {
		change = fromFirst
	}
	if _, err := tx.ExecContext(ctx, change+fmt.Sprintf("PRAGMA user_version = %d;", schemaVersion)); err != nil {
		return err
	}
	return tx.Commit()
}

// begin bounds an operation. The end of it tells a file that cannot be used for now from other failures; an end of the
// caller's own context is neither.
func begin(ctx context.Context, err *error) (context.Context, context.CancelFunc) {
	within, cancel := context.WithTimeout(ctx, operationTimeout)
	return within, func() {
		cancel()
		if ctx.Err() == nil && isAway(*err) {
			*err = journal.Away(*err)
		}
	}
}

// isAway tells whether an error says that the file is locked for too long, or that the disk is full or fails: all of it
// may be over by and by.
func isAway(err error) bool {
	if errors.Is(err, context.DeadlineExceeded) {
		return true
	}
	var e *msqlite.Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL,
		sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PROTOCOL:
		return true
	}
	return false
}

// Insert implements [journal.Store].
func (s *Store) Insert(ctx context.Context, r journal.Record) (err error) {
	ctx, end := begin(ctx, &err)
	defer end()
	args, err := row(r)
	if err != nil {
		return err
	}
	res, err := s.insert.ExecContext(ctx, args...)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n == 1 {
		return err
	}
	var taken bool
	if err := s.taken.QueryRowContext(ctx, r.Stream, r.Seq).Scan(&taken); err != nil {
		return err
	}
	if taken {
		return journal.ErrTaken
	}
	return journal.ErrRequestTaken
}

// row is a record as the columns have it.
func row(r journal.Record) ([]any, error) {
	events := make([]string, len(r.Events))
	for i, e := range r.Events {
		events[i] = string(e)
	}
	ev, err := json.Marshal(events)
	if err != nil {
		return nil, err
	}
	dice, err := json.Marshal(r.Dice)
	if err != nil {
		return nil, err
	}
	return []any{
		r.Stream, r.Seq, r.Campaign, r.Kind, r.Parent, r.RequestID, r.RequestHash,
		r.Actor, r.OverrideReason, r.Time.UnixMilli(), r.Fold, string(ev), string(dice), r.Note, r.Owing, r.Principal, r.Trace,
	}, nil
}

// InsertMany implements [journal.Bulk]: all records or none.
func (s *Store) InsertMany(ctx context.Context, recs []journal.Record) (err error) {
	ctx, end := begin(ctx, &err)
	defer end()
	tx, err := s.writer.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after Commit it does nothing
	insert := tx.StmtContext(ctx, s.insert)
	for _, r := range recs {
		args, err := row(r)
		if err != nil {
			return err
		}
		res, err := insert.ExecContext(ctx, args...)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil {
			return err
		} else if n == 0 {
			return journal.ErrTaken
		}
	}
	return tx.Commit()
}

// Read implements [journal.Store].
func (s *Store) Read(ctx context.Context, stream string, after, limit int) (_ []journal.Record, err error) {
	ctx, end := begin(ctx, &err)
	defer end()
	return records(s.read.QueryContext(ctx, stream, after, max(limit, 0)))
}

// ByRequest implements [journal.Store].
func (s *Store) ByRequest(ctx context.Context, stream, requestID string) (_ journal.Record, err error) {
	ctx, end := begin(ctx, &err)
	defer end()
	recs, err := records(s.byRequest.QueryContext(ctx, stream, requestID))
	if err == nil && len(recs) == 0 {
		err = journal.ErrNotFound
	}
	if err != nil {
		return journal.Record{}, err
	}
	return recs[0], nil
}

// Firsts implements [journal.Store].
func (s *Store) Firsts(ctx context.Context, f journal.Filter, c journal.Cursor, limit int) (_ []journal.Record, err error) {
	ctx, end := begin(ctx, &err)
	defer end()
	query, args := firsts(f, c, limit)
	return records(s.reader.QueryContext(ctx, query, args...))
}

func firsts(f journal.Filter, c journal.Cursor, limit int) (query string, args []any) {
	where := `seq = 1`
	for _, cond := range []struct{ column, value string }{{"kind", f.Kind}, {"campaign", f.Campaign}, {"parent", f.Parent}} {
		if cond.value != "" {
			where += ` AND ` + cond.column + ` = ?`
			args = append(args, cond.value)
		}
	}
	if !c.IsZero() {
		where += ` AND (time, stream) < (?, ?)`
		args = append(args, c.Time.UnixMilli(), c.Stream)
	}
	return `SELECT ` + columns + ` FROM records WHERE ` + where + ` ORDER BY time DESC, stream DESC LIMIT ?`,
		append(args, max(limit, 0))
}

func records(rows *sql.Rows, err error) ([]journal.Record, error) {
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }() // Err tells more
	var out []journal.Record
	for rows.Next() {
		var (
			r            journal.Record
			ms           int64
			events, dice []byte
			texts        []string
		)
		if err := rows.Scan(&r.Stream, &r.Seq, &r.Campaign, &r.Kind, &r.Parent, &r.RequestID, &r.RequestHash, &r.Actor,
			&r.OverrideReason, &ms, &r.Fold, &events, &dice, &r.Note, &r.Owing, &r.Principal, &r.Trace); err != nil {
			return nil, err
		}
		r.Time = time.UnixMilli(ms).UTC()
		if err := json.Unmarshal(events, &texts); err != nil {
			return nil, fmt.Errorf("events of record %d of %s: %w", r.Seq, r.Stream, err)
		}
		for _, t := range texts {
			r.Events = append(r.Events, json.RawMessage(t))
		}
		if err := json.Unmarshal(dice, &r.Dice); err != nil {
			return nil, fmt.Errorf("dice of record %d of %s: %w", r.Seq, r.Stream, err)
		}
		out = append(out, r)
	}
	return out, rows.Err()
}

// Head implements [journal.Store].
func (s *Store) Head(ctx context.Context, stream string, fold int) (_ journal.Head, err error) {
	ctx, end := begin(ctx, &err)
	defer end()
	return head(s.head.QueryRowContext(ctx, stream, fold), stream, fold)
}

func head(row *sql.Row, stream string, fold int) (journal.Head, error) {
	h := journal.Head{Stream: stream, Fold: fold}
	var state []byte
	err := row.Scan(&h.Seq, &h.RequestID, &state, &h.Sum)
	if errors.Is(err, sql.ErrNoRows) {
		err = journal.ErrNotFound
	}
	h.State = state
	return h, err
}

// PutHead implements [journal.Store].
func (s *Store) PutHead(ctx context.Context, h journal.Head) (err error) {
	ctx, end := begin(ctx, &err)
	defer end()
	_, err = s.putHead.ExecContext(ctx, h.Stream, h.Fold, h.Seq, h.RequestID, string(h.State), h.Sum)
	return err
}

// DropHeads implements [journal.HeadDropper].
func (s *Store) DropHeads(ctx context.Context) (_ int, err error) {
	ctx, end := begin(ctx, &err)
	defer end()
	res, err := s.writer.ExecContext(ctx, `DELETE FROM heads`)
	if err != nil {
		return 0, err
	}
	n, err := res.RowsAffected()
	return int(n), err
}

// Owe implements [journal.Store].
func (s *Store) Owe(ctx context.Context, o journal.Obligation) (err error) {
	ctx, end := begin(ctx, &err)
	defer end()
	_, err = s.owe.ExecContext(ctx, journal.RecordID(o.Stream, o.Seq), o.Kind, o.Stream, o.Seq)
	return err
}

// Owing implements [journal.Store].
func (s *Store) Owing(ctx context.Context, kind string, after journal.Obligation, limit int) (_ []journal.Obligation, err error) {
	ctx, end := begin(ctx, &err)
	defer end()
	return obligations(s.owing.QueryContext(ctx, kind, owingID(after), max(limit, 0)))
}

// owingID is the id of an entry; that of none sorts before all.
func owingID(o journal.Obligation) string {
	if o == (journal.Obligation{}) {
		return ""
	}
	return journal.RecordID(o.Stream, o.Seq)
}

func obligations(rows *sql.Rows, err error) ([]journal.Obligation, error) {
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }() // Err tells more
	var out []journal.Obligation
	for rows.Next() {
		var o journal.Obligation
		if err := rows.Scan(&o.Kind, &o.Stream, &o.Seq); err != nil {
			return nil, err
		}
		out = append(out, o)
	}
	return out, rows.Err()
}

// Settle implements [journal.Store].
func (s *Store) Settle(ctx context.Context, stream string, through int) (err error) {
	ctx, end := begin(ctx, &err)
	defer end()
	_, err = s.settle.ExecContext(ctx, stream, through)
	return err
}

// Ping implements [journal.Store].
func (s *Store) Ping(ctx context.Context) error {
	return errors.Join(s.reader.PingContext(ctx), s.writer.PingContext(ctx))
}

// Close implements [journal.Store].
func (s *Store) Close() error {
	var errs []error
	for _, db := range []*sql.DB{s.reader, s.writer} { // the writer last: it folds the log into the file
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
}
