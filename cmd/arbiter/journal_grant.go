package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"
)

func newJournalGrant(a *app) *cobra.Command {
	read := false
	c := &cobra.Command{
		Use: "grant ROLE", Short: "Let a role of the database write the journal as a coordinator does, or only read it", Args: takes("a ROLE"),
		Long: "Gives a role of the database the rights of a coordinator: to append, and to keep the tables beside the entries. It cannot change or\n" +
			"remove an entry. With --read it may read, and nothing else. What the role had beyond that is taken from it. Only the owner of the\n" +
			"schema can, which is the role that opened the journal first.",
		RunE: a.do(func(c *cobra.Command, args []string) (err error) {
			log, err := a.ownJournal(c.Context())
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, log.Close()) }()
			shared, ok := log.(interface {
				Grant(ctx context.Context, role string, write bool) error
			})
			if !ok {
				return usage("the journal is in a folder, where whoever may read the folder may read it").then("Name a database as store.url first.")
			}
			if err := shared.Grant(c.Context(), args[0], !read); err != nil {
				return err
			}
			word := "write"
			if read {
				word = "read"
			}
			if a.json {
				a.outJSON(struct {
					Role   string `json:"role"`
					Rights string `json:"rights"`
				}{args[0], word})
				return nil
			}
			a.out("%s may %s the journal\n", safe(args[0]), word)
			return nil
		}),
	}
	c.Flags().BoolVar(&read, "read", false, "only to read")
	return c
}
