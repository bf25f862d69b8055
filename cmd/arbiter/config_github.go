package main

import (
	"context"
	"log/slog"
	"net/url"
	"slices"
	"time"

	"arbiter/forge"
)

// githubConfig is where branches are delivered by pull request.
type githubConfig struct {
	// TokenEnv is the name of the variable that holds the token, TokenFile a file that holds it, TokenCommand a command that prints it.
	TokenEnv     string   `toml:"token_env"`
	TokenFile    string   `toml:"token_file"`
	TokenCommand []string `toml:"token_command"`
	// Remote is the git remote of a repository that says owner and name, origin when it is empty. Repo is owner/name for every one.
	Remote string `toml:"remote"`
	Repo   string `toml:"repo"`
	// URL is where the API of a GitHub Enterprise server answers.
	URL string `toml:"url"`
	// Poll is how often open pull requests are asked for where no webhook is configured; 0 is a minute.
	Poll duration `toml:"poll"`
}

// source is where the token is, in the words of an agent's key.
func (c githubConfig) source() agentConfig {
	return agentConfig{KeyEnv: c.TokenEnv, KeyFile: c.TokenFile, KeyCommand: c.TokenCommand}
}

// validate reports every problem. What stands in the place of a token is not repeated: it could be one.
func (c githubConfig) validate(agents map[string]agentConfig, bad func(string, ...any)) {
	if c.source().keys() == 0 {
		if c.Remote != "" || c.Repo != "" || c.URL != "" || c.Poll != 0 {
			bad("github needs a token: name the variable that holds it as token_env, a file as token_file, or a command that prints it as token_command")
		}
		return
	}
	if c.source().keys() > 1 {
		bad("github: token_env, token_file and token_command: give one of them")
	}
	if c.TokenEnv != "" && !variableName.MatchString(c.TokenEnv) {
		bad("github.token_env is no name of a variable; put the token into a variable of the environment and name that")
	}
	if c.Repo != "" && !repoName.MatchString(c.Repo) {
		bad("github.repo is %q, want owner/name", c.Repo)
	}
	if c.Remote != "" && !agentName.MatchString(c.Remote) {
		bad("github.remote is %q, which is no name of a remote", c.Remote)
	}
	if u, err := url.Parse(c.URL); c.URL != "" && (err != nil || u.Host == "" || u.User != nil || u.Scheme != "https" && !loopback(u)) {
		bad("github.url is no address as https://github.example.com/api/v3/; only this machine is reached without TLS")
	}
	if c.Poll != 0 && time.Duration(c.Poll) < 10*time.Second {
		bad("github.poll is %s; ten seconds are the least", time.Duration(c.Poll))
	}
	for _, name := range sortedKeys(agents) {
		if c.TokenEnv != "" && slices.Contains(agents[name].Pass, c.TokenEnv) {
			bad("agents.%s.pass holds %s, the token of GitHub, which no agent gets", name, c.TokenEnv)
		}
	}
}

// client reaches GitHub, nil when it is not configured.
func (c githubConfig) client(configDir string, logger *slog.Logger) (*forge.Client, error) {
	token := c.source().key(configDir)
	if token == nil {
		return nil, nil
	}
	return forge.New(forge.Config{URL: c.URL, Token: func(context.Context) (string, error) { return token() }, Logger: logger})
}
