package gitops

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

	"arbiter/amp"
)

func checkpointPrefix(task amp.TaskID) string {
	return "refs/arbiter/checkpoints/" + string(task) + "/"
}
func recoveryPrefix(task amp.TaskID) string { return "refs/arbiter/recovery/" + string(task) + "/" }
func deliveredRef(task amp.TaskID) string   { return "refs/arbiter/delivered/" + string(task) }

// refs returns every ref below the prefixes, all of them without one, with the object that each names.
func (r *repo) refs(ctx context.Context, prefixes ...string) (map[string]string, error) {
	refs, _, err := r.allRefs(ctx, prefixes...)
	return refs, err
}

// allRefs is refs, and of the symbolic ones among them the ref that each names.
func (r *repo) allRefs(ctx context.Context, prefixes ...string) (refs, symbolic map[string]string, err error) {
	args := append([]string{"for-each-ref", "--format=%(objectname) %(refname) %(symref)", "--"}, prefixes...)
	out, err := r.git(ctx, args...)
	if err != nil {
		return nil, nil, fmt.Errorf("list the refs of %s: %w", r.root, err)
	}
	refs, symbolic = make(map[string]string, strings.Count(out, "\n")), map[string]string{}
	for line := range strings.Lines(out) {
		hash, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		name, target, ok := strings.Cut(rest, " ")
		if ok {
			refs[name] = hash
		}
		if target != "" {
			symbolic[name] = target
		}
	}
	return refs, symbolic, nil
}

// numbered returns the refs of the form prefix<n>, and the highest n.
func numbered(refs map[string]string, prefix string) (byNumber map[int]string, last int) {
	byNumber = map[int]string{}
	for name, hash := range refs {
		rest, ok := strings.CutPrefix(name, prefix)
		if n, err := strconv.Atoi(rest); ok && err == nil && n > 0 {
			byNumber[n] = hash
			last = max(last, n)
		}
	}
	return byNumber, last
}

// setRef moves a ref from old to commit; "" as old means that it must not exist yet. It fails when it is elsewhere. A symbolic ref becomes
// a plain one, so that no other ref moves, whatever an agent made of this one.
func (r *repo) setRef(ctx context.Context, ref, commit, old, why string) error {
	r.write.Lock()
	defer r.write.Unlock()
	c := r.at()
	c.write = true
	_, err := r.g.run(ctx, c, "update-ref", "--no-deref", "--create-reflog", "-m", "arbiter: "+why, ref, commit, old)
	if err != nil {
		return fmt.Errorf("set %s to %s: %w", ref, short(commit), err)
	}
	return nil
}

// pin keeps a commit by a recovery ref and returns the ref; one that is kept already keeps its ref.
func (r *repo) pin(ctx context.Context, task amp.TaskID, commit, why string) (string, error) {
	prefix := recoveryPrefix(task)
	refs, err := r.refs(ctx, prefix)
	if err != nil {
		return "", err
	}
	byNumber, last := numbered(refs, prefix)
	for n, c := range byNumber {
		if c == commit {
			return prefix + strconv.Itoa(n), nil
		}
	}
	ref := prefix + strconv.Itoa(last+1)
	if err := r.setRef(ctx, ref, commit, "", why); err != nil {
		return "", fmt.Errorf("pin %s: %w", short(commit), err)
	}
	return ref, nil
}

// pinFiles commits what the worktree holds, on no branch, and pins the commit; files that are just those of head are pinned by it
// already and give "". Message and dates depend on nothing but the task and head, so that the same files are pinned once.
func (wt *worktree) pinFiles(ctx context.Context, task amp.TaskID, head, why string) (string, error) {
	tree, err := wt.tree(ctx)
	if err != nil {
		return "", err
	}
	out, err := wt.r.git(ctx, "show", "-s", "--format=%T %ct", head)
	if err != nil {
		return "", err
	}
	old, date, _ := strings.Cut(strings.TrimSpace(out), " ")
	if tree == old {
		return "", nil
	}
	c := wt.r.at()
	c.write, c.date = true, sameDate(date)
	c.stdin = message("Uncommitted work of "+string(task), []string{"Task: " + string(task)})
	out, err = wt.g.run(ctx, c, "commit-tree", tree, "-p", head, "-F", "-")
	if err != nil {
		return "", fmt.Errorf("commit the files of worktree %s for recovery: %w", wt.dir, err)
	}
	return wt.r.pin(ctx, task, strings.TrimSpace(out), why)
}

// sameDate is the date of a commit for another one, from its seconds; what an agent wrote there may be no date, or one that git takes from
// nobody.
func sameDate(seconds string) string {
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt32 {
		n = 0
	}
	return fmt.Sprintf("@%d +0000", n)
}

// rescue pins everything of a task that is not at commit: the branch's tip, a HEAD elsewhere, and changed files. It returns the
// recovery refs. Files that git does not take in are kept as they are: their folder is moved aside, returned in the place of a ref, and
// the worktree is gone then.
func (wt *worktree) rescue(ctx context.Context, task amp.TaskID, s state, tip, commit, why string) ([]string, error) {
	var pinned []string
	keep := func(c string) error {
		if c == "" || c == commit {
			return nil
		}
		if in, err := wt.r.ancestor(ctx, c, commit); err != nil || in {
			return err
		}
		ref, err := wt.r.pin(ctx, task, c, why)
		pinned = append(pinned, ref)
		return err
	}
	if err := keep(tip); err != nil {
		return pinned, err
	}
	if s.head != tip {
		if err := keep(s.head); err != nil {
			return pinned, err
		}
	}
	if len(s.changed) == 0 {
		return pinned, nil
	}
	head := s.head
	if head == "" {
		head = commit
	}
	ref, err := wt.pinFiles(ctx, task, head, why)
	if untaken(err) {
		wt.g.log.Warn("a worktree is moved aside", "task", task, "dir", wt.dir, "err", err)
		if err = wt.forget(); err == nil {
			ref, err = wt.aside()
		}
	}
	if ref != "" {
		pinned = append(pinned, ref)
	}
	return pinned, err
}
