// Command bench measures what the house costs beside what it is built on, and prints the figures as one table.
//
// Most rows compare two things in one process on one machine, measured in turn, so that whatever disturbs the machine
// disturbs both; the ratio of their medians says more than either. Nothing is mocked: calls pass all interceptors, with
// tokens of the development issuer, and other services answer over gRPC.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/wayfarer-rpg/wayfarer/internal/journal"
	"github.com/wayfarer-rpg/wayfarer/internal/journal/memory"
	"github.com/wayfarer-rpg/wayfarer/internal/journal/mongo"
	"github.com/wayfarer-rpg/wayfarer/internal/journal/sqlite"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// config says what there is to measure, and with what.
type config struct {
	temporal, mongo string // programs
	mongoURI        string // instead of the program
	wanted          map[string]bool
	// idle is how many expeditions are open at once.
	idle int
	// soak is how long the soak takes.
	soak time.Duration
	// bin is where the programs are, load the program ghz.
	bin, load string
	progress  io.Writer
}

// usual are the sections of a run that asks for none.
const usual = "calls,history,throughput,idle,dice,odds,simulation"

func run(ctx context.Context, args []string, out, progress io.Writer) (err error) {
	c := config{progress: progress, mongoURI: os.Getenv("MONGODB_URI"), wanted: map[string]bool{}}
	idle, err := strconv.Atoi(cmp.Or(os.Getenv("IDLE"), "200"))
	if err != nil {
		return fmt.Errorf("IDLE: %w", err)
	}
	soak, err := time.ParseDuration(cmp.Or(os.Getenv("SOAK"), "10m"))
	if err != nil {
		return fmt.Errorf("SOAK: %w", err)
	}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(progress)
	flags.StringVar(&c.temporal, "temporal", "bin/temporaldev", "`program` that serves Temporal; empty leaves its rows out")
	flags.StringVar(&c.mongo, "mongo", "bin/ferretdev", "`program` that stands in for MongoDB where MONGODB_URI names none; empty leaves the row out")
	sections := flags.String("sections", cmp.Or(os.Getenv("BENCH"), usual), "comma-separated `names` of what is measured; BENCH")
	flags.IntVar(&c.idle, "idle", idle, "how many expeditions are open at once; IDLE")
	flags.DurationVar(&c.soak, "soak", soak, "how long the soak takes; SOAK")
	flags.StringVar(&c.bin, "bin", "bin", "`directory` of the programs")
	flags.StringVar(&c.load, "ghz", ".tmp/tools/ghz", "the `program` ghz; empty leaves its rows out")
	profile := flags.String("cpuprofile", "", "`file` for a profile of this process")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	known := map[string]bool{}
	for _, s := range c.sections() {
		known[s.name] = true
	}
	for name := range strings.SplitSeq(*sections, ",") {
		if !known[name] {
			return fmt.Errorf("there is no section %q but %s", name, strings.Join(slices.Sorted(maps.Keys(known)), ", "))
		}
		c.wanted[name] = true
	}
	if c.idle < 1 {
		return fmt.Errorf("%d idle expeditions are too few", c.idle)
	}
	if *profile != "" {
		f, err := os.Create(*profile)
		if err != nil {
			return err
		}
		if err := pprof.StartCPUProfile(f); err != nil {
			return errors.Join(err, f.Close())
		}
		defer func() { pprof.StopCPUProfile(); _ = f.Close() }()
	}
	dir, err := os.MkdirTemp("", "wayfarer-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	rows, err := c.measure(ctx, dir)
	if err != nil {
		err = errors.Join(context.Cause(ctx), err)
	}
	return errors.Join(err, table(out, rows)) // what was measured before a failure is worth its time
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

// A section is a part of the table, chosen by its name.
type section struct {
	name, what string
	rows       func(ctx context.Context, dir string) ([]row, error)
}

// sections are all there are, in the order in which they are printed. Those of a load are measured when they are asked for.
func (c config) sections() []section {
	return []section{
		{"calls", "Roll, memory", func(ctx context.Context, dir string) ([]row, error) { return rolls(ctx, dir, "memory", inMemory) }},
		{"calls", "Roll, SQLite", func(ctx context.Context, dir string) ([]row, error) { return rolls(ctx, dir, "SQLite", inFiles(dir)) }},
		{"calls", "Act, SQLite", func(ctx context.Context, dir string) ([]row, error) {
			return acts(ctx, dir, "SQLite", inFiles(dir), 15)
		}},
		{"calls", "Act, MongoDB", c.actsOnMongo},
		{"calls", "Execute, SQLite", c.expeditions},
		{"history", "loads, SQLite", func(ctx context.Context, dir string) ([]row, error) { return loads(ctx, "SQLite", inFiles(dir)) }},
		{"history", "loads, memory", func(ctx context.Context, _ string) ([]row, error) { return loads(ctx, "memory", inMemory) }},
		{"history", "Act after many records", longRuns},
		{"history", "Execute after many records", c.longExpeditions},
		{"throughput", "Execute from many sides", c.throughput},
		{"idle", "idle expeditions", c.idling},
		{"dice", "notations", notations},
		{"odds", "odds", func(context.Context, string) ([]row, error) { return chances() }},
		{"simulation", "simulations", func(ctx context.Context, _ string) ([]row, error) { return simulationRows(ctx) }},
		{"edge", "REST and gRPC", edge},
		{"edge", "ghz", c.ghz},
		{"fanout", "watchers", fanOut},
		{"programs", "idle programs", c.programs},
		{"soak", "a soak", c.soaking},
	}
}

// measure makes the rows of the sections that are wanted.
func (c config) measure(ctx context.Context, dir string) ([]row, error) {
	var rows []row
	for i, s := range c.sections() {
		if !c.wanted[s.name] {
			continue
		}
		begin := time.Now()
		fmt.Fprintf(c.progress, "measuring %s\n", s.what)
		own := filepath.Join(dir, strconv.Itoa(i))
		if err := os.Mkdir(own, 0o700); err != nil {
			return rows, err
		}
		more, err := s.rows(ctx, own)
		if err != nil {
			return rows, fmt.Errorf("%s: %w", s.what, err)
		}
		fmt.Fprintf(c.progress, "  %s\n", time.Since(begin).Round(10*time.Millisecond))
		rows = append(rows, more...)
	}
	return rows, nil
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
			return []row{{name: actName(name), missing: noServer}}, nil
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
