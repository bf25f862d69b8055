package ssot

import (
	"errors"
	"fmt"

	"arbiter/amp"
)

// ErrReadOnly says that the log was opened for reading.
var ErrReadOnly = errors.New("the journal was opened for reading only")

// DamagedError says that what is stored is not the journal that was written: it cannot be read, belongs to another program, or its
// entries do not follow each other. It is never repaired or replaced by itself.
type DamagedError struct {
	// Path names the file, or the database.
	Path string
	// Seq is the first entry that is wrong, 0 when that is not known.
	Seq uint64
	Why string
}

// Error names the file, the entry and the reason.
func (e *DamagedError) Error() string {
	if e.Seq == 0 {
		return fmt.Sprintf("journal %s is damaged: %s", e.Path, e.Why)
	}
	return fmt.Sprintf("journal %s is damaged at entry %d: %s", e.Path, e.Seq, e.Why)
}

// NewerError says that a newer version of Arbiter wrote the journal.
type NewerError struct {
	Path string
	// Have is the schema version of the store, Know the newest that this program knows.
	Have, Know int64
}

// Error names both versions.
func (e *NewerError) Error() string {
	return fmt.Sprintf("journal %s has schema version %d, this program knows %d: it was written by a newer version", e.Path, e.Have,
		e.Know)
}

// OlderError says that the journal cannot be read as it is: its tables are those of an older version. Whoever opens it for writing brings them
// up to date.
type OlderError struct {
	Path string
	// Have is the schema version of the store, Know the one that this program reads.
	Have, Know int64
}

// Error names both versions.
func (e *OlderError) Error() string {
	return fmt.Sprintf("journal %s has schema version %d, this program reads %d: it was written by an older version", e.Path, e.Have, e.Know)
}

// maxProblems is how many problems a report lists of each kind.
const maxProblems = 50

// Problem is one thing that is wrong with a journal.
type Problem struct {
	// Seq is the entry that is wrong, 0 when it is not about one.
	Seq  uint64 `json:"seq"`
	What string `json:"what"`
}

// Report is what a verification found.
type Report struct {
	// Head is the last entry that was read, Entries how many there are.
	Head    amp.Head `json:"head"`
	Entries uint64   `json:"entries"`
	// Damage is what is wrong with the entries, ascending by seq, at most 50: the first names the first bad entry.
	Damage []Problem `json:"damage"`
	// Projections is what a rebuild puts right: tables that are not the fold of the entries. It is not looked for in a damaged
	// journal.
	Projections []Problem `json:"projections"`
}

// Damaged notes what is wrong with an entry; 0 when it is not about one.
func (r *Report) Damaged(seq uint64, what string) {
	if len(r.Damage) < maxProblems {
		r.Damage = append(r.Damage, Problem{Seq: seq, What: what})
	}
}

// Stale notes what is wrong with a projection.
func (r *Report) Stale(seq uint64, format string, args ...any) {
	if len(r.Projections) < maxProblems {
		r.Projections = append(r.Projections, Problem{Seq: seq, What: fmt.Sprintf(format, args...)})
	}
}

// Err is nil for a journal that is whole, and else a *[DamagedError] with the first problem.
func (r *Report) Err(path string) error {
	for _, list := range [][]Problem{r.Damage, r.Projections} {
		if len(list) > 0 {
			return &DamagedError{Path: path, Seq: list[0].Seq, Why: list[0].What}
		}
	}
	return nil
}
