package coordinator

import (
	"fmt"
	"slices"

	"arbiter/amp"
	"arbiter/providers"
)

// choose names the agent for a role of a task. A reviewer is another vendor than the executor, unless the admin named it.
func (c *Coordinator) choose(t *amp.Task, role amp.Role) (string, AgentConfig, error) {
	named := map[amp.Role]string{amp.Executor: t.Executor, amp.Reviewer: t.Reviewer}[role]
	if named == "" && t.Plan != nil {
		named = map[amp.Role]string{amp.Executor: t.Plan.Executor, amp.Reviewer: t.Plan.Reviewer}[role]
	}
	if named != "" {
		a, ok := c.cfg.Agents[named]
		if !ok {
			return "", AgentConfig{}, fmt.Errorf("the agent %q of %s is not configured; reassign the task to one that is", named, t.ID)
		}
		return named, a, nil
	}
	name := c.cfg.Roles[role]
	a, ok := c.cfg.Agents[name]
	if !ok {
		return "", AgentConfig{}, fmt.Errorf("no agent is configured as %s; name one under [roles]", role)
	}
	if role != amp.Reviewer {
		return name, a, nil
	}
	_, executor, err := c.choose(t, amp.Executor)
	if err != nil || executor.Vendor != a.Vendor || a.Vendor == "" {
		return name, a, nil
	}
	for _, other := range c.agentNames() {
		if o := c.cfg.Agents[other]; slices.Contains(o.Roles, amp.Reviewer) && o.Vendor != executor.Vendor {
			return other, o, nil
		}
	}
	return "", AgentConfig{}, fmt.Errorf(
		"every reviewer is of the executor's vendor %q; configure another one, or name the reviewer of %s yourself", a.Vendor, t.ID)
}

func (c *Coordinator) agentNames() []string {
	names := make([]string, 0, len(c.cfg.Agents))
	for n := range c.cfg.Agents {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// crew is what is known of the configured agents, by name.
func (c *Coordinator) crew() []amp.AgentFacts {
	out := make([]amp.AgentFacts, 0, len(c.cfg.Agents))
	for _, name := range c.agentNames() {
		a := c.cfg.Agents[name]
		f := amp.AgentFacts{Through: "external"}
		if d, ok := a.Agent.(providers.Describer); ok {
			f = d.Describe(a.Limits)
		} else if a.Agent != nil {
			f.Through = "adapter"
		}
		f.Name, f.Vendor, f.Roles = name, a.Vendor, slices.Clone(a.Roles)
		out = append(out, f)
	}
	return out
}
