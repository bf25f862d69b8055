package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"arbiter/amp"
	"arbiter/ssot"
	"arbiter/ssot/projection"
)

// Board is the fold of all entries at the head, read from the projections without replaying the journal. The caller owns it.
func (l *Log) Board(ctx context.Context) (*amp.Board, error) {
	if err := l.enter(); err != nil {
		return nil, err
	}
	defer l.leave()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	b, err := l.projected(ctx)
	if err != nil {
		return nil, l.readFault(ctx, err)
	}
	// Only a file that another version wrote, opened for reading, is behind here.
	if err := l.catch(ctx, b); err != nil {
		return nil, l.readFault(ctx, err)
	}
	return b, nil
}

// projected reads the board and its tasks as of one moment. With the projections of another version it is an empty board.
func (l *Log) projected(ctx context.Context) (b *amp.Board, err error) {
	tx, err := l.reader.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, tx.Rollback()) }()
	board, err := l.boardRow(ctx, tx)
	if err != nil {
		return nil, err
	}
	if board == nil {
		return amp.NewBoard(), nil
	}
	err = l.eachTask(ctx, tx, func(t *amp.Task) {
		board.Tasks[t.ID] = t
		board.Order = append(board.Order, t.ID)
	})
	return board, err
}

// boardRow is the board without its tasks, nil with the projections of another version.
func (f *file) boardRow(ctx context.Context, q querier) (*amp.Board, error) {
	var fold int64
	var state, usage []byte
	err := q.QueryRowContext(ctx, "SELECT fold, state FROM board").Scan(&fold, &state)
	if errors.Is(err, sql.ErrNoRows) || err == nil && fold != projection.Version() {
		return nil, nil
	}
	if err == nil {
		err = q.QueryRowContext(ctx, selectUsage).Scan(&usage)
	}
	if err != nil {
		return nil, err
	}
	board, err := projection.DecodeBoard(state, usage)
	if err != nil {
		return nil, &DamagedError{Path: f.path, Why: err.Error()}
	}
	return board, nil
}

// stateBlock is how many tasks one worker decodes at once.
const stateBlock = 64

// stateRows are projected tasks on their way to be decoded.
type stateRows struct {
	ids    []string
	states [][]byte
	tasks  []*amp.Task
	err    error
}

func (s *stateRows) decode() {
	for i := range s.states {
		t, err := projection.DecodeTask(s.states[i])
		if err != nil {
			s.err = fmt.Errorf("task %s: %w", s.ids[i], err)
			return
		}
		s.tasks = append(s.tasks, t)
	}
}

// eachTask reads the projected tasks by their key, which is the order of their first entries.
func (f *file) eachTask(ctx context.Context, q querier, each func(*amp.Task)) (err error) {
	rows, err := q.QueryContext(ctx, "SELECT task_id, state FROM task ORDER BY key")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var bad error // of the reading, not of what was read
	err = ssot.InOrder(ctx, func() (*stateRows, bool) {
		b := &stateRows{}
		for len(b.ids) < stateBlock && bad == nil && rows.Next() {
			var id string
			var state []byte
			if bad = rows.Scan(&id, &state); bad == nil {
				b.ids, b.states = append(b.ids, id), append(b.states, state)
			}
		}
		return b, len(b.ids) > 0
	}, (*stateRows).decode, func(b *stateRows) error {
		for _, t := range b.tasks {
			each(t)
		}
		return b.err
	})
	if err != nil && ctx.Err() == nil {
		return &DamagedError{Path: f.path, Why: err.Error()}
	}
	return errors.Join(err, bad, rows.Err())
}

func (l *Log) catch(ctx context.Context, b *amp.Board) error {
	for {
		page, err := l.page(ctx, &amp.Filter{After: b.Head.Seq}, ssot.MaxPage)
		if err != nil {
			return err
		}
		for _, e := range page {
			if err := b.Apply(e); err != nil {
				return &DamagedError{Path: l.path, Seq: e.Seq, Why: err.Error()}
			}
		}
		if len(page) < ssot.MaxPage {
			return nil
		}
	}
}
