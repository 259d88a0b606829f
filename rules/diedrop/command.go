package diedrop

// Command is something that a company or its GM wants done.
type Command interface{ decide(t *turn) error }

// checked is a command with arguments; those outside their kind are refused as INVALID before the rules look at them.
type checked interface{ check(rs *Ruleset) error }

// What buy_gear sells.
const (
	ItemTorch   = "torch"
	ItemOil     = "oil"
	ItemLantern = "lantern"
	ItemBoat    = "boat"
)

// The triggers of a turn inside a site (DDW-TURN-01 to -03).
const (
	TriggerRoom     = "room"
	TriggerActivity = "activity"
	TriggerCombat   = "combat"
)

// The commands.
type (
	// Start begins a journey. Food slots that the members do not hold yet are placed (DDW-SLOT-16); refused as NO_ROOM
	// when they do not fit. A crawl without a map has a map of locations only, and begins inside a site.
	Start struct {
		Ruleset *Ruleset
		Map     *Map
		// Hex is nil for a crawl without a map; Inside is the id of a location to begin in.
		Hex        *Hex
		Inside     string
		Members    []Member
		Food       []int
		Gold       int
		Boat       bool
		Lantern    bool
		Light      *Light
		Cargo      []Load
		Discovered []string
		// StarvingRounds carries hunger over from an earlier journey.
		StarvingRounds int
	}
	// Move goes into a neighbouring hex. Refused: INSIDE_LOCATION, NOT_ADJACENT, OFF_MAP, BAD_ROUTE.
	Move struct {
		To  Hex
		Via Route
	}
	// Search looks for locations (DDW-SEARCH-…). Refused: INSIDE_LOCATION.
	Search struct{}
	// Forage hunts or gathers food (DDW-FORAGE-…). Refused: INSIDE_LOCATION.
	Forage struct{}
	// PrepareRemains makes a load of the remains of an encounter (DDW-NPC-05 to -08).
	// Refused: INSIDE_LOCATION, TOO_DARK, NO_REMAINS, NO_SUCH_MEMBER, NO_ROOM.
	PrepareRemains struct {
		Count, Value int
		Carrier      string
	}
	// Enter goes into a location (DDW-ENTER-…). Refused: INSIDE_LOCATION, UNKNOWN_LOCATION, NOT_HERE, NOT_DISCOVERED.
	Enter struct{ Location string }
	// Leave goes outside. Refused: NOT_INSIDE, NOT_AT_EXIT.
	Leave struct{}
	// BuyFood raises the food by steps (DDW-BUY-01 to -07). Refused: NOT_SETTLEMENT, MAX_FOOD, NO_GOLD, NO_ROOM.
	BuyFood struct{ Steps int }
	// BuyGear buys torches, oil, a lantern or a boat (DDW-BUY-08 to -11).
	// Refused: NOT_SETTLEMENT, NO_SUCH_MEMBER, ALREADY_OWNED, NO_GOLD, NO_ROOM.
	BuyGear struct {
		Item    string
		Count   int
		Carrier string
	}
	// AddMember takes somebody along (DDW-PARTY-02 to -04). Refused: INSIDE_LOCATION, NAME_TAKEN, NO_ROOM.
	AddMember struct{ Member Newcomer }
	// RemoveMember lets somebody go (DDW-PARTY-05, -06). Refused: INSIDE_LOCATION, NO_SUCH_MEMBER, LAST_MEMBER.
	RemoveMember struct{ Name string }
	// SellRemains sells all loads. Refused: NOT_SETTLEMENT.
	SellRemains struct{}
	// FreeFoodSlots frees slots of eaten food (DDW-SLOT-14).
	FreeFoodSlots struct{}
	// Distribute hands the food slots out anew (DDW-SLOT-12). Refused: BAD_DISTRIBUTION.
	Distribute struct{ FoodSlots map[string]int }
	// Loot takes the gold of the encounter (DDW-NPC-04). Refused: NO_GOLD_HERE.
	Loot struct{}
	// Harm is damage from outside these rules. Refused: NO_SUCH_MEMBER.
	Harm struct {
		Name    string
		HP, STR int
	}
	// Rest brings HP back, Long inside a settlement also STR and Fatigue (DDW-STARVE-09).
	// Refused: NOT_SETTLEMENT (long), DEPRIVED.
	Rest struct{ Long bool }
	// LightUp lights a spare (DDW-LIGHT-07). Refused: ALREADY_LIT, NO_SPARE.
	LightUp struct{ Kind string }
	// TakeTurn is a turn inside a site (DDW-TURN-…). Refused: NOT_DUNGEON, TOO_DARK, NO_SUCH_WAY, NOT_IN_ROOM.
	TakeTurn struct{ Trigger, To string }
	// Retreat goes one room nearer to the exit (DDW-DARK-01, -02). Refused: NOT_DUNGEON, AT_EXIT.
	Retreat struct{}
	// RollMissions rolls on the mission table (DDW-MISSION-…). Refused: TOO_FEW_MISSIONS, TOO_MANY_MISSIONS.
	RollMissions struct {
		Count int
		// False are the places in this roll's list, from 0, that are false rumours.
		False []int
	}
	// UseMission uses an open mission up (DDW-MISSION-04). Refused: NO_SUCH_MISSION.
	UseMission struct {
		Number      int
		Replacement string
	}
)

// Newcomer is somebody who joins. Values that are nil have defaults: the present HP and STR, the ruleset's capacity.
type Newcomer struct {
	Name      string
	Character string
	HP        int
	HPMax     *int
	STR       int
	STRMax    *int
	Capacity  *int
	Gear      int
	Fatigue   int
	Torches   int
	Oil       int
}

// Member returns the newcomer as a member without food.
func (n Newcomer) Member(rs *Ruleset) Member {
	or := func(p *int, otherwise int) int {
		if p != nil {
			return *p
		}
		return otherwise
	}
	return Member{
		Name: n.Name, Character: n.Character, HP: n.HP, HPMax: or(n.HPMax, n.HP), STR: n.STR, STRMax: or(n.STRMax, n.STR),
		Capacity: or(n.Capacity, rs.int("inventory.slots_per_member")),
		Gear:     n.Gear, Fatigue: n.Fatigue, Torches: n.Torches, Oil: n.Oil,
	}
}
