package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/adrg/xdg"
)

// workerConfig is this machine as a host of agents for a coordinator elsewhere.
type workerConfig struct {
	// URL is the address of the coordinator's bus, as wss://host:7710, TokenFile the file with the token that it gave this worker. ~ is the home
	// directory.
	URL       string `toml:"url"`
	TokenFile string `toml:"token_file"`
	// Tokens are files with tokens of agents of their own, by the name of the agent: a token is for one role.
	Tokens map[string]string `toml:"tokens"`
	// Clones are clones of this machine whose commits need not be sent, by the path of their repository on the coordinator.
	Clones map[string]string `toml:"clones"`
	// Name is the worker's own, its agents are worker://name/agent; empty is the host's name.
	Name string `toml:"name"`
	// Home is the worker's folder, empty for arbiter-worker beside the data directory of a coordinator.
	Home string `toml:"home"`
	// Slots is how many turns run at once; 0 is 2.
	Slots int `toml:"slots"`
}

// workerName is the form of a worker's name: it becomes part of the ids of its agents.
var workerName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

func (c *config) validateWorker(bad func(string, ...any)) {
	w := c.Worker
	for _, name := range sortedKeys(w.Tokens) {
		if _, known := c.Agents[name]; !known {
			bad("worker.tokens.%s: there is no agents.%s", name, name)
		}
	}
	for _, repo := range sortedKeys(w.Clones) {
		if !filepath.IsAbs(repo) || !filepath.IsAbs(fromHome(w.Clones[repo])) {
			bad("worker.clones: %q = %q; both are absolute paths, the first one on the coordinator", repo, w.Clones[repo])
		}
	}
	if w.URL != "" {
		if _, err := busAddress(w.URL); err != nil {
			bad("worker.url: %v", err)
		}
	}
	if w.Name != "" && !workerName.MatchString(w.Name) {
		bad("worker.name is %q; a name has letters, digits, dots, dashes and underscores only", w.Name)
	}
	if w.Slots < 0 {
		bad("worker.slots is negative")
	}
}

// name is the worker's name.
func (w workerConfig) name() string {
	if w.Name != "" {
		return w.Name
	}
	host, err := os.Hostname()
	if err == nil {
		host, _, _ = strings.Cut(host, ".")
	}
	if err != nil || !workerName.MatchString(host) {
		return "worker"
	}
	return host
}

// folder is the worker's folder.
func (w workerConfig) folder(flag string) (string, error) {
	dir := flag
	if dir == "" {
		dir = fromHome(w.Home)
	}
	if dir == "" {
		dir = filepath.Join(xdg.DataHome, "arbiter-worker")
	}
	return filepath.Abs(dir)
}
