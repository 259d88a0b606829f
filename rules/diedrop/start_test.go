package diedrop

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/wayfarer-rpg/wayfarer/rules/play"
)

// refuseField plays a command that is refused with a code and a field.
func refuseField(t *testing.T, j Journey, c Command, code, field string) {
	t.Helper()
	_, err := Decide(j, c, play.ReportedDice())
	var r *play.Refusal
	if !errors.As(err, &r) || r.Code != code || r.Field != field {
		t.Errorf("%T%+v: %v (field %q), want %s at %q", c, c, err, fieldOf(r), code, field)
	}
}

func fieldOf(r *play.Refusal) string {
	if r == nil {
		return ""
	}
	return r.Field
}

// site is a crawl without a map: one mine.
func site() *Map {
	m := &Map{ID: "mine", Name: "A mine"}
	m.Locations = []Location{{
		ID: "mine", Name: "The mine", Kind: KindSite, Table: 3, Entrance: "a",
		Rooms: map[string][]string{"a": {"b"}, "b": {"a"}},
	}}
	return m
}

func TestStart(t *testing.T) {
	t.Parallel()
	rules{
		"food that nobody holds yet is placed (DDW-SLOT-16)": func(t *testing.T) {
			eq(t, "held", held(scene{members: people(2), food: []int{12}}.begin(t)), []int{2, 2})
		},
		"a party whose food does not fit cannot start": func(t *testing.T) {
			refuseField(t, Journey{}, scene{members: people(2, gear(9)), food: []int{12}}.start(t), NoRoom, "food")
		},
		"a journey begins once": func(t *testing.T) {
			j := scene{}.begin(t)
			refuseField(t, j, scene{}.start(t), AlreadyStarted, "")
			refuseField(t, Journey{}, Search{}, NotStarted, "")
		},
		"the ruleset and the map are frozen into the journey": func(t *testing.T) {
			j := scene{params: map[string]any{"buy.gold_per_slot": 7}, world: row("plains")}.start(t)
			j.Hex = &Hex{0, 0}
			begun := begin(t, j)
			eq(t, "price", begun.Ruleset.int("buy.gold_per_slot"), 7)
			eq(t, "map", begun.Map.ID, "row")
		},
		"a crawl without a map begins inside a site and may be entered again": func(t *testing.T) {
			s := scene{world: site(), noHex: true, inside: "mine", food: []int{8}, light: &Light{Torch, 8}}
			j := s.begin(t)
			j, _ = do(t, j, TakeTurn{Trigger: TriggerRoom, To: "a"}, 5, 1, 1, 1, 1, 1, 4)
			refuse(t, j, Forage{}, "inside_location")
			j, _ = do(t, j, Leave{})
			for _, c := range []Command{Search{}, Forage{}, Move{To: Hex{1, 0}}, PrepareRemains{Count: 1, Carrier: "Ada"}} {
				refuse(t, j, c, "off_map")
			}
			j, dice := rolls(t, j, Enter{"mine"}, 5)
			eq(t, "dice", dice, "d8")
			eq(t, "inside", j.Inside, "mine")
			s.world = ExampleMap()
			s.inside = "pennard-delve"
			refuseField(t, Journey{}, s.start(t), Invalid, "map.locations[0].kind")
		},
		"who begins inside a hidden place has found it": func(t *testing.T) {
			j := scene{inside: "gullet", food: []int{8}}.begin(t)
			eq(t, "discovered", j.Discovered, []string{"gullet"})
			eq(t, "a visible place needs no finding", len(scene{inside: "tallowick"}.begin(t).Discovered), 0)
		},
		"what is outside its kind is named": func(t *testing.T) {
			for field, edit := range map[string]func(c *Start){
				"ruleset":               func(c *Start) { c.Ruleset = nil },
				"members":               func(c *Start) { c.Members = nil },
				"members[1].name":       func(c *Start) { c.Members[1].Name = "" },
				"members[0].hp":         func(c *Start) { c.Members[0].HP = 5 },
				"members[0].str":        func(c *Start) { c.Members[0].STR = 0 },
				"members[0].gear":       func(c *Start) { c.Members[0].Gear = -1 },
				"members[0].dead":       func(c *Start) { c.Members[0].Dead, c.Members[0].Torches = true, 1 },
				"food":                  func(c *Start) { c.Food = []int{4, 4, 4} },
				"food[1]":               func(c *Start) { c.Food = []int{4, 5} },
				"light":                 func(c *Start) { c.Light = &Light{Torch, 3} },
				"gold":                  func(c *Start) { c.Gold = -1 },
				"starving_rounds":       func(c *Start) { c.StarvingRounds = -1 },
				"cargo[0]":              func(c *Start) { c.Cargo = []Load{{Carrier: "Zoe", Slots: 1}} },
				"discovered[1]":         func(c *Start) { c.Discovered = []string{"orlo", "orlo"} },
				"hex":                   func(c *Start) { c.Hex = nil },
				"map.locations[0].kind": func(c *Start) { c.Hex, c.Inside = nil, "tallowick" },
				"map.name":              func(c *Start) { m := *c.Map; m.Name = ""; c.Map = &m },
			} {
				c := scene{members: people(2)}.start(t)
				edit(&c)
				refuseField(t, Journey{}, c, Invalid, field)
			}
			for field, tc := range map[string]struct {
				code string
				edit func(c *Start)
			}{
				"members[1].name": {NameTaken, func(c *Start) { c.Members[1].Name = c.Members[0].Name }},
				"discovered[0]":   {UnknownLocation, func(c *Start) { c.Discovered = []string{"nowhere"} }},
				"hex":             {OffMap, func(c *Start) { c.Hex = &Hex{-1, 0} }},
				"inside":          {NotHere, func(c *Start) { c.Inside = "tallowick" }},
				"":                {PartyDead, func(c *Start) { c.Members = c.Members[:1]; c.Members[0].Dead = true }},
			} {
				c := scene{members: people(2)}.start(t)
				tc.edit(&c)
				refuseField(t, Journey{}, c, tc.code, field)
			}
		},
		"arguments outside their kind never reach the rules, the dead company included": func(t *testing.T) {
			alive := scene{inside: "sage-stone"}.begin(t)
			dead, _ := do(t, scene{members: people(1)}.begin(t), Harm{Name: "Ada", STR: 10})
			for field, c := range map[string]Command{
				"via":             Move{Via: "air"},
				"count":           PrepareRemains{Carrier: "Ada"},
				"value":           PrepareRemains{Count: 1, Value: -1, Carrier: "Ada"},
				"steps":           BuyFood{},
				"item":            BuyGear{Item: "rope"},
				"member.str":      AddMember{Newcomer{Name: "Mabyn"}},
				"member.name":     AddMember{Newcomer{STR: 3}},
				"hp":              Harm{Name: "Ada", HP: -1},
				"str":             Harm{Name: "Ada", STR: -1},
				"kind":            LightUp{Kind: "candle"},
				"trigger":         TakeTurn{Trigger: "nap"},
				"false_places[0]": RollMissions{Count: 3, False: []int{3}},
				"false_places[1]": RollMissions{Count: 3, False: []int{1, 1}},
			} {
				refuseField(t, alive, c, Invalid, field)
				refuseField(t, dead, c, Invalid, field)
			}
			refuseField(t, alive, BuyGear{Item: ItemOil, Carrier: "Ada"}, Invalid, "count")
			refuseField(t, alive, RollMissions{}, Invalid, "count")
		},
	}.run(t)
}

// A journey that was cached as JSON goes on as the one in memory does.
func TestJourneysAreCachedAsJSON(t *testing.T) {
	t.Parallel()
	j := scene{
		params: map[string]any{"starve.variant": "drain", "search.success_min": 3}, members: people(3), food: []int{20, 4}, gold: 9, boat: true,
		light: &Light{Torch, 6}, at: &Hex{2, 4},
	}.begin(t)
	j, _ = do(t, j, Search{}, 1, 1, 4, 1, 1, 4, 1, 3, 5, 2)
	j, _ = do(t, j, RollMissions{Count: 3, False: []int{1}}, 1, 2, 3)
	j, _ = do(t, j, UseMission{Number: 2, Replacement: "A text of our own"})
	var back Journey
	if err := json.Unmarshal([]byte(mustJSON(t, j)), &back); err != nil {
		t.Fatal(err)
	}
	eq(t, "written again", mustJSON(t, back), mustJSON(t, j))
	for _, c := range []struct {
		c     Command
		faces []int
	}{{Loot{}, nil}, {Enter{"orlo"}, []int{5}}, {TakeTurn{Trigger: TriggerRoom, To: "porch"}, []int{1, 6}}} {
		j, _ = do(t, j, c.c, c.faces...)
		back, _ = do(t, back, c.c, c.faces...)
		eq(t, "the state after", mustJSON(t, back), mustJSON(t, j))
	}
}
