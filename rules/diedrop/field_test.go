package diedrop

import (
	"errors"
	"testing"

	"github.com/wayfarer-rpg/wayfarer/rules/play"
)

// Refusals name the field of the request that the state does not allow; those that are about no field name none.
func TestRefusalsNameTheFieldAtFault(t *testing.T) {
	t.Parallel()
	outdoors := scene{food: []int{8}, gold: 3}
	town := scene{inside: "tallowick", food: []int{8}, gold: 10, boat: true, members: people(2, gear(8))}
	delve := scene{inside: "pennard-delve", light: &Light{Torch, 8}}
	for name, tc := range map[string]struct {
		in    scene
		c     Command
		code  string
		field string
	}{
		"a hex far away":                     {outdoors, Move{To: Hex{6, 6}}, NotAdjacent, "to"},
		"a hex beyond the edge":              {scene{at: &Hex{0, 0}}, Move{To: Hex{-1, 0}}, OffMap, "to"},
		"a road that is none":                {outdoors, Move{To: Hex{4, 1}, Via: RouteRoad}, BadRoute, "via"},
		"remains of nobody":                  {outdoors, PrepareRemains{Count: 1, Carrier: "Ada"}, NoRemains, "count"},
		"a place that is not there":          {outdoors, Enter{Location: "nowhere"}, UnknownLocation, "location"},
		"a place elsewhere":                  {outdoors, Enter{Location: "tallowick"}, NotHere, "location"},
		"a place not found yet":              {scene{at: &Hex{2, 4}}, Enter{Location: "orlo"}, NotDiscovered, "location"},
		"more food than there is":            {town, BuyFood{Steps: 50}, MaxFood, "steps"},
		"food too dear":                      {town, BuyFood{Steps: 3}, NoGold, "steps"},
		"food too bulky":                     {scene{inside: "tallowick", food: []int{8}, gold: 99, members: people(2, gear(9))}, BuyFood{Steps: 2}, NoRoom, "steps"},
		"torches for nobody":                 {town, BuyGear{Item: ItemTorch, Count: 1, Carrier: "Zoe"}, NoSuchMember, "carrier"},
		"torches too dear":                   {town, BuyGear{Item: ItemTorch, Count: 4, Carrier: "Ada"}, NoGold, "count"},
		"torches too bulky":                  {town, BuyGear{Item: ItemTorch, Count: 2, Carrier: "Ada"}, NoRoom, "count"},
		"a second boat":                      {town, BuyGear{Item: ItemBoat}, AlreadyOwned, "item"},
		"a lantern too dear":                 {town, BuyGear{Item: ItemLantern}, NoGold, "item"},
		"a name that is there":               {outdoors, AddMember{Newcomer{Name: "Ada", HP: 1, STR: 1}}, NameTaken, "member.name"},
		"a newcomer without room":            {scene{food: []int{4}, members: fullHands()}, AddMember{Newcomer{Name: "Zoe", HP: 1, STR: 1, Capacity: ptr(0)}}, NoRoom, "member"},
		"nobody leaves":                      {outdoors, RemoveMember{"Zoe"}, NoSuchMember, "member"},
		"the last one leaves":                {scene{members: people(1)}, RemoveMember{"Ada"}, LastMember, "member"},
		"nobody is harmed":                   {outdoors, Harm{Name: "Zoe", HP: 1}, NoSuchMember, "member"},
		"slots for somebody only":            {outdoors, Distribute{map[string]int{"Ada": 2}}, BadDistribution, "food_slots"},
		"slots too many":                     {outdoors, Distribute{map[string]int{"Ada": 2, "Bren": 1}}, BadDistribution, "food_slots"},
		"a light that nobody has":            {outdoors, LightUp{Torch}, NoSpare, "kind"},
		"a room that is not next":            {delve, TakeTurn{Trigger: TriggerRoom, To: "deepface"}, NoSuchWay, "to"},
		"work before the first room":         {delve, TakeTurn{Trigger: TriggerActivity}, NotInRoom, "trigger"},
		"missions too few":                   {outdoors, RollMissions{Count: 2}, TooFewMissions, "count"},
		"missions too many":                  {outdoors, RollMissions{Count: 21}, TooManyMissions, "count"},
		"a mission that is not open":         {outdoors, UseMission{Number: 3}, NoSuchMission, "number"},
		"outside there is no way out":        {outdoors, Leave{}, NotInside, ""},
		"outside nothing is sold":            {outdoors, BuyFood{Steps: 1}, NotSettlement, ""},
		"inside nobody forages":              {town, Forage{}, InsideLocation, ""},
		"no gold lies about":                 {outdoors, Loot{}, NoGoldHere, ""},
		"a light burns":                      {delve, LightUp{Torch}, AlreadyLit, ""},
		"at the exit":                        {delve, Retreat{}, AtExit, ""},
		"nobody recovers without food":       {scene{}, Rest{}, Deprived, ""},
		"a turn where there is no site":      {outdoors, TakeTurn{Trigger: TriggerCombat}, NotDungeon, ""},
		"a turn in the dark":                 {scene{inside: "pennard-delve"}, TakeTurn{Trigger: TriggerActivity}, TooDark, ""},
		"the dead do nothing, whatever else": {scene{members: people(1)}, nil, PartyDead, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j, c := tc.in.begin(t), tc.c
			if c == nil {
				j, _ = do(t, j, Harm{Name: "Ada", STR: 10})
				c = Move{To: Hex{6, 6}}
			}
			_, err := Decide(j, c, play.ReportedDice(1))
			var r *play.Refusal
			if !errors.As(err, &r) || r.Code != tc.code || r.Field != tc.field || r.Standing != (tc.field != "") {
				t.Errorf("%+v (field %q), want %s at %q", err, fieldOf(r), tc.code, tc.field)
			}
		})
	}
}

// fullHands are four of whom one holds the slot that a d4 needs; five need two.
func fullHands() []Member {
	return people(4, gear(10), func(m *Member) {
		if m.Name == "Ada" {
			m.Gear, m.FoodSlots = 9, 1
		}
	})
}
