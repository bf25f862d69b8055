package bus

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"arbiter/amp"
	"arbiter/providers"
	"arbiter/providers/brief"
	"arbiter/providers/program"
)

// AgentConfig describes an agent on the bus.
type AgentConfig struct {
	// Name is the agent's name in the journal, AgentID its id on the bus.
	Name    string
	AgentID string
	// Fallback are the agents on the bus that take over when it is not there, or fails, in order.
	Fallback []string
	// Limits are used where a turn has none; see [program.Defaults]. There is nothing to end, so Grace has no meaning.
	Limits providers.Limits
	// Repository, when it is not nil, gives the agent the commits that its requests start from, and takes those that it made: it has a clone
	// of its own. Without it the agent works in the turn's folder.
	Repository Repository
}

// Agent asks an agent on the bus. It is safe for concurrent use.
type Agent struct {
	bus    *Bus
	config AgentConfig
}

var (
	_ providers.Agent     = (*Agent)(nil)
	_ providers.Describer = (*Agent)(nil)
)

// Agent returns the agent that a configuration describes.
func (b *Bus) Agent(c AgentConfig) (*Agent, error) {
	if !goodName(c.AgentID) || selves[c.AgentID] {
		return nil, fmt.Errorf("configure agent %s: agent_id %s can name no agent", c.Name, quoted(c.AgentID))
	}
	if c.Repository != nil && b.cfg.Parcels == "" {
		return nil, fmt.Errorf("configure agent %s: the bus has no folder for parcels", c.Name)
	}
	return &Agent{bus: b, config: c}, nil
}

// Describe says what the bus promises, see [providers.Describer].
func (a *Agent) Describe(l providers.Limits) amp.AgentFacts {
	l = program.Defaults(l, a.config.Limits)
	return amp.AgentFacts{
		Through: "bus", Acks: "agent", Resumes: true, ReportsCost: true,
		SilenceSec: int(l.Silence.Seconds()), TotalSec: int(l.Total.Seconds()), OutputBytes: l.Output,
	}
}

// Run sends the turn as a task_request and waits for its answer, see [providers.Agent]. When the turn ends otherwise, a request that nobody has
// yet is withdrawn; an agent that works on it is told when it understands that, and what it still sends is not heard.
func (a *Agent) Run(ctx context.Context, turn providers.Turn, emit func(providers.Event)) (providers.Outcome, error) {
	r := &run{agent: a, bus: a.bus, turn: &turn, emit: emit, limits: program.Defaults(turn.Limits, a.config.Limits)}
	failed := r.play(ctx)
	r.out.Usage = r.usage
	if failed != nil {
		r.out.Final, r.out.Text, r.out.Question = nil, "", ""
		failed.Usage = r.usage
		return r.out, failed
	}
	return r.out, nil
}

// run is one turn.
type run struct {
	agent  *Agent
	bus    *Bus
	turn   *providers.Turn
	emit   func(providers.Event)
	limits providers.Limits

	*delegation
	errand *errand
	asking *asking
	out    providers.Outcome
	usage  providers.Usage
	acked  *amp.Ack
	bytes  int64
	tries  int
	passed []string
	logErr error
}

func failure(f providers.Failure, format string, args ...any) *providers.TurnError {
	return &providers.TurnError{Failure: f, Text: fmt.Sprintf(format, args...)}
}

func (r *run) play(ctx context.Context) *providers.TurnError {
	m, err := Request(r.turn, r.agent.config.AgentID, r.agent.config.Fallback)
	if err != nil {
		return failure(providers.FailConfig, "%v", err)
	}
	r.bus.mu.Lock()
	speaks := r.bus.speaks(m.Recipient.AgentID, r.turn.Role)
	r.bus.mu.Unlock()
	if !speaks {
		return failure(providers.FailConfig, "agent %s has a token that is not for the %s", m.Recipient.AgentID, r.turn.Role)
	}
	var failed *providers.TurnError
	closing := r.bus.serve(r, m.MessageID)
	defer func() { closing(failed) }()
	began := time.Now()
	if r.delegation, err = r.bus.delegate(ctx, m, r.turn.Role); err != nil {
		failed = r.stopped(ctx, err)
		return failed
	}
	defer r.session.Close()
	r.asking = newAsking(ctx)
	failed = r.listen(ctx, began)
	r.asking.end()
	if failed != nil && !r.withdraw(failed.Text) && unwanted(ctx, failed) {
		r.recall(failed.Text)
	}
	return failed
}

// stopped says why a request could not be sent.
func (r *run) stopped(ctx context.Context, err error) *providers.TurnError {
	if ctx.Err() != nil {
		return failure(providers.FailKilled, "the turn was stopped: %v", context.Cause(ctx))
	}
	failed := failure(providers.FailTransport, "the request could not be sent: %v", err)
	failed.Retry = 30 * time.Second
	return failed
}

// listen takes what comes back until there is an answer, or none will come. Both clocks stand while a permission is asked for.
func (r *run) listen(ctx context.Context, began time.Time) *providers.TurnError {
	total := time.NewTimer(r.limits.Total - time.Since(began))
	defer total.Stop()
	silence := time.NewTimer(r.limits.Silence)
	defer silence.Stop()
	for {
		for _, got := range r.session.take(1) {
			silence.Reset(r.limits.Silence)
			if done, failed := r.take(ctx, got); done || failed != nil {
				return failed
			}
		}
		select {
		case <-r.session.wake:
		case <-r.settled:
			r.settled = nil
			if why := r.dead(); why != "" {
				failed := failure(providers.FailTransport, "the request could not be delivered: %s", why)
				failed.Retry = 30 * time.Second
				return failed
			}
		case d := <-r.asking.decided:
			r.decide(d)
			silence.Reset(r.limits.Silence)
		case <-silence.C:
			if r.asking.open > 0 {
				silence.Reset(r.limits.Silence)
				continue
			}
			return failure(providers.FailSilent, "%s sent nothing for %s", r.holder(), r.limits.Silence)
		case <-total.C:
			if left := r.limits.Total - time.Since(began) + r.asking.waiting(); left > 0 || r.asking.open > 0 {
				total.Reset(max(left, time.Second))
				continue
			}
			return failure(providers.FailTotal, "%s had no answer after %s", r.holder(), r.limits.Total)
		case <-ctx.Done():
			return failure(providers.FailKilled, "the turn was stopped: %v", context.Cause(ctx))
		case <-r.bus.closed:
			return failure(providers.FailKilled, "the bus was stopped")
		}
	}
}

// holder is the agent that has the request now.
func (r *run) holder() string {
	r.bus.mu.Lock()
	defer r.bus.mu.Unlock()
	if agent, known := r.bus.state.seen.holder(r.key); known {
		return agent
	}
	return r.agent.config.AgentID
}

// take takes one message in. The answer itself stays on the bus for a while, see keepAnswer.
func (r *run) take(ctx context.Context, got Delivery) (done bool, failed *providers.TurnError) {
	m := got.Message
	if r.bytes += int64(len(m.Raw)) + 1; r.bytes > r.limits.Output {
		return true, failure(providers.FailOutput, "it sent more than %d bytes", r.limits.Output)
	}
	r.note(m)
	late := r.asking.follow(m.Sender.AgentID, textOf(m.Metadata["run"]))
	r.usage = r.usage.Plus(usageOf(m))
	if s := m.Sender.SessionID; s != "" && s != r.out.Session && s != string(r.turn.Task) && goodName(s) {
		r.out.Session = s
		r.emit(providers.Event{Type: providers.EventProgress, Text: "session " + program.Text([]byte(s)), Session: s})
	}
	switch m.Type {
	case StatusUpdate:
		failed = r.status(m, late)
	case TaskResponse:
		r.accept()
		if failed = readAnswer(r.turn, m, &r.out); failed == nil && r.out.Question == "" {
			failed = r.land(ctx, m)
		}
		r.settle(got.Key)
		return true, failed
	case ErrorMessage:
		if e := escalationOf(m); e != nil {
			r.accept()
			r.emit(providers.Event{Type: providers.EventEscalation, Payload: e})
			break
		}
		failed = r.trouble(ctx, m)
	case TaskRequest, Heartbeat:
		r.emit(providers.Event{Type: providers.EventProgress, Text: "not understood: a " + string(m.Type)})
	}
	if err := r.session.Confirm(ctx, got.Key); err != nil && failed == nil && ctx.Err() == nil && !errors.Is(err, ErrClosed) {
		failed = failure(providers.FailTransport, "%v", err)
	}
	return failed != nil, failed
}

// status takes a status_update: an ACK, an escalation of level info, or a sign of life.
func (r *run) status(m *Message, late bool) *providers.TurnError {
	if e := escalationOf(m); e != nil {
		r.accept()
		r.emit(providers.Event{Type: providers.EventEscalation, Payload: e})
		return nil
	}
	if id, p, asked := permissionOf(m); asked {
		r.accept()
		if !late {
			r.ask(m.Sender.AgentID, id, p)
		}
		return nil
	}
	ack, of := ackOf(m)
	if ack == nil || r.acked != nil || len(r.turn.Message) == 0 {
		r.accept()
		if kindOf(m.Payload) != "null" { // one that says only what it took, or which session it is
			r.emit(providers.Event{Type: providers.EventProgress, Text: progressOf(m)})
		}
		return nil
	}
	if of != "" && of != r.message.MessageID && of != textOf(member(r.message.Metadata["amp"], "msg_id")) {
		r.emit(providers.Event{Type: providers.EventProgress, Text: "not understood: an ACK for " + program.Text([]byte(of))})
		return nil
	}
	if ack.Status == amp.AckAccepted && len(ack.EchoedAcceptanceCriteria) == 0 {
		if own := brief.Accept(r.turn); own != nil {
			ack.EchoedAcceptanceCriteria = own.EchoedAcceptanceCriteria
		}
	}
	r.acked = ack
	r.emit(providers.Event{Type: providers.EventAck, Ack: ack})
	if ack.Status == amp.AckRefused {
		return failure(providers.FailRefused, "it refused the message: %s", program.Text([]byte(ack.Reason)))
	}
	return nil
}

// accept takes the message on for an adapter that knows nothing of ACKs, with the first thing that it sends.
func (r *run) accept() {
	if r.acked != nil {
		return
	}
	if r.acked = brief.Accept(r.turn); r.acked != nil {
		r.emit(providers.Event{Type: providers.EventAck, Ack: r.acked})
	}
}

// trouble takes an error: it fails the delegation, which is tried again, then given to another agent (B08).
func (r *run) trouble(ctx context.Context, m *Message) *providers.TurnError {
	r.asking.withdraw()
	t := TroubleOf(m)
	from := m.Sender.AgentID
	last := failure(t.Failure(), "%s reported an error: %s", from, t)
	last.Tail, last.Retry = t.Details, t.Retry
	r.tries++
	to, again := from, r.message
	if !t.Retryable || r.tries > r.message.Routing.RetryPolicy.MaxRetries {
		r.passed = append(r.passed, from)
		i := slices.IndexFunc(r.agent.config.Fallback, func(id string) bool { return !slices.Contains(r.passed, id) })
		if i < 0 {
			return last
		}
		to, r.tries = r.agent.config.Fallback[i], 0
	}
	if to != r.agent.config.AgentID {
		again = readdress(r.message, to)
	}
	r.emit(providers.Event{Type: providers.EventProgress, Text: program.Text(fmt.Appendf(nil, "%s; asks %s again", last.Text, to))})
	if r.tries > 0 {
		wait := time.NewTimer(r.message.Routing.RetryPolicy.wait(r.tries))
		defer wait.Stop()
		select {
		case <-wait.C:
		case <-ctx.Done():
			return failure(providers.FailKilled, "the turn was stopped: %v", context.Cause(ctx))
		}
	}
	if err := r.send(ctx, again, to); err != nil {
		return r.stopped(ctx, err)
	}
	return nil
}

// note writes a message to the turn's log.
func (r *run) note(m *Message) {
	if r.turn.Log == nil || r.logErr != nil {
		return
	}
	if _, r.logErr = r.turn.Log.Write(append(slices.Clone(m.Raw), '\n')); r.logErr != nil {
		r.emit(providers.Event{Type: providers.EventProgress, Text: fmt.Sprintf("the log of this turn is incomplete: %v", r.logErr)})
	}
}
