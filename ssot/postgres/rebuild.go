package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"arbiter/amp"
	"arbiter/ssot"
	"arbiter/ssot/projection"
)

// Rebuild has the index of searches made anew, drops the projections and folds the whole journal into new ones, in one transaction: readers see
// the old ones until the new ones are there. Appends wait meanwhile, those of other coordinators too, and are told that the journal is busy when
// it takes long. What it writes is byte for byte what was there before, unless that was wrong. progress, which may be nil, is told of entries
// that were folded.
func (l *Log) Rebuild(ctx context.Context, progress func(done, total uint64)) error {
	if err := l.enter(); err != nil {
		return err
	}
	defer l.leave()
	if l.writer == nil {
		return ssot.ErrReadOnly
	}
	if err := l.writer.alone(ctx, func(w *writer) error { return w.rebuild(ctx, progress) }); err != nil {
		return err
	}
	err := l.reading(ctx, func(ctx context.Context) error {
		_, err := l.pool.Exec(ctx, "UPDATE search_reach SET version = 0 WHERE one = 1")
		return err
	})
	if _, no := errors.AsType[*RightsError](err); no { // who may not add to the index does not need it anew
		return nil
	}
	return err
}

// open brings the projections to the head of the journal. A crash never leaves them behind, since they are written with the
// entries; another version of the fold does.
func (w *writer) open(ctx context.Context) error {
	if err := w.connect(ctx); err != nil {
		return err
	}
	err := w.conn.QueryRow(ctx, "SELECT count(*) > 0 FROM pg_catalog.pg_proc WHERE proname = 'pg_notify'").Scan(&w.notify)
	if err != nil {
		return err
	}
	var seq, fold, last int64
	var may bool
	var hash []byte
	err = w.conn.QueryRow(ctx, `SELECT seq, hash, fold, coalesce((SELECT max(seq) FROM entry), 0), has_table_privilege('entry', 'INSERT')
		FROM head WHERE one = 1`).Scan(&seq, &hash, &fold, &last, &may)
	switch {
	case err == nil && !may:
		return &RightsError{Store: w.name, User: w.cfg.User, Why: "it may only read the journal"}
	case errors.Is(err, pgx.ErrNoRows):
		return &ssot.DamagedError{Path: w.name, Why: "the row of its head is missing"}
	case err != nil:
		return err
	case last < seq:
		return &ssot.DamagedError{Path: w.name, Seq: uint64(last) + 1, Why: fmt.Sprintf("%d entries are missing at its end", seq-last)}
	}
	if err := w.checkTail(ctx, uint64(seq)); err != nil {
		return err
	}
	w.opened.Seq = uint64(seq)
	copy(w.opened.Hash[:], hash)
	if fold != projection.Version() {
		return w.rebuild(ctx, nil)
	}
	return nil
}

// tailLen is how many entries an open checks.
const tailLen = 1000

// checkTail verifies the chain of the last entries up to the head.
func (w *writer) checkTail(ctx context.Context, seq uint64) error {
	from := seq - min(seq, tailLen)
	rows, err := w.conn.Query(ctx, selectEntry+"WHERE e.seq > $1 AND e.seq <= $2 ORDER BY e.seq", int64(from), int64(seq))
	if err != nil {
		return err
	}
	page, err := entriesIf(rows, -1, every)
	if err != nil {
		return err
	}
	head := amp.Head{Seq: from}
	if len(page) > 0 {
		head.Hash = page[0].PrevHash
	}
	for i := range page {
		if why := follows(head, &page[i]); why != "" {
			return &ssot.DamagedError{Path: w.name, Seq: head.Seq + 1, Why: why}
		}
		head = amp.Head{Seq: page[i].Seq, Hash: page[i].Hash}
	}
	if head.Seq != seq {
		return &ssot.DamagedError{Path: w.name, Seq: head.Seq + 1, Why: "the entry is missing"}
	}
	return nil
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

// rebuild folds the whole journal. The cache is empty afterwards.
func (w *writer) rebuild(ctx context.Context, progress func(done, total uint64)) (err error) {
	w.cache = newCache()
	if _, err := w.conn.Exec(ctx, "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			w.cache = newCache()
			if ctx.Err() != nil {
				err = fmt.Errorf("%w: the rebuild was given up: %w", ssot.ErrBusy, ctx.Err())
			}
		}
	}()
	var seq int64
	var hash []byte
	if err := w.conn.QueryRow(ctx, "SELECT seq, hash FROM head WHERE one = 1 FOR UPDATE").Scan(&seq, &hash); err != nil {
		return err
	}
	w.begin()
	w.complete = true
	if err := w.refold(ctx, func() {
		if progress != nil {
			progress(w.board.Head.Seq, uint64(seq))
		}
	}); err != nil {
		return err
	}
	if h := w.board.Head; h.Seq != uint64(seq) || string(h.Hash[:]) != string(hash) {
		return &ssot.DamagedError{Path: w.name, Seq: h.Seq, Why: fmt.Sprintf("its last entry is not that of its head, entry %d", seq)}
	}
	b := &pgx.Batch{}
	b.Queue("DELETE FROM task")
	all := make([]*amp.Task, 0, len(w.board.Tasks))
	for _, t := range w.board.Tasks {
		all = append(all, t)
	}
	queueTasks(b, all)
	clear(w.dirty)
	w.before.usage = w.usage + 1 // to have it written
	w.queueProjections(b)
	b.Queue("UPDATE head SET everything = $1, fold = $2, state = $3 WHERE one = 1", int64(w.everything), projection.Version(),
		[]byte(projection.Board(w.board)))
	b.Queue("COMMIT")
	if err := w.conn.SendBatch(ctx, b).Close(); err != nil {
		return err
	}
	w.cache = newCache()
	return nil
}

// refold folds every entry into an empty cache. folded is called after some.
func (w *writer) refold(ctx context.Context, folded func()) error {
	for {
		rows, err := w.conn.Query(ctx, selectEntry+"WHERE e.seq > $1 ORDER BY e.seq LIMIT $2", int64(w.board.Head.Seq), ssot.MaxPage)
		if err != nil {
			return err
		}
		page, err := entriesIf(rows, -1, every)
		if err != nil {
			return err
		}
		for i := range page {
			if err := w.apply(page[i], amp.Parse(&page[i].Record)); err != nil {
				return &ssot.DamagedError{Path: w.name, Seq: page[i].Seq, Why: err.Error()}
			}
		}
		folded()
		if len(page) < ssot.MaxPage {
			return nil
		}
	}
}
