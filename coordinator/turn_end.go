package coordinator

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"arbiter/amp"
	"arbiter/providers"
)

// ending is what a turn came to, examined outside the loop.
type ending struct {
	out providers.Outcome
	err error
	// check is what gitops measured of an answer that counts, failed that of an executor's turn without a complete result.
	check, failed *amp.Check
	facts         *amp.RepoFacts
	// broke is the same where it has to be raised: the turn went for refs that are not its own.
	broke *amp.Check
}

// broken is what was measured of a turn where that has to be raised, else nil.
func broken(ck *amp.Check) *amp.Check {
	if ck == nil || ck.Escalate == "" {
		return nil
	}
	return ck
}

// examine does the git work that belongs to the end of a turn: a reviewer's folder is measured and removed, the refs of a
// failed executor are compared, the base of a plan is read.
func (c *Coordinator) examine(ctx context.Context, l *liveTurn, ws amp.Workspace, out providers.Outcome, err error) ending {
	e := ending{out: out, err: err}
	ctx = context.WithoutCancel(ctx)
	answered := err == nil && out.Question == ""
	switch l.Role {
	case amp.Reviewer:
		var v *amp.Verdict
		if answered {
			v = c.counting(ctx, l, out.Final)
		}
		ck, gitErr := c.cfg.Git.CloseReview(ctx, ws, l.TurnID, v)
		if e.err = errors.Join(err, gitErr); v != nil {
			e.check = &ck
		}
		e.broke = broken(&ck)
		c.passFirst(ctx, l.lease, ws, ck, e.err)
	case amp.Executor:
		var r *amp.Result
		if answered {
			r = c.resultIn(ctx, l, out.Final)
		}
		switch {
		case l.lost():
		case r == nil || r.CompletionStatus != amp.Complete: // nothing else compares its refs before the next turn begins
			if ck, gitErr := c.cfg.Git.Verify(ctx, ws, l.TurnID, nil, l.For); gitErr == nil {
				e.failed = &ck
				e.broke = broken(&ck)
			}
		case c.passer() != nil:
			e.check = c.verifyFirst(ctx, l, ws, r)
		}
	case amp.Coordinator:
		ck, gitErr := c.cfg.Git.CloseReview(ctx, ws, l.TurnID, nil)
		e.broke = broken(&ck)
		if gitErr != nil {
			e.err = errors.Join(err, gitErr)
			return e
		}
		var p amp.Plan
		if err == nil && json.Unmarshal(out.Final, &p) == nil {
			w, _ := c.wishOf(ctx, l.TaskID)
			facts, gitErr := c.cfg.Git.Inspect(ctx, w.Repo, branchOf(&p, w, l.TaskID))
			e.facts, e.err = &facts, gitErr
			c.passFirst(ctx, l.lease, amp.Workspace{TaskID: l.TaskID, Repo: facts.Root}, amp.Check{Commit: facts.Head}, gitErr)
		}
	default:
		panic("a turn of the " + string(l.Role))
	}
	return e
}

// counting is the verdict in the final answer of a turn, nil when it would not count on the board of now: what its reviewer changed is then
// committed to no branch.
func (c *Coordinator) counting(ctx context.Context, l *liveTurn, final json.RawMessage) (v *amp.Verdict) {
	_, err := c.call(ctx, fromWork, "", func(now time.Time) ([]amp.Record, error) {
		v = nil
		if err := c.catchUp(c.life); err != nil {
			return nil, err
		}
		if t := c.board.Task(l.TaskID); l.current(t) {
			if _, m, _, problems := c.answer(t, l, final, now); len(problems) == 0 {
				v, _ = m.Payload.(*amp.Verdict)
			}
		}
		return nil, nil
	})
	if err != nil {
		c.cfg.Logger.Warn("a verdict could not be judged", "task", l.TaskID, "turn", l.TurnID, "err", err)
		return nil
	}
	return v
}

// resultIn is the result in the final answer of a turn, nil when there is none or it will be refused as things stood when the turn began. Unlike a
// verdict it waits for nobody: a complete one is compared with git in any case.
func (c *Coordinator) resultIn(ctx context.Context, l *liveTurn, final json.RawMessage) *amp.Result {
	raw, problems := asMessage(l, final, c.now(), nil)
	m, _, err := amp.Decode(raw)
	if err != nil || len(problems) > 0 || m.TaskID != l.TaskID || l.fenced.Load() {
		return nil
	}
	began := &amp.Board{Tasks: map[amp.TaskID]*amp.Task{l.TaskID: &l.began}}
	if problems, _ = began.Judge(m, l.Role, nil); len(problems) > 0 {
		return nil
	}
	if bytes.Equal(raw, final) { // it gave its message an id by itself
		if used, err := c.cfg.Log.Read(ctx, amp.Filter{ID: m.MsgID, Limit: 1}); err == nil && len(used) > 0 {
			return nil
		}
	}
	r, _ := m.Payload.(*amp.Result)
	return r
}

// ended writes down the end of a turn together with what it delivered, in one append.
func (c *Coordinator) ended(l *liveTurn, e ending, now time.Time) []amp.Record {
	if unproven, ok := errors.AsType[*providers.UnprovenError](e.err); ok {
		c.cfg.Logger.Error("processes of a turn may still run", "task", l.TaskID, "turn", l.TurnID, "pids", unproven.PIDs)
		return nil // the turn stays open: reaping it is derived from that
	}
	t := c.board.Task(l.TaskID)
	u := l.Turn
	u.Event, u.TookMS, u.Exit, u.Session = amp.TurnEnded, now.Sub(l.started).Milliseconds(), e.out.Exit, e.out.Session
	used := providers.Spent(e.out, e.err)
	if te, ok := errors.AsType[*providers.TurnError](e.err); ok {
		u.Failure = string(te.Failure)
	}
	u.Tokens, u.CostUSD, u.Model, u.Text = used.Tokens, c.cost(used), used.Model, l.held
	u.Answer, u.WaitedMS = spoken(e.out.Answer), l.waits.total().Milliseconds()
	if l.lost() && c.passer() == nil { // the next owner looked, and by now its own work on the task is among what this look found
		e.broke = nil
	}
	end := func(o amp.TurnOutcome, text string, more ...amp.Record) []amp.Record {
		u.Outcome = o
		if text != "" {
			u.Text = text
		}
		return append(append(more, c.raise(t, u, e.broke, now)...), c.turnEntry(now, l.Role, l.Agent, u))
	}
	current := t.Turn != nil && t.Turn.TurnID == l.TurnID
	if !current || l.Epoch < t.Epoch || l.lost() {
		var kept []amp.Record
		if e.err == nil && len(e.out.Final) > 0 {
			kept = append(kept, c.late(l, "final", e.out.Final, now))
		}
		why := "the turn was fenced"
		if l.lost() {
			why = fmt.Sprintf("%s lost its lease on the task", l.Owner)
		}
		if l.lost() && !current { // whoever took the task has ended the turn; only what it cost is news
			u.TookMS = 0
		}
		return end(amp.TurnKilled, reason(l, why), kept...)
	}
	if e.err != nil {
		return c.endedBadly(t, l, e, &u, now, end)
	}
	if overtaken(t, l) {
		why := fmt.Sprintf("the task was %s when the planner had its answer: kept, not acted on", t.Status)
		return end(amp.TurnKilled, why, c.refuse(now, l.Role, l.Agent, amp.Refusal{
			What: answerOf(l.Role), TaskID: l.TaskID, Source: "turn " + l.TurnID, Raw: e.out.Final, Turn: l.TurnID, Epoch: l.Epoch,
			Problems: []amp.Problem{{Rule: "AMP-043", Message: why}},
		}))
	}
	if e.broke != nil && l.Role == amp.Coordinator {
		return end(amp.TurnInvalid, "the planner went for refs that are not its own: its plan is kept, not acted on", c.refuse(now, l.Role, l.Agent, amp.Refusal{
			What: answerOf(l.Role), TaskID: l.TaskID, Source: "turn " + l.TurnID, Raw: e.out.Final, Turn: l.TurnID, Epoch: l.Epoch,
			Problems: []amp.Problem{{Rule: "AMP-172", Message: "the turn that wrote it broke a rule: " + blockers(*e.broke)}},
		}))
	}
	if e.out.Question != "" {
		return end(amp.TurnAsked, "", c.record(amp.KindQuestion, t.ID, l.Role, l.Agent, now, amp.Question{
			QuestionID: c.cfg.NewID(), TaskID: t.ID, Type: amp.QuestionClarification, TurnID: l.TurnID, Agent: l.Agent, Role: l.Role,
			Request: said(e.out.Question), Options: []string{},
		}))
	}
	records, problems := c.deliver(t, l, e, now)
	if len(problems) > 0 {
		refusal := c.refuse(now, l.Role, l.Agent, amp.Refusal{
			What: answerOf(l.Role), TaskID: l.TaskID, Source: "turn " + l.TurnID,
			Problems: problems, Raw: e.out.Final, Turn: l.TurnID, Epoch: l.Epoch,
		})
		return end(amp.TurnInvalid, "the answer was refused: "+problems[0].String(), refusal)
	}
	return append(end(amp.TurnOK, "", records...), c.verified(t, l, e, records, now)...)
}

// raise writes down that a turn went for refs that are not its own, and escalates it while there is a task to suspend (AMP-168, AMP-172). ck is
// nil for a turn that did not.
func (c *Coordinator) raise(t *amp.Task, u amp.Turn, ck *amp.Check, now time.Time) []amp.Record {
	if ck == nil {
		return nil
	}
	found := *ck
	found.Subject, found.For, found.Commit, found.Fix = amp.CheckReview, u.TurnID, "", "" // the branch is where it was
	if u.Role == amp.Executor {
		found.Subject = amp.CheckResult
	}
	records := []amp.Record{c.check(t, now, found)}
	if !t.Status.Ended() {
		records = append(records, c.violation(t, now, found))
	}
	return records
}

// overtaken reports whether an admin wrote a plan while the planner was at work: its answer does not overrule that.
func overtaken(t *amp.Task, l *liveTurn) bool {
	return l.Role == amp.Coordinator && t.Status != amp.Drafting
}

// maxFaults bounds what a turn is told about its last answer.
const maxFaults = 20

// faults are what was wrong with the answer of a turn in this role, nil when it had none or ended for another reason.
func (c *Coordinator) faults(ctx context.Context, task amp.TaskID, role amp.Role, turnID string) []string {
	entries, err := c.lookUp(ctx, amp.Filter{TaskID: task, Kinds: []amp.Kind{amp.KindRefusal, amp.KindTurn}, Newest: true, Limit: 20})
	if err != nil {
		return nil // it is told less, and answers all the same
	}
	for i := range entries {
		if entries[i].Role != role {
			continue
		}
		if r, err := amp.DecodeBody[amp.Refusal](&entries[i]); entries[i].Kind == amp.KindRefusal && err == nil && r.Turn == turnID {
			var all []string
			for _, p := range r.Problems[:min(len(r.Problems), maxFaults)] {
				all = append(all, p.String())
			}
			return all
		}
		u, err := amp.DecodeBody[amp.Turn](&entries[i])
		if entries[i].Kind == amp.KindTurn && err == nil && u.TurnID == turnID && u.Failure == string(providers.FailAnswer) {
			return []string{u.Text}
		}
	}
	return nil
}

// maxAnswer bounds the answer that the end of a turn keeps; of a longer one the data are left out, which stand in the message.
const maxAnswer = 64 << 10

// spoken is the agent's SACP object as the journal keeps it, nil when there is none.
func spoken(answer json.RawMessage) amp.Raw {
	if len(answer) <= maxAnswer && json.Valid(answer) {
		return amp.Raw(answer)
	}
	var whole map[string]json.RawMessage
	if json.Unmarshal(answer, &whole) != nil {
		return nil
	}
	whole["data"] = json.RawMessage(`{}`)
	short, err := json.Marshal(whole)
	if err != nil || len(short) > maxAnswer {
		return nil
	}
	return short
}

func answerOf(r amp.Role) string {
	switch r {
	case amp.Executor:
		return string(amp.TaskResult)
	case amp.Reviewer:
		return string(amp.ReviewVerdict)
	default:
		return "plan"
	}
}

func reason(l *liveTurn, otherwise string) string {
	if why := l.why.Load(); why != nil {
		return *why
	}
	return otherwise
}

func (c *Coordinator) endedBadly(t *amp.Task, l *liveTurn, e ending, u *amp.Turn, now time.Time, end func(amp.TurnOutcome, string, ...amp.Record) []amp.Record) []amp.Record {
	if why := l.why.Load(); why != nil {
		return end(amp.TurnKilled, *why)
	}
	var more []amp.Record
	if e.failed != nil && e.broke == nil && len(e.failed.Claims) > 0 {
		e.failed.Subject, e.failed.For = amp.CheckResult, l.TurnID
		more = append(more, c.check(t, now, *e.failed))
	}
	outcome, text := amp.TurnFailed, e.err.Error()
	if te, ok := errors.AsType[*providers.TurnError](e.err); ok {
		switch te.Failure {
		case providers.FailSilent, providers.FailTotal:
			outcome = amp.TurnTimeout
		case providers.FailKilled:
			outcome = amp.TurnLost
		default:
			if te.Failure.Pauses() {
				u.RetryAt = retryAt(t, l.Agent, te, now)
				return end(amp.TurnPaused, limitText(te), more...)
			}
		}
		if te.Tail != "" {
			text += ": " + te.Tail
		}
	}
	return end(outcome, text, more...)
}

// deliver turns a final answer into the entries that it asks for, or says what is wrong with it.
func (c *Coordinator) deliver(t *amp.Task, l *liveTurn, e ending, now time.Time) ([]amp.Record, []amp.Problem) {
	if l.Role == amp.Coordinator {
		return c.deliverPlan(t, l, e, now)
	}
	raw, m, warnings, problems := c.answer(t, l, e.out.Final, now)
	if len(problems) > 0 {
		return nil, problems
	}
	var records []amp.Record
	if v, is := m.Payload.(*amp.Verdict); is {
		if p := voided(v, e.check, true); p != nil {
			return nil, []amp.Problem{*p}
		}
		e.check.For = l.TurnID
		records = append(records, c.check(t, now, *e.check))
	}
	c.warn(m, warnings)
	records = append(records, amp.Record{Kind: amp.KindMessage, TaskID: t.ID, Role: l.Role, Actor: l.Agent, At: now, ID: m.MsgID, Body: raw})
	return append(records, c.ack(t, m.MsgID, now)), nil
}

// answer is the message of a turn's final answer, and what is wrong with it on the board of now.
func (c *Coordinator) answer(t *amp.Task, l *liveTurn, final json.RawMessage, now time.Time) (raw []byte, m *amp.Message, warnings, problems []amp.Problem) {
	raw, problems = asMessage(l, final, now, c.taken)
	if len(problems) > 0 {
		return nil, nil, nil, problems
	}
	m, warnings, err := amp.Decode(raw)
	if err != nil {
		return nil, nil, nil, problemsOf(err)
	}
	if p := c.misplaced(t, m, raw); p != nil {
		return nil, nil, nil, []amp.Problem{*p}
	}
	problems, more := c.board.Judge(m, l.Role, c.taken)
	return raw, m, append(warnings, more...), problems
}

// voided says why what its reviewer changed keeps a verdict from counting, nil when it does not (AMP-124, AMP-134). measured is nil when
// nobody measured that, owed says that somebody had to.
func voided(v *amp.Verdict, measured *amp.Check, owed bool) *amp.Problem {
	switch {
	case measured == nil && owed:
		return &amp.Problem{Rule: "AMP-124", Field: "payload", Message: "what the reviewer changed was not measured, since its verdict did not count when it came"}
	case measured == nil && v.Decision == amp.ApprovedWithFix:
		return &amp.Problem{
			Rule: "AMP-124", Field: "payload.decision", Message: "is approved_with_fix, but nothing that was fixed in the worktree of a review came with it",
		}
	case measured != nil && measured.Blocked():
		return &amp.Problem{Rule: "AMP-124", Field: "payload", Message: "the reviewer's changes void its verdict: " + blockers(*measured)}
	}
	return nil
}

// misplaced says why a message that an agent wrote whole is no answer of its turn: it is about another task, or its id was used before. It
// would be folded into the wrong task, or into none.
func (c *Coordinator) misplaced(t *amp.Task, m *amp.Message, raw []byte) *amp.Problem {
	if m.TaskID != t.ID {
		return &amp.Problem{Rule: "AMP-012", Field: "task_id", Message: fmt.Sprintf("is %s, but the turn is one of %s", m.TaskID, t.ID)}
	}
	err := c.storedMessage(m, raw)
	if again, ok := errors.AsType[*repeated](err); ok {
		err = fmt.Errorf("this msg_id is in the journal as entry %d: a new answer has a new one", again.entry.Seq)
	}
	if err != nil {
		return &amp.Problem{Rule: "AMP-013", Field: "msg_id", Message: err.Error()}
	}
	return nil
}

// asMessage builds the AMP message on behalf of the role when the agent gave the payload alone.
func asMessage(l *liveTurn, final json.RawMessage, now time.Time, taken func(string) bool) ([]byte, []amp.Problem) {
	var probe struct {
		Version *string `json:"protocol_version"`
	}
	if json.Unmarshal(final, &probe) == nil && probe.Version != nil {
		return final, nil
	}
	typ, refs := amp.TaskResult, []string{l.For}
	if l.Role == amp.Reviewer {
		typ = amp.ReviewVerdict
	}
	raw, err := json.Marshal(map[string]any{
		"msg_id": amp.NewMsgID(typ, l.TaskID, now, taken), "protocol_version": amp.Version, "type": typ, "from": l.Role,
		"to": amp.Coordinator, "task_id": l.TaskID, "timestamp": amp.FormatTime(now), "requires_ack": true, "context_ref": refs,
		"payload": final,
	})
	if err != nil {
		return nil, []amp.Problem{{Rule: "AMP-004", Field: "payload", Message: "the answer is no JSON: " + err.Error()}}
	}
	return raw, nil
}

func problemsOf(err error) []amp.Problem {
	if inv, ok := errors.AsType[*amp.InvalidError](err); ok {
		return inv.Problems
	}
	return []amp.Problem{{Rule: "AMP-001", Message: err.Error()}}
}

func (c *Coordinator) warn(m *amp.Message, warnings []amp.Problem) {
	for _, w := range warnings {
		c.cfg.Logger.Warn("message", "task", m.TaskID, "msg_id", m.MsgID, "rule", w.Rule, "field", w.Field, "text", w.Message)
	}
}

// takeEscalation takes an escalation of an agent in. One that is invalid is refused and shown to the admin all the same: an
// escalation is never swallowed (AMP-153).
func (c *Coordinator) takeEscalation(t *amp.Task, l *liveTurn, payload json.RawMessage, now time.Time) []amp.Record {
	raw := []byte(payload)
	m, _, err := amp.Decode(raw)
	if err == nil && m.TaskID != t.ID {
		text := fmt.Sprintf("The %s of %s raised an escalation for %s, which is not its task. Its text is in the refusals.", l.Role, t.ID, m.TaskID)
		return []amp.Record{
			c.refuse(now, l.Role, l.Agent, amp.Refusal{
				What: string(m.Type), TaskID: t.ID, Source: "turn " + l.TurnID, Problems: []amp.Problem{*c.misplaced(t, m, raw)}, Raw: raw,
			}),
			c.escalate(t, now, alarm{typ: amp.UnknownEscalation, text: text}),
		}
	}
	if err != nil || m.Type != amp.EscalationMsg {
		built, err := json.Marshal(map[string]any{
			"msg_id": amp.NewMsgID(amp.EscalationMsg, t.ID, now, c.taken), "protocol_version": amp.Version,
			"type": amp.EscalationMsg, "from": l.Role, "to": amp.Admin, "task_id": t.ID, "timestamp": amp.FormatTime(now),
			"requires_ack": false, "payload": payload,
		})
		if err == nil {
			raw = built
		}
	}
	records, _, err := c.takeMessage(raw, l.Role, l.Agent, "turn "+l.TurnID, false, now)
	if err != nil {
		text := fmt.Sprintf("The %s of %s raised an escalation that is not valid (%v). Its text is in the refusals.", l.Role, t.ID, err)
		records = append(records, c.escalate(t, now, alarm{typ: amp.UnknownEscalation, text: text}))
	}
	return records
}
