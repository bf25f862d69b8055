package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"arbiter/ssot/events"
)

func newEvents(a *app) *cobra.Command {
	return group("events", "See where events go, and send again what a receiver refused",
		newEventsList(a), newEventsDead(a), newEventsResend(a), newEventsTypes(a))
}

func newEventsList(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the webhooks and how they stand", Args: takes(),
		RunE: a.do(func(c *cobra.Command, _ []string) error {
			client, err := a.reach(c.Context())
			if err != nil {
				return err
			}
			var all []events.SinkState
			if err := client.Ask(c.Context(), "GET", "/v1/events/webhooks", &all); err != nil {
				return err
			}
			if a.json {
				a.outJSON(all)
				return nil
			}
			if len(all) == 0 {
				a.out("No webhook is configured; [[events.webhooks]] names them. The API has the events in any case.\n")
				return nil
			}
			t, now := &table{}, time.Now()
			for i := range all {
				s := &all[i]
				state := "ok"
				if !s.Failing.IsZero() {
					state = fmt.Sprintf("failing since %s: %s", ago(s.Failing, now), safe(s.Why))
				}
				types := strings.Join(s.Types, ", ")
				if types == "" {
					types = "all events"
				}
				t.add(s.Name, types, fmt.Sprintf("entry %d", s.Seq), plural(s.Dead, "dead letter"), state)
			}
			t.print(a)
			return nil
		}),
	}
}

func newEventsDead(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "dead", Short: "List the events that receivers refused", Args: takes(),
		RunE: a.do(func(c *cobra.Command, _ []string) error {
			client, err := a.reach(c.Context())
			if err != nil {
				return err
			}
			var all []events.DeadLetter
			if err := client.Ask(c.Context(), "GET", "/v1/events/dead", &all); err != nil {
				return err
			}
			if a.json {
				a.outJSON(all)
				return nil
			}
			if len(all) == 0 {
				a.out("No receiver refused an event.\n")
				return nil
			}
			t, now := &table{}, time.Now()
			for i := range all {
				l := &all[i]
				t.add(l.ID, l.Sink, l.Type, l.Task, ago(l.At, now)+" ago", safe(l.Why))
			}
			t.print(a)
			return nil
		}),
	}
}

func newEventsResend(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "resend ID", Short: "Deliver a refused event once more", Args: takes("an ID"),
		RunE: a.do(func(c *cobra.Command, args []string) error {
			if !uuidArg(args[0]) {
				return usage("%q is no id of an event", args[0]).then("List them: arbiter events dead")
			}
			client, err := a.attach(c.Context())
			if err != nil {
				return err
			}
			var got resent
			if err := client.Ask(c.Context(), "POST", "/v1/events/dead/"+args[0]+"/resend", &got); err != nil {
				return err
			}
			if a.json {
				a.outJSON(got)
				return nil
			}
			a.out("%s took it.\n", strings.Join(got.Sinks, ", "))
			return nil
		}),
	}
}

// uuidArg reports whether a text can stand in a path as the id of an event.
func uuidArg(s string) bool {
	return len(s) == 36 && strings.Trim(strings.ToLower(s), "0123456789abcdef-") == ""
}

func newEventsTypes(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "types", Short: "List the types of events", Args: takes(),
		RunE: a.do(func(*cobra.Command, []string) error {
			if a.json {
				a.outJSON(events.Types())
				return nil
			}
			a.out("%s\n", strings.Join(events.Types(), "\n"))
			return nil
		}),
	}
}
