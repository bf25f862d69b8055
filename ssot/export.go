package ssot

import (
	"bufio"
	"context"
	"fmt"
	"io"

	"arbiter/amp"
)

// maxLine bounds one line of an import: a body of MaxBody bytes, each escaped, and its header.
const maxLine = 6*MaxBody + 1<<16

// Export writes the entries that the filter selects as JSON Lines, one entry per line, ascending by seq; Newest is not looked at
// and Limit is not capped: 0 means all of them. It returns how many it wrote.
func Export(ctx context.Context, log Log, w io.Writer, f amp.Filter) (n int, err error) {
	out := bufio.NewWriterSize(w, 1<<16)
	most := f.Limit
	f.Newest = false
	for most == 0 || n < most {
		if f.Limit = MaxPage; most > 0 {
			f.Limit = min(MaxPage, most-n)
		}
		page, err := log.Read(ctx, f)
		if err != nil {
			return n, fmt.Errorf("export the journal after entry %d: %w", f.After, err)
		}
		for _, e := range page {
			line, err := e.MarshalJSON()
			if err != nil {
				return n, fmt.Errorf("export entry %d: %w", e.Seq, err)
			}
			if _, err := out.Write(append(line, '\n')); err != nil {
				return n, fmt.Errorf("export entry %d: %w", e.Seq, err)
			}
			n++
			f.After = e.Seq
		}
		if len(page) < f.Limit {
			break
		}
	}
	return n, out.Flush()
}

// ImportError says which line of an import is wrong. The lines before it are stored.
type ImportError struct {
	Line int
	Why  string
}

// Error names the line and the reason.
func (e *ImportError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Why) }

// Import appends what [Export] wrote of a whole journal, and ends with the same head. Each entry's hash is verified before it is
// stored. The log is empty, or holds the beginning of the same journal, so that an import that was interrupted goes on; any
// other journal is refused before anything is stored. It returns how many entries it stored.
func Import(ctx context.Context, log Log, r io.Reader) (n int, err error) {
	stored, err := log.Head(ctx)
	if err != nil {
		return 0, err
	}
	in := bufio.NewScanner(r)
	in.Buffer(make([]byte, 1<<16), maxLine)
	var head amp.Head
	var batch []amp.Entry
	size := 0
	for line := 1; in.Scan(); line++ {
		var e amp.Entry
		if err := e.UnmarshalJSON(in.Bytes()); err != nil {
			return n, &ImportError{Line: line, Why: err.Error()}
		}
		if e.Seq != head.Seq+1 || e.PrevHash != head.Hash || e.Hash != e.Sum() {
			return n, &ImportError{Line: line, Why: fmt.Sprintf("entry %d does not follow entry %d with hash %s", e.Seq, head.Seq, head.Hash)}
		}
		head = amp.Head{Seq: e.Seq, Hash: e.Hash}
		if e.Seq <= stored.Seq {
			if e.Seq == stored.Seq && e.Hash != stored.Hash {
				return n, &ImportError{Line: line, Why: fmt.Sprintf("the log holds another journal: its entry %d has hash %s", e.Seq, stored.Hash)}
			}
			continue
		}
		batch, size = append(batch, e), size+len(e.Body)
		if len(batch) == 500 || size > 8<<20 {
			if err := importBatch(ctx, log, line, batch); err != nil {
				return n, err
			}
			n, batch, size = n+len(batch), batch[:0], 0
		}
	}
	if err := in.Err(); err != nil {
		return n, fmt.Errorf("read the import after entry %d: %w", head.Seq, err)
	}
	if head.Seq < stored.Seq {
		return n, fmt.Errorf("the import ends at entry %d, the log already holds %d", head.Seq, stored.Seq)
	}
	if err := importBatch(ctx, log, int(head.Seq), batch); err != nil {
		return n, err
	}
	return n + len(batch), nil
}

// importBatch stores entries whose last one stands in line.
func importBatch(ctx context.Context, log Log, line int, batch []amp.Entry) error {
	records := make([]amp.Record, len(batch))
	for i := range batch {
		records[i] = batch[i].Record
	}
	out, err := log.Append(ctx, records)
	if err != nil {
		return fmt.Errorf("import entries: %w", err)
	}
	for i, a := range out {
		at := line - len(batch) + 1 + i
		switch {
		case a.Err != nil:
			return &ImportError{Line: at, Why: a.Err.Error()}
		case a.Entry.Hash != batch[i].Hash:
			return &ImportError{Line: at, Why: fmt.Sprintf("it was stored as entry %d with hash %s: somebody else appends to the log",
				a.Entry.Seq, a.Entry.Hash)}
		}
	}
	return nil
}
