package tuitest

import (
	"fmt"
	"time"

	"arbiter/amp"
)

// Story appends the entries of one task, step by step, as the coordinator would write them.
type Story struct {
	s         *Script
	ID        amp.TaskID
	Plan      amp.Plan
	last      map[amp.MessageType]string // the newest message of each type
	turn      int
	Executor  string
	Reviewer  string
	Findings  []amp.Issue
	Estimated int
	// Commit is what the next result reports and the next check finds.
	Commit string
	// Tokens and CostUSD are what the next turns report when they end.
	Tokens  int
	CostUSD float64
}

// NewTask begins a task with a wish. Steps follow one second apart unless the test moves the clock.
func (s *Script) NewTask(title string) *Story {
	s.mu.Lock()
	id := s.board.NewTaskID(s.now)
	s.mu.Unlock()
	t := &Story{
		s: s, ID: id, last: map[amp.MessageType]string{}, Executor: "codex", Reviewer: "claude",
		Commit: "7d20c4e000000000000000000000000000000000", CostUSD: 0.12,
	}
	t.Plan = amp.Plan{
		TaskID: id, Revision: 1, Title: title, Wish: title, Author: "gemini", Description: title, Repo: "/src/relay",
		Branch: "feature/" + string(id), BaseBranch: "main", BaseCommit: "4c1e9a2" + fmt.Sprintf("%033d", 0), RiskLevel: amp.Low,
		Executor: "codex", Reviewer: "claude", AllowedPaths: []string{"internal/plan/**", "docs/plan.md"},
		Subtasks: []amp.Subtask{
			{SubtaskID: string(id) + "-S1", Description: "Move the types to internal/plan/types.go", EstimatedLines: 60},
			{SubtaskID: string(id) + "-S2", Description: "Port the callers in internal/dispatch", EstimatedLines: 90},
		},
		AcceptanceCriteria: []string{
			"go build ./... and go vet ./... pass", "no call of legacy.* is left outside tests",
			"the order property holds for 10,000 random plans",
		},
	}
	t.Command(amp.Submit, amp.Args{Wish: &amp.Wish{Text: title, Title: title, Repo: t.Plan.Repo, Risk: amp.Low}}, "")
	return t
}

// Step moves the clock before the next entry.
func (t *Story) Step(d time.Duration) *Story {
	t.s.Advance(d)
	return t
}

// Propose appends the plan; change may edit it first.
func (t *Story) Propose(change ...func(*amp.Plan)) *Story {
	for _, f := range change {
		f(&t.Plan)
	}
	t.Plan.Hash = t.Plan.ContentHash()
	t.entry(amp.KindPlan, amp.Coordinator, t.Plan.Author, amp.EncodeBody(&t.Plan))
	t.Plan.Revision++
	return t
}

// Approve approves the plan at once.
func (t *Story) Approve() *Story { return t.Command(amp.Approve, amp.Args{}, "") }

// Command appends a command of mira.
func (t *Story) Command(name amp.CommandName, args amp.Args, note string) *Story {
	t.s.mu.Lock()
	n := t.s.ids + 1
	now := t.s.now
	t.s.mu.Unlock()
	c := amp.Command{ID: fmt.Sprintf("cmd-%06d", n), Command: name, By: "mira", At: now, TaskID: t.ID, Args: args, Note: note}
	t.entry(amp.KindCommand, amp.Admin, "mira", amp.EncodeBody(&c))
	return t
}

// Dispatch sends the task_dispatch and starts the executor's turn.
func (t *Story) Dispatch() *Story {
	p := &t.Plan
	t.send(amp.TaskDispatch, amp.Coordinator, amp.Executor, "arbiter", &amp.Dispatch{
		Description: p.Description, Repo: p.Repo, Branch: p.Branch,
		Subtasks: p.Subtasks, AcceptanceCriteria: p.AcceptanceCriteria, RiskLevel: p.RiskLevel, ForbiddenActions: p.ForbiddenActions,
	})
	return t.Turn(amp.Executor, t.Executor, amp.TaskDispatch)
}

// Turn starts a turn.
func (t *Story) Turn(role amp.Role, agent string, of amp.MessageType) *Story {
	t.turn++
	return t.turnEvent(amp.Turn{Event: amp.TurnStarted, Role: role, Agent: agent, For: t.last[of], PID: 4000 + t.turn})
}

func (t *Story) turnEvent(u amp.Turn) *Story {
	u.TurnID, u.TaskID = fmt.Sprintf("%s-turn-%d", t.ID, t.turn), t.ID
	if task := t.s.Task(t.ID); task != nil {
		u.Epoch = task.Epoch
		if u.Agent == "" && task.Turn != nil {
			u.Role, u.Agent = task.Turn.Role, task.Turn.Agent
		}
	}
	t.entry(amp.KindTurn, u.Role, u.Agent, amp.EncodeBody(&u))
	return t
}

// Says appends progress of the running turn.
func (t *Story) Says(text string) *Story {
	return t.turnEvent(amp.Turn{Event: amp.TurnProgress, Text: text})
}

// Checkpoints starts a turn of the executor before which checkpoint n was set.
func (t *Story) Checkpoints(n int) *Story {
	t.turn++
	return t.turnEvent(amp.Turn{Event: amp.TurnStarted, Role: amp.Executor, Agent: t.Executor, PID: 4000 + t.turn, Checkpoint: n})
}

// Ends ends the running turn.
func (t *Story) Ends(how amp.TurnOutcome) *Story {
	return t.turnEvent(amp.Turn{Event: amp.TurnEnded, Outcome: how, TookMS: 61_000, Tokens: t.Tokens, CostUSD: t.CostUSD})
}

// EndsBecause ends the running turn and says why.
func (t *Story) EndsBecause(how amp.TurnOutcome, why string) *Story {
	return t.turnEvent(amp.Turn{Event: amp.TurnEnded, Outcome: how, TookMS: 61_000, Tokens: t.Tokens, CostUSD: t.CostUSD, Text: why})
}

// Redelivered notes the second delivery of the newest message of a type.
func (t *Story) Redelivered(of amp.MessageType) *Story {
	return t.turnEvent(amp.Turn{Event: amp.TurnRedelivered, Agent: t.Executor, Role: amp.Executor, For: t.last[of]})
}

// Ack acknowledges the newest message of a type.
func (t *Story) Ack(of amp.MessageType) *Story {
	by, actor := amp.Coordinator, "arbiter"
	switch of {
	case amp.TaskDispatch:
		by, actor = amp.Executor, t.Executor
	case amp.ReviewRequest:
		by, actor = amp.Reviewer, t.Reviewer
	default:
	}
	a := amp.Ack{AckFor: t.last[of], TaskID: t.ID, By: by, AckedAt: t.s.Now(), Status: amp.AckAccepted}
	if of == amp.TaskDispatch {
		a.EchoedAcceptanceCriteria = t.Plan.AcceptanceCriteria
	}
	t.entry(amp.KindAck, by, actor, amp.EncodeBody(&a))
	return t
}

// Result reports the work of a turn, which ends.
func (t *Story) Result(status amp.CompletionStatus, blockers ...string) *Story {
	yes := true
	met := make([]*bool, len(t.Plan.AcceptanceCriteria))
	met[0] = &yes
	t.send(amp.TaskResult, amp.Executor, amp.Coordinator, t.Executor, &amp.Result{
		SubtaskID: t.Plan.Subtasks[0].SubtaskID, CompletionStatus: status,
		DiffSummary:    amp.DiffSummary{FilesChanged: []string{"internal/plan/types.go", "docs/plan.md"}, LinesAdded: 68, LinesRemoved: 24},
		SelfAssessment: amp.SelfAssessment{CriteriaMet: met, Notes: make([]string, len(met))},
		WorkLog:        []amp.WorkItem{{Timestamp: amp.FormatTime(t.s.Now()), Action: "modify", File: "internal/plan/types.go", Detail: "moved"}},
		CommitHash:     t.Commit, Blockers: blockers,
	})
	return t.Ends(amp.TurnOK).Ack(amp.TaskResult)
}

// Check compares the result with git; refuted names are refuted.
func (t *Story) Check(refuted ...string) *Story {
	c := amp.Check{
		Subject: amp.CheckResult, TaskID: t.ID, For: t.last[amp.TaskResult], Commit: t.Commit,
		Base: t.Plan.BaseCommit, Added: 68, Removed: 24,
	}
	for _, n := range []string{"commit", "files", "lines", "branch", "base", "paths"} {
		c.Claims = append(c.Claims, amp.Claim{Name: n, Finding: amp.Confirmed, Claimed: "as said", Found: "as said"})
	}
	c.Claims = append(c.Claims, amp.Claim{Name: "tests", Finding: amp.Inconclusive, Evidence: "swift is not installed here"})
	for _, r := range refuted {
		for i := range c.Claims {
			if c.Claims[i].Name == r {
				c.Claims[i].Finding, c.Claims[i].Claimed, c.Claims[i].Found, c.Claims[i].Blocking = amp.Refuted, "+40", "+44", true
			}
		}
	}
	t.entry(amp.KindCheck, amp.System, "arbiter", amp.EncodeBody(&c))
	return t
}

// Request asks for a review and starts the reviewer's turn.
func (t *Story) Request() *Story {
	rejects := t.s.Task(t.ID).RejectCount
	r := &amp.Request{
		OriginalDispatchRef: t.last[amp.TaskDispatch], TaskResultRef: t.last[amp.TaskResult], ReviewScope: amp.Full,
		DiffURL: "file:///diff", RejectCount: rejects, CIStatus: map[string]any{"local": "passed"},
	}
	if rejects > 0 {
		r.ReviewScope = amp.Incremental
	}
	if rejects >= 2 {
		r.CoordinatorNotes = amp.LockWarning
	}
	t.send(amp.ReviewRequest, amp.Coordinator, amp.Reviewer, "arbiter", r)
	return t.Turn(amp.Reviewer, t.Reviewer, amp.ReviewRequest)
}

// Verdict reports a review; a rejection names the issues, or one of its own.
func (t *Story) Verdict(d amp.Decision, confidence float64, issues ...amp.Issue) *Story {
	yes, no := true, false
	v := &amp.Verdict{Decision: d, Confidence: confidence, Issues: issues}
	for i, c := range t.Plan.AcceptanceCriteria {
		passed := &yes
		if d == amp.Rejected && i == 0 {
			passed = &no
		}
		v.CriteriaResults = append(v.CriteriaResults, amp.CriterionResult{Criterion: c, Passed: passed, Evidence: "looked"})
	}
	if d == amp.Rejected && len(issues) == 0 {
		v.Issues = []amp.Issue{{
			Severity: amp.IssueCritical, File: "internal/plan/types.go", Line: 87,
			Description: "No session reference is held after session.start(); ARC will recycle it", SuggestedFix: "Save session as a class property",
		}}
	}
	if d == amp.ApprovedWithFix {
		v.DirectFixes = []amp.DirectFix{{File: "docs/plan.md", ChangeType: amp.Typo, DiffLines: 1}}
	}
	t.send(amp.ReviewVerdict, amp.Reviewer, amp.Coordinator, t.Reviewer, v)
	return t.Ends(amp.TurnOK).Ack(amp.ReviewVerdict)
}

// Fixes records, before the verdict, that the reviewer's direct fixes are a commit.
func (t *Story) Fixes(commit string) *Story {
	t.entry(amp.KindCheck, amp.System, "arbiter", amp.EncodeBody(&amp.Check{
		Subject: amp.CheckReview, TaskID: t.ID, Commit: t.Commit, Fix: commit, Base: t.Plan.BaseCommit, Files: []string{"docs/plan.md"}, Added: 1, Removed: 1,
		Claims: []amp.Claim{{Name: "fixes", Finding: amp.Confirmed, Found: "docs/plan.md"}}, Text: "direct fixes committed",
	}))
	return t
}

// Escalate raises an escalation, which suspends unless it is of level info.
func (t *Story) Escalate(typ amp.EscalationType, sev amp.Severity, text string) *Story {
	task := t.s.Task(t.ID)
	var hints []string
	for _, s := range amp.Suggestions(typ) {
		hints = append(hints, s.Text)
	}
	t.send(amp.EscalationMsg, amp.Coordinator, amp.Admin, "arbiter", &amp.Escalation{
		EscalationType: typ, Severity: sev, TriggeredBy: amp.Coordinator,
		Description: text, AffectedMsgs: task.Affected(), SuggestedActions: hints, AutoSuspended: sev != amp.Info,
		SystemStateSnapshot: amp.Snapshot{TaskStatus: task.Status, RejectCount: task.RejectCount, LastSuccessfulMsgID: task.LastOK},
	})
	return t
}

// Proves records that a suspension holds.
func (t *Story) Proves() *Story {
	t.entry(amp.KindCheck, amp.System, "arbiter", amp.EncodeBody(&amp.Check{
		Subject: amp.CheckSuspension, TaskID: t.ID,
		Claims: []amp.Claim{{Name: "processes", Finding: amp.Confirmed, Found: "gone"}}, Text: "pid 3990 gone, epoch fenced, timers frozen",
	}))
	return t
}

// Asks lets the agent ask for a permission.
func (t *Story) Asks(request string) *Story {
	until := t.s.Now().Add(30 * time.Minute)
	t.entry(amp.KindQuestion, amp.Executor, t.Executor, amp.EncodeBody(&amp.Question{
		QuestionID: fmt.Sprintf("q-%s-%d", t.ID, t.turn), TaskID: t.ID, Type: amp.QuestionPermission, Agent: t.Executor,
		Role: amp.Executor, Request: "run " + request, Options: []string{amp.OptionAllow, amp.OptionAllowTask, amp.OptionDeny},
		Expires: &until, GrantSec: 3600,
		Permission: &amp.Permission{Type: amp.PermitRun, Tool: "shell", Command: request, Reason: "it writes the mocks"},
	}))
	return t
}

// Reject plays one whole round that ends in a rejection.
func (t *Story) Reject() *Story {
	return t.Dispatch().Step(8*time.Second).Ack(amp.TaskDispatch).Says("reading the code").Step(9*time.Minute).Result(amp.Complete).Check().
		Request().Step(13*time.Second).Ack(amp.ReviewRequest).Step(4*time.Minute).Verdict(amp.Rejected, 0.95)
}

// Last is the msg_id of the newest message of a type.
func (t *Story) Last(of amp.MessageType) string { return t.last[of] }

func (t *Story) entry(kind amp.Kind, role amp.Role, actor string, body []byte) amp.Entry {
	return t.s.Append(kind, t.ID, role, actor, body)
}

func (t *Story) send(typ amp.MessageType, from, to amp.Role, actor string, p amp.Payload) {
	now := t.s.Now()
	m := &amp.Message{
		ProtocolVersion: amp.Version, Type: typ, From: from, To: to, TaskID: t.ID, Timestamp: amp.FormatTime(now),
		RequiresAck: typ.AckTimeout() > 0, Payload: p,
	}
	m.MsgID = amp.NewMsgID(typ, t.ID, now, func(id string) bool { return id == t.last[typ] })
	body, err := amp.Encode(m)
	if err != nil {
		panic(err)
	}
	t.last[typ] = m.MsgID
	t.entry(amp.KindMessage, from, actor, body)
}

// EscalateFrom raises an escalation in the name of another role, with its own words as suggestions.
func (t *Story) EscalateFrom(from amp.Role, typ amp.EscalationType, sev amp.Severity, text string, hints ...string) *Story {
	task := t.s.Task(t.ID)
	t.send(amp.EscalationMsg, from, amp.Admin, t.Executor, &amp.Escalation{
		EscalationType: typ, Severity: sev, TriggeredBy: from,
		Description: text, AffectedMsgs: task.Affected(), SuggestedActions: hints, AutoSuspended: sev != amp.Info,
		SystemStateSnapshot: amp.Snapshot{TaskStatus: task.Status, RejectCount: task.RejectCount, LastSuccessfulMsgID: task.LastOK},
	})
	return t
}

// AsksAs asks a question of any type with options.
func (t *Story) AsksAs(typ amp.QuestionType, request string, options ...string) *Story {
	t.entry(amp.KindQuestion, amp.Executor, t.Executor, amp.EncodeBody(&amp.Question{
		QuestionID: fmt.Sprintf("q-%s-%d", t.ID, t.turn),
		TaskID:     t.ID, Type: typ, Agent: t.Executor, Request: request, Options: options,
	}))
	return t
}

// Delivers carries out the delivery that waits, or was ordered just now, with its pull request.
func (t *Story) Delivers(p amp.PullState) *Story {
	task := t.s.Task(t.ID)
	for _, w := range task.Waiting {
		t.entry(amp.KindCheck, amp.System, "arbiter", amp.EncodeBody(&amp.Check{Subject: amp.CheckCommand, TaskID: t.ID, For: w.Command.ID}))
	}
	task = t.s.Task(t.ID)
	t.entry(amp.KindCheck, amp.System, "arbiter", amp.EncodeBody(&amp.Check{
		Subject: amp.CheckWorkspace, TaskID: t.ID, For: task.Doing.Command.ID, Commit: task.Commit, Pull: &p,
		Claims: []amp.Claim{{Name: "pull", Finding: amp.Confirmed, Found: p.Name() + " " + string(p.State)}},
		Text:   task.Plan.Branch + " is pushed; pull request " + p.Name() + ": " + p.URL,
	}))
	return t
}
