package digger

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/wayfarer-rpg/wayfarer/rules/play"
)

func mustJSON(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func codeOf(t *testing.T, err error) string {
	t.Helper()
	if err == nil {
		return ""
	}
	var r *play.Refusal
	if !errors.As(err, &r) {
		t.Fatalf("no refusal: %v", err)
	}
	return r.Code
}

// do decides and folds a command, and checks on the way what holds for every command: the state it was decided on stays
// as it was, the dice recorded are those given, and the state survives JSON.
func do(t *testing.T, r Run, c RunCommand, faces ...int) (Run, []RunEvent) {
	t.Helper()
	next, events, code := try(t, r, c, faces...)
	if code != "" {
		t.Fatalf("%#v refused: %s", c, code)
	}
	return next, events
}

func try(t *testing.T, r Run, c RunCommand, faces ...int) (Run, []RunEvent, string) {
	t.Helper()
	before := mustJSON(t, r)
	dice := play.ReportedDice(faces...)
	events, err := DecideRun(r, c, dice)
	if err == nil {
		err = dice.Close()
	}
	if code := codeOf(t, err); code != "" {
		if mustJSON(t, r) != before {
			t.Fatalf("refusing %#v changed the state", c)
		}
		return r, nil, code
	}
	if len(dice.Rolled()) != len(faces) {
		t.Fatalf("%#v recorded %d dice of %d", c, len(dice.Rolled()), len(faces))
	}
	next := r
	for _, e := range events {
		next = ApplyRun(next, e)
	}
	if mustJSON(t, r) != before {
		t.Fatalf("deciding or folding %#v changed the old state", c)
	}
	var again Run
	if err := json.Unmarshal([]byte(mustJSON(t, next)), &again); err != nil || mustJSON(t, again) != mustJSON(t, next) {
		t.Fatalf("the state does not survive JSON: %v", err)
	}
	return next, events, ""
}

// face returns the reported die that draws a card: its place among the candidates, none when there is no choice.
func face(t *testing.T, r Run, card string) []int {
	t.Helper()
	ids, _ := r.Candidates()
	at := slices.Index(ids, card)
	if at < 0 {
		t.Fatalf("%s cannot be drawn, only %v", card, ids)
	}
	if len(ids) == 1 {
		return nil
	}
	return []int{at + 1}
}

// changed returns the shipped ruleset with a change.
func changed(t *testing.T, change func(*Ruleset)) *Ruleset {
	t.Helper()
	rs := &Ruleset{}
	if err := json.Unmarshal(DefaultDocument(), rs); err != nil {
		t.Fatal(err)
	}
	change(rs)
	if err := rs.Validate(); err != nil {
		t.Fatal(err)
	}
	return rs
}

func equal[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if g, w := mustJSON(t, got), mustJSON(t, want); g != w {
		t.Errorf("%s = %s, want %s", what, g, w)
	}
}

func card(kind, ability string, level int, conditions ...string) Card {
	if len(conditions) == 0 {
		conditions = []string{"treasure"} // touches nothing but exploration
	}
	return Card{Kind: kind, Ability: ability, Level: level, Conditions: conditions}
}

// deck makes a dungeon of cards; their ids are their kind and place among their kind. What a deck needs is added.
func deck(cards ...Card) *Dungeon {
	d := &Dungeon{ID: "deck", Number: 1, Name: "Deck", Type: "ruin"}
	for _, kind := range []string{Entry, Normal, Final} {
		if !slices.ContainsFunc(cards, func(c Card) bool { return c.Kind == kind }) {
			cards = append(cards, card(kind, "brute", 1))
		}
	}
	count := map[string]int{}
	for _, c := range cards {
		count[c.Kind]++
		c.ID, c.Text = fmt.Sprintf("%s-%d", c.Kind, count[c.Kind]), "A challenge."
		d.Cards = append(d.Cards, c)
	}
	return d
}

// tool makes a tool; a drawback among the traits becomes its drawback.
func tool(id, ability, rating string, traits ...string) Tool {
	x := Tool{ID: id, Ability: ability, Rating: rating}
	for _, name := range traits {
		if Default().Tools.Qualities[name].Class == "drawback" {
			x.Drawback = name
		} else {
			x.Qualities = append(x.Qualities, name)
		}
	}
	return x
}

// who makes an entrant with 4 in every ability.
func who(id string, tools ...Tool) Entrant {
	e := Entrant{ID: id, Statblock: &Abilities{4, 4, 4, 4}}
	for i, x := range tools {
		e.Tools = append(e.Tools, NumberedTool{x, i + 1})
	}
	return e
}

// begin enters with the first member as leader.
func begin(t *testing.T, rs *Ruleset, d *Dungeon, members ...Entrant) Run {
	t.Helper()
	r, _ := do(t, Run{}, Enter{Ruleset: rs, Dungeon: d, Leader: members[0].ID, Members: members})
	return r
}

// turn plays a whole round: everybody active acts with what uses names, else with the basic action; a use that begins
// with "!" risks. Faces are given in the order of the members, then those of risks.
func turn(t *testing.T, r Run, uses map[string]string, faces ...int) (Run, Completed) {
	t.Helper()
	c, _ := r.Card()
	for _, m := range r.Active() {
		use := uses[m.ID]
		risk := len(use) > 0 && use[0] == '!'
		if risk {
			use = use[1:]
		}
		if use == "" {
			use = c.Ability
		}
		if r.act(m.ID) == nil {
			r, _ = do(t, r, Contribute{Member: m.ID, Use: use, Risk: risk})
		}
	}
	r, events := do(t, r, Complete{Member: r.Completer()}, faces...)
	return r, events[0].(Completed)
}

// next draws the first candidate for the first active member.
func next(t *testing.T, r Run) Run {
	t.Helper()
	ids, _ := r.Candidates()
	r, _ = do(t, r, Draw{Member: r.Active()[0].ID}, face(t, r, ids[0])...)
	return r
}

// modifiers enters a deck of one ability whose entry carries conditions and returns M in each round. The party fails.
func modifiers(t *testing.T, rs *Ruleset, ability string, rounds int, conditions ...string) []int {
	t.Helper()
	r := begin(t, rs, deck(card(Entry, ability, 1, conditions...), card(Normal, ability, 1), card(Normal, ability, 1)), who("ada"), who("bram"))
	list := []int{r.Modifier()}
	for len(list) < rounds {
		r, _ = turn(t, r, nil, 1, 1)
		r = next(t, r)
		list = append(list, r.Modifier())
	}
	return list
}

// refused checks a refusal of a run's command.
func refused(t *testing.T, r Run, c RunCommand, want string) {
	t.Helper()
	if _, _, code := try(t, r, c); code != want {
		t.Errorf("%+v: %q, want %q", c, code, want)
	}
}

// sheet is a character's sheet under test with its environment.
type sheet struct {
	Sheet
	env Env
}

func newSheet(t *testing.T) *sheet {
	t.Helper()
	s := &sheet{env: Env{Ruleset: Default(), Chapter: 1}}
	s.do(t, CreateSheet{})
	return s
}

// try decides and folds; a refusal changes nothing.
func (s *sheet) try(t *testing.T, c SheetCommand) string {
	t.Helper()
	before := mustJSON(t, s.Sheet)
	events, err := DecideSheet(s.Sheet, c, s.env)
	after := s.Sheet
	for _, e := range events {
		after = ApplySheet(after, e)
	}
	if mustJSON(t, s.Sheet) != before {
		t.Fatalf("%+v changed the old state", c)
	}
	s.Sheet = after
	return codeOf(t, err)
}

func (s *sheet) do(t *testing.T, c SheetCommand) {
	t.Helper()
	if code := s.try(t, c); code != "" {
		t.Fatalf("%+v refused: %s", c, code)
	}
}

func (s *sheet) refused(t *testing.T, c SheetCommand, want string) {
	t.Helper()
	if code := s.try(t, c); code != want {
		t.Errorf("%+v: %q, want %q", c, code, want)
	}
}

func (s *sheet) free(t *testing.T) int {
	t.Helper()
	f, _ := s.Form("")
	return s.Free(s.env, *f.Statblock)
}

// roster is a roster under test.
type roster struct{ Roster }

func (r *roster) try(t *testing.T, c RosterCommand) string {
	t.Helper()
	before := mustJSON(t, r.Roster)
	events, err := DecideRoster(r.Roster, c, Default())
	after := r.Roster
	for _, e := range events {
		after = ApplyRoster(after, e)
	}
	if mustJSON(t, r.Roster) != before {
		t.Fatalf("%+v changed the old state", c)
	}
	r.Roster = after
	return codeOf(t, err)
}

func (r *roster) do(t *testing.T, commands ...RosterCommand) {
	t.Helper()
	for _, c := range commands {
		if code := r.try(t, c); code != "" {
			t.Fatalf("%+v refused: %s", c, code)
		}
	}
}

func (r *roster) refused(t *testing.T, c RosterCommand, want string) {
	t.Helper()
	if code := r.try(t, c); code != want {
		t.Errorf("%+v: %q, want %q", c, code, want)
	}
}

// party makes a roster with one party led by the first character.
func party(t *testing.T, characters ...string) *roster {
	t.Helper()
	r := &roster{}
	r.do(t, CreateParty{Party: "p", Leader: Seat{Character: characters[0]}, Dungeon: "deck"})
	for _, c := range characters[1:] {
		r.do(t, JoinParty{Party: "p", Member: Seat{Character: c}})
	}
	return r
}
