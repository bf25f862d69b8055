package amp_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"arbiter/amp"
)

// journal draws entries of two tasks, in any order: what a fold must survive is more than what a coordinator writes.
func journal(r *rapid.T) []amp.Entry {
	var head amp.Head
	var entries []amp.Entry
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	n := rapid.IntRange(1, 60).Draw(r, "n")
	lastMsg := map[amp.TaskID]string{}
	for i := range n {
		at = at.Add(time.Duration(rapid.IntRange(1, 90_000).Draw(r, "ms")) * time.Millisecond)
		task := amp.TaskID(rapid.SampledFrom([]string{"T-2026-001", "T-2026-002"}).Draw(r, "task"))
		rec := drawRecord(r, task, at, i, lastMsg)
		e := head.Chain(rec)
		entries = append(entries, e)
		head = amp.Head{Seq: e.Seq, Hash: e.Hash}
	}
	return entries
}

func drawRecord(r *rapid.T, task amp.TaskID, at time.Time, i int, last map[amp.TaskID]string) amp.Record {
	rec := amp.Record{TaskID: task, At: at, ID: fmt.Sprintf("r-%d", i), Role: amp.Coordinator, Actor: "arbiter"}
	body := func(k amp.Kind, v any) amp.Record { rec.Kind, rec.Body = k, amp.EncodeBody(v); return rec }
	switch rapid.IntRange(0, 9).Draw(r, "what") {
	case 0:
		return body(amp.KindPlan, amp.Plan{
			TaskID: task, Revision: i, Title: "t", Hash: fmt.Sprint(i), AcceptanceCriteria: []string{"c"},
			Subtasks: []amp.Subtask{{SubtaskID: "S1"}, {SubtaskID: "S2"}}[:rapid.IntRange(1, 2).Draw(r, "subtasks")],
			Author:   rapid.SampledFrom([]string{"gemini", "mira"}).Draw(r, "author"),
			Policy:   amp.Policy{SecondAdmin: rapid.SampledFrom([]amp.SecondAdmin{amp.SecondNever, amp.SecondAlways}).Draw(r, "second")},
		})
	case 1, 2, 3:
		name := rapid.SampledFrom([]amp.CommandName{
			amp.Submit, amp.Approve, amp.Reject, amp.Resume, amp.Unlock, amp.Redispatch, amp.Split,
			amp.Accept, amp.Override, amp.Rollback, amp.Terminate, amp.Deliver, amp.StopAll, amp.Thaw, amp.RaiseLimit, amp.NoteCommand,
		}).Draw(r, "command")
		c := amp.Command{ID: rec.ID, Command: name, By: rapid.SampledFrom([]string{"mira", "jan", "Jan"}).Draw(r, "by"), At: at, TaskID: task, Note: "n"}
		if rapid.Bool().Draw(r, "undo") {
			due := at.Add(10 * time.Second)
			c.Args.EffectiveAt = &due
		}
		c.Args.Next = rapid.SampledFrom([]amp.CommandName{"", amp.Redispatch, amp.Split, amp.Terminate}).Draw(r, "next")
		return body(amp.KindCommand, c)
	case 4:
		return body(amp.KindTurn, amp.Turn{
			TurnID: "u", Event: rapid.SampledFrom([]amp.TurnEvent{amp.TurnStarted, amp.TurnProgress, amp.TurnEnded}).Draw(r, "event"),
			TaskID: task, Role: amp.Executor, Agent: rapid.SampledFrom([]string{"codex", "claude"}).Draw(r, "agent"), Epoch: 1,
			Outcome: rapid.SampledFrom([]amp.TurnOutcome{amp.TurnOK, amp.TurnFailed, amp.TurnLost}).Draw(r, "outcome"),
			TookMS:  rapid.Int64Range(0, 90_000).Draw(r, "took"), Tokens: rapid.IntRange(0, 9000).Draw(r, "tokens"),
			CostUSD: float64(rapid.IntRange(0, 300).Draw(r, "cents")) / 100, Text: "why",
		})
	case 5:
		ck := amp.Check{Subject: rapid.SampledFrom([]amp.CheckSubject{
			amp.CheckResult, amp.CheckCI, amp.CheckSuspension, amp.CheckWorkspace, amp.CheckCommand,
			amp.CheckReview, amp.CheckFix, amp.CheckRelease,
		}).Draw(r, "subject"), TaskID: task, For: last[task], Commit: "c0ffee", Fix: rapid.SampledFrom([]string{"", "f1f1f1"}).Draw(r, "fix")}
		if rapid.Bool().Draw(r, "refuted") {
			ck.Claims = []amp.Claim{{Name: rapid.SampledFrom([]string{"commit", "paths"}).Draw(r, "claim"), Finding: amp.Refuted, Blocking: true}}
		}
		return body(amp.KindCheck, ck)
	case 6:
		return body(amp.KindAck, amp.Ack{AckFor: last[task], TaskID: task, By: amp.Executor, AckedAt: at, Status: amp.AckAccepted})
	default:
		m := drawMessage(r, task, at)
		raw, err := amp.Encode(m)
		if err != nil {
			r.Fatal(err)
		}
		rec.Kind, rec.ID, rec.Role, rec.Body = amp.KindMessage, m.MsgID, m.From, raw
		last[task] = m.MsgID
		return rec
	}
}

func drawMessage(r *rapid.T, task amp.TaskID, at time.Time) *amp.Message {
	yes := true
	var p amp.Payload
	from, to := amp.Coordinator, amp.Executor
	switch rapid.IntRange(0, 4).Draw(r, "type") {
	case 0:
		p = &amp.Dispatch{
			Description: "d", Repo: "/r", Branch: "feature/x", RiskLevel: amp.Low, AcceptanceCriteria: []string{"c"},
			Subtasks: []amp.Subtask{{SubtaskID: string(task) + "-S1", Description: "d"}},
		}
	case 1:
		from, to = amp.Executor, amp.Coordinator
		status := rapid.SampledFrom([]amp.CompletionStatus{amp.Complete, amp.Partial}).Draw(r, "status")
		res := &amp.Result{
			SubtaskID: string(task) + "-S1", CompletionStatus: status, DiffSummary: amp.DiffSummary{FilesChanged: []string{"f"}},
			SelfAssessment: amp.SelfAssessment{CriteriaMet: []*bool{&yes}, Notes: []string{"n"}}, WorkLog: []amp.WorkItem{},
		}
		if status == amp.Partial {
			res.Blockers = []string{"b"}
		}
		p = res
	case 2:
		to = amp.Reviewer
		p = &amp.Request{OriginalDispatchRef: "d", TaskResultRef: "r", ReviewScope: amp.Full, DiffURL: "file:///d"}
	case 3:
		from, to = amp.Reviewer, amp.Coordinator
		d := rapid.SampledFrom([]amp.Decision{amp.Approved, amp.Rejected, amp.Rejected}).Draw(r, "decision")
		v := &amp.Verdict{
			Decision: d, Confidence: rapid.SampledFrom([]float64{0.5, 0.95}).Draw(r, "confidence"),
			CriteriaResults: []amp.CriterionResult{{Criterion: "c", Passed: &yes, Evidence: "e"}},
		}
		if d == amp.Rejected {
			no := false
			v.CriteriaResults[0].Passed = &no
			v.Issues = []amp.Issue{{Severity: amp.IssueMajor, File: "f", Line: 1, Description: "d", SuggestedFix: "s"}}
		}
		p = v
	default:
		to = amp.Admin
		sev := rapid.SampledFrom([]amp.Severity{amp.Critical, amp.Warning, amp.Info}).Draw(r, "severity")
		p = &amp.Escalation{
			EscalationType: amp.UnknownEscalation, Severity: sev, TriggeredBy: amp.Coordinator, Description: "d",
			AffectedMsgs: []string{}, SystemStateSnapshot: amp.Snapshot{TaskStatus: amp.Executing}, AutoSuspended: sev != amp.Info,
		}
	}
	m := &amp.Message{
		ProtocolVersion: amp.Version, Type: p.MessageType(), From: from, To: to, TaskID: task, Timestamp: amp.FormatTime(at),
		RequiresAck: p.MessageType() != amp.EscalationMsg, Payload: p,
	}
	m.MsgID = amp.NewMsgID(m.Type, task, at, func(string) bool { return false })
	return m
}

func fold(t interface{ Fatal(...any) }, b *amp.Board, entries []amp.Entry) *amp.Board {
	for _, e := range entries {
		if err := b.Apply(e); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

func state(t interface{ Fatal(...any) }, b *amp.Board) string {
	raw, err := json.MarshalIndent(b, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// Design, section 1: state is the fold of the journal, and a snapshot is as good as the entries before it.
func TestBoard_snapshotAnywhere(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		entries := journal(r)
		whole := fold(r, amp.NewBoard(), entries)
		cut := rapid.IntRange(0, len(entries)).Draw(r, "cut")
		var half amp.Board
		if err := json.Unmarshal([]byte(state(r, fold(r, amp.NewBoard(), entries[:cut]))), &half); err != nil {
			r.Fatal(err)
		}
		if diff := cmp.Diff(state(r, whole), state(r, fold(r, &half, entries[cut:]))); diff != "" {
			r.Fatalf("snapshot after %d of %d entries (-whole +continued):\n%s", cut, len(entries), diff)
		}
	})
}

// Whatever is written, these hold after every entry: an ended task never moves, epochs and rejects never fall without a
// decision, and a suspended or locked task owes no ACK (AMP-138, AMP-174, A02).
func TestBoard_invariants(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		b := amp.NewBoard()
		before := map[amp.TaskID]amp.Task{}
		for _, e := range journal(r) {
			if err := b.Apply(e); err != nil {
				r.Fatal(err)
			}
			for id, task := range b.Tasks {
				was, known := before[id]
				if known && was.Status.Ended() && task.Status != was.Status {
					r.Fatalf("%s left %s by entry %d (%s)", id, was.Status, e.Seq, e.Kind)
				}
				if task.Epoch < was.Epoch || task.RejectTotal < was.RejectTotal || task.Revision < was.Revision {
					r.Fatalf("%s: epoch %d→%d, rejects %d→%d, revision %d→%d", id, was.Epoch, task.Epoch, was.RejectTotal, task.RejectTotal, was.Revision, task.Revision)
				}
				if task.RejectCount > task.RejectTotal {
					r.Fatalf("%s: %d rejects of %d in all", id, task.RejectCount, task.RejectTotal)
				}
				if known && task.Status == amp.StatusApproved && was.Status != amp.StatusApproved && task.Verdict == nil && was.Before != amp.StatusApproved {
					r.Fatalf("%s was approved without a verdict by entry %d (%s)", id, e.Seq, e.Kind)
				}
				if held := task.Status == amp.Held || task.Status == amp.Suspended && task.Before == amp.Held; held != (task.Hold != nil) {
					r.Fatalf("%s is %s with hold %+v", id, task.Status, task.Hold)
				}
				if why := badApproval(task); why != "" {
					r.Fatalf("%s after entry %d (%s): %s", id, e.Seq, e.Kind, why)
				}
				before[id] = *task
			}
			checkUsage(r, b)
		}
	})
}

// badApproval says what is wrong with the approvals of a task, "" when nothing is: they bind the present plan, and where two
// admins must approve, there are two, who are different and did not write it.
func badApproval(t *amp.Task) string {
	two := t.Plan != nil && t.Plan.TwoAdmins()
	for _, a := range []*amp.Approval{t.First, t.Approval} {
		switch {
		case a == nil:
		case t.Plan == nil || a.Hash != t.Plan.Hash:
			return fmt.Sprintf("the approval of %s binds %q, not the plan", a.By, a.Hash)
		case two && strings.EqualFold(a.By, t.Plan.Author):
			return "the author's approval counts"
		}
	}
	switch {
	case t.First != nil && !two:
		return "a first of two where one is enough"
	case t.Approval != nil && two && t.First == nil:
		return "one approval where two are needed"
	case t.Approval != nil && two && strings.EqualFold(t.First.By, t.Approval.By):
		return "the same admin twice"
	}
	return ""
}

// The table of moves is closed: it leads only to statuses of the life of a task, and nothing leaves the ended ones.
func TestLifecycle_table(t *testing.T) {
	t.Parallel()
	causes := []amp.Cause{
		amp.PlanProposed, amp.PlanApproved, amp.PlanRejected, amp.PlanReopened, amp.StartAcked, amp.StartRefused,
		amp.ResultComplete, amp.ResultPartial, amp.ResultFailed, amp.ResultAccepted, amp.ClaimsRefuted, amp.CIFailed, amp.ReviewRequested,
		amp.VerdictHeld, amp.VerdictApproved, amp.VerdictNext, amp.VerdictRejected, amp.VerdictLocked, amp.Escalated, amp.Resumed,
		amp.Unlocked, amp.Redispatched, amp.SplitUp, amp.RolledBack, amp.DeliveredCause, amp.TerminatedCause,
	}
	known := map[amp.Status]bool{}
	for _, s := range amp.Statuses {
		known[s] = true
	}
	reached := map[amp.Status]bool{amp.Drafting: true}
	for _, s := range amp.Statuses {
		for _, c := range causes {
			to, ok := s.Move(c)
			if ok && !known[to] {
				t.Errorf("%s by %s leads to %q", s, c, to)
			}
			if ok && s.Ended() {
				t.Errorf("%s is left by %s", s, c)
			}
			if ok {
				reached[to] = true
			}
		}
	}
	for _, s := range amp.Statuses {
		if !reached[s] {
			t.Errorf("nothing leads to %s", s)
		}
	}
	if to, ok := amp.Locked.Move(amp.Resumed); ok {
		t.Errorf("a locked task is resumed to %s; only an unlock opens it", to)
	}
}
