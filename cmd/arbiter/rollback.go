package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"arbiter/amp"
)

func newRollback(a *app) *cobra.Command {
	d, next, to := &decision{}, "", 0
	c := &cobra.Command{
		Use: "rollback TASK [--checkpoint N]", Short: "Set the task's branch back to a checkpoint; what is there now is pinned to a recovery ref",
		Args: takes("a TASK"),
		RunE: a.do(func(c *cobra.Command, args []string) error {
			follow, err := followUp(next)
			if err != nil {
				return err
			}
			if err := a.answerable(c, d); err != nil {
				return err
			}
			k, t, err := a.open(c.Context(), args[0], amp.Rollback)
			if err != nil {
				return err
			}
			if t.Checkpoint == 0 {
				return &amp.TransitionError{TaskID: t.ID, From: t.Status, Step: "rollback", Why: "there is no checkpoint yet"}
			}
			if to == 0 {
				to = t.Checkpoint
			}
			if to < 0 || to > t.Checkpoint {
				return usage("%s has the checkpoints 1 to %d", t.ID, t.Checkpoint)
			}
			question := fmt.Sprintf("Roll %s (%s) back to checkpoint %d?", t.ID, t.Title, to)
			if err := a.confirm(c, d, question); err != nil {
				return err
			}
			return k.submit(c.Context(), t, amp.Rollback, d, amp.Args{Checkpoint: to, Next: follow})
		}),
	}
	d.flags(c)
	d.asks(c)
	nextFlag(c, &next)
	c.Flags().IntVar(&to, "checkpoint", 0, "the number of the checkpoint (default the last)")
	return c
}
