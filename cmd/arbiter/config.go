package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"arbiter/amp"
	"arbiter/providers/bus"
	"arbiter/tui/theme"
)

// config is everything that a person can set. The order is: defaults, config.toml, environment, --set; what arbiter.toml of a
// repository sets counts for the tasks of that repository.
type config struct {
	Agents map[string]agentConfig `toml:"agents"`
	Roles  rolesConfig            `toml:"roles"`
	// Planning is the chain of agents that drafts plans when roles.coordinator is "planning".
	Planning planningConfig `toml:"planning"`
	Sandbox  sandboxConfig  `toml:"sandbox"`
	Policy   policyConfig   `toml:"policy"`
	Budget   budgetConfig   `toml:"budget"`
	// Notify is where people are told what waits.
	Notify notifyConfig `toml:"notify"`
	// Prices are what a million tokens of a model cost in US dollars, by the model's name; one that ends in * is a beginning.
	Prices map[string]priceConfig `toml:"prices"`
	// Permissions answer what agents ask, in their order, before the admin is asked.
	Permissions []permissionConfig `toml:"permissions"`
	Repo        repoConfig         `toml:"repo"`
	Store       storeConfig        `toml:"store"`
	Team        teamConfig         `toml:"team"`
	TUI         tuiConfig          `toml:"tui"`
	Listen      listenConfig       `toml:"listen"`
	Bus         busConfig          `toml:"bus"`
	// Worker is this machine as a host of agents for a coordinator elsewhere.
	Worker  workerConfig  `toml:"worker"`
	onBus   *bus.Bus      // once it is made
	Mirror  mirrorConfig  `toml:"mirror"`
	Observe observeConfig `toml:"observe"`
	Events  eventsConfig  `toml:"events"`
	Hooks   hooksConfig   `toml:"hooks"`
	GitHub  githubConfig  `toml:"github"`
}

type rolesConfig struct {
	Coordinator string `toml:"coordinator"`
	Executor    string `toml:"executor"`
	Reviewer    string `toml:"reviewer"`
}

type policyConfig struct {
	LockAt        int                 `toml:"lock_at"`
	HoldBelow     float64             `toml:"hold_below"`
	Gates         []string            `toml:"gates"`
	SecondAdmin   string              `toml:"second_admin"`
	Heartbeat     duration            `toml:"heartbeat"`
	ProgressEvery duration            `toml:"progress_every"`
	Undo          duration            `toml:"undo"`
	Slots         int                 `toml:"slots"`
	Attempts      int                 `toml:"attempts"`
	AckTimeouts   map[string]duration `toml:"ack_timeouts"`
	// AskTimeout is how long a permission request waits before silence is a no, Grant how long "allow in this task" holds.
	AskTimeout duration `toml:"ask_timeout"`
	Grant      duration `toml:"grant"`
}

type budgetConfig struct {
	// Wall is the working time of all turns of a task, Turns how many there may be.
	Wall  duration `toml:"wall"`
	Turns int      `toml:"turns"`
	// Tokens and Cost (US dollars) are of all turns of a task.
	Tokens int     `toml:"tokens"`
	Cost   float64 `toml:"cost"`
	// Day bounds what all tasks take on one day in UTC.
	Day dayConfig `toml:"day"`
}

type dayConfig struct {
	Tokens int     `toml:"tokens"`
	Cost   float64 `toml:"cost"`
}

type tuiConfig struct {
	Theme string `toml:"theme"`
	Signs string `toml:"signs"`
	Mouse *bool  `toml:"mouse"`
	// Keys are the keys of actions by action id; arbiter --keys lists both.
	Keys keyMap `toml:"keys"`
	// Export is the folder that exports go to; ~ is the home directory.
	Export string `toml:"export"`
	// Notify and Bell call the admin when something waits and the terminal has no focus, but not in the Quiet hours "22:00-07:00".
	Notify *bool  `toml:"notify"`
	Bell   *bool  `toml:"bell"`
	Quiet  string `toml:"quiet"`
}

// duration is a time.Duration that is written as "30m".
type duration time.Duration

// UnmarshalText reads "90s", "30m", "2h".
func (d *duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil || v < 0 {
		return fmt.Errorf("%q is no duration; write it as \"90s\", \"30m\" or \"2h\"", text)
	}
	*d = duration(v)
	return nil
}

// loadConfig reads the configuration of this run and checks it.
func (a *app) loadConfig() (*config, error) {
	c := &config{}
	file, named := a.configPath()
	data, err := os.ReadFile(file)
	switch {
	case errors.Is(err, os.ErrNotExist) && !named:
	case errors.Is(err, os.ErrNotExist):
		return nil, usage("the configuration %s is not there", file).then("Write one with arbiter init, or name another with --config.")
	case err != nil:
		return nil, fmt.Errorf("read the configuration: %w", err)
	default:
		if err := decodeTOML(file, data, c); err != nil {
			return nil, err
		}
	}
	if err := overrideEnv(c, os.Environ()); err != nil {
		return nil, err
	}
	if err := overrideSets(c, a.sets); err != nil {
		return nil, err
	}
	if err := c.validate(); err != nil {
		return nil, &usageError{
			what: "the configuration is wrong: " + err.Error(), means: "Nothing was started.",
			next: "Edit " + file + "; arbiter doctor checks it.",
		}
	}
	return c, nil
}

// validate returns every problem.
func (c *config) validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	for _, name := range sortedKeys(c.Agents) {
		agent := c.Agents[name]
		agent.validate(name, bad)
	}
	c.validateSandbox(bad)
	for role, name := range c.Roles.all() {
		agent, ok := c.Agents[name]
		switch {
		case name == "":
		case !ok && role == amp.Coordinator && name == planningName && c.Planning.configured():
		case !ok:
			bad("roles.%s: agent %q is not configured under [agents.%s]", role, name, name)
		case role == amp.Executor && agent.reads():
			bad("roles.executor: agent %q is of kind %q, which changes no files; name another program", name, agent.Kind)
		case len(agent.Roles) > 0 && !slices.Contains(agent.Roles, string(role)):
			bad("roles.%s: agent %q does not take that role", role, name)
		}
	}
	c.Planning.validate(c.Agents, bad)
	c.Notify.validate(bad)
	c.Observe.validate(bad)
	c.Events.validate(bad)
	p := c.Policy
	if p.LockAt < 0 || p.LockAt == 1 {
		bad("policy.lock_at is %d; it counts rejections and is at least 2", p.LockAt)
	}
	if p.HoldBelow < 0 || p.HoldBelow > 1 {
		bad("policy.hold_below is %v; a confidence is between 0 and 1", p.HoldBelow)
	}
	if !slices.Contains([]string{"", "never", "high", "always"}, p.SecondAdmin) {
		bad("policy.second_admin is %q, want never, high or always", p.SecondAdmin)
	}
	if p.Slots < 0 || p.Attempts < 0 {
		bad("policy.slots and policy.attempts are not negative")
	}
	for typ := range p.AckTimeouts {
		if amp.MessageType(typ).AckTimeout() == 0 {
			bad("policy.ack_timeouts.%s: a message of that type has no ACK timeout", typ)
		}
	}
	if b := c.Budget; b.Turns < 0 || b.Tokens < 0 || b.Cost < 0 || b.Day.Tokens < 0 || b.Day.Cost < 0 {
		bad("budget: a bound is negative")
	}
	for _, name := range sortedKeys(c.Agents) {
		for _, other := range c.Agents[name].Fallback {
			if _, ok := c.Agents[other]; !ok || other == name {
				bad("agents.%s.fallback: %q is not another configured agent", name, other)
			}
		}
	}
	for _, name := range sortedKeys(c.Prices) {
		if p := prices(c.Prices)[name]; min(p.Input, p.Cached, p.CacheWrite, p.Output) < 0 {
			bad("prices.%s: a price is negative", name)
		}
	}
	for i := range c.Permissions {
		c.Permissions[i].validate(i, bad)
	}
	if err := c.Repo.validate(); err != nil {
		errs = append(errs, err)
	}
	c.TUI.validate(bad)
	c.Mirror.validate(c.Agents, bad)
	c.Listen.validate(bad)
	c.Hooks.validate(c.Listen, c.Agents, bad)
	c.GitHub.validate(c.Agents, bad)
	c.validateBus(bad)
	c.validateWorker(bad)
	c.Store.validate(bad)
	c.Team.validate(bad)
	return errors.Join(errs...)
}

func (t tuiConfig) validate(bad func(string, ...any)) {
	if !slices.Contains(append(theme.Names(), "", "auto"), t.Theme) {
		bad("tui.theme is %q, want auto, %s", t.Theme, strings.Join(theme.Names(), ", "))
	}
	if _, err := t.alerts(); err != nil {
		bad("tui.quiet: %v", err)
	}
	if _, err := t.Keys.flat(); err != nil {
		bad("tui.keys: %v", err)
	}
	if _, err := exportFolder(t.Export); err != nil {
		bad("tui.export: %v", err)
	}
	if !slices.Contains([]string{"", "auto", "utf8", "ascii"}, t.Signs) {
		bad("tui.signs is %q, want auto, utf8 or ascii", t.Signs)
	}
}

// all are the roles that have an agent, by role.
func (r rolesConfig) all() map[amp.Role]string {
	return map[amp.Role]string{amp.Coordinator: r.Coordinator, amp.Executor: r.Executor, amp.Reviewer: r.Reviewer}
}

// policy is what a plan binds of it.
func (p policyConfig) policy() amp.Policy {
	out := amp.Policy{LockAt: p.LockAt, HoldBelow: p.HoldBelow, Gates: p.Gates}
	if p.SecondAdmin != "never" {
		out.SecondAdmin = amp.SecondAdmin(p.SecondAdmin)
	}
	return out
}

func (b budgetConfig) budget() amp.Budget {
	return amp.Budget{WallSec: int(time.Duration(b.Wall).Seconds()), Turns: b.Turns, Tokens: b.Tokens, CostUSD: b.Cost}
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
