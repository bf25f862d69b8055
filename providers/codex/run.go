package codex

import (
	"context"
	"fmt"
	"strings"

	"arbiter/providers"
	"arbiter/providers/brief"
	"arbiter/providers/program"
	"arbiter/providers/sandbox"
)

// completed is the status of a turn that ended well.
const completed = "completed"

// run is one turn of codex. Only the session's goroutine touches its fields.
type run struct {
	agent  *Agent
	turn   *providers.Turn
	prompt providers.Prompt
	emit   func(providers.Event)
	home   string

	session *program.Session
	resume  string // the thread to continue
	thread  string
	turnID  string // codex's name of the turn
	acked   bool
	spoke   bool // the program wrote an event
	ended   bool // the terminal event came
	answer  string
	model   string
	base    usage // what the thread took before this turn
	based   bool  // base is known
	total   usage
	trouble *program.Trouble
	again   bool // the turn is to be run once more; lost says that it is without the thread
	lost    bool

	open map[string]item   // items that codex works on, by id
	asks map[string]func() // open requests, by id as written: how to forget them
	told int               // how many requests beyond the numbered ones we sent
}

// play follows the program to its end and proves that nothing of it is left.
func (r *run) play(ctx context.Context, cage *sandbox.Cage) (providers.Outcome, error) {
	spec := sandbox.Spec{Argv: []string{"app-server"}, Talk: true}
	line := r.heard
	if r.agent.config.Mode == ModeExec {
		spec, line = sandbox.Spec{Argv: r.execArgs(), Stdin: r.execInput()}, r.heardExec
	}
	spec.Env = []string{keyVar + "=" + sandbox.PlaceholderKey, "CODEX_HOME=" + r.home}
	p, err := r.agent.config.Start(ctx, cage, r.turn, spec)
	if err != nil {
		return providers.Outcome{}, program.NotStarted(ctx, err)
	}
	r.open, r.asks = map[string]item{}, map[string]func(){}
	r.session = &program.Session{Process: p, Cage: cage, Limits: program.Defaults(r.turn.Limits, r.agent.config.Limits), Log: r.turn.Log, Line: line}
	r.emit(providers.Event{Type: providers.EventStarted, PID: p.PID(), Session: r.turn.Session})
	if spec.Talk {
		r.session.Interrupt = r.interrupt
		r.greet()
	}
	end := r.session.Run(ctx)
	if end.LogErr != nil {
		r.progress(fmt.Sprintf("the log of this turn is incomplete: %v", end.LogErr))
	}
	return r.conclude(end)
}

func (r *run) progress(text string) {
	if text != "" {
		r.emit(providers.Event{Type: providers.EventProgress, Text: text})
	}
}

// named takes note of the thread and says it: a later turn may continue it.
func (r *run) named(thread string) {
	if thread == "" || thread == r.thread {
		return
	}
	r.thread = thread
	r.emit(providers.Event{Type: providers.EventProgress, Text: "session " + program.Short([]byte(thread), shortText), Session: thread})
}

// accept acknowledges the message: codex has it and began.
func (r *run) accept() {
	if r.acked {
		return
	}
	r.acked = true
	if ack := brief.Accept(r.turn); ack != nil {
		r.emit(providers.Event{Type: providers.EventAck, Ack: ack})
	}
}

// common handles what both modes say alike.
func (r *run) common(e *event) {
	r.spoke = r.spoke || e.kind != isText
	switch e.kind {
	case isText:
		r.progress(e.text)
	case isTurn:
		r.accept()
	case isStarted:
		r.progress(e.item.begins())
	case isItem:
		if e.item.what == aMessage {
			r.answer = e.item.text
		}
		r.progress(e.item.ends())
	case isWarning:
		r.progress("warning: " + e.text)
	case isRetry:
		if e.trouble != nil {
			r.progress("tries again: " + program.Short([]byte(e.trouble.Words), shortText))
		}
	case isEnd:
		if r.ended {
			r.session.Fail(providers.FailOutput, "it ended its turn twice")
		}
		r.ended, r.trouble = true, e.trouble
		if e.status != completed && r.trouble == nil {
			r.trouble = &program.Trouble{Words: "the turn ended with status " + program.Short([]byte(e.status), shortText)}
		}
	case isUnknown, isReply, isRequest, isResolved, isThread, isUsage:
	default:
		panic("codex: unreachable event " + string(e.kind))
	}
}

// spent is what the turn took so far.
func (r *run) spent() providers.Usage {
	if r.total == (usage{}) {
		return providers.Usage{Model: r.modelName()}
	}
	return r.total.minus(r.base).of(r.modelName())
}

func (r *run) modelName() string {
	if r.model != "" {
		return r.model
	}
	return r.agent.config.Model
}

// conclude says how the turn ended.
func (r *run) conclude(end program.End) (providers.Outcome, error) {
	out := providers.Outcome{Exit: end.Exit, Session: r.thread, Usage: r.spent()}
	if r.agent.config.Mode == ModeExec {
		out.Session = sessionText(r.thread, r.total)
	}
	failed := end.Failed
	if failed == nil {
		failed = r.judge(end)
	}
	if failed == nil {
		failed = brief.ReadSubmitted(r.turn, r.agent.config.Tools, r.answer, &out, r.emit)
	}
	if failed != nil {
		failed.Tail, failed.Exit, failed.Usage = end.Tail, end.Exit, out.Usage
		out.Final, out.Question, out.Text = nil, "", ""
	}
	return out, end.Err(failed)
}

// judge looks at a program that was not ended for a reason of ours: well is a completed turn with a message, and an end that is no crash.
func (r *run) judge(end program.End) *providers.TurnError {
	exit := 0
	if end.Exit != nil && *end.Exit < 128 { // a signal is our way to end a server that stays
		exit = *end.Exit
	}
	fail := func(f providers.Failure, format string, args ...any) *providers.TurnError {
		return &providers.TurnError{Failure: f, Text: fmt.Sprintf(format, args...)}
	}
	words := program.LastLine(end.Tail)
	switch {
	case r.trouble != nil && len(r.prompt.Schema) > 0 && r.trouble.BadSchema():
		r.agent.refused.Store(string(r.prompt.Schema), true)
		r.prompt.Schema, r.again = nil, true
		r.progress("the model's service does not take the schema of the answer: it is asked for in words alone")
		return r.trouble.Error()
	case r.trouble != nil:
		return r.trouble.Error()
	case !r.ended && !r.spoke && r.resume != "" && strings.Contains(end.Tail, "no rollout found"):
		r.progress("session " + r.resume + " is not known any more: a new one begins")
		r.again, r.lost = true, true
		return fail(providers.FailConfig, "its session is not known any more")
	case !r.ended && !r.spoke && exit != 0:
		return fail(providers.FailConfig, "codex ended with %s before it said anything: %s", program.Exit(end.Exit), words)
	case !r.ended:
		return fail(providers.FailCrashed, "codex ended with %s before its turn was over", program.Exit(end.Exit))
	case exit != 0:
		return fail(providers.FailCrashed, "codex completed its turn and then ended with %s", program.Exit(end.Exit))
	}
	return nil
}
