package coordinator

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"arbiter/amp"
	"arbiter/ssot"
	"arbiter/ssot/memory"
)

// simSetting is what is simulated.
type simSetting struct {
	members int
	home    string
	// story keeps what happened, in words.
	story bool
	// sabotage breaks a rule of a coordinator before each of its steps.
	sabotage func(*simNode)
	// unreaped leaves what a dead coordinator left.
	unreaped bool
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
	ids    int
	failed error
	told   []string
	counts simCounts
}

// simNode is one coordinator, over all its lives.
type simNode struct {
	s    *sim
	name string
	c    *Coordinator
	life context.Context
	end  context.CancelFunc
	gate *simGate
	// skew is how far its clock is from the true time.
	skew  time.Duration
	down  bool
	lives int
}

// errGone unwinds a fiber whose process has died.
var errGone = errors.New("the process is gone")

// fiber is something that runs beside a loop: it goes on when the world lets it, until it hands in a request or waits.
type fiber struct {
	s    *sim
	node *simNode // with whose death it ends, nil for clients
	name string
	next func() (struct{}, bool)
	stop func()
	// yield gives the turn back to the world.
	yield func(struct{}) bool
	// request waits for the loop of to.
	request *request
	to      *simEdge
	lost    bool
	// due is until when it waits, unless ctx ends.
	due  time.Time
	ctx  context.Context //nolint:containedctx // it waits for its end
	done bool
}

func newSim(how simSetting, seed uint64) *sim {
	s := &sim{
		simSetting: how, seed: seed, rng: rand.New(rand.NewPCG(seed, 0x617262)), procs: map[string]*proc{}, git: newFakeGit(), counts: simCounts{},
	}
	s.log = memory.New()
	s.judge = newSimJudge(s)
	s.admin.s = s
	s.faultyGit()
	for i := range how.members {
		n := &simNode{s: s, name: string(rune('a' + i))}
		n.gate = &simGate{Log: s.log, s: s, n: n}
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
		if n.down {
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
		if f.request == nil && !f.due.IsZero() {
			wait = min(wait, time.Until(f.due))
		}
	}
	return max(wait, time.Millisecond)
}

// pass lets time pass; then every loop's timer may fire.
func (s *sim) pass(d time.Duration) {
	s.tell("%s pass", d)
	time.Sleep(d)
	for _, n := range s.nodes {
		if !n.down && (s.calm || s.chance(90)) {
			n.timer()
		}
	}
}

// goOn lets something go on that can: a request is judged, or a fiber runs. It reports whether there was anything.
func (s *sim) goOn() bool {
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
		if other != f && other.request != nil && other.to == f.to && !other.lost && len(batch) < cap(f.to.n.c.inbox) && s.chance(30) {
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
	}
}

// spawn makes a fiber that can go on at once.
func (s *sim) spawn(n *simNode, name string, body func()) *fiber {
	f := &fiber{s: s, node: n, name: name}
	f.next, f.stop = iter.Pull(func(yield func(struct{}) bool) {
		f.yield = yield
		defer func() {
			if gone := recover(); gone != nil && gone != error(errGone) {
				panic(gone)
			}
		}()
		body()
	})
	s.fibers = append(s.fibers, f)
	return f
}

func (f *fiber) ready() bool {
	switch {
	case f.request != nil:
		return f.lost || !f.to.n.down
	case f.ctx != nil && f.ctx.Err() != nil:
		return true
	}
	return !f.due.After(time.Now())
}

// resume lets the fiber run until it gives the turn back.
func (f *fiber) resume() {
	f.due, f.ctx = time.Time{}, nil
	before := f.s.running
	f.s.running = f
	_, more := f.next()
	f.s.running = before
	if !more {
		f.end()
	}
}

func (f *fiber) end() {
	if f.done {
		return
	}
	f.done = true
	f.stop()
	f.s.fibers = slices.DeleteFunc(f.s.fibers, func(o *fiber) bool { return o == f })
}

// block gives the turn back until the world resumes it.
func (f *fiber) block() {
	if !f.yield(struct{}{}) {
		panic(error(errGone))
	}
}

// rest lets the running fiber wait.
func (s *sim) rest(ctx context.Context, d time.Duration) {
	f := s.running
	f.due, f.ctx = time.Now().Add(d), ctx
	f.block()
}

// simEdge is the edge of one life of a coordinator.
type simEdge struct{ n *simNode }

func (e *simEdge) spawn(f func()) { e.n.s.spawn(e.n, "beside "+e.n.name, f) }

func (e *simEdge) pause(ctx context.Context, d time.Duration) { e.n.s.rest(ctx, d) }

func (e *simEdge) hand(ctx context.Context, r request) error {
	f := e.n.s.running
	if e.over() {
		return ErrNotRunning
	}
	f.request, f.to, f.lost = &r, e, false
	f.block()
	f.request = nil
	if f.lost {
		return ErrNotRunning
	}
	return ctx.Err()
}

func (e *simEdge) over() bool { return e.n.down || e.n.c.beside != edge(e) }

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

// start begins a life of the coordinator, from what is in the journal.
func (n *simNode) start() {
	s := n.s
	n.lives++
	n.gate.dies, n.gate.full = 0, 0
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
	for range 10000 {
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
	n.crash("has ended")
}

// entries are those of a task in words.
func (s *sim) entries(id amp.TaskID) string {
	var b strings.Builder
	for i := range s.judge.entries {
		e := &s.judge.entries[i]
		if id != "" && e.TaskID != id {
			continue
		}
		body := string(e.Body)
		fmt.Fprintf(&b, "%4d %s %-8s %-11s %s %s\n", e.Seq, e.At.Format("15:04:05.000"), e.Kind, e.Role, e.Actor, body[:min(len(body), 300)])
	}
	return b.String()
}
