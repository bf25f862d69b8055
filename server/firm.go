package server

import (
	"errors"
	"log/slog"
	"net/http"
	"runtime/debug"
)

// sturdy says loudly that a request ended in a panic, which ends its connection and nothing else.
func sturdy(next http.Handler, logger *slog.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if why := recover(); why != nil {
				if why != http.ErrAbortHandler { //nolint:errorlint,err113 // what was recovered is that value, or another one
					noteFault(logger, r.Method+" "+clip(r.URL.Path, 200), why)
				}
				panic(http.ErrAbortHandler)
			}
		}()
		next.ServeHTTP(w, r)
	})
}

// noteFault says loudly that something ended in a panic.
func noteFault(logger *slog.Logger, what string, why any) {
	logger.Error("a request ended in a panic", "request", what, "panic", why, "stack", string(debug.Stack()))
}

// ErrFault ends what a panic was in.
var ErrFault = errors.New("a fault of the program, which is in its log")

// Firm runs a part of a request in a goroutine of its own: a panic there is noted, and [ErrFault].
func Firm(logger *slog.Logger, what string, f func() error) (err error) {
	defer func() {
		if why := recover(); why != nil {
			noteFault(logger, what, why)
			err = ErrFault
		}
	}()
	return f()
}
