package coordinator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"arbiter/amp"
	"arbiter/ssot"
)

// Seer is a [Git] that can tell whether this machine has what the next step of a task needs. One that cannot is taken to see everything.
type Seer interface {
	// Sees returns "" when work on the task can go on here, else why it cannot, for a person. lastTurn is the turn whose worktree
	// is still to be looked at, "" when none is.
	Sees(ctx context.Context, w amp.Workspace, lastTurn string) string
}

// maxTake is how many tasks are asked for at once.
const maxTake = 256

// candidate is a task that this coordinator could take.
type candidate struct {
	id   amp.TaskID
	key  uint64
	ws   amp.Workspace
	turn string
	// owed says that a message of it is out and its ACK timer runs.
	owed bool
	// elsewhere says that its last turn ran on another machine.
	elsewhere bool
	// running says that an open turn of it is this coordinator's own.
	running bool
}

// candidate is what taking a task takes.
func (c *Coordinator) candidate(t *amp.Task) candidate {
	k := candidate{
		id: t.ID, key: t.Key, ws: t.Workspace(), turn: unverified(t), owed: len(t.Open) > 0, elsewhere: t.Owner != "" && t.Owner != c.team.owner,
	}
	if k.ws.Repo == "" && t.Wish != nil {
		k.ws.Repo = t.Wish.Repo
	}
	k.running = t.Turn != nil && t.Turn.Owner == c.team.owner
	if k.elsewhere && t.Turn != nil && c.externalTurn(t, t.Turn.Role) != nil {
		k.turn = t.Turn.TurnID // somebody works in its worktree
	}
	return k
}

// candidates are the tasks that nobody is known to act on: those that need no slot, which the first one takes who sees them, those with
// turns, and how many of these there is room for here. more says that there would be others, were they not owned when that was last
// asked.
func (c *Coordinator) candidates() (light, heavy []candidate, room int, more bool) {
	owners, there := c.team.others()
	room = c.cfg.Slots
	for _, id := range c.team.tasks() {
		if t := c.board.Task(id); t != nil && c.slotted(t) {
			room--
		}
	}
	for id, since := range c.wanted {
		t := c.board.Task(id)
		if c.busy(t) { // what was begun under a lease that was lost is being ended, and may still write to the worktree
			continue
		}
		prefer, wait := t.Owner, c.team.ttl/15 // its agents have their sessions where they were
		if via := c.deliversFor(t); via != "" {
			prefer, wait = via, c.team.ttl
		}
		if owners[id] != "" || prefer != c.team.owner && there[prefer] && time.Since(since) < wait {
			more = true
			continue
		}
		k := c.candidate(t)
		if c.slotted(t) {
			heavy = append(heavy, k)
		} else {
			light = append(light, k)
		}
	}
	for _, list := range [][]candidate{light, heavy} {
		slices.SortFunc(list, func(a, b candidate) int {
			if a.owed != b.owed {
				return map[bool]int{true: -1, false: 1}[a.owed]
			}
			return cmp.Compare(a.key, b.key)
		})
	}
	if room <= 0 && len(heavy) > 0 && heavy[0].owed {
		room = 1 // a message is out: its clock does not wait for a slot
	}
	return light, heavy, max(0, room), more && room > 0
}

// unverified is the turn whose worktree the next step still needs.
func unverified(t *amp.Task) string {
	if t.Status == amp.Verifying && t.Result != nil && t.Checked == nil {
		return t.LastTurn
	}
	return ""
}

// recruit takes and gives back leases until ctx ends.
func (c *Coordinator) recruit(ctx context.Context) {
	for {
		pause := c.team.ttl / 15
		c.recruitOnce(ctx)
		select {
		case <-ctx.Done():
			return
		case <-c.team.kick:
			pause = c.team.ttl / 600 // what many entries ask for is taken at once
		case <-time.After(pause):
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

// recruitOnce lets the loop look at what was lost, and takes and gives back leases.
func (c *Coordinator) recruitOnce(ctx context.Context) {
	if ids := c.team.changed(); len(ids) > 0 { // an error says that the loop ends
		_ = c.view(ctx, func(b *amp.Board) {
			for _, id := range ids {
				if b.Task(id) != nil {
					c.dirty[id] = true
				}
			}
		})
	}
	if err := c.gather(ctx); err != nil && ctx.Err() == nil {
		c.cfg.Logger.Warn("no task could be taken", "err", err)
	}
}

// gather takes what is free, is to be done, and can be done here.
func (c *Coordinator) gather(ctx context.Context) error {
	bounded, cancel := context.WithTimeout(ctx, c.team.ttl/3)
	defer cancel()
	if err := c.team.giveBack(bounded); err != nil {
		return err
	}
	var light, heavy []candidate
	room, more := 0, false
	for range 2 { // the second time with the owners of now
		if err := c.view(ctx, func(*amp.Board) { light, heavy, room, more = c.candidates() }); err != nil {
			return err
		}
		if len(light) == 0 && (len(heavy) == 0 || room == 0) && !(more && c.team.outdated()) {
			return nil
		}
		if err := c.team.look(bounded); err != nil {
			return err
		}
	}
	if err := c.join(ctx, light, maxTake); err != nil {
		return err
	}
	return c.join(ctx, heavy, room)
}

// join takes up to room of the candidates, and lets the loop act on them.
func (c *Coordinator) join(ctx context.Context, list []candidate, room int) error {
	var ids []amp.TaskID
	for _, k := range list {
		if len(ids) == min(maxTake, 2*room) { // more than one: others take at the same time
			break
		}
		if c.sees(ctx, k) {
			ids = append(ids, k.id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	bounded, cancel := context.WithTimeout(ctx, c.team.ttl/3)
	defer cancel()
	sent := time.Now()
	got, err := c.team.log.Take(bounded, c.team.owner, c.team.ttl, room, ids)
	if err != nil || len(got) == 0 {
		return err
	}
	got, err = c.adopt(bounded, got)
	c.team.enter(got, sent, time.Now())
	return errors.Join(err, c.view(ctx, func(*amp.Board) { c.begin(got) }))
}

// begin lets the loop act on tasks that were taken.
func (c *Coordinator) begin(got []ssot.Lease) {
	for _, l := range got {
		delete(c.wanted, l.Task)
		c.dirty[l.Task] = true
	}
}

// sees reports whether work on a task can go on here.
func (c *Coordinator) sees(ctx context.Context, k candidate) bool {
	s, can := c.cfg.Git.(Seer)
	if !can || k.ws.Repo == "" {
		return true
	}
	if c.team.away(k.id) {
		return false
	}
	why := s.Sees(ctx, k.ws, k.turn)
	c.team.noteAway(k.id, why)
	if why != "" && k.turn == "" {
		c.receive(ctx, k)
	}
	return why == ""
}

// elsewhere refuses a command that needs a look at the worktree, which is on another machine.
func (c *Coordinator) elsewhere(ctx context.Context, cmd *amp.Command, ws amp.Workspace, owner string) error {
	s, can := c.cfg.Git.(Seer)
	if c.team == nil || !can || owner == c.team.owner {
		return nil
	}
	why := s.Sees(ctx, ws, "")
	if why == "" {
		return nil
	}
	return &amp.RefusedError{What: string(cmd.Command), Problems: []amp.Problem{{
		Rule: "checklist", Message: fmt.Sprintf("%s cannot be checked on this machine: %s; decide it through %s", cmd.TaskID, why, cmp.Or(owner, "the machine that has it")),
	}}}
}
