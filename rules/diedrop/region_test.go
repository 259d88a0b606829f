package diedrop

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/wayfarer-rpg/wayfarer/rules/play"
)

// wrong lists what is wrong with a map as "field CODE".
func wrong(found []Violation) []string {
	var out []string
	for _, v := range found {
		out = append(out, v.Field+" "+v.Code)
		if v.Message == "" {
			out = append(out, v.Field+" has no message")
		}
	}
	return out
}

// mended returns a copy of the example map with something changed.
func mended(t *testing.T, edit func(m *Map)) *Map {
	t.Helper()
	m, err := ParseMap(ExampleMapDocument())
	if err != nil {
		t.Fatal(err)
	}
	edit(m)
	return m
}

func TestCheckMap(t *testing.T) {
	t.Parallel()
	const cinderglass, lanternSpring = 2, 14
	for name, tc := range map[string]struct {
		edit func(m *Map)
		want []string
	}{
		"the example map is right": {func(*Map) {}, nil},
		"no id and no name": {
			func(m *Map) { m.ID, m.Name = "Vale of Ansel", "" },
			[]string{"id BAD_ID", "name NAME_MISSING"},
		},
		"no hexes, and so nothing on the map": {
			func(m *Map) { m.Hexes, m.Roads, m.Rivers, m.NPCs, m.Locations = nil, nil, nil, nil, m.Locations[:1] },
			[]string{"hexes NO_HEXES", "locations[0].hex OFF_MAP"},
		},
		"a hex twice and a terrain that is none": {
			func(m *Map) { m.Hexes = append(m.Hexes, MapHex{Q: 0, R: 0, Terrain: "lava"}) },
			[]string{"hexes[49] DUPLICATE_HEX", "hexes[49].terrain UNKNOWN_TERRAIN"},
		},
		"paths that jump, leave the map or are none": {
			func(m *Map) {
				m.Roads[0].Path = []Hex{{0, 0}, {2, 0}, {2, -1}}
				m.Rivers[0].Path = m.Rivers[0].Path[:1]
			},
			[]string{"roads[0].path[1] NOT_ADJACENT", "roads[0].path[2] OFF_MAP", "rivers[0].path PATH_TOO_SHORT"},
		},
		"ids twice or bad, names missing": {
			func(m *Map) {
				m.Roads[1].ID, m.Rivers[0].Name = m.Roads[0].ID, ""
				m.Locations[0].ID, m.Locations[1].ID, m.Locations[1].Name = "Tallowick!", m.Locations[2].ID, ""
				m.NPCs[0].ID, m.NPCs[1].Name, m.NPCs[2].Hex = "", "", Hex{9, 9}
			},
			[]string{
				"roads[1].id DUPLICATE_ID", "rivers[0].name NAME_MISSING", "locations[0].id BAD_ID", "locations[1].name NAME_MISSING",
				"locations[2].id DUPLICATE_ID", "npcs[0].id BAD_ID", "npcs[1].name NAME_MISSING", "npcs[2].hex OFF_MAP",
			},
		},
		"a location off the map and of no kind": {
			func(m *Map) { m.Locations[0].Hex, m.Locations[0].Kind = Hex{-1, 0}, "city" },
			[]string{"locations[0].hex OFF_MAP", "locations[0].kind UNKNOWN_KIND"},
		},
		"a point of interest with rooms": {
			func(m *Map) { m.Locations[lanternSpring].Entrance = "pool" },
			[]string{"locations[14] NOT_A_SITE"},
		},
		"a site without table, entrance and rooms": {
			func(m *Map) {
				l := &m.Locations[cinderglass]
				l.Table, l.Entrance, l.Rooms = 0, "", nil
			},
			[]string{"locations[2].table UNKNOWN_TABLE", "locations[2].rooms NO_ROOMS", "locations[2].entrance NO_ENTRANCE"},
		},
		"a table above the last": {
			func(m *Map) { m.Locations[cinderglass].Table = 21 },
			[]string{"locations[2].table UNKNOWN_TABLE"},
		},
		"ways that dangle, lead one way, to themselves or twice to the same room": {
			func(m *Map) {
				m.Locations[cinderglass].Entrance = "a"
				m.Locations[cinderglass].Rooms = map[string][]string{
					"a": {"b", "b", "attic"}, "b": {"a", "b", "c"}, "c": {}, "d": {}, "E": {},
				}
			},
			[]string{
				"locations[2].rooms BAD_ID", "locations[2].rooms.E UNREACHABLE", "locations[2].rooms.a[1] DUPLICATE_WAY",
				"locations[2].rooms.a[2] NO_SUCH_ROOM", "locations[2].rooms.b[1] WAY_TO_ITSELF", "locations[2].rooms.b[2] ONE_WAY",
				"locations[2].rooms.d UNREACHABLE",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := mended(t, tc.edit)
			eq(t, "wrong", wrong(CheckMap(Default(), m)), tc.want)
			if c := (scene{world: m, at: &Hex{0, 0}}).start(t); len(tc.want) > 0 {
				refuse(t, Journey{}, c, "invalid")
			}
		})
	}
}

func TestCheckSites(t *testing.T) {
	t.Parallel()
	eq(t, "a mine", wrong(CheckSites(Default(), site())), nil)
	eq(t, "nothing", wrong(CheckSites(Default(), &Map{})), []string{"locations NO_SITES"})
	m := site()
	m.Locations = append(m.Locations, Location{ID: "mine", Kind: KindPOI})
	m.Locations[0].Table = 99
	eq(t, "all of it", wrong(CheckSites(Default(), m)), []string{
		"locations[0].table UNKNOWN_TABLE", "locations[1].id DUPLICATE_ID", "locations[1].name NAME_MISSING", "locations[1].kind UNKNOWN_KIND",
	})
}

func TestParseMap(t *testing.T) {
	t.Parallel()
	for name, document := range map[string]string{
		"no JSON":               `{`,
		"an unknown key":        `{"id":"a","size":3}`,
		"half a hex":            `{"locations":[{"id":"a","hex":[1]}]}`,
		"a hex that is no list": `{"locations":[{"id":"a","hex":"b"}]}`,
		"something after it":    `{"id":"a"} {}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if m, err := ParseMap([]byte(document)); err == nil || m != nil {
				t.Errorf("ParseMap = %v, %v", m, err)
			}
		})
	}
	m := ExampleMap()
	raw, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	again, err := ParseMap(raw)
	if err != nil {
		t.Fatal(err)
	}
	eq(t, "written and read", again, m)
}

// Every kind of place that the rules read is on the example map.
func TestExampleMap(t *testing.T) {
	t.Parallel()
	m := ExampleMap()
	terrains, kinds := map[string]bool{}, map[string]bool{}
	for _, h := range m.Hexes {
		terrains[h.Terrain] = true
	}
	for _, l := range m.Locations {
		kinds[l.Kind] = true
	}
	eq(t, "kinds", slices.Sorted(maps.Keys(kinds)), []string{KindPOI, KindSettlement, KindSite})
	eq(t, "terrains", len(terrains), len(Default().Terrains)-1) // all but "other"
	eq(t, "hexes", len(m.Hexes), 49)
}

// Whatever a map document says, it is read or not, and what passes the checks can be played.
func FuzzParseMap(f *testing.F) {
	f.Add([]byte(`{"id":"m","name":"M","hexes":[{"q":0,"r":0,"terrain":"plains"},{"q":1,"r":0,"terrain":"swamp"}],
"roads":[{"id":"r","name":"R","path":[[0,0],[1,0]]}],"rivers":[{"id":"s","name":"S","path":[[1,0],[0,0]]}],
"locations":[{"id":"pit","name":"Pit","kind":"site","hex":[0,0],"visible":true,"table":3,"entrance":"a","rooms":{"a":["b"],"b":["a"]}},
{"id":"inn","name":"Inn","kind":"settlement","hex":[1,0],"visible":true}],"npcs":[{"id":"n","name":"N","hex":[1,0],"text":"x"}]}`))
	f.Add([]byte(`{"id":"m","name":"M","hexes":[],"locations":[{"id":"pit","name":"Pit","kind":"site","table":99,"entrance":"z","rooms":{"a":["a","a"],"":["b"]}}]}`))
	f.Add([]byte(`{"hexes":[{"q":1e9,"r":-1e9}],"roads":[{"path":[[2147483648,0],[0]]}]}`))
	rs := Default()
	f.Fuzz(func(t *testing.T, document []byte) {
		m, err := ParseMap(document)
		if err != nil {
			return
		}
		for _, v := range CheckMap(rs, m) {
			if v.Field == "" || v.Code == "" || v.Message == "" {
				t.Errorf("a fault without its place, code or words: %+v", v)
			}
		}
		if again, err := ParseMap([]byte(mustJSON(t, m))); err != nil || mustJSON(t, again) != mustJSON(t, m) {
			t.Errorf("written and read again it is another map: %v", err)
		}
		if len(CheckMap(rs, m)) > 0 {
			return
		}
		start := Start{Ruleset: rs, Map: m, Hex: &Hex{m.Hexes[0].Q, m.Hexes[0].R}, Members: people(2), Food: []int{8}, Light: &Light{Torch, 8}}
		events, err := Decide(Journey{}, start, play.ReportedDice())
		if err != nil {
			t.Fatalf("a good map cannot be played: %v", err)
		}
		j := fold(Journey{}, events)
		six := play.NewDice(func(sides int) (int, error) { return sides, nil })
		for _, c := range []Command{Move{To: Hex{j.Hex.Q + 1, j.Hex.R}}, Search{}, Enter{Location: "pit"}, TakeTurn{Trigger: TriggerRoom, To: "a"}, Retreat{}, Leave{}} {
			if events, err := Decide(j, c, six); err == nil {
				j = fold(j, events)
			}
		}
	})
}
