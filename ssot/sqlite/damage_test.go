package sqlite

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"arbiter/amp"
	"arbiter/ssot/ssottest"
)

// closedJournal is the bytes of a closed journal of n entries, and the entries.
func closedJournal(t *testing.T, n int) (file []byte, all []amp.Entry) {
	t.Helper()
	dir := t.TempDir()
	log := openLog(t, dir)
	fill(t, log, n)
	all, err := ssottest.All(t.Context(), log)
	if err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	if file, err = os.ReadFile(filepath.Join(dir, fileName)); err != nil {
		t.Fatal(err)
	}
	return file, all
}

// damages are what becomes of a file: single bits flip, pages change places, sectors are lost or come from elsewhere, the end goes.
// each says what it did.
var damages = map[string]func(r *rand.Rand, file []byte) ([]byte, string){
	"bits": func(r *rand.Rand, file []byte) ([]byte, string) {
		bit := r.IntN(8 * len(file))
		file[bit/8] ^= 1 << (bit % 8)
		return file, fmt.Sprint("bit ", bit)
	},
	"pages": func(r *rand.Rand, file []byte) ([]byte, string) {
		a, b := r.IntN(len(file)/pageSize)*pageSize, r.IntN(len(file)/pageSize)*pageSize
		page := bytes.Clone(file[a : a+pageSize])
		copy(file[a:], file[b:b+pageSize])
		copy(file[b:], page)
		return file, fmt.Sprint("pages at ", a, " and ", b)
	},
	"sectors": func(r *rand.Rand, file []byte) ([]byte, string) {
		a, b := r.IntN(len(file)/512)*512, r.IntN(len(file)/512)*512
		if copy(file[a:a+512], file[b:b+512]); r.IntN(2) == 0 {
			clear(file[a : a+512])
		}
		return file, fmt.Sprint("sector at ", a, " from ", b)
	},
	"end": func(r *rand.Rand, file []byte) ([]byte, string) {
		n := 1 + r.IntN(len(file)-1)
		return file[:len(file)-n], fmt.Sprint(n, " bytes of the end")
	},
}

// TestDamage_anywhere damages the file somewhere. Whatever entry comes back changed, or not at all, is found and named; what is not
// found has changed nothing.
func TestDamage_anywhere(t *testing.T) {
	t.Parallel()
	flips := times(t, "ARBITER_STORE_FLIPS", 300)
	file, all := closedJournal(t, 250)
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := flips
			if name != "bits" {
				n = max(1, flips/10)
			}
			damagedAnywhere(t, n, file, all, damage)
		})
	}
}

func damagedAnywhere(t *testing.T, flips int, file []byte, all []amp.Entry, change func(*rand.Rand, []byte) ([]byte, string)) {
	t.Helper()
	r := rand.New(rand.NewPCG(3, 1))
	var refused, found, harmless int
	for range flips {
		flipped, bit := change(r, bytes.Clone(file))
		switch first, damage, err := readFlipped(t, flipped, all); {
		case err != nil:
			refused++
			_, damaged := errors.AsType[*DamagedError](err)
			_, newer := errors.AsType[*NewerError](err)
			if !damaged && !newer {
				t.Errorf("%s: the open fails with %v", bit, err)
			}
		case len(damage) > 0:
			found++
			// A reader that comes from the entry before may still reach one that is not found by its own seq.
			if named := damage[0].Seq; first != 0 && named != first && named != first-1 {
				t.Errorf("%s: the first bad entry is %d, found %+v", bit, first, damage[0])
			}
		case first != 0:
			t.Errorf("%s: entry %d came back changed and was not found", bit, first)
		default:
			harmless++
		}
	}
	t.Logf("%d times: %d refused at open, %d found, %d in unused or rebuildable bytes", flips, refused, found, harmless)
	if refused+found < flips/3 {
		t.Errorf("only %d of %d hit an entry: the test proves nothing", refused+found, flips)
	}
}

// readFlipped opens a file and returns the first entry that does not come back as it was, 0 when all do, and what Verify found.
func readFlipped(t *testing.T, file []byte, want []amp.Entry) (first uint64, damage []Problem, err error) {
	t.Helper()
	dir, err := os.MkdirTemp(t.TempDir(), "flip")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := os.WriteFile(filepath.Join(dir, fileName), file, 0o600); err != nil {
		t.Fatal(err)
	}
	log, err := OpenReadOnly(t.Context(), dir)
	if err != nil {
		return 0, nil, err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	report, err := log.Verify(t.Context(), nil)
	if err != nil {
		return 0, nil, err
	}
	if all, err := ssottest.All(t.Context(), log); err == nil && slices.EqualFunc(all, want, sameEntry) {
		if len(report.Damage) > 0 {
			return 0, report.Damage, nil
		}
		return lookUp(t, log, want), nil, nil
	}
	for i := range want {
		seq := uint64(i + 1)
		got, err := log.Read(t.Context(), amp.Filter{After: seq - 1, Limit: 1})
		if err != nil || len(got) != 1 || !sameContent(got[0], want[i]) {
			return seq, report.Damage, nil
		}
	}
	return 0, report.Damage, nil
}

// lookUp finds each entry by its id and by its task, and returns the first that is not found.
func lookUp(t *testing.T, log *Log, want []amp.Entry) (first uint64) {
	t.Helper()
	tasks := map[amp.TaskID][]amp.Entry{}
	for i := range want {
		got, err := log.Read(t.Context(), amp.Filter{ID: want[i].ID})
		if err != nil || len(got) != 1 || !sameEntry(got[0], want[i]) {
			return want[i].Seq
		}
		tasks[want[i].TaskID] = append(tasks[want[i].TaskID], want[i])
	}
	for id, list := range tasks {
		got, err := log.Read(t.Context(), amp.Filter{TaskID: id})
		if err != nil || !slices.EqualFunc(got, list, sameEntry) {
			return list[0].Seq
		}
	}
	return 0
}

// TestDamage_typeInIndex flips the one bit that makes an id in the index a blob of the same bytes: it is read as before, and not found.
func TestDamage_typeInIndex(t *testing.T) {
	t.Parallel()
	file, all := closedJournal(t, 250)
	found := 0
	for i := range file {
		id := all[100].ID
		// A cell of the index: the header's length 3, the type of a text of that length, that of the seq, and the text.
		cell := append([]byte{3, byte(13 + 2*len(id))}, []byte(id)...)
		if i+len(cell)+1 > len(file) || file[i] != cell[0] || file[i+1] != cell[1] || string(file[i+3:i+3+len(id)]) != id {
			continue
		}
		flipped := bytes.Clone(file)
		flipped[i+1] ^= 1
		if first, damage, err := readFlipped(t, flipped, all); err != nil || len(damage) == 0 {
			t.Errorf("byte %d: entry %d is not found by its id, and the verification says %v, %v", i+1, first, damage, err)
		}
		found++
	}
	if found == 0 {
		t.Error("the index has no such cell: the test proves nothing")
	}
}

func sameEntry(a, b amp.Entry) bool { return sameContent(a, b) && a.PrevHash == b.PrevHash }

// sameContent leaves out prev_hash, which is stored in the row before.
func sameContent(a, b amp.Entry) bool {
	return a.Seq == b.Seq && a.Kind == b.Kind && a.TaskID == b.TaskID && a.Role == b.Role && a.Actor == b.Actor &&
		a.At.Equal(b.At) && a.ID == b.ID && bytes.Equal(a.Body, b.Body) && a.Hash == b.Hash
}

// TestDamage_file opens files that are no journal, or not all of one, for writing and for reading. Each is refused with an error
// that says so, and each stays as it is.
func TestDamage_file(t *testing.T) {
	t.Parallel()
	file, _ := closedJournal(t, 300)
	torn := bytes.Clone(file)
	clear(torn[len(torn)/3 : len(torn)/3+40000])
	for name, files := range map[string]map[string][]byte{
		"empty":       {fileName: {}},
		"text":        {fileName: []byte(strings.Repeat("not a database\n", 1000))},
		"short_text":  {fileName: []byte("x")},
		"half":        {fileName: file[:len(file)/2]},
		"last_page":   {fileName: file[:len(file)-pageSize]},
		"one_byte":    {fileName: file[:len(file)-1]},
		"header_only": {fileName: file[:100]},
		"zero_header": {fileName: append(make([]byte, 100), file[100:]...)},
		"zero_middle": {fileName: torn},
		"wal_only":    {fileName + "-wal": []byte("the journal was removed")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for n, b := range files {
				if err := os.WriteFile(filepath.Join(dir, n), b, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			log, err := Open(t.Context(), dir, Options{})
			if err == nil {
				// A hole in the middle is beyond the tail that an open checks: the verification finds it. So it does when the page at the
				// end is one of the tables.
				r, err := log.Verify(t.Context(), nil)
				if err != nil || r.Err(name) == nil || name != "zero_middle" && name != "one_byte" {
					t.Errorf("opened, verified %+v, %v", r, err)
				}
				if err := log.Close(); err != nil {
					t.Error(err)
				}
			} else if _, ok := errors.AsType[*DamagedError](err); !ok {
				t.Errorf("Open: %v; want *DamagedError", err)
			}
			if log, err := OpenReadOnly(t.Context(), dir); err == nil {
				r, err := log.Verify(t.Context(), nil)
				if err != nil || r.Err(name) == nil {
					t.Errorf("OpenReadOnly opened, verified %+v, %v", r, err)
				}
				if err := log.Close(); err != nil {
					t.Error(err)
				}
			} else if _, ok := errors.AsType[*DamagedError](err); !ok {
				t.Errorf("OpenReadOnly: %v; want *DamagedError", err)
			}
			for n, want := range files {
				got, err := os.ReadFile(filepath.Join(dir, n))
				if err != nil || !bytes.Equal(got, want) {
					t.Errorf("%s was changed: %d bytes, %v; it had %d", n, len(got), err, len(want))
				}
			}
		})
	}
}

func TestOpen_otherDatabase(t *testing.T) {
	t.Parallel()
	know, err := newest()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change string
		want   func(error) bool
	}{
		"other_program": {"PRAGMA application_id = 7", func(err error) bool {
			d, ok := errors.AsType[*DamagedError](err)
			return ok && strings.Contains(d.Why, "another program")
		}},
		"newer": {"INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, 1)", func(err error) bool {
			n, ok := errors.AsType[*NewerError](err)
			return ok && n.Have == 9999 && n.Know == know
		}},
		"no_versions": {"DROP TABLE goose_db_version", func(err error) bool {
			_, ok := errors.AsType[*DamagedError](err)
			return ok
		}},
		"tail": {withoutTriggers + "UPDATE entry SET actor = 'eve' WHERE seq = 290", func(err error) bool {
			d, ok := errors.AsType[*DamagedError](err)
			return ok && d.Seq == 290
		}},
		"cut_end": {withoutTriggers + "DELETE FROM entry WHERE seq > 200", func(err error) bool {
			d, ok := errors.AsType[*DamagedError](err)
			return ok && d.Seq == 201
		}},
		"all_gone": {withoutTriggers + "DELETE FROM entry", func(err error) bool {
			d, ok := errors.AsType[*DamagedError](err)
			return ok && d.Seq == 1
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			log := openLog(t, dir)
			fill(t, log, 300)
			if err := log.Close(); err != nil {
				t.Fatal(err)
			}
			tamper(t, dir, c.change)
			if _, err := Open(t.Context(), dir, Options{}); !c.want(err) {
				t.Errorf("Open: %v", err)
			}
			if held, err := Holder(dir); held != nil || err != nil {
				t.Errorf("the refused open still holds the directory: %v, %v", held, err)
			}
		})
	}
}

func TestOpen_leftovers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
		if err := os.WriteFile(filepath.Join(dir, fileName+".new"+suffix), []byte("half made"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	log := openLog(t, dir)
	appendOne(t, log, fact(1))
	if err := log.Index(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	var names []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if d.Type().IsRegular() {
			st, err := d.Info()
			if err != nil {
				return err
			}
			names = append(names, fmt.Sprint(d.Name(), " ", st.Mode().Perm()))
		}
		return err
	})
	if d := cmp.Diff([]string{fileName + " -rw-------", searchName + " -rw-------", lockName + " -rw-------"}, names); err != nil || d != "" {
		t.Errorf("a closed data directory holds other files (-want +got): %v\n%s", err, d)
	}
}

func TestOpen_missing(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "none")
	if _, err := OpenReadOnly(t.Context(), dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("OpenReadOnly of nothing: %v", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a reader made the directory: %v", err)
	}
}

func TestOpen_pathOfAnyName(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a b%20c?mode=memory#x&_pragma=1 ä;'")
	log := openLog(t, dir)
	appendOne(t, log, fact(1))
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(filepath.Join(dir, fileName)); err != nil || st.Size() == 0 {
		t.Errorf("the file is not where it should be: %v", err)
	}
	read, err := OpenReadOnly(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if head, err := read.Head(t.Context()); err != nil || head.Seq != 1 {
		t.Errorf("Head = %v, %v", head, err)
	}
	if err := read.Close(); err != nil {
		t.Error(err)
	}
}
