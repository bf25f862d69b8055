package bus

import (
	"context"
	"fmt"
	"sync"
	"time"

	"arbiter/amp"
)

// Bus takes messages in and hands them out. Its methods are safe for concurrent use; those that write need Run to be running.
type Bus struct {
	cfg     Config
	started time.Time
	ops     chan *op
	kick    chan struct{} // a deadline may have come nearer
	closed  chan struct{}

	mu       sync.Mutex
	state    *State
	live     map[string]*live
	sessions map[string][]*Session
	pending  map[Key]*op
	reserved map[string]room // what is on its way to the journal, by recipient
	complain map[string]*budget
	entering map[string]string // registrations on their way to the journal, by agent id: whose
	count    counts
	desk     desk
	late     *Session // holds answers that were taken, see keepAnswer

	// For Run alone: the faults of the last time, and what was written last.
	faults []time.Time
	batch  []*op
}

// live is what is known of an agent only while the bus runs.
type live struct {
	beat   time.Time // the last heartbeat
	since  time.Time // when it registered or connected
	polled time.Time
	said   string // the status of the last heartbeat
	sick   bool
}

type room struct {
	n     int
	bytes int64
}

// op is something to be written down, and what follows once it is.
type op struct {
	facts   []Fact
	records []amp.Record // beside the facts
	key     Key
	size    int64
	done    chan struct{}
	err     error
}

// New returns a bus with the state that the journal left. It does nothing until Run. A nil state is an empty one.
func New(cfg Config, state *State) *Bus {
	cfg.defaults()
	if state == nil {
		state = NewState()
	}
	b := &Bus{
		cfg: cfg, started: time.Now(), ops: make(chan *op, maxBatch), kick: make(chan struct{}, 1), closed: make(chan struct{}), state: state,
		live: map[string]*live{}, entering: map[string]string{}, sessions: map[string][]*Session{}, pending: map[Key]*op{}, reserved: map[string]room{},
		complain: map[string]*budget{}, count: newCounts(), desk: desk{open: map[string]*errand{}},
	}
	b.late = &Session{bus: b, agent: Coordinator, via: "here", held: map[Key]*item{}}
	for id := range state.agents {
		b.live[id] = &live{since: b.started}
	}
	return b
}

// The bounds of what is written to the journal at once.
const (
	maxBatch      = 512
	maxBatchBytes = 8 << 20
)

// Run writes to the journal and watches the clocks until ctx ends. What was not written by then is refused with [ErrClosed]. After a fault of
// the program it goes on with the state that the journal has; its error says that this was no help.
func (b *Bus) Run(ctx context.Context) (err error) {
	b.sweepParcels(time.Now())
	ctx, cancel := context.WithCancel(ctx)
	broken := make(chan chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() { b.keepWatch(ctx, broken) })
	for ctx.Err() == nil && err == nil {
		select {
		case <-ctx.Done():
		case o := <-b.ops:
			if !b.sound("writing to the journal", func() { b.write(ctx, o) }) {
				err = b.mend(ctx)
				b.abandon() // not before: who tries again is told by the state of the journal that it is there
			}
			b.batch = nil
		case mended := <-broken:
			err = b.mend(ctx)
			close(mended)
		}
	}
	cancel()
	close(b.closed)
	wg.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, all := range b.sessions {
		for _, s := range all {
			s.signal()
		}
	}
	return err
}

// write appends an op and those that wait behind it at once, then folds them.
func (b *Bus) write(ctx context.Context, first *op) {
	batch, size := []*op{first}, first.size
	defer func() { b.batch = batch }()
collect:
	for len(batch) < maxBatch && size < maxBatchBytes {
		select {
		case o := <-b.ops:
			batch, size = append(batch, o), size+o.size
		default:
			break collect
		}
	}
	at := time.Now().UTC().Truncate(time.Millisecond)
	var records []amp.Record
	for _, o := range batch {
		for i := range o.facts {
			f := &o.facts[i]
			records = append(records, amp.Record{
				Kind: amp.KindBus, Role: amp.System, Actor: actorOf(f), At: at, ID: b.cfg.NewID(), Body: amp.EncodeBody(f),
			})
		}
		for _, r := range o.records {
			r.At, r.ID = at, b.cfg.NewID()
			records = append(records, r)
		}
	}
	err := b.cfg.Append(context.WithoutCancel(ctx), records)
	if err != nil {
		err = fmt.Errorf("write to the journal: %w", err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, o := range batch {
		if o.err = err; err == nil {
			for i := range o.facts {
				b.apply(&o.facts[i], at)
			}
		}
		b.release(o)
		close(o.done)
	}
}

// actorOf is who a fact is of.
func actorOf(f *Fact) string {
	switch {
	case f.By != "":
		return clip(f.By, 200)
	case f.Agent != nil:
		return clip(f.Agent.AgentID, 200)
	}
	return "bus"
}

// apply folds a fact and tells those whom it concerns. The lock is held.
func (b *Bus) apply(f *Fact, at time.Time) {
	for _, k := range f.Keys {
		if it := b.state.items[k]; it != nil && it.holder != nil {
			delete(it.holder.held, k)
		}
		if it := b.state.items[k]; it != nil && f.Event != HandedOver && it.confirm != nil {
			close(it.confirm)
			it.confirm = nil
		}
	}
	before := len(b.state.items)
	if err := b.state.Apply(f, at); err != nil {
		b.cfg.Logger.Error("fold a fact of the bus", "event", f.Event, "err", err)
	}
	b.happened(f, before)
	switch f.Event {
	case Registered:
		delete(b.entering, f.AgentID) // it counts among those that are there now
		b.live[f.AgentID] = &live{since: time.Now()}
	case Removed:
		b.end(f.AgentID, ErrRemoved)
		delete(b.live, f.AgentID)
	case Queued, Delivered, HandedOver, DeadLetter, Resent, Dropped, Withdrawn:
	}
	to := f.AgentID
	for _, k := range f.Keys {
		if it := b.state.items[k]; it != nil {
			to = it.to
		}
	}
	if to != "" {
		b.signal(to)
	}
	if f.Event != Delivered && (f.Event != Queued || f.decoded == nil || len(f.decoded.Routing.FallbackAgents) > 0) {
		b.hurry()
	}
}

// release gives back the room that an op had reserved. The lock is held.
func (b *Bus) release(o *op) {
	if o.key == (Key{}) {
		return
	}
	delete(b.pending, o.key)
	to := o.facts[0].AgentID
	r := b.reserved[to]
	if r.n--; r.n <= 0 {
		delete(b.reserved, to)
		return
	}
	r.bytes -= o.size
	b.reserved[to] = r
}

// do writes an op down and waits until that is done.
func (b *Bus) do(ctx context.Context, o *op) error {
	o.done = make(chan struct{})
	return b.wait(ctx, o)
}

// wait hands an op to the writer. Once it is there its outcome is waited for, whoever stops asking.
func (b *Bus) wait(ctx context.Context, o *op) error {
	if err := b.hand(ctx, o); err != nil {
		return err
	}
	return b.outcome(o)
}

// hand hands an op to the writer.
func (b *Bus) hand(ctx context.Context, o *op) error {
	select {
	case b.ops <- o:
		return nil
	case <-b.closed:
		o.err = ErrClosed
	case <-ctx.Done():
		o.err = ctx.Err()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.release(o)
	close(o.done)
	return o.err
}

// outcome is what became of an op that the writer has.
func (b *Bus) outcome(o *op) error {
	select {
	case <-o.done:
		return o.err
	case <-b.closed:
	}
	select { // what was written before the end was written
	case <-o.done:
		return o.err
	default:
		return ErrClosed
	}
}

// fact writes facts down.
func (b *Bus) fact(ctx context.Context, facts ...Fact) error { return b.do(ctx, &op{facts: facts}) }

// hurry lets the clocks be looked at again.
func (b *Bus) hurry() {
	select {
	case b.kick <- struct{}{}:
	default:
	}
}

// signal wakes the sessions of an agent. The lock is held.
func (b *Bus) signal(agent string) {
	for _, s := range b.sessions[agent] {
		s.signal()
	}
}
