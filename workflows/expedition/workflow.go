package expedition

import (
	"errors"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// Names under which Temporal knows the parts. They are stored in histories: never change them.
const (
	workflowName = "Expedition"
	updateName   = "Execute"
	restoreName  = "RestoreExpedition"
	executeName  = "ExecuteCommand"
	tickName     = "TickExpedition"
	// wakes is the change by which workflows learned to do something by themselves.
	wakes = "wakes"
	// cancels is the change by which workflows that are canceled learned to give their expedition up.
	cancels = "cancels"
)

const (
	// beatEvery is how often a worker tells that it is at work on a command, beatTimeout after how long without that the
	// command is given to another. A worker that is only slow may then overlap with the other, which harms nothing.
	beatEvery   = time.Second
	beatTimeout = 3 * time.Second
	// taskTimeout is the same for a step of the workflow itself, which has nothing to wait for but may have to replay the
	// whole history.
	taskTimeout = 5 * time.Second
)

// turnoverType marks the refusal of an update for which the caller comes again: this run takes no more.
const turnoverType = "wayfarer.turnover"

// input is all that passes from run to run: everything else is in the log.
type input struct {
	// Name is the expedition's resource name, and the workflow's id.
	Name string `json:"name"`
}

// command is a request as it passes through Temporal.
type command struct {
	// RequestID and RequestHash are the request's, Actor is who gave it; Itself is true for a service of ours that acts
	// for nobody.
	RequestID   string `json:"request_id"`
	RequestHash string `json:"request_hash"`
	Actor       string `json:"actor"`
	Itself      bool   `json:"itself,omitempty"`
	// Execute or Abandon is the JSON of the request.
	Execute []byte `json:"execute,omitempty"`
	Abandon []byte `json:"abandon,omitempty"`
	// Manage is anything else that is done to the expedition itself.
	Manage *manage `json:"manage,omitempty"`
	// Canceled gives the expedition up since its workflow was canceled, unless it is over.
	Canceled bool `json:"canceled,omitempty"`
}

// manage is exactly one of its fields, but for Reason; Absence is the JSON of one.
type manage struct {
	Open    bool   `json:"open,omitempty"`
	Close   bool   `json:"close,omitempty"`
	Absence []byte `json:"absence,omitempty"`
	// HandOver is who leads from now on, for a Reason; Reclaim gives leadership back to who lost it by being away.
	HandOver string `json:"hand_over,omitempty"`
	Reason   string `json:"reason,omitempty"`
	Reclaim  bool   `json:"reclaim,omitempty"`
}

// standing is the little that a workflow knows of its expedition.
type standing struct {
	Phase Phase `json:"phase"`
	// Seq is the last record of the log.
	Seq int `json:"seq"`
	// Wake is when the expedition has something to do by itself; zero: never.
	Wake time.Time `json:"wake,omitzero"`
}

// definition is the workflow with what may differ between installations and tests. None of it changes what a history
// means.
type definition struct {
	// attempt is how long one attempt at a command may take.
	attempt time.Duration
	// silence is after how long without a sign of life a command is given to another worker.
	silence time.Duration
	// maxUpdates is after how many commands a run turns over.
	maxUpdates int
}

// thread is one run of the workflow.
type thread struct {
	definition
	name     string
	turn     workflow.Mutex
	restored bool
	// closing is set when the run takes no more commands.
	closing  bool
	updates  int
	standing standing
}

// run is the workflow: it hands out turns until the expedition is over, and begins a new run when its history gets long.
func (d definition) run(ctx workflow.Context, in input) error {
	t := &thread{definition: d, name: in.Name, turn: workflow.NewMutex(ctx)}
	// Before anything that waits: an update may have come with the start.
	err := workflow.SetUpdateHandlerWithOptions(ctx, updateName, t.execute, workflow.UpdateHandlerOptions{Validator: t.validate})
	if err != nil {
		return err
	}
	full := func() bool {
		return t.standing.Phase == Concluded || t.updates >= t.maxUpdates || workflow.GetInfo(ctx).GetContinueAsNewSuggested()
	}
	switch err = t.restore(ctx); {
	case err != nil:
	case workflow.GetVersion(ctx, wakes, workflow.DefaultVersion, 1) == workflow.DefaultVersion:
		err = workflow.Await(ctx, full)
	default:
		err = t.live(ctx, full)
	}
	t.closing = true
	// Commands under way are carried through, also when the workflow was canceled; then the expedition is given up.
	after, cancel := workflow.NewDisconnectedContext(ctx)
	defer cancel()
	if drained := workflow.Await(after, func() bool { return workflow.AllHandlersFinished(after) }); drained != nil {
		return drained
	}
	if err == nil && t.standing.Phase != Concluded {
		err = ctx.Err() // canceled while it turned over: the next run would not know
	}
	switch {
	case temporal.IsCanceledError(err):
		if workflow.GetVersion(after, cancels, workflow.DefaultVersion, 1) != workflow.DefaultVersion {
			if gone := t.giveUp(after); gone != nil {
				return gone
			}
		}
		return err
	case err != nil:
		return err
	case t.standing.Phase == Concluded:
		return nil
	}
	return workflow.NewContinueAsNewError(ctx, workflowName, in)
}

const (
	// skew is how long to wait when two clocks do not agree on what time it is.
	skew = time.Second
	// What an expedition could not do by itself is tried again after relief, then after twice as long, up to mostRelief.
	// Meanwhile its commands have their turns: whatever is wrong, it can be given up.
	relief, mostRelief = 5 * time.Second, time.Minute
	// tries are how many attempts it makes before.
	tries = 3
)

// live waits until the run is full, and does meanwhile what the expedition has to do by itself.
func (t *thread) live(ctx workflow.Context, full func() bool) error {
	rest := relief
	for !full() {
		wake := t.standing.Wake
		moved := func() bool { return full() || !t.standing.Wake.Equal(wake) }
		if wake.IsZero() {
			if err := workflow.Await(ctx, moved); err != nil {
				return err
			}
			continue
		}
		if wait := wake.Sub(workflow.Now(ctx)); wait > 0 {
			if early, err := workflow.AwaitWithTimeout(ctx, wait, moved); err != nil || early {
				if err != nil {
					return err
				}
				continue
			}
		}
		if err := t.tick(ctx, wake); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if _, err := workflow.AwaitWithTimeout(ctx, rest, moved); err != nil {
				return err
			}
			rest = min(2*rest, mostRelief)
			continue
		}
		rest = relief
		if !moved() {
			// The worker's clock is behind Temporal's: it is not time yet.
			if _, err := workflow.AwaitWithTimeout(ctx, skew, moved); err != nil {
				return err
			}
		}
	}
	return nil
}

// tick takes a turn of its own. A command that had its turn meanwhile may have made it needless.
func (t *thread) tick(ctx workflow.Context, wake time.Time) error {
	if err := t.turn.Lock(ctx); err != nil {
		return err
	}
	defer t.turn.Unlock()
	if !t.standing.Wake.Equal(wake) || t.standing.Phase == Concluded {
		return nil
	}
	t.updates++
	ctx, cancel := workflow.NewDisconnectedContext(ctx)
	defer cancel()
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: t.attempt, HeartbeatTimeout: t.silence,
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: time.Second, BackoffCoefficient: 2, MaximumAttempts: tries},
	})
	var now standing // not the old one: what an answer leaves out would stay
	err := workflow.ExecuteActivity(ctx, tickName, t.name).Get(ctx, &now)
	if err == nil {
		t.standing = now
	}
	return err
}

// mostPatience is the longest rest between two tries to give an expedition up whose workflow was canceled.
const mostPatience = time.Hour

// giveUp gives the expedition up: whoever cancels its workflow wants nothing of it left, neither lent nor open. What keeps it
// from that is away for a while, or is giving back itself, so it goes on until it has done it.
func (t *thread) giveUp(ctx workflow.Context) error {
	within := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: t.attempt, HeartbeatTimeout: t.silence,
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: 100 * time.Millisecond, BackoffCoefficient: 2, MaximumAttempts: tries},
	})
	cmd := command{RequestID: "canceled-" + workflow.GetInfo(ctx).WorkflowExecution.RunID, RequestHash: cancels, Itself: true, Canceled: true}
	for rest := time.Second; ; rest = min(2*rest, mostPatience) {
		err := workflow.ExecuteActivity(within, executeName, t.name, cmd).Get(ctx, nil)
		if err == nil {
			return nil
		}
		if err := workflow.Sleep(ctx, rest); err != nil {
			return err
		}
	}
}

// validate refuses updates only while the run is turning over. What they ask for is checked when their turn has come.
func (t *thread) validate(workflow.Context, command) error {
	if t.closing {
		return temporal.NewNonRetryableApplicationError("the expedition's workflow turns over; come again", turnoverType, nil)
	}
	return nil
}

// restore reads where the expedition stands. It has no end but the log's: without the log nothing can be done.
func (t *thread) restore(ctx workflow.Context) error {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: t.attempt, HeartbeatTimeout: t.silence,
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: 200 * time.Millisecond, BackoffCoefficient: 2, MaximumInterval: 10 * time.Second},
	})
	err := workflow.ExecuteActivity(ctx, restoreName, t.name).Get(ctx, &t.standing)
	t.restored = err == nil
	return err
}

// execute carries one command out when its turn has come.
func (t *thread) execute(ctx workflow.Context, cmd command) (standing, error) {
	t.updates++
	if err := workflow.Await(ctx, func() bool { return t.restored || t.closing }); err != nil {
		return standing{}, err
	}
	if !t.restored {
		return standing{}, temporal.NewNonRetryableApplicationError("the expedition could not be restored", turnoverType, nil)
	}
	if err := t.turn.Lock(ctx); err != nil {
		return standing{}, err
	}
	defer t.turn.Unlock()
	// A command that has begun is seen through, whatever happens to the workflow.
	ctx, cancel := workflow.NewDisconnectedContext(ctx)
	defer cancel()
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout:    t.attempt,
		ScheduleToCloseTimeout: 12 * t.attempt,
		HeartbeatTimeout:       t.silence,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: 100 * time.Millisecond, BackoffCoefficient: 2, MaximumInterval: 5 * time.Second, MaximumAttempts: 10,
		},
	})
	var now standing
	if err := workflow.ExecuteActivity(ctx, executeName, t.name, cmd).Get(ctx, &now); err != nil {
		var app *temporal.ApplicationError
		if errors.As(err, &app) {
			return standing{}, app // without the wrapping that names workers and ids
		}
		return standing{}, err
	}
	t.standing = now
	return now, nil
}
