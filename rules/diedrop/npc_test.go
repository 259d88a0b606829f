package diedrop

import (
	"fmt"
	"testing"
)

// snakes are two or more snakes met in a lake.
func snakes(t *testing.T, s scene, n int) Journey {
	t.Helper()
	s.world, s.at = row("plains", "lake"), &Hex{0, 0}
	s.world.Locations = []Location{
		{ID: "town", Name: "A town", Kind: KindSettlement, Hex: Hex{1, 0}, Visible: true},
		{ID: "stone", Name: "A stone", Kind: KindPOI, Hex: Hex{1, 0}, Visible: true},
	}
	j, _ := do(t, s.begin(t), Move{To: Hex{1, 0}}, append(lakeDice(len(s.food)), 1, 3, 3, n, 3, 4)...)
	return j
}

// lakeDice are the usage dice of a lake, if there is food: two that do not step down.
func lakeDice(food int) []int {
	if food == 0 {
		return nil
	}
	return []int{3, 3}
}

// inSite is a company in the first room of a site of the example map.
func inSite(t *testing.T, site, room string, light *Light) Journey {
	t.Helper()
	j := scene{inside: site, light: light}.begin(t)
	if room == "" {
		return j
	}
	j, err := j.with(TakeTurn{Trigger: TriggerRoom, To: room})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// with plays a command whose dice show their highest faces, which keeps lights and peace.
func (j Journey) with(c Command) (Journey, error) {
	events, err := Decide(j, c, scripted())
	for _, e := range events {
		j = Apply(j, e)
	}
	return j, err
}

func TestThoseMet(t *testing.T) {
	t.Parallel()
	rules{
		"DDW-NPC-01 a reaction follows": func(t *testing.T) {
			j := scene{}.begin(t)
			for total, want := range map[int]string{
				2: "attacks", 3: "threatens", 4: "threatens", 5: "threatens", 6: "hesitates", 7: "hesitates", 8: "hesitates",
				9: "talks", 10: "talks", 11: "talks", 12: "helps",
			} {
				one := max(1, total-6)
				after, _ := do(t, j, Search{}, 1, 4, 4, 1, one, total-one)
				eq(t, "reaction", *after.Encounter.Reaction, want)
				eq(t, "total", *after.Encounter.ReactionTotal, total)
			}
		},
		"DDW-NPC-03 a d4 of gold for each who uses money": func(t *testing.T) {
			j, move := into(t, "lake")
			after, _ := do(t, j, move, 1, 3, 2, 2, 5, 3, 4, 1)
			eq(t, "two Fisherpeople", after.Encounter.Gold, 5)
			after, dice := rolls(t, j, move, 1, 3, 3, 3, 5, 3)
			eq(t, "three Snakes", [2]int{after.Encounter.Number, after.Encounter.Gold}, [2]int{3, 0})
			eq(t, "dice", dice, "d6 d4 d4 d6 d6 d6")
		},
		"DDW-NPC-04 gold is taken once": func(t *testing.T) {
			j, move := into(t, "lake")
			refuse(t, j, Loot{}, "no_gold_here")
			j, _ = do(t, j, move, 1, 3, 2, 2, 5, 3, 4, 1)
			for _, c := range []Command{Search{}, Forage{}} {
				waiting, _ := j.with(c)
				eq(t, fmt.Sprintf("%T leaves it", c), waiting.Encounter.Gold, 5)
			}
			rich, _ := do(t, j, Loot{})
			eq(t, "gold", rich.Gold, 5)
			eq(t, "they still stand", rich.Encounter.Creature, "Fisherpeople")
			refuse(t, rich, Loot{}, "no_gold_here")
			gone, _ := j.with(Move{To: Hex{0, 0}})
			eq(t, "a move leaves them", gone.Encounter == nil, true)
		},
		"DDW-NPC-04 entering and leaving end it": func(t *testing.T) {
			j := snakes(t, scene{}, 2)
			in, _ := do(t, j, Enter{"stone"})
			eq(t, "entering", in.Encounter == nil, true)
			site := inSite(t, "redstair", "lip", &Light{Torch, 8})
			site, _ = do(t, site, TakeTurn{Trigger: TriggerCombat}, 5, 1, 4, 1, 3, 4, 3)
			eq(t, "met", site.Encounter.Gold, 3)
			out, _ := do(t, site, Leave{})
			eq(t, "leaving", out.Encounter == nil, true)
		},
		"DDW-NPC-04 in a site the room counts": func(t *testing.T) {
			j := inSite(t, "redstair", "lip", &Light{Torch, 8})
			j, _ = do(t, j, TakeTurn{Trigger: TriggerActivity}, 5, 1, 4, 2, 3, 4, 2, 3)
			eq(t, "gold there", j.Encounter.Gold, 5)
			after, _ := do(t, j, TakeTurn{Trigger: TriggerCombat}, 5, 4)
			after, _ = do(t, after, Loot{})
			eq(t, "gold", after.Gold, 5)
			others, _ := do(t, j, TakeTurn{Trigger: TriggerCombat}, 5, 1, 5, 1, 3, 4, 1)
			eq(t, "only the new ones", [2]any{others.Encounter.Creature, others.Encounter.Gold}, [2]any{"Brigands", 1})
			next, _ := do(t, j, TakeTurn{Trigger: TriggerRoom, To: "steps"}, 5, 4)
			refuse(t, next, Loot{}, "no_gold_here")
			next, _ = do(t, next, TakeTurn{Trigger: TriggerActivity}, 5, 1, 4, 2, 3, 4, 2, 3)
			next, _ = do(t, next, Retreat{}, 5, 4)
			refuse(t, next, Loot{}, "no_gold_here")
		},
		"DDW-NPC-05 preparing remains takes a round": func(t *testing.T) {
			j := snakes(t, scene{food: []int{8}}, 3)
			after, _ := do(t, j, PrepareRemains{Count: 3, Value: 5, Carrier: "Ada"}, 5, 5)
			eq(t, "round", after.Round, j.Round+1)
			eq(t, "cargo", after.Cargo, []Load{{Carrier: "Ada", Creature: "Snakes", Count: 3, Value: 5, Slots: 1}})
			eq(t, "their remains are gone", after.Encounter.Remains, false)
			refuse(t, after, PrepareRemains{Count: 1, Carrier: "Ada"}, "no_remains")
			refuse(t, j, PrepareRemains{Count: 4, Carrier: "Ada"}, "no_remains")
			refuse(t, scene{}.begin(t), PrepareRemains{Count: 1, Carrier: "Ada"}, "no_remains")
			refuse(t, scene{inside: "sage-stone"}.begin(t), PrepareRemains{Count: 1, Carrier: "Ada"}, "inside_location")
		},
		"DDW-NPC-06 supplies but no check": func(t *testing.T) {
			j := snakes(t, scene{food: []int{4}}, 3)
			after, dice := rolls(t, j, PrepareRemains{Count: 3, Carrier: "Ada"}, 4, 3)
			eq(t, "dice", dice, "d4 d4")
			eq(t, "food", food(after), "[d4]")
			eq(t, "cargo", len(after.Cargo), 1)
			hungry := snakes(t, scene{}, 3)
			after, dice = rolls(t, hungry, PrepareRemains{Count: 3, Carrier: "Ada"})
			eq(t, "dice without food", dice, "")
			eq(t, "hit points", hp(after), []int{2, 2})
		},
		"DDW-NPC-07 a load fills a slot and is sold in a settlement": func(t *testing.T) {
			j := snakes(t, scene{members: people(2, gear(9)), food: []int{8}}, 3)
			refuse(t, j, PrepareRemains{Count: 1, Carrier: "Ada"}, "no_room")
			refuse(t, j, PrepareRemains{Count: 1, Carrier: "Zoe"}, "no_such_member")
			j = snakes(t, scene{food: []int{8}, gold: 2}, 3)
			used := j.SlotsUsed(j.Members[0])
			j, _ = do(t, j, PrepareRemains{Count: 3, Value: 7, Carrier: "Ada"}, 5, 5)
			eq(t, "used", j.SlotsUsed(j.Members[0]), used+1)
			refuse(t, j, SellRemains{}, "not_settlement")
			j, _ = do(t, j, Enter{"town"})
			for range 2 { // the second time there is nothing to sell
				j, _ = do(t, j, SellRemains{})
				eq(t, "gold", j.Gold, 9)
				eq(t, "used", j.SlotsUsed(j.Members[0]), used)
			}
		},
		"DDW-NPC-07 a load is lost with its carrier": func(t *testing.T) {
			weak := []Member{body("Ada", 1, 1), body("Bren", 4, 9)}
			j := snakes(t, scene{members: weak}, 3)
			j, events := do(t, j, PrepareRemains{Count: 3, Value: 7, Carrier: "Ada"})
			prepared, _ := find[RemainsPrepared](events)
			eq(t, "lost", prepared.Lost, true)
			eq(t, "cargo", len(j.Cargo), 0)
		},
		"DDW-NPC-08 in a site preparing is an activity turn": func(t *testing.T) {
			bear := func(light *Light) Journey {
				j := inSite(t, "gullet", "mouth", light)
				j, _ = do(t, j, TakeTurn{Trigger: TriggerActivity}, 5, 1, 1, 3, 4)
				return j
			}
			j := bear(&Light{Torch, 8})
			prepare := PrepareRemains{Count: 1, Value: 4, Carrier: "Ada"}
			after, dice := rolls(t, j, prepare, 5, 4)
			eq(t, "dice", dice, "d8 d6")
			eq(t, "turn", after.Turn, j.Turn+1)
			eq(t, "round", after.Round, j.Round)
			eq(t, "light", *after.Light, Light{Torch, 8})
			eq(t, "load", after.Cargo, []Load{{Carrier: "Ada", Creature: "Cave bear", Count: 1, Value: 4, Slots: 1}})
			eq(t, "hit points", hp(after), []int{4, 4})
			others, _ := do(t, j, prepare, 5, 1, 2, 2, 3, 4)
			eq(t, "new encounter", others.Encounter.Creature, "Bats")
			eq(t, "load kept", len(others.Cargo), 1)
			dark := j
			dark.Light = nil
			refuse(t, dark, prepare, "too_dark")
		},
	}.run(t)
}
