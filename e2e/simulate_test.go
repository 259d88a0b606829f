package e2e

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
)

// A simulation that is refused is answered like anything else that is; one that runs ends with its report.
func TestSimulationsOverREST(t *testing.T) {
	t.Parallel()
	tb := newTable(t, "laboratory", "ada")
	dungeon := tb.importDefinitions()
	ask := func(user, body string) (code int, lines []object) {
		req, err := http.NewRequestWithContext(tb.ctx, http.MethodPost, house.URL+"/v1/"+tb.campaign+"/dungeons:simulate", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+tb.tokens[user])
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = res.Body.Close() }()
		for dec := json.NewDecoder(res.Body); ; {
			var line object
			if err := dec.Decode(&line); errors.Is(err, io.EOF) {
				return res.StatusCode, lines
			} else if err != nil {
				t.Fatal(err)
			}
			lines = append(lines, line)
		}
	}
	for user, want := range map[string]struct {
		code   int
		reason string
	}{"ada": {http.StatusForbidden, "NOT_GM"}, "gm": {http.StatusNotFound, "NOT_FOUND"}} {
		code, lines := ask(user, `{"dungeon": "`+tb.campaign+`/dungeons/none"}`)
		if code != want.code || len(lines) != 1 || lines[0].Text("details.0.reason") != want.reason {
			t.Errorf("%s: %d %v", user, code, lines)
		}
	}
	code, lines := ask("gm", `{"dungeon": "`+dungeon+`", "runs": 300, "seed": 7}`)
	if last := lines[len(lines)-1]; code != http.StatusOK || len(lines) < 2 || last.Number("report.runs") != 300 || last.Get("report.successRate") == nil {
		t.Errorf("%d %v", code, lines)
	}
}
