package preterm_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	_ "arbiter/tui/preterm"
	"github.com/charmbracelet/lipgloss"
)

const guard = "arbiter/tui/preterm"

// asks are the packages whose import asks the terminal: Bubble Tea by itself, Bubbles through it.
func asks(path string) bool {
	return path == "github.com/charmbracelet/bubbletea" || strings.HasPrefix(path, "github.com/charmbracelet/bubbles")
}

// moduleRoot returns the folder of go.mod.
func moduleRoot(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			t.Fatal("there is no go.mod above this test")
		}
		dir = up
	}
}

// imports returns what each package of the module imports, by its folder, without its tests.
func imports(t *testing.T, root string) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if path != root && (strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata" || name == "vendor") {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		dir := filepath.Dir(path)
		for _, i := range f.Imports {
			p, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				return err
			}
			out[dir] = append(out[dir], p)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestEveryUserOfBubbleTeaIsGuarded: one package without the guard brings the stall of five seconds back to every
// command of the binary, because then Bubble Tea may be initialised before the guard is ready.
func TestEveryUserOfBubbleTeaIsGuarded(t *testing.T) {
	t.Parallel()
	users := 0
	for dir, paths := range imports(t, moduleRoot(t)) {
		if !slices.ContainsFunc(paths, asks) {
			continue
		}
		users++
		if !slices.Contains(paths, guard) {
			t.Errorf("%s imports Bubble Tea and not %s: add _ %q", dir, guard, guard)
		}
	}
	if users == 0 {
		t.Error("no package imports Bubble Tea: this test looks in the wrong place")
	}
}

// TestGuardIsReadyFirst: Go initialises what is ready in the order of import paths. The guard must import nothing
// that is initialised late, and its path must sort before Bubble Tea's.
func TestGuardIsReadyFirst(t *testing.T) {
	t.Parallel()
	root := moduleRoot(t)
	got := imports(t, root)[filepath.Join(root, "tui", "preterm")]
	if !slices.Equal(got, []string{"github.com/charmbracelet/lipgloss"}) {
		t.Errorf("the guard imports %v, want lipgloss alone", got)
	}
	if guard >= "github.com/charmbracelet/bubbletea" {
		t.Errorf("%s does not sort before Bubble Tea", guard)
	}
}

// TestLipglossStaysAtTheEdge: lipgloss asks a global renderer on each use; what is drawn often is drawn with the
// sequences of package theme.
func TestLipglossStaysAtTheEdge(t *testing.T) {
	t.Parallel()
	root := moduleRoot(t)
	for dir, paths := range imports(t, root) {
		rel, err := filepath.Rel(root, dir)
		if err != nil {
			t.Fatal(err)
		}
		if slices.Contains(paths, "github.com/charmbracelet/lipgloss") && rel != "tui/preterm" && rel != "tui/theme" {
			t.Errorf("%s imports lipgloss", rel)
		}
	}
}

func TestBackgroundIsKnown(t *testing.T) {
	t.Parallel()
	if !lipgloss.HasDarkBackground() {
		t.Error("the answer the guard gave is not the one lipgloss knows")
	}
}
