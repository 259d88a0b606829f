package crash

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/wayfarer-rpg/wayfarer/chaos/audit"
	"github.com/wayfarer-rpg/wayfarer/chaos/rest"
	"github.com/wayfarer-rpg/wayfarer/chaos/table"
)

// commands is how many commands a run gives.
const commands = 32

// repeats is how many acknowledged commands are repeated at the end.
const repeats = 12

// readTime is how long a journal may take to be read, and brokenTime in a house where it may never be.
const readTime, brokenTime = 4 * time.Minute, 8 * time.Second

// Trace is what a run met: how often it passed each point, and how often something happened there.
type Trace struct {
	Visits, Hits map[Point]int
}

// Play is what is played.
type Play struct {
	// Seed chooses the commands, and the points that are struck where Aims names none.
	Seed uint64
	Flaw Flaw
	Aims []Point
	// Keen players make for the dungeon and stay in it.
	Keen bool
}

// Run plays one expedition and audits it. An error says that the run could not be carried through, which is as bad as a finding.
func Run(ctx context.Context, seed uint64, flaw Flaw, aims ...Point) (*audit.Report, Trace, error) {
	e, trace, err := Evidence(ctx, Play{Seed: seed, Flaw: flaw, Aims: aims})
	if err != nil {
		return nil, trace, err
	}
	return e.Judge(), trace, nil
}

// Evidence plays one expedition and returns what there is to be audited.
func Evidence(ctx context.Context, p Play) (*audit.Evidence, Trace, error) {
	h, err := newHouse(p.Seed, p.Flaw, p.Aims)
	trace := Trace{h.plan.visits, h.plan.hits}
	if err != nil {
		return nil, trace, err
	}
	defer h.close()
	via, end, err := h.edge()
	if err != nil {
		return nil, trace, err
	}
	defer end()
	t := table.New(table.Config{
		Client: rest.New("http://house", via), Tokens: map[string]string{table.GM: table.GM, "ada": "ada", "bram": "bram"}, Seed: p.Seed, Ends: true, Keen: p.Keen,
		Pause: func(ctx context.Context, _ time.Duration) bool { return h.again(ctx) },
	})
	if err := t.Lay(ctx); err != nil {
		return nil, trace, err
	}
	h.plan.armed, h.plan.left = true, perCommand
	if err := t.Begin(ctx); err != nil {
		return nil, trace, err
	}
	rng := rand.New(rand.NewPCG(p.Seed, 7)) //nolint:gosec // repeatable on purpose
	for n := range commands {
		h.plan.left = perCommand
		h.minutes.Add(int64(rng.IntN(4)))
		t.One(ctx, table.Users[rng.IntN(len(table.Users))], fmt.Sprintf("c-%d", n), rng)
	}
	h.plan.armed = false
	h.temporal.catchUp()
	// Whatever died in the last moment looks after what it owes when it starts.
	for _, name := range []string{"dice", "party", "dungeon", "travel"} {
		l, err := h.programs[name].alive()
		if err != nil {
			return nil, trace, err
		}
		l.sweep()
	}
	scene := t.Scene()
	scene.Repeats, scene.Within = repeats, readTime
	if p.Flaw.Store != nil || p.Flaw.Call != nil || p.Flaw.Answer != nil {
		scene.Within = brokenTime
	}
	e, err := audit.Gather(ctx, scene)
	return e, trace, err
}

// again is what happens between two attempts of a client: those who are late have their turn, sometimes.
func (h *house) again(ctx context.Context) bool {
	h.plan.left = perCommand
	if len(h.temporal.late) > 0 && mix(h.plan.seed+uint64(len(h.plan.visits)))%2 == 0 {
		h.temporal.catchUp()
	}
	return ctx.Err() == nil
}
