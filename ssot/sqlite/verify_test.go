package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"arbiter/amp"
	"arbiter/ssot"
	"arbiter/ssot/ssottest"
)

// fill appends n facts about a few tasks.
func fill(t testing.TB, log ssot.Log, n int) {
	t.Helper()
	for from := 0; from < n; from += 200 {
		var batch []amp.Record
		for i := from; i < min(n, from+200); i++ {
			batch = append(batch, fact(i))
		}
		out, err := log.Append(t.Context(), batch)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range out {
			if a.Err != nil || !a.Fresh {
				t.Fatalf("record %s: fresh %v, %v", a.Entry.ID, a.Fresh, a.Err)
			}
		}
	}
}

func fact(i int) amp.Record {
	task, id := ssottest.Task(1+i%7), fmt.Sprintf("fact-%d", i)
	switch i % 5 {
	case 0:
		return ssottest.Submit(id, task)
	case 1:
		return ssottest.Propose(id, task, strings.Repeat("title ", i%50))
	case 2:
		return ssottest.Turn(id, task, id, []amp.TurnEvent{amp.TurnStarted, amp.TurnEnded}[i/5%2])
	case 3:
		return ssottest.Refusal(id, task, []byte(strings.Repeat("raw", i%800)))
	}
	return ssottest.Raw(id, task, []byte(strings.Repeat("body", i%300)))
}

// dump is every row of the tables beside the journal, which a log that writes brings to its head before.
func dump(t *testing.T, log *Log) string {
	t.Helper()
	if log.writer != nil {
		if err := log.writer.alone(t.Context(), (*writer).flush); err != nil {
			t.Fatal(err)
		}
	}
	var out strings.Builder
	for _, table := range []string{"task", "board", "usage", "open_ack", "entry_id", "task_bucket", "task_span", "indexed"} {
		rows, err := log.reader.QueryContext(t.Context(), "SELECT * FROM "+table+" ORDER BY 1, 2")
		if err != nil {
			t.Fatal(err)
		}
		columns, err := rows.Columns()
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			row := make([]any, len(columns))
			to := make([]any, len(columns))
			for i := range row {
				to[i] = &row[i]
			}
			if err := rows.Scan(to...); err != nil {
				t.Fatal(err)
			}
			fmt.Fprintln(&out, table, row)
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil { //nolint:sqlclosecheck // once in each round of the loop
			t.Fatal(err)
		}
	}
	return out.String()
}

func TestVerify_whole(t *testing.T) {
	t.Parallel()
	log := openLog(t, t.TempDir())
	fill(t, log, 2500)
	var done, total uint64
	r, err := log.Verify(t.Context(), func(d, n uint64) { done, total = d, n })
	if err != nil || r.Err("journal") != nil {
		t.Fatalf("Verify = %+v, %v", r, err)
	}
	head, err := log.Head(t.Context())
	if err != nil || r.Head != head || r.Entries != 2500 || done != 2500 || total != 2500 {
		t.Errorf("verified %d entries to %v, progress %d/%d; the head is %v, %v", r.Entries, r.Head, done, total, head, err)
	}
}

// tamper changes a closed journal as somebody with another program would.
func tamper(t *testing.T, dir string, statements ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", dsn(filepath.Join(dir, fileName), "_busy_timeout=1000"))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range statements {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Errorf("%s: %v", s, err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

const withoutTriggers = `DROP TRIGGER entry_never_changes; DROP TRIGGER entry_never_goes; DROP TRIGGER task_key_never_changes;
	DROP TRIGGER task_key_never_goes;`

func TestVerify_tampered(t *testing.T) {
	t.Parallel()
	const n = 2600 // beyond what an open checks
	for name, c := range map[string]struct {
		change string
		seq    uint64
	}{
		"body":            {"UPDATE entry SET body = CAST(body || ' ' AS BLOB) WHERE seq = 77", 77},
		"kind":            {"UPDATE entry SET kind = 'bus' WHERE seq = 78", 78},
		"role":            {"UPDATE entry SET role = 'admin' WHERE seq = 79", 79},
		"actor":           {"UPDATE entry SET actor = 'eve' WHERE seq = 80", 80},
		"time":            {"UPDATE entry SET at = at + 1 WHERE seq = 81", 81},
		"id":              {"UPDATE entry SET id = 'other' WHERE seq = 82", 82},
		"task":            {"UPDATE entry SET task = 1 WHERE seq = 83", 83},
		"hash":            {"UPDATE entry SET hash = zeroblob(32) WHERE seq = 84", 84},
		"first":           {"UPDATE entry SET body = x'' WHERE seq = 1", 1},
		"removed":         {"DELETE FROM entry WHERE seq = 90", 90},
		"removed_first":   {"DELETE FROM entry WHERE seq = 1", 1},
		"removed_and_cut": {"DELETE FROM entry WHERE seq = 90; UPDATE entry SET seq = seq - 1 WHERE seq > 90", 90},
		"swapped": {`UPDATE entry SET seq = -1 WHERE seq = 100; UPDATE entry SET seq = 100 WHERE seq = 102;
			UPDATE entry SET seq = 102 WHERE seq = -1`, 100},
		"swapped_bodies": {`UPDATE entry SET body = (SELECT o.body FROM entry o WHERE o.seq = 211 - entry.seq) WHERE seq IN (105, 106)`, 105},
		"inserted":       {"INSERT INTO entry VALUES (0, 0, 0, 'zero', 'bus', 'system', '', zeroblob(32), x'')", 0},
		"task_key":       {"UPDATE task_key SET task_id = 'T-2026-999' WHERE key = 3", 3},
		"span_gone":      {"DELETE FROM task_span WHERE task = 2", 0},
		"span_bit":       {"UPDATE task_span SET buckets = 2 WHERE task = 2", 0},
		"list_gone":      {"DELETE FROM task_bucket WHERE task = 2", 0},
		"list_less":      {"UPDATE task_bucket SET seqs = substr(seqs, 3) WHERE task = 2", 0},
		"list_odd":       {"UPDATE task_bucket SET seqs = CAST(seqs || x'00' AS BLOB) WHERE task = 2", 0},
		"list_swapped":   {"UPDATE task_bucket SET seqs = CAST(substr(seqs, 3, 2) || substr(seqs, 1, 2) || substr(seqs, 5) AS BLOB) WHERE task = 2", 0},
		"list_of_other":  {"UPDATE task_bucket SET seqs = (SELECT o.seqs FROM task_bucket o WHERE o.task = 3) WHERE task = 2", 0},
		"cut_end":        {"DELETE FROM entry WHERE seq > 2500", 2501},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			log := openLog(t, dir)
			fill(t, log, n)
			if err := log.Close(); err != nil {
				t.Fatal(err)
			}
			tamper(t, dir, withoutTriggers, c.change)
			log, err := OpenReadOnly(t.Context(), dir)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = log.Close() })
			r, err := log.Verify(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Damage) == 0 || r.Damage[0].Seq != c.seq {
				t.Errorf("the first bad entry is %d; found %+v", c.seq, r)
			}
			if d, ok := errors.AsType[*DamagedError](r.Err("x")); !ok || d.Seq != c.seq {
				t.Errorf("Report.Err = %v", r.Err("x"))
			}
		})
	}
}

func TestVerify_projections(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]string{
		"state":    "UPDATE task SET state = replace(state, 'submit', 'x') || ' ' WHERE key = 2",
		"status":   "UPDATE task SET status = 'approved' WHERE key = 3",
		"gone":     "DELETE FROM task WHERE key = 3",
		"more":     "INSERT INTO task VALUES (99999, 'T-1', 'drafting', '', 1, '{}')",
		"board":    "UPDATE board SET state = replace(state, '\"refusals\":', '\"refusals\":1')",
		"no_board": "DELETE FROM board",
		"usage":    "UPDATE usage SET state = '{}'",
		"no_usage": "DELETE FROM usage",
		"version":  "UPDATE board SET fold = fold + 1",
		"open_ack": "INSERT INTO open_ack VALUES (1, 0, 0, 'm', 'task_result', 'executor')",
		"ack_gone": "INSERT INTO open_ack VALUES (77777, 0, 0, 'm', 'task_result', 'executor')",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			log := openLog(t, dir)
			fill(t, log, 300)
			before := dump(t, log)
			if err := log.Close(); err != nil {
				t.Fatal(err)
			}
			tamper(t, dir, change)
			read, err := OpenReadOnly(t.Context(), dir)
			if err != nil {
				t.Fatal(err)
			}
			r, err := read.Verify(t.Context(), nil)
			if err != nil || len(r.Damage) != 0 || len(r.Projections) == 0 {
				t.Errorf("Verify = %+v, %v; want stale projections only", r, err)
			}
			if err := read.Close(); err != nil {
				t.Fatal(err)
			}
			log = openLog(t, dir)
			if err := log.Rebuild(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(before, dump(t, log)); d != "" {
				t.Errorf("the rebuilt projections differ (-before +after):\n%s", d)
			}
			if r, err := log.Verify(t.Context(), nil); err != nil || r.Err("x") != nil {
				t.Errorf("after the rebuild: %+v, %v", r, err)
			}
		})
	}
}

func TestVerify_besideWriter(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	log := openLog(t, dir)
	fill(t, log, 1500)
	stop := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := 1500; ; i++ {
			if _, err := log.Append(t.Context(), []amp.Record{fact(i)}); err != nil {
				t.Error(err)
			}
			select {
			case <-stop:
				return
			default:
			}
		}
	}()
	read, err := OpenReadOnly(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		r, err := read.Verify(t.Context(), nil)
		if err != nil || r.Err("journal") != nil || r.Entries < 1500 {
			t.Errorf("Verify = %+v, %v", r, err)
		}
	}
	close(stop)
	<-done
	if err := read.Close(); err != nil {
		t.Error(err)
	}
	if err := ssottest.CheckJournal(t.Context(), log); err != nil {
		t.Error(err)
	}
}

func TestVerify_cancelled(t *testing.T) {
	t.Parallel()
	log := openLog(t, t.TempDir())
	fill(t, log, 1200)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := log.Verify(ctx, func(uint64, uint64) { cancel() })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Verify = %v, want cancelled", err)
	}
}

func TestRebuild_sameBytes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	log := openLog(t, dir)
	fill(t, log, 1700)
	appendOne(t, log, ssottest.Everything("stop", amp.StopAll, ssottest.Start))
	fillFrom(t, log, 1700, 1900)
	before := dump(t, log)
	var folded []uint64
	if err := log.Rebuild(t.Context(), func(done, total uint64) {
		if total != 1901 || done > total {
			t.Errorf("%d of %d entries are folded", done, total)
		}
		folded = append(folded, done)
	}); err != nil {
		t.Fatal(err)
	}
	if len(folded) < 2 || folded[len(folded)-1] != 1901 || !slices.IsSorted(folded) {
		t.Errorf("told of %v folded entries", folded)
	}
	if d := cmp.Diff(before, dump(t, log)); d != "" {
		t.Errorf("-before +after:\n%s", d)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := log.Rebuild(ctx, nil); err == nil {
		t.Error("a cancelled rebuild succeeded")
	}
	fillFrom(t, log, 1900, 2000)
	if err := ssottest.CheckJournal(t.Context(), log); err != nil {
		t.Error(err)
	}
}

func fillFrom(t testing.TB, log ssot.Log, from, to int) {
	t.Helper()
	for i := from; i < to; i++ {
		appendOne(t, log, fact(i))
	}
}

func appendOne(t testing.TB, log ssot.Log, r amp.Record) amp.Entry {
	t.Helper()
	out, err := log.Append(t.Context(), []amp.Record{r})
	if err != nil || out[0].Err != nil {
		t.Fatalf("Append(%s) = %+v, %v", r.ID, out, err)
	}
	return out[0].Entry
}

func TestCopies(t *testing.T) {
	t.Parallel()
	log := openLog(t, t.TempDir())
	fill(t, log, 1300)
	head, err := log.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Run("backup", func(t *testing.T) {
		dir := t.TempDir()
		path := filepath.Join(dir, fileName)
		got, err := log.Backup(t.Context(), path, nil)
		if err != nil || got != head {
			t.Fatalf("Backup = %v, %v; want %v", got, err, head)
		}
		if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
			t.Errorf("the copy's mode is %v, %v", st.Mode(), err)
		}
		if _, err := log.Backup(t.Context(), path, nil); !errors.Is(err, os.ErrExist) {
			t.Errorf("a backup over an existing file: %v", err)
		}
		again := openLog(t, dir)
		if r, err := again.Verify(t.Context(), nil); err != nil || r.Err("copy") != nil || r.Head != head {
			t.Errorf("the copy: %+v, %v", r, err)
		}
		if d := cmp.Diff(dump(t, log), dump(t, again)); d != "" {
			t.Errorf("projections differ:\n%s", d)
		}
		appendOne(t, again, fact(99999))
	})
	t.Run("backup_cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		dir := t.TempDir()
		if _, err := log.Backup(ctx, filepath.Join(dir, "x"), nil); !errors.Is(err, context.Canceled) {
			t.Errorf("a cancelled backup: %v", err)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("it left %v, %v", left, err)
		}
	})
	t.Run("export_import", func(t *testing.T) {
		var lines bytes.Buffer
		if end, err := ssot.Export(t.Context(), log, &lines, ssot.Part{}, nil); err != nil || end.Entries != 1300 || end.Head != head {
			t.Fatalf("Export = %+v, %v", end, err)
		}
		again := openLog(t, t.TempDir())
		if n, err := ssot.Import(t.Context(), again, bytes.NewReader(lines.Bytes()), nil); err != nil || n != 1300 {
			t.Fatalf("Import = %d, %v", n, err)
		}
		sameLog(t, log, again)
	})
	t.Run("copy", func(t *testing.T) {
		again := openLog(t, t.TempDir())
		if got, n, err := ssot.Copy(t.Context(), log, again, nil); err != nil || n != 1300 || got != head {
			t.Fatalf("Copy = %v, %d, %v", got, n, err)
		}
		sameLog(t, log, again)
	})
}

// Backups that are made while others append are whole, and each is the journal up to a moment.
func TestBackup_whileAppending(t *testing.T) {
	t.Parallel()
	log := openLog(t, t.TempDir())
	fill(t, log, 400)
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for i := 400; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			if _, err := log.Append(t.Context(), []amp.Record{fact(i)}); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	last := amp.Head{}
	for i := range 5 {
		got, err := log.Backup(t.Context(), filepath.Join(t.TempDir(), fmt.Sprint(i)), nil)
		if err != nil || got.Seq < max(last.Seq, 400) {
			t.Fatalf("Backup = %v, %v; the one before had %v", got, err, last)
		}
		at, err := log.Read(t.Context(), amp.Filter{After: got.Seq - 1, Limit: 1})
		if err != nil || len(at) != 1 || at[0].Hash != got.Hash {
			t.Errorf("entry %d of the journal is %v, %v; the backup's head is %v", got.Seq, at, err, got)
		}
		last = got
	}
	close(stop)
	<-ended
}

// sameLog wants the same head and the same projections.
func sameLog(t *testing.T, log, again *Log) {
	t.Helper()
	want, err := log.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got, err := again.Head(t.Context()); err != nil || got != want {
		t.Errorf("the head is %v, %v; want %v", got, err, want)
	}
	if d := cmp.Diff(dump(t, log), dump(t, again)); d != "" {
		t.Errorf("projections differ:\n%s", d)
	}
}
