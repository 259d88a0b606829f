package main

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
)

func oddsOf(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	c := oddsCommand()
	c.SilenceUsage, c.SilenceErrors = true, true
	c.SetOut(&out)
	c.SetErr(&out)
	c.SetArgs(args)
	err := c.ExecuteContext(t.Context())
	return out.String(), err
}

func TestOddsAsJSON(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]map[string]any{
		"4d6kh3 --json":                                   {"mean": "15869/1296", "mean_float": 15869.0 / 1296},
		"6d6!>4x2 --json":                                 {"lost": "0"},
		"2d6 --json":                                      {"mean": "7", "mean_float": 7.0, "variance": "35/6", "lost": "0"},
		"2d6 --target 7 --json":                           {"success": "7/12", "success_float": 7.0 / 12},
		"compare d6 d6 --json":                            {"mean": "0", "success": "5/12"},
		"usage d8 --json":                                 {"mean": "9", "mean_float": 9.0, "success": "3/4"},
		"usage 4 --second ud20 --json":                    {"mean": "32"},
		"usage d8 --mode single --json":                   {"mean": "9"},
		"usage d8 --mode lowest2 --json":                  {"mean": "569/105"},
		"usage d8 --mode lowest3 --json":                  {"mean": "21129/4921"},
		"usage d8 --mode highest2 --json":                 {"mean": "29", "success": "15/16"},
		"spill --json":                                    {"mean": "31031/46656", "success": "15625/46656"},
		"spill --spills 8 --json":                         {"mean": "31031/5832"},
		"pool --dice 2 --json":                            {"mean": "91/108", "success": "8281/46656", "success_float": 8281.0 / 46656},
		"pool --dice 3 --penalty 1 --json":                {"success": "10533289/30233088"},
		"pool --dice 3 --ones-stay --json":                {"success": "3049/10368"},
		"pool --dice 2 --danger 1 --free-locks --json":    {"success": "1004045/2519424"},
		"pool --dice 2 --max-rerolls 0 --json":            {"success": "1/36"},
		"pool --dice 8 --difficulty 4 --penalty 0 --json": {"success": "29303654249627149/58498535041007616"},
		"move --normal 2,2,1 --json":                      {"success": "1"},
	} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			out, err := oddsOf(t, strings.Fields(args)...)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Count(out, "\n") != 1 || !strings.HasSuffix(out, "\n") {
				t.Errorf("not one line: %q", out)
			}
			var got map[string]any
			if err := json.Unmarshal([]byte(out), &got); err != nil {
				t.Fatal(err)
			}
			for field, w := range want {
				if got[field] != w {
					t.Errorf("%s: %v, want %v", field, got[field], w)
				}
			}
		})
	}
}

func TestOddsAsAPicture(t *testing.T) {
	t.Parallel()
	for args, want := range map[string][]string{
		"2d6 --target 7":                       {"2d6\n", "success      7/12 = 0.583333", "mean         7 = 7", " 7  16.6667% " + strings.Repeat("█", 50) + "\n", "50%: 7"},
		"100d6":                                {"mean         350 = 350", " … "},
		"compare d6 d4":                        {"1d6 against 1d4", "success      7/12", "equal        1/6", "less         1/4"},
		"move --normal 5,2,1 --rerolls-left 1": {"keep N2, roll the rest", "success      11/36", "botches      1/3"},
		"move --normal 2,2":                    {"stop", "success      1 = 1"},
		"usage d8":                             {"checks       9 = 9", "d6           1/3", "not listed   ≈"},
		"spill":                                {"any combat   1/12", "DEADLY       1453/23328", "none         15625/46656"},
		"pool --dice 6 --difficulty 6":         {"success", "none", "botches"},
	} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			out, err := oddsOf(t, strings.Fields(args)...)
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range want {
				if !strings.Contains(out, w) {
					t.Errorf("no %q in\n%s", w, out)
				}
			}
		})
	}
}

func TestOddsRefuse(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"2d":                     "column 3",
		"1d1!":                   "ENDLESS",
		"1d1000000":              "TOO_MUCH_WORK",
		"":                       "arg",
		"pool --dice 13":         "pool.dice",
		"pool --difficulty 7":    "pool.difficulty",
		"move --normal 7":        "move.normal[0]",
		"move --locked P1":       "move.locked[0]",
		"usage d7":               "usage.sides",
		"usage door":             "no die",
		"usage d8 --second x":    "no die",
		"usage d8 --mode thrice": "--mode",
		"spill --dice 1001":      "spill.dice",
		"spill --deadly-from 1":  "deadly_from",
		"compare 2d6 2d":         "column 3",
	} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			if out, err := oddsOf(t, strings.Fields(args)...); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %q, %v", out, err)
			}
		})
	}
}

// The table of hostile notations on the command line.
func TestHostileNotationsOnTheCommandLine(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../../rules/notation/testdata/hostile.json")
	if err != nil {
		t.Fatal(err)
	}
	var list []struct {
		Name, Text, Code, Canonical string
		Times                       int
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		t.Fatal(err)
	}
	for _, h := range list {
		t.Run(h.Name, func(t *testing.T) {
			t.Parallel()
			text := strings.Repeat(h.Text, max(h.Times, 1))
			out, err := oddsOf(t, "--json", "--", text)
			switch {
			case text == "" || len([]rune(text)) > 4096: // the request itself is no good
				if err == nil || !strings.Contains(err.Error(), "notation: must be at") {
					t.Errorf("got %.200s, %v", out, err)
				}
			case h.Code == "" && (err != nil || !strings.Contains(out, `"`+h.Canonical+`"`)):
				t.Errorf("got %.200s, %v", out, err)
			case h.Code != "" && (err == nil || !strings.Contains(err.Error(), h.Code)):
				t.Errorf("got %.200s, %v, want %s", out, err, h.Code)
			}
		})
	}
}
