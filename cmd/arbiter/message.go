package main

import (
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"arbiter/amp"
)

func newMessage(a *app) *cobra.Command {
	return group("message", "Take part as an agent: hand in messages, acknowledge them, read them",
		newMessageSubmit(a), newMessageAck(a), newMessageShow(a), newMessageList(a))
}

// maxInput is the most bytes of a message that are read from a file; the protocol's own limit is lower.
const maxInput = 8 << 20

// sender is who hands a message in, as the flags say.
type sender struct {
	as, actor string
	strict    bool
}

func (s *sender) flags(c *cobra.Command) {
	c.Flags().StringVar(&s.as, "as", "", "the role that you speak for: coordinator, executor or reviewer (default what the message says)")
	c.Flags().StringVar(&s.actor, "actor", "", "the agent's name (default $ARBITER_AGENT, else your user name)")
}

// received is what is handed in. Without --as the role is what the message itself says: the coordinator compares it with the task.
func (s *sender) received(raw []byte, role amp.Role) (amp.Received, error) {
	as := amp.Role(s.as)
	if as == "" {
		as = role
	}
	switch as {
	case amp.Coordinator, amp.Executor, amp.Reviewer, amp.Admin:
	case "":
		return amp.Received{}, usage("the message does not say who it is from").then("Say for whom you speak with --as executor.")
	default:
		return amp.Received{}, usage("%q is no role that hands in messages", as).then("Use --as coordinator, executor or reviewer.")
	}
	actor := s.actor
	if actor == "" {
		actor = os.Getenv("ARBITER_AGENT")
	}
	if actor == "" {
		actor = osUser()
	}
	return amp.Received{Raw: raw, As: as, Actor: actor, Source: "cli", Strict: s.strict}, nil
}

// claimedRole is who a message says it is from; nothing is believed by it.
func claimedRole(raw []byte) amp.Role {
	var m struct {
		From amp.Role `json:"from"`
		By   amp.Role `json:"by"`
	}
	if json.Unmarshal(raw, &m) != nil {
		return ""
	}
	if m.From == "" {
		return m.By
	}
	return m.From
}

func newMessageSubmit(a *app) *cobra.Command {
	s := &sender{}
	c := &cobra.Command{
		Use: "submit [--as ROLE] FILE", Short: "Hand in an AMP message or an ACK, - is standard input", Args: takes("a FILE, or - for standard input"),
		RunE: a.do(func(c *cobra.Command, args []string) error {
			raw, err := a.readFile(args[0], maxInput)
			if err != nil {
				return err
			}
			in, err := s.received(raw, claimedRole(raw))
			if err != nil {
				return err
			}
			return a.handIn(c, in)
		}),
	}
	s.flags(c)
	c.Flags().BoolVar(&s.strict, "strict", false, "refuse unknown properties")
	return c
}

// handIn gives a message to the coordinator and prints its receipt.
func (a *app) handIn(c *cobra.Command, in amp.Received) error {
	client, err := a.attach(c.Context())
	if err != nil {
		return err
	}
	r, err := client.Receive(c.Context(), in)
	if err != nil {
		return err
	}
	if a.json {
		a.outJSON(receiptReport{TaskID: r.Entry.TaskID, Kind: r.Entry.Kind, ID: r.Entry.ID, Seq: r.Entry.Seq, Duplicate: r.Duplicate, Warnings: noNil(r.Warnings)})
		return nil
	}
	word := "is stored"
	if r.Duplicate {
		word = "was stored before; nothing has changed"
	}
	a.out("%s %s %s: entry %d\n", r.Entry.Kind, r.Entry.ID, word, r.Entry.Seq)
	for _, w := range r.Warnings {
		a.complain("arbiter: warning: " + safe(w.String()))
	}
	return nil
}

// receiptReport is the JSON form of a receipt.
type receiptReport struct {
	TaskID    amp.TaskID    `json:"task_id"`
	Kind      amp.Kind      `json:"kind"`
	ID        string        `json:"id"`
	Seq       uint64        `json:"seq"`
	Duplicate bool          `json:"duplicate"`
	Warnings  []amp.Problem `json:"warnings"`
}

func noNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

func newMessageAck(a *app) *cobra.Command {
	s, refuse, reason := &sender{}, false, ""
	c := &cobra.Command{
		Use:   "ack MSG_ID",
		Short: "Acknowledge a message: for a task_dispatch that work has begun; --refuse says that it will not",
		Args:  takes("a MSG_ID"),
		RunE: a.do(func(c *cobra.Command, args []string) error {
			if refuse && reason == "" {
				return usage("a refusal needs --reason").then(`arbiter message ack ` + args[0] + ` --refuse --reason "why"`)
			}
			var e *amp.Entry
			err := a.looking(func(l *look) (err error) {
				e, err = findMessage(c, l, args[0])
				return err
			})
			if err != nil {
				return err
			}
			m, _, err := amp.Decode(e.Body)
			if err != nil {
				return fmt.Errorf("read message %s: %w", e.ID, err)
			}
			in, err := s.received(nil, m.To)
			if err != nil {
				return err
			}
			status := amp.AckAccepted
			if refuse {
				status = amp.AckRefused
			}
			in.Raw = ackOf(m, in.As, time.Now(), status, reason)
			return a.handIn(c, in)
		}),
	}
	s.flags(c)
	c.Flags().BoolVar(&refuse, "refuse", false, "refuse the message")
	c.Flags().StringVar(&reason, "reason", "", "why it is refused")
	return c
}

// findMessage is the entry of a message.
func findMessage(c *cobra.Command, q querier, id string) (*amp.Entry, error) {
	page, err := q.Query(c.Context(), amp.Query{Kind: amp.QueryEntries, Filter: amp.Filter{ID: id, Limit: 1}})
	if err != nil {
		return nil, err
	}
	if len(page.Entries) == 0 || page.Entries[0].Kind != amp.KindMessage {
		return nil, &notFoundError{what: fmt.Sprintf("there is no message %q", id), next: "See the messages: arbiter message list"}
	}
	return &page.Entries[0], nil
}

func newMessageShow(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "show MSG_ID", Short: "Print a message byte for byte as it was received; --json prints its journal entry", Args: takes("a MSG_ID"),
		RunE: a.do(func(c *cobra.Command, args []string) error {
			return a.looking(func(l *look) error {
				e, err := findMessage(c, l, args[0])
				if err != nil {
					return err
				}
				if a.json {
					a.outJSON(e)
					return nil
				}
				a.rawBody(e.Body)
				return nil
			})
		}),
	}
}

func newMessageList(a *app) *cobra.Command {
	task, limit := "", 50
	c := &cobra.Command{
		Use: "list", Short: "List the last messages, ACKs and refused messages", Args: takes(),
		RunE: a.do(func(c *cobra.Command, _ []string) error {
			f := amp.Filter{Kinds: []amp.Kind{amp.KindMessage, amp.KindAck, amp.KindRefusal}, Newest: true, Limit: limit}
			return a.listEntries(c, f, task, "There is no message yet.")
		}),
	}
	c.Flags().StringVar(&task, "task", "", "only those of one task")
	c.Flags().IntVar(&limit, "limit", limit, "how many at most, up to 1000")
	return c
}
