package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"

	"arbiter/amp"
	"arbiter/coordinator"
	"arbiter/server"
	"arbiter/ssot"
	"arbiter/ssot/postgres"
	"arbiter/ssot/sqlite"
	"arbiter/tui/textsafe"
)

// The exit codes.
const (
	exitFailed  = 1
	exitUsage   = 2
	exitRefused = 3
	exitWaits   = 4
	// exitInterrupted is what a shell says of a program that Ctrl-C ended.
	exitInterrupted = 130
)

// explanation is an error as a person reads it: what happened, what it means, what to do.
type explanation struct {
	What     string        `json:"what"`
	Means    string        `json:"means,omitzero"`
	Next     string        `json:"next,omitzero"`
	Code     int           `json:"code"`
	Seq      uint64        `json:"seq,omitzero"`
	Problems []amp.Problem `json:"problems,omitzero"`
}

// usageError is a command line, a file or a configuration that the person has to change.
type usageError struct{ what, means, next string }

func (e *usageError) Error() string { return e.what }

func usage(format string, args ...any) *usageError {
	return &usageError{what: fmt.Sprintf(format, args...)}
}

// then adds the next step.
func (e *usageError) then(next string) *usageError { e.next = next; return e }

// notFoundError is an id that names nothing.
type notFoundError struct{ what, next string }

func (e *notFoundError) Error() string { return e.what }

// waitsError ends a watch: a person has to decide. What was printed says what.
type waitsError struct{ what, next string }

func (e *waitsError) Error() string { return e.what }

// quietError carries an exit code for something that was printed already.
type quietError struct{ code int }

func (e *quietError) Error() string { return "" }

// sentinels are the errors without data that cross the socket.
var sentinels = server.Sentinels{
	"full": ssot.ErrFull, "busy": ssot.ErrBusy, "conflict": ssot.ErrConflict, "closed": ssot.ErrClosed,
	"store_failed": ssot.ErrFailed, "unreachable": ssot.ErrUnreachable, "loop_ended": coordinator.ErrNotRunning,
}

// explain decides, in one place, what a person reads of an error, and the exit code.
func explain(err error) explanation {
	e := explanation{What: err.Error(), Code: exitFailed}
	if ok := explainPartly(err, &e) || explainOurs(err, &e) || explainMirror(err, &e) || explainSearch(err, &e) || explainOutput(err, &e) || explainProtocol(err, &e) || explainStore(err, &e) || explainSilent(err, &e) || explainCoordinator(err, &e) ||
		explainPlace(err, &e) || explainSystem(err, &e); !ok {
		e.Means = "Nothing more is known about it."
		e.Next = "Try again; if it stays, run arbiter doctor and look at the log that arbiter status names."
	}
	return e
}

func explainOurs(err error, e *explanation) bool {
	if x, ok := errors.AsType[*quietError](err); ok {
		e.What, e.Code = "", x.code
		return true
	}
	if x, ok := errors.AsType[*usageError](err); ok {
		e.Means, e.Next, e.Code = x.means, x.next, exitUsage
		if e.Means == "" {
			e.Means = "Nothing was done."
		}
		return true
	}
	if x, ok := errors.AsType[*notFoundError](err); ok {
		e.Means, e.Next = "Nothing was done.", x.next
		return true
	}
	if x, ok := errors.AsType[*startError](err); ok {
		e.Means, e.Next, e.Code = x.e.Means, x.e.Next, x.code
		return true
	}
	if x, ok := errors.AsType[*endedTaskError](err); ok {
		e.Means, e.Next = "It does not go on.", "See why: arbiter task show "+string(x.id)
		return true
	}
	if x, ok := errors.AsType[*keptError](err); ok {
		e.Means, e.Next = "It was left as it is.", "Name another file, or replace it with --force."
		if x.beside {
			e.Next = "Replace it with --force; the present one is then kept beside it."
		}
		return true
	}
	if _, ok := errors.AsType[*staleError](err); ok {
		e.Means = "The entries are whole; a table beside them is not their fold."
		e.Next = "End the coordinator with arbiter down, then arbiter journal rebuild."
		return true
	}
	if x, ok := errors.AsType[*waitsError](err); ok {
		e.Next, e.Code = x.next, exitWaits
		return true
	}
	return false
}

func explainProtocol(err error, e *explanation) bool {
	e.Code = exitRefused
	if x, ok := errors.AsType[*amp.RefusedError](err); ok {
		e.What, e.Seq, e.Problems, e.Next = x.What+" was refused", x.Seq, x.Problems, x.Next
		e.Means = "Nothing has changed."
		if x.Seq > 0 {
			e.Means = fmt.Sprintf("Nothing has changed; the refusal is kept as entry %d.", x.Seq)
		}
		if e.Next == "" {
			e.Next = "Look at the current state with arbiter task show, then decide again."
		}
		return true
	}
	if x, ok := errors.AsType[*amp.InvalidError](err); ok {
		e.What, e.Problems = "the message breaks the rules of the protocol", x.Problems
		e.Means, e.Next = "It was not taken in.", "Mend each of the problems; arbiter schema prints the forms."
		return true
	}
	if x, ok := errors.AsType[*amp.TransitionError](err); ok {
		e.Means = "The life of a task has no such step now. Nothing has changed."
		e.Next = "See what can be decided: arbiter task show " + string(x.TaskID)
		return true
	}
	if x, ok := errors.AsType[*amp.GuardError](err); ok {
		e.Means = "Arbiter does not work there. Nothing was touched."
		e.Next = "Name another repository with --repo."
		if x.Branch != "" {
			e.Next = "Name a feature branch with --branch."
		}
		return true
	}
	e.Code = exitFailed
	return false
}

func explainStore(err error, e *explanation) bool {
	if x, ok := errors.AsType[*sqlite.HeldError](err); ok {
		explainHeld(x, e)
		return true
	}
	if x, ok := errors.AsType[*ssot.DamagedError](err); ok {
		e.Means = "The journal is not what was written. It was left exactly as it is; nothing was repaired or replaced."
		e.Next = "Make a copy of the folder of " + x.Path + ", then see how far it is good: arbiter journal verify."
		if isDatabase(x.Path) {
			e.Next = "Make a copy with pg_dump, then see how far it is good: arbiter journal verify."
		}
		return true
	}
	if explainDatabase(err, e) {
		return true
	}
	if _, ok := errors.AsType[*ssot.NewerError](err); ok {
		e.Means, e.Next = "This program would not understand it.", "Install the newer version of Arbiter again."
		return true
	}
	if _, ok := errors.AsType[*amp.UnknownKindError](err); ok {
		e.Means, e.Next = "A newer version of Arbiter wrote it; this program would not understand it.", newerNext
		return true
	}
	if x, ok := errors.AsType[*ssot.OlderError](err); ok {
		e.Means = "Nothing was changed. Whoever opens it for writing brings its tables up to date; its entries stay as they are."
		e.Next = "Start its coordinator once: arbiter up. Of a copy: arbiter --home " + filepath.Dir(x.Path) + " journal rebuild"
		if isDatabase(x.Path) {
			e.Next = "Start a coordinator on it once, as its owner: arbiter up --store " + x.Path
		}
		return true
	}
	if x, ok := errors.AsType[*sqlite.LinkError](err); ok {
		e.Means = "Whoever opens it by another name is not seen, and would write over it. Nothing was changed."
		e.Next = "Give it a file of its own: cp journal.db own.db, then mv own.db journal.db in " + filepath.Dir(x.Path) + ", with no coordinator on either."
		if x.Target != "" {
			e.Next = "Name the folder that it is in: --home " + filepath.Dir(x.Target)
		}
		return true
	}
	if _, ok := errors.AsType[*sqlite.NetworkError](err); ok {
		e.Means, e.Next = "Nothing was written there.", "Name a folder on a local disk with --home or ARBITER_HOME."
		return true
	}
	switch {
	case full(err):
		e.Means, e.Next = "Nothing was stored, and nothing is lost.", "Make room on the disk of the data directory, then try again."
	case errors.Is(err, ssot.ErrBusy):
		e.Means, e.Next = "The journal could not take more for a moment. Nothing was stored.", "Try again."
	case errors.Is(err, ssot.ErrConflict):
		e.Means, e.Next = "An id stands for one content for ever.", "Give the new content an id of its own."
	case errors.Is(err, ssot.ErrFailed):
		e.Means, e.Next = "The disk or the file system gave an error.", "Look at the system's log; then arbiter journal verify."
	default:
		return false
	}
	return true
}

func explainDatabase(err error, e *explanation) bool {
	if x, ok := errors.AsType[*postgres.RightsError](err); ok {
		e.Means = "Nothing was changed. The owner of the schema makes its tables, a writer needs rights on them, a reader may only read."
		e.Next = "Open it once as its owner, who then gives " + x.User + " its rights: arbiter journal grant " + x.User +
			". Whoever begins the journal needs CREATE on the database, or owns it: createdb --owner=NAME"
		return true
	}
	if _, ok := errors.AsType[*postgres.PoolerError](err); ok {
		e.Means = "A coordinator needs connections of its own; whether what was sent is stored is not known, and sent again it is stored once."
		e.Next = "Let store.url name the server itself, or a pooler of sessions (pool_mode = session)."
		return true
	}
	if _, ok := errors.AsType[*postgres.AddressError](err); ok {
		e.Means, e.Next = "Nothing was done.", "Correct store.url, or the address that was given; docs/team.md says what it may hold. A database is made by createdb."
		return true
	}
	if x, ok := errors.AsType[*postgres.UnreachableError](err); ok && x.ReadOnly {
		e.Means = "It is a standby, or default_transaction_read_only is on for the role, the database or in the address. Nothing was stored."
		e.Next = "Name the primary in store.url (of several hosts target_session_attrs=read-write finds it), or turn that setting off."
		return true
	}
	switch {
	case errors.Is(err, ssot.ErrBusy) && errors.Is(err, ssot.ErrUnreachable):
		e.Means, e.Next = "Nothing was stored, and nothing is lost.", "See that the database runs and can be reached, then try again."
	case errors.Is(err, ssot.ErrUnreachable):
		e.Means = "What was sent may be stored or not; sent again, it is stored once."
		if _, ok := errors.AsType[*unsentError](err); ok {
			e.Means = "Nothing was sent to be stored, and nothing is lost."
		}
		e.Next = "See that the database runs and can be reached: its address is store.url, its password what ~/.pgpass, PGPASSWORD, store.password_env or store.password_file say."
	default:
		return false
	}
	return true
}

func explainCoordinator(err error, e *explanation) bool {
	if x, ok := errors.AsType[*server.UnreachedError](err); ok {
		e.Means = "Nothing was asked; its journal is safe."
		e.Next = "See that " + x.URL + " is its address, that it runs, and that [listen] there names it. SSL_CERT_FILE names a certificate authority of your own."
		return true
	}
	switch {
	case errors.Is(err, server.ErrNotRunning):
		e.Means, e.Next = "Agents do not run without it; the journal is safe.", "Start it: arbiter up"
	case errors.Is(err, server.ErrBroken):
		e.Means, e.Next = "Whether what you asked for was stored is not known.", "See how things stand with arbiter status, then repeat it if need be."
	case errors.Is(err, server.ErrShuttingDown), errors.Is(err, coordinator.ErrNotRunning), errors.Is(err, ssot.ErrClosed):
		e.Means, e.Next = "The coordinator is ending; what you asked for was not stored.", "Start it again: arbiter up"
	default:
		x, ok := errors.AsType[*server.Error](err)
		if !ok {
			return false
		}
		e.Means, e.Next = x.Means, x.Next
		switch x.Code {
		case "forbidden", "unauthorized":
			e.Code = exitRefused
		case "internal":
			e.Means = "The coordinator failed at it."
			e.Next = "Look at its log, which arbiter status names."
		case "canceled":
			e.Means, e.Next = "It took too long.", "Try again."
		}
		if e.Next == "" {
			e.Next = "Use a client of the same version as the coordinator: arbiter status shows its version."
		}
	}
	return true
}

func explainSystem(err error, e *explanation) bool {
	switch {
	case errors.Is(err, context.Canceled):
		e.What, e.Means, e.Code = "interrupted", "What was decided before stays decided.", exitInterrupted
		e.Next = "See how things stand: arbiter status"
	case errors.Is(err, context.DeadlineExceeded):
		e.Means, e.Next = "It took too long.", "Try again; arbiter status says whether the coordinator lives."
	case errors.Is(err, fs.ErrNotExist):
		e.Means, e.Next = "Nothing was done.", "Check the path."
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		e.Means = "Arbiter may not read or write there. " + ownerOf(err) + "Nothing was changed."
		e.Next = "Change the folder's owner or mode, or name another data directory with --home or ARBITER_HOME."
	case errors.Is(err, syscall.EPIPE):
		e.What, e.Code = "", exitFailed
	default:
		return false
	}
	return true
}

// report prints an explanation to standard error and returns its code.
func (a *app) report(e explanation) int {
	if e.What == "" {
		return e.Code
	}
	if a.json {
		a.complain(string(encodeJSON(struct {
			Error explanation `json:"error"`
		}{e})))
		return e.Code
	}
	var b strings.Builder
	for i, line := range textsafe.Block(e.What) {
		if i == 0 {
			line = "arbiter: " + line
		}
		b.WriteString(line + "\n")
	}
	for _, p := range e.Problems {
		b.WriteString("  - " + textsafe.Line(p.String()) + "\n")
	}
	if e.Means != "" {
		b.WriteString(textsafe.Line(e.Means) + "\n")
	}
	if e.Next != "" {
		b.WriteString("next: " + textsafe.Line(e.Next) + "\n")
	}
	fmt.Fprint(a.stderr, b.String())
	return e.Code
}

// complain prints one line to standard error, where nobody can be told that it failed.
func (a *app) complain(line string) { fmt.Fprintln(a.stderr, line) }
