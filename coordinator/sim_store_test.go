package coordinator

import (
	"context"
	"errors"
	"time"

	"arbiter/amp"
	"arbiter/ssot"
	"arbiter/ssot/memory"
)

// simGate is a coordinator's way to the store.
type simGate struct {
	*memory.Log
	s *sim
	n *simNode
	// dies is at which append from now on the process dies, before or after it was stored; full how many appends find no space.
	dies  int
	after bool
	full  int
	// cut is how many calls fail, lost that the next append is stored and its answer is lost.
	cut  int
	lost bool
}

// pass lets a call through to the store, or not.
func (g *simGate) pass() error {
	switch {
	case g.n.down:
		return errDied
	case g.n.apart:
		return errCut
	case g.cut > 0:
		g.cut--
		g.s.counts["failed calls"]++
		return errCut
	}
	return nil
}

// AppendJudged is an append of one of several.
func (g *simGate) AppendJudged(ctx context.Context, j ssot.Judged, records []amp.Record) ([]ssot.Appended, error) {
	if err := g.pass(); err != nil {
		return nil, err
	}
	return g.write(func() ([]ssot.Appended, error) {
		if g.s.blind {
			return g.Log.Append(ctx, records)
		}
		appended, err := g.Log.AppendJudged(ctx, j, records)
		switch {
		case errors.Is(err, ssot.ErrStale):
			g.s.counts["stale appends"]++
		case errors.Is(err, ssot.ErrFenced):
			g.s.counts["fenced appends"]++
		}
		return appended, err
	})
}

// Read reads for a coordinator.
func (g *simGate) Read(ctx context.Context, f amp.Filter) ([]amp.Entry, error) {
	if err := g.pass(); err != nil && g.s.members > 1 {
		return nil, err
	}
	return g.Log.Read(ctx, f)
}

// Take, Renew, Release and Owners are about leases.
func (g *simGate) Take(ctx context.Context, owner string, ttl time.Duration, limit int, tasks []amp.TaskID) ([]ssot.Lease, error) {
	if err := g.pass(); err != nil {
		return nil, err
	}
	return g.Log.Take(ctx, owner, ttl, limit, tasks)
}

func (g *simGate) Renew(ctx context.Context, ttl time.Duration, held []ssot.Lease) ([]ssot.Lease, error) {
	if err := g.pass(); err != nil {
		return nil, err
	}
	return g.Log.Renew(ctx, ttl, held)
}

func (g *simGate) Release(ctx context.Context, held []ssot.Lease) error {
	if err := g.pass(); err != nil {
		return err
	}
	return g.Log.Release(ctx, held)
}

func (g *simGate) Owners(ctx context.Context) ([]ssot.Lease, error) {
	if err := g.pass(); err != nil {
		return nil, err
	}
	return g.Log.Owners(ctx)
}

var errDied = errors.New("the process died")

func (g *simGate) Append(ctx context.Context, records []amp.Record) ([]ssot.Appended, error) {
	if g.n.down {
		return nil, errDied
	}
	return g.write(func() ([]ssot.Appended, error) { return g.Log.Append(ctx, records) })
}

// write is an append that may find no space, or be the last thing that the process does.
func (g *simGate) write(store func() ([]ssot.Appended, error)) ([]ssot.Appended, error) {
	if g.full > 0 {
		g.full--
		g.s.counts["full disks"]++
		return nil, ssot.ErrFull
	}
	dies := false
	if g.dies > 0 {
		g.dies--
		dies = g.dies == 0
	}
	if dies {
		g.n.end() // nobody asks a second time
	}
	if dies && !g.after {
		return nil, errDied
	}
	appended, err := store()
	if err == nil {
		g.s.judge.stored(g.n, appended)
	}
	if dies {
		return nil, errDied
	}
	if g.lost && err == nil {
		g.lost = false
		g.s.counts["lost answers of the store"]++
		return nil, errCut
	}
	return appended, err
}
