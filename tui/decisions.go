package tui

import (
	tea "github.com/charmbracelet/bubbletea"

	"arbiter/amp"
	"arbiter/tui/action"
)

// decisionDeeds are the decisions about the task that the screen is about, on every screen. The reason why one is off is
// that of the lifecycle table.
func decisionDeeds(e *env) []deed {
	var out []deed
	do := func(id, key, title, short string, danger action.Danger, rank int, off func(t *amp.Task) string, run func(t *amp.Task) tea.Cmd) {
		a := action.Action{ID: id, Scope: action.Global, Title: title, Short: short, Danger: danger, Rank: rank}
		if key != "" {
			a.Keys = []string{key}
		}
		a.Disabled = func() string {
			t := e.currentTask()
			if t == nil {
				return "no task is selected"
			}
			return off(t)
		}
		out = append(out, deed{Action: a, Run: func() tea.Cmd {
			if t := e.currentTask(); t != nil {
				return run(t)
			}
			return nil
		}})
	}
	command := func(c amp.CommandName) func(t *amp.Task) string {
		return func(t *amp.Task) string {
			p := proposal{Command: c, TaskID: t.ID}
			return p.off(e)
		}
	}
	stage := func(c, next amp.CommandName) func(t *amp.Task) tea.Cmd {
		return func(t *amp.Task) tea.Cmd { return e.stage(proposal{Command: c, Next: next, TaskID: t.ID}) }
	}
	do("plan.open", "e", "plan of the task: to read, to edit", "plan", action.None, rankGlobal+7, func(t *amp.Task) string {
		if t.Plan == nil {
			return "there is no plan yet"
		}
		return ""
	}, func(t *amp.Task) tea.Cmd { return e.Go(Place{Kind: KindPlan, ID: string(t.ID)}) })
	do("decide.accept", "A", "approve or accept: opens the decision…", "approve…", action.Low, 40, e.walkOff, e.walk)
	do("decide.reject", "R", "reject or redispatch: opens the decision…", "reject…", action.Low, 41, e.walkOff, e.walk)
	do("decide.deliver", "M", "deliver: choose how…", "deliver…", action.High, 42, command(amp.Deliver), e.deliver)
	do("decide.terminate", "X", "terminate the task…", "terminate…", action.High, 43, command(amp.Terminate), stage(amp.Terminate, ""))
	do("decide.own_words", "", "any command of the task…", "", action.Low, 0, func(*amp.Task) string { return e.Off() },
		func(t *amp.Task) tea.Cmd { return e.ownWords(t, proposal{}) })
	for _, c := range []struct {
		id, title string
		c, next   amp.CommandName
		danger    action.Danger
	}{
		{"decide.resume", "resume…", amp.Resume, "", action.Low},
		{"decide.unlock", "unlock, then redispatch…", amp.Unlock, amp.Redispatch, action.Low},
		{"decide.redispatch", "redispatch with guidance…", amp.Redispatch, "", action.Low},
		{"decide.reassign", "give to another agent…", amp.Reassign, "", action.Low},
		{"decide.split", "split into smaller subtasks…", amp.Split, "", action.Low},
		{"decide.override", "override the held verdict…", amp.Override, "", action.Low},
		{"decide.note", "keep a note in the journal…", amp.NoteCommand, "", action.Low},
	} {
		do(c.id, "", c.title, "", c.danger, 0, command(c.c), stage(c.c, c.next))
	}
	do("decide.seen", "a", "acknowledge the escalation: says that you have seen it, decides nothing", "ack", action.None, 39,
		func(t *amp.Task) string {
			if unseen(t) == nil {
				return "no open escalation that nobody has seen"
			}
			return e.Off()
		}, e.seen)
	do("decide.rollback", "", "roll back to a checkpoint…", "", action.High, 0, func(t *amp.Task) string {
		if why := command(amp.Rollback)(t); why != "" || t.Checkpoint > 0 {
			return why
		}
		return "no checkpoint was set yet"
	}, stage(amp.Rollback, ""))
	return append(out, e.everythingDeeds()...)
}

// unseen is the oldest open escalation of a task that no admin has acknowledged, nil when there is none.
func unseen(t *amp.Task) *amp.EscalationState {
	for i := range t.Escalations {
		if s := &t.Escalations[i]; s.Open() && s.SeenBy == "" {
			return s
		}
	}
	return nil
}

// seen submits the optional ACK of an escalation (AMP-151).
func (e *env) seen(t *amp.Task) tea.Cmd {
	s := unseen(t)
	if s == nil {
		return nil
	}
	return e.Submit(amp.Command{Command: amp.NoteCommand, TaskID: t.ID, Note: "seen", Args: amp.Args{Escalation: s.MsgID}}, nil)
}

// everythingDeeds stop all and let all go on; they are about no task.
func (e *env) everythingDeeds() []deed {
	one := func(id, title string, c amp.CommandName, danger action.Danger, keys ...string) deed {
		p := proposal{Command: c}
		return deed{Action: action.Action{
			ID: id, Scope: action.Global, Title: title, Keys: keys, Danger: danger,
			Disabled: func() string { return p.off(e) },
		}, Run: func() tea.Cmd { return e.decide(p) }}
	}
	return []deed{
		one("stop-all", "stop everything…", amp.StopAll, action.High, "S"),
		one("thaw", "let everything go on…", amp.Thaw, action.Low),
	}
}

// decidedAt is where a task is decided: its plan, or its gravest card; ok is false when nothing of it waits.
func (e *env) decidedAt(t *amp.Task) (Place, bool) {
	all := t.Needs()
	if len(all) == 0 {
		return Place{}, false
	}
	return newNeed(all[0]).Place(), true
}

func (e *env) walkOff(t *amp.Task) string {
	if _, ok := e.decidedAt(t); !ok {
		return "nothing of the task needs you"
	}
	return ""
}

// walk goes to where the task is decided. The key does not decide there: what is decided is seen first.
func (e *env) walk(t *amp.Task) tea.Cmd {
	if at, ok := e.decidedAt(t); ok {
		return e.Go(at)
	}
	return nil
}
