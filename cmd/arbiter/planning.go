package main

import (
	"fmt"

	"arbiter/amp"
	"arbiter/coordinator"
	"arbiter/providers/planning"
)

// planningName is the agent that the planning chain is: roles.coordinator = "planning" uses it.
const planningName = "planning"

// planningConfig names the agents of the planning chain, and the one that distils what ended tasks teach.
type planningConfig struct {
	Objective string `toml:"objective"`
	Goal      string `toml:"goal"`
	Planning  string `toml:"planning"`
	Memory    string `toml:"memory"`
	// MemoryEvery is how often ended tasks are looked for besides when one ends; 0 means once a day.
	MemoryEvery duration `toml:"memory_every"`
}

// configured reports whether there is a chain.
func (p planningConfig) configured() bool {
	return p.Objective != "" || p.Goal != "" || p.Planning != ""
}

func (p planningConfig) validate(agents map[string]agentConfig, bad func(string, ...any)) {
	check := func(key, name string) {
		agent, ok := agents[name]
		switch {
		case name == "":
		case !ok:
			bad("planning.%s: agent %q is not configured under [agents.%s]", key, name, name)
		case agent.Kind == "external":
			bad("planning.%s: %q is external; the chain needs an agent that Arbiter runs", key, name)
		}
	}
	check("objective", p.Objective)
	check("goal", p.Goal)
	check("planning", p.Planning)
	check("memory", p.Memory)
	if !p.configured() {
		return
	}
	for _, s := range []struct{ key, name string }{{"objective", p.Objective}, {"goal", p.Goal}, {"planning", p.Planning}} {
		if s.name == "" {
			bad("planning.%s is missing; the chain needs objective, goal and planning", s.key)
		}
	}
	if _, taken := agents[planningName]; taken {
		bad("agents.%s: [planning] makes an agent of that name; give yours another", planningName)
	}
}

// addPlanning adds the chain to the agents that it is made of.
func addPlanning(c *config, agents map[string]coordinator.AgentConfig) error {
	p := c.Planning
	if !p.configured() {
		return nil
	}
	stage := func(name string) planning.Stage {
		return planning.Stage{Name: name, Agent: agents[name].Agent, Limits: agents[name].Limits}
	}
	agent, err := planning.New(planning.Config{Objective: stage(p.Objective), Goal: stage(p.Goal), Planning: stage(p.Planning)})
	if err != nil {
		return fmt.Errorf("configure [planning]: %w", err)
	}
	agents[planningName] = coordinator.AgentConfig{Agent: agent, Roles: []amp.Role{amp.Coordinator}}
	return nil
}
