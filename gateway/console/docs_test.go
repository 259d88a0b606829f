package console_test

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write what is answered into docs/api.md")

const guide = "../../docs/api.md"

// spoken is a line of a conversation: who speaks, for whom, with which dice, and the line.
var spoken = regexp.MustCompile(`^(\w+)(?: for (\w+))?(?:, dice ([\d ]+))?> (.*)$`)

// TestTheConversationInTheGuide plays the sample conversation of docs/api.md and compares every answer. -update writes the
// answers there; read the difference before it is accepted.
func TestTheConversationInTheGuide(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	const fence = "```console\n"
	before, rest, ok := strings.Cut(string(raw), fence)
	conversation, after, ended := strings.Cut(rest, "\n```\n")
	if !ok || !ended {
		t.Fatal("the guide has no conversation")
	}
	tb := newTable(t, "ada", "bram")
	tb.company("ada", "bram")
	var played []string
	for line := range strings.SplitSeq(conversation, "\n") {
		m := spoken.FindStringSubmatch(line)
		if m == nil {
			continue // an answer
		}
		played = append(played, line)
		character := m[2]
		if character == "" && m[1] != "gm" {
			character = m[1]
		}
		req := tb.line(character, m[4])
		for face := range strings.FieldsSeq(m[3]) {
			n, err := strconv.Atoi(face)
			if err != nil {
				t.Fatal(err)
			}
			req.ReportedDice = append(req.ReportedDice, int32(n)) //nolint:gosec // a face
			if strings.HasPrefix(m[4], "+travel") {
				req.Etag = tb.journey(character).GetEtag()
			} else {
				req.Etag = tb.run(character).GetEtag()
			}
		}
		res, refused := tb.send(m[1], req)
		if refused != nil {
			played = append(played, "! "+refused.message)
		} else {
			played = append(played, res.GetText())
		}
	}
	got := strings.Join(played, "\n")
	if *update {
		if err := os.WriteFile(guide, []byte(before+fence+got+"\n```\n"+after), 0o644); err != nil { //nolint:gosec // a document
			t.Fatal(err)
		}
		return
	}
	if got != conversation {
		t.Errorf("the guide's conversation goes otherwise (go test ./gateway/console -run Guide -update):\n%s", firstDifference(conversation, got))
	}
	if len(played) < 30 {
		t.Errorf("only %d lines were played", len(played)/2)
	}
}

func firstDifference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range max(len(w), len(g)) {
		a, b := "(nothing)", "(nothing)"
		if i < len(w) {
			a = w[i]
		}
		if i < len(g) {
			b = g[i]
		}
		if a != b {
			return fmt.Sprintf("line %d\n-%s\n+%s", i+1, a, b)
		}
	}
	return ""
}
