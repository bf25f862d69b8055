package arbiter_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"arbiter/amp"
	"arbiter/server"
	"arbiter/ssot"
	"arbiter/ssot/sqlite"
)

// TestMain lets the test binary be the agents of the kill test.
func TestMain(m *testing.M) {
	if role := os.Getenv("KILL_TEST_AGENT"); role != "" {
		if err := agent(role); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

const (
	killTasks   = 20
	killsQuick  = 12
	maxRejects  = 4
	killVariant = "ARBITER_KILLS" // how many kills; 200 before a release
)

// The coordinator is killed with SIGKILL at random moments while tasks run. After each restart the journal verifies; at the end
// every task stands where it would have stood, with no message lost or doubled, and the default branch is as it was.
func TestKill(t *testing.T) {
	if testing.Short() {
		t.Skip("starts and kills the real program many times")
	}
	t.Parallel()
	kills := killsQuick
	if n, err := strconv.Atoi(os.Getenv(killVariant)); err == nil {
		kills = n
	}
	k := newKillRig(t)
	seed := rand.Uint64()
	t.Logf("seed %d, %d kills", seed, kills)
	rng := rand.New(rand.NewPCG(seed, 1))
	ctx, cancel := context.WithCancel(t.Context())
	k.kills = int64(kills)
	adminDone := make(chan error, 1)
	go func() { adminDone <- k.admin(ctx) }()
	var head uint64
	for n := range kills {
		p := k.serve()
		k.await(p)
		wait(t, time.Duration(10+rng.IntN(600))*time.Millisecond)
		if err := p.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = p.Wait()
		if ws := p.ProcessState.Sys().(syscall.WaitStatus); ws.Signal() != syscall.SIGKILL {
			t.Fatalf("kill %d: the coordinator ended by itself: %v\n%s", n, p.ProcessState, k.logs())
		}
		k.killed.Add(1)
		got := k.verify()
		if got < head {
			t.Fatalf("kill %d: the journal shrank from %d to %d", n, head, got)
		}
		head = got
	}
	p := k.serve()
	k.await(p)
	if err := k.ends(adminDone); err != nil {
		cancel()
		t.Fatalf("%v\n%s\n%s", err, k.summary(), k.logs())
	}
	cancel()
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(); err != nil {
		t.Errorf("the coordinator did not end well: %v\n%s", err, k.logs())
	}
	k.verify()
	k.judge()
	t.Logf("%d kills, %d turns lost and run again, %d commands sent again", kills, k.lost, k.again.Load())
}

// ends waits until the admin is done, for as long as something is written: how long the tasks take is the machine's doing.
func (k *killRig) ends(done <-chan error) error {
	const still = 90 * time.Second
	look := time.NewTicker(time.Second)
	defer look.Stop()
	var head uint64
	moved := time.Now()
	for {
		select {
		case err := <-done:
			return err
		case now := <-look.C:
			if page, err := k.client.Query(k.t.Context(), amp.Query{Kind: amp.QueryBoard}); err == nil && page.Board.Head.Seq != head {
				head, moved = page.Board.Head.Seq, now
			}
			if now.Sub(moved) > still {
				return fmt.Errorf("nothing was written for %v behind entry %d, and tasks have not ended", still, head)
			}
		}
	}
}

// wait lets real time pass: the kill must hit a running program at a moment nobody chose.
func wait(t *testing.T, d time.Duration) {
	t.Helper()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.Context().Done():
	}
}

type killRig struct {
	t              *testing.T
	bin, home      string
	repo, config   string
	client         *server.Client
	main           string
	again, killed  atomic.Int64
	kills          int64
	lost           int
	logFile, temp  string
	expectedReject func(n int) int
}

func newKillRig(t *testing.T) *killRig {
	t.Helper()
	dir := t.TempDir()
	k := &killRig{
		t: t, bin: filepath.Join(dir, "arbiter"), home: filepath.Join(dir, "home"), repo: filepath.Join(dir, "repo"),
		config: filepath.Join(dir, "config.toml"), logFile: filepath.Join(dir, "serve.log"), temp: filepath.Join(dir, "temp"),
		expectedReject: func(n int) int { return n % (maxRejects + 1) },
	}
	if err := os.Mkdir(k.temp, 0o700); err != nil {
		t.Fatal(err)
	}
	k.run("", "go", "build", "-o", k.bin, "./cmd/arbiter")
	for _, args := range [][]string{{"init", "-q", "-b", "main", k.repo}, {"-C", k.repo, "commit", "-q", "--allow-empty", "-m", "start"}} {
		k.run("", "git", append([]string{"-c", "user.name=t", "-c", "user.email=t@t.invalid"}, args...)...)
	}
	k.main = k.run(k.repo, "git", "rev-parse", "main")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, role := range []string{"coordinator", "executor", "reviewer"} {
		fmt.Fprintf(&b, "[agents.%s]\nkind = \"command\"\nsandbox = \"off\"\nargv = [%q]\nenv = { KILL_TEST_AGENT = %q }\n", role, self, role)
	}
	b.WriteString("[roles]\ncoordinator = \"coordinator\"\nexecutor = \"executor\"\nreviewer = \"reviewer\"\n")
	b.WriteString("[policy]\nslots = 4\n")
	if err := os.WriteFile(k.config, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	k.client = server.NewClient(k.home, server.Sentinels{})
	return k
}

func (k *killRig) run(dir, name string, args ...string) string {
	k.t.Helper()
	c := exec.Command(name, args...)
	c.Dir = dir
	out, err := c.CombinedOutput()
	if err != nil {
		k.t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (k *killRig) serve() *exec.Cmd {
	k.t.Helper()
	log, err := os.OpenFile(k.logFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		k.t.Fatal(err)
	}
	defer log.Close()
	p := exec.Command(k.bin, "--home", k.home, "--config", k.config, "serve")
	p.Stdout, p.Stderr = log, log
	p.Env = append(os.Environ(), "TMPDIR="+k.temp) // what is killed cleans nothing up
	if err := p.Start(); err != nil {
		k.t.Fatal(err)
	}
	k.t.Cleanup(func() { _ = p.Process.Kill() })
	return p
}

// await returns when the coordinator answers, so that a kill hits one that has begun.
func (k *killRig) await(p *exec.Cmd) {
	k.t.Helper()
	for range 600 {
		if _, err := k.client.Status(k.t.Context()); err == nil {
			return
		}
		if err := p.Process.Signal(syscall.Signal(0)); err != nil {
			break
		}
		wait(k.t, 20*time.Millisecond)
	}
	k.t.Fatalf("the coordinator does not answer\n%s", k.logs())
}

func (k *killRig) logs() string {
	data, _ := os.ReadFile(k.logFile)
	return string(data[max(0, len(data)-4000):])
}

// verify walks the whole journal offline and returns its length.
func (k *killRig) verify() uint64 {
	k.t.Helper()
	log, err := sqlite.OpenReadOnly(context.Background(), k.home)
	if err != nil {
		k.t.Fatal(err)
	}
	defer log.Close()
	report, err := log.Verify(context.Background(), nil)
	if err != nil {
		k.t.Fatalf("verify: %v", err)
	}
	if err := report.Err(k.home); err != nil {
		k.t.Fatalf("the journal does not verify: %v", err)
	}
	head, err := log.Head(context.Background())
	if err != nil {
		k.t.Fatal(err)
	}
	return head.Seq
}

// admin submits every wish, approves every plan and unlocks every lock, and repeats what was not acknowledged.
func (k *killRig) admin(ctx context.Context) error {
	for ctx.Err() == nil {
		page, err := k.client.Query(ctx, amp.Query{Kind: amp.QueryBoard})
		if err == nil {
			cmd, todo, err := k.decide(page.Board)
			if err != nil || !todo {
				return err
			}
			if cmd != nil {
				if _, err = k.client.Submit(ctx, *cmd); err != nil {
					k.again.Add(1)
				}
				if r, ok := errors.AsType[*amp.RefusedError](err); ok {
					return fmt.Errorf("%s of %s: %w", cmd.Command, cmd.TaskID, r)
				}
				continue
			}
		}
		wait(k.t, 20*time.Millisecond)
	}
	return ctx.Err()
}

func (k *killRig) decide(b *amp.Board) (cmd *amp.Command, todo bool, err error) {
	n := len(b.Order)
	// the wishes come one after the other, so that tasks run until the last kill
	if n < killTasks && k.killed.Load()*killTasks >= k.kills*int64(n)*9/10 {
		return &amp.Command{
			ID: fmt.Sprintf("submit-%d", n+1), Command: amp.Submit, By: "mira",
			Args: amp.Args{Wish: &amp.Wish{Text: fmt.Sprintf("rejects=%d", k.expectedReject(n)), Repo: k.repo}},
		}, true, nil
	}
	todo = n < killTasks
	for _, id := range b.Order {
		t := b.Task(id)
		key := fmt.Sprintf("%s-%d", id, t.Revision)
		switch t.Status {
		case amp.AwaitingApproval:
			return &amp.Command{ID: "approve-" + key, Command: amp.Approve, By: "mira", TaskID: id, Expects: &amp.Expects{Hash: t.Plan.Hash}}, true, nil
		case amp.Locked:
			if t.Proof != 0 {
				return &amp.Command{ID: "unlock-" + key, Command: amp.Unlock, By: "mira", TaskID: id, Note: "again", Args: amp.Args{Next: amp.Redispatch}}, true, nil
			}
			todo = true
		case amp.Suspended, amp.Held:
			return nil, false, fmt.Errorf("%s is %s: %+v %+v", id, t.Status, t.Hold, t.OpenEscalations())
		case amp.StatusApproved:
		default:
			todo = true
		}
	}
	return nil, todo, nil
}

func (k *killRig) summary() string {
	page, err := k.client.Query(context.Background(), amp.Query{Kind: amp.QueryBoard})
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	for _, id := range page.Board.Order {
		t := page.Board.Task(id)
		fmt.Fprintf(&b, "%s %s round %d turn %v next %q\n", id, t.Status, t.Round, t.Turn != nil, t.Next)
	}
	return b.String()
}

// judge compares the end with what it would have been without a kill.
func (k *killRig) judge() {
	log, err := sqlite.OpenReadOnly(context.Background(), k.home)
	if err != nil {
		k.t.Fatal(err)
	}
	defer log.Close()
	board, err := ssot.Fold(context.Background(), log)
	if err != nil {
		k.t.Fatal(err)
	}
	if len(board.Order) != killTasks {
		k.t.Errorf("%d tasks, want %d", len(board.Order), killTasks)
	}
	turns, err := log.Read(context.Background(), amp.Filter{Kinds: []amp.Kind{amp.KindTurn}, Text: `"outcome":"lost"`})
	if err != nil {
		k.t.Fatal(err)
	}
	if k.lost = len(turns); k.lost == 0 {
		k.t.Error("no kill hit a running turn")
	}
	for n, id := range board.Order {
		t, rejects := board.Task(id), k.expectedReject(n)
		if t.RejectTotal != rejects || t.Turn != nil || len(t.Open) != 0 {
			k.t.Errorf("%s: %d rejects, want %d; turn %v, open %v", id, t.RejectTotal, rejects, t.Turn, t.Open)
		}
		if tip := k.run(k.repo, "git", "rev-parse", t.Plan.Branch); tip != t.Commit {
			k.t.Errorf("%s: %s is at %s, the journal says %s", id, t.Plan.Branch, tip, t.Commit)
		}
		if got := k.run(k.repo, "git", "rev-list", "--count", "main.."+t.Plan.Branch); got != strconv.Itoa(rejects+1) {
			k.t.Errorf("%s: %s commits, want %d", id, got, rejects+1)
		}
		count := map[amp.MessageType]int{}
		entries, err := log.Read(context.Background(), amp.Filter{TaskID: id, Kinds: []amp.Kind{amp.KindMessage}})
		if err != nil {
			k.t.Fatal(err)
		}
		for _, e := range entries {
			m, _, err := amp.Decode(e.Body)
			if err != nil {
				k.t.Fatal(err)
			}
			count[m.Type]++
		}
		for _, typ := range []amp.MessageType{amp.TaskDispatch, amp.TaskResult, amp.ReviewRequest, amp.ReviewVerdict} {
			if count[typ] != rejects+1 {
				k.t.Errorf("%s: %d of %s, want %d", id, count[typ], typ, rejects+1)
			}
		}
	}
	if tip := k.run(k.repo, "git", "rev-parse", "main"); tip != k.main {
		k.t.Errorf("main moved from %s to %s", k.main, tip)
	}
	if left := processesWith("KILL_TEST_AGENT="); len(left) > 0 {
		k.t.Errorf("agents are left: %v", left)
	}
}

// processesWith finds processes whose environment holds a mark.
func processesWith(mark string) []string {
	var left []string
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, f := range files {
		if env, err := os.ReadFile(f); err == nil && bytes.Contains(env, []byte(mark)) {
			left = append(left, f)
		}
	}
	return left
}

// agent is one turn of an agent: it appends a line to a file and says so, or judges by the number of rejects in its message.
func agent(role string) error {
	var in struct {
		Message struct {
			MsgID   string `json:"msg_id"`
			TaskID  string `json:"task_id"`
			Payload struct {
				Description        string   `json:"description"`
				AcceptanceCriteria []string `json:"acceptance_criteria"`
			} `json:"payload"`
		} `json:"message"`
		Context []json.RawMessage `json:"context"`
	}
	if err := json.NewDecoder(os.Stdin).Decode(&in); err != nil {
		return err
	}
	nap := time.NewTimer(time.Duration(rand.IntN(250)) * time.Millisecond)
	say := func(v any) error { return json.NewEncoder(os.Stdout).Encode(v) }
	final := func(p any) error {
		<-nap.C
		return say(map[string]any{"event": "final", "payload": p})
	}
	if role == "coordinator" {
		var c struct{ Wish amp.Wish }
		if err := json.Unmarshal(in.Context[0], &c); err != nil {
			return err
		}
		return final(map[string]any{
			"title": "Append", "description": c.Wish.Text, "risk_level": "low",
			"subtasks":            []any{map[string]any{"subtask_id": "S1", "description": "append a line", "estimated_lines": 1}},
			"acceptance_criteria": []string{"a line is appended"}, "allowed_paths": []string{"log-*.txt"},
		})
	}
	if err := say(map[string]any{"event": "ack", "status": "accepted", "echoed_acceptance_criteria": in.Message.Payload.AcceptanceCriteria}); err != nil {
		return err
	}
	if role == "executor" {
		name := "log-" + in.Message.TaskID + ".txt"
		f, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintln(f, in.Message.MsgID); err != nil {
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
		return final(map[string]any{
			"subtask_id": "S1", "completion_status": "complete", "work_log": []any{},
			"diff_summary":    map[string]any{"files_changed": []string{name}, "lines_added": 1, "lines_removed": 0},
			"self_assessment": map[string]any{"criteria_met": []any{true}, "notes": []string{"appended"}},
		})
	}
	return judgeWork(in.Message.TaskID, in.Context, final)
}

// judgeWork rejects until the file has one line more than the rejects that the wish asks for.
func judgeWork(task string, context []json.RawMessage, final func(any) error) error {
	want := -1
	for _, c := range context {
		var m struct {
			Payload struct {
				Description string `json:"description"`
			} `json:"payload"`
		}
		if json.Unmarshal(c, &m) == nil && m.Payload.Description != "" {
			if _, err := fmt.Sscanf(m.Payload.Description, "rejects=%d", &want); err != nil {
				return err
			}
		}
	}
	data, err := os.ReadFile("log-" + task + ".txt")
	if err != nil {
		return err
	}
	ok := bytes.Count(data, []byte("\n")) > want
	v := map[string]any{
		"decision": "approved", "confidence": 0.9,
		"criteria_results": []any{map[string]any{"criterion": "a line is appended", "passed": ok, "evidence": "counted"}},
	}
	if !ok {
		v["decision"] = "rejected"
		v["issues"] = []any{map[string]any{"severity": "major", "file": "log.txt", "line": 1, "description": "too few lines", "suggested_fix": "append"}}
	}
	return final(v)
}
