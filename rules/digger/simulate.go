package digger

import (
	"cmp"
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

// ReferenceParty draws a party of fresh characters with two loaded tools each, as the catalogue's calibration plays them.
func ReferenceParty(faces Faces, members int) []Entrant {
	tops := slices.Clone(AbilityNames)
	shuffle(faces, tops)
	total := 0
	for _, s := range spreads {
		total += s.weight
	}
	party := make([]Entrant, members)
	for i := range party {
		pick, spread := faces.below(total), 0
		for pick >= spreads[spread].weight {
			pick -= spreads[spread].weight
			spread++
		}
		top := tops[i%len(tops)]
		others := slices.DeleteFunc(slices.Clone(AbilityNames), func(a string) bool { return a == top })
		shuffle(faces, others)
		var a Abilities
		for j, name := range append([]string{top}, others...) {
			a.set(name, spreads[spread].ratings[j])
		}
		second := others[faces.below(len(others))]
		party[i] = Entrant{ID: fmt.Sprintf("member-%d", i+1), Form: BaseForm, Statblock: &a, Tools: []NumberedTool{
			{referenceTool(faces, "tool-1", top), 1}, {referenceTool(faces, "tool-2", second), 2},
		}}
	}
	return party
}

func referenceTool(faces Faces, id, ability string) Tool {
	t := shapes[faces.below(len(shapes))]
	t.ID, t.Ability, t.Loaded = id, ability, true
	t.Qualities = slices.Clone(t.Qualities)
	for i, name := range t.Qualities {
		if name == ownBoost {
			t.Qualities[i] = boosts[ability]
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

func shuffle(faces Faces, list []string) {
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
	party []Entrant
	// tails[n][s] is the chance that n dice show s or more.
	tails [][]float64
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
	// The parties are made of the tools of the catalogue, which a ruleset may have done away with.
	for _, t := range shapes {
		t.Qualities = slices.DeleteFunc(slices.Clone(t.Qualities), func(q string) bool { return q == ownBoost })
		for _, name := range t.traits() {
			if _, ok := rs.Tools.Qualities[name]; !ok {
				return nil, play.Refuse(UnknownQuality, "the reference parties need the quality %q", name).At("ruleset")
			}
		}
		if _, ok := rs.Tools.Ratings[t.Rating]; !ok {
			return nil, play.Refuse(Invalid, "the reference parties need the rating %q", t.Rating).At("ruleset")
		}
	}
	for _, name := range boosts {
		if _, ok := rs.Tools.Qualities[name]; !ok {
			return nil, play.Refuse(UnknownQuality, "the reference parties need the quality %q", name).At("ruleset")
		}
	}
	return &Simulator{rs: rs, dungeon: d, policy: policy, members: members, tails: tails(members, rs.Challenge.Die)}, nil
}

// With returns a simulator whose runs are all played by that party, instead of a fresh reference party for each. It refuses
// a party that cannot enter, as [Enter] does.
func (s *Simulator) With(party []Entrant) (*Simulator, error) {
	if len(party) < s.rs.Party.MinToEnter || len(party) > s.rs.Party.Max {
		return nil, play.Refuse(Invalid, "a party has %d to %d members", s.rs.Party.MinToEnter, s.rs.Party.Max).At("party")
	}
	for i, e := range party {
		if _, err := e.member(s.rs, fmt.Sprintf("party[%d]", i)); err != nil {
			return nil, err
		}
		if slices.ContainsFunc(party[:i], func(o Entrant) bool { return o.ID == e.ID }) {
			return nil, play.Refuse(Invalid, "%s enters twice", e.ID).At(fmt.Sprintf("party[%d]", i))
		}
	}
	c := *s
	c.party, c.members, c.tails = party, len(party), tails(len(party), s.rs.Challenge.Die)
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
func (s *Simulator) Play(faces Faces) (Simulated, error) {
	dice := play.NewDice(func(sides int) (int, error) { return faces(sides), nil })
	// One working copy serves the whole run: the commands decide and fold as always, only without a copy for each.
	g := &round{dice: dice}
	members := make([]Member, s.members)
	party := s.party
	if party == nil {
		party = ReferenceParty(faces, s.members)
	}
	for i, e := range party {
		m, err := e.member(s.rs, "member")
		if err != nil {
			return Simulated{}, err
		}
		members[i] = m
	}
	g.emit(Entered{Ruleset: s.rs, Dungeon: s.dungeon, Leader: members[0].ID, Members: members})
	g.draw(members[0].ID)
	drawer := 0
	var out Simulated
	for {
		if kind := g.Pending.Kind; kind != Climax && kind != Final {
			out.Challenges++
		}
		out.Advanced = out.Advanced || slices.ContainsFunc(g.Conditions, func(i Instance) bool {
			return s.rs.Conditions[i.Name].Class == "advanced"
		})
		for _, c := range s.plan(g) {
			if err := c.decide(g); err != nil {
				return out, err
			}
		}
		if err := (Complete{Member: g.Members[drawer].ID}).decide(g); err != nil {
			return out, err
		}
		out.Rounds = append(out.Rounds, g.told())
		if g.Over() {
			out.Outcome = g.Outcome
			return out, dice.Close()
		}
		if len(out.Rounds) == maxRounds {
			return out, play.Refuse(NeverEnds, "a run goes on after %d challenges: by these numbers it never ends", maxRounds)
		}
		for ok := false; !ok; ok = !g.Exhausted(g.Members[drawer]) {
			drawer = (drawer + 1) % len(g.Members)
		}
		if err := (Draw{Member: g.Members[drawer].ID}).decide(g); err != nil {
			return out, err
		}
		g.events = g.events[:0]
	}
}

// told sums up the round that was just completed.
func (g *round) told() SimulatedRound {
	done, _ := g.events[len(g.events)-1].(Completed)
	t := SimulatedRound{
		Card:   slices.IndexFunc(g.Dungeon.Cards, func(c Card) bool { return c.ID == done.Card }),
		Passed: done.Passed, Exploration: g.Exploration,
	}
	for _, m := range g.Members {
		t.Exhaustion += m.Exhaustion
		if g.Exhausted(m) {
			t.Exhausted++
		}
	}
	return t
}

// planner is the reference policy at work on one round.
type planner struct {
	*Simulator
	g       *round
	card    Card
	members []Member
	// use[i] is the tool of members[i], nil for the basic action; risk[i] whether they risk.
	use  []*RunTool
	risk []bool
	// sum is what the party has without its dice; planned are the traits of planned tools.
	sum     int
	planned map[string]bool
}

func (s *Simulator) plan(g *round) []Contribute {
	p := &planner{Simulator: s, g: g, members: g.Active(), planned: map[string]bool{}}
	p.card, _ = g.Card()
	p.use, p.risk = make([]*RunTool, len(p.members)), make([]bool, len(p.members))
	p.sum = len(p.members) * g.Modifier()
	for _, m := range p.members {
		p.sum += m.Abilities.Of(p.card.Ability)
	}
	if s.policy != NoTools {
		p.cleanse()
		p.protect()
		p.strengthen()
		p.takeRisks()
	}
	acts := make([]Contribute, len(p.members))
	for i, m := range p.members {
		acts[i] = Contribute{Member: m.ID, Use: p.card.Ability, Risk: p.risk[i]}
		if p.use[i] != nil {
			acts[i].Tool = p.use[i].Number
		}
	}
	return acts
}

// short tells whether the chance to pass is still below the wanted one.
func (p *planner) short() bool {
	wanted := wantedElse
	switch p.g.Pending.Kind {
	case Final:
		wanted = wantedFinal
	case Climax:
		wanted = wantedClimax
	}
	n := len(p.members)
	return p.chance(n, p.g.TN()*n-p.sum) < wanted
}

func (p *planner) usable(t *RunTool) bool { return t.Ability == p.card.Ability && t.UsesLeft > 0 }

// worth is what a tool adds to the party's sum in this round.
func (p *planner) worth(t *RunTool) int {
	n, w := len(p.members), p.rs.Bonus(t.Tool)
	for _, name := range t.traits() {
		if p.planned[name] {
			continue
		}
		q := p.rs.Tools.Qualities[name]
		if q.ClearsConditions {
			w += n * max(0, p.penalty())
		}
		if len(q.Phases) == 0 {
			continue
		}
		same := func(e Effect) bool { return e.Name == name }
		if at := slices.IndexFunc(p.g.Effects, same); at >= 0 { // what the restart adds
			w -= n * p.g.effectModifier(p.g.Effects[at], p.card.Ability)
		}
		after := p.g.begin(p.g.Effects, name, "", p.card.Ability)
		w += n * p.g.effectModifier(after[slices.IndexFunc(after, same)], p.card.Ability)
	}
	return w
}

// penalty is what the conditions take from the card's ability, negative when they help.
func (p *planner) penalty() int {
	sum := 0
	for _, i := range p.g.Conditions {
		sum -= p.rs.conditionValue(i, p.card.Ability) + p.rs.conditionValue(i, "all")
	}
	return sum
}

func (p *planner) take(member int, t *RunTool) {
	p.sum += p.worth(t)
	p.use[member] = t
	for _, name := range t.traits() {
		p.planned[name] = true
	}
}

// takeFirst plans the first member's tool that has a quality, of those without a planned tool.
func (p *planner) takeFirst(has func(q Quality, name string) bool) {
	for i := range p.members {
		if p.use[i] != nil {
			continue
		}
		for j := range p.members[i].Tools {
			t := &p.members[i].Tools[j]
			if p.usable(t) && slices.ContainsFunc(t.Qualities, func(name string) bool { return has(p.rs.Tools.Qualities[name], name) }) {
				p.take(i, t)
				return
			}
		}
	}
}

// cleanse is step 1.
func (p *planner) cleanse() {
	bad := 1.5 * float64(p.penalty())
	for _, i := range p.g.Conditions {
		bad += 0.25*float64(p.rs.conditionValue(i, "exhaustion")) + 0.15*float64(p.rs.conditionValue(i, "exhaustion_on_failure")) -
			0.2*float64(p.rs.conditionValue(i, "exploration_on_success"))
		if p.rs.Conditions[i.Name].Permanent {
			bad += 1.5
		}
	}
	if bad >= cleanseFrom {
		p.takeFirst(func(q Quality, _ string) bool { return q.ClearsConditions })
	}
}

// protect is step 2.
func (p *planner) protect() {
	if !slices.ContainsFunc(p.members, func(m Member) bool { return m.Exhaustion >= protectFrom }) {
		return
	}
	p.takeFirst(func(_ Quality, name string) bool { return name == "stalwart" })
	if p.g.Pending.Kind != Final {
		p.takeFirst(func(_ Quality, name string) bool { return name == "resilient" })
	}
}

// strengthen is step 3.
func (p *planner) strengthen() {
	for p.short() {
		member, best, most := -1, (*RunTool)(nil), 0
		for i := range p.members {
			if p.use[i] != nil {
				continue
			}
			for j := range p.members[i].Tools {
				t := &p.members[i].Tools[j]
				if !p.usable(t) {
					continue
				}
				if w := p.worth(t); best == nil || w > most {
					member, best, most = i, t, w
				}
			}
		}
		if best == nil {
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
	order := make([]int, len(p.members))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p.members[a].Exhaustion, p.members[b].Exhaustion) })
	for _, i := range order {
		if !p.short() {
			return
		}
		if p.g.Pending.Kind == Final || p.members[i].Exhaustion <= riskUpTo {
			p.risk[i] = true
			p.sum += p.rs.Risk.Bonus
		}
	}
}
