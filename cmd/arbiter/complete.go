package main

import (
	"strings"

	"github.com/spf13/cobra"

	"arbiter/amp"
)

// completeTasks lets a shell complete the TASK of every command below c: with the tasks that have not ended, and their titles.
func (a *app) completeTasks(c *cobra.Command) {
	for _, sub := range c.Commands() {
		a.completeTasks(sub)
	}
	if !strings.Contains(c.Use, " TASK") || c.ValidArgsFunction != nil {
		return
	}
	fixed := c.ValidArgs
	c.ValidArgs = nil
	c.ValidArgsFunction = func(c *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return fixed, cobra.ShellCompDirectiveNoFileComp
		}
		var ids []cobra.Completion
		err := a.looking(func(l *look) error {
			b, err := board(c.Context(), l)
			if err != nil {
				return err
			}
			for _, id := range b.Order {
				if t := b.Task(id); !t.Status.Ended() {
					ids = append(ids, cobra.CompletionWithDesc(string(id), safe(string(t.Status)+": "+t.Title)))
				}
			}
			return nil
		})
		if err != nil {
			cobra.CompErrorln(err.Error())
			return nil, cobra.ShellCompDirectiveError
		}
		return ids, cobra.ShellCompDirectiveNoFileComp
	}
}

// completeStatuses completes --status.
func completeStatuses(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var all []cobra.Completion
	for _, s := range amp.Statuses {
		all = append(all, cobra.Completion(s))
	}
	return all, cobra.ShellCompDirectiveNoFileComp
}
