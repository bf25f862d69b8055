package tui

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"arbiter/amp"
	"arbiter/tui/theme"
	"arbiter/tui/tuitest"
)

// called is a still model that writes down how often it called.
func called(t *testing.T, change ...func(*Config)) (*model, *tuitest.Script, *[]string) {
	t.Helper()
	script := tuitest.Scene()
	m := stillWith(t, script, 80, 24, theme.Default(), func(*parts) {}, change...)
	var calls []string
	m.call = func(title, body string, bell bool) error {
		if !bell {
			title += " (silent)"
		}
		calls = append(calls, title+": "+body)
		return nil
	}
	return m, script, &calls
}

// newPlan lets a new plan wait for the admin, and tells the model.
func newPlan(t *testing.T, m *model, script *tuitest.Script) tea.Cmd {
	t.Helper()
	head := m.env.Board.Head.Seq
	script.NewTask("Something new").Propose()
	page, err := script.Query(t.Context(), amp.Query{Kind: amp.QueryEntries, Filter: amp.Filter{After: head}})
	if err != nil {
		t.Fatal(err)
	}
	m.env.Now = m.env.now()
	return m.fold(batchMsg{m.gen, page.Entries})
}

func TestNotify_onlyAway(t *testing.T) {
	t.Parallel()
	m, script, calls := called(t)
	run(newPlan(t, m, script), func(tea.Msg) {})
	m.Update(tea.FocusMsg{})
	run(newPlan(t, m, script), func(tea.Msg) {})
	if len(*calls) != 0 {
		t.Fatalf("it called while the terminal had the focus, or never said it lost it: %v", *calls)
	}
	m.Update(tea.BlurMsg{})
	run(m.notice(), func(tea.Msg) {})
	if len(*calls) != 0 {
		t.Fatalf("it called about what was on the screen before: %v", *calls)
	}
	run(newPlan(t, m, script), func(tea.Msg) {})
	if len(*calls) != 1 || !strings.HasPrefix((*calls)[0], "arbiter: 10 things need you: T-2026-0") {
		t.Errorf("it called %q", *calls)
	}
}

func TestNotify_onceAMinute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, script, calls := called(t)
		m.Update(tea.BlurMsg{})
		run(newPlan(t, m, script), func(tea.Msg) {})
		script.Advance(20 * time.Second)
		later := newPlan(t, m, script)
		if again := newPlan(t, m, script); again != nil {
			run(again, func(msg tea.Msg) {
				if _, ok := msg.(alertMsg); ok {
					t.Error("two timers were started")
				}
			})
		}
		begin := time.Now()
		run(later, func(msg tea.Msg) {
			if _, ok := msg.(alertMsg); !ok {
				return
			}
			if took := time.Since(begin); took != 40*time.Second {
				t.Errorf("it calls again after %v", took)
			}
			script.Advance(40 * time.Second)
			_, cmd := m.Update(msg)
			run(cmd, func(tea.Msg) {})
		})
		if len(*calls) != 2 || !strings.Contains((*calls)[1], ", and 1 more") {
			t.Errorf("it called %q", *calls)
		}
	})
}

func TestNotify_off(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		a    Alerts
		want string
	}{
		"off":              {Alerts{Off: true}, ""},
		"silent":           {Alerts{Silent: true}, " (silent)"},
		"quiet":            {Alerts{From: 14 * time.Hour, To: 15 * time.Hour}, ""},
		"quiet over night": {Alerts{From: 13 * time.Hour, To: 7 * time.Hour}, ""},
		"not quiet":        {Alerts{From: 22 * time.Hour, To: 7 * time.Hour}, "arbiter"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, script, calls := called(t, func(cfg *Config) { cfg.Alerts = c.a })
			m.Update(tea.BlurMsg{})
			run(newPlan(t, m, script), func(tea.Msg) {})
			if got := strings.Join(*calls, ""); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
				t.Errorf("it called %q", *calls)
			}
		})
	}
}

func TestTitle_isSafe(t *testing.T) {
	t.Parallel()
	m := still(t, tuitest.Scene(), 80, 24)
	if got := m.title(); got != "(7) arbiter · now" {
		t.Errorf("the title is %q", got)
	}
}
