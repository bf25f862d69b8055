package ssot

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"

	"arbiter/amp"
)

// ErrPart says that an export holds a part of a journal only, which no journal can be made from.
var ErrPart = errors.New("the export holds a part of a journal only")

// ErrOther says that a log that should take a journal over holds another one, or more of it.
var ErrOther = errors.New("the log holds another journal")

// ErrChanged says that an export was another one when it was read again.
var ErrChanged = errors.New("the export was changed while it was imported")

// AheadError says that a log holds all that it is given, and goes on after it. It is an [ErrOther].
type AheadError struct {
	// Stored is the head of the log, Given the one that it was to get.
	Stored, Given amp.Head
}

// Error names both.
func (e *AheadError) Error() string {
	return fmt.Sprintf("the log holds more of the same journal: it goes on to entry %d, what is given ends at %d", e.Stored.Seq, e.Given.Seq)
}

// Is makes it an [ErrOther].
func (e *AheadError) Is(target error) bool { return target == ErrOther }

// Import appends what [Export] wrote of a whole journal, and ends with the same head. The export is read twice: nothing is stored
// before every line of it was verified and folded. The log is empty, or holds the beginning of the same journal, so that an import
// that was interrupted goes on. What cannot be taken is [ErrPart], [ErrOther], an *[AheadError] or a *[LineError]; what is not the same at the second
// reading is not stored, and is [ErrChanged]. It returns how many entries it stored, also with an error. progress, if not nil, is called now and then with the entries and the bytes read.
func Import(ctx context.Context, log Log, r io.ReadSeeker, progress func(entries int, size int64)) (n int, err error) {
	stored, err := log.Head(ctx)
	if err != nil {
		return 0, err
	}
	x := rehearsal{stored: stored, same: stored.Seq == 0, board: amp.NewBoard(), ids: map[[16]byte]struct{}{}}
	report, err := ReadExport(ctx, r, progress, x.entry)
	switch {
	case err != nil:
		return 0, err
	case !report.Whole():
		return 0, fmt.Errorf("%w: entries %d to %d of %d", ErrPart, report.First, report.Last, report.Head.Seq)
	case !x.same:
		if err := ahead(ctx, log, stored, report.Head); err != nil {
			return 0, err
		}
		return 0, fmt.Errorf("%w: its head is entry %d with hash %s, the export ends at %d", ErrOther, stored.Seq, stored.Hash, report.Head.Seq)
	}
	if _, err := r.Seek(0, io.SeekStart); err != nil {
		return 0, fmt.Errorf("read the export again: %w", err)
	}
	b := &batch{log: log, ends: append(x.ends, report.Head.Hash)}
	again, err := ReadExport(ctx, r, progress, func(e *amp.Entry) error {
		if e.Seq <= stored.Seq {
			return nil
		}
		return b.add(ctx, *e)
	})
	if b.err != nil {
		return b.n, b.err // and not one of a line
	}
	if _, ok := errors.AsType[*LineError](err); ok || err == nil && again.Head != report.Head {
		return b.n, fmt.Errorf("%w: it is not what was verified any more", ErrChanged)
	}
	if err == nil {
		err = b.flush(ctx)
	}
	return b.n, err
}

// rehearsal reads an export as if it were stored.
type rehearsal struct {
	stored amp.Head
	// same says that what is stored is the beginning of the export.
	same  bool
	board *amp.Board
	// ids are those of the entries, in short.
	ids map[[16]byte]struct{}
	// ends are the hashes of the entries that end a batch: they prove all that comes before.
	ends []amp.Hash
	fill fill
}

func (x *rehearsal) entry(e *amp.Entry) error {
	x.same = x.same || e.Seq == x.stored.Seq && e.Hash == x.stored.Hash
	if e.Seq != x.board.Head.Seq+1 {
		return nil // a part, as the last line will say, or a line that is missing, which it will say too
	}
	if err := CheckRecord(&e.Record); err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(e.ID))
	id := [16]byte(sum[:16])
	if _, twice := x.ids[id]; twice {
		return fmt.Errorf("entry %d has the id %.80q of an entry before it", e.Seq, e.ID)
	}
	x.ids[id] = struct{}{}
	if e.Seq > x.stored.Seq && x.fill.add(e) {
		x.ends, x.fill = append(x.ends, e.Hash), fill{}
	}
	return x.board.Apply(*e)
}

// ahead is an *[AheadError] when the log holds what is given, and more.
func ahead(ctx context.Context, log Log, stored, given amp.Head) error {
	if given.Seq >= stored.Seq {
		return nil
	}
	err := begins(ctx, log, given)
	if err == nil {
		return &AheadError{Stored: stored, Given: given}
	}
	if errors.Is(err, ErrOther) {
		return nil
	}
	return err
}

// Copy appends the entries of one log to another until both have the same head, which it returns with the number of entries that it
// stored. The other log is empty, or holds the beginning of the same journal, so that a copy that was interrupted goes on; anything
// else is [ErrOther] or an *[AheadError], and nothing is stored. Entries that are appended to the first log meanwhile are copied too. progress, if not
// nil, is called after each page with the seq reached and the last one.
func Copy(ctx context.Context, from, to Log, progress func(done, total uint64)) (head amp.Head, n int, err error) {
	if head, err = to.Head(ctx); err != nil {
		return head, 0, err
	}
	if err := begins(ctx, from, head); err != nil {
		if given, other := from.Head(ctx); errors.Is(err, ErrOther) && other == nil {
			err = cmp.Or(ahead(ctx, to, head, given), err)
		}
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

// fill is how much is in a batch.
type fill struct{ n, size int }

// add counts an entry, and reports whether the batch is full with it.
func (f *fill) add(e *amp.Entry) bool {
	f.n, f.size = f.n+1, f.size+len(e.Body)
	return f.n >= batchLen || f.size >= batchSize
}

// batch stores entries of another log, many at once, and wants each to come out as the one it was.
type batch struct {
	log     Log
	entries []amp.Entry
	fill    fill
	// ends, if not nil, are the hashes of the entries that end the batches to come.
	ends []amp.Hash
	n    int   // stored
	err  error // of the log
}

func (b *batch) add(ctx context.Context, e amp.Entry) error {
	b.entries = append(b.entries, e)
	if !b.fill.add(&e) {
		return nil
	}
	return b.flush(ctx)
}

func (b *batch) flush(ctx context.Context) error {
	b.err = b.expected()
	if b.err == nil {
		b.err = b.store(ctx)
	}
	b.entries, b.fill = b.entries[:0], fill{}
	return b.err
}

// expected wants the entries to be those that were verified before.
func (b *batch) expected() error {
	if b.ends == nil || len(b.entries) == 0 {
		return nil
	}
	if last := &b.entries[len(b.entries)-1]; len(b.ends) == 0 || last.Hash != b.ends[0] {
		return fmt.Errorf("%w: its entry %d is another one", ErrChanged, last.Seq)
	}
	b.ends = b.ends[1:]
	return nil
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
