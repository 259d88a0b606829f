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
type RunEvent interface{ applyTo(r *fold) }

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
	g := &round{fold: fold{Run: r.clone()}, dice: dice}
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
	f := fold{Run: r.clone()}
	e.applyTo(&f)
	return f.Run
}

// fold is a state into which events are folded. One that recycles never shares its lists with an event, and folds into the
// room that they have already.
type fold struct {
	Run
	recycles bool
	// room is a challenge that is done with.
	room *Pending
}

// refill returns a copy of a list, in the room of an old one when the fold recycles.
func refill[S ~[]E, E any](f *fold, old, list S) S {
	switch {
	case !f.recycles:
		return slices.Clone(list)
	case len(list) > 0 && len(old) == len(list) && &old[0] == &list[0]:
		return old // it is the list itself
	}
	return append(old[:0], list...)
}

// round is a decision under way: a copy of the state that follows the events decided so far. One decision makes each list
// of an event once; where one round after the other is played in the same room, as simulations do, nobody keeps the events,
// and what a round has made is room for the next.
type round struct {
	fold
	dice   *play.Dice
	events []RunEvent

	// What look brings up to date, unless it has seen the state as it is.
	seen                bool
	tables              *tables
	at                  int
	card                *known
	conditions, effects []force
	before, ended       []force
	owed                []gifts

	// Room.
	undrawn   []int
	instances []Instance
	results   []Result
	used      []Effect
	left      []Effect
	names     []string
}

// emit folds a fact into the round and keeps it for whoever asked for the decision.
func emit[E RunEvent](g *round, e E) {
	e.applyTo(&g.fold)
	g.seen = false
	if !g.recycles {
		g.events = append(g.events, e)
	}
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
	emit(g, Entered{Ruleset: rs, Dungeon: c.Dungeon, Party: c.Party, Leader: c.Leader, Members: members})
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

func (c Draw) decide(g *round) error {
	if g.Pending != nil {
		return play.Refuse(ChallengePending, "a challenge is pending")
	}
	m, err := g.active(c.Member)
	if err != nil {
		return err
	}
	if g.Ruleset.Flow.DrawRequiresRotation && !c.Override {
		for i := range g.Members {
			if o := &g.Members[i]; !g.out(o) && o.Draws < m.Draws {
				return play.Refuse(NotYourDraw, "%s has drawn less often", o.ID)
			}
		}
	}
	g.draw(c.Member)
	return nil
}

// active returns a member who is not exhausted, or why there is none.
func (g *round) active(id string) (*Member, error) {
	i := g.index(id)
	switch {
	case i < 0:
		return nil, play.Refuse(NotAMember, "%s is not in this run", id)
	case g.out(&g.Members[i]):
		return nil, play.Refuse(Exhausted, "%s is exhausted", id)
	}
	return &g.Members[i], nil
}

// draw is steps D2 to D7. A die decides between several cards; a single one needs none.
func (g *round) draw(drawer string) {
	t := g.look()
	kind, candidates, reshuffled := g.ahead()
	g.at = candidates[0]
	if len(candidates) > 1 {
		g.at = candidates[g.dice.RollFor("draw ", kind, len(candidates))-1]
	}
	card := &t.cards[g.at]
	rules := t.conditionsOf(card)
	cleared := slices.ContainsFunc(rules, func(r *rule) bool { return r.clears }) // D5
	list := g.instances[:0]
	for i, c := range g.conditions { // D4
		now := &g.Conditions[i]
		if !cleared && (c.permanent || now.Phase < len(c.phases)) {
			list = append(list, Instance{Name: now.Name, Phase: now.Phase + 1})
			if c.permanent {
				list[len(list)-1].Phase = now.Phase
			}
		}
	}
	for i, name := range card.Conditions { // D6
		if len(rules[i].phases) > 0 {
			list = g.impose(list, name)
		}
	}
	g.instances = list
	emit(g, Drawn{
		Round: g.Round + 1, Card: card.ID, Kind: kind, Drawer: drawer, Conditions: list, Cleared: cleared, Reshuffled: reshuffled,
	})
}

// impose adds a condition to a list: a new instance, or under refresh a restart of the one that is there, which keeps
// what its old phase gives owed (DIG-COND-04).
func (g *round) impose(list []Instance, name string) []Instance {
	if g.Ruleset.ConditionsStacking == "refresh" {
		c := g.Ruleset.Conditions[name]
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
	if g.Pending == nil {
		return play.Refuse(NoChallenge, "no challenge is pending")
	}
	g.look()
	m, err := g.active(c.Member)
	if err != nil {
		return err
	}
	if g.act(c.Member) != nil {
		return play.Refuse(AlreadyActed, "%s has acted in this round", c.Member)
	}
	if c.Tool == 0 {
		// Names of abilities and actions win over a tool of the same name (DIG-ABIL-06).
		ability := g.card.Ability
		if c.Use != ability {
			ability = AbilityOf(c.Use)
		}
		if ability != "" {
			if ability != g.card.Ability {
				return play.Refuse(WrongAbility, "the challenge is one of %s", g.card.Ability).On("action.basic")
			}
			return g.contribute(Acted{Act: Act{Member: c.Member, Risk: c.Risk}, Effects: g.Effects})
		}
	}
	at := slices.IndexFunc(m.Tools, func(t RunTool) bool {
		return c.Tool != 0 && t.Number == c.Tool ||
			c.Tool == 0 && (strings.EqualFold(t.ID, c.Use) || t.Title != "" && strings.EqualFold(t.Title, c.Use))
	})
	if at < 0 {
		return play.Refuse(NoSuchTool, "%s has no such tool in the belt", c.Member).On("action.tool")
	}
	t := &m.Tools[at]
	switch {
	case t.Ability != g.card.Ability:
		return play.Refuse(WrongAbility, "%s is a tool of %s, the challenge is one of %s", t.ID, t.Ability, g.card.Ability).On("action.tool")
	case t.UsesLeft < 1:
		return play.Refuse(NoUsesLeft, "%s has no uses left", t.ID).On("action.tool")
	}
	e := Acted{Act: Act{Member: c.Member, Tool: t.Number, Risk: c.Risk}, UsesLeft: t.UsesLeft - 1, Effects: g.Effects}
	for i := range t.traits() { // A5
		name := t.trait(i)
		q := g.tables.quality(name)
		e.Cleansed = e.Cleansed || q.clears
		if len(q.phases) > 0 {
			e.Effects = g.begin(e.Effects, name, c.Member)
		}
	}
	return g.contribute(e)
}

func (g *round) contribute(e Acted) error {
	emit(g, e)
	// A basic action leaves everything else as it was.
	g.seen = e.Act.Tool == 0
	return nil
}

// begin puts an effect onto a list: new at the end, or a restart in its place (DIG-QUAL-02).
func (g *round) begin(list []Effect, name, user string) []Effect {
	list = append(g.used[:0], list...)
	at := slices.IndexFunc(list, func(e Effect) bool { return e.Name == name })
	if at < 0 {
		at = len(list)
		list = append(list, Effect{Name: name, Phase: 1, Ability: g.card.Ability})
	} else {
		list[at] = g.restarted(list[at], g.tables.quality(name))
	}
	g.used = list
	e := &list[at]
	switch from := len(g.names); {
	case len(e.Users) == 0 || g.Ruleset.Effects.DuplicateUsers == "last":
		g.names = append(g.names, user)
		e.Users = g.names[from:len(g.names):len(g.names)]
	case !slices.Contains(e.Users, user):
		g.names = append(append(g.names, e.Users...), user)
		e.Users = g.names[from:len(g.names):len(g.names)]
	}
	return list
}

// restarted returns an effect that is used again on the pending challenge: it keeps what its old phase gives owed this round.
func (g *round) restarted(e Effect, r *rule) Effect {
	if e.Phase > 1 && g.Ruleset.Effects.DuplicateRule == "restart_keep_due" {
		e.Owed = phase(r.told, e.Phase)
		if _, relevant := e.Owed["relevant"]; relevant && g.Ruleset.Effects.ShortsightedAbility == "used_challenge" && e.Ability != g.card.Ability {
			e.Owed = maps.Clone(e.Owed)
			delete(e.Owed, "relevant") // it was for another ability
		}
	}
	e.Phase, e.Ability = 1, g.card.Ability
	return e
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
	g.look()
	e := Completed{Round: g.Round, Card: g.card.ID, TN: g.tn(), Modifier: g.modifier(), Outcome: Running}
	e.Results = g.results[:0]
	for i := range g.Members {
		m := &g.Members[i]
		e.Results = append(e.Results, Result{Member: m.ID, Exhaustion: m.Exhaustion})
	}
	g.results = e.Results
	for i := range g.Pending.Acts { // C3, C4
		a := &g.Pending.Acts[i]
		at := g.near(i, a.Member)
		m, res := &g.Members[at], &e.Results[at]
		res.Acted = true
		res.Roll = g.dice.RollFor("act ", a.Member, rs.Challenge.Die)
		res.Effective = m.Abilities.Of(g.card.Ability) + e.Modifier
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
	for i := range g.Pending.Acts { // C6
		if a := &g.Pending.Acts[i]; a.Risk {
			if res := &e.Results[g.near(i, a.Member)]; !res.Success {
				res.RiskRoll = g.dice.RollFor("risk ", a.Member, rs.Risk.ChanceDie)
			}
		}
	}
	g.explore(&e)
	all := g.toll(&e)
	for i := range g.Pending.Acts { // C8, C9
		a := &g.Pending.Acts[i]
		at := g.near(i, a.Member)
		res := &e.Results[at]
		res.Gain = g.gain(all, a, &g.Members[at], res)
		res.Exhaustion = min(rs.Exhaustion.Cap, res.Exhaustion+res.Gain)
	}
	g.end(&e) // C10
	left := g.left[:0]
	for i, x := range g.effects { // C11
		if now := g.Effects[i]; now.Phase < len(x.phases) {
			now.Phase++
			now.Owed = nil
			left = append(left, now)
		}
	}
	g.left, e.Effects = left, left
	emit(g, e)
}

// explore is step C7.
func (g *round) explore(e *Completed) {
	rs := g.Ruleset
	e.ExplorationGain = g.card.failure
	if e.Passed {
		e.ExplorationGain = g.card.success
		for _, c := range g.conditions {
			e.ExplorationGain += c.value[explorationOnSuccess]
		}
		for _, x := range g.effects {
			e.ExplorationGain += x.value[explorationOnSuccess]
		}
	}
	e.ExplorationGain = max(0, e.ExplorationGain)
	e.Exploration = min(rs.Exploration.Goal, g.Exploration+e.ExplorationGain)
}

// toll is what step C8 adds for everybody: whatever they do, and for those who fail themselves; least is the largest minimum.
type toll struct{ always, onFailure, least int }

func (g *round) toll(e *Completed) toll {
	t := toll{always: g.card.partyFailure, onFailure: g.card.individualFailure, least: g.Ruleset.Exhaustion.GainFloor}
	if e.Passed {
		t.always = g.card.partySuccess
	}
	for _, c := range g.conditions {
		t.add(c.gifts)
	}
	for i, x := range g.effects {
		t.add(x.gifts)
		if v := x.value[partyExhaustionIfUserFails]; v != 0 && slices.ContainsFunc(g.Effects[i].Users, func(user string) bool {
			at := g.index(user)
			return at >= 0 && e.Results[at].Acted && !e.Results[at].Success
		}) {
			t.always += v
		}
	}
	return t
}

func (t *toll) add(x *gifts) {
	t.always += x.value[exhaustion]
	t.onFailure += x.value[exhaustionOnFailure]
	t.least = max(t.least, x.value[gainMinimum])
}

// gain is step C8 for one member: one sum, then raised to the largest minimum.
func (g *round) gain(all toll, a *Act, m *Member, res *Result) int {
	rs := g.Ruleset
	sum := all.always
	if !res.Success {
		sum += all.onFailure
	}
	for i, x := range g.effects {
		share := partyExhaustion
		if x.given[userExhaustionInstead] && slices.Contains(g.Effects[i].Users, a.Member) {
			share = userExhaustionInstead
		}
		sum += x.value[share]
	}
	if a.Risk && !res.Success {
		hit := res.RiskRoll <= rs.Risk.ChanceAtMost
		if hit {
			sum += rs.Risk.ExtraExhaustion
		}
		if t, ok := m.tool(a.Tool); ok && (hit || !rs.Risk.ToolExtraNeedsChance) {
			sum += rs.Risk.ToolExtraExhaustion[t.Rating]
		}
	}
	return max(all.least, sum)
}

// end is step C10.
func (g *round) end(e *Completed) {
	standing := false
	for i := range e.Results {
		standing = standing || e.Results[i].Exhaustion < g.Ruleset.Exhaustion.OutAt
	}
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

func (c Depart) decide(g *round) error {
	switch {
	case g.index(c.Member) < 0:
		return play.Refuse(NotAMember, "%s is not in this run", c.Member)
	case g.Leader == c.Member && len(g.Members) > 1:
		return play.Refuse(LeaderWithMembers, "a leader passes leadership on before leaving")
	}
	emit(g, Departed(c))
	if len(g.Active()) == 0 { // DIG-PARTY-08
		emit(g, RunEnded{Outcome: LostExhausted})
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
	emit(g, Promoted{Leader: c.Target})
	return nil
}

func (c Abandon) decide(g *round) error {
	if g.Leader != c.Member && !c.Override {
		return play.Refuse(NotLeader, "%s leads this run", g.Leader)
	}
	emit(g, RunEnded{Outcome: Abandoned})
	return nil
}

func (e Entered) applyTo(r *fold) {
	members := r.Members[:0]
	for i, m := range e.Members {
		var room []RunTool
		if i < cap(members) {
			room = members[:i+1][i].Tools
		}
		m.Tools = refill(r, room, m.Tools)
		members = append(members, m)
	}
	r.Run = Run{
		Ruleset: e.Ruleset, Dungeon: e.Dungeon, Party: e.Party, Leader: e.Leader, Members: members, Outcome: Running,
		Conditions: r.Conditions[:0], Effects: r.Effects[:0], Played: r.Played[:0], Pile: r.Pile[:0],
	}
}

func (e Drawn) applyTo(r *fold) {
	r.Round, r.Conditions = e.Round, refill(r, r.Conditions, e.Conditions)
	var acts []Act
	if r.room == nil {
		r.room = &Pending{}
	} else {
		acts = r.room.Acts[:0]
	}
	r.Pending, r.room = r.room, nil
	*r.Pending = Pending{Card: e.Card, Kind: e.Kind, Drawer: e.Drawer, Acts: acts}
	r.Played = append(r.Played, e.Card)
	if e.Reshuffled {
		r.Pile = refill(r, r.Pile, nil)
	}
	if e.Kind == Normal {
		r.Pile = append(r.Pile, e.Card)
	}
	if i := r.index(e.Drawer); i >= 0 {
		r.Members[i].Draws++
	}
}

func (e Acted) applyTo(r *fold) {
	r.Effects = refill(r, r.Effects, e.Effects)
	if e.Cleansed {
		r.Conditions = refill(r, r.Conditions, nil)
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

func (e Completed) applyTo(r *fold) {
	r.Exploration, r.Effects, r.Outcome = e.Exploration, refill(r, r.Effects, e.Effects), e.Outcome
	for at := range e.Results {
		res := &e.Results[at]
		if i := r.near(at, res.Member); i >= 0 {
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
	if r.recycles {
		r.room = r.Pending
	}
	r.Pending = nil
}

func (e Departed) applyTo(r *fold) {
	r.Members = slices.DeleteFunc(r.Members, func(m Member) bool { return m.ID == e.Member })
	if r.Pending != nil {
		r.Pending.Acts = slices.DeleteFunc(r.Pending.Acts, func(a Act) bool { return a.Member == e.Member })
	}
}

func (e Promoted) applyTo(r *fold) { r.Leader = e.Leader }

func (e RunEnded) applyTo(r *fold) { r.Outcome, r.Pending = e.Outcome, nil }
