package github_test

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"arbiter/amp"
	"arbiter/ssot"
	"arbiter/ssot/github"
	"arbiter/ssot/memory"
	"arbiter/ssot/ssottest"
)

// unpack writes the files of the branch into a folder without git.
func (w *world) unpack() string {
	w.t.Helper()
	files, err := w.repo.Files("main")
	if err != nil {
		w.t.Fatal(err)
	}
	dir := w.t.TempDir()
	for name, data := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			w.t.Fatal(err)
		}
		if err := os.WriteFile(file, data, 0o600); err != nil {
			w.t.Fatal(err)
		}
	}
	return dir
}

func (w *world) report(dir string, checks github.Checks) github.Report {
	w.t.Helper()
	r, err := github.Compare(w.t.Context(), w.log, w.open(dir), checks)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// A bit that is flipped anywhere in the entries, the head or a task's file of a clone is found, and the entry is named.
func TestCompare_bitFlips(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.task(1)
	w.grow(5)
	w.append(ssottest.Raw("raw", ssottest.Task(1), []byte{0xff, 0xfe, 0}))
	m := w.mirror()
	w.push(m)
	w.grow(5)
	w.push(m)
	dir := w.unpack()
	if r := w.report(dir, github.Checks{}); r.Difference != nil || r.Agree != 13 || r.Tasks != 1 {
		t.Fatalf("an untouched folder: %+v", r)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for _, name := range []string{
		"entries/000000/000/000000000001.jsonl", "entries/000000/000/000000000009.jsonl", "head.json", "tasks/2026/000/T-2026-001.json",
	} {
		file := filepath.Join(dir, filepath.FromSlash(name))
		whole, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for range 60 {
			at := r.IntN(len(whole))
			flipped := bytes.Clone(whole)
			flipped[at] ^= 1 << r.IntN(8)
			if err := os.WriteFile(file, flipped, 0o600); err != nil {
				t.Fatal(err)
			}
			got := w.report(dir, github.Checks{})
			switch {
			case got.Difference == nil && harmless(name, whole, flipped):
			case got.Difference == nil:
				t.Errorf("%s: bit at byte %d of %.20q is not found", name, at, whole[max(0, at-10):])
			case strings.HasPrefix(name, "entries/"):
				want := first(name) + uint64(bytes.Count(whole[:at], []byte{'\n'}))
				if got.Difference.Seq != want {
					t.Errorf("%s: the bit is in entry %d, and %v is named", name, want, got.Difference)
				}
			}
		}
		if err := os.WriteFile(file, whole, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func first(name string) uint64 { return github.SeqOf(name) }

// harmless reports a flip that changes nothing that is claimed: the case of a hex digit, or of what head.json says besides the head.
func harmless(name string, whole, flipped []byte) bool {
	if name == "head.json" {
		return true
	}
	return bytes.EqualFold(whole, flipped)
}

// What was changed later in the history is found, also when it was put back.
func TestCompare_rewrittenHistory(t *testing.T) {
	t.Parallel()
	const segment = "entries/000000/000/000000000001.jsonl"
	w := newWorld(t)
	w.grow(3)
	m := w.mirror()
	w.push(m)
	known := w.repo.Head("main")
	right, err := w.repo.File("main", segment)
	if err != nil {
		t.Fatal(err)
	}
	w.commit("tamper", map[string][]byte{segment: []byte("{}\n")})
	w.commit("put back", map[string][]byte{segment: right})
	if r := w.report(w.clone(), github.Checks{}); r.Difference == nil || r.Difference.Seq != 1 || !strings.Contains(r.Difference.What, "after it was written") {
		t.Errorf("a file that was written twice: %v", r.Difference)
	}

	// A history that was made anew from nothing agrees by itself; who knows a commit of the old one sees it.
	files, err := w.repo.Files("main")
	if err != nil {
		t.Fatal(err)
	}
	if err := w.repo.Delete("main"); err != nil {
		t.Fatal(err)
	}
	w.commit("all of it", files)
	if r := w.report(w.clone(), github.Checks{}); r.Difference != nil {
		t.Errorf("a new history without knowledge of the old one: %v", r.Difference)
	}
	if r := w.report(w.clone(), github.Checks{Known: known, KnownSeq: 3}); r.Difference == nil || !strings.Contains(r.Difference.What, "history was rewritten") {
		t.Errorf("a new history, with knowledge of the old one: %v", r.Difference)
	}
}

func TestCompare_shortened(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.grow(3)
	m := w.mirror()
	w.push(m)
	before, err := w.repo.Files("main")
	if err != nil {
		t.Fatal(err)
	}
	w.grow(2)
	w.push(m)
	before["entries/000000/000/000000000004.jsonl"] = nil
	w.commit("shorter", before)
	if r := w.report(w.clone(), github.Checks{}); r.Difference == nil || !strings.Contains(r.Difference.Error(), "reached entry 5 and was set back to 3") {
		t.Errorf("a mirror that was shortened: %v", r.Difference)
	}
}

// The journal here is what is wrong: it lost its end, or an entry of it was changed together with all hashes behind it.
func TestCompare_journal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.grow(5)
	w.push(w.mirror())
	dir := w.clone()
	all, err := ssottest.All(t.Context(), w.log)
	if err != nil {
		t.Fatal(err)
	}
	copyOf := func(n int, change func(i int, r *amp.Record)) ssot.Log {
		log := memory.New()
		for i := range all[:n] {
			r := all[i].Record
			change(i, &r)
			if _, err := log.Append(t.Context(), []amp.Record{r}); err != nil {
				t.Fatal(err)
			}
		}
		return log
	}
	w.log = copyOf(3, func(int, *amp.Record) {})
	if r := w.report(dir, github.Checks{}); r.Difference == nil || r.Difference.Seq != 4 || r.Agree != 3 {
		t.Errorf("a journal without its end: %+v", r)
	}
	w.log = copyOf(5, func(i int, r *amp.Record) {
		if i == 2 {
			r.Body = []byte(`{"type":"heartbeat","n":7}`)
		}
	})
	if r := w.report(dir, github.Checks{}); r.Difference == nil || r.Difference.Seq != 3 {
		t.Errorf("a journal that was rewritten: %v", r.Difference)
	}
}

// Another version of the program may write a task otherwise: that is said, and is no proof of anything.
func TestCompare_otherVersion(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.cfg.Version = "1.2.3"
	w.task(1)
	w.push(w.mirror())
	dir := w.unpack()
	file := filepath.Join(dir, "tasks/2026/000/T-2026-001.json")
	if err := os.WriteFile(file, []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := w.report(dir, github.Checks{Version: "1.3.0"}); r.Difference != nil || !strings.Contains(strings.Join(r.Notes, "\n"), "1 files of tasks") {
		t.Errorf("another version: %+v", r)
	}
	if r := w.report(dir, github.Checks{Version: "1.2.3"}); r.Difference == nil {
		t.Error("the same version writes other files, and nobody says so")
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if r := w.report(dir, github.Checks{Version: "1.3.0"}); r.Difference == nil {
		t.Error("a file that is missing is not found")
	}
}

// The journal that is made from a mirror has the same head, and an import that was interrupted goes on.
func TestClone_restores(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.mirror()
	for i := range 4 {
		w.task(i + 1)
		w.grow(40)
		w.push(m)
	}
	w.append(ssottest.Raw("raw", ssottest.Task(1), []byte{0xff, 0xfe, 0}))
	w.push(m)
	want, err := w.log.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, dir := range map[string]string{"clone": w.clone(), "bare": w.repo.Dir, "folder": w.unpack()} {
		c := w.open(dir)
		if missing, err := c.Missing(t.Context(), nil); missing != nil || err != nil {
			t.Fatalf("%s: %v, %v", name, missing, err)
		}
		to := memory.New()
		some, err := c.Read(t.Context(), amp.Filter{Limit: 70})
		if err != nil {
			t.Fatal(err)
		}
		for i := range some {
			if _, err := to.Append(t.Context(), []amp.Record{some[i].Record}); err != nil {
				t.Fatal(err)
			}
		}
		head, n, err := ssot.Copy(t.Context(), c, to, nil)
		if err != nil || head != want || n != int(want.Seq)-70 {
			t.Errorf("%s: %d entries were stored and the head is %v, want %v (%v)", name, n, head, want, err)
		}
	}
}

// A hostile clone is bad input: it is refused, in bounded time and memory, and nothing outside of it is read.
func TestOpen_hostile(t *testing.T) {
	t.Parallel()
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(dir string) error{
		"a link out": func(dir string) error {
			file := filepath.Join(dir, "entries/000000/000/000000000001.jsonl")
			return firstErr(os.Remove(file), os.Symlink(outside, file))
		},
		"a pipe": func(dir string) error { return pipe(filepath.Join(dir, "entries/000000/000/000000000006.jsonl")) },
		"a strange name": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "entries/000000/000/..jsonl"), nil, 0o600)
		},
		"a file too large": func(dir string) error {
			return os.Truncate(filepath.Join(dir, "entries/000000/000/000000000001.jsonl"), 1<<40)
		},
		"a folder as a file": func(dir string) error {
			return os.Mkdir(filepath.Join(dir, "entries/000000/000/000000000006.jsonl"), 0o700)
		},
		"a head too large": func(dir string) error { return os.Truncate(filepath.Join(dir, "head.json"), 1<<40) },
		"an entry twice": func(dir string) error {
			file := filepath.Join(dir, "entries/000000/000/000000000001.jsonl")
			data, err := os.ReadFile(file)
			line, _, _ := bytes.Cut(data, []byte{'\n'})
			return firstErr(err, os.WriteFile(file, append(append(line, '\n'), data...), 0o600))
		},
		"no line end": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "entries/000000/000/000000000006.jsonl"), []byte("{"), 0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.grow(5)
			w.push(w.mirror())
			dir := w.unpack()
			if err := spoil(dir); err != nil {
				t.Fatal(err)
			}
			r, err := github.Compare(t.Context(), w.log, w.open(dir), github.Checks{})
			if err == nil && r.Difference == nil && name != "a folder as a file" {
				t.Error("it was taken")
			}
			if name == "a folder as a file" {
				return // empty, so that it holds nothing
			}
			if _, err := w.open(dir).Missing(t.Context(), nil); err == nil {
				t.Error("it was taken for an import")
			}
		})
	}
}

func firstErr(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// The configuration of a clone starts no program, whatever it names.
func TestOpen_configuration(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.grow(5)
	w.push(w.mirror())
	dir := w.clone()
	ran := filepath.Join(t.TempDir(), "ran")
	for _, key := range []string{"core.fsmonitor", "core.pager", "core.sshCommand", "diff.external", "core.askPass", "credential.helper", "core.editor", "uploadpack.packObjectsHook"} {
		git(t, "-C", dir, "config", key, "touch "+ran)
	}
	git(t, "-C", dir, "config", "remote.origin.promisor", "true")
	git(t, "-C", dir, "config", "remote.origin.url", "ext::touch "+ran)
	git(t, "-C", dir, "config", "protocol.ext.allow", "always")
	if r := w.report(dir, github.Checks{Known: strings.Repeat("ab", 20), KnownSeq: 5}); r.Difference == nil {
		t.Error("a commit that is nowhere was found")
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("a program of the clone's configuration ran")
	}
}

// What was mirrored at any moment is right: tasks, stops and thaws at random, with new starts and failures between.
func TestMirror_states(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2) {
		w := newWorld(t)
		r := rand.New(rand.NewPCG(seed, 9))
		at := time.Date(2026, 2, 26, 9, 0, 0, 0, time.UTC)
		m := w.mirror()
		for i := range 8 {
			var records []amp.Record
			for j := range 15 {
				at = at.Add(time.Second)
				records = append(records, ssottest.Any(r, strings.Repeat("x", i)+"-"+string(rune('a'+j)), at))
			}
			if i%3 == 1 {
				records = append(records, ssottest.Everything("stop"+string(rune('a'+i)), amp.StopAll, at))
			}
			if i%3 == 2 {
				records = append(records, ssottest.Everything("thaw"+string(rune('a'+i)), amp.Thaw, at.Add(time.Hour)))
			}
			if _, err := w.log.Append(t.Context(), records); err != nil {
				t.Fatal(err)
			}
			if r.IntN(2) == 0 {
				m = w.mirror()
			}
			w.push(m)
			if rep := w.report(w.unpack(), github.Checks{}); rep.Difference != nil {
				t.Fatalf("seed %d, turn %d: %v", seed, i, rep.Difference)
			}
		}
	}
}

// A clone that ends before what was seen in the mirror is older, unless it was made just now: then the mirror was set back.
func TestCompare_setBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.grow(3)
	m := w.mirror()
	w.push(m)
	old := w.repo.Head("main")
	w.grow(2)
	w.push(m)
	known := github.Checks{Known: w.repo.Head("main"), KnownSeq: 5}
	if err := w.repo.SetHead("main", old); err != nil {
		t.Fatal(err)
	}
	if r := w.report(w.clone(), known); r.Difference != nil || !strings.Contains(strings.Join(r.Notes, "\n"), "the clone is older, or the mirror was set back") {
		t.Errorf("a clone that may be older: %+v", r)
	}
	known.Current = true
	if r := w.report(w.clone(), known); r.Difference == nil || !strings.Contains(r.Difference.What, "had reached entry 5 and ends at 3 now") {
		t.Errorf("a mirror that was set back: %+v", r)
	}
}

// While the files of many tasks are on their way in several commits, some are of a later entry than head.json says of all: that is no difference,
// and what is of neither is one.
func TestCompare_tasksUnderWay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.task(1)
	m := w.mirror()
	w.push(m)
	w.append(ssottest.Note("n", ssottest.Task(1), "later"), ssottest.Propose("p", ssottest.Task(1), "another plan"))
	w.push(m)
	dir := w.unpack()
	head := filepath.Join(dir, "head.json")
	data, err := os.ReadFile(head)
	if err != nil {
		t.Fatal(err)
	}
	data = bytes.Replace(data, []byte(`"tasks_seq": 4`), []byte(`"tasks_seq": 2`), 1)
	if err := os.WriteFile(head, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if r := w.report(dir, github.Checks{}); r.Difference != nil || r.Tasks != 1 {
		t.Errorf("a file of a later entry: %+v", r)
	}
	if err := os.WriteFile(filepath.Join(dir, "tasks/2026/000/T-2026-001.json"), []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := w.report(dir, github.Checks{}); r.Difference == nil {
		t.Error("a file of neither is taken")
	}
}
