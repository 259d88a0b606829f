package travel

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	travelv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/travel/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/requestid"
	"github.com/wayfarer-rpg/wayfarer/rules/diedrop"
)

// board is the fold of a mission board's journal. The messages in it are shared with the events and never changed.
type board struct {
	Title    string `json:"title"`
	Region   string `json:"region,omitempty"`
	Location string `json:"location,omitempty"`
	Journey  string `json:"journey,omitempty"`
	Stream   string `json:"stream"`
	// Commitment is that of Stream; Past are the streams before it, the oldest first.
	Commitment []byte           `json:"commitment"`
	Past       []string         `json:"past,omitempty"`
	Ruleset    *diedrop.Ruleset `json:"ruleset"`
	diedrop.Board
	// Told holds what each of the missions says, as it did when it came up, and who means to see to it.
	Told []*travelv1.Mission `json:"told,omitempty"`
}

// apply folds one event without changing what b refers to.
func (b board) apply(ev *travelv1.MissionBoardEvent) (board, error) {
	switch e := ev.GetEvent().(type) {
	case *travelv1.MissionBoardEvent_Opened:
		o := e.Opened
		rs, err := rulesetFrom(o.GetRuleset())
		if err != nil {
			return b, err
		}
		return board{
			Title: o.GetTitle(), Region: o.GetRegion(), Location: o.GetLocation(), Journey: o.GetJourney(), Stream: o.GetStream(),
			Commitment: o.GetCommitment(), Ruleset: rs,
		}, nil
	case *travelv1.MissionBoardEvent_MissionsRolled:
		rolled := diedrop.MissionsRolled{Missions: each(e.MissionsRolled.GetMissions(), func(m *travelv1.Mission) diedrop.Mission {
			return diedrop.Mission{Number: int(m.GetNumber()), False: m.GetIsFalse()}
		})}
		b.Board = diedrop.ApplyBoard(b.Board, rolled)
		b.Told = slices.Concat(b.Told, e.MissionsRolled.GetMissions())
		return b, nil
	case *travelv1.MissionBoardEvent_MissionUsed:
		if b.open(e.MissionUsed.GetNumber()) < 0 {
			return b, fmt.Errorf("mission %d is not open", e.MissionUsed.GetNumber())
		}
		b.Board = diedrop.ApplyBoard(b.Board, diedrop.MissionUsed{Number: int(e.MissionUsed.GetNumber()), Replacement: e.MissionUsed.GetReplacement()})
		return b, nil
	case *travelv1.MissionBoardEvent_MissionTaken:
		return b.with(e.MissionTaken.GetNumber(), func(takers []string) []string { return append(takers, e.MissionTaken.GetCharacter()) })
	case *travelv1.MissionBoardEvent_MissionDropped:
		return b.with(e.MissionDropped.GetNumber(), func(takers []string) []string {
			return slices.DeleteFunc(takers, func(c string) bool { return c == e.MissionDropped.GetCharacter() })
		})
	case *travelv1.MissionBoardEvent_Rotated:
		b.Stream, b.Commitment = e.Rotated.GetStream(), e.Rotated.GetCommitment()
		b.Past = append(slices.Clone(b.Past), e.Rotated.GetRevealed())
		return b, nil
	}
	return b, fmt.Errorf("unknown mission board event %T", ev.GetEvent())
}

// open returns the place of the first open mission of a number, or -1.
func (b board) open(number int32) int {
	return slices.IndexFunc(b.Missions, func(m diedrop.Mission) bool { return m.Number == int(number) && !m.Used })
}

// with changes who sees to the first open mission of a number.
func (b board) with(number int32, change func([]string) []string) (board, error) {
	i := b.open(number)
	if i < 0 {
		return b, fmt.Errorf("mission %d is not open", number)
	}
	b.Told = slices.Clone(b.Told)
	b.Told[i] = proto.CloneOf(b.Told[i])
	b.Told[i].Takers = change(b.Told[i].Takers)
	return b, nil
}

// streamOf names the n-th dice stream of a board, from 0.
func streamOf(campaign, name string, n int) string {
	return campaign + "/streams/" + requestid.Derive(name, "stream-"+strconv.Itoa(n))
}

func boardToProto(at boardAt) *travelv1.MissionBoard {
	b := at.State
	out := &travelv1.MissionBoard{
		Name: at.Stream, Title: b.Title, Region: b.Region, Location: b.Location, Journey: b.Journey, Stream: b.Stream, Commitment: b.Commitment,
		PastStreams: b.Past, OwnTexts: map[int32]string{},
		Etag: at.Etag(), Seq: i32(at.Seq), CreateTime: timestamppb.New(at.Created), UpdateTime: timestamppb.New(at.Updated),
	}
	for i, m := range b.Missions {
		told := proto.CloneOf(b.Told[i])
		told.IsFalse, told.Used = m.False, m.Used
		out.Missions = append(out.Missions, told)
	}
	for _, n := range slices.Sorted(maps.Keys(b.MissionTexts)) {
		out.OwnTexts[i32(n)] = b.MissionTexts[n]
	}
	return out
}

// boardEvent maps an event of the rules to the contract: what came up is told as the board tells it now.
func boardEvent(b board, e diedrop.Event) (*travelv1.MissionBoardEvent, error) {
	switch e := e.(type) {
	case diedrop.MissionsRolled:
		rolled := &travelv1.MissionsRolled{}
		for _, m := range e.Missions {
			title, text := b.Board.Told(b.Ruleset, m.Number)
			rolled.Missions = append(rolled.Missions, &travelv1.Mission{Number: i32(m.Number), IsFalse: m.False, Title: title, Text: text})
		}
		return &travelv1.MissionBoardEvent{Event: &travelv1.MissionBoardEvent_MissionsRolled{MissionsRolled: rolled}}, nil
	case diedrop.MissionUsed:
		return &travelv1.MissionBoardEvent{Event: &travelv1.MissionBoardEvent_MissionUsed{
			MissionUsed: &travelv1.MissionUsed{Number: i32(e.Number), Replacement: e.Replacement},
		}}, nil
	}
	return nil, fmt.Errorf("%T has no place on a board", e)
}
