package dice

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"google.golang.org/protobuf/proto"

	dicev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dice/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/fault"
	"github.com/wayfarer-rpg/wayfarer/rules/dangerworld"
	"github.com/wayfarer-rpg/wayfarer/rules/play"
	"github.com/wayfarer-rpg/wayfarer/services/dice/chance"
)

// Odds implements dicev1.DiceServiceServer.
func (s *Server) Odds(_ context.Context, req *dicev1.OddsRequest) (*dicev1.OddsResponse, error) {
	res, err := chance.Answer(req)
	if err != nil {
		return nil, refusedAt("question", err)
	}
	return res, nil
}

// RollPool implements dicev1.DiceServiceServer.
func (s *Server) RollPool(ctx context.Context, req *dicev1.RollPoolRequest) (*dicev1.RollPoolResponse, error) {
	cmd, err := s.rollCommand(ctx, req, req.GetParent())
	if err != nil {
		return nil, err
	}
	ans, err := s.logs.roll(ctx, cmd, func(stream string, index int, dice *play.Dice) (*dicev1.RollLogEvent, error) {
		return &dicev1.RollLogEvent{Event: &dicev1.RollLogEvent_PoolRolled{
			PoolRolled: &dicev1.PoolRolled{Roll: pool(req, stream, index, dice)},
		}}, nil
	})
	if err != nil {
		return nil, err
	}
	r := proto.CloneOf(ans.Events[0].GetPoolRolled().GetRoll())
	r.Record = ans.Record
	return &dicev1.RollPoolResponse{Roll: r}, nil
}

func pool(req *dicev1.RollPoolRequest, stream string, index int, dice *play.Dice) *dicev1.PoolRoll {
	rs := dangerworld.Default()
	out := &dicev1.PoolRoll{
		Difficulty: max(2, req.GetDifficulty()), Purpose: req.GetPurpose(), Stream: stream, Index: int32(index), //nolint:gosec // a record number
	}
	penalties := req.GetPenalty()
	if req.GetDice()+req.GetDanger() == 0 {
		penalties = 0 // the check fails unrolled (DW-POOL-04)
	}
	var all []dangerworld.Face
	roll := func(letter string, n int32) []int32 {
		var faces []int32
		for i := range n {
			face := dice.Roll(purposeOr(req.GetPurpose(), "pool"), rs.DieSides)
			all = append(all, dangerworld.Face{Die: letter + strconv.Itoa(int(i)+1), Face: face})
			faces = append(faces, int32(face)) //nolint:gosec // six sides
			if face == 1 {
				out.Botches++
			}
		}
		return faces
	}
	out.Normal, out.Danger, out.Penalty = roll("N", req.GetDice()), roll("D", req.GetDanger()), roll("P", penalties)
	sets, _ := rs.Sets(all, nil) // nothing is cancelled by name, so nothing is refused
	for _, s := range sets {
		out.Sets = append(out.Sets, &dicev1.PoolSet{
			Height: int32(s.Height), Width: int32(s.Width), Triggers: s.Triggers, DangerCost: int32(s.DangerCost), Cancelled: s.Cancelled, //nolint:gosec // small
		})
		if s.Triggers && int32(s.Height) >= out.GetDifficulty() { //nolint:gosec // small
			out.Claimed = proto.Int32(int32(s.Height)) //nolint:gosec // small
		}
	}
	return out
}

// RollTable implements dicev1.DiceServiceServer.
func (s *Server) RollTable(ctx context.Context, req *dicev1.RollTableRequest) (*dicev1.RollTableResponse, error) {
	n, err := parse("notation", req.GetNotation())
	if err != nil {
		return nil, err
	}
	if err := checkRows(req.GetRows()); err != nil {
		return nil, err
	}
	cmd, err := s.rollCommand(ctx, req, req.GetParent())
	if err != nil {
		return nil, err
	}
	ans, err := s.logs.roll(ctx, cmd, func(stream string, index int, dice *play.Dice) (*dicev1.RollLogEvent, error) {
		one, err := roll("notation", n, req.GetPurpose(), stream, index, dice)
		if err != nil {
			return nil, err
		}
		out := &dicev1.TableRoll{Roll: one}
		for _, row := range req.GetRows() {
			if total := out.GetRoll().GetTotal(); row.GetMin() <= total && total <= row.GetMax() {
				out.Row = row
			}
		}
		return &dicev1.RollLogEvent{Event: &dicev1.RollLogEvent_TableRolled{TableRolled: &dicev1.TableRolled{Roll: out}}}, nil
	})
	if err != nil {
		return nil, err
	}
	r := proto.CloneOf(ans.Events[0].GetTableRolled().GetRoll())
	r.Record = ans.Record
	return &dicev1.RollTableResponse{Roll: r}, nil
}

// checkRows refuses rows that end before they begin or share a total.
func checkRows(rows []*dicev1.TableRow) error {
	order := make([]int, len(rows))
	for i, row := range rows {
		if order[i] = i; row.GetMax() < row.GetMin() {
			return fault.Invalid(fmt.Sprintf("rows[%d]", i), "a row from %d to %d is empty", row.GetMin(), row.GetMax()).Because("TABLE_ROW")
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return int(rows[a].GetMin()) - int(rows[b].GetMin()) })
	for i := range len(order) - 1 {
		if a, b := rows[order[i]], rows[order[i+1]]; b.GetMin() <= a.GetMax() {
			return fault.Invalid(fmt.Sprintf("rows[%d]", order[i+1]), "total %d is in row %d too", b.GetMin(), order[i]).Because("TABLE_ROW")
		}
	}
	return nil
}
