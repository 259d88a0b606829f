package diedrop

import (
	"slices"

	"github.com/wayfarer-rpg/wayfarer/rules/play"
)

func (t *turn) settlement() error {
	if t.insideKind() != KindSettlement {
		return play.Refuse(NotSettlement, "this needs a settlement")
	}
	return nil
}

func (c BuyFood) check(*Ruleset) error {
	if c.Steps < 1 || c.Steps > maxNumber {
		return invalid("steps", "steps are 1 to %d", maxNumber)
	}
	return nil
}

func (c BuyFood) decide(t *turn) error {
	if err := t.settlement(); err != nil {
		return err
	}
	food, slots, living := t.Food, 0, t.Living()
	for range c.Steps {
		next, result := t.raised(food)
		if result == "at_max" {
			return play.Refuse(MaxFood, "the company cannot have more food").On("steps")
		}
		// The least price counts for each step, so that one purchase is never cheaper than several (DDW-BUY-02).
		slots += max(1, t.Ruleset.SlotsNeeded(next, living)-t.Ruleset.SlotsNeeded(food, living))
		food = next
	}
	if t.Ruleset.text("buy.minimum_applies") == "per_purchase" {
		slots = max(1, t.Ruleset.SlotsNeeded(food, living)-t.SlotsNeeded())
	}
	price := slots * t.Ruleset.int("buy.gold_per_slot")
	if price > t.Gold {
		return play.Refuse(NoGold, "the food costs %d gold, the company has %d", price, t.Gold).On("steps")
	}
	if t.Ruleset.SlotsNeeded(food, living) > t.SlotsHeld()+t.allFree() {
		return play.Refuse(NoRoom, "the food needs %d slots", t.Ruleset.SlotsNeeded(food, living)).On("steps")
	}
	t.emit(FoodBought{Steps: c.Steps, Slots: slots, Paid: price, Gold: t.Gold - price})
	t.raise(food, "bought")
	return nil
}

// gearPrices are the parameters with the prices of what is sold.
var gearPrices = map[string]string{
	ItemTorch: "buy.torch_gold", ItemOil: "buy.oil_gold", ItemLantern: "buy.lantern_gold", ItemBoat: "buy.boat_gold",
}

func (c BuyGear) spare() bool { return c.Item == ItemTorch || c.Item == ItemOil }

func (c BuyGear) check(*Ruleset) error {
	if gearPrices[c.Item] == "" {
		return invalid("item", "%q is none of torch, oil, lantern and boat", c.Item)
	}
	if c.spare() && (c.Count < 1 || c.Count > maxNumber) {
		return invalid("count", "the count is 1 to %d", maxNumber)
	}
	return nil
}

func (c BuyGear) decide(t *turn) error {
	if err := t.settlement(); err != nil {
		return err
	}
	spare := c.spare()
	if !spare {
		c.Count, c.Carrier = 1, ""
	}
	carrier := t.living(c.Carrier)
	price := c.Count * t.Ruleset.int(gearPrices[c.Item])
	switch {
	case spare && carrier < 0:
		return play.Refuse(NoSuchMember, "no living member is named %s", c.Carrier).On("carrier")
	case c.Item == ItemLantern && t.Lantern, c.Item == ItemBoat && t.Boat:
		return play.Refuse(AlreadyOwned, "the company has a %s", c.Item).On("item")
	case price > t.Gold:
		r := play.Refuse(NoGold, "that costs %d gold, the company has %d", price, t.Gold)
		if spare {
			return r.On("count")
		}
		return r.On("item")
	case spare && t.free(t.Members[carrier]) < c.Count*t.spareSlots(c.Item):
		return play.Refuse(NoRoom, "%s has not enough free slots", c.Carrier).On("count")
	}
	t.emit(GearBought{Item: c.Item, Count: c.Count, Carrier: c.Carrier, Paid: price, Gold: t.Gold - price})
	return nil
}

func (t *turn) spareSlots(item string) int {
	if item == ItemOil {
		return t.Ruleset.LightSources[Lantern].SpareSlots
	}
	return t.Ruleset.LightSources[Torch].SpareSlots
}

// gathering refuses joining and leaving where slots cannot be settled (DDW-PARTY-02).
func (t *turn) gathering() error {
	if t.Inside != "" && t.insideKind() != KindSettlement {
		return play.Refuse(InsideLocation, "the company is inside %s", t.Inside)
	}
	return nil
}

func (c AddMember) check(rs *Ruleset) error { return checkMember("member", c.Member.Member(rs)) }

func (c AddMember) decide(t *turn) error {
	m := c.Member.Member(t.Ruleset)
	if len(t.Members) >= MaxMembers {
		return invalid("member", "a company has at most %d members", MaxMembers)
	}
	if err := t.gathering(); err != nil {
		return err
	}
	if t.member(m.Name) >= 0 {
		return play.Refuse(NameTaken, "somebody named %s is in the company", m.Name).On("member.name")
	}
	before := t.SlotsNeeded()
	t.emit(MemberJoined{Member: m})
	if t.Ruleset.text("party.newcomer_food") == "share" {
		last := []int{t.Ruleset.smallest()}
		for t.SlotsNeeded() > before && !slices.Equal(t.Food, last) {
			t.emit(FoodChanged{Food: t.steppedDown(t.foodInTurn()), Why: "joined"})
		}
	}
	if t.SlotsNeeded()-t.SlotsHeld() > t.allFree() {
		return play.Refuse(NoRoom, "the food needs %d slots", t.SlotsNeeded()).On("member")
	}
	t.placeMissing()
	return nil
}

func (c RemoveMember) decide(t *turn) error {
	if err := t.gathering(); err != nil {
		return err
	}
	i := t.living(c.Name)
	switch {
	case i < 0:
		return play.Refuse(NoSuchMember, "no living member is named %s", c.Name).On("member")
	case t.Living() == 1:
		return play.Refuse(LastMember, "nobody living would be left").On("member")
	}
	leaver := t.Members[i]
	t.emit(MemberLeft{Name: c.Name})
	t.makeFit("left")
	t.handOver(leaver)
	return nil
}

// handOver gives what belongs to the company to those who stay, as far as it fits (DDW-PARTY-06).
func (t *turn) handOver(leaver Member) {
	work := t.Journey.clone()
	give := func(n, slots int, take func(m *Member)) {
		for range n {
			if i := work.roomiest(); work.free(work.Members[i]) >= slots {
				take(&work.Members[i])
			}
		}
	}
	give(leaver.Torches, t.spareSlots(ItemTorch), func(m *Member) { m.Torches++ })
	give(leaver.Oil, t.spareSlots(ItemOil), func(m *Member) { m.Oil++ })
	var kept []Load
	for _, l := range work.Cargo {
		if l.Carrier == leaver.Name {
			i := work.roomiest()
			if work.free(work.Members[i]) < l.Slots {
				continue
			}
			l.Carrier = work.Members[i].Name
			// What was just handed over counts for whoever is next.
			work.Cargo = slices.Concat(work.Cargo, []Load{{Carrier: l.Carrier, Slots: l.Slots}})
		}
		kept = append(kept, l)
	}
	t.change(func(members []Member) { copy(members, work.Members) })
	if !slices.Equal(kept, t.Cargo) {
		t.emit(CargoChanged{Cargo: kept})
	}
}

func (SellRemains) decide(t *turn) error {
	if err := t.settlement(); err != nil {
		return err
	}
	earned := 0
	for _, l := range t.Cargo {
		earned += l.Value
	}
	t.emit(RemainsSold{Earned: earned, Gold: min(MaxGold, t.Gold+earned)})
	return nil
}

func (FreeFoodSlots) decide(t *turn) error {
	freed := max(0, t.SlotsHeld()-t.SlotsNeeded())
	t.emit(FoodSlotsFreed{Freed: freed})
	t.freeFood()
	return nil
}

func (c Distribute) decide(t *turn) error {
	sum, named := 0, 0
	work := t.Journey.clone()
	for i, m := range work.Members {
		n, ok := c.FoodSlots[m.Name]
		if m.Dead {
			continue
		}
		if !ok || n < 0 || n > maxNumber {
			return play.Refuse(BadDistribution, "every living member needs a number of slots from 0 to %d", maxNumber).On("food_slots")
		}
		work.Members[i].FoodSlots = n
		sum, named = sum+n, named+1
	}
	if named != len(c.FoodSlots) || sum != t.SlotsNeeded() {
		return play.Refuse(BadDistribution, "the living members have to hold %d slots between them", t.SlotsNeeded()).On("food_slots")
	}
	for _, m := range work.Members {
		if !m.Dead && work.Overloaded(m) {
			return play.Refuse(BadDistribution, "%s cannot carry that", m.Name).On("food_slots")
		}
	}
	t.emit(FoodDistributed{})
	t.change(func(members []Member) { copy(members, work.Members) })
	return nil
}
