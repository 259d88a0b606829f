// Command bench measures what the house costs beside what it is built on, and prints the figures as one table.
//
// Every row compares two things in one process on one machine, measured in turn, so that whatever disturbs the machine
// disturbs both; the ratio of their medians says more than either. Nothing is mocked: calls pass all interceptors, with
// tokens of the development issuer, and other services answer over gRPC.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/wayfarer-rpg/wayfarer/internal/journal"
	"github.com/wayfarer-rpg/wayfarer/internal/journal/memory"
	"github.com/wayfarer-rpg/wayfarer/internal/journal/mongo"
	"github.com/wayfarer-rpg/wayfarer/internal/journal/sqlite"
)

// patience is how long everything may take.
const patience = 3 * time.Minute

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// config says what there is to measure with.
type config struct {
	temporal, mongo string // programs
	mongoURI        string // instead of the program
	progress        io.Writer
}

func run(ctx context.Context, args []string, out, progress io.Writer) (err error) {
	c := config{progress: progress, mongoURI: os.Getenv("MONGODB_URI")}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(progress)
	flags.StringVar(&c.temporal, "temporal", "bin/temporaldev", "`program` that serves Temporal; empty leaves the row out")
	flags.StringVar(&c.mongo, "mongo", "bin/ferretdev", "`program` that stands in for MongoDB where MONGODB_URI names none; empty leaves the row out")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("not done within %s", patience))
	defer cancel()
	dir, err := os.MkdirTemp("", "wayfarer-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	rows, err := c.measure(ctx, dir)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = errors.Join(cause, err)
		}
		return err
	}
	return table(out, rows)
}

// opener opens the store of a service.
type opener func(ctx context.Context, service string) (journal.Store, error)

func inMemory(context.Context, string) (journal.Store, error) { return memory.New(), nil }

func inFiles(dir string) opener {
	return func(ctx context.Context, service string) (journal.Store, error) {
		return sqlite.Open(ctx, filepath.Join(dir, service+".db"))
	}
}

func inMongo(uri, prefix string) opener {
	return func(ctx context.Context, service string) (journal.Store, error) {
		s, err := mongo.Open(ctx, uri, prefix+"_"+service)
		if err != nil {
			return nil, err
		}
		return dropped{s}, nil
	}
}

// dropped is a store whose database goes when it is closed: the server may be somebody's own.
type dropped struct{ *mongo.Store }

func (d dropped) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return errors.Join(d.Drop(ctx), d.Store.Close())
}

// measure makes all rows, in the order in which they are printed.
func (c config) measure(ctx context.Context, dir string) ([]row, error) {
	var rows []row
	add := func(what string, measure func() ([]row, error)) error {
		begin := time.Now()
		fmt.Fprintf(c.progress, "measuring %s\n", what)
		more, err := measure()
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		fmt.Fprintf(c.progress, "  %s\n", time.Since(begin).Round(10*time.Millisecond))
		rows = append(rows, more...)
		return nil
	}
	err := firstError(
		func() error {
			return add("Roll, memory", func() ([]row, error) { return rolls(ctx, filepath.Join(dir, "a"), "memory", inMemory) })
		},
		func() error {
			own := filepath.Join(dir, "b")
			return add("Roll, SQLite", func() ([]row, error) { return rolls(ctx, own, "SQLite", inFiles(own)) })
		},
		func() error {
			own := filepath.Join(dir, "c")
			return add("Act, SQLite", func() ([]row, error) { return acts(ctx, own, "SQLite", inFiles(own), 15) })
		},
		func() error {
			return add("Act, MongoDB", func() ([]row, error) { return c.actsOnMongo(ctx, filepath.Join(dir, "d")) })
		},
		func() error {
			return add("Execute, SQLite", func() ([]row, error) { return c.expeditions(ctx, filepath.Join(dir, "e")) })
		},
		func() error {
			return add("loads, SQLite", func() ([]row, error) { return loads(ctx, "SQLite", inFiles(dir)) })
		},
		func() error {
			return add("loads, memory", func() ([]row, error) { return loads(ctx, "memory", inMemory) })
		},
	)
	return rows, err
}

// firstError calls one after the other until one fails.
func firstError(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (c config) actsOnMongo(ctx context.Context, dir string) (rows []row, err error) {
	name, uri := "MongoDB", c.mongoURI
	if uri == "" {
		name = "MongoDB stand-in"
		if c.mongo == "" {
			return []row{{name: actName(name), missing: "no server"}}, nil
		}
		server, line, err := start(ctx, c.mongo, "-with-stdin")
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, server.Close()) }()
		uri = line
	}
	prefix := fmt.Sprintf("wayfarer_bench_%d", time.Now().UnixNano())
	return acts(ctx, dir, name, inMongo(uri, prefix), 6)
}
