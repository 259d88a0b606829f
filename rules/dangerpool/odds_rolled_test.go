package dangerpool

import (
	"math/big"
	"slices"
	"testing"
)

// spillsOfSix counts the odds of a spill of six dice by the rules themselves: every number of ones with every face of the
// event die, each as often as it comes up.
func spillsOfSix(t *testing.T) map[string]*big.Rat {
	t.Helper()
	odds := map[string]*big.Rat{}
	count := func(what string, p *big.Rat) {
		if odds[what] == nil {
			odds[what] = new(big.Rat)
		}
		odds[what].Add(odds[what], p)
	}
	d := after(t, begun(t, nil, nil), "WAIT 50")
	for ones := range 7 {
		// So many of the 6^6 outcomes have that number of ones.
		ways := new(big.Int).Mul(new(big.Int).Binomial(6, int64(ones)), new(big.Int).Exp(big.NewInt(5), big.NewInt(int64(6-ones)), nil))
		p := new(big.Rat).SetFrac(ways, big.NewInt(46656))
		faces := slices.Concat(slices.Repeat([]int{1}, ones), slices.Repeat([]int{3}, 6-ones))
		if ones == 0 {
			_, r := played(t, d, faces, "MOVE")
			count(spillOf(t, r).Severity, p)
			continue
		}
		p.Mul(p, big.NewRat(1, 12))
		for d12 := range 12 {
			_, r := played(t, d, append(faces[:6:6], d12+1), "MOVE")
			s := spillOf(t, r)
			count(s.Severity, p)
			count(s.Events[0].Event, p)
			count(s.Events[0].Event+" "+s.Severity, p)
		}
	}
	return odds
}

func TestTheRulesRollWhatTheOddsSay(t *testing.T) {
	t.Parallel()
	odds := spillsOfSix(t)
	tests := rules{}
	for id, want := range map[string]map[string]string{
		"POOL-ODDS-01": {"NONE": "15625/46656"},
		"POOL-ODDS-02": {"MINOR": "3125/7776", "MODERATE": "3125/15552", "DEADLY": "1453/23328"},
		"POOL-ODDS-03": {"PROVISIONS_RUINED": "3125/93312"},
		"POOL-ODDS-04": {"REPUTATION_DAMAGE": "3125/62208"},
		"POOL-ODDS-05": {"LIGHT_DISRUPTION": "30625/559872"},
		"POOL-ODDS-06": {"SPELL_DISRUPTION": "3875/69984", "MAGIC_ITEM_DISRUPTION": "15515/279936"},
		"POOL-ODDS-07": {
			"ENVIRONMENTAL_HAZARD": "31031/559872", "CORNERED": "31031/559872", "TIME_PRESSURE": "31031/559872", "TRAP_FIRES": "31031/559872",
			"ALLY_THREATENED": "31031/559872", "DETECTED": "31031/559872",
		},
		"POOL-ODDS-08": {"COMBAT_ENCOUNTER": "1/12"},
		"POOL-ODDS-09": {"COMBAT_ENCOUNTER DEADLY": "763/46656"},
	} {
		tests[id] = func(t *testing.T) {
			for what, p := range want {
				w, _ := new(big.Rat).SetString(p)
				if odds[what] == nil || odds[what].Cmp(w) != 0 {
					t.Errorf("%s: got %v, want %s", what, odds[what], p)
				}
			}
		}
	}
	tests["POOL-ODDS-10"] = func(t *testing.T) {
		_, r := played(t, begun(t, nil, nil), nil, "LONG_REST")
		spills := int64(len(r.Spills))
		event := new(big.Rat).Sub(big.NewRat(1, 1), odds["NONE"])
		eq(t, "mean events", event.Mul(event, big.NewRat(spills, 1)).RatString(), "31031/5832")
		none := new(big.Rat).Sub(big.NewRat(1, 1), odds["COMBAT_ENCOUNTER"])
		all := big.NewRat(1, 1)
		for range spills {
			all.Mul(all, none)
		}
		eq(t, "at least one combat", new(big.Rat).Sub(big.NewRat(1, 1), all).RatString(), "215622815/429981696")
	}
	tests.run(t)
}
