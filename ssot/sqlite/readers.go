package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"sync"
)

const (
	readerParams = "mode=ro&_busy_timeout=2000&_query_only=1"
	mostReaders  = 4
	// mostAsked is how many statements are kept: there are fewer texts, unless filters name kinds in many ways.
	mostAsked = 64
)

// readers are the connections that read, with their statements.
type readers struct {
	*sql.DB
	mu    sync.Mutex
	asked map[string]*sql.Stmt
}

func openReaders(path, more string) (*readers, error) {
	db, err := sql.Open("sqlite", dsn(path, readerParams+more))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(mostReaders)
	db.SetMaxIdleConns(mostReaders)
	return &readers{DB: db, asked: map[string]*sql.Stmt{}}, nil
}

// Close closes the statements and the connections.
func (r *readers) Close() (err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.asked {
		err = errors.Join(err, s.Close())
	}
	clear(r.asked)
	return errors.Join(err, r.DB.Close())
}

// ask runs a text that is asked again and again, prepared once: to prepare it takes as long as a short answer. It has no LIMIT with a
// parameter, since SQLite prepares such a statement anew each time; who asks ends the rows early.
func (r *readers) ask(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
	s, err := r.prepared(ctx, text) //nolint:sqlclosecheck // Close does
	switch {
	case err != nil:
		return nil, err
	case s == nil:
		return r.QueryContext(ctx, text, args...)
	}
	return s.QueryContext(ctx, args...)
}

// prepared is the statement of a text, nil when there are too many. Nobody waits for the preparing of another.
func (r *readers) prepared(ctx context.Context, text string) (*sql.Stmt, error) {
	r.mu.Lock()
	s, full := r.asked[text], len(r.asked) >= mostAsked
	r.mu.Unlock()
	if s != nil || full {
		return s, nil
	}
	s, err := r.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if other := r.asked[text]; other != nil {
		return other, s.Close() //nolint:sqlclosecheck // one that is kept is closed by Close
	}
	r.asked[text] = s
	return s, nil
}
