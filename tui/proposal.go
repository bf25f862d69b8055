package tui

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"arbiter/amp"
	"arbiter/tui/ui/bar"
)

// proposal is a decision before it is made: a command on a task, as a person picked it. Nothing has run.
type proposal struct {
	Command, Next amp.CommandName
	TaskID        amp.TaskID
	// Args are those of the command but for Next, Undo, Read, Unread and Digits, which the decision fills in.
	Args amp.Args
	// Text is what the text field begins with when there is no draft.
	Text string
	// Quote is an agent's suggestion that led here; it is shown, and never sent as the admin's words.
	Quote string
	// Changes are what a revision changes.
	Changes []planChange
}

// undoable are the commands that wait before they take effect, so that they can be taken back.
var undoable = []amp.CommandName{
	amp.Approve, amp.Reject, amp.Resume, amp.Unlock, amp.Redispatch, amp.Reassign, amp.Split,
	amp.Accept, amp.Override, amp.Rollback, amp.Terminate, amp.Deliver,
}

// verb is the word of a command on a button.
func (p *proposal) verb() string {
	switch p.Command {
	case amp.Rollback:
		return "Roll back"
	case amp.RaiseLimit:
		return "Raise"
	case amp.StopAll:
		return "Stop"
	case amp.Deliver:
		switch {
		case p.Args.Pull:
			return "Open"
		case !p.Args.Merge:
			return "Prepare"
		}
		return "Merge"
	case amp.NoteCommand:
		return "Keep note"
	case amp.Revise:
		return "Revise"
	}
	word := string(p.Command)
	return strings.ToUpper(word[:1]) + word[1:]
}

// title is the question of the bar.
func (p *proposal) title(t *amp.Task) string {
	switch {
	case p.Command == amp.StopAll:
		return "Stop everything?"
	case p.Command == amp.Thaw:
		return "Let everything go on?"
	case p.Command == amp.Approve && t != nil && t.Plan != nil:
		return fmt.Sprintf("Approve %s r%d?", p.TaskID, t.Plan.Revision)
	case p.Command == amp.Override:
		return fmt.Sprintf("Override the verdict of %s with %s?", p.TaskID, p.Args.Decision)
	case p.Command == amp.Answer:
		if p.Args.Option == "" {
			return fmt.Sprintf("Answer %s in your own words?", p.TaskID)
		}
		return fmt.Sprintf("Answer %s with %s?", p.TaskID, quoted(p.Args.Option))
	case p.Command == amp.Deliver && p.Args.Merge:
		return fmt.Sprintf("Merge %s?", p.TaskID)
	case p.Command == amp.Deliver && p.Args.Pull:
		return fmt.Sprintf("Open a pull request for %s?", p.TaskID)
	case p.Command == amp.Deliver:
		return fmt.Sprintf("Prepare %s for delivery?", p.TaskID)
	case p.Next != "":
		return fmt.Sprintf("%s %s and %s?", p.verb(), p.TaskID, p.Next)
	}
	return fmt.Sprintf("%s %s?", p.verb(), p.TaskID)
}

// name is the command in a list and in a toast: "unlock, then redispatch".
func (p *proposal) name() string {
	n := strings.ReplaceAll(string(p.Command), "_", " ")
	if p.Next != "" {
		n += ", then " + string(p.Next)
	}
	switch {
	case p.Command == amp.Override:
		n += " with " + string(p.Args.Decision)
	case p.Command == amp.Deliver && p.Args.Merge:
		n += ": merge"
	case p.Command == amp.Deliver && p.Args.Pull:
		n += ": pull request"
	case p.Command == amp.Deliver:
		n += ": prepare"
	}
	return n
}

// key names the draft of the proposal: the text of one kind of decision about one task.
func (p *proposal) key() string {
	return string(p.Command) + " " + string(p.TaskID) + " " + p.Args.Question
}

// words are the label of the text field, whether it must be filled, and sentences to begin with.
func (p *proposal) words() (label string, required bool, templates []string) {
	guidance := []string{
		"Fix only what the last verdict names, nothing else.",
		"Run the checks and report their exit codes as evidence.",
	}
	switch {
	case p.Command == amp.Reject:
		return "Reason", true, []string{
			"Too large: split it into smaller subtasks.",
			"The criteria cannot be checked: make them measurable.",
			"The paths are too wide: name only what the subtasks need.",
		}
	case p.Command == amp.Unlock, p.Command == amp.Redispatch:
		return "Guidance", true, guidance
	case p.Command == amp.Split:
		return "Guidance", true, []string{"Make the subtasks smaller: one concern each."}
	case p.Command == amp.Rollback && p.Next == amp.Redispatch:
		return "Guidance", true, guidance
	case p.Command == amp.Override:
		return "Reason", true, nil
	case p.Command == amp.Resume:
		return "Note", true, []string{"The cause lay outside of the task: try again."}
	case p.Command == amp.Reassign:
		return "Guidance", false, nil
	case p.Command == amp.Terminate:
		return "Reason", false, []string{"No longer needed."}
	case p.Command == amp.NoteCommand:
		return "Note", true, nil
	case p.Command == amp.Deliver, p.Command == amp.Approve, p.Command == amp.Revise, p.Command == amp.Thaw,
		p.Command == amp.RaiseLimit:
		return "", false, nil
	case p.Command == amp.Answer && p.Args.Option == "":
		return "Answer", true, nil
	case p.Command == amp.Answer && denies(p.Args.Option):
		return "Reason", false, nil
	}
	return "Note", false, nil
}

// risk is how much friction the bar has, and typed says that digits of the content must be typed.
func (p *proposal) risk(t *amp.Task) (r bar.Risk, typed bool) {
	if t == nil {
		return bar.Low, false
	}
	if p.Command == amp.Approve && t.Plan != nil {
		return map[amp.RiskLevel]bar.Risk{amp.Low: bar.Low, amp.Medium: bar.Medium, amp.High: bar.High}[t.Plan.RiskLevel], false
	}
	switch {
	case p.Command == amp.Rollback, p.Command == amp.Terminate, p.Command == amp.Deliver, p.Next == amp.Terminate:
		return bar.Low, true
	case p.Command == amp.Override && p.Args.Decision != amp.Rejected, p.Command == amp.Accept && t.Hold != nil && t.Hold.Kind == amp.HoldResult,
		p.Next == amp.Accept:
		return bar.Low, true // it stands against what was reported or judged
	}
	return bar.Low, false
}

// content is what the decision binds and digits are typed of: the plan, the commit, or the task's number before there is
// a commit.
func (p *proposal) content(t *amp.Task) (of, hex string) {
	switch {
	case t == nil:
		return "", ""
	case p.Command == amp.Approve && t.Plan != nil:
		return "content", t.Plan.Hash
	}
	if _, typed := p.risk(t); !typed {
		return "", ""
	}
	if p.Next == amp.Accept && t.Commit != "" {
		return "commit", t.Content(amp.Accept)
	}
	if t.Commit != "" {
		return "commit", t.Commit
	}
	return "number", strings.ReplaceAll(strings.TrimPrefix(string(t.ID), "T-"), "-", "")
}

// about is the task as the decision would find it: of an approval with edits, with the edited plan in the place of the present one.
func (p *proposal) about(t *amp.Task) *amp.Task {
	if t == nil || p.Command != amp.Approve || p.Args.Plan == nil {
		return t
	}
	next := *t
	next.Plan, next.First = p.Args.Plan, nil
	return &next
}

// unread are the subtasks of what is approved that were not read, in order. What the admin has just written counts as read.
func (p *proposal) unread(t *amp.Task, r *reading) []string {
	var out []string
	for i, s := range p.about(t).Plan.Subtasks {
		if !r.has(s) && !slices.ContainsFunc(p.Changes, func(ch planChange) bool { return ch.Subtask == i }) {
			out = append(out, fmt.Sprintf("S%d", i+1))
		}
	}
	return out
}

// expects is the state that the decision is made on.
func (p *proposal) expects(t *amp.Task) amp.Expects {
	return amp.Expects{Status: t.Status, Revision: t.Revision, Hash: t.Content(p.Command)}
}

// off says why the lifecycle does not allow the proposal now, "" when it does.
func (p *proposal) off(e *env) string {
	if why := e.Off(); why != "" {
		return why
	}
	switch p.Command {
	case amp.StopAll:
		if e.Board.Stopped != nil {
			return "everything stands still already"
		}
		return ""
	case amp.Thaw:
		if e.Board.Stopped == nil {
			return "nothing is stopped"
		}
		return ""
	}
	t := e.Board.Task(p.TaskID)
	if t == nil {
		return "no task is selected"
	}
	if why := whyNot(t, p.Command); why != "" {
		return why
	}
	if p.Args.Pull && !e.pulls() {
		return "no token for GitHub is configured: add [github] to the configuration"
	}
	if why := p.waits(t); why != "" {
		return why
	}
	return reason(p.about(t).AllowsBy(p.Command, e.Admin))
}

// waits says that another decision on the task waits for the end of its undo time; only ending the task, and what acts
// at once, may go beside it.
func (p *proposal) waits(t *amp.Task) string {
	if p.Command == amp.Terminate || !slices.Contains(undoable, p.Command) && p.Command != amp.Revise {
		return ""
	}
	for _, w := range t.Waiting {
		return fmt.Sprintf("%s by %s waits for the end of its undo time", w.Command.Command, cmp.Or(w.Command.By, "somebody"))
	}
	return ""
}

// whyNot is the reason of the lifecycle table, "" when the command is allowed.
func whyNot(t *amp.Task, c amp.CommandName) string { return reason(t.Allows(c)) }

// reason is why a step is refused, without the words of the machine around it.
func reason(err error) string {
	if err == nil {
		return ""
	}
	if te, ok := errors.AsType[*amp.TransitionError](err); ok {
		return te.Why
	}
	return err.Error()
}
