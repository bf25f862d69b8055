package gitops

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"arbiter/amp"
)

// Inspect says what a repository is, before any work in it, and refuses what must not be worked on with an *amp.GuardError: a
// path that is no repository, a bare one, one without commits (type unknown, AMP-046); a protected branch (branch_violation,
// AMP-048, AMP-049, A22). An empty branch asks about the repository alone. A detached HEAD and changed files are facts, no errors.
func (g *Git) Inspect(ctx context.Context, path, branch string) (amp.RepoFacts, error) {
	r, err := g.open(path)
	if err != nil {
		return amp.RepoFacts{}, err
	}
	f := amp.RepoFacts{Root: r.root}
	if g.Local(path) != path {
		f.Root = path // what the others call it stays its name
	}
	head, err := r.symbolic(ctx, "HEAD")
	if err != nil {
		return f, err
	}
	f.Detached = head == ""
	if f.DefaultBranch, f.Head, err = r.defaultBranch(ctx); err != nil {
		return f, err
	}
	if branch != "" {
		if err := g.guard(ctx, r, branch); err != nil {
			return f, err
		}
		if f.BranchCommit, err = r.tip(ctx, "refs/heads/"+branch); err != nil {
			return f, err
		}
		f.BranchExists = f.BranchCommit != ""
	}
	if f.Dirty, err = r.dirtyCheckout(ctx); err != nil {
		return f, err
	}
	out, err := g.run(ctx, r.checkout(), "ls-files", "-z", "--cached")
	f.Files = strings.Count(out, "\x00")
	return f, err
}

// Shallow reports whether older commits of a repository are missing.
func (g *Git) Shallow(path string) (bool, error) {
	r, err := g.open(path)
	if err != nil {
		return false, err
	}
	_, err = os.Lstat(filepath.Join(r.common, "shallow"))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// checkout is a call in the person's own checkout.
func (r *repo) checkout() call { return r.checkoutOf(r.root) }

// checkoutOf is where git runs on the files below root, which may be one of the repository's worktrees.
func (r *repo) checkoutOf(root string) call {
	c := r.at()
	c.workTree = root
	if dir, err := readLink(filepath.Join(root, ".git")); err == nil {
		c.gitDir = dir // the repository was named by one of its worktrees
	}
	return c
}

func (r *repo) dirtyCheckout(ctx context.Context) (bool, error) {
	out, err := r.g.run(ctx, r.checkout(), "status", "--porcelain", "-z", "--ignore-submodules=dirty")
	return out != "", err
}

// guard refuses a branch that no agent may work on (AMP-048, AMP-049), and a name that git would not take.
func (g *Git) guard(ctx context.Context, r *repo, branch string) error {
	refuse := func(t amp.EscalationType, why string) error {
		return &amp.GuardError{Type: t, Repo: r.root, Branch: branch, Why: why}
	}
	def, _, err := r.defaultBranch(ctx)
	if err != nil {
		return err
	}
	if g.isProtected(r, branch, def) {
		return refuse(amp.BranchViolation, "it is protected; work needs a feature branch of its own, such as feature/"+"<topic>")
	}
	if strings.HasPrefix(branch, "refs/") || strings.TrimSpace(branch) != branch {
		return refuse(amp.UnknownEscalation, "give the branch's short name, without refs/heads/ and spaces")
	}
	full := plumbing.ReferenceName("refs/heads/" + branch)
	if full.Validate() != nil || strings.HasPrefix(branch, "-") {
		return refuse(amp.UnknownEscalation, "git does not allow this name for a branch")
	}
	if other, err := r.inTheWay(ctx, branch); err != nil {
		return err
	} else if other != "" {
		return refuse(amp.UnknownEscalation, "there is a branch "+other+", and git cannot have both; choose another name")
	}
	for ref, hops := string(full), 0; ; hops++ {
		target, err := r.symbolic(ctx, ref)
		if err != nil {
			return err
		}
		if target == "" {
			return nil
		}
		if g.isProtected(r, target, def) {
			return refuse(amp.BranchViolation, "it is a symbolic ref to "+target+", which is protected")
		}
		if hops > 4 {
			return refuse(amp.UnknownEscalation, "it is a chain of symbolic refs without an end")
		}
		ref = target
	}
}

// inTheWay is a branch beside which git can have no branch of this name, since one's name begins with the other's and a slash; "" when there
// is none, or when it is there already.
func (r *repo) inTheWay(ctx context.Context, branch string) (string, error) {
	if tip, err := r.tip(ctx, "refs/heads/"+branch); err != nil || tip != "" {
		return "", err
	}
	for at, c := range branch {
		if c != '/' {
			continue
		}
		if tip, err := r.tip(ctx, "refs/heads/"+branch[:at]); err != nil || tip != "" {
			return branch[:at], err
		}
	}
	below, err := r.refs(ctx, "refs/heads/"+branch+"/")
	for ref := range below {
		return strings.TrimPrefix(ref, "refs/heads/"), err
	}
	return "", err
}

// isProtected is [Protected] with what this repository and the configuration add.
func (g *Git) isProtected(r *repo, name, def string) bool {
	return protected(name, def, g.protected, r.remotes())
}

func (r *repo) remotes() []string {
	s := r.reader()
	if s == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	cfg, err := s.Config()
	if err != nil {
		return nil
	}
	var names []string
	for n := range cfg.Remotes {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// Protected reports whether a name means a branch that no agent may touch: main, master, the default branch, or one that matches a
// pattern (A22). Spaces, refs/heads/, refs/remotes/<remote>/, origin/ and upstream/ are stripped first, as often as they come; HEAD
// and @ mean the default branch; what selects a commit of a branch (main^, main~1, main@{0}) means the branch. Upper and lower case
// are the same, since they are on some file systems. An empty name is protected.
func Protected(name, defaultBranch string, patterns []string) bool {
	return protected(name, defaultBranch, patterns, nil)
}

func protected(name, def string, patterns, remotes []string) bool {
	name = bareBranch(name, remotes)
	def = bareBranch(def, nil)
	if name == "" || name == "head" || name == "main" || name == "master" || name == def {
		return true
	}
	return slices.ContainsFunc(patterns, func(p string) bool {
		return amp.MatchPath(strings.ToLower(strings.TrimPrefix(strings.TrimSpace(p), "refs/heads/")), name)
	})
}

// bareBranch is the branch that a name means, in lower case.
func bareBranch(name string, remotes []string) string {
	name = strings.ToLower(name)
	for {
		before := name
		name = strings.Trim(strings.TrimSpace(name), "/")
		if i := strings.IndexAny(name, "^~:"); i >= 0 {
			name = name[:i]
		}
		if i := strings.Index(name, "@{"); i >= 0 {
			name = name[:i]
		}
		if name == "@" {
			name = "head"
		}
		name = strings.TrimPrefix(name, "refs/")
		name = strings.TrimPrefix(name, "heads/")
		if rest, ok := strings.CutPrefix(name, "remotes/"); ok {
			_, name, _ = strings.Cut(rest, "/")
		}
		for _, remote := range append([]string{"origin", "upstream"}, remotes...) {
			name = strings.TrimPrefix(name, strings.ToLower(remote)+"/")
		}
		if name == before {
			return name
		}
	}
}

// defaultBranch is the repository's default branch and its commit: origin/HEAD, the person's init.defaultBranch, main, master, else
// the branch that is checked out.
func (r *repo) defaultBranch(ctx context.Context) (name, commit string, err error) {
	var names []string
	head, err := r.symbolic(ctx, "refs/remotes/origin/HEAD")
	if err != nil {
		return "", "", err
	}
	if n, ok := strings.CutPrefix(head, "refs/remotes/origin/"); ok {
		names = append(names, n)
	}
	r.initOnce.Do(func() {
		out, _ := r.git(ctx, "config", "--get", "init.defaultBranch")
		r.initBranch = strings.TrimSpace(out)
	})
	names = append(names, r.initBranch, "main", "master")
	current, err := r.g.checkedOut(ctx, r)
	if err != nil {
		return "", "", err
	}
	for _, n := range append(names, current) {
		if n == "" {
			continue
		}
		for _, ref := range []string{"refs/heads/" + n, "refs/remotes/origin/" + n} {
			if commit, err = r.tip(ctx, ref); err != nil || commit != "" {
				return n, commit, err
			}
		}
	}
	return "", "", r.noDefault(ctx, current)
}

// noDefault says why there is no default branch.
func (r *repo) noDefault(ctx context.Context, current string) error {
	why := "it has no commits yet; make a first one, since work needs a commit to start from"
	refs, err := r.refs(ctx, "refs/heads", "refs/remotes")
	if err != nil {
		return err
	}
	head, err := r.tip(ctx, "HEAD")
	if err != nil {
		return err
	}
	switch {
	case current == "" && head != "":
		why = "its default branch cannot be told: HEAD is detached and there is no main, master or origin/HEAD; check out the branch to work from"
	case len(refs) > 0:
		why = "its default branch cannot be told: HEAD names " + current + ", which does not exist, and there is no main, master or origin/HEAD; " +
			"check out the branch to work from, or roll back the task that removed it"
	}
	return &amp.GuardError{Type: amp.UnknownEscalation, Repo: r.root, Why: why}
}

// checkedOut is the short name of the branch that the person has checked out, "" when HEAD is detached.
func (g *Git) checkedOut(ctx context.Context, r *repo) (string, error) {
	head, err := r.symbolic(ctx, "HEAD")
	name, _ := strings.CutPrefix(head, "refs/heads/")
	return name, err
}
