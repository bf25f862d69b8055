//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"arbiter/amp"
	"arbiter/providers/command/scripted"
	"arbiter/server"
	"arbiter/ssot"
	"arbiter/ssot/postgres"
	"arbiter/ssot/postgres/pgtest"
	"arbiter/ssot/ssottest"
)

// teamMinutes is the variable that asks for the long run before a release, in minutes.
const teamMinutes = "ARBITER_TAKEOVER_MINUTES"

// teamLease is short, so that a run sees many takeovers.
const teamLease = 3 * time.Second

// Three coordinators on one database, of which one is killed, stopped beyond its lease or cut off every few seconds: every task ends
// once, no message is lost or doubled. By default a few tasks and one disturbance of each kind; with ARBITER_TAKEOVER_MINUTES=10 as
// many as that time has room for, 200 at least.
func TestTeam_processes(t *testing.T) {
	t.Parallel()
	runTeam(t, false)
}

// The same, with a clone of its own on each machine, and a remote between them that is down now and then.
func TestTeam_clones(t *testing.T) {
	t.Parallel()
	runTeam(t, true)
}

func runTeam(t *testing.T, clones bool) {
	t.Helper()
	tasks, lasting := 6, time.Duration(0)
	if text := os.Getenv(teamMinutes); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatalf("%s is %q, want minutes", teamMinutes, text)
		}
		tasks, lasting = 20*n, time.Duration(n)*time.Minute
	}
	db, err := pgtest.Start(t.Context(), false)
	if errors.Is(err, pgtest.ErrAbsent) {
		t.Skip("SKIPPED: " + err.Error())
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	r := newTeamRun(t, db, clones)
	harassed := make(chan struct{})
	ctx, stop := context.WithCancel(t.Context())
	go func() {
		defer close(harassed)
		r.harass(ctx, lasting)
	}()
	r.admin(tasks, lasting)
	stop()
	<-harassed
	r.tidied()
	r.end()
	r.judge()
}

// teamRun is a team of three coordinators, each a process with a data directory of its own.
type teamRun struct {
	t      *testing.T
	db     *pgtest.Server
	schema string
	// bare is the remote through which tasks pass between clones, "" when all share one repository and a folder of worktrees.
	bare    string
	members []*teamMember
	acts    map[string]int
	began   time.Time
	// disturbed is closed when there was one disturbance of each kind.
	disturbed chan struct{}
}

type teamMember struct {
	name, home string
	repo       string
	config     string
	cut        *cutter
	client     *server.Client
	log        *os.File

	mu     sync.Mutex
	cmd    *exec.Cmd
	exited chan error
}

func newTeamRun(t *testing.T, db *pgtest.Server, clones bool) *teamRun {
	t.Helper()
	dir := t.TempDir()
	r := &teamRun{t: t, db: db, schema: db.Schema(), acts: map[string]int{}, began: time.Now(), disturbed: make(chan struct{})}
	repo := filepath.Join(dir, "shop")
	if err := scripted.Repository(repo); err != nil {
		t.Fatal(err)
	}
	if clones {
		r.bare = filepath.Join(dir, "origin.git")
		r.git("clone", "-q", "--bare", repo, r.bare)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, role := range []string{"coordinator", "executor", "reviewer"} {
		fmt.Fprintf(&text, "[agents.%s]\nkind = \"command\"\nsandbox = \"off\"\nvendor = %q\nargv = [%q, \"demo-agent\", \"--role\", %q]\nenv = {ARBITER_TEST_SELF = \"1\"}\n",
			role, role, self, role)
	}
	fmt.Fprintf(&text, "[roles]\ncoordinator = \"coordinator\"\nexecutor = \"executor\"\nreviewer = \"reviewer\"\n[policy]\nslots = 2\nattempts = 5\n[team]\nlease = %q\n", teamLease.String())
	for _, name := range []string{"ada", "ben", "cleo"} {
		m := &teamMember{name: name, home: filepath.Join(dir, name), repo: repo, config: filepath.Join(dir, name+".toml"), cut: newCutter(t, db.Socket())}
		more := fmt.Sprintf("work = %q\n", filepath.Join(dir, "work"))
		if clones {
			m.repo = filepath.Join(dir, "clones", name, "shop")
			r.git("clone", "-q", r.bare, m.repo)
			more = fmt.Sprintf("remote = \"origin\"\n[team.repositories]\nshop = %q\n", m.repo)
		}
		if err := os.WriteFile(m.config, []byte(text.String()+more), 0o600); err != nil {
			t.Fatal(err)
		}
		m.client = server.NewClient(m.home, sentinels)
		if m.log, err = os.Create(filepath.Join(dir, name+".log")); err != nil {
			t.Fatal(err)
		}
		r.members = append(r.members, m)
		t.Cleanup(func() {
			m.signal(syscall.SIGCONT)
			m.signal(syscall.SIGKILL)
			if t.Failed() {
				said, _ := os.ReadFile(m.log.Name())
				t.Logf("%s said:\n%s", m.name, said[max(0, len(said)-6000):])
			}
		})
		r.start(m)
	}
	return r
}

// start runs a coordinator. It need not answer before others do.
func (r *teamRun) start(m *teamMember) {
	m.mu.Lock()
	defer m.mu.Unlock()
	url := fmt.Sprintf("postgres://owner@/postgres?host=%s&search_path=%s", m.cut.dir, r.schema)
	cmd := exec.Command(os.Args[0], "serve", "--home", m.home, "--config", m.config, "--set", "store.url="+url, "--set", "team.name="+m.name)
	cmd.Env = append(os.Environ(), "ARBITER_TEST_SELF=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
	cmd.Stdout, cmd.Stderr = m.log, m.log
	if err := cmd.Start(); err != nil {
		r.t.Error(err)
		return
	}
	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait() }()
	m.cmd, m.exited = cmd, exited
}

func (m *teamMember) signal(s syscall.Signal) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.cmd != nil {
		_ = m.cmd.Process.Signal(s) // it may be gone
	}
}

// harass disturbs one coordinator after the other, each in another way, until ctx ends: at least one disturbance of each kind.
func (r *teamRun) harass(ctx context.Context, lasting time.Duration) {
	wait := func(d time.Duration) {
		select {
		case <-time.After(d):
		case <-ctx.Done():
		}
	}
	kinds := 3
	if r.bare != "" {
		kinds = 4
	}
	for n := 0; ctx.Err() == nil && (lasting > 0 || n < kinds); n++ {
		wait(time.Duration(1000+rand.IntN(1500)) * time.Millisecond)
		m := r.members[(n+n/kinds)%3]
		beyond := teamLease + time.Duration(rand.IntN(3000))*time.Millisecond
		switch n % kinds {
		case 0:
			r.acts["kill"]++
			m.signal(syscall.SIGKILL)
			<-m.exited
			wait(time.Second)
			r.start(m)
		case 1:
			r.acts["stop"]++
			m.signal(syscall.SIGSTOP)
			wait(beyond)
			m.signal(syscall.SIGCONT)
		case 2:
			r.acts["cut"]++
			m.cut.set(true)
			wait(beyond)
			m.cut.set(false)
		case 3:
			r.acts["remote"]++
			r.remote(false)
			wait(beyond)
			r.remote(true)
		}
		if n == kinds-1 {
			close(r.disturbed)
		}
	}
}

// git runs git as a person does.
func (r *teamRun) git(args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Errorf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// remote takes the remote down or brings it back.
func (r *teamRun) remote(up bool) {
	from, to := r.bare, r.bare+".down"
	if up {
		from, to = to, from
	}
	if err := os.Rename(from, to); err != nil {
		r.t.Error(err)
	}
}

// tidied waits until nothing of the tasks is left at the remote, now that all have ended.
func (r *teamRun) tidied() {
	if r.bare == "" {
		return
	}
	for _, m := range r.members {
		m.signal(syscall.SIGCONT)
		m.cut.set(false)
	}
	left := ""
	for end := time.Now().Add(3 * time.Minute); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		if left = r.git("--git-dir", r.bare, "for-each-ref", "refs/arbiter"); left == "" {
			return
		}
	}
	r.t.Errorf("at the remote is left\n%s", left)
}

// admin submits and decides through whichever coordinator answers, with ids that make a decision sent twice one decision.
func (r *teamRun) admin(tasks int, lasting time.Duration) {
	r.t.Helper()
	deadline := time.Now().Add(lasting + 5*time.Minute)
	for n := 0; ; {
		if time.Now().After(deadline) {
			r.t.Error("the tasks do not end")
			return
		}
		m := r.members[rand.IntN(len(r.members))]
		ctx, cancel := context.WithTimeout(r.t.Context(), 4*time.Second)
		page, err := m.client.Query(ctx, amp.Query{Kind: amp.QueryBoard})
		cancel()
		if err != nil {
			time.Sleep(50 * time.Millisecond)
			continue
		}
		open := 0
		for _, id := range page.Board.Order {
			task := page.Board.Task(id)
			if !task.Status.Ended() {
				open++
			}
			if cmd := r.decision(task); cmd != nil {
				r.send(m, *cmd)
			}
		}
		n = max(n, len(page.Board.Order))
		more := n < tasks || time.Since(r.began) < lasting
		select {
		case <-r.disturbed:
		default:
			more = true
		}
		switch {
		case more && open < 12:
			r.send(m, amp.Command{ID: fmt.Sprintf("submit-%d", n), Command: amp.Submit, Args: amp.Args{Wish: &amp.Wish{
				Text: scripted.Scenarios[0].Wish, Repo: m.repo, Branch: fmt.Sprintf("feature/t-%d", n), Risk: amp.Low,
			}}})
		case !more && open == 0:
			return
		default:
			time.Sleep(100 * time.Millisecond)
		}
	}
}

func (r *teamRun) decision(t *amp.Task) *amp.Command {
	cmd := &amp.Command{TaskID: t.ID, Expects: &amp.Expects{Status: t.Status, Revision: t.Revision}}
	switch t.Status {
	case amp.AwaitingApproval:
		cmd.Command = amp.Approve
	case amp.StatusApproved:
		cmd.Command = amp.Terminate
	case amp.Suspended, amp.Held, amp.Locked:
		cmd.Command, cmd.Note = amp.Terminate, "unexpected"
	default:
		return nil
	}
	cmd.ID = fmt.Sprintf("%s-%s-%d", cmd.Command, t.ID, t.Revision)
	return cmd
}

// send sends a command. That it is refused since another coordinator was faster is no fault, nor that nobody answers.
func (r *teamRun) send(m *teamMember, cmd amp.Command) {
	cmd.By = "mira"
	ctx, cancel := context.WithTimeout(r.t.Context(), 4*time.Second)
	defer cancel()
	_, _ = m.client.Submit(ctx, cmd)
}

// knows waits until a coordinator sees all three, and holds what a person reads of that.
func (r *teamRun) knows(m *teamMember) {
	var state amp.CoordinatorState
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(r.t.Context(), 4*time.Second)
		s, err := m.client.Status(ctx)
		cancel()
		if state = s; err == nil && s.Team != nil && len(s.Team.Members) == 3 {
			break
		}
	}
	if state.Team == nil || len(state.Team.Members) != 3 || !strings.HasPrefix(state.Team.Owner, m.name+"-") {
		r.t.Errorf("%s knows of %+v", m.name, state.Team)
	}
	code, out, errs := arbiter(r.t, "", "--home", m.home, "--config", m.config, "status")
	if code != 0 || !strings.Contains(out, "(this one)") || strings.Count(out, "acts on") != 3 {
		r.t.Errorf("arbiter status of %s: %d\n%s%s", m.name, code, out, errs)
	}
}

// answers waits until a coordinator does.
func (r *teamRun) answers(m *teamMember) {
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(r.t.Context(), 4*time.Second)
		_, err := m.client.Status(ctx)
		cancel()
		if err == nil {
			return
		}
	}
	r.t.Errorf("%s does not answer", m.name)
}

// end stops the coordinators.
func (r *teamRun) end() {
	for _, m := range r.members {
		m.signal(syscall.SIGCONT)
		m.cut.set(false)
	}
	for _, m := range r.members {
		r.knows(m)
	}
	for _, m := range r.members {
		r.answers(m) // one that is told to end while it starts says that it was interrupted
		m.signal(syscall.SIGTERM)
	}
	for _, m := range r.members {
		select {
		case err := <-m.exited:
			if err != nil {
				r.t.Errorf("%s ended with %v", m.name, err)
			}
		case <-time.After(2 * time.Minute):
			r.t.Errorf("%s does not end", m.name)
		}
	}
}

// judge holds the journal to what must be true of it.
func (r *teamRun) judge() {
	r.t.Helper()
	log, err := postgres.OpenReadOnly(r.t.Context(), postgres.Options{URL: r.db.URL(r.schema)})
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() {
		if err := log.Close(); err != nil {
			r.t.Error(err)
		}
	}()
	var all []amp.Entry
	for {
		page, err := log.Read(r.t.Context(), amp.Filter{After: uint64(len(all)), Limit: ssot.MaxPage})
		if err != nil {
			r.t.Fatal(err)
		}
		if all = append(all, page...); len(page) < ssot.MaxPage {
			break
		}
	}
	for _, err := range ssottest.CheckRounds(all) {
		r.t.Error(err)
	}
	report, err := log.Verify(r.t.Context(), func(uint64, uint64) {})
	if err := errors.Join(err, report.Err("the journal")); err != nil {
		r.t.Error(err)
	}
	board, err := ssot.Fold(r.t.Context(), log)
	if err != nil {
		r.t.Fatal(err)
	}
	late := 0
	for _, id := range board.Order {
		task := board.Task(id)
		late += task.Late
		if task.Status != amp.Terminated || task.RejectTotal != scripted.Scenarios[0].Rejects || task.Round != scripted.Scenarios[0].Rounds || len(task.Escalations) > 0 {
			r.t.Errorf("%s is %s after %d rounds and %d rejects, escalations %+v\n%s", id, task.Status, task.Round, task.RejectTotal, task.Escalations, told(all, id))
		}
	}
	outcomes, owners := map[amp.TurnOutcome]int{}, map[string]int{}
	for i := range all {
		if u, err := amp.DecodeBody[amp.Turn](&all[i]); all[i].Kind == amp.KindTurn && err == nil && u.Event == amp.TurnEnded {
			outcomes[u.Outcome]++
			owners[u.Owner]++
		}
	}
	r.t.Logf("%d tasks, %d entries in %s; %v; turns %v by %v; late reports %d", len(board.Order), len(all), time.Since(r.began).Round(time.Second), r.acts, outcomes, owners, late)
}

// told is what the journal has of a task, an entry in a line.
func told(all []amp.Entry, id amp.TaskID) string {
	var b strings.Builder
	for _, e := range all {
		if e.TaskID == id {
			fmt.Fprintf(&b, "%d %s %s %s %s %.1500s\n", e.Seq, e.At.Format("15:04:05.000"), e.Kind, e.Role, e.Actor, e.Body)
		}
	}
	return b.String()
}

// cutter is the way of one coordinator to the database, which can be cut.
type cutter struct {
	dir    string
	target string

	mu    sync.Mutex
	off   bool
	conns []net.Conn
}

func newCutter(t *testing.T, target string) *cutter {
	t.Helper()
	dir, err := os.MkdirTemp("", "cut")
	if err != nil {
		t.Fatal(err)
	}
	c := &cutter{dir: dir, target: target}
	l, err := net.Listen("unix", filepath.Join(dir, ".s.PGSQL.5432"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.set(true)
		if err := errors.Join(l.Close(), os.RemoveAll(dir)); err != nil {
			t.Error(err)
		}
	})
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			go c.join(in)
		}
	}()
	return c
}

func (c *cutter) join(in net.Conn) {
	out, err := net.Dial("unix", c.target)
	if err != nil {
		_ = in.Close()
		return
	}
	c.mu.Lock()
	c.conns = append(c.conns, in, out)
	off := c.off
	c.mu.Unlock()
	if off {
		_, _ = in.Close(), out.Close()
		return
	}
	go func() { _, _ = io.Copy(out, in); _ = out.Close() }()
	_, _ = io.Copy(in, out)
	_ = in.Close()
}

// set cuts every connection and lets none through, or lets them through again.
func (c *cutter) set(off bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.off = off
	if off {
		for _, conn := range c.conns {
			_ = conn.Close()
		}
		c.conns = nil
	}
}
