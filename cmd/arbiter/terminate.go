package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"arbiter/amp"
)

func newTerminate(a *app) *cobra.Command {
	d := &decision{}
	c := &cobra.Command{
		Use: "terminate TASK", Short: "End a task for good; its work stays in its branch", Args: takes("a TASK"),
		RunE: a.do(func(c *cobra.Command, args []string) error {
			if err := a.answerable(c, d); err != nil {
				return err
			}
			k, t, err := a.open(c.Context(), args[0], amp.Terminate)
			if err != nil {
				return err
			}
			if err := a.confirm(c, d, fmt.Sprintf("End %s (%s) for good?", t.ID, t.Title)); err != nil {
				return err
			}
			return k.submit(c.Context(), t, amp.Terminate, d, amp.Args{})
		}),
	}
	d.flags(c)
	d.asks(c)
	return c
}
