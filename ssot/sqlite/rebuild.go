package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"arbiter/amp"
	"arbiter/ssot"
)

// Rebuild has the index of searches made anew, drops the projections and folds the whole journal into new ones, in one transaction: readers see the old ones until
// the new ones are there. Appends wait meanwhile. What it writes is byte for byte what was there before, unless that was wrong.
func (l *Log) Rebuild(ctx context.Context) error {
	if err := l.enter(); err != nil {
		return err
	}
	defer l.leave()
	if l.writer == nil {
		return ErrReadOnly
	}
	l.index.renew()
	return l.writer.alone(ctx, func(w *writer) error { return w.rebuild(ctx) })
}

// open brings the projections to the head of the journal. A crash never leaves them behind, since they are written with the
// entries; another version of the fold does.
func (w *writer) open(head amp.Head) error {
	known, err := w.read()
	if err != nil {
		return err
	}
	b := w.board.Head
	switch {
	case !known:
		return w.rebuild(context.Background())
	case b.Seq > head.Seq:
		return &DamagedError{Path: w.path, Seq: head.Seq + 1, Why: fmt.Sprintf("%d entries are missing at its end", b.Seq-head.Seq)}
	case b.Seq < head.Seq:
		if err := w.loadAll(); err != nil {
			return err
		}
		return w.transaction(func() error { return w.catch(context.Background()) })
	case b.Hash != head.Hash:
		return &DamagedError{Path: w.path, Seq: head.Seq, Why: "the last entry is not the one that the board was folded from"}
	}
	return nil
}

func (w *writer) rebuild(ctx context.Context) error {
	err := w.transaction(func() error {
		for _, table := range []string{"task", "board", "usage", "open_ack"} {
			if _, err := w.conn.ExecContext(context.Background(), "DELETE FROM "+table); err != nil {
				return err
			}
		}
		clear(w.board.Tasks)
		clear(w.acks)
		*w.board = amp.Board{Tasks: w.board.Tasks, Numbers: map[int]int{}}
		w.complete = true
		return w.catch(ctx)
	})
	if err == nil {
		return nil
	}
	clear(w.board.Tasks)
	clear(w.acks)
	w.complete = false
	if ctx.Err() != nil {
		return fmt.Errorf("%w: the rebuild was given up: %w", ssot.ErrBusy, ctx.Err())
	}
	return err
}

// catch folds the entries after the board's head, inside a transaction.
func (w *writer) catch(ctx context.Context) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		page, err := entries(w.stmt.entriesAfter.QueryContext(context.Background(), int64(w.board.Head.Seq), ssot.MaxPage))
		if err != nil {
			return err
		}
		for _, e := range page {
			if err := w.fold(e); err != nil {
				return err
			}
		}
		if len(page) < ssot.MaxPage {
			return nil
		}
	}
}

func (w *writer) fold(e amp.Entry) error {
	if e.TaskID != "" {
		if err := w.load(e.TaskID); err != nil {
			return err
		}
	}
	err := w.apply(e)
	if errors.Is(err, ssot.ErrInvalid) {
		return &DamagedError{Path: w.path, Seq: e.Seq, Why: err.Error()}
	}
	return err
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
