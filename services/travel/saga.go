package travel

import (
	"context"
	"errors"
	"fmt"
	"slices"

	dicev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dice/v1"
	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"
	travelv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/travel/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/auth"
	"github.com/wayfarer-rpg/wayfarer/internal/fault"
	"github.com/wayfarer-rpg/wayfarer/internal/journal"
	"github.com/wayfarer-rpg/wayfarer/internal/requestid"
	"github.com/wayfarer-rpg/wayfarer/rules/diedrop"
	"github.com/wayfarer-rpg/wayfarer/rules/play"
	"github.com/wayfarer-rpg/wayfarer/services/adapter"
)

// actor is who carries a journey on between two commands.
const actor = "service:travel"

// The steps that a journey takes by itself. Each is recorded once, under an id that follows from the journey and the step.
const (
	stepStarted = "started"
	stepUndoing = "undoing"
	stepUndone  = "undone"
	stepEnded   = "ended"
)

// errMoved says that the journey is not in the phase any more that a step was made for: somebody else took it.
var errMoved = errors.New("travel: somebody else carried the journey on")

// StartJourney implements JourneyService.
func (s *Server) StartJourney(ctx context.Context, req *travelv1.StartJourneyRequest) (*travelv1.StartJourneyResponse, error) {
	name := childName(req.GetParent(), "journeys", req.GetJourneyId(), req.GetRequestId())
	cmd, err := s.command(ctx, req, name)
	if err != nil {
		return nil, err
	}
	cmd.Mode, cmd.Parent = journal.Create, req.GetCompany()
	_, err = s.journeys.Commit(ctx, cmd, func(ctx context.Context, _ journal.At[journey], _ *play.Dice) (d decision, err error) {
		p, err := s.prepared(ctx, cmd.Caller, name, req)
		if err != nil {
			return d, err
		}
		d.Events = events{{Event: &travelv1.JourneyEvent_Preparing{Preparing: p}}}
		d.Owing = true
		return d, nil
	})
	if err != nil {
		return nil, err
	}
	if err := s.advance(ctx, name); err != nil {
		return nil, err
	}
	started, ok, err := s.journeys.First(ctx, s.step(cmd.Caller.Campaign, name, stepStarted))
	if err != nil {
		return nil, err
	}
	if !ok {
		at, err := s.journeys.Load(ctx, name)
		if err != nil {
			return nil, err
		}
		return nil, at.State.Refused.fault()
	}
	return adapter.Redact(cmd.Caller, &travelv1.StartJourneyResponse{
		Record: started.Record, Journey: journeyToProto(started.State), Events: started.Events,
	}), nil
}

// prepared decides whether a journey may be prepared, and names all that it will borrow. It tries the beginning on what
// company and characters have at present, so that most refusals come before anything was borrowed.
func (s *Server) prepared(ctx context.Context, caller adapter.Caller, name string, req *travelv1.StartJourneyRequest) (*travelv1.JourneyPreparing, error) {
	if err := caller.RequirePlay(); err != nil {
		return nil, err
	}
	for _, f := range []struct{ field, name string }{
		{"character", req.GetCharacter()}, {"company", req.GetCompany()}, {"region", req.GetRegion()}, {"expedition", req.GetExpedition()},
	} {
		if err := adapter.SameCampaign(caller.Campaign, f.field, f.name); err != nil {
			return nil, err
		}
	}
	for _, f := range []struct {
		field string
		set   bool
	}{{"inside", req.GetInside() != ""}, {"discovered", len(req.GetDiscovered()) > 0}, {"params", req.GetParams() != nil}} {
		if err := gmField(caller, f.field, f.set); err != nil {
			return nil, err
		}
	}
	if req.GetExpedition() != "" && !caller.Service {
		return nil, fault.New(fault.PermissionDenied, "NOT_A_SERVICE", "only an expedition starts its journeys").At("expedition", "is for services")
	}
	if req.GetCharacter() == "" && !caller.GM() {
		return nil, fault.Invalid("character", "a player names the traveler for whom they speak")
	}
	at, err := s.loadRegion(ctx, "region", req.GetRegion())
	if err != nil {
		return nil, err
	}
	// As the service itself: the company and who travels with it are read whoever calls.
	own := auth.WithoutActor(ctx)
	company, err := s.cfg.Companies.GetCompany(own, &partyv1.GetCompanyRequest{Name: req.GetCompany()})
	if err != nil {
		return nil, notThere(err, "company", req.GetCompany())
	}
	held := borrowed{pack: &partyv1.PackFacet{Travelers: company.GetCompany().GetTravelers(), Pack: company.GetCompany().GetPack()}, vitals: map[string]*partyv1.VitalsFacet{}}
	for _, c := range charactersOf(held.pack) {
		res, err := s.cfg.Characters.GetCharacter(own, &partyv1.GetCharacterRequest{Name: c})
		if err != nil {
			return nil, notThere(err, "company", c)
		}
		held.vitals[c] = &partyv1.VitalsFacet{Owner: res.GetCharacter().GetOwner(), Vitals: res.GetCharacter().GetVitals()}
	}
	if c := req.GetCharacter(); c != "" {
		v, ok := held.vitals[c]
		if !ok {
			return nil, play.Refuse(diedrop.NoSuchMember, "%s does not travel with %s", c, req.GetCompany()).At("character")
		}
		if err := caller.RequireActFor(v.GetOwner(), c); err != nil {
			return nil, err
		}
	}
	p := &travelv1.JourneyPreparing{
		Company: req.GetCompany(), Characters: charactersOf(held.pack), Region: req.GetRegion(), Revision: i32(at.State.Revision),
		Expedition: req.GetExpedition(), Hex: req.GetHex(), Inside: req.GetInside(), Discovered: req.GetDiscovered(), Params: req.GetParams(),
		Stream: req.GetParent() + "/streams/" + requestid.Derive(name, "stream"),
	}
	j, err := journey{}.apply(&travelv1.JourneyEvent{Event: &travelv1.JourneyEvent_Preparing{Preparing: p}})
	if err != nil {
		return nil, err
	}
	switch mapped := len(at.State.Draft.GetHexes()) > 0; {
	case mapped && req.GetHex() == nil:
		return nil, fault.Invalid("hex", "a journey through this region begins in a hex")
	case !mapped && req.GetHex() != nil:
		return nil, fault.Invalid("hex", "this region has no hexes: a crawl begins inside a site")
	}
	rules, _, err := s.dieDropRules(ctx, caller.Campaign)
	if err != nil {
		return nil, err
	}
	start, err := start(rules, j, at.State.Draft, held)
	if err != nil {
		return nil, err
	}
	for i, id := range p.GetDiscovered() {
		if l, ok := location(start.Map, id); !ok || l.Visible {
			return nil, fault.Invalid(fmt.Sprintf("discovered[%d]", i), "%s is no hidden location of the region", id).Because(diedrop.UnknownLocation)
		}
	}
	_, err = begin(start)
	return p, err
}

// begin decides the beginning of play. What is wrong with the company is wrong at that field of the request.
func begin(c diedrop.Start) ([]diedrop.Event, error) {
	evs, err := diedrop.Decide(diedrop.Journey{}, c, &play.Dice{})
	var r *play.Refusal
	if errors.As(err, &r) && r.Field != "" && r.Field != "hex" && r.Field != "inside" {
		company := *r
		company.Message, company.Field = r.Field+": "+r.Message, "company"
		return nil, &company
	}
	return evs, err
}

// borrowed is what a journey holds of others.
type borrowed struct {
	pack   *partyv1.PackFacet
	vitals map[string]*partyv1.VitalsFacet
}

// charactersOf returns the characters of a company in marching order.
func charactersOf(p *partyv1.PackFacet) []string {
	var out []string
	for _, t := range p.GetTravelers() {
		if t.GetCharacter() != "" {
			out = append(out, t.GetCharacter())
		}
	}
	return out
}

// start is the command by which play begins, by a campaign's rules and what this journey overrides of them.
func start(rules *diedrop.Ruleset, j journey, draft *travelv1.RegionDraft, held borrowed) (diedrop.Start, error) {
	if len(j.Params) > 0 {
		var err error
		if rules, err = rules.With(j.Params); err != nil {
			return diedrop.Start{}, fault.Invalid("params", "%v", err)
		}
	}
	pack := held.pack.GetPack()
	c := diedrop.Start{
		Ruleset: rules, Map: mapOf(j.Region, j.Revision, draft), Hex: j.Hex, Inside: j.Inside, Food: ints(pack.GetFood()), Gold: int(pack.GetGold()),
		Boat: pack.GetBoat(), Lantern: pack.GetLantern(), Cargo: loadsOf(rules, pack.GetCargo()), Discovered: j.Discovered,
		StarvingRounds: int(pack.GetStarvingRounds()),
	}
	if l := pack.GetLight(); l != nil {
		c.Light = &diedrop.Light{Kind: l.GetKind(), Sides: int(l.GetSides())}
	}
	for _, t := range held.pack.GetTravelers() {
		v := t.GetVitals()
		if t.GetCharacter() != "" {
			v = held.vitals[t.GetCharacter()].GetVitals()
		}
		c.Members = append(c.Members, memberOf(rules, t, v))
	}
	return c, nil
}

// EndJourney implements JourneyService.
func (s *Server) EndJourney(ctx context.Context, req *travelv1.EndJourneyRequest) (*travelv1.EndJourneyResponse, error) {
	p, err := s.end(ctx, req, false)
	if err != nil {
		return nil, err
	}
	return adapter.Redact(p.caller, &travelv1.EndJourneyResponse{Record: p.Record, Journey: p.journey(), Events: p.Events}), nil
}

// AbandonJourney implements JourneyService.
func (s *Server) AbandonJourney(ctx context.Context, req *travelv1.AbandonJourneyRequest) (*travelv1.AbandonJourneyResponse, error) {
	if req.GetValidateOnly() {
		return s.mayAbandon(ctx, req)
	}
	p, err := s.end(ctx, req, true)
	if err != nil {
		return nil, err
	}
	return adapter.Redact(p.caller, &travelv1.AbandonJourneyResponse{Record: p.Record, Journey: p.journey(), Events: p.Events}), nil
}

// mayAbandon answers as AbandonJourney would now, and does nothing.
func (s *Server) mayAbandon(ctx context.Context, req *travelv1.AbandonJourneyRequest) (*travelv1.AbandonJourneyResponse, error) {
	cmd, err := s.command(ctx, req, req.GetName())
	if err != nil {
		return nil, err
	}
	at, err := s.journeys.Load(ctx, req.GetName())
	switch {
	case err != nil:
		return nil, missing(err, "name", req.GetName())
	case cmd.Refusal != nil:
		return nil, cmd.Refusal
	case cmd.Etag != "" && cmd.Etag != at.Etag():
		return nil, fault.New(fault.Aborted, journal.ReasonEtagMismatch, "%s has changed since the etag was given", req.GetName()).At("etag", "is of another state")
	}
	if err := mayCommand(cmd.Caller, at.State, req.GetCharacter()); err != nil {
		return nil, adapter.Fault(err)
	}
	return adapter.Redact(cmd.Caller, &travelv1.AbandonJourneyResponse{Journey: journeyToProto(at)}), nil
}

// end closes play and sees everything given back.
func (s *Server) end(ctx context.Context, req playRequest, abandoned bool) (*played, error) {
	caller, ending, err := s.commandJourney(ctx, req, func(_ adapter.Caller, j journey, _ *play.Dice) (decision, error) {
		return decision{Events: events{j.ending(abandoned)}, Owing: true}, nil
	})
	if err != nil {
		return nil, err
	}
	if err := s.advance(ctx, req.GetName()); err != nil {
		return nil, err
	}
	ended, ok, err := s.journeys.First(ctx, s.step(caller.Campaign, req.GetName(), stepEnded))
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fmt.Errorf("%s was carried to its end and has none", req.GetName())
	}
	return &played{caller, answer{Record: ending.Record, State: ended.State, Events: slices.Concat(ending.Events, ended.Events)}}, nil
}

// advance carries a journey on until it owes nothing: it goes forward unless a lender refused. It may be called at any time,
// by several at once; every step has an id of its own, so that none is taken twice.
func (s *Server) advance(ctx context.Context, name string) error {
	for {
		at, err := s.journeys.Load(ctx, name)
		if err != nil {
			return err
		}
		switch {
		case at.State.Phase == phasePreparing:
			err = s.prepare(ctx, at)
		case at.State.Phase == phaseUndoing:
			err = s.undo(ctx, at)
		case at.State.Phase == phaseEnding:
			err = s.giveBack(ctx, at)
		case at.State.Phase == phaseTraveling && len(at.State.Left) > 0:
			err = s.releaseLeaver(ctx, at)
		case at.State.Phase == phaseTraveling && len(at.State.Joining) > 0:
			err = s.join(ctx, at)
		default:
			return nil
		}
		if err != nil && !errors.Is(err, errMoved) {
			return fmt.Errorf("carry %s on from %s: %w", name, at.State.Phase, err)
		}
	}
}

// step is the command of a step that the journey takes by itself.
func (s *Server) step(campaign, name, step string) adapter.Command {
	return adapter.Command{
		Caller: adapter.Caller{Campaign: campaign, Subject: actor}, Stream: name,
		RequestID: requestid.Derive(name, step), RequestHash: step,
	}
}

// take records a step if the journey is still in the phase that it was made for.
func (s *Server) take(ctx context.Context, at journal.At[journey], step string, settled bool, decide func() (events, error)) error {
	_, err := s.journeys.Commit(ctx, s.step(at.Campaign, at.Stream, step), func(_ context.Context, now journal.At[journey], _ *play.Dice) (decision, error) {
		if now.State.Phase != at.State.Phase {
			return decision{}, errMoved
		}
		evs, err := decide()
		return decision{Events: evs, Settled: settled, Owing: !settled}, err
	})
	return err
}

// prepare takes what the journey was said to borrow, then begins play.
func (s *Server) prepare(ctx context.Context, at journal.At[journey]) error {
	own := auth.WithoutActor(ctx)
	name, j := at.Stream, at.State
	stream, err := s.cfg.Dice.CreateStream(own, &dicev1.CreateStreamRequest{
		Parent: at.Campaign, StreamId: adapter.IDOf(j.Stream), Holder: name, RequestId: requestid.Derive(name, "stream"),
	})
	if err != nil {
		return s.refuse(ctx, at, fault.FromStatus(err))
	}
	held := borrowed{vitals: map[string]*partyv1.VitalsFacet{}}
	res, err := s.lease(own, name, j.Company, partyv1.Facet_FACET_PACK)
	if err != nil {
		return s.refuse(ctx, at, err)
	}
	held.pack = res.GetPack()
	if !slices.Equal(charactersOf(held.pack), j.Characters) {
		return s.refuse(ctx, at, fault.New(fault.Aborted, "COMPANY_CHANGED", "%s has changed while the journey was being prepared", j.Company))
	}
	for _, c := range j.Characters {
		res, err := s.lease(own, name, c, partyv1.Facet_FACET_VITALS)
		if err != nil {
			return s.refuse(ctx, at, err)
		}
		held.vitals[c] = res.GetVitals()
	}
	regionAt, err := s.regions.Journal().StateAt(ctx, j.Region, j.Revision)
	if err != nil {
		return adapter.Fault(err)
	}
	rules, seq, err := s.dieDropRules(ctx, at.Campaign)
	if err != nil {
		return s.refuse(ctx, at, err)
	}
	start, err := start(rules, j, regionAt.State.Draft, held)
	if err != nil {
		return s.refuse(ctx, at, err)
	}
	err = s.take(ctx, at, stepStarted, true, func() (events, error) {
		evs, err := begin(start)
		if err != nil {
			return nil, err
		}
		started, err := startEvents(evs, regionAt.State.Draft, held, stream.GetStream().GetCommitment())
		if err == nil {
			started[0].GetStarted().CampaignSeq = i32(seq)
		}
		return started, err
	})
	return s.refuse(ctx, at, err)
}

// startEvents maps how play began, and adds what the rules do not know.
func startEvents(evs []diedrop.Event, draft *travelv1.RegionDraft, held borrowed, commitment []byte) (events, error) {
	begun, ok := evs[0].(diedrop.Begun)
	if !ok {
		return nil, fmt.Errorf("a journey begins with %T", evs[0])
	}
	started, err := startedTo(begun)
	if err != nil {
		return nil, err
	}
	started.Region, started.Commitment = draft, commitment
	for _, t := range held.pack.GetTravelers() {
		v := t.GetVitals()
		if c := t.GetCharacter(); c != "" {
			v = held.vitals[c].GetVitals()
			started.Owners = append(started.Owners, &travelv1.Owner{Character: c, Subject: held.vitals[c].GetOwner()})
		}
		if v.Capacity == nil {
			started.UsualCapacity = append(started.UsualCapacity, t.GetLabel())
		}
	}
	rest, err := eventsTo(evs[1:])
	return append(events{{Event: &travelv1.JourneyEvent_Started{Started: started}}}, rest...), err
}

// lease borrows one facet. The fields of a refusal are dropped: they are those of the lender's request.
func (s *Server) lease(ctx context.Context, name, lender string, facet partyv1.Facet) (*partyv1.TakeLeaseResponse, error) {
	res, err := s.cfg.Leases.TakeLease(ctx, &partyv1.TakeLeaseRequest{
		Lender: lender, Facet: facet, Holder: name, RequestId: requestid.Derive(name, "take/"+lender),
	})
	var f *fault.Error
	if err = fault.FromStatus(err); errors.As(err, &f) {
		f.Fields = nil
		return nil, f.With("lender", lender)
	}
	return res, err
}

// refuse undoes a start because of a refusal. Other errors come back as they are: the next try may do better.
func (s *Server) refuse(ctx context.Context, at journal.At[journey], err error) error {
	var f *fault.Error
	if !errors.As(adapter.Fault(err), &f) || !refuses(f) {
		return err
	}
	return s.take(ctx, at, stepUndoing, false, func() (events, error) {
		return events{{Event: &travelv1.JourneyEvent_Undoing{Undoing: &travelv1.JourneyUndoing{Refusal: refusalOf(f)}}}}, nil
	})
}

// refusalOf is a fault as it is journaled.
func refusalOf(f *fault.Error) *travelv1.StartRefusal {
	r := &travelv1.StartRefusal{Code: i32(int(f.Kind)), Reason: f.Reason, Message: f.Message, Metadata: f.Metadata} //nolint:gosec // a gRPC code
	if len(f.Fields) > 0 {
		r.Field = f.Fields[0].Field
	}
	return r
}

// refuses tells refusals, which will not change, from failures, which may.
func refuses(f *fault.Error) bool {
	switch f.Kind {
	case fault.FailedPrecondition, fault.NotFound, fault.InvalidArgument, fault.AlreadyExists:
		return true
	}
	return f.Reason == "COMPANY_CHANGED"
}

// fault is the refusal as the caller is told.
func (r *refused) fault() error {
	f := fault.New(fault.Kind(r.Code), r.Reason, "%s", r.Message) //nolint:gosec // a gRPC code
	for k, v := range r.Metadata {
		f = f.With(k, v)
	}
	if r.Field != "" {
		f = f.At(r.Field, r.Message)
	}
	return f
}

// undo gives every lender back what it may have lent, and says that the journey never was.
func (s *Server) undo(ctx context.Context, at journal.At[journey]) error {
	own := auth.WithoutActor(ctx)
	for _, c := range slices.Backward(at.State.Characters) { // the last one first
		if err := s.giveOne(own, at.Stream, &partyv1.ReturnLeaseRequest{Lender: c, Facet: partyv1.Facet_FACET_VITALS}); err != nil {
			return err
		}
	}
	give := &partyv1.ReturnLeaseRequest{Lender: at.State.Company, Facet: partyv1.Facet_FACET_PACK}
	if err := s.giveOne(own, at.Stream, give); err != nil {
		return err
	}
	if err := s.reveal(own, at); err != nil {
		return err
	}
	return s.take(ctx, at, stepUndone, true, func() (events, error) {
		return events{{Event: &travelv1.JourneyEvent_Undone{Undone: &travelv1.JourneyUndone{}}}}, nil
	})
}

// giveBack gives the journaled results back and ends the journey.
func (s *Server) giveBack(ctx context.Context, at journal.At[journey]) error {
	own := auth.WithoutActor(ctx)
	for _, v := range at.State.Vitals {
		if err := s.giveOne(own, at.Stream, v.request()); err != nil {
			return err
		}
	}
	if err := s.giveOne(own, at.Stream, &partyv1.ReturnLeaseRequest{
		Lender: at.State.Company, Facet: partyv1.Facet_FACET_PACK, Result: &partyv1.ReturnLeaseRequest_Pack{Pack: at.State.Pack},
	}); err != nil {
		return err
	}
	if err := s.reveal(own, at); err != nil {
		return err
	}
	return s.take(ctx, at, stepEnded, true, func() (events, error) {
		return events{{Event: &travelv1.JourneyEvent_Ended{Ended: &travelv1.JourneyEnded{}}}}, nil
	})
}

// releaseLeaver gives the vitals of the first of those who left on the way back.
func (s *Server) releaseLeaver(ctx context.Context, at journal.At[journey]) error {
	due := at.State.Left[0]
	if err := s.giveOne(auth.WithoutActor(ctx), at.Stream, due.request()); err != nil {
		return err
	}
	_, err := s.journeys.Commit(ctx, s.step(at.Campaign, at.Stream, "returned/"+due.Character), func(_ context.Context, now journal.At[journey], _ *play.Dice) (decision, error) {
		if now.State.Phase != phaseTraveling || !slices.ContainsFunc(now.State.Left, func(v vitalsDue) bool { return v.Character == due.Character }) {
			return decision{}, errMoved
		}
		return decision{
			Events:  events{{Event: &travelv1.JourneyEvent_VitalsReturned{VitalsReturned: &travelv1.VitalsReturned{Character: due.Character}}}},
			Settled: now.State.owes() == 1,
		}, nil
	})
	return err
}

func (v vitalsDue) request() *partyv1.ReturnLeaseRequest {
	req := &partyv1.ReturnLeaseRequest{Lender: v.Character, Facet: partyv1.Facet_FACET_VITALS}
	if v.Vitals != nil {
		req.Result = &partyv1.ReturnLeaseRequest_Vitals{Vitals: v.Vitals}
	}
	return req
}

// giveOne gives one facet back. The id is the same whenever it is given, so that the lender takes it once.
func (s *Server) giveOne(ctx context.Context, name string, req *partyv1.ReturnLeaseRequest) error {
	req.Holder, req.RequestId = name, requestid.Derive(name, "give/"+req.GetLender())
	_, err := s.cfg.Leases.ReturnLease(ctx, req)
	return fault.FromStatus(err)
}

// reveal publishes the seed of the journey's dice. A start that was undone early may have none.
func (s *Server) reveal(ctx context.Context, at journal.At[journey]) error {
	_, err := s.cfg.Dice.RevealStream(ctx, &dicev1.RevealStreamRequest{Name: at.State.Stream, RequestId: requestid.Derive(at.Stream, "reveal")})
	if err = fault.FromStatus(err); fault.KindOf(err) == fault.NotFound && at.State.Phase == phaseUndoing {
		return nil
	}
	return err
}
