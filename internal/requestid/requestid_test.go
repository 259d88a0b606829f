package requestid

import (
	"strings"
	"testing"

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
	if Derive("a", "b") != Derive("a", "b") {
		t.Error("not stable")
	}
	if got, want := Derive("parent", "step"), "8fd0a5f3-1d0a-5d0e-8d0e-000000000000"; len(got) != len(want) || got[14] != '5' {
		t.Errorf("%q is no UUID version 5", got)
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
	for _, other := range [][2]string{{"/n", "ada"}, {"/m", "bram"}} {
		h, err := Hash(other[0], other[1], &dicev1.RollRequest{Parent: "campaigns/c", Notation: "2d6", ReportedDice: []int32{1, 2}})
		if err != nil || h == first {
			t.Errorf("%v: %v, %v", other, h, err)
		}
	}
}
