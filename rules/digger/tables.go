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
	// noField is what an unknown name stands for; no phase gives it.
	noField
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
)

// fieldNames are the names of the catalogue.
var fieldNames = [fieldCount]string{
	"brute", "agility", "wits", "combat", "", "all", "relevant", "exhaustion", "exhaustion_on_failure", "gain_minimum",
	"exploration_on_success", "party_exhaustion", "user_exhaustion_instead", "party_exhaustion_if_user_fails",
}

// fieldOf returns the field of that name.
func fieldOf(name string) field {
	if i := slices.Index(fieldNames[:], name); i >= 0 {
		return field(i)
	}
	return noField
}

// verdict is the outcome of a challenge.
type verdict uint8

const (
	none verdict = iota
	passed
	failed
)

func verdictOf(name string) verdict { return verdict(1 + slices.Index([]string{Passed, Failed}, name)) }

// gifts are what one phase gives, looked up: values by field. Instead tells whether userExhaustionInstead is there at all,
// personal whether anything is there that depends on the users.
type gifts struct {
	value             [fieldCount]int
	instead, personal bool
}

// ratings are those of a member by field; of what is no ability they are 0.
type ratings [noField + 1]int

// nothing is what an expired phase gives.
var nothing gifts

// add puts a phase in.
func (x *gifts) add(p Phase) {
	for name, v := range p {
		if f := fieldOf(name); f != noField {
			x.put(f, v)
			x.instead = x.instead || f == userExhaustionInstead
			x.personal = x.personal || f == userExhaustionInstead || f == partyExhaustionIfUserFails
		}
	}
}

// scores tells whether anything is there that changes a score.
func (x gifts) scores() bool {
	return slices.ContainsFunc(x.value[:exhaustion], func(v int) bool { return v != 0 })
}

// join puts in what another phase gives.
func (x *gifts) join(o *gifts) {
	for f, v := range o.value {
		x.put(field(f), v)
	}
	x.instead, x.personal = x.instead || o.instead, x.personal || o.personal
}

// put puts one value in; of two values of a field the larger in size counts, not the sum, the earlier one on a tie.
func (x *gifts) put(f field, v int) {
	if now := x.value[f]; max(v, -v) > max(now, -now) {
		x.value[f] = v
	}
}

// rule is a condition, a quality or a drawback, looked up.
type rule struct {
	name string
	// told are the phases as the ruleset has them.
	told   []Phase
	phases []gifts
	// again are what a restart gives at once: the first phase with the one that was due, by the place of that one.
	again []gifts
	// permanent and advanced are of conditions, requires is of effects.
	permanent, clears, advanced bool
	requires                    verdict
}

func ruleOf(name string, phases []Phase) *rule {
	r := &rule{name: name, told: phases, phases: make([]gifts, len(phases)), again: make([]gifts, len(phases))}
	for i, p := range phases {
		r.phases[i].add(p)
		r.again[i] = r.phases[0]
		r.again[i].join(&r.phases[i])
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

// with returns what the rule gives in a phase together with what an earlier phase still owes.
func (r *rule) with(phase int, owed Phase) *gifts {
	if len(owed) == 0 {
		return r.at(phase)
	}
	both := *r.at(phase)
	both.add(owed)
	return &both
}

// known is a card with what its level means, looked up.
type known struct {
	*Card
	ability field
	// conditions are filled in when they are asked for; clears tells that one of them empties the list, advanced that one that
	// comes into force is advanced.
	conditions       []*rule
	clears, advanced bool
	// tn is with the dungeon's addition (DIG-RES-03); the others are exploration and exhaustion by level.
	tn, success, failure, partySuccess, partyFailure, individualFailure int
}

// stray stands for a card that the dungeon does not have.
var stray = known{Card: &Card{}, ability: noField}

// tables are what a ruleset says about the cards of a dungeon, looked up once: by a decision for itself, by a simulation for
// all of its runs. They hold nothing that ruleset and dungeon do not say.
type tables struct {
	rs      *Ruleset
	dungeon *Dungeon
	// anyRelevant tells that what is relevant to a challenge does not ask for the ability on which it was begun.
	anyRelevant           bool
	conditions, qualities map[string]*rule
	cards                 []known
	// decks are the places of the cards of each kind.
	decks [noKind + 1][]int
}

func newTables(rs *Ruleset, d *Dungeon) *tables {
	t := &tables{
		rs: rs, dungeon: d, anyRelevant: rs.Effects.ShortsightedAbility == "next_challenge", conditions: map[string]*rule{}, qualities: map[string]*rule{},
		cards: make([]known, len(d.Cards)),
	}
	for i := range d.Cards {
		c := &d.Cards[i]
		k := kindOf(c.Kind)
		t.decks[k] = append(t.decks[k], i)
		addition := 0
		switch k {
		case climaxCard:
			addition = d.TNBonus.Climax
		case finalCard:
			addition = d.TNBonus.Final
		}
		t.cards[i] = known{
			Card: c, ability: fieldOf(c.Ability), tn: at(rs.Challenge.TN, c.Level) + addition,
			success: at(rs.Exploration.Success, c.Level), failure: at(rs.Exploration.Failure, c.Level),
			partySuccess: at(rs.Exhaustion.PartySuccess, c.Level), partyFailure: at(rs.Exhaustion.PartyFailure, c.Level),
			individualFailure: at(rs.Exhaustion.IndividualFailure, c.Level),
		}
	}
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
	r := ruleOf(name, c.Phases)
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
	r := ruleOf(name, q.Phases)
	r.requires, r.clears = verdictOf(q.RequiresPrevious), q.ClearsConditions
	if ok {
		t.qualities[name] = r
	}
	return r
}

// conditionsOf returns the rules of a card's conditions, in its order.
func (t *tables) conditionsOf(c *known) []*rule {
	if c.conditions == nil {
		for _, name := range c.Conditions {
			r := t.condition(name)
			c.conditions, c.clears, c.advanced = append(c.conditions, r), c.clears || r.clears, c.advanced || r.advanced && len(r.phases) > 0
		}
	}
	return c.conditions
}

// gear is a tool, looked up.
type gear struct {
	*Tool
	number  int
	ability field
	// bonus is what it adds to its user's total, strain what a failure at risk costs them more.
	bonus, strain int
	// traits are those that do something in play, in the order of step A5: they begin an effect or empty the conditions;
	// clears tells that one does the latter. Scoring are those of them that may change a score.
	traits, scoring []*rule
	clears          bool
	aids            aid
}

// aid is what the reference policy asks of a tool: which of these qualities it has. A drawback is none.
type aid uint8

const (
	cleansing aid = 1 << iota
	stalwart
	resilient
)

func (r *rule) aid() aid {
	var a aid
	if r.clears {
		a |= cleansing
	}
	switch r.name {
	case "stalwart":
		a |= stalwart
	case "resilient":
		a |= resilient
	}
	return a
}

func (t *tables) gear(x *Tool, number int) *gear {
	o := &gear{Tool: x, number: number, ability: fieldOf(x.Ability), bonus: t.rs.Bonus(*x), strain: t.rs.Risk.ToolExtraExhaustion[x.Rating]}
	for i := range x.traits() {
		r := t.quality(x.trait(i))
		o.clears = o.clears || r.clears
		if r.clears || len(r.phases) > 0 {
			o.traits = append(o.traits, r)
		}
		if r.clears || slices.ContainsFunc(r.phases, gifts.scores) {
			o.scoring = append(o.scoring, r)
		}
		if i < len(x.Qualities) {
			o.aids |= r.aid()
		}
	}
	return o
}

func (t *tables) held(x *RunTool) held { return held{t.gear(&x.Tool, x.Number), x.UsesLeft} }

func (t *tables) seat(m *Member) seat {
	a := m.Abilities
	s := seat{
		id: m.ID, abilities: ratings{toBrute: a.Brute, toAgility: a.Agility, toWits: a.Wits, toCombat: a.Combat},
		exhaustion: m.Exhaustion, out: m.Exhaustion >= t.rs.Exhaustion.OutAt, draws: m.Draws,
	}
	for i := range m.Tools {
		s.tools = append(s.tools, t.held(&m.Tools[i]))
	}
	return s
}
