package coordinator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"arbiter/amp"
	"arbiter/providers"
	"arbiter/providers/agenttest"
)

// proc is the process of one turn. It outlives the coordinator that started it, until somebody ends it.
type proc struct {
	turn  string
	task  amp.TaskID
	node  *simNode
	alive bool
	ctx   context.Context //nolint:containedctx // it says whether it was told to end
}

// works reports whether the process may still do something.
func (p *proc) works() bool {
	if p.node.c.team == nil {
		return p.alive
	}
	return p.alive && !p.node.paused && p.ctx.Err() == nil && time.Since(p.node.goesOn) > simAwake
}

// simAgent plays one role for one coordinator, well or badly.
type simAgent struct {
	s    *sim
	n    *simNode
	role amp.Role
}

func (s *sim) agent(n *simNode, role amp.Role) *simAgent { return &simAgent{s: s, n: n, role: role} }

// Run is one turn, in a fiber.
func (a *simAgent) Run(ctx context.Context, turn providers.Turn, emit func(providers.Event)) (providers.Outcome, error) {
	s := a.s
	if ctx.Err() != nil { // the journal has the turn, and no process of it starts
		return providers.Outcome{}, &providers.TurnError{Failure: providers.FailKilled, Text: "stopped"}
	}
	p := &proc{turn: turn.ID, task: turn.Task, node: a.n, alive: true, ctx: ctx}
	s.judge.started(a.n, p, &turn)
	s.procs[turn.ID] = p
	s.order = append(s.order, p)
	out, err := a.work(ctx, &turn, emit)
	a.n.clone.commits(&turn)
	if ctx.Err() != nil { // told to stop
		for s.fault(40) {
			s.rest(context.Background(), time.Duration(1+s.rng.IntN(20))*time.Second)
			a.n.clone.commits(&turn)
		}
		if s.fault(50) {
			out, err = agenttest.Final(a.final(&turn)), nil // it answers all the same
		} else {
			out, err = providers.Outcome{}, &providers.TurnError{Failure: providers.FailKilled, Text: "stopped"}
		}
	}
	if s.fault(3) {
		return providers.Outcome{}, &providers.UnprovenError{PIDs: []int{4711}, Err: errors.New("it does not end")}
	}
	p.alive = false
	return out, err
}

// Reap ends what a turn left, as soon as it can.
func (a *simAgent) Reap(_ context.Context, turnID string) error {
	if a.s.fault(30) {
		return &providers.UnprovenError{PIDs: []int{4711}, Err: errors.New("it does not end")}
	}
	if p := a.s.procs[turnID]; p != nil && !a.s.unreaped && (a.s.members == 1 || p.node == a.n) {
		p.alive = false
	}
	return nil
}

// failures are what a turn may end with instead of an answer.
var failures = []providers.Failure{
	providers.FailCrashed, providers.FailSilent, providers.FailTotal, providers.FailOutput, providers.FailAnswer, providers.FailModel,
	providers.FailRate, providers.FailOverloaded, providers.FailTransport, providers.FailQuota, providers.FailAuth, providers.FailKilled,
}

func (a *simAgent) work(ctx context.Context, turn *providers.Turn, emit func(providers.Event)) (providers.Outcome, error) {
	s := a.s
	wait := func(most time.Duration) bool {
		s.rest(ctx, time.Duration(s.rng.Int64N(int64(most)))+time.Millisecond)
		return ctx.Err() == nil
	}
	stopped := providers.Outcome{}
	if s.fault(60) && !wait(10*time.Second) {
		return stopped, nil
	}
	emit(providers.Event{Type: providers.EventStarted, PID: 4711})
	if s.fault(8) {
		emit(providers.Event{Type: providers.EventProgress, Text: "reading", Session: fmt.Sprintf("session-%d", s.rng.IntN(9))})
	}
	if a.role != amp.Coordinator {
		switch {
		case s.fault(8): // its ACK is lost
		case s.fault(5):
			emit(agenttest.Refuse("not today"))
			return stopped, &providers.TurnError{Failure: providers.FailRefused, Text: "not today"}
		default:
			if s.fault(15) && !wait(4*time.Minute) {
				return stopped, nil
			}
			emit(agenttest.Accept(*turn))
			if s.fault(10) {
				emit(agenttest.Accept(*turn))
			}
		}
	}
	if ctx.Err() != nil {
		return stopped, nil
	}
	most := 2 * time.Second
	if s.fault(60) {
		most = 3 * time.Minute
	}
	if s.fault(3) {
		most = 3 * time.Hour
	}
	for more := true; more; more = s.fault(30) {
		if !wait(most) {
			return stopped, nil
		}
		if s.fault(30) {
			emit(providers.Event{Type: providers.EventProgress, Text: "at it"})
		}
	}
	switch {
	case s.fault(4):
		e := providers.Event{Type: providers.EventEscalation, Payload: jsonOf(map[string]any{
			"escalation_type": pick(s, []amp.EscalationType{amp.Conflict, amp.UnknownEscalation, amp.PermissionDenied}),
			"severity":        pick(s, []amp.Severity{amp.Info, amp.Warning, amp.Critical}), "triggered_by": turn.Role,
			"description": "I cannot go on", "affected_msgs": []string{}, "auto_suspended": true,
			"system_state_snapshot": map[string]any{"task_status": "executing", "reject_count": 0, "last_successful_msg_id": ""},
			"suggested_actions":     []string{"help"},
		})}
		emit(e)
		if !wait(time.Minute) {
			return stopped, nil
		}
	case s.fault(2):
		emit(providers.Event{Type: providers.EventEscalation, Payload: json.RawMessage(`{"escalation_type":"help"}`)})
		if !wait(time.Minute) {
			return stopped, nil
		}
	}
	switch {
	case s.fault(12):
		return stopped, &providers.TurnError{Failure: pick(s, failures), Text: "it failed", Retry: time.Duration(s.rng.IntN(600)) * time.Second}
	case s.fault(4):
		return providers.Outcome{Question: "Which way?"}, nil
	case s.fault(4):
		return providers.Outcome{Final: json.RawMessage(`{"I am":"done"}`)}, nil
	}
	return agenttest.Final(a.final(turn)), nil
}

// final is an answer to a turn that is of the form it should have.
func (a *simAgent) final(turn *providers.Turn) any {
	s := a.s
	switch a.role {
	case amp.Coordinator:
		return s.plan(turn.Task)
	case amp.Executor:
		return s.result(*turn)
	case amp.Reviewer:
		return s.verdict()
	default:
		panic("a turn of the " + string(a.role))
	}
}

// plan is a plan for a task.
func (s *sim) plan(id amp.TaskID) map[string]any {
	var subtasks []map[string]any
	for i := range 1 + s.rng.IntN(2) {
		subtasks = append(subtasks, map[string]any{
			"subtask_id": fmt.Sprintf("%s-S%d", id, i+1), "description": fmt.Sprintf("part %d", i+1), "estimated_lines": 5 + s.rng.IntN(50),
		})
	}
	p := map[string]any{
		"title": "Count words", "description": "Make the counter right.", "subtasks": subtasks, "acceptance_criteria": []string{"the check passes"},
		"risk_level": pick(s, []amp.RiskLevel{amp.Low, amp.Low, amp.Medium, amp.High}),
	}
	if s.fault(40) {
		p["executor"] = "outsider"
	}
	if s.fault(20) {
		p["reviewer"] = "outsider"
	}
	return p
}

func (s *sim) result(turn providers.Turn) map[string]any {
	status := amp.Complete
	if s.fault(15) {
		status = pick(s, []amp.CompletionStatus{amp.Partial, amp.Failed})
	}
	return resultOf(turn, status)
}

func (s *sim) verdict() map[string]any {
	switch {
	case s.chance(30): // this is no fault: somebody has to unlock the task in the end
		return verdictOf(amp.Rejected, 0.95)
	case s.fault(10):
		return s.fixes(verdictOf(pick(s, []amp.Decision{amp.Approved, amp.ApprovedWithFix, amp.Rejected}), 0.4))
	case s.chance(30):
		return s.fixes(verdictOf(amp.ApprovedWithFix, pick(s, []float64{0.95, 0.95, 0.5})))
	}
	return verdictOf(amp.Approved, 0.95)
}

// fixes completes a verdict that says that its reviewer fixed something.
func (s *sim) fixes(v map[string]any) map[string]any {
	if v["decision"] == amp.ApprovedWithFix {
		v["direct_fixes"] = []amp.DirectFix{{File: "count.sh", ChangeType: amp.Typo, DiffLines: 1}}
	}
	return v
}

// outside lets an agent without an adapter answer the turn that was opened for it: over connections that lose, double, delay and
// reorder what it sends.
func (s *sim) outside(u *amp.Turn) {
	if u.Agent != "outsider" {
		return
	}
	send := func(name string, after time.Duration, raw []byte) {
		times := 1
		switch {
		case s.fault(12):
			times = 0
			s.counts["lost messages"]++
		case s.fault(15):
			times = 2
			s.counts["doubled messages"]++
		}
		for range times {
			late := after
			if s.fault(25) {
				late += time.Duration(s.rng.IntN(600)) * time.Second
			}
			s.spawn(nil, name+" of the outsider", func() {
				s.rest(context.Background(), late)
				for range 5 {
					n := s.someone()
					if n == nil {
						s.rest(context.Background(), 10*time.Second)
						continue
					}
					_, err := n.c.Receive(context.Background(), amp.Received{Raw: raw, As: u.Role, Actor: "outsider", Source: "socket"})
					s.counts["messages from outside"]++
					if _, refused := errors.AsType[*amp.RefusedError](err); err == nil || refused || !s.calm && s.chance(20) {
						return // else it sends the same bytes again
					}
					s.rest(context.Background(), 5*time.Second)
				}
			})
		}
	}
	b := s.judge.board
	t := b.Task(u.TaskID)
	send("the ack", time.Duration(1+s.rng.IntN(60))*time.Second, jsonOf(amp.Ack{AckFor: u.For, TaskID: u.TaskID, By: u.Role, Status: amp.AckAccepted}))
	typ, payload := amp.TaskResult, any(nil)
	if u.Role == amp.Reviewer {
		typ, payload = amp.ReviewVerdict, s.verdict()
	} else {
		payload = s.result(providers.Turn{Subtask: t.CurrentSubtask().SubtaskID})
	}
	s.ids++
	send("the answer", time.Duration(1+s.rng.IntN(200))*time.Second, jsonOf(map[string]any{
		"msg_id":           fmt.Sprintf("%s-%s-%013d", typ, u.TaskID, time.Now().UnixMilli()+int64(s.ids)),
		"protocol_version": amp.Version, "type": typ, "from": u.Role, "to": amp.Coordinator, "task_id": u.TaskID,
		"timestamp": amp.FormatTime(time.Now()), "requires_ack": true, "context_ref": []string{u.For}, "payload": payload,
	}))
}

// someone is a coordinator that runs, nil when none does.
func (s *sim) someone() *simNode {
	var up []*simNode
	for _, n := range s.nodes {
		if n.runs() {
			up = append(up, n)
		}
	}
	if len(up) == 0 {
		return nil
	}
	return pick(s, up)
}

// faultyGit lets git fail, refute and refuse now and then.
func (s *sim) faultyGit() {
	gone := func(repo string) error {
		return &amp.GuardError{Type: pick(s, []amp.EscalationType{amp.UnknownEscalation, amp.BranchViolation}), Repo: repo, Why: "it is gone"}
	}
	s.git.inspect = func(repo, _ string) (amp.RepoFacts, error) {
		if s.fault(3) {
			return amp.RepoFacts{}, gone(repo)
		}
		return amp.RepoFacts{Root: repo, DefaultBranch: "main", Head: "0123456789abcdef", Files: 3}, nil
	}
	s.git.verify = func(w amp.Workspace, _ *amp.Result) (amp.Check, error) {
		switch {
		case s.fault(2):
			return amp.Check{}, errors.New("git is broken")
		case s.fault(2):
			return amp.Check{Subject: amp.CheckResult, Escalate: amp.PermissionDenied, Claims: []amp.Claim{
				{Name: "refs", Finding: amp.Refuted, Blocking: true, Found: "pushed to origin"},
			}}, nil
		}
		ck := s.git.good(w)
		if s.fault(12) {
			ck.Claims = append(ck.Claims, amp.Claim{
				Name: pick(s, []string{"commit", "paths", "lines"}), Finding: amp.Refuted, Blocking: s.chance(70), Claimed: "one", Found: "two",
			})
		}
		return ck, nil
	}
	s.git.ci = func(context.Context, amp.Workspace) (amp.Check, error) {
		switch {
		case s.fault(2):
			return amp.Check{}, errors.New("the checks cannot start")
		case s.fault(2):
			return amp.Check{Subject: amp.CheckCI, Escalate: amp.PermissionDenied, Text: "the branch moved"}, nil
		case s.fault(15):
			return amp.Check{Subject: amp.CheckCI, CI: map[string]string{"local": "failed"}, Output: "FAIL"}, nil
		}
		return amp.Check{Subject: amp.CheckCI, CI: map[string]string{"local": "passed"}}, nil
	}
	s.git.review = func(w amp.Workspace, v *amp.Verdict) (amp.Check, error) {
		switch {
		case s.fault(2):
			return amp.Check{}, errors.New("the worktree cannot be removed")
		case v != nil && s.fault(5):
			return amp.Check{Subject: amp.CheckReview, Claims: []amp.Claim{{Name: "files", Finding: amp.Refuted, Blocking: true, Found: "it changed files"}}}, nil
		}
		ck := amp.Check{Subject: amp.CheckReview}
		if v != nil && v.Decision == amp.ApprovedWithFix {
			s.ids++
			ck.Commit, ck.Fix = w.Commit, commitName(w.TaskID, 1e6+s.ids)
		}
		return ck, nil
	}
	s.git.fix = func(w amp.Workspace) (amp.Check, error) {
		s.judge.follows(w)
		switch {
		case s.fault(5):
			return amp.Check{}, errors.New("the ref is locked")
		case s.fault(3):
			return amp.Check{Subject: amp.CheckFix, Escalate: amp.PermissionDenied, Claims: []amp.Claim{
				{Name: "branch", Finding: amp.Refuted, Blocking: true, Found: "it moved"},
			}}, nil
		}
		return amp.Check{Subject: amp.CheckFix, Commit: w.Commit}, nil
	}
	s.git.list = func(amp.Workspace) amp.Check {
		ck := amp.Check{Subject: amp.CheckResume, Claims: []amp.Claim{{Name: "branch", Finding: amp.Confirmed}}}
		if s.fault(10) {
			ck.Claims = append(ck.Claims, amp.Claim{Name: "base", Finding: amp.Refuted, Blocking: true, Found: "it moved"})
		}
		return ck
	}
	s.git.open = nil
	s.git.deliver = func(w amp.Workspace, _ amp.Delivery) (amp.Check, error) {
		s.judge.delivers(w)
		if s.fault(20) {
			return amp.Check{}, errors.New("a conflict")
		}
		return amp.Check{Subject: amp.CheckWorkspace, Commit: w.Commit, Text: "delivered"}, nil
	}
}
