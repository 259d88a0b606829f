package console

import (
	"fmt"
	"strings"

	dungeonv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dungeon/v1"
)

// clock shows in-game minutes as hours and minutes.
func clock(minutes int32) string { return fmt.Sprintf("%d:%02d", minutes/60, minutes%60) }

var delvePhases = map[dungeonv1.Delve_Phase]string{
	dungeonv1.Delve_PHASE_SETUP_MEMBERS:    "about to be set up: +pool/members",
	dungeonv1.Delve_PHASE_SETUP_PROVISIONS: "being set up: +pool/provisions",
	dungeonv1.Delve_PHASE_SETUP_LIGHTS:     "being set up: +pool/lights",
	dungeonv1.Delve_PHASE_READY:            "ready: +pool/begin",
	dungeonv1.Delve_PHASE_EXPLORING:        "being explored",
	dungeonv1.Delve_PHASE_LEFT:             "left",
}

func areaNames(areas []*dungeonv1.KnownArea) []string {
	out := make([]string, len(areas))
	for i, k := range areas {
		out[i] = toolName(k.GetTitle(), k.GetId())
	}
	return out
}

func lightsText(d *dungeonv1.Delve) string {
	var out []string
	for _, l := range d.GetLights() {
		how := "out"
		switch {
		case l.GetActive():
			how = "lit"
		case l.GetRemaining() == 0:
			how = "spent"
		}
		out = append(out, fmt.Sprintf("%s (%s, %s)", l.GetId(), how, plural2(l.GetRemaining(), "die", "dice")))
	}
	s := orNone(out)
	if d.GetDarkness() {
		s += "; it is dark"
	}
	return s
}

func plural2(n int32, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// delveText shows a delve as it is.
func delveText(d *dungeonv1.Delve) string {
	out := []string{
		fmt.Sprintf("%s is %s.", d.GetTitle(), delvePhases[d.GetPhase()]),
		fmt.Sprintf("  Pool %d of %d, %s in all, %s, time %s.", d.GetPool(), d.GetPoolLimit(), plural2(d.GetDiceEver(), "die", "dice"), plural(d.GetSpillsTotal(), "spill"), clock(d.GetElapsedMinutes())),
	}
	where := ""
	if d.GetArea() != nil {
		where = "  In " + toolName(d.GetArea().GetTitle(), d.GetArea().GetId()) + "."
		if len(d.GetWays()) > 0 {
			where += " Ways to: " + strings.Join(areaNames(d.GetWays()), ", ") + "."
		}
	}
	var state []string
	if d.GetInCombat() {
		state = append(state, "in a fight")
	}
	if d.GetHunkered() {
		state = append(state, "hunkered down")
	}
	if d.GetFreeAction() {
		state = append(state, "one action is free")
	}
	if len(state) > 0 {
		where = lines(where, "  "+upperFirst(strings.Join(state, ", "))+".")
	}
	var spells []string
	for _, s := range d.GetSpells() {
		spells = append(spells, fmt.Sprintf("%s (%s)", s.GetId(), plural2(s.GetDiceLeft(), "die", "dice")))
	}
	provisions := ""
	if d.GetProvisions() != "" {
		provisions = wrapText("Provisions: "+d.GetProvisions(), "  ")
	}
	var rows [][]string
	for _, m := range d.GetMembers() {
		rows = append(rows, []string{m.GetName(), strings.ToLower(m.GetRank()), "sees: " + strings.ToLower(m.GetSees())})
	}
	return lines(append(out, where, "  Lights: "+lightsText(d), "  Spells: "+orNone(spells), provisions, columns(rows))...)
}

func spillText(s *dungeonv1.Spill) string {
	faces := make([]string, len(s.GetFaces()))
	for i, f := range s.GetFaces() {
		faces[i] = fmt.Sprint(f)
	}
	head := fmt.Sprintf("Spill %d: %s.", s.GetNumber(), strings.Join(faces, " "))
	if len(s.GetEvents()) == 0 {
		return head + " Nothing happens."
	}
	out := []string{head}
	for _, e := range s.GetEvents() {
		line := fmt.Sprintf("  %s, %s (d12: %d)", e.GetTitle(), strings.ToLower(s.GetSeverity()), e.GetD12())
		if e.GetInvokes() != "" {
			line += ": " + e.GetInvokes()
		}
		out = append(out, line+".")
		if e.GetShows() != "" {
			out = append(out, wrapText(e.GetShows(), "    "))
		}
	}
	return strings.Join(out, "\n")
}

// delveAnswer is what commands to a delve answer.
type delveAnswer interface {
	GetDelve() *dungeonv1.Delve
	GetEvents() []*dungeonv1.DelveEvent
}

var triggers = map[string]string{
	"REAL_TIME": "Time at the table", "WAIT": "Time passes", "RISK": "Something was noticed", "MOVE": "They move on", "INTERACT": "They look into it",
	"HUNKER_DOWN": "They hunker down", "LEAVE_HUNKER": "They come out", "SHORT_REST": "A short rest", "LONG_REST": "A long rest",
	"COMBAT_START": "A fight begins", "COMBAT_END": "The fight is over", "RAISE_DANGER": "Danger rises",
	// The event that follows tells more.
	"COMBAT_ROUNDS": "", "LIGHT_ADD": "", "LIGHT_ON": "", "LIGHT_OFF": "", "REFUEL": "", "CAST": "", "SPELL_END": "", "LEAVE": "",
}

// delveEvents tells what happened in a delve.
func delveEvents(d *dungeonv1.Delve, events []*dungeonv1.DelveEvent) string { //nolint:cyclop // one line for each event
	var out []string
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	for _, ev := range events {
		switch e := ev.GetEvent().(type) {
		case *dungeonv1.DelveEvent_Opened:
			say("A delve is opened: %s.", d.GetTitle())
		case *dungeonv1.DelveEvent_MembersRecorded:
			names := make([]string, len(d.GetMembers()))
			for i, m := range d.GetMembers() {
				names[i] = m.GetName() + " (" + strings.ToLower(m.GetRank()) + ")"
			}
			say("They march: %s.", join(names, "and"))
		case *dungeonv1.DelveEvent_ProvisionsRecorded:
			say("The provisions are noted.")
		case *dungeonv1.DelveEvent_LightsRecorded:
			say("Lights: %s.", lightsText(d))
		case *dungeonv1.DelveEvent_Begun:
			say("%s lies before them. From now on time counts.", upperFirst(areaOr(d, d.GetEntry())))
		case *dungeonv1.DelveEvent_Triggered:
			what, ok := triggers[e.Triggered.GetTrigger()]
			if !ok {
				what = upperFirst(strings.ToLower(strings.ReplaceAll(e.Triggered.GetTrigger(), "_", " ")))
			}
			if e.Triggered.GetNote() != "" {
				what += " (" + strings.ToLower(strings.ReplaceAll(e.Triggered.GetNote(), "_", " ")) + ")"
			}
			if what != "" {
				say("%s.", what)
			}
			if e.Triggered.GetArea() != "" && d.GetArea() != nil {
				say("They are in %s.", areaOr(d, ""))
			}
		case *dungeonv1.DelveEvent_DiceAdded:
			say("+%s, the pool holds %d of %d.", plural2(e.DiceAdded.GetCount(), "die", "dice"), d.GetPool(), d.GetPoolLimit())
			for _, l := range e.DiceAdded.GetLightsOut() {
				say("%s burns out.", upperFirst(l))
			}
			for _, s := range e.DiceAdded.GetSpellsEnded() {
				say("%s ends.", upperFirst(s))
			}
		case *dungeonv1.DelveEvent_Spilled:
			out = append(out, spillText(e.Spilled))
		case *dungeonv1.DelveEvent_RestInterrupted:
			say("The rest is broken off.")
		case *dungeonv1.DelveEvent_LightsChanged:
			say("Lights: %s.", lightsText(d))
		case *dungeonv1.DelveEvent_SpellCast:
			say("%s begins.", upperFirst(e.SpellCast.GetSpell().GetId()))
		case *dungeonv1.DelveEvent_SpellEnded:
			say("%s ends.", upperFirst(e.SpellEnded.GetId()))
		case *dungeonv1.DelveEvent_RoundsFought:
			say("%s of fighting.", upperFirst(plural(e.RoundsFought.GetRounds(), "round")))
			for _, s := range e.RoundsFought.GetSpellsEnded() {
				say("%s ends.", upperFirst(s))
			}
		case *dungeonv1.DelveEvent_Left:
			say("They leave %s.", d.GetTitle())
		case *dungeonv1.DelveEvent_Remarked:
			if e.Remarked.GetText() != "" {
				say("Noted: %s", e.Remarked.GetText())
			} else {
				say("Noted.")
			}
		}
	}
	if len(out) == 0 {
		return delveText(d)
	}
	return strings.Join(out, "\n")
}

func areaOr(d *dungeonv1.Delve, otherwise string) string {
	if d.GetArea() == nil {
		return otherwise
	}
	return toolName(d.GetArea().GetTitle(), d.GetArea().GetId())
}

// activityText is one line of the log. What is for game masters alone it leaves out: others may be reading along.
func activityText(e *dungeonv1.ActivityEntry) string {
	switch e.GetKind() {
	case "SPILL":
		return strings.ReplaceAll(spillText(e.GetSpill()), "\n", "\n        ")
	case "NARRATED":
		return "The event is " + e.GetNarrated().GetNow().GetTitle() + "."
	case "DARKNESS":
		return "It is dark."
	case "COMBAT_STARTED":
		return "A fight begins."
	case "COMBAT_ENDED":
		return "The fight is over."
	case "REST_INTERRUPTED":
		return "The rest is broken off."
	case "BEGUN":
		return "They begin at " + e.GetText() + "."
	case "LEFT":
		return "They leave."
	}
	return e.GetText()
}
