package coordinator

import (
	"context"
	"errors"

	"arbiter/amp"
	"arbiter/ssot"
)

// maxBatch is how many requests are judged before they are appended together.
const maxBatch = 512

// maxRejudged is how often records are judged again because others write about the same task all the time.
const maxRejudged = 20

// take judges a request and those that wait behind it, and appends what they ask for at once. A request about a task that an
// earlier one of the batch touches waits for the append, so that it sees the board as that one leaves it.
func (c *Coordinator) take(ctx context.Context, r request) error {
	b := batch{c: c, touched: map[amp.TaskID]bool{}}
	for n := 0; ; n++ {
		if err := b.add(ctx, r); err != nil {
			return err
		}
		if n == maxBatch {
			return b.flush(ctx)
		}
		select {
		case r = <-c.inbox:
		default:
			return b.flush(ctx)
		}
	}
}

type batch struct {
	c       *Coordinator
	items   []judged
	touched map[amp.TaskID]bool
}

// judged is a request and what was made of it.
type judged struct {
	request
	records []amp.Record
	refused error
}

func (b *batch) add(ctx context.Context, r request) error {
	if r.task == "" || b.touched[r.task] {
		if err := b.flush(ctx); err != nil {
			r.tell(nil, err)
			return err
		}
	}
	j := judged{request: r}
	j.records, j.refused = r.run(b.c.now())
	if j.refused != nil && len(j.records) == 0 {
		j.tell(nil, j.refused)
		return nil
	}
	b.items = append(b.items, j)
	b.touched[r.task] = true
	if r.task == "" {
		return b.flush(ctx)
	}
	return nil
}

func (b *batch) flush(ctx context.Context) error {
	appended, err := b.commit(ctx)
	for range maxRejudged {
		if err == nil || !b.c.rejudged(ctx, err) {
			break
		}
		for i := range b.items {
			j := &b.items[i]
			j.records, j.refused = j.run(b.c.now())
		}
		appended, err = b.commit(ctx)
	}
	fatal := err
	if errors.Is(err, ssot.ErrFull) || errors.Is(err, ssot.ErrStale) || errors.Is(err, ssot.ErrFenced) {
		fatal = nil
	}
	at := 0
	for i := range b.items {
		j := &b.items[i]
		if err != nil {
			if j.task != "" {
				b.c.dirty[j.task] = true
			}
			j.tell(nil, err)
			continue
		}
		n := len(j.records)
		j.tell(appended[at:at+n], j.refused)
		at += n
	}
	b.items = nil
	clear(b.touched)
	return fatal
}

func (b *batch) commit(ctx context.Context) ([]ssot.Appended, error) {
	var records []amp.Record
	var under []*tenure
	for i := range b.items {
		j := &b.items[i]
		records = append(records, j.records...)
		if len(j.records) > 0 && j.lease != nil && !j.lease.lost() {
			under = append(under, j.lease)
		}
	}
	return b.c.commit(ctx, records, under)
}
