package dicestream

import (
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// fromDocs decodes the block of docs/dice.md that is fenced as "json <name>". Unknown fields fail.
func fromDocs(t *testing.T, name string, into any) {
	t.Helper()
	doc, err := os.ReadFile("../../docs/dice.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(doc), "\n```json "+name+"\n")
	block, _, closed := strings.Cut(rest, "\n```")
	if !found || !closed {
		t.Fatalf("docs/dice.md has no block %q", name)
	}
	dec := json.NewDecoder(strings.NewReader(block))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		t.Fatalf("block %q: %v", name, err)
	}
}

func TestDocsShowTheVectors(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var want, got []vector
	if err := json.NewDecoder(bytes.NewReader(raw)).Decode(&want); err != nil {
		t.Fatal(err)
	}
	fromDocs(t, "vectors", &got)
	if len(want) == 0 || !reflect.DeepEqual(got, want) {
		t.Errorf("docs/dice.md shows other vectors than testdata/vectors.json:\n got %+v\nwant %+v", got, want)
	}
}

func TestDocsShowARollLogThatVerifies(t *testing.T) {
	t.Parallel()
	var log struct {
		Seed, Commitment []byte
		Draws            []struct {
			Index uint64
			Dice  []struct{ Sides, Face int }
		}
	}
	fromDocs(t, "verify", &log)
	if !Verify(log.Seed, log.Commitment) {
		t.Error("the commitment is not that of the seed")
	}
	if len(log.Draws) == 0 {
		t.Error("no draws")
	}
	for _, d := range log.Draws {
		var sides, shown []int
		for _, die := range d.Dice {
			sides, shown = append(sides, die.Sides), append(shown, die.Face)
		}
		if faces, err := Faces(log.Seed, "", d.Index, sides...); err != nil || !slices.Equal(faces, shown) {
			t.Errorf("roll %d: the stream gives %v (%v), the document shows %v", d.Index, faces, err, shown)
		}
	}
}
