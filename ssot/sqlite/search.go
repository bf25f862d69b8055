package sqlite

import (
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

const (
	// lookMore is how many candidates are looked at for the sake of the count alone.
	lookMore = 200
	// candidatePage is how many candidates are looked at together.
	candidatePage = 128
	// maxClauses is how many things the index is asked for at once; the rest is for Match.
	maxClauses = 24
)

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

// Index waits until what is stored now is in the index of searches.
func (l *Log) Index(ctx context.Context) error {
	if err := l.enter(); err != nil {
		return err
	}
	defer l.leave()
	if l.writer == nil {
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
	clauses [][]amp.Term
	without []amp.Term
	exact   bool

	out    ssot.Found
	looked int // candidates behind the page
	done   bool
}

func (l *Log) find(ctx context.Context, f *amp.Filter, count bool) (_ ssot.Found, err error) {
	s := &search{log: l, f: f, limit: ssot.Limit(f), count: count}
	if f.ID != "" {
		found, err := l.page(ctx, &amp.Filter{ID: f.ID}, 0, 1)
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
	s.clauses, _, _ = header.Clauses()
	said, without, exact := s.f.Search.Clauses()
	s.clauses, s.without, s.exact = append(s.clauses, said...), without, exact && s.f.Text == ""
	if len(s.clauses) > maxClauses || len(s.without) > maxClauses {
		s.clauses, s.without, s.exact = s.clauses[:min(len(s.clauses), maxClauses)], nil, false
	}
	slices.SortStableFunc(s.clauses, func(a, b []amp.Term) int { return cost(a) - cost(b) })
}

// cost orders clauses: a long word is likely rare, and what is rare ends the look at a chunk.
func cost(clause []amp.Term) int { return -len(clause[0].Text) }

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

// lookUp goes through the chunks of the index that have entries of a part.
func (s *search) lookUp(ctx context.Context, p part) error {
	chunks, err := s.view.chunks(ctx, p, s.f.Newest)
	if err != nil {
		return err
	}
	from, to := s.times()
	for i := range chunks {
		c := &chunks[i]
		if s.done {
			break
		}
		if c.late < from || c.early >= to {
			continue
		}
		seqs, err := s.view.seqs(ctx, c, s.clauses, s.without)
		if err != nil {
			return err
		}
		seqs = slices.DeleteFunc(seqs, func(seq uint64) bool { return seq <= p.low || seq >= p.high })
		if s.f.Newest {
			slices.Reverse(seqs)
		}
		timed := s.exact && (c.early < from || c.late >= to)
		for len(seqs) > 0 && !s.done {
			some := seqs[:min(len(seqs), s.want(s.exact))]
			seqs = seqs[len(some):]
			if timed {
				if some, err = s.inTime(ctx, some); err != nil {
					return err
				}
			}
			if err := s.take(ctx, some, s.exact); err != nil {
				return err
			}
		}
	}
	return nil
}

// want is how many candidates to take at once.
func (s *search) want(exact bool) int {
	switch {
	case exact && s.count:
		return ssot.MaxCount + 1 - s.out.Count
	case exact:
		return s.limit - len(s.out.Entries)
	}
	return min(candidatePage, max(16, 2*(s.limit-len(s.out.Entries))))
}

// take takes candidates; exact says that all of them match.
func (s *search) take(ctx context.Context, seqs []uint64, exact bool) error {
	if exact {
		return s.takeExact(ctx, seqs)
	}
	return s.takeEach(ctx, seqs)
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

// takeExact takes candidates that match for certain.
func (s *search) takeExact(ctx context.Context, seqs []uint64) error {
	read := seqs[:min(len(seqs), s.limit-len(s.out.Entries))]
	entries, err := s.log.these(ctx, read, s.f.Newest)
	if err != nil {
		return err
	}
	for i := range entries {
		if ssot.Match(s.f, &entries[i]) {
			s.out.Entries = append(s.out.Entries, entries[i])
			s.out.Count++
		}
	}
	if rest := seqs[len(read):]; len(s.out.Entries) < s.limit && len(rest) > 0 {
		s.exact = false // the index has what does not match
		s.log.index.renew()
		return s.takeEach(ctx, rest)
	}
	s.out.Count += len(seqs) - len(read)
	s.out.More = s.out.More || len(seqs) > len(read)
	s.settle()
	return nil
}

// takeEach takes those candidates that match.
func (s *search) takeEach(ctx context.Context, seqs []uint64) error {
	entries, err := s.log.these(ctx, seqs, s.f.Newest)
	if err != nil {
		return err
	}
	for i := range entries {
		if s.done {
			s.out.Capped = true
			return nil
		}
		if len(s.out.Entries) == s.limit {
			s.looked++
		}
		if !ssot.Match(s.f, &entries[i]) {
			continue
		}
		s.out.Count++
		if len(s.out.Entries) < s.limit {
			s.out.Entries = append(s.out.Entries, entries[i])
		} else {
			s.out.More = true
		}
		s.settle()
	}
	if len(s.out.Entries) == s.limit && s.out.More && s.looked >= lookMore {
		s.out.Capped, s.done = true, true
	}
	return nil
}

func (s *search) settle() {
	s.done = s.out.Count > ssot.MaxCount || !s.count && len(s.out.Entries) == s.limit
}

// inTime are those of the entries that were written in the time of the search.
func (s *search) inTime(ctx context.Context, seqs []uint64) ([]uint64, error) {
	from, to := s.times()
	return seqsOf(ctx, s.log.reader, "SELECT seq FROM entry WHERE seq IN (SELECT value FROM json_each(?)) AND at >= ? AND at < ?",
		[]any{list(seqs), from, to}, s.f.Newest, -1)
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

// these are the entries with these seqs, in the order of the answer.
func (l *Log) these(ctx context.Context, seqs []uint64, newest bool) ([]amp.Entry, error) {
	if len(seqs) == 0 {
		return nil, nil
	}
	q := "SELECT " + entryColumns + ` FROM entry e LEFT JOIN task_key k ON k.key = e.task
		WHERE e.seq IN (SELECT value FROM json_each(?)) ORDER BY e.seq`
	if newest {
		q += " DESC"
	}
	return entries(l.reader.QueryContext(ctx, q, list(seqs)))
}
