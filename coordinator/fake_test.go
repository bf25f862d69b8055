package coordinator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"arbiter/amp"
	"arbiter/providers"
	"arbiter/providers/agenttest"
	"arbiter/ssot"
	"arbiter/ssot/memory"
)

// fakeGit is a repository without files: every claim is confirmed unless a function says otherwise.
type fakeGit struct {
	mu      sync.Mutex
	tips    map[amp.TaskID]int
	cp      map[amp.TaskID]int
	inspect func(repo, branch string) (amp.RepoFacts, error)
	verify  func(w amp.Workspace, r *amp.Result) (amp.Check, error)
	ci      func(ctx context.Context, w amp.Workspace) (amp.Check, error)
	review  func(w amp.Workspace, v *amp.Verdict) (amp.Check, error)
	list    func(w amp.Workspace) amp.Check
	open    func(w amp.Workspace) error
	prepare func()
	deliver func(w amp.Workspace, d amp.Delivery) (amp.Check, error)
	rolled  func()
	fix     func(w amp.Workspace) (amp.Check, error)
	// broke is what a turn without a result did to refs.
	broke func() amp.Check
}

func newFakeGit() *fakeGit {
	return &fakeGit{tips: map[amp.TaskID]int{}, cp: map[amp.TaskID]int{}}
}

func commitName(task amp.TaskID, n int) string {
	return fmt.Sprintf("%s%08d", "abcdef", n) + string(task[len(task)-3:])
}

func (g *fakeGit) Inspect(_ context.Context, repo, branch string) (amp.RepoFacts, error) {
	if g.inspect != nil {
		return g.inspect(repo, branch)
	}
	return amp.RepoFacts{Root: repo, DefaultBranch: "main", Head: "0123456789abcdef", Files: 3}, nil
}

func (g *fakeGit) Prepare(_ context.Context, w amp.Workspace, _ string) (amp.Prepared, error) {
	if g.prepare != nil {
		g.prepare()
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.cp[w.TaskID]++
	return amp.Prepared{Dir: "/worktrees/" + string(w.TaskID), Checkpoint: g.cp[w.TaskID]}, nil
}

func (g *fakeGit) Verify(_ context.Context, w amp.Workspace, _ string, r *amp.Result, _ string) (amp.Check, error) {
	if r == nil && g.broke != nil {
		return g.broke(), nil
	}
	if r == nil {
		return amp.Check{}, nil
	}
	if g.verify != nil {
		return g.verify(w, r)
	}
	return g.good(w), nil
}

func (g *fakeGit) good(w amp.Workspace) amp.Check {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.tips[w.TaskID]++
	return amp.Check{
		Subject: amp.CheckResult, Commit: commitName(w.TaskID, g.tips[w.TaskID]), Base: "0123456789abcdef",
		Claims: []amp.Claim{{Name: "commit", Finding: amp.Confirmed}},
	}
}

func (g *fakeGit) Release(context.Context, amp.Workspace) (amp.Check, error) {
	return amp.Check{Text: "removed"}, nil
}

func (g *fakeGit) OpenReview(_ context.Context, w amp.Workspace, turn string) (amp.Prepared, error) {
	if g.open != nil {
		return amp.Prepared{}, g.open(w)
	}
	return amp.Prepared{Dir: "/reviews/" + turn, Tip: w.Commit}, nil
}

func (g *fakeGit) CloseReview(_ context.Context, w amp.Workspace, _ string, v *amp.Verdict) (amp.Check, error) {
	if g.review != nil {
		return g.review(w, v)
	}
	return amp.Check{Subject: amp.CheckReview}, nil
}

func (g *fakeGit) Fix(_ context.Context, w amp.Workspace) (amp.Check, error) {
	if g.fix != nil {
		return g.fix(w)
	}
	return amp.Check{Subject: amp.CheckFix, Commit: w.Commit, Text: "the branch is at the direct fixes"}, nil
}

func (g *fakeGit) Diff(context.Context, amp.Workspace, string, string, amp.DiffOptions) (amp.Diff, error) {
	return amp.Diff{Text: "diff"}, nil
}

func (g *fakeGit) Checklist(_ context.Context, w amp.Workspace) (amp.Check, error) {
	if g.list != nil {
		return g.list(w), nil
	}
	return amp.Check{Subject: amp.CheckResume, Claims: []amp.Claim{{Name: "branch", Finding: amp.Confirmed}}}, nil
}

func (g *fakeGit) RunCI(ctx context.Context, w amp.Workspace, _ [][]string, _ time.Duration) (amp.Check, error) {
	if g.ci != nil {
		return g.ci(ctx, w)
	}
	return amp.Check{Subject: amp.CheckCI, CI: map[string]string{"local": "passed"}}, nil
}

func (g *fakeGit) Rollback(_ context.Context, w amp.Workspace, cp int) (amp.Check, error) {
	if g.rolled != nil {
		g.rolled()
	}
	return amp.Check{Subject: amp.CheckWorkspace, Commit: w.Commit, Checkpoint: cp, Text: "rolled back"}, nil
}

func (g *fakeGit) Deliver(_ context.Context, w amp.Workspace, d amp.Delivery) (amp.Check, error) {
	if g.deliver != nil {
		return g.deliver(w, d)
	}
	return amp.Check{Subject: amp.CheckWorkspace, Commit: w.Commit, Text: "delivered"}, nil
}

// play is what an agent does in one turn: n counts its turns of the task from 1.
type play func(ctx context.Context, turn providers.Turn, n int, emit func(providers.Event)) (providers.Outcome, error)

// rig is a coordinator on a memory journal with fake agents.
type rig struct {
	t       *testing.T
	c       *Coordinator
	log     ssot.Log
	git     *fakeGit
	planner *agenttest.Fake
	exec    *agenttest.Fake
	rev     *agenttest.Fake
	cancel  context.CancelFunc
	done    chan error
	cfg     Config
	counts  *counts
	// edits lets the admin of a crash test approve with edits.
	edits bool
}

type counts struct {
	mu sync.Mutex
	n  map[string]int
}

func (c *counts) next(key string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n[key]++
	return c.n[key]
}

func counted(c *counts, name string, p play) *agenttest.Fake {
	return &agenttest.Fake{RunFunc: func(ctx context.Context, turn providers.Turn, emit func(providers.Event)) (providers.Outcome, error) {
		return p(ctx, turn, c.next(name+string(turn.Task)), emit)
	}}
}

func plans(_ context.Context, turn providers.Turn, _ int, _ func(providers.Event)) (providers.Outcome, error) {
	return agenttest.Final(map[string]any{
		"title": "Count words", "description": "Make the counter right.", "risk_level": "low",
		"subtasks":            []map[string]any{{"subtask_id": string(turn.Task) + "-S1", "description": "fix it", "estimated_lines": 5}},
		"acceptance_criteria": []string{"the check passes"},
	}), nil
}

func resultOf(turn providers.Turn, status amp.CompletionStatus) map[string]any {
	yes := true
	r := map[string]any{
		"subtask_id": turn.Subtask, "completion_status": status,
		"diff_summary":    map[string]any{"files_changed": []string{"count.sh"}, "lines_added": 1, "lines_removed": 1},
		"self_assessment": map[string]any{"criteria_met": []*bool{&yes}, "notes": []string{"ran it"}},
		"work_log":        []any{},
	}
	if status != amp.Complete {
		r["blockers"] = []string{"no time"}
	}
	return r
}

func works(_ context.Context, turn providers.Turn, _ int, emit func(providers.Event)) (providers.Outcome, error) {
	emit(providers.Event{Type: providers.EventStarted, PID: 4711})
	emit(agenttest.Accept(turn))
	return agenttest.Final(resultOf(turn, amp.Complete)), nil
}

func verdictOf(d amp.Decision, confidence float64) map[string]any {
	passed := d != amp.Rejected
	v := map[string]any{
		"decision": d, "confidence": confidence,
		"criteria_results": []map[string]any{{"criterion": "the check passes", "passed": passed, "evidence": "ran it"}},
	}
	if d == amp.Rejected {
		v["issues"] = []map[string]any{{"severity": "major", "file": "count.sh", "line": 3, "description": "wrong sum of words", "suggested_fix": "add"}}
	}
	return v
}

func judges(d ...amp.Decision) play {
	return func(_ context.Context, turn providers.Turn, n int, emit func(providers.Event)) (providers.Outcome, error) {
		emit(agenttest.Accept(turn))
		return agenttest.Final(verdictOf(d[min(n, len(d))-1], 0.95)), nil
	}
}

// idleTurn never says anything and ends when it is stopped.
func idleTurn(ctx context.Context, _ providers.Turn, _ int, _ func(providers.Event)) (providers.Outcome, error) {
	<-ctx.Done()
	return providers.Outcome{}, &providers.TurnError{Failure: providers.FailKilled, Text: "stopped"}
}

func newRig(t *testing.T, exec, rev play, change ...func(*Config)) *rig {
	t.Helper()
	r := &rig{t: t, log: memory.New(), git: newFakeGit(), counts: &counts{n: map[string]int{}}}
	r.planner, r.exec, r.rev = counted(r.counts, "p", plans), counted(r.counts, "e", exec), counted(r.counts, "r", rev)
	n := 0
	var mu sync.Mutex
	r.cfg = Config{
		Log: r.log, Git: r.git, Home: t.TempDir(), Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
		Agents: map[string]AgentConfig{
			"planner":  {Agent: r.planner, Roles: []amp.Role{amp.Coordinator}, Vendor: "p"},
			"codex":    {Agent: r.exec, Roles: []amp.Role{amp.Executor}, Vendor: "x"},
			"claude":   {Agent: r.rev, Roles: []amp.Role{amp.Reviewer}, Vendor: "y"},
			"outsider": {Roles: []amp.Role{amp.Executor, amp.Reviewer}, Vendor: "z"},
		},
		Roles: map[amp.Role]string{amp.Coordinator: "planner", amp.Executor: "codex", amp.Reviewer: "claude"},
		NewID: func() string {
			mu.Lock()
			defer mu.Unlock()
			n++
			return fmt.Sprintf("id-%06d", n)
		},
	}
	for _, f := range change {
		f(&r.cfg)
	}
	r.start()
	t.Cleanup(r.stop)
	return r
}

func (r *rig) start() {
	r.t.Helper()
	c, err := New(context.Background(), r.cfg)
	if err != nil {
		r.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r.c, r.cancel, r.done = c, cancel, make(chan error, 1)
	go func() { r.done <- c.Run(ctx) }()
}

func (r *rig) stop() {
	if r.cancel == nil {
		return
	}
	r.cancel()
	r.cancel = nil
	if err := <-r.done; err != nil {
		r.t.Errorf("Run: %v", err)
	}
}

func (r *rig) submit(cmd amp.Command) amp.Entry {
	r.t.Helper()
	e, err := r.try(cmd)
	if err != nil {
		r.t.Fatalf("%s: %v", cmd.Command, err)
	}
	return e
}

func (r *rig) try(cmd amp.Command) (amp.Entry, error) {
	cmd.By = "mira"
	return r.tryAs(cmd)
}

// tryAs submits a command of whoever it names.
func (r *rig) tryAs(cmd amp.Command) (amp.Entry, error) {
	return r.c.Submit(context.Background(), cmd)
}

// task submits a wish and approves its plan; it returns when everything stands still.
func (r *rig) task() amp.TaskID {
	r.t.Helper()
	id := r.submit(amp.Command{Command: amp.Submit, Args: amp.Args{Wish: &amp.Wish{Text: "Count the words right", Repo: "/repo"}}}).TaskID
	synctest.Wait()
	r.submit(amp.Command{Command: amp.Approve, TaskID: id, Expects: &amp.Expects{Status: amp.AwaitingApproval}})
	synctest.Wait()
	return id
}

func (r *rig) get(id amp.TaskID) *amp.Task {
	r.t.Helper()
	b, err := ssot.Fold(context.Background(), r.log)
	if err != nil {
		r.t.Fatal(err)
	}
	return b.Task(id)
}

func (r *rig) want(id amp.TaskID, s amp.Status) *amp.Task {
	r.t.Helper()
	t := r.get(id)
	if t.Status != s {
		r.t.Fatalf("%s is %s, want %s\n%s", id, t.Status, s, r.story(id))
	}
	return t
}

// story is the task's history in words, for a failing test.
func (r *rig) story(id amp.TaskID) string {
	var b strings.Builder
	for _, e := range r.entries(amp.Filter{TaskID: id}) {
		body := string(e.Body)
		if len(body) > 160 {
			body = body[:160]
		}
		fmt.Fprintf(&b, "%4d %s %-8s %-11s %s %s\n", e.Seq, e.At.Format("15:04:05.000"), e.Kind, e.Role, e.Actor, body)
	}
	return b.String()
}

func (r *rig) entries(f amp.Filter) []amp.Entry {
	r.t.Helper()
	e, err := r.log.Read(context.Background(), f)
	if err != nil {
		r.t.Fatal(err)
	}
	return e
}

func (r *rig) messages(id amp.TaskID, typ amp.MessageType) []*amp.Message {
	r.t.Helper()
	var list []*amp.Message
	for _, e := range r.entries(amp.Filter{TaskID: id, Kinds: []amp.Kind{amp.KindMessage}}) {
		m, _, err := amp.Decode(e.Body)
		if err != nil {
			r.t.Fatal(err)
		}
		if m.Type == typ {
			list = append(list, m)
		}
	}
	return list
}

func (r *rig) alarms(id amp.TaskID) []amp.EscalationType {
	var types []amp.EscalationType
	for _, e := range r.get(id).Escalations {
		types = append(types, e.Type)
	}
	return types
}

func (r *rig) refusals(id amp.TaskID) []amp.Refusal {
	var list []amp.Refusal
	for _, e := range r.entries(amp.Filter{TaskID: id, Kinds: []amp.Kind{amp.KindRefusal}}) {
		f, err := amp.DecodeBody[amp.Refusal](&e)
		if err != nil {
			r.t.Fatal(err)
		}
		list = append(list, f)
	}
	return list
}

// refusedBy fails unless err is a refusal that names the rule.
func refusedBy(t *testing.T, err error, rule string) {
	t.Helper()
	r, ok := errors.AsType[*amp.RefusedError](err)
	if !ok {
		t.Fatalf("err = %v, want a refusal by %s", err, rule)
	}
	for _, p := range r.Problems {
		if p.Rule == rule {
			return
		}
	}
	t.Fatalf("refused by %v, want %s", r.Problems, rule)
}

func jsonOf(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}
