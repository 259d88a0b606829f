package diedrop

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wayfarer-rpg/wayfarer/rules/play"
	"github.com/wayfarer-rpg/wayfarer/rules/play/transcript"
)

// play decides a command with reported dice, and checks on the way what holds for every command: nothing changes when it
// is refused, the old state stays as it was, and the dice recorded are those given.
func playStep(t *testing.T, j Journey, c Command, faces []int) (Journey, []Event, []play.Die, string) {
	t.Helper()
	before := mustJSON(t, j)
	dice := play.ReportedDice(faces...)
	events, err := Decide(j, c, dice)
	if err == nil {
		err = dice.Close()
	}
	if got := mustJSON(t, j); got != before {
		t.Fatalf("%T changed the state it was decided on:\n%s\n%s", c, before, got)
	}
	if err != nil {
		var r *play.Refusal
		if !errors.As(err, &r) {
			t.Fatalf("%T: %v", c, err)
		}
		return j, nil, nil, strings.ToLower(r.Code)
	}
	if len(dice.Rolled()) != len(faces) {
		t.Errorf("%T recorded %d dice of %d", c, len(dice.Rolled()), len(faces))
	}
	next := j
	for _, e := range events {
		next = Apply(next, e)
	}
	if got := mustJSON(t, j); got != before {
		t.Fatalf("folding %T changed the old state", c)
	}
	return next, events, dice.Rolled(), ""
}

func mustJSON(t testing.TB, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func begin(t *testing.T, c Start) Journey {
	t.Helper()
	j, _, _, refused := playStep(t, Journey{}, c, nil)
	if refused != "" {
		t.Fatalf("start refused: %s", refused)
	}
	return j
}

// document is the transcript file, beside reads what it names.
func document(t testing.TB) []byte {
	t.Helper()
	raw, err := os.ReadFile("testdata/transcripts.json")
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func beside(name string) ([]byte, error) { return os.ReadFile(filepath.Join("testdata", name)) }

// The eight transcripts of the catalogue: each step with its rolls, its result and the whole state after it.
func TestTranscripts(t *testing.T) {
	t.Parallel()
	played, err := Replay(document(t), beside)
	if err != nil {
		t.Fatal(err)
	}
	if len(played) != 8 {
		t.Fatalf("%d transcripts", len(played))
	}
	for _, p := range played {
		t.Run(p.ID, func(t *testing.T) {
			t.Parallel()
			if len(p.Want) == 0 {
				t.Error("nothing is expected")
			}
			if err := transcript.Check([]transcript.Played{p}); err != nil {
				t.Error(err)
			}
		})
	}
}

// Each command through the same door as the transcripts': nothing changes on refusal, and the old state stays.
func TestTranscriptsLeaveOldStatesAlone(t *testing.T) {
	t.Parallel()
	f, err := ParseTranscripts(document(t), beside)
	if err != nil {
		t.Fatal(err)
	}
	for _, tr := range f.Transcripts {
		t.Run(tr.ID, func(t *testing.T) {
			t.Parallel()
			start, err := tr.Start()
			if err != nil {
				t.Fatal(err)
			}
			j := begin(t, start)
			for _, a := range tr.Actions {
				c, _ := a.Command()
				j, _, _, _ = playStep(t, j, c, a.Dice)
			}
		})
	}
}

// withOne is the smallest transcript file, changed.
func withOne(change string) []byte {
	old, now, _ := strings.Cut(change, " => ")
	return []byte(strings.Replace(`{"format":"die-drop-transcript/1","map_file":"die-drop-map.json","transcripts":[{"id":"one","title":"One",
"params":{"forage.success_min":3},"party":{"hex":[1,2],"food":["d8"],"members":[{"name":"Ada","hp":4,"str":10}],"gold":3},
"actions":[{"type":"loot","dice":[]}]}]}`, old, now, 1))
}

func TestTranscriptFilesThatAreWrong(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ change, want string }{
		"another format":                {`transcript/1 => transcript/2`, "format"},
		"an unknown field of the file":  {`"map_file" => "mapfile"`, "mapfile"},
		"an unknown field of a script":  {`"title" => "name"`, "name"},
		"an unknown field of the party": {`"gold" => "silver"`, "silver"},
		"an unknown field of a member":  {`"hp" => "hit_points"`, "hit_points"},
		"an argument of another action": {`"loot", => "loot","count":3,`, "count: is no argument of loot"},
		"a missing argument":            {`"loot" => "buy_food"`, "steps: is missing"},
		"an argument of a wrong type":   {`"loot", => "buy_food","steps":"one",`, "steps"},
		"a hex of three numbers":        {`"loot", => "move","to":[1,2,3],`, "to"},
		"an action without a type":      {`"type":"loot", => `, "type: is missing"},
		"dice that are no numbers":      {`"dice":[] => "dice":["6"]`, "dice"},
		"a newcomer with food":          {`"loot", => "add_member","member":{"name":"B","hp":1,"str":1,"food_slots":1},`, "food_slots"},
		"an argument twice":             {`"loot", => "rest","dice":[],`, "twice"},
		"a step with an unknown field":  {`"actions":[ => "expected":[{"stop":1}],"actions":[`, "expected[0]"},
		"a result with unknown fields":  {`"actions":[ => "expected":[{"result":{"luck":1}}],"actions":[`, "transcripts[0].expected[0]: result"},
		"a state with unknown fields":   {`"actions":[ => "expected":[{"state":{"luck":1}}],"actions":[`, "luck"},
		"a map that is not there":       {`die-drop-map.json => nowhere.json`, "map_file"},
		"something after the document":  {`"id":"one" => "id":"one"`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc := withOne(tc.change)
			if tc.want == "" {
				doc = append(doc, "{}"...)
			}
			_, err := ParseTranscripts(doc, nil)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}

func TestReplayOfUnusualTranscripts(t *testing.T) {
	t.Parallel()
	play := func(t *testing.T, change string) (steps []Step, err error) {
		t.Helper()
		played, err := Replay(withOne(change), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, raw := range played[0].Got {
			var s Step
			if err := transcript.Decode(raw, &s); err != nil {
				t.Fatal(err)
			}
			steps = append(steps, s)
		}
		return steps, transcript.Faults(played)
	}
	refusedAs := func(t *testing.T, change, want string) {
		t.Helper()
		steps, err := play(t, change)
		if err != nil {
			t.Fatal(err)
		}
		last := steps[len(steps)-1]
		if last.Refused == nil || *last.Refused != want {
			t.Errorf("refused %v, want %s", last.Refused, want)
		}
	}
	for name, test := range map[string]func(t *testing.T){
		"an unknown action is refused": func(t *testing.T) {
			refusedAs(t, `"loot" => "dance"`, "unknown_action")
			refusedAs(t, `"loot", => "dance","partner":"Bren",`, "unknown_action")
		},
		"the dead come first": func(t *testing.T) {
			refusedAs(t, `{"type":"loot" => {"type":"harm","member":"Ada","str":10},{"type":"dance"`, "party_dead")
		},
		"dice that do not fit are refused": func(t *testing.T) {
			refusedAs(t, `"loot","dice":[] => "search","dice":[9,6]`, "bad_dice")
			refusedAs(t, `"loot","dice":[] => "search","dice":[8,0]`, "bad_dice")
			refusedAs(t, `"loot","dice":[] => "search","dice":[8]`, "bad_dice")
			refusedAs(t, `"loot","dice":[] => "search","dice":[8,6,6]`, "bad_dice")
		},
		"an argument outside its kind never reaches the rules": func(t *testing.T) {
			steps, err := play(t, `{"type":"loot" => {"type":"loot"},{"type":"buy_food","steps":0`)
			if err == nil || !strings.Contains(err.Error(), "step 2: INVALID") || len(steps) != 1 {
				t.Errorf("error %v after %d steps", err, len(steps))
			}
		},
		"what is wrong at the beginning is named": func(t *testing.T) {
			for change, want := range map[string]string{
				`"str":10 => "str":10,"capacity":0`: NoRoom, `forage.success_min => forage.luck`: "forage.luck",
				`_min":3 => _min":"3"`: "forage.success_min", `_min":3 => _min":7`: "forage.success_min", `"d8" => "8"`: "party.food[0]",
				`"gold":3 => "light":{"kind":"torch","die":"d"}`: "party.light.die", `[1,2] => [99,99]`: OffMap,
			} {
				if steps, err := play(t, change); err == nil || !strings.Contains(err.Error(), want) || len(steps) > 0 {
					t.Errorf("%s: error %v, %d steps", change, err, len(steps))
				}
			}
		},
		"a crawl without a map begins inside a site of the map": func(t *testing.T) {
			steps, err := play(t, `"hex":[1,2] => "inside":"pennard-delve"`)
			if err != nil {
				t.Fatal(err)
			}
			eq(t, "inside", *steps[0].State.Inside, "pennard-delve")
			eq(t, "hex", steps[0].State.Hex, (*Hex)(nil))
			refusedAs(t, `"hex":[1,2],"food":["d8"],"members" => "inside":"pennard-delve","light":{"kind":"torch","die":"d8"},"food":["d8"],"members"`, "no_gold_here")
		},
		"nobody is left to find or to forage": func(t *testing.T) {
			steps, err := play(t, `"food":["d8"],"members":[{"name":"Ada","hp":4,"str":10}],"gold":3},
"actions":[{"type":"loot","dice":[]} => "food":[],"members":[{"name":"Ada","hp":0,"hp_max":4,"str":1,"str_max":9}]},"actions":[{"type":"forage"}`)
			if err != nil {
				t.Fatal(err)
			}
			eq(t, "result", mustJSON(t, steps[0].Result), `{"encounter_check":null,"forage":null,"starved":true,"usage":null}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t)
		})
	}
}

// A file that was read is written as it was.
func TestTranscriptFilesKeepTheirFormat(t *testing.T) {
	t.Parallel()
	f, err := ParseTranscripts(document(t), beside)
	if err != nil {
		t.Fatal(err)
	}
	again, err := ParseTranscripts([]byte(mustJSON(t, f)), beside)
	if err != nil {
		t.Fatal(err)
	}
	eq(t, "the file", mustJSON(t, again), mustJSON(t, f))
}

func FuzzReplay(f *testing.F) {
	for _, change := range []string{" => ", `"loot" => "move","to":[2,2]`, `"hex":[1,2] => "inside":"pennard-delve"`, `"d8" => "d0"`, `"hp":4 => "hp":-4`} {
		f.Add(withOne(change))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		played, err := Replay(doc, nil)
		if err != nil {
			return
		}
		for _, p := range played {
			for _, raw := range p.Got {
				if err := checkStep(raw); err != nil {
					t.Errorf("%s: %v", raw, err)
				}
			}
		}
	})
}

func has[E Event](events []Event) bool {
	_, ok := find[E](events)
	return ok
}
