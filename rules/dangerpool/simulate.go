package dangerpool

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/wayfarer-rpg/wayfarer/rules/play"
)

// Faces gives the face of a die with that many sides, 1 to sides. Simulations take their chance from it alone.
type Faces func(sides int) int

// Policy is a way of exploring for simulations.
type Policy string

// The policies. In all of them each leg is a MOVE and an INTERACT while the table takes its time; an event that is a combat
// is fought at once, and the action that is free afterwards is an INTERACT (POOL-COMBAT-05).
const (
	// Steady rests briefly after a fight, hunkered down (POOL-REST-02).
	Steady Policy = "steady"
	// Careful is Steady, and turns back at the first DEADLY event.
	Careful Policy = "careful"
	// Loud is Steady, and takes a risk with every INTERACT (POOL-ADD-04).
	Loud Policy = "loud"
	// InTheOpen rests in the open (POOL-REST-01).
	InTheOpen Policy = "open"
	// Restless never rests.
	Restless Policy = "restless"
)

// Policies lists the policies.
var Policies = []Policy{Steady, Careful, Loud, InTheOpen, Restless}

// The outcomes of a simulated expedition.
const (
	// Finished took every leg, or every step of a script.
	Finished = "finished"
	// TurnedBack left at a DEADLY event.
	TurnedBack = "turned_back"
	// WentDark left when the last light was out.
	WentDark = "went_dark"
)

// Outcomes lists the outcomes.
var Outcomes = []string{Finished, TurnedBack, WentDark}

// MaxLegs bounds the legs of an expedition, and the steps of a script.
const MaxLegs = 1000

// maxTorches bounds the torches carried.
const maxTorches = MaxLights

// Expedition is what a simulation plays.
type Expedition struct {
	// Policy is how the expedition goes about it; empty means steady.
	Policy Policy
	// Legs is how many areas are gone into, 0 to MaxLegs.
	Legs int
	// LegMinutes are the real minutes that the table takes for each leg, FightMinutes for a fight; 0 to MaxMinutes.
	LegMinutes, FightMinutes int
	// FightRounds are the rounds of a fight, 0 to MaxRounds.
	FightRounds int
	// Torches are carried, the first one lit; a spare is lit when one burns down. 0: nobody needs light.
	Torches int
	// Script, when there is one, is played instead of a policy's legs, see [ParseScript].
	Script []Command
}

// DefaultExpedition is what simulations play when nothing else is said: twelve legs of five minutes at the table, ten
// torches, fights of 25 minutes and 10 rounds, as in the catalogue's worked examples.
func DefaultExpedition() Expedition {
	return Expedition{Policy: Steady, Legs: 12, LegMinutes: 5, FightMinutes: 25, FightRounds: 10, Torches: 10}
}

// ParseScript reads triggers by the catalogue's words, in any case, each with its number if it has one: "MOVE", "RISK",
// "WAIT 30", "LONG_REST", "COMBAT_ROUNDS 10". It refuses what is no trigger as INVALID at script[i].
func ParseScript(words []string) ([]Command, error) {
	var out []Command
	for i, w := range words {
		at := fmt.Sprintf("script[%d]", i)
		parts := strings.Fields(strings.ToUpper(strings.ReplaceAll(w, "-", "_")))
		if len(parts) == 0 || len(parts) > 2 {
			return nil, invalid(at, "a step is a trigger, with its number if it has one")
		}
		s := Step{Trigger: parts[0]}
		if len(parts) == 2 {
			n, err := strconv.Atoi(parts[1])
			if err != nil {
				return nil, invalid(at, "%q is no number", parts[1])
			}
			s.Minutes = &n
			if s.Trigger == TriggerCombatRounds {
				s.Minutes, s.Rounds = nil, &n
			}
		}
		// What needs names is part of an expedition, not of a script.
		if c := s.Command(); c == nil || len(stepFields[s.Trigger]) > 0 && strings.HasPrefix(stepFields[s.Trigger][0], "id") || s.Trigger == TriggerLeave {
			return nil, invalid(at, "%q is no step of a script", parts[0])
		}
		if err := s.check(); err != nil {
			return nil, invalid(at, "%s", err)
		}
		out = append(out, s.Command())
	}
	return out, nil
}

// Simulator plays expeditions with the engine that real delves use. It is safe for concurrent use.
type Simulator struct {
	expedition Expedition
	begun      Delve
}

// NewSimulator refuses an expedition that cannot be played as INVALID, naming its field.
func NewSimulator(rs *Ruleset, e Expedition) (*Simulator, error) {
	if e.Policy == "" {
		e.Policy = Steady
	}
	if !slices.Contains(Policies, e.Policy) {
		return nil, invalid("policy", "%q is none of %v", e.Policy, Policies)
	}
	for _, err := range []error{
		within("legs", e.Legs, 0, MaxLegs), within("leg_minutes", e.LegMinutes, 0, MaxMinutes), within("fight_minutes", e.FightMinutes, 0, MaxMinutes),
		within("fight_rounds", e.FightRounds, 0, MaxRounds), within("torches", e.Torches, 0, maxTorches), within("script", len(e.Script), 0, MaxLegs),
	} {
		if err != nil {
			return nil, err
		}
	}
	if e.Legs == 0 && len(e.Script) == 0 {
		return nil, invalid("legs", "an expedition has legs or a script")
	}
	var lights []Carried
	for i := range e.Torches {
		lights = append(lights, Carried{ID: torch(i), Source: Torch, Active: i == 0})
	}
	t := &turn{dice: play.ForgetfulDice(nil)}
	for _, c := range []Command{
		Open{Ruleset: rs, Map: &Map{Title: "A dungeon"}, Entry: "the way in", InvokedBy: ByGameLoop},
		RecordMembers{}, RecordProvisions{Note: "provisions"}, RecordLights{Lights: lights}, Begin{},
	} {
		if _, note := c.(RecordProvisions); note && !rs.ProvisionsNeeded() {
			continue
		}
		if err := c.decide(t); err != nil {
			return nil, err
		}
	}
	return &Simulator{expedition: e, begun: t.Delve}, nil
}

func torch(i int) string { return "torch-" + strconv.Itoa(i+1) }

// Simulated is how one expedition went.
type Simulated struct {
	Outcome string
	// Legs that were gone into, 0 for a script.
	Legs int
	// Dice that came into the pool, and the in-game minutes that passed.
	Dice, Minutes int
	// Spills by severity in the order of [Ruleset.SeverityNames], Events by their number from 0.
	Spills []int
	Events []int
	// Torches that burned down.
	Torches int
}

// SeverityNames are the names of the severities, from none to the deadliest (POOL-SEV-01 to -03).
func (rs *Ruleset) SeverityNames() []string {
	return append([]string{SeverityNone}, param[[]string](rs, paramSeverityNames)...)
}

// Player plays one expedition after the other in the same room. It is not safe for concurrent use; each worker has its own.
type Player struct {
	sim        *Simulator
	t          turn
	out        Simulated
	severities []string
	// combats are events that wait to be fought.
	combats int
}

// Player returns a player that takes its chance from faces.
func (s *Simulator) Player(faces Faces) *Player {
	return &Player{
		sim: s, t: turn{dice: play.ForgetfulDice(faces)},
		severities: s.begun.Ruleset.SeverityNames(),
	}
}

// errLeave stops an expedition that leaves before its end.
var errLeave = errors.New("the expedition leaves")

// Play plays the next expedition. The lists that it tells of are valid until the next call.
func (p *Player) Play() (Simulated, error) {
	p.out = Simulated{
		Outcome: Finished, Spills: append(p.out.Spills[:0], make([]int, len(p.severities))...),
		Events: append(p.out.Events[:0], make([]int, p.sim.begun.Ruleset.EventCap+1)...),
	}
	p.t.Delve, p.t.events, p.t.calls, p.combats = p.sim.begun.clone(), p.t.events[:0], nil, 0
	play := p.legs
	if len(p.sim.expedition.Script) > 0 {
		play = p.script
	}
	err := play()
	if errors.Is(err, errLeave) {
		err = nil
	}
	p.out.Dice, p.out.Minutes = p.t.Ever, p.t.Elapsed()
	return p.out, errors.Join(err, p.t.dice.Close())
}

func (p *Player) script() error {
	for i, c := range p.sim.expedition.Script {
		if err := p.do(c); err != nil {
			var r *play.Refusal
			if errors.As(err, &r) {
				return r.On(fmt.Sprintf("script[%d]", i))
			}
			return err
		}
	}
	return nil
}

func (p *Player) legs() error {
	e := &p.sim.expedition
	for range e.Legs {
		p.out.Legs++
		for _, c := range []Command{
			Act{Action: TriggerMove}, PassTime{Minutes: e.LegMinutes}, Act{Action: TriggerInteract, Risky: e.Policy == Loud},
		} {
			if err := p.step(c); err != nil {
				return err
			}
		}
	}
	return nil
}

// step does something, fights whatever comes of it, rests, and sees to the light.
func (p *Player) step(c Command) error {
	if err := p.do(c); err != nil {
		return err
	}
	for p.combats > 0 {
		p.combats--
		for _, c := range []Command{
			StartCombat{}, FightRounds{Rounds: p.sim.expedition.FightRounds}, PassTime{Minutes: p.sim.expedition.FightMinutes}, EndCombat{},
			Act{Action: TriggerInteract},
		} {
			if err := p.do(c); err != nil {
				return err
			}
		}
		if p.combats > 0 || p.sim.expedition.Policy == Restless {
			continue
		}
		if p.sim.expedition.Policy != InTheOpen && !p.t.Hunkered {
			if err := p.do(Act{Action: TriggerHunkerDown}); err != nil {
				return err
			}
		}
		if err := p.do(Rest{}); err != nil {
			return err
		}
	}
	return nil
}

// do gives one command and counts what it brings.
func (p *Player) do(c Command) error {
	p.t.events, p.t.spills = p.t.events[:0], 0
	if err := c.decide(&p.t); err != nil {
		return err
	}
	deadly := len(p.severities) - 1
	before := p.out.Spills[deadly]
	for _, e := range p.t.events {
		if s, ok := e.(Spilled); ok {
			p.spilled(s)
		}
	}
	e := &p.sim.expedition
	if p.out.Spills[deadly] > before && e.Policy == Careful && len(e.Script) == 0 {
		p.out.Outcome = TurnedBack
		return errLeave
	}
	return p.light()
}

func (p *Player) spilled(s Spilled) {
	p.out.Spills[slices.Index(p.severities, s.Severity)]++
	for _, e := range s.Events {
		p.out.Events[e.Final]++
		if e.Final == p.t.Ruleset.EventCap {
			p.combats++
		}
	}
}

// light lights a spare when no torch burns.
func (p *Player) light() error {
	e := &p.sim.expedition
	if !p.t.Darkness() || p.out.Torches >= e.Torches {
		return nil
	}
	p.out.Torches++
	switch {
	case p.out.Torches < e.Torches:
		return SwitchLight{ID: torch(p.out.Torches), On: true}.decide(&p.t)
	case len(e.Script) > 0:
		return nil
	}
	p.out.Outcome = WentDark
	return errLeave
}
