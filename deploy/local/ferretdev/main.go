// Command ferretdev runs a server that speaks MongoDB's protocol, FerretDB on SQLite files, in one process: for tests,
// and to try things out on a machine without MongoDB.
//
// It prints the URI of the server as its only line on standard output once it can be connected to, and ends on SIGTERM
// and SIGINT, and with -with-stdin when its standard input ends. Who starts it with a pipe there is sure that it
// does not outlive them, however they die.
//
// It is a stand-in and no database to keep a game in: it loses concurrent updates of one document without an error and
// searches every document for each filter but that of one _id. Unique keys hold, which is all that the journal needs.
package main

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/FerretDB/FerretDB/ferretdb"
	"modernc.org/sqlite"
)

// grace is how long open connections may delay the end.
const grace = 3 * time.Second

func init() {
	sqlite.RegisterConnectionHook(func(conn sqlite.ExecQuerierContext, _ string) error {
		_ = addLookups(conn) // the next connection makes what this one could not: it only saves time
		return nil
	})
}

// unindexed are the tables of collections that lack the index of addLookups.
const unindexed = `SELECT t.name FROM sqlite_master t JOIN sqlite_master i ON i.tbl_name = t.name AND i.name = t.name || '__id_'
WHERE t.type = 'table' AND NOT EXISTS (SELECT 1 FROM sqlite_master l WHERE l.name = t.name || '_lookup')`

// addLookups gives the collections of a database the index by which a document is found by its _id. FerretDB makes one of its
// own, but its queries spell the same expression in another way, so that SQLite reads the whole table for each of them. It is
// called for each new connection: those of FerretDB, which come as clients do, and those of visit.
func addLookups(conn sqlite.ExecQuerierContext) error {
	ctx := context.Background()
	rows, err := conn.QueryContext(ctx, unindexed, nil)
	if err != nil {
		return err
	}
	var tables []string
	for name := make([]driver.Value, 1); ; {
		if err = rows.Next(name); err != nil {
			break
		}
		tables = append(tables, name[0].(string))
	}
	if !errors.Is(err, io.EOF) {
		return errors.Join(err, rows.Close())
	}
	if err = rows.Close(); err != nil {
		return err
	}
	for _, table := range tables {
		_, e := conn.ExecContext(ctx, fmt.Sprintf(`CREATE INDEX IF NOT EXISTS "%[1]s_lookup" ON "%[1]s" (_ferretdb_sjson->'$._id')`, table), nil)
		err = errors.Join(err, e)
	}
	return err
}

// Databases are visited soon after they have come, when most of their collections do, and less and less often later.
const (
	firstVisit = 200 * time.Millisecond
	lastVisits = 30 * time.Second
)

// visit connects now and then to each database in the directory, for addLookups to see its new collections, until ctx ends.
func visit(ctx context.Context, dir string) {
	type appointment struct {
		at   time.Time
		wait time.Duration
	}
	known := map[string]appointment{}
	tick := time.NewTicker(firstVisit)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			entries, _ := os.ReadDir(dir) // at the end it is gone
			next := map[string]appointment{}
			for _, e := range entries {
				path := filepath.Join(dir, e.Name())
				if filepath.Ext(path) != ".sqlite" {
					continue
				}
				a, ok := known[path]
				if !ok || !now.Before(a.at) {
					a.wait = min(max(2*a.wait, firstVisit), lastVisits)
					a.at = now.Add(a.wait)
					// What keeps us out now may not the next time.
					if db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+"?mode=rw&_pragma=busy_timeout(1000)"); err == nil {
						_ = db.PingContext(ctx)
						_ = db.Close()
					}
				}
				next[path] = a
			}
			known = next // those that were dropped are forgotten
		}
	}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdin, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "ferretdev:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdin io.Reader, stdout io.Writer) (err error) {
	flags := flag.NewFlagSet("ferretdev", flag.ContinueOnError)
	listen := flags.String("listen", "127.0.0.1:0", "address to listen on; port 0 takes a free one")
	dir := flags.String("dir", "", "directory of the data; empty takes a temporary one, removed at the end")
	withStdin := flags.Bool("with-stdin", false, "end when standard input ends")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *dir == "" {
		tmp, err := os.MkdirTemp("", "ferretdev-")
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
		*dir = tmp
	} else if err := os.MkdirAll(*dir, 0o750); err != nil {
		return err
	}
	abs, err := filepath.Abs(*dir)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if *withStdin {
		go func() {
			_, _ = io.Copy(io.Discard, stdin) // an error is an end as well
			cancel()
		}()
	}
	server, err := ferretdb.New(&ferretdb.Config{
		Listener:  ferretdb.ListenerConfig{TCP: *listen},
		Logger:    slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})),
		Handler:   "sqlite",
		SQLiteURL: "file:" + abs + "/",
	})
	if err != nil {
		return err
	}
	var visits sync.WaitGroup
	visits.Go(func() { visit(ctx, abs) })
	defer visits.Wait() // before the directory is removed
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- server.Run(ctx) }()
	// The URI is known once the server listens.
	if _, err := fmt.Fprintln(stdout, server.MongoDBURI()); err != nil {
		return err
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-done:
		return err
	case <-time.After(grace):
		return nil // clients that stay connected do not keep the port
	}
}
