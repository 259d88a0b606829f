package console_test

import (
	"strings"
	"testing"

	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"
)

// TestAChallengeByCommandsAlone opens a scene, tries a challenge with re-rolls, claims a set, and spends the botches.
func TestAChallengeByCommandsAlone(t *testing.T) {
	t.Parallel()
	tb := newTable(t, "ada", "bram")
	fp := int32(6)
	for _, p := range []string{"ada", "bram"} {
		tb.do("gm", &partyv1.SetDangerSheetRequest{Name: tb.character(p), DangerSheet: &partyv1.DangerSheet{Stats: map[string]int32{"Agility": 5, "Strength": 3}, Fp: &fp}})
	}
	gm := func(character, line string, dice ...int32) string {
		t.Helper()
		req := tb.line(character, line)
		if req.ReportedDice = dice; len(dice) > 0 {
			req.Etag = result[*partyv1.Scene](tb, character, "+check").GetEtag()
		}
		res, refused := tb.send("gm", req)
		if refused != nil {
			t.Fatalf("%s %v: %+v", line, dice, refused)
		}
		return res.GetText()
	}
	tb.refused("ada", "+check", "NO_SCENE")
	tb.refused("ada", `+scene/start Rooftops cast="ada"`, "NOT_GM")
	if _, f := tb.send("gm", tb.line("", `+scene/start Rooftops cast="ada, brma"`)); f == nil || f.reason != "UNKNOWN_NAME" || f.suggestions[0] != "Bram" {
		t.Errorf("a misspelt character: %+v", f)
	}
	tb.has(gm("", `+scene/start Rooftops cast="ada, bram"`), "Rooftops begins with Ada and Bram.")
	tb.has(gm("", "+scene/challenge Leap the alley difficulty=2 penalty=1"), "Leap the alley: difficulty 2, penalty dice 1, open")
	tb.has(tb.say("bram", "+scene"), "Rooftops:", "Leap the alley: difficulty 2, penalty dice 1, open", "Ada", "FP 6, bonus dice 0, danger 0", "Agility 5, Strength 3", "Bram")

	// The pool, with every suggestion that a name can need.
	tb.refused("ada", "+check/roll", "NO_CHECK")
	tb.refused("ada", "+check/open leap", "MISSING_ARGUMENT")
	if f := tb.refused("ada", "+check/open lead the alley stat=agility", "UNKNOWN_NAME"); f.suggestions[0] != "Leap the alley" {
		t.Errorf("a misspelt challenge: %+v", f)
	}
	if f := tb.refused("ada", "+check/open leap stat=agilty", "UNKNOWN_NAME"); f.suggestions[0] != "Agility" || f.column != "23" {
		t.Errorf("a misspelt stat: %+v", f)
	}
	tb.refused("ada", "+check/open leap stat=Luckiness", "UNKNOWN_STAT")
	tb.has(tb.say("ada", "+check/open leap stat=agility aspects=1"), "Leap the alley with Agility, ", "1 penalty die", "To do: +check/roll")
	k := checkOf(t, tb, "ada")
	dice := make([]int32, 0, 8)
	for n := range k.GetPool().GetNormal() { // nothing yet but a 4 and a 1
		dice = append(dice, []int32{4, 1, 2, 3, 5, 6, 6, 6}[n])
	}
	tb.has(gm("ada", "+check/roll", append(dice, 6)...), "Dice: N1 4, N2 1, N3 2", "P1 6", "Botches 1, re-rolls left 2.", "+check/reroll or +check/claim")
	if f := tb.refused("ada", "+check/reroll N3 N9", "UNKNOWN_NAME"); f.suggestions[0] != "N1" {
		t.Errorf("no such die: %+v", f)
	}
	tb.has(gm("ada", "+check/reroll n3, n4", fill(int(k.GetPool().GetNormal())-2, 3)...), "N3* 2", "5 wide at 3 (triggers", "re-rolls left 1.")
	tb.refused("ada", "+check/claim two", "BAD_ARGUMENT")
	tb.has(tb.say("ada", "+check/claim 3"), "It succeeds, with a set of height 3", "The game master has 1 botch to spend.")
	tb.has(tb.say("ada", "+check/benefit a rope for Bram"), "Noted: a rope for Bram")
	tb.refused("ada", "+check/close", "BOTCHES_UNSPENT")
	tb.refused("ada", "+check/spend danger", "NOT_GM")
	tb.has(gm("ada", "+check/spend danger"), "1 botch spent: danger.")
	tb.has(tb.say("ada", "+check/close"), "The check is closed.")
	tb.has(tb.say("ada", "+check"), "Leap the alley: difficulty 2, penalty dice 1, done")

	// The other hand of the game master.
	tb.has(gm("", "+scene/danger bram steps=2"), "Bram")
	tb.has(gm("", "+scene/encounter"), "The encounter is over.")
	tb.has(gm("", "+scene/rest"), "have rested.")
	tb.has(gm("", "+scene/end"), "The scene is over.")
	tb.refused("ada", "+check", "NO_SCENE")
	if f := tb.refused("ada", "+chekc/roll", "UNKNOWN_COMMAND"); !strings.HasPrefix(f.suggestions[0], "+check/roll") {
		t.Errorf("a misspelt command: %+v", f)
	}
}

func checkOf(t *testing.T, tb *table, who string) *partyv1.Check {
	t.Helper()
	for _, k := range result[*partyv1.Scene](tb, who, "+check").GetChecks() {
		if k.GetCharacter() == tb.character(who) {
			return k
		}
	}
	t.Fatalf("%s is at no check", who)
	return nil
}

// fill is so many dice of one face.
func fill(n int, face int32) []int32 {
	out := make([]int32, n)
	for i := range out {
		out[i] = face
	}
	return out
}
