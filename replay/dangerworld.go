package replay

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"
	typev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/type/v1"

	"github.com/wayfarer-rpg/wayfarer/rules/dangerworld"
	"github.com/wayfarer-rpg/wayfarer/rules/play"
	"github.com/wayfarer-rpg/wayfarer/rules/play/transcript"
)

func playDangerWorld(ctx context.Context, s *session, document []byte, _ Open) ([]transcript.Played, error) {
	file, err := dangerworld.ParseTranscripts(document)
	if err != nil {
		return nil, err
	}
	played := make([]transcript.Played, len(file.Transcripts))
	for i, t := range file.Transcripts {
		played[i] = s.dangerWorld(ctx, i, t)
	}
	return played, nil
}

func (s *session) dangerWorld(ctx context.Context, i int, t dangerworld.Transcript) transcript.Played {
	out := transcript.Played{ID: t.ID, Want: t.Expected}
	p := &sceneTable{session: s, Transcript: t}
	if err := p.begin(ctx, i); err != nil {
		out.Err = &transcript.Fault{Transcript: t.ID, Err: err}
		return out
	}
	defer p.end(ctx)
	for _, op := range t.Steps {
		result, err := p.step(ctx, op)
		if err != nil {
			out.Err = err
			return out
		}
		out.Add(dangerworld.StepView{Result: result, State: sceneView(p.scene)})
	}
	return out
}

// sceneTable is a transcript on its way through a server.
type sceneTable struct {
	*session
	dangerworld.Transcript
	character string
	scene     *partyv1.Scene
	check     *partyv1.Check // the last one
}

// begin overrides the campaign's rules, makes a character with the sheet and begins the scene with its challenges.
func (p *sceneTable) begin(ctx context.Context, i int) error {
	campaign, err := p.campaign(ctx, i, p.Title)
	if err != nil {
		return err
	}
	params, err := plainStruct(p.Params)
	if err != nil {
		return fmt.Errorf("params: %w", err)
	}
	if params != nil {
		rules := campaign + "/rulesets/danger-world"
		if err := p.post(ctx, rules+":override", &partyv1.OverrideRulesetRequest{Name: rules, Set: params}, &partyv1.Ruleset{}); err != nil {
			return fmt.Errorf("params: %w", err)
		}
	}
	p.character = character(campaign, 0)
	err = p.post(ctx, campaign+"/characters", &partyv1.CreateCharacterRequest{Parent: campaign, CharacterId: "member-1", Title: dangerworld.Player}, &partyv1.Character{})
	if err != nil {
		return err
	}
	err = p.post(ctx, p.character+":setDangerSheet", &partyv1.SetDangerSheetRequest{Name: p.character, DangerSheet: dangerSheet(p.Setup.Sheet())}, &partyv1.Character{})
	if err != nil {
		return fmt.Errorf("setup: %w", err)
	}
	res := &partyv1.CreateSceneResponse{}
	err = p.post(ctx, campaign+"/scenes", &partyv1.CreateSceneRequest{Parent: campaign, SceneId: "transcript", Characters: []string{p.character}}, res)
	if err != nil {
		return err
	}
	p.scene = res.GetScene()
	for _, name := range slices.Sorted(maps.Keys(p.Setup.Challenges)) {
		c := p.Setup.Challenges[name]
		_, err := p.command(ctx, p.scene.GetName(), ":createChallenge", &partyv1.CreateChallengeRequest{
			Name: p.scene.GetName(), Challenge: name, Difficulty: i32(c.Difficulty), Penalty: i32(c.Penalty),
		})
		if err != nil {
			return fmt.Errorf("setup: %w", err)
		}
	}
	return nil
}

// end ends the scene, so that nothing of a replay goes on. What was played stands whether or not this succeeds.
func (p *sceneTable) end(ctx context.Context) {
	_ = p.post(context.WithoutCancel(ctx), p.scene.GetName()+":end", &partyv1.EndSceneRequest{Name: p.scene.GetName()}, &partyv1.EndSceneResponse{})
}

// command sends a command for the present state, and keeps the state after it. Its dice are the reported ones, or none.
func (p *sceneTable) command(ctx context.Context, name, verb string, req proto.Message) (*partyv1.ClaimSetResponse, error) {
	m := req.ProtoReflect()
	m.Set(m.Descriptor().Fields().ByName("etag"), protoreflect.ValueOfString(p.scene.GetEtag()))
	res := &partyv1.ClaimSetResponse{} // all commands on scenes and checks answer alike
	if err := p.post(ctx, name+verb, req, res); err != nil {
		return nil, err
	}
	p.scene = res.GetScene()
	if c := res.GetCheck(); c != nil {
		p.check = c
	}
	return res, unreported(res.GetRecord())
}

// unreported refuses dice that the server rolled for want of reported ones.
func unreported(r *typev1.Record) error {
	for _, d := range r.GetDice() {
		if !d.GetReported() {
			return play.Refuse(play.BadDice, "too few dice: none reported, a d%d is needed", d.GetSides())
		}
	}
	return nil
}

func (p *sceneTable) step(ctx context.Context, op dangerworld.Operation) (any, error) {
	scene := p.scene.GetName()
	switch op.Op {
	case dangerworld.OpCheck:
		return p.checkStep(ctx, op)
	case dangerworld.OpSpendBotches:
		if len(op.Items) == 0 && len(op.InjuryD12) == 0 {
			return dangerworld.SpendView{Bought: []string{}, Harm: []dangerworld.Harm{}}, nil
		}
		return p.spend(ctx, op)
	case dangerworld.OpCloseCheck:
		// The botches of the last check lapse; there may be none any more.
		if p.check == nil || p.check.GetPhase() == partyv1.Check_PHASE_CLOSED {
			return dangerworld.CloseView{}, nil
		}
		res, err := p.command(ctx, p.check.GetName(), ":close", &partyv1.CloseCheckRequest{Name: p.check.GetName()})
		if err != nil {
			return nil, err
		}
		out := dangerworld.CloseView{}
		for _, e := range res.GetEvents() {
			out.Lapsed += int(e.GetCheckClosed().GetLapsed())
		}
		return out, nil
	case dangerworld.OpRaiseDanger:
		res, err := p.command(ctx, scene, ":raiseDanger", &partyv1.RaiseDangerRequest{
			Name: scene, Character: p.character, Steps: i32(*op.Amount), ReportedDice: i32s(op.InjuryD12),
		})
		if err != nil {
			return nil, err
		}
		return dangerworld.HarmView{Harm: harmIn(res.GetEvents())}, nil
	case dangerworld.OpEndEncounter:
		_, err := p.command(ctx, scene, ":endEncounter", &partyv1.EndEncounterRequest{Name: scene})
		return struct{}{}, err
	}
	_, err := p.command(ctx, scene, ":longTermRest", &partyv1.LongTermRestRequest{Name: scene})
	return struct{}{}, err
}

func (p *sceneTable) spend(ctx context.Context, op dangerworld.Operation) (any, error) {
	if p.check == nil {
		return nil, play.Refuse(dangerworld.NoSuchCheck, "there was no check before")
	}
	req := &partyv1.SpendBotchesRequest{Name: p.check.GetName(), ReportedDice: i32s(op.InjuryD12)}
	for _, x := range op.Items {
		req.Items = append(req.Items, &partyv1.BotchPurchase{Buy: x.Buy, Challenge: x.Challenge, Difficulty: optional(x.Difficulty)})
	}
	res, err := p.command(ctx, p.check.GetName(), ":spendBotches", req)
	if err != nil {
		return nil, err
	}
	out := dangerworld.SpendView{Bought: []string{}, Harm: harmIn(res.GetEvents())}
	for _, e := range res.GetEvents() {
		if b := e.GetBotchesSpent(); b != nil {
			out.Spent, out.Bought = int(b.GetSpent()), append(out.Bought, b.GetBought()...)
		}
	}
	return out, nil
}

// checkStep opens a check, rolls and claims, each with its dice.
func (p *sceneTable) checkStep(ctx context.Context, op dangerworld.Operation) (any, error) {
	scene := p.scene.GetName()
	open := &partyv1.OpenCheckRequest{
		Parent: scene, Character: p.character, Challenge: op.Challenge, Stat: op.Stat.Name, Number: optional(op.Stat.Number), AspectFp: i32(op.AspectFP),
		NegativeFp: i32(op.NegativeFP), BonusDice: i32(op.BonusDice), DangerDice: i32(op.DangerDice),
	}
	if _, err := p.command(ctx, scene, "/checks", open); err != nil {
		return nil, err
	}
	name := p.check.GetName()
	if p.check.GetPhase() == partyv1.Check_PHASE_RESOLVED { // unrolled
		if len(op.Rolls)+len(op.InjuryD12) > 0 {
			return nil, play.Refuse(play.BadDice, "there is no die to roll").At("rolls")
		}
		return checkView(p.check), nil
	}
	for i, roll := range op.Rolls {
		var req proto.Message = &partyv1.RollCheckRequest{Name: name, ReportedDice: i32s(roll.Faces)}
		verb := ":roll"
		if i > 0 {
			req, verb = &partyv1.RerollCheckRequest{Name: name, Lock: roll.Lock, ReportedDice: i32s(roll.Faces)}, ":reroll"
		}
		if _, err := p.command(ctx, name, verb, req); err != nil {
			return nil, fmt.Errorf("rolls[%d]: %w", i, err)
		}
	}
	claim := &partyv1.ClaimSetRequest{Name: name, ReportedDice: i32s(op.InjuryD12)}
	switch {
	case op.Claim != nil && op.Claim.None:
		claim.Claim = &partyv1.ClaimSetRequest_None{None: true}
	case op.Claim != nil && op.Claim.Height > 0:
		claim.Claim = &partyv1.ClaimSetRequest_Height{Height: i32(op.Claim.Height)}
	}
	for _, height := range slices.Sorted(maps.Keys(op.Cancel)) {
		claim.Cancel = append(claim.Cancel, &partyv1.Cancellation{Height: i32(height), Dice: op.Cancel[height]})
	}
	if _, err := p.command(ctx, name, ":claim", claim); err != nil {
		return nil, err
	}
	return checkView(p.check), nil
}

func checkView(c *partyv1.Check) dangerworld.CheckView {
	o := c.GetOutcome()
	out := dangerworld.CheckView{
		Pool:  dangerworld.Pool{Normal: int(c.GetPool().GetNormal()), Danger: int(c.GetPool().GetDanger()), Penalty: int(c.GetPool().GetPenalty())},
		Rolls: []dangerworld.RollView{}, Sets: []dangerworld.SetView{}, Botches: int(c.GetBotches()), Claimed: whole(o.GetClaimed(), o != nil && o.Claimed != nil),
		Success: o.GetSuccess(), BonusGained: int(o.GetBonusDiceGained()), DangerSteps: int(o.GetDangerSteps()), Harm: harmOf(o.GetHarm()),
	}
	for _, r := range c.GetRolls() {
		roll := dangerworld.RollView{Rolled: append([]string{}, r.GetRolled()...), Locked: append([]string{}, r.GetLocked()...), Faces: map[string]int{}}
		for _, f := range r.GetFaces() {
			roll.Faces[f.GetDie()] = int(f.GetFace())
		}
		out.Rolls = append(out.Rolls, roll)
	}
	for _, s := range c.GetSets() {
		out.Sets = append(out.Sets, dangerworld.SetView{
			Height: int(s.GetHeight()), Width: int(s.GetWidth()), Normal: int(s.GetNormal()), Danger: int(s.GetDanger()),
			Cancelled: append([]string{}, s.GetCancelled()...), Triggers: s.GetTriggers(), DangerCost: whole(s.GetDangerCost(), s.DangerCost != nil),
			Accomplishment: s.Accomplishment,
		})
	}
	return out
}

func whole(n int32, there bool) *int {
	if !there {
		return nil
	}
	i := int(n)
	return &i
}

func harmOf(list []*partyv1.HarmReached) []dangerworld.Harm {
	out := []dangerworld.Harm{}
	for _, h := range list {
		out = append(out, dangerworld.Harm{Level: int(h.GetLevel()), Kind: h.GetHarm(), Stat: h.GetStat()})
	}
	return out
}

func harmIn(events []*partyv1.SceneEvent) []dangerworld.Harm {
	var all []*partyv1.HarmReached
	for _, e := range events {
		all = append(all, e.GetSheetChanged().GetHarm()...)
	}
	return harmOf(all)
}

var challengeWords = map[partyv1.Challenge_Status]string{
	partyv1.Challenge_STATUS_OPEN: "OPEN", partyv1.Challenge_STATUS_BLOCKED: "BLOCKED", partyv1.Challenge_STATUS_PENDING: "PENDING",
	partyv1.Challenge_STATUS_DONE: "DONE",
}

// sceneView shows the one character of a scene and the challenges as transcripts do.
func sceneView(scene *partyv1.Scene) dangerworld.StateView {
	out := dangerworld.StateView{Reductions: map[string]int{}, Unspent: int(scene.GetBankedBotches()), Challenges: map[string]dangerworld.ChallengeView{}}
	for _, x := range scene.GetPlayers() {
		s := x.GetSheet()
		out.FP, out.BonusDice, out.Points, out.Level, out.Harm = int(s.GetFp()), int(x.GetBonusDice()), int(s.GetDangerPoints()), int(x.GetDangerLevel()), x.GetHarm()
		out.Bashed, out.Stunned, out.KO, out.Dead = int(s.GetBashed()), int(s.GetStunned()), s.GetKnockedOut(), s.GetDead()
		for name, n := range s.GetStatReductions() {
			out.Reductions[name] = int(n)
		}
	}
	for _, c := range scene.GetChecks() {
		out.Unspent += int(c.GetUnspentBotches())
	}
	for _, c := range scene.GetChallenges() {
		out.Challenges[c.GetName()] = dangerworld.ChallengeView{Difficulty: int(c.GetDifficulty()), Penalty: int(c.GetPenalty()), Status: challengeWords[c.GetStatus()]}
	}
	return out
}

func dangerSheet(s dangerworld.Sheet) *partyv1.DangerSheet {
	out := &partyv1.DangerSheet{Stats: map[string]int32{}, Fp: proto.Int32(i32(s.FP)), BonusDice: i32s(s.Bonus), DangerPoints: i32(s.Points)}
	for name, n := range s.Stats {
		out.Stats[name] = i32(n)
	}
	return out
}
