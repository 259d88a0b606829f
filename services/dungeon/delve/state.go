package delve

import (
	"encoding/json"
	"fmt"

	"google.golang.org/protobuf/types/known/structpb"

	dungeonv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dungeon/v1"

	"github.com/wayfarer-rpg/wayfarer/rules/dangerpool"
	"github.com/wayfarer-rpg/wayfarer/services/adapter"
)

// delve is the fold of a delve's events: the game, and what surrounds it.
type delve struct {
	Dungeon    string `json:"dungeon,omitempty"`
	Continues  string `json:"continues,omitempty"`
	Expedition string `json:"expedition,omitempty"`
	Stream     string `json:"stream"`
	Commitment []byte `json:"commitment"`
	// Opener is the character that opened the delve, with the subject whose it is; empty when a game master did.
	Opener      string `json:"opener,omitempty"`
	OpenerOwner string `json:"opener_owner,omitempty"`
	// Owners tells whose the members are.
	Owners  map[string]string `json:"owners,omitempty"`
	Game    dangerpool.Delve  `json:"game"`
	Settled bool              `json:"settled,omitempty"`
}

var spec = adapter.Spec[delve, *dungeonv1.DelveEvent]{
	Kind: "delve", Version: 1,
	New:    func() *dungeonv1.DelveEvent { return &dungeonv1.DelveEvent{} },
	Apply:  delve.apply,
	Stream: func(d delve) string { return d.Stream },
	Ended:  func(d delve) bool { return d.Settled },
}

// owes tells whether the seed is still to be published.
func (d delve) owes() bool { return d.Game.Over() && !d.Settled }

// owner tells whose a character is that may act in the delve.
func (d delve) owner(character string) (string, bool) {
	if owner, ok := d.Owners[character]; ok {
		return owner, true
	}
	return d.OpenerOwner, d.Opener != "" && d.Opener == character
}

// apply folds one event without changing what the old state refers to.
func (d delve) apply(e *dungeonv1.DelveEvent) (delve, error) {
	switch ev := e.GetEvent().(type) {
	case *dungeonv1.DelveEvent_Settled:
		d.Settled = true
		return d, nil
	case *dungeonv1.DelveEvent_Opened:
		o := ev.Opened
		d.Dungeon, d.Continues, d.Expedition, d.Stream, d.Commitment = o.GetDungeon(), o.GetContinues(), o.GetExpedition(), o.GetStream(), o.GetCommitment()
		d.Opener, d.OpenerOwner = o.GetCharacter(), o.GetOwner()
	case *dungeonv1.DelveEvent_MembersRecorded:
		d.Owners = map[string]string{}
		for _, m := range ev.MembersRecorded.GetMembers() {
			if m.GetCharacter() != "" {
				d.Owners[m.GetCharacter()] = m.GetOwner()
			}
		}
	}
	game, err := eventFrom(e)
	if err != nil {
		return d, err
	}
	d.Game = dangerpool.Apply(d.Game, game)
	return d, nil
}

func structOf(v any) (*structpb.Struct, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	s := &structpb.Struct{}
	return s, s.UnmarshalJSON(raw)
}

// eventsOf maps what the rules decided. Owners tells whose the members are, after it.
func eventsOf(rs *dangerpool.Ruleset, events []dangerpool.Event, owners map[string]string) ([]*dungeonv1.DelveEvent, error) {
	out := make([]*dungeonv1.DelveEvent, len(events))
	for i, e := range events {
		var err error
		if out[i], err = eventOf(rs, e); err != nil {
			return nil, err
		}
		for _, m := range out[i].GetMembersRecorded().GetMembers() {
			m.Owner = owners[m.GetCharacter()]
		}
	}
	return out, nil
}

// eventOf maps a rules' event to the one that is journaled; what surrounds play is not in it.
func eventOf(rs *dangerpool.Ruleset, e dangerpool.Event) (*dungeonv1.DelveEvent, error) {
	switch ev := e.(type) {
	case dangerpool.Opened:
		document, err := structOf(ev.Ruleset)
		if err != nil {
			return nil, err
		}
		return &dungeonv1.DelveEvent{Event: &dungeonv1.DelveEvent_Opened{Opened: &dungeonv1.DelveOpened{
			Ruleset: document, Title: ev.Map.Title, Map: mapOf(ev.Map), Entry: ev.Entry, InvokedBy: invokedBy(ev.InvokedBy), Pool: i32(ev.Pool),
		}}}, nil
	case dangerpool.MembersRecorded:
		out := &dungeonv1.MembersRecorded{}
		for _, m := range ev.Members {
			out.Members = append(out.Members, memberOf(m))
		}
		return &dungeonv1.DelveEvent{Event: &dungeonv1.DelveEvent_MembersRecorded{MembersRecorded: out}}, nil
	case dangerpool.ProvisionsRecorded:
		return &dungeonv1.DelveEvent{Event: &dungeonv1.DelveEvent_ProvisionsRecorded{ProvisionsRecorded: &dungeonv1.ProvisionsRecorded{Note: ev.Note}}}, nil
	case dangerpool.LightsRecorded:
		out := &dungeonv1.LightsRecorded{Lights: lightsOf(ev.Lights)}
		for _, s := range ev.Spells {
			out.Spells = append(out.Spells, spellOf(s))
		}
		return &dungeonv1.DelveEvent{Event: &dungeonv1.DelveEvent_LightsRecorded{LightsRecorded: out}}, nil
	case dangerpool.Begun:
		return &dungeonv1.DelveEvent{Event: &dungeonv1.DelveEvent_Begun{Begun: &dungeonv1.DelveBegun{Area: ev.Area}}}, nil
	case dangerpool.Triggered:
		return &dungeonv1.DelveEvent{Event: &dungeonv1.DelveEvent_Triggered{Triggered: &dungeonv1.Triggered{
			Trigger: ev.Trigger, Note: ev.Note, RealClock: i32(ev.RealClock), WaitClock: i32(ev.WaitClock), InCombat: ev.InCombat,
			CombatMinutes: i32(ev.CombatMinutes), Hunkered: ev.Hunkered, FreeAction: ev.FreeAction, Area: ev.Area,
		}}}, nil
	case dangerpool.DiceAdded:
		return &dungeonv1.DelveEvent{Event: &dungeonv1.DelveEvent_DiceAdded{DiceAdded: &dungeonv1.DiceAdded{
			Count: i32(ev.Count), Unpriced: i32(ev.Unpriced), LightsOut: ev.LightsOut, SpellsEnded: ev.SpellsEnded,
		}}}, nil
	case dangerpool.Spilled:
		return &dungeonv1.DelveEvent{Event: &dungeonv1.DelveEvent_Spilled{Spilled: spillOf(rs, ev)}}, nil
	case dangerpool.RestInterrupted:
		return &dungeonv1.DelveEvent{Event: &dungeonv1.DelveEvent_RestInterrupted{RestInterrupted: &dungeonv1.RestInterrupted{}}}, nil
	case dangerpool.LightsChanged:
		return &dungeonv1.DelveEvent{Event: &dungeonv1.DelveEvent_LightsChanged{LightsChanged: &dungeonv1.LightsChanged{
			Trigger: ev.Trigger, Lights: lightsOf(ev.Lights), Dropped: ev.Dropped,
		}}}, nil
	case dangerpool.SpellCast:
		return &dungeonv1.DelveEvent{Event: &dungeonv1.DelveEvent_SpellCast{SpellCast: &dungeonv1.SpellCast{Spell: spellOf(ev.Spell)}}}, nil
	case dangerpool.SpellEnded:
		return &dungeonv1.DelveEvent{Event: &dungeonv1.DelveEvent_SpellEnded{SpellEnded: &dungeonv1.SpellEnded{Id: ev.ID}}}, nil
	case dangerpool.RoundsFought:
		return &dungeonv1.DelveEvent{Event: &dungeonv1.DelveEvent_RoundsFought{RoundsFought: &dungeonv1.RoundsFought{
			Rounds: i32(ev.Rounds), Seconds: i32(ev.Seconds), SpellsEnded: ev.SpellsEnded,
		}}}, nil
	case dangerpool.Departed:
		return &dungeonv1.DelveEvent{Event: &dungeonv1.DelveEvent_Left{Left: &dungeonv1.DelveLeft{Target: ev.Target}}}, nil
	case dangerpool.EventNarrated:
		return &dungeonv1.DelveEvent{Event: &dungeonv1.DelveEvent_EventNarrated{EventNarrated: narratedOf(rs, ev)}}, nil
	case dangerpool.Remarked:
		out := &dungeonv1.Remarked{Text: ev.Text}
		if ev.Secret {
			out = &dungeonv1.Remarked{GmText: ev.Text}
		}
		return &dungeonv1.DelveEvent{Event: &dungeonv1.DelveEvent_Remarked{Remarked: out}}, nil
	case dangerpool.Adjusted:
		return &dungeonv1.DelveEvent{Event: &dungeonv1.DelveEvent_Adjusted{Adjusted: &dungeonv1.DelveAdjusted{
			Reason: ev.Reason, Pool: i32Ptr(ev.Pool), RealClock: i32Ptr(ev.RealClock), WaitClock: i32Ptr(ev.WaitClock),
			Hunkered: ev.Hunkered, FreeAction: ev.FreeAction, Area: ev.Area,
		}}}, nil
	}
	return nil, fmt.Errorf("no message for delve event %T", e)
}

// eventFrom maps a journaled event to the rules' event.
func eventFrom(e *dungeonv1.DelveEvent) (dangerpool.Event, error) {
	switch ev := e.GetEvent().(type) {
	case *dungeonv1.DelveEvent_Opened:
		o := ev.Opened
		raw, err := o.GetRuleset().MarshalJSON()
		if err != nil {
			return nil, err
		}
		rs, err := dangerpool.Parse(raw)
		if err != nil {
			return nil, err
		}
		return dangerpool.Opened{Ruleset: rs, Map: mapFrom(o.GetMap()), Entry: o.GetEntry(), InvokedBy: invokers[o.GetInvokedBy()], Pool: int(o.GetPool())}, nil
	case *dungeonv1.DelveEvent_MembersRecorded:
		out := dangerpool.MembersRecorded{}
		for _, m := range ev.MembersRecorded.GetMembers() {
			out.Members = append(out.Members, dangerpool.Member{
				Name: m.GetName(), Character: m.GetCharacter(), Kind: m.GetKind(), Rank: m.GetRank(), Darkvision: m.GetDarkvision(),
			})
		}
		return out, nil
	case *dungeonv1.DelveEvent_ProvisionsRecorded:
		return dangerpool.ProvisionsRecorded{Note: ev.ProvisionsRecorded.GetNote()}, nil
	case *dungeonv1.DelveEvent_LightsRecorded:
		out := dangerpool.LightsRecorded{Lights: lightsFrom(ev.LightsRecorded.GetLights())}
		for _, s := range ev.LightsRecorded.GetSpells() {
			out.Spells = append(out.Spells, spellFrom(s))
		}
		return out, nil
	case *dungeonv1.DelveEvent_Begun:
		return dangerpool.Begun{Area: ev.Begun.GetArea()}, nil
	case *dungeonv1.DelveEvent_Triggered:
		t := ev.Triggered
		return dangerpool.Triggered{
			Trigger: t.GetTrigger(), Note: t.GetNote(), RealClock: int(t.GetRealClock()), WaitClock: int(t.GetWaitClock()), InCombat: t.GetInCombat(),
			CombatMinutes: int(t.GetCombatMinutes()), Hunkered: t.GetHunkered(), FreeAction: t.GetFreeAction(), Area: t.GetArea(),
		}, nil
	case *dungeonv1.DelveEvent_DiceAdded:
		a := ev.DiceAdded
		return dangerpool.DiceAdded{Count: int(a.GetCount()), Unpriced: int(a.GetUnpriced()), LightsOut: a.GetLightsOut(), SpellsEnded: a.GetSpellsEnded()}, nil
	case *dungeonv1.DelveEvent_Spilled:
		return spillFrom(ev.Spilled), nil
	case *dungeonv1.DelveEvent_RestInterrupted:
		return dangerpool.RestInterrupted{}, nil
	case *dungeonv1.DelveEvent_LightsChanged:
		c := ev.LightsChanged
		return dangerpool.LightsChanged{Trigger: c.GetTrigger(), Lights: lightsFrom(c.GetLights()), Dropped: c.GetDropped()}, nil
	case *dungeonv1.DelveEvent_SpellCast:
		return dangerpool.SpellCast{Spell: spellFrom(ev.SpellCast.GetSpell())}, nil
	case *dungeonv1.DelveEvent_SpellEnded:
		return dangerpool.SpellEnded{ID: ev.SpellEnded.GetId()}, nil
	case *dungeonv1.DelveEvent_RoundsFought:
		r := ev.RoundsFought
		return dangerpool.RoundsFought{Rounds: int(r.GetRounds()), Seconds: int(r.GetSeconds()), SpellsEnded: r.GetSpellsEnded()}, nil
	case *dungeonv1.DelveEvent_Left:
		return dangerpool.Departed{Target: ev.Left.GetTarget()}, nil
	case *dungeonv1.DelveEvent_EventNarrated:
		n := ev.EventNarrated
		return dangerpool.EventNarrated{Spill: int(n.GetSpill()), Event: int(n.GetEvent()), Now: dangerFrom(n.GetNow())}, nil
	case *dungeonv1.DelveEvent_Remarked:
		if secret := ev.Remarked.GetGmText(); secret != "" {
			return dangerpool.Remarked{Text: secret, Secret: true}, nil
		}
		return dangerpool.Remarked{Text: ev.Remarked.GetText()}, nil
	case *dungeonv1.DelveEvent_Adjusted:
		a := ev.Adjusted
		return dangerpool.Adjusted{
			Reason: a.GetReason(), Pool: intPtr(a.Pool), RealClock: intPtr(a.RealClock), WaitClock: intPtr(a.WaitClock),
			Hunkered: a.Hunkered, FreeAction: a.FreeAction, Area: a.Area,
		}, nil
	}
	return nil, fmt.Errorf("unknown delve event %T", e.GetEvent())
}

// eventsFrom maps journaled events; the one of the dice, which is no rule's, is left out.
func eventsFrom(events []*dungeonv1.DelveEvent) ([]dangerpool.Event, error) {
	var out []dangerpool.Event
	for _, e := range events {
		if e.GetSettled() != nil {
			continue
		}
		game, err := eventFrom(e)
		if err != nil {
			return nil, err
		}
		out = append(out, game)
	}
	return out, nil
}

// invokers are the rules' words for what calls for a delve.
var invokers = map[dungeonv1.InvokedBy]string{
	dungeonv1.InvokedBy_INVOKED_BY_BASIC_GAME_LOOP: dangerpool.ByGameLoop,
	dungeonv1.InvokedBy_INVOKED_BY_CLEARING:        dangerpool.ByClearing,
	dungeonv1.InvokedBy_INVOKED_BY_DM_JUDGMENT:     dangerpool.ByJudgment,
}

func invokedBy(word string) dungeonv1.InvokedBy {
	for by, w := range invokers {
		if w == word {
			return by
		}
	}
	return dungeonv1.InvokedBy_INVOKED_BY_UNSPECIFIED
}
