package diedrop

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/wayfarer-rpg/wayfarer/rules/play"
)

// The refusals, by the catalogue's words.
const (
	PartyDead       = "PARTY_DEAD"
	UnknownAction   = "UNKNOWN_ACTION"
	NotAdjacent     = "NOT_ADJACENT"
	OffMap          = "OFF_MAP"
	BadRoute        = "BAD_ROUTE"
	InsideLocation  = "INSIDE_LOCATION"
	NotInside       = "NOT_INSIDE"
	UnknownLocation = "UNKNOWN_LOCATION"
	NotHere         = "NOT_HERE"
	NotDiscovered   = "NOT_DISCOVERED"
	NotSettlement   = "NOT_SETTLEMENT"
	MaxFood         = "MAX_FOOD"
	NoGold          = "NO_GOLD"
	NoRoom          = "NO_ROOM"
	BadDistribution = "BAD_DISTRIBUTION"
	NoGoldHere      = "NO_GOLD_HERE"
	NoRemains       = "NO_REMAINS"
	Deprived        = "DEPRIVED"
	NoSuchMember    = "NO_SUCH_MEMBER"
	AlreadyOwned    = "ALREADY_OWNED"
	NameTaken       = "NAME_TAKEN"
	LastMember      = "LAST_MEMBER"
	NotDungeon      = "NOT_DUNGEON"
	NotInRoom       = "NOT_IN_ROOM"
	NoSuchWay       = "NO_SUCH_WAY"
	TooDark         = "TOO_DARK"
	AlreadyLit      = "ALREADY_LIT"
	NoSpare         = "NO_SPARE"
	AtExit          = "AT_EXIT"
	NotAtExit       = "NOT_AT_EXIT"
	TooFewMissions  = "TOO_FEW_MISSIONS"
	TooManyMissions = "TOO_MANY_MISSIONS"
	NoSuchMission   = "NO_SUCH_MISSION"
	// Invalid is an argument outside its kind, which never reaches the rules; the refusal names its field.
	Invalid = "INVALID"
	// NotStarted and AlreadyStarted guard the beginning.
	NotStarted     = "NOT_STARTED"
	AlreadyStarted = "ALREADY_STARTED"
)

// MaxMembers bounds a company with its hirelings, and MaxGold what it may own, so that no sum overflows.
const (
	MaxMembers = 50
	MaxGold    = 1_000_000_000
	maxNumber  = 100_000
)

// Decide decides a command. It changes nothing; callers fold the events with [Apply]. It fails with a *play.Refusal:
// INVALID for an argument outside its kind, then PARTY_DEAD, then the others in the order of the catalogue's
// algorithms. Bad dice are found by the caller, with Dice.Close, after everything else.
func Decide(j Journey, c Command, dice *play.Dice) ([]Event, error) {
	t := &turn{Journey: j.clone(), dice: dice}
	_, starts := c.(Start)
	switch {
	case starts && j.Started():
		return nil, play.Refuse(AlreadyStarted, "the journey has begun")
	case !starts && !j.Started():
		return nil, play.Refuse(NotStarted, "the journey has not begun")
	}
	if a, ok := c.(checked); ok && !starts {
		if err := a.check(j.Ruleset); err != nil {
			return nil, err
		}
	}
	if !starts && j.Living() == 0 {
		return nil, play.Refuse(PartyDead, "nobody of the company lives")
	}
	if err := c.decide(t); err != nil {
		return nil, err
	}
	return t.events, nil
}

// turn is a decision under way: a copy of the state that follows the events decided so far.
type turn struct {
	Journey
	dice   *play.Dice
	events []Event
}

func (t *turn) emit(e Event) {
	e.applyTo(&t.Journey)
	t.events = append(t.events, e)
}

// change emits the members that differ from before.
func (t *turn) change(edit func(members []Member)) {
	now := slices.Clone(t.Members)
	edit(now)
	var changed []Member
	for i, m := range now {
		if m != t.Members[i] {
			changed = append(changed, m)
		}
	}
	if len(changed) > 0 {
		t.emit(MembersChanged{Members: changed})
	}
}

func invalid(field, format string, args ...any) error {
	return play.Refuse(Invalid, format, args...).At(field)
}

func (c Start) decide(t *turn) error {
	if c.Ruleset == nil || c.Map == nil {
		return invalid("ruleset", "a journey needs a ruleset and a map")
	}
	t.Ruleset, t.Map = c.Ruleset, c.Map
	if err := c.check(c.Ruleset); err != nil {
		return err
	}
	discovered := slices.Clone(c.Discovered)
	if l, ok := c.Map.location(c.Inside); ok && !l.Visible && !slices.Contains(discovered, l.ID) {
		// Whoever is inside has found it, and may come back to it.
		discovered = append(discovered, l.ID)
	}
	begin := Journey{
		Hex: c.Hex, Inside: c.Inside, Members: slices.Clone(c.Members), Food: slices.Clone(c.Food), Gold: c.Gold,
		Boat: c.Boat, Lantern: c.Lantern, Light: c.Light, Cargo: slices.Clone(c.Cargo),
		Discovered: discovered, StarvingRounds: c.StarvingRounds,
	}
	t.emit(Begun{Ruleset: c.Ruleset, Map: c.Map, Journey: begin})
	if t.SlotsNeeded()-t.SlotsHeld() > t.allFree() {
		return play.Refuse(NoRoom, "the food needs %d slots, of which %d are held and %d are free", t.SlotsNeeded(), t.SlotsHeld(), t.allFree()).On("food")
	}
	t.placeMissing()
	return nil
}

func (c Start) check(rs *Ruleset) error {
	if len(c.Members) == 0 || len(c.Members) > MaxMembers {
		return invalid("members", "a company has 1 to %d members", MaxMembers)
	}
	seen, carries := map[string]bool{}, map[string]bool{}
	living := false
	for i, m := range c.Members {
		field := fmt.Sprintf("members[%d]", i)
		if err := checkMember(field, m); err != nil {
			return err
		}
		if seen[m.Name] {
			return play.Refuse(NameTaken, "somebody named %s is in the company", m.Name).At(field + ".name")
		}
		seen[m.Name] = true
		carries[m.Name] = !m.Dead
		living = living || !m.Dead
	}
	if !living {
		return play.Refuse(PartyDead, "nobody of the company lives")
	}
	if err := checkPack(rs, c.Food, c.Light, c.Gold); err != nil {
		return err
	}
	if c.StarvingRounds < 0 || c.StarvingRounds > maxNumber {
		return invalid("starving_rounds", "hungry rounds are 0 to %d", maxNumber)
	}
	if len(c.Food) > 0 && c.StarvingRounds > 0 {
		return invalid("starving_rounds", "food ends hunger")
	}
	for i, l := range c.Cargo {
		if !carries[l.Carrier] || l.Slots < 0 || l.Slots > maxNumber || l.Value < 0 || l.Value > MaxGold {
			return invalid(fmt.Sprintf("cargo[%d]", i), "a load needs a living carrier, slots and a value from 0")
		}
	}
	for i, id := range c.Discovered {
		if _, ok := c.Map.location(id); !ok {
			return play.Refuse(UnknownLocation, "there is no location %s", id).At(fmt.Sprintf("discovered[%d]", i))
		}
		if slices.Contains(c.Discovered[:i], id) {
			return invalid(fmt.Sprintf("discovered[%d]", i), "%s is listed twice", id)
		}
	}
	if c.Hex == nil && c.Inside == "" {
		return invalid("hex", "a journey begins in a hex or inside a site")
	}
	return c.checkWorld(rs)
}

// checkWorld sees to it that the rules never meet a map that cannot be played, and that the company is on it.
func (c Start) checkWorld(rs *Ruleset) error {
	wrong := CheckMap(rs, c.Map)
	if c.Hex == nil {
		wrong = CheckSites(rs, c.Map)
	}
	if len(wrong) > 0 {
		return invalid("map."+wrong[0].Field, "%s", wrong[0].Message)
	}
	if err := checkPlace(c.Map, c.Hex, c.Inside); err != nil {
		return err
	}
	if l, _ := c.Map.location(c.Inside); c.Hex == nil && l.Kind != KindSite {
		return invalid("inside", "without a map a journey begins inside a site")
	}
	return nil
}

// checkPlace refuses places that are not there; hex nil is a crawl without a map.
func checkPlace(m *Map, hex *Hex, inside string) error {
	if hex != nil && m.terrain(*hex) == "" {
		return play.Refuse(OffMap, "(%d,%d) is not on the map", hex.Q, hex.R).At("hex")
	}
	if inside == "" {
		return nil
	}
	l, ok := m.location(inside)
	switch {
	case !ok:
		return play.Refuse(UnknownLocation, "there is no location %s", inside).At("inside")
	case hex != nil && l.Hex != *hex:
		return play.Refuse(NotHere, "%s is in another hex", inside).At("inside")
	}
	return nil
}

func checkPack(rs *Ruleset, food []int, light *Light, gold int) error {
	if most := rs.int("food.max_dice"); len(food) > most {
		return invalid("food", "a company has at most %d food dice", most)
	}
	for i, d := range food {
		if !rs.IsUsageDie(d) {
			return invalid(fmt.Sprintf("food[%d]", i), "d%d is no usage die", d)
		}
	}
	if light != nil && (!rs.IsUsageDie(light.Sides) || light.Kind != Torch && light.Kind != Lantern) {
		return invalid("light", "a light is a torch or a lantern with a usage die")
	}
	if gold < 0 || gold > MaxGold {
		return invalid("gold", "gold is 0 to %d", MaxGold)
	}
	return nil
}

func checkMember(field string, m Member) error {
	switch {
	case m.Name == "" || utf8.RuneCountInString(m.Name) > 80:
		return invalid(field+".name", "a name has 1 to 80 characters")
	case m.HP < 0 || m.HP > m.HPMax || m.HPMax > maxNumber:
		return invalid(field+".hp", "hit points are 0 to their maximum")
	case m.STR < 0 || m.STR > m.STRMax || m.STRMax > maxNumber:
		return invalid(field+".str", "strength is 0 to its maximum")
	case m.STR == 0 && !m.Dead:
		return invalid(field+".str", "at strength 0 one is dead")
	case m.Dead && (m.FoodSlots != 0 || m.Torches != 0 || m.Oil != 0):
		return invalid(field+".dead", "the dead carry neither food nor spares")
	}
	for name, n := range map[string]int{
		"capacity": m.Capacity, "gear": m.Gear, "food_slots": m.FoodSlots, "fatigue": m.Fatigue, "torches": m.Torches, "oil": m.Oil,
	} {
		if n < 0 || n > maxNumber {
			return invalid(field+"."+name, "%s is 0 to %d", name, maxNumber)
		}
	}
	return nil
}

// outdoors refuses what can only be done outside of all locations, in a hex.
func (t *turn) outdoors() error {
	if t.Inside != "" {
		return play.Refuse(InsideLocation, "the company is inside %s", t.Inside)
	}
	if t.Hex == nil {
		return play.Refuse(OffMap, "the company is on no map")
	}
	return nil
}

func (t *turn) beginRound(activity string) {
	t.emit(RoundBegun{Activity: activity, Round: t.Round + 1})
}

func (t *turn) terrainHere() string { return t.Map.terrain(*t.Hex) }

func (c Move) check(*Ruleset) error {
	if !slices.Contains([]Route{"", RouteAuto, RouteRoad, RouteRiver, RouteTerrain}, c.Via) {
		return invalid("via", "%q is none of auto, road, river and terrain", c.Via)
	}
	return nil
}

func (c Move) decide(t *turn) error {
	if err := t.outdoors(); err != nil {
		return err
	}
	from := *t.Hex
	if !from.Adjoins(c.To) {
		return play.Refuse(NotAdjacent, "(%d,%d) does not adjoin (%d,%d)", c.To.Q, c.To.R, from.Q, from.R).On("to")
	}
	terrain := t.Map.terrain(c.To)
	if terrain == "" {
		return play.Refuse(OffMap, "(%d,%d) is not on the map", c.To.Q, c.To.R).On("to")
	}
	via := c.Via
	switch {
	case via == RouteRoad && !t.road(from, c.To), via == RouteRiver && !t.river(from, c.To):
		return play.Refuse(BadRoute, "no %s leads from (%d,%d) to (%d,%d) for this company", via, from.Q, from.R, c.To.Q, c.To.R).On("via")
	case via != RouteRoad && via != RouteRiver && via != RouteTerrain:
		via = t.way(from, c.To)
	}
	t.beginRound("move")
	t.emit(Moved{To: c.To, Via: via, Terrain: terrain})
	t.supplies(terrain, via != RouteTerrain, "move")
	t.outdoorCheck()
	return nil
}

// road tells whether a road leads from a hex to its neighbour, river whether this company can go by river.
func (t *turn) road(from, to Hex) bool {
	return edge(t.Map.Roads, from, to) || edge(t.Map.Roads, to, from)
}

func (t *turn) river(from, to Hex) bool {
	return (t.Boat || !t.Ruleset.flag("river.needs_boat")) && (edge(t.Map.Rivers, from, to) ||
		t.Ruleset.text("river.upstream") == "as_downstream" && edge(t.Map.Rivers, to, from))
}

// way is the way that a move takes when none is named.
func (t *turn) way(from, to Hex) Route {
	switch {
	case t.road(from, to):
		return RouteRoad
	case t.river(from, to):
		return RouteRiver
	}
	return RouteTerrain
}

// eased tells whether a road or river here eases a search or a forage attempt.
func (t *turn) eased(param string) bool { return t.Ruleset.flag(param) && t.Map.onRoute(*t.Hex) }

func (Search) decide(t *turn) error {
	if err := t.outdoors(); err != nil {
		return err
	}
	t.beginRound("search")
	t.supplies(t.terrainHere(), t.eased("search.road_applies"), "search")
	if t.Living() == 0 {
		return nil
	}
	success := true
	if least, ok := t.Ruleset.optional("search.success_min"); ok {
		face := t.dice.Roll("search", 6)
		success = face >= least
		t.emit(SearchRolled{Face: face, Success: success})
	}
	var found []string
	for _, l := range t.Map.Locations {
		hidden := l.Hex == *t.Hex && !l.Visible && !slices.Contains(t.Discovered, l.ID)
		if success && hidden && (len(found) == 0 || t.Ruleset.text("search.reveals") == "all") {
			found = append(found, l.ID)
		}
	}
	t.emit(LocationsFound{Locations: found})
	t.outdoorCheck()
	return nil
}

func (Forage) decide(t *turn) error {
	if err := t.outdoors(); err != nil {
		return err
	}
	t.beginRound("forage")
	t.supplies(t.terrainHere(), t.eased("forage.road_applies"), "forage")
	if t.Living() == 0 {
		return nil
	}
	t.forage(t.dice.Roll("forage", 6))
	t.outdoorCheck()
	return nil
}

func (t *turn) forage(face int) {
	if face < t.Ruleset.int("forage.success_min") {
		t.emit(Foraged{Result: "failed"})
		return
	}
	food, result := t.raised(t.Food)
	switch {
	case result == "from_out" && t.Ruleset.text("forage.when_out") == "no_gain":
		t.emit(Foraged{Result: "no_gain"})
		return
	case result == "added_die" && t.Ruleset.text("forage.at_d20") == "no_gain", result == "at_max":
		t.emit(Foraged{Result: "at_max"})
		return
	case t.Ruleset.SlotsNeeded(food, t.Living()) > t.SlotsHeld()+t.allFree():
		t.emit(Foraged{Result: "no_room"})
		return
	}
	t.emit(Foraged{Result: result})
	t.raise(food, "raised")
}

// raised returns the food one step higher and what kind of step it was; at_max when there is none.
func (t *turn) raised(food []int) ([]int, string) {
	if len(food) == 0 {
		return []int{t.Ruleset.smallest()}, "from_out"
	}
	order := make([]int, len(food))
	for i := range order {
		order[i] = len(food) - 1 - i
	}
	if t.Ruleset.text("food.second_die_order") == "oldest_first" {
		slices.Reverse(order)
	}
	up := slices.Clone(food)
	for _, i := range order {
		if next := t.Ruleset.stepUp(food[i]); next > 0 {
			up[i] = next
			return up, "raised"
		}
	}
	if len(food) < t.Ruleset.int("food.max_dice") {
		return append(up, t.Ruleset.smallest()), "added_die"
	}
	return food, "at_max"
}

// raise makes food larger: slots that are held already are used first, hunger ends (DDW-SLOT-16, DDW-STARVE-08).
func (t *turn) raise(food []int, why string) {
	t.emit(FoodChanged{Food: food, Why: why})
	t.placeMissing()
	if t.StarvingRounds > 0 {
		t.emit(HungerEnded{})
	}
}

// placeMissing reserves the slots that the food needs and nobody holds yet, as far as there is room.
func (t *turn) placeMissing() {
	missing := t.SlotsNeeded() - t.SlotsHeld()
	if missing <= 0 {
		return
	}
	work := t.Journey.clone()
	for range missing {
		i := work.roomiest()
		if i < 0 || work.free(work.Members[i]) == 0 {
			break
		}
		work.Members[i].FoodSlots++
	}
	t.change(func(members []Member) { copy(members, work.Members) })
}

// supplies feeds the company for a round, or lets hunger act.
func (t *turn) supplies(terrain string, eased bool, purpose string) {
	n, keep := t.Ruleset.checkFor(terrain, eased)
	t.feed(n, keep, purpose)
}

func (t *turn) feed(n int, keep Keep, purpose string) {
	if len(t.Food) > 0 {
		t.check(n, keep, purpose)
		if len(t.Food) > 0 || t.Ruleset.text("starve.starts") != "same_round" {
			return
		}
	}
	t.hunger()
}

// check rolls the food die in turn.
func (t *turn) check(n int, keep Keep, purpose string) {
	i := t.foodInTurn()
	u := RollUsage(t.Ruleset, t.Food[i], n, keep, "usage "+purpose, t.dice)
	t.emit(UsageChecked{Usage: u})
	if !u.SteppedDown {
		return
	}
	t.emit(FoodChanged{Food: t.steppedDown(i), Why: "used"})
	if t.Ruleset.text("food.slot_release") == "eager" {
		t.freeFood()
	}
}

// steppedDown returns the food with one die a step lower, below the smallest without it.
func (t *turn) steppedDown(i int) []int {
	food := slices.Clone(t.Food)
	if next := t.Ruleset.stepDown(food[i]); next > 0 {
		food[i] = next
		return food
	}
	return slices.Delete(food, i, i+1)
}

// freeFood frees slots that are held but not needed, one by one from whoever holds most (DDW-SLOT-14).
func (t *turn) freeFood() int {
	surplus := max(0, t.SlotsHeld()-t.SlotsNeeded())
	t.change(func(members []Member) {
		for range surplus {
			most := 0
			for i, m := range members {
				if m.FoodSlots > members[most].FoodSlots {
					most = i
				}
			}
			members[most].FoodSlots--
		}
	})
	return surplus
}

// hunger is one hungry round (DDW-STARVE-01 to -07).
func (t *turn) hunger() {
	t.emit(Hungered{Rounds: t.StarvingRounds + 1})
	switch t.Ruleset.text("starve.variant") {
	case "damage":
		damage := t.Ruleset.int("starve.damage")
		t.change(func(members []Member) {
			for i := range members {
				if m := &members[i]; !m.Dead {
					fromHP := min(m.HP, damage)
					m.HP -= fromHP
					m.STR = max(0, m.STR-(damage-fromHP))
				}
			}
		})
	case "deprived":
		if t.StarvingRounds%t.Ruleset.int("starve.rounds_per_day") == 0 {
			t.tire()
		}
	case "drain":
		t.drain()
	}
	t.buryTheDead()
}

func (t *turn) tire() {
	j := t.Journey
	t.change(func(members []Member) {
		for i := range members {
			m := &members[i]
			if m.Dead {
				continue
			}
			if j.free(*m) == 0 && m.FoodSlots > 0 {
				m.FoodSlots--
			}
			m.Fatigue++
		}
	})
}

func (t *turn) drain() {
	sides := t.Ruleset.int("starve.drain_die")
	j := t.Journey
	shared := 0
	if t.Ruleset.text("starve.drain_per") == "party" &&
		slices.ContainsFunc(j.Members, func(m Member) bool { return !m.Dead && m.HP > 0 }) {
		shared = t.dice.Roll("hunger", sides)
	}
	t.change(func(members []Member) {
		for i := range members {
			m := &members[i]
			switch {
			case m.Dead:
			case m.HP == 0:
				m.STR = max(0, m.STR-1)
			case shared > 0:
				m.HP = max(0, m.HP-shared)
			default:
				m.HP = max(0, m.HP-t.dice.Roll("hunger "+m.Name, sides))
			}
		}
	})
}

// buryTheDead settles what follows from members at STR 0 (DDW-SLOT-18).
func (t *turn) buryTheDead() {
	died := false
	for _, m := range slices.Clone(t.Members) {
		if !m.Dead && m.STR == 0 {
			t.emit(MemberDied{Name: m.Name})
			died = true
		}
	}
	switch {
	case !died:
	case t.Living() == 0:
		if len(t.Food) > 0 {
			t.emit(FoodChanged{Food: nil, Why: "death"})
		}
	default:
		t.makeFit("death")
	}
}

// makeFit counts slots anew for fewer members: while the missing ones do not fit, the die in turn steps down; then they
// are placed.
func (t *turn) makeFit(why string) {
	for len(t.Food) > 0 && t.SlotsNeeded()-t.SlotsHeld() > t.allFree() {
		t.emit(FoodChanged{Food: t.steppedDown(t.foodInTurn()), Why: why})
	}
	t.placeMissing()
}

// outdoorCheck rolls for an encounter at the end of a round (DDW-ENC-01 to -06). Nobody is left to meet a dead company.
func (t *turn) outdoorCheck() {
	if t.Living() == 0 {
		return
	}
	face := t.dice.Roll("encounter check", 6)
	met := face <= t.Ruleset.int("enc.check_max")
	t.emit(EncounterChecked{Face: face, Met: met})
	if !met {
		return
	}
	table := t.Ruleset.EncounterTables[t.Ruleset.Terrains[t.terrainHere()].EncounterTable]
	row := t.dice.Roll("encounter type", 4) + t.dice.Roll("encounter type", 4)
	t.meet(table.Entries[row-2], "enc.number_die", "", "")
}

// meet rolls number, reaction and gold of those met.
func (t *turn) meet(e Entry, numberDie, players, npcs string) {
	met := Encounter{Creature: e.Creature, Number: 1, Remains: e.Remains, Players: players, NPCs: npcs}
	if e.NumberDie != nil {
		sides := *e.NumberDie
		if forced := dieSides(t.Ruleset.text(numberDie)); forced > 0 {
			sides = forced
		}
		met.Number = t.dice.Roll("number", sides)
	}
	if t.Ruleset.flag("enc.reaction") {
		total := t.dice.Roll("reaction", 6) + t.dice.Roll("reaction", 6)
		reaction := t.Ruleset.reaction(total)
		met.Reaction, met.ReactionTotal = &reaction, &total
	}
	if e.UsesMoney && t.Ruleset.flag("enc.gold") {
		for range met.Number {
			met.Gold += t.dice.Roll("gold", t.Ruleset.int("enc.gold_die"))
		}
	}
	t.emit(EncounterMet{Encounter: met})
}

func (c PrepareRemains) check(*Ruleset) error {
	if c.Count < 1 {
		return invalid("count", "at least one creature's remains are prepared")
	}
	if c.Value < 0 || c.Value > MaxGold {
		return invalid("value", "the value is 0 to %d", MaxGold)
	}
	return nil
}

func (c PrepareRemains) decide(t *turn) error {
	site := t.insideKind() == KindSite
	carrier := t.living(c.Carrier)
	slots := t.Ruleset.int("remains.slots")
	switch {
	case t.Inside != "" && !site:
		return play.Refuse(InsideLocation, "the company is inside %s", t.Inside)
	case t.Inside == "" && t.Hex == nil:
		return play.Refuse(OffMap, "the company is on no map")
	case site && t.Dark() && t.Ruleset.text("dark.other_activity") == "refuse":
		return play.Refuse(TooDark, "it is too dark")
	case t.Encounter == nil || !t.Encounter.Remains || c.Count > t.Encounter.Number:
		return play.Refuse(NoRemains, "there are no remains of %d creatures", c.Count).On("count")
	case carrier < 0:
		return play.Refuse(NoSuchMember, "no living member is named %s", c.Carrier).On("carrier")
	case t.free(t.Members[carrier]) < slots:
		return play.Refuse(NoRoom, "%s has not %d free slots", c.Carrier, slots).On("carrier")
	}
	load := Load{Carrier: c.Carrier, Creature: t.Encounter.Creature, Count: c.Count, Value: c.Value, Slots: slots}
	t.emit(RemainsTaken{})
	if site {
		t.emit(RemainsPrepared{Load: load})
		t.siteTurn("remains")
		return nil
	}
	t.beginRound("remains")
	switch {
	case len(t.Food) > 0 && t.Ruleset.text("remains.usage") == "none":
	case len(t.Food) == 0 && !t.Ruleset.flag("remains.starvation"):
	case len(t.Food) > 0 && !t.Ruleset.flag("remains.starvation"):
		n, keep := t.Ruleset.checkFor(t.terrainHere(), false)
		t.check(n, keep, "remains")
	default:
		t.supplies(t.terrainHere(), false, "remains")
	}
	if t.Living() == 0 {
		return nil
	}
	t.emit(RemainsPrepared{Load: load, Lost: t.living(c.Carrier) < 0})
	if t.Ruleset.flag("remains.encounter") {
		t.outdoorCheck()
	}
	return nil
}

func (c Enter) decide(t *turn) error {
	if t.Inside != "" {
		return play.Refuse(InsideLocation, "the company is inside %s", t.Inside)
	}
	l, ok := t.Map.location(c.Location)
	switch {
	case !ok:
		return play.Refuse(UnknownLocation, "there is no location %s", c.Location).On("location")
	case t.Hex != nil && l.Hex != *t.Hex:
		return play.Refuse(NotHere, "%s is in another hex", c.Location).On("location")
	case !l.Visible && !slices.Contains(t.Discovered, l.ID):
		return play.Refuse(NotDiscovered, "%s has not been found", c.Location).On("location")
	}
	if len(t.Food) > 0 && (l.Kind != KindSettlement || t.Ruleset.flag("enter.settlement_rolls")) {
		n, keep := t.Ruleset.int("enter.dice"), KeepLowest
		if n == 1 {
			keep = KeepSingle
		}
		t.check(n, keep, "enter")
	}
	t.emit(LocationEntered{Location: l.ID})
	return nil
}

func (Leave) decide(t *turn) error {
	l, ok := t.place()
	switch {
	case !ok:
		return play.Refuse(NotInside, "the company is outside")
	case t.Room != "" && t.Room != l.Entrance:
		return play.Refuse(NotAtExit, "the exit is in %s", l.Entrance)
	}
	t.emit(LocationLeft{Location: l.ID})
	return nil
}

func (Loot) decide(t *turn) error {
	if t.Encounter == nil || t.Encounter.Gold == 0 {
		return play.Refuse(NoGoldHere, "there is no gold to take")
	}
	t.emit(Looted{Taken: t.Encounter.Gold, Gold: t.Gold + t.Encounter.Gold})
	return nil
}

func (c Harm) check(*Ruleset) error {
	if c.HP < 0 {
		return invalid("hp", "harm is 0 or more")
	}
	if c.STR < 0 {
		return invalid("str", "harm is 0 or more")
	}
	return nil
}

func (c Harm) decide(t *turn) error {
	victim := t.living(c.Name)
	if victim < 0 {
		return play.Refuse(NoSuchMember, "no living member is named %s", c.Name).On("member")
	}
	t.emit(Harmed(c))
	t.change(func(members []Member) {
		m := &members[victim]
		m.HP, m.STR = max(0, m.HP-c.HP), max(0, m.STR-c.STR)
	})
	t.buryTheDead()
	return nil
}

func (c Rest) decide(t *turn) error {
	if c.Long && t.insideKind() != KindSettlement {
		return play.Refuse(NotSettlement, "a long rest needs a settlement")
	}
	if t.NoRecovery() {
		return play.Refuse(Deprived, "nobody recovers while the company is out of food")
	}
	t.emit(Rested(c))
	t.change(func(members []Member) {
		for i := range members {
			if m := &members[i]; !m.Dead {
				m.HP = m.HPMax
				if c.Long {
					m.STR, m.Fatigue = m.STRMax, 0
				}
			}
		}
	})
	return nil
}
