package travel

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	dicev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dice/v1"
	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"
	travelv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/travel/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/fault"
	"github.com/wayfarer-rpg/wayfarer/internal/journal"
	"github.com/wayfarer-rpg/wayfarer/internal/requestid"
	"github.com/wayfarer-rpg/wayfarer/rules/diedrop"
	"github.com/wayfarer-rpg/wayfarer/rules/ruleset"
	"github.com/wayfarer-rpg/wayfarer/services/adapter"
)

// Config says what a [Server] works with. The clients call as a service identity.
type Config struct {
	// Store keeps the journals. Required; the server does not close it.
	Store journal.Store
	// Members tells roles. Required.
	Members adapter.Members
	// Leases, Companies and Characters are the party service's. Required.
	Leases     partyv1.LeaseServiceClient
	Companies  partyv1.CompanyServiceClient
	Characters partyv1.CharacterServiceClient
	// Dice is the dice service. Required.
	Dice dicev1.DiceServiceClient
	// Rulesets tells by which rules a campaign plays. Nil: every campaign plays by Rules.
	Rulesets adapter.Rulesets
	// Rules is the Die Drop ruleset of campaigns without one of their own. Nil: the shipped one.
	Rules *diedrop.Ruleset
	// Clock dates records. Nil: time.Now.
	Clock func() time.Time
	// Logger is told what the sweeper could not carry on. Nil: slog.Default.
	Logger *slog.Logger
	// Journal are further options of the journals, for tests.
	Journal []journal.Option
}

// Server implements the services of wayfarer.travel.v1.
type Server struct {
	travelv1.UnimplementedRegionServiceServer
	travelv1.UnimplementedJourneyServiceServer
	travelv1.UnimplementedMissionServiceServer

	cfg      Config
	access   *adapter.Access
	regions  *adapter.Aggregate[region, *travelv1.RegionEvent]
	journeys *adapter.Aggregate[journey, *travelv1.JourneyEvent]
	boards   *adapter.Aggregate[board, *travelv1.MissionBoardEvent]

	simulations adapter.Simulations
}

// New returns a server. Run [Server.Sweep] beside it.
func New(cfg Config) (*Server, error) {
	if cfg.Store == nil || cfg.Members == nil || cfg.Leases == nil || cfg.Companies == nil || cfg.Characters == nil || cfg.Dice == nil {
		return nil, errors.New("travel: a store, members and the clients of party and dice are needed")
	}
	if cfg.Rules == nil {
		cfg.Rules = diedrop.Default()
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	opts := []journal.Option{journal.WithLogger(cfg.Logger)}
	if cfg.Clock != nil {
		opts = append(opts, journal.WithClock(cfg.Clock))
	}
	opts = append(opts, cfg.Journal...)
	return &Server{
		cfg:      cfg,
		access:   adapter.NewAccess(cfg.Members),
		regions:  adapter.NewAggregate(cfg.Store, nil, regionSpec, opts...),
		journeys: adapter.NewAggregate(cfg.Store, adapter.RemoteKeys{Client: cfg.Dice}, journeySpec, opts...),
		boards:   adapter.NewAggregate(cfg.Store, adapter.RemoteKeys{Client: cfg.Dice}, boardSpec, opts...),
	}, nil
}

// dieDropRules returns the Die Drop rules that a campaign plays by now, with the campaign record that they come from.
func (s *Server) dieDropRules(ctx context.Context, campaign string) (*diedrop.Ruleset, int, error) {
	return adapter.Parsed(ctx, s.cfg.Rulesets, campaign, ruleset.DieDrop, s.cfg.Rules, diedrop.Parse)
}

// Register adds the services to a gRPC server.
func (s *Server) Register(r grpc.ServiceRegistrar) {
	travelv1.RegisterRegionServiceServer(r, s)
	travelv1.RegisterJourneyServiceServer(r, s)
	travelv1.RegisterMissionServiceServer(r, s)
}

// Sweep carries journeys and boards on that stopped half way between two services, at once and at each tick, until ctx
// ends. Errors are logged: the next tick tries again.
func (s *Server) Sweep(ctx context.Context, tick <-chan time.Time) {
	for {
		err := errors.Join(s.journeys.Journal().Sweep(ctx, func(ctx context.Context, name string) (bool, error) {
			err := s.advance(ctx, name)
			return err == nil, err
		}), s.boards.Journal().Sweep(ctx, s.seeBoard))
		if err != nil && ctx.Err() == nil {
			s.cfg.Logger.WarnContext(ctx, "sweep", "err", err)
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
	return errors.Join(s.regions.Close(), s.journeys.Close(), s.boards.Close())
}

// command reads who calls and the command out of a request about an aggregate.
func (s *Server) command(ctx context.Context, req proto.Message, stream string) (adapter.Command, error) {
	caller, err := s.access.Caller(ctx, stream)
	if err != nil {
		return adapter.Command{}, err
	}
	return adapter.CommandOf(ctx, req, caller, stream)
}

// childName names a resource that a request makes: by the id given, or by one that follows from the request_id.
func childName(parent, collection, id, requestID string) string {
	if id == "" {
		id = requestid.Derive(parent, collection+"/"+requestID)
	}
	return parent + "/" + collection + "/" + id
}

// missing says with a NOT_FOUND fault which resource it is about, and leaves other errors alone.
func missing(err error, field, name string) error {
	var f *fault.Error
	if !errors.As(err, &f) || f.Kind != fault.NotFound || f.Metadata["resource"] != "" {
		return err
	}
	if len(f.Fields) == 0 {
		f = f.At(field, "does not exist")
	}
	return f.With("resource", name)
}

// notThere is [missing] for what another service was asked for: its fault names fields of a request that the caller never
// saw.
func notThere(err error, field, name string) error {
	if err = fault.FromStatus(err); fault.KindOf(err) != fault.NotFound {
		return err
	}
	return missing(fault.New(fault.NotFound, "NOT_FOUND", "%s does not exist", name), field, name)
}

// gmField refuses a field that only game masters may set.
func gmField(caller adapter.Caller, field string, set bool) error {
	if !set || caller.GM() {
		return nil
	}
	return fault.New(fault.PermissionDenied, "NOT_GM", "only a game master may set %s", field).At(field, "is for game masters")
}
