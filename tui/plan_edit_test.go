package tui

import (
	"errors"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"arbiter/amp"
	"arbiter/tui/tuitest"
)

// editWith puts a function in the place of the person's editor.
func (s *seat) editWith(f func(text string, line int) (string, error)) {
	s.Do(func(e *env) tea.Cmd {
		e.desk.edit = func(_ string, text []byte, line int, done func([]byte, error) tea.Msg) tea.Cmd {
			return func() tea.Msg {
				got, err := f(string(text), line)
				return done([]byte(got), err)
			}
		}
		return nil
	})
}

// asRevision picks, for an edited plan, that it waits for an approval of its own.
func (s *seat) asRevision() *seat {
	s.t.Helper()
	s.WaitFor("send it as a revision…").Press("down", "enter").WaitFor("Revise T-2026-001?")
	return s
}

// tui.md 6.3: what was edited is approved in one bar that shows the delta, and the digits are those of what would be stored.
func TestEdit_approve(t *testing.T) {
	t.Parallel()
	s, story := onPlan(t, amp.High)
	s.editWith(func(text string, _ int) (string, error) {
		return strings.Replace(text, "Port the callers in internal/dispatch", "Port the callers, one package at a time", 1), nil
	})
	s.Press("E").WaitFor("Your change to r1 of T-2026-001 becomes r2").Shows("revision and approval in one step")
	s.Press("enter").WaitFor("Approve T-2026-001 r2?").Shows("± S2: Port the callers, one package at a time", "you wrote this revision",
		"awaiting_approval, r1", "refused if another r2 appears", "risk HIGH", "[ Cancel ]")
	plan := *s.script.Task(story.ID).Plan
	plan.Subtasks = append([]amp.Subtask{}, plan.Subtasks...)
	plan.Subtasks[1].Description = "Port the callers, one package at a time"
	hash := plan.ContentHash()
	s.arm()
	s.typeText(hash[len(hash)-4:])
	s.Press("tab", "enter").WaitFor("runs in 10 s")
	s.wantCommands("approve")
	if c := s.last(); c.Args.Plan == nil || c.Args.Plan.Hash != hash || c.Args.Digits != hash[60:] || !c.Args.Undo {
		t.Fatalf("command = %+v", c)
	}
	s.script.Advance(11 * time.Second)
	s.WaitFor("dispatched")
	if got := s.script.Task(story.ID); got.Plan.Revision != 2 || got.Plan.Author != "mira" || got.Approval == nil || got.Approval.Hash != hash {
		t.Errorf("r%d by %s, approved %+v", got.Plan.Revision, got.Plan.Author, got.Approval)
	}
	if got := s.draft("plan T-2026-001"); got != "" {
		t.Errorf("the draft of what was sent is kept: %q", got)
	}
}

// A revision that arrives under the bar of an edit closes it like any other; the text is kept.
func TestEdit_approveMoved(t *testing.T) {
	t.Parallel()
	s, story := onPlan(t, amp.Low)
	s.Press("j", "e").Shows("S2 of T-2026-001")
	s.typeText(" slowly")
	s.Press("ctrl+s").WaitFor("approve this revision…").Press("enter").WaitFor("Approve T-2026-001 r2?")
	s.arm().Press("tab").Shows("[ Approve ]")
	story.Propose(func(p *amp.Plan) { p.Description = "another way" })
	s.WaitFor("r2 arrived at").Shows("[ Cancel ]")
	s.arm().Press("tab", "enter")
	s.wantCommands("")
	if got := s.draft("plan T-2026-001 T-2026-001-S2"); !strings.HasSuffix(got, " slowly") {
		t.Errorf("the words are lost: %q", got)
	}
}

// Where two admins must approve, who edits becomes the author: only the revision can be sent.
func TestEdit_approveTwoAdmins(t *testing.T) {
	t.Parallel()
	s, _ := onPlan(t, amp.Low, func(p *amp.Plan) { p.Policy.SecondAdmin = amp.SecondAlways })
	s.Press("j", "e")
	s.typeText(" slowly")
	s.Press("ctrl+s").WaitFor("approve this revision…").Press("enter").Shows("two admins must approve").Hides("[ Cancel ]")
	s.wantCommands("")
}

// What the edit did not touch must still have been read.
func TestEdit_approveUnread(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("This sentence is a part of what must be read before it is approved. ", 12)
	s, _ := onPlan(t, amp.Medium, func(p *amp.Plan) {
		p.Subtasks = append([]amp.Subtask{{SubtaskID: "first", Description: long}}, p.Subtasks...)
	})
	s.Shows("read 2/3").Press("j", "e")
	s.typeText(" slowly")
	s.Press("ctrl+s").WaitFor("approve this revision…").Press("enter").WaitFor("1 subtask unread (S1)")
	s.arm().Press("tab", "enter")
	s.wantCommands("")
}

func TestEdit(t *testing.T) {
	t.Parallel()
	s, story := onPlan(t, amp.Low)
	s.editWith(func(text string, _ int) (string, error) {
		if !strings.HasPrefix(text, "# Plan of T-2026-001, revision 1") {
			t.Errorf("the text begins %q", text[:40])
		}
		return strings.Replace(text, "Port the callers in internal/dispatch", "Port the callers, one package at a time", 1), nil
	})
	before := s.script.Task(story.ID).Plan.Hash
	s.Press("E")
	s.asRevision().Shows("changes   ± S2: Port the callers, one package at a time", "wait for an approval of its own",
		"acts at once")
	s.arm()
	s.Press("tab", "enter").WaitFor("revise T-2026-001 is entry")
	c := s.last()
	if c.Command != amp.Revise || c.Args.Undo || c.Expects == nil || c.Expects.Hash != before {
		t.Fatalf("command = %+v", c)
	}
	if got := c.Args.Plan.Subtasks[1]; got.Description != "Port the callers, one package at a time" || got.SubtaskID != "T-2026-001-S2" {
		t.Errorf("subtask = %+v", got)
	}
}

func TestEdit_nothing(t *testing.T) {
	t.Parallel()
	for name, back := range map[string]string{"the same": "", "empty": " \n", "comments": "# nothing\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _ := onPlan(t, amp.Low)
			s.editWith(func(text string, _ int) (string, error) {
				if back == "" {
					return text, nil
				}
				return back, nil
			})
			s.Press("E").WaitFor(map[string]string{"the same": "nothing was changed", "empty": "the text is empty", "comments": "is kept"}[name])
			s.Hides("[ Cancel ]")
			s.wantCommands("")
		})
	}
}

// A text that cannot be read is kept, and opened again where it is wrong.
func TestEdit_wrong(t *testing.T) {
	t.Parallel()
	s, _ := onPlan(t, amp.Low)
	var lines []int
	s.editWith(func(text string, line int) (string, error) {
		lines = append(lines, line)
		if len(lines) == 1 {
			return strings.Replace(text, "risk_level = 'low'", "risk_level = 'tiny' # my words", 1), nil
		}
		if !strings.Contains(text, "my words") {
			t.Error("the text of before is lost")
		}
		return strings.Replace(text, "'tiny'", "'medium'", 1), nil
	})
	s.Press("E").WaitFor("risk_level is")
	s.Press("E")
	s.asRevision().Shows("± risk: low → medium")
	if len(lines) != 2 || lines[1] == 0 {
		t.Errorf("opened at lines %v, want the second at the error", lines)
	}
}

func TestEdit_editorFails(t *testing.T) {
	t.Parallel()
	s, _ := onPlan(t, amp.Low)
	s.editWith(func(text string, _ int) (string, error) { return text + "# half", errors.New("exit status 1") })
	s.Press("E").WaitFor("exit status 1")
	if got := s.draft("plan T-2026-001"); !strings.HasSuffix(got, "# half") {
		t.Error("the text is lost")
	}
	s.wantCommands("")
}

func TestEditPart(t *testing.T) {
	t.Parallel()
	s, _ := onPlan(t, amp.Low)
	s.Press("j", "e").Shows("S2 of T-2026-001", "ctrl+s done")
	s.typeText(" slowly")
	s.Press("esc").Hides("ctrl+s done")
	s.Press("e").Shows("slowly").Press("ctrl+s")
	s.asRevision()
	s.Shows("± S2: Port the callers in internal/dispatch slowly")
	s.arm()
	s.Press("tab", "enter").WaitFor("is entry")
	if got := s.last().Args.Plan.Subtasks[1].Description; got != "Port the callers in internal/dispatch slowly" {
		t.Errorf("description = %q", got)
	}
}

func TestReadPlan_errors(t *testing.T) {
	t.Parallel()
	p := tuitest.NewScript(begin).NewTask("Split").Plan
	text, err := writePlan(&p)
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		from, to string
		line     string // what the line that is named begins with
		want     string
	}{
		"syntax":            {"title = ", "title = = ", "title", "line"},
		"unknown field":     {"branch = ", "brunch = ", "brunch", "no field brunch"},
		"risk":              {"risk_level = 'low'", "risk_level = 'none'", "risk_level", "not low, medium or high"},
		"no description":    {"Port the callers in internal/dispatch", " ", "[[subtasks]]", "subtask 2 has no description"},
		"an id twice":       {"-S2", "-S1", "[[subtasks]]", "is there twice"},
		"negative lines":    {"estimated_lines = 90", "estimated_lines = -1", "[[subtasks]]", "negative"},
		"an empty criteria": {"no call of legacy.* is left outside tests", "  ", "acceptance_criteria", "criterion 2 is empty"},
		"negative budget":   {"turns = 0", "turns = -4", "[budget]", "not negative"},
		"type":              {"turns = 0", "turns = 'x'", "turns", "line"},
		"time":              {"wall = ''", "wall = 'soon'", "wall", "budget.wall is"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			edited := strings.Replace(string(text), tc.from, tc.to, 1)
			if edited == string(text) {
				t.Fatalf("%q is not in the text:\n%s", tc.from, text)
			}
			_, err := readPlan([]byte(edited), &p)
			bad, ok := errors.AsType[*planError](err)
			if !ok || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("error = %v, want %q", err, tc.want)
			}
			if lines := strings.Split(edited, "\n"); bad.Line == 0 || !strings.HasPrefix(strings.TrimSpace(lines[bad.Line-1]), tc.line) {
				t.Errorf("line %d, want the one that begins with %q", bad.Line, tc.line)
			}
		})
	}
}

// What is written and read back unchanged is the same plan: opening an editor changes nothing by itself.
func TestPlanText_roundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		word := rapid.StringMatching(`[\pL\pN '"\\#=\[\]{}.,:«»-]{1,30}[\pL\pN]`)
		words := rapid.SliceOfN(word, 0, 4)
		para := rapid.Custom(func(r *rapid.T) string {
			return strings.Join(rapid.SliceOfN(word, 1, 3).Draw(r, "lines"), "\n")
		})
		p := amp.Plan{
			TaskID: "T-2026-001", Revision: 3, Title: word.Draw(r, "title"), Branch: "feature/x", Executor: "codex",
			RiskLevel:        rapid.SampledFrom([]amp.RiskLevel{amp.Low, amp.Medium, amp.High}).Draw(r, "risk"),
			AllowedPaths:     words.Draw(r, "paths"),
			ForbiddenActions: words.Draw(r, "forbid"), AcceptanceCriteria: rapid.SliceOfN(para, 1, 4).Draw(r, "criteria"),
			Description: para.Draw(r, "description"), Budget: amp.Budget{Turns: rapid.IntRange(0, 99).Draw(r, "turns")},
		}
		p.Title = strings.TrimSpace(p.Title)
		for i := range rapid.IntRange(1, 5).Draw(r, "subtasks") {
			p.Subtasks = append(p.Subtasks, amp.Subtask{
				SubtaskID: "S" + string(rune('1'+i)), Description: para.Draw(r, "does"),
				EstimatedLines: rapid.IntRange(0, 500).Draw(r, "size"),
			})
		}
		if rapid.Bool().Draw(r, "tech") {
			p.TechConstraints = map[string]any{"go": word.Draw(r, "version")}
		}
		text, err := writePlan(&p)
		if err != nil {
			r.Fatal(err)
		}
		got, err := readPlan(text, &p)
		if err != nil {
			r.Fatalf("%v\n%s", err, text)
		}
		if got.ContentHash() != p.ContentHash() {
			r.Fatalf("another plan (-want +got):\n%s\n%s", cmp.Diff(&p, got), text)
		}
		if d := planDelta(&p, got); len(d) > 0 {
			r.Fatalf("changes without a change: %+v", d)
		}
	})
}

// Every part that an approval binds is seen in the delta: two plans of different content differ in it.
func TestPlanDelta_complete(t *testing.T) {
	t.Parallel()
	base := tuitest.NewScript(begin).NewTask("Split").Plan
	for name, change := range map[string]func(p *amp.Plan){
		"title":       func(p *amp.Plan) { p.Title = "x" },
		"description": func(p *amp.Plan) { p.Description = "x" },
		"branch":      func(p *amp.Plan) { p.Branch = "x" },
		"base branch": func(p *amp.Plan) { p.BaseBranch = "x" },
		"base commit": func(p *amp.Plan) { p.BaseCommit = "ffffffff" },
		"repo":        func(p *amp.Plan) { p.Repo = "/elsewhere" },
		"wish":        func(p *amp.Plan) { p.Wish = "another" },
		"risk":        func(p *amp.Plan) { p.RiskLevel = amp.High },
		"paths":       func(p *amp.Plan) { p.AllowedPaths = nil },
		"forbid":      func(p *amp.Plan) { p.ForbiddenActions = []string{"x"} },
		"tech":        func(p *amp.Plan) { p.TechConstraints = map[string]any{"go": "1.26"} },
		"checks":      func(p *amp.Plan) { p.Checks = [][]string{{"make"}} },
		"executor":    func(p *amp.Plan) { p.Executor = "gemini" },
		"reviewer":    func(p *amp.Plan) { p.Reviewer = "gemini" },
		"turns":       func(p *amp.Plan) { p.Budget.Turns = 7 },
		"seconds":     func(p *amp.Plan) { p.Budget.WallSec = 7 },
		"policy":      func(p *amp.Plan) { p.Policy.LockAt = 5 },
		"gates":       func(p *amp.Plan) { p.Policy.Gates = []string{"local"} },
		"criterion":   func(p *amp.Plan) { p.AcceptanceCriteria[0] = "x" },
		"order of criteria": func(p *amp.Plan) {
			c := p.AcceptanceCriteria
			c[0], c[1] = c[1], c[0]
		},
		"lines":     func(p *amp.Plan) { p.Subtasks[0].EstimatedLines = 1 },
		"does":      func(p *amp.Plan) { p.Subtasks[0].Description = "x" },
		"one less":  func(p *amp.Plan) { p.Subtasks = p.Subtasks[:1] },
		"one twice": func(p *amp.Plan) { p.AcceptanceCriteria = append(p.AcceptanceCriteria, p.AcceptanceCriteria[0]) },
		"steps": func(p *amp.Plan) {
			p.Subtasks[0], p.Subtasks[1] = p.Subtasks[1], p.Subtasks[0]
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			to := base
			to.Subtasks = append([]amp.Subtask{}, base.Subtasks...)
			to.AcceptanceCriteria = append([]string{}, base.AcceptanceCriteria...)
			change(&to)
			if to.ContentHash() == base.ContentHash() {
				t.Fatal("the change binds nothing: the case is wrong")
			}
			if d := planDelta(&base, &to); len(d) == 0 || d[0].What == unnamed {
				t.Errorf("delta = %+v: a change that an approval binds is not named", d)
			}
		})
	}
}

// From wherever a task stands, e leads to its plan, where e edits a part.
func TestPlan_fromTask(t *testing.T) {
	t.Parallel()
	script := tuitest.NewScript(tuitest.SceneEnd)
	script.NewTask("Without a plan")
	task := script.NewTask("Split the package").Propose()
	s := start(t, script, 100, 30)
	s.Press("2", "/").Burst("split")
	s.Press("enter", "e").WaitFor("Plans › " + string(task.ID))
	s.Press("n", "e").Shows("becomes a new revision").Press("esc", "esc").Shows("[2 Tasks")
	s.Press("esc", "/").Burst("without")
	s.Press("enter", "e").Shows("there is no plan yet")
}
