package diedrop

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/wayfarer-rpg/wayfarer/rules/play"
)

// Adjust is the GM's hand in the journey: it sets what is named and leaves the rest. It takes no dice, no round and no
// turn. Food and loads have to find room, as anybody's do; members at strength 0 die as ever, and drop their loads.
// Refused: OFF_MAP, UNKNOWN_LOCATION, NOT_HERE, NO_SUCH_WAY, NO_SUCH_MEMBER, NO_ROOM.
type Adjust struct {
	// Reason is kept in the log: 1 to 500 characters.
	Reason string
	// Gold is 0 to [MaxGold].
	Gold    *int
	Boat    *bool
	Lantern *bool
	// Food are the sides of the food dice, the oldest first; a pointer to an empty list takes all food away.
	Food *[]int
	// Light burns from now on; its Sides 0 puts out what burns.
	Light *Light
	// Position takes the company elsewhere.
	Position *Position
	// Discovered are ids of hidden locations that the company hears of.
	Discovered []string
	// Cargo are all loads from now on, each with a living carrier who has room for it beside what else they carry; a pointer
	// to an empty list takes all of them away. Their slots are the ruleset's.
	Cargo *[]Load
	// Members are living members, each once.
	Members []MemberAdjustment
}

// maxCreature bounds what a load is called, in characters.
const maxCreature = 200

// Position is a place: a hex, a location in it and a room of that location, each of the last two optional. In a crawl
// without a map Hex is nil.
type Position struct {
	Hex    *Hex   `json:"hex"`
	Inside string `json:"inside"`
	Room   string `json:"room"`
}

// MemberAdjustment sets fields of a living member; nil leaves them.
type MemberAdjustment struct {
	Name string
	// HP and STR are 0 to the member's maximum.
	HP, STR *int
	// Gear and Fatigue are slots, Torches and Oil spares, all from 0.
	Gear, Fatigue, Torches, Oil *int
}

// Adjusted tells what a GM changed; what of it is told by LocationsFound, MembersChanged, CargoChanged and FoodChanged
// follows.
type Adjusted struct {
	Reason  string `json:"reason"`
	Gold    *int   `json:"gold,omitempty"`
	Boat    *bool  `json:"boat,omitempty"`
	Lantern *bool  `json:"lantern,omitempty"`
	// Light burns from now on; its Sides 0 is darkness.
	Light *Light `json:"light,omitempty"`
	// Position is where the company is now, Visited the way from the entrance to its room. The encounter stays behind.
	Position *Position `json:"position,omitempty"`
	Visited  []string  `json:"visited,omitempty"`
}

func (e Adjusted) applyTo(j *Journey) {
	if e.Gold != nil {
		j.Gold = *e.Gold
	}
	if e.Boat != nil {
		j.Boat = *e.Boat
	}
	if e.Lantern != nil {
		j.Lantern = *e.Lantern
	}
	if e.Light != nil {
		j.Light = nil
		if e.Light.Sides > 0 {
			lit := *e.Light
			j.Light = &lit
		}
	}
	if p := e.Position; p != nil {
		j.Hex, j.Inside, j.Room, j.Visited, j.Encounter = nil, p.Inside, p.Room, slices.Clone(e.Visited), nil
		if p.Hex != nil {
			hex := *p.Hex
			j.Hex = &hex
		}
	}
}

func (c Adjust) check(rs *Ruleset) error {
	if n := utf8.RuneCountInString(c.Reason); n < 1 || n > 500 {
		return invalid("reason", "a reason has 1 to 500 characters")
	}
	if c.Gold == nil && c.Boat == nil && c.Lantern == nil && c.Food == nil && c.Light == nil && c.Position == nil &&
		len(c.Discovered) == 0 && c.Cargo == nil && len(c.Members) == 0 {
		return invalid("", "nothing is set")
	}
	var food []int
	if c.Food != nil {
		food = *c.Food
	}
	gold := 0
	if c.Gold != nil {
		gold = *c.Gold
	}
	light := c.Light
	if light != nil && light.Sides == 0 {
		light = nil
	}
	if err := checkPack(rs, food, light, gold); err != nil {
		return err
	}
	if p := c.Position; p != nil && p.Inside == "" && (p.Room != "" || p.Hex == nil) {
		return invalid("position", "a place is a hex or a location, and a room is in a location")
	}
	seen := map[string]bool{}
	for i, m := range c.Members {
		if seen[m.Name] {
			return invalid(fmt.Sprintf("members[%d].name", i), "%s is named twice", m.Name)
		}
		seen[m.Name] = true
	}
	if c.Cargo == nil {
		return nil
	}
	for i, l := range *c.Cargo {
		if l.Value < 0 || l.Value > MaxGold || l.Count < 0 || l.Count > maxNumber || utf8.RuneCountInString(l.Creature) > maxCreature {
			return invalid(fmt.Sprintf("cargo[%d]", i), "a load has up to %d letters, a count from 0 to %d and a value from 0 to %d", maxCreature, maxNumber, MaxGold)
		}
	}
	return nil
}

func (c Adjust) decide(t *turn) error {
	e := Adjusted{Reason: c.Reason, Gold: c.Gold, Boat: c.Boat, Lantern: c.Lantern, Light: c.Light, Position: c.Position}
	if c.Position != nil {
		visited, err := t.wayTo(*c.Position)
		if err != nil {
			return err
		}
		e.Visited = visited
	}
	t.emit(e)
	if l, ok := t.place(); c.Position != nil && ok && !l.Visible && !slices.Contains(t.Discovered, l.ID) {
		t.emit(LocationsFound{Locations: []string{l.ID}})
	}
	if err := t.hear(c.Discovered); err != nil {
		return err
	}
	if err := t.adjustMembers(c.Members); err != nil {
		return err
	}
	if err := t.reload(c.Cargo); err != nil {
		return err
	}
	if c.Food == nil || t.Living() == 0 {
		return nil
	}
	t.emit(FoodChanged{Food: *c.Food, Why: "adjusted"})
	if t.SlotsNeeded()-t.SlotsHeld() > t.allFree() {
		return play.Refuse(NoRoom, "the food needs %d slots", t.SlotsNeeded()).At("food")
	}
	t.placeMissing()
	if len(t.Food) > 0 && t.StarvingRounds > 0 {
		t.emit(HungerEnded{})
	}
	return nil
}

// wayTo checks a place and returns the rooms on the shortest way from the entrance to its room: those the company is
// taken to know, so that it can retreat by them (DDW-DARK-02).
func (t *turn) wayTo(p Position) ([]string, error) {
	if (p.Hex == nil) != (t.Hex == nil) {
		return nil, play.Refuse(OffMap, "a company on a map is in a hex, any other is not").At("position.hex")
	}
	if err := checkPlace(t.Map, p.Hex, p.Inside); err != nil {
		return nil, err
	}
	if p.Room == "" {
		return nil, nil
	}
	l, _ := t.Map.location(p.Inside)
	if _, ok := l.Rooms[p.Room]; !ok {
		return nil, play.Refuse(NoSuchWay, "%s has no room %s", p.Inside, p.Room).At("position.room")
	}
	far := l.distances(l.Entrance, nil)
	way := []string{p.Room}
	for room := p.Room; room != l.Entrance; way = append(way, room) {
		next := slices.IndexFunc(l.Rooms[room], func(to string) bool { return far[to] == far[room]-1 })
		room = l.Rooms[room][next]
	}
	slices.Reverse(way)
	return way, nil
}

// hear makes hidden locations known; those that are known already change nothing.
func (t *turn) hear(ids []string) error {
	var news []string
	for i, id := range ids {
		l, ok := t.Map.location(id)
		if !ok || l.Visible {
			return play.Refuse(UnknownLocation, "there is no hidden location %s", id).At(fmt.Sprintf("discovered[%d]", i))
		}
		if !slices.Contains(t.Discovered, id) && !slices.Contains(news, id) {
			news = append(news, id)
		}
	}
	if len(news) > 0 {
		t.emit(LocationsFound{Locations: news})
	}
	return nil
}

// reload sets the loads.
func (t *turn) reload(cargo *[]Load) error {
	if cargo == nil {
		return nil
	}
	loads := slices.Clone(*cargo)
	for i := range loads {
		loads[i].Slots = t.Ruleset.int("remains.slots")
		if t.living(loads[i].Carrier) < 0 {
			return play.Refuse(NoSuchMember, "no living member is named %s", loads[i].Carrier).At(fmt.Sprintf("cargo[%d].carrier", i))
		}
	}
	t.emit(CargoChanged{Cargo: loads})
	for i, l := range loads {
		if l.Slots > 0 && t.Overloaded(t.Members[t.living(l.Carrier)]) {
			return play.Refuse(NoRoom, "%s cannot carry that", l.Carrier).At(fmt.Sprintf("cargo[%d].carrier", i))
		}
	}
	return nil
}

func (t *turn) adjustMembers(changes []MemberAdjustment) error {
	now := slices.Clone(t.Members)
	for i, c := range changes {
		k := t.living(c.Name)
		if k < 0 {
			return play.Refuse(NoSuchMember, "no living member is named %s", c.Name).At(fmt.Sprintf("members[%d].name", i))
		}
		m := &now[k]
		for _, f := range []struct {
			name  string
			value *int
			into  *int
			most  int
		}{
			{"hp", c.HP, &m.HP, m.HPMax}, {"str", c.STR, &m.STR, m.STRMax}, {"gear", c.Gear, &m.Gear, maxNumber},
			{"fatigue", c.Fatigue, &m.Fatigue, maxNumber}, {"torches", c.Torches, &m.Torches, maxNumber}, {"oil", c.Oil, &m.Oil, maxNumber},
		} {
			if f.value == nil {
				continue
			}
			if *f.value < 0 || *f.value > f.most {
				return invalid(fmt.Sprintf("members[%d].%s", i, f.name), "%s is 0 to %d", f.name, f.most)
			}
			*f.into = *f.value
		}
	}
	t.change(func(members []Member) { copy(members, now) })
	t.buryTheDead()
	return nil
}
