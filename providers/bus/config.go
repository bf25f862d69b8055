package bus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"arbiter/amp"
)

// The ids that are the bus's own.
const (
	// Coordinator is the agent id of Arbiter itself.
	Coordinator = "amp://coordinator"
	// Framework is its framework.
	Framework = "amp"
)

// selves are the ids under which adapters send heartbeats to the bus itself (B10).
var selves = map[string]bool{"communication-bus": true, "system": true, "bus": true, Coordinator: true}

// Member is an agent of the configuration. It may get messages before it has registered, which wait for it (B03).
type Member struct {
	// Name is its name in the journal.
	Name string
	// Roles are what it may be asked for and answer as; empty allows every role.
	Roles []amp.Role
	// Bearer, when it is not empty, is the name on the token that alone may register it.
	Bearer string
	// Repository allows it the commits that its requests start from.
	Repository bool
}

// Config is what a bus needs. Zero numbers take the defaults in the comments.
type Config struct {
	// Append stores records in the journal, in order and durable when it returns.
	Append func(ctx context.Context, records []amp.Record) error
	// Replay is the state that the journal has now, see [Replay]; without it a fault of the program ends the bus.
	Replay func(ctx context.Context) (*State, error)
	// Members are the agents of the configuration by agent id.
	Members map[string]Member
	// Open lets in agents without tokens. Its callers have no name and no role.
	Open bool
	// QueueMessages (10,000) and QueueBytes (64 MiB) bound the queue of one recipient, TotalBytes (256 MiB) all of them, Agents (10,000) how
	// many are registered, AgentsEach (100) how many of them one token may have; without tokens there is no such bound.
	QueueMessages int
	QueueBytes    int64
	TotalBytes    int64
	Agents        int
	AgentsEach    int
	// Keep is how long a message waits before it is a dead letter, and how long its id is remembered (24 h).
	Keep time.Duration
	// Beat is how long an agent may send no heartbeat (90 s).
	Beat time.Duration
	// Lease is how long a message that was fetched may stay unconfirmed before it is handed out again (30 s).
	Lease time.Duration
	// Ended are those of these tasks that have ended, see [Bus.Ended]; nil knows of none.
	Ended func(ctx context.Context, spaces []amp.Workspace) ([]amp.TaskID, error)
	// Parcels is the folder where commits from other machines arrive, empty where none do. MaxParcel (256 MiB) is how large they are at most,
	// MaxOffer (2 GiB) how much of a repository goes to another machine at once.
	Parcels   string
	MaxParcel int64
	MaxOffer  int64
	Logger    *slog.Logger
	// NewID gives each entry its id; nil means UUIDv7.
	NewID func() string
}

func (c *Config) defaults() {
	orInt := func(n *int, v int) {
		if *n == 0 {
			*n = v
		}
	}
	orSize := func(n *int64, v int64) {
		if *n == 0 {
			*n = v
		}
	}
	orTime := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	orInt(&c.QueueMessages, 10_000)
	orInt(&c.Agents, 10_000)
	orInt(&c.AgentsEach, 100)
	orSize(&c.QueueBytes, 64<<20)
	orSize(&c.TotalBytes, 256<<20)
	orSize(&c.MaxParcel, 256<<20)
	orSize(&c.MaxOffer, 2<<30)
	orTime(&c.Keep, 24*time.Hour)
	orTime(&c.Beat, 90*time.Second)
	orTime(&c.Lease, 30*time.Second)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.NewID == nil {
		c.NewID = func() string { return uuid.Must(uuid.NewV7()).String() }
	}
}

// Caller is who speaks to the bus.
type Caller struct {
	// Name is the bearer of the token, empty without authentication.
	Name string
	// Role is what the token allows; empty where nothing is known, or with Admin.
	Role amp.Role
	// Admin may do what any agent may.
	Admin bool
	// Source says where it came from, for the error log.
	Source string
}

// The answers that a caller can tell apart.
var (
	// ErrClosed says that the bus does not run; nothing was taken.
	ErrClosed = errors.New("the bus does not run; try again")
	// ErrNotRegistered says that an agent has to register first (BUS-068).
	ErrNotRegistered = errors.New("Agent not registered") // the words that adapters read
)

// RefusedError says what was not taken, and by which rules.
type RefusedError struct{ Problems []amp.Problem }

// Error is every problem.
func (e *RefusedError) Error() string {
	text := (&amp.InvalidError{Problems: e.Problems}).Error()
	return text[len("invalid message: "):]
}

func refusal(rule, field, format string, args ...any) *RefusedError {
	return &RefusedError{Problems: []amp.Problem{{Rule: rule, Field: field, Message: fmt.Sprintf(format, args...)}}}
}

// FullError says that there is no room for a message now. Nothing of it was kept.
type FullError struct{ What string }

// Error says what is full.
func (e *FullError) Error() string { return e.What + " is full; nothing was taken, try again later" }
