package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"arbiter/amp"
	"arbiter/ssot"
)

var (
	_ ssot.Finder  = (*Log)(nil)
	_ ssot.Indexer = (*Log)(nil)
)

// maxClauses is how many things the index is asked for at once; the rest is for Match.
const maxClauses = 24

// Find reads as Read does and counts what the filter selects, as [ssot.Finder] says.
func (l *Log) Find(ctx context.Context, f amp.Filter) (ssot.Found, error) {
	if err := l.enter(); err != nil {
		return ssot.Found{}, err
	}
	defer l.leave()
	if err := ctx.Err(); err != nil {
		return ssot.Found{}, err
	}
	found, err := l.find(ctx, &f, true)
	if err != nil {
		return ssot.Found{}, l.readFault(ctx, err)
	}
	return found, nil
}

// Indexed is the last entry in the index of searches, 0 when the log was opened for reading.
func (l *Log) Indexed() uint64 { return l.index.seq.Load() }

// Index waits until what is stored now is in the index of searches. Of a log that does not write it, it is [ErrReadOnly].
func (l *Log) Index(ctx context.Context) error {
	if err := l.enter(); err != nil {
		return err
	}
	defer l.leave()
	if l.index.ended == nil {
		return ErrReadOnly
	}
	last, err := l.lastSeq(ctx)
	if err != nil {
		return l.readFault(ctx, err)
	}
	return l.index.wait(ctx, last)
}

// search is one search under way.
type search struct {
	log   *Log
	f     *amp.Filter
	limit int
	// count says that matches behind the page are counted.
	count bool
	view  *view
	// clauses and without are for the index; exact says that what they select needs no look at the entry itself.
	clauses []clause
	without []amp.Term
	exact   bool

	out    ssot.Found
	looked int // candidates behind the page
	done   bool
}

func (l *Log) find(ctx context.Context, f *amp.Filter, count bool) (_ ssot.Found, err error) {
	s := &search{log: l, f: f, limit: ssot.Limit(f), count: count}
	if f.ID != "" {
		found, err := l.page(ctx, &amp.Filter{ID: f.ID}, 1)
		if err != nil || len(found) == 0 || !ssot.Match(f, &found[0]) {
			return s.out, err
		}
		return ssot.Found{Entries: found, Count: 1}, nil
	}
	last, err := l.lastSeq(ctx)
	if err != nil {
		return s.out, err
	}
	low, high := f.After, last+1 // both exclusive
	if f.Before != 0 {
		high = min(high, f.Before)
	}
	s.ask()
	s.view = l.index.view(ctx)
	if s.view != nil {
		defer func() { err = errors.Join(err, s.view.close()) }()
	}
	for _, part := range s.parts(low, high) {
		if err := s.look(ctx, part); err != nil {
			if s.view == nil || ctx.Err() != nil || !ruined(err) {
				return s.out, err
			}
			l.index.renew() // it is broken: the journal itself has the answer
			without := &search{log: l, f: f, limit: s.limit, count: count}
			err := without.look(ctx, part0(low, high))
			return without.result(), err
		}
	}
	return s.result(), nil
}

// part is a range of seqs, both ends exclusive, that the index has or has not.
type part struct {
	low, high uint64
	indexed   bool
}

func part0(low, high uint64) part { return part{low: low, high: high} }

// parts are the ranges to look through, in the order of the answer: what the index has, and what was appended since.
func (s *search) parts(low, high uint64) []part {
	if s.view == nil {
		return []part{part0(low, high)}
	}
	parts := []part{{low, min(high, s.view.seq+1), true}, {max(low, s.view.seq), high, false}}
	if s.f.Newest {
		slices.Reverse(parts)
	}
	return parts
}

// ask translates the filter for the index.
func (s *search) ask() {
	header := amp.Search{Kinds: s.f.Kinds}
	if s.f.TaskID != "" {
		header.Tasks = []amp.TaskID{s.f.TaskID}
	}
	all, _, _ := header.Clauses()
	said, without, exact := s.f.Search.Clauses()
	all, s.without, s.exact = append(all, said...), without, exact && s.f.Text == ""
	if len(all) > maxClauses || len(s.without) > maxClauses {
		all, s.without, s.exact = all[:min(len(all), maxClauses)], nil, false
	}
	for _, terms := range all {
		s.clauses = append(s.clauses, clause{terms: terms})
	}
	// A long word is likely rare, and what is rare ends the look at a chunk.
	slices.SortStableFunc(s.clauses, func(a, b clause) int { return len(b.terms[0].Text) - len(a.terms[0].Text) })
}

func (s *search) result() ssot.Found {
	if s.out.Count > ssot.MaxCount {
		s.out.Count, s.out.Capped = ssot.MaxCount, true
	}
	return s.out
}

// look goes through a part until all that is asked for is known.
func (s *search) look(ctx context.Context, p part) error {
	if p.indexed && len(s.clauses) > 0 {
		return s.lookUp(ctx, p)
	}
	for p.low+1 < p.high && !s.done {
		within := p
		if s.f.Newest {
			within.low = max(p.low, p.high-min(p.high, scanWindow+1))
		} else {
			within.high = min(p.high, p.low+scanWindow+1)
		}
		exact := s.exact && p.indexed
		n := s.want(exact)
		seqs, err := s.headers(ctx, within, n)
		if err != nil {
			return err
		}
		if err := s.take(ctx, seqs, exact); err != nil {
			return err
		}
		switch last := len(seqs) - 1; {
		case len(seqs) == n && s.f.Newest:
			p.high = seqs[last]
		case len(seqs) == n:
			p.low = seqs[last]
		case s.f.Newest:
			p.high = within.low + 1
		default:
			p.low = within.high - 1
		}
	}
	return nil
}

// moreChunks is by how much more chunks are looked up together when those before were not enough.
const moreChunks = 4

// lookUp goes through the chunks of the index that have entries of a part.
func (s *search) lookUp(ctx context.Context, p part) error {
	chunks, err := s.view.chunks(ctx, p, s.f.Newest)
	if err != nil {
		return err
	}
	from, to := s.times()
	chunks = slices.DeleteFunc(chunks, func(c chunk) bool { return c.late < from || c.early >= to })
	for n := 1; len(chunks) > 0 && !s.done; n *= moreChunks {
		some := chunks[:min(len(chunks), n)]
		chunks = chunks[len(some):]
		left, err := s.view.narrow(ctx, some, s.clauses, s.without)
		if err != nil {
			return err
		}
		// What turned out to be rare goes first.
		slices.SortStableFunc(s.clauses, func(a, b clause) int { return cmp.Compare(a.found*b.asked, b.found*a.asked) })
		var seqs []uint64
		for i := 0; i < len(left) && !s.done; i++ {
			found, err := s.within(ctx, p, &left[i])
			if err != nil {
				return err
			}
			seqs = append(seqs, found...)
			// Few from each of many chunks are read together.
			for n := s.want(s.exact); len(seqs) > 0 && !s.done && (len(seqs) >= n || i == len(left)-1); n = s.want(s.exact) {
				some := seqs[:min(len(seqs), n)]
				seqs = seqs[len(some):]
				if err := s.take(ctx, some, s.exact); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// within are the entries of a chunk that the index selects in a part and the time of the search, in the order of the answer.
func (s *search) within(ctx context.Context, p part, c *selected) ([]uint64, error) {
	seqs := slices.DeleteFunc(c.seqs(), func(seq uint64) bool { return seq <= p.low || seq >= p.high })
	if s.f.Newest {
		slices.Reverse(seqs)
	}
	return s.inTime(ctx, c.chunk, seqs)
}

// times are the bounds of the search's time in milliseconds, the second one exclusive.
func (s *search) times() (from, to int64) {
	from, to = math.MinInt64, math.MaxInt64
	if q := s.f.Search; q != nil && !q.Since.IsZero() {
		from = milliseconds(q.Since)
	}
	if q := s.f.Search; q != nil && !q.Until.IsZero() {
		to = milliseconds(q.Until)
	}
	return from, to
}

// headers are the entries of a part whose header the filter selects.
func (s *search) headers(ctx context.Context, p part, n int) ([]uint64, error) {
	from, to := s.times()
	q, args := "SELECT seq FROM entry WHERE seq > ? AND seq < ? AND at >= ? AND at < ?", []any{int64(p.low), int64(p.high), from, to}
	if len(s.f.Kinds) > 0 {
		q += " AND kind IN (?" + strings.Repeat(", ?", len(s.f.Kinds)-1) + ")"
		for _, k := range s.f.Kinds {
			args = append(args, string(k))
		}
	}
	return seqsOf(ctx, s.log.reader, q, args, s.f.Newest, n)
}

// milliseconds is the first whole millisecond that is not before t: entries have no finer time.
func milliseconds(t time.Time) int64 {
	ms := t.UnixMilli()
	if time.UnixMilli(ms).Before(t) {
		ms++
	}
	return ms
}

func seqsOf(ctx context.Context, q querier, text string, args []any, newest bool, n int) ([]uint64, error) {
	text += " ORDER BY seq"
	if newest {
		text += " DESC"
	}
	rows, err := q.QueryContext(ctx, text+" LIMIT ?", append(args, n)...)
	return scanSeqs(rows, err)
}

func scanSeqs(rows *sql.Rows, err error) (seqs []uint64, _ error) {
	if err != nil {
		return nil, err
	}
	for rows.Next() {
		var seq int64
		if err := rows.Scan(&seq); err != nil {
			return nil, errors.Join(err, rows.Close())
		}
		seqs = append(seqs, uint64(seq))
	}
	return seqs, errors.Join(rows.Err(), rows.Close())
}

// inTime are those entries of a chunk that were written in the time of the search. The journal itself is asked only about those
// beside which others were written at another time.
func (s *search) inTime(ctx context.Context, c *chunk, seqs []uint64) ([]uint64, error) {
	from, to := s.times()
	if c.early >= from && c.late < to || len(seqs) == 0 {
		return seqs, nil
	}
	moments, err := s.view.moments(ctx, c)
	if err != nil {
		return nil, err
	}
	var some, ask []uint64
	for _, seq := range seqs {
		switch m := moments[seq>>momentBits-c.first>>momentBits]; {
		case m.late < from || m.early >= to:
		case m.early >= from && m.late < to:
			some = append(some, seq)
		default:
			ask = append(ask, seq)
		}
	}
	if len(ask) > 0 {
		asked, err := seqsOf(ctx, s.log.reader, "SELECT seq FROM entry WHERE seq IN (SELECT value FROM json_each(?)) AND at >= ? AND at < ?",
			[]any{list(ask), from, to}, s.f.Newest, -1)
		if err != nil {
			return nil, err
		}
		some = append(some, asked...)
		slices.Sort(some)
		if s.f.Newest {
			slices.Reverse(some)
		}
	}
	return some, nil
}

// list is a JSON array for json_each.
func list(seqs []uint64) string {
	b := []byte{'['}
	for i, s := range seqs {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendUint(b, s, 10)
	}
	return string(append(b, ']'))
}
