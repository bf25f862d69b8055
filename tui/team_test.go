package tui

import (
	"strings"
	"testing"

	"arbiter/amp"
)

// A task says which coordinator ran its last turn when there are several, and their slots are not counted as those of one.
func TestTeam_shown(t *testing.T) {
	t.Parallel()
	e := &env{Board: amp.NewBoard(), State: &amp.CoordinatorState{Slots: 4}}
	p := &taskPage{e: e}
	task := &amp.Task{ID: "T-2026-001"}
	if got := p.about(task); strings.Contains(got, " on ") {
		t.Errorf("alone: %q", got)
	}
	if got := e.slots(); got != 4 {
		t.Errorf("alone: %d slots, want 4", got)
	}
	task.Owner = "ada-0123"
	e.State.Team = &amp.TeamState{Owner: "ben-4567"}
	if got := p.about(task); !strings.HasSuffix(got, " · on ada-0123") {
		t.Errorf("in a team: %q", got)
	}
	if got := e.slots(); got != 0 {
		t.Errorf("in a team: %d slots, want no number", got)
	}
}
