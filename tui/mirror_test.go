package tui

import (
	"testing"

	"arbiter/amp"
	"arbiter/tui/tuitest"
)

// The page of the agents says how the mirror of the journal stands, and nothing where there is none.
func TestAgents_mirror(t *testing.T) {
	t.Parallel()
	for want, m := range map[string]*amp.MirrorState{
		"mirror 0 behind":             {},
		"mirror 3 behind, 2 withheld": {Behind: 3, WithheldCount: 2},
		"mirror waits, 12 behind":     {Behind: 12, Trouble: "GitHub cannot be reached"},
		"mirror STOPPED":              {Behind: 12, Trouble: "somebody changed the mirror", Stopped: true},
	} {
		s := start(t, tuitest.NewScript(tuitest.SceneEnd).SetState(func(c *amp.CoordinatorState) { c.Mirror = m }), 120, 30)
		s.Press("6").WaitFor(want)
	}
}
