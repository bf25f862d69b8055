package coordinator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"arbiter/amp"
	"arbiter/providers"
	"arbiter/providers/agenttest"
	"arbiter/ssot"
	"arbiter/ssot/memory"
	"arbiter/ssot/ssottest"
)

// gate is one coordinator's way to the shared store: it can be cut, or hold every call back as a machine that stands still does.
type gate struct {
	log ssot.Shared

	mu    sync.Mutex
	err   error
	stuck chan struct{}
	// blind lets every append through, whatever it was judged on.
	blind bool
	// renewing delays the next renewal of leases, which is carried out after it.
	renewing time.Duration
	// untaken is the error of whoever asks for leases.
	untaken error
	// shared counts calls that only several coordinators need.
	shared int
}

func (g *gate) cut(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.err = err
}

func (g *gate) taking(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.untaken = err
}

// hold keeps every call from now on until the returned function is called; the calls are then carried out, whatever became of
// those who waited for them.
func (g *gate) hold() (release func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	stuck := make(chan struct{})
	g.stuck = stuck
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.stuck = nil
		close(stuck)
	}
}

func (g *gate) pass(ctx context.Context) (context.Context, error) {
	g.mu.Lock()
	err, stuck := g.err, g.stuck
	g.mu.Unlock()
	if stuck != nil {
		<-stuck
		return context.WithoutCancel(ctx), nil
	}
	return ctx, err
}

func (g *gate) Append(ctx context.Context, r []amp.Record) ([]ssot.Appended, error) {
	ctx, err := g.pass(ctx)
	if err != nil {
		return nil, err
	}
	return g.log.Append(ctx, r)
}

func (g *gate) AppendJudged(ctx context.Context, j ssot.Judged, r []amp.Record) ([]ssot.Appended, error) {
	ctx, err := g.pass(ctx)
	if err != nil {
		return nil, err
	}
	g.count()
	if g.blind {
		return g.log.Append(ctx, r)
	}
	return g.log.AppendJudged(ctx, j, r)
}

func (g *gate) Read(ctx context.Context, f amp.Filter) ([]amp.Entry, error) {
	ctx, err := g.pass(ctx)
	if err != nil {
		return nil, err
	}
	return g.log.Read(ctx, f)
}

func (g *gate) Head(ctx context.Context) (amp.Head, error) {
	ctx, err := g.pass(ctx)
	if err != nil {
		return amp.Head{}, err
	}
	return g.log.Head(ctx)
}

func (g *gate) Close() error { return nil }

func (g *gate) count() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shared++
}

func (g *gate) Grown(ctx context.Context, after uint64) error {
	g.count()
	for {
		g.mu.Lock()
		err, stuck := g.err, g.stuck
		g.mu.Unlock()
		if err != nil {
			return err
		}
		if stuck != nil {
			<-stuck
		}
		bounded, cancel := context.WithTimeout(ctx, time.Second)
		err = g.log.Grown(bounded, after)
		cancel()
		if err == nil || ctx.Err() != nil {
			return err
		}
	}
}

func (g *gate) Take(ctx context.Context, owner string, ttl time.Duration, limit int, tasks []amp.TaskID) ([]ssot.Lease, error) {
	ctx, err := g.pass(ctx)
	if err != nil {
		return nil, err
	}
	g.mu.Lock()
	err = g.untaken
	g.shared++
	g.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return g.log.Take(ctx, owner, ttl, limit, tasks)
}

func (g *gate) Renew(ctx context.Context, ttl time.Duration, held []ssot.Lease) ([]ssot.Lease, error) {
	ctx, err := g.pass(ctx)
	if err != nil {
		return nil, err
	}
	g.mu.Lock()
	d := g.renewing
	g.renewing = 0
	g.shared++
	g.mu.Unlock()
	if d > 0 {
		time.Sleep(d)
		ctx = context.WithoutCancel(ctx)
	}
	return g.log.Renew(ctx, ttl, held)
}

func (g *gate) Release(ctx context.Context, held []ssot.Lease) error {
	ctx, err := g.pass(ctx)
	if err != nil {
		return err
	}
	return g.log.Release(ctx, held)
}

func (g *gate) Owners(ctx context.Context) ([]ssot.Lease, error) {
	ctx, err := g.pass(ctx)
	if err != nil {
		return nil, err
	}
	g.count()
	return g.log.Owners(ctx)
}

// member is one coordinator of a crew.
type member struct {
	name   string
	gate   *gate
	cfg    Config
	c      *Coordinator
	cancel context.CancelFunc
	done   chan error
	dead   bool
}

// crew is several coordinators on one journal in memory, with one repository.
type crew struct {
	rig
	members []*member
}

var errCut = errors.New("connection refused")

func newCrew(t *testing.T, n int, exec, rev func(who string) play, change ...func(i int, c *Config)) *crew {
	t.Helper()
	log := memory.New()
	k := &crew{rig: rig{t: t, log: log, git: newFakeGit(), counts: &counts{n: map[string]int{}}}}
	var mu sync.Mutex
	ids := 0
	for i := range n {
		m := &member{name: string(rune('a' + i)), gate: &gate{log: log}}
		m.cfg = Config{
			Log: m.gate, Git: k.git, Home: t.TempDir(), Owner: m.name,
			Logger: slog.New(slog.NewTextHandler(t.Output(), nil)).With("who", m.name),
			Agents: map[string]AgentConfig{
				"planner": {Agent: counted(k.counts, "p", plans), Vendor: "p"},
				"codex":   {Agent: counted(k.counts, "e", exec(m.name)), Vendor: "x"},
				"claude":  {Agent: counted(k.counts, "r", rev(m.name)), Vendor: "y"},
			},
			Roles: map[amp.Role]string{amp.Coordinator: "planner", amp.Executor: "codex", amp.Reviewer: "claude"},
			NewID: func() string {
				mu.Lock()
				defer mu.Unlock()
				ids++
				return fmt.Sprintf("id-%06d", ids)
			},
		}
		for _, f := range change {
			f(i, &m.cfg)
		}
		k.members = append(k.members, m)
		m.start(t)
	}
	t.Cleanup(k.stop)
	synctest.Wait()
	return k
}

func everybody(p play) func(string) play { return func(string) play { return p } }

func (m *member) start(t *testing.T) {
	t.Helper()
	c, err := New(t.Context(), m.cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	m.c, m.cancel, m.done, m.dead = c, cancel, make(chan error, 1), false
	done := m.done
	go func() { done <- c.Run(ctx) }()
}

// kill takes the store away and ends the coordinator: nothing of it reaches the journal any more, and nothing is given back.
func (m *member) kill() {
	m.gate.cut(errCut)
	m.dead = true
	m.cancel()
	<-m.done
}

func (k *crew) stop() {
	for _, m := range k.members {
		m.cancel()
		if !m.dead {
			if err := <-m.done; err != nil {
				k.t.Errorf("%s: Run: %v", m.name, err)
			}
		}
	}
}

// at makes a member the one whose clients speak.
func (k *crew) at(i int) *crew {
	k.c = k.members[i].c
	return k
}

// approved submits a wish and approves its plan through two members.
func (k *crew) approved(first, second int) amp.TaskID {
	k.t.Helper()
	id := k.at(first).submit(amp.Command{Command: amp.Submit, Args: amp.Args{Wish: &amp.Wish{Text: "Count the words right", Repo: "/repo"}}}).TaskID
	k.until(id, amp.AwaitingApproval)
	k.at(second).submit(amp.Command{Command: amp.Approve, TaskID: id, Expects: &amp.Expects{Status: amp.AwaitingApproval}})
	return id
}

// until lets time pass until a task has a status.
func (k *crew) until(id amp.TaskID, s amp.Status) *amp.Task {
	k.t.Helper()
	for range 1000 {
		synctest.Wait()
		if t := k.get(id); t.Status == s {
			return t
		}
		time.Sleep(500 * time.Millisecond)
	}
	k.t.Fatalf("%s does not become %s\n%s\n%s", id, s, k.leases(), k.story(id))
	return nil
}

// leases tells who holds what, by the store and by the members themselves, and what they do.
func (k *crew) leases() string {
	held, err := k.log.(ssot.Shared).Owners(k.t.Context())
	var b strings.Builder
	fmt.Fprintf(&b, "leases %+v, %v\n", held, err)
	for _, m := range k.members {
		ctx, cancel := context.WithTimeout(k.t.Context(), time.Minute)
		err := m.c.view(ctx, func(*amp.Board) {
			fmt.Fprintf(&b, "%s holds %v, wants %v, keeps slots for %v, lets %v wait\n", m.name, m.c.team.tasks(), m.c.wanted, m.c.reserved, m.c.queued)
			for key, w := range m.c.works {
				fmt.Fprintf(&b, "  work %s of epoch %d\n", key, w.epoch)
			}
			for _, l := range m.c.live {
				fmt.Fprintf(&b, "  turn %s of %s, lease lost: %v\n", l.TurnID, l.TaskID, l.lost())
			}
		})
		cancel()
		if err != nil {
			fmt.Fprintf(&b, "%s does not answer: %v\n", m.name, err)
		}
	}
	return b.String()
}

// owner is who runs the open turn of a task, once there is one in a role.
func (k *crew) owner(id amp.TaskID, role amp.Role) *member {
	k.t.Helper()
	for range 4000 {
		synctest.Wait()
		if t := k.get(id); t.Turn != nil && t.Turn.Role == role {
			return k.members[slices.IndexFunc(k.members, func(m *member) bool { return m.name == t.Turn.Owner })]
		}
		time.Sleep(100 * time.Millisecond)
	}
	k.t.Fatalf("%s has no turn of the %s\n%s", id, role, k.story(id))
	return nil
}

// breaches are what an independent look at the whole journal finds.
func (k *crew) breaches() []error {
	var all []amp.Entry
	for {
		page := k.entries(amp.Filter{After: uint64(len(all))})
		if all = append(all, page...); len(page) < ssot.MaxPage {
			break
		}
	}
	return ssottest.CheckRounds(all)
}

// check holds the whole journal to what must be true of it.
func (k *crew) check() {
	k.t.Helper()
	for _, err := range k.breaches() {
		k.t.Error(err)
	}
	if err := ssottest.CheckJournal(k.t.Context(), k.log); err != nil {
		k.t.Error(err)
	}
	if k.t.Failed() {
		for _, id := range k.board().Order {
			k.t.Log(k.story(id))
		}
	}
}

func (k *crew) board() *amp.Board {
	b, err := ssot.Fold(context.Background(), k.log)
	if err != nil {
		k.t.Fatal(err)
	}
	return b
}

func (k *crew) ends(id amp.TaskID) []amp.TurnOutcome {
	var out []amp.TurnOutcome
	for _, e := range k.entries(amp.Filter{TaskID: id, Kinds: []amp.Kind{amp.KindTurn}}) {
		if u, err := amp.DecodeBody[amp.Turn](&e); err == nil && u.Event == amp.TurnEnded && u.Role != amp.Coordinator {
			out = append(out, u.Outcome)
		}
	}
	return out
}

// slowly works for a time before it gives its result, unless it is stopped.
func slowly(d time.Duration, p play) play {
	return func(ctx context.Context, turn providers.Turn, n int, emit func(providers.Event)) (providers.Outcome, error) {
		emit(agenttest.Accept(turn))
		select {
		case <-time.After(d):
			return p(ctx, turn, n, func(ev providers.Event) {
				if ev.Type != providers.EventAck {
					emit(ev)
				}
			})
		case <-ctx.Done():
			return providers.Outcome{}, &providers.TurnError{Failure: providers.FailKilled, Text: "stopped"}
		}
	}
}
