package main

import (
	"context"
	"errors"
	"time"

	"arbiter/amp"
	"arbiter/server"
	"arbiter/ssot"
)

// look reads: from the coordinator when one runs, else from the journal itself, so that looking starts nothing.
type look struct {
	home   string
	client *server.Client
	// patience is how long a coordinator may take to say that it is there; complain says that one did not.
	patience time.Duration
	complain func(string)
	// asked says that it was, found what came of it: nil when it answers.
	asked bool
	found error
	// open opens the journal, log is that when the coordinator did not answer.
	open func(context.Context) (journal, string, error)
	log  journal
}

// newLook returns a reader of the data directory. The caller closes it.
func (a *app) newLook() (*look, error) {
	c, err := a.client()
	l := &look{home: a.url(), client: c, open: a.openJournal, patience: answerTime, complain: a.complain}
	if err != nil || c.Remote() != "" {
		return l, err
	}
	l.home, err = a.home()
	return l, err
}

// Status is what the coordinator says of itself.
func (l *look) Status(ctx context.Context) (amp.CoordinatorState, error) {
	state, err := hail(ctx, l.client, l.home, l.patience)
	l.asked, l.found = true, err
	return state, err
}

// away reports whether the coordinator that runs here stands still, so that the journal itself is read.
func (l *look) away(ctx context.Context) bool {
	if !l.asked {
		if _, err := l.Status(ctx); l.fallen(err) {
			l.complain("arbiter: " + err.Error() + "; this is read from the journal itself")
		}
	}
	return l.fallen(l.found)
}

// fallen reports that an error is of a coordinator of this data directory that does not answer.
func (l *look) fallen(err error) bool {
	x, ok := errors.AsType[*silentError](err)
	return ok && x.held != nil
}

// Query answers a question. Without a coordinator, board and entries are read from the journal; the rest needs one.
func (l *look) Query(ctx context.Context, q amp.Query) (amp.Page, error) {
	away := l.away(ctx)
	err := l.found
	if _, silent := errors.AsType[*silentError](err); silent && !away { // one elsewhere, whose journal is not here
		return amp.Page{}, err
	}
	if !away {
		var page amp.Page
		if page, err = l.client.Query(ctx, q); errors.Is(err, ssot.ErrUnreachable) {
			return page, &unsentError{err}
		}
		if !errors.Is(err, server.ErrNotRunning) {
			return page, err
		}
	}
	if q.Kind != amp.QueryBoard && q.Kind != amp.QueryEntries {
		return amp.Page{}, err
	}
	if l.log == nil {
		log, _, err := l.open(ctx)
		if _, ok := errors.AsType[*notFoundError](err); ok {
			return amp.Page{Board: amp.NewBoard()}, nil
		}
		if err != nil {
			return amp.Page{}, err
		}
		l.log = log
	}
	return readPage(ctx, l.log, q)
}

// readPage is the coordinator's answer, read from a log.
func readPage(ctx context.Context, log ssot.Log, q amp.Query) (amp.Page, error) {
	if q.Kind == amp.QueryBoard {
		b, err := ssot.Fold(ctx, log)
		if err != nil {
			return amp.Page{}, err
		}
		return amp.Page{Head: b.Head, Board: b}, nil
	}
	return ssot.Page(ctx, log, q.Filter)
}

// Close ends the reading.
func (l *look) Close() error {
	if l.log == nil {
		return nil
	}
	return l.log.Close()
}

// querier answers questions: a look, or a client.
type querier interface {
	Query(ctx context.Context, q amp.Query) (amp.Page, error)
}

// board is the board of now.
func board(ctx context.Context, q querier) (*amp.Board, error) {
	page, err := q.Query(ctx, amp.Query{Kind: amp.QueryBoard})
	if err != nil {
		return nil, err
	}
	if page.Board == nil {
		return nil, errors.New("the coordinator's answer holds no board")
	}
	return page.Board, nil
}

// looking runs f with a reader and closes it.
func (a *app) looking(f func(*look) error) error {
	l, err := a.newLook()
	if err != nil {
		return err
	}
	return errors.Join(f(l), l.Close())
}
