package tui

import (
	"fmt"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"arbiter/amp"
	"arbiter/tui/theme"
	"arbiter/tui/ui"
	"arbiter/tui/ui/bar"
)

// checklist is what is verified before a resume or an unlock: once when it is staged, by the coordinator, and again by
// the coordinator when it runs.
type checklist struct {
	done  bool
	check *amp.Check
	err   error
}

// checklistMsg is the answer to [decision.verify].
type checklistMsg struct {
	check *amp.Check
	err   error
}

// verify asks the coordinator for the checklist.
func (d *decision) verify() tea.Cmd {
	s, ctx, id := d.e.Session, d.e.ctx, d.prop.TaskID
	return d.e.To(d, func() tea.Msg {
		page, err := s.Query(ctx, amp.Query{Kind: amp.QueryChecklist, TaskID: id})
		return checklistMsg{page.Check, err}
	})
}

// rows are the items with their results.
func (l *checklist) rows(t *amp.Task) []bar.Row {
	switch {
	case !l.done:
		return []bar.Row{{Label: "checks", Items: []string{"the coordinator verifies branch, base and worktree"}}}
	case l.err != nil:
		return []bar.Row{{Label: "checks", Items: []string{"not verified: " + l.err.Error()}}}
	case l.check == nil:
		return []bar.Row{{Label: "checks", Items: []string{"not verified: the coordinator answered nothing"}}}
	}
	var items []string
	for _, c := range l.check.Claims {
		sign := map[amp.Finding]string{amp.Confirmed: "✓", amp.Refuted: "✗"}[c.Finding]
		if sign == "" {
			sign = "?"
		}
		text := sign + " " + c.Name + " " + c.Found
		if c.Found == "" {
			text = sign + " " + c.Name + " " + strings.ToLower(string(c.Finding))
		}
		if c.Claimed != "" && c.Claimed != c.Found {
			text += ", expected " + c.Claimed
		}
		items = append(items, text)
	}
	proof := "? not proven yet that every process is gone"
	if t != nil && t.Proof != 0 {
		proof = fmt.Sprintf("✓ no process of epoch %d (%s)", t.Epoch-1, seqName(t.Proof))
	}
	return []bar.Row{{Label: "checks", Items: append(items, proof)}}
}

// off says why the checklist stops the decision, and the way out.
func (l *checklist) off(t *amp.Task) string {
	switch {
	case !l.done:
		return "the checklist is being verified"
	case l.err != nil || l.check == nil:
		return "the checklist could not be verified: esc, then stage it again"
	}
	for _, c := range l.check.Claims {
		if c.Finding == amp.Refuted {
			return fmt.Sprintf("%s has changed: %s. %s", c.Name, c.Found, wayOut(t))
		}
	}
	return ""
}

// wayOut names what can be done about a task that may not go on as it stands.
func wayOut(t *amp.Task) string {
	if t == nil {
		return ""
	}
	var ways []string
	for _, w := range []struct {
		c    amp.CommandName
		text string
	}{
		{amp.Rollback, "roll back to a checkpoint"}, {amp.Split, "split for a new plan"}, {amp.Terminate, "terminate"},
	} {
		if whyNot(t, w.c) == "" && (w.c != amp.Rollback || t.Checkpoint > 0) {
			ways = append(ways, w.text)
		}
	}
	if len(ways) == 0 {
		return "nothing is possible now"
	}
	var out strings.Builder
	out.WriteString("Way out: " + ways[0])
	for _, w := range ways[1:] {
		out.WriteString(", or " + w)
	}
	return out.String()
}

// option is one numbered way out of a card. Choosing it stages a proposal; it never runs anything.
type option struct {
	Text string
	prop proposal
	// note is shown behind the text: the command, or why it is off.
	note string
	off  string
	// agent says that the text is an agent's and names no command: it opens the list of commands with the text quoted.
	agent bool
	// run replaces the staging of prop.
	run func() tea.Cmd
}

// stageOption stages an option of a card.
func (e *env) stageOption(t *amp.Task, o option) tea.Cmd {
	switch {
	case o.off != "":
		e.Toast(theme.Time, o.Text+" is off: "+o.off)
		return nil
	case o.run != nil:
		return o.run()
	case o.agent:
		return e.ownWords(t, o.prop)
	}
	return e.stage(o.prop)
}

// stage asks for what a proposal still needs, an agent or a checkpoint, and opens the decision bar over it.
func (e *env) stage(p proposal) tea.Cmd {
	t := e.Board.Task(p.TaskID)
	if t == nil {
		return nil
	}
	if why := p.off(e); why != "" {
		e.Toast(theme.Time, p.name()+" is off: "+why)
		return nil
	}
	switch {
	case (p.Command == amp.Reassign || p.Next == amp.Reassign) && p.Args.Executor == "" && p.Args.Reviewer == "":
		return e.pickAgent(t, p)
	case p.Command == amp.Rollback && p.Args.Checkpoint == 0:
		return e.pickCheckpoint(t, p)
	case p.Command == amp.Override && p.Args.Decision == "":
		p.Args.Decision = otherDecision(t)
	}
	return e.decide(p)
}

// otherDecision is what an override would put in the place of the held verdict's.
func otherDecision(t *amp.Task) amp.Decision {
	if t.Decision == amp.Rejected {
		return amp.Approved
	}
	return amp.Rejected
}

// pickAgent asks who takes the task over.
func (e *env) pickAgent(t *amp.Task, p proposal) tea.Cmd {
	if e.State == nil || len(e.State.Agents) == 0 {
		e.Toast(theme.Time, "the coordinator has not said which agents there are")
		return nil
	}
	var all []ui.Choice
	for _, role := range []amp.Role{amp.Executor, amp.Reviewer} {
		now, other := e.agentOf(t, role), e.agentOf(t, amp.Reviewer)
		if role == amp.Reviewer {
			other = e.agentOf(t, amp.Executor)
		}
		for _, name := range e.State.Agents[role] {
			c := ui.Choice{ID: string(role) + " " + name, Text: name + " as " + string(role)}
			switch name {
			case now:
				c.Off = "it has the task now"
			case other:
				c.Hint = "has the other role of this task"
			}
			all = append(all, c)
		}
	}
	return e.choose("Give "+string(t.ID)+" to", all, func(id string) tea.Cmd {
		role, name, _ := cutSpace(id)
		if amp.Role(role) == amp.Executor {
			p.Args.Executor = name
		} else {
			p.Args.Reviewer = name
		}
		return e.stage(p)
	})
}

// pickCheckpoint asks where the branch goes back to.
func (e *env) pickCheckpoint(t *amp.Task, p proposal) tea.Cmd {
	if t.Checkpoint == 0 {
		e.Toast(theme.Time, "rollback is off: no checkpoint was set yet")
		return nil
	}
	var all []ui.Choice
	for n := t.Checkpoint; n > 0; n-- {
		c := ui.Choice{ID: fmt.Sprint(n), Text: fmt.Sprintf("checkpoint %d", n)}
		if n == t.Checkpoint {
			c.Hint = "the last one, before the turn that ran last"
		}
		all = append(all, c)
	}
	return e.choose("Roll "+string(t.ID)+" back to", all, func(id string) tea.Cmd {
		if _, err := fmt.Sscan(id, &p.Args.Checkpoint); err != nil {
			return nil
		}
		return e.stage(p)
	})
}

// everyCommand are the commands that own words may stage, with the follow-ups that make sense.
func (e *env) everyCommand(id amp.TaskID) []proposal {
	one := func(c, next amp.CommandName) proposal { return proposal{Command: c, Next: next, TaskID: id} }
	merge := one(amp.Deliver, "")
	merge.Args.Merge = true
	all := []proposal{
		one(amp.Resume, ""), one(amp.Unlock, amp.Redispatch), one(amp.Unlock, amp.Split), one(amp.Unlock, amp.Reassign),
		one(amp.Unlock, ""), one(amp.Redispatch, ""), one(amp.Reassign, ""), one(amp.Split, ""), one(amp.Accept, ""),
		one(amp.Override, ""), one(amp.Rollback, ""), one(amp.Rollback, amp.Redispatch), one(amp.Rollback, amp.Terminate),
		merge, one(amp.Deliver, ""), one(amp.Reject, ""), one(amp.Terminate, ""), one(amp.NoteCommand, ""),
	}
	if e.pulls() {
		pull := one(amp.Deliver, "")
		pull.Args.Pull = true
		all = append(all, pull)
	}
	return all
}

// ownWords lets a person pick any command of the task; what the lifecycle does not allow is shown with its reason.
func (e *env) ownWords(t *amp.Task, from proposal) tea.Cmd {
	if t == nil {
		return nil
	}
	props := e.everyCommand(t.ID)
	all := make([]ui.Choice, len(props))
	for i := range props {
		p := &props[i]
		p.Args.Escalation, p.Quote = from.Args.Escalation, from.Quote
		if p.Command == amp.Override {
			p.Args.Decision = otherDecision(t)
		}
		off := p.off(e)
		if off == "" && p.Command == amp.Rollback && t.Checkpoint == 0 {
			off = "no checkpoint was set yet"
		}
		all[i] = ui.Choice{ID: fmt.Sprint(i), Text: p.name(), Off: off}
	}
	slices.SortStableFunc(all, func(a, b ui.Choice) int { // what can be done first
		switch {
		case a.Off == "" && b.Off != "":
			return -1
		case a.Off != "" && b.Off == "":
			return 1
		}
		return 0
	})
	return e.choose("Own words: any command of "+string(t.ID), all, func(id string) tea.Cmd {
		var i int
		if _, err := fmt.Sscan(id, &i); err != nil || i < 0 || i >= len(props) {
			return nil
		}
		return e.stage(props[i])
	})
}
