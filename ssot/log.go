// Package ssot is the single source of truth: the append-only journal. [Log] is its contract; the stores live in the packages
// below, each passing the conformance suite of ssottest.
package ssot

import (
	"context"
	"errors"

	"arbiter/amp"
)

// The sentinels of a Log.
var (
	// ErrConflict says that the id of a record is stored with other bytes.
	ErrConflict = errors.New("the id is stored with other bytes")
	// ErrClosed says that the log was closed.
	ErrClosed = errors.New("the log is closed")
	// ErrFull says that the disk is full: nothing was stored, and appending works again when there is space.
	ErrFull = errors.New("no space is left for the journal")
	// ErrInvalid says that a record cannot be folded: its body is not what its kind says, or a field of its header cannot be
	// stored. It was not stored.
	ErrInvalid = errors.New("the record does not fit into the journal")
	// ErrBusy says that the queue of appends stayed full for 2 seconds: nothing was stored, and the same records can be sent again.
	ErrBusy = errors.New("the journal is busy")
	// ErrFailed says that the store's file could not be written or synced. Whether the records under way are stored is known when
	// the log is opened again; every later Append fails with it too.
	ErrFailed = errors.New("the journal stopped after an input/output error")
)

// MaxPage is the most entries that one Read returns, and how many it returns when the filter has no limit.
const MaxPage = 1000

// Appended is what became of one record.
type Appended struct {
	Entry amp.Entry
	// Fresh is false when the id was stored before with the same bytes; Entry is then the first one.
	Fresh bool
	// Err is ErrConflict when the id is stored with other bytes, ErrInvalid when the record cannot be folded; the other records
	// are not affected. With ErrConflict, Entry is the one that is stored.
	Err error
}

// Log is an append-only journal. It is safe for concurrent use.
type Log interface {
	// Append stores the records in order after every entry appended before them, durable when it returns, and reports each one's
	// entry. A record whose ID is stored with the same bytes changes nothing and is reported with its first entry and Fresh ==
	// false; the same ID with other bytes or another kind is [ErrConflict] for that record alone, and a record that cannot be
	// folded is [ErrInvalid] for that record alone. The others are stored all or none. On an error nothing is acknowledged.
	Append(ctx context.Context, records []amp.Record) ([]Appended, error)
	// Read returns the entries that the filter selects, ascending by seq, or descending with Newest, at most [MaxPage] of them.
	// The caller owns them.
	Read(ctx context.Context, f amp.Filter) ([]amp.Entry, error)
	// Head is the last entry's seq and hash.
	Head(ctx context.Context) (amp.Head, error)
	// Close waits for the appends under way. Later calls fail with ErrClosed.
	Close() error
}

// Boarder is a Log that keeps the fold of its entries as a projection, so that opening does not replay the journal.
type Boarder interface {
	// Board returns the fold of all entries at the log's head. The caller owns it.
	Board(ctx context.Context) (*amp.Board, error)
}
