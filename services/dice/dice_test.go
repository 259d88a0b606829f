package dice_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	dicev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dice/v1"
	typev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/type/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/dicestream"
	"github.com/wayfarer-rpg/wayfarer/internal/journal"
	"github.com/wayfarer-rpg/wayfarer/internal/journal/memory"
	"github.com/wayfarer-rpg/wayfarer/internal/requestid"
)

// recompute makes the faces of a record from a revealed stream and compares them with those that were shown.
func recompute(t *testing.T, s *dicev1.Stream, index int32, dice []*typev1.Die) {
	t.Helper()
	faces := must[*dicestream.Source](t)(dicestream.NewSource(dicestream.Key(s.GetSeed(), s.GetClientSeed(), uint64(index))))
	for i, d := range dice {
		if want := must[int](t)(faces.Next(int(d.GetSides()))); int(d.GetFace()) != want || d.GetReported() || d.GetSecret() {
			t.Errorf("die %d of roll %d is %v, the stream says %d", i, index, d, want)
		}
	}
}

func faces(terms []*dicev1.Term) []int32 {
	var out []int32
	for _, t := range terms {
		out = append(out, t.GetFaces()...)
	}
	return out
}

func TestEveryFaceFollowsFromTheRevealedSeed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	single := w.roll(ada, "2d6 + 1 - d20 + 3d1000000")
	if single.GetNotation() != "2d6+1-1d20+3d1000000" || len(single.GetTerms()) != 4 {
		t.Errorf("rolled %v", single)
	}
	f := faces(single.GetTerms())
	if want := f[0] + f[1] + 1 - f[2] + f[3] + f[4] + f[5]; single.GetTotal() != want {
		t.Errorf("total %d of %v, want %d", single.GetTotal(), f, want)
	}
	batch := must[*dicev1.BatchRollResponse](t)(w.dice.BatchRoll(w.as(ada), &dicev1.BatchRollRequest{
		Parent: camp, Notations: []string{"3d8", "7", "d6-2d4"}, Purpose: "a batch", RequestId: w.id(),
	})).GetRolls()
	var usages []*dicev1.UsageRoll
	for mode := range dicev1.UsageMode_name {
		usages = append(usages, must[*dicev1.RollUsageDieResponse](t)(w.dice.RollUsageDie(w.as(ada), &dicev1.RollUsageDieRequest{
			Parent: camp, Sides: 12, Mode: dicev1.UsageMode(mode), RequestId: w.id(),
		})).GetRoll())
	}

	before := w.log(ada)
	if hidden := w.stream(ada, before.GetStream()); len(hidden.GetSeed()) != 0 || hidden.GetRevealed() || !hidden.GetDrawn() || hidden.GetHolder() != before.GetName() {
		t.Errorf("before the reveal: %v", hidden)
	}
	commitment := w.stream(bram, before.GetStream()).GetCommitment()
	ended := w.rotate(ada)
	seed := ended.GetRevealed()
	if sum := dicestream.Commitment(seed.GetSeed()); !bytes.Equal(sum[:], commitment) || !seed.GetRevealed() || seed.GetName() != before.GetStream() {
		t.Fatalf("revealed %v, committed to %x", seed, commitment)
	}
	if l := ended.GetRollLog(); l.GetStream() == before.GetStream() || !slices.Equal(l.GetPastStreams(), []string{before.GetStream()}) || l.GetOwner() != ada {
		t.Errorf("the log after its rotation: %v", l)
	}

	recompute(t, seed, single.GetIndex(), single.GetRecord().GetDice())
	if got := faces(single.GetTerms()); !slices.EqualFunc(got, single.GetRecord().GetDice(), func(f int32, d *typev1.Die) bool { return f == d.GetFace() }) {
		t.Errorf("faces %v, record %v", got, single.GetRecord())
	}
	all := batch[0].GetRecord().GetDice()
	recompute(t, seed, batch[0].GetIndex(), all)
	for i, r := range batch {
		if r.GetIndex() != batch[0].GetIndex() || r.GetStream() != before.GetStream() || r.GetPurpose() != "a batch" || !proto.Equal(r.GetRecord(), batch[0].GetRecord()) {
			t.Errorf("roll %d of the batch: %v", i, r)
		}
		for j, face := range faces(r.GetTerms()) {
			if all[int(r.GetOffset())+j].GetFace() != face {
				t.Errorf("roll %d of the batch: faces %v are not at %d of %v", i, faces(r.GetTerms()), r.GetOffset(), all)
			}
		}
	}
	if batch[1].GetTotal() != 7 || len(all) != 6 {
		t.Errorf("the batch: %v", batch)
	}
	for _, u := range usages {
		recompute(t, seed, u.GetIndex(), u.GetRecord().GetDice())
		checkUsage(t, u)
	}
	// The log tells the same, and the next stream has numbers of its own.
	next := w.roll(ada, "d6")
	if next.GetStream() != ended.GetRollLog().GetStream() {
		t.Errorf("rolled with %s after the rotation", next.GetStream())
	}
	recomputed := 0
	for _, e := range w.entries(ada, 4) {
		index := e.GetRecord().GetSeq()
		if rolls := e.GetEvent().GetRolled().GetRolls(); len(rolls) > 0 && rolls[0].GetStream() != seed.GetName() {
			continue
		}
		recompute(t, seed, index, e.GetRecord().GetDice())
		recomputed += len(e.GetRecord().GetDice())
	}
	if recomputed != 6+6+9 {
		t.Errorf("%d dice in the log", recomputed)
	}
}

// checkUsage holds a usage roll against the dice of its record: a kept face of 1 or 2 steps the die down (DDW-USE-03).
func checkUsage(t *testing.T, u *dicev1.UsageRoll) {
	t.Helper()
	var got []int32
	for _, d := range u.GetRecord().GetDice() {
		if d.GetSides() != 12 {
			t.Errorf("rolled %v", d)
		}
		got = append(got, d.GetFace())
	}
	type shape struct {
		dice int
		kept int32
	}
	want := map[dicev1.UsageMode]shape{
		dicev1.UsageMode_USAGE_MODE_SINGLE:    {1, slices.Min(got)},
		dicev1.UsageMode_USAGE_MODE_LOWEST_2:  {2, slices.Min(got)},
		dicev1.UsageMode_USAGE_MODE_LOWEST_3:  {3, slices.Min(got)},
		dicev1.UsageMode_USAGE_MODE_HIGHEST_2: {2, slices.Max(got)},
	}[u.GetMode()]
	if (shape{len(got), u.GetKept()}) != want {
		t.Errorf("%v kept %d of %v, want %+v", u.GetMode(), u.GetKept(), got, want)
	}
	next := int32(12)
	if u.GetKept() <= 2 {
		next = 10
	}
	if u.GetSteppedDown() != (u.GetKept() <= 2) || u.NextSides == nil || u.GetNextSides() != next {
		t.Errorf("a d12 that shows %d: %v", u.GetKept(), u)
	}
}

func TestReportedUsageDice(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, tc := range map[string]struct {
		sides    int32
		mode     dicev1.UsageMode
		reported []int32
		kept     int32
		next     *int32
	}{
		"a d20 that holds":                      {20, dicev1.UsageMode_USAGE_MODE_SINGLE, []int32{3}, 3, proto.Int32(20)},
		"a d20 that steps down":                 {20, dicev1.UsageMode_USAGE_MODE_SINGLE, []int32{2}, 2, proto.Int32(12)},
		"a d4 that is used up":                  {4, dicev1.UsageMode_USAGE_MODE_SINGLE, []int32{1}, 1, nil},
		"the lowest of two":                     {8, dicev1.UsageMode_USAGE_MODE_LOWEST_2, []int32{8, 1}, 1, proto.Int32(6)},
		"the lowest of three":                   {6, dicev1.UsageMode_USAGE_MODE_LOWEST_3, []int32{6, 5, 4}, 4, proto.Int32(6)},
		"the highest of two":                    {10, dicev1.UsageMode_USAGE_MODE_HIGHEST_2, []int32{1, 9}, 9, proto.Int32(10)},
		"no mode, which is one die and says so": {6, dicev1.UsageMode_USAGE_MODE_UNSPECIFIED, []int32{2}, 2, proto.Int32(4)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := must[*dicev1.RollUsageDieResponse](t)(w.dice.RollUsageDie(w.as(gm), &dicev1.RollUsageDieRequest{
				Parent: camp, Sides: tc.sides, Mode: tc.mode, ReportedDice: tc.reported, RequestId: w.id(),
			})).GetRoll()
			mode := max(tc.mode, dicev1.UsageMode_USAGE_MODE_SINGLE)
			want := &dicev1.UsageRoll{Sides: tc.sides, Mode: mode, Kept: tc.kept, SteppedDown: tc.kept <= 2, NextSides: tc.next}
			if d := cmp.Diff(want, got, protocmp.Transform(), protocmp.IgnoreFields(got, "record")); d != "" {
				t.Error(d)
			}
			for i, d := range got.GetRecord().GetDice() {
				if !d.GetReported() || d.GetFace() != tc.reported[i] || d.GetSides() != tc.sides {
					t.Errorf("die %d: %v", i, d)
				}
			}
		})
	}
}

func TestReportedDiceAreTakenAsTheyAre(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	got := must[*dicev1.BatchRollResponse](t)(w.dice.BatchRoll(w.as(gm), &dicev1.BatchRollRequest{
		Parent: camp, Notations: []string{"2d6", "d20"}, ReportedDice: []int32{6, 1, 20}, RequestId: w.id(),
	})).GetRolls()
	if got[0].GetTotal() != 7 || got[1].GetTotal() != 20 || got[1].GetOffset() != 2 || got[0].GetStream() != "" || got[0].GetIndex() != 0 {
		t.Errorf("rolled %v", got)
	}
	for _, d := range got[0].GetRecord().GetDice() {
		if !d.GetReported() {
			t.Errorf("not marked as reported: %v", d)
		}
	}
	if w.stream(gm, w.log(gm).GetStream()).GetDrawn() {
		t.Error("the stream was drawn from")
	}
}

func TestARepetitionGetsTheFirstAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	req := &dicev1.RollRequest{Parent: camp, Notation: "10d1000", Purpose: "once", RequestId: "again"}
	first := must[*dicev1.RollResponse](t)(w.dice.Roll(w.as(ada), req))
	w.roll(ada, "d6")
	w.rotate(ada)
	replica := newWorldOn(t, w.store)
	for name, call := range map[string]func() (*dicev1.RollResponse, error){
		"to the same replica": func() (*dicev1.RollResponse, error) { return w.dice.Roll(w.as(ada), req) },
		"to another":          func() (*dicev1.RollResponse, error) { return replica.dice.Roll(replica.as(ada), req) },
		"without a role that rolls": func() (*dicev1.RollResponse, error) {
			replica.members.demoted.Store(true)
			return replica.dice.Roll(replica.as(ada), req)
		},
	} {
		if d := cmp.Diff(first, must[*dicev1.RollResponse](t)(call()), protocmp.Transform()); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	// Another who uses the same id has a log of their own.
	if theirs := must[*dicev1.RollResponse](t)(w.dice.Roll(w.as(bram), req)); theirs.GetRoll().GetStream() == first.GetRoll().GetStream() {
		t.Error("two people share a stream")
	}
	before := w.count()
	_, err := w.dice.Roll(w.as(ada), &dicev1.RollRequest{Parent: camp, Notation: "10d1000", Purpose: "twice", RequestId: "again"})
	refusal{codes.InvalidArgument, "REQUEST_ID_REUSED", "request_id"}.check(t, err)
	_, err = w.dice.BatchRoll(w.as(ada), &dicev1.BatchRollRequest{Parent: camp, Notations: []string{"d6"}, RequestId: "again"})
	refusal{codes.InvalidArgument, "REQUEST_ID_REUSED", "request_id"}.check(t, err)
	if now := w.count(); now != before {
		t.Errorf("%d records, then %d", before, now)
	}
}

func TestAGMsReportIsRepeatedAfterTheirRoleEnded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	req := &dicev1.RollRequest{Parent: camp, Notation: "d6", ReportedDice: []int32{6}, RequestId: "r"}
	first := must[*dicev1.RollResponse](t)(w.dice.Roll(w.as(gm), req))
	w.members.demoted.Store(true)
	if d := cmp.Diff(first, must[*dicev1.RollResponse](t)(w.dice.Roll(w.as(gm), req)), protocmp.Transform()); d != "" {
		t.Error(d)
	}
	req.RequestId = "r2"
	_, err := w.dice.Roll(w.as(gm), req)
	refusal{codes.PermissionDenied, "SPECTATOR", ""}.check(t, err)
}

func TestBadRequestsAreRefusedAndRecordNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, who := range []string{gm, ada} {
		w.roll(who, "d6")
	}
	adasLog := w.log(ada).GetName()
	stream := w.log(ada).GetStream()
	roll := func(who, notation string, reported ...int32) func() error {
		return func() error {
			_, err := w.dice.Roll(w.as(who), &dicev1.RollRequest{Parent: camp, Notation: notation, ReportedDice: reported, RequestId: w.id()})
			return err
		}
	}
	list := func(who, parent, token string, size int32) func() error {
		return func() error {
			_, err := w.dice.ListRolls(w.as(who), &dicev1.ListRollsRequest{Parent: parent, PageToken: token, PageSize: size})
			return err
		}
	}
	page := func(who string) string {
		return must[*dicev1.ListRollsResponse](t)(w.dice.ListRolls(w.as(who), &dicev1.ListRollsRequest{Parent: mine, PageSize: 1})).GetNextPageToken()
	}
	raw := must[[]byte](t)(base64.RawURLEncoding.DecodeString(page(ada)))
	plain := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
	sum := strings.Fields(string(raw))[1]

	before := w.count()
	for name, tc := range map[string]struct {
		call func() error
		want refusal
	}{
		"dice that a player reports":        {roll(ada, "d6", 3), refusal{codes.PermissionDenied, "NOT_GM", "reported_dice"}},
		"too few dice":                      {roll(gm, "3d6", 3, 3), refusal{codes.InvalidArgument, "BAD_DICE", "reported_dice"}},
		"too many dice":                     {roll(gm, "d6", 3, 3), refusal{codes.InvalidArgument, "BAD_DICE", "reported_dice"}},
		"a face of 0":                       {roll(gm, "d6", 0), refusal{codes.InvalidArgument, "BAD_DICE", "reported_dice"}},
		"a face below 0":                    {roll(gm, "d6", -1), refusal{codes.InvalidArgument, "BAD_DICE", "reported_dice"}},
		"a face that the die does not have": {roll(gm, "d6", 7), refusal{codes.InvalidArgument, "BAD_DICE", "reported_dice"}},
		"no notation":                       {roll(ada, ""), refusal{codes.InvalidArgument, "INVALID", "notation"}},
		"a notation of words":               {roll(ada, "two dice"), refusal{codes.InvalidArgument, "BAD_NOTATION", "notation"}},
		"a die without sides":               {roll(ada, "2d0"), refusal{codes.InvalidArgument, "BAD_NOTATION", "notation"}},
		"a thousand and one dice":           {roll(ada, "1001d6"), refusal{codes.ResourceExhausted, "TOO_MUCH_WORK", "notation"}},
		"a spectator who rolls":             {roll(spectator, "d6"), refusal{codes.PermissionDenied, "SPECTATOR", ""}},
		"a roll in another campaign":        {roll(stranger, "d6"), refusal{codes.NotFound, "NOT_FOUND", ""}},
		"a roll by nobody":                  {roll(nobody, "d6"), refusal{codes.NotFound, "NOT_FOUND", ""}},
		"a batch with one bad notation": {func() error {
			_, err := w.dice.BatchRoll(w.as(ada), &dicev1.BatchRollRequest{Parent: camp, Notations: []string{"d6", "d"}, RequestId: w.id()})
			return err
		}, refusal{codes.InvalidArgument, "BAD_NOTATION", "notations[1]"}},
		"a batch of a thousand and one dice": {func() error {
			_, err := w.dice.BatchRoll(w.as(ada), &dicev1.BatchRollRequest{Parent: camp, Notations: []string{"1000d6", "d6"}, RequestId: w.id()})
			return err
		}, refusal{codes.ResourceExhausted, "TOO_MUCH_WORK", "notations[1]"}},
		"a batch of nothing": {func() error {
			_, err := w.dice.BatchRoll(w.as(ada), &dicev1.BatchRollRequest{Parent: camp, RequestId: w.id()})
			return err
		}, refusal{codes.InvalidArgument, "INVALID", "notations"}},
		"a usage die of seven sides": {func() error {
			_, err := w.dice.RollUsageDie(w.as(ada), &dicev1.RollUsageDieRequest{Parent: camp, Sides: 7, RequestId: w.id()})
			return err
		}, refusal{codes.InvalidArgument, "INVALID", "sides"}},
		"a roll without a request_id": {func() error {
			_, err := w.dice.Roll(w.as(ada), &dicev1.RollRequest{Parent: camp, Notation: "d6"})
			return err
		}, refusal{codes.InvalidArgument, "INVALID", "request_id"}},
		"a page below 0":                   {list(ada, mine, "", -1), refusal{codes.InvalidArgument, "INVALID", "page_size"}},
		"a token that is none":             {list(ada, mine, "?", 1), refusal{codes.InvalidArgument, "PAGE_TOKEN", "page_token"}},
		"a token of words":                 {list(ada, mine, plain("one"), 1), refusal{codes.InvalidArgument, "PAGE_TOKEN", "page_token"}},
		"a token of another log":           {list(ada, mine, page(gm), 1), refusal{codes.InvalidArgument, "PAGE_TOKEN", "page_token"}},
		"a token beyond the end":           {list(ada, mine, plain("99 "+sum), 1), refusal{codes.InvalidArgument, "PAGE_TOKEN", "page_token"}},
		"a token before the beginning":     {list(ada, mine, plain("-1 "+sum), 1), refusal{codes.InvalidArgument, "PAGE_TOKEN", "page_token"}},
		"a token with more behind":         {list(ada, mine, plain(string(raw)+"1"), 1), refusal{codes.InvalidArgument, "PAGE_TOKEN", "page_token"}},
		"a list of a log that is none":     {list(ada, camp+"/rollLogs/none", "", 1), refusal{codes.NotFound, "NOT_FOUND", ""}},
		"a list of another campaign's log": {list(stranger, adasLog, "", 1), refusal{codes.NotFound, "NOT_FOUND", ""}},
		"a stream of another campaign": {func() error {
			_, err := w.dice.GetStream(w.as(stranger), &dicev1.GetStreamRequest{Name: stream})
			return err
		}, refusal{codes.NotFound, "NOT_FOUND", ""}},
		"another campaign's stream under the own name": {func() error {
			_, err := w.dice.GetStream(w.as(stranger), &dicev1.GetStreamRequest{Name: strings.Replace(stream, camp, other, 1)})
			return err
		}, refusal{codes.NotFound, "NOT_FOUND", ""}},
		"another player's log that is to be rotated": {func() error {
			_, err := w.dice.RotateRollLog(w.as(bram), &dicev1.RotateRollLogRequest{Name: adasLog, RequestId: w.id()})
			return err
		}, refusal{codes.PermissionDenied, "NOT_GM", ""}},
		"a spectator who rotates": {func() error {
			_, err := w.dice.RotateRollLog(w.as(spectator), &dicev1.RotateRollLogRequest{Name: mine, RequestId: w.id()})
			return err
		}, refusal{codes.PermissionDenied, "SPECTATOR", ""}},
		"a client seed after the first draw": {func() error {
			_, err := w.dice.SetClientSeed(w.as(ada), &dicev1.SetClientSeedRequest{Name: stream, ClientSeed: "late", RequestId: w.id()})
			return err
		}, refusal{codes.FailedPrecondition, "STREAM_DRAWN", ""}},
		"a client seed of a spectator": {func() error {
			_, err := w.dice.SetClientSeed(w.as(spectator), &dicev1.SetClientSeedRequest{Name: stream, ClientSeed: "s", RequestId: w.id()})
			return err
		}, refusal{codes.PermissionDenied, "SPECTATOR", ""}},
		"a client seed of 129 bytes": {func() error {
			_, err := w.dice.SetClientSeed(w.as(ada), &dicev1.SetClientSeedRequest{Name: stream, ClientSeed: strings.Repeat("s", 129), RequestId: w.id()})
			return err
		}, refusal{codes.InvalidArgument, "INVALID", "client_seed"}},
		"a user who draws": {func() error {
			_, err := w.dice.Draw(w.as(gm), &dicev1.DrawRequest{Name: stream, Index: 1})
			return err
		}, refusal{codes.PermissionDenied, "NOT_A_SERVICE", ""}},
		"a user who reveals": {func() error {
			_, err := w.dice.RevealStream(w.as(gm), &dicev1.RevealStreamRequest{Name: stream, RequestId: w.id()})
			return err
		}, refusal{codes.PermissionDenied, "NOT_A_SERVICE", ""}},
		"a user who makes a stream": {func() error {
			_, err := w.dice.CreateStream(w.as(gm), &dicev1.CreateStreamRequest{Parent: camp, StreamId: "s", Holder: camp + "/runs/r", RequestId: w.id()})
			return err
		}, refusal{codes.PermissionDenied, "NOT_A_SERVICE", ""}},
		"a stream for another campaign's run": {func() error {
			_, err := w.dice.CreateStream(w.as(service), &dicev1.CreateStreamRequest{Parent: camp, StreamId: "s", Holder: other + "/runs/r", RequestId: w.id()})
			return err
		}, refusal{codes.NotFound, "NOT_FOUND", "holder"}},
		"draw number 0": {func() error {
			_, err := w.dice.Draw(w.as(service), &dicev1.DrawRequest{Name: stream})
			return err
		}, refusal{codes.InvalidArgument, "INVALID", "index"}},
		"a draw from no stream": {func() error {
			_, err := w.dice.Draw(w.as(service), &dicev1.DrawRequest{Name: camp + "/streams/none", Index: 1})
			return err
		}, refusal{codes.NotFound, "NOT_FOUND", ""}},
		"a service that rolls for a spectator": {roll(service+" for "+spectator, "d6"), refusal{codes.PermissionDenied, "SPECTATOR", ""}},
	} {
		t.Run(name, func(t *testing.T) { tc.want.check(t, tc.call()) })
	}
	if now := w.count(); now != before {
		t.Errorf("%d records before, %d after", before, now)
	}
}

func TestAClientSeedIsSetOnceBeforeTheFirstDraw(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	set := func(who, stream, text, id string) (*dicev1.Stream, error) {
		res, err := w.dice.SetClientSeed(w.as(who), &dicev1.SetClientSeedRequest{Name: stream, ClientSeed: text, RequestId: id})
		return res.GetStream(), err
	}
	// A log that is rotated before anything was rolled has a published commitment and no draw.
	stream := w.rotate(ada).GetRollLog().GetStream()
	if s := w.stream(ada, stream); s.GetDrawn() || s.ClientSeed != nil || len(s.GetCommitment()) != 32 {
		t.Fatalf("a fresh stream: %v", s)
	}
	first := must[*dicev1.Stream](t)(set(bram, stream, "seven ravens", "seed"))
	if first.GetClientSeed() != "seven ravens" || first.GetDrawn() {
		t.Errorf("set: %v", first)
	}
	if d := cmp.Diff(first, must[*dicev1.Stream](t)(set(bram, stream, "seven ravens", "seed")), protocmp.Transform()); d != "" {
		t.Error(d)
	}
	_, err := set(ada, stream, "eight", "seed-2")
	refusal{codes.FailedPrecondition, "CLIENT_SEED_SET", ""}.check(t, err)
	roll := w.roll(ada, "20d20")
	revealed := w.rotate(ada).GetRevealed()
	if revealed.GetClientSeed() != "seven ravens" {
		t.Errorf("revealed: %v", revealed)
	}
	recompute(t, revealed, roll.GetIndex(), roll.GetRecord().GetDice())
	_, err = set(gm, stream, "nine", "seed-3")
	refusal{codes.FailedPrecondition, "STREAM_REVEALED", ""}.check(t, err)
}

func TestStreamsOfServices(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	create := func(id string, secret bool) *dicev1.Stream {
		return must[*dicev1.CreateStreamResponse](t)(w.dice.CreateStream(w.as(service), &dicev1.CreateStreamRequest{
			Parent: camp, StreamId: id, Holder: camp + "/runs/r1", Secret: secret, RequestId: "create-" + id,
		})).GetStream()
	}
	open, hidden := create("open", false), create("hidden", true)
	if d := cmp.Diff(open, create("open", false), protocmp.Transform()); d != "" {
		t.Errorf("made again: %s", d)
	}
	_, err := w.dice.CreateStream(w.as(service), &dicev1.CreateStreamRequest{Parent: camp, StreamId: "open", Holder: camp + "/runs/r2", RequestId: "other"})
	if status.Code(err) != codes.AlreadyExists {
		t.Errorf("the same id twice: %v", err)
	}
	draw := func(s *dicev1.Stream, i int32) []byte {
		return must[*dicev1.DrawResponse](t)(w.dice.Draw(w.as(service+" for "+ada), &dicev1.DrawRequest{Name: s.GetName(), Index: i})).GetKey()
	}
	keys := map[int32][]byte{}
	for _, i := range []int32{7, 1, 2_147_483_647} {
		keys[i] = draw(open, i)
		if !bytes.Equal(keys[i], draw(open, i)) {
			t.Errorf("number %d has two keys", i)
		}
	}
	draw(hidden, 1)

	reveal := func(s *dicev1.Stream) *dicev1.Stream {
		return must[*dicev1.RevealStreamResponse](t)(w.dice.RevealStream(w.as(service), &dicev1.RevealStreamRequest{Name: s.GetName(), RequestId: w.id()})).GetStream()
	}
	revealed := reveal(open)
	if d := cmp.Diff(revealed, reveal(open), protocmp.Transform()); d != "" {
		t.Errorf("revealed again: %s", d)
	}
	for i, key := range keys {
		if want := dicestream.Key(revealed.GetSeed(), "", uint64(i)); !bytes.Equal(key, want) {
			t.Errorf("number %d: key %x, want %x", i, key, want)
		}
	}
	_, err = w.dice.Draw(w.as(service), &dicev1.DrawRequest{Name: open.GetName(), Index: 7})
	refusal{codes.FailedPrecondition, "STREAM_REVEALED", ""}.check(t, err)

	reveal(hidden)
	for who, sees := range map[string]bool{gm: true, ada: false, spectator: false, service: true, service + " for " + ada: false} {
		got := w.stream(who, hidden.GetName())
		if (len(got.GetSeed()) == 32) != sees || !got.GetRevealed() || !got.GetSecret() {
			t.Errorf("%s sees %v", who, got)
		}
		for _, s := range must[*dicev1.ListStreamsResponse](t)(w.dice.ListStreams(w.as(who), &dicev1.ListStreamsRequest{Parent: camp})).GetStreams() {
			if s.GetName() == hidden.GetName() && (len(s.GetSeed()) == 32) != sees {
				t.Errorf("%s sees %v in the list", who, s)
			}
		}
	}
}

func TestListsInPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for range 9 {
		w.roll(ada, "d6")
	}
	w.roll(bram, "d6")
	for _, size := range []int32{1, 3, 10, 11, 500} {
		var seqs []int32
		for _, e := range w.entries(ada, size) {
			seqs = append(seqs, e.GetRecord().GetSeq())
		}
		if want := []int32{10, 9, 8, 7, 6, 5, 4, 3, 2, 1}; !slices.Equal(seqs, want) {
			t.Errorf("pages of %d: %v", size, seqs)
		}
	}
	// Rolls that are made meanwhile do not shift the pages.
	first := must[*dicev1.ListRollsResponse](t)(w.dice.ListRolls(w.as(ada), &dicev1.ListRollsRequest{Parent: mine, PageSize: 4}))
	w.roll(ada, "d6")
	second := must[*dicev1.ListRollsResponse](t)(w.dice.ListRolls(w.as(ada), &dicev1.ListRollsRequest{Parent: mine, PageSize: 4, PageToken: first.GetNextPageToken()}))
	if got := second.GetEntries()[0].GetRecord().GetSeq(); got != 6 {
		t.Errorf("the second page begins with %d", got)
	}
	var streams []string
	req := &dicev1.ListStreamsRequest{Parent: camp, PageSize: 1}
	for {
		res := must[*dicev1.ListStreamsResponse](t)(w.dice.ListStreams(w.as(spectator), req))
		for _, s := range res.GetStreams() {
			streams = append(streams, s.GetHolder())
		}
		if req.PageToken = res.GetNextPageToken(); req.GetPageToken() == "" {
			break
		}
	}
	want := []string{w.log(ada).GetName(), w.log(bram).GetName()}
	slices.Sort(want)
	if slices.Sort(streams); !slices.Equal(streams, want) {
		t.Errorf("streams of %v, want %v", streams, want)
	}
}

func TestConcurrentRolls(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	worlds := []*world{w, newWorldOn(t, w.store)} // two replicas race
	var wg sync.WaitGroup
	const rolls = 20
	got := make([]*dicev1.Roll, rolls)
	again := make([]*dicev1.Roll, rolls)
	for i := range rolls {
		on := worlds[i%2]
		id := w.id()
		wg.Go(func() {
			res, err := on.dice.Roll(on.as(ada), &dicev1.RollRequest{Parent: camp, Notation: "2d6", RequestId: id})
			if err != nil {
				t.Error(err)
			}
			got[i] = res.GetRoll()
		})
		wg.Go(func() {
			res, err := on.dice.Roll(on.as(bram), &dicev1.RollRequest{Parent: camp, Notation: "2d6", RequestId: "the-same"})
			if err != nil {
				t.Error(err)
			}
			again[i] = res.GetRoll()
		})
	}
	wg.Wait()
	if t.Failed() {
		return
	}
	seen := map[int32]bool{}
	for _, r := range got {
		seen[r.GetIndex()] = true
	}
	for i := int32(2); i < rolls+2; i++ { // the log begins with record 1
		if !seen[i] {
			t.Errorf("no roll has number %d: %v", i, seen)
		}
	}
	for i, e := range w.entries(ada, 500) {
		if want := int32(rolls + 1 - i); e.GetRecord().GetSeq() != want {
			t.Errorf("record %d where %d should be", e.GetRecord().GetSeq(), want)
		}
	}
	for _, r := range again {
		if !proto.Equal(r, again[0]) {
			t.Errorf("one request_id has two answers: %v, %v", r, again[0])
		}
	}
	if n := len(w.entries(bram, 500)); n != 2 {
		t.Errorf("%d records for one request", n)
	}
	seed := w.rotate(ada).GetRevealed()
	for _, r := range got {
		recompute(t, seed, r.GetIndex(), r.GetRecord().GetDice())
	}
}

func TestRollsBesideRotations(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	replica := newWorldOn(t, w.store)
	w.roll(ada, "d6")
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			if _, err := replica.dice.Roll(replica.as(ada), &dicev1.RollRequest{Parent: camp, Notation: "3d100", RequestId: w.id()}); err != nil {
				t.Error(err)
			}
		})
		if i%5 == 0 {
			wg.Go(func() {
				id := w.id()
				for {
					_, err := w.dice.RotateRollLog(w.as(ada), &dicev1.RotateRollLogRequest{Name: mine, RequestId: "rotate-" + id})
					if status.Code(err) == codes.Aborted { // another rotation was faster, which the caller is told
						continue
					}
					if err != nil {
						t.Error(err)
					}
					return
				}
			})
		}
	}
	wg.Wait()
	w.rotate(ada)
	rolls := 0
	for _, e := range w.entries(ada, 500) {
		for _, r := range e.GetEvent().GetRolled().GetRolls() {
			s := w.stream(ada, r.GetStream())
			if !s.GetRevealed() || r.GetIndex() != e.GetRecord().GetSeq() {
				t.Errorf("roll %v of stream %v", r, s)
			}
			recompute(t, s, r.GetIndex(), e.GetRecord().GetDice())
			rolls++
		}
	}
	if past := w.log(ada).GetPastStreams(); rolls != 21 || len(past) != 5 {
		t.Errorf("%d rolls, past streams %v", rolls, past)
	}
}

var errLost = errors.New("the machine died")

// dying is a store whose machine dies before a stream is revealed.
type dying struct {
	journal.Store
	dead atomic.Bool
}

func (d *dying) Insert(ctx context.Context, r journal.Record) error {
	if d.dead.Load() && r.Kind == "stream" && len(r.Events) == 1 && bytes.Contains(r.Events[0], []byte(`"revealed"`)) {
		return errLost
	}
	return d.Store.Insert(ctx, r)
}

func TestTheSweeperRevealsWhatACrashLeftHidden(t *testing.T) {
	t.Parallel()
	store := &dying{Store: memory.New()}
	w := newWorldOn(t, store)
	roll := w.roll(ada, "6d6")
	store.dead.Store(true)
	req := &dicev1.RotateRollLogRequest{Name: mine, RequestId: "rotate"}
	if _, err := w.dice.RotateRollLog(w.as(ada), req); status.Code(err) != codes.Internal || strings.Contains(err.Error(), errLost.Error()) {
		t.Fatalf("the crash: %v", err)
	}
	if s := w.stream(ada, roll.GetStream()); s.GetRevealed() || len(s.GetSeed()) > 0 {
		t.Fatalf("revealed: %v", s)
	}
	if owed := must[[]journal.Obligation](t)(store.Owing(context.Background(), "rollLog", journal.Obligation{}, 10)); len(owed) != 1 {
		t.Fatalf("owed: %v", owed)
	}

	next := newWorldOn(t, store) // another process
	ctx, stop := context.WithCancel(context.Background())
	tick, done := make(chan time.Time), make(chan struct{})
	go func() {
		next.server.Sweep(ctx, tick)
		close(done)
	}()
	tick <- time.Time{} // taken once the first sweep is over, which failed
	store.dead.Store(false)
	tick <- time.Time{} // the second may have begun before the store was well again
	tick <- time.Time{}
	stop()
	<-done
	s := next.stream(ada, roll.GetStream())
	if !s.GetRevealed() {
		t.Fatalf("not revealed: %v", s)
	}
	recompute(t, s, roll.GetIndex(), roll.GetRecord().GetDice())
	if owed := must[[]journal.Obligation](t)(store.Owing(context.Background(), "rollLog", journal.Obligation{}, 10)); len(owed) != 0 {
		t.Errorf("still owed: %v", owed)
	}
	res := must[*dicev1.RotateRollLogResponse](t)(next.dice.RotateRollLog(next.as(ada), req))
	if d := cmp.Diff(s, res.GetRevealed(), protocmp.Transform()); d != "" || len(res.GetRollLog().GetPastStreams()) != 1 {
		t.Errorf("the repetition: %v %s", res, d)
	}
}

func TestARepeatedRotationFinishesTheReveal(t *testing.T) {
	t.Parallel()
	store := &dying{Store: memory.New()}
	w := newWorldOn(t, store)
	roll := w.roll(ada, "d6")
	store.dead.Store(true)
	req := &dicev1.RotateRollLogRequest{Name: mine, RequestId: "rotate"}
	if _, err := w.dice.RotateRollLog(w.as(ada), req); status.Code(err) != codes.Internal {
		t.Fatalf("the crash: %v", err)
	}
	store.dead.Store(false)
	res := must[*dicev1.RotateRollLogResponse](t)(w.dice.RotateRollLog(w.as(ada), req))
	if s := res.GetRevealed(); s.GetName() != roll.GetStream() || len(s.GetSeed()) != 32 || len(res.GetRollLog().GetPastStreams()) != 1 {
		t.Errorf("rotated: %v", res)
	}
	// A GM may rotate a player's log.
	byGM := must[*dicev1.RotateRollLogResponse](t)(w.dice.RotateRollLog(w.as(gm), &dicev1.RotateRollLogRequest{Name: res.GetRollLog().GetName(), RequestId: "by-gm"}))
	if byGM.GetRollLog().GetOwner() != ada || len(byGM.GetRollLog().GetPastStreams()) != 2 {
		t.Errorf("rotated by a GM: %v", byGM)
	}
}

func TestVerify(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	roll := w.roll(ada, "3d6+d20")
	seed := w.rotate(ada).GetRevealed()
	good := func() *dicev1.VerifyRequest {
		return &dicev1.VerifyRequest{Seed: seed.GetSeed(), Commitment: seed.GetCommitment(), Draws: []*dicev1.VerifyDraw{
			{Index: roll.GetIndex(), Dice: proto.CloneOf(roll.GetRecord()).GetDice()},
		}}
	}
	shown := faces(roll.GetTerms())
	wrong := bytes.Clone(seed.GetCommitment())
	wrong[0] ^= 1
	for name, tc := range map[string]struct {
		change                     func(*dicev1.VerifyRequest)
		commitment, faces, matches bool
		want                       []int32
	}{
		"what was rolled":      {func(*dicev1.VerifyRequest) {}, true, true, true, shown},
		"without a commitment": {func(r *dicev1.VerifyRequest) { r.Commitment = nil }, true, true, true, shown},
		"another commitment":   {func(r *dicev1.VerifyRequest) { r.Commitment = wrong }, false, true, false, shown},
		"another face": {func(r *dicev1.VerifyRequest) {
			d := r.GetDraws()[0].GetDice()[3]
			d.Face = d.GetFace()%20 + 1
		}, true, false, false, shown},
		"a face that is not told": {func(r *dicev1.VerifyRequest) { r.GetDraws()[0].GetDice()[0].Face = 0 }, true, true, true, shown},
		"a reported die between": {func(r *dicev1.VerifyRequest) {
			r.GetDraws()[0].Dice = slices.Insert(r.GetDraws()[0].GetDice(), 1, &typev1.Die{Sides: 6, Face: 6, Reported: true})
		}, true, true, true, slices.Insert(slices.Clone(shown), 1, 0)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := good()
			tc.change(req)
			got := must[*dicev1.VerifyResponse](t)(w.dice.Verify(w.as(nobody), req))
			want := &dicev1.VerifyResponse{CommitmentMatches: tc.commitment, Verified: tc.matches, Draws: []*dicev1.VerifiedDraw{
				{Index: roll.GetIndex(), Faces: tc.want, Matches: tc.faces},
			}}
			if d := cmp.Diff(want, got, protocmp.Transform()); d != "" {
				t.Error(d)
			}
		})
	}
	req := good()
	req.GetDraws()[0].GetDice()[2].Sides = 0
	_, err := w.dice.Verify(w.as(nobody), req)
	refusal{codes.InvalidArgument, "INVALID", "draws[0].dice[2].sides"}.check(t, err)
	req = good()
	req.Seed = req.GetSeed()[1:]
	_, err = w.dice.Verify(w.as(nobody), req)
	refusal{codes.InvalidArgument, "INVALID", "seed"}.check(t, err)
}

func TestNobodyCanUseUpTheStepsOfAStream(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	stream := w.rotate(ada).GetRollLog().GetStream()
	// Whoever knows how the ids of the steps are made could give one of them to a command of their own.
	if _, err := w.dice.SetClientSeed(w.as(bram), &dicev1.SetClientSeedRequest{Name: stream, ClientSeed: "mine", RequestId: requestid.Derive(stream, "drawn")}); err != nil {
		t.Fatal(err)
	}
	roll := w.roll(ada, "d6")
	recompute(t, w.rotate(ada).GetRevealed(), roll.GetIndex(), roll.GetRecord().GetDice())
}
