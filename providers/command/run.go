package command

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"arbiter/amp"
	"arbiter/providers"
	"arbiter/providers/sandbox"
)

// run is one turn of the program. Only play and what it calls touch its fields.
type run struct {
	turn    *providers.Turn
	emit    func(providers.Event)
	process *sandbox.Process
	limits  providers.Limits
	auto    bool

	capture *capture
	outcome providers.Outcome
	acked   *amp.Ack
	hint    string // what was wrong with the program's last bad line
	failed  *providers.TurnError
}

// ended is the result of ending the process.
type ended struct {
	exit int
	err  error
}

// play follows the program to its end and proves that nothing of it is left.
func (r *run) play(ctx context.Context) (providers.Outcome, error) {
	r.capture = newCapture(r.turn.Log, r.limits.Output)
	lines, quiet := make(chan []byte), make(chan struct{})
	go r.capture.lines(r.process.Stdout(), lines)
	go func() { defer close(quiet); r.capture.errors(r.process.Stderr()) }()

	r.emit(providers.Event{Type: providers.EventStarted, PID: r.process.PID(), Session: r.turn.Session})
	lines = r.follow(ctx, lines)

	// The output is read on while the program is being ended: it may still have its answer to write, and must not be held up.
	stopped := make(chan ended, 1)
	go func() {
		exit, err := r.process.Stop(r.limits.Grace)
		stopped <- ended{exit, err}
	}()
	for raw := range lines {
		r.take(raw)
	}
	<-quiet
	end := <-stopped
	r.acknowledge()
	if r.capture.logErr != nil {
		r.emit(providers.Event{Type: providers.EventProgress, Text: fmt.Sprintf("the log of this turn is incomplete: %v", r.capture.logErr)})
	}
	return r.conclude(end)
}

// follow handles lines until the program has ended or must be ended. It returns the channel to read on.
func (r *run) follow(ctx context.Context, lines chan []byte) chan []byte {
	total := time.NewTimer(r.limits.Total)
	defer total.Stop()
	silence := time.NewTimer(r.limits.Silence)
	defer silence.Stop()
	var taken <-chan time.Time
	if r.auto {
		ticker := time.NewTicker(20 * time.Millisecond)
		defer ticker.Stop()
		taken = ticker.C
	}
	open := lines
	for r.failed == nil {
		select {
		case raw, ok := <-open:
			if !ok {
				open = nil // the program may go on without its output
				continue
			}
			r.take(raw)
		case <-r.process.Exited():
			return lines
		case <-taken:
			if r.acknowledge(); r.acked != nil {
				taken = nil
			}
		case <-r.capture.over:
			r.fail(providers.FailOutput, "it wrote more than %d bytes", r.limits.Output)
		case <-ctx.Done():
			r.fail(providers.FailKilled, "it was stopped: %v", context.Cause(ctx))
		case <-total.C:
			r.fail(providers.FailTotal, "it ran longer than %s", r.limits.Total)
		case <-silence.C:
			if left := r.limits.Silence - r.capture.idle(); left > 0 {
				silence.Reset(left)
				continue
			}
			r.fail(providers.FailSilent, "it wrote nothing for %s", r.limits.Silence)
		}
	}
	return lines
}

// fail records why the turn fails; the first reason stays.
func (r *run) fail(f providers.Failure, format string, args ...any) {
	if r.failed == nil {
		r.failed = &providers.TurnError{Failure: f, Text: fmt.Sprintf(format, args...)}
	}
}

// acknowledge takes the message on in the program's place once it has read it all.
func (r *run) acknowledge() {
	if !r.auto || r.acked != nil || !r.process.StdinTaken() {
		return
	}
	r.acked = &amp.Ack{Status: amp.AckAccepted, EchoedAcceptanceCriteria: criteria(r.turn.Message)}
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
		r.emit(providers.Event{Type: providers.EventProgress, Text: "session " + plain([]byte(l.text)), Session: l.text})
	case isEscalation:
		r.emit(providers.Event{Type: providers.EventEscalation, Payload: l.payload})
	case isUsage:
		r.outcome.Tokens += l.tokens
		r.outcome.CostUSD += l.cost
	case isFinal:
		if r.outcome.Final != nil {
			r.fail(providers.FailOutput, "it gave two final answers")
		}
		r.outcome.Final = l.payload
	case isEmpty, isUnknown:
	default:
		panic("command: unreachable event " + string(l.event))
	}
	r.capture.touch()
}

// takeAck passes the first ack on, when it comes before the answer. With automatic acks the program's own do not count.
func (r *run) takeAck(ack *amp.Ack) {
	switch {
	case r.auto || r.turn.Message == nil:
	case r.acked != nil:
		r.progress("not understood: a second ack")
	case r.outcome.Final != nil:
		r.progress("not understood: an ack after the final answer")
	default:
		r.acked = ack
		r.emit(providers.Event{Type: providers.EventAck, Ack: ack})
	}
}

func (r *run) progress(text string) {
	r.emit(providers.Event{Type: providers.EventProgress, Text: text})
}

// conclude says how the turn ended.
func (r *run) conclude(end ended) (providers.Outcome, error) {
	if end.exit >= 0 {
		r.outcome.Exit = &end.exit
	}
	if r.failed == nil {
		select {
		case <-r.capture.over:
			r.fail(providers.FailOutput, "it wrote more than %d bytes", r.limits.Output)
		default:
			r.judge(end.exit)
		}
	}
	var err error
	if r.failed != nil {
		r.failed.Tail = r.capture.end()
		r.failed.Exit = r.outcome.Exit
		err = r.failed
	}
	if left, ok := errors.AsType[*sandbox.LeftError](end.err); ok {
		err = &providers.UnprovenError{PIDs: left.PIDs, Err: errors.Join(err, left)}
	}
	if err != nil {
		r.outcome.Final = nil
	}
	return r.outcome, err
}

// judge looks at a program that ended by itself: well is exit code 0 after one final answer.
func (r *run) judge(exit int) {
	refused := r.acked != nil && r.acked.Status == amp.AckRefused
	switch {
	case r.outcome.Final != nil && exit == 0:
	case r.outcome.Final != nil:
		r.fail(providers.FailCrashed, "it gave a final answer and then ended with %s", exitText(exit))
	case refused:
		r.fail(providers.FailRefused, "it refused the message: %s", r.acked.Reason)
	case r.hint != "":
		r.fail(providers.FailCrashed, "it ended with %s without a final answer; its last bad line: %s", exitText(exit), r.hint)
	default:
		r.fail(providers.FailCrashed, "it ended with %s without a final answer", exitText(exit))
	}
}

// exitText is an exit code in words. Codes over 128 are signals by convention.
func exitText(exit int) string {
	if exit > 128 && exit < 128+65 {
		return fmt.Sprintf("exit code %d (signal %d)", exit, exit-128)
	}
	return "exit code " + strconv.Itoa(exit)
}
