package notify_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"arbiter/amp"
	"arbiter/notify"
	"arbiter/notify/telegramtest"
)

const (
	token  = "123456:SECRET-of-the-bot"
	chatID = int64(-1001)
	mira   = int64(42)
	jan    = int64(43)
	taskID = amp.TaskID("T-2026-001")
)

// journal is a coordinator as far as notifications see one: it judges decisions by the rules of amp and keeps a journal in memory.
type journal struct {
	mu      sync.Mutex
	board   *amp.Board
	entries []amp.Entry
	grown   chan struct{}
	refused []string
	submits int
	// broken lets the next decisions fail before they are stored.
	broken int
}

func newJournal() *journal { return &journal{board: amp.NewBoard(), grown: make(chan struct{})} }

var _ notify.Session = (*journal)(nil)

// add appends an entry.
func (j *journal) add(t testing.TB, kind amp.Kind, id string, role amp.Role, actor string, body []byte) amp.Entry {
	t.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	e, err := j.append(amp.Record{Kind: kind, TaskID: taskID, Role: role, Actor: actor, At: time.Now(), ID: id, Body: body})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func (j *journal) append(r amp.Record) (amp.Entry, error) {
	e := j.board.Head.Chain(r)
	if err := j.board.Apply(e); err != nil {
		return e, err
	}
	j.entries = append(j.entries, e)
	close(j.grown)
	j.grown = make(chan struct{})
	return e, nil
}

func (j *journal) Follow(ctx context.Context, after uint64, batch func([]amp.Entry) error) error {
	for {
		j.mu.Lock()
		more, grown := slices.Clone(j.entries[min(after, uint64(len(j.entries))):]), j.grown
		j.mu.Unlock()
		if len(more) > 0 {
			if err := batch(more); err != nil {
				return err
			}
			after = more[len(more)-1].Seq
			continue
		}
		select {
		case <-grown:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (j *journal) Query(_ context.Context, q amp.Query) (amp.Page, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch q.Kind {
	case amp.QueryBoard:
		b := amp.NewBoard()
		for _, e := range j.entries {
			if err := b.Apply(e); err != nil {
				return amp.Page{}, err
			}
		}
		return amp.Page{Head: b.Head, Board: b}, nil
	case amp.QueryDiff:
		return amp.Page{Diff: &amp.Diff{Files: []amp.DiffFile{{Path: "lib/a.go", Added: 3, Removed: 1}}}}, nil
	case amp.QueryEntries:
		var out []amp.Entry
		for _, e := range slices.Backward(j.entries) {
			if q.Filter.ID != "" && e.ID == q.Filter.ID {
				return amp.Page{Entries: []amp.Entry{e}}, nil
			}
			if q.Filter.ID == "" && e.TaskID == q.Filter.TaskID && e.Seq > q.Filter.After && slices.Contains(q.Filter.Kinds, e.Kind) {
				out = append(out, e)
			}
		}
		return amp.Page{Entries: out}, nil
	default: // the notifications ask for nothing else
	}
	return amp.Page{}, fmt.Errorf("query %s", q.Kind)
}

// Submit judges as the coordinator does: the same id again is the first entry, what is stale is refused.
func (j *journal) Submit(_ context.Context, c amp.Command) (amp.Entry, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.submits++
	if j.broken > 0 {
		j.broken--
		return amp.Entry{}, fmt.Errorf("the disk is full")
	}
	if i := slices.IndexFunc(j.entries, func(e amp.Entry) bool { return e.ID == c.ID }); i >= 0 {
		return j.entries[i], nil
	}
	t := j.board.Task(c.TaskID)
	why := ""
	switch x := c.Expects; {
	case t == nil:
		why = "no such task"
	case x != nil && (x.Status != t.Status || x.Revision != t.Revision):
		why = fmt.Sprintf("decided on revision %d, the task is at %d", x.Revision, t.Revision)
	case c.Command == amp.Approve && t.Plan.RiskLevel == amp.High && !strings.HasSuffix(t.Plan.Hash, c.Args.Digits):
		why = "digits"
	default:
		if err := t.AllowsBy(c.Command, c.By); err != nil {
			why = err.Error()
		}
	}
	if why != "" {
		j.refused = append(j.refused, why)
		return amp.Entry{}, &amp.RefusedError{What: string(c.Command), Problems: []amp.Problem{{Rule: "expects", Message: why}}}
	}
	c.At = time.Now().UTC()
	if c.Args.Undo {
		at := c.At.Add(10 * time.Second)
		c.Args.EffectiveAt = &at
	}
	return j.append(amp.Record{Kind: amp.KindCommand, TaskID: c.TaskID, Role: amp.Admin, Actor: c.By, At: c.At, ID: c.ID, Body: amp.EncodeBody(c)})
}

// commands are the decisions in the journal but for the wish.
func (j *journal) commands(t testing.TB) []amp.Command {
	t.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	var out []amp.Command
	for i := range j.entries {
		if e := &j.entries[i]; e.Kind == amp.KindCommand {
			c, err := amp.DecodeBody[amp.Command](e)
			if err != nil {
				t.Fatal(err)
			}
			if c.Command != amp.Submit {
				out = append(out, c)
			}
		}
	}
	return out
}

// run carries out the decision that waits for the end of its undo time.
func (j *journal) run(t testing.TB, id string) {
	t.Helper()
	j.add(t, amp.KindCheck, "ran-"+id, amp.System, "arbiter", amp.EncodeBody(amp.Check{
		Subject: amp.CheckCommand, TaskID: taskID, For: id, Claims: []amp.Claim{{Name: "expects", Finding: amp.Confirmed}},
	}))
}

// plan proposes a revision of the plan, after the wish when it is the first.
func (j *journal) plan(t testing.TB, risk amp.RiskLevel, revision int, edit ...func(*amp.Plan)) {
	t.Helper()
	if revision == 1 {
		j.add(t, amp.KindCommand, "wish", amp.Admin, "mira", amp.EncodeBody(amp.Command{
			ID: "wish", Command: amp.Submit, By: "mira", At: time.Now(), TaskID: taskID, Args: amp.Args{Wish: &amp.Wish{Text: "Count", Repo: "/r"}},
		}))
	}
	p := amp.Plan{
		TaskID: taskID, Revision: revision, Title: "Count the quantity", Author: "planner", Description: "Make it count.", Repo: "/r", Branch: "feature/x",
		BaseBranch: "main", BaseCommit: strings.Repeat("a", 40), RiskLevel: risk, AcceptanceCriteria: []string{"it counts"},
		Subtasks: []amp.Subtask{{SubtaskID: "T-2026-001-S1", Description: "multiply", EstimatedLines: 4}},
	}
	for _, f := range edit {
		f(&p)
	}
	p.Hash = p.ContentHash()
	j.add(t, amp.KindPlan, fmt.Sprintf("plan-%d", revision), amp.Coordinator, "planner", amp.EncodeBody(p))
}

// logs collects what is logged.
type logs struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// rig is a notifier with a Telegram of its own; it is used inside of a bubble.
type rig struct {
	t    *testing.T
	j    *journal
	tg   *telegramtest.Server
	cfg  notify.Config
	logs *logs
	stop func()
}

// story runs a test in a bubble of its own, on a rig whose data directory is outside of it.
func story(t *testing.T, tell func(t *testing.T, r *rig), change ...func(*notify.Config)) {
	t.Helper()
	home := t.TempDir()
	synctest.Test(t, func(t *testing.T) { tell(t, newRig(t, home, change...)) })
}

func newRig(t *testing.T, home string, edit ...func(*notify.Config)) *rig {
	r := &rig{t: t, j: newJournal(), tg: telegramtest.New(token), logs: &logs{}}
	r.cfg = notify.Config{
		Home: home, Session: r.j, Zone: time.UTC, Logger: slog.New(slog.NewTextHandler(r.logs, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Telegram: &notify.Telegram{
			Token: func() (string, error) { return token, nil }, Chats: []int64{chatID}, People: map[int64]string{mira: "mira", jan: "jan"}, Transport: r.tg,
		},
	}
	for _, f := range edit {
		f(&r.cfg)
	}
	return r
}

// start runs the notifier until stop, or until the test ends.
func (r *rig) start() {
	ctx, cancel := context.WithCancel(r.t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		notify.New(r.cfg).Run(ctx)
	}()
	r.stop = func() {
		synctest.Wait()
		cancel()
		<-done
	}
}

// until waits until a condition holds.
func (r *rig) until(what string, holds func() bool) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 24*time.Hour) // of the bubble
	defer cancel()
	if err := r.tg.Await(ctx, holds); err != nil {
		r.t.Fatalf("%s: %v\n%s\n%s", what, err, r.said(), r.logs)
	}
}

func (r *rig) said() string {
	var b strings.Builder
	for _, m := range r.tg.Messages() {
		fmt.Fprintf(&b, "[%d in %d] %s\n%v\n", m.ID, m.Chat, m.Text, m.Buttons)
	}
	return b.String()
}

// sees waits for a message that holds a text.
func (r *rig) sees(text string) telegramtest.Message {
	r.t.Helper()
	r.until("a message with "+text, func() bool { _, ok := r.tg.Find(chatID, text); return ok })
	synctest.Wait() // until the answer has arrived too: it could be lost with what comes next
	m, _ := r.tg.Find(chatID, text)
	return m
}

// press presses a button and waits until the press was answered.
func (r *rig) press(user int64, label string) string {
	r.t.Helper()
	r.sees(label)
	n := len(r.tg.Answers())
	if err := r.tg.Press(user, chatID, label); err != nil {
		r.t.Fatal(err)
	}
	return r.answered(n)
}

func (r *rig) answered(n int) string {
	r.t.Helper()
	r.until("an answer", func() bool { return len(r.tg.Answers()) > n })
	return r.tg.Answers()[n].Text
}
