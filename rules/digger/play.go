package digger

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/wayfarer-rpg/wayfarer/rules/play"
)

// Refusals of runs.
const (
	RunOver          = "RUN_OVER"
	NotBegun         = "NOT_BEGUN"
	ChallengePending = "CHALLENGE_PENDING"
	NoChallenge      = "NO_CHALLENGE"
	Exhausted        = "EXHAUSTED"
	NotYourDraw      = "NOT_YOUR_TURN_TO_DRAW"
	AlreadyActed     = "ALREADY_ACTED"
	WrongAbility     = "WRONG_ABILITY"
	NoUsesLeft       = "NO_USES_LEFT"
	NotDrawer        = "NOT_DRAWER"
	NotAllActed      = "NOT_ALL_ACTED"
	ActsPending      = "ACTS_PENDING"
)

// RunCommand is something that a member or a GM wants done in a run.
type RunCommand interface {
	decide(r Run, dice *play.Dice) ([]RunEvent, error)
}

// The commands. Override lets a GM stand in for the leader or drawer, and nothing else.
type (
	// Enter starts the run of a party with the entry card. Member gives the command, the leader when it is empty, and
	// counts as drawer of the entry (DIG-CMD-11).
	// Refused: RUN_BEGUN, EXHAUSTED, TOO_FEW_MEMBERS, PARTY_FULL, NOT_A_MEMBER, NOT_LEADER, NO_STATBLOCK, INVALID, UNKNOWN_QUALITY.
	Enter struct {
		Ruleset  *Ruleset
		Dungeon  *Dungeon
		Party    string
		Leader   string
		Member   string
		Members  []Entrant
		Override bool
	}
	// Draw brings the next challenge (steps D1 to D7); Override waives the rotation (DIG-FLOW-03).
	// Refused: NOT_BEGUN, RUN_OVER, CHALLENGE_PENDING, NOT_A_MEMBER, EXHAUSTED, NOT_YOUR_TURN_TO_DRAW.
	Draw struct {
		Member   string
		Override bool
	}
	// Contribute acts (steps A1 to A6): Use is an ability or basic action, or the id of a loaded tool; Tool, when it is
	// not 0, is the number of a loaded tool and stands for Use. Refused: RUN_OVER, NO_CHALLENGE, NOT_A_MEMBER, EXHAUSTED,
	// ALREADY_ACTED, WRONG_ABILITY, NO_SUCH_TOOL, NO_USES_LEFT.
	Contribute struct {
		Member string
		Use    string
		Tool   int
		Risk   bool
	}
	// Complete ends the round (steps C1 to C12). Refused: RUN_OVER, NO_CHALLENGE, NOT_DRAWER, NOT_ALL_ACTED.
	Complete struct {
		Member   string
		Override bool
	}
	// Depart leaves the run (DIG-PARTY-05, -06, -08). Refused: RUN_OVER, NOT_A_MEMBER, LEADER_WITH_MEMBERS.
	Depart struct{ Member string }
	// Promote hands leadership on (DIG-PARTY-07). Refused: RUN_OVER, NOT_LEADER, NOT_A_MEMBER, ACTS_PENDING.
	Promote struct {
		Member, Target string
		Override       bool
	}
	// Abandon gives the run up. Refused: RUN_OVER, NOT_LEADER.
	Abandon struct {
		Member   string
		Override bool
	}
)

// Entrant is a member as they enter; Statblock nil refuses them (DIG-CHAR-02).
type Entrant struct {
	ID   string
	Form string
	// Statblock holds the ratings; Tools are the loaded ones with their numbers.
	Statblock *Abilities
	Tools     []NumberedTool
	// Exhaustion is 0 (DIG-RES-15) unless a GM begins the run otherwise.
	Exhaustion int
}

// NumberedTool is a loaded tool with its place in the form's list.
type NumberedTool struct {
	Tool
	Number int
}

// RunEvent is one fact of a run.
type RunEvent interface{ applyTo(r *Run) }

// The events. Lists are those after the event.
type (
	// Entered opens a run.
	Entered struct {
		Ruleset *Ruleset `json:"ruleset"`
		Dungeon *Dungeon `json:"dungeon"`
		Party   string   `json:"party"`
		Leader  string   `json:"leader"`
		Members []Member `json:"members"`
	}
	// Drawn presents a challenge; Cleared tells that a Save Point emptied the conditions before the card's own came.
	Drawn struct {
		Round      int        `json:"round"`
		Card       string     `json:"card"`
		Kind       string     `json:"kind"`
		Drawer     string     `json:"drawer"`
		Conditions []Instance `json:"conditions"`
		Cleared    bool       `json:"cleared"`
		Reshuffled bool       `json:"reshuffled"`
	}
	// Acted records a contribution; Cleansed tells that it emptied the conditions.
	Acted struct {
		Act      Act      `json:"act"`
		UsesLeft int      `json:"uses_left"`
		Effects  []Effect `json:"effects"`
		Cleansed bool     `json:"cleansed"`
	}
	// Completed records the result of a round. Outcome is running unless the run ended with it.
	Completed struct {
		Round           int      `json:"round"`
		Card            string   `json:"card"`
		TN              int      `json:"tn"`
		Modifier        int      `json:"modifier"`
		Score           int      `json:"score"`
		Target          int      `json:"target"`
		Passed          bool     `json:"passed"`
		ExplorationGain int      `json:"exploration_gain"`
		Exploration     int      `json:"exploration"`
		Results         []Result `json:"results"`
		Effects         []Effect `json:"effects"`
		Outcome         string   `json:"outcome"`
	}
	// Departed takes a member out; their pending act is withdrawn, what it spent and began stays.
	Departed struct {
		Member string `json:"member"`
	}
	// Promoted names a new leader.
	Promoted struct {
		Leader string `json:"leader"`
	}
	// RunEnded ends the run otherwise than by a round.
	RunEnded struct {
		Outcome string `json:"outcome"`
	}
)

// Result is what a round did to one member.
type Result struct {
	Member string `json:"member"`
	// Acted is false for an exhausted member, of whom only Exhaustion is told.
	Acted      bool `json:"acted"`
	Roll       int  `json:"roll"`
	Effective  int  `json:"effective"`
	ToolBonus  int  `json:"tool_bonus"`
	RiskBonus  int  `json:"risk_bonus"`
	Total      int  `json:"total"`
	Success    bool `json:"success"`
	RiskRoll   int  `json:"risk_roll"`
	Gain       int  `json:"gain"`
	Exhaustion int  `json:"exhaustion"`
}

// DecideRun decides a command on a run. It changes nothing; callers fold the events with [ApplyRun]. It fails with a
// *play.Refusal. Bad dice are found by the caller, with Dice.Close, after everything else.
func DecideRun(r Run, c RunCommand, dice *play.Dice) ([]RunEvent, error) {
	_, enters := c.(Enter)
	_, acts := c.(Contribute)
	switch {
	case enters && r.Begun():
		return nil, play.Refuse(RunBegun, "the run has begun")
	case acts && !r.Begun():
		return nil, play.Refuse(NoChallenge, "no challenge is pending: the run has not begun")
	case !enters && !r.Begun():
		return nil, play.Refuse(NotBegun, "the run has not begun")
	case !enters && r.Over():
		return nil, play.Refuse(RunOver, "the run is over: %s", r.Outcome)
	}
	return c.decide(r, dice)
}

// ApplyRun folds one event. It changes nothing that the old state refers to.
func ApplyRun(r Run, e RunEvent) Run {
	r = r.clone()
	e.applyTo(&r)
	return r
}

func (c Enter) decide(_ Run, dice *play.Dice) ([]RunEvent, error) {
	rs := c.Ruleset
	switch {
	case len(c.Members) < rs.Party.MinToEnter:
		return nil, play.Refuse(TooFewMembers, "at least %d enter", rs.Party.MinToEnter)
	case len(c.Members) > rs.Party.Max:
		return nil, play.Refuse(PartyFull, "a party has at most %d members", rs.Party.Max).On("party")
	}
	if faults := Check(rs, c.Dungeon); len(faults) > 0 {
		return nil, play.Refuse(Invalid, "the dungeon cannot be played: %s: %s", faults[0].Field, faults[0].Message).At("dungeon." + faults[0].Field)
	}
	enterer := cmp.Or(c.Member, c.Leader)
	for _, id := range []string{c.Leader, enterer} {
		if !slices.ContainsFunc(c.Members, func(e Entrant) bool { return e.ID == id }) {
			return nil, play.Refuse(NotAMember, "%s is not in the party", id)
		}
	}
	if rs.Flow.EnterRequiresLeader && enterer != c.Leader && !c.Override {
		return nil, play.Refuse(NotLeader, "%s leads this party", c.Leader)
	}
	var members []Member
	for i, e := range c.Members {
		m, err := e.member(rs, fmt.Sprintf("members[%d]", i))
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(members, func(o Member) bool { return o.ID == e.ID }) {
			return nil, play.Refuse(Invalid, "%s enters twice", e.ID).At(fmt.Sprintf("members[%d].id", i))
		}
		members = append(members, m)
	}
	entered := Entered{Ruleset: rs, Dungeon: c.Dungeon, Party: c.Party, Leader: c.Leader, Members: members}
	g := boardOf(ApplyRun(Run{}, entered), dice)
	g.events = append(g.events, entered)
	i := g.index(enterer)
	if err := g.fit(i); err != nil {
		return nil, err
	}
	g.draw(i)
	return g.events, nil
}

// member makes a fresh member with all uses (DIG-TOOL-06). What the tools do has to be known to
// the ruleset; whether they could be bought under it is not asked, since changed rules invalidate nothing owned.
func (e Entrant) member(rs *Ruleset, field string) (Member, error) {
	if e.Statblock == nil {
		return Member{}, play.Refuse(NoStatblock, "the form of %s has no statblock", e.ID).At(field + ".statblock")
	}
	if e.Exhaustion < 0 || e.Exhaustion > rs.Exhaustion.Cap {
		return Member{}, play.Refuse(Invalid, "exhaustion is 0 to %d", rs.Exhaustion.Cap).At(field + ".exhaustion")
	}
	m := Member{ID: e.ID, Form: e.Form, Abilities: *e.Statblock, Exhaustion: e.Exhaustion}
	for i, t := range e.Tools {
		at := fmt.Sprintf("%s.tools[%d]", field, i)
		if t.Number < 1 || slices.ContainsFunc(m.Tools, func(o RunTool) bool { return o.Number == t.Number || o.ID == t.ID }) {
			return m, play.Refuse(Invalid, "tools have numbers from 1 and ids of their own").At(at)
		}
		loaded, err := t.loaded(rs, at)
		if err != nil {
			return m, err
		}
		m.Tools = append(m.Tools, loaded)
	}
	return m, nil
}

// loaded is a tool as it comes into a run.
func (t NumberedTool) loaded(rs *Ruleset, at string) (RunTool, error) {
	if !slices.Contains(AbilityNames, t.Ability) {
		return RunTool{}, play.Refuse(Invalid, "%q is none of %v", t.Ability, AbilityNames).At(at + ".ability")
	}
	if _, ok := rs.Tools.Ratings[t.Rating]; !ok {
		return RunTool{}, play.Refuse(Invalid, "there is no rating %q", t.Rating).At(at + ".rating")
	}
	for i := range t.traits() {
		if _, ok := rs.Tools.Qualities[t.trait(i)]; !ok {
			return RunTool{}, play.Refuse(UnknownQuality, "there is no quality %q", t.trait(i)).At(at)
		}
	}
	return RunTool{Tool: t.Tool, Number: t.Number, UsesLeft: rs.Uses(t.Tool)}, nil
}

// traits returns how many qualities and drawbacks a tool has.
func (t *Tool) traits() int {
	if t.Drawback == "" {
		return len(t.Qualities)
	}
	return len(t.Qualities) + 1
}

// trait returns the qualities in listed order, then the drawback: the order of step A5.
func (t *Tool) trait(i int) string {
	if i == len(t.Qualities) {
		return t.Drawback
	}
	return t.Qualities[i]
}

func (c Draw) decide(r Run, dice *play.Dice) ([]RunEvent, error) {
	g := boardOf(r, dice)
	i := g.index(c.Member)
	if i < 0 && !g.pending {
		return nil, notAMember(c.Member)
	}
	return g.events, g.next(i, c.Override)
}

// tool returns a loaded tool by its number, which is not 0.
func (m *Member) tool(number int) (*RunTool, bool) {
	if number != 0 {
		for i := range m.Tools {
			if m.Tools[i].Number == number {
				return &m.Tools[i], true
			}
		}
	}
	return nil, false
}

func notAMember(id string) error { return play.Refuse(NotAMember, "%s is not in this run", id) }

func (c Contribute) decide(r Run, dice *play.Dice) ([]RunEvent, error) {
	g := boardOf(r, dice)
	i := g.index(c.Member)
	if i < 0 && g.pending {
		return nil, notAMember(c.Member)
	}
	if err := g.ready(i); err != nil {
		return nil, err
	}
	tool, err := c.tool(g, i)
	if err != nil {
		return nil, err
	}
	err = g.contribute(i, tool, c.Risk)
	return g.events, err
}

// tool returns the place of the tool that is named, -1 for a basic action.
func (c Contribute) tool(g *round, member int) (int, error) {
	// Names of abilities and actions win over a tool of the same name (DIG-ABIL-06).
	if c.Tool == 0 && (c.Use == g.card.Ability || AbilityOf(c.Use) != "") {
		if c.Use != g.card.Ability && AbilityOf(c.Use) != g.card.Ability {
			return -1, play.Refuse(WrongAbility, "the challenge is one of %s", g.card.Ability).On("action.basic")
		}
		return -1, nil
	}
	at := slices.IndexFunc(g.seats[member].tools, func(t held) bool {
		return c.Tool != 0 && t.number == c.Tool ||
			c.Tool == 0 && (strings.EqualFold(t.ID, c.Use) || t.Title != "" && strings.EqualFold(t.Title, c.Use))
	})
	if at < 0 {
		return -1, play.Refuse(NoSuchTool, "%s has no such tool in the belt", c.Member).On("action.tool")
	}
	return at, nil
}

func (c Complete) decide(r Run, dice *play.Dice) ([]RunEvent, error) {
	g := boardOf(r, dice)
	i := g.index(c.Member)
	if i < 0 && g.pending && !c.Override {
		return nil, notAMember(c.Member)
	}
	err := g.complete(i, c.Override)
	return g.events, err
}

func (c Depart) decide(r Run, _ *play.Dice) ([]RunEvent, error) {
	switch {
	case r.index(c.Member) < 0:
		return nil, notAMember(c.Member)
	case r.Leader == c.Member && len(r.Members) > 1:
		return nil, play.Refuse(LeaderWithMembers, "a leader passes leadership on before leaving")
	}
	return r.unlessDeserted(Departed(c)), nil
}

// unlessDeserted returns an event, and the end of the run when it leaves nobody active (DIG-PARTY-08).
func (r Run) unlessDeserted(e RunEvent) []RunEvent {
	if len(ApplyRun(r, e).Active()) > 0 {
		return []RunEvent{e}
	}
	return []RunEvent{e, RunEnded{Outcome: LostExhausted}}
}

func (c Promote) decide(r Run, _ *play.Dice) ([]RunEvent, error) {
	switch {
	case r.Leader != c.Member && !c.Override:
		return nil, play.Refuse(NotLeader, "%s leads this run", r.Leader)
	case r.index(c.Target) < 0:
		return nil, notAMember(c.Target)
	case r.Pending != nil && len(r.Pending.Acts) > 0:
		return nil, play.Refuse(ActsPending, "acts of this round are pending")
	}
	return []RunEvent{Promoted{Leader: c.Target}}, nil
}

func (c Abandon) decide(r Run, _ *play.Dice) ([]RunEvent, error) {
	if r.Leader != c.Member && !c.Override {
		return nil, play.Refuse(NotLeader, "%s leads this run", r.Leader)
	}
	return []RunEvent{RunEnded{Outcome: Abandoned}}, nil
}

func (e Entered) applyTo(r *Run) {
	members := slices.Clone(e.Members)
	for i := range members {
		members[i].Tools = slices.Clone(members[i].Tools)
	}
	*r = Run{Ruleset: e.Ruleset, Dungeon: e.Dungeon, Party: e.Party, Leader: e.Leader, Members: members, Outcome: Running}
}

func (e Drawn) applyTo(r *Run) {
	r.Round, r.Conditions = e.Round, slices.Clone(e.Conditions)
	r.Pending = &Pending{Card: e.Card, Kind: e.Kind, Drawer: e.Drawer}
	r.Played = append(r.Played, e.Card)
	if e.Reshuffled {
		r.Pile = nil
	}
	if e.Kind == Normal {
		r.Pile = append(r.Pile, e.Card)
	}
	if i := r.index(e.Drawer); i >= 0 {
		r.Members[i].Draws++
	}
}

func (e Acted) applyTo(r *Run) {
	r.Effects = slices.Clone(e.Effects)
	if e.Cleansed {
		r.Conditions = nil
	}
	if e.Act.Tool != 0 {
		if i := r.index(e.Act.Member); i >= 0 {
			if t, ok := r.Members[i].tool(e.Act.Tool); ok {
				t.UsesLeft = e.UsesLeft
			}
		}
	}
	if r.Pending != nil {
		r.Pending.Acts = append(r.Pending.Acts, e.Act)
	}
}

func (e Completed) applyTo(r *Run) {
	r.Exploration, r.Effects, r.Outcome = e.Exploration, slices.Clone(e.Effects), e.Outcome
	for _, res := range e.Results {
		if i := r.index(res.Member); i >= 0 {
			r.Members[i].Exhaustion = res.Exhaustion
		}
	}
	r.Previous = Failed
	if e.Passed {
		r.Previous = Passed
	}
	if r.Pending != nil && r.Pending.Kind == Climax {
		r.ClimaxPlayed = true
	}
	r.Pending = nil
}

func (e Departed) applyTo(r *Run) {
	r.Members = slices.DeleteFunc(r.Members, func(m Member) bool { return m.ID == e.Member })
	if r.Pending != nil {
		r.Pending.Acts = slices.DeleteFunc(r.Pending.Acts, func(a Act) bool { return a.Member == e.Member })
	}
}

func (e Promoted) applyTo(r *Run) { r.Leader = e.Leader }

func (e RunEnded) applyTo(r *Run) { r.Outcome, r.Pending = e.Outcome, nil }
