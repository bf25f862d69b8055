package coordinator

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"arbiter/amp"
	"arbiter/ssot"
)

// Passer is a [Git] through which tasks go from one machine to another that has a clone of its own.
type Passer interface {
	Seer
	// Pass makes the commit at which the journal has a task available to the others, under the epoch of a lease on it. Repeating it costs
	// nothing. Passed are the commits of the tasks of a repository that were passed on.
	Pass(ctx context.Context, w amp.Workspace, epoch uint64) error
	Passed(ctx context.Context, repo string) (map[amp.TaskID]string, error)
	// Receive gets the commit of a task that another machine passed on. An error says, for a person, why it cannot be had.
	Receive(ctx context.Context, w amp.Workspace) error
	// Adopt makes this machine's branch of a task the one that the journal names, once its lease is held. elsewhere says that its last
	// turn ran on another machine.
	Adopt(ctx context.Context, w amp.Workspace, elsewhere bool) error
	// Left are the tasks of which something may be left here, and at the remotes of the repositories when those are asked; with an error,
	// those that are known all the same.
	Left(ctx context.Context, repos []string, ask bool) ([]amp.TaskID, error)
	// Withdraw removes what was passed on of ended tasks, by whomever, and what this machine keeps of them. Repeating it changes nothing.
	Withdraw(ctx context.Context, ended []amp.Workspace) error
	// Remote is what tasks are passed on through, "" when they are not.
	Remote() string
}

const (
	// passFirst waits no longer than this for a remote before what was done is written down all the same.
	passWait = 10 * time.Second
	// receiveWait bounds one attempt to get a task.
	receiveWait = 5 * time.Minute
	// maxIncoming is how many tasks are fetched at once.
	maxIncoming = 4
	// longestPass is the longest wait between two attempts to pass a task on.
	longestPass = time.Minute
)

// parcel is what the others can get of a task.
type parcel struct {
	// passed is the commit that they can get.
	passed string
	// owed is the workspace that they ought to get, since when; why is what the last attempt said.
	owed  amp.Workspace
	since time.Time
	why   string
}

// passer is how tasks are passed on, nil when they are not.
func (c *Coordinator) passer() Passer {
	if c.team == nil {
		return nil
	}
	if p, can := c.cfg.Git.(Passer); can && p.Remote() != "" {
		return p
	}
	return nil
}

// commitOf is the commit at which a task's branch is, "" before it has a plan.
func commitOf(w amp.Workspace) string { return cmp.Or(w.Commit, w.BaseCommit) }

// parcelOf is what the others ought to get of a task: direct fixes too while nobody knows whether they count, since who decides that may be
// on another machine.
func parcelOf(t *amp.Task) amp.Workspace {
	w := t.Workspace()
	w.Commit = cmp.Or(t.Fix, w.Commit)
	return w
}

// recallParcels asks once what was passed on before this coordinator was started.
func (c *Coordinator) recallParcels(ctx context.Context) {
	p := c.passer()
	if p == nil {
		return
	}
	asked := map[string]map[amp.TaskID]string{}
	for _, id := range c.board.Order {
		t := c.board.Task(id)
		repo := t.Workspace().Repo
		if t.Status.Ended() || repo == "" {
			continue
		}
		if asked[repo] == nil {
			at, err := p.Passed(ctx, repo)
			if err != nil {
				c.cfg.Logger.Warn("what was passed on is not known", "repo", repo, "err", err)
			}
			asked[repo] = map[amp.TaskID]string{}
			if at != nil {
				asked[repo] = at
			}
		}
		if commit := asked[repo][id]; commit != "" {
			c.team.notePassed(id, commit)
		}
	}
}

// unpassed reports whether a task of this machine has a commit that no other one can get.
func (c *Coordinator) unpassed(t *amp.Task) bool {
	if c.passer() == nil || t.Status.Ended() || t.Owner != c.team.owner {
		return false
	}
	at := commitOf(parcelOf(t))
	return at != "" && c.team.passed(t.ID) != at
}

// passOn starts the work that makes a task's commit available to the others, until it is or the task has ended. The work of the task does
// not wait for it.
func (c *Coordinator) passOn(ctx context.Context, t *amp.Task) {
	if w := c.works["pass/"+string(t.ID)]; w != nil && t.Status.Ended() {
		w.cancel()
	}
	if !c.unpassed(t) {
		return
	}
	c.team.owe(t.ID, parcelOf(t))
	id, p := t.ID, c.passer()
	c.start(ctx, job{key: "pass/" + string(id), always: true}, t, func(ctx context.Context, lease *tenure) outcome {
		for wait := retryGit; ; wait = min(2*wait, longestPass) {
			ws := c.team.owes(id)
			err := p.Pass(ctx, ws, lease.Epoch)
			if err == nil {
				c.team.notePassed(id, commitOf(ws))
				return outcome{}
			}
			if ctx.Err() != nil {
				return outcome{}
			}
			if c.team.noteKept(id, err.Error()) {
				c.cfg.Logger.Warn("a task cannot be handed over: its commit could not be passed on", "task", id, "remote", p.Remote(), "err", err)
			}
			if c.beside.pause(ctx, wait); ctx.Err() != nil {
				return outcome{}
			}
		}
	})
}

// passFirst makes the commit of a check available to the others before the check is written down, or gives up after a moment: what was
// done counts all the same, and is passed on later.
func (c *Coordinator) passFirst(ctx context.Context, lease *tenure, ws amp.Workspace, ck amp.Check, err error) {
	p := c.passer()
	if p == nil || err != nil || lease == nil || lease.lost() || ck.Commit == "" || ck.Escalate != "" {
		return
	}
	ws.Commit = cmp.Or(ck.Fix, ck.Commit)
	bounded, cancel := context.WithTimeout(ctx, min(passWait, c.team.ttl/3))
	defer cancel()
	if err := p.Pass(bounded, ws, lease.Epoch); err != nil {
		c.cfg.Logger.Warn("a commit is written down before others can get it", "task", ws.TaskID, "commit", ws.Commit, "err", err)
		return
	}
	c.team.notePassed(ws.TaskID, ws.Commit)
}

// verifyFirst compares a result with git before it is written down, so that no other machine finds a result in the journal whose
// worktree it does not have. Nil leaves that for later. What is not complete is held as it is, until a person decides.
func (c *Coordinator) verifyFirst(ctx context.Context, l *liveTurn, ws amp.Workspace, r *amp.Result) *amp.Check {
	ck, err := c.cfg.Git.Verify(ctx, ws, l.TurnID, r, "")
	if err != nil {
		c.cfg.Logger.Warn("the result is compared with git once more", "task", l.TaskID, "turn", l.TurnID, "err", err)
		return nil
	}
	c.passFirst(ctx, l.lease, ws, ck, nil)
	return &ck
}

// verified are the records of the check that was made before the result was written down.
func (c *Coordinator) verified(t *amp.Task, l *liveTurn, e ending, records []amp.Record, now time.Time) []amp.Record {
	if l.Role != amp.Executor || e.check == nil {
		return nil
	}
	i := slices.IndexFunc(records, func(r amp.Record) bool { return r.Kind == amp.KindMessage })
	if i < 0 {
		return nil
	}
	ck := *e.check
	ck.For = records[i].ID
	more := []amp.Record{c.check(t, now, ck)}
	if ck.Escalate != "" {
		more = append(more, c.violation(t, now, ck))
	}
	return more
}

// receive gets what is missing of a task, meanwhile it waits.
func (c *Coordinator) receive(ctx context.Context, k candidate) {
	p := c.passer()
	if p == nil || commitOf(k.ws) == "" || !c.team.expect(k.id) {
		return
	}
	c.beside.spawn(func() {
		defer c.team.arrived(k.id)
		select {
		case c.team.slots <- struct{}{}:
			defer func() { <-c.team.slots }()
		case <-ctx.Done():
			return
		}
		bounded, cancel := context.WithTimeout(ctx, receiveWait)
		defer cancel()
		err := p.Receive(bounded, k.ws)
		switch {
		case err != nil && ctx.Err() == nil:
			c.team.noteAway(k.id, err.Error())
		case err == nil:
			c.team.noteAway(k.id, p.Sees(ctx, k.ws, k.turn))
			c.team.wake()
		}
	})
}

// adopt looks once more at tasks whose leases were taken, as they are now that nobody else writes about them, and makes their branches ready.
// What cannot go on here after all is given back.
func (c *Coordinator) adopt(ctx context.Context, got []ssot.Lease) ([]ssot.Lease, error) {
	p := c.passer()
	if p == nil {
		return got, nil
	}
	now := map[amp.TaskID]candidate{}
	_, err := c.call(ctx, fromWork, "", func(time.Time) ([]amp.Record, error) {
		if err := c.catchUp(c.life); err != nil {
			return nil, err
		}
		for _, l := range got {
			if t := c.board.Task(l.Task); t != nil {
				now[l.Task] = c.candidate(t)
			}
		}
		return nil, nil
	})
	var kept []ssot.Lease
	for _, l := range got {
		k, known := now[l.Task]
		if err == nil && known && c.ready(ctx, p, k) {
			kept = append(kept, l)
			continue
		}
		c.team.handBack(l) // not here: the time that there was for it may be over
	}
	return kept, err
}

// ready makes the branch of a task ready for work here, or notes why it cannot be.
func (c *Coordinator) ready(ctx context.Context, p Passer, k candidate) bool {
	if k.ws.Repo == "" {
		return true
	}
	why := p.Sees(ctx, k.ws, k.turn)
	if why == "" && k.turn == "" && !k.running {
		if err := p.Adopt(ctx, k.ws, k.elsewhere); err != nil {
			why = err.Error()
		}
	}
	c.team.noteAway(k.id, why)
	return why == ""
}

// deliversFor is the coordinator in whose clone a delivery is to happen, since the person who asked for it spoke to that one; "" when
// it can be any.
func (c *Coordinator) deliversFor(t *amp.Task) string {
	if t.Doing == nil || t.Doing.Command.Command != amp.Deliver || c.passer() == nil {
		return ""
	}
	return t.Doing.Command.Via
}

// giveBack lets another coordinator take a task, or this one again, once that it was noted absent here is forgotten.
func (c *Coordinator) giveBack(id amp.TaskID) {
	c.disown(id)
	c.team.leave(id)
	c.wanted[id] = time.Now()
}

// yields gives a task back, once, for a delivery in the clone of another coordinator that is there. When that one cannot, whoever can
// delivers after a lease's time.
func (c *Coordinator) yields(t *amp.Task) bool {
	via := c.deliversFor(t)
	if via == "" || via == c.cfg.Owner || c.yielded[t.ID] == t.Doing.Command.ID || c.under(t.ID) == nil {
		return false
	}
	if _, there := c.team.others(); !there[via] {
		return false
	}
	c.yielded[t.ID] = t.Doing.Command.ID
	c.giveBack(t.ID)
	return true
}

func (m *team) passed(id amp.TaskID) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if p := m.parcels[id]; p != nil {
		return p.passed
	}
	return ""
}

func (m *team) parcel(id amp.TaskID) *parcel {
	if m.parcels[id] == nil {
		m.parcels[id] = &parcel{}
	}
	return m.parcels[id]
}

// notePassed notes that the others can get a commit.
func (m *team) notePassed(id amp.TaskID, commit string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.parcel(id)
	p.passed, p.why = commit, ""
	if commitOf(p.owed) == commit {
		p.since = time.Time{}
	}
}

// owe notes what the others ought to get.
func (m *team) owe(id amp.TaskID, w amp.Workspace) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.parcel(id)
	p.owed = w
	if p.since.IsZero() {
		p.since = m.clock()
	}
}

func (m *team) owes(id amp.TaskID) amp.Workspace {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.parcel(id).owed
}

// noteKept notes why the others cannot get a task; it reports the first time.
func (m *team) noteKept(id amp.TaskID, why string) (first bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.parcel(id)
	first = p.why == ""
	p.why = why
	return first
}

// kept are the tasks that the others cannot get; the caller holds mu.
func (m *team) kept() (list []amp.TeamTask) {
	for id, p := range m.parcels {
		if p.why != "" && !p.since.IsZero() {
			list = append(list, amp.TeamTask{TaskID: id, Owner: m.owner, Why: p.why, Since: p.since})
		}
	}
	slices.SortFunc(list, func(a, b amp.TeamTask) int { return strings.Compare(string(a.TaskID), string(b.TaskID)) })
	return list
}

// expect notes that a task is being fetched, unless it is already.
func (m *team) expect(id amp.TaskID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.incoming[id] {
		return false
	}
	m.incoming[id] = true
	return true
}

func (m *team) arrived(id amp.TaskID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.incoming, id)
}
