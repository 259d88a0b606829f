package diedrop

import (
	"math/big"
	"testing"
)

func rat(t *testing.T, what string, got *big.Rat, want string) {
	t.Helper()
	if w, ok := new(big.Rat).SetString(want); !ok || got.Cmp(w) != 0 {
		t.Errorf("%s: got %s, want %s", what, got.RatString(), want)
	}
}

// ways are the checks of the catalogue's tables, in the order of their columns.
var ways = []struct {
	n    int
	keep Keep
}{{1, KeepSingle}, {2, KeepLowest}, {3, KeepLowest}, {2, KeepHighest}}

func TestOdds(t *testing.T) {
	t.Parallel()
	rs := Default()
	rules{
		"DDW-USE-08 chance of a step down": func(t *testing.T) {
			for sides, row := range map[int][]string{
				8: {"1/4", "7/16", "37/64", "1/16"}, 20: {"1/10", "19/100", "271/1000", "1/100"},
			} {
				for i, w := range ways {
					rat(t, dieName(sides), rs.StepDownChance(sides, w.n, w.keep), row[i])
				}
			}
		},
		"DDW-USE-08 what the rules roll has that chance": func(t *testing.T) {
			// Every outcome of three d4, counted by the rules themselves.
			steps := 0
			j, move := into(t, "swamp", 4)
			for i := range 64 {
				after, _ := do(t, j, move, i%4+1, i/4%4+1, i/16+1, 6)
				if len(after.Food) == 0 {
					steps++
				}
			}
			rat(t, "three d4", rs.StepDownChance(4, 3, KeepLowest), big.NewRat(int64(steps), 64).RatString())
		},
		"DDW-USE-11 checks until out": func(t *testing.T) {
			for sides, row := range map[int][]string{
				4:  {"2", "4/3", "8/7", "4"},
				6:  {"5", "47/15", "341/133", "13"},
				8:  {"9", "569/105", "21129/4921", "29"},
				10: {"14", "2582/315", "1903994/300181", "54"},
				12: {"20", "39742/3465", "34014650/3902353", "90"},
				20: {"30", "1101598/65835", "13120323150/1057537663", "190"},
			} {
				for i, w := range ways {
					rat(t, dieName(sides), rs.ChecksUntilOut([]int{sides}, w.n, w.keep), row[i])
				}
			}
			rat(t, "[d20,d4]", rs.ChecksUntilOut([]int{20, 4}, 1, KeepSingle), "32")
			rat(t, "[d20,d20]", rs.ChecksUntilOut([]int{20, 20}, 1, KeepSingle), "60")
			rat(t, "no food", rs.ChecksUntilOut(nil, 1, KeepSingle), "0")
		},
		"DDW-FORAGE-08 net step of an attempt": func(t *testing.T) {
			for _, tc := range []struct {
				terrain        string
				sides          int
				up, same, down string
			}{
				{"plains", 6, "4/9", "4/9", "1/9"},
				{"swamp", 4, "1/12", "5/8", "7/24"},
			} {
				n, keep := rs.checkFor(tc.terrain, false)
				up, same, down := rs.ForageSteps(tc.sides, n, keep)
				rat(t, "up", up, tc.up)
				rat(t, "same", same, tc.same)
				rat(t, "down", down, tc.down)
			}
		},
		"DDW-FORAGE-08 every attempt counted": func(t *testing.T) {
			j := scene{world: row("plains"), at: &Hex{0, 0}, food: []int{6}}.begin(t)
			got := map[int]int{}
			for i := range 36 {
				after, _ := do(t, j, Forage{}, i%6+1, i/6+1, 6)
				got[after.Food[0]]++
			}
			eq(t, "of 36", got, map[int]int{8: 16, 6: 16, 4: 4})
		},
		"DDW-FORAGE-08 attempts from d4 to d20": func(t *testing.T) {
			for i, want := range []string{"35019/2560", "3055451/102400", "1033844183/12288000"} {
				rat(t, "attempts", rs.ForageAttempts(4, 20, ways[i].n, ways[i].keep), want)
			}
			rat(t, "from d20", rs.ForageAttempts(20, 20, 1, KeepSingle), "0")
		},
		"DDW-ENC-07 chances outdoors": func(t *testing.T) {
			rat(t, "encounter", rs.EncounterChance(), "1/6")
			for i, want := range []string{"1/16", "2/16", "3/16", "4/16", "3/16", "2/16", "1/16"} {
				rat(t, "row", RowChance(i+2), want)
			}
			rat(t, "5 in a round", times(rs.EncounterChance(), RowChance(5)), "1/24")
		},
		"DDW-NPC-02 chances of the reactions": func(t *testing.T) {
			want := map[string]string{"attacks": "1/36", "threatens": "1/4", "hesitates": "4/9", "talks": "1/4", "helps": "1/36"}
			got := rs.ReactionChances()
			eq(t, "reactions", len(got), len(want))
			for id, p := range want {
				rat(t, id, got[id], p)
			}
		},
		"DDW-LIGHT-02 a torch lasts nine turns": func(t *testing.T) {
			rat(t, "torch", rs.ChecksUntilOut([]int{rs.int("light.torch_die")}, 1, KeepSingle), "9")
		},
		"DDW-LIGHT-03 a lantern lasts twenty turns": func(t *testing.T) {
			rat(t, "lantern", rs.ChecksUntilOut([]int{rs.int("light.lantern_die")}, 1, KeepSingle), "20")
		},
		"DDW-DARK-07 chances in the dark": func(t *testing.T) {
			rat(t, "lit", rs.TurnEncounterChance(false), "1/6")
			rat(t, "dark", rs.TurnEncounterChance(true), "1/2")
			rat(t, "three quiet turns", times(rest(rs.TurnEncounterChance(true)), rest(rs.TurnEncounterChance(true)), rest(rs.TurnEncounterChance(true))), "1/8")
		},
		"the figures follow the parameters": func(t *testing.T) {
			own, err := rs.With(map[string]any{"use.step_down_max": 3, "forage.success_min": 5, "enc.check_max": 2, "dark.check_max": 6, "turn.check_max": 0})
			if err != nil {
				t.Fatal(err)
			}
			rat(t, "step down", own.StepDownChance(6, 1, KeepSingle), "1/2")
			up, _, _ := own.ForageSteps(6, 1, KeepSingle)
			rat(t, "up", up, "1/6")
			rat(t, "outdoors", own.EncounterChance(), "1/3")
			rat(t, "dark", own.TurnEncounterChance(true), "1")
			rat(t, "lit", own.TurnEncounterChance(false), "0")
		},
	}.run(t)
}
