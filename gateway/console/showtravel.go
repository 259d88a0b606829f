package console

import (
	"fmt"
	"slices"
	"strings"

	travelv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/travel/v1"
)

var journeyPhases = map[travelv1.Journey_Phase]string{
	travelv1.Journey_PHASE_PREPARING: "about to begin",
	travelv1.Journey_PHASE_TRAVELING: "under way",
	travelv1.Journey_PHASE_ENDING:    "ending",
	travelv1.Journey_PHASE_ENDED:     "over",
	travelv1.Journey_PHASE_ABANDONED: "given up",
	travelv1.Journey_PHASE_UNDOING:   "never begun",
	travelv1.Journey_PHASE_UNDONE:    "never begun",
}

// hexText names a hex by column and row, and by what the map calls it.
func hexText(h *travelv1.Hex, r *travelv1.Region) string {
	if h == nil {
		return "off the map"
	}
	for _, m := range r.GetHexes() {
		if m.GetQ() == h.GetQ() && m.GetR() == h.GetR() {
			if m.GetName() == "" {
				return fmt.Sprintf("%s (%s)", coordinatesOf(h), m.GetTerrain())
			}
			return fmt.Sprintf("%s, %s (%s)", m.GetName(), coordinatesOf(h), m.GetTerrain())
		}
	}
	return coordinatesOf(h)
}

// placeName is what people call a location.
func placeName(id string, j *travelv1.Journey, r *travelv1.Region) string {
	for _, p := range places(r.GetLocations(), j.GetDiscoveredLocations(), r.GetHiddenLocations()) {
		if p.also[0] == id {
			return p.label
		}
	}
	return id
}

func foodText(dice []int32) string {
	if len(dice) == 0 {
		return "none"
	}
	out := make([]string, len(dice))
	for i, d := range dice {
		out[i] = fmt.Sprintf("d%d", d)
	}
	return strings.Join(out, " ")
}

func lightText(l *travelv1.Light) string {
	if l == nil || l.GetSides() == 0 {
		return "dark"
	}
	return fmt.Sprintf("%s d%d", l.GetKind(), l.GetSides())
}

func encounterText(e *travelv1.Encounter) string {
	s := fmt.Sprintf("%d %s", e.GetNumber(), e.GetCreature())
	if e.GetNumber() == 1 {
		s = e.GetCreature()
	}
	if e.Reaction != nil {
		s += ", " + e.GetReaction()
		if e.ReactionTotal != nil {
			s += fmt.Sprintf(" (%d)", e.GetReactionTotal())
		}
	}
	if e.GetGold() > 0 {
		s += fmt.Sprintf(", %d gold to loot", e.GetGold())
	}
	if e.GetRemains() {
		s += ", remains"
	}
	if e.GetPlayers() == "impaired" {
		s += "; your attacks are impaired, theirs enhanced"
	}
	return s
}

func vitalsText(m *travelv1.Member) string {
	if m.GetDead() {
		return "dead"
	}
	s := fmt.Sprintf("hp %d/%d, str %d/%d", m.GetHp(), m.GetHpMax(), m.GetStr(), m.GetStrMax())
	for _, x := range []struct {
		n    int32
		what string
	}{{m.GetFoodSlots(), "food"}, {m.GetGear(), "gear"}, {m.GetFatigue(), "Fatigue"}, {m.GetTorches(), "torches"}, {m.GetOil(), "oil"}} {
		if x.n > 0 {
			s += fmt.Sprintf(", %s %d", x.what, x.n)
		}
	}
	if m.GetOverloaded() {
		s += ", overloaded"
	}
	return s
}

// journeyText shows a journey as it is.
func journeyText(j *travelv1.Journey, r *travelv1.Region) string {
	where := "In " + hexText(j.GetHex(), r)
	if j.GetHex() == nil {
		where = "Underground"
	}
	if j.GetInside() != "" {
		where += ", inside " + placeName(j.GetInside(), j, r)
		if j.GetRoom() != "" {
			where += ", in " + j.GetRoom()
		}
	}
	out := []string{fmt.Sprintf("%s: the journey is %s, round %d, turn %d.", r.GetTitle(), journeyPhases[j.GetPhase()], j.GetRound(), j.GetTurn()), "  " + where + "."}
	if len(j.GetWays()) > 0 {
		out = append(out, "  Ways to: "+strings.Join(j.GetWays(), ", "))
	}
	if j.GetInside() == "" {
		var around []string
		for _, l := range here(j, r) {
			around = append(around, fmt.Sprintf("%s (%s)", toolName(l.GetName(), l.GetId()), l.GetKind()))
		}
		if len(around) > 0 {
			out = append(out, "  Here: "+strings.Join(around, ", "))
		}
	}
	pack := []string{"food " + foodText(j.GetFood()), fmt.Sprintf("gold %d", j.GetGold()), "light: " + lightText(j.GetLight())}
	if j.GetLantern() {
		pack = append(pack, "a lantern")
	}
	if j.GetBoat() {
		pack = append(pack, "a boat")
	}
	out = append(out, "  Pack: "+strings.Join(pack, ", "))
	if j.GetStarvingRounds() > 0 {
		out = append(out, fmt.Sprintf("  Hungry for %s.", plural(j.GetStarvingRounds(), "round")))
	}
	for _, l := range j.GetCargo() {
		out = append(out, fmt.Sprintf("  Load: remains of %d %s, worth %d gold, carried by %s", l.GetCount(), l.GetCreature(), l.GetValue(), l.GetCarrier()))
	}
	if j.GetEncounter() != nil {
		out = append(out, "  Met: "+encounterText(j.GetEncounter()))
	}
	var rows [][]string
	for _, m := range j.GetMembers() {
		rows = append(rows, []string{m.GetName(), vitalsText(m)})
	}
	return lines(append(out, columns(rows))...)
}

// usageText tells a check of a usage die.
func usageText(u *travelv1.UsageCheck) string {
	how := fmt.Sprintf("d%d", u.GetSides())
	if u.GetDice() > 1 {
		how = fmt.Sprintf("%s of %d d%d", u.GetKeep(), u.GetDice(), u.GetSides())
	}
	s := fmt.Sprintf("Food: %s shows %d", how, u.GetKept())
	switch {
	case !u.GetSteppedDown():
		return s + ", it lasts."
	case u.GetNext() == 0:
		return s + ", that was the last of it."
	}
	return fmt.Sprintf("%s, down to d%d.", s, u.GetNext())
}

var foraged = map[string]string{
	"failed": "Nothing is found to eat.", "from_out": "There is food again.", "raised": "There is more food.", "added_die": "There is more food.",
	"at_max": "Nobody needs more food.", "no_gain": "What is found is not worth carrying.", "no_room": "Nobody can carry more food.",
}

var activities = map[string]string{
	"move": "the company moves on", "search": "the company searches", "forage": "the company forages", "remains": "remains are prepared",
	"room": "the company goes on", "activity": "time passes", "combat": "the fight is over", "retreat": "the company retreats",
}

// journeyEvents tells what happened on a journey.
func journeyEvents(j *travelv1.Journey, r *travelv1.Region, events []*travelv1.JourneyEvent) string { //nolint:cyclop,funlen,gocyclo,maintidx // one line for each event
	var out []string
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	for _, ev := range events {
		switch e := ev.GetEvent().(type) {
		case *travelv1.JourneyEvent_Started:
			names := make([]string, len(e.Started.GetMembers()))
			for i, m := range e.Started.GetMembers() {
				names[i] = m.GetName()
			}
			say("%s set out in %s. Food %s, gold %d.", join(names, "and"), hexText(e.Started.GetHex(), r), foodText(e.Started.GetFood()), e.Started.GetGold())
		case *travelv1.JourneyEvent_Ending:
			say("The journey is over; everybody has their own back.")
		case *travelv1.JourneyEvent_RoundBegun:
			say("Round %d: %s.", e.RoundBegun.GetRound(), activities[e.RoundBegun.GetActivity()])
		case *travelv1.JourneyEvent_TurnBegun:
			say("Turn %d: %s.", e.TurnBegun.GetTurn(), activities[e.TurnBegun.GetTrigger()])
		case *travelv1.JourneyEvent_Moved:
			say("By %s into %s.", e.Moved.GetVia(), hexText(e.Moved.GetTo(), r))
		case *travelv1.JourneyEvent_UsageChecked:
			out = append(out, usageText(e.UsageChecked.GetUsage()))
		case *travelv1.JourneyEvent_FoodChanged:
			say("Food now: %s.", foodText(e.FoodChanged.GetFood()))
		case *travelv1.JourneyEvent_Hungered:
			say("Hunger acts, in round %d without food.", e.Hungered.GetRounds())
		case *travelv1.JourneyEvent_HungerEnded:
			say("Nobody is hungry any more.")
		case *travelv1.JourneyEvent_MembersChanged:
			for _, m := range e.MembersChanged.GetMembers() {
				say("  %s: %s", m.GetName(), vitalsText(m))
			}
		case *travelv1.JourneyEvent_MemberDied:
			say("%s dies.", e.MemberDied.GetName())
		case *travelv1.JourneyEvent_LocationsFound:
			var found []string
			for _, id := range e.LocationsFound.GetLocations() {
				found = append(found, placeName(id, j, r))
			}
			say("Found: %s.", orNone(found))
		case *travelv1.JourneyEvent_SearchRolled:
			say("The search rolls %d: %s.", e.SearchRolled.GetFace(), map[bool]string{true: "it succeeds", false: "it fails"}[e.SearchRolled.GetSuccess()])
		case *travelv1.JourneyEvent_Foraged:
			out = append(out, foraged[e.Foraged.GetResult()])
		case *travelv1.JourneyEvent_EncounterChecked:
			if !e.EncounterChecked.GetMet() {
				say("Encounter check %d: nobody.", e.EncounterChecked.GetFace())
			} else {
				say("Encounter check %d: somebody comes.", e.EncounterChecked.GetFace())
			}
		case *travelv1.JourneyEvent_EncounterMet:
			say("Met: %s.", encounterText(e.EncounterMet.GetEncounter()))
		case *travelv1.JourneyEvent_LocationEntered:
			say("The company enters %s.", placeName(e.LocationEntered.GetLocation(), j, r))
		case *travelv1.JourneyEvent_LocationLeft:
			say("The company leaves %s.", placeName(e.LocationLeft.GetLocation(), j, r))
		case *travelv1.JourneyEvent_FoodBought:
			say("Food is bought for %d gold; %d gold left.", e.FoodBought.GetPaid(), e.FoodBought.GetGold())
		case *travelv1.JourneyEvent_GearBought:
			what := e.GearBought.GetItem()
			if e.GearBought.GetCarrier() != "" {
				what = fmt.Sprintf("%d %s for %s", e.GearBought.GetCount(), what, e.GearBought.GetCarrier())
			}
			say("Bought: %s, for %d gold; %d gold left.", what, e.GearBought.GetPaid(), e.GearBought.GetGold())
		case *travelv1.JourneyEvent_Looted:
			say("%d gold is taken; the company has %d.", e.Looted.GetTaken(), e.Looted.GetGold())
		case *travelv1.JourneyEvent_RemainsPrepared:
			l := e.RemainsPrepared.GetLoad()
			if e.RemainsPrepared.GetLost() {
				say("The load is lost with %s.", l.GetCarrier())
			} else {
				say("%s carries the remains of %d %s, worth %d gold.", l.GetCarrier(), l.GetCount(), l.GetCreature(), l.GetValue())
			}
		case *travelv1.JourneyEvent_RemainsSold:
			say("The loads are sold for %d gold; the company has %d.", e.RemainsSold.GetEarned(), e.RemainsSold.GetGold())
		case *travelv1.JourneyEvent_FoodSlotsFreed:
			say("%s of eaten food came free.", plural(e.FoodSlotsFreed.GetFreed(), "slot"))
		case *travelv1.JourneyEvent_FoodDistributed:
			say("The food is handed out anew.")
		case *travelv1.JourneyEvent_Harmed:
			say("%s is harmed: hp -%d, str -%d.", e.Harmed.GetName(), e.Harmed.GetHp(), e.Harmed.GetStr())
		case *travelv1.JourneyEvent_Rested:
			say("The company rests%s.", map[bool]string{true: " long", false: ""}[e.Rested.GetLong()])
		case *travelv1.JourneyEvent_MemberJoined:
			say("%s comes along: %s.", e.MemberJoined.GetMember().GetName(), vitalsText(e.MemberJoined.GetMember()))
		case *travelv1.JourneyEvent_MemberLeft:
			say("%s goes their own way.", e.MemberLeft.GetName())
		case *travelv1.JourneyEvent_LightLit:
			say("A light burns, from %s: %s.", e.LightLit.GetFrom(), lightText(e.LightLit.GetLight()))
		case *travelv1.JourneyEvent_LightChecked:
			s := fmt.Sprintf("Light: d%d shows %d, %s.", e.LightChecked.GetSides(), e.LightChecked.GetFace(), lightText(e.LightChecked.GetLight()))
			if e.LightChecked.GetReplaced() != "" {
				s += fmt.Sprintf(" A spare %s of %s is lit.", e.LightChecked.GetReplaced(), e.LightChecked.GetFrom())
			}
			out = append(out, s)
		case *travelv1.JourneyEvent_RoomEntered:
			say("The company is in %s.", e.RoomEntered.GetRoom())
			if len(j.GetWays()) > 0 {
				say("Ways to: %s.", strings.Join(j.GetWays(), ", "))
			}
		}
	}
	return strings.Join(slices.DeleteFunc(out, func(s string) bool { return s == "" }), "\n")
}
