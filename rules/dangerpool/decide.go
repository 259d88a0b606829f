package dangerpool

import (
	"cmp"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/wayfarer-rpg/wayfarer/rules/play"
)

// The refusals.
const (
	// NotOpened, AlreadyOpened and Over guard beginning and end.
	NotOpened     = "NOT_OPENED"
	AlreadyOpened = "ALREADY_OPENED"
	Over          = "DELVE_OVER"
	// NoMap and NoEntry: the exploration lacks what it needs (POOL-SCOPE-02).
	NoMap   = "NO_MAP"
	NoEntry = "NO_ENTRY"
	// SetupOrder, SetupIncomplete, NotBegun and AlreadyBegun keep the order of the setup (POOL-SETUP-01, POOL-RUN-01).
	SetupOrder      = "SETUP_ORDER"
	SetupIncomplete = "SETUP_INCOMPLETE"
	NotBegun        = "NOT_BEGUN"
	AlreadyBegun    = "ALREADY_BEGUN"

	InCombat          = "IN_COMBAT"
	NotInCombat       = "NOT_IN_COMBAT"
	Hunkered          = "HUNKERED"
	NoSuchArea        = "NO_SUCH_AREA"
	NotConnected      = "NOT_CONNECTED"
	NoSuchLight       = "NO_SUCH_LIGHT"
	IDTaken           = "ID_TAKEN"
	LightSpent        = "LIGHT_SPENT"
	LightSpellEnded   = "LIGHT_SPELL_ENDED"
	NoLantern         = "NO_LANTERN"
	NoSuchSpell       = "NO_SUCH_SPELL"
	OverrideForbidden = "OVERRIDE_FORBIDDEN"
	NoSuchSpill       = "NO_SUCH_SPILL"
	NoEvent           = "NO_EVENT"
	// TooLong: the delve has more dice or hunkered minutes, a fight more minutes, than can be counted. TooMany: it has as
	// many lights or spells, a lantern as much oil, as it can have.
	TooLong = "TOO_LONG"
	TooMany = "TOO_MANY"
	// Invalid is an argument outside its kind; the refusal names its field.
	Invalid = "INVALID"
)

// Bounds of the arguments, so that no sum overflows and no command takes long.
const (
	MaxMembers = 100
	MaxLights  = 100
	MaxSpells  = 200
	MaxAreas   = 500
	// MaxMinutes bounds the minutes of one trigger and of one fight: a week.
	MaxMinutes = 10_080
	// MaxRounds bounds the rounds of one command.
	MaxRounds = 10_000
	// MaxSpellSeconds bounds a spell: a year.
	MaxSpellSeconds = 365 * 24 * 60 * 60
	// MaxDice bounds the dice that a GM adds at once.
	MaxDice = 1_000
	// MaxText bounds titles and notes, in characters, MaxLabel names and ids.
	MaxText  = 2_000
	MaxLabel = 200

	maxReason = 500
	maxEver   = 1_000_000
	maxPool   = 10_000
)

// Decide decides a command. It changes nothing; callers fold the events with [Apply]. It fails with a *play.Refusal. Bad
// dice are found by the caller, with Dice.Close, after everything else.
func Decide(d Delve, c Command, dice *play.Dice) ([]Event, error) {
	_, opens := c.(Open)
	switch {
	case opens && d.Opened():
		return nil, play.Refuse(AlreadyOpened, "the delve has been opened")
	case !opens && !d.Opened():
		return nil, play.Refuse(NotOpened, "the delve has not been opened")
	case d.Over():
		return nil, play.Refuse(Over, "the expedition has left the dungeon")
	}
	t := &turn{Delve: d.clone(), dice: dice}
	if err := c.decide(t); err != nil {
		return nil, err
	}
	return t.events, nil
}

// turn is a decision under way: a copy of the state that follows the events decided so far.
type turn struct {
	Delve
	dice   *play.Dice
	events []Event
	// calls are those for the spills to come, spills counts those that came.
	calls  []Call
	spills int
}

func (t *turn) emit(e Event) {
	e.applyTo(&t.Delve)
	t.events = append(t.events, e)
}

func invalid(field, format string, args ...any) error {
	return play.Refuse(Invalid, format, args...).At(field)
}

// within checks a number.
func within(field string, n, low, high int) error {
	if n < low || n > high {
		return invalid(field, "%s is %d to %d, not %d", field, low, high, n)
	}
	return nil
}

// label checks a name that somebody gives to a thing.
func label(field, s string) error {
	if n := utf8.RuneCountInString(s); n < 1 || n > MaxLabel {
		return invalid(field, "a name has 1 to %d characters", MaxLabel)
	}
	return nil
}

func text(field, s string, least, most int) error {
	if n := utf8.RuneCountInString(s); n < least || n > most {
		return invalid(field, "a text of %d to %d characters belongs here", least, most)
	}
	return nil
}

func (c Open) decide(t *turn) error {
	switch {
	case c.Ruleset == nil:
		return invalid("ruleset", "a delve needs a ruleset")
	case c.InvokedBy != ByGameLoop && c.InvokedBy != ByClearing && c.InvokedBy != ByJudgment:
		return invalid("invoked_by", "%q is none of %s, %s and %s", c.InvokedBy, ByGameLoop, ByClearing, ByJudgment)
	case c.Map == nil:
		return play.Refuse(NoMap, "the map of the dungeon is needed").At("map")
	case c.Entry == "":
		return play.Refuse(NoEntry, "a known entry point is needed").At("entry")
	}
	if err := within("pool", c.Pool, 0, maxPool); err != nil {
		return err
	}
	if err := c.Map.check(); err != nil {
		return err
	}
	if err := text("entry", c.Entry, 1, MaxLabel); err != nil {
		return err
	}
	if _, ok := c.Map.Area(c.Entry); len(c.Map.Areas) > 0 && !ok {
		return play.Refuse(NoSuchArea, "the map has no area %s", c.Entry).At("entry")
	}
	t.emit(Opened(c))
	return nil
}

func (m *Map) check() error {
	if err := text("map.title", m.Title, 1, MaxLabel); err != nil {
		return err
	}
	if err := within("map.areas", len(m.Areas), 0, MaxAreas); err != nil {
		return err
	}
	seen := map[string]bool{}
	for i, a := range m.Areas {
		if err := label(fmt.Sprintf("map.areas[%d].id", i), a.ID); err != nil {
			return err
		}
		if seen[a.ID] {
			return play.Refuse(IDTaken, "the map has two areas %s", a.ID).At(fmt.Sprintf("map.areas[%d].id", i))
		}
		seen[a.ID] = true
		if err := text(fmt.Sprintf("map.areas[%d].title", i), a.Title, 0, MaxLabel); err != nil {
			return err
		}
		if err := text(fmt.Sprintf("map.areas[%d].notes", i), a.Notes, 0, MaxText); err != nil {
			return err
		}
	}
	for i, a := range m.Areas {
		for k, way := range a.Ways {
			if field := fmt.Sprintf("map.areas[%d].ways[%d]", i, k); !seen[way] || way == a.ID || slices.Contains(a.Ways[:k], way) {
				return play.Refuse(NoSuchArea, "%s has no way to %q: a way leads to another area, once", a.ID, way).At(field)
			}
		}
	}
	return nil
}

func (c RecordMembers) decide(t *turn) error {
	if err := within("members", len(c.Members), 0, MaxMembers); err != nil {
		return err
	}
	seen := map[string]bool{}
	for i, m := range c.Members {
		at := func(field string) string { return fmt.Sprintf("members[%d].%s", i, field) }
		switch {
		case label(at("name"), m.Name) != nil:
			return label(at("name"), m.Name)
		case seen[m.Name]:
			return play.Refuse(IDTaken, "%s is named twice", m.Name).At(at("name"))
		case !slices.Contains(t.Ruleset.MemberKinds, m.Kind):
			return invalid(at("kind"), "%q is none of %v", m.Kind, t.Ruleset.MemberKinds)
		case !slices.Contains(t.Ruleset.Ranks, m.Rank):
			return invalid(at("rank"), "%q is none of %v", m.Rank, t.Ruleset.Ranks)
		}
		seen[m.Name] = true
	}
	t.emit(MembersRecorded(c))
	return nil
}

func (c RecordProvisions) decide(t *turn) error {
	if err := text("note", c.Note, 1, MaxText); err != nil {
		return err
	}
	if t.Setup == SetupMembers {
		return play.Refuse(SetupOrder, "the members are recorded first")
	}
	t.emit(ProvisionsRecorded(c))
	return nil
}

func (c RecordLights) decide(t *turn) error {
	if err := within("lights", len(c.Lights), 0, MaxLights); err != nil {
		return err
	}
	if err := within("spells", len(c.Spells), 0, MaxSpells); err != nil {
		return err
	}
	e := LightsRecorded{Spells: slices.Clone(c.Spells)}
	for i, l := range c.Lights {
		at := func(field string) string { return fmt.Sprintf("lights[%d].%s", i, field) }
		light, err := t.newLight(l.ID, l.Source, at)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(e.Lights, func(o Light) bool { return o.ID == l.ID }) {
			return play.Refuse(IDTaken, "two lights are named %s", l.ID).At(at("id"))
		}
		if l.Remaining != nil {
			light.Remaining = *l.Remaining
		}
		if err := within(at("remaining"), light.Remaining, 0, maxDiceOfALight); err != nil {
			return err
		}
		if light.Active = l.Active; l.Active && light.Remaining == 0 {
			return invalid(at("active"), "%s has nothing left to burn", l.ID)
		}
		e.Lights = append(e.Lights, light)
	}
	for i, s := range c.Spells {
		if err := s.check(fmt.Sprintf("spells[%d].", i), 1); err != nil {
			return err
		}
	}
	switch t.Setup {
	case SetupMembers, SetupProvisions:
		return play.Refuse(SetupOrder, "members and provisions are recorded first")
	case SetupBegun:
		return play.Refuse(AlreadyBegun, "the delve has begun; lights are added one by one")
	}
	t.emit(e)
	return nil
}

// newLight returns a source with its full duration, lit. The fields are named by at.
func (t *turn) newLight(id, source string, at func(field string) string) (Light, error) {
	if err := label(at("id"), id); err != nil {
		return Light{}, err
	}
	s, ok := t.Ruleset.source(source)
	if !ok {
		return Light{}, invalid(at("source"), "there is no light source %q", source)
	}
	return Light{ID: id, Source: s.ID, Remaining: s.Duration, Active: true}, nil
}

func (s Spell) check(prefix string, least int) error {
	if err := label(prefix+"id", s.ID); err != nil {
		return err
	}
	return within(prefix+"seconds", s.Seconds, least, MaxSpellSeconds)
}

func (c Begin) decide(t *turn) error {
	switch t.Setup {
	case SetupBegun:
		return play.Refuse(AlreadyBegun, "the first area has been described")
	case SetupDone:
	default:
		return play.Refuse(SetupIncomplete, "still to be recorded: %s", t.Setup)
	}
	e := Begun{}
	if len(t.Map.Areas) > 0 {
		e.Area = t.Entry
	}
	t.emit(e)
	return nil
}

// begun guards what may add dice.
func (t *turn) begun() error {
	switch {
	case t.Setup != SetupBegun:
		return play.Refuse(NotBegun, "the first area has not been described")
	case t.Ever > maxEver || t.Unpriced > maxEver*maxMinutesOfABlock:
		return play.Refuse(TooLong, "a delve ends after %d dice", maxEver)
	}
	return nil
}

// equipped guards what needs the lights recorded.
func (t *turn) equipped() error {
	if t.Setup != SetupDone && t.Setup != SetupBegun {
		return play.Refuse(SetupIncomplete, "still to be recorded: %s", t.Setup)
	}
	return nil
}

// call takes a GM's calls for the spills of a trigger.
func (t *turn) call(calls []Call) error {
	for i, c := range calls {
		if err := c.check(t.Ruleset, fmt.Sprintf("calls[%d].", i)); err != nil {
			return err
		}
	}
	t.calls = calls
	return nil
}

func (c Call) check(rs *Ruleset, prefix string) error {
	if err := text(prefix+"shows", c.Shows, 0, MaxText); err != nil {
		return err
	}
	if err := text(prefix+"note", c.Note, 0, MaxText); err != nil {
		return err
	}
	if c.Override == 0 {
		return nil
	}
	if err := within(prefix+"override", c.Override, 1, rs.EventCap); err != nil {
		return err
	}
	if rs.is(paramEventOverride, optionForbidden) {
		return play.Refuse(OverrideForbidden, "the ruleset leaves no choice of events").On(prefix + "override")
	}
	return nil
}

// trigger begins the event of a trigger: what has changed so far is that it may forfeit the free action and end hunkering.
// In combat a suppressed trigger ends nothing.
func (t *turn) trigger(name string) Triggered {
	e := Triggered{
		Trigger: name, RealClock: t.RealClock, WaitClock: t.WaitClock, InCombat: t.InCombat, CombatMinutes: t.CombatMinutes,
		Hunkered: t.Hunkered, FreeAction: t.FreeAction, Area: t.Area,
	}
	if t.Ruleset.lists(paramFreeActionLostOn, name) {
		e.FreeAction = false
	}
	if t.Hunkered && !t.suppressed(name) && t.Ruleset.lists(paramHunkerEndsOn, name) {
		e.Hunkered, e.WaitClock = false, 0
	}
	return e
}

// suppressed tells that a trigger adds nothing because of a fight (POOL-COMBAT-04).
func (t *turn) suppressed(trigger string) bool {
	return t.InCombat && t.Ruleset.lists(paramCombatSuppresses, trigger)
}

func (c PassTime) decide(t *turn) error {
	if err := within("minutes", c.Minutes, 0, MaxMinutes); err != nil {
		return err
	}
	if err := t.call(c.Calls); err != nil {
		return err
	}
	e := t.trigger(TriggerRealTime)
	switch {
	case t.Setup != SetupBegun:
		t.emit(e)
		return nil
	case t.InCombat:
		e.Note, e.CombatMinutes = NoteHeldCombat, t.CombatMinutes+c.Minutes
		if e.CombatMinutes > MaxMinutes {
			return play.Refuse(TooLong, "a fight of %d minutes", e.CombatMinutes).On("minutes")
		}
		t.emit(e)
		return nil
	}
	if err := t.begun(); err != nil {
		return err
	}
	block := t.Ruleset.int(paramRealTimeBlock)
	clock := e.RealClock + c.Minutes
	e.RealClock = clock % block
	t.emit(e)
	t.add(batch{dice: clock / block})
	return nil
}

func (c LetTimePass) decide(t *turn) error {
	if err := within("minutes", c.Minutes, 0, MaxMinutes); err != nil {
		return err
	}
	if err := t.call(c.Calls); err != nil {
		return err
	}
	if err := t.begun(); err != nil {
		return err
	}
	e := t.trigger(TriggerWait)
	if t.suppressed(TriggerWait) {
		e.Note = NoteSuppressedCombat
		t.emit(e)
		return nil
	}
	block := t.Ruleset.int(paramWaitBlock)
	b := batch{}
	if e.Hunkered {
		block = t.Ruleset.int(paramHunkerWaitBlock)
		b.minutes = block
	}
	clock := e.WaitClock + c.Minutes
	b.dice, e.WaitClock = clock/block, clock%block
	switch {
	case t.Ruleset.is(paramWaitRemainder, optionDrop):
		e.WaitClock = 0
	case t.Ruleset.is(paramWaitRemainder, optionRoundUp):
		b.dice, e.WaitClock = (clock+block-1)/block, 0
	}
	b.minutes *= b.dice
	t.emit(e)
	t.add(b)
	return nil
}

func (c DrawAttention) decide(t *turn) error {
	if err := t.call(c.Calls); err != nil {
		return err
	}
	if err := t.begun(); err != nil {
		return err
	}
	e := t.trigger(TriggerRisk)
	if t.suppressed(TriggerRisk) {
		e.Note = NoteSuppressedCombat
		t.emit(e)
		return nil
	}
	t.emit(e)
	t.add(batch{dice: 1})
	return nil
}

func (c Act) decide(t *turn) error {
	if !slices.Contains(dungeonActions, c.Action) {
		return invalid("action", "%q is none of %v", c.Action, dungeonActions)
	}
	if err := t.call(c.Calls); err != nil {
		return err
	}
	if err := t.begun(); err != nil {
		return err
	}
	if err := c.way(t); err != nil {
		return err
	}
	e := t.trigger(c.Action)
	dice := 0
	switch {
	case t.suppressed(c.Action):
		e.Note = NoteSuppressedCombat
	case c.Action == TriggerHunkerDown && t.Hunkered:
		return play.Refuse(Hunkered, "the expedition has hunkered down")
	default:
		switch {
		case e.Hunkered && t.Ruleset.is(paramHunkerActionDice, optionSuppressed):
			e.Note = NoteSuppressedHunker
		case e.FreeAction && !c.KeepFreeAction:
			e.Note, e.FreeAction = NoteFreeAction, false
		default:
			dice = 1
		}
		if c.Action == TriggerHunkerDown {
			e.Hunkered, e.WaitClock = true, 0
		}
		if c.To != "" {
			e.Area = c.To
		}
	}
	if c.Risky && t.Ruleset.flag(paramRiskStacks) && !t.suppressed(TriggerRisk) {
		dice++
	}
	t.emit(e)
	t.add(batch{dice: dice})
	return nil
}

// way checks where a move goes.
func (c Act) way(t *turn) error {
	areas := len(t.Map.Areas) > 0
	switch {
	case c.Action != TriggerMove && c.To != "":
		return invalid("to", "only a move goes anywhere")
	case c.Action != TriggerMove:
		return nil
	case areas && c.To == "":
		return invalid("to", "on this map a move goes to one of %v", t.Ways())
	case !areas && c.To != "":
		return play.Refuse(NoSuchArea, "the map has no areas").At("to")
	case !areas:
		return nil
	}
	// Whether there is such an area is not for everybody to know.
	if !slices.Contains(t.Ways(), c.To) {
		return play.Refuse(NotConnected, "no way leads from %s to %s", t.Area, c.To).On("to")
	}
	return nil
}

func (LeaveHunker) decide(t *turn) error {
	if err := t.begun(); err != nil {
		return err
	}
	e := t.trigger(TriggerLeaveHunker)
	e.Hunkered, e.WaitClock = false, 0
	t.emit(e)
	return nil
}

func (c Rest) decide(t *turn) error {
	if err := t.call(c.Calls); err != nil {
		return err
	}
	if err := t.begun(); err != nil {
		return err
	}
	if t.InCombat {
		return play.Refuse(InCombat, "nobody rests in a fight")
	}
	name, open, hunkered, minutes := TriggerShortRest, paramShortRestDice, paramShortRestHunkered, paramShortRestMinutes
	if c.Long {
		name, open, hunkered, minutes = TriggerLongRest, paramLongRestDice, paramLongRestHunkered, paramLongRestMinutes
	}
	e := t.trigger(name)
	b := batch{dice: t.Ruleset.int(open), rest: true}
	if e.Hunkered {
		b.dice, b.minutes = t.Ruleset.int(hunkered), t.Ruleset.int(minutes)
	}
	t.emit(e)
	t.add(b)
	return nil
}

func (StartCombat) decide(t *turn) error {
	if err := t.begun(); err != nil {
		return err
	}
	if t.InCombat {
		return play.Refuse(InCombat, "the fight is on")
	}
	e := t.trigger(TriggerCombatStart)
	e.InCombat, e.CombatMinutes = true, 0
	t.emit(e)
	return nil
}

func (c FightRounds) decide(t *turn) error {
	if err := within("rounds", c.Rounds, 0, MaxRounds); err != nil {
		return err
	}
	if err := t.begun(); err != nil {
		return err
	}
	if !t.InCombat {
		return play.Refuse(NotInCombat, "there is no fight")
	}
	t.lose(TriggerCombatRounds)
	seconds := t.Ruleset.int(paramRoundSeconds)
	t.emit(RoundsFought{Rounds: c.Rounds, Seconds: seconds, SpellsEnded: t.spellsOver(c.Rounds*seconds, c.Rounds*seconds)})
	return nil
}

func (c EndCombat) decide(t *turn) error {
	if err := t.call(c.Calls); err != nil {
		return err
	}
	if err := t.begun(); err != nil {
		return err
	}
	if !t.InCombat {
		return play.Refuse(NotInCombat, "there is no fight")
	}
	e := t.trigger(TriggerCombatEnd)
	block := t.Ruleset.int(paramRealTimeBlock)
	dice := t.CombatMinutes / block
	if !t.Ruleset.is(paramRealTimeRemainder, optionDrop) {
		clock := t.RealClock + t.CombatMinutes
		dice, e.RealClock = clock/block, clock%block
	}
	e.InCombat, e.CombatMinutes = false, 0
	e.FreeAction = e.FreeAction || t.Ruleset.flag(paramFreeAction)
	t.emit(e)
	t.add(batch{dice: dice})
	return nil
}

// lose emits what a trigger without dice changes beside lights and spells, if the ruleset makes it change anything.
func (t *turn) lose(trigger string) {
	if e := t.trigger(trigger); e.FreeAction != t.FreeAction || e.Hunkered != t.Hunkered {
		t.emit(e)
	}
}

func (c AddLight) decide(t *turn) error {
	l, err := t.newLight(c.ID, c.Source, func(field string) string { return field })
	if err != nil {
		return err
	}
	if err := t.equipped(); err != nil {
		return err
	}
	if t.light(c.ID) >= 0 {
		return play.Refuse(IDTaken, "there is a light %s", c.ID).On("id")
	}
	if len(t.Lights) >= MaxLights {
		return play.Refuse(TooMany, "there are %d lights", len(t.Lights)).On("id")
	}
	t.lose(TriggerLightAdd)
	t.emit(LightsChanged{Trigger: TriggerLightAdd, Lights: []Light{l}})
	return nil
}

// known returns a light of the delve.
func (t *turn) known(id string) (Light, error) {
	if err := t.equipped(); err != nil {
		return Light{}, err
	}
	i := t.light(id)
	if i < 0 {
		return Light{}, play.Refuse(NoSuchLight, "there is no light %q", id).On("id")
	}
	return t.Lights[i], nil
}

func (c SwitchLight) decide(t *turn) error {
	l, err := t.known(c.ID)
	if err != nil {
		return err
	}
	trigger := TriggerLightOff
	if c.On {
		trigger = TriggerLightOn
		switch {
		case l.Active: // it stays as it is
		case l.Source == LightSpell && !t.Ruleset.is(paramLightSpellRelight, optionAllowed):
			return play.Refuse(LightSpellEnded, "%s has ended; it has to be cast anew", c.ID).On("id")
		case l.Remaining == 0:
			return play.Refuse(LightSpent, "%s has nothing left to burn", c.ID).On("id")
		}
	}
	l.Active = c.On
	t.lose(trigger)
	t.emit(LightsChanged{Trigger: trigger, Lights: []Light{l}})
	return nil
}

func (c RefuelLight) decide(t *turn) error {
	l, err := t.known(c.ID)
	if err != nil {
		return err
	}
	if l.Source != Lantern && l.Source != BullseyeLantern {
		return play.Refuse(NoLantern, "%s burns no oil", c.ID).On("id")
	}
	s, _ := t.Ruleset.source(l.Source)
	if t.Ruleset.is(paramRefuelMode, optionReset) {
		l.Remaining = 0
	}
	l.Remaining, l.Active = l.Remaining+s.Duration, true
	if l.Remaining > maxDiceOfALight {
		return play.Refuse(TooMany, "%s holds no more oil", c.ID).On("id")
	}
	t.lose(TriggerRefuel)
	t.emit(LightsChanged{Trigger: TriggerRefuel, Lights: []Light{l}})
	return nil
}

func (c CastSpell) decide(t *turn) error {
	s := Spell(c)
	if err := s.check("", 1); err != nil {
		return err
	}
	if err := t.equipped(); err != nil {
		return err
	}
	if len(t.Spells) >= MaxSpells {
		return play.Refuse(TooMany, "%d spells run", len(t.Spells)).On("id")
	}
	t.lose(TriggerCast)
	t.emit(SpellCast{s})
	return nil
}

func (c EndSpell) decide(t *turn) error {
	if err := t.equipped(); err != nil {
		return err
	}
	if t.spell(c.ID) < 0 {
		return play.Refuse(NoSuchSpell, "no spell %q runs", c.ID).On("id")
	}
	t.lose(TriggerSpellEnd)
	t.emit(SpellEnded(c))
	return nil
}

func (c Leave) decide(t *turn) error {
	if c.Target != ToTravel && c.Target != ToGameLoop {
		return invalid("target", "%q is neither %s nor %s", c.Target, ToTravel, ToGameLoop)
	}
	if t.InCombat {
		return play.Refuse(InCombat, "nobody leaves a fight like that")
	}
	t.emit(Departed(c))
	return nil
}

func (c Narrate) decide(t *turn) error {
	if err := c.Call.check(t.Ruleset, ""); err != nil {
		return err
	}
	if c.Call == (Call{}) {
		return invalid("shows", "nothing is told")
	}
	i := slices.IndexFunc(t.Last, func(s Spilled) bool { return s.Number == c.Spill })
	if i < 0 {
		return play.Refuse(NoSuchSpill, "spill %d is none of the latest trigger that spilled", c.Spill).On("spill")
	}
	if c.Event < 1 || c.Event > len(t.Last[i].Events) {
		return play.Refuse(NoEvent, "spill %d has %d events", c.Spill, len(t.Last[i].Events)).On("event")
	}
	now := t.Last[i].Events[c.Event-1]
	now.Shows, now.Note = cmp.Or(c.Shows, now.Shows), cmp.Or(c.Note, now.Note)
	if c.Override != 0 {
		now.Final = c.Override
	}
	t.emit(EventNarrated{Spill: c.Spill, Event: c.Event, Now: now.named(t.Ruleset)})
	return nil
}

// named fills in what follows from the final number.
func (e DangerEvent) named(rs *Ruleset) DangerEvent {
	e.Event, e.Overridden = rs.Event(e.Final).ID, e.Final != e.Rolled
	return e
}

func (c Remark) decide(t *turn) error {
	if err := text("text", c.Text, 1, MaxText); err != nil {
		return err
	}
	t.emit(Remarked(c))
	return nil
}

func (c RaiseDanger) decide(t *turn) error {
	if err := within("dice", c.Dice, 1, MaxDice); err != nil {
		return err
	}
	if err := text("reason", c.Reason, 1, maxReason); err != nil {
		return err
	}
	if err := t.call(c.Calls); err != nil {
		return err
	}
	if err := t.begun(); err != nil {
		return err
	}
	t.emit(Remarked{Text: c.Reason, Secret: true})
	t.emit(t.trigger(TriggerDanger))
	t.add(batch{dice: c.Dice})
	return nil
}

// batch is the dice of one trigger.
type batch struct {
	dice int
	// minutes is the in-game time that the dice stand for while hunkered; 0 otherwise.
	minutes int
	// rest tells that a combat event may break it off.
	rest bool
}

// unpriced is how many minutes of the first n dice no die stands for (algorithm P-5).
func (b batch) unpriced(n, perDie int) int {
	stand := b.minutes
	if b.dice > 0 {
		stand = b.minutes * n / b.dice
	}
	return max(0, stand-n*perDie)
}

// add is algorithm P-1: it adds the dice one by one, or all before one spill, and tells of them up to each spill.
func (t *turn) add(b batch) {
	perTrigger := t.Ruleset.is(paramOverflowMode, optionPerTrigger)
	limit, perDie := t.Ruleset.int(paramPoolLimit), t.Ruleset.int(paramMinutesPerDie)
	if b.dice == 0 && b.unpriced(0, perDie) > 0 {
		t.emit(DiceAdded{Unpriced: b.unpriced(0, perDie)})
	}
	for added := 0; added < b.dice && !t.dice.Failed(); {
		n := b.dice - added
		if !perTrigger {
			n = min(n, max(1, limit-t.Pool))
		}
		t.emit(DiceAdded{
			Count: n, Unpriced: b.unpriced(added+n, perDie) - b.unpriced(added, perDie),
			LightsOut: t.lightsOut(n), SpellsEnded: t.spellsOver(n*t.Ruleset.dieSeconds(), t.Ruleset.dieSeconds()),
		})
		added += n
		if t.Pool < limit {
			continue
		}
		s := t.spill()
		combat := slices.ContainsFunc(s.Events, func(e DangerEvent) bool { return e.Final == t.Ruleset.EventCap })
		if b.rest && !perTrigger && combat && t.Ruleset.is(paramRestInterrupt, optionOnCombat) {
			t.emit(RestInterrupted{})
			return
		}
	}
}

// lightsOut lists the lights that so many dice put out, in the order in which they go out.
func (t *turn) lightsOut(dice int) []string {
	out := slices.DeleteFunc(slices.Clone(t.Lights), func(l Light) bool { return !l.Active || l.Remaining > dice })
	slices.SortStableFunc(out, func(a, b Light) int { return cmp.Compare(a.Remaining, b.Remaining) })
	ids := make([]string, len(out))
	for i, l := range out {
		ids[i] = l.ID
	}
	return ids
}

// spellsOver lists the spells that end within some seconds, in the order in which they end; those of one step of time
// count as ending together.
func (t *turn) spellsOver(seconds, step int) []string {
	out := slices.DeleteFunc(slices.Clone(t.Spells), func(s Spell) bool { return s.Seconds > seconds })
	step = max(1, step)
	slices.SortStableFunc(out, func(a, b Spell) int { return cmp.Compare((a.Seconds+step-1)/step, (b.Seconds+step-1)/step) })
	ids := make([]string, len(out))
	for i, s := range out {
		ids[i] = s.ID
	}
	return ids
}

// spill is algorithm P-3.
func (t *turn) spill() Spilled {
	rs := t.Ruleset
	t.spills++
	s := Spilled{Number: t.SpillsTotal + 1, AtDie: t.Ever, Nth: t.spills, Events: []DangerEvent{}}
	for range t.Pool {
		face := t.dice.Roll("danger pool", rs.DieSides)
		s.Faces = append(s.Faces, face)
		if face == 1 {
			s.Ones++
		}
		if t.dice.Failed() {
			break
		}
	}
	s.Severity = rs.Severity(s.Ones)
	var call Call
	if t.spills <= len(t.calls) {
		call = t.calls[t.spills-1]
	}
	rolls, more := min(1, s.Ones), s.Ones-1
	if rs.is(paramEventsPerSpill, optionPerOne) {
		rolls, more = s.Ones, 0
	}
	for range rolls {
		e := DangerEvent{D12: t.dice.Roll("danger event", rs.EventDieSides), Shows: call.Shows, Note: call.Note}
		e.Total = e.D12 + more
		e.Rolled = min(rs.EventCap, e.Total)
		e.Final = cmp.Or(call.Override, e.Rolled)
		s.Events = append(s.Events, e.named(rs))
	}
	t.emit(s)
	return s
}

func (c Adjust) decide(t *turn) error {
	if err := c.check(t); err != nil {
		return err
	}
	if err := t.equipped(); err != nil {
		return err
	}
	if c.Area != nil {
		if _, ok := t.Map.Area(*c.Area); !ok {
			return play.Refuse(NoSuchArea, "the map has no area %q", *c.Area).At("area")
		}
	}
	t.emit(Adjusted{
		Reason: c.Reason, Pool: c.Pool, RealClock: c.RealClock, WaitClock: c.WaitClock, Hunkered: c.Hunkered, FreeAction: c.FreeAction, Area: c.Area,
	})
	lights := len(t.Lights)
	for i, id := range c.Drop {
		if t.light(id) < 0 {
			return play.Refuse(NoSuchLight, "there is no light %q", id).On(fmt.Sprintf("drop[%d]", i))
		}
	}
	for _, l := range c.Lights {
		if t.light(l.ID) < 0 {
			lights++
		}
	}
	if lights > MaxLights {
		return play.Refuse(TooMany, "that makes %d lights", lights).On("lights")
	}
	if len(c.Lights)+len(c.Drop) > 0 {
		t.emit(LightsChanged{Lights: c.Lights, Dropped: c.Drop})
	}
	for i, s := range c.Spells {
		known := t.spell(s.ID)
		switch {
		case known < 0 && s.Seconds == 0:
			return play.Refuse(NoSuchSpell, "no spell %q runs", s.ID).On(fmt.Sprintf("spells[%d].id", i))
		case known >= 0:
			t.emit(SpellEnded{s.ID})
		}
		if s.Seconds > 0 {
			t.emit(SpellCast{s})
		}
	}
	if len(t.Spells) > MaxSpells {
		return play.Refuse(TooMany, "that makes %d spells", len(t.Spells)).On("spells")
	}
	return nil
}

func (c Adjust) check(t *turn) error {
	if err := text("reason", c.Reason, 1, maxReason); err != nil {
		return err
	}
	if c.Pool == nil && c.RealClock == nil && c.WaitClock == nil && c.Hunkered == nil && c.FreeAction == nil && c.Area == nil &&
		len(c.Lights)+len(c.Drop)+len(c.Spells) == 0 {
		return invalid("pool", "nothing is set, neither the pool nor anything else")
	}
	block := paramWaitBlock
	if hunkered := t.Hunkered; c.Hunkered != nil && *c.Hunkered || c.Hunkered == nil && hunkered {
		block = paramHunkerWaitBlock
	}
	for _, n := range []struct {
		field string
		value *int
		below string
	}{
		{"pool", c.Pool, paramPoolLimit}, {"real_clock", c.RealClock, paramRealTimeBlock}, {"wait_clock", c.WaitClock, block},
	} {
		if n.value == nil {
			continue
		}
		if err := within(n.field, *n.value, 0, t.Ruleset.int(n.below)-1); err != nil {
			return err
		}
	}
	seen := map[string]bool{}
	for i, l := range c.Lights {
		at := func(field string) string { return fmt.Sprintf("lights[%d].%s", i, field) }
		if _, err := t.newLight(l.ID, l.Source, at); err != nil {
			return err
		}
		if seen[l.ID] || slices.Contains(c.Drop, l.ID) {
			return play.Refuse(IDTaken, "%s is named twice", l.ID).At(at("id"))
		}
		seen[l.ID] = true
		if err := within(at("remaining"), l.Remaining, 0, maxDiceOfALight); err != nil {
			return err
		}
		if l.Active && l.Remaining == 0 {
			return invalid(at("active"), "%s has nothing left to burn", l.ID)
		}
	}
	for i, s := range c.Spells {
		if err := s.check(fmt.Sprintf("spells[%d].", i), 0); err != nil {
			return err
		}
	}
	return nil
}
