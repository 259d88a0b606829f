package digger

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/wayfarer-rpg/wayfarer/rules/play"
	"github.com/wayfarer-rpg/wayfarer/rules/play/repeat"
)

func init() { repeat.Properties(1972, 150) }

// facesOf takes chance from rapid.
func facesOf(t *rapid.T) Faces {
	return func(sides int) int { return rapid.IntRange(1, sides).Draw(t, fmt.Sprint("d", sides)) }
}

func anyOf[V any](t *rapid.T, what string, from ...V) V { return rapid.SampledFrom(from).Draw(t, what) }

// anyRules is the shipped ruleset with some numbers and choices others.
func anyRules(t *rapid.T) *Ruleset {
	rs := &Ruleset{}
	if err := json.Unmarshal(DefaultDocument(), rs); err != nil {
		t.Fatal(err)
	}
	flip := func(b *bool) { *b = rapid.Bool().Draw(t, "flag") }
	for _, b := range []*bool{
		&rs.Flow.DrawRequiresRotation, &rs.Flow.CompleteRequiresDrawer, &rs.Flow.EnterRequiresLeader, &rs.Flow.ReshuffleWhenEmpty,
		&rs.Flow.ClimaxFailureRetreats, &rs.Risk.ToolExtraNeedsChance, &rs.Tools.AllowUnusedTP, &rs.Belt.RefundAtNextChapter,
	} {
		flip(b)
	}
	rs.Effects.DuplicateRule = anyOf(t, "duplicate", "restart_keep_due", "restart")
	rs.Effects.DuplicateUsers = anyOf(t, "users", "union", "last")
	rs.Effects.ShortsightedAbility = anyOf(t, "shortsighted", "next_challenge", "used_challenge")
	rs.ConditionsStacking = anyOf(t, "stacking", "stack", "refresh")
	rs.Exploration.FinalAt = rapid.IntRange(0, 100).Draw(t, "final at")
	rs.Exhaustion.OutAt = rapid.IntRange(40, 100).Draw(t, "out at")
	rs.Challenge.Die = rapid.IntRange(1, 20).Draw(t, "die")
	rs.Risk.ChanceAtMost = rapid.IntRange(0, 100).Draw(t, "chance")
	rs.Tools.Ratings["minor"] = Rating{TP: 2, Uses: rapid.IntRange(0, 4).Draw(t, "uses"), Bonus: rapid.IntRange(-3, 6).Draw(t, "bonus")}
	if rapid.Bool().Draw(t, "floor") {
		floor := rapid.IntRange(-2, 3).Draw(t, "ability floor")
		rs.DP.AbilityFloor = &floor
	}
	for _, level := range rs.Challenge.Levels {
		key := fmt.Sprint(level)
		rs.Exploration.Failure[key] = rapid.IntRange(0, 30).Draw(t, "failure")
		rs.Exploration.Success[key] = rs.Exploration.Failure[key] + rapid.IntRange(1, 30).Draw(t, "success")
		for _, table := range []map[string]int{rs.Exhaustion.PartySuccess, rs.Exhaustion.PartyFailure, rs.Exhaustion.IndividualFailure} {
			table[key] = rapid.IntRange(0, 30).Draw(t, "exhaustion")
		}
	}
	if err := rs.Validate(); err != nil {
		t.Fatal(err)
	}
	return rs
}

// game is a run in which every command is checked for what holds of all.
type game struct {
	*rapid.T
	Run
	faces Faces
	// exhaustion of those in the run so far, which only a game master lowers.
	exhaustion map[string]int
}

func (g *game) json(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		g.Fatal(err)
	}
	return string(raw)
}

// try decides and folds a command; it tells whether the rules allow it.
func (g *game) try(c RunCommand) bool {
	before, asked := g.json(g.Run), []play.Die{}
	dice := play.NewDice(func(sides int) (int, error) {
		face := g.faces(sides)
		asked = append(asked, play.Die{Sides: sides, Face: face})
		return face, nil
	})
	events, err := DecideRun(g.Run, c, dice)
	if g.json(g.Run) != before {
		g.Fatalf("deciding %#v changed the state", c)
	}
	var refusal *play.Refusal
	switch {
	case errors.As(err, &refusal):
		if refusal.Code == "" || refusal.Message == "" || len(asked) > 0 {
			g.Fatalf("%#v is refused with %+v after %d dice", c, refusal, len(asked))
		}
		return false
	case err != nil:
		g.Fatalf("%#v: %v", c, err)
	case dice.Close() != nil:
		g.Fatalf("%#v: %v", c, dice.Close())
	}
	for i, d := range dice.Rolled() {
		if d.Purpose == "" || d.Sides != asked[i].Sides || d.Face != asked[i].Face {
			g.Fatalf("%#v asked %+v and recorded %+v", c, asked, dice.Rolled())
		}
	}
	if len(dice.Rolled()) != len(asked) {
		g.Fatalf("%#v asked %d dice and recorded %d", c, len(asked), len(dice.Rolled()))
	}
	next := g.Run
	for _, e := range events {
		next = ApplyRun(next, e)
	}
	if g.json(g.Run) != before {
		g.Fatalf("folding %#v changed the old state", c)
	}
	_, adjusts := c.(Adjust)
	g.check(next, adjusts)
	g.Run = next
	// A head is a state that went through JSON: whoever goes on from it goes the same way.
	var head Run
	if err := json.Unmarshal([]byte(g.json(next)), &head); err != nil || g.json(head) != g.json(next) {
		g.Fatalf("the state does not survive JSON: %v", err)
	}
	return true
}

// check looks for what a state must never be.
func (g *game) check(next Run, adjusted bool) {
	rs := next.Ruleset
	if next.Exploration < 0 || next.Exploration > rs.Exploration.Goal || !adjusted && next.Exploration < g.Exploration {
		g.Fatalf("exploration went from %d to %d", g.Exploration, next.Exploration)
	}
	for _, m := range next.Members {
		if m.Exhaustion < 0 || m.Exhaustion > rs.Exhaustion.Cap || !adjusted && m.Exhaustion < g.exhaustion[m.ID] {
			g.Fatalf("exhaustion of %s went from %d to %d", m.ID, g.exhaustion[m.ID], m.Exhaustion)
		}
		g.exhaustion[m.ID] = m.Exhaustion
		for _, x := range m.Tools {
			if x.UsesLeft < 0 || x.UsesLeft > rs.Uses(x.Tool) {
				g.Fatalf("%s has %d uses of %s", m.ID, x.UsesLeft, x.ID)
			}
		}
	}
	if len(next.Played) != next.Round {
		g.Fatalf("%d cards in %d rounds", len(next.Played), next.Round)
	}
	distinct(g.T, "the pile", next.Pile)
	counts := map[string]int{}
	for _, id := range next.Played {
		counts[next.Dungeon.card(id).Kind]++
	}
	for _, kind := range []string{Entry, Second, Third, Climax, Final} {
		if counts[kind] > 1 {
			g.Fatalf("%d cards of kind %s", counts[kind], kind)
		}
	}
	if next.Over() && next.Pending != nil || next.Pending != nil && next.Pending.Card != next.Played[len(next.Played)-1] {
		g.Fatalf("pending %+v, played %v, outcome %s", next.Pending, next.Played, next.Outcome)
	}
	if p := next.Pending; p != nil {
		var actors []string
		for _, a := range p.Acts {
			m, ok := next.Member(a.Member)
			if !ok || next.Exhausted(m) {
				g.Fatalf("%s acts, who is out or gone", a.Member)
			}
			actors = append(actors, a.Member)
		}
		distinct(g.T, "who acts", actors)
	}
	for _, i := range next.Conditions {
		if n, timed := rs.Remaining(i); i.Phase < 1 || timed && n < 1 {
			g.Fatalf("condition %+v", i)
		}
	}
	var names []string
	for _, e := range next.Effects {
		if len(e.Users) == 0 || e.Phase < 1 || rs.EffectRemaining(e) < 1 {
			g.Fatalf("effect %+v", e)
		}
		distinct(g.T, "users of "+e.Name, e.Users)
		names = append(names, e.Name)
	}
	distinct(g.T, "effects", names)
	if !next.Over() && len(next.Active()) == 0 {
		g.Fatal("the run goes on with nobody active")
	}
}

func distinct(t *rapid.T, what string, list []string) {
	t.Helper()
	if sorted := slices.Compact(slices.Sorted(slices.Values(list))); len(sorted) != len(list) {
		t.Fatalf("%s: %v", what, list)
	}
}

// command is one that fits the state more often than not.
func (g *game) command() RunCommand {
	var ids []string
	for _, m := range g.Members {
		ids = append(ids, m.ID)
	}
	who := func() string {
		if rapid.IntRange(0, 19).Draw(g.T, "stranger") == 0 {
			return "nobody"
		}
		return anyOf(g.T, "who", ids...)
	}
	override := rapid.IntRange(0, 9).Draw(g.T, "override") == 0
	number := func() *int {
		if rapid.Bool().Draw(g.T, "set") {
			n := rapid.IntRange(-1, 101).Draw(g.T, "number")
			return &n
		}
		return nil
	}
	switch rapid.IntRange(0, 59).Draw(g.T, "command") {
	case 0:
		return Depart{Member: who()}
	case 1:
		return Promote{Member: g.Leader, Target: who(), Override: override}
	case 2:
		return Abandon{Member: who()}
	case 3:
		return Enter{Ruleset: g.Ruleset, Dungeon: g.Dungeon, Leader: "ada"}
	case 4:
		a := MemberAdjustment{ID: who(), Exhaustion: number()}
		if n := number(); n != nil {
			a.UsesLeft = map[int]int{1: *n}
		}
		return Adjust{Reason: "x", Exploration: number(), ClearConditions: override, Members: []MemberAdjustment{a}}
	}
	if g.Pending == nil {
		return Draw{Member: who(), Override: override}
	}
	waiting := g.Waiting()
	if len(waiting) == 0 || rapid.IntRange(0, 19).Draw(g.T, "early") == 0 {
		return Complete{Member: anyOf(g.T, "completer", g.Completer(), g.Completer(), who()), Override: override}
	}
	c, _ := g.Card()
	use := anyOf(g.T, "use", c.Ability, c.Ability, c.Ability, "tool-1", "tool-2", "wits", "FORCE", "")
	return Contribute{Member: anyOf(g.T, "actor", waiting[0], waiting[0], who()), Use: use, Tool: anyOf(g.T, "tool", 0, 0, 0, 0, 0, 1, 2, 9), Risk: rapid.Bool().Draw(g.T, "risk")}
}

// Whatever is tried under whatever rules, states stay sound, refusals change nothing and every die is recorded.
func TestAnyRun(t *testing.T) {
	t.Parallel()
	var ended, refused, accepted int
	rapid.Check(t, func(t *rapid.T) {
		rs := anyRules(t)
		d, err := Generate(rs, "deck", anyOf(t, "type", slices.Sorted(maps.Keys(rs.TypeProfiles))...), facesOf(t))
		if err != nil {
			t.Fatal(err)
		}
		if faults := Check(rs, d); len(faults) > 0 {
			t.Fatalf("a generated deck: %+v", faults)
		}
		party := ReferenceParty(facesOf(t), rapid.IntRange(2, 5).Draw(t, "members"))
		g := &game{T: t, faces: facesOf(t), exhaustion: map[string]int{}}
		if !g.try(Enter{Ruleset: rs, Dungeon: d, Leader: party[0].ID, Members: party}) {
			t.Fatal("nobody may enter")
		}
		for n := rapid.IntRange(0, 80).Draw(t, "commands"); n > 0 && !g.Over(); n-- {
			if g.try(g.command()) {
				accepted++
			} else {
				refused++
			}
		}
		if g.Over() {
			ended++
			if g.try(Draw{Member: party[0].ID}) {
				t.Fatal("drawn after the end")
			}
		}
	})
	if ended < 10 || refused < 100 || accepted < 500 {
		t.Errorf("%d runs ended, %d commands refused, %d accepted: the commands do not fit well", ended, refused, accepted)
	}
}

// Whatever is tried, a sheet never spends more than it has nor loads more than fits.
func TestAnySheet(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rs := anyRules(t)
		env := Env{Ruleset: rs, Chapter: rapid.IntRange(1, 6).Draw(t, "chapter")}
		s := Sheet{}
		for _, e := range must(t, s, CreateSheet{}, env) {
			s = ApplySheet(s, e)
		}
		form := func() string { return anyOf(t, "form", "", "base", "wolf", "none") }
		for range rapid.IntRange(0, 40).Draw(t, "commands") {
			rating := func() int { return rapid.IntRange(-1, 7).Draw(t, "rating") }
			c := anyOf[SheetCommand](t, "command",
				GrantCP{CP: 7}, AddForm{Form: "wolf"}, AddForm{Form: "none", NoStatblock: true}, SwitchForm{Form: form()},
				SetAbilities{Form: form(), Abilities: Abilities{rating(), rating(), rating(), rating()}},
				SetAbilities{Form: form(), Abilities: Abilities{rating() / 2, rating() / 2, rating() / 2, rating() / 2}},
				BuyTools{Form: form(), Tools: []Tool{referenceTool(rapid.IntRange(0, len(shapes)-1).Draw(t, "shape"), rapid.IntRange(0, len(AbilityNames)-1).Draw(t, "ability"), rapid.IntRange(1, 6).Draw(t, "tool"))}},
				BuySlot{}, LoadTool{Form: form(), Number: rapid.IntRange(0, 4).Draw(t, "number")}, UnloadTool{Form: form(), Number: rapid.IntRange(0, 4).Draw(t, "number")}, Approve{})
			before, err := json.Marshal(s)
			if err != nil {
				t.Fatal(err)
			}
			env.InRun = rapid.IntRange(0, 9).Draw(t, "in a run") == 0
			events, err := DecideSheet(s, c, env)
			if again, _ := json.Marshal(s); string(again) != string(before) {
				t.Fatalf("deciding %#v changed the sheet", c)
			}
			if err != nil && !errors.As(err, new(*play.Refusal)) {
				t.Fatalf("%#v: %v", c, err)
			}
			for _, e := range events {
				s = ApplySheet(s, e)
			}
			for _, f := range s.Forms {
				if f.Statblock == nil {
					continue
				}
				loaded := 0
				for _, x := range f.Statblock.Tools {
					if x.Loaded {
						loaded++
					}
				}
				if free := s.Free(env, *f.Statblock); free < 0 || loaded > s.Slots(env) {
					t.Fatalf("after %#v %s has %d points to spend, %d tools in %d slots", c, f.ID, free, loaded, s.Slots(env))
				}
			}
			if _, ok := s.Form(""); !ok {
				t.Fatal("no current form")
			}
		}
	})
}

func must(t *rapid.T, s Sheet, c SheetCommand, env Env) []SheetEvent {
	events, err := DecideSheet(s, c, env)
	if err != nil {
		t.Fatal(err)
	}
	return events
}

// Whatever is tried, everybody sits in one party at most, which somebody of it leads and which is not too large.
func TestAnyRoster(t *testing.T) {
	t.Parallel()
	people := []string{"ada", "bram", "cleo", "dov", "eve", "finn", "gus", "hal", "ivo"}
	rapid.Check(t, func(t *rapid.T) {
		rs := anyRules(t)
		r := Roster{}
		for range rapid.IntRange(0, 80).Draw(t, "commands") {
			who, other := anyOf(t, "who", people...), anyOf(t, "other", people...)
			party, run := anyOf(t, "party", "p", "q"), anyOf(t, "run", "r1", "r2", "r3")
			c := anyOf[RosterCommand](t, "command",
				CreateParty{Party: party, Leader: Seat{Character: who}}, JoinParty{Party: party, Member: Seat{Character: who}}, JoinParty{Party: party, Member: Seat{Character: other}},
				LeaveParty{Party: party, Character: who}, ResetParty{Character: who}, PromoteMember{Party: party, Character: who, Target: other, Override: true},
				FileRequest{Character: who, Text: "x"}, CloseRequest{Number: rapid.IntRange(0, 3).Draw(t, "request")}, LeaseRoster{Party: party, Run: run},
				ReturnSeat{Party: party, Run: run, Character: who, Leader: other}, ReturnRoster{Party: party, Run: run, Began: true},
				JoinParty{Leader: other, Member: Seat{Character: who}})
			before, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			events, err := DecideRoster(r, c, rs)
			if again, _ := json.Marshal(r); string(again) != string(before) {
				t.Fatalf("deciding %#v changed the roster", c)
			}
			if err != nil && !errors.As(err, new(*play.Refusal)) {
				t.Fatalf("%#v: %v", c, err)
			}
			for _, e := range events {
				r = ApplyRoster(r, e)
			}
			var seated []string
			for _, p := range r.Parties {
				if len(p.Members) == 0 || len(p.Members) > rs.Party.Max {
					t.Fatalf("after %#v a party of %d", c, len(p.Members))
				}
				if (p.State == InRun) != (p.Run != "") && p.State != Ended {
					t.Fatalf("after %#v: %+v", c, p)
				}
				leads := false
				for _, m := range p.Members {
					leads = leads || m.Character == p.Leader
					if p.State != Ended {
						seated = append(seated, m.Character)
					}
				}
				if !leads && p.State == Forming {
					t.Fatalf("after %#v nobody leads %+v", c, p)
				}
			}
			distinct(t, "who sits where", seated)
		}
	})
}

// A dungeon document of any sort is told to be wrong or can be entered, and comes out of JSON as it went in.
func FuzzImport(f *testing.F) {
	for _, d := range ShippedDungeons() {
		raw, err := json.Marshal(d)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Add([]byte(`{"id":"d","name":"D","type":"ruin","cards":[{"id":"e","kind":"entry","ability":"wits","level":1,"conditions":["hope"],"text":"x"}]}`))
	f.Fuzz(func(t *testing.T, document []byte) {
		d := &Dungeon{}
		if json.Unmarshal(document, d) != nil {
			return
		}
		rs := Default()
		faults := Check(rs, d)
		for _, v := range append(faults, Lint(rs, d)...) {
			if v.Field == "" || v.Code == "" || v.Message == "" {
				t.Fatalf("a fault that says too little: %+v", v)
			}
		}
		again := &Dungeon{}
		if err := json.Unmarshal([]byte(mustJSON(t, d)), again); err != nil || mustJSON(t, again) != mustJSON(t, d) {
			t.Fatalf("it does not survive JSON: %v", err)
		}
		enter := Enter{Ruleset: rs, Dungeon: d, Leader: "ada", Members: []Entrant{who("ada"), who("bram")}}
		events, err := DecideRun(Run{}, enter, play.NewDice(func(int) (int, error) { return 1, nil }))
		if (err == nil) != (len(faults) == 0) {
			t.Fatalf("%d faults, and entering says %v", len(faults), err)
		}
		r := Run{}
		for _, e := range events {
			r = ApplyRun(r, e)
		}
		for n := 0; err == nil && !r.Over() && n < 20; n++ {
			r = played(t, r)
		}
	})
}

// played plays a round of basic actions, or draws.
func played(t *testing.T, r Run) Run {
	t.Helper()
	var c RunCommand = Draw{Member: r.Active()[0].ID}
	if r.Pending != nil {
		c = Complete{Member: r.Completer()}
		if w := r.Waiting(); len(w) > 0 {
			c = Contribute{Member: w[0], Use: r.PendingCard().Ability}
		}
	}
	events, err := DecideRun(r, c, play.NewDice(func(sides int) (int, error) { return sides, nil }))
	if err != nil {
		t.Fatalf("%#v: %v", c, err)
	}
	for _, e := range events {
		r = ApplyRun(r, e)
	}
	return r
}
