package delve

import (
	"context"
	"errors"
	"log/slog"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	dicev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dice/v1"
	dungeonv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dungeon/v1"
	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"
	typev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/type/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/auth"
	"github.com/wayfarer-rpg/wayfarer/internal/fault"
	"github.com/wayfarer-rpg/wayfarer/internal/journal"
	"github.com/wayfarer-rpg/wayfarer/internal/requestid"
	"github.com/wayfarer-rpg/wayfarer/rules/dangerpool"
	"github.com/wayfarer-rpg/wayfarer/rules/play"
	"github.com/wayfarer-rpg/wayfarer/services/adapter"
)

// Reasons of refusals that are not the rules'.
const (
	// reasonNotOver: a delve that lasts cannot be continued.
	reasonNotOver = "NOT_OVER"
	// reasonNotAMember: the acting character is not in the delve.
	reasonNotAMember = "NOT_A_MEMBER"
)

// Config says what a [Server] works with. Rulesets, Rules and Journal may be left out.
type Config struct {
	// Store keeps the journals; the server does not close it.
	Store journal.Store
	// Members tells who may do what.
	Members adapter.Members
	// Characters reaches the party service, Dice the dice service, with this service's own identity.
	Characters partyv1.CharacterServiceClient
	Dice       dicev1.DiceServiceClient
	// Dungeon fails with NOT_FOUND when the campaign has no dungeon of that resource name.
	Dungeon func(ctx context.Context, name string) error
	// Rulesets tells by which rules a campaign plays. Nil: every campaign plays by Rules.
	Rulesets adapter.Rulesets
	// Rules is the Danger Pool ruleset of campaigns without one of their own. Nil: the shipped one.
	Rules *dangerpool.Ruleset
	// Logger takes what nobody else is told.
	Logger *slog.Logger
	// Journal are further options of the journals, for tests.
	Journal []journal.Option
}

// Server implements DelveService.
type Server struct {
	dungeonv1.UnimplementedDelveServiceServer

	cfg    Config
	access *adapter.Access
	delves *adapter.Aggregate[delve, *dungeonv1.DelveEvent]

	simulations adapter.Simulations
}

// New returns a server. Call [Server.Sweep] now and then.
func New(cfg Config) (*Server, error) {
	if cfg.Store == nil || cfg.Members == nil || cfg.Characters == nil || cfg.Dice == nil || cfg.Dungeon == nil || cfg.Logger == nil {
		return nil, errors.New("delve: store, members, characters, dice, dungeons and logger are all needed")
	}
	if cfg.Rules == nil {
		cfg.Rules = dangerpool.Default()
	}
	return &Server{
		cfg: cfg, access: adapter.NewAccess(cfg.Members),
		delves: adapter.NewAggregate(cfg.Store, adapter.RemoteKeys{Client: cfg.Dice}, spec, cfg.Journal...),
	}, nil
}

// Register adds the service to a gRPC server.
func (s *Server) Register(r grpc.ServiceRegistrar) { dungeonv1.RegisterDelveServiceServer(r, s) }

// Sweep publishes the seeds that a crash kept back, once.
func (s *Server) Sweep(ctx context.Context) error { return s.delves.Journal().Sweep(ctx, s.settle) }

// Close ends all watches.
func (s *Server) Close() error { return s.delves.Close() }

// GetDelve implements DelveService.
func (s *Server) GetDelve(ctx context.Context, req *dungeonv1.GetDelveRequest) (*dungeonv1.GetDelveResponse, error) {
	c, err := s.access.Caller(ctx, req.GetName())
	if err != nil {
		return nil, err
	}
	at, err := s.load(ctx, "name", req.GetName())
	if err != nil {
		return nil, err
	}
	return adapter.Redact(c, &dungeonv1.GetDelveResponse{Delve: delveOf(at)}), nil
}

// ListDelves implements DelveService.
func (s *Server) ListDelves(ctx context.Context, req *dungeonv1.ListDelvesRequest) (*dungeonv1.ListDelvesResponse, error) {
	c, err := s.access.Caller(ctx, req.GetParent())
	if err != nil {
		return nil, err
	}
	page, err := s.delves.List(ctx, journal.Query[delve]{Campaign: c.Campaign, PageSize: int(req.GetPageSize()), PageToken: req.GetPageToken()})
	if err != nil {
		return nil, err
	}
	res := &dungeonv1.ListDelvesResponse{NextPageToken: page.NextToken}
	for _, at := range page.Rows {
		row := delveOf(at)
		row.Map, row.LatestSpills = nil, nil
		res.Delves = append(res.Delves, row)
	}
	return adapter.Redact(c, res), nil
}

// WatchDelve implements DelveService.
func (s *Server) WatchDelve(req *dungeonv1.WatchDelveRequest, out grpc.ServerStreamingServer[dungeonv1.WatchDelveResponse]) error {
	ctx := out.Context()
	if _, err := s.access.Caller(ctx, req.GetName()); err != nil {
		return err
	}
	err := s.delves.Watch(ctx, req.GetName(), int(req.GetFromSeq()), func(rec *typev1.Record, events []*dungeonv1.DelveEvent) error {
		// Asked again for each record: roles change while a watch lasts.
		c, err := s.access.Caller(ctx, req.GetName())
		if err != nil {
			return err
		}
		return out.Send(adapter.Redact(c, &dungeonv1.WatchDelveResponse{Record: rec, Events: events}))
	})
	return missing(err, "name", req.GetName())
}

func (s *Server) load(ctx context.Context, field, name string) (journal.At[delve], error) {
	at, err := s.delves.Load(ctx, name)
	return at, missing(err, field, name)
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

// gmField refuses a field that only game masters may set.
func gmField(c adapter.Caller, field string, set bool) error {
	if !set || c.GM() {
		return nil
	}
	return fault.New(fault.PermissionDenied, "NOT_GM", "only a game master may set %s", field).At(field, "is for game masters")
}

// owned tells whose a character is.
func (s *Server) owned(ctx context.Context, campaign, field, character string) (string, error) {
	if err := adapter.SameCampaign(campaign, field, character); err != nil {
		return "", err
	}
	res, err := s.cfg.Characters.GetCharacter(auth.WithoutActor(ctx), &partyv1.GetCharacterRequest{Name: character})
	if err != nil {
		return "", missing(fault.FromStatus(err), field, character)
	}
	return res.GetCharacter().GetOwner(), nil
}

// playRequest is a command on a delve.
type playRequest interface {
	proto.Message
	GetName() string
}

// may refuses a caller who may not give this command on the delve as it is.
func may(c adapter.Caller, req playRequest, d delve) error {
	if calling, ok := req.(interface{ GetCalls() []*dungeonv1.SpillCall }); ok {
		if err := gmField(c, "calls", len(calling.GetCalls()) > 0); err != nil {
			return err
		}
	}
	acting, ok := req.(interface{ GetCharacter() string })
	if !ok {
		return c.RequireGM()
	}
	character := acting.GetCharacter()
	if character == "" {
		return nameless(c)
	}
	owner, known := d.owner(character)
	if !known {
		return play.Refuse(reasonNotAMember, "%s is not in this delve", character).On("character")
	}
	return c.RequireActFor(owner, character)
}

// nameless refuses a caller who may not act without a character.
func nameless(c adapter.Caller) error {
	if c.GM() {
		return nil
	}
	return fault.New(fault.PermissionDenied, "NOT_GM", "only a game master acts without a character").At("character", "is needed")
}

// plan is a command that is ready for the rules.
type plan struct {
	command dangerpool.Command
	// owners tells whose the members are that it records.
	owners map[string]string
}

// played is the answer to a command, with who gave it.
type played struct {
	adapter.Answer[delve, *dungeonv1.DelveEvent]
	caller adapter.Caller
	delve  *dungeonv1.Delve
	result *dungeonv1.TriggerResult
}

// play decides a command that needs nothing from elsewhere.
func (s *Server) play(ctx context.Context, req playRequest, trigger string, command dangerpool.Command) (*played, error) {
	return s.prepared(ctx, req, trigger, func(adapter.Caller, delve) (plan, error) { return plan{command: command}, nil })
}

// prepared decides a command. What it needs from elsewhere, prepare finds before the rules are asked.
func (s *Server) prepared(ctx context.Context, req playRequest, trigger string, prepare func(adapter.Caller, delve) (plan, error)) (*played, error) {
	c, err := s.access.Caller(ctx, req.GetName())
	if err != nil {
		return nil, err
	}
	cmd, err := adapter.CommandOf(ctx, req, c, req.GetName())
	if err != nil {
		return nil, err
	}
	// A repetition gets its first answer whatever has become of the caller's role since.
	ans, repeated, err := s.delves.First(ctx, cmd)
	if err != nil {
		return nil, err
	}
	if !repeated {
		if ans, err = s.decided(ctx, req, c, cmd, prepare); err != nil {
			return nil, adapter.Fault(err)
		}
	}
	if ans.State.State.owes() {
		// The command stands whether or not that succeeds; what cannot be done now, the sweeper does.
		if _, err := s.settle(ctx, req.GetName()); err != nil {
			s.cfg.Logger.WarnContext(ctx, "delve owes", "delve", req.GetName(), "err", err)
		}
	}
	events, err := eventsFrom(ans.Events)
	if err != nil {
		return nil, err
	}
	return &played{ans, c, delveOf(ans.State), resultOf(ans.State.State.Game.Ruleset, trigger, events)}, nil
}

func (s *Server) decided(ctx context.Context, req playRequest, c adapter.Caller, cmd adapter.Command, prepare func(adapter.Caller, delve) (plan, error)) (adapter.Answer[delve, *dungeonv1.DelveEvent], error) {
	var none adapter.Answer[delve, *dungeonv1.DelveEvent]
	at, err := s.load(ctx, "name", req.GetName())
	if err != nil {
		return none, err
	}
	if at.State.Expedition != "" && !c.Service {
		return none, fault.New(fault.FailedPrecondition, "OWNED_BY_EXPEDITION", "%s is part of %s, which gives its commands", at.Stream, at.State.Expedition).
			With("expedition", at.State.Expedition)
	}
	if err := c.RequirePlay(); err != nil {
		return none, err
	}
	if acting, ok := req.(interface{ GetCharacter() string }); ok {
		if err := adapter.SameCampaign(c.Campaign, "character", acting.GetCharacter()); err != nil {
			return none, err
		}
	}
	if err := may(c, req, at.State); err != nil {
		return none, err
	}
	p, err := prepare(c, at.State)
	if err != nil {
		return none, err
	}
	return s.delves.Commit(ctx, cmd, func(_ context.Context, at journal.At[delve], dice *play.Dice) (adapter.Decision[*dungeonv1.DelveEvent], error) {
		var d adapter.Decision[*dungeonv1.DelveEvent]
		if err := may(c, req, at.State); err != nil {
			return d, err
		}
		game := at.State.Game
		events, err := dangerpool.Decide(game, p.command, dice)
		if err != nil {
			return d, err
		}
		d.Events, err = eventsOf(game.Ruleset, events, p.owners)
		_, d.Owing = p.command.(dangerpool.Leave)
		return d, err
	})
}

// settle publishes the seed of a delve that is over, and tells whether nothing is owed any more.
func (s *Server) settle(ctx context.Context, name string) (bool, error) {
	at, err := s.delves.Load(ctx, name)
	if err != nil {
		return false, err
	}
	if !at.State.owes() {
		return true, s.delves.Journal().Settle(ctx, name, at.Seq)
	}
	_, err = s.cfg.Dice.RevealStream(auth.WithoutActor(ctx), &dicev1.RevealStreamRequest{
		Name: at.State.Stream, RequestId: requestid.Derive(at.Stream, "reveal"),
	})
	if err != nil {
		return false, fault.FromStatus(err)
	}
	// The blank in the id keeps it apart from every id that a caller can send.
	cmd := adapter.Command{
		Caller: adapter.Caller{Campaign: at.Campaign, Subject: actor, Service: true, Itself: true},
		Stream: at.Stream, RequestID: "step " + requestid.Derive(at.Stream, "settled"), RequestHash: "settled",
	}
	_, err = s.delves.Commit(ctx, cmd, func(context.Context, journal.At[delve], *play.Dice) (adapter.Decision[*dungeonv1.DelveEvent], error) {
		return adapter.Decision[*dungeonv1.DelveEvent]{Settled: true, Events: []*dungeonv1.DelveEvent{
			{Event: &dungeonv1.DelveEvent_Settled{Settled: &dungeonv1.DelveSettled{}}},
		}}, nil
	})
	return err == nil, err
}

// actor is who takes the step that no user asked for.
const actor = "service:dungeon"
