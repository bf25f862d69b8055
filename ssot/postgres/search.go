package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"arbiter/amp"
	"arbiter/ssot"
	"arbiter/ssot/search"
)

var (
	_ ssot.Finder  = (*Log)(nil)
	_ ssot.Indexer = (*Log)(nil)
)

// Find reads as Read does and counts what the filter selects, as [ssot.Finder] says.
func (l *Log) Find(ctx context.Context, f amp.Filter) (found ssot.Found, err error) {
	err = l.reading(ctx, func(ctx context.Context) error {
		found, err = l.find(ctx, &f, true)
		return err
	})
	return found, err
}

// Indexed is the last entry in the index of searches, as far as was seen here; those behind it are looked through one by one.
func (l *Log) Indexed() uint64 { return l.indexed.Load() }

// find runs a search as of one moment, in one transaction.
func (l *Log) find(ctx context.Context, f *amp.Filter, count bool) (found ssot.Found, err error) {
	if f.ID != "" {
		all, err := l.selected(ctx, &amp.Filter{ID: f.ID}, 1)
		if err != nil || len(all) == 0 || !ssot.Match(f, &all[0]) {
			return ssot.Found{}, err
		}
		return ssot.Found{Entries: all, Count: 1}, nil
	}
	s, err := l.search(ctx, f, count, true)
	if c := code(err); c == noTable || c == noRights {
		s, err = l.search(ctx, f, count, false) // a role or a schema of before there was an index
	} else if ruined(err) {
		l.renew(ctx)
		s, err = l.search(ctx, f, count, false) // the journal itself has the answer
	} else if err == nil && s.wrong {
		l.renew(ctx)
	}
	return s.found, err
}

// searched is what a search found.
type searched struct {
	found ssot.Found
	wrong bool // the index is
}

func (l *Log) search(ctx context.Context, f *amp.Filter, count, indexed bool) (out searched, err error) {
	err = pgx.BeginTxFunc(ctx, l.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		s := search.Search{Journal: journal{tx}, Filter: f, Count: count}
		var last, reach int64
		ends := "SELECT seq, 0 FROM head WHERE one = 1"
		if indexed {
			ends = "SELECT seq, coalesce((SELECT seq FROM search_reach WHERE version = $1), 0) FROM head WHERE one = 1"
		}
		var args []any
		if indexed {
			args = append(args, search.Version)
		}
		if err := tx.QueryRow(ctx, ends, args...).Scan(&last, &reach); err != nil {
			return err
		}
		s.Last = uint64(last)
		if reach > 0 {
			s.Store, s.Reach = view{tx}, uint64(reach)
		}
		out.found, err = s.Find(ctx)
		out.wrong = s.Wrong()
		return err
	})
	return out, err
}

// ruined reports whether an error says that the rows of the index are not those that were written.
func ruined(err error) bool {
	return errors.Is(err, search.ErrBroken) || errors.Is(err, pgx.ErrNoRows) || code(err) == uniqueViolation
}

// renew asks for an index made anew, when this log may.
func (l *Log) renew(ctx context.Context) {
	if l.writer != nil {
		_, _ = l.pool.Exec(ctx, "UPDATE search_reach SET version = 0 WHERE one = 1") // if not now, the next search that meets it asks again
	}
}

// journal is what searches read.
type journal struct{ tx pgx.Tx }

var _ search.Journal = journal{}

// Headers are selected by all that the database can compare.
func (j journal) Headers(ctx context.Context, f *amp.Filter, after, before uint64, n int) ([]uint64, error) {
	part := *f
	part.After, part.Before = after, before
	q := selecting("SELECT e.seq"+entryTables, &part)
	q.add("ORDER BY e.seq" + q.order + " LIMIT " + q.arg(n))
	return seqsOf(j.tx.Query(ctx, q.String(), q.args...))
}

// Within asks for all entries in one statement.
func (j journal) Within(ctx context.Context, seqs []uint64, from, to int64) ([]uint64, error) {
	return seqsOf(j.tx.Query(ctx, "SELECT seq FROM entry WHERE seq = ANY ($1) AND at >= $2 AND at < $3 ORDER BY seq", signed(seqs), from, to))
}

// Entries reads all of them in one statement.
func (j journal) Entries(ctx context.Context, seqs []uint64, newest bool) ([]amp.Entry, error) {
	q := selectEntry + "WHERE e.seq = ANY ($1) ORDER BY e.seq"
	if newest {
		q += " DESC"
	}
	rows, err := j.tx.Query(ctx, q, signed(seqs))
	if err != nil {
		return nil, err
	}
	return entriesIf(rows, -1, every)
}

func seqsOf(rows pgx.Rows, err error) (all []uint64, _ error) {
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (uint64, error) {
		var seq int64
		err := row.Scan(&seq)
		return uint64(seq), err
	})
}

// signed are numbers as the database has them.
func signed(all []uint64) []int64 {
	out := make([]int64, len(all))
	for i, n := range all {
		out[i] = int64(n)
	}
	return out
}
