package ssot_test

import (
	"bytes"
	"strings"
	"testing"

	"arbiter/amp"
	"arbiter/ssot"
	"arbiter/ssot/memory"
	"arbiter/ssot/ssottest"
)

// FuzzImport imports any bytes: no panic, nothing stored that does not verify, and what was taken whole comes out as a journal
// with the same head.
func FuzzImport(f *testing.F) {
	log := memory.New()
	for _, r := range []amp.Record{
		ssottest.Submit("s", ssottest.Task(1)), ssottest.Raw("r", "", []byte{0xff, 0}),
		ssottest.Dispatch(ssottest.Task(1), ssottest.Start),
	} {
		if _, err := log.Append(f.Context(), []amp.Record{r}); err != nil {
			f.Fatal(err)
		}
	}
	var out bytes.Buffer
	if _, err := ssot.Export(f.Context(), log, &out, ssot.Part{}, nil); err != nil {
		f.Fatal(err)
	}
	f.Add(out.Bytes())
	f.Add([]byte(strings.SplitAfter(out.String(), "\n")[0]))
	f.Add([]byte("{}\n"))
	f.Add([]byte("\n\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		to := memory.New()
		n, err := ssot.Import(t.Context(), to, bytes.NewReader(data), nil)
		if e := ssottest.CheckJournal(t.Context(), to); e != nil {
			t.Fatal(e)
		}
		head, e := to.Head(t.Context())
		if e != nil || int(head.Seq) != n {
			t.Fatalf("%d entries are stored, %v; Import said %d, %v", head.Seq, e, n, err)
		}
		if err != nil {
			return
		}
		var out bytes.Buffer
		if _, err := ssot.Export(t.Context(), to, &out, ssot.Part{}, nil); err != nil {
			t.Fatal(err)
		}
		again := memory.New()
		if _, err := ssot.Import(t.Context(), again, bytes.NewReader(out.Bytes()), nil); err != nil {
			t.Fatal(err)
		}
		if h, err := again.Head(t.Context()); err != nil || h != head {
			t.Fatalf("imported again: head %v, %v; want %v", h, err, head)
		}
	})
}

// FuzzVerifyExport verifies any bytes as an export: no panic, and what verifies has only entries whose hash is theirs, in order.
func FuzzVerifyExport(f *testing.F) {
	log, lines := journal(f, 7)
	f.Add([]byte(strings.Join(lines, "")))
	f.Add([]byte(strings.Join(export(f, log, ssot.Part{Task: ssottest.Task(2)}), "")))
	f.Add([]byte(strings.Join(export(f, log, ssot.Part{After: 3}), "")))
	f.Add([]byte(`{"export":"arbiter/1","entries":0,"sum":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855","head":{}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := ssot.VerifyExport(t.Context(), bytes.NewReader(data), nil)
		if err != nil {
			return
		}
		n, last := 0, uint64(0)
		for line := range bytes.Lines(data) {
			if bytes.HasPrefix(line, []byte(`{"export":`)) {
				break
			}
			var e amp.Entry
			if err := e.UnmarshalJSON(bytes.TrimSuffix(line, []byte("\n"))); err != nil || e.Sum() != e.Hash || e.Seq <= last {
				t.Fatalf("a line that verified after entry %d: %q, %v", last, line, err)
			}
			last = e.Seq
			n++
		}
		if n != r.Entries || last != r.Last || uint64(n)+r.Missing != r.Head.Seq {
			t.Fatalf("%d entries up to %d, the report says %+v", n, last, r)
		}
	})
}
