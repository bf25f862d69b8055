package memory

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"arbiter/amp"
	"arbiter/ssot"
)

// Take gives leases out as [ssot.Leases] says.
func (l *Log) Take(ctx context.Context, owner string, ttl time.Duration, limit int, tasks []amp.TaskID) ([]ssot.Lease, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.ready(ctx); err != nil {
		return nil, err
	}
	now := l.now()
	var got []ssot.Lease
	for _, task := range tasks {
		if len(got) >= limit {
			break
		}
		held, known := l.leases[task]
		switch free := !known || !now.Before(held.Until); {
		case free:
			l.epoch = max(l.epoch, ssot.LastEpoch(l.board.Tasks[task])) + 1
			held = ssot.Lease{Task: task, Owner: owner, Epoch: l.epoch}
		case held.Owner != owner:
			continue
		}
		held.Until = now.Add(ttl)
		l.leases[task] = held
		got = append(got, held)
	}
	return got, nil
}

// Renew prolongs leases as [ssot.Leases] says.
func (l *Log) Renew(ctx context.Context, ttl time.Duration, held []ssot.Lease) ([]ssot.Lease, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.ready(ctx); err != nil {
		return nil, err
	}
	now := l.now()
	var kept []ssot.Lease
	for _, h := range held {
		if have, ok := l.leases[h.Task]; ok && same(have, h) && now.Before(have.Until) {
			have.Until = now.Add(ttl)
			l.leases[h.Task] = have
			kept = append(kept, have)
		}
	}
	return kept, nil
}

// Release gives leases back.
func (l *Log) Release(ctx context.Context, held []ssot.Lease) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.ready(ctx); err != nil {
		return err
	}
	for _, h := range held {
		if have, ok := l.leases[h.Task]; ok && same(have, h) {
			delete(l.leases, h.Task)
		}
	}
	return nil
}

// Owners returns the leases that have not lapsed.
func (l *Log) Owners(ctx context.Context) ([]ssot.Lease, error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if err := l.ready(ctx); err != nil {
		return nil, err
	}
	now := l.now()
	live := slices.Collect(maps.Values(l.leases))
	live = slices.DeleteFunc(live, func(h ssot.Lease) bool { return !now.Before(h.Until) })
	slices.SortFunc(live, func(a, b ssot.Lease) int { return cmp.Compare(a.Task, b.Task) })
	return live, nil
}

// same reports whether two leases are one and the same right.
func same(a, b ssot.Lease) bool { return a.Owner == b.Owner && a.Epoch == b.Epoch }
