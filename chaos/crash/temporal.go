package crash

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"reflect"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	updatepb "go.temporal.io/api/update/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	tlog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/wayfarer-rpg/wayfarer/workflows/expedition"
)

// temporalServer stands in for a Temporal cluster. Each command is an update of a workflow that begins anew, as after a turn-over.
type temporalServer struct {
	*house
	client client.Client
	suite  testsuite.WorkflowTestSuite
	// late are updates that were accepted and whose callers were cut off before they had their turn.
	late []*workflowservice.UpdateWorkflowExecutionRequest
}

func newTemporal(h *house) (*temporalServer, error) {
	t := &temporalServer{house: h}
	quiet := tlog.NewStructuredLogger(slog.New(slog.DiscardHandler))
	t.suite.SetLogger(quiet)
	var err error
	t.client, err = client.NewLazyClient(client.Options{HostPort: "passthrough:///house", Logger: quiet, ConnectionOptions: client.ConnectionOptions{
		DialOptions: []grpc.DialOption{grpc.WithChainUnaryInterceptor(t.serve)},
	}})
	return t, err
}

func (t *temporalServer) close() { t.client.Close() }

// serve answers what the client asks of a cluster.
func (t *temporalServer) serve(ctx context.Context, method string, req, reply any, _ *grpc.ClientConn, _ grpc.UnaryInvoker, _ ...grpc.CallOption) error {
	var res proto.Message
	switch req := req.(type) {
	case *healthv1.HealthCheckRequest:
		res = &healthv1.HealthCheckResponse{Status: healthv1.HealthCheckResponse_SERVING}
	case *workflowservice.GetSystemInfoRequest:
		res = &workflowservice.GetSystemInfoResponse{Capabilities: &workflowservice.GetSystemInfoResponse_Capabilities{}}
	case *workflowservice.ExecuteMultiOperationRequest:
		outcome, err := t.update(ctx, req.GetOperations()[1].GetUpdateWorkflow())
		if err != nil {
			return err
		}
		type one = workflowservice.ExecuteMultiOperationResponse_Response
		res = &workflowservice.ExecuteMultiOperationResponse{Responses: []*one{
			{Response: &workflowservice.ExecuteMultiOperationResponse_Response_StartWorkflow{StartWorkflow: &workflowservice.StartWorkflowExecutionResponse{
				RunId: "run", Started: true,
			}}},
			{Response: &workflowservice.ExecuteMultiOperationResponse_Response_UpdateWorkflow{UpdateWorkflow: &workflowservice.UpdateWorkflowExecutionResponse{
				UpdateRef: &updatepb.UpdateRef{
					WorkflowExecution: req.GetOperations()[1].GetUpdateWorkflow().GetWorkflowExecution(),
					UpdateId:          req.GetOperations()[1].GetUpdateWorkflow().GetRequest().GetMeta().GetUpdateId(),
				},
				Outcome: outcome, Stage: enumspb.UPDATE_WORKFLOW_EXECUTION_LIFECYCLE_STAGE_COMPLETED,
			}}},
		}}
	default:
		return status.Errorf(codes.Unimplemented, "%s", method)
	}
	proto.Merge(reply.(proto.Message), res) //nolint:forcetypeassert // what gRPC receives
	return nil
}

// update gives a command its turn, after those that are late.
func (t *temporalServer) update(ctx context.Context, req *workflowservice.UpdateWorkflowExecutionRequest) (*updatepb.Outcome, error) {
	from, _ := ctx.Value(lifeKey{}).(*life)
	if from == nil || from.gone() != nil {
		return nil, status.Error(codes.Canceled, "down")
	}
	if cut, _ := from.pass(Update, "Execute", Before); cut {
		t.late = append(t.late, req)
		return nil, status.Error(codes.DeadlineExceeded, "cut off") // the client does not try that again by itself
	}
	t.catchUp()
	outcome := t.turn(req)
	if cut, err := from.pass(Update, "Execute", After); cut || err != nil {
		return nil, status.Error(codes.DeadlineExceeded, "cut off")
	}
	return outcome, nil
}

// catchUp gives those their turn that are late.
func (t *temporalServer) catchUp() {
	for len(t.late) > 0 {
		first := t.late[0]
		t.late = t.late[1:]
		t.turn(first)
	}
}

// patience is how long a turn may take.
const patience = 4 * time.Minute

// turn runs the workflow for one command.
func (t *temporalServer) turn(req *workflowservice.UpdateWorkflowExecutionRequest) *updatepb.Outcome {
	outcome := t.failed(temporal.NewNonRetryableApplicationError("the workflow ended before it", "AcceptedUpdateCompletedWorkflow", nil))
	env := t.suite.NewTestWorkflowEnvironment()
	env.SetStartTime(t.clock())
	// A busy machine is slow, and its workflows are not blocked.
	env.SetTestTimeout(patience)
	env.SetWorkerOptions(worker.Options{DeadlockDetectionTimeout: patience})
	if err := t.register(env); err != nil {
		return t.failed(err)
	}
	done := func(err error) {
		if outcome = t.failed(err); err == nil {
			outcome = &updatepb.Outcome{Value: &updatepb.Outcome_Success{Success: &commonpb.Payloads{}}}
		}
		env.CancelWorkflow()
	}
	args := make([]any, 0, 1)
	for _, p := range req.GetRequest().GetInput().GetArgs().GetPayloads() {
		args = append(args, json.RawMessage(p.GetData()))
	}
	env.RegisterDelayedCallback(func() {
		env.UpdateWorkflow(req.GetRequest().GetInput().GetName(), req.GetRequest().GetMeta().GetUpdateId(), &testsuite.TestUpdateCallback{
			OnAccept: func() {}, OnReject: done, OnComplete: func(_ any, err error) { done(err) },
		}, args...)
	}, 0)
	env.ExecuteWorkflow("Expedition", map[string]string{"name": req.GetWorkflowExecution().GetWorkflowId()})
	return outcome
}

func (t *temporalServer) failed(err error) *updatepb.Outcome {
	if err == nil {
		return nil
	}
	return &updatepb.Outcome{Value: &updatepb.Outcome_Failure{Failure: temporal.GetDefaultFailureConverter().ErrorToFailure(err)}}
}

// collector keeps the activities of a life.
type collector struct{ *life }

// RegisterWorkflowWithOptions implements [expedition.Registry].
func (collector) RegisterWorkflowWithOptions(any, workflow.RegisterOptions) {}

// RegisterActivityWithOptions implements [expedition.Registry].
func (c collector) RegisterActivityWithOptions(a any, o activity.RegisterOptions) {
	c.activities[o.Name] = a
}

// register puts the workflow and the activities of whatever worker is alive when they are to be done into an environment.
func (t *temporalServer) register(env *testsuite.TestWorkflowEnvironment) error {
	l, err := t.worker()
	if err != nil {
		return err
	}
	l.served.(*expedition.Server).RegisterWorker(relay{env, t}) //nolint:forcetypeassert // the expedition program
	return nil
}

// worker waits for a worker that lives.
func (t *temporalServer) worker() (*life, error) {
	for range perCommand {
		if l, err := t.programs["expedition"].alive(); err == nil {
			return l, nil
		}
	}
	return t.programs["expedition"].alive()
}

// relay registers activities that are given to the worker of the moment.
type relay struct {
	*testsuite.TestWorkflowEnvironment
	*temporalServer
}

// RegisterActivityWithOptions implements [expedition.Registry].
func (r relay) RegisterActivityWithOptions(a any, o activity.RegisterOptions) {
	typ := reflect.TypeOf(a)
	r.TestWorkflowEnvironment.RegisterActivityWithOptions(reflect.MakeFunc(typ, func(args []reflect.Value) []reflect.Value {
		if last := args[len(args)-1]; last.Kind() == reflect.Struct && last.FieldByName("Canceled").Bool() {
			// The cancel by which a turn ends here is no operator's, and gives nothing up.
			return []reflect.Value{reflect.Zero(typ.Out(0)), reflect.Zero(typ.Out(1))}
		}
		out, err := r.act(o.Name, args)
		if err != nil {
			return []reflect.Value{reflect.Zero(typ.Out(0)), reflect.ValueOf(&err).Elem()}
		}
		return out
	}).Interface(), o)
}

// errNoSign is what becomes of an activity whose worker gives no sign of life: it is begun again.
var errNoSign = errors.New("no sign of life")

// act carries an activity out.
func (t *temporalServer) act(name string, args []reflect.Value) ([]reflect.Value, error) {
	l, err := t.programs["expedition"].alive()
	if err != nil {
		return nil, errNoSign
	}
	if _, err := l.pass(Activity, name, Before); err != nil {
		return nil, errNoSign
	}
	ctx := context.WithValue(args[0].Interface().(context.Context), lifeKey{}, l) //nolint:forcetypeassert // activities take one
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(l.ctx, cancel)()
	out := reflect.ValueOf(l.activities[name]).Call(append([]reflect.Value{reflect.ValueOf(ctx)}, args[1:]...))
	if l.gone() != nil {
		return nil, errNoSign
	}
	if _, err := l.pass(Activity, name, After); err != nil {
		return nil, errNoSign
	}
	return out, nil
}
