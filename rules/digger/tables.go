package digger

import "slices"

// field is one thing that a phase of a condition or an effect may give.
type field int

// The fields: score modifiers first, the four abilities in the order of AbilityNames.
const (
	toBrute field = iota
	toAgility
	toWits
	toCombat
	toAll
	toRelevant
	exhaustion
	exhaustionOnFailure
	gainMinimum
	explorationOnSuccess
	partyExhaustion
	userExhaustionInstead
	partyExhaustionIfUserFails
	fieldCount
	noField = fieldCount
)

// fieldNames are the names of the catalogue.
var fieldNames = [fieldCount]string{
	"brute", "agility", "wits", "combat", "all", "relevant", "exhaustion", "exhaustion_on_failure", "gain_minimum",
	"exploration_on_success", "party_exhaustion", "user_exhaustion_instead", "party_exhaustion_if_user_fails",
}

// fieldOf returns the field of that name; noField for an unknown one, which no phase gives.
func fieldOf(name string) field {
	if i := slices.Index(fieldNames[:], name); i >= 0 {
		return field(i)
	}
	return noField
}

// gifts are what one phase gives, looked up: values by field, with a place for noField, and whether a field is there at all.
type gifts struct {
	value [fieldCount + 1]int
	given [fieldCount + 1]bool
}

// nothing is what an expired phase gives.
var nothing gifts

// add puts a phase in; of two values of a field the larger in size counts, not the sum, the earlier one on a tie.
func (x *gifts) add(p Phase) {
	for name, v := range p {
		f := fieldOf(name)
		if f == noField {
			continue
		}
		x.given[f] = true
		if now := x.value[f]; max(v, -v) > max(now, -now) {
			x.value[f] = v
		}
	}
}

// rule is a condition, a quality or a drawback, looked up.
type rule struct {
	// told are the phases as the ruleset has them.
	told   []Phase
	phases []gifts
	// permanent and advanced are of conditions, requires is of effects.
	permanent, clears, advanced bool
	requires                    string
}

func ruleOf(phases []Phase) *rule {
	r := &rule{told: phases, phases: make([]gifts, len(phases))}
	for i, p := range phases {
		r.phases[i].add(p)
	}
	return r
}

// at returns what the rule gives in a phase, from 1.
func (r *rule) at(phase int) *gifts {
	if phase < 1 || phase > len(r.phases) {
		return &nothing
	}
	return &r.phases[phase-1]
}

// known is a card with what its level means, looked up.
type known struct {
	*Card
	ability    field
	conditions []*rule
	// tn is without the dungeon's addition; the others are exploration and exhaustion by level.
	tn, success, failure, partySuccess, partyFailure, individualFailure int
}

// stray stands for a card that the dungeon does not have.
var stray = known{Card: &Card{}, ability: noField}

// tables are what a ruleset says about the cards of a dungeon, looked up once: by a decision for itself, by a simulation for
// all of its runs. They hold nothing that ruleset and dungeon do not say.
type tables struct {
	rs                    *Ruleset
	dungeon               *Dungeon
	conditions, qualities map[string]*rule
	cards                 []known
	kinds                 map[string][]int
	hasClimax             bool
	hasSecond, hasThird   bool
	normal                []int
}

func newTables(rs *Ruleset, d *Dungeon) *tables {
	t := &tables{
		rs: rs, dungeon: d, conditions: map[string]*rule{}, qualities: map[string]*rule{}, kinds: map[string][]int{},
		cards: make([]known, len(d.Cards)),
	}
	for i := range d.Cards {
		c := &d.Cards[i]
		t.kinds[c.Kind] = append(t.kinds[c.Kind], i)
		t.cards[i] = known{
			Card: c, ability: fieldOf(c.Ability), tn: at(rs.Challenge.TN, c.Level),
			success: at(rs.Exploration.Success, c.Level), failure: at(rs.Exploration.Failure, c.Level),
			partySuccess: at(rs.Exhaustion.PartySuccess, c.Level), partyFailure: at(rs.Exhaustion.PartyFailure, c.Level),
			individualFailure: at(rs.Exhaustion.IndividualFailure, c.Level),
		}
	}
	t.normal = t.kinds[Normal]
	t.hasClimax, t.hasSecond, t.hasThird = len(t.kinds[Climax]) > 0, len(t.kinds[Second]) > 0, len(t.kinds[Third]) > 0
	return t
}

// complete looks everything up that is otherwise looked up when it is needed. From then on the tables do not change, and may
// be shared.
func (t *tables) complete() *tables {
	for name := range t.rs.Conditions {
		t.condition(name)
	}
	for name := range t.rs.Tools.Qualities {
		t.quality(name)
	}
	for i := range t.cards {
		t.conditionsOf(&t.cards[i])
	}
	return t
}

func (t *tables) condition(name string) *rule {
	if r, ok := t.conditions[name]; ok {
		return r
	}
	c, ok := t.rs.Conditions[name]
	r := ruleOf(c.Phases)
	r.permanent, r.clears, r.advanced = c.Permanent, c.ClearsEarlierConditions, c.Class == "advanced"
	if ok {
		t.conditions[name] = r
	}
	return r
}

func (t *tables) quality(name string) *rule {
	if r, ok := t.qualities[name]; ok {
		return r
	}
	q, ok := t.rs.Tools.Qualities[name]
	r := ruleOf(q.Phases)
	r.requires, r.clears = q.RequiresPrevious, q.ClearsConditions
	if ok {
		t.qualities[name] = r
	}
	return r
}

// conditionsOf returns the rules of a card's conditions, in its order.
func (t *tables) conditionsOf(c *known) []*rule {
	if c.conditions == nil {
		for _, name := range c.Conditions {
			c.conditions = append(c.conditions, t.condition(name))
		}
	}
	return c.conditions
}

// card returns the place of a card in the deck, -1 for a stray one. It is often the one at hint.
func (t *tables) card(id string, hint int) int {
	if hint >= 0 && hint < len(t.cards) && t.cards[hint].ID == id {
		return hint
	}
	return slices.IndexFunc(t.cards, func(c known) bool { return c.ID == id })
}

// force is a condition or an effect in force, with what it gives now.
type force struct {
	*rule
	*gifts
	name string
}

// among returns the rule of that name among those in force before; most of what is in force was so a moment ago.
func among(before []force, name string) *rule {
	for i := range before {
		if before[i].name == name {
			return before[i].rule
		}
	}
	return nil
}

// look brings what is looked up of the state up to date.
func (g *round) look() *tables {
	if g.tables == nil || g.tables.rs != g.Ruleset || g.tables.dungeon != g.Dungeon {
		g.tables, g.seen = newTables(g.Ruleset, g.Dungeon), false
	}
	if g.seen {
		return g.tables
	}
	t := g.tables
	g.seen, g.card = true, &stray
	if g.Pending != nil {
		if g.at = t.card(g.Pending.Card, g.at); g.at >= 0 {
			g.card = &t.cards[g.at]
		}
	}
	before := g.conditions
	g.owed, g.conditions, g.before = g.owed[:0], g.before[:0], before
	for i := range g.Conditions {
		c := &g.Conditions[i]
		r := among(before, c.Name)
		if r == nil {
			r = t.condition(c.Name)
		}
		g.conditions = append(g.conditions, force{r, g.gives(r, c.Phase, c.Owed), c.Name})
	}
	before = g.effects
	g.effects, g.ended = g.ended[:0], before
	for i := range g.Effects {
		e := &g.Effects[i]
		r := among(before, e.Name)
		if r == nil {
			r = t.quality(e.Name)
		}
		g.effects = append(g.effects, force{r, g.effect(r, e), e.Name})
	}
	return t
}

// effect returns what an effect gives: nothing after the wrong outcome of the previous challenge (DIG-QUAL-21, -22).
func (g *round) effect(r *rule, e *Effect) *gifts {
	if r.requires != "" && r.requires != g.Previous {
		return &nothing
	}
	return g.gives(r, e.Phase, e.Owed)
}

// gives returns what a rule gives in a phase together with what an earlier phase still owes.
func (g *round) gives(r *rule, phase int, owed Phase) *gifts {
	x := r.at(phase)
	if len(owed) == 0 {
		return x
	}
	g.owed = append(g.owed, *x)
	both := &g.owed[len(g.owed)-1]
	both.add(owed)
	return both
}
