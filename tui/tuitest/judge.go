package tuitest

import (
	"errors"
	"fmt"
	"strings"

	"arbiter/amp"
)

// judge compares a command with the task as the coordinator does: what it expects, what the lifecycle allows, and the
// arguments it cannot do without. It returns nil or what is wrong.
func judge(t *amp.Task, c *amp.Command) error {
	refuse := func(rule, format string, args ...any) error {
		return &amp.RefusedError{What: string(c.Command), Problems: []amp.Problem{{Rule: rule, Message: fmt.Sprintf(format, args...)}}}
	}
	if x := c.Expects; x != nil {
		switch {
		case x.Status != "" && x.Status != t.Status:
			return refuse("expects", "decided on %s, the task is %s since %s", x.Status, t.Status, amp.FormatTime(t.Since))
		case x.Revision != 0 && x.Revision != t.Revision:
			return refuse("expects", "decided on revision %d, the task is at %d since %s", x.Revision, t.Revision, amp.FormatTime(t.Since))
		case x.Hash != "" && x.Hash != t.Content(c.Command):
			return refuse("expects", "decided on content %s, which is not the present one", x.Hash)
		}
	}
	if err := t.AllowsBy(c.Command, c.By); err != nil {
		return refuse("expects", "%s", err)
	}
	switch c.Command {
	case amp.Approve:
		if t.Plan.RiskLevel != amp.Low && (c.Args.Read == "" || c.Args.Unread > 0) {
			return refuse("AMP-059", "at %s risk the whole plan must have been read", t.Plan.RiskLevel)
		}
		if t.Plan.RiskLevel == amp.High && (len(c.Args.Digits) != 4 || !strings.HasSuffix(t.Plan.Hash, c.Args.Digits)) {
			return refuse("AMP-059", "at high risk the last four digits of the content hash must be typed")
		}
	case amp.Reject, amp.Unlock:
		if strings.TrimSpace(c.Note) == "" {
			return refuse("command", "a reason is needed: it becomes the guidance of what follows")
		}
	case amp.Withdraw:
		for _, w := range t.Waiting {
			if w.Command.ID == c.Args.Withdraws {
				return nil
			}
		}
		return refuse("command", "that command does not wait any more")
	}
	return nil
}

// revise judges a command and completes the plan that it carries, nil when it carries none. An approval with edits decides on the
// revision that its own append stores.
func revise(t *amp.Task, c *amp.Command) (*amp.Plan, error) {
	edited := c.Command == amp.Approve && c.Args.Plan != nil
	if !edited {
		if err := judge(t, c); err != nil || c.Command != amp.Revise || c.Args.Plan == nil {
			return nil, err
		}
	}
	plan := *c.Args.Plan
	t.Complete(&plan, c.By)
	plan.Hash = plan.ContentHash()
	if !edited {
		return &plan, nil
	}
	before := *c
	before.Command, before.By = amp.Revise, ""
	if err := judge(t, &before); err != nil {
		return nil, err
	}
	next := *t
	next.Plan, next.First, next.Revision = &plan, nil, t.Revision+1
	c.Expects = &amp.Expects{Status: next.Status, Revision: next.Revision, Hash: c.Args.Plan.Hash}
	return &plan, judge(&next, c)
}

// due is the record of a command whose undo time is over: carried out, or not because the task moved on.
func due(t *amp.Task, w amp.Waiting) amp.Check {
	k := amp.Check{
		Subject: amp.CheckCommand, TaskID: t.ID, For: w.Command.ID, Text: "carried out",
		Claims: []amp.Claim{{Name: "expects", Finding: amp.Confirmed, Found: string(t.Status)}},
	}
	if err := judge(t, &w.Command); err != nil {
		k.Text = err.Error()
		if r, ok := errors.AsType[*amp.RefusedError](err); ok {
			k.Text = r.Problems[0].Message
		}
		k.Claims[0] = amp.Claim{Name: "expects", Finding: amp.Refuted, Blocking: true, Found: k.Text}
	}
	return k
}

// SetChecklist sets what a query for the checklist before a resume or an unlock answers.
func (s *Script) SetChecklist(claims ...amp.Claim) *Script {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = claims
	return s
}
