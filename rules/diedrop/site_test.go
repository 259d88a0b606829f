package diedrop

import (
	"fmt"
	"testing"
)

// den is a map whose only place is a site with a table, of two rooms.
func den(table int) *Map {
	m := row("plains")
	m.Locations = []Location{{
		ID: "den", Name: "A den", Kind: KindSite, Visible: true, Table: table, Entrance: "gate",
		Rooms: map[string][]string{"gate": {"hall"}, "hall": {"gate"}},
	}}
	return m
}

func TestSiteTables(t *testing.T) {
	t.Parallel()
	rule := catalogue(t)
	ids := []string{
		"DDW-SITE-11", "DDW-SITE-12", "DDW-SITE-13", "DDW-SITE-14", "DDW-SITE-15",
		"DDW-SITE-16", "DDW-SITE-17", "DDW-SITE-18", "DDW-SITE-19", "DDW-SITE-20",
		"DDW-SITE-21", "DDW-SITE-22", "DDW-SITE-23", "DDW-SITE-24", "DDW-SITE-25",
		"DDW-SITE-26", "DDW-SITE-27", "DDW-SITE-28", "DDW-SITE-29", "DDW-SITE-30",
	}
	eq(t, "tables", len(Default().SiteTables), len(ids))
	for i, id := range ids {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			table := Default().SiteTables[i]
			eq(t, "the catalogue's row", fmt.Sprintf("Site %d *%s*: %s", i+1, table.Name, tableText(table.Entries)), rule[id])
			j := scene{world: den(i + 1), inside: "den", light: &Light{Torch, 8}}.begin(t)
			for _, e := range table.Entries {
				after, dice := rolls(t, j, TakeTurn{Trigger: TriggerRoom, To: "gate"}, e.faces(5, 1, e.Roll)...)
				met(t, after, "d8 d6 d6", dice, e)
				eq(t, "both fight normally", [2]string{after.Encounter.Players, after.Encounter.NPCs}, [2]string{"normal", "normal"})
			}
		})
	}
}

func TestSiteEncounters(t *testing.T) {
	t.Parallel()
	enter := TakeTurn{Trigger: TriggerRoom, To: "gate"}
	at := func(t *testing.T, table int, params map[string]any) Journey {
		t.Helper()
		return scene{params: params, world: den(table), inside: "den", light: &Light{Torch, 8}}.begin(t)
	}
	rules{
		"DDW-SITE-01 kind by d6": func(t *testing.T) {
			j, _ := do(t, inSite(t, "pennard-delve", "", &Light{Torch, 8}), TakeTurn{Trigger: TriggerRoom, To: "adit"}, 5, 1, 4, 2, 3, 4)
			eq(t, "row 4 of the mine", j.Encounter.Creature, "Troglodytes")
		},
		"DDW-SITE-02 number by d4 or d6": func(t *testing.T) {
			_, dice := rolls(t, at(t, 3, nil), enter, 5, 1, 5, 1, 3, 4, 2)
			eq(t, "Ogres", dice, "d8 d6 d6 d4 d6 d6 d4")
			_, dice = rolls(t, at(t, 3, nil), enter, 5, 1, 2, 1, 3, 4, 2)
			eq(t, "Goblins", dice, "d8 d6 d6 d6 d6 d6 d4")
		},
		"DDW-SITE-03 a singular name is one creature": func(t *testing.T) {
			for _, forced := range []string{"table", "d4", "d6"} {
				j, dice := rolls(t, at(t, 4, map[string]any{"site.number_die": forced}), enter, 5, 1, 1, 3, 4)
				eq(t, "Cave bear", [2]any{j.Encounter.Creature, j.Encounter.Number}, [2]any{"Cave bear", 1})
				eq(t, "dice", dice, "d8 d6 d6 d6 d6")
			}
			for forced, want := range map[string]string{"table": "d6", "d4": "d4", "d6": "d6"} {
				_, dice := rolls(t, at(t, 4, map[string]any{"site.number_die": forced}), enter, 5, 1, 5, 1, 3, 4, 2)
				eq(t, "Drow", dice, "d8 d6 d6 "+want+" d6 d6 d4")
			}
		},
		"DDW-SITE-04 reaction and gold as outdoors": func(t *testing.T) {
			j, dice := rolls(t, at(t, 5, nil), enter, 5, 1, 6, 3, 4, 2)
			eq(t, "dice", dice, "d8 d6 d6 d6 d6 d4")
			eq(t, "Brigand", [3]any{j.Encounter.Creature, j.Encounter.Number, j.Encounter.Gold}, [3]any{"Brigand", 1, 2})
			_, dice = rolls(t, at(t, 5, map[string]any{"enc.reaction": false, "enc.gold_die": 8}), enter, 5, 1, 6, 7)
			eq(t, "dice without reaction", dice, "d8 d6 d6 d8")
			_, dice = rolls(t, at(t, 5, map[string]any{"enc.gold": false}), enter, 5, 1, 6, 3, 4)
			eq(t, "dice without gold", dice, "d8 d6 d6 d6 d6")
		},
	}.run(t)
}
