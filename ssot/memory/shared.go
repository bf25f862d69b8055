package memory

import (
	"context"
	"fmt"

	"arbiter/amp"
	"arbiter/ssot"
)

// AppendJudged stores records that were judged as [ssot.Shared] says.
func (l *Log) AppendJudged(ctx context.Context, j ssot.Judged, records []amp.Record) ([]ssot.Appended, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.ready(ctx); err != nil {
		return nil, err
	}
	if !l.stored(records) {
		if err := l.judge(j, records); err != nil {
			return nil, err
		}
	}
	return l.appendAll(records), nil
}

// stored reports whether appending the records would store nothing new.
func (l *Log) stored(records []amp.Record) bool {
	for i := range records {
		if _, known := l.byID[records[i].ID]; !known {
			return false
		}
	}
	return true
}

// judge says why what the judge had seen does not hold any more.
func (l *Log) judge(j ssot.Judged, records []amp.Record) error {
	if n := uint64(len(l.entries)); j.Hash != (amp.Hash{}) && (j.Seq == 0 || j.Seq > n || l.entries[j.Seq-1].Hash != j.Hash) {
		return &ssot.DamagedError{Path: "in memory", Seq: j.Seq, Why: "the entry is not the one that was judged on"}
	}
	for task, epoch := range j.Epochs {
		if held, ok := l.leases[task]; !ok || held.Epoch != epoch || !l.now().Before(held.Until) {
			return fmt.Errorf("task %s, epoch %d: %w", task, epoch, ssot.ErrFenced)
		}
	}
	if l.lastAll > j.Seq {
		return fmt.Errorf("entry %d concerns every task: %w", l.lastAll, ssot.ErrStale)
	}
	for i := range records {
		if last := l.lastOf[records[i].TaskID]; last > j.Seq {
			return fmt.Errorf("entry %d is about task %s: %w", last, records[i].TaskID, ssot.ErrStale)
		}
	}
	return nil
}

// Grown returns when there are entries after a position, as [ssot.Shared] says.
func (l *Log) Grown(ctx context.Context, after uint64) error {
	for {
		l.mu.RLock()
		err, head, grown := l.ready(ctx), l.board.Head.Seq, l.grown
		l.mu.RUnlock()
		if err != nil || head > after {
			return err
		}
		select {
		case <-grown:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
