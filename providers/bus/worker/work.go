package worker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"arbiter/amp"
	"arbiter/providers"
	"arbiter/providers/bus"
)

// maxRuns is how often a turn runs that is interrupted each time.
const maxRuns = 5

// work brings a job as far as it comes: to an answer, and to the coordinator.
func (w *Worker) work(ctx context.Context, t *task) {
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		t.live, t.stop, t.tell = false, nil, nil
		if ctx.Err() == nil && (t.State == Taken || t.State == Answered) { // it came again meanwhile
			w.begin(ctx, t)
		} else if t.State == Withdrawn {
			w.look() // the task may have ended with it
		}
	}()
	w.mu.Lock()
	state := t.State
	w.mu.Unlock()
	if state == Taken {
		if err := w.perform(ctx, t); err != nil {
			if !errors.Is(err, errStopped) {
				w.broken(err)
			}
			return
		}
	}
	if err := w.tell(ctx, t); err != nil && !errors.Is(err, errStopped) {
		w.broken(err)
	}
}

// perform runs the turn of a job and keeps its answer. It is errStopped when the worker ends or the request was withdrawn; any other error is
// one of the worker's own disk.
func (w *Worker) perform(ctx context.Context, t *task) error {
	raw, err := w.shelf.request(&t.Job)
	if err != nil {
		return fmt.Errorf("read a request: %w", err)
	}
	o, err := readOrder(raw)
	if err != nil {
		return fmt.Errorf("read a request that was kept: %w", err)
	}
	run, cancel := context.WithCancel(ctx)
	defer cancel()
	w.mu.Lock()
	if t.State != Taken {
		w.mu.Unlock()
		return errStopped
	}
	t.stop, t.why = cancel, ""
	w.mu.Unlock()
	unlock := w.lock("task/" + string(t.Task))
	defer unlock()
	select {
	case w.slots <- struct{}{}:
		defer func() { <-w.slots }()
	case <-run.Done():
		return errStopped
	}
	w.mu.Lock()
	if t.State != Taken {
		w.mu.Unlock()
		return errStopped
	}
	before := t.Run
	t.Run, t.Runs = newRun(), t.Runs+1
	err = w.become(t, Running, "fetches the commits")
	runs := t.Runs
	w.mu.Unlock()
	if err != nil {
		return err
	}
	var answer *Answer
	if runs > maxRuns {
		answer = failed(&providers.TurnError{Failure: providers.FailCrashed, Text: fmt.Sprintf("the worker ended during this turn %d times", maxRuns)})
	} else if answer, err = w.answer(run, t, o, before); err != nil {
		return err
	}
	if run.Err() != nil { // stopped: what it made stays here, pinned
		return errStopped
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if t.State != Running {
		return errStopped
	}
	answer.At = time.Now().UTC()
	t.Answer = answer
	w.cfg.Logger.Info("a turn is over", "task", t.Task, "message", t.MessageID, "answer", answer.Type)
	return w.become(t, Answered, "brings its answer to the coordinator")
}

// answer runs the agent, and says what came of it. The run before is one that was interrupted, if any.
func (w *Worker) answer(ctx context.Context, t *task, o *order, before string) (*Answer, error) {
	name := strings.TrimPrefix(t.Agent, AgentID(w.cfg.Name, ""))
	member, ok := w.member(t.Agent)
	switch role := o.about.Role; {
	case !ok:
		return failed(&providers.TurnError{Failure: providers.FailConfig, Text: "worker " + w.cfg.Name + " does not offer agent " + name + " any more"}), nil
	case role != amp.Executor && role != amp.Reviewer:
		return failed(&providers.TurnError{Failure: providers.FailConfig, Text: "a worker executes and reviews, and plans nothing"}), nil
	case !slices.Contains(member.Roles, role):
		return failed(&providers.TurnError{Failure: providers.FailConfig, Text: fmt.Sprintf("agent %s of worker %s is no %s", name, w.cfg.Name, role)}), nil
	}
	turn := o.turn()
	turn.ID = t.Run
	sum := sha256.Sum256([]byte(turn.Work.Repo))
	turn.Work.Repo = filepath.Join(w.cfg.Home, "repositories", hex.EncodeToString(sum[:8]))
	turn.Home = filepath.Join(w.homes(t.Task), string(turn.Role))
	if err := w.hold(*o.about.Workspace, turn.Work); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(turn.Home, 0o700); err != nil {
		return nil, fmt.Errorf("make the agent's home: %w", err)
	}
	if err := w.fetch(ctx, t, &turn, o.about.Workspace.Repo); err != nil {
		return w.unprepared(ctx, "the commits could not be fetched", err)
	}
	w.drop(ctx, t, &turn, before)
	prepare := w.cfg.Git.Prepare
	if turn.Role == amp.Reviewer {
		prepare = w.cfg.Git.HostReview
	}
	p, err := prepare(ctx, turn.Work, turn.ID)
	if err != nil {
		return w.unprepared(ctx, "the worktree could not be made", err)
	}
	turn.Dir, turn.Env = p.Dir, p.Env
	if turn.Role == amp.Reviewer {
		if err := w.bringDiff(ctx, t, &turn); err != nil {
			return nil, err
		}
	}
	return w.play(ctx, t, member.Agent, &turn, o.about.Asks)
}

func (w *Worker) unprepared(ctx context.Context, what string, err error) (*Answer, error) {
	if ctx.Err() != nil {
		return nil, errStopped
	}
	return failed(&providers.TurnError{Failure: providers.FailCrashed, Text: "on worker " + w.cfg.Name + " " + what + ": " + err.Error()}), nil
}

// fetch brings the commit that the turn starts from into the clone. While the coordinator is not there, or has not asked again since it was
// started, it is waited for. What another clone of this machine has is taken from there.
func (w *Worker) fetch(ctx context.Context, t *task, turn *providers.Turn, asked string) error {
	unlock := w.lock("clone/" + turn.Work.Repo)
	defer unlock()
	file := w.shelf.file(&t.Job, offerFile)
	defer func() { _ = os.Remove(file) }() // it is in the clone, or no good
	if err := os.MkdirAll(filepath.Dir(turn.Work.Repo), 0o700); err != nil {
		return err
	}
	has, have, err := w.cfg.Git.Has(ctx, turn.Work.Repo, turn.Work)
	if err != nil {
		return err
	}
	if own := w.cfg.Clones[asked]; !has && own != "" {
		if err := w.cfg.Git.Seed(ctx, turn.Work.Repo, turn.Work, own); err != nil {
			w.cfg.Logger.Warn("a clone of this machine is of no use", "clone", own, "err", err)
		}
		if has, have, err = w.cfg.Git.Has(ctx, turn.Work.Repo, turn.Work); err != nil {
			return err
		}
	}
	if has {
		return w.cfg.Git.Clone(ctx, turn.Work.Repo, turn.Work, "")
	}
	err = w.persist(ctx, t, "fetch the commits", func() error {
		n, err := w.link(t.Agent).fetch(ctx, t.Agent, t.MessageID, have, file)
		if err == nil {
			w.cfg.Logger.Info("fetched the commits", "task", t.Task, "bytes", n)
		}
		return err
	})
	if err != nil {
		return err
	}
	return w.cfg.Git.Clone(ctx, turn.Work.Repo, turn.Work, file)
}

// persist tries until it is done, refused, or ctx ends, or nobody wanted it for as long as answers are kept.
func (w *Worker) persist(ctx context.Context, t *task, what string, f func() error) error {
	var p patience
	began := time.Now()
	for {
		err := f()
		if err == nil || refused(err) || time.Since(began) > w.cfg.Keep && ctx.Err() == nil {
			return err
		}
		if p.n == 3 {
			w.cfg.Logger.Warn("the coordinator does not take part; it is tried again", "task", t.Task, "to", what, "err", err)
		}
		if !p.wait(ctx, t.wake) {
			return errStopped
		}
	}
}

// play runs the agent in its worktree and packs what it made.
func (w *Worker) play(ctx context.Context, t *task, agent providers.Agent, turn *providers.Turn, asks bool) (*Answer, error) {
	s := w.newTeller(ctx, t, turn.ID, len(turn.Message) > 0)
	w.mu.Lock()
	err := errStopped
	if t.State == Running { // it was not withdrawn while its worktree was made
		t.tell = s
		err = w.become(t, Running, "the agent works")
	}
	w.mu.Unlock()
	if err != nil {
		s.close()
		return nil, err
	}
	if log, err := os.OpenFile(w.shelf.file(&t.Job, logFile), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600); err == nil {
		defer log.Close()
		turn.Log = log
	}
	turn.Ask = func(ctx context.Context, p providers.Permission) providers.Decision {
		if !asks {
			return providers.Decision{Reason: "nobody can be asked for permission: the coordinator is older than this worker"}
		}
		return s.ask(ctx, turn.Dir, p)
	}
	out, err := agent.Run(ctx, *turn, s.heard)
	whole := context.WithoutCancel(ctx)
	var p amp.Parcel
	if err == nil {
		p, err = w.cfg.Git.Pack(whole, turn.Work, turn.ID, w.shelf.file(&t.Job, resultFile))
	}
	check, err := w.judge(whole, t, turn, err)
	if ctx.Err() != nil {
		s.close()
		return nil, errStopped
	}
	if check.Escalate != "" {
		s.heard(providers.Event{Type: providers.EventEscalation, Payload: escalation(t, &check)})
	}
	s.close()
	if err != nil {
		return failedBy(err), nil
	}
	return succeeded(&out, &p), nil
}

// tell brings the answer to the coordinator: first the commits, then the words.
func (w *Worker) tell(ctx context.Context, t *task) error {
	run, cancel := context.WithCancel(ctx)
	defer cancel()
	w.mu.Lock()
	if t.State != Answered {
		w.mu.Unlock()
		return errStopped
	}
	t.stop = cancel
	a, again, turn, over := *t.Answer, t.Again, t.Turn, false
	w.mu.Unlock()
	if p := a.Parcel; p != nil && p.SHA256 != "" {
		err := w.persist(run, t, "bring the commits", func() error {
			err := w.link(t.Agent).upload(run, t.Agent, t.MessageID, w.shelf.file(&t.Job, resultFile), p)
			if over = again && notOpen(err); over {
				return nil // it asked before it had the answer; should it ask anew, that is another turn
			}
			return err
		})
		if errors.Is(err, errStopped) {
			return err
		}
		if err != nil {
			a = *failed(&providers.TurnError{Failure: providers.FailAnswer, Text: "the coordinator refuses the commits: " + err.Error()})
			a.At = time.Now().UTC()
		}
	}
	if over {
		w.mu.Lock()
		defer w.mu.Unlock()
		if t.State != Answered || t.Turn != turn {
			return nil
		}
		w.cfg.Logger.Info("the coordinator has the answer already", "task", t.Task, "message", t.MessageID)
		return w.become(t, Told, "")
	}
	var told string
	err := w.persist(run, t, "tell the answer", func() error {
		w.mu.Lock()
		j := t.Job
		w.mu.Unlock()
		j.Answer, told = &a, j.Turn
		return w.link(t.Agent).send(run, w.final(t, &j))
	})
	if errors.Is(err, errStopped) {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		w.cfg.Logger.Warn("the coordinator refused the answer", "task", t.Task, "err", err)
	} else {
		w.cfg.Logger.Info("told the answer", "task", t.Task, "message", t.MessageID)
	}
	if t.State != Answered {
		return nil
	}
	t.Answer = &a
	if t.Turn != told { // asked again meanwhile
		return w.shelf.save(&t.Job)
	}
	return w.become(t, Told, "")
}

// final is the message that holds the answer.
func (w *Worker) final(t *task, j *Job) *bus.Message {
	m := w.reply(t, j.Answer.Type, answerID(j), j.Answer.Payload)
	m.Sender.SessionID = j.Answer.Session
	if j.Answer.Usage != (usage{}) {
		m.Metadata["usage"] = jsonOf(j.Answer.Usage)
	}
	if j.Answer.Parcel != nil {
		m.Metadata["parcel"] = jsonOf(j.Answer.Parcel)
	}
	if j.Answer.Type == bus.ErrorMessage {
		m.Metadata["retryable"] = amp.Raw("false") // the coordinator decides whether the task is tried again
	}
	return m
}

// escalation is what the coordinator is told of refs in the clone that the agent went for.
func escalation(t *task, c *amp.Check) json.RawMessage {
	return json.RawMessage(jsonOf(map[string]any{
		"severity": amp.Critical, "escalation_type": c.Escalate, "triggered_by": t.Role, "affected_msgs": []string{}, "auto_suspended": true,
		"system_state_snapshot": amp.Snapshot{TaskStatus: amp.Executing},
		"description":           fmt.Sprintf("The agent of %s went for refs that are not its own, in the clone of its worker: %s", t.Task, refuted(c)),
	}))
}
