package server

import (
	"bytes"
	"testing"

	"arbiter/amp"
)

// What is written once is what would be written each time; older entries and large ones take no place, and the bytes are bounded.
func TestLines(t *testing.T) {
	t.Parallel()
	l := &lines{}
	entries := chain(len(l.by) + 10)
	want := func(e *amp.Entry) {
		t.Helper()
		got, err := l.of(e)
		fresh, err2 := e.MarshalJSON()
		if err != nil || err2 != nil || !bytes.Equal(got, fresh) {
			t.Fatalf("entry %d: %s, %v; want %s, %v", e.Seq, got, err, fresh, err2)
		}
	}
	for i := range entries {
		want(&entries[i])
		want(&entries[i])
	}
	for i := range entries {
		want(&entries[i]) // the first ones again, which makes none of the last ones leave
	}
	last := &entries[len(entries)-1]
	if one, two := must(l.of(last)), must(l.of(last)); &one[0] != &two[0] {
		t.Error("the last entry is written each time")
	}
	if one, two := must(l.of(&entries[0])), must(l.of(&entries[0])); &one[0] == &two[0] {
		t.Error("an old entry is held")
	}
	other := *last
	other.Body, other.Hash = []byte(`{"another":1}`), amp.Hash{1}
	want(&other)
	for i := range 300 {
		e := amp.Entry{Seq: uint64(5000 + i), Record: amp.Record{Body: make([]byte, 100<<10)}}
		want(&e)
		if l.bytes > maxLines {
			t.Fatalf("%d bytes are held", l.bytes)
		}
	}
	e := amp.Entry{Seq: 9000, Record: amp.Record{Body: make([]byte, maxLines)}}
	want(&e)
	if l.by[e.Seq%uint64(len(l.by))].seq == e.Seq {
		t.Error("a large entry is held")
	}
}

func must(data []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return data
}
