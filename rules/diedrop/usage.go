package diedrop

import "github.com/wayfarer-rpg/wayfarer/rules/play"

// Keep says which of several usage dice counts (DDW-USE-07).
type Keep string

// The three ways.
const (
	KeepSingle  Keep = "single"
	KeepLowest  Keep = "lowest"
	KeepHighest Keep = "highest"
)

// Usage is one check of a usage die.
type Usage struct {
	// Sides of the die before the check, and how many of them were rolled.
	Sides int  `json:"sides"`
	Dice  int  `json:"dice"`
	Keep  Keep `json:"keep"`
	// Kept is the face that counts.
	Kept        int  `json:"kept"`
	SteppedDown bool `json:"stepped_down"`
	// Next is the die afterwards, 0 when it is used up (DDW-USE-04).
	Next int `json:"next"`
}

// RollUsage checks a usage die: all n dice of its present size are rolled before anything is decided, and it steps down
// once at most (DDW-USE-03, -05, -06).
func RollUsage(rs *Ruleset, sides, n int, keep Keep, purpose string, dice *play.Dice) Usage {
	u := Usage{Sides: sides, Dice: n, Keep: keep}
	for i := range n {
		face := dice.Roll(purpose, sides)
		switch {
		case i == 0, keep == KeepLowest && face < u.Kept, keep == KeepHighest && face > u.Kept:
			u.Kept = face
		}
	}
	u.SteppedDown, u.Next = rs.UsageAfter(sides, u.Kept)
	return u
}

// UsageAfter tells whether a usage die steps down when the face kept counts, and what it is then, 0 when it is used up
// (DDW-USE-03, -04).
func (rs *Ruleset) UsageAfter(sides, kept int) (steppedDown bool, next int) {
	if kept <= rs.int("use.step_down_max") {
		return true, rs.stepDown(sides)
	}
	return false, sides
}

// Route is how a hex is entered.
type Route string

// The routes. Auto takes a road, else a river, else the terrain (DDW-ROAD-03).
const (
	RouteAuto    Route = "auto"
	RouteRoad    Route = "road"
	RouteRiver   Route = "river"
	RouteTerrain Route = "terrain"
)

// checkFor returns how a round in a terrain is rolled: with the dice of the terrain, or, eased by a road or a river
// downstream, one die less; from a single die that is two dice, the highest (DDW-MOVE-01 to -03, DDW-ROAD-01 to -06).
func (rs *Ruleset) checkFor(terrain string, eased bool) (n int, keep Keep) {
	n = rs.Terrains[terrain].Dice
	switch {
	case eased && n == 1:
		return 2, KeepHighest
	case eased:
		n--
	}
	if n == 1 {
		return 1, KeepSingle
	}
	return n, KeepLowest
}
