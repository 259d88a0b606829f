package expedition

import (
	"context"
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	dungeonv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dungeon/v1"
	expeditionv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/expedition/v1"
	travelv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/travel/v1"
	typev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/type/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/auth"
	"github.com/wayfarer-rpg/wayfarer/internal/fault"
	"github.com/wayfarer-rpg/wayfarer/internal/requestid"
)

// call is one command as it is given on to the owning service.
type call struct {
	// name is that of the field in Execute, for example "move".
	name string
	of   target
	req  proto.Message
}

// answer is what every response to a call has.
type answer interface {
	proto.Message
	GetRecord() *typev1.Record
}

var (
	executeFields = (&expeditionv1.ExecuteResponse{}).ProtoReflect().Descriptor().Fields()
	commands      = (&expeditionv1.ExecuteRequest{}).ProtoReflect().Descriptor().Oneofs().ByName("command")
)

// callOf takes the command out of a request. It fails when there is none, or one with a request_id of its own.
func callOf(req *expeditionv1.ExecuteRequest) (call, error) {
	m := req.ProtoReflect()
	fd := m.WhichOneof(commands)
	if fd == nil {
		return call{}, fault.Invalid("command", "exactly one command is needed")
	}
	c := newCall(string(fd.Name()), proto.Clone(m.Get(fd).Message().Interface()))
	if c.text("request_id") != "" {
		return call{}, fault.Invalid(c.name+".request_id", "the command's request_id is derived from that of the request: leave it empty")
	}
	return c, nil
}

func newCall(name string, req proto.Message) call {
	return call{name: name, req: req, of: owners[req.ProtoReflect().Descriptor().FullName()].of}
}

// starts tells whether the command begins a journey, a run or a delve.
func (c call) starts() bool {
	return c.name == startJourney || c.name == startRun || c.name == startDelve
}

// owner is the method that takes a request.
type owner struct {
	of     target
	method string
}

// owners are the methods of the services that own what an expedition consists of, by the names of their requests.
var owners = func() map[protoreflect.FullName]owner {
	out := map[protoreflect.FullName]owner{}
	for of, file := range map[target]protoreflect.FileDescriptor{
		journeyTarget: travelv1.File_wayfarer_travel_v1_journey_proto,
		runTarget:     dungeonv1.File_wayfarer_dungeon_v1_run_proto,
		delveTarget:   dungeonv1.File_wayfarer_dungeon_v1_delve_proto,
	} {
		for i := range file.Services().Len() {
			service := file.Services().Get(i)
			for j := range service.Methods().Len() {
				m := service.Methods().Get(j)
				out[m.Input().FullName()] = owner{of, fmt.Sprintf("/%s/%s", service.FullName(), m.Name())}
			}
		}
	}
	return out
}()

func (c call) field(name protoreflect.Name) protoreflect.FieldDescriptor {
	return c.req.ProtoReflect().Descriptor().Fields().ByName(name)
}

func (c call) text(name protoreflect.Name) string {
	return c.req.ProtoReflect().Get(c.field(name)).String()
}

// character is the one that acts; "" where the command names none.
func (c call) character() string {
	if c.field("character") == nil {
		return ""
	}
	return c.text("character")
}

// fill completes the command: the derived request_id, and what names the expedition, its campaign and company, and the
// journey or run, aggregate. What is named otherwise is refused: an expedition commands nothing but its own.
func (c call) fill(expedition, company, aggregate, requestID string) error {
	m := c.req.ProtoReflect()
	m.Set(c.field("request_id"), protoreflect.ValueOfString(requestid.Derive(expedition, requestID)))
	own := map[protoreflect.Name]string{"name": aggregate}
	if c.starts() {
		own = map[protoreflect.Name]string{"parent": campaignOf(expedition), "expedition": expedition}
	}
	for name, value := range own {
		if given := c.text(name); given != "" && given != value {
			return fault.Invalid(c.name+"."+string(name), "is %s, the expedition's own is %s", given, value)
		}
		m.Set(c.field(name), protoreflect.ValueOfString(value))
	}
	if c.name == startJourney && c.text("company") == "" && company != "" {
		m.Set(c.field("company"), protoreflect.ValueOfString(company))
	}
	return nil
}

// invoke calls the owning service.
func (s *Server) invoke(ctx context.Context, c call) (answer, error) {
	method := owners[c.req.ProtoReflect().Descriptor().FullName()].method
	conn := s.cfg.Travel
	if c.of != journeyTarget {
		conn = s.cfg.Dungeon
	}
	fd := executeFields.ByName(protoreflect.Name(c.name))
	res, ok := (&expeditionv1.ExecuteResponse{}).ProtoReflect().NewField(fd).Message().Interface().(answer)
	if !ok {
		return nil, fmt.Errorf("the response to %s has no record", c.name)
	}
	return res, conn.Invoke(ctx, method, c.req, res)
}

// as returns a context whose calls are made for whoever gave a command.
func as(ctx context.Context, actor string, itself bool) context.Context {
	if itself {
		return auth.WithoutActor(ctx)
	}
	return auth.WithActor(ctx, actor)
}

// snapshot is what an expedition wants to know of its journey, of a run or of a delve.
type snapshot struct {
	name string
	of   target
	// seq is the last record.
	seq int32
	// over means that play has ended, settled that everything borrowed was given back, too: nothing follows.
	over, settled bool
	// inside tells of a journey that it is inside a location, abandoned that it was given up.
	inside, abandoned bool
	// leader is the leader of a run, members are those who play it in the order of the roster.
	leader  string
	members []member
	// fighting tells of a delve that they fight.
	fighting bool
	// turn is what a run waits for; nil when it is over, and of everything else. It has no deadline yet.
	turn *turnOf
}

func ofJourney(j *travelv1.Journey) snapshot {
	p := j.GetPhase()
	settled := p == travelv1.Journey_PHASE_ENDED || p == travelv1.Journey_PHASE_ABANDONED
	return snapshot{
		name: j.GetName(), of: journeyTarget, seq: j.GetSeq(), inside: j.GetInside() != "",
		settled: settled, over: settled || p == travelv1.Journey_PHASE_ENDING, abandoned: p == travelv1.Journey_PHASE_ABANDONED,
	}
}

func ofRun(r *dungeonv1.Run) snapshot {
	over := true
	switch r.GetPhase() {
	case dungeonv1.Run_PHASE_DRAW, dungeonv1.Run_PHASE_ACT, dungeonv1.Run_PHASE_PREPARING:
		over = false
	}
	snap := snapshot{name: r.GetName(), of: runTarget, seq: r.GetSeq(), over: over, settled: over && r.GetSettled(), leader: r.GetLeader(), members: membersOf(r)}
	switch c := r.GetChallenge(); {
	case r.GetPhase() == dungeonv1.Run_PHASE_DRAW:
		snap.turn = &turnOf{Step: stepDraw, Round: r.GetRound()}
	case r.GetPhase() != dungeonv1.Run_PHASE_ACT:
	case len(c.GetWaiting()) > 0:
		snap.turn = &turnOf{Step: stepAct, Round: r.GetRound(), Characters: c.GetWaiting()}
	default:
		snap.turn = &turnOf{Step: stepComplete, Round: r.GetRound(), Characters: []string{c.GetDrawer()}}
	}
	return snap
}

func ofDelve(d *dungeonv1.Delve) snapshot {
	over := d.GetPhase() == dungeonv1.Delve_PHASE_LEFT
	return snapshot{
		name: d.GetName(), of: delveTarget, seq: d.GetSeq(), over: over, settled: over && d.GetSettled(), fighting: d.GetInCombat(),
	}
}

// snapshotOf reads the state that an answer carries, which reaches at least to the answer's record.
func snapshotOf(a answer) (snapshot, error) {
	var snap snapshot
	switch a := a.(type) {
	case interface{ GetJourney() *travelv1.Journey }:
		snap = ofJourney(a.GetJourney())
	case interface{ GetRun() *dungeonv1.Run }:
		snap = ofRun(a.GetRun())
	case interface{ GetDelve() *dungeonv1.Delve }:
		snap = ofDelve(a.GetDelve())
	}
	if snap.name == "" {
		return snap, fmt.Errorf("%s carries no state", a.ProtoReflect().Descriptor().FullName())
	}
	snap.seq = max(snap.seq, a.GetRecord().GetSeq())
	return snap, nil
}

// look asks how a journey, run or delve stands now.
func (s *Server) look(ctx context.Context, name string) (snapshot, error) {
	ctx = auth.WithoutActor(ctx)
	switch targetOf(name) {
	case runTarget:
		res, err := s.runs.GetRun(ctx, &dungeonv1.GetRunRequest{Name: name})
		return ofRun(res.GetRun()), err
	case delveTarget:
		res, err := s.delves.GetDelve(ctx, &dungeonv1.GetDelveRequest{Name: name})
		return ofDelve(res.GetDelve()), err
	}
	res, err := s.journeys.GetJourney(ctx, &travelv1.GetJourneyRequest{Name: name})
	return ofJourney(res.GetJourney()), err
}

// tail reads the records of a journey, run or delve from after+1 through the given one, whole, as the service sees them.
func (s *Server) tail(ctx context.Context, name string, after, through int32) ([]*expeditionv1.RecordLogged, error) {
	if through <= after {
		return nil, nil
	}
	ctx, cancel := context.WithCancel(auth.WithoutActor(ctx))
	defer cancel() // ends the stream
	var next func() (*expeditionv1.RecordLogged, error)
	switch targetOf(name) {
	case runTarget:
		stream, err := s.runs.WatchRun(ctx, &dungeonv1.WatchRunRequest{Name: name, FromSeq: after})
		if err != nil {
			return nil, err
		}
		next = func() (*expeditionv1.RecordLogged, error) {
			r, err := stream.Recv()
			return &expeditionv1.RecordLogged{Aggregate: name, Record: r.GetRecord(), RunEvents: r.GetEvents()}, err
		}
	case delveTarget:
		stream, err := s.delves.WatchDelve(ctx, &dungeonv1.WatchDelveRequest{Name: name, FromSeq: after})
		if err != nil {
			return nil, err
		}
		next = func() (*expeditionv1.RecordLogged, error) {
			r, err := stream.Recv()
			return &expeditionv1.RecordLogged{Aggregate: name, Record: r.GetRecord(), DelveEvents: r.GetEvents()}, err
		}
	default:
		stream, err := s.journeys.WatchJourney(ctx, &travelv1.WatchJourneyRequest{Name: name, FromSeq: after})
		if err != nil {
			return nil, err
		}
		next = func() (*expeditionv1.RecordLogged, error) {
			r, err := stream.Recv()
			return &expeditionv1.RecordLogged{Aggregate: name, Record: r.GetRecord(), JourneyEvents: r.GetEvents()}, err
		}
	}
	var out []*expeditionv1.RecordLogged
	for seq := after; seq < through; seq++ {
		rec, err := next()
		if err != nil {
			return nil, fmt.Errorf("read record %d of %s: %w", seq+1, name, err)
		}
		if rec.GetRecord().GetSeq() != seq+1 {
			return nil, fmt.Errorf("read record %d of %s: record %d came in its place", seq+1, name, rec.GetRecord().GetSeq())
		}
		out = append(out, rec)
	}
	return out, nil
}

// targetOf tells what a resource name names.
func targetOf(name string) target {
	switch {
	case strings.Contains(name, "/runs/"):
		return runTarget
	case strings.Contains(name, "/delves/"):
		return delveTarget
	}
	return journeyTarget
}

// campaignOf returns the first two parts of a resource name.
func campaignOf(name string) string {
	parts := strings.SplitN(name, "/", 3)
	return strings.Join(parts[:min(2, len(parts))], "/")
}

// ofCampaign refuses what an expedition's request names in a field, "" for nothing, when it is in another campaign.
func ofCampaign(expedition, field, name string) error {
	campaign := campaignOf(expedition)
	if name == "" || campaignOf(name) == campaign {
		return nil
	}
	return fault.New(fault.NotFound, "NOT_FOUND", "%s does not exist in %s", name, campaign).At(field, "is not in this campaign").With("resource", name)
}
