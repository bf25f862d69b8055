// Package demo runs the whole loop on a throw-away repository: real agents as real programs, real git, a real journal, no keys
// and no network. The scenarios and the agents are those of providers/command/scripted.
package demo

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"arbiter/amp"
	"arbiter/coordinator"
	"arbiter/gitops"
	"arbiter/providers"
	"arbiter/providers/command"
	"arbiter/providers/command/scripted"
	"arbiter/ssot"
	"arbiter/ssot/sqlite"
)

// admin is who decides in the demo when nobody sits at the screen.
const admin = "demo"

// Config says how the demo runs.
type Config struct {
	// Agent is the argv of the scripted agent; the flags --role and --pace are added.
	Agent []string
	// Dir is an empty folder for the repository and the data; the caller removes it.
	Dir string
	// Pace is how long each step of an agent takes at least.
	Pace time.Duration
	// AckTimeout is the time for the ACK of a dispatch; the protocol's default would make the silent agent too patient.
	AckTimeout time.Duration
	Undo       time.Duration
	Version    string
	Logger     *slog.Logger
	// LogFile is the file that Logger writes to.
	LogFile string
}

// Demo is a coordinator on a throw-away repository.
type Demo struct {
	*coordinator.Coordinator
	// Repo is the throw-away repository, Home its data directory.
	Repo, Home string
	log        *sqlite.Log
	main       string
	tree       string
}

// New makes the repository and the coordinator, and starts nothing. Close it.
func New(ctx context.Context, cfg Config) (*Demo, error) {
	d := &Demo{Repo: filepath.Join(cfg.Dir, "till"), Home: filepath.Join(cfg.Dir, "home")}
	if err := scripted.Repository(d.Repo); err != nil {
		return nil, fmt.Errorf("make the demo's repository: %w", err)
	}
	var err error
	if d.main, d.tree, err = d.defaultBranch(ctx); err != nil {
		return nil, err
	}
	git, err := gitops.New(gitops.Options{Home: d.Home, Log: cfg.Logger})
	if err != nil {
		return nil, err
	}
	agents := map[string]coordinator.AgentConfig{}
	roles := map[amp.Role]string{amp.Coordinator: "planner", amp.Executor: "worker", amp.Reviewer: "judge"}
	for role, name := range roles {
		argv := append(slices.Clone(cfg.Agent), "--role", string(role), "--pace", cfg.Pace.String())
		agent, err := command.New(command.Config{Name: name, Argv: argv, Acks: command.AcksAgent})
		if err != nil {
			return nil, err
		}
		agents[name] = coordinator.AgentConfig{
			Agent: agent, Roles: []amp.Role{role}, Vendor: name,
			Limits: providers.Limits{Silence: 5 * time.Minute, Total: 10 * time.Minute, Grace: 500 * time.Millisecond},
		}
	}
	if d.log, err = sqlite.Open(ctx, d.Home, sqlite.Options{Version: cfg.Version, Work: "arbiter demo"}); err != nil {
		return nil, err
	}
	d.Coordinator, err = coordinator.New(ctx, coordinator.Config{
		Log: d.log, Git: git, Agents: agents, Roles: roles, Home: d.Home, Slots: 4, Undo: cfg.Undo, Logger: cfg.Logger, LogFile: cfg.LogFile,
		Version: cfg.Version, ProgressEvery: 500 * time.Millisecond,
		AckTimeouts: map[amp.MessageType]time.Duration{amp.TaskDispatch: cfg.AckTimeout},
	})
	if err != nil {
		return nil, errors.Join(err, d.log.Close())
	}
	return d, nil
}

// Close closes the journal. Call it when Run has returned.
func (d *Demo) Close() error { return d.log.Close() }

// Log is the demo's journal, for reading.
func (d *Demo) Log() ssot.Log { return d.log }

// Wish is the command that starts a scenario. The same scenario gives the same command id, so it starts once.
func (d *Demo) Wish(s scripted.Scenario, by string) amp.Command {
	return amp.Command{ID: "wish-" + s.Name, Command: amp.Submit, By: by, Args: amp.Args{Wish: &amp.Wish{
		Text: s.Wish, Title: s.Title, Repo: d.Repo, Branch: s.Branch, Risk: s.Risk,
	}}}
}

// defaultBranch is the commit of the default branch and what the person's checkout looks like.
func (d *Demo) defaultBranch(ctx context.Context) (commit, tree string, err error) {
	if commit, err = d.git(ctx, "rev-parse", "refs/heads/main"); err != nil {
		return "", "", err
	}
	status, err := d.git(ctx, "status", "--porcelain", "--branch")
	return commit, status, err
}

// git reads the demo's repository. All writing is done by gitops.
func (d *Demo) git(ctx context.Context, args ...string) (string, error) {
	c := exec.CommandContext(ctx, "git", append([]string{"-C", d.Repo}, args...)...)
	c.Env = append(os.Environ(), "LC_ALL=C", "GIT_OPTIONAL_LOCKS=0")
	out, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("read the demo's repository: git %s: %w", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}
