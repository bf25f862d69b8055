package main

import (
	"strings"

	"github.com/spf13/cobra"

	"arbiter/amp"
)

func newSchema(a *app) *cobra.Command {
	return &cobra.Command{
		Use:       "schema [NAME]",
		Short:     "Print a JSON Schema of the protocol, or list them",
		ValidArgs: amp.SchemaNames(),
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 1 {
				return takes("a NAME")(c, args)
			}
			return nil
		},
		RunE: a.do(func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				if a.json {
					a.outJSON(amp.SchemaNames())
					return nil
				}
				a.out("%s\n", strings.Join(amp.SchemaNames(), "\n"))
				return nil
			}
			text, err := amp.Schema(args[0])
			if err != nil {
				return &notFoundError{what: err.Error(), next: "List them: arbiter schema"}
			}
			a.out("%s\n", strings.TrimRight(string(text), "\n"))
			return nil
		}),
	}
}
