package coordinator

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing/synctest"
	"time"

	"arbiter/amp"
	"arbiter/ssot/memory"
)

// simSetting is what is simulated.
type simSetting struct {
	members int
	// clones gives each member a clone of its own.
	clones bool
	home   string
	// story keeps what happened, in words.
	story bool
	// sabotage breaks a rule of a coordinator before each of its steps.
	sabotage func(*simNode)
	// unreaped leaves what a dead coordinator left.
	unreaped bool
	// blind stores whatever was judged on what.
	blind bool
	// lax are properties that are not looked at, so that a broken rule is found by the one that is meant to find it.
	lax map[string]bool
}

// simReport is what became of one seed.
type simReport struct {
	failed error
	head   amp.Head
	story  []string
	counts simCounts
}

// sim is the world of one seed.
type sim struct {
	simSetting
	seed   uint64
	rng    *rand.Rand
	log    *memory.Log
	nodes  []*simNode
	fibers []*fiber
	// running is the fiber that goes on now, nil while the world or a loop does.
	running *fiber
	// calm is set when there are no more faults.
	calm   bool
	procs  map[string]*proc // by turn
	order  []*proc
	admin  simAdmin
	judge  *simJudge
	git    *fakeGit
	remote *simRemote
	ids    int
	failed error
	told   []string
	counts simCounts
}

func newSim(how simSetting, seed uint64) *sim {
	s := &sim{
		simSetting: how, seed: seed, rng: rand.New(rand.NewPCG(seed, 0x617262)), procs: map[string]*proc{}, git: newFakeGit(), counts: simCounts{},
	}
	s.log = memory.New()
	s.judge = newSimJudge(s)
	s.admin.s = s
	s.faultyGit()
	s.remote = newSimRemote()
	for i := range how.members {
		n := &simNode{s: s, name: string(rune('a' + i))}
		n.gate = &simGate{Log: s.log, s: s, n: n}
		if how.clones {
			n.clone = newSimClone(s, n)
		}
		s.nodes = append(s.nodes, n)
	}
	return s
}

// fault is true in so many of a hundred cases, and never when there are no more faults.
func (s *sim) fault(percent int) bool { return !s.calm && s.chance(percent) }

func (s *sim) chance(percent int) bool { return s.rng.IntN(100) < percent }

func pick[T any](s *sim, list []T) T { return list[s.rng.IntN(len(list))] }

// fail notes the first thing that is wrong.
func (s *sim) fail(property, format string, args ...any) {
	if s.failed == nil && !s.lax[property] {
		s.failed = fmt.Errorf("%s: %s", property, fmt.Sprintf(format, args...))
	}
}

func (s *sim) tell(format string, args ...any) {
	if s.story {
		s.told = append(s.told, time.Now().Format("02 15:04:05.000 ")+fmt.Sprintf(format, args...))
	}
}

// run lets the seed happen.
func (s *sim) run() (r simReport) {
	defer func() {
		for _, f := range s.fibers {
			f.stop()
		}
		r.failed, r.story, r.counts = s.failed, s.told, s.counts
		r.head, _ = s.log.Head(context.Background())
	}()
	for _, n := range s.nodes {
		n.start()
	}
	for n := 0; n < simEvents && s.failed == nil; n++ {
		s.event()
	}
	s.settle()
	return r
}

// event is one thing that happens.
func (s *sim) event() {
	s.counts["events"]++
	switch n := s.rng.IntN(1000); {
	case n < 10:
		s.disturb()
	case n < 100:
		s.admin.act()
	case n < 110:
		s.admin.junk()
	case n < 180:
		s.pass(s.lapse())
	default:
		if !s.goOn() {
			s.pass(s.lapse())
		}
	}
}

// lapse is how much time passes before the next thing happens: mostly little, sometimes until something is due, rarely very much.
func (s *sim) lapse() time.Duration {
	switch n := s.rng.IntN(100); {
	case n < 30:
		return time.Duration(1+s.rng.IntN(2000)) * time.Millisecond
	case n < 50:
		return time.Duration(1+s.rng.IntN(60)) * time.Second
	case n < 97:
		return s.untilDue()
	case n < 99:
		return time.Duration(1+s.rng.IntN(15)) * time.Minute
	}
	return time.Duration(1+s.rng.IntN(120)) * time.Minute
}

// untilDue is when the next timer fires, of a loop or of something that waits.
func (s *sim) untilDue() time.Duration {
	wait := 24 * time.Hour
	for _, n := range s.nodes {
		if !n.runs() {
			continue
		}
		now := n.c.now()
		for _, at := range n.c.deadlines {
			wait = min(wait, at.Sub(now))
		}
		if n.c.stalled.After(now) {
			wait = min(wait, n.c.stalled.Sub(now))
		}
	}
	for _, f := range s.fibers {
		if f.request == nil && f.when == nil && !f.due.IsZero() && (s.calm || !f.chore) {
			wait = min(wait, time.Until(f.due))
		}
	}
	return max(wait, time.Millisecond)
}

// pass lets time pass; then every loop's timer may fire.
func (s *sim) pass(d time.Duration) {
	s.tell("%s pass", d)
	s.sleep(d)
	for _, n := range s.nodes {
		if n.runs() && (s.calm || s.chance(90)) {
			n.timer()
		}
	}
}

// goOn lets something go on that can: a request is judged, or a fiber runs. It reports whether there was anything.
func (s *sim) goOn() bool {
	synctest.Wait() // contexts that were cancelled have told those that depend on them
	var ready []*fiber
	for _, f := range s.fibers {
		if f.ready() {
			ready = append(ready, f)
		}
	}
	if len(ready) == 0 {
		return false
	}
	f := pick(s, ready)
	if f.request == nil || f.lost {
		f.resume()
		return true
	}
	batch := []*fiber{f} // those that wait too may come in the same turn of the loop
	for _, other := range ready {
		if other != f && other.request != nil && other.to == f.to && !other.lost && !other.chore && len(batch) < cap(f.to.n.c.inbox) && s.chance(30) {
			batch = append(batch, other)
		}
	}
	f.to.n.take(batch)
	return true
}

// disturb is one fault of a machine.
func (s *sim) disturb() {
	n := pick(s, s.nodes)
	switch k := s.rng.IntN(10); {
	case n.down:
		n.start()
	case s.members > 1 && s.chance(60):
		n.trouble()
	case !n.runs():
	case k < 3:
		n.crash("killed")
	case k < 4:
		n.leave()
	case k < 6:
		n.gate.dies, n.gate.after = 1+s.rng.IntN(4), s.chance(50)
		s.tell("%s will die at an append", n.name)
	case k < 7:
		n.gate.full = 1 + s.rng.IntN(3)
		s.tell("the store of %s is full", n.name)
	case k < 9:
		n.skew += time.Duration(s.rng.IntN(2*3600)-3600) * time.Second
		s.counts["clock jumps"]++
		s.tell("the clock of %s jumps, it is %s off", n.name, n.skew)
	default:
		d := time.Duration(1+s.rng.IntN(120)) * time.Minute
		s.counts["pauses"]++
		s.tell("everything stands still for %s", d)
		time.Sleep(d)
		synctest.Wait()
	}
}
