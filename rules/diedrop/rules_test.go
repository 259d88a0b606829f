package diedrop

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/wayfarer-rpg/wayfarer/rules/play"
)

// rules are tests of catalogue rows. Each name begins with the ids that it proves.
type rules map[string]func(t *testing.T)

func (r rules) run(t *testing.T) {
	t.Helper()
	for name, test := range r {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t)
		})
	}
}

// scene is where a test begins: in plains (3,2) of the example map unless it says otherwise.
type scene struct {
	params     map[string]any
	world      *Map
	at         *Hex
	noHex      bool
	inside     string
	members    []Member
	food       []int
	gold       int
	boat       bool
	lantern    bool
	light      *Light
	cargo      []Load
	discovered []string
	hungry     int
}

func (s scene) start(t *testing.T) Start {
	t.Helper()
	rs, err := Default().With(s.params)
	if err != nil {
		t.Fatal(err)
	}
	c := Start{
		Ruleset: rs, Map: s.world, Hex: s.at, Inside: s.inside, Members: s.members, Food: s.food, Gold: s.gold, Boat: s.boat,
		Lantern: s.lantern, Light: s.light, Cargo: s.cargo, Discovered: s.discovered, StarvingRounds: s.hungry,
	}
	if c.Map == nil {
		c.Map = ExampleMap()
	}
	if l, ok := c.Map.location(s.inside); ok && c.Hex == nil && !s.noHex {
		c.Hex = &l.Hex
	}
	if c.Hex == nil && !s.noHex {
		c.Hex = &Hex{3, 2}
	}
	if c.Members == nil {
		c.Members = people(2)
	}
	return c
}

func (s scene) begin(t *testing.T) Journey {
	t.Helper()
	return begin(t, s.start(t))
}

var names = []string{"Ada", "Bren", "Cole", "Dorrit", "Edda", "Finn", "Greta", "Hob"}

// people returns n members with HP 4, STR 10 and ten free slots.
func people(n int, edit ...func(m *Member)) []Member {
	var out []Member
	for _, name := range names[:n] {
		m := Member{Name: name, HP: 4, HPMax: 4, STR: 10, STRMax: 10, Capacity: 10}
		for _, e := range edit {
			e(&m)
		}
		out = append(out, m)
	}
	return out
}

func gear(n int) func(m *Member) { return func(m *Member) { m.Gear = n } }

// fed returns members who hold so many food slots.
func fed(slots ...int) []Member {
	out := people(len(slots))
	for i := range out {
		out[i].FoodSlots = slots[i]
	}
	return out
}

// row is a map of hexes side by side, the first at (0,0).
func row(terrains ...string) *Map {
	m := &Map{ID: "row", Name: "A row of hexes"}
	for q, t := range terrains {
		m.Hexes = append(m.Hexes, MapHex{Q: q, Terrain: t})
	}
	return m
}

// route is a path along the whole row.
func (m *Map) route() []Path {
	p := Path{ID: "route", Name: "A route"}
	for _, h := range m.Hexes {
		p.Path = append(p.Path, Hex{h.Q, h.R})
	}
	return []Path{p}
}

func withRoad(m *Map) *Map { m.Roads = m.route(); return m }

// into is a company of two in plains, about to move east into a terrain, and the move.
func into(t *testing.T, terrain string, food ...int) (Journey, Move) {
	t.Helper()
	return scene{world: row("plains", terrain), at: &Hex{0, 0}, food: food}.begin(t), Move{To: Hex{1, 0}}
}

// do plays a command that is allowed.
func do(t *testing.T, j Journey, c Command, faces ...int) (Journey, []Event) {
	t.Helper()
	next, events, _, code := playStep(t, j, c, faces)
	if code != "" {
		t.Fatalf("%T%+v is refused: %s", c, c, code)
	}
	return next, events
}

// rolls plays a command that is allowed and tells which dice it took, for example "d8 d8 d6".
func rolls(t *testing.T, j Journey, c Command, faces ...int) (Journey, string) {
	t.Helper()
	next, _, dice, code := playStep(t, j, c, faces)
	if code != "" {
		t.Fatalf("%T%+v is refused: %s", c, c, code)
	}
	var out []string
	for _, d := range dice {
		out = append(out, dieName(d.Sides))
	}
	return next, strings.Join(out, " ")
}

// refuse plays a command that is refused; playStep sees to it that nothing changes.
func refuse(t *testing.T, j Journey, c Command, want string, faces ...int) {
	t.Helper()
	if _, _, _, code := playStep(t, j, c, faces); code != want {
		t.Errorf("%T%+v: refused with %q, want %q", c, c, code, want)
	}
}

func eq[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// food writes the food dice as the catalogue does.
func food(j Journey) string {
	var out []string
	for _, d := range j.Food {
		out = append(out, dieName(d))
	}
	return "[" + strings.Join(out, ",") + "]"
}

func ofMembers(j Journey, field func(m Member) int) []int {
	var out []int
	for _, m := range j.Members {
		out = append(out, field(m))
	}
	return out
}

func held(j Journey) []int { return ofMembers(j, func(m Member) int { return m.FoodSlots }) }
func hp(j Journey) []int   { return ofMembers(j, func(m Member) int { return m.HP }) }
func str(j Journey) []int  { return ofMembers(j, func(m Member) int { return m.STR }) }
func tired(j Journey) []int {
	return ofMembers(j, func(m Member) int { return m.Fatigue })
}

// scripted are dice that show the faces given and then always the highest face.
func scripted(faces ...int) *play.Dice {
	faces = slices.Clone(faces)
	return play.NewDice(func(sides int) (int, error) {
		if len(faces) == 0 {
			return sides, nil
		}
		face := faces[0]
		faces = faces[1:]
		if face > sides {
			return 0, fmt.Errorf("face %d of a d%d", face, sides)
		}
		return face, nil
	})
}
