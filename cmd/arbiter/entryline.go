package main

import (
	"fmt"
	"strings"
	"time"

	"arbiter/amp"
)

// entryLine says in one line what an entry is. Text of agents in it is not safe to print yet.
func entryLine(e *amp.Entry) string {
	switch e.Kind {
	case amp.KindMessage:
		if m, _, err := amp.Decode(e.Body); err == nil {
			return messageLine(m)
		}
	case amp.KindAck:
		return bodyLine(e, ackLine)
	case amp.KindCommand:
		return bodyLine(e, commandLine)
	case amp.KindPlan:
		return bodyLine(e, func(p *amp.Plan) string {
			return fmt.Sprintf("revision %d, %s risk, %s, content %s: %s", p.Revision, p.RiskLevel, plural(len(p.Subtasks), "subtask"),
				short(p.Hash), p.Title)
		})
	case amp.KindTurn:
		return bodyLine(e, turnLine)
	case amp.KindQuestion:
		return bodyLine(e, func(q *amp.Question) string {
			return fmt.Sprintf("%s: %s [%s]", q.Type, q.Request, strings.Join(q.Options, " | "))
		})
	case amp.KindCheck:
		return bodyLine(e, checkLine)
	case amp.KindRefusal:
		return bodyLine(e, func(r *amp.Refusal) string {
			var all []string
			for _, p := range r.Problems {
				all = append(all, p.String())
			}
			return fmt.Sprintf("%s refused: %s", r.What, strings.Join(all, "; "))
		})
	case amp.KindChain:
		return bodyLine(e, chainLine)
	case amp.KindBus:
		if b, err := amp.DecodeBody[amp.Access](e); err == nil && b.Token != "" {
			return fmt.Sprintf("%s %s: %s as %s%s", b.Event, b.Token, b.Name, b.Role, until(b.Expires))
		}
		if r, err := amp.DecodeBody[amp.Reached](e); err == nil && r.Event == amp.DutyReached {
			return fmt.Sprintf("%s is done up to entry %d", r.Duty, r.Seq)
		}
		return bodyLine(e, busLine)
	case amp.KindOutside:
		return bodyLine(e, (*amp.Outside).Line)
	}
	return fmt.Sprintf("%d bytes", len(e.Body))
}

func bodyLine[T any](e *amp.Entry, line func(*T) string) string {
	v, err := amp.DecodeBody[T](e)
	if err != nil {
		return fmt.Sprintf("%d bytes that are no %s", len(e.Body), e.Kind)
	}
	return line(&v)
}

func chainLine(c *amp.Chain) string {
	s := fmt.Sprintf("%s agent %s: %s", c.Stage, c.Agent, c.Result)
	if why := c.Why(); why != "" {
		s += ": " + why
	}
	return s
}

func messageLine(m *amp.Message) string {
	head := fmt.Sprintf("%s %s → %s", m.Type, m.From, m.To)
	switch p := m.Payload.(type) {
	case *amp.Result:
		return fmt.Sprintf("%s: %s of %s, %s, +%d −%d", head, p.CompletionStatus, p.SubtaskID,
			plural(len(p.DiffSummary.FilesChanged), "file"), p.DiffSummary.LinesAdded, p.DiffSummary.LinesRemoved)
	case *amp.Request:
		return fmt.Sprintf("%s: %s review", head, p.ReviewScope)
	case *amp.Verdict:
		return fmt.Sprintf("%s: %s at confidence %.2f, %s", head, p.Decision, p.Confidence, plural(len(p.Issues), "issue"))
	case *amp.Escalation:
		return fmt.Sprintf("%s: %s %s: %s", head, p.Severity, p.EscalationType, p.Description)
	}
	return head
}

func ackLine(a *amp.Ack) string {
	s := fmt.Sprintf("%s %s %s", a.By, a.Status, a.AckFor)
	if a.Reason != "" {
		s += ": " + a.Reason
	}
	if a.Late {
		s += " (late)"
	}
	return s
}

func commandLine(c *amp.Command) string {
	s := string(c.Command)
	if c.Args.Next != "" {
		s += " and " + string(c.Args.Next)
	}
	if c.Args.EffectiveAt != nil {
		s += " at " + amp.FormatTime(*c.Args.EffectiveAt)
	}
	switch {
	case c.Note != "":
		s += ": " + c.Note
	case c.Args.Wish != nil:
		s += ": " + c.Args.Wish.Text
	}
	return s
}

func turnLine(u *amp.Turn) string {
	s := fmt.Sprintf("%s %s %s", u.Agent, u.Role, u.Event)
	if u.Event == amp.TurnEnded {
		s += fmt.Sprintf(" %s after %s", u.Outcome, (time.Duration(u.TookMS) * time.Millisecond).Round(100*time.Millisecond))
	}
	if u.Text != "" {
		s += ": " + u.Text
	}
	return s
}

func checkLine(c *amp.Check) string {
	confirmed, refuted, open := c.Count()
	var s strings.Builder
	s.WriteString(fmt.Sprintf("%s: %d confirmed, %d refuted, %d inconclusive", c.Subject, confirmed, refuted, open))
	for _, cl := range c.Claims {
		if cl.Finding == amp.Refuted {
			s.WriteString(fmt.Sprintf("; %s: said %s, found %s", cl.Name, cl.Claimed, cl.Found))
		}
	}
	for _, gate := range sortedKeys(c.CI) {
		s.WriteString(fmt.Sprintf("; ci %s %s", gate, c.CI[gate]))
	}
	if c.Text != "" && !strings.HasPrefix(c.Text, fmt.Sprint(confirmed, " confirmed")) {
		s.WriteString("; " + c.Text)
	}
	return s.String()
}

// addEntries adds entries to a table, one row each.
func (t *table) addEntries(entries []amp.Entry) {
	for i := range entries {
		e := &entries[i]
		t.add(fmt.Sprintf("#%d", e.Seq), e.At.Local().Format("01-02 15:04:05"), string(e.TaskID), string(e.Kind), e.Actor, entryLine(e))
	}
}
