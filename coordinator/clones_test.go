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
	"arbiter/providers/agenttest"
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

// makeShop makes a repository with one file and one commit.
func makeShop(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	person(t, dir, "init", "-q", "-b", "main")
	if err := os.WriteFile(filepath.Join(dir, "count.sh"), []byte("echo 0\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	person(t, dir, "add", "-A")
	person(t, dir, "commit", "-q", "-m", "first")
}

func newClones(t *testing.T, n int, exec, rev func(who string) play, change ...func(i int, c *Config)) *clones {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	k := &clones{bare: filepath.Join(top, "origin.git")}
	first := filepath.Join(top, "a", "shop")
	makeShop(t, first)
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

// round lets time pass until a turn of a round runs.
func (k *clones) round(id amp.TaskID, n int) {
	k.t.Helper()
	for range 1000 {
		synctest.Wait()
		if t := k.get(id); t.Round >= n && t.Turn != nil {
			return
		}
		time.Sleep(500 * time.Millisecond)
	}
	k.t.Fatalf("%s has no turn of round %d\n%s", id, n, k.story(id))
}

// state is what a member knows of its team.
func (m *member) state() *amp.TeamState { return m.c.team.state() }

// left are the refs of tasks at the remote.
func (k *clones) left() string {
	return person(k.t, k.bare, "for-each-ref", "--format=%(refname)", "refs/arbiter")
}

// An owner that stands still beyond its lease has finished, committed and pushed meanwhile: its commit is at the remote under the old
// epoch, nobody takes it, and when everybody else is gone it goes on from the work of the others.
func TestClones_stale(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stubborn := func(who string) play {
			return func(ctx context.Context, turn providers.Turn, n int, emit func(providers.Event)) (providers.Outcome, error) {
				if n == 1 { // it gives its answer whatever it is told
					time.Sleep(20 * time.Second)
					return edits(who)(ctx, turn, n, func(providers.Event) {})
				}
				return slowEdits(who)(ctx, turn, n, emit)
			}
		}
		k := newClones(t, 3, stubborn, everybody(slowly(time.Minute, judges(amp.Rejected, amp.Approved))))
		id := k.approved(0, 1)
		paused := k.owner(id, amp.Executor)
		at := slices.Index(k.members, paused)
		release := paused.gate.hold()
		time.Sleep(50 * time.Second)
		k.until(id, amp.Reviewing)
		stale := k.branch(at, id)
		if first := k.get(id).Commit; stale == first || !strings.Contains(k.left(), stale) || !strings.Contains(k.left(), first) {
			t.Fatalf("%s is at %s, the journal at %s; both ought to be at the remote:\n%s", paused.name, stale, first, k.left())
		}
		release()
		k.round(id, 2)
		for _, m := range k.members {
			if m != paused {
				m.kill()
			}
		}
		got := k.until(id, amp.StatusApproved)
		if got.Late != 1 || got.Round != 2 || got.Owner != paused.name || len(got.Escalations) > 0 {
			t.Errorf("late reports %d, round %d, owner %s, escalations %v; want one, 2, %s, none\n%s",
				got.Late, got.Round, got.Owner, got.Escalations, paused.name, k.story(id))
		}
		if tip := k.branch(at, id); tip != got.Commit {
			t.Errorf("the branch is at %s, want %s", tip, got.Commit)
		}
		if log := person(t, k.dirs[at], "rev-list", got.Commit); strings.Contains(log, stale) {
			t.Errorf("the stale commit %s is in the branch:\n%s", stale, log)
		}
		if pins := person(t, k.dirs[at], "for-each-ref", "--format=%(objectname)", "refs/arbiter/recovery/"+string(id)); !strings.Contains(pins, stale) {
			t.Errorf("the stale commit %s is not pinned: %s", stale, pins)
		}
		k.check()
	})
}

// A result that is not complete is held as it is: its work becomes part of the branch when a person lets it.
func TestClones_partial(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		partly := func(_ context.Context, turn providers.Turn, _ int, emit func(providers.Event)) (providers.Outcome, error) {
			emit(agenttest.Accept(turn))
			err := os.WriteFile(filepath.Join(turn.Dir, "count.sh"), []byte("echo half\n"), 0o644)
			return agenttest.Final(resultOf(turn, amp.Partial)), err
		}
		k := newClones(t, 2, everybody(partly), everybody(judges(amp.Approved)))
		id := k.approved(0, 1)
		if got := k.until(id, amp.Held); got.Checked != nil || got.Commit != "" {
			t.Errorf("a partial result was compared with git before anybody asked: %+v, commit %q", got.Checked, got.Commit)
		}
		k.submit(amp.Command{Command: amp.Accept, TaskID: id, Expects: &amp.Expects{Status: amp.Held}, Note: "good enough"})
		if got := k.until(id, amp.StatusApproved); got.Checked == nil || got.Commit == "" || len(got.Escalations) > 0 {
			t.Errorf("accepted: %+v, commit %q\n%s", got.Checked, got.Commit, k.story(id))
		}
		k.check()
	})
}

// An owner that is cut off from the store goes on later where the others left the task.
func TestClones_partitioned(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newClones(t, 2, slowEdits, everybody(slowly(time.Minute, judges(amp.Rejected, amp.Rejected, amp.Approved))))
		id := k.approved(0, 1)
		cut := k.owner(id, amp.Executor)
		cut.gate.cut(errCut)
		k.until(id, amp.Reviewing)
		cut.gate.cut(nil)
		k.round(id, 2)
		other := k.members[1-slices.Index(k.members, cut)]
		if who := k.get(id).Turn.Owner; who != other.name {
			t.Fatalf("%s has the turn, want %s", who, other.name)
		}
		other.gate.cut(errCut)
		got := k.until(id, amp.StatusApproved)
		other.gate.cut(nil)
		if got.Owner != cut.name || got.Round != 3 || len(got.Escalations) > 0 {
			t.Errorf("owner %s, round %d, escalations %v; want %s, 3, none\n%s", got.Owner, got.Round, got.Escalations, cut.name, k.story(id))
		}
		k.check()
	})
}

// An agent that goes on although its coordinator lost the task: that coordinator does not take the task again before it is gone, so that
// what it still commits is not taken for the work of the turn after.
func TestClones_lingering(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		let := make(chan struct{})
		lingers := func(who string) play {
			return func(ctx context.Context, turn providers.Turn, n int, emit func(providers.Event)) (providers.Outcome, error) {
				if n > 1 {
					return slowEdits(who)(ctx, turn, n, emit)
				}
				emit(agenttest.Accept(turn))
				<-let // whatever it is told
				if err := os.WriteFile(filepath.Join(turn.Dir, "count.sh"), []byte("echo late\n"), 0o644); err != nil {
					return providers.Outcome{}, err
				}
				person(t, turn.Dir, "commit", "-q", "-a", "-m", "late")
				return providers.Outcome{}, &providers.TurnError{Failure: providers.FailKilled, Text: "stopped"}
			}
		}
		k := newClones(t, 2, lingers, everybody(slowly(time.Minute, judges(amp.Approved))))
		id := k.approved(0, 1)
		first := k.owner(id, amp.Executor)
		first.gate.cut(errCut)
		k.until(id, amp.Reviewing)
		second := k.owner(id, amp.Reviewer)
		first.gate.cut(nil)
		second.kill()
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if got := k.get(id); got.Turn == nil || got.Turn.Owner != second.name {
			t.Errorf("%s went on while its agent of before still ran\n%s", first.name, k.story(id))
		}
		close(let)
		got := k.until(id, amp.StatusApproved)
		if got.Owner != first.name || got.Round != 1 || len(got.Escalations) > 0 {
			t.Errorf("owner %s, round %d, escalations %v; want %s, 1, none\n%s", got.Owner, got.Round, got.Escalations, first.name, k.story(id))
		}
		k.check()
	})
}

// leftovers are turns of which processes run, and which of them were ended.
type leftovers struct{ running, ended []string }

func (l *leftovers) Left() ([]string, error) { return l.running, nil }

func (l *leftovers) Reap(_ context.Context, turnID string) error {
	l.ended = append(l.ended, turnID)
	return nil
}

// Of a turn whose coordinator was killed, and which another one has ended by then, nothing runs any more when the first is back; of turns
// that are not its own it lets everything run.
func TestClones_left(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newClones(t, 2, slowEdits, everybody(slowly(time.Minute, judges(amp.Approved))))
		id := k.approved(0, 1)
		dead := k.owner(id, amp.Executor)
		lost := k.get(id).Turn.TurnID
		dead.kill()
		k.until(id, amp.Reviewing)
		left := &leftovers{running: []string{"another's", "../turns/" + lost, lost}}
		dead.cfg.Reaper = left
		dead.gate.cut(nil)
		dead.start(t)
		k.until(id, amp.StatusApproved)
		if want := []string{lost}; !slices.Equal(left.ended, want) {
			t.Errorf("ended %v, want %v", left.ended, want)
		}
		k.check()
	})
}

// A remote that is down stops nobody: the task goes on, its owner says that it cannot be handed over, and the others what they wait for. Once
// the remote is back the task can go over again.
func TestClones_remoteDown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newClones(t, 2, slowEdits, everybody(slowly(time.Minute, judges(amp.Approved, amp.Rejected, amp.Approved))))
		id := k.approved(0, 1)
		owner := k.owner(id, amp.Executor)
		other := k.members[1-slices.Index(k.members, owner)]
		if err := os.Rename(k.bare, k.bare+".down"); err != nil {
			t.Fatal(err)
		}
		k.owner(id, amp.Reviewer)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if s := owner.state().Kept; len(s) != 1 || s[0].TaskID != id || s[0].Since.IsZero() || !strings.Contains(s[0].Why, "through origin") {
			t.Errorf("the owner says %+v, want that %s cannot be handed over", s, id)
		}
		owner.kill() // the first review is lost
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if s := other.state().Away; len(s) != 1 || s[0].TaskID != id || !strings.Contains(s[0].Why, "from origin") {
			t.Errorf("the other one says %+v, want why it cannot go on", s)
		}
		if got := k.get(id); got.Turn == nil || got.Turn.Owner != owner.name || len(got.Escalations) > 0 {
			t.Fatalf("the task went on without its commit\n%s", k.story(id))
		}
		if err := os.Rename(k.bare+".down", k.bare); err != nil {
			t.Fatal(err)
		}
		owner.gate.cut(nil)
		owner.start(t)
		k.round(id, 2)
		if s := owner.state().Kept; len(s) > 0 {
			t.Errorf("the owner says %+v, want nothing: the remote is back", s)
		}
		owner.kill()
		if got := k.until(id, amp.StatusApproved); got.Owner != other.name || got.Round != 2 || len(got.Escalations) > 0 {
			t.Errorf("owner %s, round %d, escalations %v; want %s, 2, none\n%s", got.Owner, got.Round, got.Escalations, other.name, k.story(id))
		}
		k.check()
	})
}

// A delivery happens in the clone of the coordinator that was asked for it, and of an ended task nothing is left at the remote, nor any
// worktree.
func TestClones_delivered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newClones(t, 2, slowEdits, everybody(slowly(time.Minute, judges(amp.Approved))))
		id := k.approved(0, 1)
		dead := k.owner(id, amp.Reviewer)
		dead.kill()
		got := k.until(id, amp.StatusApproved)
		dead.gate.cut(nil)
		dead.start(t)
		at := slices.Index(k.members, dead)
		time.Sleep(time.Minute)
		k.at(at).submit(amp.Command{Command: amp.Deliver, TaskID: id, Args: amp.Args{Merge: true}, Expects: &amp.Expects{Status: amp.StatusApproved}})
		k.until(id, amp.Delivered)
		if tip, base := person(t, k.dirs[at], "rev-parse", "main"), person(t, k.dirs[1-at], "rev-parse", "main"); base != got.Plan.BaseCommit || tip == base {
			t.Errorf("main is at %s where the delivery was asked for, and at %s elsewhere; want the merge and the base\n%s", tip, base, k.story(id))
		}
		time.Sleep(3 * time.Minute)
		synctest.Wait()
		if left := k.left(); left != "" {
			t.Errorf("at the remote is left %s", left)
		}
		for i, dir := range k.dirs {
			if trees := person(t, dir, "worktree", "list"); strings.Contains(trees, "\n") {
				t.Errorf("worktrees in the clone of %s:\n%s", k.members[i].name, trees)
			}
			if refs := person(t, dir, "for-each-ref", "refs/arbiter/passed", "refs/arbiter/received"); refs != "" {
				t.Errorf("refs in the clone of %s:\n%s", k.members[i].name, refs)
			}
		}
		k.check()
	})
}
