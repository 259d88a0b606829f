package diedrop

import (
	"slices"
	"testing"
)

// inTallowick is a company in a settlement.
func inTallowick(t *testing.T, members []Member, gold int, food ...int) Journey {
	t.Helper()
	return scene{inside: "tallowick", members: members, food: food, gold: gold}.begin(t)
}

func buy(t *testing.T, j Journey, steps int) (Journey, FoodBought) {
	t.Helper()
	after, events := do(t, j, BuyFood{Steps: steps})
	bought, _ := find[FoodBought](events)
	eq(t, "gold", after.Gold, j.Gold-bought.Paid)
	return after, bought
}

func TestBuyingFood(t *testing.T) {
	t.Parallel()
	rules{
		"DDW-BUY-01 a raise costs the difference of the slots": func(t *testing.T) {
			j, bought := buy(t, inTallowick(t, people(4), 100, 12), 1)
			eq(t, "food", food(j), "[d20]")
			eq(t, "slots' worth", bought.Slots, 4)
		},
		"DDW-BUY-02 each step costs a slot's worth at least": func(t *testing.T) {
			j := inTallowick(t, people(2), 100, 4)
			_, one := buy(t, j, 1)
			eq(t, "d4 to d6", one.Slots, 1)
			_, two := buy(t, j, 2)
			eq(t, "d4 to d8", two.Slots, 2)
			whole := scene{params: map[string]any{"buy.minimum_applies": "per_purchase"}, inside: "tallowick", food: []int{4}, gold: 100}.begin(t)
			_, two = buy(t, whole, 2)
			eq(t, "d4 to d8 as one purchase", two.Slots, 1)
			_, one = buy(t, whole, 1)
			eq(t, "d4 to d6 as one purchase", one.Slots, 1)
		},
		"DDW-BUY-03 out of food the first step is d4": func(t *testing.T) {
			j, bought := buy(t, inTallowick(t, people(5), 100), 1)
			eq(t, "food", food(j), "[d4]")
			eq(t, "slots' worth", bought.Slots, 2)
		},
		"DDW-BUY-04 from d20 on there is a second die": func(t *testing.T) {
			j, bought := buy(t, inTallowick(t, people(4), 100, 20), 1)
			eq(t, "food", food(j), "[d20,d4]")
			eq(t, "slots' worth", bought.Slots, 1)
			j, bought = buy(t, j, 1)
			eq(t, "food", food(j), "[d20,d6]")
			eq(t, "slots' worth", bought.Slots, 1)
		},
		"DDW-BUY-05 five gold a slot's worth": func(t *testing.T) {
			_, bought := buy(t, inTallowick(t, people(6), 15, 8), 1)
			eq(t, "slots' worth", bought.Slots, 3)
			eq(t, "paid", bought.Paid, 15)
			refuse(t, inTallowick(t, people(6), 14, 8), BuyFood{Steps: 1}, "no_gold")
		},
		"DDW-BUY-06 as a whole or not at all, and in this order of refusals": func(t *testing.T) {
			refuse(t, scene{inside: "sage-stone", gold: 25, food: []int{20, 4}}.begin(t), BuyFood{Steps: 6}, "not_settlement")
			refuse(t, scene{gold: 25, food: []int{20, 4}}.begin(t), BuyFood{Steps: 6}, "not_settlement")
			refuse(t, inTallowick(t, people(2), 25, 20, 4), BuyFood{Steps: 6}, "max_food")
			full := people(2, gear(6))
			refuse(t, inTallowick(t, full, 25, 20, 4), BuyFood{Steps: 5}, "no_gold")
			refuse(t, inTallowick(t, full, 30, 20, 4), BuyFood{Steps: 5}, "no_room")
			j, bought := buy(t, inTallowick(t, people(2), 30, 20, 4), 5)
			eq(t, "food", food(j), "[d20,d20]")
			eq(t, "slots' worth", bought.Slots, 6)
		},
		"DDW-BUY-06 buying ends hunger, and the limits of foraging do not concern it": func(t *testing.T) {
			limits := map[string]any{"forage.at_d20": "no_gain", "forage.when_out": "no_gain"}
			j, _ := buy(t, scene{params: limits, inside: "tallowick", gold: 100, hungry: 2}.begin(t), 1)
			eq(t, "food", food(j), "[d4]")
			eq(t, "hungry rounds", j.StarvingRounds, 0)
			j, _ = buy(t, scene{params: limits, inside: "tallowick", gold: 100, food: []int{20}}.begin(t), 1)
			eq(t, "food", food(j), "[d20,d4]")
		},
		"DDW-BUY-07 slots needed are paid, slots held are kept": func(t *testing.T) {
			j, bought := buy(t, inTallowick(t, fed(2, 2, 2, 2), 100, 8), 1)
			eq(t, "slots' worth", bought.Slots, 2)
			eq(t, "held", j.SlotsHeld(), 8)
		},
	}.run(t)
}

func TestBuyingGear(t *testing.T) {
	t.Parallel()
	torches := func(n int) BuyGear { return BuyGear{Item: ItemTorch, Count: n, Carrier: "Ada"} }
	rules{
		"DDW-BUY-08 the order of refusals": func(t *testing.T) {
			full := people(2, gear(10))
			refuse(t, scene{members: full, gold: 5}.begin(t), torches(2), "not_settlement")
			refuse(t, inTallowick(t, full, 5), BuyGear{Item: ItemOil, Count: 2, Carrier: "Zoe"}, "no_such_member")
			refuse(t, inTallowick(t, full, 5), torches(2), "no_gold")
			refuse(t, inTallowick(t, full, 6), torches(2), "no_room")
			owner := scene{inside: "tallowick", boat: true, lantern: true}.begin(t)
			refuse(t, owner, BuyGear{Item: ItemBoat}, "already_owned")
			refuse(t, owner, BuyGear{Item: ItemLantern}, "already_owned")
			dead, _ := do(t, inTallowick(t, people(2), 50), Harm{Name: "Ada", STR: 10})
			refuse(t, dead, torches(1), "no_such_member")
		},
		"DDW-BUY-08 no dice and no round": func(t *testing.T) {
			j, dice := rolls(t, inTallowick(t, people(2), 50), torches(1))
			eq(t, "dice", dice, "")
			eq(t, "round", j.Round, 0)
		},
		"DDW-BUY-09 prices": func(t *testing.T) {
			for want, c := range map[int]BuyGear{
				6: torches(2), 18: {Item: ItemOil, Count: 3, Carrier: "Bren"}, 20: {Item: ItemLantern}, 50: {Item: ItemBoat},
			} {
				j, _ := do(t, inTallowick(t, people(2), want), c)
				eq(t, c.Item, j.Gold, 0)
				refuse(t, inTallowick(t, people(2), want-1), c, "no_gold")
			}
		},
		"DDW-BUY-10 every spare takes a slot of its carrier": func(t *testing.T) {
			members := people(2, gear(8))
			j, _ := do(t, inTallowick(t, members, 50), torches(2))
			eq(t, "used", j.SlotsUsed(j.Members[0]), 10)
			refuse(t, j, torches(1), "no_room")
			j, _ = do(t, j, BuyGear{Item: ItemOil, Count: 1, Carrier: "Bren"})
			eq(t, "oil without a lantern", j.Members[1].Oil, 1)
			eq(t, "used", j.SlotsUsed(j.Members[1]), 9)
			eaten := scene{inside: "tallowick", members: fed(10, 0), food: []int{8}, gold: 50}.begin(t)
			refuse(t, eaten, torches(1), "no_room")
			eaten, _ = do(t, eaten, FreeFoodSlots{})
			do(t, eaten, torches(1))
		},
		"DDW-BUY-11 lantern and boat belong to the party": func(t *testing.T) {
			j, _ := do(t, inTallowick(t, people(2, gear(10)), 100), BuyGear{Item: ItemLantern})
			refuse(t, j, LightUp{Kind: Lantern}, "no_spare")
			j.Members = slices.Clone(j.Members)
			j.Members[0].Oil = 1
			lit, _ := do(t, j, LightUp{Kind: Lantern})
			eq(t, "light", *lit.Light, Light{Kind: Lantern, Sides: 12})
			eq(t, "oil", lit.Members[0].Oil, 0)
			j, _ = do(t, j, BuyGear{Item: ItemBoat})
			eq(t, "slots", j.SlotsUsed(j.Members[1]), 10)
			refuse(t, j, BuyGear{Item: ItemBoat}, "already_owned")
			world := row("plains", "plains")
			world.Rivers = world.route()
			world.Locations = []Location{{ID: "town", Name: "A town", Kind: KindSettlement, Visible: true}}
			river := scene{world: world, inside: "town", food: []int{8}, gold: 50}.begin(t)
			river, _ = do(t, river, BuyGear{Item: ItemBoat})
			river, _ = do(t, river, Leave{})
			_, dice := rolls(t, river, Move{To: Hex{1, 0}}, 1, 5, 6)
			eq(t, "dice of the next move", dice, "d8 d8 d6")
		},
	}.run(t)
}
