package github_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"arbiter/amp"
	"arbiter/ssot"
	"arbiter/ssot/github"
	"arbiter/ssot/github/githubtest"
	"arbiter/ssot/memory"
	"arbiter/ssot/ssottest"
)

// world is a journal, a GitHub and what a mirror between them needs. Time is the bubble's when it is used in one.
type world struct {
	t     *testing.T
	log   ssot.Log
	hub   *githubtest.Server
	repo  *githubtest.Repository
	cfg   github.Config
	token *atomic.Value // a string, which may be rotated while a mirror runs
	next  int
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, log: memory.New(), hub: githubtest.New(t.TempDir()), token: &atomic.Value{}}
	var err error
	if w.repo, err = w.hub.Add("ada", "journal"); err != nil {
		t.Fatal(err)
	}
	w.rotate("the first token")
	w.cfg = github.Config{
		Log: w.log, Repo: "ada/journal", URL: "http://hub.example/", Transport: w.hub.Transport(), Gap: time.Nanosecond, Dir: t.TempDir(),
		Token:  func(context.Context) (string, error) { return w.token.Load().(string), nil },
		Logger: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	return w
}

// rotate makes another token the one that is given, and the one that is admitted.
func (w *world) rotate(token string) {
	w.token.Store(token)
	w.hub.SetToken(token)
}

func (w *world) mirror() *github.Mirror {
	w.t.Helper()
	m, err := github.New(w.cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	return m
}

func (w *world) append(records ...amp.Record) {
	w.t.Helper()
	out, err := w.log.Append(w.t.Context(), records)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, a := range out {
		if a.Err != nil {
			w.t.Fatal(a.Err)
		}
	}
}

// grow appends n entries without a task.
func (w *world) grow(n int) {
	w.t.Helper()
	var records []amp.Record
	for range n {
		w.next++
		r := bus(fmt.Sprintf("bus-%06d", w.next), `{"type":"heartbeat","n":`+fmt.Sprint(w.next)+`}`)
		r.At = time.Now()
		records = append(records, r)
	}
	w.append(records...)
}

func bus(id, body string) amp.Record {
	return amp.Record{Kind: amp.KindBus, Role: amp.System, Actor: "bus", At: time.Date(2026, 2, 26, 9, 0, 0, 0, time.UTC), ID: id, Body: []byte(body)}
}

// task appends the beginning of a task.
func (w *world) task(n int) {
	w.t.Helper()
	id := ssottest.Task(n)
	w.append(ssottest.Submit(fmt.Sprintf("submit-%d", n), id), ssottest.Propose(fmt.Sprintf("plan-%d", n), id, "a plan"))
}

func (w *world) push(m *github.Mirror) {
	w.t.Helper()
	if err := m.Push(w.t.Context()); err != nil {
		w.t.Fatalf("push: %v", err)
	}
	w.whole(m)
}

// whole wants the mirror to hold all of the journal.
func (w *world) whole(m *github.Mirror) {
	w.t.Helper()
	head, err := w.log.Head(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	if s := m.State(); s.Head != head || s.Behind != 0 || s.Trouble != "" {
		w.t.Errorf("the mirror stands at %d, %d behind, trouble %q; the journal at %d", s.Head.Seq, s.Behind, s.Trouble, head.Seq)
	}
}

// compare wants the branch to agree with the journal, and git to find the repository clean.
func (w *world) compare() {
	w.t.Helper()
	w.git("--git-dir", w.repo.Dir, "fsck", "--strict", "--no-dangling")
	r, err := github.Compare(w.t.Context(), w.log, w.open(w.repo.Dir), github.Checks{})
	if err != nil {
		w.t.Fatalf("compare: %v", err)
	}
	if r.Difference != nil {
		w.t.Fatalf("journal and mirror differ: %v", r.Difference)
	}
	for _, what := range r.Notes {
		w.t.Log("note:", what)
	}
}

func (w *world) open(dir string) *github.Clone {
	w.t.Helper()
	c, err := github.Open(w.t.Context(), dir, "main")
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { c.Close() })
	return c
}

// clone makes a clone with plain git, and lets git check the repository that the mirror made.
func (w *world) clone() string {
	w.t.Helper()
	dir := filepath.Join(w.t.TempDir(), "clone")
	w.git("clone", "--quiet", "--branch", "main", w.repo.Dir, dir)
	return dir
}

func (w *world) git(args ...string) string {
	w.t.Helper()
	return git(w.t, args...)
}

func git(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
	out, err := cmd.CombinedOutput()
	if err != nil || strings.Contains(string(out), "error") {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// run lets the mirror run in a bubble until f is done.
func (w *world) run(f func(m *github.Mirror)) {
	w.t.Helper()
	m := w.mirror()
	ctx, cancel := context.WithCancel(w.t.Context())
	done := make(chan struct{})
	go func() { m.Run(ctx); close(done) }()
	f(m)
	cancel()
	<-done
}

// later lets time pass.
func later(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestMirror_emptyRepository(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.task(1)
	w.grow(3)
	m := w.mirror()
	w.push(m)
	files, err := w.repo.Files("main")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"README.md", "head.json", "entries/000000/000/000000000001.jsonl", "tasks/2026/000/T-2026-001.json"} {
		if files[name] == nil {
			t.Errorf("%s is not there", name)
		}
	}
	before := len(w.hub.Requests())
	w.push(m)
	if n := len(w.hub.Requests()) - before; n != 0 {
		t.Errorf("nothing was new, and %d requests were made", n)
	}
	w.grow(2)
	w.push(m)
	if n := len(w.hub.Requests()) - before; n != 4 {
		t.Errorf("one commit took %d requests, want a look, a tree, a commit and a ref", n)
	}
}

func TestMirror_goesOnAfterAStart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.grow(5)
	w.task(1)
	w.push(w.mirror())
	w.grow(5)
	w.append(ssottest.Approve("approve-1", ssottest.Task(1)))
	if err := os.Remove(filepath.Join(w.cfg.Dir, "mirror.json")); err != nil { // the branch alone says where it is
		t.Fatal(err)
	}
	w.push(w.mirror())
	w.compare()
	all, err := w.repo.Log("main")
	if err != nil || len(all) != 3 {
		t.Errorf("there are %d commits, want the first, and one of each start (%v)", len(all), err)
	}
}

func TestMirror_unknownOutcome(t *testing.T) {
	t.Parallel()
	for _, what := range []string{"POST /git/trees", "POST /git/commits", "PATCH /git/refs"} {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s after=%v", what, after), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					w := newWorld(t)
					w.grow(2)
					m := w.mirror()
					w.push(m)
					w.grow(2)
					method, path, _ := strings.Cut(what, " ")
					cut := 0
					w.hub.Break(func(r *http.Request) *githubtest.Fault {
						if r.Method == method && strings.Contains(r.URL.Path, path) && cut < 2 {
							cut++
							return &githubtest.Fault{Cut: true, After: after}
						}
						return nil
					})
					w.push(m)
					if cut == 0 {
						t.Error("no connection was cut")
					}
					w.compare()
					if all, err := w.repo.Log("main"); err != nil || len(all) != 3 {
						t.Errorf("there are %d commits, want 3: none is doubled (%v)", len(all), err)
					}
				})
			})
		}
	}
}

// lies answers everything with one text.
type lies string

func (l lies) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Request: r,
		Body: io.NopCloser(strings.NewReader(string(l))),
	}, nil
}

func contextOf(t *testing.T) (context.Context, context.CancelFunc) {
	return context.WithCancel(t.Context())
}
