package tuitest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"arbiter/amp"
)

// UndoTime is how long a script's commands with args.undo wait, like the coordinator's.
const UndoTime = 10 * time.Second

// Script is a coordinator that does what a test tells it: a journal in memory whose entries are real, a clock that moves by
// hand, and a connection that can be cut. It has the three methods of a session of the interface. It is safe for
// concurrent use.
type Script struct {
	mu      sync.Mutex // guards all below
	now     time.Time
	log     []amp.Entry
	board   *amp.Board
	changed chan struct{} // closed at the next append
	down    error
	gap     int // how many entries the next batch leaves out
	diff    map[amp.TaskID]func(q amp.Query) (string, *amp.Diff)
	logs    map[string]string
	state   amp.CoordinatorState
	sent    []amp.Command
	refuse  error
	list    []amp.Claim
	pull    *amp.PullPlan
	hold    chan struct{} // Submit waits for it
	mute    chan struct{} // Submit waits for it with its answer
	queries []amp.Query
	slow    chan struct{}     // Query for entries waits for it
	named   map[string]uint64 // messages and commands by the id that a coordinator gives their entries
	ids     int
}

// NewScript returns an empty journal at a moment.
func NewScript(now time.Time) *Script {
	return &Script{
		now: now, board: amp.NewBoard(), changed: make(chan struct{}), diff: map[amp.TaskID]func(amp.Query) (string, *amp.Diff){},
		named: map[string]uint64{}, logs: map[string]string{},
		state: amp.CoordinatorState{
			PID: 4711, Version: "test", Home: "/data", Slots: 8, Started: now,
			Agents: map[amp.Role][]string{amp.Executor: {"codex"}, amp.Reviewer: {"claude"}, amp.Coordinator: {"gemini"}},
			Crew: []amp.AgentFacts{
				crewman("claude", "anthropic", "bwrap", amp.Reviewer), crewman("codex", "openai", "bwrap", amp.Executor),
				crewman("gemini", "google", "off", amp.Coordinator),
			},
		},
	}
}

// crewman is a program that Arbiter runs, with the limits that a command has by itself.
func crewman(name, vendor, confined string, roles ...amp.Role) amp.AgentFacts {
	return amp.AgentFacts{
		Name: name, Vendor: vendor, Roles: roles, Through: "command", Confined: confined, Acks: "agent", Resumes: true, ReportsCost: true, Stops: true,
		SilenceSec: 600, TotalSec: 3600, OutputBytes: 64 << 20,
	}
}

// Now is the script's clock.
func (s *Script) Now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

// Advance moves the clock. Commands whose undo time is over are carried out.
func (s *Script) Advance(d time.Duration) *Script {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = s.now.Add(d)
	for _, id := range s.board.Order {
		for _, w := range slices.Clone(s.board.Tasks[id].Waiting) {
			if !s.now.Before(w.Due) {
				k := due(s.board.Tasks[id], w)
				s.append(amp.KindCheck, id, amp.System, "arbiter", amp.EncodeBody(&k))
			}
		}
	}
	return s
}

// Append adds an entry now and folds it. It panics on an entry that does not fold: that is a defect of the test.
func (s *Script) Append(kind amp.Kind, task amp.TaskID, role amp.Role, actor string, body []byte) amp.Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.append(kind, task, role, actor, body)
}

func (s *Script) append(kind amp.Kind, task amp.TaskID, role amp.Role, actor string, body []byte) amp.Entry {
	s.ids++
	r := amp.Record{Kind: kind, TaskID: task, Role: role, Actor: actor, At: s.now, ID: fmt.Sprintf("id-%06d", s.ids), Body: body}
	e := s.board.Head.Chain(r)
	if err := s.board.Apply(e); err != nil {
		panic(err)
	}
	s.log = append(s.log, e)
	switch kind {
	case amp.KindMessage:
		if m, _, err := amp.Decode(body); err == nil {
			s.named[m.MsgID] = e.Seq
		}
	case amp.KindCommand:
		if c, err := amp.DecodeBody[amp.Command](&e); err == nil {
			s.named[c.ID] = e.Seq
		}
	default:
	}
	close(s.changed)
	s.changed = make(chan struct{})
	return e
}

// Task returns the script's own view of a task; it must not be kept over another append.
func (s *Script) Task(id amp.TaskID) *amp.Task {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.board.Tasks[id]
}

// Board returns the script's own board; it must not be kept over another append.
func (s *Script) Board() *amp.Board {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.board
}

// Cut ends every Follow and fails every request with err, until it is called with nil.
func (s *Script) Cut(err error) *Script {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = err
	close(s.changed)
	s.changed = make(chan struct{})
	return s
}

// Lose leaves n entries out of the next batch: a gap.
func (s *Script) Lose(n int) *Script {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gap = n
	return s
}

// Refuse answers the next commands with err, until it is called with nil.
func (s *Script) Refuse(err error) *Script {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = err
	return s
}

// SetAgents sets the agents that a query for the coordinator's state names.
func (s *Script) SetAgents(byRole map[amp.Role][]string) *Script {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.Agents = byRole
	return s
}

// Hold lets Submit wait until the function it returns is called.
func (s *Script) Hold() (release func()) { return s.latch(&s.hold) }

// HoldAnswers lets Submit store what it is given, and wait with its answer until the function it returns is called.
func (s *Script) HoldAnswers() (release func()) { return s.latch(&s.mute) }

// latch closes a hold until the function it returns is called.
func (s *Script) latch(hold *chan struct{}) (release func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ch := make(chan struct{})
	*hold = ch
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if *hold == ch {
			*hold = nil
		}
		close(ch)
	})
}

// SetState changes what the coordinator says of itself.
func (s *Script) SetState(change func(*amp.CoordinatorState)) *Script {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.state)
	return s
}

// SetPull lets tasks be delivered by pull request, and sets what a query for one answers; nil is an answer without it.
func (s *Script) SetPull(plan *amp.PullPlan) *Script {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.Pulls, s.pull = true, plan
	return s
}

// SetDiff sets what a query for the diff of a task answers.
func (s *Script) SetDiff(id amp.TaskID, diff string) *Script {
	return s.SetDiffs(id, func(amp.Query) (string, *amp.Diff) { return diff, nil })
}

// SetDiffs sets who answers the queries for the diff of a task: with its text, and with what git counts, nil for nothing.
func (s *Script) SetDiffs(id amp.TaskID, answer func(q amp.Query) (text string, facts *amp.Diff)) *Script {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.diff[id] = answer
	return s
}

// SetLog sets what a query for the output of a turn answers; without it the turn has no output file.
func (s *Script) SetLog(turnID, text string) *Script {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.logs[turnID] = text
	return s
}

// Sent returns the commands that arrived, refused ones too.
func (s *Script) Sent() []amp.Command {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.sent)
}

// Queries returns how many queries of a kind arrived.
func (s *Script) Queries(kind amp.QueryKind) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, q := range s.queries {
		if q.Kind == kind {
			n++
		}
	}
	return n
}

// HoldEntries lets queries for entries that arrive from now on wait until the function it returns is called, or until
// they are cancelled.
func (s *Script) HoldEntries() (release func()) { return s.latch(&s.slow) }

// Asked returns the queries of a kind that arrived, in order.
func (s *Script) Asked(kind amp.QueryKind) (out []amp.Query) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, q := range s.queries {
		if q.Kind == kind {
			out = append(out, q)
		}
	}
	return out
}

// Submit stores a command as the coordinator does: once per ID, in its undo time when it asks for one, refused when the task
// does not allow it or moved on.
func (s *Script) Submit(ctx context.Context, c amp.Command) (amp.Entry, error) {
	s.mu.Lock()
	hold, mute := s.hold, s.mute
	s.mu.Unlock()
	if err := held(ctx, hold); err != nil {
		return amp.Entry{}, err
	}
	en, err := s.submit(c)
	return en, cmp.Or(held(ctx, mute), err)
}

// held waits for the end of a hold, which may be nil.
func held(ctx context.Context, hold <-chan struct{}) error {
	if hold == nil {
		return nil
	}
	select {
	case <-hold:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *Script) submit(c amp.Command) (amp.Entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent = append(s.sent, c)
	switch {
	case s.down != nil:
		return amp.Entry{}, s.down
	case s.refuse != nil:
		return amp.Entry{}, s.refuse
	}
	for i := range s.log {
		if e := &s.log[i]; e.Kind == amp.KindCommand {
			if old, err := amp.DecodeBody[amp.Command](e); err == nil && old.ID == c.ID {
				return *e, nil
			}
		}
	}
	if t := s.board.Tasks[c.TaskID]; t != nil {
		plan, err := revise(t, &c)
		if err != nil {
			return amp.Entry{}, err
		}
		if plan != nil {
			s.append(amp.KindPlan, c.TaskID, amp.Admin, c.By, amp.EncodeBody(plan))
		}
	}
	if c.Command == amp.Submit && c.TaskID == "" {
		c.TaskID = s.board.NewTaskID(s.now)
	}
	if c.Args.Undo {
		at := s.now.Add(UndoTime)
		c.Args.EffectiveAt = &at
	}
	return s.append(amp.KindCommand, c.TaskID, amp.Admin, c.By, amp.EncodeBody(&c)), nil
}

// Follow calls batch with what was appended after seq, and waits for more.
func (s *Script) Follow(ctx context.Context, after uint64, batch func([]amp.Entry) error) error {
	for {
		s.mu.Lock()
		down, changed := s.down, s.changed
		var next []amp.Entry
		if after < uint64(len(s.log)) {
			next = slices.Clone(s.log[after:])
		}
		switch {
		case s.gap == 0:
		case len(next) > s.gap:
			next, s.gap = next[s.gap:], 0
		default: // a gap is only seen by what comes behind it
			next = nil
		}
		s.mu.Unlock()
		if down != nil {
			return down
		}
		if len(next) > 0 {
			if err := batch(next); err != nil {
				return err
			}
			after = next[len(next)-1].Seq
			continue
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
