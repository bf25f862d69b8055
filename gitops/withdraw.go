package gitops

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"arbiter/amp"
)

// Left are the tasks of which something may be left that [Git.Withdraw] removes: here, and at the remotes of the repositories when those are
// asked. What a repository cannot tell is an error beside what the others have; one that is not on this machine is passed over.
func (g *Git) Left(ctx context.Context, repos []string, ask bool) ([]amp.TaskID, error) {
	found := map[amp.TaskID]bool{}
	for _, dir := range []string{"refs", "worktrees"} {
		entries, err := os.ReadDir(filepath.Join(g.home, dir))
		if err != nil {
			return nil, fmt.Errorf("look for what is left of tasks: %w", err)
		}
		for _, e := range entries {
			found[amp.TaskID(e.Name())] = true // that of no task is nobody's
		}
	}
	var failed error
	asked := map[*repo]bool{}
	for _, path := range repos {
		r, err := g.open(path)
		if err != nil || asked[r] {
			continue
		}
		asked[r] = true
		here, err := r.refs(ctx, passedRefs, receivedRefs)
		failed = errors.Join(failed, err)
		for ref := range here {
			found[taskOf(ref)] = true
		}
		if !ask {
			continue
		}
		there, _, err := r.there(ctx)
		failed = errors.Join(failed, err)
		for ref := range there {
			found[taskOf(ref)] = true
		}
	}
	return slices.Collect(maps.Keys(found)), failed
}

// taskOf is the task that one of our refs is about: what stands behind refs/arbiter/ and a word.
func taskOf(ref string) amp.TaskID {
	parts := strings.SplitN(ref, "/", 5)
	if len(parts) < 4 {
		return ""
	}
	return amp.TaskID(parts[3])
}

// there are the refs of tasks at the remote, and its address.
func (r *repo) there(ctx context.Context) (refs map[string]string, url string, err error) {
	if url, err = r.address(ctx, r.g.remote, true); err != nil {
		return nil, "", err
	}
	if refs, err = r.list(ctx, url, passRefs+"*"); err != nil {
		return nil, "", fmt.Errorf("look for refs of tasks at %s: %w", r.g.remote, err)
	}
	return refs, url, nil
}

// Withdraw removes what remotes and this machine keep of ended tasks, whoever ended them: the refs that they passed through, each only where
// it was seen, and a worktree here as [Git.Release] does. What comes to a remote later is found by the next [Git.Left] that asks. A second
// call finds nothing left.
func (g *Git) Withdraw(ctx context.Context, ended []amp.Workspace) error {
	tasks := map[*repo]map[amp.TaskID]bool{}
	var failed error
	for _, w := range ended {
		r, err := g.open(w.Repo)
		if err != nil {
			continue // it is not here any more
		}
		if exists(g.taskTree(r, w.TaskID).dir) || exists(g.recordDir(w.TaskID)) {
			if _, err := g.Release(ctx, w); err != nil {
				failed = errors.Join(failed, err)
				continue
			}
		}
		if tasks[r] == nil {
			tasks[r] = map[amp.TaskID]bool{}
		}
		tasks[r][w.TaskID] = true
	}
	for r, of := range tasks {
		failed = errors.Join(failed, r.withdraw(ctx, of))
	}
	return failed
}

// withdraw removes the refs of tasks, first at the remote.
func (r *repo) withdraw(ctx context.Context, tasks map[amp.TaskID]bool) error {
	others := func(ref, _ string) bool { return !tasks[taskOf(ref)] }
	here, err := r.refs(ctx, passedRefs, receivedRefs)
	if err != nil {
		return err
	}
	maps.DeleteFunc(here, others)
	var refused error
	for range 2 { // the second time without what somebody else removed at the same time
		there, url, err := r.there(ctx)
		if err != nil {
			return cmp.Or(refused, err)
		}
		if maps.DeleteFunc(there, others); len(there) == 0 {
			refused = nil
			break
		}
		if refused = r.remove(ctx, url, there); refused == nil {
			break
		}
	}
	if refused != nil {
		return fmt.Errorf("remove the refs of ended tasks from %s: %w", r.g.remote, refused)
	}
	return r.drop(ctx, here)
}

// drop removes refs that are where they were seen.
func (r *repo) drop(ctx context.Context, refs map[string]string) error {
	var in strings.Builder
	for ref, commit := range refs {
		fmt.Fprintf(&in, "option no-deref\ndelete %s %s\n", ref, commit) // an agent could have made it name another one
	}
	if in.Len() == 0 {
		return nil
	}
	r.write.Lock()
	defer r.write.Unlock()
	c := r.at()
	c.write, c.stdin = true, in.String()
	_, err := r.g.run(ctx, c, "update-ref", "--stdin")
	return err
}
