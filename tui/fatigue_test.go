package tui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"arbiter/amp"
	"arbiter/tui/tuitest"
	"arbiter/tui/ui"
)

// decidedBy appends a stored decision about a new low plan.
func decidedBy(s *tuitest.Script, who string, name amp.CommandName, args amp.Args) {
	t := s.NewTask("Retry budget").Propose()
	c := amp.Command{ID: fmt.Sprintf("c-%s", t.ID), Command: name, By: who, At: s.Now(), TaskID: t.ID, Args: args, Note: "why"}
	s.Append(amp.KindCommand, t.ID, amp.Admin, who, amp.EncodeBody(&c))
}

// panel is what the pace panel says in a seat.
func (s *seat) panel() string {
	var rows []string
	s.Do(func(e *env) tea.Cmd {
		b := ui.NewBlock(e.Theme, 70)
		e.drawFatigue(b)
		rows = b.Rows()
		return nil
	})
	return strings.Join(rows, "\n")
}

func TestFatigue(t *testing.T) {
	t.Parallel()
	read := amp.Args{Read: "read 2/2 in 48 s", Parts: 2, TookMS: 48_000}
	unread := amp.Args{Read: "read 0/2 in 1 s", Parts: 2, Unread: 2, TookMS: 5_000}
	half := amp.Args{Read: "read 1/2 in 9 s", Parts: 2, Unread: 1, TookMS: 9_000}
	fast := amp.Args{Parts: 2, TookMS: 900}
	type made struct {
		by   string
		name amp.CommandName
		args amp.Args
		n    int
	}
	for name, tc := range map[string]struct {
		made []made
		want []string
		not  []string
	}{
		"nothing":          {nil, nil, []string{"Your decisions"}},
		"at a good pace":   {[]made{{"mira", amp.Approve, read, 4}}, []string{"4 · median 48 s · unread 0"}, []string{"policy"}},
		"of others":        {[]made{{"jan", amp.Approve, fast, 20}}, nil, []string{"Your decisions"}},
		"half read counts": {[]made{{"mira", amp.Approve, half, 2}}, []string{"2 · median 9 s · unread 0"}, []string{"policy"}},
		"unread": {
			[]made{{"mira", amp.Approve, unread, 9}, {"mira", amp.Approve, read, 3}},
			[]string{"12 approvals in 0 s, 9 unread, no reject", "a policy could take over: approve a low plan ×12", "median 5 s each"},
			nil,
		},
		"under 2 s":    {[]made{{"mira", amp.Approve, fast, 3}, {"mira", amp.Reject, read, 1}}, []string{"4 decisions in 0 s, 3 under 2 s"}, []string{"no reject"}},
		"many":         {[]made{{"mira", amp.Reject, read, 16}}, []string{"16 decisions in 0 s"}, []string{"policy", "unread"}},
		"from a shell": {[]made{{"mira", amp.Approve, amp.Args{}, 2}}, []string{"2 · unread 0"}, []string{"median"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := tuitest.NewScript(begin)
			for _, m := range tc.made {
				for range m.n {
					decidedBy(s, m.by, m.name, m.args)
				}
			}
			seat := start(t, s, 100, 30)
			seat.Settle()
			got := seat.panel()
			for _, w := range tc.want {
				if !strings.Contains(got, w) {
					t.Errorf("the panel does not say %q:\n%s", w, got)
				}
			}
			for _, w := range tc.not {
				if strings.Contains(got, w) {
					t.Errorf("the panel says %q:\n%s", w, got)
				}
			}
		})
	}
}

// A decision made here counts at once, and leaves the window after ten minutes.
func TestFatigue_follows(t *testing.T) {
	t.Parallel()
	s, _ := onPlan(t, amp.Low)
	s.Press("A")
	s.arm()
	s.script.Advance(2600 * time.Millisecond)
	s.Press("tab", "enter").WaitFor("runs in 10 s")
	if got := s.panel(); !strings.Contains(got, "1 · median 3 s · unread 0") {
		t.Errorf("panel:\n%s", got)
	}
	if c := s.script.Sent()[0]; c.Args.TookMS != 3000 || c.Args.Parts != 2 {
		t.Errorf("took %d ms, %d parts", c.Args.TookMS, c.Args.Parts)
	}
	s.script.Advance(10*time.Minute + time.Second)
	if got := s.panel(); got != "" {
		t.Errorf("after ten minutes:\n%s", got)
	}
}
