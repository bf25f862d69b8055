package main

import (
	"cmp"
	"context"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"arbiter/amp"
	"arbiter/coordinator"
	"arbiter/gitops"
	"arbiter/providers"
	"arbiter/providers/bus"
	"arbiter/providers/command"
	"arbiter/providers/sandbox"
	"arbiter/ssot"
	"arbiter/ssot/github"
)

// assemble builds the coordinator of a data directory from its configuration. owner is its name among several of one journal.
func assemble(
	ctx context.Context, home string, c *config, configDir string, log ssot.Log, owner string, logger *slog.Logger,
	mirror *github.Mirror, observe func(coordinator.Stored),
) (*coordinator.Coordinator, error) {
	var mirrored func() amp.MirrorState
	if mirror != nil {
		mirrored = mirror.State
	}
	var onBus func() amp.BusFacts
	if c.onBus != nil {
		onBus = c.onBus.Facts
	}
	work := home
	if owner != "" {
		var err error
		if work, err = c.Team.folder(home); err != nil {
			return nil, err
		}
	}
	opts := gitops.Options{Home: work, Protected: c.Repo.Protected, Log: logger}
	if owner != "" {
		opts.Remote, opts.Places = c.Team.Remote, c.Team.Repositories
	}
	git, err := gitops.New(opts)
	if err != nil {
		return nil, err
	}
	agents, err := buildAgents(c, configDir, git)
	if err != nil {
		return nil, err
	}
	acks := map[amp.MessageType]time.Duration{}
	for typ, d := range c.Policy.AckTimeouts {
		acks[amp.MessageType(typ)] = time.Duration(d)
	}
	if err := addPlanning(c, agents); err != nil {
		return nil, err
	}
	roles := map[amp.Role]string{}
	for role, name := range c.Roles.all() {
		if name != "" {
			roles[role] = name
		}
	}
	var requests coordinator.Pulls
	remote := ""
	client, err := c.GitHub.client(configDir, logger)
	if err != nil {
		return nil, err
	}
	if client != nil {
		if c.GitHub.Repo == "" {
			remote = cmp.Or(c.GitHub.Remote, "origin")
		}
		requests = &pulls{git: git, client: client, config: c.GitHub, secrets: c.secrets(configDir)}
	}
	return coordinator.New(ctx, coordinator.Config{
		Log: log, Git: &repoGuard{Git: git, remote: remote}, Pulls: requests, Agents: agents, Roles: roles, Home: home, Slots: c.Policy.Slots,
		Attempts: c.Policy.Attempts, Policy: c.Policy.policy(),
		DayBudget: amp.Budget{Tokens: c.Budget.Day.Tokens, CostUSD: c.Budget.Day.Cost}, Prices: prices(c.Prices),
		Permissions: permissionRules(c.Permissions), AskTimeout: time.Duration(c.Policy.AskTimeout), GrantFor: time.Duration(c.Policy.Grant),
		Budget: c.Budget.budget(), Undo: time.Duration(c.Policy.Undo), Heartbeat: time.Duration(c.Policy.Heartbeat),
		ProgressEvery: time.Duration(c.Policy.ProgressEvery), AckTimeouts: acks, CITimeout: time.Duration(c.Repo.CITimeout),
		Require: func(repo string) ([]string, time.Duration) { return requireOf(c, repo) },
		Checks:  func(repo string) [][]string { return checksOf(c, git.Local(repo)) }, Logger: logger,
		LogFile: filepath.Join(home, logName), Version: version(),
		Reaper: orphans{}, Memory: recall(home), Owner: owner, Lease: time.Duration(c.Team.Lease), Mirror: mirrored, Bus: onBus, Observe: observe,
	})
}

// orphans ends what is left of a turn whose agent is not configured any more.
type orphans struct{}

// Reap ends every process that carries the turn's mark, or says which it could not end.
func (orphans) Reap(_ context.Context, turnID string) error {
	_, err := sandbox.KillOrphans(turnID)
	return err
}

// Left returns the turns whose mark a process carries.
func (orphans) Left() ([]string, error) { return sandbox.Turns() }

// checksOf are the check commands of a repository: its own arbiter.toml's in the person's checkout, where no agent writes, else
// the configured ones. A file that cannot be read stops the checks in [repoGuard.RunCI].
func checksOf(c *config, repo string) [][]string {
	if own, err := loadRepoFile(repo); err == nil && own.Repo.Checks != nil {
		return own.Repo.Checks
	}
	return c.Repo.Checks
}

// agentGit is the git work that agents need: a model is shown changes, an agent on another machine gets commits and sends its own.
type agentGit interface {
	differ
	bus.Repository
}

// requireOf are the checks that a plan for a repository requires to have passed elsewhere: those of its own arbiter.toml, else the
// configured ones.
func requireOf(c *config, repo string) ([]string, time.Duration) {
	r := c.Repo
	if own, err := loadRepoFile(repo); err == nil && own.Repo.Require != nil {
		r = own.Repo
	}
	if len(r.Require) == 0 {
		return nil, 0
	}
	return r.Require, time.Duration(r.RequireWithin)
}

func buildAgents(c *config, configDir string, git agentGit) (map[string]coordinator.AgentConfig, error) {
	agents := map[string]coordinator.AgentConfig{}
	for _, name := range sortedKeys(c.Agents) {
		g := c.Agents[name]
		limits := providers.Limits{
			Silence: time.Duration(g.Silence), Total: time.Duration(g.Total), Grace: time.Duration(g.Grace),
			Output: g.Output,
		}
		made := coordinator.AgentConfig{Vendor: g.vendor(), Limits: limits, Roles: rolesOf(c, name), Fallback: g.Fallback}
		switch g.Kind {
		case "api":
			agent, err := g.agent(name, configDir, limits, git)
			if err != nil {
				return nil, err
			}
			made.Agent = agent
		case "codex", "claude", "gemini", "acp":
			agent, err := c.programAgent(name, g, configDir, limits)
			if err != nil {
				return nil, err
			}
			made.Agent = agent
		case "bus":
			agent, err := c.agentOnBus(name, g, limits, git)
			if err != nil {
				return nil, err
			}
			made.Agent = agent
		case "command":
			argv := slices.Clone(g.Argv)
			if strings.ContainsRune(argv[0], filepath.Separator) && !filepath.IsAbs(argv[0]) {
				argv[0] = filepath.Join(configDir, argv[0])
			}
			agent, err := command.New(command.Config{
				Name: name, Argv: argv, Env: g.Env, Pass: g.Pass, Acks: command.Acks(g.Acks), Asks: g.Asks,
				Limits: limits, Leash: c.leash(g, configDir),
			})
			if err != nil {
				return nil, err
			}
			made.Agent = agent
		}
		agents[name] = made
	}
	return agents, nil
}

// rolesOf are the roles that an agent may take: those it is configured for, or every one.
func rolesOf(c *config, name string) []amp.Role {
	all := []amp.Role{amp.Coordinator, amp.Executor, amp.Reviewer}
	g := c.Agents[name]
	if g.reads() {
		all = []amp.Role{amp.Coordinator, amp.Reviewer}
	}
	if len(g.Roles) == 0 {
		return all
	}
	return slices.DeleteFunc(all, func(r amp.Role) bool { return !slices.Contains(g.Roles, string(r)) })
}

// repoGuard adds the branches that a repository protects in its own arbiter.toml to those that are protected everywhere.
type repoGuard struct {
	*gitops.Git
	// remote is the one that pull requests go to, "" when none do or it is not asked. Where it leads is taken down before an agent runs, so
	// that no agent leads a delivery elsewhere.
	remote string
}

var (
	_ coordinator.Git    = (*repoGuard)(nil)
	_ coordinator.Passer = (*repoGuard)(nil)
)

// Inspect refuses what gitops refuses, and the repository's own protected branches.
func (g *repoGuard) Inspect(ctx context.Context, repo, branch string) (amp.RepoFacts, error) {
	facts, err := g.Git.Inspect(ctx, repo, branch)
	if err != nil || branch == "" {
		return facts, err
	}
	if g.remote != "" {
		_, _ = g.RemoteURL(ctx, facts.Root, g.remote) // a delivery says what is wrong with it
	}
	own, err := loadRepoFile(g.Local(facts.Root))
	if err != nil {
		return facts, &amp.GuardError{Type: amp.UnknownEscalation, Repo: facts.Root, Why: err.Error()}
	}
	if gitops.Protected(branch, facts.DefaultBranch, own.Repo.Protected) {
		return facts, &amp.GuardError{
			Type: amp.BranchViolation, Repo: facts.Root, Branch: branch,
			Why: "it is protected by the repository's " + repoFile + "; work needs a feature branch of its own",
		}
	}
	return facts, nil
}

// RunCI runs the checks, unless the repository's own configuration cannot be read: a gate that is not understood is closed.
func (g *repoGuard) RunCI(ctx context.Context, w amp.Workspace, commands [][]string, timeout time.Duration) (amp.Check, error) {
	own, err := loadRepoFile(g.Local(w.Repo))
	if err != nil {
		return amp.Check{}, err
	}
	return g.Git.RunCI(ctx, w, commands, own.Repo.timeout(timeout))
}
