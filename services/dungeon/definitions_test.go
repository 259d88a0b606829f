package dungeon_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	dungeonv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dungeon/v1"
)

// drop takes the cards of a kind out.
func drop(d *dungeonv1.DungeonDefinition, kind string) {
	var left []*dungeonv1.Card
	for _, c := range d.GetCards() {
		if c.GetKind() != kind {
			left = append(left, c)
		}
	}
	d.Cards = left
}

func TestWhatCannotBePlayedIsNotImported(t *testing.T) {
	t.Parallel()
	n := newWorld(t).node()
	for name, tt := range map[string]struct {
		change func(d *dungeonv1.DungeonDefinition)
		fields string
		reason string // of the first
	}{
		"a condition that there is not": {func(d *dungeonv1.DungeonDefinition) { d.Cards[3].Conditions = []string{"treasure", "gloom"} }, "dungeon.cards[3].conditions[1]", "UNKNOWN_CONDITION"},
		"no condition":                  {func(d *dungeonv1.DungeonDefinition) { d.Cards[2].Conditions = nil }, "dungeon.cards[2].conditions", "NO_CONDITIONS"},
		"level 0":                       {func(d *dungeonv1.DungeonDefinition) { d.Cards[0].Level = 0 }, "dungeon.cards[0].level", "LEVEL_OUT_OF_RANGE"},
		"level 5":                       {func(d *dungeonv1.DungeonDefinition) { d.Cards[12].Level = 5 }, "dungeon.cards[12].level", "LEVEL_OUT_OF_RANGE"},
		"no final":                      {func(d *dungeonv1.DungeonDefinition) { drop(d, "final") }, "dungeon.cards", "MISSING_FINAL"},
		"no entry":                      {func(d *dungeonv1.DungeonDefinition) { drop(d, "entry") }, "dungeon.cards", "MISSING_ENTRY"},
		"no normal card":                {func(d *dungeonv1.DungeonDefinition) { drop(d, "normal") }, "dungeon.cards", "MISSING_NORMAL"},
		"no cards":                      {func(d *dungeonv1.DungeonDefinition) { d.Cards = nil }, "dungeon.cards,dungeon.cards,dungeon.cards", "MISSING_ENTRY"},
		"no id":                         {func(d *dungeonv1.DungeonDefinition) { d.Id = "" }, "dungeon.id", "BAD_ID"},
		"an id with a slash":            {func(d *dungeonv1.DungeonDefinition) { d.Id = "a/b" }, "dungeon.id", "BAD_ID"},
		"no name":                       {func(d *dungeonv1.DungeonDefinition) { d.Name = "" }, "dungeon.name", "NAME_MISSING"},
		"a type that there is not":      {func(d *dungeonv1.DungeonDefinition) { d.Type = "attic" }, "dungeon.type", "UNKNOWN_TYPE"},
		"a negative number":             {func(d *dungeonv1.DungeonDefinition) { d.Number = -1 }, "dungeon.number", "BAD_NUMBER"},
		"a bonus beyond reason":         {func(d *dungeonv1.DungeonDefinition) { d.TnBonus.Final = 101 }, "dungeon.tn_bonus.final", "BONUS_OUT_OF_RANGE"},
		"a card without text":           {func(d *dungeonv1.DungeonDefinition) { d.Cards[1].Text = "" }, "dungeon.cards[1].text", "TEXT_MISSING"},
		"a kind that there is not":      {func(d *dungeonv1.DungeonDefinition) { d.Cards[1].Kind = "boss" }, "dungeon.cards[1].kind", "UNKNOWN_KIND"},
		"an ability that there is not":  {func(d *dungeonv1.DungeonDefinition) { d.Cards[1].Ability = "charm" }, "dungeon.cards[1].ability", "UNKNOWN_ABILITY"},
		"the same card twice":           {func(d *dungeonv1.DungeonDefinition) { d.Cards[1].Id = d.GetCards()[0].GetId() }, "dungeon.cards[1].id", "DUPLICATE_ID"},
		"10,000 cards": {func(d *dungeonv1.DungeonDefinition) {
			d.Cards = nil
			for i := range 10_000 {
				d.Cards = append(d.Cards, &dungeonv1.Card{Id: fmt.Sprintf("c-%d", i), Kind: "normal", Ability: "wits", Level: 1, Conditions: []string{"tire"}, Title: "x", Text: "x"})
			}
		}, "dungeon.cards", "TOO_MANY_CARDS"},
		"three faults at once": {func(d *dungeonv1.DungeonDefinition) {
			d.Name, d.Cards[4].Level, d.Cards[5].Conditions = "", 9, []string{"gloom"}
		}, "dungeon.name,dungeon.cards[4].level,dungeon.cards[5].conditions[0]", "NAME_MISSING"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := shipped("ostrell-granary")
			tt.change(d)
			_, err := n.call(gm, &dungeonv1.ImportDungeonRequest{Parent: camp, Dungeon: d})
			refusal{codes.InvalidArgument, "INVALID_DUNGEON", tt.fields}.check(t, err)
			res := do[*dungeonv1.ValidateDungeonResponse](n, adas, &dungeonv1.ValidateDungeonRequest{Parent: camp, Dungeon: d})
			var fields string
			for i, v := range res.GetViolations() {
				if i > 0 {
					fields += ","
				}
				fields += v.GetField()
			}
			if res.GetValid() || fields != tt.fields || res.GetViolations()[0].GetReason() != tt.reason || res.GetViolations()[0].GetDescription() == "" {
				t.Errorf("validated: %v", res)
			}
		})
	}
	t.Cleanup(func() {
		if got := n.seqs(); len(got) != 0 {
			t.Errorf("journaled: %v", got)
		}
	})
}

func TestWarningsForbidNothing(t *testing.T) {
	t.Parallel()
	n := newWorld(t).node()
	d := shipped("ostrell-granary")
	d.Cards[1].Level = 4
	res := do[*dungeonv1.ValidateDungeonResponse](n, spectator, &dungeonv1.ValidateDungeonRequest{Parent: camp, Dungeon: d})
	if !res.GetValid() || len(res.GetViolations()) != 0 || len(res.GetWarnings()) != 1 || res.GetWarnings()[0].GetField() != "dungeon.cards[1].level" {
		t.Errorf("validated: %v", res)
	}
	do[*dungeonv1.ImportDungeonResponse](n, gm, &dungeonv1.ImportDungeonRequest{Parent: camp, Dungeon: d})
}

func TestRevisions(t *testing.T) {
	t.Parallel()
	n := newWorld(t).node()
	first := shipped("ostrell-granary")
	one := do[*dungeonv1.ImportDungeonResponse](n, gm, &dungeonv1.ImportDungeonRequest{Parent: camp, Dungeon: first, RequestId: "one"})
	if d := one.GetDungeon(); d.GetName() != granary || d.GetRevision() != 1 || d.GetEtag() == "" || !proto.Equal(d.GetDefinition(), first) {
		t.Errorf("imported: %v", d)
	}
	do[*dungeonv1.StartRunResponse](n, adas, startDive())
	second := shipped("ostrell-granary")
	second.Name = "The Granary Rebuilt"
	two := do[*dungeonv1.ImportDungeonResponse](n, owner, &dungeonv1.ImportDungeonRequest{Parent: camp, Dungeon: second, Etag: one.GetDungeon().GetEtag()})
	if d := two.GetDungeon(); d.GetRevision() != 2 || d.GetDefinition().GetName() != "The Granary Rebuilt" {
		t.Errorf("imported again: %v", d)
	}
	if diff := cmp.Diff(one, do[*dungeonv1.ImportDungeonResponse](n, gm, &dungeonv1.ImportDungeonRequest{Parent: camp, Dungeon: first, RequestId: "one"}), protocmp.Transform()); diff != "" {
		t.Errorf("asked again (-first +this):\n%s", diff)
	}
	for revision, want := range map[int32]*dungeonv1.DungeonDefinition{0: second, 1: first, 2: second} {
		got := do[*dungeonv1.GetDungeonResponse](n, gm, &dungeonv1.GetDungeonRequest{Name: granary, Revision: revision}).GetDungeon()
		if diff := cmp.Diff(want, got.GetDefinition(), protocmp.Transform()); diff != "" {
			t.Errorf("revision %d (-want +got):\n%s", revision, diff)
		}
	}
	// A run stays with the revision it began with.
	if r := n.run(adas); r.GetRevision() != 1 || r.GetTitle() != first.GetName() {
		t.Errorf("the run is of revision %d, %q", r.GetRevision(), r.GetTitle())
	}
	for name, tt := range map[string]struct {
		req  proto.Message
		want refusal
	}{
		"a revision that there is not": {&dungeonv1.GetDungeonRequest{Name: granary, Revision: 3}, refusal{codes.NotFound, "NOT_FOUND", "revision"}},
		"a negative revision":          {&dungeonv1.GetDungeonRequest{Name: granary, Revision: -1}, refusal{codes.InvalidArgument, "INVALID", "revision"}},
		"a dungeon that there is not":  {&dungeonv1.GetDungeonRequest{Name: camp + "/dungeons/none"}, refusal{codes.NotFound, "NOT_FOUND", "name"}},
		"a page of -1":                 {&dungeonv1.ListDungeonsRequest{Parent: camp, PageSize: -1}, refusal{codes.InvalidArgument, "INVALID", "page_size"}},
		"a page of -1 of runs":         {&dungeonv1.ListRunsRequest{Parent: camp, PageSize: -1}, refusal{codes.InvalidArgument, "INVALID", "page_size"}},
		"a page token of nobody":       {&dungeonv1.ListDungeonsRequest{Parent: camp, PageToken: "x"}, refusal{codes.InvalidArgument, "PAGE_TOKEN", "page_token"}},
		"an import on a stale etag":    {&dungeonv1.ImportDungeonRequest{Parent: camp, Dungeon: first, Etag: one.GetDungeon().GetEtag()}, refusal{codes.Aborted, "ETAG_MISMATCH", "etag"}},
		"a request id used before":     {&dungeonv1.ImportDungeonRequest{Parent: camp, Dungeon: second, RequestId: "one"}, refusal{codes.InvalidArgument, "REQUEST_ID_REUSED", "request_id"}},
	} {
		t.Run(name, func(t *testing.T) {
			refusedCommand{who: gm, req: plain(tt.req), want: tt.want}.refuses(t, n)
		})
	}
}

func TestListsGoByPages(t *testing.T) {
	t.Parallel()
	n := newWorld(t).node()
	var want, got []string
	for i := range 5 {
		d := shipped("ostrell-granary")
		d.Id = fmt.Sprintf("ruin-%d", i)
		do[*dungeonv1.ImportDungeonResponse](n, gm, &dungeonv1.ImportDungeonRequest{Parent: camp, Dungeon: d})
		want = append([]string{camp + "/dungeons/" + d.GetId()}, want...) // newest first
	}
	req := &dungeonv1.ListDungeonsRequest{Parent: camp, PageSize: 2}
	for {
		res := do[*dungeonv1.ListDungeonsResponse](n, gm, req)
		if len(res.GetDungeons()) > 2 {
			t.Errorf("%d rows on a page of 2", len(res.GetDungeons()))
		}
		for _, d := range res.GetDungeons() {
			got = append(got, d.GetName())
			if len(d.GetDefinition().GetCards()) == 0 {
				t.Errorf("%s is listed without cards", d.GetName())
			}
		}
		if req.PageToken = res.GetNextPageToken(); req.GetPageToken() == "" {
			break
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
