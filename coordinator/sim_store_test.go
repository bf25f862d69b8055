package coordinator

import (
	"context"
	"errors"

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
}

var errDied = errors.New("the process died")

func (g *simGate) Append(ctx context.Context, records []amp.Record) ([]ssot.Appended, error) {
	if g.n.down {
		return nil, errDied
	}
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
	if dies && !g.after {
		return nil, errDied
	}
	appended, err := g.Log.Append(ctx, records)
	if err == nil {
		g.s.judge.stored(g.n, appended)
	}
	if dies {
		return nil, errDied
	}
	return appended, err
}
