package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"arbiter/amp"
	"arbiter/providers"
)

// Git is the git work of a worker, in clones of its own.
type Git interface {
	// Has reports whether a clone has the commit that work in w starts from, and commits that it had before.
	Has(ctx context.Context, dir string, w amp.Workspace) (has bool, have []string, err error)
	// Seed brings the commits of another clone on this machine into the clone, which is made when it is not there.
	Seed(ctx context.Context, dir string, w amp.Workspace, from string) error
	// Clone makes the clone, or brings the commits of a bundle into it.
	Clone(ctx context.Context, dir string, w amp.Workspace, bundle string) error
	// Prepare makes the worktree ready for a turn, Verify judges what a turn did to refs and pins what a failed one left.
	Prepare(ctx context.Context, w amp.Workspace, turnID string) (amp.Prepared, error)
	Verify(ctx context.Context, w amp.Workspace, turnID string, result *amp.Result, msgID string) (amp.Check, error)
	// HostReview makes a disposable worktree at the commit that is reviewed, CloseReview judges what the turn did to refs and removes it.
	HostReview(ctx context.Context, w amp.Workspace, turnID string) (amp.Prepared, error)
	CloseReview(ctx context.Context, w amp.Workspace, turnID string, v *amp.Verdict) (amp.Check, error)
	// HostRelease removes what a task that has ended left in its clone, and these folders of it; what no branch holds is pinned first.
	HostRelease(ctx context.Context, w amp.Workspace, folders ...string) (amp.Check, error)
	// Pack writes what a turn made as a bundle.
	Pack(ctx context.Context, w amp.Workspace, turnID, file string) (amp.Parcel, error)
}

// Member is an agent that the worker offers.
type Member struct {
	Agent providers.Agent
	// Roles are executor, reviewer, or both: which of them it is asked for is for its token to say.
	Roles []amp.Role
	// Token is its own token, empty for the worker's.
	Token string
}

// Config is what a worker needs. Zero numbers take the defaults in the comments.
type Config struct {
	// URL is the address of the bus, http:// or https://, Token that of every agent without one of its own.
	URL, Token string
	// Name is the worker's: its agents are worker://Name/agent.
	Name string
	// Home is the worker's folder, which it does not share.
	Home   string
	Agents map[string]Member
	// Clones are clones of this machine by the name that the coordinator has for their repository: their commits need not be sent.
	Clones map[string]string
	// Slots is how many turns run at once (2).
	Slots int
	Git   Git
	// HTTP makes the connections; nil is a plain client.
	HTTP *http.Client
	// Beat is the time between heartbeats (30 s), Keep how long an answer is kept after it was told (24 h).
	Beat, Keep time.Duration
	// Tidy is how often the coordinator is asked which tasks have ended (5 min), besides each time that an agent connects.
	Tidy    time.Duration
	Version string
	Logger  *slog.Logger
}

// AgentID is the id of an agent on the bus.
func AgentID(worker, agent string) string { return "worker://" + worker + "/" + agent }

// Worker offers agents on a bus and runs what they are asked.
type Worker struct {
	cfg   Config
	http  *http.Client
	shelf shelf
	slots chan struct{}
	// fatal ends the worker: its disk cannot be written.
	fatal chan error
	// untidy says that a task may have ended.
	untidy chan struct{}

	mu    sync.Mutex
	jobs  map[string]*task       // by key
	trees map[string]*sync.Mutex // one at a time works in a task's worktree, or fills a clone
	wg    sync.WaitGroup
}

// task is a job in this process. The worker's lock guards it.
type task struct {
	Job
	// stop ends the run; why is set before.
	stop context.CancelFunc
	why  string
	// live is set while a goroutine is at work on it, wake wakes it when the coordinator asks again.
	live bool
	wake chan struct{}
	tell *teller
}

// New returns a worker with what an earlier one left in its home. It does nothing until Run.
func New(c Config) (*Worker, error) {
	if c.Slots <= 0 {
		c.Slots = 2
	}
	if c.Beat <= 0 {
		c.Beat = 30 * time.Second
	}
	if c.Keep <= 0 {
		c.Keep = 24 * time.Hour
	}
	if c.Tidy <= 0 {
		c.Tidy = 5 * time.Minute
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	client := http.Client{}
	if c.HTTP != nil {
		client = *c.HTTP
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse } // the token is for this host alone
	w := &Worker{
		cfg: c, http: &client, shelf: shelf{filepath.Join(c.Home, "jobs")}, slots: make(chan struct{}, c.Slots),
		fatal: make(chan error, 1), untidy: make(chan struct{}, 1), jobs: map[string]*task{}, trees: map[string]*sync.Mutex{},
	}
	if err := os.MkdirAll(w.shelf.dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of requests: %w", err)
	}
	all, err := w.shelf.load()
	if err != nil {
		return nil, err
	}
	for _, j := range all {
		w.jobs[key(j.Agent, j.MessageID)] = &task{Job: *j, wake: make(chan struct{}, 1)}
	}
	return w, nil
}

// Run offers the agents until ctx ends. A turn that runs then is stopped, and runs again when the worker is started again.
func (w *Worker) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if err := w.recover(ctx); err != nil {
		return err
	}
	for name := range w.cfg.Agents {
		w.wg.Go(func() { w.connect(ctx, name) })
	}
	w.wg.Go(func() { w.forget(ctx) })
	w.wg.Go(func() { w.tidy(ctx) })
	var err error
	select {
	case <-ctx.Done():
	case err = <-w.fatal:
	}
	cancel(err)
	w.wg.Wait()
	return err
}

// recover ends what a worker that was killed left running, and goes on with its requests.
func (w *Worker) recover(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, t := range w.jobs {
		if t.State == Running {
			if err := w.reap(ctx, t); err != nil {
				return fmt.Errorf("end what was left of run %s: %w", t.Run, err)
			}
			w.cfg.Logger.Info("a turn was interrupted; it runs again", "task", t.Task, "message", t.MessageID)
			if err := w.become(t, Taken, ""); err != nil {
				return err
			}
		}
		if t.State == Taken || t.State == Answered {
			w.begin(ctx, t)
		}
	}
	return nil
}

func (w *Worker) reap(ctx context.Context, t *task) error {
	m, _ := w.member(t.Agent)
	if r, ok := m.Agent.(providers.Reaper); ok {
		return r.Reap(ctx, t.Run)
	}
	return nil
}

// member is the agent with an id on the bus, as long as it is offered.
func (w *Worker) member(agent string) (m Member, offered bool) {
	m, offered = w.cfg.Agents[strings.TrimPrefix(agent, AgentID(w.cfg.Name, ""))]
	return m, offered
}

// link speaks to the bus for an agent.
func (w *Worker) link(agent string) *link {
	m, _ := w.member(agent)
	return &link{w.cfg.URL, cmp.Or(m.Token, w.cfg.Token), w.http}
}

// become writes down how far a job has come. The lock is held.
func (w *Worker) become(t *task, s State, doing string) error {
	t.State, t.Doing, t.At = s, doing, time.Now().UTC()
	return w.shelf.save(&t.Job)
}

// broken ends the worker.
func (w *Worker) broken(err error) {
	select {
	case w.fatal <- err:
	default:
	}
}

// connect keeps the connection of an agent until ctx ends.
func (w *Worker) connect(ctx context.Context, name string) {
	agent := AgentID(w.cfg.Name, name)
	var p patience
	for {
		began := time.Now()
		err := w.converse(ctx, agent, name)
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) > time.Minute {
			p.n = 0
		}
		w.cfg.Logger.Warn("the connection to the coordinator was lost; it is tried again", "agent", agent, "err", err)
		if unwelcome(err) {
			p.n = max(p.n, 6) // a token does not become valid in no time
		}
		if !p.wait(ctx, nil) {
			return
		}
	}
}

// lock serialises work under a name.
func (w *Worker) lock(name string) func() {
	w.mu.Lock()
	m := w.trees[name]
	if m == nil {
		m = new(sync.Mutex)
		w.trees[name] = m
	}
	w.mu.Unlock()
	m.Lock()
	return m.Unlock
}

func newRun() string { return "run-" + uuid.Must(uuid.NewV7()).String() }

var errStopped = errors.New("stopped")
