// Command chaos plays expeditions on the separate programs while it kills them, cuts and delays their connections and sends
// requests twice, and afterwards compares what the clients were told with the journals. It prints one table and ends with
// status 1 when anything that was acknowledged is lost, done twice, or rolled again.
//
// CHAOS_TIME, CHAOS_SEED, CHAOS_EXPEDITIONS, CHAOS_KILL_EVERY and STORE choose the run; the seed chooses the commands, the
// victims and the moments, as far as a machine is the same twice.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/caarlos0/env/v11"
)

// settings are the environment.
type settings struct {
	// Time is how long it plays under fire.
	Time time.Duration `env:"CHAOS_TIME" envDefault:"1m"`
	Seed uint64        `env:"CHAOS_SEED" envDefault:"1"`
	// Expeditions are played at once, each by a game master and two players.
	Expeditions int `env:"CHAOS_EXPEDITIONS" envDefault:"50"`
	// KillEvery is the mean time between two kills.
	KillEvery time.Duration `env:"CHAOS_KILL_EVERY" envDefault:"2s"`
	// Pace is how long a client thinks between two commands.
	Pace  time.Duration `env:"CHAOS_PACE" envDefault:"200ms"`
	Store string        `env:"STORE" envDefault:"sqlite"`
	Mongo string        `env:"MONGODB_URI"`
	Bin   string        `env:"CHAOS_BIN" envDefault:"bin"`
	// Keep names a directory for stores and logs; empty takes a temporary one, which is kept when something went wrong.
	Keep string `env:"CHAOS_DIR"`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
		os.Exit(1)
	}
}

// settleTime is how long the programs may take, undisturbed, to finish what was begun.
const settleTime = 3 * time.Minute

func run(ctx context.Context, out io.Writer) (err error) {
	s, err := env.ParseAs[settings]()
	if err != nil {
		return err
	}
	if s.Expeditions < 1 || s.Time <= 0 || s.KillEvery <= 0 {
		return errors.New("CHAOS_EXPEDITIONS, CHAOS_TIME and CHAOS_KILL_EVERY are above 0")
	}
	dir := s.Keep
	if dir == "" {
		if dir, err = os.MkdirTemp("", "wayfarer-chaos-"); err != nil {
			return err
		}
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	field, err := deploy(s, dir)
	if err != nil {
		return err
	}
	defer func() {
		field.stop()
		if err == nil && s.Keep == "" {
			err = os.RemoveAll(dir)
		} else if err != nil {
			fmt.Fprintln(out, "stores and logs are in", dir)
		}
	}()
	fmt.Fprintf(out, "%d expeditions on %s for %s, a kill every %s, seed %d\n", s.Expeditions, s.Store, s.Time, s.KillEvery, s.Seed)
	if err := field.ready(ctx); err != nil {
		return err
	}
	tables := make([]*table, s.Expeditions)
	for i := range tables {
		tables[i] = newTable(field, i, s)
	}
	if err := each(tables, func(t *table) error { return t.lay(ctx) }); err != nil {
		return fmt.Errorf("before the chaos: %w", err)
	}
	fmt.Fprintln(out, "the tables are laid; chaos begins")

	fire, cease := context.WithTimeout(ctx, s.Time)
	var harm sync.WaitGroup
	harm.Go(func() { field.kill(fire, rand.New(rand.NewPCG(s.Seed, 1)), s.KillEvery) }) //nolint:gosec // repeatable on purpose
	harm.Go(func() { field.cut(fire, rand.New(rand.NewPCG(s.Seed, 2))) })               //nolint:gosec // see above
	_ = each(tables, func(t *table) error { t.play(fire); return nil })
	cease()
	harm.Wait()

	fmt.Fprintln(out, "chaos ends; what was begun is finished")
	calm, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	if err := field.ready(calm); err != nil {
		return err
	}
	reports := make([]report, len(tables))
	err = each(tables, func(t *table) error {
		var err error
		reports[t.number], err = t.check(calm)
		return err
	})
	var sum report
	for _, r := range reports {
		sum.add(r)
	}
	sum.kills, sum.cuts = field.kills, field.cuts
	sum.print(out)
	switch {
	case err != nil:
		return err
	case sum.lost+sum.doubled+sum.rerolled+sum.broken > 0:
		return fmt.Errorf("%d lost, %d doubled, %d rolled again, %d otherwise wrong", sum.lost, sum.doubled, sum.rerolled, sum.broken)
	case sum.acknowledged == 0:
		return errors.New("nothing was acknowledged, so nothing is proved")
	}
	return nil
}

// each does something at all tables at once and returns the first error.
func each(tables []*table, do func(*table) error) error {
	errs := make([]error, len(tables))
	var wg sync.WaitGroup
	for i, t := range tables {
		wg.Go(func() { errs[i] = do(t) })
	}
	wg.Wait()
	for i, err := range errs {
		if err != nil {
			return fmt.Errorf("table %d: %w", i, err)
		}
	}
	return nil
}
