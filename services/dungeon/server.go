package dungeon

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	dicev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dice/v1"
	dungeonv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dungeon/v1"
	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"
	typev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/type/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/fault"
	"github.com/wayfarer-rpg/wayfarer/internal/journal"
	"github.com/wayfarer-rpg/wayfarer/internal/requestid"
	"github.com/wayfarer-rpg/wayfarer/rules/dangerpool"
	"github.com/wayfarer-rpg/wayfarer/rules/digger"
	"github.com/wayfarer-rpg/wayfarer/rules/play"
	"github.com/wayfarer-rpg/wayfarer/rules/ruleset"
	"github.com/wayfarer-rpg/wayfarer/services/adapter"
	"github.com/wayfarer-rpg/wayfarer/services/dungeon/delve"
)

// Config says what a [Server] works with. Rules and Journal may be left out.
type Config struct {
	// Store keeps the journals; the server does not close it.
	Store journal.Store
	// Members tells who may do what.
	Members adapter.Members
	// Parties and Leases reach the party service, Dice the dice service, with this service's own identity.
	Parties    partyv1.CampaignServiceClient
	Characters partyv1.CharacterServiceClient
	Leases     partyv1.LeaseServiceClient
	Dice       dicev1.DiceServiceClient
	// Rulesets tells by which rules a campaign plays. Nil: every campaign plays by Rules.
	Rulesets adapter.Rulesets
	// Rules is the Digger ruleset of campaigns without one of their own, PoolRules the Danger Pool's. Nil: the shipped one.
	Rules     *digger.Ruleset
	PoolRules *dangerpool.Ruleset
	// Logger takes what nobody else is told.
	Logger *slog.Logger
	// Journal are further options of the journals, for tests.
	Journal []journal.Option
}

// Server implements the services of wayfarer.dungeon.v1.
type Server struct {
	dungeonv1.UnimplementedDungeonServiceServer
	dungeonv1.UnimplementedRunServiceServer

	cfg         Config
	log         *slog.Logger
	access      *adapter.Access
	definitions *adapter.Aggregate[definition, *dungeonv1.DungeonEvent]
	runs        *adapter.Aggregate[run, *dungeonv1.RunEvent]
	delves      *delve.Server
	simulations adapter.Simulations
}

// New returns a server.
func New(cfg Config) (*Server, error) {
	if cfg.Store == nil || cfg.Members == nil || cfg.Parties == nil || cfg.Characters == nil || cfg.Leases == nil || cfg.Dice == nil || cfg.Logger == nil {
		return nil, errors.New("dungeon: store, members, parties, characters, leases, dice and logger are all needed")
	}
	if cfg.Rules == nil {
		cfg.Rules = digger.Default()
	}
	s := &Server{
		cfg: cfg, log: cfg.Logger, access: adapter.NewAccess(cfg.Members),
		definitions: adapter.NewAggregate(cfg.Store, nil, definitionSpec, cfg.Journal...),
		runs:        adapter.NewAggregate(cfg.Store, adapter.RemoteKeys{Client: cfg.Dice}, runSpec, cfg.Journal...),
	}
	var err error
	s.delves, err = delve.New(delve.Config{
		Store: cfg.Store, Members: cfg.Members, Characters: cfg.Characters, Dice: cfg.Dice, Rulesets: cfg.Rulesets, Rules: cfg.PoolRules,
		Logger: cfg.Logger, Journal: cfg.Journal,
		Dungeon: func(ctx context.Context, name string) error { _, err := s.definitions.Load(ctx, name); return err },
	})
	return s, err
}

// diggerRules returns the Digger rules that a campaign plays by now, with the campaign record that they come from.
func (s *Server) diggerRules(ctx context.Context, campaign string) (*digger.Ruleset, int, error) {
	return adapter.Parsed(ctx, s.cfg.Rulesets, campaign, ruleset.Digger, s.cfg.Rules, digger.ParseRuleset)
}

// Register adds the services to a gRPC server.
func (s *Server) Register(r grpc.ServiceRegistrar) {
	dungeonv1.RegisterDungeonServiceServer(r, s)
	dungeonv1.RegisterRunServiceServer(r, s)
	s.delves.Register(r)
}

// Sweep carries on starts and ends that a crash left open, at once and at each tick, until ctx ends.
func (s *Server) Sweep(ctx context.Context, tick <-chan time.Time) {
	for {
		if err := errors.Join(s.runs.Journal().Sweep(ctx, s.carry), s.delves.Sweep(ctx)); err != nil && ctx.Err() == nil {
			s.log.WarnContext(ctx, "sweep", "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick:
		}
	}
}

// Close ends all watches.
func (s *Server) Close() error {
	return errors.Join(s.definitions.Close(), s.runs.Close(), s.delves.Close())
}

// GetRun implements RunService.
func (s *Server) GetRun(ctx context.Context, req *dungeonv1.GetRunRequest) (*dungeonv1.GetRunResponse, error) {
	c, err := s.access.Caller(ctx, req.GetName())
	if err != nil {
		return nil, err
	}
	at, err := s.runs.Load(ctx, req.GetName())
	if err != nil {
		return nil, missing(err, "name", req.GetName())
	}
	return adapter.Redact(c, &dungeonv1.GetRunResponse{Run: runOf(at)}), nil
}

// ListRuns implements RunService.
func (s *Server) ListRuns(ctx context.Context, req *dungeonv1.ListRunsRequest) (*dungeonv1.ListRunsResponse, error) {
	c, err := s.access.Caller(ctx, req.GetParent())
	if err != nil {
		return nil, err
	}
	page, err := s.runs.List(ctx, journal.Query[run]{Campaign: c.Campaign, PageSize: int(req.GetPageSize()), PageToken: req.GetPageToken()})
	if err != nil {
		return nil, err
	}
	res := &dungeonv1.ListRunsResponse{NextPageToken: page.NextToken}
	for _, at := range page.Rows {
		res.Runs = append(res.Runs, runOf(at))
	}
	return adapter.Redact(c, res), nil
}

// WatchRun implements RunService.
func (s *Server) WatchRun(req *dungeonv1.WatchRunRequest, out grpc.ServerStreamingServer[dungeonv1.WatchRunResponse]) error {
	ctx := out.Context()
	if _, err := s.access.Caller(ctx, req.GetName()); err != nil {
		return err
	}
	err := s.runs.Watch(ctx, req.GetName(), int(req.GetFromSeq()), func(rec *typev1.Record, events []*dungeonv1.RunEvent) error {
		// Asked again for each record: roles change while a watch lasts.
		c, err := s.access.Caller(ctx, req.GetName())
		if err != nil {
			return err
		}
		return out.Send(adapter.Redact(c, &dungeonv1.WatchRunResponse{Record: rec, Events: events}))
	})
	return missing(err, "name", req.GetName())
}

// missing tells of something that does not exist by the field that named it. Other errors stay as they are.
func missing(err error, field, name string) error {
	var f *fault.Error
	if !errors.As(err, &f) || f.Kind != fault.NotFound {
		return err
	}
	f = f.With("resource", name)
	f.Fields = []fault.Violation{{Field: field, Description: "does not exist"}}
	return f
}

// StartRun implements RunService. It journals what it is going to borrow, and carries that on until play has begun or
// everything is given back.
func (s *Server) StartRun(ctx context.Context, req *dungeonv1.StartRunRequest) (*dungeonv1.StartRunResponse, error) {
	c, err := s.access.Caller(ctx, req.GetParent())
	if err != nil {
		return nil, err
	}
	return beginRun(ctx, s, c, req, func(name string, reported []int) (*dungeonv1.RunPreparing, error) {
		return s.preparing(ctx, req, c, name, reported)
	}, func(ans adapter.Answer[run, *dungeonv1.RunEvent]) *dungeonv1.StartRunResponse {
		return &dungeonv1.StartRunResponse{Record: ans.Record, Run: runOf(ans.State), Events: ans.Events}
	})
}

// beginning is a request that begins a run.
type beginning interface {
	proto.Message
	GetParent() string
	GetRunId() string
	GetRequestId() string
}

// beginRun journals what a new run is going to borrow, unless that was done before, carries it on until play has begun or
// everything is given back, and answers.
func beginRun[R proto.Message](ctx context.Context, s *Server, c adapter.Caller, req beginning,
	preparing func(name string, reported []int) (*dungeonv1.RunPreparing, error), answer func(adapter.Answer[run, *dungeonv1.RunEvent]) R,
) (R, error) {
	var none R
	id := req.GetRunId()
	if id == "" {
		id = requestid.Derive(req.GetParent()+"/runs", req.GetRequestId())
	}
	name := req.GetParent() + "/runs/" + id
	cmd, err := adapter.CommandOf(ctx, req, c, name)
	if err != nil {
		return none, err
	}
	cmd.Mode = journal.Create
	reported := cmd.Reported
	cmd.Reported = nil // the first record rolls nothing
	if _, known, err := s.runs.First(ctx, cmd); err != nil {
		return none, err
	} else if !known {
		if cmd.Refusal != nil {
			return none, cmd.Refusal
		}
		event, err := preparing(name, reported)
		if err != nil {
			return none, adapter.Fault(err)
		}
		_, err = s.runs.Commit(ctx, cmd, func(context.Context, journal.At[run], *play.Dice) (adapter.Decision[*dungeonv1.RunEvent], error) {
			return adapter.Decision[*dungeonv1.RunEvent]{Owing: true, Events: []*dungeonv1.RunEvent{
				{Event: &dungeonv1.RunEvent_Preparing{Preparing: event}},
			}}, nil
		})
		if err != nil {
			return none, err
		}
	}
	if _, err := s.carry(ctx, name); err != nil {
		return none, err
	}
	ans, err := s.started(ctx, name)
	if err != nil {
		return none, err
	}
	return adapter.Redact(c, answer(ans)), nil
}

// preparing checks a start and says what it borrows. It tries the beginning with what the party shows, so that most
// refusals come before anything is journaled or borrowed; what the members bring, only the leases tell.
func (s *Server) preparing(ctx context.Context, req *dungeonv1.StartRunRequest, c adapter.Caller, name string, reported []int) (*dungeonv1.RunPreparing, error) {
	if err := c.RequirePlay(); err != nil {
		return nil, err
	}
	for _, f := range [][2]string{
		{"party", req.GetParty()}, {"dungeon", req.GetDungeon()}, {"character", req.GetCharacter()}, {"expedition", req.GetExpedition()},
	} {
		if err := adapter.SameCampaign(c.Campaign, f[0], f[1]); err != nil {
			return nil, err
		}
	}
	if req.GetExpedition() != "" && !c.Service {
		return nil, fault.New(fault.PermissionDenied, "NOT_A_SERVICE", "only an expedition starts runs of its own").At("expedition", "is set by the expedition service")
	}
	res, err := s.cfg.Parties.GetParty(itself(ctx), &partyv1.GetPartyRequest{Name: req.GetParty()})
	if err != nil {
		return nil, missing(fault.FromStatus(err), "party", req.GetParty())
	}
	party := res.GetParty()
	event := &dungeonv1.RunPreparing{
		Party: party.GetName(), Dungeon: cmp.Or(req.GetDungeon(), party.GetDungeon()), Expedition: req.GetExpedition(), Character: req.GetCharacter(),
		Overridden: req.GetOverrideReason() != "", Stream: c.Campaign + "/streams/" + requestid.Derive(name, "stream"), ReportedDice: req.GetReportedDice(),
	}
	rules, _, err := s.diggerRules(ctx, c.Campaign)
	if err != nil {
		return nil, err
	}
	enter := digger.Enter{
		Ruleset: rules, Party: party.GetName(), Leader: party.GetLeader(), Member: req.GetCharacter(), Override: event.GetOverridden(),
	}
	owner, member := "", false
	for _, m := range party.GetMembers() {
		event.Members = append(event.Members, m.GetCharacter())
		enter.Members = append(enter.Members, digger.Entrant{ID: m.GetCharacter(), Statblock: &digger.Abilities{}})
		if m.GetCharacter() == req.GetCharacter() {
			owner, member = m.GetOwner(), true
		}
	}
	if !member {
		return nil, play.Refuse(digger.NotAMember, "%s is not in %s", req.GetCharacter(), req.GetParty())
	}
	if err := c.RequireActFor(owner, req.GetCharacter()); err != nil {
		return nil, err
	}
	if event.GetDungeon() == "" {
		return nil, play.Refuse("NO_DUNGEON", "no dungeon is named, and %s has readied none", party.GetName())
	}
	at, err := s.definitions.Load(ctx, event.GetDungeon())
	if err != nil {
		return nil, missing(err, "dungeon", event.GetDungeon())
	}
	event.Revision = i32(len(at.State.Revisions))
	enter.Dungeon, _, _ = at.State.revision(0)
	return event, tried(enter, reported)
}

// tried tells whether the rules let a run begin.
func tried(enter digger.Enter, reported []int) error {
	dice := play.NewDice(func(int) (int, error) { return 1, nil }) // which card comes does not matter here
	if reported != nil {
		dice = play.ReportedDice(reported...)
	}
	if _, err := digger.DecideRun(digger.Run{}, enter, dice); err != nil {
		return err
	}
	return dice.Close()
}

// started answers a start that has been carried through: with the first state of play, or with the refusal.
func (s *Server) started(ctx context.Context, name string) (adapter.Answer[run, *dungeonv1.RunEvent], error) {
	var none adapter.Answer[run, *dungeonv1.RunEvent]
	at, err := s.runs.Load(ctx, name)
	if err != nil {
		return none, err
	}
	if at.State.Refusal != nil {
		return none, at.State.Refusal.fault()
	}
	ans, ok, err := s.runs.First(ctx, step(at, "started"))
	if err == nil && !ok {
		err = fault.New(fault.Unavailable, "STILL_PREPARING", "%s is still being prepared", name).After(time.Second)
	}
	return ans, err
}

// playRequest is a command of somebody on a run.
type playRequest interface {
	proto.Message
	GetName() string
}

// permission refuses whoever may not give a command on a run.
type permission func(c adapter.Caller, cmd adapter.Command, r run) error

// actingFor is the permission to give a command for a character: its owner's, and those of bots and game masters.
func actingFor(character string) permission {
	return func(c adapter.Caller, _ adapter.Command, r run) error {
		if err := adapter.SameCampaign(c.Campaign, "character", character); err != nil {
			return err
		}
		owner, known := r.Owners[character]
		if !known {
			return play.Refuse(digger.NotAMember, "%s is not in this run", character)
		}
		return c.RequireActFor(owner, character)
	}
}

// play decides a command and pays at once what it makes the run owe; what cannot be paid now, the sweeper pays.
func (s *Server) play(ctx context.Context, req playRequest, may permission, command func(override bool) digger.RunCommand) (adapter.Caller, adapter.Answer[run, *dungeonv1.RunEvent], error) {
	var none adapter.Answer[run, *dungeonv1.RunEvent]
	c, err := s.access.Caller(ctx, req.GetName())
	if err != nil {
		return c, none, err
	}
	cmd, err := adapter.CommandOf(ctx, req, c, req.GetName())
	if err != nil {
		return c, none, err
	}
	// A repetition gets its first answer whatever has become of the caller's role since.
	if ans, ok, err := s.runs.First(ctx, cmd); ok || err != nil {
		if ok {
			s.pay(ctx, ans)
		}
		return c, ans, err
	}
	at, err := s.runs.Load(ctx, req.GetName())
	if err != nil {
		return c, none, missing(err, "name", req.GetName())
	}
	if at.State.Expedition != "" && !c.Service {
		return c, none, fault.New(fault.FailedPrecondition, "OWNED_BY_EXPEDITION", "%s is part of %s, which gives its commands", at.Stream, at.State.Expedition).
			With("expedition", at.State.Expedition)
	}
	if err := c.RequirePlay(); err != nil {
		return c, none, err
	}
	if at.State.Phase != playing && at.State.owes() {
		if _, err := s.carry(ctx, at.Stream); err != nil {
			return c, none, err
		}
	}
	ans, err := s.runs.Commit(ctx, cmd, func(_ context.Context, at journal.At[run], dice *play.Dice) (adapter.Decision[*dungeonv1.RunEvent], error) {
		var d adapter.Decision[*dungeonv1.RunEvent]
		if at.State.Phase != playing {
			return d, play.Refuse(digger.NotBegun, "%s has not begun", at.Stream)
		}
		if err := may(c, cmd, at.State); err != nil {
			return d, err
		}
		events, err := digger.DecideRun(at.State.Game, command(cmd.OverrideReason != ""), dice)
		if err != nil {
			return d, err
		}
		var after digger.Run
		d.Events, after, err = gameEventsOf(at.State.Game, events)
		d.Owing = after.Over() || len(after.Members) < len(at.State.Game.Members) && !at.State.staged()
		return d, err
	})
	if err == nil {
		s.pay(ctx, ans)
	}
	return c, ans, err
}

// pay carries a run on after a command that made it owe something. The command stands whether or not that succeeds.
func (s *Server) pay(ctx context.Context, ans adapter.Answer[run, *dungeonv1.RunEvent]) {
	if !ans.State.State.owes() {
		return
	}
	if _, err := s.carry(ctx, ans.State.Stream); err != nil {
		s.log.WarnContext(ctx, "run owes", "run", ans.State.Stream, "err", err)
	}
}

// Draw implements RunService.
func (s *Server) Draw(ctx context.Context, req *dungeonv1.DrawRequest) (*dungeonv1.DrawResponse, error) {
	c, ans, err := s.play(ctx, req, actingFor(req.GetCharacter()), func(override bool) digger.RunCommand {
		return digger.Draw{Member: req.GetCharacter(), Override: override}
	})
	if err != nil {
		return nil, err
	}
	return adapter.Redact(c, &dungeonv1.DrawResponse{Record: ans.Record, Run: runOf(ans.State), Events: ans.Events}), nil
}

// Act implements RunService.
func (s *Server) Act(ctx context.Context, req *dungeonv1.ActRequest) (*dungeonv1.ActResponse, error) {
	c, ans, err := s.play(ctx, req, actingFor(req.GetCharacter()), func(bool) digger.RunCommand {
		a := req.GetAction()
		return digger.Contribute{Member: req.GetCharacter(), Use: a.GetBasic(), Tool: int(a.GetTool()), Risk: a.GetRisk()}
	})
	if err != nil {
		return nil, err
	}
	return adapter.Redact(c, &dungeonv1.ActResponse{Record: ans.Record, Run: runOf(ans.State), Events: ans.Events}), nil
}

// Complete implements RunService.
func (s *Server) Complete(ctx context.Context, req *dungeonv1.CompleteRequest) (*dungeonv1.CompleteResponse, error) {
	c, ans, err := s.play(ctx, req, actingFor(req.GetCharacter()), func(override bool) digger.RunCommand {
		return digger.Complete{Member: req.GetCharacter(), Override: override}
	})
	if err != nil {
		return nil, err
	}
	return adapter.Redact(c, &dungeonv1.CompleteResponse{Record: ans.Record, Run: runOf(ans.State), Events: ans.Events}), nil
}

// Leave implements RunService.
func (s *Server) Leave(ctx context.Context, req *dungeonv1.LeaveRequest) (*dungeonv1.LeaveResponse, error) {
	c, ans, err := s.play(ctx, req, actingFor(req.GetCharacter()), func(bool) digger.RunCommand { return digger.Depart{Member: req.GetCharacter()} })
	if err != nil {
		return nil, err
	}
	return adapter.Redact(c, &dungeonv1.LeaveResponse{Record: ans.Record, Run: runOf(ans.State), Events: ans.Events}), nil
}

// Promote implements RunService.
func (s *Server) Promote(ctx context.Context, req *dungeonv1.PromoteRequest) (*dungeonv1.PromoteResponse, error) {
	if campaign, err := adapter.CampaignOf(req.GetName()); err != nil {
		return nil, err
	} else if err := adapter.SameCampaign(campaign, "target", req.GetTarget()); err != nil {
		return nil, err
	}
	c, ans, err := s.play(ctx, req, actingFor(req.GetCharacter()), func(override bool) digger.RunCommand {
		return digger.Promote{Member: req.GetCharacter(), Target: req.GetTarget(), Override: override}
	})
	if err != nil {
		return nil, err
	}
	return adapter.Redact(c, &dungeonv1.PromoteResponse{Record: ans.Record, Run: runOf(ans.State), Events: ans.Events}), nil
}
