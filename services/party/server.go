package party

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	dicev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dice/v1"
	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/fault"
	"github.com/wayfarer-rpg/wayfarer/internal/journal"
	"github.com/wayfarer-rpg/wayfarer/internal/requestid"
	"github.com/wayfarer-rpg/wayfarer/rules/dangerworld"
	"github.com/wayfarer-rpg/wayfarer/rules/diedrop"
	"github.com/wayfarer-rpg/wayfarer/rules/digger"
	"github.com/wayfarer-rpg/wayfarer/services/adapter"
	"github.com/wayfarer-rpg/wayfarer/services/party/scene"
)

// Config says what a [Server] works with.
type Config struct {
	// Store keeps the journals. Required; the server does not close it.
	Store journal.Store
	// Dice reaches the dice service with this service's own identity, for scenes. Nil: there is no SceneService.
	Dice dicev1.DiceServiceClient
	// Logger takes what nobody else is told. Nil: nobody is told.
	Logger *slog.Logger
	// Clock dates records. Nil: time.Now.
	Clock func() time.Time
	// Journal are further options of the journals, for tests.
	Journal []journal.Option
}

// Server implements the services of wayfarer.party.v1.
type Server struct {
	partyv1.UnimplementedCampaignServiceServer
	partyv1.UnimplementedCharacterServiceServer
	partyv1.UnimplementedCompanyServiceServer
	partyv1.UnimplementedIntentServiceServer
	partyv1.UnimplementedLeaseServiceServer
	partyv1.UnimplementedMembershipServiceServer

	access     *adapter.Access
	campaigns  *adapter.Aggregate[campaign, *partyv1.CampaignEvent]
	characters *adapter.Aggregate[character, *partyv1.CharacterEvent]
	companies  *adapter.Aggregate[company, *partyv1.CompanyEvent]
	intents    *adapter.Aggregate[intent, *partyv1.IntentEvent]
	digger     parsed[*digger.Ruleset]
	dieDrop    parsed[*diedrop.Ruleset]
	danger     parsed[*dangerworld.Ruleset]
	scenes     *scene.Server // nil without dice
}

// New returns a server.
func New(cfg Config) (*Server, error) {
	if cfg.Store == nil {
		return nil, errors.New("party: a store is needed")
	}
	opts := cfg.Journal
	if cfg.Clock != nil {
		opts = append([]journal.Option{journal.WithClock(cfg.Clock)}, opts...)
	}
	s := &Server{
		campaigns:  adapter.NewAggregate(cfg.Store, nil, campaignSpec, opts...),
		characters: adapter.NewAggregate(cfg.Store, nil, characterSpec, opts...),
		companies:  adapter.NewAggregate(cfg.Store, nil, companySpec, opts...),
		intents:    adapter.NewAggregate(cfg.Store, nil, intentSpec, opts...),
	}
	s.access = adapter.NewAccess(s)
	if cfg.Dice == nil {
		return s, nil
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	var err error
	s.scenes, err = scene.New(scene.Config{
		Store: cfg.Store, Members: s, Rulesets: s, Lender: lender{s}, Dice: cfg.Dice, Keys: adapter.RemoteKeys{Client: cfg.Dice}, Logger: cfg.Logger,
		Journal: opts,
	})
	return s, err
}

// Register adds the services to a gRPC server.
func (s *Server) Register(r grpc.ServiceRegistrar) {
	partyv1.RegisterCampaignServiceServer(r, s)
	partyv1.RegisterCharacterServiceServer(r, s)
	partyv1.RegisterCompanyServiceServer(r, s)
	partyv1.RegisterIntentServiceServer(r, s)
	partyv1.RegisterLeaseServiceServer(r, s)
	partyv1.RegisterMembershipServiceServer(r, s)
	if s.scenes != nil {
		s.scenes.Register(r)
	}
}

// Sweep carries on what a crash left of scenes' starts, comings, goings and ends, at once and at each tick, until ctx ends.
func (s *Server) Sweep(ctx context.Context, tick <-chan time.Time) {
	if s.scenes != nil {
		s.scenes.Sweep(ctx, tick)
	}
}

// Close ends all watches.
func (s *Server) Close() error {
	err := errors.Join(s.campaigns.Close(), s.characters.Close(), s.companies.Close(), s.intents.Close())
	if s.scenes != nil {
		err = errors.Join(err, s.scenes.Close())
	}
	return err
}

// named is a request about one resource.
type named interface {
	proto.Message
	GetName() string
}

// reqWithID is any mutating request.
type reqWithID interface {
	proto.Message
	GetRequestId() string
}

// child is a request that makes or lists something in a campaign.
type child interface {
	proto.Message
	GetParent() string
}

// command reads who calls and the command out of a request about an aggregate that exists.
func (s *Server) command(ctx context.Context, req named) (adapter.Command, error) {
	return s.commandOn(ctx, req, req.GetName())
}

func (s *Server) commandOn(ctx context.Context, req proto.Message, stream string) (adapter.Command, error) {
	caller, err := s.access.Caller(ctx, stream)
	if err != nil {
		return adapter.Command{}, err
	}
	return adapter.CommandOf(ctx, req, caller, stream)
}

// creation reads who calls and the command out of a request that begins an aggregate, with the id that it names or one
// that follows from the request_id.
func (s *Server) creation(ctx context.Context, req child, collection, id, requestID string) (adapter.Command, error) {
	if id == "" {
		id = requestid.Derive(req.GetParent(), collection+"/"+requestID)
	}
	cmd, err := s.commandOn(ctx, req, req.GetParent()+"/"+collection+"/"+id)
	cmd.Mode = journal.Create
	return cmd, err
}

// unknown says that a resource does not exist.
func unknown(field, name string) error {
	return fault.New(fault.NotFound, "NOT_FOUND", "%s does not exist", name).At(field, "does not exist").With("resource", name)
}

// i32 fits a number into the contract: none of this service's comes near two billion.
func i32(n int) int32 { return int32(n) } //nolint:gosec // see above
