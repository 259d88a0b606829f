package console

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/anypb"

	consolev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/console/v1"
	dicev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dice/v1"
	dungeonv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dungeon/v1"
	expeditionv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/expedition/v1"
	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"
	travelv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/travel/v1"
	typev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/type/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/auth"
	"github.com/wayfarer-rpg/wayfarer/internal/fault"
	"github.com/wayfarer-rpg/wayfarer/internal/requestid"
)

// Config says where the services are. The connections carry no identity of their own: the console adds its caller's.
type Config struct {
	Party, Dice, Dungeon, Travel grpc.ClientConnInterface
	// Expedition may be nil where there are no expeditions.
	Expedition grpc.ClientConnInterface
}

// Server implements ConsoleService.
type Server struct {
	consolev1.UnimplementedConsoleServiceServer
	cfg Config
	// methods finds the RPC behind a request by the request's type.
	methods map[protoreflect.FullName]method
}

// method is one RPC of a service.
type method struct {
	path string
	conn grpc.ClientConnInterface
	res  protoreflect.MessageType
}

// New returns a server.
func New(cfg Config) (*Server, error) {
	s := &Server{cfg: cfg, methods: map[protoreflect.FullName]method{}}
	for _, b := range []struct {
		name  string
		conn  grpc.ClientConnInterface
		files []protoreflect.FileDescriptor
	}{
		{"party", cfg.Party, []protoreflect.FileDescriptor{
			partyv1.File_wayfarer_party_v1_campaign_proto, partyv1.File_wayfarer_party_v1_character_proto,
			partyv1.File_wayfarer_party_v1_company_proto, partyv1.File_wayfarer_party_v1_intent_proto,
			partyv1.File_wayfarer_party_v1_scene_proto,
		}},
		{"dice", cfg.Dice, []protoreflect.FileDescriptor{dicev1.File_wayfarer_dice_v1_dice_proto}},
		{"dungeon", cfg.Dungeon, []protoreflect.FileDescriptor{
			dungeonv1.File_wayfarer_dungeon_v1_dungeon_proto, dungeonv1.File_wayfarer_dungeon_v1_run_proto,
			dungeonv1.File_wayfarer_dungeon_v1_delve_proto,
		}},
		{"travel", cfg.Travel, []protoreflect.FileDescriptor{
			travelv1.File_wayfarer_travel_v1_region_proto, travelv1.File_wayfarer_travel_v1_journey_proto,
			travelv1.File_wayfarer_travel_v1_mission_proto,
		}},
		{"expedition", cfg.Expedition, []protoreflect.FileDescriptor{expeditionv1.File_wayfarer_expedition_v1_expedition_proto}},
	} {
		if b.conn == nil {
			if b.name == "expedition" {
				continue
			}
			return nil, fmt.Errorf("console: a connection to %s is needed", b.name)
		}
		for _, f := range b.files {
			if err := s.add(b.conn, f); err != nil {
				return nil, err
			}
		}
	}
	return s, nil
}

func (s *Server) add(conn grpc.ClientConnInterface, f protoreflect.FileDescriptor) error {
	for i := range f.Services().Len() {
		service := f.Services().Get(i)
		for j := range service.Methods().Len() {
			m := service.Methods().Get(j)
			if m.IsStreamingServer() || m.IsStreamingClient() {
				continue
			}
			res, err := protoregistry.GlobalTypes.FindMessageByName(m.Output().FullName())
			if err != nil {
				return fmt.Errorf("console: %s: %w", m.FullName(), err)
			}
			s.methods[m.Input().FullName()] = method{path: fmt.Sprintf("/%s/%s", service.FullName(), m.Name()), conn: conn, res: res}
		}
	}
	return nil
}

// Register adds the service to a gRPC server.
func (s *Server) Register(r grpc.ServiceRegistrar) { consolev1.RegisterConsoleServiceServer(r, s) }

// Execute implements ConsoleService.
func (s *Server) Execute(ctx context.Context, req *consolev1.ExecuteRequest) (*consolev1.ExecuteResponse, error) {
	res, err := s.execute(ctx, req)
	var bad *lineError
	if errors.As(err, &bad) {
		return nil, bad.fault()
	}
	return res, err
}

func (s *Server) execute(ctx context.Context, req *consolev1.ExecuteRequest) (*consolev1.ExecuteResponse, error) {
	cmd, a, err := parse(req.GetLine())
	if err != nil {
		return nil, err
	}
	c, err := s.call(ctx, req, cmd)
	if err != nil {
		return nil, err
	}
	var result proto.Message
	var text string
	if cmd.plan == nil {
		if err := c.readsOnly(); err != nil {
			return nil, err
		}
		text, result, err = cmd.read(c, a)
	} else {
		if result, err = c.change(cmd, a); err == nil {
			text, err = c.show(result)
		}
	}
	if err != nil {
		return nil, err
	}
	res := &consolev1.ExecuteResponse{Text: readable(strings.TrimRight(text, "\n")), Command: "+" + cmd.name}
	if result != nil {
		if res.Result, err = anypb.New(result); err != nil {
			return nil, err
		}
	}
	return res, nil
}

// call is one line being played.
type call struct {
	*Server
	ctx       context.Context //nolint:containedctx // it lives as long as the call
	req       *consolev1.ExecuteRequest
	subject   string
	campaign  *partyv1.Campaign
	gm        bool
	character *partyv1.Character

	characters []*partyv1.Character
}

// call finds out who calls, and checks that they may speak for the character.
func (s *Server) call(ctx context.Context, req *consolev1.ExecuteRequest, cmd *command) (*call, error) {
	p, ok := auth.FromContext(ctx)
	if !ok {
		return nil, fault.New(fault.Unauthenticated, "TOKEN_MISSING", "a bearer token is needed")
	}
	c := &call{Server: s, ctx: asCaller(ctx), req: req, subject: p.Effective()}
	got, err := ask[*partyv1.GetCampaignResponse](c, &partyv1.GetCampaignRequest{Name: req.GetCampaign()})
	if err != nil {
		return nil, err
	}
	c.campaign = got.GetCampaign()
	var member *partyv1.CampaignMember
	for _, m := range c.campaign.GetMembers() {
		if m.GetSubject() == c.subject {
			member = m
		}
	}
	c.gm = p.Service && p.Actor == "" || member.GetRole() == typev1.Role_ROLE_GM || member.GetRole() == typev1.Role_ROLE_OWNER
	if req.GetCharacter() == "" {
		if !cmd.anyone && !c.gm {
			return nil, fault.Invalid("character", "+%s needs an acting character", cmd.name)
		}
		return c, nil
	}
	if !strings.HasPrefix(req.GetCharacter(), req.GetCampaign()+"/") {
		return nil, fault.New(fault.NotFound, "NOT_FOUND", "%s does not exist", req.GetCharacter()).At("character", "does not exist").With("resource", req.GetCharacter())
	}
	who, err := ask[*partyv1.GetCharacterResponse](c, &partyv1.GetCharacterRequest{Name: req.GetCharacter()})
	if err != nil {
		return nil, err
	}
	c.character = who.GetCharacter()
	if !c.gm && !speaks(member, c.subject, c.character) {
		return nil, fault.New(fault.PermissionDenied, "NOT_YOUR_CHARACTER", "%s is not yours to act for", c.character.GetTitle())
	}
	return c, nil
}

// speaks tells whether a member may act for a character, as the services see it.
func speaks(m *partyv1.CampaignMember, subject string, ch *partyv1.Character) bool {
	switch m.GetRole() { //nolint:exhaustive // the others may not
	case typev1.Role_ROLE_PLAYER:
		return ch.GetOwner() == subject
	case typev1.Role_ROLE_BOT:
		for _, name := range m.GetCharacters() {
			if name == ch.GetName() {
				return true
			}
		}
	}
	return false
}

// readsOnly refuses what only commands that change something can take, rather than dropping it.
func (c *call) readsOnly() error {
	switch {
	case c.req.GetOverrideReason() != "":
		return fault.Invalid("override_reason", "this command changes nothing")
	case len(c.req.GetReportedDice()) > 0:
		return fault.Invalid("reported_dice", "this command rolls no dice")
	case c.req.GetEtag() != "":
		return fault.Invalid("etag", "this command changes nothing")
	}
	return nil
}

// change plays a command that changes something: what the line means is found out once and kept, so that a repetition
// means the same whatever has happened since.
func (c *call) change(cmd *command, a args) (proto.Message, error) {
	// The derived ids are the caller's own: two players who count from 1 do not meet in the journal of one run.
	id := requestid.Derive(c.subject, "console/"+c.req.GetRequestId())
	fingerprint, err := requestid.Hash(consolev1.ConsoleService_Execute_FullMethodName, c.subject, c.req)
	if err != nil {
		return nil, err
	}
	keep := &partyv1.KeepIntentRequest{Parent: c.req.GetCampaign(), Fingerprint: fingerprint, RequestId: id}
	req, refusal := c.meaning(cmd, a)
	if refusal == nil {
		if keep.Intent, err = intentOf(req); err != nil {
			return nil, err
		}
	}
	kept, err := ask[*partyv1.KeepIntentResponse](c, keep)
	switch {
	case err != nil:
		if fault.ReasonOf(fault.FromStatus(err)) == "REQUEST_ID_REUSED" {
			return nil, fault.Invalid("request_id", "request_id %q was used for another line", c.req.GetRequestId()).Because("REQUEST_ID_REUSED")
		}
		return nil, err
	case kept.GetIntent() == nil:
		return nil, refusal
	}
	if req, err = requestOf(kept.GetIntent()); err != nil {
		return nil, err
	}
	setField(req, "request_id", protoreflect.ValueOfString(id))
	res, err := c.send(req)
	if err != nil {
		return nil, c.forPeople(err)
	}
	return unwrap(res), nil
}

// forPeople returns a refusal whose message names characters and the rest as people do; its details stay as they are.
func (c *call) forPeople(err error) error {
	st, ok := status.FromError(err)
	if !ok {
		return err
	}
	p := st.Proto()
	p.Message = resource.ReplaceAllStringFunc(p.GetMessage(), func(name string) string {
		if strings.Contains(name, "/characters/") {
			return c.called(name)
		}
		return idOf(name)
	})
	return status.FromProto(p).Err()
}

// resource finds resource names in messages.
var resource = regexp.MustCompile(`campaigns/[a-z0-9-]+(?:/[a-zA-Z]+/[a-z0-9-]+)+`)

// meaning makes the request that a line means now, addressed to the expedition if one owns what it is about.
func (c *call) meaning(cmd *command, a args) (proto.Message, error) {
	req, err := cmd.plan(c, a)
	if err != nil {
		return nil, err
	}
	inner, expedition := req, ""
	if w, ok := req.(owned); ok {
		inner, expedition = w.Message, w.expedition
	}
	if err := c.common(inner); err != nil {
		return nil, err
	}
	if expedition == "" {
		return inner, nil
	}
	if c.cfg.Expedition == nil {
		return nil, fault.New(fault.FailedPrecondition, "OWNED_BY_EXPEDITION", "this is part of %s, and no expeditions are served here", expedition)
	}
	return wrap(expedition, inner)
}

// common sets what every command can carry. What the method behind the command cannot take is refused here.
func (c *call) common(req proto.Message) error {
	if c.req.GetOverrideReason() != "" && !setField(req, "override_reason", protoreflect.ValueOfString(c.req.GetOverrideReason())) {
		return fault.Invalid("override_reason", "this command knows no override")
	}
	if c.req.GetEtag() != "" && !setField(req, "etag", protoreflect.ValueOfString(c.req.GetEtag())) {
		return fault.Invalid("etag", "this command takes no etag")
	}
	if len(c.req.GetReportedDice()) > 0 {
		fd := req.ProtoReflect().Descriptor().Fields().ByName("reported_dice")
		if fd == nil {
			return fault.Invalid("reported_dice", "this command rolls no dice")
		}
		list := req.ProtoReflect().Mutable(fd).List()
		for _, face := range c.req.GetReportedDice() {
			list.Append(protoreflect.ValueOfInt32(face))
		}
	}
	return nil
}

// owned is a request about something that belongs to an expedition.
type owned struct {
	proto.Message
	expedition string
}

// of marks a request as one about something of an expedition, if it is.
func of(expedition string, req proto.Message) proto.Message {
	if expedition == "" {
		return req
	}
	return owned{req, expedition}
}

func setField(req proto.Message, name protoreflect.Name, v protoreflect.Value) bool {
	fd := req.ProtoReflect().Descriptor().Fields().ByName(name)
	if fd == nil {
		return false
	}
	req.ProtoReflect().Set(fd, v)
	return true
}

// wrap makes the expedition's command of a request.
func wrap(expedition string, inner proto.Message) (proto.Message, error) {
	out := &expeditionv1.ExecuteRequest{Name: expedition}
	m := out.ProtoReflect()
	fields := m.Descriptor().Oneofs().ByName("command").Fields()
	for i := range fields.Len() {
		if fields.Get(i).Message().FullName() == inner.ProtoReflect().Descriptor().FullName() {
			m.Set(fields.Get(i), protoreflect.ValueOfMessage(inner.ProtoReflect()))
			return out, nil
		}
	}
	return nil, fault.New(fault.FailedPrecondition, "OWNED_BY_EXPEDITION", "%s gives no such command", expedition)
}

// unwrap returns what the owning service answered to an expedition's command, else the answer itself.
func unwrap(res proto.Message) proto.Message {
	e, ok := res.(*expeditionv1.ExecuteResponse)
	if !ok {
		return res
	}
	m := e.ProtoReflect()
	if fd := m.WhichOneof(m.Descriptor().Oneofs().ByName("result")); fd != nil {
		return m.Get(fd).Message().Interface()
	}
	return res
}

// send makes the call that a request is for.
func (c *call) send(req proto.Message) (proto.Message, error) {
	m, ok := c.methods[req.ProtoReflect().Descriptor().FullName()]
	if !ok {
		return nil, fmt.Errorf("no method takes %s", req.ProtoReflect().Descriptor().FullName())
	}
	res := m.res.New().Interface()
	if err := m.conn.Invoke(c.ctx, m.path, req, res); err != nil {
		return nil, err
	}
	return res, nil
}

// ask is send with the type of the answer.
func ask[R proto.Message](c *call, req proto.Message) (R, error) {
	res, err := c.send(req)
	if err != nil {
		var none R
		return none, err
	}
	return res.(R), nil //nolint:forcetypeassert // the method's own answer
}
