package ssot

import (
	"context"
	"errors"
	"time"

	"arbiter/amp"
)

// The sentinels of a Shared.
var (
	// ErrStale says that another coordinator has written about a task of the records since they were judged: nothing was stored.
	// The writer reads what is new, judges again and sends again.
	ErrStale = errors.New("the journal has moved on")
	// ErrFenced says that the lease under which the records were written is not held any more: nothing was stored. The writer
	// drops its work on the task.
	ErrFenced = errors.New("the lease on the task was lost")
	// ErrUnreachable says that the store did not answer for as long as the log waits for it. Records that were sent may be stored
	// or not: the same ones are sent again, under the same ids. The log goes on when the store answers.
	ErrUnreachable = errors.New("the store of the journal cannot be reached")
)

// Lease is the right of one coordinator to act on a task: to run its turns, its timers and its git.
type Lease struct {
	Task  amp.TaskID `json:"task_id"`
	Owner string     `json:"owner"`
	// Epoch counts the owners of the task and never goes back: it is above every epoch in the journal.
	Epoch uint64 `json:"epoch"`
	// Until is when the lease lapses by the clock of the store; no other clock is ever compared with it.
	Until time.Time `json:"until"`
}

// Judged says what the judge of a batch had seen.
type Judged struct {
	// Seq is the last entry that was folded into the board which the records were judged on, Hash the hash that it has there: a journal with
	// another entry in its place is not the one that was judged. A zero Hash is not compared.
	Seq  uint64
	Hash amp.Hash
	// Epochs are the leases that the records depend on, by task. Records of a task that is not named here depend on none, as an
	// admin's command does, which any coordinator takes.
	Epochs map[amp.TaskID]uint64
}

// LastEpoch is the highest epoch that the journal tells of for a task, 0 for nil: the next lease on it has one above.
func LastEpoch(t *amp.Task) uint64 {
	if t == nil {
		return 0
	}
	last := t.Epoch
	if t.Turn != nil {
		last = max(last, t.Turn.Epoch)
	}
	return max(t.Lease, uint64(max(last, 0)))
}

// Shared is a Log that several coordinators write, on any number of machines.
type Shared interface {
	Log
	// AppendJudged stores the records like Append, all or none of those that are not stored yet, provided that the judgement still
	// holds in the transaction that stores them: it fails with [ErrFenced] when a lease of j.Epochs is not held with that epoch by
	// the store's clock, and with [ErrStale] when an entry after j.Seq has the task of one of the records, is a command without a
	// task, or stopped or released everything. When the journal does not hold that entry it is a *[DamagedError]. When all records are stored already they are reported as by Append whatever came
	// after them, so that a writer who does not know the outcome of a commit sends again.
	AppendJudged(ctx context.Context, j Judged, records []amp.Record) ([]Appended, error)
	// Grown returns when the head is beyond after, or with the context's error. It may return early; it never misses an append
	// for longer than a second, whatever became of the connection. Once the log is closed it fails with [ErrClosed], and with a *[DamagedError]
	// when the journal does not hold any more what it was seen to hold.
	Grown(ctx context.Context, after uint64) error
	// Leases hands out the rights to act.
	Leases
}

// Leases are the rights to act on tasks, timed by the store's clock alone. They are no part of the journal, but an epoch is
// greater than every one given out before, also after the table was lost.
type Leases interface {
	// Take gives owner a lease of ttl on those of the tasks that are free, lapsed or already its own, in the order of tasks and at
	// most limit of them, and returns what it got. A lease that was free or lapsed has a new epoch; one that the owner still
	// holds is prolonged.
	Take(ctx context.Context, owner string, ttl time.Duration, limit int, tasks []amp.TaskID) ([]Lease, error)
	// Renew prolongs leases and returns those that were still held with their epoch; the others are lost.
	Renew(ctx context.Context, ttl time.Duration, held []Lease) ([]Lease, error)
	// Release gives leases back. What is not held any more is passed over.
	Release(ctx context.Context, held []Lease) error
	// Owners returns every lease that has not lapsed, ascending by task.
	Owners(ctx context.Context) ([]Lease, error)
}
