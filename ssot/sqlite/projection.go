package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"

	"arbiter/amp"
	"arbiter/ssot/projection"
)

// What the writer keeps in memory between transactions: cacheLen tasks and four times as many keys, and of tasks about cacheBytes of JSON. A
// task in memory takes two to three times its JSON.
const (
	cacheLen   = 4096
	cacheBytes = 8 << 20
)

// tables are the writer's board: the fold at the head, with only those tasks in memory that were touched lately. The others are in
// the task table. The tables are written for many entries together, and stand at one entry of the journal: what came behind it is
// folded again from there by who opens or reads the journal, and by the writer after a transaction that failed.
type tables struct {
	stmt  *statements
	board *amp.Board
	// complete is set while the board has every task.
	complete bool
	// acks are the open obligations as they are written, of the tasks in memory.
	acks map[amp.TaskID][]amp.Obligation
	keys map[amp.TaskID]uint64
	// sizes are the bytes of the JSON of the tasks in memory, as it was read or written last, and bytes their sum.
	sizes map[amp.TaskID]int
	bytes int

	// What is not written yet: entries, tasks that changed, and the usage when it is not the one that was written. at is where the
	// tables stand.
	tail  tail
	dirty map[amp.TaskID]struct{}
	usage []amp.AgentUsage
	at    uint64
	// spoiled is set while the board holds what a failed transaction did not store.
	spoiled bool
}

func newTables(s *statements) *tables {
	return &tables{
		stmt: s, board: amp.NewBoard(), acks: map[amp.TaskID][]amp.Obligation{}, keys: map[amp.TaskID]uint64{},
		sizes: map[amp.TaskID]int{}, tail: newTail(), dirty: map[amp.TaskID]struct{}{},
	}
}

// read loads the board's row. known is false when there is none that this program's fold has made, or none that can be read:
// then the projections are to be rebuilt.
func (p *tables) read() (known bool, err error) {
	var fold int64
	var state []byte
	err = p.stmt.board.QueryRowContext(context.Background()).Scan(&fold, &state)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil || fold != projection.Version() {
		return false, err
	}
	var usage []byte
	if err := p.stmt.usage.QueryRowContext(context.Background()).Scan(&usage); err != nil {
		return false, err
	}
	b, err := projection.DecodeBoard(state, usage)
	if err != nil {
		return false, nil
	}
	p.empty()
	p.board, p.usage, p.at = b, b.Usage, b.Head.Seq
	return true, nil
}

// empty forgets what is in memory of the journal.
func (p *tables) empty() {
	p.board = amp.NewBoard()
	clear(p.acks)
	clear(p.keys)
	clear(p.dirty)
	clear(p.sizes)
	p.bytes = 0
	p.tail.cut(0)
	clear(p.tail.tops)
	p.complete = false
}

// behind reports whether the tables are behind the board.
func (p *tables) behind() bool { return p.spoiled || p.at != p.board.Head.Seq || len(p.tail.rows) > 0 }

// load brings a task into memory.
func (p *tables) load(id amp.TaskID) error {
	if p.complete || p.board.Tasks[id] != nil {
		return nil
	}
	var state []byte
	err := p.stmt.taskByID.QueryRowContext(context.Background(), string(id)).Scan(&state)
	if errors.Is(err, sql.ErrNoRows) {
		return nil // only refused so far
	}
	if err != nil {
		return err
	}
	return p.add(state)
}

func (p *tables) add(state []byte) error {
	t, err := projection.DecodeTask(state)
	if err != nil {
		return err
	}
	p.board.Tasks[t.ID] = t
	p.acks[t.ID] = slices.Clone(t.Open)
	p.sized(t.ID, len(state))
	return nil
}

// sized notes how large the JSON of a task in memory is.
func (p *tables) sized(id amp.TaskID, n int) {
	p.bytes += n - p.sizes[id]
	p.sizes[id] = n
}

// loadAll brings every task into memory.
func (p *tables) loadAll() (err error) {
	rows, err := p.stmt.eachTask.QueryContext(context.Background())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var id string
		var state []byte
		if err := rows.Scan(&id, &state); err != nil {
			return err
		}
		if p.board.Tasks[amp.TaskID(id)] != nil {
			continue // it went on since
		}
		if err := p.add(state); err != nil {
			return err
		}
	}
	p.complete = rows.Err() == nil
	return rows.Err()
}

// apply folds an entry whose task is in memory.
func (p *tables) apply(e amp.Entry, fact amp.Fact) error {
	p.board.Order = nil // the order of the tasks is that of their keys; nobody reads it here
	stopped := p.board.Stopped
	if err := p.board.ApplyFact(e, fact); err != nil {
		return err
	}
	if p.board.Tasks[e.TaskID] != nil {
		p.dirty[e.TaskID] = struct{}{}
	}
	if p.board.Stopped != stopped { // a stop and a thaw change every task
		if !p.complete {
			return errAllTasks
		}
		for id := range p.board.Tasks {
			p.dirty[id] = struct{}{}
		}
	}
	return nil
}

// write brings the tables to the board, inside a transaction.
func (p *tables) write() error {
	tasks := make([]*amp.Task, 0, len(p.dirty))
	for id := range p.dirty {
		tasks = append(tasks, p.board.Tasks[id])
	}
	slices.SortFunc(tasks, func(a, b *amp.Task) int { return cmp.Compare(a.Key, b.Key) })
	for _, t := range tasks {
		if err := p.writeTask(t); err != nil {
			return err
		}
	}
	if !projection.SameUsage(p.usage, p.board.Usage) {
		if err := step(p.stmt.upsertUsage, projection.Usage(p.board)); err != nil {
			return err
		}
	}
	if err := step(p.stmt.upsertBoard, int64(p.board.Head.Seq), projection.Version(), projection.Board(p.board)); err != nil {
		return err
	}
	return p.tail.write(p.stmt)
}

// wrote is called when what write wrote is stored.
func (p *tables) wrote() {
	if len(p.board.Tasks) > cacheLen || p.bytes > cacheBytes {
		p.shrink()
	}
	clear(p.dirty)
	p.tail.cut(0)
	p.usage, p.at = p.board.Usage, p.board.Head.Seq
	if len(p.keys) > 4*cacheLen {
		clear(p.keys)
	}
}

// shrink forgets the tasks that did not change since the tables were written before: those that did are likely to change again.
func (p *tables) shrink() {
	for id := range p.board.Tasks {
		if _, changed := p.dirty[id]; changed {
			continue
		}
		delete(p.board.Tasks, id)
		delete(p.acks, id)
		p.bytes -= p.sizes[id]
		delete(p.sizes, id)
	}
	p.complete = false
}

func (p *tables) writeTask(t *amp.Task) error {
	state := projection.Task(t)
	err := step(p.stmt.upsertTask, int64(t.Key), string(t.ID), string(t.Status), t.Title, int64(t.LastSeq), state)
	if err != nil {
		return err
	}
	p.sized(t.ID, len(state))
	if slices.Equal(p.acks[t.ID], t.Open) {
		return nil
	}
	if err := step(p.stmt.deleteAcks, int64(t.Key)); err != nil {
		return err
	}
	for n, o := range t.Open {
		err := step(p.stmt.insertAck, int64(t.Key), n, o.Deadline().UnixMilli(), o.MsgID, string(o.Type), string(o.To))
		if err != nil {
			return err
		}
	}
	p.acks[t.ID] = slices.Clone(t.Open)
	return nil
}
