package main

import (
	"github.com/spf13/cobra"

	"arbiter/amp"
)

func newAccept(a *app) *cobra.Command {
	d := &decision{}
	c := &cobra.Command{
		Use: "accept TASK", Short: "Let a held result or verdict stand", Args: takes("a TASK"),
		RunE: a.do(func(c *cobra.Command, args []string) error {
			k, t, err := a.open(c.Context(), args[0], amp.Accept)
			if err != nil {
				return err
			}
			return k.submit(c.Context(), t, amp.Accept, d, amp.Args{})
		}),
	}
	d.flags(c)
	return c
}

func newOverride(a *app) *cobra.Command {
	d := &decision{}
	c := &cobra.Command{
		Use: "override TASK approved|rejected --note REASON", Short: "Put your own decision in the place of a held verdict",
		Args: takes("a TASK", "approved or rejected"), ValidArgs: []string{"approved", "rejected"},
		RunE: a.do(func(c *cobra.Command, args []string) error {
			v := amp.Decision(args[1])
			if v != amp.Approved && v != amp.Rejected {
				return usage("an override says approved or rejected, not %q", args[1])
			}
			if err := d.needNote(c); err != nil {
				return err
			}
			k, t, err := a.open(c.Context(), args[0], amp.Override)
			if err != nil {
				return err
			}
			return k.submit(c.Context(), t, amp.Override, d, amp.Args{Decision: v})
		}),
	}
	d.flags(c)
	return c
}
