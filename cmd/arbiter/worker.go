package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/adrg/xdg"
	"github.com/spf13/cobra"

	"arbiter/amp"
	"arbiter/gitops"
	"arbiter/providers/bus/worker"
	"arbiter/ssot/sqlite"
)

func newWorker(a *app) *cobra.Command {
	var name string
	var verbose bool
	c := &cobra.Command{
		Use:   "worker --url wss://HOST:7710 --token-file FILE",
		Short: "Run agents here for a coordinator on another machine",
		Long: "Offers the agents of the configuration, executors and reviewers, on the bus of a coordinator elsewhere. Each task gets a worktree in a\n" +
			"clone of this machine; the commits go back as a bundle, which the coordinator checks before it believes it. --config names the configuration; without it, it is\n" +
			"worker.toml in the folder of config.toml, else config.toml. --home is the worker's own folder.",
		Args: takes(),
		RunE: a.do(func(c *cobra.Command, _ []string) error {
			w, err := a.worker(name, verbose)
			if err != nil {
				return err
			}
			return w.run(c.Context())
		}),
	}
	c.Flags().StringVar(&name, "name", "", "the worker's name, which begins the ids of its agents (default the host's)")
	c.Flags().BoolVar(&verbose, "verbose", false, "log more")
	c.AddCommand(newWorkerStatus(a), newWorkerCheck(a))
	return c
}

// workerHost is a worker that is about to run.
type workerHost struct {
	home string
	cfg  worker.Config
}

// worker reads what a worker needs and says what is missing.
func (a *app) worker(name string, verbose bool) (*workerHost, error) {
	cfg, file, err := a.workerConfig()
	if err != nil {
		return nil, err
	}
	cfg.Worker.Name = cmp.Or(name, cfg.Worker.Name)
	if !workerName.MatchString(cfg.Worker.name()) {
		return nil, usage("%q is no name of a worker", name).then("Letters, digits, dots, dashes and underscores.")
	}
	address := cmp.Or(a.urlFlag, cfg.Worker.URL, os.Getenv("ARBITER_URL"))
	if address == "" {
		return nil, usage("the coordinator is not named").then("Give the address of its bus as --url wss://host:7710, or set worker.url in " + file + ".")
	}
	base, err := busAddress(address)
	if err != nil {
		return nil, usage("--url: %v", err).then("It is the address under [bus] of the coordinator, as wss://host:7710.")
	}
	if a.tokenFlag == "" {
		a.tokenFlag = fromHome(cfg.Worker.TokenFile)
	}
	token, err := a.remoteToken()
	if err != nil {
		return nil, err
	}
	home, err := cfg.Worker.folder(a.homeFlag)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(home, 0o700); err != nil {
		return nil, fmt.Errorf("make the worker's folder: %w", err)
	}
	logger := cfg.Observe.logger(a.stderr, verbose)
	git, err := gitops.New(gitops.Options{Home: home, Protected: cfg.Repo.Protected, Log: logger})
	if err != nil {
		return nil, err
	}
	members, err := cfg.members(filepath.Dir(file))
	if err != nil {
		return nil, err
	}
	if len(members) == 0 {
		return nil, usage("no agent in %s can work here", file).then("Configure one under [agents.NAME], of a kind that runs a program: codex, claude, gemini, acp or command.")
	}
	clones := map[string]string{}
	for repo, own := range cfg.Worker.Clones {
		clones[filepath.Clean(repo)] = fromHome(own)
	}
	return &workerHost{home: home, cfg: worker.Config{
		URL: base, Token: token, Name: cfg.Worker.name(), Home: home, Agents: members, Clones: clones, Slots: cfg.Worker.Slots, Git: git,
		Version: version(), Logger: logger,
	}}, nil
}

// workerConfig is the configuration of a worker, and its file.
func (a *app) workerConfig() (*config, string, error) {
	file, named := a.configPath()
	if own := filepath.Join(xdg.ConfigHome, "arbiter", "worker.toml"); !named {
		if there, err := exists(own); err != nil {
			return nil, "", err
		} else if there {
			a.configFlag, file = own, own
		}
	}
	c, err := a.loadConfig()
	return c, file, err
}

// members are the agents that a worker offers: the executors and reviewers whose programs run here.
func (c *config) members(configDir string) (map[string]worker.Member, error) {
	all, err := buildAgents(c, configDir, nil)
	if err != nil {
		return nil, err
	}
	out := map[string]worker.Member{}
	for name, agent := range all {
		roles := slices.DeleteFunc(slices.Clone(agent.Roles), func(r amp.Role) bool { return r != amp.Executor && r != amp.Reviewer })
		if g := c.Agents[name]; !g.runsProgram() || len(roles) == 0 {
			continue
		}
		m := worker.Member{Agent: agent.Agent, Roles: roles}
		if file := c.Worker.Tokens[name]; file != "" {
			if m.Token, err = readToken(fromHome(file)); err != nil {
				return nil, err
			}
		}
		out[name] = m
	}
	return out, nil
}

// busAddress is the address of a bus as its HTTP side has it. Without TLS it is only for this machine.
func busAddress(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.User != nil {
		return "", fmt.Errorf("%q is no address as wss://host:7710", address)
	}
	switch u.Scheme {
	case "wss", "https":
		return "https://" + u.Host, nil
	case "ws", "http":
		if ip := net.ParseIP(u.Hostname()); u.Hostname() == "localhost" || ip != nil && ip.IsLoopback() {
			return "http://" + u.Host, nil
		}
		return "", fmt.Errorf("%q is not encrypted: the token and the commits would cross the network in the clear; use wss", address)
	}
	return "", fmt.Errorf("%q is no address as wss://host:7710", address)
}

// probe asks the coordinator whether it accepts every token.
func (h *workerHost) probe(ctx context.Context) error {
	if err := worker.Probe(ctx, h.cfg.URL, h.cfg.Token); err != nil {
		return err
	}
	for _, name := range sortedKeys(h.cfg.Agents) {
		if token := h.cfg.Agents[name].Token; token != "" {
			if err := worker.Probe(ctx, h.cfg.URL, token); err != nil {
				return fmt.Errorf("worker.tokens.%s: %w", name, err)
			}
		}
	}
	return nil
}

// run runs the worker until ctx ends.
func (h *workerHost) run(ctx context.Context) (err error) {
	release, err := sqlite.Claim(h.home, version(), "arbiter worker")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	probe, cancel := context.WithTimeout(ctx, 10*time.Second)
	err = h.probe(probe)
	cancel()
	if errors.Is(err, worker.ErrToken) {
		return tokenProblem(h.cfg.URL, err)
	}
	if err != nil {
		h.cfg.Logger.Warn("the coordinator does not answer yet; it is tried again until it does", "url", h.cfg.URL, "err", err)
	}
	w, err := worker.New(h.cfg)
	if err != nil {
		return err
	}
	h.cfg.Logger.Info("the worker runs", "name", h.cfg.Name, "home", h.home, "coordinator", h.cfg.URL, "agents", sortedKeys(h.cfg.Agents))
	err = w.Run(ctx)
	h.cfg.Logger.Info("the worker ended")
	return err
}
