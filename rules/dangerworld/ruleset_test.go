package dangerworld

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
)

func TestTheShippedRulesetIsWhole(t *testing.T) {
	t.Parallel()
	rs := Default()
	eq(t, "parameters", len(rs.Params), 33)
	eq(t, "purchases", len(rs.Purchases), 10)
	eq(t, "levels", len(rs.Track), 11)
	// Nothing of the document is lost on the way through the types.
	var want any
	if err := json.Unmarshal(DefaultDocument(), &want); err != nil {
		t.Fatal(err)
	}
	var got any
	if err := json.Unmarshal([]byte(mustJSON(t, rs)), &got); err != nil {
		t.Fatal(err)
	}
	eq(t, "document", got, want)
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		old, with string
		want      string
	}{
		"an unknown key":                  {`"version": 1`, `"version": 1, "luck": 1`, "luck"},
		"a text for a number":             {`"die_sides": 6`, `"die_sides": "6"`, "die_sides"},
		"a die without sides":             {`"die_sides": 6`, `"die_sides": 1`, "die_sides"},
		"a width of nothing":              {`"min_width": 2`, `"min_width": 0`, "accomplishments[0]"},
		"heights that do not rise":        {`"height": 3`, `"height": 2`, "accomplishments[1]"},
		"an unknown purchase":             {`"id": "HIT_FULL"`, `"id": "HUG"`, "HIT_FULL is missing"},
		"a purchase for nothing":          {`"cost": 6`, `"cost": 0`, "cost"},
		"a setback without difficulty":    {`"setback_difficulty": 5`, `"setback_difficulty": 0`, "SETBACK_MAJOR"},
		"a die of another kind":           {`"prefix": "D"`, `"prefix": "X"`, "dice_kinds[1]"},
		"a stat with a wrong number":      {`"number": 5`, `"number": 6`, "stats[4]"},
		"a stat twice":                    {`"Cool"`, `"Agility"`, "stats[11]"},
		"a harm that ends at no time":     {`"until": "PERMANENT"`, `"until": "NEVER"`, "danger_track[10]"},
		"an unknown harm":                 {`"harm": "KO"`, `"harm": "TIRED"`, "danger_track[9]"},
		"a missing parameter":             {`"stat_floor"`, `"stat_roof"`, "parameters.stat_floor: is missing"},
		"a parameter that is not known":   {`"stat_floor"`, `"stat_roof"`, "parameters.stat_roof: is unknown"},
		"an option that is not known":     {`"FINAL"`, `"NEVER"`, "parameters.botch_count.options"},
		"a value that is no option":       {`"default": "EVERY_ROLL"`, `"default": "SOMETIMES"`, "parameters.botch_count"},
		"something after it":              {"}\n}", "}\n} 1", "after the document"},
		"a floor above the most":          {`"default": 10`, `"default": 10, "value": 0`, "stat_max"},
		"a negative number of re-rolls":   {`"default": 2,`, `"default": -2,`, "max_rerolls"},
		"a broken number of points":       {`"default": 5,`, `"default": 5.5,`, "points_per_level"},
		"a difficulty range upside down":  {"[\n    2,\n    6\n   ]", "[6, 2]", "difficulty_range"},
		"a difficulty range of one":       {"[\n    2,\n    6\n   ]", "[2]", "difficulty_range"},
		"points for a hit that is not":    {`"HIT_REDUCED": 2`, `"HIT_SOFT": 2`, "hit_danger_points"},
		"points for a hit that are words": {`"HIT_REDUCED": 2`, `"HIT_REDUCED": "two"`, "HIT_REDUCED"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			document := bytes.Replace(DefaultDocument(), []byte(tt.old), []byte(tt.with), 1)
			if bytes.Equal(document, DefaultDocument()) {
				t.Fatalf("%s is not in the document", tt.old)
			}
			if _, err := Parse(document); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
}

func TestOverrides(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		overrides map[string]any
		want      string // "" is accepted
	}{
		"none":                        {nil, ""},
		"an option":                   {map[string]any{"botch_count": "FINAL"}, ""},
		"a number as JSON has it":     {map[string]any{"max_rerolls": 3.0}, ""},
		"a number as JSON writes it":  {map[string]any{"max_rerolls": json.Number("3")}, ""},
		"an unknown name":             {map[string]any{"luck": 1}, "luck: there is no such parameter"},
		"a word that is no option":    {map[string]any{"botch_count": "NEVER"}, "botch_count"},
		"a number for a word":         {map[string]any{"botch_count": 1}, "botch_count: 1 is no text"},
		"a word for a number":         {map[string]any{"max_rerolls": "3"}, "max_rerolls: 3 is no whole number"},
		"half a number":               {map[string]any{"max_rerolls": 2.5}, "max_rerolls"},
		"a number below the range":    {map[string]any{"max_rerolls": -1}, "max_rerolls: -1 is not within 0..20"},
		"a number above the range":    {map[string]any{"points_per_level": 0}, "points_per_level"},
		"null":                        {map[string]any{"max_rerolls": nil}, "max_rerolls"},
		"a range that is a number":    {map[string]any{"difficulty_range": 3}, "difficulty_range"},
		"a range of words":            {map[string]any{"difficulty_range": []any{"2", "6"}}, "difficulty_range"},
		"a list for points":           {map[string]any{"hit_danger_points": []any{1, 2, 3}}, "hit_danger_points"},
		"a floor above the most":      {map[string]any{"stat_floor": 9, "stat_max": 8}, "stat_floor: 9 is above stat_max, 8"},
		"two that are wrong at once":  {map[string]any{"luck": 1, "stat_max": 0}, "stat_max: 0 is not within"},
		"one that would be fine, too": {map[string]any{"luck": 1, "stat_max": 9}, "luck"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rs, err := Default().With(tt.overrides)
			if tt.want != "" {
				if err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Fatalf("error %v, want one with %q", err, tt.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			// What is overridden survives being written and parsed again; the shipped ruleset stays as it was.
			again, err := Parse([]byte(mustJSON(t, rs)))
			if err != nil {
				t.Fatal(err)
			}
			eq(t, "again", mustJSON(t, again), mustJSON(t, rs))
			for name := range tt.overrides {
				if Default().Params[name].Value != nil {
					t.Errorf("the shipped %s is overridden", name)
				}
			}
		})
	}
}

func TestRangesAreOfParameters(t *testing.T) {
	t.Parallel()
	for _, name := range slices.Sorted(maps.Keys(Default().Params)) {
		r, ok := ParamRange(name)
		if ok == (Default().Params[name].Options != nil) || ok && r.Min > r.Max {
			t.Errorf("%s: range %v, options %v", name, r, Default().Params[name].Options)
		}
	}
}
