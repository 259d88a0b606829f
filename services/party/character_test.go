package party_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"
)

func (w *world) doCharacter(who string, req proto.Message) *partyv1.Character {
	w.t.Helper()
	return do[interface {
		proto.Message
		GetCharacter() *partyv1.Character
	}](w, who, req).GetCharacter()
}

func abilities(brute, agility, wits, combat int32) *partyv1.Abilities {
	return &partyv1.Abilities{Brute: brute, Agility: agility, Wits: wits, Combat: combat}
}

func tool(id, ability, rating, drawback string, qualities ...string) *partyv1.Tool {
	return &partyv1.Tool{Id: id, Title: "the " + id, Ability: ability, Rating: rating, Drawback: drawback, Qualities: qualities}
}

// TestACharacterFromApplicationToBelt goes the way of the demo: 48 points, abilities, the two tools of the first
// purchase for one price, one with qualities and one with a drawback, an early slot, chapters, and the belt.
func TestACharacterFromApplicationToBelt(t *testing.T) {
	t.Parallel()
	w := newWorld(t).begin() // chapter 3: four slots

	c := do[*partyv1.GetCharacterResponse](w, adas, &partyv1.GetCharacterRequest{Name: ada}).GetCharacter()
	want := &partyv1.Character{
		Name: ada, Title: "Ada", Owner: adas, Cp: 240, Dp: 48, ApplicationOpen: true, CurrentForm: "base", BeltSlots: 4, Seq: 1,
		Forms:  []*partyv1.Form{{Id: "base", Statblock: &partyv1.Statblock{Abilities: abilities(0, 0, 0, 0), DpFree: 48}}},
		Vitals: &partyv1.Vitals{Hp: 4, HpMax: 4, Str: 10, StrMax: 10}, Etag: c.GetEtag(), CreateTime: c.GetCreateTime(),
	}
	if diff := cmp.Diff(want, c, protocmp.Transform()); diff != "" {
		t.Fatalf("a new character (-want +got):\n%s", diff)
	}

	points := func(step string, c *partyv1.Character, spent, free int32) {
		t.Helper()
		s := c.GetForms()[0].GetStatblock()
		if s.GetDpSpent() != spent || s.GetDpFree() != free {
			t.Errorf("%s: %d spent, %d free, want %d and %d", step, s.GetDpSpent(), s.GetDpFree(), spent, free)
		}
	}
	points("abilities", w.doCharacter(adas, &partyv1.SetAbilitiesRequest{Name: ada, Abilities: abilities(5, 4, 4, 3)}), 41, 7)
	points("ratings fall again before approval", w.doCharacter(adas, &partyv1.SetAbilitiesRequest{Name: ada, Form: "base", Abilities: abilities(5, 4, 3, 3)}), 37, 11)
	c = w.doCharacter(adas, &partyv1.BuyToolsRequest{Name: ada, Tools: []*partyv1.Tool{
		tool("gauntlets", "brute", "major", "", "improved"),
		tool("censer", "wits", "minor", "sacrifice", "cleanse"),
	}})
	points("two tools for one price", c, 40, 8)
	points("a third at the full price", w.doCharacter(adas, &partyv1.BuyToolsRequest{Name: ada, Tools: []*partyv1.Tool{tool("grapple", "agility", "minor", "", "efficient", "rally")}}), 43, 5)
	points("an early slot, 5 in chapter 3", w.doCharacter(adas, &partyv1.BuyBeltSlotRequest{Name: ada}), 48, 0)
	for n := range int32(3) {
		w.doCharacter(adas, &partyv1.LoadToolRequest{Name: ada, Number: n + 1})
	}
	c = w.doCharacter(adas, &partyv1.UnloadToolRequest{Name: ada, Number: 3})
	want = &partyv1.Character{
		Name: ada, Title: "Ada", Owner: adas, Cp: 240, Dp: 48, ApplicationOpen: true, CurrentForm: "base", BeltSlots: 5, Seq: 10,
		EarlySlots: []*partyv1.EarlySlot{{Chapter: 3, Dp: 5}},
		Forms: []*partyv1.Form{{Id: "base", Statblock: &partyv1.Statblock{
			Abilities: abilities(5, 4, 3, 3), DpSpent: 48,
			Tools: []*partyv1.Tool{
				{Id: "gauntlets", Title: "the gauntlets", Ability: "brute", Rating: "major", Qualities: []string{"improved"}, Number: 1, Loaded: true, Uses: 2},
				{Id: "censer", Title: "the censer", Ability: "wits", Rating: "minor", Qualities: []string{"cleanse"}, Drawback: "sacrifice", Number: 2, Loaded: true, Uses: 3},
				{Id: "grapple", Title: "the grapple", Ability: "agility", Rating: "minor", Qualities: []string{"efficient", "rally"}, Number: 3, Uses: 4},
			},
		}}},
		Vitals: &partyv1.Vitals{Hp: 4, HpMax: 4, Str: 10, StrMax: 10}, Etag: c.GetEtag(), CreateTime: c.GetCreateTime(),
	}
	if diff := cmp.Diff(want, c, protocmp.Transform()); diff != "" {
		t.Fatalf("with tools and belt (-want +got):\n%s", diff)
	}

	// The run borrows what is loaded (DIG-TOOL-11).
	lent := do[*partyv1.TakeLeaseResponse](w, service, take(ada, loadout, run1)).GetLoadout()
	wantLent := &partyv1.LoadoutFacet{Owner: adas, Title: "Ada", Form: "base", Abilities: abilities(5, 4, 3, 3), Tools: want.GetForms()[0].GetStatblock().GetTools()[:2]}
	if diff := cmp.Diff(wantLent, lent, protocmp.Transform()); diff != "" {
		t.Errorf("loadout (-want +got):\n%s", diff)
	}
	for _, req := range []proto.Message{&partyv1.LoadToolRequest{Name: ada, Number: 3}, &partyv1.UnloadToolRequest{Name: ada, Number: 1}, &partyv1.SwitchFormRequest{Name: ada, Form: "base"}} {
		_, err := w.call(adas, req)
		refusal{codes.FailedPrecondition, "LEASED", "", map[string]string{"facet": "FACET_LOADOUT", "holder": run1}}.check(t, err)
	}
	do[*partyv1.ReturnLeaseResponse](w, service, give(ada, loadout, run1))

	// The next chapter refunds the early slot, which becomes the free one (DIG-BELT-05).
	w.doCampaign(gm, &partyv1.SetChapterRequest{Name: camp, Chapter: 4})
	c = do[*partyv1.GetCharacterResponse](w, adas, &partyv1.GetCharacterRequest{Name: ada}).GetCharacter()
	points("chapter 4", c, 43, 5)
	if c.GetBeltSlots() != 5 || len(c.GetEarlySlots()) != 0 {
		t.Errorf("chapter 4: %d slots, early %v", c.GetBeltSlots(), c.GetEarlySlots())
	}
	// What is earned later is kept (DIG-DP-05), and each statblock has all of it (DIG-CHAR-04).
	if c = w.doCharacter(gm, &partyv1.GrantPointsRequest{Name: ada, Cp: 14}); c.GetCp() != 254 || c.GetDp() != 50 {
		t.Errorf("after 14 CP: %d CP, %d DP", c.GetCp(), c.GetDp())
	}
	points("after 14 CP", c, 43, 7)
	w.doCharacter(adas, &partyv1.AddFormRequest{Name: ada, Form: "wolf"})
	c = w.doCharacter(adas, &partyv1.SetAbilitiesRequest{Name: ada, Form: "wolf", Abilities: abilities(6, 6, 3, 1)})
	if s := c.GetForms()[1].GetStatblock(); c.GetForms()[1].GetId() != "wolf" || s.GetDpSpent() != 49 || s.GetDpFree() != 1 {
		t.Errorf("the wolf: %v", c.GetForms()[1])
	}
	if c = w.doCharacter(adas, &partyv1.SwitchFormRequest{Name: ada, Form: "wolf"}); c.GetCurrentForm() != "wolf" {
		t.Errorf("current form %q", c.GetCurrentForm())
	}
	// Approval ends the application: ratings only rise, and the bonus is gone.
	if c = w.doCharacter(gm, &partyv1.ApproveCharacterRequest{Name: ada}); c.GetApplicationOpen() {
		t.Error("the application is still open")
	}
	_, err := w.call(adas, &partyv1.SetAbilitiesRequest{Name: ada, Form: "base", Abilities: abilities(4, 4, 3, 3)})
	refusal{codes.FailedPrecondition, "RATING_LOWERED", "", nil}.check(t, err)
}

// TestACharacterRecordNotesTheCampaignRecord: which chapter a purchase was decided by can be looked up for ever.
func TestACharacterRecordNotesTheCampaignRecord(t *testing.T) {
	t.Parallel()
	w := newWorld(t).begin()
	w.doCharacter(adas, &partyv1.SetAbilitiesRequest{Name: ada, Abilities: abilities(1, 0, 0, 0)})
	buy := &partyv1.BuyBeltSlotRequest{Name: ada}
	first := w.doCharacter(adas, buy)
	w.doCampaign(gm, &partyv1.SetChapterRequest{Name: camp, Chapter: 4})
	w.doCharacter(adas, &partyv1.SetAbilitiesRequest{Name: ada, Abilities: abilities(2, 0, 0, 0)})
	recs, err := w.store.Read(context.Background(), ada, 0, 10)
	if err != nil {
		t.Fatal(err)
	}
	var notes []string
	for _, r := range recs {
		notes = append(notes, r.Note)
	}
	if diff := cmp.Diff([]string{"campaign_seq=1", "campaign_seq=1", "campaign_seq=1", "campaign_seq=2"}, notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
	// So a repetition in a later chapter still gets the first answer, early slot and all.
	for _, at := range []*world{w, newWorldOn(t, w.store)} {
		if diff := cmp.Diff(first, at.doCharacter(adas, buy), protocmp.Transform()); diff != "" {
			t.Errorf("repeated in the next chapter (-first +again):\n%s", diff)
		}
	}
}

func TestCharacterRefusals(t *testing.T) {
	t.Parallel()
	w := newWorld(t).begin()
	w.doCharacter(adas, &partyv1.SetAbilitiesRequest{Name: ada, Abilities: abilities(4, 4, 4, 2)}) // 33
	w.doCharacter(adas, &partyv1.BuyToolsRequest{Name: ada, Tools: []*partyv1.Tool{tool("a", "brute", "minor", ""), tool("b", "agility", "minor", "")}})
	w.doCharacter(adas, &partyv1.BuyToolsRequest{Name: ada, Tools: []*partyv1.Tool{tool("c", "wits", "minor", "")}}) // 39
	w.doCharacter(adas, &partyv1.AddFormRequest{Name: ada, Form: "avatar", NoStatblock: true})
	w.doCharacter(adas, &partyv1.LoadToolRequest{Name: ada, Number: 1})
	// Bram has five tools and fills his belt.
	w.doCharacter(gm, &partyv1.GrantPointsRequest{Name: bram, Cp: 100})
	var five []*partyv1.Tool
	for _, id := range []string{"a", "b", "c", "d", "e"} {
		five = append(five, tool(id, "brute", "minor", ""))
	}
	w.doCharacter(brams, &partyv1.BuyToolsRequest{Name: bram, Tools: five})
	for n := range int32(4) {
		w.doCharacter(brams, &partyv1.LoadToolRequest{Name: bram, Number: n + 1})
	}
	w.doCharacter(cleos, &partyv1.BuyBeltSlotRequest{Name: cleo})
	w.doCharacter(gm, &partyv1.ApproveCharacterRequest{Name: cleo})

	w.doCharacter(gm, &partyv1.CreateCharacterRequest{Parent: camp, CharacterId: "poor", Title: "Poor", Cp: proto.Int32(20)})
	w.doCharacter(adas, &partyv1.AddFormRequest{Name: ada, Form: "bear", RequestId: "used"})

	buy := func(tools ...*partyv1.Tool) *partyv1.BuyToolsRequest {
		return &partyv1.BuyToolsRequest{Name: ada, Tools: tools}
	}
	refused := func(reason string) refusal { return refusal{code: codes.FailedPrecondition, reason: reason} }
	invalid := func(field string) refusal {
		return refusal{code: codes.InvalidArgument, reason: "INVALID", field: field}
	}
	for sentence, c := range map[string]struct {
		who  string
		req  proto.Message
		want refusal
	}{
		"ratings that cost more than there is": {adas, &partyv1.SetAbilitiesRequest{Name: ada, Abilities: abilities(5, 5, 4, 3)}, refusal{codes.InvalidArgument, "OVER_SPENT", "abilities", nil}},
		"more tools than the points buy":       {adas, buy(tool("x", "wits", "minor", ""), tool("y", "wits", "minor", ""), tool("z", "wits", "minor", ""), tool("q", "wits", "minor", "")), refusal{codes.InvalidArgument, "OVER_SPENT", "tools", nil}},
		"a tool for a fourth ability":          {adas, buy(tool("x", "combat", "minor", "")), refusal{codes.InvalidArgument, "TOO_MANY_TOOL_ABILITIES", "tools[0].ability", nil}},
		"cleanse without a drawback":           {adas, buy(tool("x", "wits", "minor", "", "cleanse")), refusal{codes.InvalidArgument, "CLEANSE_NEEDS_DRAWBACK", "tools[0].qualities[0]", nil}},
		"cleanse on a major tool":              {adas, buy(tool("x", "wits", "major", "sacrifice", "cleanse")), refusal{codes.InvalidArgument, "CLEANSE_NEEDS_MINOR", "tools[0].qualities[0]", nil}},
		"five tool points":                     {adas, buy(tool("x", "wits", "major", "", "improved", "rally")), refusal{codes.InvalidArgument, "TP_OVER_BUDGET", "tools[0]", nil}},
		"a quality twice":                      {adas, buy(tool("x", "wits", "minor", "", "improved", "improved")), refusal{codes.InvalidArgument, "REPEATED_QUALITY", "tools[0].qualities[1]", nil}},
		"a tool of that id":                    {adas, buy(tool("a", "wits", "minor", "")), refusal{codes.InvalidArgument, "TOOL_EXISTS", "tools[0].id", nil}},
		"tools for a form that there is not":   {adas, &partyv1.BuyToolsRequest{Name: ada, Form: "wolf", Tools: []*partyv1.Tool{tool("x", "wits", "minor", "")}}, refused("NO_SUCH_FORM")},
		"tools for a form without a statblock": {adas, &partyv1.BuyToolsRequest{Name: ada, Form: "avatar", Tools: []*partyv1.Tool{tool("x", "wits", "minor", "")}}, refused("NO_STATBLOCK")},
		"ratings for such a form":              {adas, &partyv1.SetAbilitiesRequest{Name: ada, Form: "avatar", Abilities: abilities(1, 1, 1, 1)}, refused("NO_STATBLOCK")},
		"a form again":                         {adas, &partyv1.AddFormRequest{Name: ada, Form: "base"}, refused("FORM_EXISTS")},
		"a form that there is not":             {adas, &partyv1.SwitchFormRequest{Name: ada, Form: "wolf"}, refused("NO_SUCH_FORM")},
		"a tool that there is not":             {adas, &partyv1.LoadToolRequest{Name: ada, Number: 9}, refused("NO_SUCH_TOOL")},
		"a tool that is loaded":                {adas, &partyv1.LoadToolRequest{Name: ada, Number: 1}, refused("ALREADY_LOADED")},
		"a tool that is not loaded":            {adas, &partyv1.UnloadToolRequest{Name: ada, Number: 2}, refused("NOT_LOADED")},
		"a fifth tool in four slots":           {brams, &partyv1.LoadToolRequest{Name: bram, Number: 5}, refused("BELT_FULL")},
		"a second early slot":                  {cleos, &partyv1.BuyBeltSlotRequest{Name: cleo}, refused("NO_EARLY_SLOT")},
		"an early slot that is too dear":       {gm, &partyv1.BuyBeltSlotRequest{Name: camp + "/characters/poor"}, refused("OVER_SPENT")},
		"approved twice":                       {gm, &partyv1.ApproveCharacterRequest{Name: cleo}, refused("APPROVED")},

		"a rating of 7":                    {adas, &partyv1.SetAbilitiesRequest{Name: ada, Abilities: abilities(7, 0, 0, 0)}, refusal{codes.InvalidArgument, "RATING_OUT_OF_RANGE", "abilities.brute", nil}},
		"a rating of -1":                   {adas, &partyv1.SetAbilitiesRequest{Name: ada, Abilities: abilities(0, 0, 0, -1)}, refusal{codes.InvalidArgument, "RATING_OUT_OF_RANGE", "abilities.combat", nil}},
		"an unknown quality":               {adas, buy(tool("x", "wits", "minor", "", "shiny")), refusal{codes.InvalidArgument, "UNKNOWN_QUALITY", "tools[0].qualities[0]", nil}},
		"an unknown drawback":              {adas, buy(tool("x", "wits", "minor", "heavy")), refusal{codes.InvalidArgument, "UNKNOWN_QUALITY", "tools[0].drawback", nil}},
		"an unknown ability":               {adas, buy(tool("x", "charm", "minor", "")), invalid("tools[0].ability")},
		"an unknown rating":                {adas, buy(tool("x", "wits", "epic", "")), invalid("tools[0].rating")},
		"a tool id with a slash":           {adas, buy(tool("x/y", "wits", "minor", "")), invalid("tools[0].id")},
		"no tools":                         {adas, buy(), invalid("tools")},
		"tool number 0":                    {adas, &partyv1.LoadToolRequest{Name: ada}, invalid("number")},
		"no abilities":                     {adas, &partyv1.SetAbilitiesRequest{Name: ada}, invalid("abilities")},
		"no points":                        {gm, &partyv1.GrantPointsRequest{Name: ada}, invalid("cp")},
		"strength above the most":          {gm, &partyv1.SetVitalsRequest{Name: ada, Vitals: &partyv1.Vitals{Str: 2, StrMax: 1}}, invalid("vitals.str")},
		"a character without a name":       {adas, &partyv1.CreateCharacterRequest{Parent: camp}, invalid("title")},
		"page_size -1":                     {adas, &partyv1.ListCharactersRequest{Parent: camp, PageSize: -1}, invalid("page_size")},
		"negative hit points":              {adas, &partyv1.CreateCharacterRequest{Parent: camp, Title: "x", Vitals: &partyv1.Vitals{Hp: -1, StrMax: 1}}, invalid("vitals.hp")},
		"the id of a character is taken":   {brams, &partyv1.CreateCharacterRequest{Parent: camp, CharacterId: "ada", Title: "Ada"}, refusal{code: codes.AlreadyExists, reason: "ALREADY_EXISTS"}},
		"for an owner without a role":      {gm, &partyv1.CreateCharacterRequest{Parent: camp, Title: "x", Owner: stranger}, refusal{codes.NotFound, "NOT_FOUND", "owner", nil}},
		"a player makes one for another":   {adas, &partyv1.CreateCharacterRequest{Parent: camp, Title: "x", Owner: brams}, refusal{codes.PermissionDenied, "NOT_GM", "owner", nil}},
		"a player begins with more points": {adas, &partyv1.CreateCharacterRequest{Parent: camp, Title: "x", Cp: proto.Int32(500)}, refusal{codes.PermissionDenied, "NOT_GM", "cp", nil}},
		"another's character":              {brams, &partyv1.LoadToolRequest{Name: ada, Number: 2}, refusal{code: codes.PermissionDenied, reason: "NOT_YOUR_CHARACTER"}},
		"another campaign's character":     {adas, &partyv1.GetCharacterRequest{Name: other + "/characters/zed"}, refusal{code: codes.NotFound, reason: "NOT_FOUND"}},
		"a character that there is not":    {adas, &partyv1.GetCharacterRequest{Name: camp + "/characters/none"}, refusal{code: codes.NotFound, reason: "NOT_FOUND"}},
		"a stale etag":                     {adas, &partyv1.LoadToolRequest{Name: ada, Number: 2, Etag: "1-00000000"}, refusal{codes.Aborted, "ETAG_MISMATCH", "etag", nil}},
		"a reused request_id":              {adas, &partyv1.LoadToolRequest{Name: ada, Number: 2, RequestId: "used"}, refusal{codes.InvalidArgument, "REQUEST_ID_REUSED", "request_id", nil}},
	} {
		t.Run(sentence, func(t *testing.T) {
			before := w.seqs()
			_, err := w.call(c.who, c.req)
			c.want.check(t, err)
			if diff := cmp.Diff(before, w.seqs()); diff != "" {
				t.Errorf("the journal has changed (-before +after):\n%s", diff)
			}
		})
	}
}

func TestCharactersAreListedByPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t).begin()
	req := &partyv1.ListCharactersRequest{Parent: camp, PageSize: 2}
	var names []string
	for {
		res := do[*partyv1.ListCharactersResponse](w, spectator, req)
		for _, c := range res.GetCharacters() {
			names = append(names, c.GetName())
		}
		if req.PageToken = res.GetNextPageToken(); req.GetPageToken() == "" {
			break
		}
	}
	if diff := cmp.Diff([]string{cleo, bram, ada}, names); diff != "" {
		t.Errorf("characters (-want +got):\n%s", diff)
	}
}

func TestAGMMakesACharacterForSomebody(t *testing.T) {
	t.Parallel()
	w := newWorld(t).begin()
	c := w.doCharacter(gm, &partyv1.CreateCharacterRequest{Parent: camp, Title: "Dame Ivy", Owner: adas, Cp: proto.Int32(254), Vitals: &partyv1.Vitals{Hp: 2, HpMax: 6, Str: 11, StrMax: 12}})
	if c.GetOwner() != adas || c.GetCp() != 254 || c.GetDp() != 50 || c.GetVitals().GetHpMax() != 6 {
		t.Errorf("character: %v", c)
	}
	w.doCharacter(adas, &partyv1.SetAbilitiesRequest{Name: c.GetName(), Abilities: abilities(1, 1, 1, 1)})
}
