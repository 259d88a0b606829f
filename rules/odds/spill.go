package odds

import "math/big"

// MaxSpillDice is how many dice a spill may roll.
const MaxSpillDice = 1000

// SpillRules are the Danger Pool's parameters that matter for the odds.
type SpillRules struct {
	// EventSides of the event die, and the event that greater totals become too.
	EventSides, LastEvent int
	// DeadlyFrom is how many ones are DEADLY, 2 or more; severity_deadly_from.
	DeadlyFrom int
	// PerOne rolls one event for each 1, without the others' addition; events_per_spill=PER_ONE.
	PerOne bool
}

// DefaultSpillRules are a d12 for 12 events, and DEADLY from three ones on.
func DefaultSpillRules() SpillRules { return SpillRules{EventSides: 12, LastEvent: 12, DeadlyFrom: 3} }

// Severity of a spill's events (POOL-SEV-01 to -03).
type Severity int

// The severities, by the number of ones.
const (
	None Severity = iota
	Minor
	Moderate
	Deadly
)

// SpillOdds are the odds of one spill.
type SpillOdds struct {
	// Ones is how many dice show 1.
	Ones Dist
	// Severities, from None to Deadly.
	Severities [4]*big.Rat
	// Events is the chance of each event, by its number from 1; at 0 that none comes. With PerOne several may come.
	Events []*big.Rat
	// EventSeverities is the chance of each event at each severity.
	EventSeverities [][4]*big.Rat
	// Count is how many events the spill brings.
	Count Dist
	// Last is how many of them are the last event, Combat.
	Last Dist
}

// Spill computes one spill of so many dice. It fails with BAD_ODDS.
func Spill(dice int, rules SpillRules) (SpillOdds, error) {
	switch {
	case dice < 0 || dice > MaxSpillDice:
		return SpillOdds{}, bad("dice", "dice must be 0 to %d", MaxSpillDice)
	case rules.EventSides < 1 || rules.EventSides > 1000:
		return SpillOdds{}, bad("event_sides", "event_sides must be 1 to 1000")
	case rules.LastEvent < 1 || rules.LastEvent > 1000:
		return SpillOdds{}, bad("last_event", "last_event must be 1 to 1000")
	case rules.DeadlyFrom < 2:
		return SpillOdds{}, bad("deadly_from", "deadly_from must be 2 or more")
	}
	ones, err := Faces(1, 0, 0, 0, 0, 0).Times(dice)
	if err != nil {
		return SpillOdds{}, err
	}
	o := SpillOdds{Ones: ones, Count: ones, EventSeverities: make([][4]*big.Rat, rules.LastEvent+1)}
	for e := range o.EventSeverities {
		for s := range o.EventSeverities[e] {
			o.EventSeverities[e][s] = new(big.Rat)
		}
	}
	var last []*big.Rat // chance of so many last events
	add := func(at, chance *big.Rat) { at.Add(at, chance) }
	for i := range ones.Len() {
		k, chance := ones.At(i)
		s := severity(int(k), rules)
		for int(k) >= len(last) || len(last) < 2 {
			last = append(last, new(big.Rat))
		}
		switch {
		case k == 0:
			add(o.EventSeverities[0][None], chance)
			add(last[0], chance)
		case rules.PerOne:
			rules.perOne(int(k), chance, o.EventSeverities, last, s)
		default:
			each := new(big.Rat).Mul(chance, big.NewRat(1, int64(rules.EventSides)))
			for face := 1; face <= rules.EventSides; face++ {
				event := min(face+int(k)-1, rules.LastEvent)
				add(o.EventSeverities[event][s], each)
				add(last[b2i(event == rules.LastEvent)], each)
			}
		}
	}
	if !rules.PerOne {
		if o.Count, err = ones.Map(func(k int64) (int64, error) { return min(k, 1), nil }); err != nil {
			return SpillOdds{}, err
		}
	}
	o.Last = ofRats(last...)
	for s := range o.Severities {
		o.Severities[s] = new(big.Rat)
	}
	for i := range ones.Len() {
		k, chance := ones.At(i)
		add(o.Severities[severity(int(k), rules)], chance)
	}
	for _, row := range o.EventSeverities {
		sum := new(big.Rat)
		for _, r := range row {
			add(sum, r)
		}
		o.Events = append(o.Events, sum)
	}
	return o, nil
}

// perOne adds what k event dice bring: each event with the chance that one of them shows it, and how many are the last.
func (rules SpillRules) perOne(k int, chance *big.Rat, events [][4]*big.Rat, last []*big.Rat, s Severity) {
	one := big.NewRat(1, 1)
	power := func(p *big.Rat, n int) *big.Rat {
		out := big.NewRat(1, 1)
		for range n {
			out.Mul(out, p)
		}
		return out
	}
	p := big.NewRat(1, int64(rules.EventSides))
	for e := 1; e <= rules.LastEvent; e++ {
		q := new(big.Rat).Set(p)
		switch {
		case e == rules.LastEvent:
			q = big.NewRat(int64(max(0, rules.EventSides-e+1)), int64(rules.EventSides))
		case e > rules.EventSides:
			q = new(big.Rat)
		}
		never := power(new(big.Rat).Sub(one, q), k)
		never.Sub(one, never)
		events[e][s].Add(events[e][s], never.Mul(never, chance))
		if e < rules.LastEvent {
			continue
		}
		for n := 0; n <= k; n++ {
			c := new(big.Rat).SetInt(new(big.Int).Binomial(int64(k), int64(n)))
			c.Mul(c, power(q, n))
			c.Mul(c, power(new(big.Rat).Sub(one, q), k-n))
			last[n].Add(last[n], c.Mul(c, chance))
		}
	}
}

func severity(ones int, rules SpillRules) Severity {
	switch {
	case ones == 0:
		return None
	case ones >= rules.DeadlyFrom:
		return Deadly
	case ones == 1:
		return Minor
	}
	return Moderate
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}
