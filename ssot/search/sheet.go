package search

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"slices"

	"arbiter/amp"
)

// A chunk of the index has the terms of a run of entries, sorted, each with the entries that have it. It is stored in sheets of a
// few kilobytes, so that a term is found by its neighbour. A sheet begins with its CRC. A term follows as the length of what it
// shares with the one before it, the length of the rest, the rest, and the length of its list, twice, with 1 added for a bitmap;
// then the list: the distances between entries, or one bit for each entry of the chunk.

const (
	// maxChunk is how many entries a chunk holds at most.
	maxChunk = 1 << 15
	// sheetSize is how many bytes a sheet has at most, unless one term needs more: a longer row has pages of its own in SQLite.
	sheetSize = 1900
)

// ErrBroken says that what the store holds cannot have been written here.
var ErrBroken = errors.New("the index of searches is broken")

// posting is a term with the places of its entries in the chunk, ascending.
type posting struct {
	term []byte
	at   []uint16
}

// Sheet is one row of a chunk, of less than [sheetSize] bytes unless one term needs more. Neither part is empty.
type Sheet struct {
	// First is its first term. Sheets are found by it, compared byte by byte.
	First []byte
	Data  []byte
}

// postingsOf are the terms of a run of entries.
func postingsOf(page []amp.Entry) []posting {
	places := map[string]int{} // in all
	var all []posting
	for i := range page {
		amp.Terms(&page[i], func(term []byte) {
			k, known := places[string(term)]
			if !known {
				k = len(all)
				p := posting{term: bytes.Clone(term)}
				places[string(p.term)], all = k, append(all, p)
			}
			if at := all[k].at; len(at) == 0 || at[len(at)-1] != uint16(i) {
				all[k].at = append(at, uint16(i))
			}
		})
	}
	slices.SortFunc(all, func(a, b posting) int { return bytes.Compare(a.term, b.term) })
	return all
}

// joined are the terms of two runs, the second of which begins n entries after the first.
func joined(a, b []posting, n int) []posting {
	all := make([]posting, 0, max(len(a), len(b)))
	for len(a) > 0 || len(b) > 0 {
		order := cmp.Compare(len(b), len(a)) // the longer one when the other has ended
		if len(a) > 0 && len(b) > 0 {
			order = bytes.Compare(a[0].term, b[0].term)
		}
		var p posting
		if order <= 0 {
			p, a = a[0], a[1:]
		}
		if order >= 0 {
			p.term = b[0].term
			for _, k := range b[0].at {
				p.at = append(p.at, k+uint16(n))
			}
			b = b[1:]
		}
		all = append(all, p)
	}
	return all
}

// sheets writes the terms of a chunk of n entries.
func sheets(all []posting, n int) (out []Sheet) {
	var data, list, last []byte
	end := func() {
		if len(data) > 0 {
			out[len(out)-1].Data, data = sealed(data), nil
		}
	}
	for _, p := range all {
		bitmap := uint64(0)
		if list = list[:0]; len(p.at) > n/8 {
			bitmap = 1
			list = append(list, make([]byte, (n+7)/8)...)
			for _, k := range p.at {
				list[k/8] |= 1 << (k % 8)
			}
		} else {
			before := uint16(0)
			for _, k := range p.at {
				list = binary.AppendUvarint(list, uint64(k-before))
				before = k
			}
		}
		if len(data) == 0 || len(data)+len(p.term)+len(list)+8 > sheetSize {
			end()
			data, last = nil, nil
			out = append(out, Sheet{First: p.term})
		}
		shared := 0
		for shared < min(len(last), len(p.term)) && last[shared] == p.term[shared] {
			shared++
		}
		data = binary.AppendUvarint(data, uint64(shared))
		data = binary.AppendUvarint(data, uint64(len(p.term)-shared))
		data = append(data, p.term[shared:]...)
		data = binary.AppendUvarint(data, uint64(len(list))<<1|bitmap)
		data = append(data, list...)
		last = p.term
	}
	end()
	return out
}

// sealed puts the sum before the bytes.
func sealed(data []byte) []byte {
	return append(binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(data)), crc32.ChecksumIEEE(data)), data...)
}

// eachTerm calls f with the terms of a sheet in order, until f returns false. term is valid during the call.
func eachTerm(data []byte, f func(term, list []byte, bitmap bool) bool) error {
	if len(data) < 4 || crc32.ChecksumIEEE(data[4:]) != binary.BigEndian.Uint32(data) {
		return ErrBroken
	}
	data = data[4:]
	ok := true
	number := func() uint64 {
		if len(data) > 0 && data[0] < 1<<7 { // most have one byte
			v := uint64(data[0])
			data = data[1:]
			return v
		}
		v, n := binary.Uvarint(data)
		if ok = ok && n > 0; ok {
			data = data[n:]
		}
		return v
	}
	cut := func(n uint64) (b []byte) {
		if ok = ok && n <= uint64(len(data)); ok {
			b, data = data[:n], data[n:]
		}
		return b
	}
	var term []byte
	for ok && len(data) > 0 {
		shared := number()
		if ok = ok && shared <= uint64(len(term)); !ok {
			break
		}
		term = append(term[:shared], cut(number())...)
		size := number()
		list := cut(size >> 1)
		if ok && !f(term, list, size&1 == 1) {
			return nil
		}
	}
	if !ok {
		return ErrBroken
	}
	return nil
}

// readSheet appends the terms of a sheet. set is of the size of the chunk and is overwritten.
func readSheet(all []posting, data []byte, set bitset, n int) ([]posting, error) {
	var bad error
	err := eachTerm(data, func(term, list []byte, bitmap bool) bool {
		clear(set)
		if bad = set.add(list, bitmap, n); bad == nil {
			all = append(all, posting{bytes.Clone(term), set.places()})
		}
		return bad == nil
	})
	return all, cmp.Or(err, bad)
}
