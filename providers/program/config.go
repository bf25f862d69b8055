package program

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
	"arbiter/providers/sandbox"
)

// Config describes an agent that is a vendor's program.
type Config struct {
	// Name is the agent's name in the journal, Program an absolute path or a name that PATH finds.
	Name    string
	Program string
	// Model is the model's name; empty leaves it to the program.
	Model string
	// Leash is what the program may reach; it names the address of the model.
	Leash sandbox.Leash
	// Env is added to the environment, Pass names variables of this process to pass on, see [sandbox.Spec]. A turn's own environment
	// wins over both.
	Env  map[string]string
	Pass []string
	// Limits are used where a turn has none, see [Defaults].
	Limits providers.Limits
	// Resources bound each process of the program.
	Resources sandbox.Limits
	// Tools, when it is not empty, is the command of an MCP server by whose tools the program may hand in its answer; it is told the turn by
	// its environment. What is handed in comes before the final text, which counts without it.
	Tools []string
}

// Validate reports all problems at once.
func (c *Config) Validate() error {
	var problems []error
	add := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if c.Program == "" || strings.ContainsRune(c.Program, filepath.Separator) && !filepath.IsAbs(c.Program) {
		add("program: %q is neither an absolute path nor a name that PATH finds", c.Program)
	}
	if c.Leash.Model.URL == "" {
		add("url: the address of the model is not named")
	}
	if l := c.Limits; l.Silence < 0 || l.Total < 0 || l.Grace < 0 || l.Output < 0 {
		add("limits: a limit is negative")
	}
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.ContainsRune(c.Env[name], 0) {
			add("env: %q cannot be set", name)
		}
	}
	return errors.Join(problems...)
}

// Facts are what is known of turns with these limits, see [providers.Describer]: the adapter acknowledges for the program.
func (c *Config) Facts(l providers.Limits, through string) amp.AgentFacts {
	l = Defaults(l, c.Limits)
	return amp.AgentFacts{
		Through: through, Confined: c.Leash.Confined(), Acks: "auto", Resumes: true, Stops: true,
		SilenceSec: int(l.Silence.Seconds()), TotalSec: int(l.Total.Seconds()), OutputBytes: l.Output,
	}
}

// Start starts the program in a cage: spec.Argv are its arguments, and spec.Env comes before what the configuration and the turn set.
func (c *Config) Start(ctx context.Context, cage *sandbox.Cage, turn *providers.Turn, spec sandbox.Spec) (*sandbox.Process, error) {
	spec.Argv = append([]string{c.Program}, spec.Argv...)
	spec.Dir, spec.Home, spec.Turn = turn.Dir, turn.Home, turn.ID
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
		spec.Env = append(spec.Env, name+"="+c.Env[name])
	}
	spec.Env = append(spec.Env, turn.Env...)
	spec.Pass, spec.Limits = c.Pass, c.Resources
	return cage.Start(ctx, spec)
}

// ReadsOnly reports whether a turn is one of those that change nothing: a review or a plan.
func ReadsOnly(turn *providers.Turn) bool { return turn.Role != amp.Executor }
