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

// spreads are the ratings of reference characters, the highest first, each with its weight.
var spreads = []struct {
	ratings [4]int
	weight  int
}{
	{[4]int{6, 5, 3, 2}, 4}, {[4]int{5, 5, 4, 2}, 5}, {[4]int{5, 4, 4, 4}, 4}, {[4]int{6, 4, 4, 2}, 4},
	{[4]int{5, 5, 3, 3}, 3}, {[4]int{6, 4, 3, 3}, 3}, {[4]int{5, 5, 5, 0}, 1}, {[4]int{6, 6, 1, 1}, 1},
}

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
	abilities Abilities
	tools     [2]struct{ shape, ability int }
}

// drawLots draws the party that the catalogue's calibration plays, one lot for each member.
func drawLots(faces Faces, party []lot) {
	total := 0
	for i := range spreads {
		total += spreads[i].weight
	}
	tops := [...]int{0, 1, 2, 3} // places in AbilityNames
	shuffle(faces, tops[:])
	for i := range party {
		pick, spread := faces.below(total), 0
		for pick >= spreads[spread].weight {
			pick -= spreads[spread].weight
			spread++
		}
		top := tops[i%len(tops)]
		order := [len(tops)]int{0: top}
		others := order[1:]
		for n, next := 0, 0; n < len(tops); n++ {
			if n != top {
				others[next] = n
				next++
			}
		}
		shuffle(faces, others)
		l := &party[i]
		for j, ability := range order {
			l.abilities.set(AbilityNames[ability], spreads[spread].ratings[j])
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
		party[i] = Entrant{ID: memberID(i), Form: BaseForm, Statblock: &l.abilities}
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

func (a *Abilities) set(name string, rating int) {
	switch name {
	case "brute":
		a.Brute = rating
	case "agility":
		a.Agility = rating
	case "wits":
		a.Wits = rating
	case "combat":
		a.Combat = rating
	}
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
	party []outfit
	// ids are those of the members of a reference party, stock their tools by shape, ability and place in the belt.
	ids   []string
	stock [][][2]outfitTool
	// tails[n][s] is the chance that n dice show s or more.
	tails  [][]float64
	tables *tables
}

// outfit is a member as they come into every run, with what the policy knows of their tools.
type outfit struct {
	Member
	tools []outfitTool
}

// outfitTool is a tool with what the policy asks of it, looked up.
type outfitTool struct {
	RunTool
	ability field
	// bonus is what it adds to its user's total.
	bonus int
	// traits are those that do something in play, in the order of step A5: they clear conditions or begin an effect.
	traits []trait
	// cleanses, stalwart and resilient are qualities, never the drawback.
	cleanses, stalwart, resilient bool
}

type trait struct {
	*rule
	name string
}

func (s *Simulator) outfit(t RunTool) outfitTool {
	o := outfitTool{RunTool: t, ability: fieldOf(t.Ability), bonus: s.rs.Bonus(t.Tool)}
	for i := range t.traits() {
		x := trait{s.tables.quality(t.trait(i)), t.trait(i)}
		if x.clears || len(x.phases) > 0 {
			o.traits = append(o.traits, x)
		}
		if i < len(t.Qualities) {
			o.cleanses, o.stalwart, o.resilient = o.cleanses || x.clears, o.stalwart || x.name == "stalwart", o.resilient || x.name == "resilient"
		}
	}
	return o
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
		rs: rs, dungeon: d, policy: policy, members: members, tails: tails(members, rs.Challenge.Die), tables: newTables(rs, d).complete(),
	}
	for i := range members {
		s.ids = append(s.ids, memberID(i))
	}
	// The parties are made of the tools of the catalogue, which a ruleset may have done away with.
	for shape := range shapes {
		s.stock = append(s.stock, make([][2]outfitTool, len(AbilityNames)))
		for ability := range AbilityNames {
			for place := range s.stock[shape][ability] {
				t := NumberedTool{referenceTool(shape, ability, place+1), place + 1}
				loaded, err := t.loaded(rs, "ruleset")
				if err != nil {
					var r *play.Refusal
					errors.As(err, &r)
					return nil, play.Refuse(r.Code, "the reference parties cannot enter: %s", r.Message).At("ruleset")
				}
				s.stock[shape][ability][place] = s.outfit(loaded)
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
	c.party, c.members, c.tails = make([]outfit, len(party)), len(party), tails(len(party), s.rs.Challenge.Die)
	for i, e := range party {
		m, err := e.member(s.rs, fmt.Sprintf("party[%d]", i))
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(party[:i], func(o Entrant) bool { return o.ID == e.ID }) {
			return nil, play.Refuse(Invalid, "%s enters twice", e.ID).At(fmt.Sprintf("party[%d]", i))
		}
		c.party[i].Member = m
		for _, t := range m.Tools {
			c.party[i].tools = append(c.party[i].tools, s.outfit(t))
		}
	}
	return &c, nil
}

// tails computes the chances of at least a sum with 0 to n dice.
func tails(n, sides int) [][]float64 {
	exact := []float64{1}
	all := make([][]float64, 0, n+1)
	for k := 0; ; k++ {
		tail := slices.Clone(exact)
		for s := len(tail) - 2; s >= 0; s-- {
			tail[s] += tail[s+1]
		}
		all = append(all, tail)
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

func (s *Simulator) chance(dice, atLeast int) float64 {
	switch tail := s.tails[dice]; {
	case atLeast <= 0:
		return 1
	case atLeast >= len(tail):
		return 0
	default:
		return tail[atLeast]
	}
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
	game    planner
	lots    []lot
	members []Member
	rounds  []SimulatedRound
	faces   Faces
}

// Player returns a player that takes its chance from faces.
func (s *Simulator) Player(faces Faces) *Player {
	p := &Player{faces: faces, members: make([]Member, s.members), lots: make([]lot, s.members)}
	p.game = planner{
		Simulator: s, kits: make([][]outfitTool, s.members),
		use: make([]int, s.members), risk: make([]bool, s.members),
	}
	// The commands decide and fold as always, only in the same room for each.
	p.game.round = &round{
		fold: fold{recycles: true}, tables: s.tables,
		dice: play.ForgetfulDice(func(sides int) (int, error) { return faces(sides), nil }),
	}
	return p
}

// enter opens a run.
func (p *Player) enter() {
	g := &p.game
	if g.party == nil {
		drawLots(p.faces, p.lots)
	}
	for i := range p.members {
		m := &p.members[i]
		if g.party != nil {
			*m, g.kits[i] = g.party[i].Member, g.party[i].tools
			continue
		}
		tools, kit := m.Tools[:0], g.kits[i][:0]
		for j, t := range p.lots[i].tools {
			o := &g.stock[t.shape][t.ability][j]
			tools, kit = append(tools, o.RunTool), append(kit, *o)
		}
		*m, g.kits[i] = Member{ID: g.ids[i], Form: BaseForm, Abilities: p.lots[i].abilities, Tools: tools}, kit
	}
	g.names = g.names[:0]
	emit(g.round, Entered{Ruleset: g.rs, Dungeon: g.dungeon, Leader: p.members[0].ID, Members: p.members})
	g.draw(p.members[0].ID)
}

// Play plays the next run. The rounds that it tells of are valid until the next call.
func (p *Player) Play() (Simulated, error) {
	p.enter()
	g, drawer := &p.game, 0
	out := Simulated{Rounds: p.rounds[:0]}
	for {
		card := g.at
		if kind := g.Pending.Kind; kind != Climax && kind != Final {
			out.Challenges++
		}
		g.plan()
		for i := range g.conditions {
			out.Advanced = out.Advanced || g.conditions[i].advanced
		}
		for i := range g.Members {
			m := &g.Members[i]
			if g.out(m) {
				continue
			}
			c := Contribute{Member: m.ID, Use: g.card.Ability, Risk: g.risk[i]}
			if g.use[i] >= 0 {
				c.Tool = m.Tools[g.use[i]].Number
			}
			if err := c.decide(g.round); err != nil {
				return out, err
			}
		}
		if err := (Complete{Member: g.Members[drawer].ID}).decide(g.round); err != nil {
			return out, err
		}
		out.Rounds = append(out.Rounds, g.told(card))
		p.rounds = out.Rounds
		if g.Over() {
			out.Outcome = g.Outcome
			return out, g.dice.Close()
		}
		if len(out.Rounds) == maxRounds {
			return out, play.Refuse(NeverEnds, "a run goes on after %d challenges: by these numbers it never ends", maxRounds)
		}
		for ok := false; !ok; ok = !g.out(&g.Members[drawer]) {
			drawer = (drawer + 1) % len(g.Members)
		}
		if err := (Draw{Member: g.Members[drawer].ID}).decide(g.round); err != nil {
			return out, err
		}
	}
}

// told sums up the round that was just completed.
func (g *round) told(card int) SimulatedRound {
	t := SimulatedRound{Card: card, Passed: g.Previous == Passed, Exploration: g.Exploration}
	for i := range g.Members {
		m := &g.Members[i]
		t.Exhaustion += m.Exhaustion
		if g.out(m) {
			t.Exhausted++
		}
	}
	return t
}

// planner is the reference policy at work, one round after the other.
type planner struct {
	*Simulator
	*round
	// kits are the tools of each member, use[i] is the place of the one that is planned, -1 for the basic action; risk[i]
	// tells whether they risk. Of exhausted members nothing is planned.
	kits [][]outfitTool
	use  []int
	risk []bool
	// n counts those who can act, sum is what they have without their dice, planned are the traits of planned tools.
	n, sum  int
	planned []*rule
	wanted  float64
	target  int
}

// plan decides what everybody does about the pending challenge.
func (p *planner) plan() {
	p.look()
	p.n, p.sum, p.planned, p.target, p.wanted = 0, 0, p.planned[:0], p.tn(), wantedElse
	switch p.Pending.Kind {
	case Final:
		p.wanted = wantedFinal
	case Climax:
		p.wanted = wantedClimax
	}
	m := p.modifier()
	for i := range p.Members {
		p.use[i], p.risk[i] = -1, false
		if p.can(i) {
			p.n++
			p.sum += m + p.Members[i].Abilities.Of(p.card.Ability)
		}
	}
	if p.policy == NoTools {
		return
	}
	p.cleanse()
	p.protect()
	p.strengthen()
	p.takeRisks()
}

// can tells whether a member can act.
func (p *planner) can(i int) bool { return !p.out(&p.Members[i]) }

// short tells whether the chance to pass is still below the wanted one.
func (p *planner) short() bool { return p.chance(p.n, p.target*p.n-p.sum) < p.wanted }

func (p *planner) usable(member, tool int) bool {
	return p.kits[member][tool].ability == p.card.ability && p.Members[member].Tools[tool].UsesLeft > 0
}

// worth is what a tool adds to the party's sum in this round.
func (p *planner) worth(t *outfitTool) int {
	w := t.bonus
	for i := range t.traits {
		x := &t.traits[i]
		if slices.Contains(p.planned, x.rule) {
			continue
		}
		if x.clears {
			w += p.n * max(0, p.penalty())
		}
		if len(x.phases) == 0 {
			continue
		}
		after := Effect{Name: x.name, Phase: 1, Ability: p.card.Ability}
		if at := slices.IndexFunc(p.Effects, func(e Effect) bool { return e.Name == x.name }); at >= 0 { // what the restart adds
			w -= p.n * p.effectModifier(p.effects[at].gifts, p.Effects[at].Ability)
			after = p.restarted(p.Effects[at], x.rule)
		}
		w += p.n * p.effectModifier(p.effect(x.rule, &after), after.Ability)
	}
	return w
}

// penalty is what the conditions take from the card's ability, negative when they help.
func (p *planner) penalty() int {
	sum := 0
	for _, c := range p.conditions {
		sum -= c.value[p.card.ability] + c.value[toAll]
	}
	return sum
}

func (p *planner) take(member, tool int) {
	t := &p.kits[member][tool]
	p.sum += p.worth(t)
	p.use[member] = tool
	for i := range t.traits {
		p.planned = append(p.planned, t.traits[i].rule)
	}
}

// takeFirst plans the first member's tool that has a quality, of those without a planned tool.
func (p *planner) takeFirst(has func(t *outfitTool) bool) {
	for i := range p.Members {
		if p.use[i] >= 0 || !p.can(i) {
			continue
		}
		for j := range p.kits[i] {
			if has(&p.kits[i][j]) && p.usable(i, j) {
				p.take(i, j)
				return
			}
		}
	}
}

// cleanse is step 1.
func (p *planner) cleanse() {
	bad := 1.5 * float64(p.penalty())
	for _, c := range p.conditions {
		bad += 0.25*float64(c.value[exhaustion]) + 0.15*float64(c.value[exhaustionOnFailure]) - 0.2*float64(c.value[explorationOnSuccess])
		if c.permanent {
			bad += 1.5
		}
	}
	if bad >= cleanseFrom {
		p.takeFirst(func(t *outfitTool) bool { return t.cleanses })
	}
}

// protect is step 2.
func (p *planner) protect() {
	tired := false
	for i := range p.Members {
		tired = tired || p.Members[i].Exhaustion >= protectFrom && p.can(i)
	}
	if !tired {
		return
	}
	p.takeFirst(func(t *outfitTool) bool { return t.stalwart })
	if p.Pending.Kind != Final {
		p.takeFirst(func(t *outfitTool) bool { return t.resilient })
	}
}

// strengthen is step 3.
func (p *planner) strengthen() {
	for p.short() {
		member, best, most := -1, 0, 0
		for i := range p.Members {
			if p.use[i] >= 0 || !p.can(i) {
				continue
			}
			for j := range p.kits[i] {
				if !p.usable(i, j) {
					continue
				}
				if w := p.worth(&p.kits[i][j]); member < 0 || w > most {
					member, best, most = i, j, w
				}
			}
		}
		if member < 0 {
			return
		}
		p.take(member, best)
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
	// The least exhausted first, of equals the first.
	for p.short() {
		least := -1
		for i := range p.Members {
			if !p.can(i) || p.risk[i] || p.Pending.Kind != Final && p.Members[i].Exhaustion > riskUpTo {
				continue
			}
			if least < 0 || p.Members[i].Exhaustion < p.Members[least].Exhaustion {
				least = i
			}
		}
		if least < 0 {
			return
		}
		p.risk[least] = true
		p.sum += p.rs.Risk.Bonus
	}
}
