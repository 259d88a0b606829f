package dicestream

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"math"
	"math/big"
	"os"
	"slices"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "rewrite testdata/vectors.json from the independent derivation")

// vector is one published example; docs/dice.md prints the same file.
type vector struct {
	Seed       string `json:"seed"`
	Commitment string `json:"commitment"`
	ClientSeed string `json:"client_seed"`
	Index      uint64 `json:"index"`
	Key        string `json:"key"`
	Block0     string `json:"block_0"`
	Sides      []int  `json:"sides"`
	Faces      []int  `json:"faces"`
}

// independent derives a vector with big integers and by the letter of the definition, sharing no code with the package.
func independent(seed []byte, client string, index uint64, sides []int) vector {
	sum := func(key, msg []byte) []byte {
		m := hmac.New(sha256.New, key)
		m.Write(msg)
		return m.Sum(nil)
	}
	bigEndian := func(v uint64, size int) []byte { return new(big.Int).SetUint64(v).FillBytes(make([]byte, size)) }
	commitment := sha256.Sum256(seed)
	key := sum(seed, bytes.Join([][]byte{[]byte(client), {0}, bigEndian(index, 8)}, nil))
	v := vector{
		Seed: hex.EncodeToString(seed), Commitment: hex.EncodeToString(commitment[:]), ClientSeed: client, Index: index,
		Key: hex.EncodeToString(key), Block0: hex.EncodeToString(sum(key, bigEndian(0, 4))), Sides: sides,
	}
	var words []*big.Int
	for j := uint64(0); len(words) < 4*len(sides)+8; j++ {
		block := sum(key, bigEndian(j, 4))
		for k := 0; k < 32; k += 8 {
			words = append(words, new(big.Int).SetBytes(block[k:k+8]))
		}
	}
	all := new(big.Int).Lsh(big.NewInt(1), 64)
	for _, n := range sides {
		limit := new(big.Int).Div(all, big.NewInt(int64(n)))
		limit.Mul(limit, big.NewInt(int64(n)))
		for words[0].Cmp(limit) >= 0 {
			words = words[1:]
		}
		v.Faces = append(v.Faces, 1+int(new(big.Int).Mod(words[0], big.NewInt(int64(n))).Int64()))
		words = words[1:]
	}
	return v
}

func cases() []vector {
	zero, count := make([]byte, SeedSize), make([]byte, SeedSize)
	for i := range count {
		count[i] = byte(i)
	}
	mixed := []int{4, 6, 8, 10, 12, 20, 100, 3, 7, 1, 2, MaxSides}
	return []vector{
		independent(zero, "", 1, []int{6, 6, 6, 6, 6}),
		independent(count, "", 1, mixed),
		independent(count, "the table's own words", 1, mixed),
		independent(count, "", 2, mixed),
		independent(count, "würfel", 1<<40+7, []int{100, 100, 10, 10, 10, 10}),
	}
}

func TestVectors(t *testing.T) {
	t.Parallel()
	want := cases()
	if *rewrite {
		raw, err := json.MarshalIndent(want, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile("testdata/vectors.json", append(raw, '\n'), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var published []vector
	if err := json.Unmarshal(raw, &published); err != nil {
		t.Fatal(err)
	}
	if len(published) != len(want) {
		t.Fatalf("%d vectors published, %d derived", len(published), len(want))
	}
	for i, v := range published {
		if a, b := mustJSON(t, v), mustJSON(t, want[i]); a != b {
			t.Errorf("vector %d\npublished %s\nderived   %s", i, a, b)
		}
		seed, err := hex.DecodeString(v.Seed)
		if err != nil {
			t.Fatal(err)
		}
		commitment := Commitment(seed)
		key := Key(seed, v.ClientSeed, v.Index)
		if hex.EncodeToString(commitment[:]) != v.Commitment || hex.EncodeToString(key) != v.Key {
			t.Errorf("vector %d: commitment %x, key %x", i, commitment, key)
		}
		src, err := NewSource(key)
		if err != nil {
			t.Fatal(err)
		}
		if !Verify(seed, commitment[:]) {
			t.Errorf("vector %d: the seed is not that of the commitment", i)
		}
		if faces, err := Faces(seed, v.ClientSeed, v.Index, v.Sides...); err != nil || !slices.Equal(faces, v.Faces) {
			t.Errorf("vector %d: faces %v, %v, want %v", i, faces, err, v.Faces)
		}
		for j, n := range v.Sides {
			if face, err := src.Next(n); err != nil || face != v.Faces[j] {
				t.Errorf("vector %d: d%d is %d, %v, want %d", i, n, face, err, v.Faces[j])
			}
		}
	}
}

func mustJSON(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// With n just above 2^63 almost every second word is above the limit, so rejection happens at once.
func TestWordsAboveTheLimitAreRejected(t *testing.T) {
	t.Parallel()
	const n = 1<<63 + 1
	key := Key(make([]byte, SeedSize), "", 1)
	var words []uint64
	plain, _ := NewSource(key)
	for range 64 {
		w, err := plain.word()
		if err != nil {
			t.Fatal(err)
		}
		words = append(words, w)
	}
	kept := slices.DeleteFunc(slices.Clone(words), func(w uint64) bool { return w >= n })
	if len(kept) < 16 || len(kept) == len(words) {
		t.Fatalf("%d of %d words kept", len(kept), len(words))
	}
	src, _ := NewSource(key)
	for i, w := range kept {
		if got, err := src.below(n); err != nil || got != w {
			t.Fatalf("draw %d = %d, %v, want %d", i, got, err, w)
		}
	}
}

// The rule of the definition, with big integers, for any n: the limits of small dice are too near 2^64 to be met by chance.
func TestEveryDrawIsThatOfTheDefinition(t *testing.T) {
	t.Parallel()
	all := new(big.Int).Lsh(big.NewInt(1), 64)
	rejected := 0
	for i, n := range []uint64{1, 2, 3, 6, 10, 100, MaxSides, 1<<32 + 1, 3 << 61, 3 << 62, 1<<63 - 1, 1 << 63, 1<<63 + 1, 1<<64 - 1} {
		key := Key(make([]byte, SeedSize), "definition", uint64(i))
		words, _ := NewSource(key)
		src, _ := NewSource(key)
		big1 := new(big.Int).SetUint64(n)
		limit := new(big.Int).Mul(big1, new(big.Int).Div(all, big1))
		for range 100 {
			w, err := words.word()
			for ; err == nil && new(big.Int).SetUint64(w).Cmp(limit) >= 0; w, err = words.word() {
				rejected++
			}
			want := new(big.Int).Mod(new(big.Int).SetUint64(w), big1).Uint64()
			if got, err2 := src.below(n); err != nil || err2 != nil || got != want {
				t.Fatalf("below(%d) = %d, %v, %v, want %d", n, got, err, err2, want)
			}
		}
	}
	if rejected < 100 {
		t.Errorf("only %d words were rejected", rejected)
	}
}

func TestVerify(t *testing.T) {
	t.Parallel()
	seed := bytes.Repeat([]byte{7}, SeedSize)
	good := Commitment(seed)
	bad := good
	bad[31] ^= 1
	short := Commitment(seed[1:])
	for name, tc := range map[string]struct {
		seed, commitment []byte
		want             bool
	}{
		"the seed":                          {seed, good[:], true},
		"another commitment":                {seed, bad[:], false},
		"a cut commitment":                  {seed, good[:31], false},
		"no commitment":                     {seed, nil, false},
		"another seed":                      {bytes.Repeat([]byte{8}, SeedSize), good[:], false},
		"a short seed with its commitment":  {seed[1:], short[:], false},
		"no seed, with that one commitment": {nil, func() []byte { c := Commitment(nil); return c[:] }(), false},
	} {
		if got := Verify(tc.seed, tc.commitment); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestFacesRefusesWhatIsNoRoll(t *testing.T) {
	t.Parallel()
	seed := make([]byte, SeedSize)
	for name, err := range map[string]error{
		"a short seed":            second(Faces(seed[1:], "", 1, 6)),
		"an endless client seed":  second(Faces(seed, strings.Repeat("x", MaxClientSeed+1), 1, 6)),
		"a die without sides":     second(Faces(seed, "", 1, 6, 0)),
		"a die beyond the limits": second(Faces(seed, "", 1, MaxSides+1)),
	} {
		if err == nil {
			t.Errorf("%s is taken", name)
		}
	}
	if faces, err := Faces(seed, strings.Repeat("x", MaxClientSeed), 1); err != nil || len(faces) != 0 {
		t.Errorf("a roll of no dice: %v, %v", faces, err)
	}
}

func second(_ []int, err error) error { return err }

func TestEveryWordCountsForAPowerOfTwo(t *testing.T) {
	t.Parallel()
	key := Key(make([]byte, SeedSize), "", 9)
	words, _ := NewSource(key)
	src, _ := NewSource(key)
	for _, n := range []uint64{1, 2, 4, 1 << 31, 1 << 63} {
		w, _ := words.word()
		if got, err := src.below(n); err != nil || got != w%n {
			t.Errorf("below(%d) = %d, %v, want %d", n, got, err, w%n)
		}
	}
}

// Chi-square at the 99.9 percent point for n-1 degrees of freedom; seeds are fixed, so the test is, too.
func TestFacesAreUniform(t *testing.T) {
	t.Parallel()
	for sides, limit := range map[int]float64{2: 10.83, 3: 13.82, 7: 22.46, 10: 27.88, 20: 43.82, 100: 148.23} {
		seed := make([]byte, SeedSize)
		seed[0] = byte(sides)
		counts := make([]int, sides)
		const perFace = 400
		for i := range uint64(sides) { // many roll numbers, as play has them
			src, _ := NewSource(Key(seed, "", i+1))
			for range perFace {
				face, err := src.Next(sides)
				if err != nil {
					t.Fatal(err)
				}
				counts[face-1]++
			}
		}
		chi := 0.0
		for _, c := range counts {
			d := float64(c - perFace)
			chi += d * d / perFace
		}
		if chi > limit {
			t.Errorf("d%d: chi-square %.2f above %.2f: %v", sides, chi, limit, counts)
		}
	}
}

func TestBadArguments(t *testing.T) {
	t.Parallel()
	if _, err := NewSource(make([]byte, 31)); err == nil {
		t.Error("a short key is taken")
	}
	src, _ := NewSource(make([]byte, KeySize))
	for _, n := range []int{0, -1, MaxSides + 1} {
		if _, err := src.Next(n); err == nil {
			t.Errorf("a die of %d sides is rolled", n)
		}
	}
	if face, err := src.Next(1); face != 1 || err != nil {
		t.Errorf("d1 = %d, %v", face, err)
	}
	src.next, src.used = 1<<32, SeedSize
	if face, err := src.Next(6); !errors.Is(err, ErrExhausted) || face != 0 {
		t.Errorf("after the last block: %d, %v", face, err)
	}
	src.next, src.used = math.MaxUint32, SeedSize
	if _, err := src.Next(6); err != nil {
		t.Errorf("the last block: %v", err)
	}
}

func BenchmarkFace(b *testing.B) {
	seed := make([]byte, SeedSize)
	for i := range b.N {
		src, _ := NewSource(Key(seed, "", uint64(i)))
		_, _ = src.Next(6)
	}
}

// BenchmarkFaces is a long roll, for which the hashes of the key are made once.
func BenchmarkFaces(b *testing.B) {
	b.ReportAllocs()
	src, _ := NewSource(make([]byte, KeySize))
	for b.Loop() {
		_, _ = src.Next(6)
	}
}
