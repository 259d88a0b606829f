package digger

import (
	"errors"
	"fmt"
	"slices"

	"github.com/wayfarer-rpg/wayfarer/rules/play"
)

// Faces gives the face of a die with that many sides, 1 to sides. Simulations take their chance from it alone.
type Faces func(sides int) int

// below returns an even number from 0 to n-1.
func (f Faces) below(n int) int { return f(n) - 1 }

// Policy is a way of playing for simulations.
type Policy string

// The policies. Sensible is the reference that the intended success rates are stated for.
const (
	Sensible   Policy = "sensible"
	NeverRisk  Policy = "never-risk"
	AlwaysRisk Policy = "always-risk"
	NoTools    Policy = "no-tools"
)

// Policies lists the policies.
var Policies = []Policy{Sensible, NeverRisk, AlwaysRisk, NoTools}

// The thresholds of the reference policy.
const (
	wantedFinal, wantedClimax, wantedElse = 0.97, 0.85, 0.75
	cleanseFrom                           = 3.0
	protectFrom                           = 35
	riskUpTo                              = 75
)

// NeverEnds refuses to simulate by a ruleset under which a run neither gets on nor tires anybody.
const NeverEnds = "NEVER_ENDS"

// maxRounds bounds a simulated run. By the shipped numbers none has more than some ten challenges.
const maxRounds = 10_000

// spreads are the ratings of reference characters, the highest first, each as often as its weight says.
var spreads = slices.Concat(
	slices.Repeat([][4]int{{6, 5, 3, 2}}, 4), slices.Repeat([][4]int{{5, 5, 4, 2}}, 5),
	slices.Repeat([][4]int{{5, 4, 4, 4}}, 4), slices.Repeat([][4]int{{6, 4, 4, 2}}, 4),
	slices.Repeat([][4]int{{5, 5, 3, 3}}, 3), slices.Repeat([][4]int{{6, 4, 3, 3}}, 3),
	[][4]int{{5, 5, 5, 0}, {6, 6, 1, 1}},
)

// orders are the places of the abilities with one of them first.
var orders = [...][4]int{{0, 1, 2, 3}, {1, 0, 2, 3}, {2, 0, 1, 3}, {3, 0, 1, 2}}

// boosts are the greater qualities of the abilities; ownBoost in a tool's shape stands for the one of its ability.
var boosts = map[string]string{"brute": "strengthen", "agility": "quicken", "wits": "enlighten", "combat": "embolden"}

const ownBoost = "own"

// shapes are the forms of reference tools.
var shapes = []Tool{
	{Rating: "major", Qualities: []string{"improved"}},
	{Rating: "major", Qualities: []string{"rally"}},
	{Rating: "major", Qualities: []string{"fanfare"}},
	{Rating: "major", Qualities: []string{"efficient"}},
	{Rating: "minor", Qualities: []string{"improved", "efficient"}},
	{Rating: "minor", Qualities: []string{"improved", "rally"}},
	{Rating: "minor", Qualities: []string{"improved", "fanfare"}},
	{Rating: "minor", Qualities: []string{ownBoost}},
	{Rating: "minor", Qualities: []string{"stalwart"}},
	{Rating: "minor", Qualities: []string{"resilient"}},
	{Rating: "minor", Qualities: []string{"cleanse"}, Drawback: "sacrifice"},
	{Rating: "minor", Qualities: []string{"cleanse"}, Drawback: "inefficient"},
	{Rating: "minor", Qualities: []string{"cleanse"}, Drawback: "shortsighted"},
	{Rating: "major", Qualities: []string{ownBoost}, Drawback: "shortsighted"},
	{Rating: "major", Qualities: []string{"improved", "efficient"}, Drawback: "sacrifice"},
	{Rating: "minor", Qualities: []string{ownBoost, "improved"}, Drawback: "inefficient"},
	{Rating: "minor", Qualities: []string{"stalwart", "improved"}, Drawback: "shortsighted"},
	{Rating: "minor", Qualities: []string{"resilient", "improved"}, Drawback: "liability"},
}

// lot is what is drawn for one member of a reference party: ratings and two tools by shape and ability.
type lot struct {
	abilities ratings
	tools     [2]struct{ shape, ability int }
}

// drawLots draws the party that the catalogue's calibration plays, one lot for each member.
func drawLots(faces Faces, party []lot) {
	tops := [...]int{0, 1, 2, 3} // places in AbilityNames
	shuffle(faces, tops[:])
	for i := range party {
		spread := &spreads[faces.below(len(spreads))]
		top := tops[i%len(tops)]
		order := orders[top]
		others := order[1:]
		shuffle(faces, others)
		l := &party[i]
		for j, ability := range order {
			l.abilities[ability] = spread[j]
		}
		l.tools[0].ability, l.tools[1].ability = top, others[faces.below(len(others))]
		for j := range l.tools {
			l.tools[j].shape = faces.below(len(shapes))
		}
	}
}

// ReferenceParty draws a party of fresh characters with two loaded tools each, as the catalogue's calibration plays them.
func ReferenceParty(faces Faces, members int) []Entrant {
	lots := make([]lot, members)
	drawLots(faces, lots)
	party := make([]Entrant, members)
	for i, l := range lots {
		a := l.abilities
		statblock := &Abilities{Brute: a[toBrute], Agility: a[toAgility], Wits: a[toWits], Combat: a[toCombat]}
		party[i] = Entrant{ID: memberID(i), Form: BaseForm, Statblock: statblock}
		for j, t := range l.tools {
			party[i].Tools = append(party[i].Tools, NumberedTool{referenceTool(t.shape, t.ability, j+1), j + 1})
		}
	}
	return party
}

func memberID(i int) string { return fmt.Sprintf("member-%d", i+1) }

func referenceTool(shape, ability, number int) Tool {
	t := shapes[shape]
	t.ID, t.Ability, t.Loaded = fmt.Sprintf("tool-%d", number), AbilityNames[ability], true
	t.Qualities = slices.Clone(t.Qualities)
	for i, name := range t.Qualities {
		if name == ownBoost {
			t.Qualities[i] = boosts[t.Ability]
		}
	}
	return t
}

func shuffle(faces Faces, list []int) {
	for i := len(list) - 1; i > 0; i-- {
		j := faces.below(i + 1)
		list[i], list[j] = list[j], list[i]
	}
}

// Simulator plays runs of one dungeon by a policy, with the engine that real runs use. It is safe for concurrent use.
type Simulator struct {
	rs      *Ruleset
	dungeon *Dungeon
	policy  Policy
	members int
	// party enters every run; nil draws a reference party for each.
	party []seat
	// ids are those of the members of a reference party, stock their tools by shape, ability and place in the belt.
	ids   []string
	stock [][noField][2]held
	// enough[k][n] is the largest sum that n dice show, or more, with the chance wanted of a challenge of kind k.
	enough [noKind + 1][]int
	tables *tables
}

// NewSimulator refuses a dungeon that cannot be played, a party that cannot enter and an unknown policy as INVALID.
func NewSimulator(rs *Ruleset, d *Dungeon, policy Policy, members int) (*Simulator, error) {
	if faults := Check(rs, d); len(faults) > 0 {
		return nil, play.Refuse(Invalid, "the dungeon cannot be played: %s: %s", faults[0].Field, faults[0].Message).At("dungeon." + faults[0].Field)
	}
	if members < rs.Party.MinToEnter || members > rs.Party.Max {
		return nil, play.Refuse(Invalid, "a party has %d to %d members", rs.Party.MinToEnter, rs.Party.Max).At("members")
	}
	if !slices.Contains(Policies, policy) {
		return nil, play.Refuse(Invalid, "%q is none of %v", policy, Policies).At("policy")
	}
	s := &Simulator{
		rs: rs, dungeon: d, policy: policy, tables: newTables(rs, d).complete(),
	}
	s.ready(members)
	for i := range members {
		s.ids = append(s.ids, memberID(i))
	}
	// The parties are made of the tools of the catalogue, which a ruleset may have done away with.
	for shape := range shapes {
		s.stock = append(s.stock, [noField][2]held{})
		for ability := range AbilityNames {
			for place := range s.stock[shape][ability] {
				t := NumberedTool{referenceTool(shape, ability, place+1), place + 1}
				loaded, err := t.loaded(rs, "ruleset")
				if err != nil {
					var r *play.Refusal
					errors.As(err, &r)
					return nil, play.Refuse(r.Code, "the reference parties cannot enter: %s", r.Message).At("ruleset")
				}
				s.stock[shape][ability][place] = s.tables.held(&loaded)
			}
		}
	}
	return s, nil
}

// With returns a simulator whose runs are all played by that party, instead of a fresh reference party for each. It refuses
// a party that cannot enter, as [Enter] does.
func (s *Simulator) With(party []Entrant) (*Simulator, error) {
	if len(party) < s.rs.Party.MinToEnter || len(party) > s.rs.Party.Max {
		return nil, play.Refuse(Invalid, "a party has %d to %d members", s.rs.Party.MinToEnter, s.rs.Party.Max).At("party")
	}
	c := *s
	c.party = make([]seat, len(party))
	c.ready(len(party))
	for i, e := range party {
		m, err := e.member(s.rs, fmt.Sprintf("party[%d]", i))
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(party[:i], func(o Entrant) bool { return o.ID == e.ID }) {
			return nil, play.Refuse(Invalid, "%s enters twice", e.ID).At(fmt.Sprintf("party[%d]", i))
		}
		c.party[i] = s.tables.seat(&m)
	}
	return &c, nil
}

// enough returns for 0 to n dice the largest sum that they show, or more, with at least that chance.
func enough(n, sides int, wanted float64) []int {
	exact := []float64{1}
	all := make([]int, 0, n+1)
	for k := 0; ; k++ {
		tail := slices.Clone(exact)
		for s := len(tail) - 2; s >= 0; s-- {
			tail[s] += tail[s+1]
		}
		most := 0
		for most+1 < len(tail) && tail[most+1] >= wanted {
			most++
		}
		all = append(all, most)
		if k == n {
			return all
		}
		next := make([]float64, len(exact)+sides)
		for s, p := range exact {
			for face := 1; face <= sides; face++ {
				next[s+face] += p / float64(sides)
			}
		}
		exact = next
	}
}

// ready looks up what the dice of a party give.
func (s *Simulator) ready(members int) {
	s.members = members
	usual := enough(members, s.rs.Challenge.Die, wantedElse)
	for k := range s.enough {
		s.enough[k] = usual
	}
	s.enough[climaxCard] = enough(members, s.rs.Challenge.Die, wantedClimax)
	s.enough[finalCard] = enough(members, s.rs.Challenge.Die, wantedFinal)
}

// Simulated is how one simulated run went.
type Simulated struct {
	Outcome string
	// Challenges counts those before climax and final.
	Challenges int
	// Advanced tells that an advanced condition fell on the party.
	Advanced bool
	// Rounds are the challenges in the order in which they were met, the entry first.
	Rounds []SimulatedRound
}

// SimulatedRound is how one challenge of a simulated run went.
type SimulatedRound struct {
	// Card is its place in the dungeon's list of cards, from 0.
	Card   int
	Passed bool
	// Exploration is the party's after the challenge.
	Exploration int
	// Exhaustion is the sum over all members after the challenge, Exhausted how many of them can act no more.
	Exhaustion, Exhausted int
}

// Tally sums simulated runs up.
type Tally struct {
	Runs      int `json:"runs"`
	Won       int `json:"won"`
	Retreated int `json:"retreated"`
	Exhausted int `json:"exhausted"`
	// Challenges counts those before climax and final in all runs, ThreeToFive the runs with 3 to 5 of them (DIG-OVER-06).
	Challenges  int `json:"challenges"`
	ThreeToFive int `json:"three_to_five"`
	// Advanced counts the runs that met an advanced condition.
	Advanced int `json:"advanced"`
}

// Add counts one more run.
func (t *Tally) Add(s Simulated) {
	t.Runs++
	t.Challenges += s.Challenges
	if s.Challenges >= 3 && s.Challenges <= 5 {
		t.ThreeToFive++
	}
	if s.Advanced {
		t.Advanced++
	}
	switch s.Outcome {
	case Won:
		t.Won++
	case LostRetreat:
		t.Retreated++
	case LostExhausted:
		t.Exhausted++
	}
}

// Merge adds another tally.
func (t *Tally) Merge(o Tally) {
	t.Runs += o.Runs
	t.Won += o.Won
	t.Retreated += o.Retreated
	t.Exhausted += o.Exhausted
	t.Challenges += o.Challenges
	t.ThreeToFive += o.ThreeToFive
	t.Advanced += o.Advanced
}

// Play plays one run, with a fresh reference party unless there is one for all runs.
func (s *Simulator) Play(faces Faces) (Simulated, error) { return s.Player(faces).Play() }

// Player plays run after run in the same room: after some runs it takes no more memory. It is not safe for concurrent use;
// each worker has its own.
type Player struct {
	game   planner
	lots   []lot
	rounds []SimulatedRound
	faces  Faces
}

// Player returns a player that takes its chance from faces.
func (s *Simulator) Player(faces Faces) *Player {
	g := &round{tables: s.tables, seats: make([]seat, s.members), dice: play.ForgetfulDice(faces)}
	return &Player{game: s.planner(g), lots: make([]lot, s.members), faces: faces}
}

// enter opens a run.
func (p *Player) enter() {
	g := &p.game
	g.open()
	if g.party == nil {
		drawLots(p.faces, p.lots)
	}
	for i := range g.seats {
		s := &g.seats[i]
		tools := s.tools[:0]
		if g.party != nil {
			*s = g.party[i]
			s.tools = append(tools, s.tools...)
			continue
		}
		l := &p.lots[i]
		for j, t := range l.tools {
			tools = append(tools, g.stock[t.shape][t.ability][j])
		}
		s.id, s.abilities, s.tools = g.ids[i], l.abilities, tools
		s.exhaustion, s.draws, s.out, s.acted = 0, 0, false, false
	}
	g.meet()
	g.leader = g.seats[0].id
	g.draw(0)
}

// Play plays the next run. The rounds that it tells of are valid until the next call.
func (p *Player) Play() (Simulated, error) {
	p.enter()
	g, drawer := &p.game, 0
	out := Simulated{Rounds: p.rounds[:0]}
	for {
		if g.kind != climaxCard && g.kind != finalCard {
			out.Challenges++
		}
		out.Advanced = out.Advanced || g.card.advanced
		g.plan()
		for i := range g.seats {
			if g.seats[i].out {
				continue
			}
			if err := g.contribute(i, g.use[i], g.risk[i]); err != nil {
				return out, err
			}
		}
		if err := g.complete(drawer, false); err != nil {
			return out, err
		}
		out.Rounds = append(out.Rounds, SimulatedRound{})
		p.rounds = out.Rounds
		g.tell(&out.Rounds[len(out.Rounds)-1])
		if g.over() {
			out.Outcome = g.outcome
			return out, g.dice.Close()
		}
		if len(out.Rounds) == maxRounds {
			return out, play.Refuse(NeverEnds, "a run goes on after %d challenges: by these numbers it never ends", maxRounds)
		}
		for ok := false; !ok; ok = !g.seats[drawer].out {
			if drawer++; drawer == len(g.seats) {
				drawer = 0
			}
		}
		if err := g.next(drawer, false); err != nil {
			return out, err
		}
	}
}

// tell sums up the round that was just completed.
func (g *round) tell(t *SimulatedRound) {
	t.Card, t.Passed, t.Exploration = g.at, g.previous == passed, g.exploration
	for i := range g.seats {
		s := &g.seats[i]
		t.Exhaustion += s.exhaustion
		if s.out {
			t.Exhausted++
		}
	}
}

// planner is the reference policy at work, one round after the other.
type planner struct {
	*Simulator
	*round
	// use[i] is the place of the tool that is planned for a member, -1 for the basic action; risk[i] tells whether they risk.
	// Of exhausted members nothing is planned.
	use  []int
	risk []bool
	// turns are those who may risk, each by a number that is smaller the sooner they would.
	turns []int
	// n counts those who can act, sum is what they have without their dice, planned are the scoring traits of planned tools, offers the
	// tools that fit the challenge and have uses left.
	n, sum  int
	planned []*rule
	offers  []offer
	// aids are those of all offers.
	aids aid
	// belts are all tools by ability, in the order of members; tired tells that somebody who can act is tired.
	belts [noField + 1][]offer
	tired bool
	// safe is the sum with which the chance to pass is the wanted one.
	safe int
}

func (s *Simulator) planner(g *round) planner {
	return planner{Simulator: s, round: g, use: make([]int, len(g.seats)), risk: make([]bool, len(g.seats))}
}

// offer is a member's tool by its place.
type offer struct {
	member, tool int
	*gear
}

// meet looks at the tools of the party, which stays the same for a run.
func (p *planner) meet() {
	for i := range p.belts {
		p.belts[i] = p.belts[i][:0]
	}
	for i := range p.seats {
		for j, t := range p.seats[i].tools {
			p.belts[t.ability] = append(p.belts[t.ability], offer{i, j, t.gear})
		}
	}
}

// plan decides what everybody does about the pending challenge.
func (p *planner) plan() {
	p.n, p.sum, p.tired, p.aids = 0, 0, false, 0
	p.planned, p.offers = p.planned[:0], p.offers[:0]
	m := p.modifier()
	for i := range p.seats {
		s := &p.seats[i]
		p.use[i], p.risk[i] = -1, false
		if s.out {
			continue
		}
		p.n++
		p.sum += m + s.abilities[p.card.ability]
		p.tired = p.tired || s.exhaustion >= protectFrom
	}
	for _, o := range p.belts[p.card.ability] {
		if s := &p.seats[o.member]; !s.out && s.tools[o.tool].usesLeft > 0 {
			p.offers = append(p.offers, o)
			p.aids |= o.aids
		}
	}
	if p.policy == NoTools {
		return
	}
	p.safe = p.card.tn*p.n - p.enough[p.kind][p.n]
	if len(p.offers) > 0 {
		p.cleanse()
		p.protect()
		p.strengthen()
	}
	p.takeRisks()
}

// short tells whether the chance to pass is still below the wanted one.
func (p *planner) short() bool { return p.sum < p.safe }

// worth is what a tool adds to the party's sum in this round.
func (p *planner) worth(t *gear) int {
	w := t.bonus
	for _, r := range t.scoring {
		if slices.Contains(p.planned, r) {
			continue
		}
		if r.clears {
			w += p.n * max(0, -p.sway.score)
		}
		if len(r.phases) == 0 {
			continue
		}
		at := p.effectOf(r)
		if at < 0 {
			w += p.n * p.toward(p.due(r, r.at(1)), p.card.ability)
			continue
		}
		e := p.effects[at]
		w -= p.n * p.toward(e.gifts, e.ability)
		p.restart(&e)
		w += p.n * p.toward(e.gifts, e.ability)
	}
	return w
}

// take plans a tool that is worth so much.
func (p *planner) take(o *offer, worth int) {
	p.sum += worth
	p.use[o.member] = o.tool
	p.planned = append(p.planned, o.scoring...)
}

// takeFirst plans the first member's tool that is such an aid, of those without a planned tool.
func (p *planner) takeFirst(wanted aid) {
	for i := range p.offers {
		if o := &p.offers[i]; p.use[o.member] < 0 && o.aids&wanted != 0 {
			p.take(o, p.worth(o.gear))
			return
		}
	}
}

// cleanse is step 1.
func (p *planner) cleanse() {
	if p.aids&cleansing == 0 {
		return
	}
	bad := -1.5*float64(p.sway.score) + 0.25*float64(p.sway.exhaustion) + 0.15*float64(p.sway.onFailure) - 0.2*float64(p.sway.exploration)
	for i := range p.conditions {
		if p.conditions[i].permanent {
			bad += 1.5
		}
	}
	if bad >= cleanseFrom {
		p.takeFirst(cleansing)
	}
}

// protect is step 2.
func (p *planner) protect() {
	if !p.tired || p.aids&(stalwart|resilient) == 0 {
		return
	}
	p.takeFirst(stalwart)
	if p.kind != finalCard {
		p.takeFirst(resilient)
	}
}

// strengthen is step 3.
func (p *planner) strengthen() {
	for p.short() {
		var best *offer
		most := 0
		for i := range p.offers {
			o := &p.offers[i]
			if p.use[o.member] >= 0 {
				continue
			}
			if w := p.worth(o.gear); best == nil || w > most {
				best, most = o, w
			}
		}
		if best == nil {
			return
		}
		p.take(best, most)
	}
}

// takeRisks is step 4.
func (p *planner) takeRisks() {
	switch p.policy {
	case NeverRisk:
		return
	case AlwaysRisk:
		for i := range p.risk {
			p.risk[i] = true
		}
		return
	}
	if !p.short() {
		return
	}
	// The least exhausted first, of equals the first: the smallest of exhaustion and place in one number.
	p.turns = p.turns[:0]
	for i := range p.seats {
		if s := &p.seats[i]; !s.out && (p.kind == finalCard || s.exhaustion <= riskUpTo) {
			p.turns = append(p.turns, s.exhaustion<<placeBits|i)
		}
	}
	for _, t := range p.turns {
		sooner := 0
		for _, o := range p.turns {
			if o < t {
				sooner++
			}
		}
		p.risk[t&(1<<placeBits-1)] = p.sum+sooner*p.rs.Risk.Bonus < p.safe
	}
}

// placeBits hold the place of any member: a ruleset has no larger numbers.
const placeBits = 20
