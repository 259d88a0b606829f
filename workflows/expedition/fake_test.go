package expedition

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	dungeonv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dungeon/v1"
	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"
	travelv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/travel/v1"
	typev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/type/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/auth"
	"github.com/wayfarer-rpg/wayfarer/internal/await"
	"github.com/wayfarer-rpg/wayfarer/internal/fault"
	"github.com/wayfarer-rpg/wayfarer/internal/requestid"
	"github.com/wayfarer-rpg/wayfarer/internal/serve"
)

// tokens is a verifier that takes a subject for its own token; those that begin with "service:" are services.
type tokens struct{}

func (tokens) Verify(_ context.Context, token string) (auth.Principal, error) {
	return auth.Principal{Subject: token, Service: strings.HasPrefix(token, "service:")}, nil
}

// identity sends a subject as the token of every call.
type identity string

func (i identity) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + string(i)}, nil
}

func (identity) RequireTransportSecurity() bool { return false }

// world is the travel and the dungeon service with as little of a game as an expedition can see: places are entered and
// left, runs begin and end. Like the services it keeps one record for each command and answers a request_id once.
type world struct {
	travelv1.UnimplementedJourneyServiceServer
	dungeonv1.UnimplementedRunServiceServer
	partyv1.UnimplementedCompanyServiceServer
	t *testing.T

	mu       sync.Mutex
	journeys map[string]*travelv1.Journey
	runs     map[string]*dungeonv1.Run
	delves   map[string]*dungeonv1.Delve
	log      map[string][]entry
	answers  map[string]kept
	// calls counts the commands that changed something, by the names of their requests.
	calls map[string]int
	// actors are for whom they were given, in order.
	actors []string
	// refuse is what the next command of that request's name gets instead.
	refuse map[string]error
	// slowSettling makes runs end unsettled; they settle when they are looked at again.
	slowSettling bool
	// turns makes runs of two members who act in turn.
	turns bool
	// leased is refused as a company until it is free.
	leased map[string]bool
}

type entry struct {
	record *typev1.Record
	events []proto.Message
}

type kept struct {
	hash string
	res  proto.Message
	err  error
}

func newWorld(t *testing.T) *world {
	return &world{
		t: t, journeys: map[string]*travelv1.Journey{}, runs: map[string]*dungeonv1.Run{}, delves: map[string]*dungeonv1.Delve{}, log: map[string][]entry{},
		answers: map[string]kept{}, calls: map[string]int{}, refuse: map[string]error{}, leased: map[string]bool{},
	}
}

// serveOn serves something on a free port until the test ends and returns a connection for the given identity.
func serveOn(t *testing.T, as identity, register func(grpc.ServiceRegistrar), dial ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	srv, err := serve.NewServer(serve.Config{Name: "test", Verifier: tokens{}, Logger: slog.New(slog.NewTextHandler(t.Output(), nil)), Grace: time.Second, Deadline: await.Limit})
	if err != nil {
		t.Fatal(err)
	}
	register(srv)
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- srv.Serve(ctx, lis) }()
	dial = append(dial, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if as != "" {
		dial = append(dial, grpc.WithPerRPCCredentials(as), grpc.WithChainUnaryInterceptor(auth.UnaryClient()), grpc.WithChainStreamInterceptor(auth.StreamClient()))
	}
	conn, err := grpc.NewClient(lis.Addr().String(), dial...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = conn.Close()
		stop()
		if err := await.Value(t, done, "a server to stop"); err != nil {
			t.Errorf("stop a server: %v", err)
		}
	})
	return conn
}

func (w *world) register(r grpc.ServiceRegistrar) {
	travelv1.RegisterJourneyServiceServer(r, w)
	dungeonv1.RegisterRunServiceServer(r, w)
	partyv1.RegisterCompanyServiceServer(r, w)
	dungeonv1.RegisterDelveServiceServer(r, pools{w: w})
}

// request is what all commands have.
type request interface {
	proto.Message
	GetRequestId() string
}

// command answers a command as the services do: once, for a service that acts for a user, with one record.
func (w *world) command(ctx context.Context, req request, name string, do func(rec *typev1.Record) (proto.Message, []proto.Message, error)) (proto.Message, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p, _ := auth.FromContext(ctx)
	if !p.Service {
		return nil, fault.New(fault.FailedPrecondition, "OWNED_BY_EXPEDITION", "an expedition gives the commands, not %q", p.Subject)
	}
	hash, err := requestid.Hash(name, p.Actor, req)
	if err != nil {
		return nil, err
	}
	if first, ok := w.answers[req.GetRequestId()]; ok {
		if first.hash != hash {
			return nil, fault.Invalid("request_id", "was used").Because("REQUEST_ID_REUSED")
		}
		return first.res, first.err
	}
	kind := string(req.ProtoReflect().Descriptor().Name())
	if err := w.refuse[kind]; err != nil {
		delete(w.refuse, kind)
		return nil, err
	}
	rec := &typev1.Record{
		Seq: int32(len(w.log[name]) + 1), RequestId: req.GetRequestId(), Actor: p.Actor, Time: timestamppb.New(time.Unix(1000, 0)), //nolint:gosec // few
		Dice: []*typev1.Die{{Purpose: "test", Sides: 6, Face: 3, Secret: true}},
	}
	res, events, err := do(rec)
	if err == nil {
		w.log[name] = append(w.log[name], entry{rec, events})
		w.calls[kind]++
		w.actors = append(w.actors, p.Actor)
		res = proto.Clone(res)
	}
	if err == nil || fault.ReasonOf(err) == "LEASED" { // a start that was undone is answered with its refusal for ever
		w.answers[req.GetRequestId()] = kept{hash, res, err}
	}
	return res, err
}

func (w *world) journey(ctx context.Context, req request, name string, change func(*travelv1.Journey) error) (*travelv1.Journey, *typev1.Record, []*travelv1.JourneyEvent, error) {
	res, err := w.command(ctx, req, name, func(rec *typev1.Record) (proto.Message, []proto.Message, error) {
		j := w.journeys[name]
		if j == nil {
			return nil, nil, fault.New(fault.NotFound, "NOT_FOUND", "%s does not exist", name)
		}
		if j.GetPhase() != travelv1.Journey_PHASE_TRAVELING && rec.GetSeq() > 1 {
			return nil, nil, fault.New(fault.FailedPrecondition, "NOT_TRAVELING", "over")
		}
		if err := change(j); err != nil {
			return nil, nil, err
		}
		j.Seq = rec.GetSeq()
		return &travelv1.MoveResponse{Record: rec, Journey: j}, []proto.Message{&travelv1.JourneyEvent{}}, nil
	})
	if err != nil {
		return nil, nil, nil, err
	}
	m := res.(*travelv1.MoveResponse)
	return m.GetJourney(), m.GetRecord(), nil, nil
}

func (w *world) run(ctx context.Context, req request, name string, change func(*dungeonv1.Run) error) (*dungeonv1.Run, *typev1.Record, error) {
	res, err := w.command(ctx, req, name, func(rec *typev1.Record) (proto.Message, []proto.Message, error) {
		r := w.runs[name]
		if r == nil {
			return nil, nil, fault.New(fault.NotFound, "NOT_FOUND", "%s does not exist", name)
		}
		if rec.GetSeq() > 1 && r.GetPhase() != dungeonv1.Run_PHASE_DRAW && r.GetPhase() != dungeonv1.Run_PHASE_ACT {
			return nil, nil, fault.New(fault.FailedPrecondition, "RUN_OVER", "over")
		}
		if err := change(r); err != nil {
			return nil, nil, err
		}
		r.Seq = rec.GetSeq()
		return &dungeonv1.DrawResponse{Record: rec, Run: r}, []proto.Message{&dungeonv1.RunEvent{}}, nil
	})
	if err != nil {
		return nil, nil, err
	}
	d := res.(*dungeonv1.DrawResponse)
	return d.GetRun(), d.GetRecord(), nil
}

// GetCompany knows every company.
func (w *world) GetCompany(_ context.Context, req *partyv1.GetCompanyRequest) (*partyv1.GetCompanyResponse, error) {
	return &partyv1.GetCompanyResponse{Company: &partyv1.Company{Name: req.GetName()}}, nil
}

func (w *world) StartJourney(ctx context.Context, req *travelv1.StartJourneyRequest) (*travelv1.StartJourneyResponse, error) {
	id := req.GetJourneyId()
	if id == "" {
		id = requestid.Derive(req.GetParent(), req.GetRequestId())
	}
	name := req.GetParent() + "/journeys/" + id
	w.mu.Lock()
	if w.journeys[name] == nil {
		w.journeys[name] = &travelv1.Journey{Name: name}
	}
	leased := w.leased[req.GetCompany()]
	w.mu.Unlock()
	j, rec, events, err := w.journey(ctx, req, name, func(j *travelv1.Journey) error {
		if leased {
			return fault.New(fault.FailedPrecondition, "LEASED", "somebody has it").With("resource", req.GetCompany()).With("holder", "x")
		}
		j.Phase, j.Company, j.Expedition, j.Inside = travelv1.Journey_PHASE_TRAVELING, req.GetCompany(), req.GetExpedition(), req.GetInside()
		return nil
	})
	return &travelv1.StartJourneyResponse{Record: rec, Journey: j, Events: events}, err
}

func (w *world) Move(ctx context.Context, req *travelv1.MoveRequest) (*travelv1.MoveResponse, error) {
	j, rec, events, err := w.journey(ctx, req, req.GetName(), func(j *travelv1.Journey) error {
		if req.GetEtag() == "stale" {
			return fault.New(fault.Aborted, "ETAG_MISMATCH", "has changed").At("etag", "is stale")
		}
		if req.GetTo().GetQ() > 90 {
			return fault.New(fault.FailedPrecondition, "NOT_ADJACENT", "too far").With("resource", j.GetName())
		}
		j.Hex = req.GetTo()
		j.Round++
		return nil
	})
	return &travelv1.MoveResponse{Record: rec, Journey: j, Events: events}, err
}

func (w *world) EnterLocation(ctx context.Context, req *travelv1.EnterLocationRequest) (*travelv1.EnterLocationResponse, error) {
	j, rec, events, err := w.journey(ctx, req, req.GetName(), func(j *travelv1.Journey) error { j.Inside = "mill"; return nil })
	return &travelv1.EnterLocationResponse{Record: rec, Journey: j, Events: events}, err
}

func (w *world) LeaveLocation(ctx context.Context, req *travelv1.LeaveLocationRequest) (*travelv1.LeaveLocationResponse, error) {
	j, rec, events, err := w.journey(ctx, req, req.GetName(), func(j *travelv1.Journey) error { j.Inside = ""; return nil })
	return &travelv1.LeaveLocationResponse{Record: rec, Journey: j, Events: events}, err
}

func (w *world) EndJourney(ctx context.Context, req *travelv1.EndJourneyRequest) (*travelv1.EndJourneyResponse, error) {
	j, rec, events, err := w.journey(ctx, req, req.GetName(), func(j *travelv1.Journey) error {
		j.Phase = travelv1.Journey_PHASE_ENDED
		return nil
	})
	return &travelv1.EndJourneyResponse{Record: rec, Journey: j, Events: events}, err
}

func (w *world) AbandonJourney(ctx context.Context, req *travelv1.AbandonJourneyRequest) (*travelv1.AbandonJourneyResponse, error) {
	if req.GetValidateOnly() { // anybody may
		res, err := w.GetJourney(ctx, &travelv1.GetJourneyRequest{Name: req.GetName()})
		return &travelv1.AbandonJourneyResponse{Journey: res.GetJourney()}, err
	}
	j, rec, events, err := w.journey(ctx, req, req.GetName(), func(j *travelv1.Journey) error {
		j.Phase = travelv1.Journey_PHASE_ABANDONED
		return nil
	})
	return &travelv1.AbandonJourneyResponse{Record: rec, Journey: j, Events: events}, err
}

func (w *world) GetJourney(_ context.Context, req *travelv1.GetJourneyRequest) (*travelv1.GetJourneyResponse, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	j := w.journeys[req.GetName()]
	if j.GetSeq() == 0 {
		return nil, fault.New(fault.NotFound, "NOT_FOUND", "%s does not exist", req.GetName())
	}
	return &travelv1.GetJourneyResponse{Journey: proto.CloneOf(j)}, nil
}

func (w *world) WatchJourney(req *travelv1.WatchJourneyRequest, s grpc.ServerStreamingServer[travelv1.WatchJourneyResponse]) error {
	for _, e := range w.after(req.GetName(), req.GetFromSeq()) {
		if err := s.Send(&travelv1.WatchJourneyResponse{Record: e.record, Events: []*travelv1.JourneyEvent{e.events[0].(*travelv1.JourneyEvent)}}); err != nil {
			return err
		}
	}
	<-s.Context().Done() // more may come
	return s.Context().Err()
}

func (w *world) after(name string, seq int32) []entry {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]entry(nil), w.log[name][seq:]...)
}

func (w *world) StartRun(ctx context.Context, req *dungeonv1.StartRunRequest) (*dungeonv1.StartRunResponse, error) {
	name := req.GetParent() + "/runs/" + requestid.Derive(req.GetParent(), req.GetRequestId())
	w.mu.Lock()
	if w.runs[name] == nil {
		w.runs[name] = &dungeonv1.Run{Name: name}
	}
	w.mu.Unlock()
	r, rec, err := w.run(ctx, req, name, func(r *dungeonv1.Run) error {
		r.Phase, r.Expedition, r.Party, r.Leader = dungeonv1.Run_PHASE_DRAW, req.GetExpedition(), req.GetParty(), req.GetCharacter()
		if w.turns {
			r.Members = []*dungeonv1.Member{{Character: bram, Owner: "bob"}, {Character: ada, Owner: "alice"}}
		}
		return nil
	})
	return &dungeonv1.StartRunResponse{Record: rec, Run: r}, err
}

func (w *world) Draw(ctx context.Context, req *dungeonv1.DrawRequest) (*dungeonv1.DrawResponse, error) {
	r, rec, err := w.run(ctx, req, req.GetName(), func(r *dungeonv1.Run) error {
		if w.turns {
			// It is always ada's turn, and never before the acts.
			if req.GetCharacter() != ada && req.GetOverrideReason() == "" || r.GetChallenge() != nil {
				return fault.New(fault.FailedPrecondition, "NOT_YOUR_TURN_TO_DRAW", "somebody else has drawn less often")
			}
			r.Phase = dungeonv1.Run_PHASE_ACT
			r.Challenge = &dungeonv1.Challenge{Ability: "wits", Waiting: []string{bram, ada}, Drawer: req.GetCharacter()}
		}
		r.Round++
		return nil
	})
	return &dungeonv1.DrawResponse{Record: rec, Run: r}, err
}

func (w *world) Act(ctx context.Context, req *dungeonv1.ActRequest) (*dungeonv1.ActResponse, error) {
	r, rec, err := w.run(ctx, req, req.GetName(), func(r *dungeonv1.Run) error {
		at := slices.Index(r.GetChallenge().GetWaiting(), req.GetCharacter())
		if at < 0 || req.GetAction().GetBasic() != r.GetChallenge().GetAbility() || req.GetAction().GetRisk() {
			return fault.New(fault.FailedPrecondition, "ALREADY_ACTED", "no")
		}
		r.Challenge.Waiting = slices.Delete(slices.Clone(r.GetChallenge().GetWaiting()), at, at+1)
		return nil
	})
	return &dungeonv1.ActResponse{Record: rec, Run: r}, err
}

func (w *world) Complete(ctx context.Context, req *dungeonv1.CompleteRequest) (*dungeonv1.CompleteResponse, error) {
	r, rec, err := w.run(ctx, req, req.GetName(), func(r *dungeonv1.Run) error {
		if w.turns && r.GetRound() < 2 {
			r.Phase, r.Challenge = dungeonv1.Run_PHASE_DRAW, nil
			return nil
		}
		r.Phase, r.Settled = dungeonv1.Run_PHASE_WON, !w.slowSettling
		return nil
	})
	return &dungeonv1.CompleteResponse{Record: rec, Run: r}, err
}

func (w *world) Promote(ctx context.Context, req *dungeonv1.PromoteRequest) (*dungeonv1.PromoteResponse, error) {
	r, rec, err := w.run(ctx, req, req.GetName(), func(r *dungeonv1.Run) error {
		switch {
		case req.GetCharacter() != r.GetLeader() && req.GetOverrideReason() == "":
			return fault.New(fault.FailedPrecondition, "NOT_LEADER", "%s does not lead", req.GetCharacter())
		case !slices.ContainsFunc(r.GetMembers(), func(m *dungeonv1.Member) bool { return m.GetCharacter() == req.GetTarget() }):
			return fault.New(fault.FailedPrecondition, "NOT_A_MEMBER", "%s is not in this run", req.GetTarget())
		}
		r.Leader = req.GetTarget()
		return nil
	})
	return &dungeonv1.PromoteResponse{Record: rec, Run: r}, err
}

func (w *world) AbandonRun(ctx context.Context, req *dungeonv1.AbandonRunRequest) (*dungeonv1.AbandonRunResponse, error) {
	r, rec, err := w.run(ctx, req, req.GetName(), func(r *dungeonv1.Run) error {
		if req.GetCharacter() != r.GetLeader() {
			return fault.New(fault.FailedPrecondition, "NOT_LEADER", "%s does not lead", req.GetCharacter())
		}
		r.Phase, r.Settled = dungeonv1.Run_PHASE_ABANDONED, !w.slowSettling
		return nil
	})
	return &dungeonv1.AbandonRunResponse{Record: rec, Run: r}, err
}

// GetRun settles a run that was over at the look before.
func (w *world) GetRun(_ context.Context, req *dungeonv1.GetRunRequest) (*dungeonv1.GetRunResponse, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.runs[req.GetName()]
	if r.GetSeq() == 0 {
		return nil, fault.New(fault.NotFound, "NOT_FOUND", "%s does not exist", req.GetName())
	}
	seen := proto.CloneOf(r)
	if r.GetPhase() != dungeonv1.Run_PHASE_DRAW && r.GetPhase() != dungeonv1.Run_PHASE_ACT && !r.GetSettled() {
		r.Seq++
		r.Settled = true
		w.log[r.GetName()] = append(w.log[r.GetName()], entry{
			&typev1.Record{Seq: r.GetSeq(), RequestId: fmt.Sprintf("settle-%d", r.GetSeq())},
			[]proto.Message{&dungeonv1.RunEvent{Event: &dungeonv1.RunEvent_Settled{Settled: &dungeonv1.RunSettled{}}}},
		})
	}
	return &dungeonv1.GetRunResponse{Run: seen}, nil
}

func (w *world) WatchRun(req *dungeonv1.WatchRunRequest, s grpc.ServerStreamingServer[dungeonv1.WatchRunResponse]) error {
	for _, e := range w.after(req.GetName(), req.GetFromSeq()) {
		if err := s.Send(&dungeonv1.WatchRunResponse{Record: e.record, Events: []*dungeonv1.RunEvent{e.events[0].(*dungeonv1.RunEvent)}}); err != nil {
			return err
		}
	}
	<-s.Context().Done()
	return s.Context().Err()
}

// pools is the world's DelveService, whose methods have the names of others.
type pools struct {
	dungeonv1.UnimplementedDelveServiceServer
	w *world
}

func (p pools) delve(ctx context.Context, req request, name string, change func(*dungeonv1.Delve) error) (*dungeonv1.Delve, *typev1.Record, error) {
	res, err := p.w.command(ctx, req, name, func(rec *typev1.Record) (proto.Message, []proto.Message, error) {
		d := p.w.delves[name]
		if d == nil {
			return nil, nil, fault.New(fault.NotFound, "NOT_FOUND", "%s does not exist", name)
		}
		if d.GetPhase() == dungeonv1.Delve_PHASE_LEFT {
			return nil, nil, fault.New(fault.FailedPrecondition, "DELVE_OVER", "over")
		}
		if err := change(d); err != nil {
			return nil, nil, err
		}
		d.Seq = rec.GetSeq()
		return &dungeonv1.InteractResponse{Record: rec, Delve: d}, []proto.Message{&dungeonv1.DelveEvent{}}, nil
	})
	if err != nil {
		return nil, nil, err
	}
	d := res.(*dungeonv1.InteractResponse)
	return d.GetDelve(), d.GetRecord(), nil
}

func (p pools) CreateDelve(ctx context.Context, req *dungeonv1.CreateDelveRequest) (*dungeonv1.CreateDelveResponse, error) {
	name := req.GetParent() + "/delves/" + requestid.Derive(req.GetParent(), req.GetRequestId())
	p.w.with(func() {
		if p.w.delves[name] == nil {
			p.w.delves[name] = &dungeonv1.Delve{Name: name}
		}
	})
	d, rec, err := p.delve(ctx, req, name, func(d *dungeonv1.Delve) error {
		d.Phase, d.Expedition = dungeonv1.Delve_PHASE_EXPLORING, req.GetExpedition()
		return nil
	})
	return &dungeonv1.CreateDelveResponse{Record: rec, Delve: d}, err
}

func (p pools) Move(ctx context.Context, req *dungeonv1.MoveRequest) (*dungeonv1.MoveResponse, error) {
	d, rec, err := p.delve(ctx, req, req.GetName(), func(d *dungeonv1.Delve) error { d.Pool++; return nil })
	return &dungeonv1.MoveResponse{Record: rec, Delve: d}, err
}

func (p pools) AddRealTime(ctx context.Context, req *dungeonv1.AddRealTimeRequest) (*dungeonv1.AddRealTimeResponse, error) {
	d, rec, err := p.delve(ctx, req, req.GetName(), func(d *dungeonv1.Delve) error { d.RealClock += req.GetMinutes(); return nil })
	return &dungeonv1.AddRealTimeResponse{Record: rec, Delve: d}, err
}

func (p pools) StartCombat(ctx context.Context, req *dungeonv1.StartCombatRequest) (*dungeonv1.StartCombatResponse, error) {
	d, rec, err := p.delve(ctx, req, req.GetName(), func(d *dungeonv1.Delve) error { d.InCombat = true; return nil })
	return &dungeonv1.StartCombatResponse{Record: rec, Delve: d}, err
}

func (p pools) EndCombat(ctx context.Context, req *dungeonv1.EndCombatRequest) (*dungeonv1.EndCombatResponse, error) {
	d, rec, err := p.delve(ctx, req, req.GetName(), func(d *dungeonv1.Delve) error { d.InCombat = false; return nil })
	return &dungeonv1.EndCombatResponse{Record: rec, Delve: d}, err
}

func (p pools) LeaveDelve(ctx context.Context, req *dungeonv1.LeaveDelveRequest) (*dungeonv1.LeaveDelveResponse, error) {
	d, rec, err := p.delve(ctx, req, req.GetName(), func(d *dungeonv1.Delve) error {
		if d.GetInCombat() {
			return fault.New(fault.FailedPrecondition, "IN_COMBAT", "they fight")
		}
		d.Phase, d.Settled = dungeonv1.Delve_PHASE_LEFT, true
		return nil
	})
	return &dungeonv1.LeaveDelveResponse{Record: rec, Delve: d}, err
}

func (p pools) GetDelve(_ context.Context, req *dungeonv1.GetDelveRequest) (*dungeonv1.GetDelveResponse, error) {
	var d *dungeonv1.Delve
	p.w.with(func() { d = proto.CloneOf(p.w.delves[req.GetName()]) })
	if d.GetSeq() == 0 {
		return nil, fault.New(fault.NotFound, "NOT_FOUND", "%s does not exist", req.GetName())
	}
	return &dungeonv1.GetDelveResponse{Delve: d}, nil
}

func (p pools) WatchDelve(req *dungeonv1.WatchDelveRequest, s grpc.ServerStreamingServer[dungeonv1.WatchDelveResponse]) error {
	for _, e := range p.w.after(req.GetName(), req.GetFromSeq()) {
		if err := s.Send(&dungeonv1.WatchDelveResponse{Record: e.record, Events: []*dungeonv1.DelveEvent{e.events[0].(*dungeonv1.DelveEvent)}}); err != nil {
			return err
		}
	}
	<-s.Context().Done()
	return s.Context().Err()
}

// count tells how often a command changed something.
func (w *world) count(kind string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.calls[kind]
}

// with changes the world.
func (w *world) with(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}

// members are the roles of the tests' campaign c1.
type members map[string]typev1.Role

func (m members) Role(_ context.Context, campaign, subject string) (typev1.Role, error) {
	role, ok := m[subject]
	if !ok || campaign != "campaigns/c1" {
		return 0, fault.New(fault.NotFound, "NOT_FOUND", "%s does not exist", campaign).With("resource", campaign)
	}
	return role, nil
}

var people = members{
	"gerd": typev1.Role_ROLE_GM, "alice": typev1.Role_ROLE_PLAYER, "bob": typev1.Role_ROLE_PLAYER, "sven": typev1.Role_ROLE_SPECTATOR,
}

// by returns a context of a user of the tests.
func by(ctx context.Context, subject string) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+subject)
}
