package ssot_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"arbiter/amp"
	"arbiter/ssot"
	"arbiter/ssot/memory"
	"arbiter/ssot/ssottest"
)

// journal is a log of n facts and its export, line by line.
func journal(t *testing.T, n int) (*memory.Log, []string) {
	t.Helper()
	log := memory.New()
	for i := range n {
		r := ssottest.Raw(fmt.Sprintf("r%d", i), ssottest.Task(1+i%3), []byte{byte(i), 0xff, '\n'})
		if i%2 == 0 {
			r = ssottest.Submit(fmt.Sprintf("s%d", i), ssottest.Task(1+i%3))
		}
		if _, err := log.Append(t.Context(), []amp.Record{r}); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	if got, err := ssot.Export(t.Context(), log, &out, amp.Filter{}); err != nil || got != n {
		t.Fatalf("Export = %d, %v", got, err)
	}
	return log, strings.SplitAfter(strings.TrimSuffix(out.String(), "\n"), "\n")
}

func head(t *testing.T, log ssot.Log) amp.Head {
	t.Helper()
	h, err := log.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestImport_sameHead(t *testing.T) {
	t.Parallel()
	log, lines := journal(t, 1234)
	for name, before := range map[string]int{"empty": 0, "begun": 700, "there": 1234} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			to := memory.New()
			if n, err := ssot.Import(t.Context(), to, strings.NewReader(strings.Join(lines[:before], ""))); err != nil || n != before {
				t.Fatalf("Import of %d lines = %d, %v", before, n, err)
			}
			n, err := ssot.Import(t.Context(), to, strings.NewReader(strings.Join(lines, "")))
			if err != nil || n != len(lines)-before || head(t, to) != head(t, log) {
				t.Errorf("Import = %d, %v, head %v; want %d and head %v", n, err, head(t, to), len(lines)-before, head(t, log))
			}
			if err := ssottest.CheckJournal(t.Context(), to); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestImport_refused(t *testing.T) {
	t.Parallel()
	_, lines := journal(t, 20)
	_, other := journal(t, 3)
	other[0] = strings.Replace(other[0], "s0", "s9", 1)
	change := func(i int, old, new string) []string {
		out := append([]string(nil), lines...)
		if out[i] = strings.Replace(out[i], old, new, 1); out[i] == lines[i] {
			t.Fatalf("line %d has no %q", i, old)
		}
		return out
	}
	swapped := append([]string(nil), lines...)
	swapped[4], swapped[5] = swapped[5], swapped[4]
	for name, c := range map[string]struct {
		lines []string
		line  int
	}{
		"no_json":     {append([]string{"{\n"}, lines...), 1},
		"empty_line":  {append([]string{"\n"}, lines...), 1},
		"changed":     {change(8, "Hello", "hello"), 9},
		"actor":       {change(3, "bus", "bot"), 4},
		"removed":     {append(append([]string(nil), lines[:6]...), lines[7:]...), 7},
		"swapped":     {swapped, 5},
		"without_top": {lines[1:], 1},
		"trailing":    {append([]string{strings.TrimSuffix(lines[0], "\n") + "{}\n"}, lines[1:]...), 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			to := memory.New()
			n, err := ssot.Import(t.Context(), to, strings.NewReader(strings.Join(c.lines, "")))
			if e, ok := errors.AsType[*ssot.ImportError](err); !ok || e.Line != c.line {
				t.Errorf("Import = %d, %v; want an error in line %d", n, err, c.line)
			}
			if got := head(t, to).Seq; int(got) != n {
				t.Errorf("%d entries are stored, Import said %d", got, n)
			}
		})
	}
	t.Run("other_journal", func(t *testing.T) {
		t.Parallel()
		to := memory.New()
		if _, err := to.Append(t.Context(), []amp.Record{ssottest.Note("mine", "", "")}); err != nil {
			t.Fatal(err)
		}
		before := head(t, to)
		if n, err := ssot.Import(t.Context(), to, strings.NewReader(strings.Join(lines, ""))); err == nil || n != 0 || head(t, to) != before {
			t.Errorf("Import into another journal = %d, %v", n, err)
		}
	})
	t.Run("shorter", func(t *testing.T) {
		t.Parallel()
		to := memory.New()
		if _, err := ssot.Import(t.Context(), to, strings.NewReader(strings.Join(lines, ""))); err != nil {
			t.Fatal(err)
		}
		if _, err := ssot.Import(t.Context(), to, strings.NewReader(strings.Join(lines[:5], ""))); err == nil {
			t.Error("an import that ends before the log does was taken")
		}
	})
}

func TestExport_filter(t *testing.T) {
	t.Parallel()
	log, _ := journal(t, 2500)
	for name, c := range map[string]struct {
		f    amp.Filter
		want int
	}{
		"all":    {amp.Filter{}, 2500},
		"newest": {amp.Filter{Newest: true}, 2500},
		"after":  {amp.Filter{After: 1000}, 1500},
		"task":   {amp.Filter{TaskID: ssottest.Task(1)}, 834},
		"limit":  {amp.Filter{Limit: 1700}, 1700},
		"one":    {amp.Filter{Limit: 1, After: 7}, 1},
		"none":   {amp.Filter{ID: "nothing"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			n, err := ssot.Export(t.Context(), log, &out, c.f)
			if err != nil || n != c.want || strings.Count(out.String(), "\n") != c.want {
				t.Fatalf("Export = %d, %v; want %d", n, err, c.want)
			}
			last := uint64(0)
			for line := range strings.Lines(out.String()) {
				var e amp.Entry
				if err := e.UnmarshalJSON([]byte(line)); err != nil || e.Seq <= last || e.Sum() != e.Hash {
					t.Fatalf("line %q after entry %d: %v", line, last, err)
				}
				last = e.Seq
			}
		})
	}
}

// full is a writer that has room for a few bytes only.
type full int

func (f *full) Write(p []byte) (int, error) {
	if *f -= full(len(p)); *f < 0 {
		return 0, errors.New("no room")
	}
	return len(p), nil
}

func TestExport_failingWriter(t *testing.T) {
	t.Parallel()
	log, lines := journal(t, 50)
	room := full(len(lines[0]))
	if _, err := ssot.Export(t.Context(), log, &room, amp.Filter{}); err == nil {
		t.Error("an export that could not be written succeeded")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := ssot.Export(ctx, log, &bytes.Buffer{}, amp.Filter{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled export: %v", err)
	}
}
