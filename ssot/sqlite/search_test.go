package sqlite

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"arbiter/amp"
	"arbiter/ssot"
	"arbiter/ssot/ssottest"
)

// scanned compares what searches find with what Match says of each entry.
func scanned(t testing.TB, log *Log, all []amp.Entry, searches ...string) {
	t.Helper()
	for _, text := range searches {
		f := ssottest.Search(t, text)
		var want []uint64
		for i := range all {
			if ssot.Match(&f, &all[i]) {
				want = append(want, all[i].Seq)
			}
		}
		slices.Reverse(want)
		found, err := log.Find(t.Context(), f)
		var got []uint64
		for i := range found.Entries {
			got = append(got, found.Entries[i].Seq)
		}
		if d := cmp.Diff(want[:min(len(want), ssot.MaxPage)], got); err != nil || d != "" || found.More != (len(want) > len(got)) ||
			!found.Capped && found.Count != len(want) {
			t.Fatalf("%q with the index at %d of %d: count %d, want %d; %v (-want +got):\n%s", text, log.Indexed(), len(all), found.Count,
				len(want), err, d)
		}
	}
}

// facts are all that a search may be asked for, some of them many times.
func facts(t testing.TB, log ssot.Log, n int) []amp.Entry {
	t.Helper()
	r := rand.New(rand.NewPCG(3, 4))
	records := ssottest.Hard()
	for i := range n {
		f := ssottest.Any(r, fmt.Sprint("any", i), ssottest.Start.Add(time.Duration(i)*50*time.Millisecond))
		records = append(records, f)
	}
	for page := range slices.Chunk(records, 300) {
		if _, err := log.Append(t.Context(), page); err != nil {
			t.Fatal(err)
		}
	}
	all, err := ssottest.All(t.Context(), log)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// indexed waits for the index and makes sure that searches use it.
func indexed(t testing.TB, log *Log) {
	t.Helper()
	if err := log.Index(t.Context()); err != nil {
		t.Fatal(err)
	}
	v := log.index.view(t.Context())
	if v == nil {
		t.Fatal("searches do not use the index")
	}
	if last, _ := log.lastSeq(t.Context()); v.seq != last {
		t.Errorf("the index reaches to %d of %d", v.seq, last)
	}
	if err := v.close(); err != nil {
		t.Error(err)
	}
}

func TestSearch_indexed(t *testing.T) {
	t.Parallel()
	log := openLog(t, t.TempDir())
	all := facts(t, log, 1200)
	indexed(t, log)
	scanned(t, log, all, ssottest.Searches...)
}

// Searches are complete wherever the follower is, after it was stopped anywhere and after the log was opened again.
func TestSearch_anyLag(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	log := openLog(t, dir)
	all := facts(t, log, 400)
	rapid.Check(t, func(r *rapid.T) {
		if err := log.index.close(); err != nil {
			r.Fatal(err)
		}
		log.index.stop = nil
		if err := log.index.remove(); err != nil {
			r.Fatal(err)
		}
		db, seq, err := log.index.openSearch(t.Context())
		if err != nil {
			r.Fatal(err)
		}
		for range rapid.IntRange(0, 4).Draw(r, "pages") {
			n := rapid.IntRange(1, 200).Draw(r, "page")
			if page := all[seq:min(seq+uint64(n), uint64(len(all)))]; len(page) > 0 {
				if err := log.index.add(db, page); err != nil {
					r.Fatal(err)
				}
				seq = page[len(page)-1].Seq
			}
		}
		if err := db.Close(); err != nil {
			r.Fatal(err)
		}
		log.index.move(seq)
		for range 4 {
			scanned(t, log, all, rapid.SampledFrom(ssottest.Searches).Draw(r, "search"))
		}
		if rapid.Bool().Draw(r, "reopen") {
			if err := log.Close(); err != nil {
				r.Fatal(err)
			}
			log = openLog(t, dir)
			scanned(t, log, all, rapid.SampledFrom(ssottest.Searches).Draw(r, "search"))
		}
	})
}

// An index that is missing, broken, of another version or of another journal never spoils a search, and is made anew.
func TestSearch_damage(t *testing.T) {
	t.Parallel()
	other := filepath.Join(t.TempDir(), "other")
	{
		log := openLog(t, other)
		appendOne(t, log, ssottest.Note("other", ssottest.Task(1), "hello from elsewhere"))
		indexed(t, log)
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
	}
	change := func(text string) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			db, err := sql.Open("sqlite", dsn(path, searchWriterParams))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := db.ExecContext(t.Context(), text); err != nil {
				t.Fatal(err)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	write := func(data func(old []byte) []byte) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			old, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, data(old), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, spoil := range map[string]func(*testing.T, string){
		"missing": func(t *testing.T, path string) {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		},
		"version": change("UPDATE reach SET version = version + 1"),
		"hash":    change("UPDATE reach SET hash = zeroblob(32)"),
		"ahead":   change("UPDATE reach SET seq = seq + 1"),
		"tables":  change("DROP TABLE chunk"),
		"columns": change("ALTER TABLE chunk RENAME COLUMN early TO earliest"),
		"lost":    change("DELETE FROM chunk"),
		"sheet":   change("UPDATE sheet SET data = zeroblob(100)"),
		"runs":    change("UPDATE chunk SET last = last + 1000000"),
		"empty":   write(func([]byte) []byte { return nil }),
		"garbage": write(func([]byte) []byte { return []byte(strings.Repeat("no database ", 2000)) }),
		"cut":     write(func(old []byte) []byte { return old[:len(old)/2/pageSize*pageSize] }),
		"torn":    write(func(old []byte) []byte { return append(old[:len(old)/2], make([]byte, len(old)/2)...) }),
		"other":   write(func([]byte) []byte { b, _ := os.ReadFile(filepath.Join(other, searchName)); return b }),
		"journal": write(func([]byte) []byte { b, _ := os.ReadFile(filepath.Join(other, fileName)); return b }),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			log := openLog(t, dir)
			all := facts(t, log, 300)
			indexed(t, log)
			if err := log.Close(); err != nil {
				t.Fatal(err)
			}
			spoil(t, filepath.Join(dir, searchName))
			reader, err := OpenReadOnly(t.Context(), dir)
			if err != nil {
				t.Fatal(err)
			}
			scanned(t, reader, all, ssottest.Searches[:12]...)
			if err := reader.Close(); err != nil {
				t.Error(err)
			}
			log = openLog(t, dir)
			scanned(t, log, all, ssottest.Searches[:12]...)
			indexed(t, log)
			scanned(t, log, all, ssottest.Searches[:12]...)
		})
	}
}

// Opening waits for no index: a directory stands in the place of its file, and everything but the index works.
func TestSearch_neverFatal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, searchName, "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	log := openLog(t, dir)
	all := facts(t, log, 100)
	scanned(t, log, all, ssottest.Searches...)
	if log.Indexed() != 0 {
		t.Errorf("the index has %d entries", log.Indexed())
	}
	if r, err := log.Verify(t.Context(), nil); err != nil || r.Err(dir) != nil {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestSearch_rebuild(t *testing.T) {
	t.Parallel()
	log := openLog(t, t.TempDir())
	all := facts(t, log, 100)
	indexed(t, log)
	db, _, err := log.index.openSearch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// An index that has lost its rows and does not know it: only a rebuild can mend that.
	if _, err := db.ExecContext(t.Context(), "DELETE FROM sheet"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if found, err := log.Find(t.Context(), ssottest.Search(t, "hello")); err != nil || found.Count != 0 {
		t.Fatalf("the index is not used: %d found, %v", found.Count, err)
	}
	if err := log.Rebuild(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	indexed(t, log)
	scanned(t, log, all, ssottest.Searches...)
}

// A reader beside a coordinator searches with its index, also while entries are appended.
func TestSearch_readOnly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	log := openLog(t, dir)
	all := facts(t, log, 300)
	indexed(t, log)
	reader, err := OpenReadOnly(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if v := reader.index.view(t.Context()); v == nil || v.seq != uint64(len(all)) {
		t.Fatalf("the reader does not use the index: %+v", v)
	} else if err := v.close(); err != nil {
		t.Error(err)
	}
	all = append(all, appendOne(t, log, ssottest.Note("later", ssottest.Task(1), "hello again")))
	scanned(t, reader, all, ssottest.Searches...)
}
