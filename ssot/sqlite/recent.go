package sqlite

import (
	"slices"
	"sync"
)

// mostRecent is about how many entries recent holds: more than the tables are behind.
const mostRecent = 2 * tailOver

// recent are the tasks of the entries that were stored last, without a gap. What the tables do not have yet is found in it by readers of
// this process, which would else look at each of these entries in the file.
type recent struct {
	mu    sync.RWMutex
	first uint64 // the seq of tasks[0]
	tasks []uint64
}

// add takes those rows, ascending and without a gap, that it does not have. They are stored.
func (r *recent) add(rows []tailRow) {
	if len(rows) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	next := r.first + uint64(len(r.tasks))
	if first := rows[0].seq; first > next || len(r.tasks) == 0 {
		r.first, r.tasks, next = first, r.tasks[:0], first
	}
	rows = rows[min(uint64(len(rows)), next-rows[0].seq):]
	for i := range rows {
		r.tasks = append(r.tasks, rows[i].task)
	}
	if extra := len(r.tasks) - mostRecent; extra > mostRecent {
		r.tasks = slices.Delete(r.tasks, 0, extra)
		r.first += uint64(extra)
	}
}

// of are the entries of a task between two seqs, both exclusive. ok is false when it does not know all of them.
func (r *recent) of(task, low, high uint64) (seqs []uint64, ok bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if low+1 < r.first || high > r.first+uint64(len(r.tasks)) {
		return nil, false
	}
	for seq := low + 1; seq < high; seq++ {
		if r.tasks[seq-r.first] == task {
			seqs = append(seqs, seq)
		}
	}
	return seqs, true
}
