package coordinator

import (
	"slices"
	"testing/synctest"
	"time"

	"arbiter/amp"
)

// simLease is how long a lease lasts in the simulation: far longer than the ordinary steps of time.
const simLease = 10 * time.Minute

// simAwake is how long a machine that stood still may take to see that its leases are gone.
const simAwake = 2 * time.Second

// enlist makes the coordinator one of its team, as [Coordinator.enlist] does: what goes on beside the loop are fibers.
func (n *simNode) enlist() {
	s, c := n.s, n.c
	c.recallParcels(n.life)
	_ = c.team.renew(n.life)
	chore := func(name string, every time.Duration, when func() bool, f func()) {
		s.spawn(n, name+" of "+n.name, func() {
			me := s.running
			me.chore = true
			for {
				f()
				me.when = when
				s.rest(n.life, every)
			}
		}).chore = true
	}
	chore("the renewals", simLease/3, nil, func() { _ = c.team.renew(n.life) })
	chore("the recruiter", simLease/15, nil, func() { c.recruitOnce(n.life) })
	chore("the follower", 0, func() bool { return uint64(len(s.judge.entries)) > c.hub.seen() && n.runs() }, func() {
		_, _ = c.call(n.life, fromWork, "", func(time.Time) ([]amp.Record, error) { return nil, c.catchUp(c.life) })
	})
}

// fall is what a death takes with it: the machine, its timers and its processes.
func (n *simNode) fall() {
	if n.c.team == nil {
		return
	}
	for _, h := range n.c.team.held {
		h.timer.Stop()
	}
	for _, p := range n.s.order {
		if p.node == n {
			p.alive = false
		}
	}
}

// trouble is what only one of several can have.
func (n *simNode) trouble() {
	s := n.s
	switch k := s.rng.IntN(6); {
	case n.paused:
		n.goOn()
	case n.apart:
		n.apart = false
		s.tell("%s reaches the store again", n.name)
	case k < 2:
		n.paused = true
		s.counts["stopped machines"]++
		s.tell("%s stands still", n.name)
		for _, h := range n.c.team.held {
			h.timer.Stop()
		}
	case k < 4:
		n.apart = true
		s.counts["partitions"]++
		s.tell("%s does not reach the store", n.name)
	case k < 5:
		n.gate.cut = 1 + s.rng.IntN(6)
		s.tell("calls of %s fail", n.name)
	default:
		n.gate.lost = true
		s.tell("an answer to %s will be lost", n.name)
	}
}

// goOn lets a machine go on that stood still: its timers fire, but maybe not before everything else.
func (n *simNode) goOn() {
	if !n.paused {
		return
	}
	n.paused, n.goesOn = false, time.Now()
	n.s.tell("%s goes on", n.name)
	m := n.c.team
	var ids []amp.TaskID
	for id := range m.held {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		h := m.held[id]
		left := time.Until(h.Until.Add(-m.spare()))
		if left <= 0 {
			left = time.Duration(1+n.s.rng.Int64N(int64(simAwake/time.Millisecond))) * time.Millisecond
		}
		h.timer.Reset(left)
	}
}

// sleep lets time pass, and lets the chores go on meanwhile that are due.
func (s *sim) sleep(d time.Duration) {
	if s.members == 1 {
		time.Sleep(d)
		return
	}
	for end := time.Now().Add(d); ; {
		step := time.Until(end)
		var due *fiber
		for _, f := range s.fibers {
			if f.chore && f.request == nil && f.when == nil && !f.due.IsZero() && !f.node.paused && time.Until(f.due) < step {
				due, step = f, max(0, time.Until(f.due))
			}
		}
		time.Sleep(step)
		synctest.Wait()
		if due == nil {
			break
		}
		due.resume()
	}
	for _, n := range s.nodes {
		if !n.down {
			n.c.team.mu.Lock()
			s.counts["leases lost"] += len(n.c.team.turned)
			n.c.team.mu.Unlock()
		}
	}
}
