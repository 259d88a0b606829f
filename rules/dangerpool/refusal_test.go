package dangerpool

import (
	"slices"
	"strings"
	"testing"

	"github.com/wayfarer-rpg/wayfarer/rules/play"
)

func TestBeginningAndEnd(t *testing.T) {
	t.Parallel()
	open := Open{Ruleset: Default(), Map: tomb(), Entry: "gate", InvokedBy: ByGameLoop}
	commands := []Command{
		RecordMembers{three}, RecordProvisions{"x"}, RecordLights{}, Begin{}, PassTime{}, LetTimePass{}, DrawAttention{}, Act{Action: TriggerMove},
		LeaveHunker{}, Rest{}, StartCombat{}, FightRounds{}, EndCombat{}, AddLight{"torch", Torch}, SwitchLight{}, RefuelLight{},
		CastSpell{"ward", 60}, EndSpell{}, Leave{ToTravel}, Narrate{}, Remark{Text: "x"}, RaiseDanger{Dice: 1}, Adjust{},
	}
	for _, c := range commands {
		refuse(t, Delve{}, c, NotOpened)
	}
	left := do(t, inTomb(t), Leave{ToGameLoop})
	for _, c := range commands {
		refuse(t, left, c, Over)
	}
	refuse(t, inTomb(t), open, AlreadyOpened)
	open.Ruleset = nil
	eq(t, "field", refuse(t, Delve{}, open, Invalid), "ruleset")
	// Who turns back on the threshold leaves, too; what is carried can be handled before the first area is described.
	eq(t, "left", do(t, opened(t, nil), Leave{ToTravel}).Left, ToTravel)
	for _, c := range []Command{AddLight{"torch", Torch}, SwitchLight{"torch", true}, RefuelLight{"torch"}, CastSpell{"ward", 60}, EndSpell{"ward"}, Adjust{Reason: "x", Pool: ptr(1)}} {
		refuse(t, opened(t, nil), c, SetupIncomplete)
	}
	d := after(t, ready(t, nil, torches("torch")), "LIGHT_OFF torch", "CAST ward 600", "LIGHT_ADD lamp LANTERN")
	eq(t, "lights, spells", []string{remaining(d), spells(d)}, []string{"torch 6, lamp 6*", "ward 600s"})
	for _, c := range []Command{RaiseDanger{1, "x", nil}, Rest{}, StartCombat{}} {
		refuse(t, d, c, NotBegun)
	}
}

func TestMapsAreChecked(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		edit  func(m *Map)
		code  string
		field string
	}{
		"no title":                {func(m *Map) { m.Title = "" }, Invalid, "map.title"},
		"an area without an id":   {func(m *Map) { m.Areas[1].ID = "" }, Invalid, "map.areas[1].id"},
		"an id twice":             {func(m *Map) { m.Areas[2].ID = "hall" }, IDTaken, "map.areas[2].id"},
		"a way to nowhere":        {func(m *Map) { m.Areas[1].Ways = []string{"gate", "attic"} }, NoSuchArea, "map.areas[1].ways[1]"},
		"a way to itself":         {func(m *Map) { m.Areas[2].Ways = []string{"crypt"} }, NoSuchArea, "map.areas[2].ways[0]"},
		"a way twice":             {func(m *Map) { m.Areas[2].Ways = []string{"hall", "hall"} }, NoSuchArea, "map.areas[2].ways[1]"},
		"too much text":           {func(m *Map) { m.Areas[0].Notes = strings.Repeat("x", MaxText+1) }, Invalid, "map.areas[0].notes"},
		"too long an area's name": {func(m *Map) { m.Areas[0].Title = strings.Repeat("x", MaxLabel+1) }, Invalid, "map.areas[0].title"},
		"too many areas":          {func(m *Map) { m.Areas = slices.Repeat(m.Areas, MaxAreas) }, Invalid, "map.areas"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := tomb()
			tc.edit(m)
			eq(t, "field", refuse(t, Delve{}, Open{Ruleset: Default(), Map: m, Entry: "gate", InvokedBy: ByGameLoop}, tc.code), tc.field)
		})
	}
	// Rings of areas are no fault, nor are areas that only a GM can lead to.
	m := tomb()
	m.Areas[2].Ways, m.Areas = []string{"gate"}, append(m.Areas, Area{ID: "vault"})
	do(t, Delve{}, Open{Ruleset: Default(), Map: m, Entry: "gate", InvokedBy: ByGameLoop})
}

func TestArgumentsAreChecked(t *testing.T) {
	t.Parallel()
	d := after(t, inTomb(t), "LIGHT_ADD lantern LANTERN", "LIGHT_ADD light LIGHT_SPELL")
	fight := after(t, d, "COMBAT_START")
	long := strings.Repeat("é", MaxLabel+1)
	for name, tc := range map[string]struct {
		d     Delve
		c     Command
		code  string
		field string
	}{
		"negative real time":              {d, PassTime{Minutes: -1}, Invalid, "minutes"},
		"a year of real time":             {d, PassTime{Minutes: 525_600}, Invalid, "minutes"},
		"a fight of a month":              {do(t, fight, PassTime{Minutes: MaxMinutes}), PassTime{Minutes: 1}, TooLong, "minutes"},
		"negative waiting":                {d, LetTimePass{Minutes: -1}, Invalid, "minutes"},
		"waiting beyond all bounds":       {d, LetTimePass{Minutes: MaxMinutes + 1}, Invalid, "minutes"},
		"negative rounds":                 {fight, FightRounds{-1}, Invalid, "rounds"},
		"rounds without end":              {fight, FightRounds{MaxRounds + 1}, Invalid, "rounds"},
		"an action that is none":          {d, Act{Action: "DANCE"}, Invalid, "action"},
		"a rest as an action":             {d, Act{Action: TriggerShortRest}, Invalid, "action"},
		"a move to nowhere":               {d, Act{Action: TriggerMove}, Invalid, "to"},
		"an interaction elsewhere":        {d, Act{Action: TriggerInteract, To: "hall"}, Invalid, "to"},
		"a move on a map without areas":   {begun(t, nil, nil), Act{Action: TriggerMove, To: "hall"}, NoSuchArea, "to"},
		"a light without a name":          {d, AddLight{"", Torch}, Invalid, "id"},
		"a light with too long a name":    {d, AddLight{long, Torch}, Invalid, "id"},
		"an unknown source":               {d, AddLight{"sun", "SUN"}, Invalid, "source"},
		"an unknown light on":             {d, SwitchLight{"sun", true}, NoSuchLight, "id"},
		"an unknown light off":            {d, SwitchLight{"sun", false}, NoSuchLight, "id"},
		"an unknown light filled":         {d, RefuelLight{"sun"}, NoSuchLight, "id"},
		"a torch filled":                  {d, RefuelLight{"torch"}, NoLantern, "id"},
		"a light spell filled":            {d, RefuelLight{"light"}, NoLantern, "id"},
		"a spell without a name":          {d, CastSpell{"", 60}, Invalid, "id"},
		"a spell of no length":            {d, CastSpell{"ward", 0}, Invalid, "seconds"},
		"a spell for ever":                {d, CastSpell{"ward", MaxSpellSeconds + 1}, Invalid, "seconds"},
		"an unknown way out":              {d, Leave{"HOME"}, Invalid, "target"},
		"a remark of nothing":             {d, Remark{}, Invalid, "text"},
		"no dice of danger":               {d, RaiseDanger{0, "x", nil}, Invalid, "dice"},
		"a cartload of danger":            {d, RaiseDanger{MaxDice + 1, "x", nil}, Invalid, "dice"},
		"danger for no reason":            {d, RaiseDanger{1, "", nil}, Invalid, "reason"},
		"an event beyond the table":       {d, DrawAttention{[]Call{{Override: 13}}}, Invalid, "calls[0].override"},
		"a novel":                         {d, EndCombat{[]Call{{Shows: strings.Repeat("x", MaxText+1)}}}, Invalid, "calls[0].shows"},
		"a novel in secret":               {d, EndCombat{[]Call{{Note: strings.Repeat("x", MaxText+1)}}}, Invalid, "calls[0].note"},
		"a GM's hand without a reason":    {d, Adjust{Pool: ptr(1)}, Invalid, "reason"},
		"a GM's hand that sets nothing":   {d, Adjust{Reason: "x"}, Invalid, "pool"},
		"a pool that would have spilled":  {d, Adjust{Reason: "x", Pool: ptr(6)}, Invalid, "pool"},
		"a negative pool":                 {d, Adjust{Reason: "x", Pool: ptr(-1)}, Invalid, "pool"},
		"a real clock past its block":     {d, Adjust{Reason: "x", RealClock: ptr(10)}, Invalid, "real_clock"},
		"a waiting clock past its block":  {d, Adjust{Reason: "x", WaitClock: ptr(10)}, Invalid, "wait_clock"},
		"an area that is not there":       {d, Adjust{Reason: "x", Area: ptr("attic")}, NoSuchArea, "area"},
		"an unknown light taken away":     {d, Adjust{Reason: "x", Drop: []string{"lantern", "sun"}}, NoSuchLight, "drop[1]"},
		"a light set twice":               {d, Adjust{Reason: "x", Lights: []Light{{"a", Torch, 1, true}, {"a", Torch, 1, true}}}, IDTaken, "lights[1].id"},
		"a light set and taken":           {d, Adjust{Reason: "x", Lights: []Light{{"torch", Torch, 1, true}}, Drop: []string{"torch"}}, IDTaken, "lights[0].id"},
		"a flame without a torch":         {d, Adjust{Reason: "x", Lights: []Light{{"torch", Torch, 0, true}}}, Invalid, "lights[0].active"},
		"a light set with less than none": {d, Adjust{Reason: "x", Lights: []Light{{"torch", Torch, -1, false}}}, Invalid, "lights[0].remaining"},
		"an unknown spell ended":          {d, Adjust{Reason: "x", Spells: []Spell{{"ward", 0}}}, NoSuchSpell, "spells[0].id"},
		"a spell of less than none":       {d, Adjust{Reason: "x", Spells: []Spell{{"ward", -1}}}, Invalid, "spells[0].seconds"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eq(t, "field", refuse(t, tc.d, tc.c, tc.code), tc.field)
		})
	}
}

func TestWhatIsCarriedIn(t *testing.T) {
	t.Parallel()
	d := do(t, do(t, opened(t, nil), RecordMembers{three}), RecordProvisions{"none"})
	for name, tc := range map[string]struct {
		c     RecordLights
		field string
	}{
		"an unknown source":  {RecordLights{Lights: []Carried{{ID: "sun", Source: "SUN"}}}, "lights[0].source"},
		"a name of nothing":  {RecordLights{Lights: []Carried{{Source: Torch}}}, "lights[0].id"},
		"less than none":     {RecordLights{Lights: []Carried{{ID: "a", Source: Torch, Remaining: ptr(-1)}}}, "lights[0].remaining"},
		"a burnt torch, lit": {RecordLights{Lights: []Carried{{ID: "a", Source: Torch, Remaining: ptr(0), Active: true}}}, "lights[0].active"},
		"a spell that ended": {RecordLights{Spells: []Spell{{"ward", 60}, {"bless", 0}}}, "spells[1].seconds"},
		"too many lights":    {RecordLights{Lights: slices.Repeat([]Carried{{ID: "a", Source: Torch}}, MaxLights+1)}, "lights"},
		"too many spells":    {RecordLights{Spells: slices.Repeat([]Spell{{"ward", 60}}, MaxSpells+1)}, "spells"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eq(t, "field", refuse(t, d, tc.c, Invalid), tc.field)
		})
	}
	crowd := RecordMembers{slices.Repeat(three, MaxMembers)}
	eq(t, "field", refuse(t, d, crowd, Invalid), "members")
}

func TestBoundsOfADelve(t *testing.T) {
	t.Parallel()
	d := begun(t, nil, nil)
	d.Ever = maxEver + 1
	for _, line := range []string{"REAL_TIME 10", "WAIT 10", "RISK", "MOVE", "SHORT_REST", "COMBAT_START"} {
		refusedStep(t, d, line, TooLong)
	}
	after(t, d, "LEAVE TRAVEL")
	d = begun(t, nil, nil)
	for i := range MaxLights {
		d = after(t, d, "LIGHT_ADD torch-"+strings.Repeat("i", i+1)+" TORCH")
	}
	lamp := after(t, do(t, begun(t, nil, nil), Adjust{Reason: "x", Lights: []Light{{"lamp", Lantern, maxDiceOfALight - 6, false}}}), "REFUEL lamp")
	eq(t, "field", refuse(t, lamp, RefuelLight{"lamp"}, TooMany), "id")
	eq(t, "field", refuse(t, d, AddLight{"one more", Torch}, TooMany), "id")
	for range MaxSpells {
		d = after(t, d, "CAST ward 6000")
	}
	eq(t, "field", refuse(t, d, CastSpell{"one more", 60}, TooMany), "id")
	eq(t, "field", refuse(t, d, Adjust{Reason: "x", Spells: []Spell{{"one more", 60}}}, TooMany), "spells")
	eq(t, "field", refuse(t, d, Adjust{Reason: "x", Lights: []Light{{"one more", Torch, 1, true}}}, TooMany), "lights")
}

func TestTheHandOfAGM(t *testing.T) {
	t.Parallel()
	d := after(t, inTomb(t), "CAST ward 600")
	d, events, _, refusal := decide(t, d, Adjust{
		Reason: "a flood", Pool: ptr(3), RealClock: ptr(9), WaitClock: ptr(55), Hunkered: ptr(true), FreeAction: ptr(true), Area: ptr("crypt"),
		Lights: []Light{{"torch", Torch, 2, true}, {"glow", LightSpell, 4, false}}, Spells: []Spell{{"ward", 0}, {"fly", 90}},
	})
	if refusal != nil {
		t.Fatal(refusal)
	}
	eq(t, "numbers", []int{d.Pool, d.Ever, d.RealClock, d.WaitClock}, []int{3, 0, 9, 55})
	eq(t, "place", []any{d.Hunkered, d.FreeAction, d.Area, d.Visited}, []any{true, true, "crypt", []string{"gate", "crypt"}})
	eq(t, "lights, spells", []string{remaining(d), spells(d)}, []string{"torch 2*, glow 4", "fly 90s"})
	log, _ := Log(inTomb(t), events)
	eq(t, "log", []any{log[0].Kind, log[0].Text, log[0].Secret}, []any{LogAdjusted, "a flood", true})
	eq(t, "taken away", remaining(do(t, d, Adjust{Reason: "x", Drop: []string{"torch"}})), "glow 4")

	_, events, dice, _ := decide(t, d, RaiseDanger{3, "a horn", []Call{{Override: 11}}}, 1, 2, 2, 2, 2, 2, 5)
	eq(t, "dice", len(dice.Rolled()), 7)
	r := ResultOf(TriggerDanger, events)
	eq(t, "raised", []any{r.DiceAdded, spillOf(t, r).Events[0].Event}, []any{3, "DETECTED"})
	log, _ = Log(d, events)
	eq(t, "log", kinds(log), []string{LogRemark, LogDarkness, LogSpill})
	eq(t, "the reason is the GM's", log[0].Secret, true)
}

func TestTheLogTellsOfFights(t *testing.T) {
	t.Parallel()
	d := inTomb(t)
	var got []string
	for _, line := range []string{"COMBAT_START", "REAL_TIME 30", "COMBAT_END", "LEAVE BASIC_GAME_LOOP"} {
		_, events, _, _ := decide(t, d, step(t, line).Command())
		var log []Entry
		log, d = Log(d, events)
		for _, e := range log {
			got = append(got, strings.TrimSpace(e.Kind+" "+e.Text))
		}
	}
	eq(t, "log", got, []string{"COMBAT_STARTED", "COMBAT_ENDED", "LEFT BASIC_GAME_LOOP"})
	ready := ready(t, nil, nil)
	_, events, _, _ := decide(t, ready, Begin{})
	log, _ := Log(ready, events)
	eq(t, "without a light", kinds(log), []string{LogBegun, LogDarkness})
}

// Dice that fail void the decision, however many were to come.
func TestFailedDice(t *testing.T) {
	t.Parallel()
	d := begun(t, params{"pool_limit": 1}, nil)
	dice := play.ReportedDice(2, 3, 9)
	if _, err := Decide(d, LetTimePass{Minutes: MaxMinutes}, dice); err != nil {
		t.Fatal(err)
	}
	if err := dice.Close(); err == nil || len(dice.Rolled()) != 2 {
		t.Errorf("%v after %d dice", err, len(dice.Rolled()))
	}
}
