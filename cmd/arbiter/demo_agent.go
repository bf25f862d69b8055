package main

import (
	"github.com/spf13/cobra"

	"arbiter/providers/command/scripted"
)

// newDemoAgent is an agent of the demo: the coordinator of a demo starts this program with it, as it starts any other command.
func newDemoAgent(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "demo-agent", Short: "An agent of the demo", Hidden: true, DisableFlagParsing: true,
		RunE: a.do(func(_ *cobra.Command, args []string) error {
			if code := scripted.Main(args, a.stdin, a.stdout, a.stderr); code != 0 {
				return &quietError{code: code}
			}
			return nil
		}),
	}
}
