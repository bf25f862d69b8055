package main

import (
	"github.com/spf13/cobra"

	"arbiter/amp"
)

func newStopAll(a *app) *cobra.Command {
	return newEmergency(a, "stop-all", "Stop every agent now; nothing runs and no timer counts until thaw", amp.StopAll)
}

func newThaw(a *app) *cobra.Command {
	return newEmergency(a, "thaw", "Let everything go on after stop-all", amp.Thaw)
}

// newEmergency is a command about no task. Stopping is the safe side: it never asks.
func newEmergency(a *app, use, short string, name amp.CommandName) *cobra.Command {
	note := ""
	c := &cobra.Command{
		Use: use, Short: short, Args: takes(),
		RunE: a.do(func(c *cobra.Command, _ []string) error {
			client, err := a.attach(c.Context())
			if err != nil {
				return err
			}
			e, err := a.send(c.Context(), client, newCommand(name, note))
			if err != nil {
				return err
			}
			a.printDecision(&e, name)
			return nil
		}),
	}
	c.Flags().StringVar(&note, "note", "", "the reason, in your own words")
	return c
}
