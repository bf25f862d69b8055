package planning

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"arbiter/amp"
	"arbiter/providers"
	"arbiter/providers/planning/sentient"
	"arbiter/providers/sacp"
)

// chain is one turn of the chain. Only the goroutine of Run touches it.
type chain struct {
	agent *Agent
	turn  *providers.Turn
	emit  func(providers.Event)
	order *order

	session sentient.Session
	// done are the forwarded messages, one a stage, with what was said of them.
	done []step
	// last is what held the chain in the turn before, nil when nothing did.
	last  *amp.Chain
	plan  *amp.Plan
	usage providers.Usage
}

// step is a forwarded message.
type step struct {
	entry   amp.Chain
	message *sentient.Message
}

// resume takes over what was forwarded for the same order before.
func (c *chain) resume() {
	basis := c.order.basis()
	for _, raw := range c.turn.Chain {
		var e amp.Chain
		err := json.Unmarshal(raw, &e)
		if err == nil && e.Stage == amp.StageMemory {
			continue
		}
		if err != nil || e.Basis != basis {
			c.forget()
			continue
		}
		if e.Result != amp.ChainForwarded {
			c.last = &e
			continue
		}
		if e.Stage == amp.StageObjective {
			c.forget()
		}
		if len(c.done) == len(amp.ChainStages) || e.Stage != amp.ChainStages[len(c.done)] {
			continue
		}
		if j := c.session.Judge(e.Message); !j.Held() && j.Message != nil {
			c.done, c.last = append(c.done, step{e, j.Message}), nil
		}
	}
}

func (c *chain) forget() { c.session, c.done, c.last = sentient.Session{}, nil, nil }

// begins says where the chain starts.
func (c *chain) begins() string {
	if len(c.done) == 0 {
		return "the planning chain begins with the objective agent " + c.agent.config.Objective.Name
	}
	if len(c.done) == len(amp.ChainStages) {
		return "the planning chain is complete already"
	}
	s := amp.ChainStages[len(c.done)]
	return fmt.Sprintf("the planning chain goes on with the %s agent %s", s, c.agent.stages[s].Name)
}

// play runs the stages that are left. The question is why the chain waits for the admin, "" when the plan is there.
func (c *chain) play(ctx context.Context) (question string, err error) {
	for len(c.done) < len(amp.ChainStages) {
		stage := amp.ChainStages[len(c.done)]
		if ctx.Err() != nil {
			return "", &providers.TurnError{Failure: providers.FailKilled, Text: "it was stopped before the " + string(stage) + " agent"}
		}
		text, err := c.ask(ctx, stage)
		if err != nil {
			return "", err
		}
		e, m := c.judge(stage, text)
		body := amp.EncodeBody(e)
		c.emit(providers.Event{Type: providers.EventChain, Payload: body})
		if err := json.Unmarshal(body, &e); err != nil { // what is forwarded is what the journal holds, to the byte
			panic(fmt.Sprintf("planning: read a chain entry: %v", err))
		}
		if e.Result != amp.ChainForwarded {
			return c.question(&e, m), nil
		}
		c.done, c.last = append(c.done, step{e, m}), nil
	}
	if c.plan == nil { // every stage was done in an earlier turn
		plan, problems := c.draft(c.done)
		if len(problems) > 0 {
			return "", &providers.TurnError{Failure: providers.FailAnswer, Text: "the stored chain gives no plan: " + problems[0].String()}
		}
		c.plan = plan
	}
	return "", nil
}

// ask runs the agent of a stage and returns its text.
func (c *chain) ask(ctx context.Context, stage amp.ChainStage) ([]byte, error) {
	s := c.agent.stages[stage]
	turn := *c.turn
	prompt := c.prompt(stage)
	turn.Prompt, turn.Context, turn.Chain, turn.Session, turn.Reply, turn.Limits = &prompt, nil, nil, "", nil, s.Limits
	out, err := s.Agent.Run(ctx, turn, func(ev providers.Event) { c.pass(stage, ev) })
	c.usage = c.usage.Plus(providers.Spent(out, err))
	if err == nil {
		return []byte(out.Text), nil
	}
	if te, ok := errors.AsType[*providers.TurnError](err); ok {
		named := *te
		named.Text = fmt.Sprintf("the %s agent %s: %s", stage, s.Name, te.Text)
		named.Usage = providers.Usage{}
		if _, unproven := errors.AsType[*providers.UnprovenError](err); !unproven {
			return nil, &named
		}
	}
	return nil, err
}

// pass hands on what the agent of a stage says. Its session is not the chain's.
func (c *chain) pass(stage amp.ChainStage, ev providers.Event) {
	switch ev.Type {
	case providers.EventProgress:
		c.emit(providers.Event{Type: ev.Type, Text: string(stage) + ": " + ev.Text})
	case providers.EventStarted:
		c.emit(providers.Event{Type: ev.Type, PID: ev.PID})
	case providers.EventEscalation:
		c.emit(ev)
	case providers.EventAck, providers.EventChain: // a prompt is acknowledged by its answer
	}
}

// judge reads the text of a stage and says whether its message may be forwarded.
func (c *chain) judge(stage amp.ChainStage, text []byte) (amp.Chain, *sentient.Message) {
	e := amp.Chain{
		TaskID: c.turn.Task, TurnID: c.turn.ID, Stage: stage, Agent: c.agent.stages[stage].Name, Basis: c.order.basis(), Result: amp.ChainHeld,
	}
	e.Receive(text)
	j := c.session.Judge(Find(text))
	e.Message, e.Problems, e.Repairs, e.Warnings = amp.Raw(j.Copy), j.Errors, j.Repairs, j.Warnings
	m := j.Message
	if m != nil {
		if at, ok := m.Time(); ok {
			e.ExecutedAt = &at
		}
	}
	switch {
	case j.Held():
		if m == nil {
			e.Message = nil
		}
	case m.OutOfScope() || m.Status == sentient.Failed || m.Status == sentient.Pending || m.Next == nil && stage != amp.StagePlanning:
		e.Result = amp.ChainEnded
		if m.Error.Code != nil {
			e.Code = *m.Error.Code
		}
	case stage == amp.StagePlanning:
		plan, problems := c.draft(append(slices.Clone(c.done), step{e, m}))
		if e.Problems = problems; len(problems) == 0 {
			c.plan, e.Result = plan, amp.ChainForwarded
		}
	default:
		e.Result = amp.ChainForwarded
	}
	return e, m
}

// names are members that a message has and that other objects in a text mostly have not.
var names = []string{"message_id", "timestamp", "agent", "input", "output", "next_agent", "status", "metadata", "resources", "audit"}

// Find is the message in the text of a model: the first object that has most of its members. Without one it is the whole text, which then is
// what is wrong.
func Find(text []byte) []byte {
	if len(text) > amp.MaxMessage {
		return text
	}
	for _, part := range sacp.Candidates(text) {
		var in map[string]jsontext.Value
		if !jsontext.Value(part).IsValid() || json.Unmarshal(part, &in) != nil {
			continue
		}
		if n := len(slices.DeleteFunc(slices.Clone(names), func(s string) bool { return in[s] == nil })); n >= len(names)/2 {
			return bytes.TrimSpace(part)
		}
	}
	return text
}

// question says to the admin why the chain waits, and what an answer does.
func (c *chain) question(e *amp.Chain, m *sentient.Message) string {
	var b strings.Builder
	who := fmt.Sprintf("the %s agent %s", e.Stage, e.Agent)
	switch {
	case e.Result == amp.ChainHeld:
		fmt.Fprintf(&b, "The planning chain is held: the message of %s breaks %s and was not forwarded: ", who, count(len(e.Problems), "rule"))
		for i, p := range e.Problems {
			if i == 8 {
				fmt.Fprintf(&b, "; and %d more", len(e.Problems)-i)
				break
			}
			if i > 0 {
				b.WriteString("; ")
			}
			b.WriteString(p.String())
		}
		b.WriteString(". ")
	case m.OutOfScope():
		fmt.Fprintf(&b, "The planning chain ended: %s says that the wish is out of scope. %s ", who, said(m))
	case m.Status == sentient.Pending:
		fmt.Fprintf(&b, "The planning chain waits: %s needs something from you. %s ", who, said(m))
	default:
		fmt.Fprintf(&b, "The planning chain ended: %s gave nothing to go on with (%s). %s ", who, m.Status, said(m))
	}
	b.WriteString("Your answer goes to that agent, which writes its message again; what was forwarded before stays. Or end the task.")
	return b.String()
}

// said are the words of a message that ended the chain.
func said(m *sentient.Message) string {
	if m.Error.Text != nil && *m.Error.Text != "" {
		return sacp.Clip(*m.Error.Text, 1000)
	}
	return sacp.Clip(m.StatusText, 1000)
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
