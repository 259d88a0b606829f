package sqlite_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wayfarer-rpg/wayfarer/internal/journal"
	"github.com/wayfarer-rpg/wayfarer/internal/journal/journaltest"
	"github.com/wayfarer-rpg/wayfarer/internal/journal/sqlite"
)

func fresh(t testing.TB) journaltest.Place {
	path := filepath.Join(t.TempDir(), "the journal?#%.db") // needs escaping
	return func(t testing.TB) journal.Store {
		s, err := sqlite.Open(context.Background(), path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		return s
	}
}

func TestStore(t *testing.T) {
	t.Parallel()
	journaltest.Run(t, journaltest.Options{}, fresh)
}

func TestFileIsPrivateAndDurable(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "sub", "j.db")
	s, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Insert(t.Context(), journal.Record{Stream: "a", Seq: 1, RequestID: "1", Kind: "k"}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{path, path + "-wal"} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", name, info.Mode())
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestManyOpenAnEmptyFileAtOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "j.db")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			s, err := sqlite.Open(t.Context(), path)
			if err != nil {
				t.Error(err)
				return
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

func TestFileOfALaterVersionIsRefused(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "j.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), "PRAGMA user_version = 99"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlite.Open(t.Context(), path); err == nil || !strings.Contains(err.Error(), "schema version 99") {
		t.Fatalf("got %v", err)
	}
}

// A file of the first version is carried over: its records are there, and new ones say who gave them by which way.
func TestAFileOfTheFirstVersionIsCarriedOver(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "j.db")
	s, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	rec := journal.Record{
		Stream: "s", Seq: 1, Kind: "tally", RequestID: "r", RequestHash: "h", Actor: "ada", Time: time.UnixMilli(1).UTC(), Fold: 1,
		Events: []json.RawMessage{json.RawMessage(`1`)},
	}
	if err := errors.Join(s.Insert(t.Context(), rec), s.Close()); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	for _, back := range []string{"ALTER TABLE records DROP COLUMN principal", "ALTER TABLE records DROP COLUMN trace", "PRAGMA user_version = 1"} {
		if _, err := db.ExecContext(t.Context(), back); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = sqlite.Open(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	later := rec
	later.Seq, later.RequestID, later.Principal, later.Trace = 2, "r2", "travel", "4bf92f3577b34da6a3ce929d0e0e4736"
	if err := s.Insert(t.Context(), later); err != nil {
		t.Fatal(err)
	}
	got, err := s.Read(t.Context(), "s", 0, 10)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]journal.Record{rec, later}, got); d != "" {
		t.Error(d)
	}
}

func TestAFileThatIsLockedForLongIsAway(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "j.db")
	s, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	other, err := sql.Open("sqlite", "file:"+path+"?_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.Close() })
	var tx *sql.Tx
	journaltest.Away(t, s, journaltest.Outage{
		Within: 25 * time.Second,
		Begin: func() {
			if tx, err = other.BeginTx(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
		},
		End: func() { _ = tx.Rollback() },
	})
}

func BenchmarkStore(b *testing.B) { journaltest.Bench(b, fresh) }
