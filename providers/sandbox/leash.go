//go:build linux || darwin

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"
)

// Leash is what the programs of an agent may reach of this machine and of the network. The zero Leash holds nothing back: programs run
// with a scrubbed environment, marked and ended to the last process, but not confined.
type Leash struct {
	// Mode is how programs are confined; empty is [Off].
	Mode  Mode
	Model Model
	// ReadOnly and ReadWrite are files and folders that programs see besides what every cage shows. What is not there is left out.
	ReadOnly, ReadWrite []string
	Caps                Caps
	// Meter, when it is not nil, is told what each answer of the model took, as far as the answer says it. An error ends the cage with
	// that reason: it is where a cap on money belongs. It is called from several goroutines.
	Meter func(Used) error
	// Answered, when it is not nil, is told of each answer of the model its HTTP status and how long it asks to wait, 0 when it does not;
	// status 0 is a model that was not reached, with how long it will not be tried again when the network did not answer at all. It is called from several goroutines.
	Answered func(status int, retry time.Duration)
}

// Model is the service that a program may talk to through the proxy.
type Model struct {
	// URL is its address, such as https://api.example.com/v1; empty when the program needs none.
	URL string
	// Key is asked for the key at each request; nil sends none. The key stays in this process.
	Key func() (string, error)
	// Header carries the key; empty is Authorization, where it stands behind "Bearer".
	Header string
	// Paths are the allowed paths below URL, as "/messages" or, for all that begin so, "/models/*"; none allows every path below URL.
	Paths []string
}

// Caps bound what one cage may take of the model. Zero fields do not bound.
type Caps struct {
	Requests int
	// Bytes counts bodies, both ways.
	Bytes int64
	// Disk is by how many bytes the working folder and the home of a program may grow, and the most of one file. It is looked at a few times a
	// second at most, so more can be there for a moment.
	Disk int64
}

// PlaceholderKey is what a program gets where it wants a key: the proxy puts the real one in its place.
const PlaceholderKey = "kept-by-arbiter"

// Cage is a leash put on for one turn. It is safe for concurrent use, and must be closed after its programs were stopped.
type Cage struct {
	leash Leash
	mode  Mode
	proxy *proxy // nil when programs need no model or reach it by themselves
	close sync.Once

	mu     sync.Mutex
	disks  []*quota
	full   chan struct{} // closed when a program filled its quota
	filled sync.Once
}

// Open readies what the programs of a turn need around them. A mode that this machine cannot keep is an error, never a weaker mode.
func (l Leash) Open(_ context.Context, _ string) (*Cage, error) {
	if shimmed(os.Args) {
		return nil, errors.New("open a cage: this program was started as a shim, but its main function does not call sandbox.Main")
	}
	mode, err := l.Mode.resolve()
	if err != nil {
		return nil, err
	}
	c := &Cage{leash: l, mode: mode, full: make(chan struct{})}
	c.leash.ReadOnly, c.leash.ReadWrite = slices.Clone(l.ReadOnly), slices.Clone(l.ReadWrite)
	if l.Model.URL == "" || mode == Off && l.Model.Key == nil && l.Caps.Requests == 0 && l.Caps.Bytes == 0 && l.Meter == nil && l.Answered == nil {
		return c, nil
	}
	c.proxy, err = openProxy(&c.leash, mode == Bubblewrap)
	if err != nil {
		return nil, fmt.Errorf("open the way to the model: %w", err)
	}
	return c, nil
}

// Mode is how programs in the cage are confined, never [Auto].
func (c *Cage) Mode() Mode { return c.mode }

// URL is the address of the model as programs in the cage reach it; "" when there is none.
func (c *Cage) URL() string {
	if c.proxy == nil {
		return c.leash.Model.URL
	}
	return c.proxy.url
}

// Log gets a line for each request to the model, without credentials; it is to be called before programs start. Lines are written one
// at a time, from several goroutines.
func (c *Cage) Log(w io.Writer) {
	if c.proxy != nil {
		c.proxy.log = &lines{w: w}
	}
}

// Start starts a program in the cage, see [Start].
func (c *Cage) Start(ctx context.Context, spec Spec) (*Process, error) {
	if most := c.leash.Caps.Disk; most > 0 {
		if spec.Limits.FileSize == 0 || spec.Limits.FileSize > most {
			spec.Limits.FileSize = most
		}
		begun := c.watch(most, spec.Dir, spec.Home)
		defer begun()
	}
	return launch(ctx, spec, func(argv []string) ([]string, error) {
		switch c.mode {
		case Bubblewrap:
			return c.bubblewrap(&spec, argv)
		case Landlock:
			return c.landlock(&spec, argv)
		case Off, Auto:
		}
		return argv, nil
	})
}

// watch has the folders of a program watched until the cage is closed.
func (c *Cage) watch(most int64, dirs ...string) (begun func()) {
	q, begun := watchQuota(most, func() { c.filled.Do(func() { close(c.full) }) }, dirs...)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.disks = append(c.disks, q)
	return begun
}

// Full is closed when the folders of a program grew over [Caps].Disk; [Cage.Filled] says it in words.
func (c *Cage) Full() <-chan struct{} { return c.full }

// Filled is the error of a full cage.
func (c *Cage) Filled() error { return &FullError{Most: c.leash.Caps.Disk} }

// Ended is closed when the proxy lets nothing more through: a cap is reached, the meter said so, or the cage is closed. It is nil
// without a proxy.
func (c *Cage) Ended() <-chan struct{} {
	if c.proxy == nil {
		return nil
	}
	return c.proxy.ctx.Done()
}

// Stopped is why the proxy lets nothing more through, a [*StoppedError]; nil while it does, and when the cage was only closed.
func (c *Cage) Stopped() error {
	if c.proxy == nil {
		return nil
	}
	if err, ok := errors.AsType[*StoppedError](context.Cause(c.proxy.ctx)); ok {
		return err
	}
	return nil
}

// Stop ends what is under way to the model and lets nothing more through, for that reason. The programs go on; they are told the reason
// when they try.
func (c *Cage) Stop(reason string) {
	if c.proxy != nil {
		c.proxy.stop(&StoppedError{Reason: reason})
	}
}

// Close ends what Open made. Further calls do nothing.
func (c *Cage) Close() {
	c.close.Do(func() {
		if c.proxy != nil {
			c.proxy.close()
		}
		c.mu.Lock()
		disks := c.disks
		c.mu.Unlock()
		for _, q := range disks {
			q.close()
		}
	})
}

// StoppedError says that a cage lets nothing more through to the model.
type StoppedError struct{ Reason string }

// Error is the reason in a sentence.
func (e *StoppedError) Error() string { return "the way to the model is closed: " + e.Reason }
