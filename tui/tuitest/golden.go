package tuitest

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/charmbracelet/x/exp/golden"
	"github.com/google/go-cmp/cmp"
)

// The flag -update belongs to x/exp/golden, which other packages of this module use too: a second definition
// would panic, so that package is linked and the flag looked up.
var _ = golden.RequireEqual[string]

// Updating reports whether the tests run with -update.
func Updating() bool {
	f := flag.Lookup("update")
	return f != nil && f.Value.String() == "true"
}

// Golden compares the screen, text and styles, with testdata/golden/<name>.golden of the package under test;
// with -update it writes the file instead. A screen is waited for until nothing on it is being read.
func Golden(tb testing.TB, name string, t interface{ Snapshot() string }) {
	tb.Helper()
	if s, ok := t.(*Screen); ok {
		for _, word := range []string{"reading …", "reading ~"} {
			s.WaitGone(word)
		}
	}
	GoldenText(tb, name, t.Snapshot())
}

// GoldenText is [Golden] for a text.
func GoldenText(tb testing.TB, name, got string) {
	tb.Helper()
	file := filepath.Join("testdata", "golden", filepath.FromSlash(name)+".golden")
	if Updating() {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			tb.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		tb.Fatalf("%v; run the test with -update and review the file", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		tb.Errorf("the screen differs from %s (-want +got):\n%s", file, diff)
	}
}

// Draw returns a terminal of w by h cells that shows a frame: for goldens of what needs no program.
func Draw(tb testing.TB, frame string, w, h int) *Terminal {
	tb.Helper()
	t := NewTerminal(w, h, discard{})
	tb.Cleanup(t.Close)
	rows := 0
	for i, line := range strings.Split(frame, "\n") {
		if i > 0 {
			_, _ = t.Write([]byte("\r\n"))
		}
		_, _ = t.Write([]byte(line))
		rows++
	}
	if rows != h {
		tb.Errorf("the frame has %d rows, not %d", rows, h)
	}
	return t
}
