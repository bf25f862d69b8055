package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"path/filepath"
	"slices"
	"time"

	"arbiter/amp"
	"arbiter/coordinator"
	"arbiter/providers"
	"arbiter/providers/bus"
	"arbiter/server"
	"arbiter/ssot"
)

// busConfig is the AgentMessage bus, which agents reach over REST and WebSocket.
type busConfig struct {
	// Listen is host:port, empty for no bus. A host that is no loopback address needs TLSCert and TLSKey, PEM files beside config.toml.
	Listen  string `toml:"listen"`
	TLSCert string `toml:"tls_cert"`
	TLSKey  string `toml:"tls_key"`
	// Authentication is "token", which is the default, or "none" for a loopback address.
	Authentication string `toml:"authentication"`
	// MaxConnections is how many are open at once; 0 is 1,024.
	MaxConnections int `toml:"max_connections"`
	// MaxAgents is how many agents one token may register; 0 is 100.
	MaxAgents int `toml:"max_agents"`
	// Heartbeat is how long an agent may send none before it counts as unhealthy; 0 is 90 s.
	Heartbeat duration `toml:"heartbeat"`
	// MaxBundle is how many bytes of commits an agent with a clone of its own may send for one answer; 0 is 256 MiB.
	MaxBundle int64 `toml:"max_bundle"`
	// MaxOffer is how many bytes of a repository such an agent is sent at once; 0 is 2 GiB.
	MaxOffer int64 `toml:"max_offer"`
}

func (b busConfig) listener() listenConfig {
	return listenConfig{TCP: b.Listen, TLSCert: b.TLSCert, TLSKey: b.TLSKey, MaxConnections: b.MaxConnections}
}

func (b busConfig) validate(bad func(string, ...any)) {
	if b == (busConfig{}) {
		return
	}
	host, _, err := net.SplitHostPort(b.Listen)
	if err != nil {
		bad("bus.listen is %q, want host:port as 127.0.0.1:7710", b.Listen)
	}
	if (b.TLSCert == "") != (b.TLSKey == "") {
		bad("bus: tls_cert and tls_key belong together")
	}
	if b.MaxConnections < 0 || b.MaxAgents < 0 || b.MaxBundle < 0 || b.MaxOffer < 0 {
		bad("bus: max_connections, max_agents, max_bundle and max_offer are not negative")
	}
	ip := net.ParseIP(host)
	switch local := host == "localhost" || ip != nil && ip.IsLoopback(); {
	case !slices.Contains([]string{"", "token", "none"}, b.Authentication):
		bad("bus.authentication is %q, want token or none", b.Authentication)
	case b.Authentication == "none" && !local:
		bad("bus.authentication = \"none\" is for an address of this machine alone, as 127.0.0.1:7710")
	}
}

// validateBus reports every problem of an agent on the bus.
func (c *config) validateBus(bad func(string, ...any)) {
	c.Bus.validate(bad)
	ids := map[string]string{}
	for _, name := range sortedKeys(c.Agents) {
		g := c.Agents[name]
		key := "agents." + name
		if g.Kind != "bus" {
			if g.AgentID != "" || g.Bearer != "" || g.Repository {
				bad("%s: agent_id, bearer and repository are for kind = \"bus\"", key)
			}
			continue
		}
		if g.AgentID == "" {
			bad("%s.agent_id: an agent on the bus needs the id that it registers, as \"opencode://coder\"", key)
		} else if other := ids[g.AgentID]; other != "" {
			bad("%s.agent_id: agents.%s has the same", key, other)
		}
		ids[g.AgentID] = name
		if c.Bus.Listen == "" {
			bad("%s: kind = \"bus\" needs an address under [bus], as listen = \"127.0.0.1:7710\"", key)
		}
		if len(g.Argv) > 0 || len(g.Env) > 0 || len(g.Pass) > 0 || g.Acks != "" || g.Asks || g.Grace != 0 || g.asksModel() {
			bad("%s: an agent on the bus is not run by Arbiter; argv, env, pass, acks, asks, grace and what belongs to a model have no meaning", key)
		}
	}
}

// busHub is the bus and its doors; nil where none is configured.
type busHub struct {
	bus    *bus.Bus
	doors  *server.Bus
	listen net.Listener
	coord  *coordinator.Coordinator
}

// newBus makes the bus with what the journal says of it. Its agents can be made then; it runs once it has a coordinator.
func (c *config) newBus(ctx context.Context, home, configDir string, log ssot.Log, logger *slog.Logger) (*busHub, error) {
	if c.Bus.Listen == "" {
		return nil, nil
	}
	replay := func(ctx context.Context) (*bus.State, error) {
		return bus.Replay(func(after uint64) ([]amp.Entry, error) {
			return log.Read(ctx, amp.Filter{Kinds: []amp.Kind{amp.KindBus}, After: after})
		}, logger)
	}
	state, err := replay(ctx)
	if err != nil {
		return nil, err
	}
	h := &busHub{}
	members := map[string]bus.Member{}
	for name, g := range c.Agents {
		if g.Kind == "bus" {
			members[g.AgentID] = bus.Member{Name: name, Roles: rolesOf(c, name), Bearer: g.Bearer, Repository: g.Repository}
		}
	}
	h.bus = bus.New(bus.Config{
		Append:  func(ctx context.Context, records []amp.Record) error { return h.coord.NoteBus(ctx, records) },
		Replay:  replay,
		Members: members, Open: c.Bus.Authentication == "none", AgentsEach: c.Bus.MaxAgents, Beat: time.Duration(c.Bus.Heartbeat), Logger: logger,
		Ended: func(ctx context.Context, spaces []amp.Workspace) ([]amp.TaskID, error) {
			return h.coord.Ended(ctx, spaces)
		},
		Parcels: filepath.Join(home, "parcels"), MaxParcel: c.Bus.MaxBundle, MaxOffer: c.Bus.MaxOffer,
	}, state)
	l, hosts, err := c.Bus.listener().open(ctx, configDir)
	if err != nil {
		return nil, err
	}
	doors := server.BusConfig{Bus: h.bus, Hosts: hosts, Logger: logger}
	if c.Bus.Authentication != "none" {
		doors.Tokens = server.NewTokens(home)
	}
	h.listen, h.doors, c.onBus = l, server.NewBus(doors), h.bus
	logger.Info("the bus listens", "tcp", l.Addr().String(), "tls", c.Bus.TLSCert != "", "authentication", doors.Tokens != nil)
	return h, nil
}

// close gives back the address of a bus that never ran.
func (h *busHub) close() error {
	if h == nil {
		return nil
	}
	return h.listen.Close()
}

// run serves the bus until ctx ends, or the bus does.
func (h *busHub) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	served := make(chan error, 1)
	go func() { served <- h.doors.Serve(ctx, h.listen) }()
	err := h.bus.Run(ctx)
	cancel()
	return errors.Join(err, <-served)
}

// agentOnBus makes an agent of the bus. Where no bus runs, as in doctor, it can only say so.
func (c *config) agentOnBus(name string, g agentConfig, limits providers.Limits, git bus.Repository) (providers.Agent, error) {
	if c.onBus == nil {
		return absent{}, nil
	}
	of := bus.AgentConfig{Name: name, AgentID: g.AgentID, Limits: limits}
	if g.Repository {
		of.Repository = git
	}
	for _, other := range g.Fallback {
		if o := c.Agents[other]; o.Kind == "bus" {
			of.Fallback = append(of.Fallback, o.AgentID)
		}
	}
	return c.onBus.Agent(of)
}

// absent stands for an agent on the bus where no bus runs.
type absent struct{}

var errAbsent = errors.New("the bus runs in the coordinator only; arbiter bus agents says who is on it")

// Run fails.
func (absent) Run(context.Context, providers.Turn, func(providers.Event)) (providers.Outcome, error) {
	return providers.Outcome{}, &providers.TurnError{Failure: providers.FailConfig, Text: errAbsent.Error()}
}

// busRoutes are the client API's routes to a bus.
func (h *busHub) routes() []server.Route {
	if h == nil {
		return server.BusRoutes(nil, "")
	}
	return server.BusRoutes(h.bus, h.listen.Addr().String())
}

func examineBusAgent(name string, g agentConfig) finding {
	return finding{"agent " + name, "ok", "takes part over the bus as " + filepath.ToSlash(g.AgentID), ""}
}
