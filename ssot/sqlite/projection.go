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
)

// cacheLen is how many tasks and keys the writer keeps in memory between transactions.
const cacheLen = 4096

// projection is the writer's board: the fold at the head, with only those tasks in memory that were touched lately. The others
// are in the task table, which a transaction writes together with its entries; so a transaction that fails is undone by
// forgetting the tasks that it touched.
type projection struct {
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

func newProjection(s *statements) *projection {
	return &projection{
		stmt: s, board: amp.NewBoard(), acks: map[amp.TaskID][]amp.Obligation{}, keys: map[amp.TaskID]uint64{},
		dirty: map[amp.TaskID]struct{}{},
	}
}

// read loads the board's row. known is false when there is none that this program's fold has made, or none that can be read:
// then the projections are to be rebuilt.
func (p *projection) read() (known bool, err error) {
	var fold int64
	var state []byte
	err = p.stmt.board.QueryRowContext(context.Background()).Scan(&fold, &state)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil || fold != foldVersion() {
		return false, err
	}
	var usage []byte
	if err := p.stmt.usage.QueryRowContext(context.Background()).Scan(&usage); err != nil {
		return false, err
	}
	b, err := decodeBoard(state, usage)
	if err != nil {
		return false, nil
	}
	p.board = b
	return true, nil
}

func (p *projection) begin() {
	p.board.Order = nil // the order of the tasks is that of their keys; nobody reads it here
	p.before = *p.board
	p.before.Numbers = maps.Clone(p.board.Numbers)
	clear(p.dirty)
	p.newKeys = p.newKeys[:0]
}

// revert goes back to the board before the transaction.
func (p *projection) revert() {
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
func (p *projection) commit() {
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

func (p *projection) forget(id amp.TaskID) {
	delete(p.board.Tasks, id)
	delete(p.acks, id)
	p.complete = false
}

// load brings a task into memory.
func (p *projection) load(id amp.TaskID) error {
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

func (p *projection) add(state []byte) error {
	t, err := decode[amp.Task](state)
	if err != nil {
		return unreadable(err)
	}
	p.board.Tasks[t.ID] = &t
	p.acks[t.ID] = slices.Clone(t.Open)
	return nil
}

// loadAll brings every task into memory.
func (p *projection) loadAll() (err error) {
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
func (p *projection) apply(e amp.Entry) error {
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
func (p *projection) flush() error {
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
	if !sameUsage(p.before.Usage, p.board.Usage) {
		if err := step(p.stmt.upsertUsage, usageState(p.board)); err != nil {
			return err
		}
	}
	return step(p.stmt.upsertBoard, int64(p.board.Head.Seq), foldVersion(), boardState(p.board))
}

// sameUsage reports whether the fold left the usage alone: it replaces what it changes.
func sameUsage(a, b []amp.AgentUsage) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

func (p *projection) write(t *amp.Task) error {
	err := step(p.stmt.upsertTask, int64(t.Key), string(t.ID), string(t.Status), t.Title, int64(t.LastSeq), taskState(t))
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

// boardState is the JSON of a board without its tasks and the usage, which have rows of their own.
func boardState(b *amp.Board) string {
	c := *b
	c.Tasks, c.Order, c.Usage = nil, nil, nil
	return string(amp.EncodeBody(&c))
}

// usageRow is what the row of the usage holds.
type usageRow struct {
	Agents []amp.AgentUsage `json:"agents,omitzero"`
}

func usageState(b *amp.Board) string { return string(amp.EncodeBody(usageRow{b.Usage})) }

func taskState(t *amp.Task) string { return string(amp.EncodeBody(t)) }

// decodeBoard reads what boardState and usageState wrote.
func decodeBoard(state, usage []byte) (*amp.Board, error) {
	b, err := decode[amp.Board](state)
	if err == nil {
		var row usageRow
		row, err = decode[usageRow](usage)
		b.Usage = row.Agents
	}
	if err == nil && (b.Tasks == nil || b.Numbers == nil) {
		err = errors.New("a table of the board is missing")
	}
	return &b, err
}

// unreadable is the error of a projection that cannot be decoded.
func unreadable(err error) error {
	return fmt.Errorf("a projection cannot be read, a rebuild puts it right: %w", err)
}

func decode[T any](state []byte) (T, error) {
	return amp.DecodeBody[T](&amp.Entry{Record: amp.Record{Body: state}})
}
