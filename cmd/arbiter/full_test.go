//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"arbiter/amp"
	"arbiter/ssot/sqlite"
	"arbiter/ssot/ssottest"
)

// bigJournal is a data directory whose journal takes about a megabyte, with one ended task.
func bigJournal(t *testing.T, entries int) (home string, head amp.Head) {
	t.Helper()
	home = filepath.Join(t.TempDir(), "home")
	log, err := sqlite.Open(t.Context(), home, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	task := ssottest.Task(1)
	records := []amp.Record{ssottest.Submit("s", task)}
	for i := range entries - 2 {
		records = append(records, ssottest.Note(fmt.Sprint("n", i), task, strings.Repeat("many words ", 180)))
	}
	end := amp.Command{ID: "end", Command: amp.Terminate, By: "ada", At: ssottest.Start, TaskID: task}
	records = append(records, amp.Record{
		Kind: amp.KindCommand, TaskID: task, Role: amp.Admin, Actor: "ada", At: ssottest.Start, ID: "end", Body: amp.EncodeBody(end),
	})
	out, err := log.Append(t.Context(), records)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range out {
		if a.Err != nil {
			t.Fatal(a.Err)
		}
	}
	head, err = log.Head(t.Context())
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return home, head
}

// smallDisk runs in a mount namespace of its own, where $D is a file system of 300 KB. Of each command it says the exit code, what the
// person reads and what is left.
const smallDisk = `
mount -t tmpfs -o size=300k none "$D" || { echo "mount: no"; exit 0; }
try() { name=$1; shift; echo "== $name"; "$A" --home "$H" "$@" 2>&1; echo "code $?"; find "$D" -mindepth 1; }
try export journal export -o "$D/all.jsonl"
try story task export 1 -o "$D/task.md"
try backup journal backup "$D/saved.db"
try archive journal archive --before 0m --to "$D/old"
rm -rf "$D/old"
try copy journal copy --to "$D/copied"
"$A" --home "$H" journal export -o "$T/all.jsonl" || exit 1
echo "== import"; "$A" --home "$D/imported" journal import "$T/all.jsonl" 2>&1; echo "code $?"
echo "== status"; "$A" --home "$D/copied" status
mount -o remount,size=30m "$D" || exit 1
try again-copy journal copy --to "$D/copied"
echo "== again-import"; "$A" --home "$D/imported" journal import "$T/all.jsonl" 2>&1; echo "code $?"
echo "== verified"; "$A" --home "$D/copied" journal verify && "$A" --home "$D/imported" journal verify
`

// A full disk makes no file, says so, and harms no journal; a copy and an import go on when there is room again.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	unshare, err := exec.LookPath("unshare")
	if os.Getuid() != 0 || err != nil {
		t.Skip("NOT RUN: a full disk needs root and unshare, to mount a small file system")
	}
	home, head := bigJournal(t, 400)
	c := exec.CommandContext(t.Context(), unshare, "-m", "sh", "-c", smallDisk)
	c.Env = append(os.Environ(), "ARBITER_TEST_SELF=1", "A="+os.Args[0], "H="+home, "D="+t.TempDir(), "T="+t.TempDir())
	said, err := c.CombinedOutput()
	if strings.Contains(string(said), "mount: no") || strings.Contains(string(said), "unshare failed") {
		t.Skipf("NOT RUN: no file system can be mounted here: %s", said)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	parts := map[string]string{}
	for part := range strings.SplitSeq(string(said), "== ") {
		name, text, _ := strings.Cut(part, "\n")
		parts[name] = text
	}
	for _, name := range []string{"export", "story", "backup", "archive", "copy", "import"} {
		text := parts[name]
		if !strings.Contains(text, "code 1\n") || !strings.Contains(text, "next: Make room") {
			t.Errorf("%s on a full disk:\n%s", name, text)
		}
	}
	if !strings.Contains(parts["status"], "DISK FULL    0 MiB are free") {
		t.Errorf("the status on a full disk:\n%s", parts["status"])
	}
	for name, may := range map[string]string{"export": "", "story": "", "backup": "", "archive": "/old\n"} {
		if _, left, _ := strings.Cut(parts[name], "code 1\n"); !strings.HasSuffix(left, may) || strings.Count(left, "\n") > strings.Count(may, "\n") {
			t.Errorf("%s left %q", name, left)
		}
	}
	for _, name := range []string{"again-copy", "again-import"} {
		if !strings.Contains(parts[name], "code 0") || !strings.Contains(parts[name], head.Hash.String()) {
			t.Errorf("%s, with room:\n%s", name, parts[name])
		}
	}
	if strings.Count(parts["verified"], "The journal is whole: 400 entries, head "+head.Hash.String()) != 2 {
		t.Errorf("afterwards:\n%s", parts["verified"])
	}
	code, out, errs := arbiter(t, "", "--home", home, "journal", "verify")
	if code != 0 || !strings.Contains(out, head.Hash.String()) {
		t.Errorf("the journal itself: %d, %s%s", code, out, errs)
	}
}
