package integration_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/testing/protocmp"

	dungeonv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dungeon/v1"

	"github.com/wayfarer-rpg/wayfarer/rules/digger"
)

// An entry of the shipped file goes into the request as it stands (DIG-CMD-01: number, name and type are listed).
func TestTheShippedDungeonsAreImportedAsTheyAre(t *testing.T) {
	t.Parallel()
	n := newWorld(t).node()
	var file struct {
		Dungeons []json.RawMessage `json:"dungeons"`
	}
	if err := json.Unmarshal(digger.ShippedDungeonsDocument(), &file); err != nil {
		t.Fatal(err)
	}
	var want []*dungeonv1.DungeonDefinition
	for _, raw := range file.Dungeons {
		req := &dungeonv1.ImportDungeonRequest{}
		if err := protojson.Unmarshal([]byte(`{"parent": "`+camp+`", "dungeon": `+string(raw)+`}`), req); err != nil {
			t.Fatal(err)
		}
		if got := do[*dungeonv1.ValidateDungeonResponse](n, gm, &dungeonv1.ValidateDungeonRequest{Parent: camp, Dungeon: req.GetDungeon()}); !got.GetValid() || len(got.GetWarnings()) > 0 {
			t.Errorf("%s: %v", req.GetDungeon().GetId(), got)
		}
		do[*dungeonv1.ImportDungeonResponse](n, gm, req)
		want = append([]*dungeonv1.DungeonDefinition{req.GetDungeon()}, want...) // newest first
	}
	var got []*dungeonv1.DungeonDefinition
	token := ""
	for { // in pages of two
		page := do[*dungeonv1.ListDungeonsResponse](n, gm, &dungeonv1.ListDungeonsRequest{Parent: camp, PageSize: 2, PageToken: token})
		for _, d := range page.GetDungeons() {
			got = append(got, d.GetDefinition())
		}
		if token = page.GetNextPageToken(); token == "" {
			break
		}
	}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" || len(want) != 3 {
		t.Errorf("%d dungeons (-want +got):\n%s", len(want), diff)
	}
}

func TestARunKeepsTheRevisionThatItBeganWith(t *testing.T) {
	t.Parallel()
	n := newWorld(t).node().started()
	second := testDungeon()
	second.Name, second.Cards = "The Vault, again", second.GetCards()[:2]
	second.Cards = append(second.Cards, &dungeonv1.Card{Id: "end", Kind: "final", Ability: "wits", Level: 4, Conditions: []string{"wonder"}, Text: "Riddles."})
	if got := do[*dungeonv1.ImportDungeonResponse](n, gm, &dungeonv1.ImportDungeonRequest{Parent: camp, Dungeon: second}).GetDungeon(); got.GetRevision() != 2 {
		t.Errorf("revision %d", got.GetRevision())
	}
	for revision, want := range map[int32]*dungeonv1.DungeonDefinition{0: second, 1: testDungeon(), 2: second} {
		got := do[*dungeonv1.GetDungeonResponse](n, gm, &dungeonv1.GetDungeonRequest{Name: vault, Revision: revision}).GetDungeon()
		if diff := cmp.Diff(want, got.GetDefinition(), protocmp.Transform()); diff != "" {
			t.Errorf("revision %d (-want +got):\n%s", revision, diff)
		}
	}
	n.round(10, 10, 10)
	r := do[*dungeonv1.DrawResponse](n, gm, &dungeonv1.DrawRequest{Name: delve, Character: bram, ReportedDice: []int32{3}, Etag: n.run(gm).GetEtag()}).GetRun()
	if r.GetRevision() != 1 || r.GetTitle() != "The Vault" || r.GetChallenge().GetCard() != "n3" {
		t.Errorf("played: %v", r)
	}
}

func TestDungeonsThatCannotBePlayed(t *testing.T) {
	t.Parallel()
	n := newWorld(t).node().begin()
	before := n.seqs()
	for name, tc := range map[string]struct {
		change func(d *dungeonv1.DungeonDefinition)
		fields string
	}{
		"an unknown condition": {func(d *dungeonv1.DungeonDefinition) { d.Cards[1].Conditions = []string{"tire", "itch"} }, "dungeon.cards[1].conditions[1]"},
		"level 0":              {func(d *dungeonv1.DungeonDefinition) { d.Cards[3].Level = 0 }, "dungeon.cards[3].level"},
		"level 5":              {func(d *dungeonv1.DungeonDefinition) { d.Cards[3].Level = 5 }, "dungeon.cards[3].level"},
		"no conditions":        {func(d *dungeonv1.DungeonDefinition) { d.Cards[2].Conditions = nil }, "dungeon.cards[2].conditions"},
		"a kind of its own":    {func(d *dungeonv1.DungeonDefinition) { d.Cards[1].Kind = "boss" }, "dungeon.cards[1].kind"},
		"an unknown ability":   {func(d *dungeonv1.DungeonDefinition) { d.Cards[0].Ability = "charm" }, "dungeon.cards[0].ability"},
		"no final":             {func(d *dungeonv1.DungeonDefinition) { d.Cards = d.GetCards()[:4] }, "dungeon.cards"},
		"no entry":             {func(d *dungeonv1.DungeonDefinition) { d.Cards = d.GetCards()[1:] }, "dungeon.cards"},
		"an unknown type":      {func(d *dungeonv1.DungeonDefinition) { d.Type = "shop" }, "dungeon.type"},
		"an id twice":          {func(d *dungeonv1.DungeonDefinition) { d.Cards[2].Id = "n1" }, "dungeon.cards[2].id"},
		"an id with a slash":   {func(d *dungeonv1.DungeonDefinition) { d.Id = "a/b" }, "dungeon.id"},
		"everything at once": {
			func(d *dungeonv1.DungeonDefinition) { d.Name, d.Cards[0].Text, d.Cards[1].Level = "", "", 9 },
			"dungeon.name,dungeon.cards[0].text,dungeon.cards[1].level",
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := testDungeon()
			tc.change(d)
			_, err := n.try(gm, &dungeonv1.ImportDungeonRequest{Parent: camp, Dungeon: d})
			refusal{codes.InvalidArgument, "INVALID_DUNGEON", tc.fields}.check(t, err)
			told := do[*dungeonv1.ValidateDungeonResponse](n, gm, &dungeonv1.ValidateDungeonRequest{Parent: camp, Dungeon: d})
			fields := ""
			for i, v := range told.GetViolations() {
				if i > 0 {
					fields += ","
				}
				fields += v.GetField()
				if v.GetReason() == "" || v.GetDescription() == "" {
					t.Errorf("%v does not say what is wrong", v)
				}
			}
			if told.GetValid() || fields != tc.fields {
				t.Errorf("validated as %v with %q, want %q", told.GetValid(), fields, tc.fields)
			}
			if diff := cmp.Diff(before, n.seqs()); diff != "" {
				t.Errorf("the journal changed: %s", diff)
			}
		})
	}
	// What is unusual for its type can be played all the same (DIG-TYPE-05).
	odd := testDungeon()
	odd.Cards[1].Level = 4
	told := do[*dungeonv1.ValidateDungeonResponse](n, gm, &dungeonv1.ValidateDungeonRequest{Parent: camp, Dungeon: odd})
	if !told.GetValid() || len(told.GetWarnings()) != 1 || told.GetWarnings()[0].GetField() != "dungeon.cards[1].level" {
		t.Errorf("a level 4 card in a ruin: %v", told)
	}
	do[*dungeonv1.ImportDungeonResponse](n, gm, &dungeonv1.ImportDungeonRequest{Parent: camp, Dungeon: odd})
}

func TestRefusedDefinitionCalls(t *testing.T) {
	t.Parallel()
	n := newWorld(t).node().begin()
	imported := &dungeonv1.ImportDungeonRequest{Parent: camp, Dungeon: testDungeon()}
	for _, who := range []string{adas, spectator, bot} {
		_, err := n.try(who, with(imported, func(r *dungeonv1.ImportDungeonRequest) { r.RequestId = "by-" + who }))
		refusal{codes.PermissionDenied, "NOT_GM", ""}.check(t, err)
	}
	_, err := n.try(stranger, with(imported, func(r *dungeonv1.ImportDungeonRequest) { r.RequestId = "by-stranger" }))
	refusal{codes.NotFound, "NOT_FOUND", ""}.check(t, err)
	_, err = n.try(gm, &dungeonv1.ImportDungeonRequest{Parent: camp})
	refusal{codes.InvalidArgument, "INVALID", "dungeon"}.check(t, err)
	_, err = n.try(gm, &dungeonv1.ImportDungeonRequest{Parent: camp, Dungeon: testDungeon(), Etag: "old"})
	refusal{codes.Aborted, "ETAG_MISMATCH", "etag"}.check(t, err)
	_, err = n.try(gm, &dungeonv1.GetDungeonRequest{Name: vault, Revision: 2})
	refusal{codes.NotFound, "NOT_FOUND", "revision"}.check(t, err)
	_, err = n.try(gm, &dungeonv1.GetDungeonRequest{Name: camp + "/dungeons/none"})
	refusal{codes.NotFound, "NOT_FOUND", "name"}.check(t, err)
	_, err = n.try(stranger, &dungeonv1.GetDungeonRequest{Name: vault})
	refusal{codes.NotFound, "NOT_FOUND", ""}.check(t, err)
	_, err = n.try(gm, &dungeonv1.ListDungeonsRequest{Parent: camp, PageSize: -1})
	refusal{codes.InvalidArgument, "INVALID", "page_size"}.check(t, err)
	_, err = n.try(stranger, &dungeonv1.ListDungeonsRequest{Parent: camp})
	refusal{codes.NotFound, "NOT_FOUND", ""}.check(t, err)
	if got := n.seqs()[vault]; got != 1 {
		t.Errorf("%d records", got)
	}
}
