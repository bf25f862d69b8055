package coordinator

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"arbiter/amp"
	"arbiter/gitops"
	"arbiter/providers"
	"arbiter/providers/agenttest"
)

// fixes is a reviewer that mends a word in count.sh, sure of itself as far as confidence says.
func fixes(confidence ...float64) play {
	return func(_ context.Context, turn providers.Turn, n int, emit func(providers.Event)) (providers.Outcome, error) {
		emit(agenttest.Accept(turn))
		file := filepath.Join(turn.Dir, "count.sh")
		if text, err := os.ReadFile(file); err == nil {
			if err := os.WriteFile(file, []byte(strings.Replace(string(text), "echo", "ehco", 1)), 0o644); err != nil {
				return providers.Outcome{}, err
			}
		}
		v := verdictOf(amp.ApprovedWithFix, confidence[min(n, len(confidence))-1])
		v["direct_fixes"] = []amp.DirectFix{{File: "count.sh", ChangeType: amp.Typo, DiffLines: 2}}
		return agenttest.Final(v), nil
	}
}

// following lets the fake repository commit the fixes of a verdict, and returns the commits that branches followed to.
func (r *rig) following() (followed func() []string) {
	r.fixing()
	var mu sync.Mutex
	var all []string
	r.git.fix = func(w amp.Workspace) (amp.Check, error) {
		mu.Lock()
		defer mu.Unlock()
		all = append(all, w.Commit)
		return amp.Check{Commit: w.Commit, Claims: []amp.Claim{{Name: "branch", Finding: amp.Confirmed, Blocking: true}}}, nil
	}
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(all)
	}
}

// AMP-124: the branch follows to direct fixes once their verdict is in the journal and counts, before anything else is done with it.
func TestFix(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, works, fixes(0.95))
		followed := r.following()
		id := r.task()
		task := r.want(id, amp.StatusApproved)
		if got := followed(); !slices.Equal(got, []string{fixedCommit}) || task.Commit != fixedCommit || task.Reviewed != fixedCommit || task.Behind != "" {
			t.Errorf("the branch followed to %q, the task is at %s, reviewed %s, behind %q\n%s", got, task.Commit, task.Reviewed, task.Behind, r.story(id))
		}
		var order []string
		for _, e := range r.entries(amp.Filter{TaskID: id, Kinds: []amp.Kind{amp.KindMessage, amp.KindCheck}}) {
			if ck, err := amp.DecodeBody[amp.Check](&e); e.Kind == amp.KindCheck && err == nil {
				order = append(order, string(ck.Subject))
				if ck.Subject == amp.CheckFix && ck.For != task.Verdict.MsgID {
					t.Errorf("the check is for %q, want the verdict", ck.For)
				}
			} else if strings.HasPrefix(e.ID, string(amp.ReviewVerdict)) {
				order = append(order, "verdict")
			}
		}
		if got := strings.Join(order, " "); !strings.HasSuffix(got, "review verdict fix") {
			t.Errorf("in the journal: %s", got)
		}
	})
}

// AMP-124, AMP-137: who lets a held verdict stand decides on its direct fixes, not on the commit that was reviewed alone.
func TestFix_bound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, works, fixes(0.5))
		r.following()
		id := r.task()
		held := r.want(id, amp.Held)
		accept := func(hash string) error {
			_, err := r.try(amp.Command{ID: "accept-" + hash, Command: amp.Accept, TaskID: id, Expects: &amp.Expects{Hash: hash}})
			return err
		}
		refusedBy(t, accept(held.Commit), amp.RuleExpects)
		if err := accept(held.Fix); err != nil {
			t.Fatal(err)
		}
		r.want(id, amp.StatusApproved)
	})
}

// AMP-137: direct fixes of a held verdict wait with it, and go with it.
func TestFix_held(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		cmd   amp.Command
		want  amp.Status
		fixed bool
	}{
		"accepted":            {amp.Command{Command: amp.Accept}, amp.StatusApproved, true},
		"accepted, with undo": {amp.Command{Command: amp.Accept, Args: amp.Args{Undo: true}}, amp.StatusApproved, true},
		"overridden":          {amp.Command{Command: amp.Override, Args: amp.Args{Decision: amp.Approved}}, amp.StatusApproved, false},
		"rejected":            {amp.Command{Command: amp.Override, Args: amp.Args{Decision: amp.Rejected}}, amp.Reviewing, false},
		"dispatched again":    {amp.Command{Command: amp.Redispatch, Note: "once more"}, amp.Reviewing, false},
		"rolled back":         {amp.Command{Command: amp.Rollback, Args: amp.Args{Checkpoint: 1}}, amp.Held, false},
		"terminated":          {amp.Command{Command: amp.Terminate, Note: "enough"}, amp.Terminated, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, works, func(ctx context.Context, turn providers.Turn, n int, emit func(providers.Event)) (providers.Outcome, error) {
					if n > 1 {
						return idleTurn(ctx, turn, n, emit)
					}
					return fixes(0.5)(ctx, turn, n, emit)
				})
				followed := r.following()
				id := r.task()
				held := r.want(id, amp.Held)
				reviewed := commitName(id, 1)
				if held.Commit != reviewed || held.Fix != fixedCommit || len(followed()) > 0 {
					t.Fatalf("held at %s with the fixes %q, the branch followed to %q", held.Commit, held.Fix, followed())
				}
				tc.cmd.TaskID, tc.cmd.Expects = id, &amp.Expects{Status: amp.Held, Revision: held.Revision}
				r.submit(tc.cmd)
				time.Sleep(11 * time.Second)
				synctest.Wait()
				task := r.want(id, tc.want)
				if fixed := slices.Equal(followed(), []string{fixedCommit}); fixed != tc.fixed || len(followed()) > 0 != tc.fixed || (task.Commit == fixedCommit) != tc.fixed {
					t.Errorf("the branch followed to %q, the task is at %s\n%s", followed(), task.Commit, r.story(id))
				}
				if task.Fix != "" || task.Behind != "" {
					t.Errorf("left: fixes %q, behind %q", task.Fix, task.Behind)
				}
			})
		})
	}
}

// AMP-174: what is fenced after its verdict was judged, and before that is in the journal, leaves nothing on the branch.
func TestFix_fenced(t *testing.T) {
	t.Parallel()
	for name, fence := range map[string]func(r *rig, id amp.TaskID){
		"suspended":  func(r *rig, id amp.TaskID) { r.raises(id, warning(), 0) },
		"stopped":    func(r *rig, _ amp.TaskID) { r.submit(amp.Command{Command: amp.StopAll, Note: "smoke"}) },
		"terminated": func(r *rig, id amp.TaskID) { r.submit(amp.Command{Command: amp.Terminate, TaskID: id, Note: "enough"}) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, works, fixes(0.95))
				followed := r.following()
				measure, fenced := r.git.review, false
				r.git.review = func(w amp.Workspace, v *amp.Verdict) (amp.Check, error) {
					ck, err := measure(w, v)
					if v != nil { // it was judged, and counts as things stand
						fenced = true
						fence(r, w.TaskID)
					}
					return ck, err
				}
				id := r.task()
				if task := r.get(id); task.Verdict != nil || task.Commit != commitName(id, 1) || task.Fix != "" || len(followed()) > 0 || !fenced {
					t.Errorf("fenced: %v, the task is at %s, the branch followed to %q\n%s", fenced, task.Commit, followed(), r.story(id))
				}
			})
		})
	}
}

// A coordinator that ends after the verdict is in the journal and before the branch has followed leaves that to its successor; what git
// cannot do, or a branch that somebody moved, is raised, and tried again after a resume where that makes sense.
func TestFix_again(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		first amp.Check
		err   error
		// raised is what is escalated, times how often git is asked until all is well.
		raised amp.EscalationType
		times  int
	}{
		"git is broken":    {err: errors.New("git is broken"), raised: amp.UnknownEscalation, times: 2},
		"the branch moved": {raised: amp.PermissionDenied, times: 1, first: amp.Check{Escalate: amp.PermissionDenied, Text: "the branch moved", Claims: []amp.Claim{{Name: "branch", Finding: amp.Refuted, Blocking: true}}}},
		"it died":          {err: context.Canceled, times: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, works, fixes(0.95))
				r.fixing()
				var mu sync.Mutex
				times := 0
				died := make(chan struct{})
				r.git.fix = func(w amp.Workspace) (amp.Check, error) {
					mu.Lock()
					defer mu.Unlock()
					if times++; times == 1 {
						if name == "it died" {
							<-died
						}
						return tc.first, tc.err
					}
					return amp.Check{Commit: w.Commit}, nil
				}
				id := r.task()
				if name == "it died" {
					stopped := make(chan struct{})
					go func() { r.stop(); close(stopped) }()
					synctest.Wait()
					close(died)
					<-stopped
					if got := r.want(id, amp.StatusApproved); got.Behind == "" {
						t.Fatalf("the branch has followed\n%s", r.story(id))
					}
					r.start()
					synctest.Wait()
				} else {
					r.want(id, amp.Suspended)
					if got := r.alarms(id); !slices.Equal(got, []amp.EscalationType{tc.raised}) {
						t.Errorf("raised %v", got)
					}
					r.submit(amp.Command{Command: amp.Resume, TaskID: id, Expects: &amp.Expects{Status: amp.Suspended}})
					synctest.Wait()
				}
				mu.Lock()
				defer mu.Unlock()
				if got := r.want(id, amp.StatusApproved); got.Behind != "" || got.Commit != fixedCommit || times != tc.times {
					t.Errorf("at %s, behind %q, git was asked %d times, want %d\n%s", got.Commit, got.Behind, times, tc.times, r.story(id))
				}
			})
		})
	}
}

// The next subtask is dispatched, and a delivery carried out, once the branch has followed.
func TestFix_first(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, works, fixes(0.95))
		followed := r.following()
		follow, delivered, prepared := r.git.fix, 0, 0
		r.git.fix = func(w amp.Workspace) (amp.Check, error) {
			time.Sleep(time.Minute)
			return follow(w)
		}
		r.git.prepare = func() {
			if prepared++; len(followed()) != prepared-1 {
				t.Errorf("the turn of subtask %d begins when the branch has followed to %q", prepared, followed())
			}
		}
		r.git.deliver = func(w amp.Workspace, _ amp.Delivery) (amp.Check, error) {
			if delivered++; len(followed()) != 2 {
				t.Errorf("delivered when the branch has followed to %q", followed())
			}
			return amp.Check{Subject: amp.CheckWorkspace, Commit: w.Commit}, nil
		}
		r.planner.RunFunc = func(_ context.Context, turn providers.Turn, _ func(providers.Event)) (providers.Outcome, error) {
			return agenttest.Final(map[string]any{
				"title": "Count words", "description": "Make the counter right.", "risk_level": "low",
				"subtasks": []map[string]any{
					{"subtask_id": string(turn.Task) + "-S1", "description": "fix it", "estimated_lines": 5},
					{"subtask_id": string(turn.Task) + "-S2", "description": "fix the rest", "estimated_lines": 5},
				},
				"acceptance_criteria": []string{"the check passes"},
			}), nil
		}
		id := r.task()
		time.Sleep(90 * time.Second)
		synctest.Wait()
		r.want(id, amp.StatusApproved)
		r.submit(amp.Command{Command: amp.Deliver, TaskID: id, Args: amp.Args{Merge: true}, Expects: &amp.Expects{Status: amp.StatusApproved}})
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if r.want(id, amp.Delivered); prepared != 2 || delivered != 1 {
			t.Errorf("%d turns, %d deliveries\n%s", prepared, delivered, r.story(id))
		}
	})
}

// real is a rig with a repository that is one.
func real(t *testing.T, rev play) (r *rig, repo string) {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	repo = filepath.Join(top, "shop")
	makeShop(t, repo)
	return newRig(t, edits("codex"), rev, func(c *Config) {
		g, err := gitops.New(gitops.Options{Home: c.Home, Log: c.Logger})
		if err != nil {
			t.Fatal(err)
		}
		c.Git = g
	}), repo
}

// settle lets time pass until a task has a status, and nothing is to be done about it.
func (r *rig) settle(id amp.TaskID, s amp.Status) *amp.Task {
	r.t.Helper()
	for range 600 {
		synctest.Wait()
		if t := r.get(id); t.Status == s && t.Behind == "" && t.Turn == nil && t.Next == "" {
			return t
		}
		time.Sleep(100 * time.Millisecond)
	}
	r.t.Fatalf("%s does not become %s\n%s", id, s, r.story(id))
	return nil
}

// AMP-124, AMP-137, seen with git: what becomes of direct fixes that are held, when the admin lets them through and when not.
func TestFix_onBranch(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		cmd amp.Command
		// confidence is how sure the reviewer is in each round.
		confidence []float64
		subjects   string
	}{
		"accepted":         {amp.Command{Command: amp.Accept}, []float64{0.5}, "Direct fixes, Work left"},
		"overridden":       {amp.Command{Command: amp.Override, Args: amp.Args{Decision: amp.Approved}}, []float64{0.5}, "Work left"},
		"dispatched again": {amp.Command{Command: amp.Redispatch, Note: "once more"}, []float64{0.5, 0.95}, "Direct fixes, Work left, Work left"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r, repo := real(t, fixes(tc.confidence...))
				id := r.submit(amp.Command{Command: amp.Submit, Args: amp.Args{Wish: &amp.Wish{Text: "Count the words right", Repo: repo}}}).TaskID
				r.settle(id, amp.AwaitingApproval)
				r.submit(amp.Command{Command: amp.Approve, TaskID: id, Expects: &amp.Expects{Status: amp.AwaitingApproval}})
				held := r.settle(id, amp.Held)
				ref := "refs/heads/" + held.Plan.Branch
				if tip := person(t, repo, "rev-parse", ref); tip != held.Commit || person(t, repo, "rev-parse", held.Fix+"^") != tip {
					t.Fatalf("the branch is at %s while the verdict is held, the task at %s with the fixes %s", tip, held.Commit, held.Fix)
				}
				tc.cmd.TaskID = id
				r.submit(tc.cmd)
				task := r.settle(id, amp.StatusApproved)
				if tip := person(t, repo, "rev-parse", ref); tip != task.Commit || task.Reviewed != tip || len(task.Escalations) > 0 {
					t.Errorf("the branch is at %s, the task at %s, escalations %v\n%s", tip, task.Commit, task.Escalations, r.story(id))
				}
				var subjects []string
				for line := range strings.Lines(person(t, repo, "log", "--format=%s", task.Plan.BaseCommit+".."+ref)) {
					subjects = append(subjects, strings.Join(strings.Fields(line)[:2], " "))
				}
				if got := strings.Join(subjects, ", "); got != tc.subjects {
					t.Errorf("on the branch: %s; want %s", got, tc.subjects)
				}
				r.submit(amp.Command{Command: amp.Deliver, TaskID: id, Args: amp.Args{Merge: true}, Expects: &amp.Expects{Status: amp.StatusApproved}})
				r.settle(id, amp.Delivered)
				if merged := person(t, repo, "rev-parse", "main^2"); merged != task.Commit {
					t.Errorf("merged is %s, want %s", merged, task.Commit)
				}
				for range 50 {
					if synctest.Wait(); r.get(id).Released {
						break
					}
					time.Sleep(100 * time.Millisecond)
				}
				if refs := person(t, repo, "for-each-ref", "refs/arbiter/fixes"); refs != "" {
					t.Errorf("left: %s", refs)
				}
			})
		})
	}
}
