package tui

import (
	"errors"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"arbiter/amp"
	"arbiter/tui/tuitest"
)

// begin is the moment at which the scripts of these tests begin.
var begin = time.Date(2026, 2, 26, 14, 0, 0, 0, time.UTC)

const armTime = 400 * time.Millisecond

// onPlan is a seat in front of a plan that waits, with its subtasks read.
func onPlan(t *testing.T, risk amp.RiskLevel, change ...func(*amp.Plan)) (*seat, *tuitest.Story) {
	t.Helper()
	s := tuitest.NewScript(begin)
	change = append([]func(*amp.Plan){func(p *amp.Plan) { p.RiskLevel = risk }}, change...)
	story := s.NewTask("Split planner package").Propose(change...)
	st := start(t, s, 80, 24)
	st.Press("4", "enter")
	st.WaitFor("Acceptance criteria")
	return st, story
}

// arm moves the clock so that an open bar is armed.
func (s *seat) arm() *seat {
	s.script.Advance(armTime)
	return s
}

// draft is what is kept under a name.
func (s *seat) draft(key string) (text string) {
	s.Do(func(e *env) tea.Cmd { text = e.desk.draft(key); return nil })
	return text
}

// commands are the names of the commands that arrived, in order.
func (s *seat) commands() string {
	var names []string
	for _, c := range s.script.Sent() {
		names = append(names, string(c.Command))
	}
	return strings.Join(names, " ")
}

func (s *seat) wantCommands(want string) {
	s.t.Helper()
	for end := time.Now().Add(5 * time.Second); want != "" && s.commands() != want && time.Now().Before(end); {
		s.Settle() // a command is on its way beside the program's loop
	}
	if got := s.commands(); got != want {
		s.t.Errorf("commands = %q, want %q\n%s", got, want, s.Text())
	}
}

func TestApprove(t *testing.T) {
	t.Parallel()
	s, story := onPlan(t, amp.Low)
	s.Press("A").Shows("Approve T-2026-001 r1?", "[ Cancel ]", "armed in", "will not  merge · push · touch main", "expects   awaiting_approval, r1")
	s.arm().Press("tab").Shows("[ Approve ]")
	s.Press("enter").WaitFor("runs in 10 s")
	c := s.script.Sent()[0]
	if c.Command != amp.Approve || c.ID == "" || c.By != "mira" || !c.Args.Undo || c.Args.Unread != 0 || !strings.HasPrefix(c.Args.Read, "read 2/2 in ") {
		t.Errorf("command = %+v", c)
	}
	want := amp.Expects{Status: amp.AwaitingApproval, Revision: 1, Hash: s.script.Task(story.ID).Plan.Hash}
	if c.Expects == nil || *c.Expects != want {
		t.Errorf("expects = %+v, want %+v", c.Expects, want)
	}
}

// A key that was meant for something else when the bar opened must not decide.
func TestBar_stolenKeys(t *testing.T) {
	t.Parallel()
	for name, keys := range map[string][]string{
		"the keys of an approval":   {"tab", "enter"},
		"enter":                     {"enter"},
		"yes and space":             {"y", "space", "enter"},
		"the key that opened it":    {"A", "A", "enter"},
		"an arrow, then enter":      {"right", "enter"},
		"typing on after the pause": {"tab", "tab", "enter", "enter"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _ := onPlan(t, amp.Low)
			s.Press("A")
			for _, k := range keys {
				s.script.Advance(armTime - time.Millisecond) // each key comes before the delay is over, which starts again
				s.Press(k).Shows("Approve T-2026-001 r1?")
			}
			s.Shows("not armed")
			s.wantCommands("")
		})
	}
}

func TestBar_burst(t *testing.T) {
	t.Parallel()
	for name, bytes := range map[string]string{"AAA": "AAA", "A and enter": "A\r", "A, tab, enter": "A\t\r", "letters": "Ayyyy"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _ := onPlan(t, amp.Low)
			s.Burst(bytes).Shows("Approve T-2026-001 r1?", "[ Cancel ]")
			s.wantCommands("")
		})
	}
}

func TestBar_paste(t *testing.T) {
	t.Parallel()
	s, _ := onPlan(t, amp.High)
	s.Paste("A\r").Hides("Approve T-2026-001 r1?")
	hash := s.script.Board().Tasks["T-2026-001"].Plan.Hash
	s.Press("A")
	s.arm().Press("tab", "shift+tab")
	s.arm()
	s.Paste(hash[len(hash)-4:])
	s.Press("tab", "tab", "enter")
	s.wantCommands("")
	s.Paste("A\r").Shows("Approve T-2026-001 r1?")
	s.wantCommands("")
}

func TestBar_clicks(t *testing.T) {
	t.Parallel()
	s, _ := onPlan(t, amp.Low)
	s.Press("A")
	s.arm()
	for y := range 24 {
		for x := 0; x < 80; x += 9 {
			s.Burst(tuitest.ClickBytes(x, y))
		}
	}
	s.Wheel(40, 12, true).Shows("Approve T-2026-001 r1?")
	s.wantCommands("")
}

// A revision that comes under the open bar turns it off for good; the read marks of what changed fall.
func TestBar_newRevision(t *testing.T) {
	t.Parallel()
	s, story := onPlan(t, amp.Medium)
	s.Press("A")
	s.arm().Press("tab").Shows("[ Approve ]")
	story.Propose(func(p *amp.Plan) {
		p.Subtasks = append([]amp.Subtask{}, p.Subtasks...)
		p.Subtasks[1].Description = "Port the callers, and delete the old package"
	})
	s.WaitFor("r2 arrived at").Shows("[ Cancel ]")
	s.arm().Press("tab", "enter")
	s.wantCommands("")
	s.Press("esc").WaitFor("Changed r1→r2").Shows("± S2", "delete the old package")
}

func TestReadGate(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("This sentence is a part of what must be read before it is approved. ", 12)
	change := func(p *amp.Plan) {
		p.Subtasks = append([]amp.Subtask{}, p.Subtasks...)
		p.Subtasks[1].Description = long
	}
	for name, tc := range map[string]struct {
		risk amp.RiskLevel
		off  bool
	}{"low": {amp.Low, false}, "AMP-059 medium": {amp.Medium, true}, "AMP-059 high": {amp.High, true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _ := onPlan(t, tc.risk, change)
			s.Shows("read 1/2")
			if !tc.off {
				s.Press("A").Shows("Approve T-2026-001 r1?")
				return
			}
			s.Press("A").Shows("1 subtask unread (S2)").Hides("Approve T-2026-001 r1?")
			s.Press("n").WaitFor("read 2/2")
			s.Press("A").Shows("Approve T-2026-001 r1?", "read 2/2 in")
		})
	}
}

// What does not fit the screen is read when its last row was on it, and not before.
func TestReadGate_longerThanTheScreen(t *testing.T) {
	t.Parallel()
	s, _ := onPlan(t, amp.High, func(p *amp.Plan) {
		p.Subtasks = []amp.Subtask{{SubtaskID: "S", Description: strings.Repeat("A line of the plan.\n", 40) + "The end.", EstimatedLines: 1}}
	})
	unread := func() (n int) {
		s.Do(func(e *env) tea.Cmd {
			n = len(e.desk.reading("T-2026-001").unread(e.Board.Task("T-2026-001").Plan))
			return nil
		})
		return n
	}
	s.Shows("read 0/1").Press("enter")
	for range 60 {
		if strings.Contains(s.Text(), "The end.") {
			break
		}
		if unread() != 1 {
			t.Fatalf("it counts as read before its end was on the screen:\n%s", s.Text())
		}
		s.Press("j")
	}
	s.Shows("The end.").Press("A").Shows("Approve T-2026-001 r1?")
}

func TestReadMark_taken(t *testing.T) {
	t.Parallel()
	s, _ := onPlan(t, amp.Medium)
	s.Shows("read 2/2").Press("space").Shows("read 1/2")
	s.Press("j", "k").Shows("read 1/2") // the text still is on the screen: the mark stays away
	s.Press("space").Shows("read 2/2")
}

func TestTypedDigits(t *testing.T) {
	t.Parallel()
	s, story := onPlan(t, amp.High)
	hash := s.script.Task(story.ID).Plan.Hash
	digits := hash[len(hash)-4:]
	s.Press("A")
	s.arm().Press("tab").Press("enter").Shows("type the last four digits of content")
	s.wantCommands("")
	wrong := "0"
	if digits[0] == '0' {
		wrong = "1"
	}
	for _, d := range wrong + digits[1:] {
		s.Press(string(d))
	}
	s.Press("enter").Shows("the digits are not those of content")
	s.wantCommands("")
	s.Press("backspace", "backspace", "backspace", "backspace")
	for _, d := range digits {
		s.Press(string(d))
	}
	s.Press("enter").WaitFor("runs in 10 s")
	if got := s.script.Sent()[0].Args.Digits; got != digits {
		t.Errorf("digits = %q, want %q", got, digits)
	}
}

func TestReject_reason(t *testing.T) {
	t.Parallel()
	s, _ := onPlan(t, amp.Low)
	s.Press("R")
	s.arm().Press("tab", "enter").Shows("reason is required")
	s.wantCommands("")
	s.Press("tab") // into the text
	for _, r := range "Split S2." {
		s.Press(map[rune]string{' ': "space"}[r] + map[bool]string{true: string(r)}[r != ' '])
	}
	s.Press("tab", "tab", "enter").WaitFor("runs in 10 s")
	if c := s.script.Sent()[0]; c.Command != amp.Reject || c.Note != "Split S2." {
		t.Errorf("command = %+v", c)
	}
}

// The words of a decision that was not made are there when it is opened again.
func TestDraft(t *testing.T) {
	t.Parallel()
	s, _ := onPlan(t, amp.Low)
	s.Press("R")
	s.arm().Press("shift+tab", "N", "o", "t", "esc").Hides("Reject T-2026-001?")
	s.Press("R").Shows("Reject T-2026-001?", "│ Not")
}

func TestOffline_whileDeciding(t *testing.T) {
	t.Parallel()
	s, _ := onPlan(t, amp.Low)
	s.Press("A")
	s.arm().Press("tab").Shows("[ Approve ]")
	s.script.Cut(errors.New("connection refused"))
	s.WaitFor("retry")
	s.Press("tab").Shows("the coordinator is away since")
	s.arm().Press("tab", "enter")
	s.wantCommands("")
}

// A command that failed on its way is sent again with its id: one decision however often it is sent.
func TestDecision_again(t *testing.T) {
	t.Parallel()
	s, _ := onPlan(t, amp.Low)
	s.script.Refuse(errors.New("the socket was closed"))
	s.Press("A")
	s.arm().Press("tab", "enter").WaitFor("the socket was closed")
	s.Shows("Approve T-2026-001 r1?")
	s.script.Refuse(nil)
	s.arm().Press("tab", "enter").WaitFor("runs in 10 s")
	sent := s.script.Sent()
	if len(sent) != 2 || sent[0].ID != sent[1].ID {
		t.Errorf("sent %+v, want the same id twice", sent)
	}
}

func TestDecision_refused(t *testing.T) {
	t.Parallel()
	s, _ := onPlan(t, amp.Low)
	s.script.Refuse(&amp.RefusedError{What: "approve", Problems: []amp.Problem{{Rule: "expects", Message: "decided on revision 1, the task is at 2"}}})
	s.Press("A")
	s.arm().Press("tab", "enter").WaitFor("refused   decided on revision 1, the task is at 2")
	s.Shows("[ Cancel ]")
}

func TestDecision_double(t *testing.T) {
	t.Parallel()
	s, _ := onPlan(t, amp.Low)
	release := s.script.Hold()
	s.Press("A")
	s.arm().Press("tab", "enter")
	for range 5 {
		s.arm().Press("tab", "enter", "enter")
	}
	release()
	s.WaitFor("runs in 10 s")
	s.wantCommands("approve")
	s.Press("A").Shows("waits for the end of its undo time").Hides("[ Cancel ]")
	s.wantCommands("approve")
}

func TestDecision_undo(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		at    time.Duration
		back  bool
		shows string
	}{
		"9.9 s":  {9900 * time.Millisecond, true, "is taken back"},
		"10.1 s": {10100 * time.Millisecond, false, "it ran at 14:00:10; now: terminate"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, story := onPlan(t, amp.Low)
			s.Press("A")
			s.arm().Press("tab", "enter").WaitFor("runs in 10 s")
			s.script.Advance(tc.at)
			if !tc.back {
				s.WaitGone("runs in")
			}
			s.Press("u").WaitFor(tc.shows)
			if tc.back {
				s.wantCommands("approve withdraw")
				s.script.Advance(time.Minute)
			} else {
				s.wantCommands("approve")
			}
			want := amp.Dispatched
			if tc.back {
				want = amp.AwaitingApproval
			}
			if got := s.script.Task(story.ID).Status; got != want {
				t.Errorf("status = %s, want %s", got, want)
			}
		})
	}
}

// A task that moves before the undo time is over does not get the decision; it comes back to the Inbox.
func TestMovedBeforeItRan(t *testing.T) {
	t.Parallel()
	s, story := onPlan(t, amp.Low)
	s.Press("A")
	s.arm().Press("tab", "enter").WaitFor("runs in 10 s")
	story.Propose(func(p *amp.Plan) { p.Description = "another way" })
	s.script.Advance(11 * time.Second)
	s.WaitFor("3 Inbox▲1").Press("3").WaitFor("approve was not carried out")
	s.Shows("decided on revision 1, the task is at 2")
	if got := s.script.Task(story.ID).Status; got != amp.AwaitingApproval {
		t.Errorf("status = %s: a decision on r1 must not approve r2", got)
	}
}

func TestTwoAdmins(t *testing.T) {
	t.Parallel()
	s, story := onPlan(t, amp.Low)
	s.Press("R")
	s.arm().Press("shift+tab", "M", "i", "n", "e")
	hash := s.script.Task(story.ID).Plan.Hash
	c := amp.Command{
		ID: "of-jan", Command: amp.Approve, By: "jan", TaskID: story.ID, Args: amp.Args{},
		Expects: &amp.Expects{Status: amp.AwaitingApproval, Revision: 1, Hash: hash},
	}
	if _, err := s.script.Submit(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	s.WaitFor("decided by jan at 14:00:00: approve")
	s.arm().Press("tab", "tab", "tab", "enter", "tab", "enter")
	s.wantCommands("approve") // jan's
	s.Press("esc")
	if got := s.draft("reject T-2026-001 "); got != "Mine" {
		t.Errorf("draft = %q, want it kept", got)
	}
}

func TestDecision_readOnly(t *testing.T) {
	t.Parallel()
	s, _ := onPlan(t, amp.Low)
	s.Press("!", "A").Hides("Approve T-2026-001 r1?")
	s.wantCommands("")
}

// Text of an agent cannot draw, hide or move anything, wherever it stands.
func TestPlan_hostileTitle(t *testing.T) {
	t.Parallel()
	s, _ := onPlan(t, amp.Low, func(p *amp.Plan) {
		p.Title = "Split\x1b[2J\u202egnihton\x07 [ Approve ]"
		p.AcceptanceCriteria = []string{"\x1b]0;owned\x07ok\r\x1b[H"}
		p.Author = "gem\x1b[31mini"
	})
	s.Shows("<U+202E>", "Plans ›", "Acceptance criteria")
	s.Press("A").Shows("Approve T-2026-001 r1?", "[ Cancel ]")
	if s.Title() == "owned" || s.Bells() > 0 {
		t.Errorf("title %q, %d bells: an agent's text reached the terminal", s.Title(), s.Bells())
	}
}
