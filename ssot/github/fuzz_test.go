package github_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"arbiter/amp"
	"arbiter/ssot"
	"arbiter/ssot/github"
	"arbiter/ssot/memory"
)

// A line of a segment is refused or means one thing: what it decodes to encodes to something that decodes to the same.
func FuzzLine(f *testing.F) {
	e := amp.Head{}.Chain(bus("one", `{"a":1}`))
	line, err := e.MarshalJSON()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(line)
	f.Add([]byte(`{"withheld":"aws-key","bytes":7,"seq":1,"kind":"bus","actor":"a","at":"2026-02-26T09:00:00.000Z","id":"x","prev_hash":"` + e.PrevHash.String() +
		`","hash":"` + e.Hash.String() + `"}`))
	f.Add([]byte(`{"withheld":"x","seq":18446744073709551615}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		once, seq, err := github.DecodeLine(data)
		if err != nil {
			return
		}
		twice, again, err := github.DecodeLine(once)
		if err != nil || seq == 0 || again != seq || !bytes.Equal(once, twice) {
			t.Errorf("%q became %q, then %q (%v)", data, once, twice, err)
		}
	})
}

func FuzzHead(f *testing.F) {
	f.Add([]byte(`{"mirror":"arbiter-mirror/1","seq":0,"hash":"` + amp.Hash{}.String() + `","tasks_seq":0,"version":"","begun":1}`))
	f.Add([]byte(`{"mirror":"arbiter-mirror/1","seq":3,"hash":"` + amp.Hash{1}.String() +
		`","at":"2026-02-26T09:00:00Z","tasks_seq":2,"version":"1","begun":2,"withheld":[{"seq":1,"rule":"r"}],"withheld_count":1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		once, err := github.DecodeHead(data)
		if err != nil {
			return
		}
		if twice, err := github.DecodeHead(once); err != nil || !bytes.Equal(once, twice) {
			t.Errorf("%q became %q, then %q (%v)", data, once, twice, err)
		}
	})
}

// A folder with any head and any segments is compared and imported without harm: what is taken is a journal.
func FuzzClone(f *testing.F) {
	f.Add([]byte("{}"), []byte("{}\n"), []byte("{}"))
	e := amp.Head{}.Chain(bus("one", `{"a":1}`))
	line, err := e.MarshalJSON()
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(`{"mirror":"arbiter-mirror/1","seq":1,"hash":"`+e.Hash.String()+`","tasks_seq":1,"version":"","begun":1}`), append(line, '\n'), []byte("{}"))
	f.Fuzz(func(t *testing.T, head, segment, task []byte) {
		dir := t.TempDir()
		for name, data := range map[string][]byte{"head.json": head, github.SegmentPath(1): segment, github.TaskPath("T-2026-001"): task} {
			file := filepath.Join(dir, filepath.FromSlash(name))
			if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		c, err := github.Open(t.Context(), dir, "")
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		log := memory.New()
		if _, err := github.Compare(t.Context(), log, c, github.Checks{}); err != nil {
			return
		}
		if missing, err := c.Missing(t.Context(), nil); err != nil || missing != nil {
			return
		}
		if _, _, err := ssot.Copy(t.Context(), c, log, nil); err != nil {
			t.Errorf("what was found to be whole cannot be stored: %v", err)
		}
	})
}

// A path that is named after an entry or a task stays in its folder.
func FuzzPath(f *testing.F) {
	f.Add("T-2026-001")
	f.Add("../../x")
	f.Fuzz(func(t *testing.T, id string) {
		if path := github.TaskPath(amp.TaskID(id)); !filepath.IsLocal(path) || path != filepath.Clean(path) || len(path) > 120 {
			t.Errorf("task %q lies at %q", id, path)
		}
		if seq := github.SeqOf(id); seq != 0 && github.SegmentPath(seq) != id && len(id) < 30 {
			t.Errorf("%q is taken for the file of entry %d", id, seq)
		}
	})
}

// A scanner takes any bytes, and finds a configured secret whatever stands around it.
func FuzzScanner(f *testing.F) {
	f.Add([]byte(`{"a":"\u0041\\u0042`), []byte(" text"))
	f.Fuzz(func(t *testing.T, before, after []byte) {
		scan := github.NewScanner([]github.Known{{Name: "k", Value: "a secret of ours"}}, nil)
		if len(scan.Find([]byte(string(before)+"a secret of ours"+string(after)))) == 0 {
			t.Error("it is not found")
		}
	})
}
