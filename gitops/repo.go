package gitops

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	gogit "github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/storage/filesystem"

	"arbiter/amp"
)

// repo is one repository, whatever path it was named by: the linked worktrees of a repository share one.
type repo struct {
	g *Git
	// root is the path that a person named, common the folder with refs and objects; both without symbolic links.
	root, common string
	// write is held while refs or the list of worktrees change.
	write sync.Mutex

	// mu guards store, which go-git does not protect itself.
	mu    sync.Mutex
	store *gogit.Repository
	// pins is held while the note of where remotes lead is read and written.
	pins sync.Mutex

	initOnce sync.Once
	// initBranch is the person's init.defaultBranch, read once.
	initBranch string
}

// lockTask makes this the only work on the task; the caller unlocks.
func (g *Git) lockTask(task amp.TaskID) func() {
	g.mu.Lock()
	m := g.tasks[string(task)]
	if m == nil {
		m = new(sync.Mutex)
		g.tasks[string(task)] = m
	}
	g.mu.Unlock()
	m.Lock()
	return m.Unlock
}

// open finds the repository at a path. It is an *amp.GuardError of type unknown when there is none that can be worked in
// (AMP-045, AMP-046).
func (g *Git) open(path string) (*repo, error) {
	root, common, err := locate(g.Local(path))
	if err != nil {
		return nil, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if r := g.repos[common]; r != nil {
		return r, nil
	}
	r := &repo{g: g, root: root, common: common}
	r.store = openStore(root)
	g.repos[common] = r
	return r, nil
}

// Local is where the repository is on this machine that the journal calls by path; path itself unless [Options] name another place.
func (g *Git) Local(path string) string {
	for _, name := range []string{path, filepath.Base(path)} {
		if to := g.places[name]; to != "" {
			return to
		}
	}
	return path
}

// openStore opens the repository with go-git, or returns nil when go-git cannot read its format; git answers then.
func openStore(root string) *gogit.Repository {
	s, err := gogit.PlainOpenWithOptions(root, &gogit.PlainOpenOptions{EnableDotGitCommonDir: true})
	if err != nil {
		return nil
	}
	return s
}

// locate returns the repository's top folder and its common git directory (A23: .git is a folder, or a file of a worktree).
func locate(path string) (root, common string, err error) {
	guard := func(why string) error {
		return &amp.GuardError{Type: amp.UnknownEscalation, Repo: path, Why: why}
	}
	if !filepath.IsAbs(path) {
		return "", "", guard("is not an absolute path; name the repository's top folder in full")
	}
	root, err = filepath.EvalSymlinks(path)
	if errors.Is(err, os.ErrNotExist) {
		return "", "", guard("does not exist")
	}
	if err != nil {
		return "", "", guard("cannot be read: " + err.Error())
	}
	dot := filepath.Join(root, ".git")
	info, err := os.Stat(dot)
	switch {
	case errors.Is(err, os.ErrNotExist) && isGitDir(root):
		return "", "", guard("is a bare repository; work needs one with files checked out: clone it first")
	case errors.Is(err, os.ErrNotExist):
		return "", "", guard("is no git repository: it has no .git; run git init there, or name the top folder of the repository")
	case err != nil:
		return "", "", guard("its .git cannot be read: " + err.Error())
	case info.IsDir():
		common = dot
	default:
		if common, err = followLink(dot); err != nil {
			return "", "", guard(err.Error())
		}
	}
	if common, err = filepath.EvalSymlinks(common); err != nil || !isGitDir(common) {
		return "", "", guard("its .git is no git directory (HEAD, objects or refs are missing)")
	}
	if exists(filepath.Join(common, "reftable")) {
		return "", "", guard("keeps its refs in the reftable format, in which moves of refs cannot be compared; run git refs migrate --ref-format=files there")
	}
	return root, common, nil
}

// followLink reads a worktree's .git file and returns the common directory that its target names.
func followLink(dot string) (string, error) {
	dir, err := readLink(dot)
	if err != nil {
		return "", err
	}
	text, err := readSmall(filepath.Join(dir, "commondir"))
	if errors.Is(err, os.ErrNotExist) {
		return dir, nil // a submodule or a repository with a separate git directory
	}
	if err != nil {
		return "", fmt.Errorf("read commondir: %v", err)
	}
	if filepath.IsAbs(text) {
		return filepath.Clean(text), nil
	}
	return filepath.Join(dir, text), nil
}

// readLink returns the folder that a .git file names.
func readLink(dot string) (string, error) {
	text, err := readSmall(dot)
	if err != nil {
		return "", fmt.Errorf("read its .git file: %v", err)
	}
	dir, ok := strings.CutPrefix(text, "gitdir: ")
	if !ok {
		return "", errors.New("its .git file names no git directory")
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(filepath.Dir(dot), dir)
	}
	return filepath.Clean(dir), nil
}

// readSmall reads a file that git writes with one line, without its line end. A longer file is an error, not a surprise.
func readSmall(name string) (string, error) {
	info, err := os.Stat(name)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() || info.Size() > 8<<10 {
		return "", fmt.Errorf("%s is no short text file", filepath.Base(name))
	}
	b, err := os.ReadFile(name)
	return strings.TrimRight(string(b), "\r\n"), err
}

func isGitDir(dir string) bool {
	for _, name := range []string{"HEAD", "objects"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return false
		}
	}
	return true
}

// at is a call on the repository's refs and objects.
func (r *repo) at() call { return call{gitDir: r.common} }

// git runs git on the repository's refs and objects.
func (r *repo) git(ctx context.Context, args ...string) (string, error) {
	return r.g.run(ctx, r.at(), args...)
}

// tip returns the commit of a full ref name, "" when there is no such ref.
func (r *repo) tip(ctx context.Context, ref string) (string, error) {
	if s := r.reader(); s != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		got, err := s.Reference(plumbing.ReferenceName(ref), true)
		switch {
		case err == nil:
			return got.Hash().String(), nil
		case errors.Is(err, plumbing.ErrReferenceNotFound):
			return "", nil
		}
	}
	return r.resolve(ctx, ref)
}

// symbolic returns the full name of the ref that a symbolic ref names, "" when it is none.
func (r *repo) symbolic(ctx context.Context, ref string) (string, error) {
	if s := r.reader(); s != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		got, err := s.Storer.Reference(plumbing.ReferenceName(ref))
		switch {
		case err == nil && got.Type() == plumbing.SymbolicReference:
			return got.Target().String(), nil
		case err == nil, errors.Is(err, plumbing.ErrReferenceNotFound):
			return "", nil
		}
	}
	out, err := r.git(ctx, "symbolic-ref", "-q", ref)
	if exited(err, 1) || exited(err, 128) {
		return "", nil
	}
	return strings.TrimSpace(out), err
}

// commit returns the full name of the commit that a hash or the beginning of one names, "" when there is none.
func (r *repo) commit(ctx context.Context, hash string) (string, error) {
	if !isHex(hash) || len(hash) < 4 {
		return "", nil
	}
	if s := r.reader(); s != nil && len(hash) == 40 && r.hasCommit(s, hash) {
		return hash, nil
	}
	return r.resolve(ctx, hash)
}

// hasCommit asks go-git; a pack that came after it opened the repository is looked for once.
func (r *repo) hasCommit(s *gogit.Repository, hash string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, err := s.CommitObject(plumbing.NewHash(hash)); err == nil {
		return true
	}
	if fs, ok := s.Storer.(*filesystem.Storage); ok {
		fs.Reindex()
	}
	_, err := s.CommitObject(plumbing.NewHash(hash))
	return err == nil
}

// resolve asks git for the commit of a revision, "" when there is none.
func (r *repo) resolve(ctx context.Context, rev string) (string, error) {
	out, err := r.git(ctx, "rev-parse", "--verify", "-q", "--end-of-options", rev+"^{commit}")
	if exited(err, 1) || exited(err, 128) {
		return "", nil
	}
	return strings.TrimSpace(out), err
}

func (r *repo) reader() *gogit.Repository {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.store
}

// ancestor reports whether commit old is contained in commit tip.
func (r *repo) ancestor(ctx context.Context, old, tip string) (bool, error) {
	if old == tip {
		return true, nil
	}
	_, err := r.git(ctx, "merge-base", "--is-ancestor", old, tip)
	if exited(err, 1) {
		return false, nil
	}
	return err == nil, err
}

// count is how many commits tip has that old has not.
func (r *repo) count(ctx context.Context, old, tip string) (int, error) {
	out, err := r.git(ctx, "rev-list", "--count", tip, "^"+old)
	if err != nil {
		return 0, err
	}
	n := 0
	_, err = fmt.Sscan(out, &n)
	return n, err
}

func isHex(s string) bool {
	for _, c := range s {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return s != ""
}

// short is the beginning of a commit's name, as people write it.
func short(commit string) string {
	if len(commit) > 10 {
		return commit[:10]
	}
	if commit == "" {
		return "nothing"
	}
	return commit
}
