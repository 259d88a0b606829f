package scene

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/journal"
	"github.com/wayfarer-rpg/wayfarer/rules/dangerworld"
)

// i32 fits a number into the contract: none of this service's comes near two billion.
func i32(n int) int32 { return int32(n) } //nolint:gosec // see above

func intsOf(m map[string]int) map[string]int32 {
	if len(m) == 0 {
		return nil
	}
	out := map[string]int32{}
	for k, n := range m {
		out[k] = i32(n)
	}
	return out
}

func intsFrom(m map[string]int32) map[string]int {
	if len(m) == 0 {
		return nil
	}
	out := map[string]int{}
	for k, n := range m {
		out[k] = int(n)
	}
	return out
}

// optional maps an absent number to nil.
func optional(n *int32) *int {
	if n == nil {
		return nil
	}
	i := int(*n)
	return &i
}

// SheetFrom maps a sheet of the contract to the rules' sheet of a character.
func SheetFrom(character string, s *partyv1.DangerSheet) dangerworld.Sheet {
	out := dangerworld.Sheet{
		Character: character, Stats: intsFrom(s.GetStats()), Reductions: intsFrom(s.GetStatReductions()), FP: int(s.GetFp()),
		Points: int(s.GetDangerPoints()), Bashed: int(s.GetBashed()), Stunned: int(s.GetStunned()), KO: s.GetKnockedOut(), Dead: s.GetDead(),
	}
	for _, n := range s.GetBonusDice() {
		out.Bonus = append(out.Bonus, int(n))
	}
	return out
}

// SheetOf maps a sheet of the rules to the contract's.
func SheetOf(s dangerworld.Sheet) *partyv1.DangerSheet {
	out := &partyv1.DangerSheet{
		Stats: intsOf(s.Stats), StatReductions: intsOf(s.Reductions), Fp: proto.Int32(i32(s.FP)), DangerPoints: i32(s.Points),
		Bashed: i32(s.Bashed), Stunned: i32(s.Stunned), KnockedOut: s.KO, Dead: s.Dead,
	}
	for _, n := range s.Bonus {
		out.BonusDice = append(out.BonusDice, i32(n))
	}
	return out
}

var statuses = map[string]partyv1.Challenge_Status{
	dangerworld.Open: partyv1.Challenge_STATUS_OPEN, dangerworld.Blocked: partyv1.Challenge_STATUS_BLOCKED,
	dangerworld.Pending: partyv1.Challenge_STATUS_PENDING, dangerworld.Done: partyv1.Challenge_STATUS_DONE,
}

func statusFrom(s partyv1.Challenge_Status) string {
	for word, status := range statuses {
		if status == s {
			return word
		}
	}
	return ""
}

func challengeOf(c dangerworld.Challenge) *partyv1.Challenge {
	out := &partyv1.Challenge{
		Name: c.Name, Difficulty: i32(c.Difficulty), Penalty: i32(c.Penalty), Status: statuses[c.Status], SetbackOf: c.Parent,
	}
	if c.AspectCap != nil {
		out.AspectCap = proto.Int32(i32(*c.AspectCap))
	}
	return out
}

func challengeFrom(c *partyv1.Challenge) dangerworld.Challenge {
	return dangerworld.Challenge{
		Name: c.GetName(), Difficulty: int(c.GetDifficulty()), Penalty: int(c.GetPenalty()), Status: statusFrom(c.GetStatus()),
		Parent: c.GetSetbackOf(), AspectCap: optional(c.AspectCap),
	}
}

func poolOf(p dangerworld.Pool) *partyv1.DicePool {
	return &partyv1.DicePool{Normal: i32(p.Normal), Danger: i32(p.Danger), Penalty: i32(p.Penalty)}
}

func poolFrom(p *partyv1.DicePool) dangerworld.Pool {
	return dangerworld.Pool{Normal: int(p.GetNormal()), Danger: int(p.GetDanger()), Penalty: int(p.GetPenalty())}
}

func rollOf(r dangerworld.Roll) *partyv1.CheckRoll {
	out := &partyv1.CheckRoll{Rolled: r.Rolled, Locked: r.Locked}
	for _, f := range r.Faces {
		out.Faces = append(out.Faces, &partyv1.DieFace{Die: f.Die, Face: i32(f.Face)})
	}
	return out
}

func rollFrom(r *partyv1.CheckRoll) dangerworld.Roll {
	out := dangerworld.Roll{Rolled: r.GetRolled(), Locked: r.GetLocked()}
	for _, f := range r.GetFaces() {
		out.Faces = append(out.Faces, dangerworld.Face{Die: f.GetDie(), Face: int(f.GetFace())})
	}
	return out
}

func harmOf(list []dangerworld.Harm) []*partyv1.HarmReached {
	var out []*partyv1.HarmReached
	for _, h := range list {
		out = append(out, &partyv1.HarmReached{Level: i32(h.Level), Harm: h.Kind, Stat: h.Stat})
	}
	return out
}

func harmFrom(list []*partyv1.HarmReached) []dangerworld.Harm {
	var out []dangerworld.Harm
	for _, h := range list {
		out = append(out, dangerworld.Harm{Level: int(h.GetLevel()), Kind: h.GetHarm(), Stat: h.GetStat()})
	}
	return out
}

// setsOf shows sets; what they achieve is a word of the ruleset.
func setsOf(rs *dangerworld.Ruleset, list []dangerworld.Set) []*partyv1.DiceSet {
	var out []*partyv1.DiceSet
	for _, s := range list {
		x := &partyv1.DiceSet{
			Height: i32(s.Height), Width: i32(s.Width), Normal: i32(s.Normal), Danger: i32(s.Danger), Cancelled: s.Cancelled, Triggers: s.Triggers,
		}
		if s.Triggers {
			x.DangerCost, x.Accomplishment = proto.Int32(i32(s.DangerCost)), proto.String(rs.Achieves(s.Height))
		}
		out = append(out, x)
	}
	return out
}

func outcomeOf(rs *dangerworld.Ruleset, o dangerworld.Outcome) *partyv1.CheckOutcome {
	out := &partyv1.CheckOutcome{
		Unrolled: o.Unrolled, Success: o.Success, BonusDiceGained: i32(o.BonusGained), DangerSteps: i32(o.DangerSteps), Harm: harmOf(o.Harm),
		Botches: i32(o.Botches), Sets: setsOf(rs, o.Sets),
	}
	if o.Claimed > 0 {
		out.Claimed = proto.Int32(i32(o.Claimed))
	}
	for _, h := range o.Heights {
		out.Heights = append(out.Heights, i32(h))
	}
	return out
}

func outcomeFrom(o *partyv1.CheckOutcome) dangerworld.Outcome {
	out := dangerworld.Outcome{
		Unrolled: o.GetUnrolled(), Success: o.GetSuccess(), BonusGained: int(o.GetBonusDiceGained()), DangerSteps: int(o.GetDangerSteps()),
		Harm: harmFrom(o.GetHarm()), Botches: int(o.GetBotches()), Claimed: int(o.GetClaimed()),
	}
	for _, h := range o.GetHeights() {
		out.Heights = append(out.Heights, int(h))
	}
	for _, s := range o.GetSets() {
		out.Sets = append(out.Sets, dangerworld.Set{
			Height: int(s.GetHeight()), Width: int(s.GetWidth()), Normal: int(s.GetNormal()), Danger: int(s.GetDanger()), Cancelled: s.GetCancelled(),
			Triggers: s.GetTriggers(), DangerCost: int(s.GetDangerCost()),
		})
	}
	return out
}

func structOf(v any) (*structpb.Struct, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	s := &structpb.Struct{}
	return s, s.UnmarshalJSON(raw)
}

// gameEventsFrom maps a journaled event to those of the rules that it stands for.
func gameEventsFrom(e *partyv1.SceneEvent) ([]dangerworld.Event, error) {
	switch ev := e.GetEvent().(type) {
	case *partyv1.SceneEvent_Started:
		raw, err := ev.Started.GetRuleset().MarshalJSON()
		if err != nil {
			return nil, err
		}
		rs, err := dangerworld.Parse(raw)
		if err != nil {
			return nil, err
		}
		out := []dangerworld.Event{dangerworld.SceneBegun{Ruleset: rs}}
		for _, c := range ev.Started.GetCharacters() {
			out = append(out, dangerworld.SheetAdded{Sheet: SheetFrom(c.GetCharacter(), c.GetSheet())})
		}
		return out, nil
	case *partyv1.SceneEvent_CharacterCame:
		return one(dangerworld.SheetAdded{Sheet: SheetFrom(ev.CharacterCame.GetCharacter(), ev.CharacterCame.GetSheet())})
	case *partyv1.SceneEvent_CharacterWent:
		return one(dangerworld.SheetRemoved{Character: ev.CharacterWent.GetCharacter()})
	case *partyv1.SceneEvent_SheetChanged:
		c := ev.SheetChanged
		return one(dangerworld.SheetChanged{Sheet: SheetFrom(c.GetCharacter(), c.GetSheet()), Harm: harmFrom(c.GetHarm())})
	case *partyv1.SceneEvent_ChallengeSet:
		return one(dangerworld.ChallengeSet{Challenge: challengeFrom(ev.ChallengeSet.GetChallenge())})
	case *partyv1.SceneEvent_CheckOpened:
		c := ev.CheckOpened
		return one(dangerworld.CheckBegun{Check: dangerworld.Check{
			Number: int(c.GetNumber()), Character: c.GetCharacter(), Challenge: c.GetChallenge(), Stat: c.GetStat(), Phase: dangerworld.CheckOpened,
			Pool: poolFrom(c.GetPool()), AspectFP: int(c.GetAspectFp()), NegativeFP: int(c.GetNegativeFp()), BonusDice: int(c.GetBonusDice()),
			DangerDice: int(c.GetDangerDice()),
		}})
	case *partyv1.SceneEvent_NegativeAspectPaid:
		p := ev.NegativeAspectPaid
		return one(dangerworld.NegativePaid{Check: int(p.GetNumber()), FP: int(p.GetFp()), Pool: poolFrom(p.GetPool())})
	case *partyv1.SceneEvent_CheckRolled:
		r := ev.CheckRolled
		return one(dangerworld.DiceRolled{
			Check: int(r.GetNumber()), Roll: rollFrom(r.GetRoll()), Pool: poolFrom(r.GetPool()), AspectFP: int(r.GetAspectFp()),
			DangerDice: int(r.GetDangerDice()),
		})
	case *partyv1.SceneEvent_CheckResolved:
		return one(dangerworld.CheckDecided{Check: int(ev.CheckResolved.GetNumber()), Outcome: outcomeFrom(ev.CheckResolved.GetOutcome())})
	case *partyv1.SceneEvent_BotchesSpent:
		b := ev.BotchesSpent
		return one(dangerworld.BotchesSpent{
			Check: int(b.GetNumber()), Spent: int(b.GetSpent()), Bought: b.GetBought(), Hits: b.GetHits(), Unspent: int(b.GetUnspent()), Bank: int(b.GetBank()),
		})
	case *partyv1.SceneEvent_BenefitNoted:
		return one(dangerworld.BenefitNoted{Check: int(ev.BenefitNoted.GetNumber()), Text: ev.BenefitNoted.GetText()})
	case *partyv1.SceneEvent_CheckClosed:
		c := ev.CheckClosed
		return one(dangerworld.CheckEnded{Check: int(c.GetNumber()), Lapsed: int(c.GetLapsed()), Bank: int(c.GetBank())})
	case *partyv1.SceneEvent_EncounterEnded:
		return one(dangerworld.EncounterEnded{})
	case *partyv1.SceneEvent_CharactersRested:
		return one(dangerworld.Rested{Characters: ev.CharactersRested.GetCharacters()})
	}
	return nil, fmt.Errorf("unknown scene event %T", e.GetEvent())
}

func one(e dangerworld.Event) ([]dangerworld.Event, error) { return []dangerworld.Event{e}, nil }

// gameEventsOf maps what the rules decided on a state to what is journaled.
func gameEventsOf(game dangerworld.Scene, events []dangerworld.Event) ([]*partyv1.SceneEvent, error) {
	out := make([]*partyv1.SceneEvent, len(events))
	for i, e := range events {
		var err error
		if out[i], err = gameEventOf(game, e); err != nil {
			return nil, err
		}
		game = dangerworld.Apply(game, e)
	}
	return out, nil
}

func gameEventOf(game dangerworld.Scene, e dangerworld.Event) (*partyv1.SceneEvent, error) {
	switch ev := e.(type) {
	case dangerworld.SheetRemoved:
		sheet, _ := game.Sheet(ev.Character)
		return &partyv1.SceneEvent{Event: &partyv1.SceneEvent_CharacterWent{CharacterWent: &partyv1.CharacterWent{
			Character: ev.Character, Sheet: SheetOf(sheet),
		}}}, nil
	case dangerworld.SheetChanged:
		return &partyv1.SceneEvent{Event: &partyv1.SceneEvent_SheetChanged{SheetChanged: &partyv1.SheetChanged{
			Character: ev.Sheet.Character, Sheet: SheetOf(ev.Sheet), Harm: harmOf(ev.Harm),
		}}}, nil
	case dangerworld.ChallengeSet:
		return &partyv1.SceneEvent{Event: &partyv1.SceneEvent_ChallengeSet{ChallengeSet: &partyv1.ChallengeSet{Challenge: challengeOf(ev.Challenge)}}}, nil
	case dangerworld.CheckBegun:
		c := ev.Check
		return &partyv1.SceneEvent{Event: &partyv1.SceneEvent_CheckOpened{CheckOpened: &partyv1.CheckOpened{
			Number: i32(c.Number), Character: c.Character, Challenge: c.Challenge, Stat: c.Stat, Pool: poolOf(c.Pool), AspectFp: i32(c.AspectFP),
			NegativeFp: i32(c.NegativeFP), BonusDice: i32(c.BonusDice), DangerDice: i32(c.DangerDice),
		}}}, nil
	case dangerworld.NegativePaid:
		return &partyv1.SceneEvent{Event: &partyv1.SceneEvent_NegativeAspectPaid{NegativeAspectPaid: &partyv1.NegativeAspectPaid{
			Number: i32(ev.Check), Fp: i32(ev.FP), Pool: poolOf(ev.Pool),
		}}}, nil
	case dangerworld.DiceRolled:
		return &partyv1.SceneEvent{Event: &partyv1.SceneEvent_CheckRolled{CheckRolled: &partyv1.CheckRolled{
			Number: i32(ev.Check), Roll: rollOf(ev.Roll), Pool: poolOf(ev.Pool), AspectFp: i32(ev.AspectFP), DangerDice: i32(ev.DangerDice),
		}}}, nil
	case dangerworld.CheckDecided:
		return &partyv1.SceneEvent{Event: &partyv1.SceneEvent_CheckResolved{CheckResolved: &partyv1.CheckResolved{
			Number: i32(ev.Check), Outcome: outcomeOf(game.Ruleset, ev.Outcome),
		}}}, nil
	case dangerworld.BotchesSpent:
		return &partyv1.SceneEvent{Event: &partyv1.SceneEvent_BotchesSpent{BotchesSpent: &partyv1.BotchesSpent{
			Number: i32(ev.Check), Spent: i32(ev.Spent), Bought: ev.Bought, Hits: ev.Hits, Unspent: i32(ev.Unspent), Bank: i32(ev.Bank),
		}}}, nil
	case dangerworld.BenefitNoted:
		return &partyv1.SceneEvent{Event: &partyv1.SceneEvent_BenefitNoted{BenefitNoted: &partyv1.BenefitNoted{Number: i32(ev.Check), Text: ev.Text}}}, nil
	case dangerworld.CheckEnded:
		return &partyv1.SceneEvent{Event: &partyv1.SceneEvent_CheckClosed{CheckClosed: &partyv1.CheckClosed{
			Number: i32(ev.Check), Lapsed: i32(ev.Lapsed), Bank: i32(ev.Bank),
		}}}, nil
	case dangerworld.EncounterEnded:
		return &partyv1.SceneEvent{Event: &partyv1.SceneEvent_EncounterEnded{EncounterEnded: &partyv1.EncounterEnded{}}}, nil
	case dangerworld.Rested:
		return &partyv1.SceneEvent{Event: &partyv1.SceneEvent_CharactersRested{CharactersRested: &partyv1.CharactersRested{Characters: ev.Characters}}}, nil
	}
	return nil, fmt.Errorf("no message for scene event %T", e)
}

var phases = map[string]partyv1.Scene_Phase{
	preparing: partyv1.Scene_PHASE_PREPARING, playing: partyv1.Scene_PHASE_PLAYING, over: partyv1.Scene_PHASE_ENDED,
	undoing: partyv1.Scene_PHASE_UNDONE, undone: partyv1.Scene_PHASE_UNDONE,
}

// sceneOf shows a scene. Nothing of it is secret.
func sceneOf(at journal.At[scene]) *partyv1.Scene {
	s := at.State
	out := &partyv1.Scene{
		Name: at.Stream, Title: s.Title, Phase: phases[s.Phase], BankedBotches: i32(s.Game.Bank), Stream: s.Stream, CampaignSeq: i32(s.CampaignSeq),
		Settled: s.Settled || s.Phase == undone, Etag: at.Etag(), Seq: i32(at.Seq), CreateTime: timestamppb.New(at.Created),
	}
	for _, x := range s.Game.Sheets {
		level := s.Game.Ruleset.Level(x.Points)
		out.Players = append(out.Players, &partyv1.ScenePlayer{
			Character: x.Character, Owner: s.Owners[x.Character], Title: s.Titles[x.Character], Sheet: SheetOf(x), DangerLevel: i32(level),
			Harm: s.Game.Ruleset.Harm(level), BonusDice: i32(x.BonusDice()),
		})
	}
	for _, c := range s.Game.Challenges {
		out.Challenges = append(out.Challenges, challengeOf(c))
	}
	for _, c := range s.Game.Checks {
		if c.Phase != dangerworld.CheckClosed {
			out.Checks = append(out.Checks, checkOf(at, c))
		}
	}
	return out
}

var checkPhases = map[string]partyv1.Check_Phase{
	dangerworld.CheckOpened: partyv1.Check_PHASE_OPENED, dangerworld.CheckRolled: partyv1.Check_PHASE_ROLLED,
	dangerworld.CheckResolved: partyv1.Check_PHASE_RESOLVED, dangerworld.CheckClosed: partyv1.Check_PHASE_CLOSED,
}

// checkOf shows a check, and before it is resolved what its dice would come to.
func checkOf(at journal.At[scene], c dangerworld.Check) *partyv1.Check {
	rs := at.State.Game.Ruleset
	out := &partyv1.Check{
		Name: checkName(at.Stream, c.Number), Character: c.Character, Challenge: c.Challenge, Stat: c.Stat, Phase: checkPhases[c.Phase],
		Pool: poolOf(c.Pool), AspectFp: i32(c.AspectFP), NegativeFp: i32(c.NegativeFP), BonusDice: i32(c.BonusDice), DangerDice: i32(c.DangerDice),
		UnspentBotches: i32(c.Unspent), Benefit: c.Benefit, Botches: i32(rs.Botches(c)),
	}
	for _, r := range c.Rolls {
		out.Rolls = append(out.Rolls, rollOf(r))
	}
	switch {
	case c.Outcome != nil:
		out.Outcome = outcomeOf(rs, *c.Outcome)
		out.Sets = out.GetOutcome().GetSets()
	case c.Phase == dangerworld.CheckRolled:
		sets, _ := rs.Sets(c.Faces(), nil) // only dice named to be given up can be wrong
		out.Sets = setsOf(rs, sets)
		fallthrough
	case c.Phase == dangerworld.CheckOpened:
		out.RerollsLeft = i32(rs.RerollsLeft(c))
	}
	return out
}

func checkName(scene string, number int) string { return fmt.Sprintf("%s/checks/%d", scene, number) }

// splitCheck reads the name of a check. Its form has been checked by the contract's pattern.
func splitCheck(name string) (scene string, number int) {
	scene, last, _ := strings.Cut(name, "/checks/")
	for _, digit := range last {
		number = number*10 + int(digit-'0')
	}
	return scene, number
}

// newestFirst lists checks below a number, at most size of them, and the number to go on below; 0 at the end.
func newestFirst(checks []dangerworld.Check, below, size int) (page []dangerworld.Check, next int) {
	for _, c := range slices.Backward(checks) {
		switch {
		case below > 0 && c.Number >= below:
		case len(page) == size:
			return page, page[size-1].Number
		default:
			page = append(page, c)
		}
	}
	return page, 0
}
