package bus

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"

	"arbiter/amp"
)

// MaxHeld is how many tasks a host of agents may ask about at once.
const MaxHeld = 1000

// Ended are those of the tasks of which a host of agents still has files that have ended: it will not be asked about them again.
func (b *Bus) Ended(ctx context.Context, who Caller, agent string, held []amp.Workspace) ([]amp.TaskID, error) {
	if err := b.hosts(who, agent); err != nil {
		return nil, err
	}
	if len(held) > MaxHeld {
		return nil, refusal("BUS-066", "tasks", "it names %d tasks; at most %d at once", len(held), MaxHeld)
	}
	if b.cfg.Ended == nil {
		return nil, nil
	}
	return b.cfg.Ended(ctx, held)
}

// hosts refuses a caller that does not speak for an agent with a clone of its own.
func (b *Bus) hosts(who Caller, agent string) error {
	b.mu.Lock()
	d := b.state.agents[agent]
	m := b.cfg.Members[agent]
	b.mu.Unlock()
	switch {
	case d == nil:
		return ErrNotRegistered
	case !who.owns(d):
		return refusal("BUS-066", "agent_id", "agent %s is registered by another token", quoted(agent))
	case !m.Repository:
		return refusal("BUS-066", "agent_id", "agent %s is not configured with repository = true", quoted(agent))
	}
	return nil
}

// Diff opens the diff that an open request is about; the caller closes it.
func (b *Bus) Diff(who Caller, agent, id string) (*os.File, error) {
	e, err := b.errand(who, agent, id)
	if err != nil {
		return nil, err
	}
	for _, kv := range slices.Backward(e.run.turn.Env) {
		if name, is := strings.CutPrefix(kv, "ARBITER_DIFF="); is {
			f, err := os.Open(name)
			if errors.Is(err, fs.ErrNotExist) {
				return nil, refusal("BUS-066", "message_id", "the diff of the request is gone")
			}
			return f, err
		}
	}
	return nil, refusal("BUS-066", "message_id", "the request is about no diff")
}
