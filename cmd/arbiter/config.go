package main

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
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

// agentConfig is one agent.
type agentConfig struct {
	// Kind is "codex", "claude" or "gemini", the vendor's program, "acp", a program that speaks the Agent Client Protocol, "command", any
	// program that Arbiter runs, "api", a model that it asks over HTTP, "bus", one on the AgentMessage
	// bus, or "external", one that takes part through arbiter message.
	Kind string `toml:"kind"`
	// Program is where the vendor's program is, empty for PATH, or which program speaks ACP; Mode is codex's, "app-server" or "exec".
	Program string   `toml:"program"`
	Mode    string   `toml:"mode"`
	Argv    []string `toml:"argv"`
	// MCP, unless it is false, hands tools to a program that can start a server of ours, by which it may hand in its answer.
	MCP    *bool  `toml:"mcp"`
	Vendor string `toml:"vendor"`
	// Roles are what it may be; empty allows every role.
	Roles []string `toml:"roles"`
	// Acks says who acknowledges messages for a command: "agent" itself, or Arbiter as soon as the program runs ("auto").
	Acks string `toml:"acks"`
	// Asks leaves a command's standard input open: it may ask for permissions and reads the decisions there.
	Asks bool              `toml:"asks"`
	Env  map[string]string `toml:"env"`
	// Pass names variables of the coordinator's environment that the program may see besides the harmless ones.
	Pass    []string `toml:"pass"`
	Silence duration `toml:"silence"`
	Total   duration `toml:"total"`
	Grace   duration `toml:"grace"`
	Output  int64    `toml:"output"`
	// Sandbox is how its program is confined: auto, bwrap, landlock or off; empty is what [sandbox] says. Read and Write are what it sees
	// besides its own folders.
	Sandbox string   `toml:"sandbox"`
	Read    []string `toml:"read"`
	Write   []string `toml:"write"`
	// MaxRequests is how often a turn may ask the model at URL; 0 does not bound.
	MaxRequests int `toml:"max_requests"`
	// MaxBytes is how much a turn may send to the model and get from it; 0 does not bound.
	MaxBytes int64 `toml:"max_bytes"`
	// Disk is by how many bytes a turn may make its folders grow, 0 what [sandbox] says.
	Disk int64 `toml:"disk"`
	// API is how a model's service is spoken to: claude, gemini, responses or chat. URL is its address, empty for the vendor's own. A
	// command with a URL reaches that through Arbiter, which adds the key.
	API   string `toml:"api"`
	URL   string `toml:"url"`
	Model string `toml:"model"`
	// KeyEnv is the name of the variable that holds the key, KeyFile a file that holds it. A local server needs neither.
	// KeyCommand prints it, as the command of a keyring or a password store does.
	KeyEnv     string   `toml:"key_env"`
	KeyFile    string   `toml:"key_file"`
	KeyCommand []string `toml:"key_command"`
	// Schema is what the service enforces: json_schema, json_object or none.
	Schema        string `toml:"schema"`
	ContextTokens int    `toml:"context_tokens"`
	MaxTokens     int    `toml:"max_tokens"`
	// Fallback names agents that take over while this one is at a limit: no key, nothing left, too many requests.
	Fallback []string `toml:"fallback"`
	// AgentID is the id of an agent on the bus; Bearer, when it is not empty, is the name on the token that alone may register it.
	AgentID string `toml:"agent_id"`
	Bearer  string `toml:"bearer"`
	// Repository gives an agent on the bus the commits that its tasks start from, and takes those that it makes: it has a clone of its own.
	Repository bool `toml:"repository"`
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

type repoConfig struct {
	Protected []string   `toml:"protected"`
	Checks    [][]string `toml:"checks"`
	CITimeout duration   `toml:"ci_timeout"`
	// Require are checks that run elsewhere, by their names in ci_status, which must pass before a review; RequireWithin is how long they
	// may take before the admin is asked, 0 two hours.
	Require       []string `toml:"require"`
	RequireWithin duration `toml:"require_within"`
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

// repoFile is the name of the configuration in a repository.
const repoFile = "arbiter.toml"

// repoFileConfig is what a repository may set for its own tasks. It names no program but the checks, which run the repository's
// own code anyway.
type repoFileConfig struct {
	Roles  rolesConfig  `toml:"roles"`
	Budget budgetConfig `toml:"budget"`
	Repo   repoConfig   `toml:"repo"`
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

// loadRepoFile reads arbiter.toml of a repository's top folder; without one it is empty.
func loadRepoFile(root string) (*repoFileConfig, error) {
	c := &repoFileConfig{}
	file := filepath.Join(root, repoFile)
	data, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the repository's configuration: %w", err)
	}
	if err := decodeTOML(file, data, c); err != nil {
		return nil, err
	}
	if err := c.Repo.validate(); err != nil {
		return nil, usage("%s is wrong: %v", file, err).then("Edit it.")
	}
	return c, nil
}

var agentName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

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

func (g agentConfig) validate(name string, bad func(string, ...any)) {
	key := "agents." + name
	if !agentName.MatchString(name) {
		bad("%s: a name has letters, digits, dots, dashes and underscores only", key)
	}
	switch g.Kind {
	case "command":
		if len(g.Argv) == 0 || g.Argv[0] == "" {
			bad("%s.argv: a command needs its program and arguments", key)
		}
		if g.Acks != "" && g.Acks != "agent" && g.Acks != "auto" {
			bad("%s.acks is %q, want \"agent\" or \"auto\"", key, g.Acks)
		}
	case "codex", "claude", "gemini", "acp":
		g.validateProgram(key, bad)
	case "api":
		g.validateAPI(key, bad)
	case "bus":
	case "external":
		if len(g.Argv) > 0 || len(g.Env) > 0 || len(g.Pass) > 0 || g.Acks != "" {
			bad("%s: an external agent is not run by Arbiter; argv, env, pass and acks have no meaning", key)
		}
	default:
		bad("%s.kind is %q, want \"codex\", \"claude\", \"gemini\", \"acp\", \"command\", \"api\", \"bus\" or \"external\"", key, g.Kind)
	}
	switch {
	case g.Kind == "command" && (g.Model != "" || g.Schema != "" || g.ContextTokens != 0 || g.MaxTokens != 0):
		bad("%s: model, schema, context_tokens and max_tokens are for kind = \"api\"", key)
	case g.Kind == "command" && g.URL == "" && g.asksModel():
		bad("%s: api, key_env and key_file have no meaning without the url of the model", key)
	case g.Kind == "external" && g.asksModel():
		bad("%s: api, url, model, key_env, key_file, schema, context_tokens and max_tokens are for kind = \"api\"", key)
	}
	if _, known := makers[g.Kind]; g.MCP != nil && !known && g.Kind != "acp" {
		bad("%s.mcp is for the kinds codex, claude, gemini and acp", key)
	}
	if _, known := makers[g.Kind]; !known && g.Kind != "acp" && (g.Program != "" || g.Mode != "") {
		bad("%s: program and mode are for the kinds codex, claude, gemini and acp", key)
	}
	for _, r := range g.Roles {
		switch amp.Role(r) {
		case amp.Coordinator, amp.Executor, amp.Reviewer:
		default:
			bad("%s.roles holds %q, want coordinator, executor or reviewer", key, r)
		}
	}
	if g.Output < 0 {
		bad("%s.output is negative", key)
	}
	for k := range g.Env {
		if k == "" || strings.ContainsAny(k, "=\x00") {
			bad("%s.env: %q is no name of a variable", key, k)
		}
	}
}

func (r repoConfig) validate() error {
	var errs []error
	for _, p := range r.Protected {
		if _, err := path.Match(p, ""); err != nil || p == "" {
			errs = append(errs, fmt.Errorf("repo.protected: %q is no pattern", p))
		}
	}
	for i, name := range r.Require {
		if strings.TrimSpace(name) == "" || name == "local" || slices.Index(r.Require, name) != i {
			errs = append(errs, fmt.Errorf("repo.require: %q is no name of a check that runs elsewhere, or is there twice", name))
		}
	}
	for i, argv := range r.Checks {
		if len(argv) == 0 || argv[0] == "" {
			errs = append(errs, fmt.Errorf("repo.checks[%d] is empty; a check is a program and its arguments, as [\"go\", \"test\", \"./...\"]", i))
		}
	}
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
