package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"arbiter/amp"
	"arbiter/providers/bus"
	"arbiter/ssot/events"
)

// schemaNames are the names of all schemas: of AMP, of the bus, and of the events.
func schemaNames() []string {
	names := append(amp.SchemaNames(), bus.SchemaName)
	for _, typ := range append(events.Types(), events.Batch) {
		names = append(names, typ+"@"+events.SchemaVersion)
	}
	return names
}

func schemaOf(name string) ([]byte, error) {
	base, version, _ := strings.Cut(name, "@")
	if name == bus.SchemaName || name+"@1.0" == bus.SchemaName {
		return bus.Schema(), nil
	}
	if s, ok := events.NewRegistry().Schema(base, version); ok {
		return s.Schema, nil
	}
	if text, err := amp.Schema(name); err == nil {
		return text, nil
	}
	return nil, fmt.Errorf("there is no schema %q; there are %s", name, strings.Join(schemaNames(), ", "))
}

func newSchema(a *app) *cobra.Command {
	return &cobra.Command{
		Use:       "schema [NAME]",
		Short:     "Print a JSON Schema of the protocol, or list them",
		ValidArgs: schemaNames(),
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 1 {
				return takes("a NAME")(c, args)
			}
			return nil
		},
		RunE: a.do(func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				if a.json {
					a.outJSON(schemaNames())
					return nil
				}
				a.out("%s\n", strings.Join(schemaNames(), "\n"))
				return nil
			}
			text, err := schemaOf(args[0])
			if err != nil {
				return &notFoundError{what: err.Error(), next: "List them: arbiter schema"}
			}
			a.out("%s\n", strings.TrimRight(string(text), "\n"))
			return nil
		}),
	}
}
