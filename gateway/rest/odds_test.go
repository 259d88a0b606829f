package rest_test

import (
	"strings"
	"testing"

	"github.com/wayfarer-rpg/wayfarer/gateway/rest"
)

func TestOddsPoolsAndTables(t *testing.T) {
	t.Parallel()
	e := newGame(t, rest.Config{})
	odds := e.ok("alice", "POST", "/v1/dice:odds", `{"notation": {"notation": "4d6kh3", "target": 18}}`)
	if odds["mean"] != "15869/1296" || odds["success"] != "7/432" || odds["lost"] != "0" || odds["rounded"] != false || len(odds["outcomes"].([]any)) != 16 {
		t.Errorf("odds %v", odds)
	}
	first := odds["outcomes"].([]any)[0].(map[string]any)
	if first["value"] != float64(3) || first["chance"] != "1/1296" || first["chanceFloat"] != 1.0/1296 || first["atLeast"] != "1" {
		t.Errorf("the first outcome %v", first)
	}
	if open := e.ok("alice", "POST", "/v1/dice:odds", `{"notation": {"notation": "d6"}}`); open["success"] != nil {
		t.Errorf("success without a target: %v", open["success"])
	}
	pool := e.ok("gerd", "POST", rolls+":pool", `{"dice": 2, "danger": 1, "reportedDice": [2, 2, 1], "requestId": "pool"}`)
	if pool["claimed"] != float64(2) || pool["botches"] != float64(1) || len(pool["sets"].([]any)) != 1 {
		t.Errorf("pool %v", pool)
	}
	table := e.ok("gerd", "POST", rolls+":table", `{"notation": "2d6", "rows": [{"min": 2, "max": 12, "text": "goblins"}], "reportedDice": [3, 4], "requestId": "table"}`)
	if row := table["row"].(map[string]any); row["text"] != "goblins" || table["roll"].(map[string]any)["total"] != float64(7) {
		t.Errorf("table %v", table)
	}
	tree := e.ok("gerd", "POST", rolls, `{"notation": "2d6kh1", "reportedDice": [3, 4], "requestId": "tree"}`)["tree"].(map[string]any)
	if die := tree["dice"].([]any)[0].(map[string]any); die["droppedBy"] != "kh1" || tree["kind"] != "ROLL_NODE_KIND_DICE" {
		t.Errorf("tree %v", tree)
	}
	for name, tc := range map[string]struct {
		body string
		want refusal
	}{
		"no question":         {`{}`, refusal{400, invalid, "INVALID", "question"}},
		"a bad notation":      {`{"notation": {"notation": "1d0"}}`, refusal{400, invalid, "BAD_NOTATION", "notation.notation"}},
		"no end":              {`{"comparison": {"first": "d6", "second": "1d1!"}}`, refusal{400, invalid, "ENDLESS", "comparison.second"}},
		"a difficulty of 7":   {`{"pool": {"dice": 1, "difficulty": 7}}`, refusal{400, invalid, "INVALID", "pool.difficulty"}},
		"too much work":       {`{"notation": {"notation": "1d1000000"}}`, refusal{429, exhausted, "TOO_MUCH_WORK", "notation.notation"}},
		"two questions":       {`{"notation": {"notation": "d6"}, "spill": {}}`, refusal{400, invalid, "MALFORMED_BODY", "body"}},
		"a token is required": {`{"spill": {}}`, refusal{401, unauthenticated, "TOKEN_MISSING", ""}},
	} {
		who := "alice"
		if tc.want.http == 401 {
			who = ""
		}
		t.Run(name, func(t *testing.T) { tc.want.check(t, e.do(who, "POST", "/v1/dice:odds", strings.NewReader(tc.body))) })
	}
}
