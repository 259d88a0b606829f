package diedrop

import (
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/wayfarer-rpg/wayfarer/rules/play"
)

// Board is what is told in a place: the missions and rumours that were rolled (DDW-MISSION-…). A journey has one of its own;
// others hang where no company is near.
type Board struct {
	// Missions in the order in which they came up.
	Missions []Mission `json:"missions"`
	// MissionTexts are the GM's own texts by number (DDW-MISSION-04).
	MissionTexts map[int]string `json:"mission_texts"`
}

// DecideBoard decides [RollMissions] or [UseMission] on a board that belongs to no journey, as [Decide] does on a journey's.
func DecideBoard(rs *Ruleset, b Board, c Command, dice *play.Dice) ([]Event, error) {
	var e Event
	var err error
	switch c := c.(type) {
	case RollMissions:
		if err = c.check(rs); err == nil {
			e, err = b.roll(rs, c, dice)
		}
	case UseMission:
		if err = c.check(rs); err == nil {
			e, err = b.use(c)
		}
	default:
		err = play.Refuse(UnknownAction, "nothing on a board does %T", c)
	}
	if err != nil {
		return nil, err
	}
	return []Event{e}, nil
}

// ApplyBoard folds an event of [DecideBoard]. It changes nothing that the old board refers to.
func ApplyBoard(b Board, e Event) Board {
	j := Journey{Board: b.clone()}
	e.applyTo(&j)
	return j.Board
}

// Told returns what a number of the table is called and what it tells now: the GM's own text has no title.
func (b Board) Told(rs *Ruleset, number int) (title, text string) {
	if own, ok := b.MissionTexts[number]; ok {
		return "", own
	}
	m := rs.Missions[number-1]
	return m.Title, m.Text
}

func (b Board) clone() Board {
	return Board{Missions: slices.Clone(b.Missions), MissionTexts: maps.Clone(b.MissionTexts)}
}

// maxMissions bounds one roll; only mission.duplicates=keep lets a roll have more than the table.
const maxMissions = 100

// maxText bounds what a GM writes into a journey, in characters.
const maxText = 2000

func (c RollMissions) check(*Ruleset) error {
	if c.Count < 1 || c.Count > maxMissions {
		return invalid("count", "the count is 1 to %d", maxMissions)
	}
	for i, place := range c.False {
		if place < 0 || place >= c.Count || slices.Contains(c.False[:i], place) {
			return invalid(fmt.Sprintf("false_places[%d]", i), "these are places from 0 to %d, each once", c.Count-1)
		}
	}
	return nil
}

func (c RollMissions) decide(t *turn) error {
	e, err := t.roll(t.Ruleset, c, t.dice)
	if err == nil {
		t.emit(e)
	}
	return err
}

func (b Board) roll(rs *Ruleset, c RollMissions, dice *play.Dice) (Event, error) {
	if least := rs.int("mission.outset"); len(b.Missions) == 0 && c.Count < least {
		return nil, play.Refuse(TooFewMissions, "at the outset at least %d are rolled", least).On("count")
	}
	keep := rs.text("mission.duplicates") == "keep"
	open := map[int]bool{}
	spent := map[int]bool{}
	for _, m := range b.Missions {
		_, replaced := b.MissionTexts[m.Number]
		switch {
		case !m.Used:
			open[m.Number] = true
		case !replaced && rs.text("mission.used") == "reroll":
			spent[m.Number] = true
		}
	}
	accepts := func(n int) bool { return !spent[n] && (keep || !open[n]) }
	left := 0
	for _, m := range rs.Missions {
		if accepts(m.Number) {
			left++
		}
	}
	if left == 0 || !keep && left < c.Count {
		return nil, play.Refuse(TooManyMissions, "only %d numbers can still come up", left).On("count")
	}
	var rolled []Mission
	for len(rolled) < c.Count && !dice.Failed() {
		n := dice.Roll("mission", len(rs.Missions))
		if accepts(n) {
			rolled = append(rolled, Mission{Number: n, False: slices.Contains(c.False, len(rolled))})
			open[n] = true
		}
	}
	return MissionsRolled{Missions: rolled}, nil
}

func (c UseMission) check(*Ruleset) error {
	if n := utf8.RuneCountInString(c.Replacement); n > maxText {
		return invalid("replacement", "a text has at most %d characters", maxText)
	}
	return nil
}

func (c UseMission) decide(t *turn) error {
	e, err := t.use(c)
	if err == nil {
		t.emit(e)
	}
	return err
}

func (b Board) use(c UseMission) (Event, error) {
	if b.open(c.Number) < 0 {
		return nil, play.Refuse(NoSuchMission, "mission %d is not open", c.Number).On("number")
	}
	return MissionUsed(c), nil
}

// open returns the place of the first open mission of a number, or -1.
func (b Board) open(number int) int {
	return slices.IndexFunc(b.Missions, func(m Mission) bool { return m.Number == number && !m.Used })
}

func (e MissionsRolled) applyTo(j *Journey) { j.Missions = append(j.Missions, e.Missions...) }

func (e MissionUsed) applyTo(j *Journey) {
	i := j.open(e.Number)
	if i < 0 {
		panic(fmt.Sprintf("diedrop: mission %d is not open", e.Number))
	}
	j.Missions[i].Used = true
	if e.Replacement != "" {
		if j.MissionTexts == nil {
			j.MissionTexts = map[int]string{}
		}
		j.MissionTexts[e.Number] = e.Replacement
	}
}
