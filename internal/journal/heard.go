package journal

import (
	"encoding/binary"
	"hash/crc32"
	"iter"
)

// maxHeard is the greatest length of a stream whose request ids are kept with its state. Beyond it the store is asked, so that
// neither a commit nor a head grows with the history.
const maxHeard = 1024

// heard holds a hash of the request id of each record of a stream, that of record 1 first; or nothing when the stream is
// longer than [maxHeard], or was folded from a head without them. As long as it covers the stream, a request that is not in
// it was never recorded. One that is in it may be another one with the same hash, which its record tells.
type heard []uint32

// hashOf is the CRC-32 of a request id, without the copy that [crc32.ChecksumIEEE] needs of a string.
func hashOf(requestID string) uint32 {
	c := ^uint32(0)
	for i := range len(requestID) {
		c = crc32.IEEETable[byte(c)^requestID[i]] ^ c>>8
	}
	return ^c
}

// places yields the seqs of the records that may have the request id.
func (h heard) places(requestID string) iter.Seq[int] {
	return func(yield func(int) bool) {
		hash := hashOf(requestID)
		for i, other := range h {
			if other == hash && !yield(i+1) {
				return
			}
		}
	}
}

// pack is the form in a head.
func (h heard) pack() []byte {
	raw := make([]byte, 0, 4*len(h))
	for _, hash := range h {
		raw = binary.BigEndian.AppendUint32(raw, hash)
	}
	return raw
}

// unpack is the inverse of pack, for the head of a stream with seq records: without the ids of all of them there are none.
func unpack(raw []byte, seq int) heard {
	if len(raw) != 4*seq {
		return nil
	}
	h := make(heard, 0, seq)
	for ; len(raw) > 0; raw = raw[4:] {
		h = append(h, binary.BigEndian.Uint32(raw))
	}
	return h
}
