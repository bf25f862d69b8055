package coordinator

import (
	"slices"
	"testing"

	"arbiter/amp"
)

// What is held has no gaps, ends at the head that was published, begins again after a gap, and is bounded in number and in bytes.
func TestRecent(t *testing.T) {
	t.Parallel()
	r := &recent{}
	add := func(seq uint64, body int) { r.keep(amp.Entry{Seq: seq, Record: amp.Record{Body: make([]byte, body)}}) }
	after := func(seq, head uint64, n int) (seqs []uint64) {
		for _, e := range r.after(seq, head, n) {
			seqs = append(seqs, e.Seq)
		}
		return seqs
	}
	if got := after(0, 9, 9); got != nil {
		t.Errorf("of nothing: %v", got)
	}
	for seq := range uint64(10) {
		add(seq+5, 1) // 5 to 14
	}
	for _, tc := range []struct {
		seq, head uint64
		n         int
		want      []uint64
	}{
		{3, 14, 9, nil},
		{4, 14, 3, []uint64{5, 6, 7}},
		{12, 14, 9, []uint64{13, 14}},
		{12, 13, 9, []uint64{13}},
		{14, 14, 9, nil},
		{14, 13, 9, nil},
		{20, 30, 9, nil},
	} {
		if got := after(tc.seq, tc.head, tc.n); !slices.Equal(got, tc.want) {
			t.Errorf("after(%d, %d, %d) = %v, want %v", tc.seq, tc.head, tc.n, got, tc.want)
		}
	}
	add(20, 1)
	if got := after(14, 20, 9); got != nil {
		t.Errorf("over a gap: %v", got)
	}
	if got := after(19, 20, 9); !slices.Equal(got, []uint64{20}) {
		t.Errorf("after a gap: %v", got)
	}
	for seq := range uint64(3 * recentEntries) {
		add(21+seq, 10)
	}
	if len(r.entries) != recentEntries || r.bytes != 10*recentEntries {
		t.Errorf("%d entries, %d bytes are held", len(r.entries), r.bytes)
	}
	last := uint64(20 + 3*recentEntries)
	for range 20 {
		last++
		add(last, recentBytes/4)
	}
	if r.bytes > recentBytes || len(r.entries) != 4 {
		t.Errorf("%d large entries, %d bytes are held", len(r.entries), r.bytes)
	}
	if got := after(last-1, last, 9); !slices.Equal(got, []uint64{last}) {
		t.Errorf("the last one: %v", got)
	}
}
