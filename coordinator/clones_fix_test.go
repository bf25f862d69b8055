package coordinator

import (
	"cmp"
	"context"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"arbiter/amp"
	"arbiter/gitops"
)

// slowFixing is a git that waits where direct fixes were just made, or with follows set where the branch is to follow to them, once.
type slowFixing struct {
	*gitops.Git
	s *slowFix
}

type slowFix struct {
	t             *testing.T
	follows       bool
	reached, goOn chan struct{}

	mu   sync.Mutex
	once bool
	// fix is what was made first.
	fix string
}

func slowFixes(t *testing.T, follows bool) (s *slowFix, change func(int, *Config)) {
	s = &slowFix{t: t, follows: follows, reached: make(chan struct{}), goOn: make(chan struct{})}
	return s, func(_ int, c *Config) { c.Git = slowFixing{c.Git.(*gitops.Git), s} }
}

func (s *slowFix) wait(ctx context.Context, fix string) {
	s.mu.Lock()
	first := !s.once
	if first {
		s.once, s.fix = true, fix
	}
	s.mu.Unlock()
	if !first {
		return
	}
	close(s.reached)
	select {
	case <-s.goOn:
	case <-ctx.Done():
	}
}

func (g slowFixing) CloseReview(ctx context.Context, w amp.Workspace, turn string, v *amp.Verdict) (amp.Check, error) {
	ck, err := g.Git.CloseReview(ctx, w, turn, v)
	if v != nil && !g.s.follows {
		g.s.wait(ctx, ck.Fix)
	}
	return ck, err
}

// Adopt comes before a branch follows, where tasks pass between machines.
func (g slowFixing) Adopt(ctx context.Context, w amp.Workspace, elsewhere bool) error {
	if g.s.follows && w.Commit != "" && strings.HasPrefix(person(g.s.t, g.Local(w.Repo), "log", "-1", "--format=%s", w.Commit), "Direct fixes") {
		g.s.wait(ctx, w.Commit)
	}
	return cmp.Or(ctx.Err(), g.Git.Adopt(ctx, w, elsewhere))
}

// reviews is the coordinator under which a task is reviewed, and which one that is.
func (k *clones) reviews(id amp.TaskID) (*member, int) {
	k.t.Helper()
	m := k.owner(id, amp.Reviewer)
	return m, slices.Index(k.members, m)
}

// followed lets time pass until the branch of a task has followed to its direct fixes.
func (k *clones) followed(id amp.TaskID) *amp.Task {
	k.t.Helper()
	for range 1000 {
		synctest.Wait()
		if t := k.get(id); t.Status == amp.StatusApproved && t.Behind == "" {
			return t
		}
		time.Sleep(500 * time.Millisecond)
	}
	k.t.Fatalf("the branch of %s does not follow\n%s\n%s", id, k.leases(), k.story(id))
	return nil
}

// delivers delivers a task in the clone of a member and looks there for the direct fixes.
func (k *clones) delivers(at int, got *amp.Task) {
	k.t.Helper()
	k.at(at).submit(amp.Command{Command: amp.Deliver, TaskID: got.ID, Args: amp.Args{Merge: true}, Expects: &amp.Expects{Status: amp.StatusApproved}})
	k.until(got.ID, amp.Delivered)
	if file := person(k.t, k.dirs[at], "show", "main:count.sh"); !strings.HasPrefix(file, "ehco") || person(k.t, k.dirs[at], "rev-parse", "main^2") != got.Commit {
		k.t.Errorf("delivered is %q\n%s", file, k.story(got.ID))
	}
	time.Sleep(3 * time.Minute)
	synctest.Wait()
	for i, dir := range k.dirs {
		if refs := person(k.t, dir, "for-each-ref", "refs/arbiter/fixes"); refs != "" {
			k.t.Errorf("left in the clone of %s: %s", k.members[i].name, refs)
		}
	}
	k.check()
}

// A coordinator that dies when the verdict is in the journal and the branch has not followed: another one has the direct fixes from the
// remote, and its own branch follows; that of the first does when it is back.
func TestClones_fixed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow, change := slowFixes(t, true)
		k := newClones(t, 2, slowEdits, everybody(slowly(time.Minute, fixes(0.95))), change)
		id := k.approved(0, 1)
		first, at := k.reviews(id)
		<-slow.reached
		if got := k.get(id); got.Status != amp.StatusApproved || got.Commit != slow.fix || got.Behind == "" || k.branch(at, id) == got.Commit {
			t.Fatalf("the branch has followed already: %s\n%s", k.branch(at, id), k.story(id))
		}
		first.kill()
		got := k.followed(id)
		if tip := k.branch(1-at, id); tip != got.Commit || len(got.Escalations) > 0 {
			t.Errorf("the branch is at %s in the other clone, want %s; escalations %v\n%s", tip, got.Commit, got.Escalations, k.story(id))
		}
		first.gate.cut(nil)
		first.start(t)
		time.Sleep(time.Minute)
		k.delivers(at, got)
	})
}

// AMP-137: direct fixes that are held are let through on another machine than they were made on, also when they could be passed on only later.
func TestClones_fixHeld(t *testing.T) {
	t.Parallel()
	for name, undo := range map[string]bool{"at once": false, "with undo": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				k := newClones(t, 2, slowEdits, everybody(slowly(time.Minute, fixes(0.5))))
				id := k.approved(0, 1)
				first, at := k.reviews(id)
				if err := os.Rename(k.bare, k.bare+".down"); err != nil {
					t.Fatal(err)
				}
				held := k.until(id, amp.Held)
				if tip := k.branch(at, id); tip != held.Commit || held.Fix == "" {
					t.Errorf("the branch is at %s while the verdict is held, want %s; the fixes are %q", tip, held.Commit, held.Fix)
				}
				time.Sleep(10 * time.Second)
				if err := os.Rename(k.bare+".down", k.bare); err != nil {
					t.Fatal(err)
				}
				time.Sleep(2 * time.Minute)
				synctest.Wait()
				if left := k.left(); !strings.Contains(left, held.Fix) {
					t.Fatalf("the fixes %s are not at the remote: %s\n%s", held.Fix, left, k.leases())
				}
				first.kill()
				k.at(1 - at).submit(amp.Command{Command: amp.Accept, TaskID: id, Args: amp.Args{Undo: undo}, Expects: &amp.Expects{Status: amp.Held}})
				got := k.followed(id)
				if tip := k.branch(1-at, id); tip != got.Commit || got.Commit != held.Fix || len(got.Escalations) > 0 {
					t.Errorf("the branch is at %s, the task at %s, the fixes are %s; escalations %v\n%s", tip, got.Commit, held.Fix, got.Escalations, k.story(id))
				}
				first.gate.cut(nil)
				first.start(t)
				k.delivers(1-at, got)
			})
		})
	}
}

// A coordinator that loses its lease while it measures direct fixes leaves nothing on the branch of its clone: the task goes on elsewhere,
// and comes back.
func TestClones_fixFenced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow, change := slowFixes(t, false)
		k := newClones(t, 2, slowEdits, everybody(slowly(time.Minute, fixes(0.95))), change)
		id := k.approved(0, 1)
		first, at := k.reviews(id)
		<-slow.reached
		release := first.gate.hold()
		time.Sleep(time.Minute)
		close(slow.goOn)
		got := k.followed(id)
		release()
		time.Sleep(time.Minute)
		synctest.Wait()
		if lost := slow.fix; lost == "" || lost == got.Commit || k.branch(at, id) == lost {
			t.Errorf("the branch of %s is at %s; its fixes %q do not count", first.name, k.branch(at, id), lost)
		}
		if got.Owner == first.name || len(got.Escalations) > 0 {
			t.Errorf("owner %s, escalations %v\n%s", got.Owner, got.Escalations, k.story(id))
		}
		k.delivers(at, got)
	})
}
