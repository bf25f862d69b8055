package coordinator

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"arbiter/amp"
	"arbiter/providers"
	"arbiter/providers/agenttest"
)

// known is an agent that knows itself.
type known struct{ *agenttest.Fake }

func (known) Describe(l providers.Limits) amp.AgentFacts {
	return amp.AgentFacts{Through: "program", Acks: "auto", SilenceSec: int(l.Silence.Seconds())}
}

// What a coordinator says of its agents is what their configuration and the way to them promise, no more.
func TestQuery_crew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, works, judges(amp.Approved), func(c *Config) {
			c.Agents = map[string]AgentConfig{
				"sh":       {Agent: known{}, Roles: []amp.Role{amp.Executor}, Vendor: "x", Limits: providers.Limits{Silence: time.Minute}},
				"planner":  c.Agents["planner"],
				"outsider": c.Agents["outsider"],
			}
			c.Roles = map[amp.Role]string{amp.Executor: "sh"}
			c.Budget = amp.Budget{Turns: 7}
		})
		page, err := r.c.Query(t.Context(), amp.Query{Kind: amp.QueryStatus})
		if err != nil {
			t.Fatal(err)
		}
		want := []amp.AgentFacts{
			{Name: "outsider", Through: "external", Vendor: "z", Roles: []amp.Role{amp.Executor, amp.Reviewer}},
			{Name: "planner", Through: "adapter", Vendor: "p", Roles: []amp.Role{amp.Coordinator}},
			{Name: "sh", Through: "program", Vendor: "x", Roles: []amp.Role{amp.Executor}, Acks: "auto", SilenceSec: 60},
		}
		if diff := cmp.Diff(want, page.Status.Crew); diff != "" {
			t.Errorf("crew (-want +got):\n%s", diff)
		}
		if page.Status.Budget.Turns != 7 {
			t.Errorf("budget %+v", page.Status.Budget)
		}
	})
}
