package claude

import (
	"encoding/json"
	"testing"

	"arbiter/providers"
	"arbiter/providers/agenttest"
	"arbiter/providers/modeltest"
	"arbiter/providers/program"
	"arbiter/providers/sandbox"
)

// TestReal puts the real claude through the matrix.
func TestReal(t *testing.T) {
	t.Parallel()
	agenttest.Matrix(t, agenttest.Real{
		Program: "@anthropic-ai/claude-code-linux-x64/claude", Header: "X-Api-Key", Schema: outputTool, Record: record(t),
		Agent: func(t *testing.T, path string, leash sandbox.Leash) providers.Agent {
			t.Helper()
			a, err := New(Config{program.Config{Program: path, Model: "scripted", Leash: leash, Env: map[string]string{"NO_PROXY": "127.0.0.1"}}})
			if err != nil {
				t.Fatal(err)
			}
			return a
		},
		Ask: func(outside string) modeltest.Step {
			return modeltest.UseTool("Bash", map[string]any{"command": "echo hi > " + outside, "description": "because"})
		},
		Answer: func(text string) modeltest.Step { return modeltest.UseTool(outputTool, json.RawMessage(text)) },
	})
}
