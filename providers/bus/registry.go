package bus

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"arbiter/amp"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// maxDescriptor is how many bytes a registration may have.
const maxDescriptor = 64 << 10

// DecodeRegistration reads the body of a registration (BUS-060). What it authenticates with is read and thrown away: the header says who it is.
func DecodeRegistration(data []byte) (*Descriptor, error) {
	d := &door{}
	v := jsontext.Value(data)
	if len(data) > maxDescriptor || !v.IsValid() || v.Kind() != '{' || amp.DepthOf(data) > amp.MaxDepth {
		return nil, refusal("BUS-060", "", "it is no JSON object of at most %d bytes", maxDescriptor)
	}
	top := members(v)
	in := members(top["agent_descriptor"])
	if in == nil {
		d.bad("BUS-060", "agent_descriptor", "it is %s, expected an object", kindOf(top["agent_descriptor"]))
	}
	got := &Descriptor{Capabilities: in["capabilities"], Endpoints: in["endpoints"], Metadata: in["metadata"]}
	if in["agent_id"] == nil && in != nil {
		d.bad("BUS-015", "agent_descriptor.agent_id", "it is missing")
	}
	got.AgentID = d.text(in, "agent_descriptor", "agent_id", "BUS-015", true)
	got.Framework = d.text(in, "agent_descriptor", "framework", "BUS-017", false)
	if got.Framework == "" {
		got.Framework = FrameworkOf(got.AgentID)
	}
	for name, kinds := range map[string]string{"capabilities": "array object nothing null", "endpoints": "object array nothing null", "metadata": "object nothing null"} {
		if !strings.Contains(kinds, kindOf(in[name])) {
			d.bad("BUS-060", "agent_descriptor."+name, "it is %s", kindOf(in[name]))
		}
	}
	got.HealthURL = d.text(top, "", "health_check_url", "BUS-060", false)
	got.StatusURL = d.text(top, "", "status_endpoint", "BUS-060", false)
	if auth := top["authentication"]; auth != nil {
		in := members(auth)
		if typ := d.text(in, "authentication", "type", "BUS-060", false); !slices.Contains([]string{"jwt", "api_key", "certificate", "none"}, typ) {
			d.bad("BUS-060", "authentication.type", "%s is none of jwt, api_key and certificate", quoted(typ))
		}
	}
	if selves[got.AgentID] || strings.HasPrefix(got.AgentID, Framework+"://") {
		d.bad("BUS-060", "agent_descriptor.agent_id", "%s is a name of the bus itself", quoted(got.AgentID))
	}
	if len(d.problems) > 0 {
		return nil, &RefusedError{Problems: d.problems}
	}
	return got, nil
}

// FrameworkOf is everything before :// of an agent id (B11), or unknown.
func FrameworkOf(id string) string {
	if f, _, ok := strings.Cut(id, "://"); ok && f != "" {
		return f
	}
	return "unknown"
}

// Register takes an agent in (BUS-060, BUS-061). Whoever registers it speaks for it.
func (b *Bus) Register(ctx context.Context, who Caller, body []byte) (*Descriptor, error) {
	d, err := DecodeRegistration(body)
	if err != nil {
		return nil, b.refuse(ctx, who, withoutCredentials(body), err.(*RefusedError)) //nolint:errorlint,forcetypeassert // it returns it as it is
	}
	d.Bearer, d.Role = who.Name, who.Role
	b.mu.Lock()
	refused := b.mayRegister(who, d)
	if refused == nil {
		b.entering[d.AgentID] = d.Bearer
	}
	b.mu.Unlock()
	if refused != nil {
		return nil, b.refuse(ctx, who, withoutCredentials(body), refused)
	}
	err = b.fact(ctx, Fact{Event: Registered, Agent: d, AgentID: d.AgentID, By: who.Name})
	if err != nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.entering, d.AgentID)
	}
	return d, err
}

// mayRegister says why an agent must not register. The lock is held.
func (b *Bus) mayRegister(who Caller, d *Descriptor) *RefusedError {
	if _, enters := b.entering[d.AgentID]; enters || b.state.agents[d.AgentID] != nil {
		return refusal("BUS-061", "", "Agent %s already registered", d.AgentID)
	}
	if len(b.state.agents)+len(b.entering) >= b.cfg.Agents {
		return refusal("BUS-060", "", "%d agents are registered; remove some first", len(b.state.agents))
	}
	if n := b.agentsOf(d.Bearer); n >= b.cfg.AgentsEach && !b.cfg.Open {
		return refusal("BUS-060", "", "this token has registered %d agents; remove some first, or raise max_agents under [bus]", n)
	}
	m, ours := b.cfg.Members[d.AgentID]
	if !ours || who.Admin || b.cfg.Open {
		return nil
	}
	if m.Bearer != "" && m.Bearer != who.Name {
		return refusal("BUS-066", "agent_descriptor.agent_id", "agent %s belongs to another token", quoted(d.AgentID))
	}
	if len(m.Roles) > 0 && !slices.Contains(m.Roles, who.Role) {
		return refusal("BUS-066", "agent_descriptor.agent_id", "agent %s is no %s", quoted(d.AgentID), who.Role)
	}
	return nil
}

// agentsOf is how many agents the bearer of a token registered. The lock is held.
func (b *Bus) agentsOf(bearer string) (n int) {
	for _, d := range b.state.agents {
		if d.Bearer == bearer {
			n++
		}
	}
	for _, by := range b.entering {
		if by == bearer {
			n++
		}
	}
	return n
}

// withoutCredentials is a registration as the error log may hold it: nothing of one that cannot be read.
func withoutCredentials(body []byte) []byte {
	top := members(jsontext.Value(body))
	if top == nil {
		return nil
	}
	delete(top, "authentication")
	raw, err := json.Marshal(top, json.Deterministic(true))
	if err != nil {
		return nil
	}
	return raw
}

// Remove takes an agent off the bus and closes its connection (BUS-062). What waits for it becomes dead letters, unless it is an agent of the
// configuration. It reports whether there was one.
func (b *Bus) Remove(ctx context.Context, who Caller, agent string) (bool, error) {
	b.mu.Lock()
	d := b.state.agents[agent]
	if d == nil {
		b.mu.Unlock()
		return false, nil
	}
	if !who.owns(d) {
		b.mu.Unlock()
		return false, refusal("BUS-066", "agent_id", "agent %s is registered by another token", quoted(agent))
	}
	facts := []Fact{{Event: Removed, AgentID: agent, By: who.Name}}
	if q := b.state.queues[agent]; q != nil && !b.member(agent) {
		dead := Fact{Event: DeadLetter, Why: "the agent was removed", AgentID: agent}
		q.each(func(it *item) bool { dead.Keys = append(dead.Keys, it.key); return true })
		facts = append(facts, dead)
	}
	b.mu.Unlock()
	err := b.fact(ctx, facts...)
	return err == nil, err
}

func (b *Bus) member(agent string) bool {
	_, ok := b.cfg.Members[agent]
	return ok
}

// beat notes a heartbeat (BUS-044). The sender is registered.
func (b *Bus) beat(m *Message) {
	var said struct {
		Status string `json:"status"`
	}
	_ = json.Unmarshal(m.Payload, &said) // a heartbeat that says nothing is one
	b.mu.Lock()
	defer b.mu.Unlock()
	b.count.heartbeats++
	l := b.live[m.Sender.AgentID]
	if l == nil {
		return
	}
	l.beat, l.said = time.Now(), clip(said.Status, 40)
	if sick := !slices.Contains([]string{"", "healthy", "ok", "idle", "busy", "active", "running", "ready"}, strings.ToLower(said.Status)); sick != l.sick {
		l.sick = sick
		b.cfg.Logger.Info("the health of an agent changed", "agent", clip(m.Sender.AgentID, 100), "status", l.said)
		b.hurry()
	}
}

// available reports whether an agent can be expected to take messages now. The lock is held.
func (b *Bus) available(agent string, now time.Time) bool {
	if agent == Coordinator {
		return true
	}
	l := b.live[agent]
	return l != nil && b.reached(agent, l, now) && b.healthy(l, now)
}

// reached reports whether an agent is connected, or fetched not long ago.
func (b *Bus) reached(agent string, l *live, now time.Time) bool {
	return slices.ContainsFunc(b.sessions[agent], func(s *Session) bool { return s.match == nil }) || now.Sub(l.polled) < b.cfg.Beat
}

// healthy reports whether an agent sent a heartbeat in time, or has not had the time for one.
func (b *Bus) healthy(l *live, now time.Time) bool {
	last := l.since
	if l.beat.After(last) {
		last = l.beat
	}
	return !l.sick && now.Sub(last) <= b.cfg.Beat
}

// AgentState is what the admin is shown of an agent.
type AgentState struct {
	AgentID   string   `json:"agent_id"`
	Framework string   `json:"framework"`
	Name      string   `json:"name,omitzero"`
	Bearer    string   `json:"bearer,omitzero"`
	Role      amp.Role `json:"role,omitzero"`
	// Registered, Connected and Healthy: a configured agent may be none of them.
	Registered bool   `json:"registered"`
	Connected  bool   `json:"connected"`
	Healthy    bool   `json:"healthy"`
	Said       string `json:"said,omitzero"`
	// Beat is its last heartbeat.
	Beat   time.Time `json:"last_heartbeat,omitzero"`
	Queued int       `json:"queued"`
}

// Health is how an agent is, in words. What it said of itself is in them as it said it.
func (a *AgentState) Health() string {
	switch {
	case !a.Registered:
		return "not registered"
	case !a.Connected && !a.Healthy:
		return "not connected"
	case !a.Connected:
		return "registered, not connected"
	case a.Healthy:
		return "healthy"
	case a.Said != "" && a.Said != "healthy":
		return "unhealthy: " + a.Said
	case a.Beat.IsZero():
		return "unhealthy: no heartbeat"
	}
	return "unhealthy: last heartbeat " + a.Beat.Local().Format(time.TimeOnly)
}

// Facts are what the admin is shown of the bus beside everything else.
func (b *Bus) Facts() amp.BusFacts {
	m := b.Metrics()
	f := amp.BusFacts{Agents: []amp.BusAgent{}, Queued: m.Queued, Dead: m.Dead}
	for _, a := range b.Agents() {
		f.Agents = append(f.Agents, amp.BusAgent{AgentID: a.AgentID, Name: a.Name, Healthy: a.Healthy, Health: a.Health(), Queued: a.Queued})
	}
	return f
}

// Agents are the registered agents and those of the configuration, by id.
func (b *Bus) Agents() []AgentState {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	ids := map[string]bool{}
	for id := range b.state.agents {
		ids[id] = true
	}
	for id := range b.cfg.Members {
		ids[id] = true
	}
	out := []AgentState{}
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		a := AgentState{AgentID: id, Framework: FrameworkOf(id), Name: b.cfg.Members[id].Name}
		if d := b.state.agents[id]; d != nil {
			a.Framework, a.Bearer, a.Role, a.Registered = d.Framework, d.Bearer, d.Role, true
			if l := b.live[id]; l != nil {
				a.Connected, a.Healthy, a.Said, a.Beat = b.reached(id, l, now), b.healthy(l, now), l.said, l.beat
			}
		}
		if q := b.state.queues[id]; q != nil {
			a.Queued = q.n
		}
		out = append(out, a)
	}
	return out
}
