package dangerpool

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/wayfarer-rpg/wayfarer/rules/play"
	"github.com/wayfarer-rpg/wayfarer/rules/play/repeat"
)

func init() { repeat.Properties(20260101, 0) }

// anyParams overrides any of the parameters with something they may be.
func anyParams(t *rapid.T) params {
	p := params{}
	for _, name := range rapid.SliceOfDistinct(rapid.SampledFrom(sortedNames()), rapid.ID[string]).Draw(t, "overridden") {
		switch def := normal(shippedParams()[name].Default).(type) {
		case bool:
			p[name] = rapid.Bool().Draw(t, name)
		case string:
			p[name] = rapid.SampledFrom(shippedParams()[name].Options).Draw(t, name)
		case int:
			d := domains[name]
			p[name] = rapid.IntRange(d.low, min(d.high, 2*def+1)).Draw(t, name)
		case []string:
			if d := domains[name]; d.exactly == 0 {
				p[name] = rapid.SliceOfDistinct(rapid.SampledFrom(d.each), rapid.ID[string]).Draw(t, name)
			} else {
				p[name] = []string{"LOW", "MIDDLE", "HIGH"}
			}
		}
	}
	return p
}

func sortedNames() []string {
	var names []string
	for name := range shippedParams() {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// anyCommand is a command that fits the state more often than not.
func anyCommand(t *rapid.T, d Delve) Command {
	minutes := rapid.IntRange(0, 150)
	ids := []string{"torch", "lantern", "light", "ward"}
	for _, l := range d.Lights {
		ids = append(ids, l.ID)
	}
	id := rapid.SampledFrom(ids).Draw(t, "id")
	calls := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Call {
		return Call{Override: rapid.IntRange(0, 12).Draw(t, "override"), Shows: rapid.SampledFrom([]string{"", "a gust"}).Draw(t, "shows")}
	}), 0, 3).Draw(t, "calls")
	if d.Ruleset.is(paramEventOverride, optionForbidden) && rapid.IntRange(0, 9).Draw(t, "obeys") > 0 {
		calls = nil
	}
	action := rapid.SampledFrom(dungeonActions).Draw(t, "action")
	to := ""
	if action == TriggerMove && len(d.Ways()) > 0 {
		to = rapid.SampledFrom(append([]string{"crypt"}, d.Ways()...)).Draw(t, "to")
	}
	source := rapid.SampledFrom([]string{Torch, Lantern, BullseyeLantern, LightSpell}).Draw(t, "source")
	on := rapid.Bool().Draw(t, "on")
	pick := []Command{
		PassTime{minutes.Draw(t, "real"), calls}, LetTimePass{minutes.Draw(t, "waited"), calls}, DrawAttention{calls},
		Act{action, to, on, rapid.Bool().Draw(t, "keep"), calls}, Act{action, to, false, false, calls},
		LeaveHunker{}, Rest{on, calls}, StartCombat{}, FightRounds{rapid.IntRange(0, 30).Draw(t, "rounds")}, EndCombat{calls},
		AddLight{fmt.Sprint(source, len(d.Lights)), source}, AddLight{id, source}, SwitchLight{id, on}, RefuelLight{id},
		CastSpell{id, rapid.IntRange(1, 9000).Draw(t, "seconds")}, EndSpell{id}, RecordMembers{three[:1]}, RecordProvisions{"fewer"},
		Remark{"seen", on}, RaiseDanger{rapid.IntRange(1, 8).Draw(t, "dice"), "noise", calls},
		Narrate{d.SpillsTotal, 1, Call{Override: rapid.IntRange(1, 12).Draw(t, "instead")}},
		Adjust{Reason: "x", Pool: ptr(rapid.IntRange(0, 6).Draw(t, "pool")), Hunkered: &on},
		Adjust{Reason: "x", Lights: []Light{{id, source, rapid.IntRange(0, 9).Draw(t, "left"), on}}, Spells: []Spell{{"ward", rapid.IntRange(0, 900).Draw(t, "left")}}},
	}
	if rapid.IntRange(0, 80).Draw(t, "leaves") == 0 {
		return Leave{ToTravel}
	}
	return rapid.SampledFrom(pick).Draw(t, "command")
}

// sound tells what cannot be about a state.
func sound(d Delve) error {
	limit := d.Ruleset.int(paramPoolLimit)
	switch {
	case d.Pool < 0 || d.Pool >= limit:
		return fmt.Errorf("pool %d of %d", d.Pool, limit)
	case min(d.Unpriced, d.RealClock, d.WaitClock, d.CombatMinutes, d.SpillsTotal) < 0:
		return errors.New("something is negative")
	case d.RealClock >= d.Ruleset.int(paramRealTimeBlock):
		return fmt.Errorf("real clock %d", d.RealClock)
	case d.WaitClock >= max(d.Ruleset.int(paramWaitBlock), d.Ruleset.int(paramHunkerWaitBlock)):
		return fmt.Errorf("waiting clock %d", d.WaitClock)
	case !d.InCombat && d.CombatMinutes > 0:
		return errors.New("minutes of no fight")
	}
	seen := map[string]bool{}
	for _, l := range d.Lights {
		if l.Remaining < 0 || l.Active && l.Remaining == 0 || seen[l.ID] {
			return fmt.Errorf("light %+v", l)
		}
		seen[l.ID] = true
	}
	for _, s := range d.Spells {
		if s.Seconds < 1 {
			return fmt.Errorf("spell %+v", s)
		}
	}
	return nil
}

func TestRandomDelves(t *testing.T) {
	t.Parallel()
	accepted, refused, kinds := map[string]bool{}, map[string]bool{}, map[string]bool{}
	rapid.Check(t, func(rt *rapid.T) {
		var p params
		if rapid.Bool().Draw(rt, "overrides") {
			p = anyParams(rt)
		}
		rs, err := Default().With(p)
		if err != nil {
			rt.Fatal(err)
		}
		m := tomb()
		entry := "gate"
		if rapid.Bool().Draw(rt, "without areas") {
			m.Areas = nil
		}
		var log []Event
		d := Delve{}
		for _, c := range []Command{
			Open{Ruleset: rs, Map: m, Entry: entry, InvokedBy: ByClearing}, RecordMembers{three}, RecordProvisions{"6 rations"},
			RecordLights{Lights: append(torches("torch"), Carried{ID: "lantern", Source: Lantern}), Spells: []Spell{{"ward", 3600}}}, Begin{},
		} {
			events, err := Decide(d, c, play.ReportedDice())
			if err != nil {
				rt.Fatalf("%T: %v", c, err)
			}
			d, log = fold(d, events), append(log, events...)
		}
		for range rapid.IntRange(1, 40).Draw(rt, "commands") {
			c := anyCommand(rt, d)
			before := snapshot(d)
			var asked []play.Die
			dice := play.NewDice(func(sides int) (int, error) {
				asked = append(asked, play.Die{Sides: sides, Face: rapid.IntRange(1, sides).Draw(rt, "face")})
				return asked[len(asked)-1].Face, nil
			})
			events, err := Decide(d, c, dice)
			if snapshot(d) != before {
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
			sameDice(rt, d, c, events, asked, dice.Rolled())
			next := fold(d, events)
			if snapshot(d) != before {
				rt.Fatalf("folding %T%+v changed the old state", c, c)
			}
			r := ResultOf("", events)
			spilled := 0
			for _, s := range r.Spills {
				spilled += len(s.Faces)
			}
			_, adjusted := c.(Adjust)
			switch {
			case next.Ever != d.Ever+r.DiceAdded || r.DiceAdded < 0:
				rt.Fatalf("%T%+v: ever %d, %d added, then %d", c, c, d.Ever, r.DiceAdded, next.Ever)
			case next.Unpriced < d.Unpriced || next.SpillsTotal != d.SpillsTotal+len(r.Spills):
				rt.Fatalf("%T%+v: unpriced %d then %d, spills %d then %d", c, c, d.Unpriced, next.Unpriced, d.SpillsTotal, next.SpillsTotal)
			case !adjusted && next.Pool != d.Pool+r.DiceAdded-spilled:
				rt.Fatalf("%T%+v: a pool of %d, %d added, %d spilled, then %d", c, c, d.Pool, r.DiceAdded, spilled, next.Pool)
			}
			if err := sound(next); err != nil {
				rt.Fatalf("after %T%+v with %v: %v\n%+v", c, c, p, err, next.View())
			}
			for _, e := range events {
				kinds[fmt.Sprintf("%T", e)] = true
			}
			d, log = next, append(log, events...)
		}
		folded := Delve{}
		for _, e := range log {
			folded = Apply(folded, throughJSON(rt, e))
		}
		if snapshot(folded) != snapshot(d) || !reflect.DeepEqual(folded.Ruleset, d.Ruleset) || !reflect.DeepEqual(folded.Map, d.Map) {
			rt.Fatalf("the log folded from its JSON:\n%s\n%s", snapshot(folded), snapshot(d))
		}
	})
	t.Logf("%d kinds of command accepted, %d refusals, %d kinds of event", len(accepted), len(refused), len(kinds))
	if len(accepted) < 18 || len(refused) < 10 || len(kinds) < 11 {
		t.Errorf("too little happened: %v\n%v\n%v", accepted, refused, kinds)
	}
}

// sameDice decides a command again with the faces asked for before, as reported dice: exactly those are used.
func sameDice(t *rapid.T, d Delve, c Command, events []Event, asked, recorded []play.Die) {
	if len(asked) != len(recorded) {
		t.Fatalf("%T%+v asked for %d dice and recorded %d", c, c, len(asked), len(recorded))
	}
	var faces []int
	for i, r := range recorded {
		if r.Sides != asked[i].Sides || r.Face != asked[i].Face || r.Purpose == "" {
			t.Fatalf("%T%+v recorded %+v for %+v", c, c, r, asked[i])
		}
		faces = append(faces, r.Face)
	}
	dice := play.ReportedDice(faces...)
	again, err := Decide(d, c, dice)
	if err != nil || dice.Close() != nil || !reflect.DeepEqual(again, events) {
		t.Fatalf("%T%+v with %v reported: %v, %v", c, c, faces, err, dice.Close())
	}
}

func throughJSON(t *rapid.T, e Event) Event {
	raw, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	into := reflect.New(reflect.TypeOf(e))
	if err := json.Unmarshal(raw, into.Interface()); err != nil {
		t.Fatal(err)
	}
	return into.Elem().Interface().(Event)
}
