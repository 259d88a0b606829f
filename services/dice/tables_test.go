package dice_test

import (
	"fmt"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	dicev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dice/v1"
)

func TestAPoolIsRolledAndEvaluated(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, tc := range map[string]struct {
		normal, danger, penalty, difficulty int32
		reported                            []int32
		claimed, botches                    int32
		sets                                string // height:width, * when it triggers, -n what it costs
	}{
		"DW-SET-05: every set is listed, the highest is claimed": {5, 0, 0, 2, []int32{2, 2, 3, 3, 3}, 3, 0, "2:2* 3:3*"},
		"DW-SET-02: five 6s are too few":                         {5, 0, 0, 2, []int32{6, 6, 6, 6, 6}, 0, 0, "6:5"},
		"DW-DIFF-04: a lower set is not claimed":                 {5, 0, 0, 4, []int32{3, 3, 3, 2, 2}, 0, 0, "2:2* 3:3*"},
		"DW-DDIE-04: danger dice have their price":               {2, 2, 0, 4, []int32{4, 4, 4, 4}, 4, 0, "4:4*-2"},
		"DW-BOTCH-01: ones of all dice":                          {2, 1, 1, 2, []int32{1, 4, 1, 1}, 0, 3, "4:1"},
		"DW-PEN-05: danger dice are kept out first":              {3, 1, 1, 3, []int32{3, 3, 3, 3, 3}, 3, 0, "3:3*!D1"},
		"DW-POOL-04: nothing to roll":                            {0, 0, 3, 2, nil, 0, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := &dicev1.RollPoolRequest{
				Parent: camp, Dice: tc.normal, Danger: tc.danger, Penalty: tc.penalty, Difficulty: proto.Int32(tc.difficulty),
				ReportedDice: tc.reported, Purpose: "leap", RequestId: w.id(),
			}
			r := must[*dicev1.RollPoolResponse](t)(w.dice.RollPool(w.as(gm), req)).GetRoll()
			sets := ""
			for i, s := range r.GetSets() {
				if i > 0 {
					sets += " "
				}
				sets += fmt.Sprint(s.GetHeight(), ":", s.GetWidth())
				if s.GetTriggers() {
					sets += "*"
				}
				if s.GetDangerCost() > 0 {
					sets += fmt.Sprint("-", s.GetDangerCost())
				}
				for _, die := range s.GetCancelled() {
					sets += "!" + die
				}
			}
			if sets != tc.sets || r.GetClaimed() != tc.claimed || (r.Claimed == nil) != (tc.claimed == 0) || r.GetBotches() != tc.botches || r.GetDifficulty() != tc.difficulty {
				t.Errorf("sets %q of %v", sets, r)
			}
			if len(r.GetRecord().GetDice()) != len(tc.reported) || r.GetStream() != "" && tc.reported != nil || r.GetPurpose() != "leap" {
				t.Errorf("rolled %v", r)
			}
			if again := must[*dicev1.RollPoolResponse](t)(w.dice.RollPool(w.as(gm), req)).GetRoll(); !proto.Equal(again, r) {
				t.Errorf("the second answer is %v", again)
			}
		})
	}
}

func TestPoolsAndTablesAreInTheLogAndCanBeChecked(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	pool := must[*dicev1.RollPoolResponse](t)(w.dice.RollPool(w.as(ada), &dicev1.RollPoolRequest{Parent: camp, Dice: 4, Danger: 2, Penalty: 1, RequestId: w.id()})).GetRoll()
	rows := []*dicev1.TableRow{{Min: 8, Max: 12, Text: "nothing"}, {Min: 2, Max: 6, Text: "goblins"}, {Min: 7, Max: 7, Text: "a dragon"}}
	table := must[*dicev1.RollTableResponse](t)(w.dice.RollTable(w.as(ada), &dicev1.RollTableRequest{Parent: camp, Notation: "2d6", Rows: rows, Purpose: "who comes", RequestId: w.id()})).GetRoll()
	if total, row := table.GetRoll().GetTotal(), table.GetRow(); row.GetText() == "" || total < row.GetMin() || total > row.GetMax() {
		t.Errorf("the table: %v", table)
	}
	log := w.log(ada)
	entries := w.entries(ada, 2)
	if len(entries) != 3 || !proto.Equal(entries[0].GetEvent().GetTableRolled().GetRoll().GetRoll(), table.GetRoll()) ||
		entries[1].GetEvent().GetPoolRolled().GetRoll().GetIndex() != pool.GetIndex() {
		t.Errorf("the log: %v", entries)
	}
	seed := w.rotate(ada).GetRevealed()
	if seed.GetName() != log.GetStream() || pool.GetStream() != log.GetStream() {
		t.Errorf("rolled with %s, revealed %s", pool.GetStream(), seed.GetName())
	}
	if n := len(pool.GetRecord().GetDice()); n != 7 || len(pool.GetNormal()) != 4 || len(pool.GetDanger()) != 2 || len(pool.GetPenalty()) != 1 {
		t.Errorf("%d dice of %v", n, pool)
	}
	recompute(t, seed, pool.GetIndex(), pool.GetRecord().GetDice())
	recompute(t, seed, table.GetRoll().GetIndex(), table.GetRecord().GetDice())
}

func TestATotalWithoutARow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	req := &dicev1.RollTableRequest{Parent: camp, Notation: "d6", Rows: []*dicev1.TableRow{{Min: 1, Max: 5}}, ReportedDice: []int32{6}, RequestId: w.id()}
	if r := must[*dicev1.RollTableResponse](t)(w.dice.RollTable(w.as(gm), req)).GetRoll(); r.Row != nil || r.GetRoll().GetTotal() != 6 {
		t.Errorf("got %v", r)
	}
}

func TestPoolsTablesAndOddsRefuse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	pool := func(who string, change func(*dicev1.RollPoolRequest)) func() error {
		return func() error {
			req := &dicev1.RollPoolRequest{Parent: camp, Dice: 1, RequestId: w.id()}
			change(req)
			_, err := w.dice.RollPool(w.as(who), req)
			return err
		}
	}
	table := func(who, notation string, rows ...*dicev1.TableRow) func() error {
		return func() error {
			_, err := w.dice.RollTable(w.as(who), &dicev1.RollTableRequest{Parent: camp, Notation: notation, Rows: rows, RequestId: w.id()})
			return err
		}
	}
	ask := func(req *dicev1.OddsRequest) func() error {
		return func() error {
			_, err := w.dice.Odds(w.as(nobody), req)
			return err
		}
	}
	notation := func(text string) *dicev1.OddsRequest {
		return &dicev1.OddsRequest{Question: &dicev1.OddsRequest_Notation{Notation: &dicev1.NotationQuestion{Notation: text}}}
	}
	row := &dicev1.TableRow{Min: 1, Max: 6}
	w.roll(gm, "d6") // the log has begun
	before := w.count()
	for name, tc := range map[string]struct {
		call func() error
		want refusal
	}{
		"a spectator's pool":    {pool(spectator, func(*dicev1.RollPoolRequest) {}), refusal{codes.PermissionDenied, "SPECTATOR", ""}},
		"a player reports dice": {pool(ada, func(r *dicev1.RollPoolRequest) { r.ReportedDice = []int32{6} }), refusal{codes.PermissionDenied, "NOT_GM", "reported_dice"}},
		"too few reported":      {pool(gm, func(r *dicev1.RollPoolRequest) { r.Dice, r.ReportedDice = 2, []int32{6} }), refusal{codes.InvalidArgument, "BAD_DICE", "reported_dice"}},
		"101 dice":              {pool(ada, func(r *dicev1.RollPoolRequest) { r.Dice = 101 }), refusal{codes.InvalidArgument, "INVALID", "dice"}},
		"difficulty 7":          {pool(ada, func(r *dicev1.RollPoolRequest) { r.Difficulty = proto.Int32(7) }), refusal{codes.InvalidArgument, "INVALID", "difficulty"}},
		"a stranger's pool":     {pool(stranger, func(*dicev1.RollPoolRequest) {}), refusal{codes.NotFound, "NOT_FOUND", ""}},
		"no rows":               {table(ada, "d6"), refusal{codes.InvalidArgument, "INVALID", "rows"}},
		"a bad notation":        {table(ada, "d", row), refusal{codes.InvalidArgument, "BAD_NOTATION", "notation"}},
		"an empty row":          {table(ada, "d6", row, &dicev1.TableRow{Min: 9, Max: 8}), refusal{codes.InvalidArgument, "TABLE_ROW", "rows[1]"}},
		"rows that overlap":     {table(ada, "d6", row, &dicev1.TableRow{Min: 6, Max: 8}), refusal{codes.InvalidArgument, "TABLE_ROW", "rows[1]"}},
		"no question":           {ask(&dicev1.OddsRequest{}), refusal{codes.InvalidArgument, "INVALID", "question"}},
		"odds of no notation":   {ask(notation("2d")), refusal{codes.InvalidArgument, "BAD_NOTATION", "notation.notation"}},
		"odds of much":          {ask(notation("1d1000000")), refusal{codes.ResourceExhausted, "TOO_MUCH_WORK", "notation.notation"}},
		"odds of a wide answer": {ask(notation("1d20000")), refusal{codes.ResourceExhausted, "TOO_MUCH_WORK", "question"}},
		"odds of a great pool": {
			ask(&dicev1.OddsRequest{Question: &dicev1.OddsRequest_Pool{Pool: &dicev1.PoolQuestion{Dice: 12, Penalty: 12, Difficulty: 2}}}),
			refusal{codes.ResourceExhausted, "TOO_MUCH_WORK", "question"},
		},
	} {
		t.Run(name, func(t *testing.T) { tc.want.check(t, tc.call()) })
	}
	if after := w.count(); after != before {
		t.Errorf("%d records before, %d after", before, after)
	}
}

func TestOddsOverGRPC(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	res := must[*dicev1.OddsResponse](t)(w.dice.Odds(w.as(nobody), &dicev1.OddsRequest{
		Question: &dicev1.OddsRequest_Pool{Pool: &dicev1.PoolQuestion{Dice: 3, Difficulty: 2}},
	}))
	if res.GetSuccess() != "1000805/2519424" || res.GetMean() != "27331/23328" || len(res.GetOutcomes()) == 0 {
		t.Errorf("got %v", res)
	}
}
