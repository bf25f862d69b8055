package tui

import (
	"errors"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"arbiter/amp"
	"arbiter/tui/theme"
	"arbiter/tui/tuitest"
)

var sizes = []struct {
	name string
	w, h int
}{{"80x24", 80, 24}, {"140x40", 140, 40}, {"60x14", 60, 14}, {"50x10", 50, 10}}

func TestGolden(t *testing.T) {
	t.Parallel()
	for _, size := range sizes {
		t.Run(size.name, func(t *testing.T) {
			t.Parallel()
			s := start(t, tuitest.Scene(), size.w, size.h)
			shot := func(page string) {
				t.Helper()
				tuitest.Golden(t, page+"/"+size.name+"-truecolor-dark-utf8", s.Settle())
			}
			if size.w >= 120 {
				s.WaitFor("Your decisions")
			}
			shot("now")
			s.Press("2")
			if size.w >= 120 {
				s.WaitFor("review_request").WaitGone("reading …")
			}
			shot("tasks")
			s.open("T-2026-005")
			s.Press("[").WaitFor("▌")
			shot("task")
			s.Press("?").WaitFor("Help")
			shot("help")
			s.Press("esc", ":").WaitFor("Command")
			shot("palette")
		})
	}
}

func TestGolden_mono(t *testing.T) {
	t.Parallel()
	th, err := theme.New("mono", theme.Mono, theme.ASCII)
	if err != nil {
		t.Fatal(err)
	}
	s := startThemed(t, tuitest.Scene(), th, 80, 24)
	tuitest.Golden(t, "now/80x24-mono-ascii", s.Settle())
	s.open("T-2026-005")
	tuitest.Golden(t, "task/80x24-mono-ascii", s.Settle())
}

// The looks that a terminal may have besides the dark one in true colour, and the least width of two panes.
func TestGolden_looks(t *testing.T) {
	t.Parallel()
	for _, look := range []struct {
		theme   string
		profile theme.Profile
	}{
		{"light", theme.TrueColor},
		{"light", theme.ANSI256},
		{"light", theme.ANSI16},
		{"dark", theme.ANSI256},
		{"dark", theme.ANSI16},
		{"high-contrast", theme.TrueColor},
		{"mono", theme.TrueColor},
	} {
		th, err := theme.New(look.theme, look.profile, theme.UTF8)
		if err != nil {
			t.Fatal(err)
		}
		s := startThemed(t, tuitest.Scene(), th, 80, 24)
		tuitest.Golden(t, "now/80x24-"+look.profile.String()+"-"+look.theme+"-utf8", s.Settle())
	}
	s := start(t, tuitest.Scene(), 120, 36)
	s.WaitFor("Your decisions").Press("j", "j", "j", "j").Shows("◇ awaiting since 19m", "0/3 · high")
	tuitest.Golden(t, "now/120x36-truecolor-dark-utf8", s.Settle())
	s.Press("2").WaitFor("review_request").WaitGone("reading …")
	tuitest.Golden(t, "tasks/120x36-truecolor-dark-utf8", s.Settle())
}

func TestGolden_states(t *testing.T) {
	t.Parallel()
	empty := start(t, tuitest.NewScript(tuitest.SceneEnd), 80, 24)
	tuitest.Golden(t, "now/80x24-empty", empty.Settle())
	empty.Press("2")
	tuitest.Golden(t, "tasks/80x24-empty", empty.Settle())

	script := tuitest.Scene()
	off := start(t, script, 80, 24)
	script.Cut(errors.New("the socket is gone"))
	off.WaitFor("◌ retry")
	tuitest.Golden(t, "now/80x24-retry", off.Settle())
}

func TestTooSmall(t *testing.T) {
	t.Parallel()
	s := start(t, tuitest.Scene(), 49, 9)
	s.WaitFor("7 things need you").Shows("needs 50x10", "q quit")
	s.Press("?", "2", ":").Shows("needs 50x10")
	s.Resize(1, 1)
	s.Resize(80, 24).Shows("Needs you 7").Hides("Help")
	s.Resize(20, 3).Press("q")
	if _, err := s.Final(); err != nil {
		t.Errorf("quit on a small screen = %v", err)
	}
}

func TestNavigation(t *testing.T) {
	t.Parallel()
	s := start(t, tuitest.Scene(), 80, 24)
	s.Press("2").Shows("[2 Tasks]", "work ▾")
	s.Press("s").Shows("id ▾")
	s.Press("g", "enter").WaitFor("Tasks › T-2026-016")
	s.Press("esc").Shows("id ▾")
	s.Press("esc", "esc", "esc").Shows("id ▾") // esc never quits
	s.Press("1").Shows("[1 Now]")
	s.Press("tab", "j").Shows("▌ T-2026-015")
	s.Press("enter").WaitFor("Tasks › T-2026-015")
	s.Press("q").Shows("[1 Now]")
	s.Press("q")
	if _, err := s.Final(); err != nil {
		t.Errorf("q = %v", err)
	}
}

func TestKeysTogether(t *testing.T) {
	t.Parallel()
	s := start(t, tuitest.Scene(), 80, 24)
	s.Press("tab")
	s.Burst("jjj").Shows("▌ T-2026-014")
	s.Paste("qqq").Shows("▌ T-2026-014", "a paste does nothing here")
	s.Burst(":up").Shows("start the coordinator").Hides("hallucination_lock")
	s.Press("esc")
	s.Burst(":zzz").WaitFor("nothing matches") // what follows the colon was typed into the palette
}

func TestFilter(t *testing.T) {
	t.Parallel()
	s := start(t, tuitest.Scene(), 80, 24)
	s.Press("/").WaitFor("keep the filter")
	s.Burst("wal").Shows("Tasks 1 of 16", "T-2026-012", "/ wal").Hides("T-2026-015")
	s.Press("enter").Shows("Tasks 1 of 16")
	s.Press("esc").Shows("─ Tasks 16 ─")
	s.Press("/")
	s.Paste("held you").Shows("Tasks 1 of 16", "T-2026-009")
	s.Press("esc").Shows("─ Tasks 16 ─")
	s.Press("/")
	s.Burst("no such thing").Shows("No task matches. esc clears the filter.")
}

func TestHelp_runs(t *testing.T) {
	t.Parallel()
	s := start(t, tuitest.Scene(), 80, 24)
	s.Press("?").WaitFor("Help · now")
	s.Burst("read-only").Shows("1 of 1")
	s.Press("enter").WaitFor("ro ● live").Shows("read-only: decisions are off")
	s.Press("!").Hides("ro ● live")
}

func TestReadOnly_stays(t *testing.T) {
	t.Parallel()
	s := start(t, tuitest.Scene(), 80, 24, func(c *Config) { c.ReadOnly = true })
	s.Shows("ro ● live")
	s.Press("!").Shows("ro ● live", "started with --readonly")
}

func TestPalette(t *testing.T) {
	t.Parallel()
	s := start(t, tuitest.Scene(), 100, 30)
	s.Press(":")
	s.Burst("T-2026-012")
	s.Press("enter").WaitFor("Tasks › T-2026-012")
	entry := seqName(s.script.Task("T-2026-003").LastSeq)
	s.Press(":")
	s.Burst(entry)
	s.Press("enter").WaitFor("Tasks › T-2026-003")
	s.Press(":")
	s.Burst("#99999")
	s.Press("enter").WaitFor("there is no entry #99999")
	s.Press("ctrl+o").WaitFor("Errors of this program").Shows("there is no entry #99999")
	s.Press("esc", ":", "up").WaitFor("#99999") // what was typed before
}

func TestOpen(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ open, want string }{
		"task":    {"T-2026-012", "Tasks › T-2026-012"},
		"entry":   {"T-2026-005#109", "▌ 13:34:36 → review_request"},
		"tab":     {"tasks", "[2 Tasks"},
		"unknown": {"T-2026-999", "there is no task T-2026-999"},
		"garbage": {"what\x1b[2J", "there is nothing to open by the name"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			start(t, tuitest.Scene(), 100, 30, func(cfg *Config) { cfg.Open = c.open }).WaitFor(c.want)
		})
	}
}

func TestMouse(t *testing.T) {
	t.Parallel()
	s := start(t, tuitest.Scene(), 80, 24)
	s.Click(10, 12).Shows("▌ T-2026-015")
	s.Click(10, 3).Shows("▌ ▲  T-2026-006")
	s.Wheel(10, 13, true)
	s.Press("tab").Shows("▌ T-2026-010")
	s.Click(20, 0).Shows("[2 Tasks]")
	before := len(s.script.Sent())
	for y := range 24 {
		for x := 0; x < 80; x += 7 {
			s.Click(x, y)
		}
	}
	if got := len(s.script.Sent()); got != before {
		t.Errorf("clicks sent %d commands", got-before)
	}
}

func TestUndo(t *testing.T) {
	t.Parallel()
	script := tuitest.Scene()
	s := start(t, script, 80, 24)
	s.Press("u").Shows("off: no decision waits")
	e, err := script.Submit(t.Context(), amp.Command{ID: "a-1", Command: amp.Approve, By: "mira", TaskID: "T-2026-011", Args: amp.Args{Undo: true}})
	if err != nil {
		t.Fatal(err)
	}
	s.WaitFor("approve T-2026-011 r1 runs in 10 s · u takes it back").WaitFor("Needs you 6")
	script.Advance(9900 * time.Millisecond)
	s.Press("u").WaitFor("approve T-2026-011 is taken back").WaitFor("Needs you 7").WaitGone("takes it back")
	sent := script.Sent()
	if last := sent[len(sent)-1]; last.Command != amp.Withdraw || last.Args.Withdraws != "a-1" || last.By != "mira" {
		t.Errorf("u sent %+v after entry %d", last, e.Seq)
	}
}

// A decision can be taken back from when its answer is here, which may be before its entry is on the board.
func TestUndo_atOnce(t *testing.T) {
	t.Parallel()
	s := start(t, tuitest.Scene(), 80, 24)
	s.Do(func(e *env) tea.Cmd {
		c := amp.Command{ID: "a-1", Command: amp.Approve, By: e.Admin, TaskID: "T-2026-011"}
		at := e.Now.Add(10 * time.Second)
		c.Args.EffectiveAt = &at
		en := amp.Entry{Seq: e.Board.Head.Seq + 1, Record: amp.Record{Kind: amp.KindCommand, At: e.Now, Body: amp.EncodeBody(&c)}}
		e.desk.last = waitingOf(en)
		if w, mine := e.soonest(); w == nil || !mine || w.Command.ID != "a-1" || !w.Due.Equal(at) {
			t.Errorf("waits: %+v", w)
		}
		en.Seq--
		e.desk.last = waitingOf(en)
		if w, _ := e.soonest(); w != nil {
			t.Errorf("what the board knows waits once more: %+v", w)
		}
		return nil
	})
}

func TestUndo_tooLate(t *testing.T) {
	t.Parallel()
	script := tuitest.Scene()
	s := start(t, script, 80, 24)
	if _, err := script.Submit(t.Context(), amp.Command{ID: "a-1", Command: amp.Approve, By: "mira", TaskID: "T-2026-011", Args: amp.Args{Undo: true}}); err != nil {
		t.Fatal(err)
	}
	s.WaitFor("runs in 10 s")
	n := len(script.Sent())
	script.Advance(10100 * time.Millisecond)
	s.Press("u").WaitGone("takes it back")
	if got := len(script.Sent()); got != n {
		t.Errorf("u after the time sent %d commands", got-n)
	}
}

func TestUndo_ofAnother(t *testing.T) {
	t.Parallel()
	script := tuitest.Scene()
	s := start(t, script, 80, 24)
	if _, err := script.Submit(t.Context(), amp.Command{ID: "a-1", Command: amp.Approve, By: "jan", TaskID: "T-2026-011", Args: amp.Args{Undo: true}}); err != nil {
		t.Fatal(err)
	}
	s.WaitFor("runs in 10 s · by jan")
	s.Press("u").Shows("it is a decision of jan")
}

func TestSubmit_slow(t *testing.T) {
	t.Parallel()
	script := tuitest.Scene()
	s := start(t, script, 100, 24)
	release := script.Hold()
	defer release()
	s.Do(func(e *env) tea.Cmd {
		return e.Submit(amp.Command{Command: amp.NoteCommand, TaskID: "T-2026-011"}, nil)
	})
	script.Advance(3 * time.Second)
	s.Press("j").Shows("note T-2026-011: waiting for the coordinator, 3 s · esc stops waiting")
	s.Do(func(e *env) tea.Cmd {
		return e.Submit(amp.Command{Command: amp.NoteCommand, TaskID: "T-2026-011"}, nil)
	})
	s.Shows("note T-2026-011 is on its way")
	s.Press("esc").WaitFor("you stopped waiting").WaitGone("esc stops waiting")
	if n := len(script.Sent()); n != 0 {
		t.Errorf("%d commands arrived, want none", n)
	}
}

func TestSubmit_refused(t *testing.T) {
	t.Parallel()
	script := tuitest.Scene().Refuse(errors.New("r5 arrived 4 s ago"))
	s := start(t, script, 100, 24, func(c *Config) {
		c.Explain = func(err error) (string, string, string) {
			return err.Error(), "The decision was about r4.", "d shows what changed."
		}
	})
	s.Do(func(e *env) tea.Cmd { return e.Submit(amp.Command{Command: amp.Approve, TaskID: "T-2026-011"}, nil) })
	s.WaitFor("r5 arrived 4 s ago · d shows what changed.")
	s.Press("ctrl+o").Shows("r5 arrived 4 s ago", "means    The decision was about r4.", "next     d shows what changed.")
}

func TestCopy(t *testing.T) {
	t.Parallel()
	s := start(t, tuitest.Scene(), 80, 24)
	s.Press("y").WaitFor(`copied "T-2026-004#82"`)
	s.Press("tab", "Y").WaitFor(`copied "T-2026-005 reviewing Watch`)
}

func TestOffline(t *testing.T) {
	t.Parallel()
	script := tuitest.Scene()
	s := start(t, script, 100, 30)
	script.Cut(errors.New("the socket is gone"))
	s.WaitFor("◌ retry")
	s.Shows("T-2026-005") // what is known stays readable
	if why := s.offReason(); !strings.Contains(why, "away since 14:32:07") {
		t.Errorf("decisions are off because %q", why)
	}
	script.Advance(11 * time.Second)
	s.WaitFor("offline since 14:32")
	script.Cut(nil)
	s.WaitFor("● live").Shows("the coordinator is back")
	script.NewTask("after the break")
	s.WaitFor("after the break")
	s.Press("ctrl+o").WaitFor("the socket is gone")
}

func TestTimeline(t *testing.T) {
	t.Parallel()
	script := tuitest.NewScript(tuitest.SceneEnd)
	task := script.NewTask("Long history").Propose().Approve()
	task.Dispatch().Ack(amp.TaskDispatch)
	for range 450 {
		task.Says("still at it")
	}
	task.Command(amp.NoteCommand, amp.Args{}, "look at this")
	s := start(t, script, 100, 30)
	s.goTo(Place{Kind: KindTask, ID: string(task.ID)})
	s.WaitFor("look at this")
	s.Press("g").WaitFor("submit").Hides("older above") // the pages before came by themselves
	s.Shows("✓ 0:00/300", "«still at it»")
	s.Press("x").WaitFor("unfolded").WaitFor("turn progress")
	s.Press("x", "G").WaitGone("unfolded")
	task.Command(amp.NoteCommand, amp.Args{}, "and at this")
	s.WaitFor("and at this")
	s.Press("enter").WaitFor(`"command": "note"`)
	script.SetDiff(task.ID, "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1,2 @@\n+one\n-two\n+three\n")
	s.Press("esc", "d").WaitFor("1 file +2 −1").Shows("+ three")
}

func TestHostile(t *testing.T) {
	t.Parallel()
	script := tuitest.NewScript(tuitest.SceneEnd)
	evil := "clear\x1b[2J\x1b]52;c;aGk=\x07 \u202egnihtyreve\u202c \r\b\x9b31m\x00tail"
	task := script.NewTask(evil).Propose(func(p *amp.Plan) {
		p.AcceptanceCriteria = []string{evil, "two"}
		p.Branch, p.Author, p.Executor = "feature/x", evil, evil
	}).Approve()
	task.Executor, task.Reviewer = evil, evil
	task.Dispatch().Ack(amp.TaskDispatch).Says(evil).Result(amp.Complete).Check().Request().Ack(amp.ReviewRequest).
		Verdict(amp.Rejected, 0.9, amp.Issue{Severity: amp.IssueMajor, File: evil, Line: 1, Description: evil, SuggestedFix: evil}).
		Dispatch().Ack(amp.TaskDispatch).Asks(evil).Escalate(amp.UnknownEscalation, amp.Warning, evil).
		Refused(amp.Problem{Rule: "AMP-085", Field: evil, Message: evil}, evil).Command(amp.NoteCommand, amp.Args{}, evil)
	m := still(t, script, 140, 40)
	checkFrame(t, m, "now")
	for _, at := range []Place{{Kind: KindTasks}, {Kind: KindTask, ID: string(task.ID)}} {
		visit(t, m, at)
		checkFrame(t, m, string(at.Kind))
		for range 20 {
			m.Update(tea.KeyMsg{Type: tea.KeyUp})
			checkFrame(t, m, string(at.Kind))
		}
	}
	if all := m.View(); !strings.Contains(all, "<U+202E>") {
		t.Error("the bidi control is not shown as what it is")
	}
	s := start(t, script, 140, 40)
	s.Press("2").WaitFor("refused task_")
	if got := s.OSC(); len(got) > 0 {
		t.Errorf("a title reached the clipboard: %q", got)
	}
}
