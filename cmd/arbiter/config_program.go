package main

import (
	"cmp"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"arbiter/providers"
	"arbiter/providers/api"
	"arbiter/providers/claude"
	"arbiter/providers/codex"
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
}

// kinds are those of makers, an executor's first.
var kinds = []string{"codex", "claude"}

// installed are the vendors' programs that PATH finds.
func installed() []found {
	var all []found
	for _, kind := range kinds {
		if path, err := exec.LookPath(kind); err == nil {
			all = append(all, found{name: kind, argv: []string{path}, kind: kind})
		}
	}
	return all
}

// validateProgram reports every problem of an agent that is a vendor's program.
func (g agentConfig) validateProgram(key string, bad func(string, ...any)) {
	if len(g.Argv) > 0 || g.Acks != "" || g.Asks || g.API != "" || g.Schema != "" || g.ContextTokens != 0 || g.MaxTokens != 0 {
		bad("%s: kind = %q knows its arguments and its service; argv, acks, asks, api, schema, context_tokens and max_tokens have no meaning", key, g.Kind)
	}
	if g.Mode != "" && g.Kind != "codex" {
		bad("%s.mode is for kind = \"codex\"", key)
	}
	g.validateKey(key, g.URL == "", bad)
	if _, err := (&config{}).programAgent("name", g, "/", providers.Limits{}); err != nil {
		for line := range strings.Lines(strings.TrimPrefix(err.Error(), "configure agent name: ")) {
			bad("%s.%s", key, strings.TrimSpace(line))
		}
	}
}

// service is the agent with the vendor's own service where it names none.
func (g agentConfig) service() agentConfig {
	m := makers[g.Kind]
	g.URL, g.API = cmp.Or(strings.TrimSuffix(g.URL, "/"), m.url), string(m.api)
	return g
}

// programPath is the program of the agent: a path is relative to the configuration's folder, a name is found by PATH.
func (g agentConfig) programPath(configDir string) string {
	p := fromHome(cmp.Or(g.Program, g.Kind))
	if strings.ContainsRune(p, filepath.Separator) && !filepath.IsAbs(p) {
		return filepath.Join(configDir, p)
	}
	return p
}

// programAgent makes an agent of a vendor's program.
func (c *config) programAgent(name string, g agentConfig, configDir string, limits providers.Limits) (providers.Agent, error) {
	of := program.Config{
		Name: name, Program: g.programPath(configDir), Model: g.Model, Leash: c.leash(g.service(), configDir), Env: g.Env, Pass: g.Pass, Limits: limits,
	}
	if g.Kind == "codex" {
		return codex.New(codex.Config{Config: of, Mode: codex.Mode(g.Mode)})
	}
	return claude.New(claude.Config{Config: of})
}

// examineProgram says which version of a vendor's program is here, and whether its key is.
func examineProgram(ctx context.Context, name string, g agentConfig, configDir string) []finding {
	m := makers[g.Kind]
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
