package acp

import (
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

// asks is a step that runs a command with a tool; its file is outside of the turn's folder.
func asks(tool string) func(outside string) modeltest.Step {
	return func(outside string) modeltest.Step {
		return modeltest.UseTool(tool, map[string]any{"command": "echo hi > " + outside, "description": "because", "is_background": false})
	}
}
