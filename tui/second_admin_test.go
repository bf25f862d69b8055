package tui

import (
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"arbiter/amp"
	"arbiter/tui/tuitest"
)

// as names who sits at a seat.
func as(admin string) func(*Config) { return func(c *Config) { c.Admin = admin } }

// twoSeats are mira and jan in front of the same plan that needs both, each on a screen of their own.
func twoSeats(t *testing.T, change ...func(*amp.Plan)) (mira, jan *seat, story *tuitest.Story) {
	t.Helper()
	s := tuitest.NewScript(begin)
	change = append([]func(*amp.Plan){func(p *amp.Plan) { p.Policy.SecondAdmin = amp.SecondAlways }}, change...)
	story = s.NewTask("Split planner package").Propose(change...)
	sit := func(who string) *seat {
		st := start(t, s, 100, 30, as(who))
		st.Press("4", "enter")
		st.WaitFor("Acceptance criteria")
		return st
	}
	return sit("mira"), sit("jan"), story
}

// Where the policy says so two admins approve: the first approval starts nothing, the second one runs the plan, and no admin
// counts twice.
func TestSecondAdmin(t *testing.T) {
	t.Parallel()
	mira, jan, story := twoSeats(t)
	mira.Shows("two must approve who are not gemini").Press("A")
	mira.Shows("a second admin is required: you are the first of two", "wait for a second admin who is not gemini or you", "will not  start any work")
	mira.arm().Press("tab", "enter").WaitFor("runs in 10 s")
	jan.WaitFor("runs in 10 s").Press("A").Shows("approve by mira waits for the end of its undo time").Hides("[ Cancel ]")
	mira.script.Advance(11 * time.Second)
	for _, st := range []*seat{mira, jan} {
		st.WaitFor("approved by mira, waits for a second admin who is not gemini/mira")
	}
	mira.Shows("Set policy.second_admin to never").Press("A").Shows("approve… is off: mira approved it already").Hides("[ Cancel ]")
	if got := mira.script.Task(story.ID); got.Status != amp.AwaitingApproval || got.Approval != nil {
		t.Fatalf("one approval: %s, %+v", got.Status, got.Approval)
	}
	jan.Hides("Set policy.second_admin").Press("A").Shows("you are the second of two, after mira", "send S1 to codex")
	jan.arm().Press("tab", "enter").WaitFor("runs in 10 s")
	jan.script.Advance(11 * time.Second)
	if got := jan.script.Task(story.ID); got.Status != amp.Dispatched || got.First.By != "mira" || got.Approval.By != "jan" {
		t.Errorf("two approvals: %s, %+v, %+v", got.Status, got.First, got.Approval)
	}
	if got := jan.commands(); got != "approve approve" {
		t.Errorf("commands = %q", got)
	}
}

// The author's key is off with its reason, on the plan and on the list.
func TestSecondAdmin_author(t *testing.T) {
	t.Parallel()
	mira, jan, _ := twoSeats(t, func(p *amp.Plan) { p.Author = "mira" })
	mira.Press("A").Shows("two admins must approve who did not write it, and mira wrote revision 1").Hides("[ Cancel ]")
	mira.wantCommands("")
	mira.Press("R").Shows("Reject T-2026-001?") // it costs as little as ever
	jan.Press("A").Shows("you are the first of two")
}

// What an open bar says changes under it when the other admin's approval counts: it disarms, and never sends the old meaning.
func TestSecondAdmin_underTheBar(t *testing.T) {
	t.Parallel()
	_, jan, story := twoSeats(t)
	jan.Press("A")
	jan.arm().Press("tab").Shows("[ Approve ]", "you are the first of two")
	story.Approve() // mira's, which counts at once
	jan.WaitFor("decided by mira at 14:00:00: approve").Shows("[ Cancel ]")
	jan.arm().Press("tab", "enter", "enter")
	jan.wantCommands("")
}

// A new revision drops the first approval, for everybody to see.
func TestSecondAdmin_newRevision(t *testing.T) {
	t.Parallel()
	mira, jan, story := twoSeats(t)
	story.Approve()
	mira.WaitFor("waits for a second admin")
	story.Propose(func(p *amp.Plan) { p.Description = "another way" })
	for _, st := range []*seat{mira, jan} {
		st.WaitGone("waits for a second admin").Shows("two must approve who are not gemini")
		st.Press("A").Shows("you are the first of two")
	}
}

// The lists count the approvals.
func TestSecondAdmin_lists(t *testing.T) {
	t.Parallel()
	s := tuitest.NewScript(begin)
	s.NewTask("Alone").Propose()
	for i, title := range []string{"Nobody yet", "One of two"} {
		st := s.NewTask(title).Propose(func(p *amp.Plan) { p.Policy.SecondAdmin = amp.SecondAlways })
		if i == 1 {
			st.Approve()
		}
	}
	seat := start(t, s, 140, 40)
	seat.Press("4").WaitFor("0 of 2").Shows("1 of 2", "ADMINS")
	tuitest.Golden(t, "plans/140x40-two-admins", seat.Settle())
	seat.Press("1").WaitFor("approved by mira, waits for a second ad")
	seat.goTo(Place{Kind: KindPlan, ID: "T-2026-003"})
	seat.Do(func(*env) tea.Cmd { return nil })
	tuitest.Golden(t, "plan/140x40-two-admins", seat.Settle())
}

// Two admins decide the same plan from two screens at the same moment: one decision counts, the other screen says whose.
func TestTwoScreens(t *testing.T) {
	t.Parallel()
	mira, jan, story := twoSeats(t, func(p *amp.Plan) { p.Policy.SecondAdmin = amp.SecondNever })
	mira.Press("A")
	jan.Press("R")
	mira.arm().Press("tab").Shows("[ Approve ]")
	jan.Press("shift+tab", "N", "o").Press("tab", "tab").Shows("[ Reject ]")
	mira.Press("enter")
	mira.WaitFor("runs in 10 s")
	jan.WaitFor("runs in 10 s")
	jan.arm().Press("tab", "tab", "enter", "enter").Hides("rejected")
	if got := jan.commands(); got != "approve" {
		t.Errorf("commands = %q, want mira's alone", got)
	}
	jan.Press("esc")
	if got := jan.draft("reject T-2026-001 "); strings.TrimSpace(got) != "No" {
		t.Errorf("jan's draft is %q", got)
	}
	mira.script.Advance(11 * time.Second)
	if got := mira.script.Task(story.ID).Status; got != amp.Dispatched {
		t.Errorf("status = %s", got)
	}
}
