package dicestream

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
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

// javaScript runs the verifier of the documents, which shares nothing with this package, on a file with the given text.
func javaScript(t *testing.T, text string) (string, error) {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed: docs/verify.mjs is not run")
	}
	path := filepath.Join(t.TempDir(), "dice.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), node, "../../docs/verify.mjs", path).CombinedOutput()
	return string(out), err
}

// block is a JSON block of docs/dice.md as it stands there.
func block(t *testing.T, name string) string {
	t.Helper()
	var raw json.RawMessage
	fromDocs(t, name, &raw)
	return string(raw)
}

func TestAStrangersVerifierAgrees(t *testing.T) {
	t.Parallel()
	vectors, rolls := block(t, "vectors"), block(t, "verify")
	changed := func(text, old, by string) string {
		if !strings.Contains(text, old) {
			t.Fatalf("no %s in %s", old, text)
		}
		return strings.Replace(text, old, by, 1)
	}
	for name, tc := range map[string]struct{ text, want string }{
		"the vectors":           {vectors, "47 faces are right"},
		"a roll log":            {rolls, "7 faces are right"},
		"a vector's face":       {changed(vectors, `"faces": [3, 4, 6`, `"faces": [3, 5, 6`), "vector 1, d6: it says 5, right is 4"},
		"a vector's last face":  {changed(vectors, "1777300496", "1777300497"), "d2147483647: it says 1777300497, right is 1777300496"},
		"a vector's commitment": {changed(vectors, `"commitment": "66`, `"commitment": "67`), "commitment: it says 67"},
		"a vector's seed":       {changed(vectors, `"seed": "00000000`, `"seed": "00000001`), "commitment: it says 66687aad"},
		"a client seed":         {changed(vectors, "würfel", "wurfel"), "vector 1099511627783, d100: it says 37"},
		"a roll's face":         {changed(rolls, `{"sides": 8, "face": 6}`, `{"sides": 8, "face": 5}`), "roll 4, d8: it says 5, right is 6"},
		"a roll's number":       {changed(rolls, `"index": 5`, `"index": 6`), "roll 6, d8: it says 1"},
		"a roll's sides":        {changed(rolls, `{"sides": 6, "face": 5}`, `{"sides": 10, "face": 5}`), "roll 4, d10: it says 5"},
		"a roll's commitment":   {changed(rolls, `"//sr`, `"//sq`), "commitment: it says //sq"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := javaScript(t, tc.text)
			if !strings.Contains(out, tc.want) || (err == nil) != strings.Contains(tc.want, "are right") {
				t.Errorf("got %v, %s, want %s", err, out, tc.want)
			}
		})
	}
}
