package diedrop

import (
	"encoding/json"
	"testing"

	"github.com/wayfarer-rpg/wayfarer/rules/play"
)

// A simulated journey is what the same commands and dice make of a real one: the laboratory has no rules of its own.
func TestSimulationsPlayAsJourneysDo(t *testing.T) {
	t.Parallel()
	rs, m := Default(), ExampleMap()
	route, err := FindRoute(rs, m, Hex{0, 0}, Hex{6, 6}, false)
	if err != nil {
		t.Fatal(err)
	}
	members := DefaultCompany(rs, 3)
	sim, err := NewSimulator(rs, Trip{Policy: March, Map: m, Route: route, Members: members, Food: []int{10, 4}})
	if err != nil {
		t.Fatal(err)
	}
	state := uint64(7)
	var rolled []int
	p := sim.Player(func(sides int) int {
		state = state*6364136223846793005 + 1442695040888963407
		face := int(state>>33)%sides + 1 //nolint:gosec // small
		rolled = append(rolled, face)
		return face
	})
	for run := range 100 {
		rolled = rolled[:0]
		out, err := p.Play()
		if err != nil {
			t.Fatal(err)
		}
		dice := play.ReportedDice(rolled...)
		commands := []Command{Start{Ruleset: rs, Map: m, Hex: &route[0], Members: members, Food: []int{10, 4}}}
		for _, to := range route[1:] {
			commands = append(commands, Move{To: to})
		}
		j := Journey{}
		for _, c := range commands {
			events, err := Decide(j, c, dice)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range events {
				j = Apply(j, e)
			}
		}
		if err := dice.Close(); err != nil {
			t.Fatal(err)
		}
		want, _ := json.Marshal(j.View())
		got, _ := json.Marshal(p.t.View())
		if string(got) != string(want) || out.Rounds != j.Round || len(out.Steps) != len(route)-1 {
			t.Fatalf("run %d: %+v\nsimulated %s\nplayed    %s", run, out, got, want)
		}
	}
}
