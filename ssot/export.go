package ssot

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"hash"
	"io"
	"time"

	"github.com/go-json-experiment/json"

	"arbiter/amp"
)

// Part says which entries of a journal an export holds; the zero value is all of them.
type Part struct {
	Task amp.TaskID `json:"task,omitzero"`
	// After leaves out the entries up to this seq.
	After uint64 `json:"after,omitzero"`
	// Since and Until bound when entries were written: not before Since, and before Until.
	Since time.Time `json:"since,omitzero"`
	Until time.Time `json:"until,omitzero"`
}

// filter selects the entries of the part.
func (p Part) filter() amp.Filter {
	f := amp.Filter{TaskID: p.Task, After: p.After, Limit: MaxPage}
	if !p.Since.IsZero() || !p.Until.IsZero() {
		f.Search = &amp.Search{Since: p.Since, Until: p.Until}
	}
	return f
}

// ExportEnd is the last line of an export: what the file has to hold, so that one that was cut off or thinned out is found out.
type ExportEnd struct {
	// Export is the version of the form, [ExportForm].
	Export string `json:"export"`
	// Part is absent in an export of a whole journal.
	Part Part `json:"part,omitzero"`
	// Entries is how many there are, First and Last the seqs of the first and the last one.
	Entries int    `json:"entries"`
	First   uint64 `json:"first,omitzero"`
	Last    uint64 `json:"last,omitzero"`
	// Sum is the SHA-256 of the hashes of all entries in the file, one after the other.
	Sum amp.Hash `json:"sum"`
	// Head is the journal's head when the export ended: of a whole export its last entry.
	Head amp.Head `json:"head"`
}

// ExportForm is the form that [Export] writes.
const ExportForm = "arbiter/1"

// endMark begins the last line of an export, and no other one.
var endMark = []byte(`{"export":`)

// Whole reports whether the export holds all entries of its journal up to its head.
func (x *ExportEnd) Whole() bool { return x.Part == Part{} }

// Export writes the entries of a part as JSON Lines, one entry per line and ascending by seq, and an [ExportEnd] as the last line.
// It holds two pages of entries in memory, and reads in short statements, so that it never holds up a writer. progress, if not nil,
// is called after each page with the seq reached and the last one.
func Export(ctx context.Context, log Log, w io.Writer, p Part, progress func(done, total uint64)) (ExportEnd, error) {
	x := exporter{out: bufio.NewWriterSize(w, 1<<16), tally: newTally()}
	err := pages(ctx, log, p.filter(), func(page []amp.Entry) error {
		for i := range page {
			if err := x.entry(&page[i]); err != nil {
				return fmt.Errorf("export entry %d: %w", page[i].Seq, err)
			}
		}
		if progress == nil {
			return nil
		}
		head, err := log.Head(ctx)
		if err == nil {
			progress(max(x.head.Seq, p.After), head.Seq)
		}
		return err
	})
	if err != nil {
		return x.end, err
	}
	x.end.Part = p
	if x.end.Head = x.head; !x.end.Whole() {
		var err error
		if x.end.Head, err = log.Head(ctx); err != nil {
			return x.end, err
		}
	}
	return x.end, x.finish()
}

// exporter writes one export.
type exporter struct {
	out *bufio.Writer
	tally
	end ExportEnd
}

func (x *exporter) entry(e *amp.Entry) error {
	line, err := e.MarshalJSON()
	if err != nil {
		return err
	}
	x.count(e)
	_, err = x.out.Write(append(line, '\n'))
	return err
}

// finish writes the last line.
func (x *exporter) finish() error {
	x.end.Export, x.end.Entries, x.end.First, x.end.Last, x.end.Sum = ExportForm, x.n, x.first, x.head.Seq, x.sum()
	line, err := json.Marshal(&x.end, json.Deterministic(true))
	if err == nil && !bytes.HasPrefix(line, endMark) {
		err = fmt.Errorf("its last line begins with %.20s", line)
	}
	if err == nil {
		_, err = x.out.Write(append(line, '\n'))
	}
	if err != nil {
		return fmt.Errorf("end the export: %w", err)
	}
	return x.out.Flush()
}

// tally counts the entries of an export.
type tally struct {
	n     int
	first uint64
	head  amp.Head // the last entry
	all   hash.Hash
}

func newTally() tally { return tally{all: sha256.New()} }

func (t *tally) count(e *amp.Entry) {
	if t.n == 0 {
		t.first = e.Seq
	}
	t.n++
	t.head = amp.Head{Seq: e.Seq, Hash: e.Hash}
	t.all.Write(e.Hash[:])
}

func (t *tally) sum() (h amp.Hash) {
	t.all.Sum(h[:0])
	return h
}
