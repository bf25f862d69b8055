package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"arbiter/amp"
	"arbiter/providers/bus"
	"arbiter/server"
	"arbiter/tui"
)

func newBusCommand(a *app) *cobra.Command {
	return group("bus", "Look at the AgentMessage bus, and send again or drop what could not be delivered",
		newBusAgents(a), newBusQueue(a), newBusDead(a), newBusResend(a), newBusDrop(a))
}

func newBusAgents(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "agents", Short: "List who is on the bus, and how it is", Args: takes(),
		RunE: a.do(func(c *cobra.Command, _ []string) error {
			client, err := a.reach(c.Context())
			if err != nil {
				return err
			}
			s, err := client.Bus(c.Context())
			if err != nil {
				return err
			}
			if a.json {
				a.outJSON(s)
				return nil
			}
			a.out("The bus listens on %s: %d messages, %d wait, %d dead letters.\n", s.Listen, s.Metrics.TotalMessages, s.Metrics.Queued, s.Metrics.Dead)
			t := &table{}
			for i := range s.Agents {
				g := &s.Agents[i]
				t.add(safe(g.AgentID), g.Name, safe(g.Health()), queuedText(g.Queued))
			}
			t.print(a)
			return nil
		}),
	}
}

// addBus says in the status how the bus stands.
func addBus(t *table, b *amp.BusFacts) {
	well := 0
	for i := range b.Agents {
		if b.Agents[i].Healthy {
			well++
		}
	}
	text := fmt.Sprintf("%d of %s healthy", well, plural(len(b.Agents), "agent"))
	if b.Queued > 0 {
		text += fmt.Sprintf(", %d wait", b.Queued)
	}
	t.add("bus", text)
	if b.Dead > 0 {
		t.add("", plural(b.Dead, "dead letter")+" → arbiter bus dead")
	}
}

func queuedText(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%d wait", n)
}

func newBusQueue(a *app) *cobra.Command {
	agent := ""
	c := &cobra.Command{
		Use: "queue", Short: "List the messages that wait, in the order in which they go out", Args: takes(),
		RunE: a.do(func(c *cobra.Command, _ []string) error {
			client, err := a.reach(c.Context())
			if err != nil {
				return err
			}
			all, err := client.BusQueue(c.Context(), agent)
			if err != nil {
				return err
			}
			return a.printWaiting(all, "No message waits.")
		}),
	}
	c.Flags().StringVar(&agent, "agent", "", "only those for this agent id")
	return c
}

func newBusDead(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "dead", Short: "List the messages that could not be delivered, and why", Args: takes(),
		RunE: a.do(func(c *cobra.Command, _ []string) error {
			client, err := a.reach(c.Context())
			if err != nil {
				return err
			}
			all, err := client.BusDead(c.Context())
			if err != nil {
				return err
			}
			return a.printWaiting(all, "There is no dead letter.")
		}),
	}
}

func (a *app) printWaiting(all []bus.Shown, none string) error {
	if a.json {
		a.outJSON(noNil(all))
		return nil
	}
	if len(all) == 0 {
		a.out("%s\n", none)
		return nil
	}
	t := &table{}
	for i := range all {
		w := &all[i]
		state := safe(w.Why)
		if w.Out {
			state = "handed out"
		} else if w.Tries > 0 {
			state = fmt.Sprintf("%d deliveries failed", w.Tries)
		}
		t.add(w.Key.String()[:8], string(w.Priority), string(w.Type), safe(w.From)+" → "+safe(w.To), safe(w.Task), w.At.Local().Format(time.DateTime), state)
	}
	t.print(a)
	return nil
}

// deadLetters are those that are named, or all, of the coordinator that is asked.
func (a *app) deadLetters(ctx context.Context, named []string, all bool) (*server.Client, []bus.Key, error) {
	if all == (len(named) > 0) {
		return nil, nil, usage("name dead letters, or give --all").then("List them: arbiter bus dead")
	}
	client, err := a.attach(ctx)
	if err != nil {
		return nil, nil, err
	}
	dead, err := client.BusDead(ctx)
	if err != nil {
		return nil, nil, err
	}
	keys, err := chooseLetters(dead, named, all)
	return client, keys, err
}

func newBusResend(a *app) *cobra.Command {
	all := false
	c := &cobra.Command{
		Use: "resend [ID...]", Short: "Send dead letters again, each by the beginning of its id, or --all",
		RunE: a.do(func(c *cobra.Command, args []string) error {
			client, keys, err := a.deadLetters(c.Context(), args, all)
			if err != nil {
				return err
			}
			n, err := client.BusResend(c.Context(), keys)
			if err != nil {
				return err
			}
			if a.json {
				a.outJSON(struct {
					Resent int `json:"resent"`
				}{n})
				return nil
			}
			a.out("%d sent again.\n", n)
			return nil
		}),
	}
	c.Flags().BoolVar(&all, "all", false, "every dead letter")
	return c
}

func newBusDrop(a *app) *cobra.Command {
	all, d := false, &decision{}
	c := &cobra.Command{
		Use: "drop [ID...]", Short: "Give dead letters up, each by the beginning of its id, or --all; the journal keeps them",
		RunE: a.do(func(c *cobra.Command, args []string) error {
			if err := a.answerable(c, d); err != nil {
				return err
			}
			client, keys, err := a.deadLetters(c.Context(), args, all)
			if err != nil {
				return err
			}
			if err := a.confirm(c, d, fmt.Sprintf("Give %s up? It cannot be sent again.", plural(len(keys), "dead letter"))); err != nil {
				return err
			}
			n, err := client.BusDrop(c.Context(), keys)
			if err != nil {
				return err
			}
			if a.json {
				a.outJSON(server.BusDropped{Dropped: n})
				return nil
			}
			a.out("%d given up.\n", n)
			return nil
		}),
	}
	c.Flags().BoolVar(&all, "all", false, "every dead letter")
	d.asks(c)
	return c
}

// letters are the dead letters for the screens: what arbiter bus dead, resend and drop do.
type letters struct{ client *server.Client }

var _ tui.Letters = letters{}

// Dead lists them, the oldest first.
func (l letters) Dead(ctx context.Context) ([]tui.Letter, error) {
	all, err := l.client.BusDead(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]tui.Letter, len(all))
	for i := range all {
		w := &all[i]
		out[i] = tui.Letter{
			Key: w.Key.String(), MessageID: w.MessageID, Type: string(w.Type), Priority: string(w.Priority), From: w.From, To: w.To, Task: w.Task,
			Bytes: w.Bytes, At: w.At, Dead: w.Dead, Tries: w.Tries, Why: w.Why,
		}
	}
	return out, nil
}

// Resend sends some of them again.
func (l letters) Resend(ctx context.Context, keys []string) error {
	return letterKeys(keys, func(all []bus.Key) error { _, err := l.client.BusResend(ctx, all); return err })
}

// Drop gives some of them up.
func (l letters) Drop(ctx context.Context, keys []string) error {
	return letterKeys(keys, func(all []bus.Key) error { _, err := l.client.BusDrop(ctx, all); return err })
}

func letterKeys(names []string, do func([]bus.Key) error) error {
	keys := make([]bus.Key, len(names))
	for i, s := range names {
		if err := keys[i].UnmarshalText([]byte(s)); err != nil {
			return err
		}
	}
	return do(keys)
}

// chooseLetters finds the dead letters that a person named.
func chooseLetters(dead []bus.Shown, args []string, all bool) (keys []bus.Key, err error) {
	if all {
		for i := range dead {
			keys = append(keys, dead[i].Key)
		}
		return keys, nil
	}
	for _, arg := range args {
		found := 0
		for i := range dead {
			if strings.HasPrefix(dead[i].Key.String(), strings.ToLower(arg)) || dead[i].MessageID == arg {
				keys = append(keys, dead[i].Key)
				found++
			}
		}
		if found != 1 {
			return nil, usage("%d dead letters are named %q", found, arg).then("List them: arbiter bus dead")
		}
	}
	return keys, nil
}

// busLine is a fact of the bus on one line.
func busLine(f *bus.Fact) string {
	text := string(f.Event)
	switch {
	case f.Agent != nil:
		text += " " + f.Agent.AgentID
	case f.AgentID != "":
		text += " " + f.AgentID
	}
	if n := len(f.Keys); n > 0 {
		text += fmt.Sprintf(": %s", f.Keys[0].String()[:8])
		if n > 1 {
			text += fmt.Sprintf(" and %d more", n-1)
		}
	}
	if m, _, err := bus.Decode([]byte(f.Message)); err == nil {
		text += fmt.Sprintf(": %s %s of %s", m.Type, m.MessageID, m.Sender.AgentID)
	}
	if f.Why != "" {
		text += ": " + f.Why
	}
	return text
}
