package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"arbiter/amp"
)

// followUps are what may follow an unlock, a resume or a rollback at once.
var followUps = []string{string(amp.Redispatch), string(amp.Reassign), string(amp.Split), string(amp.Accept), string(amp.Terminate)}

// followUp reads --next.
func followUp(next string) (amp.CommandName, error) {
	if next == "" {
		return "", nil
	}
	if slices.Contains(followUps, next) {
		return amp.CommandName(next), nil
	}
	return "", usage("--next is %q", next).then("Use one of " + strings.Join(followUps, ", ") + ".")
}

func nextFlag(c *cobra.Command, next *string) {
	c.Flags().StringVar(next, "next", "", "what follows at once: "+strings.Join(followUps, ", "))
	_ = c.RegisterFlagCompletionFunc("next", cobra.FixedCompletions(followUps, cobra.ShellCompDirectiveNoFileComp)) // the flag is there
}

func newResume(a *app) *cobra.Command {
	d, next := &decision{}, ""
	c := &cobra.Command{
		Use: "resume TASK", Short: "Let a suspended task go on, after its branch, base and worktree were verified", Args: takes("a TASK"),
		RunE: a.do(func(c *cobra.Command, args []string) error {
			follow, err := followUp(next)
			if err != nil {
				return err
			}
			k, t, err := a.open(c.Context(), args[0], amp.Resume)
			if err != nil {
				return err
			}
			if err := k.checklist(c.Context(), t); err != nil {
				return err
			}
			return k.submit(c.Context(), t, amp.Resume, d, amp.Args{Next: follow})
		}),
	}
	d.flags(c)
	nextFlag(c, &next)
	return c
}

func newUnlock(a *app) *cobra.Command {
	d, next := &decision{}, ""
	c := &cobra.Command{
		Use: "unlock TASK --note REASON", Short: "Open the hallucination lock of a task, with a reason", Args: takes("a TASK"),
		RunE: a.do(func(c *cobra.Command, args []string) error {
			if err := d.needNote(c); err != nil {
				return err
			}
			follow, err := followUp(next)
			if err != nil {
				return err
			}
			k, t, err := a.open(c.Context(), args[0], amp.Unlock)
			if err != nil {
				return err
			}
			return k.submit(c.Context(), t, amp.Unlock, d, amp.Args{Next: follow})
		}),
	}
	d.flags(c)
	nextFlag(c, &next)
	return c
}
