package dicestream

import (
	"encoding/binary"
	"math"
	"testing"
)

// The 99.9 percent points of chi-square: each test of a fair die would fail for one choice of seeds in a thousand. The seeds
// are fixed, and were not chosen; so what is seen here is what will be seen.
var chi999 = map[int]float64{2: 13.82, 6: 22.46, 8: 26.12, 48: 84.04, 99: 148.23}

// chiSquare is how far counts are from being equal.
func chiSquare(counts []int) float64 {
	total := 0
	for _, c := range counts {
		total += c
	}
	want, chi := float64(total)/float64(len(counts)), 0.0
	for _, c := range counts {
		d := float64(c) - want
		chi += d * d / want
	}
	return chi
}

func within(t *testing.T, what string, counts []int) {
	t.Helper()
	limit, known := chi999[len(counts)-1]
	if !known {
		t.Fatalf("no limit for %d degrees of freedom", len(counts)-1)
	}
	chi := chiSquare(counts)
	if chi > limit || chi == 0 {
		t.Errorf("%s: chi-square %.2f, above %.2f or too good: %v", what, chi, limit, counts)
	}
}

// seedOf is the n-th seed of a test: the commitment of another, which is as good as chance.
func seedOf(test string, n int) []byte {
	sum := Commitment(binary.BigEndian.AppendUint64([]byte(test), uint64(n)))
	return sum[:]
}

// What play takes from a stream: roll after roll of one stream, the first face of many streams, and the later faces of a roll.
func TestPlayedFacesAreUniform(t *testing.T) {
	t.Parallel()
	for _, sides := range []int{3, 7, 100} {
		rolls := 400 * sides
		inOrder, first, later := make([]int, sides), make([]int, sides), make([]int, sides)
		pairs := make([]int, sides*sides)
		one := seedOf("one stream", sides)
		before := 0
		for i := range rolls {
			face := func(seed []byte, client string, index, at int) int {
				dice := make([]int, at)
				for j := range dice {
					dice[j] = sides
				}
				faces, err := Faces(seed, client, uint64(index), dice...)
				if err != nil {
					t.Fatal(err)
				}
				return faces[at-1] - 1
			}
			now := face(one, "", i+1, 1)
			inOrder[now]++
			if i > 0 {
				pairs[before*sides+now]++
			}
			before = now
			first[face(seedOf("many streams", i), "the table's words", 1, 1)]++
			later[face(one, "later", i+1, 6)]++ // in the second block
		}
		within(t, "rolls of one stream", inOrder)
		within(t, "first rolls of many streams", first)
		within(t, "sixth dice of a roll", later)
		if sides < 100 { // 10,000 pairs would need a million rolls
			within(t, "faces that follow each other", pairs)
		}
	}
}

// A die of a mean size rejects a word in 2^57 or less; so the words at the border are put there by hand.
func TestWordsAtTheLimit(t *testing.T) {
	t.Parallel()
	const top = math.MaxUint64
	for name, tc := range map[string]struct {
		sides int
		words [4]uint64
		want  int // face
		used  int // words
	}{
		"the last word that d3 takes":          {3, [4]uint64{top - 1, 0, 0, 0}, 3, 1},
		"the one word that d3 rejects":         {3, [4]uint64{top, 4, 0, 0}, 2, 2},
		"the last word that d7 takes":          {7, [4]uint64{top - 2, 0, 0, 0}, 7, 1},
		"the first word that d7 rejects":       {7, [4]uint64{top - 1, 0, 0, 0}, 1, 2},
		"several in a row":                     {7, [4]uint64{top, top - 1, top, 9}, 3, 4},
		"the last word that d100 takes":        {100, [4]uint64{top - 16, 0, 0, 0}, 100, 1},
		"the first word that d100 rejects":     {100, [4]uint64{top - 15, 99, 0, 0}, 100, 2},
		"the lowest word":                      {100, [4]uint64{0, 5, 0, 0}, 1, 1},
		"the highest word, which d8 takes":     {8, [4]uint64{top, 0, 0, 0}, 8, 1},
		"a die of one side takes a word":       {1, [4]uint64{top, 0, 0, 0}, 1, 1},
		"the last word that the largest takes": {MaxSides, [4]uint64{top - 4, 0, 0, 0}, MaxSides, 1},
		"the first that the largest rejects":   {MaxSides, [4]uint64{top - 3, 1, 0, 0}, 2, 2},
	} {
		src := &Source{key: make([]byte, KeySize), next: 1}
		for i, w := range tc.words {
			binary.BigEndian.PutUint64(src.block[8*i:], w)
		}
		if face, err := src.Next(tc.sides); err != nil || face != tc.want || src.used != 8*tc.used {
			t.Errorf("%s: face %d after %d words, %v, want %d after %d", name, face, src.used/8, err, tc.want, tc.used)
		}
	}
}
