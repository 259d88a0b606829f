package travel_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/testing/protocmp"

	travelv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/travel/v1"

	"github.com/wayfarer-rpg/wayfarer/rules/diedrop"
)

// A crawl without a map through sites of all twenty tables: every row is met in a lit turn, with its number die or none, its
// reaction, and gold or none, from the dice reported.
func TestEveryRowOfTheTwentySites(t *testing.T) {
	t.Parallel()
	n := newWorld().node(t)
	rules := diedrop.Default()
	draft := &travelv1.RegionDraft{Title: "Twenty sites"}
	for _, table := range rules.SiteTables {
		draft.Locations = append(draft.Locations, &travelv1.Location{
			Id: fmt.Sprintf("site-%d", table.Number), Name: table.Name, Kind: "site", Visible: true, Table: i32(table.Number), Entrance: "hall",
			Rooms: []*travelv1.Room{{Id: "hall", Ways: []string{"cell"}}, {Id: "cell", Ways: []string{"hall"}}},
		})
	}
	if len(draft.GetLocations()) != 20 {
		t.Fatalf("%d sites", len(draft.GetLocations()))
	}
	do[*travelv1.ImportRegionResponse](n, gm, &travelv1.ImportRegionRequest{Parent: camp, RegionId: "vale", Region: draft})
	start := startTrek()
	start.Character, start.Hex, start.Inside = "", nil, "site-1"
	do[*travelv1.StartJourneyResponse](n, gm, start)
	now := do[*travelv1.AdjustResponse](n, gm, &travelv1.AdjustRequest{Name: trek, Reason: "a lantern of the GM's", Light: &travelv1.Light{Kind: "lantern", Sides: 12}}).GetJourney()
	met := 0
	for _, table := range rules.SiteTables {
		if table.Number > 1 {
			entered := do[*travelv1.EnterLocationResponse](n, gm, &travelv1.EnterLocationRequest{Name: trek, Location: fmt.Sprintf("site-%d", table.Number), ReportedDice: []int32{8}, Etag: now.GetEtag()})
			now = entered.GetJourney()
		}
		for i, row := range table.Entries {
			want := &travelv1.Encounter{
				Creature: row.Creature, Number: 1, Reaction: proto.String("hesitates"), ReactionTotal: proto.Int32(7), Remains: row.Remains,
				Players: "normal", Npcs: "normal",
			}
			dice := []int32{12, 1, i32(i + 1)}
			if row.NumberDie != nil {
				want.Number = i32(*row.NumberDie)
				dice = append(dice, want.GetNumber())
			}
			dice = append(dice, 3, 4)
			if row.UsesMoney {
				for range want.GetNumber() {
					dice = append(dice, 2)
				}
				want.Gold = 2 * want.GetNumber()
			}
			to := []string{"hall", "cell"}[i%2]
			turn := do[*travelv1.TakeTurnResponse](n, gm, &travelv1.TakeTurnRequest{Name: trek, Trigger: "room", To: to, ReportedDice: dice, Etag: now.GetEtag()})
			now = turn.GetJourney()
			if diff := cmp.Diff(want, now.GetEncounter(), protocmp.Transform()); diff != "" {
				t.Errorf("site %d row %d (-want +got):\n%s", table.Number, i+1, diff)
			}
			met++
		}
		// Seven turns: the sixth room was the cell, and the way out leads through the hall.
		do[*travelv1.RetreatResponse](n, gm, &travelv1.RetreatRequest{Name: trek, ReportedDice: []int32{12, 6}, Etag: now.GetEtag()})
		now = do[*travelv1.LeaveLocationResponse](n, gm, &travelv1.LeaveLocationRequest{Name: trek}).GetJourney()
	}
	if met != 120 || now.GetTurn() != 140 || now.GetRound() != 0 || now.GetInside() != "" || now.Hex != nil {
		t.Errorf("%d rows met, and the journey is %v", met, now)
	}
}

// Three triggers, a spare that is lit by itself, the dark, and remains: a crawl through the RPCs, with faces that decide.
func TestACrawlIntoTheDark(t *testing.T) {
	t.Parallel()
	n := newWorld().node(t)
	do[*travelv1.ImportRegionResponse](n, gm, &travelv1.ImportRegionRequest{Parent: camp, RegionId: "vale", Region: &travelv1.RegionDraft{
		Title: "Den", Locations: []*travelv1.Location{{Id: "den", Name: "A den", Kind: "site", Table: 4, Entrance: "mouth", Rooms: []*travelv1.Room{
			{Id: "mouth", Ways: []string{"bend"}}, {Id: "bend", Ways: []string{"mouth", "end"}}, {Id: "end", Ways: []string{"bend"}},
		}}},
	}})
	start := startTrek()
	start.Character, start.Hex, start.Inside = "", nil, "den"
	now := do[*travelv1.StartJourneyResponse](n, gm, start).GetJourney()
	step := func(req interface {
		proto.Message
		GetName() string
	}, faces ...int32) *travelv1.Outcome {
		t.Helper()
		set(req, "name", trek)
		if len(faces) > 0 {
			set(req, "etag", now.GetEtag())
			m := req.ProtoReflect()
			l := m.Mutable(m.Descriptor().Fields().ByName("reported_dice")).List()
			for _, f := range faces {
				l.Append(protoreflect.ValueOfInt32(f))
			}
		}
		ans := do[commandAnswer](n, gm, req)
		now = ans.GetJourney()
		return ans.GetOutcome()
	}
	refused := func(req proto.Message, reason, field string) {
		t.Helper()
		set(req, "name", trek)
		_, err := n.call(gm, req)
		refusal{codes.FailedPrecondition, reason, field}.check(t, err)
	}
	room := func(to string) *travelv1.TakeTurnRequest { return &travelv1.TakeTurnRequest{Trigger: "room", To: to} }
	refused(room("mouth"), "TOO_DARK", "")
	step(&travelv1.AdjustRequest{Reason: "a stump", Light: &travelv1.Light{Kind: "torch", Sides: 4}})
	refused(&travelv1.TakeTurnRequest{Trigger: "activity"}, "NOT_IN_ROOM", "trigger")
	refused(room("end"), "NO_SUCH_WAY", "to")
	step(room("mouth"), 4, 5)
	// The stump fails, Bram's spare is lit at once; then that fails, too, on the way to the end.
	if o := step(&travelv1.TakeTurnRequest{Trigger: "activity"}, 1, 6); o.GetLight().GetReplaced() != "torch" || now.GetLight().GetSides() != 8 || now.GetMembers()[1].GetTorches() != 0 {
		t.Errorf("the spare: %v, %v", o, now)
	}
	step(room("bend"), 2, 6)
	step(&travelv1.TakeTurnRequest{Trigger: "combat"}, 2, 6)
	// The turn in which the last light fails is lit still; one cave bear is met, and its remains are packed in the next.
	if o := step(room("end"), 2, 1, 1, 2, 2); o.GetDark() || !now.GetDark() || now.GetEncounter().GetCreature() != "Cave bear" || now.GetEncounter().GetPlayers() != "normal" {
		t.Errorf("the last light: %v, %v", o, now)
	}
	refused(&travelv1.PrepareRemainsRequest{Count: 1, Value: 9, Carrier: "Ada"}, "TOO_DARK", "")
	refused(&travelv1.TakeTurnRequest{Trigger: "activity"}, "TOO_DARK", "")
	refused(&travelv1.LightRequest{Kind: "torch"}, "NO_SPARE", "kind")
	step(&travelv1.AdjustRequest{Reason: "a glow-worm", Light: &travelv1.Light{Kind: "lantern", Sides: 4}})
	if step(&travelv1.PrepareRemainsRequest{Count: 1, Value: 9, Carrier: "Ada"}, 1, 6); len(now.GetCargo()) != 1 || now.GetCargo()[0].GetValue() != 9 || !now.GetDark() || now.GetTurn() != 6 {
		t.Errorf("the pelt: %v", now)
	}
	// In the dark nothing but the way back, with encounters on 1 to 3.
	if o := step(&travelv1.RetreatRequest{}, 3, 2, 6, 6, 1); !o.GetDark() || now.GetRoom() != "bend" || now.GetEncounter().GetPlayers() != "impaired" || now.GetEncounter().GetNpcs() != "enhanced" {
		t.Errorf("the way back: %v, %v", o, now)
	}
	step(&travelv1.TakeTurnRequest{Trigger: "combat"}, 4)
	refused(&travelv1.LeaveLocationRequest{}, "NOT_AT_EXIT", "")
	step(&travelv1.RetreatRequest{}, 4)
	refused(&travelv1.RetreatRequest{}, "AT_EXIT", "")
	step(&travelv1.LeaveLocationRequest{})
	if now.GetInside() != "" || now.GetTurn() != 9 || now.GetRound() != 0 {
		t.Errorf("outside: %v", now)
	}
}
