package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"arbiter/amp"
)

func newWithdraw(a *app) *cobra.Command {
	d := &decision{}
	c := &cobra.Command{
		Use: "withdraw TASK|COMMAND", Short: "Take back a decision whose undo time has not run out", Args: takes("a TASK or the id of a command"),
		RunE: a.do(func(c *cobra.Command, args []string) error {
			var t *amp.Task
			id := ""
			k, err := a.deskFor(c.Context(), func(b *amp.Board) (err error) {
				t, id, err = findWaiting(b, args[0])
				return err
			})
			if err != nil {
				return err
			}
			return k.submit(c.Context(), t, amp.Withdraw, d, amp.Args{Withdraws: id})
		}),
	}
	d.flags(c)
	return c
}

// findWaiting is the waiting command that a person named by its id or its task.
func findWaiting(b *amp.Board, name string) (*amp.Task, string, error) {
	for _, id := range b.Order {
		for _, w := range b.Task(id).Waiting {
			if w.Command.ID == name {
				return b.Task(id), name, nil
			}
		}
	}
	t, err := findTask(b, name)
	if err != nil {
		return nil, "", &notFoundError{
			what: fmt.Sprintf("no command %q waits, and there is no such task", name),
			next: "A decision is final when its undo time has run out; see arbiter task show TASK.",
		}
	}
	switch len(t.Waiting) {
	case 0:
		return nil, "", t.Allows(amp.Withdraw)
	case 1:
		return t, t.Waiting[0].Command.ID, nil
	}
	var ids []string
	for _, w := range t.Waiting {
		ids = append(ids, string(w.Command.Command)+" "+w.Command.ID)
	}
	return nil, "", usage("several commands of %s wait: %s", t.ID, strings.Join(ids, ", ")).then("Give the id of one.")
}
