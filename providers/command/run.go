package command

import (
	"context"
	"fmt"

	"arbiter/amp"
	"arbiter/providers"
	"arbiter/providers/brief"
	"arbiter/providers/program"
)

// run is one turn of the program. Only the session's goroutine touches its fields.
type run struct {
	turn    *providers.Turn
	emit    func(providers.Event)
	session *program.Session
	auto    bool
	asks    bool
	// answered says that there is a final answer, or a question in its place.
	answered bool

	outcome providers.Outcome
	acked   *amp.Ack
	hint    string // what was wrong with the program's last bad line
}

// play follows the program to its end and proves that nothing of it is left.
func (r *run) play(ctx context.Context) (providers.Outcome, error) {
	r.session.Line = r.take
	if r.auto {
		r.session.Tick = func() bool { r.acknowledge(); return r.acked != nil }
	}
	r.emit(providers.Event{Type: providers.EventStarted, PID: r.session.Process.PID(), Session: r.turn.Session})
	end := r.session.Run(ctx)
	r.acknowledge()
	if end.LogErr != nil {
		r.emit(providers.Event{Type: providers.EventProgress, Text: fmt.Sprintf("the log of this turn is incomplete: %v", end.LogErr)})
	}
	return r.conclude(end)
}

// acknowledge takes the message on in the program's place once it has read it all.
func (r *run) acknowledge() {
	if !r.auto || r.acked != nil || !r.session.Process.StdinTaken() {
		return
	}
	r.acked = brief.Accept(r.turn)
	r.emit(providers.Event{Type: providers.EventAck, Ack: r.acked})
}

// take handles one line.
func (r *run) take(raw []byte) {
	r.acknowledge()
	l := parse(raw)
	switch l.event {
	case isText:
		r.hint = ""
		if len(raw) > 0 && raw[0] == '{' {
			r.hint = l.text
		}
		r.progress("output: " + l.text)
	case isBroken:
		r.hint = l.text
		r.progress("not understood: " + l.text)
	case isProgress:
		r.progress(l.text)
	case isAck:
		r.takeAck(l.ack)
	case isSession:
		r.outcome.Session = l.text
		r.emit(providers.Event{Type: providers.EventProgress, Text: "session " + program.Text([]byte(l.text)), Session: l.text})
	case isEscalation:
		r.emit(providers.Event{Type: providers.EventEscalation, Payload: l.payload})
	case isUsage:
		r.outcome.Tokens += l.tokens
		r.outcome.CostUSD += l.cost
	case isPermission:
		r.permission(l)
	case isQuestion:
		if r.answered {
			r.session.Fail(providers.FailOutput, "it asks after its answer")
		}
		r.answered, r.outcome.Question = true, l.text
		r.session.Process.CloseInput()
	case isFinal:
		r.takeFinal(&l)
	case isEmpty, isUnknown:
	default:
		panic("command: unreachable event " + string(l.event))
	}
}

// takeFinal takes the answer: a text for a prompt, else an object.
func (r *run) takeFinal(l *line) {
	if r.answered {
		r.session.Fail(providers.FailOutput, "it gave two final answers")
	}
	switch {
	case r.turn.Prompt != nil && l.isText:
		r.outcome.Text = l.text
	case r.turn.Prompt != nil:
		r.outcome.Text = string(l.payload)
	case l.isText:
		r.hint = "final: payload is no object"
		r.progress("not understood: " + r.hint)
		return
	default:
		r.outcome.Final = l.payload
	}
	r.answered = true
	r.session.Process.CloseInput()
}

// takeAck passes the first ack on, when it comes before the answer. With automatic acks the program's own do not count.
func (r *run) takeAck(ack *amp.Ack) {
	switch {
	case r.auto || r.turn.Message == nil:
	case r.acked != nil:
		r.progress("not understood: a second ack")
	case r.answered:
		r.progress("not understood: an ack after the final answer")
	default:
		r.acked = ack
		r.emit(providers.Event{Type: providers.EventAck, Ack: ack})
	}
}

// permission puts a request to the admin; the decision goes to the program's standard input.
func (r *run) permission(l line) {
	if !r.asks {
		r.progress("not understood: a permission is asked for, but the agent is not configured with asks = true")
		return
	}
	p := *l.permission
	r.session.Ask(r.turn, p, func(d providers.Decision) {
		r.session.Process.Send(decision(l.text, d))
	})
}

func (r *run) progress(text string) {
	r.emit(providers.Event{Type: providers.EventProgress, Text: text})
}

// conclude says how the turn ended.
func (r *run) conclude(end program.End) (providers.Outcome, error) {
	r.outcome.Exit = end.Exit
	failed := end.Failed
	if failed == nil {
		failed = r.judge(end)
	}
	err := end.Err(failed)
	if err != nil {
		r.outcome.Final, r.outcome.Text, r.outcome.Question = nil, "", ""
	}
	return r.outcome, err
}

// judge looks at a program that ended by itself: well is exit code 0 after one final answer.
func (r *run) judge(end program.End) *providers.TurnError {
	fail := func(f providers.Failure, format string, args ...any) *providers.TurnError {
		return &providers.TurnError{Failure: f, Text: fmt.Sprintf(format, args...), Tail: end.Tail, Exit: end.Exit}
	}
	exit := -1
	if end.Exit != nil {
		exit = *end.Exit
	}
	switch refused := r.acked != nil && r.acked.Status == amp.AckRefused; {
	case r.answered && exit == 0:
		return nil
	case r.answered:
		return fail(providers.FailCrashed, "it gave a final answer and then ended with %s", program.Exit(end.Exit))
	case refused:
		return fail(providers.FailRefused, "it refused the message: %s", r.acked.Reason)
	case r.hint != "":
		return fail(providers.FailCrashed, "it ended with %s without a final answer; its last bad line: %s", program.Exit(end.Exit), r.hint)
	default:
		return fail(providers.FailCrashed, "it ended with %s without a final answer", program.Exit(end.Exit))
	}
}
