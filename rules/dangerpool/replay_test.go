package dangerpool

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/wayfarer-rpg/wayfarer/rules/play/transcript"
)

// file is a transcript file of one transcript with these fields.
func file(fields string) []byte {
	return []byte(`{"transcripts": [{"id": "X", ` + fields + `}]}`)
}

const (
	setup = `"setup": {"members": [{"name": "Brenna", "kind": "PC", "rank": "FRONT"}], "lights": [{"id": "torch", "source": "TORCH"}]}`
	five  = `{"trigger": "WAIT", "minutes": 50}`
)

func TestFilesThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ document, want string }{
		"nothing":                         {``, "no JSON"},
		"a list":                          {`[]`, "a list where an object belongs"},
		"cut short":                       {`{"transcripts": [`, "no JSON"},
		"an unknown field":                {`{"transcripts": [], "colour": 1}`, `"colour"`},
		"another case":                    {`{"Transcripts": []}`, `"Transcripts"`},
		"a field twice":                   {`{"transcripts": [], "transcripts": []}`, "twice"},
		"something behind it":             {`{"transcripts": []} {}`, "after the end"},
		"no id":                           {`{"transcripts": [{"steps": []}]}`, "transcripts[0].id"},
		"an id twice":                     {`{"transcripts": [{"id": "X"}, {"id": "X"}]}`, "transcripts[1].id"},
		"an unknown field of a setup":     {string(file(`"setup": {"mules": 2}`)), `transcripts[0].setup: there is no field "mules"`},
		"an unknown field of a member":    {string(file(`"setup": {"members": [{"name": "A", "hp": 3}]}`)), "members[0]"},
		"a spell with two lengths":        {string(file(`"setup": {"spells": [{"id": "a", "minutes": 1, "seconds": 60}]}`)), "setup.spells[0].minutes"},
		"a spell without a length":        {string(file(`"setup": {"spells": [{"id": "a"}]}`)), "setup.spells[0].minutes"},
		"an unknown parameter":            {string(file(`"params": {"luck": 3}`)), "params.luck"},
		"a parameter of another kind":     {string(file(`"params": {"pool_limit": "six"}`)), "params.pool_limit"},
		"an unknown trigger":              {string(file(`"steps": [{"trigger": "DANCE"}]`)), "steps[0].trigger"},
		"no trigger":                      {string(file(`"steps": [{"minutes": 5}]`)), "steps[0].trigger"},
		"an unknown argument":             {string(file(`"steps": [{"trigger": "MOVE", "to": "hall"}]`)), `steps[0]: there is no field "to"`},
		"an argument of another trigger":  {string(file(`"steps": [{"trigger": "MOVE", "minutes": 10}]`)), "steps[0].minutes: is no argument of MOVE"},
		"waiting without minutes":         {string(file(`"steps": [{"trigger": "WAIT"}]`)), "steps[0].minutes: is missing"},
		"waiting for null minutes":        {string(file(`"steps": [{"trigger": "WAIT", "minutes": null}]`)), "steps[0].minutes: is missing"},
		"half a minute":                   {string(file(`"steps": [{"trigger": "WAIT", "minutes": 0.5}]`)), "steps[0].minutes"},
		"a light without a source":        {string(file(`"steps": [{"trigger": "LIGHT_ADD", "id": "a"}]`)), "steps[0].source: is missing"},
		"a cast without a length":         {string(file(`"steps": [{"trigger": "CAST", "id": "a"}]`)), "steps[0].minutes"},
		"a cast with two lengths":         {string(file(`"steps": [{"trigger": "CAST", "id": "a", "minutes": 1, "seconds": 6}]`)), "steps[0].minutes"},
		"an event die of text":            {string(file(`"steps": [{"trigger": "MOVE", "spills": [{"pool": [], "d12": "9"}]}]`)), "d12"},
		"an unknown field of a spill":     {string(file(`"steps": [{"trigger": "MOVE", "spills": [{"faces": []}]}]`)), "steps[0].spills[0]"},
		"fewer states than steps":         {string(file(`"steps": [{"trigger": "MOVE"}, {"trigger": "MOVE"}], "expected": [{}]`)), "expected: 1 states for 2 steps"},
		"an unknown field of a state":     {string(file(`"steps": [{"trigger": "MOVE"}], "expected": [{"state": {"colour": 1}}]`)), "expected[0].state"},
		"an unknown field of a result":    {string(file(`"steps": [{"trigger": "MOVE"}], "expected": [{"result": {"colour": 1}}]`)), "expected[0].result"},
		"a way out that is no way for us": {string(file(`"steps": [{"trigger": "LEAVE"}]`)), "steps[0].target: is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := Replay([]byte(tc.document)); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want something with %q", err, tc.want)
			}
		})
	}
}

func TestTranscriptsThatCannotBePlayed(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ fields, want string }{
		"a rank that is none": {`"setup": {"members": [{"name": "A", "kind": "PC", "rank": "SIDE"}]}, "steps": []`, "transcript X: setup: INVALID"},
		"a light twice":       {`"setup": {"lights": [{"id": "a", "source": "TORCH"}, {"id": "a", "source": "TORCH"}]}`, "transcript X: setup: ID_TAKEN"},
		"a refused step":      {setup + `, "steps": [{"trigger": "MOVE"}, {"trigger": "COMBAT_END"}]`, "transcript X step 2: COMBAT_END: NOT_IN_COMBAT"},
		"a spill without its dice": {
			setup + `, "steps": [` + five + `, {"trigger": "MOVE"}]`, "transcript X step 2: MOVE: spills: 0 given, 1 happen",
		},
		"a spill that does not happen": {
			setup + `, "steps": [{"trigger": "MOVE", "spills": [{"pool": [2]}]}]`, "step 1: MOVE: spills: 1 given, 0 happen",
		},
		"too few dice": {
			setup + `, "steps": [` + five + `, {"trigger": "MOVE", "spills": [{"pool": [2, 2, 2, 2, 2]}]}]`, "spills[0].pool: 5 dice given, 6 in the pool",
		},
		"a die more": {
			setup + `, "steps": [` + five + `, {"trigger": "MOVE", "spills": [{"pool": [2, 2, 2, 2, 2, 2, 2]}]}]`, "spills[0].pool: 7 dice given, 6 in the pool",
		},
		"an event die without a one": {
			setup + `, "steps": [` + five + `, {"trigger": "MOVE", "spills": [{"pool": [2, 2, 2, 2, 2, 2], "d12": 3}]}]`, "spills[0].d12: 1 given, 0 needed for 0 ones",
		},
		"a one without an event die": {
			setup + `, "steps": [` + five + `, {"trigger": "MOVE", "spills": [{"pool": [2, 2, 1, 2, 2, 2]}]}]`, "spills[0].d12: 0 given, 1 needed for 1 ones",
		},
		"an event die for each one, where one is rolled": {
			setup + `, "steps": [` + five + `, {"trigger": "MOVE", "spills": [{"pool": [2, 1, 1, 2, 2, 2], "d12": [3, 4]}]}]`, "spills[0].d12: 2 given, 1 needed",
		},
		"a face that no die has": {
			setup + `, "steps": [` + five + `, {"trigger": "MOVE", "spills": [{"pool": [2, 7, 2, 2, 2, 2]}]}]`, "BAD_DICE",
		},
		"a thirteen on the event die": {
			setup + `, "steps": [` + five + `, {"trigger": "MOVE", "spills": [{"pool": [1, 2, 2, 2, 2, 2], "d12": 13}]}]`, "BAD_DICE",
		},
		"dice that only fit in the sum": {
			setup + `, "steps": [{"trigger": "WAIT", "minutes": 120, "spills": [{"pool": [2, 2, 2, 2, 2]}, {"pool": [2, 2, 2, 2, 2, 2, 2]}]}]`, "spills[0].pool",
		},
		"an event beyond the table": {
			setup + `, "steps": [` + five + `, {"trigger": "MOVE", "spills": [{"pool": [1, 2, 2, 2, 2, 2], "d12": 3, "override": 13}]}]`, "step 2: MOVE: INVALID",
		},
		"an event chosen where none may be": {
			setup + `, "params": {"event_override": "FORBIDDEN"}, "steps": [` + five + `, {"trigger": "MOVE", "spills": [{"pool": [1, 2, 2, 2, 2, 2], "d12": 3, "override": 1}]}]`,
			"OVERRIDE_FORBIDDEN",
		},
		"a spell of ages": {setup + `, "steps": [{"trigger": "CAST", "id": "a", "minutes": 999999999999}]`, "step 1: CAST: INVALID"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			played, err := Replay(file(tc.fields))
			if err != nil {
				t.Fatal(err)
			}
			if err := transcript.Faults(played); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want something with %q", err, tc.want)
			}
		})
	}
}

// What the shipped transcripts do not use, but the format allows.
func TestCornersOfTheFormat(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		fields string
		// result and state are places of the last step.
		result, state string
	}{
		"an unlit torch, a stub and a spell in seconds": {
			`"setup": {"members": [], "lights": [{"id": "a", "source": "TORCH", "active": false}, {"id": "b", "source": "TORCH", "active": true}], "spells": [{"id": "s", "seconds": 601}]}, "steps": [{"trigger": "MOVE"}]`,
			``, `"lights":[{"id":"a","source":"TORCH","remaining":6,"active":false},{"id":"b","source":"TORCH","remaining":5,"active":true}],"darkness":false,"spells":[{"id":"s","remaining_seconds":1,"dice_left":1}]`,
		},
		"nobody, nothing": {`"steps": [{"trigger": "RISK"}]`, `"dice_added":1`, `"lights":[],"darkness":true,"spells":[]`},
		"nulls":           {`"title": null, "params": null, "setup": {"members": null, "lights": null, "spells": null}, "steps": [{"trigger": "RISK", "spills": null, "minutes": null}]`, `"dice_added":1`, ``},
		"a free action declined, then taken": {
			`"steps": [{"trigger": "COMBAT_START"}, {"trigger": "COMBAT_END"}, {"trigger": "INTERACT", "use_free_action": false}, {"trigger": "HUNKER_DOWN", "use_free_action": true}]`,
			`"note":"FREE_ACTION"`, `"pool":1,`,
		},
		"a cast in seconds": {`"steps": [{"trigger": "CAST", "id": "s", "seconds": 30}]`, ``, `"remaining_seconds":30`},
		"one event die for each one": {
			`"params": {"events_per_spill": "PER_ONE"}, "steps": [` + five + `, {"trigger": "MOVE", "spills": [{"pool": [1, 1, 2, 2, 2, 2], "d12": [12, 3]}]}]`,
			`"events":[{"d12":12,"total":12,"rolled":12,"final":12,"event":"COMBAT_ENCOUNTER","overridden":false},{"d12":3,"total":3,"rolled":3,"final":3,"event":"LIGHT_DISRUPTION","overridden":false}],"severity":"MODERATE"`, ``,
		},
		"a list of one event die, and null for none": {
			`"steps": [` + five + `, {"trigger": "SHORT_REST", "spills": [{"pool": [1, 2, 2, 2, 2, 2], "d12": [4], "override": null}]}, {"trigger": "MOVE", "spills": [{"pool": [2, 2, 2, 2, 2, 2], "d12": null}]}]`,
			`"severity":"NONE"`, `"spills_total":2`,
		},
		"an event chosen where there is none": {
			`"steps": [` + five + `, {"trigger": "MOVE", "spills": [{"pool": [2, 2, 2, 2, 2, 2], "override": 4}]}]`, `"events":[]`, ``,
		},
		"no minutes at all":  {`"steps": [{"trigger": "REAL_TIME", "minutes": 0}]`, `"dice_added":0`, `"dice_ever":0`},
		"the way out":        {`"steps": [{"trigger": "MOVE"}, {"trigger": "LEAVE", "target": "TRAVEL"}]`, `"trigger":"LEAVE"`, `"pool":1`},
		"a combat cuts in":   {`"params": {"rest_interrupt": "ON_COMBAT"}, "steps": [{"trigger": "LONG_REST", "spills": [{"pool": [1, 2, 2, 2, 2, 2], "d12": 12}]}]`, `"interrupted":true`, `"dice_ever":6`},
		"a spell ended":      {`"steps": [{"trigger": "CAST", "id": "a b", "minutes": 1}, {"trigger": "SPELL_END", "id": "a b"}]`, `"spells_ended":["a b"]`, `"spells":[]`},
		"larger dice blocks": {`"params": {"minutes_per_die": 20, "hunker_wait_block": 60}, "steps": [{"trigger": "HUNKER_DOWN"}, {"trigger": "WAIT", "minutes": 60}]`, ``, `"elapsed_minutes":40,"unpriced_hunker_minutes":40`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			played, err := Replay(file(tc.fields))
			if err == nil {
				err = transcript.Faults(played)
			}
			if err != nil {
				t.Fatal(err)
			}
			var last struct{ Result, State json.RawMessage }
			if err := json.Unmarshal(played[0].Got[len(played[0].Got)-1], &last); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(last.Result), tc.result) || !strings.Contains(string(last.State), tc.state) {
				t.Errorf("result %s\nstate %s\nwant %s\nand %s", last.Result, last.State, tc.result, tc.state)
			}
		})
	}
}

// A file with one wrong number is noticed, and where.
func TestADifferenceIsNamed(t *testing.T) {
	t.Parallel()
	document, err := os.ReadFile("testdata/transcripts.json")
	if err != nil {
		t.Fatal(err)
	}
	wrong := strings.Replace(string(document), `"remaining": 3`, `"remaining": 2`, 1)
	played, err := Replay([]byte(wrong))
	if err != nil {
		t.Fatal(err)
	}
	if err := transcript.Check(played); err == nil || !strings.Contains(err.Error(), "transcript POOL-T1 step 3: state.lights[0].remaining: got 3, want 2") {
		t.Errorf("got %v", err)
	}
	filled, err := transcript.Fill(document, played)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Replay(filled)
	if err != nil || transcript.Check(again) != nil {
		t.Errorf("what was played differs from itself: %v, %v", err, transcript.Check(again))
	}
}

func TestStepsHaveNames(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"WAIT 25", "MOVE", "LIGHT_ADD torch TORCH", "COMBAT_ROUNDS 4", "CAST ward 60", "LEAVE TRAVEL"} {
		want := line
		if line == "CAST ward 60" {
			want = "CAST 60 ward"
		}
		eq(t, "name", step(t, line).String(), want)
	}
}

func FuzzReplay(f *testing.F) {
	document, err := os.ReadFile("testdata/transcripts.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(document)
	f.Add(file(setup + `, "steps": [` + five + `, {"trigger": "MOVE", "spills": [{"pool": [1, 1, 2, 2, 2, 2], "d12": [12, 3]}]}]`))
	f.Add(file(`"params": {"pool_limit": 1}, "steps": [{"trigger": "WAIT", "minutes": 10080}]`))
	f.Fuzz(func(t *testing.T, document []byte) {
		played, err := Replay(document)
		if err != nil {
			return
		}
		for _, p := range played {
			// Whatever was played comes back as a state of the format.
			for _, raw := range p.Got {
				if err := transcript.Decode(raw, new(Stepped)); err != nil {
					t.Fatalf("%s: %v", raw, err)
				}
			}
		}
		filled, err := transcript.Fill(document, played)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range played {
			if p.Err != nil {
				return
			}
		}
		again, err := Replay(filled)
		if err != nil || transcript.Check(again) != nil {
			t.Fatalf("what was played differs from itself: %v, %v\n%s", err, transcript.Check(again), filled)
		}
	})
}
