package agenttest

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"testing"

	"arbiter/amp"
	"arbiter/providers/modeltest"
	"arbiter/providers/sandbox"
)

// arbiter is the command that serves our tools, built anew.
func arbiter(t *testing.T) []string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "arbiter")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", path, "arbiter/cmd/arbiter")
	cmd.Env = append(cmd.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build arbiter: %v: %s", err, out)
	}
	return []string{path, "mcp"}
}

// handsIn: what is handed in by a tool of ours counts, asks nobody, and the final text does not; what the server refuses is told to the model.
func handsIn(t *testing.T, r *Real) { handsInFrom(t, r, sandbox.Leash{}, "hands in") }

// handsInCaged: the same from a cage.
func handsInCaged(t *testing.T, r *Real) {
	if _, err := sandbox.Bubblewrap.Works(); err != nil {
		t.Skipf("NOT TESTED, since %v", err)
	}
	handsInFrom(t, r, sandbox.Leash{Mode: sandbox.Bubblewrap}, "")
}

func handsInFrom(t *testing.T, r *Real, leash sandbox.Leash, record string) {
	if r.NoTools {
		t.Skip("this way to the program has no tools of ours")
	}
	for name, tc := range map[string]struct {
		role       amp.Role
		tool, data string
	}{
		"result":  {amp.Executor, "submit_result", goodData},
		"verdict": {amp.Reviewer, "submit_verdict", `{"decision":"approved","criteria_results":[{"criterion":"it works","passed":true,"evidence":"seen"}],"confidence":0.95}`},
	} {
		t.Run(name, func(t *testing.T) {
			b := &bench{real: r, turn: newTurn(t, tc.role), tools: true}
			b.model = modeltest.Start(t, modeltest.Script{Steps: []modeltest.Step{
				modeltest.UseMCP("arbiter", "ack", map[string]string{"status": "refused"}), modeltest.UseMCP("arbiter", tc.tool, json.RawMessage(tc.data)),
				modeltest.Say("It is handed in."),
			}})
			b.agree(t, leash)
			b.turn.Ask = nil // nobody is to be asked
			out, err := b.run(t)
			if err != nil || !jsonEqual(out.Final, []byte(tc.data)) {
				t.Errorf("Run = %s, %v", out.Final, err)
			}
			if all := b.model.Requests(); !bytes.Contains(all[len(all)-1].Body, []byte("refused; mend this")) {
				t.Error("the model was not told that the first try was refused")
			}
			if record != "" {
				b.record(record + " a " + name)
			}
		})
	}
}
