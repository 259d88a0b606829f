package jsonobject

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPaths(t *testing.T) {
	t.Parallel()
	var o Object
	if err := json.Unmarshal([]byte(`{
		"run": {"name": "dive", "over": true, "members": [{"exhaustion": 30}, {"exhaustion": 45}, 7]}, "faces": [3, 1, "six"], "none": null
	}`), &o); err != nil {
		t.Fatal(err)
	}
	o["made"] = Object{"by": "hand"}
	for path, want := range map[string]any{
		"run.name": "dive", "run.members.1.exhaustion": 45.0, "run.members.2": 7.0, "made.by": "hand", "none": nil,
		"run.members.3": nil, "run.members.-1": nil, "run.members.first": nil, "run.name.length": nil, "nowhere": nil, "none.of": nil, "": nil,
	} {
		if diff := cmp.Diff(want, o.Get(path)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", path, diff)
		}
	}
	for what, row := range map[string]struct{ got, want any }{
		"a text":                   {o.Text("run.name"), "dive"},
		"a text that is none":      {o.Text("run.members"), ""},
		"a number":                 {o.Number("run.members.0.exhaustion"), 30},
		"a number that is none":    {o.Number("run.name"), 0},
		"what is true":             {o.True("run.over"), true},
		"what is no truth":         {o.True("run.name"), false},
		"an object":                {o.Object("run").Text("name"), "dive"},
		"an object made by hand":   {o.Object("made"), Object{"by": "hand"}},
		"an object that is none":   {o.Object("faces"), Object(nil)},
		"a list of objects":        {o.List("run.members"), []Object{{"exhaustion": 30.0}, {"exhaustion": 45.0}}},
		"a list that is none":      {o.List("run"), []Object{}},
		"numbers":                  {o.Numbers("faces"), []int{3, 1, 0}},
		"numbers that are none":    {o.Numbers("run"), []int(nil)},
		"a path from nothing":      {Object(nil).Text("run.name"), ""},
		"one with another value":   {Object{"a": 1, "b": 2}.With("a", 3), Object{"a": 3, "b": 2}},
		"one with one more":        {Object(nil).With("a", 3), Object{"a": 3}},
		"the one that was changed": {changed(), Object{"a": 1}},
	} {
		if diff := cmp.Diff(row.want, row.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
}

// changed returns an object of which a changed copy was made.
func changed() Object {
	o := Object{"a": 1}
	_ = o.With("a", 2)
	return o
}
