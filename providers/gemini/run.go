package gemini

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"arbiter/providers"
	"arbiter/providers/brief"
	"arbiter/providers/program"
	"arbiter/providers/sandbox"
)

// run is one turn of gemini. Only the session's goroutine touches its fields, but for the gauge.
type run struct {
	agent *Agent
	turn  *providers.Turn
	emit  func(providers.Event)
	gauge program.Gauge

	session *program.Session
	resume  string // the session to continue; lost says that the program does not know it
	lost    bool
	name    string // of the session
	spoke   bool   // the program wrote an event
	acked   bool
	answer  strings.Builder   // what the model says now, or said last
	calls   map[string]string // under way, by id
	called  bool              // the model called a tool since it spoke last
	model   string
	result  *event
}

// play follows the program to its end and proves that nothing of it is left.
func (r *run) play(ctx context.Context, p *sandbox.Process, cage *sandbox.Cage) (providers.Outcome, error) {
	r.session = &program.Session{
		Process: p, Cage: cage, Limits: program.Defaults(r.turn.Limits, r.agent.config.Limits), Log: r.turn.Log, Line: r.heard, Tick: r.tick,
	}
	r.emit(providers.Event{Type: providers.EventStarted, PID: p.PID(), Session: r.resume})
	end := r.session.Run(ctx)
	if end.LogErr != nil {
		r.progress(fmt.Sprintf("the log of this turn is incomplete: %v", end.LogErr))
	}
	return r.conclude(end)
}

// tick ends a program that would try for long.
func (r *run) tick() bool {
	if failed := r.gauge.Stuck(); failed != nil && r.result == nil {
		r.session.FailWith(failed)
	}
	return false
}

func (r *run) progress(text string) {
	if text != "" {
		r.emit(providers.Event{Type: providers.EventProgress, Text: text})
	}
}

// heard handles one line.
func (r *run) heard(raw []byte) {
	e := decode(raw)
	if e.kind != isText && e.kind != isEmpty {
		r.spoke = true
	}
	switch e.kind {
	case isText:
		r.progress(e.text)
	case isInit:
		r.model = e.model
		if e.session != "" && r.name == "" {
			r.name = e.session
			r.emit(providers.Event{Type: providers.EventProgress, Text: "session " + program.Short([]byte(e.session), shortText), Session: e.session})
		}
		r.accept()
	case isPiece:
		if r.called {
			r.flush()
		}
		r.answer.WriteString(e.text)
	case isCall:
		r.called = true
		r.flush()
		if len(r.calls) < maxCalls {
			r.calls[e.call] = e.text
		}
		r.progress(e.text)
	case isCalled:
		if e.failed {
			r.progress("failed: " + r.calls[e.call])
		}
		delete(r.calls, e.call)
	case isResult:
		if r.result != nil {
			r.session.Fail(providers.FailOutput, "it ended its turn twice")
		}
		r.result = &e
	case isEmpty, isUnknown:
	default:
		panic("gemini: unreachable event " + string(e.kind))
	}
}

// maxCalls is how many calls may be under way.
const maxCalls = 1000

// flush shows what the model said, unless it looks like the answer; what it says next is something else.
func (r *run) flush() {
	if said := strings.TrimSpace(r.answer.String()); said != "" && said[0] != '{' {
		r.progress(program.Text([]byte(said)))
	}
	r.answer.Reset()
	r.called = false
}

// accept acknowledges the message: gemini has read it and began.
func (r *run) accept() {
	if ack := brief.Accept(r.turn); ack != nil && !r.acked {
		r.emit(providers.Event{Type: providers.EventAck, Ack: ack})
	}
	r.acked = true
}

// conclude says how the turn ended.
func (r *run) conclude(end program.End) (providers.Outcome, error) {
	out := providers.Outcome{Exit: end.Exit, Session: r.name, Usage: r.spent()}
	failed := end.Failed
	if failed == nil {
		failed = r.judge(end)
	}
	if failed == nil {
		failed = brief.ReadSubmitted(r.turn, r.agent.config.Tools, r.answer.String(), &out, r.emit)
	}
	if failed != nil {
		failed.Tail, failed.Exit, failed.Usage = end.Tail, end.Exit, out.Usage
		out.Final, out.Question, out.Text = nil, "", ""
	}
	return out, end.Err(failed)
}

// spent is what the turn took. What the answers of the model say counts before what the program makes of them.
func (r *run) spent() providers.Usage {
	used := r.gauge.Usage()
	if used.Tokens == 0 && r.result != nil {
		used = r.result.usage
	}
	used.Model = cmp.Or(used.Model, r.model, r.agent.config.Model)
	return used
}

// The exit codes that name a cause.
const (
	exitAuth  = 41
	exitInput = 42
	exitTrust = 55
)

// judge looks at a program that was not ended for a reason of ours: well is a result of success and exit code 0. It exits with 0 after a signal too.
func (r *run) judge(end program.End) *providers.TurnError {
	exit := -1
	if end.Exit != nil {
		exit = *end.Exit
	}
	fail := func(f providers.Failure, format string, args ...any) *providers.TurnError {
		return &providers.TurnError{Failure: f, Text: fmt.Sprintf(format, args...)}
	}
	message, code := lastError(end.Tail)
	switch {
	case r.result != nil && !r.result.failed && exit == 0:
		return nil
	case r.result != nil && !r.result.failed:
		return fail(providers.FailCrashed, "gemini completed its turn and then ended with %s", program.Exit(end.Exit))
	case r.result != nil:
		return r.gauge.Failed(code, r.result.text)
	case exit == exitInput && r.resume != "":
		r.lost = true
		return fail(providers.FailConfig, "its session is not known any more: %s", program.LastLine(end.Tail))
	case exit == exitAuth:
		return fail(providers.FailConfig, "gemini does not know how to reach its model: %s", program.LastLine(end.Tail))
	case exit == exitTrust:
		return fail(providers.FailConfig, "gemini does not trust the folder of the turn: %s", program.LastLine(end.Tail))
	case message != "":
		return r.gauge.Failed(code, message)
	case !r.spoke && exit != 0:
		return fail(providers.FailConfig, "gemini ended with %s before it said anything: %s", program.Exit(end.Exit), program.LastLine(end.Tail))
	}
	return fail(providers.FailCrashed, "gemini ended with %s before its turn was over", program.Exit(end.Exit))
}
