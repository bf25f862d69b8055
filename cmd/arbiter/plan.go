package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"arbiter/amp"
	"arbiter/tui"
	"arbiter/tui/editor"
)

func newPlan(a *app) *cobra.Command {
	return group("plan", "Read, change, approve or reject the plan of a task", newPlanShow(a), newPlanEdit(a), newPlanApprove(a), newPlanReject(a))
}

// planned is the task with its plan, or why there is none.
func planned(t *amp.Task) (*amp.Plan, error) {
	if t.Plan == nil {
		return nil, &amp.TransitionError{TaskID: t.ID, From: t.Status, Step: "showing the plan", Why: "there is no plan yet; the task is " + string(t.Status)}
	}
	return t.Plan, nil
}

func newPlanShow(a *app) *cobra.Command {
	asTOML, revision := false, 0
	c := &cobra.Command{
		Use: "show TASK", Short: "Show the plan of a task in full", Args: takes("a TASK"),
		RunE: a.do(func(c *cobra.Command, args []string) error {
			return a.looking(func(l *look) error {
				b, err := board(c.Context(), l)
				if err != nil {
					return err
				}
				t, err := findTask(b, args[0])
				if err != nil {
					return err
				}
				p, err := planned(t)
				if err != nil {
					return err
				}
				if revision != 0 && revision != p.Revision {
					if p, err = planRevision(c, l, t, revision); err != nil {
						return err
					}
				}
				switch {
				case asTOML:
					data, err := writePlanTOML(p)
					if err != nil {
						return err
					}
					a.out("%s", data)
				case a.json:
					a.outJSON(p)
				default:
					a.printPlan(p)
					a.planNext(t, p)
				}
				return nil
			})
		}),
	}
	c.Flags().BoolVar(&asTOML, "toml", false, "print it in the form that task new -f and plan edit -f read")
	c.Flags().IntVar(&revision, "revision", 0, "an earlier revision")
	return c
}

// planRevision reads an earlier revision of a plan from the journal.
func planRevision(c *cobra.Command, q querier, t *amp.Task, revision int) (*amp.Plan, error) {
	var found *amp.Plan
	err := eachEntry(c, q, amp.Filter{TaskID: t.ID, Kinds: []amp.Kind{amp.KindPlan}}, func(e *amp.Entry) error {
		p, err := amp.DecodeBody[amp.Plan](e)
		if err == nil && p.Revision == revision {
			found = &p
		}
		return err
	})
	if err == nil && found == nil {
		err = &notFoundError{
			what: fmt.Sprintf("the plan of %s has no revision %d", t.ID, revision),
			next: fmt.Sprintf("The present one is %d.", t.Plan.Revision),
		}
	}
	return found, err
}

func (a *app) printPlan(p *amp.Plan) {
	t := &table{}
	t.add("PLAN", fmt.Sprintf("%s revision %d by %s", p.TaskID, p.Revision, p.Author))
	t.add("title", p.Title)
	t.add("risk", string(p.RiskLevel))
	t.add("content", p.Hash)
	t.add("repository", p.Repo)
	t.add("branch", p.Branch)
	t.add("base", p.BaseBranch+" at "+p.BaseCommit)
	if len(p.AllowedPaths) > 0 {
		t.add("may change", strings.Join(p.AllowedPaths, ", "))
	} else {
		t.add("may change", "every file")
	}
	if len(p.ForbiddenActions) > 0 {
		t.add("forbidden", strings.Join(p.ForbiddenActions, "; "))
	}
	for _, c := range p.Checks {
		t.add("check", strings.Join(c, " "))
	}
	if p.Executor != "" || p.Reviewer != "" {
		t.add("agents", strings.TrimSpace("executor "+orDash(p.Executor)+", reviewer "+orDash(p.Reviewer)))
	}
	if b := p.Budget; b != (amp.Budget{}) {
		t.add("budget", budgetText(b))
	}
	if p.TwoAdmins() {
		t.add("admins", "two must approve who are not "+p.Author)
	}
	for _, k := range sortedKeys(p.TechConstraints) {
		t.add("constraint", k+": "+amp.ConstraintText(p.TechConstraints[k]))
	}
	t.print(a)
	if p.Wish != "" {
		a.out("\nWish:\n")
		a.block("  ", p.Wish)
	}
	a.out("\nDescription:\n")
	a.block("  ", p.Description)
	a.out("\nSubtasks:\n")
	for i, s := range p.Subtasks {
		a.block("  ", fmt.Sprintf("%d. %s: %s (about %s)", i+1, s.SubtaskID, s.Description, plural(s.EstimatedLines, "line")))
	}
	a.out("\nAcceptance criteria:\n")
	for i, c := range p.AcceptanceCriteria {
		a.block("  ", fmt.Sprintf("%d. %s", i+1, c))
	}
	if p.Reasons != "" {
		a.out("\nReasons (bind nothing):\n")
		a.block("  ", p.Reasons)
	}
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func seconds(n int) string {
	if n == 0 {
		return ""
	}
	return (time.Duration(n) * time.Second).String()
}

// planNext says how to decide on the plan that was shown.
func (a *app) planNext(t *amp.Task, p *amp.Plan) {
	if t.Status != amp.AwaitingApproval || p.Revision != t.Plan.Revision {
		return
	}
	line := fmt.Sprintf("arbiter plan approve %s --hash %s", t.ID, short(p.Hash))
	switch p.RiskLevel {
	case amp.Medium:
		line += " --read"
	case amp.High:
		line += " --read --digits …, the last four digits of the content"
	case amp.Low:
	}
	if f := t.First; f != nil {
		a.out("\napproved by %s, entry %d; it waits for a second admin who is not %s\n", f.By, f.Seq, t.NotBy())
	}
	a.out("\napprove: %s\nreject:  arbiter plan reject %s --note \"why\"\n", line, t.ID)
}

func newPlanApprove(a *app) *cobra.Command {
	d, digits, read := &decision{}, "", false
	c := &cobra.Command{
		Use:   "approve TASK --hash HASH",
		Short: "Approve exactly this plan: its content, base and paths",
		Long: "Approve a plan. --hash names the content that you have read and is refused when there is a newer one. From medium risk on\n" +
			"the whole plan must have been read (--read); at high risk the last four digits of its content are typed (--digits).\n" +
			"On a terminal without --hash the plan is shown and you are asked.",
		Args: takes("a TASK"),
		RunE: a.do(func(c *cobra.Command, args []string) error {
			asked := d.hash == "" && !d.yes
			if asked && !a.terminal() {
				return &usageError{
					what:  "plan approve needs --hash or --yes, since standard input is no terminal",
					means: "Nothing was done: nobody could be asked.", next: "Read it with arbiter plan show " + args[0] + ", then repeat with the hash that it shows.",
				}
			}
			k, t, err := a.open(c.Context(), args[0], amp.Approve)
			if err != nil {
				return err
			}
			x := amp.Args{Digits: digits}
			if read {
				x.Read = "read, says --read"
			}
			if asked {
				if err := a.askApproval(t, &x); err != nil {
					return err
				}
			}
			return k.submit(c.Context(), t, amp.Approve, d, x)
		}),
	}
	d.flags(c)
	d.asks(c)
	c.Flags().StringVar(&digits, "digits", "", "the last four digits of the plan's content (high risk)")
	c.Flags().BoolVar(&read, "read", false, "say that you have read the whole plan (medium and high risk)")
	return c
}

// askApproval shows the plan on the terminal and asks for the decision on what was shown.
func (a *app) askApproval(t *amp.Task, x *amp.Args) error {
	begin := time.Now()
	a.printPlan(t.Plan)
	if a.stdoutErr != nil {
		return a.stdoutErr
	}
	question := fmt.Sprintf("Approve revision %d of %s (%s risk)? Type yes: ", t.Plan.Revision, t.ID, t.Plan.RiskLevel)
	if t.Plan.RiskLevel == amp.High && x.Digits == "" {
		question = fmt.Sprintf("Approve revision %d of %s at high risk? Type the last four digits of the content: ", t.Plan.Revision, t.ID)
	}
	got, err := a.ask(question)
	if err != nil {
		return err
	}
	if t.Plan.RiskLevel == amp.High && x.Digits == "" {
		if !strings.HasSuffix(t.Plan.Hash, strings.ToLower(got)) || len(got) != 4 {
			return usage("these are not the last four digits of the content").then("Nothing was approved; read the plan and try again.")
		}
		x.Digits = strings.ToLower(got)
	} else if strings.ToLower(got) != "yes" {
		return usage("not approved").then("Repeat it when you have decided, or send the plan back: arbiter plan reject " + string(t.ID) + ` --note "why"`)
	}
	x.Read = "shown whole on the terminal for " + time.Since(begin).Round(time.Second).String()
	return nil
}

func newPlanReject(a *app) *cobra.Command {
	d := &decision{}
	c := &cobra.Command{
		Use: "reject TASK --note REASON", Short: "Send the plan back to be drafted again, with your reason", Args: takes("a TASK"),
		RunE: a.do(func(c *cobra.Command, args []string) error {
			if err := d.needNote(c); err != nil {
				return err
			}
			k, t, err := a.open(c.Context(), args[0], amp.Reject)
			if err != nil {
				return err
			}
			return k.submit(c.Context(), t, amp.Reject, d, amp.Args{})
		}),
	}
	d.flags(c)
	return c
}

func newPlanEdit(a *app) *cobra.Command {
	d, file := &decision{}, ""
	c := &cobra.Command{
		Use:   "edit TASK [-f FILE]",
		Short: "Put a revision of your own in the place of the plan, from your editor or a file",
		Args:  takes("a TASK"),
		RunE: a.do(func(c *cobra.Command, args []string) error {
			var plan *amp.Plan
			var err error
			if file != "" { // before anything is started
				if plan, err = a.readPlan(file); err != nil {
					return err
				}
			}
			k, t, err := a.open(c.Context(), args[0], amp.Revise)
			if err != nil {
				return err
			}
			send := func(plan *amp.Plan) error { return k.submit(c.Context(), t, amp.Revise, d, amp.Args{Plan: plan}) }
			if plan == nil {
				return a.editPlan(t, send)
			}
			return send(plan)
		}),
	}
	d.flags(c)
	c.Flags().StringVarP(&file, "file", "f", "", "the revision as TOML or JSON, - is standard input")
	return c
}

// editPlan opens the plan in the person's editor and sends what comes back. What was typed stays in a file unless it was sent.
func (a *app) editPlan(t *amp.Task, send func(*amp.Plan) error) (err error) {
	p, err := planned(t)
	if err != nil {
		return err
	}
	if !a.terminal() {
		return usage("plan edit needs -f, since standard input is no terminal").then("arbiter plan show " + string(t.ID) + " --toml > plan.toml")
	}
	before, err := writePlanTOML(p)
	if err != nil {
		return err
	}
	text, err := editor.Open(tui.EditsFolder(""), string(t.ID)+".toml", before)
	if err != nil {
		return err
	}
	defer func() {
		if err == nil {
			err = text.Taken()
			return
		}
		if where := text.Where(); where != "" {
			fmt.Fprintf(a.stderr, "what you typed is in %s\n", where)
		}
		err = errors.Join(err, text.Keep())
	}()
	argv := editor.Command(os.Getenv, text.File(), 0)
	after, err := text.Run(argv, a.stdin, os.Stderr, a.stderr)
	if err != nil {
		return &usageError{what: fmt.Sprintf("the editor failed: %v", err), means: "Nothing was submitted.", next: "Set EDITOR, or use -f."}
	}
	if bytes.Equal(after, before) {
		return usage("the plan was not changed")
	}
	plan, err := parsePlanTOML(text.File(), after)
	if err != nil {
		return err
	}
	return send(plan)
}
