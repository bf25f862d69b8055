package tui

import (
	"testing"

	"arbiter/amp"
	"arbiter/tui/tuitest"
)

// The page of the agents says what waits on the bus, and how an agent on it is.
func TestAgents_bus(t *testing.T) {
	t.Parallel()
	var name string
	s := start(t, tuitest.NewScript(tuitest.SceneEnd).SetState(func(c *amp.CoordinatorState) {
		name = c.Crew[0].Name
		c.Bus = &amp.BusFacts{Queued: 3, Dead: 1, Agents: []amp.BusAgent{
			{AgentID: "curl://coder", Name: name, Health: "unhealthy: no heartbeat\x1b[31m", Queued: 3},
			{AgentID: "curl://other", Healthy: true, Health: "healthy"},
		}}
	}), 140, 40)
	s.Press("6").WaitFor("bus 3 wait, 1 dead letter")
	s.Press("/").Burst(name).Press("enter").WaitFor("on the bus as curl://coder: unhealthy: no")
	s.WaitFor("heartbeat␛[31m, 3 wait")
	s.WaitFor("1 dead letter on the bus, b shows them")

	well := start(t, tuitest.NewScript(tuitest.SceneEnd).SetState(func(c *amp.CoordinatorState) {
		c.Bus = &amp.BusFacts{Agents: []amp.BusAgent{{AgentID: "curl://other", Healthy: true, Health: "healthy"}}}
	}), 140, 40)
	well.Press("6").WaitFor("bus 1 of 1 healthy")
}
