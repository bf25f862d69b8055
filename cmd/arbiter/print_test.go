package main

import (
	"bytes"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"
)

// Whatever the cells hold, a row is one line of visible text, and columns begin at the same cell.
func TestTable_isAlignedAndSafe(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		rows := rapid.SliceOfN(rapid.SliceOfN(rapid.String(), 3, 3), 1, 5).Draw(r, "rows")
		var out bytes.Buffer
		a, tab := &app{stdout: &out}, &table{}
		for _, row := range rows {
			tab.add(row[0], "|"+row[1], "|end")
		}
		tab.print(a)
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		if len(lines) != len(rows) {
			r.Fatalf("%d lines for %d rows:\n%q", len(lines), len(rows), out.String())
		}
		at := -1
		for _, l := range lines {
			i := strings.LastIndex(l, "|end")
			if i < 0 {
				r.Fatalf("a cell is lost in %q", l)
			}
			if w := ansi.StringWidth(l[:i]); at < 0 {
				at = w
			} else if w != at {
				r.Fatalf("the last column begins at %d and at %d:\n%s", at, w, out.String())
			}
			for _, c := range l {
				if c < ' ' || c >= 0x7f && c < 0xa0 {
					r.Fatalf("control character %U in %q", c, l)
				}
			}
		}
	})
}

func TestAgo(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_000_000, 0)
	for d, want := range map[time.Duration]string{
		-time.Second: "now", 0: "0s", 59 * time.Second: "59s", time.Minute: "1m", 59 * time.Minute: "59m", time.Hour: "1h00m",
		26*time.Hour + 5*time.Minute: "26h05m", 72 * time.Hour: "3d",
	} {
		if got := ago(now.Add(-d), now); got != want {
			t.Errorf("ago(%v) = %q, want %q", d, got, want)
		}
	}
}

// A standard output that takes nothing is a failure, not success.
func TestOut_error(t *testing.T) {
	sandboxed(t)
	var errs bytes.Buffer
	code := run([]string{"schema"}, strings.NewReader(""), fullDisk{}, &errs)
	if code != exitFailed || !strings.Contains(errs.String(), "write to standard output") {
		t.Errorf("code %d, standard error %q", code, errs.String())
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errNoSpace }

var errNoSpace = syscall.ENOSPC
