package diedrop

import (
	"encoding/json"
	"strings"
	"testing"
)

// edited returns the shipped ruleset as a document with something changed.
func edited(t *testing.T, edit func(doc map[string]any)) []byte {
	t.Helper()
	var doc map[string]any
	if err := json.Unmarshal(DefaultDocument(), &doc); err != nil {
		t.Fatal(err)
	}
	edit(doc)
	return []byte(mustJSON(t, doc))
}

// at walks a document by keys and indexes.
func at(doc any, path ...any) map[string]any {
	for _, step := range path {
		switch s := step.(type) {
		case string:
			doc = doc.(map[string]any)[s]
		case int:
			doc = doc.([]any)[s]
		}
	}
	return doc.(map[string]any)
}

func TestParseIsStrict(t *testing.T) {
	t.Parallel()
	if _, err := Parse(edited(t, func(map[string]any) {})); err != nil {
		t.Fatal(err)
	}
	for want, edit := range map[string]func(doc map[string]any){
		"unknown field":         func(doc map[string]any) { doc["house_rules"] = true },
		"die_chain: is empty":   func(doc map[string]any) { doc["die_chain"] = []any{} },
		"die_chain[1]":          func(doc map[string]any) { doc["die_chain"] = []any{"d8", "d12"} },
		"die_chain[0]":          func(doc map[string]any) { doc["die_chain"] = []any{"d+20", "d12"} },
		"slot_ratios.d8":        func(doc map[string]any) { at(doc, "slot_ratios")["d8"] = "1/0" },
		"slot_ratios.d20":       func(doc map[string]any) { delete(at(doc, "slot_ratios"), "d20") },
		"terrains.swamp.dice":   func(doc map[string]any) { at(doc, "terrains", "swamp")["dice"] = 4 },
		"terrains.lake.enc":     func(doc map[string]any) { at(doc, "terrains", "lake")["encounter_table"] = "sea" },
		"encounter_tables.stan": func(doc map[string]any) { at(doc, "encounter_tables", "standard", "entries", 0)["roll"] = 3 },
		"number dice from d2":   func(doc map[string]any) { at(doc, "encounter_tables", "standard", "entries", 0)["number_die"] = 0 },
		"site_tables[2]":        func(doc map[string]any) { at(doc, "site_tables", 2)["number"] = 4 },
		"site_tables[0]":        func(doc map[string]any) { at(doc, "site_tables", 0, "entries", 5)["creature"] = "" },
		"nothing for 12": func(doc map[string]any) {
			at(doc, "reaction_table", 4)["max"] = 11
			at(doc, "reaction_table", 4)["min"] = 11
		},
		"light_sources.lantern":       func(doc map[string]any) { delete(at(doc, "light_sources"), "lantern") },
		"missions: are missing":       func(doc map[string]any) { doc["missions"] = []any{} },
		"missions[3]":                 func(doc map[string]any) { at(doc, "missions", 3)["number"] = 5 },
		"params.enc.gold: is missing": func(doc map[string]any) { delete(at(doc, "params"), "enc.gold") },
		"params.enc.silver: is unknown": func(doc map[string]any) {
			at(doc, "params")["enc.silver"] = map[string]any{"default": true, "options": []any{true}, "rules": []any{}, "note": ""}
		},
		"params.enc.check_max: 7 is not within 0..6": func(doc map[string]any) { at(doc, "params", "enc.check_max")["default"] = 7 },
		"params.starve.rounds_per_day.options":       func(doc map[string]any) { at(doc, "params", "starve.rounds_per_day")["options"] = "0.." },
		"params.light.torch_die: 10 is not in the die chain": func(doc map[string]any) {
			doc["die_chain"] = []any{"d20", "d12", "d8", "d6", "d4"}
			at(doc, "params", "light.torch_die")["default"] = 10
		},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			rs, err := Parse(edited(t, edit))
			if err == nil || rs != nil || !strings.Contains(err.Error(), want) {
				t.Errorf("Parse = %v, %v", rs, err)
			}
		})
	}
	if _, err := Parse(append(DefaultDocument(), "{}"...)); err == nil {
		t.Error("something after the document is read over")
	}
}

func TestAllFaultsOfARulesetAreNamed(t *testing.T) {
	t.Parallel()
	_, err := Parse(edited(t, func(doc map[string]any) {
		at(doc, "terrains", "swamp")["dice"] = 0
		at(doc, "params", "enc.gold")["default"] = "yes"
		delete(at(doc, "params"), "enc.reaction")
	}))
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"terrains.swamp.dice", "params.enc.gold", "params.enc.reaction"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not named in %v", want, err)
		}
	}
}

func TestWith(t *testing.T) {
	t.Parallel()
	rs, err := Default().With(map[string]any{
		"buy.gold_per_slot": 0, "enc.gold": false, "starve.variant": "drain", "search.success_min": int64(4), "forage.success_min": 6.0,
	})
	if err != nil {
		t.Fatal(err)
	}
	least, doubt := rs.optional("search.success_min")
	eq(t, "values", [6]any{rs.int("buy.gold_per_slot"), rs.flag("enc.gold"), rs.text("starve.variant"), least, doubt, rs.int("forage.success_min")},
		[6]any{0, false, "drain", 4, true, 6})
	_, doubt = Default().optional("search.success_min")
	eq(t, "the shipped ruleset stays as it was", [3]any{Default().int("buy.gold_per_slot"), Default().flag("enc.gold"), doubt}, [3]any{5, true, false})

	var back Ruleset
	if err := json.Unmarshal([]byte(mustJSON(t, rs)), &back); err != nil {
		t.Fatal(err)
	}
	eq(t, "written and read", mustJSON(t, &back), mustJSON(t, rs))
	if _, err := Parse([]byte(mustJSON(t, rs))); err != nil {
		t.Errorf("a ruleset with overrides is a document like any other: %v", err)
	}
	certain, err := rs.With(map[string]any{"search.success_min": nil})
	if err != nil {
		t.Fatal(err)
	}
	_, doubt = certain.optional("search.success_min")
	eq(t, "null again", doubt, false)
}

func TestWithRefuses(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		param string
		value any
	}{
		"an unknown name":          {"enc.silver", 1},
		"below the range":          {"food.max_dice", 0},
		"above the range":          {"food.max_dice", 5},
		"a fraction":               {"use.step_down_max", 1.5},
		"a text for a number":      {"use.step_down_max", "2"},
		"a number for a flag":      {"enc.gold", 1},
		"a number not listed":      {"enc.gold_die", 5},
		"an unknown word":          {"starve.variant", "feast"},
		"null where there is none": {"mission.outset", nil},
		"a list":                   {"starve.variant", []any{"drain"}},
		"more than fits":           {"buy.boat_gold", 1e12},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rs, err := Default().With(map[string]any{tc.param: tc.value, "enc.reaction": false})
			if err == nil || rs != nil || !strings.Contains(err.Error(), tc.param) {
				t.Errorf("With = %v, %v", rs, err)
			}
		})
	}
	_, err := Default().With(map[string]any{"food.max_dice": 9, "enc.gold": "much", "a.b": 1})
	for _, want := range []string{"food.max_dice", "enc.gold", "a.b"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s is not named in %v", want, err)
		}
	}
}

func TestAParameterOfAnotherNameOrTypeIsAFault(t *testing.T) {
	t.Parallel()
	for name, read := range map[string]func(){
		"a name":  func() { Default().int("enc.check_most") },
		"a type":  func() { Default().text("enc.check_max") },
		"no flag": func() { Default().flag("search.success_min") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			defer func() {
				if recover() == nil {
					t.Error("read over")
				}
			}()
			read()
		})
	}
}
