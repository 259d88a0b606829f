package main

import (
	"bufio"
	"context"
	"database/sql"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// start runs the command until its URI is known and returns the address, its standard input and its end.
func start(t *testing.T, ctx context.Context, args ...string) (addr string, stdin io.Closer, done <-chan error) {
	t.Helper()
	in, inEnd := io.Pipe()
	outEnd, out := io.Pipe()
	end := make(chan error, 1)
	go func() {
		err := run(ctx, args, in, out)
		_ = out.CloseWithError(io.EOF)
		end <- err
	}()
	line, err := bufio.NewReader(outEnd).ReadString('\n')
	if err != nil {
		t.Fatalf("no URI: %v, %v", err, <-end)
	}
	u, err := url.Parse(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", u.Host)
	if err != nil {
		t.Fatalf("the printed address is not listening: %v", err)
	}
	_ = conn.Close()
	return u.Host, inEnd, end
}

func freed(t *testing.T, addr string) {
	t.Helper()
	// A connection of somebody else's may have got the port for a while.
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for begin := time.Now(); ; <-tick.C {
		l, err := net.Listen("tcp", addr)
		if err == nil {
			_ = l.Close()
			return
		}
		if time.Since(begin) > time.Minute {
			t.Fatalf("port is not free: %v", err)
		}
	}
}

func TestEndsWithItsStandardInput(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	addr, stdin, done := start(t, t.Context(), "-with-stdin")
	_ = stdin.Close()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	freed(t, addr)
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) != 0 {
		t.Fatalf("temporary directory not removed: %v, %v", left, err)
	}
}

func TestEndsWithItsContextAndKeepsItsData(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	dir := t.TempDir()
	addr, _, done := start(t, ctx, "-dir", dir)
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	freed(t, addr)
	if _, err := os.Stat(dir); err != nil {
		t.Fatal(err)
	}
}

func TestRefusesAnUnknownFlag(t *testing.T) {
	if err := run(t.Context(), []string{"-nonsense"}, strings.NewReader(""), io.Discard); err == nil {
		t.Fatal("no error")
	}
}

func TestADocumentIsFoundByItsIDWithoutASearch(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "wayfarer.sqlite")
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=journal_mode(wal)")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	for _, q := range []string{ // as FerretDB makes a collection, and a table of its own
		`CREATE TABLE "records_1" (_ferretdb_sjson TEXT NOT NULL) STRICT`,
		`CREATE UNIQUE INDEX "records_1__id_" ON "records_1" (_ferretdb_sjson->"_id")`,
		`CREATE TABLE "other" (name TEXT NOT NULL) STRICT`,
	} {
		if _, err := db.ExecContext(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	indexes := func() (n int) {
		t.Helper()
		if err := db.QueryRowContext(t.Context(), `SELECT count(*) FROM sqlite_master WHERE type = 'index'`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	plan := func() (detail string) {
		t.Helper()
		var n int
		if err := db.QueryRowContext(t.Context(), `EXPLAIN QUERY PLAN SELECT _ferretdb_sjson FROM "records_1" WHERE _ferretdb_sjson->'$._id' = ?`, `"a"`).
			Scan(&n, &n, &n, &detail); err != nil {
			t.Fatal(err)
		}
		return detail
	}
	if got := plan(); !strings.HasPrefix(got, "SCAN") {
		t.Fatalf("without the index: %s", got)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	gone := make(chan struct{})
	go func() { defer close(gone); visit(ctx, dir) }()
	for indexes() < 2 && ctx.Err() == nil {
		runtime.Gosched()
	}
	cancel()
	<-gone
	if got := plan(); !strings.HasPrefix(got, "SEARCH records_1 USING INDEX records_1_lookup") || indexes() != 2 {
		t.Errorf("%d indexes; %s", indexes(), got)
	}
}
