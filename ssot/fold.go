package ssot

import (
	"context"
	"fmt"

	"arbiter/amp"
)

// Fold returns the board at the log's head: the store's own projection when it keeps one, else the fold of every entry. The
// caller owns the board.
func Fold(ctx context.Context, log Log) (*amp.Board, error) {
	if b, ok := log.(Boarder); ok {
		return b.Board(ctx)
	}
	return Replay(ctx, log)
}

// Replay folds every entry of a log, also of one that keeps a projection. The caller owns the board.
func Replay(ctx context.Context, log Log) (*amp.Board, error) {
	board := amp.NewBoard()
	if err := Catch(ctx, log, board); err != nil {
		return nil, err
	}
	return board, nil
}

// Catch folds the entries after the board's head into it. On an error the board stands at the last entry that was folded.
func Catch(ctx context.Context, log Log, board *amp.Board) error {
	for {
		entries, err := log.Read(ctx, amp.Filter{After: board.Head.Seq})
		if err != nil {
			return fmt.Errorf("fold the journal after entry %d: %w", board.Head.Seq, err)
		}
		for _, e := range entries {
			if err := board.Apply(e); err != nil {
				return err
			}
		}
		if len(entries) < MaxPage {
			return nil
		}
	}
}
