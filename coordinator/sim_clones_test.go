package coordinator

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"arbiter/amp"
	"arbiter/providers"
)

// simBase is the commit that every clone has.
const simBase = "0123456789abcdef"

// simRemote is what the machines have in common: the commits that were passed on, by task.
type simRemote struct {
	passed map[amp.TaskID]map[string]bool
	// parent is what each commit was built on, wherever it is.
	parent map[string]string
}

func newSimRemote() *simRemote {
	return &simRemote{passed: map[amp.TaskID]map[string]bool{}, parent: map[string]string{}}
}

// holds reports whether an older commit is in a newer one.
func (r *simRemote) holds(newer, older string) bool {
	for c := newer; c != ""; c = r.parent[c] {
		if c == older {
			return true
		}
	}
	return false
}

// simClone is the repository of one machine, over all lives of its coordinator. Like gitops it does one thing of a task at a time, but other
// things happen before it comes to that. What the journal has a task at must be here whenever work on it is begun.
type simClone struct {
	*fakeGit
	s        *sim
	n        *simNode
	has      map[string]bool
	branches map[amp.TaskID]string
	// turns are the records of turns: where each began; measured is what each came to.
	turns, measured map[string]string
	// passed is what is known to be at the remote.
	passed map[amp.TaskID]string
	// stiff is set of a clone whose branches stay where they are when a task comes to it.
	stiff bool
}

func newSimClone(s *sim, n *simNode) *simClone {
	return &simClone{
		fakeGit: s.git, s: s, n: n, has: map[string]bool{simBase: true}, branches: map[amp.TaskID]string{}, turns: map[string]string{},
		measured: map[string]string{}, passed: map[amp.TaskID]string{},
	}
}

// begin lets other things happen before git is at work.
func (g *simClone) begin(ctx context.Context) error {
	if f := g.s.running; f != nil && f.node == g.n && g.s.chance(30) {
		g.s.rest(ctx, time.Duration(1+g.s.rng.IntN(3000))*time.Millisecond)
	}
	return ctx.Err()
}

// at is where the journal has a task, which must be here.
func (g *simClone) at(w amp.Workspace, doing string) string {
	c := commitOf(w)
	if c != "" && !g.has[c] {
		g.s.fail("clones", "%s %s %s at %s, which is not in its clone", g.n.name, doing, w.TaskID, c)
	}
	return c
}

// commit is a new one on the branch of a task.
func (g *simClone) commit(task amp.TaskID, why string) string {
	g.s.ids++
	c := fmt.Sprintf("%s%06d", "c0ffee", g.s.ids)
	g.s.remote.parent[c] = g.branches[task]
	g.has[c] = true
	g.move(task, c, why)
	return c
}

func (g *simClone) move(task amp.TaskID, to, why string) {
	if g.branches[task] != to {
		g.s.tell("in the clone of %s the branch of %s goes from %s to %s: %s", g.n.name, task, g.branches[task], to, why)
	}
	g.branches[task] = to
}

// commits is what the agent of a turn does to its branch, as long as it lives.
func (g *simClone) commits(turn *providers.Turn) {
	if g == nil || turn.Role != amp.Executor || !g.s.chance(60) {
		return
	}
	if p := g.s.procs[turn.ID]; p.alive && !g.n.paused {
		g.commit(turn.Task, "by turn "+turn.ID)
	}
}

func (g *simClone) Prepare(ctx context.Context, w amp.Workspace, turn string) (amp.Prepared, error) {
	if err := g.begin(ctx); err != nil {
		return amp.Prepared{}, err
	}
	at := g.at(w, "prepares")
	g.move(w.TaskID, at, "prepared for turn "+turn)
	g.turns[turn] = at
	return g.fakeGit.Prepare(ctx, w, turn)
}

func (g *simClone) Verify(ctx context.Context, w amp.Workspace, turn string, r *amp.Result, msgID string) (amp.Check, error) {
	if err := g.begin(ctx); err != nil || r == nil {
		return amp.Check{}, err
	}
	if g.turns[turn] == "" {
		return amp.Check{}, errors.New("nothing is recorded of the start of turn " + turn)
	}
	ck, err := g.fakeGit.Verify(ctx, w, turn, r, msgID)
	if err != nil || ck.Commit == "" {
		return ck, err
	}
	switch tip := g.branches[w.TaskID]; {
	case g.measured[turn] == "":
		if tip == g.turns[turn] {
			tip = g.commit(w.TaskID, "left by turn "+turn)
		}
		g.measured[turn] = tip
	case g.measured[turn] != tip:
		g.s.fail("clones", "%s measures turn %s of %s again: the branch is at %s, it was at %s", g.n.name, turn, w.TaskID, tip, g.measured[turn])
	}
	ck.Commit = g.measured[turn]
	return ck, nil
}

func (g *simClone) RunCI(ctx context.Context, w amp.Workspace, commands [][]string, within time.Duration) (amp.Check, error) {
	if err := g.begin(ctx); err != nil {
		return amp.Check{}, err
	}
	if at := g.at(w, "checks"); g.branches[w.TaskID] != at {
		g.s.fail("clones", "%s checks %s at %s: its branch moved to %s", g.n.name, w.TaskID, at, g.branches[w.TaskID])
	}
	return g.fakeGit.RunCI(ctx, w, commands, within)
}

func (g *simClone) OpenReview(ctx context.Context, w amp.Workspace, turn string) (amp.Prepared, error) {
	if err := g.begin(ctx); err != nil {
		return amp.Prepared{}, err
	}
	at := g.at(w, "reviews")
	if tip := g.branches[w.TaskID]; w.Branch != w.BaseBranch && tip != at {
		g.s.fail("clones", "%s reviews %s at %s: its branch moved to %s", g.n.name, w.TaskID, at, tip)
	}
	g.turns[turn] = at
	return g.fakeGit.OpenReview(ctx, w, turn)
}

// CloseReview leaves direct fixes in this clone alone, on no branch.
func (g *simClone) CloseReview(ctx context.Context, w amp.Workspace, turn string, v *amp.Verdict) (amp.Check, error) {
	if err := g.begin(ctx); err != nil {
		return amp.Check{}, err
	}
	if v != nil && g.turns[turn] == "" {
		return amp.Check{}, errors.New("nothing is recorded of the start of review " + turn)
	}
	ck, err := g.fakeGit.CloseReview(ctx, w, turn, v)
	if ck.Fix != "" {
		g.has[ck.Fix], g.s.remote.parent[ck.Fix] = true, ck.Commit
	}
	return ck, err
}

// Fix lets the branch follow, from the commit that was reviewed alone.
func (g *simClone) Fix(ctx context.Context, w amp.Workspace) (amp.Check, error) {
	if err := g.begin(ctx); err != nil {
		return amp.Check{}, err
	}
	at, tip := g.at(w, "fixes"), g.branches[w.TaskID]
	if tip != at && tip != g.s.remote.parent[at] {
		g.s.fail("clones", "%s lets %s follow to %s: its branch moved to %s", g.n.name, w.TaskID, at, tip)
	}
	ck, err := g.fakeGit.Fix(ctx, w)
	if err == nil && ck.Commit != "" {
		g.move(w.TaskID, at, "direct fixes")
	}
	return ck, err
}

func (g *simClone) Rollback(ctx context.Context, w amp.Workspace, cp int) (amp.Check, error) {
	if err := g.begin(ctx); err != nil {
		return amp.Check{}, err
	}
	g.move(w.TaskID, g.at(w, "rolls back"), "rolled back")
	return g.fakeGit.Rollback(ctx, w, cp)
}

func (g *simClone) Deliver(ctx context.Context, w amp.Workspace, d amp.Delivery) (amp.Check, error) {
	if err := g.begin(ctx); err != nil {
		return amp.Check{}, err
	}
	if at := g.at(w, "delivers"); g.branches[w.TaskID] != at {
		g.s.fail("clones", "%s delivers %s at %s: its branch moved to %s", g.n.name, w.TaskID, at, g.branches[w.TaskID])
	}
	return g.fakeGit.Deliver(ctx, w, d)
}

func (g *simClone) Sees(_ context.Context, w amp.Workspace, lastTurn string) string {
	if c := commitOf(w); c != "" && !g.has[c] {
		return "commit " + c + " is not here"
	}
	if lastTurn != "" && g.turns[lastTurn] == "" {
		return "what was noted of turn " + lastTurn + " is not here"
	}
	return ""
}

var errRemote = errors.New("the remote does not answer")

func (g *simClone) Pass(ctx context.Context, w amp.Workspace, _ uint64) error {
	if err := g.begin(ctx); err != nil {
		return err
	}
	at := commitOf(w)
	switch {
	case g.passed[w.TaskID] == at:
		return nil
	case !g.has[at]:
		return fmt.Errorf("commit %s is not here", at)
	case g.s.fault(25):
		g.s.counts["failed pushes"]++
		return errRemote
	}
	if g.s.remote.passed[w.TaskID] == nil {
		g.s.remote.passed[w.TaskID] = map[string]bool{}
	}
	g.s.remote.passed[w.TaskID][at] = true
	if g.s.fault(5) {
		return errRemote // its answer is lost
	}
	g.passed[w.TaskID] = at
	return nil
}

func (g *simClone) Passed(context.Context, string) (map[amp.TaskID]string, error) {
	return maps.Clone(g.passed), nil
}

func (g *simClone) Receive(_ context.Context, w amp.Workspace) error {
	at := commitOf(w)
	switch {
	case at == "" || g.has[at]:
		return nil
	case g.s.fault(25):
		g.s.counts["failed fetches"]++
		return errRemote
	case !g.s.remote.passed[w.TaskID][at]:
		return fmt.Errorf("commit %s is not at the remote", at)
	}
	g.s.counts["fetches"]++
	g.has[at], g.passed[w.TaskID] = true, at
	return nil
}

// Adopt moves the branch as [gitops.Git.Adopt] does.
func (g *simClone) Adopt(ctx context.Context, w amp.Workspace, elsewhere bool) error {
	if err := g.begin(ctx); err != nil || w.BaseCommit == "" || g.stiff {
		return err
	}
	at, tip := commitOf(w), g.branches[w.TaskID]
	if !g.has[at] {
		return fmt.Errorf("commit %s is not here", at)
	}
	if behind := tip == "" || g.s.remote.holds(at, tip); behind || elsewhere || tip == g.passed[w.TaskID] {
		g.move(w.TaskID, at, "adopted")
	}
	return nil
}

func (g *simClone) Left(context.Context, []string, bool) ([]amp.TaskID, error) { return nil, nil }

func (g *simClone) Withdraw(context.Context, []amp.Workspace) error { return nil }

func (g *simClone) Remote() string { return "origin" }
