package travel_test

import (
	"context"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/structpb"

	dicev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dice/v1"
	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"
	travelv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/travel/v1"
	typev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/type/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/auth"
	"github.com/wayfarer-rpg/wayfarer/internal/dicestream"
	"github.com/wayfarer-rpg/wayfarer/internal/journal/memory"
	"github.com/wayfarer-rpg/wayfarer/internal/serve"
	"github.com/wayfarer-rpg/wayfarer/services/adapter"
	"github.com/wayfarer-rpg/wayfarer/services/dice"
	"github.com/wayfarer-rpg/wayfarer/services/party"
	"github.com/wayfarer-rpg/wayfarer/services/travel"
)

// bearer is a service's own token.
type bearer string

func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + string(b)}, nil
}

func (bearer) RequireTransportSecurity() bool { return false }

// listen serves services on a port of their own and returns a connection to it.
func listen(t *testing.T, register func(grpc.ServiceRegistrar), opts ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g, err := serve.NewServer(serve.Config{Name: "test", Verifier: tokens{}, Logger: slog.New(slog.DiscardHandler), Grace: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	register(g)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- g.Serve(ctx, l) }()
	conn, err := grpc.NewClient(l.Addr().String(), append(opts, grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = conn.Close()
		stop()
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return conn
}

// must returns the answer to a call that must succeed.
func must[R any](t *testing.T) func(R, error) R {
	return func(res R, err error) R {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
}

// table is travel with the party and dice services in earnest, everything behind its public RPCs.
type table struct {
	*node
	campaigns  partyv1.CampaignServiceClient
	characters partyv1.CharacterServiceClient
	companies  partyv1.CompanyServiceClient
	rolls      dicev1.DiceServiceClient
}

func earnest(t *testing.T) *table {
	t.Helper()
	store := memory.New()
	parties, err := party.New(party.Config{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = parties.Close() })
	asService := []grpc.DialOption{grpc.WithPerRPCCredentials(bearer("service:travel")), grpc.WithUnaryInterceptor(auth.UnaryClient())}
	partyConn := listen(t, parties.Register)
	// The same server for users and for services: only the token differs.
	own, err := grpc.NewClient(partyConn.Target(), append(asService, grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = own.Close() })
	members := adapter.NewRemoteMembers(partyv1.NewMembershipServiceClient(own), time.Minute, time.Now)
	rolls := dice.New(dice.Config{Store: store, Members: members, Logger: slog.New(slog.DiscardHandler)})
	t.Cleanup(func() { _ = rolls.Close() })
	diceConn := listen(t, rolls.Register, asService...)
	srv, err := travel.New(travel.Config{
		Store: store, Members: members, Rulesets: members, Dice: dicev1.NewDiceServiceClient(diceConn), Leases: partyv1.NewLeaseServiceClient(own),
		Companies: partyv1.NewCompanyServiceClient(own), Characters: partyv1.NewCharacterServiceClient(own), Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = srv.Close() })
	n := &node{world: newWorld(), t: t, srv: srv, conn: listen(t, srv.Register)}
	n.store = store
	return &table{
		node: n, campaigns: partyv1.NewCampaignServiceClient(partyConn), characters: partyv1.NewCharacterServiceClient(partyConn),
		companies: partyv1.NewCompanyServiceClient(partyConn), rolls: dicev1.NewDiceServiceClient(diceConn),
	}
}

// A journey with the party and dice services in earnest: what is borrowed is theirs meanwhile, what comes back is what
// they have at rest, and every face can be recomputed from the seed.
func TestAJourneyInEarnest(t *testing.T) {
	t.Parallel()
	all := earnest(t)
	n := all.node
	gms, alice := as(t.Context(), gm), as(t.Context(), adas)
	campaigns, characters, companies := all.campaigns, all.characters, all.companies
	must[*partyv1.CreateCampaignResponse](t)(campaigns.CreateCampaign(gms, &partyv1.CreateCampaignRequest{
		CampaignId: "c1", Title: "The Long Road", RequestId: "c", Members: []*partyv1.CampaignMember{
			{Subject: adas, Role: typev1.Role_ROLE_PLAYER}, {Subject: brams, Role: typev1.Role_ROLE_PLAYER},
		},
	}))
	must[*partyv1.CreateCharacterResponse](t)(characters.CreateCharacter(alice, &partyv1.CreateCharacterRequest{Parent: camp, CharacterId: "ada", Title: "Ada", RequestId: "a"}))
	must[*partyv1.CreateCharacterResponse](t)(characters.CreateCharacter(as(t.Context(), brams), &partyv1.CreateCharacterRequest{Parent: camp, CharacterId: "bram", Title: "Bram", RequestId: "b"}))
	must[*partyv1.CreateCompanyResponse](t)(companies.CreateCompany(gms, &partyv1.CreateCompanyRequest{
		Parent: camp, CompanyId: "band", Title: "The Band", RequestId: "co", Pack: &partyv1.Pack{Food: []int32{8}, Gold: 40, Light: &partyv1.Light{Kind: "torch", Sides: 6}},
		Travelers: []*partyv1.Traveler{
			{Character: ada}, {Character: bram}, {Label: "Mabyn", Vitals: &partyv1.Vitals{Hp: 3, HpMax: 3, Str: 9, StrMax: 9, Capacity: proto.Int32(8)}},
		},
	}))
	prices, err := structpb.NewStruct(map[string]any{"buy.boat_gold": 77})
	if err != nil {
		t.Fatal(err)
	}
	override := must[*partyv1.OverrideRulesetResponse](t)(campaigns.OverrideRuleset(gms, &partyv1.OverrideRulesetRequest{Name: camp + "/rulesets/die-drop", Set: prices, RequestId: "o"}))
	n.importVale()
	start := do[*travelv1.StartJourneyResponse](n, adas, startTrek())
	for _, e := range start.GetEvents() {
		if s := e.GetStarted(); s != nil {
			boat := s.GetRuleset().GetFields()["params"].GetStructValue().GetFields()["buy.boat_gold"].GetStructValue().GetFields()["value"].GetNumberValue()
			if boat != 77 || s.GetCampaignSeq() != override.GetRuleset().GetSeq() {
				t.Errorf("a boat costs %v by campaign record %d", boat, s.GetCampaignSeq())
			}
		}
	}

	_, err = characters.SetVitals(gms, &partyv1.SetVitalsRequest{Name: ada, Vitals: &partyv1.Vitals{Hp: 1, HpMax: 1, Str: 1, StrMax: 1}, RequestId: "sv"})
	refusal{codes.FailedPrecondition, "LEASED", ""}.check(t, err)
	second := startTrek()
	second.JourneyId, second.RequestId = "second", "second"
	_, err = n.call(adas, second)
	refusal{codes.FailedPrecondition, "LEASED", ""}.check(t, err)

	for _, req := range []proto.Message{
		&travelv1.MoveRequest{To: hex(2, 2)}, &travelv1.ForageRequest{}, &travelv1.SearchRequest{}, &travelv1.MoveRequest{To: hex(3, 2)}, &travelv1.MoveRequest{To: hex(4, 2)},
	} {
		set(req, "name", trek)
		set(req, "character", ada)
		do[proto.Message](n, adas, req)
	}
	do[*travelv1.RemoveMemberResponse](n, brams, &travelv1.RemoveMemberRequest{Name: trek, Character: bram, Member: "bram"})
	must[*partyv1.CreateCharacterResponse](t)(characters.CreateCharacter(as(t.Context(), brams), &partyv1.CreateCharacterRequest{Parent: camp, CharacterId: "cleo", Title: "Cleo", RequestId: "cl"}))
	do[*travelv1.JoinJourneyResponse](n, brams, joins())
	held := must[*partyv1.GetCharacterResponse](t)(characters.GetCharacter(gms, &partyv1.GetCharacterRequest{Name: cleo})).GetCharacter()
	if len(held.GetLeases()) != 1 || held.GetLeases()[0].GetHolder() != trek {
		t.Errorf("who joined is leased %v", held.GetLeases())
	}
	_, err = n.call(brams, &travelv1.JoinJourneyRequest{Name: trek, Character: bram})
	refusal{codes.FailedPrecondition, "HAS_LEFT", "character"}.check(t, err)
	left := must[*partyv1.GetCharacterResponse](t)(characters.GetCharacter(gms, &partyv1.GetCharacterRequest{Name: bram})).GetCharacter()
	if len(left.GetLeases()) != 0 {
		t.Errorf("who left is leased still: %v", left.GetLeases())
	}
	do[*travelv1.HarmResponse](n, gm, &travelv1.HarmRequest{Name: trek, Member: "ada", Str: 99})
	last := n.journey(gm)
	end := do[*travelv1.EndJourneyResponse](n, adas, &travelv1.EndJourneyRequest{Name: trek, Character: ada})

	got := must[*partyv1.GetCompanyResponse](t)(companies.GetCompany(gms, &partyv1.GetCompanyRequest{Name: band})).GetCompany()
	mabyn := last.GetMembers()[1]
	want := []*partyv1.Traveler{{
		Label: "Mabyn", FoodSlots: mabyn.GetFoodSlots(),
		Vitals: &partyv1.Vitals{Hp: mabyn.GetHp(), HpMax: 3, Str: mabyn.GetStr(), StrMax: 9, Capacity: proto.Int32(8)},
	}, {Label: "Cleo", Character: cleo, FoodSlots: last.GetMembers()[2].GetFoodSlots()}}
	if diff := cmp.Diff(want, got.GetTravelers(), protocmp.Transform()); diff != "" {
		t.Errorf("who came back (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(last.GetFood(), got.GetPack().GetFood()); diff != "" || got.GetPack().GetGold() != 40 || got.GetPack().GetLight().GetSides() != 6 || got.GetLease() != nil {
		t.Errorf("the company at rest: %v", got)
	}
	dead := must[*partyv1.GetCharacterResponse](t)(characters.GetCharacter(gms, &partyv1.GetCharacterRequest{Name: ada})).GetCharacter()
	if dead.GetVitals().GetStr() != 0 || dead.GetVitals().Capacity != nil || len(dead.GetLeases()) != 0 {
		t.Errorf("the dead at rest: %v", dead)
	}

	stream := must[*dicev1.GetStreamResponse](t)(all.rolls.GetStream(t.Context(), &dicev1.GetStreamRequest{Name: end.GetJourney().GetStream()})).GetStream()
	if !stream.GetRevealed() || !cmp.Equal(stream.GetCommitment(), start.GetJourney().GetCommitment()) {
		t.Fatalf("the stream: %v, committed to %x", stream, start.GetJourney().GetCommitment())
	}
	records, err := n.watch(adas, 0, -1)
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, r := range records {
		if len(r.GetRecord().GetDice()) == 0 {
			continue
		}
		faces, err := dicestream.NewSource(dicestream.Key(stream.GetSeed(), "", uint64(r.GetRecord().GetSeq()))) //nolint:gosec // from 1
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range r.GetRecord().GetDice() {
			face, err := faces.Next(int(d.GetSides()))
			if err != nil || face != int(d.GetFace()) {
				t.Errorf("record %d: a d%d of %d is %d by the seed, %v", r.GetRecord().GetSeq(), d.GetSides(), d.GetFace(), face, err)
			}
			checked++
		}
	}
	if checked < 10 {
		t.Errorf("only %d dice were rolled", checked)
	}
}
