// Command ferretdev runs a server that speaks MongoDB's protocol, FerretDB on SQLite files, in one process: for tests,
// and to try things out on a machine without MongoDB.
//
// It prints the URI of the server as its only line on standard output once it can be connected to, and ends on SIGTERM
// and SIGINT, and with -with-stdin when its standard input ends. Who starts it with a pipe there is sure that it
// does not outlive them, however they die.
//
// It is a stand-in and no database to keep a game in: it loses concurrent updates of one document without an error and
// searches every document for each filter. Unique keys hold, which is all that the journal needs.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/FerretDB/FerretDB/ferretdb"
)

// grace is how long open connections may delay the end.
const grace = 3 * time.Second

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
