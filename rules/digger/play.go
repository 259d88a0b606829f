package digger

import (
	"cmp"
	"fmt"
	"maps"
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
type RunCommand interface{ decide(g *round) error }

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
	g := &round{Run: r.clone(), dice: dice}
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
	if err := c.decide(g); err != nil {
		return nil, err
	}
	return g.events, nil
}

// ApplyRun folds one event. It changes nothing that the old state refers to.
func ApplyRun(r Run, e RunEvent) Run {
	r = r.clone()
	e.applyTo(&r)
	return r
}

// round is a decision under way: a copy of the state that follows the events decided so far.
type round struct {
	Run
	dice   *play.Dice
	events []RunEvent
}

func (g *round) emit(e RunEvent) {
	e.applyTo(&g.Run)
	g.events = append(g.events, e)
}

func (c Enter) decide(g *round) error {
	rs := c.Ruleset
	switch {
	case len(c.Members) < rs.Party.MinToEnter:
		return play.Refuse(TooFewMembers, "at least %d enter", rs.Party.MinToEnter)
	case len(c.Members) > rs.Party.Max:
		return play.Refuse(PartyFull, "a party has at most %d members", rs.Party.Max).On("party")
	}
	if faults := Check(rs, c.Dungeon); len(faults) > 0 {
		return play.Refuse(Invalid, "the dungeon cannot be played: %s: %s", faults[0].Field, faults[0].Message).At("dungeon." + faults[0].Field)
	}
	enterer := cmp.Or(c.Member, c.Leader)
	for _, id := range []string{c.Leader, enterer} {
		if !slices.ContainsFunc(c.Members, func(e Entrant) bool { return e.ID == id }) {
			return play.Refuse(NotAMember, "%s is not in the party", id)
		}
	}
	if rs.Flow.EnterRequiresLeader && enterer != c.Leader && !c.Override {
		return play.Refuse(NotLeader, "%s leads this party", c.Leader)
	}
	var members []Member
	for i, e := range c.Members {
		m, err := e.member(rs, fmt.Sprintf("members[%d]", i))
		if err != nil {
			return err
		}
		if slices.ContainsFunc(members, func(o Member) bool { return o.ID == e.ID }) {
			return play.Refuse(Invalid, "%s enters twice", e.ID).At(fmt.Sprintf("members[%d].id", i))
		}
		members = append(members, m)
	}
	g.emit(Entered{Ruleset: rs, Dungeon: c.Dungeon, Party: c.Party, Leader: c.Leader, Members: members})
	if _, err := g.active(enterer); err != nil {
		return err
	}
	g.draw(enterer)
	return nil
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
		if !slices.Contains(AbilityNames, t.Ability) {
			return m, play.Refuse(Invalid, "%q is none of %v", t.Ability, AbilityNames).At(at + ".ability")
		}
		if _, ok := rs.Tools.Ratings[t.Rating]; !ok {
			return m, play.Refuse(Invalid, "there is no rating %q", t.Rating).At(at + ".rating")
		}
		for _, name := range t.traits() {
			if _, ok := rs.Tools.Qualities[name]; !ok {
				return m, play.Refuse(UnknownQuality, "there is no quality %q", name).At(at)
			}
		}
		m.Tools = append(m.Tools, RunTool{Tool: t.Tool, Number: t.Number, UsesLeft: rs.Uses(t.Tool)})
	}
	return m, nil
}

// traits returns the qualities in listed order, then the drawback: the order of step A5.
func (t Tool) traits() []string {
	if t.Drawback == "" {
		return t.Qualities
	}
	return append(slices.Clone(t.Qualities), t.Drawback)
}

func (c Draw) decide(g *round) error {
	if g.Pending != nil {
		return play.Refuse(ChallengePending, "a challenge is pending")
	}
	m, err := g.active(c.Member)
	if err != nil {
		return err
	}
	if g.Ruleset.Flow.DrawRequiresRotation && !c.Override {
		for _, o := range g.Active() {
			if o.Draws < m.Draws {
				return play.Refuse(NotYourDraw, "%s has drawn less often", o.ID)
			}
		}
	}
	g.draw(c.Member)
	return nil
}

// active returns a member who is not exhausted, or why there is none.
func (g *round) active(id string) (Member, error) {
	m, ok := g.Member(id)
	switch {
	case !ok:
		return m, play.Refuse(NotAMember, "%s is not in this run", id)
	case g.Exhausted(m):
		return m, play.Refuse(Exhausted, "%s is exhausted", id)
	}
	return m, nil
}

// draw is steps D2 to D7. A die decides between several cards; a single one needs none.
func (g *round) draw(drawer string) {
	kind := g.NextDraw()
	candidates, reshuffled := g.Candidates()
	card := g.Dungeon.card(candidates[0])
	if len(candidates) > 1 {
		card = g.Dungeon.card(candidates[g.dice.Roll("draw "+kind, len(candidates))-1])
	}
	var list []Instance
	for _, i := range g.Conditions { // D4
		c := g.Ruleset.Conditions[i.Name]
		i.Owed = nil
		if !c.Permanent {
			i.Phase++
		}
		if c.Permanent || i.Phase <= len(c.Phases) {
			list = append(list, i)
		}
	}
	cleared := false
	for _, name := range card.Conditions { // D5
		cleared = cleared || g.Ruleset.Conditions[name].ClearsEarlierConditions
	}
	if cleared {
		list = nil
	}
	for _, name := range card.Conditions { // D6
		if len(g.Ruleset.Conditions[name].Phases) > 0 {
			list = g.impose(list, name)
		}
	}
	g.emit(Drawn{
		Round: g.Round + 1, Card: card.ID, Kind: kind, Drawer: drawer, Conditions: list, Cleared: cleared, Reshuffled: reshuffled,
	})
}

// impose adds a condition to a list: a new instance, or under refresh a restart of the one that is there, which keeps
// what its old phase gives owed (DIG-COND-04).
func (g *round) impose(list []Instance, name string) []Instance {
	c := g.Ruleset.Conditions[name]
	if g.Ruleset.ConditionsStacking == "refresh" {
		if at := slices.IndexFunc(list, func(i Instance) bool { return i.Name == name }); at >= 0 {
			if i := &list[at]; !c.Permanent && i.Phase > 1 {
				i.Owed, i.Phase = phase(c.Phases, i.Phase), 1
			}
			return list
		}
	}
	return append(list, Instance{Name: name, Phase: 1})
}

func (c Contribute) decide(g *round) error {
	card, ok := g.Card()
	if !ok {
		return play.Refuse(NoChallenge, "no challenge is pending")
	}
	m, err := g.active(c.Member)
	if err != nil {
		return err
	}
	if g.act(c.Member) != nil {
		return play.Refuse(AlreadyActed, "%s has acted in this round", c.Member)
	}
	if c.Tool == 0 {
		// Names of abilities and actions win over a tool of the same name (DIG-ABIL-06).
		if ability := AbilityOf(c.Use); ability != "" {
			if ability != card.Ability {
				return play.Refuse(WrongAbility, "the challenge is one of %s", card.Ability).On("action.basic")
			}
			g.emit(Acted{Act: Act{Member: c.Member, Risk: c.Risk}, Effects: g.Effects})
			return nil
		}
	}
	at := slices.IndexFunc(m.Tools, func(t RunTool) bool {
		return c.Tool != 0 && t.Number == c.Tool ||
			c.Tool == 0 && (strings.EqualFold(t.ID, c.Use) || t.Title != "" && strings.EqualFold(t.Title, c.Use))
	})
	if at < 0 {
		return play.Refuse(NoSuchTool, "%s has no such tool in the belt", c.Member).On("action.tool")
	}
	t := m.Tools[at]
	switch {
	case t.Ability != card.Ability:
		return play.Refuse(WrongAbility, "%s is a tool of %s, the challenge is one of %s", t.ID, t.Ability, card.Ability).On("action.tool")
	case t.UsesLeft < 1:
		return play.Refuse(NoUsesLeft, "%s has no uses left", t.ID).On("action.tool")
	}
	e := Acted{Act: Act{Member: c.Member, Tool: t.Number, Risk: c.Risk}, UsesLeft: t.UsesLeft - 1, Effects: g.Effects}
	for _, name := range t.traits() { // A5
		q := g.Ruleset.Tools.Qualities[name]
		e.Cleansed = e.Cleansed || q.ClearsConditions
		if len(q.Phases) > 0 {
			e.Effects = g.begin(e.Effects, name, c.Member, card.Ability)
		}
	}
	g.emit(e)
	return nil
}

// begin puts an effect onto the list: new at the end, or a restart in its place, which keeps what its old phase gives
// owed this round (DIG-QUAL-02).
func (g *round) begin(list []Effect, name, user, ability string) []Effect {
	list = slices.Clone(list)
	at := slices.IndexFunc(list, func(e Effect) bool { return e.Name == name })
	if at < 0 {
		return append(list, Effect{Name: name, Phase: 1, Users: []string{user}, Ability: ability})
	}
	e := &list[at]
	if e.Phase > 1 && g.Ruleset.Effects.DuplicateRule == "restart_keep_due" {
		e.Owed = maps.Clone(phase(g.Ruleset.Tools.Qualities[name].Phases, e.Phase))
		if g.Ruleset.Effects.ShortsightedAbility == "used_challenge" && e.Ability != ability {
			delete(e.Owed, "relevant") // it was for another ability
		}
	}
	e.Phase, e.Ability = 1, ability
	switch {
	case g.Ruleset.Effects.DuplicateUsers == "last":
		e.Users = []string{user}
	case !slices.Contains(e.Users, user):
		e.Users = append(slices.Clone(e.Users), user)
	}
	return list
}

func (c Complete) decide(g *round) error {
	if g.Pending == nil {
		return play.Refuse(NoChallenge, "no challenge is pending")
	}
	if g.index(c.Member) < 0 && !c.Override {
		return play.Refuse(NotAMember, "%s is not in this run", c.Member)
	}
	if g.Ruleset.Flow.CompleteRequiresDrawer && c.Member != g.Completer() && !c.Override {
		return play.Refuse(NotDrawer, "%s completes this round", g.Completer())
	}
	if waiting := g.Waiting(); len(waiting) > 0 {
		return play.Refuse(NotAllActed, "%s has not acted", strings.Join(waiting, ", "))
	}
	g.complete()
	return nil
}

// complete is steps C2 to C12.
func (g *round) complete() {
	rs := g.Ruleset
	card, _ := g.Card()
	e := Completed{Round: g.Round, Card: card.ID, TN: g.TN(), Modifier: g.Modifier(), Outcome: Running}
	results := map[string]*Result{}
	e.Results = make([]Result, len(g.Members))
	for i, m := range g.Members {
		e.Results[i] = Result{Member: m.ID, Exhaustion: m.Exhaustion}
		results[m.ID] = &e.Results[i]
	}
	for _, a := range g.Pending.Acts { // C3, C4
		m, _ := g.Member(a.Member)
		res := results[a.Member]
		res.Acted = true
		res.Roll = g.dice.Roll("act "+a.Member, rs.Challenge.Die)
		res.Effective = m.Abilities.Of(card.Ability) + e.Modifier
		if floor := rs.DP.AbilityFloor; floor != nil {
			res.Effective = max(*floor, res.Effective)
		}
		if t, ok := m.tool(a.Tool); ok {
			res.ToolBonus = rs.Bonus(t.Tool)
		}
		if a.Risk {
			res.RiskBonus = rs.Risk.Bonus
		}
		res.Total = res.Roll + res.Effective + res.ToolBonus + res.RiskBonus
		res.Success = res.Total >= e.TN
		e.Score += res.Total // C5
		e.Target += e.TN
	}
	e.Passed = e.Score >= e.Target
	for _, a := range g.Pending.Acts { // C6
		if res := results[a.Member]; a.Risk && !res.Success {
			res.RiskRoll = g.dice.Roll("risk "+a.Member, rs.Risk.ChanceDie)
		}
	}
	g.explore(&e, card)
	for _, a := range g.Pending.Acts { // C8, C9
		res := results[a.Member]
		res.Gain = g.gain(e, card, a, res, results)
		res.Exhaustion = min(rs.Exhaustion.Cap, res.Exhaustion+res.Gain)
	}
	g.end(&e)                     // C10
	for _, x := range g.Effects { // C11
		x.Phase++
		x.Owed = nil
		if x.Phase <= len(rs.Tools.Qualities[x.Name].Phases) {
			e.Effects = append(e.Effects, x)
		}
	}
	g.emit(e)
}

// explore is step C7.
func (g *round) explore(e *Completed, card Card) {
	rs := g.Ruleset
	if !e.Passed {
		e.ExplorationGain = at(rs.Exploration.Failure, card.Level)
	} else {
		e.ExplorationGain = at(rs.Exploration.Success, card.Level)
		for _, i := range g.Conditions {
			e.ExplorationGain += rs.conditionValue(i, "exploration_on_success")
		}
		for _, x := range g.Effects {
			e.ExplorationGain += g.effectValue(x, "exploration_on_success")
		}
	}
	e.ExplorationGain = max(0, e.ExplorationGain)
	e.Exploration = min(rs.Exploration.Goal, g.Exploration+e.ExplorationGain)
}

// gain is step C8 for one member: one sum, then raised to the largest minimum.
func (g *round) gain(e Completed, card Card, a Act, res *Result, results map[string]*Result) int {
	rs := g.Ruleset
	sum := at(rs.Exhaustion.PartyFailure, card.Level)
	if e.Passed {
		sum = at(rs.Exhaustion.PartySuccess, card.Level)
	}
	if !res.Success {
		sum += at(rs.Exhaustion.IndividualFailure, card.Level)
	}
	least := rs.Exhaustion.GainFloor
	for _, i := range g.Conditions {
		sum += rs.conditionValue(i, "exhaustion")
		if !res.Success {
			sum += rs.conditionValue(i, "exhaustion_on_failure")
		}
		least = max(least, rs.conditionValue(i, "gain_minimum"))
	}
	for _, x := range g.Effects {
		sum += g.effectValue(x, "exhaustion")
		if !res.Success {
			sum += g.effectValue(x, "exhaustion_on_failure")
		}
		least = max(least, g.effectValue(x, "gain_minimum"))
		share := "party_exhaustion"
		if slices.Contains(x.Users, a.Member) && g.gives(x, "user_exhaustion_instead") {
			share = "user_exhaustion_instead"
		}
		sum += g.effectValue(x, share)
		if slices.ContainsFunc(x.Users, func(user string) bool { u := results[user]; return u != nil && u.Acted && !u.Success }) {
			sum += g.effectValue(x, "party_exhaustion_if_user_fails")
		}
	}
	if a.Risk && !res.Success {
		hit := res.RiskRoll <= rs.Risk.ChanceAtMost
		if hit {
			sum += rs.Risk.ExtraExhaustion
		}
		m, _ := g.Member(a.Member)
		if t, ok := m.tool(a.Tool); ok && (hit || !rs.Risk.ToolExtraNeedsChance) {
			sum += rs.Risk.ToolExtraExhaustion[t.Rating]
		}
	}
	return max(least, sum)
}

// end is step C10.
func (g *round) end(e *Completed) {
	standing := slices.ContainsFunc(e.Results, func(r Result) bool { return r.Exhaustion < g.Ruleset.Exhaustion.OutAt })
	switch {
	case g.Pending.Kind == Final && !e.Passed:
		e.Outcome = LostRetreat
	case g.Pending.Kind == Final && standing:
		e.Outcome, e.Exploration = Won, g.Ruleset.Exploration.Goal
	case !standing:
		e.Outcome = LostExhausted
	case g.Pending.Kind == Climax && !e.Passed && g.Ruleset.Flow.ClimaxFailureRetreats:
		e.Outcome = LostRetreat
	}
}

func (m Member) tool(number int) (RunTool, bool) {
	i := slices.IndexFunc(m.Tools, func(t RunTool) bool { return number != 0 && t.Number == number })
	if i < 0 {
		return RunTool{}, false
	}
	return m.Tools[i], true
}

func (c Depart) decide(g *round) error {
	switch {
	case g.index(c.Member) < 0:
		return play.Refuse(NotAMember, "%s is not in this run", c.Member)
	case g.Leader == c.Member && len(g.Members) > 1:
		return play.Refuse(LeaderWithMembers, "a leader passes leadership on before leaving")
	}
	g.emit(Departed(c))
	if len(g.Active()) == 0 { // DIG-PARTY-08
		g.emit(RunEnded{Outcome: LostExhausted})
	}
	return nil
}

func (c Promote) decide(g *round) error {
	switch {
	case g.Leader != c.Member && !c.Override:
		return play.Refuse(NotLeader, "%s leads this run", g.Leader)
	case g.index(c.Target) < 0:
		return play.Refuse(NotAMember, "%s is not in this run", c.Target)
	case g.Pending != nil && len(g.Pending.Acts) > 0:
		return play.Refuse(ActsPending, "acts of this round are pending")
	}
	g.emit(Promoted{Leader: c.Target})
	return nil
}

func (c Abandon) decide(g *round) error {
	if g.Leader != c.Member && !c.Override {
		return play.Refuse(NotLeader, "%s leads this run", g.Leader)
	}
	g.emit(RunEnded{Outcome: Abandoned})
	return nil
}

func (e Entered) applyTo(r *Run) {
	*r = Run{Ruleset: e.Ruleset, Dungeon: e.Dungeon, Party: e.Party, Leader: e.Leader, Members: e.Members, Outcome: Running}
	*r = r.clone()
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
	if i := r.index(e.Act.Member); i >= 0 && e.Act.Tool != 0 {
		for j := range r.Members[i].Tools {
			if t := &r.Members[i].Tools[j]; t.Number == e.Act.Tool {
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
