package diedrop

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/wayfarer-rpg/wayfarer/rules/play"
	"github.com/wayfarer-rpg/wayfarer/rules/play/repeat"
)

func init() { repeat.Properties(20311, 150) }

// chance draws what happens in a random journey.
type chance struct{ *rapid.T }

// IntN returns a number from 0 to n-1.
func (c chance) IntN(n int) int { return rapid.IntRange(0, n-1).Draw(c.T, "n") }

func pick[T any](r chance, from ...T) T { return from[r.IntN(len(from))] }

// anyRuleset overrides some of the parameters, each with any value that it may have, the open ranges up to a little above
// their least.
func anyRuleset(r chance) map[string]any {
	params := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(Default().Params)) {
		if r.IntN(3) > 0 {
			continue
		}
		switch options := Default().Params[name].Options.(type) {
		case []any:
			params[name] = pick(r, options...)
		case string:
			from, to, _ := strings.Cut(options, "..")
			least, _ := strconv.Atoi(from)
			most, err := strconv.Atoi(to)
			if err != nil {
				most = least + 5
			}
			params[name] = least + r.IntN(most-least+1)
		default:
			r.Fatalf("%s has the options %v", name, options)
		}
	}
	return params
}

// anyCommand is a command that fits the state more often than not.
func anyCommand(r chance, j Journey) Command {
	who := j.Members[r.IntN(len(j.Members))].Name
	small := 1 + r.IntN(3)
	outdoors := []Command{Search{}, Forage{}, PrepareRemains{small, 4, who}, Enter{pick(r, j.Map.Locations...).ID}}
	if j.Hex != nil {
		step := pick(r, Hex{1, 0}, Hex{1, -1}, Hex{0, -1}, Hex{-1, 0}, Hex{-1, 1}, Hex{0, 1})
		outdoors = append(outdoors, Move{Hex{j.Hex.Q + step.Q, j.Hex.R + step.R}, pick(r, "", RouteAuto, RouteRoad, RouteRiver, RouteTerrain)})
		for _, l := range j.Map.Locations {
			if l.Hex == *j.Hex {
				outdoors = append(outdoors, Enter{l.ID})
			}
		}
	}
	settled := []Command{
		BuyFood{small}, BuyGear{pick(r, ItemTorch, ItemOil, ItemLantern, ItemBoat), small, who}, SellRemains{}, Rest{Long: true}, Leave{},
		AddMember{Newcomer{Name: fmt.Sprint("Guest ", r.IntN(9)), HP: 3, STR: small, Torches: r.IntN(3), Oil: r.IntN(2)}}, RemoveMember{who},
	}
	inside := []Command{combat, activity, Retreat{}, PrepareRemains{small, 4, who}, Leave{}}
	if l, ok := j.place(); ok && l.Kind == KindSite {
		inside = append(inside, enterRoom(l.Entrance))
		for _, way := range l.Rooms[j.Room] {
			inside = append(inside, enterRoom(way), enterRoom(way))
		}
	}
	anywhere := []Command{
		Loot{}, FreeFoodSlots{}, Rest{}, LightUp{pick(r, Torch, Lantern)}, RollMissions{Count: small}, UseMission{1 + r.IntN(20), pick(r, "", "A text")},
		Distribute{map[string]int{who: j.SlotsNeeded()}}, Harm{who, r.IntN(2), r.IntN(2)},
		Adjust{Reason: "x", Gold: ptr(60)}, Adjust{Reason: "x", Food: &[]int{pick(r, 4, 8, 20)}},
		Adjust{Reason: "x", Cargo: &[]Load{{Carrier: who, Creature: "Wolves", Count: small}}, Discovered: []string{pick(r, "mirefold", "orlo", "gullet")}},
	}
	switch kind := j.insideKind(); {
	case r.IntN(4) == 0:
		return pick(r, anywhere...)
	case kind == KindSettlement:
		return pick(r, settled...)
	case kind == KindSite:
		return pick(r, inside...)
	case kind == KindPOI:
		return Leave{}
	}
	return pick(r, outdoors...)
}

// sound fails when a state cannot be, or cannot follow the one before.
func sound(t *rapid.T, was, j Journey, after Command) {
	t.Helper()
	bad := func(format string, args ...any) {
		t.Helper()
		state, _ := json.Marshal(j.View())
		t.Fatalf("after %T%+v: %s\n%s", after, after, fmt.Sprintf(format, args...), state)
	}
	for _, d := range j.Food {
		if !j.Ruleset.IsUsageDie(d) {
			bad("d%d is no food die", d)
		}
	}
	if j.Light != nil && !j.Ruleset.IsUsageDie(j.Light.Sides) {
		bad("d%d is no die of a light", j.Light.Sides)
	}
	if j.SlotsHeld() < j.SlotsNeeded() {
		bad("%d slots held, %d needed", j.SlotsHeld(), j.SlotsNeeded())
	}
	if j.Gold < 0 || len(j.Food) > j.Ruleset.int("food.max_dice") || len(j.Food) > 0 && j.StarvingRounds > 0 {
		bad("gold %d, food %v, hungry rounds %d", j.Gold, j.Food, j.StarvingRounds)
	}
	if j.Living() == 0 && len(j.Food) > 0 {
		bad("the dead have food")
	}
	seen := map[string]bool{}
	for _, m := range j.Members {
		switch {
		case seen[m.Name]:
			bad("two are named %s", m.Name)
		case m.HP < 0 || m.HP > m.HPMax || m.STR < 0 || m.STR > m.STRMax || m.Dead != (m.STR == 0):
			bad("%s has HP %d, STR %d, dead %v", m.Name, m.HP, m.STR, m.Dead)
		case min(m.FoodSlots, m.Torches, m.Oil, m.Gear, m.Fatigue) < 0:
			bad("%s carries less than nothing", m.Name)
		case m.Dead && m.FoodSlots+m.Torches+m.Oil > 0:
			bad("dead %s carries things", m.Name)
		}
		// What one brings may be too much from the beginning; after that, only Fatigue is.
		if i := was.member(m.Name); i >= 0 && j.Overloaded(m) && !was.Overloaded(was.Members[i]) && m.Fatigue <= was.Members[i].Fatigue {
			bad("%s has become overloaded without Fatigue", m.Name)
		}
		seen[m.Name] = true
	}
	for _, l := range j.Cargo {
		if j.living(l.Carrier) < 0 {
			bad("nobody living carries %+v", l)
		}
	}
	if j.Room != "" && (j.Inside == "" || len(j.Visited) == 0) {
		bad("in room %s of nothing", j.Room)
	}
}

// plainly writes a value as JSON.
func plainly(t *rapid.T, v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// snapshot writes all that changes in a journey.
func snapshot(t *rapid.T, j Journey) string {
	j.Ruleset, j.Map = nil, nil
	return plainly(t, j)
}

// Whole journeys of random commands by random rules: what holds after each of them.
func TestRandomJourneys(t *testing.T) {
	t.Parallel()
	const commands = 150
	refused, accepted, kinds, overridden := map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}
	rapid.Check(t, func(rt *rapid.T) {
		r := chance{rt}
		params := anyRuleset(r)
		for name := range params {
			overridden[name] = true
		}
		s := scene{
			params: params, at: &Hex{pick(r, 1, 3), 2}, members: people(1+r.IntN(5), gear(r.IntN(7))), food: []int{pick(r, 4, 6)},
			gold: 200, light: &Light{Torch, 6},
		}
		start := s.start(t)
		events, err := Decide(Journey{}, start, play.ReportedDice())
		if err != nil {
			rt.Fatalf("start: %v", err)
		}
		j := fold(Journey{}, events)
		var log []Event
		began := j
		for range commands {
			c := anyCommand(r, j)
			before := snapshot(rt, j)
			var asked []play.Die
			dice := play.NewDice(func(sides int) (int, error) {
				asked = append(asked, play.Die{Sides: sides, Face: 1 + r.IntN(sides)})
				return asked[len(asked)-1].Face, nil
			})
			events, err := Decide(j, c, dice)
			if snapshot(rt, j) != before {
				rt.Fatalf("%T%+v changed the state that it was decided on", c, c)
			}
			if err != nil {
				var refusal *play.Refusal
				if !errors.As(err, &refusal) || len(events) > 0 || len(asked) > 0 {
					rt.Fatalf("%T%+v: %v with %d events and %d dice", c, c, err, len(events), len(asked))
				}
				refused[refusal.Code] = true
				continue
			}
			if len(events) == 0 {
				rt.Fatalf("%T%+v leaves nothing in the log", c, c)
			}
			accepted[fmt.Sprintf("%T", c)] = true
			if again := sameDice(rt, j, c, asked, dice.Rolled()); !reflect.DeepEqual(again, events) {
				rt.Fatalf("%T%+v decided again with the same dice: %v, then %v", c, c, events, again)
			}
			next := j
			for _, e := range events {
				kinds[fmt.Sprintf("%T", e)] = true
				next = Apply(next, e)
			}
			if snapshot(rt, j) != before {
				rt.Fatalf("folding %T%+v changed the old state", c, c)
			}
			if next.Round < j.Round || next.Turn < j.Turn || next.Round+next.Turn > j.Round+j.Turn+1 {
				rt.Fatalf("%T%+v: round %d to %d, turn %d to %d", c, c, j.Round, next.Round, j.Turn, next.Turn)
			}
			sound(rt, j, next, c)
			log = append(log, events...)
			j = next
		}
		folded := began
		for _, e := range log {
			folded = Apply(folded, throughJSON(rt, e))
		}
		if got, want := snapshot(rt, folded), snapshot(rt, j); got != want {
			rt.Fatalf("the log folded from its JSON:\n%s\nwant\n%s", got, want)
		}
	})
	t.Logf("%d kinds of command accepted, %d refusals, %d kinds of event, %d parameters", len(accepted), len(refused), len(kinds), len(overridden))
	if len(accepted) < 20 || len(refused) < 25 || len(kinds) < 30 || len(overridden) != len(Default().Params) {
		t.Errorf("too little happened: %v\n%v\n%v\n%v", accepted, refused, kinds, overridden)
	}
}

// sameDice decides a command again with the faces asked for before, as reported dice: exactly those are used.
func sameDice(t *rapid.T, j Journey, c Command, asked, recorded []play.Die) []Event {
	if len(asked) != len(recorded) {
		t.Fatalf("%T%+v asked for %d dice and recorded %d", c, c, len(asked), len(recorded))
	}
	var faces []int
	for i, d := range recorded {
		if d.Sides != asked[i].Sides || d.Face != asked[i].Face || d.Purpose == "" {
			t.Fatalf("%T%+v recorded %+v for %+v", c, c, d, asked[i])
		}
		faces = append(faces, d.Face)
	}
	dice := play.ReportedDice(faces...)
	events, err := Decide(j, c, dice)
	if err != nil || dice.Close() != nil {
		t.Fatalf("%T%+v with %v reported: %v, %v", c, c, faces, err, dice.Close())
	}
	return events
}

func throughJSON(t *rapid.T, e Event) Event {
	into := reflect.New(reflect.TypeOf(e))
	if err := json.Unmarshal([]byte(plainly(t, e)), into.Interface()); err != nil {
		t.Fatal(err)
	}
	return into.Elem().Interface().(Event)
}
