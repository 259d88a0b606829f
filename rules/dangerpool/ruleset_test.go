package dangerpool

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// edited is the shipped document with something changed.
func edited(t *testing.T, edit func(doc map[string]any)) []byte {
	t.Helper()
	var doc map[string]any
	if err := json.Unmarshal(DefaultDocument(), &doc); err != nil {
		t.Fatal(err)
	}
	edit(doc)
	raw, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func at[T any](doc map[string]any, path ...any) T {
	var v any = doc
	for _, p := range path {
		if name, ok := p.(string); ok {
			v = v.(map[string]any)[name]
		} else {
			v = v.([]any)[p.(int)]
		}
	}
	return v.(T)
}

func TestABadRulesetNamesThePlace(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		edit func(doc map[string]any)
		want string
	}{
		"an unknown field":             {func(d map[string]any) { d["colour"] = "red" }, `no field "colour"`},
		"an unknown field further in":  {func(d map[string]any) { at[map[string]any](d, "light_sources", 1)["smell"] = 1 }, "light_sources[1]"},
		"a die without sides":          {func(d map[string]any) { d["die_sides"] = 1 }, "die_sides"},
		"no ranks":                     {func(d map[string]any) { d["ranks"] = []any{} }, "ranks"},
		"a rank twice":                 {func(d map[string]any) { d["ranks"] = []any{"FRONT", "FRONT"} }, "ranks"},
		"nothing that it calls":        {func(d map[string]any) { at[map[string]any](d, "scope")["invokes"] = []any{} }, "scope.invokes"},
		"a torch that never burns":     {func(d map[string]any) { at[map[string]any](d, "light_sources", 0)["duration_dice"] = 0 }, "light_sources[0].duration_dice"},
		"a light of an unknown shape":  {func(d map[string]any) { at[map[string]any](d, "light_sources", 0)["shape"] = "STAR" }, "light_sources[0].shape"},
		"two torches":                  {func(d map[string]any) { at[map[string]any](d, "light_sources", 1)["id"] = "TORCH" }, "light_sources[1].id"},
		"no lantern":                   {func(d map[string]any) { at[map[string]any](d, "light_sources", 1)["id"] = "LAMP" }, "LANTERN is missing"},
		"an event out of order":        {func(d map[string]any) { at[map[string]any](d, "events", 4)["number"] = 6 }, "events[4]"},
		"an event without a name":      {func(d map[string]any) { at[map[string]any](d, "events", 0)["name"] = "" }, "events[0]"},
		"a cap beside the table":       {func(d map[string]any) { d["event_cap"] = 11 }, "event_cap"},
		"a parameter missing":          {func(d map[string]any) { delete(at[map[string]any](d, "parameters"), "wait_block") }, "parameters.wait_block"},
		"a parameter more":             {func(d map[string]any) { at[map[string]any](d, "parameters")["luck"] = map[string]any{"default": 1} }, "parameters.luck"},
		"other options":                {func(d map[string]any) { at[map[string]any](d, "parameters", "refuel_mode")["options"] = []any{"ADD"} }, "parameters.refuel_mode.options"},
		"a value out of range":         {func(d map[string]any) { at[map[string]any](d, "parameters", "pool_limit")["value"] = 0 }, "parameters.pool_limit"},
		"a default of another kind":    {func(d map[string]any) { at[map[string]any](d, "parameters", "pool_limit")["default"] = "six" }, "parameters.pool_limit"},
		"a value that is no such list": {func(d map[string]any) { at[map[string]any](d, "parameters", "hunker_ends_on")["value"] = []any{1} }, "parameters.hunker_ends_on"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := Parse(edited(t, tc.edit)); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want something with %q", err, tc.want)
			}
		})
	}
	for _, document := range []string{"", "[]", "{}", string(DefaultDocument()) + "{}"} {
		if _, err := Parse([]byte(document)); err == nil {
			t.Errorf("%.20q was accepted", document)
		}
	}
}

func TestARulesetComesBackFromItsJSON(t *testing.T) {
	t.Parallel()
	rs := with(t, params{"pool_limit": 7, "overflow_mode": "PER_TRIGGER", "hunker_ends_on": []any{}, "risk_stacks": false, "severity_names": []any{"A", "B", "C"}})
	raw, err := json.Marshal(rs)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(parsed, rs) {
		t.Errorf("parsed: got %+v\nwant %+v", parsed, rs)
	}
	var read Ruleset
	if err := json.Unmarshal(raw, &read); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(&read, rs) {
		t.Errorf("read: got %+v\nwant %+v", read, rs)
	}
	eq(t, "a value that the campaign set", read.int("pool_limit"), 7)
}

func TestParamRange(t *testing.T) {
	t.Parallel()
	for name, p := range shippedParams() {
		low, high, ok := ParamRange(name)
		n, whole := normal(p.Default).(int)
		if ok != whole || ok && (n < low || n > high) {
			t.Errorf("%s: %d..%d, %v for %v", name, low, high, ok, p.Default)
		}
	}
	if _, _, ok := ParamRange("luck"); ok {
		t.Error("an unknown parameter has bounds")
	}
}

// What the document says to people is what the parameters do.
func TestTheTriggerTableAgrees(t *testing.T) {
	t.Parallel()
	rs := Default()
	want := map[string][]int{}
	for _, tr := range rs.Triggers {
		want[tr.ID] = []int{tr.Dice, tr.DiceHunkered, tr.PerMinutes, tr.PerMinutesHunkered, tr.Minutes}
	}
	eq(t, "table", want, map[string][]int{
		"REAL_TIME":   {1, 0, rs.int("real_time_block"), 0, 0},
		"WAIT":        {1, 0, rs.int("wait_block"), rs.int("hunker_wait_block"), 0},
		"RISK":        {1, 0, 0, 0, 0},
		"MOVE":        {1, 0, 0, 0, 0},
		"INTERACT":    {1, 0, 0, 0, 0},
		"HUNKER_DOWN": {1, 0, 0, 0, 0},
		"SHORT_REST":  {rs.int("short_rest_dice"), rs.int("short_rest_dice_hunkered"), 0, 0, rs.int("short_rest_minutes")},
		"LONG_REST":   {rs.int("long_rest_dice"), rs.int("long_rest_dice_hunkered"), 0, 0, rs.int("long_rest_minutes")},
		"COMBAT_END":  {1, 0, rs.int("real_time_block"), 0, 0},
	})
	for _, s := range rs.SpellDurations {
		eq(t, "dice of a spell", rs.SpellDice(s.WrittenMinutes*60), s.Dice)
	}
	for _, s := range rs.Severities {
		eq(t, "severity "+s.Ones, rs.Severity(int(s.Ones[0]-'0')), s.ID)
	}
}
