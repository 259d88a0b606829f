package diedrop

import (
	"errors"
	"fmt"
	"slices"

	"github.com/wayfarer-rpg/wayfarer/rules/play"
)

// Faces gives the face of a die with that many sides, 1 to sides. Simulations take their chance from it alone.
type Faces func(sides int) int

// Policy is a way of travelling for simulations.
type Policy string

// The policies. In all of them a company with gold buys food, step by step as long as it can, in every settlement that it
// comes through.
const (
	// March goes on, whatever happens.
	March Policy = "march"
	// ForageWhenLow forages before it goes on from the smallest food die or without food.
	ForageWhenLow Policy = "forage-when-low"
	// ForageWhenOut forages before it goes on without food.
	ForageWhenOut Policy = "forage-when-out"
)

// Policies lists the policies.
var Policies = []Policy{March, ForageWhenLow, ForageWhenOut}

// The outcomes of a simulated journey.
const (
	// ArrivedFed has food on arrival, ArrivedHungry none.
	ArrivedFed    = "arrived_fed"
	ArrivedHungry = "arrived_hungry"
	// Perished tells that nobody lives to arrive.
	Perished = "perished"
)

// Outcomes lists the outcomes.
var Outcomes = []string{ArrivedFed, ArrivedHungry, Perished}

const (
	// MaxRoute bounds the hexes of a route.
	MaxRoute = 500
	// maxAttempts bounds the forage attempts in one hex, so that every journey goes on.
	maxAttempts = 10
)

// Trip is what a simulation plays: a company on a route.
type Trip struct {
	// Policy is how the company goes about it; empty means march.
	Policy Policy
	Map    *Map
	// Route are 2 to MaxRoute hexes, each a neighbour of the one before, from where the company begins.
	Route []Hex
	// Members of the company, Food the sides of its food dice, the oldest first.
	Members []Member
	Food    []int
	Gold    int
	Boat    bool
}

// DefaultCompany is who simulations send when nothing else is said: so many members with 4 hit points, strength 10 and four
// slots of gear each.
func DefaultCompany(rs *Ruleset, members int) []Member {
	company := make([]Member, members)
	for i := range company {
		company[i] = Newcomer{Name: fmt.Sprintf("member-%d", i+1), HP: 4, STR: 10, Gear: 4}.Member(rs)
	}
	return company
}

// FindRoute returns the way from one hex to another on which food lasts longest: the one with the least sum of chances that
// a check steps the largest die down, roads and, with a boat, rivers downstream included. Of equal ways it is one with the
// fewest hexes. Refused: OFF_MAP.
func FindRoute(rs *Ruleset, m *Map, from, to Hex, boat bool) ([]Hex, error) {
	for field, h := range map[string]Hex{"from": from, "to": to} {
		if m.terrain(h) == "" {
			return nil, play.Refuse(OffMap, "(%d,%d) is not on the map", h.Q, h.R).At(field)
		}
	}
	terrains := map[Hex]string{}
	for _, h := range m.Hexes {
		terrains[Hex{h.Q, h.R}] = h.Terrain
	}
	type way struct {
		cost  float64
		steps int
		from  Hex
		done  bool
	}
	ways, largest := map[Hex]*way{from: {}}, dieSides(rs.DieChain[0])
	t := &turn{Journey: Journey{Ruleset: rs, Map: m, Boat: boat}}
	// The edge of what is known, in the order in which it became known, so that the answer does not depend on chance.
	edge := []Hex{from}
	for {
		if len(edge) == 0 {
			return nil, play.Refuse(OffMap, "no way leads from (%d,%d) to (%d,%d)", from.Q, from.R, to.Q, to.R).At("to")
		}
		nearest := 0
		for i, h := range edge {
			if w, least := ways[h], ways[edge[nearest]]; w.cost < least.cost || w.cost == least.cost && w.steps < least.steps {
				nearest = i
			}
		}
		at := edge[nearest]
		best := ways[at]
		edge = slices.Delete(edge, nearest, nearest+1)
		if best.done = true; at == to {
			break
		}
		for _, next := range at.neighbours() {
			terrain := terrains[next]
			if terrain == "" {
				continue
			}
			n, keep := rs.checkFor(terrain, t.way(at, next) != RouteTerrain)
			chance, _ := rs.StepDownChance(largest, n, keep).Float64()
			w := &way{cost: best.cost + chance, steps: best.steps + 1, from: at}
			old := ways[next]
			if old == nil {
				edge = append(edge, next)
			}
			if old == nil || !old.done && (w.cost < old.cost || w.cost == old.cost && w.steps < old.steps) {
				ways[next] = w
			}
		}
	}
	route := []Hex{to}
	for at := to; at != from; {
		at = ways[at].from
		route = append(route, at)
	}
	slices.Reverse(route)
	return route, nil
}

// RoundsPerDay is how many rounds make a day (DDW-STARVE-05).
func (rs *Ruleset) RoundsPerDay() int { return rs.int("starve.rounds_per_day") }

// neighbours in the order of DDW-MOVE-05.
func (h Hex) neighbours() [6]Hex {
	return [6]Hex{
		{h.Q + 1, h.R}, {h.Q + 1, h.R - 1}, {h.Q, h.R - 1}, {h.Q - 1, h.R}, {h.Q - 1, h.R + 1}, {h.Q, h.R + 1},
	}
}

// Simulator plays trips with the engine that real journeys use. It is safe for concurrent use.
type Simulator struct {
	trip  Trip
	begun Journey
	// settlements are those that stand open in each hex of the route.
	settlements []string
	smallest    int
}

// NewSimulator refuses a trip that cannot be made, naming its field: INVALID, NOT_ADJACENT, OFF_MAP, and as [Start].
func NewSimulator(rs *Ruleset, trip Trip) (*Simulator, error) {
	if trip.Policy == "" {
		trip.Policy = March
	}
	if !slices.Contains(Policies, trip.Policy) {
		return nil, invalid("policy", "%q is none of %v", trip.Policy, Policies)
	}
	if len(trip.Route) < 2 || len(trip.Route) > MaxRoute {
		return nil, invalid("route", "a route has 2 to %d hexes", MaxRoute)
	}
	s := &Simulator{trip: trip, smallest: rs.smallest()}
	for i, h := range trip.Route {
		if i > 0 && !trip.Route[i-1].Adjoins(h) {
			return nil, play.Refuse(NotAdjacent, "(%d,%d) does not adjoin the hex before", h.Q, h.R).At(fmt.Sprintf("route[%d]", i))
		}
		if trip.Map.terrain(h) == "" {
			return nil, play.Refuse(OffMap, "(%d,%d) is not on the map", h.Q, h.R).At(fmt.Sprintf("route[%d]", i))
		}
		at := ""
		for _, l := range trip.Map.Locations {
			if l.Kind == KindSettlement && l.Hex == h && l.Visible {
				at = l.ID
			}
		}
		s.settlements = append(s.settlements, at)
	}
	t := &turn{dice: play.ForgetfulDice(nil)}
	if err := (Start{
		Ruleset: rs, Map: trip.Map, Hex: &trip.Route[0], Members: trip.Members, Food: trip.Food, Gold: trip.Gold, Boat: trip.Boat,
	}).decide(t); err != nil {
		return nil, err
	}
	s.begun = t.Journey
	return s, nil
}

// Leg is what one step of the route is like.
type Leg struct {
	Hex     Hex
	Via     Route
	Terrain string
}

// Legs returns the steps of the route, one less than its hexes.
func (s *Simulator) Legs() []Leg {
	var out []Leg
	t := &turn{Journey: s.begun}
	for i := 1; i < len(s.trip.Route); i++ {
		from, to := s.trip.Route[i-1], s.trip.Route[i]
		out = append(out, Leg{to, t.way(from, to), s.trip.Map.terrain(to)})
	}
	return out
}

// Simulated is how one journey went.
type Simulated struct {
	Outcome string
	// Rounds of the journey, forage attempts and hungry rounds among them.
	Rounds, Forages, Hungry int
	// Encounters that were met, Dead members.
	Encounters, Dead int
	// Food on arrival, the oldest die first.
	Food []int
	// Steps of the route that were taken, one for each hex that the company came to.
	Steps []SimulatedStep
}

// SimulatedStep is the state after one step of the route.
type SimulatedStep struct {
	// Food is the sum of the sides of the food dice, 0 without food.
	Food int
	// Living members.
	Living int
}

// Player plays one journey after the other in the same room. It is not safe for concurrent use; each worker has its own.
type Player struct {
	sim *Simulator
	t   turn
	out Simulated
}

// Player returns a player that takes its chance from faces.
func (s *Simulator) Player(faces Faces) *Player {
	return &Player{sim: s, t: turn{dice: play.ForgetfulDice(faces)}}
}

// Play plays the next journey. The lists that it tells of are valid until the next call.
func (p *Player) Play() (Simulated, error) {
	p.out = Simulated{Steps: p.out.Steps[:0]}
	p.t.Journey, p.t.events = p.sim.begun.clone(), p.t.events[:0]
	route := p.sim.trip.Route
	for i := 0; i < len(route)-1 && p.t.Living() > 0; i++ {
		if err := errors.Join(p.buy(p.sim.settlements[i]), p.forage()); err != nil {
			return p.out, err
		}
		if p.t.Living() == 0 {
			break
		}
		if err := p.do(Move{To: route[i+1]}); err != nil {
			return p.out, err
		}
		step := SimulatedStep{Living: p.t.Living()}
		for _, sides := range p.t.Food {
			step.Food += sides
		}
		p.out.Steps = append(p.out.Steps, step)
	}
	switch {
	case p.t.Living() == 0:
		p.out.Outcome = Perished
	case len(p.t.Food) > 0:
		p.out.Outcome = ArrivedFed
	default:
		p.out.Outcome = ArrivedHungry
	}
	p.out.Rounds, p.out.Food, p.out.Dead = p.t.Round, p.t.Food, len(p.t.Members)-p.t.Living()
	return p.out, p.t.dice.Close()
}

// forage forages as the policy has it, at most maxAttempts times in one hex.
func (p *Player) forage() error {
	for range maxAttempts {
		low := len(p.t.Food) == 0 || p.sim.trip.Policy == ForageWhenLow && len(p.t.Food) == 1 && p.t.Food[0] == p.sim.smallest
		if p.sim.trip.Policy == March || !low || p.t.Living() == 0 {
			return nil
		}
		p.out.Forages++
		if err := p.do(Forage{}); err != nil {
			return err
		}
	}
	return nil
}

// buy buys food in a settlement for as long as there are gold and room.
func (p *Player) buy(settlement string) error {
	if settlement == "" || p.t.Gold == 0 || p.t.Living() == 0 {
		return nil
	}
	if err := p.do(Enter{Location: settlement}); err != nil {
		return err
	}
	for {
		err := p.do(BuyFood{Steps: 1})
		var r *play.Refusal
		switch {
		case errors.As(err, &r) && slices.Contains([]string{MaxFood, NoGold, NoRoom}, r.Code):
			return p.do(Leave{})
		case err != nil:
			return err
		}
	}
}

// do gives one command and counts what it brings.
func (p *Player) do(c Command) error {
	p.t.events = p.t.events[:0]
	if err := c.decide(&p.t); err != nil {
		return err
	}
	for _, e := range p.t.events {
		switch e.(type) {
		case Hungered:
			p.out.Hungry++
		case EncounterMet:
			p.out.Encounters++
		}
	}
	return nil
}
