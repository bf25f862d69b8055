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
	if _, err := ssot.Export(f.Context(), log, &out, amp.Filter{}); err != nil {
		f.Fatal(err)
	}
	f.Add(out.Bytes())
	f.Add([]byte(strings.SplitAfter(out.String(), "\n")[0]))
	f.Add([]byte("{}\n"))
	f.Add([]byte("\n\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		to := memory.New()
		n, err := ssot.Import(t.Context(), to, bytes.NewReader(data))
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
		if _, err := ssot.Export(t.Context(), to, &out, amp.Filter{}); err != nil {
			t.Fatal(err)
		}
		again := memory.New()
		if _, err := ssot.Import(t.Context(), again, &out); err != nil {
			t.Fatal(err)
		}
		if h, err := again.Head(t.Context()); err != nil || h != head {
			t.Fatalf("imported again: head %v, %v; want %v", h, err, head)
		}
	})
}
