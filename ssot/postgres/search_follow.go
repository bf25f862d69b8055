package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"arbiter/amp"
)

const (
	// indexPage is how many entries are indexed in one transaction, indexBytes about how many bytes of them.
	indexPage  = 500
	indexBytes = 16 << 20
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
		// What is lost with the server is made again.
		if _, err := tx.Exec(ctx, "SET LOCAL synchronous_commit = off"); err != nil {
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
		case version > searchVersion:
			return errNewerSearch
		case version < searchVersion:
			if _, err := tx.Exec(ctx, "DELETE FROM search_entry"); err != nil {
				return err
			}
			seq = 0
		}
		page, more, err := indexable(ctx, tx, seq)
		if err != nil {
			return err
		}
		if len(page) == 0 && version == searchVersion {
			return nil
		}
		b := &pgx.Batch{}
		for i := range page {
			b.Queue("INSERT INTO search_entry (seq, terms) VALUES ($1, array_to_tsvector($2::text[])) ON CONFLICT (seq) DO NOTHING",
				int64(page[i].Seq), lexemes(&page[i]))
			seq = int64(page[i].Seq)
		}
		b.Queue("UPDATE search_reach SET version = $1, seq = $2 WHERE one = 1", searchVersion, seq)
		if err := tx.SendBatch(ctx, b).Close(); err != nil {
			return err
		}
		full = more
		return nil
	})
	if err != nil {
		return false, err
	}
	reach, err := l.reach(ctx)
	l.indexed.Store(reach)
	return full, err
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
