package console_test

import (
	"testing"

	travelv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/travel/v1"
)

func TestMissionsByCommands(t *testing.T) {
	t.Parallel()
	tb := newTable(t, "ada", "bram")
	gm := func(line string, dice ...int32) string {
		t.Helper()
		req := tb.line("", line)
		if req.ReportedDice = dice; len(dice) > 0 {
			req.Etag = result[*travelv1.ListMissionBoardsResponse](tb, "ada", "+missions").GetMissionBoards()[0].GetEtag()
		}
		res, refused := tb.send("gm", req)
		if refused != nil {
			t.Fatalf("%s: %+v", line, refused)
		}
		return res.GetText()
	}
	tb.has(tb.say("ada", "+missions"), "No board hangs anywhere.")
	tb.refused("ada", "+missions/take 3", "NO_BOARD")
	tb.has(gm("+missions/post Notices of the Hamlet region=vale place=hamlet"), `The board "Notices of the Hamlet" hangs.`)
	tb.has(tb.say("ada", "+missions"), "Notices of the Hamlet:", "Nothing is open.")
	tb.refused("ada", "+missions/roll 8", "NOT_GM")
	tb.has(gm("+missions/roll 8", 3, 9, 12, 1, 20, 15, 6, 7), "New on Notices of the Hamlet: 3, 9, 12, 1, 20, 15, 6 and 7.")
	tb.has(tb.say("ada", "+missions/take 3"), "Ada means to see to mission 3")
	tb.refused("ada", "+missions/take 3", "MISSION_TAKEN")
	tb.has(tb.say("bram", "+missions/take 3 board=notices"), "Bram means to see to mission 3")
	tb.has(tb.say("bram", "+rumours notices"), "Notices of the Hamlet:", "  3 ", "(Ada and Bram)", "  9 ")
	tb.has(tb.say("ada", "+missions/drop 3"), "Ada gives mission 3", "up.")
	if f := tb.refused("ada", "+missions/take 8", "UNKNOWN_NAME"); len(f.suggestions) != 3 {
		t.Errorf("no such mission: %+v", f)
	}
	tb.has(gm("+missions/done 9"), "Mission 9", "is used up.")
	tb.refused("ada", "+missions/take 9", "UNKNOWN_NAME")
	gm("+missions/post Rumours")
	if f := tb.refused("ada", "+missions/take 1", "MISSING_ARGUMENT"); len(f.suggestions) != 2 {
		t.Errorf("which board: %+v", f)
	}
}
