package expedition

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	dungeonv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dungeon/v1"
	expeditionv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/expedition/v1"
	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"
	travelv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/travel/v1"
	typev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/type/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/auth"
	"github.com/wayfarer-rpg/wayfarer/internal/fault"
	"github.com/wayfarer-rpg/wayfarer/internal/journal"
	"github.com/wayfarer-rpg/wayfarer/internal/requestid"
)

// Members tells who may do what. Who has no role in the campaign, a resource name, gets a NOT_FOUND fault.
type Members interface {
	Role(ctx context.Context, campaign, subject string) (typev1.Role, error)
}

// Config is what the service needs. All of it is required but for Logger, Clock and what a number of 0 has a meaning for.
type Config struct {
	// Store keeps the logs.
	Store journal.Store
	// Temporal is a client made with options that went through [Encrypt].
	Temporal client.Client
	// TaskQueue joins the workers of an installation.
	TaskQueue string
	// Members tells who may do what.
	Members Members
	// Travel and Dungeon are connections to the services that own journeys, runs and delves. Their calls carry this service's
	// identity and name the actor of [auth.WithActor]. Party is one to the service that knows the companies.
	Travel, Dungeon, Party grpc.ClientConnInterface
	// Redact returns a message as somebody who is no game master may see it, without changing what it is given.
	Redact func(proto.Message) proto.Message
	// Logger takes what goes wrong; nil: slog.Default.
	Logger *slog.Logger
	// Clock dates records; nil: time.Now.
	Clock func() time.Time
	// Attempt is how long one attempt at a command may take; 0 means 10 s. A command whose worker died is taken up by
	// another one sooner, after some three seconds without a sign of life.
	Attempt time.Duration
	// MaxUpdates is after how many commands a workflow begins a new run; 0 means 1000.
	MaxUpdates int
	// InFlight is how many commands of one expedition this process hands to Temporal at once; the others wait in the order
	// in which they came. The workflow takes them one by one, so more than two gain nothing. All replicas together have to
	// stay below Temporal's limit of updates under way (10 unless configured otherwise): beyond it commands are slow, since
	// Temporal turns them away. 0 means 2.
	InFlight int
	// Grace is how long [Server.Stop] waits for commands under way; 0 means 10 s.
	Grace time.Duration
	// Build is the build that the worker is of; the zero Build leaves it to the task queue who works.
	Build Build
	// TemporalWait is after how long a command without an answer makes the service look whether Temporal is there, and how
	// long that look may take; 0 means 2 s.
	TemporalWait time.Duration
	// silence is beatTimeout, but for tests on machines so busy that a worker may be silent for as long.
	silence time.Duration
}

// Server is the ExpeditionService and the worker behind it.
type Server struct {
	expeditionv1.UnimplementedExpeditionServiceServer
	cfg       Config
	log       *journal.Journal[state]
	journeys  travelv1.JourneyServiceClient
	runs      dungeonv1.RunServiceClient
	delves    dungeonv1.DelveServiceClient
	companies partyv1.CompanyServiceClient
	worker    worker.Worker
	gate      *gate
	// afterCall is called between a service's answer and the log, for tests.
	afterCall func(ctx context.Context, command string)
}

// New returns a server. [Server.Start] starts its worker; without one somewhere commands wait.
func New(cfg Config) (*Server, error) {
	switch {
	case cfg.Store == nil:
		return nil, errors.New("expedition: a store is needed")
	case cfg.Temporal == nil || cfg.TaskQueue == "":
		return nil, errors.New("expedition: a Temporal client and a task queue are needed")
	case cfg.Members == nil || cfg.Travel == nil || cfg.Dungeon == nil || cfg.Party == nil:
		return nil, errors.New("expedition: members, travel, dungeon and party are needed")
	case cfg.Redact == nil:
		return nil, errors.New("expedition: something to redact with is needed")
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	if cfg.Attempt == 0 {
		cfg.Attempt = 10 * time.Second
	}
	if cfg.MaxUpdates == 0 {
		cfg.MaxUpdates = 1000
	}
	if cfg.InFlight == 0 {
		cfg.InFlight = 2
	}
	if cfg.Grace == 0 {
		cfg.Grace = 10 * time.Second
	}
	if cfg.silence == 0 {
		cfg.silence = beatTimeout
	}
	if cfg.TemporalWait == 0 {
		cfg.TemporalWait = 2 * time.Second
	}
	s := &Server{
		cfg:       cfg,
		log:       journal.New(cfg.Store, fold(), journal.WithClock(cfg.Clock), journal.WithLogger(cfg.Logger), journal.WithSelf("expedition")),
		journeys:  travelv1.NewJourneyServiceClient(cfg.Travel),
		runs:      dungeonv1.NewRunServiceClient(cfg.Dungeon),
		delves:    dungeonv1.NewDelveServiceClient(cfg.Dungeon),
		companies: partyv1.NewCompanyServiceClient(cfg.Party),
		gate:      newGate(cfg.InFlight),
	}
	deployment, err := cfg.Build.options()
	if err != nil {
		return nil, err
	}
	s.worker = worker.New(cfg.Temporal, cfg.TaskQueue, worker.Options{
		DeploymentOptions: deployment, WorkerStopTimeout: cfg.Grace, MaxHeartbeatThrottleInterval: beatEvery, DefaultHeartbeatThrottleInterval: beatEvery,
	})
	s.register(s.worker)
	return s, nil
}

// Registry is what workers and test environments have in common.
type Registry interface {
	RegisterWorkflowWithOptions(w any, options workflow.RegisterOptions)
	RegisterActivityWithOptions(a any, options activity.RegisterOptions)
}

// RegisterWorker registers the workflow and its activities on something else than the server's own worker, such as Temporal's
// test environment.
func (s *Server) RegisterWorker(r Registry) { s.register(r) }

func (s *Server) register(r Registry) {
	d := definition{attempt: s.cfg.Attempt, silence: s.cfg.silence, maxUpdates: s.cfg.MaxUpdates}
	r.RegisterWorkflowWithOptions(d.run, workflow.RegisterOptions{Name: workflowName})
	r.RegisterActivityWithOptions(s.restoreExpedition, activity.RegisterOptions{Name: restoreName})
	r.RegisterActivityWithOptions(s.executeCommand, activity.RegisterOptions{Name: executeName})
	r.RegisterActivityWithOptions(s.tickExpedition, activity.RegisterOptions{Name: tickName})
}

// Register registers the service.
func (s *Server) Register(r grpc.ServiceRegistrar) {
	expeditionv1.RegisterExpeditionServiceServer(r, s)
}

// Start starts the worker.
func (s *Server) Start() error {
	if err := s.worker.Start(); err != nil {
		return fmt.Errorf("start the expedition worker: %w", err)
	}
	return nil
}

// Stop stops the worker, which may finish what it has begun within the grace period; what is left is taken up by another
// worker. Then it ends all watches. Store and client stay open.
func (s *Server) Stop() error {
	s.worker.Stop()
	return s.log.Close()
}

// Ping tells whether store and Temporal can be used.
func (s *Server) Ping(ctx context.Context) error {
	if err := s.cfg.Store.Ping(ctx); err != nil {
		return err
	}
	_, err := s.cfg.Temporal.CheckHealth(ctx, &client.CheckHealthRequest{})
	return err
}

// caller is who calls, with what they may do.
type caller struct {
	subject string
	// itself is true for a service that acts for nobody: it may do everything.
	itself bool
	role   typev1.Role
}

func (c caller) gm() bool {
	return c.itself || c.role == typev1.Role_ROLE_GM || c.role == typev1.Role_ROLE_OWNER
}

func (c caller) requirePlay() error {
	if c.itself || c.role != typev1.Role_ROLE_SPECTATOR {
		return nil
	}
	return fault.New(fault.PermissionDenied, "SPECTATOR", "spectators change nothing")
}

func (s *Server) callerOf(ctx context.Context, name, subject string, itself bool) (caller, error) {
	c := caller{subject: subject, itself: itself}
	if itself {
		return c, nil
	}
	var err error
	c.role, err = s.cfg.Members.Role(ctx, campaignOf(name), subject)
	return c, err
}

// caller returns who makes the call of a context.
func (s *Server) caller(ctx context.Context, name string) (caller, error) {
	p, ok := auth.FromContext(ctx)
	if !ok {
		return caller{}, fault.New(fault.Unauthenticated, auth.TokenMissing, "a bearer token is needed")
	}
	return s.callerOf(ctx, name, p.Effective(), p.Service && p.Actor == "")
}

// show returns a message as the caller may see it.
func show[M proto.Message](s *Server, c caller, m M) M {
	if c.gm() {
		return m
	}
	return s.cfg.Redact(m).(M) //nolint:forcetypeassert // the same message
}

// CreateExpedition implements the service.
func (s *Server) CreateExpedition(ctx context.Context, req *expeditionv1.CreateExpeditionRequest) (*expeditionv1.CreateExpeditionResponse, error) {
	who, err := s.caller(ctx, req.GetParent())
	if err != nil {
		return nil, err
	}
	if err := who.requirePlay(); err != nil {
		return nil, err
	}
	if err := ofCampaign(req.GetParent(), "company", req.GetCompany()); err != nil {
		return nil, err
	}
	id := req.GetExpeditionId()
	if id == "" {
		id = requestid.Derive(req.GetParent(), req.GetRequestId())
	}
	hash, err := requestid.Hash(expeditionv1.ExpeditionService_CreateExpedition_FullMethodName, who.subject, req)
	if err != nil {
		return nil, err
	}
	done, err := s.log.Commit(ctx, journal.Command{
		Stream: req.GetParent() + "/expeditions/" + id, Mode: journal.Create, Campaign: req.GetParent(),
		RequestID: req.GetRequestId(), RequestHash: hash, Actor: who.subject,
	}, func(ctx context.Context, _ journal.At[state]) (journal.Decision, error) {
		if err := s.companyThere(ctx, req.GetCompany()); err != nil {
			return journal.Decision{}, err
		}
		raw, err := marshalEvents([]*expeditionv1.ExpeditionEvent{{Event: &expeditionv1.ExpeditionEvent_Created{
			Created: &expeditionv1.ExpeditionCreated{Title: req.GetTitle(), Company: req.GetCompany(), Creator: who.subject, Absence: req.GetAbsence()},
		}}})
		return journal.Decision{Events: raw}, err
	})
	if err != nil {
		return nil, err
	}
	if !done.Replayed {
		entered(ctx, 0, done.State.State.Phase)
	}
	events, err := eventsOf(done.Record)
	if err != nil {
		return nil, err
	}
	return show(s, who, &expeditionv1.CreateExpeditionResponse{Record: recordOf(done.Record), Expedition: toProto(done.State), Events: events}), nil
}

// companyThere refuses a company, "" for none, that does not exist. It is read as the service itself, since it says no more.
func (s *Server) companyThere(ctx context.Context, name string) error {
	if name == "" {
		return nil
	}
	_, err := s.companies.GetCompany(auth.WithoutActor(ctx), &partyv1.GetCompanyRequest{Name: name})
	if err = fault.FromStatus(err); fault.KindOf(err) == fault.NotFound {
		return fault.New(fault.NotFound, "NOT_FOUND", "%s does not exist", name).At("company", "does not exist").With("resource", name)
	}
	return err
}

// GetExpedition implements the service.
func (s *Server) GetExpedition(ctx context.Context, req *expeditionv1.GetExpeditionRequest) (*expeditionv1.GetExpeditionResponse, error) {
	who, err := s.caller(ctx, req.GetName())
	if err != nil {
		return nil, err
	}
	at, err := s.load(ctx, req.GetName())
	if err != nil {
		return nil, err
	}
	return show(s, who, &expeditionv1.GetExpeditionResponse{Expedition: toProto(at)}), nil
}

// load reads an expedition. An unknown one is NOT_FOUND, with its name.
func (s *Server) load(ctx context.Context, name string) (journal.At[state], error) {
	at, err := s.log.Load(ctx, name)
	if fault.KindOf(err) == fault.NotFound {
		return at, fault.New(fault.NotFound, "NOT_FOUND", "%s does not exist", name).With("resource", name)
	}
	return at, err
}

// ListExpeditions implements the service.
func (s *Server) ListExpeditions(ctx context.Context, req *expeditionv1.ListExpeditionsRequest) (*expeditionv1.ListExpeditionsResponse, error) {
	who, err := s.caller(ctx, req.GetParent())
	if err != nil {
		return nil, err
	}
	page, err := s.log.List(ctx, journal.Query[state]{
		Campaign: req.GetParent(), PageSize: int(req.GetPageSize()), PageToken: req.GetPageToken(),
	})
	if err != nil {
		return nil, err
	}
	res := &expeditionv1.ListExpeditionsResponse{NextPageToken: page.NextToken}
	for _, at := range page.Rows {
		res.Expeditions = append(res.Expeditions, toProto(at))
	}
	return show(s, who, res), nil
}

// WatchExpedition implements the service.
func (s *Server) WatchExpedition(req *expeditionv1.WatchExpeditionRequest, stream grpc.ServerStreamingServer[expeditionv1.WatchExpeditionResponse]) error {
	ctx := stream.Context()
	if _, err := s.caller(ctx, req.GetName()); err != nil {
		return err
	}
	at, err := s.load(ctx, req.GetName())
	if err != nil {
		return err
	}
	from := int(req.GetFromSeq())
	if at.State.Phase == Concluded && from >= at.Seq {
		return nil
	}
	_ = grpc.SendHeader(ctx, nil) // tells that the watch has begun, before there is a record
	// Also who asks for what comes after the end of the log wants to know when there will be no more.
	for rec, err := range s.log.Watch(ctx, req.GetName(), min(from, at.Seq)+1) {
		if err != nil {
			return err
		}
		events, err := eventsOf(rec)
		if err != nil {
			return err
		}
		if rec.Seq > from {
			// A watch may last for weeks: what the caller may see is asked anew.
			who, err := s.caller(ctx, req.GetName())
			if err != nil {
				return err
			}
			if err := stream.Send(show(s, who, &expeditionv1.WatchExpeditionResponse{Record: recordOf(rec), Events: events})); err != nil {
				return err
			}
		}
		if n := len(events); n > 0 && events[n-1].GetConcluded() != nil {
			return nil
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return fault.Stopping()
}

// Execute implements the service.
func (s *Server) Execute(ctx context.Context, req *expeditionv1.ExecuteRequest) (*expeditionv1.ExecuteResponse, error) {
	if _, err := callOf(req); err != nil {
		return nil, err
	}
	raw, err := marshal(req)
	if err != nil {
		return nil, err
	}
	who, done, err := s.mutate(ctx, expeditionv1.ExpeditionService_Execute_FullMethodName, req, command{Execute: raw})
	if err != nil {
		return nil, err
	}
	return s.answerTo(ctx, who, req, done)
}

// answerTo makes the first answer to a command, also when it is asked for again: the owning service knows it by its
// request_id, and shows it as the caller may see it now.
func (s *Server) answerTo(ctx context.Context, who caller, req *expeditionv1.ExecuteRequest, done journal.Committed[state]) (*expeditionv1.ExecuteResponse, error) {
	events, err := eventsOf(done.Record)
	if err != nil {
		return nil, err
	}
	c, err := callOf(req)
	if err != nil {
		return nil, err
	}
	aggregate := madeBy(events, requestid.Derive(req.GetName(), req.GetRequestId())).GetAggregate()
	for _, e := range events {
		if x := e.GetExecuted(); x != nil {
			aggregate = x.GetAggregate()
		}
	}
	if err := c.fill(req.GetName(), done.State.State.Company, aggregate, req.GetRequestId()); err != nil {
		return nil, err
	}
	result, err := s.invoke(as(ctx, who.subject, who.itself), c)
	if err != nil {
		return nil, fault.FromStatus(err)
	}
	res := show(s, who, &expeditionv1.ExecuteResponse{Record: recordOf(done.Record), Expedition: toProto(done.State)})
	res.ProtoReflect().Set(executeFields.ByName(protoreflect.Name(c.name)), protoreflect.ValueOfMessage(result.ProtoReflect()))
	return res, nil
}

// AbandonExpedition implements the service.
func (s *Server) AbandonExpedition(ctx context.Context, req *expeditionv1.AbandonExpeditionRequest) (*expeditionv1.AbandonExpeditionResponse, error) {
	raw, err := marshal(req)
	if err != nil {
		return nil, err
	}
	who, done, err := s.mutate(ctx, expeditionv1.ExpeditionService_AbandonExpedition_FullMethodName, req, command{Abandon: raw})
	if err != nil {
		return nil, err
	}
	events, err := eventsOf(done.Record)
	if err != nil {
		return nil, err
	}
	return show(s, who, &expeditionv1.AbandonExpeditionResponse{Record: recordOf(done.Record), Expedition: toProto(done.State), Events: events}), nil
}

// OpenSession implements the service.
func (s *Server) OpenSession(ctx context.Context, req *expeditionv1.OpenSessionRequest) (*expeditionv1.OpenSessionResponse, error) {
	who, done, events, err := s.manage(ctx, expeditionv1.ExpeditionService_OpenSession_FullMethodName, req, manage{Open: true})
	if err != nil {
		return nil, err
	}
	return show(s, who, &expeditionv1.OpenSessionResponse{Record: recordOf(done.Record), Expedition: toProto(done.State), Events: events}), nil
}

// CloseSession implements the service.
func (s *Server) CloseSession(ctx context.Context, req *expeditionv1.CloseSessionRequest) (*expeditionv1.CloseSessionResponse, error) {
	who, done, events, err := s.manage(ctx, expeditionv1.ExpeditionService_CloseSession_FullMethodName, req, manage{Close: true})
	if err != nil {
		return nil, err
	}
	return show(s, who, &expeditionv1.CloseSessionResponse{Record: recordOf(done.Record), Expedition: toProto(done.State), Events: events}), nil
}

// SetAbsence implements the service.
func (s *Server) SetAbsence(ctx context.Context, req *expeditionv1.SetAbsenceRequest) (*expeditionv1.SetAbsenceResponse, error) {
	raw, err := marshal(req.GetAbsence())
	if err != nil {
		return nil, err
	}
	who, done, events, err := s.manage(ctx, expeditionv1.ExpeditionService_SetAbsence_FullMethodName, req, manage{Absence: raw})
	if err != nil {
		return nil, err
	}
	return show(s, who, &expeditionv1.SetAbsenceResponse{Record: recordOf(done.Record), Expedition: toProto(done.State), Events: events}), nil
}

// HandOverLeadership implements the service.
func (s *Server) HandOverLeadership(ctx context.Context, req *expeditionv1.HandOverLeadershipRequest) (*expeditionv1.HandOverLeadershipResponse, error) {
	if campaignOf(req.GetCharacter()) != campaignOf(req.GetName()) {
		return nil, fault.New(fault.NotFound, "NOT_FOUND", "%s does not exist in %s", req.GetCharacter(), campaignOf(req.GetName())).
			At("character", "is not in this campaign").With("resource", req.GetCharacter())
	}
	who, done, events, err := s.manage(ctx, expeditionv1.ExpeditionService_HandOverLeadership_FullMethodName, req,
		manage{HandOver: req.GetCharacter(), Reason: req.GetOverrideReason()})
	if err != nil {
		return nil, err
	}
	return show(s, who, &expeditionv1.HandOverLeadershipResponse{Record: recordOf(done.Record), Expedition: toProto(done.State), Events: events}), nil
}

// ReclaimLeadership implements the service.
func (s *Server) ReclaimLeadership(ctx context.Context, req *expeditionv1.ReclaimLeadershipRequest) (*expeditionv1.ReclaimLeadershipResponse, error) {
	who, done, events, err := s.manage(ctx, expeditionv1.ExpeditionService_ReclaimLeadership_FullMethodName, req, manage{Reclaim: true})
	if err != nil {
		return nil, err
	}
	return show(s, who, &expeditionv1.ReclaimLeadershipResponse{Record: recordOf(done.Record), Expedition: toProto(done.State), Events: events}), nil
}

func (s *Server) manage(ctx context.Context, method string, req mutation, m manage) (caller, journal.Committed[state], []*expeditionv1.ExpeditionEvent, error) {
	who, done, err := s.mutate(ctx, method, req, command{Manage: &m})
	if err != nil {
		return who, done, nil, err
	}
	events, err := eventsOf(done.Record)
	return who, done, events, err
}

// mutation is a request that goes through the workflow.
type mutation interface {
	proto.Message
	GetName() string
	GetRequestId() string
}

// mutate brings a command to its turn, unless it had one before, and returns its record.
func (s *Server) mutate(ctx context.Context, method string, req mutation, cmd command) (caller, journal.Committed[state], error) {
	var none journal.Committed[state]
	who, err := s.caller(ctx, req.GetName())
	if err != nil {
		return who, none, err
	}
	if err := who.requirePlay(); err != nil {
		return who, none, err
	}
	cmd.RequestID, cmd.Actor, cmd.Itself = req.GetRequestId(), who.subject, who.itself
	if cmd.RequestHash, err = requestid.Hash(method, who.subject, req); err != nil {
		return who, none, err
	}
	entry := journal.Command{Stream: req.GetName(), RequestID: cmd.RequestID, RequestHash: cmd.RequestHash, Actor: cmd.Actor}
	for try := 0; ; try++ {
		if first, ok, err := s.log.Answer(ctx, entry); err != nil || ok {
			return who, first, err
		}
		at, err := s.load(ctx, req.GetName())
		if err != nil {
			return who, none, err
		}
		if at.State.Phase == Concluded {
			done, err := s.late(ctx, at, cmd)
			return who, done, err
		}
		err = s.order(ctx, req.GetName(), cmd)
		switch {
		case err == nil:
			first, ok, err := s.log.Answer(ctx, entry)
			if err == nil && !ok {
				err = fmt.Errorf("%s: the command is not in the log", req.GetName())
			}
			return who, first, err
		case !errors.Is(err, errTurnover):
			return who, none, err
		case try >= turnovers:
			return who, none, fault.New(fault.Unavailable, "EXPEDITION_BUSY", "the expedition's workflow does not come to rest").After(time.Second)
		}
		if err := pause(ctx, min(10*time.Millisecond<<min(try, 6), 500*time.Millisecond)); err != nil {
			return who, none, err
		}
	}
}

// late answers a command that found the expedition over: refused, unless the log has its record without knowing it for
// that of a command, because the attempt that gave it was given up before it could write that down.
func (s *Server) late(ctx context.Context, at journal.At[state], cmd command) (journal.Committed[state], error) {
	refusal := allowed(Concluded, "", journeyTarget, journeyTarget)
	id := requestid.Derive(at.Stream, cmd.RequestID)
	if cmd.Abandon != nil {
		id = requestid.Derive(id, stepJourney)
	}
	if _, ok := at.State.unclaimed(id); !ok || cmd.Manage != nil {
		return journal.Committed[state]{}, refusal
	}
	for seq := 0; seq < at.Seq; {
		recs, err := s.log.Records(ctx, at.Stream, seq, 256)
		if err != nil || len(recs) == 0 {
			return journal.Committed[state]{}, errors.Join(err, refusal)
		}
		for _, rec := range recs {
			events, err := eventsOf(rec)
			if err != nil {
				return journal.Committed[state]{}, err
			}
			if made := madeBy(events, id); made != nil {
				if cmd.Abandon != nil && !cmd.Itself && made.GetRecord().GetActor() != cmd.Actor {
					return journal.Committed[state]{}, reused(at.Stream, cmd.RequestID) // the owning service is not asked again
				}
				then, err := s.log.StateAt(ctx, at.Stream, rec.Seq)
				return journal.Committed[state]{Record: rec, State: then, Replayed: true}, err
			}
			seq = rec.Seq
		}
	}
	return journal.Committed[state]{}, refusal
}

// madeBy returns the record in the events that the command made which was given on under the id; nil for none.
func madeBy(events []*expeditionv1.ExpeditionEvent, id string) *expeditionv1.RecordLogged {
	for _, e := range events {
		if l := e.GetLogged(); l.GetRecord().GetRequestId() == id {
			return l
		}
	}
	return nil
}

// turnovers is how often a command comes again because the workflow turned over.
const turnovers = 40

// errTurnover says that the workflow's run took no command, because it ends or has too many; it has to be asked again.
var errTurnover = errors.New("the workflow turns over")

// order waits until the command has had its turn. The update's id is a fresh one each time: Temporal keeps the outcome of
// an id, failures included, so it cannot be what tells repetitions; that is the log's and the services' work.
//
// Temporal's client would go on trying for as long as the caller has time, so Temporal is watched meanwhile. A command
// that is given up because of it may still have its turn; whoever repeats it gets its answer.
func (s *Server) order(ctx context.Context, name string, cmd command) error {
	within, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	watch := time.AfterFunc(s.cfg.TemporalWait, func() { s.watchTemporal(within, giveUp) })
	defer watch.Stop()
	err := s.update(within, name, cmd)
	if away := (*fault.Error)(nil); err != nil && errors.As(context.Cause(within), &away) {
		return away
	}
	return s.outcome(ctx, name, err)
}

// watchTemporal gives an update up when Temporal does not answer.
func (s *Server) watchTemporal(ctx context.Context, giveUp context.CancelCauseFunc) {
	for ctx.Err() == nil {
		within, cancel := context.WithTimeout(ctx, s.cfg.TemporalWait)
		_, err := s.cfg.Temporal.CheckHealth(within, &client.CheckHealthRequest{})
		cancel()
		if err != nil && ctx.Err() == nil {
			giveUp(fault.New(fault.Unavailable, "TEMPORAL_UNAVAILABLE", "expeditions take no commands for now: repeat the request with the same request_id").
				After(time.Second).Wrap(err))
			return
		}
		_ = pause(ctx, s.cfg.TemporalWait) // its end is that of ctx
	}
}

func (s *Server) update(ctx context.Context, name string, cmd command) error {
	leave, err := s.gate.enter(ctx, name)
	if err != nil {
		return err
	}
	defer leave()
	start := s.cfg.Temporal.NewWithStartWorkflowOperation(client.StartWorkflowOptions{
		ID: name, TaskQueue: s.cfg.TaskQueue, WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		WorkflowTaskTimeout: taskTimeout,
	}, workflowName, input{Name: name})
	handle, err := s.cfg.Temporal.UpdateWithStartWorkflow(ctx, client.UpdateWithStartWorkflowOptions{
		StartWorkflowOperation: start,
		UpdateOptions: client.UpdateWorkflowOptions{
			UpdateID: uuid.NewString(), WorkflowID: name, UpdateName: updateName, Args: []any{cmd},
			WaitForStage: client.WorkflowUpdateStageCompleted,
		},
	})
	if err == nil {
		err = handle.Get(ctx, nil)
	}
	return err
}

// outcome says what an error of Temporal's means to the caller.
func (s *Server) outcome(ctx context.Context, name string, err error) error {
	if err == nil {
		return nil
	}
	if st := unpack(err); st != nil {
		return st.Err()
	}
	var (
		app      *temporal.ApplicationError
		canceled *temporal.CanceledError
		notFound *serviceerror.NotFound
		full     *serviceerror.ResourceExhausted
	)
	switch {
	case errors.As(err, &app) && (app.Type() == turnoverType || app.Type() == completedType),
		errors.As(err, &canceled) && ctx.Err() == nil, errors.As(err, &notFound), errors.As(err, &full):
		return errTurnover
	case ctx.Err() != nil:
		return ctx.Err()
	}
	s.cfg.Logger.WarnContext(ctx, "command without an outcome", "expedition", name, "err", err)
	return fault.New(fault.Unavailable, "NO_OUTCOME", "it is not known whether the command was carried out: repeat it with the same request_id").
		After(time.Second).Wrap(err)
}

// completedType is Temporal's own error for an update that the run took on but did not get to before its end.
const completedType = "AcceptedUpdateCompletedWorkflow"

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
