package gemini

import (
	"cmp"
	"context"
	"fmt"

	"arbiter/amp"
	"arbiter/providers"
	"arbiter/providers/brief"
	"arbiter/providers/program"
	"arbiter/providers/sandbox"

	"github.com/google/uuid"
)

// Config describes an agent that is gemini. Its leash names the address of the model without a version, where the Gemini API is spoken.
type Config struct {
	program.Config
}

// Agent runs gemini, one process for each turn. It is safe for concurrent use.
type Agent struct{ config Config }

var (
	_ providers.Agent     = (*Agent)(nil)
	_ providers.Reaper    = (*Agent)(nil)
	_ providers.Describer = (*Agent)(nil)
)

// New makes an agent, or reports every problem of the configuration; without a name and a program both are "gemini". Whether the program exists
// shows when a turn starts.
func New(c Config) (*Agent, error) {
	c.Name, c.Program = cmp.Or(c.Name, "gemini"), cmp.Or(c.Program, "gemini")
	c.Leash.Model.Header = cmp.Or(c.Leash.Model.Header, "x-goog-api-key")
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("configure agent %s: %w", c.Name, err)
	}
	return &Agent{config: c}, nil
}

// Name is the agent's name in the journal.
func (a *Agent) Name() string { return a.config.Name }

// Describe says what gemini promises without anybody to ask, see [providers.Describer].
func (a *Agent) Describe(l providers.Limits) amp.AgentFacts { return a.config.Facts(l, "gemini") }

// Run runs gemini for one turn, see [providers.Agent]. A turn that is to change files is refused.
func (a *Agent) Run(ctx context.Context, turn providers.Turn, emit func(providers.Event)) (providers.Outcome, error) {
	fail := func(text string) (providers.Outcome, error) {
		return providers.Outcome{}, &providers.TurnError{Failure: providers.FailConfig, Text: text}
	}
	if !program.ReadsOnly(&turn) {
		return fail(`gemini changes no files in this mode: configure it with kind = "acp" and program = "gemini" as an executor`)
	}
	prompt, err := brief.Write(&turn)
	if err != nil {
		return fail(err.Error())
	}
	resume := ""
	if id, err := uuid.Parse(turn.Session); err == nil {
		resume = id.String()
	}
	out, lost, err := a.try(ctx, &turn, prompt, resume, emit)
	if lost { // it has done nothing then
		emit(providers.Event{Type: providers.EventProgress, Text: "session " + resume + " is not known any more: a new one begins"})
		out, _, err = a.try(ctx, &turn, prompt, "", emit)
	}
	return out, err
}

// try runs the program once; lost says that it does not know the session.
func (a *Agent) try(ctx context.Context, turn *providers.Turn, prompt providers.Prompt, resume string, emit func(providers.Event)) (out providers.Outcome, lost bool, err error) {
	r := &run{agent: a, turn: turn, emit: emit, resume: resume, calls: map[string]string{}}
	leash := r.gauge.On(a.config.Leash)
	cage, err := leash.Open(ctx, turn.ID)
	if err != nil {
		return out, false, program.NotStarted(ctx, err)
	}
	defer cage.Close()
	files, env := program.Gemini(turn.Home, cage.URL(), brief.ServerOf(turn, a.config.Tools))
	err = program.Furnish(turn, files)
	if err == nil {
		err = brief.ForgetSubmitted(turn)
	}
	if err != nil {
		return out, false, &providers.TurnError{Failure: providers.FailConfig, Text: err.Error()}
	}
	args := []string{"--output-format", "stream-json", "--approval-mode", "plan"}
	if a.config.Model != "" {
		args = append(args, "-m", a.config.Model)
	}
	if resume != "" {
		args = append(args, "--resume", resume)
	}
	p, err := a.config.Start(ctx, cage, turn, sandbox.Spec{Argv: args, Env: env, Stdin: words(prompt)})
	if err != nil {
		return out, false, program.NotStarted(ctx, err)
	}
	out, err = r.play(ctx, p, cage)
	return out, r.lost, err
}

// words is the whole prompt; the program has no other place for a standing instruction.
func words(p providers.Prompt) []byte {
	if p.System == "" {
		return []byte(p.Text)
	}
	return []byte(p.System + "\n\n" + p.Text)
}

// Reap kills what a lost turn left, see [providers.Reaper].
func (a *Agent) Reap(_ context.Context, turnID string) error { return program.Reap(turnID) }
