package coordinator

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"arbiter/amp"
	"arbiter/ssot"
)

// defaultLease is how long a lease lasts without a renewal; it is renewed three times in it.
const defaultLease = 30 * time.Second

// presence marks the lease by which a coordinator shows that it is there. No task has an id like that.
const presence = "@"

// tenure is a lease that this coordinator holds, as it was when it was given: whoever works under it reads that, so that until when it was
// prolonged is not in it. What is done for the task is done under its context, which ends with the lease.
type tenure struct {
	ssot.Lease
	ctx   context.Context
	end   context.CancelFunc
	timer *time.Timer
	// ends is when it is lost unless it is renewed, by this machine's own clock. On a machine that stood still the timer fires late.
	ends atomic.Pointer[time.Time]
}

// absence is why a task cannot be worked on here, as it was found at a time.
type absence struct {
	why string
	at  time.Time
}

func (h *tenure) lost() bool {
	return h != nil && (h.ctx.Err() != nil || !time.Now().Before(*h.ends.Load()))
}

// last lets it last until a time.
func (h *tenure) last(until time.Time) {
	h.ends.Store(&until)
	h.timer.Reset(time.Until(until))
}

// team is this coordinator among the others that write its journal. It is safe for concurrent use: leases are watched over while the
// loop waits for the store.
type team struct {
	log    ssot.Shared
	owner  string
	ttl    time.Duration
	clock  func() time.Time
	logger *slog.Logger
	// kick wakes the goroutine that takes and gives back leases.
	kick chan struct{}

	mu   sync.Mutex
	held map[amp.TaskID]*tenure
	// given are leases that are to be given back, seen those of everybody when they were last asked for.
	given []ssot.Lease
	// turned are tasks whose lease was lost, for the loop to look at.
	turned []amp.TaskID
	seen   []ssot.Lease
	// looked is when seen was asked for.
	looked time.Time
	// offset is how far the store's clock is ahead of this machine's.
	offset   time.Duration
	measured bool
	// absent are the tasks that cannot be worked on here, and why.
	absent map[amp.TaskID]absence
	// broken is since when the store has not answered, zero while it does.
	broken time.Time
	// parcels are what other machines can get of the tasks of this one, incoming what is being fetched, a few at once.
	parcels  map[amp.TaskID]*parcel
	incoming map[amp.TaskID]bool
	slots    chan struct{}
}

func newTeam(cfg *Config, log ssot.Shared) *team {
	return &team{
		log: log, owner: cfg.Owner, ttl: cfg.Lease, clock: cfg.Now, logger: cfg.Logger, kick: make(chan struct{}, 1),
		held: map[amp.TaskID]*tenure{}, absent: map[amp.TaskID]absence{}, parcels: map[amp.TaskID]*parcel{}, incoming: map[amp.TaskID]bool{},
		slots: make(chan struct{}, maxIncoming),
	}
}

// tasks are the tasks whose lease is held.
func (m *team) tasks() []amp.TaskID {
	m.mu.Lock()
	defer m.mu.Unlock()
	ids := make([]amp.TaskID, 0, len(m.held))
	for id, h := range m.held {
		if !h.lost() {
			ids = append(ids, id)
		}
	}
	return ids
}

// away reports whether a task was found to be one for other machines, a short while ago.
func (m *team) away(id amp.TaskID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	a, found := m.absent[id]
	return found && time.Since(a.at) < m.ttl
}

func (m *team) noteAway(id amp.TaskID, why string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if why == "" {
		delete(m.absent, id)
		return
	}
	m.absent[id] = absence{why: why, at: time.Now()}
}

// tenure is the lease on a task, nil when it is not held.
func (m *team) tenure(id amp.TaskID) *tenure {
	m.mu.Lock()
	defer m.mu.Unlock()
	if h := m.held[id]; h != nil && !h.lost() {
		return h
	}
	return nil
}

func (m *team) wake() {
	select {
	case m.kick <- struct{}{}:
	default:
	}
}

// spare is the part of a lease before whose end everything under it has been told to stop: it must be gone when another owner begins.
func (m *team) spare() time.Duration { return m.ttl / 6 }

// enter notes leases that were given by a call that was sent at a time: from then on they last on this machine's own clock, whatever time
// of day it shows. One that is held already, or was to be given back, is simply kept.
func (m *team) enter(leases []ssot.Lease, sent, answered time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	until := m.until(sent)
	for _, l := range leases {
		m.given = slices.DeleteFunc(m.given, func(g ssot.Lease) bool { return g.Task == l.Task })
		h := m.held[l.Task]
		if h != nil && (h.Epoch != l.Epoch || h.lost()) {
			m.drop(h)
			h = nil
		}
		if h == nil {
			h = &tenure{Lease: l}
			h.ctx, h.end = context.WithCancel(context.Background())
			h.timer = time.AfterFunc(time.Until(until), func() { m.lapse(h) })
			m.held[l.Task] = h
		}
		h.last(until)
	}
	m.compare(leases, sent, answered)
}

// prolong notes leases that were renewed. One that lapsed here meanwhile stays lost, although the store has it as this coordinator's again:
// a task is begun with by taking it, which makes its branch ready first.
func (m *team) prolong(leases []ssot.Lease, sent, answered time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, l := range leases {
		if h := m.held[l.Task]; h != nil && h.Epoch == l.Epoch && !h.lost() {
			h.last(m.until(sent))
		}
	}
	m.compare(leases, sent, answered)
}

// until is how long a lease that was asked for at a time lasts here.
func (m *team) until(sent time.Time) time.Time { return sent.Add(m.ttl - m.spare()) }

// lapse ends a lease that was not renewed in time.
func (m *team) lapse(h *tenure) {
	h.end()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.held[h.Task] == h {
		delete(m.held, h.Task)
	}
	m.turned = append(m.turned, h.Task)
	m.wake()
}

// changed are the tasks whose lease was lost since it was last called, in order.
func (m *team) changed() []amp.TaskID {
	m.mu.Lock()
	defer m.mu.Unlock()
	ids := m.turned
	m.turned = nil
	slices.Sort(ids) // many end in one moment, in any order
	return ids
}

// compare compares the clocks by leases that a call brought.
func (m *team) compare(leases []ssot.Lease, sent, answered time.Time) {
	if len(leases) > 0 {
		m.measure(leases[0].Until.Add(-m.ttl), sent, answered)
	}
}

// measure compares the clocks: the store's was at a time while a call was under way.
func (m *team) measure(store, sent, answered time.Time) {
	took := answered.Sub(sent)
	offset := store.Sub(m.clock().Add(-time.Since(answered) - took/2).Round(0))
	if !m.measured || (offset-m.offset).Abs() > took+time.Second {
		if offset.Abs() > 2*time.Second {
			m.logger.Warn("this machine's clock differs from the store's; times are taken by the store's", "by", offset.Round(time.Millisecond))
		}
		m.offset, m.measured = offset, true
	}
}

func (m *team) skew() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.offset
}

// leave gives the lease on a task back, soon.
func (m *team) leave(id amp.TaskID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	h := m.held[id]
	if h == nil {
		return
	}
	m.drop(h)
	m.given = append(m.given, h.Lease)
	m.wake()
}

// handBack gives a lease back, soon, that was taken and is not held yet.
func (m *team) handBack(l ssot.Lease) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.given = append(m.given, l)
	m.wake()
}

func (m *team) drop(h *tenure) {
	h.end()
	h.timer.Stop()
	delete(m.held, h.Task)
}

// renew prolongs every lease, drops what was lost, and shows that this coordinator is there.
func (m *team) renew(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, m.ttl/3)
	defer cancel()
	m.mu.Lock()
	held := make([]ssot.Lease, 0, len(m.held))
	for _, h := range m.held {
		held = append(held, h.Lease)
	}
	m.mu.Unlock()
	sent := time.Now()
	kept, err := m.log.Renew(ctx, m.ttl, held)
	if err != nil {
		return err
	}
	m.prolong(kept, sent, time.Now())
	m.forget(held, kept)
	me := amp.TaskID(presence + m.owner)
	if m.tenure(me) == nil {
		sent = time.Now()
		mine, err := m.log.Take(ctx, m.owner, m.ttl, 1, []amp.TaskID{me})
		if err != nil {
			return err
		}
		m.enter(mine, sent, time.Now())
	}
	return m.look(ctx)
}

// forget drops what was asked to be prolonged and was not.
func (m *team) forget(asked, kept []ssot.Lease) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, l := range asked {
		h := m.held[l.Task]
		if h == nil || h.Epoch != l.Epoch || slices.ContainsFunc(kept, func(k ssot.Lease) bool { return k.Task == l.Task && k.Epoch == l.Epoch }) {
			continue
		}
		m.logger.Warn("the lease on a task was lost; its work here ends", "task", l.Task, "epoch", l.Epoch)
		m.drop(h)
		m.turned = append(m.turned, l.Task)
		m.wake()
	}
}

// look asks who owns what.
func (m *team) look(ctx context.Context) error {
	all, err := m.log.Owners(ctx)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.seen, m.looked = all, time.Now()
	return nil
}

// outdated reports whether it is time to ask again who owns what.
func (m *team) outdated() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return time.Since(m.looked) >= m.ttl/60
}

// others are the owners of tasks as last seen, but this coordinator, and who was there.
func (m *team) others() (owners map[amp.TaskID]string, there map[string]bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	owners, there = map[amp.TaskID]string{}, map[string]bool{}
	for _, l := range m.seen {
		if name, is := strings.CutPrefix(string(l.Task), presence); is {
			there[name] = true
		} else if l.Owner != m.owner {
			owners[l.Task] = l.Owner
		}
	}
	return owners, there
}

// keep renews until ctx ends.
func (m *team) keep(ctx context.Context) {
	every := m.ttl / 3
	for {
		wait := every
		if err := m.renew(ctx); err != nil && ctx.Err() == nil {
			m.logger.Error("the leases could not be renewed", "err", err)
			wait = every / 5
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// giveBack releases what is to be given back.
func (m *team) giveBack(ctx context.Context) error {
	m.mu.Lock()
	given := m.given
	m.given = nil
	m.mu.Unlock()
	if len(given) == 0 {
		return nil
	}
	return m.log.Release(ctx, given) // on an error they lapse
}

// quit gives everything back.
func (m *team) quit(ctx context.Context) error {
	m.mu.Lock()
	for _, h := range m.held {
		m.given = append(m.given, h.Lease)
		m.drop(h)
	}
	m.mu.Unlock()
	return m.giveBack(ctx)
}

// answers notes whether the store answers; it reports the first error of several.
func (m *team) answers(err error) (first bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err == nil {
		if !m.broken.IsZero() {
			m.logger.Info("the journal's store answers again", "after", time.Since(m.broken).Round(time.Millisecond))
		}
		m.broken = time.Time{}
		return false
	}
	if !m.broken.IsZero() {
		return false
	}
	m.broken = time.Now()
	return true
}

// settled reports whether an error of a Shared says what became of the call. After any other the outcome is not known, or the
// store is out of reach.
func settled(err error) bool {
	if _, damaged := errors.AsType[*ssot.DamagedError](err); damaged {
		return true // no answer will be a better one
	}
	for _, known := range []error{ssot.ErrStale, ssot.ErrFenced, ssot.ErrFull, ssot.ErrInvalid, ssot.ErrClosed, ssot.ErrConflict} {
		if errors.Is(err, known) {
			return true
		}
	}
	return err == nil
}

// state is what is known of the team.
func (m *team) state() *amp.TeamState {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := &amp.TeamState{Owner: m.owner, OffsetMS: m.offset.Milliseconds(), Members: []amp.TeamMember{}, Owned: []amp.TeamTask{}}
	count := map[string]int{}
	for _, l := range m.seen {
		if !strings.HasPrefix(string(l.Task), presence) && !strings.HasPrefix(string(l.Task), dutyMark) {
			count[l.Owner]++
			s.Owned = append(s.Owned, amp.TeamTask{TaskID: l.Task, Owner: l.Owner, Epoch: l.Epoch, Until: l.Until})
		}
	}
	for _, l := range m.seen {
		if name, is := strings.CutPrefix(string(l.Task), presence); is {
			s.Members = append(s.Members, amp.TeamMember{Owner: name, Tasks: count[name], Duties: m.duties(name), Until: l.Until})
		}
	}
	for id, a := range m.absent {
		if time.Since(a.at) > 2*m.ttl { // it waits no more, or this would have been found again
			continue
		}
		s.Away = append(s.Away, amp.TeamTask{TaskID: id, Why: a.why})
	}
	s.Kept = m.kept()
	slices.SortFunc(s.Members, func(a, b amp.TeamMember) int { return strings.Compare(a.Owner, b.Owner) })
	slices.SortFunc(s.Away, func(a, b amp.TeamTask) int { return strings.Compare(string(a.TaskID), string(b.TaskID)) })
	if !m.broken.IsZero() {
		at := m.broken
		s.Unreached = &at
	}
	return s
}
