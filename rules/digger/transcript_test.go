package digger

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"reflect"
	"slices"
	"testing"

	"github.com/wayfarer-rpg/wayfarer/rules/play"
)

// The transcript format is described in docs/rules/digger.md.
type transcript struct {
	ID      string             `json:"id"`
	Title   string             `json:"title"`
	Dungeon Dungeon            `json:"dungeon"`
	Party   []transcriptMember `json:"party"`
	Rounds  []transcriptRound  `json:"rounds"`
	Expect  []map[string]any   `json:"expected"`
}

type transcriptMember struct {
	Name      string    `json:"name"`
	Abilities Abilities `json:"abilities"`
	Tools     []struct {
		ID        string   `json:"id"`
		Ability   string   `json:"ability"`
		Rating    string   `json:"rating"`
		Qualities []string `json:"qualities"`
		Drawback  *string  `json:"drawback"`
	} `json:"tools"`
}

type transcriptRound struct {
	Card    string `json:"card"`
	Drawer  string `json:"drawer"`
	Actions []struct {
		Member string `json:"member"`
		Use    string `json:"use"`
		Risk   bool   `json:"risk"`
	} `json:"actions"`
	Dice map[string]struct {
		D10  int  `json:"d10"`
		D100 *int `json:"d100"`
	} `json:"dice"`
}

func loadTranscripts(t *testing.T) []transcript {
	t.Helper()
	raw, err := os.ReadFile("testdata/transcripts.json")
	if err != nil {
		t.Fatal(err)
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	var file struct {
		Transcripts []transcript `json:"transcripts"`
	}
	if err := dec.Decode(&file); err != nil {
		t.Fatal(err)
	}
	return file.Transcripts
}

func (tr transcript) entrants() []Entrant {
	var out []Entrant
	for _, m := range tr.Party {
		e := Entrant{ID: m.Name, Statblock: &m.Abilities}
		for i, x := range m.Tools {
			tool := Tool{ID: x.ID, Ability: x.Ability, Rating: x.Rating, Qualities: x.Qualities, Loaded: true}
			if x.Drawback != nil {
				tool.Drawback = *x.Drawback
			}
			e.Tools = append(e.Tools, NumberedTool{tool, i + 1})
		}
		out = append(out, e)
	}
	return out
}

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

func TestTranscripts(t *testing.T) {
	t.Parallel()
	all := loadTranscripts(t)
	if len(all) != 6 {
		t.Fatalf("%d transcripts", len(all))
	}
	for _, tr := range all {
		t.Run(tr.ID, func(t *testing.T) {
			t.Parallel()
			tr.play(t)
		})
	}
}

func (tr transcript) play(t *testing.T) {
	rs := Default()
	if len(tr.Rounds) != len(tr.Expect) {
		t.Fatalf("%d rounds, %d expected", len(tr.Rounds), len(tr.Expect))
	}
	var r Run
	for i, round := range tr.Rounds {
		if i == 0 {
			enter := Enter{Ruleset: rs, Dungeon: &tr.Dungeon, Leader: round.Drawer, Members: tr.entrants()}
			blank := Run{Ruleset: rs, Dungeon: &tr.Dungeon, Outcome: Running}
			r, _ = do(t, r, enter, face(t, blank, round.Card)...)
		} else {
			r, _ = do(t, r, Draw{Member: round.Drawer}, face(t, r, round.Card)...)
		}
		atDraw := conditionsView(r)
		var faces, risks []int
		for _, a := range round.Actions {
			r, _ = do(t, r, Contribute{Member: a.Member, Use: a.Use, Risk: a.Risk})
			d := round.Dice[a.Member]
			faces = append(faces, d.D10)
			if d.D100 != nil {
				risks = append(risks, *d.D100)
			}
		}
		inForce := conditionsView(r)
		effects := effectsView(r, true)
		card, _ := r.Card()
		kind := r.Pending.Kind
		var events []RunEvent
		r, events = do(t, r, Complete{Member: round.Drawer}, append(faces, risks...)...)
		e := events[0].(Completed)
		got := map[string]any{
			"round": e.Round, "card": e.Card, "kind": kind, "ability": card.Ability, "level": card.Level, "tn": e.TN, "modifier": e.Modifier,
			"conditions_at_draw": atDraw, "conditions_in_force": inForce, "effects_in_force": effects,
			"party_score": e.Score, "party_target": e.Target, "party_success": e.Passed, "exploration_gain": e.ExplorationGain, "exploration": e.Exploration,
			"members": membersView(r, e), "effects_after": effectsView(r, false), "next_draw": nil, "outcome": r.Outcome,
		}
		if next := r.NextDraw(); next != "" {
			got["next_draw"] = next
		}
		var plain map[string]any
		if err := json.Unmarshal([]byte(mustJSON(t, got)), &plain); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(plain, tr.Expect[i]) {
			t.Fatalf("round %d\n got %s\nwant %s", i+1, mustJSON(t, plain), mustJSON(t, tr.Expect[i]))
		}
	}
}

func conditionsView(r Run) []any {
	out := []any{}
	for _, i := range r.Conditions {
		v := map[string]any{"name": i.Name, "remaining": nil}
		if n, timed := r.Ruleset.Remaining(i); timed {
			v["remaining"] = n
		}
		out = append(out, v)
	}
	return out
}

func effectsView(r Run, users bool) []any {
	out := []any{}
	for _, e := range r.Effects {
		v := map[string]any{"name": e.Name, "remaining": r.Ruleset.EffectRemaining(e)}
		if users {
			v["users"] = e.Users
		}
		out = append(out, v)
	}
	return out
}

func membersView(r Run, e Completed) []any {
	out := []any{}
	for _, res := range e.Results {
		m, _ := r.Member(res.Member)
		uses := map[string]int{}
		for _, t := range m.Tools {
			uses[t.ID] = t.UsesLeft
		}
		v := map[string]any{
			"name": res.Member, "acted": res.Acted, "exhaustion_gain": res.Gain, "exhaustion": res.Exhaustion,
			"exhausted": r.Exhausted(m), "tool_uses_left": uses,
		}
		if res.Acted {
			v["roll"], v["effective"], v["tool_bonus"], v["risk_bonus"] = res.Roll, res.Effective, res.ToolBonus, res.RiskBonus
			v["total"], v["success"] = res.Total, res.Success
		}
		out = append(out, v)
	}
	return out
}
