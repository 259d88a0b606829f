package rest_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/wayfarer-rpg/wayfarer/gateway/rest"
)

// A campaign's rulesets as a web client sees them: values of every JSON type go in and come out as they are.
func TestRulesets(t *testing.T) {
	t.Parallel()
	e := newGame(t, rest.Config{})
	const at = "/v1/campaigns/c/rulesets/"
	parameter := func(rs map[string]any, name string) map[string]any {
		t.Helper()
		list, _ := rs["parameters"].([]any)
		for _, p := range list {
			if p, _ := p.(map[string]any); p["name"] == name {
				return p
			}
		}
		t.Fatalf("no parameter %s", name)
		return nil
	}
	set := e.ok("gerd", "POST", at+"die-drop:override", `{"set": {"starve.variant": "drain", "search.success_min": 4, "river.needs_boat": false}}`, "Idempotency-Key: o1")
	got := e.ok("sven", "GET", at+"die-drop", "")
	for name, want := range map[string]any{"starve.variant": "drain", "search.success_min": 4.0, "river.needs_boat": false} {
		for _, rs := range []map[string]any{set, got} {
			p := parameter(rs, name)
			from, _ := p["override"].(map[string]any)
			if p["value"] != want || from["actor"] != "gerd" || from["seq"] != 2.0 || from["parameter"] != name {
				t.Errorf("%s: %v", name, p)
			}
		}
	}
	if p := parameter(got, "starve.damage"); p["value"] != 1.0 || p["defaultValue"] != 1.0 || p["override"] != nil {
		t.Errorf("what nobody set: %v", p)
	}
	e.ok("gerd", "POST", at+"die-drop:override", `{"set": {"search.success_min": null}, "clear": ["river.needs_boat"]}`, "Idempotency-Key: o2")
	got = e.ok("gerd", "GET", at+"die-drop", "")
	if p := parameter(got, "search.success_min"); p["value"] != nil || p["override"] == nil {
		t.Errorf("null: %v", p)
	}
	if p := parameter(got, "river.needs_boat"); p["value"] != true || p["override"] != nil {
		t.Errorf("cleared: %v", p)
	}
	list := e.ok("sven", "GET", "/v1/campaigns/c/rulesets", "")
	if rows, _ := list["rulesets"].([]any); len(rows) != 4 {
		t.Errorf("%d rulesets", len(rows))
	}
	for body, want := range map[string]string{
		`{"set": {"starve.damage": "much"}}`: "WRONG_TYPE",
		`{"set": {"starve.damage": -1}}`:     "OUT_OF_RANGE",
		`{"set": {"starve.mood": 1}}`:        "UNKNOWN_PARAMETER",
	} {
		a := e.do("gerd", "POST", at+"die-drop:override", strings.NewReader(body), "Idempotency-Key: "+want)
		if a.code != http.StatusBadRequest || !strings.Contains(string(a.body), want) || !strings.Contains(string(a.body), `set[\"starve.`) {
			t.Errorf("%s: %d %s", body, a.code, a.body)
		}
	}
}
