package coordinator

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"arbiter/amp"
	"arbiter/providers"
	"arbiter/ssot"
)

// heldLog lets appends wait while held.
type heldLog struct {
	ssot.Log
	held chan struct{}
}

func (l *heldLog) Append(ctx context.Context, records []amp.Record) ([]ssot.Appended, error) {
	if l.held != nil {
		<-l.held
	}
	return l.Log.Append(ctx, records)
}

// A turn that was made ready while its coordinator was told to end is not started any more: nothing would stop it, and the end would wait for
// hours. The next coordinator starts it.
func TestHalt_turnMadeReady(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log, ready, speak := &heldLog{}, make(chan struct{}), make(chan struct{})
		r := newRig(t, idleTurn, judges(amp.Approved), func(c *Config) { log.Log, c.Log = c.Log, log })
		r.git.prepare = func() { <-ready }
		id := r.task()
		r.planner.RunFunc = func(ctx context.Context, turn providers.Turn, emit func(providers.Event)) (providers.Outcome, error) {
			<-speak
			emit(providers.Event{Type: providers.EventStarted, PID: 4711})
			return idleTurn(ctx, turn, 1, emit)
		}
		r.submit(amp.Command{Command: amp.Submit, Args: amp.Args{Wish: &amp.Wish{Text: "Another one", Repo: "/repo"}}})
		synctest.Wait()
		log.held = make(chan struct{})
		close(speak)
		synctest.Wait() // the loop is at the store
		close(ready)
		synctest.Wait() // and the turn waits for the loop
		r.cancel()
		synctest.Wait()
		close(log.held)
		select {
		case err := <-r.done:
			r.done <- err
		case <-time.After(time.Minute):
			t.Error("it does not end")
			for _, l := range r.c.live {
				l.interrupt("the test is over")
			}
		}
		r.stop()
		if got := r.get(id); got.Turn != nil || got.Spent.Turns != 1 {
			t.Errorf("%d turns were started, want that of the planner\n%s", got.Spent.Turns, r.story(id))
		}
		log.held = nil
		r.start()
		synctest.Wait()
		if got := r.get(id); got.Turn == nil || got.Turn.Role != amp.Executor {
			t.Errorf("the next coordinator does not start the turn\n%s", r.story(id))
		}
	})
}
