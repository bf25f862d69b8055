package tui

import (
	"strings"
	"testing"
	"time"

	"arbiter/amp"
	"arbiter/tui/tuitest"
	"arbiter/tui/ui"
)

// TestHours_gaps: an hour without entries has no verdicts, and what waited before it waits on.
func TestHours_gaps(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 2, 26, 2, 30, 0, 0, time.UTC)
	s := tuitest.NewScript(at)
	s.NewTask("Port the callers").Propose() // waits from here on
	s.Advance(3 * time.Hour)
	s.NewTask("Bench harness").Propose(func(p *amp.Plan) { p.Subtasks = p.Subtasks[:1] }).Approve().Reject()
	s.Advance(6 * time.Hour)
	m := still(t, s, 140, 40)
	b := ui.NewBlock(m.env.Theme, 60)
	m.env.drawHours(b)
	tuitest.GoldenText(t, "now/hours", tuitest.Draw(t, strings.Join(b.Rows(), "\n"), 60, b.Height()).Text())

	s.Advance(48 * time.Hour) // long ago: no verdicts, but one plan waits all the same
	m.env.Now = s.Now()
	b = ui.NewBlock(m.env.Theme, 60)
	m.env.drawHours(b)
	tuitest.GoldenText(t, "now/hours-later", tuitest.Draw(t, strings.Join(b.Rows(), "\n"), 60, b.Height()).Text())
}

// TestNear: the two bounds that tasks at work come nearest to, the nearest first; what is not half used is not named.
func TestNear(t *testing.T) {
	t.Parallel()
	s := tuitest.NewScript(tuitest.SceneEnd).SetState(func(c *amp.CoordinatorState) { c.Budget = amp.Budget{Turns: 10} })
	bound := func(title string, b amp.Budget) *tuitest.Story {
		return s.NewTask(title).Propose(func(p *amp.Plan) { p.Budget = b }).Approve().Dispatch()
	}
	bound("far away", amp.Budget{})                                       // 1 of 10 turns
	bound("near", amp.Budget{Turns: 2, WallSec: 3600})                    // 1 of 2 turns
	bound("at it", amp.Budget{Turns: 50, WallSec: 61}).Ends(amp.TurnLost) // 61 of 61 s, but no turn runs
	again := bound("nearest", amp.Budget{WallSec: 80})
	again.Ends(amp.TurnLost).Turn(amp.Executor, "codex", amp.TaskDispatch) // 61 of 80 s
	m := still(t, s, 140, 40)
	got := m.env.known().near
	if len(got) != 2 || got[0].words() != "1m 1s of 1m 20s" || got[1].words() != "1 of 2 turns" {
		t.Errorf("near = %+v", got)
	}
}
