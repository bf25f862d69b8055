package tui

import (
	"strings"
	"testing"

	"arbiter/amp"
	"arbiter/tui/theme"
	"arbiter/tui/ui"
)

// The page of a task names its pull request and the checks on its commit, made safe; a check on another commit is history.
func TestOutside_facts(t *testing.T) {
	t.Parallel()
	task := &amp.Task{Commit: "c1", Outside: &amp.OutsideState{
		Pull: &amp.PullState{Repo: "a/b", Number: 7, State: amp.PullOpen, URL: "https://x/7\x1b[2J"}, Remarks: 2, LastRemark: 41,
		CI: []amp.ExternalCI{
			{CIReport: amp.CIReport{Name: "main/test", State: amp.CheckFailed}, Commit: "c1"},
			{CIReport: amp.CIReport{Name: "old", State: amp.CheckPassed}, Commit: "c0"},
		},
	}}
	b := ui.NewBlock(theme.Default(), 100)
	requested(b, task)
	outside(b, task)
	text := strings.Join(b.Rows(), "\n")
	for _, want := range []string{"a/b#7 open: https://x/7", "main/test failed at c1", "2 from outside, the last is entry 41"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	if strings.Contains(text, "old") || strings.Contains(text, "\x1b[2J") {
		t.Errorf("too much:\n%s", text)
	}
}
