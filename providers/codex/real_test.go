package codex

import (
	"testing"

	"arbiter/providers"
	"arbiter/providers/agenttest"
	"arbiter/providers/modeltest"
	"arbiter/providers/program"
)

// TestReal puts the real codex through the matrix, in both modes.
func TestReal(t *testing.T) {
	t.Parallel()
	for _, mode := range []Mode{ModeServer, ModeExec} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			real := agenttest.Real{
				Program: ".bin/codex", Suffix: "/v1", Schema: "codex_output_schema", Record: record(t, string(mode)),
				New: func(c program.Config) (providers.Agent, error) { return New(Config{Mode: mode, Config: c}) },
			}
			if mode == ModeServer {
				real.Ask = func(outside string) modeltest.Step {
					return modeltest.UseTool("exec_command", map[string]any{
						"cmd": "echo hi > " + outside, "sandbox_permissions": "require_escalated", "justification": "because",
					})
				}
			}
			agenttest.Matrix(t, real)
		})
	}
}
