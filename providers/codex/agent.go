package codex

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"arbiter/amp"
	"arbiter/providers"
	"arbiter/providers/brief"
	"arbiter/providers/program"
	"arbiter/providers/sandbox"
)

// Mode is the way to speak to codex.
type Mode string

// The modes.
const (
	ModeServer Mode = "app-server"
	ModeExec   Mode = "exec"
)

// Config describes an agent that is codex.
type Config struct {
	// Name is the agent's name in the journal; empty is "codex".
	Name string
	// Program is an absolute path or a name that PATH finds; empty is "codex".
	Program string
	// Mode is ModeServer when empty.
	Mode Mode
	// Model is the model's name; empty leaves it to codex.
	Model string
	// Leash names the address of the model, up to and with /v1; it must speak the Responses API.
	Leash sandbox.Leash
	// Env is added to the environment, Pass names variables of this process to pass on, see [sandbox.Spec]. A turn's own environment
	// wins over both.
	Env  map[string]string
	Pass []string
	// Limits are used where a turn has none, see [program.Defaults].
	Limits providers.Limits
	// Resources bound each process of the program.
	Resources sandbox.Limits
}

// Validate reports all problems at once.
func (c *Config) Validate() error {
	var problems []error
	add := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if strings.ContainsRune(c.Program, filepath.Separator) && !filepath.IsAbs(c.Program) {
		add("program: %q is a relative path; give an absolute one or a name that PATH finds", c.Program)
	}
	if c.Mode != "" && c.Mode != ModeServer && c.Mode != ModeExec {
		add("mode: %q is neither %q nor %q", c.Mode, ModeServer, ModeExec)
	}
	if c.Leash.Model.URL == "" {
		add("url: the address of the model is not named")
	}
	if l := c.Limits; l.Silence < 0 || l.Total < 0 || l.Grace < 0 || l.Output < 0 {
		add("limits: a limit is negative")
	}
	return errors.Join(problems...)
}

// Agent runs codex, one process for each turn. It is safe for concurrent use.
type Agent struct {
	config Config
	env    []string
	// refused are the schemas that the model's service did not take: it is not asked for them again.
	refused sync.Map
}

var (
	_ providers.Agent     = (*Agent)(nil)
	_ providers.Reaper    = (*Agent)(nil)
	_ providers.Describer = (*Agent)(nil)
)

// New makes an agent, or reports every problem of the configuration. Whether the program exists shows when a turn starts.
func New(c Config) (*Agent, error) {
	if c.Name == "" {
		c.Name = "codex"
	}
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("configure agent %s: %w", c.Name, err)
	}
	if c.Program == "" {
		c.Program = "codex"
	}
	if c.Mode == "" {
		c.Mode = ModeServer
	}
	a := &Agent{config: c}
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
		a.env = append(a.env, name+"="+c.Env[name])
	}
	return a, nil
}

// Name is the agent's name in the journal.
func (a *Agent) Name() string { return a.config.Name }

// Describe says what codex's protocols promise, see [providers.Describer]. It reports tokens; what they cost is for the caller.
func (a *Agent) Describe(l providers.Limits) amp.AgentFacts {
	l = program.Defaults(l, a.config.Limits)
	return amp.AgentFacts{
		Through: "codex " + string(a.config.Mode), Confined: a.config.Leash.Confined(), Acks: "auto", Resumes: true, Stops: true,
		SilenceSec: int(l.Silence.Seconds()), TotalSec: int(l.Total.Seconds()), OutputBytes: l.Output,
	}
}

// Run runs codex for one turn, see [providers.Agent].
func (a *Agent) Run(ctx context.Context, turn providers.Turn, emit func(providers.Event)) (providers.Outcome, error) {
	prompt, err := brief.Write(&turn)
	if err != nil {
		return providers.Outcome{}, &providers.TurnError{Failure: providers.FailConfig, Text: err.Error()}
	}
	if _, known := a.refused.Load(string(prompt.Schema)); known {
		prompt.Schema = nil
	}
	cage, err := a.config.Leash.Open(ctx, turn.ID)
	if err != nil {
		return providers.Outcome{}, program.NotStarted(ctx, err)
	}
	defer cage.Close()
	home, err := furnish(&turn, &settings{model: a.config.Model, url: cage.URL(), writes: writes(&turn)}, prompt.Schema)
	if err != nil {
		return providers.Outcome{}, &providers.TurnError{Failure: providers.FailConfig, Text: err.Error()}
	}
	r := &run{agent: a, turn: &turn, prompt: prompt, emit: emit, home: home}
	r.resume, r.base = parseSession(turn.Session)
	out, err := r.play(ctx, cage)
	// The simple mode finds out at its end that it cannot continue; it has done nothing then.
	if r.again {
		again := &run{agent: a, turn: &turn, prompt: r.prompt, emit: emit, home: home}
		if !r.lost {
			again.resume, again.base = r.resume, r.base
		}
		out, err = again.play(ctx, cage)
	}
	return out, err
}

// writes reports whether the turn may change files.
func writes(turn *providers.Turn) bool { return turn.Role == amp.Executor }

// start starts codex with these arguments.
func (a *Agent) start(ctx context.Context, cage *sandbox.Cage, turn *providers.Turn, home string, spec sandbox.Spec) (*sandbox.Process, error) {
	spec.Argv = append([]string{a.config.Program}, spec.Argv...)
	spec.Dir, spec.Home, spec.Turn = turn.Dir, turn.Home, turn.ID
	spec.Env = slices.Concat([]string{keyVar + "=" + sandbox.PlaceholderKey}, a.env, turn.Env, []string{"CODEX_HOME=" + home})
	spec.Pass, spec.Limits = a.config.Pass, a.config.Resources
	return cage.Start(ctx, spec)
}

// Reap kills what a lost turn left, see [providers.Reaper].
func (a *Agent) Reap(_ context.Context, turnID string) error { return program.Reap(turnID) }
