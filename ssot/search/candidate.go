package search

import (
	"context"

	"arbiter/amp"
	"arbiter/ssot"
)

const (
	// lookMore is how many candidates are looked at for the sake of the count alone.
	lookMore = 25
	// candidatePage is how many candidates are looked at together at first, candidateMost when few of those before them matched, as long
	// as they have about candidateBytes at most.
	candidatePage  = 128
	candidateMost  = 1 << 10
	candidateBytes = 4 << 20
)

// want is how many candidates to take at once.
func (s *Search) want(exact bool) int {
	switch {
	case exact && s.Count:
		return ssot.MaxCount + 1 - s.out.Count
	case exact:
		return s.limit - len(s.out.Entries)
	}
	if left := s.limit - len(s.out.Entries); left > 0 {
		return max(s.more, min(candidatePage, max(16, 2*left)))
	}
	return max(16, lookMore-s.looked)
}

// take takes candidates; exact says that all of them match.
func (s *Search) take(ctx context.Context, seqs []uint64, exact bool) error {
	if len(seqs) == 0 {
		return nil
	}
	if exact {
		return s.takeExact(ctx, seqs)
	}
	return s.takeEach(ctx, seqs)
}

// takeExact takes candidates that match for certain.
func (s *Search) takeExact(ctx context.Context, seqs []uint64) error {
	read := seqs[:min(len(seqs), s.limit-len(s.out.Entries))]
	entries, err := s.entries(ctx, read)
	if err != nil {
		return err
	}
	for i := range entries {
		if ssot.Match(s.Filter, &entries[i]) {
			s.out.Entries = append(s.out.Entries, entries[i])
			s.out.Count++
		}
	}
	if rest := seqs[len(read):]; len(s.out.Entries) < s.limit && len(rest) > 0 {
		s.exact, s.wrong = false, true
		return s.takeEach(ctx, rest)
	}
	s.out.Count += len(seqs) - len(read)
	s.out.More = s.out.More || len(seqs) > len(read)
	s.settle()
	return nil
}

// takeEach takes those candidates that match.
func (s *Search) takeEach(ctx context.Context, seqs []uint64) error {
	before, size := s.out.Count, 0
	entries, err := s.entries(ctx, seqs)
	if err != nil {
		return err
	}
	for i := range entries {
		size += len(entries[i].Body)
		if s.done {
			s.out.Capped = true
			return nil
		}
		if len(s.out.Entries) == s.limit {
			s.looked++
		}
		if !ssot.Match(s.Filter, &entries[i]) {
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
	if s.more = 0; (s.out.Count-before)*8 < len(seqs) {
		s.more = min(2*len(seqs), candidateMost, candidateBytes*len(seqs)/(size+1))
	}
	return nil
}

func (s *Search) entries(ctx context.Context, seqs []uint64) ([]amp.Entry, error) {
	if len(seqs) == 0 {
		return nil, nil
	}
	return s.Journal.Entries(ctx, seqs, s.Filter.Newest)
}

func (s *Search) settle() {
	s.done = s.out.Count > ssot.MaxCount || !s.Count && len(s.out.Entries) == s.limit
}
