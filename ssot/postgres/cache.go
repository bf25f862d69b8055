package postgres

import (
	"errors"
	"fmt"
	"maps"

	"arbiter/amp"
	"arbiter/ssot"
	"arbiter/ssot/projection"
)

// cacheLen is how many tasks the writer keeps in memory between transactions.
const cacheLen = 4096

// errAllTasks says that an entry touches every task, and not all of them are in memory.
var errAllTasks = errors.New("an entry touches every task")

// known is what is known of a task: its key, and its last entry. It holds at the cache's head while nobody else has written since
// the round of that number.
type known struct{ key, last, round uint64 }

// cache is the writer's board: the fold at the head it knows, with only those tasks in memory that were touched lately. Every
// transaction asks the database what has changed since; so nothing here has to be right, only as of the head that it names.
type cache struct {
	board *amp.Board
	// everything is the last entry that concerns every task, usage since when the usage is as it is.
	everything, usage uint64
	tasks             map[amp.TaskID]known
	// round counts how often others were found to have written.
	round uint64
	// since is the highest number of a task of each year when tasks were last let go of, or others wrote: what has a higher number and is
	// not known does not exist.
	since map[int]int
	// complete is set while the board has every task.
	complete bool

	// The transaction that is folded, if open; the one that was sent and not answered, if not nil, which comes before it.
	*change
	open   bool
	flying *change
	spare  *change // one that is stored
	// next has the leases of a transaction for which nothing is asked, and folded is how many requests were folded ahead of their turn.
	next   *question
	folded int
}

// change is what a transaction stores, and what there was before it.
type change struct {
	before struct {
		board             amp.Board
		everything, usage uint64
	}
	dirty   map[amp.TaskID]struct{} // tasks whose state changed
	touched map[amp.TaskID]struct{}
	newKeys []amp.TaskID
	entries []amp.Entry
	pending map[string]int // ids of entries
}

func newChange() *change {
	return &change{dirty: map[amp.TaskID]struct{}{}, touched: map[amp.TaskID]struct{}{}, pending: map[string]int{}}
}

func (c *change) clear() {
	clear(c.dirty)
	clear(c.touched)
	clear(c.pending)
	clear(c.entries) // lets go of the bodies
	c.newKeys, c.entries = c.newKeys[:0], c.entries[:0]
}

func newCache() *cache {
	return &cache{board: amp.NewBoard(), tasks: map[amp.TaskID]known{}, change: newChange()}
}

// begin notes where a transaction begins.
func (c *cache) begin() {
	c.board.Order = nil // the order of the tasks is that of their keys; nobody reads it here
	c.before.board = *c.board
	c.before.board.Numbers = maps.Clone(c.board.Numbers)
	c.before.everything, c.before.usage = c.everything, c.usage
	c.change.clear()
	c.open = true
}

// beginPlain begins a transaction for which nothing is asked.
func (c *cache) beginPlain() {
	c.next = &question{held: map[amp.TaskID]uint64{}}
	c.begin()
}

func (c *cache) end() {
	c.open = false
	c.change.clear()
}

// revert goes back to where the transactions under way began.
func (c *cache) revert() {
	c.revertAhead()
	if c.flying != nil {
		c.undo(c.flying)
		c.flying = nil
	}
}

// revertAhead goes back to where the transaction began that is folded and not sent.
func (c *cache) revertAhead() {
	if c.open {
		c.undo(c.change)
		c.open = false
	}
	c.next, c.folded = nil, 0
}

func (c *cache) undo(t *change) {
	*c.board = t.before.board
	c.board.Numbers = maps.Clone(t.before.board.Numbers)
	c.everything, c.usage = t.before.everything, t.before.usage
	for _, ids := range []map[amp.TaskID]struct{}{t.dirty, t.touched} {
		for id := range ids {
			delete(c.board.Tasks, id)
			delete(c.tasks, id)
		}
	}
	c.complete = c.complete && len(t.dirty) == 0
	c.since = maps.Clone(c.board.Numbers) // what is stored of them is to be read again
	t.clear()
}

// fly is called when the transaction is sent: another one may be folded then.
func (c *cache) fly() {
	c.flying, c.change, c.open = c.change, c.spare, false
	if c.spare = nil; c.change == nil {
		c.change = newChange()
	}
}

// commit ends the transaction that was sent, and is stored.
func (c *cache) commit() {
	c.flying.clear()
	c.flying, c.spare, c.complete = nil, c.flying, false
	if len(c.tasks) > cacheLen && !c.open {
		c.forget()
	}
}

// forget lets go of all tasks.
func (c *cache) forget() {
	clear(c.board.Tasks)
	clear(c.tasks)
	c.complete, c.since = false, maps.Clone(c.board.Numbers)
}

// isNew reports whether nothing is stored about a task as far as is known here.
func (c *cache) isNew(task amp.TaskID) bool {
	year, n, ok := task.Number()
	return ok && n > c.since[year]
}

// fold gives a record its place and folds it. With [ssot.ErrInvalid] the record does not fold and nothing changed.
func (c *cache) fold(r *amp.Record, fact amp.Fact) (amp.Entry, error) {
	e := c.board.Head.Chain(*r)
	if err := c.apply(e, fact); err != nil {
		return e, err
	}
	c.pending[e.ID] = len(c.entries)
	c.entries = append(c.entries, e)
	return e, nil
}

// apply folds an entry whose task is in memory.
func (c *cache) apply(e amp.Entry, fact amp.Fact) error {
	stopped, usage := c.board.Stopped, c.board.Usage
	if err := c.board.ApplyFact(e, fact); err != nil {
		return fmt.Errorf("%w: %w", ssot.ErrInvalid, err)
	}
	if e.TaskID != "" {
		k, there := c.tasks[e.TaskID]
		c.touched[e.TaskID] = struct{}{}
		if !there {
			k.key = e.Seq
			c.newKeys = append(c.newKeys, e.TaskID)
		}
		k.last, k.round = e.Seq, c.round
		c.tasks[e.TaskID] = k
	}
	if c.board.Tasks[e.TaskID] != nil {
		c.dirty[e.TaskID] = struct{}{}
	}
	if !projection.SameUsage(usage, c.board.Usage) {
		c.usage = e.Seq
	}
	if e.Kind == amp.KindCommand && e.TaskID == "" {
		c.everything = e.Seq
	}
	if c.board.Stopped != stopped { // a stop and a thaw change every task
		c.everything = e.Seq
		if !c.complete {
			return errAllTasks
		}
		for id := range c.board.Tasks {
			c.dirty[id] = struct{}{}
		}
	}
	return nil
}
