package main

import (
	"fmt"
	"slices"
)

// hooksConfig is who may report from outside: GitHub by its webhooks, and other CI systems in our own signed form.
type hooksConfig struct {
	// GitHubSecretEnv is the name of the variable that holds the secret of GitHub's webhooks, GitHubSecretFile a file that holds it.
	GitHubSecretEnv  string           `toml:"github_secret_env"`
	GitHubSecretFile string           `toml:"github_secret_file"`
	CI               []hookFromConfig `toml:"ci"`
}

// hookFromConfig is one CI system. Its name stands in the journal beside what it reports.
type hookFromConfig struct {
	Name       string `toml:"name"`
	SecretEnv  string `toml:"secret_env"`
	SecretFile string `toml:"secret_file"`
}

// github is where the secret of GitHub's webhooks is, in the words of an agent's key.
func (h *hooksConfig) github() agentConfig {
	return agentConfig{KeyEnv: h.GitHubSecretEnv, KeyFile: h.GitHubSecretFile}
}

func (f *hookFromConfig) source() agentConfig {
	return agentConfig{KeyEnv: f.SecretEnv, KeyFile: f.SecretFile}
}

// outsideSecrets are the secrets that are shared with systems outside, by what they are for.
func (c *config) outsideSecrets(configDir string) (all []hookFrom) {
	add := func(name string, at agentConfig) {
		if secret := at.key(configDir); secret != nil {
			all = append(all, hookFrom{name: name, secret: secret})
		}
	}
	add("the webhooks of GitHub", c.Hooks.github())
	add("pull requests on GitHub", c.GitHub.source())
	for i := range c.Hooks.CI {
		add("the CI system "+c.Hooks.CI[i].Name, c.Hooks.CI[i].source())
	}
	return all
}

// configured reports whether anybody may report.
func (h *hooksConfig) configured() bool { return h.github().keys() > 0 || len(h.CI) > 0 }

// validate reports every problem. What stands in the place of a secret is not repeated: it could be one.
func (h *hooksConfig) validate(listen listenConfig, agents map[string]agentConfig, bad func(string, ...any)) {
	if !h.configured() {
		return
	}
	if listen.TCP == "" {
		bad("hooks: nobody outside reaches the socket; give an address under [listen], as tcp = \"127.0.0.1:7700\"")
	}
	secret := func(key, prefix string, at agentConfig, needed bool) {
		switch {
		case at.keys() == 0 && needed:
			bad("%s needs a secret: name the variable that holds it as %ssecret_env, or a file as %ssecret_file", key, prefix, prefix)
		case at.keys() > 1:
			bad("%s: %ssecret_env and %ssecret_file are two places for one secret", key, prefix, prefix)
		case at.KeyEnv != "" && !variableName.MatchString(at.KeyEnv):
			bad("%s.%ssecret_env is no name of a variable; put the secret into a variable of the environment and name that", key, prefix)
		}
		for _, name := range sortedKeys(agents) {
			if at.KeyEnv != "" && slices.Contains(agents[name].Pass, at.KeyEnv) {
				bad("agents.%s.pass holds %s, the secret of a webhook, which no agent gets", name, at.KeyEnv)
			}
		}
	}
	secret("hooks", "github_", h.github(), false)
	seen := map[string]bool{}
	for i := range h.CI {
		key := fmt.Sprintf("hooks.ci[%d]", i)
		if !agentName.MatchString(h.CI[i].Name) || seen[h.CI[i].Name] {
			bad("%s.name: each CI system has a name of its own, of letters, digits, dots, dashes and underscores", key)
		}
		seen[h.CI[i].Name] = true
		secret(key, "", h.CI[i].source(), true)
	}
}
