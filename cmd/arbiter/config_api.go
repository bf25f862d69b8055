package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"arbiter/amp"
	"arbiter/providers"
	"arbiter/providers/api"
)

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`)

// vendor is whose model the agent is, as far as that is known.
func (g agentConfig) vendor() string {
	if g.Vendor != "" || g.Kind != "api" || g.URL != "" {
		return g.Vendor
	}
	return map[api.Dialect]string{api.Claude: "anthropic", api.Gemini: "google", api.Responses: "openai"}[api.Dialect(g.API)]
}

// asksModel reports whether anything of an API is set.
func (g agentConfig) asksModel() bool {
	return g.API != "" || g.URL != "" || g.Model != "" || g.KeyEnv != "" || g.KeyFile != "" || g.Schema != "" || g.ContextTokens != 0 || g.MaxTokens != 0
}

// validateAPI reports every problem of an agent of kind api. What stands in the place of a key is not repeated: it could be one.
func (g agentConfig) validateAPI(key string, bad func(string, ...any)) {
	if len(g.Argv) > 0 || len(g.Env) > 0 || len(g.Pass) > 0 || g.Acks != "" || g.Grace != 0 {
		bad("%s: a model behind an API is no program; argv, env, pass, acks and grace have no meaning", key)
	}
	if g.KeyEnv != "" && g.KeyFile != "" {
		bad("%s: key_env and key_file are both set; give one", key)
	}
	if g.KeyEnv != "" && !variableName.MatchString(g.KeyEnv) {
		bad("%s.key_env is no name of a variable; put the key into a variable of the environment and name that", key)
	}
	if g.KeyEnv == "" && g.KeyFile == "" && g.API != string(api.Chat) {
		bad("%s: the service wants a key; name the variable that holds it as key_env, or a file as key_file", key)
	}
	if slices.Contains(g.Roles, string(amp.Executor)) {
		bad("%s.roles holds executor, but an API changes no files", key)
	}
	c := g.model("", "", providers.Limits{})
	if err := c.Validate(); err != nil {
		for line := range strings.Lines(err.Error()) {
			bad("%s.%s", key, strings.TrimSpace(line))
		}
	}
}

// model is the adapter's configuration, without what the model gets to see.
func (g agentConfig) model(name, configDir string, limits providers.Limits) api.Config {
	return api.Config{
		Name: name, Dialect: api.Dialect(g.API), URL: g.URL, Model: g.Model, Key: g.key(configDir), Enforcement: api.Enforcement(g.Schema),
		ContextTokens: g.ContextTokens, MaxTokens: g.MaxTokens, Limits: limits,
	}
}

// agent makes the agent.
func (g agentConfig) agent(name, configDir string, limits providers.Limits, git differ) (*api.Agent, error) {
	c := g.model(name, configDir, limits)
	c.Material = material(git)
	return api.New(c)
}

// maxKey is the most of a key file that is read.
const maxKey = 16 << 10

// key returns the key each time it is needed, nil when the configuration names none. It is never kept, and never in an error.
func (g agentConfig) key(configDir string) func() (string, error) {
	switch {
	case g.KeyEnv != "":
		return func() (string, error) {
			if key := strings.TrimSpace(os.Getenv(g.KeyEnv)); key != "" {
				return key, nil
			}
			return "", fmt.Errorf("the variable %s is not set where the coordinator runs: set it, then arbiter down and arbiter up", g.KeyEnv)
		}
	case g.KeyFile != "":
		file := g.KeyFile
		if !filepath.IsAbs(file) {
			file = filepath.Join(configDir, file)
		}
		return func() (string, error) { return readKey(file) }
	}
	return nil
}

func readKey(file string) (string, error) {
	info, err := os.Stat(file)
	if err != nil {
		return "", fmt.Errorf("the key cannot be read: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return "", fmt.Errorf("others can read the key in %s: chmod 600 %[1]s", file)
	}
	if info.Size() > maxKey {
		return "", fmt.Errorf("%s is too large to be a key", file)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("the key cannot be read: %w", err)
	}
	if key := strings.TrimSpace(string(text)); key != "" {
		return key, nil
	}
	return "", errors.New("the key file " + file + " is empty")
}

// examineModel says whether the key is there. Nothing is asked of the service.
func examineModel(name string, g agentConfig, configDir string) finding {
	what := g.Model + " through the " + g.API + " API"
	if g.URL != "" {
		what += " at " + g.URL
	}
	key := g.key(configDir)
	if key == nil {
		return finding{"agent " + name, "ok", what + ", without a key", ""}
	}
	if _, err := key(); err != nil {
		next := fmt.Sprintf("Mend it, or correct agents.%s.key_file.", name)
		if g.KeyEnv != "" {
			next = fmt.Sprintf("export %s=…, or correct agents.%s.key_env.", g.KeyEnv, name)
		}
		return finding{"agent " + name, "fail", what + ": " + err.Error(), next}
	}
	return finding{"agent " + name, "ok", what + "; the key is there", ""}
}
