package sqlite

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// A list has the entries that were put into it, once and ascending, in whatever order they came.
func TestPlaced(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		bucket := rapid.Uint64Range(0, 1<<40).Draw(r, "bucket")
		want := map[uint64]bool{}
		var list []byte
		for _, place := range rapid.SliceOf(rapid.Uint64Range(0, 1<<bucketBits-1)).Draw(r, "places") {
			seq := bucket<<bucketBits | place
			list = placed(list, seq)
			want[seq] = true
		}
		var got []uint64
		if whole := eachOf(bucket, list, func(seq uint64) { got = append(got, seq) }); !whole {
			r.Fatalf("%x is no list", list)
		}
		if !slices.Equal(got, slices.Sorted(maps.Keys(want))) {
			r.Fatalf("the list has %v, want %v", got, want)
		}
		for _, seq := range got {
			if bucketOf(seq) != bucket {
				r.Fatalf("entry %d is not in bucket %d", seq, bucket)
			}
		}
	})
}

func TestEachOf_none(t *testing.T) {
	t.Parallel()
	for _, list := range []string{"\x00", "\x00\x01\x00\x01", "\x00\x02\x00\x01", "\x10\x00", "\x00\x01\x00"} {
		if eachOf(3, []byte(list), func(uint64) {}) {
			t.Errorf("%x is taken for a list", list)
		}
	}
}
