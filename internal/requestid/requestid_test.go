package requestid

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	dicev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dice/v1"
)

func TestValid(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]bool{
		"a": true, "!~": true, strings.Repeat("x", 128): true, "9b2e0c1e-0000-4000-8000-000000000000": true,
		"": false, " ": false, "a b": false, "a\x7f": false, "é": false, "a\n": false, strings.Repeat("x", 129): false,
	} {
		if got := Valid(id); got != want {
			t.Errorf("Valid(%q) = %v", id, got)
		}
	}
}

func TestDerive(t *testing.T) {
	t.Parallel()
	// Journals hold such ids: another release must derive the same.
	got := Derive("parent", "step")
	if want := "367ccc21-90e8-585f-8bb2-e23650fc7946"; got != want {
		t.Errorf("Derive = %q, want %q", got, want)
	}
	if id, err := uuid.Parse(got); err != nil || id.Version() != 5 || !Valid(got) {
		t.Errorf("%q is no UUID version 5: %v", got, err)
	}
	seen := map[string]bool{}
	for _, p := range [][2]string{{"a", "b/c"}, {"a/b", "c"}, {"", "a/b/c"}, {"a", "bc"}, {"ab", "c"}} {
		id := Derive(p[0], p[1])
		if seen[id] {
			t.Errorf("%v has the id of another pair", p)
		}
		seen[id] = true
	}
}

func TestHash(t *testing.T) {
	t.Parallel()
	req := func(id, notation string) string {
		h, err := Hash("/m", "ada", &dicev1.RollRequest{Parent: "campaigns/c", Notation: notation, RequestId: id, ReportedDice: []int32{1, 2}})
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	first := req("r1", "2d6")
	for range 20 { // protojson varies its spaces
		if req("r2", "2d6") != first {
			t.Fatal("the same request has another hash")
		}
	}
	if req("r1", "2d8") == first {
		t.Error("another request has the same hash")
	}
	// Journals hold such hashes, too.
	if want := "a015056b1c22f1492ded3f37381622efe5a2b6788ee7c82b1e9bacf3ab9b452a"; first != want {
		t.Errorf("Hash = %s, want %s", first, want)
	}
	for _, other := range [][2]string{{"/n", "ada"}, {"/m", "bram"}} {
		h, err := Hash(other[0], other[1], &dicev1.RollRequest{Parent: "campaigns/c", Notation: "2d6", ReportedDice: []int32{1, 2}})
		if err != nil || h == first {
			t.Errorf("%v: %v, %v", other, h, err)
		}
	}
}

func TestHashOfOtherShapes(t *testing.T) {
	t.Parallel()
	hash := func(req proto.Message) string {
		h, err := Hash("/m", "ada", req)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	// The key of a map or of a message in the request is not the request's own id.
	inner := func(id string) *structpb.Struct {
		return &structpb.Struct{Fields: map[string]*structpb.Value{"requestId": structpb.NewStringValue(id)}}
	}
	if hash(inner("a")) == hash(inner("b")) {
		t.Error("another map has the same hash")
	}
	if hash(wrapperspb.String("a")) == hash(wrapperspb.String("b")) {
		t.Error("another text has the same hash")
	}
	if hash(wrapperspb.Int64(1<<53)) == hash(wrapperspb.Int64(1<<53+1)) {
		t.Error("a great number loses digits")
	}
	one, other := map[string]string{}, map[string]string{}
	for i := range 30 {
		one[strconv.Itoa(i)], other[strconv.Itoa(29-i)] = "x", "x"
	}
	if a, b := hash(&errdetails.ErrorInfo{Metadata: one}), hash(&errdetails.ErrorInfo{Metadata: other}); a != b {
		t.Error("the order of a map changes the hash")
	}
	if _, err := Hash("/m", "ada", wrapperspb.String("\xff")); err == nil {
		t.Error("text that is not UTF-8 has a hash")
	}
}

func FuzzValid(f *testing.F) {
	f.Add("a")
	f.Add("a b")
	pattern := regexp.MustCompile(`^[!-~]{1,128}$`) // as the contract has it
	f.Fuzz(func(t *testing.T, id string) {
		if got, want := Valid(id), pattern.MatchString(id); got != want {
			t.Errorf("Valid(%q) = %v, want %v", id, got, want)
		}
	})
}
