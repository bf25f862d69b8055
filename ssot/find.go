package ssot

import (
	"context"

	"arbiter/amp"
)

// MaxCount is up to where the matches of a search are counted.
const MaxCount = 1000

// Found is one page of what a filter selects, and how much there is in all.
type Found struct {
	// Entries are what Read would return; More says that there are others behind them.
	Entries []amp.Entry
	More    bool
	// Count is how many entries the filter selects, whatever its limit; with Capped there are more than that, and counting
	// ended at [MaxCount] or where it would have taken long.
	Count  int
	Capped bool
}

// Finder is a Log that counts what a filter selects faster than by reading it.
type Finder interface {
	// Find reads as [Log.Read] does and counts.
	Find(ctx context.Context, f amp.Filter) (Found, error)
}

// Indexer is a Log with an index of its entries, which follows the journal and never delays it.
type Indexer interface {
	// Indexed is the last entry in the index; those behind it are looked through one by one.
	Indexed() uint64
}

// Find reads one page of what the filter selects and counts all of it, up to [MaxCount].
func Find(ctx context.Context, log Log, f amp.Filter) (Found, error) {
	if x, ok := log.(Finder); ok {
		return x.Find(ctx, f)
	}
	page, err := log.Read(ctx, f)
	if err != nil {
		return Found{}, err
	}
	out := Found{Entries: page, Count: len(page)}
	for limit := Limit(&f); len(page) == limit && out.Count <= MaxCount; out.Count += len(page) {
		limit = MaxCount + 1 - out.Count
		if page, err = log.Read(ctx, behind(f, page, max(limit, 1))); err != nil {
			return Found{}, err
		}
	}
	out.More = out.Count > len(out.Entries)
	if out.Capped = out.Count > MaxCount; out.Capped {
		out.Count = MaxCount
	}
	return out, nil
}

// behind is the filter of the page after one.
func behind(f amp.Filter, page []amp.Entry, limit int) amp.Filter {
	last := page[len(page)-1].Seq
	if f.Limit = limit; f.Newest {
		f.Before = last
	} else {
		f.After = last
	}
	return f
}

// Page answers a query for entries. Only what a search finds is counted.
func Page(ctx context.Context, log Log, f amp.Filter) (amp.Page, error) {
	head, err := log.Head(ctx)
	if err != nil {
		return amp.Page{}, err
	}
	if !f.Search.Empty() {
		found, err := Find(ctx, log, f)
		return amp.Page{Head: head, Entries: found.Entries, More: found.More, Count: found.Count, CountCapped: found.Capped}, err
	}
	entries, err := log.Read(ctx, f)
	if err != nil || len(entries) < Limit(&f) {
		return amp.Page{Head: head, Entries: entries}, err
	}
	next, err := log.Read(ctx, behind(f, entries, 1))
	return amp.Page{Head: head, Entries: entries, More: len(next) > 0}, err
}
