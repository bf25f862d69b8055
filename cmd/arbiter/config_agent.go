package main

import (
	"regexp"
	"strings"

	"arbiter/amp"
)

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

var agentName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

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
