package main

import (
	"github.com/spf13/cobra"

	"arbiter/amp"
)

func newRedispatch(a *app) *cobra.Command {
	d := &decision{}
	c := &cobra.Command{
		Use: "redispatch TASK --note GUIDANCE", Short: "Send the task out once more, with guidance", Args: takes("a TASK"),
		RunE: a.do(func(c *cobra.Command, args []string) error {
			if err := d.needNote(c); err != nil {
				return err
			}
			k, t, err := a.open(c.Context(), args[0], amp.Redispatch)
			if err != nil {
				return err
			}
			return k.submit(c.Context(), t, amp.Redispatch, d, amp.Args{})
		}),
	}
	d.flags(c)
	return c
}

func newReassign(a *app) *cobra.Command {
	d, executor, reviewer := &decision{}, "", ""
	c := &cobra.Command{
		Use: "reassign TASK [--executor NAME] [--reviewer NAME]", Short: "Give the task to another agent and send it out", Args: takes("a TASK"),
		RunE: a.do(func(c *cobra.Command, args []string) error {
			if executor == "" && reviewer == "" {
				return usage("reassign needs --executor or --reviewer").then("The agents are listed by arbiter status.")
			}
			k, t, err := a.open(c.Context(), args[0], amp.Reassign)
			if err != nil {
				return err
			}
			return k.submit(c.Context(), t, amp.Reassign, d, amp.Args{Executor: executor, Reviewer: reviewer})
		}),
	}
	d.flags(c)
	c.Flags().StringVar(&executor, "executor", "", "the agent that executes from now on")
	c.Flags().StringVar(&reviewer, "reviewer", "", "the agent that reviews from now on")
	return c
}

func newSplit(a *app) *cobra.Command {
	d := &decision{}
	c := &cobra.Command{
		Use: "split TASK --note HOW", Short: "Have the task planned again in smaller subtasks", Args: takes("a TASK"),
		RunE: a.do(func(c *cobra.Command, args []string) error {
			if err := d.needNote(c); err != nil {
				return err
			}
			k, t, err := a.open(c.Context(), args[0], amp.Split)
			if err != nil {
				return err
			}
			return k.submit(c.Context(), t, amp.Split, d, amp.Args{})
		}),
	}
	d.flags(c)
	return c
}
