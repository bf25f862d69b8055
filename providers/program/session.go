package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"arbiter/providers"
	"arbiter/providers/sandbox"
)

// beat is how often Tick is called.
const beat = 20 * time.Millisecond

// Session is one run of a program. Line, Tick, Interrupt and the functions given to Ask are called from the goroutine of Run.
type Session struct {
	Process *sandbox.Process
	// Cage, when it is not nil, is what the program runs in: the turn fails when it lets nothing more through to the model, and the log
	// says what went there.
	Cage *sandbox.Cage
	// Limits has no zero field, see [Defaults].
	Limits providers.Limits
	// Log receives the raw output, when it is not nil.
	Log io.Writer
	// Line takes one line of standard output, its newline included where there was one. The program waits for nothing meanwhile.
	Line func(raw []byte)
	// Tick, when it is not nil, is called about fifty times a second until it reports true.
	Tick func() (done bool)
	// Interrupt, when it is not nil, asks the program in its own words to end, before it is ended. Line takes what it says to that, and
	// calls [Session.Done] when that is all.
	Interrupt func()

	capture *capture
	failed  *providers.TurnError
	done    bool
	asked   context.Context // of the requests; it ends when nobody waits for their answers any more
	answers chan func()
	asking  sync.WaitGroup
	open    int           // requests that wait for an answer
	since   time.Time     // since when any is open
	waited  time.Duration // how long requests were open before that
}

// End is how a run ended.
type End struct {
	// Exit is the exit code, nil when the program could not be ended.
	Exit *int
	// Failed is why the turn fails as far as this package can tell: a limit, the context, or what [Session.Fail] said. The tail of
	// standard error and the exit code are filled in. An exit code other than 0 alone is no failure.
	Failed *providers.TurnError
	// Tail is the end of standard error.
	Tail string
	// LogErr says why the log is incomplete.
	LogErr error
	// Left are processes that may still run; the turn must then end with an [*providers.UnprovenError], see [End.Err].
	Left *sandbox.LeftError
}

// Defaults are the limits of a turn, and those of the agent where the turn has none, and then 10 minutes of silence, 60 minutes in
// all, 5 seconds of grace and 64 MiB of output.
func Defaults(turn, agent providers.Limits) providers.Limits {
	return fill(fill(turn, agent), providers.Limits{Silence: 10 * time.Minute, Total: time.Hour, Grace: 5 * time.Second, Output: 64 << 20})
}

func fill(l, fallback providers.Limits) providers.Limits {
	if l.Silence == 0 {
		l.Silence = fallback.Silence
	}
	if l.Total == 0 {
		l.Total = fallback.Total
	}
	if l.Grace == 0 {
		l.Grace = fallback.Grace
	}
	if l.Output == 0 {
		l.Output = fallback.Output
	}
	return l
}

// Run follows the program to its end, or ends it: when ctx ends, a limit is reached, or Line called [Session.Done] or [Session.Fail].
// It returns when no process is left, or says which may be.
func (s *Session) Run(ctx context.Context) End {
	s.capture = newCapture(s.Log, s.Limits.Output)
	s.answers = make(chan func())
	lines, quiet := make(chan []byte), make(chan struct{})
	go s.capture.lines(s.Process.Stdout(), lines)
	go func() { defer close(quiet); s.capture.errors(s.Process.Stderr()) }()

	if s.Cage != nil && s.Log != nil {
		s.Cage.Log(noteWriter{s.capture})
	}
	asked, forget := context.WithCancel(ctx)
	s.asked = asked
	s.follow(asked, lines)
	forget()
	grace := s.Limits.Grace
	if s.failed == nil || s.Interrupt != nil {
		grace = s.farewell(lines)
	}
	go func() { s.asking.Wait(); close(s.answers) }()

	// The output is read on while the program is being ended: it may still have its answer to write, and must not be held up.
	type ended struct {
		exit int
		err  error
	}
	stopped := make(chan ended, 1)
	go func() {
		exit, err := s.Process.Stop(grace)
		stopped <- ended{exit, err}
	}()
	for raw := range lines {
		s.Line(raw)
	}
	for range s.answers { // an answer that comes after the end is not heard
	}
	<-quiet
	end := <-stopped
	out := End{Failed: s.failed, Tail: s.capture.end(), LogErr: s.capture.logErr}
	if end.exit >= 0 {
		out.Exit = &end.exit
	}
	if out.Failed == nil {
		select {
		case <-s.capture.over:
			s.overflow()
			out.Failed = s.failed
		default:
		}
	}
	if out.Failed != nil {
		out.Failed.Tail, out.Failed.Exit = out.Tail, out.Exit
	}
	out.Left, _ = errors.AsType[*sandbox.LeftError](end.err)
	return out
}

// follow handles lines until the program has ended or must be ended.
func (s *Session) follow(ctx context.Context, lines chan []byte) {
	total := time.NewTimer(s.Limits.Total)
	defer total.Stop()
	silence := time.NewTimer(s.Limits.Silence)
	defer silence.Stop()
	var tick <-chan time.Time
	if s.Tick != nil {
		ticker := time.NewTicker(beat)
		defer ticker.Stop()
		tick = ticker.C
	}
	var ended, full <-chan struct{}
	if s.Cage != nil {
		ended, full = s.Cage.Ended(), s.Cage.Full()
	}
	began := time.Now()
	for s.failed == nil && !s.done {
		select {
		case raw, ok := <-lines:
			if !ok {
				lines = nil // the program may go on without its output
				continue
			}
			s.Line(raw)
			s.capture.touch()
		case <-s.Process.Exited():
			return
		case <-tick:
			if s.Tick() {
				tick = nil
			}
		case answer := <-s.answers:
			answer()
			s.capture.touch()
		case <-s.capture.over:
			s.overflow()
		case <-ended:
			s.Fail(providers.FailQuota, "%v", s.Cage.Stopped())
		case <-full:
			s.Fail(providers.FailOutput, "it was ended, since %v", s.Cage.Filled())
		case <-ctx.Done():
			s.Fail(providers.FailKilled, "it was stopped: %v", context.Cause(ctx))
		case <-total.C:
			if left := s.Limits.Total - time.Since(began) + s.waiting(); left > 0 || s.open > 0 {
				total.Reset(max(left, time.Second))
				continue
			}
			s.Fail(providers.FailTotal, "it ran longer than %s", s.Limits.Total)
		case <-silence.C:
			if left := s.Limits.Silence - s.capture.idle(); left > 0 || s.open > 0 {
				silence.Reset(max(left, time.Second))
				continue
			}
			s.Fail(providers.FailSilent, "it wrote nothing for %s", s.Limits.Silence)
		}
	}
}

// farewell lets the program end by itself: half of the grace after it was interrupted or has the end of its standard input. It returns what is
// left of the grace.
func (s *Session) farewell(lines <-chan []byte) time.Duration {
	began, half := time.Now(), s.Limits.Grace/2
	if s.failed != nil {
		s.done = false
		s.Interrupt()
	}
	over := time.NewTimer(half)
	defer over.Stop()
	closed := false
	for {
		if s.done && !closed {
			closed = true
			s.Process.CloseInput()
		}
		select {
		case raw, ok := <-lines:
			if !ok {
				lines = nil
				continue
			}
			s.Line(raw)
		case <-s.answers: // nobody waits for it any more
		case <-s.capture.over:
			return s.Limits.Grace
		case <-s.Process.Exited():
			return s.Limits.Grace
		case <-over.C:
			return max(s.Limits.Grace-time.Since(began), half)
		}
	}
}

func (s *Session) overflow() {
	s.Fail(providers.FailOutput, "it wrote more than %d bytes", s.Limits.Output)
}

// waiting is how long requests were open in all.
func (s *Session) waiting() time.Duration {
	if s.open > 0 {
		return s.waited + time.Since(s.since)
	}
	return s.waited
}

// Fail ends the turn with a failure of a class; the first one stays. To be called from Line, Tick and answers.
func (s *Session) Fail(f providers.Failure, format string, args ...any) {
	s.FailWith(&providers.TurnError{Failure: f, Text: fmt.Sprintf(format, args...)})
}

// FailWith is Fail with an error of the adapter's own.
func (s *Session) FailWith(err *providers.TurnError) {
	if s.failed == nil {
		s.failed = err
	}
}

// Done ends the program: the adapter has what it wants. The end of standard input comes first, then the grace.
func (s *Session) Done() { s.done = true }

// Ask puts a request to the turn's Ask without holding up the program's output, and gives the decision to then, unless the program is ended
// before. Both clocks stand while a request is open. Without an Ask the answer is no. To be called from Line; forget ends the request: it was
// taken back, and its decision may still come.
func (s *Session) Ask(turn *providers.Turn, p providers.Permission, then func(providers.Decision)) (forget func()) {
	if s.asked.Err() != nil {
		return func() {}
	}
	if turn.Ask == nil {
		then(providers.Decision{Reason: "nobody can be asked in this turn"})
		return func() {}
	}
	if s.open == 0 {
		s.since = time.Now()
	}
	s.open++
	ctx, forget := context.WithCancel(s.asked)
	s.asking.Go(func() {
		defer forget()
		d := turn.Ask(ctx, p)
		s.answers <- func() {
			s.open--
			if s.open == 0 {
				s.waited += time.Since(s.since)
			}
			then(d)
		}
	})
	return forget
}

// Err is the error of a turn that ended so, nil when it did not fail: failed, or that something is left.
func (e End) Err(failed *providers.TurnError) error {
	var err error
	if failed != nil {
		err = failed
	}
	if e.Left != nil {
		return &providers.UnprovenError{PIDs: e.Left.PIDs, Err: errors.Join(err, e.Left)}
	}
	return err
}

// Reap ends what a lost turn left, see [providers.Reaper].
func Reap(turnID string) error {
	_, err := sandbox.KillOrphans(turnID)
	if left, ok := errors.AsType[*sandbox.LeftError](err); ok {
		return &providers.UnprovenError{PIDs: left.PIDs, Err: left}
	}
	return err
}
