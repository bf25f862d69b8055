package tui

import (
	"fmt"
	"strconv"

	tea "github.com/charmbracelet/bubbletea"

	"arbiter/amp"
	"arbiter/tui/theme"
	"arbiter/tui/ui"
)

// waysToDeliver are the ways in which an approved task can be delivered.
func (e *env) waysToDeliver(t *amp.Task) []option {
	way := func(text string, args amp.Args) option {
		return e.way(text, proposal{Command: amp.Deliver, TaskID: t.ID, Args: args})
	}
	out := []option{
		way("merge "+short(t.Commit)+" into "+baseName(t), amp.Args{Merge: true}),
		way("prepare "+branchName(t)+": you push it yourself", amp.Args{}),
	}
	if e.pulls() {
		out = append(out, way("pull request: push "+branchName(t)+" to GitHub, open it into "+baseName(t), amp.Args{Pull: true}))
	}
	return out
}

// deliver asks how an approved task is delivered.
func (e *env) deliver(t *amp.Task) tea.Cmd {
	if t.Commit == "" {
		e.Toast(theme.Time, "deliver is off: there is no commit")
		return nil
	}
	ways := e.waysToDeliver(t)
	all := make([]ui.Choice, len(ways))
	for i := range ways {
		all[i] = ui.Choice{ID: strconv.Itoa(i), Text: ways[i].Text}
	}
	return e.choose("Deliver "+string(t.ID), all, func(id string) tea.Cmd {
		i, err := strconv.Atoi(id)
		if err != nil {
			return nil
		}
		return e.stage(ways[i].prop)
	})
}

// deliveryOptions are the ways on from an approved task: out of the house, back to the agents, or to its end.
func (e *env) deliveryOptions(t *amp.Task) []option {
	out := e.waysToDeliver(t)
	if t.Commit == "" {
		for i := range out {
			out[i].off = "there is no commit"
		}
	}
	return append(
		out, e.way("Redispatch with guidance", proposal{Command: amp.Redispatch, TaskID: t.ID}),
		e.way("Stop the task", proposal{Command: amp.Terminate, TaskID: t.ID}),
	)
}

// drawDelivery is what an approved task brings: the verdict that let it pass, the branch, and what was checked.
func (e *env) drawDelivery(c *column, t *amp.Task) {
	c.Rule("Approved  "+ui.Safe(titleOf(t)), e.verdictWords(t))
	c.Field(9, "branch", ui.Safe(branchName(t))+" at "+ui.Safe(short(t.Commit))+", from "+ui.Safe(baseName(t)))
	r := e.desk.past(t.ID).facts(t).lastRound()
	if r == nil {
		e.drawPastError(c, t)
	}
	e.drawClaims(c, t)
	if r != nil {
		e.drawCriteria(c, t, r)
		e.drawIssues(c, t, r)
	}
}

// verdictWords is the last verdict in two words.
func (e *env) verdictWords(t *amp.Task) string {
	if t.Decision == "" {
		return "approved by you"
	}
	return fmt.Sprintf("%s, confidence %.2f", t.Decision, t.Confidence)
}

// tellDelivery is drawDelivery for those who listen.
func (p *plain) tellDelivery(t *amp.Task) {
	p.say("The branch is %s at %s, from %s. Verdict: %s.", branchName(t), short(t.Commit), baseName(t), spoken(p.e.verdictWords(t)))
	p.tellClaims(t)
}
