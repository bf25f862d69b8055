package amp

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Board is the state of everything: the fold of the journal's entries, in order. It holds no clock and no reference to a store;
// the same entries give the same Board on every machine. A Board is not safe for concurrent use. Its JSON form is a snapshot
// from which folding can go on.
type Board struct {
	Head  Head             `json:"head"`
	Tasks map[TaskID]*Task `json:"tasks"`
	// Order are the tasks by their first entry.
	Order []TaskID `json:"order"`
	// Stopped is set while everything stands still: after stop_all, or after a critical escalation of the system.
	Stopped *Stop `json:"stopped,omitzero"`
	// Refusals counts the refused messages of the journal.
	Refusals int `json:"refusals"`
	// Numbers is the highest task number given out per year.
	Numbers map[int]int `json:"numbers"`
	// Waits is how many things need the admin, see [Task.Needs].
	Waits int `json:"waits,omitzero"`
	// Usage is what the agents did lately, Hours what the last hours brought, oldest first. Both are bounded, and never changed in
	// place: a copy of a Board may share them.
	Usage []AgentUsage `json:"usage,omitzero"`
	Hours []HourFlow   `json:"hours,omitzero"`
}

// Stop says who stopped everything, and when.
type Stop struct {
	Seq uint64    `json:"seq"`
	At  time.Time `json:"at"`
	By  string    `json:"by"`
	Why string    `json:"why"`
}

// NewBoard is the Board of an empty journal.
func NewBoard() *Board {
	return &Board{Tasks: map[TaskID]*Task{}, Numbers: map[int]int{}}
}

// Task returns the state of a task, or nil. The caller must not change it.
func (b *Board) Task(id TaskID) *Task { return b.Tasks[id] }

// NewTaskID is the next free task id of the year of now, with at least three digits (A06).
func (b *Board) NewTaskID(now time.Time) TaskID {
	y := now.UTC().Year()
	return TaskID(fmt.Sprintf("T-%04d-%03d", y, b.Numbers[y]+1))
}

// Apply folds one entry. It fails, and changes nothing, when the entry does not follow the last one or when its body is not
// what its kind says; both mean that the journal is damaged. A move that the lifecycle does not have changes no status: the
// entry is history all the same.
func (b *Board) Apply(e Entry) error { return b.ApplyFact(e, Parse(&e.Record)) }

// ApplyFact is [Board.Apply] of an entry whose record was parsed before.
func (b *Board) ApplyFact(e Entry, f Fact) error {
	if e.Seq != b.Head.Seq+1 {
		return fmt.Errorf("fold entry %d after %d: the journal has a gap", e.Seq, b.Head.Seq)
	}
	if f.err != nil {
		return fmt.Errorf("fold entry %d (%s %s): %w", e.Seq, e.Kind, e.ID, f.err)
	}
	waited := b.Tasks[e.TaskID].waits()
	b.fold(&e, f.body)
	b.awaited(&e, waited)
	b.Head = Head{Seq: e.Seq, Hash: e.Hash}
	return nil
}

func (b *Board) fold(e *Entry, body any) {
	switch body := body.(type) {
	case *Message:
		b.foldMessage(e, body)
	case *Ack:
		b.foldAck(e, body)
	case *Command:
		b.foldCommand(e, body)
	case *Plan:
		b.foldPlan(e, body)
	case *Turn:
		b.foldTurn(e, body)
	case *Question:
		b.foldQuestion(e, body)
	case *Check:
		b.foldCheck(e, body)
	case *Refusal:
		b.foldRefusal(e, body)
	case *Chain:
		b.foldChain(e, body)
	case *Outside:
		b.foldOutside(e, body)
	default: // of the bus, which has no body of ours
		b.touch(e)
	}
}

// touch notes an entry on its task, which it creates when the entry is its first. It returns nil for an entry of no task.
func (b *Board) touch(e *Entry) *Task {
	if e.TaskID == "" {
		return nil
	}
	t := b.Tasks[e.TaskID]
	if t == nil {
		if e.Kind == KindRefusal {
			return nil // a refused message about an unknown task creates none
		}
		t = &Task{ID: e.TaskID, Key: e.Seq, Status: Drafting, Since: e.At, FirstAt: e.At, Epoch: 1, Wrote: map[Role]time.Time{}}
		b.Tasks[e.TaskID] = t
		b.Order = append(b.Order, e.TaskID)
		if y, n, ok := e.TaskID.Number(); ok && n > b.Numbers[y] {
			b.Numbers[y] = n
		}
	}
	t.LastAt, t.LastSeq = e.At, e.Seq
	if e.Kind != KindRefusal {
		t.wrote(e.Role, e.At)
	}
	return t
}

// wrote notes that a role gave a sign of life.
func (t *Task) wrote(role Role, at time.Time) {
	if t.Wrote == nil { // a snapshot leaves out what is empty
		t.Wrote = map[Role]time.Time{}
	}
	t.Wrote[role] = at
}

// Number is the year and the number of a task id, or false for an id of another form.
func (id TaskID) Number() (year, n int, ok bool) {
	parts := strings.Split(string(id), "-")
	if len(parts) != 3 || parts[0] != "T" {
		return 0, 0, false
	}
	year, err1 := strconv.Atoi(parts[1])
	n, err2 := strconv.Atoi(parts[2])
	return year, n, err1 == nil && err2 == nil
}

// move takes the task along the table, and reports whether the table has that move.
func (t *Task) move(cause Cause, at time.Time) bool {
	to, ok := t.Status.Move(cause)
	if !ok {
		return false
	}
	if cause == Resumed {
		to = t.resumed()
	}
	if cause == Escalated {
		t.Before = t.Status
	} else {
		t.Before = ""
	}
	if to != Held && to != Suspended { // what was held is held again after a resume
		t.Hold = nil
	}
	t.Status, t.Since = to, at
	t.Revision++
	return true
}

// resumed prepares a suspended task for going on: with a new dispatch or request, since the old ones were fenced.
func (t *Task) resumed() Status {
	switch t.Before {
	case Dispatched, Executing:
		t.due(DispatchResumed)
	case Reviewing:
		t.Request, t.Verdict = nil, nil
	case Verifying: // what broke a rule may be mended by now, and may be as it was
		if t.Checked != nil && t.Checked.Violation != "" {
			t.Checked = nil
		}
	case Drafting: // the planner is asked anew
		t.Attempts = 0
	default:
	}
	return t.interrupted()
}

// interrupted is where a suspended task goes on when it is resumed.
func (t *Task) interrupted() Status {
	switch t.Before {
	case Dispatched, Executing:
		return Dispatched
	case Reviewing:
		return Verifying
	case "":
		return Held
	default:
		return t.Before
	}
}

// due says that a task_dispatch is owed, referring to the messages of the round that ends with it (A21).
func (t *Task) due(why DispatchReason) {
	t.Next = why
	for _, r := range []*Ref{t.Dispatch, t.Result, t.Verdict} {
		if r != nil && !slices.Contains(t.ContextRef, r.MsgID) {
			t.ContextRef = append(t.ContextRef, r.MsgID)
		}
	}
	t.Dispatch, t.Result, t.Request, t.Verdict, t.Checked, t.CI = nil, nil, nil, nil, nil, nil
	t.Decision, t.Confidence, t.Attempts, t.Fix = "", 0, 0, ""
}

// fence makes every turn that runs now late: what it reports from here on is kept and not acted on.
func (t *Task) fence() {
	t.Epoch++
	t.Open = nil
	t.Proof = 0
}

func (b *Board) foldPlan(e *Entry, p *Plan) {
	t := b.touch(e)
	if _, ok := t.Status.Move(PlanProposed); !ok {
		return
	}
	if t.Dispatch != nil { // what was sent out is not the work any more
		t.due(DispatchReapproved)
	}
	if t.Subtask >= len(p.Subtasks) {
		t.Subtask = 0
	}
	t.move(PlanProposed, e.At)
	t.Plan, t.PlanSeq, t.Behind = p, e.Seq, "" // it may name another branch
	t.disapprove()
	t.Title, t.Guidance, t.Hold, t.Attempts = p.Title, "", nil, 0
}

func (b *Board) foldQuestion(e *Entry, q *Question) {
	t := b.touch(e)
	if q.Answer != nil {
		t.Questions = slices.DeleteFunc(t.Questions, func(w QuestionState) bool { return w.QuestionID == q.QuestionID })
		t.resumeDuty(e)
		return
	}
	t.Questions = append(t.Questions, QuestionState{Question: *q, Seq: e.Seq, At: e.At})
}

func (b *Board) foldRefusal(e *Entry, r *Refusal) {
	b.Refusals++
	if t := b.touch(e); t != nil {
		t.Refusals++
		if len(r.Problems) > 0 && r.Problems[0].Rule == RuleEpoch {
			t.Late++
		}
	}
}

// RuleEpoch is the rule that a report of a fenced epoch breaks (AMP-174).
const RuleEpoch = "AMP-174"
