package transcript

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

type file struct {
	Format      string `json:"format"`
	Transcripts []struct {
		ID    string            `json:"id"`
		Steps []step            `json:"steps"`
		Want  []json.RawMessage `json:"expected"`
	} `json:"transcripts"`
}

type step struct {
	inner
	Do    string         `json:"do"`
	Note  *string        `json:"note"`
	Dice  map[string]int `json:"dice"`
	Place *[2]int        `json:"place"`
	By    map[int]bool   `json:"by"`
	Any   any            `json:"any"`
	Share float64        `json:"share"`
	Skip  int            `json:"-"`
}

// word takes one word only.
type word string

func (w *word) UnmarshalText(text []byte) error {
	if string(text) != "yes" {
		return errors.New("not yes")
	}
	*w = "yes"
	return nil
}

type inner struct {
	Word  word  `json:"word"`
	Depth uint8 `json:"depth"`
}

func TestDecode(t *testing.T) {
	t.Parallel()
	in := func(step string) string { return `{"transcripts":[{"id":"a","steps":[` + step + `]}]}` }
	for name, tc := range map[string]struct{ document, want string }{
		"everything in its place":             {in(`{"do":"x","note":null,"dice":{"Ada":3},"place":[1,2],"by":{"3":true},"any":{"free":[1.5]},"share":0.5,"depth":7}`), ""},
		"all absent":                          {`{}`, ""},
		"null for a list":                     {`{"transcripts":null}`, ""},
		"expected is left alone":              {`{"transcripts":[{"expected":[{"x":1},null,3]}]}`, ""},
		"an unknown field at the top":         {`{"transcripts":[],"colour":1}`, `document: there is no field "colour"`},
		"an unknown field below":              {in(`{"do":"x"},{"does":"x"}`), `transcripts[0].steps[1]: there is no field "does"`},
		"a field in another case":             {in(`{"DO":"x"}`), `transcripts[0].steps[0]: there is no field "DO"`},
		"a field that is not for JSON":        {in(`{"Skip":1}`), `there is no field "Skip"`},
		"a field twice":                       {in(`{"do":"x","do":"y"}`), `transcripts[0].steps[0]: the field "do" is there twice`},
		"a key of a map twice":                {in(`{"dice":{"Ada":1,"Ada":2}}`), `transcripts[0].steps[0].dice: the field "Ada" is there twice`},
		"a text for a number":                 {in(`{"dice":{"Ada":"3"}}`), `transcripts[0].steps[0].dice.Ada: a text where a whole number belongs`},
		"a fraction for a whole number":       {in(`{"dice":{"Ada":1.5}}`), `transcripts[0].steps[0].dice.Ada: 1.5 where a whole number belongs`},
		"a number too large":                  {in(`{"depth":256}`), `transcripts[0].steps[0].depth: 256 where a whole number belongs`},
		"a negative number where none can be": {in(`{"depth":-1}`), `transcripts[0].steps[0].depth: -1 where a whole number belongs`},
		"a number beyond all bounds":          {in(`{"dice":{"Ada":1e400}}`), `where a whole number belongs`},
		"a float beyond all bounds":           {in(`{"share":1e400}`), `too large a number`},
		"a number for a text":                 {in(`{"do":3}`), `transcripts[0].steps[0].do: a number where a text belongs`},
		"true for a text":                     {in(`{"do":true}`), `true where a text belongs`},
		"an object for a list":                {`{"transcripts":{}}`, `transcripts: an object where a list belongs`},
		"a list for an object":                {`[]`, `document: a list where an object belongs`},
		"a list of another length":            {in(`{"place":[1]}`), `transcripts[0].steps[0].place: a list of 1 where one of 2 belongs`},
		"a key that is no number":             {in(`{"by":{"x":true}}`), `transcripts[0].steps[0].by: "x" is no whole number`},
		"a second document":                   {`{} {}`, "after the end"},
		"half a document":                     {`{"transcripts":[{"id":"a"`, "no JSON"},
		"nothing":                             {``, "no JSON"},
		"a document of one word":              {`3`, `document: a number where an object belongs`},
		"a type of its own mind":              {in(`{"word":"no"}`), `transcripts[0].steps[0].word: not yes`},
		"the same, content":                   {in(`{"word":"yes"}`), ""},
		"a stray comma":                       {`{"transcripts":[],}`, "no JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := Decode([]byte(tc.document), new(file))
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("Decode = %v, want %q", err, tc.want)
			}
		})
	}
	var f file
	if err := Decode([]byte(in(`{"do":"x","depth":7,"place":[4,5],"by":{"3":true}}`)), &f); err != nil {
		t.Fatal(err)
	}
	if s := f.Transcripts[0].Steps[0]; s.Do != "x" || s.Depth != 7 || *s.Place != [2]int{4, 5} || !s.By[3] {
		t.Errorf("decoded %+v", s)
	}
}

func raws(values ...string) []json.RawMessage {
	var out []json.RawMessage
	for _, v := range values {
		out = append(out, json.RawMessage(v))
	}
	return out
}

func TestDifference(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		got, want []json.RawMessage
		err       string
	}{
		"equal in another order and other numbers": {raws(`{"a":1,"b":[1e1,2.50]}`), raws(`{"b":[10,2.5],"a":1.0}`), ""},
		"nothing expected of no steps":             {nil, nil, ""},
		"a number":                                 {raws(`{"a":{"b":[1,30]}}`), raws(`{"a":{"b":[1,28]}}`), "transcript T step 1: a.b[1]: got 30, want 28"},
		"the second step":                          {raws(`1`, `2`), raws(`1`, `3`), "transcript T step 2: got 2, want 3"},
		"a field that is not expected":             {raws(`{"a":1,"b":2}`), raws(`{"a":1}`), "transcript T step 1: b: got 2, want nothing"},
		"a field that is missing":                  {raws(`{"a":1}`), raws(`{"a":1,"b":null}`), "transcript T step 1: b: got nothing, want null"},
		"null is no 0":                             {raws(`{"a":null}`), raws(`{"a":0}`), "transcript T step 1: a: got null, want 0"},
		"an element too many":                      {raws(`[1,2]`), raws(`[1]`), "transcript T step 1: [1]: got 2, want nothing"},
		"an element too few":                       {raws(`[1]`), raws(`[1,{"x":"y"}]`), `transcript T step 1: [1]: got nothing, want {"x":"y"}`},
		"a list for an object":                     {raws(`[]`), raws(`{}`), "transcript T step 1: got [], want {}"},
		"an object for a list":                     {raws(`{}`), raws(`[]`), "transcript T step 1: got {}, want []"},
		"an object for a word":                     {raws(`{"a":{}}`), raws(`{"a":"b"}`), `transcript T step 1: a: got {}, want "b"`},
		"a list for a word":                        {raws(`{"a":[]}`), raws(`{"a":"b"}`), `transcript T step 1: a: got [], want "b"`},
		"a free text":                              {raws(`{"rolls":[{"for":"x"},{"for":"y"}]}`), raws(`{"rolls":[{"for":"z"},{}]}`), ""},
		"a field of the same name elsewhere":       {raws(`{"for":"x"}`), raws(`{"for":"y"}`), `transcript T step 1: for: got "x", want "y"`},
		"more steps than expected":                 {raws(`1`, `2`), raws(`1`), "transcript T: expected: got 2 states, want 1 state"},
		"fewer steps than expected":                {raws(`1`), raws(`1`, `2`), "transcript T: expected: got 1 state, want 2 states"},
		"nothing expected":                         {raws(`1`), nil, "transcript T: expected: got 1 state, want 0 states"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := Check([]Played{{ID: "ok"}, {ID: "T", Got: tc.got, Want: tc.want, Free: []string{"rolls[].for"}}})
			if got := text(err); got != tc.err {
				t.Errorf("Check = %q, want %q", got, tc.err)
			}
		})
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestAFaultComesAfterTheDifferencesBeforeIt(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	stopped := Played{ID: "T", Got: raws(`1`), Want: raws(`1`, `2`), Err: boom}
	err := Check([]Played{stopped})
	if text(err) != "transcript T step 2: boom" || !errors.Is(err, boom) {
		t.Errorf("Check = %v", err)
	}
	stopped.Want = raws(`3`, `2`)
	if err := Check([]Played{stopped}); text(err) != "transcript T step 1: got 1, want 3" {
		t.Errorf("Check = %v", err)
	}
	if err := Faults([]Played{{ID: "ok"}, stopped}); text(err) != "transcript T step 2: boom" {
		t.Errorf("Faults = %v", err)
	}
	begun := Played{ID: "T", Err: &Fault{Transcript: "T", Err: boom}}
	if err := Faults([]Played{begun}); text(err) != "transcript T: boom" {
		t.Errorf("Faults = %v", err)
	}
	if err := Faults([]Played{{ID: "ok"}}); err != nil {
		t.Errorf("Faults = %v", err)
	}
}

func TestLongValuesAreCut(t *testing.T) {
	t.Parallel()
	p := Played{ID: "T", Got: raws(`"` + strings.Repeat("é", 500) + `"`), Want: raws(`0`)}
	if d := p.Difference(); len(d.Got) > 310 || !strings.HasSuffix(d.Got, "…") {
		t.Errorf("got %q", d.Got)
	}
}

func TestCanonical(t *testing.T) {
	t.Parallel()
	got, err := Canonical([]byte(` {"b": [1.0, 1e2, 0.5, null], "a": "<é>"} `))
	if want := `{"a":"<é>","b":[1,100,0.5,null]}`; err != nil || string(got) != want {
		t.Errorf("Canonical = %s, %v; want %s", got, err, want)
	}
	if _, err := Canonical([]byte(`1 2`)); err == nil {
		t.Error("two values are one")
	}
}

func TestFill(t *testing.T) {
	t.Parallel()
	document := []byte(`{"transcripts":[{"expected":[7],"id":"a","x":"<"},{"id":"b"}],"about":"é"}`)
	played := []Played{{ID: "a"}, {ID: "b"}}
	played[0].Add(map[string]any{"hp": 3})
	got, err := Fill(document, played)
	if err != nil {
		t.Fatal(err)
	}
	want := `{
  "transcripts": [
    {
      "expected": [
        {
          "hp": 3
        }
      ],
      "id": "a",
      "x": "<"
    },
    {
      "id": "b",
      "expected": []
    }
  ],
  "about": "é"
}
`
	if string(got) != want {
		t.Errorf("Fill = %s", got)
	}
	if empty, err := Fill([]byte(`{"transcripts":[]}`), nil); err != nil || !strings.Contains(string(empty), `"transcripts": []`) {
		t.Errorf("Fill of none = %s, %v", empty, err)
	}
	for name, bad := range map[string]string{
		"another number of transcripts": `{"transcripts":[{}]}`,
		"no transcripts":                `{}`,
		"no object":                     `[]`,
		"transcripts are no list":       `{"transcripts":3}`,
		"a transcript is no object":     `{"transcripts":[1,2]}`,
	} {
		if _, err := Fill([]byte(bad), played); err == nil {
			t.Errorf("%s: filled", name)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"transcripts":[{"id":"a","steps":[{"do":"x","place":[1,2]}],"expected":[{}]}]}`))
	f.Add([]byte(`{"transcripts":null}`))
	f.Fuzz(func(t *testing.T, document []byte) {
		var a file
		if Decode(document, &a) != nil {
			return
		}
		// What is accepted can be filled in, and what comes out is accepted again.
		var played []Played
		for _, tr := range a.Transcripts {
			played = append(played, Played{ID: tr.ID, Got: tr.Want, Want: tr.Want})
		}
		if a.Transcripts == nil {
			return
		}
		if err := Check(played); err != nil {
			t.Fatalf("a file differs from itself: %v", err)
		}
		out, err := Fill(document, played)
		if err != nil {
			t.Fatal(err)
		}
		if err := Decode(out, new(file)); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	})
}
