package sqlite

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wayfarer-rpg/wayfarer/internal/journal"
	"github.com/wayfarer-rpg/wayfarer/internal/journal/journaltest"
)

func TestConnectionsAreSetUp(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "j.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": "2", "busy_timeout": "4000"} {
		var got string
		if err := s.writer.QueryRowContext(t.Context(), "PRAGMA "+pragma).Scan(&got); err != nil {
			t.Fatal(err)
		}
		if got != want {
			t.Errorf("%s is %s, want %s", pragma, got, want)
		}
	}
	for db, want := range map[*sql.DB]int{s.writer: writerPages, s.reader: readerPages} {
		for range db.Stats().MaxOpenConnections {
			conn, err := db.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = conn.Close() }) // until then the next one is another
			var got int
			if err := conn.QueryRowContext(t.Context(), "PRAGMA cache_size").Scan(&got); err != nil {
				t.Fatal(err)
			}
			if got != want {
				t.Errorf("a connection keeps %d pages, want %d", got, want)
			}
		}
	}
}

func TestReadersDoNotWrite(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "j.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if _, err := s.reader.ExecContext(t.Context(), "DELETE FROM records"); err == nil {
		t.Error("a reader may write")
	}
}

func TestListsWalkAnIndexOfFirstRecords(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "j.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	for index, f := range map[string]journal.Filter{
		"list_all": {Kind: "run"}, "list_campaign": {Kind: "run", Campaign: "c"}, "list_parent": {Kind: "run", Parent: "p"},
	} {
		for _, c := range []journal.Cursor{{}, {Stream: "a"}} {
			query, args := firsts(f, c, 10)
			rows, err := s.reader.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+query, args...)
			if err != nil {
				t.Fatal(err)
			}
			var plan []string
			for rows.Next() {
				var id, parent, unused int
				var step string
				if err := rows.Scan(&id, &parent, &unused, &step); err != nil {
					t.Fatal(err)
				}
				plan = append(plan, step)
			}
			if err := rows.Err(); err != nil {
				t.Fatal(err)
			}
			all := strings.Join(plan, "; ")
			if !strings.Contains(all, "USING INDEX "+index+" ") || strings.Contains(all, "TEMP B-TREE") {
				t.Errorf("%+v after %+v: %s", f, c, all)
			}
		}
	}
}

func TestAFullDiskIsAway(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "j.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	// The one connection that writes is told that the file may not grow, and its pages are used up.
	limit := func(pages string) {
		if _, err := s.writer.ExecContext(t.Context(), "PRAGMA max_page_count = "+pages); err != nil {
			t.Fatal(err)
		}
	}
	journaltest.Full(t, s, func() { limit("1") }, func() { limit("1000000") })
}
