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

func newEscalation(a *app) *cobra.Command {
	return group("escalation", "See what went wrong, and decide how it goes on", newEscalationList(a), newEscalationShow(a), newEscalationResolve(a),
		newEscalationHistory(a))
}

// escalated is an escalation with its task, as it is printed.
type escalated struct {
	TaskID amp.TaskID `json:"task_id"`
	Title  string     `json:"title"`
	amp.EscalationState
}

func newEscalationList(a *app) *cobra.Command {
	all := false
	c := &cobra.Command{
		Use: "list", Short: "List the open escalations", Args: takes(),
		RunE: a.do(func(c *cobra.Command, _ []string) error {
			return a.looking(func(l *look) error {
				b, err := board(c.Context(), l)
				if err != nil {
					return err
				}
				list := []escalated{}
				for _, id := range b.Order {
					t := b.Task(id)
					for _, e := range t.Escalations {
						if all || e.Open() && !t.Status.Ended() {
							list = append(list, escalated{t.ID, t.Title, e})
						}
					}
				}
				a.printEscalations(list, all)
				return nil
			})
		}),
	}
	c.Flags().BoolVar(&all, "all", false, "also those that are resolved")
	return c
}

func (a *app) printEscalations(list []escalated, all bool) {
	if a.json {
		a.outJSON(list)
		return
	}
	if len(list) == 0 {
		word := "No escalation is open.\n"
		if all {
			word = "There was no escalation yet.\n"
		}
		a.out("%s", word)
		return
	}
	t, now := &table{}, time.Now()
	t.add("ENTRY", "TASK", "SEVERITY", "TYPE", "SINCE", "RESOLVED", "DESCRIPTION")
	for _, e := range list {
		t.add(fmt.Sprintf("#%d", e.Seq), string(e.TaskID), string(e.Severity), string(e.Type), ago(e.At, now), orDash(string(e.Resolution)), e.Description)
	}
	t.print(a)
}

func newEscalationShow(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "show ID", Short: "Show an escalation and the ways out of it", Args: takes("an ID"),
		RunE: a.do(func(c *cobra.Command, args []string) error {
			return a.looking(func(l *look) error {
				b, err := board(c.Context(), l)
				if err != nil {
					return err
				}
				t, e, err := findEscalation(b, args[0])
				if err != nil {
					return err
				}
				if a.json {
					a.outJSON(escalated{t.ID, t.Title, *e})
					return nil
				}
				a.printEscalation(t, e)
				return nil
			})
		}),
	}
}

func (a *app) printEscalation(t *amp.Task, e *amp.EscalationState) {
	r := &table{}
	r.add("ESCALATION", e.MsgID)
	r.add("entry", fmt.Sprintf("#%d, %s", e.Seq, e.At.Local().Format(time.DateTime)))
	r.add("task", fmt.Sprintf("%s %s, now %s", t.ID, t.Title, t.Status))
	r.add("kind", fmt.Sprintf("%s, %s, by %s", e.Type, e.Severity, e.TriggeredBy))
	if e.Suspended {
		r.add("effect", "the task was suspended")
	} else {
		r.add("effect", "the task goes on")
	}
	for _, m := range e.Affected {
		r.add("affects", m)
	}
	if e.Resolution != "" {
		r.add("resolved", fmt.Sprintf("by %s with %s, entry %d", e.ResolvedBy, e.Resolution, e.ResolvedSeq))
	}
	r.print(a)
	a.out("\n")
	a.block("  ", e.Description)
	if e.Resolution != "" || t.Status.Ended() {
		return
	}
	a.out("\nWays out (suggestions decide nothing):\n")
	for i, s := range e.Suggested {
		line := textsafe.Line(s)
		if known, ok := amp.SuggestionFor(e.Type, s); ok {
			line += " [" + stepWords(known.Command, known.Next) + "]"
		}
		a.out("  %d. %s\n", i+1, line)
	}
	a.out("\nnext: arbiter escalation resolve '#%d' --suggestion N | --with COMMAND   --note \"why\"\n", e.Seq)
}

func stepWords(c, next amp.CommandName) string {
	if next == "" {
		return string(c)
	}
	return string(c) + ", then " + string(next)
}

// resolving are the commands that can resolve an escalation.
var resolving = []string{"resume", "redispatch", "reassign", "split", "accept", "unlock", "rollback", "terminate"}

func newEscalationResolve(a *app) *cobra.Command {
	d, with, next, suggestion, executor, reviewer, checkpoint := &decision{}, "", "", 0, "", "", 0
	c := &cobra.Command{
		Use:   "resolve ID --with COMMAND | --suggestion N",
		Short: "Resolve an escalation with a command of yours, or with one of its suggestions",
		Args:  takes("an ID"),
		RunE: a.do(func(c *cobra.Command, args []string) error {
			if (with == "") == (suggestion == 0) {
				return usage("escalation resolve needs either --with or --suggestion").then("See the ways out: arbiter escalation show " + args[0])
			}
			if with != "" && !slices.Contains(resolving, with) {
				return usage("--with is %q", with).then("Use one of " + strings.Join(resolving, ", ") + ".")
			}
			follow, err := followUp(next)
			if err != nil {
				return err
			}
			var t *amp.Task
			var e *amp.EscalationState
			var step amp.Suggestion
			k, err := a.deskFor(c.Context(), func(b *amp.Board) (err error) {
				if t, e, err = findEscalation(b, args[0]); err != nil || !e.Open() {
					return err
				}
				step = amp.Suggestion{Command: amp.CommandName(with), Next: follow}
				if suggestion != 0 {
					if step, err = suggested(e, suggestion); err != nil {
						return err
					}
				}
				if cannotBeTakenBack(step) {
					err = a.answerable(c, d)
				}
				return err
			})
			if err != nil {
				return err
			}
			if !e.Open() {
				return &amp.TransitionError{
					TaskID: t.ID, From: t.Status, Step: "resolving " + e.MsgID,
					Why: fmt.Sprintf("%s resolved it with %s, entry %d", e.ResolvedBy, e.Resolution, e.ResolvedSeq),
				}
			}
			return k.resolve(c, t, e, d, step, amp.Args{Executor: executor, Reviewer: reviewer, Checkpoint: checkpoint})
		}),
	}
	d.flags(c)
	d.asks(c)
	nextFlag(c, &next)
	f := c.Flags()
	f.StringVar(&with, "with", "", "the command: "+strings.Join(resolving, ", "))
	f.IntVar(&suggestion, "suggestion", 0, "the number of a suggestion")
	f.StringVar(&executor, "executor", "", "the agent that executes from now on (reassign)")
	f.StringVar(&reviewer, "reviewer", "", "the agent that reviews from now on (reassign)")
	f.IntVar(&checkpoint, "checkpoint", 0, "the checkpoint to roll back to (default the last)")
	_ = c.RegisterFlagCompletionFunc("with", cobra.FixedCompletions(resolving, cobra.ShellCompDirectiveNoFileComp)) // the flag is there
	return c
}

// suggested is the command of a suggestion. Only suggestions of Arbiter itself have one: an agent's words decide nothing (AMP-162).
func suggested(e *amp.EscalationState, n int) (amp.Suggestion, error) {
	if n < 1 || n > len(e.Suggested) {
		return amp.Suggestion{}, usage("--suggestion is %d, there are %d", n, len(e.Suggested))
	}
	s, ok := amp.SuggestionFor(e.Type, e.Suggested[n-1])
	if !ok {
		return s, usage("suggestion %d is in the sender's own words and has no command", n).then("Say what you want with --with.")
	}
	return s, nil
}

// cannotBeTakenBack reports a step that is confirmed first.
func cannotBeTakenBack(s amp.Suggestion) bool {
	return s.Command == amp.Rollback || s.Command == amp.Terminate || s.Next == amp.Terminate
}

// resolve submits the command that resolves an escalation.
func (k *desk) resolve(c *cobra.Command, t *amp.Task, e *amp.EscalationState, d *decision, step amp.Suggestion, args amp.Args) error {
	if err := t.Allows(step.Command); err != nil {
		return err
	}
	switch {
	case step.Command == amp.Unlock:
		if err := d.needNote(c); err != nil {
			return err
		}
	case step.Command == amp.Reassign && args.Executor == "" && args.Reviewer == "":
		return usage("a reassign needs --executor or --reviewer").then("The agents are listed by arbiter status.")
	case step.Command == amp.Rollback && args.Checkpoint == 0:
		args.Checkpoint = t.Checkpoint
	}
	if cannotBeTakenBack(step) {
		question := fmt.Sprintf("%s %s (%s)?", stepWords(step.Command, step.Next), t.ID, t.Title)
		if err := k.a.confirm(c, d, question); err != nil {
			return err
		}
	}
	if step.Command == amp.Resume || step.Command == amp.Unlock {
		if err := k.checklist(c.Context(), t); err != nil {
			return err
		}
	}
	args.Escalation, args.Next = e.MsgID, step.Next
	return k.submit(c.Context(), t, step.Command, d, args)
}

// checklist shows what was verified before a task goes on. The coordinator verifies it again when it decides.
func (k *desk) checklist(ctx context.Context, t *amp.Task) error {
	if t.Plan == nil {
		return nil
	}
	page, err := k.client.Query(ctx, amp.Query{Kind: amp.QueryChecklist, TaskID: t.ID})
	if err != nil {
		return err
	}
	if page.Check == nil || k.a.json {
		return nil
	}
	rows := &table{}
	for _, cl := range page.Check.Claims {
		rows.add("  "+string(cl.Finding), cl.Name, cl.Found)
	}
	k.a.out("Checklist:\n")
	rows.print(k.a)
	return nil
}
