package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"arbiter/amp"
	"arbiter/ssot"
	"arbiter/ssot/projection"
)

// Board is the fold of all entries at the head, read from the projections without replaying the journal. The caller owns it.
func (l *Log) Board(ctx context.Context) (b *amp.Board, err error) {
	err = l.reading(ctx, func(ctx context.Context) (err error) {
		b, err = l.projected(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	if b.Head.Seq == 0 { // or the projections of another version
		err = ssot.Catch(ctx, l, b)
	}
	return b, err
}

// moment begins a transaction that sees the database as of one moment.
const moment = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"

// projected reads the board and its tasks as of one moment. With the projections of another version it is an empty board.
func (l *Log) projected(ctx context.Context) (*amp.Board, error) {
	board := amp.NewBoard()
	var fold int64
	var state, usage []byte
	var tasks []*amp.Task
	b := &pgx.Batch{}
	b.Queue(moment)
	b.Queue("SELECT h.fold, h.state, u.state FROM head h, usage u").QueryRow(func(row pgx.Row) error { return row.Scan(&fold, &state, &usage) })
	b.Queue("SELECT state FROM task ORDER BY key").Query(func(rows pgx.Rows) error {
		defer rows.Close()
		for rows.Next() {
			var state []byte
			if err := rows.Scan(&state); err != nil {
				return err
			}
			if fold != projection.Version() {
				continue
			}
			t, err := projection.DecodeTask(state)
			if err != nil {
				return &ssot.DamagedError{Path: l.name, Why: err.Error()}
			}
			tasks = append(tasks, t)
		}
		return rows.Err()
	})
	b.Queue("COMMIT")
	if err := l.pool.SendBatch(ctx, b).Close(); err != nil {
		return nil, err
	}
	if fold != projection.Version() {
		return board, nil
	}
	board, err := projection.DecodeBoard(state, usage)
	if err != nil {
		return nil, &ssot.DamagedError{Path: l.name, Why: err.Error()}
	}
	for _, t := range tasks {
		board.Tasks[t.ID] = t
		board.Order = append(board.Order, t.ID)
	}
	return board, nil
}
