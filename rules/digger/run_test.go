package digger

import (
	"reflect"
	"slices"
	"testing"
)

func gainsOf(e Completed) []int {
	var out []int
	for _, r := range e.Results {
		out = append(out, r.Gain)
	}
	return out
}

// at sets what a test needs a run to have reached.
func (r Run) at(exploration int, exhaustion ...int) Run {
	r = r.clone()
	r.Exploration = exploration
	for i, e := range exhaustion {
		r.Members[i].Exhaustion = e
	}
	return r
}

func TestRunRules(t *testing.T) {
	t.Parallel()
	rs := Default()
	ada, bram, cleo := who("ada"), who("bram"), who("cleo")
	kit := who
	brute := func(level int, conditions ...string) Card { return card(Entry, "brute", level, conditions...) }
	act := func(member, use string) Contribute { return Contribute{Member: member, Use: use} }
	for name, check := range map[string]func(t *testing.T){
		"DIG-OVER-01 a run leaves CP alone": func(t *testing.T) {
			s := newSheet(t)
			s.do(t, SetAbilities{Abilities: Abilities{4, 4, 4, 4}})
			before := mustJSON(t, s.Sheet)
			r, _ := turn(t, begin(t, rs, deck(), s.Entrant("ada"), bram), nil, 9, 9)
			do(t, r, Abandon{Member: "ada"})
			if mustJSON(t, s.Sheet) != before || s.CP != 240 {
				t.Error("the sheet has changed")
			}
		},
		"DIG-OVER-03 DIG-PARTY-02 sizes": func(t *testing.T) {
			for n, want := range map[int]string{4: "", 6: OutsidePreferred, 2: OutsidePreferred, 7: OutsideRecommended} {
				equal(t, "hint", rs.SizeHint(n), want)
			}
			refused(t, Run{}, Enter{Ruleset: rs, Dungeon: deck(), Leader: "ada", Members: []Entrant{ada}}, TooFewMembers)
			begin(t, rs, deck(), ada, bram)
			var eight []Entrant
			for _, id := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
				eight = append(eight, who(id))
			}
			begin(t, rs, deck(), eight[:7]...)
			refused(t, Run{}, Enter{Ruleset: rs, Dungeon: deck(), Leader: "a", Members: eight}, PartyFull)
		},
		"DIG-OVER-04 nothing to act on without a run": func(t *testing.T) {
			refused(t, Run{}, act("ada", "force"), NoChallenge)
			refused(t, Run{}, Draw{Member: "ada"}, NotBegun)
		},
		"DIG-OVER-05 DIG-RES-15 a run starts at nothing": func(t *testing.T) {
			r := begin(t, rs, deck(brute(1, "weaken")), ada, bram, cleo)
			equal(t, "counters", []int{r.Exploration, r.Members[0].Exhaustion, r.Members[1].Exhaustion, r.Members[2].Exhaustion}, []int{0, 0, 0, 0})
			equal(t, "conditions", r.Conditions, []Instance{{Name: "weaken", Phase: 1}})
			equal(t, "effects, previous", []any{len(r.Effects), r.Previous}, []any{0, ""})
		},
		"DIG-OVER-07 DIG-FLOW-04 poses count for nothing": func(t *testing.T) {
			// A round is resolved by acts alone; there is no command that tells of a pose.
			r, _ := turn(t, begin(t, rs, deck(), ada, bram), nil, 9, 9)
			equal(t, "between challenges", r.Pending == nil, true)
		},
		"DIG-ABIL-02 DIG-ABIL-03 DIG-ABIL-04 DIG-ABIL-05 DIG-ABIL-06 DIG-CMD-13 names of acts": func(t *testing.T) {
			for ability, action := range map[string]string{"brute": "force", "agility": "RUSH", "wits": "Investigate", "combat": "fight"} {
				var after []string
				for _, use := range []string{ability, action} {
					r := begin(t, rs, deck(card(Entry, ability, 1)), ada, bram)
					r, _ = do(t, r, act("ada", use))
					after = append(after, mustJSON(t, r))
				}
				equal(t, action, after[1], after[0])
			}
			r := begin(t, rs, deck(), kit("ada", tool("force", "brute", "major")), bram)
			_, e := turn(t, r, map[string]string{"ada": "FORCE"}, 9, 9)
			equal(t, "the name of an action wins over a tool", e.Results[0].ToolBonus, 0)
		},
		"DIG-ABIL-07 a score may fall below 0": func(t *testing.T) {
			floor := changed(t, func(rs *Ruleset) { zero := 0; rs.DP.AbilityFloor = &zero })
			for _, tc := range []struct {
				rs   *Ruleset
				want int
			}{{rs, -1}, {floor, 0}} {
				_, e := turn(t, begin(t, tc.rs, deck(brute(1, "weaken", "weaken", "bad_luck")), ada, bram), nil, 1, 1)
				equal(t, "effective", e.Results[0].Effective, tc.want)
			}
		},
		"DIG-DECK-03 the entry is challenge 1": func(t *testing.T) {
			r := begin(t, rs, deck(), ada, bram)
			equal(t, "pending", []any{r.Round, r.Pending.Kind, r.Pending.Drawer}, []any{1, Entry, "ada"})
		},
		"DIG-DECK-04 DIG-DECK-05 DIG-DECK-06 second and third cards": func(t *testing.T) {
			r := begin(t, rs, deck(brute(1), card(Normal, "brute", 1), card(Second, "brute", 1), card(Second, "brute", 1)), ada, bram)
			r, _ = turn(t, r, nil, 1, 1)
			ids, _ := r.Candidates()
			equal(t, "round 2", ids, []string{"second-1", "second-2"})
			r, _ = do(t, r, Draw{Member: "ada"}, 2)
			equal(t, "chosen", r.Pending.Card, "second-2")
			for _, n := range []int{3, 4} {
				r, _ = turn(t, r, nil, 1, 1)
				equal(t, "kind", []any{n, r.NextDraw()}, []any{n, Normal})
				r = next(t, r)
			}
			r = begin(t, rs, deck(brute(1), card(Normal, "brute", 1), card(Third, "brute", 1)), ada, bram)
			r, _ = turn(t, r, nil, 1, 1)
			equal(t, "no second", r.NextDraw(), Normal)
			r, _ = turn(t, next(t, r), nil, 1, 1)
			equal(t, "third", r.NextDraw(), Third)
			r, _ = turn(t, next(t, r), nil, 1, 1)
			equal(t, "round 4", r.NextDraw(), Normal)
		},
		"DIG-DECK-07 the pile": func(t *testing.T) {
			cards := []Card{brute(1, "wonder"), card(Normal, "brute", 1, "wonder"), card(Normal, "brute", 1, "wonder"), card(Normal, "brute", 1, "wonder")}
			r := begin(t, rs, deck(cards...), ada, bram)
			var drawn []string
			for range 3 {
				r, _ = turn(t, r, nil, 1, 1)
				ids, again := r.Candidates()
				equal(t, "left, reshuffled", []any{len(ids), again}, []any{3 - len(drawn), false})
				r = next(t, r)
				drawn = append(drawn, r.Pending.Card)
			}
			slices.Sort(drawn)
			equal(t, "the first three differ", len(slices.Compact(drawn)), 3)
			r, _ = turn(t, r, nil, 1, 1)
			ids, again := r.Candidates()
			equal(t, "then any", []any{len(ids), again}, []any{3, true})
			r = next(t, r)
			ids, again = r.Candidates()
			equal(t, "without that one", []any{len(ids), again}, []any{2, false})
			none := changed(t, func(rs *Ruleset) { rs.Flow.ReshuffleWhenEmpty = false })
			for _, climax := range []bool{false, true} {
				list, want := []Card{brute(1), card(Normal, "brute", 1)}, Final
				if climax {
					list, want = append(list, card(Climax, "brute", 1)), Climax
				}
				r = begin(t, none, deck(list...), ada, bram)
				r, _ = turn(t, r, nil, 1, 1)
				r, _ = turn(t, next(t, r), nil, 1, 1)
				equal(t, "an empty pile brings the ending", r.NextDraw(), want)
			}
		},
		"DIG-DECK-08 DIG-DECK-09 DIG-DECK-10 DIG-DECK-11 DIG-WIN-01 the ending": func(t *testing.T) {
			d := deck(brute(1), card(Normal, "brute", 1), card(Third, "brute", 1), card(Climax, "brute", 1), card(Final, "brute", 1))
			r, _ := turn(t, begin(t, rs, d, ada, bram), nil, 1, 1)
			r, _ = turn(t, next(t, r), nil, 1, 1)
			equal(t, "at 69", r.at(69).NextDraw(), Third)
			equal(t, "at 70", r.at(70).NextDraw(), Climax)
			r = next(t, r.at(76))
			equal(t, "climax", r.Pending.Kind, Climax)
			r, e := turn(t, r, nil, 1, 1)
			equal(t, "a failed climax", []any{e.Passed, r.Outcome, r.NextDraw()}, []any{false, Running, Final})
			r, _ = turn(t, next(t, r), nil, 9, 9)
			equal(t, "after the final", []any{r.Outcome, r.NextDraw()}, []any{Won, ""})
			refused(t, r, Draw{Member: "ada"}, RunOver)
			retreat := changed(t, func(rs *Ruleset) { rs.Flow.ClimaxFailureRetreats = true })
			r, _ = turn(t, begin(t, retreat, d, ada, bram), nil, 1, 1)
			r, _ = turn(t, next(t, r.at(70)), nil, 1, 1)
			equal(t, "under climax_failure_retreats", r.Outcome, LostRetreat)
			finals := deck(brute(1), card(Final, "brute", 1), card(Final, "wits", 1))
			r, _ = turn(t, begin(t, rs, finals, ada, bram), nil, 1, 1)
			ids, _ := r.at(70).Candidates()
			equal(t, "several finals", ids, []string{"final-1", "final-2"})
		},
		"DIG-DECK-12 DIG-CMD-12 no mulligan": func(t *testing.T) {
			r := begin(t, rs, deck(), ada, bram)
			refused(t, r, Draw{Member: "ada"}, ChallengePending)
			r, _ = turn(t, r, nil, 1, 1)
			refused(t, r, Draw{Member: "zoe"}, NotAMember)
		},
		"DIG-CARD-02 DIG-CMD-18 what a challenge shows": func(t *testing.T) {
			shipped := ShippedDungeons()[0]
			r := begin(t, rs, &shipped, kit("ada", tool("rope", "brute", "minor")), bram)
			c, err := r.Challenge("bram")
			if err != nil || c.Card.Text == "" || c.Card.Ability != "brute" || c.Card.Level != 1 || !slices.Equal(c.Card.Conditions, []string{"overzealous"}) {
				t.Errorf("%+v, %v", c, err)
			}
			r, _ = do(t, r, act("ada", "rope"))
			c, _ = r.Challenge("ada")
			equal(t, "acts", c.Acts, []MemberLine{{"ada", "rope", false}, {"bram", "", false}})
			if _, err := r.Challenge("zoe"); codeOf(t, err) != NotAMember {
				t.Error(err)
			}
			r, _ = turn(t, r, nil, 1, 1)
			if _, err := r.Challenge("ada"); codeOf(t, err) != NoChallenge {
				t.Error(err)
			}
		},
		"DIG-CARD-04 DIG-COND-02 conditions fall on everybody at the draw": func(t *testing.T) {
			r := begin(t, rs, deck(brute(1, "bad_luck")), ada, bram)
			camp, err := r.Camp("bram")
			two := 2
			equal(t, "camp before anybody acts", camp.Conditions, []Mark{{Name: "bad_luck", Remaining: &two}})
			equal(t, "error", codeOf(t, err), "")
			_, e := turn(t, r, nil, 5, 5)
			equal(t, "effective", []int{e.Results[0].Effective, e.Results[1].Effective}, []int{3, 3})
		},
		"DIG-RES-01 the total": func(t *testing.T) {
			five := kit("ada", tool("bar", "brute", "minor"))
			five.Statblock.Brute = 5
			_, e := turn(t, begin(t, rs, deck(brute(2)), five, bram), map[string]string{"ada": "!bar"}, 4, 9)
			equal(t, "total", e.Results[0].Total, 13)
		},
		"DIG-RES-02 target numbers": func(t *testing.T) {
			var got []int
			for level := 1; level <= 4; level++ {
				got = append(got, begin(t, rs, deck(brute(level)), ada, bram).TN())
			}
			equal(t, "TN", got, []int{9, 11, 13, 15})
		},
		"DIG-RES-03 the dungeon's bonus": func(t *testing.T) {
			d := deck(brute(2), card(Normal, "brute", 2), card(Climax, "brute", 2), card(Final, "brute", 2))
			d.TNBonus = TNBonus{Climax: 1, Final: 2}
			r, _ := turn(t, begin(t, rs, d, ada, bram), nil, 1, 1)
			got := []int{next(t, r).TN()}
			r = next(t, r.at(70))
			got = append(got, r.TN())
			r, _ = turn(t, r, nil, 1, 1)
			got = append(got, next(t, r).TN())
			equal(t, "normal, climax, final", got, []int{11, 12, 13})
		},
		"DIG-RES-04 DIG-RES-05 own success and the party's": func(t *testing.T) {
			_, e := turn(t, begin(t, rs, deck(brute(2)), ada, bram, cleo), nil, 10, 4, 7)
			equal(t, "14, 8, 11", []any{e.Results[0].Total, e.Results[1].Total, e.Results[2].Total, e.Score, e.Target, e.Passed}, []any{14, 8, 11, 33, 33, true})
			equal(t, "own", []bool{e.Results[0].Success, e.Results[1].Success, e.Results[2].Success}, []bool{true, false, true})
			_, e = turn(t, begin(t, rs, deck(brute(2)), ada, bram, cleo), nil, 10, 4, 6)
			equal(t, "one short", []any{e.Score, e.Passed}, []any{32, false})
			_, e = turn(t, begin(t, rs, deck(brute(2)), ada, bram), nil, 6, 7)
			equal(t, "10 fails, 11 succeeds", []bool{e.Results[0].Success, e.Results[1].Success}, []bool{false, true})
		},
		"DIG-RES-06 DIG-ACT-03 DIG-CMD-17 exhausted members do not count": func(t *testing.T) {
			r := begin(t, rs, deck(brute(2)), ada, bram, cleo).at(0, 0, 0, 100)
			r, _ = do(t, r, act("ada", "force"))
			refused(t, r, Complete{Member: "ada"}, NotAllActed)
			equal(t, "waiting", r.Waiting(), []string{"bram"})
			r, _ = do(t, r, act("bram", "force"))
			equal(t, "ready", len(r.Waiting()), 0)
			_, events := do(t, r, Complete{Member: "ada"}, 9, 9)
			e := events[0].(Completed)
			equal(t, "target and the third", []any{e.Target, e.Results[2].Acted, e.Results[2].Gain}, []any{22, false, 0})
		},
		"DIG-RES-09 exploration is capped": func(t *testing.T) {
			d := deck(brute(1), card(Normal, "brute", 1), card(Climax, "brute", 2, "weaken"))
			r, _ := turn(t, begin(t, rs, d, ada, bram), nil, 1, 1)
			_, e := turn(t, next(t, r.at(96)), nil, 10, 10)
			equal(t, "gain and exploration", []int{e.ExplorationGain, e.Exploration}, []int{20, 100})
		},
		"DIG-RES-13 DIG-RES-14 exhaustion is capped; at 100 one is out": func(t *testing.T) {
			r := begin(t, rs, deck(brute(4, "exhaust")), ada, bram).at(0, 76, 99)
			r, _ = do(t, r, act("bram", "force"))
			r, _ = do(t, r, Contribute{Member: "ada", Use: "force", Risk: true})
			r, events := do(t, r, Complete{Member: "ada"}, 10, 1, 12)
			e := events[0].(Completed)
			equal(t, "gain and exhaustion", []int{e.Results[0].Gain, e.Results[0].Exhaustion}, []int{41, 100})
			equal(t, "outcome", r.Outcome, LostExhausted)
			r = begin(t, rs, deck(), ada, bram).at(0, 0, 100)
			refused(t, r, act("bram", "force"), Exhausted)
			do(t, r.at(0, 0, 99), act("bram", "force"))
		},
		"DIG-COND-01 16 basic, 8 advanced": func(t *testing.T) {
			count := map[string]int{}
			for _, c := range rs.Conditions {
				count[c.Class]++
			}
			equal(t, "classes", count, map[string]int{"basic": 16, "advanced": 8})
		},
		"DIG-COND-03 DIG-FLOW-05 draws tick conditions": func(t *testing.T) {
			r := begin(t, rs, deck(brute(1, "weaken")), ada, bram)
			var left []int
			for range 3 {
				n := 0
				for _, i := range r.Conditions {
					if i.Name == "weaken" {
						n, _ = rs.Remaining(i)
					}
				}
				left = append(left, n)
				r, _ = turn(t, r, nil, 1, 1)
				equal(t, "complete ticks none", mustJSON(t, r.Conditions) != "null", true)
				r = next(t, r)
			}
			equal(t, "remaining", left, []int{2, 1, 0})
		},
		"DIG-COND-06 the rest of the dungeon": func(t *testing.T) {
			r := begin(t, rs, deck(brute(1, "overwhelm")), ada, bram)
			for range 3 {
				_, timed := rs.Remaining(r.Conditions[0])
				equal(t, "permanent", []any{r.Conditions[0].Name, timed}, []any{"overwhelm", false})
				r, _ = turn(t, r, nil, 1, 1)
				r = next(t, r)
			}
		},
		"DIG-COND-07 climax and final tick too": func(t *testing.T) {
			d := deck(card(Entry, "agility", 1, "fright"), card(Climax, "agility", 1), card(Final, "agility", 1))
			r, _ := turn(t, begin(t, rs, d, ada, bram), nil, 1, 1)
			r = next(t, r.at(70))
			got := []int{r.Modifier()}
			r, _ = turn(t, r, nil, 1, 1)
			equal(t, "climax, final", append(got, next(t, r).Modifier()), []int{1, 0})
		},
		"DIG-COND-19 DIG-COND-20 DIG-COND-30 lasting exhaustion": func(t *testing.T) {
			for condition, want := range map[string][][]int{
				"injure": {{5, 13}, {5, 13}, {5, 8}}, "tire": {{8, 11}, {8, 11}, {5, 8}}, "overwhelm": {{10, 13}, {10, 13}, {10, 13}},
			} {
				r := begin(t, rs, deck(brute(1, condition), card(Normal, "brute", 1)), ada, bram)
				for i, w := range want {
					var e Completed
					r, e = turn(t, r, nil, 10, 1)
					equal(t, condition, []any{i, gainsOf(e)}, []any{i, w})
					r = next(t, r.at(0, 0, 0))
				}
			}
			_, e := turn(t, begin(t, rs, deck(brute(2, "overwhelm")), ada, bram), nil, 9, 9)
			equal(t, "overwhelm at L2", gainsOf(e), []int{11, 11})
			_, e = turn(t, begin(t, rs, deck(brute(2, "overwhelm", "overwhelm")), ada, bram), nil, 9, 9)
			equal(t, "twice", gainsOf(e), []int{16, 16})
		},
		"DIG-COND-21 exhaust lasts one challenge": func(t *testing.T) {
			r, _ := turn(t, begin(t, rs, deck(brute(2, "exhaust"), card(Normal, "brute", 2)), ada, bram), nil, 1, 1)
			_, e := turn(t, next(t, r), nil, 1, 1)
			equal(t, "next round", gainsOf(e), []int{17, 17})
		},
		"DIG-COND-23 secret": func(t *testing.T) {
			for die, want := range map[int]int{9: 35, 1: 10} { // the second card's treasure gives 5 when passed
				r, e := turn(t, begin(t, rs, deck(brute(1, "secret"), card(Normal, "brute", 2), card(Normal, "brute", 2)), ada, bram), nil, 9, 9)
				equal(t, "round 1", e.ExplorationGain, 18)
				r, e = turn(t, next(t, r), nil, die, die)
				equal(t, "round 2", e.ExplorationGain, want)
				_, e = turn(t, next(t, r.at(0)), nil, 9, 9)
				equal(t, "round 3", e.ExplorationGain, 25)
			}
		},
		"DIG-COND-24 DIG-COND-28 save point": func(t *testing.T) {
			r := begin(t, rs, deck(brute(1, "madness", "stupify"), card(Second, "brute", 1, "bad_luck", "save_point", "suffer")), ada, bram)
			r, _ = turn(t, r, nil, 1, 1)
			r = next(t, r)
			equal(t, "conditions", r.Conditions, []Instance{{Name: "bad_luck", Phase: 1}, {Name: "suffer", Phase: 1}})
		},
		"DIG-TOOL-11 DIG-CMD-14 only what is loaded": func(t *testing.T) {
			s := newSheet(t)
			s.do(t, BuyTools{Tools: []Tool{tool("a", "brute", "minor"), tool("b", "brute", "minor"), tool("c", "brute", "minor"), tool("d", "brute", "minor"), tool("e", "brute", "minor")}})
			s.do(t, LoadTool{Number: 2})
			s.do(t, LoadTool{Number: 5})
			r := begin(t, rs, deck(), s.Entrant("ada"), bram)
			refused(t, r, act("ada", "a"), NoSuchTool)
			refused(t, r, Contribute{Member: "ada", Tool: 1}, NoSuchTool)
			r, _ = do(t, r, Contribute{Member: "ada", Tool: 5})
			equal(t, "uses", []int{r.Members[0].Tools[0].UsesLeft, r.Members[0].Tools[1].UsesLeft}, []int{3, 2})
		},
		"DIG-TOOL-13 DIG-TOOL-06 uses": func(t *testing.T) {
			d := deck(brute(1, "wonder"), card(Normal, "brute", 1, "wonder"))
			r := begin(t, rs, d, kit("ada", tool("bar", "brute", "minor"), tool("rope", "agility", "minor")), bram)
			refused(t, r, act("ada", "rope"), WrongAbility)
			for left := 2; left >= 0; left-- {
				r, _ = do(t, r, act("ada", "bar"))
				equal(t, "spent at the act", r.Members[0].Tools[0].UsesLeft, left)
				r, _ = turn(t, r, nil, 1, 1)
				r = next(t, r)
			}
			refused(t, r, act("ada", "bar"), NoUsesLeft)
		},
		"DIG-TOOL-14 the bonus is the user's": func(t *testing.T) {
			_, e := turn(t, begin(t, rs, deck(), kit("ada", tool("bar", "brute", "major")), bram), map[string]string{"ada": "bar"}, 5, 5)
			equal(t, "bonus", []int{e.Results[0].ToolBonus, e.Results[1].ToolBonus}, []int{4, 0})
		},
		"DIG-QUAL-01 effects count for those who acted before": func(t *testing.T) {
			r := begin(t, rs, deck(), kit("ada", tool("bar", "brute", "minor", "strengthen")), cleo)
			r, _ = do(t, r, act("cleo", "force"))
			_, e := turn(t, r, map[string]string{"ada": "bar"}, 5, 5)
			equal(t, "effective", e.Results[1].Effective, 6)
		},
		"DIG-QUAL-02 duplicates restart": func(t *testing.T) {
			str, res := tool("bar", "brute", "minor", "strengthen"), tool("salve", "brute", "minor", "resilient")
			restart := changed(t, func(rs *Ruleset) { rs.Effects.DuplicateRule = "restart" })
			last := changed(t, func(rs *Ruleset) { rs.Effects.DuplicateUsers = "last" })
			d := deck(brute(3), card(Normal, "brute", 3))
			r := begin(t, rs, d, kit("ada", str, res), kit("bram", str, res))
			r, _ = do(t, r, act("ada", "bar"))
			r, _ = do(t, r, act("bram", "bar"))
			equal(t, "two in one round", []any{r.Modifier(), r.Effects[0].Users}, []any{2, []string{"ada", "bram"}})
			r, _ = turn(t, r, nil, 1, 1)
			r, _ = do(t, next(t, r), act("ada", "bar"))
			equal(t, "again in round 2", r.Modifier(), 2)
			r, _ = turn(t, r, nil, 1, 1)
			equal(t, "round 3", next(t, r).Modifier(), 1)
			for _, tc := range []struct {
				rs   *Ruleset
				want []int
			}{{rs, []int{20, 10, 10}}, {restart, []int{20, 20, 10}}} {
				r, got := begin(t, tc.rs, d, kit("ada", res), bram), []int{}
				for _, use := range []string{"salve", "salve", ""} {
					var e Completed
					r, e = turn(t, r, map[string]string{"ada": use}, 1, 1)
					got = append(got, e.Results[1].Gain)
					r = next(t, r.at(0, 0, 0))
				}
				equal(t, "resilient in rounds 1 and 2", got, tc.want)
			}
			r = begin(t, last, d, kit("ada", str), kit("bram", str))
			r, _ = do(t, r, act("ada", "bar"))
			r, _ = do(t, r, act("bram", "bar"))
			equal(t, "the latest user only", r.Effects[0].Users, []string{"bram"})
		},
		"DIG-QUAL-03 DIG-QUAL-30 DIG-QUAL-31 DIG-QUAL-32 DIG-QUAL-33 +2, +1, nothing": func(t *testing.T) {
			for ability, quality := range boosts {
				d := deck(card(Entry, ability, 1), card(Normal, ability, 1))
				r, got := begin(t, rs, d, kit("ada", tool("x", ability, "minor", quality)), bram), []int{}
				for _, use := range []string{"x", "", ""} {
					var e Completed
					r, e = turn(t, r, map[string]string{"ada": use}, 1, 1)
					got = append(got, e.Results[1].Effective)
					r = next(t, r)
				}
				equal(t, quality, got, []int{6, 5, 4})
			}
			d := deck(brute(1), card(Climax, "brute", 1), card(Final, "brute", 1))
			r, _ := turn(t, begin(t, rs, d, ada, kit("bram", tool("x", "brute", "minor", "strengthen"))), nil, 1, 1)
			r, _ = turn(t, next(t, r.at(70)), map[string]string{"bram": "x"}, 1, 1)
			equal(t, "used on the climax, counts on the final", next(t, r).Modifier(), 1)
		},
		"DIG-QUAL-04 different effects add": func(t *testing.T) {
			d := deck(brute(1), card(Normal, "brute", 1))
			r := begin(t, rs, d, kit("ada", tool("bar", "brute", "minor", "strengthen"), tool("drum", "brute", "minor", "fanfare")), bram)
			r, _ = turn(t, r, map[string]string{"ada": "bar"}, 9, 9)
			r, _ = do(t, next(t, r), act("ada", "drum"))
			equal(t, "M", r.Modifier(), 2)
		},
		"DIG-QUAL-12 shortsighted": func(t *testing.T) {
			used := changed(t, func(rs *Ruleset) { rs.Effects.ShortsightedAbility = "used_challenge" })
			for _, tc := range []struct {
				rs      *Ruleset
				ability string
				want    []int
			}{{rs, "wits", []int{0, -1, 0}}, {used, "wits", []int{0, 0, 0}}, {used, "agility", []int{0, -1, 0}}} {
				d := deck(card(Entry, "agility", 1), card(Normal, tc.ability, 1))
				r, got := begin(t, tc.rs, d, kit("ada", tool("x", "agility", "minor", "shortsighted")), bram), []int{}
				for _, use := range []string{"x", "", ""} {
					var e Completed
					r, e = turn(t, r, map[string]string{"ada": use}, 1, 1)
					got = append(got, e.Modifier)
					r = next(t, r)
				}
				equal(t, tc.ability, got, tc.want)
			}
		},
		"DIG-QUAL-21 DIG-QUAL-22 rally and fanfare": func(t *testing.T) {
			for quality, want := range map[string][]int{"rally": {0, 1, 0}, "fanfare": {0, 0, 1}} {
				x := tool("x", "brute", "minor", quality)
				d := deck(brute(1), card(Normal, "brute", 1))
				r, e := turn(t, begin(t, rs, d, kit("ada", x), kit("bram", x)), map[string]string{"ada": "x", "bram": "x"}, 1, 1)
				got := []int{e.Modifier}
				r, e = turn(t, next(t, r), map[string]string{"ada": "x", "bram": "x"}, 9, 9)
				got = append(got, e.Modifier)
				_, e = turn(t, next(t, r), map[string]string{"ada": "x"}, 1, 1)
				equal(t, quality+" on the entry, after failing, after passing", append(got, e.Modifier), want)
			}
		},
		"DIG-QUAL-35 resilient": func(t *testing.T) {
			d := deck(brute(3), card(Normal, "brute", 3))
			r := begin(t, rs, d, kit("ada", tool("x", "brute", "minor", "resilient")), bram, cleo)
			var got []int
			for _, use := range []string{"x", "", ""} {
				var e Completed
				r, e = turn(t, r, map[string]string{"ada": use}, 1, 10, 1)
				got = append(got, e.Results[1].Gain)
				r = next(t, r.at(0, 0, 0, 0))
			}
			equal(t, "own successes of a party that fails", got, []int{15, 5, 15})
		},
		"DIG-QUAL-40 cleanse": func(t *testing.T) {
			r := begin(t, rs, deck(brute(3, "overwhelm", "wonder", "weaken")), kit("ada", tool("x", "brute", "minor", "cleanse", "sacrifice"), tool("s", "brute", "minor", "strengthen")), kit("bram", tool("s", "brute", "minor", "strengthen")))
			r, _ = do(t, r, act("bram", "s"))
			r, _ = do(t, r, act("ada", "x"))
			equal(t, "conditions and effects", []any{len(r.Conditions), len(r.Effects), r.Modifier()}, []any{0, 2, 2})
		},
		"DIG-FLOW-01 DIG-CMD-11 from entering to the end": func(t *testing.T) {
			r := begin(t, rs, deck(), ada, bram)
			refused(t, r, Enter{Ruleset: rs, Dungeon: deck(), Leader: "ada", Members: []Entrant{ada, bram}}, RunBegun)
			refused(t, Run{}, Enter{Ruleset: rs, Dungeon: deck(), Leader: "ada", Member: "bram", Members: []Entrant{ada, bram}}, NotLeader)
			refused(t, Run{}, Enter{Ruleset: rs, Dungeon: deck(), Leader: "zoe", Members: []Entrant{ada, bram}}, NotAMember)
			refused(t, Run{}, Enter{Ruleset: rs, Dungeon: deck(), Leader: "ada", Members: []Entrant{ada, ada}}, Invalid)
			refused(t, Run{}, Enter{Ruleset: rs, Dungeon: &Dungeon{}, Leader: "ada", Members: []Entrant{ada, bram}}, Invalid)
			refused(t, Run{}, Enter{Ruleset: rs, Dungeon: deck(), Leader: "ada", Members: []Entrant{ada, kit("bram", tool("x", "brute", "minor", "shiny"))}}, UnknownQuality)
			other, _ := do(t, Run{}, Enter{Ruleset: rs, Dungeon: deck(), Leader: "ada", Member: "bram", Members: []Entrant{ada, bram}, Override: true})
			equal(t, "drawer", other.Pending.Drawer, "bram")
			for r.NextDraw() != "" {
				if r.Pending == nil {
					r = next(t, r)
				}
				r, _ = turn(t, r, nil, 9, 9)
			}
			equal(t, "the end", r.Outcome, Won)
		},
		"DIG-FLOW-02 each command in its state": func(t *testing.T) {
			r, _ := turn(t, begin(t, rs, deck(), ada, bram), nil, 9, 9)
			refused(t, r, Complete{Member: "ada"}, NoChallenge)
			refused(t, r, act("ada", "force"), NoChallenge)
			over, _ := do(t, r, Abandon{Member: "ada"})
			for _, c := range []RunCommand{Draw{Member: "ada"}, act("ada", "force"), Complete{Member: "ada"}, Depart{Member: "bram"}, Promote{Member: "ada", Target: "bram"}, Abandon{Member: "ada"}} {
				refused(t, over, c, RunOver)
			}
			refused(t, r, Abandon{Member: "bram"}, NotLeader)
			do(t, r, Abandon{Member: "gm", Override: true})
		},
		"DIG-FLOW-03 rotation": func(t *testing.T) {
			rotate := changed(t, func(rs *Ruleset) { rs.Flow.DrawRequiresRotation = true })
			r, _ := turn(t, begin(t, rs, deck(), ada, bram), nil, 1, 1)
			do(t, r, Draw{Member: "ada"})
			r, _ = turn(t, begin(t, rotate, deck(), ada, bram), nil, 1, 1)
			refused(t, r, Draw{Member: "ada"}, NotYourDraw)
			do(t, r, Draw{Member: "ada", Override: true})
			r, _ = do(t, r, Draw{Member: "bram"})
			r, _ = turn(t, r, nil, 1, 1)
			do(t, r, Draw{Member: "ada"})
			do(t, r.at(0, 0, 100), Draw{Member: "ada"}) // bram is out and holds nobody up
		},
		"DIG-FLOW-05 completing ticks effects": func(t *testing.T) {
			r, e := turn(t, begin(t, rs, deck(), kit("ada", tool("x", "brute", "minor", "strengthen")), bram), map[string]string{"ada": "x"}, 1, 1)
			equal(t, "phase", []int{e.Effects[0].Phase, rs.EffectRemaining(r.Effects[0])}, []int{2, 1})
			equal(t, "drawing does not", next(t, r).Effects[0].Phase, 2)
		},
		"DIG-FLOW-06 an exhausted member neither draws nor acts": func(t *testing.T) {
			r, _ := turn(t, begin(t, rs, deck(), ada, bram), nil, 1, 1)
			refused(t, r.at(0, 0, 100), Draw{Member: "bram"}, Exhausted)
			refused(t, next(t, r).at(0, 0, 100), act("bram", "force"), Exhausted)
		},
		"DIG-ACT-01 DIG-CMD-15 DIG-RISK-01 what fits the challenge": func(t *testing.T) {
			r := begin(t, rs, deck(), kit("ada", tool("Bar", "brute", "minor"), tool("rope", "agility", "minor")), bram)
			for _, risk := range []bool{false, true} {
				for use, want := range map[string]string{"force": "", "brute": "", "bAR": "", "rush": WrongAbility, "rope": WrongAbility, "spoon": NoSuchTool, "": NoSuchTool} {
					_, _, code := try(t, r, Contribute{Member: "ada", Use: use, Risk: risk})
					equal(t, use, code, want)
				}
			}
			refused(t, r, act("zoe", "force"), NotAMember)
		},
		"DIG-ACT-02 one act each": func(t *testing.T) {
			r := begin(t, rs, deck(), kit("ada", tool("bar", "brute", "minor")), bram)
			r, _ = do(t, r, act("ada", "bar"))
			for _, c := range []Contribute{act("ada", "bar"), {Member: "ada", Use: "force", Risk: true}} {
				refused(t, r, c, AlreadyActed)
			}
			equal(t, "uses", r.Members[0].Tools[0].UsesLeft, 2)
		},
		"DIG-ACT-03 three of four acts are enough when one is out": func(t *testing.T) {
			r := begin(t, rs, deck(), ada, bram, cleo, who("dov")).at(0, 0, 0, 0, 100)
			r, _ = do(t, r, act("ada", "force"))
			r, _ = do(t, r, act("bram", "force"))
			refused(t, r, Complete{Member: "ada"}, NotAllActed)
			r, _ = do(t, r, act("cleo", "force"))
			do(t, r, Complete{Member: "ada"}, 1, 1, 1)
		},
		"DIG-ACT-04 who completes": func(t *testing.T) {
			r, _ := turn(t, begin(t, rs, deck(), ada, bram, cleo), nil, 1, 1, 1)
			r, _ = do(t, r, Draw{Member: "bram"})
			for _, m := range []string{"ada", "bram", "cleo"} {
				r, _ = do(t, r, act(m, "force"))
			}
			refused(t, r, Complete{Member: "ada"}, NotDrawer)
			refused(t, r, Complete{Member: "zoe"}, NotAMember)
			do(t, r, Complete{Member: "bram"}, 1, 1, 1)
			do(t, r, Complete{Member: "gm", Override: true}, 1, 1, 1)
			r, _ = do(t, r, Depart{Member: "bram"})
			refused(t, r, Complete{Member: "cleo"}, NotDrawer)
			do(t, r, Complete{Member: "ada"}, 1, 1)
		},
		"DIG-ACT-05 completing updates everything at once": func(t *testing.T) {
			r, e := turn(t, begin(t, rs, deck(brute(2, "hesitate")), ada, bram), nil, 9, 9)
			equal(t, "told", []any{e.Passed, e.Exploration}, []any{true, 20})
			equal(t, "kept", []int{r.Exploration, r.Members[0].Exhaustion, r.Members[1].Exhaustion}, []int{20, 6, 6})
		},
		"DIG-RISK-02 the bonus is the risker's": func(t *testing.T) {
			_, e := turn(t, begin(t, rs, deck(), ada, bram), map[string]string{"ada": "!force"}, 5, 5)
			equal(t, "totals and score", []int{e.Results[0].Total, e.Results[1].Total, e.Score}, []int{11, 9, 20})
		},
		"DIG-RISK-03 tool extra may need the hit": func(t *testing.T) {
			needs := changed(t, func(rs *Ruleset) { rs.Risk.ToolExtraNeedsChance = true })
			_, e := turn(t, begin(t, needs, deck(brute(4)), kit("ada", tool("bar", "brute", "major")), bram), map[string]string{"ada": "!bar"}, 1, 1, 51)
			equal(t, "gain", e.Results[0].Gain, 23)
		},
		"DIG-PARTY-05 leaving": func(t *testing.T) {
			r := begin(t, rs, deck(), ada, bram, cleo)
			refused(t, r, Depart{Member: "ada"}, LeaderWithMembers)
			refused(t, r, Depart{Member: "zoe"}, NotAMember)
			r, _ = do(t, r, Depart{Member: "bram"})
			equal(t, "left", len(r.Members), 2)
			r, _ = do(t, r, Depart{Member: "cleo"})
			r, e := turn(t, r, nil, 9)
			equal(t, "alone", []any{r.Outcome, e.Target}, []any{Running, 9})
		},
		"DIG-PARTY-06 leaving with an act pending": func(t *testing.T) {
			r := begin(t, rs, deck(brute(2, "hesitate")), ada, bram, kit("cleo", tool("x", "brute", "minor", "sacrifice"), tool("y", "brute", "minor", "liability")))
			base := r
			r, _ = do(t, r, act("cleo", "x"))
			r, _ = do(t, r, Depart{Member: "cleo"})
			_, e := turn(t, r, nil, 9, 9)
			equal(t, "the others", []any{gainsOf(e), e.Target}, []any{[]int{11, 11}, 22})
			r, _ = do(t, base, act("cleo", "y"))
			r, _ = do(t, r, Depart{Member: "cleo"})
			_, e = turn(t, r, nil, 9, 9)
			equal(t, "a leaver's liability", gainsOf(e), []int{6, 6})
		},
		"DIG-PARTY-07 DIG-CMD-05 promoting": func(t *testing.T) {
			r := begin(t, rs, deck(), ada, bram)
			refused(t, r, Promote{Member: "bram", Target: "bram"}, NotLeader)
			refused(t, r, Promote{Member: "ada", Target: "zoe"}, NotAMember)
			acted, _ := do(t, r, act("ada", "force"))
			refused(t, acted, Promote{Member: "ada", Target: "bram"}, ActsPending)
			refused(t, acted, Promote{Member: "gm", Target: "bram", Override: true}, ActsPending)
			r, _ = turn(t, acted, nil, 1, 1)
			r, _ = do(t, r, Promote{Member: "ada", Target: "bram"})
			equal(t, "leader", r.Leader, "bram")
		},
		"DIG-PARTY-08 nobody able is left": func(t *testing.T) {
			r := begin(t, rs, deck(), ada, bram).at(0, 100, 0)
			r, _ = do(t, r, Depart{Member: "bram"})
			equal(t, "outcome", r.Outcome, LostExhausted)
			r = begin(t, rs, deck(), ada, bram)
			r, _ = do(t, r, Depart{Member: "bram"})
			r, _ = do(t, r, Depart{Member: "ada"})
			equal(t, "outcome", r.Outcome, LostExhausted)
		},
		"DIG-CMD-09 DIG-CMD-10 camp and info": func(t *testing.T) {
			r := begin(t, rs, deck(brute(1, "overwhelm")), kit("ada", tool("x", "brute", "minor", "strengthen")), bram)
			r, _ = do(t, r, act("ada", "x"))
			camp, err := r.Camp("bram")
			equal(t, "error", codeOf(t, err), "")
			two := 2
			equal(t, "leader, conditions, effects", []any{camp.Leader, camp.Conditions, camp.Effects, camp.Members[0].Tools[0].UsesLeft},
				[]any{"ada", []Mark{{Name: "overwhelm"}}, []Mark{{Name: "strengthen", Remaining: &two, Users: []string{"ada"}}}, 2})
			equal(t, "info", r.Info(), Info{Number: 1, Name: "Deck", Type: "ruin", Round: 1, Outcome: Running, Hint: OutsidePreferred})
			if _, err := r.Camp("zoe"); codeOf(t, err) != NotAMember {
				t.Error(err)
			}
			if _, err := (Run{}).Camp("ada"); codeOf(t, err) != NotBegun {
				t.Error(err)
			}
		},
		"DIG-WIN-02 DIG-WIN-03 DIG-WIN-04 DIG-WIN-06 the final": func(t *testing.T) {
			d := deck(brute(1), card(Final, "brute", 4, "weaken"))
			for _, tc := range []struct {
				exhaustion []int
				faces      []int
				outcome    string
			}{
				{[]int{85, 89, 100}, []int{10, 10}, Won}, {[]int{95, 99, 100}, []int{10, 10}, LostExhausted}, {[]int{0, 0, 100}, []int{1, 1}, LostRetreat},
				{[]int{99, 99, 100}, []int{1, 1}, LostRetreat},
			} {
				r, _ := turn(t, begin(t, rs, d, kit("ada", tool("bar", "brute", "major", "improved")), kit("bram", tool("bar", "brute", "major", "improved")), cleo), nil, 1, 1, 1)
				r = next(t, r.at(70, tc.exhaustion...))
				r, _ = turn(t, r, map[string]string{"ada": "bar", "bram": "bar"}, tc.faces...)
				equal(t, "outcome", r.Outcome, tc.outcome)
				if r.Outcome == Won {
					equal(t, "exhaustion", []int{r.Members[0].Exhaustion, r.Members[1].Exhaustion, r.Members[2].Exhaustion}, []int{95, 99, 100})
				}
				if r.Outcome == Won && (r.Exploration != 100 || r.Dungeon.ID != "deck" || len(r.Members) != 3 || r.Round != 2) {
					t.Errorf("what is kept of a victory: %+v", r)
				}
			}
		},
		"DIG-WIN-05 all out": func(t *testing.T) {
			r := begin(t, rs, deck(brute(1)), ada, bram, cleo).at(0, 100, 95, 0)
			two, _ := turn(t, r, nil, 1, 9)
			equal(t, "2 of 3", two.Outcome, Running)
			all, _ := turn(t, r.at(0, 100, 95, 95), nil, 1, 9)
			equal(t, "3 of 3", all.Outcome, LostExhausted)
		},
	} {
		t.Run(name, func(t *testing.T) { t.Parallel(); check(t) })
	}
}

func TestOrderOfActing(t *testing.T) {
	t.Parallel()
	t.Run("DIG-ACT-06 changes only the order of dice, effects and users", func(t *testing.T) {
		t.Parallel()
		file, err := ParseTranscripts(shippedTranscripts(t))
		if err != nil {
			t.Fatal(err)
		}
		tr := file.Transcripts[1]
		play := func(order []int) []any {
			var r Run
			var seen []any
			for i, round := range tr.Rounds {
				if i == 0 {
					blank := Run{Ruleset: Default(), Dungeon: &tr.Dungeon, Outcome: Running}
					r, _ = do(t, r, Enter{Ruleset: Default(), Dungeon: &tr.Dungeon, Leader: round.Drawer, Members: tr.entrants()}, face(t, blank, round.Card)...)
				} else {
					r, _ = do(t, r, Draw{Member: round.Drawer}, face(t, r, round.Card)...)
				}
				var faces, risks []int
				for _, at := range order {
					a := round.Actions[at]
					r, _ = do(t, r, Contribute{Member: a.Member, Use: a.Use, Risk: a.Risk})
					faces = append(faces, round.Dice[a.Member].D10)
					if d := round.Dice[a.Member].D100; d != nil {
						risks = append(risks, *d)
					}
				}
				var events []RunEvent
				r, events = do(t, r, Complete{Member: round.Drawer}, append(faces, risks...)...)
				e := events[0].(Completed)
				e.Effects = nil
				seen = append(seen, e)
			}
			return seen
		}
		want := play([]int{0, 1, 2})
		for _, order := range [][]int{{0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
			if got := play(order); !reflect.DeepEqual(got, want) {
				t.Errorf("order %v:\n got %s\nwant %s", order, mustJSON(t, got), mustJSON(t, want))
			}
		}
	})
}
