package bus

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"arbiter/amp"
)

// A fault of the program may leave the state half changed, or without what the journal holds already. Everything durable is in the journal, and
// nothing but Run writes there, so after a fault Run reads the state from the journal anew and goes on: sessions and turns stay, and what
// was under way is answered with [ErrClosed], upon which its sender sends it again under the same id.

// The faults that are borne: so many within that time. A bus that breaks more often is ended, and its coordinator with it: turns that asked
// a bus which is not there would count as failed.
const (
	maxFaults = 3
	faultSpan = 10 * time.Minute
)

// errFault is what became of what was under way.
var errFault = fmt.Errorf("a fault of the program, which is in its log: %w", ErrClosed)

// sound runs a part of the bus and reports whether it ended without a panic, which is noted.
func (b *Bus) sound(what string, f func()) (ok bool) {
	defer func() { ok = noted(b.cfg.Logger, what, recover()) }()
	f()
	return true
}

// noted says loudly that something broke off with a panic, and reports whether it did not.
func noted(logger *slog.Logger, what string, why any) bool {
	if why == nil {
		return true
	}
	logger.Error("the bus broke off with a panic", "in", what, "panic", why, "stack", string(debug.Stack()))
	return false
}

// abandon answers the ops that have no outcome since their writing broke off.
func (b *Bus) abandon() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, o := range b.batch {
		select {
		case <-o.done:
		default:
			o.err = errFault
			b.release(o)
			close(o.done)
		}
	}
}

// mend puts the state of the journal in the place of one that may be damaged.
func (b *Bus) mend(ctx context.Context) error {
	now := time.Now()
	for len(b.faults) > 0 && now.Sub(b.faults[0]) > faultSpan {
		b.faults = b.faults[1:]
	}
	if b.faults = append(b.faults, now); len(b.faults) > maxFaults {
		return fmt.Errorf("the bus broke off %d times in %s: each is in the log as a panic", len(b.faults), faultSpan)
	}
	if b.cfg.Replay == nil {
		return errFault
	}
	state, err := b.cfg.Replay(ctx)
	switch {
	case ctx.Err() != nil:
		return nil
	case err != nil:
		return fmt.Errorf("read the state of the bus anew: %w", err)
	}
	if !b.sound("putting its state in place", func() { b.renew(state) }) {
		return errFault
	}
	b.cfg.Logger.Warn("the bus goes on with its state from the journal")
	return nil
}

// renew takes a state over, with what is not folded of the one before.
func (b *Bus) renew(state *State) {
	b.mu.Lock()
	defer b.mu.Unlock()
	was := b.state
	b.state = state
	for id := range state.agents {
		if b.live[id] == nil {
			b.live[id] = &live{since: time.Now()}
		}
	}
	sessions := []*Session{b.late}
	for agent, all := range b.sessions {
		sessions = append(sessions, all...)
		if state.agents[agent] == nil {
			b.end(agent, ErrRemoved)
		}
	}
	for _, s := range sessions {
		clear(s.held)
	}
	for k, it := range was.items {
		if it == nil {
			continue
		}
		next := state.items[k]
		if next == nil {
			if it.confirm != nil {
				close(it.confirm)
			}
			continue
		}
		next.attempts, next.due, next.until, next.confirm = it.attempts, it.due, it.until, it.confirm
		if it.holder != nil && it.holder.why == nil {
			next.holder = it.holder
			it.holder.held[k] = next
		}
	}
	for _, s := range sessions {
		s.signal()
	}
	b.hurry()
}

// Replay is the state that a journal leaves. read returns the entries of the bus after one, none at the end. An entry that cannot be folded
// is left out, and said: one that is not understood, and one that the fold breaks off at.
func Replay(read func(after uint64) ([]amp.Entry, error), logger *slog.Logger) (*State, error) {
	return replay(read, (*State).ApplyEntry, logger)
}

func replay(read func(after uint64) ([]amp.Entry, error), apply func(*State, *amp.Entry) error, logger *slog.Logger) (*State, error) {
	broken := map[uint64]bool{}
again:
	state := NewState()
	for after := uint64(0); ; {
		page, err := read(after)
		if err != nil || len(page) == 0 {
			return state, err
		}
		for i := range page {
			e := &page[i]
			after = e.Seq
			if broken[e.Seq] {
				continue
			}
			whole, err := foldOne(state, e, apply, logger)
			if !whole { // half of it may be in the state
				broken[e.Seq] = true
				goto again
			}
			if err != nil {
				logger.Warn("an entry of the bus is not understood", "seq", e.Seq, "err", err)
			}
		}
	}
}

func foldOne(s *State, e *amp.Entry, apply func(*State, *amp.Entry) error, logger *slog.Logger) (whole bool, err error) {
	defer func() { whole = noted(logger, fmt.Sprintf("folding entry %d, which is left out", e.Seq), recover()) }()
	return true, apply(s, e)
}
