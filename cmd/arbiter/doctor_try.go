package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"arbiter/amp"
	"arbiter/coordinator"
	"arbiter/gitops"
	"arbiter/providers"
	"arbiter/providers/program"
	"arbiter/scratch"
)

// tryTime bounds the call that tries an agent.
const tryTime = 3 * time.Minute

// tryName begins the names of the folders in which agents are tried.
const tryName = "try"

// tryPrompt is the cheapest call that shows that an agent answers.
var tryPrompt = providers.Prompt{System: "You answer in one word and use no tools.", Text: "Answer with the one word: ready"}

// tryAgents asks each agent, or each of those named, one word. It costs a few tokens of each.
func (a *app) tryAgents(ctx context.Context, names []string) ([]finding, error) {
	c, err := a.loadConfig()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if _, ok := c.Agents[name]; !ok {
			return nil, usage("no agent %q is configured", name).then("There are " + strings.Join(sortedKeys(c.Agents), ", ") + ".")
		}
	}
	home, err := a.makeHome()
	if err != nil {
		return nil, err
	}
	git, err := gitops.New(gitops.Options{Home: home})
	if err != nil {
		return nil, err
	}
	file, _ := a.configPath()
	agents, err := buildAgents(c, filepath.Dir(file), git)
	if err != nil {
		return nil, err
	}
	var all []finding
	for _, name := range sortedKeys(agents) {
		if len(names) > 0 && !slices.Contains(names, name) {
			continue
		}
		all = append(all, tryAgent(ctx, home, name, agents[name]))
	}
	return all, nil
}

func tryAgent(ctx context.Context, home, name string, agent coordinator.AgentConfig) finding {
	what := "try " + name
	if agent.Agent == nil {
		return finding{what, "ok", "takes part by itself; there is nothing to call", ""}
	}
	// Not below the system's folder for temporary files: programs refuse to keep their helpers there.
	dir, remove, err := scratch.Make(home, tryName)
	if err != nil {
		return finding{what, "fail", err.Error(), "Make room, or name another data directory with --home."}
	}
	defer func() { _ = remove() }() // the next coordinator removes what stays
	turn := providers.Turn{
		ID: "try-" + uuid.Must(uuid.NewV7()).String(), Role: amp.Coordinator, Epoch: 1, Prompt: &tryPrompt,
		Dir: filepath.Join(dir, "work"), Home: filepath.Join(dir, "home"), Limits: agent.Limits,
	}
	turn.Limits.Total, turn.Limits.Silence = tryTime, tryTime
	for _, d := range []string{turn.Dir, turn.Home} {
		if err := os.Mkdir(d, 0o700); err != nil {
			return finding{what, "fail", err.Error(), ""}
		}
	}
	began := time.Now()
	out, err := agent.Agent.Run(ctx, turn, func(providers.Event) {})
	took := time.Since(began).Round(100 * time.Millisecond)
	if err != nil {
		text := err.Error()
		if te, ok := errors.AsType[*providers.TurnError](err); ok {
			text = fmt.Sprintf("%s (%s)", te.Text, te.Failure)
			if tail := program.LastLine(te.Tail); tail != "" {
				text += ": " + tail
			}
		}
		return finding{what, "fail", fmt.Sprintf("no answer in %s: %s", took, text), tryNext(err)}
	}
	answer := strings.Join(strings.Fields(out.Text), " ")
	if answer == "" {
		return finding{what, "warn", fmt.Sprintf("it ended well in %s, but its answer is empty", took), "Look at the model that is configured."}
	}
	if r := []rune(answer); len(r) > 60 {
		answer = string(r[:60]) + "…"
	}
	used := ""
	if out.Tokens > 0 {
		used = ", " + plural(out.Tokens, "token")
	}
	return finding{what, "ok", fmt.Sprintf("answered %q in %s%s", answer, took, used), ""}
}

// tryNext says what to do about a failed call.
func tryNext(err error) string {
	te, ok := errors.AsType[*providers.TurnError](err)
	if !ok {
		return ""
	}
	switch te.Failure {
	case providers.FailAuth:
		return "Check the key: key_env, key_file or key_command of the agent."
	case providers.FailQuota:
		return "The account has nothing left, or a cap is reached."
	case providers.FailRate, providers.FailOverloaded:
		return "Try again later; Arbiter itself waits and tries again."
	case providers.FailTransport:
		return "Check url and the network."
	case providers.FailConfig:
		return "Correct the agent in the configuration, or install its program."
	case providers.FailCrashed, providers.FailSilent, providers.FailTotal, providers.FailOutput, providers.FailKilled, providers.FailRefused,
		providers.FailAnswer, providers.FailModel:
	}
	return "Run it by hand to see more."
}
