package dangerpool

import (
	"encoding/json"
	"testing"

	"github.com/wayfarer-rpg/wayfarer/rules/play"
)

// A simulated expedition is what the same commands and dice make of a real delve: the laboratory has no rules of its own.
func TestSimulationsPlayAsDelvesDo(t *testing.T) {
	t.Parallel()
	script, err := ParseScript([]string{
		"MOVE", "INTERACT", "RISK", "WAIT 25", "REAL_TIME 14", "COMBAT_START", "COMBAT_ROUNDS 10", "REAL_TIME 25", "COMBAT_END", "INTERACT",
		"HUNKER_DOWN", "SHORT_REST", "WAIT 90", "LEAVE_HUNKER", "LONG_REST", "MOVE",
	})
	if err != nil {
		t.Fatal(err)
	}
	sim, err := NewSimulator(Default(), Expedition{Script: script})
	if err != nil {
		t.Fatal(err)
	}
	state := uint64(1)
	var rolled []int
	p := sim.Player(func(sides int) int {
		state = state*6364136223846793005 + 1442695040888963407
		face := int(state>>33)%sides + 1 //nolint:gosec // small
		rolled = append(rolled, face)
		return face
	})
	for run := range 50 {
		rolled = rolled[:0]
		out, err := p.Play()
		if err != nil {
			t.Fatal(err)
		}
		d, dice, spills := sim.begun, play.ReportedDice(rolled...), 0
		for _, c := range script {
			events, err := Decide(d, c, dice)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range events {
				d = Apply(d, e)
				if _, ok := e.(Spilled); ok {
					spills++
				}
			}
		}
		if err := dice.Close(); err != nil {
			t.Fatal(err)
		}
		want, _ := json.Marshal(d)
		got, _ := json.Marshal(p.t.Delve)
		if string(got) != string(want) {
			t.Fatalf("run %d:\nsimulated %s\nplayed    %s", run, got, want)
		}
		counted := 0
		for _, n := range out.Spills {
			counted += n
		}
		if counted != spills || out.Dice != d.Ever || out.Minutes != d.Elapsed() {
			t.Fatalf("run %d: %+v of %d spills, %d dice, %d minutes", run, out, spills, d.Ever, d.Elapsed())
		}
	}
}
