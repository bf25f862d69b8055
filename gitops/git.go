package gitops

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"arbiter/scratch"
)

// Options configure a [Git].
type Options struct {
	// Home is the data directory: worktrees stand in Home/worktrees/<task>, disposable ones in Home/reviews/<turn>, what is
	// remembered of a turn in Home/refs/<task>, the agents' hooks in Home/hooks.
	Home string
	// Protected are patterns of branches that no agent may touch, beside main, master and the repository's default branch.
	Protected []string
	// Remote is where tasks pass between machines with clones of their own, see [Git.Pass]: the name that each repository has for a
	// remote, or an address; empty for nowhere.
	Remote string
	// Places says where repositories are on this machine that others call by another path: by that path, or by its last element.
	Places map[string]string
	// Timeout bounds one run of git; 0 means 10 minutes, since a checkout of a large repository takes its time.
	Timeout time.Duration
	// Log receives what no check reports; nil discards it.
	Log *slog.Logger
}

// Git does the git work of all tasks. It is safe for concurrent use; work on one task is serialised, and so are the writes to
// the refs of one repository.
type Git struct {
	home      string
	protected []string
	timeout   time.Duration
	log       *slog.Logger
	program   string
	env       []string
	netEnv    []string
	remote    string
	places    map[string]string
	parcels   bounds

	mu    sync.Mutex
	repos map[string]*repo
	tasks map[string]*sync.Mutex
}

// oldestGit is the first version with merge-tree --write-tree, the newest thing that is used.
var oldestGit = [2]int{2, 38}

// New checks that git is there and new enough, and creates the folders below opts.Home.
func New(opts Options) (*Git, error) {
	if !filepath.IsAbs(opts.Home) {
		return nil, fmt.Errorf("git data directory %q is not an absolute path", opts.Home)
	}
	g := &Git{
		remote: opts.Remote, places: opts.Places, protected: opts.Protected, timeout: opts.Timeout, log: opts.Log,
		repos: map[string]*repo{}, tasks: map[string]*sync.Mutex{}, parcels: parcelBounds,
	}
	if g.timeout <= 0 {
		g.timeout = 10 * time.Minute
	}
	if g.log == nil {
		g.log = slog.New(slog.DiscardHandler)
	}
	for _, dir := range []string{"worktrees", "reviews", "refs", "hooks"} {
		if err := os.MkdirAll(filepath.Join(opts.Home, dir), 0o700); err != nil {
			return nil, fmt.Errorf("create git data directory: %w", err)
		}
	}
	home, err := filepath.EvalSymlinks(opts.Home)
	if err != nil {
		return nil, fmt.Errorf("resolve git data directory: %w", err)
	}
	g.home = home
	if err := scratch.Sweep(g.home, "apart", "index"); err != nil {
		g.log.Warn("what a killed process left is not removed", "err", err)
	}
	if g.program, err = exec.LookPath("git"); err != nil {
		return nil, fmt.Errorf("git is not installed or not on PATH: %w", err)
	}
	g.env = keepEnv(os.Environ(), gitEnv)
	g.netEnv = networkEnv(os.Environ())
	return g, g.checkVersion()
}

func (g *Git) checkVersion() error {
	out, err := g.run(context.Background(), call{}, "version")
	if err != nil {
		return fmt.Errorf("ask git for its version: %w", err)
	}
	var major, minor int
	if _, err := fmt.Sscanf(strings.TrimPrefix(out, "git version "), "%d.%d", &major, &minor); err != nil {
		return fmt.Errorf("git calls itself %q, which is no version", strings.TrimSpace(out))
	}
	if major < oldestGit[0] || major == oldestGit[0] && minor < oldestGit[1] {
		return fmt.Errorf("git %d.%d is too old: version %d.%d or newer is needed", major, minor, oldestGit[0], oldestGit[1])
	}
	return nil
}

// gitEnv are the variables that our own git inherits: where it finds programs and the person's configuration (line endings,
// filters such as LFS), nothing that names a repository or holds a secret.
var gitEnv = []string{
	"PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM",
	"GIT_CONFIG_NOSYSTEM", "SYSTEMROOT", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "TEMP", "TMP",
}

// fixedConfig is what our own git never takes from a repository's configuration.
var fixedConfig = []string{
	"-c", "core.hooksPath=" + os.DevNull, "-c", "core.fsmonitor=false", "-c", "gc.auto=0", "-c", "maintenance.auto=false",
	"-c", "commit.gpgSign=false", "-c", "tag.gpgSign=false", "-c", "core.logAllRefUpdates=true", "-c", "diff.noprefix=false",
	"-c", "diff.mnemonicPrefix=false", "-c", "submodule.recurse=false", "-c", "color.ui=false", "-c", "advice.detachedHead=false",
	"-c", "log.showSignature=false", "-c", "core.bigFileThreshold=512m",
	"-c", "core.commitGraph=false", // it says of a commit what whoever wrote it likes
}

// keepEnv returns the variables of env with one of the names.
func keepEnv(env, names []string) []string {
	var kept []string
	for _, kv := range env {
		name, _, _ := strings.Cut(kv, "=")
		for _, n := range names {
			if name == n {
				kept = append(kept, kv)
			}
		}
	}
	return kept
}

// call says where and how git runs. The zero call runs outside any repository.
type call struct {
	gitDir, workTree string
	// index is another index file than the worktree's own.
	index string
	stdin string
	// from is read in place of stdin.
	from *os.File
	// apart is a folder for new objects, beside those of the repository; nobody else sees them there.
	apart string
	// write is set for commands that change something; others do not even refresh the index.
	write bool
	// as is the author; the committer is always Arbiter.
	as *identity
	// date is author and committer date, for commits whose name must be the same whenever they are made; empty is now.
	date string
	// max cuts the output after so many bytes and ends the command; 0 reads all.
	max int64
	// net is set for commands that speak to a remote: only they get what leads there and who speaks for the person.
	net bool
	// env is added to the environment.
	env []string
	// to takes the output instead of the result; when it fails, the command ends.
	to io.Writer
}

// errCut says that the output was longer than call.max; the output up to there is returned with it.
var errCut = errors.New("output cut")

// exitError is a git that ended with another code than 0.
type exitError struct {
	command string
	code    int
	stderr  string
}

// Error names the command and the end of what git said.
func (e *exitError) Error() string {
	if e.stderr == "" {
		return fmt.Sprintf("git %s ended with exit code %d", e.command, e.code)
	}
	return fmt.Sprintf("git %s ended with exit code %d: %s", e.command, e.code, e.stderr)
}

// exited reports whether err is a git that ended with this code.
func exited(err error, code int) bool {
	e, ok := errors.AsType[*exitError](err)
	return ok && e.code == code
}

// run runs git and returns its standard output. A lock on a ref of ours that a killed git left does not stop it.
func (g *Git) run(ctx context.Context, c call, args ...string) (string, error) {
	out, err := g.once(ctx, c, args...)
	for range maxLocks {
		lock := c.lockOf(err)
		if lock == "" || g.dropStaleLock(ctx, lock) != nil {
			break
		}
		out, err = g.once(ctx, c, args...)
	}
	return out, err
}

func (g *Git) once(ctx context.Context, c call, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, g.timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, g.program, append(append([]string{}, fixedConfig...), args...)...)
	cmd.Env = g.callEnv(c)
	cmd.Dir = c.workTree
	if cmd.Dir == "" {
		cmd.Dir = g.home
	}
	switch {
	case c.from != nil:
		cmd.Stdin = c.from
	case c.stdin != "":
		cmd.Stdin = strings.NewReader(c.stdin)
	}
	var out, errOut bytes.Buffer
	limit := &capped{w: &out, left: c.max, end: cancel}
	cmd.Stdout, cmd.Stderr = io.Writer(limit), &tail{max: 2 << 10, buf: &errOut}
	switch {
	case c.to != nil:
		cmd.Stdout = c.to
	case c.max <= 0:
		cmd.Stdout = &out
	}
	ownGroup(cmd)
	cmd.WaitDelay = 5 * time.Second
	err := cmd.Run()
	if limit.cut {
		return out.String(), errCut
	}
	if err == nil {
		return out.String(), nil
	}
	return out.String(), g.translate(ctx, err, args, errOut.String())
}

func (g *Git) translate(ctx context.Context, err error, args []string, stderr string) error {
	name := "version"
	for len(args) > 2 && args[0] == "-c" {
		args = args[2:]
	}
	if len(args) > 0 {
		name = args[0]
	}
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("git %s was stopped: it took longer than the time limit (%s): %w", name, g.timeout, ctx.Err())
	case ctx.Err() != nil:
		return fmt.Errorf("git %s was stopped: %w", name, ctx.Err())
	}
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		return &exitError{command: name, code: e.ExitCode(), stderr: oneLine(stderr)}
	}
	return fmt.Errorf("run git %s: %w", name, err)
}

func (g *Git) callEnv(c call) []string {
	who := arbiter
	if c.as != nil {
		who = *c.as
	}
	env := append(append([]string{}, g.env...),
		"LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_PAGER=cat", "GIT_EDITOR=true", "GIT_SSH_COMMAND=false", "GIT_NO_REPLACE_OBJECTS=1",
		"GIT_AUTHOR_NAME="+who.Name, "GIT_AUTHOR_EMAIL="+who.Email,
		"GIT_COMMITTER_NAME="+arbiter.Name, "GIT_COMMITTER_EMAIL="+arbiter.Email)
	if c.net {
		env = append(append(env, g.netEnv...), netFixed...)
	}
	env = append(env, c.env...)
	if !c.write {
		env = append(env, "GIT_OPTIONAL_LOCKS=0")
	}
	if c.date != "" {
		env = append(env, "GIT_AUTHOR_DATE="+c.date, "GIT_COMMITTER_DATE="+c.date)
	}
	if c.gitDir != "" {
		env = append(env, "GIT_DIR="+c.gitDir)
	}
	if c.workTree != "" {
		env = append(env, "GIT_WORK_TREE="+c.workTree)
	}
	if c.index != "" {
		env = append(env, "GIT_INDEX_FILE="+c.index)
	}
	if c.apart != "" {
		env = append(env, "GIT_OBJECT_DIRECTORY="+c.apart, "GIT_ALTERNATE_OBJECT_DIRECTORIES="+quotedPath(filepath.Join(c.gitDir, "objects")),
			"GIT_ALLOC_LIMIT="+maxObject)
	}
	return env
}

// identity is an author or committer.
type identity struct{ Name, Email string }

// arbiter is who commits and moves refs for this package.
var arbiter = identity{"arbiter", "arbiter@arbiter.invalid"}

// agentDomain ends the address of every agent; what stands before it is the task.
const agentDomain = "@arbiter.invalid"

// capped lets a number of bytes through, then ends the command.
type capped struct {
	w    io.Writer
	left int64
	cut  bool
	end  func()
}

func (c *capped) Write(p []byte) (int, error) {
	if int64(len(p)) <= c.left {
		c.left -= int64(len(p))
		return c.w.Write(p)
	}
	n, _ := c.w.Write(p[:c.left])
	c.left, c.cut = 0, true
	c.end()
	return n, errCut
}

// tail keeps the last max bytes.
type tail struct {
	max int
	buf *bytes.Buffer
	// lost counts the bytes that were dropped.
	lost int64
}

func (t *tail) Write(p []byte) (int, error) {
	t.buf.Write(p)
	if over := t.buf.Len() - t.max; over > t.max { // drop rarely, not with every write
		t.lost += int64(over)
		t.buf.Next(over)
	}
	return len(p), nil
}

// String is the last max bytes.
func (t *tail) String() string {
	b := t.buf.Bytes()
	if len(b) > t.max {
		b = b[len(b)-t.max:]
	}
	return strings.ToValidUTF8(string(b), "�")
}

// oneLine joins what git printed into one line of at most 600 bytes.
func oneLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > 600 {
		s = "…" + strings.ToValidUTF8(s[len(s)-600:], "")
	}
	return s
}

// plural is "1 file" or "3 files".
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
