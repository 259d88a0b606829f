package scene_test

import (
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"
)

// callers are who calls, in the order of the letters below: y succeeds or is refused by the rules, - is PERMISSION_DENIED,
// 0 is NOT_FOUND, ? is UNAUTHENTICATED. There is no check 2, so it is nobody's.
var callers = []string{gm, adas, brams, spectator, bot, stranger, ""}

var outcomes = map[byte]codes.Code{'-': codes.PermissionDenied, '0': codes.NotFound, '?': codes.Unauthenticated}

// rpcs has a row for each RPC but the watch, with a request about Ada's check, or that only GMs may make.
var rpcs = map[string]struct {
	req  proto.Message
	want string
}{
	"CreateScene":     {&partyv1.CreateSceneRequest{Parent: camp, Characters: []string{cleo}}, "y----0?"},
	"GetScene":        {&partyv1.GetSceneRequest{Name: ball}, "yyyyy0?"},
	"ListScenes":      {&partyv1.ListScenesRequest{Parent: camp}, "yyyyy0?"},
	"AddCharacter":    {&partyv1.AddCharacterRequest{Name: ball, Character: cleo}, "y----0?"},
	"RemoveCharacter": {&partyv1.RemoveCharacterRequest{Name: ball, Character: cleo}, "y----0?"},
	"CreateChallenge": {&partyv1.CreateChallengeRequest{Name: ball, Challenge: "gate", Difficulty: 2}, "y----0?"},
	"EditChallenge":   {&partyv1.EditChallengeRequest{Name: ball, Challenge: "gate"}, "y----0?"},
	"SetSheet":        {&partyv1.SetSheetRequest{Name: ball, Character: bram, Sheet: &partyv1.DangerSheet{}}, "y----0?"},
	"RaiseDanger":     {&partyv1.RaiseDangerRequest{Name: ball, Character: bram, Steps: 1}, "y----0?"},
	"SetDanger":       {&partyv1.SetDangerRequest{Name: ball, Character: bram, DangerPoints: 2}, "y----0?"},
	"EndEncounter":    {&partyv1.EndEncounterRequest{Name: ball}, "y----0?"},
	"LongTermRest":    {&partyv1.LongTermRestRequest{Name: ball, Characters: []string{bram}}, "y----0?"},
	"EndScene":        {&partyv1.EndSceneRequest{Name: fair}, "y----0?"},
	"OpenCheck":       {&partyv1.OpenCheckRequest{Parent: ball, Character: ada, Challenge: "nothing", Stat: "Cool"}, "yy--y0?"},
	"GetCheck":        {&partyv1.GetCheckRequest{Name: check(1)}, "yyyyy0?"},
	"ListChecks":      {&partyv1.ListChecksRequest{Parent: ball}, "yyyyy0?"},
	"PayNegative":     {&partyv1.PayNegativeRequest{Name: check(1), Fp: 1}, "y----0?"},
	"DeclineNegative": {&partyv1.DeclineNegativeRequest{Name: check(1)}, "yy--y0?"},
	"RollCheck":       {&partyv1.RollCheckRequest{Name: check(1)}, "yy--y0?"},
	"RerollCheck":     {&partyv1.RerollCheckRequest{Name: check(1), Lock: []string{"N9"}}, "yy--y0?"},
	"ClaimSet":        {&partyv1.ClaimSetRequest{Name: check(1), Claim: &partyv1.ClaimSetRequest_Height{Height: 6}}, "yy--y0?"},
	"SpendBotches":    {&partyv1.SpendBotchesRequest{Name: check(1), Items: []*partyv1.BotchPurchase{{Buy: "DANGER"}}}, "y----0?"},
	"NoteBenefit":     {&partyv1.NoteBenefitRequest{Name: check(1), Text: "They look away."}, "yy--y0?"},
	"CloseCheck":      {&partyv1.CloseCheckRequest{Name: check(2)}, "yyy-y0?"},
}

func TestWhoMayDoWhat(t *testing.T) {
	t.Parallel()
	methods := partyv1.File_wayfarer_party_v1_scene_proto.Services().Get(0).Methods()
	for i := range methods.Len() {
		if m := methods.Get(i); !m.IsStreamingServer() && rpcs[string(m.Name())].req == nil {
			t.Errorf("%s has no row", m.Name())
		}
	}
	n := newWorld(t).node()
	n.start(ada)
	n.rolled(2, 3, 4, 6)
	do[*partyv1.CreateSceneResponse](n.client, gm, &partyv1.CreateSceneRequest{Parent: camp, SceneId: "fair"})
	seq := func() int32 { return n.scene(ball).GetSeq() + n.scene(fair).GetSeq() }
	for name, row := range rpcs {
		for i, who := range callers {
			before := seq()
			_, err := n.call(who, proto.Clone(row.req))
			code := status.Code(err)
			want, denied := outcomes[row.want[i]]
			switch {
			case denied && code != want:
				t.Errorf("%s by %q: %v, want %v", name, who, err, want)
			case denied && seq() != before:
				t.Errorf("%s by %q is denied and changes the journal", name, who)
			case !denied && (code == codes.PermissionDenied || code == codes.Unauthenticated || code == codes.NotFound && name != "CloseCheck"):
				t.Errorf("%s by %q: %v", name, who, err)
			}
		}
	}
	// Bram's player is not Ada's; what is the GM's in a player's command is refused by its field.
	n.refused(brams, &partyv1.RollCheckRequest{Name: check(1)}, codes.PermissionDenied, "NOT_YOUR_CHARACTER", "")
	n.refused(adas, &partyv1.OpenCheckRequest{Parent: ball, Character: ada, Challenge: "gate", Stat: "Cool", NegativeFp: 1},
		codes.PermissionDenied, "NOT_GM", "negative_fp")
	n.refused(adas, &partyv1.RollCheckRequest{Name: check(1), ReportedDice: []int32{1}, Etag: "x"}, codes.PermissionDenied, "NOT_GM", "reported_dice")
	n.refused(adas, &partyv1.RollCheckRequest{Name: check(1), OverrideReason: "please"}, codes.PermissionDenied, "NOT_GM", "override_reason")
}

// Until the GM has spent the botches of a check, its player cannot let them lapse.
func TestBotchesAreTheGMs(t *testing.T) {
	t.Parallel()
	n := newWorld(t).node()
	n.start(ada)
	n.resolved(1, 1, 3, 4)
	n.refused(adas, &partyv1.CloseCheckRequest{Name: check(1)}, codes.FailedPrecondition, "BOTCHES_UNSPENT", "")
	n.refused(adas, &partyv1.OpenCheckRequest{Parent: ball, Character: ada, Challenge: "gate", Stat: "Agility"}, codes.FailedPrecondition, "BOTCHES_UNSPENT", "")
	spent := do[*partyv1.SpendBotchesResponse](n.client, gm, &partyv1.SpendBotchesRequest{
		Name: check(1), Items: []*partyv1.BotchPurchase{{Buy: "SETBACK_MINOR", Challenge: "a loose tile"}},
	})
	eq(t, "unspent", spent.GetCheck().GetUnspentBotches(), int32(0))
	eq(t, "setback of", spent.GetScene().GetChallenges()[1].GetSetbackOf(), "gate")
	eq(t, "gate", spent.GetScene().GetChallenges()[0].GetStatus(), partyv1.Challenge_STATUS_BLOCKED)
	do[*partyv1.OpenCheckResponse](n.client, adas, &partyv1.OpenCheckRequest{Parent: ball, Character: ada, Challenge: "a loose tile", Stat: "Agility"})
	eq(t, "check 1", do[*partyv1.GetCheckResponse](n.client, spectator, &partyv1.GetCheckRequest{Name: check(1)}).GetCheck().GetPhase(), partyv1.Check_PHASE_CLOSED)

	// The GM may end it all the same.
	do[*partyv1.CloseCheckResponse](n.client, gm, &partyv1.CloseCheckRequest{Name: check(2)})
}
