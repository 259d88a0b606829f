package dangerworld

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/wayfarer-rpg/wayfarer/rules/play"
)

// ended returns a scene in which ada failed or beat the gate with that many botches.
func withBotches(t *testing.T, botches int, x table) Scene {
	t.Helper()
	x.stat, x.gate = botches, 6
	if botches == 0 {
		x.stat = 1
		return played(t, x.begin(t), attempt(), faces(2))
	}
	return played(t, x.begin(t), attempt(), faces(slices.Repeat([]int{1}, botches)...))
}

func buy(s Scene, items ...Item) SpendBotches { return SpendBotches{Check: s.Opened, Items: items} }

// achieves checks a roll that makes a set of one height and nothing else.
func achieves(height int, name string) func(t *testing.T) {
	return func(t *testing.T) {
		s := played(t, table{stat: height, gate: 2}.begin(t), attempt(), faces(slices.Repeat([]int{height}, height)...))
		eq(t, "claimed", latest(s).Outcome.Claimed, height)
		got := s.ViewCheck(latest(s)).Sets[0].Accomplishment
		if got == nil || *got != name {
			t.Errorf("accomplishment %v, want %s", got, name)
		}
	}
}

// costs checks one entry of the botch table: one botch less is refused, as many are accepted.
func costs(cost int, item Item, points int, difficulty int) func(t *testing.T) {
	return func(t *testing.T) {
		item.Challenge = map[bool]string{true: "obstacle"}[difficulty > 0]
		s := withBotches(t, cost-1, table{})
		refuse(t, s, NotEnoughBotches, "", buy(s, item))
		s = withBotches(t, cost, table{})
		s = do(t, s, buy(s, item))
		eq(t, "points", ada(s).Points, points)
		eq(t, "left", latest(s).Unspent, 0)
		if c, ok := s.Challenge("obstacle"); ok != (difficulty > 0) || c.Difficulty != difficulty || ok && c.Parent != "gate" {
			t.Errorf("setback %+v, want difficulty %d", c, difficulty)
		}
	}
}

func stats(group string, from int, want ...string) func(t *testing.T) {
	return func(t *testing.T) {
		var got []string
		for _, s := range Default().Stats {
			if s.Group != group {
				continue
			}
			eq(t, s.Name, s.Number, from+len(got))
			got = append(got, s.Name)
			// Each is a stat that can be checked.
			x := table{stats: map[string]int{s.Name: 2}}.begin(t)
			eq(t, "dice of "+s.Name, latest(do(t, x, attempt(stat(s.Name)))).Pool.Normal, 2)
		}
		eq(t, group, got, want)
	}
}

// The vectors of the catalogue, each under its id.
var vectors = map[string]func(t *testing.T){
	"DW-POOL-01": func(t *testing.T) {
		s := do(t, table{stat: 5}.begin(t), attempt())
		eq(t, "pool", latest(s).Pool, Pool{Normal: 5})
		refuse(t, s, play.BadDice, "", RollCheck{Check: 1}, 1, 2, 3, 4, 0)
		refuse(t, s, play.BadDice, "", RollCheck{Check: 1}, 1, 2, 3, 4, 7)
		do(t, s, RollCheck{Check: 1}, 1, 2, 3, 4, 6)
	},
	"DW-POOL-02": func(t *testing.T) {
		s := do(t, table{stat: 4, fp: 2, bonus: []int{1}, stunned: 1}.begin(t), attempt(aspect(2), bonus(1)))
		eq(t, "pool", latest(s).Pool, Pool{Normal: 6})
	},
	"DW-POOL-03": func(t *testing.T) {
		s := rolled(t, table{stat: 3, penalty: 1}.begin(t), attempt(danger(2)), faces(4, 4, 2, 4, 1, 6))
		eq(t, "faces", latest(s).Faces(), []Face{{"N1", 4}, {"N2", 4}, {"N3", 2}, {"D1", 4}, {"D2", 1}, {"P1", 6}})
	},
	"DW-POOL-04": func(t *testing.T) {
		s := do(t, table{stat: 1, reduced: map[string]int{"Agility": 1}, penalty: 2}.begin(t), attempt())
		c := latest(s)
		eq(t, "pool", c.Pool, Pool{Penalty: 2})
		eq(t, "outcome", c.Outcome, &Outcome{Unrolled: true})
		refuse(t, s, CheckOver, "", RollCheck{Check: 1}, 3, 3)
	},
	"DW-LOCK-01": func(t *testing.T) {
		s := do(t, table{stat: 5, penalty: 1}.begin(t), attempt())
		refuse(t, s, play.BadDice, "", RollCheck{Check: 1}, 1, 2, 3, 4, 5)
		refuse(t, s, play.BadDice, "", RollCheck{Check: 1}, 1, 2, 3, 4, 5, 6, 6)
		do(t, s, RollCheck{Check: 1}, 1, 2, 3, 4, 5, 6)
	},
	"DW-LOCK-02": func(t *testing.T) {
		s := rolled(t, table{stat: 2}.begin(t), attempt(), faces(3, 4), faces(3, 4), faces(3, 4))
		refuse(t, s, NoRerollLeft, "", Reroll{Check: 1}, 3, 4)
	},
	"DW-LOCK-03": func(t *testing.T) {
		s := rolled(t, table{stat: 6}.begin(t), attempt(), faces(4, 4, 2, 1, 6, 4), locking(names("N1", "N2", "N6"), 5, 4, 1))
		eq(t, "rolled", latest(s).Rolls[1].Rolled, names("N3", "N4", "N5"))
		eq(t, "faces", shows(s), []int{4, 4, 5, 4, 1, 4})
	},
	"DW-LOCK-04": func(t *testing.T) {
		s := rolled(t, table{stat: 6}.begin(t), attempt(),
			faces(4, 4, 2, 1, 6, 4), locking(names("N1", "N2", "N6"), 5, 4, 1), locking(names("N4"), 3, 2))
		eq(t, "rolled", latest(s).Rolls[2].Rolled, names("N3", "N5"))
		eq(t, "faces", shows(s), []int{4, 4, 3, 4, 2, 4})
		eq(t, "locked", latest(s).Rolls[2].Locked, names("N1", "N2", "N4", "N6"))
	},
	"DW-LOCK-05": func(t *testing.T) {
		s := rolled(t, table{stat: 5}.begin(t), attempt(), faces(4, 4, 4, 2, 1), locking(names("N1", "N2", "N3"), 4, 6))
		eq(t, "faces", shows(s), []int{4, 4, 4, 4, 6})
		refuse(t, s, NoDieLeft, "", Reroll{Check: 1, Lock: names("N4", "N5")})
		eq(t, "rolls", len(latest(do(t, s, Claim{Check: 1})).Rolls), 2)
	},
	"DW-LOCK-06": func(t *testing.T) {
		for count, want := range map[string]int{"EVERY_ROLL": 1, "FINAL": 0} {
			s := played(t, table{stat: 2, params: map[string]any{"botch_count": count}}.begin(t), attempt(), faces(3, 1), locking(names("N1"), 5))
			eq(t, "faces", shows(s), []int{3, 5})
			eq(t, count, latest(s).Outcome.Botches, want)
		}
	},
	"DW-SET-01": func(t *testing.T) {
		s := rolled(t, table{stat: 5}.begin(t), attempt(), faces(3, 3, 3, 5, 2))
		for height, width := range map[int]int{3: 3, 5: 1, 2: 1, 4: 0} {
			eq(t, fmt.Sprint("width of ", height), set(t, s, height).Width, width)
		}
	},
	"DW-SET-02": func(t *testing.T) {
		for roll, want := range map[string]bool{"22": true, "33": false, "333": true, "66666": false, "666666": true} {
			var n []int
			for _, r := range roll {
				n = append(n, int(r-'0'))
			}
			s := rolled(t, table{stat: len(n)}.begin(t), attempt(), faces(n...))
			eq(t, roll, set(t, s, n[0]).Triggers, want)
		}
	},
	"DW-SET-03": func(t *testing.T) {
		s := played(t, table{stat: 3}.begin(t), attempt(), faces(1, 1, 1))
		eq(t, "outcome", latest(s).Outcome, &Outcome{Botches: 3})
	},
	"DW-SET-04": func(t *testing.T) {
		s := played(t, table{stat: 4}.begin(t), attempt(), faces(2, 2, 2, 2))
		eq(t, "claimed", latest(s).Outcome.Claimed, 2)
		eq(t, "bonus dice", ada(s).BonusDice(), 0)
	},
	"DW-SET-05": func(t *testing.T) {
		s := played(t, table{stat: 5}.begin(t), attempt(), faces(2, 2, 3, 3, 3))
		eq(t, "set 2", set(t, s, 2).Triggers, true)
		eq(t, "set 3", set(t, s, 3).Triggers, true)
		eq(t, "claimed", latest(s).Outcome.Claimed, 3)
	},
	"DW-ACC-01": achieves(2, "minor"),
	"DW-ACC-02": achieves(3, "meaningful"),
	"DW-ACC-03": achieves(4, "significant"),
	"DW-ACC-04": achieves(5, "major"),
	"DW-ACC-05": achieves(6, "huge"),
	"DW-DIFF-01": func(t *testing.T) {
		s := table{}.begin(t)
		for difficulty := 2; difficulty <= 6; difficulty++ {
			do(t, s, CreateChallenge{Name: "x", Difficulty: difficulty})
		}
		refuse(t, s, BadDifficulty, "difficulty", CreateChallenge{Name: "x", Difficulty: 1})
		refuse(t, s, BadDifficulty, "difficulty", CreateChallenge{Name: "x", Difficulty: 7})
	},
	"DW-DIFF-02": func(t *testing.T) {
		refuse(t, table{}.begin(t), BadDifficulty, "difficulty", CreateChallenge{Name: "trap"})
	},
	"DW-DIFF-03": func(t *testing.T) {
		s := played(t, table{stat: 5, gate: 4}.begin(t), attempt(), faces(4, 4, 4, 4, 6))
		eq(t, "success", latest(s).Outcome.Success, true)
		eq(t, "gate", statusOf(s, "gate"), Done)
	},
	"DW-DIFF-04": func(t *testing.T) {
		s := played(t, table{stat: 3, gate: 4}.begin(t), attempt(danger(2)), faces(3, 2, 2, 3, 3))
		eq(t, "set 3 triggers", set(t, s, 3).Triggers, true)
		eq(t, "claimed", latest(s).Outcome.Claimed, 0)
		eq(t, "success", latest(s).Outcome.Success, false)
		eq(t, "danger", ada(s).Points, 0)
		eq(t, "gate", statusOf(s, "gate"), Open)
	},
	"DW-BONUS-01": func(t *testing.T) {
		s := played(t, table{stat: 4, gate: 3}.begin(t), attempt(), faces(4, 4, 4, 4))
		s = do(t, s, NoteBenefit{Check: 1, Text: "The guard looks the other way."})
		eq(t, "benefit", latest(s).Benefit, "The guard looks the other way.")
		s = played(t, table{stat: 4, gate: 4}.begin(t), attempt(), faces(4, 4, 4, 4))
		refuse(t, s, NoBenefit, "", NoteBenefit{Check: 1, Text: "none is due"})
	},
	"DW-BONUS-02": func(t *testing.T) {
		for _, v := range []struct{ difficulty, height, want int }{{3, 5, 2}, {2, 6, 4}} {
			s := played(t, table{stat: v.height, gate: v.difficulty}.begin(t), attempt(), faces(slices.Repeat([]int{v.height}, v.height)...))
			eq(t, "gained", latest(s).Outcome.BonusGained, v.want)
			eq(t, "at hand", ada(s).BonusDice(), v.want)
		}
	},
	"DW-BONUS-03": func(t *testing.T) {
		s := do(t, table{stat: 3, bonus: []int{2}}.begin(t), attempt(bonus(1)))
		eq(t, "pool", latest(s).Pool, Pool{Normal: 4})
		for _, end := range [][]int{{2, 2, 3, 3}, {2, 3, 4, 5}} {
			done := do(t, do(t, s, RollCheck{Check: 1}, end...), Claim{Check: 1})
			eq(t, "left", ada(done).BonusDice(), 1)
		}
	},
	"DW-BONUS-04": func(t *testing.T) {
		s := played(t, table{stat: 4, gate: 4}.begin(t), attempt(), faces(4, 4, 4, 4))
		eq(t, "gained", latest(s).Outcome.BonusGained, 0)
	},
	"DW-BOTCH-01": func(t *testing.T) {
		s := played(t, table{stat: 2, penalty: 1}.begin(t), attempt(danger(1)), faces(1, 4, 1, 1))
		eq(t, "botches", latest(s).Outcome.Botches, 3)
	},
	"DW-BOTCH-02": func(t *testing.T) {
		for count, want := range map[string][2]int{"EVERY_ROLL": {3, 2}, "FINAL": {1, 1}} {
			x := table{stat: 3, params: map[string]any{"botch_count": count}}
			again := played(t, x.begin(t), attempt(), faces(1, 1, 4), locking(names("N3"), 5, 1))
			kept := played(t, x.begin(t), attempt(), faces(1, 1, 4), locking(names("N1", "N3"), 5))
			eq(t, count, [2]int{latest(again).Outcome.Botches, latest(kept).Outcome.Botches}, want)
		}
	},
	"DW-BOTCH-03": func(t *testing.T) {
		s := played(t, table{stat: 4, gate: 3}.begin(t), attempt(), faces(3, 3, 3, 1))
		eq(t, "success", latest(s).Outcome.Success, true)
		eq(t, "botches", latest(s).Unspent, 1)
	},
	"DW-BOTCH-04": func(t *testing.T) {
		s := withBotches(t, 3, table{})
		refuse(t, s, NotEnoughBotches, "", buy(s, Item{Buy: BuyHitFull}))
		repeated := do(t, s, buy(s, Item{Buy: BuyDanger}, Item{Buy: BuyDanger}))
		eq(t, "left", latest(repeated).Unspent, 1)
		s = do(t, s, buy(s, Item{Buy: BuyDanger}, Item{Buy: BuySetbackMinor, Challenge: "dog"}))
		eq(t, "left", latest(s).Unspent, 0)
		eq(t, "points", ada(s).Points, 1)
		eq(t, "dog", statusOf(s, "dog"), Open)
	},
	"DW-BOTCH-05": func(t *testing.T) {
		s := withBotches(t, 2, table{})
		s = do(t, s, buy(s, Item{Buy: BuyDanger}))
		s, events, _ := try(t, s, CloseCheck{Check: 1})
		eq(t, "events", events, []Event{CheckEnded{Check: 1, Lapsed: 1}})
		eq(t, "left", s.Unspent(latest(s)), 0)
	},
	"DW-SPEND-01": func(t *testing.T) {
		costs(1, Item{Buy: BuyDanger}, 1, 0)(t)
		s := withBotches(t, 1, table{points: 4})
		s = do(t, s, buy(s, Item{Buy: BuyDanger}))
		eq(t, "points and Bashed", []int{ada(s).Points, ada(s).Bashed}, []int{5, 1})
	},
	"DW-SPEND-02": func(t *testing.T) {
		s := withBotches(t, 1, table{})
		refuse(t, s, NotEnoughBotches, "", buy(s, Item{Buy: BuyPenaltyDie, Challenge: "gate"}, Item{Buy: BuyDanger}))
		s = do(t, s, buy(s, Item{Buy: BuyPenaltyDie, Challenge: "gate"}))
		c, _ := s.Challenge("gate")
		eq(t, "penalty dice", c.Penalty, 1)
	},
	"DW-SPEND-03": costs(2, Item{Buy: BuySetbackMinor}, 0, 2),
	"DW-SPEND-04": func(t *testing.T) {
		costs(2, Item{Buy: BuyHitReduced}, 2, 0)(t)
		zero := map[string]any{"HIT_REDUCED": 0, "HIT_FULL": 0, "HIT_OVERLOAD": 0}
		s := withBotches(t, 2, table{params: map[string]any{"hit_danger_points": zero}})
		s, events, _ := try(t, s, buy(s, Item{Buy: BuyHitReduced}))
		eq(t, "recorded", events[0], Event(BotchesSpent{Check: 1, Spent: 2, Bought: names(BuyHitReduced), Hits: names("ada")}))
		eq(t, "points", ada(s).Points, 0)
	},
	"DW-SPEND-05": costs(3, Item{Buy: BuySetbackMeaningful}, 0, 3),
	"DW-SPEND-06": costs(4, Item{Buy: BuySetbackSignificant}, 0, 4),
	"DW-SPEND-07": func(t *testing.T) {
		costs(4, Item{Buy: BuyHitFull}, 4, 0)(t)
		s := withBotches(t, 6, table{})
		s = do(t, s, buy(s, Item{Buy: BuyHitFull}, Item{Buy: BuyDanger}, Item{Buy: BuyDanger}))
		eq(t, "points and level", []int{ada(s).Points, s.Ruleset.Level(ada(s).Points)}, []int{6, 1})
	},
	"DW-SPEND-08": costs(5, Item{Buy: BuySetbackMajor}, 0, 5),
	"DW-SPEND-09": costs(6, Item{Buy: BuySetbackHuge}, 0, 6),
	"DW-SPEND-10": func(t *testing.T) {
		s := withBotches(t, 5, table{})
		refuse(t, s, NotEnoughBotches, "", buy(s, Item{Buy: BuyHitOverload}))
		s = withBotches(t, 6, table{points: 4})
		s, events, _ := try(t, s, buy(s, Item{Buy: BuyHitOverload}))
		eq(t, "points", ada(s).Points, 10)
		eq(t, "levels", harmOf(events), []Harm{{Level: 1, Kind: Bashed}, {Level: 2, Kind: Bashed}})
	},
	"DW-SPEND-11": func(t *testing.T) {
		s := withBotches(t, 2, table{})
		c, _ := do(t, s, buy(s, Item{Buy: BuySetbackMinor, Challenge: "dog", Difficulty: ptr(3)})).Challenge("dog")
		eq(t, "difficulty", c.Difficulty, 3)
		refuse(t, s, BadDifficulty, "items[0].difficulty", buy(s, Item{Buy: BuySetbackMinor, Challenge: "dog", Difficulty: ptr(7)}))
	},
	"DW-SPEND-12": func(t *testing.T) {
		s := played(t, table{stat: 4, gate: 4}.begin(t), attempt(), faces(1, 1, 1, 2))
		s = do(t, s, buy(s, Item{Buy: BuySetbackMeaningful, Challenge: "trapped"}))
		eq(t, "gate", statusOf(s, "gate"), Blocked)
		refuse(t, s, ChallengeNotOpen, "", attempt())
		s = played(t, s, attempt(against("trapped")), faces(3, 3, 3, 2))
		eq(t, "gate", statusOf(s, "gate"), Open)
		do(t, s, attempt())
	},
	"DW-SPEND-13": func(t *testing.T) {
		s := played(t, table{stat: 5, gate: 3}.begin(t), attempt(), faces(3, 3, 3, 1, 1))
		s = do(t, s, buy(s, Item{Buy: BuySetbackMinor, Challenge: "last door"}))
		eq(t, "gate", statusOf(s, "gate"), Pending)
		s = played(t, s, attempt(against("last door")), faces(2, 2, 3, 4, 5))
		eq(t, "gate", statusOf(s, "gate"), Done)

		s = played(t, table{stat: 5, gate: 4}.begin(t), attempt(), faces(1, 1, 1, 2, 2))
		s = do(t, s, buy(s, Item{Buy: BuySetbackMeaningful, Challenge: "trapped"}))
		s = played(t, s, attempt(against("trapped")), faces(3, 3, 3, 1, 1))
		eq(t, "gate after the setback", statusOf(s, "gate"), Open)
		s = do(t, s, buy(s, Item{Buy: BuySetbackMinor, Challenge: "dog"}))
		eq(t, "held again", names(statusOf(s, "trapped"), statusOf(s, "gate")), names(Pending, Blocked))
		s = played(t, s, attempt(against("dog")), faces(2, 2, 3, 4, 5))
		eq(t, "released", names(statusOf(s, "trapped"), statusOf(s, "gate")), names(Done, Open))
	},
	"DW-DDIE-01": func(t *testing.T) {
		s := do(t, table{stat: 3}.begin(t), attempt(danger(2)))
		do(t, s, RollCheck{Check: 1}, 1, 2, 3, 4, 5)
		s = rolled(t, table{stat: 3}.begin(t), attempt(), faces(1, 2, 3))
		refuse(t, s, TooLate, "", Reroll{Check: 1, DangerDice: 1}, 1, 2, 3, 4)
	},
	"DW-DDIE-02": func(t *testing.T) {
		s := rolled(t, table{stat: 3, gate: 4}.begin(t), attempt(danger(2)), faces(4, 4, 2, 4, 1), locking(names("N1", "N2", "D1"), 4, 4))
		eq(t, "rolled", latest(s).Rolls[1].Rolled, names("N3", "D2"))
		eq(t, "width", set(t, s, 4).Width, 5)
	},
	"DW-DDIE-03": func(t *testing.T) {
		s := played(t, table{stat: 1}.begin(t), attempt(danger(1)), faces(3, 1))
		eq(t, "botches", latest(s).Outcome.Botches, 1)
		eq(t, "danger", ada(s).Points, 0)
	},
	"DW-DDIE-04": func(t *testing.T) {
		s := rolled(t, table{stat: 2}.begin(t), attempt(danger(2)), faces(4, 4, 4, 4))
		s = do(t, s, Claim{Check: 1, Height: 4})
		eq(t, "danger", ada(s).Points, 2)
	},
	"DW-DDIE-05": func(t *testing.T) {
		s := rolled(t, table{stat: 3}.begin(t), attempt(danger(2)), faces(4, 4, 4, 4, 4))
		s = do(t, s, Claim{Check: 1, Height: 4})
		eq(t, "width", set(t, s, 4).Width, 5)
		eq(t, "danger", ada(s).Points, 1)
	},
	"DW-DDIE-06": func(t *testing.T) {
		s := rolled(t, table{stat: 2}.begin(t), attempt(danger(1)), faces(2, 2, 3))
		s = do(t, s, Claim{Check: 1, Height: 2})
		eq(t, "danger", ada(s).Points, 0)
	},
	"DW-PEN-01": func(t *testing.T) {
		s := played(t, table{stat: 2, penalty: 1}.begin(t), attempt(), faces(2, 3, 4))
		eq(t, "pool of the next check", latest(do(t, s, attempt())).Pool, Pool{Normal: 2, Penalty: 1})
	},
	"DW-PEN-02": func(t *testing.T) {
		s := rolled(t, table{stat: 2, penalty: 1}.begin(t), attempt(), faces(2, 3, 4))
		refuse(t, s, NotLockable, "lock[0]", Reroll{Check: 1, Lock: names("P1")}, 2, 3)
		s = do(t, s, Reroll{Check: 1}, 5, 5)
		eq(t, "faces", shows(s), []int{5, 5, 4})
	},
	"DW-PEN-03": func(t *testing.T) {
		s := played(t, table{stat: 1, penalty: 1}.begin(t), attempt(), faces(1, 1))
		eq(t, "outcome", latest(s).Outcome, &Outcome{Botches: 2})
	},
	"DW-PEN-04": func(t *testing.T) {
		s := rolled(t, table{stat: 2, penalty: 1}.begin(t), attempt(), faces(2, 2, 2))
		eq(t, "of two", set(t, s, 2), Set{Height: 2, Width: 1, Normal: 1, Cancelled: names("N2")})
		s = rolled(t, table{stat: 3, penalty: 1}.begin(t), attempt(), faces(2, 2, 2, 2))
		eq(t, "of three", set(t, s, 2), Set{Height: 2, Width: 2, Normal: 2, Cancelled: names("N3"), Triggers: true})
	},
	"DW-PEN-05": func(t *testing.T) {
		s := rolled(t, table{stat: 3, penalty: 1}.begin(t), attempt(danger(1)), faces(3, 3, 3, 3, 3))
		eq(t, "default", set(t, s, 3), Set{Height: 3, Width: 3, Normal: 3, Cancelled: names("D1"), Triggers: true})
		eq(t, "cost", ada(do(t, s, Claim{Check: 1, Cancel: map[int][]string{3: names("N1")}})).Points, 1)
		for _, wrong := range [][]string{names("N1", "N2"), names("P1"), names("N4")} {
			refuse(t, s, BadCancel, "cancel", Claim{Check: 1, Cancel: map[int][]string{3: wrong}})
		}
		refuse(t, s, BadCancel, "cancel", Claim{Check: 1, Cancel: map[int][]string{4: names("N1")}})
		refuse(t, s, BadCancel, "cancel", Claim{Check: 1, Cancel: map[int][]string{1: names("N1")}})
	},
	"DW-PEN-06": func(t *testing.T) {
		s := rolled(t, table{stat: 2, penalty: 2}.begin(t), attempt(), faces(4, 4, 5, 5))
		eq(t, "other height", []Set{set(t, s, 4), set(t, s, 5)}, []Set{{Height: 4, Width: 2, Normal: 2, Cancelled: []string{}}, {}})
		s = rolled(t, table{stat: 1, penalty: 2}.begin(t), attempt(), faces(5, 5, 5))
		eq(t, "two for one", set(t, s, 5), Set{Height: 5, Cancelled: names("N1")})
	},
	"DW-PEN-07": func(t *testing.T) {
		s := rolled(t, table{stat: 3, penalty: 1}.begin(t), attempt(), faces(3, 3, 4, 3))
		eq(t, "set", set(t, s, 3), Set{Height: 3, Width: 1, Normal: 1, Cancelled: names("N2")})
	},
	"DW-STAT-01": stats("Physical", 1, "Agility", "Endurance", "Speed", "Strength"),
	"DW-STAT-02": stats("Mental", 5, "Perception", "Reasoning", "Recall", "Willpower"),
	"DW-STAT-03": func(t *testing.T) {
		stats("Social", 9, "Charisma", "Empathy", "Gravitas", "Cool")(t)
		eq(t, "stats in all", len(Default().Stats), 12)
	},
	"DW-ASP-01": func(t *testing.T) {
		refuse(t, table{stat: 4, fp: 2}.begin(t), NotEnoughFP, "", attempt(aspect(3)))
	},
	"DW-ASP-02": func(t *testing.T) {
		s := do(t, table{stat: 4, fp: 2}.begin(t), attempt(aspect(2)))
		eq(t, "pool", latest(s).Pool, Pool{Normal: 6})
		eq(t, "FP", ada(s).FP, 0)
	},
	"DW-ASP-03": func(t *testing.T) {
		s := table{stat: 4, fp: 2, more: []CreateChallenge{{Name: "duke", Difficulty: 2, AspectCap: ptr(1)}}}.begin(t)
		refuse(t, s, AspectCap, "", attempt(against("duke"), aspect(2)))
		do(t, s, attempt(against("duke"), aspect(1)))
		s = table{stat: 4, fp: 2, params: map[string]any{"aspect_spend_cap": 1}}.begin(t)
		refuse(t, s, AspectCap, "", attempt(aspect(2)))
	},
	"DW-NEG-01": func(t *testing.T) {
		s := do(t, table{stat: 4}.begin(t), attempt(negative(1)))
		eq(t, "FP", ada(s).FP, 1)
		eq(t, "pool", latest(s).Pool, Pool{Normal: 4, Penalty: 1})
		later := do(t, do(t, table{stat: 4}.begin(t), attempt()), PayNegative{Check: 1, FP: 1})
		eq(t, "brought in later", mustJSON(t, later), mustJSON(t, s))
		// What the GM pays cannot be spent on the same check.
		refuse(t, table{stat: 4}.begin(t), NotEnoughFP, "", attempt(aspect(1), negative(1)))
	},
	"DW-TRACK-01": func(t *testing.T) {
		for points, level := range map[int]int{4: 0, 5: 1, 9: 1, 10: 2} {
			s := do(t, table{}.begin(t), RaiseDanger{Character: "ada", Steps: points})
			eq(t, fmt.Sprint(points, " points"), s.Ruleset.Level(ada(s).Points), level)
			eq(t, fmt.Sprint("Bashed at ", points), ada(s).Bashed, level)
		}
	},
	"DW-TRACK-02": func(t *testing.T) {
		s := table{}.begin(t)
		var got []string
		for points := 1; points <= 55; points++ {
			dice := []int(nil)
			if points == 35 || points == 40 || points == 45 {
				dice = []int{1}
			}
			var events []Event
			s, events, _ = try(t, s, RaiseDanger{Character: "ada", Steps: 1}, dice...)
			for _, h := range harmOf(events) {
				got = append(got, fmt.Sprint(h.Kind, " ", points))
			}
		}
		eq(t, "levels", got, names("BASHED 5", "BASHED 10", "BASHED 15", "STUNNED 20", "STUNNED 25", "STUNNED 30",
			"INJURED 35", "INJURED 40", "INJURED 45", "KO 50", "DEAD 55"))
	},
	"DW-TRACK-03": func(t *testing.T) {
		s := do(t, table{stat: 3}.begin(t), RaiseDanger{Character: "ada", Steps: 10})
		eq(t, "pool", latest(do(t, s, attempt())).Pool, Pool{Normal: 3, Penalty: 2})
		eq(t, "after the encounter", latest(do(t, do(t, s, EndEncounter{}), attempt())).Pool, Pool{Normal: 3})
	},
	"DW-TRACK-04": func(t *testing.T) {
		s := do(t, table{stat: 3, points: 19}.begin(t), RaiseDanger{Character: "ada", Steps: 1})
		eq(t, "pool", latest(do(t, s, attempt())).Pool, Pool{Normal: 2})
		eq(t, "after the encounter", latest(do(t, do(t, s, EndEncounter{}), attempt())).Pool, Pool{Normal: 3})
	},
	"DW-TRACK-05": func(t *testing.T) {
		s := table{stats: map[string]int{"Perception": 3}, points: 34}.begin(t)
		refuse(t, s, play.BadDice, "", RaiseDanger{Character: "ada", Steps: 1}, 13)
		s = do(t, s, RaiseDanger{Character: "ada", Steps: 1}, 5)
		eq(t, "Perception", ada(s).Stat("Perception"), 2)
		s = do(t, s, EndEncounter{})
		eq(t, "after the encounter", ada(s).Stat("Perception"), 2)
		eq(t, "after a rest", ada(do(t, s, LongTermRest{})).Stat("Perception"), 3)
	},
	"DW-TRACK-06": func(t *testing.T) {
		s := do(t, table{stat: 3, points: 49}.begin(t), RaiseDanger{Character: "ada", Steps: 1})
		refuse(t, s, KnockedOut, "", attempt())
		do(t, do(t, s, EndEncounter{}), attempt())
	},
	"DW-TRACK-07": func(t *testing.T) {
		s := do(t, table{stat: 3, points: 54}.begin(t), RaiseDanger{Character: "ada", Steps: 1})
		s = do(t, s, RaiseDanger{Character: "ada", Steps: 20})
		eq(t, "points", ada(s).Points, 55)
		for _, c := range []Command{EndEncounter{}, LongTermRest{}} {
			s = do(t, s, c)
			refuse(t, s, IsDead, "", attempt())
			eq(t, "points", ada(s).Points, 55)
		}
	},
	"DW-TRACK-08": func(t *testing.T) {
		s, events, _ := try(t, table{points: 29}.begin(t), RaiseDanger{Character: "ada", Steps: 1})
		eq(t, "points", ada(s).Points, 30)
		eq(t, "level", harmOf(events), []Harm{{Level: 6, Kind: Stunned}})
	},
	"DW-TRACK-09": func(t *testing.T) {
		s := table{stats: map[string]int{"Speed": 2}, points: 35}.begin(t)
		refuse(t, s, play.BadDice, "", RaiseDanger{Character: "ada", Steps: 10}, 3)
		s, events, _ := try(t, s, RaiseDanger{Character: "ada", Steps: 10}, 3, 12)
		eq(t, "levels", harmOf(events), []Harm{{Level: 8, Kind: Injured, Stat: "Speed"}, {Level: 9, Kind: Injured, Stat: "Cool"}})
		eq(t, "reductions", ada(s).Reductions, map[string]int{"Speed": 1})
	},
	"DW-TRACK-10": func(t *testing.T) {
		s := do(t, table{stat: 3, points: 34}.begin(t), RaiseDanger{Character: "ada", Steps: 16}, 1, 1, 1)
		s = do(t, s, EndEncounter{})
		refuse(t, do(t, table{stat: 3, points: 49}.begin(t), RaiseDanger{Character: "ada", Steps: 1}), KnockedOut, "", attempt())
		eq(t, "K.O. and points after the encounter", []any{ada(s).KO, ada(s).Points}, []any{false, 50})
		s = do(t, s, LongTermRest{})
		eq(t, "after a rest", ada(s), Sheet{Character: "ada", Stats: map[string]int{"Agility": 3}, Bonus: []int{}})
		s = do(t, do(t, table{}.begin(t), RaiseDanger{Character: "ada", Steps: 5}), LongTermRest{})
		eq(t, "rest alone", []int{ada(s).Points, ada(s).Bashed}, []int{0, 1})
	},
}

func TestVectors(t *testing.T) {
	t.Parallel()
	for _, id := range slices.Sorted(maps.Keys(vectors)) {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			vectors[id](t)
		})
	}
}

// Every rule of the catalogue but the odds has its vector here, and no vector is of a rule that is not there.
func TestEveryRuleHasItsVector(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../docs/rules/danger-world.md")
	if err != nil {
		t.Fatal(err)
	}
	var rules []string
	for _, m := range regexp.MustCompile(`(?m)^\| (DW-[A-Z]+-\d+) \|`).FindAllStringSubmatch(string(raw), -1) {
		if !strings.HasPrefix(m[1], "DW-ODDS-") {
			rules = append(rules, m[1])
		}
	}
	slices.Sort(rules)
	eq(t, "rules with a vector", slices.Sorted(maps.Keys(vectors)), rules)
}
