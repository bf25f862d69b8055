package gitops

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"time"

	"arbiter/amp"
)

// ciEnv are the variables that check commands inherit: where tools and their caches are, and how to speak. Tokens and keys are not among
// them, and a variable whose value holds a password in a URL is left out.
var ciEnv = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "TERM", "TZ", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT",
	"USERPROFILE", "APPDATA", "LOCALAPPDATA", "PATHEXT", "COMSPEC", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME",
	"GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM", "GOCACHE", "GOPATH", "GOMODCACHE", "GOFLAGS", "GOPROXY", "GONOPROXY", "GONOSUMDB",
	"GOPRIVATE", "GOSUMDB", "GOTOOLCHAIN", "GOROOT", "GOBIN", "GOOS", "GOARCH", "GOMAXPROCS", "CGO_ENABLED", "CC", "CXX", "CARGO_HOME",
	"RUSTUP_HOME", "NODE_PATH", "NVM_DIR", "NPM_CONFIG_CACHE", "JAVA_HOME", "GRADLE_USER_HOME", "M2_HOME", "PYTHONPATH", "VIRTUAL_ENV",
	"PIP_CACHE_DIR", "GEM_HOME", "GEM_PATH", "DEVELOPER_DIR", "SSL_CERT_FILE", "SSL_CERT_DIR",
}

var urlPassword = regexp.MustCompile(`://[^/\s]*@`)

// maxOutput is how much of the end of a command's output is kept.
const maxOutput = 8 << 10

// ciGrace is the time between asking a check command to end and killing it, and how long an ended command's children may hold its
// output open.
const ciGrace = 2 * time.Second

// RunCI runs the repository's check commands in the task's worktree at the recorded commit, one after the other, and stops at the
// first that fails (AMP-113). Each has timeout for itself (0 means none), a process group of its own that is killed with it, and an environment
// without secrets. CI["local"] is passed, failed, or none without commands; a claim "tests" stands for each command, and Output is
// the end of what the failed one printed. Afterwards the worktree is as it was: what the commands wrote is removed, ignored files
// stay. A branch that is not at the recorded commit any more is refuted and escalated instead (AMP-089). When ctx ends, that is
// an error and no result, so that the checks run again.
func (g *Git) RunCI(ctx context.Context, w amp.Workspace, commands [][]string, timeout time.Duration) (amp.Check, error) {
	c := amp.Check{Subject: amp.CheckCI, TaskID: w.TaskID, For: want(w), Commit: want(w), Base: w.BaseCommit}
	if len(commands) == 0 {
		c.CI, c.Text = map[string]string{"local": "none"}, "no check commands are configured"
		return c, nil
	}
	r, wt, end, err := g.begin(w)
	if err != nil {
		return c, err
	}
	defer end()
	tip, err := g.tip(ctx, wt, w)
	if err != nil {
		return c, err
	}
	if tip != want(w) {
		c.Claims, c.Escalate, c.Text = []amp.Claim{movedClaim(w, tip)}, amp.PermissionDenied, "the branch moved after the result, so its checks were not run"
		return c, nil
	}
	if err := g.ensure(ctx, wt, w); err != nil {
		return c, fmt.Errorf("prepare the worktree of %s for its checks: %w", w.TaskID, err)
	}
	rec := &turnRecord{Turn: "ci-" + short(want(w)), Task: w.TaskID, Common: r.common, Branch: w.Branch, Tip: w.BaseCommit, At: time.Now()}
	if err := rec.observe(ctx, r); err != nil {
		return c, err
	}
	if err := g.runChecks(ctx, wt, commands, timeout, &c); err != nil {
		return c, err
	}
	return c, g.afterCI(ctx, r, wt, w, rec, &c)
}

// movedClaim is the refuted claim that the branch is where the journal saw it last (AMP-089).
func movedClaim(w amp.Workspace, tip string) amp.Claim {
	return amp.Claim{
		Name: "branch", Finding: amp.Refuted, Blocking: true, Claimed: w.Branch + " at " + short(want(w)), Found: "it is at " + short(tip),
		Evidence: "git rev-parse " + w.Branch,
	}
}

func (g *Git) runChecks(ctx context.Context, wt *worktree, commands [][]string, timeout time.Duration, c *amp.Check) error {
	c.CI = map[string]string{"local": "passed"}
	for i, argv := range commands {
		line := strings.Join(argv, " ")
		if c.CI["local"] == "failed" {
			c.Claims = append(c.Claims, amp.Claim{Name: "tests", Finding: amp.Inconclusive, Claimed: line, Found: "not run after the failure before it"})
			continue
		}
		started := time.Now()
		found, ok, output := runCheck(ctx, wt.dir, argv, timeout)
		if ctx.Err() != nil {
			return fmt.Errorf("run check %q: %w", line, ctx.Err())
		}
		g.log.Debug("check ran", "task", c.TaskID, "command", line, "found", found, "dur", time.Since(started))
		claim := amp.Claim{Name: "tests", Finding: amp.Confirmed, Claimed: line, Found: found, Evidence: found}
		if !ok {
			claim.Finding = amp.Refuted
			c.CI["local"], c.Output = "failed", output
			c.Text = fmt.Sprintf("check %d of %d failed: %s: %s", i+1, len(commands), line, found)
		}
		c.Claims = append(c.Claims, claim)
	}
	if c.CI["local"] == "passed" {
		c.Text = plural(len(commands), "check") + " passed"
	}
	return nil
}

// runCheck runs one command and returns what came of it in words, whether that is a success, and the end of its output.
func runCheck(ctx context.Context, dir string, argv []string, timeout time.Duration) (found string, ok bool, output string) {
	if len(argv) == 0 || argv[0] == "" {
		return "an empty command cannot be run", false, ""
	}
	inner, cancel := ctx, context.CancelFunc(func() {})
	if timeout > 0 {
		inner, cancel = context.WithTimeout(ctx, timeout)
	}
	defer cancel()
	cmd := exec.CommandContext(inner, argv[0], argv[1:]...)
	cmd.Dir = dir
	for _, kv := range keepEnv(os.Environ(), ciEnv) {
		if !urlPassword.MatchString(kv) {
			cmd.Env = append(cmd.Env, kv)
		}
	}
	cmd.Env = append(cmd.Env, "CI=true", "GIT_TERMINAL_PROMPT=0", "PWD="+dir)
	out := &tail{max: maxOutput, buf: new(bytes.Buffer)}
	cmd.Stdout, cmd.Stderr = out, out
	ownGroup(cmd)
	cmd.WaitDelay = ciGrace
	err := cmd.Run()
	killGroup(cmd)
	switch {
	case inner.Err() != nil && ctx.Err() == nil:
		return fmt.Sprintf("stopped: it took longer than %s", timeout), false, out.String()
	case cmd.ProcessState == nil:
		return fmt.Sprintf("cannot be started: %v", err), false, out.String()
	case err == nil || errors.Is(err, exec.ErrWaitDelay) && cmd.ProcessState.Success():
		return "exit code 0", true, out.String()
	}
	return cmd.ProcessState.String(), false, out.String()
}

// afterCI judges what the commands did to refs, and makes the worktree what it was.
func (g *Git) afterCI(ctx context.Context, r *repo, wt *worktree, w amp.Workspace, rec *turnRecord, c *amp.Check) error {
	moved, err := g.judge(ctx, r, rec, want(w))
	if err != nil {
		return err
	}
	var blamed []string
	for _, m := range moved {
		if !m.blame {
			continue
		}
		blamed = append(blamed, m.String())
		if m.protected {
			c.Escalate = amp.BranchViolation
			rec.remember(m)
		} else if c.Escalate == "" {
			c.Escalate = amp.PermissionDenied
		}
	}
	tip, err := r.tip(ctx, "refs/heads/"+w.Branch)
	if err != nil {
		return err
	}
	if tip != want(w) {
		blamed = append(blamed, w.Branch+" moved to "+short(tip))
		if c.Escalate == "" {
			c.Escalate = amp.PermissionDenied
		}
	}
	if len(blamed) > 0 {
		c.Claims = append(c.Claims, amp.Claim{
			Name: "refs", Finding: amp.Refuted, Blocking: true, Found: "while the checks ran: " + clip(blamed),
			Evidence: "git for-each-ref before and after the checks",
		})
		return g.save(rec) // a rollback puts back what moved; the next turn's preparation mends the worktree
	}
	wt.unblock()
	return wt.fill(ctx, w.Branch, want(w))
}
