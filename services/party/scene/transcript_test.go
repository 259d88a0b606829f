package scene_test

import (
	"maps"
	"os"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/structpb"

	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"

	"github.com/wayfarer-rpg/wayfarer/rules/dangerworld"
	"github.com/wayfarer-rpg/wayfarer/rules/play/transcript"
)

// player plays a transcript through the RPCs as a GM with reported dice.
type player struct {
	*node
	scene *partyv1.Scene
	check string
}

func (p *player) sheet() *partyv1.ScenePlayer { return p.scene.GetPlayers()[0] }

// command gives a request the etag of the present state, makes the call and keeps the scene after it.
func command[R interface {
	proto.Message
	GetScene() *partyv1.Scene
}](p *player, req proto.Message) R {
	p.client.t.Helper()
	m := req.ProtoReflect()
	fd := m.Descriptor().Fields().ByName("etag")
	m.Set(fd, protoreflect.ValueOfString(p.scene.GetEtag()))
	res := do[R](p.client, gm, req)
	p.scene = res.GetScene()
	return res
}

func i32s(in []int) []int32 {
	out := make([]int32, len(in)) // present, also when there are none: then the rules may ask for no die
	for i, n := range in {
		out[i] = int32(n) //nolint:gosec // faces
	}
	return out
}

func (p *player) step(op dangerworld.Operation) any {
	p.client.t.Helper()
	switch op.Op {
	case dangerworld.OpCheck:
		return p.checkStep(op)
	case dangerworld.OpSpendBotches:
		req := &partyv1.SpendBotchesRequest{Name: p.check, ReportedDice: i32s(op.InjuryD12)}
		for _, x := range op.Items {
			item := &partyv1.BotchPurchase{Buy: x.Buy, Challenge: x.Challenge}
			if x.Difficulty != nil {
				item.Difficulty = proto.Int32(int32(*x.Difficulty)) //nolint:gosec // small
			}
			req.Items = append(req.Items, item)
		}
		res := command[*partyv1.SpendBotchesResponse](p, req)
		out := dangerworld.SpendView{Bought: []string{}, Harm: harm(res.GetEvents())}
		for _, e := range res.GetEvents() {
			if b := e.GetBotchesSpent(); b != nil {
				out.Spent, out.Bought = int(b.GetSpent()), b.GetBought()
			}
		}
		return out
	case dangerworld.OpCloseCheck:
		res := command[*partyv1.CloseCheckResponse](p, &partyv1.CloseCheckRequest{Name: p.check})
		return dangerworld.CloseView{Lapsed: int(res.GetEvents()[0].GetCheckClosed().GetLapsed())}
	case dangerworld.OpRaiseDanger:
		res := command[*partyv1.RaiseDangerResponse](p, &partyv1.RaiseDangerRequest{
			Name: ball, Character: ada, Steps: int32(*op.Amount), ReportedDice: i32s(op.InjuryD12), //nolint:gosec // small
		})
		return dangerworld.HarmView{Harm: harm(res.GetEvents())}
	case dangerworld.OpEndEncounter:
		command[*partyv1.EndEncounterResponse](p, &partyv1.EndEncounterRequest{Name: ball})
	case dangerworld.OpLongTermRest:
		command[*partyv1.LongTermRestResponse](p, &partyv1.LongTermRestRequest{Name: ball})
	}
	return struct{}{}
}

func (p *player) checkStep(op dangerworld.Operation) any {
	p.client.t.Helper()
	check := command[*partyv1.OpenCheckResponse](p, &partyv1.OpenCheckRequest{
		Parent: ball, Character: ada, Challenge: op.Challenge, Stat: op.Stat.Name, AspectFp: int32(op.AspectFP), NegativeFp: int32(op.NegativeFP), //nolint:gosec // small
		BonusDice: int32(op.BonusDice), DangerDice: int32(op.DangerDice), //nolint:gosec // small
	}).GetCheck()
	p.check = check.GetName()
	for i, roll := range op.Rolls {
		if i == 0 {
			command[*partyv1.RollCheckResponse](p, &partyv1.RollCheckRequest{Name: p.check, ReportedDice: i32s(roll.Faces)})
			continue
		}
		command[*partyv1.RerollCheckResponse](p, &partyv1.RerollCheckRequest{Name: p.check, Lock: roll.Lock, ReportedDice: i32s(roll.Faces)})
	}
	claim := &partyv1.ClaimSetRequest{Name: p.check, ReportedDice: i32s(op.InjuryD12)}
	if op.Claim != nil && op.Claim.None {
		claim.Claim = &partyv1.ClaimSetRequest_None{None: true}
	} else if op.Claim != nil && op.Claim.Height > 0 {
		claim.Claim = &partyv1.ClaimSetRequest_Height{Height: int32(op.Claim.Height)} //nolint:gosec // small
	}
	for _, height := range slices.Sorted(maps.Keys(op.Cancel)) {
		claim.Cancel = append(claim.Cancel, &partyv1.Cancellation{Height: int32(height), Dice: op.Cancel[height]}) //nolint:gosec // small
	}
	return checkView(command[*partyv1.ClaimSetResponse](p, claim).GetCheck())
}

func checkView(c *partyv1.Check) dangerworld.CheckView {
	out := dangerworld.CheckView{
		Pool:  dangerworld.Pool{Normal: int(c.GetPool().GetNormal()), Danger: int(c.GetPool().GetDanger()), Penalty: int(c.GetPool().GetPenalty())},
		Rolls: []dangerworld.RollView{}, Sets: []dangerworld.SetView{}, Botches: int(c.GetBotches()), Success: c.GetOutcome().GetSuccess(),
		BonusGained: int(c.GetOutcome().GetBonusDiceGained()), DangerSteps: int(c.GetOutcome().GetDangerSteps()), Harm: reached(c.GetOutcome().GetHarm()),
	}
	for _, r := range c.GetRolls() {
		roll := dangerworld.RollView{Rolled: r.GetRolled(), Locked: append([]string{}, r.GetLocked()...), Faces: map[string]int{}}
		for _, f := range r.GetFaces() {
			roll.Faces[f.GetDie()] = int(f.GetFace())
		}
		out.Rolls = append(out.Rolls, roll)
	}
	for _, s := range c.GetSets() {
		set := dangerworld.SetView{
			Height: int(s.GetHeight()), Width: int(s.GetWidth()), Normal: int(s.GetNormal()), Danger: int(s.GetDanger()),
			Cancelled: append([]string{}, s.GetCancelled()...), Triggers: s.GetTriggers(), Accomplishment: s.Accomplishment, DangerCost: number(s.DangerCost),
		}
		out.Sets = append(out.Sets, set)
	}
	out.Claimed = number(c.GetOutcome().Claimed)
	return out
}

func number(n *int32) *int {
	if n == nil {
		return nil
	}
	i := int(*n)
	return &i
}

func reached(list []*partyv1.HarmReached) []dangerworld.Harm {
	out := []dangerworld.Harm{}
	for _, h := range list {
		out = append(out, dangerworld.Harm{Level: int(h.GetLevel()), Kind: h.GetHarm(), Stat: h.GetStat()})
	}
	return out
}

func harm(events []*partyv1.SceneEvent) []dangerworld.Harm {
	var all []*partyv1.HarmReached
	for _, e := range events {
		all = append(all, e.GetSheetChanged().GetHarm()...)
	}
	return reached(all)
}

var statusWords = map[partyv1.Challenge_Status]string{
	partyv1.Challenge_STATUS_OPEN: "OPEN", partyv1.Challenge_STATUS_BLOCKED: "BLOCKED", partyv1.Challenge_STATUS_PENDING: "PENDING",
	partyv1.Challenge_STATUS_DONE: "DONE",
}

func (p *player) state() dangerworld.StateView {
	x := p.sheet()
	s := x.GetSheet()
	out := dangerworld.StateView{
		FP: int(s.GetFp()), BonusDice: int(x.GetBonusDice()), Points: int(s.GetDangerPoints()), Level: int(x.GetDangerLevel()), Harm: x.GetHarm(),
		Bashed: int(s.GetBashed()), Stunned: int(s.GetStunned()), KO: s.GetKnockedOut(), Dead: s.GetDead(), Reductions: map[string]int{},
		Unspent: int(p.scene.GetBankedBotches()), Challenges: map[string]dangerworld.ChallengeView{},
	}
	for name, n := range s.GetStatReductions() {
		out.Reductions[name] = int(n)
	}
	for _, c := range p.scene.GetChecks() {
		out.Unspent += int(c.GetUnspentBotches())
	}
	for _, c := range p.scene.GetChallenges() {
		out.Challenges[c.GetName()] = dangerworld.ChallengeView{
			Difficulty: int(c.GetDifficulty()), Penalty: int(c.GetPenalty()), Status: statusWords[c.GetStatus()],
		}
	}
	return out
}

func TestTranscripts(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../../rules/dangerworld/testdata/transcripts.json")
	if err != nil {
		t.Fatal(err)
	}
	file, err := dangerworld.ParseTranscripts(raw)
	if err != nil {
		t.Fatal(err)
	}
	if len(file.Transcripts) != 6 {
		t.Fatalf("%d transcripts", len(file.Transcripts))
	}
	for _, tr := range file.Transcripts {
		t.Run(tr.ID, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			if len(tr.Params) > 0 {
				set, err := structpb.NewStruct(tr.Params)
				if err != nil {
					t.Fatal(err)
				}
				do[*partyv1.OverrideRulesetResponse](w.party, gm, &partyv1.OverrideRulesetRequest{Name: camp + "/rulesets/danger-world", Set: set})
			}
			sheet := scenesheet(tr.Setup.Sheet())
			do[*partyv1.SetDangerSheetResponse](w.party, gm, &partyv1.SetDangerSheetRequest{Name: ada, DangerSheet: sheet})
			p := &player{node: w.node()}
			p.scene = do[*partyv1.CreateSceneResponse](p.client, gm, &partyv1.CreateSceneRequest{Parent: camp, SceneId: "ball", Characters: []string{ada}}).GetScene()
			for _, name := range slices.Sorted(maps.Keys(tr.Setup.Challenges)) {
				c := tr.Setup.Challenges[name]
				command[*partyv1.CreateChallengeResponse](p, &partyv1.CreateChallengeRequest{
					Name: ball, Challenge: name, Difficulty: int32(c.Difficulty), Penalty: int32(c.Penalty), //nolint:gosec // small
				})
			}
			played := transcript.Played{ID: tr.ID, Want: tr.Expected}
			for _, op := range tr.Steps {
				result := p.step(op)
				played.Add(dangerworld.StepView{Result: result, State: p.state()})
			}
			if err := transcript.Check([]transcript.Played{played}); err != nil {
				t.Error(err)
			}
		})
	}
}

func scenesheet(s dangerworld.Sheet) *partyv1.DangerSheet {
	out := &partyv1.DangerSheet{Stats: map[string]int32{}, Fp: proto.Int32(int32(s.FP)), DangerPoints: int32(s.Points)} //nolint:gosec // small
	for name, n := range s.Stats {
		out.Stats[name] = int32(n) //nolint:gosec // small
	}
	for _, n := range s.Bonus {
		out.BonusDice = append(out.BonusDice, int32(n)) //nolint:gosec // small
	}
	return out
}
