package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"arbiter/amp"
	"arbiter/scratch"
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

// A backup that was killed leaves no file under its name, and nothing for good: the next one in the same folder removes what it left. What others
// have there, and what is still written, stays.
func TestBackup_left(t *testing.T) {
	t.Parallel()
	log := openLog(t, t.TempDir())
	fill(t, log, 20)
	dir := filepath.Join(t.TempDir(), "a [b] *") // a name that is no pattern
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	there := func() (names []string) {
		t.Helper()
		all, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range all {
			names = append(names, e.Name())
		}
		return names
	}
	killed := filepath.Join(dir, ".backup-1")
	for name, text := range map[string]string{
		".backup-1/arbiter-draft.lock": "", ".backup-1/journal.db": "half of it", ".backup-other/notes.txt": "of somebody else",
	} {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	running, done, err := scratch.Draft(dir, draftName)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(killed); err == nil {
		t.Error("what a killed backup left is still there")
	}
	if _, err := log.Backup(t.Context(), filepath.Join(dir, "x.db"), nil); err != nil {
		t.Fatal(err)
	}
	if got, want := there(), []string{filepath.Base(running), ".backup-other", "x.db"}; !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))) {
		t.Errorf("in the folder are %v, want %v", got, want)
	}
	if err := done(); err != nil {
		t.Error(err)
	}
	for name, want := range map[string]error{"x.db": fs.ErrExist, "nowhere/x.db": fs.ErrNotExist, "x.db/y": syscall.ENOTDIR, strings.Repeat("x", 300): syscall.ENAMETOOLONG} {
		_, err := log.Backup(t.Context(), filepath.Join(dir, name), nil)
		if x, ok := errors.AsType[*TargetError](err); !ok || !errors.Is(err, want) || strings.Contains(x.Err.Error(), ".backup") {
			t.Errorf("to %.20s: %v", name, err)
		}
	}
	if len(there()) != 2 {
		t.Errorf("in the end there are %v", there())
	}
}
