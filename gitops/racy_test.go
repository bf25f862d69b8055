package gitops

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestTree_racy: a file that was changed at the same size within the clock tick of the index is found all the same. Git looks at such
// a file's content because the index is not younger than the file; a copy of the index must not lose that.
func TestTree_racy(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.sh(b.repo, nil, "git", "config", "core.trustctime", "false") // the change time cannot be set, so it is left out
	b.sh(b.repo, nil, "git", "config", "core.checkStat", "minimal")
	w := b.space("T-2026-001")
	p := b.prepare(w, "turn-1")
	r, err := b.g.open(b.repo)
	if err != nil {
		t.Fatal(err)
	}
	wt := b.g.treeAt(r, p.Dir)
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	tick := func(name string) {
		t.Helper()
		if err := os.Chtimes(name, at, at); err != nil {
			t.Fatal(err)
		}
	}
	name := filepath.Join(p.Dir, "bin")
	b.write(p.Dir, "bin", "a\x00b")
	tick(name)
	b.sh(p.Dir, nil, "git", "add", "bin")
	tick(filepath.Join(wt.admin, "index"))
	before, err := wt.tree(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b.write(p.Dir, "bin", "a\x00c")
	tick(name)
	after, err := wt.tree(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if before == after {
		t.Error("a change within the tick of the index is not in the tree")
	}
}
