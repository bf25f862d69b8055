package sqlite

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"arbiter/amp"
	"arbiter/ssot/ssottest"
)

// A snapshot is the board byte for byte, also one that is longer than its pieces.
func TestSnapshot(t *testing.T) {
	t.Parallel()
	log := openLog(t, t.TempDir())
	from := 0
	for _, n := range []int{0, 300, 2500} {
		fillFrom(t, log, from, n)
		from = n
		if n == 2500 {
			for i := range 40 {
				appendOne(t, log, ssottest.Propose(strings.Repeat("p", 1+i), ssottest.Task(100+i), strings.Repeat("a title ", 5000)))
			}
		}
		s, err := log.Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var got bytes.Buffer
		size, err := s.WriteTo(&got)
		if err != nil || size != int64(got.Len()) {
			t.Fatalf("%d bytes are said, %d were written, %v", size, got.Len(), err)
		}
		b, err := log.Board(t.Context())
		if err != nil || s.Head != b.Head || got.String() != string(amp.EncodeBody(b)) {
			t.Errorf("with %d entries and %d bytes the snapshot is not the board, %v", n, size, err)
		}
		if n == 2500 && size < 1<<20 {
			t.Errorf("the board has only %d bytes", size)
		}
	}
}

// What cannot be read is said, and what another version wrote has no snapshot.
func TestSnapshot_stale(t *testing.T) {
	t.Parallel()
	for change, want := range map[string]bool{
		"UPDATE board SET fold = fold + 1":                false,
		"DELETE FROM board":                               false,
		"UPDATE board SET state = 'what?'":                true,
		"UPDATE task SET state = 'what?' WHERE key = 2":   true,
		"UPDATE task SET state = '' WHERE key = 2":        true,
		"UPDATE task SET task_id = 'T-1-1' WHERE key = 2": true,
	} {
		dir := t.TempDir()
		log := openLog(t, dir)
		fill(t, log, 30)
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
		tamper(t, dir, change)
		read, err := OpenReadOnly(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		s, err := read.Snapshot(t.Context())
		if _, damaged := errors.AsType[*DamagedError](err); s != nil || damaged != want || damaged != (err != nil) {
			t.Errorf("%s: %v, %v", change, s != nil, err)
		}
		if err := read.Close(); err != nil {
			t.Error(err)
		}
	}
}
