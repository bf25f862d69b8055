package worker

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"arbiter/amp"
	"arbiter/providers"
)

// reviewed is a commit with something to mend, as the space of a task that waits for its review.
func (r *rig) reviewed(task string) amp.Workspace {
	r.t.Helper()
	w := r.space(task)
	dir := filepath.Join(r.t.TempDir(), "work")
	r.run("-C", r.repo, "worktree", "add", "-q", "-b", w.Branch, dir)
	if err := os.WriteFile(filepath.Join(dir, "lib.go"), []byte("package lib\n\n// Recieve gets.\nfunc Recieve() {}\n"), 0o600); err != nil {
		r.t.Fatal(err)
	}
	r.run("-C", dir, "add", "-A")
	r.run("-C", dir, "commit", "-q", "-m", "work")
	w.Commit = r.run("-C", dir, "rev-parse", "HEAD")
	r.run("-C", r.repo, "worktree", "remove", dir)
	return w
}

// review is a turn of the reviewer, ready to run.
func (r *rig) review(w amp.Workspace, id string) providers.Turn {
	r.t.Helper()
	p, err := r.git.OpenReview(r.t.Context(), w, id)
	if err != nil {
		r.t.Fatal(err)
	}
	diff := filepath.Join(r.t.TempDir(), "the.diff")
	if err := os.WriteFile(diff, []byte("the diff\n"), 0o600); err != nil {
		r.t.Fatal(err)
	}
	message := fmt.Sprintf(`{"msg_id":"review_request-%s-1719000000000","protocol_version":"AMP/1.0","type":"review_request","from":"coordinator","to":"reviewer",
		"task_id":%q,"timestamp":"2026-11-22T08:00:00Z","requires_ack":true,"ack_timeout_sec":300,"payload":{"acceptance_criteria":[%q]}}`, w.TaskID, w.TaskID, criterion)
	return providers.Turn{
		ID: id, Task: w.TaskID, Role: amp.Reviewer, Dir: p.Dir, Home: r.t.TempDir(), Work: w, Message: json.RawMessage(message), Env: append(p.Env, "ARBITER_DIFF="+diff),
	}
}

func verdict(d amp.Decision) (providers.Outcome, error) {
	return providers.Outcome{Final: fmt.Appendf(nil, `{"decision":%q,"criteria_results":[],"confidence":0.9}`, d)}, nil
}

// mend corrects the word that is wrong.
func mend(turn *providers.Turn) error {
	file := filepath.Join(turn.Dir, "lib.go")
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return os.WriteFile(file, []byte(strings.ReplaceAll(string(text), "Recieve", "Receive")), 0o600)
}

var typo = &amp.Verdict{Decision: amp.ApprovedWithFix, DirectFixes: []amp.DirectFix{{File: "lib.go", ChangeType: amp.Typo, DiffLines: 2}}}

// wantReviewed wants the review to have ended well and its verdict to count, with the fix or without.
func (r *rig) wantReviewed(turn *providers.Turn, e ended, v *amp.Verdict) {
	r.t.Helper()
	if e.err != nil {
		r.t.Fatalf("the turn failed: %v", e.err)
	}
	if !strings.Contains(string(e.out.Final), string(v.Decision)) {
		r.t.Errorf("the verdict is %s", e.out.Final)
	}
	c, err := r.git.CloseReview(r.t.Context(), turn.Work, turn.ID, v)
	if err != nil || c.Blocked() || c.Escalate != "" {
		r.t.Errorf("check = %+v, %v", c, err)
	}
	lib := r.run("-C", r.repo, "show", cmp.Or(c.Fix, c.Commit)+":lib.go")
	if fixed := v.Decision == amp.ApprovedWithFix; strings.Contains(lib, "Receive") != fixed || (c.Fix != "") != fixed || c.Commit != turn.Work.Commit {
		r.t.Errorf("reviewed is %s, the fixes %q; that holds\n%s", c.Commit, c.Fix, lib)
	}
}

// noReviews wants no worktree of a review to be left on the worker.
func (p *place) noReviews() {
	p.r.t.Helper()
	if left, _ := filepath.Glob(filepath.Join(p.home, "reviews", "*")); len(left) > 0 {
		p.r.t.Errorf("left behind on the worker: %v", left)
	}
}

// A review runs on the worker at exactly the commit that is reviewed; verdict and fix count as if it had been here.
func TestWorker_review(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.place()
	var asked providers.Turn
	var at, diff string
	p.critic = &fake{do: func(_ context.Context, _ int, turn providers.Turn, _ func(providers.Event)) (providers.Outcome, error) {
		asked = turn
		at = r.run("-C", turn.Dir, "rev-parse", "HEAD", turn.Work.Branch)
		for _, kv := range turn.Env {
			if name, is := strings.CutPrefix(kv, "ARBITER_DIFF="); is {
				text, err := os.ReadFile(name)
				if err != nil {
					return providers.Outcome{}, err
				}
				diff = string(text)
			}
		}
		if err := mend(&turn); err != nil {
			return providers.Outcome{}, err
		}
		return verdict(amp.ApprovedWithFix)
	}}
	p.start(&fake{})
	w := r.reviewed("T-2026-001")
	turn := r.review(w, "turn-2")
	e := wait(t, "the end of the review", r.begin(t.Context(), turn))
	if at != w.Commit+"\n"+w.Commit || diff != "the diff\n" || asked.Role != amp.Reviewer || asked.Dir == turn.Dir {
		t.Errorf("at %q with diff %q: %+v", at, diff, asked)
	}
	if len(e.events) == 0 || e.events[0].Type != providers.EventAck {
		t.Errorf("events = %+v", e.events)
	}
	r.wantReviewed(&turn, e, typo)
	p.until(Told)
	p.noReviews()
}

// One worker executes and reviews the same task: the review is of the commit that the coordinator made of the result.
func TestWorker_executesAndReviews(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.place()
	p.critic = &fake{do: func(_ context.Context, _ int, turn providers.Turn, _ func(providers.Event)) (providers.Outcome, error) {
		for _, name := range []string{"committed.txt", "left.txt"} {
			if _, err := os.Stat(filepath.Join(turn.Dir, name)); err != nil {
				return providers.Outcome{}, err
			}
		}
		return verdict(amp.Approved)
	}}
	p.start(&fake{do: honest("hello")})
	w := r.space("T-2026-001")
	turn := r.turn(w, "turn-1")
	if e := wait(t, "the end of the turn", r.begin(t.Context(), turn)); e.err != nil {
		t.Fatal(e.err)
	}
	c, err := r.git.Verify(t.Context(), w, turn.ID, &amp.Result{CompletionStatus: amp.Complete, DiffSummary: amp.DiffSummary{
		FilesChanged: []string{"committed.txt", "left.txt"}, LinesAdded: 2,
	}}, "msg")
	if err != nil || c.Blocked() {
		t.Fatalf("check = %+v, %v", c, err)
	}
	w.Commit = c.Commit
	review := r.review(w, "turn-2")
	e := wait(t, "the end of the review", r.begin(t.Context(), review))
	if e.err != nil {
		t.Fatal(e.err)
	}
	if c, err := r.git.CloseReview(t.Context(), w, review.ID, &amp.Verdict{Decision: amp.Approved}); err != nil || c.Blocked() || c.Commit != w.Commit {
		t.Errorf("check = %+v, %v", c, err)
	}
	p.noReviews()
}

// A reviewer that changes what its verdict does not cover has a void verdict, as here.
func TestWorker_reviewVoid(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.place()
	p.critic = &fake{do: func(_ context.Context, _ int, turn providers.Turn, _ func(providers.Event)) (providers.Outcome, error) {
		if err := mend(&turn); err != nil {
			return providers.Outcome{}, err
		}
		return verdict(amp.Approved)
	}}
	p.start(&fake{})
	turn := r.review(r.reviewed("T-2026-001"), "turn-2")
	if e := wait(t, "the end of the review", r.begin(t.Context(), turn)); e.err != nil {
		t.Fatal(e.err)
	}
	c, err := r.git.CloseReview(t.Context(), turn.Work, turn.ID, &amp.Verdict{Decision: amp.Approved})
	if err != nil || !c.Blocked() {
		t.Errorf("check = %+v, %v", c, err)
	}
}

// A reviewer that moves refs of the clone on the worker is reported, and its verdict never arrives.
func TestWorker_reviewMovesRefs(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.place()
	p.critic = &fake{do: func(_ context.Context, _ int, turn providers.Turn, _ func(providers.Event)) (providers.Outcome, error) {
		if err := os.WriteFile(filepath.Join(turn.Work.Repo, ".git", "refs", "heads", "main"), []byte(turn.Work.Commit+"\n"), 0o600); err != nil {
			return providers.Outcome{}, err
		}
		return verdict(amp.Approved)
	}}
	p.start(&fake{})
	turn := r.review(r.reviewed("T-2026-001"), "turn-2")
	e := wait(t, "the end of the review", r.begin(t.Context(), turn))
	te, ok := errors.AsType[*providers.TurnError](e.err)
	if !ok || te.Failure != providers.FailAnswer || !strings.Contains(te.Text, "voids its verdict") {
		t.Errorf("the turn ended with %v", e.err)
	}
	if !slices.ContainsFunc(e.events, func(ev providers.Event) bool { return ev.Type == providers.EventEscalation }) {
		t.Errorf("no escalation in %+v", e.events)
	}
}

// A worker that ends during a review, a connection that breaks and a coordinator that is started anew lose nothing: one verdict, of a run from
// the beginning, in a worktree without what the run before left.
func TestWorker_reviewInterrupted(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.place()
	began, goOn := make(chan struct{}, 2), make(chan struct{})
	agent := &fake{do: func(ctx context.Context, n int, turn providers.Turn, _ func(providers.Event)) (providers.Outcome, error) {
		if text, err := os.ReadFile(filepath.Join(turn.Dir, "lib.go")); err != nil || strings.Contains(string(text), "Receive") {
			return providers.Outcome{}, fmt.Errorf("run %d begins with %q, %v", n, text, err)
		}
		if err := mend(&turn); err != nil {
			return providers.Outcome{}, err
		}
		began <- struct{}{}
		if n == 1 {
			<-ctx.Done()
			return providers.Outcome{}, &providers.TurnError{Failure: providers.FailKilled, Text: "killed"}
		}
		r.wire.cut()
		<-goOn
		return verdict(amp.ApprovedWithFix)
	}}
	p.critic = agent
	p.start(&fake{})
	w := r.reviewed("T-2026-001")
	ctx, cancel := context.WithCancel(t.Context())
	first := r.begin(ctx, r.review(w, "turn-2"))
	wait(t, "the review", began)
	p.stop()
	p.start(&fake{})
	wait(t, "the second run", began)
	cancel() // as a coordinator that ends does
	wait(t, "the end of the first turn", first)
	r.stopBus()
	close(goOn)
	r.startBus(nil)
	turn := r.review(w, "turn-3")
	r.wantReviewed(&turn, wait(t, "the end of the review", r.begin(t.Context(), turn)), typo)
	if agent.count() != 2 {
		t.Errorf("%d runs", agent.count())
	}
	p.until(Told)
	p.noReviews()
}

// A worker that was killed during a review removes the worktree of that run before the next one.
func TestWorker_reviewKilled(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.place()
	first := true
	p.git = func(g Git) Git {
		if !first {
			return g
		}
		first = false
		return crashing{g}
	}
	began := make(chan struct{}, 1)
	p.critic = &fake{do: func(ctx context.Context, n int, turn providers.Turn, _ func(providers.Event)) (providers.Outcome, error) {
		if n == 1 {
			began <- struct{}{}
			<-ctx.Done()
			return providers.Outcome{}, ctx.Err()
		}
		if all, _ := filepath.Glob(filepath.Join(p.home, "reviews", "*")); len(all) != 1 {
			return providers.Outcome{}, fmt.Errorf("the worktrees are %v", all)
		}
		return verdict(amp.Approved)
	}}
	p.start(&fake{})
	turn := r.review(r.reviewed("T-2026-001"), "turn-2")
	done := r.begin(t.Context(), turn)
	wait(t, "the review", began)
	p.stop()
	if all, _ := filepath.Glob(filepath.Join(p.home, "reviews", "*")); len(all) != 1 {
		t.Fatalf("the worktrees are %v", all)
	}
	p.start(&fake{})
	r.wantReviewed(&turn, wait(t, "the end of the review", done), &amp.Verdict{Decision: amp.Approved})
	p.until(Told)
	p.noReviews()
}

// crashing is git work that a kill left undone.
type crashing struct{ Git }

func (crashing) CloseReview(context.Context, amp.Workspace, string, *amp.Verdict) (amp.Check, error) {
	return amp.Check{}, errors.New("killed")
}

// A review whose diff is gone at the coordinator goes on without it: the commits are there.
func TestWorker_reviewWithoutDiff(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.place()
	p.critic = &fake{do: func(_ context.Context, _ int, turn providers.Turn, _ func(providers.Event)) (providers.Outcome, error) {
		if slices.ContainsFunc(turn.Env, func(kv string) bool { return strings.HasPrefix(kv, "ARBITER_DIFF=") }) {
			return providers.Outcome{}, errors.New("there is a diff")
		}
		return verdict(amp.Approved)
	}}
	p.start(&fake{})
	turn := r.review(r.reviewed("T-2026-001"), "turn-2")
	if err := os.Remove(strings.TrimPrefix(turn.Env[len(turn.Env)-1], "ARBITER_DIFF=")); err != nil {
		t.Fatal(err)
	}
	r.wantReviewed(&turn, wait(t, "the end of the review", r.begin(t.Context(), turn)), &amp.Verdict{Decision: amp.Approved})
}
