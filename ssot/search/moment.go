package search

import (
	"encoding/binary"
	"hash/crc32"
	"math"

	"arbiter/amp"
)

// momentBits are those of a moment.
const momentBits = 8

// moment has the earliest and the latest time, in milliseconds, of the entries of a chunk whose seq is the same without its last
// momentBits. A clock may have stepped back: moments may overlap.
type moment struct{ early, late int64 }

func (m moment) join(o moment) moment { return moment{min(m.early, o.early), max(m.late, o.late)} }

// momentsOf are those of a run of entries.
func momentsOf(page []amp.Entry) (all []moment) {
	for i := range page {
		at := page[i].At.UnixMilli()
		m := moment{at, at}
		if k := len(all) - 1; k >= 0 && page[i].Seq>>momentBits == page[i-1].Seq>>momentBits {
			all[k] = all[k].join(m)
		} else {
			all = append(all, m)
		}
	}
	return all
}

// joinMoments are those of a chunk and of the run behind it, which begins with an entry.
func joinMoments(before, behind []moment, first uint64) []moment {
	if first>>momentBits == (first-1)>>momentBits {
		last := len(before) - 1
		before[last] = before[last].join(behind[0])
		behind = behind[1:]
	}
	return append(before, behind...)
}

// writeMoments writes how many sheets the chunk has, and how long after its earliest time each of the moments begins and how long it is, behind
// the sum of that.
func (c *Chunk) writeMoments(all []moment, sheets int) []byte {
	data := make([]byte, 4, 8+6*len(all))
	data = binary.AppendUvarint(data, uint64(sheets))
	for _, m := range all {
		data = binary.AppendUvarint(data, uint64(m.early-c.Early))
		data = binary.AppendUvarint(data, uint64(m.late-m.early))
	}
	binary.BigEndian.PutUint32(data, crc32.ChecksumIEEE(data[4:]))
	return data
}

// readWeight reads how many sheets a chunk has, and returns what stands behind that.
func readWeight(data []byte) (sheets int, rest []byte, err error) {
	if len(data) < 4 || crc32.ChecksumIEEE(data[4:]) != binary.BigEndian.Uint32(data) {
		return 0, nil, ErrBroken
	}
	weight, n := binary.Uvarint(data[4:])
	if n <= 0 || weight > math.MaxInt32 {
		return 0, nil, ErrBroken
	}
	return int(weight), data[4+n:], nil
}

// readMoments reads the moments that writeMoments wrote.
func (c *Chunk) readMoments(data []byte) ([]moment, error) {
	_, data, err := readWeight(data)
	if err != nil {
		return nil, err
	}
	all := make([]moment, int(c.Last>>momentBits-c.First>>momentBits)+1)
	for i := range all {
		early, n := binary.Uvarint(data)
		if n <= 0 {
			return nil, ErrBroken
		}
		length, k := binary.Uvarint(data[n:])
		if k <= 0 {
			return nil, ErrBroken
		}
		data = data[n+k:]
		all[i].early = c.Early + int64(early)
		all[i].late = all[i].early + int64(length)
	}
	if len(data) > 0 {
		return nil, ErrBroken
	}
	return all, nil
}

// bounds are the earliest and the latest time of all of them.
func bounds(all []moment) moment {
	out := all[0]
	for _, m := range all[1:] {
		out = out.join(m)
	}
	return out
}
