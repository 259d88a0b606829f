package digger

import (
	"maps"
	"slices"
	"strings"

	"github.com/wayfarer-rpg/wayfarer/rules/play"
)

// round is a run as a decision sees it: with every name of [Run] looked up once, and members, tools and cards known by their
// places. A decision carries its own consequences out here and tells them as events, which [ApplyRun] folds into a Run. Where
// one decision follows the other in the same room, as in simulations, nobody asks for the events.
type round struct {
	*tables
	dice *play.Dice
	// tells says that events are asked for.
	tells  bool
	events []RunEvent

	leader              string
	seats               []seat
	number, exploration int
	conditions          []force
	effects             []effect
	// sway is what all conditions together do to the pending challenge.
	sway sway
	// at is the place of the last card drawn, card is it; both are of the pending challenge.
	pending bool
	at      int
	card    *known
	kind    kind
	// drawer is a seat, -1 when they have left.
	drawer int
	acts   []act
	// undrawn are the normal cards not drawn since the last shuffle, in deck order.
	undrawn      []int
	climaxPlayed bool
	previous     verdict
	outcome      string
	// gone are users of effects who have left; their places follow the seats.
	gone []string

	// users is room for those of effects.
	users []int
}

// seat is a member.
type seat struct {
	id         string
	abilities  ratings
	exhaustion int
	draws      int
	// out tells whether they are exhausted (DIG-RES-14), acted whether they have acted on the pending challenge.
	out, acted bool
	tools      []held
}

// held is a loaded tool.
type held struct {
	*gear
	usesLeft int
}

// act is what a member contributes; tool is the place of theirs, -1 for a basic action, and bonus what it adds.
type act struct {
	member, tool, bonus int
	risk                bool
	// What came of it, as in [Result]; apart is what effects give their user otherwise than the party.
	roll, effective, riskBonus, total int
	success                           bool
	apart, riskRoll, gain             int
}

// act adds what a member contributes with the tool at a place, -1 for none.
func (g *round) act(member, tool int, risk bool) {
	s := &g.seats[member]
	s.acted = true
	g.acts = append(g.acts, act{})
	a := &g.acts[len(g.acts)-1] // filled in where it is: a copy would cost as much again
	a.member, a.tool, a.risk = member, tool, risk
	if tool >= 0 {
		a.bonus = s.tools[tool].bonus
	}
}

// force is a condition or an effect in force, with what it gives now.
type force struct {
	*rule
	*gifts
	phase int
	owed  Phase
}

// effect is one of a tool, with the ability of the challenge on which it was used last, and its users' places.
type effect struct {
	force
	ability field
	users   []int
}

// sway is what conditions and effects do to a challenge: to scores, to everybody's exhaustion and to that of those who fail,
// and to the exploration when it is passed; least is the largest minimum of what a member gains. Personal tells that it
// matters who the users of effects are.
type sway struct {
	score, exhaustion, onFailure, least, exploration int
	personal                                         bool
}

// add adds what conditions and effects give alike.
func (w *sway) add(x *gifts, ability field) {
	w.score += x.value[ability] + x.value[toAll]
	w.exhaustion += x.value[exhaustion]
	w.onFailure += x.value[exhaustionOnFailure]
	w.exploration += x.value[explorationOnSuccess]
	w.least = max(w.least, x.value[gainMinimum])
}

// weigh adds up what the conditions do.
func (g *round) weigh() {
	g.sway = sway{}
	for i := range g.conditions {
		g.sway.add(g.conditions[i].gifts, g.card.ability)
	}
}

// whole sets all to what conditions and effects do together.
func (g *round) whole(all *sway) {
	*all = g.sway
	for i := range g.effects {
		x := &g.effects[i]
		all.add(x.gifts, g.card.ability)
		all.score += g.relevant(x.gifts, x.ability)
		all.exhaustion += x.value[partyExhaustion]
		all.personal = all.personal || x.personal
	}
}

// open makes the board that of a run with nothing drawn yet.
func (g *round) open() {
	g.number, g.exploration, g.conditions, g.effects = 0, 0, g.conditions[:0], g.effects[:0]
	g.pending, g.at, g.card, g.kind, g.drawer, g.acts = false, -1, &stray, noKind, -1, g.acts[:0]
	g.undrawn = append(g.undrawn[:0], g.decks[normalCard]...)
	g.climaxPlayed, g.previous, g.outcome, g.users = false, none, Running, g.users[:0]
}

// boardOf returns a run as decisions see it. It changes nothing that the run refers to.
func boardOf(r Run, dice *play.Dice) *round {
	g := &round{tables: newTables(r.Ruleset, r.Dungeon), dice: dice, tells: true, leader: r.Leader}
	g.open()
	for i := range r.Members {
		g.seats = append(g.seats, g.seat(&r.Members[i]))
	}
	g.number, g.exploration = r.Round, r.Exploration
	g.climaxPlayed, g.previous, g.outcome = r.ClimaxPlayed, verdictOf(r.Previous), r.Outcome
	for _, c := range r.Conditions {
		x := g.condition(c.Name)
		g.conditions = append(g.conditions, force{rule: x, gifts: x.with(c.Phase, c.Owed), phase: c.Phase, owed: c.Owed})
	}
	for _, e := range r.Effects {
		x := g.quality(e.Name)
		f := force{rule: x, gifts: g.due(x, x.with(e.Phase, e.Owed)), phase: e.Phase, owed: e.Owed}
		g.effects = append(g.effects, effect{f, fieldOf(e.Ability), g.places(e.Users)})
	}
	g.undrawn = slices.DeleteFunc(g.undrawn, func(i int) bool { return slices.Contains(r.Pile, g.cards[i].ID) })
	if p := r.Pending; p != nil {
		g.pending, g.kind, g.drawer = true, kindOf(p.Kind), g.index(p.Drawer)
		if at := slices.IndexFunc(g.cards, func(c known) bool { return c.ID == p.Card }); at >= 0 {
			g.at, g.card = at, &g.cards[at]
		}
		for _, a := range p.Acts {
			if i := g.index(a.Member); i >= 0 {
				tool := slices.IndexFunc(g.seats[i].tools, func(t held) bool { return a.Tool != 0 && t.number == a.Tool })
				g.act(i, tool, a.Risk)
			}
		}
	}
	g.weigh()
	return g
}

// instances are the conditions in force as events tell them.
func (g *round) instances() []Instance {
	var list []Instance
	for _, c := range g.conditions {
		list = append(list, Instance{Name: c.name, Phase: c.phase, Owed: c.owed})
	}
	return list
}

// inForce are the effects in force as events tell them.
func (g *round) inForce() []Effect {
	var list []Effect
	for _, e := range g.effects {
		users := make([]string, len(e.users))
		for i, place := range e.users {
			users[i] = g.userOf(place)
		}
		list = append(list, Effect{Name: e.name, Phase: e.phase, Users: users, Ability: fieldNames[e.ability], Owed: e.owed})
	}
	return list
}

// index returns the seat of a member, -1 for nobody's.
func (g *round) index(id string) int {
	for i := range g.seats {
		if g.seats[i].id == id {
			return i
		}
	}
	return -1
}

// nameOf returns who sits there; of nobody's seat it is the leader, who stands in for those who left.
func (g *round) nameOf(seat int) string {
	if seat < 0 {
		return g.leader
	}
	return g.seats[seat].id
}

// places are those of users of an effect: their seats, and beyond them the places of those who left.
func (g *round) places(users []string) []int {
	places := make([]int, len(users))
	for i, id := range users {
		if places[i] = g.index(id); places[i] < 0 {
			places[i] = len(g.seats) + len(g.gone)
			g.gone = append(g.gone, id)
		}
	}
	return places
}

func (g *round) userOf(place int) string {
	if place >= len(g.seats) {
		return g.gone[place-len(g.seats)]
	}
	return g.seats[place].id
}

func (g *round) over() bool { return g.outcome != Running }

// fit refuses what an exhausted member wants to do.
func (g *round) fit(member int) error {
	if s := &g.seats[member]; s.out {
		return play.Refuse(Exhausted, "%s is exhausted", s.id)
	}
	return nil
}

// completer is the seat of the one who ends the pending round (DIG-ACT-04).
func (g *round) completer() int {
	if g.drawer < 0 {
		return g.index(g.leader)
	}
	return g.drawer
}

func (g *round) modifier() int {
	var all sway
	g.whole(&all)
	return all.score
}

// toward is one effect's part of M; used is the ability of the challenge on which the effect was used last.
func (g *round) toward(x *gifts, used field) int {
	return x.value[g.card.ability] + x.value[toAll] + g.relevant(x, used)
}

// relevant is what an effect adds to M whatever the ability.
func (g *round) relevant(x *gifts, used field) int {
	if g.anyRelevant || used == g.card.ability {
		return x.value[toRelevant]
	}
	return 0
}

// due is what an effect gives of x: nothing after the wrong outcome of the previous challenge (DIG-QUAL-21, -22).
func (g *round) due(r *rule, x *gifts) *gifts {
	if r.requires != none && r.requires != g.previous {
		return &nothing
	}
	return x
}

// ahead returns the kind of the next draw and the places in the deck of the cards that it may bring, in order.
func (g *round) ahead() (k kind, cards []int, reshuffled bool) {
	ending, n := finalCard, g.number+1
	if len(g.decks[climaxCard]) > 0 {
		ending = climaxCard
	}
	switch {
	case n == 1:
		k = entryCard
	case g.climaxPlayed:
		k = finalCard
	case g.exploration >= g.rs.Exploration.FinalAt:
		k = ending
	case n == 2 && len(g.decks[secondCard]) > 0:
		k = secondCard
	case n == 3 && len(g.decks[thirdCard]) > 0:
		k = thirdCard
	case len(g.undrawn) > 0:
		return normalCard, g.undrawn, false
	case g.rs.Flow.ReshuffleWhenEmpty:
		return normalCard, g.decks[normalCard], true
	default:
		k = ending
	}
	return k, g.decks[k], false
}

// next is Draw.
func (g *round) next(member int, override bool) error {
	if g.pending {
		return play.Refuse(ChallengePending, "a challenge is pending")
	}
	if err := g.fit(member); err != nil {
		return err
	}
	if g.rs.Flow.DrawRequiresRotation && !override {
		for i := range g.seats {
			if o := &g.seats[i]; !o.out && o.draws < g.seats[member].draws {
				return play.Refuse(NotYourDraw, "%s has drawn less often", o.id)
			}
		}
	}
	g.draw(member)
	return nil
}

// draw is steps D2 to D7. A die decides between several cards; a single one needs none.
func (g *round) draw(drawer int) {
	k, candidates, reshuffled := g.ahead()
	place := 0
	if len(candidates) > 1 {
		place = g.dice.RollFor("draw ", k.String(), len(candidates)) - 1
	}
	g.at = candidates[place]
	g.card, g.kind, g.drawer, g.pending, g.acts = &g.cards[g.at], k, drawer, true, g.acts[:0]
	if reshuffled {
		g.undrawn = append(g.undrawn[:0], candidates...)
	}
	if k == normalCard {
		g.undrawn = append(g.undrawn[:place], g.undrawn[place+1:]...)
	}
	rules, kept := g.conditionsOf(g.card), 0
	for i := range g.conditions { // D4
		c := &g.conditions[i]
		switch {
		case g.card.clears: // D5
			continue
		case c.permanent:
		case c.phase < len(c.phases):
			c.phase++
		default:
			continue
		}
		c.gifts, c.owed = c.at(c.phase), nil
		if kept < i {
			g.conditions[kept] = *c
		}
		kept++
	}
	g.conditions = g.conditions[:kept]
	for _, r := range rules { // D6
		if len(r.phases) > 0 {
			g.impose(r)
		}
	}
	g.weigh()
	g.number++
	g.seats[drawer].draws++
	if g.tells {
		g.events = append(g.events, Drawn{
			Round: g.number, Card: g.card.ID, Kind: k.String(), Drawer: g.seats[drawer].id, Conditions: g.instances(), Cleared: g.card.clears,
			Reshuffled: reshuffled,
		})
	}
}

// impose adds a condition: a new instance, or under refresh a restart of the one that is there, which keeps what its old
// phase gives owed (DIG-COND-04).
func (g *round) impose(r *rule) {
	if g.rs.ConditionsStacking == "refresh" {
		if i := slices.IndexFunc(g.conditions, func(f force) bool { return f.rule == r }); i >= 0 {
			if c := &g.conditions[i]; !r.permanent && c.phase > 1 {
				c.gifts, c.owed, c.phase = &r.again[c.phase-1], r.told[c.phase-1], 1
			}
			return
		}
	}
	g.conditions = append(g.conditions, force{rule: r, gifts: r.at(1), phase: 1})
}

// effectOf returns the place of the effect that is in force by a rule, -1 when none is.
func (g *round) effectOf(r *rule) int {
	for i := range g.effects {
		if g.effects[i].rule == r {
			return i
		}
	}
	return -1
}

// ready refuses an act that a member may not do now, whatever it is.
func (g *round) ready(member int) error {
	if !g.pending {
		return play.Refuse(NoChallenge, "no challenge is pending")
	}
	if err := g.fit(member); err != nil {
		return err
	}
	if s := &g.seats[member]; s.acted {
		return play.Refuse(AlreadyActed, "%s has acted in this round", s.id)
	}
	return nil
}

// contribute is Contribute with the tool at a place in the belt, -1 for the basic action.
func (g *round) contribute(member, tool int, risk bool) error {
	s := &g.seats[member]
	if !g.pending || s.out || s.acted {
		return g.ready(member)
	}
	if tool >= 0 {
		if err := g.use(member, &s.tools[tool]); err != nil {
			return err
		}
	}
	g.act(member, tool, risk)
	if g.tells {
		g.tellAct(s, tool, risk)
	}
	return nil
}

// use is steps A3 to A5 of a tool.
func (g *round) use(member int, t *held) error {
	switch {
	case t.ability != g.card.ability:
		return play.Refuse(WrongAbility, "%s is a tool of %s, the challenge is one of %s", t.ID, t.Ability, g.card.Ability).On("action.tool")
	case t.usesLeft < 1:
		return play.Refuse(NoUsesLeft, "%s has no uses left", t.ID).On("action.tool")
	}
	t.usesLeft--
	for _, r := range t.traits { // A5
		if len(r.phases) > 0 {
			g.begin(r, member)
		}
	}
	if t.clears {
		g.conditions, g.sway = g.conditions[:0], sway{}
	}
	return nil
}

func (g *round) tellAct(s *seat, tool int, risk bool) {
	e := Acted{Act: Act{Member: s.id, Risk: risk}, Effects: g.inForce()}
	if tool >= 0 {
		t := &s.tools[tool]
		e.Act.Tool, e.UsesLeft, e.Cleansed = t.number, t.usesLeft, t.clears
	}
	g.events = append(g.events, e)
}

// begin puts an effect into force: new at the end, or a restart in its place (DIG-QUAL-02).
func (g *round) begin(r *rule, user int) {
	i := g.effectOf(r)
	if i < 0 {
		i = len(g.effects)
		g.effects = append(g.effects, effect{})
		e := &g.effects[i]
		e.rule, e.gifts, e.phase, e.ability = r, g.due(r, r.at(1)), 1, g.card.ability
	} else {
		g.restart(&g.effects[i])
	}
	e := &g.effects[i]
	switch from := len(g.users); {
	case len(e.users) == 0 || g.rs.Effects.DuplicateUsers == "last":
		g.users = append(g.users, user)
		e.users = g.users[from:len(g.users):len(g.users)]
	case !slices.Contains(e.users, user):
		g.users = append(append(g.users, e.users...), user)
		e.users = g.users[from:len(g.users):len(g.users)]
	}
}

// restart begins an effect again on the pending challenge: it keeps what its old phase gives owed this round.
func (g *round) restart(e *effect) {
	r, x := e.rule, e.gifts
	switch {
	case e.phase == 1: // as it is
	case e.phase > 1 && g.rs.Effects.DuplicateRule == "restart_keep_due":
		e.owed, x = nil, r.at(1)
		if e.phase <= len(r.phases) {
			e.owed, x = r.told[e.phase-1], &r.again[e.phase-1]
		}
		if g.rs.Effects.ShortsightedAbility == "used_challenge" && e.ability != g.card.ability {
			if _, relevant := e.owed["relevant"]; relevant {
				e.owed = maps.Clone(e.owed)
				delete(e.owed, "relevant") // it was for another ability
				x = r.with(1, e.owed)
			}
		}
	default:
		x = r.with(1, e.owed)
	}
	e.gifts, e.phase, e.ability = g.due(r, x), 1, g.card.ability
}

// complete is Complete.
func (g *round) complete(member int, override bool) error {
	if !g.pending {
		return play.Refuse(NoChallenge, "no challenge is pending")
	}
	if g.rs.Flow.CompleteRequiresDrawer && !override {
		if c := g.completer(); c != member {
			return play.Refuse(NotDrawer, "%s completes this round", g.nameOf(c))
		}
	}
	var waiting []string
	for i := range g.seats {
		if s := &g.seats[i]; !s.acted && !s.out {
			waiting = append(waiting, s.id)
		}
	}
	if len(waiting) > 0 {
		return play.Refuse(NotAllActed, "%s has not acted", strings.Join(waiting, ", "))
	}
	g.resolve()
	return nil
}

// resolve is steps C2 to C12.
func (g *round) resolve() {
	var (
		rs  = g.rs
		all sway
		e   Completed
	)
	g.whole(&all)
	e.Round, e.Card, e.TN, e.Modifier, e.Outcome = g.number, g.card.ID, g.card.tn, all.score, Running
	for i := range g.acts { // C3, C4
		a := &g.acts[i]
		s := &g.seats[a.member]
		a.roll, a.effective = g.dice.RollFor("act ", s.id, rs.Challenge.Die), s.abilities[g.card.ability]+e.Modifier
		if floor := rs.DP.AbilityFloor; floor != nil {
			a.effective = max(*floor, a.effective)
		}
		if a.risk {
			a.riskBonus = rs.Risk.Bonus
		}
		a.total = a.roll + a.effective + a.bonus + a.riskBonus
		a.success = a.total >= e.TN
		e.Score += a.total // C5
		e.Target += e.TN
	}
	e.Passed = e.Score >= e.Target
	g.explore(&e, all.exploration)
	g.toll(&all, &e)
	standing := false
	for i := range g.acts { // C6, C8, C9
		a := &g.acts[i]
		s := &g.seats[a.member]
		gain, failure := all.exhaustion+a.apart, all.onFailure
		if a.success {
			failure = 0
		}
		gain += failure
		if a.risk && !a.success {
			a.riskRoll = g.dice.RollFor("risk ", s.id, rs.Risk.ChanceDie)
			gain += g.strain(a)
		}
		a.gain = max(all.least, gain)
		s.exhaustion, s.acted = min(rs.Exhaustion.Cap, s.exhaustion+a.gain), false
		s.out = s.exhaustion >= rs.Exhaustion.OutAt
		standing = standing || !s.out
	}
	g.end(&e, standing) // C10
	if g.tells {
		e.Results = g.results()
	}
	g.close(&e)
	if g.tells {
		e.Effects = g.inForce()
		g.events = append(g.events, e)
	}
}

// results are what the round did to everybody, as events tell it.
func (g *round) results() []Result {
	list := make([]Result, len(g.seats))
	for i := range g.seats {
		list[i].Member, list[i].Exhaustion = g.seats[i].id, g.seats[i].exhaustion
	}
	for i := range g.acts {
		a := &g.acts[i]
		r := &list[a.member]
		r.Acted, r.Roll, r.Effective, r.ToolBonus, r.RiskBonus = true, a.roll, a.effective, a.bonus, a.riskBonus
		r.Total, r.Success, r.RiskRoll, r.Gain = a.total, a.success, a.riskRoll, a.gain
	}
	return list
}

// explore is step C7; bonus is what conditions and effects add when the challenge is passed.
func (g *round) explore(e *Completed, bonus int) {
	e.ExplorationGain = g.card.failure
	if e.Passed {
		e.ExplorationGain = g.card.success + bonus
	}
	e.ExplorationGain = max(0, e.ExplorationGain)
	e.Exploration = min(g.rs.Exploration.Goal, g.exploration+e.ExplorationGain)
}

// toll completes what conditions and effects do by the rest of step C8: what the card costs, and what depends on users.
func (g *round) toll(all *sway, e *Completed) {
	party := g.card.partyFailure
	if e.Passed {
		party = g.card.partySuccess
	}
	all.exhaustion += party
	all.onFailure += g.card.individualFailure
	all.least = max(all.least, g.rs.Exhaustion.GainFloor)
	if !all.personal {
		return
	}
	for i := range g.effects {
		x, missed := &g.effects[i], false
		if !x.personal {
			continue
		}
		for j := range g.acts {
			if a := &g.acts[j]; slices.Contains(x.users, a.member) {
				missed = missed || !a.success
				if x.instead {
					a.apart += x.value[userExhaustionInstead] - x.value[partyExhaustion]
				}
			}
		}
		if missed {
			all.exhaustion += x.value[partyExhaustionIfUserFails]
		}
	}
}

// strain is what a failure at risk costs a member more.
func (g *round) strain(a *act) int {
	risk, sum := &g.rs.Risk, 0
	hit := a.riskRoll <= risk.ChanceAtMost
	if hit {
		sum = risk.ExtraExhaustion
	}
	if a.tool >= 0 && (hit || !risk.ToolExtraNeedsChance) {
		sum += g.seats[a.member].tools[a.tool].strain
	}
	return sum
}

// end is step C10; standing tells whether anybody is not exhausted.
func (g *round) end(e *Completed, standing bool) {
	switch {
	case g.kind == finalCard && !e.Passed:
		e.Outcome = LostRetreat
	case g.kind == finalCard && standing:
		e.Outcome, e.Exploration = Won, g.rs.Exploration.Goal
	case !standing:
		e.Outcome = LostExhausted
	case g.kind == climaxCard && !e.Passed && g.rs.Flow.ClimaxFailureRetreats:
		e.Outcome = LostRetreat
	}
}

// close ends the round: steps C11 and C12.
func (g *round) close(e *Completed) {
	g.exploration, g.outcome, g.pending, g.acts = e.Exploration, e.Outcome, false, g.acts[:0]
	g.previous, g.climaxPlayed = failed, g.climaxPlayed || g.kind == climaxCard
	if e.Passed {
		g.previous = passed
	}
	kept := 0
	for i := range g.effects {
		if x := &g.effects[i]; x.phase >= len(x.phases) {
			continue
		}
		if kept < i {
			g.effects[kept] = g.effects[i]
		}
		x := &g.effects[kept]
		x.phase++
		x.owed, x.gifts = nil, g.due(x.rule, x.at(x.phase))
		kept++
	}
	g.effects = g.effects[:kept]
}
