package diedrop

import "slices"

// Journey is the state of one company's travel. It is the fold of its events; treat it as a value.
type Journey struct {
	// Ruleset and Map are those frozen when the journey began. They are shared and never changed.
	Ruleset *Ruleset `json:"ruleset"`
	Map     *Map     `json:"map"`
	// Round counts hex moves, searches, forage attempts and outdoor preparing; Turn counts turns inside sites.
	Round int `json:"round"`
	Turn  int `json:"turn"`
	// Hex is where the company is; nil for a crawl without a map.
	Hex *Hex `json:"hex"`
	// Inside is the id of the location entered, Room the room of a site, Visited the rooms seen in this stay.
	Inside  string   `json:"inside"`
	Room    string   `json:"room"`
	Visited []string `json:"visited"`
	// Food lists the sides of the food dice, the oldest first (DDW-USE-09); empty: out of food.
	Food []int `json:"food"`
	// StarvingRounds counts hungry rounds since the food ran out.
	StarvingRounds int  `json:"starving_rounds"`
	Gold           int  `json:"gold"`
	Boat           bool `json:"boat"`
	Lantern        bool `json:"lantern"`
	// Members in party order, the dead included.
	Members []Member `json:"members"`
	Cargo   []Load   `json:"cargo"`
	// Light is what burns; nil in the dark.
	Light *Light `json:"light"`
	// Discovered lists hidden locations that were found, in order.
	Discovered []string `json:"discovered"`
	// Encounter stands until others turn up or the place is left (DDW-NPC-04).
	Encounter *Encounter `json:"encounter"`
	// Board holds the missions and rumours that were rolled on the way.
	Board
}

// Member is somebody of the company; hirelings and guests are members like the others (DDW-PARTY-01).
type Member struct {
	// Name is unique in the company, the dead included.
	Name string `json:"name"`
	// Character is an opaque reference, empty for hirelings.
	Character string `json:"character,omitempty"`
	HP        int    `json:"hp"`
	HPMax     int    `json:"hp_max"`
	STR       int    `json:"str"`
	STRMax    int    `json:"str_max"`
	// Capacity is how many slots they can carry; Gear and Fatigue fill some of them (DDW-SLOT-15).
	Capacity  int  `json:"capacity"`
	Gear      int  `json:"gear"`
	FoodSlots int  `json:"food_slots"`
	Fatigue   int  `json:"fatigue"`
	Torches   int  `json:"torches"`
	Oil       int  `json:"oil"`
	Dead      bool `json:"dead"`
}

// Load is one load of prepared remains (DDW-NPC-07).
type Load struct {
	Carrier  string `json:"carrier"`
	Creature string `json:"name"`
	Count    int    `json:"count"`
	Value    int    `json:"value"`
	Slots    int    `json:"slots"`
}

// The kinds of light.
const (
	Torch   = "torch"
	Lantern = "lantern"
)

// Light is a burning light with its usage die.
type Light struct {
	Kind  string `json:"kind"`
	Sides int    `json:"sides"`
}

// Encounter is who was met last.
type Encounter struct {
	Creature string `json:"creature"`
	Number   int    `json:"number"`
	// Reaction and ReactionTotal are nil when no reaction was rolled.
	Reaction      *string `json:"reaction"`
	ReactionTotal *int    `json:"reaction_total"`
	// Gold that can be looted, and whether remains can be prepared.
	Gold    int  `json:"gold"`
	Remains bool `json:"remains"`
	// Players and NPCs tell in sites how attacks fare: normal, impaired (d4) or enhanced (d12) (DDW-DARK-04).
	Players string `json:"players,omitempty"`
	NPCs    string `json:"npcs,omitempty"`
}

// Mission is a number of the mission table that was rolled.
type Mission struct {
	Number int  `json:"number"`
	False  bool `json:"false"`
	Used   bool `json:"used"`
}

func (j Journey) clone() Journey {
	j.Visited = slices.Clone(j.Visited)
	j.Food = slices.Clone(j.Food)
	j.Members = slices.Clone(j.Members)
	j.Cargo = slices.Clone(j.Cargo)
	j.Discovered = slices.Clone(j.Discovered)
	j.Board = j.Board.clone()
	return j
}

// Started tells whether the journey has begun.
func (j Journey) Started() bool { return j.Ruleset != nil }

// Living returns how many members live.
func (j Journey) Living() int {
	n := 0
	for _, m := range j.Members {
		if !m.Dead {
			n++
		}
	}
	return n
}

// SlotsNeeded is what the food dice fill for the living (DDW-SLOT-01).
func (j Journey) SlotsNeeded() int { return j.Ruleset.SlotsNeeded(j.Food, j.Living()) }

// SlotsHeld is what is reserved for food; it may be more than needed until it is freed (DDW-SLOT-13).
func (j Journey) SlotsHeld() int {
	n := 0
	for _, m := range j.Members {
		n += m.FoodSlots
	}
	return n
}

// SlotsUsed is how many slots of a member are full (DDW-SLOT-15).
func (j Journey) SlotsUsed(m Member) int {
	used := m.Gear + m.FoodSlots + m.Fatigue +
		m.Torches*j.Ruleset.LightSources[Torch].SpareSlots + m.Oil*j.Ruleset.LightSources[Lantern].SpareSlots
	for _, l := range j.Cargo {
		if l.Carrier == m.Name {
			used += l.Slots
		}
	}
	return used
}

// Overloaded tells whether a member carries more than they can.
func (j Journey) Overloaded(m Member) bool { return j.SlotsUsed(m) > m.Capacity }

func (j Journey) free(m Member) int { return max(0, m.Capacity-j.SlotsUsed(m)) }

func (j Journey) allFree() int {
	n := 0
	for _, m := range j.Members {
		if !m.Dead {
			n += j.free(m)
		}
	}
	return n
}

// Dark tells that no light burns.
func (j Journey) Dark() bool { return j.Light == nil }

// NoRecovery tells that the company is out of food and hunger stops recovery (DDW-STARVE-09).
func (j Journey) NoRecovery() bool {
	return len(j.Food) == 0 &&
		(j.Ruleset.text("starve.stops_recovery") == "every_variant" || j.Ruleset.text("starve.variant") != "damage")
}

func (j Journey) member(name string) int {
	return slices.IndexFunc(j.Members, func(m Member) bool { return m.Name == name })
}

// living returns the index of a living member, or -1.
func (j Journey) living(name string) int {
	if i := j.member(name); i >= 0 && !j.Members[i].Dead {
		return i
	}
	return -1
}

// place returns the location that the company is inside of.
func (j Journey) place() (Location, bool) {
	if j.Inside == "" || j.Map == nil {
		return Location{}, false
	}
	return j.Map.location(j.Inside)
}

func (j Journey) insideKind() string {
	l, _ := j.place()
	return l.Kind
}

// roomiest returns the living member with most free slots, on a tie the earlier one, or -1 (DDW-SLOT-16).
func (j Journey) roomiest() int {
	best := -1
	for i, m := range j.Members {
		if !m.Dead && (best < 0 || j.free(m) > j.free(j.Members[best])) {
			best = i
		}
	}
	return best
}

// foodInTurn returns the index of the food die that a check rolls (DDW-USE-09).
func (j Journey) foodInTurn() int {
	if j.Ruleset.text("food.second_die_order") == "oldest_first" {
		return 0
	}
	return len(j.Food) - 1
}
