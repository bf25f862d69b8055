package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"arbiter/amp"
	"arbiter/providers"
	"arbiter/providers/acp"
	"arbiter/providers/api"
	"arbiter/providers/claude"
	"arbiter/providers/codex"
	"arbiter/providers/gemini"
	"arbiter/providers/program"
)

// maker is a vendor's program that has an adapter of its own.
type maker struct {
	vendor string
	// url is the vendor's own service, api how it is spoken to.
	url string
	api api.Dialect
	// keyEnv is the variable in which its users keep the key.
	keyEnv string
	// pack is the npm package, tested the version that the adapter was run against.
	pack, tested string
}

// makers are the vendors' programs by kind, which is the name of the program too.
var makers = map[string]maker{
	"codex":  {"openai", "https://api.openai.com/v1", api.Responses, "OPENAI_API_KEY", "@openai/codex", "0.169.0"},
	"claude": {"anthropic", "https://api.anthropic.com", api.Claude, "ANTHROPIC_API_KEY", "@anthropic-ai/claude-code", "2.1.328"},
	"gemini": {"google", "https://generativelanguage.googleapis.com", api.Gemini, "GEMINI_API_KEY", "@google/gemini-cli", "0.61.0"},
}

// speakers are the programs that are known to speak ACP, by name. Those without an address serve any model that speaks chat completions.
var speakers = map[string]maker{
	"opencode":         {pack: "opencode-ai", tested: "1.18.33"},
	"qwen":             {pack: "@qwen-code/qwen-code", tested: "0.24.4"},
	"gemini":           makers["gemini"],
	"claude-agent-acp": {"anthropic", "https://api.anthropic.com", api.Claude, "ANTHROPIC_API_KEY", "@agentclientprotocol/claude-agent-acp", "0.100.0"},
	"codex-acp":        {"openai", "https://api.openai.com/v1", api.Responses, "OPENAI_API_KEY", "@zed-industries/codex-acp", "0.16.0"},
}

// preset is the name under which an agent's program is known to speak ACP, "" of any other.
func (g agentConfig) preset() string {
	if name := filepath.Base(g.Program); g.Kind == "acp" && len(g.Argv) == 0 && slices.Contains(acp.Programs(), name) {
		return name
	}
	return ""
}

// maker is what is known of the agent's program.
func (g agentConfig) maker() (maker, bool) {
	all, name := makers, g.Kind
	if g.Kind == "acp" {
		all, name = speakers, g.preset()
	}
	m, ok := all[name]
	return m, ok
}

// reads reports whether an agent can change no files.
func (g agentConfig) reads() bool { return g.Kind == "api" || g.Kind == "gemini" }

// kinds are those of makers that can execute.
var kinds = []string{"codex", "claude"}

// installed are the vendors' programs that PATH finds.
func installed() []found {
	var all []found
	for _, kind := range append(slices.Clone(kinds), "gemini") {
		if path, err := exec.LookPath(kind); err == nil {
			all = append(all, found{name: kind, argv: []string{path}, kind: kind})
		}
	}
	return all
}

// validateProgram reports every problem of an agent that is a vendor's program, or speaks ACP.
func (g agentConfig) validateProgram(key string, bad func(string, ...any)) {
	m, known := g.maker()
	if g.Acks != "" || g.Asks || g.Schema != "" || g.ContextTokens != 0 || g.MaxTokens != 0 || known && (len(g.Argv) > 0 || g.API != "") {
		bad("%s: kind = %q knows its arguments and its service; argv, acks, asks, api, schema, context_tokens and max_tokens have no meaning", key, g.Kind)
	}
	if g.Kind == "acp" && g.Program != "" && !known {
		bad("%s.program: %q is none of %s; give the command line of another program as argv", key, g.Program, strings.Join(acp.Programs(), ", "))
		return
	}
	if g.Mode != "" && g.Kind != "codex" {
		bad("%s.mode is for kind = \"codex\"", key)
	}
	if g.Kind == "gemini" && slices.Contains(g.Roles, string(amp.Executor)) {
		bad("%s.roles holds executor, but gemini changes files only with kind = \"acp\" and program = \"gemini\"", key)
	}
	g.validateKey(key, known && m.url != "" && g.URL == "", bad)
	if _, err := (&config{}).programAgent("name", g, "/", providers.Limits{}); err != nil {
		for line := range strings.Lines(strings.TrimPrefix(err.Error(), "configure agent name: ")) {
			bad("%s.%s", key, strings.TrimSpace(line))
		}
	}
}

// service is the agent with the vendor's own service where it names none.
func (g agentConfig) service() agentConfig {
	if m, known := g.maker(); known {
		g.API = string(m.api)
		g.URL = cmp.Or(g.URL, m.url)
	}
	g.URL = strings.TrimSuffix(g.URL, "/")
	return g
}

// programPath is the program of the agent: a path is relative to the configuration's folder, a name is found by PATH.
func (g agentConfig) programPath(configDir string) string {
	name := g.Kind
	if g.Kind == "acp" && len(g.Argv) > 0 {
		name = g.Argv[0]
	}
	p := fromHome(cmp.Or(g.Program, name))
	if strings.ContainsRune(p, filepath.Separator) && !filepath.IsAbs(p) {
		return filepath.Join(configDir, p)
	}
	return p
}

// programAgent makes an agent of a vendor's program, or of one that speaks ACP.
func (c *config) programAgent(name string, g agentConfig, configDir string, limits providers.Limits) (providers.Agent, error) {
	of := program.Config{
		Name: name, Program: g.programPath(configDir), Model: g.Model, Leash: c.leash(g.service(), configDir), Env: g.Env, Pass: g.Pass, Limits: limits,
	}
	if g.MCP == nil || *g.MCP {
		self, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("find this program for agents that are to start it: %w", err)
		}
		of.Tools = []string{self, "mcp"}
	}
	switch g.Kind {
	case "codex":
		return codex.New(codex.Config{Config: of, Mode: codex.Mode(g.Mode)})
	case "gemini":
		return gemini.New(gemini.Config{Config: of})
	case "acp":
		speaker := acp.Config{Config: of, Preset: g.preset()}
		if len(g.Argv) > 0 {
			speaker.Args = g.Argv[1:]
		} else if speaker.Preset == "" {
			speaker.Program = ""
		}
		return acp.New(speaker)
	}
	return claude.New(claude.Config{Config: of})
}

// examineProgram says which version of a vendor's program is here, and whether its key is.
func examineProgram(ctx context.Context, name string, g agentConfig, configDir string) []finding {
	m, _ := g.maker()
	install := fmt.Sprintf("npm install -g %s@%s, or name it as agents.%s.program.", m.pack, m.tested, name)
	full, err := exec.LookPath(g.programPath(configDir))
	if err != nil {
		return []finding{{"agent " + name, "fail", err.Error(), install}}
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, full, "--version").Output()
	if err != nil {
		return []finding{{"agent " + name, "fail", fmt.Sprintf("%s --version: %v", full, err), install}}
	}
	found := program.Short([]byte(strings.TrimSpace(string(out))), 100)
	all := []finding{{"agent " + name, "ok", full + ", " + found, ""}}
	if !strings.Contains(found, m.tested) {
		all[0] = finding{"agent " + name, "warn", all[0].What + "; Arbiter was tested with " + m.tested, install}
	}
	if key := g.key(configDir); key != nil {
		if _, err := key(); err != nil {
			all = append(all, finding{"agent " + name, "fail", err.Error(), fmt.Sprintf("Set it, or correct where agents.%s finds its key.", name)})
		}
	}
	return all
}
