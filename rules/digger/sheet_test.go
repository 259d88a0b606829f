package digger

import "testing"

func TestSheetRules(t *testing.T) {
	t.Parallel()
	for name, check := range map[string]func(t *testing.T){
		"DIG-CHAR-01 forms have statblocks of their own": func(t *testing.T) {
			s := newSheet(t)
			s.do(t, AddForm{Form: "wolf"})
			s.do(t, SetAbilities{Abilities: Abilities{5, 4, 4, 4}})
			s.do(t, SetAbilities{Form: "wolf", Abilities: Abilities{2, 4, 4, 4}})
			base, _ := s.Form(BaseForm)
			wolf, _ := s.Form("wolf")
			equal(t, "ratings", []Abilities{base.Statblock.Abilities, wolf.Statblock.Abilities}, []Abilities{{5, 4, 4, 4}, {2, 4, 4, 4}})
			s.refused(t, AddForm{Form: "wolf"}, FormExists)
		},
		"DIG-CHAR-02 a form without statblock cannot enter, load or list": func(t *testing.T) {
			s := newSheet(t)
			s.do(t, AddForm{Form: "avatar", NoStatblock: true})
			s.do(t, SwitchForm{Form: "avatar"})
			s.refused(t, LoadTool{Number: 1}, NoStatblock)
			s.refused(t, SetAbilities{}, NoStatblock)
			if _, err := s.Tools(Default(), "avatar"); codeOf(t, err) != NoStatblock {
				t.Errorf("tools of avatar: %v", err)
			}
			refused(t, Run{}, Enter{Ruleset: Default(), Dungeon: deck(), Leader: "bram", Members: []Entrant{who("bram"), s.Entrant("ada")}}, NoStatblock)
		},
		"DIG-CHAR-03 the form at enter serves the whole run": func(t *testing.T) {
			s := newSheet(t)
			s.do(t, SetAbilities{Abilities: Abilities{5, 4, 4, 4}})
			s.do(t, AddForm{Form: "wolf"})
			s.do(t, SetAbilities{Form: "wolf", Abilities: Abilities{2, 4, 4, 4}})
			r := begin(t, Default(), deck(card(Entry, "brute", 1)), s.Entrant("ada"), who("bram"))
			s.env.InRun = true
			s.do(t, SwitchForm{Form: "wolf"})
			_, e := turn(t, r, nil, 5, 5)
			equal(t, "effective", e.Results[0].Effective, 5)
		},
		"DIG-CHAR-04 DP are each statblock's, an early slot everyone's": func(t *testing.T) {
			s := newSheet(t)
			s.do(t, AddForm{Form: "wolf"})
			s.do(t, SetAbilities{Abilities: Abilities{6, 5, 4, 1}}) // 21+15+10+1 = 47
			s.do(t, SetAbilities{Form: "wolf", Abilities: Abilities{6, 5, 4, 1}})
			s.refused(t, SetAbilities{Form: "wolf", Abilities: Abilities{6, 5, 4, 2}}, OverSpent)
			s.refused(t, BuySlot{}, OverSpent)
			s.do(t, SetAbilities{Abilities: Abilities{6, 5, 2, 1}}) // 40
			s.refused(t, BuySlot{}, OverSpent)                      // the wolf has only 1 free
			s.do(t, SetAbilities{Form: "wolf", Abilities: Abilities{6, 5, 2, 1}})
			s.do(t, BuySlot{})
			s.do(t, SetAbilities{Abilities: Abilities{6, 5, 2, 1}})
			s.refused(t, SetAbilities{Abilities: Abilities{6, 5, 2, 2}}, OverSpent) // 42 of 41
		},
		"DIG-DP-01 one DP per five CP": func(t *testing.T) {
			for cp, want := range map[int]int{240: 48, 244: 48, 245: 49, 4: 0} {
				equal(t, "DP", Sheet{CP: cp}.DP(Default()), want)
			}
		},
		"DIG-DP-02 a fresh character has 240 CP, 48 DP": func(t *testing.T) {
			s := newSheet(t)
			equal(t, "CP and DP", []int{s.CP, s.DP(Default()), s.free(t)}, []int{240, 48, 48})
		},
		"DIG-DP-03 the price of a rating": func(t *testing.T) {
			var costs []int
			for r := range 7 {
				costs = append(costs, Default().AbilitiesCost(Abilities{Brute: r}))
			}
			equal(t, "costs", costs, []int{0, 1, 3, 6, 10, 15, 21})
			s := newSheet(t)
			s.do(t, SetAbilities{Abilities: Abilities{Wits: 3}})
			before := s.free(t)
			s.do(t, SetAbilities{Abilities: Abilities{Wits: 4}})
			equal(t, "3 to 4", before-s.free(t), 4)
		},
		"DIG-DP-04 spent DP stay within those owned": func(t *testing.T) {
			s := newSheet(t)
			s.refused(t, SetAbilities{Abilities: Abilities{5, 5, 4, 4}}, OverSpent)
			s.do(t, SetAbilities{Abilities: Abilities{5, 4, 4, 4}})
			s.do(t, BuyTools{Tools: []Tool{tool("rope", "agility", "minor"), tool("bar", "brute", "major")}})
			equal(t, "free", s.free(t), 0)
			s.refused(t, BuyTools{Tools: []Tool{tool("lens", "wits", "minor")}}, OverSpent)
		},
		"DIG-DP-05 unspent DP are kept, CP raise the total": func(t *testing.T) {
			s := newSheet(t)
			s.do(t, SetAbilities{Abilities: Abilities{6, 5, 4, 0}}) // 46
			s.do(t, GrantCP{CP: 10})
			equal(t, "total and free", []int{s.DP(Default()), s.free(t)}, []int{50, 4})
			s.refused(t, GrantCP{}, Invalid)
		},
		"DIG-ABIL-01 ratings are 0 to 6": func(t *testing.T) {
			s := newSheet(t)
			s.refused(t, SetAbilities{Abilities: Abilities{Brute: 7}}, RatingOutOfRange)
			s.refused(t, SetAbilities{Abilities: Abilities{Combat: -1}}, RatingOutOfRange)
			s.do(t, SetAbilities{Abilities: Abilities{Brute: 6}})
			s.do(t, SetAbilities{Abilities: Abilities{}})
			s.do(t, SetAbilities{Abilities: Abilities{Brute: 3}})
			s.do(t, Approve{})
			s.refused(t, SetAbilities{Abilities: Abilities{Brute: 2}}, RatingLowered)
			s.refused(t, Approve{}, Approved)
		},
		"DIG-TOOL-01 a tool costs 3 DP": func(t *testing.T) {
			s := newSheet(t)
			s.do(t, BuyTools{Tools: []Tool{tool("a", "wits", "minor"), tool("b", "wits", "minor")}})
			before := s.free(t)
			s.do(t, BuyTools{Tools: []Tool{tool("c", "wits", "minor")}})
			equal(t, "third tool", before-s.free(t), 3)
		},
		"DIG-TOOL-02 a record needs id, ability, rating": func(t *testing.T) {
			s := newSheet(t)
			s.refused(t, BuyTools{Tools: []Tool{tool("", "wits", "minor")}}, Invalid)
			s.refused(t, BuyTools{Tools: []Tool{tool("a", "luck", "minor")}}, Invalid)
			s.refused(t, BuyTools{Tools: []Tool{tool("a", "wits", "giant")}}, Invalid)
			s.refused(t, BuyTools{}, Invalid)
			s.do(t, BuyTools{Tools: []Tool{tool("punching-hard", "brute", "minor")}})
		},
		"DIG-TOOL-03 a grapple is a tool of agility": func(t *testing.T) {
			equal(t, "error", codeOf(t, Default().CheckTool(tool("grapple", "agility", "minor"), "tool")), "")
		},
		"DIG-TOOL-10 tools cover three abilities": func(t *testing.T) {
			s := newSheet(t)
			s.do(t, BuyTools{Tools: []Tool{tool("a", "wits", "minor", "strengthen"), tool("b", "agility", "minor"), tool("c", "combat", "minor")}})
			s.refused(t, BuyTools{Tools: []Tool{tool("d", "brute", "minor")}}, TooManyToolAbilities)
			s.do(t, BuyTools{Tools: []Tool{tool("d", "wits", "minor")}})
			s.refused(t, BuyTools{Tools: []Tool{tool("d", "wits", "minor")}}, ToolExists)
		},
		"DIG-TOOL-12 two for one price, once, at the application": func(t *testing.T) {
			for what, tc := range map[string]struct {
				application, later, want int
			}{"two at application": {2, 0, 3}, "one, another later": {1, 1, 6}, "three at application": {3, 0, 6}, "two later": {0, 2, 6}} {
				s, n := newSheet(t), 0
				buy := func(count int) {
					var list []Tool
					for range count {
						n++
						list = append(list, tool(string(rune('a'+n)), "wits", "minor"))
					}
					if count > 0 {
						s.do(t, BuyTools{Tools: list})
					}
				}
				buy(tc.application)
				s.do(t, Approve{})
				buy(tc.later)
				equal(t, what, 48-s.free(t), tc.want)
			}
			s := newSheet(t)
			s.do(t, BuyTools{Tools: []Tool{tool("a", "wits", "minor")}})
			s.do(t, BuyTools{Tools: []Tool{tool("b", "wits", "minor"), tool("c", "wits", "minor")}})
			equal(t, "the second purchase of an application", 48-s.free(t), 9)
			s.do(t, AddForm{Form: "wolf"})
			s.do(t, SwitchForm{Form: "wolf"})
			s.do(t, BuyTools{Tools: []Tool{tool("a", "wits", "minor"), tool("b", "wits", "minor")}})
			equal(t, "each statblock has its own", 48-s.free(t), 3)
		},
		"DIG-BELT-01 a belt has two slots": func(t *testing.T) { equal(t, "slots", newSheet(t).Slots(Env{Default(), 1, false}), 2) },
		"DIG-BELT-02 one slot more each chapter, five at most": func(t *testing.T) {
			var slots []int
			for chapter := 1; chapter <= 6; chapter++ {
				slots = append(slots, Default().FreeSlots(chapter))
			}
			equal(t, "slots", slots, []int{2, 3, 4, 5, 5, 5})
		},
		"DIG-BELT-03 one slot early for 7 DP": func(t *testing.T) {
			s := newSheet(t)
			s.do(t, BuySlot{})
			equal(t, "slots and spent", []int{s.Slots(s.env), 48 - s.free(t)}, []int{3, 7})
			s.refused(t, BuySlot{}, NoEarlySlot)
		},
		"DIG-BELT-04 the DP come back": func(t *testing.T) {
			s := newSheet(t)
			s.do(t, BuySlot{})
			s.env.Chapter = 2
			equal(t, "slots and spent", []int{s.Slots(s.env), 48 - s.free(t)}, []int{3, 0})
		},
		"DIG-BELT-05 in chapter 3 the fifth costs 5": func(t *testing.T) {
			s := newSheet(t)
			s.env.Chapter = 3
			equal(t, "free slots", s.Slots(s.env), 4)
			s.do(t, BuySlot{})
			equal(t, "slots and spent", []int{s.Slots(s.env), 48 - s.free(t)}, []int{5, 5})
			s.env.Chapter = 4
			equal(t, "slots and spent", []int{s.Slots(s.env), 48 - s.free(t)}, []int{5, 0})
		},
		"DIG-BELT-06 nothing to buy with five free": func(t *testing.T) {
			s := newSheet(t)
			s.env.Chapter = 4
			s.refused(t, BuySlot{}, NoEarlySlot)
		},
		"DIG-BELT-07 DIG-CMD-07 DIG-CMD-08 loading and unloading": func(t *testing.T) {
			s := newSheet(t)
			s.do(t, BuyTools{Tools: []Tool{tool("a", "wits", "minor"), tool("b", "wits", "minor"), tool("c", "wits", "minor")}})
			s.do(t, LoadTool{Number: 1})
			s.refused(t, LoadTool{Number: 1}, AlreadyLoaded)
			s.refused(t, UnloadTool{Number: 2}, NotLoaded)
			s.do(t, LoadTool{Number: 2})
			s.refused(t, LoadTool{Number: 3}, BeltFull)
			s.refused(t, LoadTool{Number: 4}, NoSuchTool)
			s.refused(t, LoadTool{}, NoSuchTool)
			s.refused(t, LoadTool{Form: "wolf", Number: 1}, NoSuchForm)
			s.do(t, UnloadTool{Number: 1})
			s.do(t, LoadTool{Number: 3})
			s.do(t, AddForm{Form: "wolf"}) // its loaded marks are its own
			s.do(t, BuyTools{Form: "wolf", Tools: []Tool{tool("a", "wits", "minor")}})
			s.do(t, LoadTool{Form: "wolf", Number: 1})
			for text, want := range map[string]string{"rope": NotANumber, "0": NotANumber, "2": ""} {
				_, err := ToolNumber(text)
				equal(t, text, codeOf(t, err), want)
			}
		},
		"DIG-BELT-08 the belt is locked in a run": func(t *testing.T) {
			s := newSheet(t)
			s.do(t, BuyTools{Tools: []Tool{tool("a", "wits", "minor")}})
			s.env.InRun = true
			s.refused(t, LoadTool{Number: 1}, Leased)
			s.env.InRun = false
			s.do(t, LoadTool{Number: 1})
			s.env.InRun = true
			s.refused(t, UnloadTool{Number: 1}, Leased)
		},
		"DIG-CMD-06 the tool list of a form": func(t *testing.T) {
			s := newSheet(t)
			s.do(t, AddForm{Form: "wolf"})
			s.do(t, BuyTools{Form: "wolf", Tools: []Tool{tool("fang", "combat", "major", "efficient")}})
			s.do(t, LoadTool{Form: "wolf", Number: 1})
			lines, err := s.Tools(Default(), "wolf")
			if err != nil || len(lines) != 1 || lines[0].Number != 1 || lines[0].ID != "fang" || lines[0].Uses != 3 || !lines[0].Loaded {
				t.Errorf("%+v, %v", lines, err)
			}
			lines, err = s.Tools(Default(), "")
			if err != nil || len(lines) != 0 {
				t.Errorf("current form: %+v, %v", lines, err)
			}
		},
		"changed rules invalidate nothing owned": func(t *testing.T) {
			s := newSheet(t)
			s.do(t, SetAbilities{Abilities: Abilities{6, 5, 4, 1}})
			s.env.Ruleset = changed(t, func(rs *Ruleset) { rs.DP.AbilityCost = []int{0, 2, 4, 8, 16, 32, 64} })
			s.do(t, SetAbilities{Abilities: Abilities{6, 5, 4, 0}}) // cheaper, though still too dear
			s.refused(t, SetAbilities{Abilities: Abilities{6, 5, 4, 1}}, OverSpent)
		},
	} {
		t.Run(name, func(t *testing.T) { t.Parallel(); check(t) })
	}
}

func TestToolRules(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		tool Tool
		code string
	}{
		"DIG-TOOL-04 major, improved: 4":                        {tool("x", "wits", "major", "improved"), ""},
		"DIG-TOOL-04 major, improved, rally: 5":                 {tool("x", "wits", "major", "improved", "rally"), TPOverBudget},
		"DIG-TOOL-04 minor alone":                               {tool("x", "wits", "minor"), ""},
		"DIG-TOOL-07 major with greater":                        {tool("x", "wits", "major", "enlighten"), TPOverBudget},
		"DIG-TOOL-07 minor with greater":                        {tool("x", "wits", "minor", "enlighten"), ""},
		"DIG-TOOL-07 minor with two lesser":                     {tool("x", "wits", "minor", "rally", "fanfare"), ""},
		"DIG-TOOL-08 a drawback makes room on a major":          {tool("x", "brute", "major", "strengthen", "sacrifice"), ""},
		"DIG-TOOL-08 a drawback makes room on a minor":          {tool("x", "brute", "minor", "resilient", "improved", "liability"), ""},
		"DIG-TOOL-09 two drawbacks":                             {Tool{ID: "x", Ability: "brute", Rating: "minor", Qualities: []string{"sacrifice"}, Drawback: "inefficient"}, TooManyDrawbacks},
		"DIG-TOOL-15 improved twice":                            {tool("x", "brute", "minor", "improved", "improved"), RepeatedQuality},
		"DIG-TOOL-15 efficient with inefficient":                {tool("x", "brute", "minor", "efficient", "inefficient"), ""},
		"DIG-QUAL-41 cleanse on a minor with a drawback":        {tool("x", "brute", "minor", "cleanse", "sacrifice"), ""},
		"DIG-QUAL-41 cleanse without drawback":                  {tool("x", "brute", "minor", "cleanse"), CleanseNeedsDrawback},
		"DIG-QUAL-41 cleanse on a major":                        {tool("x", "brute", "major", "cleanse", "sacrifice"), CleanseNeedsMinor},
		"an unknown quality":                                    {tool("x", "brute", "minor", "shiny"), UnknownQuality},
		"DIG-TOOL-10 a boost for another ability is no offence": {tool("x", "wits", "minor", "strengthen"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			equal(t, "code", codeOf(t, Default().CheckTool(tc.tool, "tool")), tc.code)
		})
	}
	for name, tc := range map[string]struct {
		tool            Tool
		tp, uses, bonus int
	}{
		"DIG-TOOL-05 major":                                         {tool("x", "wits", "major"), 3, 2, 4},
		"DIG-TOOL-05 minor":                                         {tool("x", "wits", "minor"), 2, 3, 2},
		"DIG-TOOL-06 DIG-QUAL-20 major efficient":                   {tool("x", "wits", "major", "efficient"), 4, 3, 4},
		"DIG-TOOL-06 DIG-QUAL-13 minor inefficient":                 {tool("x", "wits", "minor", "inefficient"), 1, 2, 2},
		"DIG-TOOL-06 major inefficient":                             {tool("x", "wits", "major", "inefficient"), 2, 1, 4},
		"DIG-TOOL-06 minor efficient":                               {tool("x", "wits", "minor", "efficient"), 3, 4, 2},
		"DIG-TOOL-15 minor efficient inefficient":                   {tool("x", "wits", "minor", "efficient", "inefficient"), 2, 3, 2},
		"DIG-QUAL-23 minor improved":                                {tool("x", "wits", "minor", "improved"), 3, 3, 5},
		"DIG-QUAL-23 major improved, by more than the gap of two: ": {tool("x", "wits", "major", "improved"), 4, 2, 7},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rs := Default()
			equal(t, "TP, uses, bonus", []int{rs.TP(tc.tool), rs.Uses(tc.tool), rs.Bonus(tc.tool)}, []int{tc.tp, tc.uses, tc.bonus})
		})
	}
}
