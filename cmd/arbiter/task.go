package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"arbiter/amp"
	"arbiter/tui/textsafe"
)

func newTask(a *app) *cobra.Command {
	return group("task", "State a wish, and see what became of it", newTaskNew(a), newTaskList(a), newTaskShow(a), newTaskWatch(a), newTaskExport(a))
}

func newTaskList(a *app) *cobra.Command {
	all, status := false, ""
	c := &cobra.Command{
		Use: "list", Short: "List the tasks", Args: takes(),
		RunE: a.do(func(c *cobra.Command, _ []string) error {
			if status != "" && !slices.Contains(amp.Statuses, amp.Status(status)) {
				return usage("there is no status %q", status).then("Known: " + joinStatuses() + ".")
			}
			return a.looking(func(l *look) error {
				b, err := board(c.Context(), l)
				if err != nil {
					return err
				}
				tasks := []*amp.Task{}
				for _, id := range b.Order {
					t := b.Task(id)
					if status == "" && (all || !t.Status.Ended()) || string(t.Status) == status {
						tasks = append(tasks, t)
					}
				}
				a.printTasks(tasks, len(b.Order))
				return nil
			})
		}),
	}
	c.Flags().BoolVar(&all, "all", false, "also those that have ended")
	c.Flags().StringVar(&status, "status", "", "only those with this status")
	_ = c.RegisterFlagCompletionFunc("status", completeStatuses) // the flag is there
	return c
}

func joinStatuses() string {
	var words []string
	for _, s := range amp.Statuses {
		words = append(words, string(s))
	}
	return strings.Join(words, ", ")
}

func (a *app) printTasks(tasks []*amp.Task, known int) {
	if a.json {
		a.outJSON(tasks)
		return
	}
	if len(tasks) == 0 {
		if known > 0 {
			a.out("No task is open; --all lists the %s that ended.\n", plural(known, "task"))
			return
		}
		a.out("There is no task yet. Start one: arbiter task new \"what you want done\"\n")
		return
	}
	t := &table{}
	now := time.Now()
	t.add("TASK", "STATUS", "SINCE", "ROUND", "REJECTED", "AGENT", "TITLE")
	for _, x := range tasks {
		agent := "-"
		if x.Turn != nil {
			agent = x.Turn.Agent
		}
		t.add(string(x.ID), string(x.Status), ago(x.Since, now), fmt.Sprint(x.Round), fmt.Sprintf("%d/%d", x.RejectCount, x.LockAt()), agent, x.Title)
	}
	t.print(a)
}

func newTaskShow(a *app) *cobra.Command {
	entries := 12
	c := &cobra.Command{
		Use: "show TASK", Short: "Show a task: where it stands, why, and what happened last", Args: takes("a TASK"),
		RunE: a.do(func(c *cobra.Command, args []string) error {
			if entries < 0 || entries > 1000 {
				return usage("--entries is %d, want 0 to 1000", entries)
			}
			return a.showTask(c.Context(), args[0], entries)
		}),
	}
	c.Flags().IntVar(&entries, "entries", entries, "how many of the last entries to show")
	return c
}

// showTask prints a task with its last entries.
func (a *app) showTask(ctx context.Context, name string, entries int) error {
	return a.looking(func(l *look) error {
		b, err := board(ctx, l)
		if err != nil {
			return err
		}
		t, err := findTask(b, name)
		if err != nil {
			return err
		}
		if a.json {
			a.outJSON(t)
			return nil
		}
		a.printTask(t, b)
		if entries == 0 {
			return nil
		}
		page, err := l.Query(ctx, amp.Query{Kind: amp.QueryEntries, Filter: amp.Filter{TaskID: t.ID, Newest: true, Limit: entries}})
		if err != nil {
			return err
		}
		slices.Reverse(page.Entries)
		a.out("\nLast entries:\n")
		rows := &table{}
		rows.addEntries(page.Entries)
		rows.print(a)
		return nil
	})
}

func (a *app) printTask(t *amp.Task, b *amp.Board) {
	now := time.Now()
	a.out("%s  %s\n", t.ID, textsafe.Line(t.Title))
	r := &table{}
	status := fmt.Sprintf("%s for %s, revision %d", t.Status, ago(t.Since, now), t.Revision)
	if t.Before != "" {
		status += ", was " + string(t.Before)
	}
	r.add("  status", status)
	if b.Stopped != nil && !t.Status.Ended() {
		r.add("  stopped", "everything stands still since "+ago(b.Stopped.At, now)+": arbiter thaw")
	}
	if t.Hold != nil {
		r.add("  held", t.Hold.Why)
	}
	if p := t.Plan; p != nil {
		r.add("  repository", p.Repo)
		r.add("  branch", fmt.Sprintf("%s from %s at %s", p.Branch, p.BaseBranch, short(p.BaseCommit)))
		r.add("  plan", fmt.Sprintf("revision %d by %s, %s risk, content %s", p.Revision, p.Author, p.RiskLevel, short(p.Hash)))
		r.add("  subtask", fmt.Sprintf("%d of %d: %s", min(t.Subtask+1, len(p.Subtasks)), len(p.Subtasks), t.CurrentSubtask().Description))
	} else if t.Wish != nil {
		r.add("  wish", t.Wish.Text)
		r.add("  repository", t.Wish.Repo)
	}
	if c := t.Chain; c != nil {
		text := fmt.Sprintf("%s agent %s: %s, %s since it began", c.Stage, c.Agent, c.Result, plural(c.Messages, "message"))
		if marks := c.Repairs + c.Warnings; marks > 0 {
			text += fmt.Sprintf(", %s repaired, %s", plural(c.Repairs, "field"), plural(c.Warnings, "warning"))
		}
		if c.Why != "" {
			text += ": " + c.Why
		}
		r.add("  planning", text)
	}
	switch p, first := t.Approval, t.First; {
	case p != nil && first != nil:
		r.add("  approved", fmt.Sprintf("by %s, entry %d, and by %s, entry %d", first.By, first.Seq, p.By, p.Seq))
	case p != nil:
		r.add("  approved", fmt.Sprintf("by %s, entry %d", p.By, p.Seq))
	case first != nil:
		r.add("  approved", fmt.Sprintf("by %s, entry %d; waits for a second admin who is not %s", first.By, first.Seq, t.NotBy()))
	}
	r.add("  rounds", fmt.Sprintf("%d, rejected %d of %d before the lock, %d in all", t.Round, t.RejectCount, t.LockAt(), t.RejectTotal))
	r.add("  used", usageText(t.Usage))
	if b := budgetText(t.Limits); b != "" {
		r.add("  bound to", b)
	}
	for i := range t.Pauses {
		p := &t.Pauses[i]
		when := "when you say so"
		if p.Until != nil {
			when = "at " + p.Until.Local().Format(time.TimeOnly)
		}
		r.add("  at a limit", fmt.Sprintf("%s, tried again %s: %s", p.Agent, when, p.Why))
	}
	for i := range t.Grants {
		if g := &t.Grants[i]; now.Before(g.Until) {
			r.add("  granted", fmt.Sprintf("%s until %s by %s", g.Permission.Text(), g.Until.Local().Format(time.TimeOnly), g.By))
		}
	}
	if t.Commit != "" {
		r.add("  commit", t.Commit)
	}
	if t.Fix != "" {
		r.add("  fixes", t.Fix+" by the reviewer, on the branch once the verdict counts")
	}
	if c := t.Checks; c.Seq > 0 {
		r.add("  claims", fmt.Sprintf("%d confirmed, %d refuted, %d inconclusive", c.Confirmed, c.Refuted, c.Inconclusive))
	}
	if o := t.Outside; o != nil {
		if o.Pull != nil {
			r.add("  pull request", o.Pull.Text())
		}
		for i := range o.CI {
			r.add("  external ci", o.CI[i].Text())
		}
		if o.Remarks > 0 {
			r.add("  remarks", fmt.Sprintf("%s from outside, the last is entry %d: arbiter entry show %[2]d", plural(o.Remarks, "remark"), o.LastRemark))
		}
	}
	if missing := t.Missing(); len(missing) > 0 {
		r.add("  waits for", fmt.Sprintf("%s to pass elsewhere, until %s", strings.Join(missing, ", "), t.MissingUntil().Local().Format(time.TimeOnly)))
	}
	if t.Decision != "" {
		r.add("  verdict", fmt.Sprintf("%s at confidence %.2f", t.Decision, t.Confidence))
	}
	if t.Turn != nil {
		r.add("  at work", fmt.Sprintf("%s as %s for %s: %s", t.Turn.Agent, t.Turn.Role, ago(t.Turn.StartedAt, now), t.Turn.Text))
	}
	for _, o := range t.Open {
		r.add("  waits for", fmt.Sprintf("the %s's ACK of %s until %s", o.To, o.Type, o.Deadline().Local().Format(time.TimeOnly)))
	}
	for _, w := range t.Waiting {
		r.add("  undo", fmt.Sprintf("%s by %s until %s: arbiter withdraw %s", w.Command.Command, w.Command.By, w.Due.Local().Format(time.TimeOnly), w.Command.ID))
	}
	for _, f := range t.Failed {
		r.add("  not done", fmt.Sprintf("%s by %s: %s", f.Command, f.By, f.Why))
	}
	for _, f := range t.Findings {
		r.add("  finding", fmt.Sprintf("%s %s %s:%d %s", f.ID, f.Severity, f.File, f.Line, f.Description))
	}
	if t.Guidance != "" {
		r.add("  guidance", t.Guidance)
	}
	r.print(a)
	for _, w := range waitsFor(t) {
		a.out("\nNeeds you: %s\n", textsafe.Line(w.For))
		a.out("next: %s\n", w.Next)
	}
	if can := allowed(t); len(can) > 0 {
		a.out("\nYou can: %s\n", strings.Join(can, ", "))
	}
}

// allowed are the commands about a task that can be given now.
func allowed(t *amp.Task) []string {
	var can []string
	for _, c := range []struct {
		name amp.CommandName
		as   string
	}{
		{amp.Approve, "plan approve"},
		{amp.Reject, "plan reject"},
		{amp.Revise, "plan edit"},
		{amp.Resume, "resume"},
		{amp.Unlock, "unlock"},
		{amp.Redispatch, "redispatch"},
		{amp.Reassign, "reassign"},
		{amp.Split, "split"},
		{amp.Accept, "accept"},
		{amp.Override, "override"},
		{amp.Rollback, "rollback"},
		{amp.Deliver, "deliver"},
		{amp.Answer, "answer"},
		{amp.Withdraw, "withdraw"},
		{amp.Terminate, "terminate"},
	} {
		if t.Allows(c.name) == nil {
			can = append(can, c.as)
		}
	}
	return can
}
