package search

import (
	"bytes"
	"context"
	"slices"

	"arbiter/amp"
)

// clause is what an entry must have one term of.
type clause struct {
	terms []amp.Term
	// found is how many entries of the chunks that it was asked of have one.
	found, asked int
}

// selected are entries of a chunk.
type selected struct {
	*Chunk
	places bitset
	some   bitset // those with one of the terms that are asked for
}

// seqs are the entries, ascending.
func (s *selected) seqs() []uint64 {
	places := s.places.places()
	all := make([]uint64, len(places))
	for i, k := range places {
		all[i] = s.First + uint64(k)
	}
	return all
}

// narrow leaves of each chunk the entries that have one term of every clause and none of without, and drops chunks that have none.
func (s *Search) narrow(ctx context.Context, chunks []Chunk) (left []selected, err error) {
	for i := range chunks {
		left = append(left, selected{Chunk: &chunks[i]})
	}
	for i := range s.clauses {
		c := &s.clauses[i]
		c.asked += len(left)
		if err := s.either(ctx, left, c.terms); err != nil {
			return nil, err
		}
		for k := range left {
			l := &left[k]
			c.found += l.some.count()
			if l.places == nil {
				l.places, l.some = l.some, nil
			} else {
				l.places.and(l.some)
			}
		}
		if left = slices.DeleteFunc(left, func(l selected) bool { return l.places.empty() }); len(left) == 0 {
			return nil, nil
		}
	}
	if len(s.without) > 0 {
		if err := s.either(ctx, left, s.without); err != nil {
			return nil, err
		}
		for k := range left {
			left[k].places.andNot(left[k].some)
		}
	}
	return left, nil
}

// either puts the entries that have one of the terms into some.
func (s *Search) either(ctx context.Context, left []selected, terms []amp.Term) error {
	firsts := make([]uint64, len(left))
	for i := range left {
		l := &left[i]
		if firsts[i] = l.First; l.some == nil {
			l.some = newBitset(l.size())
		} else {
			clear(l.some)
		}
	}
	for _, t := range terms {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := s.term(ctx, left, firsts, t); err != nil {
			return err
		}
	}
	return nil
}

// term adds the entries that have a term to some.
func (s *Search) term(ctx context.Context, left []selected, firsts []uint64, t amp.Term) error {
	low, high := []byte(t.Text), []byte(t.Text+"\x00")
	if t.Prefix {
		high = []byte(t.Text + "\xff") // behind every term that goes on
	}
	return s.Store.Sheets(ctx, firsts, low, high, func(chunk int, data []byte) error {
		l := &left[chunk]
		var bad error
		err := eachTerm(data, func(term, list []byte, bitmap bool) bool {
			if bytes.Compare(term, low) < 0 {
				return true
			}
			if bytes.Compare(term, high) >= 0 {
				return false
			}
			bad = l.some.add(list, bitmap, l.size())
			return bad == nil
		})
		if err != nil {
			return err
		}
		return bad
	})
}
