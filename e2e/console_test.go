package e2e

import (
	"strings"
	"testing"
)

const console = "console.v1.ConsoleService/"

// say gives a line, which has to be played, and returns the whole answer.
func (t *table) say(user, character, line string) object {
	t.tb.Helper()
	req := object{"campaign": t.campaign, "line": line}
	if character != "" {
		req = req.With("character", t.character(character))
	}
	return t.do(user, console+"Execute", req)
}

// TestAnExpeditionByLines: what belongs to an expedition is played through it, though no line says so.
func TestAnExpeditionByLines(t *testing.T) {
	t.Parallel()
	g := newTable(t, "lines", "ada", "bram")
	g.importDefinitions()
	for _, p := range []string{"ada", "bram"} {
		g.player(p, p)
	}
	g.do("gm", companies+"CreateCompany", object{
		"parent": g.campaign, "companyId": "walkers", "title": "The Walkers", "pack": object{"gold": 60, "food": []int{20}},
		"travelers": []object{{"character": g.character("ada")}, {"character": g.character("bram")}},
	})
	g.say("ada", "ada", "+party/create 1")
	g.say("bram", "bram", "+party/join ada")
	want := func(answer object, pieces ...string) {
		t.Helper()
		for _, p := range pieces {
			if !strings.Contains(answer.Text("text"), p) {
				t.Errorf("there is no %q in:\n%s", p, answer.Text("text"))
			}
		}
	}
	want(g.say("ada", "ada", `+expedition/create The long way company="the walkers"`), "The long way: assembling.")
	start := g.say("ada", "ada", `+travel/start walkers hex=0,0 expedition="long way"`)
	want(start, "set out in 0,0")
	expedition := start.Text("result.journey.expedition")
	if expedition == "" || !strings.HasSuffix(start.Text("result.@type"), "travel.v1.StartJourneyResponse") {
		t.Fatalf("the journey is of no expedition: %v", start)
	}
	want(g.say("bram", "bram", "+expedition"), "The long way: traveling.")

	// A line under the same id is one step, through the workflow, too.
	step := object{"campaign": g.campaign, "character": g.character("ada"), "line": "+travel/move se", "requestId": "step"}
	first := g.do("ada", console+"Execute", step)
	if again := g.do("ada", console+"Execute", step); jsonOf(t, again) != jsonOf(t, first) {
		t.Errorf("the step is answered %v, and again %v", first, again)
	}
	want(g.say("ada", "ada", "+travel/move nw"), "Round 2:", "By road into 0,0")

	// A run of the party in the hamlet is part of the expedition.
	want(g.say("ada", "ada", "+travel/enter hamlet"), "The company enters The hamlet.")
	run := g.say("ada", "ada", "+dungeon/enter")
	want(run, "ada leads", "Round 1:")
	if run.Text("result.run.expedition") != expedition {
		t.Errorf("the run is of %q, not of %q", run.Text("result.run.expedition"), expedition)
	}
	want(g.say("bram", "", "+expedition long way"), "The long way: delving.")
	ability := run.Text("result.run.challenge.ability")
	g.say("ada", "ada", "+act "+ability)
	g.say("bram", "bram", "+risk "+ability)
	want(g.say("ada", "ada", "+act/complete"), "Round 1 is ")
	want(g.say("ada", "ada", "+dungeon/abandon"), "The run is over: given up.")
	g.say("ada", "ada", "+travel/leave")
	want(g.say("ada", "ada", "+travel/end"), "The journey is over")
	want(g.say("ada", "ada", "+expeditions"), "No expedition is under way.")
}
