package dangerworld

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/wayfarer-rpg/wayfarer/rules/play"
	"github.com/wayfarer-rpg/wayfarer/rules/play/repeat"
)

func init() { repeat.Properties(20, 40) }

// anyOverrides draws values for some parameters.
func anyOverrides(t *rapid.T) map[string]any {
	out := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(Default().Params)) {
		if !rapid.Bool().Draw(t, name+" overridden") {
			continue
		}
		p := Default().Params[name]
		r, _ := ParamRange(name)
		switch {
		case p.Options != nil:
			out[name] = rapid.SampledFrom(p.Options).Draw(t, name)
		case name == "difficulty_range":
			low := rapid.IntRange(1, 4).Draw(t, "least")
			out[name] = []int{low, rapid.IntRange(low, 7).Draw(t, "most")}
		case name == "hit_danger_points":
			out[name] = map[string]any{rapid.SampledFrom(names(BuyHitReduced, BuyHitFull, BuyHitOverload)).Draw(t, "hit"): rapid.IntRange(0, 30).Draw(t, "points")}
		case name == "stat_max":
			out[name] = rapid.IntRange(6, 12).Draw(t, name)
		case name == "stat_floor", name == "points_per_level":
			out[name] = rapid.IntRange(max(r.Min, 0), 6).Draw(t, name)
		default:
			out[name] = rapid.IntRange(max(r.Min, -3), min(r.Max, 4)).Draw(t, name)
		}
	}
	return out
}

var people = names("ada", "bo", "cy")

func anySheet(t *rapid.T, who string) Sheet {
	s := Sheet{Character: who, Stats: map[string]int{}, FP: rapid.IntRange(0, 4).Draw(t, "fp"), Points: rapid.IntRange(0, 11).Draw(t, "points")}
	for _, x := range Default().Stats {
		s.Stats[x.Name] = rapid.IntRange(0, 6).Draw(t, x.Name)
	}
	s.Bonus = rapid.SliceOfN(rapid.IntRange(0, 3), 0, 3).Draw(t, "bonus")
	return s
}

// anyCommand draws a command that fits the state more often than not.
func anyCommand(t *rapid.T, s Scene) Command {
	var running []Check
	for _, c := range s.Checks {
		if c.Phase != CheckClosed {
			running = append(running, c)
		}
	}
	if len(running) > 0 && rapid.IntRange(0, 3).Draw(t, "go on") > 0 {
		c := rapid.SampledFrom(running).Draw(t, "running")
		switch c.Phase {
		case CheckOpened:
			return rapid.SampledFrom([]Command{RollCheck{Check: c.Number}, PayNegative{Check: c.Number, FP: 1}, DeclineNegative{Check: c.Number}}).Draw(t, "opened")
		case CheckRolled:
			if rapid.Bool().Draw(t, "re-roll") {
				return anyReroll(t, c)
			}
			return anyClaim(t, c)
		}
		switch rapid.IntRange(0, 4).Draw(t, "resolved") {
		case 0:
			return CloseCheck{Check: c.Number, KeepBotches: rapid.Bool().Draw(t, "keep")}
		case 1:
			return NoteBenefit{Check: c.Number, Text: "The guard looks the other way."}
		case 2:
			return anyCheck(t, s)
		}
		return anyPurchase(t, c.Number)
	}
	who := rapid.SampledFrom(people).Draw(t, "who")
	number := rapid.IntRange(max(0, s.Opened-2), s.Opened+1).Draw(t, "check")
	check, _ := s.Check(number)
	return rapid.SampledFrom([]func() Command{
		func() Command { return anyCheck(t, s) },
		func() Command { return anyCheck(t, s) },
		func() Command {
			return CreateChallenge{Name: anyChallenge(t, s), Difficulty: rapid.IntRange(1, 6).Draw(t, "difficulty"), Penalty: small(t, "penalty")}
		},
		func() Command {
			return EditChallenge{Name: anyChallenge(t, s), Status: rapid.SampledFrom(names("", Open, Open, Blocked, Pending, Done)).Draw(t, "status")}
		},
		func() Command { return RaiseDanger{Character: who, Steps: rapid.IntRange(0, 12).Draw(t, "steps")} },
		func() Command { return EndEncounter{} },
		func() Command { return LongTermRest{} },
		func() Command { return LongTermRest{Characters: []string{who}} },
		func() Command { return SetDanger{Character: who, Points: 3} },
		func() Command { return RemoveSheet{Character: who} },
		func() Command { return AddSheet{anySheet(t, who)} },
		func() Command { return SetSheet{anySheet(t, who)} },
		func() Command { return CloseCheck{Check: number} },
		func() Command { return NoteBenefit{Check: number, Text: "x"} },
		func() Command { return PayNegative{Check: number, FP: small(t, "fp")} },
		func() Command { return DeclineNegative{Check: number} },
		func() Command { return RollCheck{Check: number} },
		func() Command { return anyReroll(t, check) },
		func() Command { return anyClaim(t, check) },
		func() Command { return anyPurchase(t, number) },
	}).Draw(t, "command")()
}

func small(t *rapid.T, what string) int { return rapid.SampledFrom([]int{0, 0, 0, 1, 2}).Draw(t, what) }

// anyChallenge names a challenge, an open one more often than not.
func anyChallenge(t *rapid.T, s Scene) string {
	all := names("gate", "dog", "duke", "x1", "x2", "x3")
	for _, c := range s.Challenges {
		if c.Status == Open {
			all = append(all, c.Name, c.Name, c.Name)
		}
	}
	slices.Reverse(all)
	return rapid.SampledFrom(all).Draw(t, "challenge")
}

func anyCheck(t *rapid.T, s Scene) OpenCheck {
	c := OpenCheck{
		Character: rapid.SampledFrom(people).Draw(t, "who"), Challenge: anyChallenge(t, s), Stat: rapid.SampledFrom(Default().Stats).Draw(t, "stat").Name,
		AspectFP: small(t, "aspect"), NegativeFP: small(t, "negative"), BonusDice: small(t, "bonus"), DangerDice: small(t, "danger"),
		KeepBotches: rapid.Bool().Draw(t, "keep"),
	}
	if s.Ruleset.is("pool_source", "CALLER") {
		c.Number = ptr(rapid.IntRange(0, 6).Draw(t, "number"))
	}
	return c
}

func anyReroll(t *rapid.T, check Check) Reroll {
	c := Reroll{Check: check.Number, AspectFP: small(t, "aspect") / 2, DangerDice: small(t, "danger") / 2}
	for _, f := range check.Faces() {
		if rapid.IntRange(0, 2).Draw(t, "lock") == 2 && !f.isPenalty() {
			c.Lock = append(c.Lock, f.Die)
		}
	}
	return c
}

func anyClaim(t *rapid.T, check Check) Claim {
	c := Claim{Check: check.Number, None: rapid.IntRange(0, 9).Draw(t, "none") == 9}
	if !c.None && rapid.IntRange(0, 4).Draw(t, "named") == 4 {
		c.Height = rapid.IntRange(2, 6).Draw(t, "height")
	}
	if faces := check.Faces(); len(faces) > 0 && rapid.IntRange(0, 4).Draw(t, "cancel") == 4 {
		f := rapid.SampledFrom(faces).Draw(t, "given up")
		c.Cancel = map[int][]string{f.Face: {f.Die}}
	}
	return c
}

func anyPurchase(t *rapid.T, number int) SpendBotches {
	item := Item{Buy: rapid.SampledFrom(purchases).Draw(t, "buy")}
	p, _ := Default().Purchase(item.Buy)
	if p.IsSetback() || item.Buy == BuyPenaltyDie {
		item.Challenge = rapid.SampledFrom(names("gate", "dog", "x1", "x2", "x3")).Draw(t, "for")
	}
	if p.IsHit() && rapid.Bool().Draw(t, "target") {
		item.Target = rapid.SampledFrom(people).Draw(t, "hit")
	}
	return SpendBotches{Check: number, Items: []Item{item}}
}

// sound tells what of a state cannot be.
func sound(s Scene) error {
	rs := s.Ruleset
	for _, x := range s.Sheets {
		level := rs.Level(x.Points)
		switch {
		case min(x.FP, x.Points, x.Bashed, x.Stunned) < 0 || slices.ContainsFunc(x.Bonus, func(n int) bool { return n < 1 }):
			return fmt.Errorf("less than nothing: %+v", x)
		case x.Points > rs.maxPoints():
			return fmt.Errorf("%s is past the end of the track", x.Character)
		case x.Dead != (rs.Harm(level) == Dead):
			return fmt.Errorf("%s dead %v with %d points", x.Character, x.Dead, x.Points)
		}
		for name, n := range x.Reductions {
			if n < 1 || x.Stat(name) < 0 {
				return fmt.Errorf("%s of %s is reduced by %d to %d", name, x.Character, n, x.Stat(name))
			}
		}
	}
	running := map[string]int{}
	for _, c := range s.Checks {
		if c.Phase != CheckClosed {
			running[c.Character]++
		}
		var all []string
		for _, f := range c.Faces() {
			all = append(all, f.Die)
			if f.Face < 1 || f.Face > rs.DieSides {
				return fmt.Errorf("%s of check %d shows %d", f.Die, c.Number, f.Face)
			}
		}
		switch {
		case running[c.Character] > 1:
			return fmt.Errorf("%s makes two checks at once", c.Character)
		case min(c.Unspent, c.Pool.Normal, c.Pool.Danger, c.Pool.Penalty) < 0:
			return fmt.Errorf("less than nothing: %+v", c)
		case len(c.Rolls) > 0 && !slices.Equal(all, c.Pool.Names()):
			return fmt.Errorf("check %d shows %v of %+v", c.Number, all, c.Pool)
		case len(c.Rolls) > rs.int("max_rerolls")+1:
			return fmt.Errorf("check %d was rolled %d times", c.Number, len(c.Rolls))
		case (c.Outcome == nil) != (c.Phase == CheckOpened || c.Phase == CheckRolled) && c.Phase != CheckClosed:
			return fmt.Errorf("check %d is %s with outcome %+v", c.Number, c.Phase, c.Outcome)
		}
	}
	if s.Bank < 0 || s.Bank > 0 && !rs.is("botch_carry", "BANK") {
		return fmt.Errorf("a bank of %d", s.Bank)
	}
	for _, c := range s.Challenges {
		if c.Penalty < 0 {
			return fmt.Errorf("less than nothing: %+v", c)
		}
	}
	return nil
}

func encode(t *rapid.T, v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// Whole scenes of random commands under random rulesets: what holds after each of them. Counters are never negative, the
// dice asked for are those recorded, refusals change nothing, and the events fold to the state, also through JSON.
func TestRandomScenes(t *testing.T) {
	t.Parallel()
	accepted, refused := map[string]bool{}, map[string]bool{}
	rapid.Check(t, func(t *rapid.T) {
		rs, err := Default().With(anyOverrides(t))
		if err != nil {
			t.Fatal(err)
		}
		s, events := Scene{}, []Event{}
		commands := []Command{Begin{Ruleset: rs}, AddSheet{anySheet(t, "ada")}, AddSheet{anySheet(t, "bo")}, CreateChallenge{Name: "gate", Difficulty: 4}}
		for i := range 45 {
			var c Command
			if i < len(commands) {
				c = commands[i]
			} else {
				c = anyCommand(t, s)
			}
			before := encode(t, s)
			var asked []int
			dice := play.NewDice(func(sides int) (int, error) {
				// Ones and sixes more often than a die would show them.
				face := rapid.SampledFrom([]int{1, 1, 2, 2, 3, 4, sides, 1 + len(asked)%sides}).Draw(t, "face")
				asked = append(asked, face)
				return face, nil
			})
			got, err := Decide(s, c, dice)
			if encode(t, s) != before {
				t.Fatalf("%#v changed the state that it was decided on", c)
			}
			if err != nil {
				var r *play.Refusal
				if !errors.As(err, &r) || got != nil {
					t.Fatalf("%#v: %v with %d events", c, err, len(got))
				}
				refused[r.Code] = true
				continue
			}
			accepted[reflect.TypeOf(c).Name()] = true
			if len(got) == 0 {
				t.Fatalf("%#v leaves nothing in the log", c)
			}
			var recorded []int
			for _, d := range dice.Rolled() {
				recorded = append(recorded, d.Face)
			}
			if !slices.Equal(recorded, asked) {
				t.Fatalf("%#v asked for %v and recorded %v", c, asked, recorded)
			}
			byHand := play.ReportedDice(asked...)
			again, err := Decide(s, c, byHand)
			if err = errors.Join(err, byHand.Close()); err != nil || encode(t, again) != encode(t, got) {
				t.Fatalf("%#v with the same dice by hand: %v", c, err)
			}
			next := s
			for _, e := range got {
				next = Apply(next, e)
			}
			if encode(t, s) != before {
				t.Fatalf("folding %#v changed the old state", c)
			}
			s, events = next, append(events, got...)
			if err := sound(s); err != nil {
				t.Fatalf("after %#v: %v", c, err)
			}
		}
		folded := Scene{}
		for _, e := range events {
			into := reflect.New(reflect.TypeOf(e))
			if err := json.Unmarshal([]byte(encode(t, e)), into.Interface()); err != nil {
				t.Fatal(err)
			}
			folded = Apply(folded, into.Elem().Interface().(Event))
		}
		if encode(t, folded) != encode(t, s) {
			t.Fatalf("the events fold to\n%s\nnot\n%s", encode(t, folded), encode(t, s))
		}
	})
	if len(accepted) < 18 || len(refused) < 22 {
		t.Errorf("too little happened: %v\n%v", accepted, refused)
	}
	t.Logf("accepted %v, refused %v", slices.Sorted(maps.Keys(accepted)), slices.Sorted(maps.Keys(refused)))
}

// A purchase is paid for in full, and nothing is bought that is not paid for.
func TestBotchesAreAccountedFor(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "botches")
		s := Scene{}
		run := func(c Command, faces ...int) ([]Event, error) {
			events, err := Decide(s, c, play.ReportedDice(faces...))
			for _, e := range events {
				s = Apply(s, e)
			}
			return events, err
		}
		for _, c := range []Command{
			Begin{Ruleset: Default()}, AddSheet{Sheet{Character: "ada"}}, CreateChallenge{Name: "gate", Difficulty: 2},
			OpenCheck{Character: "ada", Challenge: "gate", Stat: "Cool", DangerDice: n},
		} {
			if _, err := run(c); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := run(RollCheck{Check: 1}, slices.Repeat([]int{1}, n)...); err != nil {
			t.Fatal(err)
		}
		if _, err := run(Claim{Check: 1}); err != nil {
			t.Fatal(err)
		}
		left, points := n, 0
		for i := range 6 {
			p := rapid.SampledFrom(Default().Purchases).Draw(t, "buy")
			item := Item{Buy: p.ID}
			if p.IsSetback() {
				item.Challenge = fmt.Sprint("setback ", i)
			} else if p.ID == BuyPenaltyDie {
				item.Challenge = "gate"
			}
			_, err := run(SpendBotches{Check: 1, Items: []Item{item}})
			if (err == nil) != (p.Cost <= left) {
				t.Fatalf("%s with %d botches: %v", p.ID, left, err)
			}
			if err == nil {
				left -= p.Cost
				points += map[string]int{BuyDanger: 1, BuyHitReduced: 2, BuyHitFull: 4, BuyHitOverload: 6}[p.ID]
			}
			if c, _ := s.Check(1); c.Unspent != left {
				t.Fatalf("%d botches left, want %d", c.Unspent, left)
			}
		}
		if x, _ := s.Sheet("ada"); x.Points != points {
			t.Fatalf("%d points, want %d", x.Points, points)
		}
	})
}
