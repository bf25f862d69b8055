package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"arbiter/ssot"
)

// UnreachableError says that the database could not be reached, or did not answer. It is an [ssot.ErrUnreachable].
type UnreachableError struct {
	Store, Why string
	// ReadOnly says that it answers and takes no writes: as a standby, or by its settings.
	ReadOnly bool
}

// Error names the database and the reason.
func (e *UnreachableError) Error() string {
	if e.ReadOnly {
		return fmt.Sprintf("the database %s takes no writes: %s", e.Store, e.Why)
	}
	return fmt.Sprintf("the database %s cannot be reached: %s", e.Store, e.Why)
}

// Is makes it an [ssot.ErrUnreachable].
func (e *UnreachableError) Is(target error) bool { return target == ssot.ErrUnreachable }

// AddressError says that an address leads to no database that could hold a journal: what it says is wrong, or is not there.
type AddressError struct{ Store, Why string }

// Error names the address and what is wrong with it, without a password.
func (e *AddressError) Error() string {
	if e.Store == "" {
		return "the address of the database is wrong: " + e.Why
	}
	return fmt.Sprintf("the address %s is wrong: %s", e.Store, e.Why)
}

// RightsError says that the database does not let this role do what is needed.
type RightsError struct{ Store, User, Why string }

// Error names the role and what was refused.
func (e *RightsError) Error() string {
	return fmt.Sprintf("the role %s of the database %s may not do that: %s", e.User, e.Store, e.Why)
}

// PoolerError says that a pooler stands before the database that gives each transaction another connection.
type PoolerError struct{ Store string }

// Error names the database.
func (e *PoolerError) Error() string {
	return "what answers at " + e.Store + " is a pooler of transactions, which mixes the connections of its clients"
}

// The states of an SQL error that have a meaning here.
const (
	uniqueViolation      = "23505"
	divisionByZero       = "22012"
	serialization        = "40001"
	deadlock             = "40P01"
	noDatabase           = "3D000"
	noParameter          = "42704"
	wrongParameter       = "22023"
	noRights             = "42501"
	noTable              = "42P01"
	statementTwice       = "42P05" // a prepared one, as is the next
	noStatement          = "26000"
	noSchema             = "3F000"
	diskFull             = "53100"
	outOfMemory          = "53200"
	tooManyConnections   = "53300"
	configurationLimit   = "53400"
	lockNotAvailable     = "55P03"
	queryCanceled        = "57014"
	inputOutput          = "58030"
	readOnlyTransaction  = "25006"
	idleInTransaction    = "25P03"
	adminShutdown        = "57P01"
	crashShutdown        = "57P02"
	cannotConnectNow     = "57P03"
	dataCorrupted        = "XX001"
	indexCorrupted       = "XX002"
	connectionExceptions = "08"
	badPassword          = "28"
)

func code(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code
	}
	return ""
}

// panicked reports whether the server died of what it says, for instance for want of room for its log: whether the transaction is stored is
// known when it is back.
func panicked(e *pgconn.PgError) bool { return severity(e) == "PANIC" }

// final reports whether what the server says is the last that it says on the connection, whatever its language: whether what was sent is stored
// is not known.
func final(e *pgconn.PgError) bool { return severity(e) == "FATAL" || panicked(e) }

// severity is that of an error in English, where the server says it.
func severity(e *pgconn.PgError) string { return cmp.Or(e.SeverityUnlocalized, e.Severity) }

// lost reports whether an error is about the connection, which another one may not have.
func lost(err error) bool {
	_, connecting := errors.AsType[*pgconn.ConnectError](err)
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && (panicked(e) || final(e) && !connecting) {
		return true // for instance since nobody used it for long
	}
	c := code(err)
	switch c {
	case tooManyConnections, readOnlyTransaction, idleInTransaction, adminShutdown, crashShutdown, cannotConnectNow:
		return true
	case "":
		return connecting || errors.Is(err, errBroken)
	}
	return c[:2] == connectionExceptions
}

// errBroken marks an error after which the connection is closed.
var errBroken = errors.New("the connection broke")

// broken marks what conn said if it did not survive it.
func broken(conn *pgx.Conn, err error) error {
	if err != nil && code(err) == "" && conn.IsClosed() {
		return fmt.Errorf("%w: %w", errBroken, err)
	}
	return err
}

// again reports whether the same transaction may pass when it is run again.
func again(err error) bool {
	c := code(err)
	return c == serialization || c == deadlock
}

// fault is the error in the words of [ssot] and of this package, without secrets.
func (p *place) fault(err error) error {
	e, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		if lost(err) {
			return p.unreachable(err)
		}
		return err
	}
	if panicked(e) {
		return p.unreachable(err)
	}
	why := p.scrub(e.Message)
	switch e.Code {
	case diskFull:
		return fmt.Errorf("%w: %s: %s", ssot.ErrFull, p.name, why)
	case lockNotAvailable, queryCanceled, serialization, deadlock, outOfMemory, configurationLimit:
		return fmt.Errorf("%w: %s: %s", ssot.ErrBusy, p.name, why)
	case noRights:
		return &RightsError{Store: p.name, User: p.cfg.User, Why: why}
	case statementTwice, noStatement: // each connection prepares its own, once
		return &PoolerError{Store: p.name}
	case noTable, noSchema:
		return fmt.Errorf("there is no journal in %s: %s", p.name, why)
	case dataCorrupted, indexCorrupted:
		return &ssot.DamagedError{Path: p.name, Why: why}
	case inputOutput:
		return fmt.Errorf("%w: %s: %s", ssot.ErrFailed, p.name, why)
	}
	if _, connecting := errors.AsType[*pgconn.ConnectError](err); e.Code == noDatabase || connecting && (e.Code == noParameter || e.Code == wrongParameter) {
		return &AddressError{Store: p.name, Why: why}
	}
	if lost(err) || e.Code[:2] == badPassword {
		return p.unreachable(err)
	}
	return fmt.Errorf("%s: %s (SQLSTATE %s)", p.name, why, e.Code)
}

func (p *place) unreachable(err error) *UnreachableError {
	u := &UnreachableError{Store: p.name, Why: "no answer"}
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		u.Why, u.ReadOnly = p.scrub(e.Message), e.Code == readOnlyTransaction
		return u
	}
	for cause := err; cause != nil; cause = errors.Unwrap(cause) { // the innermost one holds no address
		u.Why, _, _ = strings.Cut(p.scrub(cause.Error()), "\n")
	}
	if errors.Is(err, context.DeadlineExceeded) {
		u.Why = "it does not answer"
	}
	return u
}

// passing reports whether the writer can go on after an error once the transaction was rolled back.
func passing(err error) bool {
	_, rights := errors.AsType[*RightsError](err)
	return rights || errors.Is(err, ssot.ErrFull) || errors.Is(err, ssot.ErrBusy) || errors.Is(err, ssot.ErrUnreachable)
}
