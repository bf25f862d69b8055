package sqlite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"arbiter/amp"
)

// start follows the journal until close.
func (x *index) start() {
	ctx, stop := context.WithCancel(context.Background())
	x.stop, x.ended = stop, make(chan struct{})
	go func() {
		defer close(x.ended)
		x.run(ctx)
	}()
}

// grown says that the journal has new entries, up to one.
func (x *index) grown(last uint64) {
	for head := x.head.Load(); head < last && !x.head.CompareAndSwap(head, last); {
		head = x.head.Load()
	}
	x.nudge()
}

func (x *index) nudge() {
	select {
	case x.wake <- struct{}{}:
	default:
	}
}

// patience are the times between two attempts to write the index.
const (
	leastPatience = time.Second
	mostPatience  = time.Minute
)

func (x *index) run(ctx context.Context) {
	patience := leastPatience
	for {
		before := x.seq.Load()
		err := x.follow(ctx)
		if ctx.Err() != nil {
			return
		}
		if ruined(err) {
			_ = x.remove() // what is still there, the next attempt finds
		}
		if errors.Is(err, errRenew) {
			continue
		}
		if x.seq.Load() > before {
			patience = leastPatience
		}
		wait := time.NewTimer(patience)
		select {
		case <-ctx.Done():
			wait.Stop()
			return
		case <-wait.C:
		}
		patience = min(2*patience, mostPatience)
	}
}

var errRenew = errors.New("the index of searches is to be made anew")

const (
	// indexPage is how many entries are read at once, indexBatch how many are indexed in one transaction, of about indexBytes at most: they are
	// all in memory, and their words once more.
	indexPage  = 500
	indexBatch = 4000
	indexBytes = 4 << 20
	// What is appended waits for an indexPause that brings fewer than indexBusy entries: the cost of so few is not felt. After
	// indexLong it waits no longer, nor when there are indexFar of it.
	indexPause = 20 * time.Millisecond
	indexBusy  = 3
	indexLong  = 2 * time.Second
	indexFar   = 10_000
)

// follow brings the index to the head of the journal and keeps it there, until ctx ends or something fails.
func (x *index) follow(ctx context.Context) (err error) {
	db, seq, err := x.openSearch(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	x.move(seq)
	for {
		if x.again.Load() {
			x.move(0)
			x.again.Store(false)
			return errRenew
		}
		batch, more, err := x.next(ctx, seq)
		if err != nil {
			return fmt.Errorf("read the journal: %v", err) // what is wrong with it is not the index's to mend
		}
		if len(batch) > 0 {
			if err := x.add(db, batch); err != nil {
				return err
			}
			seq = batch[len(batch)-1].Seq
			x.move(seq)
		}
		if more {
			continue
		}
		if err := x.gather(ctx, seq); err != nil {
			return err
		}
	}
}

// next are the entries behind one that are indexed together, and whether there may be more. One statement reads few of them.
func (x *index) next(ctx context.Context, after uint64) (batch []amp.Entry, more bool, err error) {
	for more, size := true, 0; more; {
		n := len(batch)
		if batch, size, err = x.page(ctx, batch, size, after+uint64(n)); err != nil {
			return nil, false, err
		}
		if len(batch) >= indexBatch || size >= indexBytes {
			return batch, true, nil
		}
		more = len(batch) == n+indexPage
	}
	return batch, false, nil
}

// page appends the entries behind one to a batch of a size.
func (x *index) page(ctx context.Context, batch []amp.Entry, size int, after uint64) (_ []amp.Entry, _ int, err error) {
	rows, err := x.log.reader.ask(ctx, selectBehind, int64(after))
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for n := 0; n < indexPage && size < indexBytes && rows.Next(); n++ {
		e, err := scanEntry(rows)
		if err != nil {
			return nil, 0, err
		}
		batch, size = append(batch, e), size+len(e.Body)
	}
	return batch, size, rows.Err()
}

// selectBehind selects the entries behind one.
const selectBehind = "SELECT " + entryColumns + " FROM entry e LEFT JOIN task_key k ON k.key = e.task WHERE e.seq > ? ORDER BY e.seq"

// gather waits for entries behind seq, and then for as long as the writer is busy: the disk and the processor are the writer's, and
// many entries together are indexed for less. It ends before the index is far behind, and when somebody waits for it.
func (x *index) gather(ctx context.Context, seq uint64) error {
	before := x.head.Load()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-x.wake:
	}
	pause := time.NewTicker(indexPause)
	defer pause.Stop()
	for range indexLong / indexPause {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-pause.C:
		}
		head := x.head.Load()
		if head < before+indexBusy || head >= seq+indexFar || x.waiting.Load() > 0 || x.again.Load() {
			break
		}
		before = head
	}
	return nil
}

func (x *index) move(seq uint64) {
	x.moving.Lock()
	defer x.moving.Unlock()
	x.seq.Store(seq)
	close(x.moved)
	x.moved = make(chan struct{})
}

// wait returns when the index has the entry.
func (x *index) wait(ctx context.Context, seq uint64) error {
	x.waiting.Add(1)
	defer x.waiting.Add(-1)
	for {
		x.moving.Lock()
		moved := x.moved
		x.moving.Unlock()
		if x.seq.Load() >= seq && !x.again.Load() {
			return nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
