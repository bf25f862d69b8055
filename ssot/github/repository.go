package github

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"arbiter/forge"
)

// repository reads a git repository that others made, and trusts nothing in it: git runs in a folder of our own and sees the objects and the
// refs of the repository, never its configuration, hooks, grafts, replacements or commit-graph; and it is asked for single objects alone,
// each of which has to have the hash that it is called by.
type repository struct {
	// dir is our folder.
	dir     string
	objects *objects
	// shallow are the commits whose parents are not there.
	shallow map[string]bool
}

// What is read of a repository beside its objects has these bounds.
const (
	maxRef     = 4 << 10
	maxConfig  = 1 << 20
	maxShallow = 16 << 20
	// maxAlloc is what git takes at once, in the form of git: one object of the greatest size, and what it is made of.
	maxAlloc = "600m"
)

// gitDir is the repository that is in a folder, and whether it has no work tree; empty when there is none.
func gitDir(dir string) (git string, bare bool, err error) {
	git = filepath.Join(dir, ".git")
	st, err := os.Lstat(git)
	switch {
	case err == nil && st.IsDir():
		return git, false, nil
	case err == nil:
		return "", false, fmt.Errorf("%w: %s points to a repository elsewhere, which is not followed; name a clone that holds its own repository", ErrNoMirror, git)
	case !errors.Is(err, fs.ErrNotExist):
		return "", false, err
	case there(dir, "objects") && there(dir, "HEAD"):
		return dir, true, nil
	}
	return "", false, nil
}

// openRepository makes ready to read a repository. Close it.
func openRepository(ctx context.Context, git string) (_ *repository, err error) {
	root, err := os.OpenRoot(git)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	r := &repository{shallow: map[string]bool{}}
	if r.dir, err = os.MkdirTemp("", "arbiter-git-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.close())
		}
	}()
	if err := r.link(root, git); err != nil {
		return nil, err
	}
	if err := r.configure(ctx, root); err != nil {
		return nil, err
	}
	shallow, err := small(root, "shallow", maxShallow)
	if err != nil {
		return nil, err
	}
	for row := range strings.Lines(string(shallow)) {
		r.shallow[strings.TrimSpace(row)] = true
	}
	r.objects, err = startObjects(r.command(ctx, "cat-file", "--batch"))
	return r, err
}

// link puts what git may see of a repository into our folder: plain files and folders, nothing that leads out of it.
func (r *repository) link(root *os.Root, git string) error {
	git, err := filepath.Abs(git)
	if err != nil {
		return err
	}
	head, err := small(root, "HEAD", maxRef)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(r.dir, "HEAD"), head, 0o600); err != nil {
		return err
	}
	for _, name := range []string{"objects", "refs", "packed-refs", "reftable"} {
		err := plain(root, name, git)
		if errors.Is(err, fs.ErrNotExist) && name != "objects" {
			continue
		}
		if err != nil {
			return err
		}
		if err := os.Symlink(filepath.Join(git, name), filepath.Join(r.dir, name)); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(filepath.Join(r.dir, "refs"), 0o700); err != nil {
		return err
	}
	borrowed, err := small(root, "objects/info/alternates", maxConfig)
	if len(bytes.TrimSpace(borrowed)) > 0 {
		return fmt.Errorf("%w: the repository %s borrows objects of another one, which is not followed; clone it again, without --shared and --reference", ErrNoMirror, git)
	}
	return err
}

// plain wants files and folders only below a name: no link leads out, and no pipe keeps git waiting.
func plain(root *os.Root, name, git string) error {
	odd := func(path string, mode fs.FileMode) error {
		if mode.IsDir() || mode.IsRegular() {
			return nil
		}
		return fmt.Errorf("%w: %s in the repository %s is no plain file; what is behind it is not read", ErrNoMirror, path, git)
	}
	st, err := root.Lstat(name)
	if err != nil {
		return fmt.Errorf("%w: the repository %s has no %s: %w", ErrNoMirror, git, name, err)
	}
	if err := odd(name, st.Mode()); err != nil { // the walk would follow it
		return err
	}
	return fs.WalkDir(root.FS(), name, func(path string, d fs.DirEntry, err error) error {
		if err == nil {
			err = odd(path, d.Type())
		}
		return err
	})
}

// configure writes a configuration of our own, which has the format of the repository and nothing else of it.
func (r *repository) configure(ctx context.Context, root *os.Root) error {
	config, err := small(root, "config", maxConfig)
	if err != nil {
		return err
	}
	theirs := filepath.Join(r.dir, "theirs")
	if err := os.WriteFile(theirs, config, 0o600); err != nil {
		return err
	}
	var text strings.Builder
	text.WriteString("[core]\n\trepositoryFormatVersion = 1\n\tbare = true\n[extensions]\n")
	for key, known := range map[string]string{"objectFormat": "sha1 sha256", "refStorage": "files reftable"} {
		value, err := r.run(ctx, "config", "--file", theirs, "--no-includes", "--default", "", "--get", "extensions."+key)
		if err != nil {
			return err
		}
		if value = strings.TrimSpace(value); value == "" || value == "files" {
			continue
		}
		if !strings.Contains(known, value) || strings.Contains(value, " ") {
			return fmt.Errorf("%w: the repository has the %s %.40q, which this program does not read", ErrNoMirror, key, value)
		}
		text.WriteString("\t" + key + " = " + value + "\n")
	}
	return errors.Join(os.Remove(theirs), os.WriteFile(filepath.Join(r.dir, "config"), []byte(text.String()), 0o600))
}

// small is the content of a small file, nil when it is not there.
func small(root *os.Root, name string, limit int64) ([]byte, error) {
	return (&folder{root}).read(context.Background(), name, int(limit))
}

// command runs git with nothing but the program path of this process.
func (r *repository) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = r.dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + r.dir, "GIT_DIR=" + r.dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "LC_ALL=C",
		"GIT_TERMINAL_PROMPT=0", "GIT_NO_REPLACE_OBJECTS=1", "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none", "GIT_OPTIONAL_LOCKS=0",
		"GIT_ALLOC_LIMIT=" + maxAlloc,
	}
	return cmd
}

// run is what a command prints, which is short.
func (r *repository) run(ctx context.Context, args ...string) (string, error) {
	cmd := r.command(ctx, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", fmt.Errorf("run git: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(out, maxConfig))
	out.Close()
	if ended := cmd.Wait(); err == nil && ended != nil {
		said := strings.TrimSpace(stderr.String())
		if said == "" {
			said = ended.Error()
		}
		err = fmt.Errorf("git %s: %s", args[0], forge.Plain(errors.New(said)))
	}
	return string(text), err
}

// resolve is the commit that a ref names.
func (r *repository) resolve(ctx context.Context, ref string) (string, error) {
	out, err := r.run(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", ref)
	return strings.TrimSpace(out), err
}

func (r *repository) close() error {
	var err error
	if r.objects != nil {
		err = r.objects.close()
	}
	return errors.Join(err, os.RemoveAll(r.dir))
}
