// Command chaos plays expeditions on the separate programs while it kills them, cuts and delays their connections and sends
// requests twice, and afterwards compares what the clients were told with the journals. It prints one table and ends with
// status 1 when anything that was acknowledged is lost, done twice, or rolled again.
//
// With CHAOS_MODE=rolling it asks one program after the other to end, in good order and two of each, and starts it anew: then
// no call may fail that is repeated with its request_id.
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

	"github.com/wayfarer-rpg/wayfarer/chaos/audit"
	"github.com/wayfarer-rpg/wayfarer/chaos/rest"
	"github.com/wayfarer-rpg/wayfarer/chaos/table"
)

// The modes.
const (
	modeKill    = "kill"
	modeRolling = "rolling"
)

// settings are the environment.
type settings struct {
	// Mode is kill or rolling.
	Mode string `env:"CHAOS_MODE" envDefault:"kill"`
	// Time is how long it plays under fire.
	Time time.Duration `env:"CHAOS_TIME" envDefault:"2m"`
	Seed uint64        `env:"CHAOS_SEED" envDefault:"1"`
	// Expeditions are played at once, each by a game master and two players.
	Expeditions int `env:"CHAOS_EXPEDITIONS" envDefault:"50"`
	// KillEvery is the mean time between two kills.
	KillEvery time.Duration `env:"CHAOS_KILL_EVERY" envDefault:"2s"`
	// Replicas is how many of each service, and of the expedition program and the edge, run on one store; 0: two when they
	// roll, else one.
	Replicas int `env:"CHAOS_REPLICAS"`
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

const (
	// settleTime is how long the programs may take, undisturbed, to be ready again.
	settleTime = 3 * time.Minute
	// auditTime is how long the audit of one table may take, and auditors how many are audited at once.
	auditTime = 15 * time.Minute
	auditors  = 8
	// repeats is how many acknowledged requests are repeated at the end, at all tables together, and three at each at least.
	repeats = 1000
	// layers is how many tables are laid at once.
	layers = 16
)

func load() (settings, error) {
	s, err := env.ParseAs[settings]()
	switch {
	case err != nil:
		return s, err
	case s.Expeditions < 1 || s.Time <= 0 || s.KillEvery <= 0 || s.Pace <= 0:
		return s, errors.New("CHAOS_EXPEDITIONS, CHAOS_TIME, CHAOS_KILL_EVERY and CHAOS_PACE are above 0")
	case s.Mode != modeKill && s.Mode != modeRolling:
		return s, fmt.Errorf("CHAOS_MODE is %s or %s, not %q", modeKill, modeRolling, s.Mode)
	case s.Store != "sqlite" && s.Store != "mongodb":
		return s, fmt.Errorf("STORE is sqlite or mongodb, not %q", s.Store)
	case s.Replicas < 0 || s.Replicas > 9:
		return s, errors.New("CHAOS_REPLICAS is 0 to 9")
	}
	if s.Replicas == 0 {
		s.Replicas = 1
		if s.Mode == modeRolling {
			s.Replicas = 2
		}
	}
	return s, nil
}

func run(ctx context.Context, out io.Writer) (err error) {
	s, err := load()
	if err != nil {
		return err
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
	harm := fmt.Sprintf("a kill every %s", s.KillEvery)
	if s.Mode == modeRolling {
		harm = fmt.Sprintf("%d of each, restarted in turn", s.Replicas)
	}
	fmt.Fprintf(out, "%d expeditions on %s for %s, %s, seed %d\n", s.Expeditions, s.Store, s.Time, harm, s.Seed)
	if err := field.ready(ctx); err != nil {
		return err
	}
	tables, err := lay(ctx, s, field)
	if err != nil {
		return fmt.Errorf("before the chaos: %w", err)
	}
	fmt.Fprintln(out, "the tables are laid; chaos begins")
	sum := &audit.Report{}
	if err := fight(ctx, s, field, tables, sum); err != nil {
		return err
	}
	fmt.Fprintln(out, "chaos ends; what was begun is finished")
	if err := review(ctx, field, tables, sum); err != nil {
		sum.Print(out)
		return err
	}
	sum.Print(out)
	switch {
	case sum.Err() != nil:
		return sum.Err()
	case sum.Acknowledged == 0 || sum.Kills == 0:
		return errors.New("nothing was acknowledged, or nothing disturbed it: nothing is proved")
	case s.Mode == modeRolling && sum.Unanswered > 0:
		return fmt.Errorf("%d calls failed though they were repeated", sum.Unanswered)
	}
	return nil
}

// lay makes the tables and begins their journeys.
func lay(ctx context.Context, s settings, f *field) ([]*table.Table, error) {
	via, tokens := rest.New(f.gateway, nil), map[string]string{}
	for _, u := range table.Users {
		var err error
		if tokens[u], err = rest.Login(ctx, f.tokens, u, "wayfarer"); err != nil {
			return nil, err
		}
	}
	tables := make([]*table.Table, s.Expeditions)
	for i := range tables {
		tables[i] = table.New(table.Config{
			Client: via, Tokens: tokens, Number: i, Seed: s.Seed, Pace: s.Pace, Patient: s.Mode == modeRolling,
			// Some come to their end by themselves; most go on for as long as there is chaos.
			Ends: i%5 == 4,
		})
	}
	return tables, each(tables, layers, func(t *table.Table) error {
		if err := t.Lay(ctx); err != nil {
			return err
		}
		return t.Begin(ctx)
	})
}

// fight lets everybody play under fire.
func fight(ctx context.Context, s settings, f *field, tables []*table.Table, sum *audit.Report) error {
	fire, cease := context.WithTimeout(ctx, s.Time)
	defer cease()
	rng := func(stream uint64) *rand.Rand { return rand.New(rand.NewPCG(s.Seed, stream)) } //nolint:gosec // repeatable on purpose
	var harm sync.WaitGroup
	var harmed error
	if s.Mode == modeRolling {
		harm.Go(func() { harmed = f.roll(fire) })
	} else {
		harm.Go(func() { f.kill(fire, rng(1), s.KillEvery) })
		harm.Go(func() { f.cut(fire, rng(2)) })
	}
	_ = each(tables, len(tables), func(t *table.Table) error { t.Play(fire); return nil })
	cease()
	harm.Wait()
	sum.Kills, sum.Cuts = f.kills, f.cuts
	return errors.Join(harmed, ctx.Err())
}

// review audits all tables.
func review(ctx context.Context, f *field, tables []*table.Table, sum *audit.Report) error {
	calm, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	if err := f.ready(calm); err != nil {
		return err
	}
	var mu sync.Mutex
	return each(tables, auditors, func(t *table.Table) error {
		ctx, cancel := context.WithTimeout(ctx, auditTime)
		defer cancel()
		scene := t.Scene()
		scene.Repeats = max(repeats/len(tables), 3)
		evidence, err := audit.Gather(ctx, scene)
		if err != nil {
			return err
		}
		r := evidence.Judge()
		r.Duplicates = t.Duplicates()
		mu.Lock()
		defer mu.Unlock()
		for _, finding := range r.Findings {
			fmt.Fprintf(os.Stderr, "%s: %s\n", scene.Expedition, finding)
		}
		sum.Add(r)
		return nil
	})
}

// each does something at all tables, at so many at once, and returns the errors.
func each(tables []*table.Table, most int, do func(*table.Table) error) error {
	errs := make([]error, len(tables))
	var wg sync.WaitGroup
	places := make(chan struct{}, most)
	for i, t := range tables {
		places <- struct{}{}
		wg.Go(func() {
			defer func() { <-places }()
			if err := do(t); err != nil {
				errs[i] = fmt.Errorf("table %d: %w", i, err)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}
