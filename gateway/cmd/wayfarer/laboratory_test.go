package main

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
)

// lastLine runs `wayfarer simulate` and reads the object on its last line.
func lastLine(t *testing.T, into any, args ...string) {
	t.Helper()
	out, err := wayfarer(t, append([]string{"simulate", "--json"}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimRight(out, "\n"), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), into); err != nil {
		t.Fatalf("the last line is no object: %v\n%s", err, out)
	}
}

type rated struct {
	Rate float64 `json:"rate"`
}

// POOL-ODDS-10 and POOL-REST-03 through the command line.
func TestSimulateALongRestInTheDangerPool(t *testing.T) {
	t.Parallel()
	var r struct {
		System      string     `json:"system"`
		Runs        int        `json:"runs"`
		SuccessRate float64    `json:"success_rate"`
		Interval    [2]float64 `json:"interval"`
		AnyCombat   rated      `json:"any_combat"`
		BySpills    []int      `json:"by_spills"`
		Events      struct {
			Mean, Error float64
		} `json:"events"`
	}
	lastLine(t, &r, "--system", "danger-pool", "--script", "LONG_REST", "--runs", "20000", "--seed", "3", "--progress")
	if r.System != "danger-pool" || r.Runs != 20000 || r.BySpills[8] != 20000 || r.SuccessRate < r.Interval[0] || r.SuccessRate > r.Interval[1] {
		t.Errorf("got %+v", r)
	}
	if math.Abs(r.Events.Mean-5.320816) > 4*r.Events.Error || math.Abs(r.AnyCombat.Rate-0.501470) > 0.015 {
		t.Errorf("%+v events, any combat %v", r.Events, r.AnyCombat)
	}
}

func TestSimulateJourneys(t *testing.T) {
	t.Parallel()
	type report struct {
		Route       [][2]int `json:"route"`
		SuccessRate float64  `json:"success_rate"`
		Curve       []struct {
			Fed rated `json:"fed"`
		} `json:"curve"`
	}
	var byName, byHexes, alone report
	lastLine(t, &byName, "--system", "die-drop", "--from", "tallowick", "--to", "brennhythe", "--runs", "2000")
	lastLine(t, &byHexes, "--system", "die-drop", "--route", "1,2 2,2 2,3 3,3 4,3 4,4 4,5", "--runs", "2000", "--workers", "3")
	if fmt.Sprint(byName) != fmt.Sprint(byHexes) || len(byName.Curve) != 6 || byName.SuccessRate < 0.9 {
		t.Errorf("by name %+v\nby hexes %+v", byName, byHexes)
	}
	company := file(t, "company.json", `{"members": [{"name": "Asa", "hp": 3, "hp_max": 3, "str": 9, "str_max": 9, "capacity": 10}]}`)
	lastLine(t, &alone, "--system", "die-drop", "--from", "1,2", "--to", "4,5", "--runs", "500", "--party", company, "--food", "none")
	if alone.SuccessRate != 0 || len(alone.Curve) != 6 {
		t.Errorf("alone and hungry: %+v", alone)
	}
}

func TestTheLaboratoryForPeople(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args []string
		want []string
	}{
		"digger, sizes and one changed number": {
			[]string{"--dungeon", "ostrell-granary", "--runs", "30", "--party-sizes", "--sensitivity", "--set", "risk.bonus=3"},
			[]string{"exploration, challenge by challenge", " ┤", "└  1   2", "members   won", "95 %:", "the ruleset     risk.bonus 3 -> 4"},
		},
		"danger pool": {
			[]string{"--system", "danger-pool", "--runs", "50", "--policy", "careful", "--legs", "6"},
			[]string{"danger pool: careful, 6 legs, 50 expeditions", "survived ", "turned_back", "DEADLY", "12 combat_encounter", "expeditions by events"},
		},
		"die drop": {
			[]string{"--system", "die-drop", "--from", "tallowick", "--to", "brennhythe", "--runs", "50", "--policy", "forage-when-low", "--food", "d4"},
			[]string{"The Vale of Ansel: 6 hexes, company of 4, forage-when-low", "arrived with food", "food on arrival", "journeys by days", "step  into"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := wayfarer(t, append([]string{"simulate"}, c.args...)...)
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range c.want {
				if !strings.Contains(out, want) {
					t.Errorf("no %q in\n%s", want, out)
				}
			}
		})
	}
}

// DIG-TYPE-01: what is aimed for is a number of the ruleset.
func TestBalanceAimsAtTheRulesetsTarget(t *testing.T) {
	t.Parallel()
	var got struct {
		Band   struct{ Low, High float64 }
		Before float64
		Holds  bool
	}
	for _, c := range []struct {
		set   string
		low   float64
		holds bool
	}{{"type_profiles.ruin.target_success=0.6", 0.57, true}, {"type_profiles.ruin.target_success=0.95", 0.92, false}} {
		out, err := wayfarer(t, "balance", "--dungeon", "ostrell-granary", "--runs", "5000", "--changes", "0", "--json", "--set", c.set)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(out), &got); err != nil {
			t.Fatal(err)
		}
		if got.Band.Low != c.low || got.Holds != c.holds {
			t.Errorf("%s: %+v", c.set, got)
		}
	}
}

func TestTheLaboratoryNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	pool, travel := []string{"--system", "danger-pool"}, []string{"--system", "die-drop"}
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"an unknown system":        {[]string{"--system", "chess"}, "none of digger, danger-pool and die-drop"},
		"a setting without value":  {append(pool, "--set", "pool_limit"), "name=value"},
		"an unknown setting":       {append(pool, "--set", "pool_size=3"), "pool_size"},
		"a policy of cards":        {append(pool, "--policy", "always-risk"), "always-risk"},
		"a step that is no step":   {append(pool, "--script", "MOVE, FLY"), "FLY"},
		"no legs":                  {append(pool, "--legs", "0"), "legs"},
		"nowhere to go":            {travel, "--from and --to"},
		"a place of nobody":        {append(travel, "--from", "tallowick", "--to", "atlantis"), "atlantis"},
		"half a hex":               {append(travel, "--route", "1,2 3"), `"3"`},
		"more than a hex":          {append(travel, "--route", "1,2 2,2,2"), `"2,2,2"`},
		"a leap":                   {append(travel, "--route", "1,2 4,4"), "adjoin"},
		"no map":                   {append(travel, "--map", "nowhere.json", "--from", "1,2", "--to", "2,2"), "--map"},
		"a die of seven":           {append(travel, "--from", "1,2", "--to", "2,2", "--food", "d7"), "d7"},
		"food that is no die":      {append(travel, "--from", "1,2", "--to", "2,2", "--food", "bread"), "--food"},
		"nobody":                   {append(travel, "--from", "1,2", "--to", "2,2", "--members", "0"), "--members"},
		"a company file of nobody": {append(travel, "--from", "1,2", "--to", "2,2", "--party", file(t, "a.json", `[]`)), "members"},
		"sizes of one's own party": {
			[]string{"--dungeon", "ostrell-granary", "--party-sizes", "--runs", "5", "--party", file(t, "b.json",
				`[{"name": "a", "abilities": {}, "tools": []}, {"name": "b", "abilities": {}, "tools": []}]`)}, "reference parties",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := wayfarer(t, append([]string{"simulate"}, c.args...)...)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want something with %q\n%s", err, c.want, out)
			}
		})
	}
}
