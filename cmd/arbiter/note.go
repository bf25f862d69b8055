package main

import (
	"strings"

	"github.com/spf13/cobra"

	"arbiter/amp"
)

func newNote(a *app) *cobra.Command {
	d := &decision{}
	return &cobra.Command{
		Use: "note TASK TEXT", Short: "Write a note into the journal of a task; it decides nothing", Args: takes("a TASK", "a TEXT"),
		RunE: a.do(func(c *cobra.Command, args []string) error {
			d.note = args[1]
			if strings.TrimSpace(d.note) == "" {
				return usage("the note is empty")
			}
			k, t, err := a.open(c.Context(), args[0], amp.NoteCommand)
			if err != nil {
				return err
			}
			return k.submit(c.Context(), t, amp.NoteCommand, d, amp.Args{})
		}),
	}
}
