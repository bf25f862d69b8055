package coordinator

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"arbiter/amp"
	"arbiter/providers"
	"arbiter/providers/agenttest"
)

// AMP-127, AMP-114: a reviewer may find more than one message holds, round after round. The next request and dispatch name what has room,
// and the task goes on until its rejects lock it.
func TestFindings_moreThanAMessageHolds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, works, func(_ context.Context, turn providers.Turn, n int, emit func(providers.Event)) (providers.Outcome, error) {
			emit(agenttest.Accept(turn))
			v := verdictOf(amp.Rejected, 0.95)
			var issues []map[string]any
			for i := range 9 {
				issues = append(issues, map[string]any{
					"severity": "major", "file": fmt.Sprintf("f%d-%d", n, i), "line": 1, "suggested_fix": "mend",
					"description": strings.Repeat(fmt.Sprintf("w%d", i), 30<<10),
				})
			}
			v["issues"] = issues
			return agenttest.Final(v), nil
		})
		id := r.task()
		r.want(id, amp.Locked)
		if got := r.alarms(id); len(got) != 1 || got[0] != amp.HallucinationLock {
			t.Errorf("escalations %v, want the lock alone", got)
		}
	})
}

// AMP-166: findings may recur that have more names than a message holds. The lock is escalated all the same, and the coordinator goes on.
func TestFindings_longNames(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, works, func(_ context.Context, turn providers.Turn, n int, emit func(providers.Event)) (providers.Outcome, error) {
			emit(agenttest.Accept(turn))
			v := verdictOf(amp.Rejected, 0.95)
			var issues []map[string]any
			for i := range 30 {
				issues = append(issues, map[string]any{
					"severity": "major", "file": fmt.Sprintf("%d-%d-%s", n/2, i, strings.Repeat("long", 6<<10)), "line": 1,
					"description": "not this way", "suggested_fix": "mend",
				})
			}
			v["issues"] = issues
			return agenttest.Final(v), nil
		})
		id := r.task()
		for range 2 {
			r.want(id, amp.Locked)
			r.submit(amp.Command{Command: amp.Unlock, TaskID: id, Note: "once more", Args: amp.Args{Next: amp.Redispatch}})
			synctest.Wait()
		}
		r.want(id, amp.Locked)
		if got := r.alarms(id); len(got) != 3 || got[2] != amp.HallucinationLock {
			t.Errorf("escalations %v, want three locks", got)
		}
	})
}

// AMP-043: an admin who writes a plan while the planner is at work is not overruled by what the planner brings afterwards.
func TestRevise_whilePlanning(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, works, judges(amp.Approved))
		bring := make(chan struct{})
		r.planner.RunFunc = func(ctx context.Context, turn providers.Turn, emit func(providers.Event)) (providers.Outcome, error) {
			<-bring
			return plans(ctx, turn, 1, emit)
		}
		id := r.submit(amp.Command{Command: amp.Submit, Args: amp.Args{Wish: &amp.Wish{Text: "x", Repo: "/repo"}}}).TaskID
		synctest.Wait()
		r.submit(amp.Command{Command: amp.Revise, TaskID: id, Args: amp.Args{Plan: &amp.Plan{
			Title: "Mine", Description: "As I say.", RiskLevel: amp.Low, AcceptanceCriteria: []string{"the check passes"},
			Subtasks: []amp.Subtask{{Description: "fix it"}},
		}}})
		synctest.Wait()
		close(bring)
		synctest.Wait()
		task := r.want(id, amp.AwaitingApproval)
		if task.Plan.Title != "Mine" || task.Plan.Revision != 1 || task.Turn != nil {
			t.Errorf("plan %q, revision %d, turn %v: want the admin's\n%s", task.Plan.Title, task.Plan.Revision, task.Turn, r.story(id))
		}
	})
}

// AMP-124, AMP-134, AMP-174: what a reviewer fixed is committed for a verdict that counts. One that is refused, or comes when the task is
// suspended, leaves the branch as it was.
func TestReview_fixesOfNoVerdict(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		confidence float64
		suspends   bool
	}{"refused": {confidence: 7}, "suspended": {confidence: 0.9, suspends: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				judged := make(chan struct{})
				r := newRig(t, works, func(_ context.Context, turn providers.Turn, _ int, emit func(providers.Event)) (providers.Outcome, error) {
					emit(agenttest.Accept(turn))
					<-judged
					v := verdictOf(amp.ApprovedWithFix, tc.confidence)
					v["direct_fixes"] = []amp.DirectFix{{File: "count.sh", ChangeType: amp.Typo, DiffLines: 1}}
					return agenttest.Final(v), nil
				})
				fixed := 0
				r.git.review = func(_ amp.Workspace, v *amp.Verdict) (amp.Check, error) {
					if v != nil && v.Decision == amp.ApprovedWithFix {
						fixed++
					}
					return amp.Check{Subject: amp.CheckReview}, nil
				}
				id := r.task()
				r.want(id, amp.Reviewing)
				if tc.suspends {
					r.says(id, warning(), 0)
				}
				close(judged)
				synctest.Wait()
				if r.want(id, amp.Suspended); fixed != 0 {
					t.Errorf("%d times fixes were committed for a verdict that does not count", fixed)
				}
			})
		})
	}
}
