package chance

import (
	"errors"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"

	dicev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dice/v1"

	"github.com/wayfarer-rpg/wayfarer/rules/odds"
	"github.com/wayfarer-rpg/wayfarer/rules/play"
)

// ask answers a question written as JSON, as REST takes it.
func ask(t *testing.T, question string) (*dicev1.OddsResponse, error) {
	t.Helper()
	req := &dicev1.OddsRequest{}
	if err := protojson.Unmarshal([]byte(question), req); err != nil {
		t.Fatal(err)
	}
	return Answer(req)
}

func TestAnswer(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		question, mean, variance, success string
		check                             func(a *dicev1.OddsResponse) bool
	}{
		"a notation": {
			`{"notation": {"notation": "2d6"}}`, "7", "35/6", "",
			func(a *dicev1.OddsResponse) bool {
				o := a.GetOutcomes()
				return len(o) == 11 && o[0].GetValue() == 2 && o[0].GetChance() == "1/36" && o[0].GetAtLeast() == "1" &&
					o[10].GetAtLeast() == "1/36" && a.GetQuantiles()[4].GetValue() == 7 && a.GetNotation().GetNotation() == "2d6" && a.GetLost() == "0"
			},
		},
		"a notation with a target": {
			`{"notation": {"notation": "3d6+1", "target": 12}}`, "23/2", "35/4", "1/2",
			func(a *dicev1.OddsResponse) bool { return a.GetSuccessFloat() == 0.5 },
		},
		// What explodes thirteen times is lost: above all outcomes of the one, and below those of the other.
		"an explosion with a target": {
			`{"notation": {"notation": "1d6!", "target": 1}}`, "", "", "13060694015/13060694016",
			func(a *dicev1.OddsResponse) bool {
				return a.GetOutcomes()[0].GetAtLeast() == a.GetSuccess() && a.GetLost() == "1/13060694016"
			},
		},
		"less an explosion, with a target": {
			`{"notation": {"notation": "10-1d6!", "target": 9}}`, "", "", "1/6",
			func(a *dicev1.OddsResponse) bool {
				o := a.GetOutcomes()
				return o[len(o)-1].GetValue() == 9 && o[len(o)-1].GetAtLeast() == "1/6" && o[0].GetAtLeast() == "13060694015/13060694016"
			},
		},
		"a comparison": {
			`{"comparison": {"first": "d4", "second": "d6"}}`, "-1", "25/6", "1/4",
			func(a *dicev1.OddsResponse) bool {
				c := a.GetComparison()
				return c.GetFirst() == "1d4" && c.GetSecond() == "1d6" && c.GetLess() == "7/12" && c.GetEqual() == "1/6" && c.GetGreater() == "1/4"
			},
		},
		"a pool": {
			`{"pool": {"dice": 2, "difficulty": 2}}`, "91/108", "", "8281/46656",
			func(a *dicev1.OddsResponse) bool {
				h := a.GetPool().GetHeights()
				return len(h) == 6 && h[0].GetName() == "none" && h[1].GetName() == "2" && h[1].GetChance() == "8281/46656" && a.GetOutcomes()[0].GetChance() == "1225/2916"
			},
		},
		"a pool with its rules": {`{"pool": {"dice": 1, "danger": 2, "difficulty": 2, "rules": {"freeLocks": true}}}`, "", "", "1004045/2519424", nil},
		"a pool of one roll":    {`{"pool": {"dice": 2, "difficulty": 2, "rules": {"maxRerolls": 0}}}`, "1/3", "", "1/36", nil},
		"a move": {
			`{"move": {"normal": [5, 1], "danger": [2], "locked": ["N1"], "difficulty": 2, "rerollsLeft": 1}}`, "1/6", "", "1/6",
			func(a *dicev1.OddsResponse) bool {
				m := a.GetMove()
				return !m.GetStop() && strings.Join(m.GetKeep(), " ") == "N1 D1" && len(a.GetOutcomes()) == 0
			},
		},
		"a usage die": {
			`{"usage": {"sides": 8, "checks": 3}}`, "9", "20", "3/4",
			func(a *dicev1.OddsResponse) bool {
				o := a.GetOutcomes()
				return len(o) == 1 && o[0].GetChance() == "1/24" && o[0].GetAtLeast() == "1" && a.GetLost() == "23/24" &&
					len(a.GetUsage().GetStepDown()) == 3 && a.GetUsage().GetStepDown()[1].GetName() == "d6" && a.GetQuantiles()[4].GetValue() == 8
			},
		},
		"two usage dice":        {`{"usage": {"sides": 20, "second": 4}}`, "32", "", "9/10", nil},
		"the highest of two":    {`{"usage": {"sides": 8, "mode": "USAGE_MODE_HIGHEST_2"}}`, "29", "", "15/16", nil},
		"the lowest of three":   {`{"usage": {"sides": 8, "mode": "USAGE_MODE_LOWEST_3"}}`, "21129/4921", "", "27/64", nil},
		"a spill of none":       {`{"spill": {"dice": 0}}`, "0", "0", "1", nil},
		"one event for each 1":  {`{"spill": {"eventPerOne": true}}`, "1", "5/6", "15625/46656", nil},
		"two ones may be fatal": {`{"spill": {"deadlyFrom": 2}}`, "", "", "", func(a *dicev1.OddsResponse) bool { return a.GetSpill().GetSeverities()[2].GetChance() == "0" }},
		"a long rest": {
			`{"spill": {"spills": 8}}`, "31031/5832", "", "",
			func(a *dicev1.OddsResponse) bool {
				s := a.GetSpill()
				return s.GetAnyCombat() == "215622815/429981696" && s.GetDeadlyCombat() == "763/46656" && len(s.GetEvents()) == 13 &&
					s.GetEvents()[11].GetChance() == "1/12" && s.GetSeverities()[3].GetChance() == "1453/23328"
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, err := ask(t, tc.question)
			if err != nil {
				t.Fatal(err)
			}
			for what, pair := range map[string][2]string{
				"mean": {a.GetMean(), tc.mean}, "variance": {a.GetVariance(), tc.variance}, "success": {a.GetSuccess(), tc.success},
			} {
				if pair[1] != "" && pair[0] != pair[1] {
					t.Errorf("%s: %s, want %s", what, pair[0], pair[1])
				}
			}
			if tc.check != nil && !tc.check(a) {
				t.Errorf("got %v", a)
			}
		})
	}
}

func TestLongNumbersAreLeftOut(t *testing.T) {
	t.Parallel()
	a, err := ask(t, `{"notation": {"notation": "500d6"}}`)
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, o := range a.GetOutcomes() {
		if o.GetChance() != "" || o.GetAtLeast() != "" {
			t.Fatalf("an exact number: %v", o)
		}
		sum += o.GetChanceFloat()
	}
	if !a.GetRounded() || a.GetMean() != "1750" || sum < 0.999999 || sum > 1.000001 {
		t.Errorf("rounded %v, mean %s, chances add up to %v", a.GetRounded(), a.GetMean(), sum)
	}
}

func TestAnswerRefuses(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ question, code, field string }{
		"nothing asked":             {`{}`, odds.BadOdds, "question"},
		"no notation":               {`{"notation": {"notation": "2d"}}`, "BAD_NOTATION", "notation.notation"},
		"a bad second":              {`{"comparison": {"first": "d6", "second": "x"}}`, "BAD_NOTATION", "comparison.second"},
		"a bad first":               {`{"comparison": {"first": "", "second": "d6"}}`, "BAD_NOTATION", "comparison.first"},
		"many outcomes":             {`{"notation": {"notation": "1d20000"}}`, odds.TooMuchWork, ""},
		"too many dice":             {`{"pool": {"dice": 12, "danger": 1, "difficulty": 2}}`, odds.BadOdds, "pool.dice"},
		"no such die":               {`{"move": {"normal": [1], "locked": ["D1"], "difficulty": 2}}`, odds.BadOdds, "move.locked[0]"},
		"more left than there are":  {`{"move": {"normal": [1], "rerollsLeft": 3, "difficulty": 2}}`, odds.BadOdds, "move.rerolls_left"},
		"too few checks to be over": {`{"usage": {"sides": 8, "checks": 2}}`, odds.BadOdds, "usage.checks"},
		"a bad severity":            {`{"spill": {"deadlyFrom": 1}}`, odds.BadOdds, "spill.deadly_from"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var r *play.Refusal
			if a, err := ask(t, tc.question); !errors.As(err, &r) || r.Code != tc.code || r.Field != tc.field {
				t.Errorf("got %v, %v, want %s at %q", a, err, tc.code, tc.field)
			}
		})
	}
}

func TestMode(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]dicev1.UsageMode{
		"single": dicev1.UsageMode_USAGE_MODE_SINGLE, "lowest2": dicev1.UsageMode_USAGE_MODE_LOWEST_2,
		"lowest3": dicev1.UsageMode_USAGE_MODE_LOWEST_3, "highest2": dicev1.UsageMode_USAGE_MODE_HIGHEST_2,
	} {
		if got, ok := Mode(name); !ok || got != want {
			t.Errorf("%s: %v, %v", name, got, ok)
		}
	}
	for _, name := range []string{"", "unspecified", "lowest", "lowest4"} {
		if got, ok := Mode(name); ok {
			t.Errorf("%q: %v", name, got)
		}
	}
}
