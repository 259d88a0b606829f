package diedrop

import (
	"strings"
	"testing"
)

func ptr[T any](v T) *T { return &v }

func TestAdjust(t *testing.T) {
	t.Parallel()
	rules{
		"sets what is named and leaves the rest": func(t *testing.T) {
			j := scene{food: []int{8}, gold: 3}.begin(t)
			after, dice := rolls(t, j, Adjust{Reason: "a gift", Gold: ptr(40), Boat: ptr(true), Lantern: ptr(true), Light: &Light{Torch, 8}})
			eq(t, "dice", dice, "")
			eq(t, "gold", after.Gold, 40)
			eq(t, "boat and lantern", [2]bool{after.Boat, after.Lantern}, [2]bool{true, true})
			eq(t, "light", *after.Light, Light{Torch, 8})
			eq(t, "food", food(after), "[d8]")
			eq(t, "hex", *after.Hex, *j.Hex)
			eq(t, "round", after.Round, 0)
			after, _ = do(t, after, Adjust{Reason: "rain", Light: &Light{}})
			eq(t, "dark", after.Dark(), true)
			eq(t, "gold", after.Gold, 40)
		},
		"food needs room and ends hunger": func(t *testing.T) {
			j := scene{hungry: 2, members: people(2, gear(8))}.begin(t)
			refuse(t, j, Adjust{Reason: "x", Food: &[]int{20}}, "no_room")
			after, _ := do(t, j, Adjust{Reason: "x", Food: &[]int{12}})
			eq(t, "held", held(after), []int{2, 2})
			eq(t, "hungry rounds", after.StarvingRounds, 0)
			after, _ = do(t, after, Adjust{Reason: "thieves", Food: &[]int{}})
			eq(t, "food", food(after), "[]")
			eq(t, "slots stay reserved", held(after), []int{2, 2})
		},
		"a new place leaves the encounter behind": func(t *testing.T) {
			j, _ := do(t, scene{food: []int{8}}.begin(t), Search{}, 5, 1, 2, 2, 1, 3, 3, 4)
			j, _ = do(t, j, Adjust{Reason: "a hawk's flight", Position: &Position{Hex: &Hex{1, 0}}})
			eq(t, "hex", *j.Hex, Hex{1, 0})
			eq(t, "encounter", j.Encounter, nil)
		},
		"inside a room the way back is known": func(t *testing.T) {
			j := scene{food: []int{8}}.begin(t)
			j, _ = do(t, j, Adjust{Reason: "a trapdoor", Position: &Position{&Hex{1, 0}, "pennard-delve", "deepface"}})
			eq(t, "visited", j.Visited, []string{"adit", "cartway", "winch", "deepface"})
			for _, want := range []string{"winch", "cartway", "adit"} {
				j, _ = do(t, j, Retreat{}, 6)
				eq(t, "room", j.Room, want)
			}
			j, _ = do(t, j, Leave{})
			eq(t, "inside", j.Inside, "")
		},
		"who was taken into a hidden place has found it": func(t *testing.T) {
			j := scene{food: []int{8}}.begin(t)
			j, _ = do(t, j, Adjust{Reason: "led there", Position: &Position{Hex: &Hex{0, 0}, Inside: "gullet"}})
			eq(t, "discovered", j.Discovered, []string{"gullet"})
			j, _ = do(t, j, Leave{})
			do(t, j, Enter{"gullet"}, 5)
		},
		"the company hears of hidden places": func(t *testing.T) {
			j := scene{food: []int{8}, discovered: []string{"gullet"}}.begin(t)
			after, events := do(t, j, Adjust{Reason: "a drunkard's tale", Discovered: []string{"mirefold", "gullet", "orlo", "mirefold"}})
			eq(t, "discovered", after.Discovered, []string{"gullet", "mirefold", "orlo"})
			eq(t, "told", has[LocationsFound](events), true)
			_, events = do(t, after, Adjust{Reason: "the same again", Discovered: []string{"orlo"}})
			eq(t, "told again", has[LocationsFound](events), false)
			for _, id := range []string{"nowhere", "tallowick"} {
				refuseField(t, j, Adjust{Reason: "x", Discovered: []string{"gullet", id}}, UnknownLocation, "discovered[1]")
			}
		},
		"loads have carriers with room": func(t *testing.T) {
			j := scene{food: []int{8}, members: people(2, gear(8))}.begin(t)
			pelts := Load{Carrier: "Ada", Creature: "Wolves", Count: 2, Value: 12, Slots: 7}
			after, _ := do(t, j, Adjust{Reason: "a gift", Cargo: &[]Load{pelts}})
			pelts.Slots = 1
			eq(t, "cargo", after.Cargo, []Load{pelts})
			eq(t, "used", after.SlotsUsed(after.Members[0]), 10)
			refuseField(t, after, Adjust{Reason: "x", Cargo: &[]Load{pelts, pelts}}, NoRoom, "cargo[0].carrier")
			refuseField(t, after, Adjust{Reason: "x", Cargo: &[]Load{pelts, {Carrier: "Zoe"}}}, NoSuchMember, "cargo[1].carrier")
			refuseField(t, after, Adjust{Reason: "x", Cargo: &[]Load{{Carrier: "Ada", Value: -1}}}, Invalid, "cargo[0]")
			refuseField(t, after, Adjust{Reason: "x", Cargo: &[]Load{{Carrier: "Ada", Creature: strings.Repeat("x", 201)}}}, Invalid, "cargo[0]")
			refuse(t, after, Adjust{Reason: "no room beside the load", Food: &[]int{20}}, "no_room")
			after, _ = do(t, after, Adjust{Reason: "thieves", Cargo: &[]Load{}})
			eq(t, "cargo", len(after.Cargo), 0)
		},
		"members": func(t *testing.T) {
			j := scene{members: people(2), food: []int{8}}.begin(t)
			after, _ := do(t, j, Adjust{Reason: "loot", Members: []MemberAdjustment{
				{Name: "Ada", HP: ptr(1), STR: ptr(3), Gear: ptr(5), Fatigue: ptr(2), Torches: ptr(1), Oil: ptr(1)},
			}})
			eq(t, "Ada", after.Members[0], Member{
				Name: "Ada", HP: 1, HPMax: 4, STR: 3, STRMax: 10, Capacity: 10, Gear: 5, FoodSlots: 1, Fatigue: 2, Torches: 1, Oil: 1,
			})
			eq(t, "Bren", after.Members[1], j.Members[1])
			after, events := do(t, after, Adjust{Reason: "a curse", Members: []MemberAdjustment{{Name: "Ada", STR: ptr(0)}}})
			eq(t, "died", has[MemberDied](events), true)
			eq(t, "needed and held", [2]int{after.SlotsNeeded(), after.SlotsHeld()}, [2]int{1, 1})
			refuse(t, after, Adjust{Reason: "x", Members: []MemberAdjustment{{Name: "Ada", HP: ptr(1)}}}, "no_such_member")
			after, _ = do(t, after, Adjust{Reason: "the end", Food: &[]int{20}, Members: []MemberAdjustment{{Name: "Bren", STR: ptr(0)}}})
			eq(t, "food of the dead", food(after), "[]")
			refuse(t, after, Adjust{Reason: "x", Gold: ptr(1)}, "party_dead")
		},
		"refuses what is not there or outside its kind": func(t *testing.T) {
			j := scene{food: []int{8}}.begin(t)
			here := j.Hex
			for field, c := range map[string]Adjust{
				"reason":          {Gold: ptr(1)},
				"":                {Reason: "x"},
				"gold":            {Reason: "x", Gold: ptr(-1)},
				"food[0]":         {Reason: "x", Food: &[]int{7}},
				"food":            {Reason: "x", Food: &[]int{4, 4, 4}},
				"light":           {Reason: "x", Light: &Light{"candle", 4}},
				"position":        {Reason: "x", Position: &Position{Hex: here, Room: "adit"}},
				"members[1].name": {Reason: "x", Members: []MemberAdjustment{{Name: "Ada"}, {Name: "Ada"}}},
				"members[0].hp":   {Reason: "x", Members: []MemberAdjustment{{Name: "Ada", HP: ptr(5)}}},
				"members[0].oil":  {Reason: "x", Members: []MemberAdjustment{{Name: "Ada", Oil: ptr(-1)}}},
			} {
				refuseField(t, j, c, Invalid, field)
			}
			for field, tc := range map[string]struct {
				code string
				at   Position
			}{
				"hex":           {OffMap, Position{Hex: &Hex{-1, 0}}},
				"position.hex":  {OffMap, Position{Inside: "tallowick"}},
				"inside":        {UnknownLocation, Position{Hex: here, Inside: "nowhere"}},
				"position.room": {NoSuchWay, Position{&Hex{1, 0}, "pennard-delve", "attic"}},
			} {
				refuseField(t, j, Adjust{Reason: "x", Position: &tc.at}, tc.code, field)
			}
			refuseField(t, j, Adjust{Reason: "x", Position: &Position{Hex: here, Inside: "tallowick"}}, NotHere, "inside")
		},
	}.run(t)
}
