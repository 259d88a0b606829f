package dangerworld

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wayfarer-rpg/wayfarer/rules/play"
)

// table is how a test begins: one character, "ada", and challenges.
type table struct {
	params map[string]any
	// stat is Agility; other stats are in stats.
	stat       int
	stats      map[string]int
	fp, points int
	bonus      []int
	bashed     int
	stunned    int
	ko         bool
	reduced    map[string]int
	// gate is the difficulty of the challenge "gate", 2 when it is 0; penalty are its dice.
	gate, penalty int
	more          []CreateChallenge
}

func ptr[T any](v T) *T { return &v }

func (x table) begin(t *testing.T) Scene {
	t.Helper()
	rs, err := Default().With(x.params)
	if err != nil {
		t.Fatal(err)
	}
	sheet := Sheet{
		Character: "ada", Stats: map[string]int{"Agility": x.stat}, FP: x.fp, Points: x.points, Bonus: x.bonus, Bashed: x.bashed,
		Stunned: x.stunned, KO: x.ko, Reductions: x.reduced,
	}
	for name, n := range x.stats {
		sheet.Stats[name] = n
	}
	if x.gate == 0 {
		x.gate = 2
	}
	s := do(t, Scene{}, Begin{Ruleset: rs})
	s = do(t, s, AddSheet{Sheet: sheet})
	s = do(t, s, CreateChallenge{Name: "gate", Difficulty: x.gate, Penalty: x.penalty})
	for _, c := range x.more {
		s = do(t, s, c)
	}
	return s
}

func mustJSON(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// try decides and folds a command, and checks on the way what holds for every command: the state it was decided on stays
// as it was, the dice recorded are those given, and the state survives JSON.
func try(t *testing.T, s Scene, c Command, faces ...int) (Scene, []Event, *play.Refusal) {
	t.Helper()
	before := mustJSON(t, s)
	dice := play.ReportedDice(faces...)
	events, err := Decide(s, c, dice)
	if err == nil {
		err = dice.Close()
	}
	if got := mustJSON(t, s); got != before {
		t.Fatalf("deciding %#v changed the state", c)
	}
	if err != nil {
		var r *play.Refusal
		if !errors.As(err, &r) {
			t.Fatalf("%#v: %v is no refusal", c, err)
		}
		return s, nil, r
	}
	if len(dice.Rolled()) != len(faces) {
		t.Fatalf("%#v recorded %d dice of %d", c, len(dice.Rolled()), len(faces))
	}
	next := s
	for _, e := range events {
		next = Apply(next, e)
	}
	if got := mustJSON(t, s); got != before {
		t.Fatalf("folding %#v changed the old state", c)
	}
	var again Scene
	if err := json.Unmarshal([]byte(mustJSON(t, next)), &again); err != nil || mustJSON(t, again) != mustJSON(t, next) {
		t.Fatalf("the state does not survive JSON: %v", err)
	}
	return next, events, nil
}

func do(t *testing.T, s Scene, c Command, faces ...int) Scene {
	t.Helper()
	next, _, refused := try(t, s, c, faces...)
	if refused != nil {
		t.Fatalf("%#v refused: %v", c, refused)
	}
	return next
}

// standing are the refusals whose field the present state does not allow.
var standing = map[string]bool{
	NotPresent: true, NoSuchChallenge: true, NameTaken: true, NoSuchSet: true, NoSuchDie: true, NotLockable: true, BadCancel: true,
}

// refuse expects a refusal by its code and, when there is one, its field.
func refuse(t *testing.T, s Scene, code, field string, c Command, faces ...int) {
	t.Helper()
	_, _, refused := try(t, s, c, faces...)
	if refused == nil {
		t.Fatalf("%#v is not refused", c)
	}
	if now := standing[code]; refused.Standing != now && refused.Field != "" {
		t.Fatalf("%s at %q depends on the state: %v", code, field, refused.Standing)
	}
	if refused.Code != code || refused.Field != field {
		t.Fatalf("%#v is refused as %s at %q, not %s at %q: %s", c, refused.Code, refused.Field, code, field, refused.Message)
	}
}

// roll is a roll of a check with what is locked before it.
type roll struct {
	lock  []string
	faces []int
}

func faces(n ...int) roll                  { return roll{faces: n} }
func locking(lock []string, n ...int) roll { return roll{lock, n} }
func names(n ...string) []string           { return n }
func latest(s Scene) Check                 { c, _ := s.Check(s.Opened); return c }
func ada(s Scene) Sheet                    { x, _ := s.Sheet("ada"); return x }
func statusOf(s Scene, name string) string { c, _ := s.Challenge(name); return c.Status }
func attempt(more ...func(*OpenCheck)) OpenCheck {
	o := OpenCheck{Character: "ada", Challenge: "gate", Stat: "Agility"}
	for _, m := range more {
		m(&o)
	}
	return o
}

func danger(n int) func(*OpenCheck)     { return func(o *OpenCheck) { o.DangerDice = n } }
func bonus(n int) func(*OpenCheck)      { return func(o *OpenCheck) { o.BonusDice = n } }
func aspect(n int) func(*OpenCheck)     { return func(o *OpenCheck) { o.AspectFP = n } }
func negative(n int) func(*OpenCheck)   { return func(o *OpenCheck) { o.NegativeFP = n } }
func against(c string) func(*OpenCheck) { return func(o *OpenCheck) { o.Challenge = c } }
func stat(name string) func(*OpenCheck) { return func(o *OpenCheck) { o.Stat = name } }
func by(who string) func(*OpenCheck)    { return func(o *OpenCheck) { o.Character = who } }

// rolled opens a check and rolls it.
func rolled(t *testing.T, s Scene, open OpenCheck, rolls ...roll) Scene {
	t.Helper()
	s = do(t, s, open)
	n := s.Opened
	for i, r := range rolls {
		if i == 0 {
			s = do(t, s, RollCheck{Check: n}, r.faces...)
			continue
		}
		s = do(t, s, Reroll{Check: n, Lock: r.lock}, r.faces...)
	}
	return s
}

// played opens a check, rolls it and claims what the ruleset chooses; injuries are d12 faces.
func played(t *testing.T, s Scene, open OpenCheck, rolls ...roll) Scene {
	t.Helper()
	s = rolled(t, s, open, rolls...)
	return do(t, s, Claim{Check: s.Opened})
}

// shows returns the faces of the latest check in pool order.
func shows(s Scene) []int {
	var out []int
	for _, f := range latest(s).Faces() {
		out = append(out, f.Face)
	}
	return out
}

// set returns what the faces of a check come to at one height; the zero Set when it is not listed.
func set(t *testing.T, s Scene, height int) Set {
	t.Helper()
	sets, err := s.Ruleset.Sets(latest(s).Faces(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range sets {
		if x.Height == height {
			return x
		}
	}
	return Set{}
}

func eq(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}
