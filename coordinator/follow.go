package coordinator

import (
	"context"
	"sync"

	"arbiter/amp"
)

// hub tells followers that the journal has grown.
type hub struct {
	mu sync.Mutex
	// head is the last stored seq; grown is closed and replaced when it grows.
	head  uint64
	grown chan struct{}
}

func (h *hub) publish(head uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if head == h.head {
		return
	}
	h.head = head
	if h.grown != nil {
		close(h.grown)
		h.grown = nil
	}
}

func (h *hub) wait() (head uint64, grown <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.grown == nil {
		h.grown = make(chan struct{})
	}
	return h.head, h.grown
}

// seen is the last entry that was published.
func (h *hub) seen() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.head
}

// followPage is how many entries one batch of Follow holds at most.
const followPage = 500

// Follow calls batch with the entries after seq, in order and without gaps, until ctx ends or batch fails; it returns that
// error. A slow batch holds up nobody: entries are read again from the journal. Their bodies are shared with others and stay as they are.
func (c *Coordinator) Follow(ctx context.Context, after uint64, batch func([]amp.Entry) error) error {
	for {
		head, grown := c.hub.wait()
		for after < head {
			entries := c.recent.after(after, head, followPage)
			if entries == nil {
				var err error
				if entries, err = c.cfg.Log.Read(ctx, amp.Filter{After: after, Limit: followPage}); err != nil {
					return err
				}
			}
			if len(entries) == 0 {
				break
			}
			if err := batch(entries); err != nil {
				return err
			}
			after = entries[len(entries)-1].Seq
		}
		select {
		case <-grown:
		case <-c.closed:
			return ErrNotRunning
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
