package tui

import (
	"fmt"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"arbiter/amp"
)

// taskRoom is one task: where it stands, and every decision about it.
type taskRoom struct {
	id  amp.TaskID
	seq uint64
}

func (r *taskRoom) at() Place { return Place{Kind: KindTask, ID: string(r.id), Seq: r.seq} }

func (r *taskRoom) tell(p *plain) {
	t := p.task(r.id)
	if t == nil {
		p.say("There is no task %s any more.", r.id)
		return
	}
	p.say("%s", p.taskWords(t))
	p.say("It is %s since %s, %s.", statusWords(t.Status), p.e.Clock(t.Since), p.ago(t.Since))
	if pl := t.Plan; pl != nil {
		p.say("Branch: %s, from %s at %s.", quoted(pl.Branch), quoted(pl.BaseBranch), short(pl.BaseCommit))
		p.say("Subtask %d of %d, round %d; executor %s, reviewer %s.", min(t.Subtask+1, len(pl.Subtasks)), len(pl.Subtasks), t.Round,
			p.e.agentOf(t, amp.Executor), p.e.agentOf(t, amp.Reviewer))
	} else if t.Wish != nil {
		p.quote("The wish:", t.Wish.Text, 0)
	}
	if t.Commit != "" {
		p.say("The branch stands at %s, checkpoint %d, epoch %d.", short(t.Commit), t.Checkpoint, t.Epoch)
	}
	if a := t.Approval; a != nil {
		p.say("Revision %d was approved by %s, %s.", a.Revision, a.By, p.ago(a.At))
	}
	r.tellDue(p, t)
	p.tellClaims(t)
	for _, f := range t.Findings {
		p.quote(fmt.Sprintf("Finding %s, %s, in %s, %s line %d:", f.ID, f.Severity, roundWords(f.Rounds), quoted(f.File), f.Line), f.Description, 0)
	}
	for _, w := range t.Waiting {
		p.say("%s by %s runs %s.", capital(strings.ReplaceAll(string(w.Command.Command), "_", " ")), w.Command.By, p.until(w.Due))
	}
}

func roundWords(rounds []int) string {
	if len(rounds) == 1 {
		return fmt.Sprintf("round %d", rounds[0])
	}
	return "rounds " + ints(rounds)
}

// tellDue is the acknowledgement that is due next.
func (r *taskRoom) tellDue(p *plain, t *amp.Task) {
	o := dueFirst(t)
	switch {
	case o == nil:
	case p.e.Board.Stopped != nil, t.Status == amp.Suspended, t.Status == amp.Locked, t.Status.Ended():
		p.say("The time to acknowledge the %s is frozen.", spoken(string(o.Type)))
	case p.e.Now.After(o.Deadline()):
		p.say("The %s to %s should have been acknowledged %s.", spoken(string(o.Type)), o.To, p.ago(o.Deadline()))
	default:
		again := ""
		if o.Redelivered {
			again = "; it was delivered twice"
		}
		p.say("%s has to acknowledge the %s %s%s.", capital(string(o.To)), spoken(string(o.Type)), p.until(o.Deadline()), again)
	}
}

func (r *taskRoom) choices(p *plain) []way {
	to := func(x room) func() error { return func() error { p.enter(x); return nil } }
	var out []way
	t := p.task(r.id)
	if t != nil {
		for _, raised := range t.Needs() {
			n := newNeed(raised)
			out = append(out, way{text: "Decide: " + p.needWords(&n), do: to(p.roomAt(n.Place()))})
		}
		if t.Plan != nil && t.Status != amp.AwaitingApproval {
			out = append(out, way{text: fmt.Sprintf("The plan, revision %d.", t.Plan.Revision), do: to(&planRoom{id: r.id})})
		}
		out = append(
			out, way{text: "The timeline, newest first.", do: to(&historyRoom{task: r.id})},
			way{text: "Criteria, issues and claims of the last round.", do: func() error { p.tellLastRound(r.id); return nil }},
			way{text: "The diff of its branch.", do: to(&diffRoom{id: r.id})},
		)
		out = append(out, p.decisions()...)
	}
	return append(out, way{text: "Back.", do: func() error { p.back(); return nil }})
}

// decisions are the decisions about the task in front, from the table that the screens have too.
func (p *plain) decisions() []way {
	var out []way
	for _, d := range decisionDeeds(p.e) {
		switch d.ID {
		case "decide.accept", "decide.reject", "stop-all", "thaw": // they only walk, or are about everything
			continue
		}
		out = append(out, p.action(d.ID))
	}
	return append(out, p.action("undo"))
}

// tellLastRound says what executor and reviewer said last.
func (p *plain) tellLastRound(id amp.TaskID) {
	t := p.task(id)
	if t == nil {
		return
	}
	if read := p.e.readPast(p, id); read != nil {
		p.launch(func() tea.Msg { // the answer is for no page
			if a, ok := read().(pageMsg); ok {
				return a.msg
			}
			return nil
		})
	}
	p.settle()
	r := p.e.desk.past(id).facts(t).lastRound()
	if r == nil {
		p.say("There was no round yet.")
		return
	}
	p.tellClaims(t)
	p.tellCriteria(t, r)
	p.tellIssues(r)
}

// query asks the coordinator and waits for the answer.
func (p *plain) query(q amp.Query) (page amp.Page, err error) {
	got := false
	p.ask1(q, func(a amp.Page, e error) { page, err, got = a, e, true })
	p.settle()
	if !got && err == nil {
		err = errUnanswered
	}
	return page, err
}
