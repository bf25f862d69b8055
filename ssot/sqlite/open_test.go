package sqlite

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"arbiter/ssot"
	"arbiter/ssot/ssottest"
)

// TestOpen_staleProjections opens journals whose projections another version left: of another fold, or behind the journal.
func TestOpen_staleProjections(t *testing.T) {
	t.Parallel()
	const keep = `CREATE TABLE b AS SELECT * FROM board; CREATE TABLE t AS SELECT * FROM task; CREATE TABLE a AS SELECT * FROM open_ack;
		CREATE TABLE u AS SELECT * FROM usage`
	for name, change := range map[string]string{
		"other_fold": "UPDATE board SET fold = 7, state = '{}'; UPDATE usage SET state = '{}'; UPDATE task SET state = '{}', status = 'x'; DELETE FROM open_ack",
		"unreadable": "UPDATE board SET state = '{}'",
		"no_json":    "UPDATE board SET state = 'what?'",
		"no_usage":   "UPDATE usage SET state = 'what?'",
		"none":       "DELETE FROM board; DELETE FROM task; DELETE FROM open_ack; DELETE FROM usage",
		"behind": `DELETE FROM board; DELETE FROM task; DELETE FROM open_ack; DELETE FROM usage; INSERT INTO usage SELECT * FROM u; INSERT INTO board SELECT * FROM b;
			INSERT INTO task SELECT * FROM t; INSERT INTO open_ack SELECT * FROM a`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			log := openLog(t, dir)
			fill(t, log, 40)
			appendOne(t, log, ssottest.Dispatch(ssottest.Task(1), ssottest.Start))
			if err := log.Close(); err != nil {
				t.Fatal(err)
			}
			tamper(t, dir, keep)
			log = openLog(t, dir)
			fillFrom(t, log, 40, 80)
			appendOne(t, log, ssottest.Alarm(ssottest.Task(2), ssottest.Start))
			appendOne(t, log, ssottest.Dispatch(ssottest.Task(3), ssottest.Start))
			want := dump(t, log)
			if err := log.Close(); err != nil {
				t.Fatal(err)
			}
			tamper(t, dir, change)
			read, err := OpenReadOnly(t.Context(), dir)
			if err != nil {
				t.Fatal(err)
			}
			err = ssottest.CheckJournal(t.Context(), read)
			if name == "unreadable" || name == "no_json" || name == "no_usage" {
				if d, ok := errors.AsType[*DamagedError](err); !ok || !strings.Contains(d.Why, "rebuild") {
					t.Errorf("opened for reading: %v", err)
				}
			} else if err != nil {
				t.Errorf("opened for reading: %v", err)
			}
			if err := read.Close(); err != nil {
				t.Fatal(err)
			}
			log = openLog(t, dir)
			if d := cmp.Diff(want, dump(t, log)); d != "" {
				t.Errorf("the projections after the open (-want +got):\n%s", d)
			}
		})
	}
}

func TestOpen_directory(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	file := filepath.Join(root, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), file, Options{}); err == nil {
		t.Error("a file was taken for a data directory")
	}
	if _, err := Open(t.Context(), filepath.Join(file, "below"), Options{}); err == nil {
		t.Error("a data directory was made below a file")
	}
	deep := filepath.Join(root, "a", "b", "c")
	openLog(t, deep)
	if st, err := os.Stat(deep); err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("the new data directory: %v, %v", st.Mode(), err)
	}
	as := filepath.Join(root, "as")
	if err := os.MkdirAll(filepath.Join(as, fileName), 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := Open(t.Context(), as, Options{})
	if _, ok := errors.AsType[*DamagedError](err); !ok {
		t.Errorf("a directory in the journal's place: %v", err)
	}
}

func TestOlderVersion(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]bool{
		"3.51.2": true, "3.51.3": false, "3.51.10": false, "3.6.9": true, "4.0.0": false,
		"3.51": true, "3.54.1": false, "": true, "3.x.9": true,
	} {
		if got := olderVersion(version, minVersion); got != want {
			t.Errorf("olderVersion(%q) = %v, want %v", version, got, want)
		}
	}
}

// TestTriggers tries what an append-only journal must refuse, with the writer's own connection.
func TestTriggers(t *testing.T) {
	t.Parallel()
	log := openLog(t, t.TempDir())
	fill(t, log, 20)
	for _, change := range []string{
		"UPDATE entry SET body = x'' WHERE seq = 3", "UPDATE entry SET seq = 99 WHERE seq = 3", "DELETE FROM entry WHERE seq = 20",
		"DELETE FROM entry", "UPDATE task_key SET task_id = 'T-2026-999'", "DELETE FROM task_key",
	} {
		var refused error
		err := log.writer.alone(t.Context(), func(w *writer) error {
			_, refused = w.conn.ExecContext(t.Context(), change)
			return nil
		})
		if err != nil || refused == nil {
			t.Errorf("%s was not refused: %v", change, err)
		}
	}
	if err := ssottest.CheckJournal(t.Context(), ssot.Log(log)); err != nil {
		t.Error(err)
	}
}
