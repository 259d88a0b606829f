package console

import (
	"fmt"
	"strings"

	dungeonv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dungeon/v1"
	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"
)

// titles are what people call the members of a run.
func titles(run *dungeonv1.Run) func(string) string {
	return func(name string) string {
		for _, m := range run.GetMembers() {
			if m.GetCharacter() == name && m.GetTitle() != "" {
				return m.GetTitle()
			}
		}
		return idOf(name)
	}
}

func memberOf(run *dungeonv1.Run, name string) *dungeonv1.Member {
	for _, m := range run.GetMembers() {
		if m.GetCharacter() == name {
			return m
		}
	}
	return nil
}

// does tells what a member contributes: "-" when they have not acted.
func does(m *dungeonv1.Member) string {
	a := m.GetAction()
	if a == nil {
		return "-"
	}
	what := a.GetBasic()
	if n := a.GetTool(); n > 0 {
		what = fmt.Sprintf("#%d", n)
		for _, t := range m.GetTools() {
			if t.GetNumber() == n {
				what = toolName(t.GetTitle(), t.GetId())
			}
		}
	}
	if a.GetRisk() {
		what += " (risk)"
	}
	return what
}

func dungeonName(run *dungeonv1.Run) string {
	name := fmt.Sprintf("%s (%s)", run.GetTitle(), run.GetType())
	if run.GetNumber() > 0 {
		name = fmt.Sprintf("%d, %s", run.GetNumber(), name)
	}
	return name
}

var runPhases = map[dungeonv1.Run_Phase]string{
	dungeonv1.Run_PHASE_DRAW:      "between challenges: +dungeon/draw",
	dungeonv1.Run_PHASE_ACT:       "a challenge is pending: +challenge",
	dungeonv1.Run_PHASE_WON:       "won",
	dungeonv1.Run_PHASE_RETREATED: "lost: the party has retreated",
	dungeonv1.Run_PHASE_EXHAUSTED: "lost: nobody can go on",
	dungeonv1.Run_PHASE_PREPARING: "about to begin",
	dungeonv1.Run_PHASE_ABANDONED: "given up",
	dungeonv1.Run_PHASE_UNDONE:    "never begun",
}

func runInfo(run *dungeonv1.Run) string {
	return fmt.Sprintf("Dungeon %s\n  Exploration %d of 100, round %d, %s.", dungeonName(run), run.GetExploration(), run.GetRound(), runPhases[run.GetPhase()])
}

func conditions(run *dungeonv1.Run) string {
	var out []string
	for _, c := range run.GetConditions() {
		s := c.GetName() + " (to the end)"
		if c.Remaining != nil {
			s = fmt.Sprintf("%s (%d)", c.GetName(), c.GetRemaining())
		}
		out = append(out, s)
	}
	return orNone(out)
}

func effects(run *dungeonv1.Run) string {
	var out []string
	for _, e := range run.GetEffects() {
		s := fmt.Sprintf("%s (%d)", e.GetName(), e.GetRemaining())
		if len(e.GetUsers()) > 0 {
			users := make([]string, len(e.GetUsers()))
			for i, u := range e.GetUsers() {
				users[i] = titles(run)(u)
			}
			s = fmt.Sprintf("%s (%d, by %s)", e.GetName(), e.GetRemaining(), join(users, "and"))
		}
		out = append(out, s)
	}
	return orNone(out)
}

// challengeText reads the pending challenge out (DIG-CMD-18).
func challengeText(run *dungeonv1.Run) string {
	ch, called := run.GetChallenge(), titles(run)
	head := fmt.Sprintf("Round %d: %s (%s challenge)", run.GetRound(), ch.GetTitle(), ch.GetKind())
	facts := fmt.Sprintf("  %s, level %d, target number %d.", upperFirst(ch.GetAbility()), ch.GetLevel(), ch.GetTn())
	if ch.GetModifier() != 0 {
		facts += fmt.Sprintf(" %+d for everybody.", ch.GetModifier())
	}
	facts += fmt.Sprintf(" %s runs it.", called(ch.GetDrawer()))
	out := []string{head, wrapText(ch.GetText(), "  "), facts, "  Conditions: " + conditions(run)}
	for _, m := range run.GetMembers() {
		what := does(m)
		if m.GetExhaustion() >= 100 {
			what = "exhausted"
		}
		out = append(out, fmt.Sprintf("  %s: %s", called(m.GetCharacter()), what))
	}
	return strings.Join(out, "\n")
}

// campOfRun shows all about a party in a dungeon (DIG-CMD-09).
func (c *call) campOfRun(run *dungeonv1.Run) string {
	var rows [][]string
	for _, m := range run.GetMembers() {
		mark := " "
		if m.GetCharacter() == run.GetLeader() {
			mark = "*"
		}
		var belt []string
		for _, t := range m.GetTools() {
			belt = append(belt, fmt.Sprintf("#%d %s (%d)", t.GetNumber(), toolName(t.GetTitle(), t.GetId()), t.GetUsesLeft()))
		}
		rows = append(rows, []string{mark + titles(run)(m.GetCharacter()), fmt.Sprintf("exhaustion %d", m.GetExhaustion()), "belt: " + orNone(belt)})
	}
	return lines(
		"Camp, led by "+titles(run)(run.GetLeader())+" (*)",
		columns(rows),
		"  "+runInfo(run),
		"  Conditions: "+conditions(run),
		"  Effects: "+effects(run),
	)
}

// campOfParty shows a party that is not in a dungeon.
func (c *call) campOfParty(p *partyv1.Party) (string, error) {
	all, err := c.allCharacters()
	if err != nil {
		return "", err
	}
	var rows [][]string
	for _, m := range p.GetMembers() {
		mark := " "
		if m.GetCharacter() == p.GetLeader() {
			mark = "*"
		}
		var belt []string
		for _, ch := range all {
			if ch.GetName() != m.GetCharacter() {
				continue
			}
			for _, f := range ch.GetForms() {
				for _, t := range f.GetStatblock().GetTools() {
					if f.GetId() == ch.GetCurrentForm() && t.GetLoaded() {
						belt = append(belt, fmt.Sprintf("#%d %s (%d)", t.GetNumber(), toolName(t.GetTitle(), t.GetId()), t.GetUses()))
					}
				}
			}
		}
		rows = append(rows, []string{mark + c.called(m.GetCharacter()), "belt: " + orNone(belt)})
	}
	dungeon := "none is readied"
	if p.GetDungeon() != "" {
		dungeon = idOf(p.GetDungeon())
		if res, err := ask[*dungeonv1.GetDungeonResponse](c, &dungeonv1.GetDungeonRequest{Name: p.GetDungeon()}); err == nil {
			d := res.GetDungeon()
			dungeon = fmt.Sprintf("%s, %s (%s), not entered yet", numberOf(d), d.GetDefinition().GetName(), d.GetDefinition().GetType())
		}
	}
	return lines("Camp, led by "+c.called(p.GetLeader())+" (*)", columns(rows), "  Dungeon "+dungeon), nil
}

// runEvents tells what happened in a run.
func (c *call) runEvents(run *dungeonv1.Run, events []*dungeonv1.RunEvent) string {
	called := titles(run)
	var out []string
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	for _, ev := range events {
		switch e := ev.GetEvent().(type) {
		case *dungeonv1.RunEvent_Started:
			say("%s leads the party into %s. Nobody joins any more; belts and forms are locked.", called(e.Started.GetLeader()), dungeonName(run))
		case *dungeonv1.RunEvent_ChallengeDrawn:
			if e.ChallengeDrawn.GetReshuffled() {
				say("The cards are shuffled again.")
			}
			if e.ChallengeDrawn.GetCleared() {
				say("A save point: earlier conditions are gone.")
			}
			if run.GetChallenge() != nil {
				out = append(out, challengeText(run))
			}
		case *dungeonv1.RunEvent_MemberActed:
			out = append(out, acted(run, e.MemberActed))
		case *dungeonv1.RunEvent_RoundCompleted:
			out = append(out, roundText(run, e.RoundCompleted))
		case *dungeonv1.RunEvent_MemberLeft:
			say("%s leaves the dungeon and the party.", c.called(e.MemberLeft.GetCharacter())) // no member any more
		case *dungeonv1.RunEvent_LeaderPromoted:
			say("%s leads now.", called(e.LeaderPromoted.GetLeader()))
		case *dungeonv1.RunEvent_Ended:
			say("The run is over: %s.", outcomes[e.Ended.GetOutcome()])
		}
	}
	return strings.Join(out, "\n")
}

func acted(run *dungeonv1.Run, e *dungeonv1.MemberActed) string {
	called, verb := titles(run), "uses"
	if e.GetAction().GetRisk() {
		verb = "risks"
	}
	m := memberOf(run, e.GetCharacter())
	what := strings.TrimSuffix(does(&dungeonv1.Member{Action: e.GetAction(), Tools: m.GetTools()}), " (risk)")
	s := fmt.Sprintf("%s %s %s.", called(e.GetCharacter()), verb, what)
	if e.GetAction().GetTool() > 0 {
		s = fmt.Sprintf("%s %s %s (%s left).", called(e.GetCharacter()), verb, what, plural(e.GetUsesLeft(), "use"))
		if len(run.GetEffects()) > 0 {
			s += "\n  Effects: " + effects(run)
		}
	}
	if e.GetCleansed() {
		s += "\n  All conditions are gone."
	}
	var waiting []string
	for _, w := range run.GetChallenge().GetWaiting() {
		waiting = append(waiting, called(w))
	}
	if len(waiting) > 0 {
		return s + "\n  Still to act: " + join(waiting, "and") + "."
	}
	return s + fmt.Sprintf("\n  All have acted: %s may give +act/complete.", called(run.GetChallenge().GetDrawer()))
}

var outcomes = map[string]string{
	"won": "won", "lost_retreat": "lost, the party retreats", "lost_exhausted": "lost, nobody can go on", "abandoned": "given up",
}

func roundText(run *dungeonv1.Run, e *dungeonv1.RoundCompleted) string {
	called, result := titles(run), "failed"
	if e.GetPassed() {
		result = "passed"
	}
	var rows [][]string
	for _, r := range e.GetResults() {
		row := []string{called(r.GetCharacter())}
		if r.GetActed() {
			how := "fails"
			if r.GetSuccess() {
				how = "succeeds"
			}
			sum := fmt.Sprintf("die %d + %d", r.GetRoll(), r.GetEffective())
			if r.GetToolBonus() != 0 {
				sum += fmt.Sprintf(" + tool %d", r.GetToolBonus())
			}
			if r.GetRiskBonus() != 0 {
				sum += fmt.Sprintf(" + risk %d", r.GetRiskBonus())
			}
			row = append(row, fmt.Sprintf("%s = %d, %s", sum, r.GetTotal(), how))
		} else {
			row = append(row, "exhausted")
		}
		rows = append(rows, append(row, fmt.Sprintf("exhaustion +%d, now %d", r.GetExhaustionGain(), r.GetExhaustion())))
	}
	s := fmt.Sprintf("Round %d is %s: the party scores %d of %d.\n%s\n  Exploration +%d, now %d.",
		e.GetRound(), result, e.GetScore(), e.GetTarget(), columns(rows), e.GetExplorationGain(), e.GetExploration())
	if e.GetOutcome() != "running" {
		return s + fmt.Sprintf("\nThe run is over: %s.", outcomes[e.GetOutcome()])
	}
	return s
}
