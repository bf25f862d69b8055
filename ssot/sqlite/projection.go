package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"

	"arbiter/amp"
	"arbiter/ssot"
	"arbiter/ssot/projection"
)

// cacheLen is how many tasks and keys the writer keeps in memory between transactions.
const cacheLen = 4096

// tables are the writer's board: the fold at the head, with only those tasks in memory that were touched lately. The others
// are in the task table, which a transaction writes together with its entries; so a transaction that fails is undone by
// forgetting the tasks that it touched.
type tables struct {
	stmt  *statements
	board *amp.Board
	// complete is set while the board has every task.
	complete bool
	// acks are the open obligations as they are written, of the tasks in memory.
	acks map[amp.TaskID][]amp.Obligation
	keys map[amp.TaskID]uint64

	// Of the transaction under way: the board before it without its tasks, the tasks that changed, the keys that are new.
	before  amp.Board
	dirty   map[amp.TaskID]struct{}
	newKeys []amp.TaskID
}

func newTables(s *statements) *tables {
	return &tables{
		stmt: s, board: amp.NewBoard(), acks: map[amp.TaskID][]amp.Obligation{}, keys: map[amp.TaskID]uint64{},
		dirty: map[amp.TaskID]struct{}{},
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
	p.board = b
	return true, nil
}

func (p *tables) begin() {
	p.board.Order = nil // the order of the tasks is that of their keys; nobody reads it here
	p.before = *p.board
	p.before.Numbers = maps.Clone(p.board.Numbers)
	clear(p.dirty)
	p.newKeys = p.newKeys[:0]
}

// revert goes back to the board before the transaction.
func (p *tables) revert() {
	*p.board = p.before
	for id := range p.dirty {
		p.forget(id)
	}
	for _, id := range p.newKeys {
		delete(p.keys, id)
	}
	clear(p.dirty)
}

// commit ends a transaction that is stored.
func (p *tables) commit() {
	clear(p.dirty)
	if len(p.board.Tasks) > cacheLen {
		clear(p.board.Tasks)
		clear(p.acks)
		p.complete = false
	}
	if len(p.keys) > 4*cacheLen {
		clear(p.keys)
	}
}

func (p *tables) forget(id amp.TaskID) {
	delete(p.board.Tasks, id)
	delete(p.acks, id)
	p.complete = false
}

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
	return nil
}

// loadAll brings every task into memory.
func (p *tables) loadAll() (err error) {
	rows, err := p.stmt.eachTask.QueryContext(context.Background())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	clear(p.board.Tasks)
	clear(p.acks)
	for rows.Next() {
		var state []byte
		if err := rows.Scan(&state); err != nil {
			return err
		}
		if err := p.add(state); err != nil {
			return err
		}
	}
	p.complete = rows.Err() == nil
	return rows.Err()
}

// apply folds an entry whose task is in memory. With [ssot.ErrInvalid] the entry does not fold and nothing changed.
func (p *tables) apply(e amp.Entry) error {
	stopped := p.board.Stopped
	if err := p.board.Apply(e); err != nil {
		return fmt.Errorf("%w: %w", ssot.ErrInvalid, err)
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

// flush writes the board and each task that changed.
func (p *tables) flush() error {
	tasks := make([]*amp.Task, 0, len(p.dirty))
	for id := range p.dirty {
		tasks = append(tasks, p.board.Tasks[id])
	}
	slices.SortFunc(tasks, func(a, b *amp.Task) int { return cmp.Compare(a.Key, b.Key) })
	for _, t := range tasks {
		if err := p.write(t); err != nil {
			return err
		}
	}
	if !projection.SameUsage(p.before.Usage, p.board.Usage) {
		if err := step(p.stmt.upsertUsage, projection.Usage(p.board)); err != nil {
			return err
		}
	}
	return step(p.stmt.upsertBoard, int64(p.board.Head.Seq), projection.Version(), projection.Board(p.board))
}

func (p *tables) write(t *amp.Task) error {
	err := step(p.stmt.upsertTask, int64(t.Key), string(t.ID), string(t.Status), t.Title, int64(t.LastSeq), projection.Task(t))
	if err != nil {
		return err
	}
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
