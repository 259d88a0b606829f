package diedrop

import "slices"

// Event is one fact of a journey.
type Event interface{ applyTo(j *Journey) }

// Apply folds one event. It changes nothing that the old state refers to.
func Apply(j Journey, e Event) Journey {
	j = j.clone()
	e.applyTo(&j)
	return j
}

// The events. Numbers are those after the event unless a field says otherwise.
type (
	// Begun opens a journey.
	Begun struct {
		Ruleset *Ruleset `json:"ruleset"`
		Map     *Map     `json:"map"`
		// Journey holds everything else at the beginning.
		Journey Journey `json:"journey"`
	}
	// RoundBegun opens a round: "move", "search", "forage" or "remains".
	RoundBegun struct {
		Activity string `json:"activity"`
		Round    int    `json:"round"`
	}
	// Moved enters a hex by "road", "river" or "terrain". The encounter stays behind.
	Moved struct {
		To      Hex    `json:"to"`
		Via     Route  `json:"via"`
		Terrain string `json:"terrain"`
	}
	// UsageChecked tells a check of the food die; FoodChanged follows when it stepped down.
	UsageChecked struct {
		Usage Usage `json:"usage"`
	}
	// FoodChanged gives the food dice, the oldest first.
	FoodChanged struct {
		Food []int `json:"food"`
		// Why is "used", "raised", "death", "joined", "left" or "bought".
		Why string `json:"why"`
	}
	// Hungered tells that hunger acted; MembersChanged follows with what it did.
	Hungered struct {
		Rounds int `json:"rounds"`
	}
	// HungerEnded tells that there is food again.
	HungerEnded struct{}
	// MembersChanged gives members as they are now.
	MembersChanged struct {
		Members []Member `json:"members"`
	}
	// MemberDied tells of a death. What the member carried but gear and Fatigue is left behind (DDW-SLOT-18).
	MemberDied struct {
		Name string `json:"name"`
	}
	// LocationsFound lists what a search found, in map order; none is a search without a find.
	LocationsFound struct {
		Locations []string `json:"locations"`
	}
	// SearchRolled tells the d6 of a search under search.success_min.
	SearchRolled struct {
		Face    int  `json:"face"`
		Success bool `json:"success"`
	}
	// Foraged tells the result: "failed", "from_out", "raised", "added_die", "at_max", "no_gain" or "no_room".
	Foraged struct {
		Result string `json:"result"`
	}
	// EncounterChecked tells an encounter check.
	EncounterChecked struct {
		Face int  `json:"face"`
		Met  bool `json:"met"`
		// Dark tells that the check was one without light.
		Dark bool `json:"dark"`
	}
	// EncounterMet tells who was met.
	EncounterMet struct {
		Encounter Encounter `json:"encounter"`
	}
	// LocationEntered goes inside. The encounter stays behind.
	LocationEntered struct {
		Location string `json:"location"`
	}
	// LocationLeft goes outside. The encounter stays behind.
	LocationLeft struct {
		Location string `json:"location"`
	}
	// FoodBought pays for food; FoodChanged and MembersChanged follow.
	FoodBought struct {
		Steps int `json:"steps"`
		Slots int `json:"slots"`
		Paid  int `json:"paid"`
		Gold  int `json:"gold"`
	}
	// GearBought pays for gear: "torch", "oil", "lantern" or "boat".
	GearBought struct {
		Item    string `json:"item"`
		Count   int    `json:"count"`
		Carrier string `json:"carrier"`
		Paid    int    `json:"paid"`
		Gold    int    `json:"gold"`
	}
	// Looted takes an encounter's gold.
	Looted struct {
		Taken int `json:"taken"`
		Gold  int `json:"gold"`
	}
	// RemainsPrepared takes an encounter's remains; a load that is lost with its carrier has no carrier.
	RemainsPrepared struct {
		Load Load `json:"load"`
		Lost bool `json:"lost"`
	}
	// RemainsSold sells all loads.
	RemainsSold struct {
		Earned int `json:"earned"`
		Gold   int `json:"gold"`
	}
	// FoodSlotsFreed frees slots of eaten food; MembersChanged follows when there were any.
	FoodSlotsFreed struct {
		Freed int `json:"freed"`
	}
	// FoodDistributed hands the food slots out anew; MembersChanged follows.
	FoodDistributed struct{}
	// Harmed tells damage from outside these rules; MembersChanged follows.
	Harmed struct {
		Name string `json:"name"`
		HP   int    `json:"hp"`
		STR  int    `json:"str"`
	}
	// Rested recovers, long inside a settlement; MembersChanged follows when anybody did.
	Rested struct {
		Long bool `json:"long"`
	}
	// MemberJoined adds somebody at the end of the party order.
	MemberJoined struct {
		Member Member `json:"member"`
	}
	// MemberLeft takes a living member off the list; loads that no one could take go along.
	MemberLeft struct {
		Name string `json:"name"`
	}
	// CargoChanged gives the loads as they are now.
	CargoChanged struct {
		Cargo []Load `json:"cargo"`
	}
	// LightLit lights a spare of the earliest living member who has one.
	LightLit struct {
		Light Light  `json:"light"`
		From  string `json:"from"`
	}
	// LightChecked tells a roll of the light's die. Light is what burns afterwards, nil for darkness; Replaced is the
	// kind of spare that was lit at once, from the member From.
	LightChecked struct {
		Sides       int    `json:"sides"`
		Face        int    `json:"face"`
		SteppedDown bool   `json:"stepped_down"`
		Light       *Light `json:"light"`
		Replaced    string `json:"replaced"`
		From        string `json:"from"`
	}
	// RoomEntered goes to a room, "retreat" or not. The encounter stays behind.
	RoomEntered struct {
		Room    string `json:"room"`
		Retreat bool   `json:"retreat"`
	}
	// TurnBegun opens a turn inside a site: "room", "activity", "combat", "retreat" or "remains".
	TurnBegun struct {
		Trigger string `json:"trigger"`
		Turn    int    `json:"turn"`
	}
	// MissionsRolled adds missions.
	MissionsRolled struct {
		Missions []Mission `json:"missions"`
	}
	// MissionUsed uses an open mission up, with the GM's own text for its number if there is one.
	MissionUsed struct {
		Number      int    `json:"number"`
		Replacement string `json:"replacement"`
	}
)

func (e Begun) applyTo(j *Journey) {
	*j = e.Journey.clone()
	j.Ruleset, j.Map = e.Ruleset, e.Map
}

func (e RoundBegun) applyTo(j *Journey)     { j.Round = e.Round }
func (e Moved) applyTo(j *Journey)          { j.Hex, j.Encounter = &e.To, nil }
func (e UsageChecked) applyTo(*Journey)     {}
func (e FoodChanged) applyTo(j *Journey)    { j.Food = slices.Clone(e.Food) }
func (e Hungered) applyTo(j *Journey)       { j.StarvingRounds = e.Rounds }
func (e HungerEnded) applyTo(j *Journey)    { j.StarvingRounds = 0 }
func (e SearchRolled) applyTo(*Journey)     {}
func (e Foraged) applyTo(*Journey)          {}
func (e EncounterChecked) applyTo(*Journey) {}
func (e FoodSlotsFreed) applyTo(*Journey)   {}
func (e FoodDistributed) applyTo(*Journey)  {}
func (e Harmed) applyTo(*Journey)           {}
func (e Rested) applyTo(*Journey)           {}

func (e MembersChanged) applyTo(j *Journey) {
	for _, m := range e.Members {
		if i := j.member(m.Name); i >= 0 {
			j.Members[i] = m
		}
	}
}

func (e MemberDied) applyTo(j *Journey) {
	if i := j.member(e.Name); i >= 0 {
		m := &j.Members[i]
		m.Dead, m.FoodSlots, m.Torches, m.Oil = true, 0, 0, 0
	}
	j.Cargo = slices.DeleteFunc(j.Cargo, func(l Load) bool { return l.Carrier == e.Name })
}

func (e LocationsFound) applyTo(j *Journey) { j.Discovered = append(j.Discovered, e.Locations...) }

func (e EncounterMet) applyTo(j *Journey) {
	met := e.Encounter
	j.Encounter = &met
}

func (e LocationEntered) applyTo(j *Journey) {
	j.Inside, j.Room, j.Visited, j.Encounter = e.Location, "", nil, nil
}

func (e LocationLeft) applyTo(j *Journey) {
	j.Inside, j.Room, j.Visited, j.Encounter = "", "", nil, nil
}

func (e FoodBought) applyTo(j *Journey) { j.Gold = e.Gold }

func (e GearBought) applyTo(j *Journey) {
	j.Gold = e.Gold
	i := j.member(e.Carrier)
	switch {
	case e.Item == ItemLantern:
		j.Lantern = true
	case e.Item == ItemBoat:
		j.Boat = true
	case i >= 0 && e.Item == ItemTorch:
		j.Members[i].Torches += e.Count
	case i >= 0 && e.Item == ItemOil:
		j.Members[i].Oil += e.Count
	}
}

func (e Looted) applyTo(j *Journey) {
	j.Gold = e.Gold
	if j.Encounter != nil {
		rest := *j.Encounter
		rest.Gold = 0
		j.Encounter = &rest
	}
}

func (e RemainsPrepared) applyTo(j *Journey) {
	if !e.Lost {
		j.Cargo = append(j.Cargo, e.Load)
	}
}

// RemainsTaken tells that the remains of the encounter are used up.
type RemainsTaken struct{}

func (e RemainsTaken) applyTo(j *Journey) {
	if j.Encounter != nil {
		rest := *j.Encounter
		rest.Remains = false
		j.Encounter = &rest
	}
}

func (e RemainsSold) applyTo(j *Journey)  { j.Gold, j.Cargo = e.Gold, nil }
func (e MemberJoined) applyTo(j *Journey) { j.Members = append(j.Members, e.Member) }

func (e MemberLeft) applyTo(j *Journey) {
	j.Members = slices.DeleteFunc(j.Members, func(m Member) bool { return m.Name == e.Name })
}

func (e CargoChanged) applyTo(j *Journey) { j.Cargo = slices.Clone(e.Cargo) }

func (e LightLit) applyTo(j *Journey) {
	lit := e.Light
	j.Light = &lit
	j.takeSpare(e.Light.Kind, e.From)
}

func (e LightChecked) applyTo(j *Journey) {
	j.Light = nil
	if e.Light != nil {
		lit := *e.Light
		j.Light = &lit
	}
	if e.Replaced != "" {
		j.takeSpare(e.Replaced, e.From)
	}
}

func (j *Journey) takeSpare(kind, from string) {
	i := j.member(from)
	switch {
	case i < 0:
	case kind == Torch:
		j.Members[i].Torches--
	case kind == Lantern:
		j.Members[i].Oil--
	}
}

func (e RoomEntered) applyTo(j *Journey) {
	j.Room, j.Encounter = e.Room, nil
	if !slices.Contains(j.Visited, e.Room) {
		j.Visited = append(j.Visited, e.Room)
	}
}

func (e TurnBegun) applyTo(j *Journey) { j.Turn = e.Turn }
