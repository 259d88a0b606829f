package dangerpool

import "slices"

// Who or what calls the procedure (POOL-SCOPE-03).
const (
	ByGameLoop = "BASIC_GAME_LOOP"
	ByClearing = "CLEARING"
	ByJudgment = "DM_JUDGMENT"
)

// Where play goes on leaving (POOL-SCOPE-05).
const (
	ToTravel   = "TRAVEL"
	ToGameLoop = "BASIC_GAME_LOOP"
)

// The light sources that the rules know by name (POOL-LIGHT-02 to -05).
const (
	Torch           = "TORCH"
	Lantern         = "LANTERN"
	BullseyeLantern = "BULLSEYE_LANTERN"
	LightSpell      = "LIGHT_SPELL"

	shapeRadius = "RADIUS"
	shapeCone   = "CONE"
)

// SeverityNone is the severity of a spill without an event.
const SeverityNone = "NONE"

// Setup is how far a delve has come before its first area is described (POOL-SETUP-01).
type Setup string

// The stages of the setup, each but the first after the one before it.
const (
	// SetupMembers, SetupProvisions and SetupLights wait for that step.
	SetupMembers    Setup = "members"
	SetupProvisions Setup = "provisions"
	SetupLights     Setup = "lights"
	// SetupDone waits for the first area, SetupBegun is play.
	SetupDone  Setup = "done"
	SetupBegun Setup = "begun"
)

// Delve is the state of one exploration. It is the fold of its events; treat it as a value.
type Delve struct {
	// Ruleset and Map are those frozen when the delve was opened. They are shared and never changed.
	Ruleset   *Ruleset `json:"ruleset"`
	Map       *Map     `json:"map"`
	InvokedBy string   `json:"invoked_by"`
	// Entry is the known entry point: an area of the map if it has any, else words.
	Entry string `json:"entry"`
	Setup Setup  `json:"setup"`
	// Left is where play went on; empty while the delve lasts.
	Left string `json:"left,omitempty"`

	// Members in marching order as recorded.
	Members    []Member `json:"members"`
	Provisions string   `json:"provisions"`
	// Area is where the members are, Visited where they have been, in order of the first visit. Empty on a map without areas.
	Area    string   `json:"area"`
	Visited []string `json:"visited"`

	// Pool is the dice in the pool, Ever those of the whole delve (POOL-BASE-01).
	Pool int `json:"pool"`
	Ever int `json:"dice_ever"`
	// Unpriced are hunkered minutes that no die stands for (O-08).
	Unpriced int `json:"unpriced_hunker_minutes"`
	// RealClock and WaitClock are minutes that have not made a die yet.
	RealClock int `json:"real_clock"`
	WaitClock int `json:"wait_clock"`
	// CombatMinutes are real minutes held until the fight is over (POOL-COMBAT-01).
	InCombat      bool `json:"in_combat"`
	CombatMinutes int  `json:"combat_minutes"`
	Hunkered      bool `json:"hunkered"`
	// FreeAction may be taken without a die (POOL-COMBAT-05).
	FreeAction bool `json:"free_action"`
	// Lights and Spells in the order in which they were added; lights that went out stay.
	Lights []Light `json:"lights"`
	Spells []Spell `json:"spells"`
	// SpillsTotal counts the spills; Last are those of the latest trigger that spilled, which may still be told otherwise.
	SpillsTotal int       `json:"spills_total"`
	Last        []Spilled `json:"last,omitempty"`
}

// Map is what the exploration goes through (POOL-SCOPE-02). Without areas it is a title only, and moves are free.
type Map struct {
	Title string `json:"title"`
	Areas []Area `json:"areas,omitempty"`
}

// Area is one place of a map.
type Area struct {
	// ID is unique in the map.
	ID    string `json:"id"`
	Title string `json:"title,omitempty"`
	// Notes are for GMs.
	Notes string `json:"notes,omitempty"`
	// Ways are the ids of the areas to which one can go from here.
	Ways []string `json:"ways,omitempty"`
}

// Area returns an area of the map.
func (m *Map) Area(id string) (Area, bool) {
	if m == nil {
		return Area{}, false
	}
	i := slices.IndexFunc(m.Areas, func(a Area) bool { return a.ID == id })
	if i < 0 {
		return Area{}, false
	}
	return m.Areas[i], true
}

// Member is somebody of the expedition (POOL-SETUP-02).
type Member struct {
	// Name is unique among the members.
	Name string `json:"name"`
	// Character is an opaque reference, empty for others than characters.
	Character string `json:"character,omitempty"`
	// Kind and Rank are words of the ruleset.
	Kind string `json:"kind"`
	Rank string `json:"rank"`
	// Darkvision tells how they see (POOL-LIGHT-08).
	Darkvision bool `json:"darkvision,omitempty"`
}

// Light is one light source carried.
type Light struct {
	// ID is unique in the delve.
	ID     string `json:"id"`
	Source string `json:"source"`
	// Remaining is how many dice it still lasts.
	Remaining int  `json:"remaining"`
	Active    bool `json:"active"`
}

// Spell is one running spell. Two castings may have the same id.
type Spell struct {
	ID string `json:"id"`
	// Seconds left.
	Seconds int `json:"remaining_seconds"`
}

func (d Delve) clone() Delve {
	d.Members = slices.Clone(d.Members)
	d.Visited = slices.Clone(d.Visited)
	d.Lights = slices.Clone(d.Lights)
	d.Spells = slices.Clone(d.Spells)
	d.Last = slices.Clone(d.Last)
	return d
}

// Opened tells whether there is a delve at all.
func (d Delve) Opened() bool { return d.Ruleset != nil }

// Over tells whether the members have left.
func (d Delve) Over() bool { return d.Left != "" }

// Elapsed is the in-game time in minutes (POOL-TIME-01).
func (d Delve) Elapsed() int {
	minutes := d.Ever * d.Ruleset.int(paramMinutesPerDie)
	if d.Ruleset.is(paramElapsedBasis, optionDicePlusHunker) {
		minutes += d.Unpriced
	}
	return minutes
}

// Darkness tells that no light is active (POOL-LIGHT-07).
func (d Delve) Darkness() bool {
	return !slices.ContainsFunc(d.Lights, func(l Light) bool { return l.Active })
}

// The levels of light.
const (
	Bright = "BRIGHT"
	Dim    = "DIM"
	Dark   = "DARK"
)

// See tells how a level of light looks to somebody, and whether they can tell colours (POOL-LIGHT-08).
func See(level string, darkvision bool) (as string, colour bool) {
	switch {
	case darkvision && level == Dim:
		return Bright, false
	case darkvision && level == Dark:
		return Dim, false
	}
	return level, level != Dark
}

// Sees tells how a member sees near the lights: bright with one, else what darkness is to them.
func (d Delve) Sees(m Member) (as string, colour bool) {
	if d.Darkness() {
		return See(Dark, m.Darkvision)
	}
	return See(Bright, m.Darkvision)
}

// Ways are the ids of the areas to which a move can go; empty on a map without areas.
func (d Delve) Ways() []string {
	a, _ := d.Map.Area(d.Area)
	return a.Ways
}

func (d Delve) light(id string) int {
	return slices.IndexFunc(d.Lights, func(l Light) bool { return l.ID == id })
}

func (d Delve) spell(id string) int {
	return slices.IndexFunc(d.Spells, func(s Spell) bool { return s.ID == id })
}
