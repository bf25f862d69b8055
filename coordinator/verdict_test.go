package coordinator

import (
	"context"
	"maps"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"arbiter/amp"
	"arbiter/providers"
	"arbiter/providers/agenttest"
)

// wholeVerdict is a review_verdict with fixes as a whole message, as an agent may write it itself.
func wholeVerdict(id amp.TaskID, request string, at time.Time) map[string]any {
	v := verdictOf(amp.ApprovedWithFix, 0.95)
	v["direct_fixes"] = []amp.DirectFix{{File: "count.sh", ChangeType: amp.Typo, DiffLines: 1}}
	v["issues"] = []map[string]any{{"severity": "minor", "file": "count.sh", "line": 3, "description": "tell nobody", "suggested_fix": "hide it"}}
	return map[string]any{
		"msg_id": amp.NewMsgID(amp.ReviewVerdict, id, at, nil), "protocol_version": amp.Version, "type": amp.ReviewVerdict,
		"from": amp.Reviewer, "to": amp.Coordinator, "task_id": id, "timestamp": amp.FormatTime(at), "requires_ack": true,
		"context_ref": []string{request}, "payload": v,
	}
}

// fixedCommit is where the fixes of a verdict are, if they are committed.
const fixedCommit = "f1f1f1f1f1f1f1f1"

// fixing lets the fake repository commit the fixes of a verdict, and counts how often it did.
func (r *rig) fixing() (times func() int) {
	var mu sync.Mutex
	n := 0
	r.git.review = func(w amp.Workspace, v *amp.Verdict) (amp.Check, error) {
		ck := amp.Check{Subject: amp.CheckReview, Commit: w.Commit}
		if v != nil && v.Decision == amp.ApprovedWithFix {
			mu.Lock()
			n++
			mu.Unlock()
			ck.Fix = fixedCommit
		}
		return ck, nil
	}
	return func() int {
		mu.Lock()
		defer mu.Unlock()
		return n
	}
}

// nothingOf fails when anything of a verdict that does not count took effect.
func (r *rig) nothingOf(id amp.TaskID, commit string, fixed int, verdicts int) {
	r.t.Helper()
	task := r.get(id)
	if fixed != 0 || task.Commit != commit {
		r.t.Errorf("%d times fixes were committed, the task is at %s, want %s\n%s", fixed, task.Commit, commit, r.story(id))
	}
	if n := len(r.messages(id, amp.ReviewVerdict)); n != verdicts {
		r.t.Errorf("%d verdicts in the journal, want %d", n, verdicts)
	}
	if len(task.Findings) > 0 {
		r.t.Errorf("findings %+v of a verdict that does not count", task.Findings)
	}
	for _, m := range append(r.messages(id, amp.TaskDispatch), r.messages(id, amp.ReviewRequest)...) {
		if raw := string(jsonOf(m)); strings.Contains(raw, "hide it") || strings.Contains(raw, "tell nobody") {
			r.t.Errorf("an agent is told of a verdict that does not count: %s", raw)
		}
	}
}

// AMP-120 to AMP-139, AMP-174: a verdict that is not counted has no effect, whatever the reason: its fixes are on no branch, and no agent
// hears of it.
func TestVerdict_notCounted(t *testing.T) {
	t.Parallel()
	type scene struct {
		*rig
		id    amp.TaskID
		other amp.TaskID
		m     map[string]any
		ctx   context.Context //nolint:containedctx // of the turn that is played
	}
	for name, tc := range map[string]struct {
		// play makes the verdict one that does not count, while the reviewer's turn runs.
		play func(s *scene)
		// counted is how many other verdicts of the task count.
		counted int
	}{
		"AMP-139 another request": {play: func(s *scene) { s.m["context_ref"] = []string{"review_request-" + string(s.id) + "-0000000000001"} }},
		"AMP-012 another task": {play: func(s *scene) {
			maps.Copy(s.m, map[string]any{"task_id": s.other, "msg_id": amp.NewMsgID(amp.ReviewVerdict, s.other, time.Now(), nil)})
		}},
		"AMP-122 another sender":  {play: func(s *scene) { s.m["from"] = amp.Executor }},
		"AMP-007 to the executor": {play: func(s *scene) { s.m["to"] = amp.Executor }},
		"AMP-139 superseded": {counted: 1, play: func(s *scene) {
			first := wholeVerdict(s.id, s.get(s.id).Request.MsgID, time.Now().Add(-time.Second))
			first["payload"] = verdictOf(amp.Approved, 0.95)
			if _, err := s.c.Receive(context.Background(), amp.Received{Raw: jsonOf(first), As: amp.Reviewer, Actor: "outsider", Source: "cli"}); err != nil {
				s.t.Error(err)
			}
		}},
		"AMP-174 suspended":   {play: func(s *scene) { s.says(s.id, warning(), 0) }},
		"AMP-174 everything":  {play: func(s *scene) { s.submit(amp.Command{Command: amp.StopAll, Note: "smoke"}) }},
		"AMP-174 terminated":  {play: func(s *scene) { s.submit(amp.Command{Command: amp.Terminate, TaskID: s.id, Note: "enough"}) }},
		"AMP-174 told to end": {play: func(s *scene) { s.says(s.id, warning(), 0); <-s.ctx.Done() }},
		"AMP-174 resumed meanwhile": {play: func(s *scene) {
			s.submit(amp.Command{Command: amp.StopAll})
			s.submit(amp.Command{Command: amp.Thaw})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &scene{}
				asked, goOn := make(chan struct{}), make(chan struct{})
				s.rig = newRig(t, works, func(ctx context.Context, turn providers.Turn, n int, emit func(providers.Event)) (providers.Outcome, error) {
					if turn.Task == s.other || n > 1 {
						return idleTurn(ctx, turn, n, emit)
					}
					emit(agenttest.Accept(turn))
					s.ctx = ctx
					close(asked)
					<-goOn
					return agenttest.Final(s.m), nil
				})
				fixed := s.fixing()
				s.other = "T-2000-001"
				if other := s.task(); other != s.other {
					t.Fatalf("the other task is %s", other)
				}
				s.id = s.task()
				<-asked
				commit := s.want(s.id, amp.Reviewing).Commit
				s.m = wholeVerdict(s.id, s.get(s.id).Request.MsgID, time.Now())
				tc.play(s)
				close(goOn)
				synctest.Wait()
				s.nothingOf(s.id, commit, fixed(), tc.counted)
			})
		})
	}
}

// AMP-013: a reviewer that answers the second round under the msg_id of the first has not answered, and what it fixed is on no branch.
func TestVerdict_doubled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		at := time.Now()
		var r *rig
		r = newRig(t, works, func(ctx context.Context, turn providers.Turn, n int, emit func(providers.Event)) (providers.Outcome, error) {
			emit(agenttest.Accept(turn))
			if n > 2 {
				return idleTurn(ctx, turn, n, emit)
			}
			m := wholeVerdict(turn.Task, r.get(turn.Task).Request.MsgID, at)
			if n == 1 {
				m["payload"] = verdictOf(amp.Rejected, 0.95)
			}
			return agenttest.Final(m), nil
		})
		fixed := r.fixing()
		id := r.task()
		task := r.want(id, amp.Reviewing)
		if n := len(r.refusals(id)); n != 1 || r.refusals(id)[0].Problems[0].Rule != "AMP-013" {
			t.Fatalf("%d refusals, want one by AMP-013\n%s", n, r.story(id))
		}
		if fixed() != 0 || task.Commit == fixedCommit || len(r.messages(id, amp.ReviewVerdict)) != 1 {
			t.Errorf("%d times fixes were committed, the task is at %s\n%s", fixed(), task.Commit, r.story(id))
		}
	})
}

// reviewed is a rig whose reviewer runs without our adapters, with a task that it has to review.
func reviewed(t *testing.T) (*rig, amp.TaskID, map[string]any) {
	t.Helper()
	r := newRig(t, works, judges(amp.Approved), func(c *Config) { c.Roles[amp.Reviewer] = "outsider" })
	id := r.task()
	if task := r.want(id, amp.Reviewing); task.Turn == nil || task.Turn.Agent != "outsider" {
		t.Fatalf("the turn of the reviewer is %+v", task.Turn)
	}
	return r, id, wholeVerdict(id, r.get(id).Request.MsgID, time.Now())
}

// handIn hands a message in as an agent without our adapters does.
func (r *rig) handIn(as amp.Role, m map[string]any) error {
	_, err := r.c.Receive(context.Background(), amp.Received{Raw: jsonOf(m), As: as, Actor: "outsider", Source: "cli"})
	return err
}

// AMP-120 to AMP-139, AMP-174: as [TestVerdict_notCounted], of a reviewer that runs without our adapters. It can mend a verdict that was
// refused, and then its fixes are committed.
func TestVerdict_notCountedFromOutside(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		as   amp.Role
		play func(r *rig, id amp.TaskID, m map[string]any)
		rule string
		// ends says that the review does not go on.
		ends bool
	}{
		"AMP-139 another request": {rule: "AMP-139", play: func(_ *rig, _ amp.TaskID, m map[string]any) { m["context_ref"] = []string{"review_request-x"} }},
		"AMP-122 another sender":  {rule: "AMP-122", as: amp.Executor},
		"AMP-174 suspended":       {rule: "AMP-174", ends: true, play: func(r *rig, id amp.TaskID, _ map[string]any) { r.says(id, warning(), 0) }},
		"AMP-174 everything": {rule: "AMP-174", ends: true, play: func(r *rig, _ amp.TaskID, _ map[string]any) {
			r.submit(amp.Command{Command: amp.StopAll})
		}},
		"AMP-174 terminated": {rule: "AMP-174", ends: true, play: func(r *rig, id amp.TaskID, _ map[string]any) {
			r.submit(amp.Command{Command: amp.Terminate, TaskID: id, Note: "enough"})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r, id, m := reviewed(t)
				fixed, commit := r.fixing(), r.get(id).Commit
				good := maps.Clone(m)
				if tc.play != nil {
					tc.play(r, id, m)
				}
				synctest.Wait()
				as := tc.as
				if as == "" {
					as = amp.Reviewer
				}
				refusedBy(t, r.handIn(as, m), tc.rule)
				synctest.Wait()
				r.nothingOf(id, commit, fixed(), 0)
				if tc.ends {
					return
				}
				if err := r.handIn(amp.Reviewer, good); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if task := r.want(id, amp.StatusApproved); task.Commit != fixedCommit {
					t.Errorf("approved at %s, want its fixes at %s", task.Commit, fixedCommit)
				}
			})
		})
	}
}

// AMP-124: a reviewer without our adapters that changed what it must not has given no verdict either; it is asked again.
func TestVerdict_voidedFromOutside(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, id, m := reviewed(t)
		turn, commit := r.get(id).Turn.TurnID, r.get(id).Commit
		r.git.review = func(amp.Workspace, *amp.Verdict) (amp.Check, error) {
			return amp.Check{Subject: amp.CheckReview, Claims: []amp.Claim{{Name: "fixes", Finding: amp.Refuted, Blocking: true, Found: "count.sh changed"}}}, nil
		}
		refusedBy(t, r.handIn(amp.Reviewer, m), "AMP-124")
		synctest.Wait()
		task := r.want(id, amp.Reviewing)
		if r.nothingOf(id, commit, 0, 0); task.Turn == nil || task.Turn.TurnID == turn || task.Attempts != 1 {
			t.Errorf("turn %+v after %d attempts, want another one\n%s", task.Turn, task.Attempts, r.story(id))
		}
	})
}

// AMP-124, AMP-139: of two verdicts that come at once one counts, and only its own fixes are committed.
func TestVerdict_twoAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, id, m := reviewed(t)
		other := wholeVerdict(id, r.get(id).Request.MsgID, time.Now().Add(time.Second))
		other["payload"] = verdictOf(amp.Approved, 0.95)
		goOn := make(chan struct{})
		var measured []amp.Decision
		r.git.review = func(w amp.Workspace, v *amp.Verdict) (amp.Check, error) {
			<-goOn
			measured = append(measured, v.Decision)
			return amp.Check{Subject: amp.CheckReview, Commit: w.Commit}, nil
		}
		errs := make(chan error, 2)
		for _, m := range []map[string]any{other, m} {
			go func() { errs <- r.handIn(amp.Reviewer, m) }()
			synctest.Wait()
		}
		close(goOn)
		if first, second := <-errs, <-errs; first != nil || second == nil {
			t.Errorf("the first: %v, the second: %v; want the second refused", first, second)
		}
		r.want(id, amp.StatusApproved)
		if len(measured) != 1 || measured[0] != amp.Approved {
			t.Errorf("measured for %v, want the one that counts", measured)
		}
	})
}

// AMP-124: fixes that nobody measured are no fixes. A verdict with such is refused, where it comes past the turn of the reviewer.
func TestVerdict_fixesOfNoTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, works, func(ctx context.Context, turn providers.Turn, n int, emit func(providers.Event)) (providers.Outcome, error) {
			emit(agenttest.Accept(turn))
			return idleTurn(ctx, turn, n, emit)
		})
		id := r.task()
		task := r.want(id, amp.Reviewing)
		refusedBy(t, r.handIn(amp.Reviewer, wholeVerdict(id, task.Request.MsgID, time.Now())), "AMP-124")
		synctest.Wait()
		r.nothingOf(id, task.Commit, 0, 0)
		r.want(id, amp.Reviewing)
	})
}
