package server

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"syscall"

	"arbiter/amp"
)

// Error is a failure of the other side that has no type of its own, or of the request itself.
type Error struct {
	// Code is a stable word: request, unauthorized, forbidden, limited, too_large, not_found, canceled, unavailable, internal.
	Code string
	// What happened, what it means and what to do; the last two may be empty.
	What, Means, Next string
}

// Error is what happened.
func (e *Error) Error() string { return e.What }

// ErrNotRunning says that no coordinator answers at the socket.
var ErrNotRunning = errors.New("no coordinator answers")

// ErrBroken says that the connection broke before the answer came: whether the request was carried out is unknown.
var ErrBroken = errors.New("the connection to the coordinator broke")

// ErrShuttingDown says that the coordinator is about to end; what was asked did not happen.
var ErrShuttingDown = errors.New("the coordinator is shutting down")

// Sentinels gives errors without data a word on the wire, so that errors.Is works on the other side of the socket. Server and
// Client are given the same ones.
type Sentinels map[string]error

// fault is the JSON form of an error.
type fault struct {
	Code     string             `json:"code"`
	What     string             `json:"what"`
	Means    string             `json:"means,omitzero"`
	Next     string             `json:"next,omitzero"`
	Seq      uint64             `json:"seq,omitzero"`
	Problems []amp.Problem      `json:"problems,omitzero"`
	Subject  string             `json:"subject,omitzero"`
	TaskID   amp.TaskID         `json:"task_id,omitzero"`
	From     amp.Status         `json:"from,omitzero"`
	Step     string             `json:"step,omitzero"`
	Why      string             `json:"why,omitzero"`
	Type     amp.EscalationType `json:"type,omitzero"`
	Repo     string             `json:"repo,omitzero"`
	Branch   string             `json:"branch,omitzero"`
}

// newFault translates an error to its JSON form and HTTP status.
func newFault(err error, known Sentinels) (fault, int) {
	f := fault{What: err.Error()}
	if e, ok := errors.AsType[*amp.RefusedError](err); ok {
		f.Code, f.Subject, f.Seq, f.Problems, f.Next = "refused", e.What, e.Seq, e.Problems, e.Next
		return f, http.StatusConflict
	}
	if e, ok := errors.AsType[*amp.InvalidError](err); ok {
		f.Code, f.Problems = "invalid", e.Problems
		return f, http.StatusUnprocessableEntity
	}
	if e, ok := errors.AsType[*amp.TransitionError](err); ok {
		f.Code, f.TaskID, f.From, f.Step, f.Why = "transition", e.TaskID, e.From, e.Step, e.Why
		return f, http.StatusConflict
	}
	if e, ok := errors.AsType[*amp.GuardError](err); ok {
		f.Code, f.Type, f.Repo, f.Branch, f.Why = "guard", e.Type, e.Repo, e.Branch, e.Why
		return f, http.StatusConflict
	}
	if e, ok := errors.AsType[*Error](err); ok {
		f.Code, f.What, f.Means, f.Next = e.Code, e.What, e.Means, e.Next
		return f, statusOf(e.Code)
	}
	for _, word := range slices.Sorted(maps.Keys(known)) { // an error that is several of them has the same word each time
		if errors.Is(err, known[word]) {
			f.Code = word
			return f, http.StatusServiceUnavailable
		}
	}
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT): // of another file than the journal
		f.Code = "full"
	case errors.Is(err, ErrShuttingDown):
		f.Code = "shutting_down"
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		f.Code = "canceled"
	default:
		f.Code = "internal"
		return f, http.StatusInternalServerError
	}
	return f, http.StatusServiceUnavailable
}

func statusOf(code string) int {
	switch code {
	case "request":
		return http.StatusBadRequest
	case "unauthorized":
		return http.StatusUnauthorized
	case "forbidden":
		return http.StatusForbidden
	case "limited":
		return http.StatusTooManyRequests
	case "too_large":
		return http.StatusRequestEntityTooLarge
	case "not_found":
		return http.StatusNotFound
	case "unavailable":
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

// err is the typed error that f was made from.
func (f *fault) err(known Sentinels) error {
	switch f.Code {
	case "refused":
		return &amp.RefusedError{Seq: f.Seq, What: f.Subject, Problems: f.Problems, Next: f.Next}
	case "invalid":
		if len(f.Problems) > 0 {
			return &amp.InvalidError{Problems: f.Problems}
		}
	case "transition":
		return &amp.TransitionError{TaskID: f.TaskID, From: f.From, Step: f.Step, Why: f.Why}
	case "guard":
		return &amp.GuardError{Type: f.Type, Repo: f.Repo, Branch: f.Branch, Why: f.Why}
	case "shutting_down":
		return ErrShuttingDown
	}
	if sentinel, ok := known[f.Code]; ok {
		return &remoteError{what: f.What, is: sentinel}
	}
	return &Error{Code: f.Code, What: f.What, Means: f.Means, Next: f.Next}
}

// remoteError is an error of the other side with the identity of a sentinel.
type remoteError struct {
	what string
	is   error
}

func (e *remoteError) Error() string { return e.what }
func (e *remoteError) Unwrap() error { return e.is }

// badRequest is a request that the server did not understand.
func badRequest(format string, args ...any) *Error {
	return &Error{Code: "request", What: fmt.Sprintf(format, args...), Means: "Nothing was done."}
}
