package worker

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"arbiter/amp"
	"arbiter/providers"
)

func (r *rig) end(task amp.TaskID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended[task] = true
}

// idle waits until the worker is at work on nothing.
func (p *place) idle() {
	p.r.t.Helper()
	p.eventually(func() string {
		p.w.mu.Lock()
		defer p.w.mu.Unlock()
		for _, job := range p.w.jobs {
			if job.live {
				return "a job is under way: " + job.MessageID
			}
		}
		return ""
	})
}

// files are what a worker has of a task besides its clone.
func (p *place) files(task string) []string {
	return []string{filepath.Join(p.home, "worktrees", task), filepath.Join(p.home, "homes", task), filepath.Join(p.home, "tasks", task+".json")}
}

func (p *place) wantFiles(task string, there bool) {
	p.r.t.Helper()
	for _, name := range p.files(task) {
		if _, err := os.Lstat(name); (err == nil) != there {
			p.r.t.Errorf("%s: %v, want it there: %v", name, err, there)
		}
	}
}

// littered does the work, and leaves files in its home that are not its owner's to remove as they are.
func littered(ctx context.Context, n int, turn providers.Turn, emit func(providers.Event)) (providers.Outcome, error) {
	cache := filepath.Join(turn.Home, "cache")
	if err := os.MkdirAll(filepath.Join(cache, "module"), 0o700); err != nil {
		return providers.Outcome{}, err
	}
	if err := os.Chmod(cache, 0o500); err != nil {
		return providers.Outcome{}, err
	}
	return honest("done")(ctx, n, turn, emit)
}

// What a task left on the worker goes when it has ended, and not before; what is not the worker's stays.
func TestWorker_removesEnded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.place()
	p.start(&fake{do: littered})
	for _, task := range []string{"T-2026-001", "T-2026-002"} {
		turn := r.turn(r.space(task), "turn-of-"+task)
		r.wantDone(&turn, wait(t, "the end of the turn", r.begin(t.Context(), turn)), "done")
	}
	p.idle()
	for _, dir := range []string{p.files("T-2026-003")[0], p.files("T-2026-003")[1]} { // as a person may have put there
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	clean := func() {
		t.Helper()
		if err := p.w.clear(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	clean()
	p.wantFiles("T-2026-001", true)
	r.end("T-2026-001")
	r.end("T-2026-003")
	for range 2 { // the second time nothing is left
		clean()
		p.wantFiles("T-2026-001", false)
		p.wantFiles("T-2026-002", true)
	}
	for _, dir := range p.files("T-2026-003")[:2] {
		if _, err := os.Stat(dir); err != nil {
			t.Error(err)
		}
	}
	clones, err := filepath.Glob(filepath.Join(p.home, "repositories", "*"))
	if err != nil || len(clones) != 1 {
		t.Fatalf("the clones are %v, %v", clones, err)
	}
	if got := r.run("-C", clones[0], "for-each-ref", "--format=%(refname)", "refs/heads"); got != "refs/heads/feature/t-2026-002\nrefs/heads/main" {
		t.Errorf("branches in the clone:\n%s", got)
	}
	r.run("-C", clones[0], "fsck", "--strict")
	// another task works on a branch of the same name, from the same clone
	w := r.space("T-2026-004")
	w.Branch = "feature/t-2026-001"
	r.run("-C", r.repo, "worktree", "prune")
	r.run("-C", r.repo, "worktree", "remove", "--force", filepath.Join(r.home, "worktrees", "T-2026-001"))
	r.run("-C", r.repo, "branch", "-q", "-D", w.Branch)
	turn := r.turn(w, "turn-4")
	r.wantDone(&turn, wait(t, "the end of the turn", r.begin(t.Context(), turn)), "done")
}

// A worker that was away when a task ended is told when it comes back; what still ran of it, since its message was lost, ends first.
func TestWorker_removesEndedLater(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.place()
	began := make(chan struct{}, 2)
	agent := &fake{do: func(ctx context.Context, _ int, _ providers.Turn, _ func(providers.Event)) (providers.Outcome, error) {
		began <- struct{}{}
		<-ctx.Done()
		return providers.Outcome{}, &providers.TurnError{Failure: providers.FailKilled, Text: "killed"}
	}}
	p.start(agent)
	ctx, cancel := context.WithCancel(t.Context())
	done := r.begin(ctx, r.turn(r.space("T-2026-001"), "turn-1"))
	wait(t, "the turn", began)
	cancel() // nobody decided anything: the worker is not told
	wait(t, "the end of the turn", done)
	if err := p.w.clear(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.wantFiles("T-2026-001", true)
	p.stop()
	r.end("T-2026-001")
	p.start(agent)
	p.eventually(func() string {
		if _, err := os.Lstat(p.files("T-2026-001")[2]); err == nil {
			return "what the task left stays"
		}
		return ""
	})
	p.wantFiles("T-2026-001", false)
	if j := p.job(); j.State != Withdrawn {
		t.Errorf("the job is %s", j.State)
	}
}

// Another coordinator's task may have the same id: what it left stays.
func TestWorker_keepsForeign(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.place()
	p.start(&fake{do: honest("done")})
	turn := r.turn(r.space("T-2026-001"), "turn-1")
	r.wantDone(&turn, wait(t, "the end of the turn", r.begin(t.Context(), turn)), "done")
	p.idle()
	all, err := Holdings(p.home)
	if err != nil || len(all) != 1 {
		t.Fatalf("holds %+v, %v", all, err)
	}
	other := all[0].Asked
	other.Repo = "/another/repository"
	if err := p.w.hold(other, all[0].Here); err != nil {
		t.Fatal(err)
	}
	r.end("T-2026-001")
	if err := p.w.clear(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.wantFiles("T-2026-001", true)
}
