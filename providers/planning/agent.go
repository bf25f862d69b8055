package planning

import (
	"context"
	"errors"
	"fmt"

	"arbiter/amp"
	"arbiter/providers"
)

// Stage is who writes the messages of one stage: any agent, asked by a prompt.
type Stage struct {
	// Name is the agent's name in the configuration.
	Name   string
	Agent  providers.Agent
	Limits providers.Limits
}

// Config are the three agents of a chain.
type Config struct {
	Objective Stage
	Goal      Stage
	Planning  Stage
}

// Agent is the chain. It is safe for concurrent use when its agents are.
type Agent struct {
	config Config
	stages map[amp.ChainStage]Stage
}

var (
	_ providers.Agent     = (*Agent)(nil)
	_ providers.Reaper    = (*Agent)(nil)
	_ providers.Describer = (*Agent)(nil)
)

// New makes a chain of agents, or says which of them is missing.
func New(c Config) (*Agent, error) {
	a := &Agent{config: c, stages: map[amp.ChainStage]Stage{
		amp.StageObjective: c.Objective, amp.StageGoal: c.Goal, amp.StagePlanning: c.Planning,
	}}
	for _, s := range amp.ChainStages {
		if a.stages[s].Agent == nil {
			return nil, fmt.Errorf("configure the planning chain: the %s agent is missing", s)
		}
	}
	return a, nil
}

// Describe says what the chain promises: as much as each of its agents does.
func (a *Agent) Describe(providers.Limits) amp.AgentFacts {
	f := amp.AgentFacts{Through: "planning chain", Acks: "auto", Resumes: true, ReportsCost: true, Stops: true}
	for _, s := range amp.ChainStages {
		d, ok := a.stages[s].Agent.(providers.Describer)
		if !ok {
			continue
		}
		x := d.Describe(a.stages[s].Limits)
		f.ReportsCost, f.Stops = f.ReportsCost && x.ReportsCost, f.Stops && x.Stops
		f.SilenceSec, f.TotalSec = max(f.SilenceSec, x.SilenceSec), f.TotalSec+x.TotalSec
		f.OutputBytes = max(f.OutputBytes, x.OutputBytes)
	}
	return f
}

// Reap ends what a lost turn left of any of its agents.
func (a *Agent) Reap(ctx context.Context, turnID string) error {
	var errs []error
	for _, s := range amp.ChainStages {
		if r, ok := a.stages[s].Agent.(providers.Reaper); ok {
			if err := r.Reap(ctx, turnID); err != nil {
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}

// Run runs the stages that are left, see [providers.Agent]. What holds the chain ends the turn with a question, which is no failure; an agent that
// fails ends it with its own failure.
func (a *Agent) Run(ctx context.Context, turn providers.Turn, emit func(providers.Event)) (providers.Outcome, error) {
	order, err := readOrder(&turn)
	if err != nil {
		return providers.Outcome{}, &providers.TurnError{Failure: providers.FailConfig, Text: err.Error()}
	}
	c := &chain{agent: a, turn: &turn, emit: emit, order: order}
	c.resume()
	emit(providers.Event{Type: providers.EventProgress, Text: c.begins()})
	question, err := c.play(ctx)
	out := providers.Outcome{Usage: c.usage}
	switch {
	case err != nil:
		return out, err
	case question != "":
		out.Question = question
	default:
		out.Final = amp.EncodeBody(c.plan)
	}
	return out, nil
}
