package tui

import (
	"fmt"
	"strings"
	"time"

	"arbiter/amp"
	"arbiter/tui/theme"
	"arbiter/tui/ui"
)

// drawPermission draws a request of an agent, every part of it, beside what the plan lets it do.
func (e *env) drawPermission(c *column, q *amp.QuestionState, t *amp.Task) {
	p := q.Permission
	if p == nil {
		c.Quote(2, q.Request, 0)
		return
	}
	c.Field(9, "asks to", ui.Safe(string(p.Type))+through(p.Tool))
	what := p.Command
	if what == "" {
		what = strings.Join(p.Paths, "\n")
	}
	if what == "" {
		what = p.Request
	}
	c.Quote(2, what, 0)
	if p.Command != "" && len(p.Paths) > 0 {
		c.Field(9, "files", ui.Safe(strings.Join(p.Paths, "  ")))
	}
	if p.Dir != "" {
		c.Field(9, "folder", ui.Safe(p.Dir))
	}
	if p.Reason != "" {
		c.Field(9, "it says", ui.Quote(e.Theme, p.Reason))
	}
	if q.Why != "" {
		c.Field(9, "asked", ui.Safe(q.Why))
	}
	if t.Plan != nil {
		c.Field(9, "plan", fmt.Sprintf("%s risk, may change %s", t.Plan.RiskLevel, ui.Safe(pathsOf(t.Plan))))
		for i, f := range t.Plan.ForbiddenActions {
			label := ""
			if i == 0 {
				label = "forbids"
			}
			c.Field(9, label, e.Theme.S(theme.Danger, ui.Safe(f)))
		}
	}
	for i := range t.Grants {
		if g := &t.Grants[i]; e.Now.Before(g.Until) {
			c.Field(9, "granted", ui.Safe(g.Permission.Text())+" until "+e.Clock(g.Until)+" by "+ui.Safe(g.By))
		}
	}
}

// through is the agent's own name of its tool.
func through(tool string) string {
	if tool == "" {
		return ""
	}
	return " with its tool " + ui.Safe(tool)
}

// permissionNote says what an answer to a request allows.
func permissionNote(q *amp.QuestionState, option string) string {
	switch option {
	case amp.OptionAllow:
		return "this request alone; acts at once"
	case amp.OptionAllowTask:
		return "exactly this request, for " + span(q.GrantSec) + "; acts at once"
	case amp.OptionDeny:
		return "the turn goes on without it"
	}
	return "acts at once"
}

// limitOptions are the ways out for an agent that cannot go on by itself.
func (e *env) limitOptions(q *amp.QuestionState, t *amp.Task) []option {
	out := []option{}
	for _, text := range q.Options {
		out = append(out, option{Text: text, note: "acts at once", prop: answer(q, t, text), off: e.Off()})
	}
	return append(out,
		e.way("Give the task to another agent", proposal{Command: amp.Reassign, TaskID: t.ID}),
		e.way("Stop the task", proposal{Command: amp.Terminate, TaskID: t.ID}))
}

// lapses says what becomes of a question that nobody answers.
func (e *env) lapses(q *amp.QuestionState) string {
	switch {
	case q.Type == amp.QuestionBudget && q.Expires != nil:
		return "it goes on by itself at " + e.Clock(*q.Expires) + ", when the next day begins"
	case q.Expires != nil:
		return "at " + e.Clock(*q.Expires) + " silence becomes a no, and the turn goes on without it"
	case q.Type == amp.QuestionPermission:
		return "the turn needs you: nothing is allowed by silence"
	}
	return "the task stands still until you answer: no turn, no cost"
}

// expiry is how long a question still waits.
func (e *env) expiry(at time.Time) string {
	e.Tick()
	left := at.Sub(e.Now)
	text := "in " + ui.Clock(left) + ": silence is never a yes"
	if left <= 0 {
		text = ui.Late(-left) + ": silence is never a yes"
	}
	return e.Theme.S(theme.Time, text)
}
