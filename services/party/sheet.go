package party

import (
	"fmt"

	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"

	"github.com/wayfarer-rpg/wayfarer/rules/digger"
	"github.com/wayfarer-rpg/wayfarer/rules/play"
)

// decideSheet decides a command of the Digger rules. What a run has borrowed stays as it is.
func (c character) decideSheet(env digger.Env, cmd digger.SheetCommand) (characterEvents, error) {
	switch cmd.(type) {
	case digger.SwitchForm, digger.LoadTool, digger.UnloadTool: // DIG-BELT-08, DIG-CMD-11
		if err := c.Leases.atRest(partyv1.Facet_FACET_LOADOUT); err != nil {
			return nil, err
		}
	}
	events, err := digger.DecideSheet(c.Sheet, cmd, env)
	if err != nil {
		return nil, err
	}
	out := make(characterEvents, len(events))
	for i, e := range events {
		if out[i], err = sheetEventToProto(e); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// canEnter refuses a form that cannot enter a dungeon (DIG-CHAR-02).
func (c character) canEnter() error {
	if f, _ := c.Sheet.Form(""); f.Statblock == nil {
		return play.Refuse(digger.NoStatblock, "%s has no statblock as %q", c.Title, f.ID)
	}
	return nil
}

// loadoutFacet is what a run borrows: the current form with the tools that are loaded.
func loadoutFacet(rules *digger.Ruleset, c character) *partyv1.LoadoutFacet {
	out := &partyv1.LoadoutFacet{Owner: c.Owner, Title: c.Title, Form: c.Sheet.Current}
	f, _ := c.Sheet.Form("")
	if f.Statblock == nil {
		return out
	}
	out.Abilities = abilitiesToProto(f.Statblock.Abilities)
	for _, t := range toolsToProto(rules, f.Statblock.Tools) {
		if t.GetLoaded() {
			out.Tools = append(out.Tools, t)
		}
	}
	return out
}

// sheetToProto shows a sheet as it is by the rules and the chapter of env.
func sheetToProto(env digger.Env, s digger.Sheet, out *partyv1.Character) {
	out.Cp, out.Dp, out.BeltSlots = i32(s.CP), i32(s.DP(env.Ruleset)), i32(s.Slots(env))
	out.ApplicationOpen, out.CurrentForm = !s.Approved, s.Current
	for _, f := range s.Forms {
		form := &partyv1.Form{Id: f.ID}
		if b := f.Statblock; b != nil {
			form.Statblock = &partyv1.Statblock{
				Abilities: abilitiesToProto(b.Abilities), Tools: toolsToProto(env.Ruleset, b.Tools),
				DpSpent: i32(s.Spent(env, *b)), DpFree: i32(s.Free(env, *b)),
			}
		}
		out.Forms = append(out.Forms, form)
	}
	for _, e := range s.Early {
		if e.Chapter == env.Chapter || !env.Ruleset.Belt.RefundAtNextChapter {
			out.EarlySlots = append(out.EarlySlots, &partyv1.EarlySlot{Chapter: i32(e.Chapter), Dp: i32(e.DP)})
		}
	}
}

func abilitiesFrom(a *partyv1.Abilities) digger.Abilities {
	return digger.Abilities{Brute: int(a.GetBrute()), Agility: int(a.GetAgility()), Wits: int(a.GetWits()), Combat: int(a.GetCombat())}
}

func abilitiesToProto(a digger.Abilities) *partyv1.Abilities {
	return &partyv1.Abilities{Brute: i32(a.Brute), Agility: i32(a.Agility), Wits: i32(a.Wits), Combat: i32(a.Combat)}
}

func toolsFrom(tools []*partyv1.Tool) []digger.Tool {
	out := make([]digger.Tool, len(tools))
	for i, t := range tools {
		out[i] = toolFrom(t)
	}
	return out
}

func toolFrom(t *partyv1.Tool) digger.Tool {
	return digger.Tool{
		ID: t.GetId(), Title: t.GetTitle(), Ability: t.GetAbility(), Rating: t.GetRating(),
		Qualities: t.GetQualities(), Drawback: t.GetDrawback(),
	}
}

func toolToProto(t digger.Tool) *partyv1.Tool {
	return &partyv1.Tool{
		Id: t.ID, Title: t.Title, Ability: t.Ability, Rating: t.Rating, Qualities: t.Qualities, Drawback: t.Drawback,
	}
}

// toolsToProto shows a form's tools with their numbers and uses.
func toolsToProto(rules *digger.Ruleset, tools []digger.Tool) []*partyv1.Tool {
	var out []*partyv1.Tool
	for i, t := range tools {
		shown := toolToProto(t)
		shown.Number, shown.Loaded, shown.Uses = i32(i+1), t.Loaded, i32(rules.Uses(t))
		out = append(out, shown)
	}
	return out
}

func sheetEventToProto(e digger.SheetEvent) (*partyv1.CharacterEvent, error) {
	ev := &partyv1.CharacterEvent{}
	switch e := e.(type) {
	case digger.SheetCreated:
		ev.Event = &partyv1.CharacterEvent_Created{Created: &partyv1.CharacterCreated{Cp: i32(e.CP)}}
	case digger.CPGranted:
		ev.Event = &partyv1.CharacterEvent_PointsGranted{PointsGranted: &partyv1.PointsGranted{Cp: i32(e.CP)}}
	case digger.FormAdded:
		ev.Event = &partyv1.CharacterEvent_FormAdded{FormAdded: &partyv1.FormAdded{Form: e.Form, NoStatblock: e.NoStatblock}}
	case digger.FormSwitched:
		ev.Event = &partyv1.CharacterEvent_FormSwitched{FormSwitched: &partyv1.FormSwitched{Form: e.Form}}
	case digger.AbilitiesSet:
		ev.Event = &partyv1.CharacterEvent_AbilitiesSet{AbilitiesSet: &partyv1.AbilitiesSet{Form: e.Form, Abilities: abilitiesToProto(e.Abilities)}}
	case digger.ToolsBought:
		bought := &partyv1.ToolsBought{Form: e.Form, Price: i32(e.Price), ApplicationBonus: e.Bonus}
		for _, t := range e.Tools {
			bought.Tools = append(bought.Tools, toolToProto(t))
		}
		ev.Event = &partyv1.CharacterEvent_ToolsBought{ToolsBought: bought}
	case digger.SlotBought:
		ev.Event = &partyv1.CharacterEvent_BeltSlotBought{BeltSlotBought: &partyv1.BeltSlotBought{Chapter: i32(e.Chapter), Price: i32(e.Price)}}
	case digger.ToolLoaded:
		ev.Event = &partyv1.CharacterEvent_ToolLoaded{ToolLoaded: &partyv1.ToolLoaded{Form: e.Form, Number: i32(e.Number)}}
	case digger.ToolUnloaded:
		ev.Event = &partyv1.CharacterEvent_ToolUnloaded{ToolUnloaded: &partyv1.ToolUnloaded{Form: e.Form, Number: i32(e.Number)}}
	case digger.SheetApproved:
		ev.Event = &partyv1.CharacterEvent_Approved{Approved: &partyv1.CharacterApproved{}}
	default:
		return nil, fmt.Errorf("unknown sheet event %T", e)
	}
	return ev, nil
}

func sheetEventFrom(ev *partyv1.CharacterEvent) (digger.SheetEvent, error) {
	switch e := ev.GetEvent().(type) {
	case *partyv1.CharacterEvent_Created:
		return digger.SheetCreated{CP: int(e.Created.GetCp())}, nil
	case *partyv1.CharacterEvent_PointsGranted:
		return digger.CPGranted{CP: int(e.PointsGranted.GetCp())}, nil
	case *partyv1.CharacterEvent_FormAdded:
		return digger.FormAdded{Form: e.FormAdded.GetForm(), NoStatblock: e.FormAdded.GetNoStatblock()}, nil
	case *partyv1.CharacterEvent_FormSwitched:
		return digger.FormSwitched{Form: e.FormSwitched.GetForm()}, nil
	case *partyv1.CharacterEvent_AbilitiesSet:
		return digger.AbilitiesSet{Form: e.AbilitiesSet.GetForm(), Abilities: abilitiesFrom(e.AbilitiesSet.GetAbilities())}, nil
	case *partyv1.CharacterEvent_ToolsBought:
		b := e.ToolsBought
		return digger.ToolsBought{Form: b.GetForm(), Tools: toolsFrom(b.GetTools()), Price: int(b.GetPrice()), Bonus: b.GetApplicationBonus()}, nil
	case *partyv1.CharacterEvent_BeltSlotBought:
		return digger.SlotBought{Chapter: int(e.BeltSlotBought.GetChapter()), Price: int(e.BeltSlotBought.GetPrice())}, nil
	case *partyv1.CharacterEvent_ToolLoaded:
		return digger.ToolLoaded{Form: e.ToolLoaded.GetForm(), Number: int(e.ToolLoaded.GetNumber())}, nil
	case *partyv1.CharacterEvent_ToolUnloaded:
		return digger.ToolUnloaded{Form: e.ToolUnloaded.GetForm(), Number: int(e.ToolUnloaded.GetNumber())}, nil
	case *partyv1.CharacterEvent_Approved:
		return digger.SheetApproved{}, nil
	}
	return nil, fmt.Errorf("unknown character event %T", ev.GetEvent())
}
