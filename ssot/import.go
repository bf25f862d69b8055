package ssot

import (
	"context"
	"errors"
	"fmt"
	"io"

	"arbiter/amp"
)

// ErrPart says that an export holds a part of a journal only, which no journal can be made from.
var ErrPart = errors.New("the export holds a part of a journal only")

// ErrOther says that a log that should take a journal over holds another one, or more of it.
var ErrOther = errors.New("the log holds another journal")

// Import appends what [Export] wrote of a whole journal, and ends with the same head. The export is read twice: nothing is stored
// before every line of it was verified and folded. The log is empty, or holds the beginning of the same journal, so that an import
// that was interrupted goes on. What cannot be taken is [ErrPart], [ErrOther] or a *[LineError]. It returns how many entries it
// stored, also with an error. progress, if not nil, is called now and then with the entries and the bytes read.
func Import(ctx context.Context, log Log, r io.ReadSeeker, progress func(entries int, size int64)) (n int, err error) {
	stored, err := log.Head(ctx)
	if err != nil {
		return 0, err
	}
	report, same, err := rehearse(ctx, r, progress, stored)
	switch {
	case err != nil:
		return 0, err
	case !report.Whole():
		return 0, fmt.Errorf("%w: entries %d to %d of %d", ErrPart, report.First, report.Last, report.Head.Seq)
	case !same:
		return 0, fmt.Errorf("%w: its head is entry %d with hash %s, the export ends at %d", ErrOther, stored.Seq, stored.Hash, report.Head.Seq)
	}
	if _, err := r.Seek(0, io.SeekStart); err != nil {
		return 0, fmt.Errorf("read the export again: %w", err)
	}
	b := &batch{log: log}
	_, err = ReadExport(ctx, r, progress, func(e *amp.Entry) error {
		if e.Seq <= stored.Seq {
			return nil
		}
		return b.add(ctx, *e)
	})
	if b.err != nil {
		err = b.err // and not one of a line
	}
	if err == nil {
		err = b.flush(ctx)
	}
	return b.n, err
}

// rehearse reads an export as if it were stored, and reports whether what is stored is its beginning.
func rehearse(ctx context.Context, r io.Reader, progress func(int, int64), stored amp.Head) (report ExportReport, same bool, err error) {
	board := amp.NewBoard()
	same = stored.Seq == 0
	report, err = ReadExport(ctx, r, progress, func(e *amp.Entry) error {
		same = same || e.Seq == stored.Seq && e.Hash == stored.Hash
		if e.Seq != board.Head.Seq+1 {
			return nil // a part, as the last line will say, or a line that is missing, which it will say too
		}
		if err := CheckRecord(&e.Record); err != nil {
			return err
		}
		return board.Apply(*e)
	})
	return report, same, err
}

// Copy appends the entries of one log to another until both have the same head, which it returns with the number of entries that it
// stored. The other log is empty, or holds the beginning of the same journal, so that a copy that was interrupted goes on; anything
// else is [ErrOther], and nothing is stored. Entries that are appended to the first log meanwhile are copied too. progress, if not
// nil, is called after each page with the seq reached and the last one.
func Copy(ctx context.Context, from, to Log, progress func(done, total uint64)) (head amp.Head, n int, err error) {
	if head, err = to.Head(ctx); err != nil {
		return head, 0, err
	}
	if err := begins(ctx, from, head); err != nil {
		return head, 0, err
	}
	b := &batch{log: to}
	for {
		before := head
		var last amp.Head
		err := pages(ctx, from, amp.Filter{After: head.Seq}, func(page []amp.Entry) (err error) {
			for i := range page {
				if err := b.add(ctx, page[i]); err != nil {
					return err
				}
				head = amp.Head{Seq: page[i].Seq, Hash: page[i].Hash}
			}
			if last, err = from.Head(ctx); err == nil && progress != nil {
				progress(head.Seq, last.Seq)
			}
			return err
		})
		if err == nil {
			err = b.flush(ctx)
		}
		if err != nil {
			return head, b.n, err
		}
		if head == last {
			return head, b.n, nil
		}
		if head == before {
			return head, b.n, fmt.Errorf("copy the journal after entry %d: its head is entry %d, and nothing comes", head.Seq, last.Seq)
		}
	}
}

// begins wants a head to be a position of the log.
func begins(ctx context.Context, log Log, head amp.Head) error {
	if head.Seq == 0 {
		return nil
	}
	at, err := log.Read(ctx, amp.Filter{After: head.Seq - 1, Before: head.Seq + 1, Limit: 1})
	if err != nil {
		return err
	}
	if len(at) == 0 || at[0].Hash != head.Hash {
		return fmt.Errorf("%w: its entry %d has hash %s, which the first one does not have there", ErrOther, head.Seq, head.Hash)
	}
	return nil
}

const (
	batchLen  = 2000
	batchSize = 4 << 20 // bytes of bodies
)

// batch stores entries of another log, many at once, and wants each to come out as the one it was.
type batch struct {
	log     Log
	entries []amp.Entry
	size    int
	n       int   // stored
	err     error // of the log
}

func (b *batch) add(ctx context.Context, e amp.Entry) error {
	b.entries, b.size = append(b.entries, e), b.size+len(e.Body)
	if len(b.entries) < batchLen && b.size < batchSize {
		return nil
	}
	return b.flush(ctx)
}

func (b *batch) flush(ctx context.Context) error {
	b.err = b.store(ctx)
	b.entries, b.size = b.entries[:0], 0
	return b.err
}

func (b *batch) store(ctx context.Context) error {
	if len(b.entries) == 0 {
		return nil
	}
	records := make([]amp.Record, len(b.entries))
	for i := range b.entries {
		records[i] = b.entries[i].Record
	}
	out, err := b.log.Append(ctx, records)
	if err != nil {
		return fmt.Errorf("store entries %d to %d: %w", b.entries[0].Seq, b.entries[len(b.entries)-1].Seq, err)
	}
	for i, a := range out {
		switch want := &b.entries[i]; {
		case a.Err != nil:
			return fmt.Errorf("store entry %d: %w", want.Seq, a.Err)
		case a.Entry.Hash != want.Hash:
			return fmt.Errorf("entry %d was stored as entry %d with hash %s: %w, or somebody else appends to it", want.Seq, a.Entry.Seq, a.Entry.Hash, ErrOther)
		case a.Fresh:
			b.n++
		}
	}
	return nil
}
