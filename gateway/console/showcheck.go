package console

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"
)

// sceneAnswer is what commands to a scene answer.
type sceneAnswer interface {
	GetScene() *partyv1.Scene
	GetEvents() []*partyv1.SceneEvent
}

var challengeStates = map[partyv1.Challenge_Status]string{
	partyv1.Challenge_STATUS_OPEN:    "open",
	partyv1.Challenge_STATUS_BLOCKED: "blocked by a setback",
	partyv1.Challenge_STATUS_PENDING: "done once its setback is overcome",
	partyv1.Challenge_STATUS_DONE:    "done",
}

func sceneChallengeText(ch *partyv1.Challenge) string {
	s := fmt.Sprintf("%s: difficulty %d", ch.GetName(), ch.GetDifficulty())
	if ch.GetPenalty() > 0 {
		s += fmt.Sprintf(", penalty dice %d", ch.GetPenalty())
	}
	s += ", " + challengeStates[ch.GetStatus()]
	if ch.GetSetbackOf() != "" {
		s += ", a setback of " + ch.GetSetbackOf()
	}
	return s
}

func playerText(p *partyv1.ScenePlayer) []string {
	var stats []string
	for _, name := range slices.Sorted(maps.Keys(p.GetSheet().GetStats())) {
		v := p.GetSheet().GetStats()[name]
		if less := p.GetSheet().GetStatReductions()[name]; less > 0 {
			stats = append(stats, fmt.Sprintf("%s %d-%d", name, v, less))
		} else {
			stats = append(stats, fmt.Sprintf("%s %d", name, v))
		}
	}
	how := fmt.Sprintf("FP %d, bonus dice %d, danger %d", p.GetSheet().GetFp(), p.GetBonusDice(), p.GetSheet().GetDangerPoints())
	switch {
	case p.GetSheet().GetDead():
		how += ", dead"
	case p.GetSheet().GetKnockedOut():
		how += ", K.O."
	case p.GetHarm() != "" && p.GetHarm() != "NONE":
		how += ", " + strings.ToLower(p.GetHarm())
	}
	return []string{p.GetTitle(), how, strings.Join(stats, ", ")}
}

// sceneText shows a scene, with the check of one character.
func sceneText(s *partyv1.Scene, who string) string {
	out := []string{s.GetTitle() + ":"}
	for _, ch := range s.GetChallenges() {
		out = append(out, "  "+sceneChallengeText(ch))
	}
	var rows [][]string
	for _, p := range s.GetPlayers() {
		rows = append(rows, playerText(p))
	}
	out = append(out, columns(rows))
	if k := checkOf(s, who); k != nil {
		out = append(out, "Your check: "+checkText(k))
	}
	return lines(out...)
}

func diceText(p *partyv1.DicePool) string {
	out := []string{plural2(p.GetNormal(), "normal die", "normal dice")}
	if p.GetDanger() > 0 {
		out = append(out, plural2(p.GetDanger(), "danger die", "danger dice"))
	}
	if p.GetPenalty() > 0 {
		out = append(out, plural2(p.GetPenalty(), "penalty die", "penalty dice"))
	}
	return join(out, "and")
}

func rollText(r *partyv1.CheckRoll) string {
	out := make([]string, len(r.GetFaces()))
	for i, f := range r.GetFaces() {
		mark := ""
		if slices.Contains(r.GetLocked(), f.GetDie()) {
			mark = "*"
		}
		out[i] = fmt.Sprintf("%s%s %d", f.GetDie(), mark, f.GetFace())
	}
	return strings.Join(out, ", ")
}

func setsText(sets []*partyv1.DiceSet) string {
	var out []string
	for _, s := range sets {
		x := fmt.Sprintf("%d wide at %d", s.GetWidth(), s.GetHeight())
		if s.GetTriggers() {
			x += " (triggers"
			if s.GetDangerCost() > 0 {
				x += ", danger " + fmt.Sprint(s.GetDangerCost())
			}
			if s.Accomplishment != nil {
				x += ", " + s.GetAccomplishment()
			}
			x += ")"
		}
		out = append(out, x)
	}
	return orNone(out)
}

// checkText shows a check as it is.
func checkText(k *partyv1.Check) string {
	with := ""
	if k.GetStat() != "" {
		with = " with " + k.GetStat()
	}
	out := []string{fmt.Sprintf("%s%s, %s.", k.GetChallenge(), with, diceText(k.GetPool()))}
	if n := len(k.GetRolls()); n > 0 {
		out = append(out, "  Dice: "+rollText(k.GetRolls()[n-1]), fmt.Sprintf("  Sets: %s. Botches %d, re-rolls left %d.", setsText(k.GetSets()), k.GetBotches(), k.GetRerollsLeft()))
	}
	switch k.GetPhase() { //nolint:exhaustive // the others have nothing to add
	case partyv1.Check_PHASE_OPENED:
		out = append(out, "  To do: +check/roll")
	case partyv1.Check_PHASE_ROLLED:
		out = append(out, "  To do: +check/reroll or +check/claim")
	case partyv1.Check_PHASE_RESOLVED:
		out = append(out, "  "+outcomeText(k.GetOutcome()))
		if k.GetUnspentBotches() > 0 {
			out = append(out, fmt.Sprintf("  The game master has %s to spend.", plural2(k.GetUnspentBotches(), "botch", "botches")))
		}
	}
	return strings.Join(out, "\n")
}

func harmText(harm []*partyv1.HarmReached) string {
	var out []string
	for _, h := range harm {
		x := strings.ToLower(h.GetHarm())
		if h.GetStat() != "" {
			x += " (" + h.GetStat() + ")"
		}
		out = append(out, x)
	}
	return strings.Join(out, ", ")
}

func outcomeText(o *partyv1.CheckOutcome) string {
	s := "It fails"
	if o.GetSuccess() {
		s = "It succeeds"
	}
	if o.Claimed != nil {
		s += fmt.Sprintf(", with a set of height %d", o.GetClaimed())
	}
	if o.GetUnrolled() {
		s += ", without a die to roll"
	}
	if n := o.GetBonusDiceGained(); n > 0 {
		s += fmt.Sprintf(", %s gained", plural2(n, "bonus die", "bonus dice"))
	}
	if n := o.GetDangerSteps(); n > 0 {
		s += fmt.Sprintf(", danger rises by %d", n)
	}
	if len(o.GetHarm()) > 0 {
		s += ": " + harmText(o.GetHarm())
	}
	return s + "."
}

// sceneEvents tells what happened in a scene.
func (c *call) sceneEvents(s *partyv1.Scene, events []*partyv1.SceneEvent, k *partyv1.Check) string { //nolint:cyclop // one line for each event
	var out []string
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	shown := false
	check := func() {
		if k != nil && !shown {
			shown = true
			out = append(out, checkText(k))
		}
	}
	for _, ev := range events {
		switch e := ev.GetEvent().(type) {
		case *partyv1.SceneEvent_Started:
			var names []string
			for _, p := range s.GetPlayers() {
				names = append(names, p.GetTitle())
			}
			say("%s begins with %s.", s.GetTitle(), join(names, "and"))
		case *partyv1.SceneEvent_Ended:
			say("The scene is over.")
		case *partyv1.SceneEvent_ChallengeSet:
			out = append(out, sceneChallengeText(e.ChallengeSet.GetChallenge()))
		case *partyv1.SceneEvent_SheetChanged:
			if len(e.SheetChanged.GetHarm()) > 0 {
				say("%s: %s.", c.called(e.SheetChanged.GetCharacter()), harmText(e.SheetChanged.GetHarm()))
			}
		case *partyv1.SceneEvent_CheckOpened, *partyv1.SceneEvent_CheckRolled, *partyv1.SceneEvent_CheckResolved, *partyv1.SceneEvent_NegativeAspectPaid:
			check()
		case *partyv1.SceneEvent_BotchesSpent:
			say("%s spent: %s.", upperFirst(plural2(e.BotchesSpent.GetSpent(), "botch", "botches")), strings.ToLower(strings.ReplaceAll(join(e.BotchesSpent.GetBought(), "and"), "_", " ")))
		case *partyv1.SceneEvent_BenefitNoted:
			say("Noted: %s", e.BenefitNoted.GetText())
		case *partyv1.SceneEvent_CheckClosed:
			say("The check is closed.")
		case *partyv1.SceneEvent_EncounterEnded:
			say("The encounter is over.")
		case *partyv1.SceneEvent_CharactersRested:
			say("%s have rested.", join(c.calledAll(e.CharactersRested.GetCharacters()), "and"))
		}
	}
	if len(out) == 0 {
		return sceneText(s, c.character.GetName())
	}
	return strings.Join(out, "\n")
}
