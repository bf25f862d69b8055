package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"arbiter/amp"
	"arbiter/ssot"
)

// Rebuild has the index of searches made anew, drops the tables beside the journal and folds all of it into new ones, in one transaction:
// readers see the old ones until the new ones are there. Appends wait meanwhile. What it writes is byte for byte what was there before,
// unless that was wrong or behind. progress, which may be nil, is told of entries that were folded.
func (l *Log) Rebuild(ctx context.Context, progress func(done, total uint64)) error {
	if err := l.enter(); err != nil {
		return err
	}
	defer l.leave()
	if l.writer == nil {
		return ErrReadOnly
	}
	l.index.renew()
	return l.writer.alone(ctx, func(w *writer) error { return w.rebuild(ctx, true, progress) })
}

// open folds what the journal has behind its tables. These are left as they are until there is more to write, unless another version of
// the fold made them.
func (w *writer) open(head amp.Head) error {
	known, err := w.read()
	if err != nil {
		return err
	}
	var indexed int64
	err = w.stmt.indexed.QueryRowContext(context.Background()).Scan(&indexed)
	none := errors.Is(err, sql.ErrNoRows)
	if err != nil && !none {
		return err
	}
	b := w.board.Head
	switch last := max(b.Seq, uint64(indexed)); {
	case last > head.Seq:
		return &DamagedError{Path: w.path, Seq: head.Seq + 1, Why: fmt.Sprintf("%d entries are missing at its end", last-head.Seq)}
	case !known || none:
		return w.rebuild(context.Background(), none, nil)
	case b.Seq == head.Seq && b.Hash != head.Hash:
		return &DamagedError{Path: w.path, Seq: head.Seq, Why: "the last entry is not the one that the board was folded from"}
	}
	w.spoiled = true
	return w.recover()
}

// recover reads the tables and folds the entries behind them, when a transaction failed.
func (w *writer) recover() error {
	if !w.spoiled {
		return nil
	}
	err := w.replay(false)
	if errors.Is(err, errAllTasks) {
		err = w.replay(true)
	}
	w.spoiled = err != nil
	return err
}

func (w *writer) replay(all bool) error {
	known, err := w.read()
	if err == nil && !known {
		err = &DamagedError{Path: w.path, Why: "the projections are gone"}
	}
	if err == nil && all {
		err = w.loadAll()
	}
	var indexed int64
	if err == nil {
		err = w.stmt.indexed.QueryRowContext(context.Background()).Scan(&indexed)
	}
	if err == nil {
		err = w.tail.read(w.tables.stmt, indexed)
	}
	if err == nil {
		err = w.catch(context.Background(), nil)
	}
	return err
}

// reindex makes the tables of ids and tasks anew, each in its own order.
var reindex = []string{
	"DELETE FROM entry_id", "INSERT INTO entry_id SELECT id, seq FROM entry ORDER BY id",
	"DELETE FROM task_bucket",
	`INSERT INTO task_bucket SELECT seq >> 12, task, unhex(group_concat(printf('%04x', seq & 4095), '' ORDER BY seq)) FROM entry GROUP BY 1, 2`,
	"DELETE FROM task_span", "INSERT INTO task_span SELECT bucket >> 6, task, sum(1 << (bucket & 63)) FROM task_bucket GROUP BY 1, 2",
	"DELETE FROM indexed", "INSERT INTO indexed SELECT 1, coalesce(max(seq), 0) FROM entry",
}

var dropProjections = []string{"DELETE FROM task", "DELETE FROM board", "DELETE FROM usage", "DELETE FROM open_ack"}

func (w *writer) rebuild(ctx context.Context, indexes bool, progress func(done, total uint64)) error {
	texts := dropProjections
	if indexes {
		texts = slices.Concat(dropProjections, reindex)
	}
	err := w.transaction(func() error {
		for _, text := range texts {
			if _, err := w.conn.ExecContext(context.Background(), text); err != nil {
				return err
			}
		}
		w.empty()
		w.usage, w.complete = nil, true
		var indexed int64
		if err := w.stmt.indexed.QueryRowContext(context.Background()).Scan(&indexed); err != nil {
			return err
		}
		if err := w.tail.read(w.tables.stmt, indexed); err != nil {
			return err
		}
		if err := w.catch(ctx, progress); err != nil {
			return err
		}
		return w.write()
	})
	if err == nil {
		w.wrote()
		return nil
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%w: the rebuild was given up: %w", ssot.ErrBusy, ctx.Err())
	}
	return err
}

// catch folds the entries after the board's head.
func (w *writer) catch(ctx context.Context, progress func(done, total uint64)) error {
	var total int64
	if progress != nil {
		if err := w.conn.QueryRowContext(context.Background(), "SELECT coalesce(max(seq), 0) FROM entry").Scan(&total); err != nil {
			return err
		}
	}
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		page, err := entries(w.stmt.entriesAfter.QueryContext(context.Background(), int64(w.board.Head.Seq), ssot.MaxPage))
		if err != nil {
			return err
		}
		for i := range page {
			if err := w.fold(&page[i]); err != nil {
				return err
			}
		}
		if progress != nil {
			progress(w.board.Head.Seq, uint64(total))
		}
		if len(page) < ssot.MaxPage {
			return nil
		}
	}
}

func (w *writer) fold(e *amp.Entry) error {
	why := follows(w.board.Head, e)
	fact := amp.Parse(&e.Record)
	if why == "" && fact.Err() != nil {
		why = fact.Err().Error()
	}
	if why != "" {
		return &DamagedError{Path: w.path, Seq: w.board.Head.Seq + 1, Why: why}
	}
	if e.TaskID != "" {
		if err := w.load(e.TaskID); err != nil {
			return err
		}
	}
	return w.apply(*e, fact)
}

// tailLen is how many entries an open checks.
const tailLen = 256

// checkTail verifies the chain of the last entries and returns the head.
func (f *file) checkTail(ctx context.Context, c *sql.Conn) (head amp.Head, err error) {
	var last, count int64
	if err := c.QueryRowContext(ctx, "SELECT coalesce(max(seq), 0) FROM entry").Scan(&last); err != nil {
		return head, err
	}
	from := max(last-tailLen, 0)
	page, err := entries(c.QueryContext(ctx, "SELECT "+entryColumns+` FROM entry e LEFT JOIN task_key k ON k.key = e.task
		WHERE e.seq > ? ORDER BY e.seq`, from))
	if err != nil {
		return head, err
	}
	if from > 0 {
		if err := c.QueryRowContext(ctx, "SELECT count(*) FROM entry WHERE seq = ?", from).Scan(&count); err != nil {
			return head, err
		}
		if count == 0 {
			return head, &DamagedError{Path: f.path, Seq: uint64(from), Why: "the entry is missing"}
		}
		head = amp.Head{Seq: uint64(from)}
		if len(page) > 0 {
			head.Hash = page[0].PrevHash
		}
	}
	for i := range page {
		if why := follows(head, &page[i]); why != "" {
			return head, &DamagedError{Path: f.path, Seq: head.Seq + 1, Why: why}
		}
		head = amp.Head{Seq: page[i].Seq, Hash: page[i].Hash}
	}
	return head, nil
}

// follows says why an entry cannot be the one after head, or "".
func follows(head amp.Head, e *amp.Entry) string {
	switch {
	case e.Seq != head.Seq+1:
		return "the entry is missing"
	case e.PrevHash != head.Hash:
		return "it does not follow the entry before it"
	case e.Sum() != e.Hash:
		return "its content does not have its hash"
	}
	return ""
}
