package expedition

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	dicev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dice/v1"
	dungeonv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dungeon/v1"
	expeditionv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/expedition/v1"
	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"
	travelv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/travel/v1"
	typev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/type/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/auth"
	"github.com/wayfarer-rpg/wayfarer/internal/await"
	"github.com/wayfarer-rpg/wayfarer/internal/fault"
	"github.com/wayfarer-rpg/wayfarer/internal/journal"
	"github.com/wayfarer-rpg/wayfarer/internal/journal/memory"
	"github.com/wayfarer-rpg/wayfarer/internal/requestid"
	"github.com/wayfarer-rpg/wayfarer/services/adapter"
	"github.com/wayfarer-rpg/wayfarer/services/dice"
	"github.com/wayfarer-rpg/wayfarer/services/dungeon"
	"github.com/wayfarer-rpg/wayfarer/services/party"
	"github.com/wayfarer-rpg/wayfarer/services/travel"
)

// spoiled is what happens to a step.
type spoiled int

const (
	// before: it is not taken, and whoever wanted it is told that it may be repeated.
	before spoiled = iota + 1
	// lost: it is taken, and whoever wanted it is told the same.
	lost
	// refusal: it is not taken, and never will be.
	refusal
)

func (s spoiled) String() string {
	return map[spoiled]string{before: "not reached", lost: "answer lost", refusal: "refused"}[s]
}

// mishaps are what the tests do to the steps that services take outside of themselves: calls and inserts. Campaigns keep
// apart, so that tests share the services.
type mishaps struct {
	mu sync.Mutex
	of map[string]*mishap
	// lent are the leases that were taken and given back, by campaign, whether or not the answer came through.
	lent map[string][]leased
}

// leased is a lease that was taken or given back.
type leased struct {
	lender string
	took   bool
}

// mishap is one campaign's. Steps are counted by their names while it is armed: "dungeon>TakeLease#2".
type mishap struct {
	seen  map[string]int
	steps []string
	at    string
	how   spoiled
	hit   bool
}

func (m *mishaps) arm(campaign, at string, how spoiled) *mishap {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := &mishap{seen: map[string]int{}, at: at, how: how}
	delete(m.lent, campaign)
	m.of[campaign] = out
	return out
}

// disarm returns what was seen.
func (m *mishaps) disarm(campaign string) mishap {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := *m.of[campaign]
	delete(m.of, campaign)
	return out
}

// leases are those taken and given back since the campaign was armed last.
func (m *mishaps) leases(campaign string) []leased {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.lent[campaign]
}

// borrowed notes a lease.
func (m *mishaps) borrowed(req any, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err != nil {
		return
	}
	var l leased
	switch r := req.(type) {
	case *partyv1.TakeLeaseRequest:
		l = leased{lender: r.GetLender() + " " + r.GetFacet().String(), took: true}
	case *partyv1.ReturnLeaseRequest:
		l = leased{lender: r.GetLender() + " " + r.GetFacet().String()}
	default:
		return
	}
	campaign := campaignOf(l.lender)
	if !slices.Contains(m.lent[campaign], l) { // a repetition is none
		m.lent[campaign] = append(m.lent[campaign], l)
	}
}

// around takes a step, or not.
func (m *mishaps) around(campaign, name string, act func() error, away error) error {
	m.mu.Lock()
	var how spoiled
	if p := m.of[campaign]; p != nil {
		p.seen[name]++
		step := fmt.Sprintf("%s#%d", name, p.seen[name])
		p.steps = append(p.steps, step)
		if step == p.at {
			p.hit, how = true, p.how
		}
	}
	m.mu.Unlock()
	switch how {
	case before:
		return away
	case refusal:
		st, _ := fault.ToStatus(fault.New(fault.FailedPrecondition, "SPOILED", "a test refuses this"))
		return st.Err()
	}
	if err := act(); err != nil || how == 0 {
		return err
	}
	return away
}

func campaignIn(m any) string {
	msg, ok := m.(proto.Message)
	if !ok {
		return ""
	}
	found := ""
	msg.ProtoReflect().Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if fd.Kind() == protoreflect.StringKind && !fd.IsList() && !fd.IsMap() && strings.HasPrefix(v.String(), "campaigns/") {
			found = campaignOf(v.String())
		}
		return found == ""
	})
	return found
}

var errAway = func() error {
	st, _ := fault.ToStatus(fault.New(fault.Unavailable, "SPOILED", "a test lets nothing through").After(time.Millisecond))
	return st.Err()
}()

// calls spoils the calls of a service.
func (m *mishaps) calls(who string) []grpc.DialOption {
	name := func(method string) string { return who + ">" + method[strings.LastIndex(method, "/")+1:] }
	return []grpc.DialOption{
		grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
			return m.around(campaignIn(req), name(method), func() error {
				err := invoke(ctx, method, req, reply, cc, opts...)
				m.borrowed(req, err)
				return err
			}, errAway)
		}),
	}
}

// spoiledStore spoils the inserts of a service.
type spoiledStore struct {
	journal.Store
	mishaps *mishaps
	who     string
}

func (s spoiledStore) Insert(ctx context.Context, r journal.Record) error {
	return s.mishaps.around(campaignOf(r.Stream), s.who+">Insert", func() error { return s.Store.Insert(ctx, r) }, journal.Away(errors.New("spoiled")))
}

// roles tells the expedition service roles.
type roles struct{ adapter.Members }

func (r roles) Role(ctx context.Context, campaign, subject string) (typev1.Role, error) {
	m, err := r.Membership(ctx, campaign, subject)
	return m.Role, err
}

// suite is the services in earnest: party, dice, dungeon, travel and expedition.
type suite struct {
	*table
	mishaps  *mishaps
	dungeons *dungeon.Server
	journeys *travel.Server
	// users reaches party and dice, games dungeon and travel, for users of the tests.
	users, dungeon, travel *grpc.ClientConn
}

func dialAs(t *testing.T, target string, as identity, more ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(target, append(more, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithPerRPCCredentials(as),
		grpc.WithChainUnaryInterceptor(auth.UnaryClient()), grpc.WithChainStreamInterceptor(auth.StreamClient()))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// newSuite starts the services; the expedition's worker, too, when there is a Temporal.
func newSuite(t *testing.T, temporal string, change ...func(*Config)) *suite {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	s := &suite{mishaps: &mishaps{of: map[string]*mishap{}, lent: map[string][]leased{}}}
	parties, err := party.New(party.Config{Store: memory.New(), Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	rolls := dice.New(dice.Config{Store: memory.New(), Members: parties, Logger: quiet})
	s.users = serveOn(t, "", func(r grpc.ServiceRegistrar) { parties.Register(r); rolls.Register(r) })
	lenders := dialAs(t, s.users.Target(), "service:dungeon", s.mishaps.calls("dungeon")...)
	s.dungeons, err = dungeon.New(dungeon.Config{
		Store: spoiledStore{memory.New(), s.mishaps, "dungeon"}, Members: parties, Rulesets: parties, Logger: quiet,
		Parties: partyv1.NewCampaignServiceClient(lenders), Characters: partyv1.NewCharacterServiceClient(lenders),
		Leases: partyv1.NewLeaseServiceClient(lenders), Dice: dicev1.NewDiceServiceClient(lenders),
	})
	if err != nil {
		t.Fatal(err)
	}
	lenders = dialAs(t, s.users.Target(), "service:travel", s.mishaps.calls("travel")...)
	s.journeys, err = travel.New(travel.Config{
		Store: spoiledStore{memory.New(), s.mishaps, "travel"}, Members: parties, Rulesets: parties, Logger: quiet,
		Companies: partyv1.NewCompanyServiceClient(lenders), Characters: partyv1.NewCharacterServiceClient(lenders),
		Leases: partyv1.NewLeaseServiceClient(lenders), Dice: dicev1.NewDiceServiceClient(lenders),
	})
	if err != nil {
		t.Fatal(err)
	}
	s.dungeon, s.travel = serveOn(t, "", s.dungeons.Register), serveOn(t, "", s.journeys.Register)
	t.Cleanup(func() { _, _, _, _ = parties.Close(), rolls.Close(), s.dungeons.Close(), s.journeys.Close() })
	player := adapter.Caller{Membership: adapter.Membership{Role: typev1.Role_ROLE_PLAYER}}
	s.table = &table{t: t, cfg: Config{
		Store: spoiledStore{memory.New(), s.mishaps, "expedition"}, Temporal: temporalClient(t, temporal), TaskQueue: t.Name(), Members: roles{parties},
		Travel: dialAs(t, s.travel.Target(), "service:expedition", s.mishaps.calls("expedition")...), Dungeon: dialAs(t, s.dungeon.Target(), "service:expedition", s.mishaps.calls("expedition")...),
		Party:  dialAs(t, s.users.Target(), "service:expedition", s.mishaps.calls("expedition")...),
		Redact: func(m proto.Message) proto.Message { return adapter.Redact(player, m) },
		Logger: quiet, Grace: 5 * time.Second, TemporalWait: await.Limit,
	}}
	for _, c := range change {
		c(&s.cfg)
	}
	s.server = s.another()
	if temporal != "" {
		s.work(s.server)
	}
	s.client = expeditionv1.NewExpeditionServiceClient(serveOn(t, "", s.server.Register))
	return s
}

// sweep lets the sweepers of the services walk once.
func (s *suite) sweep() {
	for _, sweep := range []func(context.Context, <-chan time.Time){s.dungeons.Sweep, s.journeys.Sweep} {
		ctx, cancel := context.WithCancel(context.Background())
		tick, done := make(chan time.Time), make(chan struct{})
		go func() { defer close(done); sweep(ctx, tick) }()
		tick <- time.Time{} // taken after the first walk
		cancel()
		<-done
	}
}

// group is a campaign with three characters, who are a company and a party.
type group struct {
	*suite
	t        *testing.T
	campaign string
	// name is the expedition's.
	name string
	ids  atomic.Int64
}

// The group's people; gerd is the game master.
var players = map[string]string{"ada": "alice", "bram": "bob", "cleo": "carol"}

func (g *group) character(id string) string { return g.campaign + "/characters/" + id }

// call makes a call for somebody that has to succeed; a mutation without a request_id gets one of its own.
func (g *group) call(who string, req proto.Message, res proto.Message) {
	g.t.Helper()
	if err := g.tryCall(who, req, res); err != nil {
		g.t.Fatalf("%s: %T: %v", who, req, err)
	}
}

func (g *group) tryCall(who string, req proto.Message, res proto.Message) error {
	d := req.ProtoReflect().Descriptor()
	if fd := d.Fields().ByName("request_id"); fd != nil && req.ProtoReflect().Get(fd).String() == "" {
		req.ProtoReflect().Set(fd, protoreflect.ValueOfString(fmt.Sprintf("call-%d", g.ids.Add(1))))
	}
	conn := g.users
	switch {
	case strings.HasPrefix(string(d.FullName()), "wayfarer.dungeon."):
		conn = g.dungeon
	case strings.HasPrefix(string(d.FullName()), "wayfarer.travel."):
		conn = g.travel
	}
	services := d.ParentFile().Services()
	for i := range services.Len() {
		if m := services.Get(i).Methods().ByName(protoreflect.Name(strings.TrimSuffix(string(d.Name()), "Request"))); m != nil {
			return conn.Invoke(by(context.Background(), who), fmt.Sprintf("/%s/%s", services.Get(i).FullName(), m.Name()), req, res)
		}
	}
	return fmt.Errorf("no method takes a %s", d.FullName())
}

// gather makes a group with an expedition that is ASSEMBLING.
func (s *suite) gather(t *testing.T, id string, absence *expeditionv1.Absence) *group {
	t.Helper()
	own, tb := *s, *s.table
	tb.t, own.table = t, &tb
	g := &group{suite: &own, t: t, campaign: "campaigns/" + id, name: "campaigns/" + id + "/expeditions/e"}
	create := &partyv1.CreateCampaignRequest{CampaignId: id, Title: "The Long Road", Chapter: 3}
	for _, p := range []string{"alice", "bob", "carol"} {
		create.Members = append(create.Members, &partyv1.CampaignMember{Subject: p, Role: typev1.Role_ROLE_PLAYER})
	}
	g.call("gerd", create, &partyv1.CreateCampaignResponse{})
	company := &partyv1.CreateCompanyRequest{Parent: g.campaign, CompanyId: "k", Title: "The Band", Pack: &partyv1.Pack{Food: []int32{20}, Gold: 40, Light: &partyv1.Light{Kind: "torch", Sides: 6}}}
	for _, c := range []string{"ada", "bram", "cleo"} {
		g.call(players[c], &partyv1.CreateCharacterRequest{Parent: g.campaign, CharacterId: c, Title: c}, &partyv1.CreateCharacterResponse{})
		g.call(players[c], &partyv1.SetAbilitiesRequest{Name: g.character(c), Abilities: &partyv1.Abilities{Brute: 5, Agility: 4, Wits: 4, Combat: 4}}, &partyv1.SetAbilitiesResponse{})
		company.Travelers = append(company.Travelers, &partyv1.Traveler{Character: g.character(c)})
	}
	tool := &partyv1.Tool{Id: "maul", Ability: "brute", Rating: "major", Qualities: []string{"improved"}}
	g.call("alice", &partyv1.BuyToolsRequest{Name: g.character("ada"), Tools: []*partyv1.Tool{tool}}, &partyv1.BuyToolsResponse{})
	g.call("alice", &partyv1.LoadToolRequest{Name: g.character("ada"), Number: 1}, &partyv1.LoadToolResponse{})
	g.call("gerd", company, &partyv1.CreateCompanyResponse{})
	g.call("alice", &partyv1.CreatePartyRequest{Parent: g.campaign, PartyId: "team", Character: g.character("ada")}, &partyv1.CreatePartyResponse{})
	for _, c := range []string{"bram", "cleo"} {
		g.call(players[c], &partyv1.JoinPartyRequest{Name: g.campaign + "/parties/team", Character: g.character(c)}, &partyv1.JoinPartyResponse{})
	}
	d := &dungeonv1.DungeonDefinition{Id: "vault", Number: 7, Name: "The Vault", Type: "ruin", Summary: "Doors behind doors.", TnBonus: &dungeonv1.TnBonus{Final: 1}}
	for i, c := range [][3]string{{"e", "entry", "brute"}, {"n1", "normal", "agility"}, {"n2", "normal", "wits"}, {"n3", "normal", "combat"}, {"n4", "normal", "brute"}, {"f", "final", "brute"}} {
		d.Cards = append(d.Cards, &dungeonv1.Card{Id: c[0], Kind: c[1], Ability: c[2], Level: 1, Conditions: []string{"treasure"}, Title: fmt.Sprint("Door ", i), Text: "Closed."})
	}
	g.call("gerd", &dungeonv1.ImportDungeonRequest{Parent: g.campaign, Dungeon: d}, &dungeonv1.ImportDungeonResponse{})
	g.call("gerd", &travelv1.ImportRegionRequest{Parent: g.campaign, RegionId: "vale", Region: &travelv1.RegionDraft{
		Title: "Vale", Hexes: []*travelv1.MapHex{{Terrain: "plains"}, {Q: 1, Terrain: "plains"}}, Locations: []*travelv1.Location{
			{Id: "hamlet", Name: "Hamlet", Kind: "settlement", Hex: &travelv1.Hex{}, Visible: true},
			{Id: "pit", Name: "The Pit", Kind: "site", Hex: &travelv1.Hex{}, Visible: true, Table: 3, Entrance: "lip", Rooms: []*travelv1.Room{{Id: "lip", Ways: []string{"floor"}}, {Id: "floor", Ways: []string{"lip"}}}},
		},
	}}, &travelv1.ImportRegionResponse{})
	if _, err := s.client.CreateExpedition(by(t.Context(), "alice"), &expeditionv1.CreateExpeditionRequest{
		Parent: g.campaign, ExpeditionId: "e", RequestId: "create", Company: g.campaign + "/companies/k", Absence: absence,
	}); err != nil {
		t.Fatal(err)
	}
	return g
}

// The commands of the tests, under their own names as ids.
func (g *group) setOut() *req {
	return &req{Name: g.name, RequestId: "set-out", Command: &expeditionv1.ExecuteRequest_StartJourney{StartJourney: &travelv1.StartJourneyRequest{
		Character: g.character("ada"), Region: g.campaign + "/regions/vale", Hex: &travelv1.Hex{},
	}}}
}

func (g *group) goIn(place string) *req {
	return &req{Name: g.name, RequestId: "go-in", Command: &expeditionv1.ExecuteRequest_EnterLocation{EnterLocation: &travelv1.EnterLocationRequest{
		Character: g.character("ada"), Location: place,
	}}}
}

func (g *group) goOut(id string) *req {
	return &req{Name: g.name, RequestId: id, Command: &expeditionv1.ExecuteRequest_LeaveLocation{LeaveLocation: &travelv1.LeaveLocationRequest{
		Character: g.character("ada"),
	}}}
}

func (g *group) enterRun(id string) *req {
	return &req{Name: g.name, RequestId: id, Command: &expeditionv1.ExecuteRequest_StartRun{StartRun: &dungeonv1.StartRunRequest{
		Party: g.campaign + "/parties/team", Dungeon: g.campaign + "/dungeons/vault", Character: g.character("ada"),
	}}}
}

func (g *group) enterDelve(id string) *req {
	return &req{Name: g.name, RequestId: id, Command: &expeditionv1.ExecuteRequest_StartDelve{StartDelve: &dungeonv1.CreateDelveRequest{
		Character: g.character("ada"), InvokedBy: dungeonv1.InvokedBy_INVOKED_BY_BASIC_GAME_LOOP, Map: &dungeonv1.DelveMap{Title: "The cellar"}, Entry: "the trapdoor",
	}}}
}

func (g *group) giveRunUp(id string) *req {
	return &req{Name: g.name, RequestId: id, Command: &expeditionv1.ExecuteRequest_AbandonRun{AbandonRun: &dungeonv1.AbandonRunRequest{Character: g.character("ada")}}}
}

func (g *group) leaveDelve(id string) *req {
	return &req{Name: g.name, RequestId: id, Command: &expeditionv1.ExecuteRequest_LeaveDelve{LeaveDelve: &dungeonv1.LeaveDelveRequest{
		Character: g.character("ada"), Target: "TRAVEL",
	}}}
}

func (g *group) goHome(id string) *req {
	return &req{Name: g.name, RequestId: id, Command: &expeditionv1.ExecuteRequest_EndJourney{EndJourney: &travelv1.EndJourneyRequest{Character: g.character("ada")}}}
}

// attempts carries a command out as the activity does, once after the other as Temporal would, until it has an outcome.
func (g *group) attempts(who string, r *req) error {
	g.t.Helper()
	raw, err := marshal(r)
	if err != nil {
		g.t.Fatal(err)
	}
	hash, err := requestid.Hash(expeditionv1.ExpeditionService_Execute_FullMethodName, who, r)
	if err != nil {
		g.t.Fatal(err)
	}
	for range 30 {
		_, err = g.server.executeCommand(context.Background(), g.name, command{RequestID: r.GetRequestId(), RequestHash: hash, Actor: who, Execute: raw})
		st := unpack(err)
		switch {
		case err == nil:
			return nil
		case st == nil:
			return err
		case final(st.Err()):
			return fault.FromStatus(st.Err())
		}
	}
	return err
}

// does is attempts that have to come to a good end.
func (g *group) does(who string, r *req) {
	g.t.Helper()
	if err := g.attempts(who, r); err != nil {
		g.t.Fatalf("%s: %v", r.GetRequestId(), err)
	}
}

// lent tells who holds what of the group: the loadouts, the vitals, the pack and the roster.
func (g *group) lent() map[string]string {
	g.t.Helper()
	out := map[string]string{}
	for c := range players {
		res := &partyv1.GetCharacterResponse{}
		g.call("gerd", &partyv1.GetCharacterRequest{Name: g.character(c)}, res)
		for _, l := range res.GetCharacter().GetLeases() {
			out[c+" "+strings.TrimPrefix(l.GetFacet().String(), "FACET_")] = kindOf(l.GetHolder())
		}
	}
	company := &partyv1.GetCompanyResponse{}
	g.call("gerd", &partyv1.GetCompanyRequest{Name: g.campaign + "/companies/k"}, company)
	if l := company.GetCompany().GetLease(); l != nil {
		out["PACK"] = kindOf(l.GetHolder())
	}
	if p := g.party(); p.GetState() == partyv1.Party_STATE_IN_RUN {
		out["ROSTER"] = kindOf(p.GetRun())
	}
	return out
}

func (g *group) party() *partyv1.Party {
	g.t.Helper()
	res := &partyv1.GetPartyResponse{}
	g.call("gerd", &partyv1.GetPartyRequest{Name: g.campaign + "/parties/team"}, res)
	return res.GetParty()
}

// kindOf is what a resource name names: "runs", "delves" or "journeys".
func kindOf(name string) string { return strings.Split(name, "/")[2] }

// traveling is what a journey borrows, delving what a run adds.
var (
	traveling = map[string]string{"PACK": "journeys", "ada VITALS": "journeys", "bram VITALS": "journeys", "cleo VITALS": "journeys"}
	running   = map[string]string{"ROSTER": "runs", "ada LOADOUT": "runs", "bram LOADOUT": "runs", "cleo LOADOUT": "runs"}
)

// now reads the expedition.
func (g *group) now() *expeditionv1.Expedition {
	g.t.Helper()
	res, err := g.client.GetExpedition(by(context.Background(), "gerd"), &expeditionv1.GetExpeditionRequest{Name: g.name})
	if err != nil {
		g.t.Fatal(err)
	}
	return res.GetExpedition()
}

// told are the events of the log, in short: what was intended, refused and executed, and every other kind of fact that is not
// a record of a service.
func (g *group) told() []string {
	g.t.Helper()
	return tell(g.logOf("gerd", g.name))
}

func tell(log []*expeditionv1.WatchExpeditionResponse) []string {
	var out []string
	for _, rec := range log {
		for _, e := range rec.GetEvents() {
			switch {
			case e.GetLogged() != nil:
			case e.GetExecuted() != nil:
				out = append(out, e.GetExecuted().GetCommand())
			case e.GetStartRefused() != nil:
				out = append(out, "refused "+e.GetStartRefused().GetReason())
			case e.GetPhaseChanged() != nil:
				out = append(out, phaseName(e.GetPhaseChanged().GetPhase()))
			default:
				m := e.ProtoReflect()
				out = append(out, string(m.WhichOneof(m.Descriptor().Oneofs().Get(0)).Name()))
			}
		}
	}
	return out
}

// tally tells how often something was told.
func tally(told []string, what string) (n int) {
	for _, s := range told {
		if s == what {
			n++
		}
	}
	return n
}

// complete checks that the log has every record of everything that is or was part of the expedition, once and in order.
func (g *group) complete() {
	g.t.Helper()
	g.completeIn(g.logOf("gerd", g.name))
}

func (g *group) completeIn(log []*expeditionv1.WatchExpeditionResponse) {
	g.t.Helper()
	seen := map[string]int32{}
	for _, rec := range log {
		for _, e := range rec.GetEvents() {
			if l := e.GetLogged(); l != nil {
				if l.GetRecord().GetSeq() != seen[l.GetAggregate()]+1 {
					g.t.Errorf("record %d of %s comes after record %d", l.GetRecord().GetSeq(), l.GetAggregate(), seen[l.GetAggregate()])
				}
				seen[l.GetAggregate()] = l.GetRecord().GetSeq()
			}
		}
	}
	ex := g.now()
	for _, name := range slices.Concat([]string{ex.GetJourney()}, ex.GetRuns(), ex.GetDelves()) {
		if name == "" {
			continue
		}
		snap, err := g.server.look(context.Background(), name)
		if err != nil || snap.seq != seen[name] {
			g.t.Errorf("%s has %d records, the log %d of them (%v)", name, snap.seq, seen[name], err)
		}
	}
}
