package digger

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Every rule of the catalogue is cited by a test.
func TestEveryRuleIsCited(t *testing.T) {
	t.Parallel()
	catalogue, err := os.ReadFile("../../docs/rules/digger.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var tests strings.Builder
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		tests.Write(raw)
	}
	rows := regexp.MustCompile(`(?m)^\| (DIG-[A-Z]+-\d+) `).FindAllStringSubmatch(string(catalogue), -1)
	if len(rows) < 200 {
		t.Fatalf("the catalogue has only %d rows", len(rows))
	}
	for _, row := range rows {
		if !strings.HasPrefix(row[1], "DIG-OPEN-") && !strings.Contains(tests.String(), row[1]) {
			t.Errorf("%s is cited by no test", row[1])
		}
	}
}

// Score modifiers of conditions, round by round, by ability.
func TestConditionModifiers(t *testing.T) {
	t.Parallel()
	refresh := changed(t, func(rs *Ruleset) { rs.ConditionsStacking = "refresh" })
	for name, tc := range map[string]struct {
		conditions []string
		want       map[string][]int
	}{
		"DIG-COND-10 hesitate":                  {[]string{"hesitate"}, map[string][]int{"agility": {-1, 0, 0}, "wits": {0, 1, 0}, "brute": {0, 0, 0}}},
		"DIG-COND-10 hesitate twice":            {[]string{"hesitate", "hesitate"}, map[string][]int{"agility": {-2, 0, 0}, "wits": {0, 2, 0}}},
		"DIG-COND-11 reckless":                  {[]string{"reckless"}, map[string][]int{"wits": {-1, 0, 0}, "brute": {0, 1, 0}}},
		"DIG-COND-12 fright":                    {[]string{"fright"}, map[string][]int{"combat": {-1, 0, 0}, "agility": {0, 1, 0}}},
		"DIG-COND-13 overzealous":               {[]string{"overzealous"}, map[string][]int{"brute": {-1, 0, 0}, "combat": {0, 1, 0}}},
		"DIG-COND-14 weaken":                    {[]string{"weaken"}, map[string][]int{"brute": {-2, -2, 0}, "wits": {0, 0, 0}}},
		"DIG-COND-15 slow":                      {[]string{"slow"}, map[string][]int{"agility": {-2, -2, 0}, "brute": {0, 0, 0}}},
		"DIG-COND-16 stupify":                   {[]string{"stupify"}, map[string][]int{"wits": {-2, -2, 0}, "brute": {0, 0, 0}}},
		"DIG-COND-17 wound":                     {[]string{"wound"}, map[string][]int{"combat": {-2, -2, 0}, "brute": {0, 0, 0}}},
		"DIG-COND-18 bad luck":                  {[]string{"bad_luck"}, map[string][]int{"brute": {-1, -1, 0}, "agility": {-1, -1, 0}, "wits": {-1, -1, 0}, "combat": {-1, -1, 0}}},
		"DIG-COND-18 bad luck and weaken":       {[]string{"bad_luck", "weaken"}, map[string][]int{"brute": {-3, -3, 0}}},
		"DIG-COND-05 different conditions add":  {[]string{"weaken", "collapse", "bad_luck"}, map[string][]int{"brute": {-5, -5, -2}}},
		"DIG-COND-26 collapse":                  {[]string{"collapse"}, map[string][]int{"brute": {-2, -2, -2, -2}, "wits": {0, 0, 0}}},
		"DIG-COND-26 collapse twice":            {[]string{"collapse", "collapse"}, map[string][]int{"brute": {-4, -4, -4}}},
		"DIG-COND-27 cripple":                   {[]string{"cripple"}, map[string][]int{"agility": {-2, -2, -2, -2}}},
		"DIG-COND-28 madness":                   {[]string{"madness"}, map[string][]int{"wits": {-2, -2, -2, -2}}},
		"DIG-COND-29 maim":                      {[]string{"maim"}, map[string][]int{"combat": {-2, -2, -2, -2}}},
		"DIG-COND-24 save point leaves no mark": {[]string{"save_point", "weaken"}, map[string][]int{"brute": {-2, -2, 0}}},
		"DIG-CARD-03 the same condition twice":  {[]string{"weaken", "weaken"}, map[string][]int{"brute": {-4, -4, 0}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for ability, want := range tc.want {
				equal(t, ability, modifiers(t, Default(), ability, len(want), tc.conditions...), want)
			}
		})
	}
	for name, tc := range map[string]struct {
		rs   *Ruleset
		want []int
	}{
		"DIG-COND-04 DIG-COND-14 weaken in rounds 1 and 2 stacks": {Default(), []int{-2, -4, -2, 0}},
		"DIG-COND-04 under refresh it restarts":                   {refresh, []int{-2, -2, -2, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := deck(card(Entry, "brute", 1, "weaken"), card(Second, "brute", 1, "weaken"), card(Normal, "brute", 1))
			r := begin(t, tc.rs, d, who("ada"), who("bram"))
			got := []int{r.Modifier()}
			for range 3 {
				r, _ = turn(t, r, nil, 1, 1)
				r = next(t, r)
				got = append(got, r.Modifier())
			}
			equal(t, "M", got, tc.want)
		})
	}
	t.Run("DIG-COND-04 secret owes its bonus under both", func(t *testing.T) {
		t.Parallel()
		for _, rs := range []*Ruleset{Default(), refresh} {
			r := begin(t, rs, deck(card(Entry, "brute", 1, "secret"), card(Second, "brute", 1, "secret")), who("ada"), who("bram"))
			r, _ = turn(t, r, nil, 1, 1)
			_, e := turn(t, next(t, r), nil, 10, 10)
			equal(t, "gain", e.ExplorationGain, 28)
		}
		r := begin(t, refresh, deck(card(Entry, "brute", 1, "collapse"), card(Second, "brute", 1, "collapse")), who("ada"), who("bram"))
		r, _ = turn(t, r, nil, 1, 1)
		equal(t, "a permanent one does not change", next(t, r).Conditions, []Instance{{Name: "collapse", Phase: 1}})
	})
}

// What one round gives: exhaustion of each member and exploration. Ratings are 4, so a die of d totals d+4.
func TestRoundNumbers(t *testing.T) {
	t.Parallel()
	type want struct {
		passed      bool
		gains       []int
		exploration int
	}
	for name, tc := range map[string]struct {
		level      int
		conditions []string
		uses       map[string]string
		faces      []int
		want       want
	}{
		"DIG-RES-07 L1 passed":                                  {1, []string{"hesitate"}, nil, []int{9, 9}, want{true, []int{5, 5}, 18}},
		"DIG-RES-07 L2 passed":                                  {2, []string{"hesitate"}, nil, []int{9, 9}, want{true, []int{6, 6}, 20}},
		"DIG-RES-07 L3 passed":                                  {3, []string{"hesitate"}, nil, []int{10, 10}, want{true, []int{8, 8}, 23}},
		"DIG-RES-07 L4 passed":                                  {4, []string{"hesitate"}, map[string]string{"ada": "!brute", "bram": "!brute"}, []int{10, 10}, want{true, []int{10, 10}, 26}},
		"DIG-RES-07 DIG-RES-10 DIG-RES-11 L1 failed":            {1, []string{"hesitate"}, nil, []int{1, 1}, want{false, []int{14, 14}, 8}},
		"DIG-RES-07 DIG-RES-11 L2 failed":                       {2, []string{"hesitate"}, nil, []int{1, 1}, want{false, []int{17, 17}, 10}},
		"DIG-RES-10 L3 failed, own success 15, DIG-RES-11 20":   {3, []string{"hesitate"}, nil, []int{10, 1}, want{false, []int{15, 20}, 12}},
		"DIG-RES-11 L4 failed":                                  {4, []string{"hesitate"}, nil, []int{1, 1}, want{false, []int{23, 23}, 14}},
		"DIG-RES-11 L3 passed, own failure 13":                  {3, []string{"hesitate"}, nil, []int{10, 8}, want{true, []int{8, 13}, 23}},
		"DIG-RES-08 treasure and vault at L2":                   {2, []string{"treasure", "vault"}, nil, []int{9, 9}, want{true, []int{6, 6}, 35}},
		"DIG-RES-08 treasure and vault, failed":                 {2, []string{"treasure", "vault"}, nil, []int{1, 1}, want{false, []int{17, 17}, 10}},
		"DIG-RES-12 DIG-COND-25 wonder at L1 passed":            {1, []string{"wonder"}, nil, []int{9, 9}, want{true, []int{0, 0}, 18}},
		"DIG-COND-25 wonder at L3 failed, own failure":          {3, []string{"wonder"}, nil, []int{1, 1}, want{false, []int{12, 12}, 12}},
		"DIG-COND-21 exhaust at L2 failed":                      {2, []string{"exhaust"}, nil, []int{1, 9}, want{false, []int{27, 13}, 10}},
		"DIG-COND-22 treasure passed":                           {1, []string{"treasure"}, nil, []int{9, 9}, want{true, []int{5, 5}, 23}},
		"DIG-COND-22 treasure failed":                           {1, []string{"treasure"}, nil, []int{1, 1}, want{false, []int{14, 14}, 8}},
		"DIG-COND-31 suffer at L2 passed":                       {2, []string{"suffer"}, nil, []int{9, 9}, want{true, []int{16, 16}, 20}},
		"DIG-CARD-03 DIG-COND-31 suffer twice":                  {2, []string{"suffer", "suffer"}, nil, []int{9, 9}, want{true, []int{26, 26}, 20}},
		"DIG-COND-31 two suffers keep one minimum":              {2, []string{"suffer", "suffer", "hope", "hope"}, nil, []int{9, 9}, want{true, []int{10, 10}, 20}},
		"DIG-COND-32 vault at L4 passed":                        {4, []string{"vault"}, map[string]string{"ada": "!brute", "bram": "!brute"}, []int{10, 10}, want{true, []int{10, 10}, 36}},
		"DIG-COND-32 vault at L4 failed":                        {4, []string{"vault"}, nil, []int{1, 1}, want{false, []int{23, 23}, 14}},
		"DIG-COND-33 hope at L4 failed, own failure":            {4, []string{"hope"}, nil, []int{1, 1}, want{false, []int{8, 8}, 14}},
		"DIG-COND-33 hope at L2 passed":                         {2, []string{"hope"}, nil, []int{9, 9}, want{true, []int{0, 0}, 20}},
		"DIG-RISK-03 d100 50 hits":                              {2, []string{"hesitate"}, map[string]string{"ada": "!brute"}, []int{1, 1, 50}, want{false, []int{25, 17}, 10}},
		"DIG-RISK-03 d100 51 does not":                          {2, []string{"hesitate"}, map[string]string{"ada": "!brute"}, []int{1, 1, 51}, want{false, []int{17, 17}, 10}},
		"DIG-RISK-03 own success rolls no d100":                 {2, []string{"hesitate"}, map[string]string{"ada": "!brute"}, []int{9, 1}, want{false, []int{13, 17}, 10}},
		"DIG-RISK-04 DIG-CMD-16 minor, no hit":                  {2, []string{"hesitate"}, map[string]string{"ada": "!minor"}, []int{1, 1, 51}, want{false, []int{20, 17}, 10}},
		"DIG-RISK-04 minor, hit":                                {2, []string{"hesitate"}, map[string]string{"ada": "!minor"}, []int{1, 1, 50}, want{false, []int{28, 17}, 10}},
		"DIG-RISK-04 major, no hit":                             {2, []string{"weaken"}, map[string]string{"bram": "!major"}, []int{1, 1, 51}, want{false, []int{17, 22}, 10}},
		"DIG-RISK-04 major, hit":                                {2, []string{"weaken"}, map[string]string{"bram": "!major"}, []int{1, 1, 50}, want{false, []int{17, 30}, 10}},
		"DIG-RISK-05 the extra belongs to the sum":              {1, []string{"hope"}, map[string]string{"bram": "!brute"}, []int{10, 1, 10}, want{true, []int{0, 1}, 18}},
		"DIG-QUAL-10 sacrifice at L2 passed":                    {2, []string{"hesitate"}, map[string]string{"ada": "sacrifice"}, []int{9, 9}, want{true, []int{11, 11}, 20}},
		"DIG-QUAL-10 sacrifice by two":                          {2, []string{"hesitate"}, map[string]string{"ada": "sacrifice", "bram": "sacrifice"}, []int{9, 9}, want{true, []int{11, 11}, 20}},
		"DIG-QUAL-11 liability, the user fails":                 {2, []string{"hesitate"}, map[string]string{"ada": "liability"}, []int{4, 9}, want{true, []int{20, 16}, 20}},
		"DIG-QUAL-11 liability, the user succeeds":              {2, []string{"hesitate"}, map[string]string{"ada": "liability"}, []int{9, 9}, want{true, []int{6, 6}, 20}},
		"DIG-QUAL-11 liability by two, one fails":               {2, []string{"hesitate"}, map[string]string{"ada": "liability", "bram": "liability"}, []int{4, 9}, want{true, []int{20, 16}, 20}},
		"DIG-QUAL-34 stalwart at L3 failed, own successes":      {3, []string{"hesitate"}, map[string]string{"ada": "stalwart"}, []int{7, 9, 1}, want{false, []int{5, 10, 15}, 12}},
		"DIG-QUAL-34 stalwart by two":                           {3, []string{"hesitate"}, map[string]string{"ada": "stalwart", "bram": "stalwart"}, []int{7, 7, 1}, want{false, []int{5, 5, 15}, 12}},
		"DIG-QUAL-40 cleanse takes the minimum and the penalty": {3, []string{"overwhelm", "suffer", "weaken"}, map[string]string{"ada": "cleanse"}, []int{7, 1}, want{false, []int{15, 20}, 12}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kit := []Tool{
				tool("minor", "brute", "minor"), tool("major", "brute", "major"), tool("sacrifice", "brute", "minor", "sacrifice"),
				tool("liability", "brute", "minor", "liability"), tool("stalwart", "brute", "minor", "stalwart"),
				tool("cleanse", "brute", "minor", "cleanse", "inefficient"),
			}
			members := []Entrant{who("ada", kit...), who("bram", kit...), who("cleo", kit...)}[:len(tc.want.gains)]
			r := begin(t, Default(), deck(card(Entry, "brute", tc.level, tc.conditions...)), members...)
			_, e := turn(t, r, tc.uses, tc.faces...)
			got := want{e.Passed, nil, e.ExplorationGain}
			for _, res := range e.Results {
				got.gains = append(got.gains, res.Gain)
			}
			if got.passed != tc.want.passed || got.exploration != tc.want.exploration || !slices.Equal(got.gains, tc.want.gains) {
				t.Errorf("%+v, want %+v", got, tc.want)
			}
		})
	}
}
