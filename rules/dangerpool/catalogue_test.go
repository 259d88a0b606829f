package dangerpool

import (
	"fmt"
	"slices"
	"testing"
)

func TestScope(t *testing.T) {
	t.Parallel()
	rules{
		"POOL-SCOPE-01": func(t *testing.T) {
			d := after(t, begun(t, nil, nil), "MOVE", "MOVE", "RISK", "WAIT 30")
			eq(t, "dice, spills", []int{d.Ever, d.SpillsTotal}, []int{6, 1})
		},
		"POOL-SCOPE-02": func(t *testing.T) {
			c := Open{Ruleset: Default(), Map: &Map{Title: "A tomb"}, Entry: "the door", InvokedBy: ByGameLoop}
			do(t, Delve{}, c)
			noMap, noEntry := c, c
			noMap.Map, noEntry.Entry = nil, ""
			eq(t, "field", refuse(t, Delve{}, noMap, NoMap), "map")
			eq(t, "field", refuse(t, Delve{}, noEntry, NoEntry), "entry")
			onMap := c
			onMap.Map = tomb()
			eq(t, "an entry that the map does not have", refuse(t, Delve{}, onMap, NoSuchArea), "entry")
			onMap.Entry = "gate"
			do(t, Delve{}, onMap)
		},
		"POOL-SCOPE-03": func(t *testing.T) {
			c := Open{Ruleset: Default(), Map: &Map{Title: "A tomb"}, Entry: "the door"}
			for _, by := range []string{"BASIC_GAME_LOOP", "CLEARING", "DM_JUDGMENT"} {
				c.InvokedBy = by
				eq(t, "kept", do(t, Delve{}, c).InvokedBy, by)
			}
			for _, by := range []string{"", "TRAVEL", "clearing"} {
				c.InvokedBy = by
				eq(t, "field", refuse(t, Delve{}, c, Invalid), "invoked_by")
			}
			eq(t, "the ruleset's three", len(Default().Scope.InvokedBy), 3)
		},
		"POOL-SCOPE-04": func(t *testing.T) {
			_, r := played(t, begun(t, nil, nil), []int{1, 2, 3, 4, 5, 6, 12}, "WAIT 60")
			final := spillOf(t, r).Events[0].Final
			eq(t, "the combat event calls", Default().Invokes(final), "Dungeon Encounters")
			eq(t, "another calls nothing", Default().Invokes(11), "")
		},
		"POOL-SCOPE-05": func(t *testing.T) {
			for _, target := range []string{"TRAVEL", "BASIC_GAME_LOOP"} {
				d := after(t, begun(t, nil, nil), "LEAVE "+target)
				eq(t, "where play goes on", d.Left, target)
				refusedStep(t, d, "MOVE", Over)
			}
			eq(t, "field", refuse(t, begun(t, nil, nil), Leave{Target: "CLEARING"}, Invalid), "target")
			refusedStep(t, after(t, begun(t, nil, nil), "COMBAT_START"), "LEAVE TRAVEL", InCombat)
		},
		"POOL-SCOPE-06": func(t *testing.T) {
			d := after(t, begun(t, nil, torches("torch")), "WAIT 50")
			_, events, _, _ := decide(t, d, step(t, "MOVE").Command())
			log, d := Log(d, events)
			eq(t, "entries", kinds(log), []string{LogDarkness, LogSpill})
			eq(t, "minutes, number, die, events", []int{log[1].Elapsed, log[1].Spill.Number, log[1].Spill.AtDie, len(log[1].Spill.Events)}, []int{60, 1, 6, 0})
			_, events, _, _ = decide(t, d, Remark{Text: "they found the key"})
			log, _ = Log(d, events)
			eq(t, "a notable event", []any{log[0].Kind, log[0].Text, log[0].Elapsed, log[0].Secret}, []any{LogRemark, "they found the key", 60, false})
		},
		"POOL-SCOPE-07": func(t *testing.T) {
			before := after(t, begun(t, nil, nil), "WAIT 50")
			d, r := played(t, before, []int{1, 2, 3, 4, 5, 6, 1}, "MOVE")
			eq(t, "event", spillOf(t, r).Events[0].Event, "PROVISIONS_RUINED")
			eq(t, "the note of the provisions", d.Provisions, "6 rations")
			eq(t, "the members", d.Members, before.Members)
		},
		"POOL-SCOPE-08": func(t *testing.T) {
			d := begun(t, nil, nil)
			eq(t, "begun with no light, no spell, no tracker", []int{len(d.Lights), len(d.Spells), d.Pool}, []int{0, 0, 0})
			eq(t, "announced only", Default().Scope.Bookkeeping[2].Status, "forthcoming")
		},
	}.run(t)
}

func kinds(log []Entry) []string {
	var out []string
	for _, e := range log {
		out = append(out, e.Kind)
	}
	return out
}

func TestSetup(t *testing.T) {
	t.Parallel()
	rules{
		"POOL-SETUP-01": func(t *testing.T) {
			d := opened(t, nil)
			refuse(t, d, Begin{}, SetupIncomplete)
			refuse(t, d, RecordProvisions{"6 rations"}, SetupOrder)
			refuse(t, d, RecordLights{}, SetupOrder)
			d = do(t, d, RecordMembers{three})
			refuse(t, d, Begin{}, SetupIncomplete)
			refuse(t, d, RecordLights{}, SetupOrder)
			d = do(t, d, RecordProvisions{"6 rations"})
			refuse(t, d, Begin{}, SetupIncomplete)
			d = do(t, d, RecordLights{})
			d = do(t, do(t, d, RecordLights{Lights: torches("torch")}), Begin{})
			eq(t, "setup", d.Setup, SetupBegun)
			refuse(t, d, Begin{}, AlreadyBegun)
			refuse(t, d, RecordLights{}, AlreadyBegun)
		},
		"POOL-SETUP-02": func(t *testing.T) {
			eq(t, "members", begun(t, nil, nil).Members, three)
			again := append(slices.Clone(three), Member{Name: "Pim", Kind: "OTHER", Rank: "REAR"})
			eq(t, "somebody joins", len(do(t, begun(t, nil, nil), RecordMembers{again}).Members), 4)
		},
		"POOL-SETUP-03": func(t *testing.T) {
			front := []Member{{Name: "Brenna", Kind: "PC", Rank: "FRONT"}}
			eq(t, "middle and rear may be empty", len(do(t, opened(t, nil), RecordMembers{front}).Members), 1)
			for field, m := range map[string]Member{
				"members[0].rank": {Name: "Brenna", Kind: "PC", Rank: "SIDE"}, "members[0].kind": {Name: "Brenna", Kind: "HERO", Rank: "REAR"},
				"members[0].name": {Kind: "PC", Rank: "REAR"},
			} {
				eq(t, "field", refuse(t, opened(t, nil), RecordMembers{[]Member{m}}, Invalid), field)
			}
			eq(t, "field", refuse(t, opened(t, nil), RecordMembers{append(front, front...)}, IDTaken), "members[1].name")
		},
		"POOL-SETUP-04": func(t *testing.T) {
			d := begun(t, nil, nil)
			eq(t, "note", d.Provisions, "6 rations")
			eq(t, "later", do(t, d, RecordProvisions{"4 rations"}).Provisions, "4 rations")
			eq(t, "field", refuse(t, d, RecordProvisions{""}, Invalid), "note")
			eq(t, "the rules that govern them", Default().Params["provisions_rules"].Get(), any("TRAVEL"))
		},
		"POOL-SETUP-05": func(t *testing.T) {
			d := begun(t, nil, []Carried{{ID: "lit", Source: Torch, Active: true}, {ID: "unlit", Source: Torch}})
			eq(t, "lights", remaining(d), "lit 6*, unlit 6")
			spent := RecordLights{Lights: []Carried{{ID: "stub", Source: Torch, Remaining: ptr(2)}, {ID: "stub", Source: Torch}}}
			d = do(t, do(t, opened(t, nil), RecordMembers{three}), RecordProvisions{"none"})
			eq(t, "field", refuse(t, d, spent, IDTaken), "lights[1].id")
			spent.Lights = spent.Lights[:1]
			eq(t, "what an earlier delve left", remaining(do(t, d, spent)), "stub 2")
		},
	}.run(t)
}

func TestLight(t *testing.T) {
	t.Parallel()
	duration := func(source string, dice int, shape string, bright, dim int) func(t *testing.T) {
		return func(t *testing.T) {
			d := begun(t, nil, []Carried{{ID: "light", Source: source, Active: true}})
			for n := dice; n > 0; n-- {
				eq(t, "left", remaining(d), fmt.Sprintf("light %d*", n))
				d = after(t, d, "MOVE")
			}
			eq(t, "out at ever", []any{d.Ever, remaining(d)}, []any{dice, "light 0"})
			s, _ := Default().source(source)
			b, far := Default().Reach(source)
			eq(t, "shape and feet", []any{s.Shape, s.BrightFt, s.DimFt, b, far}, []any{shape, bright, dim, bright, bright + dim})
		}
	}
	rules{
		"POOL-LIGHT-01": func(t *testing.T) {
			d := begun(t, nil, []Carried{{ID: "A", Source: Torch, Active: true}, {ID: "B", Source: Torch}})
			eq(t, "lights", remaining(after(t, d, "MOVE", "MOVE")), "A 4*, B 6")
		},
		"POOL-LIGHT-02": duration(Torch, 6, "RADIUS", 20, 20),
		"POOL-LIGHT-03": duration(Lantern, 6, "RADIUS", 30, 30),
		"POOL-LIGHT-03 a flask": func(t *testing.T) {
			d := after(t, begun(t, nil, []Carried{{ID: "lantern", Source: Lantern, Active: true}}), "MOVE", "MOVE", "REFUEL lantern")
			eq(t, "lantern", remaining(d), "lantern 10*")
		},
		"POOL-LIGHT-04": duration(BullseyeLantern, 6, "CONE", 60, 60),
		"POOL-LIGHT-04 five dice": func(t *testing.T) {
			d := after(t, begun(t, nil, []Carried{{ID: "bullseye", Source: BullseyeLantern, Active: true}}), "WAIT 50")
			eq(t, "bullseye", remaining(d), "bullseye 1*")
		},
		"POOL-LIGHT-05": duration(LightSpell, 6, "RADIUS", 20, 20),
		"POOL-LIGHT-05 rounds do not shorten it": func(t *testing.T) {
			d := begun(t, nil, []Carried{{ID: "light", Source: LightSpell, Active: true}})
			eq(t, "light", remaining(after(t, d, "COMBAT_START", "COMBAT_ROUNDS 1000")), "light 6*")
		},
		"POOL-LIGHT-06": func(t *testing.T) {
			d := after(t, begun(t, nil, append(torches("torch"), Carried{ID: "lantern", Source: Lantern, Active: true})), "WAIT 50")
			eq(t, "before", remaining(d), "torch 1*, lantern 1*")
			d, r := played(t, d, nil, "MOVE")
			eq(t, "after", remaining(d), "torch 0, lantern 0")
			eq(t, "told", r.LightsOut, []string{"torch", "lantern"})
			refusedStep(t, d, "LIGHT_ON torch", LightSpent)
			refusedStep(t, d, "LIGHT_ON lantern", LightSpent)
			refusedStep(t, d, "REFUEL torch", NoLantern)
			eq(t, "refuelled", remaining(after(t, d, "REFUEL lantern", "LIGHT_OFF lantern", "LIGHT_ON lantern")), "torch 0, lantern 6*")
		},
		"POOL-LIGHT-07": func(t *testing.T) {
			d := after(t, begun(t, nil, torches("torch")), "WAIT 50")
			eq(t, "with a torch", d.Darkness(), false)
			d = after(t, d, "MOVE")
			eq(t, "burnt down", d.Darkness(), true)
			eq(t, "a new one", after(t, d, "LIGHT_ADD torch-2 TORCH").Darkness(), false)
			refusedStep(t, d, "LIGHT_ADD torch TORCH", IDTaken)
		},
		"POOL-LIGHT-08": func(t *testing.T) {
			d := do(t, opened(t, nil), RecordMembers{[]Member{
				{Name: "Dwalin", Kind: "PC", Rank: "FRONT", Darkvision: true}, {Name: "Ada", Kind: "PC", Rank: "REAR"},
			}})
			look := func(i int) string {
				as, colour := d.Sees(d.Members[i])
				return fmt.Sprint(as, " ", colour)
			}
			eq(t, "a dwarf in darkness", look(0), "DIM false")
			eq(t, "a human in darkness", look(1), "DARK false")
			for level, want := range map[string]string{Bright: "BRIGHT true", Dim: "BRIGHT false", Dark: "DIM false"} {
				as, colour := See(level, true)
				eq(t, level+" with darkvision", fmt.Sprint(as, " ", colour), want)
			}
			as, colour := See(Dim, false)
			eq(t, "dim without", fmt.Sprint(as, " ", colour), "DIM true")
			d = do(t, do(t, d, RecordProvisions{"none"}), RecordLights{Lights: torches("torch")})
			eq(t, "by a torch", look(0)+", "+look(1), "BRIGHT true, BRIGHT true")
		},
	}.run(t)
}

func TestRunAndBase(t *testing.T) {
	t.Parallel()
	rules{
		"POOL-RUN-01": func(t *testing.T) {
			d := after(t, ready(t, nil, nil), "REAL_TIME 15")
			eq(t, "before the first area", []int{d.Ever, d.RealClock}, []int{0, 0})
			for _, line := range []string{"WAIT 10", "RISK", "MOVE", "INTERACT", "HUNKER_DOWN", "LEAVE_HUNKER", "SHORT_REST", "LONG_REST", "COMBAT_START", "COMBAT_ROUNDS 1", "COMBAT_END"} {
				refusedStep(t, d, line, NotBegun)
			}
			d = after(t, do(t, d, Begin{}), "REAL_TIME 15")
			eq(t, "after it", []int{d.Ever, d.RealClock}, []int{1, 5})
		},
		"POOL-BASE-01": func(t *testing.T) {
			d := begun(t, nil, nil)
			eq(t, "pool, ever", []int{d.Pool, d.Ever}, []int{0, 0})
			eq(t, "sides", Default().DieSides, 6)
		},
		"POOL-BASE-02": func(t *testing.T) {
			eq(t, "pool", after(t, begun(t, nil, nil), "MOVE", "RISK", "WAIT 10").Pool, 3)
		},
		"POOL-BASE-03": func(t *testing.T) {
			_, r := played(t, after(t, begun(t, nil, nil), "WAIT 50"), nil, "MOVE")
			eq(t, "spills", len(r.Spills), 1)
			_, r = played(t, after(t, begun(t, nil, nil), "WAIT 40"), nil, "MOVE")
			eq(t, "one die fewer", len(r.Spills), 0)
		},
		"POOL-BASE-04": func(t *testing.T) {
			d := after(t, begun(t, nil, nil), "WAIT 50")
			given := Step{Trigger: TriggerMove, Spills: []StepSpill{{Pool: []int{4, 1, 6, 2, 5, 3}, D12: EventDice{9}}}}
			_, got, err := given.Play(d)
			if err != nil {
				t.Fatal(err)
			}
			eq(t, "faces", got.Result.Spills[0].Faces, []int{4, 1, 6, 2, 5, 3})
			for _, faces := range [][]int{{4, 2, 6, 2, 5}, {4, 2, 6, 2, 5, 3, 3}, {4, 2, 6, 2, 5, 7}} {
				given.Spills = []StepSpill{{Pool: faces}}
				if _, _, err := given.Play(d); err == nil {
					t.Errorf("%v was accepted", faces)
				}
			}
		},
		"POOL-BASE-05": func(t *testing.T) {
			_, r := played(t, begun(t, nil, nil), []int{1, 1, 2, 3, 4, 5, 7}, "SHORT_REST")
			s := spillOf(t, r)
			eq(t, "events, ones", []int{len(s.Events), s.Ones}, []int{1, 2})
		},
		"POOL-BASE-06": func(t *testing.T) {
			_, events, dice, _ := decide(t, begun(t, nil, nil), Rest{}, 2, 3, 4, 5, 6, 6)
			s := spillOf(t, ResultOf(TriggerShortRest, events))
			eq(t, "severity, events, dice rolled", []any{s.Severity, len(s.Events), len(dice.Rolled())}, []any{"NONE", 0, 6})
		},
		"POOL-BASE-07": func(t *testing.T) {
			eq(t, "pool", after(t, begun(t, nil, nil), "WAIT 50", "RISK").Pool, 0)
		},
		"POOL-BASE-08": func(t *testing.T) {
			d, r := played(t, after(t, begun(t, nil, nil), "WAIT 40"), nil, "SHORT_REST")
			eq(t, "pool 4, +6", []int{len(r.Spills), spillOf(t, r).AtDie, d.Pool}, []int{1, 6, 4})
			d, r = played(t, after(t, begun(t, nil, nil), "WAIT 30"), nil, "LONG_REST")
			eq(t, "pool 3, +48", []int{len(r.Spills), d.Pool}, []int{8, 3})
		},
	}.run(t)
}

func TestAddingDice(t *testing.T) {
	t.Parallel()
	rules{
		"POOL-ADD-01": func(t *testing.T) {
			d := after(t, begun(t, nil, nil), "WAIT 70")
			eq(t, "ever, minutes", []int{d.Ever, d.Elapsed()}, []int{7, 70})
		},
		"POOL-ADD-02": func(t *testing.T) {
			d := after(t, begun(t, nil, nil), "REAL_TIME 14")
			eq(t, "14 minutes", []int{d.Ever, d.RealClock}, []int{1, 4})
			d = after(t, d, "REAL_TIME 6")
			eq(t, "6 more", []int{d.Ever, d.RealClock}, []int{2, 0})
		},
		"POOL-ADD-03": func(t *testing.T) {
			d := after(t, begun(t, nil, nil), "WAIT 25")
			eq(t, "dice, kept", []int{d.Ever, d.WaitClock}, []int{2, 5})
		},
		"POOL-ADD-04": func(t *testing.T) {
			eq(t, "a risk", after(t, begun(t, nil, nil), "RISK").Pool, 1)
			eq(t, "a door kicked in", after(t, begun(t, nil, nil), "INTERACT", "RISK").Pool, 2)
			eq(t, "reported together", do(t, begun(t, nil, nil), Act{Action: TriggerInteract, Risky: true}).Pool, 2)
		},
		"POOL-ADD-05": func(t *testing.T) {
			for _, action := range dungeonActions {
				eq(t, action, after(t, begun(t, nil, nil), action).Pool, 1)
			}
		},
		"POOL-ADD-06": func(t *testing.T) {
			eq(t, "without areas", after(t, begun(t, nil, nil), "MOVE").Pool, 1)
			d := inTomb(t)
			d = do(t, d, Act{Action: TriggerMove, To: "hall"})
			eq(t, "pool, area", []any{d.Pool, d.Area, d.Visited}, []any{1, "hall", []string{"gate", "hall"}})
			eq(t, "field", refuse(t, d, Act{Action: TriggerMove, To: "attic"}, NotConnected), "to")
			eq(t, "field", refuse(t, inTomb(t), Act{Action: TriggerMove, To: "crypt"}, NotConnected), "to")
		},
		"POOL-ADD-07": func(t *testing.T) {
			d := inTomb(t)
			d = do(t, d, Act{Action: TriggerInteract})
			eq(t, "pool, area", []any{d.Pool, d.Area}, []any{1, "gate"})
		},
		"POOL-ADD-08": func(t *testing.T) {
			d := after(t, begun(t, nil, nil), "HUNKER_DOWN")
			eq(t, "pool, hunkered", []any{d.Pool, d.Hunkered}, []any{1, true})
			refusedStep(t, d, "HUNKER_DOWN", Hunkered)
		},
		"POOL-ADD-09": func(t *testing.T) {
			d := after(t, begun(t, nil, nil), "HUNKER_DOWN", "WAIT 90")
			eq(t, "90 minutes", []int{d.Ever, d.WaitClock}, []int{2, 30})
			d = after(t, d, "WAIT 30")
			eq(t, "30 more", []int{d.Ever, d.WaitClock}, []int{3, 0})
			d = after(t, begun(t, nil, nil), "WAIT 5", "HUNKER_DOWN", "WAIT 59", "LEAVE_HUNKER")
			eq(t, "each place has its own clock", []int{d.Ever, d.WaitClock}, []int{1, 0})
		},
		"POOL-ADD-10": func(t *testing.T) {
			d, r := played(t, begun(t, nil, nil), nil, "HUNKER_DOWN", "INTERACT")
			eq(t, "on the spot", []any{r.DiceAdded, r.Note, d.Hunkered}, []any{0, NoteSuppressedHunker, true})
			d, r = played(t, d, nil, "MOVE")
			eq(t, "a move", []any{r.DiceAdded, r.Note, d.Hunkered}, []any{1, "", false})
			eq(t, "saying so", after(t, begun(t, nil, nil), "HUNKER_DOWN", "LEAVE_HUNKER").Hunkered, false)
		},
		"POOL-ADD-11": func(t *testing.T) {
			_, got := pools(t, begun(t, nil, nil), "HUNKER_DOWN", "REAL_TIME 10", "RISK")
			eq(t, "pool", got, []int{1, 2, 3})
		},
	}.run(t)
}

// tomb is a map with areas: from the gate to the hall and back, and from the hall down into the crypt, whence no way leads.
func tomb() *Map {
	return &Map{Title: "The tomb", Areas: []Area{
		{ID: "gate", Title: "The gate", Ways: []string{"hall"}}, {ID: "hall", Ways: []string{"gate", "crypt"}}, {ID: "crypt", Notes: "a trap"},
	}}
}

func inTomb(t *testing.T) Delve {
	t.Helper()
	d := do(t, Delve{}, Open{Ruleset: Default(), Map: tomb(), Entry: "gate", InvokedBy: ByClearing})
	d = do(t, do(t, d, RecordMembers{three}), RecordProvisions{"6 rations"})
	return do(t, do(t, d, RecordLights{Lights: torches("torch")}), Begin{})
}

func TestRests(t *testing.T) {
	t.Parallel()
	rules{
		"POOL-REST-01": func(t *testing.T) {
			d, r := played(t, begun(t, nil, nil), nil, "SHORT_REST")
			eq(t, "added, spills, pool, minutes", []int{r.DiceAdded, len(r.Spills), d.Pool, d.Elapsed()}, []int{6, 1, 0, 60})
		},
		"POOL-REST-02": func(t *testing.T) {
			_, got := pools(t, begun(t, nil, nil), "HUNKER_DOWN", "SHORT_REST")
			eq(t, "pool", got, []int{1, 2})
		},
		"POOL-REST-03": func(t *testing.T) {
			d, r := played(t, begun(t, nil, nil), nil, "LONG_REST")
			eq(t, "added, spills, pool, minutes", []int{r.DiceAdded, len(r.Spills), d.Pool, d.Elapsed()}, []int{48, 8, 0, 480})
		},
		"POOL-REST-04": func(t *testing.T) {
			d := after(t, begun(t, nil, nil), "HUNKER_DOWN", "RISK", "RISK", "RISK", "RISK")
			d, r := played(t, d, nil, "LONG_REST")
			eq(t, "spills at", []int{r.Spills[0].AtDie, r.Spills[1].AtDie, len(r.Spills)}, []int{6, 12, 2})
			eq(t, "added, pool", []int{r.DiceAdded, d.Pool}, []int{8, 1})
		},
	}.run(t)
}

func TestCombat(t *testing.T) {
	t.Parallel()
	rules{
		"POOL-COMBAT-01": func(t *testing.T) {
			d, r := played(t, begun(t, nil, nil), nil, "COMBAT_START", "REAL_TIME 25")
			eq(t, "added, held, note", []any{r.DiceAdded, d.CombatMinutes, r.Note}, []any{0, 25, NoteHeldCombat})
			refusedStep(t, d, "COMBAT_START", InCombat)
			refusedStep(t, d, "SHORT_REST", InCombat)
			refusedStep(t, d, "LONG_REST", InCombat)
			refusedStep(t, begun(t, nil, nil), "COMBAT_END", NotInCombat)
			refusedStep(t, begun(t, nil, nil), "COMBAT_ROUNDS 3", NotInCombat)
		},
		"POOL-COMBAT-02": func(t *testing.T) {
			d, r := played(t, begun(t, nil, nil), nil, "COMBAT_START", "REAL_TIME 25", "COMBAT_END")
			eq(t, "clock 0", []int{r.DiceAdded, d.RealClock}, []int{2, 5})
			d, r = played(t, begun(t, nil, nil), nil, "REAL_TIME 7", "COMBAT_START", "REAL_TIME 25", "COMBAT_END")
			eq(t, "clock 7", []int{r.DiceAdded, d.RealClock, d.CombatMinutes}, []int{3, 2, 0})
		},
		"POOL-COMBAT-03": func(t *testing.T) {
			d := begun(t, nil, nil, Spell{"haste", 60}, Spell{"ward", 1261})
			d = after(t, d, "COMBAT_START", "COMBAT_ROUNDS 10", "REAL_TIME 25")
			eq(t, "60 seconds for spells", spells(d), "ward 1201s")
			d = after(t, d, "COMBAT_END")
			eq(t, "20 minutes otherwise", []any{d.Elapsed(), spells(d)}, []any{20, "ward 1s"})
		},
		"POOL-COMBAT-04": func(t *testing.T) {
			before := after(t, begun(t, nil, nil), "WAIT 5", "COMBAT_START")
			for _, line := range []string{"RISK", "MOVE", "INTERACT", "HUNKER_DOWN", "WAIT 10"} {
				d, r := played(t, before, nil, line)
				eq(t, line, []any{r.DiceAdded, r.Note}, []any{0, NoteSuppressedCombat})
				eq(t, line+" changes nothing", d.View(), before.View())
			}
		},
		"POOL-COMBAT-05": func(t *testing.T) {
			d := after(t, begun(t, nil, nil), "COMBAT_START", "COMBAT_END")
			eq(t, "there is one", d.FreeAction, true)
			d, r := played(t, d, nil, "INTERACT")
			eq(t, "the first", []any{r.DiceAdded, r.Note, d.FreeAction}, []any{0, NoteFreeAction, false})
			_, r = played(t, d, nil, "INTERACT")
			eq(t, "the second", []any{r.DiceAdded, r.Note}, []any{1, ""})
		},
		"POOL-COMBAT-05 declined and lost": func(t *testing.T) {
			d, r := played(t, begun(t, nil, nil), nil, "COMBAT_START", "COMBAT_END", "MOVE keep")
			eq(t, "declined", []any{r.DiceAdded, d.FreeAction}, []any{1, true})
			for _, line := range []string{"WAIT 1", "SHORT_REST", "LONG_REST", "COMBAT_START"} {
				eq(t, line, after(t, d, line).FreeAction, false)
			}
			for _, line := range []string{"RISK", "REAL_TIME 10", "LIGHT_ADD torch TORCH"} {
				eq(t, line, after(t, d, line).FreeAction, true)
			}
			d, r = played(t, d, nil, "HUNKER_DOWN")
			eq(t, "to hunker down", []any{r.DiceAdded, r.Note, d.Hunkered, d.FreeAction}, []any{0, NoteFreeAction, true, false})
			d, r = played(t, begun(t, nil, nil), nil, "HUNKER_DOWN", "COMBAT_START", "COMBAT_END", "INTERACT")
			eq(t, "hunkered it is kept", []any{r.Note, d.FreeAction, d.Hunkered}, []any{NoteSuppressedHunker, true, true})
		},
	}.run(t)
}

func TestSpells(t *testing.T) {
	t.Parallel()
	rules{
		"POOL-SPELL-01": func(t *testing.T) {
			d, r := played(t, begun(t, nil, nil, Spell{"bless", 60}), nil, "COMBAT_START", "COMBAT_ROUNDS 9", "COMBAT_ROUNDS 1")
			eq(t, "over", []any{len(d.Spells), r.SpellsEnded}, []any{0, []string{"bless"}})
			_, r = played(t, begun(t, nil, nil, Spell{"slow", 60}, Spell{"haste", 6}), nil, "COMBAT_START", "COMBAT_ROUNDS 20")
			eq(t, "those of one command end together", r.SpellsEnded, []string{"slow", "haste"})
		},
		"POOL-SPELL-02": func(t *testing.T) {
			d := after(t, begun(t, nil, nil, Spell{"mage armor", 8 * 3600}), "WAIT 50")
			eq(t, "dice left", d.View().Spells[0].Dice, 43)
		},
		"POOL-SPELL-03": func(t *testing.T) {
			d, r := played(t, begun(t, nil, nil), nil, "CAST ward 600", "MOVE")
			eq(t, "over", []any{len(d.Spells), r.SpellsEnded}, []any{0, []string{"ward"}})
		},
		"POOL-SPELL-04": func(t *testing.T) {
			d := after(t, begun(t, nil, nil), "CAST fly 3600", "WAIT 50")
			eq(t, "5 dice", spells(d), "fly 600s")
			eq(t, "6 dice", spells(after(t, d, "MOVE")), "")
		},
		"POOL-SPELL-05": func(t *testing.T) {
			for seconds, dice := range map[int]int{60: 1, 8 * 3600: 48, 576: 1, 600: 1, 601: 2} {
				eq(t, fmt.Sprint(seconds), Default().SpellDice(seconds), dice)
			}
			d := after(t, begun(t, nil, nil, Spell{"ward", 600}), "COMBAT_START", "COMBAT_ROUNDS 4")
			eq(t, "less 4 rounds", d.View().Spells, []SpellView{{"ward", 576, 1}})
			d, r := played(t, begun(t, nil, nil, Spell{"long", 1200}, Spell{"short", 60}, Spell{"other", 600}), nil, "WAIT 20")
			eq(t, "as they end, those of one die as they were cast", r.SpellsEnded, []string{"short", "other", "long"})
			eq(t, "left", len(d.Spells), 0)
		},
		"POOL-SPELL-05 ended, and cast twice": func(t *testing.T) {
			d := after(t, begun(t, nil, nil), "CAST armor 1200", "MOVE", "CAST armor 1200")
			eq(t, "both run", spells(d), "armor 600s, armor 1200s")
			d, r := played(t, d, nil, "SPELL_END armor")
			eq(t, "the older one", []any{spells(d), r.SpellsEnded, r.DiceAdded}, []any{"armor 1200s", []string{"armor"}, 0})
			eq(t, "field", refuse(t, d, EndSpell{"shield"}, NoSuchSpell), "id")
			eq(t, "field", refuse(t, d, CastSpell{"armor", 0}, Invalid), "seconds")
		},
	}.run(t)
}

func TestTime(t *testing.T) {
	t.Parallel()
	rules{
		"POOL-TIME-01": func(t *testing.T) {
			d := after(t, begun(t, nil, nil), "WAIT 30", "LONG_REST")
			eq(t, "ever, minutes", []int{d.Ever, d.Elapsed()}, []int{51, 510})
		},
		"POOL-TIME-02": func(t *testing.T) {
			d := after(t, begun(t, nil, nil), "SHORT_REST", "WAIT 60")
			eq(t, "spills, pool, minutes", []int{d.SpillsTotal, d.Pool, d.Elapsed()}, []int{2, 0, 120})
		},
	}.run(t)
}

func TestEvents(t *testing.T) {
	t.Parallel()
	// spilled is the event of a spill with so many ones and that face of the event die.
	spilled := func(t *testing.T, ones, d12 int) EventView {
		t.Helper()
		faces := slices.Concat(slices.Repeat([]int{1}, ones), slices.Repeat([]int{4}, 6-ones), []int{d12})
		_, r := played(t, begun(t, nil, nil), faces, "SHORT_REST")
		return spillOf(t, r).Events[0]
	}
	number := func(ones, d12, want int, id string) func(t *testing.T) {
		return func(t *testing.T) {
			e := spilled(t, ones, d12)
			eq(t, "event", e, EventView{D12: d12, Total: d12 + ones - 1, Rolled: want, Final: want, Event: id})
			eq(t, "in the table", Default().Event(want).ID, id)
		}
	}
	rules{
		"POOL-EVENT-00":                   number(2, 3, 4, "SPELL_DISRUPTION"),
		"POOL-EVENT-01":                   number(1, 1, 1, "PROVISIONS_RUINED"),
		"POOL-EVENT-02":                   number(2, 1, 2, "REPUTATION_DAMAGE"),
		"POOL-EVENT-03":                   number(3, 1, 3, "LIGHT_DISRUPTION"),
		"POOL-EVENT-04":                   number(1, 4, 4, "SPELL_DISRUPTION"),
		"POOL-EVENT-05":                   number(2, 4, 5, "MAGIC_ITEM_DISRUPTION"),
		"POOL-EVENT-06":                   number(6, 1, 6, "ENVIRONMENTAL_HAZARD"),
		"POOL-EVENT-07":                   number(1, 7, 7, "CORNERED"),
		"POOL-EVENT-08":                   number(1, 8, 8, "TIME_PRESSURE"),
		"POOL-EVENT-09":                   number(4, 6, 9, "TRAP_FIRES"),
		"POOL-EVENT-10":                   number(1, 10, 10, "ALLY_THREATENED"),
		"POOL-EVENT-11":                   number(2, 10, 11, "DETECTED"),
		"POOL-EVENT-12":                   number(2, 11, 12, "COMBAT_ENCOUNTER"),
		"POOL-EVENT-12 more than the cap": number(3, 11, 12, "COMBAT_ENCOUNTER"),
		"POOL-EVENT-13": func(t *testing.T) {
			d := do(t, begun(t, nil, nil), Rest{Calls: []Call{{Shows: "a gust", Note: "the lich"}}}, 1, 2, 3, 4, 5, 6, 3)
			e := d.Last[0].Events[0]
			eq(t, "told with the trigger", []string{e.Shows, e.Note}, []string{"a gust", "the lich"})
			d = do(t, d, Narrate{Spill: 1, Event: 1, Call: Call{Shows: "a splash"}})
			e = d.Last[0].Events[0]
			eq(t, "told later", []any{e.Shows, e.Note, e.Final}, []any{"a splash", "the lich", 3})
		},
		"POOL-EVENT-14": func(t *testing.T) {
			_, events, _, _ := decide(t, begun(t, nil, nil), Rest{Calls: []Call{{Override: 10}}}, 1, 2, 3, 4, 5, 6, 7)
			s := spillOf(t, ResultOf("", events))
			eq(t, "event", s.Events[0], EventView{D12: 7, Total: 7, Rolled: 7, Final: 10, Event: "ALLY_THREATENED", Overridden: true})
			eq(t, "severity", s.Severity, "MINOR")
			_, events, _, _ = decide(t, begun(t, nil, nil), Rest{Calls: []Call{{Override: 7}}}, 1, 2, 3, 4, 5, 6, 7)
			eq(t, "the same event is no other", spillOf(t, ResultOf("", events)).Events[0].Overridden, false)
			_, events, _, _ = decide(t, begun(t, nil, nil), Rest{Calls: []Call{{Override: 7}}}, 2, 2, 3, 4, 5, 6)
			eq(t, "no event, none to choose", len(spillOf(t, ResultOf("", events)).Events), 0)
			for _, n := range []int{-1, 13} {
				eq(t, "field", refuse(t, begun(t, nil, nil), Rest{Calls: []Call{{}, {Override: n}}}, Invalid), "calls[1].override")
			}
		},
		"POOL-EVENT-14 chosen afterwards": func(t *testing.T) {
			d := do(t, begun(t, nil, nil), Rest{}, 1, 1, 3, 4, 5, 6, 11)
			refuse(t, d, Narrate{Spill: 2, Event: 1, Call: Call{Override: 1}}, NoSuchSpill)
			refuse(t, d, Narrate{Spill: 1, Event: 2, Call: Call{Override: 1}}, NoEvent)
			eq(t, "field", refuse(t, d, Narrate{Spill: 1, Event: 1, Call: Call{Override: 13}}, Invalid), "override")
			refuse(t, d, Narrate{Spill: 1, Event: 1}, Invalid)
			_, events, _, _ := decide(t, d, Narrate{Spill: 1, Event: 1, Call: Call{Override: 1}})
			log, d := Log(d, events)
			eq(t, "log", kinds(log), []string{LogNarrated})
			e := d.Last[0].Events[0]
			eq(t, "event", []any{e.Rolled, e.Final, e.Event, e.Overridden, d.Last[0].Severity}, []any{12, 1, "PROVISIONS_RUINED", true, "MODERATE"})
			d = do(t, d, Rest{})
			refuse(t, d, Narrate{Spill: 1, Event: 1, Call: Call{Override: 1}}, NoSuchSpill)
		},
	}.run(t)
}

func TestSeverity(t *testing.T) {
	t.Parallel()
	severity := func(ones int, want string) func(t *testing.T) {
		return func(t *testing.T) {
			faces := slices.Concat(slices.Repeat([]int{1}, ones), slices.Repeat([]int{5}, 6-ones), []int{2})
			_, r := played(t, begun(t, nil, nil), faces, "SHORT_REST")
			eq(t, "severity", spillOf(t, r).Severity, want)
		}
	}
	rules{
		"POOL-SEV-01":          severity(1, "MINOR"),
		"POOL-SEV-02":          severity(2, "MODERATE"),
		"POOL-SEV-03":          severity(3, "DEADLY"),
		"POOL-SEV-03 six ones": severity(6, "DEADLY"),
	}.run(t)
}
