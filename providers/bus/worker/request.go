package worker

import (
	"context"
	"slices"
	"time"

	"arbiter/providers/bus"
)

// take takes a message of the bus. When it returns nil, what the message asks is on disk.
func (w *Worker) take(ctx context.Context, agent string, raw []byte) error {
	o, err := readOrder(raw)
	if err != nil {
		w.cfg.Logger.Warn("a message is not understood", "agent", agent, "err", err)
		return nil
	}
	if o.message.Type != bus.TaskRequest {
		return w.control(agent, o)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	id := o.message.MessageID
	t := w.jobs[key(agent, id)]
	if t == nil {
		t = &task{Job: Job{
			MessageID: id, Agent: agent, Task: o.task, Role: o.about.Role, Turn: o.about.Turn, State: Taken, At: time.Now().UTC(),
		}, wake: make(chan struct{}, 1)}
		if err := w.shelf.put(&t.Job, raw); err != nil {
			return err
		}
		w.jobs[key(agent, id)] = t
		w.cfg.Logger.Info("took a request", "agent", agent, "task", t.Task, "role", t.Role, "message", id)
		w.begin(ctx, t)
		return nil
	}
	return w.again(ctx, t, o, raw)
}

// again takes a request that came before: the same turn of the coordinator has its answer, or gets it; another one is told the same. Only what
// failed, or was withdrawn, runs again, and only for another turn. The lock is held.
func (w *Worker) again(ctx context.Context, t *task, o *order, raw []byte) error {
	another := t.Turn != o.about.Turn
	t.Turn = o.about.Turn
	over := t.State == Withdrawn || t.State == Told && t.Answer.Type == bus.ErrorMessage
	switch {
	case another && over:
		if t.stop != nil {
			t.stop()
		}
		t.Answer, t.Runs, t.Again = nil, 0, false
		if err := w.shelf.put(&t.Job, raw); err != nil {
			return err
		}
		if err := w.become(t, Taken, ""); err != nil {
			return err
		}
		w.cfg.Logger.Info("took a request again", "task", t.Task, "message", t.MessageID)
	case another && t.State == Told:
		t.Again = true
		if err := w.become(t, Answered, "tells its answer again"); err != nil {
			return err
		}
	default:
		if err := w.shelf.save(&t.Job); err != nil {
			return err
		}
		if t.tell != nil && another {
			t.tell.again()
		}
	}
	w.cfg.Logger.Info("a request came again", "task", t.Task, "message", t.MessageID, "state", t.State)
	select {
	case t.wake <- struct{}{}:
	default:
	}
	if t.State == Taken || t.State == Answered {
		w.begin(ctx, t)
	}
	return nil
}

// control takes a word of the coordinator about a request.
func (w *Worker) control(agent string, o *order) error {
	var said struct{ Status string }
	if o.message.Type != bus.StatusUpdate || decode(o.message.Payload, &said) != nil {
		return nil
	}
	var of string
	if err := decode(o.message.Metadata["original_message_id"], &of); err != nil {
		return nil //nolint:nilerr // it names no request
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	t := w.jobs[key(agent, of)]
	if t == nil || t.Turn != o.about.Turn || t.State == Told || t.State == Withdrawn {
		return nil
	}
	switch said.Status {
	case "withdrawn":
		w.cfg.Logger.Info("a request was withdrawn", "task", t.Task, "message", of)
		return w.withdraw(t, "the coordinator withdrew the request")
	case "permission_decided":
		if t.tell != nil {
			t.tell.decided(o.message.Payload)
		}
	}
	return nil
}

// withdraw ends a job that nobody wants any more. The lock is held.
func (w *Worker) withdraw(t *task, why string) error {
	if err := w.become(t, Withdrawn, ""); err != nil {
		return err
	}
	if t.stop != nil {
		t.why = why
		t.stop()
	}
	return nil
}

// begin lets a goroutine work on a job, unless one does. The lock is held.
func (w *Worker) begin(ctx context.Context, t *task) {
	if t.live {
		return
	}
	t.live = true
	w.wg.Go(func() { w.work(ctx, t) })
}

// forget removes jobs that are long over.
func (w *Worker) forget(ctx context.Context) {
	tick := time.NewTicker(10 * time.Minute)
	defer tick.Stop()
	for {
		w.mu.Lock()
		for id, t := range w.jobs {
			if !t.live && slices.Contains([]State{Told, Withdrawn}, t.State) && time.Since(t.At) > w.cfg.Keep {
				if err := w.shelf.drop(&t.Job); err != nil {
					w.cfg.Logger.Warn("an old request stays", "err", err)
				}
				delete(w.jobs, id)
			}
		}
		w.mu.Unlock()
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}
