package scripted

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"arbiter/amp"
	"arbiter/providers"
	"arbiter/providers/command"
)

// agentVar makes the test binary be the demo's agent.
const agentVar = "SCRIPTED_TEST_AGENT"

func TestMain(m *testing.M) {
	if os.Getenv(agentVar) != "" {
		os.Exit(Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	goleak.VerifyTestMain(m)
}

// desk plays coordinator, git work and admin for one task, as far as the agents can tell.
type desk struct {
	t     *testing.T
	repo  string
	tree  string
	homes string
	base  string
	task  amp.TaskID
	plan  amp.Plan
	n     int
	run   func(turn providers.Turn) (json.RawMessage, []providers.Event, error)
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	dir := t.TempDir()
	d := &desk{t: t, repo: filepath.Join(dir, "till"), tree: filepath.Join(dir, "tree"), homes: filepath.Join(dir, "homes"), task: "T-2026-001"}
	if err := Repository(d.repo); err != nil {
		t.Fatal(err)
	}
	d.base = d.git(d.repo, "rev-parse", "HEAD")
	d.run = d.process
	return d
}

func (d *desk) git(dir string, args ...string) string {
	d.t.Helper()
	cmd := exec.CommandContext(d.t.Context(), "git", append([]string{"-c", "user.name=t", "-c", "user.email=t@localhost"}, args...)...)
	cmd.Dir, cmd.Env = dir, withoutGit(os.Environ())
	out, err := cmd.CombinedOutput()
	if err != nil {
		d.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (d *desk) check() bool {
	cmd := exec.CommandContext(d.t.Context(), d.plan.Checks[0][0], d.plan.Checks[0][1:]...)
	cmd.Dir = d.tree
	return cmd.Run() == nil
}

// process runs a turn as a process through the command adapter.
func (d *desk) process(turn providers.Turn) (json.RawMessage, []providers.Event, error) {
	self, err := os.Executable()
	if err != nil {
		d.t.Fatal(err)
	}
	a, err := command.New(command.Config{Argv: []string{self, "--role", string(turn.Role)}, Env: map[string]string{agentVar: "1", "GORACE": "atexit_sleep_ms=0"}})
	if err != nil {
		d.t.Fatal(err)
	}
	var events []providers.Event
	out, err := a.Run(d.t.Context(), turn, func(e providers.Event) { events = append(events, e) })
	return out.Final, events, err
}

func (d *desk) turn(role amp.Role, dir string) providers.Turn {
	d.n++
	home := filepath.Join(d.homes, string(role))
	if err := os.MkdirAll(home, 0o700); err != nil {
		d.t.Fatal(err)
	}
	return providers.Turn{
		ID: "scripted-" + rand.Text(), Task: d.task, Role: role, Epoch: 1,
		Dir: dir, Home: home, Limits: providers.Limits{Grace: 100 * time.Millisecond},
	}
}

// message is an AMP message as the agents see it.
func (d *desk) message(typ amp.MessageType, payload any) json.RawMessage {
	d.n++
	raw, err := json.Marshal(map[string]any{
		"msg_id": fmt.Sprintf("%s-%s-%013d", typ, d.task, d.n), "protocol_version": amp.Version, "type": typ, "payload": payload,
	})
	if err != nil {
		d.t.Fatal(err)
	}
	return raw
}

func answer[T any](d *desk, turn providers.Turn) (T, []providers.Event) {
	d.t.Helper()
	final, events, err := d.run(turn)
	if err != nil {
		d.t.Fatalf("turn of the %s: %v\n%v", turn.Role, err, texts(events))
	}
	var v T
	dec := json.NewDecoder(bytes.NewReader(final))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&v); err != nil {
		d.t.Fatalf("answer of the %s: %v\n%s", turn.Role, err, final)
	}
	return v, events
}

func texts(events []providers.Event) string {
	var b strings.Builder
	for _, e := range events {
		fmt.Fprintln(&b, e.Type, e.Text)
	}
	return b.String()
}

// propose lets the planner plan and opens the task's worktree.
func (d *desk) propose(s Scenario) {
	d.t.Helper()
	turn := d.turn(amp.Coordinator, d.repo)
	raw, err := json.Marshal(map[string]any{"wish": amp.Wish{Text: s.Wish, Title: s.Title, Repo: d.repo}, "repo": map[string]any{}})
	if err != nil {
		d.t.Fatal(err)
	}
	turn.Context = []json.RawMessage{raw}
	d.plan, _ = answer[amp.Plan](d, turn)
	if d.plan.Branch != s.Branch || d.plan.RiskLevel != s.Risk || d.plan.Title != s.Title || d.plan.TechConstraints[constraint] != s.Name {
		d.t.Errorf("plan = %+v, want branch, risk and title of the scenario", d.plan)
	}
	if out := d.git(d.repo, "status", "--porcelain"); out != "" {
		d.t.Errorf("the planner changed the repository: %s", out)
	}
	d.git(d.repo, "worktree", "add", "-q", "-b", s.Branch, d.tree, d.base)
	if d.check() {
		d.t.Error("the check passes before any work")
	}
}

// attempt is one round of the executor: its report and what git says of it.
type attempt struct {
	result  amp.Result
	raw     json.RawMessage
	acked   []string
	files   []string
	tip     string
	refuted bool
	passed  bool
	events  []providers.Event
}

func (d *desk) dispatch(subtask int, guidance string, context ...json.RawMessage) (json.RawMessage, attempt) {
	d.t.Helper()
	p := d.plan
	desc := p.Description
	if guidance != "" {
		desc += "\n\nGuidance: " + guidance
	}
	msg := d.message(amp.TaskDispatch, amp.Dispatch{
		Description: desc, Repo: d.repo, Branch: p.Branch, Subtasks: p.Subtasks, AcceptanceCriteria: p.AcceptanceCriteria,
		RiskLevel: p.RiskLevel, TechConstraints: p.TechConstraints,
	})
	turn := d.turn(amp.Executor, d.tree)
	turn.Message, turn.Context, turn.Subtask = msg, context, p.Subtasks[subtask].SubtaskID
	start := d.git(d.tree, "rev-parse", "HEAD")
	var a attempt
	a.result, a.events = answer[amp.Result](d, turn)
	for _, e := range a.events {
		if e.Ack != nil {
			a.acked = e.Ack.EchoedAcceptanceCriteria
		}
	}
	if d.git(d.tree, "status", "--porcelain") != "" {
		d.git(d.tree, "add", "-A")
		d.git(d.tree, "commit", "-q", "-m", "left uncommitted")
		if a.result.CommitHash != "" && a.result.CommitHash != fakeCommit {
			d.t.Errorf("the report names commit %s although files were left uncommitted", a.result.CommitHash)
		}
	}
	a.tip = d.git(d.tree, "rev-parse", "HEAD")
	a.files = strings.Fields(d.git(d.tree, "diff", "--name-only", start, "HEAD"))
	added, removed := 0, 0
	for line := range strings.Lines(d.git(d.tree, "diff", "--numstat", start, "HEAD")) {
		var n, m int
		fmt.Sscan(line, &n, &m)
		added, removed = added+n, removed+m
	}
	sum := a.result.DiffSummary
	a.refuted = !slices.Equal(sum.FilesChanged, a.files) && len(sum.FilesChanged)+len(a.files) > 0 || sum.LinesAdded != added ||
		sum.LinesRemoved != removed || a.result.CommitHash != "" && a.result.CommitHash != a.tip
	a.passed = d.check()
	a.raw = d.message(amp.TaskResult, a.result)
	if !slices.Equal(a.acked, p.AcceptanceCriteria) {
		d.t.Errorf("acknowledged criteria = %q, want %q", a.acked, p.AcceptanceCriteria)
	}
	if a.result.SubtaskID != turn.Subtask || len(a.result.SelfAssessment.CriteriaMet) != len(p.AcceptanceCriteria) || len(a.result.WorkLog) == 0 {
		d.t.Errorf("result = %+v", a.result)
	}
	return msg, a
}

func (d *desk) review(dispatch json.RawMessage, a attempt) (amp.Verdict, json.RawMessage) {
	d.t.Helper()
	tree := filepath.Join(d.t.TempDir(), "review")
	d.git(d.repo, "worktree", "add", "-q", "--detach", tree, a.tip)
	turn := d.turn(amp.Reviewer, tree)
	turn.Message = d.message(amp.ReviewRequest, amp.Request{ReviewScope: amp.Full, DiffURL: "file:///x"})
	turn.Context = []json.RawMessage{dispatch, a.raw}
	v, events := answer[amp.Verdict](d, turn)
	if !slices.ContainsFunc(events, func(e providers.Event) bool { return e.Ack != nil && e.Ack.Status == amp.AckAccepted }) {
		d.t.Error("the reviewer did not acknowledge")
	}
	if out := d.git(tree, "status", "--porcelain"); out != "" {
		d.t.Errorf("the reviewer left changes: %s", out)
	}
	if len(v.CriteriaResults) != len(d.plan.AcceptanceCriteria) {
		d.t.Errorf("%d criteria judged, want %d", len(v.CriteriaResults), len(d.plan.AcceptanceCriteria))
	}
	return v, d.message(amp.ReviewVerdict, v)
}

// guide is the admin's note for the given status.
func guide(s Scenario, when amp.Status) string {
	for _, dec := range s.Decisions {
		if dec.When == when {
			return dec.Note
		}
	}
	return ""
}

// TestScenarios plays every scenario but the two that end otherwise with real agents, in the order the coordinator would.
func TestScenarios(t *testing.T) {
	t.Parallel()
	for _, s := range Scenarios {
		if s.behaviour.silent || s.behaviour.strays {
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			d.propose(s)
			rounds, rejects, refuted, held := 0, 0, false, false
			guidance := ""
			var context []json.RawMessage
			for subtask := 0; subtask < len(d.plan.Subtasks); {
				if rounds++; rounds > 8 {
					t.Fatal("the task does not end")
				}
				dispatch, a := d.dispatch(subtask, guidance, context...)
				guidance = ""
				if a.refuted {
					refuted = true
					guidance = "The report was compared with git and refuted: commit: no such commit"
					context = []json.RawMessage{dispatch, a.raw}
					continue
				}
				if !a.passed {
					t.Fatalf("the check fails after round %d: no scenario of the demo is about that", rounds)
				}
				v, verdict := d.review(dispatch, a)
				context = []json.RawMessage{dispatch, a.raw, verdict}
				if v.Decision == amp.Rejected {
					rejects++
					if len(v.Issues) == 0 || v.Issues[0].Line < 2 || v.Issues[0].File != partOf(s.part).file() {
						t.Errorf("issues = %+v, want one in the part's line", v.Issues)
					}
					if rejects == 3 {
						guidance = guide(s, amp.Locked)
					}
					continue
				}
				for _, c := range v.CriteriaResults {
					if c.Passed == nil || !*c.Passed || c.Evidence == "" {
						t.Errorf("approved with criterion %+v", c)
					}
				}
				held = held || v.Confidence < 0.8
				subtask++
			}
			if rounds != s.Rounds || rejects != s.Rejects || refuted != s.Refuted || held != (s.Hold == amp.HoldVerdict) {
				t.Errorf("rounds %d, rejects %d, refuted %v, held %v; want %d, %d, %v, %v", rounds, rejects, refuted, held,
					s.Rounds, s.Rejects, s.Refuted, s.Hold == amp.HoldVerdict)
			}
			if files := strings.Fields(d.git(d.tree, "diff", "--name-only", d.base, "HEAD")); !slices.Equal(files, partOf(s.part).files()) {
				t.Errorf("changed files = %v, want %v", files, partOf(s.part).files())
			}
			if now := d.git(d.repo, "rev-parse", defaultBranch); now != d.base {
				t.Errorf("%s moved from %s to %s", defaultBranch, d.base, now)
			}
		})
	}
}

// TestMain_inProcess plays a round with Main as a function, at a pace.
func TestMain_inProcess(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.run = func(turn providers.Turn) (json.RawMessage, []providers.Event, error) {
		in := map[string]any{
			"protocol": "arbiter-command/1", "turn": map[string]any{"id": turn.ID, "task_id": turn.Task, "role": turn.Role, "subtask_id": turn.Subtask},
			"message": turn.Message, "context": turn.Context, "dir": turn.Dir, "home": turn.Home,
		}
		raw, err := json.Marshal(in)
		if err != nil {
			return nil, nil, err
		}
		var out, errs bytes.Buffer
		if exit := Main([]string{"--role", string(turn.Role), "--pace", "1ms"}, bytes.NewReader(raw), &out, &errs); exit != 0 {
			return nil, nil, fmt.Errorf("exit %d: %s", exit, errs.String())
		}
		var final json.RawMessage
		var events []providers.Event
		for line := range strings.Lines(out.String()) {
			var l struct {
				Event    string          `json:"event"`
				Status   amp.AckStatus   `json:"status"`
				Criteria []string        `json:"echoed_acceptance_criteria"`
				Payload  json.RawMessage `json:"payload"`
			}
			if err := json.Unmarshal([]byte(line), &l); err != nil {
				return nil, nil, err
			}
			switch l.Event {
			case "ack":
				events = append(events, providers.Event{Type: providers.EventAck, Ack: &amp.Ack{Status: l.Status, EchoedAcceptanceCriteria: l.Criteria}})
			case "final":
				final = l.Payload
			}
		}
		return final, events, nil
	}
	s := *scenarioOf("unsure")
	d.propose(s)
	dispatch, a := d.dispatch(0, "")
	if v, _ := d.review(dispatch, a); v.Decision != amp.Approved || v.Confidence != unsure || !a.passed || a.refuted {
		t.Errorf("verdict %+v, passed %v, refuted %v", v, a.passed, a.refuted)
	}
}

// TestScenarios_mainline: without hooks nothing holds the executor back, which shows that its attempts are real; with guidance it
// behaves.
func TestScenarios_mainline(t *testing.T) {
	t.Parallel()
	s := *scenarioOf("mainline")
	d := newDesk(t)
	d.propose(s)
	_, a := d.dispatch(0, "")
	if now := d.git(d.repo, "rev-parse", defaultBranch); now == d.base {
		t.Errorf("%s did not move: the executor did not really try\n%s", defaultBranch, texts(a.events))
	}
	d = newDesk(t)
	d.propose(s)
	dispatch, a := d.dispatch(0, guide(s, amp.Suspended))
	if now := d.git(d.repo, "rev-parse", defaultBranch); now != d.base {
		t.Errorf("%s moved although the executor was told", defaultBranch)
	}
	if v, _ := d.review(dispatch, a); v.Decision != amp.Approved || a.refuted {
		t.Errorf("verdict %+v, refuted %v", v, a.refuted)
	}
}

// TestScenarios_silent: not a word, and it ends when it is stopped.
func TestScenarios_silent(t *testing.T) {
	t.Parallel()
	s := *scenarioOf("silent")
	d := newDesk(t)
	d.propose(s)
	turn := d.turn(amp.Executor, d.tree)
	turn.Limits.Silence = 500 * time.Millisecond
	turn.Message = d.message(amp.TaskDispatch, amp.Dispatch{
		Subtasks: d.plan.Subtasks, AcceptanceCriteria: d.plan.AcceptanceCriteria, TechConstraints: d.plan.TechConstraints,
	})
	_, events, err := d.run(turn)
	failed, ok := errors.AsType[*providers.TurnError](err)
	if !ok || failed.Failure != providers.FailSilent {
		t.Fatalf("Run = %v, want silence", err)
	}
	if len(events) != 1 || events[0].Type != providers.EventStarted {
		t.Errorf("events = %v, want nothing but the start", texts(events))
	}
}

func TestRepository(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "till")
	if err := Repository(dir); err != nil {
		t.Fatal(err)
	}
	for i := range parts {
		p := &parts[i]
		file := filepath.Join(dir, filepath.FromSlash(p.file()))
		fails := func(line string) string {
			t.Helper()
			if err := os.WriteFile(file, []byte(p.head+line+"\n"+p.tail), 0o644); err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), "sh", "check.sh", p.name)
			cmd.Dir = dir
			out, err := cmd.CombinedOutput()
			if err == nil {
				return ""
			}
			return string(out)
		}
		if fails(p.bug) == "" {
			t.Errorf("%s: the check does not find the bug", p.name)
		}
		for _, line := range append(slices.Clone(p.wrong), p.right...) {
			if out := fails(line); out != "" {
				t.Errorf("%s: the check fails with %s: %s", p.name, line, out)
			}
		}
	}
	if err := Repository(dir); err == nil {
		t.Error("a second Repository in the same folder succeeded")
	}
}

// TestScenarios_table: each scenario has a part, files and a branch of its own, and a wish that the planner knows again.
func TestScenarios_table(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, s := range Scenarios {
		for _, once := range []string{s.Name, s.Title, s.Wish, s.Branch, s.part} {
			if once == "" || seen[once] {
				t.Errorf("%s: %q is empty or there twice", s.Name, once)
			}
			seen[once] = true
		}
		for _, w := range []amp.Wish{{Text: s.Wish}, {Title: s.Title}, {Text: "please look at " + partOf(s.part).file()}} {
			if got := scenarioFor(&w); got == nil || got.Name != s.Name {
				t.Errorf("%s: the wish %+v is not known again", s.Name, w)
			}
		}
	}
	if got := scenarioFor(&amp.Wish{Text: "something else"}); got != nil {
		t.Errorf("an unknown wish is taken for %s", got.Name)
	}
}

func TestMain_refused(t *testing.T) {
	t.Parallel()
	executor := `{"protocol":"arbiter-command/1","turn":{"role":"executor"},"message":{"type":"task_dispatch","payload":{}},"context":[]}`
	for name, tc := range map[string]struct {
		args []string
		in   string
		exit int
		out  string
	}{
		"no role":          {args: nil, in: executor, exit: 2},
		"unknown flag":     {args: []string{"--speed=1"}, in: executor, exit: 2},
		"another role":     {args: []string{"--role", "reviewer"}, in: executor, exit: 2},
		"no input":         {args: []string{"--role", "executor"}, exit: 2},
		"another protocol": {args: []string{"--role", "executor"}, in: `{"protocol":"x"}`, exit: 2},
		"unknown scenario": {args: []string{"--role", "executor"}, in: executor, exit: 0, out: "refused"},
		"unknown wish": {
			args: []string{"--role", "coordinator"}, exit: 1,
			in: `{"protocol":"arbiter-command/1","turn":{"role":"coordinator"},"message":null,"context":[{"wish":{"text":"x"}}]}`,
		},
		"no wish": {
			args: []string{"--role", "coordinator"}, exit: 1,
			in: `{"protocol":"arbiter-command/1","turn":{"role":"coordinator"},"message":null,"context":[]}`,
		},
		"review without its dispatch": {
			args: []string{"--role", "reviewer"}, exit: 0, out: "refused",
			in: `{"protocol":"arbiter-command/1","turn":{"role":"reviewer"},"message":{"type":"review_request","payload":{}},"context":[]}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out, errs bytes.Buffer
			if exit := Main(tc.args, strings.NewReader(tc.in), &out, &errs); exit != tc.exit {
				t.Errorf("exit = %d, want %d; %s", exit, tc.exit, errs.String())
			}
			if tc.exit != 0 && errs.Len() == 0 {
				t.Error("nothing on standard error")
			}
			if !strings.Contains(out.String(), tc.out) {
				t.Errorf("output = %s, want %q in it", out.String(), tc.out)
			}
		})
	}
}
