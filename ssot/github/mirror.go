package github

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"arbiter/amp"
	"arbiter/forge"
	"arbiter/ssot"
)

// Config is what a mirror needs.
type Config struct {
	Log ssot.Log
	// Repo is "owner/name". URL is where the API answers, empty for GitHub itself; Branch is "main" when it is empty.
	Repo, URL, Branch string
	// Token returns the token, read anew after each refusal. It is never kept on the disk and never in an error.
	Token func(ctx context.Context) (string, error)
	// Every is how long entries are gathered for one commit (30 s).
	Every time.Duration
	// Secrets are the configured secrets, which never leave the machine; asked for before each commit.
	Secrets func() []Known
	// Dir is where the mirror keeps what it saw last, what was allowed, and its lock; empty keeps nothing.
	Dir string
	// Gap is the least time between two requests that write, which GitHub asks for (1 s).
	Gap time.Duration
	// Transport sends requests; nil for the network.
	Transport http.RoundTripper
	// Jitter spreads the times of trying again; nil for one by chance.
	Jitter *rand.Rand
	// Version is of this program; head.json names it.
	Version string
	// Changed, if not nil, is told of every new state.
	Changed func(amp.MirrorState)
	Logger  *slog.Logger
}

// The defaults of a Config.
const (
	DefaultBranch = "main"
	DefaultEvery  = 30 * time.Second
	defaultGap    = time.Second
	// elsewherePatience is how long Push waits until another process has written.
	elsewherePatience = 30 * time.Second
	// lookEvery is how often the branch is looked at when nothing is written.
	lookEvery = 10 * time.Minute
	// publicEvery is how often it is looked at who may read the repository.
	publicEvery = 2 * time.Hour
)

func (c *Config) defaults() {
	if c.URL == "" {
		c.URL = PublicAPI
	}
	if c.Branch == "" {
		c.Branch = DefaultBranch
	}
	if c.Every == 0 {
		c.Every = DefaultEvery
	}
	if c.Gap == 0 {
		c.Gap = defaultGap
	}
	if c.Transport == nil {
		c.Transport = http.DefaultTransport
	}
	if c.Jitter == nil {
		c.Jitter = rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	if c.Secrets == nil {
		c.Secrets = func() []Known { return nil }
	}
}

// Mirror follows a journal and writes it to a branch on GitHub. Run and Push are for one caller at a time; State is for everybody.
type Mirror struct {
	cfg    Config
	remote *remote

	// at is where the branch stands as far as is known, pending what was to become of it when the outcome was not told.
	at, pending *place
	sent        *batch // what pending brings
	sentAt      time.Time
	looked      time.Time
	askedPublic time.Time
	// before is the commit that the last one of ours followed, moved when the branch went on from it.
	before string
	moved  time.Time
	// kept is the commit that was written into the file of the state.
	kept string
	// anew makes the next commit begin from the first entry, upon what others have in the repository.
	anew  bool
	board *amp.Board
	// dirty are the tasks whose files are behind.
	dirty    map[amp.TaskID]struct{}
	released map[uint64]bool
	tries    int
	token    string
	sums     map[uint64][][32]byte
	last     amp.MirrorState // as it was written into the file

	mu    sync.Mutex
	state amp.MirrorState
}

// New makes a mirror. It asks nothing of anybody.
func New(c Config) (*Mirror, error) {
	c.defaults()
	r, err := newRemote(&c)
	if err != nil {
		return nil, err
	}
	m := &Mirror{cfg: c, remote: r, dirty: map[amp.TaskID]struct{}{}, released: map[uint64]bool{}, sums: map[uint64][][32]byte{}}
	m.state = amp.MirrorState{Repo: c.Repo, Branch: c.Branch}
	if kept, err := Read(c.Dir); err == nil && kept != nil && kept.is(&c) {
		m.state = kept.State
		m.state.Requests, m.state.Left = 0, 0
	}
	return m, nil
}

// State is how far the mirror is. It may be called from everywhere at any time.
func (m *Mirror) State() amp.MirrorState {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.state
	s.Requests, s.Left = m.remote.http.Count()
	return s
}

// say changes the state, keeps it and tells of it.
func (m *Mirror) say(change func(*amp.MirrorState)) {
	m.mu.Lock()
	change(&m.state)
	m.state.At = time.Now().UTC()
	m.mu.Unlock()
	s := m.State()
	if err := m.keep(s); err != nil {
		m.cfg.Logger.Error("the state of the mirror is not kept", "err", err)
	}
	if m.cfg.Changed != nil {
		m.cfg.Changed(s)
	}
}

// Run mirrors until ctx ends. What goes wrong is said in the state and to the logger and tried again; it ends nothing else.
func (m *Mirror) Run(ctx context.Context) {
	for ctx.Err() == nil {
		wait := m.cfg.Every
		if err := m.round(ctx); err != nil && ctx.Err() == nil {
			wait = m.trouble(err)
		}
		if forge.Sleep(ctx, wait) != nil {
			return
		}
	}
}

// Push mirrors what is there now. It waits for limits and outages, and for another process that writes at this moment, and ends with the error that a person has to deal with.
func (m *Mirror) Push(ctx context.Context) error {
	begun := time.Now()
	for {
		err := m.round(ctx)
		if err == nil || ctx.Err() != nil {
			return err
		}
		wait := m.trouble(err)
		if elsewhere := errors.Is(err, ErrElsewhere); m.judge(err).person || elsewhere && time.Since(begun) > elsewherePatience {
			return err
		}
		if err := forge.Sleep(ctx, wait); err != nil {
			return err
		}
	}
}

// Rebuild makes the next Push begin from the first entry, upon whatever stands in the branch: the files of the mirror are replaced, those of
// others and the history stay.
func (m *Mirror) Rebuild() { m.anew = true }

// round writes what is missing until nothing is. A token that is refused is read again first: it may have been rotated.
func (m *Mirror) round(ctx context.Context) error {
	unlock, err := m.lock()
	if err != nil {
		return err
	}
	defer unlock()
	if m.token == "" {
		if _, err := m.renew(ctx); err != nil {
			return err
		}
	}
	err = m.catchUp(ctx)
	if status(err) != http.StatusUnauthorized {
		return err
	}
	if other, lost := m.renew(ctx); lost != nil || !other {
		return errors.Join(err, lost)
	}
	return m.catchUp(ctx)
}

func (m *Mirror) catchUp(ctx context.Context) error {
	if err := m.lag(ctx, m.State().Head.Seq); err != nil { // how far behind it is, also when nobody answers
		return err
	}
	if err := m.locate(ctx); err != nil {
		return err
	}
	m.seeWhoReads(ctx)
	for {
		if err := m.lag(ctx, m.at.Head.Seq); err != nil {
			return err
		}
		b, err := m.gather(ctx)
		if err != nil {
			return err
		}
		if b == nil {
			m.settled()
			return nil
		}
		if err := m.push(ctx, b); err != nil {
			return err
		}
		m.tries = 0
		if b.whole { // what came meanwhile is gathered for the next one
			return nil
		}
	}
}

// seeWhoReads looks now and then whether the repository is open to everybody. It holds nothing up: what is wrong with the way there, other requests
// say too.
func (m *Mirror) seeWhoReads(ctx context.Context) {
	if time.Since(m.askedPublic) < publicEvery {
		return
	}
	public, err := m.remote.public(ctx)
	if err != nil {
		m.cfg.Logger.Debug("whether the mirror is public is not known", "err", err)
		return
	}
	m.askedPublic = time.Now()
	if m.State().Public == public {
		return
	}
	if public {
		m.cfg.Logger.Warn("everybody may read the mirror", "repo", m.cfg.Repo)
	}
	m.say(func(s *amp.MirrorState) { s.Public = public })
}

// lag says how far the journal is ahead of an entry of the mirror.
func (m *Mirror) lag(ctx context.Context, at uint64) error {
	head, err := m.cfg.Log.Head(ctx)
	if err != nil {
		return err
	}
	var oldest time.Time
	if head.Seq > at {
		next, err := m.cfg.Log.Read(ctx, amp.Filter{After: at, Limit: 1})
		if err != nil {
			return err
		}
		if len(next) > 0 {
			oldest = next[0].At
		}
	}
	m.mu.Lock()
	m.state.Behind, m.state.Oldest = head.Seq-min(head.Seq, at), oldest
	m.mu.Unlock()
	return nil
}

// settled says that everything is in the mirror.
func (m *Mirror) settled() {
	m.tries = 0
	m.say(func(s *amp.MirrorState) {
		m.stand(s)
		s.Trouble, s.Next, s.Until, s.Stopped = "", "", time.Time{}, false
	})
}

// stand copies where the branch is into the state.
func (m *Mirror) stand(s *amp.MirrorState) {
	s.Head, s.Commit = m.at.Head.Journal(), m.at.Commit
	s.Withheld, s.WithheldCount = m.at.Head.Withheld, m.at.Head.WithheldCount
}

// push makes a commit of a batch and moves the branch to it.
func (m *Mirror) push(ctx context.Context, b *batch) error {
	var keep []row
	base := m.at.Tree
	if m.anew && base != "" {
		rows, err := m.remote.tree(ctx, base)
		if err != nil {
			return err
		}
		keep, base = foreign(rows), ""
	}
	tree, rows, err := m.remote.write(ctx, base, keep, b.files)
	if err != nil {
		return fmt.Errorf("write the files of a commit: %w", err)
	}
	at := time.Now().UTC().Truncate(time.Second)
	commit, err := m.remote.commit(ctx, tree, m.at.Commit, b.message(), at)
	if err != nil {
		return fmt.Errorf("make a commit: %w", err)
	}
	next := &place{Commit: commit, Tree: tree, Ours: oursOf(rows), Readme: true, Head: b.head}
	m.pending, m.sent, m.sentAt = next, b, at
	if err := m.remote.advance(ctx, commit, m.at.Commit != ""); err != nil {
		m.looked = time.Time{} // whether it moved is seen when the branch is looked at
		return fmt.Errorf("move the branch: %w", err)
	}
	m.landed(next)
	return nil
}

// landed takes over what was pending, at the commit where it is now.
func (m *Mirror) landed(p *place) {
	b, at := m.sent, m.sentAt
	m.moved = time.Now()
	if m.before = ""; m.at != nil {
		m.before = m.at.Commit
	}
	m.at, m.pending, m.sent, m.anew = p, nil, nil, false
	m.looked = time.Now()
	for _, id := range b.tasks {
		delete(m.dirty, id)
	}
	for _, seq := range b.released {
		m.released[seq] = true
	}
	m.say(func(s *amp.MirrorState) {
		m.stand(s)
		s.CommitAt, s.Trouble, s.Next, s.Until, s.Stopped = at, "", "", time.Time{}, false
		s.Behind -= min(s.Behind, uint64(b.entries))
	})
	m.cfg.Logger.Debug("the mirror was written", "seq", m.at.Head.Seq, "commit", m.at.Commit)
}
