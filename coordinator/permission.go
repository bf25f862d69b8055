package coordinator

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"arbiter/amp"
	"arbiter/providers"
	"arbiter/ssot"
)

// maxRequest bounds what is kept of each part of a request; more of it is never allowed, since nobody could read it.
const maxRequest = 16 << 10

// maxAsked is how many requests one turn may have waiting at once.
const maxAsked = 8

// asked is a request of a running agent that waits for its answer.
type asked struct {
	turn   string
	answer chan providers.Decision
}

// permit puts a request of a running turn to the rules and the admin, see [providers.Turn.Ask]. It is in the journal before it is shown. When
// ctx ends before over, which ends with the turn, the request is withdrawn.
func (c *Coordinator) permit(ctx, over context.Context, l *liveTurn, p amp.Permission) providers.Decision {
	defer l.waits.begin()()
	answer := make(chan providers.Decision, 1)
	real := providers.Resolved(p, l.Dir)
	request := request{
		task: l.TaskID,
		run: func(now time.Time) ([]amp.Record, error) {
			return c.permission(l, p, real, answer, now), nil
		},
		done: func(_ []ssot.Appended, err error) {
			if err == nil {
				return
			}
			for id, a := range c.asks {
				if a.answer == answer {
					delete(c.asks, id)
					answer <- providers.Decision{Reason: "the request could not be written to the journal"}
				}
			}
		},
	}
	if c.beside.hand(ctx, request) != nil {
		return providers.Decision{Reason: "the turn ends"}
	}
	select {
	case d := <-answer:
		return d
	case <-ctx.Done():
	}
	select { // an answer that came with the end counts
	case d := <-answer:
		return d
	default:
	}
	if over.Err() == nil {
		c.withdraw(l, answer)
	}
	return providers.Decision{Reason: "the run that asked has ended"}
}

// withdraw answers the question of somebody who waits no more, while the turn goes on. Those of a turn that ends are closed by its end.
func (c *Coordinator) withdraw(l *liveTurn, answer chan providers.Decision) {
	c.report(request{task: l.TaskID, lease: l.lease, run: func(now time.Time) ([]amp.Record, error) {
		t := c.board.Task(l.TaskID)
		for i := range t.Questions {
			q := t.Questions[i].Question
			if a, waits := c.asks[q.QuestionID]; waits && a.answer == answer {
				q.Answer, q.Options = &amp.Answered{By: "agent", Reason: "the run of the agent that asked has ended"}, []string{}
				return []amp.Record{c.record(amp.KindQuestion, t.ID, amp.Coordinator, actor, now, q)}, nil
			}
		}
		return nil, nil
	}})
}

// permission judges one request in the loop: what a rule or a grant decides is one entry, and so is what is asked.
func (c *Coordinator) permission(l *liveTurn, p, real amp.Permission, answer chan providers.Decision, now time.Time) []amp.Record {
	t := c.board.Task(l.TaskID)
	q := amp.Question{
		QuestionID: c.cfg.NewID(), TaskID: t.ID, Type: amp.QuestionPermission, TurnID: l.TurnID, Agent: l.Agent, Role: l.Role,
		Request: p.Text(), Permission: &p,
		Options: []string{amp.OptionAllow, amp.OptionAllowTask, amp.OptionDeny},
	}
	c.asks[q.QuestionID] = asked{turn: l.TurnID, answer: answer} // told when the entry is stored, see answered
	decided := func(allow bool, by, reason string) []amp.Record {
		q.Answer, q.Options = &amp.Answered{Allow: allow, By: by, Reason: reason}, []string{}
		return []amp.Record{c.record(amp.KindQuestion, t.ID, l.Role, l.Agent, now, q)}
	}
	switch {
	case t.Turn == nil || t.Turn.TurnID != l.TurnID || l.Epoch < t.Epoch || c.board.Stopped != nil:
		return decided(false, "rule", "the turn is fenced")
	case oversized(&p):
		q.Permission, q.Request = nil, "a request that is too long to be read"
		return decided(false, "rule", fmt.Sprintf("the request is longer than %d bytes: nobody could read it", maxRequest))
	case c.waitingOf(l.TurnID) > maxAsked:
		return decided(false, "rule", fmt.Sprintf("%d requests of this turn wait already", maxAsked))
	}
	ruling, why := t.RulePermission(&real, l.Dir, c.cfg.Permissions)
	switch ruling {
	case amp.RuleAllow:
		return decided(true, "rule", why)
	case amp.RuleDeny:
		return decided(false, "rule", why)
	case amp.RuleEscalate:
		return append(decided(false, "rule", why), c.escalate(t, now, alarm{typ: amp.PermissionDenied, text: fmt.Sprintf(
			"%s asked to %s. That exceeds what the plan authorises: %s.", l.Agent, clipped(p.Text(), 300), why)}))
	case amp.RuleAsk:
	}
	if g := t.Granted(&p, now); g != nil {
		return decided(true, "grant", fmt.Sprintf("%s allowed it in #%d until %s", g.By, g.Seq, amp.FormatTime(g.Until)))
	}
	at := now.UTC().Add(c.cfg.AskTimeout)
	q.Expires, q.Why, q.GrantSec = &at, why, int(c.cfg.GrantFor.Seconds())
	return []amp.Record{c.record(amp.KindQuestion, t.ID, l.Role, l.Agent, now, q)}
}

func (c *Coordinator) waitingOf(turnID string) int {
	n := 0
	for _, a := range c.asks {
		if a.turn == turnID {
			n++
		}
	}
	return n
}

// answered tells the agents that wait what an entry decided; it is called for each entry that was folded.
func (c *Coordinator) answered(e *amp.Entry) {
	if len(c.asks) == 0 {
		return
	}
	tell := func(id string, d providers.Decision) {
		if a, ok := c.asks[id]; ok {
			delete(c.asks, id)
			a.answer <- d
		}
	}
	switch e.Kind {
	case amp.KindCommand:
		if cmd, err := amp.DecodeBody[amp.Command](e); err == nil && cmd.Command == amp.Answer {
			tell(cmd.Args.Question, providers.Decision{Allow: amp.Allows(cmd.Args.Option), Reason: cmd.Note})
		}
	case amp.KindQuestion:
		if q, err := amp.DecodeBody[amp.Question](e); err == nil && q.Answer != nil {
			tell(q.QuestionID, providers.Decision{Allow: q.Answer.Allow, Reason: q.Answer.Reason})
		}
	case amp.KindTurn:
		if u, err := amp.DecodeBody[amp.Turn](e); err == nil && u.Event == amp.TurnEnded {
			for id, a := range c.asks {
				if a.turn == u.TurnID {
					tell(id, providers.Decision{Reason: "the turn has ended"})
				}
			}
		}
	case amp.KindMessage, amp.KindAck, amp.KindPlan, amp.KindCheck, amp.KindRefusal, amp.KindChain, amp.KindBus, amp.KindOutside:
	}
}

// expire answers the questions whose time is over: silence is no.
func (c *Coordinator) expire(t *amp.Task, now time.Time) []amp.Record {
	for i := range t.Questions {
		q := t.Questions[i].Question
		if q.Expires == nil || now.Before(*q.Expires) {
			continue
		}
		q.Answer, q.Options = &amp.Answered{By: "silence", Reason: "nobody answered in time"}, []string{}
		return []amp.Record{c.record(amp.KindQuestion, t.ID, amp.Coordinator, actor, now, q)}
	}
	return nil
}

// oversized reports whether a part of the request is longer than a person is shown, or is no text.
func oversized(p *amp.Permission) bool {
	n := 0
	for _, f := range p.Paths {
		n += len(f) + 1
	}
	long := func(s string) bool { return len(s) > maxRequest || !utf8.ValidString(s) }
	return n > maxRequest || long(p.Command) || long(p.Request) || long(p.Reason) || long(p.Tool) || long(p.Dir) ||
		slices.ContainsFunc(p.Paths, long)
}

// clipped is the beginning of a text on one line.
func clipped(s string, n int) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > n {
		s = strings.ToValidUTF8(s[:n], "") + "…"
	}
	return s
}
