package replay

import (
	"context"
	"fmt"
	"slices"

	dungeonv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dungeon/v1"

	"github.com/wayfarer-rpg/wayfarer/rules/digger"
	"github.com/wayfarer-rpg/wayfarer/rules/play"
	"github.com/wayfarer-rpg/wayfarer/rules/play/transcript"
)

// reason is what the journals keep for everything that a game master does here.
const reason = "replaying a transcript"

func playDigger(ctx context.Context, s *session, document []byte, _ Open) ([]transcript.Played, error) {
	file, err := digger.ParseTranscripts(document)
	if err != nil {
		return nil, err
	}
	played := make([]transcript.Played, len(file.Transcripts))
	for i, t := range file.Transcripts {
		played[i] = s.digger(ctx, i, t)
	}
	return played, nil
}

func (s *session) digger(ctx context.Context, i int, t digger.Transcript) transcript.Played {
	out := transcript.Played{ID: t.ID, Want: t.Expected}
	fail := func(err error) transcript.Played {
		out.Err = &transcript.Fault{Transcript: t.ID, Err: err}
		return out
	}
	if err := t.CheckLabels(); err != nil {
		return fail(err)
	}
	campaign, err := s.campaign(ctx, i, t.Title)
	if err != nil {
		return fail(err)
	}
	p := &diggerTable{session: s, Transcript: t, campaign: campaign}
	if err := p.importDungeon(ctx); err != nil {
		return fail(err)
	}
	defer p.end(ctx)
	for n, round := range t.Rounds {
		state, err := p.round(ctx, n, round)
		if err != nil {
			out.Err = err
			return out
		}
		out.Add(state)
	}
	return out
}

// diggerTable is a transcript on its way through a server.
type diggerTable struct {
	*session
	digger.Transcript
	campaign string
	run      *dungeonv1.Run
	outAt    int // exhaustion at which a member is out
}

func (p *diggerTable) importDungeon(ctx context.Context) error {
	d := p.Playable("transcript")
	out := &dungeonv1.DungeonDefinition{
		Id: d.ID, Number: i32(d.Number), Name: d.Name, Type: d.Type, Summary: d.Summary,
		TnBonus: &dungeonv1.TnBonus{Climax: i32(d.TNBonus.Climax), Final: i32(d.TNBonus.Final)},
	}
	for _, c := range d.Cards {
		out.Cards = append(out.Cards, &dungeonv1.Card{
			Id: c.ID, Kind: c.Kind, Ability: c.Ability, Level: i32(c.Level), Conditions: c.Conditions, Title: c.Title, Text: c.Text,
		})
	}
	return p.post(ctx, p.campaign+"/dungeons:import", &dungeonv1.ImportDungeonRequest{Parent: p.campaign, Dungeon: out}, &dungeonv1.Dungeon{})
}

// end gives an open run up, so that nothing of a replay goes on.
func (p *diggerTable) end(ctx context.Context) {
	if p.run == nil || p.run.GetPhase() != dungeonv1.Run_PHASE_DRAW && p.run.GetPhase() != dungeonv1.Run_PHASE_ACT {
		return
	}
	// What was played stands whether or not this succeeds.
	_ = p.post(context.WithoutCancel(ctx), p.run.GetName()+":abandon",
		&dungeonv1.AbandonRunRequest{Name: p.run.GetName(), OverrideReason: reason}, &dungeonv1.AbandonRunResponse{})
}

// member returns the resource name of a member by the name in the file.
func (p *diggerTable) member(name string) (string, error) {
	i := slices.IndexFunc(p.Party, func(m digger.TranscriptMember) bool { return m.Name == name })
	if i < 0 {
		return "", play.Refuse(digger.NotAMember, "%s is not in this run", name)
	}
	return character(p.campaign, i), nil
}

// name is the reverse of member.
func (p *diggerTable) name(resource string) string {
	for i, m := range p.Party {
		if character(p.campaign, i) == resource {
			return m.Name
		}
	}
	return resource
}

func (p *diggerTable) round(ctx context.Context, i int, round digger.TranscriptRound) (digger.RoundState, error) {
	var s digger.RoundState
	drawer, err := p.member(round.Drawer)
	if err != nil {
		return s, err
	}
	if err := p.draw(ctx, i, round, drawer); err != nil {
		return s, err
	}
	s.ConditionsAtDraw = conditionMarks(p.run)
	for _, a := range round.Actions {
		if err := p.act(ctx, a); err != nil {
			return s, err
		}
	}
	faces, err := round.Faces()
	if err != nil {
		return s, err
	}
	s.ConditionsInForce, s.EffectsInForce = conditionMarks(p.run), p.effectMarks(true)
	c := p.run.GetChallenge()
	s.Card, s.Kind, s.Ability, s.Level = p.Label(c.GetCard()), c.GetKind(), c.GetAbility(), int(c.GetLevel())
	res := &dungeonv1.CompleteResponse{}
	err = p.post(ctx, p.run.GetName()+":complete", &dungeonv1.CompleteRequest{
		Name: p.run.GetName(), Character: drawer, ReportedDice: i32s(faces), Etag: p.run.GetEtag(),
	}, res)
	if err != nil {
		return s, err
	}
	p.run = res.GetRun()
	e := res.GetEvents()[0].GetRoundCompleted()
	s.Round, s.TN, s.Modifier, s.PartyScore, s.PartyTarget = int(e.GetRound()), int(e.GetTn()), int(e.GetModifier()), int(e.GetScore()), int(e.GetTarget())
	s.PartySuccess, s.ExplorationGain, s.Exploration, s.Outcome = e.GetPassed(), int(e.GetExplorationGain()), int(e.GetExploration()), e.GetOutcome()
	for _, r := range e.GetResults() {
		if err := round.CheckRisk(p.name(r.GetCharacter()), int(r.GetRiskRoll())); err != nil {
			return s, err
		}
		s.Members = append(s.Members, p.memberState(r))
	}
	s.EffectsAfter = p.effectMarks(false)
	if next := p.run.GetNextDraw(); next != "" {
		s.NextDraw = &next
	}
	return s, nil
}

// draw stages the run or draws the next card: the one that the file names is reported as its place among the candidates.
func (p *diggerTable) draw(ctx context.Context, i int, round digger.TranscriptRound, drawer string) error {
	n, err := p.CardAt(round.Card)
	if err != nil {
		return err
	}
	var candidates []string
	if i == 0 {
		for k, c := range p.Dungeon.Cards {
			if c.Kind == digger.Entry {
				candidates = append(candidates, digger.CardID(k))
			}
		}
	} else {
		candidates = p.run.GetCandidates()
	}
	at := slices.Index(candidates, digger.CardID(n))
	var faces []int32
	if len(candidates) > 1 {
		faces = []int32{i32(max(at, 0) + 1)}
	}
	if i == 0 {
		err = p.stage(ctx, drawer, faces)
	} else {
		res := &dungeonv1.DrawResponse{}
		err = p.post(ctx, p.run.GetName()+":draw", &dungeonv1.DrawRequest{
			Name: p.run.GetName(), Character: drawer, ReportedDice: faces, Etag: p.run.GetEtag(),
		}, res)
		if err == nil {
			p.run = res.GetRun()
		}
	}
	if err != nil {
		return err
	}
	if at < 0 {
		return digger.NotDrawable(round.Card, p.run.GetChallenge().GetKind())
	}
	return nil
}

func (p *diggerTable) stage(ctx context.Context, leader string, faces []int32) error {
	req := &dungeonv1.StageRunRequest{
		Parent: p.campaign, RunId: "transcript", Dungeon: p.campaign + "/dungeons/transcript", Leader: leader, Reason: reason, ReportedDice: faces,
	}
	for i, m := range p.Party {
		x := &dungeonv1.StagedMember{Character: character(p.campaign, i), Title: m.Name}
		for _, ability := range digger.AbilityNames {
			x.Ratings = append(x.Ratings, i32(m.Abilities.Of(ability)))
		}
		for k, t := range m.Tools {
			tool := &dungeonv1.StagedTool{
				Id: fmt.Sprintf("tool-%d", k+1), Ability: t.Ability, Rating: t.Rating, Qualities: t.Qualities,
			}
			if t.Drawback != nil {
				tool.Drawback = *t.Drawback
			}
			x.Tools = append(x.Tools, tool)
		}
		req.Members = append(req.Members, x)
	}
	res := &dungeonv1.StageRunResponse{}
	if err := p.post(ctx, p.campaign+"/runs:stage", req, res); err != nil {
		return err
	}
	p.run = res.GetRun()
	for _, e := range res.GetEvents() {
		if rules := e.GetStarted().GetRuleset(); rules != nil {
			p.outAt = int(rules.GetFields()["exhaustion"].GetStructValue().GetFields()["out_at"].GetNumberValue())
		}
	}
	return nil
}

func (p *diggerTable) act(ctx context.Context, a digger.TranscriptAction) error {
	who, err := p.member(a.Member)
	if err != nil {
		return err
	}
	m := p.Party[slices.IndexFunc(p.Party, func(m digger.TranscriptMember) bool { return m.Name == a.Member })]
	number, err := m.ToolNumber(a.Use)
	if err != nil {
		return err
	}
	action := &dungeonv1.Action{Risk: a.Risk, Means: &dungeonv1.Action_Tool{Tool: i32(number)}}
	if number == 0 {
		action.Means = &dungeonv1.Action_Basic{Basic: digger.AbilityOf(a.Use)}
	}
	res := &dungeonv1.ActResponse{}
	if err := p.post(ctx, p.run.GetName()+":act", &dungeonv1.ActRequest{Name: p.run.GetName(), Character: who, Action: action, Etag: p.run.GetEtag()}, res); err != nil {
		return err
	}
	p.run = res.GetRun()
	return nil
}

// toolLabel is the id in the file of a member's tool.
func (p *diggerTable) toolLabel(member string, number int) string {
	for _, m := range p.Party {
		if m.Name == member && number >= 1 && number <= len(m.Tools) {
			return m.Tools[number-1].ID
		}
	}
	return fmt.Sprint(number)
}

func conditionMarks(run *dungeonv1.Run) []digger.Mark {
	marks := []digger.Mark{}
	for _, c := range run.GetConditions() {
		m := digger.Mark{Name: c.GetName()}
		if c.Remaining != nil {
			n := int(c.GetRemaining())
			m.Remaining = &n
		}
		marks = append(marks, m)
	}
	return marks
}

func (p *diggerTable) effectMarks(users bool) []digger.Mark {
	marks := []digger.Mark{}
	for _, e := range p.run.GetEffects() {
		n := int(e.GetRemaining())
		m := digger.Mark{Name: e.GetName(), Remaining: &n}
		if users {
			for _, u := range e.GetUsers() {
				m.Users = append(m.Users, p.name(u))
			}
		}
		marks = append(marks, m)
	}
	return marks
}

func (p *diggerTable) memberState(r *dungeonv1.MemberResult) digger.MemberState {
	s := digger.MemberState{
		Name: p.name(r.GetCharacter()), Acted: r.GetActed(), ExhaustionGain: int(r.GetExhaustionGain()), Exhaustion: int(r.GetExhaustion()),
		Exhausted: int(r.GetExhaustion()) >= p.outAt, ToolUsesLeft: map[string]int{},
	}
	for _, m := range p.run.GetMembers() {
		if m.GetCharacter() != r.GetCharacter() {
			continue
		}
		for _, t := range m.GetTools() {
			s.ToolUsesLeft[p.toolLabel(s.Name, int(t.GetNumber()))] = int(t.GetUsesLeft())
		}
	}
	if r.GetActed() {
		roll, effective, tool, risk := int(r.GetRoll()), int(r.GetEffective()), int(r.GetToolBonus()), int(r.GetRiskBonus())
		total, success := int(r.GetTotal()), r.GetSuccess()
		s.Roll, s.Effective, s.ToolBonus, s.RiskBonus, s.Total, s.Success = &roll, &effective, &tool, &risk, &total, &success
	}
	return s
}
