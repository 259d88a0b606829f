package digger

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/wayfarer-rpg/wayfarer/rules/play"
)

// Refusals of what the + commands name.
const (
	NoSuchDungeon = "NO_SUCH_DUNGEON"
	NotANumber    = "NOT_A_NUMBER"
)

// The hints about a party's size (DIG-OVER-03).
const (
	OutsidePreferred   = "outside_preferred"
	OutsideRecommended = "outside_recommended"
)

// SizeHint tells whether a party's size is outside what is preferred or recommended, "" for neither. Nothing enforces it.
func (rs *Ruleset) SizeHint(members int) string {
	outside := func(span []int) bool { return members < span[0] || members > span[1] }
	switch {
	case outside(rs.Party.Recommended):
		return OutsideRecommended
	case outside(rs.Party.Preferred):
		return OutsidePreferred
	}
	return ""
}

// DungeonLine is what a list shows of a dungeon (DIG-CMD-01).
type DungeonLine struct {
	Number int    `json:"number"`
	ID     string `json:"id"`
	Name   string `json:"name"`
	Type   string `json:"type"`
}

// ListDungeons numbers dungeons: by their own numbers, and those without one, or with one taken, by the next free ones in
// the order given.
func ListDungeons(dungeons []Dungeon) []DungeonLine {
	lines, taken := make([]DungeonLine, len(dungeons)), map[int]bool{}
	for i, d := range dungeons {
		lines[i] = DungeonLine{ID: d.ID, Name: d.Name, Type: d.Type}
		if d.Number > 0 && !taken[d.Number] {
			lines[i].Number, taken[d.Number] = d.Number, true
		}
	}
	next := 1
	for i := range lines {
		if lines[i].Number == 0 {
			for taken[next] {
				next++
			}
			lines[i].Number, taken[next] = next, true
		}
	}
	slices.SortFunc(lines, func(a, b DungeonLine) int { return cmp.Compare(a.Number, b.Number) })
	return lines
}

// DungeonNumbered returns the dungeon that a list shows under a number, or refuses with NO_SUCH_DUNGEON (DIG-CMD-02).
func DungeonNumbered(dungeons []Dungeon, number int) (Dungeon, error) {
	for _, line := range ListDungeons(dungeons) {
		if line.Number == number {
			return dungeons[slices.IndexFunc(dungeons, func(d Dungeon) bool { return d.ID == line.ID })], nil
		}
	}
	return Dungeon{}, play.Refuse(NoSuchDungeon, "there is no dungeon %d", number)
}

// ToolNumber reads a tool's number as players type it, or refuses with NOT_A_NUMBER (DIG-CMD-07).
func ToolNumber(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, play.Refuse(NotANumber, "%q is no number of the tool list", text)
	}
	return n, nil
}

// ToolLine is what the tool list shows (DIG-CMD-06).
type ToolLine struct {
	Number int `json:"number"`
	Tool
	Uses  int `json:"uses"`
	Bonus int `json:"bonus"`
}

// Tools lists the tools of a form, the current one for "". Refused: NO_SUCH_FORM, NO_STATBLOCK (DIG-CHAR-02).
func (s Sheet) Tools(rs *Ruleset, form string) ([]ToolLine, error) {
	_, b, err := s.statblock(form)
	if err != nil {
		return nil, err
	}
	lines := make([]ToolLine, len(b.Tools))
	for i, t := range b.Tools {
		lines[i] = ToolLine{Number: i + 1, Tool: t, Uses: rs.Uses(t), Bonus: rs.Bonus(t)}
	}
	return lines, nil
}

// Entrant returns the character as they enter: the current form with its loaded tools; without a statblock Enter will
// refuse them (DIG-CHAR-02, -03, DIG-TOOL-11).
func (s Sheet) Entrant(id string) Entrant {
	f, _ := s.Form("")
	e := Entrant{ID: id, Form: f.ID}
	if f.Statblock == nil {
		return e
	}
	ratings := f.Statblock.Abilities
	e.Statblock = &ratings
	for i, t := range f.Statblock.Tools {
		if t.Loaded {
			e.Tools = append(e.Tools, NumberedTool{t, i + 1})
		}
	}
	return e
}

// Mark is a condition or effect as members see it.
type Mark struct {
	Name string `json:"name"`
	// Remaining counts challenges, the present one included; nil for the rest of the dungeon.
	Remaining *int `json:"remaining"`
	// Users of an effect, in order of use.
	Users []string `json:"users,omitempty"`
}

// Camp is all about a party in a run (DIG-CMD-09); Info of it is what the dungeon shows (DIG-CMD-10).
type Camp struct {
	Info       Info     `json:"info"`
	Leader     string   `json:"leader"`
	Members    []Member `json:"members"`
	Conditions []Mark   `json:"conditions"`
	Effects    []Mark   `json:"effects"`
}

// Info is what members learn of a dungeon: never the cards that are not drawn.
type Info struct {
	Number      int    `json:"number"`
	Name        string `json:"name"`
	Type        string `json:"type"`
	Exploration int    `json:"exploration"`
	Round       int    `json:"round"`
	Outcome     string `json:"outcome"`
	Hint        string `json:"hint,omitempty"`
}

// Info tells about the dungeon.
func (r Run) Info() Info {
	return Info{
		Number: r.Dungeon.Number, Name: r.Dungeon.Name, Type: r.Dungeon.Type, Exploration: r.Exploration, Round: r.Round, Outcome: r.Outcome,
		Hint: r.Ruleset.SizeHint(len(r.Members)),
	}
}

// Camp tells a member all about the party. Refused: NOT_BEGUN, NOT_A_MEMBER.
func (r Run) Camp(member string) (Camp, error) {
	if err := r.seen(member); err != nil {
		return Camp{}, err
	}
	c := Camp{
		Info: r.Info(), Leader: r.Leader, Members: r.clone().Members, Conditions: r.conditionMarks(), Effects: r.effectMarks(true),
	}
	return c, nil
}

func (r Run) conditionMarks() []Mark {
	marks := []Mark{}
	for _, i := range r.Conditions {
		m := Mark{Name: i.Name}
		if n, timed := r.Ruleset.Remaining(i); timed {
			m.Remaining = &n
		}
		marks = append(marks, m)
	}
	return marks
}

func (r Run) effectMarks(users bool) []Mark {
	marks := []Mark{}
	for _, e := range r.Effects {
		n := r.Ruleset.EffectRemaining(e)
		m := Mark{Name: e.Name, Remaining: &n}
		if users {
			m.Users = slices.Clone(e.Users)
		}
		marks = append(marks, m)
	}
	return marks
}

func (r Run) seen(member string) error {
	if !r.Begun() {
		return play.Refuse(NotBegun, "the run has not begun")
	}
	if r.index(member) < 0 {
		return play.Refuse(NotAMember, "%s is not in this run", member)
	}
	return nil
}

// Challenge is the pending card with what each member does about it (DIG-CMD-18).
type Challenge struct {
	Card Card `json:"card"`
	TN   int  `json:"tn"`
	// Drawer completes it.
	Drawer string       `json:"drawer"`
	Acts   []MemberLine `json:"acts"`
}

// MemberLine tells what one member does: "" while they have not acted, the ability of a basic action, or a tool's id.
type MemberLine struct {
	Member string `json:"member"`
	Use    string `json:"use"`
	Risk   bool   `json:"risk"`
}

// Challenge reads the pending challenge out to a member. Refused: NOT_BEGUN, NOT_A_MEMBER, NO_CHALLENGE.
func (r Run) Challenge(member string) (Challenge, error) {
	if err := r.seen(member); err != nil {
		return Challenge{}, err
	}
	card, ok := r.Card()
	if !ok {
		return Challenge{}, play.Refuse(NoChallenge, "no challenge is pending")
	}
	c := Challenge{Card: card, TN: r.TN(), Drawer: r.Completer()}
	for _, m := range r.Members {
		line := MemberLine{Member: m.ID}
		if a := r.act(m.ID); a != nil {
			line.Use, line.Risk = card.Ability, a.Risk
			if t, ok := m.tool(a.Tool); ok {
				line.Use = t.ID
			}
		}
		c.Acts = append(c.Acts, line)
	}
	return c, nil
}
