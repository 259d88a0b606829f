package diedrop

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"sync"
)

//go:embed map.json
var exampleMap []byte

// Hex is a place on the map in axial coordinates. (0,0) is a hex like any other.
type Hex struct {
	Q int
	R int
}

// MarshalJSON writes [q, r].
func (h Hex) MarshalJSON() ([]byte, error) { return json.Marshal([2]int{h.Q, h.R}) }

// UnmarshalJSON reads [q, r].
func (h *Hex) UnmarshalJSON(raw []byte) error {
	var qr []int
	if err := json.Unmarshal(raw, &qr); err != nil {
		return err
	}
	if len(qr) != 2 {
		return fmt.Errorf("a hex has 2 coordinates, not %d", len(qr))
	}
	h.Q, h.R = qr[0], qr[1]
	return nil
}

// Adjoins tells whether two hexes are neighbours: (1,0) (1,-1) (0,-1) (-1,0) (-1,1) (0,1) apart (DDW-MOVE-05).
func (h Hex) Adjoins(o Hex) bool {
	dq, dr := o.Q-h.Q, o.R-h.R
	return max(abs(dq), abs(dr), abs(dq+dr)) == 1
}

func abs(n int) int { return max(n, -n) }

// Map is a region: hexes, routes along their edges, and locations in them.
type Map struct {
	ID          string     `json:"id"`
	Name        string     `json:"name"`
	Version     int        `json:"version,omitempty"`
	Coordinates string     `json:"coordinates,omitempty"`
	Hexes       []MapHex   `json:"hexes"`
	Roads       []Path     `json:"roads,omitempty"`
	Rivers      []Path     `json:"rivers,omitempty"`
	Locations   []Location `json:"locations,omitempty"`
	NPCs        []NPC      `json:"npcs,omitempty"`
}

// MapHex is one hex with its terrain.
type MapHex struct {
	Q       int    `json:"q"`
	R       int    `json:"r"`
	Terrain string `json:"terrain"`
	Name    string `json:"name,omitempty"`
}

// Path is a road, or a river that flows in path order.
type Path struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Direction string `json:"direction,omitempty"`
	Path      []Hex  `json:"path"`
}

// The kinds of location.
const (
	KindSettlement = "settlement"
	KindSite       = "site"
	KindPOI        = "poi"
)

// Location is a place inside a hex.
type Location struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Text is for people.
	Text string `json:"text,omitempty"`
	// Kind is settlement, site or poi.
	Kind string `json:"kind"`
	Hex  Hex    `json:"hex"`
	// Visible locations need no search (DDW-SEARCH-01).
	Visible bool `json:"visible"`
	// Table is the number of a site's encounter table.
	Table int `json:"table,omitempty"`
	// Entrance is the room by which a site is entered and left.
	Entrance string `json:"entrance,omitempty"`
	// Rooms lists each room's ways, every way from both ends.
	Rooms map[string][]string `json:"rooms,omitempty"`
}

// NPC is somebody of the region. No rule reads them.
type NPC struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Hex  Hex    `json:"hex"`
	Text string `json:"text"`
}

var example = sync.OnceValue(func() *Map {
	m, err := ParseMap(exampleMap)
	if err != nil {
		panic(fmt.Sprintf("diedrop: example map: %v", err))
	}
	return m
})

// ExampleMap returns the Vale of Ansel.
func ExampleMap() *Map { return example() }

// ExampleMapDocument returns the Vale of Ansel as JSON.
func ExampleMapDocument() []byte { return bytes.Clone(exampleMap) }

// ParseMap reads a map document; it does not check it, see [CheckMap].
func ParseMap(document []byte) (*Map, error) {
	m := &Map{}
	if err := decode(document, m); err != nil {
		return nil, fmt.Errorf("map: %w", err)
	}
	return m, nil
}

// Violation is one thing wrong with a definition.
type Violation struct {
	// Field is the path, for example "hexes[3].terrain".
	Field string
	// Code names the fault in upper case.
	Code    string
	Message string
}

var goodID = regexp.MustCompile(`^[a-z0-9-]{1,63}$`)

// checker collects violations.
type checker struct{ found []Violation }

func (c *checker) bad(code, message, field string, args ...any) {
	c.found = append(c.found, Violation{Field: fmt.Sprintf(field, args...), Code: code, Message: message})
}

func (c *checker) id(id string, seen map[string]bool, field string, args ...any) {
	switch {
	case !goodID.MatchString(id):
		c.bad("BAD_ID", fmt.Sprintf("%q is no id of 1 to 63 of a-z, 0-9 and -", id), field, args...)
	case seen[id]:
		c.bad("DUPLICATE_ID", fmt.Sprintf("%q is there already", id), field, args...)
	}
	seen[id] = true
}

// CheckMap returns everything that is wrong with a map, in the order of the document; nothing for a map that can be played.
func CheckMap(rs *Ruleset, m *Map) []Violation {
	c := &checker{}
	if !goodID.MatchString(m.ID) {
		c.bad("BAD_ID", fmt.Sprintf("%q is no id of 1 to 63 of a-z, 0-9 and -", m.ID), "id")
	}
	if m.Name == "" {
		c.bad("NAME_MISSING", "a map needs a name", "name")
	}
	if len(m.Hexes) == 0 {
		c.bad("NO_HEXES", "a map needs at least one hex", "hexes")
	}
	there := map[Hex]bool{}
	for i, h := range m.Hexes {
		at := Hex{h.Q, h.R}
		if there[at] {
			c.bad("DUPLICATE_HEX", fmt.Sprintf("(%d,%d) is there already", h.Q, h.R), "hexes[%d]", i)
		}
		there[at] = true
		if _, ok := rs.Terrains[h.Terrain]; !ok {
			c.bad("UNKNOWN_TERRAIN", fmt.Sprintf("there is no terrain %q", h.Terrain), "hexes[%d].terrain", i)
		}
	}
	c.paths("roads", m.Roads, there)
	c.paths("rivers", m.Rivers, there)
	locations := map[string]bool{}
	for i, l := range m.Locations {
		c.id(l.ID, locations, "locations[%d].id", i)
		if l.Name == "" {
			c.bad("NAME_MISSING", "a location needs a name", "locations[%d].name", i)
		}
		if !there[l.Hex] {
			c.bad("OFF_MAP", fmt.Sprintf("(%d,%d) is not on the map", l.Hex.Q, l.Hex.R), "locations[%d].hex", i)
		}
		switch l.Kind {
		case KindSite:
			c.site(rs, l, i)
		case KindSettlement, KindPOI:
			if l.Table != 0 || l.Entrance != "" || len(l.Rooms) > 0 {
				c.bad("NOT_A_SITE", "only a site has table, entrance and rooms", "locations[%d]", i)
			}
		default:
			c.bad("UNKNOWN_KIND", fmt.Sprintf("%q is none of settlement, site and poi", l.Kind), "locations[%d].kind", i)
		}
	}
	npcs := map[string]bool{}
	for i, n := range m.NPCs {
		c.id(n.ID, npcs, "npcs[%d].id", i)
		if n.Name == "" {
			c.bad("NAME_MISSING", "an NPC needs a name", "npcs[%d].name", i)
		}
		if !there[n.Hex] {
			c.bad("OFF_MAP", fmt.Sprintf("(%d,%d) is not on the map", n.Hex.Q, n.Hex.R), "npcs[%d].hex", i)
		}
	}
	return c.found
}

// CheckSites returns everything that is wrong with the locations of a crawl without a map: sites only, in no hex.
func CheckSites(rs *Ruleset, m *Map) []Violation {
	c := &checker{}
	if len(m.Locations) == 0 {
		c.bad("NO_SITES", "a crawl needs at least one site", "locations")
	}
	ids := map[string]bool{}
	for i, l := range m.Locations {
		c.id(l.ID, ids, "locations[%d].id", i)
		if l.Name == "" {
			c.bad("NAME_MISSING", "a location needs a name", "locations[%d].name", i)
		}
		if l.Kind != KindSite {
			c.bad("UNKNOWN_KIND", "without a map there are sites only", "locations[%d].kind", i)
			continue
		}
		c.site(rs, l, i)
	}
	return c.found
}

func (c *checker) paths(field string, paths []Path, there map[Hex]bool) {
	ids := map[string]bool{}
	for i, p := range paths {
		c.id(p.ID, ids, "%s[%d].id", field, i)
		if p.Name == "" {
			c.bad("NAME_MISSING", "a path needs a name", "%s[%d].name", field, i)
		}
		if len(p.Path) < 2 {
			c.bad("PATH_TOO_SHORT", "a path needs at least two hexes", "%s[%d].path", field, i)
		}
		for j, h := range p.Path {
			if !there[h] {
				c.bad("OFF_MAP", fmt.Sprintf("(%d,%d) is not on the map", h.Q, h.R), "%s[%d].path[%d]", field, i, j)
			}
			if j > 0 && !h.Adjoins(p.Path[j-1]) {
				c.bad("NOT_ADJACENT", fmt.Sprintf("(%d,%d) does not adjoin the hex before it", h.Q, h.R), "%s[%d].path[%d]", field, i, j)
			}
		}
	}
}

func (c *checker) site(rs *Ruleset, l Location, i int) {
	if l.Table < 1 || l.Table > len(rs.SiteTables) {
		c.bad("UNKNOWN_TABLE", fmt.Sprintf("%d is not within 1..%d", l.Table, len(rs.SiteTables)), "locations[%d].table", i)
	}
	if len(l.Rooms) == 0 {
		c.bad("NO_ROOMS", "a site needs rooms", "locations[%d].rooms", i)
	}
	if _, ok := l.Rooms[l.Entrance]; !ok {
		c.bad("NO_ENTRANCE", fmt.Sprintf("the entrance %q is no room", l.Entrance), "locations[%d].entrance", i)
	}
	reached := l.reachable(l.Entrance, nil)
	for _, room := range sortedRooms(l.Rooms) {
		if !goodID.MatchString(room) {
			c.bad("BAD_ID", fmt.Sprintf("%q is no id of 1 to 63 of a-z, 0-9 and -", room), "locations[%d].rooms", i)
		}
		for j, way := range l.Rooms[room] {
			back, ok := l.Rooms[way]
			switch {
			case !ok:
				c.bad("NO_SUCH_ROOM", fmt.Sprintf("there is no room %q", way), "locations[%d].rooms.%s[%d]", i, room, j)
			case way == room:
				c.bad("WAY_TO_ITSELF", "a way leads to another room", "locations[%d].rooms.%s[%d]", i, room, j)
			case !slices.Contains(back, room):
				c.bad("ONE_WAY", fmt.Sprintf("%q does not list the way back", way), "locations[%d].rooms.%s[%d]", i, room, j)
			case slices.Contains(l.Rooms[room][:j], way):
				c.bad("DUPLICATE_WAY", fmt.Sprintf("%q is listed twice", way), "locations[%d].rooms.%s[%d]", i, room, j)
			}
		}
		if _, ok := l.Rooms[l.Entrance]; ok && !reached[room] {
			c.bad("UNREACHABLE", fmt.Sprintf("no way leads from the entrance to %q", room), "locations[%d].rooms.%s", i, room)
		}
	}
}

func sortedRooms(rooms map[string][]string) []string {
	names := make([]string, 0, len(rooms))
	for n := range rooms {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// reachable returns the rooms that can be reached from a room, by known rooms only unless known is nil.
func (l Location) reachable(from string, known []string) map[string]bool {
	found := map[string]bool{}
	for d := range l.distances(from, known) {
		found[d] = true
	}
	return found
}

// distances returns how many ways lie between a room and the others, by known rooms only unless known is nil.
func (l Location) distances(from string, known []string) map[string]int {
	dist := map[string]int{from: 0}
	for queue := []string{from}; len(queue) > 0; queue = queue[1:] {
		for _, way := range l.Rooms[queue[0]] {
			if _, seen := dist[way]; !seen && (known == nil || slices.Contains(known, way)) {
				dist[way] = dist[queue[0]] + 1
				queue = append(queue, way)
			}
		}
	}
	return dist
}

// terrain returns the terrain of a hex, "" off the map.
func (m *Map) terrain(h Hex) string {
	for _, x := range m.Hexes {
		if x.Q == h.Q && x.R == h.R {
			return x.Terrain
		}
	}
	return ""
}

func (m *Map) location(id string) (Location, bool) {
	i := slices.IndexFunc(m.Locations, func(l Location) bool { return l.ID == id })
	if i < 0 {
		return Location{}, false
	}
	return m.Locations[i], true
}

// edge tells whether a step from one hex to the next follows a path in its order.
func edge(paths []Path, from, to Hex) bool {
	for _, p := range paths {
		for i := 1; i < len(p.Path); i++ {
			if p.Path[i-1] == from && p.Path[i] == to {
				return true
			}
		}
	}
	return false
}

// onRoute tells whether a road or river touches a hex.
func (m *Map) onRoute(h Hex) bool {
	for _, paths := range [][]Path{m.Roads, m.Rivers} {
		for _, p := range paths {
			if slices.Contains(p.Path, h) {
				return true
			}
		}
	}
	return false
}
