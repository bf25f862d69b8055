package tui

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"arbiter/amp"
)

// need is one thing that needs the admin, as the screens list it.
type need struct {
	amp.Need
	// ID is unique among the needs.
	ID string
}

// Place is where the need is decided.
func (n need) Place() Place {
	if n.Kind == amp.NeedPlan {
		return Place{Kind: KindPlan, ID: string(n.TaskID)}
	}
	return Place{Kind: KindEscalation, ID: string(n.TaskID), Seq: n.Seq}
}

func compareNeeds(a, b need) int { return amp.CompareNeeds(a.Need, b.Need) }

// facts are what the index knows of one task.
type facts struct {
	status amp.Status
	needs  []need
	// match is what a filter is compared with, in lower case, made of words.
	match   string
	words   matchWords
	running bool
	waiting bool
	stopped bool
}

// matchWords are what a filter finds a task by, besides its id.
type matchWords struct {
	status            amp.Status
	title, with, risk string
}

// index is what screens count and list of a board. It follows the board task by task, so that its cost does not depend
// on how many tasks there are.
type index struct {
	// Needs are what needs the admin, the gravest first.
	Needs []need
	// Inbox and Plans count the needs of the two screens.
	Inbox, Plans int
	// ByStatus counts tasks.
	ByStatus map[amp.Status]int
	// Running are the tasks with a turn at work, Waiting those with a command in its undo time, Stopped those that an escalation
	// suspended or locked.
	Running, Waiting, Stopped map[amp.TaskID]bool
	// Oldest is when the need that waits longest came, zero without needs.
	Oldest time.Time
	// Version grows with every change.
	Version uint64
	// Epoch grows when everything was built anew, so that nothing drawn before is valid.
	Epoch uint64

	tasks map[amp.TaskID]*facts
	// roles are the configured agents, by which a task can be found too.
	roles map[amp.Role]string
}

func newIndex(b *amp.Board, gone map[uint64]bool) *index {
	x := &index{}
	x.rebuild(b, gone)
	return x
}

// rebuild reads the whole board.
func (x *index) rebuild(b *amp.Board, gone map[uint64]bool) {
	*x = index{
		Epoch: x.Epoch + 1, Version: x.Version + 1, roles: x.roles, ByStatus: map[amp.Status]int{}, Running: map[amp.TaskID]bool{},
		Waiting: map[amp.TaskID]bool{}, Stopped: map[amp.TaskID]bool{}, tasks: make(map[amp.TaskID]*facts, len(b.Tasks)),
	}
	for _, id := range b.Order {
		f := newFacts(b.Tasks[id], nil, gone, x.roles)
		x.count(id, f, 1)
		x.tasks[id] = f
		x.Needs = append(x.Needs, f.needs...)
	}
	slices.SortFunc(x.Needs, compareNeeds)
	x.age()
}

// age finds the oldest need; it is asked for only when needs came or went.
func (x *index) age() {
	x.Oldest = time.Time{}
	for i := range x.Needs {
		if at := x.Needs[i].At; x.Oldest.IsZero() || at.Before(x.Oldest) {
			x.Oldest = at
		}
	}
}

// touch reads one task anew.
func (x *index) touch(t *amp.Task, gone map[uint64]bool) {
	old := x.tasks[t.ID]
	f := newFacts(t, old, gone, x.roles)
	x.Version++
	if old != nil {
		x.count(t.ID, old, -1)
	}
	x.tasks[t.ID] = f
	x.count(t.ID, f, 1)
	if old != nil && slices.Equal(old.needs, f.needs) {
		return
	}
	if old != nil {
		for _, n := range old.needs {
			if i, ok := slices.BinarySearchFunc(x.Needs, n, compareNeeds); ok {
				x.Needs = slices.Delete(x.Needs, i, i+1)
			}
		}
	}
	for _, n := range f.needs {
		i, _ := slices.BinarySearchFunc(x.Needs, n, compareNeeds)
		x.Needs = slices.Insert(x.Needs, i, n)
	}
	x.age()
}

func (x *index) count(id amp.TaskID, f *facts, by int) {
	x.ByStatus[f.status] += by
	for _, n := range f.needs {
		if n.Kind == amp.NeedPlan {
			x.Plans += by
		} else {
			x.Inbox += by
		}
	}
	set(x.Running, id, f.running && by > 0)
	set(x.Waiting, id, f.waiting && by > 0)
	set(x.Stopped, id, f.stopped && by > 0)
}

func set(m map[amp.TaskID]bool, id amp.TaskID, on bool) {
	if on {
		m[id] = true
	} else {
		delete(m, id)
	}
}

// Match returns the text that a filter on tasks is compared with.
func (x *index) Match(id amp.TaskID) string {
	if f := x.tasks[id]; f != nil {
		return f.match
	}
	return ""
}

// Count sums tasks over statuses.
func (x *index) Count(statuses ...amp.Status) int {
	n := 0
	for _, s := range statuses {
		n += x.ByStatus[s]
	}
	return n
}

// newFacts reads a task; what stayed as in old, which may be nil, is not made anew: most entries change none of the words.
func newFacts(t *amp.Task, old *facts, gone map[uint64]bool, roles map[amp.Role]string) *facts {
	f := &facts{
		status: t.Status, running: t.Turn != nil, waiting: len(t.Waiting) > 0, stopped: t.Status == amp.Suspended || t.Status == amp.Locked,
	}
	if f.words = (matchWords{t.Status, t.Title, withWhom(t, roles), riskOf(t)}); old != nil && old.words == f.words {
		f.match = old.match
	} else {
		w := &f.words
		f.match = strings.ToLower(strings.Join([]string{string(t.ID), string(w.status), w.title, w.with, w.risk}, " "))
	}
	for _, n := range t.Needs() {
		if !gone[n.Seq] {
			f.needs = append(f.needs, newNeed(n))
		}
	}
	return f
}

func newNeed(n amp.Need) need { return need{Need: n, ID: string(n.Kind) + seqName(n.Seq)} }

// hasWaiting reports whether one of the commands waits for the end of its undo time.
func hasWaiting(t *amp.Task, names ...amp.CommandName) bool {
	return slices.ContainsFunc(t.Waiting, func(w amp.Waiting) bool { return slices.Contains(names, w.Command.Command) })
}

// needYou counts needs in a sentence.
func needYou(n int) string {
	if n == 1 {
		return "1 thing needs you"
	}
	return strconv.Itoa(n) + " things need you"
}

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return strconv.Itoa(n) + " " + word + "s"
}
