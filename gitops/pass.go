package gitops

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"arbiter/amp"
)

// Tasks pass between machines with clones of their own through refs of a remote, which no branch and no tag is: the commits that
// the journal names as refs/arbiter/tasks/<task>/<epoch>/<commit>, and the checkpoints beside them. The epoch is that of the lease under which
// somebody passed them on, so that nobody writes over another's; the commit is its own proof.
//
// Here refs/arbiter/passed/<task> is the commit that was last seen to be at the remote, and refs/arbiter/received/<task>/ what was fetched
// and is not yet made use of.
func passPrefix(task amp.TaskID) string     { return passRefs + string(task) + "/" }
func passedRef(task amp.TaskID) string      { return passedRefs + string(task) }
func receivedPrefix(task amp.TaskID) string { return receivedRefs + string(task) + "/" }

const (
	passRefs       = "refs/arbiter/tasks/"
	passedRefs     = "refs/arbiter/passed/"
	receivedRefs   = "refs/arbiter/received/"
	checkpointName = "checkpoint-"
)

// Remote is what tasks are passed on through, "" when they are not.
func (g *Git) Remote() string { return g.remote }

// Pass makes the commit at which the journal has the task, and its checkpoints, available to other machines, under the epoch of the lease
// that the caller has or had. It changes no branch, neither here nor there. A commit that was passed on already costs nothing.
func (g *Git) Pass(ctx context.Context, w amp.Workspace, epoch uint64) error {
	r, err := g.open(w.Repo)
	if err != nil {
		return err
	}
	at := want(w)
	if there, err := r.tip(ctx, passedRef(w.TaskID)); err != nil || there == at {
		return err
	}
	if c, err := r.commit(ctx, at); err != nil || c == "" {
		return cmp.Or(err, fmt.Errorf("commit %s is not in the repository %s", short(at), r.root))
	}
	url, err := r.address(ctx, g.remote, true)
	if err != nil {
		return err
	}
	prefix := fmt.Sprintf("%s%d/", passPrefix(w.TaskID), epoch)
	specs := []string{"+" + at + ":" + prefix + at}
	points, err := g.checkpoints(ctx, r, w.TaskID)
	if err != nil {
		return err
	}
	for _, n := range slices.Sorted(maps.Keys(points)) {
		specs = append(specs, "+"+points[n]+":"+prefix+checkpointName+strconv.Itoa(n))
	}
	if err := r.push(ctx, url, specs...); err != nil {
		return fmt.Errorf("pass %s on through %s: %w", w.TaskID, g.remote, err)
	}
	return r.mark(ctx, w.TaskID, at)
}

// checkpoints are the commits of a task's checkpoints. The records of turns go before the refs, which an agent could have moved.
func (g *Git) checkpoints(ctx context.Context, r *repo, task amp.TaskID) (map[int]string, error) {
	refs, err := r.refs(ctx, checkpointPrefix(task))
	if err != nil {
		return nil, err
	}
	points, _ := numbered(refs, checkpointPrefix(task))
	all, err := g.records(task)
	if err != nil {
		return nil, err
	}
	for _, rec := range all {
		if points[rec.Checkpoint] != "" {
			points[rec.Checkpoint] = rec.Tip
		}
	}
	return points, nil
}

// mark notes that a commit is at the remote.
func (r *repo) mark(ctx context.Context, task amp.TaskID, commit string) error {
	old, err := r.tip(ctx, passedRef(task))
	if err != nil || old == commit {
		return err
	}
	return r.setRef(ctx, passedRef(task), commit, old, "passed on")
}

// Passed are the commits of tasks that are known to be at the remote of a repository.
func (g *Git) Passed(ctx context.Context, path string) (map[amp.TaskID]string, error) {
	r, err := g.open(path)
	if err != nil {
		return nil, err
	}
	refs, err := r.refs(ctx, passedRefs)
	if err != nil {
		return nil, err
	}
	for _, push := range []bool{true, false} { // before any agent runs
		if _, err := r.address(ctx, g.remote, push); err != nil {
			return nil, err
		}
	}
	at := make(map[amp.TaskID]string, len(refs))
	for ref, commit := range refs {
		at[amp.TaskID(strings.TrimPrefix(ref, passedRefs))] = commit
	}
	return at, nil
}

// Receive fetches the commit at which the journal has the task, which another machine passed on. It moves no branch: [Git.Adopt] does,
// once the task is this machine's. A commit that is here already is not fetched. An error says what is missing.
func (g *Git) Receive(ctx context.Context, w amp.Workspace) error {
	r, err := g.open(w.Repo)
	if err != nil {
		return err
	}
	at := want(w)
	if at == "" {
		return nil
	}
	if c, err := r.commit(ctx, at); err != nil || c != "" {
		return err
	}
	url, err := r.address(ctx, g.remote, false)
	if err != nil {
		return err
	}
	received := receivedPrefix(w.TaskID)
	if err := r.fetch(ctx, url, passPrefix(w.TaskID), received); err != nil {
		return fmt.Errorf("get %s from %s: %w", w.TaskID, g.remote, err)
	}
	refs, err := r.refs(ctx, received)
	if err != nil {
		return err
	}
	for ref, commit := range refs {
		if commit == at && strings.HasSuffix(ref, "/"+at) {
			return r.mark(ctx, w.TaskID, at)
		}
	}
	return fmt.Errorf("commit %s of %s is not at %s", short(at), w.TaskID, g.remote)
}

// errForeign says why a branch here cannot become the task's.
func (r *repo) errForeign(branch, tip string) error {
	return fmt.Errorf("branch %s is in the repository %s here at %s, with work that is not this task's; rename it", branch, r.root, short(tip))
}

// Adopt makes this machine's branch and checkpoints of a task those that the journal names, before work on it goes on here. elsewhere says
// that its last turn ran on another machine: then what an earlier turn left here, and the journal never named, is pinned to recovery
// refs; otherwise a branch that is neither behind nor where it was passed on stays where it is, for the checks to find. A
// branch with a person's work, or that a person has checked out, is an error, and changes nothing.
func (g *Git) Adopt(ctx context.Context, w amp.Workspace, elsewhere bool) error {
	if w.BaseCommit == "" {
		return nil
	}
	r, wt, end, err := g.begin(w)
	if err != nil {
		return err
	}
	defer end()
	at := want(w)
	if c, err := r.commit(ctx, at); err != nil || c == "" {
		return cmp.Or(err, fmt.Errorf("commit %s is not in the repository %s here", short(at), r.root))
	}
	if in, err := r.ancestor(ctx, w.BaseCommit, at); err != nil || !in {
		return cmp.Or(err, fmt.Errorf("commit %s is not built on %s, the base of %s", short(at), short(w.BaseCommit), w.TaskID))
	}
	tip, err := g.tip(ctx, wt, w)
	if err != nil {
		return err
	}
	mine, err := r.refs(ctx, checkpointPrefix(w.TaskID))
	if err != nil {
		return err
	}
	passed, err := r.tip(ctx, passedRef(w.TaskID))
	if err != nil {
		return err
	}
	if tip != at && !(tip == "" && w.Commit == "") {
		if err := g.follow(ctx, wt, w, tip, len(mine) > 0, elsewhere, passed); err != nil {
			return err
		}
	}
	return g.takeCheckpoints(ctx, r, w)
}

// follow moves the branch to the recorded commit.
func (g *Git) follow(ctx context.Context, wt *worktree, w amp.Workspace, tip string, mine, elsewhere bool, passed string) error {
	r, at := wt.r, want(w)
	behind := true
	if tip != "" {
		var err error
		if behind, err = r.ancestor(ctx, tip, at); err != nil {
			return err
		}
		switch {
		case !mine && (!behind || w.Commit == ""):
			return r.errForeign(w.Branch, tip)
		case !behind && !elsewhere && tip != passed:
			return nil
		}
	}
	if dir := r.checkedOutAt(ctx, w.Branch); dir != "" && dir != wt.dir {
		return fmt.Errorf("branch %s is checked out in %s, where a person may be at work; switch that to another branch", w.Branch, dir)
	}
	if wt.there() {
		return g.ensure(ctx, wt, w)
	}
	if !behind && tip != passed {
		if _, err := r.pin(ctx, w.TaskID, tip, "left by a turn that was done again on another machine"); err != nil {
			return err
		}
	}
	return r.setRef(ctx, "refs/heads/"+w.Branch, at, tip, "from another machine")
}

// takeCheckpoints makes the received checkpoints those of the task: of each the one with the highest epoch. What had its number here is pinned.
func (g *Git) takeCheckpoints(ctx context.Context, r *repo, w amp.Workspace) error {
	received, err := r.refs(ctx, receivedPrefix(w.TaskID))
	if err != nil || len(received) == 0 {
		return err
	}
	own, err := r.refs(ctx, checkpointPrefix(w.TaskID))
	if err != nil {
		return err
	}
	newest, points := map[int]uint64{}, map[int]string{}
	for ref, commit := range received {
		text, name, _ := strings.Cut(strings.TrimPrefix(ref, receivedPrefix(w.TaskID)), "/")
		epoch, err := strconv.ParseUint(text, 10, 64)
		number, is := strings.CutPrefix(name, checkpointName)
		n, bad := strconv.Atoi(number)
		if err == nil && is && bad == nil && n > 0 && epoch >= newest[n] {
			newest[n], points[n] = epoch, commit
		}
	}
	for _, n := range slices.Sorted(maps.Keys(points)) {
		ref := checkpointPrefix(w.TaskID) + strconv.Itoa(n)
		if own[ref] == points[n] {
			continue
		}
		if own[ref] != "" {
			if _, err := r.pin(ctx, w.TaskID, own[ref], "a checkpoint that another machine set anew"); err != nil {
				return err
			}
		}
		if err := r.setRef(ctx, ref, points[n], own[ref], "checkpoint from another machine"); err != nil {
			return err
		}
	}
	return errors.Join(g.forgetRecords(w.TaskID, points), r.drop(ctx, received))
}

// forgetRecords removes the records of turns here whose checkpoint is another one by now.
func (g *Git) forgetRecords(task amp.TaskID, points map[int]string) error {
	all, err := g.records(task)
	if err != nil {
		return err
	}
	for _, rec := range all {
		if at := points[rec.Checkpoint]; at != "" && at != rec.Tip && !rec.Review {
			if err := g.removeRecord(rec); err != nil {
				return err
			}
		}
	}
	return nil
}
