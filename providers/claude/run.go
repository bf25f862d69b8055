package claude

import (
	"context"
	"fmt"
	"strings"
	"time"

	"arbiter/providers"
	"arbiter/providers/brief"
	"arbiter/providers/program"
	"arbiter/providers/sandbox"
)

// run is one turn of claude. Only the session's goroutine touches its fields.
type run struct {
	agent  *Agent
	turn   *providers.Turn
	prompt providers.Prompt
	emit   func(providers.Event)

	session *program.Session
	resume  string // the session to continue
	named   string
	model   string
	acked   bool
	spoke   bool // the program wrote an event
	result  *result
	reset   time.Time // when a limit ends
	again   bool      // the turn is to be run once more; lost says that it is without the session
	lost    bool

	asks map[string]func() // open requests, by id: how to forget them
}

// play follows the program to its end and proves that nothing of it is left.
func (r *run) play(ctx context.Context, cage *sandbox.Cage) (providers.Outcome, error) {
	p, err := r.agent.config.Start(ctx, cage, r.turn, r.spec(cage.URL()))
	if err != nil {
		return providers.Outcome{}, program.NotStarted(ctx, err)
	}
	r.asks = map[string]func(){}
	r.session = &program.Session{
		Process: p, Cage: cage, Limits: program.Defaults(r.turn.Limits, r.agent.config.Limits), Log: r.turn.Log,
		Line: r.heard, Interrupt: r.interrupt,
	}
	r.emit(providers.Event{Type: providers.EventStarted, PID: p.PID(), Session: r.turn.Session})
	r.greet()
	end := r.session.Run(ctx)
	if end.LogErr != nil {
		r.progress(fmt.Sprintf("the log of this turn is incomplete: %v", end.LogErr))
	}
	return r.conclude(end)
}

func (r *run) progress(text string) {
	r.emit(providers.Event{Type: providers.EventProgress, Text: text})
}

// heard handles one line.
func (r *run) heard(raw []byte) {
	e := decode(raw)
	r.spoke = r.spoke || e.kind != isText
	for _, t := range e.text {
		r.progress(t)
	}
	switch e.kind {
	case isInit:
		r.begun(&e)
	case isRequest:
		r.asked(&e)
	case isForget:
		if forget := r.asks[e.id]; forget != nil {
			forget()
		}
	case isReply:
		r.replied(&e)
	case isLimit:
		r.reset = e.reset
	case isResult:
		if r.result != nil {
			r.session.Fail(providers.FailOutput, "it gave two results")
		}
		r.result = &e.result
		if len(e.result.denied) > 0 {
			r.progress("was not allowed to use " + program.Short([]byte(strings.Join(e.result.denied, ", ")), shortText))
		}
		r.session.Done()
	case isUnknown, isText, isSaid:
	default:
		panic("claude: unreachable event " + string(e.kind))
	}
}

// begun takes note of the session, which a later turn may continue, and acknowledges the message: claude has it.
func (r *run) begun(e *event) {
	r.model = e.model
	if e.session != "" && e.session != r.named {
		r.named = e.session
		r.emit(providers.Event{Type: providers.EventProgress, Text: "session " + program.Short([]byte(r.named), shortText), Session: r.named})
	}
	if ack := brief.Accept(r.turn); ack != nil && !r.acked {
		r.emit(providers.Event{Type: providers.EventAck, Ack: ack})
	}
	r.acked = true
}

// conclude says how the turn ended.
func (r *run) conclude(end program.End) (providers.Outcome, error) {
	out := providers.Outcome{Exit: end.Exit, Session: r.named}
	if r.result != nil {
		out.Usage = r.result.usage
	}
	out.Model = r.model
	failed := end.Failed
	if failed == nil {
		failed = r.judge(end)
	}
	if failed == nil {
		text := r.result.words
		if len(r.result.value) > 0 {
			text = string(r.result.value)
		}
		failed = brief.ReadSubmitted(r.turn, r.agent.config.Tools, text, &out, r.emit)
	}
	if failed != nil {
		failed.Tail, failed.Exit, failed.Usage = end.Tail, end.Exit, out.Usage
		out.Final, out.Question, out.Text = nil, "", ""
	}
	return out, end.Err(failed)
}

// judge looks at a program that was not ended for a reason of ours: well is a result that is no error, and an end that is no crash.
func (r *run) judge(end program.End) *providers.TurnError {
	exit := 0
	if end.Exit != nil && *end.Exit < 128 { // a signal is our way to end a program that stays
		exit = *end.Exit
	}
	fail := func(f providers.Failure, format string, args ...any) *providers.TurnError {
		return &providers.TurnError{Failure: f, Text: fmt.Sprintf(format, args...)}
	}
	var trouble *program.Trouble
	if r.result != nil {
		trouble = r.result.trouble()
	}
	unknown := strings.Contains(end.Tail, "No conversation found") || trouble != nil && strings.Contains(trouble.Words, "No conversation found")
	switch {
	case r.resume != "" && !r.acked && unknown:
		r.progress("session " + r.resume + " is not known any more: a new one begins")
		r.again, r.lost = true, true
		return fail(providers.FailConfig, "its session is not known any more")
	case trouble != nil && len(r.prompt.Schema) > 0 && trouble.BadSchema():
		r.agent.refused.Store(string(r.prompt.Schema), true)
		r.prompt.Schema, r.again = nil, true
		r.progress("the model's service does not take the schema of the answer: it is asked for in words alone")
		return trouble.Error()
	case trouble != nil:
		failed := trouble.Error()
		if wait := time.Until(r.reset); wait > 0 && failed.Retry == 0 && failed.Failure.Pauses() {
			failed.Retry = wait
		}
		return failed
	case r.result == nil && !r.spoke && exit != 0:
		return fail(providers.FailConfig, "claude ended with %s before it said anything: %s", program.Exit(end.Exit), program.LastLine(end.Tail))
	case r.result == nil:
		return fail(providers.FailCrashed, "claude ended with %s without a result", program.Exit(end.Exit))
	case exit != 0:
		return fail(providers.FailCrashed, "claude gave a result and then ended with %s", program.Exit(end.Exit))
	}
	return nil
}
