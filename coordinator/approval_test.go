package coordinator

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"arbiter/amp"
)

func secondAdmin(p amp.SecondAdmin) func(*Config) {
	return func(c *Config) { c.Policy.SecondAdmin = p }
}

// planned is a task whose plan waits.
func (r *rig) planned(risk amp.RiskLevel) amp.TaskID {
	r.t.Helper()
	id := r.submit(amp.Command{Command: amp.Submit, Args: amp.Args{Wish: &amp.Wish{Text: "x", Repo: "/repo", Risk: risk}}}).TaskID
	synctest.Wait()
	r.want(id, amp.AwaitingApproval)
	return id
}

// approval is one admin's approval of the plan as it stands, whole and with its digits.
func (r *rig) approval(id amp.TaskID, by string, undo bool) amp.Command {
	t := r.get(id)
	return amp.Command{
		Command: amp.Approve, By: by, TaskID: id,
		Expects: &amp.Expects{Status: t.Status, Revision: t.Revision, Hash: t.Plan.Hash},
		Args:    amp.Args{Read: "read 2/2", Digits: t.Plan.Hash[60:], Undo: undo},
	}
}

// tui.md 6.2.12: where the policy says so, two admins must approve who did not write the plan; the second approval runs it.
func TestSecondAdmin(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, works, judges(amp.Approved), secondAdmin(amp.SecondAlways))
		id := r.planned(amp.Low)
		stale := r.approval(id, "jan", false)
		first, err := r.tryAs(r.approval(id, "mira", false))
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		task := r.want(id, amp.AwaitingApproval)
		if task.First == nil || task.First.By != "mira" || task.First.Seq != first.Seq || task.Approval != nil {
			t.Fatalf("after the first: %+v, %+v", task.First, task.Approval)
		}
		_, err = r.tryAs(r.approval(id, "mira", false))
		refusedBy(t, err, "expects")
		if !strings.Contains(err.Error(), "a second admin who is not planner or mira is missing") {
			t.Errorf("the refusal does not say who is missing: %v", err)
		}
		_, err = r.tryAs(stale) // what jan saw was the first of two; now his would start the work
		refusedBy(t, err, "expects")
		if _, err = r.tryAs(r.approval(id, "jan", false)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		task = r.want(id, amp.StatusApproved)
		if task.First.By != "mira" || task.Approval.By != "jan" {
			t.Errorf("approved by %+v and %+v", task.First, task.Approval)
		}
	})
}

func TestSecondAdmin_high(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, works, judges(amp.Approved), secondAdmin(amp.SecondHigh))
		low, high := r.planned(amp.Low), r.planned(amp.High)
		for _, id := range []amp.TaskID{low, high} {
			if _, err := r.tryAs(r.approval(id, "mira", false)); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		r.want(low, amp.StatusApproved)
		r.want(high, amp.AwaitingApproval)
	})
}

// The author of a revision is none of the two admins, a new revision drops the first approval, and a reject ends it.
func TestSecondAdmin_revision(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, works, judges(amp.Approved), secondAdmin(amp.SecondAlways))
		id := r.planned(amp.Low)
		if _, err := r.tryAs(r.approval(id, "mira", false)); err != nil {
			t.Fatal(err)
		}
		plan := *r.get(id).Plan
		plan.Description += " And document it."
		if _, err := r.tryAs(amp.Command{Command: amp.Revise, By: "jan", TaskID: id, Args: amp.Args{Plan: &plan}}); err != nil {
			t.Fatal(err)
		}
		task := r.want(id, amp.AwaitingApproval)
		if task.First != nil || task.Plan.Revision != 2 || task.Plan.Author != "jan" {
			t.Fatalf("after the revision: %+v, r%d by %s", task.First, task.Plan.Revision, task.Plan.Author)
		}
		_, err := r.tryAs(r.approval(id, "jan", false))
		refusedBy(t, err, "expects")
		if !strings.Contains(err.Error(), "jan wrote revision 2") {
			t.Errorf("the refusal does not name the author: %v", err)
		}
		if _, err := r.tryAs(r.approval(id, "mira", false)); err != nil {
			t.Fatal(err)
		}
		if _, err := r.tryAs(amp.Command{Command: amp.Reject, By: "jan", TaskID: id, Note: "smaller"}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if task := r.want(id, amp.AwaitingApproval); task.First != nil || task.Plan.Revision != 3 {
			t.Errorf("after the reject: %+v, r%d", task.First, task.Plan.Revision)
		}
	})
}

// Each of the two has its own undo time. Of two firsts at once the one that runs first counts; the other comes back.
func TestSecondAdmin_undo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, works, judges(amp.Approved), secondAdmin(amp.SecondAlways))
		id := r.planned(amp.Low)
		if _, err := r.tryAs(r.approval(id, "mira", true)); err != nil {
			t.Fatal(err)
		}
		if _, err := r.tryAs(r.approval(id, "jan", true)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(9900 * time.Millisecond)
		synctest.Wait()
		if t1 := r.get(id); t1.First != nil {
			t.Fatalf("it counts before its undo time is over: %+v", t1.First)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		task := r.want(id, amp.AwaitingApproval)
		if task.First == nil || task.First.By != "mira" || len(task.Failed) != 1 || task.Failed[0].By != "jan" {
			t.Fatalf("first %+v, not carried out %+v", task.First, task.Failed)
		}
		second, err := r.tryAs(r.approval(id, "jan", true))
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		if _, err := r.tryAs(amp.Command{Command: amp.Withdraw, By: "jan", TaskID: id, Args: amp.Args{Withdraws: second.ID}}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		r.want(id, amp.AwaitingApproval)
		if _, err := r.tryAs(r.approval(id, "jan", true)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(11 * time.Second)
		synctest.Wait()
		r.want(id, amp.StatusApproved)
	})
}

// edited is a revision of a task's plan as a screen sends it: complete, with the hash of what was seen.
func edited(t *amp.Task, by string) *amp.Plan {
	p := *t.Plan
	p.Description += " And document it."
	t.Complete(&p, by)
	p.Hash = p.ContentHash()
	return &p
}

// tui.md 6.3: approve with edits is a new revision and the approval of its hash, in one append.
func TestApprove_edited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, works, judges(amp.Approved))
		id := r.planned(amp.High)
		cmd := r.approval(id, "mira", false)
		cmd.Args.Plan = edited(r.get(id), "mira")
		_, err := r.tryAs(cmd) // the digits are those of the plan before
		refusedBy(t, err, "AMP-059")
		cmd.Args.Digits = cmd.Args.Plan.Hash[60:]
		stale := cmd
		stale.Expects = &amp.Expects{Revision: 7}
		_, err = r.tryAs(stale)
		refusedBy(t, err, "expects")
		wrong := *cmd.Args.Plan
		wrong.BaseCommit = "ffffffffffffffff" // what was seen is not what would be stored
		wrong.Hash = wrong.ContentHash()
		other := cmd
		other.Args.Plan, other.Args.Digits = &wrong, wrong.Hash[60:]
		_, err = r.tryAs(other)
		refusedBy(t, err, "expects")
		bad := *cmd.Args.Plan
		bad.AcceptanceCriteria = nil
		bad.Hash = bad.ContentHash()
		other.Args.Plan = &bad
		_, err = r.tryAs(other)
		refusedBy(t, err, "AMP-056")
		if task := r.want(id, amp.AwaitingApproval); task.Plan.Revision != 1 {
			t.Fatalf("a refused approval left revision %d", task.Plan.Revision)
		}
		e, err := r.tryAs(cmd)
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		task := r.want(id, amp.StatusApproved)
		if p := task.Plan; p.Revision != 2 || p.Author != "mira" || p.Hash != cmd.Args.Plan.Hash || task.Approval.Hash != p.Hash || task.Approval.Seq != e.Seq {
			t.Errorf("r%d by %s, approval %+v", p.Revision, p.Author, task.Approval)
		}
		if before := r.entries(amp.Filter{After: e.Seq - 2, Before: e.Seq}); before[0].Kind != amp.KindPlan || before[0].Actor != "mira" {
			t.Errorf("before the approval stands %s of %s, want its revision", before[0].Kind, before[0].Actor)
		}
	})
}

// Taken back, the revision stays and waits; where two admins must approve, who edited is the author and approves nothing.
func TestApprove_editedUndo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, works, judges(amp.Approved))
		id := r.planned(amp.Low)
		cmd := r.approval(id, "mira", true)
		cmd.Args.Plan = edited(r.get(id), "mira")
		e, err := r.tryAs(cmd)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.tryAs(amp.Command{Command: amp.Withdraw, By: "mira", TaskID: id, Args: amp.Args{Withdraws: e.ID}}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if task := r.want(id, amp.AwaitingApproval); task.Plan.Revision != 2 || task.Approval != nil {
			t.Fatalf("r%d, approval %+v", task.Plan.Revision, task.Approval)
		}
		cmd = r.approval(id, "mira", true)
		cmd.Args.Plan = edited(r.get(id), "mira")
		if _, err := r.tryAs(cmd); err != nil {
			t.Fatal(err)
		}
		time.Sleep(11 * time.Second)
		synctest.Wait()
		r.want(id, amp.StatusApproved)

		r = newRig(t, works, judges(amp.Approved), secondAdmin(amp.SecondAlways))
		id = r.planned(amp.Low)
		cmd = r.approval(id, "mira", false)
		cmd.Args.Plan = edited(r.get(id), "mira")
		_, err = r.tryAs(cmd)
		refusedBy(t, err, "expects")
	})
}

// A coordinator says what a bar must know: who gets a task, how long a decision can be taken back, when an ACK is late.
func TestQuery_status(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, works, judges(amp.Approved), func(c *Config) {
			c.Undo, c.Heartbeat = 30*time.Second, 20*time.Minute
			c.AckTimeouts = map[amp.MessageType]time.Duration{amp.TaskDispatch: 45 * time.Second}
			claude := c.Agents["claude"]
			claude.Vendor = "x" // the executor's: its own reviews go to another vendor
			c.Agents["claude"] = claude
		})
		page, err := r.c.Query(t.Context(), amp.Query{Kind: amp.QueryStatus})
		if err != nil {
			t.Fatal(err)
		}
		s := page.Status
		if s.UndoMS != 30_000 || s.HeartbeatSec != 1200 || s.AckSec[amp.TaskDispatch] != 45 {
			t.Errorf("times: %+v", s)
		}
		if s.Roles[amp.Executor] != "codex" || s.Roles[amp.Reviewer] != "outsider" || s.Roles[amp.Coordinator] != "planner" {
			t.Errorf("roles: %v", s.Roles)
		}
	})
}
