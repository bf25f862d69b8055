package tui

import (
	"testing"

	tea "github.com/charmbracelet/bubbletea"

	"arbiter/tui/tuitest"
)

func TestHistory_golden(t *testing.T) {
	t.Parallel()
	for _, size := range sizes {
		t.Run(size.name, func(t *testing.T) {
			t.Parallel()
			name := size.name + "-truecolor-dark-utf8"
			s := start(t, tuitest.Scene(), size.w, size.h)
			s.Press("5").WaitGone("reading …")
			historyRested(s)
			tuitest.Golden(t, "history/"+name, s.Settle())
			s.Press("/")
			s.Burst("session type:review_verdict from:claude")
			s.WaitFor("5 of ")
			s.Press("enter")
			historyRested(s)
			tuitest.Golden(t, "history-search/"+name, s.Settle())
			s.Press("e").WaitGone("reading …")
			tuitest.Golden(t, "entry/"+name, s.Settle())
		})
	}
}

// historyRested waits until all that is shown of the entry under the cursor was read.
func historyRested(s *seat) {
	s.t.Helper()
	for {
		done := false
		s.Do(func(e *env) tea.Cmd {
			p := e.nav.top().page.(*historyPage)
			done = p.glance.whole && (p.detail == nil || p.detail.loaded)
			return nil
		})
		if done {
			s.Settle()
			return
		}
	}
}
