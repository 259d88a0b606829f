package travel_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	travelv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/travel/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/await"
	"github.com/wayfarer-rpg/wayfarer/internal/dicestream"
	"github.com/wayfarer-rpg/wayfarer/internal/journal"
	"github.com/wayfarer-rpg/wayfarer/rules/diedrop"
)

const inn = camp + "/missionBoards/inn"

// hang hangs a board up in Tallowick.
func (n *node) hang() *travelv1.MissionBoard {
	n.t.Helper()
	n.importVale()
	return do[*travelv1.CreateMissionBoardResponse](n, gm, &travelv1.CreateMissionBoardRequest{
		Parent: camp, MissionBoardId: "inn", Title: "By the door of the inn", Region: vale, Location: "tallowick", RequestId: "hang",
	}).GetMissionBoard()
}

func (n *node) board(who string) *travelv1.MissionBoard {
	n.t.Helper()
	return do[*travelv1.GetMissionBoardResponse](n, who, &travelv1.GetMissionBoardRequest{Name: inn}).GetMissionBoard()
}

// rolled rolls missions by hand.
func (n *node) rolled(untrue []int32, faces ...int32) *travelv1.RollMissionsResponse {
	n.t.Helper()
	return do[*travelv1.RollMissionsResponse](n, gm, &travelv1.RollMissionsRequest{
		Name: inn, Count: int32(len(faces)), FalsePlaces: untrue, ReportedDice: faces, Etag: n.board(gm).GetEtag(), //nolint:gosec // few
	})
}

// watchBoard reads the records of the board from a seq to the last one.
func (n *node) watchBoard(who string, from, last int32) []*travelv1.WatchMissionBoardResponse {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(as(context.Background(), who), await.Limit)
	defer cancel()
	stream, err := travelv1.NewMissionServiceClient(n.conn).WatchMissionBoard(ctx, &travelv1.WatchMissionBoardRequest{Name: inn, FromSeq: from})
	var out []*travelv1.WatchMissionBoardResponse
	for err == nil {
		var res *travelv1.WatchMissionBoardResponse
		if res, err = stream.Recv(); err == nil {
			if out = append(out, res); res.GetRecord().GetSeq() == last {
				return out
			}
		}
	}
	if !errors.Is(err, io.EOF) {
		n.t.Fatal(err)
	}
	return out
}

func TestMissionsComeAndGo(t *testing.T) {
	t.Parallel()
	w := newWorld()
	n, replica := w.node(t), w.node(t)
	hung := n.hang()
	if hung.GetStream() == "" || len(hung.GetCommitment()) != sha256.Size || len(hung.GetMissions()) != 0 || hung.GetLocation() != "tallowick" {
		t.Errorf("it hangs as %v", hung)
	}
	rules := diedrop.Default()
	want := func(number int32, change func(*travelv1.Mission)) *travelv1.Mission {
		m := &travelv1.Mission{Number: number, Title: rules.Missions[number-1].Title, Text: rules.Missions[number-1].Text}
		change(m)
		return m
	}
	plain := func(*travelv1.Mission) {}

	first := n.rolled([]int32{1}, 7, 20, 3)
	if d := first.GetRecord().GetDice(); len(d) != 3 || d[1].GetFace() != 20 || d[1].GetSides() != 20 || !d[1].GetReported() {
		t.Errorf("dice %v", d)
	}
	do[*travelv1.TakeMissionResponse](n, adas, &travelv1.TakeMissionRequest{Name: inn, Character: ada, Number: 20})
	do[*travelv1.TakeMissionResponse](n, bot, &travelv1.TakeMissionRequest{Name: inn, Character: ada, Number: 7})
	do[*travelv1.TakeMissionResponse](n, gm, &travelv1.TakeMissionRequest{Name: inn, Character: bram, Number: 7})
	do[*travelv1.DropMissionResponse](n, adas, &travelv1.DropMissionRequest{Name: inn, Character: ada, Number: 7})
	used := do[*travelv1.UseMissionResponse](n, gm, &travelv1.UseMissionRequest{Name: inn, Number: 20, Replacement: "The mill burns."})
	if diff := cmp.Diff(map[int32]string{20: "The mill burns."}, used.GetMissionBoard().GetOwnTexts()); diff != "" {
		t.Errorf("own texts (-want +got):\n%s", diff)
	}
	last := n.rolled(nil, 20, 1)
	list := []*travelv1.Mission{
		want(7, func(m *travelv1.Mission) { m.Takers = []string{bram} }),
		want(20, func(m *travelv1.Mission) { m.IsFalse, m.Used, m.Takers = true, true, []string{ada} }),
		want(3, plain),
		{Number: 20, Text: "The mill burns."},
		want(1, plain),
	}
	if diff := cmp.Diff(list, last.GetMissionBoard().GetMissions(), protocmp.Transform()); diff != "" {
		t.Errorf("missions (-want +got):\n%s", diff)
	}
	for who, at := range map[string]*node{"the same": n, "another replica": replica} {
		if diff := cmp.Diff(last.GetMissionBoard(), at.board(gm), protocmp.Transform()); diff != "" {
			t.Errorf("(-answered +read of %s):\n%s", who, diff)
		}
	}
	// Both 20s: the first is used up, so the second is meant now.
	again := do[*travelv1.UseMissionResponse](replica, gm, &travelv1.UseMissionRequest{Name: inn, Number: 20})
	if m := again.GetMissionBoard().GetMissions(); !m[3].GetUsed() || m[4].GetUsed() {
		t.Errorf("missions %v", m)
	}
	if diff := cmp.Diff(hung, do[*travelv1.CreateMissionBoardResponse](n, gm, &travelv1.CreateMissionBoardRequest{
		Parent: camp, MissionBoardId: "inn", Title: "By the door of the inn", Region: vale, Location: "tallowick", RequestId: "hang",
	}).GetMissionBoard(), protocmp.Transform()); diff != "" {
		t.Errorf("asked again, it hangs otherwise:\n%s", diff)
	}
}

// Whether a rumour is false, and what the GM has in store, nobody else reads by any path.
func TestPlayersDoNotSeeWhichRumoursAreFalse(t *testing.T) {
	t.Parallel()
	n := newWorld().node(t)
	n.hang()
	n.rolled([]int32{0}, 7, 20, 3)
	do[*travelv1.UseMissionResponse](n, gm, &travelv1.UseMissionRequest{Name: inn, Number: 20, Replacement: "The mill burns."})
	for who, sees := range map[string]bool{gm: true, service: true, adas: false, bot: false, spectator: false} {
		paths := map[string]proto.Message{
			"get":  n.board(who),
			"list": do[*travelv1.ListMissionBoardsResponse](n, who, &travelv1.ListMissionBoardsRequest{Parent: camp}),
		}
		for _, res := range n.watchBoard(who, 0, 3) {
			paths[fmt.Sprintf("record %d", res.GetRecord().GetSeq())] = res
		}
		if who == adas || who == bot {
			paths["take"] = do[*travelv1.TakeMissionResponse](n, who, &travelv1.TakeMissionRequest{Name: inn, Character: ada, Number: map[string]int32{adas: 7, bot: 3}[who]})
		}
		var told string
		for where, res := range paths {
			told += protojson.Format(res)
			if !sees {
				telltale(t, who, where, protojson.Format(res), map[string]string{"isFalse": "whether it is false", "The mill": "the GM's own text", "ownTexts": "that there is one"})
			}
		}
		for _, s := range []string{"isFalse", "The mill"} {
			if sees && !strings.Contains(told, s) {
				t.Errorf("%s does not see %s", who, s)
			}
		}
	}
	n.rolled(nil, 20)
	if m := n.board(adas).GetMissions(); m[3].GetText() != "The mill burns." || m[3].GetNumber() != 20 {
		t.Errorf("come up, it says %v", m[3])
	}
}

func TestBadMissions(t *testing.T) {
	t.Parallel()
	w := newWorld()
	n := w.node(t)
	n.hang()
	n.rolled(nil, 7, 20, 3)
	do[*travelv1.TakeMissionResponse](n, adas, &travelv1.TakeMissionRequest{Name: inn, Character: ada, Number: 7, RequestId: "take"})
	do[*travelv1.UseMissionResponse](n, gm, &travelv1.UseMissionRequest{Name: inn, Number: 3})
	const empty = camp + "/missionBoards/empty"
	do[*travelv1.CreateMissionBoardResponse](n, gm, &travelv1.CreateMissionBoardRequest{Parent: camp, MissionBoardId: "empty", Title: "Empty"})
	create := func(change func(*travelv1.CreateMissionBoardRequest)) *travelv1.CreateMissionBoardRequest {
		req := &travelv1.CreateMissionBoardRequest{Parent: camp, MissionBoardId: "next", Title: "Next", Region: vale}
		change(req)
		return req
	}
	type board = travelv1.CreateMissionBoardRequest
	roll := func(count int32, change func(*travelv1.RollMissionsRequest)) *travelv1.RollMissionsRequest {
		req := &travelv1.RollMissionsRequest{Name: inn, Count: count}
		change(req)
		return req
	}
	as := func(*travelv1.RollMissionsRequest) {}
	denied, invalid, failed, absent := codes.PermissionDenied, codes.InvalidArgument, codes.FailedPrecondition, codes.NotFound
	for name, tt := range map[string]struct {
		who  string
		req  proto.Message
		want refusal
	}{
		"a player hangs up":                {adas, create(func(*board) {}), refusal{denied, "NOT_GM", ""}},
		"a player rolls":                   {adas, roll(1, as), refusal{denied, "NOT_GM", ""}},
		"a bot rolls":                      {bot, roll(1, as), refusal{denied, "NOT_GM", ""}},
		"a player uses up":                 {adas, &travelv1.UseMissionRequest{Name: inn, Number: 7}, refusal{denied, "NOT_GM", ""}},
		"a player rotates":                 {adas, &travelv1.RotateMissionBoardRequest{Name: inn}, refusal{denied, "NOT_GM", ""}},
		"a player reports dice":            {adas, roll(1, func(r *travelv1.RollMissionsRequest) { r.ReportedDice, r.Etag = []int32{1}, "x" }), refusal{denied, "NOT_GM", "reported_dice"}},
		"a spectator takes":                {spectator, &travelv1.TakeMissionRequest{Name: inn, Character: ada, Number: 7}, refusal{denied, "SPECTATOR", ""}},
		"a player takes for another":       {brams, &travelv1.TakeMissionRequest{Name: inn, Character: ada, Number: 20}, refusal{denied, "NOT_YOUR_CHARACTER", ""}},
		"a bot takes for another":          {bot, &travelv1.TakeMissionRequest{Name: inn, Character: bram, Number: 20}, refusal{denied, "NOT_YOUR_CHARACTER", ""}},
		"a stranger reads":                 {stranger, &travelv1.GetMissionBoardRequest{Name: inn}, refusal{absent, "NOT_FOUND", ""}},
		"a stranger lists":                 {stranger, &travelv1.ListMissionBoardsRequest{Parent: camp}, refusal{absent, "NOT_FOUND", ""}},
		"a board that is not there":        {gm, roll(1, func(r *travelv1.RollMissionsRequest) { r.Name = camp + "/missionBoards/none" }), refusal{absent, "NOT_FOUND", "name"}},
		"reading one that is not there":    {adas, &travelv1.GetMissionBoardRequest{Name: camp + "/missionBoards/none"}, refusal{absent, "NOT_FOUND", "name"}},
		"taking for who is not there":      {gm, &travelv1.TakeMissionRequest{Name: inn, Character: camp + "/characters/zed", Number: 7}, refusal{absent, "NOT_FOUND", "character"}},
		"taking for another's":             {gm, &travelv1.TakeMissionRequest{Name: inn, Character: other + "/characters/zed", Number: 7}, refusal{absent, "NOT_FOUND", "character"}},
		"too few at the outset":            {gm, roll(2, func(r *travelv1.RollMissionsRequest) { r.Name = empty }), refusal{failed, "TOO_FEW_MISSIONS", "count"}},
		"too many":                         {gm, roll(18, as), refusal{failed, "TOO_MANY_MISSIONS", "count"}},
		"none":                             {gm, roll(0, as), refusal{invalid, "INVALID", "count"}},
		"a false one beyond the list":      {gm, roll(2, func(r *travelv1.RollMissionsRequest) { r.FalsePlaces = []int32{2} }), refusal{invalid, "INVALID", "false_places[0]"}},
		"a false one twice":                {gm, roll(2, func(r *travelv1.RollMissionsRequest) { r.FalsePlaces = []int32{1, 1} }), refusal{invalid, "INVALID", "false_places"}},
		"dice without an etag":             {gm, roll(1, func(r *travelv1.RollMissionsRequest) { r.ReportedDice = []int32{1} }), refusal{invalid, "ETAG_REQUIRED", "etag"}},
		"dice for another state":           {gm, roll(1, func(r *travelv1.RollMissionsRequest) { r.ReportedDice, r.Etag = []int32{1}, "stale" }), refusal{codes.Aborted, "ETAG_MISMATCH", "etag"}},
		"a face that a d20 lacks":          {gm, roll(1, func(r *travelv1.RollMissionsRequest) { r.ReportedDice, r.Etag = []int32{21}, "now" }), refusal{invalid, "BAD_DICE", "reported_dice"}},
		"a number that is open, too few":   {gm, roll(1, func(r *travelv1.RollMissionsRequest) { r.ReportedDice, r.Etag = []int32{7}, "now" }), refusal{invalid, "BAD_DICE", "reported_dice"}},
		"using what is not open":           {gm, &travelv1.UseMissionRequest{Name: inn, Number: 3}, refusal{failed, "NO_SUCH_MISSION", "number"}},
		"using what is no number":          {gm, &travelv1.UseMissionRequest{Name: inn, Number: 99}, refusal{failed, "NO_SUCH_MISSION", "number"}},
		"using number 0":                   {gm, &travelv1.UseMissionRequest{Name: inn}, refusal{invalid, "INVALID", "number"}},
		"taking what is not open":          {adas, &travelv1.TakeMissionRequest{Name: inn, Character: ada, Number: 3}, refusal{failed, "NO_SUCH_MISSION", "number"}},
		"taking twice":                     {adas, &travelv1.TakeMissionRequest{Name: inn, Character: ada, Number: 7}, refusal{failed, "MISSION_TAKEN", "number"}},
		"dropping what one has not":        {adas, &travelv1.DropMissionRequest{Name: inn, Character: ada, Number: 20}, refusal{failed, "NOT_TAKEN", "number"}},
		"an id that is used":               {gm, create(func(r *board) { r.MissionBoardId = "inn" }), refusal{codes.AlreadyExists, "ALREADY_EXISTS", ""}},
		"no title":                         {gm, create(func(r *board) { r.Title = "" }), refusal{invalid, "INVALID", "title"}},
		"a region that is not there":       {gm, create(func(r *board) { r.Region = camp + "/regions/none" }), refusal{absent, "NOT_FOUND", "region"}},
		"another's region":                 {gm, create(func(r *board) { r.Region = other + "/regions/vale" }), refusal{absent, "NOT_FOUND", "region"}},
		"a settlement that is not there":   {gm, create(func(r *board) { r.Location = "nowhere" }), refusal{failed, "UNKNOWN_LOCATION", "location"}},
		"a place that is hidden":           {gm, create(func(r *board) { r.Location = "mirefold" }), refusal{failed, "UNKNOWN_LOCATION", "location"}},
		"a place that is no settlement":    {gm, create(func(r *board) { r.Location = "pennard-delve" }), refusal{failed, "NOT_SETTLEMENT", "location"}},
		"a settlement of no region":        {gm, create(func(r *board) { r.Region, r.Location = "", "tallowick" }), refusal{invalid, "INVALID", "location"}},
		"an unknown rule":                  {gm, create(func(r *board) { r.Params = params(map[string]any{"luck": 1}) }), refusal{invalid, "INVALID", "params"}},
		"a journey that is not there":      {gm, create(func(r *board) { r.Region, r.Journey = "", trek }), refusal{absent, "NOT_FOUND", "journey"}},
		"a journey's board in a region":    {gm, create(func(r *board) { r.Journey = trek }), refusal{invalid, "INVALID", "region"}},
		"a list within another's":          {adas, &travelv1.ListMissionBoardsRequest{Parent: camp, Within: other + "/regions/vale"}, refusal{absent, "NOT_FOUND", "within"}},
		"a page below 0":                   {adas, &travelv1.ListMissionBoardsRequest{Parent: camp, PageSize: -1}, refusal{invalid, "INVALID", "page_size"}},
		"a stale etag":                     {gm, &travelv1.UseMissionRequest{Name: inn, Number: 7, Etag: "stale"}, refusal{codes.Aborted, "ETAG_MISMATCH", "etag"}},
		"a stale etag to rotate":           {gm, &travelv1.RotateMissionBoardRequest{Name: inn, Etag: "stale"}, refusal{codes.Aborted, "ETAG_MISMATCH", "etag"}},
		"a request_id of another request":  {gm, &travelv1.UseMissionRequest{Name: inn, Number: 7, RequestId: "take"}, refusal{invalid, "REQUEST_ID_REUSED", "request_id"}},
		"a rotation of what is not there":  {gm, &travelv1.RotateMissionBoardRequest{Name: camp + "/missionBoards/none"}, refusal{absent, "NOT_FOUND", "name"}},
		"a text of more than 2000 letters": {gm, &travelv1.UseMissionRequest{Name: inn, Number: 7, Replacement: string(make([]byte, 2001))}, refusal{invalid, "INVALID", "replacement"}},
	} {
		t.Run(name, func(t *testing.T) {
			before, was := w.seqs(t), n.board(gm)
			if r, ok := tt.req.(*travelv1.RollMissionsRequest); ok && r.GetEtag() == "now" {
				r.Etag = was.GetEtag()
			}
			_, err := n.call(tt.who, tt.req)
			tt.want.check(t, err)
			if diff := cmp.Diff(before, w.seqs(t)); diff != "" {
				t.Errorf("the journal has changed (-before +after):\n%s", diff)
			}
			if diff := cmp.Diff(was, n.board(gm), protocmp.Transform()); diff != "" {
				t.Errorf("the board has changed (-before +after):\n%s", diff)
			}
		})
	}
}

// The dice of a board can be checked: its stream is changed for another, then its seed is told, and what comes after is
// rolled by the new one.
func TestTheDiceOfABoardRotate(t *testing.T) {
	t.Parallel()
	w := newWorld()
	n := w.node(t)
	n.hang()
	// faces are what a stream has for a record, d20s that are not there yet.
	faces := func(stream string, seq int32, count int) (out []int32) {
		key := sha256.Sum256(fmt.Appendf(nil, "%s %d", stream, seq))
		source, err := dicestream.NewSource(key[:])
		if err != nil {
			t.Fatal(err)
		}
		for range count {
			f, err := source.Next(20)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, int32(f)) //nolint:gosec // a d20
		}
		return out
	}
	check := func(res *travelv1.RollMissionsResponse, stream string) {
		t.Helper()
		var got []int32
		for _, d := range res.GetRecord().GetDice() {
			got = append(got, d.GetFace())
		}
		if diff := cmp.Diff(faces(stream, res.GetRecord().GetSeq(), len(got)), got); diff != "" || len(got) < 3 {
			t.Errorf("faces (-of the stream +rolled):\n%s", diff)
		}
	}
	first := n.board(gm).GetStream()
	check(do[*travelv1.RollMissionsResponse](n, gm, &travelv1.RollMissionsRequest{Name: inn, Count: 3}), first)

	rotate := &travelv1.RotateMissionBoardRequest{Name: inn, RequestId: "rotate"}
	rotated := do[*travelv1.RotateMissionBoardResponse](n, gm, rotate)
	now := rotated.GetMissionBoard()
	if now.GetStream() == first || !cmp.Equal(now.GetPastStreams(), []string{first}) || !w.dice.revealed[first] || w.dice.revealed[now.GetStream()] {
		t.Errorf("rotated to %v, revealed %v", now, w.dice.revealed)
	}
	if sum := sha256.Sum256([]byte(now.GetStream())); !cmp.Equal(now.GetCommitment(), sum[:]) {
		t.Errorf("the commitment is %x", now.GetCommitment())
	}
	if e := rotated.GetEvents()[0].GetRotated(); e.GetRevealed() != first || !cmp.Equal(e.GetCommitment(), now.GetCommitment()) {
		t.Errorf("journaled as %v", e)
	}
	check(do[*travelv1.RollMissionsResponse](n, gm, &travelv1.RollMissionsRequest{Name: inn, Count: 3}), now.GetStream())
	streams := len(w.dice.streams)
	if diff := cmp.Diff(rotated, do[*travelv1.RotateMissionBoardResponse](n, gm, rotate), protocmp.Transform()); diff != "" || len(w.dice.streams) != streams {
		t.Errorf("asked again, %d streams more, and:\n%s", len(w.dice.streams)-streams, diff)
	}

	// The process dies before it reveals: the sweeper does.
	n.dice.mu.Lock()
	n.dice.down = true
	n.dice.mu.Unlock()
	second := n.board(gm).GetStream()
	do[*travelv1.RotateMissionBoardResponse](n, gm, &travelv1.RotateMissionBoardRequest{Name: inn})
	n.sweep()
	if w.dice.revealed[second] {
		t.Error("revealed by a service that is down")
	}
	n.dice.mu.Lock()
	n.dice.down = false
	n.dice.mu.Unlock()
	w.node(t).sweep()
	if !w.dice.revealed[second] {
		t.Error("nobody has revealed the stream")
	}
	if owed, err := w.store.Owing(t.Context(), "missionBoard", journal.Obligation{}, 10); err != nil || len(owed) != 0 {
		t.Errorf("owed still: %v, %v", owed, err)
	}
}

// The board of a journey goes by the journey's rules, and by whether anybody lives.
func TestTheBoardOfAJourney(t *testing.T) {
	t.Parallel()
	n := newWorld().node(t)
	n.importVale()
	start := startTrek()
	start.Character, start.Params = "", params(map[string]any{"mission.outset": 4})
	do[*travelv1.StartJourneyResponse](n, gm, start)
	do[*travelv1.CreateMissionBoardResponse](n, gm, &travelv1.CreateMissionBoardRequest{Parent: camp, MissionBoardId: "inn", Title: "Talk", Journey: trek})
	do[*travelv1.CreateMissionBoardResponse](n, gm, &travelv1.CreateMissionBoardRequest{
		Parent: camp, Title: "Elsewhere", Region: vale, Params: params(map[string]any{"mission.outset": 5}),
	})
	_, err := n.call(gm, &travelv1.RollMissionsRequest{Name: inn, Count: 3})
	refusal{codes.FailedPrecondition, "TOO_FEW_MISSIONS", "count"}.check(t, err)
	do[*travelv1.RollMissionsResponse](n, gm, &travelv1.RollMissionsRequest{Name: inn, Count: 4})
	for within, want := range map[string]string{trek: "Talk", vale: "Elsewhere"} {
		got := do[*travelv1.ListMissionBoardsResponse](n, adas, &travelv1.ListMissionBoardsRequest{Parent: camp, Within: within}).GetMissionBoards()
		if len(got) != 1 || got[0].GetTitle() != want {
			t.Errorf("within %s hang %v", within, got)
		}
	}
	if got := do[*travelv1.ListMissionBoardsResponse](n, adas, &travelv1.ListMissionBoardsRequest{Parent: camp}).GetMissionBoards(); len(got) != 2 || got[0].GetTitle() != "Elsewhere" {
		t.Errorf("there hang %v", got)
	}
	for _, name := range []string{"Ada", "Bram", "Mabyn"} {
		do[*travelv1.HarmResponse](n, gm, &travelv1.HarmRequest{Name: trek, Member: name, Str: 99})
	}
	for _, req := range []proto.Message{&travelv1.RollMissionsRequest{Name: inn, Count: 1}, &travelv1.UseMissionRequest{Name: inn, Number: 1}} {
		_, err := n.call(gm, req)
		refusal{codes.FailedPrecondition, "PARTY_DEAD", ""}.check(t, err)
	}
}
