package sqlite

import (
	"context"

	"arbiter/amp"
	"arbiter/ssot"
)

const (
	// lookMore is how many candidates are looked at for the sake of the count alone.
	lookMore = 25
	// candidatePage is how many candidates are looked at together.
	candidatePage = 128
)

// want is how many candidates to take at once.
func (s *search) want(exact bool) int {
	switch {
	case exact && s.count:
		return ssot.MaxCount + 1 - s.out.Count
	case exact:
		return s.limit - len(s.out.Entries)
	}
	if left := s.limit - len(s.out.Entries); left > 0 {
		return min(candidatePage, max(16, 2*left))
	}
	return max(16, lookMore-s.looked)
}

// take takes candidates; exact says that all of them match.
func (s *search) take(ctx context.Context, seqs []uint64, exact bool) error {
	if exact {
		return s.takeExact(ctx, seqs)
	}
	return s.takeEach(ctx, seqs)
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
	return entries(l.reader.ask(ctx, q, list(seqs)))
}
