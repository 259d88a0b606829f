package dangerworld

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/wayfarer-rpg/wayfarer/rules/play"
	"github.com/wayfarer-rpg/wayfarer/rules/play/transcript"
)

func transcripts(t testing.TB) []byte {
	t.Helper()
	raw, err := os.ReadFile("testdata/transcripts.json")
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestTranscripts(t *testing.T) {
	t.Parallel()
	played, err := Replay(nil, transcripts(t))
	if err != nil {
		t.Fatal(err)
	}
	if len(played) != 6 {
		t.Fatalf("%d transcripts", len(played))
	}
	steps := 0
	for _, p := range played {
		if err := transcript.Check([]transcript.Played{p}); err != nil {
			t.Error(err)
		}
		steps += len(p.Got)
	}
	if steps != 29 {
		t.Errorf("%d steps", steps)
	}
}

// Every difference is found: one number of one expectation changed at a time would be missed by no comparison that looks at
// the whole, so one of each transcript is enough.
func TestTranscriptsAreCompared(t *testing.T) {
	t.Parallel()
	wrong := strings.ReplaceAll(string(transcripts(t)), `"stunned_active": 0`, `"stunned_active": 9`)
	played, err := Replay(nil, []byte(wrong))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range played {
		if transcript.Check([]transcript.Played{p}) == nil {
			t.Errorf("%s: no difference", p.ID)
		}
	}
}

// file wraps steps into a file with one transcript.
func file(params, setup, steps string) string {
	return `{"about":"x","transcripts":[{"id":"T","title":"x","params":` + params + `,"setup":` + setup + `,"steps":[` + steps + `]}]}`
}

const gate = `{"stats":{"Agility":2},"challenges":{"gate":{"difficulty":2}}}`

func TestTheFormatIsReadStrictly(t *testing.T) {
	t.Parallel()
	check := `{"op":"CHECK","challenge":"gate","stat":"Agility","rolls":[{"faces":[2,2]}]`
	for name, tt := range map[string]struct{ document, want string }{
		"no JSON":                          {`{"transcripts":`, "no JSON"},
		"something after it":               {file("{}", gate, "") + "1", "after the end"},
		"no transcripts":                   {`{}`, "transcripts: are missing"},
		"no id":                            {`{"transcripts":[{"setup":{},"steps":[]}]}`, "transcripts[0].id: is missing"},
		"an id twice":                      {`{"transcripts":[{"id":"T","setup":{},"steps":[]},{"id":"T","setup":{},"steps":[]}]}`, "T is there twice"},
		"an unknown field of the file":     {`{"transcripts":[],"extra":1}`, `"extra"`},
		"an unknown field of the setup":    {file("{}", `{"stat":{}}`, ""), `"stat"`},
		"an unknown field of a challenge":  {file("{}", `{"challenges":{"gate":{"difficulty":2,"status":"OPEN"}}}`, ""), `"status"`},
		"an unknown field of a step":       {file("{}", gate, check+`,"luck":1}`), `"luck"`},
		"an unknown field of a roll":       {file("{}", gate, `{"op":"CHECK","challenge":"gate","stat":"Agility","rolls":[{"face":[2]}]}`), `"face"`},
		"an unknown field of an item":      {file("{}", gate, `{"op":"SPEND_BOTCHES","items":[{"buy":"DANGER","cost":1}]}`), `"cost"`},
		"a field in another case":          {file("{}", gate, check+`,"Claim":2}`), `"Claim"`},
		"a field twice":                    {file("{}", gate, check+`,"claim":2,"claim":2}`), "there twice"},
		"a field of another operation":     {file("{}", gate, `{"op":"END_ENCOUNTER","amount":1}`), "steps[0].amount"},
		"injuries of a rest":               {file("{}", gate, `{"op":"LONG_TERM_REST","injury_d12":[1]}`), "steps[0].injury_d12"},
		"an operation that does not exist": {file("{}", gate, `{"op":"NAP"}`), `no operation "NAP"`},
		"no operation":                     {file("{}", gate, `{}`), `no operation ""`},
		"a check of nothing":               {file("{}", gate, `{"op":"CHECK","stat":"Agility"}`), "names challenge and stat"},
		"danger without an amount":         {file("{}", gate, `{"op":"RAISE_DANGER"}`), "amount: is missing"},
		"a lock before the first roll":     {file("{}", gate, `{"op":"CHECK","challenge":"gate","stat":"Agility","rolls":[{"lock":["N1"],"faces":[2,2]}]}`), "rolls[0].lock"},
		"a claim that is none":             {file("{}", gate, check+`,"claim":"BEST"}`), "claim"},
		"a claim of a broken height":       {file("{}", gate, check+`,"claim":2.5}`), "claim"},
		"a stat that is a list":            {file("{}", gate, `{"op":"CHECK","challenge":"gate","stat":[]}`), "stat"},
		"half a face":                      {file("{}", gate, `{"op":"CHECK","challenge":"gate","stat":"Agility","rolls":[{"faces":[2.5,2]}]}`), "2.5"},
		"a height that is no number":       {file("{}", gate, check+`,"cancel":{"two":["N1"]}}`), "two"},
		"too few expectations":             {`{"transcripts":[{"id":"T","setup":{},"steps":[{"op":"END_ENCOUNTER"},{"op":"END_ENCOUNTER"}],"expected":[{}]}]}`, "1 for 2 steps"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := Replay(nil, []byte(tt.document)); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
}

// A transcript that cannot be played says where and why; the others are played.
func TestATranscriptThatCannotBePlayed(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		params, setup, steps string
		played               int
		code                 string // of the refusal, "" for another error
	}{
		"an unknown parameter":            {`{"luck":1}`, gate, "", 0, ""},
		"a parameter of another kind":     {`{"max_rerolls":"two"}`, gate, "", 0, ""},
		"a stat that does not exist":      {`{}`, `{"stats":{"Luck":2}}`, "", 0, UnknownStat},
		"a stat above the most":           {`{}`, `{"stats":{"Agility":11}}`, "", 0, Invalid},
		"a challenge without difficulty":  {`{}`, `{"challenges":{"gate":{"penalty":1}}}`, "", 0, BadDifficulty},
		"too few faces":                   {`{}`, gate, `{"op":"CHECK","challenge":"gate","stat":"Agility","rolls":[{"faces":[2]}]}`, 0, play.BadDice},
		"too many faces":                  {`{}`, gate, `{"op":"CHECK","challenge":"gate","stat":"Agility","rolls":[{"faces":[2,2,2]}]}`, 0, play.BadDice},
		"no roll at all":                  {`{}`, gate, `{"op":"CHECK","challenge":"gate","stat":"Agility"}`, 0, NotRolled},
		"faces without a die":             {`{}`, `{"challenges":{"gate":{"difficulty":2}}}`, `{"op":"CHECK","challenge":"gate","stat":"Agility","rolls":[{"faces":[2]}]}`, 0, play.BadDice},
		"an injury die too many":          {`{}`, gate, `{"op":"RAISE_DANGER","amount":1,"injury_d12":[1]}`, 0, play.BadDice},
		"an injury die too few":           {`{}`, gate, `{"op":"RAISE_DANGER","amount":35}`, 0, play.BadDice},
		"botches before any check":        {`{}`, gate, `{"op":"END_ENCOUNTER"},{"op":"SPEND_BOTCHES","items":[{"buy":"DANGER"}]}`, 1, NoSuchCheck},
		"a claim of what is no candidate": {`{}`, gate, `{"op":"CHECK","challenge":"gate","stat":"Agility","rolls":[{"faces":[2,2]}],"claim":3}`, 0, NoSuchSet},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			document := strings.TrimSuffix(file(tt.params, tt.setup, tt.steps), "]}") + `,{"id":"U","setup":{},"steps":[{"op":"END_ENCOUNTER"}]}]}`
			played, err := Replay(nil, []byte(document))
			if err != nil {
				t.Fatal(err)
			}
			p := played[0]
			if p.Err == nil || len(p.Got) != tt.played {
				t.Fatalf("%d steps, error %v", len(p.Got), p.Err)
			}
			var r *play.Refusal
			if errors.As(p.Err, &r) != (tt.code != "") || r != nil && r.Code != tt.code {
				t.Errorf("error %v, want %q", p.Err, tt.code)
			}
			if played[1].Err != nil || len(played[1].Got) != 1 {
				t.Errorf("the next transcript: %v", played[1].Err)
			}
		})
	}
}

func TestCornersOfTheFormat(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		params, setup, steps string
		want                 string // part of the last step's result
	}{
		"closing when no check was made": {`{}`, gate, `{"op":"CLOSE_CHECK"}`, `{"botches_lapsed":0}`},
		"closing twice": {`{}`, gate, `{"op":"CHECK","challenge":"gate","stat":"Agility","rolls":[{"faces":[1,1]}]},{"op":"CLOSE_CHECK"},{"op":"CLOSE_CHECK"}`,
			`{"botches_lapsed":0}`},
		"buying nothing":                   {`{}`, gate, `{"op":"SPEND_BOTCHES","items":[]}`, `{"spent":0,"bought":[],"harm":[]}`},
		"no danger":                        {`{}`, gate, `{"op":"RAISE_DANGER","amount":0}`, `{"harm":[]}`},
		"an encounter's end has no result": {`{}`, gate, `{"op":"END_ENCOUNTER"}`, `{}`},
		"an empty pool": {`{}`, `{"challenges":{"gate":{"difficulty":2,"penalty":2}}}`, `{"op":"CHECK","challenge":"gate","stat":"Agility","rolls":[]}`,
			`{"pool":{"normal":0,"danger":0,"penalty":2},"rolls":[],"sets":[],"botches":0,"claimed":null,"success":false,"bonus_dice_gained":0,"danger_from_set":0,"harm":[]}`},
		"a claim of nothing":   {`{}`, gate, `{"op":"CHECK","challenge":"gate","stat":"Agility","rolls":[{"faces":[2,2]}],"claim":"NONE"}`, `"claimed":null,"success":false`},
		"a claim of the rules": {`{}`, gate, `{"op":"CHECK","challenge":"gate","stat":"Agility","rolls":[{"faces":[2,2]}],"claim":"AUTO"}`, `"claimed":2,"success":true`},
		"a named number":       {`{"pool_source":"CALLER"}`, gate, `{"op":"CHECK","challenge":"gate","stat":3,"rolls":[{"faces":[2,2,3]}]}`, `"pool":{"normal":3,`},
		"dice kept by free locks": {`{"lock_policy":"FREE"}`, gate,
			`{"op":"CHECK","challenge":"gate","stat":"Agility","rolls":[{"faces":[2,3]},{"lock":["N1"],"faces":[4]},{"lock":["N2"],"faces":[5]}]}`,
			`{"rolled":["N1"],"locked":["N2"],"faces":{"N1":5,"N2":4}}`},
		"a kept one locks itself": {`{"ones_reroll":"FORBIDDEN"}`, gate,
			`{"op":"CHECK","challenge":"gate","stat":"Agility","rolls":[{"faces":[1,3]},{"faces":[2]}]}`, `{"rolled":["N2"],"locked":["N1"],"faces":{"N1":1,"N2":2}}`},
		"hits with some points": {`{"hit_danger_points":{"HIT_REDUCED":5}}`, gate,
			`{"op":"CHECK","challenge":"gate","stat":"Agility","rolls":[{"faces":[1,1]}]},{"op":"SPEND_BOTCHES","items":[{"buy":"HIT_REDUCED"}]}`,
			`{"spent":2,"bought":["HIT_REDUCED"],"harm":[{"level":1,"harm":"BASHED"}]}`},
		"botches kept for later": {`{"botch_carry":"BANK"}`, gate,
			`{"op":"CHECK","challenge":"gate","stat":"Agility","rolls":[{"faces":[1,1]}]},{"op":"CLOSE_CHECK"},{"op":"SPEND_BOTCHES","items":[{"buy":"DANGER"}]}`,
			`{"spent":1,"bought":["DANGER"],"harm":[]}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			played, err := Replay(nil, []byte(file(tt.params, tt.setup, tt.steps)))
			if err != nil || played[0].Err != nil {
				t.Fatal(err, played)
			}
			p := played[0]
			var step struct{ Result json.RawMessage }
			if err := json.Unmarshal(p.Got[len(p.Got)-1], &step); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(step.Result), tt.want) {
				t.Errorf("result %s\nlacks  %s", step.Result, tt.want)
			}
			if d := p.Difference(); d == nil || d.Path != "expected" {
				t.Errorf("a file that expects nothing differs in %v", d)
			}
		})
	}
}

// What is read can be written and read again, and is then the same.
func TestTranscriptsSurviveWriting(t *testing.T) {
	t.Parallel()
	parsed, err := ParseTranscripts(transcripts(t))
	if err != nil {
		t.Fatal(err)
	}
	written := mustJSON(t, parsed)
	again, err := ParseTranscripts([]byte(written))
	if err != nil {
		t.Fatal(err)
	}
	if got := mustJSON(t, again); got != written {
		t.Errorf("%s\n%s", got, written)
	}
	played, err := Replay(nil, []byte(written))
	if err = errors.Join(err, transcript.Check(played)); err != nil {
		t.Error(err)
	}
}

func FuzzReplay(f *testing.F) {
	f.Add(transcripts(f))
	f.Add([]byte(file("{}", gate, `{"op":"CHECK","challenge":"gate","stat":"Agility","rolls":[{"faces":[2,2]}],"claim":2,"cancel":{"2":[]}}`)))
	f.Add([]byte(file(`{"botch_carry":"BANK","difficulty_range":[2,3]}`, gate, `{"op":"RAISE_DANGER","amount":36,"injury_d12":[3]}`)))
	f.Add([]byte(file(`{"pool_source":"CALLER"}`, gate, `{"op":"CHECK","challenge":"gate","stat":1,"rolls":[{"faces":[6]},{"faces":[1]}],"claim":"NONE"}`)))
	f.Fuzz(func(t *testing.T, document []byte) {
		played, err := Replay(nil, document)
		if err != nil {
			return
		}
		again, err := Replay(nil, document)
		if err != nil || mustJSON(t, gotOf(again)) != mustJSON(t, gotOf(played)) {
			t.Fatal("played again it comes out otherwise")
		}
		for _, p := range played {
			for _, raw := range p.Got {
				var step struct {
					State StateView `json:"state"`
				}
				if err := json.Unmarshal(raw, &step); err != nil {
					t.Fatal(err)
				}
				s := step.State
				if s.FP < 0 || s.BonusDice < 0 || s.Points < 0 || s.Unspent < 0 || s.Bashed < 0 || s.Stunned < 0 {
					t.Fatalf("less than nothing: %s", raw)
				}
			}
		}
	})
}

func gotOf(played []transcript.Played) [][]json.RawMessage {
	var out [][]json.RawMessage
	for _, p := range played {
		out = append(out, p.Got)
	}
	return out
}
