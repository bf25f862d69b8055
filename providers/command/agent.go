package command

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"arbiter/amp"
	"arbiter/providers"
	"arbiter/providers/program"
	"arbiter/providers/sandbox"
)

// Acks says who acknowledges a message.
type Acks string

// The ways to acknowledge.
const (
	// AcksAgent leaves it to the program: it writes its own ack line.
	AcksAgent Acks = "agent"
	// AcksAuto acknowledges for a program that knows nothing of ACKs, once it has read all of its standard input, and repeats the
	// acceptance criteria. Ack lines of the program are then ignored.
	AcksAuto Acks = "auto"
)

// Config describes a program that is an agent.
type Config struct {
	// Name is the agent's name in the journal; empty takes the program's file name.
	Name string
	// Argv is the program, an absolute path or a name that PATH finds, and its arguments.
	Argv []string
	// Env is added to the environment, Pass names variables of this process to pass on, see [sandbox.Spec]. A turn's own
	// environment wins over both.
	Env  map[string]string
	Pass []string
	// Acks is AcksAgent when empty.
	Acks Acks
	// Asks leaves standard input open: the program may ask for permissions and reads the decisions there.
	Asks bool
	// Limits are used where a turn has none. Zero fields mean 10 minutes of silence, 60 minutes in all, 5 seconds of grace and
	// 64 MiB of output.
	Limits providers.Limits
	// Resources bound each process of the program.
	Resources sandbox.Limits
	// Leash is what the program may reach. Where that has a model, the program finds its address in ARBITER_MODEL_URL.
	Leash sandbox.Leash
}

// Validate reports all problems at once.
func (c *Config) Validate() error {
	var problems []error
	add := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	switch {
	case len(c.Argv) == 0 || c.Argv[0] == "":
		add("argv: no program is named")
	case strings.ContainsRune(c.Argv[0], filepath.Separator) && !filepath.IsAbs(c.Argv[0]):
		add("argv: %q is a relative path; give an absolute one or a name that PATH finds", c.Argv[0])
	}
	if c.Acks != "" && c.Acks != AcksAgent && c.Acks != AcksAuto {
		add("acks: %q is neither %q nor %q", c.Acks, AcksAgent, AcksAuto)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.ContainsRune(c.Env[name], 0) {
			add("env: %q cannot be set", name)
		}
	}
	l := c.Limits
	if l.Silence < 0 || l.Total < 0 || l.Grace < 0 || l.Output < 0 {
		add("limits: a limit is negative")
	}
	return errors.Join(problems...)
}

// Agent runs one program per turn. It is safe for concurrent use.
type Agent struct {
	config Config
	env    []string
}

var (
	_ providers.Agent     = (*Agent)(nil)
	_ providers.Reaper    = (*Agent)(nil)
	_ providers.Describer = (*Agent)(nil)
)

// New makes an agent of a program, or reports every problem of the configuration. Whether the program exists shows when a turn
// starts.
func New(c Config) (*Agent, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("configure agent %s: %w", c.Name, err)
	}
	if c.Name == "" {
		c.Name = filepath.Base(c.Argv[0])
	}
	if c.Acks == "" {
		c.Acks = AcksAgent
	}
	a := &Agent{config: c}
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
		a.env = append(a.env, name+"="+c.Env[name])
	}
	return a, nil
}

// Name is the agent's name in the journal.
func (a *Agent) Name() string { return a.config.Name }

// Describe says what the protocol of commands promises, see [providers.Describer].
func (a *Agent) Describe(l providers.Limits) amp.AgentFacts {
	l = program.Defaults(l, a.config.Limits)
	return amp.AgentFacts{
		Through: "command", Confined: a.config.Leash.Confined(), Acks: string(a.config.Acks), Resumes: true, ReportsCost: true, Stops: true,
		SilenceSec: int(l.Silence.Seconds()), TotalSec: int(l.Total.Seconds()), OutputBytes: l.Output,
	}
}

// Run runs the program for one turn, see [providers.Agent].
func (a *Agent) Run(ctx context.Context, turn providers.Turn, emit func(providers.Event)) (providers.Outcome, error) {
	in, err := input(&turn)
	if err != nil {
		return providers.Outcome{}, &providers.TurnError{Failure: providers.FailConfig, Text: err.Error()}
	}
	cage, err := a.config.Leash.Open(ctx, turn.ID)
	if err != nil {
		return providers.Outcome{}, &providers.TurnError{Failure: providers.FailConfig, Text: err.Error()}
	}
	defer cage.Close()
	env := slices.Concat(a.env, turn.Env)
	if url := cage.URL(); url != "" {
		env = append(env, "ARBITER_MODEL_URL="+url)
	}
	p, err := cage.Start(ctx, sandbox.Spec{
		Argv: a.config.Argv, Dir: turn.Dir, Home: turn.Home, Turn: turn.ID, Stdin: in,
		Env: env, Pass: a.config.Pass, Limits: a.config.Resources, Talk: a.config.Asks,
	})
	if err != nil {
		return providers.Outcome{}, program.NotStarted(ctx, err)
	}
	r := &run{
		turn: &turn, emit: emit, asks: a.config.Asks, auto: a.config.Acks == AcksAuto && len(turn.Message) > 0,
		session: &program.Session{Process: p, Cage: cage, Limits: program.Defaults(turn.Limits, a.config.Limits), Log: turn.Log},
	}
	return r.play(ctx)
}

// Reap kills what a lost turn left, see [providers.Reaper].
func (a *Agent) Reap(_ context.Context, turnID string) error {
	return program.Reap(turnID)
}
