// Package dicestream derives dice from a secret seed so that anyone can check them once the seed is published.
//
// The derivation, all integers big-endian:
//
//	commitment  = SHA-256(seed)
//	key(i)      = HMAC-SHA256(key = seed,   message = client_seed || 0x00 || uint64(i))
//	block(i, j) = HMAC-SHA256(key = key(i), message = uint32(j)),  j = 0, 1, 2, …
//	words       = the four uint64 of block(i, 0), then of block(i, 1), …
//	die of n    = take words until w < n * floor(2^64 / n), every word when n is a power of two;  face = 1 + w mod n
//
// So every die takes at least one word, also a die of 1, whose face is always 1. The client seed needs no length before it:
// what follows it in the message always has nine bytes.
//
// The package owns nothing but this. Who may see seeds and keys is the dice service's matter.
package dicestream

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"math"
	"math/bits"
)

const (
	// SeedSize is the size of a seed in bytes.
	SeedSize = 32
	// KeySize is the size of a roll number's key in bytes.
	KeySize = sha256.Size
	// MaxClientSeed is the greatest length of a client seed in bytes.
	MaxClientSeed = 128
	// MaxSides is the largest die.
	MaxSides = math.MaxInt32
)

// ErrExhausted says that a roll number has no blocks left. No table reaches it: 2^32 blocks hold 2^34 dice.
var ErrExhausted = errors.New("dicestream: no blocks left")

// Commitment is what is published of a seed before the first draw.
func Commitment(seed []byte) [sha256.Size]byte { return sha256.Sum256(seed) }

// Verify tells whether seed, of SeedSize bytes, is the one that was committed to.
func Verify(seed, commitment []byte) bool {
	sum := Commitment(seed)
	return len(seed) == SeedSize && subtle.ConstantTimeCompare(sum[:], commitment) == 1
}

// Faces returns what roll number i shows for dice of the given sides, in that order: what anyone recomputes who checks a
// roll. It fails for a seed or a client seed of the wrong length and for sides that [Source.Next] refuses.
func Faces(seed []byte, clientSeed string, i uint64, sides ...int) ([]int, error) {
	if len(seed) != SeedSize {
		return nil, fmt.Errorf("dicestream: a seed has %d bytes, not %d", SeedSize, len(seed))
	}
	if len(clientSeed) > MaxClientSeed {
		return nil, fmt.Errorf("dicestream: a client seed has at most %d bytes, not %d", MaxClientSeed, len(clientSeed))
	}
	src, err := NewSource(Key(seed, clientSeed, i))
	if err != nil {
		return nil, err
	}
	faces := make([]int, len(sides))
	for j, n := range sides {
		if faces[j], err = src.Next(n); err != nil {
			return nil, fmt.Errorf("die %d: %w", j, err)
		}
	}
	return faces, nil
}

// Key returns the key of roll number i. It takes seeds of any length: whoever keeps them checks them.
func Key(seed []byte, clientSeed string, i uint64) []byte {
	mac := hmac.New(sha256.New, seed)
	mac.Write([]byte(clientSeed))
	mac.Write([]byte{0})
	mac.Write(binary.BigEndian.AppendUint64(nil, i))
	return mac.Sum(nil)
}

// Source makes the faces of one roll number. It is not safe for concurrent use.
type Source struct {
	key   []byte
	mac   hash.Hash // made for the first block; for the others it remembers the hashes of the key, which are half the work
	block [sha256.Size]byte
	next  uint64 // number of the next block
	used  int    // bytes of block that are used
}

// NewSource returns the faces that follow from a key. It fails when key has not KeySize bytes.
func NewSource(key []byte) (*Source, error) {
	if len(key) != KeySize {
		return nil, fmt.Errorf("dicestream: a key has %d bytes, not %d", KeySize, len(key))
	}
	return &Source{key: key, used: sha256.Size}, nil
}

// Next returns the next face of a die with the given sides, 1 to sides. It fails for fewer than 1 or more than MaxSides.
func (s *Source) Next(sides int) (int, error) {
	if sides < 1 || sides > MaxSides {
		return 0, fmt.Errorf("dicestream: a die of %d sides", sides)
	}
	r, err := s.below(uint64(sides))
	if err != nil {
		return 0, err
	}
	return 1 + int(r), nil //nolint:gosec // below MaxSides
}

// below returns a number from 0 to n-1, each with the same chance.
func (s *Source) below(n uint64) (uint64, error) {
	// n * floor(2^64/n) = 2^64 - 2^64 mod n, and 2^64 mod n = (2^64 - n) mod n, which is -n mod n in 64 bits. It is 0 for
	// a power of two, when every word counts.
	surplus := -n % n
	for {
		w, err := s.word()
		if err != nil {
			return 0, err
		}
		if surplus == 0 || w < -surplus {
			_, r := bits.Div64(0, w, n)
			return r, nil
		}
	}
}

func (s *Source) word() (uint64, error) {
	if s.used == len(s.block) {
		if s.next > math.MaxUint32 {
			return 0, ErrExhausted
		}
		if s.mac == nil {
			s.mac = hmac.New(sha256.New, s.key)
		} else {
			s.mac.Reset()
		}
		binary.BigEndian.PutUint32(s.block[:], uint32(s.next))
		s.mac.Write(s.block[:4])
		s.mac.Sum(s.block[:0])
		s.next, s.used = s.next+1, 0
	}
	w := binary.BigEndian.Uint64(s.block[s.used:])
	s.used += 8
	return w, nil
}
