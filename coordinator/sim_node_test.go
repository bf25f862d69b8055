package coordinator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing/synctest"
	"time"

	"arbiter/amp"
	"arbiter/ssot"
)

// simNode is one coordinator, over all its lives.
type simNode struct {
	s    *sim
	name string
	c    *Coordinator
	life context.Context
	end  context.CancelFunc
	gate *simGate
	// clone is its own repository, nil when all share one.
	clone *simClone
	// skew is how far its clock is from the true time.
	skew  time.Duration
	down  bool
	lives int
	// paused stands still with everything that it started; apart does not reach the store. goesOn is when it last went on.
	paused, apart bool
	goesOn        time.Time
}

// runs reports whether its loop goes on.
func (n *simNode) runs() bool { return !n.down && !n.paused && !n.apart }

// start begins a life of the coordinator, from what is in the journal.
func (n *simNode) start() {
	s := n.s
	n.lives++
	n.gate.dies, n.gate.full, n.gate.cut, n.gate.lost = 0, 0, 0, false
	n.paused, n.apart, n.down = false, false, false
	cfg := Config{
		Log: n.gate, Git: s.git, Home: s.home, Logger: slog.New(slog.DiscardHandler), Slots: 3,
		Agents: map[string]AgentConfig{
			"planner":  {Agent: s.agent(n, amp.Coordinator), Roles: []amp.Role{amp.Coordinator}, Vendor: "p"},
			"codex":    {Agent: s.agent(n, amp.Executor), Roles: []amp.Role{amp.Executor}, Vendor: "x", Fallback: []string{"deputy"}},
			"claude":   {Agent: s.agent(n, amp.Reviewer), Roles: []amp.Role{amp.Reviewer}, Vendor: "y"},
			"deputy":   {Agent: s.agent(n, amp.Executor), Roles: []amp.Role{amp.Executor}, Vendor: "w"},
			"outsider": {Roles: []amp.Role{amp.Executor, amp.Reviewer}, Vendor: "z"},
		},
		Roles: map[amp.Role]string{amp.Coordinator: "planner", amp.Executor: "codex", amp.Reviewer: "claude"},
		NewID: func() string { s.ids++; return fmt.Sprintf("id-%06d", s.ids) },
		Now:   func() time.Time { return time.Now().Add(n.skew) },
	}
	if s.members > 1 {
		cfg.Owner, cfg.Lease = n.name, simLease
	}
	if n.clone != nil {
		cfg.Git = n.clone
	}
	c, err := New(context.Background(), cfg)
	if err != nil {
		s.fail("start", "%v", err)
		n.down = true
		return
	}
	n.c, n.down = c, false
	n.c.inbox = make(chan request, 8)
	n.c.beside = &simEdge{n: n}
	n.life, n.end = context.WithCancel(context.Background())
	n.c.life = n.life
	s.tell("%s starts, life %d", n.name, n.lives)
	if n.c.team != nil {
		n.enlist()
	}
	n.c.markAll()
	n.settle()
}

// take lets the loop judge requests that came together.
func (n *simNode) take(batch []*fiber) {
	n.broken()
	told := make([]bool, len(batch))
	for i, f := range batch {
		n.s.tell("%s takes a request of %s", n.name, f.name)
		if done := f.request.done; done != nil {
			f.request.done = func(a []ssot.Appended, err error) { told[i] = true; done(a, err) }
		} else {
			told[i] = true
		}
	}
	for _, f := range batch[1:] {
		n.c.inbox <- *f.request
	}
	err := n.c.take(n.life, *batch[0].request)
	for err == nil { // what came while the store did not answer
		r, waits := n.c.unpark()
		if !waits {
			break
		}
		err = n.c.take(n.life, r)
	}
	left := len(batch) - len(n.c.inbox) // from this one on the loop did not come to them before it ended
	for len(n.c.inbox) > 0 {
		<-n.c.inbox
	}
	for i, f := range batch {
		switch {
		case i >= left:
			f.lost = true
		case told[i]:
			f.request = nil
		case err != nil && len(n.c.parked) > 0: // it waited for the store when the loop ended
			f.lost = true
		default:
			f.lost = true
			n.s.fail("answers", "%s took a request of %s and does not say what became of it", n.name, f.name)
		}
	}
	n.went(err)
	n.settle()
}

// timer is the loop's timer firing.
func (n *simNode) timer() {
	n.broken()
	n.c.markDue(n.c.now())
	n.settle()
	if !n.down {
		n.s.judge.due(n)
	}
}

func (n *simNode) settle() {
	if n.down {
		return
	}
	n.broken()
	n.went(n.c.settle(n.life))
	if !n.down {
		n.s.judge.settled(n)
	}
}

// broken breaks the rule that is to be broken.
func (n *simNode) broken() {
	if n.s.sabotage != nil {
		n.s.sabotage(n)
	}
}

// went ends the life of a coordinator whose loop failed.
func (n *simNode) went(err error) {
	switch {
	case err == nil:
	case errors.Is(err, errDied):
		n.crash("died at an append")
	default:
		n.s.fail("loop", "%s ended: %v", n.name, err)
		n.crash(err.Error())
	}
}

// crash ends the process at once. Its agents live on until somebody ends them.
func (n *simNode) crash(why string) {
	if n.down {
		return
	}
	s := n.s
	s.counts["crashes"]++
	s.tell("%s %s", n.name, why)
	n.down = true
	n.end()
	n.fall()
	var gone []*fiber
	for _, f := range s.fibers {
		switch {
		case f.node == n:
			gone = append(gone, f)
		case f.request != nil && f.to.n == n:
			f.lost = true // its connection broke
		}
	}
	for _, f := range gone {
		f.end()
	}
}

// leave stops the coordinator as an admin does: what runs is told to end, and that is written down.
func (n *simNode) leave() {
	s := n.s
	s.counts["restarts"]++
	s.tell("%s is stopped", n.name)
	n.c.halt()
	for _, f := range slices.Clone(s.fibers) {
		if f.node == n && f.chore {
			f.end()
		}
	}
	for range 10000 {
		synctest.Wait()
		var mine []*fiber
		for _, f := range s.fibers {
			if f.node == n && f.ready() {
				mine = append(mine, f)
			}
		}
		if len(mine) == 0 {
			if !slices.ContainsFunc(s.fibers, func(f *fiber) bool { return f.node == n }) {
				break
			}
			time.Sleep(time.Second)
			continue
		}
		f := pick(s, mine)
		if f.request == nil {
			f.resume()
			continue
		}
		n.broken()
		r := *f.request
		f.request = nil
		if err := n.c.take(n.life, r); err != nil {
			n.crash("died while it was stopped")
			return
		}
	}
	if left := slices.IndexFunc(s.fibers, func(f *fiber) bool { return f.node == n }); left >= 0 {
		s.fail("stop", "%s does not end: %s", n.name, s.fibers[left].name)
	}
	if n.c.team != nil {
		_ = n.c.team.quit(context.Background())
	}
	n.crash("has ended")
}
