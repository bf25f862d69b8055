package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"arbiter/amp"
	"arbiter/gitops"
	"arbiter/providers"
	"arbiter/providers/bus"
	"arbiter/server"
)

// TestMain keeps the configuration of whoever runs the tests out of them.
func TestMain(m *testing.M) {
	for _, kv := range os.Environ() {
		if name, _, _ := strings.Cut(kv, "="); strings.HasPrefix(name, "GIT_") {
			os.Unsetenv(name)
		}
	}
	os.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	os.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	os.Exit(m.Run())
}

const (
	self   = "worker://box/coder"
	critic = "worker://box/critic"
)

// rig is a coordinator's side: a repository, a bus with its doors, and a wire between them and the worker that can be cut.
type rig struct {
	t    *testing.T
	log  *slog.Logger
	repo string
	base string
	git  *gitops.Git
	wire *wire
	home string // of the bus

	mu      sync.Mutex
	records []amp.Record
	ended   map[amp.TaskID]bool
	bus     *bus.Bus
	agent   *bus.Agent
	critic  *bus.Agent
	stopBus func()
}

func newRig(t *testing.T) *rig {
	t.Helper()
	top := t.TempDir()
	r := &rig{t: t, repo: filepath.Join(top, "repo"), home: filepath.Join(top, "here"), log: slog.New(slog.NewTextHandler(t.Output(), nil)), ended: map[amp.TaskID]bool{}}
	for _, args := range [][]string{{"init", "-q", "-b", "main", r.repo}, {"-C", r.repo, "commit", "-q", "--allow-empty", "-m", "first"}} {
		r.run(args...)
	}
	r.base = r.run("-C", r.repo, "rev-parse", "HEAD")
	var err error
	if r.git, err = gitops.New(gitops.Options{Home: r.home, Log: r.log}); err != nil {
		t.Fatal(err)
	}
	r.wire = newWire(t)
	r.startBus(nil)
	return r
}

func (r *rig) run(args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.org")
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (r *rig) append(_ context.Context, records []amp.Record) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.records = append(r.records, records...)
	return nil
}

// startBus starts a bus over what the journal holds.
func (r *rig) startBus(change func(*bus.Config)) {
	r.t.Helper()
	state := bus.NewState()
	r.mu.Lock()
	for i := range r.records {
		if err := state.ApplyEntry(&amp.Entry{Seq: uint64(i + 1), Record: r.records[i]}); err != nil {
			r.t.Fatal(err)
		}
	}
	r.mu.Unlock()
	cfg := bus.Config{
		Append: r.append, Open: true, Logger: r.log, Parcels: filepath.Join(r.home, "parcels"),
		Members: map[string]bus.Member{self: {Name: "coder", Repository: true}, "worker://box/other": {Name: "other"}, critic: {Name: "critic", Repository: true}},
	}
	cfg.Ended = func(_ context.Context, spaces []amp.Workspace) (all []amp.TaskID, _ error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, w := range spaces {
			if r.ended[w.TaskID] && w.Repo == r.repo && w.BaseCommit == r.base {
				all = append(all, w.TaskID)
			}
		}
		return all, nil
	}
	if change != nil {
		change(&cfg)
	}
	r.bus = bus.New(cfg, state)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		r.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.t.Context()))
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := r.bus.Run(ctx); err != nil {
			r.t.Error(err)
		}
	})
	wg.Go(func() {
		if err := server.NewBus(server.BusConfig{Bus: r.bus, Logger: r.log}).Serve(ctx, l); err != nil {
			r.t.Error(err)
		}
	})
	for id, made := range map[string]**bus.Agent{self: &r.agent, critic: &r.critic} {
		if *made, err = r.bus.Agent(bus.AgentConfig{Name: id, AgentID: id, Repository: r.git, Limits: providers.Limits{Silence: 10 * time.Minute, Total: time.Hour}}); err != nil {
			r.t.Fatal(err)
		}
	}
	r.stopBus = sync.OnceFunc(func() {
		cancel()
		r.wire.cut()
		wg.Wait()
	})
	r.t.Cleanup(r.stopBus)
	r.wire.to(l.Addr().String())
}

func (r *rig) space(task string) amp.Workspace {
	return amp.Workspace{TaskID: amp.TaskID(task), Repo: r.repo, Branch: "feature/" + strings.ToLower(task), BaseBranch: "main", BaseCommit: r.base}
}

const criterion = "it works"

// turn is a turn of the executor, ready to run.
func (r *rig) turn(w amp.Workspace, id string) providers.Turn {
	r.t.Helper()
	p, err := r.git.Prepare(r.t.Context(), w, id)
	if err != nil {
		r.t.Fatal(err)
	}
	message := fmt.Sprintf(`{"msg_id":"task_dispatch-%s-1719000000000","protocol_version":"AMP/1.0","type":"task_dispatch","from":"coordinator","to":"executor",
		"task_id":%q,"timestamp":"2026-11-22T08:00:00Z","requires_ack":true,"ack_timeout_sec":300,"payload":{"acceptance_criteria":[%q]}}`, w.TaskID, w.TaskID, criterion)
	return providers.Turn{
		ID: id, Task: w.TaskID, Role: amp.Executor, Dir: p.Dir, Home: r.t.TempDir(), Work: w, Message: json.RawMessage(message), Subtask: string(w.TaskID) + "-S1",
	}
}

// ended is how a turn ended.
type ended struct {
	out    providers.Outcome
	err    error
	events []providers.Event
}

// begin runs a turn in the background.
func (r *rig) begin(ctx context.Context, turn providers.Turn) <-chan ended {
	done := make(chan ended, 1)
	agent := r.agent
	if turn.Role == amp.Reviewer {
		agent = r.critic
	}
	go func() {
		var e ended
		e.out, e.err = agent.Run(ctx, turn, func(ev providers.Event) { e.events = append(e.events, ev) })
		done <- e
	}()
	return done
}

func wait[T any](t *testing.T, what string, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(2 * time.Minute):
		t.Fatalf("%s did not happen", what)
		panic(what)
	}
}

// fake is the agent on the worker: a function, and how often it was called.
type fake struct {
	mu   sync.Mutex
	runs int
	do   func(ctx context.Context, n int, turn providers.Turn, emit func(providers.Event)) (providers.Outcome, error)
}

func (f *fake) Run(ctx context.Context, turn providers.Turn, emit func(providers.Event)) (providers.Outcome, error) {
	f.mu.Lock()
	f.runs++
	n := f.runs
	f.mu.Unlock()
	emit(providers.Event{Type: providers.EventStarted, PID: 1})
	emit(providers.Event{Type: providers.EventAck, Ack: &amp.Ack{Status: amp.AckAccepted, EchoedAcceptanceCriteria: []string{criterion}}})
	return f.do(ctx, n, turn, emit)
}

func (f *fake) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.runs
}

// commit writes a file, commits it as an agent does, and leaves another one uncommitted.
func commit(turn *providers.Turn, text string) (string, error) {
	for _, name := range []string{"committed.txt", "left.txt"} {
		if err := os.WriteFile(filepath.Join(turn.Dir, name), []byte(text+"\n"), 0o600); err != nil {
			return "", err
		}
		if name == "left.txt" {
			break
		}
		for _, args := range [][]string{{"add", name}, {"commit", "-q", "-m", "work"}} {
			cmd := exec.Command("git", args...)
			cmd.Dir, cmd.Env = turn.Dir, append(os.Environ(), turn.Env...)
			if out, err := cmd.CombinedOutput(); err != nil {
				return "", fmt.Errorf("git %v: %w: %s", args, err, out)
			}
		}
	}
	cmd := exec.Command("git", "rev-parse", "HEAD")
	cmd.Dir = turn.Dir
	out, err := cmd.Output()
	return strings.TrimSpace(string(out)), err
}

// result is the answer of a turn that made these files.
func result(turn *providers.Turn) providers.Outcome {
	final := fmt.Sprintf(`{"subtask_id":%q,"completion_status":"complete","diff_summary":{"files_changed":["committed.txt","left.txt"],"lines_added":2,"lines_removed":0}}`, turn.Subtask)
	return providers.Outcome{Final: json.RawMessage(final), Session: "session-1", Usage: providers.Usage{Model: "m", Input: 10, Output: 5, Tokens: 15, CostUSD: 0.25}}
}

// place is a worker's home, in which workers come and go.
type place struct {
	r    *rig
	home string
	stop func()
	w    *Worker
	// critic reviews, other is a second executor, git what does the git work in place of the real one; nil is none.
	critic, other providers.Agent

	git func(Git) Git
	// clones are clones of the worker's machine.
	clones map[string]string
}

func (r *rig) place() *place { return &place{r: r, home: filepath.Join(r.t.TempDir(), "there")} }

// start starts a worker.
func (p *place) start(agent providers.Agent) {
	p.r.t.Helper()
	if err := os.MkdirAll(p.home, 0o700); err != nil {
		p.r.t.Fatal(err)
	}
	git, err := gitops.New(gitops.Options{Home: p.home, Log: p.r.log})
	if err != nil {
		p.r.t.Fatal(err)
	}
	cfg := Config{
		URL: "http://" + p.r.wire.addr, Clones: p.clones, Token: "none", Name: "box", Home: p.home, Git: git, Logger: p.r.log.With("at", "worker"),
		Agents: map[string]Member{"coder": {Agent: agent, Roles: []amp.Role{amp.Executor}}},
	}
	if p.critic != nil {
		cfg.Agents["critic"] = Member{Agent: p.critic, Roles: []amp.Role{amp.Reviewer}}
	}
	if p.other != nil {
		cfg.Agents["other"] = Member{Agent: p.other, Roles: []amp.Role{amp.Executor}}
	}
	if p.git != nil {
		cfg.Git = p.git(git)
	}
	p.w, err = New(cfg)
	if err != nil {
		p.r.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(p.r.t.Context()))
	done := make(chan error, 1)
	go func() { done <- p.w.Run(ctx) }()
	p.stop = sync.OnceFunc(func() {
		cancel()
		if err := wait(p.r.t, "the end of the worker", done); err != nil {
			p.r.t.Error(err)
		}
	})
	p.r.t.Cleanup(p.stop)
}

// jobs are what the worker keeps, which is to be one job.
func (p *place) job() *Job {
	p.r.t.Helper()
	all, err := Jobs(p.home)
	if err != nil || len(all) != 1 {
		p.r.t.Fatalf("%d jobs, %v", len(all), err)
	}
	return all[0]
}

// until waits for a state of the one job.
func (p *place) until(s State) {
	p.r.t.Helper()
	p.eventually(func() string {
		if job := p.job(); job.State != s {
			return fmt.Sprintf("the job stays %+v, want it %s", job, s)
		}
		return ""
	})
}

// eventually looks at what the worker's goroutines and the programs that it starts do, until nothing is wrong with it.
func (p *place) eventually(wrong func() string) {
	p.r.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		why := wrong()
		if why == "" {
			return
		}
		if time.Now().After(deadline) {
			p.r.t.Fatal(why)
		}
	}
}

// wire carries connections to whatever listens behind it, until it is cut.
type wire struct {
	addr string

	mu     sync.Mutex
	behind string
	open   map[net.Conn]bool
	// limit, when it is positive, is after how many bytes to the other side a connection breaks.
	limit int64
}

func newWire(t *testing.T) *wire {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{addr: l.Addr().String(), open: map[net.Conn]bool{}}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { w.carry(c) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		w.to("")
		w.cut()
		wg.Wait()
	})
	return w
}

// to says what is behind the wire from now on.
func (w *wire) to(addr string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.behind = addr
}

// breakAfter breaks connections that sent so much.
func (w *wire) breakAfter(n int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.limit = n
}

// cut breaks every connection.
func (w *wire) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.open {
		_ = c.Close()
	}
}

func (w *wire) carry(c net.Conn) {
	defer c.Close()
	w.mu.Lock()
	behind, limit := w.behind, w.limit
	w.mu.Unlock()
	if behind == "" {
		return
	}
	d, err := net.Dial("tcp", behind)
	if err != nil {
		return
	}
	defer d.Close()
	w.mu.Lock()
	if w.behind != behind {
		w.mu.Unlock()
		return
	}
	w.open[c], w.open[d] = true, true
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.open, c)
		delete(w.open, d)
	}()
	var in io.Reader = c
	if limit > 0 {
		in = io.LimitReader(c, limit)
	}
	done := make(chan struct{}, 2)
	go func() { _, _ = io.Copy(d, in); _ = d.Close(); done <- struct{}{} }()
	go func() { _, _ = io.Copy(c, d); _ = c.Close(); done <- struct{}{} }()
	<-done
	<-done
}
