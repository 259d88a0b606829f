package dangerworld

import (
	"fmt"
	"maps"
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/wayfarer-rpg/wayfarer/rules/play"
)

// The refusals.
const (
	NotBegun          = "NOT_BEGUN"
	AlreadyBegun      = "ALREADY_BEGUN"
	AlreadyPresent    = "ALREADY_PRESENT"
	NotPresent        = "NOT_PRESENT"
	NoSuchChallenge   = "NO_SUCH_CHALLENGE"
	NameTaken         = "NAME_TAKEN"
	BadDifficulty     = "BAD_DIFFICULTY"
	ChallengeNotOpen  = "CHALLENGE_NOT_OPEN"
	KnockedOut        = "KNOCKED_OUT"
	IsDead            = "DEAD"
	UnknownStat       = "UNKNOWN_STAT"
	CheckUnderWay     = "CHECK_UNDER_WAY"
	BotchesUnspent    = "BOTCHES_UNSPENT"
	NotEnoughFP       = "NOT_ENOUGH_FP"
	AspectCap         = "ASPECT_CAP"
	NotEnoughBonus    = "NOT_ENOUGH_BONUS_DICE"
	BundledBonus      = "BUNDLED_BONUS_DICE"
	TooManyDangerDice = "TOO_MANY_DANGER_DICE"
	EmptyPool         = "EMPTY_POOL"
	NoSuchCheck       = "NO_SUCH_CHECK"
	AlreadyRolled     = "ALREADY_ROLLED"
	NotRolled         = "NOT_ROLLED"
	NotResolved       = "NOT_RESOLVED"
	CheckOver         = "CHECK_OVER"
	NotAllowed        = "NOT_ALLOWED"
	NoRerollLeft      = "NO_REROLL_LEFT"
	NoSuchDie         = "NO_SUCH_DIE"
	NotLockable       = "NOT_LOCKABLE"
	NoDieLeft         = "NO_DIE_LEFT"
	TooLate           = "TOO_LATE"
	BadCancel         = "BAD_CANCEL"
	NoSuchSet         = "NO_SUCH_SET"
	NotEnoughBotches  = "NOT_ENOUGH_BOTCHES"
	NoSuchPurchase    = "NO_SUCH_PURCHASE"
	NoBenefit         = "NO_BENEFIT"
	TooMany           = "TOO_MANY"
	// Invalid is an argument outside its kind; the refusal names its field.
	Invalid = "INVALID"
)

// Decide decides a command. It changes nothing; callers fold the events with [Apply]. It fails with a *play.Refusal. Bad
// dice are found by the caller, with Dice.Close, after everything else.
func Decide(s Scene, c Command, dice *play.Dice) ([]Event, error) {
	t := &turn{Scene: s.clone(), dice: dice}
	_, begins := c.(Begin)
	switch {
	case begins && s.Begun():
		return nil, play.Refuse(AlreadyBegun, "the scene has begun")
	case !begins && !s.Begun():
		return nil, play.Refuse(NotBegun, "the scene has not begun")
	}
	if err := c.decide(t); err != nil {
		return nil, err
	}
	return t.events, nil
}

// turn is a decision under way: a copy of the state that follows the events decided so far.
type turn struct {
	Scene
	dice   *play.Dice
	events []Event
}

func (t *turn) emit(e Event) {
	e.applyTo(&t.Scene)
	t.events = append(t.events, e)
}

func invalid(field, format string, args ...any) error {
	return play.Refuse(Invalid, format, args...).At(field)
}

// within refuses a number outside its bounds.
func within(field string, n, least, most int) error {
	if n < least || n > most {
		return invalid(field, "%d is not within %d..%d", n, least, most)
	}
	return nil
}

func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// present returns a sheet, or the refusal that there is none.
func (t *turn) present(character, field string) (Sheet, error) {
	s, ok := t.Sheet(character)
	if !ok {
		return s, play.Refuse(NotPresent, "%s is not in the scene", character).On(field)
	}
	return s, nil
}

func (c Begin) decide(t *turn) error {
	if c.Ruleset == nil {
		return invalid("ruleset", "a scene needs a ruleset")
	}
	t.emit(SceneBegun(c))
	return nil
}

// CheckSheet refuses what cannot be on a sheet, and completes it: without zeros, and dead where the points say so. It fails
// with UNKNOWN_STAT and INVALID, naming the field.
func (rs *Ruleset) CheckSheet(s Sheet) (Sheet, error) {
	if s.Character == "" {
		return s, invalid("character", "a sheet is somebody's")
	}
	for _, name := range slices.Sorted(maps.Keys(s.Stats)) {
		if !rs.hasStat(name) {
			return s, play.Refuse(UnknownStat, "there is no stat %q", name).At("stats")
		}
		if n := s.Stats[name]; n < 0 || n > rs.StatMax() {
			return s, invalid("stats", "%s %d is not within 0..%d", name, n, rs.StatMax())
		}
	}
	reductions := map[string]int{}
	for _, name := range slices.Sorted(maps.Keys(s.Reductions)) {
		if !rs.hasStat(name) {
			return s, play.Refuse(UnknownStat, "there is no stat %q", name).At("stat_reductions")
		}
		n := s.Reductions[name]
		if n < 0 || n > s.Stats[name] {
			return s, invalid("stat_reductions", "%s %d is not within 0..%d", name, n, s.Stats[name])
		}
		if n > 0 {
			reductions[name] = n
		}
	}
	bonus := []int{}
	total := 0
	for _, n := range s.Bonus {
		if n < 0 || n > maxNumber || len(s.Bonus) > 1000 {
			return s, invalid("bonus_dice", "are 1000 numbers from 0 to %d at most", maxNumber)
		}
		if total += n; n > 0 {
			bonus = append(bonus, n)
		}
	}
	err := first(
		within("bonus_dice", total, 0, maxNumber), within("fp", s.FP, 0, maxNumber), within("danger_points", s.Points, 0, rs.maxPoints()),
		within("bashed", s.Bashed, 0, len(rs.Track)), within("stunned", s.Stunned, 0, len(rs.Track)),
	)
	s.Stats, s.Reductions, s.Bonus = maps.Clone(s.Stats), reductions, bonus
	s.Dead = rs.Harm(rs.Level(s.Points)) == Dead
	return s, err
}

func (c AddSheet) decide(t *turn) error {
	s, err := t.Ruleset.CheckSheet(c.Sheet)
	if err != nil {
		return err
	}
	if _, ok := t.Sheet(s.Character); ok {
		return play.Refuse(AlreadyPresent, "%s is in the scene", s.Character)
	}
	if len(t.Sheets) >= MaxSheets {
		return play.Refuse(TooMany, "a scene has at most %d sheets", MaxSheets)
	}
	t.emit(SheetAdded{Sheet: s})
	return nil
}

func (c RemoveSheet) decide(t *turn) error {
	if _, err := t.present(c.Character, "character"); err != nil {
		return err
	}
	if check, ok := t.current(c.Character); ok {
		t.end(check)
	}
	t.emit(SheetRemoved(c))
	return nil
}

func (c SetSheet) decide(t *turn) error {
	s, err := t.Ruleset.CheckSheet(c.Sheet)
	if err != nil {
		return err
	}
	if _, err := t.present(s.Character, "character"); err != nil {
		return err
	}
	t.emit(SheetChanged{Sheet: s})
	return nil
}

func (t *turn) checkDifficulty(field string, n int) error {
	if least, most := t.Ruleset.difficulties(); n < least || n > most {
		return play.Refuse(BadDifficulty, "difficulty %d is not within %d..%d", n, least, most).At(field)
	}
	return nil
}

func checkName(field, name string) error {
	if name == "" || utf8.RuneCountInString(name) > MaxName || !utf8.ValidString(name) {
		return invalid(field, "a challenge has a name of 1 to %d characters", MaxName)
	}
	for _, r := range name {
		if unicode.IsControl(r) {
			return invalid(field, "a name has no control characters")
		}
	}
	return nil
}

// create makes a challenge with a name that is not in use.
func (t *turn) create(field string, c Challenge) error {
	if err := checkName(field, c.Name); err != nil {
		return err
	}
	if _, ok := t.Challenge(c.Name); ok {
		return play.Refuse(NameTaken, "there is a challenge %q already", c.Name).On(field)
	}
	if len(t.Challenges) >= MaxChallenges {
		return play.Refuse(TooMany, "a scene has at most %d challenges", MaxChallenges)
	}
	t.emit(ChallengeSet{Challenge: c})
	return nil
}

func (c CreateChallenge) decide(t *turn) error {
	made := Challenge{Name: c.Name, Difficulty: c.Difficulty, Penalty: c.Penalty, Status: Open}
	if c.AspectCap != nil {
		most := *c.AspectCap
		made.AspectCap = &most
	}
	if err := first(
		checkName("challenge", c.Name), t.checkDifficulty("difficulty", c.Difficulty), within("penalty", c.Penalty, 0, MaxDice),
		checkCap(c.AspectCap, 0),
	); err != nil {
		return err
	}
	return t.create("challenge", made)
}

func checkCap(most *int, least int) error {
	if most == nil {
		return nil
	}
	return within("aspect_cap", *most, least, maxNumber)
}

func (t *turn) named(field, name string) (Challenge, error) {
	c, ok := t.Challenge(name)
	if !ok {
		return c, play.Refuse(NoSuchChallenge, "there is no challenge %q", name).On(field)
	}
	return c, nil
}

func (c EditChallenge) decide(t *turn) error {
	x, err := t.named("challenge", c.Name)
	if err != nil {
		return err
	}
	switch c.Status {
	case "":
	case Open, Blocked, Pending, Done:
		x.Status = c.Status
	default:
		return invalid("status", "%q is no status of a challenge", c.Status)
	}
	if c.Difficulty != nil {
		if err := t.checkDifficulty("difficulty", *c.Difficulty); err != nil {
			return err
		}
		x.Difficulty = *c.Difficulty
	}
	if c.Penalty != nil {
		if err := within("penalty", *c.Penalty, 0, MaxDice); err != nil {
			return err
		}
		x.Penalty = *c.Penalty
	}
	if c.AspectCap != nil {
		if err := checkCap(c.AspectCap, -1); err != nil {
			return err
		}
		x.AspectCap = nil
		if most := *c.AspectCap; most >= 0 {
			x.AspectCap = &most
		}
	}
	t.emit(ChallengeSet{Challenge: x})
	return nil
}

func (t *turn) setStatus(name, status string) {
	if c, ok := t.Challenge(name); ok && c.Status != status {
		c.Status = status
		t.emit(ChallengeSet{Challenge: c})
	}
}

// overcome makes a challenge done and releases what it held, upwards (DW-SPEND-12, -13; step A-4 (6)).
func (t *turn) overcome(name string) {
	c, ok := t.Challenge(name)
	if !ok {
		return
	}
	t.setStatus(name, Done)
	held := slices.ContainsFunc(t.Challenges, func(x Challenge) bool { return x.Parent == c.Parent && x.Status != Done })
	if c.Parent == "" || held {
		return
	}
	switch parent, _ := t.Challenge(c.Parent); parent.Status {
	case Blocked:
		t.setStatus(parent.Name, Open)
	case Pending:
		t.overcome(parent.Name)
	}
}

// holdParent holds again what a challenge had released when it was a setback itself (DW-SPEND-13, step A-6 (3)).
func (t *turn) holdParent(name string) {
	c, _ := t.Challenge(name)
	switch parent, _ := t.Challenge(c.Parent); parent.Status {
	case Open:
		t.setStatus(parent.Name, Blocked)
	case Done:
		t.setStatus(parent.Name, Pending)
		t.holdParent(parent.Name)
	}
}

// harm adds danger points to a sheet; every level passed takes effect, lowest first (A-5; DW-TRACK-09).
func (t *turn) harm(s Sheet, points int) (Sheet, []Harm) {
	rs := t.Ruleset
	before := rs.Level(s.Points)
	s.Points = min(rs.maxPoints(), s.Points+points)
	var out []Harm
	for level := before + 1; level <= rs.Level(s.Points); level++ {
		h := Harm{Level: level, Kind: rs.Harm(level)}
		switch h.Kind {
		case Bashed:
			s.Bashed++
		case Stunned:
			s.Stunned++
		case Injured:
			face := t.dice.Roll("injury/"+s.Character, len(rs.Stats))
			h.Stat = rs.Stats[face-1].Name
			if s.Stat(h.Stat) > rs.int("stat_floor") {
				s.Reductions = plus(s.Reductions, h.Stat, 1)
			}
		case KO:
			s.KO = true
		case Dead:
			s.Dead = true
		}
		out = append(out, h)
	}
	return s, out
}

// points returns how many danger points steps are (DW-TRACK-08).
func (rs *Ruleset) points(steps int) int {
	if rs.is("danger_unit", "LEVEL") {
		return steps * rs.int("points_per_level")
	}
	return steps
}

func (c RaiseDanger) decide(t *turn) error {
	if err := within("steps", c.Steps, 0, maxNumber); err != nil {
		return err
	}
	s, err := t.present(c.Character, "character")
	if err != nil {
		return err
	}
	s, harm := t.harm(s, t.Ruleset.points(c.Steps))
	t.emit(SheetChanged{Sheet: s, Harm: harm})
	return nil
}

func (c SetDanger) decide(t *turn) error {
	s, err := t.present(c.Character, "character")
	if err != nil {
		return err
	}
	if err := within("points", c.Points, 0, t.Ruleset.maxPoints()); err != nil {
		return err
	}
	if s.Dead {
		return play.Refuse(IsDead, "%s is dead", c.Character)
	}
	s.Points = c.Points
	s.Dead = t.Ruleset.Harm(t.Ruleset.Level(s.Points)) == Dead
	t.emit(SheetChanged{Sheet: s})
	return nil
}

// recovered takes danger points back to 0 where the ruleset says that this event does; never those of the dead.
func (t *turn) recovered(s Sheet, event string) Sheet {
	if t.Ruleset.is("danger_recovery", event) && !s.Dead {
		s.Points = 0
	}
	return s
}

func (EndEncounter) decide(t *turn) error {
	t.emit(EncounterEnded{})
	for _, s := range slices.Clone(t.Sheets) {
		now := t.recovered(s, "ENCOUNTER_END")
		now.Bashed, now.Stunned, now.KO = 0, 0, false
		if now.Bashed != s.Bashed || now.Stunned != s.Stunned || now.KO != s.KO || now.Points != s.Points {
			t.emit(SheetChanged{Sheet: now})
		}
	}
	return nil
}

func (c LongTermRest) decide(t *turn) error {
	who := slices.Clone(c.Characters)
	for i, character := range who {
		field := fmt.Sprintf("characters[%d]", i)
		if _, err := t.present(character, field); err != nil {
			return err
		}
		if slices.Contains(who[:i], character) {
			return invalid(field, "%s is listed twice", character)
		}
	}
	if len(who) == 0 {
		for _, s := range t.Sheets {
			who = append(who, s.Character)
		}
	}
	t.emit(Rested{Characters: who})
	for _, character := range who {
		s, _ := t.Sheet(character)
		now := t.recovered(s, "LONG_TERM_REST")
		now.Reductions = nil
		if len(s.Reductions) > 0 || now.Points != s.Points {
			t.emit(SheetChanged{Sheet: now})
		}
	}
	return nil
}
