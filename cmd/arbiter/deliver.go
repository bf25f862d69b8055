package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"arbiter/amp"
)

func newDeliver(a *app) *cobra.Command {
	d, merge, pull := &decision{}, false, false
	c := &cobra.Command{
		Use: "deliver TASK [--merge|--pr]", Short: "Deliver the reviewed commit of an approved task: ready to be pushed, merged into its base branch, or as a pull request",
		Args: takes("a TASK"),
		RunE: a.do(func(c *cobra.Command, args []string) error {
			if err := a.answerable(c, d); err != nil {
				return err
			}
			k, t, err := a.open(c.Context(), args[0], amp.Deliver)
			if err != nil {
				return err
			}
			question := fmt.Sprintf("Deliver %s (%s): make %s of %s ready to be pushed?", t.ID, t.Title, short(t.Commit), t.Plan.Branch)
			if merge {
				question = fmt.Sprintf("Deliver %s (%s): merge %s of %s into %s?", t.ID, t.Title, short(t.Commit), t.Plan.Branch, t.Plan.BaseBranch)
			}
			if pull {
				p, err := k.pullPlan(c.Context(), t)
				if err != nil {
					return err
				}
				question = fmt.Sprintf("Deliver %s: push %s, the last of %s, as %s to %s, and open the pull request «%s» into %s?",
					t.ID, short(p.Commit), p.Count(), p.Branch, p.Repo, p.Title, p.Base)
			}
			if err := a.confirm(c, d, question); err != nil {
				return err
			}
			return k.submit(c.Context(), t, amp.Deliver, d, amp.Args{Merge: merge, Pull: pull})
		}),
	}
	d.flags(c)
	d.asks(c)
	c.Flags().BoolVar(&merge, "merge", false, "merge into the base branch")
	c.Flags().BoolVar(&pull, "pr", false, "push the branch to GitHub and open a pull request; docs/hooks.md says what comes back of it")
	c.MarkFlagsMutuallyExclusive("merge", "pr")
	return c
}

// pullPlan is what a delivery by pull request would send, or the refusal with why it would not.
func (k *desk) pullPlan(ctx context.Context, t *amp.Task) (*amp.PullPlan, error) {
	page, err := k.client.Query(ctx, amp.Query{Kind: amp.QueryPull, TaskID: t.ID})
	if err != nil {
		return nil, err
	}
	if page.Pull == nil {
		return nil, errors.New("the coordinator does not say what it would send; it is another version: arbiter down, then arbiter up")
	}
	if why := page.Pull.Refused; why != "" {
		return nil, &amp.RefusedError{What: string(amp.Deliver), Problems: []amp.Problem{{Rule: "policy", Field: "args.pull", Message: why}}, Next: page.Pull.Next}
	}
	return page.Pull, nil
}
