package audit_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/wayfarer-rpg/wayfarer/chaos/audit"
	"github.com/wayfarer-rpg/wayfarer/chaos/crash"
	"github.com/wayfarer-rpg/wayfarer/chaos/rest"
	"github.com/wayfarer-rpg/wayfarer/internal/requestid"
	"github.com/wayfarer-rpg/wayfarer/rules/digger"
)

// seeds are plays in which everything happens that is falsified below: in one this, in another that. In the last ones the players
// are keen on the dungeon, which others may never enter.
const seeds, keen = 12, 3

var played [seeds]struct {
	once sync.Once
	raw  []byte
	err  error
}

// play returns what came of a play, for the test alone.
func play(t *testing.T, n int) *audit.Evidence {
	t.Helper()
	p := &played[n]
	p.once.Do(func() {
		e, _, err := crash.Evidence(t.Context(), crash.Play{Seed: uint64(1000 + n), Keen: n >= seeds-keen}) //nolint:gosec // few
		if p.err = err; err == nil {
			p.raw, p.err = json.Marshal(e)
		}
	})
	if p.err != nil {
		t.Fatal(p.err)
	}
	e := &audit.Evidence{}
	if err := json.Unmarshal(p.raw, e); err != nil {
		t.Fatal(err)
	}
	return e
}

func TestASoundPlayIsSound(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, seeds - 1} {
		r := play(t, n).Judge()
		for _, f := range r.Findings {
			t.Error(f)
		}
		if r.Acknowledged == 0 || r.Records == 0 || r.Err() != nil {
			t.Errorf("play %d: %+v", n, r)
		}
	}
}

// event is an event of a kind somewhere in a journal.
type event struct {
	part string
	rec  rest.Object
	of   rest.Object
}

// events finds all of a kind in the parts of some sort: "runs", "delves", "journeys".
func events(e *audit.Evidence, sort, kind string) []event {
	var out []event
	for _, name := range slices.Sorted(maps.Keys(e.Parts)) {
		if !strings.Contains(name, "/"+sort+"/") {
			continue
		}
		for _, rec := range e.Parts[name].Journal {
			for _, ev := range rec.List("events") {
				if o := ev.Object(kind); o != nil {
					out = append(out, event{name, rec, o})
				}
			}
		}
	}
	return out
}

// change lets do alter the first event of a kind.
func change(sort, kind string, do func(rest.Object) bool) func(*audit.Evidence) bool {
	return func(e *audit.Evidence) bool {
		for _, ev := range events(e, sort, kind) {
			if do(ev.of) {
				return true
			}
		}
		return false
	}
}

func add(o rest.Object, field string, n int) bool {
	o[field] = float64(o.Number(field) + n)
	return true
}

// acknowledged returns a request of which the journal of a part tells, the last one.
func acknowledged(e *audit.Evidence) (id string, part audit.Aggregate, name string, at int) {
	for _, id := range slices.Backward(slices.Sorted(maps.Keys(e.Told))) {
		if e.Told[id].Answer == nil {
			continue
		}
		derived := requestid.Derive(e.Name, id)
		for name, p := range e.Parts {
			for i, rec := range p.Journal {
				if rec.Text("record.requestId") == derived && len(rec.List("record.dice")) > 0 {
					return id, p, name, i
				}
			}
		}
	}
	return "", audit.Aggregate{}, "", 0
}

// logged finds a record of a part in the log.
func logged(e *audit.Evidence, name string, seq int) rest.Object {
	for _, rec := range e.Expedition.Journal {
		for _, ev := range rec.List("events") {
			if l := ev.Object("logged"); l.Text("aggregate") == name && l.Number("record.seq") == seq {
				return l
			}
		}
	}
	return nil
}

// result is what the owning service answered.
func result(answer rest.Object) rest.Object {
	for name := range answer {
		if o := answer.Object(name); name != "record" && name != "expedition" && o.Object("record") != nil {
			return o
		}
	}
	return nil
}

func TestWhateverIsWrongIsFound(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		falsify func(e *audit.Evidence) bool
		kind    audit.Kind
		text    string
	}{
		"something was noticed during the play": {func(e *audit.Evidence) bool {
			e.Noticed = append(e.Noticed, "two answers")
			return true
		}, audit.Broken, "two answers"},
		"the expedition is not over": {func(e *audit.Evidence) bool {
			e.Expedition.State["phase"] = "PHASE_TRAVELING"
			return true
		}, audit.Broken, "the expedition is PHASE_TRAVELING"},
		"the log has lost its end": {func(e *audit.Evidence) bool {
			e.Expedition.Journal = e.Expedition.Journal[:len(e.Expedition.Journal)-1]
			return true
		}, audit.Lost, "the log has"},
		"the log has a gap": {func(e *audit.Evidence) bool {
			e.Expedition.Journal = slices.Delete(e.Expedition.Journal, 3, 4)
			return true
		}, audit.Broken, "record 5 of the log stands in place 4"},
		"an answer names another record than the log has": {func(e *audit.Evidence) bool {
			id, _, _, _ := acknowledged(e)
			return id != "" && add(e.Told[id].Answer.Object("record"), "seq", -1)
		}, audit.Lost, "was answered as"},
		"an answer names a record beyond the log": {func(e *audit.Evidence) bool {
			id, _, _, _ := acknowledged(e)
			return id != "" && add(e.Told[id].Answer.Object("record"), "seq", 1000)
		}, audit.Lost, "was answered as record"},
		"a command is in the log twice": {func(e *audit.Evidence) bool {
			id, _, _, _ := acknowledged(e)
			last := e.Expedition.Journal[len(e.Expedition.Journal)-1]
			last.Object("record")["requestId"] = id
			return id != ""
		}, audit.Doubled, "is in the log 2 times"},
		"an acknowledged command is in no journal": {func(e *audit.Evidence) bool {
			id, p, name, at := acknowledged(e)
			p.Journal[at].Object("record")["requestId"] = "another"
			logged(e, name, at+1).Object("record")["requestId"] = "another"
			return id != ""
		}, audit.Lost, "was acknowledged, and is in no journal"},
		"a command had its effect twice": {func(e *audit.Evidence) bool {
			id, p, name, at := acknowledged(e)
			last := len(p.Journal) - 1
			p.Journal[last].Object("record")["requestId"] = requestid.Derive(e.Name, id)
			logged(e, name, last+1).Object("record")["requestId"] = requestid.Derive(e.Name, id)
			return id != "" && last != at
		}, audit.Doubled, "is in the journals 2 times"},
		"a command in doubt had its effect twice": {func(e *audit.Evidence) bool {
			id, p, name, at := acknowledged(e)
			e.Told[id].Answer, e.Told[id].Lost = nil, true
			delete(e.Repeated, id)
			last := len(p.Journal) - 1
			p.Journal[last].Object("record")["requestId"] = requestid.Derive(e.Name, id)
			logged(e, name, last+1).Object("record")["requestId"] = requestid.Derive(e.Name, id)
			return id != "" && last != at
		}, audit.Doubled, "is in the journals 2 times"},
		"a refused command is in the log": {func(e *audit.Evidence) bool {
			id, _, _, _ := acknowledged(e)
			e.Told[id] = &audit.Told{User: e.Told[id].User, Path: e.Told[id].Path, Refused: "NO"}
			delete(e.Repeated, id)
			return true
		}, audit.Broken, "was refused as NO and is in the journals"},
		"nobody sent what was done": {func(e *audit.Evidence) bool {
			id, _, _, _ := acknowledged(e)
			delete(e.Told, id)
			delete(e.Repeated, id)
			return true
		}, audit.Broken, "nobody asked for"},
		"nobody sent what the log tells": {func(e *audit.Evidence) bool {
			id, _, _, _ := acknowledged(e)
			delete(e.Told, id)
			delete(e.Repeated, id)
			return true
		}, audit.Broken, "nobody sent"},
		"a run of the expedition is not in its log": {func(e *audit.Evidence) bool {
			e.Listed = append(e.Listed, "campaigns/chaos-0/runs/stray")
			return true
		}, audit.Broken, "stray belongs to the expedition"},
		"a record of a run is lost": {func(e *audit.Evidence) bool {
			id, p, name, _ := acknowledged(e)
			p.Journal = p.Journal[:len(p.Journal)-1]
			e.Parts[name] = p
			return id != ""
		}, audit.Lost, "records"},
		"the log has not all records of a part": {func(e *audit.Evidence) bool {
			_, p, name, _ := acknowledged(e)
			l := logged(e, name, len(p.Journal))
			clear(l)
			return true
		}, audit.Broken, "the log has"},
		"the log has a record that is not as the journal has it": {func(e *audit.Evidence) bool {
			_, p, name, _ := acknowledged(e)
			logged(e, name, len(p.Journal)).Object("record")["actor"] = "eve"
			return true
		}, audit.Broken, "and in the log"},
		"a journal has a gap": {func(e *audit.Evidence) bool {
			_, p, _, _ := acknowledged(e)
			return add(p.Journal[len(p.Journal)-1].Object("record"), "seq", 1)
		}, audit.Broken, "stands in place"},
		"a die shows another face than its stream gives": {func(e *audit.Evidence) bool {
			_, p, name, at := acknowledged(e)
			for _, rec := range []rest.Object{p.Journal[at].Object("record"), logged(e, name, at+1).Object("record")} {
				d := rec.List("dice")[0]
				d["face"] = float64(d.Number("face")%d.Number("sides") + 1)
			}
			return true
		}, audit.Rerolled, "its stream gives"},
		"a client was told another face": {func(e *audit.Evidence) bool {
			id, _, _, _ := acknowledged(e)
			return add(result(e.Told[id].Answer).Object("record").List("dice")[0], "face", 1)
		}, audit.Rerolled, "was answered with"},
		"a client was told another record": {func(e *audit.Evidence) bool {
			id, _, _, _ := acknowledged(e)
			result(e.Told[id].Answer).Object("record")["requestId"] = "another"
			return true
		}, audit.Broken, "was carried out as another"},
		"a client was told less than happened": {func(e *audit.Evidence) bool {
			id, _, _, _ := acknowledged(e)
			result(e.Told[id].Answer)["events"] = []any{}
			return true
		}, audit.Broken, "and the journal has"},
		"a seed is not revealed": {func(e *audit.Evidence) bool {
			_, p, _, _ := acknowledged(e)
			p.Stream["seed"] = ""
			return true
		}, audit.Broken, "is not revealed"},
		"a seed is not the one committed to": {func(e *audit.Evidence) bool {
			_, p, _, _ := acknowledged(e)
			p.Stream["commitment"] = p.Stream["seed"]
			return true
		}, audit.Broken, "not the one committed to"},
		"a repetition gets another answer": {func(e *audit.Evidence) bool {
			for id, a := range e.Repeated {
				if e.Told[id].Answer != nil {
					return add(a.Body.Object("record"), "seq", 1)
				}
			}
			return false
		}, audit.Lost, "and is now"},
		"a repetition is refused": {func(e *audit.Evidence) bool {
			for id := range e.Repeated {
				if e.Told[id].Answer != nil {
					e.Repeated[id] = rest.Answer{Code: 400, Reason: "WRONG_PHASE"}
					return true
				}
			}
			return false
		}, audit.Lost, "WRONG_PHASE"},
		"what is in doubt and in the log is refused": {func(e *audit.Evidence) bool {
			id, _, _, _ := acknowledged(e)
			e.Told[id].Answer, e.Told[id].Lost = nil, true
			e.Repeated[id] = rest.Answer{Code: 400, Reason: "WRONG_PHASE"}
			return true
		}, audit.Lost, "is in the log, and is refused now"},
		"a repetition leaves something behind": {func(e *audit.Evidence) bool {
			e.Grown = append(e.Grown, e.Name)
			return true
		}, audit.Doubled, "grew when requests were repeated"},
		"the company is still lent": {func(e *audit.Evidence) bool {
			e.Company.State["lease"] = map[string]any{"holder": "x"}
			return true
		}, audit.Broken, "the company is still lent"},
		"a character is still lent": {func(e *audit.Evidence) bool {
			for _, c := range e.Characters {
				c.State["leases"] = []any{map[string]any{"holder": "x"}}
			}
			return true
		}, audit.Broken, "is still lent"},
		"a part is left open": {func(e *audit.Evidence) bool {
			for _, p := range e.Parts {
				p.State["phase"], p.State["settled"] = "PHASE_DRAW", false
			}
			return true
		}, audit.Broken, "is left open"},
		"food is bought for less gold than it costs": {change("journeys", "foodBought", func(o rest.Object) bool { return add(o, "gold", 5) }), audit.Broken, "gold are left"},
		"gold appears": {func(e *audit.Evidence) bool { return stateOf(e, "journeys", "gold", 7) }, audit.Broken, "its journal leaves"},
		"food appears": {change("journeys", "foodChanged", func(o rest.Object) bool { o["food"] = []any{20.0, 20.0, 20.0}; return true }), audit.Broken, "food goes from"},
		"food is not used up": {change("journeys", "usageChecked", func(o rest.Object) bool {
			u := o.Object("usage")
			was := u.True("steppedDown")
			u["steppedDown"] = true
			return !was
		}), audit.Broken, "and did not"},
		"a food die is rolled that is not there": {change("journeys", "usageChecked", func(o rest.Object) bool {
			o.Object("usage")["sides"] = 7.0
			return true
		}), audit.Broken, "a d7 of food was rolled"},
		"torches appear": {change("journeys", "gearBought", func(o rest.Object) bool { return add(o, "count", 1) }), audit.Broken, "torches"},
		"a journey begins with more than it was lent": {change("journeys", "started", func(o rest.Object) bool { return add(o, "gold", 1) }), audit.Broken, "the company had"},
		"a journey gives back less than it has": {change("journeys", "ending", func(o rest.Object) bool {
			return add(o.Object("pack.pack"), "gold", -1)
		}), audit.Broken, "gives back"},
		"a journey gives somebody back healthier than they are": {change("journeys", "ending", func(o rest.Object) bool {
			return add(o.List("vitals")[0].Object("vitals"), "hp", 1)
		}), audit.Broken, "with HP and STR"},
		"the company gets another pack back": {func(e *audit.Evidence) bool {
			return companyEvent(e, "packReturned", func(o rest.Object) { add(o.Object("pack"), "gold", 1) })
		}, audit.Broken, "and the company got"},
		"the company never gets its pack back": {func(e *audit.Evidence) bool {
			return companyEvent(e, "packReturned", func(o rest.Object) { o["holder"] = "x" })
		}, audit.Lost, "back 0 times"},
		"the company gets its pack back twice": {func(e *audit.Evidence) bool {
			e.Company.Journal = append(e.Company.Journal, e.Company.Journal[len(e.Company.Journal)-1])
			return companyEvent(e, "packReturned", func(rest.Object) {})
		}, audit.Doubled, "back 2 times"},
		"the company has something else than it got back": {func(e *audit.Evidence) bool {
			return add(e.Company.State.Object("pack"), "gold", 1)
		}, audit.Broken, "and the company has"},
		"a card is drawn twice": {func(e *audit.Evidence) bool {
			drawn := events(e, "runs", "challengeDrawn")
			for i, d := range drawn[:max(len(drawn)-1, 0)] {
				if next := drawn[i+1]; next.part == d.part && !next.of.True("reshuffled") {
					next.of["card"] = d.of["card"]
					return true
				}
			}
			return false
		}, audit.Broken, "is drawn twice"},
		"a card comes from elsewhere": {change("runs", "challengeDrawn", func(o rest.Object) bool {
			o.Object("card")["id"] = "joker"
			return true
		}), audit.Broken, "card joker is not of the dungeon"},
		"a round is left out":       {change("runs", "challengeDrawn", func(o rest.Object) bool { return add(o, "round", 1) }), audit.Broken, "is called"},
		"exploration is given away": {change("runs", "roundCompleted", func(o rest.Object) bool { return add(o, "exploration", 1) }), audit.Broken, "exploration is"},
		"somebody is less tired than they should be": {change("runs", "roundCompleted", func(o rest.Object) bool {
			r := o.List("results")
			return len(r) > 0 && add(r[0], "exhaustion", -1)
		}), audit.Broken, "the exhaustion of"},
		"a tool keeps a use": {change("runs", "memberActed", func(o rest.Object) bool {
			return o.Number("action.tool") > 0 && add(o, "usesLeft", 1)
		}), audit.Broken, "uses left, it should be"},
		"a tool is used for nothing": {func(e *audit.Evidence) bool {
			for name, p := range e.Parts {
				for _, m := range p.State.List("members") {
					if tools := m.List("tools"); strings.Contains(name, "/runs/") && len(tools) > 0 {
						return add(tools[0], "usesLeft", -1)
					}
				}
			}
			return false
		}, audit.Broken, "uses left, its journal leaves"},
		"a danger die is added twice": {change("delves", "diceAdded", func(o rest.Object) bool { return add(o, "count", 1) }), audit.Broken, "its journal leaves"},
		"a danger die stays behind": {change("delves", "spilled", func(o rest.Object) bool {
			f := o.Numbers("faces")
			o["faces"] = []any{1.0}
			return len(f) != 1
		}), audit.Broken, "dice spill of"},
		"a tool is gone": {func(e *audit.Evidence) bool {
			for _, c := range e.Characters {
				c.State.List("forms")[0].Object("statblock")["tools"] = []any{}
			}
			return true
		}, audit.Broken, "tools, loaded"},
		"points are given away": {func(e *audit.Evidence) bool {
			for _, c := range e.Characters {
				return add(c.State, "cp", 5)
			}
			return false
		}, audit.Broken, "character points"},
		"dungeon points do not add up": {func(e *audit.Evidence) bool {
			for _, c := range e.Characters {
				return add(c.State, "dp", 1)
			}
			return false
		}, audit.Broken, "dungeon points"},
		"a tool is unloaded while it is lent": {func(e *audit.Evidence) bool {
			for name, c := range e.Characters {
				for i, rec := range c.Journal {
					if strings.Contains(fmt.Sprint(rec["events"]), "facetLeased:map[lease:map[facet:FACET_LOADOUT") {
						c.Journal = slices.Insert(c.Journal, i+1, rest.Object{"record": map[string]any{}, "events": []any{map[string]any{"toolUnloaded": map[string]any{"number": 1.0}}}})
						e.Characters[name] = c
						return true
					}
				}
			}
			return false
		}, audit.Broken, "toolUnloaded while the loadout is lent"},
		"a loadout never comes back": {func(e *audit.Evidence) bool {
			for _, c := range e.Characters {
				for _, rec := range c.Journal {
					for _, ev := range rec.List("events") {
						if o := ev.Object("facetReturned"); o != nil {
							o.Object("lease")["holder"] = "x"
							return true
						}
					}
				}
			}
			return false
		}, audit.Broken, "was not given back"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for n := range seeds {
				e := play(t, n)
				if id, _, _, _ := acknowledged(e); id == "" || !tt.falsify(e) {
					continue
				}
				r := e.Judge()
				for _, f := range r.Findings {
					if f.Kind == tt.kind && strings.Contains(f.Text, tt.text) {
						return
					}
				}
				t.Fatalf("play %d: not found; found is %v", n, r.Findings)
			}
			t.Fatalf("in none of %d plays there is anything to falsify", seeds)
		})
	}
}

// What has a cap stops there, whatever was gained: DIG-RES-09, DIG-RES-13, DIG-WIN-02.
func TestWhatIsCapped(t *testing.T) {
	t.Parallel()
	const run = "campaigns/c/runs/r"
	for name, tt := range map[string]struct {
		gain, exploration, tired, exhaustion int
		outcome, want                        string
	}{
		"both reach the cap":             {20, 100, 41, 100, "", ""},
		"exploration beyond it":          {20, 116, 41, 100, "", "exploration is 116, it should be 100"},
		"exhaustion beyond it":           {20, 100, 41, 117, "", "the exhaustion of campaigns/c/characters/ada is 117, it should be 100"},
		"exhaustion below what it is":    {20, 100, 23, 98, "", "the exhaustion of campaigns/c/characters/ada is 98, it should be 99"},
		"who wins has explored all":      {1, 100, 0, 76, digger.Won, ""},
		"who loses has not":              {1, 100, 0, 76, "lost_retreat", "exploration is 100, it should be 97"},
		"exploration below what it gets": {3, 97, 0, 76, "", "exploration is 97, it should be 99"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			member := rest.Object{"character": "campaigns/c/characters/ada"}
			e := &audit.Evidence{Name: "campaigns/c/expeditions/e", Parts: map[string]audit.Aggregate{run: {
				State: rest.Object{"exploration": float64(tt.exploration)},
				Journal: []rest.Object{{"events": []any{
					map[string]any{"started": map[string]any{"members": []any{map[string]any{"character": member["character"], "exhaustion": 76.0}}}},
					map[string]any{"adjusted": map[string]any{"exploration": 96.0}},
					map[string]any{"roundCompleted": map[string]any{
						"explorationGain": float64(tt.gain), "exploration": float64(tt.exploration), "outcome": tt.outcome,
						"results": []any{map[string]any{"character": member["character"], "exhaustionGain": float64(tt.tired), "exhaustion": float64(tt.exhaustion)}},
					}},
				}}},
			}}}
			var found []string
			for _, f := range e.Judge().Findings {
				if strings.Contains(f.Text, "it should be") {
					found = append(found, f.Text)
				}
			}
			if tt.want == "" && len(found) > 0 || tt.want != "" && (len(found) != 1 || !strings.Contains(found[0], tt.want)) {
				t.Errorf("found is %q", found)
			}
		})
	}
}

// Who gave up and got no answer finds it under the id of a step when that was the last that was done.
func TestGivingUpIsKnownByItsSteps(t *testing.T) {
	t.Parallel()
	const name, journey = "campaigns/c/expeditions/e", "campaigns/c/journeys/j"
	step := requestid.Derive(requestid.Derive(name, "x"), "journey")
	for sentence, tt := range map[string]struct {
		told *audit.Told
		id   string
		want string
	}{
		"it was done, and is answered now": {&audit.Told{Path: name + ":abandon", Lost: true}, step, ""},
		"it was not done":                  {&audit.Told{Path: name + ":abandon", Lost: true}, "another", "x is in no journal"},
		"it was refused, and was done":     {&audit.Told{Path: name + ":abandon", Refused: "NOT_LEADER"}, step, "x was refused as NOT_LEADER"},
		"it was something else":            {&audit.Told{Path: name + ":execute", Lost: true}, step, "x is in no journal"},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			e := &audit.Evidence{
				Name: name, Told: map[string]*audit.Told{"x": tt.told}, Repeated: map[string]rest.Answer{"x": {Code: 200, Body: rest.Object{}}},
				Parts: map[string]audit.Aggregate{journey: {Journal: []rest.Object{{
					"record": map[string]any{"seq": 1.0, "requestId": tt.id}, "events": []any{map[string]any{"ending": map[string]any{}}},
				}}}},
			}
			found := false
			for _, f := range e.Judge().Findings {
				if strings.Contains(f.Text, "x is in no journal") || strings.Contains(f.Text, "x was refused as") {
					found = true
					if tt.want == "" || !strings.Contains(f.Text, tt.want) {
						t.Error(f)
					}
				}
			}
			if !found && tt.want != "" {
				t.Errorf("%q is not found", tt.want)
			}
		})
	}
}

// stateOf changes a number in the state of the first part of a sort.
func stateOf(e *audit.Evidence, sort, field string, n int) bool {
	for name, p := range e.Parts {
		if strings.Contains(name, "/"+sort+"/") {
			return add(p.State, field, n)
		}
	}
	return false
}

// companyEvent changes the last event of a kind in the company's journal.
func companyEvent(e *audit.Evidence, kind string, do func(rest.Object)) bool {
	for _, rec := range slices.Backward(e.Company.Journal) {
		for _, ev := range rec.List("events") {
			if o := ev.Object(kind); o != nil {
				do(o)
				return true
			}
		}
	}
	return false
}

func TestTheTableSaysHowItCameOut(t *testing.T) {
	t.Parallel()
	sum := &audit.Report{Kills: 3, Cuts: 2}
	sum.Add(&audit.Report{Acknowledged: 5, Refused: 4, Doubt: 1, Duplicates: 2, Records: 9, Faces: 7})
	if sum.Err() != nil {
		t.Error(sum.Err())
	}
	sum.Add(&audit.Report{Acknowledged: 1, Findings: []audit.Finding{{Kind: audit.Lost, Text: "a"}, {Kind: audit.Rerolled, Text: "b"}, {Kind: audit.Rerolled, Text: "c"}}})
	var out strings.Builder
	sum.Print(&out)
	got := strings.Join(strings.Fields(out.String()), " ")
	const want = "commands acknowledged 6 refused by the rules 4 left in doubt 1 kills 3 cuts and delays 2 duplicates sent 2 " +
		"records checked 9 faces recomputed 7 lost 1 doubled 0 rolled again 2 otherwise wrong 0"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if err := sum.Err(); err == nil || err.Error() != "1 lost, 0 doubled, 2 rolled again, 0 otherwise wrong" {
		t.Errorf("got %v", err)
	}
}
