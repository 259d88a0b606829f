package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wayfarer-rpg/wayfarer/rules/digger"
)

// wayfarer runs a command line and returns what it prints.
func wayfarer(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	c := root()
	c.SetArgs(args)
	c.SetOut(&out)
	c.SetErr(&out)
	err := c.ExecuteContext(t.Context())
	return out.String(), err
}

func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

type simulated struct {
	Dungeon        string         `json:"dungeon"`
	Runs           int            `json:"runs"`
	SuccessRate    float64        `json:"success_rate"`
	Interval       [2]float64     `json:"interval"`
	Endings        map[string]int `json:"endings"`
	MeanChallenges float64        `json:"mean_challenges"`
	Sensitivity    []struct {
		What string `json:"what"`
	} `json:"sensitivity"`
}

func simulation(t *testing.T, args ...string) (s simulated) {
	t.Helper()
	out, err := wayfarer(t, append([]string{"simulate", "--json"}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &s); err != nil {
		t.Fatalf("the last line is no object: %v\n%s", err, out)
	}
	return s
}

func TestSimulateAnswersTheSameOnAnyNumberOfCores(t *testing.T) {
	t.Parallel()
	one := simulation(t, "--dungeon", "ostrell-granary", "--runs", "700", "--seed", "3", "--workers", "1")
	if one.Dungeon != "ostrell-granary" || one.Runs != 700 || one.SuccessRate < one.Interval[0] || one.SuccessRate > one.Interval[1] ||
		one.Endings["won"]+one.Endings["lost_retreat"]+one.Endings["lost_exhausted"] != 700 || one.MeanChallenges <= 0 {
		t.Errorf("got %+v", one)
	}
	if diff := cmp.Diff(one, simulation(t, "--dungeon", "ostrell-granary", "--runs", "700", "--seed", "3", "--workers", "3", "--party", "default", "--policy", "sensible")); diff != "" {
		t.Errorf("three workers (-one +three):\n%s", diff)
	}
}

func TestSimulateReadsFiles(t *testing.T) {
	t.Parallel()
	all := file(t, "dungeons.json", string(digger.ShippedDungeonsDocument()))
	raw, err := json.Marshal(digger.ShippedDungeons()[1])
	if err != nil {
		t.Fatal(err)
	}
	single := file(t, "dungeon.json", string(raw))
	id := digger.ShippedDungeons()[1].ID
	party := file(t, "party.json", `{"party": [
		{"name": "Asa", "abilities": {"brute": 5, "agility": 4, "wits": 4, "combat": 4}, "tools": [
			{"id": "bar", "ability": "brute", "rating": "major", "qualities": ["improved"], "drawback": null}]},
		{"name": "Bram", "abilities": {"brute": 4, "agility": 5, "wits": 4, "combat": 4}, "tools": []}]}`)
	want := simulation(t, "--dungeon", id, "--runs", "200", "--party", party)
	for _, args := range [][]string{{"--dungeon", all, "--id", id}, {"--dungeon", single}} {
		if diff := cmp.Diff(want, simulation(t, append(args, "--runs", "200", "--party", party)...)); diff != "" {
			t.Errorf("%v (-shipped +file):\n%s", args, diff)
		}
	}
	if s := simulation(t, "--dungeon", single, "--runs", "20", "--sensitivity"); len(s.Sensitivity) < len(digger.ShippedDungeons()[1].Cards) {
		t.Errorf("%d numbers were changed", len(s.Sensitivity))
	}
}

func TestSimulateForPeople(t *testing.T) {
	t.Parallel()
	out, err := wayfarer(t, "simulate", "--dungeon", "ostrell-granary", "--runs", "50")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"The Sunken Granary of Ostrell (ruin), 50 runs", "lost_retreat", "exploration", "og-13"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

func TestBalanceRefusesFewerThanNoChanges(t *testing.T) {
	t.Parallel()
	if out, err := wayfarer(t, "balance", "--dungeon", "ostrell-granary", "--runs", "10", "--changes", "-1"); err == nil || !strings.Contains(err.Error(), "--changes") {
		t.Errorf("got %v\n%s", err, out)
	}
}

func TestBalanceProposesAndSaves(t *testing.T) {
	t.Parallel()
	d := digger.ShippedDungeons()[0]
	d.TNBonus.Final += 2
	d.Cards = append(d.Cards[:3:3], d.Cards[len(d.Cards)-1])
	raw, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	saved := filepath.Join(t.TempDir(), "better.json")
	out, err := wayfarer(t, "balance", "--dungeon", file(t, "hard.json", string(raw)), "--runs", "150", "--json", "--out", saved)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Before, After float64
		Changes       []any
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	again := simulation(t, "--dungeon", saved, "--runs", "150")
	if len(got.Changes) == 0 || got.After <= got.Before || again.SuccessRate != got.After {
		t.Errorf("proposed %+v, the saved dungeon wins %v", got, again.SuccessRate)
	}
}

func TestSimulateNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"no dungeon":               {nil, `"dungeon" not set`},
		"an unknown dungeon":       {[]string{"--dungeon", "nowhere"}, "no file and none of"},
		"a file of nothing":        {[]string{"--dungeon", file(t, "a.json", "{")}, "--dungeon"},
		"an unknown field":         {[]string{"--dungeon", file(t, "b.json", `{"id": "x", "colour": "red"}`)}, "colour"},
		"an unknown field of many": {[]string{"--dungeon", file(t, "f.json", `{"dungeons": [{"id": "x", "colour": "red"}]}`)}, `dungeons[0]: there is no field "colour"`},
		"several, none chosen":     {[]string{"--dungeon", file(t, "c.json", string(digger.ShippedDungeonsDocument()))}, "--id"},
		"an unknown policy":        {[]string{"--dungeon", "ostrell-granary", "--policy", "bold"}, "bold"},
		"no runs":                  {[]string{"--dungeon", "ostrell-granary", "--runs", "0"}, "INVALID: runs: "},
		"eight members":            {[]string{"--dungeon", "ostrell-granary", "--members", "8"}, "INVALID: members: "},
		"a party file of nobody":   {[]string{"--dungeon", "ostrell-granary", "--party", file(t, "d.json", `[]`)}, "party"},
		"a member without a name": {
			[]string{"--dungeon", "ostrell-granary", "--party", file(t, "g.json", `[{"name": "a", "abilities": {}}, {"abilities": {}}]`)}, "[1].name",
		},
		"a rating of seven": {
			[]string{"--dungeon", "ostrell-granary", "--party", file(t, "h.json", `[{"name": "a", "abilities": {"wits": 7}}, {"name": "b"}]`)},
			"[0].abilities.wits: is 0 to 6, not 7",
		},
		"a rating below nothing": {
			[]string{"--dungeon", "ostrell-granary", "--party", file(t, "i.json", `[{"name": "a"}, {"name": "b", "abilities": {"combat": -1}}]`)},
			"[1].abilities.combat",
		},
		"twins": {
			[]string{"--dungeon", "ostrell-granary", "--party", file(t, "j.json", `[{"name": "a"}, {"name": "a"}]`)}, "party[1]",
		},
		"no party file": {[]string{"--dungeon", "ostrell-granary", "--party", "nowhere.json"}, "--party"},
		"a strange tool": {[]string{"--dungeon", "ostrell-granary", "--party", file(t, "e.json",
			`[{"name": "a", "abilities": {}, "tools": []}, {"name": "b", "abilities": {}, "tools": [{"id": "x", "ability": "wits", "rating": "huge"}]}]`)}, "huge"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := wayfarer(t, append([]string{"simulate"}, c.args...)...)
			if err == nil || !strings.Contains(explain(err), c.want) {
				t.Errorf("got %v, want something with %q\n%s", err, c.want, out)
			}
		})
	}
}
