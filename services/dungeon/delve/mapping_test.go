package delve

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"

	dungeonv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dungeon/v1"

	"github.com/wayfarer-rpg/wayfarer/rules/dangerpool"
	"github.com/wayfarer-rpg/wayfarer/rules/play"
)

func ptr[T any](v T) *T { return &v }

func jsonOf(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// Every event of the rules comes back from the journal as it was, and every kind of message that is journaled is one.
func TestEveryEventMapsBothWays(t *testing.T) {
	t.Parallel()
	rs, err := dangerpool.Default().With(map[string]any{"pool_limit": 7, "hunker_ends_on": []any{"MOVE"}, "risk_stacks": false})
	if err != nil {
		t.Fatal(err)
	}
	light := dangerpool.Light{ID: "a torch", Source: "TORCH", Remaining: 4, Active: true}
	event := dangerpool.DangerEvent{D12: 11, Total: 13, Rolled: 12, Final: 3, Event: "LIGHT_DISRUPTION", Overridden: true, Shows: "a gust", Note: "the lich"}
	events := []dangerpool.Event{
		dangerpool.Opened{
			Ruleset: rs, Entry: "gate", InvokedBy: dangerpool.ByClearing, Pool: 3,
			Map: &dangerpool.Map{Title: "The tomb", Areas: []dangerpool.Area{{ID: "gate", Title: "Gate", Notes: "guarded", Ways: []string{"hall"}}, {ID: "hall"}}},
		},
		dangerpool.MembersRecorded{Members: []dangerpool.Member{{Name: "Ada", Character: "campaigns/c/characters/ada", Kind: "PC", Rank: "FRONT", Darkvision: true}}},
		dangerpool.ProvisionsRecorded{Note: "6 rations"},
		dangerpool.LightsRecorded{Lights: []dangerpool.Light{light}, Spells: []dangerpool.Spell{{ID: "ward", Seconds: 600}}},
		dangerpool.Begun{Area: "gate"},
		dangerpool.Triggered{
			Trigger: "WAIT", Note: "HELD_COMBAT", RealClock: 1, WaitClock: 2, InCombat: true, CombatMinutes: 3, Hunkered: true, FreeAction: true, Area: "hall",
		},
		dangerpool.DiceAdded{Count: 2, Unpriced: 50, LightsOut: []string{"a torch"}, SpellsEnded: []string{"ward"}},
		dangerpool.Spilled{Number: 2, AtDie: 12, Nth: 1, Faces: []int{1, 1, 1, 6}, Ones: 3, Events: []dangerpool.DangerEvent{event}, Severity: "DEADLY"},
		dangerpool.RestInterrupted{},
		dangerpool.LightsChanged{Trigger: "LIGHT_OFF", Lights: []dangerpool.Light{light}, Dropped: []string{"stub"}},
		dangerpool.SpellCast{Spell: dangerpool.Spell{ID: "ward", Seconds: 600}},
		dangerpool.SpellEnded{ID: "ward"},
		dangerpool.RoundsFought{Rounds: 3, Seconds: 6, SpellsEnded: []string{"ward"}},
		dangerpool.Departed{Target: "TRAVEL"},
		dangerpool.EventNarrated{Spill: 2, Event: 1, Now: event},
		dangerpool.Remarked{Text: "a key"},
		dangerpool.Remarked{Text: "the lich", Secret: true},
		dangerpool.Adjusted{Reason: "mercy", Pool: ptr(0), RealClock: ptr(1), WaitClock: ptr(2), Hunkered: ptr(false), FreeAction: ptr(true), Area: ptr("hall")},
		dangerpool.Adjusted{Reason: "nothing else"},
	}
	journaled, err := eventsOf(rs, events, nil)
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]bool{"settled": true} // which is no rule's
	for i, e := range journaled {
		raw, err := protojson.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		read := spec.New()
		if err := protojson.Unmarshal(raw, read); err != nil {
			t.Fatal(err)
		}
		back, err := eventFrom(read)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := jsonOf(t, back), jsonOf(t, events[i]); got != want {
			t.Errorf("%T\n got %s\nwant %s", events[i], got, want)
		}
		m := e.ProtoReflect()
		kinds[string(m.WhichOneof(m.Descriptor().Oneofs().ByName("event")).Name())] = true
	}
	fields := (&dungeonv1.DelveEvent{}).ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		if name := string(fields.Get(i).Name()); !kinds[name] {
			t.Errorf("no event becomes %s", name)
		}
	}
	if _, err := (delve{}).apply(&dungeonv1.DelveEvent{}); err == nil || !strings.Contains(err.Error(), "unknown delve event") {
		t.Errorf("an unknown event: %v", err)
	}
}

// The fold of a transcript's events, journaled, is the state that the rules have, also by way of the head.
func TestTheFoldIsTheRules(t *testing.T) {
	t.Parallel()
	document, err := os.ReadFile("../../../rules/dangerpool/testdata/transcripts.json")
	if err != nil {
		t.Fatal(err)
	}
	file, err := dangerpool.ParseTranscripts(document)
	if err != nil {
		t.Fatal(err)
	}
	for _, tr := range file.Transcripts {
		commands, err := tr.Commands()
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range tr.Steps {
			commands = append(commands, s.Command())
		}
		var state delve
		game := dangerpool.Delve{}
		for i, c := range commands {
			var faces []int
			if step := i - (len(commands) - len(tr.Steps)); step >= 0 {
				faces = tr.Steps[step].Faces()
			}
			events, err := dangerpool.Decide(game, c, play.ReportedDice(faces...))
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range events {
				game = dangerpool.Apply(game, e)
			}
			journaled, err := eventsOf(game.Ruleset, events, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range journaled {
				if state, err = state.apply(e); err != nil {
					t.Fatal(err)
				}
			}
			var head delve
			if err := json.Unmarshal([]byte(jsonOf(t, state)), &head); err != nil {
				t.Fatal(err)
			}
			state = head
		}
		state.Game.Ruleset, game.Ruleset = nil, nil
		empty := strings.NewReplacer("null", "[]") // a list of nothing comes back as none
		if got, want := empty.Replace(jsonOf(t, state.Game)), empty.Replace(jsonOf(t, game)); got != want {
			t.Errorf("%s\n got %s\nwant %s", tr.ID, got, want)
		}
	}
}
