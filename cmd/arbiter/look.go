package main

import (
	"context"
	"errors"

	"arbiter/amp"
	"arbiter/server"
	"arbiter/ssot"
)

// look reads: from the coordinator when one runs, else from the journal itself, so that looking starts nothing.
type look struct {
	home   string
	client *server.Client
	// open opens the journal, log is that when the coordinator did not answer.
	open func(context.Context) (journal, string, error)
	log  journal
}

// newLook returns a reader of the data directory. The caller closes it.
func (a *app) newLook() (*look, error) {
	c, err := a.client()
	if err != nil || c.Remote() != "" {
		return &look{home: a.url(), client: c, open: a.openJournal}, err
	}
	home, err := a.home()
	return &look{home: home, client: c, open: a.openJournal}, err
}

// Query answers a question. Without a coordinator, board and entries are read from the journal; the rest needs one.
func (l *look) Query(ctx context.Context, q amp.Query) (amp.Page, error) {
	page, err := l.client.Query(ctx, q)
	if !errors.Is(err, server.ErrNotRunning) {
		return page, err
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
