package tui

import (
	"fmt"
	"slices"
	"strings"

	"arbiter/amp"
	"arbiter/tui/ui"
)

// questionOf is the question that a need is about, nil when it was answered.
func questionOf(n *need, t *amp.Task) *amp.QuestionState {
	i := slices.IndexFunc(t.Questions, func(q amp.QuestionState) bool { return q.Seq == n.Seq })
	if i < 0 {
		return nil
	}
	return &t.Questions[i]
}

// lasting reports whether an answer would allow more than the one request: such answers are never given from here.
func lasting(option string) bool {
	o := strings.ToLower(option)
	return strings.Contains(o, "always") || strings.Contains(o, "session") || strings.Contains(o, "forever") || strings.Contains(o, "remember")
}

func allows(option string) bool {
	o := strings.ToLower(option)
	return !lasting(o) && (strings.HasPrefix(o, "allow") || strings.HasPrefix(o, "approve") || strings.HasPrefix(o, "accept") || o == "yes" || o == "proceed")
}

func denies(option string) bool {
	o := strings.ToLower(option)
	return strings.HasPrefix(o, "den") || strings.HasPrefix(o, "reject") || strings.HasPrefix(o, "decline") || strings.HasPrefix(o, "abort") || o == "no" || o == "cancel"
}

// answering is the answer of a question that means what is asked for, nil when it offers none.
func (e *env) answering(n *need, t *amp.Task, means func(string) bool) *proposal {
	q := questionOf(n, t)
	if q == nil || q.Type == amp.QuestionBudget {
		return nil
	}
	i := slices.IndexFunc(q.Options, means)
	if i < 0 {
		return nil
	}
	p := answer(q, t, q.Options[i])
	return &p
}

func answer(q *amp.QuestionState, t *amp.Task, option string) proposal {
	return proposal{Command: amp.Answer, TaskID: t.ID, Args: amp.Args{Question: q.QuestionID, Option: option}}
}

// ownAnswer is an answer in the admin's own words; only a clarification takes one.
func (e *env) ownAnswer(n *need, t *amp.Task) *proposal {
	q := questionOf(n, t)
	if q == nil || q.Type != amp.QuestionClarification {
		return nil
	}
	p := answer(q, t, "")
	return &p
}

// questionOptions are the answers of a question, or the new limits of a budget.
func (e *env) questionOptions(n *need, t *amp.Task) []option {
	q := questionOf(n, t)
	if q == nil {
		return nil
	}
	switch {
	case q.Type == amp.QuestionBudget && !slices.Contains(q.Options, amp.OptionToday):
		return e.budgetOptions(q, t)
	case q.Type == amp.QuestionLimit:
		return e.limitOptions(q, t)
	}
	var out []option
	for _, text := range q.Options {
		o := option{Text: text, note: permissionNote(q, text), prop: answer(q, t, text), off: e.Off()}
		if lasting(text) {
			o.off = "a lasting permission is not given from here"
		}
		out = append(out, o)
	}
	return out
}

// budgetOptions are three steps up of the bound that was reached, another bound, and the end.
func (e *env) budgetOptions(q *amp.QuestionState, t *amp.Task) []option {
	raise := func(b amp.Budget, text string) option {
		return e.way(text, proposal{Command: amp.RaiseLimit, TaskID: t.ID, Args: amp.Args{Question: q.QuestionID, Limits: &b}})
	}
	var turns, wall []option
	for _, n := range []int{5, 10, 25} {
		turns = append(turns, raise(amp.Budget{Turns: t.Spent.Turns + n}, fmt.Sprintf("%d more turns: %d in all", n, t.Spent.Turns+n)))
	}
	for _, h := range []int{1, 2, 4} {
		sec := t.Spent.WallSec + h*3600
		wall = append(wall, raise(amp.Budget{WallSec: sec}, fmt.Sprintf("%d h more of work: %s in all", h, span(sec))))
	}
	var more, cost []option
	for _, n := range []int{2, 3, 5} { // times what is used
		more = append(more, raise(amp.Budget{Tokens: n * t.Usage.Tokens}, fmt.Sprintf("%d times what is used: %s in all", n, tokens(n*t.Usage.Tokens))))
		sum := float64(n) * t.Usage.CostUSD
		cost = append(cost, raise(amp.Budget{CostUSD: sum}, fmt.Sprintf("%d times what is spent: %s in all", n, dollars(sum))))
	}
	out := append(turns, wall[0])
	switch { // by the coordinator's own sentence
	case strings.Contains(q.Request, "working time"):
		out = append(wall, turns[1])
	case strings.Contains(q.Request, " tokens "):
		out = more
	case strings.Contains(q.Request, " cost "):
		out = cost
	}
	return append(out, e.way("Stop the task", proposal{Command: amp.Terminate, TaskID: t.ID}))
}

// drawQuestion is the request, quoted, and who waits.
func (e *env) drawQuestion(c *column, n *need, t *amp.Task) {
	q := questionOf(n, t)
	if q == nil {
		return
	}
	who := q.Agent
	if who == "" {
		who = "the coordinator"
	}
	c.Rule(fmt.Sprintf("Question: %s  %s", q.Type, ui.Safe(titleOf(t))), ui.Safe(who)+" waits")
	if q.Type == amp.QuestionPermission {
		e.drawPermission(c, q, t)
	} else {
		c.Quote(2, q.Request, 0)
		if q.Why != "" {
			c.Field(9, "way out", ui.Safe(q.Why))
		}
	}
	where := "turn " + ui.Safe(q.TurnID)
	if q.Type != amp.QuestionPermission && t.Turn != nil && t.Turn.Dir != "" { // a permission names its folder above
		where += " in " + ui.Safe(t.Turn.Dir)
	}
	if q.TurnID != "" {
		c.Field(9, "asked in", where)
	}
	if q.Expires != nil {
		c.Field(9, "expires", e.expiry(*q.Expires))
	}
	spent := plural(t.Spent.Turns, "turn") + ", " + span(t.Spent.WallSec) + " of work so far"
	if b := budgetOf(t.Limits); b != "" {
		spent += "; bound " + b
	}
	c.Field(9, "spent", spent)
}
