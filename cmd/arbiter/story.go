package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"arbiter/amp"
)

// story writes all that became of a task as a page: what was wanted, what was approved on what evidence, each round, and what it cost.
type story struct {
	*markdown
	cmd  *cobra.Command
	from querier
	task *amp.Task
	head amp.Head
	// round counts the dispatches that were written.
	round int
}

// writeStory writes the story of a task up to the head of its board.
func writeStory(w io.Writer, c *cobra.Command, from querier, t *amp.Task, head amp.Head) error {
	s := &story{markdown: newMarkdown(w), cmd: c, from: from, task: t, head: head}
	s.top()
	for _, part := range []func() error{s.plans, s.decisions, s.rounds, s.escalations, s.costs, s.delivery, s.refusals, s.record} {
		if err := part(); err != nil {
			return err
		}
	}
	return s.end()
}

// each reads the task's entries of some kinds, up to the head.
func (s *story) each(f func(*amp.Entry) error, kinds ...amp.Kind) error {
	return eachEntry(s.cmd, s.from, amp.Filter{TaskID: s.task.ID, Before: s.head.Seq + 1, Kinds: kinds}, f)
}

func (s *story) top() {
	t := s.task
	s.line("# %s %s\n", t.ID, said(t.Title))
	s.line("Status **%s** since %s. Began %s, last entry %s. %s, rejected %d.", t.Status, utc(t.Since), utc(t.FirstAt), utc(t.LastAt),
		plural(t.Round, "round"), t.RejectTotal)
	s.line("\nText in code, `like this` or in quoted blocks, was written by agents and people; it is shown as it came, made safe to read.")
	if w := t.Wish; w != nil {
		s.title(2, "Wish")
		s.quote(w.Text)
		s.line("Repository %s.", said(w.Repo))
	}
}

func (s *story) plans() error {
	p := s.task.Plan
	if p == nil {
		s.title(2, "Plan")
		s.line("There is none.")
		return nil
	}
	s.title(2, "Plan")
	s.line("Revision %d by %s, entry #%d, content hash %s, %s risk.", p.Revision, said(p.Author), s.task.PlanSeq, said(p.Hash), said(string(p.RiskLevel)))
	if err := s.approval(); err != nil {
		return err
	}
	s.line("\nBranch %s from %s at %s, repository %s.", said(p.Branch), said(p.BaseBranch), said(p.BaseCommit), said(p.Repo))
	s.quote(p.Description)
	s.list("Acceptance criteria", p.AcceptanceCriteria)
	var steps []string
	for _, x := range p.Subtasks {
		steps = append(steps, fmt.Sprintf("%s: %s (about %s)", x.SubtaskID, x.Description, plural(x.EstimatedLines, "line")))
	}
	s.list("Subtasks", steps)
	s.list("Files that may change", p.AllowedPaths)
	s.list("Forbidden", p.ForbiddenActions)
	var checks []string
	for _, argv := range p.Checks {
		checks = append(checks, strings.Join(argv, " "))
	}
	s.list("Checks", checks)
	if p.Reasons != "" {
		s.line("\nReasons of the author:")
		s.quote(p.Reasons)
	}
	if p.Revision == 1 {
		return nil
	}
	s.line("\nEvery revision:\n")
	return s.each(func(e *amp.Entry) error {
		old, err := amp.DecodeBody[amp.Plan](e)
		if err != nil {
			return err
		}
		s.line("- revision %d by %s, entry #%d, %s, content hash %s: %s", old.Revision, said(old.Author), e.Seq, utc(e.At), said(old.Hash), said(old.Title))
		return nil
	}, amp.KindPlan)
}

// approval says who approved the plan, and what of it was in front of them.
func (s *story) approval() error {
	if s.task.Approval == nil {
		s.line("\n**Not approved.**")
		return nil
	}
	for _, a := range []*amp.Approval{s.task.First, s.task.Approval} {
		if a == nil {
			continue
		}
		e, err := findEntry(s.cmd, s.from, fmt.Sprint(a.Seq))
		if err != nil {
			return err
		}
		s.line("\n**Approved by %s** on %s, entry #%d with hash `%s`, for content %s%s.", said(a.By), utc(a.At), a.Seq, e.Hash, said(a.Hash), evidence(e))
	}
	return nil
}

// evidence is what stood before an admin who decided, as far as the entry tells.
func evidence(e *amp.Entry) string {
	c, err := amp.DecodeBody[amp.Command](e)
	if err != nil {
		return ""
	}
	var all []string
	if x := c.Expects; x != nil {
		var on []string
		if x.Status != "" {
			on = append(on, "status "+said(string(x.Status)))
		}
		if x.Revision != 0 {
			on = append(on, fmt.Sprintf("revision %d", x.Revision))
		}
		if x.Hash != "" {
			on = append(on, "content "+said(x.Hash))
		}
		if len(on) > 0 {
			all = append(all, "decided on "+strings.Join(on, ", "))
		}
	}
	if c.Args.Read != "" {
		all = append(all, said(c.Args.Read))
	}
	if c.Args.Unread > 0 {
		all = append(all, plural(c.Args.Unread, "part")+" not read")
	}
	if c.Args.TookMS > 0 {
		all = append(all, fmt.Sprintf("open for %.1f s", float64(c.Args.TookMS)/1000))
	}
	if c.Args.Digits != "" {
		all = append(all, "typed the digits "+said(c.Args.Digits))
	}
	if len(all) == 0 {
		return ""
	}
	return "; " + strings.Join(all, "; ")
}

func (s *story) decisions() error {
	s.title(2, "Decisions")
	n := 0
	err := s.each(func(e *amp.Entry) error {
		c, err := amp.DecodeBody[amp.Command](e)
		if err != nil {
			return err
		}
		n++
		what := said(string(c.Command))
		if c.Args.Next != "" {
			what += ", then " + said(string(c.Args.Next))
		}
		if c.Args.Option != "" {
			what += " " + said(c.Args.Option)
		}
		if c.Args.Decision != "" {
			what += " " + said(string(c.Args.Decision))
		}
		s.line("- #%d %s, %s: %s%s", e.Seq, utc(e.At), said(c.By), what, evidence(e))
		if c.Note != "" {
			s.quote(c.Note)
		}
		return nil
	}, amp.KindCommand)
	if n == 0 {
		s.line("None.")
	}
	return err
}

func (s *story) escalations() error {
	s.title(2, "Escalations and questions")
	n := len(s.task.Escalations)
	for i := range s.task.Escalations {
		x := &s.task.Escalations[i]
		s.line("- #%d %s, **%s** %s, triggered by %s", x.Seq, utc(x.At), x.Severity, said(string(x.Type)), said(string(x.TriggeredBy)))
		s.quote(x.Description)
		if x.Open() {
			s.line("  Open: nobody has decided it.")
		} else {
			s.line("  Resolved by %s with %s, decided %s, entry #%d.", said(x.ResolvedBy), said(string(x.Resolution)), utc(x.DecidedAt), x.ResolvedSeq)
		}
	}
	err := s.each(func(e *amp.Entry) error {
		q, err := amp.DecodeBody[amp.Question](e)
		if err != nil {
			return err
		}
		n++
		s.line("- #%d %s, question (%s) of %s, options %s", e.Seq, utc(e.At), said(string(q.Type)), said(q.Agent), said(strings.Join(q.Options, " | ")))
		s.quote(q.Request)
		if q.Answer != nil {
			s.line("  Answered by %s, allowed: %v.", said(q.Answer.By), q.Answer.Allow)
		}
		return nil
	}, amp.KindQuestion)
	if n == 0 {
		s.line("None.")
	}
	return err
}

func (s *story) costs() error {
	s.title(2, "Costs")
	s.line("In all: %s. Agents report tokens and costs themselves.\n", usageText(s.task.Usage))
	return s.each(func(e *amp.Entry) error {
		u, err := amp.DecodeBody[amp.Turn](e)
		if err != nil || u.Event != amp.TurnEnded {
			return err
		}
		s.line("- #%d %s as %s: %s, %s", e.Seq, said(u.Agent), said(string(u.Role)), said(string(u.Outcome)),
			usageText(amp.Usage{Turns: 1, Tokens: u.Tokens, CostUSD: u.CostUSD, TookMS: u.TookMS}))
		return nil
	}, amp.KindTurn)
}

func (s *story) delivery() error {
	s.title(2, "Delivery")
	n := 0
	err := s.each(func(e *amp.Entry) error {
		c, err := amp.DecodeBody[amp.Check](e)
		if err != nil || c.Subject != amp.CheckWorkspace && c.Subject != amp.CheckRelease {
			return err
		}
		n++
		s.line("- #%d %s, %s: %s, commit %s", e.Seq, utc(e.At), c.Subject, said(c.Text), said(c.Commit))
		return nil
	}, amp.KindCheck)
	if n == 0 {
		s.line("Nothing was delivered.")
	}
	return err
}

func (s *story) refusals() error {
	if s.task.Refusals == 0 {
		return nil
	}
	s.title(2, "Refused")
	return s.each(func(e *amp.Entry) error {
		s.line("- #%d %s: %s", e.Seq, utc(e.At), said(entryLine(e)))
		return nil
	}, amp.KindRefusal)
}

// record lists every entry with its hash.
func (s *story) record() error {
	s.title(2, "Entries")
	err := s.each(func(e *amp.Entry) error {
		s.line("- `#%d` %s **%s** %s: %s `%s`", e.Seq, utc(e.At), e.Kind, said(e.Actor), said(entryLine(e)), short(e.Hash.String()))
		return nil
	})
	s.line("\nThe journal's head was entry %d with hash `%s`. The entries themselves: `arbiter task export %s --json`.", s.head.Seq, s.head.Hash, s.task.ID)
	return err
}
