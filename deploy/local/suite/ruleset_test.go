package suite_test

import (
	"fmt"
	"testing"
)

// What a campaign overrides is known to every service that goes by it.
func TestTheServicesGoByTheCampaignsRules(t *testing.T) {
	t.Parallel()
	tb := start(t, t.TempDir())
	tb.begin()
	const road = "/v1/campaigns/road"
	id := 0
	post := func(user, path, body string) map[string]any {
		t.Helper()
		id++
		return tb.ok(user, "POST", road+path, fmt.Sprintf(body, fmt.Sprint("r-", id)))
	}
	// The dungeon service remarks upon what the profile of a type has not.
	const deck = `{"dungeon": {"id": "pit", "name": "The Pit", "type": "ruin", "cards": [
		{"id": "e", "kind": "entry", "ability": "brute", "level": 1, "conditions": ["weaken"], "text": "A door."},
		{"id": "n", "kind": "normal", "ability": "wits", "level": 1, "conditions": ["weaken"], "text": "A riddle."},
		{"id": "f", "kind": "final", "ability": "combat", "level": 3, "conditions": ["weaken"], "text": "A guard."}]}}`
	remarks := func() int {
		t.Helper()
		found := tb.ok("gm", "POST", road+"/dungeons:validate", deck)
		list, _ := found["warnings"].([]any)
		return len(list)
	}
	if n := remarks(); n != 0 {
		t.Fatalf("%d remarks on a dungeon as it should be", n)
	}
	post("gm", "/rulesets/digger:override", `{"set": {"type_profiles.ruin.final_min_advanced": 2, "dp.cp_at_creation": 300}, "request_id": "%s"}`)
	if n := remarks(); n != 1 {
		t.Errorf("%d remarks, want one on the final", n)
	}

	// The party service makes characters of it, and the travel service lets a company without food starve by it.
	if ada := post("ada", "/characters", `{"character_id": "ada", "title": "Ada", "request_id": "%s"}`); ada["dp"] != 60.0 {
		t.Errorf("a new character has %v dungeon points", ada["dp"])
	}
	post("gm", "/companies", `{"company_id": "band", "title": "The Band", "travelers": [{"character": "campaigns/road/characters/ada"}], "request_id": "%s"}`)
	post("gm", "/regions:import", `{"region_id": "plain", "region": {"title": "Plain", "hexes": [{"q": 0, "r": 0, "terrain": "plains"}]}, "request_id": "%s"}`)
	post("gm", "/rulesets/die-drop:override", `{"set": {"starve.damage": 2}, "request_id": "%s"}`)
	post("ada", "/journeys", `{"journey_id": "j", "company": "campaigns/road/companies/band", "region": "campaigns/road/regions/plain",
		"hex": {"q": 0, "r": 0}, "character": "campaigns/road/characters/ada", "request_id": "%s"}`)
	post("gm", "/rulesets/die-drop:override", `{"set": {"starve.damage": 4}, "request_id": "%s"}`)
	hp := func(journey any) float64 {
		t.Helper()
		j, _ := journey.(map[string]any)
		members, _ := j["members"].([]any)
		if len(members) != 1 {
			t.Fatalf("no journey of one: %v", journey)
		}
		m, _ := members[0].(map[string]any)
		n, _ := m["hp"].(float64)
		return n
	}
	before := hp(tb.ok("ada", "GET", road+"/journeys/j", ""))
	after := hp(post("ada", "/journeys/j:search", `{"character": "campaigns/road/characters/ada", "request_id": "%s"}`)["journey"])
	if after != before-2 {
		t.Errorf("a hungry round costs %v hit points, want the 2 of the journey's beginning", before-after)
	}
}
