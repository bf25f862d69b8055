package events

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"sync"

	"arbiter/amp"

	"github.com/google/uuid"
)

// Position is a place in the stream of events: N events of entry Seq, and all of the entries before it, have been dealt with.
type Position struct {
	Seq uint64 `json:"seq"`
	N   int    `json:"n"`
}

// Delivery is an event with the position after it.
type Delivery struct {
	Published
	At Position
}

// FollowFunc calls batch with the entries after seq, in order and without gaps, until ctx ends or batch fails.
type FollowFunc func(ctx context.Context, after uint64, batch func([]amp.Entry) error) error

// Publisher hands out the events of a journal, to any number of receivers at any positions. A receiver that is slow holds up nobody:
// what it has not had yet is derived when it asks for it. It is safe for concurrent use.
type Publisher struct {
	// Logger is told of an event that is not sent because it breaks a rule itself (EVT-081); nil is nobody. It is set before the first use.
	Logger *slog.Logger

	deriver *Deriver
	read    ReadFunc
	follow  FollowFunc

	// deriving is held while an entry is derived: who waits for it finds the events of the others.
	deriving sync.Mutex

	mu sync.Mutex
	// recent are the events of the last entries that were derived, so that many receivers at the end cost as much as one.
	recent map[uint64][]Published
	order  []uint64
}

// maxRecent bounds how many entries' events are kept.
const maxRecent = 4096

// NewPublisher returns a publisher of the journal that read and follow reach.
func NewPublisher(read ReadFunc, follow FollowFunc) *Publisher {
	return &Publisher{deriver: NewDeriver(read), read: read, follow: follow, recent: map[uint64][]Published{}}
}

// Subscribe calls each with the events after a position whose types are selected, in the order of their entries, at least once; those
// of one task stay in order. With no events it is called too, now and then, with how far the journal was looked through.
func (p *Publisher) Subscribe(ctx context.Context, from Position, types []string, each func([]Delivery, Position) error) error {
	after := from.Seq
	if from.N > 0 {
		after-- // the entry has further events
	}
	return p.follow(ctx, after, func(batch []amp.Entry) error {
		var out []Delivery
		for i := range batch {
			all, err := p.events(ctx, &batch[i])
			if err != nil {
				return err
			}
			for n := range all {
				if skip := batch[i].Seq == from.Seq && n < from.N; !skip && Match(types, all[n].Type) {
					out = append(out, Delivery{Published: all[n], At: Position{Seq: batch[i].Seq, N: n + 1}})
				}
			}
		}
		return each(out, Position{Seq: batch[len(batch)-1].Seq})
	})
}

// events are those of one entry, derived once for all who ask at about the same time.
func (p *Publisher) events(ctx context.Context, e *amp.Entry) ([]Published, error) {
	if all, ok := p.remembered(e.Seq); ok {
		return all, nil
	}
	p.deriving.Lock()
	defer p.deriving.Unlock()
	if all, ok := p.remembered(e.Seq); ok {
		return all, nil
	}
	derived, err := p.derive(ctx, e)
	if err != nil {
		return nil, err
	}
	all, err := p.sound(derived)
	if err == nil {
		p.remember(e.Seq, all)
	}
	return all, err
}

// derive makes a fault of the program an error: what waits for the events of one entry must not end the process. What was folded may be half
// changed then, and is folded anew.
func (p *Publisher) derive(ctx context.Context, e *amp.Entry) (out []Event, err error) {
	defer func() {
		why := recover()
		if why == nil {
			return
		}
		p.deriver, err = NewDeriver(p.read), fmt.Errorf("derive the events of entry %d: a fault of the program, which is in its log", e.Seq)
		if p.Logger != nil {
			p.Logger.Error("deriving events broke off with a panic", "seq", e.Seq, "panic", why, "stack", string(debug.Stack()))
		}
	}()
	return p.deriver.Derive(ctx, e)
}

// sound are the events that may be sent: one that its receivers would refuse holds up none behind it.
func (p *Publisher) sound(derived []Event) ([]Published, error) {
	all := make([]Published, 0, len(derived))
	for i := range derived {
		line, err := derived[i].Encode()
		if err != nil {
			return nil, err
		}
		if err = Check(&derived[i]); err == nil && len(line) > MaxEvent {
			err = &amp.InvalidError{Problems: []amp.Problem{{Rule: "EVT-001", Message: fmt.Sprintf("has %d bytes, the limit is %d", len(line), MaxEvent)}}}
		}
		if err == nil {
			all = append(all, Published{derived[i], line})
		} else if p.Logger != nil {
			p.Logger.Error("an event is not sent: it breaks a rule", "event", derived[i].ID, "type", derived[i].Type, "err", err)
		}
	}
	return all, nil
}

func (p *Publisher) remembered(seq uint64) (all []Published, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	all, ok = p.recent[seq]
	return all, ok
}

func (p *Publisher) remember(seq uint64, all []Published) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.recent[seq] = all
	p.order = append(p.order, seq)
	if len(p.order) > maxRecent {
		delete(p.recent, p.order[0])
		p.order = p.order[1:]
	}
}

// UnknownError says that no event has this id.
type UnknownError struct{ ID string }

// Error names the id.
func (e *UnknownError) Error() string { return fmt.Sprintf("there is no event %q", clip(e.ID, 60)) }

// Find returns an event by its id, with the position after it. The id of an event is made of the id of its entry, so nothing has to be
// derived to find that; the newest entries are looked through first. It is [*UnknownError] when there is none.
func (p *Publisher) Find(ctx context.Context, id string) (*Delivery, error) {
	id = strings.ToLower(id)
	if !uuidForm.MatchString(id) {
		return nil, &UnknownError{ID: id}
	}
	for before := uint64(0); ; {
		page, err := p.read(ctx, amp.Filter{Newest: true, Before: before})
		if err != nil {
			return nil, fmt.Errorf("find event %s: %w", id, err)
		}
		for i := range page {
			if !mayHave(&page[i], id) {
				continue
			}
			all, err := p.events(ctx, &page[i])
			if err != nil {
				return nil, err
			}
			for n := range all {
				if all[n].ID == id {
					return &Delivery{Published: all[n], At: Position{Seq: page[i].Seq, N: n + 1}}, nil
				}
			}
		}
		if len(page) == 0 || page[len(page)-1].Seq <= 1 {
			return nil, &UnknownError{ID: id}
		}
		before = page[len(page)-1].Seq
	}
}

// mayHave reports whether an entry could have the event with this id: one of its types and its first two numbers give it.
func mayHave(e *amp.Entry, id string) bool {
	if !mayHaveEvents(e) {
		return false
	}
	name := make([]byte, 0, 128)
	for typ := range catalog() {
		for n := byte('0'); n < '2'; n++ {
			name = append(append(append(append(name[:0], e.ID...), '/'), typ...), '/', n)
			if sum := uuid.NewSHA1(namespace, name); sum.String() == id {
				return true
			}
		}
	}
	return false
}
