package notify

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"arbiter/amp"
)

// ask is what a decision wants besides the press: nothing, typed digits, or words.
type ask string

const (
	askNothing ask = ""
	askDigits  ask = "digits"
	askWords   ask = "words"
)

// renew and takeBack are buttons that decide nothing about the need itself.
const renew amp.CommandName = "show_again"

// choice is one decision that a card offers. Its label is words of ours only.
type choice struct {
	Label   string          `json:"label"`
	Command amp.CommandName `json:"command"`
	Args    amp.Args        `json:"args,omitzero"`
	Ask     ask             `json:"ask,omitzero"`
	// Digits are the last four of the content, when they are to be typed; Of says of what.
	Digits string `json:"digits,omitzero"`
	Of     string `json:"of,omitzero"`
}

// name is the decision in words.
func (c *choice) name() string {
	switch {
	case c.Command == amp.Answer && c.Args.Option != "":
		return c.Args.Option
	case c.Args.Next != "":
		return string(c.Command) + ", then " + string(c.Args.Next)
	case c.Command == amp.Withdraw:
		return "take back"
	}
	return strings.ReplaceAll(string(c.Command), "_", " ")
}

// choices are what may be decided about a need from a chat, and lines that say what may not and why. remote allows the commands that
// destroy work or let it out. whole says that everything that is decided on can be read in the message.
func (n *need) choices(t *amp.Task, remote, whole bool) (out []choice, notes []string) {
	for _, w := range t.Waiting {
		out = append(out, choice{Label: "Take back " + string(w.Command.Command), Command: amp.Withdraw, Args: amp.Args{Withdraws: w.Command.ID}})
	}
	if len(out) > 0 {
		return out, nil
	}
	add := func(c choice) {
		if err := t.Allows(c.Command); err != nil {
			notes = append(notes, fmt.Sprintf("%s is off: %s", c.name(), why(err)))
			return
		}
		out = append(out, c)
	}
	local := func(c choice) {
		if !remote {
			notes = append(notes, c.name()+": only at the screen")
			return
		}
		add(c)
	}
	end := choice{Label: "Terminate…", Command: amp.Terminate, Ask: askDigits}
	end.Of, end.Digits = commitDigits(t)
	switch n.Kind {
	case amp.NeedPlan:
		n.planChoices(t, whole, add, &notes)
		local(end)
	case amp.NeedEscalation:
		args := amp.Args{Escalation: n.Ref}
		if t.Status == amp.Locked {
			un := choice{Label: "Unlock…", Command: amp.Unlock, Args: args, Ask: askWords}
			if t.Approval != nil {
				un.Label, un.Args.Next = "Unlock and redispatch…", amp.Redispatch
			}
			local(un)
		}
		if t.Status == amp.Suspended {
			add(choice{Label: "Resume…", Command: amp.Resume, Args: args, Ask: askWords})
		}
		end.Args = args
		local(end)
	case amp.NeedQuestion:
		n.questionChoices(t, whole, add, &notes)
	case amp.NeedHeld:
		if t.Hold.Kind == amp.HoldVerdict {
			add(choice{Label: "Accept: " + string(t.Decision), Command: amp.Accept})
		}
		if t.Hold.Kind == amp.HoldResult {
			c := choice{Label: "Accept the result…", Command: amp.Accept, Ask: askDigits}
			c.Of, c.Digits = commitDigits(t)
			add(c)
		}
		add(choice{Label: "Redispatch…", Command: amp.Redispatch, Ask: askWords})
		local(end)
	case amp.NeedDelivery:
		c := choice{Label: "Prepare delivery…", Command: amp.Deliver, Ask: askDigits}
		c.Of, c.Digits = commitDigits(t)
		local(c)
		notes = append(notes, "a merge: only at the screen")
	case amp.NeedFailed, amp.NeedStopped:
	}
	return out, notes
}

func (n *need) planChoices(t *amp.Task, whole bool, add func(choice), notes *[]string) {
	parts := len(t.Plan.Subtasks)
	c := choice{
		Label: fmt.Sprintf("Approve r%d", t.Plan.Revision), Command: amp.Approve,
		Args: amp.Args{Read: fmt.Sprintf("read %d/%d in a message", parts, parts), Parts: parts},
	}
	if t.Plan.RiskLevel == amp.High {
		c.Label, c.Ask, c.Of, c.Digits = c.Label+"…", askDigits, "content", t.Plan.Hash[max(0, len(t.Plan.Hash)-4):]
	}
	switch {
	case whole:
		add(c)
	case t.Plan.RiskLevel == amp.Low:
		c.Args.Read, c.Args.Unread = "a part of it was read in a message", parts
		add(c)
	default:
		*notes = append(*notes, "approve is off: the plan is too long to be read here, and at "+string(t.Plan.RiskLevel)+" risk it must be read; open it at the screen")
	}
	add(choice{Label: "Reject…", Command: amp.Reject, Ask: askWords})
}

func (n *need) questionChoices(t *amp.Task, whole bool, add func(choice), notes *[]string) {
	q := n.question(t)
	if q.Type == amp.QuestionClarification {
		add(choice{Label: "Answer…", Command: amp.Answer, Args: amp.Args{Question: q.QuestionID}, Ask: askWords})
		return
	}
	// Only options of this program become buttons; what holds for longer than this once is given at the screen.
	ours := []string{amp.OptionAllow, amp.OptionDeny, amp.OptionTryAgain, amp.OptionToday}
	for _, o := range q.Options {
		switch {
		case !slices.Contains(ours, o):
		case o == amp.OptionAllow && !whole:
			*notes = append(*notes, "allow once is off: the request is too long to be read here; open it at the screen")
		default:
			add(choice{Label: strings.ToUpper(o[:1]) + o[1:], Command: amp.Answer, Args: amp.Args{Question: q.QuestionID, Option: o}})
		}
	}
	if len(q.Options) == 0 || q.Type == amp.QuestionBudget {
		*notes = append(*notes, "another bound: at the screen, or with arbiter raise-limit")
	}
}

// commitDigits are the last four digits of the commit, or of the task's number before there is one.
func commitDigits(t *amp.Task) (of, digits string) {
	of, hex := "commit", t.Commit
	if hex == "" {
		of, hex = "number", strings.ReplaceAll(strings.TrimPrefix(string(t.ID), "T-"), "-", "")
	}
	return of, strings.ToLower(hex[max(0, len(hex)-4):])
}

// why is the reason of a refusal without the words of the machine around it.
func why(err error) string {
	if te, ok := errors.AsType[*amp.TransitionError](err); ok {
		return te.Why
	}
	if re, ok := errors.AsType[*amp.RefusedError](err); ok {
		parts := make([]string, len(re.Problems))
		for i, p := range re.Problems {
			parts[i] = p.Message
		}
		return strings.Join(parts, "; ")
	}
	return err.Error()
}
