package dice_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/testing/protocmp"

	dicev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dice/v1"

	"github.com/wayfarer-rpg/wayfarer/rules/dangerworld"
	"github.com/wayfarer-rpg/wayfarer/rules/diedrop"
	"github.com/wayfarer-rpg/wayfarer/rules/notation"
	"github.com/wayfarer-rpg/wayfarer/rules/play"
)

func (w *world) reported(text string, faces ...int32) *dicev1.Roll {
	w.t.Helper()
	return must[*dicev1.RollResponse](w.t)(w.dice.Roll(w.as(gm), &dicev1.RollRequest{
		Parent: camp, Notation: text, ReportedDice: faces, RequestId: w.id(),
	})).GetRoll()
}

func TestARollIsATree(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.reported("4d6ro1!kh3cs6[fire] - {1d4, 1d8}kl1*2 + 1/2 # ouch", 1, 6, 6, 2, 3, 3, 4, 4, 2)
	want := &dicev1.RollNode{}
	// 1, again 6, explodes to 6, explodes to 2; 3; 3; 4: kept are 6, 6 and 4. Of 4 and 2 the lower is kept, twice.
	if err := protojson.Unmarshal([]byte(`{
		"kind": "ROLL_NODE_KIND_OPERATION", "value": "25/2", "parts": [
			{"kind": "ROLL_NODE_KIND_DICE", "text": "4d6ro=1!kh3cs=6[fire]", "value": "16", "label": "fire", "dice": [
				{"sides": 6, "value": 6, "critical": 1, "steps": [{"kind": "DIE_STEP_KIND_ROLLED", "face": 1, "value": 1}, {"kind": "DIE_STEP_KIND_REROLLED", "face": 6, "value": 6}]},
				{"sides": 6, "value": 6, "critical": 1, "exploded": true, "steps": [{"kind": "DIE_STEP_KIND_ROLLED", "face": 6, "value": 6}]},
				{"sides": 6, "value": 2, "exploded": true, "dropped": true, "droppedBy": "kh3", "steps": [{"kind": "DIE_STEP_KIND_ROLLED", "face": 2, "value": 2}]},
				{"sides": 6, "value": 3, "dropped": true, "droppedBy": "kh3", "steps": [{"kind": "DIE_STEP_KIND_ROLLED", "face": 3, "value": 3}]},
				{"sides": 6, "value": 3, "dropped": true, "droppedBy": "kh3", "steps": [{"kind": "DIE_STEP_KIND_ROLLED", "face": 3, "value": 3}]},
				{"sides": 6, "value": 4, "steps": [{"kind": "DIE_STEP_KIND_ROLLED", "face": 4, "value": 4}]}
			]},
			{"kind": "ROLL_NODE_KIND_OPERATION", "op": "-", "value": "4", "parts": [
				{"kind": "ROLL_NODE_KIND_GROUP", "text": "{1d4, 1d8}kl1", "value": "2", "parts": [
					{"kind": "ROLL_NODE_KIND_DICE", "text": "1d4", "value": "4", "dropped": true, "droppedBy": "kl1", "dice": [{"sides": 4, "value": 4, "steps": [{"kind": "DIE_STEP_KIND_ROLLED", "face": 4, "value": 4}]}]},
					{"kind": "ROLL_NODE_KIND_DICE", "text": "1d8", "value": "2", "dice": [{"sides": 8, "value": 2, "steps": [{"kind": "DIE_STEP_KIND_ROLLED", "face": 2, "value": 2}]}]}
				]},
				{"kind": "ROLL_NODE_KIND_NUMBER", "text": "2", "op": "*", "value": "2"}
			]},
			{"kind": "ROLL_NODE_KIND_OPERATION", "op": "+", "value": "1/2", "parts": [
				{"kind": "ROLL_NODE_KIND_NUMBER", "text": "1", "value": "1"},
				{"kind": "ROLL_NODE_KIND_NUMBER", "text": "2", "op": "/", "value": "2"}
			]}
		]}`), want); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, r.GetTree(), protocmp.Transform()); d != "" {
		t.Error(d)
	}
	if r.GetTotal() != 12 || r.GetValue() != "25/2" || r.GetComment() != "ouch" || r.GetNotation() != "4d6ro=1!kh3cs=6[fire]-{1d4, 1d8}kl1*2+1/2 # ouch" {
		t.Errorf("got %v", r)
	}
}

func TestTermsAreWhatIsAddedAndSubtracted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.reported("-(1d6-2d4!)+3*(1d2)d8[x]", 5, 4, 1, 3, 2, 7, 8)
	want := []*dicev1.Term{
		{Text: "1d6", Negative: true, Value: 5, Faces: []int32{5}},
		{Text: "2d4!", Value: 8, Faces: []int32{4, 1, 3}},
		{Text: "3*(1d2)d8[x]", Value: 45, Faces: []int32{2, 7, 8}},
	}
	if d := cmp.Diff(want, r.GetTerms(), protocmp.Transform()); d != "" || r.GetTotal() != 48 {
		t.Errorf("total %d: %s", r.GetTotal(), d)
	}
}

func TestUsageDiceOfANotation(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if u := w.reported("2ud8kl1", 5, 2).GetTree().GetUsage(); !u.GetSteppedDown() || u.GetNextSides() != 6 {
		t.Errorf("a d8 that shows 2: %v", u)
	}
	if u := w.reported("ud4", 1).GetTree().GetUsage(); !u.GetSteppedDown() || u.NextSides != nil {
		t.Errorf("a d4 that shows 1: %v", u)
	}
	if u := w.reported("ud4", 3).GetTree().GetUsage(); u.GetSteppedDown() || u.GetNextSides() != 4 {
		t.Errorf("a d4 that shows 3: %v", u)
	}
	if u := w.reported("2ud4", 3, 3).GetTree().GetUsage(); u != nil {
		t.Errorf("two dice that both count: %v", u)
	}
	for _, sides := range notation.UsageSides {
		if !diedrop.Default().IsUsageDie(sides) {
			t.Errorf("d%d is no usage die of the rules", sides)
		}
	}
	if n := len(diedrop.Default().DieChain); n != len(notation.UsageSides) {
		t.Errorf("the rules have %d usage dice", n)
	}
}

// A pool of the notation has the sets of Danger World.
func TestPoolsOfANotationFollowTheRules(t *testing.T) {
	t.Parallel()
	n, err := notation.Parse("dw3d1p1")
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"N1", "N2", "N3", "D1", "P1"}
	for roll := range 6 * 6 * 6 * 6 * 6 {
		var faces []int
		var all []dangerworld.Face
		for _, name := range names {
			faces = append(faces, roll%6+1)
			all = append(all, dangerworld.Face{Die: name, Face: roll%6 + 1})
			roll /= 6
		}
		r, err := n.Roll("x", play.ReportedDice(faces...))
		if err != nil {
			t.Fatal(err)
		}
		sets, err := dangerworld.Default().Sets(all, nil)
		if err != nil {
			t.Fatal(err)
		}
		want := 0
		for _, s := range sets {
			if s.Triggers {
				want = s.Height
			}
		}
		if r.Total() != want {
			t.Fatalf("%v: %d, want %d", faces, r.Total(), want)
		}
	}
}

// The table of hostile notations over gRPC, and some that only a roll shows.
func TestHostileNotationsAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.roll(gm, "d6")
	before := w.count()
	raw, err := os.ReadFile("../../rules/notation/testdata/hostile.json")
	if err != nil {
		t.Fatal(err)
	}
	type hostile struct {
		Name, Text, Code, Canonical string
		Times                       int
	}
	var list []hostile
	if err := json.Unmarshal(raw, &list); err != nil {
		t.Fatal(err)
	}
	list = append(list,
		hostile{Name: "a total beyond 32 bits", Text: "2147483647+1d6", Code: "OVERFLOW"},
		hostile{Name: "a division by a rolled 0", Text: "1/(1d1-1)", Code: "DIVISION_BY_ZERO"},
		hostile{Name: "a rolled count beyond the limit", Text: "(1d1*1000+1)d6", Code: "TOO_MUCH_WORK"},
		hostile{Name: "re-rolls that hardly ever end", Text: "1000d1000000r>(1d1+1)", Code: "TOO_MUCH_WORK"},
	)
	for _, h := range list {
		text := strings.Repeat(h.Text, max(h.Times, 1))
		t.Run(h.Name, func(t *testing.T) {
			if h.Code == "" {
				// Read, and as what; the reported dice are too few, so nothing is rolled.
				if n, err := notation.Parse(text); err != nil || n.String() != h.Canonical {
					t.Errorf("read as %s, %v", n, err)
				}
				return
			}
			_, err := w.dice.Roll(w.as(ada), &dicev1.RollRequest{Parent: camp, Notation: text, RequestId: w.id()})
			code := codes.InvalidArgument
			if n := len([]rune(text)); n == 0 || n > notation.MaxLength { // the request itself is no good
				if status.Code(err) != code || !strings.Contains(err.Error(), "notation") {
					t.Errorf("got %v", err)
				}
				return
			}
			if h.Code == "TOO_MUCH_WORK" {
				code = codes.ResourceExhausted
			}
			refusal{code, h.Code, "notation"}.check(t, err)
		})
	}
	// The first call that rolls begins the log of ada, with its stream; nothing else is journaled.
	if after := w.count(); after > before+3 {
		t.Errorf("%d records before, %d after", before, after)
	}
}
