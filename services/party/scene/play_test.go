package scene_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/dicestream"
)

func TestRefusals(t *testing.T) {
	t.Parallel()
	n := newWorld(t).node()
	n.start(ada)
	n.rolled(2, 2, 4, 6)
	do[*partyv1.CreateChallengeResponse](n.client, gm, &partyv1.CreateChallengeRequest{Name: ball, Challenge: "duke", Difficulty: 6, Penalty: 1})
	for name, tt := range map[string]struct {
		req           proto.Message
		code          codes.Code
		reason, field string
	}{
		"a scene with somebody twice":        {&partyv1.CreateSceneRequest{Parent: camp, Characters: []string{bram, bram}}, codes.InvalidArgument, "INVALID", "characters"},
		"a scene with a stranger":            {&partyv1.CreateSceneRequest{Parent: camp, Characters: []string{other + "/characters/zed"}}, codes.NotFound, "NOT_FOUND", "characters[0]"},
		"a scene with nobody of that name":   {&partyv1.CreateSceneRequest{Parent: camp, Characters: []string{bram, camp + "/characters/dov"}}, codes.NotFound, "NOT_FOUND", "characters[1]"},
		"a scene with somebody sheetless":    {&partyv1.CreateSceneRequest{Parent: camp, Characters: []string{cleo}}, codes.FailedPrecondition, "NO_SHEET", "characters[0]"},
		"a scene with a wrong id":            {&partyv1.CreateSceneRequest{Parent: camp, SceneId: "No!"}, codes.InvalidArgument, "INVALID", "scene_id"},
		"a scene that is there":              {&partyv1.CreateSceneRequest{Parent: camp, SceneId: "ball"}, codes.AlreadyExists, "ALREADY_EXISTS", ""},
		"a scene with somebody in another":   {&partyv1.CreateSceneRequest{Parent: camp, SceneId: "late", Characters: []string{ada}}, codes.FailedPrecondition, "LEASED", ""},
		"adding somebody who is there":       {&partyv1.AddCharacterRequest{Name: ball, Character: ada}, codes.FailedPrecondition, "ALREADY_PRESENT", "character"},
		"adding somebody sheetless":          {&partyv1.AddCharacterRequest{Name: ball, Character: cleo}, codes.FailedPrecondition, "NO_SHEET", ""},
		"adding a stranger":                  {&partyv1.AddCharacterRequest{Name: ball, Character: other + "/characters/zed"}, codes.NotFound, "NOT_FOUND", "character"},
		"removing somebody who is not there": {&partyv1.RemoveCharacterRequest{Name: ball, Character: bram}, codes.FailedPrecondition, "NOT_PRESENT", "character"},
		"a challenge without difficulty":     {&partyv1.CreateChallengeRequest{Name: ball, Challenge: "trap"}, codes.InvalidArgument, "BAD_DIFFICULTY", "difficulty"},
		"a challenge that is too hard":       {&partyv1.CreateChallengeRequest{Name: ball, Challenge: "trap", Difficulty: 7}, codes.InvalidArgument, "BAD_DIFFICULTY", "difficulty"},
		"a challenge that is there":          {&partyv1.CreateChallengeRequest{Name: ball, Challenge: "gate", Difficulty: 2}, codes.FailedPrecondition, "NAME_TAKEN", "challenge"},
		"a challenge with a long name":       {&partyv1.CreateChallengeRequest{Name: ball, Challenge: strings.Repeat("x", 101), Difficulty: 2}, codes.InvalidArgument, "INVALID", "challenge"},
		"editing what is not there":          {&partyv1.EditChallengeRequest{Name: ball, Challenge: "trap"}, codes.FailedPrecondition, "NO_SUCH_CHALLENGE", "challenge"},
		"a sheet with an unknown stat":       {&partyv1.SetSheetRequest{Name: ball, Character: ada, Sheet: stats("Luck", 1)}, codes.InvalidArgument, "UNKNOWN_STAT", "sheet.stats"},
		"a sheet with a stat too high":       {&partyv1.SetSheetRequest{Name: ball, Character: ada, Sheet: stats("Cool", 11)}, codes.InvalidArgument, "INVALID", "sheet.stats"},
		"a sheet of somebody elsewhere":      {&partyv1.SetSheetRequest{Name: ball, Character: bram, Sheet: stats("Cool", 1)}, codes.FailedPrecondition, "NOT_PRESENT", "character"},
		"danger for somebody elsewhere":      {&partyv1.RaiseDangerRequest{Name: ball, Character: bram, Steps: 1}, codes.FailedPrecondition, "NOT_PRESENT", "character"},
		"no danger":                          {&partyv1.RaiseDangerRequest{Name: ball, Character: ada}, codes.InvalidArgument, "INVALID", "steps"},
		"points past the end":                {&partyv1.SetDangerRequest{Name: ball, Character: ada, DangerPoints: 56}, codes.InvalidArgument, "INVALID", "points"},
		"a rest of somebody elsewhere":       {&partyv1.LongTermRestRequest{Name: ball, Characters: []string{bram}}, codes.FailedPrecondition, "NOT_PRESENT", "characters[0]"},
		"a second check":                     {&partyv1.OpenCheckRequest{Parent: ball, Character: ada, Challenge: "gate", Stat: "Cool"}, codes.FailedPrecondition, "CHECK_UNDER_WAY", ""},
		"a check of nothing":                 {&partyv1.OpenCheckRequest{Parent: ball, Character: ada, Challenge: "trap", Stat: "Cool"}, codes.FailedPrecondition, "NO_SUCH_CHALLENGE", "challenge"},
		"a check with an unknown stat":       {&partyv1.OpenCheckRequest{Parent: ball, Character: ada, Challenge: "duke", Stat: "Luck"}, codes.InvalidArgument, "UNKNOWN_STAT", "stat"},
		"a check by somebody elsewhere":      {&partyv1.OpenCheckRequest{Parent: ball, Character: bram, Challenge: "gate", Stat: "Cool"}, codes.FailedPrecondition, "NOT_PRESENT", "character"},
		"a check with negative FP":           {&partyv1.OpenCheckRequest{Parent: ball, Character: ada, Challenge: "gate", Stat: "Cool", AspectFp: -1}, codes.InvalidArgument, "INVALID", "aspect_fp"},
		"rolling twice":                      {&partyv1.RollCheckRequest{Name: check(1)}, codes.FailedPrecondition, "ALREADY_ROLLED", ""},
		"rolling no check":                   {&partyv1.RollCheckRequest{Name: check(9)}, codes.FailedPrecondition, "NO_SUCH_CHECK", ""},
		"rolling a check by a wrong name":    {&partyv1.RollCheckRequest{Name: ball + "/checks/first"}, codes.InvalidArgument, "INVALID", "name"},
		"rolling in no scene":                {&partyv1.RollCheckRequest{Name: camp + "/scenes/none/checks/1"}, codes.NotFound, "NOT_FOUND", "name"},
		"locking a die that is not there":    {&partyv1.RerollCheckRequest{Name: check(1), Lock: []string{"N1", "P1"}}, codes.FailedPrecondition, "NO_SUCH_DIE", "lock[1]"},
		"locking everything":                 {&partyv1.RerollCheckRequest{Name: check(1), Lock: []string{"N1", "N2", "N3", "N4"}}, codes.FailedPrecondition, "NO_DIE_LEFT", ""},
		"danger dice too late":               {&partyv1.RerollCheckRequest{Name: check(1), DangerDice: 1}, codes.FailedPrecondition, "TOO_LATE", ""},
		"claiming what does not trigger":     {&partyv1.ClaimSetRequest{Name: check(1), Claim: &partyv1.ClaimSetRequest_Height{Height: 4}}, codes.FailedPrecondition, "NO_SUCH_SET", "height"},
		"giving up a die for nothing":        {&partyv1.ClaimSetRequest{Name: check(1), Cancel: []*partyv1.Cancellation{{Height: 2, Dice: []string{"N1"}}}}, codes.FailedPrecondition, "BAD_CANCEL", "cancel"},
		"giving up dice of a height twice":   {&partyv1.ClaimSetRequest{Name: check(1), Cancel: []*partyv1.Cancellation{{Height: 2}, {Height: 2}}}, codes.InvalidArgument, "INVALID", "cancel[1].height"},
		"spending before the claim":          {&partyv1.SpendBotchesRequest{Name: check(1), Items: []*partyv1.BotchPurchase{{Buy: "DANGER"}}}, codes.FailedPrecondition, "NOT_RESOLVED", ""},
		"spending on nothing":                {&partyv1.SpendBotchesRequest{Name: check(1)}, codes.InvalidArgument, "INVALID", "items"},
		"a benefit too early":                {&partyv1.NoteBenefitRequest{Name: check(1), Text: "x"}, codes.FailedPrecondition, "NO_BENEFIT", ""},
		"FP too late":                        {&partyv1.PayNegativeRequest{Name: check(1), Fp: 1}, codes.FailedPrecondition, "ALREADY_ROLLED", ""},
		"reading no check":                   {&partyv1.GetCheckRequest{Name: check(9)}, codes.NotFound, "NOT_FOUND", "name"},
		"reading no scene":                   {&partyv1.GetSceneRequest{Name: fair}, codes.NotFound, "NOT_FOUND", "name"},
		"a page of another list":             {&partyv1.ListChecksRequest{Parent: ball, PageToken: "next"}, codes.InvalidArgument, "INVALID", "page_token"},
		"reported dice without an etag":      {&partyv1.RerollCheckRequest{Name: check(1), ReportedDice: []int32{1, 2, 3, 4}}, codes.InvalidArgument, "ETAG_REQUIRED", "etag"},
		"a state that is gone":               {&partyv1.RerollCheckRequest{Name: check(1), Etag: "gone"}, codes.Aborted, "ETAG_MISMATCH", "etag"},
	} {
		before := n.scene(ball)
		n.refused(gm, tt.req, tt.code, tt.reason, tt.field)
		after := n.scene(ball)
		if strings.HasPrefix(name, "adding somebody sheetless") { // that one is journaled: somebody tried
			before.Seq, before.Etag = after.GetSeq(), after.GetEtag()
		}
		eq(t, name+" changes the scene", after, before)
	}
	etag := n.scene(ball).GetEtag()
	for _, faces := range [][]int32{{1, 2, 3}, {1, 2, 3, 4, 5}, {1, 2, 3, 7}} {
		n.refused(gm, &partyv1.RerollCheckRequest{Name: check(1), ReportedDice: faces, Etag: etag}, codes.InvalidArgument, "BAD_DICE", "reported_dice")
	}
	// After the end nothing is played any more.
	do[*partyv1.EndSceneResponse](n.client, gm, &partyv1.EndSceneRequest{Name: ball})
	n.refused(gm, &partyv1.ClaimSetRequest{Name: check(1)}, codes.FailedPrecondition, "SCENE_OVER", "")
	n.refused(gm, &partyv1.EndSceneRequest{Name: ball}, codes.FailedPrecondition, "SCENE_OVER", "")
}

// Dice come from the scene's stream under the number of the record, and anybody can recompute them after the end.
func TestDiceComeFromTheStream(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := w.node()
	n.start(ada)
	open := do[*partyv1.OpenCheckResponse](n.client, adas, &partyv1.OpenCheckRequest{Parent: ball, Character: ada, Challenge: "gate", Stat: "Agility", DangerDice: 1})
	roll := do[*partyv1.RollCheckResponse](n.client, adas, &partyv1.RollCheckRequest{Name: open.GetCheck().GetName()})
	stream := roll.GetScene().GetStream()
	faces, err := dicestream.NewSource(dicestream.Key(seedOf(stream), "", uint64(roll.GetRecord().GetSeq()))) //nolint:gosec // a record number
	if err != nil {
		t.Fatal(err)
	}
	if len(roll.GetRecord().GetDice()) != 5 {
		t.Fatalf("%d dice", len(roll.GetRecord().GetDice()))
	}
	for i, d := range roll.GetRecord().GetDice() {
		want, err := faces.Next(6)
		shown := roll.GetCheck().GetRolls()[0].GetFaces()[i]
		if err != nil || d.GetFace() != int32(want) || shown.GetFace() != int32(want) || d.GetReported() { //nolint:gosec // a face
			t.Errorf("die %d is %v and shows %v, want %d", i, d, shown, want)
		}
		eq(t, "purpose", d.GetPurpose(), "check 1/"+shown.GetDie())
	}
	if w.dice.isRevealed(stream) {
		t.Error("the seed is out during play")
	}
	do[*partyv1.EndSceneResponse](n.client, gm, &partyv1.EndSceneRequest{Name: ball})
	if !w.dice.isRevealed(stream) || !n.scene(ball).GetSettled() {
		t.Error("the seed is not out after the end")
	}
}

// The same request_id gets the first answer, to all kinds of command and from any replica; another request under it none.
func TestRepetitions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n, second := w.node(), w.node()
	create := &partyv1.CreateSceneRequest{Parent: camp, SceneId: "ball", Characters: []string{ada}, RequestId: "a"}
	requests := []struct {
		who string
		req proto.Message
	}{
		{gm, create},
		{gm, &partyv1.CreateChallengeRequest{Name: ball, Challenge: "gate", Difficulty: 2, RequestId: "b"}},
		{gm, &partyv1.AddCharacterRequest{Name: ball, Character: bram, RequestId: "c"}},
		{adas, &partyv1.OpenCheckRequest{Parent: ball, Character: ada, Challenge: "gate", Stat: "Agility", RequestId: "d"}},
		{adas, &partyv1.RollCheckRequest{Name: check(1), RequestId: "e"}},
		{adas, &partyv1.ClaimSetRequest{Name: check(1), RequestId: "f"}},
		{gm, &partyv1.RemoveCharacterRequest{Name: ball, Character: bram, RequestId: "g"}},
		{gm, &partyv1.EndSceneRequest{Name: ball, RequestId: "h"}},
	}
	var first []proto.Message
	for _, r := range requests {
		first = append(first, do[proto.Message](n.client, r.who, r.req))
	}
	seq := n.scene(ball).GetSeq()
	for i, r := range requests {
		for _, at := range []*node{n, second} {
			eq(t, fmt.Sprintf("%T again", r.req), do[proto.Message](at.client, r.who, r.req), first[i])
		}
	}
	eq(t, "records", second.scene(ball).GetSeq(), seq)
	n.refused(gm, &partyv1.CreateChallengeRequest{Name: ball, Challenge: "duke", Difficulty: 2, RequestId: "b"}, codes.InvalidArgument, "REQUEST_ID_REUSED", "request_id")
	n.refused(brams, requests[4].req, codes.InvalidArgument, "REQUEST_ID_REUSED", "request_id")
}

func TestListsAndWatch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := w.node()
	n.start(ada)
	for range 3 {
		n.resolved(2, 3, 4, 5)
	}
	page := do[*partyv1.ListChecksResponse](n.client, spectator, &partyv1.ListChecksRequest{Parent: ball, PageSize: 2})
	rest := do[*partyv1.ListChecksResponse](n.client, spectator, &partyv1.ListChecksRequest{Parent: ball, PageSize: 2, PageToken: page.GetNextPageToken()})
	var got []string
	for _, c := range slices.Concat(page.GetChecks(), rest.GetChecks()) {
		got = append(got, c.GetName()+" "+c.GetPhase().String())
	}
	eq(t, "checks", got, []string{check(3) + " PHASE_RESOLVED", check(2) + " PHASE_CLOSED", check(1) + " PHASE_CLOSED"})
	eq(t, "token", rest.GetNextPageToken(), "")
	eq(t, "open in the scene", len(n.scene(ball).GetChecks()), 1)

	do[*partyv1.CreateSceneResponse](n.client, gm, &partyv1.CreateSceneRequest{Parent: camp, SceneId: "fair", Title: "The Fair"})
	list := do[*partyv1.ListScenesResponse](n.client, spectator, &partyv1.ListScenesRequest{Parent: camp, PageSize: 1})
	eq(t, "newest", list.GetScenes()[0].GetTitle(), "The Fair")
	more := do[*partyv1.ListScenesResponse](n.client, spectator, &partyv1.ListScenesRequest{Parent: camp, PageSize: 1, PageToken: list.GetNextPageToken()})
	eq(t, "older", more.GetScenes()[0].GetName(), ball)

	ctx, cancel := context.WithCancel(as(t.Context(), spectator))
	defer cancel()
	watch, err := partyv1.NewSceneServiceClient(n.conn).WatchScene(ctx, &partyv1.WatchSceneRequest{Name: ball, FromSeq: 1})
	if err != nil {
		t.Fatal(err)
	}
	do[*partyv1.EndSceneResponse](w.node().client, gm, &partyv1.EndSceneRequest{Name: ball}) // by another replica
	var kinds []string
	for seq := int32(2); ; seq++ {
		res, err := watch.Recv()
		if err != nil {
			break // everything is given back: nothing follows
		}
		eq(t, "seq", res.GetRecord().GetSeq(), seq)
		for _, e := range res.GetEvents() {
			m := e.ProtoReflect()
			kinds = append(kinds, string(m.WhichOneof(m.Descriptor().Oneofs().Get(0)).Name()))
		}
	}
	one := []string{"check_opened", "check_rolled", "check_resolved"}
	closed := append([]string{"check_closed"}, one...)
	eq(t, "events", kinds, slices.Concat([]string{"started", "challenge_set"}, one, closed, closed, []string{"ended", "settled"}))
}

// A scene plays to its end by the ruleset of its beginning.
func TestTheRulesetIsFrozen(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := w.node()
	override := func(name string, v any) {
		t.Helper()
		set, err := structpb.NewStruct(map[string]any{name: v})
		if err != nil {
			t.Fatal(err)
		}
		do[*partyv1.OverrideRulesetResponse](w.party, gm, &partyv1.OverrideRulesetRequest{Name: camp + "/rulesets/danger-world", Set: set})
	}
	override("max_rerolls", 1)
	begun := n.start(ada)
	if begun.GetCampaignSeq() == 0 {
		t.Error("the scene does not tell by which campaign record it plays")
	}
	override("max_rerolls", 0)
	override("stat_max", 3)
	eq(t, "re-rolls", n.rolled(2, 3, 4, 5).GetRerollsLeft(), int32(1))
	do[*partyv1.RerollCheckResponse](n.client, adas, &partyv1.RerollCheckRequest{Name: check(1)})
	n.refused(adas, &partyv1.RerollCheckRequest{Name: check(1)}, codes.FailedPrecondition, "NO_REROLL_LEFT", "")
	do[*partyv1.EndSceneResponse](n.client, gm, &partyv1.EndSceneRequest{Name: ball})
	// Ada's Agility of 4 is too much for a scene that begins now: nothing is held, and the scene is in no list.
	n.refused(gm, &partyv1.CreateSceneRequest{Parent: camp, SceneId: "fair", Characters: []string{bram, ada}}, codes.InvalidArgument, "INVALID", "characters[1].stats")
	eq(t, "phase", n.scene(fair).GetPhase(), partyv1.Scene_PHASE_UNDONE)
	eq(t, "leases", len(n.party.character(bram).GetLeases())+len(n.party.character(ada).GetLeases()), 0)
	eq(t, "scenes", len(do[*partyv1.ListScenesResponse](n.client, gm, &partyv1.ListScenesRequest{Parent: camp}).GetScenes()), 1)
	// New characters' FP are the campaign's.
	override("fp_start", 2)
	do[*partyv1.SetDangerSheetResponse](w.party, brams, &partyv1.SetDangerSheetRequest{Name: cleo, DangerSheet: stats("Cool", 1)})
	eq(t, "FP", w.party.character(cleo).GetDangerSheet().GetFp(), int32(2))
}
