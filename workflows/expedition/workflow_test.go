package expedition

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/wayfarer-rpg/wayfarer/internal/await"
	"github.com/wayfarer-rpg/wayfarer/internal/fault"
)

const expo = "campaigns/c1/expeditions/e1"

// stage is a test environment in which the activities are the test's own.
type stage struct {
	*testsuite.TestWorkflowEnvironment
	mu sync.Mutex
	// order tells when activities began and ended.
	order []string
	// restored is where the expedition stands at the start.
	restored standing
	// act is the activity, tick the other one.
	act  func(cmd command) (standing, error)
	tick func() (standing, error)
}

func newStage(t *testing.T, maxUpdates int) *stage {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	s := &stage{TestWorkflowEnvironment: suite.NewTestWorkflowEnvironment(), restored: standing{Phase: Traveling}}
	s.act = func(command) (standing, error) { return standing{Phase: Traveling}, nil }
	// By the clock on the wall, on which a busy machine is slow.
	s.SetTestTimeout(await.Limit)
	s.SetWorkerOptions(worker.Options{DeadlockDetectionTimeout: await.Limit})
	d := definition{attempt: time.Second, silence: beatTimeout, maxUpdates: maxUpdates}
	s.RegisterWorkflowWithOptions(d.run, workflow.RegisterOptions{Name: workflowName})
	s.RegisterActivityWithOptions(func(context.Context, string) (standing, error) { return s.restored, nil }, activity.RegisterOptions{Name: restoreName})
	s.RegisterActivityWithOptions(func(_ context.Context, name string, cmd command) (standing, error) {
		if name != expo {
			return standing{}, errors.New("another expedition: " + name)
		}
		s.note("begin " + cmd.RequestID)
		defer s.note("end " + cmd.RequestID)
		return s.act(cmd)
	}, activity.RegisterOptions{Name: executeName})
	s.RegisterActivityWithOptions(func(context.Context, string) (standing, error) {
		s.note("tick")
		return s.tick()
	}, activity.RegisterOptions{Name: tickName})
	return s
}

func (s *stage) note(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.order = append(s.order, what)
}

// update sends a command at a time of the workflow's clock; what becomes of it is written down.
func (s *stage) update(at time.Duration, id string, outcome *string) {
	s.RegisterDelayedCallback(func() {
		s.UpdateWorkflow(updateName, "update-"+id, &testsuite.TestUpdateCallback{
			OnAccept: func() { *outcome = "accepted" },
			OnReject: func(err error) { *outcome = "rejected: " + typeOf(err) },
			OnComplete: func(_ any, err error) {
				*outcome = "done"
				if err != nil {
					*outcome = "failed: " + typeOf(err)
				}
			},
		}, command{RequestID: id})
	}, at)
}

func typeOf(err error) string {
	var app *temporal.ApplicationError
	if errors.As(err, &app) {
		return app.Type()
	}
	return err.Error()
}

func TestCommandsTakeTurns(t *testing.T) {
	t.Parallel()
	s := newStage(t, 3)
	outcomes := make([]string, 3)
	for i, id := range []string{"a", "b", "c"} {
		s.update(0, id, &outcomes[i])
	}
	// The first command takes so long that the others would overtake it if they could.
	release := make(chan struct{})
	s.act = func(cmd command) (standing, error) {
		if cmd.RequestID == "a" {
			<-release
		}
		return standing{Phase: Traveling}, nil
	}
	s.RegisterDelayedCallback(func() { close(release) }, 50*time.Millisecond)
	s.ExecuteWorkflow(workflowName, input{Name: expo})
	want := []string{"begin a", "end a", "begin b", "end b", "begin c", "end c"}
	if !slices.Equal(s.order, want) {
		t.Errorf("order %v, want %v", s.order, want)
	}
	if !slices.Equal(outcomes, []string{"done", "done", "done"}) {
		t.Errorf("outcomes %v", outcomes)
	}
	var next *workflow.ContinueAsNewError
	if err := s.GetWorkflowError(); !errors.As(err, &next) || next.WorkflowType.Name != workflowName {
		t.Errorf("after the last update of the run: %v", err)
	}
}

func TestTurnover(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		first, late string
		setup       func(*stage)
		ended       func(error) bool
	}{
		"after so many updates": {"done", "", func(*stage) {}, workflow.IsContinueAsNewError},
		"when the server suggests it": {"done", "", func(s *stage) { s.SetContinueAsNewSuggested(true) },
			workflow.IsContinueAsNewError},
		"after the expedition's end": {"done", "", func(s *stage) {
			s.act = func(command) (standing, error) { return standing{Phase: Concluded}, nil }
		}, func(err error) bool { return err == nil }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, 1)
			row.setup(s)
			var first string
			s.update(0, "a", &first)
			s.ExecuteWorkflow(workflowName, input{Name: expo})
			if first != row.first {
				t.Errorf("the update: %q", first)
			}
			if err := s.GetWorkflowError(); !s.IsWorkflowCompleted() || !row.ended(err) {
				t.Errorf("the run ended with %v", err)
			}
		})
	}
}

// While the last command is under way the run takes no more: they have to come again, to the next one.
func TestUpdatesAreTurnedAwayDuringTurnover(t *testing.T) {
	t.Parallel()
	s := newStage(t, 1)
	var first, second string
	busy := make(chan struct{})
	s.act = func(command) (standing, error) { <-busy; return standing{Phase: Traveling}, nil }
	s.update(0, "a", &first)
	s.SetOnActivityStartedListener(func(info *activity.Info, _ context.Context, _ converter.EncodedValues) {
		if info.ActivityType.Name != executeName {
			return
		}
		s.UpdateWorkflow(updateName, "update-b", &testsuite.TestUpdateCallback{
			OnAccept:   func() { second = "accepted"; close(busy) },
			OnReject:   func(err error) { second = "rejected: " + typeOf(err); close(busy) },
			OnComplete: func(any, error) {},
		}, command{RequestID: "b"})
	})
	s.ExecuteWorkflow(workflowName, input{Name: expo})
	if first != "done" || second != "rejected: "+turnoverType {
		t.Errorf("the last command: %q, the one after it: %q", first, second)
	}
	if !workflow.IsContinueAsNewError(s.GetWorkflowError()) {
		t.Errorf("the run ended with %v", s.GetWorkflowError())
	}
}

func TestARunForAConcludedExpeditionEndsAtOnce(t *testing.T) {
	t.Parallel()
	s := newStage(t, 10)
	s.restored = standing{Phase: Concluded}
	s.ExecuteWorkflow(workflowName, input{Name: expo})
	if err := s.GetWorkflowError(); !s.IsWorkflowCompleted() || err != nil {
		t.Errorf("ended with %v", err)
	}
}

func TestRefusalsAreNotRepeatedAndOthersAre(t *testing.T) {
	t.Parallel()
	s := newStage(t, 2)
	outcomes := make([]string, 2)
	tries := 0
	s.act = func(cmd command) (standing, error) {
		if cmd.RequestID == "refused" {
			return standing{}, pack(fault.New(fault.FailedPrecondition, "NOT_ADJACENT", "too far"))
		}
		if tries++; tries < 4 {
			return standing{}, pack(fault.New(fault.Unavailable, "AWAY", "later"))
		}
		return standing{Phase: Traveling}, nil
	}
	s.update(0, "refused", &outcomes[0])
	s.update(time.Millisecond, "away", &outcomes[1])
	s.ExecuteWorkflow(workflowName, input{Name: expo})
	if outcomes[0] != "failed: "+refusalType || outcomes[1] != "done" || tries != 4 {
		t.Errorf("outcomes %v after %d tries", outcomes, tries)
	}
	if n := len(slices.DeleteFunc(s.order, func(o string) bool { return o != "begin refused" })); n != 1 {
		t.Errorf("the refused command was tried %d times", n)
	}
}

// A command that is under way when the workflow is canceled is carried through, and then the expedition is given up, however long
// that takes; also while the run turns over, of which the next one would not know.
func TestACommandUnderWaySurvivesCancellation(t *testing.T) {
	t.Parallel()
	for when, maxUpdates := range map[string]int{"in the midst of a run": 10, "while it turns over": 1} {
		t.Run(when, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, maxUpdates)
			var outcome string
			busy := make(chan struct{})
			var last command
			away := 0
			s.act = func(cmd command) (standing, error) {
				if <-busy; cmd.RequestID == "a" {
					return standing{Phase: Traveling}, nil
				}
				if last = cmd; away < 40 {
					away++
					return standing{}, pack(fault.New(fault.Unavailable, "RUN_SETTLING", "later"))
				}
				return standing{Phase: Concluded}, nil
			}
			s.update(0, "a", &outcome)
			var once sync.Once
			s.SetOnActivityStartedListener(func(info *activity.Info, _ context.Context, _ converter.EncodedValues) {
				if info.ActivityType.Name == executeName {
					once.Do(func() { s.CancelWorkflow(); close(busy) })
				}
			})
			s.ExecuteWorkflow(workflowName, input{Name: expo})
			if outcome != "done" {
				t.Errorf("the command: %q", outcome)
			}
			var canceled *temporal.CanceledError
			if !errors.As(s.GetWorkflowError(), &canceled) {
				t.Errorf("the run ended with %v", s.GetWorkflowError())
			}
			if !last.Canceled || !last.Itself || away != 40 {
				t.Errorf("after %d tries: %+v", away, last)
			}
		})
	}
}

// An expedition wakes when it has something to do, a command moves the hour, and who wakes too early waits.
func TestAnExpeditionWakes(t *testing.T) {
	t.Parallel()
	s := newStage(t, 100)
	var start time.Time
	var ticks []time.Duration
	hours := func(n int) time.Time { return start.Add(time.Duration(n) * time.Hour) }
	s.act = func(cmd command) (standing, error) {
		if cmd.RequestID == "end" {
			return standing{Phase: Concluded}, nil
		}
		return standing{Phase: Delving, Wake: hours(5)}, nil
	}
	s.tick = func() (standing, error) {
		ticks = append(ticks, s.Now().Sub(start).Round(time.Minute))
		switch len(ticks) {
		case 1: // by the worker's clock it is not time yet
			return standing{Phase: Delving, Wake: hours(5)}, nil
		case 2:
			return standing{}, errors.New("the store is away")
		case 3:
			return standing{Phase: Delving, Wake: hours(8)}, nil
		}
		return standing{Phase: Delving}, nil
	}
	start = s.Now()
	s.restored = standing{Phase: Delving, Wake: hours(2)}
	var one, end string
	s.update(time.Hour, "one", &one) // puts the hour off from 2 to 5
	s.update(20*time.Hour, "end", &end)
	s.ExecuteWorkflow(workflowName, input{Name: expo})
	if err := s.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}
	if len(ticks) != 4 || ticks[0] != 5*time.Hour || ticks[1] != 5*time.Hour || ticks[2] != 5*time.Hour || ticks[3] != 8*time.Hour {
		t.Errorf("woke after %v", ticks)
	}
}

// What an expedition cannot do by itself is in nobody's way: it is tried again, and commands have their turns meanwhile.
func TestWhatFailsByItselfHoldsNoCommandUp(t *testing.T) {
	t.Parallel()
	s := newStage(t, 100)
	start := s.Now()
	var ticks []time.Duration
	s.tick = func() (standing, error) {
		ticks = append(ticks, s.Now().Sub(start))
		return standing{}, errors.New("the store is broken")
	}
	s.restored = standing{Phase: Delving, Wake: start.Add(time.Minute)}
	s.act = func(cmd command) (standing, error) {
		if cmd.RequestID == "end" {
			return standing{Phase: Concluded}, nil
		}
		return standing{Phase: Delving, Wake: start.Add(time.Minute)}, nil
	}
	var one, end string
	s.update(10*time.Minute, "one", &one)
	s.update(20*time.Minute, "end", &end)
	s.ExecuteWorkflow(workflowName, input{Name: expo})
	if err := s.GetWorkflowError(); err != nil || one != "done" || end != "done" {
		t.Errorf("ended with %v, the commands are %q and %q", err, one, end)
	}
	// A round takes three attempts and at most a minute's rest; the first ones come sooner after each other.
	if n := len(ticks); n < 3*18 || n > 3*28 || ticks[0] != time.Minute {
		t.Errorf("tried %d times: %v", n, ticks)
	}
}

// An expedition with nothing to do by itself is quiet, and one that is over does not wake.
func TestAnExpeditionSleeps(t *testing.T) {
	t.Parallel()
	s := newStage(t, 100)
	s.tick = func() (standing, error) { t.Error("woke"); return standing{}, nil }
	s.restored = standing{Phase: Delving, Wake: s.Now().Add(time.Hour)}
	s.act = func(cmd command) (standing, error) {
		if cmd.RequestID == "end" {
			return standing{Phase: Concluded, Wake: s.Now().Add(time.Minute)}, nil
		}
		return standing{Phase: Traveling}, nil
	}
	var one, end string
	s.update(time.Minute, "one", &one)
	s.update(90*24*time.Hour, "end", &end)
	s.ExecuteWorkflow(workflowName, input{Name: expo})
	if err := s.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}
}
