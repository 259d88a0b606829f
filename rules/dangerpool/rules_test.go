package dangerpool

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/wayfarer-rpg/wayfarer/rules/play"
)

// rules are tests of catalogue rows. Each name begins with the ids that it proves.
type rules map[string]func(t *testing.T)

func (r rules) run(t *testing.T) {
	t.Helper()
	for name, test := range r {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t)
		})
	}
}

func eq[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func ptr[T any](v T) *T { return &v }

// params are overrides of the ruleset.
type params map[string]any

// with returns the shipped ruleset with overrides.
func with(t *testing.T, p params) *Ruleset {
	t.Helper()
	rs, err := Default().With(p)
	if err != nil {
		t.Fatal(err)
	}
	return rs
}

var three = []Member{
	{Name: "Brenna", Kind: "PC", Rank: "FRONT"}, {Name: "Odo", Kind: "HENCHMAN", Rank: "MIDDLE"}, {Name: "wolf", Kind: "SUMMONED", Rank: "REAR"},
}

// torches are lit torches of these names.
func torches(ids ...string) []Carried {
	var out []Carried
	for _, id := range ids {
		out = append(out, Carried{ID: id, Source: Torch, Active: true})
	}
	return out
}

// opened is a delve before its setup, on a map without areas.
func opened(t *testing.T, p params) Delve {
	t.Helper()
	return do(t, Delve{}, Open{Ruleset: with(t, p), Map: &Map{Title: "The Drowned Stair"}, Entry: "the well", InvokedBy: ByGameLoop})
}

// ready is a delve whose setup is recorded: it waits for its first area.
func ready(t *testing.T, p params, lights []Carried, spells ...Spell) Delve {
	t.Helper()
	d := do(t, opened(t, p), RecordMembers{three})
	return do(t, do(t, d, RecordProvisions{"6 rations"}), RecordLights{lights, spells})
}

// begun is a delve under way.
func begun(t *testing.T, p params, lights []Carried, spells ...Spell) Delve {
	t.Helper()
	return do(t, ready(t, p, lights, spells...), Begin{})
}

// decide decides a command whose dice show these faces and then sixes, and checks on the way what holds for every
// command: the old state stays as it was, and a refusal leaves nothing.
func decide(t *testing.T, d Delve, c Command, faces ...int) (Delve, []Event, *play.Dice, *play.Refusal) {
	t.Helper()
	before := snapshot(d)
	rest := slices.Clone(faces)
	dice := play.NewDice(func(sides int) (int, error) {
		if len(rest) == 0 {
			return min(6, sides), nil
		}
		face := rest[0]
		rest = rest[1:]
		return face, nil
	})
	events, err := Decide(d, c, dice)
	if snapshot(d) != before {
		t.Fatalf("%T changed the state that it was decided on", c)
	}
	if err != nil {
		var r *play.Refusal
		if !errors.As(err, &r) || len(events) > 0 || len(dice.Rolled()) > 0 {
			t.Fatalf("%T%+v: %v, with %d events and %d dice", c, c, err, len(events), len(dice.Rolled()))
		}
		return d, nil, dice, r
	}
	if err := dice.Close(); err != nil {
		t.Fatalf("%T%+v: %v", c, c, err)
	}
	if len(rest) > 0 {
		t.Fatalf("%T%+v left %v of the dice", c, c, rest)
	}
	next := fold(d, events)
	if snapshot(d) != before {
		t.Fatalf("folding %T changed the old state", c)
	}
	return next, events, dice, nil
}

// snapshot writes everything of a state that changes.
func snapshot(d Delve) string {
	d.Ruleset, d.Map = nil, nil
	return fmt.Sprintf("%+v", d)
}

// do plays a command that is allowed.
func do(t *testing.T, d Delve, c Command, faces ...int) Delve {
	t.Helper()
	next, _, _, refusal := decide(t, d, c, faces...)
	if refusal != nil {
		t.Fatalf("%T%+v is refused: %v", c, c, refusal)
	}
	return next
}

// refuse plays a command that is refused, and returns the field at fault.
func refuse(t *testing.T, d Delve, c Command, code string) string {
	t.Helper()
	_, _, _, refusal := decide(t, d, c)
	if refusal == nil || refusal.Code != code {
		t.Fatalf("%T%+v: refused with %v, want %s", c, c, refusal, code)
	}
	return refusal.Field
}

// step reads a step such as "WAIT 25", "LIGHT_ADD torch-2 TORCH" or "CAST ward 600" (seconds).
func step(t *testing.T, line string) Step {
	t.Helper()
	words := strings.Fields(line)
	s := Step{Trigger: words[0]}
	number := func(i int) *int {
		n, err := strconv.Atoi(words[i])
		if err != nil {
			t.Fatal(err)
		}
		return &n
	}
	switch s.Trigger {
	case TriggerRealTime, TriggerWait:
		s.Minutes = number(1)
	case TriggerCombatRounds:
		s.Rounds = number(1)
	case TriggerLightAdd:
		s.ID, s.Source = &words[1], &words[2]
	case TriggerCast:
		s.ID, s.Seconds = &words[1], number(2)
	case TriggerLightOn, TriggerLightOff, TriggerRefuel, TriggerSpellEnd:
		s.ID = &words[1]
	case TriggerLeave:
		s.Target = &words[1]
	default:
		if len(words) > 1 && words[1] == "keep" {
			s.UseFreeAction = ptr(false)
		}
	}
	if err := s.check(); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return s
}

// played plays steps of which the last has these faces, the others sixes; it returns what the last did.
func played(t *testing.T, d Delve, faces []int, lines ...string) (Delve, Result) {
	t.Helper()
	var r Result
	for i, line := range lines {
		s := step(t, line)
		var use []int
		if i == len(lines)-1 {
			use = faces
		}
		next, events, _, refusal := decide(t, d, s.Command(), use...)
		if refusal != nil {
			t.Fatalf("%s is refused: %v", line, refusal)
		}
		d, r = next, ResultOf(s.Trigger, events)
	}
	return d, r
}

// after plays steps whose dice show sixes.
func after(t *testing.T, d Delve, lines ...string) Delve {
	t.Helper()
	d, _ = played(t, d, nil, lines...)
	return d
}

// refusedStep tells that a step is refused.
func refusedStep(t *testing.T, d Delve, line, code string) {
	t.Helper()
	refuse(t, d, step(t, line).Command(), code)
}

// pools plays steps one by one and tells the pool after each.
func pools(t *testing.T, d Delve, lines ...string) (Delve, []int) {
	t.Helper()
	var out []int
	for _, line := range lines {
		d = after(t, d, line)
		out = append(out, d.Pool)
	}
	return d, out
}

// remaining tells what is left of each light, with "*" when it is lit.
func remaining(d Delve) string {
	var out []string
	for _, l := range d.Lights {
		mark := ""
		if l.Active {
			mark = "*"
		}
		out = append(out, fmt.Sprintf("%s %d%s", l.ID, l.Remaining, mark))
	}
	return strings.Join(out, ", ")
}

func spells(d Delve) string {
	var out []string
	for _, s := range d.Spells {
		out = append(out, fmt.Sprintf("%s %ds", s.ID, s.Seconds))
	}
	return strings.Join(out, ", ")
}

// spillOf is the one spill of a step.
func spillOf(t *testing.T, r Result) SpillView {
	t.Helper()
	if len(r.Spills) != 1 {
		t.Fatalf("%d spills: %+v", len(r.Spills), r)
	}
	return r.Spills[0]
}
