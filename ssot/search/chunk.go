package search

import "context"

// Chunk is a run of entries whose terms are kept together.
type Chunk struct {
	// First and Last are the seqs of its first and last entry.
	First, Last uint64
	// Early and Late are the earliest and the latest time of its entries, in milliseconds since 1970.
	Early, Late int64
}

func (c *Chunk) size() int { return int(c.Last-c.First) + 1 }

// sound is [ErrBroken] when chunks, newest first, are not all those between one entry and another.
func sound(chunks []Chunk, first, last uint64) error {
	if len(chunks) == 0 {
		if first <= last {
			return ErrBroken
		}
		return nil
	}
	if chunks[0].Last < last || chunks[len(chunks)-1].First > first {
		return ErrBroken
	}
	for i, c := range chunks {
		if c.First < 1 || c.Last < c.First || c.Last-c.First >= maxChunk || i > 0 && c.Last+1 != chunks[i-1].First {
			return ErrBroken
		}
	}
	return nil
}

// Store holds an index as of one moment. It has rows of two kinds: chunks, each with a list of times, and their sheets.
type Store interface {
	// Chunks are those with an entry behind after and before before, newest first; at most limit of them when that is not 0.
	Chunks(ctx context.Context, after, before uint64, limit int) ([]Chunk, error)
	// Times is the list of times of the chunk that begins with an entry.
	Times(ctx context.Context, first uint64) ([]byte, error)
	// Sheets calls f with those sheets of some chunks, named by their first entries, whose terms may lie from low to before high: those with
	// such a first term, and for each chunk the last one with a first term not behind low. chunk is the place of the sheet's chunk in
	// firsts. The sheets of a chunk come in any order; data is valid during the call. An error of f ends the call and is returned.
	Sheets(ctx context.Context, firsts []uint64, low, high []byte, f func(chunk int, data []byte) error) error
}

// Writer changes an index in one transaction, which the caller commits.
type Writer interface {
	// Chunks and Times are those of [Store].
	Chunks(ctx context.Context, after, before uint64, limit int) ([]Chunk, error)
	Times(ctx context.Context, first uint64) ([]byte, error)
	// Take removes a chunk and returns its times and its sheets' data, by their first terms.
	Take(ctx context.Context, first uint64) (times []byte, sheets [][]byte, err error)
	// Put adds a chunk.
	Put(ctx context.Context, c *Chunk, times []byte, sheets []Sheet) error
}
