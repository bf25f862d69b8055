package coordinator

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"arbiter/amp"
	"arbiter/gitops"
	"arbiter/providers"
	"arbiter/ssot"
)

// lateGit is a clone in which a branch is adopted so late that a result was passed on meanwhile, once that is asked for.
type lateGit struct {
	*gitops.Git
	late   atomic.Bool
	passed chan struct{}
}

func (g *lateGit) Adopt(ctx context.Context, w amp.Workspace, elsewhere bool) error {
	if g.late.Load() {
		select {
		case <-g.passed:
		case <-time.After(9 * time.Second):
		}
	}
	return g.Git.Adopt(ctx, w, elsewhere)
}

func (g *lateGit) Pass(ctx context.Context, w amp.Workspace, epoch uint64) error {
	err := g.Git.Pass(ctx, w, epoch)
	if w.Commit != "" && g.late.Swap(false) {
		close(g.passed)
	}
	return err
}

func (g *lateGit) RunCI(ctx context.Context, w amp.Workspace, commands [][]string, timeout time.Duration) (amp.Check, error) {
	time.Sleep(time.Second)
	return g.Git.RunCI(ctx, w, commands, timeout)
}

// A lease that a late renewal brings back while its task is being taken anew: nobody moves the branch of a turn that has begun by then.
func TestClones_renewedLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gits := map[string]*lateGit{}
		exec := func(who string) play {
			return func(ctx context.Context, turn providers.Turn, n int, emit func(providers.Event)) (providers.Outcome, error) {
				if n == 1 {
					return slowEdits(who)(ctx, turn, n, emit)
				}
				return edits(who)(ctx, turn, n, emit)
			}
		}
		k := newClones(t, 2, exec, everybody(slowly(time.Minute, judges(amp.Approved))), func(_ int, c *Config) {
			g := &lateGit{Git: c.Git.(*gitops.Git), passed: make(chan struct{})}
			gits[c.Owner], c.Git = g, g
			c.Checks = func(string) [][]string { return [][]string{{"true"}} }
		})
		id := k.approved(0, 1)
		m := k.owner(id, amp.Executor)
		gits[m.name].late.Store(true)
		m.gate.mu.Lock()
		m.gate.renewing = 17 * time.Second // the lease lapses here 5 seconds before it does at the store
		m.gate.mu.Unlock()
		for k.get(id).Turn != nil {
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(3 * time.Second)
		k.submit(amp.Command{Command: amp.NoteCommand, TaskID: id, Note: "how is it going?"}) // lets everybody look at the task
		if got := k.until(id, amp.StatusApproved); got.Round != 1 || len(got.Escalations) > 0 {
			t.Errorf("round %d, escalations %+v, want one and none\n%s", got.Round, got.Escalations, k.story(id))
		}
		k.check()
	})
}

// stuckGit is a clone in which no branch is adopted in the time that there is for it.
type stuckGit struct{ *gitops.Git }

func (g *stuckGit) Adopt(ctx context.Context, _ amp.Workspace, _ bool) error {
	<-ctx.Done()
	return ctx.Err()
}

// A task whose branch cannot be made ready in time is free for the others at once.
func TestClones_stuck(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newClones(t, 2, slowEdits, everybody(judges(amp.Approved)))
		id := k.approved(0, 1)
		first := k.owner(id, amp.Executor)
		first.kill()
		other := k.members[1-slices.Index(k.members, first)]
		other.kill()
		other.cfg.Git = &stuckGit{Git: other.cfg.Git.(*gitops.Git)}
		other.gate.cut(nil)
		other.start(t)
		for range 600 {
			if synctest.Wait(); len(other.state().Away) > 0 {
				break
			}
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(time.Second)
		held, err := k.log.(ssot.Shared).Owners(t.Context())
		if err != nil || slices.ContainsFunc(held, func(l ssot.Lease) bool { return l.Task == id }) || len(other.state().Away) != 1 {
			t.Errorf("%s cannot go on with %+v; the store says %+v, %v", other.name, other.state().Away, held, err)
		}
		k.check()
	})
}
