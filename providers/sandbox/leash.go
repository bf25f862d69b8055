package sandbox

import "context"

// Leash is what a program may reach of this machine and of the network. The zero Leash holds nothing back: programs run with a scrubbed
// environment, marked and ended to the last process, but not confined.
type Leash struct {
	// Model is the address of the model that the program talks to, such as https://api.example.com/v1; empty when it needs none.
	Model string
}

// Cage is a leash put on for one turn. It must be closed after the program was stopped.
type Cage struct {
	leash Leash
}

// Open readies what the programs of a turn need around them.
func (l Leash) Open(_ context.Context, _ string) (*Cage, error) { return &Cage{leash: l}, nil }

// URL is the address of the model as programs in the cage reach it; "" when there is none.
func (c *Cage) URL() string { return c.leash.Model }

// Start starts a program in the cage, see [Start].
func (c *Cage) Start(ctx context.Context, spec Spec) (*Process, error) { return Start(ctx, spec) }

// Close ends what Open made. Further calls do nothing.
func (c *Cage) Close() {}
