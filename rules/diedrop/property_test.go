package diedrop

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/wayfarer-rpg/wayfarer/rules/play"
)

// chance is a repeatable series of numbers (SplitMix64): the same seed, the same test.
type chance struct{ state uint64 }

// IntN returns a number from 0 to n-1. The bias of the remainder does not matter here.
func (c *chance) IntN(n int) int {
	c.state += 0x9e3779b97f4a7c15
	z := c.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return int((z ^ z>>31) >> 1 % uint64(n)) //nolint:gosec // both are above 0
}

func pick[T any](r *chance, from ...T) T { return from[r.IntN(len(from))] }

// anyRuleset overrides some parameters that lead elsewhere.
func anyRuleset(t *testing.T, r *chance) map[string]any {
	t.Helper()
	params := map[string]any{}
	for name, values := range map[string][]any{
		"starve.variant": {"damage", "deprived", "drain"}, "starve.starts": {"next_round", "same_round"}, "starve.rounds_per_day": {1, 3},
		"food.max_dice": {1, 2, 4}, "food.second_die_order": {"newest_first", "oldest_first"}, "food.slot_release": {"lazy", "eager"},
		"use.step_down_max": {2, 3}, "enc.check_max": {1, 4}, "turn.check_max": {1, 4}, "dark.other_activity": {"refuse", "allow"},
		"dark.starts": {"next_turn", "same_turn"}, "party.newcomer_food": {"share", "own"}, "mission.duplicates": {"reroll", "keep"},
		"mission.used": {"reroll", "keep"}, "remains.slots": {0, 1, 3}, "remains.encounter": {false, true}, "search.success_min": {nil, 4},
		"search.reveals": {"one", "all"}, "forage.at_d20": {"add_die", "no_gain"}, "enc.reaction": {true, false},
	} {
		params[name] = pick(r, values...)
	}
	return params
}

// anyCommand is a command that fits the state more often than not.
func anyCommand(r *chance, j Journey) Command {
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

// sound fails when a state cannot be.
func sound(t *testing.T, j Journey, after Command) {
	t.Helper()
	bad := func(format string, args ...any) {
		t.Helper()
		t.Fatalf("after %T%+v: %s\n%s", after, after, fmt.Sprintf(format, args...), mustJSON(t, j.View()))
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
		case j.Overloaded(m) && m.Fatigue == 0:
			bad("%s is overloaded without Fatigue", m.Name)
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

// snapshot writes all that changes in a journey.
func snapshot(t *testing.T, j Journey) string {
	t.Helper()
	j.Ruleset, j.Map = nil, nil
	return mustJSON(t, j)
}

// Whole journeys of random commands: what holds after each of them, whatever the parameters.
func TestRandomJourneys(t *testing.T) {
	t.Parallel()
	const journeys, commands = 60, 150
	refused, accepted, kinds := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for seed := range uint64(journeys) {
		r := &chance{seed}
		j := scene{
			params: anyRuleset(t, r), at: &Hex{pick(r, 1, 3), 2}, members: people(1+r.IntN(5), gear(r.IntN(7))), food: []int{pick(r, 4, 6)},
			gold: 200, light: &Light{Torch, 6},
		}.begin(t)
		var log []Event
		began := j
		for range commands {
			c := anyCommand(r, j)
			before := snapshot(t, j)
			var asked []play.Die
			dice := play.NewDice(func(sides int) (int, error) {
				asked = append(asked, play.Die{Sides: sides, Face: 1 + r.IntN(sides)})
				return asked[len(asked)-1].Face, nil
			})
			events, err := Decide(j, c, dice)
			if snapshot(t, j) != before {
				t.Fatalf("%T%+v changed the state that it was decided on", c, c)
			}
			if err != nil {
				var refusal *play.Refusal
				if !errors.As(err, &refusal) || len(events) > 0 || len(asked) > 0 {
					t.Fatalf("%T%+v: %v with %d events and %d dice", c, c, err, len(events), len(asked))
				}
				refused[refusal.Code] = true
				continue
			}
			if len(events) == 0 {
				t.Fatalf("%T%+v leaves nothing in the log", c, c)
			}
			accepted[fmt.Sprintf("%T", c)] = true
			again := sameDice(t, j, c, asked, dice.Rolled())
			eq(t, "decided again with the same dice", again, events)
			next := j
			for _, e := range events {
				kinds[fmt.Sprintf("%T", e)] = true
				next = Apply(next, e)
			}
			if snapshot(t, j) != before {
				t.Fatalf("folding %T%+v changed the old state", c, c)
			}
			log = append(log, events...)
			j = next
			sound(t, j, c)
		}
		folded := began
		for _, e := range log {
			folded = Apply(folded, throughJSON(t, e))
		}
		eq(t, "the log folded from its JSON", snapshot(t, folded), snapshot(t, j))
	}
	t.Logf("%d kinds of command accepted, %d refusals, %d kinds of event", len(accepted), len(refused), len(kinds))
	if len(accepted) < 20 || len(refused) < 25 || len(kinds) < 30 {
		t.Errorf("too little happened: %v\n%v\n%v", accepted, refused, kinds)
	}
}

// sameDice decides a command again with the faces asked for before, as reported dice: exactly those are used.
func sameDice(t *testing.T, j Journey, c Command, asked, recorded []play.Die) []Event {
	t.Helper()
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

func throughJSON(t *testing.T, e Event) Event {
	t.Helper()
	into := reflect.New(reflect.TypeOf(e))
	if err := json.Unmarshal([]byte(mustJSON(t, e)), into.Interface()); err != nil {
		t.Fatal(err)
	}
	return into.Elem().Interface().(Event)
}
