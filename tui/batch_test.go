package tui

import (
	"errors"
	"strings"
	"testing"
	"time"

	"arbiter/amp"
	"arbiter/tui/tuitest"
)

// onPlans is a seat in front of n plans of low risk; change may edit one by its number.
func onPlans(t *testing.T, n int, change func(i int, p *amp.Plan)) (*seat, []*tuitest.Story) {
	t.Helper()
	s := tuitest.NewScript(begin)
	var all []*tuitest.Story
	for i := range n {
		all = append(all, s.NewTask("Router property tests").Propose(func(p *amp.Plan) {
			if change != nil {
				change(i, p)
			}
		}))
		s.Advance(time.Second)
	}
	st := start(t, s, 100, 40)
	st.Press("4").WaitFor("Plans")
	return st, all
}

func (s *seat) marks(n int) *seat {
	s.t.Helper()
	for range n {
		s.Press("space", "j")
	}
	return s
}

// tui.md 6.2.8: a batch is a typed count, one command and one entry each with an expectation of its own.
func TestBatch(t *testing.T) {
	t.Parallel()
	s, all := onPlans(t, 4, nil)
	s.marks(3).Shows("marked 3 of 10", "r1 ✓").Press("A")
	s.Shows("Approve 3 plans of low risk?", "T-2026-001 r1 Router property tests", "3 commands, one entry each", "~450 lines in all",
		"6 subtasks unread", "approve 3", "[ Cancel ]")
	s.arm().Press("tab", "enter").Shows("type: approve 3")
	s.wantCommands("")
	s.typeText("approve 3") // wherever the focus is
	tuitest.Golden(t, "plans/100x40-batch-bar", s.Settle())
	s.Press("enter").WaitFor("3 approvals stored").Hides("Approve 3 plans")
	s.wantCommands("approve approve approve")
	ids := map[string]bool{}
	for i, c := range s.script.Sent() {
		ids[c.ID] = true
		task := s.script.Task(all[i].ID)
		want := amp.Expects{Status: amp.AwaitingApproval, Revision: 1, Hash: task.Plan.Hash}
		if c.TaskID != task.ID || c.Expects == nil || *c.Expects != want || !c.Args.Undo || c.Args.Parts != 2 || c.Args.Unread != 2 {
			t.Errorf("command %d = %+v, expects %+v", i, c, c.Expects)
		}
	}
	if len(ids) != 3 {
		t.Errorf("ids %v, want three", ids)
	}
	s.Press("u").WaitFor("is taken back")
	s.script.Advance(11 * time.Second)
	dispatched := 0
	for _, st := range all {
		if s.script.Task(st.ID).Status == amp.Dispatched {
			dispatched++
		}
	}
	if dispatched != 2 {
		t.Errorf("%d of 3 run after one was taken back", dispatched)
	}
}

// A mark stays under the cursor, and the same key takes it away.
func TestBatch_mark(t *testing.T) {
	t.Parallel()
	s, _ := onPlans(t, 2, nil)
	s.Press("space").Shows("marked 1 of 10", "▌ T-2026-001 r1 ✓").Press("space").Hides("marked 1 of 10")
	s.Press("j", "space").Shows("▌ T-2026-002 r1 ✓", "  T-2026-001 r1 ")
}

// A batch holds ten: the eleventh mark is refused with the reason.
func TestBatch_eleven(t *testing.T) {
	t.Parallel()
	s, _ := onPlans(t, 11, nil)
	s.marks(11).Shows("a batch is 10 at most", "marked 10 of 10").Press("A").Shows("Approve 10 plans of low risk?")
	s.wantCommands("")
}

// Nothing but low risk of one kind goes into a batch, and there is no key that approves all.
func TestBatch_kinds(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(*amp.Plan)
		why    string
	}{
		"medium":     {func(p *amp.Plan) { p.RiskLevel = amp.Medium }, "medium risk: it is read and approved alone"},
		"high":       {func(p *amp.Plan) { p.RiskLevel = amp.High }, "high risk: it is read and approved alone"},
		"two admins": {func(p *amp.Plan) { p.Policy.SecondAdmin = amp.SecondAlways }, "a batch is of one kind"},
		"my own": {func(p *amp.Plan) {
			p.Policy.SecondAdmin, p.Author = amp.SecondAlways, "mira"
		}, "two admins must approve"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _ := onPlans(t, 2, func(i int, p *amp.Plan) {
				if i == 1 {
					tc.change(p)
				}
			})
			s.marks(2).Shows(tc.why, "marked 1 of 10").Press("esc").Hides("marked 1 of 10")
			s.wantCommands("")
		})
	}
}

// What the coordinator refuses is listed with its reason; the others are approved.
func TestBatch_partly(t *testing.T) {
	t.Parallel()
	s, all := onPlans(t, 3, nil)
	s.marks(3).Press("A")
	s.arm().typeText("approve 3")
	s.Press("tab")
	release := s.script.Hold() // the first is on its way when the second plan moves
	s.Press("enter").WaitFor("sending 1 of 3")
	all[1].Command(amp.Reject, amp.Args{}, "too large").Propose(func(p *amp.Plan) { p.Description = "another way" })
	release()
	s.WaitFor("2 approvals stored, 1 refused").Shows("refused   T-2026-002: decided on revision 1", "approved  T-2026-001 is entry", "nothing is left to approve")
	if got := s.script.Task(all[1].ID); len(got.Waiting) != 0 {
		t.Errorf("the moved plan was approved: %+v", got.Waiting)
	}
	s.arm().Press("enter").Hides("Approved what could be")
}

// A plan that moves under the open bar falls out of it, and the count must be typed anew.
func TestBatch_moves(t *testing.T) {
	t.Parallel()
	s, all := onPlans(t, 3, nil)
	s.marks(3).Press("A")
	s.arm().typeText("approve 3")
	all[1].Propose(func(p *amp.Plan) { p.Description = "another way" })
	s.WaitFor("Approve 2 plans of low risk?").Shows("T-2026-002: it moved: r2", "[ Cancel ]")
	s.arm().typeText("approve 2")
	s.Press("tab", "enter").WaitFor("2 approvals stored, 1 refused")
	s.wantCommands("approve approve")
}

// Without a connection the rest waits in the bar; sent again it is the same decision.
func TestBatch_offline(t *testing.T) {
	t.Parallel()
	s, _ := onPlans(t, 2, nil)
	s.script.Refuse(errors.New("the socket was closed"))
	s.marks(2).Press("A")
	s.arm().typeText("approve 2")
	s.Press("tab", "enter").WaitFor("the socket was closed").Shows("Approve 2 plans")
	s.script.Refuse(nil)
	s.arm().typeText("approve 2")
	s.Press("tab", "enter").WaitFor("2 approvals stored")
	var ids []string
	for _, c := range s.script.Sent() {
		ids = append(ids, c.ID)
	}
	if len(ids) != 3 || ids[0] != ids[1] {
		t.Errorf("sent %s, want the first one twice", strings.Join(ids, " "))
	}
}

// Keys typed ahead, bursts and clicks never approve a batch.
func TestBatch_stolenKeys(t *testing.T) {
	t.Parallel()
	s, _ := onPlans(t, 2, nil)
	s.marks(2).Burst("Aapprove 2\t\t\r").Shows("Approve 2 plans")
	s.arm()
	s.Paste("approve 2\r").Press("enter") // Cancel has the focus
	for y := range 40 {
		s.Burst(tuitest.ClickBytes(90, y))
	}
	s.wantCommands("")
}

// Without a mark A opens the plan, where it is read and approved.
func TestBatch_none(t *testing.T) {
	t.Parallel()
	s, _ := onPlans(t, 2, nil)
	s.Press("A").WaitFor("Plans › T-2026-001").Hides("[ Cancel ]")
}
