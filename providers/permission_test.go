package providers_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"arbiter/amp"
	"arbiter/providers"
)

// TestResolved: a link inside the folder that leads out of it is outside.
func TestResolved(t *testing.T) {
	t.Parallel()
	dir, out := t.TempDir(), t.TempDir()
	if err := os.Symlink(out, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	p := providers.Resolved(amp.Permission{Type: amp.PermitWrite, Paths: []string{"link/new/file", "plain/new", "../x"}}, dir)
	if below := providers.Resolved(amp.Permission{Paths: []string{"x"}, Dir: "plain"}, dir); below.Paths[0] != filepath.Join(dir, "plain/x") {
		t.Errorf("below its own folder: %q", below.Paths)
	}
	if p.Paths[1] != filepath.Join(dir, "plain/new") || strings.HasPrefix(p.Paths[0], dir+"/") || strings.HasPrefix(p.Paths[2], dir+"/") {
		t.Errorf("resolved = %q", p.Paths)
	}
}
