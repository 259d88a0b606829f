package dangerpool

import "slices"

// Event is one fact of a delve.
type Event interface{ applyTo(d *Delve) }

// Apply folds one event. It changes nothing that the old state refers to.
func Apply(d Delve, e Event) Delve {
	d = d.clone()
	e.applyTo(&d)
	return d
}

// The events. Numbers are those after the event unless a field says otherwise.
type (
	// Opened begins the setup.
	Opened struct {
		Ruleset   *Ruleset `json:"ruleset"`
		Map       *Map     `json:"map"`
		Entry     string   `json:"entry"`
		InvokedBy string   `json:"invoked_by"`
		Pool      int      `json:"pool"`
	}
	// MembersRecorded gives the members, in place of those before.
	MembersRecorded struct {
		Members []Member `json:"members"`
	}
	// ProvisionsRecorded gives the note of the provisions.
	ProvisionsRecorded struct {
		Note string `json:"note"`
	}
	// LightsRecorded gives all lights and spells.
	LightsRecorded struct {
		Lights []Light `json:"lights"`
		Spells []Spell `json:"spells"`
	}
	// Begun tells that the first area is described.
	Begun struct {
		// Area is that area, empty on a map without areas.
		Area string `json:"area"`
	}
	// Triggered tells what a trigger changed beside the pool. DiceAdded and Spilled follow as often as they happen.
	Triggered struct {
		Trigger string `json:"trigger"`
		// Note is one of the Note constants, or empty.
		Note          string `json:"note"`
		RealClock     int    `json:"real_clock"`
		WaitClock     int    `json:"wait_clock"`
		InCombat      bool   `json:"in_combat"`
		CombatMinutes int    `json:"combat_minutes"`
		Hunkered      bool   `json:"hunkered"`
		FreeAction    bool   `json:"free_action"`
		Area          string `json:"area"`
	}
	// DiceAdded tells of dice up to the next spill. Every active light lasts so many dice less, every spell so much time.
	DiceAdded struct {
		// Count is how many were added, Unpriced how many hunkered minutes no die stands for.
		Count    int `json:"count"`
		Unpriced int `json:"unpriced"`
		// LightsOut and SpellsEnded tell which are over, the first to go out first, those of one die as they were added.
		LightsOut   []string `json:"lights_out"`
		SpellsEnded []string `json:"spells_ended"`
	}
	// Spilled empties the pool (POOL-BASE-04 to -07).
	Spilled struct {
		// Number counts the spills of the delve, AtDie the dice.
		Number int `json:"number"`
		AtDie  int `json:"at_die"`
		// Nth is its place among the spills of its trigger, from 1.
		Nth      int           `json:"nth"`
		Faces    []int         `json:"faces"`
		Ones     int           `json:"ones"`
		Events   []DangerEvent `json:"events"`
		Severity string        `json:"severity"`
	}
	// RestInterrupted tells that the dice of a rest ended with the spill before (O-09).
	RestInterrupted struct{}
	// LightsChanged gives lights as they are now, by their id; new ones come last.
	LightsChanged struct {
		Trigger string   `json:"trigger"`
		Lights  []Light  `json:"lights"`
		Dropped []string `json:"dropped,omitempty"`
	}
	// SpellCast begins a spell.
	SpellCast struct {
		Spell Spell `json:"spell"`
	}
	// SpellEnded ends the oldest spell of that id.
	SpellEnded struct {
		ID string `json:"id"`
	}
	// RoundsFought shortens every spell.
	RoundsFought struct {
		Rounds int `json:"rounds"`
		// Seconds is what each round takes.
		Seconds     int      `json:"seconds"`
		SpellsEnded []string `json:"spells_ended"`
	}
	// Departed ends the delve.
	Departed struct {
		Target string `json:"target"`
	}
	// EventNarrated tells an event of the latest spills otherwise, or how it appears.
	EventNarrated struct {
		Spill int `json:"spill"`
		// Event is the place of the event in the spill, from 1.
		Event int         `json:"event"`
		Now   DangerEvent `json:"now"`
	}
	// Remarked puts something notable into the log.
	Remarked struct {
		Text   string `json:"text"`
		Secret bool   `json:"secret"`
	}
	// Adjusted tells what a GM set; LightsChanged, SpellCast and SpellEnded follow.
	Adjusted struct {
		Reason     string  `json:"reason"`
		Pool       *int    `json:"pool,omitempty"`
		RealClock  *int    `json:"real_clock,omitempty"`
		WaitClock  *int    `json:"wait_clock,omitempty"`
		Hunkered   *bool   `json:"hunkered,omitempty"`
		FreeAction *bool   `json:"free_action,omitempty"`
		Area       *string `json:"area,omitempty"`
	}
)

// The notes of a trigger that adds less than usual.
const (
	NoteSuppressedCombat = "SUPPRESSED_COMBAT"
	NoteHeldCombat       = "HELD_COMBAT"
	NoteSuppressedHunker = "SUPPRESSED_HUNKER"
	NoteFreeAction       = "FREE_ACTION"
)

// DangerEvent is one event of a spill (POOL-EVENT-00 to -14).
type DangerEvent struct {
	// D12 is the face of the event die, Total the face with what more ones add, Rolled the number with the cap.
	D12    int `json:"d12"`
	Total  int `json:"total"`
	Rolled int `json:"rolled"`
	// Final is the number of what happens, Event its id.
	Final      int    `json:"final"`
	Event      string `json:"event"`
	Overridden bool   `json:"overridden"`
	// Shows is how it appears in play, Note what GMs keep to themselves.
	Shows string `json:"shows,omitempty"`
	Note  string `json:"note,omitempty"`
}

func (e Opened) applyTo(d *Delve) {
	*d = Delve{Ruleset: e.Ruleset, Map: e.Map, Entry: e.Entry, InvokedBy: e.InvokedBy, Pool: e.Pool, Setup: SetupMembers}
}

func (e MembersRecorded) applyTo(d *Delve) {
	d.Members = slices.Clone(e.Members)
	if d.Setup == SetupMembers {
		d.Setup = SetupProvisions
		if !d.Ruleset.ProvisionsNeeded() {
			d.Setup = SetupLights
		}
	}
}

func (e ProvisionsRecorded) applyTo(d *Delve) {
	d.Provisions = e.Note
	if d.Setup == SetupProvisions {
		d.Setup = SetupLights
	}
}

func (e LightsRecorded) applyTo(d *Delve) {
	d.Lights, d.Spells, d.Setup = slices.Clone(e.Lights), slices.Clone(e.Spells), SetupDone
}

func (e Begun) applyTo(d *Delve) {
	d.Setup = SetupBegun
	d.enter(e.Area)
}

func (d *Delve) enter(area string) {
	d.Area = area
	if area != "" && !slices.Contains(d.Visited, area) {
		d.Visited = append(d.Visited, area)
	}
}

func (e Triggered) applyTo(d *Delve) {
	d.RealClock, d.WaitClock, d.InCombat, d.CombatMinutes = e.RealClock, e.WaitClock, e.InCombat, e.CombatMinutes
	d.Hunkered, d.FreeAction = e.Hunkered, e.FreeAction
	d.enter(e.Area)
}

func (e DiceAdded) applyTo(d *Delve) {
	d.Pool += e.Count
	d.Ever += e.Count
	d.Unpriced += e.Unpriced
	for i, l := range d.Lights {
		if l.Active {
			d.Lights[i].Remaining = max(0, l.Remaining-e.Count)
			d.Lights[i].Active = l.Remaining > e.Count
		}
	}
	d.shorten(e.Count * d.Ruleset.dieSeconds())
}

// shorten takes seconds off every spell; those with none left are over.
func (d *Delve) shorten(seconds int) {
	for i := range d.Spells {
		d.Spells[i].Seconds -= seconds
	}
	d.Spells = slices.DeleteFunc(d.Spells, func(s Spell) bool { return s.Seconds <= 0 })
}

func (e Spilled) applyTo(d *Delve) {
	if e.Nth == 1 {
		d.Last = nil
	}
	d.Pool, d.SpillsTotal = 0, e.Number
	d.Last = append(d.Last, e)
}

func (RestInterrupted) applyTo(*Delve) {}

func (e LightsChanged) applyTo(d *Delve) {
	d.Lights = slices.DeleteFunc(d.Lights, func(l Light) bool { return slices.Contains(e.Dropped, l.ID) })
	for _, l := range e.Lights {
		if i := d.light(l.ID); i >= 0 {
			d.Lights[i] = l
		} else {
			d.Lights = append(d.Lights, l)
		}
	}
}

func (e SpellCast) applyTo(d *Delve) { d.Spells = append(d.Spells, e.Spell) }

func (e SpellEnded) applyTo(d *Delve) {
	if i := d.spell(e.ID); i >= 0 {
		d.Spells = slices.Delete(d.Spells, i, i+1)
	}
}

func (e RoundsFought) applyTo(d *Delve) { d.shorten(e.Rounds * e.Seconds) }

func (e Departed) applyTo(d *Delve) { d.Left = e.Target }

func (e EventNarrated) applyTo(d *Delve) {
	for i, s := range d.Last {
		if s.Number == e.Spill && e.Event >= 1 && e.Event <= len(s.Events) {
			d.Last[i].Events = slices.Clone(s.Events)
			d.Last[i].Events[e.Event-1] = e.Now
		}
	}
}

func (Remarked) applyTo(*Delve) {}

func (e Adjusted) applyTo(d *Delve) {
	set(&d.Pool, e.Pool)
	set(&d.RealClock, e.RealClock)
	set(&d.WaitClock, e.WaitClock)
	set(&d.Hunkered, e.Hunkered)
	set(&d.FreeAction, e.FreeAction)
	if e.Area != nil {
		d.enter(*e.Area)
	}
}

func set[T any](into *T, value *T) {
	if value != nil {
		*into = *value
	}
}
