package acp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"arbiter/amp"
	"arbiter/providers"
	"arbiter/providers/brief"
	"arbiter/providers/program"
	"arbiter/providers/sandbox"
)

// Config describes an agent that speaks ACP.
type Config struct {
	program.Config
	// Preset names one of [Programs], whose arguments, configuration and way to the model are then known. It is empty for any other
	// program, which finds the model's address in ARBITER_MODEL_URL and a key that opens it in ARBITER_MODEL_KEY, both empty without one.
	Preset string
	// Args follow the program when there is no preset.
	Args []string
}

// Validate reports all problems at once.
func (c *Config) Validate() error {
	var problems []error
	p, known := presets[c.Preset]
	switch {
	case c.Preset == "" && c.Program == "":
		problems = append(problems, fmt.Errorf("program: name one of %s, or give the command line of another", strings.Join(Programs(), ", ")))
	case c.Preset != "" && !known:
		problems = append(problems, fmt.Errorf("program: %q is none of %s; give the command line of another", c.Preset, strings.Join(Programs(), ", ")))
	case known && len(c.Args) > 0:
		problems = append(problems, fmt.Errorf("program: the arguments of %s are known; give none", c.Preset))
	case known && p.needsModel && c.Model == "":
		problems = append(problems, fmt.Errorf("model: %s must be told which", c.Preset))
	}
	base := c.Config
	base.Program = cmp.Or(base.Program, p.program)
	if c.Preset == "" && base.Leash.Model.URL == "" {
		base.Leash.Model.URL = "http://127.0.0.1" // a program that brings its own model needs no address
	}
	if base.Program == "" {
		base.Program = "acp"
	}
	return errors.Join(append(problems, base.Validate())...)
}

// Agent runs a program, one process for each turn. It is safe for concurrent use.
type Agent struct {
	config Config
	preset preset
}

var (
	_ providers.Agent     = (*Agent)(nil)
	_ providers.Reaper    = (*Agent)(nil)
	_ providers.Describer = (*Agent)(nil)
)

// New makes an agent, or reports every problem of the configuration; without a name it is called as its program. Whether the program exists
// shows when a turn starts.
func New(c Config) (*Agent, error) {
	c.Name = cmp.Or(c.Name, c.Preset, "acp")
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("configure agent %s: %w", c.Name, err)
	}
	a := &Agent{config: c, preset: other(c.Args)}
	if c.Preset != "" {
		a.preset = presets[c.Preset]
	}
	a.config.Program = cmp.Or(c.Program, a.preset.program)
	a.config.Leash.Model.Header = cmp.Or(c.Leash.Model.Header, a.preset.header)
	return a, nil
}

// Name is the agent's name in the journal.
func (a *Agent) Name() string { return a.config.Name }

// Describe says what ACP promises, see [providers.Describer].
func (a *Agent) Describe(l providers.Limits) amp.AgentFacts {
	facts := a.config.Facts(l, "ACP")
	if a.config.Preset != "" {
		facts.Through = a.config.Preset + " over ACP"
	}
	facts.Resumes = !a.preset.forgets
	return facts
}

// Run runs the program for one turn, see [providers.Agent].
func (a *Agent) Run(ctx context.Context, turn providers.Turn, emit func(providers.Event)) (providers.Outcome, error) {
	prompt, err := brief.Write(&turn)
	if err != nil {
		return providers.Outcome{}, &providers.TurnError{Failure: providers.FailConfig, Text: err.Error()}
	}
	r := &run{agent: a, turn: &turn, prompt: prompt, emit: emit, calls: map[string]call{}, asks: map[string]func(){}}
	leash := r.gauge.On(a.config.Leash)
	cage, err := leash.Open(ctx, turn.ID)
	if err != nil {
		return providers.Outcome{}, program.NotStarted(ctx, err)
	}
	defer cage.Close()
	set := a.preset.settle(&setting{model: a.config.Model, url: cage.URL(), home: turn.Home, writes: !program.ReadsOnly(&turn), tools: brief.ServerOf(&turn, a.config.Tools)})
	r.meta = set.meta
	if err := program.Furnish(&turn, set.files); err != nil {
		return providers.Outcome{}, &providers.TurnError{Failure: providers.FailConfig, Text: err.Error()}
	}
	if err := brief.ForgetSubmitted(&turn); err != nil {
		return providers.Outcome{}, &providers.TurnError{Failure: providers.FailConfig, Text: err.Error()}
	}
	if !a.preset.forgets && len(turn.Session) <= maxSession {
		r.resume = turn.Session
	}
	p, err := a.config.Start(ctx, cage, &turn, sandbox.Spec{Argv: slices.Concat(a.preset.args, set.args), Env: set.env, Talk: true})
	if err != nil {
		return providers.Outcome{}, program.NotStarted(ctx, err)
	}
	return r.play(ctx, p, cage)
}

// maxSession is the longest name of a session that is handed back to a program.
const maxSession = 300

// Reap kills what a lost turn left, see [providers.Reaper].
func (a *Agent) Reap(_ context.Context, turnID string) error { return program.Reap(turnID) }
