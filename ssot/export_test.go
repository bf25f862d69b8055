package ssot_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"arbiter/amp"
	"arbiter/ssot"
	"arbiter/ssot/memory"
	"arbiter/ssot/ssottest"
)

// journal is a log of n facts, a second apart, and its export line by line.
func journal(t testing.TB, n int) (*memory.Log, []string) {
	t.Helper()
	log := memory.New()
	for i := range n {
		r := ssottest.Raw(fmt.Sprintf("r%d", i), ssottest.Task(1+i%3), []byte{byte(i), 0xff, '\n'})
		if i%2 == 0 {
			r = ssottest.Submit(fmt.Sprintf("s%d", i), ssottest.Task(1+i%3))
		}
		r.At = ssottest.Start.Add(time.Duration(i) * time.Second)
		appendTo(t, log, r)
	}
	return log, export(t, log, ssot.Part{})
}

func appendTo(t testing.TB, log ssot.Log, r amp.Record) {
	t.Helper()
	if out, err := log.Append(t.Context(), []amp.Record{r}); err != nil || out[0].Err != nil {
		t.Fatalf("Append = %+v, %v", out, err)
	}
}

func export(t testing.TB, log ssot.Log, p ssot.Part) []string {
	t.Helper()
	var out bytes.Buffer
	if _, err := ssot.Export(t.Context(), log, &out, p, nil); err != nil {
		t.Fatal(err)
	}
	return strings.SplitAfter(strings.TrimSuffix(out.String(), "\n"), "\n")
}

func reader(lines []string) *strings.Reader { return strings.NewReader(strings.Join(lines, "")) }

func head(t testing.TB, log ssot.Log) amp.Head {
	t.Helper()
	h, err := log.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// begun is a log with the first n entries of another.
func begun(t *testing.T, log ssot.Log, n int) *memory.Log {
	t.Helper()
	to := memory.New()
	all, err := ssottest.All(t.Context(), log)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all[:n] {
		appendTo(t, to, e.Record)
	}
	return to
}

func TestImport_sameHead(t *testing.T) {
	t.Parallel()
	log, lines := journal(t, 1234)
	for name, before := range map[string]int{"empty": 0, "begun": 700, "there": 1234} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			to, copied := begun(t, log, before), begun(t, log, before)
			n, err := ssot.Import(t.Context(), to, reader(lines), nil)
			if err != nil || n != 1234-before || head(t, to) != head(t, log) {
				t.Errorf("Import = %d, %v, head %v; want %d and head %v", n, err, head(t, to), 1234-before, head(t, log))
			}
			h, n, err := ssot.Copy(t.Context(), log, copied, nil)
			if err != nil || n != 1234-before || h != head(t, log) || head(t, copied) != h {
				t.Errorf("Copy = %v, %d, %v, head %v; want %d and head %v", h, n, err, head(t, copied), 1234-before, head(t, log))
			}
			for _, l := range []ssot.Log{to, copied} {
				if err := ssottest.CheckJournal(t.Context(), l); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// Any journal comes out of an export, of a copy, and of an import and a copy that died anywhere, with its head.
func TestExport_property(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		log := memory.New()
		rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(r, "seed"), 0))
		n := rapid.IntRange(0, 700).Draw(r, "entries")
		for i := range n {
			f := ssottest.Any(rnd, fmt.Sprint("f", i), ssottest.Start.Add(time.Duration(i)*time.Second))
			if rnd.IntN(8) == 0 {
				body := make([]byte, rnd.IntN(40))
				for k := range body {
					body[k] = byte(rnd.Uint32())
				}
				f = ssottest.Raw(fmt.Sprint("raw\n\u2028", i), "", body)
			}
			appendTo(t, log, f)
		}
		lines := export(t, log, ssot.Part{})
		if report, err := ssot.VerifyExport(t.Context(), reader(lines), nil); err != nil || !report.Whole() || report.Entries != n || report.Head != head(t, log) {
			r.Fatalf("VerifyExport = %+v, %v", report, err)
		}
		dead := errors.New("the process died")
		at := rapid.IntRange(1, 2).Draw(r, "dies")
		for name, take := range map[string]func(ssot.Log) error{
			"import": func(to ssot.Log) error { _, err := ssot.Import(t.Context(), to, reader(lines), nil); return err },
			"copy":   func(to ssot.Log) error { _, _, err := ssot.Copy(t.Context(), log, to, nil); return err },
		} {
			for _, plan := range []ssottest.Plan{{FailBefore: map[int]error{at: dead}, Dead: true}, {FailAfter: map[int]error{at: dead}, Dead: true}} {
				to := memory.New()
				flaky := ssottest.Flaky(to, plan)
				if err := take(flaky); err != nil && !errors.Is(err, dead) || err == nil && flaky.Appends() >= at {
					r.Fatalf("%s: %v after %d appends", name, err, flaky.Appends())
				}
				if err := take(to); err != nil || head(t, to) != head(t, log) {
					r.Fatalf("%s, once more: %v, head %v, want %v", name, err, head(t, to), head(t, log))
				}
				if err := ssottest.CheckJournal(t.Context(), to); err != nil {
					r.Fatal(err)
				}
			}
		}
	})
}

func TestImport_refused(t *testing.T) {
	t.Parallel()
	log, lines := journal(t, 20)
	change := func(i int, old, new string) []string {
		out := append([]string(nil), lines...)
		if out[i] = strings.Replace(out[i], old, new, 1); out[i] == lines[i] {
			t.Fatalf("line %d has no %q", i, old)
		}
		return out
	}
	without := func(from, to int) []string { return append(append([]string(nil), lines[:from]...), lines[to:]...) }
	swapped := append([]string(nil), lines...)
	swapped[4], swapped[5] = swapped[5], swapped[4]
	for name, c := range map[string]struct {
		lines []string
		line  int
	}{
		"empty":       {nil, 1},
		"no_json":     {append([]string{"{\n"}, lines...), 1},
		"empty_line":  {append([]string{"\n"}, lines...), 1},
		"changed":     {change(8, "Hello", "hello"), 9},
		"actor":       {change(3, "bus", "bot"), 4},
		"removed":     {without(6, 7), 7},
		"swapped":     {swapped, 6},
		"without_top": {lines[1:], 1},
		"cut_off":     {lines[:20], 21},
		"shortened":   {without(18, 20), 19},
		"torn":        {append(append([]string(nil), lines[:19]...), lines[19][:30]), 20},
		"torn_end":    {append(append([]string(nil), lines[:20]...), lines[20][:30]), 21},
		"behind":      {append(append([]string(nil), lines...), "\n", lines[0]), 22},
		"trailing":    {append([]string{strings.TrimSuffix(lines[0], "\n") + "{}\n"}, lines[1:]...), 1},
		"end_count":   {change(20, `"entries":20`, `"entries":21`), 21},
		"end_form":    {change(20, "arbiter/1", "arbiter/2"), 21},
		"end_head":    {change(20, `"head":{"seq":20`, `"head":{"seq":19`), 21},
		"end_more":    {change(20, `"entries":20`, `"entries":20,"note":"x"`), 21},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			to := memory.New()
			n, err := ssot.Import(t.Context(), to, reader(c.lines), nil)
			if e, ok := errors.AsType[*ssot.LineError](err); !ok || e.Line != c.line {
				t.Errorf("Import = %d, %v; want an error in line %d", n, err, c.line)
			}
			_, err = ssot.VerifyExport(t.Context(), reader(c.lines), nil)
			if e, ok := errors.AsType[*ssot.LineError](err); !ok || e.Line != c.line {
				t.Errorf("VerifyExport: %v; want an error in line %d", err, c.line)
			}
			if n != 0 || head(t, to).Seq != 0 {
				t.Errorf("%d entries are stored, Import said %d", head(t, to).Seq, n)
			}
		})
	}
	t.Run("part", func(t *testing.T) {
		t.Parallel()
		for _, p := range []ssot.Part{{Task: ssottest.Task(1)}, {After: 3}, {Until: ssottest.Start.Add(5 * time.Second)}} {
			to := memory.New()
			if n, err := ssot.Import(t.Context(), to, reader(export(t, log, p)), nil); !errors.Is(err, ssot.ErrPart) || n != 0 || head(t, to).Seq != 0 {
				t.Errorf("Import of %+v = %d, %v", p, n, err)
			}
		}
	})
	t.Run("other_journal", func(t *testing.T) {
		t.Parallel()
		to := memory.New()
		appendTo(t, to, ssottest.Note("mine", "", ""))
		before := head(t, to)
		if n, err := ssot.Import(t.Context(), to, reader(lines), nil); !errors.Is(err, ssot.ErrOther) || n != 0 || head(t, to) != before {
			t.Errorf("Import into another journal = %d, %v", n, err)
		}
		if _, n, err := ssot.Copy(t.Context(), log, to, nil); !errors.Is(err, ssot.ErrOther) || n != 0 || head(t, to) != before {
			t.Errorf("Copy into another journal = %d, %v", n, err)
		}
	})
	t.Run("longer", func(t *testing.T) {
		t.Parallel()
		to := begun(t, log, 20)
		appendTo(t, to, ssottest.Note("more", "", ""))
		if _, err := ssot.Import(t.Context(), to, reader(lines), nil); !errors.Is(err, ssot.ErrOther) {
			t.Errorf("an import that ends before the log does: %v", err)
		}
		if _, _, err := ssot.Copy(t.Context(), log, to, nil); !errors.Is(err, ssot.ErrOther) {
			t.Errorf("a copy that ends before the log does: %v", err)
		}
	})
	t.Run("unknown_kind", func(t *testing.T) { // as from a newer version: nothing is stored of it
		t.Parallel()
		at := head(t, log)
		e := at.Chain(amp.Record{Kind: "dream", ID: "new", At: ssottest.Start, Role: amp.System, Actor: "later"})
		text, err := e.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		more := append(append([]string(nil), lines[:20]...), string(text)+"\n", lines[20])
		to := memory.New()
		n, err := ssot.Import(t.Context(), to, reader(more), nil)
		if x, ok := errors.AsType[*ssot.LineError](err); !ok || x.Line != 21 || n != 0 || head(t, to).Seq != 0 {
			t.Errorf("Import = %d, %v, head %v", n, err, head(t, to))
		}
	})
}

func TestExport_parts(t *testing.T) {
	t.Parallel()
	log, _ := journal(t, 2500)
	second := func(n int) time.Time { return ssottest.Start.Add(time.Duration(n) * time.Second) }
	for name, c := range map[string]struct {
		p    ssot.Part
		want int
		gaps []ssot.Gap // the first ones
		n    int
	}{
		"all":    {ssot.Part{}, 2500, nil, 0},
		"after":  {ssot.Part{After: 1000}, 1500, []ssot.Gap{{1, 1000}}, 1},
		"task":   {ssot.Part{Task: ssottest.Task(2)}, 833, []ssot.Gap{{1, 1}, {3, 4}}, 834},
		"since":  {ssot.Part{Since: second(2000)}, 500, []ssot.Gap{{1, 2000}}, 1},
		"until":  {ssot.Part{Until: second(10)}, 10, []ssot.Gap{{11, 2500}}, 1},
		"within": {ssot.Part{Since: second(5), Until: second(7)}, 2, []ssot.Gap{{1, 5}, {8, 2500}}, 2},
		"none":   {ssot.Part{Task: "T-2026-999"}, 0, []ssot.Gap{{1, 2500}}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lines := export(t, log, c.p)
			if len(lines) != c.want+1 {
				t.Fatalf("%d lines, want %d entries and the end", len(lines), c.want)
			}
			r, err := ssot.VerifyExport(t.Context(), reader(lines), nil)
			if err != nil || r.Entries != c.want || r.Head != head(t, log) || r.GapCount != c.n || r.Missing != uint64(2500-c.want) {
				t.Fatalf("VerifyExport = %+v, %v", r.ExportEnd, err)
			}
			if len(r.Gaps) > 50 || len(r.Gaps) < len(c.gaps) || len(c.gaps) > 0 && !reflect.DeepEqual(r.Gaps[:len(c.gaps)], c.gaps) {
				t.Errorf("gaps %v, want %v", r.Gaps, c.gaps)
			}
			if c.want < 3 {
				return
			}
			thinned := append(append([]string(nil), lines[:1]...), lines[2:]...)
			if _, err := ssot.VerifyExport(t.Context(), reader(thinned), nil); err == nil {
				t.Error("an export without its second entry verifies")
			}
		})
	}
	t.Run("other_part", func(t *testing.T) { // the last line tells of a part that the entries are not in
		t.Parallel()
		of := export(t, log, ssot.Part{Task: ssottest.Task(2)})
		of[len(of)-1] = strings.Replace(of[len(of)-1], string(ssottest.Task(2)), string(ssottest.Task(1)), 1)
		since := export(t, log, ssot.Part{Since: second(2000)})
		since[len(since)-1] = strings.Replace(since[len(since)-1], ":33:20Z", ":34:20Z", 1)
		for _, lines := range [][]string{of, since} {
			if _, err := ssot.VerifyExport(t.Context(), reader(lines), nil); err == nil || !strings.Contains(err.Error(), "part") {
				t.Errorf("VerifyExport of another part: %v; %s", err, lines[len(lines)-1])
			}
		}
	})
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
	if _, err := ssot.Export(t.Context(), log, &room, ssot.Part{}, nil); err == nil {
		t.Error("an export that could not be written succeeded")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := ssot.Export(ctx, log, &bytes.Buffer{}, ssot.Part{}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled export: %v", err)
	}
}
