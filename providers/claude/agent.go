package claude

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

// Config describes an agent that is claude. Its leash names the address of the model without /v1, where the Messages API is spoken.
type Config struct {
	program.Config
}

// Agent runs claude, one process for each turn. It is safe for concurrent use.
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

// New makes an agent, or reports every problem of the configuration; without a name and a program both are "claude". Whether the program exists
// shows when a turn starts.
func New(c Config) (*Agent, error) {
	c.Name, c.Program = cmp.Or(c.Name, "claude"), cmp.Or(c.Program, "claude")
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("configure agent %s: %w", c.Name, err)
	}
	return &Agent{config: c}, nil
}

// Name is the agent's name in the journal.
func (a *Agent) Name() string { return a.config.Name }

// Describe says what claude's protocol promises, see [providers.Describer].
func (a *Agent) Describe(l providers.Limits) amp.AgentFacts {
	facts := a.config.Facts(l, "claude")
	facts.ReportsCost = true
	return facts
}

// Run runs claude for one turn, see [providers.Agent].
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
	if err := brief.ForgetSubmitted(&turn); err != nil {
		return providers.Outcome{}, &providers.TurnError{Failure: providers.FailConfig, Text: err.Error()}
	}
	r := &run{agent: a, turn: &turn, prompt: prompt, emit: emit, resume: sessionOf(turn.Session)}
	out, err := r.play(ctx, cage)
	if r.again {
		again := &run{agent: a, turn: &turn, prompt: r.prompt, emit: emit}
		if !r.lost {
			again.resume = r.resume
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
