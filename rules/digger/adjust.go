package digger

import (
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/wayfarer-rpg/wayfarer/rules/play"
)

// Adjust is the GM's hand in a run, for harm and rest from outside these rules: it sets what is named and leaves the rest.
// It takes no dice. An act pending of a member who is exhausted by it is withdrawn as for one who leaves (DIG-PARTY-06),
// and the run ends when nobody active is left (DIG-WIN-05). Refused: RUN_OVER, INVALID, NOT_A_MEMBER, NO_SUCH_TOOL.
type Adjust struct {
	// Reason is kept in the log: 1 to 500 characters.
	Reason string
	// Exploration is 0 to the ruleset's goal.
	Exploration *int
	// ClearConditions takes all conditions off the party.
	ClearConditions bool
	// Members are members of the run, each once.
	Members []MemberAdjustment
}

// MemberAdjustment sets what is named of a member; nil and absent leave it.
type MemberAdjustment struct {
	ID string `json:"id"`
	// Exhaustion is 0 to the ruleset's cap.
	Exhaustion *int `json:"exhaustion,omitempty"`
	// UsesLeft are by number of a loaded tool, each 0 to what it has when it is fresh.
	UsesLeft map[int]int `json:"uses_left,omitempty"`
}

// Adjusted tells what a GM changed.
type Adjusted struct {
	Reason          string             `json:"reason"`
	Exploration     *int               `json:"exploration,omitempty"`
	ClearConditions bool               `json:"clear_conditions,omitempty"`
	Members         []MemberAdjustment `json:"members,omitempty"`
}

func (c Adjust) decide(r Run, _ *play.Dice) ([]RunEvent, error) {
	if n := utf8.RuneCountInString(c.Reason); n < 1 || n > 500 {
		return nil, play.Refuse(Invalid, "a reason has 1 to 500 characters").At("reason")
	}
	if c.Exploration == nil && !c.ClearConditions && len(c.Members) == 0 {
		return nil, play.Refuse(Invalid, "nothing is set").At("members")
	}
	if x := c.Exploration; x != nil && (*x < 0 || *x > r.Ruleset.Exploration.Goal) {
		return nil, play.Refuse(Invalid, "exploration is 0 to %d", r.Ruleset.Exploration.Goal).At("exploration")
	}
	seen := map[string]bool{}
	for i, a := range c.Members {
		field := fmt.Sprintf("members[%d]", i)
		m, ok := r.Member(a.ID)
		switch {
		case !ok:
			return nil, play.Refuse(NotAMember, "%s is not in this run", a.ID).At(field + ".character")
		case seen[a.ID]:
			return nil, play.Refuse(Invalid, "%s is named twice", a.ID).At(field + ".character")
		}
		seen[a.ID] = true
		if err := a.check(r.Ruleset, m, field); err != nil {
			return nil, err
		}
	}
	return r.unlessDeserted(Adjusted(c)), nil
}

func (a MemberAdjustment) check(rs *Ruleset, m Member, field string) error {
	if x := a.Exhaustion; x != nil && (*x < 0 || *x > rs.Exhaustion.Cap) {
		return play.Refuse(Invalid, "exhaustion is 0 to %d", rs.Exhaustion.Cap).At(field + ".exhaustion")
	}
	for _, number := range slices.Sorted(maps.Keys(a.UsesLeft)) {
		uses := a.UsesLeft[number]
		t, ok := m.tool(number)
		if !ok {
			return play.Refuse(NoSuchTool, "%s has no tool %d in the belt", m.ID, number).At(field + ".uses_left")
		}
		if most := rs.Uses(t.Tool); uses < 0 || uses > most {
			return play.Refuse(Invalid, "the uses of %s are 0 to %d", t.ID, most).At(field + ".uses_left")
		}
	}
	return nil
}

func (e Adjusted) applyTo(r *Run) {
	if e.Exploration != nil {
		r.Exploration = *e.Exploration
	}
	if e.ClearConditions {
		r.Conditions = nil
	}
	for _, a := range e.Members {
		i := r.index(a.ID)
		if i < 0 {
			continue
		}
		m := &r.Members[i]
		if a.Exhaustion != nil {
			m.Exhaustion = *a.Exhaustion
		}
		for j := range m.Tools {
			if uses, ok := a.UsesLeft[m.Tools[j].Number]; ok {
				m.Tools[j].UsesLeft = uses
			}
		}
		if r.Pending != nil && r.Exhausted(*m) {
			r.Pending.Acts = slices.DeleteFunc(r.Pending.Acts, func(x Act) bool { return x.Member == a.ID })
		}
	}
}
