package tui

import (
	"context"
	"time"

	"arbiter/amp"
)

// Session is the coordinator as a screen sees it: in process, over the socket, or scripted. Its methods are called
// from several goroutines at once.
type Session interface {
	// Submit returns the entry of the command, or the refusal with what changed.
	Submit(ctx context.Context, c amp.Command) (amp.Entry, error)
	// Follow calls batch with the entries after seq, in order and without gaps, until ctx ends or batch fails.
	Follow(ctx context.Context, after uint64, batch func([]amp.Entry) error) error
	// Query reads one page: board, entries, diff, log, checklist, status. The Board of an answer is the caller's own.
	Query(ctx context.Context, q amp.Query) (amp.Page, error)
}

// Letters are the messages of the bus that could not be delivered. Its methods are called from several goroutines at once.
type Letters interface {
	// Dead lists them, the oldest first.
	Dead(ctx context.Context) ([]Letter, error)
	// Resend puts those that are named by their keys back into the queues, all of them or none.
	Resend(ctx context.Context, keys []string) error
	// Drop gives them up, all of them or none: they stay in the journal and are not sent again.
	Drop(ctx context.Context, keys []string) error
}

// Letter is one message that could not be delivered. What agents wrote in it is not made safe.
type Letter struct {
	Key, MessageID, Type, Priority, From, To, Task string
	Bytes                                          int
	// At is when it came, Dead since when it is a dead letter. Tries is how many deliveries failed since the bus was started.
	At, Dead time.Time
	Tries    int
	Why      string
}

// Config is what a program of the interface is started with. Only Session is required.
type Config struct {
	Session Session
	// Admin is who decides at this screen; commands carry it.
	Admin string
	// ReadOnly takes all decisions away until the program ends.
	ReadOnly bool
	// Open is the screen to begin with: "inbox", a task id, an entry such as "#18140", or both, "T-2026-044#18140".
	Open string
	// Theme is "dark", "light", "high-contrast" or "mono"; empty asks the terminal.
	Theme string
	// Signs is "ascii" or "utf8", whatever the terminal seems to be able to draw; empty asks it.
	Signs string
	// Mouse turns the mouse on; off leaves selecting text to the terminal.
	Mouse bool
	// Keys replaces the keys of actions by action id.
	Keys map[string][]string
	// Explain turns an error into what happened, what it means and the next step; nil shows the error's own text.
	Explain func(error) (what, means, next string)
	// State is the folder for crash files and for what the screens keep; empty is a folder of the user's state directory.
	State string
	// Place is where the coordinator is, empty for this machine.
	Place string
	// Home names the data directory whose screens these are: what they keep belongs to it. Empty keeps nothing.
	Home string
	// Repo is the repository of the folder that the program was started in, empty for none: a new wish begins with it.
	Repo string
	// Prepare completes a wish with what its repository sets, or says why it cannot be worked in; nil leaves it to the coordinator.
	Prepare func(ctx context.Context, w *amp.Wish) error
	// Version is shown in the help.
	Version string
	// Exports is the folder that exports go to; empty is the folder of temporary files.
	Exports string
	// Alerts is when the terminal may call the admin.
	Alerts Alerts
	// Letters are the dead letters of the bus; nil where there is no way to them.
	Letters Letters
	// Up starts a coordinator when none answers; nil where that is not for this program to do.
	Up func(ctx context.Context) error
	// Hint is an optional line about the board: which key to press now. The demo shows it.
	Hint func(b *amp.Board) string
}
