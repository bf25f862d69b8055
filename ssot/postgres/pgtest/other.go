//go:build !linux

// Package pgtest starts a real PostgreSQL server for tests, on Linux only.
package pgtest

import (
	"context"
	"errors"
)

// ErrAbsent says that PostgreSQL cannot be started here.
var ErrAbsent = errors.New("PostgreSQL is started for tests on Linux only")

// Server is a running server.
type Server struct{}

// Start fails with ErrAbsent.
func Start(context.Context, bool) (*Server, error) { return nil, ErrAbsent }

// Run fails with ErrAbsent.
func (*Server) Run(context.Context) error { return ErrAbsent }

// Stop does nothing.
func (*Server) Stop() {}

// Close does nothing.
func (*Server) Close() error { return nil }

// Socket is the server's socket.
func (*Server) Socket() string { return "" }

// Dir is the folder of the server's socket.
func (*Server) Dir() string { return "" }

// URL is the address of a schema, for its owner.
func (*Server) URL(string) string { return "" }

// As is the address of a schema for a role.
func (*Server) As(_, _ string) string { return "" }

// Schema is the name of a schema that no other call was given.
func (*Server) Schema() string { return "" }
