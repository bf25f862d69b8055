package sqlite

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"arbiter/amp"
	"arbiter/ssot/ssottest"
)

// A program that ends while rows are written ahead leaves some of them. They are neither missed nor in the way: what is read with them is the
// same, the next writes the rest, and all of it verifies.
func TestTail_aheadAtTheEnd(t *testing.T) {
	t.Parallel()
	log, err := Open(t.Context(), t.TempDir(), Options{Unindexed: true, tail: 3 * tailStep})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() })
	left, n, ahead := t.TempDir(), 0, 0
	for ; ahead == 0; n++ {
		if n > 100*tailStep {
			t.Fatal("nothing was ever written ahead")
		}
		appendOne(t, log, ssottest.Raw(fmt.Sprint("id", n), ssottest.Task(1+n%5), nil))
		err := log.writer.alone(t.Context(), func(w *writer) error { // it stands still meanwhile
			if len(w.tail.byID) == 0 || len(w.tail.byID) == w.tail.spread {
				return nil
			}
			ahead = w.tail.spread - len(w.tail.byID)
			for _, suffix := range []string{"", "-wal"} {
				data, err := os.ReadFile(w.path + suffix)
				if err == nil {
					err = os.WriteFile(filepath.Join(left, fileName+suffix), data, 0o600)
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []string{"as it was left", "with what came after", "once more"} {
		log, err := Open(t.Context(), left, Options{Unindexed: true, tail: 3 * tailStep})
		if err != nil {
			t.Fatalf("%s: %v", step, err)
		}
		if step == "with what came after" {
			for range 4 * tailStep {
				appendOne(t, log, ssottest.Raw(fmt.Sprint("id", n), ssottest.Task(1+n%5), nil))
				n++
			}
		}
		var found int
		for task := 1; task <= 5; task++ {
			var last uint64
			for more := true; more; {
				page, err := log.Read(t.Context(), amp.Filter{TaskID: ssottest.Task(task), After: last})
				if err != nil {
					t.Fatalf("%s: %v", step, err)
				}
				for i := range page {
					last = page[i].Seq
				}
				found, more = found+len(page), len(page) > 0
			}
		}
		if found != n {
			t.Errorf("%s: %d entries of all tasks are found, there are %d", step, found, n)
		}
		for i := range n {
			page, err := log.Read(t.Context(), amp.Filter{ID: fmt.Sprint("id", i)})
			if err != nil || len(page) != 1 {
				t.Fatalf("%s: id%d is found %d times, %v", step, i, len(page), err)
			}
		}
		r, err := log.Verify(t.Context(), nil)
		if err != nil || r.Err(left) != nil {
			t.Errorf("%s: %+v, %v", step, r, err)
		}
		if err := log.Close(); err != nil {
			t.Errorf("%s: %v", step, err)
		}
	}
}

// An id that the table has for another entry is not passed over: the journal is not written on.
func TestTail_otherEntry(t *testing.T) {
	t.Parallel()
	log, err := Open(t.Context(), t.TempDir(), Options{Unindexed: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() }) // it says once more what is wrong
	appendOne(t, log, ssottest.Raw("one", ssottest.Task(1), nil))
	appendOne(t, log, ssottest.Raw("two", ssottest.Task(1), nil))
	err = log.writer.alone(t.Context(), func(w *writer) error {
		if err := w.flush(); err != nil {
			return err
		}
		return w.transaction(func() error {
			return insertRows(&w.stmt.insertIDs, []tailRow{{seq: 2, id: "one"}}, func(args []any, r tailRow) []any { return append(args, r.id, int64(r.seq)) })
		})
	})
	if err == nil || !strings.Contains(err.Error(), "NOT NULL") {
		t.Errorf("an id of another entry: %v", err)
	}
}
