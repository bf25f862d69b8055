// Package server lets other processes take part in a coordinator: HTTP with JSON and server-sent events over a unix socket that
// only its owner can open, and over TCP for who bears a token. [Server] answers, [Client] asks; a Client has the methods of the coordinator itself and returns the
// same typed errors, so that a screen or a command cannot tell whether the coordinator lives in its own process.
//
//	POST /v1/commands   an amp.Command → its amp.Entry
//	POST /v1/messages   the raw bytes of an AMP message or an ACK, with ?as=ROLE&actor=NAME&source=NAME&strict=true → amp.Receipt
//	POST /v1/query      an amp.Query → amp.Page
//	GET  /v1/journal    server-sent events, one per entry, id = seq, from ?after=SEQ or Last-Event-ID on, without gaps
//	GET  /v1/status     amp.CoordinatorState
//	POST /v1/shutdown   ends the coordinator
//
// Whoever asks is identified by the credentials that the kernel attests for the connection, where it does; an admin's name is
// never taken from a request then (A09). A process below the coordinator's own, which is what an agent is, decides nothing. Over TCP
// the token says who asks and what that may do: [Access] of each [Route], all of which [Server.routes] lists. Off loopback TCP has TLS.
// Browsers are no clients: a request with an Origin, or to a name that is not the coordinator's, is refused. [Tokens] says how
// tokens are kept; the limits of [ListenTCP] and of requests are answered with 503 and 429 and the time to wait.
package server

import (
	"context"

	"arbiter/amp"
)

// Coordinator is what a Server serves, and what a Client is.
type Coordinator interface {
	// Submit stores a decision and returns its entry.
	Submit(ctx context.Context, c amp.Command) (amp.Entry, error)
	// Receive takes in a message or an ACK.
	Receive(ctx context.Context, r amp.Received) (amp.Receipt, error)
	// Follow calls batch with the entries after seq, in order and without gaps, until ctx ends or batch fails.
	Follow(ctx context.Context, after uint64, batch func([]amp.Entry) error) error
	// Query answers one question.
	Query(ctx context.Context, q amp.Query) (amp.Page, error)
}
