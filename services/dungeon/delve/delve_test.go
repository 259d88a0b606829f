package delve_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	dungeonv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dungeon/v1"
	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/await"
	"github.com/wayfarer-rpg/wayfarer/internal/dicestream"
	"github.com/wayfarer-rpg/wayfarer/internal/fault"
	"github.com/wayfarer-rpg/wayfarer/internal/journal"
)

// A delve from its setup to its end, played by its players with dice that anybody can check.
func TestADelve(t *testing.T) {
	t.Parallel()
	n := start(t)
	d := n.begun()
	if d.GetPhase() != dungeonv1.Delve_PHASE_EXPLORING || d.GetArea().GetId() != "gate" || len(d.GetMembers()) != 3 || d.GetProvisions() != "6 rations" {
		t.Fatalf("begun: %v", d)
	}
	if odo := d.GetMembers()[1]; odo.GetSees() != "BRIGHT" || odo.GetOwner() != "" || d.GetMembers()[2].GetOwner() != brams {
		t.Errorf("members: %v", d.GetMembers())
	}
	if l := d.GetLights()[0]; l.GetShape() != "RADIUS" || l.GetBrightFt() != 20 || l.GetDimFt() != 40 || l.GetRemaining() != 6 {
		t.Errorf("torch: %v", l)
	}
	a := n.do(adas, &dungeonv1.MoveRequest{Character: ada, To: "hall"})
	if d = a.GetDelve(); d.GetPool() != 1 || d.GetArea().GetTitle() != "The hall of teeth" || len(d.GetWays()) != 2 || a.GetResult().GetTrigger() != "MOVE" {
		t.Errorf("moved: %v %v", d, a.GetResult())
	}
	rest := n.do(brams, &dungeonv1.LongRestRequest{Character: bram})
	if d = rest.GetDelve(); d.GetDiceEver() != 49 || len(rest.GetResult().GetSpills()) != 8 || d.GetSpillsTotal() != 8 || !d.GetDarkness() {
		t.Errorf("rested: %v %v", d, rest.GetResult())
	}
	if odo := d.GetMembers()[1]; odo.GetSees() != "DIM" || odo.GetSeesColour() || d.GetMembers()[0].GetSees() != "DARK" {
		t.Errorf("in darkness: %v", d.GetMembers())
	}
	// Every face follows from the seed, which the end publishes, and the number of the record.
	faces, err := dicestream.NewSource(dicestream.Key(seedOf(d.GetStream()), "", uint64(rest.GetRecord().GetSeq()))) //nolint:gosec // a record number
	if err != nil {
		t.Fatal(err)
	}
	if len(rest.GetRecord().GetDice()) < 48 {
		t.Errorf("%d dice", len(rest.GetRecord().GetDice()))
	}
	for i, die := range rest.GetRecord().GetDice() {
		if want, err := faces.Next(int(die.GetSides())); err != nil || int(die.GetFace()) != want || die.GetReported() {
			t.Errorf("die %d is %v, want %d: %v", i, die, want, err)
		}
	}
	left := n.do(adas, &dungeonv1.LeaveDelveRequest{Character: ada, Target: "TRAVEL"}).GetDelve()
	if left.GetPhase() != dungeonv1.Delve_PHASE_LEFT || left.GetLeftFor() != "TRAVEL" {
		t.Errorf("left: %v", left)
	}
	if d = n.get(adas, tomb); !d.GetSettled() || !n.dice.revealed[d.GetStream()] || n.dice.holders[d.GetStream()] != tomb {
		t.Errorf("not settled: %v", d)
	}
	if sum := dicestream.Commitment(seedOf(d.GetStream())); !slices.Equal(sum[:], d.GetCommitment()) {
		t.Error("the commitment is of another seed")
	}
	n.refused(t, adas, &dungeonv1.MoveRequest{Character: ada, To: "gate"}, refusal{codes.FailedPrecondition, "DELVE_OVER", ""})
}

func TestTheSetupHasAnOrder(t *testing.T) {
	t.Parallel()
	n := start(t)
	phase := func(want dungeonv1.Delve_Phase) {
		t.Helper()
		if got := n.get(spectator, tomb).GetPhase(); got != want {
			t.Errorf("phase %v, want %v", got, want)
		}
	}
	n.opened()
	phase(dungeonv1.Delve_PHASE_SETUP_MEMBERS)
	n.refused(t, gm, &dungeonv1.BeginDelveRequest{}, refusal{codes.FailedPrecondition, "SETUP_INCOMPLETE", ""})
	n.refused(t, gm, &dungeonv1.RecordProvisionsRequest{Note: "x"}, refusal{codes.FailedPrecondition, "SETUP_ORDER", ""})
	n.do(gm, &dungeonv1.RecordMembersRequest{Members: band()})
	phase(dungeonv1.Delve_PHASE_SETUP_PROVISIONS)
	n.refused(t, gm, &dungeonv1.RecordLightsRequest{}, refusal{codes.FailedPrecondition, "SETUP_ORDER", ""})
	n.do(gm, &dungeonv1.RecordProvisionsRequest{Note: "x"})
	phase(dungeonv1.Delve_PHASE_SETUP_LIGHTS)
	n.do(gm, &dungeonv1.RecordLightsRequest{})
	phase(dungeonv1.Delve_PHASE_READY)
	n.refused(t, adas, &dungeonv1.MoveRequest{Character: ada, To: "hall"}, refusal{codes.FailedPrecondition, "NOT_BEGUN", ""})
	if d := n.do(gm, &dungeonv1.AddRealTimeRequest{Minutes: 15}).GetDelve(); d.GetRealClock() != 0 || d.GetDiceEver() != 0 {
		t.Errorf("time before the first area: %v", d)
	}
	n.do(gm, &dungeonv1.BeginDelveRequest{})
	if d := n.do(gm, &dungeonv1.AddRealTimeRequest{Minutes: 15}).GetDelve(); d.GetRealClock() != 5 || d.GetDiceEver() != 1 {
		t.Errorf("time after it: %v", d)
	}
	// Somebody joins, and their player may act from now on.
	n.refused(t, brams, &dungeonv1.WaitRequest{Character: cleo, Minutes: 1}, refusal{codes.FailedPrecondition, "NOT_A_MEMBER", "character"})
	n.do(gm, &dungeonv1.RecordMembersRequest{Members: append(band(), &dungeonv1.DelveMemberEntry{Name: "Cleo", Character: cleo, Kind: "PC", Rank: "REAR"})})
	n.do(brams, &dungeonv1.WaitRequest{Character: cleo, Minutes: 1})
}

func TestRequestsAreAnsweredOnce(t *testing.T) {
	t.Parallel()
	n := start(t)
	n.begun()
	move := &dungeonv1.MoveRequest{Character: ada, To: "hall", RequestId: "m"}
	first := n.do(adas, move)
	before := n.records(tomb)
	n.do(gm, &dungeonv1.LongRestRequest{})
	again := n.do(adas, move)
	if !proto.Equal(first, again) || n.records(tomb) != before+1 {
		t.Errorf("again: %v\nfirst: %v", again, first)
	}
	n.refused(t, adas, &dungeonv1.MoveRequest{Character: ada, To: "gate", RequestId: "m"}, refusal{codes.InvalidArgument, "REQUEST_ID_REUSED", "request_id"})
	open := &dungeonv1.CreateDelveRequest{Parent: camp, InvokedBy: dungeonv1.InvokedBy_INVOKED_BY_DM_JUDGMENT, Map: &dungeonv1.DelveMap{Title: "A cave"}, Entry: "mouth", RequestId: "o"}
	one, two := must[*dungeonv1.CreateDelveResponse](n, gm, open), must[*dungeonv1.CreateDelveResponse](n, gm, open)
	if !proto.Equal(one, two) || one.GetDelve().GetName() == tomb {
		t.Errorf("opened %v and %v", one, two)
	}
	// A refused one, sent again, is decided again; another of the same id is the same request still.
	n.refused(t, gm, &dungeonv1.EndCombatRequest{RequestId: "e"}, refusal{codes.FailedPrecondition, "NOT_IN_COMBAT", ""})
	n.do(gm, &dungeonv1.StartCombatRequest{})
	n.do(gm, &dungeonv1.EndCombatRequest{RequestId: "e"})
	// After a restart the first answer is the same.
	n.serve()
	if again := n.do(adas, move); !proto.Equal(first, again) {
		t.Errorf("after a restart: %v\nfirst: %v", again, first)
	}
}

func TestEtagsAndReportedDice(t *testing.T) {
	t.Parallel()
	n := start(t)
	d := n.begun()
	stale := d.GetEtag()
	d = n.do(adas, &dungeonv1.WaitRequest{Character: ada, Minutes: 50, Etag: stale}).GetDelve()
	n.refused(t, adas, &dungeonv1.WaitRequest{Character: ada, Minutes: 1, Etag: stale}, refusal{codes.Aborted, "ETAG_MISMATCH", "etag"})
	spill := func(dice ...int32) *dungeonv1.TakeRiskRequest {
		return &dungeonv1.TakeRiskRequest{ReportedDice: dice, Etag: d.GetEtag()}
	}
	bad := refusal{codes.InvalidArgument, "BAD_DICE", "reported_dice"}
	for _, dice := range [][]int32{{1}, {2, 3, 4, 5, 6, 6, 1}, {1, 2, 3, 4, 5, 6}, {1, 2, 3, 4, 5, 7, 9}, {1, 2, 3, 4, 5, 6, 13}} {
		n.refused(t, gm, spill(dice...), bad)
	}
	noEtag := spill(2, 3, 4, 5, 6, 6)
	noEtag.Etag = ""
	n.refused(t, gm, noEtag, refusal{codes.InvalidArgument, "ETAG_REQUIRED", "etag"})
	a := n.do(gm, spill(1, 1, 3, 4, 5, 6, 11))
	if e := a.GetResult().GetSpills()[0].GetEvents()[0]; e.GetFinal() != 12 || e.GetTitle() != "Combat encounter" || e.GetInvokes() != "Dungeon Encounters" {
		t.Errorf("event: %v", e)
	}
	if dice := a.GetRecord().GetDice(); len(dice) != 7 || !dice[6].GetReported() || dice[6].GetSides() != 12 {
		t.Errorf("dice: %v", dice)
	}
}

func TestADelvePlaysByItsCampaign(t *testing.T) {
	t.Parallel()
	n := start(t)
	override := func(values map[string]any) {
		t.Helper()
		set, err := structpb.NewStruct(values)
		if err != nil {
			t.Fatal(err)
		}
		must[*partyv1.OverrideRulesetResponse](n, gm, &partyv1.OverrideRulesetRequest{Name: camp + "/rulesets/danger-pool", Set: set})
	}
	override(map[string]any{"pool_limit": 4, "light_spell_on_relight": "ALLOWED"})
	if d := n.begun(); d.GetPoolLimit() != 4 {
		t.Errorf("limit %d", d.GetPoolLimit())
	}
	override(map[string]any{"pool_limit": 9})
	if a := n.do(gm, &dungeonv1.WaitRequest{Minutes: 40}); len(a.GetResult().GetSpills()) != 1 {
		t.Errorf("what is frozen has changed: %v", a.GetResult())
	}
	later := &dungeonv1.CreateDelveRequest{
		Parent: camp, DelveId: "later", InvokedBy: dungeonv1.InvokedBy_INVOKED_BY_DM_JUDGMENT, Map: &dungeonv1.DelveMap{Title: "A cave"}, Entry: "mouth",
	}
	if d := must[*dungeonv1.CreateDelveResponse](n, gm, later).GetDelve(); d.GetPoolLimit() != 9 {
		t.Errorf("limit %d of a later one", d.GetPoolLimit())
	}
	own, err := structpb.NewStruct(map[string]any{"pool_limit": 2})
	if err != nil {
		t.Fatal(err)
	}
	later = proto.CloneOf(later)
	later.DelveId, later.RequestId, later.Params = "own", "", own
	if d := must[*dungeonv1.CreateDelveResponse](n, gm, later).GetDelve(); d.GetPoolLimit() != 2 {
		t.Errorf("limit %d of one with its own", d.GetPoolLimit())
	}
	for _, wrong := range []map[string]any{{"luck": 1}, {"pool_limit": "six"}, {"overflow_mode": "ALL"}} {
		params, err := structpb.NewStruct(wrong)
		if err != nil {
			t.Fatal(err)
		}
		n.refused(t, gm, &dungeonv1.CreateDelveRequest{
			Parent: camp, InvokedBy: dungeonv1.InvokedBy_INVOKED_BY_DM_JUDGMENT, Map: &dungeonv1.DelveMap{Title: "A cave"}, Entry: "mouth", Params: params,
		}, refusal{codes.InvalidArgument, "INVALID", "params"})
	}
}

// Who comes back finds the pool where the ruleset keeps it, and has what was left of lights and spells.
func TestADelveContinues(t *testing.T) {
	t.Parallel()
	n := start(t)
	n.begun()
	n.do(gm, &dungeonv1.AddLightRequest{Id: "lantern", Source: "LANTERN"})
	n.do(gm, &dungeonv1.CastSpellRequest{Id: "mage armor", Length: &dungeonv1.CastSpellRequest_Minutes{Minutes: 480}})
	n.do(gm, &dungeonv1.WaitRequest{Minutes: 50})
	n.do(gm, &dungeonv1.SwitchLightRequest{Id: "torch"})
	back := func(id string, params map[string]any) *dungeonv1.CreateDelveRequest {
		own, err := structpb.NewStruct(params)
		if err != nil {
			t.Fatal(err)
		}
		return &dungeonv1.CreateDelveRequest{
			Parent: camp, DelveId: id, InvokedBy: dungeonv1.InvokedBy_INVOKED_BY_BASIC_GAME_LOOP, Map: &dungeonv1.DelveMap{Title: "The tomb"}, Entry: "the gate",
			Dungeon: lair, Continues: tomb, Params: own,
		}
	}
	n.refused(t, gm, back("early", nil), refusal{codes.FailedPrecondition, "NOT_OVER", "continues"})
	n.do(gm, &dungeonv1.LeaveDelveRequest{Target: "BASIC_GAME_LOOP"})
	if d := must[*dungeonv1.CreateDelveResponse](n, gm, back("fresh", nil)).GetDelve(); d.GetPool() != 0 || d.GetContinues() != tomb || d.GetDungeon() != lair {
		t.Errorf("by default: %v", d)
	}
	if d := must[*dungeonv1.CreateDelveResponse](n, gm, back("kept", map[string]any{"pool_on_exit": "KEEP"})).GetDelve(); d.GetPool() != 5 || d.GetDiceEver() != 0 {
		t.Errorf("kept: %v", d)
	}
	kept := camp + "/delves/kept"
	n.do(gm, &dungeonv1.RecordMembersRequest{Name: kept, Members: band()})
	n.do(gm, &dungeonv1.RecordProvisionsRequest{Name: kept, Note: "less"})
	more := []*dungeonv1.CarriedLight{{Id: "torch-2", Source: "TORCH"}}
	d := n.do(adas, &dungeonv1.RecordLightsRequest{Name: kept, Character: ada, CarryOver: true, Lights: more}).GetDelve()
	var lights []string
	for _, l := range d.GetLights() {
		lights = append(lights, fmt.Sprintf("%s %d", l.GetId(), l.GetRemaining()))
	}
	if strings.Join(lights, ", ") != "torch 1, lantern 1, torch-2 6" || d.GetSpells()[0].GetDiceLeft() != 43 {
		t.Errorf("lights %v, spells %v", lights, d.GetSpells())
	}
	n.do(gm, &dungeonv1.BeginDelveRequest{Name: kept})
	if a := n.do(gm, &dungeonv1.InteractRequest{Name: kept}); len(a.GetResult().GetSpills()) != 1 || a.GetDelve().GetDiceEver() != 1 {
		t.Errorf("the first die spills what was kept: %v", a.GetResult())
	}
}

func TestNothingIsTakenOverFromNowhere(t *testing.T) {
	t.Parallel()
	n := start(t)
	n.opened()
	n.do(gm, &dungeonv1.RecordMembersRequest{Members: band()})
	n.do(gm, &dungeonv1.RecordProvisionsRequest{Note: "x"})
	n.refused(t, gm, &dungeonv1.RecordLightsRequest{CarryOver: true}, refusal{codes.InvalidArgument, "INVALID", "carry_over"})
}

// The seed is published although the dice service was away when they left.
func TestWhatIsOwedIsPaidLater(t *testing.T) {
	t.Parallel()
	n := start(t)
	n.begun()
	n.before = func(method string) error {
		if method == "RevealStream" {
			return errAway
		}
		return nil
	}
	if d := n.do(gm, &dungeonv1.LeaveDelveRequest{Target: "TRAVEL"}).GetDelve(); d.GetLeftFor() != "TRAVEL" {
		t.Errorf("left: %v", d)
	}
	if n.get(gm, tomb).GetSettled() {
		t.Fatal("settled without its seed")
	}
	n.before = nil
	if err := n.srv.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !n.get(gm, tomb).GetSettled() {
		t.Error("not settled by the sweeper")
	}
	owed, err := n.store.Owing(context.Background(), "delve", journal.Obligation{}, 10)
	if err != nil || len(owed) != 0 {
		t.Errorf("still owed: %v, %v", owed, err)
	}
}

func TestAnExpeditionCommandsItsDelve(t *testing.T) {
	t.Parallel()
	n := start(t)
	own := &dungeonv1.CreateDelveRequest{
		Parent: camp, DelveId: "tomb", InvokedBy: dungeonv1.InvokedBy_INVOKED_BY_BASIC_GAME_LOOP, Map: dungeonMap(), Entry: "gate", Expedition: quest,
	}
	n.refused(t, gm, own, refusal{codes.PermissionDenied, "NOT_A_SERVICE", "expedition"})
	if d := must[*dungeonv1.CreateDelveResponse](n, service+" for "+gm, own).GetDelve(); d.GetExpedition() != quest {
		t.Errorf("opened %v", d)
	}
	n.refused(t, gm, &dungeonv1.RecordMembersRequest{Members: band()}, refusal{codes.FailedPrecondition, "OWNED_BY_EXPEDITION", ""})
	n.do(service+" for "+gm, &dungeonv1.RecordMembersRequest{Members: band()})
	n.do(service+" for "+adas, &dungeonv1.RecordProvisionsRequest{Character: ada, Note: "x"})
	n.refused(t, service+" for "+adas, &dungeonv1.RecordLightsRequest{Character: bram}, refusal{codes.PermissionDenied, "NOT_YOUR_CHARACTER", ""})
	n.do(service, &dungeonv1.RecordLightsRequest{})
	n.do(service, &dungeonv1.BeginDelveRequest{})
	if d := n.do(service, &dungeonv1.AddRealTimeRequest{Minutes: 20}).GetDelve(); d.GetPool() != 2 {
		t.Errorf("the clock of the expedition: %v", d)
	}
	if d := n.get(adas, tomb); d.GetExpedition() != quest {
		t.Errorf("read: %v", d)
	}
}

func TestListsOfDelves(t *testing.T) {
	t.Parallel()
	n := start(t)
	n.begun()
	for _, id := range []string{"a", "b"} {
		must[*dungeonv1.CreateDelveResponse](n, adas, &dungeonv1.CreateDelveRequest{
			Parent: camp, DelveId: id, Character: ada, InvokedBy: dungeonv1.InvokedBy_INVOKED_BY_DM_JUDGMENT, Map: &dungeonv1.DelveMap{Title: id}, Entry: "mouth",
		})
	}
	var names []string
	token := ""
	for {
		page := must[*dungeonv1.ListDelvesResponse](n, spectator, &dungeonv1.ListDelvesRequest{Parent: camp, PageSize: 2, PageToken: token})
		for _, d := range page.GetDelves() {
			names = append(names, d.GetTitle())
		}
		if token = page.GetNextPageToken(); token == "" {
			break
		}
	}
	if strings.Join(names, ",") != "b,a,The tomb" {
		t.Errorf("listed %v", names)
	}
	n.refused(t, adas, &dungeonv1.CreateDelveRequest{
		Parent: camp, DelveId: "a", Character: ada, InvokedBy: dungeonv1.InvokedBy_INVOKED_BY_DM_JUDGMENT, Map: &dungeonv1.DelveMap{Title: "x"}, Entry: "mouth",
	}, refusal{codes.AlreadyExists, "ALREADY_EXISTS", ""})
}

func TestTheActivityLog(t *testing.T) {
	t.Parallel()
	n := start(t)
	n.begun()
	n.do(adas, &dungeonv1.AddRemarkRequest{Character: ada, Text: "a key of bone"})
	n.do(gm, &dungeonv1.AddRemarkRequest{Text: "the lich has heard them", Secret: true})
	n.do(gm, &dungeonv1.WaitRequest{Minutes: 50})
	d := n.get(gm, tomb)
	n.do(gm, &dungeonv1.RaiseDangerRequest{
		Dice: 1, Reason: "a bell", ReportedDice: []int32{1, 2, 3, 4, 5, 6, 3}, Etag: d.GetEtag(), Calls: []*dungeonv1.SpillCall{{Shows: "a gust", Note: "the lich's breath"}},
	})
	n.do(gm, &dungeonv1.NarrateEventRequest{Spill: 1, Event: 1, Override: 11, Shows: "a cry"})
	n.do(gm, &dungeonv1.AdjustDelveRequest{Reason: "mercy", Pool: proto.Int32(0)})
	n.do(gm, &dungeonv1.StartCombatRequest{})
	n.do(gm, &dungeonv1.EndCombatRequest{})
	n.do(gm, &dungeonv1.LeaveDelveRequest{Target: "TRAVEL"})
	lines := func(who string, size int32) []string {
		var out []string
		token := ""
		for pages := 1; ; pages++ {
			page := must[*dungeonv1.ListActivityResponse](n, who, &dungeonv1.ListActivityRequest{Parent: tomb, PageSize: size, PageToken: token})
			for _, e := range page.GetEntries() {
				line := fmt.Sprintf("%s %s %d %s%s", e.GetKind(), e.GetTime().AsTime().Format("05"), e.GetElapsedMinutes()/10, e.GetText(), e.GetGmText())
				for _, x := range append(e.GetSpill().GetEvents(), e.GetNarrated().GetNow()) {
					if x != nil {
						line += x.GetEvent() + " " + x.GetShows() + " " + x.GetNote()
					}
				}
				out = append(out, strings.TrimSpace(line))
			}
			if token = page.GetNextPageToken(); token == "" {
				if pages == 1 && size == 1 {
					t.Error("one page of all")
				}
				return out
			}
		}
	}
	all := lines(gm, 1)
	for i, want := range []string{
		"BEGUN 05 0 gate", "REMARK 06 0 a key of bone", "REMARK 07 0 the lich has heard them", "REMARK 09 5 a bell", "DARKNESS 09 6",
		"SPILL 09 6 LIGHT_DISRUPTION a gust the lich's breath", "NARRATED 10 6 DETECTED a cry the lich's breath", "ADJUSTED 11 6 mercy",
		"COMBAT_STARTED 12 6", "COMBAT_ENDED 13 6", "LEFT 14 6 TRAVEL",
	} {
		if i >= len(all) || all[i] != want {
			t.Fatalf("line %d of\n%s\nis not %s", i, strings.Join(all, "\n"), want)
		}
	}
	if got := lines(gm, 0); !slices.Equal(got, all) {
		t.Errorf("in one page:\n%s", strings.Join(got, "\n"))
	}
	players := lines(adas, 2)
	if len(players) != len(all)-3 || strings.Contains(strings.Join(players, "\n"), "lich") || !strings.Contains(strings.Join(players, "\n"), "a cry") {
		t.Errorf("a player reads\n%s", strings.Join(players, "\n"))
	}
	for _, token := range []string{"x", "0", "99", "-1"} {
		n.refused(t, gm, &dungeonv1.ListActivityRequest{Parent: tomb, PageToken: token}, refusal{codes.InvalidArgument, "INVALID", "page_token"})
	}
}

func TestWatching(t *testing.T) {
	t.Parallel()
	n := start(t)
	n.begun()
	watch := func(who string, from int32) (seqs []int32, kinds []string, whole string) {
		ctx, cancel := context.WithTimeout(as(context.Background(), who), await.Limit)
		defer cancel()
		stream, err := dungeonv1.NewDelveServiceClient(n.conn).WatchDelve(ctx, &dungeonv1.WatchDelveRequest{Name: tomb, FromSeq: from})
		if err != nil {
			t.Fatal(err)
		}
		for {
			res, err := stream.Recv()
			if err != nil {
				if err.Error() != "EOF" {
					t.Errorf("%s: %v", who, err)
				}
				return seqs, kinds, whole
			}
			seqs = append(seqs, res.GetRecord().GetSeq())
			for _, e := range res.GetEvents() {
				m := e.ProtoReflect()
				kinds = append(kinds, string(m.WhichOneof(m.Descriptor().Oneofs().ByName("event")).Name()))
			}
			raw, err := protojson.Marshal(res)
			if err != nil {
				t.Fatal(err)
			}
			whole += string(raw)
		}
	}
	type seen struct {
		seqs  []int32
		kinds []string
		whole string
	}
	players := make(chan seen, 1)
	go func() {
		seqs, kinds, whole := watch(adas, 0)
		players <- seen{seqs, kinds, whole}
	}()
	n.do(gm, &dungeonv1.AddRemarkRequest{Text: "the lich has heard them", Secret: true})
	d := n.do(gm, &dungeonv1.WaitRequest{Minutes: 50}).GetDelve()
	n.do(gm, &dungeonv1.TakeRiskRequest{
		ReportedDice: []int32{1, 2, 3, 4, 5, 6, 3}, Etag: d.GetEtag(), Calls: []*dungeonv1.SpillCall{{Override: 10, Shows: "Odo trembles", Note: "the lich calls him"}},
	})
	n.do(gm, &dungeonv1.AdjustDelveRequest{Reason: "the lich's mercy", Hunkered: proto.Bool(true)})
	n.do(gm, &dungeonv1.LeaveDelveRequest{Target: "TRAVEL"})
	got := await.Value(t, players, "the watch to end")
	if want := []int32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}; !slices.Equal(got.seqs, want) {
		t.Errorf("records %v, want %v", got.seqs, want)
	}
	want := "opened members_recorded provisions_recorded lights_recorded begun remarked triggered dice_added triggered dice_added spilled adjusted left settled"
	if strings.Join(got.kinds, " ") != want {
		t.Errorf("events %v", got.kinds)
	}
	if strings.Contains(got.whole, "lich") || strings.Contains(got.whole, "crypt") || !strings.Contains(got.whole, "Odo trembles") {
		t.Errorf("a player sees %s", got.whole)
	}
	seqs, _, whole := watch(gm, 6)
	if !slices.Equal(seqs, []int32{7, 8, 9, 10, 11}) || !strings.Contains(whole, "the lich calls him") {
		t.Errorf("a game master sees %v %s", seqs, whole)
	}
}

// What players may not know is nowhere in what they read.
func TestPlayersSeeNoSecrets(t *testing.T) {
	t.Parallel()
	n := start(t)
	n.begun()
	d := n.do(gm, &dungeonv1.WaitRequest{Minutes: 50}).GetDelve()
	n.do(gm, &dungeonv1.TakeRiskRequest{ReportedDice: []int32{1, 2, 3, 4, 5, 6, 3}, Etag: d.GetEtag(), Calls: []*dungeonv1.SpillCall{{Note: "the lich's breath"}}})
	for _, who := range []string{adas, brams, spectator, bot} {
		for _, req := range []proto.Message{
			&dungeonv1.GetDelveRequest{Name: tomb}, &dungeonv1.ListDelvesRequest{Parent: camp}, &dungeonv1.ListActivityRequest{Parent: tomb},
		} {
			res, err := n.call(who, req)
			if err != nil {
				t.Fatal(err)
			}
			raw, err := protojson.Marshal(res)
			if err != nil {
				t.Fatal(err)
			}
			for _, secret := range []string{"lich", "ghouls", "crypt", "teeth"} {
				if strings.Contains(string(raw), secret) {
					t.Errorf("%s reads %q in %T: %s", who, secret, req, raw)
				}
			}
		}
	}
	// Neither do the answers to their own commands, nor what is refused, tell where no way leads.
	a := n.do(adas, &dungeonv1.MoveRequest{Character: ada, To: "hall"})
	if raw, err := protojson.Marshal(a); err != nil || strings.Contains(string(raw), "lich") || !strings.Contains(string(raw), "teeth") {
		t.Errorf("answered %s: %v", raw, err)
	}
	for _, to := range []string{"vault", "attic"} {
		n.refused(t, adas, &dungeonv1.MoveRequest{Character: ada, To: to}, refusal{codes.FailedPrecondition, "NOT_CONNECTED", "to"})
	}
	if d := n.get(gm, tomb); len(d.GetMap().GetAreas()) != 4 || d.GetLatestSpills()[0].GetEvents()[0].GetNote() == "" {
		t.Errorf("a game master does not see all: %v", d)
	}
}

// A dice service that is away leaves no half-made delve.
func TestOpeningWithoutDice(t *testing.T) {
	t.Parallel()
	n := start(t)
	n.before = func(method string) error {
		if method == "CreateStream" {
			st, _ := fault.ToStatus(fault.New(fault.Unavailable, "STOPPING", "later"))
			return st.Err()
		}
		return nil
	}
	open := &dungeonv1.CreateDelveRequest{
		Parent: camp, DelveId: "tomb", InvokedBy: dungeonv1.InvokedBy_INVOKED_BY_CLEARING, Map: dungeonMap(), Entry: "gate", RequestId: "o",
	}
	n.refused(t, gm, open, refusal{codes.Unavailable, "STOPPING", ""})
	if n.records(tomb) != 0 {
		t.Fatal("something was journaled")
	}
	n.before = nil
	must[*dungeonv1.CreateDelveResponse](n, gm, open)
}
