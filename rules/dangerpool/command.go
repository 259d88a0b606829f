package dangerpool

// Command is something that an expedition or its GM wants done.
type Command interface{ decide(t *turn) error }

// The triggers, by the catalogue's words.
const (
	TriggerRealTime     = "REAL_TIME"
	TriggerWait         = "WAIT"
	TriggerRisk         = "RISK"
	TriggerMove         = "MOVE"
	TriggerInteract     = "INTERACT"
	TriggerHunkerDown   = "HUNKER_DOWN"
	TriggerLeaveHunker  = "LEAVE_HUNKER"
	TriggerShortRest    = "SHORT_REST"
	TriggerLongRest     = "LONG_REST"
	TriggerCombatStart  = "COMBAT_START"
	TriggerCombatRounds = "COMBAT_ROUNDS"
	TriggerCombatEnd    = "COMBAT_END"
	TriggerLightAdd     = "LIGHT_ADD"
	TriggerLightOn      = "LIGHT_ON"
	TriggerLightOff     = "LIGHT_OFF"
	TriggerRefuel       = "REFUEL"
	TriggerCast         = "CAST"
	TriggerSpellEnd     = "SPELL_END"
	TriggerLeave        = "LEAVE"
	// TriggerDanger is a GM's hand: dice from outside the table of triggers.
	TriggerDanger = "RAISE_DANGER"
)

// triggers are those that the catalogue names, in its order.
var triggers = []string{
	TriggerRealTime, TriggerWait, TriggerRisk, TriggerMove, TriggerInteract, TriggerHunkerDown, TriggerLeaveHunker, TriggerShortRest,
	TriggerLongRest, TriggerCombatStart, TriggerCombatRounds, TriggerCombatEnd, TriggerLightAdd, TriggerLightOn, TriggerLightOff,
	TriggerRefuel, TriggerCast, TriggerSpellEnd,
}

// Call is what a GM makes of one spill, if there is one (POOL-EVENT-13, -14).
type Call struct {
	// Override is the number of the event that happens instead of the rolled one; 0: the rolled one.
	Override int
	// Shows is how it appears in play, Note what GMs keep to themselves.
	Shows, Note string
}

// The commands. Calls are for the spills of a trigger in their order; those beyond the last spill, and those for a spill
// without an event, are not used. Every command but Open may be refused with NOT_OPENED and DELVE_OVER, every one that may
// add dice with NOT_BEGUN, OVERRIDE_FORBIDDEN and TOO_LONG.
type (
	// Open begins the setup (POOL-SCOPE-02, -03). Refused: ALREADY_OPENED, NO_MAP, NO_ENTRY, NO_SUCH_AREA.
	Open struct {
		Ruleset   *Ruleset
		Map       *Map
		Entry     string
		InvokedBy string
		// Pool is what an earlier delve left here, where the ruleset keeps it (O-20).
		Pool int
	}
	// RecordMembers notes who comes along and in which rank (POOL-SETUP-02, -03), in place of what was recorded before.
	RecordMembers struct{ Members []Member }
	// RecordProvisions notes the provisions (POOL-SETUP-04), in place of what was recorded before. Refused: SETUP_ORDER.
	RecordProvisions struct{ Note string }
	// RecordLights notes every light source carried (POOL-SETUP-05) and the spells that run already.
	// Refused: SETUP_ORDER, ALREADY_BEGUN, ID_TAKEN.
	RecordLights struct {
		Lights []Carried
		Spells []Spell
	}
	// Begin is when the first area is described (POOL-RUN-01). Refused: SETUP_INCOMPLETE, ALREADY_BEGUN.
	Begin struct{}

	// PassTime is real time at the table (POOL-ADD-02). Before Begin it counts for nothing.
	PassTime struct {
		Minutes int
		Calls   []Call
	}
	// LetTimePass is in-game time spent waiting (POOL-ADD-03, -09).
	LetTimePass struct {
		Minutes int
		Calls   []Call
	}
	// DrawAttention is a risk taken (POOL-ADD-04).
	DrawAttention struct{ Calls []Call }
	// Act is a dungeon action: TriggerMove, TriggerInteract or TriggerHunkerDown (POOL-ADD-05 to -08).
	// Refused: HUNKERED (to hunker down again), NO_SUCH_AREA (on a map without areas), NOT_CONNECTED.
	Act struct {
		Action string
		// To is the area to which a move goes, on a map that has areas.
		To string
		// Risky reports a risk together with the action (O-21).
		Risky bool
		// KeepFreeAction declines the free action after a fight.
		KeepFreeAction bool
		Calls          []Call
	}
	// LeaveHunker ends hunkering (O-07).
	LeaveHunker struct{}
	// Rest is a short or a long rest (POOL-REST-01 to -04). Refused: IN_COMBAT.
	Rest struct {
		Long  bool
		Calls []Call
	}
	// StartCombat begins a fight (POOL-COMBAT-01). Refused: IN_COMBAT.
	StartCombat struct{}
	// FightRounds are combat rounds, which shorten spells (POOL-SPELL-01). Refused: NOT_IN_COMBAT.
	FightRounds struct{ Rounds int }
	// EndCombat ends a fight (POOL-COMBAT-02, -05). Refused: NOT_IN_COMBAT.
	EndCombat struct{ Calls []Call }
	// AddLight lights a new source (POOL-LIGHT-02 to -05). Refused: ID_TAKEN, TOO_MANY.
	AddLight struct{ ID, Source string }
	// SwitchLight lights a source or puts it out. Refused: NO_SUCH_LIGHT, LIGHT_SPENT, LIGHT_SPELL_ENDED.
	SwitchLight struct {
		ID string
		On bool
	}
	// RefuelLight fills a lantern up and lights it (O-16). Refused: NO_SUCH_LIGHT, NO_LANTERN, TOO_MANY.
	RefuelLight struct{ ID string }
	// CastSpell begins a spell of some seconds (POOL-SPELL-01 to -05). Refused: TOO_MANY.
	CastSpell struct {
		ID      string
		Seconds int
	}
	// EndSpell ends a spell, the oldest of that id. Refused: NO_SUCH_SPELL.
	EndSpell struct{ ID string }
	// Leave ends the delve (POOL-SCOPE-05). Refused: IN_COMBAT.
	Leave struct{ Target string }

	// Narrate is a GM's word on an event of the latest spills: how it appears in play, or another event in its place
	// (POOL-EVENT-13, -14). Refused: NO_SUCH_SPILL, NO_EVENT, OVERRIDE_FORBIDDEN.
	Narrate struct {
		// Spill is the number of the spill, Event the place of its event from 1.
		Spill, Event int
		Call
	}
	// Remark puts something notable into the log (POOL-SCOPE-06). Secret: for GMs.
	Remark struct {
		Text   string
		Secret bool
	}
	// RaiseDanger is a GM's hand: dice for a reason that no trigger names.
	RaiseDanger struct {
		Dice   int
		Reason string
		Calls  []Call
	}
	// Adjust is the GM's hand in the delve: it sets what is named and leaves the rest. It takes no dice.
	// Refused: NO_SUCH_AREA, NO_SUCH_LIGHT, NO_SUCH_SPELL, TOO_MANY.
	Adjust struct {
		// Reason is kept in the log: 1 to 500 characters.
		Reason string
		// Pool is 0 to what a spill takes, less 1.
		Pool *int
		// RealClock and WaitClock are minutes below the block of the ruleset.
		RealClock, WaitClock *int
		Hunkered, FreeAction *bool
		Area                 *string
		// Lights are added or, by their id, put in the place of the one that is there; Drop takes some away.
		Lights []Light
		Drop   []string
		// Spells set the seconds of the oldest spell of that id, 0 ends it; an unknown id is a new spell.
		Spells []Spell
	}
)

// Carried is a light source as it comes into the dungeon.
type Carried struct {
	ID, Source string
	Active     bool
	// Remaining is what an earlier delve left of it; nil: its full duration.
	Remaining *int
}
