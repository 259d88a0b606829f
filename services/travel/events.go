package travel

import (
	"fmt"

	travelv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/travel/v1"

	"github.com/wayfarer-rpg/wayfarer/rules/diedrop"
)

// eventTo maps an event of the rules to the contract. The beginning is mapped by [startedTo], which has more to tell.
// Missions are no part of the contract.
func eventTo(e diedrop.Event) (*travelv1.JourneyEvent, error) {
	out := &travelv1.JourneyEvent{}
	switch x := e.(type) {
	case diedrop.RoundBegun:
		out.Event = &travelv1.JourneyEvent_RoundBegun{RoundBegun: &travelv1.RoundBegun{Activity: x.Activity, Round: i32(x.Round)}}
	case diedrop.Moved:
		out.Event = &travelv1.JourneyEvent_Moved{Moved: &travelv1.Moved{To: hexTo(x.To), Via: string(x.Via), Terrain: x.Terrain}}
	case diedrop.UsageChecked:
		out.Event = &travelv1.JourneyEvent_UsageChecked{UsageChecked: &travelv1.UsageChecked{Usage: usageTo(x.Usage)}}
	case diedrop.FoodChanged:
		out.Event = &travelv1.JourneyEvent_FoodChanged{FoodChanged: &travelv1.FoodChanged{Food: i32s(x.Food), Why: x.Why}}
	case diedrop.Hungered:
		out.Event = &travelv1.JourneyEvent_Hungered{Hungered: &travelv1.Hungered{Rounds: i32(x.Rounds)}}
	case diedrop.HungerEnded:
		out.Event = &travelv1.JourneyEvent_HungerEnded{HungerEnded: &travelv1.HungerEnded{}}
	case diedrop.MembersChanged:
		out.Event = &travelv1.JourneyEvent_MembersChanged{MembersChanged: &travelv1.MembersChanged{Members: each(x.Members, memberTo)}}
	case diedrop.MemberDied:
		out.Event = &travelv1.JourneyEvent_MemberDied{MemberDied: &travelv1.MemberDied{Name: x.Name}}
	case diedrop.LocationsFound:
		out.Event = &travelv1.JourneyEvent_LocationsFound{LocationsFound: &travelv1.LocationsFound{Locations: x.Locations}}
	case diedrop.SearchRolled:
		out.Event = &travelv1.JourneyEvent_SearchRolled{SearchRolled: &travelv1.SearchRolled{Face: i32(x.Face), Success: x.Success}}
	case diedrop.Foraged:
		out.Event = &travelv1.JourneyEvent_Foraged{Foraged: &travelv1.Foraged{Result: x.Result}}
	case diedrop.EncounterChecked:
		out.Event = &travelv1.JourneyEvent_EncounterChecked{EncounterChecked: &travelv1.EncounterChecked{Face: i32(x.Face), Met: x.Met, Dark: x.Dark}}
	case diedrop.EncounterMet:
		out.Event = &travelv1.JourneyEvent_EncounterMet{EncounterMet: &travelv1.EncounterMet{Encounter: encounterTo(x.Encounter)}}
	case diedrop.LocationEntered:
		out.Event = &travelv1.JourneyEvent_LocationEntered{LocationEntered: &travelv1.LocationEntered{Location: x.Location}}
	case diedrop.LocationLeft:
		out.Event = &travelv1.JourneyEvent_LocationLeft{LocationLeft: &travelv1.LocationLeft{Location: x.Location}}
	case diedrop.FoodBought:
		out.Event = &travelv1.JourneyEvent_FoodBought{FoodBought: &travelv1.FoodBought{Steps: i32(x.Steps), Slots: i32(x.Slots), Paid: i32(x.Paid), Gold: i32(x.Gold)}}
	case diedrop.GearBought:
		out.Event = &travelv1.JourneyEvent_GearBought{GearBought: &travelv1.GearBought{Item: x.Item, Count: i32(x.Count), Carrier: x.Carrier, Paid: i32(x.Paid), Gold: i32(x.Gold)}}
	case diedrop.Looted:
		out.Event = &travelv1.JourneyEvent_Looted{Looted: &travelv1.Looted{Taken: i32(x.Taken), Gold: i32(x.Gold)}}
	case diedrop.RemainsTaken:
		out.Event = &travelv1.JourneyEvent_RemainsTaken{RemainsTaken: &travelv1.RemainsTaken{}}
	case diedrop.RemainsPrepared:
		out.Event = &travelv1.JourneyEvent_RemainsPrepared{RemainsPrepared: &travelv1.RemainsPrepared{Load: loadTo(x.Load), Lost: x.Lost}}
	case diedrop.RemainsSold:
		out.Event = &travelv1.JourneyEvent_RemainsSold{RemainsSold: &travelv1.RemainsSold{Earned: i32(x.Earned), Gold: i32(x.Gold)}}
	case diedrop.FoodSlotsFreed:
		out.Event = &travelv1.JourneyEvent_FoodSlotsFreed{FoodSlotsFreed: &travelv1.FoodSlotsFreed{Freed: i32(x.Freed)}}
	case diedrop.FoodDistributed:
		out.Event = &travelv1.JourneyEvent_FoodDistributed{FoodDistributed: &travelv1.FoodDistributed{}}
	case diedrop.Harmed:
		out.Event = &travelv1.JourneyEvent_Harmed{Harmed: &travelv1.Harmed{Name: x.Name, Hp: i32(x.HP), Str: i32(x.STR)}}
	case diedrop.Rested:
		out.Event = &travelv1.JourneyEvent_Rested{Rested: &travelv1.Rested{Long: x.Long}}
	case diedrop.MemberJoined:
		out.Event = &travelv1.JourneyEvent_MemberJoined{MemberJoined: &travelv1.MemberJoined{Member: memberTo(x.Member)}}
	case diedrop.MemberLeft:
		out.Event = &travelv1.JourneyEvent_MemberLeft{MemberLeft: &travelv1.MemberLeft{Name: x.Name}}
	case diedrop.CargoChanged:
		out.Event = &travelv1.JourneyEvent_CargoChanged{CargoChanged: &travelv1.CargoChanged{Cargo: each(x.Cargo, loadTo)}}
	case diedrop.LightLit:
		out.Event = &travelv1.JourneyEvent_LightLit{LightLit: &travelv1.LightLit{Light: lightTo(x.Light), From: x.From}}
	case diedrop.LightChecked:
		out.Event = &travelv1.JourneyEvent_LightChecked{LightChecked: &travelv1.LightChecked{Sides: i32(x.Sides), Face: i32(x.Face), SteppedDown: x.SteppedDown, Light: some(x.Light, lightTo), Replaced: x.Replaced, From: x.From}}
	case diedrop.RoomEntered:
		out.Event = &travelv1.JourneyEvent_RoomEntered{RoomEntered: &travelv1.RoomEntered{Room: x.Room, Retreat: x.Retreat}}
	case diedrop.TurnBegun:
		out.Event = &travelv1.JourneyEvent_TurnBegun{TurnBegun: &travelv1.TurnBegun{Trigger: x.Trigger, Turn: i32(x.Turn)}}
	case diedrop.Adjusted:
		out.Event = &travelv1.JourneyEvent_Adjusted{Adjusted: &travelv1.Adjusted{Reason: x.Reason, Gold: optInt32(x.Gold), Boat: x.Boat, Lantern: x.Lantern, Light: some(x.Light, lightTo), Position: some(x.Position, positionTo), Visited: x.Visited}}
	default:
		return nil, fmt.Errorf("%T has no place in the contract", e)
	}
	return out, nil
}

func eventsTo(events []diedrop.Event) ([]*travelv1.JourneyEvent, error) {
	var out []*travelv1.JourneyEvent
	for _, e := range events {
		x, err := eventTo(e)
		if err != nil {
			return nil, err
		}
		out = append(out, x)
	}
	return out, nil
}

// eventFrom maps an event of the contract back to the rules. Events of the saga are not theirs; ok is false then.
func eventFrom(ev *travelv1.JourneyEvent) (e diedrop.Event, ok bool) {
	switch w := ev.GetEvent().(type) {
	case *travelv1.JourneyEvent_RoundBegun:
		x := w.RoundBegun
		return diedrop.RoundBegun{Activity: x.GetActivity(), Round: int(x.GetRound())}, true
	case *travelv1.JourneyEvent_Moved:
		x := w.Moved
		return diedrop.Moved{To: hexFrom(x.GetTo()), Via: diedrop.Route(x.GetVia()), Terrain: x.GetTerrain()}, true
	case *travelv1.JourneyEvent_UsageChecked:
		x := w.UsageChecked
		return diedrop.UsageChecked{Usage: usageFrom(x.GetUsage())}, true
	case *travelv1.JourneyEvent_FoodChanged:
		x := w.FoodChanged
		return diedrop.FoodChanged{Food: ints(x.GetFood()), Why: x.GetWhy()}, true
	case *travelv1.JourneyEvent_Hungered:
		x := w.Hungered
		return diedrop.Hungered{Rounds: int(x.GetRounds())}, true
	case *travelv1.JourneyEvent_HungerEnded:
		return diedrop.HungerEnded{}, true
	case *travelv1.JourneyEvent_MembersChanged:
		x := w.MembersChanged
		return diedrop.MembersChanged{Members: each(x.GetMembers(), memberFrom)}, true
	case *travelv1.JourneyEvent_MemberDied:
		x := w.MemberDied
		return diedrop.MemberDied{Name: x.GetName()}, true
	case *travelv1.JourneyEvent_LocationsFound:
		x := w.LocationsFound
		return diedrop.LocationsFound{Locations: x.GetLocations()}, true
	case *travelv1.JourneyEvent_SearchRolled:
		x := w.SearchRolled
		return diedrop.SearchRolled{Face: int(x.GetFace()), Success: x.GetSuccess()}, true
	case *travelv1.JourneyEvent_Foraged:
		x := w.Foraged
		return diedrop.Foraged{Result: x.GetResult()}, true
	case *travelv1.JourneyEvent_EncounterChecked:
		x := w.EncounterChecked
		return diedrop.EncounterChecked{Face: int(x.GetFace()), Met: x.GetMet(), Dark: x.GetDark()}, true
	case *travelv1.JourneyEvent_EncounterMet:
		x := w.EncounterMet
		return diedrop.EncounterMet{Encounter: encounterFrom(x.GetEncounter())}, true
	case *travelv1.JourneyEvent_LocationEntered:
		x := w.LocationEntered
		return diedrop.LocationEntered{Location: x.GetLocation()}, true
	case *travelv1.JourneyEvent_LocationLeft:
		x := w.LocationLeft
		return diedrop.LocationLeft{Location: x.GetLocation()}, true
	case *travelv1.JourneyEvent_FoodBought:
		x := w.FoodBought
		return diedrop.FoodBought{Steps: int(x.GetSteps()), Slots: int(x.GetSlots()), Paid: int(x.GetPaid()), Gold: int(x.GetGold())}, true
	case *travelv1.JourneyEvent_GearBought:
		x := w.GearBought
		return diedrop.GearBought{Item: x.GetItem(), Count: int(x.GetCount()), Carrier: x.GetCarrier(), Paid: int(x.GetPaid()), Gold: int(x.GetGold())}, true
	case *travelv1.JourneyEvent_Looted:
		x := w.Looted
		return diedrop.Looted{Taken: int(x.GetTaken()), Gold: int(x.GetGold())}, true
	case *travelv1.JourneyEvent_RemainsTaken:
		return diedrop.RemainsTaken{}, true
	case *travelv1.JourneyEvent_RemainsPrepared:
		x := w.RemainsPrepared
		return diedrop.RemainsPrepared{Load: loadFrom(x.GetLoad()), Lost: x.GetLost()}, true
	case *travelv1.JourneyEvent_RemainsSold:
		x := w.RemainsSold
		return diedrop.RemainsSold{Earned: int(x.GetEarned()), Gold: int(x.GetGold())}, true
	case *travelv1.JourneyEvent_FoodSlotsFreed:
		x := w.FoodSlotsFreed
		return diedrop.FoodSlotsFreed{Freed: int(x.GetFreed())}, true
	case *travelv1.JourneyEvent_FoodDistributed:
		return diedrop.FoodDistributed{}, true
	case *travelv1.JourneyEvent_Harmed:
		x := w.Harmed
		return diedrop.Harmed{Name: x.GetName(), HP: int(x.GetHp()), STR: int(x.GetStr())}, true
	case *travelv1.JourneyEvent_Rested:
		x := w.Rested
		return diedrop.Rested{Long: x.GetLong()}, true
	case *travelv1.JourneyEvent_MemberJoined:
		x := w.MemberJoined
		return diedrop.MemberJoined{Member: memberFrom(x.GetMember())}, true
	case *travelv1.JourneyEvent_MemberLeft:
		x := w.MemberLeft
		return diedrop.MemberLeft{Name: x.GetName()}, true
	case *travelv1.JourneyEvent_CargoChanged:
		x := w.CargoChanged
		return diedrop.CargoChanged{Cargo: each(x.GetCargo(), loadFrom)}, true
	case *travelv1.JourneyEvent_LightLit:
		x := w.LightLit
		return diedrop.LightLit{Light: *lightFrom(x.GetLight()), From: x.GetFrom()}, true
	case *travelv1.JourneyEvent_LightChecked:
		x := w.LightChecked
		return diedrop.LightChecked{Sides: int(x.GetSides()), Face: int(x.GetFace()), SteppedDown: x.GetSteppedDown(), Light: lightFrom(x.Light), Replaced: x.GetReplaced(), From: x.GetFrom()}, true
	case *travelv1.JourneyEvent_RoomEntered:
		x := w.RoomEntered
		return diedrop.RoomEntered{Room: x.GetRoom(), Retreat: x.GetRetreat()}, true
	case *travelv1.JourneyEvent_TurnBegun:
		x := w.TurnBegun
		return diedrop.TurnBegun{Trigger: x.GetTrigger(), Turn: int(x.GetTurn())}, true
	case *travelv1.JourneyEvent_Adjusted:
		x := w.Adjusted
		return diedrop.Adjusted{Reason: x.GetReason(), Gold: optInt(x.Gold), Boat: x.Boat, Lantern: x.Lantern, Light: lightFrom(x.Light), Position: positionFrom(x.GetPosition()), Visited: x.GetVisited()}, true
	}
	return nil, false
}

// startedTo maps the beginning of play. What of it is not the rules' is filled in by the caller.
func startedTo(b diedrop.Begun) (*travelv1.JourneyStarted, error) {
	ruleset, err := rulesetTo(b.Ruleset)
	if err != nil {
		return nil, err
	}
	j := b.Journey
	return &travelv1.JourneyStarted{
		Ruleset: ruleset, Region: draftOf(b.Map), Hex: some(j.Hex, hexTo), Inside: j.Inside, Members: each(j.Members, memberTo),
		Food: i32s(j.Food), StarvingRounds: i32(j.StarvingRounds), Gold: i32(j.Gold), Boat: j.Boat, Lantern: j.Lantern,
		Light: some(j.Light, lightTo), Cargo: each(j.Cargo, loadTo), Discovered: j.Discovered,
	}, nil
}

// startedFrom maps the beginning of play back; region and revision are those that the journey was prepared with.
func startedFrom(s *travelv1.JourneyStarted, region string, revision int) (diedrop.Begun, error) {
	ruleset, err := rulesetFrom(s.GetRuleset())
	if err != nil {
		return diedrop.Begun{}, err
	}
	return diedrop.Begun{Ruleset: ruleset, Map: mapOf(region, revision, s.GetRegion()), Journey: diedrop.Journey{
		Hex: hexPtrFrom(s.GetHex()), Inside: s.GetInside(), Members: each(s.GetMembers(), memberFrom), Food: ints(s.GetFood()),
		StarvingRounds: int(s.GetStarvingRounds()), Gold: int(s.GetGold()), Boat: s.GetBoat(), Lantern: s.GetLantern(),
		Light: lightFrom(s.GetLight()), Cargo: each(s.GetCargo(), loadFrom), Discovered: s.GetDiscovered(),
	}}, nil
}
