package expedition

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/client"

	enumspb "go.temporal.io/api/enums/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/await"
)

// workers notes of which build the worker was that carried a command out.
type workers struct {
	mu    sync.Mutex
	moved []string
}

func (w *workers) of(s *Server) {
	s.afterCall = func(_ context.Context, command string) {
		if command == "move" {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.moved = append(w.moved, s.cfg.Build.ID)
		}
	}
}

func (w *workers) all() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.moved, " ")
}

// build makes a server of a build on the table's log and task queue, at work.
func (tb *table) build(w *workers, b Build) *Server {
	tb.t.Helper()
	cfg := tb.cfg
	cfg.Build = b
	s, err := New(cfg)
	if err != nil {
		tb.t.Fatal(err)
	}
	w.of(s)
	if err := s.Start(); err != nil {
		tb.t.Fatal(err)
	}
	return s
}

func (tb *table) current(b Build) {
	tb.t.Helper()
	ctx := await.Context(tb.t, tb.t.Context())
	if err := MakeCurrent(ctx, tb.cfg.Temporal, b); err != nil {
		tb.t.Fatal(err)
	}
	// Task queues hear of it a little later.
	await.Until(tb.t, "build "+b.ID+" is current", func() (bool, any) {
		d, err := tb.cfg.Temporal.WorkerDeploymentClient().GetHandle(b.Deployment).Describe(ctx, client.WorkerDeploymentDescribeOptions{})
		if err != nil {
			tb.t.Fatal(err)
		}
		v := d.Info.RoutingConfig.CurrentVersion
		return v != nil && v.BuildID == b.ID, v
	})
}

// An expedition that began under one build goes on under the next as soon as that is current, with both at work and after the
// old one has gone, and back again; also one that began when there were no builds.
func TestAnExpeditionGoesOnUnderAnotherBuild(t *testing.T) {
	t.Parallel()
	tc := temporalClient(t, devServer(t))
	tb := newTable(t, tc, func(c *Config) { c.MaxUpdates = 4 })
	w := &workers{}
	stop := func(s *Server) {
		t.Helper()
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	}
	a, b := Build{"wayfarer-builds", "a"}, Build{"wayfarer-builds", "b"}
	name := tb.begin("builds")
	moves := 0
	step := func(by string) {
		t.Helper()
		begin := time.Now()
		for {
			// A command that Temporal had given to a worker of the old build when the new one became current may be its last.
			moves++
			tb.must("alice", move(name, fmt.Sprint("step-", moves), int32(moves%2)), Traveling) //nolint:gosec // few
			if all := w.all(); strings.HasSuffix(all, by) {
				return
			} else if time.Since(begin) > await.Limit {
				t.Fatalf("moved by %s, want %s in the end", all, by)
			}
		}
	}
	// Without builds.
	old := tb.build(w, Build{})
	tb.must("alice", start(name, "start"), Traveling)
	tb.must("alice", move(name, "move-0", 1), Traveling)
	// The first build. Until it is current the worker without one goes on.
	first := tb.build(w, a)
	tb.must("alice", move(name, "move-1", 0), Traveling)
	if got := w.all(); strings.ContainsAny(got, "ab") {
		t.Errorf("a build that nobody made current moved: %q", got)
	}
	tb.current(a)
	step("a")
	stop(old)
	step("a")
	described, err := tc.DescribeWorkflow(t.Context(), name, "")
	if err != nil {
		t.Fatal(err)
	}
	if v := described.RawResponse.GetWorkflowExecutionInfo().GetVersioningInfo(); v.GetBehavior() != enumspb.VERSIONING_BEHAVIOR_AUTO_UPGRADE || v.GetDeploymentVersion().GetBuildId() != "a" {
		t.Errorf("the workflow is %v", v)
	}
	// The next build, and the old one goes.
	second := tb.build(w, b)
	tb.current(b)
	step("b")
	stop(first)
	step("b")
	// And back.
	first = tb.build(w, a)
	tb.current(a)
	step("a")
	stop(second)
	step("a")
	tb.must("alice", enter(name, "enter"), AtLocation)
	tb.must("alice", end(name, "end"), Concluded)
	stop(first)
	replay(t, tc, name)
	done := tb.whole(name)
	if got := strings.Count(strings.Join(done, " "), "move"); got != moves+2 || tb.world.count("MoveRequest") != moves+2 {
		t.Errorf("%d moves were asked for, the log has %d, the journey %d", moves+2, got, tb.world.count("MoveRequest"))
	}
}

func TestABuildIsNamedWhollyOrNot(t *testing.T) {
	t.Parallel()
	tb, _ := lone(t)
	for _, b := range []Build{{Deployment: "d"}, {ID: "i"}} {
		cfg := tb.cfg
		cfg.Build = b
		if _, err := New(cfg); err == nil {
			t.Errorf("%+v is a build", b)
		}
		if err := MakeCurrent(t.Context(), tb.cfg.Temporal, b); err == nil {
			t.Errorf("%+v was made current", b)
		}
	}
	if err := MakeCurrent(t.Context(), tb.cfg.Temporal, Build{}); err == nil {
		t.Error("no build was made current")
	}
}
