package replay_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wayfarer-rpg/wayfarer/deploy/local/suite"
	"github.com/wayfarer-rpg/wayfarer/replay"
	"github.com/wayfarer-rpg/wayfarer/rules/play/transcript"
	"github.com/wayfarer-rpg/wayfarer/rules/ruleset"
)

// folders of the rules packages, by system.
var folders = map[string]string{
	"danger-pool": "dangerpool", "danger-world": "dangerworld", "die-drop": "diedrop", "digger": "digger",
}

// shared is the file of a system that everybody plays.
func shared(t *testing.T, system string) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "rules", folders[system], "testdata", "transcripts.json"))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// open reads what the shared files name, from beside them.
func open(name string) ([]byte, error) {
	return os.ReadFile(filepath.Join("..", "rules", folders["die-drop"], "testdata", name))
}

// way is one of the two ways to play.
type way func(t *testing.T, system string, document []byte) ([]transcript.Played, error)

func local(_ *testing.T, system string, document []byte) ([]transcript.Played, error) {
	return replay.Local(system, document, open)
}

// table is a suite that the tests of a package play on together: the campaigns of each replay are its own.
var table struct {
	once  sync.Once
	suite *suite.Suite
	token string
	err   error
	ids   atomic.Int64
}

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "wayfarer-replay-")
	if err != nil {
		panic(err)
	}
	tableDir = dir
	code := m.Run()
	if table.suite != nil {
		if err := table.suite.Close(); err != nil {
			fmt.Fprintln(os.Stderr, "close the suite:", err)
			code = 1
		}
	}
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

var tableDir string

func server(t *testing.T, system string, document []byte) ([]transcript.Played, error) {
	t.Helper()
	table.once.Do(func() {
		table.suite, table.err = suite.Start(context.Background(), suite.Config{
			HTTP: "127.0.0.1:0", Data: tableDir, Grace: 5 * time.Second, Logger: slog.New(slog.DiscardHandler),
		})
		if table.err == nil {
			table.token, table.err = logIn(table.suite.URL)
		}
	})
	if table.err != nil {
		t.Fatal(table.err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	return replay.Server(ctx, replay.Config{
		URL: table.suite.URL, Token: table.token, ID: fmt.Sprint("t", table.ids.Add(1)),
	}, system, document, open)
}

func logIn(base string) (string, error) {
	res, err := http.PostForm(base+"/dev/token", url.Values{"grant_type": {"password"}, "username": {"gm"}, "password": {suite.Password}}) //nolint:noctx // a test
	if err != nil {
		return "", err
	}
	defer func() { _ = res.Body.Close() }()
	var answer struct {
		AccessToken string `json:"access_token"`
	}
	err = json.NewDecoder(res.Body).Decode(&answer)
	return answer.AccessToken, err
}

var ways = map[string]way{"on the rules": local, "through a server": server}

// Every shared file leads to what it expects, whichever way it is played.
func TestSharedTranscripts(t *testing.T) {
	t.Parallel()
	for _, system := range replay.Systems() {
		for name, play := range ways {
			t.Run(system+" "+name, func(t *testing.T) {
				t.Parallel()
				document := shared(t, system)
				played, err := play(t, system, document)
				if err != nil {
					t.Fatal(err)
				}
				if len(played) < 6 {
					t.Errorf("only %d transcripts", len(played))
				}
				if err := transcript.Check(played); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// Without what it expects a file is filled in alike both ways, with what the shared one expects.
func TestFilesAreFilledIn(t *testing.T) {
	t.Parallel()
	for _, system := range replay.Systems() {
		for name, play := range ways {
			t.Run(system+" "+name, func(t *testing.T) {
				t.Parallel()
				whole := shared(t, system)
				blank := edit(t, whole, func(all []any) {
					for _, tr := range all {
						delete(tr.(map[string]any), "expected")
					}
				})
				played, err := play(t, system, blank)
				if err != nil {
					t.Fatal(err)
				}
				filled, err := transcript.Fill(blank, played)
				if err != nil {
					t.Fatal(err)
				}
				again, err := replay.Local(system, filled, open)
				if err != nil {
					t.Fatal(err)
				}
				if err := transcript.Check(again); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// edit changes the transcripts of a file.
func edit(t *testing.T, document []byte, change func(all []any)) []byte {
	t.Helper()
	var file map[string]any
	dec := json.NewDecoder(bytes.NewReader(document))
	dec.UseNumber()
	if err := dec.Decode(&file); err != nil {
		t.Fatal(err)
	}
	change(file["transcripts"].([]any))
	out, err := json.Marshal(file)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// at walks into JSON: a string is a field, a number a place in a list.
func at(v any, path ...any) any {
	for _, p := range path {
		switch p := p.(type) {
		case string:
			v = v.(map[string]any)[p]
		case int:
			v = v.([]any)[p]
		}
	}
	return v
}

type object = map[string]any

// Files that do not fit fail alike both ways, and say where.
func TestFilesThatDoNotFit(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		system string
		change func(all []any)
		want   string
	}{
		"digger: another value is expected": {
			"digger", func(all []any) { at(all, 1, "expected", 2, "members", 0).(object)["exhaustion"] = 53 },
			"transcript ex2-effects step 3: members[0].exhaustion: got 52, want 53",
		},
		"digger: an unknown field": {
			"digger", func(all []any) { at(all, 1, "rounds", 0).(object)["weather"] = "rain" },
			`transcripts[1].rounds[0]: there is no field "weather"`,
		},
		"digger: a face that the die does not have": {
			"digger", func(all []any) { at(all, 0, "rounds", 3, "dice", "Asa").(object)["d10"] = 11 },
			"transcript ex1-stacking step 4: BAD_DICE: reported die 1 is 11",
		},
		"digger: a die too many": {
			"digger", func(all []any) { at(all, 0, "rounds", 3, "dice", "Asa").(object)["d100"] = 11 },
			"transcript ex1-stacking step 4: BAD_DICE: too many dice: 3 reported, 2 needed",
		},
		"digger: a card that is not due": {
			"digger", func(all []any) { at(all, 0, "rounds", 3).(object)["card"] = "f" },
			`transcript ex1-stacking step 4: card: "f" cannot be drawn here, the next card is of kind normal`,
		},
		"digger: a card that is not in the deck": {
			"digger", func(all []any) { at(all, 0, "rounds", 3).(object)["card"] = "g" },
			`transcript ex1-stacking step 4: card: the dungeon has no card "g"`,
		},
		"digger: a refusal": {
			"digger", func(all []any) { at(all, 0, "rounds", 3, "actions", 0).(object)["use"] = "Rush" },
			"transcript ex1-stacking step 4: WRONG_ABILITY",
		},
		"digger: a stranger": {
			"digger", func(all []any) { at(all, 0, "rounds", 3).(object)["drawer"] = "Zoe" },
			"transcript ex1-stacking step 4: NOT_A_MEMBER: Zoe is not in this run",
		},
		"danger-pool: another value is expected": {
			"danger-pool", func(all []any) { at(all, 1, "expected", 3, "state").(object)["pool"] = 5 },
			"transcript POOL-T2 step 4: state.pool: got 2, want 5",
		},
		"danger-pool: an unknown field": {
			"danger-pool", func(all []any) { at(all, 1, "steps", 0).(object)["weather"] = "rain" },
			`transcripts[1].steps[0]: there is no field "weather"`,
		},
		"danger-pool: a face that the die does not have": {
			"danger-pool", func(all []any) { at(all, 0, "steps", 5, "spills", 0, "pool").([]any)[2] = 7 },
			"BAD_DICE: reported die 3 is 7, which a d6",
		},
		"danger-pool: a spill without dice": {
			"danger-pool", func(all []any) { delete(at(all, 0, "steps", 5).(object), "spills") },
			"transcript POOL-T1 step 6: INTERACT: ",
		},
		"danger-pool: a spill that does not happen": {
			"danger-pool", func(all []any) {
				at(all, 0, "steps", 0).(object)["spills"] = []any{object{"pool": []any{2, 2, 2, 2, 2, 2}}}
			},
			"transcript POOL-T1 step 1: MOVE: ",
		},
		"danger-pool: a refusal": {
			"danger-pool", func(all []any) { at(all, 0, "steps", 0).(object)["trigger"] = "COMBAT_END" },
			"transcript POOL-T1 step 1: COMBAT_END: NOT_IN_COMBAT",
		},
		"danger-pool: another rule": {
			"danger-pool", func(all []any) { at(all, 0).(object)["params"] = object{"pool_limit": 3} },
			"transcript POOL-T1",
		},
		"danger-world: another value is expected": {
			"danger-world", func(all []any) { at(all, 2, "expected", 0, "state").(object)["danger_points"] = 6 },
			"transcript DW-T3 step 1: state.danger_points: got 5, want 6",
		},
		"danger-world: an unknown field": {
			"danger-world", func(all []any) { at(all, 2, "steps", 0, "rolls", 0).(object)["weather"] = "rain" },
			`transcripts[2].steps[0].rolls[0]: there is no field "weather"`,
		},
		"danger-world: a face that the die does not have": {
			"danger-world", func(all []any) { at(all, 0, "steps", 0, "rolls", 1, "faces").([]any)[0] = 9 },
			"transcript DW-T1 step 1: rolls[1]: BAD_DICE: reported die 1 is 9",
		},
		"danger-world: an injury without a die": {
			"danger-world", func(all []any) { delete(at(all, 4, "steps", 1).(object), "injury_d12") },
			"transcript DW-T5 step 2: BAD_DICE: too few dice",
		},
		"danger-world: a refusal": {
			"danger-world", func(all []any) { at(all, 0, "steps", 0).(object)["challenge"] = "fence" },
			"transcript DW-T1 step 1: NO_SUCH_CHALLENGE",
		},
		"danger-world: a parameter that there is not": {
			"danger-world", func(all []any) { at(all, 0).(object)["params"] = object{"colour": 3} },
			"transcript DW-T1",
		},
		"die-drop: another value is expected": {
			"die-drop", func(all []any) { at(all, 1, "expected", 4, "state", "members", 0).(object)["hp"] = 99 },
			"step 5: state.members[0].hp: got ",
		},
		"die-drop: an unknown field": {
			"die-drop", func(all []any) { at(all, 1, "actions", 0).(object)["weather"] = "rain" },
			"transcripts[1].actions[0]: weather: is no argument of ",
		},
		"die-drop: another die": {
			"die-drop", func(all []any) { at(all, 0, "actions", 0).(object)["dice"] = []any{3, 1, 5} },
			"transcript roads-and-river step 1: result.usage.kept: got 3, want 2",
		},
		"die-drop: a die that does not exist": {
			"die-drop", func(all []any) { at(all, 0, "actions", 0).(object)["dice"] = []any{2, 11, 5} },
			`transcript roads-and-river step 1: refused: got "bad_dice", want null`,
		},
		"digger: a dungeon that cannot be played": {
			"digger", func(all []any) { at(all, 2, "dungeon", "cards", 0).(object)["level"] = 5 },
			"transcript ex3-risk: INVALID",
		},
	} {
		for how, play := range ways {
			t.Run(name+" "+how, func(t *testing.T) {
				t.Parallel()
				document := edit(t, shared(t, tc.system), tc.change)
				played, err := play(t, tc.system, document)
				if err == nil {
					err = transcript.Check(played)
				}
				if err == nil || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("got %v, want %s", err, tc.want)
				}
			})
		}
	}
}

func TestSystemsAreKnownByName(t *testing.T) {
	t.Parallel()
	_, err := replay.Local("gunslinger", nil, nil)
	if err == nil || !strings.Contains(err.Error(), `there is no rule system "gunslinger"`) {
		t.Errorf("Local = %v", err)
	}
	if _, err = replay.Server(t.Context(), replay.Config{}, "digger", []byte(`{}`), nil); err == nil || !strings.Contains(err.Error(), "needs its address") {
		t.Errorf("Server = %v", err)
	}
}

// override gives every transcript its share of the system's parameters, with another value than the shipped one.
func override(t *testing.T, system string, all []any) {
	t.Helper()
	n := 0
	for _, p := range ruleset.Parameters(system) {
		var other any
		switch v := p.Default.(type) {
		case bool:
			other = !v
		case float64:
			other = v + 1
		case string:
			for _, o := range p.Options {
				if o != p.Default {
					other = o
				}
			}
		}
		if other == nil || p.Check(other) != nil {
			continue
		}
		tr := all[n%len(all)].(object)
		if tr["params"] == nil {
			tr["params"] = object{}
		}
		tr["params"].(object)[p.Name] = other
		n++
	}
	if n < 20 {
		t.Errorf("only %d parameters of %s are overridden", n, system)
	}
}

// Files that nobody has seen before lead to the same both ways.
func TestBothWaysAgree(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		system string
		change func(all []any)
		steps  int // of all transcripts
	}{
		// Every action of half the transcripts is tried before with a die too many, with a face that no die has, and with none.
		"die-drop: dice that do not fit": {"die-drop", func(all []any) {
			for i, tr := range all {
				if i%2 == 1 {
					continue
				}
				var more []any
				for _, a := range at(tr, "actions").([]any) {
					for _, dice := range [][]any{append(append([]any{}, a.(object)["dice"].([]any)...), 1), {21}, {}} {
						if len(dice) == len(a.(object)["dice"].([]any)) {
							continue // it would be played
						}
						b := object{"dice": dice}
						for k, v := range a.(object) {
							if k != "dice" {
								b[k] = v
							}
						}
						more = append(more, b)
					}
					more = append(more, a, object{"type": "fly", "dice": []any{}, "height": 3})
				}
				tr.(object)["actions"] = more
			}
		}, 0},
		"die-drop: other rules, names, sheets and maps": {"die-drop", func(all []any) {
			for i, tr := range all {
				tr.(object)["id"] = fmt.Sprint("Transcript No. ", i)
				if tr.(object)["params"] == nil {
					tr.(object)["params"] = object{"starve.variant": "drain", "use.step_down_max": 3, "enc.check_max": 2}
				}
				for _, m := range at(tr, "party", "members").([]any) {
					m.(object)["capacity"] = 12
					m.(object)["oil"] = 1
				}
			}
		}, 0},
		"digger: labels that are no ids, other sheets": {"digger", func(all []any) {
			for _, tr := range all {
				tr.(object)["dungeon"].(object)["id"] = "Ex (1)"
				rename := func(o object, field string) { o[field] = "Card " + o[field].(string) }
				for _, c := range at(tr, "dungeon", "cards").([]any) {
					rename(c.(object), "id")
					delete(c.(object), "text")
				}
				for _, r := range at(tr, "rounds").([]any) {
					rename(r.(object), "card")
				}
				for _, m := range at(tr, "party").([]any) {
					for _, x := range at(m, "tools").([]any) {
						if x.(object)["drawback"] == nil {
							delete(x.(object), "drawback")
						}
					}
				}
			}
		}, 26},
		"danger-pool: other lights, members and spells": {"danger-pool", func(all []any) {
			for _, tr := range all {
				for _, l := range at(tr, "setup", "lights").([]any) {
					l.(object)["source"] = "LANTERN"
				}
				tr.(object)["setup"].(object)["spells"] = []any{object{"id": "a spell", "seconds": 4000}, object{"id": "another", "minutes": 35}}
				steps := at(tr, "steps").([]any)
				tr.(object)["steps"] = append([]any{
					object{"trigger": "CAST", "id": "a third", "seconds": 61, "spills": []any{}}, object{"trigger": "LIGHT_ADD", "id": "spare", "source": "LIGHT_SPELL"},
					object{"trigger": "SPELL_END", "id": "another"},
				}, steps...)
			}
		}, 66},
		"danger-world: other sheets and rules, botches of no check": {"danger-world", func(all []any) {
			for _, tr := range all {
				tr.(object)["setup"].(object)["bonus_dice"] = 2
				tr.(object)["params"] = object{"botch_count": "FINAL"}
				tr.(object)["steps"] = append([]any{object{"op": "CLOSE_CHECK"}, object{"op": "RAISE_DANGER", "amount": 3}}, at(tr, "steps").([]any)...)
			}
		}, 0},
		"danger-pool: parameters of every sort":  {"danger-pool", func(all []any) { override(t, "danger-pool", all) }, 0},
		"danger-world: parameters of every sort": {"danger-world", func(all []any) { override(t, "danger-world", all) }, 0},
		"die-drop: parameters of every sort":     {"die-drop", func(all []any) { override(t, "die-drop", all) }, 0},
		"digger: no rounds": {"digger", func(all []any) {
			for _, tr := range all {
				tr.(object)["rounds"] = nil
			}
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			document := edit(t, shared(t, tc.system), func(all []any) {
				tc.change(all)
				for _, tr := range all {
					delete(tr.(object), "expected")
				}
			})
			here, err := replay.Local(tc.system, document, open)
			if err != nil {
				t.Fatal(err)
			}
			there, err := server(t, tc.system, document)
			if err != nil {
				t.Fatal(err)
			}
			steps := 0
			for i, p := range there {
				p.Want = here[i].Got
				steps += len(p.Got)
				if d := p.Difference(); d != nil {
					t.Error(d)
				}
				if (p.Err == nil) != (here[i].Err == nil) || len(p.Got) != len(here[i].Got) {
					t.Errorf("%s stops after %d steps: %v; on the rules after %d: %v", p.ID, len(p.Got), p.Err, len(here[i].Got), here[i].Err)
				}
			}
			if tc.steps > 0 && steps != tc.steps {
				t.Errorf("%d steps, want %d", steps, tc.steps)
			}
			t.Logf("%d steps", steps)
		})
	}
}
