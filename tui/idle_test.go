package tui

import (
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"arbiter/amp"
	"arbiter/tui/tuitest"
)

// What happens when nobody decides is what the clocks of the task say, in the coordinator's own numbers.
func TestIdle(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		story func(*tuitest.Script) *tuitest.Story
		want  string
	}{
		"a plan":               {func(s *tuitest.Script) *tuitest.Story { return s.NewTask("x").Propose() }, "stays awaiting until decided: no turn, cost, commit or merge"},
		"locked":               {lockedStory, "stays locked until decided: no turn, cost, merge; branch at 7d20c4e"},
		"held":                 {heldStory, "stays held until decided: no turn, cost, merge; branch at 7d20c4e"},
		"a question of a turn": {questionStory, "at 14:30:00 silence becomes a no, and the turn goes on without it"},
		"a message that is not acknowledged": {
			func(s *tuitest.Script) *tuitest.Story { return s.NewTask("x").Propose().Approve().Dispatch() },
			"task_dispatch is delivered again at 14:02:30",
		},
		"and was delivered twice": {
			func(s *tuitest.Script) *tuitest.Story {
				return s.NewTask("x").Propose().Approve().Dispatch().Redelivered(amp.TaskDispatch)
			},
			"ack_timeout suspends the task at 14:05:00",
		},
		"one that works": {
			func(s *tuitest.Script) *tuitest.Story {
				return s.NewTask("x").Propose().Approve().Dispatch().Ack(amp.TaskDispatch)
			},
			"heartbeat_timeout suspends the task at 14:20:00",
		},
		"one that works, after the machine slept": {
			func(s *tuitest.Script) *tuitest.Story {
				s.SetState(func(c *amp.CoordinatorState) { c.HeartbeatSec, c.AwakeSince = 20*60, begin.Add(10*time.Hour) })
				return s.NewTask("x").Propose().Approve().Dispatch().Ack(amp.TaskDispatch)
			},
			"heartbeat_timeout suspends the task at Feb 27 00:20",
		},
		"a decision that waits": {
			func(s *tuitest.Script) *tuitest.Story {
				at := begin.Add(12 * time.Second)
				return s.NewTask("x").Propose().Command(amp.Approve, amp.Args{EffectiveAt: &at}, "")
			},
			"approve by mira runs at 14:00:12",
		},
		"stopped meanwhile": {questionStory, "everything is stopped: no clock runs until thaw"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := tuitest.NewScript(begin).SetState(func(c *amp.CoordinatorState) { c.HeartbeatSec = 20 * 60 })
			story := tc.story(s)
			seat := start(t, s, 80, 24)
			if strings.HasPrefix(name, "stopped") {
				s.Append(amp.KindCommand, "", amp.Admin, "mira", amp.EncodeBody(&amp.Command{ID: "s", Command: amp.StopAll, By: "mira"}))
				seat.WaitFor("stopped")
			}
			got := ""
			seat.Do(func(e *env) tea.Cmd {
				task := e.Board.Task(story.ID)
				n := need{Need: amp.Need{Kind: amp.NeedPlan}}
				if all := task.Needs(); len(all) > 0 {
					n = newNeed(all[0])
				}
				got = e.idle(&n, task)
				return nil
			})
			if !strings.Contains(got, tc.want) {
				t.Errorf("it says %q, want %q", got, tc.want)
			}
		})
	}
}

// The bar speaks in the numbers and names of the coordinator that will act, not in the protocol's.
func TestBar_coordinatorsNumbers(t *testing.T) {
	t.Parallel()
	s := tuitest.NewScript(begin).SetState(func(c *amp.CoordinatorState) {
		c.UndoMS, c.AckSec = 30_000, map[amp.MessageType]int{amp.TaskDispatch: 45}
		c.Roles = map[amp.Role]string{amp.Executor: "kappa", amp.Reviewer: "rho"}
	})
	s.NewTask("Split planner package").Propose(func(p *amp.Plan) { p.Executor, p.Reviewer = "", "" })
	st := start(t, s, 80, 24)
	st.Press("4", "enter").WaitFor("Acceptance criteria").Shows("kappa, reviewed by rho")
	st.Press("A").Shows("send S1 to kappa, ACK in 45 s", "runs 30 s after that")
}
