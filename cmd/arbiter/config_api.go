package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"arbiter/amp"
	"arbiter/providers"
	"arbiter/providers/api"
)

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`)

// vendor is whose model the agent is, as far as that is known.
func (g agentConfig) vendor() string {
	if g.Vendor != "" || g.URL != "" {
		return g.Vendor
	}
	if m, ok := g.maker(); ok {
		return m.vendor
	}
	if g.Kind != "api" {
		return ""
	}
	return map[api.Dialect]string{api.Claude: "anthropic", api.Gemini: "google", api.Responses: "openai"}[api.Dialect(g.API)]
}

// asksModel reports whether anything of an API is set.
func (g agentConfig) asksModel() bool {
	return g.API != "" || g.URL != "" || g.Model != "" || g.KeyEnv != "" || g.KeyFile != "" || len(g.KeyCommand) > 0 || g.Schema != "" || g.ContextTokens != 0 || g.MaxTokens != 0
}

// validateAPI reports every problem of an agent of kind api. What stands in the place of a key is not repeated: it could be one.
func (g agentConfig) validateAPI(key string, bad func(string, ...any)) {
	if len(g.Argv) > 0 || len(g.Env) > 0 || len(g.Pass) > 0 || g.Acks != "" || g.Grace != 0 {
		bad("%s: a model behind an API is no program; argv, env, pass, acks and grace have no meaning", key)
	}
	g.validateKey(key, g.API != string(api.Chat), bad)
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

// validateKey reports every problem of where the key is.
func (g agentConfig) validateKey(key string, needed bool, bad func(string, ...any)) {
	if g.keys() > 1 {
		bad("%s: key_env, key_file and key_command: give one of them", key)
	}
	if g.KeyEnv != "" && !variableName.MatchString(g.KeyEnv) {
		bad("%s.key_env is no name of a variable; put the key into a variable of the environment and name that", key)
	}
	if g.keys() == 0 && needed {
		bad("%s: the service wants a key; name the variable that holds it as key_env, a file as key_file, or a command that prints it as key_command", key)
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
	case len(g.KeyCommand) > 0:
		return func() (string, error) { return askKey(g.KeyCommand) }
	}
	return nil
}

// keys counts the places of a key that are named.
func (g agentConfig) keys() int {
	n := min(len(g.KeyCommand), 1)
	for _, s := range []string{g.KeyEnv, g.KeyFile} {
		if s != "" {
			n++
		}
	}
	return n
}

// keyPatience is how long a keyring may take; one that asks a person for a password takes longer, and is unlocked beforehand.
const keyPatience = 20 * time.Second

// askKey runs a command that prints the key. What it printed is in no error.
func askKey(argv []string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), keyPatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.WaitDelay = time.Second
	text, err := cmd.Output()
	switch {
	case ctx.Err() != nil:
		return "", fmt.Errorf("the key command %s did not answer in %s: unlock the keyring, then try again", argv[0], keyPatience)
	case err != nil:
		return "", fmt.Errorf("the key command %s failed (%s): run it by hand to see why", argv[0], exitOf(err))
	case len(text) > maxKey:
		return "", fmt.Errorf("what the key command %s prints is too long to be a key", argv[0])
	}
	if key := strings.TrimSpace(string(text)); key != "" {
		return key, nil
	}
	return "", fmt.Errorf("the key command %s printed nothing", argv[0])
}

// exitOf is how a command failed, without what it wrote.
func exitOf(err error) string {
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		return e.ProcessState.String()
	}
	return err.Error()
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
		return noKey(name, what, g, err)
	}
	return finding{"agent " + name, "ok", what + "; the key is there", ""}
}

// noKey is an agent whose key cannot be read.
func noKey(name, what string, g agentConfig, err error) finding {
	next := fmt.Sprintf("Mend it, or correct agents.%s.key_file.", name)
	switch {
	case g.KeyEnv != "":
		next = fmt.Sprintf("export %s=…, or correct agents.%s.key_env.", g.KeyEnv, name)
	case len(g.KeyCommand) > 0:
		next = fmt.Sprintf("Mend it, or correct agents.%s.key_command.", name)
	}
	return finding{"agent " + name, "fail", what + ": " + err.Error(), next}
}
