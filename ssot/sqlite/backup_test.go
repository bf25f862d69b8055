package sqlite

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"arbiter/amp"
	"arbiter/ssot/ssottest"
)

// While a backup is made, the write-ahead log begins anew as ever, however much is appended meanwhile; what is appended then is in the copy, and
// the copy is whole.
func TestBackup_shortReads(t *testing.T) {
	t.Parallel()
	log, err := Open(t.Context(), t.TempDir(), Options{Unindexed: true}) // the index reads too
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() })
	fill(t, log, 3*backupPage)
	dir, reads, appended := t.TempDir(), 0, 0
	largest := int64(0)
	err = log.writeBackup(t.Context(), filepath.Join(dir, fileName), func() error {
		reads++
		for range 3 {
			appendOne(t, log, ssottest.Raw(fmt.Sprint("large", appended), ssottest.Task(1+appended%9), []byte(strings.Repeat("x", 4<<20))))
			appended++
			largest = max(largest, log.walSize())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if limit := int64(25 << 20); reads < 6 || appended*4<<20 < 2*int(limit) || largest > limit {
		t.Errorf("%d reads, meanwhile %d appends of 4 MB: the write-ahead log had %d bytes", reads, appended, largest)
	}
	head, err := log.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got, err := verifyCopy(t.Context(), dir, nil)
	if err != nil || got.Seq <= 3*backupPage || got.Seq > head.Seq {
		t.Errorf("the copy: %v, %v; the journal ends with %d", got, err, head.Seq)
	}
	again := openLog(t, dir)
	for _, id := range []string{"fact-7", "large0", fmt.Sprint("large", got.Seq-3*backupPage-1)} {
		if found, err := again.Read(t.Context(), amp.Filter{ID: id}); err != nil || len(found) != 1 {
			t.Errorf("%s: %v, %v", id, found, err)
		}
	}
}

// What is damaged in the journal is not left out of a copy: that is found damaged, too.
func TestBackup_damaged(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]string{
		"body":   "UPDATE entry SET body = CAST(body || ' ' AS BLOB) WHERE seq = 77",
		"gone":   "DELETE FROM entry WHERE seq = 90",
		"before": "INSERT INTO entry VALUES (0, 0, 0, 'zero', 'bus', 'system', '', zeroblob(32), x'')",
		"id":     "DELETE FROM entry_id WHERE seq = 50",
		"bucket": "DELETE FROM task_bucket WHERE task = 2",
		"span":   "DELETE FROM task_span WHERE task = 2",
		"board":  "UPDATE board SET seq = seq + 1",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from := t.TempDir()
			log := openLog(t, from)
			fill(t, log, 700)
			if err := log.Close(); err != nil {
				t.Fatal(err)
			}
			tamper(t, from, withoutTriggers, change)
			read, err := OpenReadOnly(t.Context(), from)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = read.Close() })
			if _, err := read.Backup(t.Context(), filepath.Join(t.TempDir(), "x"), nil); err == nil {
				t.Error("a copy of a damaged journal is called whole")
			}
		})
	}
}
