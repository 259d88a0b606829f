package console

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	travelv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/travel/v1"
)

// missionCommands are the boards of missions and rumours.
func missionCommands() []command {
	board := []arg{{name: "board", kind: name, optional: true}}
	number := []arg{{name: "number", kind: number}}
	return []command{
		{
			name: "missions", aliases: []string{"mission", "missions/list", "rumours"}, who: anyone, anyone: true, args: board,
			help: "Shows the missions and rumours of all boards, or of the one named.", read: (*call).missions,
		},
		{
			name: "missions/take", who: owner, args: number, options: board,
			help: "Notes that you mean to see to a mission.", plan: (*call).takeMission,
		},
		{
			name: "missions/drop", who: owner, args: number, options: board,
			help: "Notes that you do not any more.", plan: (*call).dropMission,
		},
		{
			name: "missions/post", who: gmsOnly, anyone: true, args: []arg{{name: "title", kind: name}},
			options: []arg{{name: "region", optional: true}, {name: "place", optional: true}},
			help:    "Hangs an empty board up, for the campaign, a region or a settlement in it.", plan: (*call).postBoard,
		},
		{
			name: "missions/roll", who: gmsOnly, anyone: true, args: number, options: board,
			help: "Rolls that many missions onto a board.", plan: (*call).rollMissions,
		},
		{
			name: "missions/use", aliases: []string{"missions/done"}, who: gmsOnly, anyone: true, args: number, options: board,
			help: "Uses a mission up: it was done, has failed or has passed.", plan: (*call).useMission,
		},
	}
}

func (c *call) boards() (out []*travelv1.MissionBoard, err error) {
	err = pages(func(token string) (string, bool, error) {
		res, err := ask[*travelv1.ListMissionBoardsResponse](c, &travelv1.ListMissionBoardsRequest{Parent: c.req.GetCampaign(), PageSize: pageSize, PageToken: token})
		out = append(out, res.GetMissionBoards()...)
		return res.GetNextPageToken(), false, err
	})
	slices.Reverse(out) // the oldest first
	return out, err
}

// board is the one named, or the only one.
func (c *call) board(a args) (*travelv1.MissionBoard, error) {
	all, err := c.boards()
	switch {
	case err != nil:
		return nil, err
	case len(all) == 0:
		return nil, none("NO_BOARD", "no board hangs anywhere: +missions/post")
	case !a.has("board") && len(all) == 1:
		return all[0], nil
	}
	var things []thing
	for _, b := range all {
		things = append(things, thing{label: b.GetTitle(), also: []string{idOf(b.GetName())}, value: b})
	}
	if !a.has("board") {
		e := refuse(reasonMissing, a.end, "board=<board>", "there are %d boards", len(all))
		for _, t := range things[:min(len(things), mostSuggestions)] {
			e.suggestions = append(e.suggestions, `board="`+t.label+`"`)
		}
		return nil, e
	}
	t, err := find("a board", a.get("board"), things)
	if err != nil {
		return nil, err
	}
	return t.value.(*travelv1.MissionBoard), nil //nolint:forcetypeassert // see above
}

func (c *call) missions(a args) (string, proto.Message, error) {
	if a.has("board") {
		b, err := c.board(a)
		if err != nil {
			return "", nil, err
		}
		return c.boardText(b), b, nil
	}
	all, err := c.boards()
	if err != nil {
		return "", nil, err
	}
	out := &travelv1.ListMissionBoardsResponse{MissionBoards: all}
	if len(all) == 0 {
		return "No board hangs anywhere.", out, nil
	}
	texts := make([]string, len(all))
	for i, b := range all {
		texts[i] = c.boardText(b)
	}
	return strings.Join(texts, "\n"), out, nil
}

// boardText shows a board. What is false it does not tell, to game masters neither: others may be reading along.
func (c *call) boardText(b *travelv1.MissionBoard) string {
	out := []string{b.GetTitle() + ":"}
	for _, m := range b.GetMissions() {
		if m.GetUsed() {
			continue
		}
		head := fmt.Sprintf("  %d", m.GetNumber())
		if m.GetTitle() != "" {
			head += " " + m.GetTitle()
		}
		if len(m.GetTakers()) > 0 {
			head += " (" + join(c.calledAll(m.GetTakers()), "and") + ")"
		}
		out = append(out, head, wrapText(m.GetText(), "     "))
	}
	if len(out) == 1 {
		out = append(out, "  Nothing is open.")
	}
	return strings.Join(out, "\n")
}

// open refuses a number that no open mission of the board has.
func (c *call) open(b *travelv1.MissionBoard, a args) (int32, error) {
	n := a.number("number", 0)
	var there []string
	for _, m := range b.GetMissions() {
		if !m.GetUsed() {
			if m.GetNumber() == n {
				return n, nil
			}
			there = append(there, fmt.Sprint(m.GetNumber()))
		}
	}
	return n, refuse(reasonName, a.get("number").column, "a number of +missions", "there is no open mission %d", n).suggest(near(n, there)...)
}

func (c *call) takeMission(a args) (proto.Message, error) {
	who, err := c.actor()
	if err != nil {
		return nil, err
	}
	b, err := c.board(a)
	if err != nil {
		return nil, err
	}
	n, err := c.open(b, a)
	return &travelv1.TakeMissionRequest{Name: b.GetName(), Character: who, Number: n}, err
}

func (c *call) dropMission(a args) (proto.Message, error) {
	who, err := c.actor()
	if err != nil {
		return nil, err
	}
	b, err := c.board(a)
	if err != nil {
		return nil, err
	}
	n, err := c.open(b, a)
	return &travelv1.DropMissionRequest{Name: b.GetName(), Character: who, Number: n}, err
}

func (c *call) useMission(a args) (proto.Message, error) {
	b, err := c.board(a)
	if err != nil {
		return nil, err
	}
	n, err := c.open(b, a)
	return &travelv1.UseMissionRequest{Name: b.GetName(), Number: n}, err
}

func (c *call) rollMissions(a args) (proto.Message, error) {
	b, err := c.board(a)
	if err != nil {
		return nil, err
	}
	return &travelv1.RollMissionsRequest{Name: b.GetName(), Count: a.number("number", 1)}, nil
}

func (c *call) postBoard(a args) (proto.Message, error) {
	req := &travelv1.CreateMissionBoardRequest{Parent: c.req.GetCampaign(), Title: a.text("title")}
	if !a.has("region") && !a.has("place") {
		return req, nil
	}
	r, err := c.regionNamed(a)
	if err != nil {
		return nil, err
	}
	req.Region = r.GetName()
	if a.has("place") {
		t, err := find("a place", a.get("place"), places(r.GetLocations(), r.GetHiddenLocations()))
		if err != nil {
			return nil, err
		}
		req.Location = t.also[0]
	}
	return req, nil
}

// boardAnswer is what commands to a board answer.
type boardAnswer interface {
	GetMissionBoard() *travelv1.MissionBoard
	GetEvents() []*travelv1.MissionBoardEvent
}

func (c *call) boardEvents(b *travelv1.MissionBoard, events []*travelv1.MissionBoardEvent) string {
	var out []string
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	called := func(n int32) string {
		for _, m := range b.GetMissions() {
			if m.GetNumber() == n && m.GetTitle() != "" {
				return fmt.Sprintf("%d, %s,", n, m.GetTitle())
			}
		}
		return fmt.Sprint(n)
	}
	for _, ev := range events {
		switch e := ev.GetEvent().(type) {
		case *travelv1.MissionBoardEvent_MissionsRolled:
			var numbers []string
			for _, m := range e.MissionsRolled.GetMissions() {
				numbers = append(numbers, fmt.Sprint(m.GetNumber()))
			}
			say("New on %s: %s.", b.GetTitle(), join(numbers, "and"))
		case *travelv1.MissionBoardEvent_MissionUsed:
			say("Mission %s is used up.", called(e.MissionUsed.GetNumber()))
		case *travelv1.MissionBoardEvent_MissionTaken:
			say("%s means to see to mission %s.", c.called(e.MissionTaken.GetCharacter()), strings.TrimSuffix(called(e.MissionTaken.GetNumber()), ","))
		case *travelv1.MissionBoardEvent_MissionDropped:
			say("%s gives mission %s up.", c.called(e.MissionDropped.GetCharacter()), called(e.MissionDropped.GetNumber()))
		}
	}
	return strings.Join(out, "\n")
}
