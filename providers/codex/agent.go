package codex

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	"arbiter/amp"
	"arbiter/providers"
	"arbiter/providers/brief"
	"arbiter/providers/program"
)

// Mode is the way to speak to codex.
type Mode string

// The modes.
const (
	ModeServer Mode = "app-server"
	ModeExec   Mode = "exec"
)

// Config describes an agent that is codex. Its leash names the address of the model up to and with /v1, where the Responses API is spoken.
type Config struct {
	program.Config
	// Mode is ModeServer when empty.
	Mode Mode
}

// Agent runs codex, one process for each turn. It is safe for concurrent use.
type Agent struct {
	config Config
	// refused are the schemas that the model's service did not take: it is not asked for them again.
	refused sync.Map
}

var (
	_ providers.Agent     = (*Agent)(nil)
	_ providers.Reaper    = (*Agent)(nil)
	_ providers.Describer = (*Agent)(nil)
)

// New makes an agent, or reports every problem of the configuration; without a name and a program both are "codex". Whether the program exists
// shows when a turn starts.
func New(c Config) (*Agent, error) {
	c.Name, c.Program, c.Mode = cmp.Or(c.Name, "codex"), cmp.Or(c.Program, "codex"), cmp.Or(c.Mode, ModeServer)
	err := c.Validate()
	if c.Mode != ModeServer && c.Mode != ModeExec {
		err = errors.Join(err, fmt.Errorf("mode: %q is neither %q nor %q", c.Mode, ModeServer, ModeExec))
	}
	if err != nil {
		return nil, fmt.Errorf("configure agent %s: %w", c.Name, err)
	}
	return &Agent{config: c}, nil
}

// Name is the agent's name in the journal.
func (a *Agent) Name() string { return a.config.Name }

// Describe says what codex's protocols promise, see [providers.Describer]. It reports tokens; what they cost is for the caller.
func (a *Agent) Describe(l providers.Limits) amp.AgentFacts {
	return a.config.Facts(l, "codex "+string(a.config.Mode))
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
	var answers program.Answers
	cage, err := answers.On(a.config.Leash).Open(ctx, turn.ID)
	if err != nil {
		return providers.Outcome{}, program.NotStarted(ctx, err)
	}
	defer cage.Close()
	home, err := furnish(&turn, &settings{
		model: a.config.Model, url: cage.URL(), writes: !program.ReadsOnly(&turn), tools: brief.ServerOf(&turn, a.config.Tools),
	}, prompt.Schema)
	if err == nil {
		err = brief.ForgetSubmitted(&turn)
	}
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
	if failed, ok := errors.AsType[*providers.TurnError](err); ok {
		answers.Advise(failed)
	}
	return out, err
}

// Reap kills what a lost turn left, see [providers.Reaper].
func (a *Agent) Reap(_ context.Context, turnID string) error { return program.Reap(turnID) }
