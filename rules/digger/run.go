package digger

import (
	"slices"
)

// The outcomes of a run (DIG-WIN-…).
const (
	Running       = "running"
	Won           = "won"
	LostRetreat   = "lost_retreat"
	LostExhausted = "lost_exhausted"
	Abandoned     = "abandoned"
)

// The outcomes of a challenge.
const (
	Passed = "passed"
	Failed = "failed"
)

// Run is the state of one play-through of a dungeon. It is the fold of its events; treat it as a value.
type Run struct {
	// Ruleset and Dungeon are those frozen when the run began. They are shared and never changed.
	Ruleset *Ruleset `json:"ruleset"`
	Dungeon *Dungeon `json:"dungeon"`
	// Party is the roster's id of the party.
	Party  string `json:"party,omitempty"`
	Leader string `json:"leader"`
	// Members in party order; those who left are gone.
	Members []Member `json:"members"`
	// Round is the number of the last challenge drawn, from 1.
	Round int `json:"round"`
	// Exploration is 0 to the ruleset's goal.
	Exploration int `json:"exploration"`
	// Conditions and Effects are those in force, in list order.
	Conditions []Instance `json:"conditions"`
	Effects    []Effect   `json:"effects"`
	// Pending is the challenge that waits for acts; nil between challenges.
	Pending *Pending `json:"pending"`
	// Played lists the cards drawn, in order; Pile those of the normal cards drawn since the last shuffle.
	Played []string `json:"played"`
	Pile   []string `json:"pile"`
	// ClimaxPlayed makes the next draw the final (DIG-DECK-10).
	ClimaxPlayed bool `json:"climax_played"`
	// Previous is the outcome of the last challenge: "", passed or failed.
	Previous string `json:"previous"`
	// Outcome is running until the run ends.
	Outcome string `json:"outcome"`
}

// Member is one character on a run. Statblock and tools are those of the form in which they entered (DIG-CHAR-03).
type Member struct {
	ID         string    `json:"id"`
	Form       string    `json:"form,omitempty"`
	Abilities  Abilities `json:"abilities"`
	Tools      []RunTool `json:"tools"`
	Exhaustion int       `json:"exhaustion"`
	// Draws counts the challenges that they drew, the entry included.
	Draws int `json:"draws"`
}

// RunTool is a loaded tool with the uses it has left.
type RunTool struct {
	Tool
	// Number is its place in the form's list, from 1.
	Number   int `json:"number"`
	UsesLeft int `json:"uses_left"`
}

// Instance is one condition in force.
type Instance struct {
	Name string `json:"name"`
	// Phase is the challenge it is in, from 1; permanent ones stay in 1.
	Phase int `json:"phase"`
	// Owed is what its phase before a restart still gives until the next draw, under refresh (DIG-COND-04).
	Owed Phase `json:"owed,omitempty"`
}

// Effect is one tool effect in force.
type Effect struct {
	Name  string `json:"name"`
	Phase int    `json:"phase"`
	// Users in order of use.
	Users []string `json:"users"`
	// Ability of the challenge on which it was used last.
	Ability string `json:"ability"`
	// Owed is what its phase before a restart still gives this round (DIG-QUAL-02).
	Owed Phase `json:"owed,omitempty"`
}

// Pending is a drawn challenge.
type Pending struct {
	Card string `json:"card"`
	Kind string `json:"kind"`
	// Drawer completes it.
	Drawer string `json:"drawer"`
	// Acts in order of acting.
	Acts []Act `json:"acts"`
}

// Act is what a member contributes.
type Act struct {
	Member string `json:"member"`
	// Tool is the number of the tool used, 0 for a basic action.
	Tool int  `json:"tool,omitempty"`
	Risk bool `json:"risk,omitempty"`
}

func (r Run) clone() Run {
	r.Members = slices.Clone(r.Members)
	for i := range r.Members {
		r.Members[i].Tools = slices.Clone(r.Members[i].Tools)
	}
	r.Conditions = slices.Clone(r.Conditions)
	r.Effects = slices.Clone(r.Effects)
	if r.Pending != nil {
		p := *r.Pending
		p.Acts = slices.Clone(p.Acts)
		r.Pending = &p
	}
	r.Played, r.Pile = slices.Clone(r.Played), slices.Clone(r.Pile)
	return r
}

// Begun tells whether the run has begun.
func (r Run) Begun() bool { return r.Ruleset != nil }

// Over tells whether the run has ended.
func (r Run) Over() bool { return r.Begun() && r.Outcome != Running }

// Member returns a member by id.
func (r Run) Member(id string) (Member, bool) {
	i := r.index(id)
	if i < 0 {
		return Member{}, false
	}
	return r.Members[i], true
}

func (r *Run) index(id string) int {
	for i := range r.Members {
		if r.Members[i].ID == id {
			return i
		}
	}
	return -1
}

// Exhausted tells whether a member is out for the rest of the run (DIG-RES-14).
func (r Run) Exhausted(m Member) bool { return r.out(&m) }

func (r *Run) out(m *Member) bool { return m.Exhaustion >= r.Ruleset.Exhaustion.OutAt }

// Active returns the members who are not exhausted.
func (r Run) Active() []Member {
	return slices.DeleteFunc(slices.Clone(r.Members), r.Exhausted)
}

// Waiting returns the active members who have not acted on the pending challenge (DIG-ACT-03).
func (r Run) Waiting() []string {
	if r.Pending == nil {
		return nil
	}
	var ids []string
	for i := range r.Members {
		if m := &r.Members[i]; !r.out(m) && r.act(m.ID) == nil {
			ids = append(ids, m.ID)
		}
	}
	return ids
}

func (r *Run) act(member string) *Act {
	if r.Pending == nil {
		return nil
	}
	for i := range r.Pending.Acts {
		if a := &r.Pending.Acts[i]; a.Member == member {
			return a
		}
	}
	return nil
}

// Card returns the pending card.
func (r Run) Card() (Card, bool) {
	if r.Pending == nil {
		return Card{}, false
	}
	return r.Dungeon.card(r.Pending.Card), true
}

// TN returns the target number of the pending challenge (DIG-RES-02, -03).
func (r Run) TN() int {
	if r.Pending == nil {
		return 0
	}
	return boardOf(r, nil).card.tn
}

// Completer returns who ends the pending round: the drawer, or the leader when the drawer has left (DIG-ACT-04).
func (r Run) Completer() string {
	if r.Pending == nil {
		return ""
	}
	if r.index(r.Pending.Drawer) < 0 {
		return r.Leader
	}
	return r.Pending.Drawer
}

// NextDraw returns the kind of card that the next draw brings, "" when the run is over (step D3).
func (r Run) NextDraw() string {
	if r.Over() {
		return ""
	}
	k, _, _ := boardOf(r, nil).ahead()
	return k.String()
}

// Candidates returns the cards that the next draw may bring, in deck order; a die decides between them.
func (r Run) Candidates() (ids []string, reshuffled bool) {
	if r.Over() {
		return nil, false
	}
	_, cards, reshuffled := boardOf(r, nil).ahead()
	for _, i := range cards {
		ids = append(ids, r.Dungeon.Cards[i].ID)
	}
	return ids, reshuffled
}

// Remaining returns how many challenges a condition lasts, the present one included; false for a permanent one.
func (rs *Ruleset) Remaining(i Instance) (int, bool) {
	c := rs.Conditions[i.Name]
	if c.Permanent {
		return 0, false
	}
	return len(c.Phases) - i.Phase + 1, true
}

// EffectRemaining returns how many challenges an effect lasts, the present one included.
func (rs *Ruleset) EffectRemaining(e Effect) int {
	return len(rs.Tools.Qualities[e.Name].Phases) - e.Phase + 1
}

// Modifier returns M of step C2: what conditions and effects add to every score of the pending challenge.
func (r Run) Modifier() int {
	if r.Pending == nil {
		return 0
	}
	return boardOf(r, nil).modifier()
}

// PendingCard returns the pending card, the zero Card between challenges.
func (r Run) PendingCard() Card {
	c, _ := r.Card()
	return c
}
