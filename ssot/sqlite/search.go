package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
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
}

func (s *search) result() ssot.Found {
	if s.out.Count > ssot.MaxCount {
		s.out.Count, s.out.Capped = ssot.MaxCount, true
	}
	return s.out
}

// look goes through a part until all that is asked for is known.
func (s *search) look(ctx context.Context, p part) error {
	if p.indexed {
		var err error
		if p, err = s.view.during(ctx, s.f.Search, p); err != nil {
			return err
		}
	}
	for p.low+1 < p.high && !s.done {
		exact := s.exact && p.indexed
		n := s.want(exact)
		seqs, rest, err := s.candidates(ctx, p, n)
		if err != nil {
			return err
		}
		if exact {
			err = s.takeExact(ctx, seqs)
		} else {
			err = s.takeEach(ctx, seqs)
		}
		if err != nil {
			return err
		}
		p = rest
	}
	return nil
}

// want is how many candidates to ask for at once.
func (s *search) want(exact bool) int {
	switch {
	case exact && s.count:
		return ssot.MaxCount + 1 - s.out.Count
	case exact:
		return s.limit - len(s.out.Entries)
	}
	return min(candidatePage, max(16, 2*(s.limit-len(s.out.Entries))))
}

// candidates are up to n entries of a part that may match, in the order of the answer, and what is left of the part. There may be
// none before the part ends.
func (s *search) candidates(ctx context.Context, p part, n int) (seqs []uint64, rest part, err error) {
	within := p
	if p.indexed && len(s.clauses) > 0 {
		block := (p.low + 1) >> blockBits
		if s.f.Newest {
			block = (p.high - 1) >> blockBits
		}
		within.low, within.high = max(p.low, max(block<<blockBits, 1)-1), min(p.high, (block+1)<<blockBits)
		seqs, err = s.view.seqs(ctx, s.expression(block), within, s.f.Newest, n)
	} else {
		if s.f.Newest {
			within.low = max(p.low, p.high-min(p.high, scanWindow+1))
		} else {
			within.high = min(p.high, p.low+scanWindow+1)
		}
		seqs, err = s.headers(ctx, within, n)
	}
	if err != nil {
		return nil, p, err
	}
	rest = p
	switch last := len(seqs) - 1; {
	case len(seqs) == n && s.f.Newest:
		rest.high = seqs[last]
	case len(seqs) == n:
		rest.low = seqs[last]
	case s.f.Newest:
		rest.high = within.low + 1
	default:
		rest.low = within.high - 1
	}
	return seqs, rest, nil
}

// expression asks the full-text index for the clauses in one block.
func (s *search) expression(block uint64) string {
	name := blockName(block)
	var b strings.Builder
	either := func(terms []amp.Term) {
		b.WriteByte('(')
		for i, t := range terms {
			if i > 0 {
				b.WriteString(" OR ")
			}
			b.WriteString(`"` + name + t.Text + `"`)
			if t.Prefix {
				b.WriteByte('*')
			}
		}
		b.WriteByte(')')
	}
	b.WriteByte('(')
	for i, c := range s.clauses {
		if i > 0 {
			b.WriteString(" AND ")
		}
		either(c)
	}
	b.WriteByte(')')
	if len(s.without) > 0 {
		b.WriteString(" NOT ")
		either(s.without)
	}
	return b.String()
}

// headers are the entries of a part whose header the filter selects.
func (s *search) headers(ctx context.Context, p part, n int) ([]uint64, error) {
	q, args := "SELECT seq FROM entry WHERE seq > ? AND seq < ?", []any{int64(p.low), int64(p.high)}
	if s.f.Search != nil {
		if t := s.f.Search.Since; !t.IsZero() {
			q, args = q+" AND at >= ?", append(args, milliseconds(t))
		}
		if t := s.f.Search.Until; !t.IsZero() {
			q, args = q+" AND at < ?", append(args, milliseconds(t))
		}
	}
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

// takeExact takes candidates that match for certain, but for their time.
func (s *search) takeExact(ctx context.Context, seqs []uint64) error {
	if q := s.f.Search; len(s.clauses) > 0 && q != nil && (!q.Since.IsZero() || !q.Until.IsZero()) {
		var err error
		if seqs, err = s.inTime(ctx, seqs); err != nil {
			return err
		}
	}
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
	q, args := "SELECT seq FROM entry WHERE seq IN (SELECT value FROM json_each(?))", []any{list(seqs)}
	if t := s.f.Search.Since; !t.IsZero() {
		q, args = q+" AND at >= ?", append(args, milliseconds(t))
	}
	if t := s.f.Search.Until; !t.IsZero() {
		q, args = q+" AND at < ?", append(args, milliseconds(t))
	}
	return seqsOf(ctx, s.log.reader, q, args, s.f.Newest, -1)
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

// view is the index as of one moment.
type view struct {
	index *index
	tx    *sql.Tx
	// seq is the last entry in it.
	seq uint64
	// ask is prepared when the index is first asked.
	ask *sql.Stmt
}

// view opens the index for one search, nil when there is none that can be used.
func (x *index) view(ctx context.Context) *view {
	x.mu.RLock()
	v := &view{index: x}
	ok := false
	defer func() {
		if !ok {
			if v.tx != nil {
				_ = v.tx.Rollback()
			}
			x.mu.RUnlock()
		}
	}()
	db := x.db()
	if db == nil || x.again.Load() {
		return nil
	}
	var err error
	if v.tx, err = db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true}); err != nil {
		return nil
	}
	if v.seq, err = x.reach(ctx, v.tx); err != nil {
		if ruined(err) && x.ended != nil {
			x.renew()
		}
		return nil
	}
	ok = v.seq > 0
	if !ok {
		return nil
	}
	return v
}

func (v *view) close() (err error) {
	defer v.index.mu.RUnlock()
	if v.ask != nil {
		err = v.ask.Close()
	}
	return errors.Join(err, v.tx.Rollback())
}

// seqs asks the full-text index.
func (v *view) seqs(ctx context.Context, expression string, p part, newest bool, n int) ([]uint64, error) {
	if v.ask == nil {
		order := " ORDER BY rowid LIMIT ?"
		if newest {
			order = " ORDER BY rowid DESC LIMIT ?"
		}
		ask, err := v.tx.PrepareContext(context.Background(), "SELECT rowid FROM word WHERE word MATCH ? AND rowid > ? AND rowid < ?"+order)
		if err != nil {
			return nil, err
		}
		v.ask = ask
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	// A context that can end would be watched by the driver at every step; one block takes a few milliseconds at most.
	rows, err := v.ask.QueryContext(context.Background(), expression, int64(p.low), int64(p.high), n)
	return scanSeqs(rows, err)
}

// during narrows a part down to the spans that have entries of the search's time.
func (v *view) during(ctx context.Context, q *amp.Search, p part) (part, error) {
	if q == nil || q.Since.IsZero() && q.Until.IsZero() {
		return p, nil
	}
	from, to := int64(-1<<62), int64(1<<62)
	if !q.Since.IsZero() {
		from = milliseconds(q.Since)
	}
	if !q.Until.IsZero() {
		to = milliseconds(q.Until)
	}
	var first, last sql.NullInt64
	err := v.tx.QueryRowContext(ctx, "SELECT min(span), max(span) FROM span WHERE high >= ? AND low < ?", from, to).Scan(&first, &last)
	if err != nil {
		return p, fmt.Errorf("read the spans of the index: %w", err)
	}
	if !first.Valid {
		p.high = p.low
		return p, nil
	}
	p.low = max(p.low, max(uint64(first.Int64)<<spanBits, 1)-1)
	p.high = min(p.high, uint64(last.Int64+1)<<spanBits)
	return p, nil
}
