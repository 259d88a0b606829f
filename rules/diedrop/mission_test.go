package diedrop

import (
	"errors"
	"fmt"
	"testing"

	"github.com/wayfarer-rpg/wayfarer/rules/play"
)

func TestMissionTable(t *testing.T) {
	t.Parallel()
	rule := catalogue(t)
	ids := []string{
		"DDW-MISSION-11", "DDW-MISSION-12", "DDW-MISSION-13", "DDW-MISSION-14", "DDW-MISSION-15",
		"DDW-MISSION-16", "DDW-MISSION-17", "DDW-MISSION-18", "DDW-MISSION-19", "DDW-MISSION-20",
		"DDW-MISSION-21", "DDW-MISSION-22", "DDW-MISSION-23", "DDW-MISSION-24", "DDW-MISSION-25",
		"DDW-MISSION-26", "DDW-MISSION-27", "DDW-MISSION-28", "DDW-MISSION-29", "DDW-MISSION-30",
	}
	eq(t, "missions", len(Default().Missions), len(ids))
	for i, id := range ids {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			j, dice := rolls(t, scene{params: map[string]any{"mission.duplicates": "keep"}}.begin(t), RollMissions{Count: 3}, i+1, i+1, i+1)
			eq(t, "dice", dice, "d20 d20 d20")
			m := j.Ruleset.Missions[j.Missions[0].Number-1]
			eq(t, "number", [2]int{j.Missions[0].Number, m.Number}, [2]int{i + 1, i + 1})
			text := fmt.Sprintf("%d *%s.* %s", m.Number, m.Title, m.Text)
			eq(t, "the catalogue's row", text, rule[id])
		})
	}
}

func numbers(j Journey) []int {
	var out []int
	for _, m := range j.Missions {
		out = append(out, m.Number)
	}
	return out
}

func TestMissions(t *testing.T) {
	t.Parallel()
	used := func(t *testing.T, params map[string]any, text string) Journey {
		t.Helper()
		j, _ := do(t, scene{params: params}.begin(t), RollMissions{Count: 3}, 9, 7, 20)
		j, _ = do(t, j, UseMission{Number: 9, Replacement: text})
		return j
	}
	rules{
		"DDW-MISSION-01 three at least at the outset": func(t *testing.T) {
			j := scene{}.begin(t)
			refuse(t, j, RollMissions{Count: 2}, "too_few_missions")
			j, dice := rolls(t, j, RollMissions{Count: 3}, 4, 8, 15)
			eq(t, "dice", dice, "d20 d20 d20")
			j, _ = do(t, j, RollMissions{Count: 1}, 16)
			eq(t, "missions", numbers(j), []int{4, 8, 15, 16})
			refuse(t, j, RollMissions{Count: 17}, "too_many_missions")
		},
		"DDW-MISSION-02 what is told is up to the GM": func(t *testing.T) {
			// No command tells or hides a particular: missions carry a number, and whether false and used, nothing else.
			j, _ := do(t, scene{}.begin(t), RollMissions{Count: 3}, 4, 8, 15)
			eq(t, "state", mustJSON(t, j.Missions[0]), `{"number":4,"false":false,"used":false}`)
			eq(t, "texts", len(j.MissionTexts), 0)
		},
		"DDW-MISSION-03 some are false": func(t *testing.T) {
			j, _ := do(t, scene{}.begin(t), RollMissions{Count: 3, False: []int{1}}, 7, 20, 3)
			eq(t, "missions", j.Missions, []Mission{{Number: 7}, {Number: 20, False: true}, {Number: 3}})
			j, _ = do(t, j, RollMissions{Count: 2, False: []int{0}}, 1, 2)
			eq(t, "places count in the roll's own list", j.Missions[3:], []Mission{{Number: 1, False: true}, {Number: 2}})
			for _, places := range [][]int{{-1}, {2}, {0, 0}} {
				refuse(t, j, RollMissions{Count: 2, False: places}, "invalid")
			}
		},
		"DDW-MISSION-04 an own entry in its place": func(t *testing.T) {
			j, _ := do(t, scene{}.begin(t), RollMissions{Count: 3}, 7, 20, 3)
			refuse(t, j, UseMission{Number: 5}, "no_such_mission")
			j, _ = do(t, j, UseMission{Number: 20, Replacement: "The bridge is out."})
			eq(t, "texts", j.MissionTexts, map[int]string{20: "The bridge is out."})
			eq(t, "used", j.Missions[1], Mission{Number: 20, Used: true})
			refuse(t, j, UseMission{Number: 20}, "no_such_mission")
		},
		"DDW-MISSION-05 an open number is rolled again": func(t *testing.T) {
			j, dice := rolls(t, scene{}.begin(t), RollMissions{Count: 3}, 7, 7, 20, 3)
			eq(t, "missions", numbers(j), []int{7, 20, 3})
			eq(t, "each refused number costs its die", dice, "d20 d20 d20 d20")
			j, _ = do(t, j, RollMissions{Count: 1}, 3, 20, 4)
			eq(t, "open from before", numbers(j), []int{7, 20, 3, 4})
			keep := scene{params: map[string]any{"mission.duplicates": "keep"}}.begin(t)
			keep, _ = do(t, keep, RollMissions{Count: 3}, 7, 7, 20)
			eq(t, "kept", numbers(keep), []int{7, 7, 20})
		},
		"DDW-MISSION-06 a used number needs a replacement": func(t *testing.T) {
			j, _ := do(t, used(t, nil, ""), RollMissions{Count: 1}, 9, 2)
			eq(t, "without", numbers(j), []int{9, 7, 20, 2})
			j, _ = do(t, used(t, nil, "Wolves at the ford."), RollMissions{Count: 1}, 9)
			eq(t, "with", numbers(j), []int{9, 7, 20, 9})
			j, _ = do(t, used(t, map[string]any{"mission.used": "keep"}, ""), RollMissions{Count: 1}, 9)
			eq(t, "kept", numbers(j), []int{9, 7, 20, 9})
			refuse(t, used(t, nil, ""), RollMissions{Count: 18}, "too_many_missions")
			refuse(t, used(t, nil, "Wolves at the ford."), RollMissions{Count: 19}, "too_many_missions")
		},
	}.run(t)
}

// A board without a journey goes by the same rules, step by step, but for those about a company.
func TestABoardByItself(t *testing.T) {
	t.Parallel()
	rs := Default()
	var b Board
	j := scene{}.begin(t)
	for _, s := range []struct {
		c     Command
		faces []int
	}{
		{UseMission{Number: 7}, nil},
		{RollMissions{Count: 2}, []int{7, 8}},
		{RollMissions{Count: 0}, nil},
		{RollMissions{Count: 3, False: []int{1}}, []int{7, 7, 20, 3}},
		{RollMissions{Count: 1}, []int{9, 1}},
		{UseMission{Number: 20, Replacement: "Wolves at the ford."}, nil},
		{UseMission{Number: 7}, nil},
		{RollMissions{Count: 2}, []int{7, 20, 1}},
		{RollMissions{Count: 40}, nil},
	} {
		dice := play.ReportedDice(s.faces...)
		events, err := DecideBoard(rs, b, s.c, dice)
		if err == nil {
			err = dice.Close()
		}
		old := mustJSON(t, b)
		next, journeys, _, refused := playStep(t, j, s.c, s.faces)
		var r *play.Refusal
		switch {
		case err == nil:
			eq(t, "events", events, journeys)
			now := b
			for _, e := range events {
				now = ApplyBoard(now, e)
			}
			eq(t, "the old board", mustJSON(t, b), old)
			b = now
		case !errors.As(err, &r) || refused == "":
			t.Errorf("%T%+v: %v", s.c, s.c, err)
		}
		j = next
		eq(t, "board", mustJSON(t, b), mustJSON(t, j.Board))
	}
	title, text := b.Told(rs, 20)
	eq(t, "what the GM wrote", [2]string{title, text}, [2]string{"", "Wolves at the ford."})
	title, text = b.Told(rs, 7)
	eq(t, "what is printed", [2]string{title, text}, [2]string{rs.Missions[6].Title, rs.Missions[6].Text})
	_, err := DecideBoard(rs, b, Forage{}, play.ReportedDice())
	var r *play.Refusal
	if !errors.As(err, &r) || r.Code != UnknownAction {
		t.Errorf("foraging on a board: %v", err)
	}
}
