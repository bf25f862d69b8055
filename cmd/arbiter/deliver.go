package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"arbiter/amp"
)

func newDeliver(a *app) *cobra.Command {
	d, merge := &decision{}, false
	c := &cobra.Command{
		Use: "deliver TASK [--merge]", Short: "Deliver the reviewed commit of an approved task: ready to be pushed, or merged into its base branch",
		Args: takes("a TASK"),
		RunE: a.do(func(c *cobra.Command, args []string) error {
			k, t, err := a.open(c.Context(), args[0], amp.Deliver)
			if err != nil {
				return err
			}
			question := fmt.Sprintf("Deliver %s (%s): make %s of %s ready to be pushed?", t.ID, t.Title, short(t.Commit), t.Plan.Branch)
			if merge {
				question = fmt.Sprintf("Deliver %s (%s): merge %s of %s into %s?", t.ID, t.Title, short(t.Commit), t.Plan.Branch, t.Plan.BaseBranch)
			}
			if err := a.confirm(c, d, question); err != nil {
				return err
			}
			return k.submit(c.Context(), t, amp.Deliver, d, amp.Args{Merge: merge})
		}),
	}
	d.flags(c)
	d.asks(c)
	c.Flags().BoolVar(&merge, "merge", false, "merge into the base branch")
	return c
}
