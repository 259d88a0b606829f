package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"github.com/wayfarer-rpg/wayfarer/internal/journal"
)

// Snapshot reads a file as it was at one moment, while others go on writing to it. It is not safe for concurrent use.
type Snapshot struct {
	db   *sql.DB
	conn *sql.Conn
}

// Freeze takes snapshots of several files that belong together, all of one and the same moment: what was written to one of
// them because of what had been written to another is never seen without its cause. For that moment, some milliseconds,
// nobody writes to any of the files; writers wait. It fails, and waits for no longer than some seconds, when a file does
// not exist, is of another format than this program's, or stays locked. Close the snapshots: until then the files' logs
// cannot be folded into them.
func Freeze(ctx context.Context, paths ...string) (_ []*Snapshot, err error) {
	var held []*sql.Conn
	var snaps []*Snapshot
	defer func() {
		for _, conn := range held {
			_, end := conn.ExecContext(context.WithoutCancel(ctx), `ROLLBACK`)
			err = errors.Join(err, end, conn.Close())
		}
		if err != nil {
			for _, s := range snaps {
				err = errors.Join(err, s.Close())
			}
		}
	}()
	for _, path := range paths {
		s, err := openSnapshot(ctx, path)
		if err != nil {
			return nil, fmt.Errorf("read journal %s: %w", path, err)
		}
		snaps = append(snaps, s)
	}
	// Each program holds the lock of its own file alone, so taking one after the other cannot end in a circle.
	for i, s := range snaps {
		conn, err := s.db.Conn(ctx)
		if err != nil {
			return nil, err
		}
		if _, err := conn.ExecContext(ctx, `BEGIN IMMEDIATE`); err != nil {
			return nil, errors.Join(fmt.Errorf("read journal %s: %w", paths[i], err), conn.Close())
		}
		held = append(held, conn)
	}
	for i, s := range snaps {
		if err := s.begin(ctx); err != nil {
			return nil, fmt.Errorf("read journal %s: %w", paths[i], err)
		}
	}
	return snaps, nil
}

func openSnapshot(ctx context.Context, path string) (_ *Snapshot, err error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(abs); err != nil {
		return nil, err
	}
	q := url.Values{"mode": {"rw"}, "_pragma": {fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds())}}
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: abs}).EscapedPath()+"?"+q.Encode())
	if err != nil {
		return nil, err
	}
	s := &Snapshot{db: db}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if s.conn, err = db.Conn(ctx); err != nil {
		return nil, err
	}
	var version int
	if err := s.conn.QueryRowContext(ctx, `PRAGMA user_version`).Scan(&version); err != nil {
		return nil, err
	}
	if version != schemaVersion {
		return nil, fmt.Errorf("the file has schema version %d, this program reads %d", version, schemaVersion)
	}
	return s, nil
}

// begin holds on to the present moment: a reader sees nothing that is committed after its first read.
func (s *Snapshot) begin(ctx context.Context) error {
	if _, err := s.conn.ExecContext(ctx, `BEGIN`); err != nil {
		return err
	}
	var n int
	return s.conn.QueryRowContext(ctx, `SELECT count(*) FROM (SELECT 1 FROM records LIMIT 1)`).Scan(&n)
}

// Close lets the moment go.
func (s *Snapshot) Close() error {
	var err error
	if s.conn != nil {
		err = s.conn.Close()
	}
	return errors.Join(err, s.db.Close())
}

// Read is that of a [journal.Store].
func (s *Snapshot) Read(ctx context.Context, stream string, after, limit int) ([]journal.Record, error) {
	return records(s.conn.QueryContext(ctx, readRecords, stream, after, max(limit, 0)))
}

// Firsts is that of a [journal.Store].
func (s *Snapshot) Firsts(ctx context.Context, f journal.Filter, c journal.Cursor, limit int) ([]journal.Record, error) {
	query, args := firsts(f, c, limit)
	return records(s.conn.QueryContext(ctx, query, args...))
}

// Owing is that of a [journal.Store].
func (s *Snapshot) Owing(ctx context.Context, kind string, after journal.Obligation, limit int) ([]journal.Obligation, error) {
	return obligations(s.conn.QueryContext(ctx, readOwing, kind, owingID(after), max(limit, 0)))
}

// Head is that of a [journal.Store].
func (s *Snapshot) Head(ctx context.Context, stream string, fold int) (journal.Head, error) {
	return head(s.conn.QueryRowContext(ctx, readHead, stream, fold), stream, fold)
}
