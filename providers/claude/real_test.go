package claude

import (
	"encoding/json"
	"testing"

	"arbiter/providers"
	"arbiter/providers/agenttest"
	"arbiter/providers/modeltest"
	"arbiter/providers/program"
)

// TestReal puts the real claude through the matrix.
func TestReal(t *testing.T) {
	t.Parallel()
	agenttest.Matrix(t, agenttest.Real{
		Program: "@anthropic-ai/claude-code-linux-x64/claude", Header: "X-Api-Key", Schema: outputTool, Record: record(t),
		New: func(c program.Config) (providers.Agent, error) { return New(Config{c}) },
		Ask: func(outside string) modeltest.Step {
			return modeltest.UseTool("Bash", map[string]any{"command": "echo hi > " + outside, "description": "because"})
		},
		Answer: func(text string) modeltest.Step { return modeltest.UseTool(outputTool, json.RawMessage(text)) },
	})
}
