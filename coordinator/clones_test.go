package coordinator

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"arbiter/amp"
	"arbiter/gitops"
	"arbiter/providers"
)

// clones is a crew whose members have clones of their own, of a bare repository that they reach as origin.
type clones struct {
	*crew
	bare string
	dirs []string
}

// person runs git as somebody who has nothing to do with Arbiter.
func person(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "GIT_") {
			cmd.Env = append(cmd.Env, kv)
		}
	}
	cmd.Env = append(cmd.Env, "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.org", "GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.org")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func newClones(t *testing.T, n int, exec, rev func(who string) play, change ...func(i int, c *Config)) *clones {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	k := &clones{bare: filepath.Join(top, "origin.git")}
	first := filepath.Join(top, "a", "shop")
	if err := os.MkdirAll(first, 0o755); err != nil {
		t.Fatal(err)
	}
	person(t, first, "init", "-q", "-b", "main")
	if err := os.WriteFile(filepath.Join(first, "count.sh"), []byte("echo 0\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	person(t, first, "add", "-A")
	person(t, first, "commit", "-q", "-m", "first")
	person(t, top, "clone", "-q", "--bare", first, k.bare)
	person(t, first, "remote", "add", "origin", k.bare)
	for i := range n {
		dir := filepath.Join(top, string(rune('a'+i)), "shop")
		if i > 0 {
			person(t, top, "clone", "-q", k.bare, dir)
		}
		k.dirs = append(k.dirs, dir)
	}
	k.crew = newCrew(t, n, exec, rev, append([]func(int, *Config){func(i int, c *Config) {
		g, err := gitops.New(gitops.Options{Home: c.Home, Remote: "origin", Places: map[string]string{"shop": k.dirs[i]}, Log: c.Logger})
		if err != nil {
			t.Fatal(err)
		}
		c.Git = g
	}}, change...)...)
	return k
}

// approved submits a wish about the repository, as the first member has it, and approves its plan.
func (k *clones) approved(first, second int) amp.TaskID {
	k.t.Helper()
	id := k.at(first).submit(amp.Command{Command: amp.Submit, Args: amp.Args{Wish: &amp.Wish{Text: "Count the words right", Repo: k.dirs[first]}}}).TaskID
	k.until(id, amp.AwaitingApproval)
	k.at(second).submit(amp.Command{Command: amp.Approve, TaskID: id, Expects: &amp.Expects{Status: amp.AwaitingApproval}})
	return id
}

// edits changes a file of the worktree in each turn, says who did, and leaves it uncommitted.
func edits(who string) play {
	return func(ctx context.Context, turn providers.Turn, n int, emit func(providers.Event)) (providers.Outcome, error) {
		if err := os.WriteFile(filepath.Join(turn.Dir, "count.sh"), fmt.Appendf(nil, "echo %d by %s\n", n, who), 0o644); err != nil {
			return providers.Outcome{}, err
		}
		return works(ctx, turn, n, emit)
	}
}

// slowEdits edits, and takes a while for it.
func slowEdits(who string) play { return slowly(time.Minute, edits(who)) }

// branch is what a member's clone has as a task's branch.
func (k *clones) branch(i int, id amp.TaskID) string {
	return person(k.t, k.dirs[i], "for-each-ref", "--format=%(objectname)", "refs/heads/"+k.get(id).Plan.Branch)
}

// An owner that is killed in a turn while every machine has a clone of its own: another one goes on from the last commit that the
// journal names, with that commit and no other.
func TestClones_killed(t *testing.T) {
	t.Parallel()
	for _, role := range []amp.Role{amp.Executor, amp.Reviewer} {
		t.Run(string(role), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				verdicts := []amp.Decision{amp.Rejected, amp.Approved}
				if role == amp.Reviewer { // the first is lost
					verdicts = slices.Insert(verdicts, 0, amp.Approved)
				}
				k := newClones(t, 3, slowEdits, everybody(slowly(time.Minute, judges(verdicts...))))
				id := k.approved(0, 1)
				dead := k.owner(id, role)
				dead.kill()
				got := k.until(id, amp.StatusApproved)
				if got.Owner == dead.name || len(got.Escalations) > 0 || got.Round != 2 {
					t.Errorf("owner %s, round %d, escalations %v; want another owner than %s, 2 and none\n%s",
						got.Owner, got.Round, got.Escalations, dead.name, k.story(id))
				}
				if ends := k.ends(id); len(ends) != 5 || ends[map[amp.Role]int{amp.Executor: 0, amp.Reviewer: 1}[role]] != amp.TurnLost {
					t.Errorf("turns %v\n%s", ends, k.story(id))
				}
				at := slices.IndexFunc(k.members, func(m *member) bool { return m.name == got.Owner })
				if tip := k.branch(at, id); tip != got.Commit {
					t.Errorf("the branch is at %s in the clone of %s, want %s", tip, got.Owner, got.Commit)
				}
				if file := person(t, k.dirs[at], "show", got.Commit+":count.sh"); strings.HasSuffix(file, " by "+dead.name) {
					t.Errorf("count.sh is %q, want the work of another than %s", file, dead.name)
				}
				if log := person(t, k.dirs[at], "rev-list", "--count", got.Plan.BaseCommit+".."+got.Commit); log != "2" {
					t.Errorf("%s commits above the base, want one of each round", log)
				}
				k.check()
			})
		})
	}
}
