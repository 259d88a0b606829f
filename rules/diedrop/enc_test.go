package diedrop

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

// catalogue returns the text of each rule of the catalogue by its id, without the test vector.
func catalogue(t *testing.T) map[string]string {
	t.Helper()
	raw, err := os.ReadFile("../../docs/rules/die-drop.md")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^\| (DDW-[A-Z]+-\d\d) \| (.*) \| .* \|$`).FindAllStringSubmatch(string(raw), -1) {
		out[m[1]] = m[2]
	}
	return out
}

// entryText writes a row of an encounter table as the catalogue does.
func entryText(e Entry) string {
	notes := []string{"single"}
	if e.NumberDie != nil {
		notes[0] = dieName(*e.NumberDie)
	}
	if e.UsesMoney {
		notes = append(notes, "money")
	}
	if e.Remains {
		notes = append(notes, "remains")
	}
	return fmt.Sprintf("%d %s (%s)", e.Roll, e.Creature, strings.Join(notes, ", "))
}

func tableText(entries []Entry) string {
	var out []string
	for _, e := range entries {
		out = append(out, entryText(e))
	}
	return strings.Join(out, "; ") + "."
}

// met checks that those met are as the row says, and that the dice were those which it asks for: the dice before the
// number, the number, the reaction, and gold for each.
func met(t *testing.T, j Journey, before, dice string, e Entry) {
	t.Helper()
	got := *j.Encounter
	want := Encounter{Creature: e.Creature, Number: 1, Reaction: got.Reaction, ReactionTotal: got.ReactionTotal, Remains: e.Remains, Players: got.Players, NPCs: got.NPCs}
	if e.NumberDie != nil {
		want.Number, before = 2, before+" "+dieName(*e.NumberDie)
	}
	before += " d6 d6"
	if e.UsesMoney {
		want.Gold, before = 3*want.Number, before+strings.Repeat(" d4", want.Number)
	}
	eq(t, e.Creature, got, want)
	eq(t, e.Creature+": dice", dice, before)
	eq(t, e.Creature+": reaction", [2]any{*got.Reaction, *got.ReactionTotal}, [2]any{"hesitates", 7})
}

// faces for those met: two of them, reaction 7, three gold each.
func (e Entry) faces(before ...int) []int {
	number := 1
	if e.NumberDie != nil {
		number, before = 2, append(before, 2)
	}
	before = append(before, 3, 4)
	for range number {
		if e.UsesMoney {
			before = append(before, 3)
		}
	}
	return before
}

func TestEncounterTables(t *testing.T) {
	t.Parallel()
	rule := catalogue(t)
	for _, tc := range []struct {
		id, table string
		terrains  []string
	}{
		{"DDW-ENC-11", "standard", []string{"plains", "other"}},
		{"DDW-ENC-12", "mountain_hills", []string{"mountain", "hills"}},
		{"DDW-ENC-13", "forest_canyon", []string{"forest", "canyon"}},
		{"DDW-ENC-14", "lake_swamp", []string{"lake", "swamp"}},
	} {
		t.Run(tc.id+" "+tc.table, func(t *testing.T) {
			t.Parallel()
			table := Default().EncounterTables[tc.table]
			want := fmt.Sprintf("Table *%s* (`%s`): %s", table.Name, tc.table, tableText(table.Entries))
			eq(t, "the catalogue's row", rule[tc.id], want)
			for _, terrain := range tc.terrains {
				j, move := into(t, terrain) // without food, so that no usage dice come first
				for _, e := range table.Entries {
					one := max(1, e.Roll-4)
					after, dice := rolls(t, j, move, e.faces(1, one, e.Roll-one)...)
					met(t, after, "d6 d4 d4", dice, e)
				}
			}
		})
	}
}

func TestEncounters(t *testing.T) {
	t.Parallel()
	rules{
		"DDW-ENC-01 three things make a check": func(t *testing.T) {
			j := scene{at: &Hex{1, 2}, gold: 50}.begin(t)
			for c, faces := range map[Command][]int{Move{To: Hex{2, 2}}: {4}, Search{}: {4}, Forage{}: {1, 4}} {
				_, events := do(t, j, c, faces...)
				checked, _ := find[EncounterChecked](events)
				eq(t, fmt.Sprintf("%T", c), checked, EncounterChecked{Face: 4})
				eq(t, "it comes last", events[len(events)-1], Event(checked))
			}
			for _, c := range []Command{Enter{"tallowick"}, BuyFood{1}, Rest{}, Leave{}} {
				next, events := do(t, j, c)
				eq(t, fmt.Sprintf("%T checks", c), has[EncounterChecked](events), false)
				j = next
			}
		},
		"DDW-ENC-02 an encounter on 1": func(t *testing.T) {
			j := scene{}.begin(t)
			after, _ := do(t, j, Search{}, 1, 1, 1, 1, 3, 3, 1)
			eq(t, "somebody is met", after.Encounter != nil, true)
			for face := 2; face <= 6; face++ {
				after, _ = do(t, j, Search{}, face)
				eq(t, "nobody is met", after.Encounter == nil, true)
			}
		},
		"DDW-ENC-03 the table of the hex entered": func(t *testing.T) {
			j, move := into(t, "forest")
			j, _ = do(t, j, move, 1, 4, 4, 2, 3, 3)
			eq(t, "forest", j.Encounter.Creature, "Wyvern")
			j, move = into(t, "lake")
			j, _ = do(t, j, move, 1, 3, 2, 1, 3, 3, 1)
			eq(t, "lake", j.Encounter.Creature, "Fisherpeople")
			j, move = into(t, "other")
			j, _ = do(t, j, move, 1, 1, 1, 1, 3, 3, 1)
			eq(t, "other", j.Encounter.Creature, "Hobgoblins")
		},
		"DDW-ENC-04 the number die stands with the entry": func(t *testing.T) {
			j := scene{}.begin(t)
			_, dice := rolls(t, j, Search{}, 1, 4, 4, 2, 3, 3)
			eq(t, "Trolls", dice, "d6 d4 d4 d4 d6 d6")
			_, dice = rolls(t, j, Search{}, 1, 4, 3, 1, 3, 3, 2)
			eq(t, "Kobolds", dice, "d6 d4 d4 d6 d6 d6 d4")
		},
		"DDW-ENC-05 terrain has its table": func(t *testing.T) {
			for terrain, want := range map[string]string{
				"canyon": "forest_canyon", "forest": "forest_canyon", "hills": "mountain_hills", "mountain": "mountain_hills",
				"lake": "lake_swamp", "swamp": "lake_swamp", "plains": "standard", "other": "standard",
			} {
				j, move := into(t, terrain)
				after, _ := do(t, j, move, Default().EncounterTables[want].Entries[2].faces(1, 2, 2)...)
				eq(t, terrain, after.Encounter.Creature, Default().EncounterTables[want].Entries[2].Creature)
			}
		},
		"DDW-ENC-06 it does not undo the round's result": func(t *testing.T) {
			j := scene{at: &Hex{3, 1}}.begin(t)
			j, _ = do(t, j, Search{}, 1, 1, 1, 1, 3, 3, 1)
			eq(t, "found", j.Discovered, []string{"lantern-spring"})
			eq(t, "met", j.Encounter.Creature, "Hobgoblins")
			j, _ = do(t, scene{food: []int{8}}.begin(t), Forage{}, 5, 6, 1, 1, 1, 1, 3, 3, 1)
			eq(t, "food", food(j), "[d10]")
			eq(t, "met while foraging", j.Encounter.Creature, "Hobgoblins")
		},
	}.run(t)
}
