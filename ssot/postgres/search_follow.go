package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"arbiter/amp"
	"arbiter/ssot/search"
)

const (
	// indexPage is how many entries are indexed in one transaction, indexBytes about how many bytes of them.
	indexPage  = search.MaxPage
	indexBytes = 4 << 20
	// indexPause is how long it waits when there was less, so that many entries are indexed together, and while another does it.
	indexPause = time.Second
)

// errNewerSearch says that a newer program made the index.
var errNewerSearch = errors.New("the index of searches is of a newer version")

// follow keeps the index at the head until ctx ends. Of several coordinators one at a time adds to it. What is wrong with the database,
// those who write and read are told; without the rights for it there is no index.
func (l *Log) follow(ctx context.Context) {
	for ctx.Err() == nil {
		full, err := l.index(ctx)
		if code(err) == noRights || errors.Is(err, errNewerSearch) {
			return
		}
		if full {
			continue
		}
		select {
		case <-time.After(indexPause):
		case <-ctx.Done():
			return
		}
		if err == nil {
			_ = l.watcher.wait(ctx, l.indexed.Load()) // it ends with ctx, or with the log
		}
	}
}

// index adds the next entries, and reports whether there are more.
func (l *Log) index(ctx context.Context) (full bool, err error) {
	err = pgx.BeginFunc(ctx, l.pool, func(tx pgx.Tx) error {
		// What is lost with the server is made again. Between two statements large chunks may be joined.
		b := &pgx.Batch{}
		b.Queue("SET LOCAL synchronous_commit = off")
		b.Queue("SET LOCAL idle_in_transaction_session_timeout = '1min'")
		if err := tx.SendBatch(ctx, b).Close(); err != nil {
			return err
		}
		var version, seq int64
		err := tx.QueryRow(ctx, "SELECT version, seq FROM search_reach WHERE one = 1 FOR UPDATE SKIP LOCKED").Scan(&version, &seq)
		switch {
		case errors.Is(err, pgx.ErrNoRows): // another one is at it
			reach, err := l.reach(ctx)
			l.indexed.Store(reach)
			return err
		case err != nil:
			return err
		case version > search.Version:
			return errNewerSearch
		case version < search.Version:
			b := &pgx.Batch{}
			b.Queue("DELETE FROM search_chunk")
			b.Queue("DELETE FROM search_sheet")
			if err := tx.SendBatch(ctx, b).Close(); err != nil {
				return err
			}
			seq = 0
		}
		page, more, err := indexable(ctx, tx, seq)
		if err != nil {
			return err
		}
		if len(page) > 0 {
			if err := search.Add(ctx, view{tx}, page); err != nil {
				return err
			}
			seq = int64(page[len(page)-1].Seq)
		} else if version == search.Version {
			return nil
		}
		if _, err := tx.Exec(ctx, "UPDATE search_reach SET version = $1, seq = $2 WHERE one = 1", search.Version, seq); err != nil {
			return err
		}
		full = more
		return nil
	})
	if ruined(err) {
		l.renew(ctx)
	}
	if err != nil {
		return false, err
	}
	reach, err := l.reach(ctx)
	l.indexed.Store(reach)
	return full, err
}

// reach is the last entry in the index, 0 when there is none that this program can use.
func (l *Log) reach(ctx context.Context) (uint64, error) {
	var seq int64
	err := l.pool.QueryRow(ctx, "SELECT seq FROM search_reach WHERE version = $1", search.Version).Scan(&seq)
	if c := code(err); errors.Is(err, pgx.ErrNoRows) || c == noTable || c == noRights {
		return 0, nil
	}
	return uint64(seq), err
}

// indexable are the next entries after one, and whether there may be more.
func indexable(ctx context.Context, tx pgx.Tx, after int64) (page []amp.Entry, more bool, err error) {
	rows, err := tx.Query(ctx, selectEntry+"WHERE e.seq > $1 ORDER BY e.seq LIMIT $2", after, indexPage)
	if err != nil {
		return nil, false, err
	}
	defer rows.Close()
	for size := 0; size < indexBytes && rows.Next(); {
		e, err := scanEntry(rows)
		if err != nil {
			return nil, false, err
		}
		page, size = append(page, e), size+len(e.Body)
		more = len(page) == indexPage || size >= indexBytes
	}
	rows.Close()
	return page, more, rows.Err()
}
