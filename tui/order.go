package tui

import (
	"cmp"
	"slices"

	"arbiter/amp"
)

// sortKey is what tasks are sorted by: number first, then text, then the id. It is kept with the task, so that a task
// can be found again after it changed.
type sortKey struct {
	num  int64
	text string
	id   amp.TaskID
}

func (a sortKey) compare(b sortKey) int {
	return cmp.Or(cmp.Compare(a.num, b.num), cmp.Compare(a.text, b.text), compareTaskIDs(b.id, a.id))
}

// compareTaskIDs orders ids by number, also where one has more digits.
func compareTaskIDs(a, b amp.TaskID) int {
	return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
}

// taskOrder is a sorted, filtered list of tasks that follows the board task by task.
type taskOrder struct {
	keys []sortKey
	of   map[amp.TaskID]sortKey
	by   func(*amp.Task) sortKey
	keep func(*amp.Task) bool // nil keeps all
}

// rebuild reads all tasks of a board.
func (o *taskOrder) rebuild(b *amp.Board) {
	o.keys = o.keys[:0]
	o.of = make(map[amp.TaskID]sortKey, len(b.Tasks))
	for _, id := range b.Order {
		t := b.Tasks[id]
		if o.keep == nil || o.keep(t) {
			k := o.by(t)
			o.keys = append(o.keys, k)
			o.of[id] = k
		}
	}
	slices.SortFunc(o.keys, sortKey.compare)
}

// touch puts one task where it belongs now.
func (o *taskOrder) touch(t *amp.Task) {
	keep := o.keep == nil || o.keep(t)
	var k sortKey
	if keep {
		k = o.by(t)
	}
	if old, ok := o.of[t.ID]; ok {
		if keep && old == k {
			return
		}
		if i, found := slices.BinarySearchFunc(o.keys, old, sortKey.compare); found {
			o.keys = slices.Delete(o.keys, i, i+1)
		}
		delete(o.of, t.ID)
	}
	if keep {
		i, _ := slices.BinarySearchFunc(o.keys, k, sortKey.compare)
		o.keys = slices.Insert(o.keys, i, k)
		o.of[t.ID] = k
	}
}

// index finds a task.
func (o *taskOrder) index(id amp.TaskID) (int, bool) {
	k, ok := o.of[id]
	if !ok {
		return 0, false
	}
	return slices.BinarySearchFunc(o.keys, k, sortKey.compare)
}

// follow applies a change of the board.
func (o *taskOrder) follow(b *amp.Board, m changedMsg) {
	if m.All {
		o.rebuild(b)
		return
	}
	for i := range m.Entries {
		if t := b.Task(m.Entries[i].TaskID); t != nil && t.LastSeq == m.Entries[i].Seq {
			o.touch(t)
		}
	}
}

// workRank orders statuses by what is at work now.
func workRank(s amp.Status) int64 {
	switch s {
	case amp.Reviewing:
		return 0
	case amp.Dispatched:
		return 1
	case amp.Executing:
		return 2
	case amp.Verifying:
		return 3
	case amp.Held:
		return 4
	case amp.Suspended:
		return 5
	case amp.Locked:
		return 6
	case amp.AwaitingApproval:
		return 7
	case amp.Drafting:
		return 8
	case amp.StatusApproved:
		return 9
	case amp.Delivered:
		return 10
	case amp.Terminated:
		return 11
	}
	return 12
}

func byWork(t *amp.Task) sortKey { return sortKey{num: workRank(t.Status), id: t.ID} }

func byID(t *amp.Task) sortKey { return sortKey{id: t.ID} }

func byActivity(t *amp.Task) sortKey { return sortKey{num: -int64(t.LastSeq), id: t.ID} }

func byRejects(t *amp.Task) sortKey { return sortKey{num: -int64(t.RejectCount), id: t.ID} }
