package ruleset_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/wayfarer-rpg/wayfarer/rules/play"
	"github.com/wayfarer-rpg/wayfarer/rules/play/repeat"
	"github.com/wayfarer-rpg/wayfarer/rules/ruleset"
)

func init() { repeat.Properties(20260101, 0) }

// refused returns code and field of a refusal, "" for none.
func refused(t testing.TB, err error) string {
	t.Helper()
	if err == nil {
		return ""
	}
	var r *play.Refusal
	if !errors.As(err, &r) {
		t.Fatalf("no refusal: %v", err)
	}
	return r.Code + " " + r.Field
}

func names(system string) []string {
	var out []string
	for _, p := range ruleset.Parameters(system) {
		out = append(out, p.Name)
	}
	return out
}

func TestParametersAreThoseOfTheCatalogues(t *testing.T) {
	t.Parallel()
	if got, want := ruleset.Systems(), []string{"danger-pool", "danger-world", "die-drop", "digger"}; !slices.Equal(got, want) {
		t.Fatalf("systems %v, want %v", got, want)
	}
	for _, system := range ruleset.Systems() {
		t.Run(system, func(t *testing.T) {
			t.Parallel()
			raw, err := os.ReadFile("../../docs/rules/" + system + ".md")
			if err != nil {
				t.Fatal(err)
			}
			catalogue := string(raw)
			listed := names(system)
			if !slices.IsSorted(listed) || len(slices.Compact(slices.Clone(listed))) != len(listed) {
				t.Error("the names are not in order, each once")
			}
			for _, p := range ruleset.Parameters(system) {
				if p.System != system || p.Note == "" || p.Kind == 0 {
					t.Errorf("%s: system %q, kind %d, note %q", p.Name, p.System, p.Kind, p.Note)
				}
				if err := p.Check(p.Default); err != nil {
					t.Errorf("%s: its own default: %v", p.Name, err)
				}
				for _, id := range p.Rules {
					if !strings.Contains(catalogue, "| "+id+" ") {
						t.Errorf("%s: the catalogue has no %s", p.Name, id)
					}
				}
			}
			// Whatever the catalogue writes as a name that begins like a parameter is one.
			roots := map[string]bool{}
			for _, name := range listed {
				root, _, _ := strings.Cut(name, ".")
				roots[root] = true
			}
			// These are parts of states and groups of parameters.
			parts := []string{"tools.qualities", "party.members"}
			for _, m := range regexp.MustCompile("`([a-z_]+(?:\\.[a-z_0-9]+)+)`").FindAllStringSubmatch(catalogue, -1) {
				root, _, _ := strings.Cut(m[1], ".")
				if roots[root] && !slices.Contains(listed, m[1]) && !slices.Contains(parts, m[1]) {
					t.Errorf("%s is no parameter", m[1])
				}
			}
		})
	}
}

// other returns a value that a parameter may have and does not have by default, if it has one.
func other(p ruleset.Parameter) (any, bool) {
	switch d := p.Default.(type) {
	case bool:
		return !d, true
	case float64:
		if p.Kind != ruleset.Enum {
			step := 1.0
			if p.Kind == ruleset.Number {
				step = 0.125
			}
			if p.Max == nil || d+step <= *p.Max {
				return d + step, true
			}
			return d - step, true
		}
	case []any:
		if len(d) > 0 && p.Elements == ruleset.Enum && !strings.Contains(p.Name, "severity_names") {
			return d[1:], true
		}
	case map[string]any:
		if p.Elements != ruleset.Integer {
			return nil, false
		}
		out := map[string]any{}
		for k, v := range d {
			out[k], _ = v.(float64)
		}
		for k, v := range out {
			n, _ := v.(float64)
			out[k] = n + 1
		}
		return out, true
	}
	for _, o := range p.Options {
		if o != p.Default {
			return o, true
		}
	}
	return nil, false
}

// An override is in the document, at its parameter and nowhere else, and says so.
func TestEveryParameterCanBeOverridden(t *testing.T) {
	t.Parallel()
	// These stand only beside others; the ruleset without those is refused.
	together := map[string]bool{"dp.dp_at_creation": true, "dp.ability_max": true, "challenge.levels": true, "exhaustion.out_at": true, "type_profiles.abyss.final_level": true}
	for _, system := range ruleset.Systems() {
		before, err := ruleset.Values(system, document(t, system, nil))
		if err != nil {
			t.Fatal(err)
		}
		tried := 0
		for _, p := range ruleset.Parameters(system) {
			v, ok := other(p)
			if !ok {
				continue
			}
			tried++
			set := map[string]any{p.Name: v}
			doc, origins, err := ruleset.Effective(system, set)
			if together[p.Name] {
				if got := refused(t, err); got != ruleset.Invalid+" "+p.Name {
					t.Errorf("%s %s=%v: %q", system, p.Name, v, got)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s %s=%v: %v", system, p.Name, v, err)
				continue
			}
			after, err := ruleset.Values(system, doc)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(v, after[p.Name]); diff != "" {
				t.Errorf("%s %s: %s", system, p.Name, diff)
			}
			for name, was := range before {
				changed := !cmp.Equal(was, after[name])
				_, told := origins[name]
				if changed && !told {
					t.Errorf("%s: with %s, %s is %v and nothing tells why", system, p.Name, name, after[name])
				}
				related := name == p.Name || name == "dp.dp_at_creation" && (p.Name == "dp.cp_per_dp" || p.Name == "dp.cp_at_creation") || strings.HasPrefix(name, p.Name+".") || strings.HasPrefix(p.Name, name+".")
				if told != related || told && origins[name] != p.Name {
					t.Errorf("%s: with %s, %s comes from %q", system, p.Name, name, origins[name])
				}
			}
		}
		if tried < len(before)/2 {
			t.Errorf("%s: only %d of %d were tried", system, tried, len(before))
		}
	}
}

func document(t testing.TB, system string, set map[string]any) []byte {
	t.Helper()
	doc, _, err := ruleset.Effective(system, set)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// Every parameter refuses every other kind of value, and what is beyond its bounds.
func TestEveryParameterIsChecked(t *testing.T) {
	t.Parallel()
	values := []any{nil, true, 7.0, 0.5, "x", []any{true}, map[string]any{"x": []any{}}}
	kinds := func(v any) ruleset.Kind {
		switch v := v.(type) {
		case bool:
			return ruleset.Boolean
		case float64:
			if v == 0.5 {
				return ruleset.Number
			}
			return ruleset.Integer
		case []any:
			return ruleset.List
		case map[string]any:
			return ruleset.Map
		}
		return 0
	}
	check := func(system string, p ruleset.Parameter, v any, want ...string) {
		t.Helper()
		_, _, err := ruleset.Effective(system, map[string]any{p.Name: v})
		got, _, _ := strings.Cut(refused(t, err), " ")
		if !slices.Contains(want, got) || refused(t, err) != got+" "+p.Name {
			t.Errorf("%s %s=%v: %q, want one of %v", system, p.Name, v, refused(t, err), want)
		}
	}
	for _, system := range ruleset.Systems() {
		for _, p := range ruleset.Parameters(system) {
			for _, v := range values {
				switch {
				case v == nil && p.Nullable, p.Kind == kinds(v), p.Kind == ruleset.Number && kinds(v) == ruleset.Integer:
				case p.Kind == ruleset.Enum:
					check(system, p, v, ruleset.WrongType, ruleset.OutOfRange)
				default:
					check(system, p, v, ruleset.WrongType)
				}
			}
			if p.Kind == ruleset.Enum {
				check(system, p, map[bool]any{true: "no such word", false: 99.0}[isText(p.Options)], ruleset.OutOfRange)
			}
			if p.Kind != ruleset.Integer && p.Kind != ruleset.Number {
				continue
			}
			if p.Min == nil || p.Max == nil {
				t.Errorf("%s %s has no bounds", system, p.Name)
				continue
			}
			check(system, p, *p.Min-1, ruleset.OutOfRange)
			check(system, p, *p.Max+1, ruleset.OutOfRange)
		}
	}
}

func isText(options []any) bool {
	_, ok := options[len(options)-1].(string)
	return ok
}

func TestEffective(t *testing.T) {
	t.Parallel()
	tn := func(a, b, c, d float64) map[string]any { return map[string]any{"1": a, "2": b, "3": c, "4": d} }
	for name, tc := range map[string]struct {
		system string
		set    map[string]any
		want   string
		at     map[string]any
		from   map[string]string
	}{
		"nothing overridden":        {"digger", nil, "", map[string]any{"dp.cp_per_dp": 5.0, "dp.dp_at_creation": 48.0}, map[string]string{}},
		"the points follow the two": {"digger", map[string]any{"dp.cp_per_dp": 4}, "", map[string]any{"dp.dp_at_creation": 60.0}, map[string]string{"dp.cp_per_dp": "dp.cp_per_dp", "dp.dp_at_creation": "dp.cp_per_dp"}},
		"the points agree":          {"digger", map[string]any{"dp.cp_per_dp": 4, "dp.dp_at_creation": 60}, "", map[string]any{"dp.dp_at_creation": 60.0}, nil},
		"the points do not":         {"digger", map[string]any{"dp.cp_per_dp": 4, "dp.dp_at_creation": 50}, "INVALID_RULESET dp.dp_at_creation", nil, nil},
		"an entry within a table": {"digger", map[string]any{"challenge.tn.2": 3, "challenge.tn": tn(1, 1, 1, 1)}, "", map[string]any{"challenge.tn": tn(1, 3, 1, 1)}, map[string]string{
			"challenge.tn": "challenge.tn", "challenge.tn.1": "challenge.tn", "challenge.tn.2": "challenge.tn.2", "challenge.tn.3": "challenge.tn", "challenge.tn.4": "challenge.tn",
		}},
		"ratings that the tables know": {"digger", map[string]any{
			"tools.ratings":              map[string]any{"grand": map[string]any{"tp": 4, "uses": 1, "bonus": 6}, "major": map[string]any{"tp": 3, "uses": 2, "bonus": 4}, "minor": map[string]any{"tp": 2, "uses": 3, "bonus": 2}},
			"risk.tool_extra_exhaustion": map[string]any{"grand": 9, "major": 5, "minor": 3},
		}, "", map[string]any{"tools.ratings.minor.tp": 2.0}, nil},
		"a rating that the tables do not know": {"digger", map[string]any{"tools.ratings": map[string]any{"grand": map[string]any{"tp": 4, "uses": 1, "bonus": 6}}}, "INVALID_RULESET tools.ratings", nil, nil},
		"an entry of a table that is gone":     {"digger", map[string]any{"tools.ratings": map[string]any{}, "tools.ratings.major.tp": 2}, "INVALID_RULESET tools.ratings", nil, nil},
		"no floor at all":                      {"digger", map[string]any{"dp.ability_floor": nil}, "", map[string]any{"dp.ability_floor": nil}, nil},
		"a text of a number":                   {"digger", map[string]any{"party.max": json.Number("4")}, "", map[string]any{"party.max": 4.0}, nil},
		"a variant of hunger":                  {"die-drop", map[string]any{"starve.variant": "drain", "starve.drain_die": 6}, "", map[string]any{"starve.variant": "drain", "starve.drain_die": 6.0, "starve.drain_per": "member"}, nil},
		"a search that may fail":               {"die-drop", map[string]any{"search.success_min": 4}, "", map[string]any{"search.success_min": 4.0}, nil},
		"a die that is no usage die":           {"die-drop", map[string]any{"light.torch_die": 7}, "OUT_OF_RANGE light.torch_die", nil, nil},
		"two that contradict each other":       {"danger-world", map[string]any{"stat_floor": 5, "stat_max": 4}, "INVALID_RULESET stat_floor", nil, nil},
		"a range":                              {"danger-world", map[string]any{"difficulty_range": []any{3, 5}}, "", map[string]any{"difficulty_range": []any{3.0, 5.0}}, nil},
		"a range the wrong way round":          {"danger-world", map[string]any{"difficulty_range": []any{5, 3}}, "INVALID_RULESET difficulty_range", nil, nil},
		"a trigger that there is not":          {"danger-pool", map[string]any{"hunker_ends_on": []any{"SNEEZE"}}, "OUT_OF_RANGE hunker_ends_on", nil, nil},
		"a number among words":                 {"danger-pool", map[string]any{"hunker_ends_on": []any{"MOVE", 1}}, "WRONG_TYPE hunker_ends_on", nil, nil},
		"no trigger":                           {"danger-pool", map[string]any{"hunker_ends_on": []any{}}, "", map[string]any{"hunker_ends_on": []any{}}, nil},
		"a system that there is not":           {"chess", nil, "UNKNOWN_SYSTEM ", nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc, origins, err := ruleset.Effective(tc.system, tc.set)
			if got := refused(t, err); got != tc.want {
				t.Fatalf("%q, want %q: %v", got, tc.want, err)
			}
			if err != nil {
				return
			}
			values, err := ruleset.Values(tc.system, doc)
			if err != nil {
				t.Fatal(err)
			}
			for name, want := range tc.at {
				if diff := cmp.Diff(want, values[name]); diff != "" {
					t.Errorf("%s: %s", name, diff)
				}
			}
			if diff := cmp.Diff(tc.from, origins); tc.from != nil && diff != "" {
				t.Errorf("origins: %s", diff)
			}
		})
	}
}

func TestMerge(t *testing.T) {
	t.Parallel()
	table := map[string]any{"1": 1.0, "2": 2.0, "3": 3.0, "4": 4.0}
	type set = map[string]any
	for name, tc := range map[string]struct {
		present, set set
		clear        []string
		want         set
		dropped      []string
		refused      string
	}{
		"the first":                        {nil, set{"party.max": 4.0}, nil, set{"party.max": 4.0}, nil, ""},
		"another value":                    {set{"party.max": 4.0}, set{"party.max": 5.0}, nil, set{"party.max": 5.0}, nil, ""},
		"one is cleared":                   {set{"party.max": 4.0, "risk.bonus": 1.0}, nil, []string{"party.max"}, set{"risk.bonus": 1.0}, []string{"party.max"}, ""},
		"one that is not set is cleared":   {set{"risk.bonus": 1.0}, nil, []string{"party.max"}, set{"risk.bonus": 1.0}, nil, ""},
		"a table takes its entries over":   {set{"challenge.tn.2": 9.0}, set{"challenge.tn": table}, nil, set{"challenge.tn": table}, []string{"challenge.tn.2"}, ""},
		"a table with an entry of its own": {nil, set{"challenge.tn": table, "challenge.tn.2": 9.0}, nil, set{"challenge.tn": table, "challenge.tn.2": 9.0}, nil, ""},
		"an entry leaves its table":        {set{"challenge.tn": table}, set{"challenge.tn.2": 9.0}, nil, set{"challenge.tn": table, "challenge.tn.2": 9.0}, nil, ""},
		"what nobody knows any more":       {set{"party.moods": 4.0}, nil, []string{"party.moods"}, set{}, []string{"party.moods"}, ""},
		"what nobody knows":                {nil, nil, []string{"party.moods"}, nil, nil, "UNKNOWN_PARAMETER party.moods"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := maps.Clone(tc.present)
			got, dropped, err := ruleset.Merge("digger", tc.present, tc.set, tc.clear)
			if refused(t, err) != tc.refused || !cmp.Equal(got, tc.want) || !slices.Equal(dropped, tc.dropped) {
				t.Errorf("%v, dropped %v, %v", got, dropped, err)
			}
			if !cmp.Equal(before, tc.present) {
				t.Errorf("what was is %v now", tc.present)
			}
		})
	}
}

// drawn draws a value for a parameter, mostly one that it may have.
func drawn(t *rapid.T, p ruleset.Parameter) any {
	number := func() any {
		low, high := -10, 200
		if p.Min != nil {
			low, high = int(*p.Min), min(int(*p.Max), int(*p.Min)+200)
		}
		n := rapid.IntRange(low-1, high+1).Draw(t, p.Name)
		if p.Kind == ruleset.Number || p.Elements == ruleset.Number {
			return float64(n) / 4
		}
		return float64(n)
	}
	switch p.Kind {
	case ruleset.Integer, ruleset.Number:
		if p.Nullable && rapid.Bool().Draw(t, "null") {
			return nil
		}
		return number()
	case ruleset.Boolean:
		return rapid.Bool().Draw(t, p.Name)
	case ruleset.Enum:
		return rapid.SampledFrom(append(slices.Clone(p.Options), "no such word")).Draw(t, p.Name)
	case ruleset.List:
		d, _ := p.Default.([]any)
		out := []any{}
		for range d {
			if p.Elements == ruleset.Enum {
				out = append(out, rapid.SampledFrom(d).Draw(t, p.Name))
			} else {
				out = append(out, number())
			}
		}
		return out
	case ruleset.Map:
		d, _ := p.Default.(map[string]any)
		out := map[string]any{}
		for _, key := range slices.Sorted(maps.Keys(d)) {
			if p.Elements != 0 {
				out[key] = number()
			} else {
				out[key] = d[key]
			}
		}
		return out
	}
	return nil
}

// Whatever is overridden, either a ruleset comes of it in which everything that was set is as it was set, or a refusal that
// names one of the parameters.
func TestRandomOverrides(t *testing.T) {
	t.Parallel()
	known := []string{ruleset.WrongType, ruleset.OutOfRange, ruleset.Invalid}
	rapid.Check(t, func(t *rapid.T) {
		system := rapid.SampledFrom(ruleset.Systems()).Draw(t, "system")
		set := map[string]any{}
		for _, p := range rapid.SliceOfNDistinct(rapid.SampledFrom(ruleset.Parameters(system)), 1, 6, func(p ruleset.Parameter) string { return p.Name }).Draw(t, "parameters") {
			set[p.Name] = drawn(t, p)
		}
		before, err := json.Marshal(set)
		if err != nil {
			t.Fatal(err)
		}
		doc, origins, err := ruleset.Effective(system, set)
		if after, _ := json.Marshal(set); string(after) != string(before) {
			t.Fatalf("what was asked for is %s now", after)
		}
		if err != nil {
			var r *play.Refusal
			if !errors.As(err, &r) || !slices.Contains(known, r.Code) {
				t.Fatalf("%v: %v", set, err)
			}
			if _, ok := set[r.Field]; !ok {
				t.Fatalf("%v: %s is about %q", set, r.Code, r.Field)
			}
			return
		}
		again, _, err := ruleset.Effective(system, set)
		if err != nil || string(again) != string(doc) {
			t.Fatalf("the same overrides make another document: %v", err)
		}
		values, err := ruleset.Values(system, doc)
		if err != nil {
			t.Fatal(err)
		}
		for name, from := range origins {
			if _, ok := set[from]; !ok {
				t.Fatalf("%s comes from %s, which is not set", name, from)
			}
		}
		for name, v := range set {
			inner := slices.ContainsFunc(slices.Collect(maps.Keys(set)), func(o string) bool { return strings.HasPrefix(o, name+".") })
			if !inner && !cmp.Equal(values[name], v) || origins[name] != name {
				t.Fatalf("%s is %v of %s, not %v", name, values[name], origins[name], v)
			}
		}
	})
}

func ExampleEffective() {
	_, origins, err := ruleset.Effective(ruleset.DieDrop, map[string]any{"starve.variant": "drain"})
	fmt.Println(origins, err)
	_, _, err = ruleset.Effective(ruleset.DieDrop, map[string]any{"starve.variant": "feast"})
	fmt.Println(err)
	// Output:
	// map[starve.variant:starve.variant] <nil>
	// OUT_OF_RANGE: starve.variant is feast, which is none of [damage deprived drain]
}
