package tui

import (
	"cmp"
	"slices"
	"time"

	"arbiter/amp"
	"arbiter/tui/theme"
)

// agentState is what one agent does now.
type agentState struct {
	name  string
	turns int
	last  time.Time // the longest silence
}

// agents are the agents with a turn at work and those that the coordinator has, by name.
func (e *env) agents() []agentState {
	c := &e.crew
	fresh := c.version == e.Index.Version || len(e.Index.Running) > manyTurns && e.Now.Sub(c.at) < time.Second
	if c.agents == nil || c.state != e.State || !fresh {
		*c = crew{e.Index.Version, e.Now, e.State, e.countAgents()}
	}
	return c.agents
}

// manyTurns is how many running turns are counted at most once a second.
const manyTurns = 256

// crew is what agents returned for one version of the board.
type crew struct {
	version uint64
	at      time.Time
	state   *amp.CoordinatorState
	agents  []agentState
}

func (e *env) countAgents() []agentState {
	byName := map[string]*agentState{}
	if e.State != nil {
		for _, names := range e.State.Agents {
			for _, n := range names {
				byName[n] = &agentState{name: n}
			}
		}
	}
	for id := range e.Index.Running {
		turn := e.Board.Task(id).Turn
		a := byName[turn.Agent]
		if a == nil {
			a = &agentState{name: turn.Agent}
			byName[turn.Agent] = a
		}
		a.turns++
		if a.last.IsZero() || turn.LastAt.Before(a.last) {
			a.last = turn.LastAt
		}
	}
	out := make([]agentState, 0, len(byName))
	for _, a := range byName {
		out = append(out, *a)
	}
	slices.SortFunc(out, func(a, b agentState) int {
		return cmp.Or(cmp.Compare(b.turns, a.turns), cmp.Compare(a.name, b.name))
	})
	return out
}

// agentText is "● 2 turns 4/30 min".
func (e *env) agentText(a agentState) string {
	if a.turns == 0 {
		return e.Theme.S(theme.Muted, e.Theme.Signs.Off+" idle")
	}
	return e.Theme.S(theme.Good, e.Theme.Signs.Live) + " " + plural(a.turns, "turn") + " " + e.silence(a.last, false)
}
