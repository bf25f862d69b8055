package coordinator

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"arbiter/amp"
	"arbiter/providers"
)

// liveTurn is a run of an agent in this process.
type liveTurn struct {
	amp.Turn
	cancel context.CancelCauseFunc
	// lease is what it runs under, nil when none is needed.
	lease *tenure
	// why is set by the loop before it stops the turn.
	why atomic.Pointer[string]
	// fenced is set by the loop before it stops a turn of which nothing counts any more. began is the task when it began.
	fenced  atomic.Bool
	began   amp.Task
	started time.Time
	// wrote is when the last progress entry was written, held what came since.
	wrote time.Time
	held  string
	waits waits
}

// waits measures how long a turn waited for answers, however many at once.
type waits struct {
	mu    sync.Mutex
	open  int
	since time.Time
	sum   time.Duration
}

// begin counts one more request that waits, and returns what ends it.
func (w *waits) begin() (end func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.open == 0 {
		w.since = time.Now()
	}
	w.open++
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.open--; w.open == 0 {
			w.sum += time.Since(w.since)
		}
	}
}

func (w *waits) total() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sum
}

// lost reports whether the task is somebody else's by now, or may be.
func (l *liveTurn) lost() bool { return l.lease.lost() }

// current reports whether what the turn says counts on the board of now.
func (l *liveTurn) current(t *amp.Task) bool {
	return t.Turn != nil && t.Turn.TurnID == l.TurnID && l.Epoch == t.Epoch && !l.lost()
}

// stop asks the agent to end; the turn's end is written when it has.
func (l *liveTurn) stop(why string) {
	l.why.CompareAndSwap(nil, &why)
	l.cancel(&providers.StoppedError{Why: why})
}

// interrupt is stop for a coordinator that ends: its successor wants what the turn was for.
func (l *liveTurn) interrupt(why string) {
	l.why.CompareAndSwap(nil, &why)
	l.cancel(nil)
}

// startTurn prepares the folder, writes down that the turn starts, and only then starts the agent.
func (c *Coordinator) startTurn(ctx context.Context, t *amp.Task, role amp.Role, name string, agent AgentConfig, msgID string) {
	ws := t.Workspace()
	turn := providers.Turn{
		ID: c.cfg.NewID(), Task: t.ID, Role: role, Epoch: t.Epoch, Limits: agent.Limits,
		Home: filepath.Join(c.cfg.Home, "homes", string(t.ID), string(role)), Subtask: t.CurrentSubtask().SubtaskID,
	}
	if t.SessionOf[role] == name && t.SessionAt[role] == c.cfg.Owner { // another agent, or another machine, knows nothing of it
		turn.Session = t.Sessions[role]
	}
	if t.Reply != nil && t.Reply.Role == role {
		turn.Reply = t.Reply
	}
	failed := ""
	if t.Attempts > 0 {
		failed = t.LastTurn
	}
	planning := planningContext(t)
	if role == amp.Coordinator {
		ws = amp.Workspace{}
	}
	c.start(ctx, job{key: "turn/" + string(t.ID), slot: true}, t, func(ctx context.Context, lease *tenure) outcome {
		u := amp.Turn{
			TurnID: turn.ID, Event: amp.TurnStarted, TaskID: turn.Task, Role: role, Agent: name, For: msgID,
			Epoch: turn.Epoch, Log: c.logFile(turn.ID), Owner: c.cfg.Owner,
		}
		if lease != nil {
			u.Lease = lease.Epoch
		}
		err := c.prepareTurn(ctx, &ws, &turn, &u, planning)
		if failed != "" {
			turn.Refused = c.faults(ctx, turn.Task, role, failed)
		}
		return outcome{
			run: func(t *amp.Task, now time.Time) []amp.Record {
				if t.Turn != nil || !unanswered(t, role, msgID) || c.halted { // once halted, nobody would stop it
					return nil
				}
				if err != nil {
					return c.gitAlarm(t, now, fmt.Sprintf("The turn of the %s cannot start", role), err)
				}
				return []amp.Record{c.turnEntry(now, role, name, u)}
			},
			after: func() {
				if err == nil && agent.Agent != nil {
					c.launch(u, turn, agent.Agent, ws, lease)
				}
			},
		}
	})
}

// unanswered reports whether a message still waits for the work of a role: an agent without an adapter may have answered it meanwhile.
func unanswered(t *amp.Task, role amp.Role, msgID string) bool {
	open := func(asked, answer *amp.Ref, in ...amp.Status) bool {
		return asked != nil && asked.MsgID == msgID && answer == nil && slices.Contains(in, t.Status)
	}
	switch {
	case t.Blocked() != "":
		return false
	case role == amp.Executor:
		return open(t.Dispatch, t.Result, amp.Dispatched, amp.Executing)
	case role == amp.Reviewer:
		return open(t.Request, t.Verdict, amp.Reviewing)
	}
	return t.Status == amp.Drafting
}

// prepareTurn fills in where the turn works and what it is told. A planner gets a disposable worktree too, at the base of the work to
// come: what it writes there is gone with it. ws then becomes the workspace of that worktree.
func (c *Coordinator) prepareTurn(ctx context.Context, ws *amp.Workspace, turn *providers.Turn, u *amp.Turn, planning func(amp.RepoFacts, string) []byte) error {
	if err := os.MkdirAll(turn.Home, 0o700); err != nil {
		return fmt.Errorf("make the agent's home: %w", err)
	}
	if u.Role == amp.Coordinator {
		w, err := c.wishOf(ctx, turn.Task)
		if err != nil {
			return err
		}
		facts, err := c.cfg.Git.Inspect(ctx, w.Repo, "")
		if err != nil {
			return err
		}
		*ws = planningSpace(turn.Task, facts)
		p, err := c.cfg.Git.OpenReview(ctx, *ws, turn.ID)
		if err != nil {
			return err
		}
		turn.Dir, turn.Env, turn.Work, u.Dir = p.Dir, p.Env, *ws, p.Dir
		turn.Context = []json.RawMessage{planning(facts, c.recall(facts.Root))}
		turn.Chain, err = c.pastChain(ctx, turn.Task)
		return err
	}
	prepare := c.cfg.Git.Prepare
	if u.Role == amp.Reviewer {
		prepare = c.cfg.Git.OpenReview
	}
	p, err := prepare(ctx, *ws, turn.ID)
	if err != nil {
		return err
	}
	turn.Dir, turn.Env, turn.Work, u.Dir, u.Checkpoint = p.Dir, p.Env, *ws, p.Dir, p.Checkpoint
	if err := c.loadMessages(ctx, turn, u.For); err != nil || u.Role != amp.Reviewer {
		return err
	}
	return c.bringDiff(ctx, turn, *ws)
}

// loadMessages gives the agent its message and the ones that it refers to.
func (c *Coordinator) loadMessages(ctx context.Context, turn *providers.Turn, msgID string) error {
	e, err := c.lookUp(ctx, amp.Filter{ID: msgID, Limit: 1})
	if err != nil || len(e) == 0 {
		return fmt.Errorf("read message %s: not in the journal (%v)", msgID, err)
	}
	turn.Message = e[0].Body
	m, _, err := amp.Decode(e[0].Body)
	if err != nil {
		return err
	}
	for _, ref := range m.ContextRef {
		if e, err := c.lookUp(ctx, amp.Filter{ID: ref, Limit: 1}); err == nil && len(e) > 0 {
			turn.Context = append(turn.Context, e[0].Body)
		}
	}
	return nil
}

func (c *Coordinator) logFile(turnID string) string {
	return filepath.Join(c.cfg.Home, "turns", turnID+".log")
}

// launch runs the agent in a goroutine of its own. Everything that it says goes through the inbox.
func (c *Coordinator) launch(u amp.Turn, turn providers.Turn, agent providers.Agent, ws amp.Workspace, lease *tenure) {
	ctx, cancel := context.WithCancelCause(c.base(lease))
	l := &liveTurn{Turn: u, cancel: cancel, started: c.now(), lease: lease, began: *c.board.Task(u.TaskID)}
	c.live[u.TurnID] = l
	c.beside.spawn(func() {
		defer cancel(nil)
		if f, err := openLog(u.Log); err == nil {
			defer f.Close()
			turn.Log = f
		} else {
			c.cfg.Logger.Error("the turn has no log", "turn", u.TurnID, "err", err)
		}
		turn.Ask = func(asking context.Context, p providers.Permission) providers.Decision {
			return c.permit(asking, ctx, l, p)
		}
		out, err := agent.Run(ctx, turn, func(ev providers.Event) {
			c.report(request{task: u.TaskID, lease: lease, run: func(now time.Time) ([]amp.Record, error) { return c.heard(l, ev, now), nil }})
		})
		end := c.examine(ctx, l, ws, out, err)
		c.report(request{task: u.TaskID, lease: lease, run: func(now time.Time) ([]amp.Record, error) {
			delete(c.live, u.TurnID)
			c.wake(u.TaskID)
			return c.ended(l, end, now), nil
		}})
	})
}

func openLog(name string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return nil, err
	}
	return os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
}

// heard takes in what a running agent says.
func (c *Coordinator) heard(l *liveTurn, ev providers.Event, now time.Time) []amp.Record {
	t := c.board.Task(l.TaskID)
	current := l.current(t)
	progress := func(text string) []amp.Record {
		l.wrote, l.held = now, ""
		return []amp.Record{c.turnEntry(now, l.Role, l.Agent, amp.Turn{
			TurnID: l.TurnID, Event: amp.TurnProgress, TaskID: l.TaskID, Role: l.Role, Agent: l.Agent, Epoch: l.Epoch, PID: l.PID,
			Session: ev.Session, Text: text,
		})}
	}
	if l.lost() && (ev.Type == providers.EventStarted || ev.Type == providers.EventProgress) {
		return nil
	}
	switch ev.Type {
	case providers.EventStarted:
		l.PID = ev.PID
		return progress("started")
	case providers.EventProgress:
		if ev.Session == "" && now.Sub(l.wrote) < c.cfg.ProgressEvery {
			l.held = ev.Text
			return nil
		}
		return progress(ev.Text)
	case providers.EventAck:
		if l.For == "" { // a planning turn answers no message
			return nil
		}
		a := *ev.Ack
		a.AckFor, a.TaskID, a.By, a.AckedAt = l.For, l.TaskID, l.Role, now.UTC()
		raw := amp.EncodeBody(a)
		if !current {
			return []amp.Record{c.late(l, "ack", raw, now)}
		}
		records, _, _ := c.takeAck(t, &a, raw, l.Agent, now)
		return records
	case providers.EventEscalation:
		if !current {
			return []amp.Record{c.late(l, "escalation", ev.Payload, now)}
		}
		return c.takeEscalation(t, l, ev.Payload, now)
	case providers.EventChain:
		if !current {
			return []amp.Record{c.late(l, "chain", ev.Payload, now)}
		}
		return c.heardChain(t, l, ev.Payload, now)
	}
	return nil
}

// late keeps what a fenced turn said; nothing acts on it (AMP-174).
func (c *Coordinator) late(l *liveTurn, what string, raw []byte, now time.Time) amp.Record {
	why := fmt.Sprintf("a report of epoch %d, which is fenced: kept, not acted on", l.Epoch)
	if l.lost() {
		why = fmt.Sprintf("a report of lease %d of %s, which was lost: kept, not acted on", l.Lease, l.Owner)
	}
	return c.refuse(now, l.Role, l.Agent, amp.Refusal{
		What: what, TaskID: l.TaskID, Source: "turn " + l.TurnID, Raw: raw,
		Turn: l.TurnID, Epoch: l.Epoch, Problems: []amp.Problem{{Rule: amp.RuleEpoch, Message: why}},
	})
}
