// Package coordinator is the loop: it takes commands, messages and the events of running agents from one inbox, writes each
// fact to the journal, folds it, and derives from the board what is to be done next. State has one owner, the goroutine of
// [Coordinator.Run]. Effects are derived from state and safe to repeat, so there is no recovery mode: after a crash the same
// derivation starts what is missing.
package coordinator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"arbiter/amp"
	"arbiter/providers"
	"arbiter/ssot"
)

// Workspaces prepares the folder of a task and compares what an agent claims with what is there.
type Workspaces interface {
	// Inspect returns the facts of a repository, or a [*amp.GuardError] when it or the branch must not be worked on.
	Inspect(ctx context.Context, repo, branch string) (amp.RepoFacts, error)
	// Prepare makes the task's worktree ready for a turn and sets a checkpoint. Repeating it for a turn changes nothing.
	Prepare(ctx context.Context, w amp.Workspace, turnID string) (amp.Prepared, error)
	// Verify compares a result, or with nil only the refs, with git.
	Verify(ctx context.Context, w amp.Workspace, turnID string, r *amp.Result, msgID string) (amp.Check, error)
	// Release removes the task's worktree and keeps its work.
	Release(ctx context.Context, w amp.Workspace) (amp.Check, error)
}

// Reviews opens disposable worktrees for reviewers and shows differences.
type Reviews interface {
	OpenReview(ctx context.Context, w amp.Workspace, turnID string) (amp.Prepared, error)
	// CloseReview measures what the reviewer changed, commits allowed fixes, on no branch, and removes the worktree.
	CloseReview(ctx context.Context, w amp.Workspace, turnID string, v *amp.Verdict) (amp.Check, error)
	// Diff compares two commits of the task; empty ones are base and tip.
	Diff(ctx context.Context, w amp.Workspace, from, to string, how amp.DiffOptions) (amp.Diff, error)
	// Checklist verifies branch, base and worktree before a resume.
	Checklist(ctx context.Context, w amp.Workspace) (amp.Check, error)
}

// Deliveries runs the local CI and moves branches: to direct fixes that count, and by command.
type Deliveries interface {
	// Fix lets the branch follow to the recorded commit, the direct fixes of a verdict that counts. Repeating it changes nothing.
	Fix(ctx context.Context, w amp.Workspace) (amp.Check, error)
	RunCI(ctx context.Context, w amp.Workspace, commands [][]string, timeout time.Duration) (amp.Check, error)
	Rollback(ctx context.Context, w amp.Workspace, checkpoint int) (amp.Check, error)
	Deliver(ctx context.Context, w amp.Workspace, d amp.Delivery) (amp.Check, error)
}

// Pulls delivers by pull request.
type Pulls interface {
	// Open pushes the reviewed commit and opens a pull request for it, or finds the one that is there: a repetition changes nothing. It
	// tries again by itself while the other side is out of order.
	Open(ctx context.Context, w amp.Workspace, d amp.PullDraft) (amp.PullState, error)
	// Plan says what Open would send and where, or why it would not, without sending anything.
	Plan(ctx context.Context, w amp.Workspace, d amp.PullDraft) (amp.PullPlan, error)
}

// Git is everything that the loop needs of git.
type Git interface {
	Workspaces
	Reviews
	Deliveries
}

// AgentConfig is one configured agent.
type AgentConfig struct {
	// Agent runs the turns; nil for an external agent, which takes part by submitting messages itself.
	Agent  providers.Agent
	Roles  []amp.Role
	Vendor string
	Limits providers.Limits
	// Fallback names the agents that take over while this one is at a limit, in order.
	Fallback []string
}

// Config is what a coordinator needs. Zero numbers take the defaults in the comments.
type Config struct {
	Log ssot.Log
	Git Git
	// Pulls, if not nil, delivers by pull request.
	Pulls  Pulls
	Agents map[string]AgentConfig
	// Roles names the agent of each role.
	Roles map[amp.Role]string
	// Reaper ends what is left of the turns of agents that are not configured any more, or cannot do it themselves. One that is a
	// [providers.Finder] is asked in a team, at the start, for what the process before left.
	Reaper providers.Reaper
	// Home is the data directory: scratch homes, logs of turns and diffs live below it.
	Home string
	// Slots is how many turns run at once (4); Attempts how many turns without an answer one message gets (2).
	Slots    int
	Attempts int
	Policy   amp.Policy
	Budget   amp.Budget
	// DayBudget bounds the tokens and the cost of all turns of one day in UTC; its other fields are not read.
	DayBudget amp.Budget
	// Prices are what models cost, by the name that the agent reports; see [Config.price].
	Prices map[string]providers.Price
	// Permissions answer requests of agents before the admin is asked; AskTimeout is how long a request waits before silence is a no
	// (30 min), GrantFor how long an answer "in this task" holds (1 h).
	Permissions []amp.PermissionRule
	AskTimeout  time.Duration
	GrantFor    time.Duration
	// Mirror, if not nil, says how far the mirror of the journal is.
	Mirror func() amp.MirrorState
	// Bus, if not nil, says how the AgentMessage bus stands.
	Bus func() amp.BusFacts
	// Memory returns what earlier tasks taught about a repository, bounded, for its planners; nil for nothing.
	Memory func(repo string) (string, error)
	// Undo is the time in which a decision taken on a screen can be withdrawn (10 s).
	Undo time.Duration
	// Heartbeat is how long a role with an open duty may write nothing (30 min, AMP-170).
	Heartbeat time.Duration
	// ProgressEvery bounds how often a turn's progress is written (1 min).
	ProgressEvery time.Duration
	// AckTimeouts override the protocol's defaults (AMP-026).
	AckTimeouts map[amp.MessageType]time.Duration
	// Checks returns the commands of the local CI of a repository; CITimeout bounds each run (30 min).
	Checks    func(repo string) [][]string
	CITimeout time.Duration
	// Require returns the checks that run elsewhere and that a plan for a repository requires (AMP-113), and how long they may take;
	// nil requires none.
	Require func(repo string) (names []string, within time.Duration)
	// Observe is told of each append, in the loop's goroutine: it must not block. Nil is nobody.
	Observe func(Stored)
	Logger  *slog.Logger
	// LogFile is the file that Logger writes to, "" for none; QueryLog shows its end.
	LogFile string
	Version string
	NewID   func() string
	// Owner makes this coordinator one of several that write the journal, which then is an [ssot.Shared]: it is a name that no other
	// one has and that stays the same when it is started again. Empty: it writes alone.
	Owner string
	// Lease is how long the others wait for a coordinator that does not answer before they take its tasks (30 s).
	Lease time.Duration
	// Now is this machine's clock (time.Now).
	Now func() time.Time
}

func (c *Config) defaults() {
	def := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	def(&c.Undo, 10*time.Second)
	def(&c.Heartbeat, 30*time.Minute)
	def(&c.ProgressEvery, time.Minute)
	def(&c.CITimeout, 30*time.Minute)
	def(&c.AskTimeout, 30*time.Minute)
	def(&c.GrantFor, time.Hour)
	def(&c.Lease, defaultLease)
	if c.Slots == 0 {
		c.Slots = 4
	}
	if c.Attempts == 0 {
		c.Attempts = 2
	}
	if c.Checks == nil {
		c.Checks = func(string) [][]string { return nil }
	}
	if c.Require == nil {
		c.Require = func(string) ([]string, time.Duration) { return nil, 0 }
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.NewID == nil {
		c.NewID = func() string { return uuid.Must(uuid.NewV7()).String() }
	}
}

// Coordinator owns the state of one journal. Its methods are safe for concurrent use; all but Run need Run to be running.
type Coordinator struct {
	cfg     Config
	started time.Time
	hub     hub
	recent  recent
	*goroutines
	beside edge // goroutines, but in a simulation
	// arriving lets events of others in one by one.
	arriving sync.Mutex

	// What follows belongs to the goroutine of Run.
	board *amp.Board
	// damaged is what was found of a journal that is not the one that was folded.
	damaged   error
	works     map[string]*work
	measuring map[string]bool  // by the turn of an external reviewer
	asks      map[string]asked // by question id
	live      map[string]*liveTurn
	dirty     map[amp.TaskID]bool
	queued    map[amp.TaskID]bool
	reserved  map[amp.TaskID]bool
	deadlines map[amp.TaskID]time.Time
	// expected is when the loop looks at the clocks again at the latest, awake since when it does so without a gap, zero while it knows of none.
	expected, awake time.Time
	// soonest is not after any deadline: looking at all of them in each turn of the loop would cost more than the turn.
	soonest time.Time
	stalled time.Time
	// halted says that the loop ends.
	halted bool
	// team is nil for a coordinator that writes alone; wanted are the tasks that somebody must act on and this one does not, since
	// when; parked are requests that wait for the store; life ends with Run.
	team   *team
	wanted map[amp.TaskID]time.Time
	// yielded are the deliveries that were left to another coordinator.
	yielded map[amp.TaskID]string
	parked  []request
	// freed says that a slot is free since a task went to another coordinator.
	freed bool
	life  context.Context //nolint:containedctx // it bounds what the loop asks of the store while it judges
}

// ErrNotRunning says that the loop has ended.
var ErrNotRunning = errors.New("the coordinator is not running")

// New folds the journal, or takes the store's own fold of it, and checks the configuration. It starts nothing.
func New(ctx context.Context, cfg Config) (*Coordinator, error) {
	cfg.defaults()
	for role, name := range cfg.Roles {
		if _, ok := cfg.Agents[name]; !ok {
			return nil, fmt.Errorf("role %s: agent %q is not configured", role, name)
		}
	}
	for name, a := range cfg.Agents {
		for _, other := range a.Fallback {
			if _, ok := cfg.Agents[other]; !ok {
				return nil, fmt.Errorf("agent %s: its fallback %q is not configured", name, other)
			}
		}
	}
	board, err := ssot.Fold(ctx, cfg.Log)
	if err != nil {
		return nil, err
	}
	c := &Coordinator{
		cfg: cfg, board: board, goroutines: newGoroutines(),
		works: map[string]*work{}, measuring: map[string]bool{}, asks: map[string]asked{}, live: map[string]*liveTurn{}, dirty: map[amp.TaskID]bool{},
		queued: map[amp.TaskID]bool{}, reserved: map[amp.TaskID]bool{}, deadlines: map[amp.TaskID]time.Time{},
	}
	c.beside = c.goroutines
	c.hub.head = board.Head.Seq
	if cfg.Owner != "" {
		shared, ok := cfg.Log.(ssot.Shared)
		if !ok {
			return nil, fmt.Errorf("coordinator %s: this journal is not one that several coordinators can write", cfg.Owner)
		}
		c.team, c.wanted = newTeam(&c.cfg, shared), map[amp.TaskID]time.Time{}
		c.yielded = map[amp.TaskID]string{}
		return c, nil
	}
	for _, t := range board.Tasks {
		c.reserve(t)
	}
	return c, nil
}
