package postgres

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"arbiter/amp"
	"arbiter/ssot"
)

// searchVersion is raised when the terms of entries change, see [amp.Terms], or how they are written below.
const searchVersion = 1

const (
	// searchNear is how many entries at the beginning of a search are looked up one by one in the index: what is common is among them.
	searchNear = 1000
	// maxLexeme is how many bytes of a term are kept, below what the database takes of one.
	maxLexeme = 1000
	// The terms of an entry that has more are not kept: a list of terms may have 1 MB.
	maxLexemes     = 50_000
	maxLexemeBytes = 500_000
)

// near finds candidates in a narrow range, where the rows are looked through in their order; far lets the database find them by their terms,
// and only then puts them in order.
const (
	near = `SELECT seq FROM search_entry WHERE seq > $1 AND seq < $2 AND (terms IS NULL OR terms @@ $3::text::tsquery)`
	far  = `WITH found AS MATERIALIZED (` + near + `) SELECT seq FROM found`
)

// lexeme is a term as the database keeps it.
func lexeme(term string) string {
	if len(term) > maxLexeme {
		term = term[:maxLexeme]
	}
	return strings.ReplaceAll(strings.ToValidUTF8(term, "\uFFFD"), "\x00", "\uFFFD")
}

// lexemes are the terms of an entry; nil when there are too many.
func lexemes(e *amp.Entry) []string {
	seen := map[string]struct{}{}
	size := 0
	amp.Terms(e, func(term []byte) {
		if len(seen) > maxLexemes || size > maxLexemeBytes {
			return
		}
		l := lexeme(string(term))
		if _, there := seen[l]; !there && l != "" {
			seen[l] = struct{}{}
			size += len(l)
		}
	})
	if len(seen) > maxLexemes || size > maxLexemeBytes {
		return nil
	}
	all := make([]string, 0, len(seen))
	for l := range seen {
		all = append(all, l)
	}
	return all
}

// asked is what the index can tell of a search, in the language of the database; "" when that is nothing.
func asked(f *amp.Filter) string {
	if f.Search.Empty() {
		return ""
	}
	clauses, _, _ := f.Search.Clauses()
	var all []string
	for _, c := range clauses {
		var any []string
		for _, t := range c {
			l := lexeme(t.Text)
			if l == "" {
				return ""
			}
			l = "'" + strings.NewReplacer(`\`, `\\`, `'`, `''`).Replace(l) + "'"
			if t.Prefix {
				l += ":*"
			}
			any = append(any, l)
		}
		all = append(all, "("+strings.Join(any, " | ")+")")
	}
	return strings.Join(all, " & ")
}

// stretch is a part of the journal that is looked through in one way: after and before bound it, both apart.
type stretch struct {
	after, before uint64
	how           string // near, far, or "" for entry by entry
}

// stretches are the parts of the journal that a filter is about, in its order. reach is the last entry in the index,
// first how many of its entries are near.
func stretches(f *amp.Filter, reach, first uint64) []stretch {
	const end = math.MaxInt64
	low, high := f.After, min(cmp.Or(f.Before, end), end)
	var parts []stretch
	if f.Newest {
		begin := min(reach, high)
		begin -= min(begin, first)
		parts = []stretch{{reach, end, ""}, {begin, reach + 1, near}, {0, begin + 1, far}}
	} else {
		begin := min(low+first, reach)
		parts = []stretch{{0, begin + 1, near}, {begin, reach + 1, far}, {reach, end, ""}}
	}
	for i := range parts {
		parts[i].after, parts[i].before = max(parts[i].after, low), min(parts[i].before, high)
	}
	return slices.DeleteFunc(parts, func(p stretch) bool { return p.after+1 >= p.before })
}

// reach is the last entry in the index, 0 when there is none that this program can use.
func (l *Log) reach(ctx context.Context) (uint64, error) {
	var seq int64
	err := l.pool.QueryRow(ctx, "SELECT seq FROM search_reach WHERE version = $1", searchVersion).Scan(&seq)
	if c := code(err); errors.Is(err, pgx.ErrNoRows) || c == noTable || c == noRights {
		return 0, nil
	}
	return uint64(seq), err
}

// candidates are the first seqs of a stretch, in the order of a search, that the index does not rule out.
func (l *Log) candidates(ctx context.Context, p *stretch, ask string, newest bool) ([]int64, error) {
	order := ""
	if newest {
		order = " DESC"
	}
	rows, err := l.pool.Query(ctx, p.how+" ORDER BY seq"+order+" LIMIT $4", int64(p.after), int64(p.before), ask, scanWindow)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[int64])
}

// Indexed is the last entry in the index of searches, as far as was seen here; those behind it are looked through one by one.
func (l *Log) Indexed() uint64 { return l.indexed.Load() }

var _ ssot.Indexer = (*Log)(nil)
