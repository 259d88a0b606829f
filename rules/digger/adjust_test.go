package digger

import (
	"strings"
	"testing"
)

func TestAdjust(t *testing.T) {
	t.Parallel()
	rs := Default()
	ptr := func(n int) *int { return &n }
	start := func(t *testing.T) Run {
		return begin(t, rs, deck(card(Entry, "brute", 1, "overwhelm")), who("ada", tool("maul", "brute", "major")), who("bram"))
	}
	for name, check := range map[string]func(t *testing.T){
		"sets what is named and leaves the rest": func(t *testing.T) {
			r, _ := do(t, start(t), Adjust{Reason: "a fall", Exploration: ptr(69), Members: []MemberAdjustment{
				{ID: "ada", Exhaustion: ptr(42), UsesLeft: map[int]int{1: 1}}, {ID: "bram"},
			}})
			equal(t, "exploration", r.Exploration, 69)
			equal(t, "exhaustion", []int{r.Members[0].Exhaustion, r.Members[1].Exhaustion}, []int{42, 0})
			equal(t, "uses", r.Members[0].Tools[0].UsesLeft, 1)
			equal(t, "conditions", len(r.Conditions), 1)
			r, _ = do(t, r, Adjust{Reason: "a rest", ClearConditions: true, Members: []MemberAdjustment{{ID: "ada", Exhaustion: ptr(0)}}})
			equal(t, "exhaustion after a rest", r.Members[0].Exhaustion, 0)
			equal(t, "conditions after a rest", len(r.Conditions), 0)
			equal(t, "uses after a rest", r.Members[0].Tools[0].UsesLeft, 1)
		},
		"DIG-WIN-01 exploration set to 70 brings the final": func(t *testing.T) {
			r, _ := turn(t, start(t), nil, 1, 1)
			r, _ = do(t, r, Adjust{Reason: "a map", Exploration: ptr(70)})
			equal(t, "next draw", r.NextDraw(), Final)
		},
		"DIG-PARTY-06 the act of one whom it exhausts is withdrawn": func(t *testing.T) {
			r, _ := do(t, start(t), Contribute{Member: "ada", Use: "maul"})
			r, _ = do(t, r, Adjust{Reason: "a dart", Members: []MemberAdjustment{{ID: "ada", Exhaustion: ptr(100)}}})
			equal(t, "waiting", r.Waiting(), []string{"bram"})
			equal(t, "uses left", r.Members[0].Tools[0].UsesLeft, 1)
			r, e := turn(t, r, nil, 9)
			equal(t, "acted", []bool{e.Results[0].Acted, e.Results[1].Acted}, []bool{false, true})
			equal(t, "exhaustion", r.Members[0].Exhaustion, 100)
		},
		"DIG-RES-14 one who is rested acts again": func(t *testing.T) {
			r, _ := do(t, start(t), Adjust{Reason: "a dart", Members: []MemberAdjustment{{ID: "ada", Exhaustion: ptr(100)}}})
			refused(t, r, Contribute{Member: "ada", Use: "force"}, Exhausted)
			r, _ = do(t, r, Adjust{Reason: "a potion", Members: []MemberAdjustment{{ID: "ada", Exhaustion: ptr(99)}}})
			do(t, r, Contribute{Member: "ada", Use: "force"})
		},
		"DIG-WIN-05 nobody active is left": func(t *testing.T) {
			r, _ := do(t, start(t), Adjust{Reason: "a flood", Members: []MemberAdjustment{{ID: "ada", Exhaustion: ptr(100)}, {ID: "bram", Exhaustion: ptr(100)}}})
			equal(t, "outcome", r.Outcome, LostExhausted)
			refused(t, r, Adjust{Reason: "too late", Exploration: ptr(1)}, RunOver)
		},
		"is refused": func(t *testing.T) {
			r := start(t)
			member := func(m MemberAdjustment) Adjust { return Adjust{Reason: "x", Members: []MemberAdjustment{m}} }
			for _, tc := range []struct {
				c    Adjust
				code string
			}{
				{Adjust{Exploration: ptr(1)}, Invalid},
				{Adjust{Reason: strings.Repeat("x", 501), Exploration: ptr(1)}, Invalid},
				{Adjust{Reason: "x"}, Invalid},
				{Adjust{Reason: "x", Exploration: ptr(-1)}, Invalid},
				{Adjust{Reason: "x", Exploration: ptr(101)}, Invalid},
				{member(MemberAdjustment{ID: "zoe"}), NotAMember},
				{Adjust{Reason: "x", Members: []MemberAdjustment{{ID: "ada"}, {ID: "ada"}}}, Invalid},
				{member(MemberAdjustment{ID: "ada", Exhaustion: ptr(-1)}), Invalid},
				{member(MemberAdjustment{ID: "ada", Exhaustion: ptr(101)}), Invalid},
				{member(MemberAdjustment{ID: "ada", UsesLeft: map[int]int{2: 1}}), NoSuchTool},
				{member(MemberAdjustment{ID: "ada", UsesLeft: map[int]int{1: 3}}), Invalid},
				{member(MemberAdjustment{ID: "ada", UsesLeft: map[int]int{1: -1}}), Invalid},
			} {
				refused(t, r, tc.c, tc.code)
			}
			refused(t, Run{}, Adjust{Reason: "x", Exploration: ptr(1)}, NotBegun)
		},
		"DIG-RES-15 a run begun otherwise by a GM": func(t *testing.T) {
			tired, bram := who("ada"), who("bram")
			tired.Exhaustion = 95
			r := begin(t, rs, deck(), tired, bram)
			equal(t, "exhaustion", r.Members[0].Exhaustion, 95)
			r, _ = turn(t, r, nil, 1, 1)
			equal(t, "exhaustion, capped", r.Members[0].Exhaustion, 100)
			tired.Exhaustion = 100
			enter := func(leader string) Enter {
				return Enter{Ruleset: rs, Dungeon: deck(), Leader: leader, Members: []Entrant{tired, bram}}
			}
			refused(t, Run{}, enter("ada"), Exhausted)
			do(t, Run{}, enter("bram"))
			tired.Exhaustion = 101
			refused(t, Run{}, enter("bram"), Invalid)
			tired.Exhaustion = -1
			refused(t, Run{}, enter("bram"), Invalid)
		},
	} {
		t.Run(name, func(t *testing.T) { t.Parallel(); check(t) })
	}
}
