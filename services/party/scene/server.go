package scene

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	dicev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dice/v1"
	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"
	typev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/type/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/fault"
	"github.com/wayfarer-rpg/wayfarer/internal/journal"
	"github.com/wayfarer-rpg/wayfarer/internal/requestid"
	"github.com/wayfarer-rpg/wayfarer/rules/dangerworld"
	"github.com/wayfarer-rpg/wayfarer/rules/play"
	"github.com/wayfarer-rpg/wayfarer/services/adapter"
)

// Lender lends and shows characters.
type Lender interface {
	GetCharacter(ctx context.Context, req *partyv1.GetCharacterRequest) (*partyv1.GetCharacterResponse, error)
	TakeLease(ctx context.Context, req *partyv1.TakeLeaseRequest) (*partyv1.TakeLeaseResponse, error)
	ReturnLease(ctx context.Context, req *partyv1.ReturnLeaseRequest) (*partyv1.ReturnLeaseResponse, error)
}

// Dice are the streams that scenes roll with.
type Dice interface {
	CreateStream(ctx context.Context, req *dicev1.CreateStreamRequest, opts ...grpc.CallOption) (*dicev1.CreateStreamResponse, error)
	RevealStream(ctx context.Context, req *dicev1.RevealStreamRequest, opts ...grpc.CallOption) (*dicev1.RevealStreamResponse, error)
}

// Config says what a [Server] works with. Rulesets and Journal may be left out.
type Config struct {
	// Store keeps the journals; the server does not close it.
	Store journal.Store
	// Members tells who may do what.
	Members adapter.Members
	// Rulesets tells by which Danger World a campaign plays. Nil: the shipped one.
	Rulesets adapter.Rulesets
	// Lender lends sheets.
	Lender Lender
	// Dice makes and reveals streams, Keys draws from them.
	Dice Dice
	Keys adapter.Keys
	// Logger takes what nobody else is told.
	Logger *slog.Logger
	// Journal are further options of the journals.
	Journal []journal.Option
}

// Server implements SceneService.
type Server struct {
	partyv1.UnimplementedSceneServiceServer

	cfg    Config
	log    *slog.Logger
	access *adapter.Access
	scenes *adapter.Aggregate[scene, *partyv1.SceneEvent]
}

// New returns a server.
func New(cfg Config) (*Server, error) {
	if cfg.Store == nil || cfg.Members == nil || cfg.Lender == nil || cfg.Dice == nil || cfg.Keys == nil || cfg.Logger == nil {
		return nil, errors.New("scene: store, members, lender, dice, keys and logger are all needed")
	}
	return &Server{
		cfg: cfg, log: cfg.Logger, access: adapter.NewAccess(cfg.Members), scenes: adapter.NewAggregate(cfg.Store, cfg.Keys, spec, cfg.Journal...),
	}, nil
}

// Register adds the service to a gRPC server.
func (s *Server) Register(r grpc.ServiceRegistrar) { partyv1.RegisterSceneServiceServer(r, s) }

// Sweep carries on starts, comings, goings and ends that a crash left open, at once and at each tick, until ctx ends.
func (s *Server) Sweep(ctx context.Context, tick <-chan time.Time) {
	s.scenes.Sweep(ctx, s.log, tick, s.carry)
}

// Close ends all watches.
func (s *Server) Close() error { return s.scenes.Close() }

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

// load reads a scene for somebody who has a role in its campaign.
func (s *Server) load(ctx context.Context, field, name, resource string) (adapter.Caller, journal.At[scene], error) {
	c, err := s.access.Caller(ctx, name)
	if err != nil {
		return c, journal.At[scene]{}, err
	}
	at, err := s.scenes.Load(ctx, name)
	return c, at, missing(err, field, resource)
}

// GetScene implements SceneService.
func (s *Server) GetScene(ctx context.Context, req *partyv1.GetSceneRequest) (*partyv1.GetSceneResponse, error) {
	c, at, err := s.load(ctx, "name", req.GetName(), req.GetName())
	if err != nil {
		return nil, err
	}
	return adapter.Redact(c, &partyv1.GetSceneResponse{Scene: sceneOf(at)}), nil
}

// ListScenes implements SceneService.
func (s *Server) ListScenes(ctx context.Context, req *partyv1.ListScenesRequest) (*partyv1.ListScenesResponse, error) {
	c, err := s.access.Caller(ctx, req.GetParent())
	if err != nil {
		return nil, err
	}
	page, err := s.scenes.List(ctx, journal.Query[scene]{Campaign: c.Campaign, PageSize: int(req.GetPageSize()), PageToken: req.GetPageToken()})
	if err != nil {
		return nil, err
	}
	res := &partyv1.ListScenesResponse{NextPageToken: page.NextToken}
	for _, at := range page.Rows {
		res.Scenes = append(res.Scenes, sceneOf(at))
	}
	return adapter.Redact(c, res), nil
}

// WatchScene implements SceneService.
func (s *Server) WatchScene(req *partyv1.WatchSceneRequest, out grpc.ServerStreamingServer[partyv1.WatchSceneResponse]) error {
	ctx := out.Context()
	if _, err := s.access.Caller(ctx, req.GetName()); err != nil {
		return err
	}
	err := s.scenes.Watch(ctx, req.GetName(), int(req.GetFromSeq()), func(rec *typev1.Record, events []*partyv1.SceneEvent) error {
		// Asked again for each record: roles change while a watch lasts.
		c, err := s.access.Caller(ctx, req.GetName())
		if err != nil {
			return err
		}
		return out.Send(adapter.Redact(c, &partyv1.WatchSceneResponse{Record: rec, Events: events}))
	})
	return missing(err, "name", req.GetName())
}

// GetCheck implements SceneService.
func (s *Server) GetCheck(ctx context.Context, req *partyv1.GetCheckRequest) (*partyv1.GetCheckResponse, error) {
	name, number := splitCheck(req.GetName())
	c, at, err := s.load(ctx, "name", name, req.GetName())
	if err != nil {
		return nil, err
	}
	check, ok := at.State.Game.Check(number)
	if !ok {
		return nil, missing(fault.New(fault.NotFound, "NOT_FOUND", "%s does not exist", req.GetName()), "name", req.GetName())
	}
	return adapter.Redact(c, &partyv1.GetCheckResponse{Check: checkOf(at, check)}), nil
}

// Page sizes as everywhere.
const (
	usualPage   = 50
	largestPage = 500
)

// ListChecks implements SceneService.
func (s *Server) ListChecks(ctx context.Context, req *partyv1.ListChecksRequest) (*partyv1.ListChecksResponse, error) {
	c, at, err := s.load(ctx, "parent", req.GetParent(), req.GetParent())
	if err != nil {
		return nil, err
	}
	below := 0
	if token := req.GetPageToken(); token != "" {
		if below, err = strconv.Atoi(token); err != nil || below < 1 {
			return nil, fault.Invalid("page_token", "%q is no token of this list", token)
		}
	}
	size := int(req.GetPageSize())
	if size == 0 {
		size = usualPage
	}
	page, next := newestFirst(at.State.Game.Checks, below, min(size, largestPage))
	res := &partyv1.ListChecksResponse{}
	for _, check := range page {
		res.Checks = append(res.Checks, checkOf(at, check))
	}
	if next > 0 {
		res.NextPageToken = strconv.Itoa(next)
	}
	return adapter.Redact(c, res), nil
}

// CreateScene implements SceneService. It journals what it is going to borrow, and carries that on until play has begun or
// everything is given back.
func (s *Server) CreateScene(ctx context.Context, req *partyv1.CreateSceneRequest) (*partyv1.CreateSceneResponse, error) {
	c, err := s.access.Caller(ctx, req.GetParent())
	if err != nil {
		return nil, err
	}
	id := req.GetSceneId()
	if id == "" {
		id = requestid.Derive(req.GetParent()+"/scenes", req.GetRequestId())
	}
	name := req.GetParent() + "/scenes/" + id
	cmd, err := adapter.CommandOf(ctx, req, c, name)
	if err != nil {
		return nil, err
	}
	cmd.Mode = journal.Create
	if _, known, err := s.scenes.First(ctx, cmd); err != nil {
		return nil, err
	} else if !known {
		if err := c.RequireGM(); err != nil {
			return nil, err
		}
		if err := s.lenders(ctx, c, req.GetCharacters()); err != nil {
			return nil, err
		}
		preparing := &partyv1.SceneEvent{Event: &partyv1.SceneEvent_Preparing{Preparing: &partyv1.ScenePreparing{
			Title: req.GetTitle(), Characters: req.GetCharacters(), Stream: c.Campaign + "/streams/" + requestid.Derive(name, "stream"),
		}}}
		_, err := s.scenes.Commit(ctx, cmd, func(context.Context, journal.At[scene], *play.Dice) (adapter.Decision[*partyv1.SceneEvent], error) {
			return adapter.Decision[*partyv1.SceneEvent]{Owing: true, Events: []*partyv1.SceneEvent{preparing}}, nil
		})
		if err != nil {
			return nil, err
		}
	}
	if _, err := s.carry(ctx, name); err != nil {
		return nil, err
	}
	at, err := s.scenes.Load(ctx, name)
	if err != nil {
		return nil, err
	}
	if at.State.Refusal != nil {
		return nil, at.State.Refusal.fault()
	}
	ans, ok, err := s.scenes.First(ctx, step(at, "started"))
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, still(name)
	}
	return adapter.Redact(c, &partyv1.CreateSceneResponse{Record: ans.Record, Scene: sceneOf(ans.State), Events: ans.Events}), nil
}

func still(name string) error {
	return fault.New(fault.Unavailable, "STILL_PREPARING", "%s is still being prepared", name).After(time.Second)
}

// lenders looks at those who are to come, so that most refusals come before anything is journaled or borrowed.
func (s *Server) lenders(ctx context.Context, c adapter.Caller, characters []string) error {
	for i, name := range characters {
		if err := s.lender(ctx, c, "characters["+strconv.Itoa(i)+"]", name); err != nil {
			return err
		}
	}
	return nil
}

func (s *Server) lender(ctx context.Context, c adapter.Caller, field, name string) error {
	if err := adapter.SameCampaign(c.Campaign, field, name); err != nil {
		return err
	}
	res, err := s.cfg.Lender.GetCharacter(ctx, &partyv1.GetCharacterRequest{Name: name})
	if err != nil {
		return missing(fault.FromStatus(err), field, name)
	}
	if res.GetCharacter().DangerSheet == nil {
		return noSheet(name).At(field, "has no Danger World sheet").With("lender", name)
	}
	return nil
}

func noSheet(name string) *fault.Error {
	return fault.New(fault.FailedPrecondition, "NO_SHEET", "%s has no Danger World sheet", name)
}

// request is a command to a scene.
type request interface {
	proto.Message
	GetRequestId() string
}

// may refuses whoever may not give a command to a scene as it is.
type may func(c adapter.Caller, at journal.At[scene]) error

// decide decides a command on a state.
type decide func(c adapter.Caller, at journal.At[scene], dice *play.Dice) ([]*partyv1.SceneEvent, error)

// commit decides a command and pays at once what it makes the scene owe; what cannot be paid now, the sweeper pays.
func (s *Server) commit(ctx context.Context, req request, field, name, resource string, may may, decide decide) (adapter.Caller, adapter.Answer[scene, *partyv1.SceneEvent], error) {
	var none adapter.Answer[scene, *partyv1.SceneEvent]
	c, err := s.access.Caller(ctx, name)
	if err != nil {
		return c, none, err
	}
	cmd, err := adapter.CommandOf(ctx, req, c, name)
	if err != nil {
		return c, none, err
	}
	// A repetition gets its first answer whatever has become of the caller's role since.
	if ans, ok, err := s.scenes.First(ctx, cmd); ok || err != nil {
		if ok {
			s.pay(ctx, ans)
		}
		return c, ans, err
	}
	if err := c.RequirePlay(); err != nil {
		return c, none, err
	}
	ans, err := s.scenes.Commit(ctx, cmd, func(_ context.Context, at journal.At[scene], dice *play.Dice) (d adapter.Decision[*partyv1.SceneEvent], err error) {
		if err := may(c, at); err != nil {
			return d, err
		}
		switch at.State.Phase {
		case playing:
		case over:
			return d, sceneOver(at.Stream)
		default:
			return d, play.Refuse(dangerworld.NotBegun, "%s has not begun", at.Stream)
		}
		events, err := decide(c, at, dice)
		if err != nil {
			return d, err
		}
		return decided(at.State, events...)
	})
	if err != nil {
		return c, none, missing(err, field, resource)
	}
	s.pay(ctx, ans)
	return c, ans, nil
}

// pay carries a scene on after a command that made it owe something. The command stands whether or not that succeeds.
func (s *Server) pay(ctx context.Context, ans adapter.Answer[scene, *partyv1.SceneEvent]) {
	if !ans.State.State.owes() {
		return
	}
	if _, err := s.carry(ctx, ans.State.Stream); err != nil {
		s.log.WarnContext(ctx, "scene owes", "scene", ans.State.Stream, "err", err)
	}
}

// ruled makes a decision of the rules out of a command; prefixes are put before the fields of its refusals.
func ruled(command dangerworld.Command, prefixes ...string) decide {
	return func(_ adapter.Caller, at journal.At[scene], dice *play.Dice) ([]*partyv1.SceneEvent, error) {
		events, err := dangerworld.Decide(at.State.Game, command, dice)
		if err != nil {
			for _, p := range prefixes {
				err = under(err, p)
			}
			return nil, err
		}
		return gameEventsOf(at.State.Game, events)
	}
}

func onlyGM(c adapter.Caller, _ journal.At[scene]) error { return c.RequireGM() }

// whose lets those who may act for a character. One who is not there is left to the rules.
func whose(character string) may {
	return func(c adapter.Caller, at journal.At[scene]) error {
		if _, ok := at.State.Game.Sheet(character); !ok {
			return nil
		}
		return c.RequireActFor(at.State.Owners[character], character)
	}
}

// its lets those who may act for the character of a check. What is no check is left to the rules.
func its(number int) may {
	return func(c adapter.Caller, at journal.At[scene]) error {
		check, ok := at.State.Game.Check(number)
		if !ok {
			return nil
		}
		return c.RequireActFor(at.State.Owners[check.Character], check.Character)
	}
}

// inCampaign refuses a resource of another campaign than the scene's, as if it did not exist.
func inCampaign(scene, field, name string) error {
	campaign, err := adapter.CampaignOf(scene)
	if err != nil {
		return err
	}
	return adapter.SameCampaign(campaign, field, name)
}

// gm commits a GM's command to a scene.
func (s *Server) gm(ctx context.Context, req interface {
	request
	GetName() string
}, decide decide) (adapter.Caller, adapter.Answer[scene, *partyv1.SceneEvent], error) {
	return s.commit(ctx, req, "name", req.GetName(), req.GetName(), onlyGM, decide)
}

// gmField refuses a field that is for GMs.
func gmField(c adapter.Caller, field string) error {
	if c.GM() {
		return nil
	}
	return fault.New(fault.PermissionDenied, "NOT_GM", "only a game master may set %s", field).At(field, "is for game masters")
}
