package search

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// bitset are entries of a chunk.
type bitset []uint64

func newBitset(n int) bitset { return make(bitset, (n+63)/64) }

// add sets the bits of a list in a chunk of n entries.
func (s bitset) add(list []byte, bitmap bool, n int) error {
	if bitmap {
		if len(list) != (n+7)/8 {
			return ErrBroken
		}
		words := len(list) / 8
		for i := range words {
			s[i] |= binary.LittleEndian.Uint64(list[8*i:])
		}
		for i, b := range list[8*words:] {
			s[words] |= uint64(b) << (8 * i)
		}
		return nil
	}
	at := uint64(0)
	for len(list) > 0 {
		d, size := uint64(list[0]), 1 // most distances have one byte
		if d >= 1<<7 {
			d, size = binary.Uvarint(list)
		}
		if at += d; size <= 0 || at >= uint64(n) {
			return ErrBroken
		}
		s[at/64] |= 1 << (at % 64)
		list = list[size:]
	}
	return nil
}

func (s bitset) and(o bitset) {
	for i := range s {
		s[i] &= o[i]
	}
}

func (s bitset) andNot(o bitset) {
	for i := range s {
		s[i] &^= o[i]
	}
}

func (s bitset) empty() bool { return !slices.ContainsFunc(s, func(w uint64) bool { return w != 0 }) }

func (s bitset) count() (n int) {
	for _, w := range s {
		n += bits.OnesCount64(w)
	}
	return n
}

// places are the set bits, ascending.
func (s bitset) places() []uint16 {
	all := make([]uint16, 0, s.count())
	for i, w := range s {
		for ; w != 0; w &= w - 1 {
			all = append(all, uint16(i*64+bits.TrailingZeros64(w)))
		}
	}
	return all
}
